//! How many items a claim takes: one, or a block if items are too cheap for single claims.
//!
//! A claimed item cannot be stolen, so a heavy item keeps the rest of its block from thieves. But a
//! claim takes time: 1 or 2 ns between items of predictable length, and 10 to 25 ns if the loop
//! over the items has unpredictable branches or waits for memory, since it starts anew in each
//! block. A block may also be folded by vector instructions.
//!
//! If an earlier call over the same slice is known, claims are as large as is harmless: a run
//! claims blocks of the largest power of two for which in that call such a block of its range took
//! at most [`HARMLESS_NS`]. An item of a block then waits for less time than a theft would take.
//! The earlier call knows only the average item between two readings of the clock.
//!
//! Otherwise a run begins with single items, or with the block size that suits the average item of
//! the last call. The run reads the clock after each stretch of some 10 µs (a reading costs some
//! 20 ns); in a call that repeats an earlier one neither at its begin nor at its end. It claims
//! blocks of 8 if items are cheap. If items are very cheap, one stretch tries blocks of 64. The run
//! keeps blocks of 64 if they are clearly faster.
//!
//! The run goes back to single items in three cases: items take longer, a thief or a truncation has
//! interfered, or the last items of a range are left (unless the blocks are known to be harmless).
//! After an interference some worker is idle, and small claims leave that worker more to steal.
//!
//! Worst case: a heavy item keeps the rest of its block from thieves. The number of these items
//! depends on the time of the items before the heavy item in the same run. (At the begin of a run,
//! the average item of the last call counts instead.) The heavy item traps
//!
//! * 511 items, if items before it took less than 0.25 ns each;
//! * 63 items, if they took less than 16 ns each and blocks of 64 were faster;
//! * 7 items, if they took less than 128 ns each;
//! * the rest of a block that was harmless in the earlier call, on average between two readings of
//!   the clock;
//! * otherwise no item.

use super::{
    pace::{HUGE_BLOCK, LARGE_BLOCK, Pace, SMALL_BLOCK, STRETCH, Stretch, suited_to},
    prices::{CLEARLY, HARMLESS_NS},
};
use crate::clock::{Instant, nanos};

/// In nanoseconds per item: items below this are claimed in blocks of 8 at least, since single
/// claims would add more than 1 % to their time. Other items are claimed one by one, unless larger
/// claims are known to be harmless.
const CHEAP_NS: f32 = 128.0;
/// In nanoseconds per item: items below this are claimed in blocks of 512. An item that takes less
/// than a cycle is folded by vector instructions, and no loop with branches to longer items is that
/// fast. (The sum of a million `u64` in cache by two workers took 0.55 times the plain loop's time.
/// In blocks of 64 it took 0.8 to 1.0 times the plain loop's time.)
const TRIVIAL_NS: f32 = 0.25;
/// In nanoseconds per item: for items below this, blocks of 64 are tried. A vector loop starts anew
/// in each block, and may load 20 constants each time. (In blocks of 8, a polynomial of degree 15
/// over 300,000 `f32` by two workers took 1.0 times the plain loop's time.)
const MAY_PAY_NS: f32 = 16.0;
/// In nanoseconds per item: of items below this, a thread alone folds 512 between two readings of a
/// token. (With 64, a product takes 0.5 ns, and 0.2 without a token.)
const UNREAD_NS: f32 = 1.0;
/// In stretches of smaller blocks: the interval before the first trial of blocks of 64.
const SOON: u32 = 1;
/// In stretches of smaller blocks: the interval before the next trial of blocks of 64, if the last
/// trial failed.
const AGAIN: u32 = LARGE_BLOCK as u32;
/// In nanoseconds per item: items above this are claimed with full fences, which make thefts cheap.
pub(crate) const DEAR_NS: f32 = 400.0;
/// In items: the end of a range that is claimed one by one, so that thieves can steal each of these
/// items. Harmless blocks are claimed up to the end.
const TAIL: usize = LARGE_BLOCK;
/// In claims: the length of the first stretch of a run.
const FIRST_STRETCH: usize = SMALL_BLOCK;

/// How many items a thread alone folds between two readings of a token. An item of the last stretch
/// took `each` nanoseconds; NaN if there is none.
pub(crate) fn unread(each: f32) -> usize {
    match each {
        ..UNREAD_NS => HUGE_BLOCK,
        ..MAY_PAY_NS => LARGE_BLOCK,
        _ => SMALL_BLOCK,
    }
}

/// Whether blocks of 64 are in use.
#[derive(Clone, Copy, Debug)]
enum Large {
    /// Not in use. The number is the count of stretches before the next trial.
    Untried(u32),
    /// On trial. An item in smaller blocks takes this number of nanoseconds.
    Tried(f32),
    /// In use, since they are faster. An item in smaller blocks takes this number of nanoseconds.
    Faster(f32),
}

