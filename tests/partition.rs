//! Partition in place and selection: whatever the schedule, items are on their sides, and none is
//! lost.

use std::{
    cell::Cell,
    cmp::Reverse,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use proptest::prelude::*;
use rangesteal::Pool;

mod busy;
use busy::work;

const LEN: usize = if cfg!(miri) { 300 } else { 100_000 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// Numbers below `keys` in no order.
fn numbers(len: usize, keys: u64) -> Vec<u64> {
    (0..len as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) % keys).collect()
}

fn sorted<T: Ord + Clone>(items: &[T]) -> Vec<T> {
    let mut items = items.to_vec();
    items.sort();
    items
}

/// Partitions, and checks the result.
fn is_parted<T: Ord + Clone + Send>(pool: &Pool, given: &[T], test: impl Fn(&T) -> bool + Sync) {
    is_parted_as(pool, given, &sorted(given), test);
}

/// The same; `in_order` has the given items in order.
fn is_parted_as<T: Ord + Clone + Send>(
    pool: &Pool,
    given: &[T],
    in_order: &[T],
    test: impl Fn(&T) -> bool + Sync,
) {
    let mut items = given.to_vec();
    let passed = pool.partition_in_place(&mut items, &test);
    let (front, back) = items.split_at(passed);
    assert!(front.iter().all(&test) && !back.iter().any(&test));
    assert!(sorted(&items) == in_order, "no item is lost");
}

#[test]
fn items_that_pass_go_to_the_front() {
    for threads in [1, 2, 3, 5] {
        let pool = pool(threads);
        for len in [0, 1, 2, 7, 8, 9, 50, 72, 73, 583, 584, 585, 5000, LEN] {
            let given = numbers(len, 1000);
            let in_order = sorted(&given);
            for share in [0, 1, 500, 999, 1000] {
                is_parted_as(&pool, &given, &in_order, |x| *x < share);
            }
            // A sample says nothing about items in order, or about those in long runs.
            is_parted_as(&pool, &in_order, &in_order, |x| *x < 300);
            is_parted_as(&pool, &in_order, &in_order, |x| *x >= 300);
            is_parted_as(&pool, &in_order, &in_order, |x| *x / 100 % 2 == 0);
            let large: Vec<[u64; 16]> = in_order.iter().map(|x| [*x; 16]).collect();
            is_parted(&pool, &large, |x| x[3] % 3 == 0);
            is_parted(&pool, &vec![(); len], |()| true);
            is_parted(&pool, &vec![(); len], |()| false);
        }
    }
}

#[test]
fn few_items_that_cost_much_are_shared_and_tested_once() {
    let pool = pool(3);
    for len in [9, 40, 300] {
        let (tested, by_caller) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let caller = thread::current().id();
        let is_odd = |x: &usize| {
            work(100_000);
            tested.fetch_add(1, Relaxed);
            by_caller.fetch_add(usize::from(thread::current().id() == caller), Relaxed);
            x % 2 == 1
        };
        let mut items: Vec<usize> = (0..len).collect();
        assert_eq!(pool.partition_in_place(&mut items, is_odd), len / 2);
        assert_eq!(tested.load(Relaxed), len);
        assert!(cfg!(miri) || len < 300 || by_caller.load(Relaxed) < len * 9 / 10, "shared");
        assert!(items[..len / 2].iter().all(|x| x % 2 == 1));
        items.sort_unstable();
        assert_eq!(items, (0..len).collect::<Vec<_>>());
    }
}

#[test]
fn items_need_not_be_sync() {
    let mut cells: Vec<Cell<usize>> = (0..LEN).map(Cell::new).collect();
    let even = pool(2).partition_in_place(&mut cells, |x| {
        x.set(x.get() + 1);
        x.get() % 2 == 0
    });
    assert_eq!(even, LEN / 2);
    assert!(cells[..even].iter().all(|x| x.get() % 2 == 0));
    cells.sort_unstable();
    assert!(cells.iter().enumerate().all(|(i, x)| x.get() == i + 1), "tested once");
}

#[test]
fn a_test_that_panics_leaves_all_items_in_the_slice() {
    let pool = pool(3);
    for at in [0, 5, 300, LEN / 2, LEN - 1] {
        let mut items: Vec<String> = (0..LEN).map(|i| i.to_string()).collect();
        let tested = AtomicUsize::new(0);
        let test = |item: &String| {
            assert!(tested.fetch_add(1, Relaxed) != at, "planned");
            item.len().is_multiple_of(2)
        };
        assert!(catch_unwind(AssertUnwindSafe(|| pool.partition_in_place(&mut items, test))).is_err());
        let mut values: Vec<usize> = items.iter().map(|item| item.parse().unwrap()).collect();
        values.sort_unstable();
        assert!(values.into_iter().eq(0..LEN));
    }
}

/// A test whose results depend on its history puts items anywhere, and loses none.
#[test]
fn a_test_that_lies_loses_no_item() {
    let pool = pool(3);
    let (calls, mut items) = (AtomicUsize::new(0), (0..LEN).collect::<Vec<_>>());
    let passed = pool.partition_in_place(&mut items, |x| (calls.fetch_add(7, Relaxed) ^ x) % 3 == 0);
    assert!(passed <= LEN);
    items.sort_unstable();
    assert!(items.into_iter().eq(0..LEN));
}

fn is_selected<T: Ord + Clone + Send + Sync>(pool: &Pool, given: &[T], index: usize) {
    is_selected_as(pool, given, &sorted(given), index);
}

/// The same; `expected` has the given items in order.
fn is_selected_as<T: Ord + Clone + Send + Sync>(pool: &Pool, given: &[T], expected: &[T], index: usize) {
    let mut items = given.to_vec();
    let (before, item, behind) = pool.select_nth_unstable(&mut items, index);
    assert!(*item == expected[index]);
    assert!(before.iter().all(|x| x <= item) && behind.iter().all(|x| x >= item));
    assert_eq!((before.len(), behind.len()), (index, given.len() - index - 1));
    assert!(sorted(&items) == expected, "no item is lost");
}

#[test]
fn a_selected_item_is_the_one_that_a_sort_puts_there() {
    // .ci/long runs the rest.
    let keys: &[u64] =
        if cfg!(debug_assertions) { &[1, 3, u64::MAX] } else { &[1, 2, 3, 10, 1000, u64::MAX] };
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for len in [1, 2, 100, LEN] {
            for &keys in keys {
                let given = numbers(len, keys);
                let expected = sorted(&given);
                for index in [0, 1, len / 3, len / 2, len * 9 / 10, len - 1] {
                    is_selected_as(&pool, &given, &expected, index.min(len - 1));
                }
            }
            let in_order: Vec<usize> = (0..len).collect();
            is_selected(&pool, &in_order, len / 3);
            is_selected(&pool, &in_order.iter().map(|x| Reverse(*x)).collect::<Vec<_>>(), len / 3);
            is_selected(&pool, &vec![(); len], len / 2);
            is_selected(&pool, &in_order.iter().map(|x| [x / 2; 16]).collect::<Vec<_>>(), len / 2);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "shorter slices are not shared")]
fn the_least_and_the_greatest_item_are_found_by_one_pass() {
    let pool = pool(2);
    for len in [40_000, 100_003] {
        let given: Vec<usize> = (0..len).map(|i| i * 7919 % len).collect();
        for index in [0, len - 1] {
            let (calls, mut items) = (AtomicUsize::new(0), given.clone());
            let selected = pool.select_nth_unstable_by(&mut items, index, |a, b| {
                calls.fetch_add(1, Relaxed);
                a.cmp(b)
            });
            assert_eq!((*selected.1, calls.into_inner()), (index, len - 1));
            items.sort_unstable();
            assert!(items.into_iter().eq(0..len));
        }
    }
}

#[test]
fn selection_by_an_order_and_by_a_key() {
    let pool = pool(2);
    let mut items = numbers(LEN, u64::MAX);
    let expected = sorted(&items);
    let (_, item, _) = pool.select_nth_unstable_by(&mut items, 9, |a, b| b.cmp(a));
    assert_eq!(*item, expected[LEN - 10]);
    let (_, item, _) = pool.select_nth_unstable_by_key(&mut items, 9, |x| Reverse(*x));
    assert_eq!(*item, expected[LEN - 10]);
}

#[test]
fn an_index_behind_the_end_is_refused() {
    for (len, index) in [(0, 0), (3, 3), (LEN, LEN), (LEN, usize::MAX)] {
        let mut items = numbers(len, 10);
        let refused = catch_unwind(AssertUnwindSafe(|| {
            pool(2).select_nth_unstable(&mut items, index);
        }));
        let message = *refused.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, format!("select_nth_unstable: index {index}, and there are {len} items"));
    }
}

