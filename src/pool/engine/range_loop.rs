//! A shared loop whose workers claim from ranges and steal. Items are folded through
//! [`Accumulate`].

use std::{mem, ops::Range, sync::Arc};

use super::{
    accumulator::{Accumulate, Lend},
    ending::{Panic, StopAt},
    handles::Watch,
    plan::{Plan, SharedPlan},
    thief::Thief,
    visit::{Hand, Worker, fold_run, visit},
    work_list::{GrowWorker, WorkList},
    worker_log::WorkerLog,
};
use crate::{
    clock::Instant,
    pool::{
        policy::pace::Stretch,
        supply::range::{Claims, Owner, Ranges, Stolen},
        team::{
            arena::Turn,
            barrier::{Offer, Reentry},
            job,
            threads::Threads,
        },
        tell::{
            journal::{Journal, TheftNote},
            times::Times,
        },
    },
};

/// A shared loop over ranges.
pub(crate) struct RangeLoop<'a> {
    pub(crate) ranges: &'a Arc<Ranges>,
    pub(crate) plan: &'a Plan<'a>,
    /// `None` if the call repeats the plan of an earlier one, and notes nothing.
    pub(crate) times: Option<&'a Times>,
    /// The list of made items, if the loop runs over a list that grows.
    pub(crate) list: Option<&'a dyn WorkList>,
}

