//! Where callers and workers of a pool meet: publish, enter, leave, retract, for several loops at a
//! time. This module does not know about slices and items.
//!
//! All of it happens under one lock, the *state lock*, which is held for some ten nanoseconds. It
//! carries every happens-before edge between callers and workers: publish → enter, leave → end of
//! the wait. A worker that wakes up late finds the job retracted; a caller waits only for workers
//! that entered its arena.
//!
//! A caller offers *places* in its arena. A worker looks at the places of all arenas before it
//! sleeps, and enters one of them. While any worker sleeps, the workers that are awake are at least
//! as many as the open places: a caller that opens places wakes workers until that holds again.
//! With one lock for sleep and for all jobs, this is an invariant of one state. With a lock for
//! each arena and one for the sleepers, a caller would have to look twice, and a worker three
//! times.
//!
//! A caller that waits for the last worker helps the loops that are called in items of its own loop
//! (leapfrogging: Wagner and Calder 1993), and no others.

#![allow(unused_qualifications)] // builds for models take the steps from `check`

use std::{
    mem, ptr,
    sync::atomic::{AtomicU64, AtomicUsize as Hint},
};

use crossbeam_utils::CachePadded;

use super::{
    Fence,
    arena::{ARENAS, Arena, Arenas, Turn},
};
#[cfg(any(loom, shuttle, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(loom, shuttle, planted)))]
use crate::pool::protocol::barrier as steps;
use crate::sync::{Condvar, Mutex, MutexGuard, Ordering, Patience, lock, wait};

/// Where the callers and the workers of one pool meet. `J` is the job that is published.
#[derive(Debug)]
pub(crate) struct Barrier<J> {
    hinted: CachePadded<HintedState<J>>,
    announced: CachePadded<Announced>,
    pub(crate) arenas: Arenas,
    /// How long a worker polls for its first job, and a caller for a call, before they sleep.
    patience: Patience,
    /// One per worker, so that a round for three workers wakes three.
    wake: Box<[Condvar]>,
}

/// The state, behind the hints for callers. They begin in one cache line.
#[derive(Debug)]
#[repr(C)] // in this order
struct HintedState<J> {
    hints: StateHints,
    state: Mutex<BarrierState<J>>,
}

/// Counts of the state that are read without its lock: hints, and Relaxed. Written under the lock.
/// They are std's atomics, not loom's: no step depends on their values, so there is nothing to
/// explore.
#[derive(Debug, Default)]
struct StateHints {
    /// Workers that are in no loop, and for which no place is open; workers that would find a job
    /// without being woken; callers of shared loops that are no workers; and callers that wait.
    idle: Hint,
    awake: Hint,
    callers: Hint,
    waiting: Hint,
}

/// Two words that workers with patience poll: hints, as in [`StateHints`]. A worker looks for the
/// job under the lock.
#[derive(Debug)]
struct Announced {
    epoch: AtomicU64,
    /// How many places are open.
    open: Hint,
}

/// Whether a worker is in a loop, and if not, whether it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerState {
    /// It looks for a job, or will do so before it sleeps.
    Awake,
    /// It sleeps on its `wake`.
    Asleep,
    /// It sleeps, and lets others go first: it has passed over a job.
    Away,
    /// It is in a loop.
    Inside,
}

/// A worker's memory of its last job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The epoch that it saw when it last looked; 0 at first.
    epoch: u64,
    /// How long it polls for the next one before it sleeps.
    patience: Patience,
}

/// The workers and the offers of a pool, which the state lock protects.
#[derive(Debug)]
pub(crate) struct BarrierState<J> {
    /// Counts the published jobs and the calls; `STOP`, when the pool stops.
    epoch: u64,
    /// How many workers the last job was for, and how long they poll after it.
    asked: usize,
    patience: Patience,
    /// How many places are open in all arenas together.
    open: usize,
    worker_states: Box<[WorkerState]>,
    /// How many workers are `Awake`, and so on.
    counts: [usize; 4],
    /// Callers of shared loops that are no workers, and callers that wait.
    callers: usize,
    waiting: usize,
    pub(crate) stop: bool,
    pub(crate) rounds: [ArenaJob<J>; ARENAS],
}

