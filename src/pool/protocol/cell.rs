//! The range of one worker, and the single steps of the protocol. Each step is a function, so that
//! a model can replace it by a wrong step (`check/planted.rs`).

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

/// Whether a thief locks its own cell first. Every thief locks the cell with the lower index first.
/// Otherwise two thieves that steal from each other could wait for ever.
#[inline(always)]
pub(crate) fn own_lock_first(me: usize, victim: usize) -> bool {
    me < victim
}

/// Tells thieves which pair of fences the owner of a cell uses in its claims from now on. The
/// calling thread holds the lock of the cell.
#[inline(always)]
pub(crate) fn tell(known: &mut Option<Fence>, fence: Fence) {
    *known = Some(fence);
}

/// Moves the range behind `middle` from the victim's cell to the thief's. The range first appears
/// in the thief's cell. Then this function increments `moves`, and then it shortens the victim's
/// cell. So no scan misses the range.
#[inline(always)]
pub(crate) fn transfer<'a>(both: Both<'a>, middle: usize, end: usize, moves: &AtomicUsize) -> Both<'a> {
    both.own.cell.start.store(middle + 1, Ordering::Relaxed);
    both.own.cell.end.store(end, Ordering::Relaxed);
    moves.fetch_add(1, Ordering::Release); // partner: the Acquire load in `steal`
    both.victim.cell.end.store(middle, Ordering::Release); // partner: the Acquire fence in `steal`
    both
}

/// Whether a theft at `middle` stands, given the victim's `start` as seen after the fence.
#[inline(always)]
pub(crate) fn stands(middle: usize, start: usize) -> bool {
    start <= middle
}

/// Whether a scan that found nothing is valid: no theft has begun since `before` was read.
#[inline(always)]
pub(crate) fn is_still(before: usize, moves: usize) -> bool {
    moves == before
}

/// Locks all cells, in the order of their indices.
#[inline(always)]
pub(crate) fn lock_all(cells: &[CachePadded<Cell>]) -> Vec<MutexGuard<'_, Option<Fence>>> {
    cells.iter().map(|cell| lock(&cell.lock)).collect()
}

/// Lowers the end of a range to `at`. The calling thread holds the locks of all cells.
#[inline(always)]
pub(crate) fn lower(cell: &Cell, at: usize) {
    let end = cell.end.load(Ordering::Relaxed);
    cell.end.store(end.min(at), Ordering::Relaxed);
}