/// The block size of one worker in one run.
#[derive(Debug)]
pub(crate) struct Grain {
    /// Whether every claim is one item, however cheap items are.
    singly: bool,
    /// Items per claim.
    size: usize,
    /// Claims per stretch.
    claims: usize,
    large: Large,
    /// The largest harmless block; 1 if unknown.
    harmless: usize,
    /// Whether items are so dear that claims use full fences. True before items are timed.
    dear: bool,
    /// The number of items in the current stretch, and the number of items that the range has left
    /// after the stretch if no thief interferes.
    items: usize,
    left: usize,
    /// In nanoseconds: the average item in the fastest stretch of this partial result.
    fastest: f32,
    /// Whether items have become dearer, perhaps because the partial result grows: an item of the
    /// last stretch took more than twice as long as an item of the fastest stretch. With a new
    /// partial result they might be cheaper. If a new partial result does not make items cheaper,
    /// this becomes `false` until items are twice as dear as now.
    pub(crate) is_dearer: bool,
    /// When the stretch began; `None` if it is not measured.
    clock: Option<Instant>,
}

impl Grain {
    /// The run begins at `clock`, if somebody has read the clock. `pace` is the average time of an
    /// item in the last call, in nanoseconds, if known. `harmless` is the largest harmless block
    /// by an earlier call; 1 if unknown.
    pub(crate) fn new(clock: Option<Instant>, pace: Option<f32>, harmless: usize, singly: bool) -> Self {
        let mut grain = Self {
            singly,
            size: 1,
            claims: FIRST_STRETCH,
            large: Large::Untried(SOON),
            harmless,
            dear: true,
            items: 0,
            left: 0,
            fastest: f32::INFINITY,
            is_dearer: false,
            clock,
        };
        if let Some(each) = pace {
            grain.see(each);
            grain.size = grain.suited(each);
            grain.claims = ((STRETCH.as_nanos() as f32 / each) as usize / grain.size).max(1);
        }
        grain
    }

    /// Starts the clock of the next stretch `now`. Called after other work, which must not count.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.clock = Some(now);
    }

    /// Items take `each` nanoseconds: chooses the fences, and makes harmless blocks smaller.
    fn see(&mut self, each: f32) {
        self.dear = each > DEAR_NS;
        while self.harmless > 1 && each * self.harmless as f32 > HARMLESS_NS {
            self.harmless /= 2;
        }
    }

    /// Chooses the block size, after a stretch in which an item took `each` nanoseconds.
    fn choose(&mut self, each: f32) {
        let small = self.suited(each);
        let (size, large) = match self.large {
            large if small >= LARGE_BLOCK || small > SMALL_BLOCK && each >= MAY_PAY_NS => (small, large),
            Large::Untried(0) if small >= SMALL_BLOCK && each < MAY_PAY_NS => {
                (LARGE_BLOCK, Large::Tried(each))
            }
            Large::Untried(more) => {
                (small, Large::Untried(more.saturating_sub(u32::from(small >= SMALL_BLOCK))))
            }
            Large::Tried(before) if CLEARLY * each < before => (LARGE_BLOCK, Large::Faster(before)),
            Large::Faster(before) if each < before => (LARGE_BLOCK, self.large),
            Large::Tried(_) => (small, Large::Untried(AGAIN)),
            Large::Faster(_) => (small, Large::Untried(SOON)),
        };
        if self.size > 1 && size > 1 {
            // The next stretch lasts as long as the last one.
            self.claims = (self.claims.saturating_mul(self.size) / size).max(1);
        }
        (self.size, self.large) = (size, large);
    }

    /// The block size for items of `each` nanoseconds.
    fn suited(&self, each: f32) -> usize {
        match each {
            _ if self.singly => 1,
            ..TRIVIAL_NS => HUGE_BLOCK.max(self.harmless),
            ..CHEAP_NS => SMALL_BLOCK.max(self.harmless),
            _ => self.harmless,
        }
    }
}

impl Pace for Grain {
    fn stretch(&mut self, left: usize) -> Stretch {
        let (mut size, mut items) = (self.size, left);
        if size > self.harmless {
            let before_tail = left.saturating_sub(TAIL);
            while size > before_tail.max(1) {
                size /= SMALL_BLOCK;
            }
            if size > 1 {
                items = before_tail - before_tail % size;
            }
        }
        self.items = items.min(size.saturating_mul(self.claims));
        self.left = left - self.items;
        Stretch { size, items: self.items, full_fences: self.dear, is_new: self.is_dearer }
    }

