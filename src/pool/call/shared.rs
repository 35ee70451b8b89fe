//! The part of a call that is shared: how many help, from where on, and for how long threads poll;
//! then what the pool learns from it.

use std::{borrow::Cow, ops::Range};

use super::{
    accumulator::{Accumulate, Lend},
    course::Course,
    ending::FirstStop,
    executor::{Call, Executor, Finish, Turn},
    options::Options,
    plan::Plan,
    round::Round,
    search::Search,
};
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::{
            launch::{Launch, up_to},
            memory,
            site::LoopKind,
            split::{Splits, equal_parts, parts},
            victim::Stealing,
        },
        protocol::barrier::Polls,
        record::{
            journal::{Tally, Times},
            trace::notes::Before,
        },
    },
    sync::{Ordering, Patience},
};

/// The part of a call that is shared.
struct Shared<'a> {
    call: &'a Call,
    begin: Instant,
    left: Range<usize>,
    workers: usize,
    polls: Polls,
    options: &'a Options<'a>,
}

impl Executor {
    /// Shares what the caller has not done `before`, and learns from it.
    pub(super) fn share(
        &self,
        call: &Call,
        mut before: Before,
        mut turn: Turn<'_>,
        options: &Options<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> Finish {
        let this = call.this;
        let (begin, left) = (before.begin + before.took, before.indices..this.slice.len);
        self.seats.make_room();
        let most = self.most(this, options);
        let helpers = if let Launch::Shared { helpers } = call.launch { helpers } else { most };
        let helpers = if turn.splits.is_cpu_bound(this.site) { helpers.min(self.placed) } else { helpers };
        let workers = if options.list.is_some() { helpers } else { helpers.min(left.len() - 1) } + 1;
        let mut times = turn.splits.take_times(workers, self.workers > self.placed + 1);
        times.notes = options.notes(before.took);
        let shared = Shared { call, begin, left, workers, polls: self.polls(call, workers), options };
        let (mut times, stop) = if options.kind == LoopKind::First {
            self.search(&shared, times, own, others)
        } else {
            self.round(&shared, &mut turn.splits, times, own, others)
        };
        let cancelled = options.watch.is_cancelled();
        if stop.is_none() && !cancelled {
            turn.splits.learn_cpu_bound(this, workers.min(self.placed + 1), &times);
        }
        if !cancelled && call.launch.is_learnt_from() {
            self.learn(&shared, &before, &times, stop.place());
        }
        let account = options.account(&mut before, Ok(&mut times), self.ledger.is_some());
        turn.splits.give_back(times);
        self.gaps.end();
        Finish::with(stop.how(cancelled), account, self.prices.help_time(call.awake))
    }

    /// How long threads poll before they sleep. If there are more workers than CPUs, they hardly
    /// do: they would have the CPU of one that works. If other threads call loops, no helper polls
    /// between loops.
    fn polls(&self, call: &Call, workers: usize) -> Polls {
        let is_crowded = self.is_crowded.swap(false, Ordering::Relaxed);
        if workers > self.placed + 1 {
            return Polls { at_end: Patience::BRIEF, between: self.gaps.asked() };
        }
        let at_end = Patience::of(self.prices.worth_polling(self.memory.pace(call.this)));
        let expected = self.memory.expected(call.this);
        let short = call.gap.is_some_and(|gap| gap.is_short(expected));
        let between = self.gaps.next(call.awake, short, is_crowded, &self.prices);
        Polls { at_end: at_end.max(Patience::BRIEF), between }
    }

    /// Runs a search: all workers go from the front together.
    fn search(
        &self,
        shared: &Shared<'_>,
        mut times: Times,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> (Times, FirstStop) {
        let Shared { begin, ref left, workers, polls, options, .. } = *shared;
        if let Some(notes) = &mut times.notes {
            notes.dealt = vec![0..0; workers]; // nobody owns anything
        }
        let course = Course::new(begin, times);
        let search = Search::new(left.clone(), workers, options.watch, course);
        let (times, stop) = search.run(&self.crew, workers, polls, own, others);
        // When a search is over, all its items count as done.
        options.watch.done(left.len().saturating_sub(times.indices()));
        (times, stop)
    }

    /// Runs a round: each worker claims from the front of its own range.
    fn round(
        &self,
        shared: &Shared<'_>,
        splits: &mut Splits,
        mut times: Times,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> (Times, FirstStop) {
        let Shared { call: &Call { this, awake, .. }, begin, ref left, workers, polls, options } = *shared;
        // Costs are known only of rounds over a whole slice, from one end to the other.
        let whole = left.start == 0 && self.stealing != Stealing::Off;
        let taught = if whole { splits.bounds(this, awake, workers) } else { None };
        let same = matches!(taught, Some(Cow::Borrowed(_)));
        let bounds = taught.unwrap_or_else(|| equal_parts(left, workers).into());
        if let Some(notes) = &mut times.notes {
            let parts = parts(left.clone(), &bounds);
            notes.dealt = parts.map(|part| options.units.items(part)).collect();
        }
        let plan = Plan {
            workers,
            units: options.units,
            pace: if options.kind.may_stop() { self.memory.pace(this) } else { self.memory.recall(this) },
            profile: if whole { splits.profile(this, awake) } else { None },
            stealing: self.stealing,
            is_growing: options.kind == LoopKind::Growing,
            heavy: &self.prices.heavy,
            seats: Some(&self.seats),
            polls,
        };
        let (course, list) = (Course::new(begin, times), options.list);
        let round = Round { ranges: &self.ranges, plan, course, list };
        let dealt = (left.clone(), &*bounds);
        let (mut times, stop) = round.run(&self.crew, dealt, options.watch, own, others);
        let balanced = same && times.runs() == workers && times.are_balanced();
        if whole && !balanced && stop.is_none() && !options.watch.is_cancelled() {
            splits.learn(this, awake, &mut times);
        }
        (times, stop)
    }

    /// Learns what items cost and what help costs.
    fn learn(&self, shared: &Shared<'_>, before: &Before, times: &Times, stop: Option<usize>) {
        let Shared { call: &Call { this, awake, launch, .. }, begin, options, .. } = *shared;
        let (kind, was_trial) = (options.kind, launch.is_trial());
        let over = memory::Shared { this, kind, was_trial, took: nanos(before.begin.elapsed()) };
        let (indices, took) = (before.indices + times.indices(), nanos(before.took));
        let (indices, work) = up_to(stop, indices, took + times.work());
        self.memory.learn_shared(&self.prices, over, indices, work);
        if options.list.is_some() {
            return; // a helper may have come in time and found nothing
        }
        let starts = |tallies: &[Tally]| tallies.iter().map(|tally| tally.span.start).reduce(f32::min);
        let (own, helpers) = times.tallies.split_at(1);
        if let (Some(own), Some(first)) = (starts(own), starts(helpers))
            && own.is_finite()
        {
            // Both of two workers wait for what comes behind the last item: it counts twice.
            let ends = times.tallies.iter().map(|tally| tally.span.end).filter(|end| end.is_finite());
            let behind = nanos(begin.elapsed()) - ends.fold(0.0, f32::max);
            let late = first.is_finite().then_some(first + 2.0 * behind);
            self.prices.learn(awake, helpers.len(), late, own, || nanos(begin.elapsed()));
        }
    }
}
