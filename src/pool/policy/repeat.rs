//! Which calls repeat the plan of an earlier call.
//!
//! A decision, notes and learning take 1 µs, which is a third of what sharing costs in a loop of
//! 20 µs. So while the rounds of a short loop are alike ([`rounds`](super::rounds)), 15 of 16 calls
//! repeat the plan of the last call that was decided. They are shared with the same number of
//! helpers. Nothing is asked, noted or learnt.
//!
//! Each slice has a plan of its own. (A program may swap two buffers. If both had one plan, a fixed
//! period of 16 calls would always decide the same one.) The plan is not repeated any more after a
//! round that is not like the others, and after a call that takes clearly longer than expected.
//!
//! Calls that repeat a plan do not count in intervals between trials, which are in calls.

use std::cell::Cell;

use super::{prices::CLEARLY, site::Loop};

/// In calls: how many calls repeat a plan.
const REPEATED: u8 = 15;
/// In plans: how many plans of a thread are remembered.
const PLANS: usize = 16;

/// A loop over its slice, in the pool at this address, with at most this number of helpers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanKey {
    pub(crate) this: Loop,
    pub(crate) pool: usize,
    pub(crate) most: usize,
}

/// The plan of a call that was decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeat {
    pub(super) key: PlanKey,
    /// The number of helpers.
    pub(super) helpers: usize,
    /// In nanoseconds: the expected time of a call.
    pub(super) takes: f32,
    /// How many calls are still to repeat the plan.
    left: u8,
}

/// The plans of a thread. Direct-mapped: a loop whose place has another plan is decided.
#[derive(Debug)]
pub(super) struct Repeats([Cell<Option<Repeat>>; PLANS]);

impl Repeats {
    pub(super) const fn new() -> Self {
        Self([const { Cell::new(None) }; PLANS])
    }

    fn place(&self, this: Loop) -> &Cell<Option<Repeat>> {
        &self.0[this.number() as usize % PLANS]
    }

    /// The next calls repeat this plan.
    pub(super) fn begin(&self, key: PlanKey, helpers: usize, takes: f32) {
        self.place(key.this).set(Some(Repeat { key, helpers, takes, left: REPEATED }));
    }

    /// The plan that the next call repeats, if there is one.
    pub(super) fn get(&self, key: PlanKey) -> Option<Repeat> {
        self.place(key.this).get().filter(|repeat| repeat.key == key)
    }

    /// A call repeats this plan.
    pub(super) fn count(&self, repeat: Repeat) {
        let left = repeat.left - 1;
        self.place(repeat.key.this).set((left > 0).then_some(Repeat { left, ..repeat }));
    }

    /// No further call of this loop over its slice repeats a plan.
    pub(super) fn end(&self, this: Loop) {
        self.end_if(this, |_| true);
    }

    /// A call that has repeated a plan took `took` nanoseconds.
    pub(super) fn see(&self, this: Loop, took: f32) {
        self.end_if(this, |repeat| took > CLEARLY * repeat.takes);
    }

    fn end_if(&self, this: Loop, ends: impl Fn(Repeat) -> bool) {
        let place = self.place(this);
        if place.get().is_some_and(|repeat| repeat.key.this == this && ends(repeat)) {
            place.set(None);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::ptr;

    use super::{
        super::site::{Site, Slice},
        *,
    };

    fn key(address: usize) -> PlanKey {
        let slice = Slice { address, len: 1000 };
        PlanKey { this: Loop { site: Site::new(ptr::without_provenance(0x1230)), slice }, pool: 1, most: 7 }
    }

    #[test]
    fn a_plan_is_repeated_15_times_and_not_after_a_call_that_takes_longer() {
        let repeated = |late| {
            let (repeats, key) = (Repeats::new(), key(0x1000));
            repeats.begin(key, 3, 10e3);
            let calls = 0..100;
            calls
                .take_while(|&call| {
                    repeats
                        .get(key)
                        .inspect(|repeat| {
                            assert_eq!(repeat.helpers, 3);
                            repeats.count(*repeat);
                            repeats.see(key.this, if call == late { 14e3 } else { 12e3 });
                        })
                        .is_some()
                })
                .count()
        };
        assert_eq!([100, 4, 0].map(repeated), [15, 5, 1]);
    }

    #[test]
    fn a_plan_holds_for_its_slice_its_pool_and_its_limit() {
        let (repeats, a) = (Repeats::new(), key(0x1000));
        repeats.begin(a, 3, 10e3);
        for other in [key(0x2000), PlanKey { pool: 2, ..a }, PlanKey { most: 1, ..a }] {
            assert!(repeats.get(other).is_none(), "{other:?}");
            repeats.end(key(0x2000).this);
        }
        assert!(repeats.get(a).is_some());
        repeats.end(a.this);
        assert!(repeats.get(a).is_none());
    }
}
