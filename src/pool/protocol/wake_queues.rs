//! Items that wait: which of them have been woken, who goes on with them, and who sleeps meanwhile.
//! `src/pool/README.md` proves that no wake-up is lost and that each future is polled by one worker
//! at a time; the comments here refer to its cases 11 to 15.
//!
//! An item that is not done has a *slot*, of which there are as many as items may be under way at a
//! time. Who has the [`Slot`] may poll its item, or begin one if it is free. A slot whose item
//! waits belongs to nobody, until a waker takes it and puts it into the queue of the worker that
//! has polled it last. A worker goes on with its own queue, and if that is empty, with half of
//! another. Workers sleep, and free slots lie, at one *parked*, which nobody needs who has enough
//! to do.
//!
//! Nothing here borrows, or knows a future or an item. So a waker may outlive the loop.

#![allow(unused_qualifications)] // builds for models take the steps from `check`

use std::{
    collections::VecDeque,
    iter, mem,
    sync::Arc,
    task::{Wake, Waker},
};

use crossbeam_utils::CachePadded;

use super::slab::Slab;
#[cfg(any(loom, shuttle, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(loom, shuttle, planted)))]
use crate::pool::protocol::wake_queues as steps;
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, lock, wait};

/// The right to a slot. There is at most one of each number at a time (case 11).
#[derive(Debug)]
pub(crate) struct Slot(usize);

impl Slot {
    pub(crate) fn number(&self) -> usize {
        self.0
    }
}

/// Where the workers of one loop meet those who wake its items.
#[derive(Debug)]
pub(crate) struct WakeQueues {
    /// One per worker.
    queues: Box<[CachePadded<RunQueue>]>,
    parked: CachePadded<Mutex<Parked>>,
    /// One per worker.
    condvars: Box<[Condvar]>,
    pub(crate) hints: CachePadded<Hints>,
    /// Items at this index and behind it are not needed any more.
    stop: AtomicUsize,
    records: Slab<CachePadded<Record>>,
    limit: usize,
}

/// The woken items of one worker: those that it has polled last.
#[derive(Debug)]
pub(crate) struct RunQueue {
    /// The last slot that was woken, or `EMPTY`, or `WATCHED`. See [`Record::next`].
    woken: AtomicUsize,
    /// Those that have been looked at, in the order in which they were woken.
    ready: Mutex<VecDeque<Slot>>,
    /// How many these are. A hint: Relaxed.
    queued: AtomicUsize,
    /// How many items the worker has let wait for the first time, and how many of those that waited
    /// it has ended. Written by the worker alone; counts, which order nothing: Relaxed.
    suspended: AtomicUsize,
    ended: AtomicUsize,
}

/// Nobody has been woken.
const EMPTY: usize = 0;
/// The same, and who wakes the next one has to unpark.
const WATCHED: usize = 1;
/// What stands for slot 0 in a list; the others follow.
const FIRST_SLOT: usize = 2;

/// What the workers share under the lock.
#[derive(Debug)]
pub(crate) struct Parked {
    /// Slots that were in use and are free.
    free: Vec<Slot>,
    /// How many slots have ever been in use.
    used: usize,
    park_states: Box<[ParkState]>,
    /// How many workers are there, and how many of them sleep.
    present: usize,
    sleepers: usize,
}

/// What is hints of the parked without the lock, and for policy. Written under the lock, except
/// `worth`.
#[derive(Debug)]
pub(crate) struct Hints {
    /// How many workers sleep, and how many of them for want of a slot. Relaxed: who has to see it
    /// sees it by way of the lock of a queue (case 13).
    sleepers: AtomicUsize,
    wants_slot: AtomicUsize,
    /// How many more slots there are. A hint: Relaxed.
    spare: AtomicUsize,
    /// How many woken items there must be for a worker to be rung while another one is awake. A
    /// hint: Relaxed.
    worth: AtomicUsize,
}

/// Whether a worker sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParkState {
    Awake,
    Asleep,
    /// It would begin an item if it had a slot.
    WantsSlot,
}

/// What is known of a slot by its number.
#[derive(Debug)]
struct Record {
    /// `SCHEDULED` and `NOTIFIED`.
    state: AtomicUsize,
    /// The slot that was woken before this one: a list that begins at [`RunQueue::woken`]. Written
    /// by who has taken the slot and puts it into the list. Relaxed: the list is ordered by
    /// `woken`.
    next: AtomicUsize,
    /// The index of the item that waits here. Written by who has the slot. Relaxed: who takes
    /// the slot afterwards sees it by way of `state`; before that it is a hint.
    item: AtomicUsize,
    /// The worker that has polled it last. Likewise.
    last: AtomicUsize,
}

