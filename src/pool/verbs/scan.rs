//! Running totals: the inclusive and the exclusive scan of a slice, in place.
//!
//! All workers claim blocks from the front, as a search does. The *front* is the index up to which
//! the total of all items is known. A worker whose block begins at the front scans the block in one
//! pass. Any other worker reduces its block meanwhile; as soon as the front arrives, the total
//! moves over the whole block by one call of the operator, and the block is scanned in a second
//! pass, while it is still in a cache. On two threads every third block takes two passes, so a scan
//! takes two thirds of the plain loop's time; on `n` threads, `2 / (n + 1)`. A worker never waits
//! for the front: it claims the next block.
//!
//! Source: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA
//! Technical Report NVR-2016-002. There each block looks back at its predecessors; here the worker
//! that has the front moves it over the blocks behind it.

use std::{convert::Infallible, mem, sync::PoisonError};

use super::{
    kernel::Claimed,
    on::On,
    options::{Ending, OnPool},
    source::Exclusive,
};
use crate::{
    pool::policy::site::LoopKind,
    sync::{AtomicUsize, Mutex, Ordering, lock},
};

/// A block that takes two passes.
struct Block<'a, T> {
    first: usize,
    items: &'a mut [T],
    /// First the total of these items; then, when the front has passed, that of all before them.
    total: Option<T>,
}

/// How far the total of all items is known. Blocks are known by their first index.
struct Front<'a, T> {
    /// The total of all items before [`Scan::front`]. None if there are none, or if the worker of
    /// the block that begins there has taken the total.
    total: Option<T>,
    /// Blocks behind the front that are reduced.
    reduced: Vec<Block<'a, T>>,
    /// Blocks that the front has passed, and that are not scanned yet.
    passed: Vec<Block<'a, T>>,
}

/// A scan under way. No user code is called under the lock.
struct Scan<'a, 'f, T, O, S> {
    state: Mutex<Front<'a, T>>,
    /// The index that the front has reached. Only the worker that has claimed the block which
    /// begins there moves it. Written under the lock, together with the total. Relaxed: a worker
    /// that sees its block here takes the lock before it takes the total.
    front: AtomicUsize,
    op: &'f O,
    /// Scans items that follow a total, and returns the total at their end.
    pass: &'f S,
    /// Whether the total of a block is always made of its items alone, so that it does not depend
    /// on who scans the block when.
    is_reproducible: bool,
}

impl<'a, T: Clone, O, S> Scan<'a, '_, T, O, S>
where
    O: Fn(&T, &T) -> T,
    S: Fn(&mut [T], Option<T>) -> Option<T>,
{
    /// A worker has claimed `items`, which begin at index `first`.
    fn block(&self, first: usize, items: &'a mut [T]) {
        /// A worker looks for the front so many times in a block that it reduces.
        const LOOKS: usize = 16;
        let len = items.len();
        let (mut reduced, mut total) = (0, None);
        while reduced < len {
            if let Some(before) = self.take(first) {
                return self.follow((first, before), items, (reduced, total));
            }
            let piece = len.div_ceil(LOOKS).min(len - reduced);
            total = self.reduce(total, &items[reduced..reduced + piece]);
            reduced += piece;
        }
        self.add(Block { first, items, total });
        while let Some(Block { items, total, .. }) = self.passed() {
            (self.pass)(items, total);
        }
    }

    /// Takes the total of all items before `first`, if the front is there.
    #[expect(clippy::option_option, reason = "there, and not empty")]
    fn take(&self, first: usize) -> Option<Option<T>> {
        let is_there = self.front.load(Ordering::Relaxed) == first;
        is_there.then(|| lock(&self.state).total.take())
    }

    /// The front has arrived at `first` with the total `before`, and `reduced` of the items have
    /// been reduced to `total` meanwhile. Moves the front behind the items.
    fn follow(
        &self,
        (first, before): (usize, Option<T>),
        items: &mut [T],
        (reduced, total): (usize, Option<T>),
    ) {
        let behind = first + items.len();
        if self.is_reproducible {
            let total = self.reduce(total, &items[reduced..]);
            self.advance(behind, self.both(before.as_ref(), total));
            (self.pass)(items, before);
        } else if reduced == 0 {
            self.advance(behind, (self.pass)(items, before));
        } else {
            let (head, tail) = items.split_at_mut(reduced);
            let middle = self.both(before.as_ref(), total);
            self.advance(behind, (self.pass)(tail, middle));
            (self.pass)(head, before);
        }
    }

    /// Adds a block that is reduced. If the front has arrived since, moves the front.
    fn add(&self, block: Block<'a, T>) {
        let first = block.first;
        let mut state = lock(&self.state);
        state.reduced.push(block);
        let is_there = self.front.load(Ordering::Relaxed) == first;
        let total = if is_there { state.total.take() } else { None };
        drop(state);
        if is_there {
            self.advance(first, total);
        } // else the worker that moves the front there finds the block
    }

    /// The front is at index `front`, and the total of all items before it is `total`. Moves the
    /// front over all blocks that are reduced.
    fn advance(&self, mut front: usize, mut total: Option<T>) {
        loop {
            let mut state = lock(&self.state);
            let next = state.reduced.iter().position(|block| block.first == front);
            let Some(next) = next else {
                self.front.store(front, Ordering::Relaxed);
                state.total = total;
                return;
            };
            let block = state.reduced.swap_remove(next);
            drop(state);
            front += block.items.len();
            let behind = self.both(total.as_ref(), block.total);
            lock(&self.state).passed.push(Block { total, ..block });
            total = behind;
        }
    }

    /// A block that can be scanned.
    fn passed(&self) -> Option<Block<'a, T>> {
        lock(&self.state).passed.pop()
    }

    /// The total of `items` behind what `total` is of.
    #[inline(always)]
    fn reduce(&self, total: Option<T>, items: &[T]) -> Option<T> {
        let mut items = items.iter();
        let mut total = total.or_else(|| items.next().cloned())?;
        for item in items {
            total = (self.op)(&total, item);
        }
        Some(total)
    }

    /// The total of neighbours, of which the one behind has an item.
    fn both(&self, before: Option<&T>, behind: Option<T>) -> Option<T> {
        match (before, behind) {
            (Some(before), Some(behind)) => Some((self.op)(before, &behind)),
            (None, behind) => behind,
            (Some(_), None) => unreachable!("no block is empty"),
        }
    }
}

