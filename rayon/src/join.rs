//! Two closures, perhaps at the same time.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use crate::pool::{Seat, Shared, here};

/// Calls both closures, perhaps at the same time, and returns what they return.
///
/// ```
/// # use rangesteal_rayon as rayon;
/// assert_eq!(rayon::join(|| 1 + 1, || "two".len()), (2, 3));
/// ```
///
/// # Panics
/// If one does; the other ends before the panic comes out.
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_in(&here(), oper_a, oper_b)
}

/// Like [`join`]; the closures are told whether they run on another thread than this one.
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let caller = thread::current().id();
    let b = || oper_b(FnContext { migrated: thread::current().id() != caller });
    join_in(&here(), || oper_a(FnContext { migrated: false }), b)
}

/// Tells a closure of [`join_context`] where it runs.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
}

impl FnContext {
    /// Whether the closure runs on another thread than the one that has called [`join_context`].
    #[must_use]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Calls both closures: this thread the first one, and an idle thread of the pool the second, or
/// this one as well. The second is called even if the first panics.
pub(crate) fn join_in<RA, RB: Send>(
    pool: &Shared,
    a: impl FnOnce() -> RA,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let a = || {
        let _seat = Seat::take(pool, 0);
        a()
    };
    let b = || {
        let _seat = Seat::take(pool, 1);
        b()
    };
    let caught = pool.join(|| catch_unwind(AssertUnwindSafe(a)), || catch_unwind(AssertUnwindSafe(b)));
    match caught {
        (Ok(a), Ok(b)) => (a, b),
        (Err(payload), _) | (_, Err(payload)) => resume_unwind(payload),
    }
}
