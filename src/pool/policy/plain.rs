//! The parts of the plain loop. The last calls of the loop were short, but this call may be long:
//! after each part but the last one, the calling thread checks whether the part took clearly longer
//! than expected. It reads the time stamp counter once for each check.

use super::{
    pace::{LARGE_BLOCK, SMALL_BLOCK},
    prices::TOO_SHORT_TO_TIME_NS,
};
use crate::clock::Moment;

/// In nanoseconds of work: a part of a loop that is expected to be short should take less than
/// this. So should the first part of any loop of few items.
const FIRST_LOOK_NS: f32 = TOO_SHORT_TO_TIME_NS / 2.0;
/// In nanoseconds: the expected time of a part of a loop of known cost. (With parts of a quarter of
/// this time, a loop of 6 µs takes 0.15 µs longer.)
const PART_NS: f32 = 4.0 * FIRST_LOOK_NS;
/// In items: a short loop over at least this many items is checked. The check reads the time stamp
/// counter, which costs 7 to 35 ns, a large part of the time of a shorter loop.
const CHECKED: usize = LARGE_BLOCK;
/// In items: the first part of a plain loop. The number is a multiple of the length of a vector: if
/// the slice begins at a boundary of vectors, the rest does too.
pub(crate) const CHECKED_AFTER: usize = SMALL_BLOCK;

/// The parts of a plain loop, the present one first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlainParts {
    /// In items: where the present part ends, the length of the parts after it, and where the last
    /// one ends. The rest of a loop that may stop is folded by the clock.
    end: usize,
    next: usize,
    last: usize,
    /// In nanoseconds: a part that takes clearly longer than this is the last one. The limit of the
    /// present part, and that of the parts after it.
    limit: f32,
    next_limit: f32,
    /// When the present part began.
    begun: Moment,
    /// Whether `begun` is known. Otherwise it is the last reading of the thread, perhaps long
    /// before the call. If such a part seems to take long, a second one of the same length follows,
    /// whose begin is known.
    is_timed: bool,
}

impl PlainParts {
    /// One part, which is not checked.
    #[inline(always)]
    pub(crate) fn whole(len: usize) -> Self {
        Self::new([len, len], len, [f32::INFINITY; 2])
    }

    /// A loop over `len` items that is expected to be short.
    #[inline(always)]
    pub(crate) fn short(len: usize) -> Self {
        Self::new([if len < CHECKED { len } else { CHECKED_AFTER }, len], len, [FIRST_LOOK_NS; 2])
    }

    /// A loop over `len` items that is expected to stop soon. An item that is reached is expected
    /// to take `item` nanoseconds.
    #[inline(always)]
    pub(crate) fn until_stop(len: usize, item: f32) -> Self {
        Self::short(((TOO_SHORT_TO_TIME_NS / item) as usize).clamp(1, len))
    }

    /// A loop over `len` items, at least one, which is expected to take `takes` nanoseconds; 0 if
    /// that is unknown.
    pub(crate) fn of(len: usize, takes: f32) -> Self {
        let items = |work: f32| ((len as f32 * work / takes) as usize).clamp(1, len);
        let (first, next) = (items(FIRST_LOOK_NS), items(PART_NS));
        let lengths = if len < CHECKED {
            [first, next]
        } else {
            [CHECKED_AFTER, (next - next % CHECKED_AFTER).max(CHECKED_AFTER)]
        };
        let longest = takes * lengths[0].max(lengths[1]) as f32 / len as f32;
        let parts = Self::new(lengths, len, [PART_NS.max(longest); 2]);
        if parts.is_timed {
            return parts;
        }
        // The first part should take a small part of the time. The second one may take all of it.
        Self { limit: FIRST_LOOK_NS, next_limit: takes.max(FIRST_LOOK_NS), ..parts }
    }

    /// As [`of`](Self::of), for a loop that is timed. Its items may have very different costs, so a
    /// part may take as long as all of the loop should.
    pub(crate) fn timed(len: usize, takes: f32) -> Self {
        let parts = Self::of(len, takes);
        if parts.is_timed { Self { limit: takes, next_limit: takes, ..parts } } else { parts }
    }

    /// Parts of these lengths and limits, the first one and those after it. If one part has all
    /// items but the first ones, two parts like the first one are a small part of the items, so the
    /// begin of the first one need not be known.
    #[inline(always)]
    fn new([end, next]: [usize; 2], last: usize, [limit, next_limit]: [f32; 2]) -> Self {
        let is_timed = last < CHECKED || next < last;
        Self { end, next, last, limit, next_limit, begun: Moment::default(), is_timed }
    }

