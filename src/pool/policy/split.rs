//! The partition of the next call: at boundaries of equal cost, by the last shared call of the same
//! loop.
//!
//! An iterative algorithm runs over the same slice again and again, so the cost of an item last
//! time is the best guess for this time. A worker that sleeps starts late, so it gets less work.
//! With good boundaries no worker has to steal, and the same core processes the same items. The
//! partition is a hint: it decides where each worker begins, never the result.
//!
//! If helpers are awake, boundaries move only half of the way. An item that another core has
//! written last takes longer, so the boundaries of loops over the same data approach each other.
//! But a single call that was interrupted would take them apart again. (A round of belief
//! propagation over 5,000 points, with two loops of 10 µs, took 19.3 to 20.0 µs with boundaries
//! that moved all of the way, and takes 14.0 µs.)

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{
    prices::{ASLEEP_NS, AWAKE_NS, CLEARLY, Estimate, HARMLESS_NS, THEFT_NS},
    site::{Loop, Site},
};
use crate::{
    clock::nanos,
    pool::tell::{
        journal::{Mark, Tally, Usage},
        times::Times,
    },
    sorted::sort,
};

/// In nanoseconds: about the time in which a thread falls asleep and wakes up.
pub(crate) const NAP: f32 = 2.0 * ASLEEP_NS;

/// The knowledge of a pool about its shared loops.
#[derive(Debug)]
pub(crate) struct Splits {
    /// A record of each loop over its slice; direct-mapped.
    table: Vec<Option<Box<LoopRecord>>>,
    /// The delay of each worker after the start of a loop. The first slice is for helpers that
    /// sleep, the second for helpers that are awake.
    delays: [Box<[Estimate]>; 2],
    /// Whether the items of a loop keep a CPU busy, so that more workers than CPUs are of no use.
    /// Direct-mapped.
    cpu_bound: Vec<Option<(Site, bool)>>,
    /// Memory for the times of the next loops: as many as were shared at the same time.
    #[allow(clippy::vec_box, reason = "a loop takes one as one word")]
    times: Vec<Box<Times>>,
}

/// The memory of one loop over its slice.
#[derive(Debug)]
struct LoopRecord {
    of: Loop,
    /// Knowledge from the last call with sleeping helpers, and from the last call with awake
    /// helpers.
    known: [Option<Arc<Known>>; 2],
    /// The items that waited last time, in ascending order; empty if the list is of no use.
    waited: Vec<usize>,
}

/// Knowledge of a loop over its slice, from its last shared call.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) profile: Profile,
    /// The boundaries between the ranges of neighbouring workers, for the number of workers of that
    /// call.
    bounds: Vec<usize>,
    /// The largest harmless block of each range.
    harmless: Vec<usize>,
}

impl Known {
    /// The boundaries between the ranges of `workers` workers, if the last call had the same
    /// number of workers.
    pub(crate) fn bounds(&self, workers: usize) -> Option<&[usize]> {
        Some(&*self.bounds).filter(|bounds| bounds.len() + 1 == workers)
    }
}

impl Splits {
    const SLOTS: usize = 64;

    pub(crate) fn new(workers: usize) -> Self {
        Self {
            table: (0..Self::SLOTS).map(|_| None).collect(),
            delays: [ASLEEP_NS, AWAKE_NS].map(|helper| {
                (0..workers)
                    .map(|worker| Estimate::new(if worker == 0 { AWAKE_NS } else { helper }))
                    .collect()
            }),
            cpu_bound: vec![None; Self::SLOTS],
            times: Vec::new(),
        }
    }

    /// Memory for the times of a shared loop.
    pub(crate) fn take_times(&mut self) -> Option<Box<Times>> {
        self.times.pop()
    }

    /// Keeps the memory of `times` for the next loops.
    pub(crate) fn keep_times(&mut self, times: Box<Times>) {
        self.times.push(times);
    }

    /// The place of a number in both tables.
    fn slot(number: u64) -> usize {
        number as usize % Self::SLOTS
    }

    fn record(&self, of: Loop) -> Option<&LoopRecord> {
        self.table[Self::slot(of.number())].as_deref().filter(|record| record.of == of)
    }

