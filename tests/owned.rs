//! Tests of loops over items by value. However a loop ends, each item goes to one closure or is
//! dropped once. Also tests of source shapes.

mod busy;

use std::{
    iter,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use busy::work;
use proptest::prelude::*;
use rangesteal::{CancelToken, Pool, source};

const CASES: u32 = if cfg!(miri) { 1 } else { 48 };
const LONGEST: usize = if cfg!(miri) { 40 } else { 2000 };

fn pools() -> impl Strategy<Value = Pool> {
    (1usize..6, prop_oneof![Just(0), Just(50)]).prop_map(|(threads, spin)| {
        quiet();
        let builder = Pool::builder().num_threads(threads);
        builder.spin_before_park(Duration::from_micros(spin)).build().unwrap()
    })
}

fn costs() -> impl Strategy<Value = Vec<u64>> {
    let len = prop_oneof![1 => prop::sample::select(&[0usize, 1, 2, 63, 64, 65][..]), if cfg!(miri) { 99 } else { 2 } => 0..LONGEST];
    let cost = prop_oneof![30 => Just(0u64), 1 => 0u64..20_000];
    len.prop_flat_map(move |len| prop::collection::vec(cost.clone(), len))
}

/// A value that counts the living values. A double drop makes the count wrong.
struct Item<'a> {
    alive: &'a AtomicIsize,
    number: usize,
    cost: u64,
    /// Whether the value's drop panics.
    bad: bool,
}

impl Item<'_> {
    /// Computes for the time `cost`, and returns the item's number.
    fn into_number(self) -> usize {
        work(self.cost);
        self.number
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Relaxed);
        if self.bad {
            panic_any(()); // the payload of a panic in a drop is forgotten, so a payload without memory leaks nothing
        }
    }
}

fn items<'a>(alive: &'a AtomicIsize, costs: &[u64]) -> Vec<Item<'a>> {
    alive.fetch_add(costs.len().cast_signed(), Relaxed);
    costs.iter().enumerate().map(|(number, &cost)| Item { alive, number, cost, bad: false }).collect()
}

/// A pool of `threads` threads.
fn pool(threads: usize) -> Pool {
    quiet();
    Pool::builder().num_threads(threads).build().unwrap()
}

/// A panic during a panic always prints a backtrace, which takes Miri half a minute.
fn quiet() {
    #[cfg(miri)]
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
}

/// Whether `call` returns without a panic.
fn is_ok(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_ok()
}

