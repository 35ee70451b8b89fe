//! The threads of a pool: they wait for a job, run it, and leave.

use std::{
    io, mem,
    panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{
    Fence,
    arena::Turn,
    barrier::{Barrier, Offer},
    fork::Process,
    here,
    job::{self, Job},
};
use crate::sync::{Condvar, JoinHandle, Mutex, Ordering, Patience, ThreadBuilder, lock, spawn, wait};

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
    pub(crate) fn new(workers: usize, fence: Fence, patience: Patience) -> Self {
        Self {
            barrier: Arc::new(Barrier::new(workers, fence, patience)),
            threads: Vec::with_capacity(workers),
            process: Process::current(),
        }
    }

    /// About how many threads are in no loop, and are not wanted in one.
    #[inline(always)]
    pub(crate) fn idle(&self) -> usize {
        self.barrier.idle()
    }

    /// About how many threads in no loop would find a job without being woken.
    #[inline(always)]
    pub(crate) fn awake(&self) -> usize {
        self.barrier.awake()
    }

    /// About how many callers of shared loops are no threads of this crew.
    #[inline(always)]
    pub(crate) fn callers(&self) -> usize {
        self.barrier.callers()
    }

    /// The number of the calling thread, from 1 on; 0 if it is none of this crew.
    pub(crate) fn here(&self) -> usize {
        here::worker(self.barrier.address())
    }

    /// About how many callers of shared loops sleep until the last worker of their loop leaves.
    pub(crate) fn waiting(&self) -> usize {
        self.barrier.waiting()
    }

    /// About how many of these would help a loop that the calling thread calls now: those of the
    /// loops around it.
    #[inline(always)]
    pub(crate) fn waiting_around(&self) -> usize {
        if self.waiting() == 0 { 0 } else { self.barrier.waiting_around(here::arena(self.barrier.address())) }
    }

    /// The right to share a loop, if there is an arena for it.
    pub(crate) fn take_turn(&self) -> Option<Turn<'_>> {
        self.barrier.arenas.take()
    }

    /// Whether a loop is being shared.
    pub(crate) fn is_busy(&self) -> bool {
        self.barrier.arenas.made().any(|arena| arena.is_taken.load(Ordering::Relaxed))
    }

    /// How many thefts there were.
    pub(crate) fn thefts(&self) -> u64 {
        self.barrier.arenas.made().map(|arena| arena.ranges.thefts()).sum()
    }

    /// Runs `work` on those helpers that come, in the seats from 1 on, and `own` on the calling
    /// thread. Returns when no worker is inside `work` any more.
    ///
    /// `work` must not unwind. If `own` unwinds, this still waits.
    pub(crate) fn share(
        &self,
        turn: &Turn<'_>,
        offer: Offer,
        work: &(dyn Fn(usize) + Sync),
        own: impl FnOnce(),
    ) {
        job::share(&self.barrier, turn, offer, work, own);
    }

    /// Calls somebody into the work in this arena: its caller, if that rests, or an idle thread.
    pub(crate) fn call(&self, arena: usize) {
        self.barrier.call(arena);
    }

    /// The caller rests while others work, until it is called (true), or all have left.
    pub(crate) fn rest(&self, turn: &Turn<'_>) -> bool {
        let outside = here::caller(self.barrier.address());
        self.barrier.rest(turn, outside, Some(&job::work))
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

/// The life of a worker. Thread `me` is worker `me + 1`: worker 0 is a thread that calls a loop.
fn work(barrier: &Barrier<Job>, me: usize, mut may_help: impl FnMut() -> bool) {
    here::settle(barrier.address(), me + 1);
    let mut seen = barrier.nothing_seen();
    loop {
        // Asked here, outside of any round: nobody waits for the answer.
        while !may_help() {
            if barrier.pass_over(me, &mut seen).is_none() {
                return;
            }
        }
        let Some(entered) = barrier.enter(me, &mut seen) else { return };
        job::work(&entered);
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
        let crew = |patience| {
            let mut crew = Crew::new(1, Fence::Symmetric, patience);
            assert_eq!(crew.awake(), 1, "who has not slept yet looks for a job");
            crew.hire(ThreadBuilder::new(), || (), || true).unwrap();
            crew
        };
        let impatient = crew(Patience::default());
        let begin = Instant::now();
        while impatient.awake() > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "it has no patience");
            thread::yield_now();
        }
        let patient = crew(Patience::of(Duration::from_secs(60)));
        thread::sleep(Duration::from_millis(50));
        assert_eq!(patient.awake(), 1, "it polls");
    }
}
