//! Differences from rayon that the README lists.

#![cfg(feature = "threads")]

use std::{
    cell::Cell,
    cmp::Ordering,
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use rangesteal_rayon::{self as rayon, ThreadPoolBuilder, prelude::*};

fn pool(threads: usize) -> rayon::ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

/// An item that is slow enough for other threads to join its loop.
fn slow() {
    thread::sleep(Duration::from_micros(50));
}

#[test]
fn the_calling_thread_works_and_install_calls_on_it() {
    let caller = thread::current().id();
    assert_eq!(pool(2).install(|| thread::current().id()), caller);
    let deep = ThreadPoolBuilder::new().num_threads(2).stack_size(1 << 20).build().expect("a pool");
    assert!(deep.install(|| thread::current().id()) != caller);
    let seen = Mutex::new(HashSet::new());
    pool(1).install(|| {
        (0..100).into_par_iter().for_each(|_| _ = seen.lock().unwrap().insert(thread::current().id()));
    });
    assert_eq!(seen.into_inner().unwrap(), HashSet::from([caller]));
}

#[test]
fn a_pool_starts_one_thread_less_and_numbers_them_from_1() {
    let seen = Mutex::new(HashSet::new());
    let name = |_: rayon::BroadcastContext<'_>| thread::current().name().map(str::to_owned);
    let named = ThreadPoolBuilder::new().num_threads(4).thread_name(|number| format!("named {number}"));
    seen.lock().unwrap().extend(named.build().expect("a pool").broadcast(name));
    let caller = thread::current().name().map(str::to_owned);
    let names = [1, 2, 3].map(|number| Some(format!("named {number}")));
    assert_eq!(seen.into_inner().unwrap(), names.into_iter().chain([caller]).collect());
}

/// A pool with handlers starts all its threads, and calls from outside run on number 0.
#[test]
fn a_pool_with_handlers_has_a_thread_for_each_number() {
    thread_local!(static NUMBER: Cell<Option<usize>> = const { Cell::new(None) });
    let (sender, numbers) = channel();
    let (starts, together) = (sender.clone(), Arc::new(Barrier::new(5)));
    let builder = ThreadPoolBuilder::new().num_threads(4);
    let meets = Arc::clone(&together);
    let builder = builder.start_handler(move |number| {
        NUMBER.set(Some(number));
        meets.wait(); // building waits for no handler
        starts.send(number).unwrap();
    });
    let pool = builder.exit_handler(move |number| sender.send(4 + number).unwrap()).build();
    together.wait();
    let pool = pool.expect("a pool");
    assert_eq!(pool.install(|| NUMBER.get()), Some(0));
    assert_eq!(pool.broadcast(|_| NUMBER.get()), [0, 1, 2, 3].map(Some));
    let index = |_: usize| assert_eq!(NUMBER.get(), rayon::current_thread_index());
    pool.install(|| (0..1000).into_par_iter().for_each(index));
    drop(pool);
    assert_eq!(numbers.iter().collect::<HashSet<_>>(), (0..8).collect());
}

/// The panics of handlers go where those of tasks go, and the threads work on.
#[test]
fn a_panic_of_a_start_handler_goes_to_the_panic_handler() {
    let (sender, panics) = channel();
    let builder = ThreadPoolBuilder::new().num_threads(2).start_handler(|_| panic!("at the start"));
    let pool = builder.panic_handler(move |_| sender.send(()).unwrap()).build().expect("a pool");
    assert_eq!(pool.install(|| (0..100_u32).into_par_iter().sum::<u32>()), 4950);
    drop(pool);
    assert_eq!(panics.iter().count(), 2);
}

#[test]
fn a_thread_that_waits_does_nothing_else() {
    // `was` would be true if an item began on a thread while another item of the same thread waits.
    let depth = AtomicUsize::new(0);
    pool(2).install(|| {
        (0..50).into_par_iter().for_each(|_| {
            thread_local!(static INSIDE: Cell<bool> = const { Cell::new(false) });
            let was = INSIDE.replace(true);
            depth.fetch_max(usize::from(was), Relaxed);
            (0..100).into_par_iter().for_each(|_| thread::yield_now());
            INSIDE.set(was);
        });
    });
    assert_eq!(depth.into_inner(), 0);
}

#[test]
fn the_calling_thread_is_number_0() {
    assert_eq!(rayon::current_thread_index(), None);
    let pool = pool(3);
    assert_eq!(pool.install(rayon::current_thread_index), Some(0));
    assert_eq!(pool.install(rayon::current_num_threads), 3);
    let numbers: Vec<_> =
        pool.install(|| (0..1000).into_par_iter().map(|_| rayon::current_thread_index()).collect());
    assert!(numbers.iter().all(|number| number.is_some_and(|number| number < 3)));
    // A loop inside an item runs on the pool of the item, and the thread keeps its number.
    pool.install(|| {
        (0..100).into_par_iter().for_each(|_| {
            let outside = (rayon::current_num_threads(), rayon::current_thread_index());
            (0..1).into_par_iter().for_each(|_| {
                assert_eq!((rayon::current_num_threads(), rayon::current_thread_index()), outside);
            });
        });
    });
    assert_eq!(rayon::current_thread_index(), None);
}

/// Inside one call, so that buffers that are found by this number have one thread each.
#[test]
fn each_thread_has_a_number_of_its_own_in_loops_and_joins_inside_others() {
    let pool = pool(4);
    let mut threads = HashSet::new();
    for call in 0..4 {
        let seen = Mutex::new(HashSet::new());
        let leaf = || {
            slow();
            seen.lock().unwrap().insert((rayon::current_thread_index().unwrap(), thread::current().id()));
        };
        let leaves = || (0..20).into_par_iter().for_each(|_| leaf());
        let join = || _ = rayon::join(leaves, leaves);
        pool.install(|| match call {
            0 => _ = rayon::join(join, join),
            1 => (0..20).into_par_iter().for_each(|_| leaves()),
            2 => (0..20).into_par_iter().for_each(|_| join()),
            _ => (0..200).collect::<Vec<u32>>().par_sort_by_cached_key(|item| {
                leaf();
                *item
            }),
        });
        threads.extend(seen.into_inner().unwrap());
    }
    let numbers: HashSet<usize> = threads.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers.len(), threads.len(), "{threads:?}");
    assert!(numbers.into_iter().all(|number| number < 4));
}

