//! The wake queues of a loop whose items wait. They hold the woken items, and record which workers
//! sleep. `src/pool/README.md` proves that no wake-up is lost, and that at most one worker polls a
//! future at any moment. The comments here refer to its cases 11 to 15.
//!
//! An item that has begun and is not done has a *slot*. The number of slots limits the number of
//! items under way. The holder of a [`Slot`] may poll the item of that slot, or begin an item if
//! the slot is free. A slot whose item waits has no holder, until a waker takes it and puts it into
//! the run queue of the worker that polled the item last. A worker first empties its own run queue,
//! then takes half of another run queue. [`Parked`] has the sleeping workers and the free slots. A
//! worker that always finds woken items does not lock `Parked`.
//!
//! Nothing here borrows anything, or contains a future or an item. So a waker may outlive the loop.

use std::{
    collections::VecDeque,
    iter, mem,
    sync::Arc,
    task::{Wake, Waker},
};

use crossbeam_utils::CachePadded;

use super::slab::Slab;
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, lock, wait};

/// The right to a slot. At most one `Slot` exists for each number (case 11).
#[derive(Debug)]
pub(crate) struct Slot(usize);

impl Slot {
    pub(crate) fn number(&self) -> usize {
        self.0
    }
}

/// The wake queues of one loop, where workers meet the threads that wake its items.
#[derive(Debug)]
pub(crate) struct WakeQueues {
    /// One for each worker.
    queues: Box<[CachePadded<RunQueue>]>,
    parked: CachePadded<Mutex<Parked>>,
    pub(crate) hints: CachePadded<Hints>,
    /// The items from this index on are not needed any more.
    stop: AtomicUsize,
    records: Slab<CachePadded<Record>>,
    /// The maximum number of items under way.
    pub(crate) limit: usize,
}

/// The run queue of one worker: the woken items whose last poll was by this worker. Also, the
/// condition variable on which this worker sleeps.
#[derive(Debug, Default)]
struct RunQueue {
    /// The slot that was woken last, or `EMPTY`, or `WATCHED`. See [`Record::next`].
    woken: AtomicUsize,
    /// The slots that workers have moved here from `woken`, in the order of their wake-ups.
    ready: Mutex<VecDeque<Slot>>,
    /// The length of `ready`. A hint: Relaxed.
    queued: AtomicUsize,
    /// How many items this worker has suspended for the first time. Written only by this worker. A
    /// count that orders nothing: Relaxed.
    suspended: AtomicUsize,
    /// How many items this worker has ended after they had waited. Ordered like `suspended`.
    ended: AtomicUsize,
    /// Its owner sleeps on this, with the lock of `Parked`.
    unparked: Condvar,
}

/// No item has been woken. The first value of [`RunQueue::woken`].
const EMPTY: usize = 0;
/// No item has been woken, and the waker of the next item must unpark a worker.
const WATCHED: usize = 1;
/// The word for slot 0 in a list. The other slots follow.
const FIRST_SLOT: usize = 2;

/// The state that the workers share under the lock: parked workers and free slots.
#[derive(Debug, Default)]
struct Parked {
    /// Free slots that were in use before.
    free: Vec<Slot>,
    /// The number of slots that were ever in use.
    used: usize,
    /// The number of slots that may be in use.
    limit: usize,
    park_states: Box<[ParkState]>,
    /// The number of workers in the loop.
    present: usize,
}

/// Hints: copies of values of [`Parked`] that workers, and the policy, read without the lock.
/// Written under the lock, except `worth`.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    /// The number of workers that sleep. Relaxed: a thread that must see a sleeper sees it through
    /// the lock of a run queue (case 13).
    sleepers: AtomicUsize,
    /// The number of sleeping workers that want a slot. Ordered like `sleepers`.
    wants_slot: AtomicUsize,
    /// The number of slots that can still be given out. A hint: Relaxed.
    spare: AtomicUsize,
    /// The number of woken items for which it is worth unparking a worker while another worker is
    /// awake. A hint: Relaxed.
    worth: AtomicUsize,
}

/// Whether a worker sleeps.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum ParkState {
    Awake,
    Asleep,
    /// It sleeps, and would begin an item if it had a slot.
    WantsSlot,
}

