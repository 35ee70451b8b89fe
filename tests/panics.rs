//! Tests of panics: a panic in user code ends the loop, reaches the caller with its payload, and
//! leaves the pool usable.

mod busy;

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
    sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use rangesteal::{CancelToken, Pool, Progress};

const ITEMS: usize = if cfg!(miri) { 40 } else { 400 };
/// The number of tries of a test that depends on the schedule.
const OFTEN: usize = if cfg!(miri) { 1 } else { 20 };

fn pool() -> Pool {
    // A panic during a panic always prints a backtrace, which takes Miri half a minute.
    #[cfg(miri)]
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    Pool::builder().num_threads(3).build().expect("a pool of three")
}

fn work() {
    busy::work(if cfg!(miri) { 0 } else { 10_000 });
}

/// Runs `body` twice. `body` must panic with `payload`: first on the caller's thread, then on
/// another worker's thread. `body` gets a function that panics at some item on the chosen thread.
/// Checks that the pool still counts afterwards.
fn panics_with<P: PartialEq + std::fmt::Debug + Copy + Send + Sync + 'static>(
    payload: P,
    body: impl Fn(&Pool, &[usize], &(dyn Fn(usize) + Sync)),
) {
    let pool = pool();
    let items: Vec<usize> = (0..ITEMS).collect();
    pool.for_each(&items, |_| work()); // the pool learns that such loops are worth sharing
    for on_caller in [true, false] {
        let caller = thread::current().id();
        let strike = |_| {
            work();
            if (thread::current().id() == caller) == on_caller {
                panic_any(payload);
            }
        };
        let mut struck = false;
        for _ in 0..50 {
            // If the other workers were too late to get an item, the loop is repeated.
            match catch_unwind(AssertUnwindSafe(|| body(&pool, &items, &strike))) {
                Ok(()) => {}
                Err(caught) => {
                    assert_eq!(caught.downcast_ref::<P>(), Some(&payload));
                    struck = true;
                    break;
                }
            }
        }
        assert!(struck, "no panic on the {} side", if on_caller { "caller's" } else { "workers'" });
        let sum = pool.map_reduce(&items, |x| *x, |a, b| a + b);
        assert_eq!(sum, Some(ITEMS * (ITEMS - 1) / 2), "after a panic");
    }
}

#[test]
fn in_map() {
    panics_with("map", |pool, items, strike| {
        pool.map_reduce(items, |item| strike(*item), |(), ()| ());
    });
}

/// Of the calls of a short loop, most repeat the plan of an earlier one. Those that panic do, too.
#[test]
fn in_a_short_loop_that_is_called_again_and_again() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let items: Vec<u64> = (0..150).collect();
    let mix = |x: u64| (0..20).fold(x, |x, round| (x ^ round).rotate_left(11).wrapping_mul(x | 1));
    let expected: u64 = items.iter().map(|&x| mix(x)).fold(0, u64::wrapping_add);
    for call in 0..if cfg!(miri) { 5 } else { 20_000 } {
        // Rounds have to be alike for some calls before a plan is repeated.
        let bad = (call % 50 == 49).then_some(call / 50 % 150);
        let run = || {
            let step = |&x: &u64| if bad == Some(x) { panic_any(call) } else { mix(x) };
            pool.map_reduce(&items, step, u64::wrapping_add)
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(sum) => assert_eq!((bad, sum), (None, Some(expected)), "call {call}"),
            Err(payload) => assert_eq!(payload.downcast_ref(), bad.map(|_| &call), "call {call}"),
        }
    }
}

#[test]
fn in_reduce() {
    panics_with("reduce", |pool, items, strike| {
        pool.map_reduce(
            items,
            |item| *item,
            |a, b| {
                strike(a);
                a + b
            },
        );
    });
}

#[test]
fn in_init() {
    panics_with("init", |pool, items, strike| {
        pool.fold_reduce(items, || strike(0), |(), _| work(), |(), ()| ());
    });
}

#[test]
fn in_map_collect() {
    panics_with("collect", |pool, items, strike| {
        pool.map_collect(items, |item| strike(*item));
    });
}

