//! Range cells: every worker owns one range of indices, pops from its front, and steals the back half of another's.
//!
//! The protocol, and why every index is claimed exactly once, is in `README.md` beside this file. In short:
//! `start` is written by its owner alone (by the caller between rounds), `end` under the cell's lock alone. A claim stores
//! `start` and then reads `end`; a theft stores `end` and then reads `start`; the fences of [`Fence`] between the two make
//! sure that at least one of them sees the other.
//!
//! Orderings: accesses to `start` and `end` are `Relaxed` (but for one, in `rob`, that a scan relies on). What must be ordered between a claim and a theft is ordered by
//! the fences, what must be ordered between thieves by the locks, and what must be ordered between rounds by the barrier's
//! lock. Nothing is published *through* an index: the items are shared before the round and the results after it.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{iter, ops::Range, time::Duration};

use crossbeam_utils::CachePadded;

use super::{
    estimate::{Estimate, nanos},
    fence::Fence,
    near::{self, AtomicHome, Home},
    planted::{Bug, is_planted},
};
use crate::{
    clock::Instant,
    sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering, fence, lock, lock_soon, spin, try_lock},
};

/// From whom an idle worker steals; an option of [`PoolBuilder::stealing`](crate::PoolBuilder::stealing).
///
/// ```
/// use rangesteal::{Pool, Stealing};
///
/// let halves = Pool::builder().num_threads(2).stealing(Stealing::Off).build()?;
/// assert_eq!(halves.map_collect(&[1, 2, 3], |x| x + 1), [2, 3, 4]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stealing {
    /// From the worker with the largest range; but of those that have at least three quarters of that left, from the nearest: best
    /// from one that shares the last-level cache, otherwise from one of the same memory node. Of workers that are not pinned nobody is near.
    /// The default: few thefts, and few of them far.
    #[default]
    Largest,
    /// From the next worker, in worker order, that has anything left.
    Neighbour,
    /// From nobody who has begun: a static split, for comparison. The share of a worker that has not even woken up is still
    /// taken over, so that no loop waits for a sleeper.
    Off,
}

/// One worker's range.
#[derive(Debug)]
struct Cell {
    /// First index not yet claimed.
    start: AtomicUsize,
    /// End of the range.
    end: AtomicUsize,
    /// Held to write `end`. Knows the fences between the owner and its thieves; none until the owner has entered the round:
    /// before that it claims nothing.
    lock: Mutex<Option<Fence>>,
    /// Where the owner sits: a hint for thieves.
    home: AtomicHome,
}

impl Cell {
    /// How much is left, as far as a glance can tell.
    fn glance(&self) -> usize {
        let end = self.end.load(Ordering::Relaxed);
        end.saturating_sub(self.start.load(Ordering::Relaxed))
    }
}

/// The ranges of all workers.
#[derive(Debug)]
pub(crate) struct Ranges {
    cells: Box<[CachePadded<Cell>]>,
    fence: Fence,
    stealing: Stealing,
    /// Counts thefts begun. A scan that saw every cell empty while this moved is no proof that nothing is left.
    moves: CachePadded<AtomicUsize>,
    /// Counts thefts done.
    thefts: AtomicU64,
    /// What the heavy fence costs a thief, where it is dear.
    heavy: Estimate,
}

impl Ranges {
    pub(crate) fn new(workers: usize, fence: Fence, stealing: Stealing) -> Self {
        let empty = |_| {
            CachePadded::new(Cell {
                start: AtomicUsize::new(0),
                end: AtomicUsize::new(0),
                lock: Mutex::new(None),
                home: AtomicHome::default(),
            })
        };
        Self {
            cells: (0..workers).map(empty).collect(),
            fence,
            stealing,
            moves: CachePadded::new(AtomicUsize::new(0)),
            thefts: AtomicU64::new(0),
            heavy: Estimate::new(5e3),
        }
    }

    /// Tells thieves where `worker` sits; until then nobody is near it. For whoever has the turn, between rounds: a thief that sees the
    /// old place, or the new one too early, makes a worse choice and no mistake.
    pub(crate) fn seat(&self, worker: usize, home: Home) {
        self.cells[worker].home.store(home);
    }

    #[cfg(all(test, not(any(loom, shuttle, miri))))]
    pub(crate) fn home(&self, worker: usize) -> Home {
        self.cells[worker].home.load()
    }

    pub(crate) fn workers(&self) -> usize {
        self.cells.len()
    }

