//! Tests of loops over a list that grows. In all cases, every item is folded or dropped once.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use rangesteal::{Alone, CancelToken, Cancelled, Pool, RunReport};

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// A number of items, smaller under Miri.
fn many(items: u64) -> u64 {
    if cfg!(miri) { items.min(200) } else { items }
}

/// The children of a node of an irregular tree: numbers below `end`.
fn children(node: u64, end: u64) -> impl Iterator<Item = u64> {
    (1..=1 + node % 3).map(move |i| 3 * node + i).filter(move |child| *child < end)
}

/// Counts the nodes of the tree, with a serial stack.
fn nodes(end: u64) -> Vec<u64> {
    let (mut stack, mut nodes) = (vec![0], Vec::new());
    while let Some(node) = stack.pop() {
        nodes.push(node);
        stack.extend(children(node, end));
    }
    nodes.sort_unstable();
    nodes
}

fn append(mut a: Vec<u64>, mut b: Vec<u64>) -> Vec<u64> {
    a.append(&mut b);
    a
}

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn every_item_is_folded_once() {
    for threads in [1, 2, 3, 7] {
        let pool = pool(threads);
        for end in [1, 2, 5, 100, 10_000, 300_000, 3_000_000].map(many) {
            let mut report = RunReport::default();
            let mut seen = pool.grow([0]).report(&mut report).fold_unordered(
                Vec::new,
                |mut seen, node, feed| {
                    seen.push(node);
                    feed.extend(children(node, end));
                    seen
                },
                append,
            );
            seen.sort_unstable();
            assert!(seen == nodes(end), "{threads} threads, {end}");
            assert_eq!(report.items(), seen.len());
        }
    }
}

#[test]
fn every_seed_is_folded_once_with_all_that_it_makes() {
    let pool = pool(3);
    for seeds in [0, 1, 2, 63, 64, 65, 1000, 100_000].map(many) {
        let mut seen = pool.grow((0..seeds).map(|seed| (seed, true))).fold_unordered(
            Vec::new,
            |mut seen, (item, is_seed), feed| {
                seen.push(item);
                if is_seed && item % 7 == 0 {
                    feed.push((item + seeds, false));
                }
                seen
            },
            append,
        );
        seen.sort_unstable();
        let made = (0..seeds).filter(|seed| seed % 7 == 0).map(|seed| seed + seeds);
        assert_eq!(seen, (0..seeds).chain(made).collect::<Vec<_>>());
    }
}

/// The last call of a loop was short, so the calling thread begins the next call alone. This call
/// takes long, so the thread shares it. No remaining seed is lost.
#[test]
fn no_seed_is_lost_when_a_short_loop_takes_long() {
    let pool = pool(2);
    for call in 0..200 {
        let is_long = call % 10 == 9;
        let folded = pool.grow(0..40).fold_unordered(
            || 0,
            |folded, _seed, _feed| {
                if is_long {
                    spin(Duration::from_micros(20));
                }
                folded + 1
            },
            |a, b| a + b,
        );
        assert_eq!(folded, 40, "call {call}");
    }
}

#[test]
fn one_worker_takes_seeds_in_order_and_what_they_make_before_the_next() {
    for pool in [pool(1), pool(2)] {
        let order = Mutex::new(Vec::new());
        pool.grow([10, 20, 30]).threads(1).for_each(|item, feed| {
            order.lock().unwrap().push(item);
            if item % 10 == 0 {
                feed.extend([item + 1, item + 2]);
            }
        });
        assert_eq!(order.into_inner().unwrap(), [10, 11, 12, 20, 21, 22, 30, 31, 32]);
    }
}

/// An iterator that adds items to the list when it is dropped.
struct Late<'a, 'f>(&'a rangesteal::Feed<'f, u64>, u64);

impl Iterator for Late<'_, '_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.1 = self.1.checked_sub(1)?;
        self.0.push(100 + self.1);
        Some(self.1)
    }
}

