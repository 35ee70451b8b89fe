//! Where the ranges of the next round begin: at boundaries of equal cost, as far as the last round of the same loop tells.
//!
//! An iterative algorithm runs the same slice again and again, so what an item cost last time is the best guess for this time.
//! Workers that start late, because they have to wake up first, are dealt less. With good boundaries nobody has to steal, and
//! the same items meet the same core. A hint: it decides who begins where, never what comes out.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use super::launch::{Estimate, Site, nanos};

/// Boundaries that are off by this part of a worker's work stay: to move one puts the balance at risk, since what single items
/// cost is not known, and a theft or two repair as much.
const GOOD_ENOUGH: f32 = 32.0;

/// Neighbouring items and what they took: the index of the first, and nanoseconds for all up to the next mark.
pub(crate) type Mark = (usize, f32);

/// What the shared loops of a pool have taught.
#[derive(Debug)]
pub(crate) struct Splits {
    /// Direct-mapped by loop and length.
    table: Box<[Option<Known>]>,
    /// How long after the start of a round each worker begins.
    delays: Box<[Estimate]>,
}

/// What is known of a loop over `len` items.
#[derive(Debug)]
struct Known {
    site: Site,
    len: usize,
    profile: Profile,
    /// Where the ranges of its workers meet.
    bounds: Box<[usize]>,
}

impl Splits {
    const SLOTS: usize = 64;

    pub(crate) fn new(workers: usize) -> Self {
        Self {
            table: (0..Self::SLOTS).map(|_| None).collect(),
            delays: (0..workers).map(|worker| Estimate::new(if worker == 0 { 1e3 } else { 20e3 })).collect(),
        }
    }

    fn slot(site: Site, len: usize) -> usize {
        site.mixed_with(len) % Self::SLOTS
    }

    fn known(&self, site: Site, items: &Range<usize>) -> Option<&Known> {
        let known = self.table[Self::slot(site, items.end)].as_ref();
        known.filter(|known| items.start == 0 && known.site == site && known.len == items.end)
    }

    /// What the last round has taught of the costs of `items`.
    pub(crate) fn profile(&self, site: Site, items: &Range<usize>) -> Option<&Profile> {
        self.known(site, items).map(|known| &known.profile)
    }

    /// The boundaries within `items` for that many workers: what the last round has taught, or else equal parts.
    pub(crate) fn bounds(&self, site: Site, items: &Range<usize>, workers: usize) -> Vec<usize> {
        let known = self.known(site, items).filter(|known| known.bounds.len() + 1 == workers);
        let (share, rest) = (items.len() / workers, items.len() % workers);
        let equal = || (1..workers).map(|worker| items.start + share * worker + rest.min(worker)).collect();
        known.map_or_else(equal, |known| known.bounds.to_vec())
    }

    /// Learns from a round over `0..len`: from what the items cost, in slice order, and from when each worker has begun, in
    /// nanoseconds; infinitely late, if it has not.
    pub(crate) fn learn(&mut self, site: Site, len: usize, marks: &[Mark], begun: &[f32]) {
        let round = marks.iter().map(|(_, nanos)| nanos).sum::<f32>();
        for (delay, &begun) in self.delays.iter().zip(begun) {
            // Who has not begun by the end is known only to be later than that.
            if begun.is_finite() || round > delay.get() {
                delay.see(begun);
            }
        }
        let profile = Profile::new(len, marks);
        let delays = || self.delays.iter().take(begun.len()).map(Estimate::get);
        // All should finish at the same moment.
        let finish = (profile.total() + delays().sum::<f32>()) / begun.len() as f32;
        let mut goal = 0.0;
        let goals: Vec<f32> = delays()
            .take(begun.len() - 1)
            .map(|delay| {
                goal += (finish - delay).max(0.0);
                goal
            })
            .collect();
        let off = |(&bound, goal): (&usize, &f32)| (profile.cost_before(bound) - goal).abs();
        let good = |bounds: &&Box<[usize]>| {
            bounds.len() == goals.len()
                && bounds.iter().zip(&goals).all(|pair| off(pair) <= finish / GOOD_ENOUGH)
        };
        let before = self.known(site, &(0..len)).map(|known| &known.bounds).filter(good);
        let bounds = match before {
            Some(bounds) => bounds.clone(),
            None => goals.iter().map(|&goal| profile.index_at(goal)).collect(),
        };
        self.table[Self::slot(site, len)] = Some(Known { site, len, profile, bounds });
    }
}

/// Records what a run costs, piece by piece.
#[derive(Debug)]
pub(crate) struct Pieces {
    begin: Instant,
    marks: Vec<Mark>,
    /// The current piece: where and when it began, and how long it has lasted at the last look.
    first: usize,
    since: Instant,
    lasted: Duration,
}

impl Pieces {
    /// A run that begins with item `first`.
    pub(crate) fn new(first: usize, begin: Instant) -> Self {
        Self { begin, marks: Vec::new(), first, since: begin, lasted: Duration::ZERO }
    }