/// The record of a slot, by its number.
#[derive(Debug, Default)]
struct Record {
    /// `SCHEDULED` and `NOTIFIED`.
    state: AtomicUsize,
    /// The slot that was woken before this slot, encoded as in [`RunQueue::woken`]: the next entry
    /// of the list that begins in that word. The thread that has taken the slot writes this when it
    /// puts the slot into the list. Relaxed: `woken` orders the list.
    next: AtomicUsize,
    /// The index of the item that waits in this slot. Written by the holder of the slot. Relaxed:
    /// the next holder sees this through `state`; for other threads it is a hint.
    item: AtomicUsize,
    /// The worker whose poll of the item was the last one. Ordered like `item`.
    last: AtomicUsize,
}

/// The slot has a holder: a worker, a run queue, or [`Parked`].
const SCHEDULED: usize = 1;
/// The item was woken after its last poll began.
const NOTIFIED: usize = 2;

/// Whether a worker would begin an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// The worker begins no item: none is left to begin.
    Nothing,
    /// The worker begins an item if no item has been woken.
    Later,
    /// If a slot is free, the worker begins an item before it polls a woken item.
    First,
}

/// The next step of a worker.
#[derive(Debug)]
pub(crate) enum Next {
    /// Poll the item in this slot, which was woken.
    Resume(Slot),
    /// Begin an item in this slot.
    Begin(Slot),
    /// Check for items to drop: the loop stops at another index.
    Look,
    /// Leave: nothing is left to do.
    Leave,
}

impl RunQueue {
    /// Whether the list `woken` has a slot.
    fn has_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed) >= FIRST_SLOT
    }

    /// Makes the run queue watched. Returns false if an item has been woken. Otherwise the waker of
    /// the next item unparks a worker. Relaxed: a parking worker holds the lock of `Parked`, and
    /// the waker that replaces this word takes that lock afterwards. After its list was taken, a
    /// run queue is watched again only if a worker sleeps.
    #[inline(always)]
    fn try_watch(&self) -> bool {
        let watched = self.woken.compare_exchange(EMPTY, WATCHED, Ordering::Relaxed, Ordering::Relaxed);
        watched.is_ok() || watched == Err(WATCHED)
    }
}

impl Record {
    /// Records that an item is woken. Returns true if the item waited; then its slot belongs to the
    /// calling thread.
    ///
    /// This writes even if the item was woken before, because the next poll must see the earlier
    /// writes of the calling thread (case 12). Partners: `poll_again`; `try_suspend`, for the
    /// writes of the last poll.
    #[inline(always)]
    fn try_schedule(&self) -> bool {
        self.state.fetch_or(SCHEDULED | NOTIFIED, Ordering::AcqRel) & SCHEDULED == 0
    }

    /// To be called before the next poll of a woken item: the poll then sees all writes before the
    /// wake-up. This is a read-modify-write and not a store, so that the poll also sees the writes
    /// of every further waker. Partner: `try_schedule`.
    #[inline(always)]
    fn poll_again(&self) {
        self.state.swap(SCHEDULED, Ordering::Acquire);
    }

