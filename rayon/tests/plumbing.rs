//! Iterators of other crates under our stages and ends, and ours under others' consumers.

mod dropped;

use std::{
    collections::{BTreeMap, HashSet, LinkedList, VecDeque},
    ops::{ControlFlow, Range},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use dropped::Dropped;
use rangesteal_rayon as rayon;
use rayon::{
    iter::{
        Either,
        plumbing::{
            Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, UnindexedProducer,
            bridge, bridge_producer_consumer, bridge_unindexed,
        },
    },
    prelude::*,
};

/// Another crate's iterator without an index: the integers of a range.
#[derive(Clone)]
struct Numbers(Range<u64>);

impl ParallelIterator for Numbers {
    type Item = u64;

    fn drive_unindexed<C: UnindexedConsumer<u64>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

impl UnindexedProducer for Numbers {
    type Item = u64;

    fn split(self) -> (Self, Option<Self>) {
        let Range { start, end } = self.0;
        let middle = start + (end - start) / 2;
        if middle == start { (self, None) } else { (Self(start..middle), Some(Self(middle..end))) }
    }

    fn fold_with<F: Folder<u64>>(self, folder: F) -> F {
        folder.consume_iter(self.0)
    }
}

/// Another crate's iterator with an index: the items of a vector, by value.
#[derive(Clone)]
struct Items<T>(Vec<T>);

impl<T: Send> ParallelIterator for Items<T> {
    type Item = T;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<T: Send> IndexedParallelIterator for Items<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        callback.callback(Part(self.0))
    }
}

struct Part<T>(Vec<T>);

impl<T: Send> Producer for Part<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }

    fn split_at(mut self, index: usize) -> (Self, Self) {
        let behind = self.0.split_off(index);
        (self, Self(behind))
    }
}

/// Another crate's consumer: collects the items in order, and checks the indices that it is split
/// at. Is full after `most` items.
struct Collect<'c> {
    /// The number of items, if it is known.
    len: Option<usize>,
    left: &'c AtomicUsize,
}

impl<'c> Collect<'c> {
    fn new(len: Option<usize>, most: &'c AtomicUsize) -> Self {
        Self { len, left: most }
    }
}

struct Collected<'c, T>(Vec<T>, Collect<'c>);
struct Append;

impl<T> Reducer<Vec<T>> for Append {
    fn reduce(self, mut left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
        left.append(&mut right);
        left
    }
}

impl<'c, T: Send> Consumer<T> for Collect<'c> {
    type Folder = Collected<'c, T>;
    type Reducer = Append;
    type Result = Vec<T>;

    fn split_at(self, index: usize) -> (Self, Self, Append) {
        let right = self.len.map(|len| len.checked_sub(index).expect("an index within the items"));
        (Self { len: self.len.map(|_| index), ..self }, Self { len: right, ..self }, Append)
    }

    fn into_folder(self) -> Collected<'c, T> {
        Collected(Vec::new(), self)
    }

    fn full(&self) -> bool {
        self.left.load(Relaxed) == 0
    }
}

impl<T: Send> UnindexedConsumer<T> for Collect<'_> {
    fn split_off_left(&self) -> Self {
        Self { len: None, left: self.left }
    }

    fn to_reducer(&self) -> Append {
        Append
    }
}

impl<T> Folder<T> for Collected<'_, T> {
    type Result = Vec<T>;

    fn consume(mut self, item: T) -> Self {
        if self.1.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            self.0.push(item);
        }
        self
    }

    fn complete(self) -> Vec<T> {
        let is_full = self.1.left.load(Relaxed) == 0;
        assert!(is_full || self.1.len.is_none_or(|len| len == self.0.len()), "all items of the part");
        self.0
    }

    fn full(&self) -> bool {
        self.1.left.load(Relaxed) == 0
    }
}

/// Reads a producer: in halves, and each part from the front and from the back in turn.
struct InTurn;

impl<T> ProducerCallback<T> for InTurn {
    type Output = Vec<T>;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> Vec<T> {
        let mut items = producer.into_iter();
        let (mut front, mut back) = (Vec::new(), Vec::new());
        let all = items.len();
        for at in 0..all {
            assert_eq!(items.size_hint(), (all - at, Some(all - at)));
            if at % 3 == 0 { back.extend(items.next_back()) } else { front.extend(items.next()) }
        }
        assert!(items.next().is_none() && items.next_back().is_none());
        back.reverse();
        front.append(&mut back);
        front
    }
}

struct Halves(usize);

impl<T> ProducerCallback<T> for Halves {
    type Output = Vec<T>;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> Vec<T> {
        let (a, b) = producer.split_at(self.0 / 2);
        let (b, c) = b.split_at(self.0 / 4);
        // Folding passes all items on at once, and a `for` loop one after the other.
        let mut all: Vec<T> = a.into_iter().collect();
        for item in b.into_iter() {
            all.push(item);
        }
        c.into_iter().for_each(|item| all.push(item));
        all
    }
}

const MANY: usize = usize::MAX;

/// Drives an iterator by a consumer without an index, and compares its items.
#[track_caller]
fn unindexed<I: ParallelIterator<Item: PartialEq + std::fmt::Debug>>(
    iter: I,
    wanted: impl IntoIterator<Item = I::Item>,
) {
    let most = AtomicUsize::new(MANY);
    let wanted: Vec<_> = wanted.into_iter().collect();
    assert_eq!(iter.drive_unindexed(Collect::new(None, &most)), wanted);
}

