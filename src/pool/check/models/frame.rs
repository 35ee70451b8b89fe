//! A call as its workers see it: an offer that they may take.

use std::mem::ManuallyDrop;

use super::{local::Local, *};
use crate::{
    pool::team::{
        arena::Turn,
        barrier::{Barrier, Caller, Offer, Reentry},
    },
    sync::Patience,
};

/// A barrier for `workers` workers, whose threads have arrived.
pub(super) fn barrier(workers: usize) -> Barrier<usize> {
    let barrier = Barrier::new(workers, Fence::Symmetric, Patience::default());
    (0..workers).for_each(|me| barrier.arrive(me));
    barrier
}

/// A call, as its workers see it. This value outlives the call, so a worker that stays too long
/// harms only the model.
pub(super) struct Frame {
    barrier: Barrier<usize>,
    local: Local,
    entries: AtomicUsize,
}

impl Frame {
    fn visit(&self, job: usize) {
        assert_eq!(self.local.read(), job, "a job from another loop");
        self.entries.fetch_add(1, SeqCst);
    }
}

pub(super) fn enter_and_leave(frame: &Frame, me: usize) {
    let mut patience = frame.barrier.patience;
    while let Some(entered) = frame.barrier.enter(me, &mut patience) {
        frame.visit(entered.job);
        drop(entered);
    }
}

/// A planted bug: the worker still reads after it has left.
pub(super) fn leave_too_early(frame: &Frame, me: usize) {
    let mut patience = frame.barrier.patience;
    while let Some(entered) = frame.barrier.enter(me, &mut patience) {
        let job = entered.job;
        drop(entered);
        frame.visit(job);
    }
}

/// Takes an arena. If loom stops the model, the turn is not dropped, because then loom has no
/// execution.
pub(super) fn take(barrier: &Barrier<usize>) -> ManuallyDrop<Turn<'_>> {
    ManuallyDrop::new(barrier.arenas.take().expect("an arena is free"))
}

/// Shares `loops` loops with `workers` workers, each of which may come late or not at all.
pub(super) fn share_loops(workers: usize, loops: usize, work: fn(&Frame, usize)) {
    let barrier = barrier(workers);
    let frame = Arc::new(Frame { barrier, local: Local::new(0), entries: AtomicUsize::new(0) });
    let threads: Vec<_> = (0..workers)
        .map(|me| {
            let frame = Arc::clone(&frame);
            thread::spawn(move || work(&frame, me))
        })
        .collect();
    for job in 1..=loops {
        frame.local.write(job);
        let turn = take(&frame.barrier);
        // The first worker that leaves does not close the offer, so more workers come late.
        let offer = Offer { helpers: workers, reentry: Reentry::Again, ..Offer::default() };
        let published = frame.barrier.publish(&turn, Caller::default(), offer, job);
        assert_eq!(frame.local.read(), job);
        drop(published);
        drop(ManuallyDrop::into_inner(turn));
        frame.local.write(0); // the frame is gone
    }
    frame.barrier.stop();
    for worker in threads {
        worker.join().unwrap();
    }
    assert!(frame.entries.load(SeqCst) <= loops * workers, "a worker entered a loop twice");
}