    /// Where the present part ends.
    #[inline(always)]
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Whether the present part is followed by others, unless it takes long.
    #[inline(always)]
    pub(crate) fn is_checked(&self) -> bool {
        self.end < self.last
    }

    /// Whether the begin of the present part must be known.
    #[inline(always)]
    pub(crate) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// The present part has begun at this point, or long after it.
    #[inline(always)]
    pub(crate) fn begin(&mut self, begun: Moment) {
        self.begun = begun;
    }

    /// The present part has ended `now`. Continues with the next one. Returns `false` if there is
    /// none, or if the present part took clearly longer than expected.
    pub(crate) fn next(&mut self, now: Moment) -> bool {
        let Self { end, next, last, limit, next_limit, begun, is_timed } = *self;
        let is_long = now.is_long_after(begun, limit);
        if end == last || is_long && is_timed {
            return false;
        }
        let len = if is_long { end } else { next };
        (self.limit, self.begun, self.is_timed) = (next_limit, now, true);
        self.end += len.min(last - end);
        true
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_parts_of_a_loop_of_known_cost_take_about_the_same_time() {
        for (len, takes, first, next) in [
            (1000, 19e3, 8, 416),
            (64, 1e3, 8, 64),
            (40, 5e3, 16, 40),
            (8, 19e3, 1, 3),
            (usize::MAX, 0.0, 8, usize::MAX - 7),
        ] {
            let parts = PlainParts::of(len, takes);
            assert_eq!((parts.end, parts.next), (first, next), "{len} items");
        }
    }

    /// Where the parts of a loop end, if each of them takes no time, or if the parts from `heavy`
    /// on take a millisecond.
    fn ends(parts: PlainParts, heavy: usize) -> Vec<usize> {
        ends_after(parts, heavy, Duration::from_millis(1))
    }

    /// As `ends`, with parts that take this time.
    fn ends_after(mut parts: PlainParts, heavy: usize, time: Duration) -> Vec<usize> {
        let mut ends = vec![parts.end()];
        parts.begin(Moment::now());
        loop {
            if ends.len() > heavy {
                let begin = Instant::now();
                while begin.elapsed() < time {}
            }
            if !parts.next(Moment::now()) {
                return ends;
            }
            ends.push(parts.end());
        }
    }

    #[test]
    fn parts_have_all_items_unless_one_takes_long() {
        assert_eq!(ends(PlainParts::whole(100), 0), [100]);
        assert_eq!(ends(PlainParts::short(63), 9), [63]);
        assert_eq!(ends(PlainParts::short(100), 9), [8, 100]);
        assert_eq!(ends(PlainParts::short(100), 0), [8, 16], "the second part is timed");
        assert_eq!(ends(PlainParts::short(100), 1), [8, 100], "the last part is not checked");
        assert_eq!(ends(PlainParts::of(1000, 19e3), 9), [8, 424, 840, 1000]);
        assert_eq!(ends(PlainParts::of(1000, 19e3), 1), [8, 424]);
        assert_eq!(ends(PlainParts::timed(1000, 19e3), 0), [8]);
        assert_eq!(ends(PlainParts::until_stop(1000, 40.0), 9), [8, 100], "4 µs");
    }

    #[test]
    fn eight_items_of_a_short_loop_that_take_twenty_microseconds_are_noticed() {
        let time = Duration::from_micros(20);
        for parts in [PlainParts::short(1000), PlainParts::of(1000, 2e3), PlainParts::timed(1000, 2e3)] {
            assert_eq!(ends_after(parts, 0, time), [8, 16], "{parts:?}");
        }
    }

    #[test]
    fn the_first_items_of_a_loop_may_have_all_of_its_work() {
        for takes in [6e3, 60e3] {
            let mut parts = PlainParts::timed(1000, takes);
            let begin = Moment::now();
            parts.begin(begin);
            while !Moment::now().is_long_after(begin, FIRST_LOOK_NS) {}
            assert!(parts.next(Moment::now()) && parts.next(Moment::now()), "{parts:?}");
        }
    }

    #[test]
    fn a_part_may_take_as_long_as_it_is_expected_to() {
        for (len, takes) in [(64, 200e3), (1000, 100e3), (1000, 3e3), (20, 900e3)] {
            let parts = PlainParts::of(len, takes);
            let expected = |items: usize| takes * items.min(len) as f32 / len as f32;
            assert!(parts.limit >= expected(parts.end), "{parts:?}");
            assert!(parts.next_limit >= expected(parts.next), "{parts:?}");
        }
    }
}