    /// The record of a loop. A new record replaces the record of another loop in its place.
    fn record_mut(&mut self, of: Loop) -> &mut LoopRecord {
        let place = &mut self.table[Self::slot(of.number())];
        place.take_if(|record| record.of != of);
        place.get_or_insert_with(|| Box::new(LoopRecord { of, known: [None, None], waited: Vec::new() }))
    }

    /// The items of a loop that waited last time, in ascending order. Empty if `limit` is 1, or if
    /// more than `limit` items waited.
    pub(crate) fn waited(&self, of: Loop, limit: usize) -> Vec<usize> {
        let waited = self.record(of).map(|record| &record.waited);
        waited.filter(|waited| limit > 1 && waited.len() <= limit).cloned().unwrap_or_default()
    }

    /// Remembers which items of a loop have `waited` this time, in any order. Forgets these items
    /// if all items waited, or if more items waited than the `limit` of items under way: then it is
    /// useless or impossible to begin all of them first. So the list is small compared with the
    /// memory of the loop itself.
    pub(crate) fn learn_waited(&mut self, of: Loop, mut waited: Vec<usize>, limit: usize) {
        if waited.len() == of.slice.len || waited.len() > limit {
            waited.clear();
        }
        if !waited.is_empty() || self.record(of).is_some() {
            sort(&mut waited, &|a, b| a < b);
            self.record_mut(of).waited = waited;
        }
    }

    /// Knowledge of a loop over its slice, from its last call with helpers that were `awake` or
    /// asleep.
    pub(crate) fn known(&self, of: Loop, awake: bool) -> Option<&Arc<Known>> {
        self.record(of)?.known[usize::from(awake)].as_ref()
    }

    /// The delay of each worker, if helpers are `awake` or asleep.
    fn delays(&self, awake: bool) -> impl Iterator<Item = f32> + Clone {
        self.delays[usize::from(awake)].iter().map(Estimate::get)
    }

    /// The boundaries with which all `workers` workers finish at the same moment, if helpers are
    /// `awake` or asleep.
    pub(crate) fn equal_work(&self, awake: bool, profile: &Profile, workers: usize) -> Vec<usize> {
        let delays = self.delays(awake).take(workers);
        let finish = (profile.total() + delays.clone().sum::<f32>()) / workers as f32;
        let mut goal = 0.0;
        let meet = delays.take(workers - 1).map(|delay| {
            goal += (finish - delay).max(0.0);
            profile.index_at(goal)
        });
        meet.collect()
    }

    /// The boundaries of a loop over a whole slice between `workers` workers, if helpers are
    /// `awake` or asleep.
    pub(crate) fn boundaries(&self, of: Loop, awake: bool, workers: usize) -> Boundaries {
        let known = self.known(of, awake).map(Arc::clone);
        let changed = known.as_deref().filter(|known| known.bounds(workers).is_none());
        let changed = changed.map(|known| self.equal_work(awake, &known.profile, workers));
        Boundaries { known, changed }
    }

    /// The index where each of `parts` equal parts of the work ends, if the last call has shown
    /// the costs.
    pub(crate) fn ends(&self, of: Loop, awake: bool, parts: u16) -> Option<Vec<usize>> {
        let profile = &self.known(of, awake)?.profile;
        let cost = |part| profile.total() * f32::from(part) / f32::from(parts);
        Some((1..=parts).map(|part| profile.index_at(cost(part))).collect())
    }

    /// Whether the items of this loop keep a CPU busy: they neither sleep nor wait. `None` if this
    /// is not known.
    pub(crate) fn is_cpu_bound(&self, site: Site) -> Option<bool> {
        self.cpu_bound[Self::slot(site.number())].filter(|(of, _)| *of == site).map(|(_, is)| is)
    }

    /// Learns from a loop on `cpus` CPUs whether its items keep a CPU busy. They do if the CPUs
    /// were in use most of the time. They also do if the threads made hardly any voluntary context
    /// switches, since then other programs had the CPUs. A few switches for a lock between two runs
    /// do not count.
    pub(crate) fn learn_cpu_bound(&mut self, this: Loop, cpus: usize, times: &Times) {
        const NAPS_A_RUN: u64 = 2;
        if let Some(Usage { cpu, naps }) = times.usage {
            let in_use = CLEARLY * nanos(cpu) >= cpus as f32 * times.length();
            let hardly_slept = naps <= NAPS_A_RUN * times.runs() as u64 && 2 * naps < this.slice.len as u64;
            let place = &mut self.cpu_bound[Self::slot(this.site.number())];
            *place = Some((this.site, in_use || hardly_slept));
        }
    }

