//! A shared loop as its workers see it: claim, fold, steal, hand over. What is folded is behind [`Accumulate`].

use std::{
    any::Any,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::PoisonError,
};

use super::{
    accumulator::{Accumulate, Halt, discard},
    affinity::usage,
    estimate::nanos,
    grain::{Grain, Stretch},
    planted::{Bug, is_planted},
    range::{Loot, Owner, Ranges, half},
    split::Profile,
    times::{Pieces, Times},
    trace,
    units::Units,
};
use crate::{
    clock::Instant,
    sync::{Mutex, lock},
};

/// So many thefts of a worker go by what the last round has taught. Who needs more has been taught wrong.
const TRUSTED: usize = 3;

/// The last item of the caller is left to it if that took less last time, in nanoseconds: otherwise it would have to wait for the
/// thief, and to fall asleep and wake up takes about as long.
const NAP: f32 = 60e3;

const CALLER: usize = 0;

/// A shared loop.
pub(crate) struct Round<'a> {
    ranges: &'a Ranges,
    plan: Plan<'a>,
    measures_usage: bool,
    /// Whether somebody wants a timeline.
    is_traced: bool,
    course: Mutex<Course>,
}

/// How a round is run.
pub(crate) struct Plan<'a> {
    pub(crate) begin: Instant,
    pub(crate) units: Units<'a>,
    /// What an index cost last time, in nanoseconds.
    pub(crate) pace: Option<f32>,
    /// And where in the slice the cost was.
    pub(crate) profile: Option<&'a Profile>,
    /// What a worker does when it has looked at the clock.
    pub(crate) looked: &'a (dyn Fn(usize, Instant) + Sync),
}

/// What a round took, and how it has ended.
pub(crate) struct Course {
    pub(crate) times: Times,
    /// Where it has stopped, as a place in the slice, and by which panic, if by one: the first such place.
    pub(crate) stop: Option<(usize, Option<Panic>)>,
}

/// What was thrown.
pub(crate) type Panic = Box<dyn Any + Send>;

impl<'a> Round<'a> {
    pub(crate) fn new(ranges: &'a Ranges, plan: Plan<'a>, mut times: Times) -> Self {
        let measures_usage = times.usage.take().is_some(); // and it stays none where the system does not tell
        let is_traced = times.notes.is_some();
        Self { ranges, plan, measures_usage, is_traced, course: Mutex::new(Course { times, stop: None }) }
    }

    /// What worker `me` does from entering to leaving.
    /// Never unwinds: a panic ends the loop and is kept for the caller. Items before it are still to be folded, and perhaps nobody else is
    /// there to do it, so the worker goes on.
    pub(crate) fn work(
        &self,
        me: usize,
        mut owner: Owner<'_>,
        mut first: Option<usize>,
        acc: &mut dyn Accumulate,
    ) {
        let before = if self.measures_usage { usage() } else { None };
        loop {
            let drained = catch_unwind(AssertUnwindSafe(|| {
                self.drain(me, &mut owner, first.take(), acc);
                acc.leave();
            }));
            let Err(panic) = drained else { break };
            let last = owner.lose_count();
            self.stop(self.plan.units.place(last), Some(panic));
            acc.lose();
            if is_planted(Bug::PanicsAndLeaves) {
                break;
            }
        }
        if let (Some(before), Some(after)) = (before, before.and_then(|_| usage())) {
            lock(&self.course).times.usage.get_or_insert_default().add(before, after);
        }
        if owner.failed() > 0 {
            lock(&self.course).times.tallies[me].failed = owner.failed();
        }
    }

