//! Items by value: whatever panics, and wherever a loop ends early, each item is dropped once.

#![cfg(feature = "threads")]

mod dropped;

use std::{
    collections::LinkedList,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use dropped::Dropped;
use rangesteal_rayon as rayon;
use rayon::{
    ThreadPoolBuilder,
    iter::{
        Either,
        plumbing::{Consumer, ProducerCallback, UnindexedConsumer},
    },
    prelude::*,
};

const N: usize = if cfg!(miri) { 40 } else { 600 };

/// Another crate's iterator around an iterator. It has an index if `I` has one.
#[derive(Clone)]
struct Theirs<I>(I);

impl<I: ParallelIterator> ParallelIterator for Theirs<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.0.drive_unindexed(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        self.0.opt_len()
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Theirs<I> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        self.0.drive(consumer)
    }

    fn with_producer<C: ProducerCallback<I::Item>>(self, callback: C) -> C::Output {
        self.0.with_producer(callback)
    }
}

/// Calls `work` with items and with the index at which it is to panic or to end, on pools of one
/// and of three threads. Expects one drop of each item.
#[track_caller]
fn dropped_once(what: &str, work: &(dyn Fn(Vec<Dropped<'_>>, usize) + Sync)) {
    for threads in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        for at in [0, 1, 7, N / 2, N - 1, N] {
            let drops: Vec<_> = (0..N).map(|_| AtomicUsize::new(0)).collect();
            let items = (0..N).map(|at| Dropped { at, drops: &drops }).collect();
            _ = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(items, at))));
            let wrong: Vec<_> = (0..N).filter(|at| drops[*at].load(Relaxed) != 1).collect();
            assert!(wrong.is_empty(), "{what}, {threads} threads, at {at}: not dropped once: {wrong:?}");
        }
    }
}

/// Tests a loop over items of each kind of source.
macro_rules! by_value {
    ($($what:literal: |$items:ident, $bad:ident, $at:ident| $run:expr;)+) => {$({
        dropped_once(concat!($what, ", of a vector"), &|$items, $at| {
            let ($bad, $items) = (at($at), $items.into_par_iter());
            _ = $run;
        });
        dropped_once(concat!($what, ", of another crate's iterator"), &|$items, $at| {
            let ($bad, $items) = (at($at), Theirs($items.into_par_iter()));
            _ = $run;
        });
    })+};
}