#[test]
#[cfg_attr(miri, ignore = "the payloads of second panics are leaked on purpose")]
fn in_the_drop_of_a_value() {
    struct Bomb<'a>(&'a (dyn Fn(usize) + Sync));
    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            if !thread::panicking() {
                (self.0)(0);
            }
        }
    }
    panics_with("drop", |pool, items, strike| {
        let last = pool.map_reduce(
            items,
            |_| Bomb(strike),
            |a, b| {
                drop(a);
                b
            },
        );
        last.into_iter().for_each(mem::forget);
    });
}

#[test]
#[cfg_attr(miri, ignore = "the payloads of second panics are leaked on purpose")]
fn in_reduce_with_partial_results_that_panic_when_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("drop");
        }
    }
    let pool = pool();
    let items = [0u8; ITEMS];
    pool.for_each(&items, |_| work());
    let mut struck = false;
    for _ in 0..20 {
        // The caller reduces at least two runs, and its first reduction panics. The other runs must
        // not end the process.
        let caller = thread::current().id();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let last = pool.fold_reduce(
                &items,
                || Some(Bomb),
                |acc, _| {
                    work();
                    acc
                },
                |a, b| {
                    mem::forget((a, b));
                    assert_ne!(thread::current().id(), caller, "in reduce");
                    None
                },
            );
            mem::forget(last);
        }));
        if let Err(payload) = result {
            assert!(payload.downcast_ref::<String>().is_some_and(|text| text.contains("in reduce")));
            struck = true;
        }
    }
    assert!(struck);
}

#[test]
fn the_loop_ends_early() {
    let pool = pool();
    let visits = AtomicUsize::new(0);
    let items = vec![0u8; 1_000_000];
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.for_each(&items, |_| {
            work();
            assert!(visits.fetch_add(1, Relaxed) < 100, "enough");
        });
    }));
    assert!(result.is_err());
    // Each worker may have been in the middle of a block.
    assert!(visits.into_inner() < 100 + 3 * 64);
}

#[test]
fn a_payload_that_panics_when_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("the payload's drop");
        }
    }
    let pool = pool();
    for _ in 0..OFTEN {
        // Every worker panics, so all payloads except one are dropped.
        let payload = catch_unwind(AssertUnwindSafe(|| {
            pool.for_each(&[0u8; ITEMS], |_| {
                work();
                panic_any(Bomb);
            });
        }))
        .unwrap_err();
        assert!(payload.is::<Bomb>());
        mem::forget(payload);
    }
    assert_eq!(pool.map_collect(&[1, 2], |x| x * 2), [2, 4]);
}

#[test]
fn exactly_the_written_results_are_dropped() {
    static ALIVE: AtomicIsize = AtomicIsize::new(0);
    struct Counted;
    impl Counted {
        fn new() -> Self {
            ALIVE.fetch_add(1, Relaxed);
            Self
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }
    let pool = pool();
    let items: Vec<usize> = (0..ITEMS).collect();
    for bad in [0, 1, ITEMS / 3, ITEMS - 1, ITEMS] {
        for _ in 0..OFTEN.div_ceil(4) {
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.map_collect(&items, |&item| {
                    work();
                    assert_ne!(item, bad, "bad item");
                    Counted::new()
                })
            }));
            assert_eq!(result.is_err(), bad < ITEMS);
            if let Ok(results) = result {
                assert_eq!(ALIVE.load(Relaxed), ITEMS.cast_signed());
                drop(results);
            }
            assert_eq!(ALIVE.load(Relaxed), 0, "bad item {bad}");
        }
    }
}

/// A number that counts the living values.
#[derive(Debug)]
struct Numbered<'a>(usize, &'a AtomicIsize);

impl<'a> Numbered<'a> {
    fn new(number: usize, alive: &'a AtomicIsize) -> Self {
        alive.fetch_add(1, Relaxed);
        Self(number, alive)
    }
}

impl Drop for Numbered<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Relaxed);
    }
}

/// The reasons why a loop ends at some of its items.
const PLACES: &[usize] =
    if cfg!(miri) { &[3, ITEMS / 2, ITEMS - 1] } else { &[0, 3, ITEMS / 3 + 1, ITEMS / 2, ITEMS - 1] };

/// All items before the first of these items are slow, so that workers reach the later ones
/// earlier.
fn slowly_before(first: usize, i: usize) {
    busy::work(if cfg!(miri) {
        0
    } else if i <= first {
        4_000
    } else {
        500
    });
}

