//! Sorts of ten million items, of large items, and of nearly sorted items.

use std::cell::RefCell;

use rangesteal::Pool;

use crate::{
    random::Random,
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
};

/// The kind of sort.
#[derive(Clone, Copy)]
enum Way {
    Stable,
    Unstable,
}

/// Sorts the same items in each call.
struct Sorts<T> {
    way: Way,
    items: Vec<T>,
    copy: RefCell<Vec<T>>,
}

impl<T> Sorts<T> {
    fn new(way: Way, items: Vec<T>) -> Self {
        Self { way, items, copy: RefCell::default() }
    }
}

impl<T: Ord + Clone + Send + Sync + 'static> Loop for Sorts<T> {
    type Output = Vec<T>;

    fn prepare(&self, _: &mut impl Rival) {
        self.copy.borrow_mut().clone_from(&self.items);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<T>> {
        let mut items = self.copy.take();
        match self.way {
            Way::Stable => rival.sort(&mut items)?,
            Way::Unstable => rival.sort_unstable(&mut items)?,
        }
        Some(items)
    }
}

/// Sorts by the decimal digits. Executors make the digits of each number once. The plain loop does
/// so only if `cached`.
struct ByDigits {
    sorts: Sorts<u32>,
    cached: bool,
}

impl Loop for ByDigits {
    type Output = Vec<u32>;

    fn prepare(&self, rival: &mut impl Rival) {
        self.sorts.prepare(rival);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<u32>> {
        let mut items = self.sorts.copy.take();
        rival.sort_by_digits(&mut items, self.cached)?;
        Some(items)
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let mut random = Random::default();
    let numbers: Vec<u32> = (0..10_000_000).map(|_| random.draw()).collect();
    // One number in a hundred is random.
    let mut place = |i: u32| if random.draw() % 100 == 0 { random.draw() % 10_000_000 } else { i };
    let ascending: Vec<u32> = (0..10_000_000).map(&mut place).collect();
    let large: Vec<[u64; 16]> = numbers[..1_000_000].iter().map(|x| [u64::from(*x); 16]).collect();
    let strings: Vec<String> = numbers[..1_000_000].iter().map(|x| format!("{x:x}")).collect();
    let few = runner.few();
    let mut rows = Vec::new();
    macro_rules! row {
        ($name:expr, $bar:expr, $lap:expr) => {
            let race = runner.race(pool, &few, Pace::LONG, $lap);
            rows.push(Row::of(&race, $name, Unit::Ratio, Some($bar)));
        };
    }
    for (way, name, random, nearly) in
        [(Way::Stable, "stable", 0.58, 0.30), (Way::Unstable, "unstable", 0.56, 0.56)]
    {
        row!(format!("10M random u32, {name}"), random, &Sorts::new(way, numbers.clone()));
        row!(format!("10M u32 mostly ascending, {name}"), nearly, &Sorts::new(way, ascending.clone()));
        row!(format!("1M random items of 128 bytes, {name}"), 0.50, &Sorts::new(way, large.clone()));
        row!(format!("1M random strings, {name}"), 0.57, &Sorts::new(way, strings.clone()));
        row!(format!("1M u32 in order, {name}"), 1.03, &Sorts::new(way, (0..1_000_000_u32).collect()));
        row!(format!("20k random u32, {name}"), 1.03, &Sorts::new(way, numbers[..20_000].to_vec()));
    }
    let digits = |cached| ByDigits { sorts: Sorts::new(Way::Stable, numbers[..1_000_000].to_vec()), cached };
    row!("1M u32 by their digits, cached", 0.50, &digits(true));
    row!("1M u32 by their digits, cached: to sort_by_key", 0.15, &digits(false));
    rows
}
