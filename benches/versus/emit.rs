//! Loops that keep some of the items, or make several results per item.

use std::{
    hint::black_box,
    iter, mem,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use rangesteal::Pool;

use crate::{
    random::Random,
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

/// Keeps the numbers below a limit.
struct Below<'a>(&'a [u32], u32);

impl Loop for Below<'_> {
    type Output = Vec<u32>;

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<u32>> {
        let &Self(numbers, limit) = black_box(self);
        rival.keep(numbers, |x| *x < limit)
    }
}

/// Partitions the numbers into two vectors, by a limit.
struct Sides<'a>(&'a [u32], u32);

impl Loop for Sides<'_> {
    type Output = (Vec<u32>, Vec<u32>);

    fn run(&self, rival: &mut impl Rival) -> Option<(Vec<u32>, Vec<u32>)> {
        let &Self(numbers, limit) = black_box(self);
        rival.part(numbers, |x| *x < limit)
    }
}

/// Makes two numbers per item, for two vectors.
struct Both<'a>(&'a [u32]);

impl Loop for Both<'_> {
    type Output = (Vec<u64>, Vec<u32>);

    fn run(&self, rival: &mut impl Rival) -> Option<(Vec<u64>, Vec<u32>)> {
        rival.both(black_box(self.0), |x| (3 * u64::from(*x), x >> 1))
    }
}

/// Makes 0 to 7 numbers per item.
struct Several<'a>(&'a [u32]);

impl Loop for Several<'_> {
    type Output = Vec<u32>;

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<u32>> {
        rival.flat(black_box(self.0), |x| *x..*x + (*x >> 7) % 8)
    }
}

/// Makes another string of each string, by value. The results of a call are the items of the next
/// one.
struct Strings(Mutex<Vec<String>>);

impl Strings {
    const LONG: usize = 32;

    fn new(count: usize) -> Self {
        let string = |i| {
            let mut string = String::with_capacity(2 * Self::LONG);
            string.extend(iter::repeat_n('a', i % Self::LONG));
            string
        };
        Self(Mutex::new((0..count).map(string).collect()))
    }

    /// Makes the string one character longer, or empty if it is long.
    fn next(mut string: String) -> String {
        if string.len() < Self::LONG {
            string.push('b');
        } else {
            string.clear();
        }
        string
    }
}

impl Loop for Strings {
    type Output = usize;

    fn run(&self, rival: &mut impl Rival) -> Option<usize> {
        rival.moved(Vec::new(), Self::next)?; // a rival without such a loop takes no items
        let mut strings = self.0.lock().expect("one call at a time");
        *strings = rival.moved(mem::take(&mut *strings), Self::next)?;
        Some(strings.len())
    }
}

/// Searches a graph level by level. Each node has [`EDGES`](Self::EDGES) edges to random nodes.
struct Levels(Vec<[u32; Self::EDGES]>);

impl Levels {
    const EDGES: usize = 8;

    fn new(nodes: usize) -> Self {
        let mut random = Random::default();
        let mut node = || (u64::from(random.draw()) % nodes as u64) as u32;
        Self((0..nodes).map(|_| [(); Self::EDGES].map(|()| node())).collect())
    }
}

impl Loop for Levels {
    type Output = Vec<usize>;

    /// Returns the number of nodes of each level.
    fn run(&self, rival: &mut impl Rival) -> Option<Vec<usize>> {
        let seen: Vec<AtomicBool> = self.0.iter().map(|_| AtomicBool::new(false)).collect();
        let is_new = |node: &u32| !seen[*node as usize].swap(true, Relaxed);
        let (mut level, mut counts) = (vec![0], Vec::new());
        is_new(&0);
        while !level.is_empty() {
            counts.push(level.len());
            level = rival.flat(&level, |node| self.0[*node as usize].into_iter().filter(is_new))?;
        }
        Some(counts)
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let mut random = Random::default();
    let numbers: Vec<u32> = (0..10_000_000).map(|_| random.draw()).collect();
    let percent = |percent: u64| (percent << 32).div_ceil(100) as u32;
    let everybody = [runner.everybody(), vec![Who::Fastest, Who::One]].concat();
    let mut rows = Vec::new();
    macro_rules! row {
        ($name:expr, $bar:expr, $pace:expr, $lap:expr) => {
            let mut race = runner.race(pool, &everybody, $pace, $lap);
            rows.push(Row::of(&race, $name, Unit::Ratio, $bar));
            for (who, than, bar) in [
                (Who::Fastest, "to the fastest plain form", None),
                (Who::One, "two workers to one", Some(0.60)),
            ] {
                if race.others().any(|other| other == who) && (who == Who::Fastest || $pace.is_one_call()) {
                    race = race.relative_to(who);
                    rows.push(Row::of(&race, format!("{}: {than}", $name), Unit::Ratio, bar));
                }
            }
        };
    }
    row!("filter of 10M u32, half of them kept", Some(0.20), Pace::ONCE, &Below(&numbers, percent(50)));
    row!("filter of 10M u32, 1 % kept", Some(0.75), Pace::ONCE, &Below(&numbers, percent(1)));
    row!("filter of 10M u32, 99 % kept", Some(0.70), Pace::ONCE, &Below(&numbers, percent(99)));
    row!("filter of 10M u32, all kept", Some(1.0), Pace::ONCE, &Below(&numbers, u32::MAX));
    row!("filter of 10k u32, all kept", Some(1.0), Pace::calls(10), &Below(&numbers[..10_000], u32::MAX));
    row!(
        "filter of 10k u32, half of them kept",
        Some(1.0),
        Pace::calls(10),
        &Below(&numbers[..10_000], percent(50))
    );
    row!("partition of 10M u32", Some(0.25), Pace::ONCE, &Sides(&numbers, percent(50)));
    row!("unzip of 1,000 pairs", Some(0.60), Pace::calls(100), &Both(&numbers[..1000]));
    row!("unzip of 50k pairs", Some(0.40), Pace::calls(10), &Both(&numbers[..50_000]));
    row!("0 to 7 numbers of each of 2M", Some(0.40), Pace::ONCE, &Several(&numbers[..2_000_000]));
    row!("1M strings by value to other strings", None, Pace::ONCE, &Strings::new(1_000_000));
    row!("levels of a graph of 400k nodes with 8 edges", Some(0.60), Pace::ONCE, &Levels::new(400_000));
    let few = Below(&numbers[..100], percent(50));
    let race = runner.race(pool, &everybody, Pace::calls(100), &few);
    rows.push(Row::of(&race, "filter of 100 u32: more than plain", Unit::Nanos, Some(60.0)));
    rows
}