#[test]
fn what_is_added_at_once_is_folded_forward() {
    let order = |count: u64, more: fn(u64, &rangesteal::Feed<'_, u64>)| {
        let order = Mutex::new(Vec::new());
        pool(2).grow([count]).threads(1).for_each(|item, feed| {
            let is_first = order.lock().unwrap().is_empty();
            order.lock().unwrap().push(item);
            if is_first {
                feed.push(1000);
                more(item, feed);
            }
        });
        order.into_inner().unwrap()
    };
    for count in [0, 1, 2, 3, 4, 10, 100] {
        let forward = order(count, |count, feed| feed.extend(0..count));
        assert!(forward.into_iter().eq([count].into_iter().chain(0..count).chain([1000])));
        let backward = order(count, |count, feed| (0..count).for_each(|item| feed.push(item)));
        assert!(backward.into_iter().eq([count].into_iter().chain((0..count).rev()).chain([1000])));
        // Each item is folded once, whatever the iterator does.
        let mut all = order(count, |count, feed| feed.extend(Late(feed, count)));
        all.sort_unstable();
        let mut expected: Vec<u64> = (0..count).chain(100..100 + count).chain([count, 1000]).collect();
        expected.sort_unstable();
        assert_eq!(all, expected);
    }
}

#[test]
fn an_iterator_that_panics_adds_what_it_has_given() {
    let alive = &AtomicUsize::new(0);
    for given in 0..5 {
        let broken = catch_unwind(AssertUnwindSafe(|| {
            pool(2).grow([Counted::new(alive, 0)]).for_each(|item, feed| {
                if item.1 == 0 {
                    feed.extend((1..9).map(|number| {
                        assert!(number <= given, "no more");
                        Counted::new(alive, number)
                    }));
                }
            });
        }));
        assert!(broken.is_err());
        assert_eq!(alive.load(Relaxed), 0, "all are dropped");
    }
}

/// An item that counts the living items of its type.
struct Counted<'a>(&'a AtomicUsize, u64);

impl<'a> Counted<'a> {
    fn new(alive: &'a AtomicUsize, number: u64) -> Self {
        alive.fetch_add(1, Relaxed);
        Self(alive, number)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
        if self.1 == u64::MAX {
            panic_any(()); // no message
        }
    }
}

#[test]
fn whatever_stops_the_loop_each_item_is_dropped_once() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Stop {
        Panic,
        Error,
        Cancel,
        PanicAndDrop,
    }
    let end = many(50_000);
    for threads in if cfg!(miri) { vec![2] } else { vec![1, 2, 4] } {
        let pool = pool(threads);
        for stop in [Stop::Panic, Stop::Error, Stop::Cancel, Stop::PanicAndDrop] {
            for at in [0, 40, end / 2] {
                let (alive, token) = (AtomicUsize::new(0), CancelToken::new());
                let seeds = (0..20).map(|_| Counted::new(&alive, 0));
                let folded = catch_unwind(AssertUnwindSafe(|| {
                    pool.grow(seeds).cancel(&token).try_for_each(|item, feed| {
                        feed.extend(children(item.1, end).map(|child| Counted::new(&alive, child)));
                        if item.1 < at {
                            return Ok(());
                        }
                        match stop {
                            Stop::Panic => panic_any(at),
                            Stop::Error => return Err(at),
                            Stop::Cancel => token.cancel(),
                            Stop::PanicAndDrop => {
                                feed.push(Counted::new(&alive, u64::MAX)); // its drop panics as well
                                panic_any(at);
                            }
                        }
                        Ok(())
                    })
                }));
                assert_eq!(alive.load(Relaxed), 0, "{threads} threads, {stop:?} at {at}");
                match (stop, folded) {
                    (Stop::Panic | Stop::PanicAndDrop, Err(payload)) => {
                        assert_eq!(payload.downcast_ref(), Some(&at));
                    }
                    (Stop::Error, Ok(ended)) => assert_eq!(ended, Ok(Err(at))),
                    (Stop::Cancel, Ok(ended)) => assert_eq!(ended, Err(Cancelled)),
                    (_, folded) => panic!("{stop:?}: {}", folded.is_ok()),
                }
            }
        }
        let sum = pool.grow(0..100).fold_unordered(|| 0, |sum, item, _| sum + item, |a, b| a + b);
        assert_eq!(sum, 4950, "as usable as before");
    }
}

#[test]
fn a_loop_that_is_cancelled_before_folds_nothing() {
    let (pool, token) = (pool(2), CancelToken::new());
    token.cancel();
    let ended = pool.grow(0..100).cancel(&token).for_each(|_, _| panic!("nothing is folded"));
    assert_eq!(ended, Err(Cancelled));
}

