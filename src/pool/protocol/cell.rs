//! One worker's range, and the single steps that the protocol is made of. Each step is a function
//! of its own, so that the models can do one of them wrong (`check/planted.rs`).

use crossbeam_utils::CachePadded;

use super::Fence;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// The range of one worker.
#[derive(Debug)]
pub(crate) struct Cell {
    /// The first index not yet claimed. Written only by the owner; between rounds, by the caller.
    pub(crate) start: AtomicUsize,
    /// The end of the range. Written only under the lock.
    pub(crate) end: AtomicUsize,
    /// Held to write `end`. Holds the fences between the owner and its thieves; none until the
    /// owner has entered the round, since before that it claims nothing.
    pub(crate) lock: Mutex<Option<Fence>>,
}

impl Cell {
    /// An empty range.
    pub(crate) fn empty() -> Self {
        Self { start: AtomicUsize::new(0), end: AtomicUsize::new(0), lock: Mutex::new(None) }
    }

    /// How many items are left, as far as a glance can tell.
    pub(crate) fn glance(&self) -> usize {
        let end = self.end.load(Ordering::Relaxed);
        end.saturating_sub(self.start.load(Ordering::Relaxed))
    }
}

/// A cell whose lock is held, and the fences that the lock guards.
pub(crate) struct Locked<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) fence: MutexGuard<'a, Option<Fence>>,
}

/// The cells of a thief and of its victim, both locked.
pub(crate) struct Both<'a> {
    pub(crate) own: Locked<'a>,
    pub(crate) victim: Locked<'a>,
}

/// Whether a thief locks its own cell before that of its victim. The cell with the lower index is
/// locked first; otherwise two thieves with stale views of each other could wait for ever.
#[inline(always)]
pub(crate) fn own_lock_first(me: usize, victim: usize) -> bool {
    me < victim
}

/// Tells thieves which fence the owner of a cell uses in its claims from now on. The lock is held.
#[inline(always)]
pub(crate) fn tell(known: &mut Option<Fence>, fence: Fence) {
    *known = Some(fence);
}

/// Moves the range behind `middle` from the victim's cell to the thief's cell. First it appears in
/// the thief's cell and is counted in `moves`, and then it disappears from the victim's cell, so
/// that no scan can believe that it is gone.
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

/// Lowers the end of a range to `at`. All locks are held.
#[inline(always)]
pub(crate) fn lower(cell: &Cell, at: usize) {
    let end = cell.end.load(Ordering::Relaxed);
    cell.end.store(end.min(at), Ordering::Relaxed);
}
