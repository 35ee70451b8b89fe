//! The barrier of a pool, where callers and workers meet: offer, take, leave, retract, for several
//! loops at the same time. This module does not know slices or items.
//!
//! A caller offers its job at the posts of idle workers (`post.rs`). If fewer workers are idle than
//! the loop wants, the caller opens *places* in its arena, which any worker takes that becomes idle
//! later. A *token* stands for each helper that the caller has asked for: it is in an offer, in an
//! open place, or with a worker inside. The caller retracts what nobody has taken, and waits until
//! all tokens are back.
//!
//! Two kinds of locks protect this: that of a post, and that of the job of an arena. A thread that
//! holds both has taken that of the job first. No lock is one that all workers of a pool take.
//!
//! A caller that waits for the last token helps the loops that are called in items of its own loop
//! (leapfrogging: Wagner and Calder 1993), and no others.

use std::{
    mem,
    ops::{Range, RangeInclusive},
    ptr,
    sync::atomic::AtomicUsize as Hint,
};

use crossbeam_utils::CachePadded;

use super::{
    arena::{ARENAS, Arena, Arenas, Recalls, SLEEPS, TOKEN, Turn},
    here,
    post::{Post, WorkerState},
    task_list::{RESERVE, TASKS, TaskList},
};
use crate::{
    pool::supply::Fence,
    sync::{AtomicUsize, Mutex, MutexGuard, Ordering, Patience, lock, wait},
};

/// The barrier of one pool. `J` is the job that is offered.
#[derive(Debug)]
pub(crate) struct Barrier<J> {
    /// One for each worker.
    pub(super) posts: Box<[CachePadded<Post<Offered<J>>>]>,
    /// The arenas that have open places, one bit each, changed under the lock of the job; and
    /// [`TASKS`]. This word orders a thread that opens a place or spawns a task, and a worker that
    /// goes to sleep: cases 17 and 22.
    pub(super) open: CachePadded<AtomicUsize>,
    counts: CachePadded<CallerCounts>,
    pub(crate) arenas: Arenas,
    /// The job of each arena.
    pub(super) jobs: Box<[CachePadded<Mutex<ArenaJob<J>>>]>,
    /// The least time that threads poll before they sleep.
    pub(crate) patience: Patience,
    /// What loops do not touch.
    pub(super) tasks: CachePadded<TaskList<Offered<J>>>,
}

/// Counts of callers, which callers write and read: hints, Relaxed. These are atomics of std, not
/// of loom: no step depends on their values, so loom has nothing to explore.
#[derive(Debug, Default)]
struct CallerCounts {
    /// The number of callers of shared loops that are not workers.
    callers: Hint,
    /// The number of callers that rest, or wait for the last token.
    waiting: Hint,
}

/// The job of an arena. The lock of the job protects this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaJob<J> {
    /// The published job.
    pub(crate) job: Option<J>,
    /// The maximum number of helpers. Their seats are numbered from 1.
    pub(super) helpers: usize,
    /// How long workers poll after the job.
    patience: Patience,
    pub(super) recalls: Recalls,
}

/// A job that is offered to a worker, and the seat that the worker gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offered<J> {
    job: J,
    number: u16,
    seat: u32,
}

impl<J> Offered<J> {
    /// The offer of `job` for `seat` in arena `number`.
    #[expect(clippy::cast_possible_truncation, reason = "a pool has fewer threads, and 16 arenas")]
    fn new(job: J, number: usize, seat: usize) -> Self {
        Self { job, number: number as u16, seat: seat as u32 }
    }

    /// The number of the arena.
    pub(super) fn number(&self) -> usize {
        self.number.into()
    }
}

/// A thread that calls a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    /// The number of the post at which the thread is called: that of a worker, from 1, or
    /// [`RESERVE`]; 0 if it has no post.
    pub(crate) post: usize,
    /// The arena of the innermost loop of this pool in which the thread works.
    pub(crate) outer: Option<usize>,
}

/// Whether a worker may enter a job again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reentry {
    /// A worker leaves when nothing is left to do. After the first worker has left, the
    /// open places close. A place that opens later, for a worker that declines, may be taken.
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

impl Caller {
    /// The number of the worker, from 1; 0 if the thread is no worker of the pool.
    pub(crate) fn thread(self) -> usize {
        if self.post == RESERVE { 0 } else { self.post }
    }
}

impl<J: Copy> ArenaJob<J> {
    const NONE: Self = Self { job: None, helpers: 0, patience: Patience::NONE, recalls: Recalls::NONE };
}