/// A name, and a loop over items that ends early at one item. The loop returns true if it does not
/// end early.
type Way<'a> = (&'a str, &'a (dyn Fn(Vec<Item<'_>>) -> bool + 'a));

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_item_goes_to_one_closure_in_order(costs in costs(), pool in pools(), size in 1usize..100, part in 0.0..1.0_f64) {
        let alive = AtomicIsize::new(0);
        let make = || items(&alive, &costs);
        let len = costs.len();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a place in the slice
        let at = (part * len as f64) as usize;
        for _ in 0..3 {
            prop_assert!(pool.on(make()).map(Item::into_number).collect::<Vec<_>>().into_iter().eq(0..len));
            prop_assert!(pool.on(make().into_boxed_slice()).map(Item::into_number).collect::<Vec<_>>().into_iter().eq(0..len));
            prop_assert!(pool.on(make()).collect::<Vec<_>>().into_iter().map(Item::into_number).eq(0..len), "they may leave");
            let even: Vec<_> = pool.on(make()).filter(|item| item.number % 2 == 0).collect();
            prop_assert!(even.into_iter().map(Item::into_number).eq((0..len).step_by(2)));
            let (even, odd) = pool.on(make()).partition(|item| item.number % 2 == 0);
            prop_assert!(even.into_iter().chain(odd).map(Item::into_number).eq((0..len).step_by(2).chain((1..len).step_by(2))));
            let sum = pool.on(make()).reproducible().map(|item| vec![item.into_number()]).reduce(|a, b| [a, b].concat());
            prop_assert!(sum.unwrap_or_default().into_iter().eq(0..len));
            let grained = pool.on(make()).grain(size).fold(Vec::new, |mut all, item| { all.push(item.into_number()); all }, |a, b| [a, b].concat());
            prop_assert!(grained.into_iter().eq(0..len));
            let chunks: Vec<_> = pool.on(make()).chunks(size).map(|chunk| chunk.into_iter().map(Item::into_number).collect::<Vec<_>>()).collect();
            prop_assert_eq!(&chunks, &(0..len).collect::<Vec<_>>().chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>());
            let mut lent: Vec<usize> = (0..len).collect();
            let pairs = pool.on(make()).zip(&mut lent).zip(make());
            pairs.for_each(|((item, lent), other)| *lent += item.into_number() + other.into_number());
            prop_assert!(lent.into_iter().eq((0..len).map(|i| 3 * i)));
            let mut vec = make();
            prop_assert!(pool.on(source::drain(&mut vec, at..)).map(Item::into_number).collect::<Vec<_>>().into_iter().eq(at..len));
            prop_assert!(pool.on(source::drain(&mut vec, ..at / 2)).rev().map(Item::into_number).collect::<Vec<_>>().into_iter().eq((0..at / 2).rev()));
            prop_assert!(vec.into_iter().map(Item::into_number).eq(at / 2..at));
            prop_assert_eq!(alive.load(Relaxed), 0);
        }
    }

    #[test]
    fn what_no_closure_was_given_is_dropped_once(
        costs in costs(), pool in pools(), size in 1usize..100, stop in 0..LONGEST, bad in prop::collection::vec(0..LONGEST, 0..3),
    ) {
        let (alive, len) = (AtomicIsize::new(0), costs.len());
        let given = AtomicUsize::new(0);
        let give = |item: Item<'_>| {
            given.fetch_add(1, Relaxed);
            let number = item.number;
            work(item.cost);
            std::mem::forget(item); // the drop of this item may panic, which another test covers
            alive.fetch_sub(1, Relaxed);
            number
        };
        let bad_at_stop = |item: Item<'_>| if item.number == stop { _ = give(item); panic!("at {stop}") } else { give(item) };
        let fails_at_stop = |item: Item<'_>| if item.number == stop { give(item); Err(stop) } else { Ok(give(item)) };
        let ways: [Way<'_>; 9] = [
            ("a panic", &|items| is_ok(|| pool.on(items).for_each(|item| _ = bad_at_stop(item)))),
            ("a panic in a map", &|items| is_ok(|| drop(pool.on(items).map(bad_at_stop).collect::<Vec<_>>()))),
            ("a panic, in pairs", &|items| {
                is_ok(|| pool.on(0..len).zip(items).for_each(|(_, item)| _ = bad_at_stop(item)))
            }),
            ("a panic, in pieces", &|items| {
                is_ok(|| {
                    pool.on(items).chunks(size).for_each(|chunk| {
                        let has_it = chunk.iter().any(|item| item.number == stop);
                        for item in chunk {
                            give(item);
                        }
                        assert!(!has_it);
                    });
                })
            }),
            ("an error", &|items| pool.on(items).try_for_each(|item| fails_at_stop(item).map(drop)).is_ok()),
            ("an error in a map", &|items| pool.on(items).map(fails_at_stop).collect::<Result<Vec<_>, usize>>().is_ok()),
            ("an error, from the end", &|items| {
                pool.on(items).rev().map(fails_at_stop).try_reduce(usize::max).is_ok()
            }),
            ("a search", &|items| !pool.on(items).any(|item| give(item) == stop)),
            ("a token", &|items| {
                let token = CancelToken::new();
                let cancel_at_stop = |item| if give(item) == stop { token.cancel() };
                pool.on(items).cancel(&token).for_each(cancel_at_stop).is_ok()
            }),
        ];
        for _ in 0..2 {
            for (name, way) in ways {
                given.store(0, Relaxed);
                let mut all = items(&alive, &costs);
                bad.iter().filter(|at| **at < len).for_each(|at| all[*at].bad = true);
                let through = way(all);
                prop_assert_eq!(alive.load(Relaxed), 0, "{}", name);
                if through {
                    prop_assert_eq!(given.load(Relaxed), len, "{}", name);
                } else {
                    prop_assert!(stop < len && given.load(Relaxed) > 0, "{}", name);
                }
            }
        }
        // The loop runs over a part of the items. The other items are also dropped.
        prop_assert_eq!(pool.on(items(&alive, &costs)).skip(size).step_by(2).count(), len.saturating_sub(size).div_ceil(2));
        prop_assert_eq!(alive.load(Relaxed), 0, "a part");
        let mut vec = items(&alive, &costs);
        let drained = is_ok(|| pool.on(source::drain(&mut vec, ..len / 2)).for_each(|item| _ = bad_at_stop(item)));
        prop_assert_eq!(!drained, stop < len / 2);
        prop_assert_eq!(alive.load(Relaxed), (len - len / 2).cast_signed());
        prop_assert!(vec.into_iter().map(give).eq(len / 2..len), "what was behind the part is still there");
    }

    #[test]
    fn items_in_turn_come_once_and_are_dropped_once(costs in costs(), pool in pools(), count in 0usize..LONGEST, failing in 0usize..LONGEST) {
        let alive = AtomicIsize::new(0);
        let len = costs.len();
        let more = vec![0; count];
        for (a, b) in [(&costs, &more), (&more, &costs)] {
            for ends_early in [false, true] {
                let on = || pool.on(items(&alive, a)).in_turn(source(items(&alive, b)).map(|item| item), ends_early);
                let (mut numbers, mut first) = (Vec::new(), [0..a.len(), 0..b.len()]);
                while let Some(number) = first[numbers.len() % 2].next() {
                    numbers.push(number);
                }
                if !ends_early {
                    numbers.extend(first.into_iter().flatten());
                }
                prop_assert_eq!(&on().map(Item::into_number).collect::<Vec<_>>(), &numbers);
                prop_assert_eq!(alive.load(Relaxed), 0);
                let backward = on().rev().map(Item::into_number).collect::<Vec<_>>();
                prop_assert!(backward.iter().eq(numbers.iter().rev()));
                let ended = on().enumerate().try_for_each(|(i, item)| if i < failing { drop(item); Ok(()) } else { Err(item.into_number()) });
                prop_assert_eq!(ended.err(), numbers.get(failing).copied());
                prop_assert_eq!(alive.load(Relaxed), 0, "of {} and {}", len, count);
                let append = |mut before: Vec<usize>, behind| { before.extend::<Vec<_>>(behind); before };
                let push = |mut some: Vec<usize>, item: Item| { some.push(item.into_number()); some };
                prop_assert_eq!(&on().fold(Vec::new, push, append), &numbers);
                let is_there = numbers.contains(&failing);
                let ended = on().try_for_each(|item| if item.number == failing { Err(item.into_number()) } else { Ok(()) });
                prop_assert_eq!(ended, if is_there { Err(failing) } else { Ok(()) });
                prop_assert_eq!(alive.load(Relaxed), 0);
                let went_on = is_ok(|| on().for_each(|item| assert!(item.number != failing, "at {failing}")));
                prop_assert_eq!(went_on, !is_there);
                prop_assert_eq!(alive.load(Relaxed), 0);
            }
        }
    }

    #[test]
    fn a_loop_that_ends_early_has_the_result_of_the_items_that_are_done(costs in costs(), pool in pools(), last in 0usize..LONGEST) {
        let alive = AtomicIsize::new(0);
        for _ in 0..2 {
            let (token, calls) = (CancelToken::new(), AtomicUsize::new(0));
            let (on, token) = pool.on(items(&alive, &costs)).end_by(&token);
            let numbers: Vec<usize> = on.filter_map(|item| {
                calls.fetch_add(1, Relaxed);
                let number = item.into_number();
                if number == last { token.cancel(); }
                Some(number)
            }).collect();
            prop_assert_eq!(numbers.len(), calls.into_inner());
            prop_assert!(numbers.is_sorted() && numbers.contains(&last) == (last < costs.len()));
            prop_assert_eq!(token.is_cancelled(), last < costs.len());
            prop_assert_eq!(alive.load(Relaxed), 0);
            let (on, _) = pool.on(items(&alive, &costs)).end_by(token);
            prop_assert_eq!(on.count(), if token.is_cancelled() { 0 } else { costs.len() });
            let token = CancelToken::new();
            let (on, token) = pool.on(items(&alive, &costs)).end_by(&token);
            let ended = on.try_for_each(|item| { if item.number == last { token.cancel(); } Err::<(), _>(item.into_number()) });
            prop_assert_eq!(ended, if costs.is_empty() { Ok(()) } else { Err(0) });
            prop_assert_eq!(alive.load(Relaxed), 0);
        }
    }

    #[test]
    fn shapes_are_those_of_the_iterators(costs in costs(), pool in pools(), size in 1usize..70, count in 0usize..LONGEST) {
        let plain = &costs;
        let len = plain.len();
        let mut exclusive = costs.clone();
        let busy = |cost: &u64| { work(*cost); *cost };
        for _ in 0..2 {
            prop_assert!(pool.on(plain).take(count).map(busy).collect::<Vec<_>>().iter().eq(plain.iter().take(count)));
            prop_assert!(pool.on(plain).skip(count).map(busy).collect::<Vec<_>>().iter().eq(plain.iter().skip(count)));
            prop_assert!(pool.on(plain).rev().map(busy).collect::<Vec<_>>().iter().eq(plain.iter().rev()));
            prop_assert!(pool.on(plain).step_by(size).map(busy).collect::<Vec<_>>().iter().eq(plain.iter().step_by(size)));
            prop_assert!(pool.on(&mut exclusive).rev().step_by(size).map(|x| busy(x)).collect::<Vec<_>>().iter().eq(plain.iter().rev().step_by(size)));
            prop_assert!(pool.on(&mut exclusive).step_by(size).rev().map(|x| busy(x)).collect::<Vec<_>>().iter().eq(plain.iter().step_by(size).rev()));
            prop_assert!(pool.on(plain).skip(count / 2).take(count).rev().enumerate().map(|(i, x)| (i, *x)).collect::<Vec<_>>().into_iter()
                .eq(plain.iter().copied().skip(count / 2).take(count).rev().enumerate()));
            prop_assert!(pool.on(plain).skip(count).chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>().into_iter().eq(plain[count.min(len)..].chunks(size)));
            prop_assert!(pool.on(plain).take(count).windows(size).map(<[_]>::to_vec).collect::<Vec<_>>().into_iter().eq(plain[..count.min(len)].windows(size)));
            prop_assert!(pool.on(plain).chunks(size).rev().map(<[_]>::to_vec).collect::<Vec<_>>().into_iter().eq(plain.chunks(size).rev()));
            prop_assert!(pool.on(plain).chunks_exact(size).map(<[_]>::to_vec).collect::<Vec<_>>().into_iter().eq(plain.chunks_exact(size)));
            prop_assert!(pool.on(costs.clone()).chunks(size).rev().collect::<Vec<_>>().into_iter().eq(plain.chunks(size).rev()));
            let (pieces, rest) = source::chunks_exact(&mut exclusive, size);
            prop_assert_eq!(&*rest, plain.chunks_exact(size).remainder());
            for x in rest {
                *x += 1;
            }
            pool.on(pieces).for_each(|piece| piece.iter_mut().for_each(|x| *x += 1));
            for x in &mut exclusive {
                *x -= 1;
            }
            prop_assert_eq!(&exclusive, plain);
            let alive = AtomicIsize::new(0);
            let (pieces, rest) = source::chunks_exact(items(&alive, plain), size);
            prop_assert_eq!(rest.len(), len % size);
            prop_assert!(rest.into_iter().all(|item| item.into_number() >= len - len % size));
            prop_assert_eq!(pool.on(pieces).map(|piece| piece.len()).sum::<usize>(), len - len % size);
            prop_assert_eq!(alive.load(Relaxed), 0);
            // Chunks of two sizes, zipped.
            let halves = source(&mut exclusive).chunks(2 * size);
            let sums: Vec<_> = pool.on(0..len.div_ceil(2)).chunks(size).zip(halves).map(|(some, more)| (some.len(), more.len())).collect();
            prop_assert!(sums.iter().all(|(some, more)| more.div_ceil(2) == *some));
        }
    }
}

