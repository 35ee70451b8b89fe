//! Ranges that are empty, have one item, begin at the smallest value of their type or end at its
//! largest one: no item is lost, and none occurs twice.

#![cfg(feature = "threads")]

use std::{fmt::Debug, ops::Bound, panic::catch_unwind};

use rangesteal_rayon::prelude::*;

// The types of closures have the types of all loops around them, and the compiler needs seconds for
// such types. So the loops call functions.
fn always<T>(_: &T) -> bool {
    true
}

fn same<T>(item: T) -> T {
    item
}

fn push<T>(mut list: Vec<T>, item: T) -> Vec<T> {
    list.push(item);
    list
}

fn one_more<T>(count: usize, _: T) -> usize {
    count + 1
}

fn are_equal<T: PartialEq>((a, b): &(T, &T)) -> bool {
    a == *b
}

/// Collects the items of a range.
fn collected<T, I>(range: &(impl IntoParallelIterator<Item = T, Iter = I> + Clone), plain: &[T])
where
    T: Debug + PartialEq + Send,
    I: ParallelIterator<Item = T>,
{
    let on = || range.clone().into_par_iter();
    assert_eq!(on().collect::<Vec<_>>(), plain);
    assert_eq!(on().opt_len().unwrap_or(plain.len()), plain.len());
}

/// Loops over a range whose items have no index.
fn items<T, I>(range: &(impl IntoParallelIterator<Item = T, Iter = I> + Clone), plain: &[T])
where
    T: Copy + Debug + PartialEq + Send + Sync,
    I: ParallelIterator<Item = T>,
{
    collected(range, plain);
    let on = || range.clone().into_par_iter();
    assert_eq!(on().count(), plain.len());
    assert_eq!(on().find_first(always).as_ref(), plain.first());
    assert_eq!(on().find_last(always).as_ref(), plain.last());
}

/// Loops that cut a range whose items have an index.
fn cut<T, I>(range: &(impl IntoParallelIterator<Item = T, Iter = I> + Clone), plain: &[T])
where
    T: Copy + Debug + PartialEq + Send + Sync,
    I: IndexedParallelIterator<Item = T>,
{
    items(range, plain);
    let on = || range.clone().into_par_iter();
    assert_eq!(on().filter(always).map(same).collect::<Vec<_>>(), plain);
    let lists: Vec<Vec<T>> = on().fold(Vec::new, push).collect();
    assert_eq!(lists.concat(), plain);
    assert_eq!(on().len(), plain.len());
    let reversed: Vec<T> = plain.iter().rev().copied().collect();
    assert_eq!(on().rev().collect::<Vec<_>>(), reversed);
    assert_eq!(on().zip(plain).filter(are_equal).count(), plain.len());
    for size in [1, 2, 3, plain.len() + 1, usize::MAX] {
        let chunks: Vec<Vec<T>> = plain.chunks(size).map(<[T]>::to_vec).collect();
        assert_eq!(on().chunks(size).collect::<Vec<_>>(), chunks, "chunks of {size}");
        assert_eq!(
            on().chunks(size).rev().collect::<Vec<_>>(),
            chunks.iter().rev().cloned().collect::<Vec<_>>()
        );
        let lens: Vec<usize> = chunks.iter().map(Vec::len).collect();
        assert_eq!(on().fold_chunks(size, usize::default, one_more).collect::<Vec<_>>(), lens);
        let plain = || plain.iter().copied();
        assert_eq!(on().step_by(size).collect::<Vec<_>>(), plain().step_by(size).collect::<Vec<_>>());
        assert_eq!(on().skip(size).collect::<Vec<_>>(), plain().skip(size).collect::<Vec<_>>());
        assert_eq!(on().take(size).collect::<Vec<_>>(), plain().take(size).collect::<Vec<_>>());
        assert_eq!(on().with_max_len(size).with_min_len(1).collect::<Vec<_>>(), plain().collect::<Vec<_>>());
    }
}

/// Ranges at both ends of each type, through `$check`.
macro_rules! at_the_ends {
    ($with:ident, $inclusive:ident: $($int:ident)+) => {$(
        let (min, max) = ($int::MIN, $int::MAX);
        for range in [min..min, max..max, max..min, min..min + 1, max - 1..max, min..min + 7, max - 7..max] {
            $with(&range, &range.clone().collect::<Vec<_>>());
        }
        let mut exhausted = max - 1..=max;
        assert_eq!(exhausted.by_ref().count(), 2);
        let some = [max..=min, exhausted, min..=min, max..=max, min..=min + 6, max - 6..=max, max - 7..=max - 1];
        for range in some {
            $inclusive(&range, &range.clone().collect::<Vec<_>>());
        }
    )+};
}

#[test]
fn ranges_of_integers() {
    // One or two types of each macro invocation that implements ranges: the compiler needs seconds
    // for each type.
    at_the_ends!(cut, cut: i8);
    at_the_ends!(items, items: usize i64);
    at_the_ends!(collected, collected: u128);
    cut(&(i8::MIN..=i8::MAX), &(i8::MIN..=i8::MAX).collect::<Vec<_>>());
    assert_eq!((0..=u16::MAX).into_par_iter().map(u64::from).sum::<u64>(), (0..1 << 16).sum());
}

