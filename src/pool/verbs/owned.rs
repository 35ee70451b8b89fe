//! Items by value. The worker that claims an item moves it out of the vector or the array. Items
//! that no worker has claimed are dropped when the loop is over.

#![allow(unsafe_code)] // moves items out of the memory of another value

use std::{
    fmt,
    marker::PhantomData,
    mem::{self, MaybeUninit},
    ops::{Bound, Range, RangeBounds},
    ptr,
};

use super::{
    chain::{Chain, Each, IntoChain, Source, base, begins_a_chain, itself},
    kernel::Claim,
    pieces::Pieces,
    state::Stateless,
};
use crate::{
    pool::engine::ending::discard,
    sync::{AtomicUsize, Mutex, Ordering, lock},
};

/// The source of a `Vec`, a boxed slice or an array by value, and of [`drain`]: closures receive
/// the items themselves.
///
/// ```
/// let pool = rangesteal::Pool::new()?;
/// let names = vec![String::from("Ann"), String::from("Bob")];
/// let greetings = pool.on(names).map(|mut name| {
///     name.insert_str(0, "Dear ");
///     name
/// }).collect::<Vec<_>>();
/// assert_eq!(greetings, ["Dear Ann", "Dear Bob"]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// Each item is moved out once; the container is not copied. If the loop panics, stops at an error
/// or is cancelled, the items that no closure has received are dropped before the call returns. A
/// worker drops the items that it has claimed, and the caller drops all unclaimed items. A panic of
/// such a drop is discarded. The memory of the container is freed when the loop is over.
///
/// The pool remembers the cost of such a loop by two things: the loop's place in the program text,
/// and the number of items. The address of the items is not used, since it differs from loop to
/// loop.
pub struct Owned<H: Holder> {
    /// The container. Its own drop does not drop the items.
    holder: H,
    len: usize,
    noted: AllClaimed,
}

/// A container whose items are moved out. Made by [`IntoChain`](crate::source::IntoChain) and
/// [`drain`]. Sealed.
#[doc(hidden)]
pub trait Holder: sealed::Sealed {
    /// The type of an item.
    type Item;

    /// The address of the first item.
    #[doc(hidden)]
    fn first(&self) -> *const Self::Item;
}

impl<T> Holder for Vec<T> {
    type Item = T;

    fn first(&self) -> *const T {
        self.as_ptr()
    }
}

/// `MaybeUninit` is used because a `ManuallyDrop` must not be moved after a box in it has been
/// dropped.
impl<T, const N: usize> Holder for MaybeUninit<[T; N]> {
    type Item = T;

    fn first(&self) -> *const T {
        self.as_ptr().cast()
    }
}

/// The part of a `Vec` whose items are moved out. Made by [`drain`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Drained<'a, T> {
    /// The vector. Its length is set to the number of items before the part.
    vec: &'a mut Vec<T>,
    /// The number of items in the part.
    part: usize,
    /// The number of items behind the part.
    behind: usize,
}

impl<T> Holder for Drained<'_, T> {
    type Item = T;

    fn first(&self) -> *const T {
        // SAFETY: the items before the part end within the vector's memory.
        unsafe { self.vec.as_ptr().add(self.vec.len()) }
    }
}

/// A source that takes the items of `range` out of the vector, by value. When the loop is over, the
/// items behind the range move to the front of the gap.
///
/// ```
/// use rangesteal::{Pool, source};
///
/// let pool = Pool::new()?;
/// let mut queue = vec![String::from("a"), String::from("b"), String::from("c")];
/// let taken = pool.on(source::drain(&mut queue, ..2)).map(|name| name + "!").collect::<Vec<_>>();
/// assert_eq!((taken, queue), (vec!["a!".to_owned(), "b!".to_owned()], vec!["c".to_owned()]));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// If the result is never dropped ([`mem::forget`]), the items of the range and the items behind it
/// leak. No item is duplicated.
///
/// # Panics
/// If the range ends before it begins, or does not lie within the vector.
#[track_caller]
pub fn drain<T: Send>(vec: &mut Vec<T>, range: impl RangeBounds<usize>) -> Owned<Drained<'_, T>> {
    let bounds = (range.start_bound().cloned(), range.end_bound().cloned());
    let (Some(part), Some(rest)) = (vec.get(bounds), vec.get((bounds.0, Bound::Unbounded))) else {
        panic!("drain: {bounds:?} of a vector of {} items", vec.len())
    };
    let (part, rest) = (part.len(), rest.len());
    // SAFETY: the vector has at least `rest` items. From here on the vector does not own its last
    // `rest` items.
    unsafe { vec.set_len(vec.len() - rest) };
    Owned::new(Drained { vec, part, behind: rest - part }, part)
}