    /// Whether anything is stolen from workers that have begun.
    pub(crate) fn steals(&self) -> bool {
        self.stealing != Stealing::Off
    }

    /// Thefts since the ranges were made.
    pub(crate) fn thefts(&self) -> u64 {
        self.thefts.load(Ordering::Relaxed) // a count: orders nothing
    }

    /// Deals `items` to one worker more than there are `bounds`. Only between rounds: nobody else may touch the cells.
    ///
    /// The bounds are hints: every item is dealt exactly once, whatever they are.
    pub(crate) fn deal(&self, items: Range<usize>, bounds: &[usize]) {
        let ends = bounds.iter().copied().chain(iter::repeat(items.end));
        let mut start = items.start;
        for (cell, end) in self.cells.iter().zip(ends) {
            let end = end.clamp(start, items.end);
            let mut fence = lock(&cell.lock);
            *fence = None;
            cell.start.store(start, Ordering::Relaxed);
            cell.end.store(end, Ordering::Relaxed);
            start = end;
        }
    }

    /// Ends all ranges at index `at`. No claim of an item at or behind `at` starts afterwards; those in flight finish, and
    /// every item before it is still claimed exactly once.
    pub(crate) fn cut(&self, at: usize) {
        // All locks first, in index order: a theft between two cuts would carry items from an uncut cell into a cut one.
        let mut guards: Vec<_> = self.cells.iter().map(|cell| lock(&cell.lock)).collect();
        if is_planted(Bug::CutsUnlocked) || is_planted(Bug::CutsOneByOne) {
            guards.clear();
        }
        for cell in &self.cells {
            let _one = is_planted(Bug::CutsOneByOne).then(|| lock(&cell.lock));
            let end = cell.end.load(Ordering::Relaxed);
            let end = if is_planted(Bug::CutsLonger) { at } else { end.min(at) };
            cell.end.store(end, Ordering::Relaxed);
        }
        // For promptness only: without it a worker sees the cut when its CPU gets round to it.
        let _done = self.fence.heavy();
        drop(guards);
    }

    /// Lets worker `me` into the round and claims the first item of its range, if there is one left.
    pub(crate) fn enter(&self, me: usize) -> (Owner<'_>, Option<usize>) {
        let cell = &*self.cells[me];
        let fence = self.fence.full();
        let stealing = self.stealing;
        let mut owner = Owner { ranges: self, cell, fence, me, stealing, next: 0, end: 0, failed: 0 };
        let mut entered = lock(&cell.lock);
        *entered = (!is_planted(Bug::EntersUnknown)).then_some(fence);
        owner.next = cell.start.load(Ordering::Relaxed);
        let first = owner.claim_under(1, &entered).next();
        drop(entered);
        (owner, first)
    }

    /// Indices not yet claimed. Locks all cells, so that no theft is under way: in the middle of one, a range may be seen twice or not at
    /// all.
    pub(crate) fn left(&self) -> usize {
        let _guards: Vec<_> = self.cells.iter().map(|cell| lock(&cell.lock)).collect();
        self.cells.iter().map(|cell| cell.glance()).sum()
    }

    /// A cell to steal from, at a glance; not that of `spared`.
    fn victim(&self, me: usize, stealing: Stealing, spared: Option<usize>) -> Option<usize> {
        let others = (me + 1..self.cells.len()).chain(0..me).filter(|&worker| Some(worker) != spared);
        let mut left =
            others.map(|worker| (worker, self.cells[worker].glance())).filter(|&(_, left)| left > 0);
        match stealing {
            Stealing::Largest => {
                let here = self.cells[me].home.load();
                let distance = |worker: usize| here.distance(self.cells[worker].home.load());
                near::victim(left.map(|(worker, left)| (worker, left, distance(worker))))
            }
            Stealing::Neighbour => left.next().map(|(worker, _)| worker),
            Stealing::Off => {
                left.map(|(worker, _)| worker).find(|&worker| lock(&self.cells[worker].lock).is_none())
            }
        }
    }
}

/// What a thief sees of a victim.
enum Watched {
    /// It will have done the rest before a theft would be of use.
    AlmostDone,
    /// It has work for two. Or it is stuck: its claims took less than 0.4 µs when it last looked, and now it has been busy with a
    /// single one for longer. It cannot get at the rest of its range, and each theft of half of that would cost a dear fence:
    /// better take it all. When it comes back, it steals.
    Busy { stuck: bool },
}

/// Where a theft from that worker's rest begins: its first item, claimed by the thief. None: it is left to the victim.
pub(crate) type Middle<'a> = dyn Fn(usize, Range<usize>) -> Option<usize> + 'a;

