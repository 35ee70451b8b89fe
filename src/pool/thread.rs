//! The thread of a worker: the work from its start to its end, and [`WorkerThread`], with which the
//! program runs that work on a thread of its own.

use std::{
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::Arc,
    thread::{self, ThreadId},
    time::Duration,
};

use super::{
    engine::ending::{Panic, discard},
    place::{
        affinity::{self, Pin, Pinned},
        inherited_scheduling::InheritedScheduling,
        starvation,
    },
    team::{fork::Process, gate::Gate, oneshot::Sender, threads::WorkerHandle},
};
use crate::clock::Instant;

/// How old a worker is when it registers the process with the kernel, if nobody has (`fence.rs`).
const REGISTERS_AFTER: Duration = Duration::from_millis(100);

/// A function of the program that runs on each thread, with the number of its worker.
pub(crate) type Handler = Arc<dyn Fn(usize) + Send + Sync>;

/// A function of the program that is given the panics of tasks.
pub(crate) type PanicHandler = Arc<dyn Fn(Panic) + Send + Sync>;

/// The functions of the program that the threads of a pool call.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) start: Option<Handler>,
    pub(crate) exit: Option<Handler>,
    pub(crate) panic: Option<PanicHandler>,
    /// Whether building does not wait for the start handler. A panic of a handler is then treated
    /// as that of a task.
    pub(crate) are_detached: bool,
}

/// The whole work of a thread of the pool: pinning and the start handler, the jobs, and the exit
/// handler.
pub(crate) struct ThreadBody {
    pub(crate) worker: usize,
    pub(crate) inherited: Option<InheritedScheduling>,
    /// The CPU that the thread is pinned to.
    pub(crate) cpu: Option<usize>,
    /// Whether the thread checks between jobs that it gets CPU time (`place/starvation.rs`).
    pub(crate) checks_cpu: bool,
    pub(crate) handlers: Arc<Handlers>,
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
    /// Does the work on the calling thread, which `pin` pins.
    #[inline(never)]
    pub(crate) fn run(self, handle: WorkerHandle, arrival: Sender<Arrived>, pin: Pin<'_>) {
        let Self { worker, inherited, cpu, checks_cpu, handlers } = self;
        let taken_over = inherited.map_or(Ok(()), |of| of.take_over());
        let pinned = cpu.map_or(Ok(()), pin).map(|()| affinity::this_thread());
        let call = |handler: &Option<Handler>| {
            let Some(handler) = handler else { return Ok(()) };
            catch_unwind(AssertUnwindSafe(|| handler(worker)))
        };
        let panicked = |payload| {
            if handlers.are_detached { tell(handlers.panic.as_ref(), payload) } else { discard(payload) }
        };
        let start = || call(&handlers.start);
        let started = if handlers.are_detached { Ok(()) } else { start().map_err(message) };
        let stays = started.is_ok() || handle.is_reserve(); // tasks wait for the reserve
        arrival.send(Arrived { taken_over, pinned, started });
        if stays {
            if handlers.are_detached {
                start().unwrap_or_else(panicked);
            }
            let (mut has_cpu, begin) = (starvation::has_cpu(), Instant::now());
            handle.work(|| !checks_cpu || has_cpu(), || begin.elapsed() > REGISTERS_AFTER);
            call(&handlers.exit).unwrap_or_else(panicked);
        }
    }
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
pub(crate) fn tell(handler: Option<&PanicHandler>, payload: Panic) {
    let told = handler.map(|handler| catch_unwind(AssertUnwindSafe(|| handler(payload))));
    if !matches!(told, Some(Ok(()))) {
        log::error!(
            "a task has panicked, and nobody waits for it: the process aborts. PoolBuilder::panic_handler sets a \
             function that is given such panics"
        );
        process::abort();
    }
}

/// The work of a thread that belongs to the program. Such a thread gets its old affinity mask back
/// at the end.
pub(crate) type LentBody = Box<dyn FnOnce(Pin<'_>) + Send + Sync>;

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
    body: Option<LentBody>,
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
        body: LentBody,
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
        let mut pinned = None;
        if let Some(body) = self.body.take() {
            body(&mut |cpu| Pinned::to(cpu).map(|this_thread| pinned = Some(this_thread)));
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
