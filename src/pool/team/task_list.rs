//! Tasks that outlive their caller. Idle workers run them, each in the order of the list, before
//! they sleep. A task that is *called* waits for one thread.
//!
//! A thread that spawns a task puts a *note* at the post of an idle worker. If no worker is idle,
//! the *reserve* gets the note: a thread that takes no jobs, and that is begun when it is needed
//! first.
//! So tasks run on as many threads as the pool has workers, counting the calling thread of a loop.
//! `src/pool/README.md` has the proofs.

use std::collections::VecDeque;

use super::{
    arena::ARENAS,
    post::{Post, WorkerState},
};
use crate::sync::{Condvar, Mutex, Patience};

/// A task. It does not unwind.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

/// The bit of the barrier's word `open` that says that tasks wait. It follows the bits of the
/// arenas.
pub(super) const TASKS: usize = 1 << ARENAS;

/// The number of the reserve's post. Workers have the numbers from 1 on.
pub(crate) const RESERVE: usize = usize::MAX;

/// The tasks of a pool, and the threads that wait for tasks. `O` is what callers of loops offer.
pub(super) struct TaskList<O> {
    pub(super) lists: Mutex<Lists>,
    /// The post of the reserve. It is `Inside` before the reserve begins, and gets no offers.
    pub(super) reserve: Post<O>,
    /// Threads that are called at no post wait here.
    pub(super) outside: (Mutex<()>, Condvar),
}

/// What the lock of a task list protects.
pub(super) struct Lists {
    /// The tasks that any thread of the pool may run. [`TASKS`] is set while there are some.
    pub(super) waiting: VecDeque<Task>,
    /// The tasks that one thread has to run, with the number of its post.
    pub(super) called: VecDeque<(usize, Task)>,
    /// The number of calls of the reserve that have not ended.
    pub(super) calls_of_reserve: usize,
    /// How long a thread that has run the last task polls for another one.
    pub(super) patience: Patience,
}

impl Lists {
    pub(super) fn add_called(&mut self, calls: Vec<(usize, Task)>) {
        self.calls_of_reserve += calls.iter().filter(|(post, _)| *post == RESERVE).count();
        self.called.extend(calls);
    }

    pub(super) fn take_called(&mut self, post: usize) -> Option<Task> {
        let at = self.called.iter().position(|(of, _)| *of == post)?;
        self.called.remove(at).map(|(_, task)| task)
    }
}

impl<O> std::fmt::Debug for TaskList<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskList").finish_non_exhaustive()
    }
}

impl<O: Copy> TaskList<O> {
    pub(super) fn new() -> Self {
        Self {
            lists: Mutex::new(Lists {
                waiting: VecDeque::new(),
                called: VecDeque::new(),
                calls_of_reserve: 0,
                patience: Patience::NONE,
            }),
            reserve: Post::new(WorkerState::Inside),
            outside: (Mutex::new(()), Condvar::new()),
        }
    }
}
