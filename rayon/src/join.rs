//! Calls two closures, in parallel if a thread is idle.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

#[cfg(debug_assertions)]
use crate::watch::{Help, Watching};
use crate::{
    pool::{Seat, Shared, here, joins_alone, on_its_host},
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
    if joins_alone() {
        return both(oper_a, watched(oper_b));
    }
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
    if joins_alone() {
        let stays = || FnContext { migrated: false };
        return both(|| oper_a(stays()), watched(|| oper_b(stays())));
    }
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
    let _seat = Seat::take(pool);
    let b = watched(b);
    // A result may be large, so its closure stores it at once.
    let (mut of_a, mut of_b) = (None, None);
    let a = || of_a = Some(a());
    let b = || {
        let _seat = Seat::take(pool);
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

/// The second closure of a join. A debug build reports it if it never begins.
#[inline(always)]
fn watched<R>(b: impl FnOnce() -> R + Send) -> impl FnOnce() -> R + Send {
    #[cfg(debug_assertions)]
    let watching =
        Watching::new(&here(), Help::No, "the second closure of a `join`").inspect(Watching::waits);
    move || {
        #[cfg(debug_assertions)]
        if let Some(watching) = &watching {
            watching.watched.begins();
        }
        b()
    }
}

/// Calls both closures on this thread. The second closure is called even if the first one panics.
#[inline(always)]
fn both<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce() -> RB) -> (RA, RB) {
    /// The result of the first closure. It is discarded if the second closure panics.
    struct First<T>(Option<T>);

    impl<T> Drop for First<T> {
        #[inline(always)]
        fn drop(&mut self) {
            if mem::needs_drop::<T>() && self.0.is_some() {
                discard(self.0.take());
            }
        }
    }

    match catch_unwind(AssertUnwindSafe(a)) {
        Ok(of_a) => {
            let mut of_a = First(Some(of_a));
            let of_b = b();
            (of_a.0.take().expect("taken once"), of_b)
        }
        Err(payload) => {
            discard(catch_unwind(AssertUnwindSafe(b)));
            resume_unwind(payload)
        }
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
