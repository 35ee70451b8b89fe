//! Runs every kind of loop, and prints each result, so that the output of two processes can be
//! compared.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // small numbers

use std::{cell::RefCell, fmt::Debug, future::poll_fn, sync::mpsc, task::Poll, thread, time::Duration};

use nix::libc;
use rangesteal::{CancelToken, Cancelled, Pool, Progress, RunReport, Trace, source};

use crate::busy::work;

/// A mark in each printed line.
pub(crate) const MARK: &str = "result of ";

fn result(of: &str, result: impl Debug) {
    println!("{MARK}{of}: {result:?}");
}

/// Costs of items in nanoseconds. Short loops run on the caller. Long loops are shared. Uneven
/// loops have one long item among short items.
fn costs() -> [(&'static str, Vec<u64>); 4] {
    let mut uneven = vec![0; 1000];
    uneven[990] = 300_000;
    [("none", vec![]), ("short", vec![0; 40]), ("long", vec![20_000; 60]), ("uneven", uneven)]
}

/// Prints the results of all loops.
pub(crate) fn print() {
    let token = CancelToken::new();
    token.cancel();
    for threads in [1, 2, 3] {
        let pool = Pool::builder().num_threads(threads).build().unwrap();
        for (name, costs) in costs() {
            // In the first calls the pool measures the loop. In later calls the pool knows the
            // loop. A pool of one thread learns nothing.
            for _ in 0..if threads == 1 { 1 } else { 4 } {
                let of = |loop_: &str| format!("{loop_}, {name}, {threads} threads");
                slices(&pool, &costs, &of);
                options(&pool, &costs, &token, &of);
                results(&pool, &costs, &of);
                sorts(&pool, costs.len(), &of);
                lists(&pool, &costs, &token, &of);
                waits(&pool, &costs, &token, &of);
            }
        }
        nested(&pool);
        tasks(&pool);
    }
    no_size(&Pool::builder().num_threads(2).build().unwrap());
    at_the_end();
}

fn slices(pool: &Pool, costs: &[u64], of: &dyn Fn(&str) -> String) {
    let value = |cost: &u64| {
        work(*cost);
        *cost / 10_000 + 1
    };
    let add = |a: u64, b: u64| a + b;
    let late = |cost: &u64| value(cost) > 2;
    result(&of("map_reduce"), pool.map_reduce(costs, value, add));
    let halves: Vec<usize> = pool.on(costs).chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    result(&of("chunk_by"), halves);
    let backwards: Vec<usize> = (0..costs.len()).rev().collect();
    let places = pool.permutation(backwards, costs.len()).unwrap();
    result(&of("at"), pool.on(costs).at(&places).map(value).collect::<Vec<_>>());
    let located = pool.on(costs).map(|cost| if late(cost) { Err(value(cost)) } else { Ok(()) }).located();
    result(&of("located"), located.collect::<Result<(), _>>());
    let mut doubled = costs.to_vec();
    pool.on_mut(&mut doubled).for_each(|cost| *cost *= 2);
    result(&of("on_mut"), doubled);
    result(&of("fold_reduce"), pool.fold_reduce(costs, || 0, |a, cost| a + value(cost), add));
    pool.for_each(costs, |cost| work(*cost));
    let mut values = costs.to_vec();
    pool.for_each_mut(&mut values, |cost| *cost = value(cost));
    result(&of("for_each_mut"), values);
    result(&of("map_collect"), pool.map_collect(costs, value));
    result(&of("any"), pool.on(costs).any(late));
    result(&of("all"), pool.on(costs).all(late));
    result(&of("find_any"), pool.on(costs).find_any(|cost| late(cost)).is_some());
    result(&of("find"), pool.on(costs).find(|cost| late(cost)));
    result(&of("position"), pool.on(costs).position(late));
    result(&of("position_any"), pool.on(costs).position_any(late).is_some());
    result(&of("enter"), pool.enter(|| pool.map_reduce(costs, value, add)));
    result(&of("unpinned"), pool.unpinned(|| pool.map_reduce(costs, value, add)));
    let fails = |cost: &u64| if late(cost) { Err("late") } else { Ok(value(cost)) };
    result(&of("try_reduce"), pool.on(costs).map(fails).try_reduce(add));
    result(&of("try_for_each"), pool.on(costs).try_for_each(|cost| fails(cost).map(drop)));
    let tried = pool.on(costs).try_fold(|| 0, |sum, cost| Ok::<_, &str>(sum + fails(cost)?), add);
    result(&of("try_fold"), tried);
    result(&of("sum"), pool.on(costs).map(value).sum::<u64>());
    result(&of("count"), pool.on(costs).filter(|cost| late(cost)).count());
    // The factor is at most 2 to the power of 60.
    result(&of("product"), pool.on(costs).map(|cost| 1 + u64::from(late(cost))).product::<u64>());
    result(&of("min"), pool.on(costs).map(value).min());
    result(&of("max"), pool.on(costs).map(value).max());
    result(&of("find_map"), pool.on(costs).find_map(|cost| late(cost).then(|| value(cost))));
    result(&of("is_sorted"), pool.on(costs).map(value).is_sorted());
    result(&of("eq"), pool.on(costs).map(value).eq(source(costs).map(|cost| *cost / 10_000 + 1)));
    result(&of("cmp"), pool.on(costs).copied().cmp(source(costs).map(value)));
    result(&of("max_by"), pool.on(costs).max_by(|a, b| value(a).cmp(&value(b))));
    result(&of("max_by_key"), pool.on(costs).max_by_key(|cost| value(cost)));
    result(&of("min_by"), pool.on(costs).min_by(|a, b| value(a).cmp(&value(b))));
    result(&of("min_by_key"), pool.on(costs).min_by_key(|cost| value(cost)));
    let squares = pool.on(costs).enumerate().rev().step_by(2).skip(1).take(20);
    result(&of("adaptors"), squares.map(|(i, cost)| (i, value(cost))).collect::<Vec<_>>());
    let zipped = pool.on(costs).copied().zip(0..costs.len());
    result(&of("zip"), zipped.map(|(cost, i)| i as u64 + value(&cost)).collect::<Vec<_>>());
    let zipped = pool.on(costs).zip_shortest(0..20);
    result(&of("zip_shortest"), zipped.map(|(cost, i)| i + value(cost)).collect::<Vec<_>>());
    for size in [1, 7] {
        let sum = |part: &[u64]| part.iter().map(value).sum::<u64>();
        result(&of("chunks"), pool.on(costs).chunks(size).map(sum).collect::<Vec<_>>());
        result(&of("chunks_exact"), pool.on(costs).chunks_exact(size).map(sum).collect::<Vec<_>>());
        result(&of("windows"), pool.on(costs).windows(size).map(<[u64]>::len).collect::<Vec<_>>());
    }
    let mut drained = costs.to_vec();
    result(&of("by value"), pool.on(costs.to_vec()).map(|cost| value(&cost)).collect::<Vec<_>>());
    let drained: Vec<_> = pool.on(source::drain(&mut drained, ..)).map(|cost| value(&cost)).collect();
    result(&of("drain"), drained);
}

fn options(pool: &Pool, costs: &[u64], token: &CancelToken, of: &dyn Fn(&str) -> String) {
    let float = |cost: &u64| {
        work(*cost);
        0.1 + *cost as f64
    };
    let sum = |a: f64, b: f64| a + b;
    let (mut report, mut trace, progress) = (RunReport::default(), Trace::new(), Progress::new());
    let on = pool.on(costs).report(&mut report).trace(&mut trace).progress(&progress).threads(2);
    result(&of("reproducible"), on.reproducible().map(float).reduce(sum));
    result(&of("report"), (report.items(), progress.done()));
    assert!(!report.to_string().is_empty());
    assert!(serde_json::from_str::<serde_json::Value>(&trace.chrome().to_string()).is_ok());
    let part = pool.on(costs).map(float).reproducible_part(0, costs.len()).reduce(sum);
    result(&of("reproducible_part"), part.into_result(sum));
    let part = pool.on(costs).reproducible_part(0, costs.len());
    let folded = part.fold(|| 0.0, |a, cost| a + float(cost), sum);
    result(&of("reproducible_part, fold"), folded.into_result(sum));
    result(&of("grain"), pool.on(costs).grain(5).map(float).collect::<Vec<_>>());
    let scratch = pool.on(costs).with(|_| Vec::<u64>::new());
    let longest: Vec<_> = scratch
        .map(|(scratch, cost)| {
            scratch.push(*cost);
            work(*cost);
            *cost
        })
        .collect();
    result(&of("with"), longest);
    let drawn = pool
        .on(costs)
        .with_block(|block| block as u64)
        .map(|(state, cost)| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            float(cost) * (*state >> 40) as f64
        })
        .reduce(sum);
    result(&of("with_block"), drawn);
    let mut kept = pool.per_worker(|_| 0_u64);
    pool.on(costs).with_kept(&mut kept).for_each(|(kept, cost)| {
        work(*cost);
        *kept += cost;
    });
    result(&of("with_kept"), kept.into_vec().iter().sum::<u64>());
    result(&of("cancelled"), pool.on(costs).cancel(token).for_each(|cost| work(*cost)));
    let later = CancelToken::new();
    let ended = pool.on(costs).cancel(&later).enumerate().for_each(|(i, cost)| {
        work(*cost);
        if i == 3 {
            later.cancel();
        }
    });
    assert!(matches!(ended, Ok(()) | Err(Cancelled)));
}

