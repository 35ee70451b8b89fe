//! Tests of running totals. Under any schedule, each item becomes the total that the plain loop
//! gives.

use std::{
    iter, mem,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed},
    thread,
};

use proptest::prelude::*;
use rangesteal::{CancelToken, Cancelled, Pool, Progress, RunReport, Trace, source};

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
        mem::replace(&mut total, behind)
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

/// The totals by [`Iterator::scan`].
fn plain_scan<T: Clone>(items: impl Iterator<Item = T>, op: impl Fn(&T, &T) -> T) -> Vec<T> {
    let totals = items.scan(None, |before: &mut Option<T>, item| {
        let total = before.as_ref().map_or_else(|| item.clone(), |before| op(before, &item));
        before.replace(total.clone());
        Some(total)
    });
    totals.collect()
}

/// The totals of `first` and the items before each item, and the total of all.
fn plain_scan_from<T: Clone>(
    first: T,
    items: impl Iterator<Item = T>,
    op: impl Fn(&T, &T) -> T,
) -> (Vec<T>, T) {
    let mut totals = plain_scan(iter::once(first).chain(items), op);
    let last = totals.pop().unwrap();
    (totals, last)
}

const LENGTHS: &[usize] =
    if cfg!(miri) { &[0, 1, 2, 3, 7, LEN] } else { &[0, 1, 2, 3, 7, 100, 10_000, 300_000] };

#[test]
fn scans_of_chains_are_those_of_std() {
    let op = Matrix::times;
    let pools = [1, 2, 3, 4].map(pool);
    for (&len, pool) in LENGTHS.iter().flat_map(|len| pools.iter().map(move |pool| (len, pool))) {
        let (threads, numbers) = (pool.num_threads(), (0..len).collect::<Vec<_>>());
        let expected = plain_scan(numbers.iter().map(|i| Matrix::of(*i)), op);
        let from = plain_scan_from(Matrix::of(99), numbers.iter().map(|i| Matrix::of(*i)), op);
        let rounds = if cfg!(miri) { 2 } else { 50_000_usize.div_ceil(len.max(1)).clamp(4, 40) };
        for round in 0..rounds {
            let mut all = Vec::with_capacity(len);
            let place = all.as_ptr();
            let chain = pool.on(&numbers).map(|i| Matrix::of(*i));
            match round % 4 {
                0 => chain.inclusive_scan_into(&mut all, op),
                1 => chain.grain(7).inclusive_scan_into(&mut all, op),
                2 => chain.reproducible().inclusive_scan_into(&mut all, op),
                _ => chain.threads(2).inclusive_scan_into(&mut all, op),
            }
            assert_eq!(all, expected, "{len} items, {threads} threads");
            assert_eq!(all.as_ptr(), place, "allocated anew");
            all.clear();
            let chain = pool.on(&numbers).map(|i| Matrix::of(*i));
            let total = match round % 4 {
                0 => chain.exclusive_scan_into(&mut all, Matrix::of(99), op),
                1 => chain.grain(600).exclusive_scan_into(&mut all, Matrix::of(99), op),
                2 => chain.reproducible().exclusive_scan_into(&mut all, Matrix::of(99), op),
                _ => chain.threads(2).exclusive_scan_into(&mut all, Matrix::of(99), op),
            };
            assert_eq!((&all, total), (&from.0, from.1), "{len} items, {threads} threads");
        }
    }
}

