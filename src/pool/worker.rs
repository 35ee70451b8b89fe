//! The threads: wait, run, leave.

use std::{
    mem,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::Arc,
    time::Duration,
};

use super::{barrier::Barrier, fork::Process, job::Job};
use crate::sync::{JoinHandle, ThreadBuilder, mpsc};

/// The threads of one pool. Dropping it sends them home and joins them.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) barrier: Arc<Barrier<Job>>,
    threads: Vec<JoinHandle<()>>,
    /// Where the threads are.
    pub(crate) process: Process,
}

// No panic in user code leaves the threads or the barrier half-changed.
impl UnwindSafe for Crew {}
impl RefUnwindSafe for Crew {}

impl Crew {
    /// A crew of nobody, with room for `workers`, which poll for `patience` before they sleep.
    pub(crate) fn new(workers: usize, patience: Duration) -> Self {
        Self {
            barrier: Arc::new(Barrier::new(workers, patience)),
            threads: Vec::with_capacity(workers),
            process: Process::current(),
        }
    }

    /// How many threads there are.
    pub(crate) fn size(&self) -> usize {
        self.threads.len()
    }

    /// Leaves the threads to themselves, whatever they are doing.
    pub(crate) fn leave(&mut self) {
        mem::forget(mem::take(&mut self.threads));
    }

    /// Starts the next thread. It runs `arrive` first, and what that returned is returned here.
    pub(crate) fn hire<R: Send + 'static>(
        &mut self,
        thread: ThreadBuilder,
        arrive: impl FnOnce() -> R + Send + 'static,
    ) -> std::io::Result<R> {
        let me = self.threads.len();
        let barrier = Arc::clone(&self.barrier);
        let (report, arrived) = mpsc::channel();
        self.threads.push(thread.spawn(move || {
            let _nobody_waits = report.send(arrive());
            work(&barrier, me);
        })?);
        arrived.recv().map_err(std::io::Error::other)
    }
}

/// A worker's life. Thread `me` is worker `me + 1`: worker 0 is whoever calls the loop.
fn work(barrier: &Barrier<Job>, me: usize) {
    let mut seen = 0;
    while let Some((job, entered)) = barrier.enter(me, &mut seen) {
        job.run(me + 1);
        drop(entered);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if !self.process.is_current() {
            self.leave(); // they did not survive the fork, and a lock may have been held
        }
        let threads = mem::take(&mut self.threads);
        if threads.is_empty() {
            return;
        }
        self.barrier.stop();
        for thread in threads {
            let _never_panicked = thread.join();
        }
    }
}