impl<T> Drop for Drained<'_, T> {
    fn drop(&mut self) {
        let Self { ref mut vec, part, behind } = *self;
        let room = vec.spare_capacity_mut().as_mut_ptr();
        // SAFETY: the spare capacity begins with the part, and the items behind it follow.
        let from = unsafe { room.add(part) };
        // SAFETY: *whole*: 1. both ranges lie within the vector's memory; 2. no item is left in the
        // part, so the items behind it exist once.
        unsafe { ptr::copy(from, room, behind) };
        // SAFETY: `behind` items follow now.
        unsafe { vec.set_len(vec.len() + behind) };
    }
}

impl<H: Holder> Owned<H> {
    fn new(holder: H, len: usize) -> Self {
        Self { holder, len, noted: AllClaimed::default() }
    }

    /// The items at the indices of `range`. The result owns these items from now on.
    ///
    /// # Safety
    /// No index is requested twice.
    #[inline(always)]
    unsafe fn moved_out(&self, range: Range<usize>) -> MovedOut<'_, H::Item> {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: *inside*: there are `len` items, so the result is the address of an item or of
        // the end of the items.
        let next = unsafe { self.holder.first().add(range.start) };
        MovedOut { next, left: range.len(), memory: PhantomData }
    }
}

// SAFETY: *once*: 1. a shared `Owned` gives each item to one thread, since each index is requested
// at most once (`Source::items`); 2. this may be any thread, hence `Send`; 3. a mutex protects the
// notes.
unsafe impl<H: Holder<Item: Send>> Sync for Owned<H> {}

impl<H: Holder> Drop for Owned<H> {
    fn drop(&mut self) {
        if mem::needs_drop::<H::Item>() {
            for unclaimed in self.noted.gaps(self.len) {
                // SAFETY: *once*: no worker has noted these indices, and no worker is left that
                // could request them.
                drop(unsafe { self.moved_out(unclaimed) });
            }
        }
    }
}

impl<H: Holder> fmt::Debug for Owned<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").field("items", &self.len).finish_non_exhaustive()
    }
}

begins_a_chain!([H: Holder] Owned<H>, H::Item);

impl<H: Holder> Source for Owned<H> {
    fn count(&self) -> usize {
        self.len
    }

    /// The same number for all owned sources, since the next loop runs over other memory.
    fn address(&self) -> usize {
        0
    }

    const DROPS_ITEMS: bool = mem::needs_drop::<H::Item>();

    type Ledger<'s>
        = ClaimLog<'s, H::Item>
    where
        Self: 's;

    #[inline(always)]
    fn ledger(&self) -> ClaimLog<'_, H::Item> {
        if Self::DROPS_ITEMS {
            self.noted.open.fetch_add(1, Ordering::Relaxed);
        }
        ClaimLog { to: &self.noted, run: 0..0, of: PhantomData }
    }

    #[inline(always)]
    fn note(&self, ledger: &mut ClaimLog<'_, H::Item>, range: Range<usize>) {
        if !Self::DROPS_ITEMS {
            return;
        }
        if range.start == ledger.run.end {
            ledger.run.end = range.end;
        } else if range.end == ledger.run.start {
            ledger.run.start = range.start;
        } else {
            ledger.hand_in(range);
        }
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = H::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.moved_out(range) }
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = H::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { Claim::new(self, range) }.each_backward()
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> H::Item {
        debug_assert!(index < self.len);
        // SAFETY: *inside*: `index` lies within the items, as the caller promises.
        let item = unsafe { self.holder.first().add(index) };
        // SAFETY: *once*: the item is read once, since its index is requested once, as the caller
        // promises.
        unsafe { item.read() }
    }
}

/// A piece is a `Vec` of its own.
impl<H: Holder> Pieces for Owned<H> {
    type Piece = Vec<H::Item>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Vec<H::Item> {
        // SAFETY: as the caller promises.
        unsafe { self.moved_out(range) }.into_vec()
    }
}

/// Items that have been claimed. Dropping this drops the items that are left.
struct MovedOut<'s, T> {
    next: *const T,
    left: usize,
    memory: PhantomData<&'s [T]>,
}

impl<T> MovedOut<'_, T> {
    /// Moves all items to a `Vec`.
    fn into_vec(mut self) -> Vec<T> {
        let mut items = Vec::with_capacity(self.left);
        let count = mem::take(&mut self.left);
        // SAFETY: 1. `count` items were left, which are moved once, since none is left now, and the
        // vector has capacity for them; 2. its memory is new.
        unsafe { ptr::copy_nonoverlapping(self.next, items.as_mut_ptr(), count) };
        // SAFETY: `count` items have just been written.
        unsafe { items.set_len(count) };
        items
    }
}