/// Loops over a range of more integers than a `usize` counts. They end early, since no loop can
/// visit all these integers.
fn searched<T, I>(range: &(impl IntoParallelIterator<Item = T, Iter = I> + Clone + Debug), first: T, last: T)
where
    T: Copy + Debug + PartialEq + PartialOrd + Send + Sync,
    I: ParallelIterator<Item = T>,
{
    searched_from_the_back(range, first, last);
    let on = || range.clone().into_par_iter();
    let is_inside = |item: &T| (first..=last).contains(item);
    assert_eq!(on().find_first(always), Some(first), "{range:?}");
    assert!(on().find_any(always).as_ref().is_some_and(is_inside), "{range:?}");
    assert_eq!(
        on().try_for_each(|item| if is_inside(&item) { Err(()) } else { Ok(()) }),
        Err(()),
        "{range:?}"
    );
    let ours: Vec<T> = on().take_any(10).collect();
    assert!(ours.len() == 10 && ours.iter().all(is_inside), "{range:?}: {ours:?}");
}

/// The last item of such a range.
fn searched_from_the_back<T, I>(
    range: &(impl IntoParallelIterator<Item = T, Iter = I> + Clone + Debug),
    _: T,
    last: T,
) where
    T: Copy + Debug + PartialEq + Send + Sync,
    I: ParallelIterator<Item = T>,
{
    let on = || range.clone().into_par_iter();
    assert_eq!(on().opt_len(), None, "{range:?}");
    assert_eq!(on().find_last(always), Some(last), "{range:?}");
}

#[test]
fn ranges_that_are_longer_than_a_usize_counts() {
    macro_rules! long {
        ($($search:ident: $int:ident, [$($len:expr),+];)+) => {$(
            let (min, max) = ($int::MIN, $int::MAX);
            $search(&(min..=max), min, max);
            for len in [$($len),+] {
                for first in [min, min + 1, max - len] {
                    $search(&(first..=first + len), first, first + len);
                    if len > usize::MAX as $int {
                        $search(&(first..first + len), first, first + len - 1);
                    }
                }
            }
        )+};
    }
    // One macro implements these ranges for all types, so one type of each width stands for both in
    // all loops but one.
    searched_from_the_back(&(0..=u64::MAX), 0, u64::MAX);
    searched(&(i64::MIN..=i64::MAX), i64::MIN, i64::MAX);
    long! {
        searched: u128, [u128::from(u64::MAX), 1 << 64, (1 << 96) - 1, 1 << 96, (1 << 96) + 1, 1 << 127, u128::MAX - 1];
        searched_from_the_back: i128, [i128::from(u64::MAX), 1 << 64, (1 << 96) - 1, 1 << 96, (1 << 96) + 1, i128::MAX];
    }
}

#[test]
fn ranges_of_characters() {
    let (min, max, before, behind) = ('\0', char::MAX, '\u{D7FF}', '\u{E000}');
    for range in
        [min..min, max..max, max..min, min..'\u{1}', before..behind, before..'\u{E001}', behind..'\u{E002}']
    {
        cut(&range, &range.clone().collect::<Vec<_>>());
    }
    // Such a range has the source of a `Range`, whose cuts are tested above.
    for range in [max..=min, min..=min, max..=max, before..=before, before..=behind, behind..=behind] {
        items(&range, &range.clone().collect::<Vec<_>>());
    }
    let last = '\u{10FFF0}'..=max;
    items(&last, &last.clone().collect::<Vec<_>>());
}

/// The range that is drained ends behind the vector, also where its end plus one is no `usize`.
#[test]
fn a_range_outside_a_vector_is_refused() {
    type Bounds = (Bound<usize>, Bound<usize>);
    let drained = |range: Bounds| {
        let mut vec = vec![1, 2, 3];
        let taken: Vec<i32> = vec.par_drain(range).collect();
        (taken, vec)
    };
    assert_eq!(drained((Bound::Excluded(0), Bound::Included(1))), (vec![2], vec![1, 3]));
    assert_eq!(drained((Bound::Excluded(2), Bound::Unbounded)), (vec![], vec![1, 2, 3]));
    let outside: [Bounds; 6] = [
        (Bound::Unbounded, Bound::Included(usize::MAX)),
        (Bound::Unbounded, Bound::Included(3)),
        (Bound::Unbounded, Bound::Excluded(4)),
        (Bound::Excluded(usize::MAX), Bound::Unbounded),
        (Bound::Excluded(3), Bound::Unbounded),
        (Bound::Included(2), Bound::Excluded(1)),
    ];
    for range in outside {
        let payload = catch_unwind(|| drained(range)).expect_err("the range is refused");
        let text = payload.downcast_ref().copied().or(payload.downcast_ref().map(String::as_str));
        let message: &str = text.expect("a text");
        assert!(message.starts_with("the range "), "{range:?}: {message}");
    }
}