    /// Learns the costs of a loop from a call that shared all of its slice.
    pub(crate) fn learn(&mut self, of: Loop, awake: bool, times: &mut Times) {
        let (work, took) = (times.work(), times.length());
        let Times { marks, tallies, .. } = times;
        sort(marks, &|(a, _), (b, _)| a < b);
        let delays = &self.delays[usize::from(awake)];
        for (delay, Tally { span, .. }) in delays.iter().zip(&*tallies) {
            // If a worker has not begun by the end of the loop, its delay is only known to be
            // longer than the loop.
            if span.start.is_finite() || work > delay.get() {
                delay.see(span.start);
            }
        }
        let profile = Profile::new(of.slice.len, marks);
        let new = self.equal_work(awake, &profile, tallies.len());
        // If items take long, ranges have equal work only by luck: each boundary is off by up to
        // one item, so a range may have one item too many. So old boundaries are kept if the call
        // was at least as fast as the new boundaries promise.
        let ends = parts(0..usize::MAX, &new).zip(self.delays(awake));
        let end = ends.map(|(part, begun)| begun + profile.cost(&part)).fold(0.0, f32::max);
        let old = self.known(of, awake).and_then(|known| known.bounds(tallies.len()));
        let bounds = match old {
            Some(old) if took <= end => old.to_vec(),
            Some(old) if awake => old.iter().zip(&new).map(|(old, new)| half_way(*old, *new)).collect(),
            _ => new,
        };
        let harmless = parts(0..of.slice.len, &bounds).map(|part| profile.harmless_block(part)).collect();
        let known = Arc::new(Known { profile, bounds, harmless });
        self.record_mut(of).known[usize::from(awake)] = Some(known);
    }
}

/// Half of the way from one index to another. It rounds to the second index, so that boundaries
/// arrive there.
fn half_way(from: usize, to: usize) -> usize {
    if from < to { to - (to - from) / 2 } else { to + (from - to) / 2 }
}

/// The boundaries between the ranges of a loop.
#[derive(Debug, Default)]
pub(crate) struct Boundaries {
    /// Knowledge of the loop over its slice.
    pub(crate) known: Option<Arc<Known>>,
    /// The boundaries, if the distribution of the cost is known, and the number of workers has
    /// changed since the last call.
    pub(crate) changed: Option<Vec<usize>>,
}

impl Boundaries {
    /// The boundaries between the ranges of `workers` workers, in the indices that are `left`.
    pub(crate) fn bounds(&self, left: &Range<usize>, workers: usize) -> Cow<'_, [usize]> {
        let known = || self.known.as_ref().and_then(|known| known.bounds(workers));
        match self.changed.as_deref().or_else(known) {
            Some(bounds) => Cow::Borrowed(bounds),
            None => equal_parts(left, workers).into(),
        }
    }

    /// The distribution of the cost over the slice, if it is known.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.known.as_deref().map(|known| &known.profile)
    }

    /// The largest harmless block of `items`, which are a range of this loop if `range` is its
    /// number; 1 if the cost is not known.
    pub(crate) fn harmless_block(&self, items: Range<usize>, range: Option<usize>) -> usize {
        let Some(known) = &self.known else { return 1 };
        let found = range.filter(|_| self.changed.is_none()).and_then(|range| known.harmless.get(range));
        found.copied().unwrap_or_else(|| known.profile.harmless_block(items))
    }

    /// Whether the ranges are those of the last shared call.
    pub(super) fn is_of_last_call(&self) -> bool {
        self.known.is_some() && self.changed.is_none()
    }
}

/// The boundaries between `workers` parts of `items` with equal numbers of items.
pub(crate) fn equal_parts(items: &Range<usize>, workers: usize) -> Vec<usize> {
    let (share, rest) = (items.len() / workers, items.len() % workers);
    (1..workers).map(|worker| items.start + share * worker + rest.min(worker)).collect()
}

