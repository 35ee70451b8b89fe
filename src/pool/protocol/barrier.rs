//! The barrier of a pool, where callers and workers meet: publish, enter, leave, retract, for
//! several loops at the same time. This module does not know slices or items.
//!
//! All steps happen under one lock, the *state lock*, which a thread holds for some ten
//! nanoseconds. The state lock provides every happens-before edge between callers and workers:
//! publish → enter, leave → end of the wait. A worker that wakes up late finds the job retracted. A
//! caller waits only for workers that have entered its arena.
//!
//! A caller offers *places* in its arena. A worker scans the places of all arenas before it sleeps,
//! and enters one of them. While any worker sleeps, at least as many workers are awake as places
//! are open. A caller that opens places wakes workers until this invariant holds again. One lock
//! protects the sleeping workers and all jobs, so the invariant concerns one state. With a lock for
//! each arena and another for the sleeping workers, a caller would have to check twice, and a
//! worker three times.
//!
//! A caller that waits for the last worker helps the loops that are called in items of its own loop
//! (leapfrogging: Wagner and Calder 1993), and no others.

#![allow(unused_qualifications)] // models use the steps of `check`

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

/// The barrier of one pool. `J` is the job that is published.
#[derive(Debug)]
pub(crate) struct Barrier<J> {
    hinted: CachePadded<HintedState<J>>,
    announced: CachePadded<Announced>,
    pub(crate) arenas: Arenas,
    /// The least time that threads poll before they sleep.
    patience: Patience,
    /// One for each worker, so that a loop for three workers wakes three workers.
    wake: Box<[Condvar]>,
}

/// The hints for callers, and the state. They begin in one cache line.
#[derive(Debug)]
#[repr(C)] // in this order
struct HintedState<J> {
    hints: StateHints,
    state: Mutex<BarrierState<J>>,
}

/// Counts of the state, which threads read without the state lock: hints, Relaxed. Written under
/// the state lock. These are atomics of std, not of loom: no step depends on their values, so loom
/// has nothing to explore.
#[derive(Debug, Default)]
struct StateHints {
    /// The number of workers in no loop, minus the number of open places.
    idle: Hint,
    /// The number of workers in no loop that would find a job without a wake-up.
    awake: Hint,
    /// The number of callers of shared loops that are not workers.
    callers: Hint,
    /// The number of callers that rest, or wait for the last worker.
    waiting: Hint,
}

/// Two words that workers poll before they sleep: hints, as in [`StateHints`]. A worker then looks
/// for the job under the state lock.
#[derive(Debug)]
struct Announced {
    epoch: AtomicU64,
    /// The number of open places.
    open: Hint,
}

/// Whether a worker is in a loop, and if it is in none, whether it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerState {
    /// It looks for a job, or will look for one before it sleeps.
    Awake,
    /// It sleeps on its `wake`.
    Asleep,
    /// It has passed over a job, and sleeps. Callers wake workers that are `Asleep` first.
    Away,
    /// It is in a loop.
    Inside,
}

/// A worker's memory of its last job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The epoch when the worker last looked for a job; 0 at first.
    epoch: u64,
    /// How long the worker polls for the next job before it sleeps.
    patience: Patience,
}

/// The workers and the offers of a pool. The state lock protects this.
#[derive(Debug)]
pub(crate) struct BarrierState<J> {
    /// Counts the published jobs and the threads that were called back. `STOP` when the pool stops.
    epoch: u64,
    /// The number of helpers that the last job asked for, plus the number of workers that were in a
    /// loop when the job was published.
    asked: usize,
    /// How long workers poll after the last job.
    patience: Patience,
    /// The number of open places in all arenas.
    pub(crate) open: usize,
    worker_states: Box<[WorkerState]>,
    /// The number of workers in each state, in the order of [`WorkerState`].
    counts: [usize; 4],
    /// The number of callers of shared loops that are not workers.
    callers: usize,
    /// The number of callers that rest, or wait for the last worker.
    waiting: usize,
    pub(crate) stop: bool,
    pub(crate) jobs: [ArenaJob<J>; ARENAS],
}

