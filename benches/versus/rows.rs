//! The rows of the groups with letters, except thefts and idle pools, and their targets.

use rangesteal::Pool;

use crate::{
    burner,
    loops::{AllBelow, Any, Ballot, ByKey, Count, First, Items, Results, Sorted, Sum},
    machine, offsets,
    race::Race,
    random::Random,
    rival::Loop,
    row::{Cell, Row, Unit},
    runner::Runner,
    table::Table,
    trips,
    turn::Pace,
    who::{MANY, Who},
    work::links,
};

const MILLI: u64 = 1_000_000;

/// Measures rows and adds them to the table.
pub(crate) struct Rows<'p> {
    pub(crate) pool: &'p Pool,
    pub(crate) runner: Runner,
    pub(crate) table: Table,
    /// The group that is being measured.
    pub(crate) group: &'static str,
}

impl Rows<'_> {
    fn push(&mut self, row: Row) {
        self.table.push(self.group, row);
    }

    pub(crate) fn extend(&mut self, rows: Vec<Row>) {
        for row in rows {
            self.push(row);
        }
    }

    pub(crate) fn group_of(&mut self, rows: impl FnOnce(&Pool, &mut Runner) -> Vec<Row>) {
        let rows = rows(self.pool, &mut self.runner);
        self.extend(rows);
    }

    fn race(&mut self, entrants: &[Who], pace: Pace, lap: &impl Loop) -> Race {
        self.runner.race(self.pool, entrants, pace, lap)
    }

    /// A row of the ratios of all entrants to the plain loop.
    fn ratios(&mut self, name: &str, bar: f64, pace: Pace, lap: &impl Loop) {
        let race = self.race(&self.runner.everybody(), pace, lap);
        self.push(Row::of(&race, name, Unit::Ratio, Some(bar)));
    }

    /// The row of ratios, and a row of ratios to the fastest plain form.
    fn both_ratios(&mut self, name: &str, bar: f64, pace: Pace, lap: &impl Loop) {
        let race = self.race(&[self.runner.everybody(), vec![Who::Fastest]].concat(), pace, lap);
        self.push(Row::of(&race, name, Unit::Ratio, Some(bar)));
        let race = race.relative_to(Who::Fastest);
        self.push(Row::of(&race, format!("{name}: to the fastest plain form"), Unit::Ratio, Some(bar)));
    }

    /// The two rows of ratios. The target of both rows follows from the time of two threads of
    /// rayon that each run one half of the slice. That time is the limit that memory bandwidth
    /// sets.
    fn beside_halves(&mut self, name: &str, bar: impl Fn(f64) -> f64, lap: &impl Loop) -> Race {
        let entrants = [self.runner.everybody(), vec![Who::Fastest, Who::Halves]].concat();
        let race = self.race(&entrants, Pace::ONCE, lap);
        let row = |race: &Race, form: &str| {
            let halves = race.ratio(Who::Halves).0;
            let name = format!("{name}{form} (halves: {halves:.3})");
            Row::of(race, name, Unit::Ratio, Some(bar(halves)))
        };
        self.push(row(&race, ""));
        let race = race.relative_to(Who::Fastest);
        self.push(row(&race, ": to the fastest plain form"));
        race.relative_to(Who::Plain)
    }

    /// The worst and the best of slices with different offsets in a cache line.
    fn offsets<L: Loop>(&mut self, name: &str, bar: f64, pace: Pace, lap: impl Fn(usize) -> L) {
        let rows = offsets::rows(self.pool, &mut self.runner, name, bar, pace, lap);
        self.extend(rows);
    }

    pub(crate) fn starting(&mut self) {
        for (name, pace, bar) in [
            ("2 items, back to back: more than plain", Pace::calls(1000), 60.0),
            ("2 items, 20 µs between: more than plain", Pace::apart(100, links(20_000)), 200.0),
            ("2 items, 50 µs between: more than plain", Pace::apart(50, links(50_000)), 200.0),
            ("2 items, 1 ms between: more than plain", Pace::apart(10, links(MILLI)), 200.0),
        ] {
            let race = self.race(&self.runner.everybody(), pace, &Sum(&[1, 2]));
            self.push(Row::of(&race, name, Unit::Nanos, Some(bar)));
        }
    }

    pub(crate) fn cache(&mut self) {
        let (len, numbers) = (16_384, offsets::buffer(16_384, 0_u64..));
        let (name, bar, pace) = ("sum of 16k u64 in cache", 1.06, Pace::calls(10));
        self.both_ratios(name, bar, pace, &Sum(offsets::at(&numbers, 0, len)));
        self.offsets(name, bar, pace, |bytes| Sum(offsets::at(&numbers, bytes, len)));
    }

    pub(crate) fn memory(&mut self) {
        let numbers: Vec<u64> = (0..10_000_000).collect();
        let race = self.beside_halves("sum of 10M u64 from memory", |halves| 1.05 * halves, &Sum(&numbers));
        let mut cpu = Row::of(&race, "the same: CPU time", Unit::Ratio, Some(1.15));
        for (who, cell) in &mut cpu.cells {
            *cell = Cell::of(race.cpu(*who));
        }
        self.push(cpu);
    }

    pub(crate) fn even(&mut self) {
        self.ratios("40k items of 100 ns", 0.51, Pace::ONCE, &Items::even(40_000, 100));
    }

    pub(crate) fn slopes(&mut self) {
        for (millis, pace) in [(5, Pace::ONCE), (200, Pace::LONG)] {
            let nanos = millis * MILLI;
            let name = format!("1.5k items, cost growing, {millis} ms");
            self.ratios(&name, 0.51, pace, &Items::growing(1500, nanos));
            let name = format!("1.5k items, cost falling, {millis} ms");
            self.ratios(&name, 0.51, pace, &Items::falling(1500, nanos));
        }
    }

    pub(crate) fn heavy_runs(&mut self) {
        for (place, first) in [("start", 0), ("third", 3333), ("odd place", 7001), ("end", 9936)] {
            let name = format!("10k trivial, 64 of 50 µs in a row at {place}");
            self.ratios(&name, 0.52, Pace::ONCE, &Items::heavy(10_000, first, 64, 50_000));
        }
        let items = Items::heavy(10_000, 3333, 64, 2 * MILLI);
        self.ratios("10k trivial, 64 of 2 ms in a row at third", 0.505, Pace::LONG, &items);
        let items = Items::heavy(100_000, 61_234, 16, 200_000);
        self.ratios("100k trivial, 16 of 200 µs in a row", 0.60, Pace::ONCE, &items);
    }

    pub(crate) fn one(&mut self) {
        let items = Items::one(1001, 0, 2 * MILLI);
        self.ratios("first of 1001 as heavy as the others", 0.52, Pace::ONCE, &items);
        for at in [300, 500, 900] {
            let name = format!("item {at} of 1001 as heavy as the others");
            self.ratios(&name, 0.53, Pace::ONCE, &Items::one(1001, at, 20 * MILLI));
        }
    }

    pub(crate) fn ballots(&mut self) {
        let ballots = Ballot::list();
        let race = self.race(&self.runner.everybody(), Pace::ONCE, &Count(&ballots));
        let peers = race.others().filter(|who| *who != Who::Rangesteal);
        let bar = peers.map(|who| race.ratio(who).0).fold(0.54, f64::min); // no peer may be faster
        self.push(Row::of(&race, "4k ballots of BigUint, 20 candidates", Unit::Ratio, Some(bar)));
    }

    pub(crate) fn results(&mut self) {
        let (len, numbers, links) = (300_000, offsets::buffer(300_000, 0_u64..), links(7));
        let (name, bar) = ("collect of 300k results in order", 0.515);
        let lap = |bytes| Results { numbers: offsets::at(&numbers, bytes, len), links };
        self.both_ratios(name, bar, Pace::ONCE, &lap(0));
        self.offsets(name, bar, Pace::ONCE, lap);
    }

    /// Loops of several lengths in a program, with serial work between them or back to back.
    pub(crate) fn lengths(&mut self) {
        let delay = machine::start_delay(&self.runner.mask);
        // The last bars are those of helpers that are awake when the loop comes.
        let loops = [(1, 1.23), (3, 1.10), (10, 0.85), (20, 0.68), (40, 0.60), (100, 0.56), (300, 0.54)];
        for (micros, bar) in loops {
            let name = format!("loop of {micros} µs, 20 µs between (wake-up: {:.0} µs)", delay / 1e3);
            self.length(&name, micros, Pace::in_a_program(), bar);
        }
        // Helpers sleep between these loops.
        for (between, pause) in [("200 µs", 200), ("1 ms", 1000)] {
            for micros in [40, 300] {
                let (plain, name) =
                    (f64::from(micros) * 1e3, format!("loop of {micros} µs, {between} between"));
                let shared = f64::midpoint(plain, delay) * 1.08 / plain;
                let pace = Pace::apart(20, links(pause * 1000));
                self.length(&name, micros, pace, shared.min(1.03 + 200.0 / plain));
            }
        }
        for (micros, bar) in [(20, 0.64), (42, 0.56), (300, 0.54)] {
            let calls = 8000 / micros;
            self.length(&format!("loop of {micros} µs, back to back"), micros, Pace::calls(calls), bar);
        }
        self.close_lengths();
    }

    /// Loops of some microseconds that follow each other so closely that helpers stay awake. Half
    /// of such a loop takes a few one-way times between the CPUs, so where these are slow, the
    /// loop may only not take longer than the plain loop.
    fn close_lengths(&mut self) {
        const SLOW_NANOS: f64 = 150.0;
        let (one_way, _) = trips::mood(&self.runner);
        let loops = [(2, 0.95), (3, 0.80), (5, 0.68), (10, 0.56), (30, 0.52), (100, 0.51)];
        for (micros, bar) in loops {
            let bar = if one_way < SLOW_NANOS { bar } else { 1.03 };
            let measured = format!("({one_way:.0} ns one way)");
            let name = format!("loop of {micros} µs, back to back {measured}");
            self.length(&name, micros, Pace::calls(8000 / micros), bar);
            let name = format!("loop of {micros} µs, 5 µs between {measured}");
            self.length(&name, micros, Pace::apart(2000 / micros.max(5), links(5_000)), bar);
        }
    }

    fn length(&mut self, name: &str, micros: u32, pace: Pace, bar: f64) {
        let race = self.race(&self.runner.everybody(), pace, &Items::short(u64::from(micros) * 1000));
        self.push(Row::of(&race, name, Unit::Ratio, Some(bar)));
    }

    pub(crate) fn taken_core(&mut self) {
        for (millis, pace) in [(5, Pace::ONCE), (200, Pace::LONG)] {
            let burner = burner::start(&self.runner.mask);
            let items = Items::growing(1500, millis * MILLI);
            let race = self.race(&[Who::Rayon, Who::Rangesteal, Who::Unpinned], pace, &items);
            drop(burner);
            for (i, pinning) in ["pinned", "unpinned"].into_iter().enumerate() {
                let name = format!("e, {millis} ms, a core taken, {pinning}: to rayon");
                let mut row = Row::of(&race, name, Unit::Ratio, Some(1.1));
                row.cells = vec![row.cells[i].clone()];
                self.push(row);
            }
        }
    }

    pub(crate) fn many_threads(&mut self) {
        fn row(rows: &mut Rows<'_>, name: &str, lap: &impl Loop) {
            let name = format!("{MANY} threads, {name}: to {} threads", rows.runner.threads);
            let race = rows.race(&[Who::Rangesteal, Who::Many, Who::ManyRayon], Pace::ONCE, lap);
            rows.push(Row::of(&race, name, Unit::Ratio, Some(1.1)));
        }
        row(self, "d", &Items::even(40_000, 100));
        row(self, "e growing, 5 ms", &Items::growing(1500, 5 * MILLI));
        row(self, "f at third", &Items::heavy(10_000, 3333, 64, 50_000));
        row(self, "g", &Items::one(1001, 0, 2 * MILLI));
        row(self, "h", &Count(&Ballot::list()));
    }

    pub(crate) fn spinning(&mut self) {
        let entrants = [Who::Plain, Who::Spinning];
        let numbers: Vec<u64> = (0..16_384).collect();
        let race = self.race(&entrants, Pace::calls(10), &Sum(&numbers));
        self.push(Row::of(&race, "spinning, b", Unit::Ratio, Some(0.8)));
        for micros in [10, 20, 40, 100, 300] {
            let race = self.race(&entrants, Pace::in_a_program(), &Items::short(micros * 1000));
            self.push(Row::of(&race, format!("spinning, j, {micros} µs"), Unit::Ratio, Some(0.6)));
        }
    }

    pub(crate) fn searches(&mut self) {
        let numbers: Vec<u32> = (0..8_000_000).collect();
        let (numbers, len) = (&numbers[..], numbers.len() as u32);
        let middle = [len / 2];
        let everywhere: Vec<u32> = (0..16).map(|i| (2 * (i * 7 % 16) + 1) * (len / 32)).collect();
        self.both_ratios("first in 8M u32, middle", 0.6, Pace::ONCE, &First::equal(numbers, &middle));
        let buffer = offsets::buffer(numbers.len(), 0_u32..);
        self.offsets("first in 8M u32, middle", 0.6, Pace::ONCE, |bytes| {
            First::equal(offsets::at(&buffer, bytes, numbers.len()), &middle)
        });
        self.both_ratios("first in 8M u32, 16 places", 0.6, Pace::LONG, &First::equal(numbers, &everywhere));
        let race = self.race(&self.runner.everybody(), Pace::calls(1000), &First::equal(numbers, &[3]));
        let name = "first in 8M u32, fourth: more than plain";
        self.push(Row::of(&race, name, Unit::Nanos, Some(60.0)));
        let lap = First::as_large(&numbers[..20_000], &[15_000], links(100));
        self.ratios("first of 20k items of 100 ns, from 3/4 on", 0.55, Pace::ONCE, &lap);
        // If a rival divides the slice into halves, it finds the first place at once, and the
        // second place last.
        for (place, wanted) in [("middle", middle), ("one before the middle", [len / 2 - 1])] {
            let lap = Any { numbers, wanted: &wanted };
            self.both_ratios(&format!("any in 8M u32, {place}"), 0.6, Pace::ONCE, &lap);
        }
        let lap = Any { numbers, wanted: &everywhere };
        self.both_ratios("any in 8M u32, 16 places", 0.6, Pace::LONG, &lap);
        self.beside_halves("all of 8M u32", |halves| (1.05 * halves).max(0.6), &AllBelow(numbers, len));
    }

    pub(crate) fn sorts(&mut self) {
        let random = |len: u32| {
            let mut random = Random::default();
            (0..len).map(move |_| random.draw())
        };
        self.ratios("sort of 10M random u32", 0.65, Pace::LONG, &Sorted::new(random(10_000_000)));
        self.ratios("sort of 100k random u32", 0.75, Pace::ONCE, &Sorted::new(random(100_000)));
        for (len, count) in [(100_000, "100k"), (1_000_000, "1M")] {
            let pace = Pace::apart(5, 0); // these rows are short
            self.ratios(&format!("sort of {count} u32 in order"), 1.05, pace, &Sorted::new(0..len));
            let reversed = Sorted::new((0..len).rev());
            self.ratios(&format!("sort of {count} u32 in reverse order"), 1.05, pace, &reversed);
            let keys = ByKey::new(random(len).map(|x| x % 100));
            self.ratios(&format!("sort of {count} u32 by 100 keys"), 1.05, Pace::ONCE, &keys);
        }
        let strings = Sorted::new(random(100_000).map(|x| format!("{x:x}")));
        self.ratios("sort of 100k random strings", 1.05, Pace::ONCE, &strings);
    }

    pub(crate) fn reports(&mut self) {
        let race = self.race(&[Who::Rangesteal, Who::Reporting], Pace::ONCE, &Items::even(40_000, 100));
        self.push(Row::of(&race, "d with a report: to d without", Unit::Ratio, Some(1.01)));
        let mut traced = |name, lap: &Items| {
            let race = self.race(&[Who::Rangesteal, Who::Tracing], Pace::ONCE, lap);
            let name = format!("{name} with a trace: to {name} without");
            self.push(Row::of(&race, name, Unit::Ratio, Some(1.02)));
        };
        traced("d", &Items::even(40_000, 100));
        traced("e growing", &Items::growing(1500, 5 * MILLI));
        traced("f at third", &Items::heavy(10_000, 3333, 64, 50_000));
    }
}