impl<T> Iterator for MovedOut<'_, T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: an item was left; it is read once, since `next` moves on.
        let item = unsafe { self.next.read() };
        // SAFETY: `next` was the address of an item, so the address behind this item is the address
        // of an item or of the end of the items.
        self.next = unsafe { self.next.add(1) };
        Some(item)
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    /// Passes items on without an `Option`: through one, LLVM writes each string in three pieces
    /// and at once reads it in two, which stalls.
    #[inline(always)]
    fn fold<A, F: FnMut(A, T) -> A>(mut self, mut acc: A, mut f: F) -> A {
        while self.left > 0 {
            self.left -= 1;
            // SAFETY: an item was left; it is read once, since `next` moves on.
            let item = unsafe { self.next.read() };
            // SAFETY: `next` was the address of an item, so the address behind this item is the
            // address of an item or of the end of the items.
            self.next = unsafe { self.next.add(1) };
            acc = f(acc, item);
        }
        acc
    }
}

impl<T> DoubleEndedIterator for MovedOut<'_, T> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: one more item was left.
        let last = unsafe { self.next.add(self.left) };
        // SAFETY: `last` is the address of an item, which is read once, since `left` is one less
        // now.
        Some(unsafe { last.read() })
    }
}

impl<T> ExactSizeIterator for MovedOut<'_, T> {}

impl<T> Drop for MovedOut<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            self.by_ref().for_each(discard);
        }
    }
}

/// The claims of all workers.
#[derive(Debug, Default)]
struct AllClaimed {
    /// The number of claim logs that have not been handed in. Relaxed: only the owner of the whole
    /// `AllClaimed` reads this number, when no worker is left.
    open: AtomicUsize,
    /// The first run of neighbouring items that are claimed, and the other runs. The first run
    /// needs no allocation, since often there is no other run.
    claimed: Mutex<(Range<usize>, Vec<Range<usize>>)>,
}

impl AllClaimed {
    /// Adds a run of claimed items. Compiled once for all types of items.
    fn add(&self, run: Range<usize>) {
        let mut claimed = lock(&self.claimed);
        if claimed.0.is_empty() {
            claimed.0 = run;
        } else {
            claimed.1.push(run);
        }
    }

    /// The indices that no worker has claimed, in order. If a claim log is missing, these indices
    /// are not known. Then the result is empty, and items leak.
    fn gaps(&mut self, len: usize) -> Vec<Range<usize>> {
        if self.open.load(Ordering::Relaxed) > 0 {
            return Vec::new();
        }
        let (first, mut runs) = mem::take(&mut *lock(&self.claimed));
        if first == (0..len) {
            return Vec::new();
        }
        runs.extend([first, len..len]);
        runs.sort_unstable_by_key(|run| (run.start, run.end));
        let mut end = 0;
        let gaps = runs.into_iter().map(|run| mem::replace(&mut end, run.end)..run.start);
        gaps.filter(|gap| !gap.is_empty()).collect()
    }
}

/// The claim log of one worker, for items that need a drop. A claim log is handed in when it is
/// dropped, even if the worker panics.
#[derive(Debug)]
pub struct ClaimLog<'s, T> {
    to: &'s AllClaimed,
    /// The latest run of neighbouring items.
    run: Range<usize>,
    of: PhantomData<fn() -> T>,
}

impl<T> ClaimLog<'_, T> {
    /// Hands in the latest run, and begins the run `next`.
    #[cold]
    #[inline(never)]
    fn hand_in(&mut self, next: Range<usize>) {
        let run = mem::replace(&mut self.run, next);
        if !run.is_empty() {
            self.to.add(run);
        }
    }
}

impl<T> Drop for ClaimLog<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            self.hand_in(0..0);
            self.to.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The items themselves: see [`Owned`].
impl<T> IntoChain for Vec<T> {
    type Chain = Owned<Self>;

    fn into_chain(mut self) -> Owned<Self> {
        let len = self.len();
        // SAFETY: 0 is at most the length. From here on the vector owns memory and no items.
        unsafe { self.set_len(0) };
        Owned::new(self, len)
    }
}

/// The items themselves: see [`Owned`].
impl<T> IntoChain for Box<[T]> {
    type Chain = Owned<Vec<T>>;

    fn into_chain(self) -> Owned<Vec<T>> {
        self.into_vec().into_chain()
    }
}

/// The items themselves: see [`Owned`].
impl<T, const N: usize> IntoChain for [T; N] {
    type Chain = Owned<MaybeUninit<Self>>;

    fn into_chain(self) -> Owned<MaybeUninit<Self>> {
        Owned::new(MaybeUninit::new(self), N)
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for Vec<T> {}
    impl<T, const N: usize> Sealed for std::mem::MaybeUninit<[T; N]> {}
    impl<T> Sealed for super::Drained<'_, T> {}
}