/// The parts of `items` between `bounds`. All bounds are valid, since a bound outside of the items
/// that are left is clamped.
pub(crate) fn parts(items: Range<usize>, bounds: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let mut start = items.start;
    bounds.iter().copied().chain([items.end]).map(move |end| {
        let begin = start;
        start = end.clamp(start, items.end);
        begin..start
    })
}

/// The cost of all items before an index, for some indices in ascending order. All items between
/// two neighbouring indices are assumed to cost the same.
#[derive(Debug)]
pub(crate) struct Profile {
    knots: Vec<Knot>,
}

/// An index, and the cost of all items before it.
type Knot = (usize, f32);

impl Profile {
    fn new(len: usize, marks: &[Mark]) -> Self {
        let mut cost = 0.0;
        let mut knots = Vec::with_capacity(marks.len() + 1);
        for &(first, nanos) in marks {
            knots.push((first, cost));
            cost += nanos;
        }
        knots.push((len, cost));
        Self { knots }
    }

    fn total(&self) -> f32 {
        self.cost_before(usize::MAX)
    }

    /// The index for which all items before it together cost `goal`. The index is rounded to the
    /// nearest item, not down: of two neighbouring workers, the first one should finish last, since
    /// it may be the caller, and then no thread has to be woken.
    ///
    /// But an item that takes longer than a [`NAP`] goes to the second worker. That worker begins
    /// with the long item, so other workers can meanwhile steal the items behind it. The first
    /// worker would fold the long item last, when no other worker could help.
    #[inline(never)]
    fn index_at(&self, goal: f32) -> usize {
        let ((low, before), next) = self.around(|&(_, cost)| cost <= goal);
        let Some((high, after)) = next else { return low };
        let each = (after - before) / (high - low) as f32;
        let items = (goal - before) / each;
        let items = if each > NAP { items } else { items.round() };
        low + (items as usize).min(high - low)
    }

    /// The item of `items` at half of their cost; the first item if all of them are hardly worth a
    /// theft.
    pub(crate) fn middle(&self, items: Range<usize>) -> usize {
        if self.cost(&items) < 2.0 * THEFT_NS {
            return items.start;
        }
        let goal = f32::midpoint(self.cost_before(items.start), self.cost_before(items.end));
        self.index_at(goal).clamp(items.start, items.end - 1)
    }

    /// The largest harmless block of `items`.
    pub(crate) fn harmless_block(&self, items: Range<usize>) -> usize {
        let from = self.knots.partition_point(|&(first, _)| first <= items.start).saturating_sub(1);
        let behind = self.knots.partition_point(|&(first, _)| first < items.end);
        harmless_block(&self.knots[from..(behind + 1).min(self.knots.len())])
    }

    /// The cost of `items` in nanoseconds.
    pub(crate) fn cost(&self, items: &Range<usize>) -> f32 {
        self.cost_before(items.end) - self.cost_before(items.start)
    }

    /// The cost of the items before `index` in nanoseconds.
    #[inline(never)]
    fn cost_before(&self, index: usize) -> f32 {
        let ((low, before), next) = self.around(|&(first, _)| first <= index);
        let Some((high, after)) = next else { return before };
        before + (after - before) * ((index - low) as f32 / (high - low) as f32)
    }

    /// The last knot for which `is_before` returns true, and the next knot. If `is_before` returns
    /// true for no knot, the result begins with index 0 and cost 0.
    fn around(&self, is_before: impl Fn(&Knot) -> bool) -> (Knot, Option<Knot>) {
        let (before, behind) = self.knots.split_at(self.knots.partition_point(is_before));
        (before.last().copied().unwrap_or_default(), behind.first().copied())
    }
}

