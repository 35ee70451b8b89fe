//! Running totals: the inclusive and the exclusive scan of a slice in place, and of a chain into a
//! `Vec`.
//!
//! All workers claim blocks in ascending order, as in a search. The *front* is an index: the total
//! of all items before the front is known. If a worker's block begins at the front, the worker
//! scans the block in one pass. Otherwise the worker reduces the block to a total. When the front
//! reaches such a block, one call of the operator gives the total behind the block, and the front
//! moves to the end of the block. A worker then scans the block in a second pass, while the block
//! is still in a cache. On two threads every third block takes two passes, so a scan takes two
//! thirds of the plain loop's time. On `n` threads a scan takes `2 / (n + 1)` times the plain
//! loop's time. A worker never waits for the front: it claims the next block.
//!
//! If the items come from a chain, a worker makes the items of its block piece by piece at their
//! final places, and scans or reduces each piece at once, while the piece is in a cache.
//!
//! Source: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA
//! Technical Report NVR-2016-002. In that paper each block looks back at its predecessors. Here one
//! worker moves the front over all blocks that are reduced.

#![expect(clippy::option_option, reason = "not cancelled, and not empty; or there, and not empty")]

use std::{convert::Infallible, mem, ops::Range, sync::PoisonError};

use super::{
    chain::{Chain, Each},
    kernel::SourceClaims,
    on::On,
    options::{Ending, OnPool},
    places::{ResultPlaces, Written, append_in_place},
    runs::{DoneRun, DoneRuns},
    source::Exclusive,
};
use crate::{
    pool::{engine::ending::Outcome, policy::site::LoopKind},
    sync::{AtomicUsize, Mutex, Ordering, lock},
};

/// In items: a worker makes at most this many items of a chain before it scans or reduces them.
const MOST_MADE: usize = 512;

/// A block that takes two passes.
struct Block<I, T> {
    range: Range<usize>,
    items: I,
    /// The total of these items, until the front passes the block. Afterwards the total of all
    /// items before the block.
    total: Option<T>,
}

/// The total at the front, and the blocks that take two passes.
struct Front<I, T> {
    /// The total of all items before [`Scan::front`]. `None` in two cases: there are no items
    /// before the front; or a worker has taken the total and is about to move the front.
    total: Option<T>,
    /// The reduced blocks behind the front, in any order.
    reduced: Vec<Block<I, T>>,
    /// Blocks that the front has passed, and that are not scanned yet.
    passed: Vec<Block<I, T>>,
}

/// Receives the existing items of a block, and a number. Makes this number of further items of the
/// block, and returns all its items. If all items exist from the beginning, does nothing.
type MakeItems<'m, I> = &'m mut dyn FnMut(I, usize) -> I;

/// The code of a scan that is compiled for each operator. All other code is compiled once for each
/// type of items.
trait ScanSteps<T>: Sync {
    /// The operator.
    fn op(&self, before: &T, behind: &T) -> T;

    /// Reduces a total and then items, in this order.
    fn reduce(&self, total: Option<T>, items: &[T]) -> Option<T>;

    /// Scans items, given the total of all items before them. Returns the total behind the last
    /// item.
    fn pass(&self, items: &mut [T], before: Option<T>) -> Option<T>;
}

/// An inclusive or an exclusive scan with this operator.
struct Operator<F, const IS_INCLUSIVE: bool>(F);

impl<T: Clone, F: Fn(&T, &T) -> T + Sync, const IS_INCLUSIVE: bool> ScanSteps<T>
    for Operator<F, IS_INCLUSIVE>
{
    fn op(&self, before: &T, behind: &T) -> T {
        (self.0)(before, behind)
    }

    fn reduce(&self, total: Option<T>, items: &[T]) -> Option<T> {
        let mut items = items.iter();
        let mut total = total.or_else(|| items.next().cloned())?;
        for item in items {
            total = (self.0)(&total, item);
        }
        Some(total)
    }

    fn pass(&self, items: &mut [T], before: Option<T>) -> Option<T> {
        if IS_INCLUSIVE {
            if let (Some(before), Some(first)) = (before, items.first_mut()) {
                *first = (self.0)(&before, first);
            }
            for index in 1..items.len() {
                items[index] = (self.0)(&items[index - 1], &items[index]);
            }
            return items.last().cloned();
        }
        let mut before = before.expect(INITIAL);
        for item in items {
            let behind = (self.0)(&before, item);
            *item = mem::replace(&mut before, behind);
        }
        Some(before)
    }
}