/// Every kind of chain that makes one result of each item. The vector keeps its earlier contents.
#[test]
fn chains_of_every_kind_are_scanned() {
    let pool = pool(3);
    let numbers: Vec<u64> = (0..LEN as u64).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let add = |a: &u64, b: &u64| a.wrapping_add(*b);
    macro_rules! check {
        ($chain:expr, $plain:expr) => {
            for _ in 0..3 {
                let mut all = vec![1, 2];
                pool.on($chain).inclusive_scan_into(&mut all, add);
                assert!(all.iter().copied().eq([1, 2].into_iter().chain(plain_scan($plain, add))));
            }
        };
    }
    check!(source(&numbers).copied(), numbers.iter().copied());
    check!(source(&numbers).cloned().rev(), numbers.iter().copied().rev());
    check!(numbers.clone(), numbers.iter().copied());
    check!(3..60_u64, 3..60);
    check!(
        source(&numbers).zip(0..LEN).map(|(a, b)| a ^ b as u64),
        iter::zip(&numbers, 0..).map(|(a, b)| a ^ b)
    );
    check!(
        source(&numbers).enumerate().skip(3).step_by(2).map(|(i, x)| x >> (i % 60)),
        numbers.iter().enumerate().skip(3).step_by(2).map(|(i, x)| x >> (i % 60))
    );
    check!(
        source(&numbers).chunks(7).map(|chunk| chunk.iter().fold(0, |a, b| add(&a, b))),
        numbers.chunks(7).map(|chunk| chunk.iter().fold(0, |a, b| add(&a, b)))
    );
    check!(source(&numbers).with(|_| 5).map(|(five, x)| x / *five), numbers.iter().map(|x| x / 5));
    let blocks = || source(&numbers).with_block(|block| block as u64).map(|(block, x)| x ^ *block);
    let drawn: Vec<u64> = pool.on(blocks()).collect();
    check!(blocks(), drawn.iter().copied());
    let mut changed = numbers.clone();
    let mut totals = Vec::new();
    let chain = pool.on(&mut changed).map(|x| mem::replace(x, 7));
    chain.inclusive_scan_into(&mut totals, add);
    assert_eq!((totals, changed), (plain_scan(numbers.iter().copied(), add), vec![7; LEN]));
    let mut greatest = Vec::new();
    pool.on(&numbers).inclusive_scan_into(&mut greatest, |a, b| a.max(b)); // references
    assert_eq!(greatest, plain_scan(numbers.iter(), |a, b| a.max(b)));
}

/// Each item takes long, so that every scan is shared.
#[test]
#[cfg_attr(miri, ignore = "a matter of time")]
fn shared_scans_of_chains_call_each_closure_once_an_item() {
    let elsewhere = AtomicUsize::new(0);
    let caller = thread::current().id();
    for threads in 2..5 {
        let pool = pool(threads);
        let expected = plain_scan((0..150).map(|i| format!("{i},")), |a, b| format!("{a}{b}"));
        for round in 0..20 {
            let calls: Vec<AtomicUsize> = (0..150).map(AtomicUsize::new).collect();
            let make = |(i, calls): (usize, &AtomicUsize)| {
                elsewhere.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
                work(if i % 7 == round % 7 { 100_000 } else { 5_000 });
                format!("{},", calls.fetch_add(1000, Relaxed))
            };
            let op = |a: &String, b: &String| {
                work(if b.len() % 7 == round % 7 { 100_000 } else { 5_000 });
                format!("{a}{b}")
            };
            let mut all = vec![String::from("before")];
            if round % 2 == 0 {
                pool.on(&calls).enumerate().map(make).inclusive_scan_into(&mut all, op);
                assert_eq!(all[1..], expected);
            } else {
                let chain = pool.on(&calls).enumerate().map(make).reproducible().grain(4);
                let total = chain.exclusive_scan_into(&mut all, String::new(), op);
                assert_eq!((&all[2..], &total), (&expected[..149], &expected[149]));
            }
            assert!(calls.into_iter().map(AtomicUsize::into_inner).eq(1000..1150));
        }
    }
    assert!(elsewhere.load(Relaxed) > 0, "no scan was shared");
}

#[test]
fn reproducible_scans_of_chains_have_the_same_bits() {
    let numbers: Vec<u32> = (0..5003).take(LEN).collect();
    let scan = |threads: usize| {
        let pool = pool(threads);
        let chain = pool.on(&numbers).map(|i| {
            if !cfg!(miri) && threads > 1 {
                work(2_000);
            }
            1.0 / (f64::from(*i) + 0.3)
        });
        let mut all = Vec::new();
        let total = chain.reproducible().exclusive_scan_into(&mut all, 0.5, |a, b| a + b);
        (all.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), f64::to_bits(total))
    };
    let first = scan(1);
    let mut in_place: Vec<f64> = numbers.iter().map(|i| 1.0 / (f64::from(*i) + 0.3)).collect();
    pool(2).on(&mut in_place).reproducible().exclusive_scan(0.5, |a, b| a + b);
    assert!(in_place.iter().map(|x| x.to_bits()).eq(first.0.iter().copied()), "as in place");
    for threads in 2..5 {
        assert_eq!(scan(threads), first, "{threads} threads");
    }
}