#[test]
fn two_calling_threads_are_both_number_0() {
    let (pool, both) = (pool(2), Barrier::new(2));
    let number = || {
        pool.install(|| {
            both.wait();
            rayon::current_thread_index()
        })
    };
    let numbers =
        thread::scope(|scope| [scope.spawn(number), scope.spawn(number)].map(|it| it.join().unwrap()));
    assert_eq!(numbers, [Some(0), Some(0)]);
}

#[test]
fn results_are_reduced_in_order() {
    let items: Vec<String> = (0..1000).map(|i| format!("{i} ")).collect();
    for threads in [1, 3] {
        let seen = Mutex::new(HashSet::new());
        let item = |item: &String| {
            slow();
            seen.lock().unwrap().insert(thread::current().id());
            item.clone()
        };
        let all = pool(threads)
            .install(|| items.par_iter().map(item).reduce(String::new, |front, back| front + &back));
        assert_eq!(all, items.concat());
        assert_eq!(seen.into_inner().unwrap().len() > 1, threads > 1, "the loop is shared");
    }
}

#[test]
fn a_join_without_idle_threads_calls_one_closure_after_the_other() {
    let order = Mutex::new(Vec::new());
    let note = |number| order.lock().unwrap().push(number);
    pool(1).install(|| rayon::join(|| note(1), || note(2)));
    assert_eq!(order.into_inner().unwrap(), [1, 2]);
}