/// The job of an arena, and the places that are open for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaJob<J> {
    /// The published job.
    pub(crate) job: Option<J>,
    /// How many helpers there can be: they have the seats from 1 on.
    helpers: usize,
    /// How many more of them may enter for the first time, and how many were called since.
    places: usize,
    called: usize,
    visits: Visits,
    /// Whether the caller sleeps on `done`.
    pub(crate) caller_waits: bool,
}

/// A thread that calls a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    /// Which worker it is, if it is one.
    pub(crate) worker: Option<usize>,
    /// The arena of the innermost loop of this pool that it works in.
    pub(crate) outer: Option<usize>,
}

impl Caller {
    /// Its number as a thread of the pool; 0 if it is none.
    fn thread(self) -> usize {
        self.worker.map_or(0, |worker| worker + 1)
    }
}

/// How often a worker may come to a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Visits {
    /// A worker leaves when nothing is left to do. So nobody enters after that.
    #[default]
    Once,
    /// A worker leaves when nothing is to be done at the moment. Workers are called when there is.
    Again,
}

/// An offer of a caller to idle workers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offer {
    /// To how many helpers.
    pub(crate) helpers: usize,
    pub(crate) visits: Visits,
    pub(crate) polls: PollTimes,
}

/// How long threads poll before they sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PollTimes {
    /// The caller, for the last worker of a round.
    pub(crate) at_end: Patience,
    /// A worker, for the next job after a round.
    pub(crate) between: Patience,
}

impl<J: Copy> BarrierState<J> {
    fn count(&self, rest: WorkerState) -> usize {
        self.counts[rest as usize]
    }

    fn set_worker_state(&mut self, me: usize, rest: WorkerState) {
        self.counts[self.worker_states[me] as usize] -= 1;
        self.counts[rest as usize] += 1;
        self.worker_states[me] = rest;
    }

    /// A worker that is to be woken, since more places are open than workers are awake: the first
    /// one from `first` on that sleeps, or else one that has passed over a job. It counts as awake
    /// from now on.
    fn take_sleeper(&mut self, first: usize) -> Option<usize> {
        let awake = self.count(WorkerState::Awake);
        let rest = if self.count(WorkerState::Asleep) > 0 { WorkerState::Asleep } else { WorkerState::Away };
        if !steps::wants_more(self.open, awake) || self.count(rest) == 0 {
            return None;
        }
        let workers = self.worker_states.len();
        let worker = (first..workers).chain(0..first).find(|worker| self.worker_states[*worker] == rest)?;
        self.set_worker_state(worker, WorkerState::Awake);
        Some(worker)
    }
}

impl<J> ArenaJob<J> {
    const NONE: Self =
        Self { job: None, helpers: 0, places: 0, called: 0, visits: Visits::Once, caller_waits: false };

    fn open(&self) -> usize {
        self.places + self.called
    }
}

impl<J: Copy> Barrier<J> {
    /// The epoch when the pool stops.
    const STOP: u64 = u64::MAX;