/// The job of an arena, and its open places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaJob<J> {
    /// The published job.
    pub(crate) job: Option<J>,
    /// The maximum number of helpers. Their seats are numbered from 1.
    helpers: usize,
    /// How many helpers may still enter for the first time.
    places: usize,
    /// How many places are open for threads that were called back.
    called: usize,
    reentry: Reentry,
    /// Whether the caller sleeps on `done`.
    pub(crate) caller_sleeps: bool,
}

/// A thread that calls a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    /// The number of the thread in the pool, from 1; 0 if it is not a thread of the pool.
    pub(crate) thread: usize,
    /// The arena of the innermost loop of this pool in which the thread works.
    pub(crate) outer: Option<usize>,
}

/// Whether a worker may enter a job again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reentry {
    /// A worker leaves when nothing is left to do. After the first worker has left, no worker
    /// enters.
    #[default]
    Once,
    /// A worker leaves when it finds nothing to do at the moment. A worker is called back when
    /// there is something to do.
    Again,
}

/// An offer of a caller to idle workers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offer {
    /// The maximum number of helpers.
    pub(crate) helpers: usize,
    pub(crate) reentry: Reentry,
    pub(crate) polls: PollTimes,
}

/// How long threads poll before they sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PollTimes {
    /// How long the caller polls for the last worker of a loop.
    pub(crate) at_end: Patience,
    /// How long a worker polls for the next job after a loop.
    pub(crate) between: Patience,
}

impl<J: Copy> BarrierState<J> {
    fn count(&self, of: WorkerState) -> usize {
        self.counts[of as usize]
    }

    fn set_worker_state(&mut self, me: usize, to: WorkerState) {
        self.counts[self.worker_states[me] as usize] -= 1;
        self.counts[to as usize] += 1;
        self.worker_states[me] = to;
    }

    /// If more places are open than workers are awake, chooses a worker to wake: from `first` on,
    /// the first worker that is `Asleep`, or the first that is `Away` if none is `Asleep`. The
    /// chosen worker counts as awake from now on. A caller passes its own number: workers whose
    /// numbers follow each other have CPUs that follow each other in the placement, so near workers
    /// are woken first.
    fn take_sleeper(&mut self, first: usize) -> Option<usize> {
        let awake = self.count(WorkerState::Awake);
        let sleep = if self.count(WorkerState::Asleep) > 0 { WorkerState::Asleep } else { WorkerState::Away };
        if !steps::wants_more(self.open, awake) || self.count(sleep) == 0 {
            return None;
        }
        let workers = self.worker_states.len();
        let worker = (first..workers).chain(0..first).find(|worker| self.worker_states[*worker] == sleep)?;
        self.set_worker_state(worker, WorkerState::Awake);
        Some(worker)
    }
}

impl<J> ArenaJob<J> {
    const NONE: Self =
        Self { job: None, helpers: 0, places: 0, called: 0, reentry: Reentry::Once, caller_sleeps: false };

    pub(crate) fn open(&self) -> usize {
        self.places + self.called
    }
}

impl<J: Copy> Barrier<J> {
    /// The epoch of a pool that stops.
    const STOP: u64 = u64::MAX;

