//! Tests of the sorts: they give std's results on several threads, and lose no item whatever a
//! comparison does.

#![cfg(not(miri))] // Under Miri, sorts of slices long enough to be shared take hours. The tests of `src/pool/verbs/merge.rs` cut slices into smaller pieces.

use std::{
    cell::Cell,
    cmp::Ordering,
    collections::HashSet,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use proptest::prelude::*;
use rangesteal::Pool;

/// The number of random slices. `.ci/long "tests, optimised"` sorts more of them.
const CASES: u32 = if cfg!(debug_assertions) { 75 } else { 200 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a pool")
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Shapes of slices: (key, place) with keys in an order that a sort may exploit.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Random { keys: u64 },
    Ascending,
    Descending,
    Rotated { by: usize },
    Teeth { length: usize },
    Tail { random: usize },
    Head { descending: usize },
}

fn items(shape: Shape, len: usize, mut seed: u64) -> Vec<(u64, usize)> {
    let key = |i: usize| {
        let end = len as u64;
        let at = i as u64;
        match shape {
            Shape::Random { keys } => random(&mut seed) % keys,
            Shape::Ascending => at / 3,
            Shape::Descending => end - at,
            Shape::Rotated { by } => ((i + by) % len) as u64,
            Shape::Teeth { length } => (i % length) as u64,
            Shape::Tail { random: tail } if i + tail >= len => random(&mut seed) % end,
            Shape::Tail { .. } => at,
            Shape::Head { descending } if i < descending => end - at,
            Shape::Head { .. } => random(&mut seed) % end,
        }
    };
    (0..len).map(key).enumerate().map(|(i, key)| (key, i)).collect()
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (1..5_u64).prop_map(|keys| Shape::Random { keys }),
        (1..100_000_u64).prop_map(|keys| Shape::Random { keys }),
        Just(Shape::Ascending),
        Just(Shape::Descending),
        (0..60_000_usize).prop_map(|by| Shape::Rotated { by }),
        (1..30_000_usize).prop_map(|length| Shape::Teeth { length }),
        (0..20_000_usize).prop_map(|random| Shape::Tail { random }),
        (0..60_000_usize).prop_map(|descending| Shape::Head { descending }),
    ]
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..100_usize,
        2000..9000_usize,
        prop::sample::select(vec![8192, 32_767, 32_768, 32_769, 40_001, 65_536, 65_537]),
        30_000..70_000_usize,
    ]
}

fn is_as_std(pool: &Pool, given: &[(u64, usize)]) {
    let mut expected = given.to_vec();
    expected.sort_by_key(|item| item.0);
    let mut sorted = given.to_vec();
    pool.sort_by_key(&mut sorted, |item| item.0);
    assert!(sorted == expected, "by key");
    let mut sorted = given.to_vec();
    pool.sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
    assert!(sorted == expected, "by comparison");

    let mut expected: Vec<Tied> = given.iter().map(|&(key, place)| Tied { key, place }).collect();
    let mut sorted = expected.clone();
    expected.sort();
    pool.sort(&mut sorted);
    assert!(sorted.iter().zip(&expected).all(|(a, b)| (a.key, a.place) == (b.key, b.place)), "by `Ord`");
}