fn results(pool: &Pool, costs: &[u64], of: &dyn Fn(&str) -> String) {
    let value = |cost: &u64| {
        work(*cost);
        *cost + 1
    };
    let is_long = |cost: &u64| value(cost) > 1;
    result(&of("filter"), pool.on(costs).copied().filter(is_long).collect::<Vec<_>>());
    let emitted: Vec<_> = pool.on(costs).filter_map(|cost| Some(value(cost))).collect();
    result(&of("filter_map"), emitted);
    let emitted: Vec<_> = pool.on(costs).flat_map(|cost| [value(cost), 2, 3]).collect();
    result(&of("flat_map"), emitted);
    result(&of("flatten"), pool.on(costs).map(|cost| [value(cost), 2]).flatten().collect::<Vec<_>>());
    result(&of("inspect"), pool.on(costs).inspect(|cost| work(**cost)).cloned().collect::<Vec<_>>());
    let mut all = vec![7];
    pool.on(costs).map(value).collect_into(&mut all);
    result(&of("collect_into"), all);
    let fails = |cost: &u64| if is_long(cost) { Err(*cost) } else { Ok(*cost) };
    result(&of("collect, a Result"), pool.on(costs).map(fails).collect::<Result<Vec<_>, u64>>());
    result(&of("partition"), pool.on(costs.to_vec()).partition(is_long));
    result(&of("unzip"), pool.on(costs).map(|cost| (value(cost), 1_u8)).unzip());
    let add = |a: &u64, b: &u64| {
        work(*b);
        a + b
    };
    let mut totals = costs.to_vec();
    pool.on(&mut totals).inclusive_scan(add);
    result(&of("inclusive_scan"), totals);
    let mut totals = costs.to_vec();
    let total = pool.on(&mut totals).exclusive_scan(1, add);
    result(&of("exclusive_scan"), (totals, total));
    let mut totals = vec![7];
    pool.on(costs).map(value).inclusive_scan_into(&mut totals, add);
    result(&of("inclusive_scan_into"), &totals);
    let total = pool.on(costs).copied().exclusive_scan_into(&mut totals, 1, add);
    result(&of("exclusive_scan_into"), (totals, total));
}

