//! A list that grows: each worker pushes and pops at the top of its own deque, and a thief takes
//! the older half of another deque. `src/pool/README.md` proves that every item is taken exactly
//! once. The comments here refer to its cases 7 to 10.
//!
//! The deque mirrors the range cell: only its owner writes `top`, and `bottom` is written under the
//! lock. There are two differences. First, items lie in the memory of the deque, and a thief copies
//! them. A thief must see only written items, so `top` is stored with Release and loaded with
//! Acquire. Second, the owner keeps its newest items above `top`, where no thief sees them. A push
//! and a pop of such an item cost as much as in a `Vec`. So the owner rarely claims items below
//! `top`, and both the claim and the theft use the full fence.

#![allow(unsafe_code)] // moves items in and out of memory that two threads know

use std::{
    cell::Cell,
    mem::{self, MaybeUninit},
    ptr::{self, NonNull},
    slice,
    sync::{Arc, OnceLock},
};

use crossbeam_utils::CachePadded;

use super::worker_counts::WorkerCounts;
use crate::sync::{AtomicUsize, Mutex, Ordering, fence, lock, lock_soon};

/// Storage for items. The length of the `Vec` stays 0; `bottom` and the owner's end say which
/// entries hold items.
type Storage<T> = Vec<MaybeUninit<T>>;

/// The items that one worker has made or stolen and no worker has taken, at the entries
/// `bottom..next`. Dropping a deque leaks the items that are still in it, so take these with
/// [`left`](Self::left) first.
pub(crate) struct Deque<T> {
    ends: CachePadded<ThiefEnd<T>>,
    own: CachePadded<Owners<T>>,
}

/// The part that thieves see.
struct ThiefEnd<T> {
    /// The entry of the oldest item. Written under the lock.
    bottom: AtomicUsize,
    /// Thieves can take items below this entry. Written only by the owner.
    top: AtomicUsize,
    /// A thread that writes `bottom`, copies items out, or changes the memory holds this lock.
    memory: Mutex<Storage<T>>,
}

/// The part that only the owner uses.
struct Owners<T> {
    /// The owner's end, while the owner has not loaded it into a local variable.
    end: OwnerEnd<T>,
    /// The number of items for which there is memory.
    room: Cell<usize>,
    /// The number of newest items that the owner keeps to itself. When the owner has
    /// more than twice this number, it shows the older items.
    keeps: Cell<usize>,
    /// The number of items that the owner has folded, by its own count.
    folded: Cell<usize>,
}

/// The owner's end of a deque. While the owner folds, it holds this end in a local variable, whose
/// parts the compiler can keep in registers. Functions that are not inlined get a copy of the end
/// and return a new one, so that the compiler knows that no other thread has the address of the
/// variable. An end in shared memory is loaded and stored for each item, which takes as long as the
/// rest of `push` and `take`.
pub(crate) struct OwnerEnd<T> {
    /// The address of the memory.
    items: Cell<NonNull<T>>,
    /// The entry behind the newest item.
    next: Cell<usize>,
    /// The owner's copy of `top`. Differs from `top` while a claim is in flight.
    floor: Cell<usize>,
    /// A push at this entry, or behind it, does more than write the item.
    limit: Cell<usize>,
}

// SAFETY: *own*: 1. threads other than the owner access only `ends`, which is atomic or locked;
// `Deques::of` says who the owner is; 2. items go from thread to thread, hence `Send`.
unsafe impl<T: Send> Sync for Deque<T> {}

// SAFETY: the memory belongs to the deque, and its items may go to any thread.
unsafe impl<T: Send> Send for Deque<T> {}

impl<T> OwnerEnd<T> {
    #[inline(always)]
    pub(crate) fn copy(&self) -> Self {
        Self {
            items: self.items.clone(),
            next: self.next.clone(),
            floor: self.floor.clone(),
            limit: self.limit.clone(),
        }
    }

    /// Copies the state of `other`.
    #[inline(always)]
    pub(crate) fn set(&self, other: &Self) {
        self.items.set(other.items.get());
        self.next.set(other.next.get());
        self.floor.set(other.floor.get());
        self.limit.set(other.limit.get());
    }