#[test]
fn blocks_run_one_after_the_other() {
    let next = AtomicUsize::new(0);
    let numbered = || (0..1000_usize).into_par_iter().map(|item| (item, next.fetch_add(1, Relaxed)));
    let uniform: Vec<_> = numbered().by_uniform_blocks(7).collect();
    assert!(uniform.iter().all(|(item, number)| item / 7 == number / 7));
    next.store(0, Relaxed);
    let growing: Vec<_> = pool(2).install(|| numbered().by_exponential_blocks().collect());
    assert!(growing.iter().all(|(item, number)| (item / 2 + 1).ilog2() == (number / 2 + 1).ilog2()));
    for blocks in [uniform, growing] {
        assert!(blocks.into_iter().map(|(item, _)| item).eq(0..1000));
    }
    // No block begins behind the first match.
    next.store(0, Relaxed);
    assert_eq!(
        numbered().by_uniform_blocks(2).find_first(|(item, _)| *item == 900).map(|it| it.0),
        Some(900)
    );
    assert!(next.load(Relaxed) <= 902);
    assert_eq!((0..5).into_par_iter().by_uniform_blocks(usize::MAX).sum::<i32>(), 10);
    assert_eq!((0..0).into_par_iter().by_exponential_blocks().sum::<i32>(), 0);
}

#[test]
fn fuses_and_lengths_have_no_effect() {
    let items = || (0..1000_u32).into_par_iter();
    let sum = (0..1000).sum::<u32>();
    assert_eq!(items().panic_fuse().sum::<u32>(), sum);
    // Each item that is needed is still called once.
    let calls = AtomicUsize::new(0);
    let seen = |_: &u32| _ = calls.fetch_add(1, Relaxed);
    assert_eq!(items().inspect(seen).with_min_len(100).count(), 1000);
    assert_eq!(calls.into_inner(), 1000);
}

#[test]
fn the_first_error_and_the_first_panic_come_out() {
    for _ in 0..20 {
        let odd = |i: usize| if i % 100 == 99 { Err(i) } else { Ok(i) };
        let all: Result<Vec<_>, _> = (0..1000).into_par_iter().map(odd).collect();
        assert_eq!(all, Err(99));
        assert_eq!((0..1000).into_par_iter().try_for_each(|i| odd(i).map(drop)), Err(99));
    }
    let panics = catch_unwind(|| (0..1000).into_par_iter().for_each(|i| assert!(i % 100 != 99, "{i}")));
    assert_eq!(panics.unwrap_err().downcast_ref::<String>().unwrap(), "99");
    // Other threads meet later errors and panics before the first one.
    let (later, pool) = (AtomicUsize::new(0), pool(3));
    let odd = |i: usize| {
        if i < 499 {
            slow();
            return Ok(i);
        }
        later.fetch_add(usize::from(i > 499), Relaxed);
        Err(i)
    };
    let items = || (0..1000).into_par_iter();
    pool.install(|| {
        assert_eq!(items().map(odd).collect::<Result<Vec<_>, _>>(), Err(499));
        assert_eq!(items().try_for_each(|i| odd(i).map(drop)), Err(499));
        let bad = |i| _ = odd(i).unwrap();
        let panics = catch_unwind(AssertUnwindSafe(|| items().for_each(bad)));
        let message = panics.unwrap_err().downcast::<String>().unwrap();
        assert!(message.ends_with(": 499"), "{message}");
    });
    assert_ne!(later.into_inner(), 0, "later items were met");
}