const INITIAL: &str = "there is an initial value";

/// A scan under way. `I` is the type of the items of a block: an exclusive slice, or items that the
/// scan itself has written. No user code is called under the lock.
struct Scan<'f, I, T> {
    state: Mutex<Front<I, T>>,
    /// The index of the front. Only one worker moves the front: the worker that has claimed the
    /// block at the front. Written under the lock, together with the total. Relaxed: a worker that
    /// reads the first index of its block here locks `state` before it takes the total.
    front: AtomicUsize,
    steps: &'f dyn ScanSteps<T>,
    /// Whether the total of a block is always reduced from the items of the block alone. Then the
    /// total depends neither on the worker nor on the time of the scan.
    is_reproducible: bool,
    /// The most items that are made at once.
    piece: usize,
    /// Receives each block that is scanned: its range, and its items.
    done: &'f (dyn Fn(Range<usize>, I) + Sync),
}

impl<'f, I: AsMut<[T]>, T> Scan<'f, I, T> {
    /// A scan whose front is at the first item. `init` is the total before this item.
    fn new(
        init: Option<T>,
        steps: &'f dyn ScanSteps<T>,
        is_reproducible: bool,
        piece: usize,
        done: &'f (dyn Fn(Range<usize>, I) + Sync),
    ) -> Self {
        let front = Front { total: init, reduced: Vec::new(), passed: Vec::new() };
        Self { state: Mutex::new(front), front: AtomicUsize::new(0), steps, is_reproducible, piece, done }
    }

    /// Scans or reduces the claimed block of the items `range`. `items` are the items of the block
    /// that already exist.
    fn block(&self, range: Range<usize>, mut items: I, make: MakeItems<'_, I>) {
        /// While a worker reduces a block of a scan that is not reproducible, it checks at least
        /// this many times whether the front has reached the block.
        const LOOKS: usize = 16;
        let len = range.len();
        let (mut reduced, mut total) = (0, None);
        let before = loop {
            let is_reduced = reduced == len;
            let before = (is_reduced || !self.is_reproducible).then(|| self.take(range.start)).flatten();
            if before.is_some() || is_reduced {
                break before;
            }
            let looks = if self.is_reproducible { 1 } else { LOOKS };
            let piece = len.div_ceil(looks).min(self.piece).min(len - reduced);
            items = make(items, piece);
            total = self.steps.reduce(total, &items.as_mut()[reduced..reduced + piece]);
            reduced += piece;
        };
        let Some(mut before) = before else {
            let first = range.start;
            lock(&self.state).reduced.push(Block { range, items, total });
            if let Some(total) = self.take(first) {
                self.advance(first, total);
            } // otherwise the worker that moves the front to `first` finds the block
            return self.scan_passed();
        };
        // The front has arrived. The worker scans the rest of the block, moves the front behind the
        // block, and then scans the items that it has reduced.
        let mut total = if reduced > 0 { self.both(before.as_ref(), total) } else { before.take() };
        let mut made = reduced;
        while made < len {
            let piece = self.piece.min(len - made);
            items = make(items, piece);
            total = self.steps.pass(&mut items.as_mut()[made..made + piece], total);
            made += piece;
        }
        self.advance(range.end, total);
        if reduced > 0 {
            self.steps.pass(&mut items.as_mut()[..reduced], before);
        }
        (self.done)(range, items);
    }

    /// If the front is at `first`, takes the total of all items before `first`.
    fn take(&self, first: usize) -> Option<Option<T>> {
        let is_there = self.front.load(Ordering::Relaxed) == first;
        is_there.then(|| lock(&self.state).total.take())
    }

