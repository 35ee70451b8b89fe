//! Range cells: each worker owns a range of indices, pops from its front, and steals the back of
//! another range. `src/pool/README.md` proves that every index is claimed exactly once. The
//! comments here refer to its cases 1 to 6.
//!
//! Only the owner of a cell writes `start`, except the caller between loops. Once a loop is
//! offered, `end` is written only under the lock of the cell. A claim stores `start` and then reads
//! `end`; a theft stores `end` and then reads `start`. A fence of [`Fence`] stands between the
//! store and the load, so at least one of the two sees the other's store.
//!
//! Accesses to the words of a cell are `Relaxed`, except one store that scans rely on. The fences
//! order a claim and a theft, the locks order two thieves, and the locks of the barrier order two
//! loops. Nothing is published *through* an index: the caller publishes the items before the
//! loop, and the workers publish the results after it.

use std::{hint::black_box, iter, ops::Range};

use crossbeam_utils::CachePadded;

use super::{
    Fence,
    cell::{self, Both, Cell, Locked},
};
use crate::sync::{AtomicU64, AtomicUsize, Ordering, fence, lock, lock_soon, try_lock};

/// The ranges of all workers.
#[derive(Debug)]
pub(crate) struct Ranges {
    cells: Box<[CachePadded<Cell>]>,
    /// The pair of fences with the cheapest claims that this process may use, now or when it has
    /// registered.
    fence: Fence,
    /// Counts the thefts that have begun. If it changes during a scan that found every cell empty,
    /// some items may be left.
    moves: CachePadded<AtomicUsize>,
    /// Counts completed thefts.
    thefts: AtomicU64,
}

impl Ranges {
    pub(crate) fn new(workers: usize, fence: Fence) -> Self {
        Self {
            cells: (0..workers).map(|_| CachePadded::default()).collect(),
            fence,
            moves: CachePadded::default(),
            thefts: AtomicU64::default(),
        }
    }

    /// The number of thefts since the ranges were made.
    pub(crate) fn thefts(&self) -> u64 {
        self.thefts.load(Ordering::Relaxed) // a count: orders nothing
    }

    /// Counts a theft from a range or from a list that grows.
    pub(crate) fn count_theft(&self) {
        self.thefts.fetch_add(1, Ordering::Relaxed); // a count: orders nothing
    }

    /// Partitions `items` at `bounds`, and gives the parts to the first workers, in order. There is
    /// one part more than there are bounds. To be called between loops, when no other thread may
    /// touch the cells.
    ///
    /// The bounds are hints: for any bounds, every item goes to exactly one worker (case 6).
    pub(crate) fn partition(&self, items: Range<usize>, bounds: &[usize]) {
        let ends = bounds.iter().copied().chain(iter::repeat(items.end));
        let mut start = items.start;
        for (cell, end) in self.cells.iter().zip(ends) {
            let end = end.clamp(start, items.end);
            // Without the lock, so that the caller does not wait for the cache line of one cell
            // after the other.
            cell.deal(start..end);
            start = end;
        }
    }

    /// Truncates all ranges at index `at`. Claims in flight finish, and every item before `at` is
    /// still claimed exactly once. A worker that has not seen the lower end yet may claim items at
    /// or behind it. A worker that learns of the `truncate` from another thread has seen it. (With
    /// a heavy fence all workers would have seen it at the end of this function, but that takes
    /// longer than the items that they claim.)
    pub(crate) fn truncate(&self, at: usize) {
        // Case 1. All locks are taken first. Otherwise a theft could move items from a cell that is
        // not yet truncated into one that already is.
        let guards = cell::lock_all(&self.cells);
        for cell in &self.cells {
            let end = cell.end.load(Ordering::Relaxed);
            cell.end.store(end.min(at), Ordering::Relaxed);
        }
        drop(guards);
    }

