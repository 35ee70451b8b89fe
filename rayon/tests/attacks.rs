//! Items by value under hostile code: consumers of other crates that are full at once, that leave
//! items or that panic wherever they are called; producers that are split unevenly, and read from
//! both ends. Each item is dropped once.

#![cfg(feature = "threads")]

mod dropped;

use std::{
    collections::{LinkedList, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use dropped::Dropped;
use rangesteal_rayon as rayon;
use rayon::{
    ThreadPoolBuilder,
    iter::plumbing::{
        Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, UnindexedProducer,
        bridge_unindexed,
    },
    prelude::*,
};

const N: usize = if cfg!(miri) { 12 } else { 60 };
const THREADS: &[usize] = if cfg!(miri) { &[1] } else { &[1, 3] };
/// The numbers of the calls or items at which something happens.
const TIMES: &[usize] = if cfg!(miri) { &[1] } else { &[0, 1, 2, 7] };

/// The behaviour of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Is full after some items of all parts.
    IsFull,
    /// Each part takes some items, and leaves the others, without being full.
    Leaves,
    // Panics when it is called for the nth time.
    Full,
    Split,
    IntoFolder,
    Consume,
    Complete,
    Reduce,
}

const WAYS: [Way; 8] = {
    use Way::{Complete, Consume, Full, IntoFolder, IsFull, Leaves, Reduce, Split};
    [IsFull, Leaves, Full, Split, IntoFolder, Consume, Complete, Reduce]
};

/// A panic without a message.
fn panics() -> ! {
    resume_unwind(Box::new("wanted"))
}

struct Plan {
    way: Way,
    at: usize,
    met: AtomicUsize,
}

impl Plan {
    fn meet(&self, way: Way) {
        if self.way == way && self.met.fetch_add(1, Relaxed) == self.at {
            panics();
        }
    }
}

/// Another crate's consumer, which keeps the items.
struct Hostile<'p>(&'p Plan);
struct Keeps<'p, T>(Vec<T>, &'p Plan);
struct Appends<'p>(&'p Plan);

impl<'p, T: Send> Consumer<T> for Hostile<'p> {
    type Folder = Keeps<'p, T>;
    type Reducer = Appends<'p>;
    type Result = Vec<T>;

    fn split_at(self, _: usize) -> (Self, Self, Appends<'p>) {
        self.0.meet(Way::Split);
        (Self(self.0), Self(self.0), Appends(self.0))
    }

    fn into_folder(self) -> Keeps<'p, T> {
        self.0.meet(Way::IntoFolder);
        Keeps(Vec::new(), self.0)
    }

    fn full(&self) -> bool {
        self.0.meet(Way::Full);
        self.0.way == Way::IsFull && self.0.met.load(Relaxed) >= self.0.at
    }
}

impl<T: Send> UnindexedConsumer<T> for Hostile<'_> {
    fn split_off_left(&self) -> Self {
        self.0.meet(Way::Split);
        Self(self.0)
    }

    fn to_reducer(&self) -> Self::Reducer {
        Appends(self.0)
    }
}

impl<T: Send> Folder<T> for Keeps<'_, T> {
    type Result = Vec<T>;

    fn consume(mut self, item: T) -> Self {
        self.1.meet(Way::Consume);
        if self.1.way == Way::IsFull {
            self.1.met.fetch_add(1, Relaxed);
        }
        self.0.push(item);
        self
    }

    fn consume_iter<I: IntoIterator<Item = T>>(mut self, iter: I) -> Self {
        if self.1.way == Way::Leaves {
            self.0.extend(iter.into_iter().take(self.1.at));
            return self;
        }
        for item in iter {
            self = self.consume(item);
            if self.full() {
                break;
            }
        }
        self
    }

    fn complete(self) -> Vec<T> {
        self.1.meet(Way::Complete);
        self.0
    }

    fn full(&self) -> bool {
        Consumer::<T>::full(&Hostile(self.1))
    }
}

impl<T> Reducer<Vec<T>> for Appends<'_> {
    fn reduce(self, mut left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
        self.0.meet(Way::Reduce);
        left.append(&mut right);
        left
    }
}

/// Splits a producer unevenly, reads its parts from both ends, and panics after some items.
struct Unevenly {
    len: usize,
    at: usize,
}

impl<T> ProducerCallback<T> for Unevenly {
    type Output = ();

    fn callback<P: Producer<Item = T>>(self, producer: P) {
        let Self { len, at } = self;
        let (empty, rest) = producer.split_at(0);
        let (most, last) = rest.split_at(len - 1);
        let (first, most) = most.split_at(1);
        let (mut first, mut most, mut last) = (first.into_iter(), most.into_iter(), last.into_iter());
        assert!(empty.into_iter().next_back().is_none());
        assert_eq!((first.len(), most.len(), last.len()), (1, len - 2, 1));
        let mut kept = vec![first.next_back()];
        for turn in 0..len {
            if turn == at {
                panics();
            }
            kept.push(match turn % 5 {
                0 => most.next(),
                1 => most.next_back(),
                2 => most.nth(1),
                3 => most.nth_back(1),
                _ => last.next(),
            });
        }
    }
}