/// Scans.
impl<'a, T: Clone + Send, E: Ending> On<Exclusive<'a, T>, OnPool<'_, E>> {
    /// Replaces each item by the total of all items up to and including that one, as a running sum
    /// does. `op` must be associative, and need not be commutative.
    ///
    /// `op` is called once per item if the loop runs alone, and up to twice if it is shared. A
    /// scan on `n` threads takes at least `2 / (n + 1)` of the plain loop's time. It is shared only
    /// if that is faster: sums of numbers, which wait for memory, mostly are not.
    ///
    /// With floating-point numbers, where addition is not associative, the last digits can differ
    /// from run to run, unless the loop is [`reproducible`](On::reproducible).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut balances = [100, -30, -20, 50];
    /// pool.on(&mut balances).inclusive_scan(|a, b| a + b);
    /// assert_eq!(balances, [100, 70, 50, 100]);
    ///
    /// // The totals of what a chain makes: collect it first.
    /// let mut highest: Vec<u32> = pool.on(&["7", "2", "9"]).map(|s| s.parse().unwrap()).collect();
    /// pool.on(&mut highest).inclusive_scan(|a, b| *a.max(b));
    /// assert_eq!(highest, [7, 7, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `op` or a `clone` of an item does. Each item is then as before the call, or a total.
    /// The same holds after a cancelled scan.
    pub fn inclusive_scan(self, op: impl Fn(&T, &T) -> T + Sync) -> E::Of<()> {
        let op = &op;
        let scan = move |items: &mut [T], before: Option<T>| {
            if let (Some(before), Some(first)) = (before, items.first_mut()) {
                *first = op(&before, first);
            }
            for index in 1..items.len() {
                items[index] = op(&items[index - 1], &items[index]);
            }
            items.last().cloned()
        };
        E::end(self.scanned(None, op, &scan).map(drop))
    }

    /// Replaces each item by the total of `init` and all items before that one, and returns the
    /// total of all. `op` must be associative, and need not be commutative.
    ///
    /// So lengths become offsets. [`inclusive_scan`](Self::inclusive_scan) says what a scan costs.
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
    /// If `op` or a `clone` of an item does. Each item is then as before the call, or a total.
    /// The same holds after a cancelled scan.
    pub fn exclusive_scan(self, init: T, op: impl Fn(&T, &T) -> T + Sync) -> E::Of<T> {
        let op = &op;
        let scan = move |items: &mut [T], before: Option<T>| {
            let mut before = before.expect("there is an initial value");
            for item in items {
                let behind = op(&before, item);
                *item = mem::replace(&mut before, behind);
            }
            Some(before)
        };
        let total = self.scanned(Some(init), op, &scan);
        E::end(total.map(|total| total.expect("there is an initial value")))
    }

    /// Scans by `pass`. The total of all, if there is an item or an initial value; none of that if
    /// the loop is cancelled.
    #[expect(clippy::option_option, reason = "not cancelled, and not empty")]
    fn scanned<O, S>(self, init: Option<T>, op: &O, pass: &S) -> Option<Option<T>>
    where
        O: Fn(&T, &T) -> T + Sync,
        S: Fn(&mut [T], Option<T>) -> Option<T> + Sync,
    {
        let is_reproducible = self.is_reproducible();
        let size = self.block().unwrap_or(usize::MAX);
        let front = Front { total: init, reduced: Vec::new(), passed: Vec::new() };
        let scan = Scan { state: Mutex::new(front), front: AtomicUsize::new(0), op, pass, is_reproducible };
        let scanning = &scan;
        let blocks = move |mut claimed: Claimed<'_, '_, '_, Exclusive<'a, T>>| {
            while let Some(claim) = claimed.next() {
                let mut first = claim.range().start;
                for items in claim.piece().chunks_mut(size) {
                    let behind = first + items.len();
                    scanning.block(first, items);
                    first = behind;
                }
            }
            Ok(())
        };
        let ended = self.search::<Infallible>(LoopKind::InOrder, blocks).through();
        ended?;
        let Front { total, passed, .. } = scan.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The last blocks: their workers had no further block after which to look.
        for Block { items, total, .. } in passed {
            (scan.pass)(items, total);
        }
        Some(total)
    }
}