/// Drives an iterator by all that need an index, and compares its items.
#[track_caller]
fn indexed<I>(iter: I, wanted: impl IntoIterator<Item = I::Item>)
where
    I: IndexedParallelIterator<Item: PartialEq + std::fmt::Debug> + Clone,
{
    let wanted: Vec<_> = wanted.into_iter().collect();
    let most = AtomicUsize::new(MANY);
    assert_eq!(iter.len(), wanted.len());
    assert_eq!(iter.clone().drive(Collect::new(Some(wanted.len()), &most)), wanted);
    assert_eq!(bridge(iter.clone(), Collect::new(Some(wanted.len()), &most)), wanted);
    assert_eq!(iter.clone().with_producer(InTurn), wanted);
    assert_eq!(iter.clone().with_producer(Halves(wanted.len())), wanted);
    assert_eq!(iter.clone().collect::<Vec<_>>(), wanted);
    unindexed(iter, wanted);
}

const N: usize = 1000;

fn numbers() -> Numbers {
    Numbers(0..N as u64)
}

fn items() -> Items<usize> {
    Items((0..N).collect())
}

#[test]
fn a_queue_whose_items_are_in_two_slices() {
    let mut queue: VecDeque<usize> = (N / 2..N).collect();
    (0..N / 2).rev().for_each(|x| queue.push_front(x));
    assert!(!queue.as_slices().1.is_empty());
    indexed(queue.clone().into_par_iter(), 0..N);
    indexed(queue.par_iter(), &queue);
    queue.par_iter_mut().enumerate().for_each(|(i, x)| *x += i);
    assert!(queue.iter().copied().eq((0..N).map(|i| 2 * i)));
}

#[test]
fn exclusive_chunks_from_the_end() {
    let mut v: Vec<usize> = (0..N).collect();
    for size in [7, 10, N, 2 * N] {
        let wanted: Vec<_> = v.rchunks(size).map(<[_]>::to_vec).collect();
        let chunk = |chunk: &mut [usize]| chunk.to_vec();
        assert_eq!(v.par_rchunks_mut(size).map(chunk).collect::<Vec<_>>(), wanted);
        assert_eq!(v.par_rchunks_mut(size).with_producer(Halves(wanted.len())), wanted);
        assert_eq!(v.par_rchunks_mut(size).find_last(|_| true).map(chunk), wanted.last().cloned());
        let wanted: Vec<_> = v.rchunks_exact(size).map(<[_]>::to_vec).collect();
        assert_eq!(v.par_rchunks_exact_mut(size).map(chunk).collect::<Vec<_>>(), wanted);
        assert_eq!(v.par_rchunks_exact_mut(size).with_producer(Halves(wanted.len())), wanted);
    }
}

/// Also of `usize::MAX` items, whose last chunk may end beyond the largest index.
#[test]
fn shared_chunks_from_both_ends() {
    let v: Vec<usize> = (0..N).collect();
    for size in [1, 7, 10, N - 1, N, 2 * N, usize::MAX] {
        indexed(v.par_chunks(size), v.chunks(size));
        indexed(v.par_chunks(size).rev(), v.chunks(size).rev());
        indexed(v.par_rchunks(size), v.rchunks(size));
        indexed(v.par_rchunks(size).rev(), v.rchunks(size).rev());
        indexed(v.par_rchunks_exact(size), v.rchunks_exact(size));
    }
    let all = [(); usize::MAX];
    for size in [1 << (usize::BITS - 1), usize::MAX - 1, usize::MAX] {
        let lengths: Vec<_> = all.par_rchunks(size).map(<[_]>::len).collect();
        assert_eq!(lengths, all.rchunks(size).map(<[_]>::len).collect::<Vec<_>>());
        let lengths: Vec<_> = all.par_chunks(size).map(<[_]>::len).collect();
        assert_eq!(lengths, all.chunks(size).map(<[_]>::len).collect::<Vec<_>>());
    }
}

#[test]
fn ours_with_an_index_under_others_consumers() {
    let v: Vec<usize> = (0..N).map(|i| i * 7).collect();
    indexed(v.par_iter(), &v);
    indexed(v.clone().into_par_iter(), v.clone());
    indexed((5..N).into_par_iter(), 5..N);
    indexed((5_u8..=200).into_par_iter(), 5..=200);
    indexed(('a'..'y').into_par_iter(), 'a'..'y');
    indexed([1, 2, 3].into_par_iter(), [1, 2, 3]);
    indexed(Some(3).into_par_iter(), Some(3));
    indexed(rayon::iter::repeat_n(4, 10), [4; 10]);
    indexed(v.par_chunks(7), v.chunks(7));
    indexed(v.par_chunks_exact(7), v.chunks_exact(7));
    indexed(v.par_rchunks(7), v.rchunks(7));
    indexed(v.par_rchunks_exact(7), v.rchunks_exact(7));
    indexed(v.par_windows(7), v.windows(7));
    indexed(v.par_iter().map(|x| x + 1), v.iter().map(|x| x + 1));
    indexed(v.par_iter().copied().rev(), v.iter().copied().rev());
    indexed(v.par_iter().enumerate(), v.iter().enumerate());
    indexed(v.par_iter().zip(3..700_usize), v.iter().zip(3..700));
    indexed(v.par_iter().skip(3).take(500).step_by(7), v.iter().skip(3).take(500).step_by(7));
    indexed(v.clone().into_par_iter().step_by(7), v.clone().into_iter().step_by(7));
    indexed(v.clone().into_par_iter().chunks(7), v.chunks(7).map(<[_]>::to_vec));
    indexed(v.par_iter().copied().interleave(0..3_usize), {
        v.iter().zip(0..3).flat_map(|(a, b)| [*a, b]).chain(v[3..].iter().copied())
    });
    indexed(
        (v.par_iter(), 0..9, 2..N).into_par_iter(),
        v.iter().zip(0..9).zip(2..).map(|((a, b), c)| (a, b, c)),
    );
    indexed(v.par_iter().chain(&v), v.iter().chain(&v));
    indexed(v.par_iter().map_init(|| 1, |one, x| *x + *one), v.iter().map(|x| x + 1));
    indexed(v.par_iter().fold_chunks(7, || 0, |a, b| a + b), v.chunks(7).map(|of| of.iter().sum()));
    indexed(Either::<Items<usize>, rayon::range::Iter<usize>>::Right((0..N).into_par_iter()), 0..N);
    let mut w = v.clone();
    let most = AtomicUsize::new(MANY);
    w.par_iter_mut().drive(Collect::new(Some(N), &most)).into_iter().for_each(|x| *x += 1);
    w.par_chunks_mut(7).with_producer(InTurn).into_iter().flatten().for_each(|x| *x += 1);
    assert!(w.iter().zip(&v).all(|(w, v)| *w == v + 2));
    unindexed(w.par_drain(10..20), v[10..20].iter().map(|x| x + 2));
    assert_eq!(w.len(), N - 10);
}

