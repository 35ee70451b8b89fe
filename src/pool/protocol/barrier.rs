//! Epochs on a mutex and condition variables: publish, enter, leave, retract. This module does not
//! know about slices and items.
//!
//! The mutex carries every happens-before edge between the caller and the workers: publish → enter,
//! leave → end of the wait. A worker that wakes up late finds the job retracted and goes back to
//! sleep; the caller waits only for workers that entered.

#![allow(unused_qualifications)] // builds for tests have steps of their own

use std::mem;

use crossbeam_utils::CachePadded;

#[cfg(any(test, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(test, planted)))]
use crate::pool::protocol::barrier as steps;
use crate::sync::{AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, Patience, lock, wait};

/// Where the caller and the workers of one pool meet. `J` is the job that is published.
#[derive(Debug)]
pub(crate) struct Barrier<J> {
    pub(crate) state: CachePadded<Mutex<State<J>>>,
    /// How long a worker polls for its first job, and the caller for a call, before they sleep.
    patience: Patience,
    /// The epoch of the last job, or `STOP`. Workers with patience poll it. It is a hint, and
    /// Relaxed: the job that it announces is then looked up under the lock.
    published_epoch: CachePadded<AtomicU64>,
    /// How often the caller was called back. It polls this while it rests: a hint, and Relaxed.
    calls: AtomicU64,
    /// One per worker, so that a round for three workers wakes three.
    wake: Box<[Condvar]>,
    /// Where the caller waits for the last worker to leave.
    done: Condvar,
    /// How many workers have entered and not left. Written under the lock, which orders it, hence
    /// Relaxed; read without the lock only while polling. Written in one step for loom's sake: loom
    /// tries a store before what another thread read, but not if the storing thread has read in
    /// between.
    pub(crate) active: CachePadded<AtomicUsize>,
    /// [`ASLEEP`] for a worker that sleeps on its `wake`. Written under the lock. `publish` reads
    /// it after it has released the lock: a worker that fell asleep before the job was there is
    /// seen by way of the lock, and one that comes later finds the job. Hence Relaxed.
    where_about: Box<[AtomicUsize]>,
}

/// The worker looks for a job, or has one.
const AWAKE: usize = 0;
const ASLEEP: usize = 1;
/// The worker has passed over a job, and does not wait for the next one yet.
const AWAY: usize = 2;

/// A worker's memory of its last job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The epoch of its last job; 0 at first.
    epoch: u64,
    /// How long it polls for the next one before it sleeps.
    patience: Patience,
}

#[derive(Debug)]
pub(crate) struct State<J> {
    /// Counts the published jobs.
    epoch: u64,
    /// How many workers the last job was for, and how long they poll after it.
    asked: usize,
    patience: Patience,
    /// The published job, and the number of workers that it is for.
    pub(crate) job: Option<(J, usize)>,
    /// Whether the caller sleeps on `done`.
    pub(crate) caller_waits: bool,
    /// Whether somebody has called the caller back.
    pub(crate) caller_is_called: bool,
    pub(crate) stop: bool,
}

impl<J: Copy> Barrier<J> {
    /// The value of `published_epoch` when the pool stops.
    const STOP: u64 = u64::MAX;

    pub(crate) fn new(workers: usize, patience: Patience) -> Self {
        Self {
            state: CachePadded::new(Mutex::new(State {
                epoch: 0,
                asked: 0,
                patience: Patience::default(),
                job: None,
                caller_waits: false,
                caller_is_called: false,
                stop: false,
            })),
            patience,
            published_epoch: CachePadded::new(AtomicU64::new(0)),
            calls: AtomicU64::new(0),
            wake: (0..workers).map(|_| Condvar::new()).collect(),
            done: Condvar::new(),
            active: CachePadded::new(AtomicUsize::new(0)),
            where_about: (0..workers).map(|_| AtomicUsize::new(AWAKE)).collect(),
        }
    }

    /// The memory of a worker that has had no job yet.
    pub(crate) fn nothing_seen(&self) -> Seen {
        Seen { epoch: 0, patience: self.patience }
    }

    /// Whether the first worker would find a job without being woken.
    pub(crate) fn is_first_awake(&self) -> bool {
        self.where_about.first().is_some_and(|first| first.load(Ordering::Relaxed) == AWAKE) // a hint
    }