    /// Adds an item at the top. At or behind the limit, `slowly` adds the item: see
    /// [`Deque::push_and_show`].
    #[inline(always)]
    pub(crate) fn push(&self, item: T, slowly: impl FnOnce(Self, T) -> Self) {
        let next = self.next.get();
        if next < self.limit.get() {
            // SAFETY: *room*: there is room up to the limit.
            unsafe { self.write(next, item) };
        } else {
            self.set(&slowly(self.copy(), item));
        }
    }

    /// # Safety
    /// The memory has room for more than `next` items.
    #[inline(always)]
    unsafe fn write(&self, next: usize, item: T) {
        // SAFETY: *room*: there is room.
        let entry = unsafe { self.items.get().add(next) };
        // SAFETY: no other thread accesses this entry: thieves copy items below `top`.
        unsafe { entry.write(item) };
        self.next.set(next + 1);
    }

    /// Whether the owner has an item to take. If the owner keeps no items, [`Deque::claim`] (the
    /// argument `claim`) claims some items that thieves can see.
    #[inline(always)]
    pub(crate) fn has_item(&self, claim: impl FnOnce(Self) -> Self) -> bool {
        if self.next.get() > self.floor.get() {
            return true;
        }
        if self.floor.get() == 0 {
            return false;
        }
        self.set(&claim(self.copy()));
        self.next.get() > 0 // otherwise all were stolen
    }

    /// Takes the newest item. Returns no `Option`: with one, LLVM would read the item in other
    /// pieces than those in which it was written, and such a read stalls.
    ///
    /// # Safety
    /// [`has_item`](Self::has_item) has returned true, and nothing has been taken since then.
    #[inline(always)]
    pub(crate) unsafe fn take(&self) -> T {
        let next = self.next.get() - 1;
        self.next.set(next);
        // SAFETY: it lies within the memory.
        let entry = unsafe { self.items.get().add(next) };
        // SAFETY: 1. `write` has written the item, or `try_steal` has copied it; 2. it lies at
        // `floor` or above, so no thief takes it, and the owner takes it once, since `next` is
        // lower now.
        unsafe { entry.read() }
    }

    /// Reverses the newest `count` items, or all items that thieves do not see if these are fewer.
    /// The setup of `slice::reverse` takes longer than the swaps of a few items.
    #[inline(always)]
    pub(crate) fn reverse(&self, count: usize) {
        let next = self.next.get();
        let count = count.min(next - self.floor.get());
        // SAFETY: it lies within the memory.
        let first = unsafe { self.items.get().add(next - count) };
        // SAFETY: the entries from `floor` to `next` hold items, which only the owner accesses.
        let mut items = unsafe { slice::from_raw_parts_mut(first.as_ptr(), count) };
        while let [low, between @ .., high] = items {
            mem::swap(low, high);
            items = between;
        }
    }

    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn pop(&self, deque: &Deque<T>) -> Option<T> {
        // SAFETY: there is one.
        self.has_item(|end| deque.claim(end)).then(|| unsafe { self.take() })
    }
}

/// For the owner alone.
impl<T> Deque<T> {
    /// An empty deque. The owner keeps all items to itself until the deque is shared.
    pub(crate) fn new() -> Self {
        let (bottom, top) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ends = ThiefEnd { bottom, top, memory: Mutex::new(Storage::new()) };
        let room = Storage::<T>::new().capacity(); // `usize::MAX` if items have no size
        let end = OwnerEnd {
            items: Cell::new(NonNull::dangling()),
            next: Cell::new(0),
            floor: Cell::new(0),
            limit: Cell::new(room),
        };
        let own = Owners { end, room: Cell::new(room), keeps: Cell::new(usize::MAX), folded: Cell::new(0) };
        Self { ends: CachePadded::new(ends), own: CachePadded::new(own) }
    }

    /// Loads the owner's end into a local variable.
    #[inline(always)]
    pub(crate) fn load(&self) -> OwnerEnd<T> {
        self.own.end.copy()
    }

