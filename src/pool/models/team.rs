//! A real crew with its ranges, and whole calls on it: deal, publish, work, steal, retract, wait.

use std::{panic::resume_unwind, time::Duration};

use super::{local::Local, *};
use crate::{
    clock::Instant,
    pool::{
        accumulator::{Accumulator, Lend, Made},
        body::{Body, Stop},
        executor::run,
        round::{Course, Plan, Round},
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
    /// Items that panic, in their order.
    panics: &'a [usize],
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
pub(super) struct Team {
    ranges: Arc<Ranges>,
    crew: Crew,
}

impl Team {
    pub(super) fn new(workers: usize) -> Self {
        let mut crew = Crew::new(workers - 1, Duration::ZERO);
        for _ in 1..workers {
            crew.hire(ThreadBuilder::new(), || ()).unwrap();
        }
        Self { ranges: Arc::new(Ranges::new(workers, Fence::Symmetric, Stealing::Largest)), crew }
    }

    #[cfg(shuttle)]
    pub(super) fn thefts(&self) -> u64 {
        self.ranges.thefts()
    }

    /// A call for so many items, dealt at `bounds`. Of several panics the first is what comes out, and all before it is claimed; if
    /// it is not cancelled meanwhile.
    pub(super) fn call(&self, items: usize, bounds: &[usize], panics: &[usize], watch: Watch<'_>) {
        let (local, claims) = (Local::new(1), Claims::new(items));
        let body = Borrowing { local: &local, claims: &claims, panics };
        let plan = Plan {
            begin: Instant::now(),
            units: Units::Items,
            pace: None,
            profile: None,
            looked: &|_, _| (),
        };
        let times = Times { tallies: vec![Tally::default(); self.ranges.workers()], ..Times::default() };
        let (round, made) = (Round::new(&self.ranges, plan, times), Made::new());
        let mut own = Accumulator::new(&body, 0, &made);
        let others: Lend<'_> = &|me, work| work(&mut Accumulator::new(&body, me, &made));
        let Course { stop, .. } =
            run(&self.ranges, &self.crew, 0..items, bounds, round, watch, &mut own, others);
        local.write(0); // the frame is gone
        let thrown = stop.map(|(_, panic)| {
            let panic = panic.expect("nothing is looked for");
            match panic.downcast_ref() {
                Some(&Thrown(item)) => item,
                None => resume_unwind(panic),
            }
        });
        if !watch.is_cancelled() {
            assert_eq!(thrown, panics.first().copied(), "another panic came out");
            claims.assert_all_before(thrown.map_or(items, |first| first + 1));
            let folded = made.reduced(None, &|a, b| a + b);
            assert!(thrown.is_some() || folded == Some(items), "a result is lost");
        }
    }
}
