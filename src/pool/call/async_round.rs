//! A worker of a loop whose items wait. It begins items, each in a slot, and goes on with those
//! that have been woken; if there are none, it sleeps. It leaves when no item is left.
//!
//! An item that has been polled again is followed by a new one, so that as many are under way as
//! may be; otherwise, those that have been woken come first.

use std::{
    collections::BinaryHeap,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::PoisonError,
    time::Duration,
};

use super::{
    accumulator::Halt,
    ending::{FirstStop, Panic, discard},
    handles::CancelToken,
    plan::Plan,
    round::claim_one,
    round_log::{RoundLog, WorkerLog},
    thief::Thief,
};
use crate::{
    clock::Instant,
    pool::{
        policy::{
            grain::{Grain, Stretch},
            poll_costs::PollCosts,
            victim::Stealing,
        },
        protocol::{
            first_indices::FirstIndices,
            range::{Owner, Ranges, Stolen},
            wake_queues::{Begins, Next, Slot, WakeQueues},
        },
        record::{journal::Times, wait_report::WaitReport},
    },
    sync::{Mutex, lock},
};

/// A worker's part of a loop whose items wait, whatever it makes of them.
pub(crate) trait PollItems {
    /// The worker comes: makes its state. Called once, before anything else.
    fn arrive(&mut self);

    /// Claims the next items of `owner`, up to `claims`, one by one, and begins each in `slot`,
    /// until one waits.
    fn begin(&mut self, owner: &mut Owner<'_>, slot: &mut Slot, claims: usize) -> Result<Began, Halt>;

    /// Begins an item that is claimed.
    fn begin_one(&mut self, index: usize, slot: &mut Slot) -> Result<Began, Halt>;

    /// Polls the item `index`, which waited in `slot`. True: it is done, and the slot is free.
    fn resume(&mut self, index: usize, slot: &mut Slot) -> Result<bool, Halt>;

    /// Drops what lies at `slot`, if anything does. Does not panic.
    fn clear(&mut self, slot: &mut Slot);

    /// Hands over what was made, but for the last.
    fn hand_over(&mut self);

    /// Nothing is left to do: hands over what was made, if it `is_needed`, and drops the state.
    fn leave(&mut self, is_needed: bool);

    /// After a panic: drops what was made, and tells the item in which it happened. Does not panic.
    fn lose(&mut self) -> usize;

    /// After a panic while it left: drops the state. Does not panic.
    fn go(&mut self);
}

/// How an attempt to begin items has ended.
pub(crate) enum Began {
    /// All that were begun are done.
    Done,
    /// The same, but the last claim is contested, and [`Owner::resolve`] tells whether it stands.
    Contested,
    /// This item waits.
    Waits(usize),
}

/// Lends a closure what a worker attends items with, made on its thread.
pub(crate) type LendPollItems<'a> = &'a (dyn Fn(usize, &mut dyn FnMut(&mut dyn PollItems)) + Sync);

/// A loop whose items wait.
pub(crate) struct AsyncRound<'a> {
    pub(crate) queues: &'a WakeQueues,
    pub(crate) ranges: &'a Ranges,
    pub(crate) plan: Plan<'a>,
    /// What is begun first.
    pub(crate) early: FirstIndices,
    pub(crate) course: RoundLog,
    /// What help costs, in nanoseconds.
    pub(crate) help: f32,
    /// The token that its workers have to look at: that of a parent, in a forked child.
    pub(crate) token: Option<&'a CancelToken>,
    pub(crate) told: Mutex<AsyncReport>,
}

/// What workers tell when they leave.
#[derive(Default)]
pub(crate) struct AsyncReport {
    pub(crate) report: WaitReport,
    /// The items that waited: some of them, if there were more than may be under way.
    pub(crate) waited: Vec<usize>,
}

