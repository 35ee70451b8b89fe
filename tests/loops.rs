//! Tests of the loops' contracts. For any length and any number of threads, every item is folded
//! once and in order.

mod busy;

use std::{
    cell::Cell,
    collections::HashSet,
    hint::black_box,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use busy::{Others, work};
use proptest::prelude::*;
use rangesteal::{Alone, Pool, RunReport};

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a pool of a few threads")
}

/// A million items would be worth sharing. The three items up to the error are not worth sharing,
/// even if a helper is awake. (In the first calls the pool does not know where the loop stops, and
/// any call may be interrupted. In an unoptimised build the items take 3 µs, so they are tried
/// shared.)
#[test]
#[cfg_attr(miri, ignore = "Miri gives a function many addresses, so no loop is known again")]
fn a_loop_that_stops_early_again_and_again_wakes_nobody() {
    let (pool, items) = (pool(2), (0..1_000_000).collect::<Vec<u32>>());
    let stops = |x: &u32| if *x == 2 { Err(*x) } else { Ok(()) };
    let mut alone = [0; 3];
    for _call in 0..40 {
        let mut reports = [(); 3].map(|()| RunReport::default());
        let [each, reduced, any] = &mut reports;
        assert_eq!(pool.on(&items).report(each).try_for_each(stops), Err(2));
        assert_eq!(pool.on(&items).report(reduced).map(stops).try_reduce(|(), ()| ()), Err(2));
        assert!(pool.on(&items).report(any).any(|x| *x == 2));
        for (alone, report) in alone.iter_mut().zip(reports) {
            let runs_alone = matches!(report.alone, Some(Alone::Short | Alone::Faster | Alone::Round));
            *alone += usize::from(runs_alone);
        }
    }
    assert!(alone.into_iter().all(|calls| calls > 20), "{alone:?} of 40 on the calling thread alone");
}

/// One call site over cheap and heavy items. Before a call, the pool cannot know whether its items
/// are cheap or heavy.
#[test]
#[cfg_attr(miri, ignore = "Miri gives a function many addresses, so no loop is known again")]
fn a_loop_that_used_to_be_short_is_shared_when_it_is_long() {
    const HEAVY: u32 = u32::MAX;
    let (pool, items, caller) = (pool(2), vec![(); 200], thread::current().id());
    let (turns, helped) = (AtomicU32::new(0), AtomicUsize::new(0));
    let item = || match turns.load(Relaxed) {
        HEAVY => {
            thread::sleep(Duration::from_micros(100));
            helped.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
        }
        light => (0..light).for_each(|turn| _ = black_box(turn)),
    };
    let fails = |()| -> Result<(), ()> {
        item();
        Ok(())
    };
    let loops: [(&str, &dyn Fn()); 3] = [
        ("for_each", &|| pool.for_each(&items, |()| item())),
        ("all", &|| assert!(pool.on(&items).all(|()| fails(()).is_ok()))),
        ("try_for_each", &|| assert_eq!(pool.on(&items).try_for_each(|()| fails(())), Ok(()))),
    ];
    // Calls of less than a microsecond, and of some microseconds.
    for light in [0, 1, 2, 5, 10] {
        for (name, call) in loops {
            let is_helped = |_call: &u32| {
                turns.store(light, Relaxed);
                (0..50).for_each(|_| call());
                turns.store(HEAVY, Relaxed);
                helped.store(0, Relaxed);
                call();
                helped.load(Relaxed) > 50
            };
            // A helper does half of the work of 20 ms, unless another program uses its CPU.
            let calls = (0..10).filter(is_helped).count();
            assert!(calls >= 5, "{name} after items of {light} turns: {calls} of 10 calls are helped");
        }
    }
}

/// If each of two workers moved its merged result for every item, 10^8 numbers would be moved.
#[test]
#[cfg_attr(miri, ignore = "long")]
fn partial_results_that_grow_are_not_moved_with_every_item() {
    const ITEMS: usize = 20_000;
    let moved = AtomicUsize::new(0);
    let merge = |mut before: Vec<usize>, behind: Vec<usize>| {
        moved.fetch_add(before.len() + behind.len(), Relaxed);
        let mut merged = Vec::with_capacity(before.len() + behind.len());
        merged.append(&mut before);
        merged.extend(behind);
        merged
    };
    let merged = pool(2).on(0..ITEMS).map(|i| vec![i]).reduce(merge);
    assert!(merged.is_some_and(|merged| merged.into_iter().eq(0..ITEMS)));
    assert!(moved.load(Relaxed) < 30_000_000, "{moved:?} numbers moved");
}

