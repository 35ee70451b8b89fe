//! The thread of a worker: the work from its start to its end, and [`WorkerThread`], with which the
//! program runs that work on a thread of its own.

use std::{
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::Arc,
    thread::{self, ThreadId},
};

use super::{
    engine::ending::{Panic, discard},
    place::{
        affinity::{self, Pinned},
        inherited_scheduling::InheritedScheduling,
        starvation,
    },
    team::{fork::Process, gate::Gate, oneshot::Sender, threads::WorkerHandle},
};

/// A function of the program that runs on each thread, with the number of its worker.
pub(crate) type Handler = Arc<dyn Fn(usize) + Send + Sync>;

/// A function of the program that is given the panics of tasks.
pub(crate) type PanicHandler = Arc<dyn Fn(Panic) + Send + Sync>;

/// The whole work of a thread of the pool: pinning and the start handler, the jobs, and the exit
/// handler.
pub(crate) struct ThreadBody {
    pub(crate) worker: usize,
    pub(crate) inherited: Option<InheritedScheduling>,
    /// The CPU that the thread is pinned to.
    pub(crate) cpu: Option<usize>,
    /// Whether the thread belongs to the program. A thread of the program gets its old affinity
    /// mask back at the end.
    pub(crate) is_lent: bool,
    /// Whether the thread checks between jobs that it gets CPU time (`place/starvation.rs`).
    pub(crate) checks_cpu: bool,
    pub(crate) start_handler: Option<Handler>,
    pub(crate) exit_handler: Option<Handler>,
    /// Whether building does not wait for the start handler. A panic of a handler is then treated
    /// as that of a task.
    pub(crate) is_detached: bool,
    pub(crate) panic_handler: Option<PanicHandler>,
}

/// The message that a thread sends to the building thread when it is ready for jobs or has failed.
pub(crate) struct Arrived {
    /// Whether the thread has got the CPUs and the priority of the process.
    pub(crate) taken_over: io::Result<()>,
    /// The thread, if it could be pinned.
    pub(crate) pinned: io::Result<affinity::Thread>,
    /// The message of the panic, if the start handler has panicked. After such a panic the thread
    /// takes no jobs.
    pub(crate) started: Result<(), String>,
}

impl ThreadBody {
    /// Does the work on the calling thread.
    pub(crate) fn run(self, handle: WorkerHandle, arrival: Sender<Arrived>) {
        let taken_over = self.inherited.map_or(Ok(()), |of| of.take_over());
        let mut lent = None;
        let pinned = match self.cpu {
            None => Ok(()),
            Some(cpu) if self.is_lent => Pinned::to(cpu).map(|pinned| lent = Some(pinned)),
            Some(cpu) => affinity::pin_for_good(cpu),
        };
        let pinned = pinned.map(|()| affinity::this_thread());
        let panicked = |payload| {
            if self.is_detached { tell(self.panic_handler.clone(), payload) } else { discard(payload) }
        };
        let (early, late) =
            if self.is_detached { (None, self.start_handler) } else { (self.start_handler, None) };
        let started = call(early, self.worker).map_err(message);
        let stays = started.is_ok() || handle.is_reserve(); // tasks wait for the reserve
        arrival.send(Arrived { taken_over, pinned, started });
        if stays {
            call(late, self.worker).unwrap_or_else(panicked);
            let mut has_cpu = starvation::has_cpu();
            handle.work(|| !self.checks_cpu || has_cpu());
            call(self.exit_handler, self.worker).unwrap_or_else(panicked);
        }
        drop(lent);
    }
}

/// Calls a handler, if there is one, and drops it.
fn call(handler: Option<Handler>, worker: usize) -> Result<(), Panic> {
    let Some(handler) = handler else { return Ok(()) };
    catch_unwind(AssertUnwindSafe(move || handler(worker)))
}

/// The message of a panic.
fn message(payload: Panic) -> String {
    let text = payload.downcast_ref().copied().or_else(|| payload.downcast_ref().map(String::as_str));
    let message = text.unwrap_or("its payload is no text").to_owned();
    discard(payload);
    message
}

/// Gives the payload of a panic for which nobody waits to the handler; aborts if there is none, or
/// if it panics.
#[cold]
pub(crate) fn tell(handler: Option<PanicHandler>, payload: Panic) {
    let told = handler.map(|handler| catch_unwind(AssertUnwindSafe(move || handler(payload))));
    if !matches!(told, Some(Ok(()))) {
        log::error!(
            "a task has panicked, and nobody waits for it: the process aborts. PoolBuilder::panic_handler sets a \
             function that is given such panics"
        );
        process::abort();
    }
}

/// The work of one worker, which has to run on a thread of its own. Given to the
/// [`spawn_handler`](crate::PoolBuilder::spawn_handler), which starts that thread.
///
/// ```
/// use std::thread;
/// use rangesteal::{Pool, WorkerThread};
///
/// /// Starts a thread of the standard library, as the pool does without a handler.
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
#[must_use = "building the pool fails unless each of its workers is run"]
pub struct WorkerThread {
    index: usize,
    name: String,
    stack_size: Option<usize>,
    body: Option<Box<dyn FnOnce() + Send + Sync>>,
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
        body: Box<dyn FnOnce() + Send + Sync>,
        gate: Arc<Gate>,
    ) -> Self {
        let (builder, process) = (thread::current().id(), Process::current());
        Self { index, name, stack_size, body: Some(body), gate, builder, process }
    }

    /// The number of the worker, from 1 on. Worker 0 is the thread that calls a loop.
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

    /// The name for the thread: set by [`thread_name`](crate::PoolBuilder::thread_name), or the
    /// default. [`WorkerThread`] has an example.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size of the stack for the thread, in bytes. `None` if
    /// [`stack_size`](crate::PoolBuilder::stack_size) was not called. [`WorkerThread`] has an
    /// example.
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs the worker on the calling thread. Returns when the pool is dropped, or could not be
    /// built. In a child made by `fork`, `run` returns at once. [`WorkerThread`] has an example.
    ///
    /// If workers are pinned, the calling thread is pinned while this runs, and then gets its old
    /// affinity mask back.
    ///
    /// # Panics
    /// If the calling thread builds the pool: the building thread has to wait until the worker has
    /// started.
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
        if let Some(body) = self.body.take() {
            body();
        }
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        if !self.process.is_current() {
            mem::forget(self.body.take()); // forked child: a thread of the parent may have held a lock
        }
    }
}