    /// Stores the owner's end.
    #[inline(always)]
    pub(crate) fn store_end(&self, end: &OwnerEnd<T>) {
        self.own.end.set(end);
    }

    /// Whether the deque has no items at all, shown or kept. The owner has stored its end.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.end.next.get() == 0
    }

    /// Counts `more` items that the owner has folded.
    pub(crate) fn count(&self, more: usize) {
        self.own.folded.set(self.own.folded.get() + more);
    }

    /// Returns how many items the owner has folded since the last call of this function.
    pub(crate) fn take_count(&self) -> usize {
        self.own.folded.take()
    }

    /// Whether thieves may see items of this deque.
    pub(crate) fn is_shared(&self) -> bool {
        self.own.keeps.get() != usize::MAX
    }

    /// Whether the owner shows nearly each item at once: it never keeps three items to itself.
    #[inline(always)]
    pub(crate) fn shows_all(&self) -> bool {
        self.own.keeps.get() < 2
    }

    /// Adds an item at the top. First makes room for the item, if there is no room. If the item
    /// lies at or behind the limit, shows the items that the owner does not keep.
    pub(crate) fn push_and_show(&self, end: OwnerEnd<T>, item: T) -> OwnerEnd<T> {
        if end.next.get() == self.own.room.get() {
            self.make_room(&end, 1);
        }
        let shows = end.next.get() >= end.limit.get();
        // SAFETY: *room*: there is room for one more.
        unsafe { end.write(end.next.get(), item) };
        if shows {
            self.show(&end);
        }
        end
    }

    /// From now on the owner keeps its `newest` items to itself, and shows all others.
    pub(crate) fn keep(&self, end: OwnerEnd<T>, newest: usize) -> OwnerEnd<T> {
        if self.own.keeps.replace(newest) != newest {
            self.show(&end);
        }
        end
    }

    /// Shows thieves all items except those that the owner keeps.
    fn show(&self, end: &OwnerEnd<T>) {
        let floor = end.next.get().saturating_sub(self.own.keeps.get()).max(end.floor.get());
        if floor > end.floor.get() {
            self.ends.top.store(floor, Ordering::Release); // case 9; partner: the Acquire loads in `try_steal`
        }
        self.owns_from(end, floor);
    }

    /// From `floor` on, all items belong to the owner alone.
    fn owns_from(&self, end: &OwnerEnd<T>, floor: usize) {
        end.floor.set(floor);
        let keeps = self.own.keeps.get();
        let most = if keeps == 0 { 0 } else { floor.saturating_add(keeps.saturating_mul(2)) };
        end.limit.set(most.min(self.own.room.get()));
    }

    /// Claims some of the items that thieves can see. The owner keeps no items at this moment.
    pub(crate) fn claim(&self, end: OwnerEnd<T>) -> OwnerEnd<T> {
        let ends = &*self.ends;
        let lower = end.floor.get().saturating_sub(self.own.keeps.get().max(1));
        ends.top.store(lower, Ordering::Release); // partner: the Acquire loads in `try_steal`
        fence(Ordering::SeqCst); // case 7; partner: the fence in `try_steal`
        if ends.bottom.load(Ordering::Relaxed) > lower {
            self.resolve(&end, lower);
        } else {
            self.owns_from(&end, lower);
        }
        end
    }

    /// A thief has taken some of the items that the owner claims. Claims the items that are left,
    /// under the lock; if none are left, makes the deque empty.
    #[cold]
    fn resolve(&self, end: &OwnerEnd<T>, lower: usize) {
        let ends = &*self.ends;
        let _memory = lock_soon(&ends.memory); // case 8
        let bottom = ends.bottom.load(Ordering::Relaxed);
        let mut floor = lower.max(bottom);
        if bottom >= end.floor.get() {
            ends.bottom.store(0, Ordering::Relaxed);
            end.next.set(0);
            floor = 0;
        }
        ends.top.store(floor, Ordering::Release); // partner: the Acquire loads in `try_steal`
        self.owns_from(end, floor);
    }

    /// Makes room for at least `more` items. If the front half of the memory is free, moves all
    /// items to the front; otherwise moves them to a larger memory.
    #[cold]
    fn make_room(&self, end: &OwnerEnd<T>, more: usize) {
        const FEWEST: usize = if cfg!(loom) { 2 } else { 8 };
        let ends = &*self.ends;
        let mut memory = lock(&ends.memory); // case 8: no thief copies
        let bottom = ends.bottom.load(Ordering::Relaxed);
        let (len, room) = (end.next.get() - bottom, self.own.room.get());
        // SAFETY: the items lie in the memory from `bottom` on.
        let from = unsafe { end.items.get().add(bottom) };
        if bottom >= len.max(more).max(1) && room - len >= more {
            // SAFETY: source and target do not overlap, since at least `len` entries are free
            // before `bottom`.
            unsafe { ptr::copy_nonoverlapping(from.as_ptr(), end.items.get().as_ptr(), len) };
        } else {
            let mut larger = Storage::with_capacity((2 * len).max(len + more).max(FEWEST));
            let items = NonNull::new(larger.as_mut_ptr().cast()).expect("memory lies somewhere");
            if len > 0 {
                // SAFETY: the larger memory has room, and does not overlap the former memory.
                unsafe { ptr::copy_nonoverlapping(from.as_ptr(), items.as_ptr(), len) };
            }
            self.own.room.set(larger.capacity());
            end.items.set(items);
            *memory = larger; // the length of the former `Vec` is 0, so no item is dropped
        }
        let floor = end.floor.get() - bottom;
        ends.bottom.store(0, Ordering::Relaxed);
        ends.top.store(floor, Ordering::Release); // partner: the Acquire loads in `try_steal`
        end.next.set(len);
        self.owns_from(end, floor);
    }
}

