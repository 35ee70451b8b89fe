//! Items that wait: which of them have been woken, who goes on with them, and who sleeps meanwhile.
//! `src/pool/README.md` proves that no wake-up is lost and that each future is polled by one worker
//! at a time; the comments here refer to its cases 11 to 15.
//!
//! An item that is not done has a *slot*, of which there are as many as items may be under way at
//! a time. Who has the [`Slot`] may poll its item, or begin one if it is free. A slot whose item
//! waits belongs to nobody, until a waker takes it and puts it into the list of the woken.
//!
//! Nothing here borrows, or knows a future or an item. So a waker may outlive the loop.

#![allow(unused_qualifications)] // builds for tests have steps of their own

use std::{
    collections::VecDeque,
    mem,
    sync::Arc,
    task::{Wake, Waker},
};

use crossbeam_utils::CachePadded;

use super::slab::Slab;
#[cfg(any(test, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(test, planted)))]
use crate::pool::protocol::hub as steps;
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
pub(crate) struct Hub {
    desk: CachePadded<Mutex<Desk>>,
    /// One per worker.
    bells: Box<[Condvar]>,
    /// The last slot that was woken, or `EMPTY`, or `WATCHED`. See [`Record::next`].
    woken: CachePadded<AtomicUsize>,
    /// How many woken slots are on the desk. A hint: Relaxed.
    queued: AtomicUsize,
    /// How many woken items there must be for a worker to be rung by another one, which is awake
    /// anyway. A hint: Relaxed.
    worth: AtomicUsize,
    /// Items at this index and behind it are not needed any more.
    stop: AtomicUsize,
    records: Slab<CachePadded<Record>>,
    limit: usize,
}

/// Nobody has been woken.
const EMPTY: usize = 0;
/// The same, and who wakes the next one has to ring.
const WATCHED: usize = 1;
/// What stands for slot 0 in a list; the others follow.
const FIRST: usize = 2;

/// What the workers share under the lock.
#[derive(Debug)]
pub(crate) struct Desk {
    /// Woken slots, in the order in which they were woken.
    ready: VecDeque<Slot>,
    /// Slots that were in use and are free.
    free: Vec<Slot>,
    /// How many slots have ever been in use.
    used: usize,
    rests: Box<[Rest]>,
    /// How many workers sleep.
    sleepers: usize,
}

impl Desk {
    fn set_rest(&mut self, worker: usize, rest: Rest) {
        let before = mem::replace(&mut self.rests[worker], rest);
        self.sleepers += usize::from(rest != Rest::Awake);
        self.sleepers -= usize::from(before != Rest::Awake);
    }

    /// A worker that is to be rung: it does not count as asleep any more, so nobody else rings it.
    pub(crate) fn rouse(&mut self, which: impl Fn(Rest) -> bool) -> Option<usize> {
        if self.sleepers == 0 {
            return None;
        }
        let worker = self.rests.iter().position(|&rest| rest != Rest::Awake && which(rest))?;
        self.set_rest(worker, Rest::Awake);
        Some(worker)
    }

    pub(crate) fn rouse_all(&mut self) {
        self.rests.fill(Rest::Awake);
        self.sleepers = 0;
    }
}

/// Whether a worker sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    Awake,
    Asleep,
    /// It would begin an item if it had a slot.
    Hungry,
}

/// What is known of a slot by its number.
#[derive(Debug)]
struct Record {
    /// `TAKEN` and `WOKEN`.
    state: AtomicUsize,
    /// The slot that was woken before this one: a list that begins at [`Hub::woken`]. Written by
    /// who has taken the slot and puts it into the list. Relaxed: the list is ordered by `woken`.
    next: AtomicUsize,
    /// The index of the item that waits here. Written by who has the slot. Relaxed: who takes the
    /// slot afterwards sees it by way of `state`; before that it is a hint.
    item: AtomicUsize,
    /// The worker that has polled it last. Likewise.
    last: AtomicUsize,
}

/// Somebody has the slot: a worker, the list of the woken, or the desk.
pub(crate) const TAKEN: usize = 1;
/// Its item was woken since it was last polled.
pub(crate) const WOKEN: usize = 2;

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

