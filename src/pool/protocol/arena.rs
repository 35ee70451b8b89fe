//! Arenas: a shared loop has one for itself as long as it runs.
//!
//! An arena has one caller at a time, who takes it, deals ranges, and gives it back when no worker
//! is inside any more. Workers have numbers of their own in an arena, *seats*: the caller has seat
//! 0, and a helper gets a seat when it enters.
//!
//! Arenas are made as they are needed, and freed with the pool: a worker that leaves a loop touches
//! its arena after the caller may have returned.

#![allow(unused_qualifications)] // builds for models take the steps from `check`

use std::sync::{Arc, OnceLock, atomic::AtomicUsize as Hint};

use crossbeam_utils::CachePadded;

use super::{Fence, range::Ranges};
#[cfg(any(loom, shuttle, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(loom, shuttle, planted)))]
use crate::pool::protocol::arena as steps;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Ordering};

/// How many loops of a pool can be shared at a time. A loop that finds no arena runs alone.
pub(crate) const ARENAS: usize = 16;

/// What one shared loop needs.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Whether a caller has taken it.
    pub(crate) is_taken: AtomicBool,
    pub(crate) ranges: Arc<Ranges>,
    /// How often somebody was called into the loop. The caller polls this while it rests: a hint,
    /// and Relaxed.
    pub(super) calls: AtomicU64,
    /// Where the caller waits for the last worker to leave.
    pub(super) done: Condvar,
    /// The thread that has each seat, plus one; 0 if none has. A caller that is no thread of the
    /// pool is thread 0. Cleared by the caller before it publishes, and then written under the
    /// state lock. Read by thieves as a hint, hence Relaxed.
    seats: Box<[Hint]>,
    /// The arena of the loop in whose item this loop was called, plus one; 0 if there is none.
    /// Written by the caller before it publishes. Read under the state lock, and by threads that
    /// work in this loop as a hint.
    outer: Hint,
    /// Whether the caller waits for the last worker, and whether a place has been opened inside
    /// since it last looked. Hints, and Relaxed.
    pub(super) waits: AtomicBool,
    pub(super) is_wanted: AtomicBool,
    /// How many workers have entered and not left. Written under the state lock, which orders it,
    /// hence Relaxed; read without the lock only while polling. Written in one step for loom's
    /// sake: loom tries a store before what another thread read, but not if the storing thread has
    /// read in between.
    pub(crate) active: CachePadded<AtomicUsize>,
}

impl Arena {
    fn new(workers: usize, fence: Fence) -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            ranges: Arc::new(Ranges::new(workers, fence)),
            calls: AtomicU64::new(0),
            done: Condvar::new(),
            seats: (0..workers).map(|_| Hint::new(0)).collect(),
            outer: Hint::new(0),
            waits: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            active: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// The thread that has `seat`. If nobody has, the one that has it most often.
    pub(crate) fn thread_at(&self, seat: usize) -> usize {
        self.seats[seat].load(Ordering::Relaxed).checked_sub(1).unwrap_or(seat)
    }

    /// Whether no worker is inside, or a place has been opened in a loop inside: a hint.
    pub(super) fn is_over_or_wanted(&self) -> bool {
        self.active.load(Ordering::Relaxed) == 0 || self.is_wanted.load(Ordering::Relaxed)
    }

    /// The arena of the loop in whose item this loop was called.
    pub(super) fn outer(&self) -> Option<usize> {
        self.outer.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Thread `caller` takes seat 0, and the seats of `helpers` helpers are free. The loop was
    /// called in an item of the one in arena `outer`.
    pub(super) fn prepare(&self, caller: usize, outer: Option<usize>, helpers: usize) {
        self.seats[0].store(caller + 1, Ordering::Relaxed);
        self.seats[1..=helpers].iter().for_each(|seat| seat.store(0, Ordering::Relaxed));
        self.outer.store(outer.map_or(0, |outer| outer + 1), Ordering::Relaxed);
    }

    /// Gives `thread` one of the first `helpers` seats, under the state lock: that with its own
    /// number if it is free, or else the first one.
    pub(super) fn take_seat(&self, thread: usize, helpers: usize) -> Option<usize> {
        let is_free = |seat: &usize| steps::is_free(self.seats[*seat].load(Ordering::Relaxed));
        let own = Some(thread).filter(|own| (1..=helpers).contains(own) && is_free(own));
        let seat = own.or_else(|| (1..=helpers).find(is_free))?;
        self.seats[seat].store(thread + 1, Ordering::Relaxed);
        Some(seat)
    }

    /// Frees a seat, under the state lock.
    pub(super) fn leave_seat(&self, seat: usize) {
        self.seats[seat].store(0, Ordering::Relaxed);
    }
}

/// The arenas of a pool.
#[derive(Debug)]
pub(crate) struct Arenas {
    all: [OnceLock<Box<Arena>>; ARENAS],
    workers: usize,
    fence: Fence,
}

impl Arenas {
    /// Arenas for `workers` workers each. One of them is made at once, if there are helpers.
    pub(crate) fn new(workers: usize, fence: Fence) -> Self {
        let arenas = Self { all: [const { OnceLock::new() }; ARENAS], workers, fence };
        if workers > 1 {
            arenas.get_or_make(0);
        }
        arenas
    }

    /// Takes the first arena that nobody has.
    pub(crate) fn take(&self) -> Option<Turn<'_>> {
        (0..ARENAS).find_map(|number| {
            let arena = self.get_or_make(number);
            steps::takes_arena(arena).then(|| Turn { arena, number })
        })
    }

    /// Those that have been made.
    pub(crate) fn made(&self) -> impl Iterator<Item = &Arena> {
        self.all.iter().map_while(OnceLock::get).map(|arena| &**arena)
    }

    pub(super) fn get(&self, number: usize) -> Option<&Arena> {
        self.all[number].get().map(|arena| &**arena)
    }

    /// The arenas of the loops around the one in arena `number`, from the inside to the outside:
    /// the loop in whose item that was called, and so on. Threads work in all of them as long as
    /// it runs.
    pub(super) fn around(&self, number: usize) -> impl Iterator<Item = (usize, &Arena)> {
        let next = |number: usize| self.get(number).map(|arena| (number, arena));
        let mut at = self.get(number).and_then(Arena::outer).and_then(next);
        std::iter::from_fn(move || {
            let this = at?;
            at = this.1.outer().and_then(next);
            Some(this)
        })
    }

    /// An arena is made outside of the `OnceLock`: an allocator may call a loop, and that takes
    /// another arena or none.
    fn get_or_make(&self, number: usize) -> &Arena {
        let place = &self.all[number];
        if let Some(arena) = place.get() {
            return arena;
        }
        let made = Box::new(Arena::new(self.workers, self.fence));
        place.get_or_init(move || made)
    }
}

/// The right to share a loop in an arena.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) number: usize,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.arena.is_taken.store(false, Ordering::Release); // partner: `takes_arena`
    }
}

/// Whether a seat is free that `thread` has.
#[inline(always)]
pub(crate) fn is_free(thread: usize) -> bool {
    thread == 0
}

/// Takes an arena if nobody has it.
#[inline(always)]
pub(crate) fn takes_arena(arena: &Arena) -> bool {
    // Acquire: partner `Turn::drop`. The loop of the caller before is over.
    !arena.is_taken.load(Ordering::Relaxed) && !arena.is_taken.swap(true, Ordering::Acquire)
}
