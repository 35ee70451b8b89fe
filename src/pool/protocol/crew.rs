//! The threads of a pool: they wait for a job, run it, and leave.

use std::{
    io, mem,
    panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    barrier::{Barrier, Polls},
    fork::Process,
    job::{self, Job},
};
use crate::sync::{Condvar, JoinHandle, Mutex, Patience, ThreadBuilder, lock, spawn, wait};

/// The threads of one pool. Dropping it stops them and joins them.
#[derive(Debug)]
pub(crate) struct Crew {
    barrier: Arc<Barrier<Job>>,
    threads: Vec<JoinHandle<()>>,
    /// The process in which the threads are.
    pub(crate) process: Process,
}

// No panic in user code leaves the threads or the barrier half-changed.
impl UnwindSafe for Crew {}
impl RefUnwindSafe for Crew {}

impl Crew {
    /// A crew without threads yet, with room for `workers`, which poll for `patience` before they
    /// sleep.
    pub(crate) fn new(workers: usize, patience: Patience) -> Self {
        Self {
            barrier: Arc::new(Barrier::new(workers, patience)),
            threads: Vec::with_capacity(workers),
            process: Process::current(),
        }
    }

    /// Whether the first helper would find a job without being woken. A hint.
    pub(crate) fn is_first_awake(&self) -> bool {
        self.barrier.is_first_awake()
    }

    /// How many helpers would find a job without being woken. A hint.
    pub(crate) fn awake(&self) -> usize {
        self.barrier.awake()
    }

    /// Runs `work` on the workers `1..workers`, each of which may come late or not at all, and
    /// `own` on the calling thread, which is worker 0. Returns when no worker is inside `work` any
    /// more.
    ///
    /// `work` must not unwind. If `own` unwinds, this still waits. One caller at a time.
    pub(crate) fn share(
        &self,
        workers: usize,
        polls: Polls,
        work: &(dyn Fn(usize) + Sync),
        own: impl FnOnce(),
    ) {
        job::share(&self.barrier, workers, polls, work, own);
    }

    /// Calls worker `me` back into the work that it has left; 0 is the caller, which rests.
    pub(crate) fn call_back(&self, me: usize) {
        match me.checked_sub(1) {
            None => self.barrier.call_caller(),
            Some(helper) => self.barrier.call_back(helper),
        }
    }

    /// The caller rests while others work, until it is called back (true), or all have left.
    pub(crate) fn rest(&self) -> bool {
        self.barrier.rest()
    }

    /// How many threads there are.
    pub(crate) fn size(&self) -> usize {
        self.threads.len()
    }

    /// Gives up the threads without stopping or joining them.
    pub(crate) fn leave(&mut self) {
        mem::forget(mem::take(&mut self.threads));
    }

    /// Starts the next thread, which runs `arrive` first, and asks `may_help` before each job
    /// whether to take part in it. Returns what `arrive` returned.
    pub(crate) fn hire<R: Send + 'static>(
        &mut self,
        thread: ThreadBuilder,
        arrive: impl FnOnce() -> R + Send + 'static,
        may_help: impl FnMut() -> bool + Send + 'static,
    ) -> io::Result<R> {
        let me = self.threads.len();
        let barrier = Arc::clone(&self.barrier);
        let arrival = Arc::new((Mutex::new(None), Condvar::new()));
        let told = Arc::clone(&arrival);
        let life = move || {
            let arrived = catch_unwind(AssertUnwindSafe(arrive)); // or nobody would tell
            *lock(&told.0) = Some(arrived);
            told.1.notify_one();
            drop(told);
            work(&barrier, me, may_help);
        };
        self.threads.push(spawn(thread, Box::new(life))?);
        let mut arrived = lock(&arrival.0);
        loop {
            match arrived.take() {
                Some(arrived) => return arrived.map_err(|_| io::Error::other("the thread has panicked")),
                None => arrived = wait(&arrival.1, arrived),
            }
        }
    }
}

/// The life of a worker. Thread `me` is worker `me + 1`: worker 0 is the thread that calls the
/// loop.
fn work(barrier: &Barrier<Job>, me: usize, mut may_help: impl FnMut() -> bool) {
    let mut seen = barrier.nothing_seen();
    loop {
        // Asked here, outside of any round: nobody waits for the answer.
        while !may_help() {
            if barrier.pass_over(me, &mut seen).is_none() {
                return;
            }
        }
        let Some((job, entered)) = barrier.enter(me, &mut seen) else { return };
        job.run(me + 1);
        drop(entered);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if !self.process.is_current() {
            self.leave(); // the threads do not exist in the child, and a lock may have been held
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

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn who_sleeps_is_not_awake_and_who_polls_is() {
        assert!(!Crew::new(0, Patience::default()).is_first_awake(), "there is none");
        let crew = |patience| {
            let mut crew = Crew::new(1, patience);
            assert!(crew.is_first_awake(), "who has not slept yet looks for a job");
            crew.hire(ThreadBuilder::new(), || (), || true).unwrap();
            crew
        };
        let impatient = crew(Patience::default());
        let begin = Instant::now();
        while impatient.is_first_awake() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it has no patience");
            thread::yield_now();
        }
        let patient = crew(Patience::of(Duration::from_secs(60)));
        thread::sleep(Duration::from_millis(50));
        assert!(patient.is_first_awake(), "it polls");
    }
}