impl AsyncRound<'_> {
    /// Worker `me`, which has entered, and attends items by `attend`.
    pub(crate) fn worker<'w>(
        &'w self,
        me: usize,
        (owner, first): (Owner<'w>, Option<usize>),
        attend: &'w mut dyn PollItems,
    ) -> AsyncRoundWorker<'w> {
        let Self { plan, .. } = self;
        let visit = self.course.visit(me, plan.units);
        self.queues.come();
        let begun = Instant::now();
        let mut worker = AsyncRoundWorker {
            of: self,
            me,
            owner,
            claimed: first,
            thief: Thief::new(me, plan),
            victims: Vec::new(),
            grain: Grain::new(begun, plan.pace, true),
            hand: Vec::new(),
            held: None,
            doing: Doing::One,
            attend,
            begins: true,
            refills: true,
            is_new: true,
            seen: usize::MAX,
            cleared: usize::MAX,
            behind: BinaryHeap::new(),
            behind_before: 0,
            begun,
            now: begun,
            polls: PollCosts::new(plan.pace),
            items: 0,
            tells: AsyncReport::default(),
            visit,
        };
        if plan.stealing == Stealing::Off {
            worker.owner.steal_from_late_only();
        }
        worker
    }

    /// What all workers have told. To be called after all of them have left.
    pub(crate) fn into_inner(self) -> (Times, FirstStop, AsyncReport) {
        let (times, stop) = self.course.into_inner();
        let mut told = self.told.into_inner().unwrap_or_else(PoisonError::into_inner);
        told.report.most_in_flight = self.queues.under_way().1;
        (times, stop, told)
    }
}

/// A worker of such a loop.
pub(crate) struct AsyncRoundWorker<'w> {
    of: &'w AsyncRound<'w>,
    me: usize,
    owner: Owner<'w>,
    /// An item that is claimed and not begun.
    claimed: Option<usize>,
    thief: Thief<'w>,
    victims: Vec<usize>,
    grain: Grain,
    /// Its slots, all free.
    hand: Vec<Slot>,
    /// The slot of the item that it attends.
    held: Option<Slot>,
    doing: Doing,
    attend: &'w mut dyn PollItems,
    /// Whether there may be items that nobody has begun.
    begins: bool,
    /// Whether an item has just been polled again, so that a new one follows.
    refills: bool,
    /// Whether it has just come.
    is_new: bool,
    /// Where the loop stops, as far as it knows; and where it stopped when it has dropped those
    /// behind.
    seen: usize,
    cleared: usize,
    /// Candidates to be dropped at the next stop: indices of items that may wait, each with the
    /// number of its slot. Filled from all slots at the worker's first stop; after that, the worker
    /// adds each item that it suspends, also one that it has only taken by mistake. So each waiting
    /// item is a candidate of the worker that suspended it last, unless that worker has not seen a
    /// stop yet.
    behind: BinaryHeap<(usize, usize)>,
    /// The length of `behind` when it was last filled from all slots.
    behind_before: usize,
    begun: Instant,
    /// When it last looked at the clock.
    now: Instant,
    polls: PollCosts,
    /// How many items it has begun.
    items: usize,
    tells: AsyncReport,
    visit: WorkerLog,
}

/// How a worker's step has ended.
enum Step {
    GoOn,
    Leave,
}