/// Somebody has the slot: a worker, a queue, or the parked.
pub(crate) const SCHEDULED: usize = 1;
/// Its item was woken since it was last polled.
pub(crate) const NOTIFIED: usize = 2;

/// Whether a worker would begin an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// There is none.
    Nothing,
    /// If none has been woken.
    Later,
    /// Before it goes on with one that has been woken, if there is a slot.
    First,
}

/// What a worker does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// It polls the item in this slot, which was woken.
    Resume(Slot),
    /// It begins an item in this slot.
    Begin(Slot),
    /// The loop has been stopped at another place.
    Look,
    /// Nothing is left to do.
    Leave,
}

impl RunQueue {
    fn new() -> Self {
        let zero = || AtomicUsize::new(0);
        Self {
            woken: AtomicUsize::new(EMPTY),
            ready: Mutex::new(VecDeque::new()),
            queued: zero(),
            suspended: zero(),
            ended: zero(),
        }
    }

    /// Whether an item has been woken, at a glance.
    fn has_some(&self) -> bool {
        self.woken.load(Ordering::Relaxed) >= FIRST_SLOT || self.queued.load(Ordering::Relaxed) > 0
    }

    fn tell_queued(&self, ready: &VecDeque<Slot>) {
        self.queued.store(ready.len(), Ordering::Relaxed);
    }
}

/// Adds one to a count that the caller alone writes.
fn count(count: &AtomicUsize) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Parked {
    /// How many more slots there are.
    fn spare(&self, limit: usize) -> usize {
        self.free.len() + limit.saturating_sub(self.used)
    }

    fn set_park_state(&mut self, worker: usize, park: ParkState, hints: &Hints) {
        let before = mem::replace(&mut self.park_states[worker], park);
        self.sleepers += usize::from(park != ParkState::Awake);
        self.sleepers -= usize::from(before != ParkState::Awake);
        hints.sleepers.store(self.sleepers, Ordering::Relaxed);
        let wants_slot = self.park_states.iter().filter(|&&park| park == ParkState::WantsSlot).count();
        hints.wants_slot.store(wants_slot, Ordering::Relaxed);
    }

    /// A worker that is to be rung, the `first` if it sleeps: it does not count as asleep any more,
    /// so nobody else rings it.
    pub(crate) fn take_sleeper(
        &mut self,
        first: usize,
        hints: &Hints,
        which: impl Fn(ParkState) -> bool,
    ) -> Option<usize> {
        if self.sleepers == 0 {
            return None;
        }
        let sleeps = |park: ParkState| park != ParkState::Awake && which(park);
        let all = iter::once(first).chain(0..self.park_states.len());
        let worker = all.into_iter().find(|&worker| sleeps(self.park_states[worker]))?;
        self.set_park_state(worker, ParkState::Awake, hints);
        Some(worker)
    }

    pub(crate) fn mark_all_awake(&mut self, hints: &Hints) {
        self.park_states.fill(ParkState::Awake);
        self.sleepers = 0;
        hints.sleepers.store(0, Ordering::Relaxed);
        hints.wants_slot.store(0, Ordering::Relaxed);
    }
}