impl<J: Copy> Barrier<J> {
    /// A barrier for `workers` threads of a pool. `fence` is the pair of fences between a claim and
    /// a theft.
    pub(crate) fn new(workers: usize, fence: Fence, patience: Patience) -> Self {
        Self {
            posts: (0..workers).map(|_| CachePadded::new(Post::new(WorkerState::Rung))).collect(),
            open: CachePadded::new(AtomicUsize::new(0)),
            counts: CachePadded::default(),
            arenas: Arenas::new(workers + 1, fence),
            jobs: (0..ARENAS).map(|_| CachePadded::new(Mutex::new(ArenaJob::NONE))).collect(),
            patience,
            tasks: CachePadded::new(TaskList::new()),
        }
    }

    /// The calling thread, as a caller of a loop of this pool.
    pub(crate) fn caller(&self) -> Caller {
        Caller { post: here::worker(self.address()), outer: here::arena(self.address()) }
    }

    /// The address by which threads recognize their pool.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// The thread of worker `me` runs: from now on it looks for jobs.
    pub(crate) fn arrive(&self, me: usize) {
        self.posts[me].arrive();
    }

    /// About how many workers are in no loop, minus the number of open places.
    #[inline(always)]
    pub(crate) fn idle(&self) -> usize {
        let idle = self.posts.iter().filter(|post| post.at().is_idle()).count();
        let open = self.open.load(Ordering::Relaxed);
        if open == 0 { idle } else { idle.saturating_sub(self.places(open)) }
    }

    /// About how many places are open in these arenas.
    #[cold]
    fn places(&self, open: usize) -> usize {
        let places = |number| self.arenas.get(number).map_or(0, Arena::places);
        ones(open).map(places).sum()
    }

    /// About how many workers in no loop would find a job without a wake-up.
    #[inline(always)]
    pub(crate) fn awake(&self) -> usize {
        self.posts.iter().filter(|post| post.at() == WorkerState::Awake).count()
    }

    /// Whether a worker in no loop is on its way, from its start or from its sleep: about. If it
    /// gets no CPU, it stays on its way.
    pub(crate) fn is_waking(&self) -> bool {
        self.posts.iter().any(|post| post.at() == WorkerState::Rung)
    }

    /// About how many callers of shared loops are not workers.
    #[inline(always)]
    pub(crate) fn callers(&self) -> usize {
        self.counts.callers.load(Ordering::Relaxed)
    }