fn sorts(pool: &Pool, len: usize, of: &dyn Fn(&str) -> String) {
    // More items than in other loops, because the pool leaves a small number of items to the sort
    // of std.
    let items: Vec<u32> = (0..len as u32 * 40).map(|i| i.wrapping_mul(0x9E37_79B9) >> 8).collect();
    let sorted = |by: &str, sort: &dyn Fn(&mut [u32])| {
        let mut items = items.clone();
        sort(&mut items);
        result(&of(by), items);
    };
    sorted("sort", &|items| pool.sort(items));
    sorted("sort_by", &|items| pool.sort_by(items, |a, b| b.cmp(a)));
    sorted("sort_by_key", &|items| pool.sort_by_key(items, |i| i % 100));
    sorted("sort_by_cached_key", &|items| pool.sort_by_cached_key(items, ToString::to_string));
    sorted("sort_unstable", &|items| pool.sort_unstable(items));
    sorted("sort_unstable_by", &|items| pool.sort_unstable_by(items, |a, b| b.cmp(a)));
    sorted("sort_unstable_by_key", &|items| pool.sort_unstable_by_key(items, |i| u32::MAX - i));
    sorted("merge", &|items| {
        let (left, right) = items.split_at_mut(len * 15);
        left.sort_unstable();
        right.sort_unstable();
        pool.merge(items, len * 15);
    });
    sorted("merge_by", &|items| {
        items.reverse();
        items[..len].sort_unstable();
        items[len..].sort_unstable();
        pool.merge_by(items, len, u32::cmp);
    });
    // The order within each side depends on the schedule.
    sorted("partition_in_place", &|items| {
        let even = pool.partition_in_place(items, |i| i % 2 == 0);
        items[..even].sort_unstable();
        items[even..].sort_unstable();
    });
    let selected = |by: &str, select: &dyn Fn(&mut [u32]) -> u32| {
        sorted(by, &|items| {
            if !items.is_empty() {
                let selected = select(items);
                items.fill(selected);
            }
        });
    };
    selected("select_nth_unstable", &|items| *pool.select_nth_unstable(items, len * 9).1);
    selected("select_nth_unstable_by", &|items| {
        *pool.select_nth_unstable_by(items, len * 9, |a, b| b.cmp(a)).1
    });
    selected("select_nth_unstable_by_key", &|items| {
        *pool.select_nth_unstable_by_key(items, len * 9, |i| u32::MAX - i).1
    });
}