impl AsyncRoundWorker<'_> {
    /// Works until no item is left, and leaves. Never unwinds: a panic ends the loop and is kept
    /// for the caller; items before it are still attended.
    pub(crate) fn work(mut self) {
        self.work_until(|_| false);
        self.leave();
    }

    /// Works until no item is left (true), or `gives_up`.
    pub(crate) fn work_until(&mut self, gives_up: impl Fn(&mut Self) -> bool) -> bool {
        loop {
            let gone = catch_unwind(AssertUnwindSafe(|| {
                while !gives_up(self) {
                    if let Step::Leave = self.step() {
                        return true;
                    }
                }
                false
            }));
            match gone {
                Ok(is_through) => return is_through,
                Err(panic) => self.lose(panic),
            }
        }
    }

    /// Whether there is so much to compute that help would pay.
    pub(crate) fn wants_help(&mut self) -> bool {
        self.now = Instant::now();
        self.polls.are_worth_sharing(self.left(), self.work_time(), self.of.help)
    }

    /// For how long it has worked.
    fn work_time(&self) -> Duration {
        (self.now - self.begun).saturating_sub(self.tells.report.asleep)
    }

    /// About how much work is left, in nanoseconds.
    pub(crate) fn work_left(&self) -> f32 {
        self.polls.cost(self.left(), self.work_time())
    }

    /// About how many polls are left that could be done at once.
    fn left(&self) -> usize {
        let Self { of: AsyncRound { queues, .. }, owner, begins, .. } = self;
        let fresh = if *begins { owner.left().min(queues.spare() + self.hand.len()) } else { 0 };
        queues.queued(self.me) + fresh
    }

    /// Hands over what was made, and what was noted. Does not unwind.
    pub(crate) fn leave(mut self) {
        let is_needed = self.of.queues.stop() == usize::MAX;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.attend.leave(is_needed))) {
            let place = self.attend.lose();
            self.attend.go();
            self.stop(place, Some(panic));
        }
        let Self { of, owner, items, victims, mut tells, mut visit, polls, .. } = self;
        tells.report.polls = polls.count;
        visit.journal.attended(items, victims, tells.report.asleep);
        let mut told = lock(&of.told);
        told.report.add(tells.report);
        told.waited.append(&mut tells.waited);
        drop(told);
        of.course.leave(visit, owner.failed());
    }

    fn step(&mut self) -> Step {
        let queues = self.of.queues;
        if mem::take(&mut self.is_new) {
            self.attend.arrive();
        }
        self.attend.hand_over();
        if self.of.token.is_some_and(CancelToken::is_cancelled) && queues.stop() > 0 {
            self.stop(0, None);
        }
        self.seen = queues.stop();
        if self.cleared == usize::MAX && self.seen != self.cleared {
            self.clear_behind();
        }
        if self.begins && !self.hand.is_empty() && (self.refills || queues.queued(self.me) == 0) {
            self.refills = false;
            self.begin();
            return Step::GoOn;
        }
        if queues.queued(self.me) == 0 {
            self.now = Instant::now(); // it will sleep, perhaps
        }
        let begins = match (self.begins, self.refills) {
            (false, _) => Begins::Nothing,
            (true, false) => Begins::Later,
            (true, true) => Begins::First,
        };
        let (next, slept) = queues.next(self.me, &mut self.hand, begins, self.cleared);
        if slept {
            self.wake_up();
        }
        match next {
            Next::Resume(slot) => self.resume(slot),
            Next::Begin(slot) => {
                self.hand.push(slot);
                self.refills = true;
            }
            Next::Look => self.clear_behind(),
            Next::Leave => return Step::Leave,
        }
        Step::GoOn
    }

    /// Begins items in one of its slots, until one waits, or for some microseconds.
    fn begin(&mut self) {
        let Some(claim) = self.claim() else { return };
        let Self { attend, owner, grain, hand, held, .. } = self;
        *held = hand.pop();
        let Some(slot) = held else { return };
        let first = owner.next();
        let began = match claim {
            ToBegin::One(index) => {
                self.items += 1;
                self.polls.count += 1;
                attend.begin_one(index, slot)
            }
            ToBegin::Next(left) => {
                grain.restart(self.now);
                let Stretch { claims, full_fences, .. } = grain.stretch(left);
                owner.use_full_fences(full_fences);
                self.doing = Doing::Many;
                let began = attend.begin(owner, slot, claims);
                self.doing = Doing::One;
                let begun = owner.next() - first;
                self.items += begun;
                self.polls.count += begun;
                began
            }
        };
        self.now = Instant::now();
        if let (ToBegin::Next(left), Ok(Began::Done | Began::Contested)) = (claim, &began) {
            self.grain.end_stretch((left + first).saturating_sub(self.owner.next()), self.now);
        }
        match began {
            Ok(Began::Done) => self.is_free(),
            Ok(Began::Contested) => {
                self.claimed = self.owner.resolve(1).next();
                self.is_free();
            }
            Ok(Began::Waits(index)) => {
                self.tells.report.waited += 1;
                if self.tells.waited.len() <= self.of.queues.limit() {
                    self.tells.waited.push(index);
                }
                if let Some(slot) = self.held.take() {
                    self.note_waiting(index, slot.number());
                    self.of.queues.suspend_first(slot, self.me, index);
                }
            }
            Err(halt) => self.halt(halt),
        }
        self.tell_worth();
    }

    /// Goes on with the item in `slot`.
    fn resume(&mut self, slot: Slot) {
        let (index, elsewhere) = self.of.queues.resume(&slot, self.me);
        let slot = self.held.insert(slot);
        if index >= self.seen {
            self.attend.clear(slot);
            self.of.queues.end(self.me);
            self.is_free();
            return;
        }
        self.doing = Doing::Again;
        self.tells.report.resumed_elsewhere += usize::from(elsewhere);
        self.polls.count += 1;
        let resumed = self.attend.resume(index, slot);
        self.refills = true;
        self.doing = Doing::One;
        if !matches!(resumed, Ok(false)) {
            self.of.queues.end(self.me);
        }
        match resumed {
            Ok(true) => self.is_free(),
            Ok(false) => {
                if let Some(slot) = self.held.take() {
                    self.note_waiting(index, slot.number());
                    self.of.queues.suspend(slot, self.me, index);
                }
            }
            Err(halt) => self.halt(halt),
        }
        self.tell_worth();
    }

    /// What it may begin: if nothing is left, it asks no more.
    fn claim(&mut self) -> Option<ToBegin> {
        let Self { of: AsyncRound { early, .. }, owner, seen, .. } = self;
        if *seen == 0 {
            self.begins = false; // perhaps it has no state
            return None;
        }
        loop {
            while let Some(index) = early.claim() {
                if index < *seen {
                    return Some(ToBegin::One(index));
                }
            }
            if let Some(index) = self.claimed.take() {
                if index < *seen && early.distance(index) > 0 {
                    return Some(ToBegin::One(index));
                }
            } else if owner.left() == 0 {
                let Some(Stolen { item, victim }) = self.thief.steal(owner) else {
                    self.begins = false;
                    return None;
                };
                self.victims.push(victim);
                self.claimed = Some(item);
            } else {
                let distance = early.distance(owner.next());
                if distance > 0 {
                    return Some(ToBegin::Next(owner.left().min(distance)));
                }
                self.claimed = claim_one(owner); // to pass it by
            }
        }
    }

    /// The slot that it holds is free again.
    fn is_free(&mut self) {
        self.hand.extend(self.held.take());
    }

    fn halt(&mut self, halt: Halt) {
        self.is_free();
        self.stop(halt.place, None);
    }

    /// Ends the loop at `place`: no item at or behind it is begun any more, and those that wait are
    /// dropped.
    fn stop(&mut self, place: usize, panic: Option<Panic>) {
        self.of.ranges.truncate(place);
        discard(self.visit.stop.note(place, panic));
        self.of.queues.stop_at(place);
    }

    /// User code has panicked.
    fn lose(&mut self, panic: Panic) {
        if let Some(slot) = &mut self.held {
            self.attend.clear(slot);
        }
        let mut place = self.attend.lose();
        match mem::replace(&mut self.doing, Doing::One) {
            Doing::One => {}
            Doing::Many => place = self.owner.abandon(),
            Doing::Again => self.of.queues.end(self.me),
        }
        self.is_free();
        self.stop(place, Some(panic));
    }

    /// The loop stops elsewhere: drops the items that are not needed, of those that wait. At the
    /// first stop it looks at all slots; later, when there is nothing else to do, only at those
    /// whose items lie behind the stop, so falling errors cost each item a logarithm.
    #[cold]
    fn clear_behind(&mut self) {
        let queues = self.of.queues;
        self.seen = queues.stop();
        if mem::replace(&mut self.cleared, self.seen) == usize::MAX {
            self.behind = queues.items().collect();
            self.behind_before = self.behind.len();
        }
        while let Some(&(item, number)) = self.behind.peek()
            && item >= self.seen
        {
            self.behind.pop();
            let behind = &mut self.behind;
            // The worker that suspended that item may have looked for it in vain meanwhile.
            let put_back = |item| behind.push((item, number));
            if let Some(mut slot) = queues.take_behind(number, self.seen, put_back) {
                self.attend.clear(&mut slot);
                queues.end(self.me);
                self.hand.push(slot);
            }
        }
    }

    /// Notes a candidate: this worker is about to suspend the item at `index`, in slot `number`.
    fn note_waiting(&mut self, index: usize, number: usize) {
        /// With fewer candidates than this, those that wait no more are kept.
        const FEWEST: usize = 64;
        if self.cleared == usize::MAX {
            return; // the first stop will find it in its slot
        }
        if self.behind.len() >= FEWEST.max(2 * self.behind_before) {
            self.behind = self.of.queues.items().collect();
            self.behind_before = self.behind.len();
        }
        self.behind.push((index, number));
    }

    /// It has slept. The caller may have woken up on the CPU of a helper.
    fn wake_up(&mut self) {
        let now = Instant::now();
        self.tells.report.asleep += now - self.now;
        self.now = now;
        self.of.plan.look(now);
    }

    /// Tells, now and then, how many items are worth another worker.
    #[inline(always)]
    fn tell_worth(&mut self) {
        const OFTEN: usize = 16;
        if self.polls.count % OFTEN == 1 || self.polls.count < OFTEN {
            self.tell_worth_now();
        }
    }

    #[inline(never)]
    fn tell_worth_now(&mut self) {
        self.now = Instant::now();
        let Self { of: AsyncRound { queues, help, .. }, polls, .. } = self;
        queues.set_worth(polls.worth_sharing(self.work_time(), *help));
    }
}

/// What a worker is doing when user code panics.
enum Doing {
    /// It begins an item, or something else.
    One,
    /// It claims and begins items in one go.
    Many,
    /// It polls an item that has waited.
    Again,
}

/// What a worker may begin.
#[derive(Clone, Copy)]
enum ToBegin {
    /// This item, which is claimed.
    One(usize),
    /// So many items, the next of its range, which are not claimed yet.
    Next(usize),
}