/// Another program uses a helper's CPU. The helper begins an item, and ends this item much later.
#[test]
#[cfg_attr(miri, ignore = "Miri's clock is not that of the threads")]
fn a_helper_that_holds_up_loops_is_left_alone() {
    let (pool, items, caller) = (pool(2), vec![(); 1000], thread::current().id());
    let item = |(): &()| {
        if thread::current().id() == caller {
            work(1000);
        } else {
            thread::sleep(Duration::from_millis(200));
        }
    };
    let is_held_up = |_call: &u32| {
        let (begin, mut report) = (Instant::now(), RunReport::default());
        pool.on(&items).report(&mut report).for_each(item);
        report.alone.is_none() && begin.elapsed() > Duration::from_millis(150)
    };
    let held_up = (0..60).filter(is_held_up).count();
    assert!((1..=20).contains(&held_up), "{held_up} of 60 calls; 4 on a quiet machine");
}

/// An item of the caller returns the error. A helper has half of the items, which would take 100
/// ms.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn an_error_ends_the_loop_for_all_workers() {
    let (pool, visits) = (pool(2), AtomicUsize::new(0));
    let ended = pool.on(0..200).try_for_each(|i| {
        visits.fetch_add(1, Relaxed);
        thread::sleep(Duration::from_millis(1));
        if i == 2 { Err(i) } else { Ok(()) }
    });
    assert_eq!(ended, Err(2));
    assert!(visits.into_inner() < 100);
}

#[test]
fn every_item_is_mapped_once() {
    let (all_threads, lengths): (&[_], &[_]) = if cfg!(miri) {
        (&[1, 3], &[0, 1, 2, 7, 65])
    } else {
        (&[1, 2, 3, 8, 40], &[0, 1, 2, 3, 7, 63, 64, 65, 129, 1000])
    };
    for &threads in all_threads {
        let pool = pool(threads);
        for &len in lengths {
            for cost in [0, 2_000] {
                let visits: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
                pool.for_each(&visits, |count| {
                    count.fetch_add(1, Relaxed);
                    work(cost);
                });
                assert!(
                    visits.iter().all(|count| count.load(Relaxed) == 1),
                    "{threads} threads, {len} items of {cost} ns"
                );
            }
        }
    }
}

