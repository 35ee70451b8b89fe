//! Publish, enter, retract, leave and stop, with workers that come late or not at all.

use super::{
    frame::{Frame, enter_and_leave, leave_too_early, rounds},
    small::*,
    *,
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