    /// About how many callers of shared loops wait for the last worker.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> usize {
        self.counts.waiting.load(Ordering::Relaxed)
    }

    /// About how many callers wait in the loop of arena `number` and in the loops around it. The
    /// calling thread works in the loop of this arena. If the thread calls another loop, these
    /// callers would help.
    pub(crate) fn waiting_around(&self, number: usize) -> usize {
        let waits = |arena: &Arena| usize::from(arena.caller.waits.load(Ordering::Relaxed));
        let own = self.arenas.get(number).map_or(0, waits);
        own + self.arenas.around(number).map(waits).sum::<usize>()
    }

    /// Offers `job` in the arena of `turn`: to idle workers, and to workers that become idle later.
    #[inline(never)] // the job runs above the caller's frame
    pub(crate) fn publish<'a>(
        &'a self,
        turn: &'a Turn<'_>,
        caller: Caller,
        offer: Offer,
        job: J,
    ) -> Published<'a, J> {
        let published = self.offer_job(turn, caller, offer, job);
        self.ring_two(turn.arena);
        published
    }

    /// Offers `job`, and wakes nobody that sleeps on an offer.
    pub(crate) fn offer_job<'a>(
        &'a self,
        turn: &'a Turn<'_>,
        caller: Caller,
        offer: Offer,
        job: J,
    ) -> Published<'a, J> {
        let Offer { helpers, reentry, polls } = offer;
        let &Turn { arena } = turn;
        arena.prepare(caller.thread(), caller.outer, helpers, reentry == Reentry::Again);
        // Before the first offer, so that no worker gives back a token that is not counted. All
        // tokens of the last loop are back.
        arena.active.store(helpers * TOKEN, Ordering::Relaxed);
        self.counts.callers.fetch_add(usize::from(caller.thread() == 0), Ordering::Relaxed);
        let mut arena_job = lock(&self.jobs[arena.number]);
        *arena_job = ArenaJob { job: Some(job), helpers, patience: polls.between, ..ArenaJob::NONE };
        let seats = self.offer(&arena_job, (job, arena), caller.thread(), 1..=helpers);
        self.open_places(arena_job, arena, helpers + 1 - seats.end);
        arena.to_ring(seats);
        Published { barrier: self, arena, caller, patience: polls.at_end.max(self.patience) }
    }

    /// Offers a job to one idle worker for each of these `seats`, if there are so many: first to
    /// those that are awake, from worker `first` on. Returns the seats of those that sleep, which
    /// end with the last seat that was given.
    pub(super) fn offer(
        &self,
        arena_job: &ArenaJob<J>,
        (job, arena): (J, &Arena),
        first: usize,
        seats: RangeInclusive<usize>,
    ) -> Range<usize> {
        let (mut seat, last) = seats.into_inner();
        let (mut asleep, mut seen) = (None, [0; WorkerState::IDLE.len()]);
        for (pass, at) in WorkerState::IDLE.into_iter().enumerate() {
            if pass > 0 && seen[pass] == 0 {
                continue;
            }
            for worker in (first..self.posts.len()).chain(0..first) {
                let post = &self.posts[worker];
                if seat > last {
                    break;
                }
                let is = post.at();
                if is != at {
                    if let (0, Some(seen)) = (pass, seen.get_mut(is as usize)) {
                        *seen += 1; // the first pass says whether another is of use
                    }
                    continue;
                }
                // Before the offer, because a worker that has taken it may call another.
                arena.give_seat(seat, worker + 1);
                match post.offer(Offered::new(job, arena.number, seat), arena_job.patience) {
                    Some(was) => {
                        asleep = asleep.or(was.sleeps().then_some(seat));
                        seat += 1;
                    }
                    None => arena.leave_seat(seat),
                }
            }
        }
        asleep.unwrap_or(seat)..seat
    }

    /// Rings the next two workers that sleep on an offer of this loop. Each worker that was rung
    /// rings two more: rung one by one, the last of many workers would wait for a long time.
    /// Workers inside ring two more now and then, in case that a worker that was rung comes late.
    #[inline(never)]
    pub(crate) fn ring_two(&self, arena: &Arena) {
        for _ in 0..2 {
            if let Some(thread) = arena.next_to_ring() {
                self.ring(thread);
            }
        }
    }

    /// Rings the worker that had an offer. By now another thread may have its seat, also a caller
    /// from outside, which has no post.
    #[inline(never)]
    pub(super) fn ring(&self, thread: usize) {
        if let Some(worker) = thread.checked_sub(1) {
            self.posts[worker].ring();
        }
    }

    /// Sets the number of open places of a loop, whose job is `_locked`.
    pub(super) fn set_places(&self, _locked: &mut ArenaJob<J>, arena: &Arena, places: usize) {
        if places == 0 {
            self.open.fetch_and(!(1 << arena.number), Ordering::Relaxed);
        }
        // While the bit is set, a thread that looks for a place waits for the lock, and does not
        // spin.
        arena.open.store(places, Ordering::Relaxed);
        if places > 0 {
            self.open.fetch_or(1 << arena.number, Ordering::AcqRel); // partner: `open_arenas`
        }
    }

    /// Opens places, so that `places` are open, and tells of them.
    #[inline(always)]
    pub(super) fn open_places(
        &self,
        mut arena_job: MutexGuard<'_, ArenaJob<J>>,
        arena: &Arena,
        places: usize,
    ) {
        if places > 0 {
            self.set_places(&mut arena_job, arena, places);
            drop(arena_job);
            self.announce(arena);
        }
    }

    /// The arenas with open places and [`TASKS`], for a thread that has recorded the sleep of a
    /// worker.
    #[inline(always)]
    pub(super) fn open_arenas(&self) -> usize {
        // A read-modify-write; partners: `set_places` and `spawn`. If a place opens or a task is
        // spawned after this, the thread that does so sees the sleep.
        self.open.fetch_add(0, Ordering::AcqRel)
    }

    /// Tells sleeping workers, and the callers around this arena, of an open place. A worker that
    /// is awake looks for open places before it sleeps.
    fn announce(&self, arena: &Arena) {
        self.posts.iter().for_each(|post| post.ring_if_asleep());
        for around in self.arenas.around(arena.number) {
            around.caller.is_wanted.store(true, Ordering::Relaxed);
            let _arena_job = lock(&self.jobs[around.number]);
            if around.caller_sleeps() {
                around.done.notify_one();
            }
        }
    }

    /// Waits for an offer or for an open place, and takes it. Meanwhile runs tasks that wait.
    /// Before it sleeps, it polls for `patience`. An offer, a job and a task set how long it polls
    /// the next time. Returns `None` if the pool stops, after all tasks.
    pub(crate) fn enter(&self, me: usize, patience: &mut Patience) -> Option<Entered<'_, J>> {
        let post = &*self.posts[me];
        loop {
            patience.poll(|| post.at() != WorkerState::Awake || self.open.load(Ordering::Relaxed) != 0);
            let (mut state, mut has_slept) = (lock(&post.state), false);
            loop {
                if let Some((offered, after)) = post.take(&mut state, WorkerState::Inside) {
                    drop(state);
                    *patience = after.max(self.patience);
                    let arena = self.arenas.get(offered.number())?;
                    self.ring_two(arena);
                    return Some(Entered::new(self, offered, arena, Some(me)));
                }
                if state.at == WorkerState::Stopped {
                    drop(state);
                    self.run_tasks(me + 1);
                    return None;
                }
                if state.at == WorkerState::Noted {
                    *patience = self.run_tasks_at(post, state, me + 1).max(self.patience);
                    break;
                }
                // An offer was taken back. The next offer of such a caller probably comes soon.
                let after = Post::patience(&mut state);
                if !after.is_none() {
                    *patience = after.max(self.patience);
                    break;
                }
                post.set(&mut state, WorkerState::Asleep);
                let open = self.open_arenas();
                if open & TASKS != 0 {
                    *patience = self.run_tasks_at(post, state, me + 1).max(self.patience);
                    break;
                }
                if open != 0 {
                    post.set(&mut state, WorkerState::Inside); // no caller offers it anything meanwhile
                    drop(state);
                    if let Some((entered, after)) = self.take_place(open, me + 1, None) {
                        *patience = after.max(self.patience);
                        return Some(entered);
                    }
                    state = lock(&post.state);
                    post.leave(&mut state);
                    // The place was closed or taken. A worker that was polling goes on polling. One
                    // that was rung, perhaps beside many others, goes back to sleep.
                    if !has_slept && !patience.is_none() {
                        break;
                    }
                    continue;
                }
                state = post.sleep(state, WorkerState::Asleep);
                has_slept = true;
            }
        }
    }

    /// Worker `me`, which is in no loop, does something that takes a while, if it has no offer.
    /// Callers offer it nothing meanwhile, and learn nothing from its absence.
    #[cold]
    pub(crate) fn turn_aside(&self, me: usize, work: impl FnOnce()) {
        let post = &*self.posts[me];
        let mut state = lock(&post.state);
        if state.at == WorkerState::Awake {
            post.set(&mut state, WorkerState::Inside);
            drop(state);
            work();
            post.leave(&mut lock(&post.state));
        }
    }

    /// Declines the job that is offered, if there is one, and sleeps until worker `me` is rung.
    /// Callers choose other workers first. Returns `None` if the pool stops.
    pub(crate) fn pass_over(&self, me: usize) -> Option<()> {
        let post = &*self.posts[me];
        let mut state = lock(&post.state);
        if let Some((offered, _)) = post.take(&mut state, WorkerState::Away) {
            drop(state);
            if let Some(arena) = self.arenas.get(offered.number()) {
                self.ring_two(arena); // in its stead
            }
            self.decline(offered);
            state = lock(&post.state);
        }
        if state.at == WorkerState::Awake {
            post.set(&mut state, WorkerState::Away);
        }
        let stops = state.at == WorkerState::Stopped;
        let has_call = state.at == WorkerState::Noted || state.is_called;
        if !stops && (has_call || self.open_arenas() & TASKS != 0) {
            self.run_tasks_at(post, state, me + 1); // a task may wait for this thread alone
            return Some(());
        }
        state = post.sleep(state, WorkerState::Away);
        let stops = state.at == WorkerState::Stopped;
        drop(state);
        if stops {
            self.run_tasks(me + 1);
        }
        (!stops).then_some(())
    }

    /// A starved worker declines an offer: a place opens in its stead.
    #[inline(always)]
    fn decline(&self, offered: Offered<J>) {
        let number = offered.number();
        let Some(arena) = self.arenas.get(number) else { return };
        let arena_job = lock(&self.jobs[number]);
        arena.leave_seat(offered.seat as usize);
        if arena_job.job.is_none() {
            drop(arena_job);
            return self.give_back(arena, 1);
        }
        if arena.may_reenter() && arena.caller_sleeps() {
            arena.done.notify_one(); // perhaps it sleeps until only untaken tokens are left
        }
        let places = arena.places() + 1;
        self.open_places(arena_job, arena, places);
    }

    /// Takes an open place in one of these arenas. A caller that waits for the end of the loop in
    /// arena `waits_for` takes only a place of a loop inside its own. Also returns how long a
    /// worker polls after the job.
    fn take_place(
        &self,
        open: usize,
        thread: usize,
        waits_for: Option<usize>,
    ) -> Option<(Entered<'_, J>, Patience)> {
        // Callers take the first free arena, so the arena of a loop mostly precedes those of the
        // loops in its items.
        ones(open).find_map(|number| {
            if !self.is_open_to(number, waits_for) {
                return None;
            }
            let (arena, mut arena_job) = (self.arenas.get(number)?, lock(&self.jobs[number]));
            if !self.is_open_to(number, waits_for) {
                return None;
            }
            let (job, seat) = (arena_job.job?, arena.take_seat(thread, arena_job.helpers)?);
            let places = arena.places() - 1;
            arena_job.recalls.places = arena_job.recalls.places.min(places);
            self.set_places(&mut arena_job, arena, places);
            let me = if waits_for.is_none() { thread.checked_sub(1) } else { None };
            let offered = Offered::new(job, number, seat);
            Some((Entered::new(self, offered, arena, me), arena_job.patience))
        })
    }

    /// Whether the loop in arena `number` has an open place for a thread that waits for the end of
    /// the loop in arena `waits_for`, if it waits. Exact under the lock of the job.
    fn is_open_to(&self, number: usize, waits_for: Option<usize>) -> bool {
        self.arenas.get(number).is_some_and(|arena| arena.places() > 0)
            && waits_for.is_none_or(|of| self.arenas.around(number).any(|around| around.number == of))
    }

    /// The caller of the loop in `arena` helps a loop inside its own loop, if such a loop has an
    /// open place. Otherwise the caller sleeps until the last token is back, the caller is called
    /// back, or a loop inside its own opens a place. It sleeps only while `tokens` are out. After
    /// helping, it polls for `patience`.
    pub(super) fn help_or_sleep<'a>(
        &'a self,
        mut arena_job: MutexGuard<'a, ArenaJob<J>>,
        (arena, caller): (&Arena, Caller),
        tokens: usize,
        patience: Patience,
        help: HelpInside<'_, J>,
    ) -> MutexGuard<'a, ArenaJob<J>> {
        arena.caller.is_wanted.store(false, Ordering::Relaxed);
        if self.is_called(caller.post) {
            return self.away(arena_job, arena, || self.run_calls(caller.post));
        }
        // Under the lock of its own job, so that a thread that opens a place afterwards finds the
        // caller asleep.
        let open = self.open.load(Ordering::Relaxed);
        if let Some(help) = help
            && ones(open).any(|number| self.is_open_to(number, Some(arena.number)))
        {
            return self.away(arena_job, arena, || {
                if let Some((entered, _)) = self.take_place(open, caller.thread(), Some(arena.number)) {
                    self.set_waits(arena, false);
                    help(&entered);
                    drop(entered);
                    self.set_waits(arena, true);
                    patience.poll(|| arena.is_over_or_wanted());
                }
            });
        }
        // If a token comes back before this, the caller looks again. If a token comes back
        // afterwards, the worker sees that the caller sleeps.
        let (before, order) = (tokens * TOKEN, Ordering::Relaxed);
        if arena.active.compare_exchange(before, before + SLEEPS, order, order).is_ok() {
            arena_job = wait(&arena.done, arena_job);
            arena.active.fetch_and(!SLEEPS, Ordering::Relaxed);
        }
        arena_job
    }

    /// The caller of the loop in `arena` does something else, without the lock of the job.
    /// Meanwhile it does not rest.
    fn away<'a>(
        &'a self,
        mut arena_job: MutexGuard<'a, ArenaJob<J>>,
        arena: &Arena,
        work: impl FnOnce(),
    ) -> MutexGuard<'a, ArenaJob<J>> {
        let rests = mem::replace(&mut arena_job.recalls.rests, false);
        drop(arena_job);
        work();
        arena_job = lock(&self.jobs[arena.number]);
        arena_job.recalls.rests = rests;
        arena_job
    }

    /// Records whether the caller of the loop in an arena rests or waits for the last token.
    pub(super) fn set_waits(&self, arena: &Arena, waits: bool) {
        let change = if waits { 1 } else { usize::MAX };
        self.counts.waiting.fetch_add(change, Ordering::Relaxed);
        arena.caller.waits.store(waits, Ordering::Relaxed);
    }

    /// Gives tokens back. Wakes the caller if it sleeps and these were the last ones, or if it may
    /// sleep until only untaken ones are left, because a worker may enter again.
    #[inline(always)]
    fn give_back(&self, arena: &Arena, tokens: usize) {
        let may_reenter = arena.may_reenter(); // before the tokens are back
        // Release; partners: the Acquires in `retract_and_wait`, `wait_for_the_last` and
        // `tokens_now`. All changes after the first offer are read-modify-writes, so the caller
        // sees what all workers did inside.
        let before = arena.active.fetch_sub(tokens * TOKEN, Ordering::Release);
        if before == tokens * TOKEN + SLEEPS || (may_reenter && before & SLEEPS != 0) {
            drop(lock(&self.jobs[arena.number])); // by now the caller sleeps on `done`
            arena.done.notify_one();
        }
    }

    /// Closes all places. Returns their tokens.
    fn close(&self, arena_job: &mut ArenaJob<J>, arena: &Arena) -> usize {
        let open = arena.places();
        arena_job.recalls.places = 0;
        if open > 0 {
            self.set_places(arena_job, arena, 0);
        }
        open + mem::take(&mut arena_job.recalls.owed)
    }

    /// Stops all workers. Before a thread ends, it runs the tasks that wait.
    pub(crate) fn stop(&self) {
        self.posts.iter().for_each(|post| post.stop());
        self.tasks.reserve.stop();
    }
}