    /// Suspends an item that is not done. Returns false if the item was woken since its poll began;
    /// the calling thread then keeps the slot. Partners: `try_schedule`, `try_take`.
    #[inline(always)]
    fn try_suspend(&self) -> bool {
        self.state.compare_exchange(SCHEDULED, 0, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Takes the slot of an item that waits. Returns false if the slot has a holder. Partner:
    /// `try_suspend`.
    #[inline(always)]
    fn try_take(&self) -> bool {
        self.state.fetch_or(SCHEDULED, Ordering::Acquire) & SCHEDULED == 0
    }
}

/// Adds one to a count that only the calling thread writes.
fn count(count: &AtomicUsize) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Parked {
    /// The number of slots that can still be given out.
    fn spare(&self) -> usize {
        self.free.len() + self.limit.saturating_sub(self.used)
    }

    /// A free slot, in which an item can begin.
    #[inline(always)]
    fn free_slot(&mut self) -> Option<Slot> {
        self.free.pop().or_else(|| {
            let number = self.used;
            self.used = self.limit.min(number + 1);
            (number < self.limit).then_some(Slot(number))
        })
    }

    /// The worker to unpark because a slot is free for it.
    #[inline(always)]
    fn sleeper_for_slot(&mut self, hints: &Hints) -> Option<usize> {
        if self.spare() > 0 { self.take_sleeper(0, ParkState::WantsSlot, hints) } else { None }
    }

    /// The number of workers in the state `least` or in a state behind it.
    fn count(&self, least: ParkState) -> usize {
        self.park_states.iter().filter(|park| **park >= least).count()
    }

    fn set_park_state(&mut self, worker: usize, park: ParkState, hints: &Hints) {
        self.park_states[worker] = park;
        self.update(hints);
    }

    /// Updates the hints about sleeping workers.
    fn update(&self, hints: &Hints) {
        hints.sleepers.store(self.count(ParkState::Asleep), Ordering::Relaxed);
        hints.wants_slot.store(self.count(ParkState::WantsSlot), Ordering::Relaxed);
    }

    /// Chooses a worker to unpark whose state is `least` or behind it; prefers worker `first`. The
    /// chosen worker counts as awake from now on, so no other thread unparks it.
    fn take_sleeper(&mut self, first: usize, least: ParkState, hints: &Hints) -> Option<usize> {
        let mut all = iter::once(first).chain(0..self.park_states.len());
        let worker = all.find(|&worker| self.park_states[worker] >= least)?;
        self.set_park_state(worker, ParkState::Awake, hints);
        Some(worker)
    }

    fn mark_all_awake(&mut self, hints: &Hints) {
        self.park_states.fill(ParkState::Awake);
        self.update(hints);
    }
}

impl WakeQueues {
    /// The wake queues of a loop of `workers` workers with at most `limit` items under way.
    pub(crate) fn new(workers: usize, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            queues: (0..workers).map(|_| CachePadded::default()).collect(),
            parked: CachePadded::new(Mutex::new(Parked {
                limit,
                park_states: vec![ParkState::Awake; workers].into(),
                ..Parked::default()
            })),
            hints: CachePadded::new(Hints {
                spare: AtomicUsize::new(limit),
                worth: AtomicUsize::new(1),
                ..Hints::default()
            }),
            stop: AtomicUsize::new(usize::MAX),
            records: Slab::new(),
            limit,
        })
    }

    fn record(&self, number: usize) -> &Record {
        self.records.get(number, || {
            CachePadded::new(Record { state: AtomicUsize::new(SCHEDULED), ..Record::default() })
        })
    }

    /// The waker of the items in a slot: the current item and all later ones.
    pub(crate) fn waker(self: &Arc<Self>, slot: &Slot) -> Waker {
        Waker::from(Arc::new(SlotWaker { queues: Arc::clone(self), number: slot.0 }))
    }

    /// A worker enters the loop.
    pub(crate) fn come(&self) {
        lock(&self.parked).present += 1;
    }

    /// About how many woken items the run queue of worker `me` has.
    pub(crate) fn queued(&self, me: usize) -> usize {
        let queue = &self.queues[me];
        queue.queued.load(Ordering::Relaxed) + usize::from(queue.has_woken())
    }

    /// Sets for how many woken items it is worth unparking a worker while another worker is awake.
    pub(crate) fn set_worth(&self, items: usize) {
        let worth = &self.hints.worth;
        if worth.load(Ordering::Relaxed) != items {
            worth.store(items, Ordering::Relaxed);
        }
    }

    /// About how many slots can still be given out.
    pub(crate) fn spare(&self) -> usize {
        self.hints.spare.load(Ordering::Relaxed)
    }

    pub(crate) fn sleepers(&self) -> usize {
        self.hints.sleepers.load(Ordering::Relaxed)
    }

    /// The number of items that wait, and the number of slots that were ever in use.
    pub(crate) fn under_way(&self) -> (usize, usize) {
        let sum = |of: fn(&RunQueue) -> &AtomicUsize| -> usize {
            self.queues.iter().map(|queue| of(queue).load(Ordering::Relaxed)).sum()
        };
        let (ended, used) = (sum(|queue| &queue.ended), lock(&self.parked).used);
        (sum(|queue| &queue.suspended).saturating_sub(ended), used)
    }

    /// The index where the loop stops; `usize::MAX` if it does not.
    pub(crate) fn stop(&self) -> usize {
        self.stop.load(Ordering::Acquire) // partner: `stop_at`
    }

    /// Stops the loop at `index`, and makes all workers check for items to drop.
    pub(crate) fn stop_at(&self, index: usize) {
        self.stop.fetch_min(index, Ordering::Release); // partner: `stop`
        // Case 13. Takes the lock even if no worker seems to sleep: a worker that has not seen the
        // stop may be about to sleep.
        self.unpark_all(lock(&self.parked));
    }

