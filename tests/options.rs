//! Tests of the options of a loop: states, blocks, threads, reproducible results, cancelling,
//! progress, report.

mod busy;

use std::{
    cell::Cell,
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{
        Mutex,
        atomic::{
            AtomicBool, AtomicIsize, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use busy::work;
use proptest::prelude::*;
use rangesteal::{
    Alone, CancelToken, Cancelled, On, PerWorker, Pinning, Pool, Progress, RunReport, source::Exclusive,
};

/// The number of items: enough for all workers to take part, and few under an interpreter.
const ITEMS: usize = if cfg!(miri) { 24 } else { 400 };
/// The number of repetitions of a test.
const ROUNDS: usize = if cfg!(miri) { 2 } else { 5 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a small pool")
}

/// An item whose cost makes a loop worth sharing.
fn item() {
    work(if cfg!(miri) { 0 } else { 5_000 });
}

/// A value that counts the living values.
struct Alive<'a>(&'a AtomicIsize);

impl<'a> Alive<'a> {
    fn new(count: &'a AtomicIsize) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn handles_and_states_go_to_other_threads() {
    fn send_and_sync<T: Send + Sync>() {}
    fn check<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<(CancelToken, Progress, RunReport, Cancelled)>();
    check::<PerWorker<u8>>();
    send_and_sync::<PerWorker<Cell<u8>>>(); // each worker has its own state
    send_and_sync::<Exclusive<'_, u8>>();
}

mod states {
    use super::*;

    #[test]
    fn each_worker_makes_one_a_loop_and_keeps_it_to_itself() {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            for _ in 0..ROUNDS {
                let makers = Mutex::new(Vec::new());
                let make = |worker| {
                    makers.lock().unwrap().push((worker, thread::current().id()));
                    Rc::new(Cell::new((thread::current().id(), 0))) // not `Send`
                };
                let counts: Vec<_> = pool
                    .on(0..ITEMS)
                    .with(make)
                    .map(|(state, _)| {
                        item();
                        let (owner, count) = state.get();
                        assert_eq!(owner, thread::current().id());
                        state.set((owner, count + 1));
                        (owner, count)
                    })
                    .collect();
                let makers = makers.into_inner().unwrap();
                let distinct = |count| assert_eq!(count, makers.len(), "{makers:?}");
                distinct(makers.iter().map(|(worker, _)| worker).collect::<HashSet<_>>().len());
                distinct(makers.iter().map(|(_, thread)| thread).collect::<HashSet<_>>().len());
                assert!(makers.iter().all(|(worker, _)| *worker < threads));
                assert!(makers.iter().all(|(worker, id)| (*worker == 0) == (*id == thread::current().id())));
                // Each state is used, and each worker makes only one state.
                distinct(counts.iter().filter(|(_, count)| *count == 0).count());
                assert_eq!(counts.iter().collect::<HashSet<_>>().len(), ITEMS);
            }
        }
    }

    #[test]
    fn each_is_dropped_once_whatever_ends_the_loop() {
        let pool = pool(3);
        let (alive, made) = (AtomicIsize::new(0), AtomicUsize::new(0));
        let with = |_| {
            made.fetch_add(1, Relaxed);
            Alive::new(&alive)
        };
        for bad in [0, 1, ITEMS / 2, ITEMS - 1, ITEMS] {
            for _ in 1..ROUNDS {
                pool.on(0..ITEMS).with(with).for_each(|_| item());
                assert_eq!(alive.load(Relaxed), 0);
                let ended = pool.on(0..ITEMS).with(with).try_for_each(|(_, i)| {
                    item();
                    if i == bad { Err(()) } else { Ok(()) }
                });
                assert_eq!((ended.is_err(), alive.load(Relaxed)), (bad < ITEMS, 0));
                let token = CancelToken::new();
                let ended = pool.on(0..ITEMS).with(with).cancel(&token).for_each(|(_, i)| {
                    item();
                    if i == bad {
                        token.cancel();
                    }
                });
                assert_eq!((ended.is_err(), alive.load(Relaxed)), (bad < ITEMS, 0));
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    pool.on(0..ITEMS).with(with).for_each(|(_, i)| {
                        item();
                        assert_ne!(i, bad, "bad item");
                    });
                }));
                assert_eq!((ended.is_err(), alive.load(Relaxed)), (bad < ITEMS, 0));
            }
        }
        assert!(made.into_inner() >= 20 * (ROUNDS - 1));
    }

    #[test]
    fn none_is_made_for_nothing() {
        let (pool, made) = (pool(2), AtomicUsize::new(0));
        pool.on(0..0).with(|_| made.fetch_add(1, Relaxed)).for_each(|_| ());
        let token = CancelToken::new();
        token.cancel();
        let cancelled = pool.on(0..9).cancel(&token).with(|_| made.fetch_add(1, Relaxed));
        cancelled.try_for_each(|_| Ok::<_, ()>(())).unwrap_err();
        assert_eq!(made.into_inner(), 0);
    }

    #[test]
    fn kept_ones_limit_the_workers_whatever_else_is_asked_for() {
        let (small, big) = (pool(2), pool(4));
        let mut counts = small.per_worker(|_| 0);
        for _ in 0..ROUNDS {
            big.on(0..ITEMS).with_kept(&mut counts).threads(4).for_each(|(count, _)| {
                thread::sleep(Duration::from_micros(100)); // all workers share items of this cost
                *count += 1;
            });
        }
        assert_eq!(counts.into_vec().into_iter().sum::<usize>(), ROUNDS * ITEMS);
    }

    #[test]
    fn kept_ones_are_for_all_workers_that_have_one() {
        let pool = pool(2);
        let mut counts = pool.per_worker(|_| 0);
        let all_have_come = (0..100).any(|_| {
            pool.on(0..ITEMS).with_kept(&mut counts).for_each(|(count, _)| {
                *count += 1;
                item();
            });
            counts.iter_mut().all(|count| *count > 0)
        });
        assert!(all_have_come || cfg!(miri));
    }

    #[test]
    fn kept_ones_live_from_loop_to_loop_and_survive_a_panic() {
        let (small, big) = (pool(2), pool(4));
        let mut counts = small.per_worker(|worker| (worker, 0));
        let mut expected = 0;
        for _ in 0..ROUNDS {
            for pool in [&small, &big] {
                let threads = Mutex::new(HashSet::new());
                pool.on(0..ITEMS).with_kept(&mut counts).for_each(|((worker, count), _)| {
                    item();
                    threads.lock().unwrap().insert((*worker, thread::current().id()));
                    *count += 1;
                });
                let threads = threads.into_inner().unwrap();
                assert!(
                    (1..=2).contains(&threads.len()),
                    "no state is shared, none changes hands: {threads:?}"
                );
                expected += ITEMS;
                assert_eq!(counts.iter_mut().map(|(_, count)| *count).sum::<usize>(), expected);

                let broken = catch_unwind(AssertUnwindSafe(|| {
                    pool.on(0..ITEMS).with_kept(&mut counts).for_each(|_| {
                        item();
                        panic!("every worker");
                    });
                }));
                assert!(broken.is_err());
            }
        }
        let workers: Vec<usize> = counts.into_vec().into_iter().map(|(worker, _)| worker).collect();
        assert_eq!(workers, [0, 1]);
    }
}

