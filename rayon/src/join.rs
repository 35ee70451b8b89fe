//! Two closures, perhaps at the same time.

use crate::pool::{Seat, Shared, current};

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
    join_context(|_| oper_a(), |_| oper_b())
}

/// Like [`join`]; the closures are told whether they run on another thread than this one.
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_in(&current(), oper_a, oper_b)
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

/// Calls both closures in a pool.
pub(crate) fn join_in<A, B, RA, RB>(pool: &Shared, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB + Send,
    RB: Send,
{
    let caller = std::thread::current().id();
    let a = || {
        let _seat = Seat::take(pool, 0);
        a(FnContext { migrated: false })
    };
    let b = || {
        let _seat = Seat::take(pool, 1);
        b(FnContext { migrated: std::thread::current().id() != caller })
    };
    both(a, b)
}

/// Calls both closures on this thread, one after the other. The second is called even if the first
/// panics.
fn both<RA, RB: Send>(a: impl FnOnce() -> RA, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    let of_a = catch_unwind(AssertUnwindSafe(a));
    let of_b = catch_unwind(AssertUnwindSafe(b));
    match (of_a, of_b) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(payload), _) | (_, Err(payload)) => resume_unwind(payload),
    }
}