/// The first half of the items would take minutes. A search that gives up after 20 s finds nothing.
#[test]
fn any_match_is_found_far_behind_the_front() {
    const LEN: u64 = 1 << 40;
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        return; // one thread searches from the front alone
    }
    let begin = Instant::now();
    let (gave_up, late) = (AtomicUsize::new(0), Duration::from_secs(20));
    let is = |x: &u64| {
        if x.is_multiple_of(1024) && begin.elapsed() > late {
            gave_up.store(1, Relaxed);
            return true;
        }
        *x >= LEN / 2
    };
    let items = || (0..LEN).into_par_iter();
    let indexed = || (0..usize::try_from(LEN).expect("a machine of 64 bits")).into_par_iter();
    pool(2).install(|| {
        assert!(items().any(|x| is(&x)));
        assert!(!items().all(|x| !is(&x)));
        assert!(items().filter(is).map(|x| x + 1).any(|_| true));
        assert!(items().find_any(is).is_some_and(|x| is(&x)));
        assert!(items().find_map_any(|x| is(&x).then_some(x)).is_some());
        assert!(indexed().position_any(|x| is(&(x as u64))).is_some_and(|at| is(&(at as u64))));
        assert!(indexed().map(|x| x as u64).position_any(|x| is(&x)).is_some_and(|at| is(&(at as u64))));
    });
    assert_eq!(gave_up.into_inner(), 0, "a match was found");
}

/// Of a short loop, the calling thread tests the items alone, so it meets the first match first.
#[test]
fn a_search_for_any_match_begins_at_the_front() {
    let items = || (0..1000_usize).into_par_iter();
    pool(1).install(|| {
        assert_eq!(items().find_any(|i| i % 300 == 299), Some(299));
        assert_eq!(items().position_any(|i| i % 300 == 299), Some(299));
    });
    assert_eq!(items().find_last(|i| i % 300 == 299), Some(899));
}

#[test]
fn no_closure_sees_what_is_skipped() {
    let (calls, pool) = (AtomicUsize::new(0), pool(3));
    let call = |_: &i32| {
        slow();
        calls.fetch_add(1, Relaxed);
    };
    let items = || (0..1000).into_par_iter().inspect(call);
    let counts = pool.install(|| [items().skip(600).take(300).count(), items().step_by(4).skip(1).count()]);
    assert_eq!((counts, calls.into_inner()), ([300, 249], 549));
}

#[test]
fn the_closures_of_a_join_may_run_one_after_the_other() {
    let (pool, ended) = (ThreadPoolBuilder::new().num_threads(1).build().expect("a pool"), Mutex::new(false));
    let first = || {
        thread::sleep(Duration::from_millis(20));
        *ended.lock().unwrap() = true;
    };
    assert!(pool.join(first, || *ended.lock().unwrap()).1, "the second one begins when the first has ended");
}

#[test]
fn a_short_closure_of_a_scope_ends_before_its_tasks_begin() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let begins = |_| {
        let ended = Mutex::new(false);
        pool.scope(|scope| {
            scope.spawn(|_| assert!(*ended.lock().unwrap()));
            *ended.lock().unwrap() = true;
        });
    };
    // The closure may be interrupted for longer than a millisecond, but not each time.
    assert!((0..10).any(|i| catch_unwind(AssertUnwindSafe(|| begins(i))).is_ok()));
}

#[test]
fn lengths_bound_what_is_folded() {
    let runs = |least, most| -> Vec<usize> {
        let items = (0..1000).into_par_iter().with_min_len(least).with_max_len(most);
        items.fold(|| 0, |count, _| count + 1).collect()
    };
    assert_eq!(runs(1, 1).len(), 1000);
    assert!(runs(10, 100).iter().all(|run| (10..=100).contains(run)));
}

type Sort = fn(&mut [u32], fn(&u32, &u32) -> Ordering);

#[test]
fn sorts_do_not_panic_if_the_order_is_none() {
    let mut items: Vec<u32> = (0..100_000).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
    items.par_sort();
    assert!(items.is_sorted());
    let order = |a: &u32, b: &u32| (a ^ b.rotate_left(7)).wrapping_mul(0x9E37_79B1).cmp(&(1 << 31));
    let sorts: [Sort; 2] =
        [|items, order| items.par_sort_by(order), |items, order| items.par_sort_unstable_by(order)];
    for len in [1000, 300_000] {
        let mut items: Vec<_> = (0..len).collect();
        assert!(len > 1000 || catch_unwind(AssertUnwindSafe(|| items.sort_by(order))).is_err());
        for sort in sorts {
            sort(&mut items, order);
            items.sort_unstable();
            assert!(items.iter().copied().eq(0..len), "no item is lost or doubled");
            let panics = |_: &u32, _: &u32| panic!("of the program");
            assert!(catch_unwind(AssertUnwindSafe(|| sort(&mut items, panics))).is_err());
        }
    }
}