/// The middle by number.
#[allow(clippy::unnecessary_wraps, reason = "a `Middle`")]
pub(crate) fn half(_victim: usize, left: Range<usize>) -> Option<usize> {
    Some(left.start + left.len() / 2)
}

/// Something stolen.
pub(crate) struct Loot {
    /// The index that came with it, claimed.
    pub(crate) item: usize,
    pub(crate) victim: usize,
}

/// How an attempt at a theft ended.
pub(crate) enum Theft {
    /// The item that came with it, claimed.
    Done(usize),
    /// The victim had nothing left, or was not to be robbed any more.
    Nothing,
    /// It is left to the victim.
    Left,
    /// The kernel refused the heavy fence.
    Refused,
}

/// A worker that has entered a round: the only one who pops from its range.
#[derive(Debug)]
pub(crate) struct Owner<'a> {
    ranges: &'a Ranges,
    cell: &'a Cell,
    /// As the cell knows it.
    fence: Fence,
    me: usize,
    stealing: Stealing,
    /// Equals the cell's `start` but during a claim, and behind a theft that was undone, when nothing is left.
    next: usize,
    /// The cell's `end`, as last seen under the lock: it can have shrunk since, never grown.
    end: usize,
    /// Attempts at a theft that brought nothing.
    failed: usize,
}