    /// Moves the front from index `front` over the reduced blocks that follow without a gap.
    /// `total` is the total of all items before `front`.
    fn advance(&self, mut front: usize, mut total: Option<T>) {
        loop {
            let mut state = lock(&self.state);
            let next = state.reduced.iter().position(|block| block.range.start == front);
            let Some(next) = next else {
                self.front.store(front, Ordering::Relaxed);
                state.total = total;
                return;
            };
            let block = state.reduced.swap_remove(next);
            drop(state);
            front = block.range.end;
            let behind = self.both(total.as_ref(), block.total);
            lock(&self.state).passed.push(Block { total, ..block });
            total = behind;
        }
    }

    /// Scans the blocks that the front has passed.
    fn scan_passed(&self) {
        let passed = || lock(&self.state).passed.pop();
        while let Some(Block { range, mut items, total }) = passed() {
            self.steps.pass(items.as_mut(), total);
            (self.done)(range, items);
        }
    }

    /// Ends the scan after the loop. Returns the total of all items.
    fn end(self) -> Option<T> {
        let Front { total, passed, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Passed blocks are left if no worker claimed another block after the front had passed
        // them. (`scan_passed` would take the lock, which costs a short scan 10 ns.)
        for Block { range, mut items, total } in passed {
            self.steps.pass(items.as_mut(), total);
            (self.done)(range, items);
        }
        total
    }

    /// The total of two neighbouring ranges of items. The second range has at least one item.
    fn both(&self, before: Option<&T>, behind: Option<T>) -> Option<T> {
        let Some(before) = before else { return behind };
        let behind = behind.expect("no block is empty");
        let total = self.steps.op(before, &behind);
        // Dropped before the total is returned: a value that is being returned leaks if a drop
        // panics (rust-lang/rust#47949).
        drop(behind);
        Some(total)
    }
}

/// Scans.
impl<'a, T: Clone + Send, E: Ending> On<Exclusive<'a, T>, OnPool<'_, E>> {
    /// Replaces each item by the total of all items up to and including this item, as in a running
    /// sum. `op` must be associative, and need not be commutative.
    ///
    /// `op` is called once per item if the calling thread runs the loop alone, and up to twice per
    /// item if several threads share the loop. A scan on `n` threads takes at least `2 / (n + 1)`
    /// times the plain loop's time. The pool shares a scan only if that is faster. Sums of numbers
    /// are mostly not shared, since memory limits their speed.
    ///
    /// With floating-point numbers, where addition is not associative, the last digits can differ
    /// from run to run, unless the loop is [`reproducible`](On::reproducible).
    ///
    /// [`inclusive_scan_into`](On::inclusive_scan_into) appends the totals of a chain to a vector.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut balances = [100, -30, -20, 50];
    /// pool.on(&mut balances).inclusive_scan(|a, b| a + b);
    /// assert_eq!(balances, [100, 70, 50, 100]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `op` or the `clone` of an item panics. Then each item either is unchanged or holds a
    /// total. The same holds after a cancelled scan.
    pub fn inclusive_scan(self, op: impl Fn(&T, &T) -> T + Sync) -> E::Of<()> {
        E::end(self.scanned(None, &Operator::<_, true>(op)).map(drop))
    }

    /// Replaces each item by the total of `init` and all items before this item. Returns the total
    /// of `init` and all items. `op` must be associative, and need not be commutative.
    ///
    /// An exclusive scan turns lengths into offsets. For the cost of a scan see
    /// [`inclusive_scan`](Self::inclusive_scan).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut offsets = [3, 0, 2]; // the degrees of three nodes
    /// let edges = pool.on(&mut offsets).exclusive_scan(0, |a, b| a + b);
    /// assert_eq!((offsets, edges), ([0, 3, 3], 5));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `op` or the `clone` of an item panics. Then each item either is unchanged or holds a
    /// total. The same holds after a cancelled scan.
    pub fn exclusive_scan(self, init: T, op: impl Fn(&T, &T) -> T + Sync) -> E::Of<T> {
        let total = self.scanned(Some(init), &Operator::<_, false>(op));
        E::end(total.map(|total| total.expect(INITIAL)))
    }