mod states_of_blocks {
    use std::array;

    use rangesteal::reproducible::{Part, block, share};

    use super::*;

    /// A generator of random numbers. Its numbers are dropped when the generator is dropped.
    struct Rng<'a>(u64, #[expect(dead_code, reason = "counts")] Alive<'a>);

    impl Rng<'_> {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 40
        }

        /// A number from 1/4 to 4, so that sums depend on the order of additions.
        #[allow(clippy::cast_precision_loss)]
        fn float(&mut self) -> f64 {
            1.0 / (self.next() % 1000 + 1) as f64
        }
    }

    /// The numbers that `len` items draw, in blocks of `size`.
    fn drawn(len: usize, size: usize) -> Vec<u64> {
        let alive = AtomicIsize::new(0);
        let mut rng = Rng(0, Alive::new(&alive));
        let draw = |i: usize| {
            if i.is_multiple_of(size) {
                rng.0 = (i / size) as u64;
            }
            rng.next()
        };
        (0..len).map(draw).collect()
    }

    #[test]
    fn the_same_items_meet_the_same_states_on_any_number_of_threads() {
        let lens: &[usize] = if cfg!(miri) { &[0, 20] } else { &[0, 1, 2, 255, 700, 5_000] };
        let threads: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 3, 8] };
        for (&len, grain) in
            lens.iter().flat_map(|len| [None, Some(7), Some(usize::MAX)].map(|grain| (len, grain)))
        {
            let size = grain.unwrap_or(block(len));
            let wanted = drawn(len, size);
            let late = wanted.iter().map(|drawn| drawn % 256 == 0).collect::<Vec<_>>();
            let first = late.iter().position(|late| *late);
            let mut sums = Vec::new();
            for &threads in threads {
                let (pool, alive, made) = (pool(threads), AtomicIsize::new(0), AtomicUsize::new(0));
                let make = |block: usize| {
                    made.fetch_add(1, Relaxed);
                    Rng(block as u64, Alive::new(&alive))
                };
                // The loop is called twice. At the second call the pool knows the loop.
                for _ in 0..2 {
                    let on = || {
                        let on = pool.on(0..len).with_block(make);
                        grain.into_iter().fold(on, On::grain)
                    };
                    let draw = |(rng, i): (&mut Rng<'_>, usize)| {
                        work(if i % 50 == 7 && !cfg!(miri) { 5_000 } else { 0 });
                        rng.next()
                    };
                    made.store(0, Relaxed);
                    assert_eq!(on().map(draw).collect::<Vec<_>>(), wanted);
                    assert_eq!(made.load(Relaxed), len.div_ceil(size), "one for each block");
                    let mut places = vec![0; len];
                    on().map(draw).collect_into(&mut places);
                    assert_eq!(places.split_off(len), wanted);
                    let zipped = pool.on(&mut places).enumerate().with_block(make);
                    let zipped = grain.into_iter().fold(zipped, On::grain);
                    zipped.for_each(|(rng, (i, place))| *place = draw((rng, i)));
                    assert_eq!(places, wanted);
                    let odd = |drawn: &u64| drawn % 2 == 1;
                    let some: Vec<_> = on().filter_map(|(rng, i)| Some(draw((rng, i))).filter(odd)).collect();
                    assert!(some.iter().eq(wanted.iter().filter(|drawn| odd(drawn))));
                    let twice: Vec<_> = on().flat_map(|with| [draw(with), 1]).collect();
                    assert!(twice.into_iter().eq(wanted.iter().flat_map(|drawn| [*drawn, 1])));
                    let kept = |on: Vec<usize>| on.into_iter().map(|i| wanted[i]).all(|drawn| odd(&drawn));
                    assert!(kept(on().filter(|(rng, i)| odd(&draw((rng, *i)))).collect::<Vec<_>>()));
                    let (yes, no) = on().partition(|(rng, i)| odd(&draw((rng, *i))));
                    assert!(yes.len() + no.len() == len && kept(yes));
                    let (firsts, seconds) = on().map(|(rng, i)| (draw((rng, i)), i)).unzip();
                    assert!(firsts == wanted && seconds.into_iter().eq(0..len));
                    let is_late = |with: (&mut Rng<'_>, usize)| draw(with) % 256 == 0;
                    let fails =
                        |(rng, i): (&mut Rng<'_>, usize)| if is_late((rng, i)) { Err(i) } else { Ok(1) };
                    assert_eq!(on().map(fails).collect::<Result<Vec<_>, _>>().err(), first);
                    assert_eq!(on().try_for_each(|with| fails(with).map(drop)).err(), first);
                    assert_eq!(on().map(fails).try_reduce(|a, b| a + b).err(), first);
                    assert_eq!(on().try_fold(|| 0, |sum, i| Ok(sum + fails(i)?), |a, b| a + b).err(), first);
                    assert_eq!(on().position(is_late), first);
                    assert_eq!(on().find(|(rng, i)| is_late((rng, *i))), first);
                    assert_eq!(
                        on().find_any(|(rng, i)| is_late((rng, *i))).map(|i| late[i]),
                        first.map(|_| true)
                    );
                    let (mut report, progress) = (RunReport::default(), Progress::new());
                    assert!(!on().report(&mut report).progress(&progress).any(|with| draw(with) > 1 << 24));
                    assert_eq!((report.items(), progress.done()), (len, len), "items, not blocks");
                    assert_eq!(on().any(is_late), first.is_some());
                    assert_eq!(on().all(|with| !is_late(with)), first.is_none());

                    let add = |a: f64, b: f64| a + b;
                    let float = |(rng, i): (&mut Rng<'_>, usize)| {
                        draw((rng, i));
                        rng.float()
                    };
                    let whole = on().map(float).reduce(add);
                    let folded = on().reproducible().fold(|| 0.0, |sum, with| sum + float(with), add);
                    sums.push((whole.map(f64::to_bits), folded.to_bits()));
                    // The loop is divided into three parts, as for three machines.
                    if grain.is_none() {
                        let nodes = (0..3).flat_map(|rank| {
                            let mine = share(len, rank, 3);
                            let floats = pool.on(mine.clone()).with_block(make).map(float);
                            floats.reproducible_part(mine.start, len).reduce(add).into_nodes()
                        });
                        let parts = Part::from_nodes(len, nodes, add).unwrap().into_result(add).unwrap();
                        assert_eq!(parts.map(f64::to_bits), whole.map(f64::to_bits));
                    }
                }
                assert_eq!(alive.into_inner(), 0, "all states are dropped");
            }
            assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:x?}");
        }
    }

    #[test]
    fn states_of_workers_are_refused_where_results_are_to_be_reproducible() {
        let pool = pool(2);
        let refused: [&dyn Fn(); 5] = [
            &|| drop(pool.on(0..9).with(|worker| worker).reproducible()),
            &|| pool.on(0..9).reproducible().with(|worker| worker).for_each(|_| ()),
            &|| drop(pool.on(0..9).with_kept(&mut pool.per_worker(|_| 0)).reproducible()),
            &|| pool.on(0..9).reproducible().with_kept(&mut pool.per_worker(|_| 0)).for_each(|_| ()),
            &|| drop(pool.on(0..9).with(|worker| worker).reproducible_part(0, 9)),
        ];
        let messages: [String; 5] = array::from_fn(|which| {
            let panic = catch_unwind(AssertUnwindSafe(refused[which])).expect_err("refused");
            *panic.downcast::<String>().expect("a text")
        });
        assert!(messages.iter().all(|message| message.contains("`with_block`")), "{messages:?}");
        drop(pool.on(0..9).with_block(|block| block).reproducible());
        drop(pool.on(0..9).reproducible().with_block(|block| block));
    }
}

