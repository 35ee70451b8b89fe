//! A worker of a loop whose items wait. The worker begins items, each in a slot, and resumes items
//! that have been woken. The worker sleeps while no item can be begun or resumed. The worker leaves
//! when no item is left.
//!
//! After the worker has resumed an item, it begins a new item. So the number of items in flight
//! stays near its limit. In all other cases the worker prefers woken items to new ones.

use std::{collections::BinaryHeap, mem, task::Poll, time::Duration};

use super::{
    ending::{Panic, StopAt},
    handles::CancelToken,
    plan::Plan,
    thief::Thief,
    visit::catching,
    worker_log::WorkerLog,
};
use crate::{
    clock::Instant,
    pool::{
        policy::{
            grain::Grain,
            pace::{Pace, Stretch},
            poll_costs::PollCosts,
        },
        supply::{
            first_indices::FirstIndices,
            range::{Claims, Owner, Ranges, Stolen},
            wake_queues::{Begins, Next, Slot, WakeQueues},
        },
        tell::{report::WaitReport, times::Times},
    },
    sync::{Mutex, lock},
};

/// A worker's part of a loop whose items wait, for any type of result.
pub(crate) trait PollItems {
    /// Makes the worker's state. Called once, before all other functions.
    fn arrive(&mut self);

    /// Begins the items of `claims` in `slot`, one by one. Item `next` comes first. Returns
    /// `Pending` when an item waits. No item behind the waiting item is claimed then.
    fn begin(&mut self, next: usize, claims: &mut Claims<'_>, slot: &mut Slot) -> Poll<Result<(), StopAt>>;

    /// Polls the item `index`, which waited in `slot`. If the item is ready, the slot becomes free.
    fn resume(&mut self, index: usize, slot: &mut Slot) -> Poll<Result<(), StopAt>>;

    /// Drops the item in `slot`, if there is one. Does not panic.
    fn clear(&mut self, slot: &mut Slot);

    /// Publishes all finished runs except the newest run.
    fn hand_over(&mut self);

    /// Drops the state. Before that, publishes all finished runs if the result `is_needed`. Called
    /// when no item is left to begin or resume, and again if it has panicked.
    fn leave(&mut self, is_needed: bool);

    /// After a panic: keeps the panic, and drops the finished runs. Returns where the loop stops:
    /// at the item that was polled last, or at `claimed`, if the worker has claimed several items.
    /// Does not panic.
    fn abandon(&mut self, claimed: Option<usize>, panic: Panic) -> usize;
}

/// Makes the [`PollItems`] of a worker, on the worker's thread, and lends it to a closure.
pub(crate) type LendPollItems<'a> = &'a (dyn Fn(usize, &mut dyn FnMut(&mut dyn PollItems)) + Sync);

/// A loop whose items wait.
pub(crate) struct AsyncLoop<'a> {
    pub(crate) queues: &'a WakeQueues,
    pub(crate) ranges: &'a Ranges,
    pub(crate) plan: Plan<'a>,
    /// The items that the loop begins first.
    pub(crate) first_indices: FirstIndices,
    pub(crate) times: Box<Times>,
    /// The cost of help, in nanoseconds.
    pub(crate) help: f32,
    /// A token that the workers themselves must read. In a forked child this is the token of the
    /// parent process. In all other processes this is `None`.
    pub(crate) token: Option<&'a CancelToken>,
    pub(crate) reports: Mutex<AsyncReport>,
}

/// The report that workers add to when they leave.
#[derive(Default)]
pub(crate) struct AsyncReport {
    pub(crate) report: WaitReport,
    /// Items that waited. The list is incomplete if more items waited than may be in flight.
    pub(crate) waited: Vec<usize>,
}

impl AsyncLoop<'_> {
    /// Worker `me` enters the loop. It polls items through `poller`.
    pub(crate) fn worker<'w>(&'w self, me: usize, poller: &'w mut dyn PollItems) -> AsyncLoopWorker<'w> {
        let Self { plan, .. } = self;
        let (owner, first) = self.ranges.enter(me);
        let worker_log = WorkerLog::enter(Some(&self.times), me, plan.units);
        self.queues.come();
        let begun = Instant::now();
        AsyncLoopWorker {
            of: self,
            me,
            owner,
            claimed: first,
            thief: Thief::new(me, plan),
            victims: Vec::new(),
            grain: Grain::new(Some(begun), plan.shared.pace, 1, true),
            own_slots: Vec::new(),
            held: None,
            doing: Doing::One,
            poller,
            begins: Begins::First,
            is_new: true,
            seen: usize::MAX,
            cleared: usize::MAX,
            behind: BinaryHeap::new(),
            behind_before: 0,
            begun,
            now: begun,
            polls: PollCosts::new(plan.shared.pace),
            items: 0,
            own_report: AsyncReport::default(),
            worker_log,
        }
    }
}