    /// Lets worker `me` into the loop, and claims the first item of its range if one is left.
    pub(crate) fn enter(&self, me: usize) -> (Owner<'_>, Option<usize>) {
        let _own_lock = lock(&self.cells[me].lock);
        self.enter_without_lock(me) // case 3 ends here
    }

    /// Lets the caller into the loop before it offers the loop to anybody: there is no thief. A
    /// `truncate` under way finds a claim in flight.
    pub(crate) fn enter_before_offers(&self) -> (Owner<'_>, Option<usize>) {
        self.enter_without_lock(0)
    }

    #[inline(always)]
    fn enter_without_lock(&self, me: usize) -> (Owner<'_>, Option<usize>) {
        let cell = &*self.cells[me];
        let fence = self.fence.full();
        cell.set_fence(fence);
        let next = cell.start.load(Ordering::Relaxed);
        let mut owner = Owner { ranges: self, cell, fence, me, late_only: false, next, end: 0, failed: 0 };
        let first = owner.claim_without_fence(1).next();
        (owner, first)
    }

    /// Locks the cells of a thief and of its victim: first the cell with the lower index. Otherwise
    /// two thieves that steal from each other could wait for ever (case 1).
    fn lock_both(&self, thief: usize, victim: usize) -> Both<'_> {
        let lock = |worker: usize| {
            let cell = &*self.cells[worker];
            Locked { cell, _lock: lock_soon(&cell.lock) }
        };
        if thief < victim {
            let own = lock(thief);
            Both { own, victim: lock(victim) }
        } else {
            let victim = lock(victim);
            Both { own: lock(thief), victim }
        }
    }

    /// The number of indices that are not claimed. Locks all cells, so that no theft is under way:
    /// during a theft, this function could count a range twice or not at all.
    pub(crate) fn left(&self) -> usize {
        let _guards = cell::lock_all(&self.cells);
        self.cells.iter().map(|cell| cell.left()).sum()
    }
}

/// The decisions of a thief, which are policy. Every item is claimed exactly once, whatever the
/// policy decides.
pub(crate) trait StealPolicy {
    /// Chooses the victim among `others`: pairs of a worker and the number of items that this
    /// worker has left. That number is at least one, and may be out of date. With `None` the thief
    /// steals from nobody, and leaves the loop if no theft has begun in the meantime.
    fn victim(&mut self, others: &mut dyn Iterator<Item = (usize, usize)>) -> Option<usize>;

    /// Watches this victim for a moment. Returns whether to steal from this victim. If `pays`
    /// returns false, the thief chooses a victim again.
    fn pays(&mut self, victim: VictimView<'_>) -> bool;

    /// The index where the theft begins: one of the indices that the victim has `left`. The thief
    /// claims this index. With `None` the victim keeps its range, and the thief chooses another
    /// victim. In one scan, this function may return `None` for one victim only: the thief
    /// remembers one spared victim.
    fn middle(&mut self, victim: usize, left: Range<usize>) -> Option<usize>;
}

/// A view of a victim before the theft. All values are hints.
pub(crate) struct VictimView<'a>(&'a Cell);

impl VictimView<'_> {
    /// The first index that the victim has not claimed.
    pub(crate) fn start(&self) -> usize {
        self.0.start.load(Ordering::Relaxed)
    }

    /// The number of items that the victim has left.
    pub(crate) fn left(&self) -> usize {
        self.0.left()
    }

    /// The pair of fences between the victim and its thieves. `None` if the victim has not entered
    /// the loop yet.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.0.fence()
    }
}

/// The result of a theft.
pub(crate) struct Stolen {
    /// The first index of the stolen range, which the thief has claimed.
    pub(crate) item: usize,
    pub(crate) victim: usize,
}

/// The result of an attempt at a theft.
pub(crate) enum Attempt {
    /// The theft stands: the thief has claimed this item, and owns the range behind it.
    Done(usize),
    /// The victim had nothing left, or this thief may not steal from it any more.
    Nothing,
    /// The policy left the range to the victim.
    Left,
    /// The kernel refused the heavy fence.
    Refused,
}