    /// A barrier for `workers` threads of a pool. `fence` is the one between them and their
    /// thieves.
    pub(crate) fn new(workers: usize, fence: Fence, patience: Patience) -> Self {
        let hints =
            StateHints { idle: Hint::new(workers), awake: Hint::new(workers), ..StateHints::default() };
        let state = BarrierState {
            epoch: 0,
            asked: 0,
            patience: Patience::default(),
            open: 0,
            worker_states: (0..workers).map(|_| WorkerState::Awake).collect(),
            counts: [workers, 0, 0, 0],
            callers: 0,
            waiting: 0,
            stop: false,
            rounds: [ArenaJob::NONE; ARENAS],
        };
        Self {
            hinted: CachePadded::new(HintedState { hints, state: Mutex::new(state) }),
            announced: CachePadded::new(Announced { epoch: AtomicU64::new(0), open: Hint::new(0) }),
            arenas: Arenas::new(workers + 1, fence),
            patience,
            wake: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    /// The address by which its threads know it.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// The memory of a worker that has had no job yet.
    pub(crate) fn nothing_seen(&self) -> Seen {
        Seen { epoch: 0, patience: self.patience }
    }

    /// About how many workers are in no loop, and are not wanted in one.
    #[inline(always)]
    pub(crate) fn idle(&self) -> usize {
        self.hinted.hints.idle.load(Ordering::Relaxed)
    }

    /// About how many workers in no loop would find a job without being woken.
    #[inline(always)]
    pub(crate) fn awake(&self) -> usize {
        self.hinted.hints.awake.load(Ordering::Relaxed)
    }

    /// About how many callers of shared loops are no workers.
    #[inline(always)]
    pub(crate) fn callers(&self) -> usize {
        self.hinted.hints.callers.load(Ordering::Relaxed)
    }

    /// About how many callers of shared loops wait for the last worker.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> usize {
        self.hinted.hints.waiting.load(Ordering::Relaxed)
    }

    /// About how many callers of the loops around the calling thread wait: they would help a loop
    /// that it calls. It works in the loop of arena `number`.
    pub(crate) fn waiting_around(&self, number: usize) -> usize {
        let waits = |arena: &Arena| usize::from(arena.waits.load(Ordering::Relaxed));
        let own = self.arenas.get(number).map_or(0, waits);
        own + self.arenas.around(number).map(|(_, arena)| waits(arena)).sum::<usize>()
    }

    /// Offers `job` in the arena of `turn`.
    pub(crate) fn publish<'a>(
        &'a self,
        turn: &'a Turn<'_>,
        caller: Caller,
        offer: Offer,
        job: J,
    ) -> Published<'a, J> {
        let Offer { helpers, visits, polls } = offer;
        let &Turn { arena, number } = turn;
        arena.prepare(caller.thread(), caller.outer, helpers);
        let mut state = lock(&self.hinted.state);
        state.epoch += 1;
        (state.asked, state.patience) = (helpers, polls.between);
        state.rounds[number] =
            ArenaJob { job: Some(job), helpers, places: helpers, called: 0, visits, caller_waits: false };
        state.open += helpers;
        state.callers += usize::from(caller.worker.is_none());
        self.announce_inside(number);
        self.open(state, caller.thread());
        Published { barrier: self, arena, number, caller, patience: polls.at_end.max(self.patience) }
    }

    /// Announces the places that have been opened, and wakes workers, from `first` on, until as
    /// many are awake; and if there are not enough, callers. One after the other, each after a look
    /// whether it is still needed: to wake one takes a microsecond or more, and the lock is not
    /// held meanwhile.
    fn open<'a>(&'a self, mut state: MutexGuard<'a, BarrierState<J>>, mut first: usize) {
        while let Some(worker) = state.take_sleeper(first) {
            self.tell(&state);
            drop(state);
            self.wake[worker].notify_one();
            first = worker + 1;
            state = lock(&self.hinted.state);
        }
        self.tell(&state);
        self.wake_callers(&state);
    }

    /// Announces that a place has been opened in arena `number` to callers around that poll.
    fn announce_inside(&self, number: usize) {
        self.arenas.around(number).for_each(|(_, arena)| arena.is_wanted.store(true, Ordering::Relaxed));
    }

    /// If more places are open than workers are awake: wakes, for each loop that has places, the
    /// innermost caller around it that sleeps.
    fn wake_callers(&self, state: &BarrierState<J>) {
        let (open, awake) = (state.open, state.count(WorkerState::Awake));
        if state.waiting == 0 || !steps::wants_more(open, awake) {
            return;
        }
        let has_places = |number: &usize| state.rounds[*number].open() > 0;
        for number in (0..ARENAS).filter(has_places) {
            let mut around = self.arenas.around(number);
            if let Some((_, arena)) = around.find(|(around, _)| steps::sleeps(state, *around)) {
                arena.done.notify_one();
            }
        }
    }

    /// Tells callers and workers of a change, before the lock is released.
    fn tell(&self, state: &BarrierState<J>) {
        let (HintedState { hints, .. }, announced) = (&*self.hinted, &self.announced);
        let [awake, asleep, away, _] = state.counts;
        let in_no_loop = awake + asleep + away;
        hints.idle.store(in_no_loop.saturating_sub(state.open), Ordering::Relaxed);
        hints.awake.store(awake, Ordering::Relaxed);
        hints.callers.store(state.callers, Ordering::Relaxed);
        hints.waiting.store(state.waiting, Ordering::Relaxed);
        announced.open.store(state.open, Ordering::Relaxed);
        announced.epoch.store(state.epoch, Ordering::Relaxed);
    }

    /// Waits for an open place, and takes it. Returns `None` if the pool stops.
    ///
    /// `seen` is the worker's memory, and is brought up to date.
    pub(crate) fn enter(&self, me: usize, seen: &mut Seen) -> Option<Entered<'_, J>> {
        loop {
            if !seen.patience.is_none() {
                let Announced { epoch, open } = &*self.announced;
                seen.patience
                    .poll(|| epoch.load(Ordering::Relaxed) != seen.epoch || open.load(Ordering::Relaxed) > 0);
            }
            let mut state = lock(&self.hinted.state);
            loop {
                if state.stop {
                    return None;
                }
                let is_new = state.epoch != seen.epoch;
                seen.epoch = state.epoch;
                let comer = Comer { thread: me + 1, waits_for: None };
                if let Some(entered) = self.take_place(&mut state, comer) {
                    // Even if the next job is for others: it is probably for the same workers.
                    seen.patience = state.patience.max(self.patience);
                    self.tell(&state);
                    return Some(entered);
                }
                // It comes too late. If it was meant, it polls as if it had been in time.
                let was_meant = is_new && state.count(WorkerState::Awake) <= state.asked;
                let learnt = if was_meant { state.patience } else { Patience::default() };
                seen.patience = learnt.max(self.patience);
                if is_new && !seen.patience.is_none() {
                    break;
                }
                state = self.sleep(state, me, WorkerState::Asleep);
            }
        }
    }

    /// Passes over all jobs, and sleeps until worker `me` is woken. Others are woken first. To
    /// callers, it comes too late. Returns `None` if the pool stops.
    pub(crate) fn pass_over(&self, me: usize, seen: &mut Seen) -> Option<()> {
        let mut state = lock(&self.hinted.state);
        seen.epoch = state.epoch;
        if state.stop {
            return None;
        }
        state.set_worker_state(me, WorkerState::Away);
        let others = state.count(WorkerState::Asleep) > 0;
        if others && let Some(other) = state.take_sleeper(me + 1) {
            self.wake[other].notify_one(); // it comes in place of this one
        }
        self.wake_callers(&state); // or one of these
        let state = self.sleep(state, me, WorkerState::Away);
        (!state.stop).then_some(())
    }

    /// Sleeps until another thread has woken this one, or the pool stops.
    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, BarrierState<J>>,
        me: usize,
        rest: WorkerState,
    ) -> MutexGuard<'a, BarrierState<J>> {
        state.set_worker_state(me, rest);
        self.tell(&state);
        while state.worker_states[me] == rest && !state.stop {
            state = wait(&self.wake[me], state);
        }
        if state.worker_states[me] == rest {
            state.set_worker_state(me, WorkerState::Awake);
        }
        state
    }

    /// A thread takes a place, if one is open to it.
    fn take_place<'a>(&'a self, state: &mut BarrierState<J>, comer: Comer) -> Option<Entered<'a, J>> {
        if state.open == 0 {
            return None;
        }
        // Callers take the first free arena, so a loop mostly comes before the loops in its items.
        // Here a called place may lack a seat: a worker that has gone keeps its seat until it has
        // left. Then it takes the place itself.
        let rounds = state.rounds[..steps::arenas_in_sight()].iter_mut().enumerate();
        let (number, round, arena) = rounds
            .filter(|(number, round)| round.open() > 0 && self.is_open_to(comer, *number))
            .filter_map(|(number, round)| Some((number, round, self.arenas.get(number)?)))
            .find(|(_, round, arena)| arena.active.load(Ordering::Relaxed) < round.helpers)?;
        let job = round.job?;
        let seat = arena.take_seat(comer.thread, round.helpers)?;
        let place = if round.places > 0 { &mut round.places } else { &mut round.called };
        *place -= 1;
        state.open -= 1;
        let me = if comer.waits_for.is_none() { comer.thread.checked_sub(1) } else { None };
        if let Some(me) = me {
            state.set_worker_state(me, WorkerState::Inside);
        }
        arena.active.fetch_add(1, Ordering::Relaxed);
        Some(Entered { barrier: self, job, seat, arena, number, me })
    }

    /// Whether a thread may help the loop in arena `number`.
    fn is_open_to(&self, comer: Comer, number: usize) -> bool {
        comer
            .waits_for
            .is_none_or(|of| steps::may_help(self.arenas.around(number).any(|(around, _)| around == of)))
    }

    /// The caller of the loop in arena `of` helps a loop inside that one, if there is a place; or
    /// else sleeps until a worker has left, somebody is called, or a place opens inside. It polls
    /// for `patience` after it has helped.
    fn help_or_sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, BarrierState<J>>,
        (of, arena, caller): (usize, &Arena, Caller),
        patience: Patience,
        help: HelpInside<'_, J>,
    ) -> MutexGuard<'a, BarrierState<J>> {
        arena.is_wanted.store(false, Ordering::Relaxed);
        let comer = Comer { thread: caller.thread(), waits_for: Some(of) };
        if let Some(help) = help
            && let Some(entered) = self.take_place(&mut state, comer)
        {
            self.set_waits(&mut state, arena, false);
            drop(state);
            help(&entered);
            drop(entered);
            self.set_waits(&mut lock(&self.hinted.state), arena, true);
            patience.poll(|| arena.is_over_or_wanted());
            return lock(&self.hinted.state);
        }
        state.rounds[of].caller_waits = true;
        state = wait(&arena.done, state);
        state.rounds[of].caller_waits = false;
        state
    }

    /// The caller of the loop in an arena waits for the last worker, or does not any more.
    fn set_waits(&self, state: &mut BarrierState<J>, arena: &Arena, waits: bool) {
        state.waiting = if waits { state.waiting + 1 } else { state.waiting - 1 };
        arena.waits.store(waits, Ordering::Relaxed);
        self.tell(state);
    }

    /// Calls somebody into the loop in arena `number`: its caller if that rests, or else
    /// the next worker that is idle.
    pub(crate) fn call(&self, number: usize) {
        let Some(arena) = self.arenas.get(number) else { return };
        let mut state = lock(&self.hinted.state);
        steps::open_place(&mut state, number);
        arena.calls.fetch_add(1, Ordering::Relaxed);
        if state.rounds[number].caller_waits {
            self.tell(&state);
            drop(state);
            arena.done.notify_one();
        } else {
            self.announce_inside(number);
            self.open(state, 0);
        }
    }

    /// The caller rests while others work, until somebody is called or nobody is inside any
    /// more. Returns whether somebody was called. Meanwhile it helps loops inside its own.
    pub(crate) fn rest(&self, turn: &Turn<'_>, caller: Caller, help: HelpInside<'_, J>) -> bool {
        let &Turn { arena, number } = turn;
        let calls = arena.calls.load(Ordering::Relaxed);
        self.patience.poll(|| {
            arena.active.load(Ordering::Relaxed) == 0 || arena.calls.load(Ordering::Relaxed) != calls
        });
        let mut state = lock(&self.hinted.state);
        self.set_waits(&mut state, arena, true);
        let is_called = loop {
            if steps::takes_the_call(&mut state, number) {
                break true;
            }
            if steps::is_empty(arena) {
                break false;
            }
            state = self.help_or_sleep(state, (number, arena, caller), self.patience, help);
        };
        self.set_waits(&mut state, arena, false);
        is_called
    }

    /// Stops all workers.
    pub(crate) fn stop(&self) {
        steps::stop(self);
    }

    /// The state lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, BarrierState<J>> {
        lock(&self.hinted.state)
    }

    /// Wakes all workers.
    pub(crate) fn wake_all(&self) {
        self.wake.iter().for_each(Condvar::notify_one);
    }
}

