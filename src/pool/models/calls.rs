//! Whole calls on a real crew: deal, publish, work, steal, retract, wait; panics, and the end of the crew.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use super::*;
use crate::{
    clock::Instant,
    pool::{
        body::{Body, Stop},
        executor::run,
        round::{Plan, Round},
        times::{Tally, Times},
        units::Units,
        watch::Watch,
        worker::Crew,
    },
    sync::ThreadBuilder,
};

/// The caller's closure, with what it borrows.
struct Borrowing<'a> {
    local: &'a Local,
    claims: &'a Claims,
    /// Items that panic.
    panics: &'static [usize],
}

/// Thrown by that item.
struct Thrown(usize);

impl Body for Borrowing<'_> {
    type State = ();
    type Acc = usize;
    type Found = ();

    fn state(&self, _me: usize) {}

    fn block(&self, (): &mut (), acc: Option<usize>, items: Range<usize>) -> Result<usize, Stop<()>> {
        assert_eq!(self.local.read(), 1, "the frame is gone");
        for item in items.clone() {
            self.claims.claim(item..item + 1);
            if self.panics.contains(&item) {
                resume_unwind(Box::new(Thrown(item))); // no message
            }
        }
        Ok(acc.unwrap_or(0) + items.len())
    }
}

/// A crew with its ranges.
struct Team {
    ranges: Arc<Ranges>,
    crew: Crew,
}

impl Team {
    fn new(workers: usize) -> Self {
        let mut crew = Crew::new(workers - 1, Duration::ZERO);
        for _ in 1..workers {
            crew.hire(ThreadBuilder::new(), || ()).unwrap();
        }
        Self { ranges: Arc::new(Ranges::new(workers, Fence::Symmetric, Stealing::Largest)), crew }
    }

    /// A call for so many items, of which the calling thread is dealt `own`.
    fn call(&self, items: usize, own: usize, panics: &'static [usize]) -> Result<usize, Box<dyn Any + Send>> {
        let (local, claims) = (Local::new(1), Claims::new(items));
        let body = Borrowing { local: &local, claims: &claims, panics };
        let plan = Plan { begin: Instant::now(), units: Units::Items, pace: None, profile: None };
        let tallies = vec![Tally::default(); self.ranges.workers()];
        let times = Times { tallies, ..Times::default() };
        let bounds = vec![own; self.ranges.workers() - 1];
        let round = Round::new(&self.ranges, &body, plan, times);
        let made = run(&self.ranges, &self.crew, 0..items, &bounds, (None, None), round, Watch::default());
        local.write(0); // the frame is gone
        let sum = catch_unwind(AssertUnwindSafe(|| {
            let Ok(runs) = made.into_runs(false) else { unreachable!("nothing is found") };
            runs.iter().map(|(_, folded)| folded).sum()
        }));
        let end = panics.first().map_or(items, |first| first + 1);
        if !matches!(&sum, Err(payload) if !payload.is::<Thrown>()) {
            claims.assert_all_before(end);
        }
        sum
    }
}

/// A call of which nothing panics, or of several the first is what comes out.
fn calls(team: &Team, items: usize, own: usize, panics: &'static [usize]) {
    match (team.call(items, own, panics), panics) {
        (Ok(sum), []) => assert_eq!(sum, items),
        (Err(payload), [first, ..]) => match payload.downcast() {
            Ok(thrown) => assert_eq!(
                {
                    let Thrown(item) = *thrown;
                    item
                },
                *first,
                "another panic came out"
            ),
            Err(payload) => resume_unwind(payload),
        },
        (Err(payload), []) => resume_unwind(payload),
        (Ok(_), [..]) => panic!("the panic is lost"),
    }
}

#[test]
fn a_call() {
    explore(None, || calls(&Team::new(2), 3, 2, &[]));
}

#[test]
#[should_panic(expected = "claimed twice")]
fn a_call_with_a_thief_that_keeps_too_much() {
    explore(Some(Bug::KeepsOneTooMany), || calls(&Team::new(2), 3, 2, &[]));
}

#[test]
fn a_call_that_panics_and_one_that_does_not() {
    explore(None, || {
        let team = Team::new(2);
        calls(&team, 3, 1, &[2]);
        calls(&team, 2, 1, &[]);
    });
}

/// Worker 0 panics in what it has stolen from worker 1, who sleeps; who else should claim what lies before?
#[test]
#[should_panic(expected = "left out")]
fn a_call_whose_workers_go_home_after_a_panic() {
    explore(Some(Bug::PanicsAndLeaves), || calls(&Team::new(2), 3, 1, &[2]));
}

#[test]
fn a_call_that_panics_twice() {
    explore(None, || calls(&Team::new(2), 3, 1, &[0, 1]));
}

#[test]
#[should_panic(expected = "another panic came out")]
fn a_call_whose_last_panic_comes_out() {
    explore(Some(Bug::LastPanicCounts), || calls(&Team::new(2), 3, 1, &[0, 1]));
}

#[test]
fn a_crew_goes_home() {
    explore(None, || drop(Team::new(3)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_crew_that_sleeps_for_ever() {
    explore(Some(Bug::WakesBeforeItStops), || drop(Team::new(2)));
}
