//! How many items a claim takes: one, or blocks of constant size where items are too cheap for that.
//!
//! What is claimed cannot be stolen, so an item that turns out heavy traps the rest of its block; but a block of constant size
//! is unrolled and vectorised by the compiler, and a claim costs about a nanosecond. So a run begins with single items, or with
//! what the average item of the last round suggests, looks at the clock now and then (a reading costs some 20 ns, a stretch
//! between two readings lasts some 10 µs), and takes blocks of 8 where items are measured to be cheap. Where they are very cheap, blocks of
//! 64 are tried for a stretch, and kept if they are clearly faster: some loops the compiler vectorises only there. It goes back to
//! single items when they get dearer, when a thief or a cut has interfered (somebody is idle: time to look closely), and for the last
//! items of a range.
//!
//! Worst case: 7 items are trapped behind a heavy one where the items before it took less than 128 ns each; 63 where they took
//! less than 0.25 ns each, or less than 2 ns and blocks of 64 were found to be faster; none elsewhere. (Before it: in the same run, or,
//! where a run begins, on the average of the last round.)

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::time::Duration;

use crate::clock::Instant;

/// Items cheaper than this are claimed by 8: below it a claim an item would cost more than one per cent.
const CHEAP_NS: f32 = 128.0;
/// Items cheaper than this are claimed by 64.
const TRIVIAL_NS: f32 = 0.25;
/// Items cheaper than this are claimed by 64 if that makes them so much cheaper: in smaller blocks they are dearer by what a claim
/// costs, and by what the compiler can do with 64 of them.
const MAY_PAY_NS: f32 = 2.0;
const PAYS: f32 = 0.85;
/// Stretches of smaller blocks before 64 are tried, and tried again.
const SOON: u32 = 1;
const AGAIN: u32 = 64;
/// Items dearer than this are claimed with full fences, which make thefts cheap.
const DEAR_NS: f32 = 400.0;
/// The last items of a range are claimed singly, so that they can be stolen singly.
const TAIL: usize = 64;
/// How long a stretch should last at least.
const STRETCH: Duration = Duration::from_micros(10);
/// Claims of the first stretch.
const FIRST: usize = 8;

/// What a worker does until its next look at the clock.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// Items a claim: 1, 8 or 64.
    pub(crate) size: usize,
    pub(crate) claims: usize,
    pub(crate) full_fences: bool,
}

/// What is known of blocks of 64.
#[derive(Clone, Copy, Debug)]
enum Large {
    /// To be tried after so many stretches.
    Untried(u32),
    /// Being tried, where items in smaller blocks took so many nanoseconds.
    Tried(f32),
    /// Faster than that.
    Faster(f32),
}

/// The pace of one worker in one run.
#[derive(Debug)]
pub(crate) struct Grain {
    /// Whether claims are of one item, whatever it costs.
    singly: bool,
    /// Items a claim.
    size: usize,
    /// Claims a stretch.
    claims: usize,
    large: Large,
    /// Whether items are dear, or not yet known.
    dear: bool,
    /// The current stretch: its items, and what the range should hold after it.
    items: usize,
    left: usize,
    clock: Instant,
}

impl Grain {
    /// `pace`: nanoseconds that an item has taken on the average of the last round, if that is known.
    pub(crate) fn new(now: Instant, pace: Option<f32>, singly: bool) -> Self {
        let mut grain = Self {
            singly,
            size: 1,
            claims: FIRST,
            large: Large::Untried(SOON),
            dear: true,
            items: 0,
            left: 0,
            clock: now,
        };
        if let Some(each) = pace {
            grain.size = grain.suited(each);
            grain.dear = each > DEAR_NS;
            grain.claims = ((STRETCH.as_nanos() as f32 / each) as usize / grain.size).max(1);
        }
        grain
    }

    /// The next stretch for a range that holds `left` items, at least one.
    pub(crate) fn stretch(&mut self, left: usize) -> Stretch {
        let before_tail = left.saturating_sub(TAIL);
        let mut size = self.size;
        while size > before_tail.max(1) {
            size /= 8;
        }
        let claims = self.claims.min(if size == 1 { left } else { before_tail / size });
        self.items = size * claims;
        self.left = left - self.items;
        Stretch { size, claims, full_fences: self.dear }
    }

    /// Learns from a stretch that left `left` items and ended `now`.
    pub(crate) fn look(&mut self, left: usize, now: Instant) {
        let took = now - self.clock;
        self.clock = now;
        if left != self.left {
            (self.size, self.claims, self.dear) = (1, FIRST, true);
            self.large = Large::Untried(SOON);
            return;
        }
        let each = took.as_secs_f32() * 1e9 / self.items as f32;
        self.dear = each > DEAR_NS;
        self.claims = if took < STRETCH {
            self.claims.saturating_mul(2)
        } else if took > 2 * STRETCH {
            (self.claims / 4).max(1)
        } else {
            self.claims
        };
        self.choose(each);
    }

    /// Chooses blocks for items that took `each` nanoseconds in those of the last stretch.
    fn choose(&mut self, each: f32) {
        let small = self.suited(each);
        let (size, large) = match self.large {
            Large::Untried(0) if small == 8 && each < MAY_PAY_NS => (64, Large::Tried(each)),
            Large::Untried(more) if small == 8 => (small, Large::Untried(more.saturating_sub(1))),
            Large::Untried(more) => (small, Large::Untried(more)),
            Large::Tried(before) if each < PAYS * before => (64, Large::Faster(before)),
            Large::Faster(before) if each < before => (64, self.large),
            Large::Tried(_) => (small, Large::Untried(AGAIN)),
            Large::Faster(_) => (small, Large::Untried(SOON)),
        };
        // A stretch is to last as long as before.
        match (self.size, size) {
            (8, 64) => self.claims = (self.claims / 8).max(1),
            (64, 8) => self.claims = self.claims.saturating_mul(8),
            _ => {}
        }
        (self.size, self.large) = (size, large);
    }