fn lists(pool: &Pool, costs: &[u64], token: &CancelToken, of: &dyn Fn(&str) -> String) {
    // Each seed makes seven items.
    let seeds = || costs.iter().map(|&cost| (cost, 3_u32));
    let (mut report, mut kept) = (RunReport::default(), pool.per_worker(|_| 0_u64));
    let count = pool.grow(seeds()).report(&mut report).threads(2).fold_unordered(
        || 0_u64,
        |count, (cost, depth), feed| {
            work(cost / 8);
            if depth > 1 {
                feed.push((cost, depth - 1));
                feed.extend([(cost, depth - 1)]);
            }
            count + 1
        },
        |a, b| a + b,
    );
    result(&of("fold_unordered"), (count, report.items()));
    pool.grow(seeds()).with_kept(&mut kept).for_each(|(kept, (cost, _)), _| *kept += cost);
    result(&of("grow, for_each"), kept.into_vec().iter().sum::<u64>());
    let fails = |(cost, _): (u64, u32)| if cost > 20_000 { Err(cost) } else { Ok(cost) };
    let folded: Result<u64, u64> = pool.grow(seeds()).with(|_| ()).try_fold_unordered(
        || 0,
        |sum, ((), item), _| Ok(sum + fails(item)?),
        |a, b| a + b,
    );
    result(&of("try_fold_unordered"), folded);
    let ended = pool.grow(seeds()).try_for_each(|item, _| fails(item).map(drop));
    result(&of("grow, try_for_each"), ended);
    result(&of("grow, cancelled"), pool.grow(seeds()).cancel(token).for_each(|_, _| ()));
}

/// A future that is not ready at its first poll. The future wakes itself, or another thread wakes
/// it.
async fn pause(is_woken_elsewhere: bool) {
    let mut is_asked = false;
    poll_fn(|context| {
        if is_asked {
            return Poll::Ready(());
        }
        is_asked = true;
        let waker = context.waker().clone();
        if is_woken_elsewhere {
            thread::spawn(move || {
                thread::sleep(Duration::from_micros(200));
                waker.wake();
            });
        } else {
            waker.wake();
        }
        Poll::Pending
    })
    .await;
}

fn waits(pool: &Pool, costs: &[u64], token: &CancelToken, of: &dyn Fn(&str) -> String) {
    let value = async |cost: &u64, i: usize| {
        pause(i == 1).await;
        work(*cost / 8);
        *cost + i as u64
    };
    let mut report = RunReport::default();
    for limit in [1, 8] {
        let on = || pool.on(costs).enumerate();
        let mapped = on().report(&mut report).waiting(limit);
        result(&of("waiting, map_collect"), mapped.map_collect(|(i, cost)| value(cost, i)));
        result(&of("waiting, report"), (report.items(), report.waits.is_some()));
        assert!(!report.to_string().is_empty());
        let sum = on().waiting(limit).map_reduce(|(i, cost)| value(cost, i), |a, b| a + b);
        result(&of("waiting, map_reduce"), sum);
        let folded =
            on().waiting(limit).fold(|| 0, async |sum, (i, cost)| sum + value(cost, i).await, |a, b| a + b);
        result(&of("waiting, fold"), folded);
        on().waiting(limit).for_each(async |(i, cost)| _ = value(cost, i).await);
        let fails = async |i: usize, cost: &u64| {
            let value = value(cost, i).await;
            if i == 30 { Err(i) } else { Ok(value) }
        };
        let tried = on().waiting(limit).try_map_collect(|(i, cost)| fails(i, cost));
        result(&of("waiting, try_map_collect"), tried);
        let tried = on().waiting(limit).try_map_reduce(|(i, cost)| fails(i, cost), |a, b| a + b);
        result(&of("waiting, try_map_reduce"), tried);
        let tried = on().waiting(limit).try_for_each(async |(i, cost)| fails(i, cost).await.map(drop));
        result(&of("waiting, try_for_each"), tried);
        let ended = on().cancel(token).waiting(limit).for_each(async |_| ());
        result(&of("waiting, cancelled"), ended);
    }
}

