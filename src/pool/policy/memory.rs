//! The memory of a pool for its loops: the cost of a loop's items, the time until a loop stops, and
//! whether a loop is faster shared.

use super::{
    alone_or_shared::AloneOrShared,
    prices::{CLEARLY, Prices, TOO_SHORT_TO_TIME_NS},
    site::{Loop, LoopKind},
};
use crate::sync::{AtomicU64, Ordering};

/// The costs of the pool's loops, in nanoseconds per item, and the verdicts on them.
///
/// A table of entries, in pairs: a number may be in either entry of its pair. (With one entry for
/// each number, the pool never knew one of three loops in some processes, since another loop had
/// its entry.) All accesses are Relaxed: nothing is published through a word, and a lost update
/// loses only a hint. If two threads change one entry at the same time, it may hold the cost of one
/// loop and the verdict on another one, until the next call.
#[derive(Debug)]
pub(crate) struct Memory(Box<[EntryPair; Self::PAIRS]>);

/// Two entries in one cache line.
#[derive(Debug, Default)]
#[repr(align(32))]
struct EntryPair([Entry; 2]);

/// The knowledge that belongs to one number. The number stands for a loop over its slice, for a
/// loop over any slice, or for a loop over all slices of about the same length.
#[derive(Debug, Default)]
struct Entry {
    /// The tag of the number, and the bits of a cost in nanoseconds. An empty entry has the tag 0.
    cost: AtomicU64,
    /// A verdict, or the bits of the time until a stop; 0 if it is not known.
    more: AtomicU64,
}

impl Entry {
    #[inline(always)]
    fn is_of(&self, number: u64) -> bool {
        self.cost.load(Ordering::Relaxed) >> u32::BITS == tag(number)
    }

    /// The cost, if it is known.
    #[inline(always)]
    fn cost(&self) -> Option<f32> {
        Some(f32::from_bits(self.cost.load(Ordering::Relaxed) as u32)).filter(|cost| !cost.is_nan())
    }

    fn set_cost(&self, number: u64, cost: f32) {
        self.cost.store(tag(number) << u32::BITS | u64::from(cost.to_bits()), Ordering::Relaxed);
    }

    fn more(&self) -> Option<u64> {
        Some(self.more.load(Ordering::Relaxed)).filter(|more| *more != 0)
    }
}

/// The part of the last call in the mean time of the calls of a loop that may stop.
const NEW_PART: f32 = 0.25;

/// The upper half of a number, made odd, so that no number has the tag of an empty entry.
#[inline(always)]
fn tag(number: u64) -> u64 {
    number >> u32::BITS | 1
}

impl Memory {
    const PAIRS: usize = 256;

    pub(crate) fn new() -> Self {
        let table: Box<[_]> = (0..Self::PAIRS).map(|_| EntryPair::default()).collect();
        Self(table.try_into().expect("as many as pairs"))
    }

    #[inline(always)]
    fn pair(&self, number: u64) -> &[Entry; 2] {
        &self.0[number as usize % Self::PAIRS].0
    }

    /// The entry of a number, if there is one.
    #[inline(always)]
    fn find(&self, number: u64) -> Option<&Entry> {
        let [first, second] = self.pair(number);
        if first.is_of(number) { Some(first) } else { Some(second).filter(|second| second.is_of(number)) }
    }

    /// The entry of a number. A new entry replaces an empty one, or else the first one of its pair.
    fn entry(&self, number: u64) -> &Entry {
        self.find(number).unwrap_or_else(|| {
            let [first, second] = self.pair(number);
            let is_free = |entry: &Entry| entry.cost.load(Ordering::Relaxed) == 0;
            let place = if is_free(second) && !is_free(first) { second } else { first };
            place.more.store(0, Ordering::Relaxed);
            place.set_cost(number, f32::NAN);
            place
        })
    }