    /// A barrier for `workers` threads of a pool. `fence` is the pair of fences between a claim and
    /// a theft.
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
            jobs: [ArenaJob::NONE; ARENAS],
        };
        Self {
            hinted: CachePadded::new(HintedState { hints, state: Mutex::new(state) }),
            announced: CachePadded::new(Announced { epoch: AtomicU64::new(0), open: Hint::new(0) }),
            arenas: Arenas::new(workers + 1, fence),
            patience,
            wake: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    /// The address by which threads recognize their pool.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// A worker's memory before its first job.
    pub(crate) fn nothing_seen(&self) -> Seen {
        Seen { epoch: 0, patience: self.patience }
    }

    /// About how many workers are in no loop, minus the number of open places.
    #[inline(always)]
    pub(crate) fn idle(&self) -> usize {
        self.hinted.hints.idle.load(Ordering::Relaxed)
    }

    /// About how many workers in no loop would find a job without a wake-up.
    #[inline(always)]
    pub(crate) fn awake(&self) -> usize {
        self.hinted.hints.awake.load(Ordering::Relaxed)
    }

    /// About how many callers of shared loops are not workers.
    #[inline(always)]
    pub(crate) fn callers(&self) -> usize {
        self.hinted.hints.callers.load(Ordering::Relaxed)
    }

    /// About how many callers of shared loops wait for the last worker.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> usize {
        self.hinted.hints.waiting.load(Ordering::Relaxed)
    }

    /// About how many callers wait in the loop of arena `number` and in the loops around it. The
    /// calling thread works in the loop of this arena. If the thread calls another loop, these
    /// callers would help.
    pub(crate) fn waiting_around(&self, number: usize) -> usize {
        let waits = |arena: &Arena| usize::from(arena.waits.load(Ordering::Relaxed));
        let own = self.arenas.get(number).map_or(0, waits);
        own + self.arenas.around(number).map(|(_, arena)| waits(arena)).sum::<usize>()
    }

    /// Offers `job` in the arena of `turn`.
    #[inline(never)] // the job runs above the caller's frame
    pub(crate) fn publish<'a>(
        &'a self,
        turn: &'a Turn<'_>,
        caller: Caller,
        offer: Offer,
        job: J,
    ) -> Published<'a, J> {
        let Offer { helpers, reentry, polls } = offer;
        let &Turn { arena, number } = turn;
        arena.prepare(caller.thread, caller.outer, helpers);
        let mut state = lock(&self.hinted.state);
        state.epoch += 1;
        (state.asked, state.patience) = (helpers + state.count(WorkerState::Inside), polls.between);
        state.callers += usize::from(caller.thread == 0);
        self.announce_inside(number);
        let arena_job =
            ArenaJob { job: Some(job), helpers, places: helpers, called: 0, reentry, caller_sleeps: false };
        steps::open_places(self, state, (number, arena_job), caller.thread);
        Published { barrier: self, arena, number, caller, patience: polls.at_end.max(self.patience) }
    }

    /// Announces the open places, and wakes workers, from `first` on, until enough workers are
    /// awake. If there are not enough workers, it wakes callers. It wakes the workers one by one,
    /// without the state lock, since a wake-up takes a microsecond or more. Before each wake-up it
    /// checks whether another worker is still needed.
    pub(crate) fn open<'a>(&'a self, mut state: MutexGuard<'a, BarrierState<J>>, mut first: usize) {
        while let Some(worker) = state.take_sleeper(first) {
            self.update_hints(&state);
            drop(state);
            self.wake[worker].notify_one();
            first = worker + 1;
            state = lock(&self.hinted.state);
        }
        self.update_hints(&state);
        self.wake_callers(&state);
    }

    /// Announces an open place in arena `number` to polling callers around it.
    fn announce_inside(&self, number: usize) {
        self.arenas.around(number).for_each(|(_, arena)| arena.is_wanted.store(true, Ordering::Relaxed));
    }

    /// If more places are open than workers are awake: for each loop with open places, wakes the
    /// innermost sleeping caller of the loops around it.
    fn wake_callers(&self, state: &BarrierState<J>) {
        let (open, awake) = (state.open, state.count(WorkerState::Awake));
        if state.waiting == 0 || !steps::wants_more(open, awake) {
            return;
        }
        let has_places = |number: &usize| state.jobs[*number].open() > 0;
        for number in (0..ARENAS).filter(has_places) {
            let mut around = self.arenas.around(number);
            if let Some((_, arena)) = around.find(|(around, _)| steps::sleeps(state, *around)) {
                arena.done.notify_one();
            }
        }
    }

    /// Publishes the hints, before the lock is released.
    fn update_hints(&self, state: &BarrierState<J>) {
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

    /// Waits for an open place, and takes it. Returns `None` if the pool stops. Updates `seen`.
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
                let entrant = Entrant { thread: me + 1, waits_for: None };
                if let Some(entered) = self.take_place(&mut state, entrant) {
                    // The last published job may not be the one that this worker has entered. The
                    // worker takes over the patience of the last job all the same: the next job is
                    // probably for the same workers.
                    seen.patience = state.patience.max(self.patience);
                    self.update_hints(&state);
                    return Some(entered);
                }
                // This worker has found no open place. If the last job asked for at least as many
                // helpers as are in the job or look for one, this worker polls as long as after a
                // job. Both numbers include the workers in other loops.
                let not_asleep = state.count(WorkerState::Awake) + state.count(WorkerState::Inside);
                let was_meant = is_new && not_asleep <= state.asked;
                let learnt = if was_meant { state.patience } else { Patience::default() };
                seen.patience = learnt.max(self.patience);
                if is_new && !seen.patience.is_none() {
                    break;
                }
                state = self.sleep(steps::stay_locked(state, self), me, WorkerState::Asleep);
            }
        }
    }

    /// Passes over all jobs, and sleeps until worker `me` is woken. Callers wake other sleeping
    /// workers first. Returns `None` if the pool stops.
    pub(crate) fn pass_over(&self, me: usize, seen: &mut Seen) -> Option<()> {
        let mut state = lock(&self.hinted.state);
        seen.epoch = state.epoch;
        if state.stop {
            return None;
        }
        state.set_worker_state(me, WorkerState::Away);
        let others = state.count(WorkerState::Asleep) > 0;
        if others && let Some(other) = state.take_sleeper(me + 1) {
            self.wake[other].notify_one(); // it replaces this worker
        }
        self.wake_callers(&state); // or a caller replaces this worker
        let state = self.sleep(state, me, WorkerState::Away);
        (!state.stop).then_some(())
    }

    /// Sleeps until another thread wakes this one, or the pool stops.
    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, BarrierState<J>>,
        me: usize,
        sleep: WorkerState,
    ) -> MutexGuard<'a, BarrierState<J>> {
        state.set_worker_state(me, sleep);
        self.update_hints(&state);
        while state.worker_states[me] == sleep && !state.stop {
            state = wait(&self.wake[me], state);
        }
        if state.worker_states[me] == sleep {
            state.set_worker_state(me, WorkerState::Awake);
        }
        state
    }

    /// Takes a place, if a place is open to the thread.
    fn take_place<'a>(&'a self, state: &mut BarrierState<J>, entrant: Entrant) -> Option<Entered<'a, J>> {
        if state.open == 0 {
            return None;
        }
        // Callers take the first free arena, so the arena of a loop mostly precedes those of the
        // loops in its items. A place that was opened for a called worker may have no free seat
        // yet: a worker that has announced that it goes keeps its seat until it has left. Then the
        // leaving worker takes the place itself.
        let jobs = state.jobs[..steps::arenas_in_sight()].iter_mut().enumerate();
        let (number, arena_job, arena) = jobs
            .filter(|(number, arena_job)| arena_job.open() > 0 && self.is_open_to(entrant, *number))
            .filter_map(|(number, arena_job)| Some((number, arena_job, self.arenas.get(number)?)))
            .find(|(_, arena_job, arena)| arena.active.load(Ordering::Relaxed) < arena_job.helpers)?;
        let job = arena_job.job?;
        let seat = arena.take_seat(entrant.thread, arena_job.helpers)?;
        let place = if arena_job.places > 0 { &mut arena_job.places } else { &mut arena_job.called };
        *place -= 1;
        state.open -= 1;
        let me = if entrant.waits_for.is_none() { entrant.thread.checked_sub(1) } else { None };
        if let Some(me) = me {
            state.set_worker_state(me, WorkerState::Inside);
        }
        arena.active.fetch_add(1, Ordering::Relaxed);
        Some(Entered { barrier: self, job, seat, arena, number, me })
    }

    /// Whether a thread may help the loop in arena `number`.
    fn is_open_to(&self, entrant: Entrant, number: usize) -> bool {
        entrant
            .waits_for
            .is_none_or(|of| steps::may_help(self.arenas.around(number).any(|(around, _)| around == of)))
    }

    /// The caller of the loop in arena `of` helps a loop inside its own loop, if such a loop has an
    /// open place. Otherwise the caller sleeps until the last worker has left, the caller is called
    /// back, or a loop inside its own opens a place. After helping, the caller polls for
    /// `patience`.
    fn help_or_sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, BarrierState<J>>,
        (of, arena, caller): (usize, &Arena, Caller),
        patience: Patience,
        help: HelpInside<'_, J>,
    ) -> MutexGuard<'a, BarrierState<J>> {
        arena.is_wanted.store(false, Ordering::Relaxed);
        let entrant = Entrant { thread: caller.thread, waits_for: Some(of) };
        if let Some(help) = help
            && let Some(entered) = self.take_place(&mut state, entrant)
        {
            self.set_waits(&mut state, arena, false);
            drop(state);
            help(&entered);
            drop(entered);
            self.set_waits(&mut lock(&self.hinted.state), arena, true);
            patience.poll(|| arena.is_over_or_wanted());
            return lock(&self.hinted.state);
        }
        state.jobs[of].caller_sleeps = true;
        state = wait(&arena.done, state);
        state.jobs[of].caller_sleeps = false;
        state
    }

    /// Records whether the caller of the loop in an arena rests or waits for the last worker.
    fn set_waits(&self, state: &mut BarrierState<J>, arena: &Arena, waits: bool) {
        state.waiting = if waits { state.waiting + 1 } else { state.waiting - 1 };
        arena.waits.store(waits, Ordering::Relaxed);
        self.update_hints(state);
    }

    /// Calls a thread back into the loop in arena `number`: the caller of that loop if it sleeps,
    /// otherwise the next idle worker.
    pub(crate) fn call_back(&self, number: usize) {
        let Some(arena) = self.arenas.get(number) else { return };
        let mut state = lock(&self.hinted.state);
        steps::open_place(&mut state, number);
        arena.callbacks.fetch_add(1, Ordering::Relaxed);
        if state.jobs[number].caller_sleeps {
            self.update_hints(&state);
            drop(state);
            arena.done.notify_one();
        } else {
            self.announce_inside(number);
            self.open(state, 0);
        }
    }

    /// The caller rests while workers are inside, until it is called back. Meanwhile it helps loops
    /// inside its own loop. Returns true if it was called back, and false if no worker is inside.
    pub(crate) fn rest(&self, turn: &Turn<'_>, caller: Caller, help: HelpInside<'_, J>) -> bool {
        let &Turn { arena, number } = turn;
        let callbacks = arena.callbacks.load(Ordering::Relaxed);
        self.patience.poll(|| {
            arena.active.load(Ordering::Relaxed) == 0 || arena.callbacks.load(Ordering::Relaxed) != callbacks
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

/// The function with which a waiting caller runs the job of a loop that it has entered. `None` if
/// the caller is unwinding.
pub(crate) type HelpInside<'a, J> = Option<&'a dyn Fn(&Entered<'_, J>)>;

/// A published job. Ending or dropping it retracts the job and waits until every worker that
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
    /// loop: `help` does the work of a worker in such a loop.
    pub(crate) fn end(self, help: impl Fn(&Entered<'_, J>)) {
        self.retract_and_wait(Some(&help)); // if `help` unwinds, the drop of `self` waits
        mem::forget(self);
    }

    /// Does what [`end`](Self::end) does. To be called once.
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

    /// The caller returns: no worker is inside any more.
    fn go(&self, state: &mut BarrierState<J>) {
        state.callers -= usize::from(self.caller.thread == 0);
        self.barrier.update_hints(state);
    }
}

impl<J: Copy> Drop for Published<'_, J> {
    fn drop(&mut self) {
        self.retract_and_wait(None);
    }
}

/// A thread that looks for a place.
#[derive(Clone, Copy, Debug)]
struct Entrant {
    /// The number of the thread in the pool; 0 if it is not a thread of the pool.
    thread: usize,
    /// The arena of the loop whose caller this thread is, and whose last worker it waits for. The
    /// thread helps only loops inside that loop. `None` for a worker in no loop.
    waits_for: Option<usize>,
}

/// A worker inside a loop. Dropping this value leaves the loop.
#[derive(Debug)]
pub(crate) struct Entered<'a, J: Copy> {
    pub(crate) barrier: &'a Barrier<J>,
    pub(crate) job: J,
    pub(crate) seat: usize,
    arena: &'a Arena,
    pub(crate) number: usize,
    /// The worker. `None` for a waiting caller, which counts as inside its own loop.
    me: Option<usize>,
}

impl<J: Copy> Drop for Entered<'_, J> {
    fn drop(&mut self) {
        if steps::leave(self) {
            self.arena.done.notify_one();
        }
    }
}

/// The number of arenas that a worker scans before it sleeps.
#[inline(always)]
pub(crate) fn arenas_in_sight() -> usize {
    ARENAS
}

/// Whether more places are open than workers are awake.
#[inline(always)]
pub(crate) fn wants_more(open: usize, awake: usize) -> bool {
    open > awake
}

/// Puts the job of a loop and its places into arena `number`, then wakes workers for the places,
/// from `first` on.
#[inline(always)]
pub(crate) fn open_places<'a, J: Copy>(
    barrier: &'a Barrier<J>,
    mut state: MutexGuard<'a, BarrierState<J>>,
    (number, arena_job): (usize, ArenaJob<J>),
    first: usize,
) {
    state.open += arena_job.places;
    state.jobs[number] = arena_job;
    barrier.open(state, first);
}