#[test]
fn arrays_and_few_items() {
    let pool = pool(2);
    let alive = AtomicIsize::new(0);
    for _ in 0..3 {
        let [a, b]: [Item<'_>; 2] = items(&alive, &[0, 0]).try_into().ok().unwrap();
        assert_eq!(pool.on([a, b]).map(Item::into_number).collect::<Vec<_>>(), [0, 1]);
        let three: [Item<'_>; 3] = items(&alive, &[0, 0, 0]).try_into().ok().unwrap();
        assert_eq!(pool.on(three).try_for_each(|item| Err::<(), _>(item.into_number())), Err(0));
        assert_eq!(alive.load(Relaxed), 0);
    }
    assert_eq!(pool.on(Vec::<String>::new()).collect::<Vec<_>>(), [""; 0]);
    let none: [String; 0] = [];
    assert_eq!(pool.on(none).reduce(|a, _| a), None);
    drop(pool.on(items(&alive, &[0; 9]))); // runs no loop
    assert_eq!(alive.load(Relaxed), 0);
    let refused =
        catch_unwind(AssertUnwindSafe(|| pool.on(items(&alive, &[0; 9])).zip(0..8).for_each(|_| ())));
    assert!(refused.is_err());
    assert_eq!(alive.load(Relaxed), 0, "sources of different length");
}

/// The ways in which a loop over pieces ends at one piece: an error, a search that stops, and a
/// panic. `$on` makes pieces of `$items`.
macro_rules! ends {
    ($alive:ident, $threads:ident, $stop:ident, $len:ident, $items:ident: $($name:literal $on:expr;)+) => {$(
        for way in 0..4 {
            let begun = AtomicUsize::new(0);
            let is_last = || begun.fetch_add(1, Relaxed) == $stop;
            let $items = items(&$alive, &vec![0; $len]);
            let on = $on.threads($threads);
            is_ok(|| match way {
                0 => _ = on.try_for_each(|piece| { drop(piece); if is_last() { Err(()) } else { Ok(()) } }),
                1 => _ = on.any(|piece| { drop(piece); is_last() }),
                2 => _ = on.find(|_| is_last()),
                _ => on.for_each(|_| assert!(!is_last())),
            });
            assert_eq!($alive.load(Relaxed), 0, "{}: way {way}, {} threads, at {}", $name, $threads, $stop);
        }
    )+};
}

#[test]
fn a_claim_of_pieces_that_ends_early_drops_its_other_items() {
    let pool = pool(2);
    let alive = AtomicIsize::new(0);
    let len = if cfg!(miri) { 40 } else { 100 };
    let offsets: Vec<usize> = (0..=len / 2).map(|i| 2 * i - i % 2).collect(); // pieces of 1 and of 3 items
    let ends = [(1, 3), (2, 3), (1, 0), (2, 0)];
    for (threads, stop) in ends.into_iter().take(if cfg!(miri) { 2 } else { 4 }) {
        ends! { alive, threads, stop, len, items:
            "pieces" pool.on(source::pieces(items, &offsets));
            "pieces in reverse order" pool.on(source::pieces(items, &offsets)).rev();
            "pieces of pairs" pool.on(source::pieces((0..len, items), &offsets));
            "chunks" pool.on(items).chunks(3);
            "chunks of a map" pool.on(items).map(|item| item).chunks(3);
            "chunks in reverse order" pool.on(items).rev().chunks(3);
            "chunks of a map in reverse order" pool.on(items).map(|item| item).chunks(3).rev();
            "chunks of pairs" pool.on(items).zip(0..len).chunks(3);
            "chunks of steps" pool.on(items).step_by(2).chunks(3);
            "chunks of chunks" pool.on(items).chunks(2).map(|chunk| chunk).chunks(3);
            "steps" pool.on(items).step_by(3);
            "numbered chunks" pool.on(items).rev().chunks(3).enumerate();
        }
    }
}

#[test]
fn a_piece_whose_making_panics_drops_its_items() {
    let pool = pool(2);
    let alive = AtomicIsize::new(0);
    let offsets: Vec<usize> = (0..=20).map(|i| 5 * i).collect();
    for (threads, stop) in [(1, 0), (1, 27), (2, 0), (2, 27)] {
        let bad = |item: Item<'_>| {
            assert!(item.number != stop);
            item.into_number()
        };
        let all = || items(&alive, &[0; 100]);
        let count = |on: &dyn Fn() -> usize| {
            assert!(!is_ok(|| _ = on()));
            assert_eq!(alive.load(Relaxed), 0, "{threads} threads, at {stop}");
        };
        count(&|| pool.on(all()).threads(threads).map(bad).chunks(5).count());
        count(&|| pool.on(all()).threads(threads).map(bad).rev().chunks(5).count());
        count(&|| pool.on(source::pieces(source(all()).map(bad), &offsets)).threads(threads).count());
        count(&|| {
            let pairs = (all(), source(all()).map(bad), all());
            pool.on(source::pieces(pairs, &offsets)).threads(threads).count()
        });
    }
}

#[test]
fn a_state_that_panics_leaves_its_items_to_be_dropped() {
    let pool = pool(3);
    let (alive, costs) = (AtomicIsize::new(0), vec![2_000; if cfg!(miri) { 30 } else { 1000 }]);
    for bad in [0, 1, 2, 3] {
        for _ in 0..if cfg!(miri) { 1 } else { 10 } {
            let all = items(&alive, &costs);
            let states = |worker| assert_ne!(worker, bad);
            let ended = catch_unwind(AssertUnwindSafe(|| {
                pool.on(all).with(states).for_each(|((), item)| _ = item.into_number());
            }));
            assert!(ended.is_ok() || bad < 3);
            assert_eq!(alive.load(Relaxed), 0, "worker {bad}");
        }
    }
}

#[test]
fn drops_that_panic() {
    let pool = pool(2);
    let (alive, costs) = (AtomicIsize::new(0), vec![500; if cfg!(miri) { 30 } else { 1000 }]);
    for _ in 0..5 {
        // The closure drops the item, so this panic counts as a panic of the item. The other items
        // are dropped, although their drops panic.
        let mut all = items(&alive, &costs);
        for item in &mut all {
            item.bad = true;
        }
        assert!(catch_unwind(AssertUnwindSafe(|| pool.on(all).for_each(drop))).is_err());
        assert_eq!(alive.load(Relaxed), 0);
        // Panics in drops of items that no closure received are ignored.
        let mut all = items(&alive, &costs);
        all[1..].iter_mut().for_each(|item| item.bad = true);
        assert_eq!(pool.on(all).try_for_each(|item| Err::<(), _>(item.into_number())), Err(0));
        assert_eq!(alive.load(Relaxed), 0);
    }
}

#[test]
fn a_state_whose_drop_panics_loses_no_result() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic_any(());
        }
    }
    let pool = pool(2);
    let alive = AtomicIsize::new(0);
    for len in [1, 5, 9, 40, 70, if cfg!(miri) { 80 } else { 500 }] {
        for cost in [0, 5_000] {
            for _ in 0..4 {
                let all = items(&alive, &vec![cost; len]);
                let take = || pool.on(all).with(|_| Bad).map(|(_, item)| item).collect::<Vec<_>>();
                assert!(!is_ok(|| drop(take())));
                assert_eq!(alive.load(Relaxed), 0, "{len}");
                let all = items(&alive, &vec![cost; len]);
                let fails =
                    |(_, item): (&mut Bad, Item<'_>)| if item.number == len / 2 { Err(()) } else { Ok(()) };
                // The loop ends with its error, or with the panic of a worker that ended earlier.
                is_ok(|| assert_eq!(pool.on(all).with(|_| Bad).try_for_each(fails), Err(())));
                assert_eq!(alive.load(Relaxed), 0, "{len}");
            }
        }
    }
}

