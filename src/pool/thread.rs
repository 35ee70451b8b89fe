//! The thread of a worker, from its first step to its last; and as a value, which the program may
//! run on a thread of its own.

use std::{
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, ThreadId},
};

use super::{
    call::ending::discard,
    place::{
        affinity::{self, Pinned},
        inherited_scheduling::InheritedScheduling,
    },
    protocol::{fork::Process, gate::Gate, oneshot::Sender, threads::Post},
};

/// What the program wants done on each thread, given the number of its worker.
pub(crate) type Handler = Arc<dyn Fn(usize) + Send + Sync>;

/// What a thread does before its first job and after its last one.
pub(crate) struct Life {
    pub(crate) worker: usize,
    pub(crate) heritage: Option<InheritedScheduling>,
    /// The CPU that it is pinned to.
    pub(crate) cpu: Option<usize>,
    /// Whether the thread was there before, and will be there afterwards: it gets its mask back.
    pub(crate) is_lent: bool,
    pub(crate) start_handler: Option<Handler>,
    pub(crate) exit_handler: Option<Handler>,
}

/// What a thread tells when it is ready to work, or will never be.
pub(crate) struct Arrived {
    pub(crate) thread: affinity::Thread,
    pub(crate) taken_over: io::Result<()>,
    pub(crate) pinned: io::Result<()>,
    /// Or the message of the start handler's panic: then the thread has gone.
    pub(crate) started: Result<(), String>,
}

impl Life {
    /// Lives it on the calling thread.
    pub(crate) fn live(self, post: Post, arrival: Sender<Arrived>, may_help: impl FnMut() -> bool) {
        let taken_over = self.heritage.map_or(Ok(()), |of| of.take_over());
        let (pinned, _lent) = match self.cpu {
            None => (Ok(()), None),
            Some(cpu) if self.is_lent => match Pinned::to(cpu) {
                Ok(lent) => (Ok(()), Some(lent)),
                Err(refused) => (Err(refused), None),
            },
            Some(cpu) => (affinity::pin(cpu), None),
        };
        let started = call(self.start_handler, self.worker);
        let stays = started.is_ok();
        arrival.send(Arrived { thread: affinity::this_thread(), taken_over, pinned, started });
        if stays {
            post.work(may_help);
            let _told_by_the_panic_hook = call(self.exit_handler, self.worker);
        }
    }
}

/// Calls a handler, and drops it. If it panics, returns the message.
fn call(handler: Option<Handler>, worker: usize) -> Result<(), String> {
    let Some(handler) = handler else { return Ok(()) };
    catch_unwind(AssertUnwindSafe(move || handler(worker))).map_err(|payload| {
        let text = payload.downcast_ref().copied().or_else(|| payload.downcast_ref().map(String::as_str));
        let message = text.unwrap_or("its payload is no text").to_owned();
        discard(payload);
        message
    })
}

/// The thread of a worker that is still to be started, by the
/// [`spawn_handler`](crate::PoolBuilder::spawn_handler) that is given it.
///
/// ```
/// use std::thread;
/// use rangesteal::{Pool, WorkerThread};
///
/// /// A thread of the standard library, as the pool would start it.
/// fn start(worker: WorkerThread) -> std::io::Result<()> {
///     let mut thread = thread::Builder::new().name(worker.name().to_owned());
///     if let Some(bytes) = worker.stack_size() {
///         thread = thread.stack_size(bytes);
///     }
///     thread.spawn(|| worker.run())?;
///     Ok(())
/// }
///
/// let pool = Pool::builder().num_threads(3).spawn_handler(start).build()?;
/// assert_eq!(pool.on(1..=100).sum::<i32>(), 5050);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[must_use = "a pool is built only if each of its workers is run"]
pub struct WorkerThread {
    index: usize,
    name: String,
    stack_size: Option<usize>,
    life: Option<Box<dyn FnOnce() + Send + Sync>>,
    gate: Arc<Gate>,
    /// The thread that builds the pool.
    builder: ThreadId,
    process: Process,
}

impl fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread")
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

impl WorkerThread {
    pub(crate) fn new(
        index: usize,
        name: String,
        stack_size: Option<usize>,
        life: Box<dyn FnOnce() + Send + Sync>,
        gate: Arc<Gate>,
    ) -> Self {
        let (builder, process) = (thread::current().id(), Process::current());
        Self { index, name, stack_size, life: Some(life), gate, builder, process }
    }

    /// The number of the worker, from 1 on: worker 0 is the thread that calls a loop.
    ///
    /// ```
    /// use std::{sync::{Arc, Mutex}, thread};
    /// use rangesteal::Pool;
    ///
    /// let numbers = Arc::new(Mutex::new(Vec::new()));
    /// let given = Arc::clone(&numbers);
    /// let start = move |worker: rangesteal::WorkerThread| {
    ///     given.lock().unwrap().push(worker.index());
    ///     thread::Builder::new().spawn(|| worker.run()).map(drop)
    /// };
    /// let pool = Pool::builder().num_threads(4).spawn_handler(start).build()?;
    /// assert_eq!(*numbers.lock().unwrap(), [1, 2, 3]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that the thread should have, by
    /// [`thread_name`](crate::PoolBuilder::thread_name) or by default. For an example see
    /// [`WorkerThread`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size in bytes that its stack should have, if
    /// [`stack_size`](crate::PoolBuilder::stack_size) has set it. For an example see
    /// [`WorkerThread`].
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool on the calling thread; returns when the pool is dropped. For an example
    /// see [`WorkerThread`].
    ///
    /// If workers are pinned, the thread is pinned meanwhile, and gets its old affinity mask back.
    /// If the pool could not be built, or in a child made by `fork`, this returns at once.
    ///
    /// # Panics
    /// If it is called on the thread that builds the pool, which waits for the worker to come.
    pub fn run(mut self) {
        if !self.process.is_current() {
            return;
        }
        let Some(_inside) = self.gate.enter() else { return };
        assert!(
            thread::current().id() != self.builder,
            "worker {} runs on the thread that builds the pool: run it on a thread of its own",
            self.index
        );
        if let Some(life) = self.life.take() {
            life();
        }
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        if !self.process.is_current() {
            mem::forget(self.life.take()); // a thread of the parent may have held a lock
        }
    }
}