/// Keeps the state lock between a worker's scan of the arenas and its sleep.
#[inline(always)]
pub(crate) fn stay_locked<'a, J: Copy>(
    state: MutexGuard<'a, BarrierState<J>>,
    _barrier: &'a Barrier<J>,
) -> MutexGuard<'a, BarrierState<J>> {
    state
}

/// Retracts the job: a worker that comes later finds no job.
#[inline(always)]
pub(crate) fn retract<J: Copy>(state: &mut BarrierState<J>, number: usize) {
    close(state, number);
    state.jobs[number].job = None;
}

/// No worker enters from now on.
fn close<J: Copy>(state: &mut BarrierState<J>, number: usize) {
    let arena_job = &mut state.jobs[number];
    state.open -= arena_job.open();
    (arena_job.places, arena_job.called) = (0, 0);
}

/// Opens a place for a called worker, if the job is not retracted.
#[inline(always)]
pub(crate) fn open_place<J: Copy>(state: &mut BarrierState<J>, number: usize) {
    if state.jobs[number].job.is_some() {
        state.epoch += 1;
        state.jobs[number].called += 1;
        state.open += 1;
    }
}

/// Whether a place for a called worker is open. If so, the caller takes that place.
#[inline(always)]
pub(crate) fn takes_the_call<J: Copy>(state: &mut BarrierState<J>, number: usize) -> bool {
    let called = &mut state.jobs[number].called;
    let is_called = *called > 0;
    *called -= usize::from(is_called);
    state.open -= usize::from(is_called);
    is_called
}