    fn end_stretch(&mut self, left: usize, now: Instant) {
        let begun = self.clock.replace(now);
        if left != self.left {
            *self = Self { fastest: self.fastest, ..Self::new(self.clock, None, 1, self.singly) };
            return;
        }
        let Some(begun) = begun else { return };
        let took = now - begun;
        let each = nanos(took) / self.items as f32;
        self.see(each);
        self.is_dearer = each > 2.0 * self.fastest;
        self.fastest = if self.is_dearer { each } else { self.fastest.min(each) };
        self.claims = suited_to(STRETCH, self.claims, took);
        self.choose(each);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The stretch that follows `stretches` stretches, in a range of `left` items of `nanos` each.
    fn after(stretches: usize, mut left: usize, nanos: f64) -> Stretch {
        let mut now = Instant::now();
        let mut grain = Grain::new(Some(now), None, 1, false);
        for _ in 0..stretches {
            let Stretch { items, .. } = grain.stretch(left);
            left -= items;
            now += Duration::from_secs_f64(items as f64 * nanos * 1e-9);
            grain.end_stretch(left, now);
        }
        grain.stretch(left)
    }

    #[test]
    fn cheap_items_are_claimed_in_blocks() {
        const MANY: usize = 1 << 30;
        for (nanos, size, full_fences) in
            [(0.2, 512, false), (1.0, 8, false), (100.0, 8, false), (150.0, 1, false), (500.0, 1, true)]
        {
            let first = after(0, MANY, nanos);
            assert_eq!((first.size, first.items, first.full_fences), (1, FIRST_STRETCH, true));
            let later = after(3, MANY, nanos);
            assert_eq!((later.size, later.full_fences), (size, full_fences), "{nanos} ns");
        }
    }

    #[test]
    fn a_stretch_is_measured_only_if_its_begin_is_known() {
        let begin = Instant::now();
        let next = |clock| {
            let mut grain = Grain::new(clock, Some(4.0), 1, false);
            let left = (1 << 20) - grain.stretch(1 << 20).items;
            grain.end_stretch(left, begin + Duration::from_millis(100));
            let Stretch { items, .. } = grain.stretch(left);
            grain.end_stretch(left - items, begin + Duration::from_millis(200));
            [items, grain.stretch(left - items).items]
        };
        let [unmeasured, measured] = next(None);
        assert!(measured < unmeasured / 100, "the first stretch was as expected: {measured} of {unmeasured}");
        assert!(next(Some(begin))[0] < unmeasured / 100);
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and safe code on one thread")]
    fn blocks_of_64_are_kept_where_they_are_faster() {
        // Items of 1 ns each, and `claim` nanoseconds per claim.
        let size_after = |claim: f64, stretches: usize| {
            let mut now = Instant::now();
            let mut grain = Grain::new(Some(now), None, 1, false);
            let mut left = 1 << 30;
            for _ in 0..stretches {
                let Stretch { size, items, .. } = grain.stretch(left);
                left -= items;
                now += Duration::from_secs_f64((items as f64 + (items / size) as f64 * claim) * 1e-9);
                grain.end_stretch(left, now);
            }
            grain.stretch(left).size
        };
        assert_eq!(size_after(4.0, 20), 64);
        assert_eq!(size_after(0.5, 20), 8);
        let tried = (1..200).filter(|&stretches| size_after(0.5, stretches) == 64).count();
        assert!((2..=4).contains(&tried), "{tried} trials in 200 stretches");
    }

    #[test]
    fn blocks_of_64_are_tried_where_fewer_items_are_harmless() {
        let begin = Instant::now();
        let sizes = |harmless: usize, nanos: f32| {
            let (mut grain, mut now) = (Grain::new(Some(begin), Some(nanos), harmless, false), begin);
            let mut left = 1 << 30;
            let sizes = (0..4).map(|_| {
                let Stretch { size, items, .. } = grain.stretch(left);
                left -= items;
                now += Duration::from_secs_f32(items as f32 * nanos * 1e-9);
                grain.end_stretch(left, now);
                size
            });
            sizes.max()
        };
        assert_eq!([8, 16, 32].map(|harmless| sizes(harmless, 10.0)), [Some(64); 3]);
        assert_eq!(sizes(32, 50.0), Some(32), "items that take longer");
    }

    #[test]
    #[cfg_attr(miri, ignore = "long, and safe code on one thread")]
    fn nothing_else_is_claimed_in_larger_blocks() {
        for (nanos, size) in [(20.0, 8), (100.0, 8), (150.0, 1), (500.0, 1)] {
            let largest = (0..70).map(|stretches| after(stretches, 1 << 30, nanos).size).max();
            assert_eq!(largest, Some(size), "{nanos} ns");
        }
        let begin = Instant::now();
        let later = |nanos: f64| begin + Duration::from_secs_f64(nanos * 1e-9);
        // Single claims, however cheap items are.
        let mut grain = Grain::new(Some(begin), Some(0.1), 1, true);
        assert_eq!(grain.stretch(1 << 30).size, 1);
        grain.end_stretch(grain.left, later(1.0));
        assert_eq!(grain.stretch(1 << 30).size, 1);
        // Blocks of 64 are kept until items take longer.
        let faster = Grain {
            size: 64,
            claims: 10,
            large: Large::Faster(1.0),
            ..Grain::new(Some(begin), None, 1, false)
        };
        for (nanos, size) in [(0.2, 512), (0.9, 64), (1.1, 8), (200.0, 1)] {
            let mut grain = Grain { clock: Some(begin), ..faster };
            assert_eq!(grain.stretch(1 << 30).size, 64);
            grain.end_stretch(grain.left, later(grain.items as f64 * nanos));
            assert_eq!(grain.stretch(1 << 20).size, size, "{nanos} ns");
        }
    }

    #[test]
    fn harmless_blocks_are_claimed_to_the_end_until_items_take_longer() {
        let begin = Instant::now();
        let ends = |nanos: f64| begin + Duration::from_secs_f64(nanos * 1e-9);
        let new = |harmless| Grain::new(Some(begin), Some(4.0), harmless, false);
        for (harmless, first, in_tail) in [(512, 512, 512), (64, 64, 64), (8, 8, 8), (1, 8, 1)] {
            assert_eq!(new(harmless).stretch(1 << 20).size, first);
            let last = new(harmless).stretch(30);
            assert_eq!((last.size, last.items), (in_tail, 30), "{harmless}: one stretch");
        }
        for (pace, size) in [(5.0, 256), (40.0, 32), (300.0, 8), (320.0, 4), (1240.0, 2), (1260.0, 1)] {
            let mut grain = Grain::new(Some(begin), Some(pace), 512, false);
            assert_eq!(grain.stretch(1 << 20).size, size, "items have become dearer: {pace} ns");
        }
        assert_eq!(Grain::new(Some(begin), Some(4.0), 64, true).stretch(1 << 20).size, 1);
        for (each, next) in [(20.0, 64), (39.0, 64), (40.0, 32), (200.0, 8), (320.0, 4), (1260.0, 1)] {
            let mut grain = new(64);
            grain.stretch(1 << 20);
            grain.end_stretch(grain.left, ends(grain.items as f64 * each));
            assert_eq!(grain.stretch(1 << 20).size, next, "{each} ns");
        }
        let mut grain = new(512);
        grain.stretch(1 << 20);
        grain.end_stretch(grain.left / 2, ends(1e4));
        assert_eq!(grain.stretch(1 << 19).size, 1, "a theft");
    }

    #[test]
    fn stretches_last_some_microseconds() {
        for nanos in [0.2, 1.0, 2.0, 50.0, 300.0] {
            let Stretch { items, .. } = after(30, 1 << 30, nanos);
            let lasts = items as f64 * nanos;
            assert!((5_000.0..25_000.0).contains(&lasts), "{nanos} ns an item, {lasts} ns a stretch");
        }
        assert_eq!(after(30, 1 << 30, 1e6).items, 1);
    }

    #[test]
    fn blocks_end_before_the_tail() {
        for left in 1..5_000 {
            let mut grain = Grain {
                size: 64,
                claims: 1000,
                dear: false,
                ..Grain::new(Some(Instant::now()), None, 1, false)
            };
            let Stretch { size, items, full_fences, .. } = grain.stretch(left);
            assert!(!full_fences && items > 0 && items <= left);
            assert!(size == 1 || left - items >= TAIL, "{left} left");
        }
    }

    #[test]
    fn interference_makes_careful() {
        let now = Instant::now();
        let mut grain =
            Grain { size: 64, claims: 1000, dear: false, ..Grain::new(Some(now), None, 1, false) };
        let Stretch { items, .. } = grain.stretch(1 << 30);
        grain.end_stretch((1 << 29) - items, now);
        let next = grain.stretch(1 << 29);
        assert_eq!((next.size, next.items, next.full_fences), (1, FIRST_STRETCH, true));
    }

    #[test]
    fn what_has_become_twice_as_dear_is_dearer_once() {
        let mut now = Instant::now();
        let mut grain = Grain::new(Some(now), None, 1, true);
        let mut left = 1 << 30;
        let mut dearer = |nanos: f64| {
            let Stretch { items, .. } = grain.stretch(left);
            left -= items;
            now += Duration::from_secs_f64(items as f64 * nanos * 1e-9);
            grain.end_stretch(left, now);
            grain.is_dearer
        };
        assert!([300.0, 200.0, 390.0, 390.0].into_iter().all(|nanos| !dearer(nanos)));
        assert!(dearer(410.0), "twice the fastest");
        assert!(!dearer(410.0) && !dearer(800.0), "a new partial result has not helped");
        assert!(dearer(900.0));
        assert!(!dearer(200.0) && dearer(410.0), "it has");
    }
}