    /// The block that suits items of `each` nanoseconds.
    fn suited(&self, each: f32) -> usize {
        match each {
            _ if self.singly => 1,
            ..TRIVIAL_NS => 64,
            ..CHEAP_NS => 8,
            _ => 1,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A range of `left` items that take `nanos` each, after `stretches` stretches: the next one.
    fn after(stretches: usize, mut left: usize, nanos: f64) -> Stretch {
        let mut now = Instant::now();
        let mut grain = Grain::new(now, None, false);
        for _ in 0..stretches {
            let Stretch { size, claims, .. } = grain.stretch(left);
            left -= size * claims;
            now += Duration::from_secs_f64((size * claims) as f64 * nanos * 1e-9);
            grain.look(left, now);
        }
        grain.stretch(left)
    }

    #[test]
    fn cheap_items_are_claimed_in_blocks() {
        const MANY: usize = 1 << 30;
        for (nanos, size, full_fences) in
            [(0.2, 64, false), (1.0, 8, false), (100.0, 8, false), (150.0, 1, false), (500.0, 1, true)]
        {
            let first = after(0, MANY, nanos);
            assert_eq!((first.size, first.claims, first.full_fences), (1, FIRST, true));
            let later = after(3, MANY, nanos);
            assert_eq!((later.size, later.full_fences), (size, full_fences), "{nanos} ns");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and safe code on one thread")]
    fn blocks_of_64_are_kept_where_they_are_faster() {
        // Items of 1 ns, and so many nanoseconds a claim.
        let size_after = |claim: f64, stretches: usize| {
            let mut now = Instant::now();
            let mut grain = Grain::new(now, None, false);
            let mut left = 1 << 30;
            for _ in 0..stretches {
                let Stretch { size, claims, .. } = grain.stretch(left);
                left -= size * claims;
                now += Duration::from_secs_f64(((size * claims) as f64 + claims as f64 * claim) * 1e-9);
                grain.look(left, now);
            }
            grain.stretch(left).size
        };
        assert_eq!(size_after(4.0, 20), 64);
        assert_eq!(size_after(0.5, 20), 8);
        let tried = (1..200).filter(|&stretches| size_after(0.5, stretches) == 64).count();
        assert!((2..=4).contains(&tried), "{tried} trials in 200 stretches");
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and safe code on one thread")]
    fn nothing_else_is_claimed_in_larger_blocks() {
        for (nanos, size) in [(3.0, 8), (100.0, 8), (150.0, 1), (500.0, 1)] {
            let largest = (0..70).map(|stretches| after(stretches, 1 << 30, nanos).size).max();
            assert_eq!(largest, Some(size), "{nanos} ns");
        }
        let begin = Instant::now();
        let later = |nanos: f64| begin + Duration::from_secs_f64(nanos * 1e-9);
        // Whatever they cost, if they are to be claimed singly.
        let mut grain = Grain::new(begin, Some(0.1), true);
        assert_eq!(grain.stretch(1 << 30).size, 1);
        grain.look(grain.left, later(1.0));
        assert_eq!(grain.stretch(1 << 30).size, 1);
        // Blocks of 64 that were faster, until items get dearer.
        let faster =
            Grain { size: 64, claims: 10, large: Large::Faster(1.0), ..Grain::new(begin, None, false) };
        for (nanos, size) in [(0.9, 64), (1.1, 8), (200.0, 1)] {
            let mut grain = Grain { clock: begin, ..faster };
            assert_eq!(grain.stretch(1 << 30).size, 64);
            grain.look(grain.left, later(grain.items as f64 * nanos));
            assert_eq!(grain.stretch(1 << 20).size, size, "{nanos} ns");
        }
    }

    #[test]
    fn stretches_last_some_microseconds() {
        for nanos in [0.2, 1.0, 2.0, 50.0, 300.0] {
            let Stretch { size, claims, .. } = after(30, 1 << 30, nanos);
            let lasts = (size * claims) as f64 * nanos;
            assert!((5_000.0..25_000.0).contains(&lasts), "{nanos} ns an item, {lasts} ns a stretch");
        }
        assert_eq!(after(30, 1 << 30, 1e6).claims, 1);
    }

    #[test]
    fn blocks_end_before_the_tail() {
        for left in 1..5_000 {
            let mut grain =
                Grain { size: 64, claims: 1000, dear: false, ..Grain::new(Instant::now(), None, false) };
            let Stretch { size, claims, full_fences } = grain.stretch(left);
            assert!(!full_fences && claims > 0 && size * claims <= left);
            assert!(size == 1 || left - size * claims >= TAIL, "{left} left");
        }
    }

    #[test]
    fn interference_makes_careful() {
        let now = Instant::now();
        let mut grain = Grain { size: 64, claims: 1000, dear: false, ..Grain::new(now, None, false) };
        let Stretch { size, claims, .. } = grain.stretch(1 << 30);
        grain.look((1 << 29) - size * claims, now);
        let next = grain.stretch(1 << 29);
        assert_eq!((next.size, next.claims, next.full_fences), (1, FIRST, true));
    }
}