/// Whether no worker is inside the loop. The calling thread holds the state lock.
#[inline(always)]
pub(crate) fn is_empty(arena: &Arena) -> bool {
    arena.active.load(Ordering::Relaxed) == 0
}

/// Waits until no worker is inside the loop. Takes the state lock even if the caller has already
/// seen that no worker is inside: the lock provides the happens-before edge from the leaving of the
/// workers to the return of the caller.
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
    state.jobs[number].caller_sleeps
}

/// Whether a waiting caller may help a loop. `is_around`: the caller's own loop is around that
/// loop.
#[inline(always)]
pub(crate) fn may_help(is_around: bool) -> bool {
    is_around
}

/// A worker leaves its loop. Returns whether it was the last worker and the caller sleeps.
#[inline(always)]
pub(crate) fn leave<J: Copy>(entered: &Entered<'_, J>) -> bool {
    let mut state = lock(&entered.barrier.hinted.state);
    leave_under(entered, &mut state) && state.jobs[entered.number].caller_sleeps
}

/// A worker leaves its loop. The calling thread holds the state lock. Returns whether the worker
/// was the last one.
pub(crate) fn leave_under<J: Copy>(entered: &Entered<'_, J>, state: &mut BarrierState<J>) -> bool {
    let &Entered { barrier, seat, arena, number, me, .. } = entered;
    let was_last = arena.active.fetch_sub(1, Ordering::Relaxed) == 1;
    if let Some(me) = me {
        state.set_worker_state(me, WorkerState::Awake);
    }
    match state.jobs[number].reentry {
        Reentry::Once => close(state, number),
        Reentry::Again => arena.leave_seat(seat),
    }
    barrier.update_hints(state);
    was_last
}

