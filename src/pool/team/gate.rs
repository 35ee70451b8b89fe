//! A gate, like that of Seastar: threads enter and leave until the gate is closed, and closing
//! waits for the threads inside. The pool uses a gate for workers whose threads it has not started,
//! since it cannot join these threads, and for tasks that call a borrowed closure (`job.rs`).
//!
//! The invariant: `inside` counts the passes that exist, and does not rise once `is_closed` is set.
//! One lock protects both. So when `close` has returned, no thread is inside, and no thread can
//! enter. Each step needs the lock:
//!
//! * A thread that reads `is_closed` before it has the lock could count itself in after `close` has
//!   found no thread inside. This thread would work for a pool that does not exist any more.
//! * A thread that notifies before it counts itself out could notify after `close` has checked the
//!   count and before `close` sleeps. Then `close` would sleep for ever.

use std::sync::Arc;

use crate::sync::{Condvar, Mutex, lock, wait};

/// The number of threads inside, and whether more may enter.
#[derive(Debug, Default)]
struct GateState {
    inside: usize,
    is_closed: bool,
}

/// A gate. A thread is inside while it holds a [`Pass`].
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    emptier: Condvar,
}

/// The right to be inside. A thread drops it as its last action inside.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Gate>);

impl Gate {
    /// Lets a thread in, unless the gate is closed.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Pass> {
        let mut state = lock(&self.state);
        let is_open = !state.is_closed;
        state.inside += usize::from(is_open);
        drop(state);
        is_open.then(|| Pass(Arc::clone(self)))
    }

    /// Closes the gate. Waits for nobody: the calling thread may be inside.
    pub(crate) fn shut(&self) {
        lock(&self.state).is_closed = true;
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
    /// Counts the thread out, then notifies the thread that closes the gate.
    fn drop(&mut self) {
        lock(&self.0.state).inside -= 1;
        self.0.emptier.notify_one();
    }
}