    /// The cost of an item in nanoseconds, if the loop is known: over this slice, or else over any
    /// slice.
    pub(crate) fn recall(&self, this: Loop) -> Option<f32> {
        self.over_this(this).or_else(|| self.pace(this))
    }

    /// The cost of an item in nanoseconds over this slice, if known. For a loop that may stop, it
    /// is the mean time of the last calls divided by the number of indices of the slice.
    #[inline(always)]
    pub(crate) fn over_this(&self, this: Loop) -> Option<f32> {
        self.find(this.number())?.cost()
    }

    /// The expected time of a call that goes through all items, in nanoseconds; 0 if the loop is
    /// unknown.
    pub(crate) fn expected(&self, this: Loop) -> f32 {
        self.recall(this).unwrap_or(0.0) * this.slice.len as f32
    }

    /// The cost of an item that was reached, over any slice, in nanoseconds, if known.
    pub(crate) fn pace(&self, this: Loop) -> Option<f32> {
        self.find(this.site.number())?.cost()
    }

    /// The mean time of the last calls of a loop that may stop, over any slice, in nanoseconds, if
    /// known.
    pub(crate) fn until_stop(&self, this: Loop) -> Option<f32> {
        self.find(this.site.number())?.more().map(|bits| f32::from_bits(bits as u32))
    }

    /// The cost of an item that is reached, in nanoseconds, if known: of a loop that goes through,
    /// over this slice if possible.
    pub(crate) fn item(&self, this: Loop, kind: LoopKind) -> Option<f32> {
        if kind.may_stop { self.pace(this) } else { self.recall(this) }
    }

    /// The expected time of a call over this slice, in nanoseconds, if known. If the slice is new,
    /// the last calls over any slice count, but only of a loop that may stop.
    #[inline(always)]
    pub(crate) fn call(&self, this: Loop, kind: LoopKind) -> Option<f32> {
        let known = self.over_this(this).map(|cost| cost * this.slice.len as f32);
        known.or_else(|| if kind.may_stop { self.until_stop(this) } else { None })
    }

    /// The verdict on a loop: over this slice or, if the slice is new, over slices of about the
    /// same length.
    pub(crate) fn verdict(&self, this: Loop) -> Option<AloneOrShared> {
        let known = |number| self.find(number)?.more();
        known(this.number()).or_else(|| known(this.class_number())).map(AloneOrShared::from_word)
    }

    fn keep_verdict(&self, this: Loop, verdict: AloneOrShared) {
        for number in [this.number(), this.class_number()] {
            self.entry(number).more.store(verdict.to_word(), Ordering::Relaxed);
        }
    }

    /// Remembers that a loop took `work` nanoseconds of one thread for `indices` indices of its
    /// slice. A jump of the cost is learnt gradually, since an interruption may have caused it. But
    /// after a jump the pool remembers a cost that is high enough for the next call to be timed.
    pub(crate) fn learn(&self, this: Loop, kind: LoopKind, indices: usize, work: f32) {
        if indices == 0 {
            return;
        }
        self.learn_slice(this, kind, indices, work);
        self.keep_cost(this.site.number(), indices, (work, 1.0));
        if kind.may_stop {
            let until = cost_after(self.until_stop(this), 1, (work, NEW_PART));
            self.entry(this.site.number()).more.store(until.to_bits().into(), Ordering::Relaxed);
        }
    }

    /// Remembers what [`learn`](Self::learn) does for this slice only, and nothing for others.
    pub(crate) fn learn_slice(&self, this: Loop, kind: LoopKind, indices: usize, work: f32) {
        // For a loop that may stop, the pool remembers the mean cost of a call, over this slice and
        // over any slice, wherever the calls stopped. For other loops it remembers the cost of an
        // index, since a loop that panicked may go through all items next time.
        let (items, part) = if kind.may_stop { (this.slice.len, NEW_PART) } else { (indices, 1.0) };
        if indices > 0 {
            self.keep_cost(this.number(), items, (work, part));
        }
    }

