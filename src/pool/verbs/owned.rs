//! Items by value: they are moved out of a vector or an array, each once, to whoever claims it, and
//! what nobody has claimed when the loop is over is dropped.

#![allow(unsafe_code)] // moves items out of the memory of another value

use std::{
    fmt,
    marker::PhantomData,
    mem::{self, MaybeUninit},
    ops::{Bound, Range, RangeBounds},
    ptr,
};

use super::{
    chain::{Chain, Each, IntoChain, Makes, Pieces, Source, base, itself},
    state::Stateless,
};
use crate::{
    pool::call::ending::discard,
    sync::{AtomicUsize, Mutex, Ordering, lock},
};

/// The source of a `Vec`, a boxed slice or an array by value, and of [`drain`]: a loop over it is
/// given the items themselves.
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
/// Each item is moved out once, without a copy of the whole. Items that no closure has been given,
/// since the loop has panicked, has stopped at an error or was cancelled, are dropped before the
/// call returns: those of a claim by its worker, the others by the caller. A panic of such a drop
/// is lost. The memory itself is freed when the loop is over.
///
/// The pool remembers what a loop cost by its place in the program text and the number of its
/// items, not by their address, which is another one each time.
pub struct Owned<H: Holder> {
    /// Does not drop the items.
    holder: H,
    len: usize,
    noted: AllClaimed,
}

/// What holds items that are given away: made by [`IntoChain`](crate::source::IntoChain) and
/// [`drain`]. Sealed.
#[doc(hidden)]
pub trait Holder: sealed::Sealed {
    /// An item.
    type Item;

    /// Where the items lie.
    #[doc(hidden)]
    fn first(&self) -> *const Self::Item;
}

impl<T> Holder for Vec<T> {
    type Item = T;

    fn first(&self) -> *const T {
        self.as_ptr()
    }
}

/// Not `ManuallyDrop`: that must not be moved any more when a box in it is gone.
impl<T, const N: usize> Holder for MaybeUninit<[T; N]> {
    type Item = T;

    fn first(&self) -> *const T {
        self.as_ptr().cast()
    }
}

/// A part of a `Vec` whose items are given away: made by [`drain`].
#[doc(hidden)]
pub struct Drained<'a, T> {
    /// As long as what lies before the part.
    vec: &'a mut Vec<T>,
    /// How many items lie in the part, and behind it.
    part: usize,
    behind: usize,
}

impl<T> fmt::Debug for Drained<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drained").field("items", &self.part).finish_non_exhaustive()
    }
}

impl<T> Holder for Drained<'_, T> {
    type Item = T;

    fn first(&self) -> *const T {
        // SAFETY: what lies before the part ends within the vector's memory.
        unsafe { self.vec.as_ptr().add(self.vec.len()) }
    }
}

/// Gives away the items of `range` by value, and takes them out of the vector; those behind it move
/// up when the loop is over.
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
/// If what this returns is never dropped ([`mem::forget`]), the items of the range and those behind
/// it are lost, but none is there twice.
///
/// # Panics
/// If the range ends before it begins, or lies not within the vector.
pub fn drain<T: Send>(vec: &mut Vec<T>, range: impl RangeBounds<usize>) -> Owned<Drained<'_, T>> {
    let len = vec.len();
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1).expect("a range that begins"),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1).expect("a range that ends"),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "drain: {start}..{end} of a vector of {len} items");
    // SAFETY: there are at least as many. From here on the vector knows nothing of the others.
    unsafe { vec.set_len(start) };
    Owned::new(Drained { vec, part: end - start, behind: len - end }, end - start)
}

impl<T> Drop for Drained<'_, T> {
    fn drop(&mut self) {
        let Self { ref mut vec, part, behind } = *self;
        let room = vec.spare_capacity_mut().as_mut_ptr();
        // SAFETY: the room begins with the part, and goes on with the items behind it.
        let from = unsafe { room.add(part) };
        // SAFETY: *whole*: 1. both lie within the vector's memory; 2. nothing is left in the part,
        // so what was behind it is there once.
        unsafe { ptr::copy(from, room, behind) };
        // SAFETY: so many items follow now.
        unsafe { vec.set_len(vec.len() + behind) };
    }
}

impl<T> Owned<Vec<T>> {
    pub(crate) fn vec(mut items: Vec<T>) -> Self {
        let len = items.len();
        // SAFETY: none is enough. From here on the vector is memory, no more.
        unsafe { items.set_len(0) };
        Self::new(items, len)
    }
}

impl<T, const N: usize> Owned<MaybeUninit<[T; N]>> {
    pub(crate) fn array(items: [T; N]) -> Self {
        Self::new(MaybeUninit::new(items), N)
    }
}

impl<H: Holder> Owned<H> {
    const MUST_BE_DROPPED: bool = mem::needs_drop::<H::Item>();

