//! A shared loop as its workers see it: claim, fold, steal, hand over.

use std::{
    any::Any,
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::PoisonError,
};

use super::{
    affinity::usage,
    body::{Body, End, Stop, fold},
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

/// A piece of the slice folded by one worker: the index it begins with, and the result.
pub(crate) type Run<A> = (usize, A);

/// A shared loop.
pub(crate) struct Round<'a, L: Body> {
    ranges: &'a Ranges,
    body: &'a L,
    plan: Plan<'a>,
    measures_usage: bool,
    /// Whether somebody wants a timeline.
    is_traced: bool,
    made: Mutex<Made<L>>,
}

/// How a round is run.
pub(crate) struct Plan<'a> {
    pub(crate) begin: Instant,
    pub(crate) units: Units<'a>,
    /// What an index cost last time, in nanoseconds.
    pub(crate) pace: Option<f32>,
    /// And where in the slice the cost was.
    pub(crate) profile: Option<&'a Profile>,
}

/// What comes out of a shared loop.
pub(crate) struct Made<L: Body> {
    pub(crate) runs: Vec<Run<L::Acc>>,
    pub(crate) times: Times,
    /// Where it has stopped, as a place in the slice, and why: the first such place.
    pub(crate) stop: Option<(usize, Why<L::Found>)>,
}

/// Why a round stops.
pub(crate) enum Why<Z> {
    Found(Z),
    Panic(Box<dyn Any + Send>),
}

impl<'a, L: Body> Round<'a, L> {
    pub(crate) fn new(ranges: &'a Ranges, body: &'a L, plan: Plan<'a>, mut times: Times) -> Self {
        let measures_usage = times.usage.take().is_some(); // and it stays none where the system does not tell
        let is_traced = times.notes.is_some();
        let made = Made { runs: Vec::with_capacity(2 * times.tallies.len()), times, stop: None };
        Self { ranges, body, plan, measures_usage, is_traced, made: Mutex::new(made) }
    }

    /// What worker `me` does from entering to leaving; `state` and `acc` are its own if it has folded the items before its range.
    /// Never unwinds: a panic ends the loop and is kept for the caller. Items before it are still to be folded, and perhaps nobody else is
    /// there to do it, so the worker goes on.
    pub(crate) fn work(
        &self,
        me: usize,
        mut owner: Owner<'_>,
        first: Option<usize>,
        state: Option<L::State>,
        acc: Option<L::Acc>,
    ) {
        let before = if self.measures_usage { usage() } else { None };
        let mut own = Some((first, state, acc));
        loop {
            let (first, state, acc) = own.take().unwrap_or_default();
            let drained = catch_unwind(AssertUnwindSafe(|| self.drain(me, &mut owner, first, state, acc)));
            let Err(payload) = drained else { break };
            let last = owner.lose_count();
            self.stop(self.plan.units.place(last), Why::Panic(payload));
            if is_planted(Bug::PanicsAndLeaves) {
                break;
            }
        }
        if let (Some(before), Some(after)) = (before, before.and_then(|_| usage())) {
            lock(&self.made).times.usage.get_or_insert_default().add(before, after);
        }
        if owner.failed() > 0 {
            lock(&self.made).times.tallies[me].failed = owner.failed();
        }
    }

    /// Claims and folds until nothing is left to claim or steal. A run ends when its worker jumps.
    fn drain(
        &self,
        me: usize,
        owner: &mut Owner<'_>,
        first: Option<usize>,
        mut state: Option<L::State>,
        mut acc: Option<L::Acc>,
    ) {
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
        let state = state.get_or_insert_with(|| self.body.state(me));
        loop {
            match self.run(owner, item, state, acc.take(), &mut pieces) {
                Ok(part) => lock(&self.made).runs.push((item, part)),
                Err(stop) => {
                    pieces.look(owner.next(), Instant::now()); // at what has stopped it
                    self.stop(stop.place(), Why::Found(stop.found));
                }
            }
            self.note(me, begun, pieces, item..owner.next(), theft);
            let Some(Loot { item: stolen, victim }) = steal(owner) else { return };
            (item, theft) = (stolen, Some((victim, owner.left())));
            pieces = pieces_of(item, Instant::now());
        }
    }