    /// Remembers a cost under this number: see [`cost_after`].
    fn keep_cost(&self, number: u64, items: usize, work: (f32, f32)) {
        let entry = self.entry(number);
        entry.set_cost(number, cost_after(entry.cost(), items, work));
    }

    /// Learns whether a loop is better alone, from a call that the caller has ended alone in `took`
    /// nanoseconds, or from a trial in which the caller has fallen behind: then `took` is infinite.
    /// Called after `learn`. Returns whether a trial has just shown that the loop is clearly faster
    /// alone.
    pub(crate) fn learn_alone(&self, prices: &Prices, this: Loop, was_trial: bool, took: f32) -> bool {
        let Some(before) = self.verdict(this) else { return false };
        let took = took / this.slice.len as f32;
        let verdict = if was_trial { before.after_trial(took) } else { before.after_alone() };
        self.keep_verdict(this, verdict);
        was_trial && verdict.alone && before.usually > CLEARLY * (took + cold(prices, this))
    }

    /// Learns that the caller has fallen behind in a trial of running alone, in a list that grows.
    /// At the rate of the caller's items, the list would have taken `alone` nanoseconds on one
    /// thread; `None` if the list is not through.
    pub(crate) fn learn_part_of_list(&self, this: Loop, alone: Option<f32>) {
        if let Some(before) = self.verdict(this) {
            let alone = alone.map(|alone| alone / this.slice.len as f32);
            self.keep_verdict(this, before.after_part_of_list(alone));
        }
    }

    /// A call has run alone, since an earlier one did so by the verdict on the loop. Returns
    /// whether the next one may repeat it, too: no trial is due.
    pub(crate) fn repeated_alone(&self, this: Loop) -> bool {
        let after = self.verdict(this).map(AloneOrShared::after_alone);
        after.is_some_and(|after| {
            self.keep_verdict(this, after);
            after.alone && !after.is_trial_due()
        })
    }

    /// Learns whether a loop is better shared, from a call that was shared, and took `took`
    /// nanoseconds. `awake` says whether a helper was awake. Also learns the cost of an index from
    /// the `work` on `indices`, unless the verdict is that the loop runs alone. (Then shared calls
    /// are compared with the time of the loop alone. If workers obstruct each other, the work of a
    /// shared call exceeds this time.)
    pub(crate) fn learn_shared(
        &self,
        prices: &Prices,
        this: Loop,
        kind: LoopKind,
        (took, awake): (f32, bool),
        indices: usize,
        work: f32,
    ) {
        let took = took / this.slice.len as f32;
        let alone = self.recall(this).unwrap_or(f32::INFINITY);
        let before = self.verdict(this);
        let after = |before: AloneOrShared| before.after_shared(took, alone, cold(prices, this), awake);
        self.keep_verdict(this, before.map_or(AloneOrShared::new(took), after));
        if !before.is_some_and(|before| before.alone && !before.is_outdated(alone)) {
            self.learn(this, kind, indices, work);
        }
    }
}

/// The cost of an item after a call in which `items` items took `work` nanoseconds. This call has
/// the weight `part` in the mean.
fn cost_after(before: Option<f32>, items: usize, (work, part): (f32, f32)) -> f32 {
    let (items, cost) = (items as f32, work / items as f32);
    let most = |before: f32| f32::max(before * 2.0, TOO_SHORT_TO_TIME_NS / items);
    before.map_or(cost, |before| (before + part * (cost - before)).min(most(before)))
}