/// For all threads.
impl<T> Deque<T> {
    /// The number of items that a thief could take, read without the lock. A hint.
    pub(crate) fn shown(&self) -> usize {
        let top = self.ends.top.load(Ordering::Relaxed);
        top.saturating_sub(self.ends.bottom.load(Ordering::Relaxed))
    }

    /// Steals the older half of the items that `victim` shows. Returns their number. The deque of
    /// the thief is empty, and its end is stored.
    pub(crate) fn try_steal(&self, victim: &Self) -> usize {
        let Owners { end, room, .. } = &*self.own;
        debug_assert!(self.is_empty(), "a worker that has items does not steal");
        let most = victim.shown().div_ceil(2);
        if most == 0 {
            return 0;
        }
        if room.get() < most {
            self.make_room(end, most); // before taking the victim's lock: no thread holds two locks
        }
        // Case 8: no other thief of this victim at the same time, and the owner moves nothing.
        let memory = lock_soon(&victim.ends.memory);
        let bottom = victim.ends.bottom.load(Ordering::Relaxed);
        let mut top = victim.ends.top.load(Ordering::Acquire); // partner: the stores of the owner
        let mut taken = 0;
        while bottom < top && taken == 0 {
            let middle = bottom + (top - bottom).div_ceil(2).min(most);
            victim.ends.bottom.store(middle, Ordering::Relaxed);
            fence(Ordering::SeqCst); // case 7; partner: the fence in `claim`
            top = victim.ends.top.load(Ordering::Acquire); // partner: the stores of the owner
            if middle <= top {
                taken = middle - bottom;
                // SAFETY: the entry lies in the victim's memory.
                let from = unsafe { memory.as_ptr().cast::<T>().add(bottom) };
                // SAFETY: 1. the items were written before `top` was stored (case 9), and the
                // victim claims none of them (case 7); 2. the thief's memory has room, and no other
                // thread sees these items yet; 3. the two deques have different memories.
                unsafe { ptr::copy_nonoverlapping(from, end.items.get().as_ptr(), taken) };
            } else {
                victim.ends.bottom.store(bottom, Ordering::Relaxed);
            }
        }
        drop(memory);
        end.next.set(taken);
        self.show(end);
        taken
    }

