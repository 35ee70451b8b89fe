//! Lifetime erasure: threads that live as long as the pool run a closure that borrows local
//! variables of the caller.

#![allow(unsafe_code)] // the one place where a lifetime is erased

use super::{
    arena::Turn,
    barrier::{Barrier, Entered, Offer},
    here::{self, InLoop},
};

/// A borrowed closure. Only [`share`] knows its lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job(*const (dyn Fn(usize) + Sync));

// SAFETY: *wait*: 1. a shared reference to a `Sync` closure may be used from any thread; 2. that it
// is still alive there is the promise of `share`.
unsafe impl Send for Job {}

impl Job {
    /// Runs the closure in this seat. The caller must have entered the round that published the
    /// job, and not left it.
    pub(crate) fn run(self, seat: usize) {
        // SAFETY: *wait*: 1. the pointer comes from the reference that `share` was given; 2. a
        // worker gets hold of a job by entering the barrier and `share` does not return or unwind
        // before every worker that entered has left.
        let work = unsafe { &*self.0 };
        work(seat);
    }
}

/// Runs the job of a loop that the calling thread has entered.
pub(crate) fn work(entered: &Entered<'_, Job>) {
    let _in_loop = InLoop::new(entered.barrier.address(), entered.number);
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
    // SAFETY: the types differ in the lifetime alone. It is kept by hand: `published` is ended or
    // dropped before `work`'s borrow ends, on every way out of this function, and both retract the
    // job and wait for those inside, even if what the caller helps meanwhile unwinds (barrier.rs).
    // It goes to `end` alone, so nobody else can forget it.
    #[expect(clippy::transmute_ptr_to_ptr, reason = "only a transmute may lengthen a lifetime")]
    let erased = unsafe {
        std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(
            pointer,
        )
    };
    let caller = here::caller(barrier.address());
    let published = barrier.publish(turn, caller, offer, Job(erased));
    let in_loop = InLoop::new(barrier.address(), turn.number);
    own();
    drop(in_loop);
    published.end(self::work);
}
