//! The threads on which [`Pool::enter`](super::Pool::enter) runs closures, and the reserve. The
//! calling thread of a loop is no thread of the pool, so it has none of the options of the pool's
//! threads. A *host* is a thread with these options that calls loops in place of the calling
//! thread.
//!
//! Each host has a barrier of its own, with which its caller lends it a closure as a job. So no
//! worker has to be idle. If all hosts run closures, the next call starts one more host. No call
//! waits until a host is idle: closures may wait for each other, so such a call could wait for
//! ever. The pool keeps its hosts until it is dropped. A host is not pinned: a caller is not
//! pinned, either.

use std::{
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind},
    ptr,
    sync::Arc,
};

use super::{
    error::BuildError,
    place::{affinity, inherited_scheduling::InheritedScheduling},
    supply::Fence,
    team::{
        barrier::Offer,
        fork::Process,
        job, oneshot,
        threads::{Threads, WorkerHandle},
    },
    thread::{Arrived, Handlers, PanicHandler, ThreadBody},
};
use crate::sync::{Condvar, JoinHandle, Mutex, Patience, ThreadBuilder, lock, wait};

/// A thread that has not started.
pub(crate) fn new_thread(name: String, stack_size: Option<usize>) -> ThreadBuilder {
    let thread = ThreadBuilder::new().name(name);
    match stack_size {
        Some(bytes) => thread.stack_size(bytes),
        None => thread,
    }
}

/// The work of a thread.
pub(crate) type HostBody = Box<dyn FnOnce() + Send + Sync>;

/// The options of a host.
#[derive(Default)]
pub(crate) struct HostOptions {
    pub(crate) name: String,
    pub(crate) stack_size: Option<usize>,
    /// The CPUs, and in the global pool the priority. The thread that starts a host may be pinned.
    pub(crate) scheduling: Option<InheritedScheduling>,
    pub(crate) handlers: Arc<Handlers>,
    /// Whether the pool may start no thread at all.
    pub(crate) is_alone: bool,
}

/// The hosts of a pool.
pub(crate) struct Hosts {
    options: HostOptions,
    /// The hosts that run no closure now. A forked child does not touch them.
    idle: Mutex<Vec<Threads>>,
    process: Process,
}

// The pool calls the handlers under `catch_unwind`, and not again after a panic.
impl UnwindSafe for Hosts {}
impl RefUnwindSafe for Hosts {}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosts").field("name", &self.options.name).finish_non_exhaustive()
    }
}

std::thread_local! {
    /// The hosts to which the calling thread belongs, as an address; 0 if it is no host.
    static HOST_OF: Cell<usize> = const { Cell::new(0) };
}

impl Hosts {
    /// No hosts yet.
    pub(crate) fn new(options: HostOptions) -> Self {
        Self { options, idle: Mutex::new(Vec::new()), process: Process::current() }
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// The function that is given the panics of tasks.
    pub(crate) fn panic_handler(&self) -> Option<PanicHandler> {
        self.options.handlers.panic.clone()
    }

    /// Whether the calling thread is one of these hosts.
    pub(crate) fn are_here(&self) -> bool {
        HOST_OF.get() == self.address()
    }

    /// Calls `work` on a host, and waits until it has returned.
    ///
    /// # Panics
    /// If `work` panics; if a host cannot be started.
    pub(crate) fn call<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let (mut work, mut ended) = (Some(work), None);
        self.lend(&mut || ended = work.take().map(|work| catch_unwind(AssertUnwindSafe(work))));
        match ended.expect("the host has called the closure") {
            Ok(returned) => returned,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Lends `work` to a host. `work` has to catch its panics.
    #[inline(never)]
    fn lend(&self, work: &mut (dyn FnMut() + Send)) {
        let is_ours = self.process.is_current();
        let kept = if is_ours { lock(&self.idle).pop() } else { None };
        let host = kept.unwrap_or_else(|| self.start());
        let here = self.address();
        let (work, ended) = (Mutex::new(Some(work)), (Mutex::new(false), Condvar::new()));
        let job = |_seat| {
            let work = lock(&work).take();
            if let Some(work) = work {
                HOST_OF.set(here);
                work();
                HOST_OF.set(0);
            }
            *lock(&ended.0) = true;
            ended.1.notify_one();
        };
        // The job is lent until this function returns, so nothing may unwind meanwhile.
        let until_ended = || {
            let mut is_over = lock(&ended.0);
            while !*is_over {
                is_over = wait(&ended.1, is_over);
            }
        };
        let turn = host.barrier.arenas.take().expect("a host that runs no closure has a free arena");
        let offer = Offer { helpers: 1, ..Offer::default() };
        job::share(&host.barrier, &turn, offer, &job, until_ended);
        drop(turn);
        if is_ours {
            lock(&self.idle).push(host);
        }
    }

    /// Starts a host.
    fn start(&self) -> Threads {
        let mut threads = Threads::new(1, Fence::Symmetric, Patience::default());
        let (body, arrival) = self.body(threads.new_worker());
        if self.options.handlers.are_detached {
            threads.detach();
        }
        let why: String = match threads.start(self.new_thread(), body).map(|_| arrival.receive()) {
            Ok(Some(Arrived { started: Ok(()), .. })) => return threads,
            Ok(Some(Arrived { started: Err(message), .. })) => {
                format!("the start handler has panicked: {message}")
            }
            Ok(None) => io::Error::from(io::ErrorKind::Interrupted).to_string(),
            Err(error) => error.to_string(),
        };
        panic!("no thread for Pool::enter: {why}");
    }

    /// Makes the first host. `start` has to start its thread, which has this name and stack size.
    pub(crate) fn begin(
        &self,
        start: impl FnOnce(&mut Threads, (String, Option<usize>), HostBody) -> Result<(), BuildError>,
    ) -> Result<oneshot::Receiver<Arrived>, BuildError> {
        let mut threads = Threads::new(1, Fence::Symmetric, Patience::default());
        threads.detach();
        let (body, arrival) = self.body(threads.new_worker());
        start(&mut threads, (self.options.name.clone(), self.options.stack_size), body)?;
        lock(&self.idle).push(threads);
        Ok(arrival)
    }

    /// Starts the reserve, a thread with the options of a host.
    pub(crate) fn start_reserve(&self, handle: WorkerHandle) -> io::Result<JoinHandle<()>> {
        if self.options.is_alone {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (body, _) = self.body(handle);
        self.new_thread().spawn(body)
    }

    fn new_thread(&self) -> ThreadBuilder {
        new_thread(self.options.name.clone(), self.options.stack_size)
    }

    /// The work of a thread that works for `handle`, with the options of a host.
    fn body(&self, handle: WorkerHandle) -> (HostBody, oneshot::Receiver<Arrived>) {
        let HostOptions { scheduling, handlers, .. } = &self.options;
        let body = ThreadBody {
            worker: 0,
            inherited: scheduling.clone(),
            cpu: None,
            checks_cpu: false,
            handlers: Arc::clone(handlers),
        };
        let (sender, arrival) = oneshot::channel();
        (Box::new(move || body.run(handle, sender, &mut affinity::pin_for_good)), arrival)
    }
}