#[test]
fn of_several_panics_the_first_by_index_comes_out_and_the_others_are_dropped() {
    static ALIVE: AtomicIsize = AtomicIsize::new(0);
    let pool = pool();
    for (at, &first) in PLACES.iter().enumerate() {
        for _ in 0..OFTEN.div_ceil(4) {
            let places = &PLACES[at..];
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                pool.on(0..ITEMS).for_each(|i| {
                    slowly_before(first, i);
                    if places.contains(&i) {
                        panic_any(Numbered::new(i, &ALIVE));
                    }
                });
            }));
            let payload = panicked.unwrap_err();
            assert_eq!(payload.downcast_ref::<Numbered<'static>>().map(|payload| payload.0), Some(first));
            assert_eq!(ALIVE.load(Relaxed), 1);
            drop(payload);
            assert_eq!(ALIVE.load(Relaxed), 0);
        }
    }
    assert_eq!(pool.on(0..ITEMS).reduce(|a, b| a + b), Some(ITEMS * (ITEMS - 1) / 2));
}

#[test]
fn of_an_error_and_a_panic_the_first_by_index_ends_the_loop() {
    static ALIVE: AtomicIsize = AtomicIsize::new(0);
    let pool = pool();
    for &error in PLACES {
        for &panic in PLACES.iter().filter(|&&panic| panic != error) {
            let first = error.min(panic);
            let strike = |i| {
                slowly_before(first, i);
                if i == panic {
                    panic_any(Numbered::new(i, &ALIVE));
                }
                if i == error { Err(Numbered::new(i, &ALIVE)) } else { Ok(Numbered::new(i, &ALIVE)) }
            };
            // If a value ends one of these loops, the value is the number of the item.
            let loops: [&dyn Fn() -> usize; 3] = [
                &|| pool.on(0..ITEMS).try_for_each(|i| strike(i).map(drop)).unwrap_err().0,
                &|| pool.on(0..ITEMS).map(strike).try_reduce(|_, b| b).unwrap_err().0,
                &|| pool.on(0..ITEMS).grain(5).reproducible().map(strike).try_reduce(|_, b| b).unwrap_err().0,
            ];
            for (number, run) in loops.into_iter().enumerate() {
                let ended = catch_unwind(AssertUnwindSafe(run));
                let context = format!("loop {number}: error at {error}, panic at {panic}");
                match ended {
                    Ok(at) => assert_eq!(at, error, "{context}"),
                    Err(payload) => {
                        assert_eq!(
                            payload.downcast_ref::<Numbered<'static>>().map(|p| p.0),
                            Some(panic),
                            "{context}"
                        );
                        assert_eq!(first, panic, "{context}");
                    }
                }
                assert_eq!(ALIVE.load(Relaxed), 0, "results, errors and payloads, {context}");
            }
        }
    }
}

#[test]
fn of_errors_in_two_blocks_the_first_by_index_comes_out_though_it_is_late() {
    const BLOCK: usize = 10;
    let pool = Pool::builder().num_threads(2).build().unwrap();
    for (late, soon) in [(0, 2 * BLOCK - 1), (BLOCK - 1, BLOCK)] {
        let (strikes, has_struck) = (AtomicBool::new(false), AtomicBool::new(false));
        let item = |i: usize| {
            if !strikes.load(Relaxed) {
                busy::work(if cfg!(miri) { 0 } else { 20_000 }); // so that the next call is shared at once
            } else if i == soon {
                has_struck.store(true, Relaxed);
                return Err(i);
            } else if i == late {
                let begin = Instant::now();
                while !has_struck.load(Relaxed) && begin.elapsed() < Duration::from_secs(2) {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(1));
                return Err(i);
            }
            Ok(())
        };
        let loops: [&dyn Fn() -> Option<usize>; 2] =
            [&|| pool.on(0..2 * BLOCK).grain(BLOCK).try_for_each(item).err(), &|| {
                pool.on(0..2 * BLOCK).grain(BLOCK).map(item).try_reduce(|(), ()| ()).err()
            }];
        for run in loops {
            strikes.store(false, Relaxed);
            assert_eq!(run(), None);
            strikes.store(true, Relaxed);
            has_struck.store(false, Relaxed);
            assert_eq!(run(), Some(late));
        }
    }
}