/// An order that lies or panics selects anything, and loses no item. (If an order lies for ever,
/// std's selection takes quadratic time.)
#[test]
fn an_order_that_lies_or_panics_loses_no_item() {
    let pool = pool(3);
    for panics_at in [usize::MAX, 10_000, 150_000] {
        let (calls, mut items) = (AtomicUsize::new(1), (0..LEN).collect::<Vec<_>>());
        let _ = catch_unwind(AssertUnwindSafe(|| {
            pool.select_nth_unstable_by(&mut items, LEN / 2, |a, b| {
                let call = calls.fetch_add(1, Relaxed);
                assert!(call < panics_at, "planned");
                let lie = if call < 200_000 { call } else { 0 };
                (lie ^ a).cmp(&(lie.rotate_left(7) ^ b))
            });
        }));
        items.sort_unstable();
        assert!(items.into_iter().eq(0..LEN));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 200 }))]

    #[test]
    fn partition_and_selection_of_any_numbers(
        given in prop::collection::vec(0..50_u64, 1..if cfg!(miri) { 100 } else { 3000 }),
        least in 0..51_u64,
        threads in 1..4_usize,
        index in any::<prop::sample::Index>(),
    ) {
        let pool = pool(threads);
        is_parted(&pool, &given, |x| *x >= least);
        is_selected(&pool, &given, index.index(given.len()));
    }
}