mod shares {
    use super::*;

    #[test]
    fn blocks_are_claimed_whole_and_folded_in_order() {
        for grain in [2, 3, 7, 64] {
            let pool = pool(4);
            for _ in 0..ROUNDS {
                // The position of an item in its thread's work, and the thread.
                let clock = AtomicUsize::new(0);
                let folded: Vec<_> = pool
                    .on(0..ITEMS)
                    .grain(grain)
                    .map(|i| {
                        work(if i % 50 == 0 { 20_000 } else { 500 });
                        (thread::current().id(), clock.fetch_add(1, Relaxed))
                    })
                    .collect();
                let mut begins: Vec<(ThreadId, usize)> = Vec::new();
                for block in folded.chunks(grain) {
                    assert!(block.iter().all(|(thread, _)| *thread == block[0].0), "one thread a block");
                    assert!(block.is_sorted_by_key(|(_, when)| *when), "in order");
                    begins.push(block[0]);
                }
                // Between the items of a block, the thread runs no item of another block.
                for block in folded.chunks(grain) {
                    let inside = block[0].1..block[block.len() - 1].1;
                    let between =
                        |(thread, when): &&(ThreadId, usize)| *thread == block[0].0 && inside.contains(when);
                    assert!(begins.iter().filter(between).count() <= 1);
                }
            }
        }
    }