    /// All items before `next` are done. A piece lasts a sixteenth of its run so far, so pieces are few, and short where the
    /// run is.
    pub(crate) fn look(&mut self, next: usize, now: Instant) {
        const SHORTEST: Duration = Duration::from_micros(4);
        self.lasted = now - self.since;
        if self.lasted >= SHORTEST.max((now - self.begin) / 16) {
            self.marks.push((self.first, nanos(self.lasted)));
            (self.first, self.since, self.lasted) = (next, now, Duration::ZERO);
        }
    }

    /// The run has ended: adds its marks to `marks`.
    pub(crate) fn end(self, marks: &mut Vec<Mark>) {
        let never_looked = self.marks.is_empty() && self.lasted.is_zero();
        let lasted = if never_looked { self.begin.elapsed() } else { self.lasted };
        marks.extend(self.marks);
        marks.push((self.first, nanos(lasted)));
    }
}

/// What the items up to an index cost, for some indices in order; in between, as if neighbours cost the same.
#[derive(Debug)]
pub(crate) struct Profile(Vec<(usize, f32)>);

impl Profile {
    fn new(len: usize, marks: &[Mark]) -> Self {
        let mut cost = 0.0;
        let mut knots = Vec::with_capacity(marks.len() + 1);
        for &(first, nanos) in marks {
            knots.push((first, cost));
            cost += nanos;
        }
        knots.push((len, cost));
        Self(knots)
    }

    fn total(&self) -> f32 {
        self.0.last().map_or(0.0, |&(_, cost)| cost)
    }

    /// The index up to which the items cost `goal`.
    fn index_at(&self, goal: f32) -> usize {
        match self.0.partition_point(|&(_, cost)| cost <= goal) {
            0 => 0,
            last if last == self.0.len() => self.0[last - 1].0,
            next => {
                let ((low, before), (high, after)) = (self.0[next - 1], self.0[next]);
                low + ((high - low) as f32 * ((goal - before) / (after - before))).round() as usize
            }
        }
    }

    /// The item of `items` in the middle of their cost; the first, if all of them are hardly worth a theft.
    pub(crate) fn middle(&self, items: Range<usize>) -> usize {
        const NOT_WORTH_TWO_THEFTS: f32 = 10e3;
        let (before, after) = (self.cost_before(items.start), self.cost_before(items.end));
        if after - before < NOT_WORTH_TWO_THEFTS {
            return items.start;
        }
        self.index_at((before + after) / 2.0).clamp(items.start, items.end - 1)
    }

    /// What the items before `index` cost.
    fn cost_before(&self, index: usize) -> f32 {
        match self.0.partition_point(|&(first, _)| first <= index) {
            0 => 0.0,
            last if last == self.0.len() => self.total(),
            next => {
                let ((low, before), (high, after)) = (self.0[next - 1], self.0[next]);
                before + (after - before) * ((index - low) as f32 / (high - low) as f32)
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::new(site as *const ())
    }

    #[test]
    fn an_unknown_loop_is_split_into_equal_parts() {
        let splits = Splits::new(3);
        assert_eq!(splits.bounds(site(), &(0..10), 3), [4, 7]);
        assert_eq!(splits.bounds(site(), &(5..10), 2), [8]);
        assert_eq!(splits.bounds(site(), &(0..2), 2), [1]);
    }

    #[test]
    fn boundaries_are_where_the_cost_is_equal() {
        let marks = [(0, 10.0), (10, 90.0), (20, 0.0), (80, 100.0)];
        let profile = Profile::new(100, &marks);
        for (goal, bound) in
            [(0.0, 0), (5.0, 5), (10.0, 10), (55.0, 15), (100.0, 80), (150.0, 90), (500.0, 100)]
        {
            assert_eq!(profile.index_at(goal), bound, "{goal}");
            if goal != 100.0 && goal != 500.0 {
                assert_eq!(profile.cost_before(bound), goal);
            }
        }
    }

    #[test]
    fn the_next_round_begins_where_the_last_was_balanced() {
        let mut splits = Splits::new(2);
        // Worth 80 ms, three quarters of them in the last fifth of the slice; nobody's delay matters.
        splits.learn(site(), 1000, &[(0, 20e6), (800, 60e6)], &[0.0, 0.0]);
        let bounds = splits.bounds(site(), &(0..1000), 2);
        assert!((866..=868).contains(&bounds[0]), "{bounds:?}");
        assert_eq!(splits.bounds(site(), &(1..1000), 2), [501], "not the same loop");
        assert_eq!(splits.bounds(site(), &(0..999), 2), [500], "not the same length");
    }

    #[test]
    fn who_comes_late_is_dealt_less() {
        let mut splits = Splits::new(2);
        for _ in 0..100 {
            splits.learn(site(), 1000, &[(0, 100e3)], &[1e3, 21e3]);
        }
        let bounds = splits.bounds(site(), &(0..1000), 2);
        assert!((580..=620).contains(&bounds[0]), "{bounds:?}");
        for _ in 0..1000 {
            splits.learn(site(), 1000, &[(0, 100e3)], &[1e3, f32::INFINITY]);
        }
        let bounds = splits.bounds(site(), &(0..1000), 2);
        assert!((950..=1000).contains(&bounds[0]), "who never comes is dealt hardly anything: {bounds:?}");
    }
}
