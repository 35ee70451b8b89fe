//! The tasks that a thread spawns inside a pool of one thread: in `install`, in a loop, in a task.
//!
//! The pool has no other thread that could begin them meanwhile, so they begin when the thread
//! leaves the pool, as in rayon: the newest one first. Those of `spawn_fifo` keep their order among
//! themselves. The thread that leaves gives the pool one task for each of them
//! (`rangesteal::Pool::spawn`), which runs the next one. If the thread stays longer than some
//! milliseconds, the watch gives them to the pool (`watch.rs`).

use std::fmt;

use crate::{
    kept_tasks::KeptTasks,
    pool::Shared,
    watch::{Help, Watching},
};

type Task = Box<dyn FnOnce() + Send>;

/// The tasks that have not begun.
pub(crate) struct LocalTasks(KeptTasks<Task, Watching>);

impl fmt::Debug for LocalTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTasks").field("has_kept", &self.has_kept()).finish_non_exhaustive()
    }
}

impl LocalTasks {
    pub(crate) fn new() -> Self {
        Self(KeptTasks::new())
    }

    /// Adds a task that the calling thread spawns inside `pool`, whose tasks these are.
    pub(crate) fn add(&self, pool: &Shared, task: Task, is_in_order: bool) {
        self.0.add(task, is_in_order, || {
            let watching = Watching::new(pool, Help::LocalTasks, "a spawned task")?;
            watching.waits();
            Some(watching)
        });
    }

    /// Whether the pool was not given all tasks.
    pub(crate) fn has_kept(&self) -> bool {
        self.0.has_kept()
    }

    /// Gives all tasks to `pool`.
    pub(crate) fn give_to(&self, pool: &Shared) {
        if self.has_kept() {
            self.give_all_to(pool);
        }
    }

    #[cold]
    fn give_all_to(&self, pool: &Shared) {
        let (kept, watching) = self.0.take_all();
        drop(watching);
        for _ in 0..kept {
            let own = pool.clone();
            pool.spawn(move || own.local().run_next());
        }
    }

    /// Runs the task that is next, if there is one.
    fn run_next(&self) {
        if let Some(task) = self.0.next() {
            task();
        }
    }
}