/// Marks the pool as stopped, then wakes all workers.
#[inline(always)]
pub(crate) fn stop<J: Copy>(barrier: &Barrier<J>) {
    let mut state = barrier.lock();
    (state.stop, state.epoch) = (true, Barrier::<J>::STOP);
    barrier.update_hints(&state);
    drop(state);
    barrier.wake_all();
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        sync::atomic::AtomicBool,
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    impl<J: Copy> Barrier<J> {
        /// Counts the state again, at any moment.
        pub(in crate::pool::protocol) fn recount(&self) {
            let state = self.lock();
            let number = |of| state.worker_states.iter().filter(|state| **state == of).count();
            let counts = [WorkerState::Awake, WorkerState::Asleep, WorkerState::Away, WorkerState::Inside];
            assert_eq!(state.counts, counts.map(number), "the workers in each state");
            let open = state.jobs.iter().map(ArenaJob::open).sum::<usize>();
            assert_eq!(state.open, open, "the open places");
            assert!(
                state.jobs.iter().all(|job| job.job.is_some() || job.open() == 0),
                "a place without a job"
            );
            let waits = self.arenas.made().filter(|arena| arena.waits.load(Ordering::Relaxed)).count();
            assert_eq!(state.waiting, waits, "the callers that wait");
            let hints = [self.callers(), self.waiting(), self.announced.open.load(Ordering::Relaxed)];
            assert_eq!(hints, [state.callers, state.waiting, state.open], "the hints");
        }

        /// Checks that worker `me`, which is in a loop, counts as inside.
        pub(in crate::pool::protocol) fn assert_inside(&self, me: usize) {
            assert_eq!(self.lock().worker_states[me], WorkerState::Inside, "worker {me}");
        }

        /// Checks that nothing is left of any loop.
        pub(in crate::pool::protocol) fn assert_no_loop(&self) {
            self.recount();
            let state = self.lock();
            let left = (state.open, state.waiting, state.callers, state.count(WorkerState::Inside));
            assert_eq!(left, (0, 0, 0, 0), "open places, waiting callers, callers, workers inside");
            assert!(state.jobs.iter().all(|job| job.job.is_none() && !job.caller_sleeps), "a job is left");
            assert!(self.arenas.made().all(|arena| arena.active.load(Ordering::Relaxed) == 0));
        }
    }

    fn barrier(workers: usize) -> Barrier<usize> {
        Barrier::new(workers, Fence::Symmetric, Patience::default())
    }

    fn offer(reentry: Reentry) -> Offer {
        Offer { helpers: 1, reentry, ..Offer::default() }
    }

    /// If the call opened a place, a worker would enter a job whose caller has returned.
    #[test]
    fn a_call_after_the_end_of_a_job_opens_no_place() {
        let barrier = barrier(1);
        let turn = barrier.arenas.take().expect("an arena is free");
        drop(barrier.publish(&turn, Caller::default(), offer(Reentry::Again), 7));
        barrier.call_back(turn.number);
        assert_eq!(barrier.lock().open, 0);
    }

    /// Worker 0 is in the outer loop, and calls a loop in it while the outer caller sleeps. No
    /// worker sleeps, so the outer caller is woken, and helps. Returns whether it was.
    ///
    /// If `passes_over`, worker 1 is awake when the inner loop begins, so nobody is woken. Worker 1
    /// then passes over the loop.
    fn is_outer_caller_woken(passes_over: bool) -> bool {
        let barrier = &barrier(1 + usize::from(passes_over));
        let helped = &AtomicBool::new(false);
        let begin = Instant::now();
        let is_late = || begin.elapsed() > Duration::from_secs(10);
        thread::scope(|scope| {
            let turn = barrier.arenas.take().expect("an arena is free");
            let published = barrier.publish(&turn, Caller::default(), offer(Reentry::Once), 1);
            let worker = scope.spawn(move || {
                let entered = barrier.enter(0, &mut barrier.nothing_seen()).expect("the outer loop");
                while !barrier.lock().jobs[entered.number].caller_sleeps && !is_late() {
                    thread::yield_now();
                }
                let turn = barrier.arenas.take().expect("an arena is free");
                let caller = Caller { thread: 1, outer: Some(entered.number) };
                let published = barrier.publish(&turn, caller, offer(Reentry::Once), 2);
                if passes_over {
                    scope.spawn(|| barrier.pass_over(1, &mut barrier.nothing_seen()));
                }
                while !helped.load(Ordering::Relaxed) && !is_late() {
                    thread::yield_now();
                }
                published.end(|_| ());
            });
            while turn.arena.active.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            published.end(|entered| helped.store(entered.job == 2, Ordering::Relaxed));
            worker.join().unwrap();
            barrier.assert_no_loop();
            barrier.stop();
        });
        helped.load(Ordering::Relaxed)
    }

    #[test]
    fn a_loop_wakes_the_caller_around_it_if_no_worker_can_come() {
        assert!(is_outer_caller_woken(false), "the caller sleeps beside the loop inside its own");
    }

    #[test]
    fn a_worker_that_passes_over_a_job_wakes_the_caller_around_it() {
        assert!(is_outer_caller_woken(true), "the caller sleeps beside the loop inside its own");
    }

    #[test]
    fn a_worker_that_passes_over_a_job_wakes_another() {
        let barrier = &barrier(2);
        thread::scope(|scope| {
            let job = || barrier.enter(0, &mut barrier.nothing_seen()).map(|entered| entered.job);
            let helper = scope.spawn(job);
            while barrier.lock().count(WorkerState::Asleep) == 0 {
                thread::yield_now();
            }
            let turn = barrier.arenas.take().expect("an arena is free");
            let published = barrier.publish(&turn, Caller::default(), offer(Reentry::Once), 7);
            scope.spawn(|| barrier.pass_over(1, &mut barrier.nothing_seen()));
            let begin = Instant::now();
            while !helper.is_finished() && begin.elapsed() < Duration::from_secs(10) {
                thread::yield_now();
            }
            drop(published);
            barrier.stop();
            assert_eq!(helper.join().unwrap(), Some(7));
        });
    }
}