    #[test]
    fn no_more_threads_take_part_than_asked_for() {
        let pool = pool(6);
        for most in 1..=7 {
            for _ in 0..ROUNDS {
                let threads: Vec<_> = pool
                    .on(0..ITEMS)
                    .threads(most)
                    .map(|_| {
                        item();
                        thread::current().id()
                    })
                    .collect();
                assert!(threads.into_iter().collect::<HashSet<_>>().len() <= most);
            }
        }
    }
}

mod reproducibility {
    use super::*;

    fn config() -> ProptestConfig {
        let cases = if cfg!(miri) { 1 } else { 24 };
        ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
    }

    /// Numbers of both signs, so that sums depend on the order of additions.
    #[allow(clippy::cast_precision_loss)]
    fn number(i: usize) -> f64 {
        ((i * 7919 % 10_007) as f64 - 5_000.1) / 3.0 // without sines, because Miri adds noise to them
    }

    /// The bits of three results, and the order of the reductions of the non-commutative result.
    fn results(
        pool: &Pool,
        len: usize,
        grain: Option<usize>,
        noise: u64,
    ) -> (Option<u64>, u32, Result<Option<u64>, ()>, String) {
        let on = || match grain {
            Some(items) => pool.on(0..len).reproducible().grain(items),
            None => pool.on(0..len).reproducible(),
        };
        let item = |i: usize| {
            if (i as u64).wrapping_mul(noise | 1).is_multiple_of(97) {
                work(noise % 10_000);
            }
            number(i)
        };
        let sum = on().map(item).reduce(|a, b| a + b).map(f64::to_bits);
        #[allow(clippy::cast_possible_truncation)]
        let single = on().fold(|| 0f32, |sum, i| sum + item(i) as f32, |a, b| a + b).to_bits();
        let tried = on().map(|i| Ok(item(i))).try_reduce(|a, b| a + b).map(|sum| sum.map(f64::to_bits));
        let order = on().fold(
            String::new,
            |text, i| text + &format!("{i},"),
            |a, b| if a.is_empty() { b } else { format!("({a}{b})") },
        );
        (sum, single, tried, order)
    }

