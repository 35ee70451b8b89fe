//! Whole calls, with panics, and the end of the threads.

use super::{small::*, team::Team};
use crate::pool::engine::handles::Watch;

#[test]
fn a_call() {
    explore(|| Team::new(2).call(3, &[2], &[], Watch::default()));
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn a_call_that_panics_and_one_that_does_not() {
    explore(|| {
        let team = Team::new(2);
        team.call(3, &[1], &[2], Watch::default());
        team.call(2, &[1], &[], Watch::default());
    });
}

#[test]
fn a_call_that_panics_twice() {
    explore(|| Team::new(2).call(3, &[1], &[0, 1], Watch::default()));
}

#[test]
fn threads_stop() {
    explore(|| drop(Team::new(3)));
}

#[cfg(planted)]
mod planted {
    use super::{super::*, *};

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn a_call_with_a_thief_that_keeps_too_much() {
        with(Bug::KeepsOneTooMany, || explore(|| Team::new(2).call(3, &[2], &[], Watch::default())));
    }

    /// Worker 0 panics in an item that it has stolen from worker 1, which sleeps. No other worker
    /// could claim the items before this item.
    #[test]
    #[should_panic(expected = "left out")]
    fn a_call_whose_workers_leave_after_a_panic() {
        with(Bug::PanicsAndLeaves, || explore(|| Team::new(2).call(3, &[1], &[2], Watch::default())));
    }

    #[test]
    #[should_panic(expected = "another panic came out")]
    fn a_call_whose_last_panic_comes_out() {
        with(Bug::LastPanicCounts, || explore(|| Team::new(2).call(3, &[1], &[0, 1], Watch::default())));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn threads_that_sleep_for_ever() {
        with(Bug::WakesBeforeItStops, || explore(|| drop(Team::new(2))));
    }
}
