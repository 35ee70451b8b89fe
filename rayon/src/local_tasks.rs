//! The tasks that a thread spawns inside a pool of one thread: in `install`, in a loop, in a task.
//!
//! The pool has no other thread that could begin them meanwhile, so they begin when the thread
//! leaves the pool, as in rayon: the newest one first. Those of `spawn_fifo` keep their order among
//! themselves. The thread that leaves gives the pool one task for each of them
//! (`rangesteal::Pool::spawn`), which runs the next one. If the thread stays longer than some
//! milliseconds, the watch gives them to the pool (`watch.rs`).

use std::{
    collections::VecDeque,
    fmt, mem,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use crate::{
    pool::Shared,
    sync::lock,
    watch::{Help, Watching},
};

type Task = Box<dyn FnOnce() + Send>;

/// The tasks that have not begun.
pub(crate) struct LocalTasks {
    waiting: Mutex<Waiting>,
    /// Whether the pool was not given all of them. Written under the lock. Relaxed: a thread that
    /// has added a task sees its own value, or that of a thread that has given the task to the
    /// pool.
    has_kept: AtomicBool,
}

struct Waiting {
    /// The last one begins first. `None` stands for the oldest one in `in_order`.
    stack: Vec<Option<Task>>,
    /// The tasks of `spawn_fifo`.
    in_order: VecDeque<Task>,
    /// How many tasks were not given to the pool.
    kept: usize,
    /// `None` if there are none of these.
    watching: Option<Watching>,
}

impl fmt::Debug for LocalTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTasks")
            .field("waiting", &lock(&self.waiting).stack.len())
            .finish_non_exhaustive()
    }
}

impl LocalTasks {
    pub(crate) const fn new() -> Self {
        let waiting = Waiting { stack: Vec::new(), in_order: VecDeque::new(), kept: 0, watching: None };
        Self { waiting: Mutex::new(waiting), has_kept: AtomicBool::new(false) }
    }

    /// Adds a task that the calling thread spawns inside `pool`, whose tasks these are.
    pub(crate) fn add(&self, pool: &Shared, task: Task, is_in_order: bool) {
        let mut waiting = lock(&self.waiting);
        let entry = if is_in_order {
            waiting.in_order.push_back(task);
            None
        } else {
            Some(task)
        };
        waiting.stack.push(entry);
        waiting.kept += 1;
        let is_first = waiting.kept == 1;
        self.has_kept.store(true, Relaxed);
        drop(waiting);
        if is_first && let Some(watching) = Watching::new(pool, Help::LocalTasks, "a spawned task") {
            watching.waits();
            lock(&self.waiting).watching = Some(watching);
        }
    }

    /// Whether the pool was not given all tasks.
    pub(crate) fn has_kept(&self) -> bool {
        self.has_kept.load(Relaxed)
    }

    /// Gives all tasks to `pool`.
    pub(crate) fn give_to(&self, pool: &Shared) {
        if self.has_kept() {
            self.give_all_to(pool);
        }
    }

    #[cold]
    fn give_all_to(&self, pool: &Shared) {
        let mut waiting = lock(&self.waiting);
        self.has_kept.store(false, Relaxed);
        let (kept, watching) = (mem::take(&mut waiting.kept), waiting.watching.take());
        drop((waiting, watching));
        for _ in 0..kept {
            let own = pool.clone();
            pool.spawn(move || own.local().run_next());
        }
    }

    /// Runs the task that is next, if there is one.
    fn run_next(&self) {
        let mut waiting = lock(&self.waiting);
        let task = waiting.stack.pop().and_then(|entry| entry.or_else(|| waiting.in_order.pop_front()));
        drop(waiting);
        if let Some(task) = task {
            task();
        }
    }
}