    proptest! {
        #![proptest_config(config())]
        #[test]
        fn the_same_bits_on_any_threads_with_any_schedule(
            len in if cfg!(miri) { 0usize..50 } else { 0usize..6_000 },
            grain in prop_oneof![Just(None), (1usize..300).prop_map(Some)],
            noise in prop::collection::vec(any::<u64>(), if cfg!(miri) { 1 } else { 3 }),
        ) {
            let alone = results(&pool(1), len, grain, 0);
            let plain: Vec<usize> = (0..len).collect();
            let order: Vec<usize> = alone.3.split([',', '(', ')']).filter_map(|i| i.parse().ok()).collect();
            prop_assert_eq!(order, plain, "in slice order");
            for threads in if cfg!(miri) { 2..=3 } else { 1..=8 } {
                let pool = pool(threads);
                for &noise in &noise {
                    prop_assert_eq!(&results(&pool, len, grain, noise), &alone, "{} threads", threads);
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "long")]
    fn the_order_of_additions_shows_in_these_numbers() {
        // Otherwise the test above could not fail.
        let pool = pool(1);
        let sums: HashSet<Option<u64>> =
            [1, 3, 5, 64, 100].map(|grain| results(&pool, 5_000, Some(grain), 0).0).into();
        assert!(sums.len() > 3, "{sums:?}");
    }

    /// Computes independently the order that `On::reproducible` documents and STABILITY.md
    /// guarantees: blocks whose size depends only on the length, then pairs, pairs of pairs and so
    /// on.
    fn as_documented(len: usize, grain: Option<usize>) -> Option<u64> {
        let size = grain.unwrap_or((len / 256).clamp(1, 64).max(len / 2048));
        let sums = |numbers: &[f64], size| -> Vec<f64> {
            numbers.chunks(size).filter_map(|part| part.iter().copied().reduce(|a, b| a + b)).collect()
        };
        let mut results = sums(&(0..len).map(number).collect::<Vec<_>>(), size);
        while results.len() > 1 {
            results = sums(&results, 2);
        }
        results.pop().map(f64::to_bits)
    }

    fn sum(pool: &Pool, len: usize, grain: Option<usize>) -> Option<u64> {
        let on = pool.on(0..len).reproducible();
        let on = if let Some(items) = grain { on.grain(items) } else { on };
        on.map(number).reduce(|a, b| a + b).map(f64::to_bits)
    }

    #[test]
    fn the_order_is_the_documented_one() {
        let pool = pool(3);
        let lengths: &[usize] = if cfg!(miri) {
            &[0, 1, 7, 30]
        } else {
            &[0, 1, 2, 3, 255, 256, 257, 511, 512, 5_000, 16_383, 16_384, 131_071, 133_120, 409_599]
        };
        for &len in lengths {
            assert_eq!(sum(&pool, len, None), as_documented(len, None), "{len} items");
            for grain in [1, 7, 1_000] {
                if len / grain < 20_000 {
                    let summed = sum(&pool, len, Some(grain));
                    assert_eq!(summed, as_documented(len, Some(grain)), "{len} items, grain {grain}");
                }
            }
        }
    }

    #[test]
    fn init_is_called_once_a_block() {
        let pool = pool(3);
        for (len, grain, blocks) in [
            (0, None, 1),
            (1, None, 1),
            (100, None, 100),
            (4095, None, 273),
            (4096, None, 256),
            (100_000, None, 1563),
            (1 << 20, None, 2048),
            (100, Some(7), 15),
        ] {
            if cfg!(miri) && len > 100 {
                continue;
            }
            let inits = AtomicUsize::new(0);
            let on = pool.on(0..len).reproducible();
            let on = if let Some(items) = grain { on.grain(items) } else { on };
            on.fold(
                || {
                    inits.fetch_add(1, Relaxed);
                },
                |(), _| (),
                |(), ()| (),
            );
            assert_eq!(inits.into_inner(), blocks, "{len} items");
        }
    }
}

mod cancelling {
    use super::*;

    /// Runs a loop of heavy items on `pool`, which another thread cancels. Returns the number of
    /// items that began after `cancel` had returned.
    fn begun_behind(pool: &Pool, cancellers: usize) -> usize {
        let (token, returned) = (CancelToken::new(), AtomicBool::new(false));
        let (begun, behind) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ended = thread::scope(|scope| {
            for _ in 0..cancellers {
                scope.spawn(|| {
                    while begun.load(Relaxed) < ITEMS / 4 {
                        thread::yield_now();
                    }
                    token.cancel();
                    returned.store(true, Release);
                });
            }
            pool.on(0..100 * ITEMS).cancel(&token).for_each(|_| {
                begun.fetch_add(1, Relaxed);
                behind.fetch_add(returned.load(Acquire).into(), Relaxed);
                work(20_000);
            })
        });
        assert_eq!(ended, Err(Cancelled));
        behind.into_inner()
    }

    #[test]
    fn ends_the_loop_but_for_claims_in_flight() {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            for cancellers in [1, 4] {
                for _ in 0..ROUNDS {
                    // Items of 20 µs are claimed one by one. Each worker may have claimed an item
                    // that has not begun.
                    let behind = begun_behind(&pool, cancellers);
                    assert!(behind <= threads, "{behind} items on {threads} threads");
                }
            }
            assert_eq!(pool.on(0..ITEMS).collect::<Vec<_>>().len(), ITEMS);
        }
    }

    #[test]
    fn from_inside_a_closure_and_before_and_after() {
        for threads in [1, 3] {
            let pool = pool(threads);
            for _ in 0..ROUNDS {
                let (token, clone) = {
                    let token = CancelToken::new();
                    (token.clone(), token)
                };
                let visits = AtomicUsize::new(0);
                assert_eq!(
                    pool.on(0..ITEMS).cancel(&token).map(|_| item()).reduce(|(), ()| ()),
                    Ok(Some(()))
                );
                let ended = pool.on(0..ITEMS).cancel(&token).find(|_| {
                    item();
                    clone.cancel();
                    visits.fetch_add(1, Relaxed);
                    false
                });
                assert_eq!(ended, Err(Cancelled));
                assert!(visits.into_inner() <= threads, "all of them have cancelled");
                assert!(token.is_cancelled());
                assert_eq!(pool.on(0..ITEMS).cancel(&token).any(|_| true), Err(Cancelled));
                assert_eq!(pool.on(0..0).cancel(&token).collect::<Vec<_>>(), Err(Cancelled));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "about time")]
    fn ends_a_shared_search() {
        let (pool, token, visits) = (pool(2), CancelToken::new(), AtomicUsize::new(0));
        let ended = pool.on(0..200).cancel(&token).find(|&i| {
            visits.fetch_add(1, Relaxed);
            thread::sleep(Duration::from_millis(1));
            if i == 20 {
                token.cancel();
            }
            false
        });
        assert_eq!(ended, Err(Cancelled));
        assert!(visits.into_inner() < 100);
    }

    #[test]
    fn before_the_call_lets_no_item_begin() {
        let (pool, visits) = (pool(2), AtomicUsize::new(0));
        let run = |token: &CancelToken| {
            pool.on(0..ITEMS).cancel(token).for_each(|_| {
                item();
                visits.fetch_add(1, Relaxed);
            })
        };
        for _ in 0..ROUNDS {
            run(&CancelToken::new()).unwrap(); // the pool learns that this loop is worth sharing
        }
        let (token, before) = (CancelToken::new(), visits.load(Relaxed));
        token.cancel();
        assert_eq!(run(&token), Err(Cancelled));
        assert_eq!(visits.into_inner(), before);
    }

    #[test]
    fn comes_before_an_error_on_any_threads() {
        for threads in [1, 2] {
            let (pool, token) = (pool(threads), CancelToken::new());
            let ended = pool.on(0..ITEMS).cancel(&token).try_for_each(|i| {
                item();
                token.cancel();
                Err(i)
            });
            assert_eq!(ended, Err(Cancelled), "{threads} threads");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "about time")]
    fn is_seen_on_the_calling_thread_where_items_become_dear() {
        // The time of the items before, and how many items may begin: 8 if those before take more
        // than 16 ns, and otherwise 64.
        for (cheap, most) in [(200, 10), (0, 64)] {
            let (pool, token, behind) = (pool(1), CancelToken::new(), AtomicUsize::new(0));
            let ended = pool.on(0..20_000).cancel(&token).for_each(|i| {
                behind.fetch_add(token.is_cancelled().into(), Relaxed);
                if i >= 4_000 {
                    work(100_000);
                    token.cancel();
                } else {
                    work(cheap);
                }
            });
            assert_eq!(ended, Err(Cancelled));
            assert!(behind.load(Relaxed) < most, "{behind:?} items of 100 µs behind the end");
        }
    }

    #[test]
    fn does_not_disturb_other_loops_of_the_pool() {
        let pool = pool(3);
        let over = AtomicBool::new(false);
        let token = Mutex::new(CancelToken::new());
        let begin = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    token.lock().unwrap().clone().cancel(); // at any moment of the loop, or between loops
                    thread::yield_now();
                }
            });
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    let mine = CancelToken::new();
                    *token.lock().unwrap() = mine.clone();
                    let _either_way = pool.on(0..ITEMS / 4).cancel(&mine).for_each(|_| item());
                }
            });
            let rounds = if cfg!(miri) { 3 } else { 300 };
            for _ in 0..rounds {
                let other = CancelToken::new();
                assert_eq!(
                    pool.on(0..ITEMS / 4).fold(
                        || 0,
                        |n, _| {
                            item();
                            n + 1
                        },
                        |a, b| a + b
                    ),
                    ITEMS / 4
                );
                assert_eq!(
                    pool.on(0..ITEMS / 4)
                        .cancel(&other)
                        .map(|i| {
                            item();
                            i
                        })
                        .collect::<Vec<_>>()
                        .map(|all| all.len()),
                    Ok(ITEMS / 4)
                );
            }
            over.store(true, Relaxed);
        });
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn after_the_loop_does_not_end_the_next_one() {
        let pool = pool(3);
        for _ in 0..ROUNDS {
            let token = CancelToken::new();
            assert_eq!(pool.on(0..ITEMS).cancel(&token).for_each(|_| item()), Ok(()));
            let next: Vec<_> = pool
                .on(0..ITEMS)
                .map(|i| {
                    item();
                    token.cancel();
                    i
                })
                .collect();
            assert_eq!(next.len(), ITEMS);
        }
    }

    #[test]
    fn of_nested_loops_on_two_pools() {
        let (outer, inner) = (pool(2), pool(2));
        for _ in 0..ROUNDS {
            let token = CancelToken::new();
            let ended = outer.on(0..ITEMS).cancel(&token).try_for_each(|i| {
                inner.on(0..ITEMS).cancel(&token).for_each(|j| {
                    work(1_000);
                    if i * 10 + j > ITEMS {
                        token.cancel();
                    }
                })?;
                outer.on(0..3).cancel(&token).for_each(|_| ())
            });
            assert_eq!(ended, Err(Cancelled));
            let half = CancelToken::new();
            let lens: Vec<_> = outer
                .on(0..4)
                .map(|_| inner.on(0..ITEMS).cancel(&half).collect::<Vec<_>>().unwrap().len())
                .collect();
            assert_eq!(lens, [ITEMS; 4]);
        }
    }
}

