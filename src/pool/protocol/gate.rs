//! A gate, like that of Seastar: threads enter and leave until the gate is closed, and closing
//! waits for the threads inside. The pool uses a gate for workers whose threads it has not started,
//! since it cannot join these threads.
//!
//! The invariant: `inside` counts the passes that exist, and does not rise once `is_closed` is set.
//! One lock protects both. So when `close` has returned, no thread is inside, and no thread can
//! enter. Each step needs the lock:
//!
//! * A thread that reads `is_closed` before it has the lock could count itself in after `close` has
//!   found no thread inside. This thread would work for a pool that does not exist any more.
//! * A thread that notifies before it counts itself out could notify after `close` has checked the
//!   count and before `close` sleeps. Then `close` would sleep for ever.

#![allow(unused_qualifications)] // models use the steps of `check`

use std::sync::Arc;

#[cfg(any(loom, shuttle, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(loom, shuttle, planted)))]
use crate::pool::protocol::gate as steps;
use crate::sync::{Condvar, Mutex, lock, wait};

/// The number of threads inside, and whether more may enter.
#[derive(Debug, Default)]
pub(crate) struct GateState {
    pub(crate) inside: usize,
    pub(crate) is_closed: bool,
}

/// A gate. A thread is inside while it holds a [`Pass`].
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) state: Mutex<GateState>,
    pub(crate) emptier: Condvar,
}

/// The right to be inside. A thread drops it as its last action inside.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Gate>);

impl Gate {
    /// Lets a thread in, unless the gate is closed.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Pass> {
        let mut state = lock(&self.state);
        let is_open = steps::is_open(&state);
        state.inside += usize::from(is_open);
        drop(state);
        is_open.then(|| Pass(Arc::clone(self)))
    }

    /// Closes the gate, and waits until all threads have left.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        while state.inside > 0 {
            state = wait(&self.emptier, state);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        steps::go_out(&self.0);
    }
}

/// Whether a thread may enter. The calling thread holds the lock.
#[inline(always)]
pub(crate) fn is_open(state: &GateState) -> bool {
    !state.is_closed
}

/// Counts a thread out, then notifies the thread that closes the gate.
#[inline(always)]
pub(crate) fn go_out(gate: &Gate) {
    lock(&gate.state).inside -= 1;
    gate.emptier.notify_one();
}