/// Panics at one item.
fn at(at: usize) -> impl Fn(Dropped<'_>) -> Dropped<'_> + Copy + Send + Sync {
    move |item| {
        assert!(item.at != at, "wanted");
        item
    }
}

fn push<'d>(mut all: Vec<Dropped<'d>>, item: Dropped<'d>) -> Vec<Dropped<'d>> {
    all.push(item);
    all
}

fn joined<'d>(mut a: Vec<Dropped<'d>>, b: Vec<Dropped<'d>>) -> Vec<Dropped<'d>> {
    a.extend(b);
    a
}

#[test]
fn if_a_stage_panics() {
    by_value! {
        "map": |items, bad, _at| items.map(bad).collect::<Vec<_>>();
        "map, unknown number": |items, bad, _at| items.map(bad).filter(|x| x.at % 3 != 0).collect::<Vec<_>>();
        "filter": |items, _bad, at| items.filter(|x| { assert!(x.at != at, "wanted"); true }).count();
        "filter_map": |items, bad, _at| items.filter_map(|x| Some(bad(x)).filter(|x| x.at % 2 == 0)).collect::<Vec<_>>();
        "chunks": |items, bad, _at| items.map(bad).chunks(7).for_each(drop);
        "behind chunks": |items, bad, _at| items.chunks(7).for_each(|of| of.into_iter().for_each(|x| drop(bad(x))));
        "flat_map_iter": |items, bad, _at| items.flat_map_iter(|x| [bad(x)]).collect::<Vec<_>>();
        "flat_map": |items, bad, _at| items.flat_map(|x| rayon::iter::once(bad(x))).collect::<Vec<_>>();
        "update": |items, _bad, at| items.update(|x| assert!(x.at != at, "wanted")).collect::<Vec<_>>();
        "map_init": |items, bad, _at| items.map_init(|| 0, |_, x| bad(x)).collect::<Vec<_>>();
        "zip": |items, _bad, at| items.zip((0..N).into_par_iter().map(|i| assert!(i != at, "wanted"))).collect::<Vec<_>>();
        "zip behind": |items, _bad, at| (0..N).into_par_iter().map(|i| assert!(i != at, "wanted")).zip(items).collect::<Vec<_>>();
        "interleave": |items, bad, _at| items.map(bad).map(Some).interleave((0..9).into_par_iter().map(|_| None)).for_each(drop);
        "interleave, collect": |items, bad, _at| {
            items.map(bad).map(Some).interleave_shortest((0..N).into_par_iter().map(|_| None)).collect::<Vec<_>>()
        };
        "rev": |items, bad, _at| items.rev().map(bad).collect::<Vec<_>>();
        "skip, step_by, take": |items, bad, _at| items.skip(5).step_by(3).take(90).map(bad).for_each(drop);
        "chain": |items, bad, _at| items.map(bad).chain(Vec::new()).collect::<Vec<_>>();
        "chain, enumerate": |items, bad, _at| items.map(bad).chain(Vec::new()).enumerate().for_each(drop);
        "map_init, zip": |items, bad, _at| items.map_init(|| 0, |_, x| bad(x)).zip(0..N).collect::<Vec<_>>();
        "skip_any": |items, bad, _at| items.skip_any(60).map(bad).collect::<Vec<_>>();
        "skip_any_while": |items, _bad, at| items.skip_any_while(|x| { assert!(x.at != at, "wanted"); x.at < 20 }).count();
        "take_any": |items, bad, _at| items.take_any(60).map(bad).for_each(drop);
        "by_uniform_blocks": |items, bad, _at| items.by_uniform_blocks(64).map(bad).for_each(drop);
        "with_max_len": |items, bad, _at| items.with_max_len(1).map(bad).for_each(drop);
    }
}

#[test]
fn if_an_end_panics() {
    by_value! {
        "for_each": |items, bad, _at| items.for_each(|x| drop(bad(x)));
        "fold, reduce": |items, bad, _at| items.fold(Vec::new, |all, x| push(all, bad(x))).reduce(Vec::new, joined);
        "fold_chunks": |items, bad, _at| items.fold_chunks(9, Vec::new, |all, x| push(all, bad(x))).collect::<Vec<_>>();
        "reduce_with": |items, _bad, at| items.reduce_with(|a, b| { assert!(b.at != at, "wanted"); a });
        "max_by": |items, _bad, at| items.max_by(|a, b| { assert!(b.at != at, "wanted"); a.at.cmp(&b.at) });
        "partition": |items, _bad, at| items.partition::<Vec<_>, Vec<_>, _>(|x| { assert!(x.at != at, "wanted"); x.at % 2 == 0 });
        "partition_map": |items, bad, _at| items.partition_map::<Vec<_>, Vec<_>, _, _, _>(|x| {
            let x = bad(x);
            if x.at % 2 == 0 { Either::Left(x) } else { Either::Right(x) }
        });
        "unzip": |items, bad, _at| items.map(|x| (x.at, bad(x))).unzip::<_, _, Vec<_>, Vec<_>>();
        "collect_into_vec": |items, bad, _at| items.map(bad).collect_into_vec(&mut Vec::new());
        "par_extend": |items, bad, _at| Vec::new().par_extend(items.map(bad));
        "lists": |items, bad, _at| items.map(bad).collect::<LinkedList<_>>();
        "collect_vec_list": |items, bad, _at| items.map(bad).collect_vec_list();
        "min_by_key": |items, _bad, at| items.min_by_key(|x| { assert!(x.at != at, "wanted"); x.at });
    }
}

#[test]
fn if_a_loop_ends_early() {
    by_value! {
        "find_any": |items, _bad, at| items.find_any(|x| x.at == at);
        "find_first": |items, _bad, at| items.find_first(|x| x.at == at);
        "find_last": |items, _bad, at| items.find_last(|x| x.at == at);
        "find_map_first": |items, _bad, at| items.find_map_first(|x| Some(x).filter(|x| x.at == at));
        "chain, position_first": |items, _bad, at| items.chain(Vec::new()).position_first(|x| x.at == at);
        "map_init, rev, find_any": |items, _bad, at| items.map_init(|| 0, |_, x| x).rev().find_any(|x| x.at == at);
        "position_first": |items, _bad, at| items.position_first(|x| x.at == at);
        "any": |items, _bad, at| items.any(|x| x.at == at);
        "try_for_each": |items, _bad, at| items.try_for_each(|x| if x.at == at { Err(x) } else { Ok(()) });
        "into a result": |items, _bad, at| {
            items.map(|x| if x.at == at { Err(x) } else { Ok(x) }).collect::<Result<Vec<_>, _>>()
        };
        "into an option": |items, _bad, at| items.map(|x| Some(x).filter(|x| x.at != at)).collect::<Option<Vec<_>>>();
        "while_some": |items, _bad, at| items.map(|x| Some(x).filter(|x| x.at != at)).while_some().collect::<Vec<_>>();
        "take_any_while": |items, _bad, at| items.take_any_while(|x| x.at != at).collect::<Vec<_>>();
        "take_any": |items, _bad, at| items.take_any(at).collect::<Vec<_>>();
        "try_fold": |items, _bad, at| {
            let folds = items.try_fold(Vec::new, |all, x| if x.at == at { Err(x) } else { Ok(push(all, x)) });
            folds.try_reduce(Vec::new, |a, b| Ok(joined(a, b)))
        };
        "try_reduce_with": |items, _bad, at| {
            items.map(Some).try_reduce_with(|a, b| if b.at == at { None } else { Some(a) })
        };
    }
}

#[test]
fn if_a_reversed_loop_panics() {
    by_value! {
        "rev, enumerate": |items, bad, _at| items.rev().enumerate().map(|(i, x)| (i, bad(x))).collect::<Vec<_>>();
        "enumerate, rev": |items, bad, _at| items.enumerate().rev().for_each(|(_, x)| drop(bad(x)));
        "zip, rev": |items, bad, _at| items.zip(0..N).rev().map(|(x, i)| (bad(x), i)).collect::<Vec<_>>();
        "zip of a stage that panics, rev": |items, _bad, at| {
            items.zip((0..N).into_par_iter().map(|i| assert!(i != at, "wanted"))).rev().collect::<Vec<_>>()
        };
        "a stage that panics, zip, rev": |items, _bad, at| {
            (0..N).into_par_iter().map(|i| assert!(i != at, "wanted")).zip(items).rev().collect::<Vec<_>>()
        };
        "rev, zip of what panics in reverse": |items, _bad, at| {
            items.rev().zip((0..N).into_par_iter().map(|i| assert!(i != at, "wanted")).rev()).collect::<Vec<_>>()
        };
        "map, rev, fold": |items, bad, _at| items.map(bad).rev().fold(Vec::new, push).reduce(Vec::new, joined);
        "step_by, rev": |items, bad, _at| items.step_by(3).rev().map(bad).collect::<Vec<_>>();
        "rev, step_by": |items, bad, _at| items.rev().step_by(3).map(bad).for_each(drop);
        "map, rev, step_by": |items, bad, _at| items.map(bad).rev().step_by(3).for_each(drop);
        "chunks, rev": |items, bad, _at| items.chunks(7).rev().flat_map_iter(|of| of.into_iter().map(bad)).count();
        "map, rev, chunks": |items, bad, _at| items.map(bad).rev().chunks(7).for_each(drop);
        "skip, rev, take, rev": |items, bad, _at| items.skip(3).rev().take(N - 9).rev().map(bad).collect::<Vec<_>>();
    }
}

#[test]
fn if_a_reversed_loop_ends_early() {
    by_value! {
        "rev, find_first": |items, _bad, at| items.rev().find_first(|x| x.at == at);
        "rev, find_last": |items, _bad, at| items.rev().find_last(|x| x.at == at);
        "rev, find_any": |items, _bad, at| items.rev().find_any(|x| x.at == at);
        "enumerate, rev, find_map_first": |items, _bad, at| items.enumerate().rev().find_map_first(|(_, x)| (x.at == at).then_some(x));
        "rev, enumerate, position_first": |items, _bad, at| items.rev().enumerate().position_first(|(_, x)| x.at == at);
        "zip, rev, any": |items, _bad, at| items.zip(0..N).rev().any(|(x, _)| x.at == at);
        "rev, zip, collect into a result": |items, _bad, at| {
            items.rev().zip(0..N).map(|(x, _)| if x.at == at { Err(x) } else { Ok(x) }).collect::<Result<Vec<_>, _>>()
        };
        "zip, rev, try_for_each": |items, _bad, at| {
            items.zip(0..N).rev().try_for_each(|(x, _)| if x.at == at { Err(x) } else { Ok(()) })
        };
        "rev, step_by, while_some": |items, _bad, at| {
            items.rev().step_by(2).map(|x| (x.at / 2 != at / 2).then_some(x)).while_some().collect::<Vec<_>>()
        };
        "rev, chunks, find_first": |items, _bad, at| items.rev().chunks(7).find_first(|of| of[0].at <= at);
        "rev, take_any_while": |items, _bad, at| items.rev().take_any_while(|x| x.at != at).count();
        "rev, zip of fewer": |items, _bad, at| items.rev().zip(0..at).collect::<Vec<_>>();
    }
}

#[test]
fn if_the_items_are_of_a_part_or_of_pairs() {
    dropped_once("a part", &|mut all, bad| all.par_drain(3..N - 3).map(at(bad)).for_each(drop));
    dropped_once("a part, chunks", &|mut all, bad| {
        all.par_drain(..N / 2).chunks(7).for_each(|of| of.into_iter().for_each(|x| drop(at(bad)(x))));
    });
    dropped_once("a part, early", &|mut all, bad| _ = all.par_drain(9..).find_first(|x| x.at == bad));
    dropped_once("a part, dropped", &|mut all, _| drop(all.par_drain(9..)));
    dropped_once("pairs", &|items, bad| {
        let pairs = items.into_par_iter().zip(0..N);
        drop(pairs.map(|(x, i)| (at(bad)(x), i)).collect::<Vec<_>>());
    });
    dropped_once("pairs, early", &|items, bad| {
        _ = items.into_par_iter().zip(Theirs((0..N - 9).into_par_iter())).find_any(|(_, i)| *i == bad);
    });
}

/// The iterator is dropped, and no loop runs.
#[test]
fn if_no_loop_runs() {
    by_value! {
        "nothing": |items, _bad, _at| drop(items);
        "stages": |items, bad, _at| drop(items.map(bad).chunks(2).enumerate().rev());
        "interleave": |items, bad, _at| drop(items.map(bad).interleave(Vec::new()));
        "chain": |items, bad, _at| drop(items.map(bad).chain(Vec::new()).enumerate());
    }
}
