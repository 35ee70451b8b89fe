//! The memory of a pool for its loops: the cost of a loop's items, the time until a loop stops, and
//! whether a loop is faster shared.

use super::{
    alone_or_shared::AloneOrShared,
    prices::{CLEARLY, Prices, TOO_SHORT_TO_TIME_NS},
    site::{Loop, LoopKind},
};
use crate::sync::{AtomicU64, Ordering};

/// The upper half of the number of a loop, made odd, so that no loop has the tag of an empty word.
fn tag(number: u64) -> u64 {
    number >> u32::BITS | 1
}

/// Whether a word belongs to a number.
fn has_tag(word: u64, number: u64) -> bool {
    word >> u32::BITS == tag(number)
}

/// Reads the second word of a number's pair. (Out of line: most numbers are in the first word.)
#[inline(never)]
fn known(second: &AtomicU64, number: u64) -> Option<u32> {
    let word = second.load(Ordering::Relaxed);
    has_tag(word, number).then_some(word as u32)
}

/// The costs of the pool's loops, in nanoseconds per item, and the verdicts on them.
///
/// A table of words, in pairs: a number may be in either word of its pair. (With one word for each
/// number, the pool never knew one of three loops in some processes, since another loop had its
/// word.) A word holds a tag (upper half) and the bits of an `f32` or of an [`AloneOrShared`]
/// (lower half); an empty word is 0, which has no tag. All accesses are Relaxed: each word stands
/// alone, nothing is published through it, and a lost update loses only a hint.
#[derive(Debug)]
pub(crate) struct Memory(Box<[AtomicU64; Self::SLOTS]>);

impl Memory {
    const SLOTS: usize = 1024;

    pub(crate) fn new() -> Self {
        let table: Box<[_]> = (0..Self::SLOTS).map(|_| AtomicU64::new(0)).collect();
        Self(table.try_into().expect("as many as slots"))
    }

    /// The cost of an item in nanoseconds, if the loop is known: over this slice, or else over any
    /// slice.
    pub(crate) fn recall(&self, this: Loop) -> Option<f32> {
        self.over_this(this).or_else(|| self.pace(this))
    }

    /// The cost of an item in nanoseconds over this slice, if known. For a loop that may stop, it
    /// is the time of a call divided by the number of indices of the slice.
    #[inline(always)]
    pub(crate) fn over_this(&self, this: Loop) -> Option<f32> {
        self.at(this.number())
    }

    /// The expected time of a call that goes through all items, in nanoseconds; 0 if the loop is
    /// unknown.
    pub(crate) fn expected(&self, this: Loop) -> f32 {
        self.recall(this).unwrap_or(0.0) * this.slice.len as f32
    }

    /// The cost of an item that was reached, over any slice, in nanoseconds, if known.
    pub(crate) fn pace(&self, this: Loop) -> Option<f32> {
        self.at(this.site.number())
    }

    /// The time of the last call of a loop that may stop, over any slice, in nanoseconds, if known.
    pub(crate) fn until_stop(&self, this: Loop) -> Option<f32> {
        self.at(this.site.stop_number())
    }

    /// The verdict on a loop: over this slice or, if the slice is new, over slices of about the
    /// same length.
    pub(crate) fn verdict(&self, this: Loop) -> Option<AloneOrShared> {
        this.verdict_numbers().into_iter().find_map(|[way, usually]| {
            Some(AloneOrShared::from_words([self.word(way)?, self.word(usually)?]))
        })
    }

    fn keep_verdict(&self, this: Loop, verdict: AloneOrShared) {
        for numbers in this.verdict_numbers() {
            for (number, word) in numbers.into_iter().zip(verdict.to_words()) {
                self.store(number, word);
            }
        }
    }

    /// Remembers that a loop took `work` nanoseconds of one thread for `indices` indices of its
    /// slice. A jump of the cost is learnt gradually, since an interruption may have caused it. But
    /// after a jump the pool remembers a cost that is high enough for the next call to be timed.
    pub(crate) fn learn(&self, this: Loop, kind: LoopKind, indices: usize, work: f32) {
        if indices == 0 {
            return;
        }
        // For a loop that may stop, the pool remembers the cost of a call, over this slice and over
        // any slice, wherever the call stopped. For other loops it remembers the cost of an index,
        // since a loop that panicked may go through all items next time.
        let call = if kind.may_stop { this.slice.len } else { indices };
        let stop = kind.may_stop.then_some((this.site.stop_number(), 1));
        let loops = [(this.number(), call), (this.site.number(), indices)];
        for (number, items) in loops.into_iter().chain(stop) {
            let items = items as f32;
            let before = self.at(number).unwrap_or(f32::INFINITY);
            let cost = (work / items).min(f32::max(before * 2.0, TOO_SHORT_TO_TIME_NS / items));
            self.store(number, cost.to_bits());
        }
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

    fn at(&self, number: u64) -> Option<f32> {
        self.word(number).map(f32::from_bits)
    }

    #[inline(always)]
    fn word(&self, number: u64) -> Option<u32> {
        let [first, second] = self.places(number);
        let word = first.load(Ordering::Relaxed);
        if has_tag(word, number) { Some(word as u32) } else { known(second, number) }
    }

    fn store(&self, number: u64, bits: u32) {
        let [first, second] = self.places(number);
        let rank = |place: &AtomicU64| match place.load(Ordering::Relaxed) {
            word if has_tag(word, number) => 0,
            0 => 1, // free
            _ => 2,
        };
        let place = if rank(second) < rank(first) { second } else { first };
        place.store(tag(number) << u32::BITS | u64::from(bits), Ordering::Relaxed);
    }

    /// The two words that may hold a number.
    #[inline(always)]
    fn places(&self, number: u64) -> [&AtomicU64; 2] {
        let first = number as usize % Self::SLOTS;
        [&self.0[first], &self.0[first ^ 1]]
    }
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
        memory.learn_alone(&prices, this, true, 4.5e3);
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