/// Another crate's iterator without an index, which splits off one item, or none, on either side.
struct Ragged<T>(Vec<T>);

impl<T: Send> ParallelIterator for Ragged<T> {
    type Item = T;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

impl<T: Send> UnindexedProducer for Ragged<T> {
    type Item = T;

    fn split(mut self) -> (Self, Option<Self>) {
        let at = match self.0.len() {
            0 => return (self, None),
            len if len % 3 == 0 => 1,
            len if len % 3 == 1 => len - 1,
            _ => 0,
        };
        let behind = self.0.split_off(at);
        (self, Some(Self(behind)))
    }

    fn fold_with<F: Folder<T>>(self, folder: F) -> F {
        folder.consume_iter(self.0)
    }
}

/// Calls `work` with items, with a way and with the number of the call that the way begins at, on
/// pools of one and of three threads. Expects one drop of each item.
#[track_caller]
fn dropped_once(what: &str, work: &(dyn Fn(Vec<Dropped<'_>>, &Plan) + Sync)) {
    for &threads in THREADS {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        for (way, &at) in WAYS.into_iter().flat_map(|way| TIMES.iter().map(move |at| (way, at))) {
            let drops: Vec<_> = (0..N).map(|_| AtomicUsize::new(0)).collect();
            let items = (0..N).map(|at| Dropped { at, drops: &drops }).collect();
            let plan = Plan { way, at, met: AtomicUsize::new(0) };
            _ = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(items, &plan))));
            let wrong: Vec<_> = (0..N).filter(|at| drops[*at].load(Relaxed) != 1).collect();
            assert!(wrong.is_empty(), "{what}, {threads} threads, {way:?} {at}: not dropped once: {wrong:?}");
        }
    }
}

/// Drives iterators by a hostile consumer.
macro_rules! driven {
    ($($what:literal: |$items:ident| $iter:expr;)+) => {$(
        dropped_once($what, &|$items, plan| drop($iter.drive_unindexed(Hostile(plan))));
    )+};
}

/// Drives iterators with an index by a hostile consumer, and splits their producers.
macro_rules! driven_by_index {
    ($($what:literal: |$items:ident| $iter:expr;)+) => {$(
        driven! { $what: |$items| $iter; }
        dropped_once(concat!($what, ", indexed"), &|$items, plan| drop($iter.drive(Hostile(plan))));
        dropped_once(concat!($what, ", split unevenly"), &|$items, plan| {
            let iter = $iter;
            let len = iter.len();
            iter.with_producer(Unevenly { len, at: plan.at });
        });
    )+};
}

/// The items from the middle on, and those before it.
fn halves(mut items: Vec<Dropped<'_>>) -> (Vec<Dropped<'_>>, Vec<Dropped<'_>>) {
    let behind = items.split_off(N / 2);
    (behind, items)
}

#[test]
fn sources_under_hostile_consumers() {
    driven_by_index! {
        "a vector": |items| items.into_par_iter();
        "a boxed slice": |items| items.into_boxed_slice().into_par_iter();
        "an array": |items| <[_; N]>::try_from(items).expect("N items").into_par_iter();
        "a queue": |items| {
            let mut queue = VecDeque::from(items);
            queue.rotate_left(N / 3);
            queue.into_par_iter()
        };
        "two": |items| {
            let (a, b) = halves(items);
            a.into_par_iter().zip(b)
        };
        "two of different lengths": |items| {
            let (a, mut b) = halves(items);
            let c = b.split_off(3);
            (a, b.into_par_iter().chain(c)).into_par_iter().take(N / 2 - 1)
        };
    }
    driven! {
        "a list": |items| items.into_iter().collect::<LinkedList<_>>().into_par_iter();
        "a bridge": |items| items.into_iter().par_bridge();
        "a ragged one": |items| Ragged(items);
    }
    dropped_once("a part", &|mut items, plan| drop(items.par_drain(2..N - 2).drive(Hostile(plan))));
    dropped_once("a part, split unevenly", &|mut items, plan| {
        items.par_drain(2..N - 2).with_producer(Unevenly { len: N - 4, at: plan.at });
    });
}

