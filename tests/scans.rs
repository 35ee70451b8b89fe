//! Tests of running totals. Under any schedule, each item becomes the total that the plain loop
//! gives.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed},
    thread,
};

use proptest::prelude::*;
use rangesteal::{CancelToken, Cancelled, Pool, Progress, RunReport, Trace};

mod busy;
use busy::work;

const LEN: usize = if cfg!(miri) { 60 } else { 5003 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// Two by two matrices: their product is associative, and not commutative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Matrix([[u64; 2]; 2]);

impl Matrix {
    fn of(i: usize) -> Self {
        let i = i as u64;
        Self([[i | 1, i ^ 5], [i.rotate_left(7), i + 3]])
    }

    fn times(&self, other: &Self) -> Self {
        let cell = |row: usize, column: usize| {
            let products = (0..2).map(|k| self.0[row][k].wrapping_mul(other.0[k][column]));
            products.fold(0, u64::wrapping_add)
        };
        Self([[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]])
    }
}

fn plain_inclusive<T: Clone>(items: &[T], op: impl Fn(&T, &T) -> T) -> Vec<T> {
    let mut totals: Vec<T> = Vec::new();
    for item in items {
        let total = totals.last().map_or_else(|| item.clone(), |before| op(before, item));
        totals.push(total);
    }
    totals
}

fn plain_exclusive<T: Clone>(items: &[T], init: T, op: impl Fn(&T, &T) -> T) -> (Vec<T>, T) {
    let mut total = init;
    let totals = items.iter().map(|item| {
        let behind = op(&total, item);
        std::mem::replace(&mut total, behind)
    });
    (totals.collect(), total)
}

#[test]
fn scans_are_those_of_the_plain_loop() {
    for threads in [1, 2, 3, 5] {
        let pool = pool(threads);
        for len in [0, 1, 2, 3, 17, 64, 1000, LEN] {
            let items: Vec<Matrix> = (0..len).map(Matrix::of).collect();
            let inclusive = plain_inclusive(&items, Matrix::times);
            let (exclusive, total) = plain_exclusive(&items, Matrix::of(99), Matrix::times);
            // Short loops run alone at first, and are shared later as a trial. An option divides
            // the loops into blocks.
            for round in 0..if cfg!(miri) { 2 } else { 20 } {
                let mut scanned = items.clone();
                match round % 3 {
                    0 => pool.on(&mut scanned).inclusive_scan(Matrix::times),
                    1 => pool.on(&mut scanned).grain(7).inclusive_scan(Matrix::times),
                    _ => pool.on(&mut scanned).reproducible().inclusive_scan(Matrix::times),
                }
                assert_eq!(scanned, inclusive, "{len} items, {threads} threads");
                scanned.clone_from(&items);
                let op = Matrix::times;
                let last = match round % 3 {
                    0 => pool.on(&mut scanned).exclusive_scan(Matrix::of(99), op),
                    1 => pool.on(&mut scanned).grain(7).exclusive_scan(Matrix::of(99), op),
                    _ => pool.on(&mut scanned).reproducible().exclusive_scan(Matrix::of(99), op),
                };
                assert_eq!((&scanned, last), (&exclusive, total), "{len} items, {threads} threads");
            }
        }
    }
}

/// Items of 5 to 200 µs, so that every scan is shared, in many schedules.
#[test]
#[cfg_attr(miri, ignore = "a matter of time")]
fn shared_scans_are_in_order() {
    let pool = pool(4);
    let items: Vec<String> = (0..150).map(|i| format!("{i},")).collect();
    let expected = plain_inclusive(&items, |a, b| format!("{a}{b}"));
    let elsewhere = AtomicUsize::new(0);
    let caller = thread::current().id();
    for round in 0..30 {
        let op = |a: &String, b: &String| {
            work(if b.len() as u64 % 7 == round % 7 { 200_000 } else { 5_000 });
            elsewhere.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
            format!("{a}{b}")
        };
        let mut scanned = items.clone();
        pool.on(&mut scanned).inclusive_scan(op);
        assert_eq!(scanned, expected);
        let mut scanned = items.clone();
        let total = pool.on(&mut scanned).exclusive_scan(String::new(), op);
        assert_eq!((scanned[0].as_str(), &scanned[1..], &total), ("", &expected[..149], &expected[149]));
    }
    assert!(elsewhere.load(Relaxed) > 0, "no scan was shared");
}

#[test]
fn reproducible_scans_of_floats_have_the_same_bits() {
    let items: Vec<f64> = (0..5003_u32).take(LEN).map(|i| 1.0 / (f64::from(i) + 0.3)).collect();
    let scan = |threads: usize, round: usize| {
        let mut scanned = items.clone();
        let op = |a: &f64, b: &f64| {
            if !cfg!(miri) && round > 0 {
                work(2_000);
            }
            a + b
        };
        let total = pool(threads).on(&mut scanned).reproducible().exclusive_scan(0.5, op);
        (scanned.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), total.to_bits())
    };
    let first = scan(1, 0);
    for threads in 1..5 {
        assert_eq!(scan(threads, threads), first, "{threads} threads");
    }
}

