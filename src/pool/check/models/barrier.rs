//! Publish, enter, retract, leave and stop, with workers that come late or not at all.

use std::mem::ManuallyDrop;

use super::{
    frame::{Frame, enter_and_leave, leave_too_early, rounds},
    small::*,
    *,
};
use crate::{
    pool::protocol::barrier::{Barrier, Polls},
    sync::{Ordering, Patience},
};

fn one_worker(bug: Option<Bug>, work: fn(&Frame, usize)) {
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
fn a_caller_that_sees_the_end_unlocked() {
    one_worker(Some(Bug::SeesTheEndUnlocked), enter_and_leave);
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

fn two_workers(bug: Option<Bug>, work: fn(&Frame, usize)) {
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

/// What one thread says and another waits for.
#[derive(Default)]
struct Word(loom::sync::Mutex<bool>, loom::sync::Condvar);

impl Word {
    fn say(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }

    fn hear(&self) {
        let mut said = self.0.lock().unwrap();
        while !*said {
            said = self.1.wait(said).unwrap();
        }
    }
}

/// A job for one worker, which does `work` whenever it comes; the caller does `own` meanwhile.
fn shared(bug: Option<Bug>, work: fn(&Barrier<()>, &Word, usize), own: fn(&Barrier<()>, &Word)) {
    explore_all(bug, move || {
        let shared = Arc::new((Barrier::new(1, Patience::default()), Word::default()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, word) = &*shared;
                let (mut seen, mut visits) = (barrier.nothing_seen(), 0);
                while let Some(((), entered)) = barrier.enter(0, &mut seen) {
                    visits += 1;
                    work(barrier, word, visits);
                    drop(entered);
                }
            })
        };
        let (barrier, word) = &*shared;
        // Not dropped if loom stops the model: it has no execution any more.
        let published = ManuallyDrop::new(barrier.publish((), 1, Polls::default()));
        own(barrier, word);
        drop(ManuallyDrop::into_inner(published));
        barrier.stop();
        worker.join().unwrap();
    });
}

/// The worker calls the caller, and goes on when that has come.
fn rests(bug: Option<Bug>) {
    let work = |barrier: &Barrier<()>, word: &Word, _| {
        barrier.call_caller();
        word.hear();
    };
    shared(bug, work, |barrier, word| {
        barrier.rest();
        word.say(); // it was called, or is done
    });
}

#[test]
fn a_caller_that_rests_is_called_back() {
    rests(None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_caller_that_rests_and_does_not_listen() {
    rests(Some(Bug::RestsUncalled));
}

/// The caller calls the worker once more, and waits for its second visit.
fn returns(bug: Option<Bug>) {
    let work = |_: &Barrier<()>, word: &Word, visits| {
        if visits == 2 {
            word.say();
        }
    };
    shared(bug, work, |barrier, word| {
        if barrier.active.load(Ordering::Relaxed) > 0 {
            barrier.call_back(0);
            word.hear();
        }
    });
}

#[test]
fn a_worker_that_has_gone_is_called_back() {
    returns(None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_worker_that_is_called_and_offered_nothing_new() {
    returns(Some(Bug::OffersNothingNew));
}

/// A worker that starves lets a job pass, and takes the next one when it is woken for that.
#[test]
fn a_worker_that_passes_over_a_job_takes_the_next() {
    explore_all(None, || {
        let shared = Arc::new((Barrier::new(1, Patience::default()), Word::default(), Word::default()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, passed, came) = &*shared;
                let mut seen = barrier.nothing_seen();
                barrier.pass_over(0, &mut seen).expect("the first job");
                passed.say();
                let ((), entered) = barrier.enter(0, &mut seen).expect("the second job");
                came.say();
                drop(entered);
                assert!(barrier.pass_over(0, &mut seen).is_none(), "the pool stops");
            })
        };
        let (barrier, passed, came) = &*shared;
        for word in [passed, came] {
            let published = ManuallyDrop::new(barrier.publish((), 1, Polls::default()));
            word.hear();
            drop(ManuallyDrop::into_inner(published));
        }
        barrier.stop();
        worker.join().unwrap();
    });
}