#[test]
fn stages_under_hostile_consumers() {
    driven_by_index! {
        "rev": |items| items.into_par_iter().rev();
        "enumerate, rev": |items| items.into_par_iter().enumerate().rev();
        "zip, rev": |items| {
            let (a, b) = halves(items);
            a.into_par_iter().zip(b).rev()
        };
        "rev, zip, rev": |items| {
            let (a, b) = halves(items);
            a.into_par_iter().rev().zip(b).rev()
        };
        "skip, rev, step_by": |items| items.into_par_iter().skip(1).rev().step_by(2);
        "step_by, rev": |items| items.into_par_iter().step_by(3).rev();
        "map, enumerate": |items| items.into_par_iter().map(Some).enumerate();
        "chunks": |items| items.into_par_iter().chunks(3);
        "skip, step_by, take": |items| items.into_par_iter().skip(1).step_by(2).take(N / 2 - 1);
        "interleave": |items| {
            let (a, mut b) = halves(items);
            b.truncate(N / 2 - 2);
            a.into_par_iter().interleave(b)
        };
        "interleave_shortest": |items| {
            let (a, mut b) = halves(items);
            b.truncate(N / 2 - 2);
            a.into_par_iter().interleave_shortest(b)
        };
        "chain": |items| {
            let (a, b) = halves(items);
            a.into_par_iter().chain(b)
        };
        "map_init": |items| items.into_par_iter().map_init(|| 0, |_, x| x);
        "fold_chunks": |items| items.into_par_iter().fold_chunks(4, Vec::new, pushed);
        "with_max_len": |items| items.into_par_iter().with_max_len(1);
        "zip, rev, chunks": |items| {
            let (a, b) = halves(items);
            a.into_par_iter().chunks(2).zip(b.into_par_iter().rev().chunks(2))
        };
    }
    driven! {
        "filter": |items| items.into_par_iter().filter(|x| x.at % 3 != 0);
        "flat_map": |items| items.into_par_iter().chunks(4).flat_map(|of| of);
        "flatten_iter": |items| items.into_par_iter().chunks(4).flatten_iter();
        "fold": |items| items.into_par_iter().fold(Vec::new, pushed);
        "take_any": |items| items.into_par_iter().take_any(N / 2);
        "skip_any": |items| items.into_par_iter().skip_any(N / 2);
        "while_some": |items| items.into_par_iter().map(|x| Some(x).filter(|x| x.at < N - 2)).while_some();
        "by_uniform_blocks": |items| items.into_par_iter().by_uniform_blocks(5);
        "ragged, map, filter": |items| Ragged(items).map(Some).filter(Option::is_some);
        "ragged, flat_map": |items| Ragged(items).flat_map(|x| Ragged(vec![Some(x), None]));
        "ragged, chain": |items| {
            let (a, b) = halves(items);
            Ragged(a).chain(b).chain(Vec::new())
        };
        "ragged, map_with": |items| Ragged(items).map_with(0, |_, x| x);
        "ragged, fold": |items| Ragged(items).fold(Vec::new, pushed);
    }
}

fn pushed<T>(mut all: Vec<T>, item: T) -> Vec<T> {
    all.push(item);
    all
}

/// Another crate's iterator that splits unevenly, under our ends. A closure panics, or ends the
/// loop.
#[test]
fn a_ragged_iterator_under_our_ends() {
    macro_rules! ended {
        ($($what:literal: |$items:ident, $is_met:ident| $run:expr;)+) => {$(
            dropped_once($what, &|items, plan| {
                let $is_met = |item: &Dropped<'_>| {
                    let is_met = item.at % 8 == plan.at;
                    if is_met && plan.way != Way::IsFull {
                        panics();
                    }
                    is_met
                };
                let $items = Ragged(items);
                _ = $run;
            });
        )+};
    }

    ended! {
        "for_each": |items, is_met| items.for_each(|x| _ = is_met(&x));
        "collect": |items, is_met| items.inspect(|x| _ = is_met(x)).collect::<Vec<_>>();
        "lists": |items, is_met| items.filter(is_met).collect::<LinkedList<_>>();
        "partition": |items, is_met| items.partition::<Vec<_>, Vec<_>, _>(is_met);
        "unzip": |items, is_met| items.map(|x| (is_met(&x), x)).unzip::<_, _, Vec<_>, Vec<_>>();
        "find_any": |items, is_met| items.find_any(is_met);
        "find_first": |items, is_met| items.find_first(is_met);
        "find_last": |items, is_met| items.find_last(is_met);
        "flat_map, find_last": |items, is_met| items.flat_map_iter(|x| [x]).find_last(is_met);
        "any": |items, is_met| items.any(|x| is_met(&x));
        "reduce_with": |items, is_met| items.reduce_with(|a, b| if is_met(&a) { a } else { b });
        "fold, reduce": |items, is_met| items.fold(Vec::new, |all, x| {
            is_met(&x);
            pushed(all, x)
        }).reduce(Vec::new, joined);
        "into a result": |items, is_met| {
            items.map(|x| if is_met(&x) { Err(x) } else { Ok(x) }).collect::<Result<Vec<_>, _>>()
        };
        "try_reduce_with": |items, is_met| {
            items.map(Some).try_reduce_with(|a, b| Some(a).filter(|_| !is_met(&b)))
        };
        "while_some": |items, is_met| {
            items.map(|x| Some(x).filter(|x| !is_met(x))).while_some().collect::<Vec<_>>()
        };
        "take_any_while": |items, is_met| items.take_any_while(|x| !is_met(x)).collect::<Vec<_>>();
        "flat_map": |items, is_met| items.flat_map(|x| Ragged(vec![Some(x), None])).for_each(|x| {
            _ = x.as_ref().map(is_met);
        });
    }
}

fn joined<T>(mut a: Vec<T>, mut b: Vec<T>) -> Vec<T> {
    a.append(&mut b);
    a
}