/// A worker that has entered a loop. Only this worker pops from its range.
#[derive(Debug)]
pub(crate) struct Owner<'a> {
    ranges: &'a Ranges,
    cell: &'a Cell,
    /// The pair of fences in the cell, on which thieves rely.
    fence: Fence,
    me: usize,
    /// Whether this worker steals only from workers that have not entered the loop.
    late_only: bool,
    /// The owner's copy of the cell's `start`. The copy differs from `start` while a claim is in
    /// flight, and after a theft that was undone; then the range is empty.
    next: usize,
    /// The cell's `end` as last read under the lock, or before the first offer. The cell's `end`
    /// may be lower by now. After a theft that was undone, the two may differ in any way; then the
    /// range is empty.
    end: usize,
    /// How many thefts of this worker were undone, and how many of its attempts found nothing.
    pub(crate) failed: usize,
}

/// A sequence of claims: from the front of a range that other threads may shorten, or from items
/// that belong to the calling thread alone.
#[derive(Debug)]
pub(crate) struct Claims<'a> {
    /// The range. `None` if the items belong to the calling thread alone.
    cell: Option<&'a Cell>,
    fence: Fence,
    /// The first item that is not claimed.
    next: usize,
    /// The end of the items to be claimed.
    behind: usize,
    /// Items per claim.
    size: usize,
    /// The owner's [`end`](Owner::end).
    end: usize,
    is_contested: bool,
}

impl Claims<'_> {
    /// One claim of `items`, which belong to the calling thread alone. `items` may be empty.
    #[inline(always)]
    pub(crate) fn of(items: Range<usize>) -> Self {
        let Range { start: next, end } = items;
        let (behind, size) = (end, usize::MAX);
        Self { cell: None, fence: Fence::Symmetric, next, behind, size, end, is_contested: false }
    }

    /// From now on a claim takes at most `size` items.
    #[inline(always)]
    pub(crate) fn take_by(&mut self, size: usize) {
        self.size = size;
    }

    /// Claims the next items, at the head of the hot loop. Returns `None` if all claims are made,
    /// or if a theft or a `truncate` has moved the end.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Range<usize>> {
        let first = self.next;
        let size = self.size.min(self.behind - first);
        if size == 0 {
            return None;
        }
        let behind = first + size;
        // `self.cell` is the same for all claims. If LLVM knew that, it would compile a small loop
        // and its closure twice: with a cell, and without a cell.
        if let Some(cell) = black_box(self.cell) {
            cell.start.store(behind, Ordering::Relaxed);
            self.fence.light(); // case 2; partner: the heavy fence in `try_steal`
            if cell.end.load(Ordering::Relaxed) != self.end {
                (self.is_contested, self.behind) = (true, first);
                return None;
            }
        }
        self.next = behind;
        Some(first..behind)
    }
}