/// Far too many items for a vector.
const MANY: u64 = 1 << 50;

#[test]
fn chains_and_maps_with_a_state_gather_no_items() {
    pool(2).install(|| {
        let many = || (0..MANY).into_par_iter();
        assert!(many().chain(many()).any(|x| x == 1000));
        assert!(many().map_init(|| 1, |one, x| x + *one).any(|x| x == 1000));
        assert!(many().map_with(1, |one, x| x + *one).filter(|x| x % 2 == 0).any(|x| x == 1000));
        assert_eq!(many().chain(0..5).find_first(|x| *x == 1000), Some(1000));
    });
}

#[test]
fn chains_and_maps_with_a_state_have_indices_without_being_gathered() {
    let many = || (0..usize::try_from(MANY).expect("a machine of 64 bits")).into_par_iter();
    pool(2).install(|| {
        assert!(many().chain(many()).enumerate().any(|(i, x)| i == 1000 && x == 1000));
        let last = many().len() - 1;
        assert_eq!(many().chain(many()).rev().position_first(|x| x == last - 5), Some(5));
        let one_more = || many().map_init(|| 1, |one, x| x + *one);
        assert_eq!(one_more().zip(many()).find_first(|(x, _)| *x == 1000), Some((1000, 999)));
        assert_eq!(many().map_with(1, |one, x| x + *one).position_first(|x| x == 1000), Some(999));
    });
}

#[test]
fn items_in_turn_are_not_gathered() {
    let many = || (0..usize::try_from(MANY).expect("a machine of 64 bits")).into_par_iter();
    pool(2).install(|| {
        assert_eq!(many().interleave(many().map(|x| x + 1)).find_first(|x| *x == 1000), Some(1000));
        assert_eq!(many().interleave_shortest(0..500).position_any(|x| x == 500), Some(1000));
        assert_eq!(many().interleave(0..500).rev().position_first(|_| true), Some(0));
        assert_eq!(many().interleave(many()).enumerate().find_first(|(_, x)| *x == 1000), Some((2000, 1000)));
    });
}

#[test]
fn items_in_turn_and_separators_have_their_order() {
    for threads in [1, 3] {
        pool(threads).install(|| {
            for (len, other) in [(0, 0), (1, 0), (0, 1), (1, 1), (7, 3), (3, 7), (1000, 2000), (2000, 999)] {
                let (a, b): (Vec<u32>, Vec<u32>) = ((0..len).collect(), (5000..5000 + other).collect());
                let (mut plain, mut sides) = (Vec::new(), [a.iter(), b.iter()]);
                while let Some(next) = sides[plain.len() % 2].next() {
                    plain.push(*next);
                }
                let shortest = a.par_iter().copied().interleave_shortest(b.clone());
                assert_eq!((shortest.len(), shortest.collect::<Vec<_>>()), (plain.len(), plain.clone()));
                plain.extend(sides.into_iter().flatten());
                let all = a.par_iter().interleave(&b).copied();
                assert_eq!((all.len(), all.clone().collect::<Vec<_>>()), (plain.len(), plain.clone()));
                assert!(all.enumerate().all(|(at, x)| plain[at] == x));
                let mut separated: Vec<u32> = a.iter().flat_map(|x| [7, *x]).skip(1).collect();
                let between = a.par_iter().copied().intersperse(7);
                assert_eq!(
                    (between.len(), between.clone().collect::<Vec<_>>()),
                    (separated.len(), separated.clone())
                );
                assert!(between.clone().enumerate().all(|(at, x)| separated[at] == x));
                assert_eq!(
                    between.clone().find_last(|x| *x != 7),
                    a.iter().rev().find(|x| **x != 7).copied()
                );
                let even = between.filter(|x| x % 2 == 0).intersperse(7).collect::<Vec<_>>();
                separated.retain(|x| x % 2 == 0);
                assert!(even.into_iter().eq(separated.iter().flat_map(|x| [7, *x]).skip(1)));
            }
        });
    }
}