#[test]
fn in_a_search() {
    let pool = pool();
    for &found in PLACES {
        for &panic in PLACES.iter().filter(|&&panic| panic != found) {
            let first = found.min(panic);
            let search = || {
                pool.on(0..ITEMS).find(|&i| {
                    slowly_before(first, i);
                    if i == panic {
                        panic_any(i);
                    }
                    i == found
                })
            };
            match catch_unwind(AssertUnwindSafe(search)) {
                Ok(place) => assert_eq!((place, first), (Some(found), found)),
                Err(payload) => assert_eq!((payload.downcast_ref(), first), (Some(&panic), panic)),
            }
        }
    }
}

/// Another worker finds the next item before this item panics.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn a_match_right_behind_a_panic_does_not_count() {
    const BAD: usize = 20;
    let (pool, is_found) = (pool(), AtomicBool::new(false));
    let search = || {
        pool.on(0..100).find(|&i| {
            thread::sleep(Duration::from_millis(1));
            if i == BAD {
                let begin = Instant::now();
                while !is_found.load(Relaxed) && begin.elapsed() < Duration::from_secs(1) {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(10)); // the other worker leaves the loop
                panic_any(i);
            }
            is_found.fetch_or(i == BAD + 1, Relaxed);
            i == BAD + 1
        })
    };
    let payload = catch_unwind(AssertUnwindSafe(search)).expect_err("a panic");
    assert_eq!(payload.downcast_ref(), Some(&BAD));
}

#[test]
fn in_a_state() {
    struct Bomb<'a>(&'a (dyn Fn(usize) + Sync));
    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            if !thread::panicking() {
                (self.0)(0);
            }
        }
    }
    panics_with("make", |pool, items, strike| pool.on(items).with(strike).for_each(|((), _)| work()));
    panics_with("make, for a block", |pool, items, strike| {
        pool.on(items).with_block(strike).for_each(|((), _)| work());
    });
    panics_with("closure", |pool, items, strike| {
        pool.on(items).with(|_| ()).for_each(|((), item)| strike(*item));
    });
    panics_with("drop, of a block", |pool, items, strike| {
        pool.on(items).with_block(|_| Bomb(strike)).for_each(|_| work());
    });
    panics_with("drop", |pool, items, strike| pool.on(items).with(|_| Bomb(strike)).for_each(|_| work()));
}

/// The helper panics at its first item, and then steals items before the panic.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn no_state_is_used_after_a_panic() {
    let (pool, is_used) = (pool(), AtomicBool::new(false));
    let run = || {
        pool.on(0..200).with(|_| false).for_each(|(has_panicked, i)| {
            is_used.fetch_or(*has_panicked, Relaxed);
            thread::sleep(Duration::from_millis(1));
            if i >= 50 {
                *has_panicked = true;
                panic_any(i);
            }
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert!(!is_used.into_inner());
}

#[test]
fn while_a_handle_watches() {
    let (pool, token, progress) = (pool(), CancelToken::new(), Progress::new());
    for round in 0..5 {
        let watched = pool.on(0..ITEMS).cancel(&token).progress(&progress);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            watched.for_each(|i| if i == ITEMS / 2 { panic_any(round) } else { work() })
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&round));
    }
    // The token and the progress must forget an ended loop. Otherwise the token would end another
    // loop, and the progress would count another loop.
    token.cancel();
    let before = progress.done();
    assert_eq!(
        pool.on(0..ITEMS)
            .map(|i| {
                work();
                i
            })
            .collect::<Vec<_>>()
            .len(),
        ITEMS
    );
    assert_eq!(progress.done(), before);
}

#[test]
#[cfg_attr(miri, ignore = "Miri gives a function many addresses, so no loop is known to be dear")]
fn on_the_caller_does_not_hide_what_a_helper_has_not_yet_begun() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    for _ in 0..200 {
        let run = |last: bool| {
            pool.on(0..100).try_for_each(|i| match i {
                _ if !last => {
                    busy::work(20_000);
                    Ok(())
                }
                51 => Err(i),
                52.. => panic_any(i), // the caller steals these from the helper, which is still waking up
                _ => Ok(()),
            })
        };
        assert_eq!(run(false), Ok(())); // the pool learns that such loops are worth sharing
        let ended = catch_unwind(AssertUnwindSafe(|| run(true)));
        assert_eq!(ended.map_err(|payload| payload.downcast_ref::<usize>().copied()), Ok(Err(51)));
    }
}