#[test]
fn results_come_in_slice_order() {
    let items: Vec<u32> = (0..if cfg!(miri) { 30 } else { 500 }).collect();
    let digits = |item: &u32| {
        work(1000);
        format!("{item},")
    };
    let expected: String = items.iter().map(u32::to_string).map(|digits| digits + ",").collect();
    for threads in [1, 2, 3, 8] {
        let pool = pool(threads);
        for _ in 0..if cfg!(miri) { 1 } else { 20 } {
            // String concatenation is associative and not commutative.
            let joined = pool.map_reduce(&items, digits, |a, b| a + &b);
            assert_eq!(joined.as_deref(), Some(&*expected));
            let folded =
                pool.fold_reduce(&items, String::new, |acc, item| acc + &digits(item), |a, b| a + &b);
            assert_eq!(folded, expected);
            assert_eq!(pool.map_collect(&items, digits).concat(), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]
    #[test]
    fn as_the_plain_loop(
        costs in prop::collection::vec(prop_oneof![20 => Just(0u64), 1 => 0u64..20_000], 0..if cfg!(miri) { 40 } else { 2_000 }),
        threads in 1usize..9,
        spin in prop_oneof![Just(0), Just(50)],
    ) {
        let builder = Pool::builder().num_threads(threads);
        let pool = builder.spin_before_park(Duration::from_micros(spin)).build().unwrap();
        for _ in 0..3 { // from the second call on, the pool knows the loop
            let visit = |cost: &u64| { work(*cost); vec![*cost] };
            let mapped = pool.map_collect(&costs, |cost| { work(*cost); *cost });
            prop_assert_eq!(&mapped, &costs);
            let folded = pool.map_reduce(&costs, visit, |mut a, b| { a.extend(b); a });
            prop_assert_eq!(folded.unwrap_or_default(), costs.clone());
        }
    }
}

#[test]
fn init_is_neutral_and_called_for_an_empty_slice() {
    let pool = pool(2);
    assert_eq!(pool.fold_reduce(&[], || 7, |a, x: &i32| a + x, |a, b| a + b), 7);
    assert_eq!(pool.map_reduce(&[], |x: &i32| *x, |a, b| a + b), None);
    assert_eq!(pool.map_collect(&[], |x: &i32| *x), []);
}

#[test]
fn one_item_runs_on_the_caller() {
    let pool = pool(4);
    let caller = thread::current().id();
    for _ in 0..100 {
        pool.for_each(&[()], |()| {
            assert_eq!(thread::current().id(), caller);
            work(100_000);
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri gives a function many addresses, so no loop is known again")]
fn fewer_items_than_workers_all_run_at_once() {
    let pool = pool(8);
    let items = [0; 3];
    let threads = || {
        let ids = pool.map_collect(&items, |_| {
            thread::sleep(Duration::from_millis(200));
            thread::current().id()
        });
        ids.into_iter().collect::<HashSet<_>>().len()
    };
    threads(); // the pool learns this loop
    assert!((0..10).any(|_| threads() == 3), "three sleepers never had three threads");
}

#[test]
#[cfg_attr(miri, ignore = "about time")]
fn more_workers_than_cpus_are_for_items_that_sleep() {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let pool = pool(cpus + 4);
    let threads = |item: &(dyn Fn() + Sync)| {
        let ids = pool.map_collect(&[(); 300], |()| {
            item();
            thread::current().id()
        });
        ids.into_iter().collect::<HashSet<_>>().len()
    };
    // A loop is known by its code. Both calls have the same code, so the pool must learn the loop
    // again.
    let within_thirty = |item: &(dyn Fn() + Sync), enough: &dyn Fn(usize) -> bool| {
        let others = Others::watch();
        let counts: Vec<usize> = (0..30).map(|_| threads(item)).collect();
        let are_enough = counts.iter().copied().any(enough) || others.have_a_cpu();
        assert!(are_enough, "{counts:?} of {} threads on {cpus} CPUs", cpus + 4);
    };
    // On other systems the pool does not know which items sleep, so all loops use all workers.
    let told = cfg!(all(target_os = "linux", not(portable)));
    within_thirty(&|| work(20_000), &|threads| !told || threads <= cpus.max(2));
    within_thirty(&|| thread::sleep(Duration::from_millis(1)), &|threads| threads == cpus + 4);
    within_thirty(&|| work(20_000), &|threads| !told || threads <= cpus.max(2));
}

#[test]
fn zero_sized_items_of_any_number() {
    let pool = pool(2);
    // The loop runs over all of 2^33 - 1 items. The compiler removes the closure, so the loop costs
    // one claim per 64 items.
    let len = match () {
        () if cfg!(miri) => 1 << 10,
        () if cfg!(debug_assertions) => 1 << 21,
        () => usize::MAX >> usize::BITS.saturating_sub(33),
    };
    let many = vec![(); len];
    for _ in 0..2 {
        let count = pool.fold_reduce(&many, || 0usize, |count, ()| count + 1, |a, b| a + b);
        assert_eq!(count, many.len());
    }
    // The loop must not compute an index beyond the last one. A panic ends the loop.
    let endless = vec![(); usize::MAX];
    let enough = if cfg!(miri) { 1_000 } else { 100_000 };
    let steps = AtomicUsize::new(0);
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.for_each(&endless, |()| {
            assert!(steps.fetch_add(1, Relaxed) < enough, "far enough");
        });
    }));
    assert!(stopped.is_err());
}

#[test]
fn arrays_vecs_and_slices_are_taken_without_annotations() {
    let pool = pool(2);
    let vec = vec![1, 2, 3];
    assert_eq!(pool.map_reduce(&vec, |x| x + 1, |a, b| a + b), Some(9));
    assert_eq!(pool.map_reduce(&[1, 2, 3], |x| x + 1, |a, b| a + b), Some(9));
    assert_eq!(pool.map_reduce(&vec[1..], |x| x + 1, |a, b| a + b), Some(7));
}

/// The first half of the items would take minutes. A search that gives up after 20 s finds nothing,
/// which is so without a helper, too.
#[test]
#[cfg_attr(miri, ignore = "runs for milliseconds, which are minutes under Miri")]
fn any_match_is_found_far_behind_the_front() {
    const LEN: u64 = 1 << 40;
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        return; // one worker searches from the front alone
    }
    let pool = pool(2);
    let (begin, others) = (Instant::now(), Others::watch());
    let (gave_up, late) = (AtomicUsize::new(0), Duration::from_secs(20));
    let is = |x: u64| {
        if x.is_multiple_of(1024) && begin.elapsed() > late {
            gave_up.store(1, Relaxed);
            return true;
        }
        x >= LEN / 2
    };
    for _call in 0..2 {
        assert!(pool.on(0..LEN).any(is));
        assert!(!pool.on(0..LEN).all(|x| !is(x)));
        assert!(pool.on(0..LEN).map(|x| x).filter(|x| is(*x)).any(|_| true));
        assert!(pool.on(0..LEN).find_any(|x| is(*x)).is_some());
        let place = pool.on(0..LEN).position_any(is);
        assert!(place.is_some_and(|place| is(place as u64)));
        assert!(!pool.on(0..LEN).eq(rangesteal::source(0..LEN).map(|x| if is(x) { 0 } else { x })));
    }
    assert!(gave_up.into_inner() == 0 || others.have_a_cpu(), "no match was found");
}

#[test]
fn a_destructor_of_a_thread_local_calls_loops() {
    struct AtEnd(Pool);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            for pool in [&self.0, Pool::global()] {
                assert_eq!(pool.on(0..1000_u32).sum::<u32>(), 499_500);
                pool.for_each(&[2, 1], |_| assert_eq!(pool.join(|| 1, || 2), (1, 2)));
                let mut numbers: Vec<u32> = (0..10_000).rev().collect();
                pool.sort(&mut numbers);
                assert!(numbers.is_sorted());
            }
        }
    }
    thread_local!(static AT_END: AtEnd = AtEnd(pool(2)));
    // A panic in the destructor would abort the process.
    thread::spawn(|| AT_END.with(|at_end| assert_eq!(at_end.0.on(0..9).count(), 9))).join().unwrap();
}