#[test]
fn ours_without_an_index_under_others_consumers() {
    let v: Vec<usize> = (0..N).collect();
    unindexed(v.par_iter().filter(|x| **x % 3 == 0), v.iter().filter(|x| **x % 3 == 0));
    unindexed(v.par_iter().filter_map(|x| x.checked_sub(9)), 0..N - 9);
    unindexed(v.par_iter().flat_map(|x| 0..x % 5), v.iter().flat_map(|x| 0..x % 5));
    unindexed(v.par_iter().flat_map_iter(|x| 0..x % 5), v.iter().flat_map(|x| 0..x % 5));
    unindexed(v.par_iter().map(Some).flatten(), &v);
    unindexed(v.par_iter().map(Some).flatten_iter(), &v);
    unindexed(v.par_iter().filter(|_| true).chain(&v), v.iter().chain(&v));
    unindexed(v.par_iter().positions(|x| x % 2 == 1), (0..N).filter(|at| at % 2 == 1));
    unindexed(v.par_iter().filter(|_| true).map_init(|| 1, |one, x| *x + *one), 1..=N);
    unindexed(v.par_iter().copied().intersperse(7).skip(1).take(3), [7, 1, 7]);
    unindexed(v.par_iter().map(|x| (*x < 90).then_some(*x)).while_some(), 0..90);
    unindexed("a b c".par_split(' '), "a b c".split(' '));
    unindexed("a\nb\n".par_lines(), "a\nb\n".lines());
    unindexed(v.par_split(|x| x % 10 == 3), v.split(|x| x % 10 == 3));
    unindexed((0..9_u64).into_par_iter(), 0..9);
    unindexed((3..=9_i128).into_par_iter(), 3..=9);
    unindexed((0..9).par_bridge(), 0..9);
    let (least, most) = ((0..N as u64).into_par_iter(), AtomicUsize::new(10));
    let some = least.drive_unindexed(Collect::new(None, &most));
    assert_eq!(some.len(), 10);
}

/// A full consumer leaves the items that are left.
#[test]
fn a_full_consumer_ends_endless_iterators() {
    let full = |many: usize| AtomicUsize::new(many);
    assert_eq!(rayon::iter::repeat(3).drive_unindexed(Collect::new(None, &full(5))), [3; 5]);
    assert_eq!((0..u128::MAX).into_par_iter().drive_unindexed(Collect::new(None, &full(5))).len(), 5);
    assert_eq!((0..=i128::MAX).into_par_iter().drive_unindexed(Collect::new(None, &full(5))).len(), 5);
    assert_eq!((0..usize::MAX).into_par_iter().drive_unindexed(Collect::new(None, &full(5))).len(), 5);
    let endless =
        [0; 9].par_iter().flat_map_iter(|_| 0..).drive_unindexed(Collect::new(None, &full(5))).len();
    assert_eq!(endless, 5);
}

#[test]
fn others_iterators_under_our_ends() {
    let all = || 0..N as u64;
    let sum = AtomicU64::new(0);
    numbers().for_each(|x| _ = sum.fetch_add(x, Relaxed));
    assert_eq!(sum.into_inner(), all().sum());
    assert_eq!(numbers().count(), N);
    assert_eq!(numbers().sum::<u64>(), all().sum());
    assert_eq!(Numbers(1..9).product::<u64>(), (1..9).product());
    assert_eq!(Numbers(3..3).sum::<u64>(), 0);
    assert_eq!(numbers().min(), Some(0));
    assert_eq!(numbers().max_by_key(|x| x % 100), all().max_by_key(|x| x % 100));
    assert_eq!(Numbers(3..3).max(), None);
    let words = numbers().map(|x| x.to_string()).reduce(String::new, |a, b| a + &b);
    assert_eq!(words, all().map(|x| x.to_string()).collect::<String>());
    assert_eq!(numbers().find_any(|x| x % 100 == 77).map(|x| x % 100), Some(77));
    assert_eq!(numbers().find_any(|x| *x > 5000), None);
    assert_eq!(numbers().find_first(|x| x % 100 == 77), Some(77));
    assert_eq!(numbers().find_last(|x| x % 100 == 77), Some(977));
    assert_eq!(numbers().filter(|x| x % 2 == 1).find_map_last(|x| (x < 500).then_some(x + 1)), Some(500));
    assert_eq!(numbers().flat_map_iter(|x| [x, x + 1]).find_last(|x| x % 100 == 77), Some(977));
    assert!(numbers().any(|x| x == 999) && !numbers().any(|x| x == 1000) && numbers().all(|x| x < 1000));
    let tried = numbers().try_for_each(|x| if x % 300 == 299 { Err(x) } else { Ok(()) });
    assert_eq!(tried, Err(299));
    assert_eq!(numbers().try_for_each_init(|| 3, |three, x| (x < 3000 * *three).then_some(())), Some(()));
    let checked = |x: u64| if x % 300 == 299 { ControlFlow::Break(x) } else { ControlFlow::Continue(x) };
    assert!(matches!(
        numbers().map(checked).try_reduce(|| 0, |a, b| ControlFlow::Continue(a + b)),
        ControlFlow::Break(_)
    ));
    let reduced = numbers().map(Some).try_reduce_with(|a, b| Some(a.max(b)));
    assert_eq!(reduced, Some(Some(999)));
    assert_eq!(
        numbers().map(|x| if x < 900 { Ok(x) } else { Err(x) }).collect::<Result<Vec<_>, _>>(),
        Err(900)
    );
    assert_eq!(numbers().map(Some).collect::<Option<Vec<_>>>(), Some(all().collect()));
    assert_eq!(numbers().map(|x| (x < 900).then_some(x)).collect::<Option<Vec<_>>>(), None);
    assert_eq!(numbers().collect::<Vec<_>>(), all().collect::<Vec<_>>());
    assert_eq!(numbers().collect::<HashSet<_>>().len(), N);
    assert_eq!(numbers().map(|x| (x, x)).collect::<BTreeMap<_, _>>().len(), N);
    assert_eq!(numbers().collect_vec_list().into_iter().flatten().count(), N);
    let mut vec = vec![7];
    vec.par_extend(numbers());
    assert!(vec.into_iter().eq([7].into_iter().chain(all())));
    let (a, b): (Vec<_>, Vec<_>) = numbers().map(|x| (x, x + 1)).unzip();
    assert!(a.into_iter().eq(all()) && b.into_iter().eq(1..=N as u64));
    let (a, b): (Vec<_>, LinkedList<_>) = numbers().partition(|x| x % 3 == 0);
    assert!(a.into_iter().eq(all().step_by(3)) && b.into_iter().eq(all().filter(|x| x % 3 != 0)));
    let (a, b): (Vec<_>, Vec<_>) =
        numbers().partition_map(|x| if x % 3 == 0 { Either::Left(x) } else { Either::Right(x) });
    assert!(a.into_iter().eq(all().step_by(3)) && b.into_iter().eq(all().filter(|x| x % 3 != 0)));
    assert_eq!(numbers().fold(|| 0, |a, b| a + b).sum::<u64>(), all().sum());
    assert_eq!(
        numbers().try_fold(|| 0_u64, u64::checked_add).try_reduce(|| 0, u64::checked_add),
        Some(all().sum())
    );
    assert_eq!(
        numbers()
            .fold(Vec::new, |mut v, x| {
                v.push(x);
                v
            })
            .flatten()
            .collect::<Vec<_>>(),
        all().collect::<Vec<_>>()
    );
}