    /// Scans with these steps, and returns the total of all items and `init`. Returns `None` if the
    /// loop was cancelled, and `Some(None)` if there is neither an item nor an initial value.
    fn scanned(self, init: Option<T>, steps: &dyn ScanSteps<T>) -> Option<Option<T>> {
        let scan = Scan::new(init, steps, self.is_reproducible(), usize::MAX, &|_, _| ());
        let (scanning, size) = (&scan, self.block().unwrap_or(usize::MAX));
        let blocks = move |mut claimed: SourceClaims<'_, '_, '_, Exclusive<'a, T>>| {
            while let Some(claim) = claimed.next() {
                let mut first = claim.range().start;
                for items in claim.piece().chunks_mut(size) {
                    let behind = first + items.len();
                    scanning.block(first..behind, items, &mut |items, _| items);
                    first = behind;
                }
            }
            Ok(())
        };
        self.visit_claims::<Infallible>(LoopKind::IN_ORDER, blocks).through()?;
        Some(scan.end())
    }
}

/// Scans into vectors.
impl<C: Chain + Sync, E: Ending> On<C, OnPool<'_, E>> {
    /// Appends a total to `to` for each item: the total of all items up to and including this item.
    /// The totals are in the order of the items. They do not include what `to` contains before.
    /// `op` must be associative, and need not be commutative.
    ///
    /// Each closure of the chain is called once per item. A worker makes up to 512 items at their
    /// final places in `to`, and scans them there while they are in a cache. The operator is called
    /// as often as by an [`inclusive_scan`](On::inclusive_scan) in place: up to twice per item if
    /// several threads share the loop, otherwise once. If `to` has enough capacity, no memory is
    /// allocated for the totals.
    ///
    /// If the loop is cancelled, nothing is appended.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let neighbours = [vec![1, 2], vec![], vec![0]];
    /// let mut offsets = vec![0]; // of each node, and the end
    /// pool.on(&neighbours).map(|of| of.len()).inclusive_scan_into(&mut offsets, |a, b| a + b);
    /// assert_eq!(offsets, [0, 2, 2, 3]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// Behind [`filter`](On::filter) and similar stages, an item's place is known only after all
    /// items before it are made. Such a chain is collected first, and scanned in place:
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut odd: Vec<u32> = pool.on(0..6).filter(|i| i % 2 == 1).collect();
    /// pool.on(&mut odd).inclusive_scan(|a, b| a + b);
    /// assert_eq!(odd, [1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    /// ```compile_fail,E0277
    /// # let pool = rangesteal::Pool::new()?;
    /// pool.on(0..6).filter(|i| i % 2 == 1).inclusive_scan_into(&mut Vec::new(), |a, b| a + b);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain, `op` or the `clone` of an item panics. Then nothing is appended,
    /// and the totals so far are dropped.
    pub fn inclusive_scan_into(
        self,
        to: &mut Vec<C::Item>,
        op: impl Fn(&C::Item, &C::Item) -> C::Item + Sync,
    ) -> E::Of<()>
    where
        C: Each<Item: Clone + Send>,
    {
        E::end(self.scan_into(to, None, &Operator::<_, true>(op)).map(drop))
    }

    /// Appends a total to `to` for each item: the total of `init` and all items before this item.
    /// Returns the total of `init` and all items. `op` must be associative, and need not be
    /// commutative.
    ///
    /// For the cost, and for chains with a [`filter`](On::filter), see
    /// [`inclusive_scan_into`](Self::inclusive_scan_into). If the loop is cancelled, nothing is
    /// appended.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (words, mut offsets) = (["a", "bcd", "ef"], Vec::new());
    /// let lengths = pool.on(&words).map(|word| word.len());
    /// let bytes = lengths.exclusive_scan_into(&mut offsets, 0, |a, b| a + b);
    /// assert_eq!((offsets, bytes), (vec![0, 1, 4], 6));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain, `op` or the `clone` of an item panics. Then nothing is appended,
    /// and the totals so far are dropped.
    pub fn exclusive_scan_into(
        self,
        to: &mut Vec<C::Item>,
        init: C::Item,
        op: impl Fn(&C::Item, &C::Item) -> C::Item + Sync,
    ) -> E::Of<C::Item>
    where
        C: Each<Item: Clone + Send>,
    {
        let total = self.scan_into(to, Some(init), &Operator::<_, false>(op));
        E::end(total.map(|total| total.expect(INITIAL)))
    }

    /// Scans with these steps, and appends the totals to `to`. Returns what `scanned` returns.
    fn scan_into(
        self,
        to: &mut Vec<C::Item>,
        init: Option<C::Item>,
        steps: &dyn ScanSteps<C::Item>,
    ) -> Option<Option<C::Item>>
    where
        C: Each<Item: Clone + Send>,
    {
        let (is_reproducible, size) = (self.is_reproducible(), self.block().unwrap_or(usize::MAX));
        let (len, mut on) = (self.source_count(), Some(self));
        append_scanned(to, len, init, steps, is_reproducible, &mut |places, scan| {
            let searched = on.take()?.visit_claims::<Infallible>(LoopKind::IN_ORDER, move |mut claimed| {
                let chain = claimed.chain;
                while let Some(mut claim) = claimed.next() {
                    while claim.len() > 0 {
                        let (first, state) = (claim.range().start, claimed.state());
                        let range = first..first + claim.len().min(size);
                        scan.block(range, Written::none(places), &mut |made, count| {
                            made.extend(claim.take(count), |item| chain.one(state, item))
                        });
                    }
                }
                Ok(())
            });
            searched.through().map(drop)
        })
    }
}