impl Owner<'_> {
    /// Items left in the own range, as last seen.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.end.saturating_sub(self.next)
    }

    /// The first item of the own range that is not yet claimed.
    #[inline(always)]
    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// After a panic, which has lost count of the claims: nothing is left in the own range, as far as its owner is concerned. Returns
    /// the last index claimed.
    pub(crate) fn lose_count(&mut self) -> usize {
        self.next = self.cell.start.load(Ordering::Relaxed);
        self.end = self.next;
        self.next.saturating_sub(1)
    }

    /// Attempts at a theft that brought nothing.
    pub(crate) fn failed(&self) -> usize {
        self.failed
    }

    /// Chooses the fences between this worker and its thieves: full ones make claims a little dearer and thefts much cheaper.
    #[inline(always)]
    pub(crate) fn use_full_fences(&mut self, full: bool) {
        let best = self.ranges.fence;
        let fence = if full { best.full() } else { best };
        if fence != self.fence {
            // Under the lock no theft is under way, and whoever locks the cell next sees what was claimed so far. Not worth
            // waiting for.
            if let Some(mut known) = try_lock(&self.cell.lock) {
                if !is_planted(Bug::ChangesUntold) {
                    *known = Some(fence);
                }
                self.fence = fence;
            }
        }
    }

    /// The hot loop: claims the next `N` items and folds them, `claims` times. `N * claims` must not exceed
    /// [`left`](Self::left).
    ///
    /// Ends early when a thief or a cut has moved the end: then it returns true, and [`settle`](Self::settle) tells what is claimed. Or
    /// `block` wants no more. It calls nothing, so that the accumulator stays in registers.
    #[inline(always)]
    pub(crate) fn fold<const N: usize, A, Z>(
        &mut self,
        claims: usize,
        mut acc: A,
        mut block: impl FnMut(A, Range<usize>) -> Result<A, Z>,
    ) -> Result<(A, bool), Z> {
        let Self { cell, fence, end, mut next, .. } = *self; // in registers
        for _ in 0..claims {
            // There is always a sum, since the range reaches that far. That it is checked tells the compiler how many items a
            // block has, which it then unrolls.
            let Some(behind) = next.checked_add(N) else { break };
            cell.start.store(behind, Ordering::Relaxed);
            fence.light(); // partner: the heavy fence in `rob`
            if cell.end.load(Ordering::Relaxed) != end {
                self.next = next;
                return Ok((acc, true));
            }
            match block(acc, next..behind) {
                Ok(folded) => acc = folded,
                Err(stop) => {
                    self.next = behind;
                    return Err(stop);
                }
            }
            next = behind;
        }
        self.next = next;
        Ok((acc, false))
    }

    /// What a claim of `size` items has claimed when the end has moved: all of them if the range still reaches that far, otherwise
    /// what is left.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle(&mut self, size: usize) -> Range<usize> {
        let first = self.next;
        let lock = match try_lock(&self.cell.lock) {
            Some(lock) => lock,
            // A theft is under way. Behind the light fence of the claim the thief's `end` tells what is safe; but it is no end
            // to remember, since the theft may be undone.
            None if first + size <= self.cell.end.load(Ordering::Relaxed) => {
                self.next += size;
                return first..self.next;
            }
            // Were the items only put back, an owner and a thief could keep each other from the last one for ever.
            None => lock_soon(&self.cell.lock),
        };
        self.claim_under(size, &lock)
    }

    /// Claims up to `size` items. No fence is needed: thieves and cuts hold the lock, too.
    fn claim_under(&mut self, size: usize, _own_lock: &MutexGuard<'_, Option<Fence>>) -> Range<usize> {
        self.end = self.cell.end.load(Ordering::Relaxed);
        let first = self.next;
        self.next += self.left().min(size);
        self.cell.start.store(self.next, Ordering::Relaxed);
        first..self.next
    }

    /// Steals the back of another range, about half, or all that a stuck victim has left, and claims the first item of it. None:
    /// there is nothing left to steal, but perhaps what `middle` leaves to a victim.
    #[cold]
    #[inline(never)]
    pub(crate) fn steal(&mut self, middle: &Middle<'_>) -> Option<Loot> {
        let mut spared = None;
        loop {
            // Partner: the Release increment in `rob`. If a glance at a victim sees the end that a theft cut, the load of
            // `moves` behind the Acquire fence sees that theft, and the scan is repeated.
            let before = self.ranges.moves.load(Ordering::Acquire);
            let Some(victim) = self.ranges.victim(self.me, self.stealing, spared) else {
                fence(Ordering::Acquire);
                if self.ranges.moves.load(Ordering::Relaxed) == before || is_planted(Bug::ScansOnce) {
                    return None;
                }
                continue;
            };
            match self.watch(victim) {
                Watched::AlmostDone => {}
                Watched::Busy { stuck } => {
                    let all = |_, left: Range<usize>| Some(left.start);
                    let theft = if stuck { self.rob(victim, &all) } else { self.rob(victim, middle) };
                    match theft {
                        Theft::Done(item) => return Some(Loot { item, victim }),
                        Theft::Nothing => self.failed += 1,
                        Theft::Left => spared = Some(victim),
                        Theft::Refused => self.stealing = Stealing::Off, // for this round
                    }
                }
            }
        }
    }

    /// Watches `victim` for a moment: at the pace it shows, is there time to steal?
    fn watch(&self, victim: usize) -> Watched {
        const THEFT: f32 = 5e3;
        let cell = &self.ranges.cells[victim];
        let known = *lock_soon(&cell.lock);
        let Some(fence) = known else {
            return Watched::Busy { stuck: false }; // not yet: it has not entered
        };
        let dear = fence.is_dear_for_thieves();
        let heavy = if dear { self.ranges.heavy.get() } else { 0.0 };
        // A victim that does not move may have been interrupted for a moment. The dearer the theft, the longer is the moment.
        let moment = (heavy / 2.0).clamp(1e3, 10e3);
        let start = cell.start.load(Ordering::Relaxed); // hints all
        spin(Duration::from_nanos(moment as u64), || cell.glance() == 0);
        let moved = cell.start.load(Ordering::Relaxed).saturating_sub(start);
        // Half of the rest is saved, and the victim pays for the fence as well.
        if (cell.glance() as f32) * moment < moved as f32 * (THEFT + 3.0 * heavy) {
            return Watched::AlmostDone;
        }
        Watched::Busy { stuck: moved == 0 && dear }
    }

    /// Passes the heavy side of `fence`, and learns what that costs.
    fn heavy(&self, fence: Fence) -> bool {
        if !fence.is_dear_for_thieves() {
            return fence.heavy();
        }
        let begin = Instant::now();
        let ordered = fence.heavy();
        self.ranges.heavy.see(nanos(begin.elapsed()));
        ordered
    }

    /// One attempt at a theft from `victim`, another worker: of what lies behind `middle`, which is claimed.
    pub(crate) fn rob(&mut self, victim: usize, middle: &Middle<'_>) -> Theft {
        let (own, from) = (self.cell, &*self.ranges.cells[victim]);
        // Lower index first, or two thieves with stale views of each other wait for ever.
        let own_is_low = self.me < victim || is_planted(Bug::OwnLockFirst);
        let (low, high) = if own_is_low { (own, from) } else { (from, own) };
        let low = lock_soon(&low.lock);
        let high = lock_soon(&high.lock);
        let (mut own_fence, fence) = if own_is_low { (low, high) } else { (high, low) };
        if fence.is_some() && self.stealing == Stealing::Off {
            return Theft::Nothing;
        }
        let end = from.end.load(Ordering::Relaxed);
        let mut start = from.start.load(Ordering::Relaxed);
        while start < end {
            let Some(middle) = middle(victim, start..end) else {
                return Theft::Left;
            };
            if is_planted(Bug::CutsBeforeItShows) {
                from.end.store(middle, Ordering::Release);
            }
            // Visible in the own cell before it vanishes from the victim's: nobody may believe that it is gone.
            own.start.store(middle + 1, Ordering::Relaxed);
            own.end.store(end, Ordering::Relaxed);
            self.ranges.moves.fetch_add(1, Ordering::Release); // partner: `steal`
            let cut = middle + usize::from(is_planted(Bug::CutsOneTooFew));
            from.end.store(cut, Ordering::Release); // partner: the Acquire fence in `steal`
            if is_planted(Bug::LetsGoUndecided) {
                drop(own_fence);
                own_fence = lock(&own.lock);
            }
            // A victim that has not entered claims nothing before it gets its lock: nothing to order.
            let ordered = fence.is_none_or(|fence| self.heavy(fence)); // partner: the light fence in `fold`
            start = from.start.load(Ordering::Relaxed);
            if ordered && start <= middle + usize::from(is_planted(Bug::KeepsOneTooMany)) {
                (self.next, self.end) = (middle + 1, end);
                self.fence = self.fence.full();
                *own_fence = Some(self.fence);
                self.ranges.thefts.fetch_add(1, Ordering::Relaxed); // a count: orders nothing
                return Theft::Done(middle);
            }
            // The victim has claimed `middle`, or we do not know. First give back, then forget.
            from.end.store(end, Ordering::Relaxed);
            own.end.store(middle + 1, Ordering::Relaxed);
            self.failed += 1;
            if !ordered {
                return Theft::Refused;
            }
        }
        Theft::Nothing
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_dealt_once_whatever_the_bounds() {
        let ranges = Ranges::new(3, Fence::Symmetric, Stealing::Largest);
        for bounds in [&[][..], &[3], &[3, 7], &[6, 4], &[0, 99], &[99, 0], &[usize::MAX, 5]] {
            ranges.deal(2..10, bounds);
            let ends = |cell: &CachePadded<Cell>| {
                cell.start.load(Ordering::Relaxed)..cell.end.load(Ordering::Relaxed)
            };
            let dealt: Vec<usize> = ranges.cells.iter().flat_map(ends).collect();
            assert_eq!(dealt, (2..10).collect::<Vec<_>>(), "{bounds:?}");
        }
    }

    /// What worker 3 steals first, of so many items of the others.
    fn stolen(homes: [Home; 4], [far, same_node, same_cache]: [usize; 3]) -> (usize, usize) {
        let ranges = Ranges::new(4, Fence::Symmetric, Stealing::Largest);
        homes.into_iter().enumerate().for_each(|(worker, home)| ranges.seat(worker, home));
        let items = far + same_node + same_cache;
        ranges.deal(0..items, &[far, far + same_node, items]);
        let (mut thief, first) = ranges.enter(3);
        assert_eq!(first, None);
        let Loot { item, victim } = thief.steal(&half).expect("something is left");
        (victim, item)
    }

    #[test]
    fn thieves_prefer_the_near_to_the_slightly_larger() {
        let homes = [Home::new(0, 0), Home::new(1, 1), Home::new(2, 1), Home::new(2, 1)];
        assert_eq!(stolen(homes, [100, 100, 100]), (2, 250), "the nearest of equals");
        assert_eq!(stolen(homes, [100, 90, 76]), (2, 228), "the nearest of those about as large");
        assert_eq!(stolen(homes, [100, 80, 60]), (1, 140), "the node is nearer than what lies beyond");
        assert_eq!(stolen(homes, [100, 50, 60]), (0, 50), "much larger");
        assert_eq!(stolen(homes, [60, 100, 50]), (1, 110), "much larger in the node");
        assert_eq!(stolen(homes, [0, 0, 7]), (2, 3), "the only one");
        // Where not all is known, nobody is near.
        assert_eq!(stolen([Home::default(); 4], [100, 90, 80]), (0, 50));
        let [far, same_node, same_cache, thief] = homes;
        assert_eq!(stolen([far, same_node, same_cache, Home::default()], [100, 90, 80]), (0, 50));
        assert_eq!(stolen([far, same_node, Home::default(), thief], [100, 90, 95]), (1, 145));
    }
}