/// Each run of a `try_fold` ends with its first failure, and all runs end with the loop. A million
/// millions of items would take days.
#[test]
fn a_fold_that_fails_ends() {
    const ENDLESS: u64 = 1_000_000_000_000;
    let until_1000 = |_, x| if x % 1000 == 999 { Err(x) } else { Ok(x) };
    let runs: Vec<Result<u64, u64>> = (0..ENDLESS).into_par_iter().try_fold(|| 0, until_1000).collect();
    assert!(runs.first() == Some(&Err(999)) && runs.iter().all(Result::is_err));
    let with_state = (0..ENDLESS).into_par_iter().try_fold_with(0, until_1000);
    assert!(with_state.try_reduce(|| 0, |a, b| Ok(a.max(b))).is_err_and(|x| x % 1000 == 999));
    let filtered = (0..ENDLESS).into_par_iter().filter(|x| x % 2 == 1).try_fold(|| 0, until_1000);
    assert_eq!(filtered.find_first(Result::is_err), Some(Err(999)));
    // A run that cannot fail ends with the failure of another run.
    let fails_once = |_, x| if x == 1000 { None } else { Some(x) };
    let folded = (0..ENDLESS).into_par_iter().try_fold(|| 0, fails_once);
    assert_eq!(folded.try_reduce(|| 0, |a, b| Some(a.max(b))), None);
    // Bounds of lengths hold.
    let bounded = (0..N).into_par_iter().with_max_len(7).try_fold(|| 0, |count, _| Some(count + 1));
    let counts: Vec<Option<usize>> = bounded.collect();
    assert!(counts.iter().all(|count| count.is_some_and(|count| count <= 7)));
    assert_eq!(counts.into_iter().flatten().sum::<usize>(), N);
}

#[test]
fn others_iterators_under_our_stages() {
    let all = || 0..N as u64;
    unindexed(numbers(), all());
    unindexed(numbers().map(|x| x + 1).inspect(|_| ()).update(|x| *x += 1), 2..N as u64 + 2);
    unindexed(numbers().filter(|x| x % 3 == 0), all().step_by(3));
    unindexed(numbers().filter_map(|x| x.checked_sub(3)), 0..N as u64 - 3);
    unindexed(numbers().flat_map(|x| Numbers(0..x % 4)), all().flat_map(|x| 0..x % 4));
    unindexed(numbers().map(|x| [x]).flatten_iter().panic_fuse(), all());
    unindexed(numbers().chain(numbers()), all().chain(all()));
    unindexed(numbers().map_with(1, |one, x| x + *one), 1..=N as u64);
    unindexed(numbers().map_init(|| 1, |one, x| x + *one), 1..=N as u64);
    unindexed(numbers().intersperse(7), all().flat_map(|x| [7, x]).skip(1));
    unindexed(Either::<Numbers, Numbers>::Left(numbers()), all());
    assert!(
        numbers()
            .map(|x| x + 1)
            .chain(numbers())
            .collect::<Vec<_>>()
            .into_iter()
            .eq((1..=N as u64).chain(all()))
    );
    assert!(numbers().map_init(|| 1, |one, x| x + *one).collect::<Vec<_>>().into_iter().eq(1..=N as u64));
    assert!(numbers().intersperse(7).collect::<Vec<_>>().into_iter().eq(all().flat_map(|x| [7, x]).skip(1)));
    assert_eq!(numbers().take_any(10).count(), 10);
    assert_eq!(numbers().skip_any(10).count(), N - 10);
    assert_eq!(items().take_any(10).map(|x| x + 1).count(), 10);
    assert!(numbers().skip_any_while(|x| *x < 10).all(|x| x < N as u64));
    assert!(numbers().map(|x| (x < 90).then_some(x)).while_some().collect::<Vec<_>>().into_iter().eq(0..90));
    assert!(items().map(|x| (x < 90).then_some(x)).while_some().all(|x| x < N));
    assert!(numbers().take_any_while(|x| *x < 90).all(|x| x < 90));
    assert!(items().take_any_while(|x| *x < 90).all(|x| x < 90));
}