#[test]
fn a_part_of_a_vector_is_taken_out_as_std_does() {
    let pool = pool(2);
    let strings = || (0..20).map(|i| i.to_string()).collect::<Vec<_>>();
    let starts = if cfg!(miri) { 18 } else { 0 }..20;
    for start in starts {
        for end in start..20 {
            let (mut ours, mut theirs) = (strings(), strings());
            let taken: Vec<_> = pool.on(source::drain(&mut ours, start..end)).collect();
            assert!(taken.into_iter().eq(theirs.drain(start..end)));
            assert_eq!(ours, theirs);
        }
    }
    let mut vec = strings();
    assert_eq!(pool.on(source::drain(&mut vec, 18..=19)).collect::<Vec<_>>(), ["18", "19"]);
    let mut numbers: Vec<u32> = (0..20).collect(); // numbers, since strings would leak
    std::mem::forget(source::drain(&mut numbers, 3..));
    assert_eq!(numbers, [0, 1, 2]);
    vec.truncate(3);
    let refused: [fn(&mut Vec<String>); 3] = [
        |vec| drop(source::drain(vec, 2..9)),
        |vec| drop(source::drain(vec, ..=usize::MAX)),
        #[allow(clippy::reversed_empty_ranges)]
        |vec| drop(source::drain(vec, 2..1)),
    ];
    for refused in refused {
        assert!(catch_unwind(AssertUnwindSafe(|| refused(&mut vec))).is_err());
        assert_eq!(vec.len(), 3);
    }
}

#[test]
fn zero_sized_items_of_any_number() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Relaxed);
        }
    }
    let pool = pool(2);
    let many = vec![(); usize::MAX];
    assert_eq!(
        pool.on(many).zip(0..usize::MAX).try_for_each(|((), i)| if i == 1000 { Err(i) } else { Ok(()) }),
        Err(1000)
    );
    for len in [1, 64, 1000] {
        pool.on(iter::repeat_with(|| Nothing).take(len).collect::<Vec<_>>()).for_each(drop);
        assert_eq!(DROPPED.swap(0, Relaxed), len);
        let ended = pool
            .on(iter::repeat_with(|| Nothing).take(len).collect::<Vec<_>>())
            .enumerate()
            .try_for_each(|(i, _)| if i == len / 2 { Err(i) } else { Ok(()) });
        assert_eq!((ended, DROPPED.swap(0, Relaxed)), (Err(len / 2), len));
        assert_eq!(
            pool.on(iter::repeat_with(|| Nothing).take(len).collect::<Vec<_>>())
                .chunks(7)
                .rev()
                .map(|chunk| chunk.len())
                .sum::<usize>(),
            len
        );
        assert_eq!(DROPPED.swap(0, Relaxed), len);
    }
}