impl RangeLoop<'_> {
    /// Begins the loop over `items` in arena `number`. The first `dealt` workers have items, and
    /// the others steal. [`run`](Self::run) follows, and then [`Watch::end`].
    #[inline(never)] // items run above the frame of `Executor::share_ranges`
    pub(crate) fn begin(&self, (items, dealt): (&Range<usize>, usize), number: usize, watch: Watch<'_>) {
        let SharedPlan { workers, ref boundaries, .. } = *self.plan.shared;
        self.ranges.partition(items.clone(), &boundaries.bounds(items, dealt));
        if let Some(list) = self.list {
            list.share(workers, number);
        }
        watch.begin(self.ranges, self.plan.units, items.clone());
    }

    /// Runs the loop, which has begun. Nothing unwinds: user code runs only inside `work`, which
    /// catches panics.
    #[inline(always)] // one frame less
    pub(crate) fn run(
        &self,
        (threads, turn): (&Threads, &Turn<'_>),
        own: &mut dyn Accumulate,
        partials: &dyn Lend,
    ) {
        // Before the first offer: the caller's partial result of earlier items continues with this
        // range, so thieves must leave it an item.
        let mut mine = self.ranges.enter_before_offers();
        let work = |me| {
            let mut entered = self.ranges.enter(me);
            partials.lend(me, &mut |acc| self.work(me, &mut entered, acc));
        };
        let reentry = if self.list.is_some() { Reentry::Again } else { Reentry::Once };
        let SharedPlan { workers, polls, .. } = *self.plan.shared;
        let offer = Offer { helpers: workers - 1, reentry, polls };
        job::share(&threads.barrier, turn, offer, &work, || self.work(0, &mut mine, own));
    }

    /// Runs worker `me`, which has `entered` its range, until it leaves.
    pub(crate) fn work(
        &self,
        me: usize,
        (owner, first): &mut (Owner<'_>, Option<usize>),
        acc: &mut dyn Accumulate,
    ) {
        if let Some(list) = self.list {
            list.worker_counts().begin_work();
        }
        let mut worker = RangeWorker { of: self, me, owner, first: first.take() };
        visit(self.times, (me, self.plan.units), &mut worker, acc);
    }

    /// Ends the loop: workers soon claim only items that `stop` needs. A list that grows has no
    /// order, so it ends at once.
    #[cold]
    #[inline(never)]
    fn stop(&self, stop: StopAt) {
        if let Some(list) = self.list {
            list.worker_counts().close();
        }
        self.ranges.truncate(if self.list.is_some() { 0 } else { stop.needed_end });
    }
}

/// A worker of a [`RangeLoop`], which owns a range.
struct RangeWorker<'w, 'o> {
    of: &'w RangeLoop<'w>,
    me: usize,
    owner: &'w mut Owner<'o>,
    /// The first item of the worker's range, which the worker has claimed when it entered.
    first: Option<usize>,
}

impl Worker for RangeWorker<'_, '_> {
    fn work(&mut self, acc: &mut dyn Accumulate, worker_log: &mut WorkerLog<'_>) {
        self.drain(acc, worker_log);
        if let Some(list) = self.of.list {
            self.grow(list, acc, worker_log);
        }
    }

    /// The worker continues, because the items before the panic are still needed, and perhaps no
    /// other worker folds them. In a list that grows, items have no order, so the worker leaves.
    fn end_at_panic(&mut self, panic: Panic, acc: &mut dyn Accumulate) -> bool {
        let goes_on = self.of.list.is_none();
        let stop = StopAt::there(self.owner.abandon());
        self.of.stop(stop);
        acc.abandon(stop, panic);
        goes_on
    }

    fn leave(&mut self, journal: Option<&mut Journal>) -> usize {
        if let (Some(list), Some(journal)) = (self.of.list, journal) {
            journal.count(list.folded(self.me));
        }
        self.owner.failed
    }
}

impl RangeWorker<'_, '_> {
    /// Claims and folds until nothing is left to claim or steal. A run of items ends when the
    /// worker continues at another place of the slice.
    fn drain(&mut self, acc: &mut dyn Accumulate, worker_log: &mut WorkerLog<'_>) {
        let Self { of, me, owner, .. } = self;
        let mut thief = Thief::new(*me, of.plan);
        loop {
            let (first, theft) = match self.first.take() {
                Some(first) => (first, None),
                None => match thief.steal(owner) {
                    Some(Stolen { item, victim }) => {
                        (item, Some(TheftNote { victim, indices: owner.left() + 1 }))
                    }
                    None => return,
                },
            };
            let mut journal = worker_log.journal.as_deref_mut();
            let range = theft.is_none().then_some(*me);
            let begin = journal.as_mut().map(|journal| journal.begin(first, theft));
            match Self::run(of, owner, (first, range, begin), acc, journal.as_deref_mut()) {
                Ok(first) => acc.end(first),
                Err(stop) => {
                    if let Some(journal) = &mut journal {
                        journal.mark(owner.next(), Instant::now()); // at the item that has stopped the loop
                    }
                    of.stop(stop);
                }
            }
            if let Some(journal) = journal {
                journal.end(owner.next());
            }
        }
    }

    /// Folds a run: the claimed item `first`, and the worker's range behind it. `range` is the
    /// number of the range, if the worker got it at the start. Returns the first index of the last
    /// partial result.
    #[inline(never)] // without the frame of a theft
    fn run(
        of: &RangeLoop<'_>,
        owner: &mut Owner<'_>,
        (first, range, begin): (usize, Option<usize>, Option<Instant>),
        acc: &mut dyn Accumulate,
        mut journal: Option<&mut Journal>,
    ) -> Result<usize, StopAt> {
        acc.take(&mut Claims::of(first..first + 1))?;
        if let Some(journal) = &mut journal {
            journal.tick(first + 1);
        }
        let plan = of.plan;
        let mut grain = plan.grain(begin, owner.next()..owner.next() + owner.left(), range);
        let mut hand = OwnRange { owner, first, plan, journal };
        fold_run(&mut hand, &mut grain, acc)?;
        Ok(hand.first)
    }

    /// Takes items that were made during the loop.
    #[inline(never)] // other loops do without its frame
    fn grow(&self, list: &dyn WorkList, acc: &mut dyn Accumulate, worker_log: &mut WorkerLog<'_>) {
        let Self { of, me, .. } = *self;
        let grow_worker = GrowWorker::new(list, me, of.plan, of.ranges);
        if let Err(stop) = list.run_worker(grow_worker, acc, worker_log) {
            of.stop(stop);
        }
        acc.end(0);
    }
}

/// The range of a worker, which other workers may shorten.
struct OwnRange<'r, 'o> {
    owner: &'r mut Owner<'o>,
    /// The first index of the current partial result. If partial results may be large, a run has
    /// several of them.
    first: usize,
    plan: &'r Plan<'r>,
    journal: Option<&'r mut Journal>,
}

impl Hand for OwnRange<'_, '_> {
    fn left(&self) -> usize {
        self.owner.left()
    }

    #[inline(always)]
    fn fold(&mut self, stretch: Stretch, acc: &mut dyn Accumulate) -> Result<(), StopAt> {
        let Stretch { size, items, full_fences, is_new } = stretch;
        let owner = &mut *self.owner;
        if is_new && self.plan.has_large_partials {
            acc.end(mem::replace(&mut self.first, owner.next()));
        }
        owner.use_full_fences(full_fences);
        let (taken, contested) = owner.claim(size, items, |claims| acc.take(claims));
        taken?;
        if contested {
            let resolved = owner.resolve(size);
            if !resolved.is_empty() {
                acc.take(&mut Claims::of(resolved))?;
            }
        }
        Ok(())
    }

    fn is_noted(&self) -> bool {
        self.journal.is_some()
    }

    #[inline(always)]
    fn end_stretch(&mut self, now: Instant) -> bool {
        if let Some(journal) = &mut self.journal {
            journal.mark(self.owner.next(), now);
        }
        self.plan.look_around(now);
        true
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{convert::Infallible, iter, ptr};

    use super::*;
    use crate::pool::{
        engine::{
            accumulator::{Accumulator, Partials, WorkerFolder, result_of},
            body::{Body, Stop},
        },
        policy::{
            prices::Estimate,
            site::{Loop, Site, Slice},
            split::{Boundaries, Splits},
        },
        supply::Fence,
        team::barrier::PollTimes,
        tell::{journal::Tally, times::Times, units::Units},
    };

    /// Counts the items of each run.
    struct Count;

    impl Body for Count {
        type State<'s> = ();
        type Acc = Vec<(usize, usize)>;
        type Found = Infallible;

        fn state(&self, _me: usize) {}

        fn fold(
            &self,
            (): &mut (),
            mut acc: Option<Self::Acc>,
            claims: &mut Claims<'_>,
        ) -> Result<Option<Self::Acc>, Stop<Infallible>> {
            while let Some(range) = claims.next() {
                acc.get_or_insert(vec![(range.start, 0)])[0].1 += range.len();
            }
            Ok(acc)
        }

        fn reduce(&self, before: Self::Acc, behind: Self::Acc) -> Self::Acc {
            [before, behind].concat()
        }
    }

    /// The plan of a loop of two workers, with what is known of the loop.
    fn shared(pace: Option<f32>, boundaries: Boundaries) -> SharedPlan {
        SharedPlan { workers: 2, pace, boundaries, polls: PollTimes::default() }
    }

    fn plan<'a>(shared: &'a SharedPlan, heavy: &'a Estimate) -> Plan<'a> {
        Plan { shared, units: Units::Items, has_large_partials: true, heavy, team: None }
    }

    /// A loop of two workers with five items each, both on this thread. The first worker works
    /// either before or after the second worker enters. The second worker works after the first
    /// worker.
    fn run_loop(fence: Fence, second_has_entered: bool) -> (Vec<(usize, usize)>, [Tally; 2]) {
        let (ranges, heavy) = (Arc::new(Ranges::new(2, fence)), Estimate::new(5e3));
        ranges.partition(0..10, &[5]);
        let nothing_known = shared(None, Boundaries::default());
        let plan = plan(&nothing_known, &heavy);
        let (begin, mut times) = (Instant::now(), Box::<Times>::default().of(2, false));
        let (range_loop, mut made) = (
            RangeLoop { ranges: &ranges, plan: &plan, times: Some(&times), list: None },
            Partials::new(&Count, &Units::Items),
        );
        let enter = |me| (me, ranges.enter(me));
        let work = |(me, mut entered)| {
            let mut folder = WorkerFolder::new(&Count, me, None);
            let mut accumulator = Accumulator::new(&mut folder, None, &made);
            range_loop.work(me, &mut entered, &mut accumulator);
            accumulator.hand_over();
        };
        let second = second_has_entered.then(|| enter(1));
        work(enter(0));
        work(second.unwrap_or_else(|| enter(1)));
        let runs = result_of(&mut made, false, None).through().flatten();
        times.gather(begin);
        (runs.expect("all have been handed over"), times.tallies.try_into().expect("two workers"))
    }

    /// Items, indices, runs, thefts, failed thefts, and ranges that other workers stole.
    fn counts(tally: &Tally) -> [usize; 6] {
        let Tally { items, indices, runs, thefts, failed, suffered, .. } = *tally;
        [items, indices, runs, thefts, failed, suffered]
    }

    #[test]
    fn what_a_worker_that_has_not_come_would_have_done_is_stolen() {
        let (runs, [thief, late]) = run_loop(Fence::Symmetric, false);
        assert_eq!(runs, [(0, 5), (5, 1), (6, 1), (7, 3)], "halves of what is left");
        assert_eq!(counts(&thief), [10, 10, 4, 3, 0, 0]);
        assert_eq!(counts(&late), [0, 0, 0, 0, 0, 3]);
        assert!(thief.span.start >= 0.0 && thief.span.end > thief.span.start, "{thief:?}");
        assert!(thief.working > 0.0, "{thief:?}");
        assert!(late.span.start.is_infinite() && late.working <= 0.0, "{late:?}");
    }

    #[test]
    fn a_worker_that_has_come_and_does_not_move_is_a_victim() {
        let (runs, [thief, victim]) = run_loop(Fence::Symmetric, true);
        assert_eq!(runs, [(0, 5), (5, 1), (6, 1), (7, 1), (8, 2)]);
        assert_eq!(counts(&thief), [9, 9, 4, 3, 0, 0]);
        assert_eq!(counts(&victim), [1, 1, 1, 0, 0, 3]);
    }

    /// Notes the length of each claim.
    struct Lengths;

    impl Body for Lengths {
        type State<'s> = ();
        type Acc = Vec<usize>;
        type Found = Infallible;

        fn state(&self, _me: usize) {}

        fn fold(
            &self,
            (): &mut (),
            acc: Option<Self::Acc>,
            claims: &mut Claims<'_>,
        ) -> Result<Option<Self::Acc>, Stop<Infallible>> {
            let mut lengths = acc.unwrap_or_default();
            lengths.extend(iter::from_fn(|| claims.next()).map(|range| range.len()));
            Ok(Some(lengths))
        }

        fn reduce(&self, before: Self::Acc, behind: Self::Acc) -> Self::Acc {
            [before, behind].concat()
        }
    }

    #[test]
    fn claims_are_as_large_as_the_last_call_over_the_slice_says() {
        const LEN: u16 = 4000;
        let len = usize::from(LEN);
        for (each, claimed) in
            [(Some(4.0), 512), (Some(20.0), 64), (Some(100.0), 16), (Some(500.0), 4), (None, 8)]
        {
            let (mut splits, heavy) = (Splits::new(2), Estimate::new(5e3));
            let this = Loop { site: Site::new(ptr::null()), slice: Slice { address: 0x1000, len } };
            if let Some(each) = each {
                let (tallies, marks) = (vec![Tally::default(); 2], vec![(0, each * f32::from(LEN))]);
                splits.learn(this, false, &mut Times { marks, tallies, ..Times::default() });
            }
            let boundaries = splits.boundaries(this, false, 2);
            assert_eq!(boundaries.known.is_some(), each.is_some());
            let shared = shared(each.or(Some(4.0)), boundaries);
            let plan = plan(&shared, &heavy);
            let ranges = Arc::new(Ranges::new(2, Fence::Symmetric));
            ranges.partition(0..len, &[len]);
            let times = Box::<Times>::default().of(2, false);
            let mut made = Partials::new(&Lengths, &Units::Items);
            let range_loop = RangeLoop { ranges: &ranges, plan: &plan, times: Some(&times), list: None };
            let mut folder = WorkerFolder::new(&Lengths, 0, None);
            let mut accumulator = Accumulator::new(&mut folder, None, &made);
            range_loop.work(0, &mut ranges.enter(0), &mut accumulator);
            let last = accumulator.finish();
            drop(accumulator);
            let lengths = result_of(&mut made, false, last).through().flatten();
            let lengths = lengths.expect("the caller has worked");
            assert_eq!(lengths.iter().sum::<usize>(), len);
            assert_eq!(lengths[..2], [1, claimed], "{each:?} ns an item");
        }
    }

    #[test]
    #[cfg(planted)] // only a build with planted bugs has a fence that the kernel refuses
    fn a_theft_that_the_kernel_refuses_is_noted() {
        let (runs, [thief, victim]) = run_loop(Fence::Refusing, true);
        assert_eq!(runs, [(0, 5), (5, 5)]);
        assert_eq!(counts(&thief), [5, 5, 1, 0, 1, 0]);
        assert_eq!(counts(&victim), [5, 5, 1, 0, 0, 0]);
    }
}