#[test]
fn others_indexed_iterators_under_our_stages_and_ends() {
    indexed(items(), 0..N);
    indexed(items().map(|x| x + 1), 1..=N);
    indexed(items().enumerate(), (0..N).enumerate());
    indexed(items().rev(), (0..N).rev());
    indexed(items().zip(items()), (0..N).zip(0..N));
    indexed(items().zip(3..700_usize), (0..N).zip(3..700));
    indexed((3..700_usize).into_par_iter().zip(items()), (3..700).zip(0..N));
    indexed(items().skip(3).take(500).step_by(7), (3..503).step_by(7));
    indexed(items().chunks(7), (0..N).step_by(7).map(|at| (at..N.min(at + 7)).collect::<Vec<_>>()));
    indexed(items().interleave(items()), (0..N).flat_map(|x| [x, x]));
    indexed(items().interleave_shortest(5..9_usize), (0..4).flat_map(|x| [x, x + 5]).chain([4]));
    indexed(
        items().fold_chunks(7, || 0, |a, b| a + b),
        (0..N).step_by(7).map(|at| (at..N.min(at + 7)).sum()),
    );
    indexed(items().chain(items()), (0..N).chain(0..N));
    indexed(items().intersperse(7), (0..N).flat_map(|x| [7, x]).skip(1));
    indexed(items().with_min_len(3).with_max_len(9), 0..N);
    for blocks in [items().by_exponential_blocks(), items().by_uniform_blocks(3)] {
        assert!(blocks.clone().collect::<Vec<_>>().into_iter().eq(0..N));
        assert_eq!(blocks.clone().find_first(|x| x % 100 == 99), Some(99));
        assert_eq!(blocks.find_last(|x| x % 100 == 99), Some(N - 1));
    }
    indexed((items(), items(), 0..N).into_par_iter(), (0..N).map(|x| (x, x, x)));
    assert_eq!(items().position_first(|x| x > 500), Some(501));
    assert_eq!(items().position_last(|x| x < 500), Some(499));
    assert_eq!(items().position_any(|x| x == 500), Some(500));
    assert_eq!(items().positions(|x| x % 2 == 1).count(), N / 2);
    assert!(items().eq(0..N) && items().lt(1..N) && items().cmp(items()).is_eq());
    let (mut a, mut b) = (vec![1], Vec::new());
    items().collect_into_vec(&mut a);
    assert!(a.iter().copied().eq(0..N));
    items().enumerate().unzip_into_vecs(&mut a, &mut b);
    assert_eq!(a, b);
    assert_eq!(items().rev().find_first(|x| x % 100 == 77), Some(977));
    assert_eq!(items().rev().find_last(|x| x % 100 == 77), Some(77));
    assert_eq!(items().zip(items()).filter(|(a, b)| a == b).count(), N);
    let mut empty = Vec::new();
    Items(Vec::<u8>::new()).zip(items()).collect_into_vec(&mut empty);
    assert!(empty.is_empty());
}

/// A search in another crate's endless iterator ends, and leaves most items.
#[test]
fn a_search_prunes_what_is_behind_its_find() {
    let endless = || Numbers(0..u64::MAX);
    assert_eq!(endless().find_first(|x| *x >= 10), Some(10));
    assert_eq!(endless().map(|x| x + 1).filter(|x| x % 2 == 0).find_first(|x| *x >= 10), Some(10));
    assert!(endless().any(|x| x % 1000 == 999));
    assert!(endless().find_any(|x| x % 1000 == 999).is_some());
    assert_eq!(endless().try_for_each(|x| if x < 10 { Ok(()) } else { Err(x) }), Err(10));
    assert_eq!(endless().take_any(100).count(), 100);
    let met = AtomicUsize::new(0);
    let last = Numbers(0..1 << 20).map(|x| {
        met.fetch_add(1, Relaxed);
        x
    });
    assert_eq!(last.find_last(|x| *x < 1 << 19 || *x == (1 << 20) - 1), Some((1 << 20) - 1));
    assert!(met.into_inner() <= 1 << 20);
}

