//! Notes for a timeline, written while a loop runs.

use std::time::Duration;

use super::timeline::Slow;
use crate::clock::Instant;

/// The function [`tick`]. Only [`Trace`](super::Trace) has a direct pointer to it. So a program
/// without traces does not contain its code.
pub(crate) type Tick = fn(&mut Closeup, usize, Instant);

/// All indices before `next` are done at `now`.
pub(super) fn tick(closeup: &mut Closeup, next: usize, now: Instant) {
    if next > closeup.next {
        let slow = Slow { worker: 0, items: closeup.next..next, took: now - closeup.since };
        add_slow(&mut closeup.slowest, slow);
    }
    (closeup.next, closeup.since) = (next, now);
    if closeup.ticks.last().is_none_or(|last| now - last.1 >= closeup.apart) {
        closeup.ticks.push((next, now));
    }
    if closeup.ticks.len() >= Closeup::MOST_TICKS {
        let mut is_kept = true;
        closeup.ticks.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        closeup.apart *= 2;
    }
}

/// The work of the calling thread alone, until the loop was shared or ended.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) begin: Instant,
    pub(crate) indices: usize,
    /// The number of items, if the items were counted one by one.
    pub(crate) counted: Option<usize>,
    pub(crate) took: Duration,
    pub(crate) closeup: Option<Box<Closeup>>,
}

impl Before {
    /// No work, in a call that began at `begin`.
    pub(crate) fn nothing(begin: Instant) -> Self {
        Self { begin, indices: 0, counted: None, took: Duration::ZERO, closeup: None }
    }
}

/// The notes of a run, one at each reading of the clock.
#[derive(Debug)]
pub(crate) struct Closeup {
    tick: Tick,
    next: usize,
    since: Instant,
    pub(super) ticks: Vec<(usize, Instant)>,
    /// The least time between two ticks.
    apart: Duration,
    /// The slowest indices.
    pub(super) slowest: Vec<Slow>,
}

impl Closeup {
    /// The most ticks of a run. When a run has this number of ticks, every second tick is dropped.
    const MOST_TICKS: usize = 256;
    const APART: Duration = Duration::from_micros(5);

    pub(crate) fn new(tick: Tick, first: usize, begin: Instant) -> Self {
        let (ticks, slowest) = (Vec::new(), Vec::new());
        Self { tick, next: first, since: begin, ticks, apart: Self::APART, slowest }
    }

    /// All indices before `next` are done at `now`.
    pub(crate) fn tick(&mut self, next: usize, now: Instant) {
        (self.tick)(self, next, now);
    }

    /// All indices before `next` are done. Does nothing if these indices are already noted. (If a
    /// loop stops early between two readings of the clock, its last indices are not noted yet.)
    pub(crate) fn tick_last(&mut self, next: usize, now: Instant) {
        if next > self.next {
            self.tick(next, now);
        }
    }
}

/// The most slow items of a timeline.
const MOST_SLOW: usize = 16;

/// Adds items to the slowest items so far, which are in order. Keeps only the slowest of all.
pub(super) fn add_slow(slowest: &mut Vec<Slow>, slow: Slow) {
    let place =
        slowest.partition_point(|other| (slow.took, other.items.start) < (other.took, slow.items.start));
    if place < MOST_SLOW && !slow.took.is_zero() {
        slowest.truncate(MOST_SLOW - 1);
        slowest.insert(place, slow);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn of_many_ticks_few_are_kept_and_evenly() {
        let begin = Instant::now();
        let mut closeup = Closeup::new(tick, 10, begin);
        for step in 1..=100_000_u32 {
            closeup.tick(10 + step as usize, begin + Duration::from_micros(2) * step);
        }
        let ticks = closeup.ticks;
        assert!((Closeup::MOST_TICKS / 3..Closeup::MOST_TICKS).contains(&ticks.len()), "{}", ticks.len());
        let mut last = (10, begin);
        let longest = Duration::from_millis(20); // the run takes 0.2 s and has more than a hundred ticks
        for (next, at) in ticks {
            assert_eq!(at - begin, Duration::from_micros(2) * u32::try_from(next - 10).unwrap());
            assert!(next > last.0 && at - last.1 < longest, "{last:?}, {next} {at:?}");
            last = (next, at);
        }
    }

    #[test]
    fn the_slowest_are_found_wherever_they_are() {
        let begin = Instant::now();
        let (mut now, mut closeup) = (begin, Closeup::new(tick, 0, begin));
        for item in 0..1000_usize {
            now += Duration::from_nanos(if item % 50 == 7 { 1000 + item as u64 } else { 500 });
            closeup.tick(item + 1, now);
        }
        closeup.tick(1000, now + Duration::from_millis(1)); // no item is done since the last tick
        let found: Vec<_> = closeup.slowest.iter().map(|slow| (slow.items.clone(), slow.took)).collect();
        let heavy = (0..1000).rev().filter(|item| item % 50 == 7);
        let expected: Vec<_> = heavy
            .map(|item| (item..item + 1, Duration::from_nanos(1000 + item as u64)))
            .take(MOST_SLOW)
            .collect();
        assert_eq!(found, expected);
    }
}