    /// Claims and folds until nothing is left to claim or steal. A run ends when its worker jumps.
    fn drain(&self, me: usize, owner: &mut Owner<'_>, first: Option<usize>, acc: &mut dyn Accumulate) {
        let begun = Instant::now();
        let mut thefts = 0;
        let mut steal = |owner: &mut Owner<'_>| {
            thefts += 1;
            let profile = self.plan.profile.filter(|_| thefts <= TRUSTED);
            owner.steal(&|victim, left: Range<usize>| match profile {
                Some(profile) if victim == CALLER && left.len() == 1 && profile.cost(&left) < NAP => None,
                Some(profile) => Some(profile.middle(left)),
                None => half(victim, left),
            })
        };
        let pieces_of = if self.is_traced { Pieces::closely } else { Pieces::new };
        let (mut item, mut theft, mut pieces) = match first {
            Some(item) => (item, None, pieces_of(item, begun)),
            None => match steal(owner) {
                Some(Loot { item, victim }) => {
                    (item, Some((victim, owner.left())), pieces_of(item, Instant::now()))
                }
                None => return,
            },
        };
        loop {
            match self.run(me, owner, item, acc, &mut pieces) {
                Ok(()) => acc.hand_over(item),
                Err(Halt { place, .. }) => {
                    pieces.look(owner.next(), Instant::now()); // at what has stopped it
                    self.stop(place, None);
                }
            }
            self.note(me, begun, pieces, item..owner.next(), theft);
            let Some(Loot { item: stolen, victim }) = steal(owner) else { return };
            (item, theft) = (stolen, Some((victim, owner.left())));
            pieces = pieces_of(item, Instant::now());
        }
    }

    /// Folds item `first`, which is claimed, and then the range behind it.
    fn run(
        &self,
        me: usize,
        owner: &mut Owner<'_>,
        first: usize,
        acc: &mut dyn Accumulate,
        pieces: &mut Pieces,
    ) -> Result<(), Halt> {
        acc.take(first..first + 1)?;
        pieces.look_closely(first + 1);
        let mut grain = Grain::new(pieces.begin(), self.plan.pace, !matches!(self.plan.units, Units::Items));
        while owner.left() > 0 {
            let Stretch { size, claims, full_fences } = grain.stretch(owner.left());
            owner.use_full_fences(full_fences);
            if acc.claim(owner, size, claims)? {
                let settled = owner.settle(size);
                if !settled.is_empty() {
                    acc.take(settled)?;
                }
            }
            let now = Instant::now();
            grain.look(owner.left(), now);
            pieces.look(owner.next(), now);
            (self.plan.looked)(me, now);
        }
        Ok(())
    }

    /// Notes a run that has ended, over `range`: stolen from somebody, with so many items behind the first.
    fn note(
        &self,
        me: usize,
        begun: Instant,
        mut pieces: Pieces,
        range: Range<usize>,
        theft: Option<(usize, usize)>,
    ) {
        let Plan { units, begin: round, .. } = self.plan;
        let items = units.items(range.clone());
        if items == 0 {
            return; // who comes to a search that is over has not come
        }
        let begin = pieces.begin();
        let mut course = lock(&self.course);
        let Times { marks, tallies, notes, .. } = &mut course.times;
        let closeup = pieces.take_closeup();
        let end = pieces.end(marks);
        let tally = &mut tallies[me];
        tally.span = nanos(begun - round)..nanos(end - round);
        tally.working += nanos(end - begin);
        tally.indices += units.indices(range.clone());
        tally.items += items;
        tally.runs += 1;
        if let Some((victim, _)) = theft {
            tally.thefts += 1;
            tallies[victim].suffered += 1;
        }
        if let Some(notes) = notes {
            let theft = theft.map(|(victim, more)| trace::Theft {
                victim,
                items: units.span(range.start..range.start + 1 + more),
            });
            let run = trace::Run {
                worker: me,
                items: units.span(range),
                begin: begin - round,
                end: end - round,
                theft,
                ticks: Vec::new(),
            };
            notes.add(run, closeup, round, units);
        }
    }

    /// Ends the loop at that place. Everything before is still folded, so of several ends the first one is the same whatever the
    /// schedule.
    fn stop(&self, place: usize, panic: Option<Panic>) {
        self.ranges.cut(self.plan.units.end(place));
        let mut course = lock(&self.course);
        let surplus = match &course.stop {
            Some((before, _)) if *before <= place && !is_planted(Bug::LastPanicCounts) => panic,
            _ => course.stop.replace((place, panic)).and_then(|(_, panic)| panic),
        };
        drop(course);
        discard(surplus);
    }

    /// What its indices stand for.
    pub(crate) fn units(&self) -> Units<'a> {
        self.plan.units
    }

    /// How it went. Not before everybody has left.
    pub(crate) fn into_course(self) -> Course {
        self.course.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::pool::{
        accumulator::{Accumulator, Made},
        body::{Body, Stop},
        fence::Fence,
        range::Stealing,
        times::Tally,
    };

    /// Counts the items of each run.
    struct Count;

    impl Body for Count {
        type State = ();
        type Acc = Vec<(usize, usize)>;
        type Found = Infallible;

        fn state(&self, _me: usize) {}

        fn block(
            &self,
            (): &mut (),
            acc: Option<Self::Acc>,
            range: Range<usize>,
        ) -> Result<Self::Acc, Stop<Infallible>> {
            let mut run = acc.unwrap_or(vec![(range.start, 0)]);
            run[0].1 += range.len();
            Ok(run)
        }
    }

    /// A round of two workers with five items each, on this thread: the first works, after the second has entered or not; then the second.
    fn round(
        fence: Fence,
        stealing: Stealing,
        second_has_entered: bool,
    ) -> (Vec<(usize, usize)>, [Tally; 2]) {
        let ranges = Ranges::new(2, fence, stealing);
        ranges.deal(0..10, &[5]);
        let plan = Plan {
            begin: Instant::now(),
            units: Units::Items,
            pace: None,
            profile: None,
            looked: &|_, _| (),
        };
        let times = Times { tallies: vec![Tally::default(); 2], ..Times::default() };
        let (round, made) = (Round::new(&ranges, plan, times), Made::new());
        let enter = |me| {
            let (owner, first) = ranges.enter(me);
            (me, owner, first)
        };
        let work =
            |(me, owner, first)| round.work(me, owner, first, &mut Accumulator::new(&Count, me, &made));
        let second = second_has_entered.then(|| enter(1));
        work(enter(0));
        work(second.unwrap_or_else(|| enter(1)));
        let runs = made.reduced(None, &|before: Vec<_>, behind| [before, behind].concat());
        let tallies = round.into_course().times.tallies;
        (runs.expect("all have been handed over"), tallies.try_into().expect("two workers"))
    }

    /// Items, indices, runs, thefts, those that brought nothing, and those suffered.
    fn counts(tally: &Tally) -> [usize; 6] {
        let Tally { items, indices, runs, thefts, failed, suffered, .. } = *tally;
        [items, indices, runs, thefts, failed, suffered]
    }

    #[test]
    fn what_a_worker_that_has_not_come_would_have_done_is_stolen() {
        for stealing in [Stealing::Largest, Stealing::Neighbour, Stealing::Off] {
            let (runs, [thief, late]) = round(Fence::Symmetric, stealing, false);
            assert_eq!(runs, [(0, 5), (5, 1), (6, 1), (7, 3)], "halves of what is left");
            assert_eq!(counts(&thief), [10, 10, 4, 3, 0, 0]);
            assert_eq!(counts(&late), [0, 0, 0, 0, 0, 3]);
            assert!(thief.span.start >= 0.0 && thief.span.end > thief.span.start, "{thief:?}");
            assert!(thief.working > 0.0, "{thief:?}");
            assert!(late.span.start.is_infinite() && late.working <= 0.0, "{late:?}");
        }
    }

    #[test]
    fn a_worker_that_has_come_and_does_not_move_is_robbed_unless_that_is_switched_off() {
        for stealing in [Stealing::Largest, Stealing::Neighbour] {
            let (runs, [thief, victim]) = round(Fence::Symmetric, stealing, true);
            assert_eq!(runs, [(0, 5), (5, 1), (6, 1), (7, 1), (8, 2)]);
            assert_eq!(counts(&thief), [9, 9, 4, 3, 0, 0]);
            assert_eq!(counts(&victim), [1, 1, 1, 0, 0, 3]);
        }
        let (runs, [thief, victim]) = round(Fence::Symmetric, Stealing::Off, true);
        assert_eq!(runs, [(0, 5), (5, 5)]);
        assert_eq!((counts(&thief), counts(&victim)), ([5, 5, 1, 0, 0, 0], [5, 5, 1, 0, 0, 0]));
    }

    #[test]
    fn a_theft_that_the_kernel_refuses_is_noted() {
        let (runs, [thief, victim]) = round(Fence::Refusing, Stealing::Largest, true);
        assert_eq!(runs, [(0, 5), (5, 5)]);
        assert_eq!(counts(&thief), [5, 5, 1, 0, 1, 0]);
        assert_eq!(counts(&victim), [5, 5, 1, 0, 0, 0]);
    }
}