/// Runs the job of a loop that a waiting caller has entered; none if the caller is unwinding.
pub(crate) type HelpInside<'a, J> = Option<&'a dyn Fn(&Entered<'_, J>)>;

/// A job on offer. Ending or dropping it retracts the offer and waits until every worker that
/// entered has left.
#[derive(Debug)]
pub(crate) struct Published<'a, J: Copy> {
    pub(crate) barrier: &'a Barrier<J>,
    pub(crate) arena: &'a Arena,
    number: usize,
    caller: Caller,
    patience: Patience,
}

impl<J: Copy> Published<'_, J> {
    /// Ends the offer. While the caller waits, it helps the loops that are called in items of this
    /// one: `help` does what a worker does in a loop.
    pub(crate) fn end(self, help: impl Fn(&Entered<'_, J>)) {
        self.retract_and_wait(Some(&help)); // if that unwinds, the drop of `self` waits
        mem::forget(self);
    }

    /// What [`end`](Self::end) does. Once.
    pub(crate) fn retract_and_wait(&self, help: HelpInside<'_, J>) {
        let Self { barrier, arena, number, patience, .. } = *self;
        let mut state = lock(&barrier.hinted.state);
        steps::retract(&mut state, number);
        if steps::is_empty(arena) {
            return self.go(&mut state);
        }
        arena.is_wanted.store(false, Ordering::Relaxed);
        barrier.set_waits(&mut state, arena, true);
        drop(state);
        patience.poll(|| arena.is_over_or_wanted());
        steps::wait_for_the_last(self, help);
    }

    /// The caller goes: nobody is inside any more.
    fn go(&self, state: &mut BarrierState<J>) {
        state.callers -= usize::from(self.caller.worker.is_none());
        self.barrier.tell(state);
    }
}