/// Checks that the keys are sorted, and that the items are the same.
fn is_sorted(given: &[(u64, usize)], sorted: &[(u64, usize)]) {
    assert!(sorted.is_sorted_by_key(|item| item.0));
    let mut places: Vec<bool> = vec![false; given.len()];
    for &(key, place) in sorted {
        assert!(given[place].0 == key && !mem::replace(&mut places[place], true));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES / 3, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn unstable_sorts_sort(shape in shape(), len in length(), seed: u64, threads in 1..5_usize) {
        let (pool, given) = (pool(threads), items(shape, len, seed));
        let mut sorted = given.clone();
        pool.sort_unstable(&mut sorted);
        is_sorted(&given, &sorted);
        let mut sorted = given.clone();
        pool.sort_unstable_by(&mut sorted, |a, b| a.0.cmp(&b.0));
        is_sorted(&given, &sorted);
        let mut sorted = given.clone();
        pool.sort_unstable_by_key(&mut sorted, |item| item.0);
        is_sorted(&given, &sorted);
    }

    #[test]
    fn by_cached_keys_as_std_does(shape in shape(), len in length(), seed: u64, threads in 1..5_usize) {
        let (pool, given) = (pool(threads), items(shape, len, seed));
        let mut expected = given.clone();
        expected.sort_by_cached_key(|item| (item.0 % 1000).to_string());
        let calls = AtomicUsize::new(0);
        let mut sorted = given;
        pool.sort_by_cached_key(&mut sorted, |item| {
            calls.fetch_add(1, Relaxed);
            (item.0 % 1000).to_string()
        });
        prop_assert!(sorted == expected);
        // std does not compute the key of a single item.
        prop_assert!(calls.into_inner() == len || len < 2);
    }
}

#[test]
fn cached_keys_that_panic_move_nothing() {
    /// A value whose comparison or drop panics.
    #[derive(PartialEq, Eq)]
    struct Key(u64, bool);

    impl PartialOrd for Key {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Key {
        fn cmp(&self, other: &Self) -> Ordering {
            assert!(self.0 != 7 || self.1, "compared");
            self.0.cmp(&other.0)
        }
    }

    impl Drop for Key {
        fn drop(&mut self) {
            assert!(self.0 != 7 || !self.1, "dropped");
        }
    }

    let (pool, mut seed) = (pool(2), 5);
    let given: Vec<String> = (0..50_000).map(|_| (random(&mut seed) % 50_000).to_string()).collect();
    let number = |item: &String| item.parse::<u64>().unwrap();
    assert!(given.iter().any(|item| item == "7"));
    for _ in 0..3 {
        let mut items = given.clone();
        let keys: [&(dyn Fn(&String) -> Key + Sync); 3] =
            [&|item| Key(number(item), true), &|item| Key(number(item), false), &|item| {
                if number(item) == 7 { panic!("a key") } else { Key(number(item), true) }
            }];
        for key in keys {
            assert!(catch_unwind(AssertUnwindSafe(|| pool.sort_by_cached_key(&mut items, key))).is_err());
            assert!(items == given);
        }
        pool.sort_by_cached_key(&mut items, number);
        assert!(items.is_sorted_by_key(number));
    }
}

/// Items are equal if their keys are, whatever their places.
#[derive(Clone)]
struct Tied {
    key: u64,
    place: usize,
}

impl PartialEq for Tied {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Tied {}

impl PartialOrd for Tied {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tied {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

#[test]
fn any_slice_is_sorted_as_std_does() {
    let pools: Vec<Pool> = (1..=8).map(pool).collect();
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) };
    proptest!(cases, |(shape in shape(), len in length(), seed: u64, threads in 1..=8_usize)| {
        is_as_std(&pools[threads - 1], &items(shape, len, seed));
    });
}

#[test]
fn long_slices_are_sorted_as_std_does() {
    let pool = pool(4);
    let len = 300_000;
    for shape in [
        Shape::Random { keys: u64::MAX },
        Shape::Random { keys: 100 },
        Shape::Rotated { by: 100_000 },
        Shape::Descending,
        Shape::Tail { random: 1 },
    ] {
        is_as_std(&pool, &items(shape, len, 7));
    }
}

/// An item that owns memory and notes its drop.
struct Dropped<'a> {
    name: String,
    drops: &'a [AtomicU32],
    place: usize,
}

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.drops[self.place].fetch_add(1, Relaxed);
    }
}

#[test]
fn a_comparison_that_panics_loses_no_item() {
    /// .ci/long has more rounds, optimised.
    const ROUNDS: u64 = if cfg!(debug_assertions) { 14 } else { 40 };
    let pool = pool(3);
    let mut seed = 1;
    for len in [100, 32_768, 50_000] {
        let comparisons = AtomicU64::new(0);
        let mut names: Vec<u64> = (0..len).map(|_| random(&mut seed) % 1000).collect();
        let given = names.clone();
        pool.sort_by(&mut names, |a, b| {
            comparisons.fetch_add(1, Relaxed);
            a.cmp(b)
        });
        let comparisons = comparisons.into_inner();
        for round in 0..ROUNDS {
            let drops: Vec<AtomicU32> = (0..len).map(|_| AtomicU32::new(0)).collect();
            let drops = &drops[..];
            let item = |(place, name): (usize, &u64)| Dropped { name: name.to_string(), drops, place };
            let mut items: Vec<Dropped> = given.iter().enumerate().map(item).collect();
            let left = AtomicU64::new(random(&mut seed) % comparisons);
            let by = |a: &Dropped, b: &Dropped| {
                assert!(left.fetch_sub(1, Relaxed) != 0, "as asked for");
                a.name.cmp(&b.name)
            };
            let caught = catch_unwind(AssertUnwindSafe(|| match round % 2 {
                0 => pool.sort_by(&mut items, by),
                _ => pool.sort_unstable_by(&mut items, by),
            }));
            drop(caught);
            let places: HashSet<usize> = items.iter().map(|item| item.place).collect();
            assert_eq!(places.len(), len, "an item is missing");
            assert!(items.iter().all(|item| item.name == given[item.place].to_string()));
            assert!(drops.iter().all(|drops| drops.load(Relaxed) == 0), "an item has been dropped");
            drop(items);
            assert!(
                drops.iter().all(|drops| drops.load(Relaxed) == 1),
                "not every item has been dropped once"
            );
        }
        pool.sort(&mut names);
        assert!(names.is_sorted(), "after panics");
    }
}

