//! Arenas: while a loop is shared, it has an arena.
//!
//! An arena has at most one caller at any moment. The caller takes the arena, partitions the
//! ranges, and gives the arena back when no worker is inside. The number of a worker in an arena is
//! its *seat*: the caller has seat 0, and a helper gets a seat when it enters.
//!
//! Arenas are made on demand. They are freed with the pool and not earlier, since a worker that
//! leaves a loop may touch its arena after the caller has returned.

use std::{
    array,
    ops::Range,
    sync::{
        Arc,
        atomic::AtomicUsize as Hint, // of std also in loom's models: a lock orders it, or nothing
    },
};

use crossbeam_utils::CachePadded;

use crate::pool::supply::{Fence, range::Ranges};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, OnceLock, Ordering};

/// The maximum number of loops of a pool that are shared at the same time. A loop that finds no
/// arena runs alone.
pub(crate) const ARENAS: usize = 16;

/// The state of one shared loop.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Its number among the arenas of the pool.
    pub(crate) number: usize,
    pub(crate) ranges: Arc<Ranges>,
    /// How many times a thread was called back into the loop. The caller polls this while it rests:
    /// a hint, Relaxed.
    pub(super) callbacks: AtomicU64,
    /// The caller sleeps here until the last worker leaves, or until the caller is called back.
    pub(super) done: Condvar,
    /// For each seat, the number of the thread in it, plus one; 0 if the seat is free. A seat whose
    /// thread has an offer is not free. A caller that is not a thread of the pool is thread 0. The
    /// caller clears the seats before it publishes. Later writes hold the lock of the job. Thieves
    /// read the seats as hints, hence Relaxed.
    seats: Box<[Hint]>,
    /// The number of the outer loop's arena, plus one; 0 if this loop was not called in an item of
    /// another loop. The caller writes this before it publishes. Threads read this under the lock
    /// of the job; threads that work in this loop, and callers that wait, also read it as a hint.
    outer: Hint,
    /// Whether a worker may enter the loop again. The caller writes this before the first offer,
    /// and threads that have a token read it. It orders nothing, hence Relaxed.
    reentry: Hint,
    /// The number of open places. Each has a free seat. Written under the lock of the arena's job:
    /// see [`places`](Self::places).
    pub(super) open: Hint,
    /// The seats from the first of these to the second belong to sleeping workers that have an
    /// offer and are not rung yet. Hints: a worker that is not rung comes too late.
    next_to_ring: Hint,
    last_to_ring: Hint,
    /// The tokens of the loop that are out, times [`TOKEN`], plus [`SLEEPS`] if the caller sleeps.
    /// A token is in an offer, in an open place, or with a worker inside. The loop is over when all
    /// tokens are back.
    pub(crate) active: CachePadded<AtomicUsize>,
    /// The words that each call writes. They lie apart: if calls are alike, the other fields stay
    /// in the caches of all workers.
    pub(crate) caller: CachePadded<OfCaller>,
}

/// The part of an arena that belongs to its caller.
#[derive(Debug, Default)]
pub(crate) struct OfCaller {
    /// Whether a caller has taken this arena.
    pub(crate) is_taken: AtomicBool,
    /// Whether the caller rests, or waits for the last worker. A hint, Relaxed.
    pub(super) waits: AtomicBool,
    /// Whether an inner loop has opened a place since the caller last checked. A hint, Relaxed.
    pub(super) is_wanted: AtomicBool,
}

/// The threads that were called back into a loop, and have not come yet. The lock of the job
/// protects this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recalls {
    /// How many open places are for threads that were called back, and how many threads get one as
    /// soon as a worker leaves its seat. The caller may take these calls, too.
    pub(super) places: usize,
    pub(super) owed: usize,
    /// How often the caller was called back, and whether it rests.
    pub(super) of_caller: usize,
    pub(super) rests: bool,
}

impl Recalls {
    pub(super) const NONE: Self = Self { places: 0, owed: 0, of_caller: 0, rests: false };

    pub(super) fn is_empty(&self) -> bool {
        self.of_caller + self.owed + self.places == 0
    }
}

/// The caller sleeps on `done`.
pub(crate) const SLEEPS: usize = 1;
/// One token.
pub(super) const TOKEN: usize = 2;

impl Arena {
    fn new(number: usize, workers: usize, fence: Fence) -> Self {
        Self {
            number,
            ranges: Arc::new(Ranges::new(workers, fence)),
            callbacks: AtomicU64::new(0),
            done: Condvar::new(),
            seats: (0..workers).map(|_| Hint::new(0)).collect(),
            outer: Hint::new(0),
            reentry: Hint::new(0),
            open: Hint::new(0),
            next_to_ring: Hint::new(0),
            last_to_ring: Hint::new(0),
            active: CachePadded::new(AtomicUsize::new(0)),
            caller: CachePadded::default(),
        }
    }

