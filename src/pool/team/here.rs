//! The identity of the calling thread: which worker of which pool it is, in which loop it works,
//! and whether it is inside a shared loop of any pool.

#![allow(clippy::missing_const_for_thread_local, reason = "loom's macro takes no block")]

use std::cell::Cell;

use crate::sync::{LocalKey, thread_local};

thread_local! {
    /// The pool of this thread, as the address of the pool's barrier, and the number of the
    /// thread's post in that pool, from 1.
    static WORKER: Cell<(usize, usize)> = Cell::new((0, 0));
    /// The pool of the innermost loop that this thread calls or helps, and the number of its arena.
    static LOOP: Cell<(usize, usize)> = Cell::new((0, 0));
}

/// While this value exists, the calling thread is a worker or works in a loop. (The identity is
/// removed afterwards, because another pool may get the same address later.)
#[must_use]
pub(super) struct Here {
    of: &'static LocalKey<Cell<(usize, usize)>>,
    before: (usize, usize),
}

impl Here {
    /// Gives the calling thread the post `number` of `pool`, from 1.
    pub(super) fn is_worker(pool: usize, number: usize) -> Self {
        Self::new(&WORKER, pool, number)
    }

    /// The calling thread works in the loop of `pool` in arena `number`.
    #[inline(always)]
    pub(super) fn in_loop(pool: usize, number: usize) -> Self {
        Self::new(&LOOP, pool, number)
    }

    #[inline(always)]
    fn new(of: &'static LocalKey<Cell<(usize, usize)>>, pool: usize, number: usize) -> Self {
        Self { of, before: of.with(|of| of.replace((pool, number))) }
    }
}

impl Drop for Here {
    #[inline(always)]
    fn drop(&mut self) {
        self.of.with(|of| of.set(self.before));
    }
}

// That of std in all builds: no model reads it, and with `const` it is a plain word for each call.
std::thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });

/// While this value lives, the thread visits a shared loop or runs a closure of a join, in any
/// pool. Loops whose items wait do not make this value. A call that begins meanwhile is a call in
/// an item. It knows no rounds and repeats no plan, since the time between such calls says little
/// about the program. If it is short it is not timed, since a timed loop writes to memory that all
/// threads read. Its thread already counts among those that use a CPU.
#[must_use]
pub(crate) struct Inside(());

impl Inside {
    pub(crate) fn new() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self(())
    }

    /// Whether the calling thread is inside.
    #[inline(always)]
    pub(crate) fn is_here() -> bool {
        DEPTH.get() > 0
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// The number of the calling thread's post in `pool`, from 1; 0 if the thread has none there.
pub(super) fn worker(pool: usize) -> usize {
    let (of, number) = WORKER.with(Cell::get);
    if of == pool { number } else { 0 }
}

/// The arena of the innermost loop that the calling thread works in, if that is a loop of `pool`.
pub(super) fn arena(pool: usize) -> Option<usize> {
    let (of, number) = LOOP.with(Cell::get);
    (of == pool).then_some(number)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_identity_restores_the_one_before() {
        let [ours, other] = [8, 16];
        let at = || (worker(ours), arena(ours), worker(other), arena(other));
        let nowhere = (0, None, 0, None);
        assert_eq!(at(), nowhere);
        let is_worker = Here::is_worker(ours, 3);
        let outer = Here::in_loop(ours, 0);
        let inner = Here::in_loop(ours, 1);
        let elsewhere = Here::in_loop(other, 5);
        assert_eq!(at(), (3, None, 0, Some(5)));
        drop(elsewhere);
        assert_eq!(at(), (3, Some(1), 0, None), "the loop of another pool is over");
        drop(inner);
        assert_eq!(at(), (3, Some(0), 0, None), "the inner loop is over");
        drop(outer);
        assert_eq!(at(), (3, None, 0, None), "the outer loop is over");
        drop(is_worker);
        assert_eq!(at(), nowhere, "the worker has left");
    }

    #[test]
    fn a_thread_is_inside_until_the_outermost_loop_ends() {
        let outer = Inside::new();
        drop(Inside::new());
        assert!(Inside::is_here());
        drop(outer);
        assert!(!Inside::is_here());
    }
}
