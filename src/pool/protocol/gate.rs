//! A gate, as Seastar has it: threads pass in and out until it is closed, and closing it waits for
//! those inside. For workers whose threads the pool has not started, and so cannot join.
//!
//! The invariant: `inside` counts the passes that are there, and does not rise once `is_closed` is
//! set. Both stand under one lock. So when `close` has returned, nobody is inside, and nobody will
//! be. Each step needs the lock:
//!
//! * A thread that looked at `is_closed` before it took the lock could count itself in after
//!   `close` had found nobody: it would work for a pool that is gone.
//! * A thread that rang before it counted itself out could ring between the look of `close` and its
//!   sleep: `close` would sleep for ever.

#![allow(unused_qualifications)] // builds for models take the steps from `check`

use std::sync::Arc;

#[cfg(any(loom, shuttle, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(loom, shuttle, planted)))]
use crate::pool::protocol::gate as steps;
use crate::sync::{Condvar, Mutex, lock, wait};

/// How many threads are inside, and whether others may come.
#[derive(Debug, Default)]
pub(crate) struct GateState {
    pub(crate) inside: usize,
    pub(crate) is_closed: bool,
}

/// Threads are inside as long as they hold a [`Pass`].
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) state: Mutex<GateState>,
    pub(crate) emptier: Condvar,
}

/// The right to be inside. Dropping it is the last thing that a thread does there.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Gate>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(GateState::default()), emptier: Condvar::new() }
    }

    /// Lets a thread in, unless the gate is closed.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Pass> {
        let mut state = lock(&self.state);
        let is_open = steps::is_open(&state);
        state.inside += usize::from(is_open);
        drop(state);
        is_open.then(|| Pass(Arc::clone(self)))
    }

    /// Lets nobody in any more, and waits until all are out.
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

/// Whether a thread may come in, by the state under the lock.
#[inline(always)]
pub(crate) fn is_open(state: &GateState) -> bool {
    !state.is_closed
}

/// Counts a thread out, and then tells whoever closes the gate.
#[inline(always)]
pub(crate) fn go_out(gate: &Gate) {
    lock(&gate.state).inside -= 1;
    gate.emptier.notify_one();
}