mod progress {
    use super::*;

    #[test]
    fn rises_to_the_total_and_never_falls_or_overshoots() {
        let pool = pool(3);
        let progress = Progress::new();
        for (round, grain) in (0..if cfg!(miri) { 2 } else { 20 }).zip([1, 7].into_iter().cycle()) {
            let over = AtomicBool::new(false);
            thread::scope(|scope| {
                let poll = || {
                    let mut last = round * ITEMS;
                    while !over.load(Relaxed) {
                        let done = progress.done();
                        assert!((last..=(round + 1) * ITEMS).contains(&done), "{last} {done}");
                        last = done;
                        thread::yield_now();
                    }
                };
                scope.spawn(poll);
                scope.spawn(poll);
                pool.on(0..ITEMS).grain(grain).progress(&progress).for_each(|i| {
                    work(if i % 40 == 0 { 50_000 } else { 500 });
                });
                over.store(true, Relaxed);
                assert_eq!(progress.done(), (round + 1) * ITEMS);
            });
        }
    }

    #[test]
    fn counts_loops_of_two_pools_and_nested_ones_together() {
        let progress = Progress::new();
        let rounds = if cfg!(miri) { 1 } else { 10 };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let pool = pool(2);
                    for _ in 0..rounds {
                        pool.on(0..ITEMS).progress(&progress).for_each(|i| {
                            item();
                            if i == 3 {
                                pool.on(0..10).progress(&progress).for_each(|_| ());
                            }
                        });
                    }
                });
            }
        });
        assert_eq!(progress.done(), 2 * rounds * (ITEMS + 10));
    }

    #[test]
    #[cfg_attr(miri, ignore = "long")]
    fn is_ahead_by_a_claim_a_worker_at_most() {
        // On a busy machine, workers that are not pinned are woken late, and the caller works alone
        // for a long time.
        for pinning in [Pinning::BestEffort, Pinning::Off] {
            follow(&Pool::builder().num_threads(4).pinning(pinning).build().unwrap());
        }
    }

    fn follow(pool: &Pool) {
        let begin = Instant::now();
        let ahead = AtomicUsize::new(0);
        for round in 0u64.. {
            if begin.elapsed() > Duration::from_secs(3) {
                break;
            }
            let (progress, begun, over) = (Progress::new(), AtomicUsize::new(0), AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut last = 0;
                    while !over.load(Relaxed) {
                        let done = progress.done();
                        assert!(last <= done, "falls from {last} to {done}");
                        last = done;
                        ahead.fetch_max(done.saturating_sub(begun.load(Relaxed)), Relaxed);
                    }
                });
                pool.on(0..20_000_u64).progress(&progress).for_each(|i| {
                    begun.fetch_add(1, Relaxed);
                    if i % 1000 == 0 {
                        work((round * 7919 + i * 31) % 100_000); // makes thefts frequent
                    }
                });
                over.store(true, Relaxed);
            });
        }
        assert!(ahead.load(Relaxed) <= 4 * 64, "ahead by {ahead:?} items");
    }

    #[test]
    fn of_a_loop_that_is_cancelled_or_panics_is_complete() {
        for threads in [1, 2] {
            let pool = pool(threads);
            for _ in 0..ROUNDS {
                let (progress, token) = (Progress::new(), CancelToken::new());
                let cancelled = pool.on(0..ITEMS).progress(&progress).cancel(&token).for_each(|i| {
                    item();
                    if i == ITEMS / 2 {
                        token.cancel();
                    }
                });
                assert_eq!((cancelled, progress.done()), (Err(Cancelled), ITEMS), "{threads} threads");
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    pool.on(0..ITEMS).progress(&progress).for_each(|i| {
                        item();
                        assert_ne!(i, ITEMS / 2, "bad item");
                    });
                }));
                assert_eq!((panicked.is_err(), progress.done()), (true, 2 * ITEMS), "{threads} threads");
            }
        }
    }

    #[test]
    fn of_a_loop_that_stops_early_is_complete() {
        for threads in [1, 3] {
            let (pool, progress) = (pool(threads), Progress::new());
            for round in 1..=ROUNDS {
                let found = pool.on(0..ITEMS).progress(&progress).position(|i| {
                    item();
                    i == ITEMS / 3
                });
                assert_eq!((found, progress.done()), (Some(ITEMS / 3), round * ITEMS));
            }
        }
    }
}