#[test]
fn loops_that_end_early_gather_no_items() {
    let many = || (0..MANY).into_par_iter();
    // Long enough for the loop to be shared.
    let end = 2_000_000;
    let some = |x| (x < end).then_some(x);
    for threads in [1, 2] {
        pool(threads).install(|| {
            assert!(many().map(some).while_some().sum::<u64>() <= (0..end).sum());
            assert!(many().map(some).while_some().count() <= 2_000_000);
            assert!(!many().map(some).while_some().any(|x| x == MANY - 1));
            assert_eq!(many().map(Some).while_some().find_first(|x| *x == 1000), Some(1000));
            assert!(many().take_any_while(|x| *x < end).max().is_none_or(|x| x < end));
            assert_eq!(many().take_any(3000).map(|x| x % 2).filter(|x| *x < 2).count(), 3000);
            assert_eq!(many().take_any(0).count(), 0);
            // Each of two such stages ends the loop, and ends both loops of a chain.
            assert_eq!(many().take_any(3000).take_any(20).count(), 20);
            assert_eq!(many().take_any(20).take_any_while(|_| true).count(), 20);
            assert_eq!(many().chain(many()).take_any(20).count(), 20);
            assert_eq!((0..7).into_par_iter().chain(many()).take_any(20).count(), 20);
            assert!(many().take_any(3000).try_for_each(Err::<(), _>).is_err());
        });
    }
}

#[test]
fn a_loop_that_ends_early_begins_few_more_items() {
    for threads in [1, 3] {
        let (calls, one) = (AtomicUsize::new(0), Arc::new(()));
        let items: Vec<_> = (0..20_000).map(|_| Arc::clone(&one)).collect();
        let call = |_: &Arc<()>| {
            slow();
            calls.fetch_add(1, Relaxed);
        };
        let taken: Vec<_> =
            pool(threads).install(|| items.into_par_iter().inspect(call).take_any(10).collect());
        assert_eq!((taken.len(), Arc::strong_count(&one)), (10, 11));
        let calls = calls.into_inner();
        assert!(calls < 200, "{calls} calls");
    }
}

/// A thread that is alone ends exactly where the serial loop ends.
#[test]
fn a_thread_that_is_alone_ends_early_as_the_serial_loop() {
    pool(1).install(|| {
        let items = || (0..1000_u32).into_par_iter();
        let before: Vec<u32> = items().take_any_while(|x| x % 10 != 5).collect();
        assert_eq!(before, [0, 1, 2, 3, 4]);
        let sum: u32 = items().map(|x| (x % 10 != 5).then_some(x)).while_some().sum();
        assert_eq!(sum, 10);
        let calls = AtomicUsize::new(0);
        let slow = |_: &u32| {
            thread::sleep(Duration::from_millis(2));
            calls.fetch_add(1, Relaxed);
        };
        assert_eq!(items().inspect(slow).take_any(5).count(), 5);
        assert_eq!(calls.into_inner(), 5);
    });
}

#[test]
fn while_some_collects_all_that_comes_before_the_first_none() {
    for threads in [1, 3] {
        pool(threads).install(|| {
            for last in [0, 1, 700, 4999, 5000] {
                let some = |x: u32| {
                    if x.is_multiple_of(100) {
                        thread::yield_now();
                    }
                    (x != last).then_some(x)
                };
                let items = || (0..5000).into_par_iter().map(some).while_some();
                assert_eq!(items().collect::<Vec<_>>(), (0..last).collect::<Vec<_>>());
                assert!(items().all(|x| x != last));
            }
        });
    }
}

