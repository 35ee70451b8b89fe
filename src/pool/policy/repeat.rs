//! Which calls run as an earlier call of the loop ran.
//!
//! To decide on a call, to note its times and to learn from them takes 0.4 µs if it runs alone, and
//! 1.6 µs if it is shared. After a pause of the caller, whose caches are cold by then, it takes
//! some microseconds. So most calls of a short loop that goes through all items repeat a call that
//! was decided. Nothing is asked, noted or learnt. A call with a handle, a report or a trace is
//! always decided, and so is a call in an item of a shared loop.
//!
//! * A shared call is repeated 15 times, with the same helpers and the same boundaries, while these
//!   helpers are awake.
//! * A call alone is repeated 15 times, too, and timed. If all helpers sleep, it is repeated only
//!   if the loop is not worth a helper that is awake, or if it is known to be faster alone.
//! * If calls are so far apart that helpers which poll would sleep, a call alone is repeated until
//!   a call comes nearer, or until a helper is awake. These calls are not timed, since that takes
//!   0.2 µs with cold caches.
//!
//! While all helpers sleep, chance chooses one call in 256 for a decision, so that the price of
//! help is measured as often as if all calls were decided.
//!
//! If the rounds of the loop are known ([`rounds`](super::rounds)), calls that are timed or shared
//! repeat another one only while these rounds are alike.
//!
//! Each slice has a plan of its own. (A program may swap two buffers. If both had one plan, a fixed
//! period of 16 calls would always decide the same one.) A plan ends after two rounds in a row that
//! are not like the others. A plan of calls alone also ends after a call that takes clearly longer
//! than expected.
//!
//! While most calls of a loop repeat a plan, the policy compares the loop alone with such calls: it
//! takes the time of deciding off the times of the few shared calls that are decided. (Otherwise a
//! loop of 5 µs does not seem worth sharing. Also, the round of a decided call then seems unlike
//! the others, and 30 to 37 % of the shared calls are decided.)

use std::{cell::Cell, time::Duration};

use super::{prices::CLEARLY, site::Loop};
use crate::clock::{Moment, nanos};

/// In calls: how many calls repeat a plan.
pub(crate) const REPEATED: u8 = 15;
/// In plans: how many plans of a thread are remembered.
const PLANS: usize = 16;
/// In nanoseconds: a call that takes longer is not repeated, since that would gain less than 1 %.
pub(crate) const LONGEST_REPEATED_NS: f32 = 100e3;
/// In nanoseconds: a shared call that is decided takes at least so much longer than one that
/// repeats it. (For loops of 5, 8 and 10 µs it was 1.3, 1.8 and 1.9 µs.)
pub(super) const DECIDED_NS: f32 = 1_000.0;

/// The part of the time of a decided call that a repeated one would not take, in nanoseconds. The
/// call, or the round that it began, took `took` nanoseconds.
pub(crate) fn deciding(took: f32) -> f32 {
    f32::min(DECIDED_NS, took / 2.0)
}

/// The last call of a thread that was not timed because calls are far apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FarCall(Moment);

impl FarCall {
    pub(crate) fn now() -> Self {
        Self(Moment::now())
    }

    /// Whether a call that begins now is far from this one. Helpers that poll stay awake for
    /// `patience`, and the last call was expected to take `takes` nanoseconds.
    pub(crate) fn is_far(self, patience: Duration, takes: f32) -> bool {
        /// `is_over` answers for about three times the time that it gets.
        const ABOUT: f32 = 3.0;
        patience.is_zero() || self.0.is_over((nanos(patience) + takes) / ABOUT)
    }
}

/// A loop over its slice, in the pool at this address, with at most this number of helpers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanKey {
    pub(crate) this: Loop,
    pub(crate) pool: usize,
    pub(crate) most: usize,
}

/// The plan of a call that was decided. `W` says how the call runs.
#[derive(Debug)]
pub(crate) struct Repeat<W> {
    key: PlanKey,
    pub(crate) way: W,
    /// In nanoseconds: the expected time of a call.
    pub(crate) takes: f32,
    /// How many calls are still to repeat the plan.
    left: u8,
}