    /// Folds item `first`, which is claimed, and then the range behind it, into what comes before, if there is anything.
    #[inline(always)]
    fn run(
        &self,
        owner: &mut Owner<'_>,
        first: usize,
        state: &mut L::State,
        acc: Option<L::Acc>,
        pieces: &mut Pieces,
    ) -> Result<L::Acc, Stop<L::Found>> {
        let body = self.body;
        let mut part = fold(body, state, acc, first..first + 1)?;
        pieces.look_closely(first + 1);
        let mut grain = Grain::new(pieces.begin(), self.plan.pace, !matches!(self.plan.units, Units::Items));
        while owner.left() > 0 {
            let Stretch { size, claims, full_fences } = grain.stretch(owner.left());
            owner.use_full_fences(full_fences);
            let contested;
            (part, contested) = stretch(body, owner, state, part, (size, claims))?;
            if contested {
                part = fold(body, state, Some(part), owner.settle(size))?;
            }
            let now = Instant::now();
            grain.look(owner.left(), now);
            pieces.look(owner.next(), now);
        }
        Ok(part)
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
        let mut made = lock(&self.made);
        let Times { marks, tallies, notes, .. } = &mut made.times;
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
    fn stop(&self, place: usize, why: Why<L::Found>) {
        self.ranges.cut(self.plan.units.end(place));
        let mut made = lock(&self.made);
        let surplus = match &made.stop {
            Some((before, _)) if *before <= place && !is_planted(Bug::LastPanicCounts) => Some(why),
            _ => made.stop.replace((place, why)).map(|(_, why)| why),
        };
        drop(made);
        discard(surplus);
    }

    /// What its indices stand for.
    pub(crate) fn units(&self) -> Units<'a> {
        self.plan.units
    }

    /// What the workers have made. Not before everybody has left.
    pub(crate) fn into_made(self) -> Made<L> {
        self.made.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Body> Made<L> {
    /// The runs, or what was found where the loop has stopped; or the panic that has ended it goes on.
    pub(crate) fn into_runs(self, cancelled: bool) -> Result<Vec<Run<L::Acc>>, End<L::Found>> {
        if self.stop.is_none() && !cancelled {
            return Ok(self.runs);
        }
        self.runs.into_iter().for_each(discard);
        match self.stop.map(|(_, why)| why) {
            Some(Why::Panic(payload)) => resume_unwind(payload),
            Some(Why::Found(found)) if !cancelled => Err(End::Stopped(found)),
            found => {
                discard(found);
                Err(End::Cancelled)
            }
        }
    }
}

/// Folds so many claims of some size. Out of line: here the accumulator stays in a register, since nothing is called but the user's
/// closures. (Inlined into `run`, which looks at the clock, it went through memory with every block: 0.77 ns an item of a sum
/// of `f64`, and 0.5 here.)
#[inline(never)]
fn stretch<L: Body>(
    body: &L,
    owner: &mut Owner<'_>,
    state: &mut L::State,
    part: L::Acc,
    (size, claims): (usize, usize),
) -> Result<(L::Acc, bool), Stop<L::Found>> {
    let block = |part, items| body.block(state, Some(part), items);
    match size {
        1 => owner.fold::<1, _, _>(claims, part, block),
        8 => owner.fold::<8, _, _>(claims, part, block),
        _ => owner.fold::<64, _, _>(claims, part, block),
    }
}

/// Drops a value that a panic has made useless. If that panics too, one panic is enough for the caller.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        mem::forget(payload); // its own drop may panic as well
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::pool::{fence::Fence, range::Stealing, times::Tally};

    /// Counts the items.
    struct Count;

    impl Body for Count {
        type State = ();
        type Acc = usize;
        type Found = Infallible;

        fn state(&self, _me: usize) {}

        fn block(
            &self,
            (): &mut (),
            acc: Option<usize>,
            range: Range<usize>,
        ) -> Result<usize, Stop<Infallible>> {
            Ok(acc.unwrap_or(0) + range.len())
        }
    }

    /// A round of two workers with five items each, on this thread: the first works, after the second has entered or not; then the second.
    fn round(fence: Fence, stealing: Stealing, second_has_entered: bool) -> (Vec<Run<usize>>, [Tally; 2]) {
        let ranges = Ranges::new(2, fence, stealing);
        ranges.deal(0..10, &[5]);
        let plan = Plan { begin: Instant::now(), units: Units::Items, pace: None, profile: None };
        let times = Times { tallies: vec![Tally::default(); 2], ..Times::default() };
        let round = Round::new(&ranges, &Count, plan, times);
        let enter = |me| {
            let (owner, first) = ranges.enter(me);
            (me, owner, first)
        };
        let work = |(me, owner, first)| round.work(me, owner, first, None, None);
        let second = second_has_entered.then(|| enter(1));
        work(enter(0));
        work(second.unwrap_or_else(|| enter(1)));
        let Made { mut runs, times, .. } = round.into_made();
        runs.sort_unstable();
        (runs, times.tallies.try_into().expect("two workers"))
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
