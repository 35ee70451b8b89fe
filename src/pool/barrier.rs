//! Epochs on a mutex and condition variables: publish, enter, leave, retract. Knows no slice and no item.
//!
//! The mutex carries every happens-before edge between the caller and the workers: publish → enter, leave → end of the wait.
//! A worker that wakes up late finds the job retracted and goes back to sleep; the caller waits for those alone that entered.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::planted::{Bug, is_planted};
use crate::sync::{AtomicU64, AtomicUsize, BRIEFLY, Condvar, Mutex, Ordering, lock, spin, wait};

/// Where the caller and the workers of one pool meet. `J` is what is published.
#[derive(Debug)]
pub(crate) struct Barrier<J> {
    state: CachePadded<Mutex<State<J>>>,
    /// How long a worker polls for the next job before it sleeps, and the caller for the last worker.
    patience: Duration,
    /// The epoch of the last job, or `STOP`: what patient workers poll. A hint, and Relaxed: what it announces is then looked up
    /// under the lock.
    news: CachePadded<AtomicU64>,
    /// One a worker, so that a round for three workers wakes three.
    wake: Box<[Condvar]>,
    /// Where the caller waits for the last worker to leave.
    done: Condvar,
    /// Workers that entered and have not left. Written under the lock, which orders it: hence Relaxed; read without it only to pass the
    /// time. Written in one step for loom's sake: it tries a store before what another thread read, but not if the storing thread has read
    /// in between.
    active: CachePadded<AtomicUsize>,
    /// 1 for a worker that sleeps on its `wake`. Written under the lock. `publish` reads it behind the lock: who fell asleep
    /// before the job was there is seen by way of the lock, and who comes later finds the job. Hence Relaxed.
    asleep: Box<[AtomicUsize]>,
}

#[derive(Debug)]
struct State<J> {
    /// Counts the published jobs.
    epoch: u64,
    /// The published job, and the number of workers it is for.
    job: Option<(J, usize)>,
    /// The caller sleeps on `done`.
    caller_waits: bool,
    stop: bool,
}

impl<J: Copy> Barrier<J> {
    /// What `news` says of a pool that stops.
    const STOP: u64 = u64::MAX;

    pub(crate) fn new(workers: usize, patience: Duration) -> Self {
        Self {
            state: CachePadded::new(Mutex::new(State {
                epoch: 0,
                job: None,
                caller_waits: false,
                stop: false,
            })),
            patience,
            news: CachePadded::new(AtomicU64::new(0)),
            wake: (0..workers).map(|_| Condvar::new()).collect(),
            done: Condvar::new(),
            active: CachePadded::new(AtomicUsize::new(0)),
            asleep: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    /// Whether the first worker would find a job without being woken.
    pub(crate) fn is_first_awake(&self) -> bool {
        self.asleep.first().is_some_and(|asleep| asleep.load(Ordering::Relaxed) == 0) // a hint
    }

    /// Offers `job` to the workers `0..workers`. One caller at a time.
    pub(crate) fn publish(&self, job: J, workers: usize) -> Published<'_, J> {
        let mut state = lock(&self.state);
        state.epoch += 1;
        state.job = Some((job, workers));
        let epoch = state.epoch;
        drop(state); // or who is woken waits for it
        self.news.store(epoch, Ordering::Relaxed);
        for (wake, asleep) in self.wake.iter().zip(&self.asleep).take(workers) {
            if asleep.load(Ordering::Relaxed) != 0 {
                wake.notify_one();
            }
        }
        Published { barrier: self }
    }

    /// Waits for a job that worker `me` has not seen yet, and enters. None: the pool stops.
    ///
    /// `seen` is the epoch of the worker's last job; 0 at first.
    pub(crate) fn enter(&self, me: usize, seen: &mut u64) -> Option<(J, Entered<'_, J>)> {
        loop {
            if !self.patience.is_zero() {
                spin(self.patience, || self.news.load(Ordering::Relaxed) != *seen);
            }
            let mut state = lock(&self.state);
            while !state.stop && state.epoch == *seen {
                self.asleep[me].store(1, Ordering::Relaxed);
                state = wait(&self.wake[me], state);
                self.asleep[me].store(0, Ordering::Relaxed);
            }
            if state.stop {
                return None;
            }
            // A job that is no longer there, or for others, is not offered again.
            *seen = state.epoch;
            if let Some((job, workers)) = state.job
                && me < workers
            {
                self.active.fetch_add(1, Ordering::Relaxed);
                return Some((job, Entered { barrier: self }));
            }
        }
    }

    /// Sends all workers home.
    pub(crate) fn stop(&self) {
        let wake = || self.wake.iter().for_each(Condvar::notify_one);
        if is_planted(Bug::WakesBeforeItStops) {
            wake();
            lock(&self.state).stop = true;
            return;
        }
        lock(&self.state).stop = true;
        self.news.store(Self::STOP, Ordering::Relaxed);
        wake();
    }
}

/// A job on offer. Dropping it retracts the offer and waits until every worker that entered has left.
#[derive(Debug)]
pub(crate) struct Published<'a, J> {
    barrier: &'a Barrier<J>,
}

impl<J> Drop for Published<'_, J> {
    fn drop(&mut self) {
        let barrier = self.barrier;
        let inside = || barrier.active.load(Ordering::Relaxed);
        let mut state = lock(&barrier.state);
        if !is_planted(Bug::RetractsNothing) {
            state.job = None;
        }
        if inside() == 0 || is_planted(Bug::WaitsForNobody) {
            return;
        }
        drop(state);
        spin(BRIEFLY.max(barrier.patience), || inside() == 0);
        if is_planted(Bug::SeesTheEndUnlocked) && inside() == 0 {
            return;
        }
        // The lock, whether or not the spinning saw the end: it is the leave → return edge.
        state = lock(&barrier.state);
        while inside() != 0 {
            state.caller_waits = true;
            state = wait(&barrier.done, state);
        }
        state.caller_waits = false;
    }
}

/// A worker inside a round. Dropping it leaves.
#[derive(Debug)]
pub(crate) struct Entered<'a, J: Copy> {
    barrier: &'a Barrier<J>,
}

impl<J: Copy> Drop for Entered<'_, J> {
    fn drop(&mut self) {
        let looked = is_planted(Bug::LooksBeforeItLeaves).then(|| lock(&self.barrier.state).caller_waits);
        let state = lock(&self.barrier.state);
        let is_last = self.barrier.active.fetch_sub(1, Ordering::Relaxed) == 1;
        let wakes = is_last && looked.unwrap_or(state.caller_waits);
        drop(state);
        if wakes {
            self.barrier.done.notify_one();
        }
    }
}