    fn new(holder: H, len: usize) -> Self {
        Self { holder, len, noted: AllClaimed::default() }
    }

    /// The items at the indices of `range`, which now belong to what is returned.
    ///
    /// # Safety
    /// No index is requested twice.
    #[inline(always)]
    unsafe fn moved_out(&self, range: Range<usize>) -> MovedOut<'_, H::Item> {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: *inside*: there are `len` items, so this is one of them or their end.
        let next = unsafe { self.holder.first().add(range.start) };
        MovedOut { next, left: range.len(), memory: PhantomData }
    }
}

// SAFETY: *once*: 1. a shared `Owned` gives each item to one thread, since each index is had at
// most once (`Source::items`); 2. that thread may be any, hence `Send`; 3. what has been noted is
// locked.
unsafe impl<H: Holder<Item: Send>> Sync for Owned<H> {}

impl<H: Holder> Drop for Owned<H> {
    fn drop(&mut self) {
        if Self::MUST_BE_DROPPED {
            for unclaimed in self.noted.gaps(self.len) {
                // SAFETY: *once*: nobody has noted that he would request these, and nobody else
                // will.
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

impl<H: Holder> Chain for Owned<H> {
    type Item = H::Item;
    base!();
}

impl<H: Holder> Each for Owned<H> {}

itself!([H: Holder] Owned<H>);

impl<H: Holder> Source for Owned<H> {
    fn count(&self) -> usize {
        self.len
    }

    /// The same of all: the next loop is over other memory.
    fn address(&self) -> usize {
        0
    }

    type Ledger<'s>
        = Ledger<'s, H::Item>
    where
        Self: 's;

    #[inline(always)]
    fn ledger(&self) -> Ledger<'_, H::Item> {
        Ledger::new(&self.noted)
    }

    #[inline(always)]
    fn note(&self, ledger: &mut Ledger<'_, H::Item>, range: Range<usize>) {
        ledger.note(range);
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = H::Item> + DoubleEndedIterator {
        // SAFETY: as promised.
        unsafe { self.moved_out(range) }
    }
}

/// A piece is a `Vec` of its own.
impl<H: Holder> Pieces for Owned<H> {
    type Piece = Vec<H::Item>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Vec<H::Item> {
        let len = range.len();
        // SAFETY: as promised.
        unsafe { self.moved_out(range) }.next_few(len)
    }

    #[inline(always)]
    unsafe fn pieces(
        &self,
        range: Range<usize>,
        size: usize,
    ) -> impl ExactSizeIterator<Item = Vec<H::Item>> + DoubleEndedIterator {
        // SAFETY: as promised.
        InPieces { items: unsafe { self.moved_out(range) }, size }
    }
}

/// Items that have been claimed. Those that are not asked for are dropped.
struct MovedOut<'s, T> {
    next: *const T,
    left: usize,
    memory: PhantomData<&'s [T]>,
}

impl<T> MovedOut<'_, T> {
    /// So many of them, but not more than there are, as a `Vec`.
    fn next_few(&mut self, most: usize) -> Vec<T> {
        let count = most.min(self.left);
        let mut few = Vec::with_capacity(count);
        // SAFETY: 1. there are so many, and room for as many; 2. the room is new memory.
        unsafe { ptr::copy_nonoverlapping(self.next, few.as_mut_ptr(), count) };
        // SAFETY: they have just been written.
        unsafe { few.set_len(count) };
        // SAFETY: they have been moved out, and others or none follow.
        self.next = unsafe { self.next.add(count) };
        self.left -= count;
        few
    }
}

impl<T> Iterator for MovedOut<'_, T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: there was one left; it is read once, since the next one follows.
        let item = unsafe { self.next.read() };
        // SAFETY: it was an item, so there is another behind it, or the end.
        self.next = unsafe { self.next.add(1) };
        Some(item)
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    /// No item goes through an `Option` here. (There LLVM moved strings in two pieces that it had
    /// just written as three, with a stall: 12 ns an item instead of 7.)
    #[inline(always)]
    fn fold<A, F: FnMut(A, T) -> A>(mut self, mut acc: A, mut f: F) -> A {
        while self.left > 0 {
            self.left -= 1;
            // SAFETY: there was one left; it is read once, since the next one follows.
            let item = unsafe { self.next.read() };
            // SAFETY: it was an item, so there is another behind it, or the end.
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
        // SAFETY: there was one more left.
        let last = unsafe { self.next.add(self.left) };
        // SAFETY: it is an item, and read once, since there is one less left now.
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

/// Claimed items in pieces of `size`; the last may be shorter.
struct InPieces<'s, T> {
    items: MovedOut<'s, T>,
    size: usize,
}

impl<T> Iterator for InPieces<'_, T> {
    type Item = Vec<T>;

    fn next(&mut self) -> Option<Vec<T>> {
        (self.items.left > 0).then(|| self.items.next_few(self.size))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let pieces = self.items.left.div_ceil(self.size);
        (pieces, Some(pieces))
    }
}

impl<T> DoubleEndedIterator for InPieces<'_, T> {
    fn next_back(&mut self) -> Option<Vec<T>> {
        let before = self.items.left.checked_sub(1)? / self.size * self.size;
        let few = self.items.left - before;
        // SAFETY: so many are left before the last piece.
        let next = unsafe { self.items.next.add(before) };
        self.items.left = before;
        Some(MovedOut { next, left: few, memory: PhantomData }.next_few(few))
    }
}

impl<T> ExactSizeIterator for InPieces<'_, T> {}

/// Which items have been claimed.
#[derive(Default)]
struct AllClaimed {
    /// How many ledgers have not been handed in. Relaxed: it is read by the owner of them all.
    open: AtomicUsize,
    claimed: Mutex<DisjointRuns>,
}

impl AllClaimed {
    /// What was not claimed, if all ledgers are there; otherwise nothing, since it is not known.
    fn gaps(&mut self, len: usize) -> Vec<Range<usize>> {
        if self.open.load(Ordering::Relaxed) > 0 {
            return Vec::new();
        }
        mem::take(&mut *lock(&self.claimed)).gaps(len)
    }
}

/// What one worker has claimed of items that must be dropped. It is handed in when it is dropped,
/// however the worker ends.
#[derive(Debug)]
pub struct Ledger<'s, T> {
    to: &'s AllClaimed,
    /// The latest run of neighbouring items.
    run: Range<usize>,
    of: PhantomData<fn() -> T>,
}