    /// The thread in `seat`. If the seat is free, the thread whose number is that of the seat: this
    /// thread has the seat most often.
    pub(crate) fn thread_at(&self, seat: usize) -> usize {
        self.seats[seat].load(Ordering::Relaxed).checked_sub(1).unwrap_or(seat)
    }

    /// The number of tokens that are out. A hint, unless the load is an Acquire that finds none.
    pub(crate) fn tokens(&self, order: Ordering) -> usize {
        self.active.load(order) / TOKEN
    }

    /// The number of tokens that are out now.
    pub(super) fn tokens_now(&self) -> usize {
        // A read-modify-write reads the last value; partner: `give_back`.
        self.active.fetch_add(0, Ordering::Acquire) / TOKEN
    }

    /// The number of open places. Exact under the lock of the job, and otherwise a hint.
    pub(super) fn places(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Whether the caller sleeps on `done`. Exact under the lock of the job.
    pub(super) fn caller_sleeps(&self) -> bool {
        self.active.load(Ordering::Relaxed) & SLEEPS != 0
    }

    /// Whether all tokens are back, or an inner loop has opened a place. A hint.
    pub(super) fn is_over_or_wanted(&self) -> bool {
        self.tokens(Ordering::Relaxed) == 0 || self.caller.is_wanted.load(Ordering::Relaxed)
    }

    /// The sleeping workers in these seats have an offer. They are rung one after the other.
    pub(super) fn to_ring(&self, seats: Range<usize>) {
        if !seats.is_empty() {
            self.next_to_ring.store(seats.start, Ordering::Relaxed);
            self.last_to_ring.store(seats.end - 1, Ordering::Release); // partner: the method `next_to_ring`
        }
    }

    /// Whether a worker is to be rung.
    #[inline(always)]
    pub(super) fn has_to_ring(&self) -> bool {
        self.next_to_ring.load(Ordering::Relaxed) <= self.last_to_ring.load(Ordering::Relaxed)
    }

    /// The thread that is rung next.
    #[inline(never)]
    pub(super) fn next_to_ring(&self) -> Option<usize> {
        let last = self.last_to_ring.load(Ordering::Acquire); // partner: `to_ring`
        if self.next_to_ring.load(Ordering::Relaxed) > last {
            return None;
        }
        let seat = self.next_to_ring.fetch_add(1, Ordering::Relaxed);
        (seat <= last).then(|| self.thread_at(seat))
    }

    /// The arena of the loop in whose item this loop was called.
    pub(super) fn outer(&self) -> Option<usize> {
        self.outer.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Whether a worker may enter the loop again.
    pub(super) fn may_reenter(&self) -> bool {
        self.reentry.load(Ordering::Relaxed) != 0
    }

    /// Gives seat 0 to thread `caller`, and frees the seats of `helpers` helpers. The loop was
    /// called in an item of the loop in arena `outer`.
    pub(super) fn prepare(&self, caller: usize, outer: Option<usize>, helpers: usize, may_reenter: bool) {
        set(&self.seats[0], caller + 1);
        self.seats[1..=helpers].iter().for_each(|seat| set(seat, 0));
        set(&self.outer, outer.map_or(0, |outer| outer + 1));
        set(&self.reentry, may_reenter.into());
        set(&self.last_to_ring, 0);
        set(&self.next_to_ring, 1);
    }

    /// The threads in the seats of the helpers.
    pub(super) fn seated(&self, helpers: usize) -> impl Iterator<Item = usize> {
        let thread = |seat: &Hint| seat.load(Ordering::Relaxed).checked_sub(1);
        self.seats[1..=helpers].iter().filter_map(thread)
    }

    /// The number of free seats of the helpers.
    pub(super) fn free_seats(&self, helpers: usize) -> usize {
        helpers - self.seated(helpers).count()
    }

    /// The first free seat of the helpers; the one behind them if all are taken.
    pub(super) fn first_free_seat(&self, helpers: usize) -> usize {
        (1..=helpers).find(|seat| self.is_free(*seat)).unwrap_or(helpers + 1)
    }

    fn is_free(&self, seat: usize) -> bool {
        self.seats[seat].load(Ordering::Relaxed) == 0
    }

    /// Gives `thread` this seat, under the lock of the job.
    pub(super) fn give_seat(&self, seat: usize, thread: usize) {
        self.seats[seat].store(thread + 1, Ordering::Relaxed);
    }

    /// Gives `thread` one of the first `helpers` seats, under the lock of the job: the seat with
    /// its own number if that is free, otherwise the first free one.
    pub(super) fn take_seat(&self, thread: usize, helpers: usize) -> Option<usize> {
        let is_free = |seat: &usize| self.is_free(*seat);
        let own = Some(thread).filter(|own| (1..=helpers).contains(own) && is_free(own));
        let seat = own.or_else(|| (1..=helpers).find(is_free))?;
        debug_assert!(is_free(&seat), "*seat*: two threads in seat {seat}");
        self.give_seat(seat, thread);
        Some(seat)
    }

    /// Frees a seat, under the lock of the job.
    pub(super) fn leave_seat(&self, seat: usize) {
        self.seats[seat].store(0, Ordering::Relaxed);
    }
}

/// Sets a hint. A hint that has this value stays in the caches of the threads that read it.
fn set(hint: &Hint, value: usize) {
    if hint.load(Ordering::Relaxed) != value {
        hint.store(value, Ordering::Relaxed);
    }
}

/// An arena that is made on demand. `OnceLock` guarantees that a thread which finds the arena sees
/// all writes of the thread that has made it.
pub(crate) type LazyArena = OnceLock<Box<Arena>>;

/// The arenas of a pool.
#[derive(Debug)]
pub(crate) struct Arenas {
    all: [LazyArena; ARENAS],
    workers: usize,
    fence: Fence,
}

impl Arenas {
    /// Arenas for `workers` workers each. Makes one of them at once if there are helpers.
    pub(crate) fn new(workers: usize, fence: Fence) -> Self {
        let arenas = Self { all: array::from_fn(|_| OnceLock::new()), workers, fence };
        if workers > 1 {
            arenas.get_or_make(0);
        }
        arenas
    }

    /// Takes the first free arena.
    pub(crate) fn take(&self) -> Option<Turn<'_>> {
        (0..ARENAS).find_map(|number| {
            let arena = self.get_or_make(number);
            // Acquire; partner: `Turn::drop`. The loop of the previous caller is over.
            let is_free = !arena.caller.is_taken.load(Ordering::Relaxed)
                && !arena.caller.is_taken.swap(true, Ordering::Acquire);
            is_free.then(|| Turn { arena })
        })
    }

    /// The arenas that exist.
    pub(crate) fn made(&self) -> impl Iterator<Item = &Arena> {
        self.all.iter().map_while(OnceLock::get).map(|arena| &**arena)
    }

    pub(super) fn get(&self, number: usize) -> Option<&Arena> {
        self.all[number].get().map(|arena| &**arena)
    }

    /// The arenas of the loops around the loop in arena `number`, from the innermost to the
    /// outermost. While the loop in arena `number` runs, threads work in all loops around it.
    pub(super) fn around(&self, number: usize) -> impl Iterator<Item = &Arena> {
        let next = |number: usize| self.get(number);
        let mut at = self.get(number).and_then(Arena::outer).and_then(next);
        std::iter::from_fn(move || {
            let this = at?;
            at = this.outer().and_then(next);
            Some(this)
        })
    }

    /// Returns an arena, and makes it first if it does not exist. The allocation happens outside of
    /// the `OnceLock`, because an allocator may call a loop. That loop takes another arena or none.
    fn get_or_make(&self, number: usize) -> &Arena {
        let place = &self.all[number];
        if let Some(arena) = place.get() {
            return arena;
        }
        let made = Box::new(Arena::new(number, self.workers, self.fence));
        place.get_or_init(move || made) // unless another thread has put an arena there
    }
}

/// The right to share a loop in an arena.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) arena: &'a Arena,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.arena.caller.is_taken.store(false, Ordering::Release); // partner: `Arenas::take`
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_loops_around_a_loop_are_those_from_the_inside_to_the_outside() {
        let arenas = Arenas::new(2, Fence::Symmetric);
        let turns: Vec<_> = (0..3).map(|_| arenas.take().expect("an arena is free")).collect();
        for (turn, outer) in turns.iter().zip([None, Some(0), Some(1)]) {
            turn.arena.prepare(0, outer, 1, false);
        }
        assert!(arenas.around(2).map(|arena| arena.number).eq([1, 0]));
    }

