//! What a pool learns from a call that was shared. A call tells this once, at its end.

use super::{
    launch::{Launch, up_to},
    memory::Memory,
    prices::Prices,
    site::{Loop, LoopKind},
    split::{Boundaries, Splits},
};
use crate::pool::tell::journal::{Tally, Times};

/// A call that was shared, at its end. All times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedCall {
    pub(crate) this: Loop,
    pub(crate) kind: LoopKind,
    /// Whether helpers were awake when the call began.
    pub(crate) awake: bool,
    /// How the call began.
    pub(crate) launch: Launch,
    /// Whether all helpers that pay for the loop were idle. Otherwise the call says nothing about
    /// the use of sharing.
    pub(crate) is_full: bool,
    /// Whether the loop runs over a list that grows.
    pub(crate) grows: bool,
    /// How many indices the calling thread folded before it shared the rest, and its time for them.
    pub(crate) alone: usize,
    pub(crate) took_alone: f32,
    /// How long the call took, and its shared part.
    pub(crate) took: f32,
    pub(crate) took_shared: f32,
    /// Where the loop has stopped, if it has.
    pub(crate) stop: Option<usize>,
}

impl SharedCall {
    /// Learns the cost of items, whether sharing pays, and the price of help.
    pub(crate) fn learn(&self, memory: &Memory, prices: &Prices, times: &Times) {
        let Self { this, kind, awake, is_full, .. } = *self;
        let (indices, work) = self.needed(times);
        if is_full && !self.launch.is_trial() {
            memory.learn_shared(prices, this, kind, (self.took, awake), indices, work);
        } else {
            memory.learn(this, kind, indices, work);
        }
        // In a list that grows, a helper may have come in time and found nothing.
        if !is_full || self.grows {
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
            let late = first.is_finite().then_some(first + 2.0 * behind);
            prices.learn(awake, helpers.len(), late, own, self.took_shared);
        }
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

    /// Learns where the ranges of the next round begin, and whether items keep a CPU busy. The loop
    /// has gone through all items, on `cpus` CPUs. `boundaries` were those between its ranges:
    /// `None` if only a part of the slice was shared, or if its workers have no ranges.
    pub(crate) fn learn_splits(
        &self,
        splits: &mut Splits,
        boundaries: Option<&Boundaries>,
        cpus: usize,
        times: &mut Times,
    ) {
        let Self { this, awake, .. } = *self;
        if !self.is_full {
            return;
        }
        splits.learn_cpu_bound(this, cpus, times);
        let Some(boundaries) = boundaries else { return };
        let came_all = times.runs() == times.tallies.len();
        if !(boundaries.is_of_last_round() && came_all && times.are_balanced()) {
            splits.learn(this, awake, times);
        }
    }
}