#[test]
fn chains_have_the_results_of_two_loops_in_order() {
    let (a, b) = (0..3000_u32, 5..4000_u32);
    let both = || a.clone().into_par_iter().chain(b.clone());
    let plain: Vec<u32> = a.clone().chain(b.clone()).collect();
    for threads in [1, 3] {
        pool(threads).install(|| {
            assert_eq!(both().collect::<Vec<_>>(), plain);
            assert_eq!(both().map(u64::from).sum::<u64>(), plain.iter().map(|x| u64::from(*x)).sum());
            assert_eq!(both().count(), plain.len());
            assert_eq!(both().find_first(|x| *x > 2999), Some(3000));
            assert_eq!(both().find_last(|x| *x < 5), Some(4));
            assert_eq!(both().find_last(|x| *x < 6), Some(5));
            let text = |x: u32| x.to_string();
            let joined = both().map(text).reduce(String::new, |a, b| a + &b);
            assert_eq!(joined, plain.iter().copied().map(text).collect::<String>());
            let failing = |x: u32| if x == 3500 { Err(x) } else { Ok(x) };
            assert_eq!(both().map(failing).collect::<Result<Vec<_>, _>>(), Err(3500));
            let parted: (Vec<u32>, Vec<u32>) = both().partition(|x| x % 2 == 0);
            assert_eq!(parted, plain.iter().partition(|x| **x % 2 == 0));
            assert!(both().enumerate().all(|(at, x)| plain[at] == x));
            assert_eq!(both().skip_any(10).count(), plain.len() - 10);
            assert_eq!(both().take_any(3500).count(), 3500);
            let some = both().map(|x| (x < 2900).then_some(x)).while_some();
            assert_eq!(some.collect::<Vec<_>>(), plain[..2900]);
        });
    }
}

#[test]
fn maps_with_states_may_follow_each_other() {
    for threads in [1, 3] {
        pool(threads).install(|| {
            // Each state counts the items that it has met.
            let counted = |count: &mut u32, x: u32| {
                *count += 1;
                (x, *count)
            };
            let items = (0..2000_u32).into_par_iter().map_init(|| 0, counted).filter(|(x, _)| x % 3 == 0);
            let twice = items.map_with(0, |seen, (x, count)| {
                *seen += 1;
                assert!(*seen <= count);
                x
            });
            assert_eq!(twice.collect::<Vec<_>>(), (0..2000).step_by(3).collect::<Vec<_>>());
        });
    }
}

#[test]
fn folds_keep_the_order_and_the_lengths_of_runs() {
    for threads in [1, 3] {
        pool(threads).install(|| {
            let push = |mut run: Vec<u32>, x| {
                run.push(x);
                run
            };
            let fold = |least, most| -> Vec<Vec<u32>> {
                let items = (0..5000_u32).into_par_iter().with_min_len(least).with_max_len(most);
                items.fold(Vec::new, push).collect()
            };
            for (least, most) in [(1, usize::MAX), (1, 7), (64, usize::MAX), (10, 100)] {
                let runs = fold(least, most);
                assert_eq!(runs.concat(), (0..5000).collect::<Vec<_>>());
                let lengths = runs.iter().map(Vec::len);
                assert!(lengths.clone().all(|len| (least..=most).contains(&len)), "{least} {most}");
            }
        });
    }
}

/// A loop that ends early ends also in the middle of the items that one item makes.
#[test]
fn items_without_end_are_taken_up_to_the_end() {
    let endless = || (0..4_u32).into_par_iter().flat_map_iter(|_| 1_u64..);
    assert_eq!(endless().take_any(10).count(), 10);
    assert!(endless().take_any_while(|item| *item < 100).max() < Some(100));
    let some = || endless().map(|item| (item < 100).then_some(item));
    assert!(some().while_some().max() < Some(100));
    assert_eq!(endless().filter(|item| item % 2 == 0).take_any(3).collect::<Vec<_>>().len(), 3);
}
