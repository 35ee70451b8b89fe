//! Which calls run as an earlier call of the loop ran.
//!
//! To decide on a call, to note its times and to learn from them takes 0.4 µs if it runs alone, and
//! 1.6 µs if it is shared. After a pause of the caller, whose caches are cold by then, it takes
//! some microseconds. So most calls of a short loop that goes through all items repeat a call that
//! was decided (those of a loop that may stop only in the last row):
//!
//! | helpers | a call that was decided | is repeated | by calls |
//! |---|---|---|---|
//! | awake | shared | 15 times, then 63 times | with the same helpers and the same boundaries |
//! | awake | alone | 15 times, then 63 times | of which the first three are timed |
//! | asleep | alone, too short to wake a helper for | until a helper is awake | of which one in 16 is timed |
//! | asleep, and polling might pay | alone, for a reason that holds if a helper is awake | 15 times, then 63 times | of which the first three are timed |
//! | asleep, and calls are too far apart for polling | alone | until calls come nearer, or a helper is awake | of which one in 16 is timed, if they end before help; a loop that may stop is decided instead |
//!
//! Calls that are repeated ask nothing, and most of them note and learn nothing. A call with a
//! handle, a report or a trace is always decided, and so is a call in an item of a shared loop. If
//! the rounds of the loop are known ([`rounds`](super::rounds)), the rows with 15 calls hold only
//! while they are alike, or while a trial shares the loop. While all helpers sleep, chance also
//! chooses longer calls for a decision, so that the price of help is measured as often as if all
//! calls were decided.
//!
//! In these rows each slice has a plan of its own. (A program may swap two buffers. If both had one
//! plan, a fixed period of 16 calls would always decide the same one.) A plan ends after two rounds
//! in a row that are not like the others, if these calls are timed, and at the end of a trial that
//! has found the loop better alone. A plan of calls alone also ends after a call that takes clearly
//! longer than expected.
//!
//! While most calls of a loop repeat a plan, the policy compares the loop alone with such calls: it
//! takes the time of deciding off the times of the few shared calls that are decided. (Otherwise a
//! loop of 5 µs does not seem worth sharing. Also, the round of a decided call then seems unlike
//! the others, and 30 to 37 % of the shared calls are decided.)

use std::{cell::Cell, time::Duration};

use super::{prices::CLEARLY, site::Loop};
use crate::clock::{Moment, nanos};

/// In calls: how many calls repeat a plan. The caches of helpers are warm after this number of
/// shared calls in a row.
pub(crate) const REPEATED: u8 = 15;
/// In calls: how many calls repeat the next plan of a loop whose last plan was repeated to its end.
const REPEATED_AGAIN: u8 = 63;
/// In calls: how many of the calls alone that repeat a plan are timed. Rounds count at least two.
/// (Where all were timed, a loop of 4.9 µs took 5.2.)
const TIMED: u8 = 3;
/// In plans: how many plans of a thread are remembered.
const PLANS: usize = 64;
/// In nanoseconds: a call that takes longer is not repeated, since that would gain less than 1 %.
pub(crate) const LONGEST_REPEATED_NS: f32 = 100e3;
/// In nanoseconds: a shared call that is decided takes at least so much longer than one that
/// repeats it. (For loops of 5, 8 and 10 µs it was 1.3, 1.8 and 1.9 µs on an AMD EPYC, and for
/// loops of 5, 10 and 30 µs 1.5, 1.5 and 1.6 µs on an Intel Xeon.)
pub(super) const DECIDED_NS: f32 = 1_300.0;

/// The part of the time of a decided call that a repeated one would not take, in nanoseconds. The
/// call, or the round that it began, took `took` nanoseconds.
pub(crate) fn deciding(took: f32) -> f32 {
    f32::min(DECIDED_NS, took / 2.0)
}

/// The calls of a thread in one pool, while they are so far apart that helpers which poll would
/// sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FarCalls {
    /// The address of the pool.
    pub(crate) pool: usize,
    /// When the last call began, and its expected time in nanoseconds.
    last: Moment,
    takes: f32,
}

impl FarCalls {
    /// A call begins `now`, is far from the last one, and is expected to take `takes` nanoseconds.
    pub(crate) fn begin(pool: usize, now: Moment, takes: f32) -> Self {
        Self { pool, last: now, takes }
    }