#[test]
fn panics_keep_their_payload() {
    let pool = pool(2);
    let mut items: Vec<u64> = (0..50_000).map(|i| i * 7919 % 50_000).collect();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.sort_by(&mut items, |a, b| if *a == 25_000 { std::panic::panic_any(17_u8) } else { a.cmp(b) });
    }));
    assert_eq!(caught.expect_err("must panic").downcast_ref(), Some(&17_u8));
    items.sort_unstable();
    assert!(items.into_iter().eq(0..50_000));
}

#[test]
fn an_order_that_is_none_loses_no_item() {
    let pool = pool(3);
    for round in 0..30 {
        let mut items: Vec<Box<usize>> = (0..40_000).map(Box::new).collect();
        let asked = AtomicU64::new(round);
        let any =
            |_: &_, _: &_| match asked.fetch_add(1, Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60 & 3 {
                0 => Ordering::Less,
                1 => Ordering::Equal,
                _ => Ordering::Greater,
            };
        let caught = catch_unwind(AssertUnwindSafe(|| match round % 2 {
            0 => pool.sort_by(&mut items, any),
            _ => pool.sort_unstable_by(&mut items, any),
        }));
        drop(caught);
        items.sort_unstable();
        assert!(items.iter().map(|item| **item).eq(0..40_000));
    }
}

#[test]
fn no_order_and_no_data_makes_an_unstable_sort_slow() {
    /// The numbers of comparisons of a sort of `items` by `order`: of ours and of std's.
    fn comparisons(items: &[f64], order: impl Fn(&f64, &f64) -> Ordering + Sync) -> [usize; 2] {
        let asked = AtomicUsize::new(0);
        let by = |a: &f64, b: &f64| {
            asked.fetch_add(1, Relaxed);
            order(a, b)
        };
        let mut ours = items.to_vec();
        _ = catch_unwind(AssertUnwindSafe(|| pool(2).sort_unstable_by(&mut ours, by)));
        let ours = asked.swap(0, Relaxed);
        let mut theirs = items.to_vec();
        _ = catch_unwind(AssertUnwindSafe(|| theirs.sort_unstable_by(by)));
        [ours, asked.into_inner()]
    }

    let mut equal = vec![f64::NAN; 40_000];
    equal[..3].copy_from_slice(&[1.0, 3.0, 2.0]);
    let numbers: Vec<f64> = equal.iter().map(|x| if x.is_nan() { 5.0 } else { *x }).collect();
    // The least numbers lie at the places of a sample of 511.
    let sampled: Vec<f64> =
        (0..50_000_u32).map(|i| if i % 97 == 0 { 0.0 } else { f64::from(i * 7919 % 50_000) }).collect();
    let cases = [
        comparisons(&equal, |a, b| a.partial_cmp(b).unwrap_or(Ordering::Less)),
        comparisons(&numbers, |a, b| if a > b { Ordering::Greater } else { Ordering::Less }),
        comparisons(&sampled, f64::total_cmp),
    ];
    for [ours, theirs] in cases {
        assert!(ours < 2 * theirs + 20 * 50_000, "{ours} instead of {theirs}");
    }
}

#[test]
fn items_need_not_be_sync() {
    let pool = pool(3);
    let mut seed = 3;
    let mut items: Vec<(u64, Cell<usize>)> =
        (0..50_000).map(|_| (random(&mut seed) % 5000, Cell::new(0))).collect();
    let comparisons = AtomicUsize::new(0);
    pool.sort_by(&mut items, |a, b| {
        a.1.set(a.1.get() + 1);
        b.1.set(b.1.get() + 1);
        comparisons.fetch_add(1, Relaxed);
        a.0.cmp(&b.0)
    });
    assert!(items.is_sorted_by_key(|item| item.0));
    let noted: usize = items.iter().map(|item| item.1.get()).sum();
    assert_eq!(noted, 2 * comparisons.into_inner(), "what comparisons do to an item is moved with it");
}

#[test]
fn items_without_a_size() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Nothing;
    let pool = pool(2);
    let mut items = vec![Nothing; 100_000];
    pool.sort(&mut items);
    pool.sort_by(&mut items, |_, _| Ordering::Greater);
    assert_eq!(items.len(), 100_000);
}

#[test]
fn long_slices_are_compared_by_several_threads() {
    let pool = pool(2);
    let mut seed = 5;
    let given: Vec<u64> = (0..300_000).map(|_| random(&mut seed)).collect();
    let several = (0..50).any(|_| {
        let threads = Mutex::new(HashSet::new());
        let mut items = given.clone();
        pool.sort_by(&mut items, |a, b| {
            if a % 1024 == 0 {
                threads.lock().expect("no panic").insert(thread::current().id());
            }
            a.cmp(b)
        });
        threads.into_inner().expect("no panic").len() > 1
    });
    assert!(several);
}

