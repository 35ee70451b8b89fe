//! The range of one worker, and how a theft moves a part of it.

use crossbeam_utils::CachePadded;

use super::Fence;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// The range of one worker.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// The first index that is not claimed. In a round only the owner writes this; between rounds,
    /// the caller writes it.
    pub(crate) start: AtomicUsize,
    /// The end of the range. Written only under the lock.
    pub(crate) end: AtomicUsize,
    /// A thread that writes `end` holds this lock. Contains the pair of fences between the owner
    /// and its thieves; `None` until the owner has entered the round. Before it has entered, the
    /// owner claims nothing.
    pub(crate) lock: Mutex<Option<Fence>>,
}

impl Cell {
    /// The number of items left, read without the lock. A hint.
    pub(crate) fn left(&self) -> usize {
        let end = self.end.load(Ordering::Relaxed);
        end.saturating_sub(self.start.load(Ordering::Relaxed))
    }
}

/// A locked cell, and the pair of fences that its lock protects.
pub(crate) struct Locked<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) fence: MutexGuard<'a, Option<Fence>>,
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
pub(crate) fn lock_all(cells: &[CachePadded<Cell>]) -> Vec<MutexGuard<'_, Option<Fence>>> {
    cells.iter().map(|cell| lock(&cell.lock)).collect()
}
