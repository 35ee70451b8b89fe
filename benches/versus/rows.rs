//! The rows of the table, and the bars that were set for them.

use std::{
    env,
    io::{Read, stdin},
    process::{Child, Command, Stdio, exit},
    thread,
};

use rangesteal::Pool;

use crate::{
    idle,
    loops::{Ballot, Count, Items, Results, Sum},
    machine,
    race::Race,
    random::Random,
    runner::{MANY, Runner, Who},
    search::{AllBelow, Any, First},
    sort::{ByKey, Sorted},
    table::{Row, Table, Unit},
    thefts,
    turn::{Loop, Pace},
    work::{links, work},
};

/// Measures the rows with these letters, or all.
pub(crate) fn run<'p>(pool: &'p Pool, runner: Runner, letters: &[char]) -> Table {
    let mut foreign = vec![("rangesteal", env!("CARGO_PKG_VERSION").to_owned())];
    foreign.extend(runner.openmp.as_ref().map(|peer| ("OpenMP", peer.version.clone())));
    foreign.extend(runner.tbb.as_ref().map(|peer| ("oneTBB", peer.version.clone())));
    let table = Table {
        columns: runner.columns(),
        threads: runner.threads,
        cpus: machine::cpus(&runner.mask).len(),
        foreign,
        rows: Vec::new(),
    };
    table.print_head(runner.rounds);
    let mut rows = Rows { pool, runner, table };
    let groups: [(char, Group<'p>); 18] = [
        ('a', Rows::starting),
        ('b', Rows::cache),
        ('c', Rows::memory),
        ('d', Rows::even),
        ('e', Rows::slopes),
        ('f', Rows::heavy_runs),
        ('g', Rows::first),
        ('h', Rows::ballots),
        ('i', Rows::results),
        ('j', Rows::lengths),
        ('k', Rows::thefts),
        ('l', Rows::idle),
        ('m', Rows::taken_core),
        ('n', Rows::many_threads),
        ('o', Rows::spinning),
        ('p', Rows::searches),
        ('q', Rows::sorts),
        ('r', Rows::reports),
    ];
    for (letter, group) in groups {
        if letters.is_empty() || letters.contains(&letter) {
            group(&mut rows);
        }
    }
    rows.table
}

/// Measures the rows of a letter.
type Group<'p> = fn(&mut Rows<'p>);

const MILLI: u64 = 1_000_000;

struct Rows<'p> {
    pool: &'p Pool,
    runner: Runner,
    table: Table,
}