/// The plans of a thread. Direct-mapped: a loop whose place has another plan is decided.
pub(crate) struct Repeats<W>([Cell<Option<Box<Repeat<W>>>>; PLANS]);

impl<W> Repeats<W> {
    pub(crate) const fn new() -> Self {
        Self([const { Cell::new(None) }; PLANS])
    }

    fn place(&self, this: Loop) -> &Cell<Option<Box<Repeat<W>>>> {
        &self.0[this.number() as usize % PLANS]
    }

    /// The next calls run this `way`, at most `left` of them. Each is expected to take `takes`
    /// nanoseconds.
    pub(crate) fn begin(&self, key: PlanKey, (way, takes): (W, f32), left: u8) {
        if left > 0 {
            self.place(key.this).set(Some(Box::new(Repeat { key, way, takes, left })));
        }
    }

    /// The plan that the next call repeats, if there is one. The table forgets the plan unless it
    /// is [put back](Self::put_back).
    pub(crate) fn take(&self, key: PlanKey) -> Option<Box<Repeat<W>>> {
        let place = self.place(key.this);
        let repeat = place.take()?;
        if repeat.key == key {
            return Some(repeat);
        }
        place.set(Some(repeat));
        None
    }

    /// A call repeats or has repeated this plan.
    pub(crate) fn put_back(&self, mut repeat: Box<Repeat<W>>) {
        repeat.left -= 1;
        if repeat.left > 0 {
            self.keep(repeat);
        }
    }

    /// A call repeats this plan, and does not count.
    pub(crate) fn keep(&self, repeat: Box<Repeat<W>>) {
        self.place(repeat.key.this).set(Some(repeat));
    }

    /// Forgets the plan of a loop over its slice, if `ends` says so.
    pub(crate) fn end_if(&self, this: Loop, ends: impl Fn(&Repeat<W>) -> bool) {
        let place = self.place(this);
        place.set(place.take().filter(|repeat| repeat.key.this != this || !ends(repeat)));
    }
}

impl<W> Repeat<W> {
    /// Whether a call that took `took` nanoseconds has taken clearly longer than expected.
    pub(crate) fn is_outdated(&self, took: f32) -> bool {
        took > CLEARLY * self.takes
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
        let this = Loop { site: Site::new(ptr::without_provenance(0x1230)), slice };
        PlanKey { this, pool: 1, most: 7 }
    }

    #[test]
    fn a_call_is_far_if_helpers_that_poll_would_have_slept() {
        let (last, patience) = (FarCall::now(), Duration::from_micros(50));
        assert!(!last.is_far(patience, 1e9));
        assert!(last.is_far(Duration::ZERO, 1e9), "helpers do not poll");
        std::thread::sleep(Duration::from_millis(1));
        assert!(last.is_far(patience, 10e3));
    }

    #[test]
    fn a_plan_is_repeated_15_times_or_until_a_call_takes_longer() {
        let repeated = |late| {
            let (repeats, key) = (Repeats::new(), key(0x1000));
            repeats.begin(key, (3, 10e3), REPEATED);
            let calls = 0..100;
            calls
                .take_while(|&call| {
                    repeats
                        .take(key)
                        .map(|repeat| {
                            assert_eq!(repeat.way, 3);
                            repeats.put_back(repeat);
                            let took = if call == late { 14e3 } else { 12e3 };
                            repeats.end_if(key.this, |repeat| repeat.is_outdated(took));
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
        repeats.begin(a, ((), 10e3), REPEATED);
        for other in [key(0x2000), PlanKey { pool: 2, ..a }, PlanKey { most: 1, ..a }] {
            assert!(repeats.take(other).is_none(), "{other:?}");
            repeats.end_if(key(0x2000).this, |_| true);
        }
        repeats.put_back(repeats.take(a).expect("the plan"));
        repeats.end_if(a.this, |_| true);
        assert!(repeats.take(a).is_none());
        repeats.begin(a, ((), 10e3), 0);
        assert!(repeats.take(a).is_none(), "for no call");
        repeats.begin(a, ((), 10e3), 1);
        for _ in 0..100 {
            repeats.keep(repeats.take(a).expect("calls that do not count"));
        }
    }
}