impl WakeQueues {
    /// For a loop of so many workers that has at most `limit` items under way.
    pub(crate) fn new(workers: usize, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            queues: (0..workers).map(|_| CachePadded::new(RunQueue::new())).collect(),
            parked: CachePadded::new(Mutex::new(Parked {
                free: Vec::new(),
                used: 0,
                park_states: (0..workers).map(|_| ParkState::Awake).collect(),
                present: 0,
                sleepers: 0,
            })),
            condvars: (0..workers).map(|_| Condvar::new()).collect(),
            hints: CachePadded::new(Hints {
                sleepers: AtomicUsize::new(0),
                wants_slot: AtomicUsize::new(0),
                spare: AtomicUsize::new(limit),
                worth: AtomicUsize::new(1),
            }),
            stop: AtomicUsize::new(usize::MAX),
            records: Slab::new(),
            limit,
        })
    }

    fn record(&self, number: usize) -> &Record {
        self.records.get(number, || {
            CachePadded::new(Record {
                state: AtomicUsize::new(SCHEDULED),
                next: AtomicUsize::new(EMPTY),
                item: AtomicUsize::new(0),
                last: AtomicUsize::new(0),
            })
        })
    }

    /// What wakes the item in a slot, this one and all later ones.
    pub(crate) fn waker(self: &Arc<Self>, slot: &Slot) -> Waker {
        Waker::from(Arc::new(SlotWaker { queues: Arc::clone(self), number: slot.0 }))
    }

    /// How many items may be under way at a time.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// A worker comes.
    pub(crate) fn come(&self) {
        lock(&self.parked).present += 1;
    }

    /// About how many items of worker `me` have been woken.
    pub(crate) fn queued(&self, me: usize) -> usize {
        let queue = &self.queues[me];
        queue.queued.load(Ordering::Relaxed) + usize::from(queue.woken.load(Ordering::Relaxed) >= FIRST_SLOT)
    }

    /// A worker is rung while another one is awake if there are so many items for it.
    pub(crate) fn set_worth(&self, items: usize) {
        let worth = &self.hints.worth;
        if worth.load(Ordering::Relaxed) != items {
            worth.store(items, Ordering::Relaxed);
        }
    }

    /// About how many more slots there are.
    pub(crate) fn spare(&self) -> usize {
        self.hints.spare.load(Ordering::Relaxed)
    }

    fn worth(&self) -> usize {
        self.hints.worth.load(Ordering::Relaxed)
    }

    pub(crate) fn sleepers(&self) -> usize {
        self.hints.sleepers.load(Ordering::Relaxed)
    }

    /// How many items wait, and how many slots have ever been in use.
    pub(crate) fn under_way(&self) -> (usize, usize) {
        let sum = |of: fn(&RunQueue) -> &AtomicUsize| -> usize {
            self.queues.iter().map(|queue| of(queue).load(Ordering::Relaxed)).sum()
        };
        let (ended, used) = (sum(|queue| &queue.ended), lock(&self.parked).used);
        (sum(|queue| &queue.suspended).saturating_sub(ended), used)
    }

    /// Where the loop stops.
    pub(crate) fn stop(&self) -> usize {
        self.stop.load(Ordering::Acquire) // partner: `stop_at`
    }

    /// Stops the loop at `place`, and makes all workers look.
    pub(crate) fn stop_at(&self, place: usize) {
        self.stop.fetch_min(place, Ordering::Release); // partner: `stop`
        steps::make_all_check(self); // case 13
    }

    /// Lets go of the item at index `item`, which waits in `slot` for the first time.
    pub(crate) fn suspend_first(&self, slot: Slot, me: usize, item: usize) {
        count(&self.queues[me].suspended);
        self.suspend(slot, me, item);
    }

    /// Lets go of the item at index `item`, which waits in `slot`. If it has been woken meanwhile,
    /// it is in the list of the woken.
    pub(crate) fn suspend(&self, slot: Slot, me: usize, item: usize) {
        let record = self.record(slot.0);
        record.item.store(item, Ordering::Relaxed);
        record.last.store(me, Ordering::Relaxed);
        if !steps::try_suspend(&record.state) {
            self.push(slot);
        }
    }

    /// The item of `slot`, which was woken, is to be polled by worker `me`: its index, and whether
    /// another worker has polled it before.
    pub(crate) fn resume(&self, slot: &Slot, me: usize) -> (usize, bool) {
        let record = self.record(slot.0);
        steps::poll_again(&record.state);
        (record.item.load(Ordering::Relaxed), record.last.load(Ordering::Relaxed) != me)
    }

    /// Worker `me` has ended an item that waited.
    pub(crate) fn end(&self, me: usize) {
        count(&self.queues[me].ended);
    }

    /// The last item that waited in each slot, with the number of the slot.
    pub(crate) fn items(&self) -> impl Iterator<Item = (usize, usize)> {
        let used = lock(&self.parked).used;
        (0..used).map(|number| (self.record(number).item.load(Ordering::Relaxed), number))
    }

    /// Takes slot `number` if its item waits and is not needed, since the loop stops at `stop`. (An
    /// item that has been woken comes by itself.) An item that is needed, and has the slot by now,
    /// is suspended again: `put_back` is hints its index before.
    pub(crate) fn take_behind(
        &self,
        number: usize,
        stop: usize,
        put_back: impl FnOnce(usize),
    ) -> Option<Slot> {
        let record = self.record(number);
        if record.item.load(Ordering::Relaxed) < stop || !steps::try_take(&record.state) {
            return None;
        }
        let (slot, item) = (Slot(number), record.item.load(Ordering::Relaxed));
        if steps::is_still_behind(item, stop) {
            return Some(slot);
        }
        let last = record.last.load(Ordering::Relaxed);
        put_back(item);
        self.suspend(slot, last, item);
        None
    }

    /// Wakes the item in slot `number`.
    fn wake(&self, number: usize) {
        if steps::try_schedule(&self.record(number).state) {
            self.push(Slot(number));
        }
    }

    /// Puts `slot` into the list of the woken, in the queue of who has polled it last.
    fn push(&self, Slot(number): Slot) {
        let record = self.record(number);
        let queue = record.last.load(Ordering::Relaxed);
        let woken = &self.queues[queue].woken;
        let mut before = woken.load(Ordering::Relaxed);
        loop {
            record.next.store(before, Ordering::Relaxed);
            // Release, also of what others have put there, since this is no plain store. Partner:
            // `fetch`.
            let put = woken.compare_exchange_weak(
                before,
                number + FIRST_SLOT,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match put {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        if before == WATCHED {
            self.unpark(queue);
        }
    }

    /// Rings a worker that sleeps, if one does: the owner of this queue, or another.
    #[cold]
    fn unpark(&self, queue: usize) {
        let mut parked = steps::lock_to_unpark(self); // case 13
        let who = parked.take_sleeper(queue, &self.hints, |_| true);
        drop(parked);
        self.notify(who);
    }

    /// Rings all workers that sleep.
    fn unpark_all(&self, mut parked: MutexGuard<'_, Parked>) {
        let has_sleepers = parked.sleepers > 0;
        parked.mark_all_awake(&self.hints);
        drop(parked);
        if has_sleepers {
            self.notify_all();
        }
    }

    fn notify(&self, worker: Option<usize>) {
        if let Some(worker) = worker {
            self.condvars[worker].notify_one();
        }
    }

    pub(crate) fn notify_all(&self) {
        self.condvars.iter().for_each(Condvar::notify_one);
    }

    /// Takes the list of the woken of a queue to those that are ready. Its lock is held by the
    /// caller, who then tells how many these are.
    fn fetch(&self, queue: &RunQueue, ready: &mut VecDeque<Slot>) {
        if queue.woken.load(Ordering::Relaxed) < FIRST_SLOT {
            return;
        }
        let mut last = queue.woken.swap(EMPTY, Ordering::Acquire); // partner: `push`
        let before = ready.len();
        while last >= FIRST_SLOT {
            let slot = Slot(last - FIRST_SLOT);
            last = self.record(slot.0).next.load(Ordering::Relaxed);
            ready.push_back(slot);
        }
        // Those that came last are in front.
        let mut new = ready.range_mut(before..);
        while let (Some(front), Some(back)) = (new.next(), new.next_back()) {
            mem::swap(front, back);
        }
    }

    /// After a look at the queue `number`, of whose items so many are left: rings another worker if
    /// one sleeps and they are worth it, and sees to it that the next one rings.
    fn pass_on(&self, number: usize, left: usize) {
        let worth = self.worth();
        if self.sleepers() == 0 {
            return;
        }
        let is_missed = worth <= 1 && !steps::is_watched_again(&self.queues[number].woken);
        if left >= worth || is_missed {
            self.unpark(number);
        }
    }

    /// The next woken item of the queue of worker `me`.
    fn take(&self, me: usize) -> Option<Slot> {
        let queue = &self.queues[me];
        if !queue.has_some() {
            return None;
        }
        let mut ready = lock(&queue.ready);
        self.fetch(queue, &mut ready);
        let slot = ready.pop_front();
        queue.tell_queued(&ready);
        let left = ready.len();
        drop(ready);
        self.pass_on(me, left);
        slot
    }

    /// The older half of the woken items of another queue: its first, and the others in the own
    /// queue.
    fn steal(&self, me: usize) -> Option<Slot> {
        let workers = self.queues.len();
        (me + 1..workers).chain(0..me).find_map(|victim| {
            let queue = &self.queues[victim];
            if !queue.has_some() {
                return None;
            }
            let mut ready = lock(&queue.ready);
            self.fetch(queue, &mut ready);
            let half = ready.len().div_ceil(2);
            let mut stolen = ready.drain(..half);
            let slot = stolen.next();
            let others: Vec<Slot> = stolen.collect();
            queue.tell_queued(&ready);
            let left = ready.len();
            drop(ready);
            if !others.is_empty() {
                let mut own = lock(&self.queues[me].ready);
                own.extend(others);
                self.queues[me].tell_queued(&own);
                let more = own.len();
                drop(own);
                self.pass_on(me, more);
            }
            self.pass_on(victim, left);
            slot
        })
    }

    /// What worker `me` does next; and whether it has slept before. `own_slots` are its slots, all
    /// free.
    /// `begins`: whether it would begin an item. `seen`: where the loop stops, as far as it knows.
    pub(crate) fn next(
        &self,
        me: usize,
        own_slots: &mut Vec<Slot>,
        begins: Begins,
        seen: usize,
    ) -> (Next, bool) {
        let is_first = begins == Begins::First;
        let begins = begins != Begins::Nothing;
        let mut slept = false;
        loop {
            if is_first && let Some(slot) = own_slots.pop().or_else(|| self.slot(own_slots)) {
                return (Next::Begin(slot), slept);
            }
            if self.hints.wants_slot.load(Ordering::Relaxed) > 0 && own_slots.len() > usize::from(begins) {
                self.give_back(own_slots, usize::from(begins));
            }
            if let Some(slot) = self.take(me) {
                return (Next::Resume(slot), slept);
            }
            if begins && let Some(slot) = own_slots.pop().or_else(|| self.slot(own_slots)) {
                return (Next::Begin(slot), slept);
            }
            if let Some(slot) = self.steal(me) {
                return (Next::Resume(slot), slept);
            }
            if let Some(next) = self.park(me, own_slots, begins, seen) {
                return (next, slept);
            }
            slept = true;
        }
    }

    /// A slot that nobody has, and a few more into the `own_slots` if there are many.
    fn slot(&self, own_slots: &mut Vec<Slot>) -> Option<Slot> {
        /// The most that are taken at once; and the part of those in use.
        const FEW: usize = 8;
        const PART: usize = 16;
        if self.spare() == 0 {
            return None;
        }
        let mut parked = lock(&self.parked);
        let fair = parked.spare(self.limit) / (2 * self.queues.len());
        let more = FEW.min(parked.used / PART).min(fair).saturating_sub(1);
        let slot = steps::free_slot(&mut parked, self.limit);
        own_slots.extend((0..more).map_while(|_| steps::free_slot(&mut parked, self.limit)));
        self.tell_spare(&parked);
        slot
    }

    fn tell_spare(&self, parked: &Parked) {
        self.hints.spare.store(parked.spare(self.limit), Ordering::Relaxed);
    }

    /// Gives slots back, all but some that are `kept`, since a worker wants one.
    #[cold]
    fn give_back(&self, own_slots: &mut Vec<Slot>, kept: usize) {
        let mut parked = lock(&self.parked);
        parked.free.extend(own_slots.drain(kept..));
        let who = steps::sleeper_for_slot(&mut parked, self.limit, &self.hints);
        self.tell_spare(&parked);
        drop(parked);
        self.notify(who);
    }

    /// Sleeps, unless there is something to do by now. None: it has slept, or it has to look again.
    fn park(&self, me: usize, own_slots: &mut Vec<Slot>, begins: bool, seen: usize) -> Option<Next> {
        let mut parked = lock(&self.parked);
        parked.free.append(own_slots);
        if begins && let Some(slot) = steps::free_slot(&mut parked, self.limit) {
            self.tell_spare(&parked);
            return Some(Next::Begin(slot));
        }
        self.tell_spare(&parked);
        if self.stop() != seen {
            return Some(Next::Look);
        }
        if !begins && parked.free.len() == parked.used {
            parked.present -= 1;
            steps::release_all(self, parked);
            return Some(Next::Leave);
        }
        parked.set_park_state(me, if begins { ParkState::WantsSlot } else { ParkState::Asleep }, &self.hints);
        // If nobody else is awake, or one item is worth a worker, it has to be rung for each.
        let watches = parked.sleepers == parked.present || self.worth() <= 1;
        if !watches || steps::watches(&self.queues) {
            self.notify(steps::sleeper_for_slot(&mut parked, self.limit, &self.hints));
            parked = wait(&self.condvars[me], parked);
        }
        parked.set_park_state(me, ParkState::Awake, &self.hints);
        None
    }
}

/// What wakes the item in a slot.
#[derive(Debug)]
struct SlotWaker {
    queues: Arc<WakeQueues>,
    number: usize,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.queues.wake(self.number);
    }
}

/// An item is woken. True: it waited, and now its slot belongs to the caller.
///
/// This writes even if the item has been woken before: what the caller has done must be seen by the
/// poll to come (case 12). Partners: `poll_again` and, for what the last poll has left,
/// `try_suspend`.
#[inline(always)]
pub(crate) fn try_schedule(state: &AtomicUsize) -> bool {
    state.fetch_or(SCHEDULED | NOTIFIED, Ordering::AcqRel) & SCHEDULED == 0
}

/// The item is about to be polled again: what happened before it was woken has happened. Not a
/// store, so that what later wakers do is seen, too. Partner: `try_schedule`.
#[inline(always)]
pub(crate) fn poll_again(state: &AtomicUsize) {
    state.swap(SCHEDULED, Ordering::Acquire);
}

/// The item is not done. True: it waits from now on; false: it has been woken since it was polled.
/// Partners: `try_schedule`, `try_take`.
#[inline(always)]
pub(crate) fn try_suspend(state: &AtomicUsize) -> bool {
    state.compare_exchange(SCHEDULED, 0, Ordering::Release, Ordering::Relaxed).is_ok()
}

/// Takes an item that waits, unless somebody has it. Partner: `try_suspend`.
#[inline(always)]
pub(crate) fn try_take(state: &AtomicUsize) -> bool {
    state.fetch_or(SCHEDULED, Ordering::Acquire) & SCHEDULED == 0
}

/// Whether an item that was behind the stop before its slot was taken is so now. Between the two
/// looks the slot may have been given to an item before the stop.
#[inline(always)]
pub(crate) fn is_still_behind(item: usize, stop: usize) -> bool {
    item >= stop
}

/// A worker is about to sleep, and has said so. True: whoever wakes the next item rings.
/// False: one has been woken.
///
/// It looks at each queue under its lock: who takes items from the queue afterwards sees that
/// somebody sleeps.
#[inline(always)]
pub(crate) fn watches(queues: &[CachePadded<RunQueue>]) -> bool {
    queues.iter().all(|queue| {
        let ready = lock(&queue.ready);
        ready.is_empty() && is_watched(&queue.woken)
    })
}

/// True: whoever wakes the next item of this queue rings. False: one has been woken.
/// Relaxed: who is about to sleep holds the lock of the parked, and whoever replaces this word
/// locks it afterwards.
#[inline(always)]
fn is_watched(woken: &AtomicUsize) -> bool {
    let watched = woken.compare_exchange(EMPTY, WATCHED, Ordering::Relaxed, Ordering::Relaxed);
    watched.is_ok() || watched == Err(WATCHED)
}

/// The same after a list was taken from it, while somebody sleeps.
#[inline(always)]
pub(crate) fn is_watched_again(woken: &AtomicUsize) -> bool {
    is_watched(woken)
}

/// The lock without which nobody is rung: who is about to sleep has either looked after what the
/// caller has done, or sleeps and is rung.
#[inline(always)]
pub(crate) fn lock_to_unpark(queues: &WakeQueues) -> MutexGuard<'_, Parked> {
    lock(&queues.parked)
}

/// The loop has stopped at another place, and all workers look at their items. The lock is taken
/// even if nobody seems to sleep: a worker that has not seen the stop may be about to.
#[inline(always)]
pub(crate) fn make_all_check(queues: &WakeQueues) {
    queues.unpark_all(steps::lock_to_unpark(queues));
}

/// A slot in which an item can begin.
#[inline(always)]
pub(crate) fn free_slot(parked: &mut Parked, limit: usize) -> Option<Slot> {
    parked.free.pop().or_else(|| {
        let number = parked.used;
        (number < limit).then(|| {
            parked.used += 1;
            Slot(number)
        })
    })
}

/// The worker that is to be rung since there is a slot for it.
#[inline(always)]
pub(crate) fn sleeper_for_slot(parked: &mut Parked, limit: usize, hints: &Hints) -> Option<usize> {
    if parked.spare(limit) > 0 {
        parked.take_sleeper(0, hints, |park| park == ParkState::WantsSlot)
    } else {
        None
    }
}

/// Nothing is left: everybody may leave.
#[inline(always)]
pub(crate) fn release_all(queues: &WakeQueues, parked: MutexGuard<'_, Parked>) {
    queues.unpark_all(parked);
}