    /// Suspends the item at index `item`, which waits in `slot` for the first time.
    pub(crate) fn suspend_first(&self, slot: Slot, me: usize, item: usize) {
        count(&self.queues[me].suspended);
        self.suspend(slot, me, item);
    }

    /// Suspends the item at index `item`, which waits in `slot`. If it has been woken in the
    /// meantime, its slot goes into a run queue.
    pub(crate) fn suspend(&self, slot: Slot, me: usize, item: usize) {
        let record = self.record(slot.0);
        record.item.store(item, Ordering::Relaxed);
        record.last.store(me, Ordering::Relaxed);
        if !record.try_suspend() {
            self.push(slot);
        }
    }

    /// Prepares the next poll of the woken item of `slot` by worker `me`. Returns the index of the
    /// item, and whether another worker polled it last.
    pub(crate) fn resume(&self, slot: &Slot, me: usize) -> (usize, bool) {
        let record = self.record(slot.0);
        record.poll_again();
        (record.item.load(Ordering::Relaxed), record.last.load(Ordering::Relaxed) != me)
    }

    /// Counts an item that worker `me` has ended after the item had waited.
    pub(crate) fn end(&self, me: usize) {
        count(&self.queues[me].ended);
    }

    /// The last item that waited in each slot, with the number of the slot.
    pub(crate) fn items(&self) -> impl Iterator<Item = (usize, usize)> {
        let used = lock(&self.parked).used;
        (0..used).map(|number| (self.record(number).item.load(Ordering::Relaxed), number))
    }

    /// Takes slot `number` if its item waits and is not needed, since the loop stops at `stop`.
    /// (This function leaves out woken items: workers find them in the run queues.) If the slot
    /// contains a needed item by now, this function passes the index of that item to `put_back`,
    /// and suspends the item again.
    pub(crate) fn take_behind(
        &self,
        number: usize,
        stop: usize,
        put_back: impl FnOnce(usize),
    ) -> Option<Slot> {
        let record = self.record(number);
        if record.item.load(Ordering::Relaxed) < stop || !record.try_take() {
            return None;
        }
        // Before the slot was taken, an item before the stop may have begun in it.
        let (slot, item) = (Slot(number), record.item.load(Ordering::Relaxed));
        if item >= stop {
            return Some(slot);
        }
        let last = record.last.load(Ordering::Relaxed);
        put_back(item);
        self.suspend(slot, last, item);
        None
    }

    /// Puts a slot into the run queue of the worker that polled the item of the slot last.
    fn push(&self, Slot(number): Slot) {
        let record = self.record(number);
        let queue = record.last.load(Ordering::Relaxed);
        // Release. Since this is a read-modify-write, it also continues the release sequences of
        // earlier stores by other threads. Partner: `lock_ready`.
        let put = self.queues[queue].woken.fetch_update(Ordering::Release, Ordering::Relaxed, |before| {
            record.next.store(before, Ordering::Relaxed);
            Some(number + FIRST_SLOT)
        });
        if put == Ok(WATCHED) {
            self.unpark(queue);
        }
    }

    /// Unparks a sleeping worker, if there is one: the owner of this queue if it sleeps, otherwise
    /// another worker.
    #[cold]
    fn unpark(&self, queue: usize) {
        // Case 13. Every unparking thread needs this lock. So a parking worker either checks after
        // the writes of this thread, or it already sleeps, and this thread notifies it.
        let mut parked = lock(&self.parked);
        let who = parked.take_sleeper(queue, ParkState::Asleep, &self.hints);
        drop(parked);
        self.notify(who);
    }

    /// Unparks all sleeping workers.
    fn unpark_all(&self, mut parked: MutexGuard<'_, Parked>) {
        let has_sleepers = parked.count(ParkState::Asleep) > 0;
        parked.mark_all_awake(&self.hints);
        drop(parked);
        if has_sleepers {
            self.notify_all();
        }
    }

    fn notify(&self, worker: Option<usize>) {
        if let Some(worker) = worker {
            self.queues[worker].unparked.notify_one();
        }
    }

    fn notify_all(&self) {
        self.queues.iter().for_each(|queue| queue.unparked.notify_one());
    }