    /// A call begins `now`, which is expected to take `takes` nanoseconds. `None` if it is not far
    /// from the last one. Helpers that poll stay awake for `patience`.
    pub(crate) fn and_one(self, now: Moment, takes: f32, patience: Duration) -> Option<Self> {
        let is_far = patience.is_zero() || now.is_after(self.last, nanos(patience) + self.takes);
        is_far.then_some(Self { last: now, takes, ..self })
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
    /// How many calls were to repeat it at first.
    lasts: u8,
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

    /// The next calls run this `way`. Each is expected to take `takes` nanoseconds.
    pub(crate) fn begin(&self, key: PlanKey, way: W, takes: f32) {
        let place = self.place(key.this);
        let is_again = place.take().is_some_and(|last| last.key == key && last.left == 0);
        let lasts = if is_again { REPEATED_AGAIN } else { REPEATED };
        place.set(Some(Box::new(Repeat { key, way, takes, left: lasts, lasts })));
    }

    /// The plan that the next call repeats, if there is one. The table forgets the plan unless it
    /// is [put back](Self::put_back).
    pub(crate) fn take(&self, key: PlanKey) -> Option<Box<Repeat<W>>> {
        let place = self.place(key.this);
        let repeat = place.take()?;
        if repeat.key == key && repeat.left > 0 {
            return Some(repeat);
        }
        place.set(Some(repeat));
        None
    }

    /// A call repeats or has repeated this plan.
    pub(crate) fn put_back(&self, mut repeat: Box<Repeat<W>>) {
        repeat.left -= 1;
        self.place(repeat.key.this).set(Some(repeat));
    }

    /// Forgets the plan of a loop over its slice, if `ends` says so.
    pub(crate) fn end_if(&self, this: Loop, ends: impl Fn(&Repeat<W>) -> bool) {
        let place = self.place(this);
        place.set(place.take().filter(|repeat| repeat.key.this != this || !ends(repeat)));
    }
}

impl<W> Repeat<W> {
    /// Whether the call alone is timed that repeats this plan now.
    pub(crate) fn is_timed(&self) -> bool {
        self.left > self.lasts - TIMED
    }

    /// Whether a call that took `took` nanoseconds has taken clearly longer than expected.
    pub(crate) fn is_outdated(&self, took: f32) -> bool {
        took > CLEARLY * self.takes
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{iter, ptr, thread};

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
    fn a_call_is_far_from_the_last_one_if_helpers_that_poll_would_have_slept() {
        let (begin, patience) = (Moment::now(), Duration::from_micros(50));
        thread::sleep(Duration::from_millis(1));
        let now = Moment::now();
        let last = |takes| FarCalls::begin(1, begin, takes);
        assert!(last(1e9).and_one(now, 10e3, patience).is_none(), "the last call takes a second");
        assert!(last(1e9).and_one(now, 10e3, Duration::ZERO).is_some(), "helpers do not poll");
        let next = last(10e3).and_one(now, 1e9, patience).expect("a far call");
        assert!(next.and_one(now, 10e3, patience).is_none(), "the second one takes a second");
    }

    #[test]
    fn a_plan_is_repeated_15_times_or_until_a_call_takes_longer() {
        let repeated = |late| {
            let (repeats, key) = (Repeats::new(), key(0x1000));
            repeats.begin(key, 3, 10e3);
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

    /// A plan that has come to its end was a good one. One that was ended was not.
    #[test]
    fn the_plan_after_one_that_was_repeated_to_its_end_is_repeated_63_times() {
        let (repeats, key) = (Repeats::new(), key(0x1000));
        let repeated = || iter::from_fn(|| repeats.take(key).map(|plan| repeats.put_back(plan))).count();
        let lasts: Vec<_> = (0..3)
            .map(|_| {
                repeats.begin(key, (), 10e3);
                repeated()
            })
            .collect();
        assert_eq!(lasts, [15, 63, 63]);
        repeats.begin(key, (), 10e3);
        repeats.end_if(key.this, |_| true);
        repeats.begin(key, (), 10e3);
        assert_eq!(repeated(), 15);
        let other = PlanKey { this: Loop { slice: Slice { len: 5, ..key.this.slice }, ..key.this }, ..key };
        assert!(repeats.take(other).is_none(), "another slice");
    }

    #[test]
    fn the_first_three_calls_of_a_plan_are_timed() {
        let (repeats, key) = (Repeats::new(), key(0x1000));
        for lasts in [15, 63] {
            repeats.begin(key, (), 10e3);
            let timed = iter::from_fn(|| {
                let plan = repeats.take(key)?;
                let is_timed = plan.is_timed();
                repeats.put_back(plan);
                Some(is_timed)
            });
            let timed: Vec<_> = timed.collect();
            assert_eq!((timed.len(), timed.iter().filter(|timed| **timed).count()), (lasts, 3));
            assert!(timed[..3].iter().all(|timed| *timed));
        }
    }

    #[test]
    fn a_plan_holds_for_its_slice_its_pool_and_its_limit() {
        let (repeats, a) = (Repeats::new(), key(0x1000));
        repeats.begin(a, (), 10e3);
        for other in [key(0x2000), PlanKey { pool: 2, ..a }, PlanKey { most: 1, ..a }] {
            assert!(repeats.take(other).is_none(), "{other:?}");
            repeats.end_if(key(0x2000).this, |_| true);
        }
        repeats.put_back(repeats.take(a).expect("the plan"));
        repeats.end_if(a.this, |_| true);
        assert!(repeats.take(a).is_none());
    }
}