impl Hub {
    /// For a loop of so many workers that has at most `limit` items under way.
    pub(crate) fn new(workers: usize, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            desk: CachePadded::new(Mutex::new(Desk {
                ready: VecDeque::new(),
                free: Vec::new(),
                used: 0,
                rests: (0..workers).map(|_| Rest::Awake).collect(),
                sleepers: 0,
            })),
            bells: (0..workers).map(|_| Condvar::new()).collect(),
            woken: CachePadded::new(AtomicUsize::new(EMPTY)),
            queued: AtomicUsize::new(0),
            worth: AtomicUsize::new(1),
            stop: AtomicUsize::new(usize::MAX),
            records: Slab::new(),
            limit,
        })
    }

    fn record(&self, number: usize) -> &Record {
        self.records.get(number, || {
            CachePadded::new(Record {
                state: AtomicUsize::new(TAKEN),
                next: AtomicUsize::new(EMPTY),
                item: AtomicUsize::new(0),
                last: AtomicUsize::new(0),
            })
        })
    }

    /// What wakes the item in a slot, this one and all later ones.
    pub(crate) fn waker(self: &Arc<Self>, slot: &Slot) -> Waker {
        Waker::from(Arc::new(Ticket { hub: Arc::clone(self), number: slot.0 }))
    }

    /// How many items may be under way at a time.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// About how many items have been woken and wait for a worker.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed) + usize::from(self.woken.load(Ordering::Relaxed) >= FIRST)
    }

    /// A worker is rung by another one if there are so many items for it.
    pub(crate) fn set_worth(&self, items: usize) {
        if self.worth.load(Ordering::Relaxed) != items {
            self.worth.store(items, Ordering::Relaxed);
        }
    }

    fn worth(&self) -> usize {
        self.worth.load(Ordering::Relaxed)
    }

    /// How many slots are in use, by items or in the hands of workers, and how many have ever been.
    pub(crate) fn under_way(&self) -> (usize, usize) {
        let desk = lock(&self.desk);
        (desk.used - desk.free.len(), desk.used)
    }

    /// Where the loop stops.
    pub(crate) fn stop(&self) -> usize {
        self.stop.load(Ordering::Acquire) // partner: `stop_at`
    }

    /// Stops the loop at `place`, and makes all workers look.
    pub(crate) fn stop_at(&self, place: usize) {
        self.stop.fetch_min(place, Ordering::AcqRel); // partner: `stop`
        let mut desk = steps::lock_to_ring(self); // case 13
        desk.rouse_all();
        drop(desk);
        self.notify_all();
    }

    /// Lets go of the item at index `item`, which waits in `slot`. If it has been woken meanwhile,
    /// it is in the list of the woken.
    pub(crate) fn suspend(&self, slot: Slot, me: usize, item: usize) {
        let record = self.record(slot.0);
        record.item.store(item, Ordering::Relaxed);
        record.last.store(me, Ordering::Relaxed);
        if !steps::lets_go(&record.state) {
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

    /// Takes a slot from number `from` on whose item waits and is not needed, since the loop stops
    /// at `stop`. (Those that have been woken come by themselves.)
    pub(crate) fn take_behind(&self, stop: usize, from: &mut usize) -> Option<Slot> {
        let used = lock(&self.desk).used;
        while *from < used {
            let (number, record) = (*from, self.record(*from));
            *from += 1;
            if record.item.load(Ordering::Relaxed) >= stop && steps::takes(&record.state) {
                let (slot, item) = (Slot(number), record.item.load(Ordering::Relaxed));
                if item >= stop {
                    return Some(slot);
                }
                let last = record.last.load(Ordering::Relaxed);
                self.suspend(slot, last, item); // another item has it by now
            }
        }
        None
    }

    /// Wakes the item in slot `number`.
    fn wake(&self, number: usize) {
        if steps::wakes(&self.record(number).state) {
            self.push(Slot(number));
        }
    }

    /// Puts `slot` into the list of the woken.
    fn push(&self, Slot(number): Slot) {
        let record = self.record(number);
        let mut before = self.woken.load(Ordering::Relaxed);
        loop {
            record.next.store(before, Ordering::Relaxed);
            // Release, also of what others have put there, since this is no plain store. Partner:
            // `fetch`.
            let put =
                self.woken.compare_exchange_weak(before, number + FIRST, Ordering::AcqRel, Ordering::Relaxed);
            match put {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        if before == WATCHED {
            self.ring();
        }
    }

    /// Rings a worker that sleeps, if one does.
    #[cold]
    fn ring(&self) {
        let mut desk = steps::lock_to_ring(self); // case 13
        let who = desk.rouse(|_| true);
        drop(desk);
        self.notify(who);
    }

    fn notify(&self, worker: Option<usize>) {
        if let Some(worker) = worker {
            self.bells[worker].notify_one();
        }
    }

    pub(crate) fn notify_all(&self) {
        self.bells.iter().for_each(Condvar::notify_one);
    }

    /// Takes the list of the woken to the desk. Whoever wakes the next one has to ring if a worker
    /// sleeps and one item is worth it.
    fn fetch(&self, desk: &mut Desk) {
        let empty = steps::emptied(desk.sleepers > 0 && self.worth() <= 1);
        let mut last = self.woken.load(Ordering::Relaxed);
        if last < FIRST && (last == empty || empty == EMPTY) {
            return;
        }
        last = self.woken.swap(empty, Ordering::Acquire); // partner: `push`
        let before = desk.ready.len();
        while last >= FIRST {
            let slot = Slot(last - FIRST);
            last = self.record(slot.0).next.load(Ordering::Relaxed);
            desk.ready.push_back(slot);
        }
        desk.ready.make_contiguous()[before..].reverse();
        self.tell_queued(desk);
    }

    fn tell_queued(&self, desk: &Desk) {
        self.queued.store(desk.ready.len(), Ordering::Relaxed);
    }

    /// What worker `me` does next; and whether it has slept before. `hand` are its slots, all free.
    /// `begins`: it would begin items. `seen`: where the loop stops, as far as it knows.
    pub(crate) fn next(&self, me: usize, hand: &mut Vec<Slot>, begins: bool, seen: usize) -> (Next, bool) {
        let mut desk = lock(&self.desk);
        let kept = hand.len().min(usize::from(begins));
        desk.free.extend(hand.drain(kept..));
        let mut slept = false;
        let next = loop {
            self.fetch(&mut desk);
            if let Some(slot) = desk.ready.pop_front() {
                self.tell_queued(&desk);
                break Next::Resume(slot);
            }
            if begins && let Some(slot) = hand.pop().or_else(|| steps::free_slot(&mut desk, self.limit)) {
                break Next::Begin(slot);
            }
            if self.stop() != seen {
                break Next::Look;
            }
            if !begins && desk.free.len() == desk.used {
                break Next::Leave;
            }
            desk.set_rest(me, if begins { Rest::Hungry } else { Rest::Asleep });
            if steps::watches(&self.woken) {
                self.notify(steps::who_is_fed(&mut desk, self.limit));
                desk = wait(&self.bells[me], desk);
                slept = true;
            }
            desk.set_rest(me, Rest::Awake);
        };
        if let Next::Leave = next {
            steps::let_all_go(self, desk);
        } else {
            let helps =
                |desk: &mut Desk| if desk.ready.len() >= self.worth() { desk.rouse(|_| true) } else { None };
            let who = helps(&mut desk).or_else(|| steps::who_is_fed(&mut desk, self.limit));
            drop(desk);
            self.notify(who);
        }
        (next, slept)
    }
}

/// What wakes the item in a slot.
#[derive(Debug)]
struct Ticket {
    hub: Arc<Hub>,
    number: usize,
}

impl Wake for Ticket {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.hub.wake(self.number);
    }
}

/// An item is woken. True: it waited, and now its slot belongs to the caller.
///
/// This writes even if the item has been woken before: what the caller has done must be seen by the
/// poll to come (case 12). Partners: `poll_again` and, for what the last poll has left, `lets_go`.
#[inline(always)]
pub(crate) fn wakes(state: &AtomicUsize) -> bool {
    state.fetch_or(TAKEN | WOKEN, Ordering::AcqRel) & TAKEN == 0
}

/// The item is about to be polled again: what happened before it was woken has happened. Not a
/// store, so that what later wakers do is seen, too. Partner: `wakes`.
#[inline(always)]
pub(crate) fn poll_again(state: &AtomicUsize) {
    state.swap(TAKEN, Ordering::Acquire);
}

/// The item is not done. True: it waits from now on; false: it has been woken since it was polled.
/// Partners: `wakes`, `takes`.
#[inline(always)]
pub(crate) fn lets_go(state: &AtomicUsize) -> bool {
    state.compare_exchange(TAKEN, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Takes an item that waits, unless somebody has it. Partner: `lets_go`.
#[inline(always)]
pub(crate) fn takes(state: &AtomicUsize) -> bool {
    state.fetch_or(TAKEN, Ordering::AcqRel) & TAKEN == 0
}

/// A worker is about to sleep. True: whoever wakes the next item rings. False: one has been woken.
/// Relaxed: who rings locks the desk, which the caller holds.
#[inline(always)]
pub(crate) fn watches(woken: &AtomicUsize) -> bool {
    let watched = woken.compare_exchange(EMPTY, WATCHED, Ordering::Relaxed, Ordering::Relaxed);
    watched.is_ok() || watched == Err(WATCHED)
}

/// What the list of the woken is to be after it was taken to the desk.
#[inline(always)]
pub(crate) fn emptied(is_watched: bool) -> usize {
    if is_watched { WATCHED } else { EMPTY }
}

/// The lock without which nobody is rung: who is about to sleep has either looked after what the
/// caller has done, or sleeps and is rung.
#[inline(always)]
pub(crate) fn lock_to_ring(hub: &Hub) -> MutexGuard<'_, Desk> {
    lock(&hub.desk)
}

/// A slot in which an item can begin.
#[inline(always)]
pub(crate) fn free_slot(desk: &mut Desk, limit: usize) -> Option<Slot> {
    desk.free.pop().or_else(|| {
        let number = desk.used;
        (number < limit).then(|| {
            desk.used += 1;
            Slot(number)
        })
    })
}

/// The worker that is to be rung since there is a slot for it.
#[inline(always)]
pub(crate) fn who_is_fed(desk: &mut Desk, limit: usize) -> Option<usize> {
    let has_slot = !desk.free.is_empty() || desk.used < limit;
    if has_slot { desk.rouse(|rest| rest == Rest::Hungry) } else { None }
}

/// Nothing is left: everybody may leave.
#[inline(always)]
pub(crate) fn let_all_go(hub: &Hub, mut desk: MutexGuard<'_, Desk>) {
    let is_alone = desk.sleepers == 0;
    desk.rouse_all();
    drop(desk);
    if !is_alone {
        hub.notify_all();
    }
}
