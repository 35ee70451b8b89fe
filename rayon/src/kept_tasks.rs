//! Tasks that a thread keeps for its pool, and the watcher who sees that they do not wait too long.
//!
//! The invariant: a watcher is there exactly while tasks are kept, and whoever takes the tasks
//! takes the watcher, too. So the number of tasks, the watcher and the flag change under one lock.
//! The losing order, without this lock: a thread adds a task and tells the watch, the watch takes
//! all tasks, and then the thread stores its watcher. This watcher stays, wakes the watch once a
//! millisecond, and keeps the pool alive. The model is `src/pool/check/models/kept_tasks.rs`, where
//! `crate::sync` has the locks of loom.

use std::{collections::VecDeque, mem};

use crate::sync::{AtomicBool, Mutex, Ordering::Relaxed, lock};

/// Tasks `T` that have not begun.
pub(crate) struct KeptTasks<T, W> {
    waiting: Mutex<Waiting<T, W>>,
    /// Whether tasks are kept. Written under the lock. Relaxed: a thread that has added a task sees
    /// its own value, or that of a thread that has taken the task.
    has_kept: AtomicBool,
}

struct Waiting<T, W> {
    /// The last one begins first. `None` stands for the oldest one in `in_order`.
    stack: Vec<Option<T>>,
    /// The tasks that keep their order.
    in_order: VecDeque<T>,
    /// How many tasks nobody has taken.
    kept: usize,
    watcher: Option<W>,
}

impl<T, W> KeptTasks<T, W> {
    pub(crate) fn new() -> Self {
        let waiting = Waiting { stack: Vec::new(), in_order: VecDeque::new(), kept: 0, watcher: None };
        Self { waiting: Mutex::new(waiting), has_kept: AtomicBool::new(false) }
    }

    /// Adds a task. For the first one that is kept, `watch` makes the watcher, under the lock.
    pub(crate) fn add(&self, task: T, is_in_order: bool, watch: impl FnOnce() -> Option<W>) {
        let mut waiting = lock(&self.waiting);
        let entry = if is_in_order {
            waiting.in_order.push_back(task);
            None
        } else {
            Some(task)
        };
        waiting.stack.push(entry);
        waiting.kept += 1;
        self.has_kept.store(true, Relaxed);
        if waiting.kept == 1 {
            waiting.watcher = watch();
        }
    }

    /// Whether tasks are kept.
    pub(crate) fn has_kept(&self) -> bool {
        self.has_kept.load(Relaxed)
    }

    /// Takes all tasks: returns their number, and their watcher. The caller has to see that
    /// [`next`](Self::next) is called this number of times.
    pub(crate) fn take_all(&self) -> (usize, Option<W>) {
        let mut waiting = lock(&self.waiting);
        self.has_kept.store(false, Relaxed);
        (mem::take(&mut waiting.kept), waiting.watcher.take())
    }

    /// The task that is next.
    pub(crate) fn next(&self) -> Option<T> {
        let mut waiting = lock(&self.waiting);
        waiting.stack.pop().and_then(|entry| entry.or_else(|| waiting.in_order.pop_front()))
    }
}