/// The delay of sleeping helpers, in nanoseconds per index of the slice.
fn cold(prices: &Prices, this: Loop) -> f32 {
    prices.help(false) / this.slice.len as f32
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use super::{
        super::site::{Site, Slice},
        *,
    };

    /// A loop over a slice of `len` items.
    fn over(len: usize) -> Loop {
        let slice = Slice { address: 0x1000, len };
        Loop { site: Site::new(std::ptr::without_provenance(0x1230)), slice }
    }

    #[test]
    fn many_loops_are_known_at_a_time() {
        let memory = Memory::new();
        (1..100).for_each(|len| memory.learn(over(len), LoopKind::THROUGH, len, len as f32));
        let known = (1..100).filter(|&len| memory.over_this(over(len)).is_some()).count();
        assert!(known >= 95, "{known}");
    }

    #[test]
    fn a_new_slice_of_dear_items_says_nothing_of_other_slices() {
        let memory = Memory::new();
        memory.learn(over(1000), LoopKind::THROUGH, 1000, 1e3);
        memory.learn_slice(over(22), LoopKind::THROUGH, 22, 22e3);
        let expects = |len, nanos: f32| (memory.expected(over(len)) - nanos).abs() < 1.0;
        assert!(expects(22, 22e3) && expects(2000, 2e3));
    }

    /// The calls of a search stop anywhere, and the next call is expected to take their mean: half
    /// of 2,000 items of 10 ns.
    #[test]
    fn a_search_is_expected_to_take_the_mean_of_its_last_calls() {
        let (this, memory) = (over(2000), Memory::new());
        let expected = (0..200).map(|call: usize| {
            let at = call * 1237 % 2000;
            memory.learn(this, LoopKind::MAY_STOP, at + 1, (at + 1) as f32 * 10.0);
            memory.expected(this)
        });
        let far = expected.skip(10).filter(|expected| !(6e3..14e3).contains(expected)).count();
        assert!(far < 20, "{far} of 190");
    }

    /// The rounds of its program share a loop that is faster alone. Its workers obstruct each
    /// other, so their work is no measure of the loop.
    #[test]
    fn the_work_of_shared_calls_says_nothing_about_a_loop_that_is_faster_alone() {
        let this = over(1000);
        let (memory, prices, kind) = (Memory::new(), Prices::new(), LoopKind::THROUGH);
        let share = || memory.learn_shared(&prices, this, kind, (7e3, true), 1000, 10e3);
        memory.learn(this, kind, 1000, 4.5e3);
        (0..2).for_each(|_| share());
        memory.learn(this, kind, 1000, 4.5e3);
        (0..2).for_each(|_| assert!(!memory.learn_alone(&prices, this, true, 4.5e3)));
        assert!(memory.verdict(this).is_some_and(|verdict| verdict.alone));
        (0..3).for_each(|_| share());
        assert!(memory.verdict(this).is_some_and(|verdict| verdict.alone));
        assert!((memory.expected(this) - 4.5e3).abs() < 1.0, "{}", memory.expected(this));
    }

    /// All items write one counter: two workers are slower than one worker, and both are busy all
    /// the time.
    #[test]
    fn a_loop_whose_workers_are_in_each_others_way_is_shared_less_and_less() {
        let this = over(1000);
        let (memory, prices) = (Memory::new(), Prices::new());
        let (alone, shared) = (1e6, 1.5e6);
        let mut calls = Vec::new();
        for _ in 0..1000 {
            let verdict =
                memory.verdict(this).filter(|verdict| !verdict.is_outdated(memory.recall(this).unwrap()));
            let runs_alone = verdict.is_some_and(|verdict| verdict.alone != verdict.is_trial_due());
            if runs_alone {
                memory.learn(this, LoopKind::THROUGH, 1000, alone);
                memory.learn_alone(&prices, this, verdict.is_some_and(AloneOrShared::is_trial_due), alone);
            } else {
                memory.learn_shared(&prices, this, LoopKind::THROUGH, (shared, true), 1000, 2.0 * shared);
            }
            calls.push(!runs_alone);
        }
        let shared = calls.iter().filter(|shared| **shared).count();
        assert!((3..=20).contains(&shared), "{shared} of 1000 calls");
    }
}