#[test]
fn a_loop_in_a_loop_and_one_beside_another_run_on_their_own_threads() {
    let pool = pool(2);
    let count = |depth: u32| {
        let tree = pool.grow([depth]);
        tree.fold_unordered(
            || 0_u64,
            |nodes, depth, feed| {
                feed.extend([depth.checked_sub(1), depth.checked_sub(1)].into_iter().flatten());
                nodes + 1
            },
            |a, b| a + b,
        )
    };
    let depth = if cfg!(miri) { 4 } else { 12 };
    let nodes = (2 << depth) - 1;
    let nested = pool.grow(0..20).fold_unordered(|| 0, |sum, _, _| sum + count(depth), |a, b| a + b);
    assert_eq!(nested, 20 * nodes);
    let in_on = pool.on(0..20).map(|_| count(depth)).reduce(|a, b| a + b);
    assert_eq!(in_on, Some(20 * nodes));
    thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| (0..20).map(|_| count(depth)).sum::<u64>()));
        assert!(both.into_iter().all(|sum| sum.join().unwrap() == 20 * nodes));
    });
}

#[test]
fn items_without_size_and_large_ones() {
    let pool = pool(3);
    let left = AtomicUsize::new(if cfg!(miri) { 100 } else { 100_000 });
    let all = 2 * left.load(Relaxed) + 1;
    let none = pool.grow([()]).fold_unordered(
        || 0,
        |items, (), feed| {
            if left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                feed.extend([(), ()]);
            }
            items + 1
        },
        |a, b| a + b,
    );
    assert_eq!(none, all);
    let large = pool.grow([[7_u64; 100]]).fold_unordered(
        || 0,
        |items, item, feed| {
            assert!(item.iter().all(|x| *x == item[0]));
            if item[0] > 0 {
                feed.extend([[item[0] - 1; 100]; 3]);
            }
            items + 1
        },
        |a, b| a + b,
    );
    assert_eq!(large, (3_usize.pow(8) - 1) / 2);
}

/// While the calling thread folds a long item, other workers fold the items that the calling thread
/// has already added.
#[test]
#[cfg_attr(miri, ignore = "needs time")]
fn nothing_waits_behind_a_long_item() {
    let pool = pool(2);
    let caller = thread::current().id();
    for _round in 0..10 {
        let elsewhere = AtomicUsize::new(0);
        pool.grow([0]).for_each(|item, feed| match item {
            0 => {
                spin(Duration::from_millis(1)); // the loop is shared from here on
                feed.push(1);
            }
            1 => {
                feed.extend(2..10);
                spin(Duration::from_millis(40));
            }
            _ => {
                spin(Duration::from_millis(2));
                elsewhere.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
            }
        });
        if elsewhere.load(Relaxed) >= 4 {
            return; // half of the eight short items
        }
    }
    panic!("items have waited for a long one, ten times");
}

/// The list begins with a chain of cheap items. During the chain, other workers find no item and
/// leave. Some long items follow.
fn after_a_chain(pool: &Pool, long: u32, f: impl Fn(u32) + Sync) {
    const CHEAP: u32 = 1_000_000;
    pool.grow([0]).for_each(|item, feed| match item {
        CHEAP => feed.extend(CHEAP + 1..=CHEAP + long),
        0..CHEAP => feed.push(item + 1),
        _ => f(item - CHEAP),
    });
}

#[test]
#[cfg_attr(miri, ignore = "needs time")]
fn long_items_behind_cheap_ones_are_shared() {
    let caller = thread::current().id();
    let shared = || {
        let (pool, elsewhere) = (pool(2), AtomicUsize::new(0));
        after_a_chain(&pool, 40, |_| {
            thread::sleep(Duration::from_millis(2));
            elsewhere.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
        });
        elsewhere.into_inner()
    };
    assert!((0..10).any(|_| (12..40).contains(&shared())), "one worker has folded nearly all of 40");
}

/// The list begins with a long chain. During the chain, the other worker comes and leaves. Some
/// long items follow. If the caller does not call the worker, the worker never comes back.
#[test]
#[cfg_attr(miri, ignore = "needs time")]
fn who_has_gone_is_called_back() {
    const CHAIN: u32 = 200;
    let caller = thread::current().id();
    let shared = || {
        let (pool, elsewhere) = (pool(2), AtomicUsize::new(0));
        pool.grow([0]).for_each(|item, feed| match item {
            CHAIN => feed.extend(CHAIN + 1..=CHAIN + 40),
            0..CHAIN => {
                thread::sleep(Duration::from_micros(200));
                feed.push(item + 1);
            }
            _ => {
                thread::sleep(Duration::from_millis(2));
                elsewhere.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
            }
        });
        elsewhere.into_inner()
    };
    assert!((0..5).any(|_| shared() >= 12), "one worker has folded nearly all of 40");
}

