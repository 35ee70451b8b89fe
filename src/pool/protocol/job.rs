//! Lifetime erasure. The threads live as long as the pool, and run a closure that borrows local
//! variables of the caller.

#![allow(unsafe_code)] // the one place where a lifetime is erased

use super::{
    arena::Turn,
    barrier::{Barrier, Entered, Offer},
    here::{self, Here},
};

/// A borrowed closure. Only [`share`] knows its lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job(*const (dyn Fn(usize) + Sync));

// SAFETY: *wait*: 1. any thread may use a shared reference to a `Sync` closure; 2. `share`
// guarantees that the closure is still alive.
unsafe impl Send for Job {}

impl Job {
    /// Runs the closure in this seat. The calling thread must be inside the loop that published the
    /// job.
    pub(crate) fn run(self, seat: usize) {
        // SAFETY: *wait*: 1. the pointer comes from the reference that was passed to `share`; 2. a
        // worker gets a job when it enters the barrier, and `share` does not return or unwind
        // before every worker that has entered has left.
        let work = unsafe { &*self.0 };
        work(seat);
    }
}

/// Runs the job of a loop that the calling thread has entered.
pub(crate) fn work(entered: &Entered<'_, Job>) {
    let _in_loop = Here::in_loop(entered.barrier.address(), entered.number);
    entered.job.run(entered.seat);
}

/// Offers `work` in the arena of `turn`, and runs `own` on the calling thread. Returns when no
/// worker is inside `work` and none can enter it.
///
/// `work` must not unwind. If `own` unwinds, this function waits before it unwinds.
pub(crate) fn share(
    barrier: &Barrier<Job>,
    turn: &Turn<'_>,
    offer: Offer,
    work: &(dyn Fn(usize) + Sync),
    own: impl FnOnce(),
) {
    let pointer: *const (dyn Fn(usize) + Sync + '_) = work;
    // SAFETY: the two types differ only in the lifetime. The borrow of `work` lasts long enough: 1.
    // on every way out of this function, `published` is ended or dropped before that borrow ends;
    // 2. the end and the drop both retract the job and wait for the workers inside, even if the
    // loop that the caller helps meanwhile unwinds (barrier.rs); 3. `published` is moved only to
    // `end`, so no other code can forget it.
    #[expect(clippy::transmute_ptr_to_ptr, reason = "only a transmute may lengthen a lifetime")]
    let erased = unsafe {
        std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(
            pointer,
        )
    };
    let caller = here::caller(barrier.address());
    let published = barrier.publish(turn, caller, offer, Job(erased));
    let in_loop = Here::in_loop(barrier.address(), turn.number);
    own();
    drop(in_loop);
    published.end(self::work);
}
