//! The methods of [`Pool`] for tasks that outlive their caller, and for calls on each thread.

use super::{
    Pool,
    team::{
        job::{LentCall, lend},
        threads::Waiter,
    },
};

impl Pool {
    /// Runs `task` on a thread of the pool, and returns at once. For work that nobody waits for
    /// here, or whose end a channel tells. A loop or [`join`](Self::join) is faster where the
    /// caller waits.
    ///
    /// # When and where a task runs
    /// An idle worker runs the task. If no worker is idle, the *reserve* runs it: a thread with the
    /// options of the pool's threads and the number 0, like those of [`enter`](Self::enter), that
    /// runs nothing but tasks. The first task that needs the reserve starts it. So a task begins
    /// although its caller goes on, in a pool of one thread, too, and as many tasks run at the same
    /// time as the pool has [threads](Self::num_threads). Further tasks wait until a thread is
    /// idle. So tasks that wait for each other can wait for ever if they are more than that. Tasks
    /// begin in the order in which they were spawned.
    ///
    /// A loop that a task calls runs on the pool as usual. A thread that waits for the end of a
    /// loop runs no task.
    ///
    /// # What a task costs
    /// An allocation, the lock of the one list of the pool's tasks, taken twice, and a wake-up if
    /// the thread that runs it sleeps. For many tiny tasks use [`grow`](Self::grow) or a loop.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = rangesteal::Pool::new()?;
    /// let (sender, sums) = channel();
    /// for n in [10, 100] {
    ///     let sender = sender.clone();
    ///     pool.spawn(move || sender.send((0..=n).sum::<u32>()).unwrap());
    /// }
    /// assert_eq!(sums.recv().unwrap() + sums.recv().unwrap(), 55 + 5050);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # The end of the pool and of the process
    /// Dropping the pool waits until all its tasks have ended, those that wait, too: a task that
    /// was spawned runs. A task may own an `Arc<Pool>`. If the task drops the last one, it waits
    /// for nobody, and the pool's threads end later. At the end of the process, tasks that have not
    /// ended are lost: those of the [global](Self::global) pool, for instance.
    ///
    /// In a child made by `fork`, and on systems without threads, the calling thread runs the task.
    /// On systems without threads, a task that another task spawns runs after it.
    ///
    /// # Panics
    /// Never. A panic of the task goes to the
    /// [`panic_handler`](crate::PoolBuilder::panic_handler). Without a handler it aborts the
    /// process.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        self.executor().spawn(task);
    }

    /// Calls `f` once on each thread of the pool, with the number of the worker, and returns the
    /// results in the order of these numbers. The calls run at the same time, so `f` may hold a
    /// [`Barrier`](std::sync::Barrier) of [`num_threads`](Self::num_threads) threads. Useful for
    /// values that belong to a thread: thread-local variables, counters of the system, caches.
    ///
    /// Each thread calls `f` after its calls of an earlier
    /// [`spawn_broadcast`](Self::spawn_broadcast).
    ///
    /// The calling thread is number 0, as in a loop. If a worker calls `broadcast`, in an item or
    /// in a task, the worker keeps its number, and number 0 is the reserve (see
    /// [`spawn`](Self::spawn)).
    ///
    /// Each thread calls `f` when it becomes idle, or while it waits for the end of a loop, of a
    /// [`join`](Self::join) or of a `broadcast` that it has called. So a lock that a thread holds
    /// around such a call must not be taken in `f`. A call of `broadcast` in an item waits for the
    /// items of the other workers. In a loop whose [items wait](crate::On::waiting) it may wait for
    /// ever. A thread that waits for a loop of another pool does not call `f` meanwhile. So two
    /// pools that share loops in each other's items, and broadcast there, may wait for ever, too.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(3).build()?;
    /// assert_eq!(pool.broadcast(|worker| worker * 10), [0, 10, 20]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// In a child made by `fork` the calling thread calls `f` with all numbers, one after the
    /// other.
    ///
    /// # Panics
    /// If `f` panics: with the panic of the lowest number, when all calls have ended.
    pub fn broadcast<R: Send>(&self, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
        self.executor().broadcast(&f)
    }

    /// Calls `f` once on each thread of the pool, as [`broadcast`](Self::broadcast), and returns at
    /// once. Number 0 is the reserve (see [`spawn`](Self::spawn)). Each call is a task: the pool
    /// ends after it, and its panic goes to the
    /// [`panic_handler`](crate::PoolBuilder::panic_handler).
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = rangesteal::Pool::builder().num_threads(3).build()?;
    /// let (sender, numbers) = channel();
    /// pool.spawn_broadcast(move |worker| sender.send(worker).unwrap());
    /// assert_eq!(numbers.iter().sum::<usize>(), 0 + 1 + 2);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn spawn_broadcast(&self, f: impl Fn(usize) + Send + Sync + 'static) {
        self.executor().spawn_broadcast(f);
    }
}

/// For `rangesteal-rayon`: what its scopes and yields need.
#[doc(hidden)]
impl Pool {
    /// While `own` runs, any thread may call `work` by [`LentCall::call`]. A later call does
    /// nothing. Returns when nobody is inside `work`.
    pub fn lend<R>(work: &(dyn Fn(usize) + Sync), own: impl FnOnce(&LentCall) -> R) -> R {
        lend(work, own)
    }

    /// The number of the calling thread, if it is a worker, and otherwise 0.
    #[must_use]
    pub fn here(&self) -> usize {
        self.executor().threads.here()
    }

    /// Where the calling thread waits for tasks of this pool.
    #[must_use]
    pub fn waiter(&self) -> Waiter {
        self.executor().threads.waiter()
    }

    /// Runs one task that waits, on the calling thread. Returns whether there was one.
    pub fn run_task(&self) -> bool {
        self.executor().threads.run_task()
    }

    /// Whether a task waits that the calling thread may run.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        self.executor().threads.has_tasks()
    }

    /// About how many workers are idle.
    #[must_use]
    pub fn idle(&self) -> usize {
        self.executor().threads.barrier.idle()
    }
}