/// The largest harmless block between `knots`: each such block took at most about [`HARMLESS_NS`].
/// A block that begins or ends between two knots may have taken twice as long.
fn harmless_block(knots: &[Knot]) -> usize {
    let is_harmless = |size: usize| {
        let mut begin = 0;
        (1..knots.len()).all(|end| {
            // The parts between `begin` and `end` are the longest series within a block, or one
            // part that is longer than a block.
            while begin + 1 < end && knots[end].0 - knots[begin].0 > size {
                begin += 1;
            }
            let [(low, before), (high, after)] = [knots[begin], knots[end]];
            (after - before) * size as f32 <= HARMLESS_NS * (high - low).max(size) as f32
        })
    };
    let len = knots.last().map_or(0, |&(len, _)| len - knots[0].0);
    let mut size = len.checked_next_power_of_two().unwrap_or(1); // a range of 2^63 items has no block
    while size > 1 && !is_harmless(size) {
        size /= 2;
    }
    size
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use std::{iter, time::Duration};

    use super::{super::site::Slice, *};

    fn site() -> Site {
        Site::new(std::ptr::without_provenance(0x1230))
    }

    fn thousand() -> Loop {
        Loop { site: site(), slice: Slice { address: 0x1000, len: 1000 } }
    }

    fn tally(span: Range<f32>) -> Tally {
        Tally { span, ..Tally::default() }
    }

    fn bounds(splits: &Splits, of: Loop, workers: usize) -> Option<Vec<usize>> {
        let known = splits.known(of, false)?;
        Some(
            known
                .bounds(workers)
                .map_or_else(|| splits.equal_work(false, &known.profile, workers), <[usize]>::to_vec),
        )
    }

    fn learn(splits: &mut Splits, marks: &[Mark], begun: &[f32]) {
        let work: f32 = marks.iter().map(|(_, nanos)| nanos).sum();
        learn_from(splits, marks, begun, work);
    }

    /// Learns from a call that took `took` nanoseconds, counted from the begin of the first
    /// worker.
    fn learn_from(splits: &mut Splits, marks: &[Mark], begun: &[f32], took: f32) {
        let mut tallies: Vec<_> = begun.iter().map(|&begun| tally(begun..begun + took)).collect();
        tallies[0].working = marks.iter().map(|(_, nanos)| nanos).sum();
        let mut times = Times { marks: marks.to_vec(), tallies, ..Times::default() };
        splits.learn(thousand(), false, &mut times);
    }

    #[test]
    fn a_block_is_harmless_where_it_takes_less_time_than_a_theft() {
        // 1000 items of 4 ns, one item of 3 µs, 999 items of 30 ns, and 1000 items of 300 ns.
        let marks = [(0, 4_000.0), (1000, 3_000.0), (1001, 29_970.0), (2000, 300_000.0)];
        let profile = Profile::new(3000, &marks);
        for (items, block) in [
            (0..1000, 512),
            (0..1001, 1),
            (1000..1100, 1),
            (1001..2000, 64),
            (1500..1501, 64),
            (1500..2001, 8),
            (2000..3000, 8),
        ] {
            assert_eq!(profile.harmless_block(items.clone()), block, "{items:?}");
        }
        // Parts that are shorter than a block: 100 items of 49 ns each.
        let marks: Vec<_> = (0..16).map(|part| (100 * part, 4_900.0)).collect();
        assert_eq!(Profile::new(1600, &marks).harmless_block(0..1600), 32);
        let marks: Vec<_> = (0..16).map(|part| (100 * part, 400.0)).collect();
        assert_eq!(Profile::new(1600, &marks).harmless_block(0..1600), 512);
        let marks: Vec<_> = (0..16).map(|part| (1000 * part, 250.0)).collect();
        let blocks = [0..16_000, 0..4000].map(|items| Profile::new(16_000, &marks).harmless_block(items));
        assert_eq!(blocks, [8192, 4096], "all items");
        assert_eq!(Profile::new(0, &[]).harmless_block(0..0), 1, "no item");
    }

    #[test]
    fn each_range_has_a_harmless_block_of_its_own() {
        let mut splits = Splits::new(3);
        // 900 items of 4 ns, and 100 items of 300 ns. The second worker gets only dear items.
        learn(&mut splits, &[(0, 3_600.0), (900, 30_000.0)], &[0.0, 0.0]);
        let boundaries = |workers| splits.boundaries(thousand(), false, workers);
        let known = boundaries(2);
        let bounds = known.bounds(&(0..1000), 2).to_vec();
        assert!(bounds[0] > 900, "{bounds:?}");
        let ranges: Vec<_> = parts(0..1000, &bounds).collect();
        let blocks = [0, 1].map(|range| known.harmless_block(ranges[range].clone(), Some(range)));
        assert_eq!(blocks, [8, 8]);
        assert_eq!(known.harmless_block(0..800, None), 512, "stolen items");
        assert_eq!(boundaries(3).harmless_block(0..800, Some(0)), 512, "other ranges");
        let unknown = Loop { site: site(), slice: Slice { address: 0x2000, len: 1000 } };
        assert_eq!(splits.boundaries(unknown, false, 2).harmless_block(0..800, Some(0)), 1);
    }

    #[test]
    fn parts_of_equal_work_end_where_the_work_lies() {
        let mut splits = Splits::new(2);
        assert_eq!(splits.ends(thousand(), false, 2), None);
        learn(&mut splits, &[(0, 100.0), (900, 100.0)], &[0.0, 0.0]);
        assert_eq!(splits.ends(thousand(), false, 4), Some(vec![450, 900, 950, 1000]));
    }

    #[test]
    fn several_loops_are_known_at_a_time() {
        let mut splits = Splits::new(2);
        let over = |len| Loop { slice: Slice { len, ..thousand().slice }, ..thousand() };
        for len in 1..=8 {
            let mut times = Times { tallies: vec![tally(0.0..1.0); 2], ..Times::default() };
            splits.learn(over(len), false, &mut times);
        }
        let known = (1..=8).filter(|&len| splits.known(over(len), false).is_some()).count();
        assert!(known > 5, "{known} of 8");
    }

    #[test]
    fn an_unknown_loop_is_split_into_equal_parts() {
        assert_eq!(equal_parts(&(0..10), 3), [4, 7]);
        assert_eq!(equal_parts(&(5..10), 2), [8]);
        assert_eq!(equal_parts(&(0..2), 2), [1]);
        assert!(equal_parts(&(7..9), 1).is_empty());
    }

    #[test]
    fn boundaries_are_where_the_cost_is_equal() {
        let marks = [(0, 10.0), (10, 90.0), (20, 0.0), (80, 100.0)];
        let profile = Profile::new(100, &marks);
        for (goal, bound) in
            [(0.0, 0), (5.0, 5), (10.0, 10), (55.0, 15), (100.0, 80), (150.0, 90), (500.0, 100)]
        {
            assert_eq!(profile.index_at(goal), bound, "{goal}");
            // If every item has a cost, `cost_before` is the inverse of `index_at`.
            if (1..80).contains(&bound) {
                assert!((profile.cost_before(bound) - goal).abs() < 1e-3, "{goal}");
            }
        }
    }

    #[test]
    fn a_heavy_item_at_a_boundary_is_the_first_of_the_later_worker() {
        let bound = |heavy: f32, goal: f32| {
            let marks = [(0, 100e3), (500, heavy), (501, 100e3)];
            Profile::new(1000, &marks).index_at(goal)
        };
        assert_eq!(bound(20e6, 100e3 + 19e6), 500);
        assert_eq!(bound(41e3, 140e3), 500);
        assert_eq!(bound(39e3, 138e3), 501, "not worth it");
    }

    #[test]
    fn the_next_call_begins_where_the_last_was_balanced() {
        let mut splits = Splits::new(2);
        // 80 ms of work, of which three quarters lie in the last fifth of the slice. Delays are
        // short compared with that.
        learn(&mut splits, &[(0, 20e6), (800, 60e6)], &[0.0, 0.0]);
        let two = bounds(&splits, thousand(), 2).unwrap();
        assert!((866..=868).contains(&two[0]), "{two:?}");
        assert_eq!(splits.known(thousand(), false).unwrap().profile.middle(800..1000), 900);
        let three = bounds(&splits, thousand(), 3).unwrap();
        assert!((822..=823).contains(&three[0]) && (910..=912).contains(&three[1]), "{three:?}");
        let slice = thousand().slice;
        assert_eq!(
            bounds(&splits, Loop { slice: Slice { len: 999, ..slice }, ..thousand() }, 2),
            None,
            "not the same length"
        );
        assert_eq!(
            bounds(&splits, Loop { slice: Slice { address: 1, ..slice }, ..thousand() }, 2),
            None,
            "not the same slice"
        );
    }

    #[test]
    fn boundaries_of_awake_workers_move_half_of_the_way() {
        for (awake, second) in [(true, 600), (false, 700)] {
            let mut splits = Splits::new(2);
            let mut bound_after = |marks: [Mark; 2]| {
                let tallies = vec![tally(0.0..20e6); 2];
                let mut times = Times { marks: marks.to_vec(), tallies, ..Times::default() };
                splits.learn(thousand(), awake, &mut times);
                splits.known(thousand(), awake).unwrap().bounds(2).unwrap()[0]
            };
            assert_eq!(bound_after([(0, 10e6), (500, 10e6)]), 500);
            assert_eq!(bound_after([(0, 7e6), (700, 7e6)]), second);
        }
        assert_eq!([half_way(2, 3), half_way(3, 2), half_way(2, 5), half_way(5, 2)], [3, 2, 4, 3]);
    }

    #[test]
    fn loops_whose_items_sleep_are_told_from_busy_ones() {
        let mut splits = Splits::new(8);
        let with_runs = |tally, runs| Tally { runs, ..tally };
        let tallies = vec![with_runs(tally(0.0..9e6), 2), with_runs(tally(1e6..10e6), 3), Tally::default()];
        let usage = |millis, naps| Some(Usage { cpu: Duration::from_millis(millis), naps });
        for (usage, cpu_bound) in [
            (None, None),
            (usage(19, 0), Some(true)),
            (usage(5, 300), Some(false)),
            (usage(17, 300), Some(true)), // the items wait, but other threads use the time
            (usage(5, 3), Some(true)),    // another program had the CPU
            (None, Some(true)),
        ] {
            let times = Times { tallies: tallies.clone(), usage, ..Times::default() };
            splits.learn_cpu_bound(thousand(), 2, &times);
            assert_eq!(splits.is_cpu_bound(site()), cpu_bound, "{usage:?}");
        }
    }

    #[test]
    fn no_boundary_lies_behind_the_slice() {
        // Rounding makes the quotient 1, and makes the length exceed the number of items.
        for len in [67_109_869, usize::MAX] {
            let profile = Profile::new(len, &[(0, 475.214_36), (1000, 15_365.213)]);
            let almost = profile.total().next_down();
            assert!((1000..=len).contains(&profile.index_at(almost)), "{len}");
            assert!((1000..len).contains(&profile.middle(1000..len)), "{len}");
        }
    }

    #[test]
    fn no_boundary_moves_if_the_call_was_as_fast_as_the_next_would_be() {
        let mut splits = Splits::new(2);
        let bound = |splits: &Splits| bounds(splits, thousand(), 2).unwrap()[0];
        let three = |first, second, third| [(0, first), (1, second), (2, third), (3, 0.0)];
        learn(&mut splits, &three(10e6, 10e6, 21e6), &[0.0, 0.0]);
        assert_eq!(bound(&splits), 2, "the third item is as long as the others together");
        let other = three(11e6, 11e6, 19e6);
        learn_from(&mut splits, &other, &[0.0, 0.0], 22e6);
        assert_eq!(bound(&splits), 2, "the later worker would take 30 ms for two of these items");
        learn_from(&mut splits, &other, &[0.0, 0.0], 33e6);
        assert_eq!(bound(&splits), 1, "but that is faster than this call was");
    }

    #[test]
    fn each_helper_that_comes_late_is_dealt_less() {
        let splits = Splits::new(3);
        for (delay, nanos) in iter::zip(&splits.delays[0], [1e3, 21e3, 21e3]) {
            delay.set(nanos);
        }
        let profile = Profile::new(1000, &[(0, 100e3)]);
        // All three finish after 47.7 us: the caller works for 46.7 us, each helper for 26.7 us.
        assert_eq!(splits.equal_work(false, &profile, 3), [467, 733]);
    }

    #[test]
    fn who_comes_late_is_dealt_less() {
        let mut splits = Splits::new(2);
        for _ in 0..100 {
            learn(&mut splits, &[(0, 100e3)], &[1e3, 21e3]);
        }
        let two = bounds(&splits, thousand(), 2).unwrap();
        assert!((580..=620).contains(&two[0]), "{two:?}");
        for _ in 0..1000 {
            learn(&mut splits, &[(0, 100e3)], &[1e3, f32::INFINITY]);
        }
        let two = bounds(&splits, thousand(), 2).unwrap();
        assert!(
            (950..=1000).contains(&two[0]),
            "a worker that never comes is dealt hardly anything: {two:?}"
        );
    }
}