/// The function with which a waiting caller runs the job of a loop that it has entered. `None` if
/// the caller is unwinding.
pub(crate) type HelpInside<'a, J> = Option<&'a dyn Fn(&Entered<'_, J>)>;

/// A published job. Ending or dropping it retracts the job and waits until every worker that has
/// taken it has left.
#[derive(Debug)]
pub(crate) struct Published<'a, J: Copy> {
    pub(crate) barrier: &'a Barrier<J>,
    pub(crate) arena: &'a Arena,
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
        let Self { barrier, arena, caller, patience, .. } = *self;
        let back = self.retract();
        // Acquire; partner: `give_back`. The caller sees all that the workers did inside.
        let are_out = if back == 0 {
            arena.tokens(Ordering::Acquire) > 0
        } else {
            arena.active.fetch_sub(back * TOKEN, Ordering::Acquire) / TOKEN > back
        };
        if are_out {
            arena.caller.is_wanted.store(false, Ordering::Relaxed);
            barrier.set_waits(arena, true);
            patience.poll(|| arena.is_over_or_wanted());
            self.wait_for_the_last(help);
            barrier.set_waits(arena, false);
        }
        barrier.counts.callers.fetch_sub(usize::from(caller.thread() == 0), Ordering::Relaxed);
    }

    /// Waits until all tokens are back.
    #[inline(always)]
    fn wait_for_the_last(&self, help: HelpInside<'_, J>) {
        let Self { barrier, arena, caller, patience } = *self;
        if arena.tokens(Ordering::Acquire) == 0 {
            return; // partner: `give_back`
        }
        let mut arena_job = lock(&barrier.jobs[arena.number]);
        loop {
            let tokens = arena.tokens_now();
            if tokens == 0 {
                return;
            }
            arena_job = barrier.help_or_sleep(arena_job, (arena, caller), tokens, patience, help);
        }
    }

    /// Retracts the job: nobody takes it any more. Returns the tokens that nobody has taken.
    fn retract(&self) -> usize {
        let Self { barrier, arena, .. } = *self;
        let mut arena_job = lock(&barrier.jobs[arena.number]);
        arena_job.job = None;
        let closed = barrier.close(&mut arena_job, arena);
        if arena.tokens(Ordering::Relaxed) == closed {
            return closed;
        }
        let (mut back, mut slept) = (0, false);
        for worker in arena.seated(arena_job.helpers).filter_map(|thread| thread.checked_sub(1)) {
            if let Some(at) = barrier.posts[worker].take_back(|offered| offered.number() == arena.number) {
                back += 1;
                slept |= at.sleeps();
            }
        }
        drop(arena_job);
        // A caller that has opened a place meanwhile has not rung these workers: they had an offer.
        if slept && barrier.open_arenas() != 0 {
            barrier.posts.iter().for_each(|post| post.ring_if_asleep());
            barrier.note_if_tasks_wait();
        }
        closed + back
    }
}