    /// Takes all items that are left. To be called when no other thread sees the deque any more.
    pub(crate) fn left(&mut self) -> impl Iterator<Item = T> {
        let bottom = self.ends.bottom.load(Ordering::Relaxed);
        let end = &self.own.end;
        let next = end.next.replace(0);
        end.floor.set(0);
        self.ends.bottom.store(0, Ordering::Relaxed);
        self.ends.top.store(0, Ordering::Relaxed);
        let items = end.items.get();
        (bottom..next).map(move |entry| {
            // SAFETY: it lies within the memory.
            let entry = unsafe { items.add(entry) };
            // SAFETY: the entries `bottom..next` hold items; each is taken once, since the deque is
            // empty from now on.
            unsafe { entry.read() }
        })
    }
}

/// The deques of all workers of a loop. The first belongs to the calling thread and always exists.
/// The others are made when the loop is shared.
pub(crate) struct Deques<T> {
    first: Deque<T>,
    others: OnceLock<Box<[Deque<T>]>>,
    /// Shared with a token, if the loop has one.
    worker_counts: Arc<WorkerCounts>,
}

impl<T> Deques<T> {
    pub(crate) fn new() -> Self {
        Self { first: Deque::new(), others: OnceLock::new(), worker_counts: Arc::default() }
    }

    pub(crate) fn worker_counts(&self) -> &Arc<WorkerCounts> {
        &self.worker_counts
    }

    /// The deque of worker `me`. Only that worker loads the end of this deque, or steals into it.
    ///
    /// # Panics
    /// If there is no worker `me`.
    pub(crate) fn of(&self, me: usize) -> &Deque<T> {
        match me.checked_sub(1) {
            None => &self.first,
            Some(other) => &self.others.get().expect("the list is shared")[other],
        }
    }