    /// How many workers would.
    #[inline(never)] // calls that nobody helps with are to touch little code
    pub(crate) fn awake(&self) -> usize {
        self.where_about.iter().filter(|worker| worker.load(Ordering::Relaxed) == AWAKE).count() // a hint
    }

    /// Offers `job` to the workers `0..workers`. One caller at a time. `polls` says how long it
    /// polls in the end for the last worker before it sleeps, and workers for the next job.
    pub(crate) fn publish(&self, job: J, workers: usize, polls: Polls) -> Published<'_, J> {
        let mut state = lock(&self.state);
        state.epoch += 1;
        (state.asked, state.patience) = (workers, polls.between);
        state.job = Some((job, workers));
        state.caller_is_called = false;
        let epoch = state.epoch;
        drop(state); // otherwise a worker that is woken waits for the lock
        self.published_epoch.store(epoch, Ordering::Relaxed);
        for (wake, worker) in self.wake.iter().zip(&self.where_about).take(workers) {
            if worker.load(Ordering::Relaxed) == ASLEEP {
                wake.notify_one();
            }
        }
        Published { barrier: self, patience: polls.at_end.max(self.patience) }
    }

    /// Waits for a job that worker `me` has not seen yet, and enters its round. None: the pool
    /// stops.
    ///
    /// `seen` is the worker's memory, and is brought up to date.
    pub(crate) fn enter(&self, me: usize, seen: &mut Seen) -> Option<(J, Entered<'_, J>)> {
        loop {
            if !seen.patience.is_none() {
                seen.patience.poll(|| self.published_epoch.load(Ordering::Relaxed) != seen.epoch);
            }
            let state = self.next_epoch(me, seen)?;
            // Even if it comes too late, since the next job is probably for the same workers.
            if me < state.asked {
                seen.patience = state.patience;
            }
            // A job that is no longer there, or that is for other workers, is not offered again.
            if let Some((job, workers)) = state.job
                && me < workers
            {
                self.active.fetch_add(1, Ordering::Relaxed);
                return Some((job, Entered { barrier: self }));
            }
        }
    }

    /// Waits for a job that worker `me` has not seen yet, and does not enter it. To the caller, the
    /// worker comes too late. The worker counts as away until it waits for the next job. Returns
    /// `None` if the pool stops.
    pub(crate) fn pass_over(&self, me: usize, seen: &mut Seen) -> Option<()> {
        let _state = self.next_epoch(me, seen)?;
        self.where_about[me].store(AWAY, Ordering::Relaxed);
        Some(())
    }

    /// Sleeps until there is an epoch that worker `me` has not `seen`. Returns `None` if the pool
    /// stops.
    fn next_epoch(&self, me: usize, seen: &mut Seen) -> Option<MutexGuard<'_, State<J>>> {
        let mut state = lock(&self.state);
        while !state.stop && state.epoch == seen.epoch {
            self.where_about[me].store(ASLEEP, Ordering::Relaxed);
            state = wait(&self.wake[me], state);
        }
        self.where_about[me].store(AWAKE, Ordering::Relaxed);
        *seen = Seen { epoch: state.epoch, patience: self.patience };
        (!state.stop).then_some(state)
    }

    /// Offers the job once more, for worker `me`, which has left it. By now it may be offered to
    /// nobody.
    pub(crate) fn call_back(&self, me: usize) {
        let mut state = lock(&self.state);
        let epoch = steps::offer_again(&mut state);
        drop(state);
        self.published_epoch.store(epoch, Ordering::Relaxed);
        self.wake[me].notify_one();
    }

    /// Calls the caller back, which rests.
    pub(crate) fn call_caller(&self) {
        lock(&self.state).caller_is_called = true;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.done.notify_one();
    }

    /// The caller rests while others work: until somebody calls it back (true), or nobody is inside
    /// any more.
    pub(crate) fn rest(&self) -> bool {
        let calls = self.calls.load(Ordering::Relaxed);
        self.patience
            .poll(|| self.active.load(Ordering::Relaxed) == 0 || self.calls.load(Ordering::Relaxed) != calls);
        let mut state = lock(&self.state);
        loop {
            if steps::takes_the_call(&mut state) {
                return true;
            }
            if steps::is_empty(self) {
                return false;
            }
            state.caller_waits = true;
            state = wait(&self.done, state);
            state.caller_waits = false;
        }
    }

    /// Stops all workers.
    pub(crate) fn stop(&self) {
        steps::stop(self);
    }

    /// Wakes all workers.
    pub(crate) fn wake_all(&self) {
        self.wake.iter().for_each(Condvar::notify_one);
    }
}