    /// Locks `ready` of run queue `number`, and moves the list `woken` there. `None` if no item
    /// seems to be woken.
    fn lock_ready(&self, number: usize) -> Option<MutexGuard<'_, VecDeque<Slot>>> {
        let queue = &self.queues[number];
        if !queue.has_woken() && queue.queued.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut ready = lock(&queue.ready);
        if !queue.has_woken() {
            return Some(ready);
        }
        let mut last = queue.woken.swap(EMPTY, Ordering::Acquire); // partner: `push`
        let before = ready.len();
        while last >= FIRST_SLOT {
            let slot = Slot(last - FIRST_SLOT);
            last = self.record(slot.0).next.load(Ordering::Relaxed);
            ready.push_back(slot);
        }
        // The list begins with the latest wake-up. Reverse it.
        let mut new = ready.range_mut(before..);
        while let (Some(front), Some(back)) = (new.next(), new.next_back()) {
            mem::swap(front, back);
        }
        Some(ready)
    }

    /// Unlocks `ready` of run queue `number` after taking or adding items. If a worker sleeps,
    /// unparks a worker if the items that are left are worth that. If a single item is worth that,
    /// also makes the next waker unpark a worker.
    fn unlock_ready(&self, number: usize, ready: MutexGuard<'_, VecDeque<Slot>>) {
        let (queue, left) = (&self.queues[number], ready.len());
        queue.queued.store(left, Ordering::Relaxed);
        drop(ready);
        if self.sleepers() == 0 {
            return;
        }
        let worth = self.hints.worth.load(Ordering::Relaxed);
        let is_missed = worth <= 1 && !queue.try_watch();
        if left >= worth || is_missed {
            self.unpark(number);
        }
    }

    /// The next woken item of the run queue of worker `me`.
    fn take(&self, me: usize) -> Option<Slot> {
        let mut ready = self.lock_ready(me)?;
        let slot = ready.pop_front();
        self.unlock_ready(me, ready);
        slot
    }

    /// Takes the older half of another run queue: returns its first slot, and moves the others to
    /// the own queue.
    fn steal(&self, me: usize) -> Option<Slot> {
        let workers = self.queues.len();
        (me + 1..workers).chain(0..me).find_map(|victim| {
            let mut ready = self.lock_ready(victim)?;
            let half = ready.len().div_ceil(2);
            let mut stolen = ready.drain(..half);
            let slot = stolen.next();
            let others: Vec<Slot> = stolen.collect();
            self.unlock_ready(victim, ready);
            if !others.is_empty() {
                let mut own = lock(&self.queues[me].ready);
                own.extend(others);
                self.unlock_ready(me, own);
            }
            slot
        })
    }

    /// The next step of worker `me`, and whether the worker has parked before this step.
    /// `own_slots` are the free slots of the worker. `begins`: whether the worker would begin an
    /// item. `cleared`: the stop behind which the worker has dropped all items.
    pub(crate) fn next(
        &self,
        me: usize,
        own_slots: &mut Vec<Slot>,
        begins: Begins,
        cleared: usize,
    ) -> (Next, bool) {
        let (is_first, may_begin) = (begins == Begins::First, begins != Begins::Nothing);
        let mut slept = false;
        loop {
            if is_first && let Some(slot) = self.slot(own_slots) {
                return (Next::Begin(slot), slept);
            }
            if self.hints.wants_slot.load(Ordering::Relaxed) > 0 && own_slots.len() > usize::from(may_begin) {
                self.give_back(own_slots, usize::from(may_begin));
            }
            let resumed = self.take(me).map(Next::Resume);
            let begun = || may_begin.then(|| self.slot(own_slots)).flatten().map(Next::Begin);
            let next = resumed.or_else(begun).or_else(|| self.steal(me).map(Next::Resume));
            if let Some(next) = next.or_else(|| self.park(me, own_slots, may_begin, cleared)) {
                return (next, slept);
            }
            slept = true;
        }
    }

    /// Takes one of `own_slots`, or else a free slot. If many slots are free, also moves a few of
    /// them into `own_slots`.
    fn slot(&self, own_slots: &mut Vec<Slot>) -> Option<Slot> {
        /// The maximum number of slots that a worker takes at once.
        const FEW: usize = 8;
        /// A worker takes at most this fraction of the slots in use: 1/16.
        const PART: usize = 16;
        let own = own_slots.pop();
        if own.is_some() || self.spare() == 0 {
            return own;
        }
        let mut parked = lock(&self.parked);
        let fair = parked.spare() / (2 * self.queues.len());
        let more = FEW.min(parked.used / PART).min(fair).saturating_sub(1);
        let slot = parked.free_slot();
        own_slots.extend((0..more).map_while(|_| parked.free_slot()));
        self.update_spare(&parked);
        slot
    }

    fn update_spare(&self, parked: &Parked) {
        self.hints.spare.store(parked.spare(), Ordering::Relaxed);
    }

    /// Gives all slots except the first `kept` slots back, because another worker wants a slot.
    #[cold]
    fn give_back(&self, own_slots: &mut Vec<Slot>, kept: usize) {
        let mut parked = lock(&self.parked);
        parked.free.extend(own_slots.drain(kept..));
        let who = parked.sleeper_for_slot(&self.hints);
        self.update_spare(&parked);
        drop(parked);
        self.notify(who);
    }

    /// Parks the worker, unless there is something to do by now. Returns `None` after the worker
    /// has slept, or if it must look for items again.
    fn park(&self, me: usize, own_slots: &mut Vec<Slot>, may_begin: bool, cleared: usize) -> Option<Next> {
        let mut parked = lock(&self.parked);
        parked.free.append(own_slots);
        let slot = if may_begin { parked.free_slot() } else { None };
        self.update_spare(&parked);
        if let Some(slot) = slot {
            return Some(Next::Begin(slot));
        }
        if self.stop() != cleared {
            return Some(Next::Look);
        }
        if !may_begin && parked.free.len() == parked.used {
            parked.present -= 1;
            self.unpark_all(parked); // nothing is left, so they may leave
            return Some(Next::Leave);
        }
        let park_state = if may_begin { ParkState::WantsSlot } else { ParkState::Asleep };
        parked.set_park_state(me, park_state, &self.hints);
        // If all workers sleep, or if it is worth unparking a worker for one item, every waker must
        // unpark a worker.
        let watches = parked.count(ParkState::Asleep) == parked.present
            || self.hints.worth.load(Ordering::Relaxed) <= 1;
        if !watches || self.watches() {
            self.notify(parked.sleeper_for_slot(&self.hints));
            parked = wait(&self.queues[me].unparked, parked);
        }
        parked.set_park_state(me, ParkState::Awake, &self.hints);
        None
    }

    /// Makes every run queue watched, for a worker that has recorded that it sleeps. Returns false
    /// if an item has been woken. Otherwise the waker of the next item unparks a worker.
    ///
    /// Checks each queue under the lock of the queue, so that a thread that later takes items from
    /// it sees that a worker sleeps.
    #[inline(always)]
    fn watches(&self) -> bool {
        self.queues.iter().all(|queue| {
            let ready = lock(&queue.ready);
            ready.is_empty() && queue.try_watch()
        })
    }
}