    /// All deques, in worker order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Deque<T>> {
        std::iter::once(&self.first).chain(self.others.get().into_iter().flatten())
    }

    /// Shares the list among `workers` workers, each of which keeps its `newest` items to itself.
    /// To be called by the calling thread, which is worker 0.
    pub(crate) fn share(&self, workers: usize, newest: usize) {
        self.others.get_or_init(|| (1..workers).map(|_| Deque::new()).collect());
        for deque in self.all() {
            deque.store_end(&deque.keep(deque.load(), newest));
        }
    }

    /// Announces that a worker leaves the loop. Returns false if items have appeared; then the
    /// worker stays.
    pub(crate) fn go(&self) -> bool {
        self.worker_counts.go();
        fence(Ordering::SeqCst); // case 10; partner: the fence in `is_missed`
        !self.all().any(|deque| deque.shown() > 0)
    }

    /// Whether a worker that has gone would now find items. The owner calls this after it has shown
    /// more items.
    pub(crate) fn is_missed(&self) -> bool {
        fence(Ordering::SeqCst); // case 10; partner: the fence in `go`
        self.worker_counts.has_gone()
    }

    /// Takes all items that are left, after the loop.
    pub(crate) fn left(&mut self) -> impl Iterator<Item = T> {
        let others = self.others.get_mut().into_iter().flatten();
        std::iter::once(&mut self.first).chain(others).flat_map(Deque::left)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Two workers that keep `keeps` items each. Worker 0 pushes `items`.
    fn two(keeps: usize, items: std::ops::Range<u32>) -> Deques<u32> {
        let deques = Deques::new();
        deques.share(2, keeps);
        push(&deques, 0, items);
        deques
    }

    fn push(deques: &Deques<u32>, me: usize, items: std::ops::Range<u32>) {
        let deque = deques.of(me);
        let end = deque.load();
        for item in items {
            end.push(item, |end, item| deque.push_and_show(end, item));
        }
        deque.store_end(&end);
    }

    fn take(deques: &Deques<u32>, me: usize, most: usize) -> Vec<u32> {
        let deque = deques.of(me);
        let end = deque.load();
        let taken = std::iter::from_fn(|| end.pop(deque)).take(most).collect();
        deque.store_end(&end);
        taken
    }

    fn try_steal(deques: &Deques<u32>, me: usize, victim: usize) -> usize {
        deques.of(me).try_steal(deques.of(victim))
    }

    #[test]
    fn the_newest_is_taken_first_and_the_older_half_is_stolen() {
        let deques = two(0, 0..7);
        assert_eq!((deques.of(0).shown(), try_steal(&deques, 1, 0)), (7, 4));
        assert_eq!((deques.of(0).shown(), deques.of(1).shown()), (3, 4));
        assert_eq!(take(&deques, 1, 9), [3, 2, 1, 0]);
        assert_eq!(take(&deques, 0, 9), [6, 5, 4]);
        assert!(deques.all().all(Deque::is_empty));
        assert_eq!(try_steal(&deques, 1, 0), 0);
    }

    #[test]
    fn what_nobody_has_seen_is_reversed() {
        let reversed = |keeps, count| {
            let deques = two(keeps, 0..7);
            let deque = deques.of(0);
            deque.load().reverse(count);
            take(&deques, 0, 9)
        };
        assert_eq!(reversed(7, 0), [6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(reversed(7, 1), [6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(reversed(7, 2), [5, 6, 4, 3, 2, 1, 0]);
        assert_eq!(reversed(7, 5), [2, 3, 4, 5, 6, 1, 0]);
        assert_eq!(reversed(7, 9), [0, 1, 2, 3, 4, 5, 6]);
        // The fifth item shows all but the newest two items.
        assert_eq!(reversed(2, 7), [3, 4, 5, 6, 2, 1, 0]);
        assert_eq!(reversed(0, 7), [6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn what_the_owner_keeps_is_not_shown() {
        for keeps in 1..10 {
            let deques = two(keeps, 0..2 * u32::try_from(keeps).unwrap());
            assert_eq!(deques.of(0).shown(), 0);
            push(&deques, 0, 100..101);
            assert_eq!(deques.of(0).shown(), keeps + 1);
            assert_eq!(take(&deques, 0, keeps + 1).len(), keeps + 1);
            let shown = deques.of(0).shown();
            assert_eq!(shown, 1, "as many are claimed as it keeps");
        }
        let deques = Deques::new();
        push(&deques, 0, 0..1000);
        assert_eq!((deques.of(0).shown(), deques.of(0).is_shared()), (0, false), "alone it keeps all");
        deques.share(3, 0);
        assert_eq!((deques.of(0).shown(), deques.of(2).shown()), (1000, 0));
        assert_eq!(take(&deques, 0, 2000).len(), 1000);
    }

    #[test]
    fn the_front_of_the_memory_is_used_again_when_half_of_it_is_free() {
        let deques = two(0, 0..8);
        let room = || deques.of(0).own.room.get();
        assert_eq!((room(), try_steal(&deques, 1, 0)), (8, 4));
        push(&deques, 0, 8..12);
        assert_eq!(room(), 8, "moved to the front");
        push(&deques, 0, 12..13);
        assert_eq!(room(), 16, "moved to a larger memory");
        assert_eq!(take(&deques, 0, 99), (4..13).rev().collect::<Vec<_>>());
        assert_eq!(take(&deques, 1, 99), [3, 2, 1, 0]);
    }

    #[test]
    fn what_is_left_is_there_once() {
        let mut deques = two(3, 0..20);
        assert_eq!(try_steal(&deques, 1, 0), 8);
        let mut left: Vec<u32> = deques.left().collect();
        left.sort_unstable();
        assert_eq!(left, (0..20).collect::<Vec<_>>());
        assert_eq!(deques.left().count(), 0);
    }

    #[test]
    fn who_has_gone_is_called_once() {
        let deques = two(0, 0..0);
        let call = || deques.worker_counts().come_back();
        assert!(!deques.is_missed() && !call());
        assert!(deques.go() && deques.is_missed());
        assert_eq!([call(), call()], [true, false]);
        push(&deques, 0, 0..1);
        assert!(!deques.go(), "there is something");
        assert!(call() && !deques.is_missed());
    }
}