/// Calls `work` with items that count their drops, and expects one drop of each.
#[track_caller]
fn dropped_once(work: impl FnOnce(Vec<Dropped<'_>>)) {
    let drops: Vec<_> = (0..N).map(|_| AtomicUsize::new(0)).collect();
    work((0..N).map(|at| Dropped { at, drops: &drops }).collect());
    let wrong: Vec<_> = (0..N).filter(|at| drops[*at].load(Relaxed) != 1).collect();
    assert!(wrong.is_empty(), "not dropped once: {wrong:?}");
}

struct Calls<F>(F);

/// What is done with a producer: some parts are read to the end, some in part, some not at all.
impl<T: Send, F: FnMut(usize, T)> ProducerCallback<T> for Calls<F> {
    type Output = ();

    fn callback<P: Producer<Item = T>>(mut self, producer: P) {
        let (a, rest) = producer.split_at(100);
        let (b, rest) = rest.split_at(100);
        let (c, rest) = rest.split_at(100);
        drop(c);
        let mut b = b.into_iter();
        (0..10).for_each(|at| (self.0)(at, b.next().unwrap()));
        (0..10).for_each(|at| (self.0)(at, b.next_back().unwrap()));
        a.into_iter().enumerate().for_each(|(at, item)| (self.0)(at, item));
        drop(b);
        let mut rest = rest.into_iter();
        (0..10).for_each(|at| (self.0)(at, rest.next().unwrap()));
    }
}

#[test]
fn every_item_of_a_producer_is_dropped_once() {
    dropped_once(|items| items.into_par_iter().with_producer(Calls(|_, item| drop(item))));
    dropped_once(|items| {
        items.into_par_iter().map(|item| item).rev().with_producer(Calls(|_, item| drop(item)));
    });
    dropped_once(|items| items.into_par_iter().zip(0..N).with_producer(Calls(|_, item| drop(item))));
    dropped_once(|items| items.into_par_iter().skip(9).step_by(2).with_producer(Calls(|_, item| drop(item))));
    dropped_once(|items| items.into_par_iter().chunks(2).with_producer(Calls(|_, item| drop(item))));
    dropped_once(|mut items| items.par_drain(5..N - 5).with_producer(Calls(|_, item| drop(item))));
    dropped_once(|items| Items(items).rev().with_producer(Calls(|_, item| drop(item))));
    dropped_once(|items| Items(items).zip(0..N).with_producer(Calls(|_, item| drop(item))));
    let most = AtomicUsize::new(10);
    dropped_once(|items| drop(items.into_par_iter().drive(Collect::new(Some(N), &most))));
    let most = AtomicUsize::new(10);
    dropped_once(|items| {
        drop(items.into_par_iter().filter(|x| x.at > 3).drive_unindexed(Collect::new(None, &most)));
    });
    dropped_once(|items| drop(Items(items).find_first(|item| item.at == 500)));
    dropped_once(|items| drop(Items(items).rev().find_any(|item| item.at == 500)));
    dropped_once(|items| drop(Items(items).enumerate().collect::<Vec<_>>()));
}

/// Runs `work`, which panics.
fn panics(work: impl FnOnce()) {
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    assert!(ended.is_err(), "it does not panic");
}

fn panic_at(at: usize, item: Dropped<'_>) -> Dropped<'_> {
    assert!(item.at != at, "wanted");
    item
}

#[test]
fn every_item_is_dropped_once_if_a_closure_panics() {
    let most = AtomicUsize::new(MANY);
    for at in [0, 1, 99, 100, 150, 500, N - 1] {
        dropped_once(|items| {
            panics(|| {
                drop(
                    items.into_par_iter().map(|item| panic_at(at, item)).drive(Collect::new(Some(N), &most)),
                );
            });
        });
        dropped_once(|items| {
            let stage = items.into_par_iter().inspect(|_| ()).chunks(3);
            panics(|| {
                drop(
                    stage
                        .map(|mut of| of.drain(..).for_each(|item| drop(panic_at(at, item))))
                        .drive(Collect::new(None, &most)),
                );
            });
        });
        dropped_once(|items| {
            panics(|| Items(items).map(|item| panic_at(at, item)).for_each(drop));
        });
        dropped_once(|items| {
            panics(|| Items(items).enumerate().map(|(_, item)| panic_at(at, item)).for_each(drop));
        });
        dropped_once(|items| {
            panics(|| drop(Items(items).map(|item| panic_at(at, item)).collect::<Vec<_>>()));
        });
    }
    dropped_once(|items| {
        let read = Calls(|at, item| {
            drop(item);
            assert!(at < 50, "wanted");
        });
        panics(|| items.into_par_iter().with_producer(read));
    });
}

/// A producer that is lost leaks its items, and no item is dropped twice.
#[test]
fn lost_parts_leak() {
    struct Loses;

    impl<T> ProducerCallback<T> for Loses {
        type Output = ();

        fn callback<P: Producer<Item = T>>(self, producer: P) {
            let (a, b) = producer.split_at(10);
            let mut items = a.into_iter();
            drop(items.next());
            std::mem::forget(items);
            std::mem::forget(b);
        }
    }

    let drops: Vec<_> = (0..20).map(|_| AtomicUsize::new(0)).collect();
    let items: Vec<_> = (0..20).map(|at| Dropped { at, drops: &drops }).collect();
    items.into_par_iter().with_producer(Loses);
    assert_eq!(drops[0].load(Relaxed), 1);
    assert!(drops.iter().all(|drops| drops.load(Relaxed) <= 1));
}

#[test]
fn bridges_reduce_in_order_and_heed_lengths() {
    struct Parts;
    struct Lengths<P>(P, usize, usize);

    impl<P: Producer> Producer for Lengths<P> {
        type Item = P::Item;
        type IntoIter = P::IntoIter;

        fn into_iter(self) -> P::IntoIter {
            self.0.into_iter()
        }

        fn min_len(&self) -> usize {
            self.1
        }

        fn max_len(&self) -> usize {
            self.2
        }

        fn split_at(self, index: usize) -> (Self, Self) {
            let (a, b) = self.0.split_at(index);
            (Self(a, self.1, self.2), Self(b, self.1, self.2))
        }
    }

    /// The lengths of all parts.
    struct Measures;
    struct Measured(usize);

    impl<T> Consumer<T> for Measures {
        type Folder = Measured;
        type Reducer = Append;
        type Result = Vec<usize>;

        fn split_at(self, _: usize) -> (Self, Self, Append) {
            (Self, Self, Append)
        }

        fn into_folder(self) -> Measured {
            Measured(0)
        }

        fn full(&self) -> bool {
            false
        }
    }

    impl<T> Folder<T> for Measured {
        type Result = Vec<usize>;

        fn consume(self, _: T) -> Self {
            Self(self.0 + 1)
        }

        fn complete(self) -> Vec<usize> {
            vec![self.0]
        }

        fn full(&self) -> bool {
            false
        }
    }

    impl<T: Send> ProducerCallback<T> for Parts {
        type Output = ();

        fn callback<P: Producer<Item = T>>(self, producer: P) {
            let (a, b) = producer.split_at(N / 2);
            let lengths = bridge_producer_consumer(N / 2, Lengths(a, 100, usize::MAX), Measures);
            assert!(lengths.iter().all(|len| *len >= 100) && lengths.iter().sum::<usize>() == N / 2);
            let lengths = bridge_producer_consumer(N / 2, Lengths(b, 1, 10), Measures);
            assert!(lengths.iter().all(|len| *len <= 10) && lengths.iter().sum::<usize>() == N / 2);
        }
    }

    items().with_producer(Parts);
    (0..N).into_par_iter().with_producer(Parts);
}

/// Another crate's iterator that says how many items it has, and drives consumers in its own way.
struct Says<F>(usize, F);

impl<F: FnOnce() -> Drives + Send> ParallelIterator for Says<F> {
    type Item = String;

    fn drive_unindexed<C: UnindexedConsumer<String>>(self, consumer: C) -> C::Result {
        let word = |at: usize| at.to_string();
        match (self.1)() {
            Drives::Whole(many) => consumer.into_folder().consume_iter((0..many).map(word)).complete(),
            Drives::Halves { at, left, right, is_swapped } => {
                let (first, second, reducer) = consumer.split_at(at);
                let first = first.into_folder().consume_iter((0..left).map(word)).complete();
                let second = second.into_folder().consume_iter((0..right).map(word)).complete();
                if is_swapped { reducer.reduce(second, first) } else { reducer.reduce(first, second) }
            }
            Drives::One(at, is_left) => {
                let (first, second, _) = consumer.split_at(at);
                let of = if is_left { first } else { second };
                of.into_folder().consume_iter((0..at).map(word)).complete()
            }
            Drives::Unindexed => {
                let left = consumer.split_off_left().into_folder().consume(word(0)).complete();
                let reducer = consumer.to_reducer();
                reducer.reduce(left, consumer.into_folder().consume(word(1)).complete())
            }
        }
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.0)
    }
}

enum Drives {
    Whole(usize),
    Halves { at: usize, left: usize, right: usize, is_swapped: bool },
    One(usize, bool),
    Unindexed,
}

/// An iterator that does not give as many items as it says, or not in order, is found out, and
/// nothing is lost or dropped twice.
#[test]
fn an_iterator_that_lies_about_its_number_is_found_out() {
    use Drives::{Halves, One, Unindexed, Whole};

    let whole = Says(4, || Whole(4)).collect::<Vec<_>>();
    assert_eq!(whole, ["0", "1", "2", "3"]);
    let halves = |left, right, is_swapped| Says(4, move || Halves { at: 2, left, right, is_swapped });
    assert_eq!(halves(2, 2, false).collect::<Vec<_>>(), ["0", "1", "0", "1"]);
    panics(|| drop(Says(4, || Whole(5)).collect::<Vec<_>>()));
    panics(|| drop(Says(4, || Whole(3)).collect::<Vec<_>>()));
    panics(|| drop(halves(1, 2, false).collect::<Vec<_>>()));
    panics(|| drop(halves(2, 1, false).collect::<Vec<_>>()));
    panics(|| drop(halves(3, 1, false).collect::<Vec<_>>()));
    panics(|| drop(halves(1, 3, false).collect::<Vec<_>>()));
    panics(|| drop(halves(2, 2, true).collect::<Vec<_>>()));
    panics(|| drop(Says(4, || One(2, true)).collect::<Vec<_>>()));
    panics(|| drop(Says(4, || One(2, false)).collect::<Vec<_>>()));
    panics(|| drop(Says(4, || Halves { at: 5, left: 2, right: 2, is_swapped: false }).collect::<Vec<_>>()));
    panics(|| drop(Says(2, || Unindexed).collect::<Vec<_>>()));
    let mut kept = vec![String::from("kept")];
    panics(|| kept.par_extend(halves(2, 1, false)));
    assert_eq!(kept, ["kept"]);
    kept.par_extend(halves(2, 2, false));
    assert_eq!(kept, ["kept", "0", "1", "0", "1"]);
}

/// Numbers whose folder takes all items, although it may be full: `full` is a hint.
struct Through(Range<u64>);

impl ParallelIterator for Through {
    type Item = u64;

    fn drive_unindexed<C: UnindexedConsumer<u64>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

impl UnindexedProducer for Through {
    type Item = u64;

    fn split(self) -> (Self, Option<Self>) {
        let (left, right) = Numbers(self.0).split();
        (Self(left.0), right.map(|right| Self(right.0)))
    }

    fn fold_with<F: Folder<u64>>(self, folder: F) -> F {
        self.0.fold(folder, F::consume)
    }
}

#[test]
fn a_folder_that_is_full_keeps_what_it_has_found() {
    let all = || Through(0..1000);
    assert!(all().any(|x| x == 500) && !all().all(|x| x != 500));
    assert_eq!((all().find_first(|x| *x >= 500), all().find_any(|x| *x == 500)), (Some(500), Some(500)));
    assert_eq!(all().find_last(|x| *x <= 500), Some(500));
    assert_eq!(all().try_for_each(|x| if x == 500 { Err(x) } else { Ok(()) }), Err(500));
    assert_eq!(all().map(|x| (x < 500).then_some(x)).while_some().count(), 500);
}

/// Items with an index: their number, and how many more times their producer splits before a split
/// panics.
struct SplitsFew(usize, AtomicUsize);

impl ParallelIterator for SplitsFew {
    type Item = usize;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }
}

impl IndexedParallelIterator for SplitsFew {
    fn len(&self) -> usize {
        self.0
    }

    fn drive<C: Consumer<usize>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<C: ProducerCallback<usize>>(self, callback: C) -> C::Output {
        callback.callback(PartOfFew(Part((0..self.0).collect()), &self.1))
    }
}

struct PartOfFew<'s>(Part<usize>, &'s AtomicUsize);