impl Rows<'_> {
    fn race(&mut self, entrants: &[Who], pace: Pace, lap: &impl Loop) -> Race {
        self.runner.race(self.pool, entrants, pace, lap)
    }

    /// The plain loop and all columns.
    fn everybody(&self) -> Vec<Who> {
        [&[Who::Plain], &self.table.columns[..]].concat()
    }

    /// A row of everybody's ratios to the plain loop.
    fn ratios(&mut self, letter: char, name: &str, bar: f64, pace: Pace, lap: &impl Loop) {
        let race = self.race(&self.everybody(), pace, lap);
        self.table.push(Row::of(&race, letter, name, Unit::Ratio, Some(bar)));
    }

    /// A race of everybody, and the ratio of halves to the plain loop: what memory bandwidth allows.
    fn beside_halves(&mut self, lap: &impl Loop) -> (Race, f64) {
        let race = self.race(&[self.everybody(), vec![Who::Halves]].concat(), Pace::ONCE, lap);
        let halves = race.ratio(Who::Halves).0;
        (race, halves)
    }

    fn starting(&mut self) {
        for (name, pace, bar) in [
            ("2 items, back to back: more than plain", Pace::calls(1000), 60.0),
            ("2 items, 20 µs between: more than plain", Pace::apart(100, links(20_000)), 200.0),
            ("2 items, 50 µs between: more than plain", Pace::apart(50, links(50_000)), 200.0),
            ("2 items, 1 ms between: more than plain", Pace::apart(10, links(MILLI)), 200.0),
        ] {
            let race = self.race(&self.everybody(), pace, &Sum(&[1, 2]));
            self.table.push(Row::of(&race, 'a', name, Unit::Nanos, Some(bar)));
        }
    }

    fn cache(&mut self) {
        let numbers: Vec<u64> = (0..16_384).collect();
        self.ratios('b', "sum of 16k u64 in cache", 1.06, Pace::calls(10), &Sum(&numbers));
    }

    fn memory(&mut self) {
        let numbers: Vec<u64> = (0..10_000_000).collect();
        let (race, halves) = self.beside_halves(&Sum(&numbers));
        let name = format!("sum of 10M u64 from memory (halves: {halves:.3})");
        let row = Row::of(&race, 'c', name, Unit::Ratio, Some(1.05 * halves));
        let mut cpu = Row::of(&race, 'c', "the same: CPU time", Unit::Ratio, Some(1.15));
        for (who, cell) in &mut cpu.cells {
            (cell.figure, cell.least, cell.cost) = (race.cpu(*who), None, None);
        }
        self.table.push(row);
        self.table.push(cpu);
    }

    fn even(&mut self) {
        self.ratios('d', "40k items of 100 ns", 0.51, Pace::ONCE, &Items::even(40_000, 100));
    }

    fn slopes(&mut self) {
        for (millis, pace) in [(5, Pace::ONCE), (200, Pace::LONG)] {
            let nanos = millis * MILLI;
            let name = format!("1.5k items, cost growing, {millis} ms");
            self.ratios('e', &name, 0.51, pace, &Items::growing(1500, nanos));
            let name = format!("1.5k items, cost falling, {millis} ms");
            self.ratios('e', &name, 0.51, pace, &Items::falling(1500, nanos));
        }
    }

    fn heavy_runs(&mut self) {
        for (place, first) in [("start", 0), ("third", 3333), ("odd place", 7001), ("end", 9936)] {
            let name = format!("10k trivial, 64 of 50 µs in a row at {place}");
            self.ratios('f', &name, 0.52, Pace::ONCE, &Items::heavy(10_000, first, 64, 50_000));
        }
        let items = Items::heavy(10_000, 3333, 64, 2 * MILLI);
        self.ratios('f', "10k trivial, 64 of 2 ms in a row at third", 0.505, Pace::LONG, &items);
        let items = Items::heavy(100_000, 61_234, 16, 200_000);
        self.ratios('f', "100k trivial, 16 of 200 µs in a row", 0.60, Pace::ONCE, &items);
    }

    fn first(&mut self) {
        self.ratios(
            'g',
            "first of 1001 as heavy as the others",
            0.52,
            Pace::ONCE,
            &Items::first(1001, 2 * MILLI),
        );
    }

    fn ballots(&mut self) {
        let ballots = Ballot::list();
        let race = self.race(&self.everybody(), Pace::ONCE, &Count(&ballots));
        let peers = race.others().filter(|who| *who != Who::Rangesteal);
        let bar = peers.map(|who| race.ratio(who).0).fold(0.54, f64::min); // no peer may be faster
        self.table.push(Row::of(&race, 'h', "4k ballots of BigUint, 20 candidates", Unit::Ratio, Some(bar)));
    }

    fn results(&mut self) {
        let numbers: Vec<u64> = (0..300_000).collect();
        self.ratios(
            'i',
            "collect of 300k results in order",
            0.515,
            Pace::ONCE,
            &Results { numbers: &numbers, links: links(7) },
        );
    }

    fn lengths(&mut self) {
        let delay = machine::start_delay(&self.runner.mask);
        for micros in [1, 3, 10, 20, 40, 100, 300] {
            let race = self.race(&self.everybody(), in_a_program(), &short(micros));
            let plain = race.nanos();
            let mut bar = 1.03 + 200.0 / plain;
            if plain > 3.0 * delay {
                bar = bar.min(f64::midpoint(plain, delay) * 1.08 / plain);
            }
            let name = format!("loop of {micros} µs, 20 µs between (wake-up: {:.0} µs)", delay / 1e3);
            self.table.push(Row::of(&race, 'j', name, Unit::Ratio, Some(bar)));
        }
    }

    fn thefts(&mut self) {
        for row in thefts::rows(&self.runner) {
            self.table.push(row);
        }
    }

    fn idle(&mut self) {
        for row in idle::rows(&self.runner) {
            self.table.push(row);
        }
    }

    fn taken_core(&mut self) {
        for (millis, pace) in [(5, Pace::ONCE), (200, Pace::LONG)] {
            let burner = Burner::start(*machine::cpus(&self.runner.mask).last().expect("a CPU"));
            let items = Items::growing(1500, millis * MILLI);
            let race = self.race(&[Who::Rayon, Who::Rangesteal, Who::Unpinned], pace, &items);
            drop(burner);
            for (i, pinning) in ["pinned", "unpinned"].into_iter().enumerate() {
                let name = format!("e, {millis} ms, a core taken, {pinning}: to rayon");
                let mut row = Row::of(&race, 'm', name, Unit::Ratio, Some(1.1));
                row.cells = vec![row.cells[i].clone()];
                self.table.push(row);
            }
        }
    }

    fn many_threads(&mut self) {
        fn row(rows: &mut Rows<'_>, name: &str, lap: &impl Loop) {
            let name = format!("{MANY} threads, {name}: to {} threads", rows.runner.threads);
            let race = rows.race(&[Who::Rangesteal, Who::Many, Who::ManyRayon], Pace::ONCE, lap);
            rows.table.push(Row::of(&race, 'n', name, Unit::Ratio, Some(1.1)));
        }
        row(self, "d", &Items::even(40_000, 100));
        row(self, "e growing, 5 ms", &Items::growing(1500, 5 * MILLI));
        row(self, "f at third", &Items::heavy(10_000, 3333, 64, 50_000));
        row(self, "g", &Items::first(1001, 2 * MILLI));
        row(self, "h", &Count(&Ballot::list()));
    }

    fn spinning(&mut self) {
        let entrants = [Who::Plain, Who::Spinning];
        let numbers: Vec<u64> = (0..16_384).collect();
        let race = self.race(&entrants, Pace::calls(10), &Sum(&numbers));
        self.table.push(Row::of(&race, 'o', "spinning, b", Unit::Ratio, Some(0.8)));
        for micros in [10, 20, 40, 100, 300] {
            let race = self.race(&entrants, in_a_program(), &short(micros));
            self.table.push(Row::of(&race, 'o', format!("spinning, j, {micros} µs"), Unit::Ratio, Some(0.6)));
        }
    }

    fn searches(&mut self) {
        let numbers: Vec<u32> = (0..8_000_000).collect();
        let len = numbers.len() as u32;
        let middle = [len / 2];
        let everywhere: Vec<u32> = (0..16).map(|i| (2 * (i * 7 % 16) + 1) * (len / 32)).collect();
        self.ratios('p', "first in 8M u32, middle", 0.6, Pace::ONCE, &First::equal(&numbers, &middle));
        self.ratios('p', "first in 8M u32, 16 places", 0.6, Pace::LONG, &First::equal(&numbers, &everywhere));
        let race = self.race(&self.everybody(), Pace::calls(1000), &First::equal(&numbers, &[3]));
        let name = "first in 8M u32, fourth: more than plain";
        self.table.push(Row::of(&race, 'p', name, Unit::Nanos, Some(60.0)));
        let lap = First::as_large(&numbers[..20_000], &[15_000], links(100));
        self.ratios('p', "first of 20k items of 100 ns, from 3/4 on", 0.55, Pace::ONCE, &lap);
        // Whoever deals out halves meets the one at once, and the other last.
        for (place, wanted) in [("middle", middle), ("one before the middle", [len / 2 - 1])] {
            let lap = Any { numbers: &numbers, wanted: &wanted };
            self.ratios('p', &format!("any in 8M u32, {place}"), 0.6, Pace::ONCE, &lap);
        }
        let lap = Any { numbers: &numbers, wanted: &everywhere };
        self.ratios('p', "any in 8M u32, 16 places", 0.6, Pace::LONG, &lap);
        let (race, halves) = self.beside_halves(&AllBelow(&numbers, len));
        let name = format!("all of 8M u32 (halves: {halves:.3})");
        self.table.push(Row::of(&race, 'p', name, Unit::Ratio, Some((1.05 * halves).max(0.6))));
    }

    fn sorts(&mut self) {
        let random = |len: u32| {
            let mut random = Random::default();
            (0..len).map(move |_| random.draw())
        };
        self.ratios('q', "sort of 10M random u32", 0.65, Pace::LONG, &Sorted::new(random(10_000_000)));
        self.ratios('q', "sort of 100k random u32", 0.75, Pace::ONCE, &Sorted::new(random(100_000)));
        for (len, count) in [(100_000, "100k"), (1_000_000, "1M")] {
            let pace = Pace::apart(5, 0); // these are short
            self.ratios('q', &format!("sort of {count} u32 in order"), 1.05, pace, &Sorted::new(0..len));
            let reversed = Sorted::new((0..len).rev());
            self.ratios('q', &format!("sort of {count} u32 in reverse order"), 1.05, pace, &reversed);
            let keys = ByKey::new(random(len).map(|x| x % 100));
            self.ratios('q', &format!("sort of {count} u32 by 100 keys"), 1.05, Pace::ONCE, &keys);
        }
        let strings = Sorted::new(random(100_000).map(|x| format!("{x:x}")));
        self.ratios('q', "sort of 100k random strings", 1.05, Pace::ONCE, &strings);
    }

    fn reports(&mut self) {
        let race = self.race(&[Who::Rangesteal, Who::Reporting], Pace::ONCE, &Items::even(40_000, 100));
        self.table.push(Row::of(&race, 'r', "d with a report: to d without", Unit::Ratio, Some(1.01)));
        let mut traced = |name, lap: &Items| {
            let race = self.race(&[Who::Rangesteal, Who::Tracing], Pace::ONCE, lap);
            let name = format!("{name} with a trace: to {name} without");
            self.table.push(Row::of(&race, 'r', name, Unit::Ratio, Some(1.02)));
        };
        traced("d", &Items::even(40_000, 100));
        traced("e growing", &Items::growing(1500, 5 * MILLI));
        traced("f at third", &Items::heavy(10_000, 3333, 64, 50_000));
    }
}

/// How loops of some microseconds are called: again and again, with 20 µs of serial work between.
fn in_a_program() -> Pace {
    Pace::apart(20, links(20_000))
}

/// A loop of so many microseconds, of equal items of 10 ns or more.
fn short(micros: u64) -> Items {
    let len = (micros * 100).min(1000);
    Items::even(len as usize, micros * 1000 / len)
}

/// Another process that takes a CPU away. It ends when its standard input does, thus with this process at the latest.
struct Burner(Child);

impl Burner {
    fn start(cpu: usize) -> Self {
        let mut command = Command::new(env::current_exe().expect("the name of this program"));
        command.args(["burn", &cpu.to_string()]).stdin(Stdio::piped());
        Self(command.spawn().expect("this program again"))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("the end of a child");
    }
}

/// What that process does.
pub(crate) fn burn(cpu: usize) {
    thread::spawn(|| {
        let _ = stdin().read_to_end(&mut Vec::new());
        exit(0);
    });
    machine::pin(cpu);
    loop {
        std::hint::black_box(work(1_000_000));
    }
}