impl Owner<'_> {
    /// The number of items left in this worker's range, as last seen.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.end.saturating_sub(self.next)
    }

    /// The first item of this worker's range that is not claimed.
    #[inline(always)]
    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// Gives up the worker's own range after a panic. The panic has dropped the count of the
    /// claims, so this reads the claims from the cell. Returns the last claimed index.
    pub(crate) fn abandon(&mut self) -> usize {
        self.next = self.cell.start.load(Ordering::Relaxed);
        self.end = self.next;
        self.next.saturating_sub(1)
    }

    /// Chooses the pair of fences between this worker and its thieves. Full fences make claims a
    /// little more expensive and thefts much cheaper.
    #[inline(always)]
    pub(crate) fn use_full_fences(&mut self, full: bool) {
        let best = self.ranges.fence;
        let fence = if full { best.full() } else { best.now() };
        if fence != self.fence {
            // Case 4. While this thread holds the lock, no theft is under way, and the next thread
            // that locks the cell sees all claims so far. If the lock is taken, the change is not
            // worth the wait.
            if let Some(_lock) = try_lock(&self.cell.lock) {
                self.cell.set_fence(fence);
                self.fence = fence;
            }
        }
    }

    /// Lets `work` claim `items` items, `size` at a time. The last claim may have fewer items. At
    /// least `items` items are [`left`](Self::left). Returns the result of `work`, and whether the
    /// last claim is contested. If so, [`resolve`](Self::resolve) returns the items of that claim.
    #[inline(always)]
    pub(crate) fn claim<T>(
        &mut self,
        size: usize,
        items: usize,
        work: impl FnOnce(&mut Claims<'_>) -> T,
    ) -> (T, bool) {
        let Self { cell, fence, next, end, .. } = *self;
        let behind = next + items;
        let mut claims = Claims { cell: Some(cell), fence, next, behind, size, end, is_contested: false };
        let done = work(&mut claims);
        self.next = claims.next;
        (done, claims.is_contested)
    }

    /// Resolves a claim of `size` items whose range has a new end. Returns the claimed items: all
    /// `size` items if the range still contains them, otherwise those that are left.
    #[cold]
    #[inline(never)]
    pub(crate) fn resolve(&mut self, size: usize) -> Range<usize> {
        let first = self.next;
        let _own_lock = match try_lock(&self.cell.lock) {
            Some(lock) => lock,
            // Case 2: a theft is under way. After the light fence of the claim, the `end` that the
            // thief has stored shows which items are safe. The owner does not remember this `end`,
            // because the theft may be undone.
            None if first + size <= self.cell.end.load(Ordering::Relaxed) => {
                self.next += size;
                return first..self.next;
            }
            // If the owner gave the items back here and did not wait for the lock, an owner and a
            // thief could keep each other from the last item for ever.
            None => lock_soon(&self.cell.lock),
        };
        self.claim_without_fence(size)
    }

    /// Claims up to `size` items under the lock of the cell, or before there is a thief. This needs
    /// no fence: thefts and `truncate` hold the lock too (case 1).
    fn claim_without_fence(&mut self, size: usize) -> Range<usize> {
        self.end = self.cell.end.load(Ordering::Relaxed);
        let first = self.next;
        self.next += self.left().min(size);
        self.cell.start.store(self.next, Ordering::Relaxed);
        first..self.next
    }

    /// Steals the back of another range and claims its first item, as `policy` decides. Returns
    /// `None` if nothing is left to steal, except perhaps a range that the policy leaves to its
    /// victim.
    #[cold]
    #[inline(never)]
    pub(crate) fn steal(&mut self, policy: &mut dyn StealPolicy) -> Option<Stolen> {
        let mut spared = None;
        loop {
            // Partner: the Release increment in `transfer`. If a scan reads an end that a theft has
            // moved, the load of `moves` after the Acquire fence sees the increment of that theft,
            // and the thief scans again.
            let before = self.ranges.moves.load(Ordering::Acquire);
            let Some(victim) = policy.victim(&mut self.others(spared)) else {
                fence(Ordering::Acquire);
                if self.ranges.moves.load(Ordering::Relaxed) == before {
                    return None;
                }
                continue;
            };
            if !policy.pays(VictimView(&self.ranges.cells[victim])) {
                continue;
            }
            match self.try_steal(victim, &mut |left| policy.middle(victim, left)) {
                Attempt::Done(item) => return Some(Stolen { item, victim }),
                Attempt::Nothing => self.failed += 1,
                Attempt::Left => spared = Some(victim),
                Attempt::Refused => self.late_only = true, // case 5: for this loop
            }
        }
    }

    /// All workers that seem to have items left, and the numbers of these items; except this worker
    /// and `spared`.
    fn others(&self, spared: Option<usize>) -> impl Iterator<Item = (usize, usize)> {
        let Self { ranges: Ranges { cells, .. }, me, late_only, .. } = *self;
        let others = (me + 1..cells.len()).chain(0..me).filter(move |&worker| Some(worker) != spared);
        let left = others.map(|worker| (worker, cells[worker].left())).filter(|&(_, left)| left > 0);
        left.filter(move |&(worker, _)| !late_only || cells[worker].fence().is_none())
    }

    /// One attempt at a theft from `victim`, another worker. `middle` chooses an index. The thief
    /// claims that index and takes the range behind it.
    pub(crate) fn try_steal(
        &mut self,
        victim: usize,
        middle: &mut dyn FnMut(Range<usize>) -> Option<usize>,
    ) -> Attempt {
        // Case 1: no other thief of this victim, and no claim under the lock, at the same time.
        let ranges = self.ranges;
        let both = ranges.lock_both(self.me, victim);
        let known = both.victim.cell.fence();
        if known.is_some() && self.late_only {
            return Attempt::Nothing;
        }
        let end = both.victim.cell.end.load(Ordering::Relaxed);
        let mut start = both.victim.cell.start.load(Ordering::Relaxed);
        while start < end {
            let Some(middle) = middle(start..end) else { return Attempt::Left };
            both.transfer(middle, end, &ranges.moves);
            // Case 3: a victim that has not entered claims nothing before it has its lock. Case 4:
            // for any other victim, the cell contains its pair of fences.
            let ordered = known.is_none_or(Fence::heavy); // case 2; partner: the light fence in `Claims::next`
            start = both.victim.cell.start.load(Ordering::Relaxed);
            if ordered && start <= middle {
                (self.next, self.end) = (middle + 1, end);
                self.fence = self.fence.full();
                both.own.cell.set_fence(self.fence);
                ranges.count_theft();
                return Attempt::Done(middle);
            }
            // Case 6. The victim has claimed `middle`, or the kernel has refused the fence. First
            // restores the victim's end, then empties the thief's own cell.
            both.victim.cell.end.store(end, Ordering::Relaxed);
            both.own.cell.end.store(middle + 1, Ordering::Relaxed);
            self.failed += 1;
            if !ordered {
                return Attempt::Refused; // case 5
            }
        }
        Attempt::Nothing
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn every_item_is_dealt_once_whatever_the_bounds() {
        let ranges = Ranges::new(3, Fence::Symmetric);
        for bounds in [&[][..], &[3], &[3, 7], &[6, 4], &[0, 99], &[99, 0], &[usize::MAX, 5]] {
            ranges.partition(2..10, bounds);
            let ends = |cell: &CachePadded<Cell>| {
                cell.start.load(Ordering::Relaxed)..cell.end.load(Ordering::Relaxed)
            };
            let dealt: Vec<usize> = ranges.cells.iter().flat_map(ends).collect();
            assert_eq!(dealt, (2..10).collect::<Vec<_>>(), "{bounds:?}");
        }
    }

    #[test]
    fn a_view_has_what_a_victim_has_left_and_which_fence_it_asks_for() {
        let best = Fence::registered();
        let ranges = Ranges::new(1, best);
        ranges.partition(2..10, &[]);
        let seen = || {
            let view = VictimView(&ranges.cells[0]);
            (view.start(), view.left(), view.fence())
        };
        assert_eq!(seen(), (2, 8, None), "it has not entered");
        let (mut owner, _) = ranges.enter(0);
        assert_eq!(seen(), (3, 7, Some(Fence::Symmetric)), "the first item is claimed");
        owner.use_full_fences(false);
        assert_eq!(seen(), (3, 7, Some(best)));
        owner.use_full_fences(true);
        assert_eq!(seen(), (3, 7, Some(Fence::Symmetric)));
    }

    #[test]
    fn a_claim_that_lies_before_a_theft_under_way_does_not_wait_for_it() {
        let ranges = Ranges::new(1, Fence::Symmetric);
        ranges.partition(0..8, &[]);
        let (mut owner, _) = ranges.enter(0);
        let theft = lock(&ranges.cells[0].lock);
        ranges.cells[0].end.store(4, Ordering::Relaxed);
        assert_eq!(owner.claim(2, 2, |claims| assert!(claims.next().is_none())), ((), true));
        thread::scope(|threads| {
            let owner = &mut owner;
            let claim = threads.spawn(|| owner.resolve(2));
            let begin = Instant::now();
            while !claim.is_finished() && begin.elapsed() < Duration::from_secs(10) {
                thread::yield_now();
            }
            let has_waited = !claim.is_finished();
            drop(theft);
            assert_eq!((claim.join().unwrap(), has_waited), (1..3, false));
        });
        assert_eq!((owner.next(), owner.left()), (3, 5), "the theft may yet be undone");
    }

    /// Steals from worker 1, whose range a `truncate` empties before the theft.
    struct TooLate<'a>(&'a Ranges);

    impl StealPolicy for TooLate<'_> {
        fn victim(&mut self, others: &mut dyn Iterator<Item = (usize, usize)>) -> Option<usize> {
            others.next().map(|(worker, _)| worker)
        }

        fn pays(&mut self, victim: VictimView<'_>) -> bool {
            self.0.truncate(victim.start());
            true
        }

        fn middle(&mut self, _victim: usize, _left: Range<usize>) -> Option<usize> {
            unreachable!("nothing is left")
        }
    }

    #[test]
    fn a_theft_that_comes_too_late_is_counted() {
        let ranges = Ranges::new(2, Fence::Symmetric);
        ranges.partition(0..8, &[0]);
        let (mut owner, _) = ranges.enter(0);
        assert!(owner.steal(&mut TooLate(&ranges)).is_none());
        assert_eq!((owner.failed, ranges.thefts()), (1, 0));
    }

    /// Leaves the range of worker 1 to that worker.
    struct Spares;

    impl StealPolicy for Spares {
        fn victim(&mut self, others: &mut dyn Iterator<Item = (usize, usize)>) -> Option<usize> {
            others.next().map(|(worker, _)| worker)
        }

        fn pays(&mut self, _victim: VictimView<'_>) -> bool {
            true
        }

        fn middle(&mut self, victim: usize, left: Range<usize>) -> Option<usize> {
            (victim != 1).then_some(left.start)
        }
    }

    #[test]
    fn a_thief_that_leaves_a_range_to_its_victim_steals_from_another() {
        let ranges = Ranges::new(3, Fence::Symmetric);
        ranges.partition(0..9, &[0, 4]);
        let (mut owner, _) = ranges.enter(0);
        let stolen = owner.steal(&mut Spares).map(|stolen| (stolen.item, stolen.victim));
        assert_eq!(stolen, Some((4, 2)));
    }

    #[test]
    fn thefts_are_counted() {
        let ranges = Ranges::new(2, Fence::Symmetric);
        let (mut owner, _) = ranges.enter(0);
        for thefts in 1..=2 {
            ranges.partition(0..8, &[0]);
            assert!(matches!(owner.try_steal(1, &mut |left| Some(left.start)), Attempt::Done(0)));
            assert_eq!(ranges.thefts(), thefts);
        }
    }

    #[test]
    fn a_worker_that_lost_its_count_abandons_its_range_behind_the_last_claim() {
        let ranges = Ranges::new(1, Fence::Symmetric);
        ranges.partition(3..9, &[]);
        let (mut owner, _) = ranges.enter(0);
        let (claimed, _) = owner.claim(2, 4, |claims| [claims.next(), claims.next()]);
        assert_eq!(claimed, [Some(4..6), Some(6..8)]);
        assert_eq!((owner.abandon(), owner.next(), owner.left()), (7, 8, 0));
    }
}
