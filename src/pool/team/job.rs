//! Lifetime erasure. The threads live as long as the pool, and run a closure that borrows local
//! variables of the caller: workers in a loop ([`share`]), or tasks ([`lend`]).

#![allow(unsafe_code)] // the one place where a lifetime is erased

use std::sync::Arc;

use super::{
    arena::Turn,
    barrier::{Barrier, Entered, Offer},
    gate::Gate,
    here::Here,
};

/// A borrowed closure. Only [`share`] and [`lend`] know its lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job(*const (dyn Fn(usize) + Sync));

// SAFETY: *wait*: 1. any thread may use a shared reference to a `Sync` closure; 2. `share` and
// `lend` guarantee that the closure is still alive.
unsafe impl Send for Job {}

// SAFETY: *wait*: as for `Send`: a `Job` is read only.
unsafe impl Sync for Job {}

impl Job {
    /// The job that calls `work`, with a longer lifetime than `work` has.
    fn new(work: &(dyn Fn(usize) + Sync)) -> Self {
        let pointer: *const (dyn Fn(usize) + Sync + '_) = work;
        // SAFETY: the two types differ only in the lifetime. The borrow of `work` lasts long
        // enough: `share` and `lend` do not return or unwind before nobody can run the job any
        // more.
        #[expect(clippy::transmute_ptr_to_ptr, reason = "only a transmute may lengthen a lifetime")]
        let erased = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(
                pointer,
            )
        };
        Self(erased)
    }

    /// Runs the closure in this seat. The calling thread must be inside the loop that published the
    /// job, or inside the gate of the closure that was lent.
    pub(crate) fn run(self, seat: usize) {
        // SAFETY: *wait*: 1. the pointer comes from the reference that was passed to `share` or
        // `lend`; 2. a worker gets a job when it enters the barrier, and `share` does not return or
        // unwind before every worker that has entered has left; 3. a task runs the job inside the
        // gate, and `lend` closes the gate, and waits for those inside, before it returns or
        // unwinds.
        let work = unsafe { &*self.0 };
        work(seat);
    }
}

/// A closure that tasks call, until its owner takes it back.
#[derive(Clone, Debug)]
pub struct LentCall {
    job: Job,
    gate: Arc<Gate>,
}

impl LentCall {
    /// Calls the closure with `number`, unless its owner has taken it back.
    pub fn call(&self, number: usize) {
        if let Some(_inside) = self.gate.enter() {
            self.job.run(number);
        }
    }
}

/// Lends `work` while `own` runs. Returns when nobody is inside `work`, and nobody can enter it.
pub(crate) fn lend<R>(work: &(dyn Fn(usize) + Sync), own: impl FnOnce(&LentCall) -> R) -> R {
    /// Closes the gate on every way out.
    struct Closes<'a>(&'a Gate);

    impl Drop for Closes<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    let lent = LentCall { job: Job::new(work), gate: Arc::default() };
    let _closes = Closes(&lent.gate);
    own(&lent)
}

/// Runs the job of a loop that the calling thread has entered.
pub(crate) fn work(entered: &Entered<'_, Job>) {
    let _in_loop = Here::in_loop(entered.barrier.address(), entered.arena.number);
    entered.job.run(entered.seat);
}

/// Offers `work` in the arena of `turn`, and runs `own` on the calling thread. `work` gets the seat
/// of the helper that comes, from 1. Returns when no worker is inside `work` and none can enter it.
///
/// `work` must not unwind. If `own` unwinds, this function waits before it unwinds.
pub(crate) fn share(
    barrier: &Barrier<Job>,
    turn: &Turn<'_>,
    offer: Offer,
    work: &(dyn Fn(usize) + Sync),
    own: impl FnOnce(),
) {
    // On every way out of this function, `published` is ended or dropped before the borrow of
    // `work` ends. The end and the drop both retract the job and wait for the workers inside, even
    // if the loop that the caller helps meanwhile unwinds (barrier.rs). `published` is moved only
    // to `end`, so no other code can forget it.
    let published = barrier.publish(turn, barrier.caller(), offer, Job::new(work));
    let in_loop = Here::in_loop(barrier.address(), turn.arena.number);
    own();
    drop(in_loop);
    published.end(self::work);
}