#[test]
#[cfg_attr(miri, ignore = "the payloads of second panics are leaked on purpose")]
fn in_the_drop_of_partial_results_of_a_cancelled_loop() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("drop");
        }
    }
    let pool = pool();
    for _ in 0..20 {
        let token = CancelToken::new();
        let _panics_or_not = catch_unwind(AssertUnwindSafe(|| {
            let ended = pool.on(0..ITEMS).cancel(&token).fold(
                || Some(Bomb),
                |acc, i| {
                    work();
                    if i == ITEMS / 4 {
                        token.cancel();
                    }
                    acc
                },
                |a, b| {
                    mem::forget((a, b));
                    None
                },
            );
            mem::forget(ended);
        }));
    }
}

#[test]
#[cfg_attr(miri, ignore = "the payloads of second panics are leaked on purpose")]
fn in_a_reproducible_reduce_with_partial_results_that_panic_when_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("drop");
        }
    }
    let pool = pool();
    let reduced = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let last = pool.on(0..16).grain(1).reproducible().fold(
            || Some(Bomb),
            |acc, _| acc,
            |a, b| {
                mem::forget((a, b));
                assert!(reduced.fetch_add(1, Relaxed) != 9, "in reduce");
                Some(Bomb)
            },
        );
        mem::forget(last);
    }));
    assert!(result.unwrap_err().downcast_ref::<&str>().is_some_and(|text| text.contains("in reduce")));
}

#[test]
fn in_the_only_block_of_more_items_than_half_of_all_indices() {
    let (pool, progress) = (pool(), Progress::new());
    for round in 0..OFTEN.max(2) {
        let run = || {
            let huge = pool.on(0..usize::MAX).grain(1 << (usize::BITS - 1)).progress(&progress);
            huge.try_for_each(|i| if round % 2 == 0 { Err(i) } else { panic_any("user") })
        };
        assert_eq!(catch_unwind(AssertUnwindSafe(run)).is_ok(), round % 2 == 0);
    }
}

/// A partial result whose drop panics, once, on any thread except one.
struct Bomb(AtomicBool);

impl Bomb {
    fn armed_but_on(caller: thread::ThreadId) -> Self {
        Self(AtomicBool::new(thread::current().id() != caller))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0.swap(false, Relaxed) && !thread::panicking() {
            resume_unwind(Box::new("dropped")); // no message
        }
    }
}

/// A loop ends early, so a helper drops a partial result that is no longer needed. This drop
/// panics. The helper takes part in the next loop all the same.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn a_partial_result_that_panics_when_it_is_dropped_costs_no_worker() {
    let (pool, caller) = (Pool::builder().num_threads(2).build().unwrap(), thread::current().id());
    let nap = || thread::sleep(Duration::from_micros(500));
    let is_elsewhere = || thread::current().id() != caller;
    let forget = |a: Bomb, b: Bomb| {
        mem::forget(b);
        a
    };
    let waits = || {
        let others = AtomicUsize::new(0);
        let ended = pool.on(0..200).waiting(50).try_map_reduce(
            async |i| {
                nap();
                others.fetch_add(usize::from(is_elsewhere()), Relaxed);
                if !is_elsewhere() && others.load(Relaxed) > 3 {
                    Err(i)
                } else {
                    Ok(Bomb::armed_but_on(caller))
                }
            },
            forget,
        );
        mem::forget(ended);
    };
    let grows = || {
        let begun = AtomicUsize::new(0);
        let ended = pool.grow(0..40).fold_unordered(
            || {
                begun.fetch_add(usize::from(is_elsewhere()), Relaxed);
                Bomb::armed_but_on(caller)
            },
            |bomb, _item, _feed| {
                nap();
                if is_elsewhere() && begun.load(Relaxed) >= 2 {
                    panic_any("an item of the second run");
                }
                bomb
            },
            forget,
        );
        mem::forget(ended);
    };
    for _ in 0..15 {
        let _waited = catch_unwind(AssertUnwindSafe(waits));
        let _grew = catch_unwind(AssertUnwindSafe(grows));
        let helped = AtomicUsize::new(0);
        // A helper that does not get its CPU comes to a later loop.
        let is_helped = |_| {
            pool.on(0..40).for_each(|_| {
                nap();
                helped.fetch_add(usize::from(is_elsewhere()), Relaxed);
            });
            helped.load(Relaxed) > 0
        };
        assert!((0..20).any(is_helped), "the helper is gone");
    }
}