impl<J: Copy> Drop for Published<'_, J> {
    fn drop(&mut self) {
        self.retract_and_wait(None);
    }
}

/// A thread that looks for a place.
#[derive(Clone, Copy, Debug)]
struct Comer {
    /// Its number as a thread of the pool; 0 if it is none.
    thread: usize,
    /// The arena of the loop whose last worker it waits for, as its caller. It helps only loops
    /// inside that one. None of a worker that is in no loop.
    waits_for: Option<usize>,
}

/// A worker inside a round. Dropping it leaves the round.
#[derive(Debug)]
pub(crate) struct Entered<'a, J: Copy> {
    pub(crate) barrier: &'a Barrier<J>,
    pub(crate) job: J,
    pub(crate) seat: usize,
    arena: &'a Arena,
    pub(crate) number: usize,
    /// The worker; none if it is a caller that waits, which counts as inside its own loop.
    me: Option<usize>,
}

impl<J: Copy> Drop for Entered<'_, J> {
    fn drop(&mut self) {
        if steps::leave(self) {
            self.arena.done.notify_one();
        }
    }
}

/// At how many arenas a worker looks before it sleeps.
#[inline(always)]
pub(crate) fn arenas_in_sight() -> usize {
    ARENAS
}

/// Whether more places are open than workers are awake.
#[inline(always)]
pub(crate) fn wants_more(open: usize, awake: usize) -> bool {
    open > awake
}

