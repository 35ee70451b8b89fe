//! Publish, enter, retract, leave and stop, with workers that come late or not at all.

use std::time::Duration;

use super::*;
use crate::pool::barrier::Barrier;

/// A call, as its workers see it. It outlives the call, so that one that stays too long does no harm but in the model.
struct Frame {
    barrier: Barrier<usize>,
    local: Local,
    visits: AtomicUsize,
}

impl Frame {
    fn visit(&self, job: usize) {
        assert_eq!(self.local.read(), job, "a job from another round");
        self.visits.fetch_add(1, SeqCst);
    }
}

type Work = fn(&Frame, usize);

fn enter_and_leave(frame: &Frame, me: usize) {
    let mut seen = 0;
    while let Some((job, entered)) = frame.barrier.enter(me, &mut seen) {
        frame.visit(job);
        drop(entered);
    }
}

/// The planted bug: still reading after it has left.
fn leave_too_early(frame: &Frame, me: usize) {
    let mut seen = 0;
    while let Some((job, entered)) = frame.barrier.enter(me, &mut seen) {
        drop(entered);
        frame.visit(job);
    }
}

/// So many rounds with so many workers, each of which may come late or not at all.
fn rounds(workers: usize, rounds: usize, work: Work) {
    let frame = Arc::new(Frame {
        barrier: Barrier::new(workers, Duration::ZERO),
        local: Local::new(0),
        visits: AtomicUsize::new(0),
    });
    let threads: Vec<_> = (0..workers)
        .map(|me| {
            let frame = Arc::clone(&frame);
            thread::spawn(move || work(&frame, me))
        })
        .collect();
    for round in 1..=rounds {
        frame.local.write(round);
        let published = frame.barrier.publish(round, workers);
        assert_eq!(frame.local.read(), round);
        drop(published);
        frame.local.write(0); // the frame is gone
    }
    frame.barrier.stop();
    threads.into_iter().for_each(|worker| worker.join().unwrap());
    assert!(frame.visits.load(SeqCst) <= rounds * workers, "a worker entered a round twice");
}

fn one_worker(bug: Option<Bug>, work: Work) {
    explore_all(bug, move || rounds(1, 2, work));
}

#[test]
fn nobody_is_inside_after_the_call() {
    one_worker(None, enter_and_leave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn somebody_is_inside_after_the_call() {
    one_worker(None, leave_too_early);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_caller_that_does_not_wait() {
    one_worker(Some(Bug::WaitsForNobody), enter_and_leave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_caller_that_does_not_retract() {
    one_worker(Some(Bug::RetractsNothing), enter_and_leave);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_caller_that_is_not_woken() {
    one_worker(Some(Bug::LooksBeforeItLeaves), enter_and_leave);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_worker_that_is_woken_before_it_is_to_stop() {
    one_worker(Some(Bug::WakesBeforeItStops), enter_and_leave);
}

fn two_workers(bug: Option<Bug>, work: Work) {
    explore(bug, move || rounds(2, 1, work));
}

#[test]
fn two_workers_come_late() {
    two_workers(None, enter_and_leave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn two_workers_leave_too_early() {
    two_workers(None, leave_too_early);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn two_workers_may_come_too_late() {
    two_workers(Some(Bug::RetractsNothing), enter_and_leave);
}