impl Producer for PartOfFew<'_> {
    type Item = usize;
    type IntoIter = std::vec::IntoIter<usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let may_split = self.1.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        assert!(may_split.is_ok(), "no more splits");
        let (before, behind) = self.0.split_at(index);
        (Self(before, self.1), Self(behind, self.1))
    }
}

/// The panic of a split reaches the caller, also if the first one is in the drop of a claim.
#[test]
fn a_split_that_panics_does_not_abort() {
    for splits in 0..16 {
        let few = || SplitsFew(N, AtomicUsize::new(splits));
        let texts = || (0..N).map(|i| i.to_string()).collect::<Vec<_>>();
        for _ in 0..3 {
            for work in [
                &(|| few().zip(texts()).for_each(drop)) as &dyn Fn(),
                &|| assert_eq!(few().zip(texts()).position_first(|(i, _)| i == N), None),
                &|| drop(texts().into_par_iter().zip(few()).collect::<Vec<_>>()),
            ] {
                _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            }
        }
    }
    panics(|| SplitsFew(N, AtomicUsize::new(0)).zip(vec![String::new(); N]).for_each(drop));
}

/// One split is that of the part without items.
#[test]
fn the_parts_of_others_iterators_heed_lengths() {
    let few = |splits| SplitsFew(N, AtomicUsize::new(splits));
    few(1).with_min_len(N).for_each(drop);
    few(1).zip(0..N).with_min_len(N).for_each(drop);
    panics(|| few(N / 2).with_max_len(1).for_each(drop));
    panics(|| few(N / 2).zip(0..N).with_max_len(1).for_each(drop));
    assert_eq!(few(2 * N).zip(0..N).with_max_len(1).map(|(a, b)| a.abs_diff(b)).sum::<usize>(), 0);
}