/// The waker of the items in one slot.
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
        let Self { queues, number } = &**self;
        if queues.record(*number).try_schedule() {
            queues.push(Slot(*number));
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::*;

    /// Worker 0 has left. Worker 1 is the only worker in the loop, and sleeps.
    #[test]
    fn the_last_worker_that_is_present_is_unparked() {
        const NO_STOP: usize = usize::MAX;
        let queues = WakeQueues::new(2, 1);
        (0..2).for_each(|_| queues.come());
        assert!(matches!(queues.next(0, &mut Vec::new(), Begins::Nothing, NO_STOP).0, Next::Leave));
        queues.set_worth(2); // one item unparks a worker only if all workers sleep
        let Next::Begin(slot) = queues.next(1, &mut Vec::new(), Begins::First, NO_STOP).0 else {
            unreachable!("a slot is free")
        };
        let waker = queues.waker(&slot);
        queues.suspend_first(slot, 1, 0);
        let (of_worker, (resumes, is_resumed)) = (Arc::clone(&queues), mpsc::channel());
        let worker = thread::spawn(move || {
            let next = of_worker.next(1, &mut Vec::new(), Begins::Nothing, NO_STOP).0;
            resumes.send(matches!(next, Next::Resume(_))).unwrap();
        });
        while queues.sleepers() == 0 {
            thread::yield_now();
        }
        waker.wake();
        assert_eq!(is_resumed.recv_timeout(Duration::from_secs(10)), Ok(true));
        worker.join().unwrap();
    }
}