/// Whether one of some calls of `sort` runs `note` on several threads.
fn on_several_threads(sort: impl Fn(&(dyn Fn() + Sync))) -> bool {
    (0..50).any(|_| {
        let threads = Mutex::new(HashSet::new());
        sort(&|| {
            threads.lock().expect("no panic").insert(thread::current().id());
        });
        threads.into_inner().expect("no panic").len() > 1
    })
}

#[test]
fn dear_keys_of_few_items_are_computed_by_several_threads() {
    let pool = pool(2);
    assert!(on_several_threads(|note| {
        let mut items: Vec<u64> = (0..100).map(|i| i * 7919 % 100).collect();
        pool.sort_by_cached_key(&mut items, |item| {
            note();
            thread::sleep(Duration::from_micros(100));
            *item
        });
        assert!(items.is_sorted());
    }));
}

#[test]
fn dear_comparisons_of_few_items_are_shared() {
    type Sort = fn(&Pool, &mut [u64], &(dyn Fn(&u64, &u64) -> Ordering + Sync));
    let (pool, mut seed) = (pool(2), 5);
    let given: Vec<u64> = (0..5000).map(|_| random(&mut seed)).collect();
    let sorts: [Sort; 3] = [
        |pool, items, order| pool.sort_by(items, order),
        |pool, items, order| pool.sort_unstable_by(items, order),
        |pool, items, order| {
            let middle = items.len() / 2;
            items[..middle].sort_unstable();
            items[middle..].sort_unstable();
            pool.merge_by(items, middle, order);
        },
    ];
    for (i, sort) in sorts.iter().enumerate() {
        let shared = on_several_threads(|note| {
            let mut items = given.clone();
            sort(&pool, &mut items, &|a, b| {
                (0..10).for_each(|_| note());
                a.cmp(b)
            });
            assert!(items.is_sorted());
        });
        assert!(shared, "sort {i}");
    }
}

#[test]
fn a_sort_inside_a_loop() {
    let pool = pool(2);
    let sorted = pool.map_collect(&[1, 2, 3, 4], |&seed| {
        let mut items = items(Shape::Random { keys: 1000 }, 40_000, seed);
        pool.sort(&mut items);
        items.is_sorted()
    });
    assert_eq!(sorted, [true; 4]);
}

#[test]
fn two_runs_are_merged_stably_wherever_they_meet() {
    let pools = [1, 2, 3, 6].map(pool);
    for len in [0, 1, 2, 1000, 100_000] {
        for keys in [1, 5, 1 << 30] {
            for middle in [0, 1, len / 3, len / 2, len].map(|middle| middle.min(len)) {
                // An item is a key and the index that it had: equal keys must keep their order.
                let mut runs: Vec<(usize, usize)> = (0..len).map(|i| (i * 7919 % 1009 % keys, i)).collect();
                runs[..middle].sort_unstable();
                runs[middle..].sort_unstable();
                let mut by_key = runs.clone();
                by_key.sort_by_key(|item| item.0);
                let mut sorted = runs.clone();
                sorted.sort_unstable();
                for pool in &pools {
                    let mut items = runs.clone();
                    pool.merge_by(&mut items, middle, |a, b| a.0.cmp(&b.0));
                    let threads = pool.num_threads();
                    assert!(items == by_key, "{len} items, {keys} keys, {middle}, {threads} threads");
                    items.clone_from(&sorted);
                    items.rotate_left(middle);
                    pool.merge(&mut items, len - middle);
                    assert!(items == sorted, "{len} items, {keys} keys, {middle}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn a_merge_of_runs_that_are_not_sorted_or_of_an_order_that_panics_loses_no_item() {
    let pool = Pool::builder().num_threads(3).build().unwrap();
    let len = 100_000;
    for panics_at in [usize::MAX, 5, 20_000] {
        let calls = AtomicUsize::new(0);
        let mut items: Vec<String> = (0..len).map(|i| (i * 7919 % len).to_string()).collect();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            pool.merge_by(&mut items, len / 3, |a, b| {
                assert!(calls.fetch_add(1, Relaxed) != panics_at, "planned");
                a.cmp(b)
            });
        }));
        let mut values: Vec<usize> = items.iter().map(|item| item.parse().unwrap()).collect();
        values.sort_unstable();
        assert!(values.into_iter().eq(0..len));
    }
    let behind = catch_unwind(AssertUnwindSafe(|| pool.merge(&mut [1, 2], 3))).unwrap_err();
    let message = behind.downcast::<String>().unwrap();
    assert_eq!(*message, "merge: the second run begins at 3, and there are 2 items");
}