#[test]
fn whatever_holds_a_slice_is_a_source() {
    let pool = pool(2);
    let (mut vec, mut array, mut other) = (vec![1, 2, 3], [1, 2, 3], [1, 2, 3]);
    let add = |x: &mut i32| *x += 1;
    pool.on(&mut vec).for_each(add);
    pool.on(&mut array).for_each(add);
    let (mut vec, mut slice) = (&mut vec, &mut other[..]);
    pool.on(&mut vec).for_each(add);
    pool.on(&mut slice).for_each(add);
    let (vec, slice) = (&*vec, &*slice);
    assert_eq!((&vec[..], array, slice), (&[3, 4, 5][..], [2, 3, 4], &[2, 3, 4][..]));
    let twelve = |sum| assert_eq!(sum, Some(12));
    twelve(pool.on(vec).copied().reduce(|a, b| a + b));
    twelve(pool.on(&vec).copied().reduce(|a, b| a + b));
    twelve(pool.on(slice).map(|x| x + 1).reduce(|a, b| a + b));
    twelve(pool.on(&slice).map(|x| x + 1).reduce(|a, b| a + b));
    twelve(pool.on(&array).map(|x| x + 1).reduce(|a, b| a + b));
}

#[test]
#[cfg_attr(miri, ignore = "about time")]
fn a_short_loop_wakes_nobody() {
    let pool = pool(2);
    let caller = thread::current().id();
    let elsewhere = || {
        let elsewhere = AtomicUsize::new(0);
        for _ in 0..1000 {
            pool.for_each(&[1, 2], |_| {
                if thread::current().id() != caller {
                    elsewhere.fetch_add(1, Relaxed);
                }
            });
        }
        elsewhere.into_inner()
    };
    // An interrupted call looks long, so on a busy machine some calls are shared. One quiet batch
    // suffices.
    let batches: Vec<usize> = (0..100).map(|_| elsewhere()).take_while(|&count| count > 0).collect();
    assert!(batches.len() < 100, "items that ran elsewhere, of 2000 each: {batches:?}");
}

#[test]
fn the_pool_is_send_and_sync() {
    fn check<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<Pool>();
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn a_worker_stack_is_flat() {
    // No item runs inside another item: a shared loop does not nest items on one stack.
    let pool = pool(3);
    pool.for_each(&[500u64; 500], |cost| {
        DEPTH.with(|depth| {
            assert_eq!(depth.replace(1), 0);
            work(*cost);
            depth.set(0);
        });
    });
}
