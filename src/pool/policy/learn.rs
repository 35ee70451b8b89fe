//! At its end, a call that was shared tells the policy once how long it took. The pool learns from
//! that the cost of items, the use of sharing and the price of help.

use super::{
    launch::{Launch, Why, up_to},
    memory::Memory,
    prices::{CLEARLY, HelpersAre, Prices},
    site::{Loop, LoopKind},
    split::{Boundaries, Splits},
};
use crate::pool::tell::{journal::Tally, times::Times};

/// A call that was shared, at its end. All times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCall {
    pub(crate) this: Loop,
    pub(crate) kind: LoopKind,
    /// How helpers were when the call began.
    pub(crate) helpers: HelpersAre,
    /// How the call began.
    pub(crate) launch: Launch,
    /// Whether all helpers that pay for the loop were idle. Otherwise the call says nothing about
    /// the use of sharing.
    pub(crate) is_full: bool,
    /// `None` unless the loop runs over a list that grows.
    pub(crate) list: Option<ListCall>,
    /// How many indices the calling thread folded before it shared the rest, and its time for them.
    pub(crate) alone: usize,
    pub(crate) took_alone: f32,
    /// How long the call took, or would have taken if it had repeated a plan as most calls of the
    /// loop do.
    pub(crate) took: f32,
    /// How long its shared part took, and how much of this a call that repeats it would not take; 0
    /// if no call may repeat it.
    pub(crate) took_shared: f32,
    pub(crate) deciding: f32,
    /// Where the loop has stopped, if it has.
    pub(crate) stop: Option<usize>,
}

/// The measurements that only a call over a list that grows has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListCall {
    /// How many items were folded.
    pub(crate) items: usize,
    /// How long the calling thread would have taken alone for all items, at the rate of those that
    /// it folded before it shared the rest.
    pub(crate) alone: f32,
}

impl ListCall {
    /// A call whose calling thread folded the first `own` items in `took`, and whose workers folded
    /// `shared` items.
    pub(crate) fn new(own: usize, took: f32, shared: usize) -> Self {
        let items = own.saturating_add(shared);
        let alone = if own > 0 { took * (items as f32 / own as f32) } else { f32::INFINITY };
        Self { items, alone }
    }
}

impl SharedCall {
    /// Learns the cost of items, whether sharing pays, and the price of help.
    pub(crate) fn learn(&self, memory: &Memory, prices: &Prices, times: &Times) {
        let Self { this, kind, is_full, .. } = *self;
        let awake = self.helpers.awake();
        let (indices, work) = self.needed(times);
        if self.launch == Launch::Explored {
            // The price of help was measured, and caches may have been cold.
            if !prices.explored(awake) {
                return;
            }
        } else if self.launch.why() == Some(Why::NewSlice) {
            memory.learn_slice(this, kind, indices, work);
        } else if is_full && !self.launch.is_trial() && !self.is_list_of_long_items(prices, work) {
            memory.learn_shared(prices, this, kind, (self.took, awake), indices, work);
            if self.list.is_some() && self.launch.why() == Some(Why::Faster) {
                // It was to run alone, and took far longer than lists did when that was decided.
                // The cost shows that the verdict is outdated.
                memory.learn(this, kind, indices, work);
            }
        } else {
            memory.learn(this, kind, indices, work);
        }
        if let Some(ListCall { alone, .. }) = self.list.filter(|_| self.launch.is_trial()) {
            memory.learn_part_of_list(this, Some(alone));
        }
        // In a list that grows, a helper may have come in time and found nothing.
        if !is_full || self.list.is_some() {
            return;
        }
        let starts = |tallies: &[Tally]| tallies.iter().map(|tally| tally.span.start).reduce(f32::min);
        let (own, helpers) = times.tallies.split_at(1);
        if let (Some(own), Some(first)) = (starts(own), starts(helpers))
            && own.is_finite()
        {
            // The time from the last item to the end of the loop counts twice, because two workers
            // both wait during this time.
            let behind = self.took_shared - times.length();
            let late = first.is_finite().then_some((first + 2.0 * behind - self.deciding).max(0.0));
            if self.helpers == HelpersAre::Cold {
                prices.learn_cold(helpers.len(), late, own, self.took_shared);
            } else {
                prices.learn(awake, helpers.len(), late, own, self.took_shared);
            }
        }
    }

    /// Whether the items of a list are so long that a trial of running alone would not pay: the
    /// caller can give it up only at the end of an item.
    fn is_list_of_long_items(&self, prices: &Prices, work: f32) -> bool {
        self.list.is_some_and(|list| work / list.items.max(1) as f32 >= CLEARLY * prices.help(false))
    }

    /// The indices that the plain loop would have folded, and the work on them.
    fn needed(&self, times: &Times) -> (usize, f32) {
        // If the caller itself has reached the stop, the plain loop would have taken only the
        // caller's time. In this case the helpers' time does not count. (In a loop over two items,
        // a helper worked for 12 µs after its wake-up.)
        let own = &times.tallies[0];
        let came = self.stop.is_some_and(|place| self.alone + own.indices >= place);
        let whole = (times.indices(), times.work());
        let (indices, work) = if came { (own.indices, own.working) } else { whole };
        up_to(self.stop, self.alone + indices, self.took_alone + work)
    }