/// How long threads poll before they sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Polls {
    /// The caller, for the last worker of a round.
    pub(crate) at_end: Patience,
    /// A worker, for the next job after a round.
    pub(crate) between: Patience,
}

/// A job on offer. Dropping it retracts the offer and waits until every worker that entered has
/// left.
#[derive(Debug)]
pub(crate) struct Published<'a, J> {
    barrier: &'a Barrier<J>,
    patience: Patience,
}

impl<J> Drop for Published<'_, J> {
    fn drop(&mut self) {
        let barrier = self.barrier;
        let mut state = lock(&barrier.state);
        steps::retract(&mut state);
        if steps::is_empty(barrier) {
            return;
        }
        drop(state);
        self.patience.poll(|| barrier.active.load(Ordering::Relaxed) == 0);
        steps::wait_for_the_last(barrier);
    }
}

/// A worker inside a round. Dropping it leaves the round.
#[derive(Debug)]
pub(crate) struct Entered<'a, J: Copy> {
    barrier: &'a Barrier<J>,
}

impl<J: Copy> Drop for Entered<'_, J> {
    fn drop(&mut self) {
        if steps::leave(self.barrier) {
            self.barrier.done.notify_one();
        }
    }
}

/// Takes the offer back: a worker that comes from now on finds no job.
#[inline(always)]
pub(crate) fn retract<J>(state: &mut State<J>) {
    state.job = None;
}

/// Makes a job new for those who have seen it. Returns its epoch.
#[inline(always)]
pub(crate) fn offer_again<J>(state: &mut State<J>) -> u64 {
    state.epoch += 1;
    state.epoch
}

/// Whether somebody has called the caller back since it was asked last.
#[inline(always)]
pub(crate) fn takes_the_call<J>(state: &mut State<J>) -> bool {
    mem::take(&mut state.caller_is_called)
}

/// Whether no worker is inside the round. The lock is held.
#[inline(always)]
pub(crate) fn is_empty<J>(barrier: &Barrier<J>) -> bool {
    barrier.active.load(Ordering::Relaxed) == 0
}

/// Waits under the lock until no worker is inside the round. The lock is taken even if the end has
/// been seen already: it is the happens-before edge from leaving to returning.
#[inline(always)]
pub(crate) fn wait_for_the_last<J>(barrier: &Barrier<J>) {
    let mut state = lock(&barrier.state);
    while barrier.active.load(Ordering::Relaxed) != 0 {
        state.caller_waits = true;
        state = wait(&barrier.done, state);
    }
    state.caller_waits = false;
}

/// A worker leaves the round. True: it was the last one, and the caller sleeps.
#[inline(always)]
pub(crate) fn leave<J>(barrier: &Barrier<J>) -> bool {
    let state = lock(&barrier.state);
    let was_last = barrier.active.fetch_sub(1, Ordering::Relaxed) == 1;
    was_last && state.caller_waits
}

/// Tells all workers that the pool stops, and then wakes them.
#[inline(always)]
pub(crate) fn stop<J: Copy>(barrier: &Barrier<J>) {
    lock(&barrier.state).stop = true;
    barrier.published_epoch.store(Barrier::<J>::STOP, Ordering::Relaxed);
    barrier.wake_all();
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    #[test]
    fn a_worker_that_comes_too_late_polls_if_it_was_asked() {
        let (none, long) = (Patience::default(), Patience::of(Duration::from_secs(60)));
        let barrier = Barrier::new(2, none);
        drop(barrier.publish((), 1, Polls { at_end: none, between: long }));
        thread::scope(|scope| {
            for me in 0..2 {
                let barrier = &barrier;
                scope.spawn(move || assert!(barrier.enter(me, &mut barrier.nothing_seen()).is_none()));
            }
            while barrier.awake() == 2 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(50));
            let awake = barrier.awake();
            barrier.stop();
            assert_eq!(awake, 1, "the other one was not asked");
        });
    }
}