/// Runs the loop of a scan, which gives the scan each block of the items that the loop makes at
/// their final places.
type RunScan<'r, T> =
    &'r mut dyn for<'a> FnMut(&'a ResultPlaces<'a, T>, &Scan<'_, Written<'a, T>, T>) -> Option<()>;

/// Appends to `to` the totals of the `len` items that `run` makes. Returns the total of all items.
/// Returns `None` if `run` does, and `Some(None)` if there is neither an item nor an initial value.
#[inline(never)] // compiled once for each type of items
fn append_scanned<T: Send>(
    to: &mut Vec<T>,
    len: usize,
    init: Option<T>,
    steps: &dyn ScanSteps<T>,
    is_reproducible: bool,
    run: RunScan<'_, T>,
) -> Option<Option<T>> {
    let mut total = None;
    let appended = append_in_place(to, len, |places| {
        let written = DoneRuns::new(Written::join);
        let done = |Range { start: first, end }, acc| written.add(DoneRun { first, end, acc }, &mut 0);
        let scan = Scan::new(init, steps, is_reproducible, MOST_MADE, &done);
        if run(places, &scan).is_none() {
            return Outcome::Cancelled;
        }
        total = scan.end();
        Outcome::Through(written.into_result(len).unwrap_or(Written::none(places)))
    });
    appended.through().map(|()| total)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::Arc,
    };

    use super::*;

    /// A total that panics when it is dropped, if it is `bad`.
    #[derive(Clone)]
    struct Total {
        bad: bool,
        _counted: Arc<()>,
    }

    impl Drop for Total {
        fn drop(&mut self) {
            assert!(!self.bad, "planned");
        }
    }

    #[test]
    fn a_total_whose_drop_panics_leaks_no_other_total() {
        let counted = Arc::new(());
        let total = |bad| Total { bad, _counted: Arc::clone(&counted) };
        let steps = Operator::<_, true>(|_: &Total, _: &Total| total(false));
        let scan = Scan::new(None, &steps, false, usize::MAX, &|_, _: &mut [Total]| ());
        let before = total(false);
        let both = || drop(scan.both(Some(&before), Some(total(true))));
        assert!(catch_unwind(AssertUnwindSafe(both)).is_err());
        drop(before);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