    /// Learns where the ranges of the next call begin, and whether items keep a CPU busy. The loop
    /// has gone through all items, on `cpus` CPUs. `boundaries` were those between its ranges:
    /// `None` if only a part of the slice was shared, or if its workers have no ranges.
    pub(crate) fn learn_splits(
        &self,
        splits: &mut Splits,
        boundaries: Option<&Boundaries>,
        cpus: usize,
        times: &mut Times,
    ) {
        let (this, awake) = (self.this, self.helpers.awake());
        if !self.is_full {
            return;
        }
        splits.learn_cpu_bound(this, cpus, times);
        let Some(boundaries) = boundaries else { return };
        let came_all = times.runs() == times.tallies.len();
        if !(boundaries.is_of_last_call() && came_all && times.are_balanced()) {
            splits.learn(this, awake, times);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{ptr, time::Duration};

    use super::{
        super::{
            alone_or_shared::AloneOrShared,
            repeat::DECIDED_NS,
            site::{Site, Slice},
        },
        *,
    };

    /// A call over 1,000 items, of which the calling thread folded the first 100 alone in 1 µs.
    /// Then the thread folded 100 items in 1 µs, and a helper folded 800 items in 80 µs.
    fn call(kind: LoopKind, is_full: bool, stop: Option<usize>) -> (SharedCall, Times) {
        let slice = Slice { address: 0x1000, len: 1000 };
        let this = Loop { site: Site::new(ptr::without_provenance(0x1230)), slice };
        let tally = |indices, working| Tally { span: 0.0..working, working, indices, ..Tally::default() };
        let times = Times { tallies: vec![tally(100, 1e3), tally(800, 80e3)], ..Times::default() };
        let call = SharedCall {
            this,
            kind,
            helpers: HelpersAre::Warm,
            launch: Launch::Shared { helpers: 1 },
            is_full,
            list: None,
            alone: 100,
            took_alone: 1e3,
            took: 82e3,
            took_shared: 81e3,
            stop,
            deciding: 0.0,
        };
        (call, times)
    }

    /// A list of 1,000 seeds with `items` items in all, which took 82 µs of work.
    #[test]
    fn lists_of_short_items_are_tried_alone() {
        let tried = |items: usize| {
            let (memory, prices) = (Memory::new(), Prices::new());
            let (mut call, times) = call(LoopKind::THROUGH, true, None);
            call.list = Some(ListCall::new(items / 10, 1e3, items - items / 10));
            let learn = |call: SharedCall| call.learn(&memory, &prices, &times);
            (0..2).for_each(|_| learn(call));
            let is_due = |verdict: AloneOrShared| verdict.is_trial_due();
            let due = memory.verdict(call.this).map(is_due);
            learn(SharedCall { launch: Launch::Trial { shared: Duration::ZERO }, ..call });
            (due, memory.verdict(call.this).map(is_due))
        };
        assert_eq!(tried(100_000), (Some(true), Some(true)), "its first tenth took 1 µs: 10 of 82 µs");
        assert_eq!(tried(2), (None, None), "a helper comes before the end of an item");
    }

    #[test]
    fn a_list_that_is_longer_than_those_that_were_faster_alone_is_shared_again() {
        let (memory, prices, kind) = (Memory::new(), Prices::new(), LoopKind::THROUGH);
        let (mut call, times) = call(kind, true, None);
        let this = call.this;
        call.list = Some(ListCall::new(10_000, 1e3, 90_000));
        (0..2).for_each(|_| call.learn(&memory, &prices, &times));
        for _ in 0..2 {
            memory.learn(this, kind, 1000, 50e3);
            memory.learn_alone(&prices, this, true, 50e3);
        }
        let is_outdated =
            || memory.verdict(this).map(|verdict| verdict.is_outdated(memory.recall(this).unwrap()));
        assert_eq!(
            (is_outdated(), memory.verdict(this).map(|verdict| verdict.alone)),
            (Some(false), Some(true))
        );
        let tallies =
            times.tallies.iter().map(|tally| Tally { working: 10.0 * tally.working, ..tally.clone() });
        let longer = Times { tallies: tallies.collect(), ..Times::default() };
        let launch = Launch::Alone { limit: Duration::ZERO, is_plain: false, stretch: 1, why: Why::Faster };
        SharedCall { launch, took: 500e3, ..call }.learn(&memory, &prices, &longer);
        assert_eq!(is_outdated(), Some(true));
    }

    #[test]
    fn work_counts_that_the_plain_loop_would_have_done() {
        let needed = |stop| {
            let (call, times) = call(LoopKind::MAY_STOP, true, stop);
            call.needed(&times)
        };
        assert_eq!(needed(None), (1000, 82e3));
        assert_eq!(needed(Some(199)), (200, 2e3), "the calling thread has reached the stop");
        assert_eq!(needed(Some(499)), (500, 41e3), "a helper has, so half of the work counts");
    }

    #[test]
    fn the_time_of_deciding_does_not_count_in_the_price_of_help() {
        let learnt = |deciding| {
            let (memory, prices) = (Memory::new(), Prices::new());
            let (call, mut times) = call(LoopKind::THROUGH, true, None);
            let call = SharedCall { deciding, took: 8e3, took_shared: 7e3, ..call };
            // The helper begins after 0.3 µs, and ends 0.4 µs before the call.
            times.tallies[1].span = 300.0..6.6e3;
            call.learn(&memory, &prices, &times);
            prices.help(true)
        };
        let [dear, cheap] = [0.0, DECIDED_NS].map(learnt);
        assert!(cheap < dear, "help for {cheap} and {dear} ns");
    }

    #[test]
    fn a_call_without_all_helpers_says_nothing_about_sharing() {
        for is_full in [false, true] {
            let (memory, prices) = (Memory::new(), Prices::new());
            let before = prices.help(true);
            let (call, times) = call(LoopKind::THROUGH, is_full, None);
            call.learn(&memory, &prices, &times);
            assert!(memory.recall(call.this).is_some(), "the cost of items");
            assert_eq!(memory.verdict(call.this).is_some(), is_full, "a verdict");
            let is_learnt = (prices.help(true) - before).abs() > 0.0;
            assert_eq!(is_learnt, is_full, "the price of help");
        }
    }
}