/// The number of living values of [`Alive`].
static LIVING: AtomicIsize = AtomicIsize::new(0);

#[derive(Debug)]
struct Alive {
    value: u64,
    /// Whether the drop of the value panics.
    bad: bool,
}

impl Alive {
    fn new(value: u64) -> Self {
        LIVING.fetch_add(1, Relaxed);
        Self { value, bad: false }
    }
}

impl Clone for Alive {
    fn clone(&self) -> Self {
        Self::new(self.value)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        LIVING.fetch_sub(1, Relaxed);
        if self.bad {
            panic_any(()); // no memory, since the payload is forgotten
        }
    }
}

/// How a scan ends early.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Early {
    InTheChain,
    InTheOperator,
    Cancelled,
}

/// After a panic, and after a cancelled scan, nothing is appended. Each item that was made and each
/// item that was not made is dropped once, even if the drop of a neighbour panics.
#[test]
fn what_a_scan_of_a_chain_has_made_is_dropped_once() {
    // A panic during a panic prints a backtrace, which takes Miri half a minute.
    #[cfg(miri)]
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    for pool in [1, 2, 3].map(pool) {
        for early in [Early::InTheChain, Early::InTheOperator, Early::Cancelled] {
            (0..if cfg!(miri) { 3 } else { 40 }).for_each(|round| ends_early(&pool, early, round));
        }
    }
}

fn ends_early(pool: &Pool, early: Early, round: usize) {
    let len = LEN / 10;
    let at = (round * 37 + 4) % len;
    let (calls, token) = (AtomicUsize::new(0), CancelToken::new());
    let end = |here: bool| {
        if here && early == Early::Cancelled {
            token.cancel();
        }
        assert!(!here || early == Early::Cancelled, "planned");
    };
    let items: Vec<Alive> = (0..len as u64).map(Alive::new).collect();
    let mut all = vec![Alive::new(99)];
    let make = |(i, item): (usize, Alive)| {
        if !cfg!(miri) {
            work(2_000);
        }
        end(early != Early::InTheOperator && i == at);
        let mut made = item.clone();
        made.bad = early != Early::InTheOperator && round % 2 == 1 && i + 1 == at;
        made
    };
    let op = |a: &Alive, b: &Alive| {
        end(early == Early::InTheOperator && calls.fetch_add(1, Relaxed) == at);
        Alive::new(a.value + b.value)
    };
    let scan = || {
        let chain = pool.on(items).enumerate().map(make).cancel(&token);
        match round % 3 {
            0 => chain.inclusive_scan_into(&mut all, op),
            1 => chain.reproducible().grain(9).inclusive_scan_into(&mut all, op),
            _ => chain.exclusive_scan_into(&mut all, Alive::new(0), op).map(drop),
        }
    };
    let ended = catch_unwind(AssertUnwindSafe(scan)).map_err(drop);
    let is_whole = ended == Ok(Ok(())); // cancelled too late
    assert!(ended.is_err() || early == Early::Cancelled, "{early:?} at {at}");
    assert_eq!(all.len(), if is_whole { len + 1 } else { 1 }, "{early:?} at {at}");
    assert_eq!(LIVING.load(Relaxed), all.len().cast_signed(), "{early:?} at {at}");
}

/// A scan inside the closure of a scan, and scans of several threads on one pool.
#[test]
fn scans_of_chains_nest() {
    let pool = pool(3);
    let totals = |n: u64| {
        let mut totals = Vec::new();
        pool.on(0..n).inclusive_scan_into(&mut totals, |a, b| a + b);
        totals.pop().unwrap_or(0)
    };
    let mut all = Vec::new();
    pool.on(0..60)
        .map(totals)
        .inclusive_scan_into(&mut all, |a, b| a.max(b) + pool.on(0..3).count() as u64 - 3);
    assert_eq!(all, plain_scan((0..60).map(|n: u64| n * n.saturating_sub(1) / 2), |a, b| *a.max(b)));
    let mut units = vec![(); 2];
    pool.on(0..LEN).map(drop).exclusive_scan_into(&mut units, (), |(), ()| ());
    assert_eq!(units.len(), LEN + 2);
}