/// Progress, reports and traces count items, even if the scan is divided into blocks.
#[test]
#[cfg_attr(miri, ignore = "a matter of time")]
fn scans_are_reported_in_items() {
    let (pool, items) = (pool(3), 1000);
    for grain in [None, Some(7)] {
        let (mut report, mut trace) = (RunReport::default(), Trace::new());
        let (mut totals, progress) = (vec![1_u64; items], Progress::default());
        let scan = pool.on(&mut totals).report(&mut report).trace(&mut trace).progress(&progress);
        let op = |a: &u64, b: &u64| {
            work(2_000);
            a + b
        };
        match grain {
            None => scan.inclusive_scan(op),
            Some(grain) => scan.grain(grain).inclusive_scan(op),
        }
        assert_eq!(progress.done(), items);
        assert_eq!(report.workers.iter().map(|worker| worker.items).sum::<usize>(), items, "{report:?}");
        let runs = trace.timelines()[0].runs.iter().map(|run| run.items.len());
        assert_eq!(runs.sum::<usize>(), items, "{trace:?}");
    }
}

/// The number of living values of this type.
static ALIVE: AtomicIsize = AtomicIsize::new(0);

#[derive(Debug, PartialEq)]
struct Counted(u64);

impl Counted {
    fn new(value: u64) -> Self {
        ALIVE.fetch_add(1, Relaxed);
        Self(value)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

/// After a panic, and after a cancelled scan, each item has its old value or is a total. No value
/// is lost or dropped twice.
#[test]
fn an_item_is_old_or_a_total_after_a_panic() {
    let pool = pool(3);
    let len = LEN as u64 / 10;
    let total = |i: u64| i * (i + 1) / 2;
    for round in 0..if cfg!(miri) { 4 } else { 60 } {
        let mut items: Vec<Counted> = (0..len).map(Counted::new).collect();
        let calls = AtomicUsize::new(0);
        let at = round * len as usize / 60;
        let op = |a: &Counted, b: &Counted| {
            if !cfg!(miri) {
                work(3_000);
            }
            assert!(calls.fetch_add(1, Relaxed) != at, "in the operator");
            Counted::new(a.0 + b.0)
        };
        let scan = || match round % 3 {
            0 => pool.on(&mut items).inclusive_scan(op),
            1 => pool.on(&mut items).reproducible().inclusive_scan(op),
            _ => drop(pool.on(&mut items).exclusive_scan(Counted::new(0), op)),
        };
        assert!(catch_unwind(AssertUnwindSafe(scan)).is_err());
        for (i, item) in (0..).zip(&items) {
            let before = if i == 0 { 0 } else { total(i - 1) };
            assert!([i, total(i), before].contains(&item.0), "item {i} is {item:?}");
        }
        assert_eq!(ALIVE.load(Relaxed), items.len().cast_signed(), "items live");
    }
    let token = CancelToken::new();
    let mut items: Vec<u64> = (0..len).collect();
    let cancelled = pool.on(&mut items).cancel(&token).inclusive_scan(|a, b| {
        token.cancel();
        if !cfg!(miri) {
            work(20_000);
        }
        a + b
    });
    assert!(cancelled == Err(Cancelled) || cfg!(miri));
    assert!((0..).zip(&items).all(|(i, item)| [i, total(i)].contains(item)), "{items:?}");
}

/// A scan shared by nested loops, and loops in its operator.
#[test]
fn scans_nest() {
    let pool = pool(3);
    let mut rows: Vec<Vec<u64>> = (0..20).map(|row| (row..row + 50).collect()).collect();
    let expected: Vec<_> = rows.iter().map(|row| plain_inclusive(row, |a, b| a + b)).collect();
    pool.on(&mut rows).for_each(|row| pool.on(row).inclusive_scan(|a, b| pool.on(&[*a, *b]).copied().sum()));
    assert_eq!(rows, expected);
}

/// With an operator that is not associative, the totals are arbitrary, but each item is used once,
/// and nothing else goes wrong.
#[test]
fn an_operator_that_is_not_associative_does_no_harm() {
    let pool = pool(3);
    for _ in 0..10 {
        let mut items: Vec<Box<i64>> = (0..5003).take(LEN).map(Box::new).collect();
        pool.on(&mut items).inclusive_scan(|a, b| Box::new(**a - **b / 2));
        assert_eq!(items.len(), LEN);
    }
    let mut units = vec![(); LEN];
    pool.on(&mut units).inclusive_scan(|(), ()| ());
    pool.on(&mut units).exclusive_scan((), |(), ()| ());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 200 }))]

    #[test]
    fn random_scans(items in proptest::collection::vec(any::<u32>(), 0..400), threads in 1_usize..6, grain in 1_usize..50) {
        let pool = pool(threads);
        let expected = plain_inclusive(&items, |a, b| *a.max(b));
        for _ in 0..3 {
            let mut scanned = items.clone();
            pool.on(&mut scanned).grain(grain).threads(threads).inclusive_scan(|a, b| *a.max(b));
            prop_assert_eq!(&scanned, &expected);
        }
    }
}