/// Takes the offer back: a worker that comes from now on finds no job.
#[inline(always)]
pub(crate) fn retract<J: Copy>(state: &mut BarrierState<J>, number: usize) {
    close(state, number);
    state.rounds[number].job = None;
}

/// Nobody enters from now on.
fn close<J: Copy>(state: &mut BarrierState<J>, number: usize) {
    let round = &mut state.rounds[number];
    state.open -= round.open();
    (round.places, round.called) = (0, 0);
}

/// Opens a place for somebody who is called, if the job is still there.
#[inline(always)]
pub(crate) fn open_place<J: Copy>(state: &mut BarrierState<J>, number: usize) {
    if state.rounds[number].job.is_some() {
        state.epoch += 1;
        state.rounds[number].called += 1;
        state.open += 1;
    }
}

/// Whether somebody was called, and has not come: the caller takes that place.
#[inline(always)]
pub(crate) fn takes_the_call<J: Copy>(state: &mut BarrierState<J>, number: usize) -> bool {
    let called = &mut state.rounds[number].called;
    let is_called = *called > 0;
    *called -= usize::from(is_called);
    state.open -= usize::from(is_called);
    is_called
}

/// Whether no worker is inside the round. The lock is held.
#[inline(always)]
pub(crate) fn is_empty(arena: &Arena) -> bool {
    arena.active.load(Ordering::Relaxed) == 0
}