#[test]
#[cfg_attr(miri, ignore = "needs time")]
fn long_items_behind_cheap_ones_are_cancelled() {
    const CHEAP: u32 = 1_000_000;
    for threads in [1, 2] {
        let (pool, token, long) = (pool(threads), CancelToken::new(), AtomicUsize::new(0));
        let ended = pool.grow([0]).cancel(&token).for_each(|item, feed| {
            if item >= CHEAP {
                long.fetch_add(1, Relaxed);
                token.cancel();
                thread::sleep(Duration::from_millis(1));
            }
            feed.push(item + 1); // added last, so that no other worker begins this item in time
        });
        assert_eq!(ended, Err(Cancelled));
        assert_eq!(long.into_inner(), 1, "nothing is begun after that");
    }
}

/// A worker without items for a long time sleeps, and uses no CPU time.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "needs time")]
fn who_has_nothing_to_do_sleeps() {
    fn cpu() -> Duration {
        let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap();
        time.into()
    }
    // The CPU time of an item. If the worker busy-waited, an item would use 300 µs. On a busy
    // machine with a sanitizer, an item uses 80 µs.
    const BAR: Duration = Duration::from_micros(150);
    let mut best = Duration::MAX;
    for _round in 0..40 {
        if best < BAR {
            break; // the time is that of the whole process, which also runs other tests
        }
        let pool = pool(2); // a new pool, which knows nothing of this loop
        let before = cpu();
        let mut report = RunReport::default();
        // A chain. At any time, only one item exists. Most items sleep.
        pool.grow([300_u32]).report(&mut report).for_each(|item, feed| {
            thread::sleep(Duration::from_micros(300));
            feed.extend(item.checked_sub(1));
        });
        assert_eq!(report.alone, None, "it was shared");
        best = best.min(cpu().saturating_sub(before) / 300);
    }
    assert!(best < BAR, "{best:?} of CPU time an item that sleeps");
}

#[test]
fn a_short_loop_wakes_nobody() {
    let alone_of_100 = || {
        let pool = pool(2);
        let mut report = RunReport::default();
        let mut is_alone = || {
            let chain = pool.grow([2_u32]).report(&mut report);
            chain.for_each(|item, feed| feed.extend(item.checked_sub(1)));
            assert_eq!(report.items(), 3);
            report.alone == Some(Alone::Short)
        };
        (0..100).filter(|_| is_alone()).count()
    };
    // Other tests also use the CPUs, and an interrupted call is not short.
    assert!((0..20).any(|_| alone_of_100() > 60), "short loops have woken a worker");
}

/// A state that is not `Send`.
struct State<'a>(&'a AtomicUsize, thread::ThreadId);

impl Drop for State<'_> {
    fn drop(&mut self) {
        assert_eq!(self.1, thread::current().id());
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn states_are_made_and_dropped_by_their_workers() {
    let (pool, end) = (pool(3), many(1_000_000));
    let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let make = |_| {
        made.fetch_add(1, Relaxed);
        State(&dropped, thread::current().id())
    };
    pool.grow([0]).with(make).for_each(|(state, node), feed| {
        assert_eq!(state.1, thread::current().id());
        feed.extend(children(node, end));
    });
    assert!(made.load(Relaxed) > 0 && made.load(Relaxed) == dropped.load(Relaxed));
    let mut kept = pool.per_worker(|_| 0);
    pool.grow([0]).with_kept(&mut kept).for_each(|(folded, node), feed| {
        *folded += 1;
        feed.extend(children(node, end));
    });
    assert_eq!(kept.into_vec().iter().sum::<usize>(), nodes(end).len());
}

/// Loops whose workers often find no item. The items are short or empty, and the loops are so long
/// that a worker leaves and is called back many times.
#[test]
fn workers_that_leave_and_come_back() {
    let pool = pool(4);
    for round in 0..many(60) {
        let folded = AtomicUsize::new(0);
        let is_late = AtomicBool::new(false);
        let depth = if cfg!(miri) { 20 } else { 400 };
        pool.grow([(depth, 0)]).for_each(|(left, width): (u64, u64), feed| {
            folded.fetch_add(1, Relaxed);
            if (left + round) % 5 == 0 && !cfg!(miri) {
                spin(Duration::from_micros(10));
            }
            is_late.store(true, Relaxed);
            if width > 0 {
                return;
            }
            feed.extend((1..(left * 7 + round) % 9).map(|width| (0, width)));
            feed.extend(left.checked_sub(1).map(|left| (left, 0)));
        });
        let leaves: u64 = (0..=depth).map(|left| ((left * 7 + round) % 9).saturating_sub(1)).sum();
        assert_eq!(folded.into_inner() as u64, leaves + depth + 1);
    }
}