mod reports {
    use super::*;

    fn check(report: &RunReport, most_workers: usize, items: std::ops::RangeInclusive<usize>) {
        let workers = &report.workers;
        assert!(items.contains(&report.items()), "{report}");
        assert!((1..=most_workers).contains(&workers.len()), "{report}");
        assert_eq!(report.thefts(), workers.iter().map(|w| w.thefts).sum::<usize>(), "{report}");
        assert_eq!(report.thefts(), workers.iter().map(|w| w.thefts_suffered).sum::<usize>(), "{report}");
        assert!((0.0..=1.0).contains(&report.balance()), "{report}");
        // Times have single precision.
        let limit = report.wall + report.wall / 1000 + Duration::from_micros(1);
        assert!(report.alone.is_none() || workers.len() == 1, "{report}");
        for worker in workers {
            assert_eq!(worker.runs > 0, worker.items > 0, "{report}");
            assert!(
                (worker.thefts..=worker.thefts + 1).contains(&worker.runs),
                "one run, and one a theft: {report}"
            );
            assert!(worker.waiting_to_start + worker.working + worker.waiting_at_end <= limit, "{report}");
            if worker.items == 0 {
                assert_eq!(
                    (worker.working, worker.waiting_to_start),
                    (Duration::ZERO, report.wall),
                    "{report}"
                );
            }
        }
        let text = report.to_string();
        assert_eq!(text.lines().count(), 2 + workers.len(), "{text}");
        assert!(text.starts_with(&format!("{} items in ", report.items())), "{text}");
    }