/// Waits under the lock until no worker is inside the round. The lock is taken even if the end has
/// been seen already: it is the happens-before edge from leaving to returning.
#[inline(always)]
pub(crate) fn wait_for_the_last<J: Copy>(published: &Published<'_, J>, help: HelpInside<'_, J>) {
    let &Published { barrier, arena, number, caller, patience } = published;
    let mut state = lock(&barrier.hinted.state);
    while arena.active.load(Ordering::Relaxed) != 0 {
        state = barrier.help_or_sleep(state, (number, arena, caller), patience, help);
    }
    barrier.set_waits(&mut state, arena, false);
    published.go(&mut state);
}

/// Whether the caller of the loop in arena `number` sleeps.
#[inline(always)]
pub(crate) fn sleeps<J>(state: &BarrierState<J>, number: usize) -> bool {
    state.rounds[number].caller_waits
}

/// Whether a caller that waits may help a loop: if its own loop `is_around` that one.
#[inline(always)]
pub(crate) fn may_help(is_around: bool) -> bool {
    is_around
}

/// A worker leaves its round. Returns whether it was the last one and the caller sleeps.
#[inline(always)]
pub(crate) fn leave<J: Copy>(entered: &Entered<'_, J>) -> bool {
    let mut state = lock(&entered.barrier.hinted.state);
    leave_under(entered, &mut state) && state.rounds[entered.number].caller_waits
}

/// A worker leaves its round. The lock is held. Returns whether it was the last one.
pub(crate) fn leave_under<J: Copy>(entered: &Entered<'_, J>, state: &mut BarrierState<J>) -> bool {
    let &Entered { barrier, seat, arena, number, me, .. } = entered;
    let was_last = arena.active.fetch_sub(1, Ordering::Relaxed) == 1;
    if let Some(me) = me {
        state.set_worker_state(me, WorkerState::Awake);
    }
    match state.rounds[number].visits {
        Visits::Once => close(state, number),
        Visits::Again => arena.leave_seat(seat),
    }
    barrier.tell(state);
    was_last
}

/// Tells all workers that the pool stops, and then wakes them.
#[inline(always)]
pub(crate) fn stop<J: Copy>(barrier: &Barrier<J>) {
    let mut state = barrier.lock();
    (state.stop, state.epoch) = (true, Barrier::<J>::STOP);
    barrier.tell(&state);
    drop(state);
    barrier.wake_all();
}
