//! The range of one worker, and how a theft moves a part of it.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use super::Fence;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// The range of one worker.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// The first index that is not claimed. In a loop only the owner writes this; between loops,
    /// the caller writes it.
    pub(crate) start: AtomicUsize,
    /// The end of the range. Once the loop is offered, it is written only under the lock.
    pub(crate) end: AtomicUsize,
    /// The pair of fences between the owner and its thieves; [`NOT_ENTERED`] until the owner has
    /// entered the loop. Before it has entered, the owner claims nothing. Once the loop is offered,
    /// this is written only under the lock.
    fence: AtomicUsize,
    /// A thread that writes `end` or `fence` holds this lock, unless the loop is not offered yet.
    pub(crate) lock: Mutex<()>,
}

const NOT_ENTERED: usize = 0;
/// The pairs of fences, by their words minus one.
const FENCES: [Fence; 2] = [Fence::Asymmetric, Fence::Symmetric];

impl Cell {
    /// The number of items left, read without the lock. A hint.
    pub(crate) fn left(&self) -> usize {
        let end = self.end.load(Ordering::Relaxed);
        end.saturating_sub(self.start.load(Ordering::Relaxed))
    }

    /// The pair of fences between the owner and its thieves; `None` if the owner has not entered
    /// the loop yet. A hint, unless the calling thread holds the lock.
    pub(crate) fn fence(&self) -> Option<Fence> {
        let word = self.fence.load(Ordering::Relaxed);
        word.checked_sub(1).map(|at| FENCES[at])
    }

    /// The owner uses this pair of fences from now on. The calling thread holds the lock, or the
    /// loop is not offered yet.
    pub(crate) fn set_fence(&self, fence: Fence) {
        self.fence.store(fence as usize + 1, Ordering::Relaxed);
    }

    /// Between loops, without the lock: deals `items` to an owner that has not entered.
    pub(crate) fn deal(&self, items: Range<usize>) {
        self.fence.store(NOT_ENTERED, Ordering::Relaxed);
        self.start.store(items.start, Ordering::Relaxed);
        self.end.store(items.end, Ordering::Relaxed);
    }
}

/// A locked cell.
pub(crate) struct Locked<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) _lock: MutexGuard<'a, ()>,
}

/// The cells of a thief and of its victim, both locked.
pub(crate) struct Both<'a> {
    pub(crate) own: Locked<'a>,
    pub(crate) victim: Locked<'a>,
}

impl Both<'_> {
    /// Moves the range behind `middle` from the victim's cell to the thief's. The range first
    /// appears in the thief's cell. Then this function increments `moves`, and then it shortens the
    /// victim's cell. So no scan misses the range.
    #[inline(always)]
    pub(crate) fn transfer(&self, middle: usize, end: usize, moves: &AtomicUsize) {
        self.own.cell.start.store(middle + 1, Ordering::Relaxed);
        self.own.cell.end.store(end, Ordering::Relaxed);
        moves.fetch_add(1, Ordering::Release); // partner: the Acquire load in `steal`
        self.victim.cell.end.store(middle, Ordering::Release); // partner: the Acquire fence in `steal`
    }
}

/// Locks all cells, in the order of their indices.
#[inline(always)]
pub(crate) fn lock_all(cells: &[CachePadded<Cell>]) -> Vec<MutexGuard<'_, ()>> {
    cells.iter().map(|cell| lock(&cell.lock)).collect()
}