/// Runs `work`, which may panic.
fn may_panic(work: impl FnOnce()) {
    _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
}

/// One of two sources panics while the other one has given its items to a part or to a request.
#[test]
fn every_item_is_dropped_once_beside_a_source_that_panics() {
    for splits in [0, 1, 2, 3, 5, 8, 13] {
        let few = || SplitsFew(N, AtomicUsize::new(splits));
        dropped_once(|items| may_panic(|| few().zip(items).for_each(drop)));
        dropped_once(|items| may_panic(|| items.into_par_iter().zip(few()).for_each(drop)));
        dropped_once(|items| may_panic(|| drop(items.into_par_iter().zip(few()).collect::<Vec<_>>())));
        dropped_once(|items| may_panic(|| _ = few().zip(items).position_first(|(i, _)| i == N)));
        dropped_once(|items| {
            may_panic(|| drop(items.into_par_iter().zip(few()).rev().find_first(|_| false)));
        });
        dropped_once(|items| {
            let other = few().map(|_| None);
            may_panic(|| items.into_par_iter().map(Some).interleave(other).for_each(drop));
        });
        dropped_once(|items| {
            may_panic(|| few().map(|_| None).interleave(items.into_par_iter().map(Some)).for_each(drop));
        });
        dropped_once(|items| may_panic(|| items.into_par_iter().zip(few()).chunks(7).for_each(drop)));
    }
    for at in [0, 1, 50, 99, 100, 109, 150, 205] {
        let bad = |i: usize| assert!(i != at, "wanted");
        dropped_once(|items| {
            may_panic(|| {
                (0..N).into_par_iter().map(bad).zip(items).with_producer(Calls(|_, both| drop(both)));
            });
        });
        dropped_once(|items| {
            may_panic(|| {
                items
                    .into_par_iter()
                    .zip((0..N).into_par_iter().map(bad))
                    .with_producer(Calls(|_, both| drop(both)));
            });
        });
        dropped_once(|items| {
            let bad = |i| (bad(i), None).1;
            may_panic(|| {
                items
                    .into_par_iter()
                    .map(Some)
                    .interleave((0..N).into_par_iter().map(bad))
                    .with_producer(Calls(|_, item| drop(item)));
            });
        });
        dropped_once(|items| {
            may_panic(|| {
                items.into_par_iter().skip_any_while(|item| (bad(item.at), item.at < 200).1).for_each(drop);
            });
        });
        dropped_once(|items| may_panic(|| items.into_par_iter().skip_any(60).for_each(|item| bad(item.at))));
    }
}

/// The loop ends while a stage still leaves items out.
#[test]
fn every_item_is_dropped_once_behind_skips() {
    dropped_once(|items| assert_eq!(items.into_par_iter().skip_any(60).count(), N - 60));
    dropped_once(|items| assert_eq!(items.into_par_iter().skip_any(N + 1).count(), 0));
    dropped_once(|items| assert!(items.into_par_iter().skip_any(60).find_any(|_| true).is_some()));
    dropped_once(|items| assert_eq!(items.into_par_iter().skip_any(60).collect::<Vec<_>>().len(), N - 60));
    dropped_once(|items| assert_eq!(items.into_par_iter().skip_any_while(|_| true).count(), 0));
    dropped_once(|items| {
        assert!(items.into_par_iter().skip_any_while(|x| x.at < 9).find_first(|x| x.at > 20).is_some());
    });
    dropped_once(|items| {
        assert_eq!(Items(items).skip_any(60).map(|x| x.at).filter(|_| true).count(), N - 60);
    });
    let most = AtomicUsize::new(10);
    dropped_once(|items| drop(items.into_par_iter().skip_any(5).drive_unindexed(Collect::new(None, &most))));
}

/// Also if no other thread helps: of one item, or in a pool of one thread.
#[test]
fn the_thread_of_every_item_has_a_number() {
    assert_eq!(rayon::current_thread_index(), None);
    let number = |_: &u64| rayon::current_thread_index();
    for count in [1, 100] {
        let items: Vec<u64> = (0..count).collect();
        let numbers: Vec<Vec<_>> = vec![
            Numbers(0..count).map(|x| number(&x)).collect(),
            Items(items.clone()).map(|x| number(&x)).collect(),
            items.clone().into_iter().par_bridge().map(|x| number(&x)).collect(),
            items.par_iter().map(number).collect(),
        ];
        assert!(numbers.iter().flatten().all(Option::is_some), "of {count} items: {numbers:?}");
    }
}