impl fmt::Debug for AllClaimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllClaimed").finish_non_exhaustive()
    }
}

impl<'s, T> Ledger<'s, T> {
    #[inline(always)]
    fn new(to: &'s AllClaimed) -> Self {
        if mem::needs_drop::<T>() {
            to.open.fetch_add(1, Ordering::Relaxed);
        }
        Self { to, run: 0..0, of: PhantomData }
    }

    #[inline(always)]
    fn note(&mut self, range: Range<usize>) {
        if !mem::needs_drop::<T>() {
            return;
        }
        if range.start == self.run.end {
            self.run.end = range.end;
        } else if range.end == self.run.start {
            self.run.start = range.start;
        } else {
            self.hand_in(range);
        }
    }

    #[cold]
    #[inline(never)]
    fn hand_in(&mut self, next: Range<usize>) {
        let run = mem::replace(&mut self.run, next);
        if !run.is_empty() {
            lock(&self.to.claimed).add(run);
        }
    }
}

impl<T> Drop for Ledger<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            self.hand_in(0..0);
            self.to.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Disjoint runs of neighbouring items. The first needs no memory of its own: often there is no
/// other, since what is stolen lies beside what is not.
#[derive(Debug, Default)]
struct DisjointRuns {
    first: Range<usize>,
    others: Vec<Range<usize>>,
}

impl DisjointRuns {
    fn add(&mut self, run: Range<usize>) {
        if self.first.is_empty() {
            self.first = run;
        } else if run.start == self.first.end {
            self.first.end = run.end;
        } else if run.end == self.first.start {
            self.first.start = run.start;
        } else {
            self.others.push(run);
        }
    }

    /// What of the first `len` items is in no run, in order.
    fn gaps(self, len: usize) -> Vec<Range<usize>> {
        if self.first == (0..len) {
            return Vec::new();
        }
        let mut runs = self.others;
        runs.extend([self.first, len..len]);
        runs.sort_unstable_by_key(|run| (run.start, run.end));
        let mut end = 0;
        let gap = |run: Range<usize>| {
            let gap = end..run.start.min(len);
            end = end.max(run.end);
            gap
        };
        runs.into_iter().map(gap).filter(|gap| !gap.is_empty()).collect()
    }
}

/// The items themselves: see [`Owned`].
impl<T> IntoChain for Vec<T> {
    type Chain = Owned<Self>;

    fn into_chain(self) -> Owned<Self> {
        Owned::vec(self)
    }
}

/// The items themselves: see [`Owned`].
impl<T> IntoChain for Box<[T]> {
    type Chain = Owned<Vec<T>>;

    fn into_chain(self) -> Owned<Vec<T>> {
        Owned::vec(self.into_vec())
    }
}

/// The items themselves: see [`Owned`].
impl<T, const N: usize> IntoChain for [T; N] {
    type Chain = Owned<MaybeUninit<Self>>;

    fn into_chain(self) -> Owned<MaybeUninit<Self>> {
        Owned::array(self)
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for Vec<T> {}
    impl<T, const N: usize> Sealed for std::mem::MaybeUninit<[T; N]> {}
    impl<T> Sealed for super::Drained<'_, T> {}
}