/// A worker of an [`AsyncLoop`].
pub(crate) struct AsyncLoopWorker<'w> {
    of: &'w AsyncLoop<'w>,
    me: usize,
    owner: Owner<'w>,
    /// An item that is claimed but not begun.
    claimed: Option<usize>,
    thief: Thief<'w>,
    victims: Vec<usize>,
    grain: Grain,
    /// The worker's slots, all free.
    own_slots: Vec<Slot>,
    /// The slot of the item that the worker polls.
    held: Option<Slot>,
    doing: Doing,
    poller: &'w mut dyn PollItems,
    /// Whether the worker begins a new item next, because it has just resumed an item. `Nothing`
    /// if no items are left that no worker has begun.
    begins: Begins,
    /// Whether the worker has just entered the loop.
    is_new: bool,
    /// `seen` is the latest stop of the loop that the worker has seen. The worker has already
    /// dropped all items behind the stop `cleared`.
    seen: usize,
    cleared: usize,
    /// The items that the worker may have to drop at the next stop. For each item, the list has its
    /// index and the number of its slot. Some of these items may no longer wait. At its first stop
    /// the worker adds the items of all slots. After its first stop the worker adds each item that
    /// it suspends, even an item that it took by mistake. So each waiting item is listed at the
    /// worker that suspended it last, if that worker has seen a stop.
    behind: BinaryHeap<(usize, usize)>,
    /// The length of `behind` when it was last filled from all slots.
    behind_before: usize,
    begun: Instant,
    /// The worker's last reading of the clock.
    now: Instant,
    polls: PollCosts,
    /// How many items the worker has begun.
    items: usize,
    own_report: AsyncReport,
    worker_log: WorkerLog<'w>,
}