impl<J: Copy> Drop for Published<'_, J> {
    fn drop(&mut self) {
        self.retract_and_wait(None);
    }
}

/// A worker inside a loop. Dropping this value leaves the loop.
#[derive(Debug)]
pub(crate) struct Entered<'a, J: Copy> {
    pub(crate) barrier: &'a Barrier<J>,
    pub(crate) job: J,
    pub(crate) seat: usize,
    pub(crate) arena: &'a Arena,
    /// The worker. `None` for a waiting caller, which counts as inside its own loop.
    me: Option<usize>,
}

impl<'a, J: Copy> Entered<'a, J> {
    fn new(barrier: &'a Barrier<J>, offered: Offered<J>, arena: &'a Arena, me: Option<usize>) -> Self {
        Self { barrier, job: offered.job, seat: offered.seat as usize, arena, me }
    }
}

impl<J: Copy> Drop for Entered<'_, J> {
    /// The token comes last: until then, the caller keeps the arena.
    fn drop(&mut self) {
        let Self { barrier, seat, arena, me, .. } = *self;
        let (mut tokens, mut is_owed) = (1, false);
        if arena.may_reenter() {
            let mut arena_job = lock(&barrier.jobs[arena.number]);
            arena.leave_seat(seat);
            is_owed = arena_job.recalls.owed > 0;
            if is_owed {
                arena_job.recalls.owed -= 1;
                arena_job.recalls.places += 1;
                barrier.set_places(&mut arena_job, arena, arena.places() + 1);
            }
        } else if arena.places() > 0 {
            tokens += barrier.close(&mut lock(&barrier.jobs[arena.number]), arena);
        }
        if let Some(me) = me {
            let post = &barrier.posts[me];
            post.leave(&mut lock(&post.state));
        }
        if is_owed {
            barrier.announce(arena);
        }
        barrier.give_back(arena, tokens);
    }
}