    /// Another loop has used the arena before.
    #[test]
    fn a_loop_that_no_loop_is_around_has_no_outer_loop() {
        let arenas = Arenas::new(2, Fence::Symmetric);
        let turns: Vec<_> = (0..2).map(|_| arenas.take().expect("an arena is free")).collect();
        turns[1].arena.prepare(1, Some(0), 1, false);
        assert_eq!(turns[1].arena.outer(), Some(0));
        turns[1].arena.prepare(0, None, 1, false);
        assert_eq!(turns[1].arena.outer(), None, "the outer loop of the loop before");
        assert_eq!(arenas.around(1).count(), 0);
    }

    /// In every order in which three threads come and go, no two of them have one seat.
    #[test]
    fn a_seat_has_one_thread() {
        for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
            for helpers in 1..=3 {
                let arena = Arena::new(0, 4, Fence::Symmetric);
                arena.prepare(0, None, helpers, false);
                let mut taken: Vec<usize> =
                    order.iter().filter_map(|thread| arena.take_seat(*thread, helpers)).collect();
                let first = taken[0];
                assert_eq!(first, if order[0] <= helpers { order[0] } else { 1 });
                taken.sort_unstable();
                assert!(taken.iter().copied().eq(1..=helpers), "{order:?} took {taken:?} of {helpers}");
                arena.leave_seat(first);
                assert_eq!(arena.take_seat(0, helpers), Some(first), "the only free seat");
            }
        }
    }
}