/// The inner loops find the pool busy, or have only one worker.
fn nested(pool: &Pool) {
    let rows: Vec<_> = pool
        .on(0..50)
        .map(|i| {
            work(10_000);
            pool.on(0..i).reduce(|a, b| a + b)
        })
        .collect();
    result("loops in a loop", rows);
    let waited: Vec<_> = pool
        .on(0..9)
        .map(|i| {
            work(10_000);
            pool.on(0..i).waiting(4).map_collect(async |j| {
                pause(false).await;
                j
            })
        })
        .collect();
    result("waiting loops in a loop", waited);
}

/// Tasks, and calls on each thread.
fn tasks(pool: &Pool) {
    let (sender, ran) = mpsc::channel();
    let sends = sender.clone();
    pool.spawn(move || sends.send(7).unwrap());
    result("spawn", ran.recv());
    result("broadcast", pool.broadcast(|number| number));
    pool.spawn_broadcast(move |number| sender.send(number).unwrap());
    let mut numbers: Vec<_> = ran.iter().collect();
    numbers.sort_unstable();
    result("spawn_broadcast", numbers);
}

/// Loops whose sums of item numbers do not fit into the type of these numbers.
fn no_size(pool: &Pool) {
    let units = vec![(); usize::MAX];
    for _ in 0..3 {
        let mut report = RunReport::default();
        let all = pool.on(&units).report(&mut report).grain(usize::MAX / 8).any(|()| true);
        result("items without a size", all);
        pool.on(0..usize::MAX).grain(usize::MAX).with(|_| ()).any(|((), _)| true);
    }
}

/// Runs loops in a destructor of thread-local data, and when the process ends.
fn at_the_end() {
    struct Last;

    impl Drop for Last {
        fn drop(&mut self) {
            last("a destructor");
        }
    }

    fn last(what: &str) {
        let pool = Pool::global();
        let waited = pool.on(0..20).waiting(5).map_collect(async |i| {
            pause(false).await;
            i
        });
        result(what, (waited, pool.map_collect(&[1, 2, 3], |i| i * i)));
    }

    extern "C" fn at_exit() {
        last("the exit");
    }

    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    thread::spawn(|| LAST.with_borrow_mut(|last| *last = Some(Last))).join().unwrap();
    #[expect(unsafe_code, reason = "atexit is not in std")]
    // SAFETY: the function does not unwind: a panic in it ends the process.
    let registered = unsafe { libc::atexit(at_exit) };
    assert_eq!(registered, 0);
}

/// The names of all methods that run a loop or set an option, from the list of the public API.
pub(crate) fn names() -> Vec<&'static str> {
    /// All methods of these types are loops or options.
    const OF: [&str; 6] = ["Pool::", "On<", "Grow<", "Waiting<", "reproducible::OnPart<", "Feed<"];
    /// Methods of a pool that are neither loops nor options.
    const NONE: [&str; 9] =
        ["builder", "new", "num_threads", "placement", "thefts", "global", "fmt", "drop", "into_chain"];
    let surface = include_str!("../tidy/api.txt").lines();
    let methods = surface.filter_map(|line| line.strip_prefix("pub fn rangesteal::"));
    let methods = methods.filter(|line| OF.iter().any(|of| line.starts_with(of)));
    let names = methods.filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let behind = before.split_once(">::").or(before.split_once("Pool::"))?.1;
        behind.split('<').next()
    });
    let mut names: Vec<_> = names.filter(|name| !NONE.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a loop of this file calls the method `name`.
pub(crate) fn calls(name: &str) -> bool {
    let text = include_str!("mod.rs");
    ["(", "::<"].iter().any(|behind| text.contains(&format!(".{name}{behind}")))
}
