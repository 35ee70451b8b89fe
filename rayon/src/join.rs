//! Calls two closures, in parallel if a thread is idle.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

#[cfg(debug_assertions)]
use crate::watch::{Help, Watching};
use crate::{
    pool::{Seat, Shared, here, on_its_host},
    thread_pool::current_thread_index,
};

/// Calls both closures and returns both results. An idle thread of the pool calls the second
/// closure in parallel. If no thread is idle, the calling thread calls both closures.
///
/// ```
/// # use rangesteal_rayon as rayon;
/// assert_eq!(rayon::join(|| 1 + 1, || "two".len()), (2, 3));
/// ```
///
/// # Panics
/// If a closure panics. Both closures are called and have ended before the call panics.
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    on_its_host!(|| join_in(&here(), oper_a, oper_b))
}

/// [`join`] for closures that need to know whether they run on another thread. If the caller does
/// not work for a pool, both closures are told that they do, as in rayon.
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (caller, is_outside) = (thread::current().id(), current_thread_index().is_none());
    let a = || oper_a(FnContext { migrated: is_outside });
    let b = || oper_b(FnContext { migrated: is_outside || thread::current().id() != caller });
    on_its_host!(|| join_in(&here(), a, b))
}

/// The argument of a closure of [`join_context`].
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
}

impl FnContext {
    /// Whether the closure runs on a thread that has not called [`join_context`], or the caller
    /// works for no pool.
    #[must_use]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Calls both closures. This thread calls the first closure, and an idle thread of the pool calls
/// the second one. If no thread is idle, this thread calls both closures. The second closure is
/// called even if the first one panics.
#[inline(always)] // one frame less
pub(crate) fn join_in<RA, RB: Send>(
    pool: &Shared,
    a: impl FnOnce() -> RA,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let _seat = Seat::take(pool, 0);
    // A debug build reports a second closure that never begins.
    #[cfg(debug_assertions)]
    let watching = Watching::new(pool, Help::No, "the second closure of a `join`").inspect(Watching::waits);
    // A result may be large, so its closure stores it at once.
    let (mut of_a, mut of_b) = (None, None);
    let a = || of_a = Some(a());
    let b = || {
        #[cfg(debug_assertions)]
        if let Some(watching) = &watching {
            watching.watched.begins();
        }
        let _seat = Seat::take(pool, 1);
        of_b = Some(b());
    };
    let ended = pool.join(|| catch_unwind(AssertUnwindSafe(a)), || catch_unwind(AssertUnwindSafe(b)));
    match ended {
        (Ok(()), Ok(())) => {}
        (Err(payload), surplus) | (surplus, Err(payload)) => {
            discard(of_a);
            discard(of_b);
            discard(surplus);
            resume_unwind(payload)
        }
    }
    match (of_a, of_b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("both closures have ended"),
    }
}

/// Drops a value that no caller receives, because a closure has panicked. If the drop panics, too,
/// this panic is not passed on: during the unwinding of the first panic, it would end the process.
pub(crate) fn discard<T>(value: T) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) else { return };
    // The drop of the payload may panic, too. The payload of that panic is forgotten: its drop may
    // panic again, without end.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}