    #[test]
    fn add_up() {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            let mut report = RunReport::default();
            for round in 0..if cfg!(miri) { 1 } else { 10 } {
                let before = pool.thefts();
                let begin = Instant::now();
                let visit = |i: usize| work(if i.is_multiple_of(round + 20) { 30_000 } else { 100 });
                pool.on(0..ITEMS).report(&mut report).for_each(visit);
                assert!(report.wall <= begin.elapsed());
                check(&report, threads, ITEMS..=ITEMS);
                assert_eq!(report.thefts() as u64, pool.thefts() - before);
                pool.on(0..ITEMS).report(&mut report).grain(7).map(visit).collect::<Vec<_>>();
                check(&report, threads, ITEMS..=ITEMS);
                pool.on(0..ITEMS).report(&mut report).reproducible().threads(2).fold(
                    || (),
                    |(), i| visit(i),
                    |(), ()| (),
                );
                check(&report, 2, ITEMS..=ITEMS);
                let _found = pool.on(0..ITEMS).report(&mut report).find(|&i| {
                    visit(i);
                    i == 99
                });
                check(&report, threads, ITEMS.min(100)..=ITEMS);
                pool.on(0..0).report(&mut report).for_each(visit);
                assert_eq!((report.items(), report.workers.len()), (0, 1));
            }
        }
    }

    #[test]
    fn all_work_is_somebodys() {
        const COST: u64 = 20_000;
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            for _ in 0..ROUNDS {
                let mut report = RunReport::default();
                pool.on(0..ITEMS).report(&mut report).for_each(|_| work(COST));
                let working: Duration = report.workers.iter().map(|worker| worker.working).sum();
                let least = Duration::from_nanos(COST) * u32::try_from(ITEMS).unwrap();
                assert!(working + least / 1000 >= least, "single precision: {report}");
            }
        }
    }

    #[test]
    fn say_why_a_loop_ran_alone() {
        let why = |pool: &Pool, items: usize, threads: usize, f: &(dyn Fn() + Sync)| {
            let mut report = RunReport::default();
            pool.on(0..items).threads(threads).report(&mut report).for_each(|_| f());
            report.alone
        };
        let pool = pool(2);
        for (items, threads) in [(ITEMS, 1), (1, 2), (0, 2)] {
            assert_eq!(why(&pool, items, threads, &item), Some(Alone::OneWorker), "{items} items");
        }
        // An interrupted call is not short. Under Miri, no call is short.
        assert!(cfg!(miri) || (0..100).any(|_| why(&pool, 3, 2, &|| ()) == Some(Alone::Short)));
        let busy = AtomicUsize::new(0);
        let inside = || {
            let is_busy = why(&pool, 20, 2, &item) == Some(Alone::Busy);
            busy.fetch_add(usize::from(is_busy), Relaxed);
        };
        let shared = (0..100).any(|_| why(&pool, ITEMS, 2, &inside).is_none());
        assert!(cfg!(miri) || shared && busy.into_inner() > 0);
    }

    #[test]
    fn of_a_short_search_are_written_every_time() {
        let pool = pool(2);
        for _ in 0..20 {
            let mut report = RunReport::default();
            assert!(!pool.on(0..100).report(&mut report).any(|i| i == 100));
            assert_eq!(report.items(), 100);
        }
    }

    #[test]
    fn of_a_watched_loop_tell_that_it_was_shared() {
        let (pool, token, progress) = (pool(2), CancelToken::new(), Progress::new());
        let is_shared = |_| {
            let mut report = RunReport::default();
            let watched = pool.on(0..ITEMS).cancel(&token).progress(&progress).report(&mut report);
            watched.for_each(|_| item()).unwrap();
            report.alone.is_none()
        };
        assert!((0..100).any(is_shared) || cfg!(miri));
    }

    #[test]
    fn of_a_loop_that_finds_its_pool_busy_tell_of_the_calling_thread_alone() {
        let pool = pool(3);
        pool.for_each(&[(); ITEMS], |()| item());
        pool.for_each(&[(); ITEMS], |()| {
            let mut report = RunReport::default();
            pool.on(0..10).report(&mut report).for_each(|_| item());
            check(&report, if pool.num_threads() > 1 { 3 } else { 1 }, 10..=10);
        });
    }

    #[test]
    fn of_a_cancelled_loop_tell_what_was_done() {
        let pool = pool(2);
        for _ in 0..ROUNDS {
            let (mut report, token, visits) = (RunReport::default(), CancelToken::new(), AtomicUsize::new(0));
            let ended = pool.on(0..ITEMS).report(&mut report).cancel(&token).for_each(|_| {
                item();
                if visits.fetch_add(1, Relaxed) == ITEMS / 2 {
                    token.cancel();
                }
            });
            assert_eq!(ended, Err(Cancelled));
            check(&report, 2, visits.load(Relaxed)..=visits.load(Relaxed));
        }
    }

    #[test]
    fn of_a_loop_cancelled_beforehand_say_so() {
        let (pool, token, mut report) = (pool(2), CancelToken::new(), RunReport::default());
        let mut run = || pool.on(0..ITEMS).cancel(&token).report(&mut report).for_each(|_| ());
        run().unwrap();
        token.cancel();
        run().unwrap_err();
        assert_eq!((report.items(), report.alone), (0, Some(Alone::Cancelled)));
    }

    #[test]
    fn are_not_written_by_a_loop_that_panics() {
        for threads in [1, 2] {
            let pool = pool(threads);
            for _ in 0..ROUNDS {
                let mut report = RunReport::default();
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    pool.on(0..ITEMS).report(&mut report).for_each(|i| {
                        item();
                        assert_ne!(i, ITEMS - 1, "bad item");
                    });
                }));
                assert_eq!((panicked.is_err(), report), (true, RunReport::default()), "{threads} threads");
            }
        }
    }
}