/// The numbers of the arenas whose bits are set.
fn ones(bits: usize) -> impl Iterator<Item = usize> {
    let mut bits = bits & !TASKS;
    std::iter::from_fn(move || {
        let number = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        number
    })
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
        /// Checks that no job has more or fewer tokens than it may have, at any moment.
        pub(in crate::pool::team) fn recount(&self) {
            let jobs: Vec<_> = self.jobs.iter().map(|job| lock(job)).collect();
            let open = self.arenas.made().map(|arena| usize::from(arena.places() > 0) << arena.number);
            let open: usize = open.sum();
            assert_eq!(self.open.load(Ordering::Relaxed) & !TASKS, open, "the arenas with open places");
            for (number, job) in jobs.iter().enumerate() {
                let Some(arena) = self.arenas.get(number) else { continue };
                assert!(job.job.is_some() || arena.places() + job.recalls.owed == 0, "a place without a job");
                assert!(arena.places() <= arena.free_seats(job.helpers), "a place without a seat");
                // Before the count: a worker may take an offer after it was counted, and give its
                // token back. While the locks are held, no token is added to a job.
                let tokens = arena.tokens(Ordering::Relaxed);
                assert!(self.untaken(job, arena) <= tokens, "an offer without a token");
            }
        }

        /// Checks that worker `me`, which is in a loop, counts as inside.
        pub(in crate::pool::team) fn assert_inside(&self, me: usize) {
            assert_eq!(self.posts[me].at(), WorkerState::Inside, "worker {me}");
        }

        /// Checks that nothing is left of any loop.
        pub(in crate::pool::team) fn assert_no_loop(&self) {
            self.recount();
            assert_eq!((self.callers(), self.waiting()), (0, 0), "callers, waiting callers");
            for job in &self.jobs {
                let job = lock(job);
                let left = (job.recalls.owed, job.recalls.rests, job.job.is_some());
                assert_eq!(left, (0, false, false), "calls, the caller, a job");
            }
            for arena in self.arenas.made() {
                assert_eq!(arena.active.load(Ordering::Relaxed), 0, "tokens");
                assert!(!arena.caller.waits.load(Ordering::Relaxed), "a caller waits");
                assert_eq!(arena.places(), 0, "places");
            }
            // A worker gives its token back after it has left. A worker that came for a place and
            // found it closed has no token, and goes a moment later.
            let is_idle = |post: &CachePadded<Post<Offered<J>>>| post.at().is_idle();
            let begin = Instant::now();
            while !self.posts.iter().all(is_idle) {
                assert!(begin.elapsed() < Duration::from_secs(10), "a worker is inside, or has an offer");
                thread::yield_now();
            }
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
        barrier.call_back(turn.arena.number);
        assert_eq!(barrier.open.load(Ordering::Relaxed), 0);
        barrier.assert_no_loop();
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
                let entered = barrier.enter(0, &mut barrier.patience.clone()).expect("the outer loop");
                while !entered.arena.caller_sleeps() && !is_late() {
                    thread::yield_now();
                }
                let turn = barrier.arenas.take().expect("an arena is free");
                let caller = Caller { post: 1, outer: Some(entered.arena.number) };
                let published = barrier.publish(&turn, caller, offer(Reentry::Once), 2);
                if passes_over {
                    scope.spawn(|| barrier.pass_over(1));
                }
                while !helped.load(Ordering::Relaxed) && !is_late() {
                    thread::yield_now();
                }
                published.end(|_| ());
            });
            while barrier.posts[0].at() != WorkerState::Inside {
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

    /// The first two sleepers that are rung may not come. A caller from outside, which has no post,
    /// may have the seat of the next one.
    #[test]
    fn all_sleepers_are_rung_one_after_the_other() {
        let barrier = &barrier(5);
        let came = &AtomicUsize::new(0);
        thread::scope(|scope| {
            for me in 0..5 {
                scope.spawn(move || {
                    while let Some(entered) = barrier.enter(me, &mut barrier.patience.clone()) {
                        came.fetch_add(1, Ordering::Relaxed);
                        drop(entered);
                    }
                });
            }
            while barrier.posts.iter().any(|post| post.at() != WorkerState::Asleep) {
                thread::yield_now();
            }
            let turn = barrier.arenas.take().expect("an arena is free");
            let offer = Offer { helpers: 5, reentry: Reentry::Again, ..Offer::default() };
            let published = barrier.offer_job(&turn, Caller::default(), offer, 7);
            assert_eq!(came.load(Ordering::Relaxed), 0, "nobody is rung");
            assert!(turn.arena.has_to_ring());
            turn.arena.give_seat(3, 0);
            for _ in 0..3 {
                barrier.ring_two(turn.arena);
            }
            assert!(!turn.arena.has_to_ring());
            let begin = Instant::now();
            while came.load(Ordering::Relaxed) < 4 && begin.elapsed() < Duration::from_secs(10) {
                thread::yield_now();
            }
            assert_eq!(came.load(Ordering::Relaxed), 4, "all but the one whose seat is taken");
            turn.arena.give_seat(3, 3);
            drop(published);
            barrier.assert_no_loop();
            barrier.stop();
        });
    }

    #[test]
    fn a_worker_that_passes_over_a_job_wakes_another() {
        let barrier = &barrier(2);
        thread::scope(|scope| {
            let job = || barrier.enter(0, &mut barrier.patience.clone()).map(|entered| entered.job);
            let helper = scope.spawn(job);
            while barrier.posts[0].at() != WorkerState::Asleep {
                thread::yield_now();
            }
            let turn = barrier.arenas.take().expect("an arena is free");
            let published = barrier.publish(&turn, Caller::default(), offer(Reentry::Once), 7);
            scope.spawn(|| barrier.pass_over(1));
            let begin = Instant::now();
            while !helper.is_finished() && begin.elapsed() < Duration::from_secs(10) {
                thread::yield_now();
            }
            drop(published);
            barrier.stop();
            assert_eq!(helper.join().unwrap(), Some(7));
        });
    }

    /// The worker polls. It sees a place that its caller closes at once.
    #[test]
    #[cfg_attr(miri, ignore = "nobody polls under Miri")]
    fn a_worker_that_misses_a_place_goes_on_polling() {
        let barrier = &Barrier::<usize>::new(1, Fence::Symmetric, Patience::of(Duration::from_secs(600)));
        // Whether the worker is seen in this state within some seconds.
        let sees = |state| {
            let begin = Instant::now();
            while barrier.posts[0].at() != state && begin.elapsed() < Duration::from_secs(10) {
                thread::yield_now();
            }
            barrier.posts[0].at() == state
        };
        thread::scope(|scope| {
            barrier.arrive(0);
            let worker = scope.spawn(|| barrier.enter(0, &mut barrier.patience.clone()).is_none());
            let turn = barrier.arenas.take().unwrap();
            let mut arena_job = lock(&barrier.jobs[turn.arena.number]);
            barrier.set_places(&mut arena_job, turn.arena, 1);
            let comes = sees(WorkerState::Inside); // it waits for the lock
            barrier.set_places(&mut arena_job, turn.arena, 0);
            drop(arena_job);
            let polls = sees(WorkerState::Awake);
            thread::sleep(Duration::from_millis(20));
            let still_polls = barrier.posts[0].at() == WorkerState::Awake;
            barrier.stop();
            assert!(worker.join().unwrap());
            assert_eq!((comes, polls, still_polls), (true, true, true));
        });
    }

    #[test]
    fn a_worker_turns_aside_if_it_has_no_offer() {
        let barrier = barrier(1);
        barrier.arrive(0);
        let mut seen = Vec::new();
        barrier.turn_aside(0, || seen.push(barrier.idle()));
        seen.push(barrier.idle());
        let turn = barrier.arenas.take().unwrap();
        let published = barrier.publish(&turn, Caller::default(), offer(Reentry::Once), 7);
        barrier.turn_aside(0, || unreachable!("a caller counts on it"));
        drop(published);
        assert_eq!(seen, [0, 1]);
    }

    /// Nobody is inside: one offer is not taken, or a call has come before.
    #[test]
    fn a_caller_that_rests_alone_does_not_poll() {
        const LONG: Duration = Duration::from_secs(60);
        for is_called in [false, true] {
            let barrier = &Barrier::<usize>::new(1, Fence::Symmetric, Patience::of(LONG));
            let turn = barrier.arenas.take().unwrap();
            let helpers = usize::from(!is_called);
            let offer = Offer { helpers, ..offer(Reentry::Again) };
            let published = barrier.publish(&turn, Caller::default(), offer, 7);
            if is_called {
                barrier.call_back(turn.arena.number);
            }
            let begin = Instant::now();
            assert_eq!(barrier.rest(turn.arena, Caller::default(), None), is_called);
            assert!(begin.elapsed() < LONG / 2, "{:?}", begin.elapsed());
            drop(published);
        }
    }
}