impl AsyncLoopWorker<'_> {
    /// Works until no item is left, and then leaves. Never unwinds: a panic ends the loop and is
    /// kept for the caller. Workers still poll the items before the panic.
    pub(crate) fn work(mut self) {
        self.work_until(|_| false);
        self.leave();
    }

    /// Works until no item is left, or until `gives_up` returns `true`. Returns whether no item is
    /// left.
    pub(crate) fn work_until(&mut self, gives_up: impl Fn(&mut Self) -> bool) -> bool {
        let is_through = catching(
            self,
            |worker| {
                while !gives_up(worker) {
                    if !worker.step() {
                        return true;
                    }
                }
                false
            },
            Self::end_at_panic,
        );
        is_through == Some(true)
    }

    /// Whether the remaining computation is large enough to pay for help.
    pub(crate) fn wants_help(&mut self) -> bool {
        self.now = Instant::now();
        self.polls.are_worth_sharing(self.left(), self.work_time(), self.of.help)
    }

    /// How long the worker has worked.
    fn work_time(&self) -> Duration {
        (self.now - self.begun).saturating_sub(self.own_report.report.asleep)
    }

    /// About how much work is left, in nanoseconds.
    pub(crate) fn work_left(&self) -> f32 {
        self.polls.cost(self.left(), self.work_time())
    }

    /// About how many polls could be done now.
    fn left(&self) -> usize {
        let Self { of: AsyncLoop { queues, .. }, owner, begins, .. } = self;
        let fresh = if *begins == Begins::Nothing {
            0
        } else {
            owner.left().min(queues.spare() + self.own_slots.len())
        };
        queues.queued(self.me) + fresh
    }

    /// Hands over the finished runs and the notes. Does not unwind.
    pub(crate) fn leave(mut self) {
        let is_needed = self.of.queues.stop() == usize::MAX;
        catching(&mut self, |worker| worker.poller.leave(is_needed), Self::end_at_panic);
        let Self { of, owner, items, victims, mut own_report, mut worker_log, polls, .. } = self;
        own_report.report.polls = polls.count;
        if let Some(journal) = &mut worker_log.journal {
            journal.ran_async_items(items, victims, own_report.report.asleep);
        }
        let mut reports = lock(&of.reports);
        reports.report.add(own_report.report);
        reports.waited.append(&mut own_report.waited);
        drop(reports);
        worker_log.leave(owner.failed);
    }

    /// Takes the next step. Returns false if nothing is left to do.
    fn step(&mut self) -> bool {
        let queues = self.of.queues;
        if mem::take(&mut self.is_new) {
            self.poller.arrive();
        }
        self.poller.hand_over();
        if self.of.token.is_some_and(CancelToken::is_cancelled) && queues.stop() > 0 {
            self.stop(0);
        }
        self.seen = queues.stop();
        if self.cleared == usize::MAX && self.seen != self.cleared {
            self.clear_behind();
        }
        let is_next = match self.begins {
            Begins::Nothing => false,
            Begins::Later => queues.queued(self.me) == 0,
            Begins::First => true,
        };
        if is_next && !self.own_slots.is_empty() {
            self.begins = Begins::Later;
            self.begin();
            return true;
        }
        if queues.queued(self.me) == 0 {
            self.now = Instant::now(); // perhaps the worker will sleep
        }
        let (next, slept) = queues.next(self.me, &mut self.own_slots, self.begins, self.cleared);
        if slept {
            self.wake_up();
        }
        match next {
            Next::Resume(slot) => self.resume(slot),
            Next::Begin(slot) => {
                self.own_slots.push(slot);
                self.begins = Begins::First;
            }
            Next::Look => self.clear_behind(),
            Next::Leave => return false,
        }
        true
    }

    /// Begins items in one of the worker's slots, until an item waits or some microseconds are
    /// over.
    fn begin(&mut self) {
        let Some((first, left)) = self.claim() else { return };
        let Self { poller, owner, grain, own_slots, held, .. } = self;
        *held = own_slots.pop();
        let Some(slot) = held else { return };
        let (end, (begun, is_contested)) = if left == 0 {
            (first + 1, (poller.begin(first, &mut Claims::of(first..first + 1), slot), false))
        } else {
            grain.restart(self.now);
            let Stretch { items, full_fences, .. } = grain.stretch(left);
            owner.use_full_fences(full_fences);
            self.doing = Doing::Many;
            let begun = owner.claim(1, items, |claims| poller.begin(first, claims, slot));
            self.doing = Doing::One;
            (owner.next(), begun)
        };
        self.items += end - first;
        self.polls.count += end - first;
        let last = end.saturating_sub(1); // of the items that were begun, if there are any
        self.now = Instant::now();
        if left > 0 && matches!(begun, Poll::Ready(Ok(()))) {
            grain.end_stretch((first + left).saturating_sub(end), self.now);
        }
        if is_contested {
            self.claimed = owner.resolve(1).next();
        }
        if begun.is_pending() {
            self.own_report.report.waited += 1;
            if self.own_report.waited.len() <= self.of.queues.limit {
                self.own_report.waited.push(last);
            }
        }
        self.end_poll(last, begun, WakeQueues::suspend_first);
    }

    /// Resumes the item in `slot`.
    fn resume(&mut self, slot: Slot) {
        let (index, elsewhere) = self.of.queues.resume(&slot, self.me);
        let slot = self.held.insert(slot);
        if index >= self.seen {
            self.poller.clear(slot);
            self.of.queues.end(self.me);
            self.free_slot();
            return;
        }
        self.doing = Doing::Again;
        self.own_report.report.resumed_elsewhere += usize::from(elsewhere);
        self.polls.count += 1;
        let resumed = self.poller.resume(index, slot);
        if self.begins == Begins::Later {
            self.begins = Begins::First;
        }
        self.doing = Doing::One;
        if resumed.is_ready() {
            self.of.queues.end(self.me);
        }
        self.end_poll(index, resumed, WakeQueues::suspend);
    }

    /// Ends the poll of the item at `index`. If the item waits, `suspend` suspends it.
    fn end_poll(
        &mut self,
        index: usize,
        polled: Poll<Result<(), StopAt>>,
        suspend: fn(&WakeQueues, Slot, usize, usize),
    ) {
        const OFTEN: usize = 16;
        match polled {
            Poll::Ready(Ok(())) => self.free_slot(),
            Poll::Pending => {
                if let Some(slot) = self.held.take() {
                    self.note_waiting(index, slot.number());
                    suspend(self.of.queues, slot, self.me, index);
                }
            }
            Poll::Ready(Err(StopAt { needed_end, .. })) => {
                self.free_slot();
                self.stop(needed_end);
            }
        }
        // From time to time, publishes how many items are enough work for another worker.
        if self.polls.count % OFTEN == 1 || self.polls.count < OFTEN {
            self.now = Instant::now();
            self.of.queues.set_worth(self.polls.worth_sharing(self.work_time(), self.of.help));
        }
    }

    /// The first item to begin, and how many items from it on are not claimed yet: 0 if the first
    /// item is already claimed. `None` if no item is left; then the worker does not call this
    /// again.
    fn claim(&mut self) -> Option<(usize, usize)> {
        let Self { of: AsyncLoop { first_indices, .. }, owner, seen, .. } = self;
        if *seen == 0 {
            self.begins = Begins::Nothing; // perhaps the worker has no state
            return None;
        }
        loop {
            while let Some(index) = first_indices.claim() {
                if index < *seen {
                    return Some((index, 0));
                }
            }
            if let Some(index) = self.claimed.take() {
                if index < *seen && first_indices.distance(index) > 0 {
                    return Some((index, 0));
                }
            } else if owner.left() == 0 {
                let Some(Stolen { item, victim }) = self.thief.steal(owner) else {
                    self.begins = Begins::Nothing;
                    return None;
                };
                self.victims.push(victim);
                self.claimed = Some(item);
            } else {
                let next = owner.next();
                let distance = first_indices.distance(next);
                if distance > 0 {
                    return Some((next, owner.left().min(distance)));
                }
                self.claimed = claim_one(owner); // claimed, in order to skip this item
            }
        }
    }

    /// Frees the slot that the worker holds.
    fn free_slot(&mut self) {
        self.own_slots.extend(self.held.take());
    }

    /// Ends the loop at `index`: workers soon begin only items before `index`. Waiting items at or
    /// behind `index` are dropped.
    fn stop(&mut self, index: usize) {
        self.of.ranges.truncate(index);
        self.of.queues.stop_at(index);
    }

    /// User code has panicked. The worker continues: it still polls the items before the panic.
    fn end_at_panic(&mut self, panic: Panic) -> bool {
        if let Some(slot) = &mut self.held {
            self.poller.clear(slot);
        }
        let mut claimed = None;
        match mem::replace(&mut self.doing, Doing::One) {
            Doing::One => {}
            Doing::Many => claimed = Some(self.owner.abandon()),
            Doing::Again => self.of.queues.end(self.me),
        }
        let index = self.poller.abandon(claimed, panic);
        self.free_slot();
        self.stop(index);
        true
    }

    /// The stop of the loop has moved: drops waiting items behind the stop. At the first stop the
    /// worker lists the items of all slots. Later, when the worker has nothing else to do, it
    /// visits only the listed items behind the stop. So a series of errors at falling indices costs
    /// logarithmic time per item.
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
            // The slot may hold another item now. The worker that suspended the other item may just
            // have failed to take the slot. So this worker lists the other item.
            let put_back = |item| behind.push((item, number));
            if let Some(mut slot) = queues.take_behind(number, self.seen, put_back) {
                self.poller.clear(&mut slot);
                queues.end(self.me);
                self.own_slots.push(slot);
            }
        }
    }

    /// This worker is about to suspend the item at `index`, in slot `number`. Lists the item in
    /// `behind`.
    fn note_waiting(&mut self, index: usize, number: usize) {
        /// Below this length, `behind` keeps items that no longer wait.
        const FEWEST: usize = 64;
        if self.cleared == usize::MAX {
            return; // the first stop will find the item in its slot
        }
        if self.behind.len() >= FEWEST.max(2 * self.behind_before) {
            self.behind = self.of.queues.items().collect();
            self.behind_before = self.behind.len();
        }
        self.behind.push((index, number));
    }

    /// The worker has slept. If this worker is the caller, it may have woken up on the CPU of a
    /// helper.
    fn wake_up(&mut self) {
        let now = Instant::now();
        self.own_report.report.asleep += now - self.now;
        self.now = now;
        self.of.plan.look_around(now);
    }
}

/// The worker's activity when user code panics.
enum Doing {
    /// The worker begins a single item, or runs no item.
    One,
    /// The worker claims and begins several items.
    Many,
    /// The worker polls an item that has waited.
    Again,
}

/// Claims the next item, if one is left.
fn claim_one(owner: &mut Owner<'_>) -> Option<usize> {
    if owner.left() == 0 {
        return None;
    }
    let mut claimed = None;
    let ((), contested) = owner.claim(1, 1, |claims| claimed = claims.next());
    if contested { owner.resolve(1).next() } else { claimed.map(|claimed| claimed.start) }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::pool::supply::{Fence, range::Attempt};

    #[test]
    fn an_item_whose_claim_is_contested_is_claimed() {
        let ranges = Ranges::new(2, Fence::Symmetric);
        ranges.partition(0..8, &[8]);
        let ((mut owner, _), (mut thief, _)) = (ranges.enter(0), ranges.enter(1));
        assert!(matches!(thief.try_steal(0, &mut |_| Some(4)), Attempt::Done(4)));
        assert_eq!(claim_one(&mut owner), Some(1));
    }
}
