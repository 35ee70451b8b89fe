//! Tests each source with each stage that cuts it: no item is lost, and none occurs twice. The
//! sources are empty, have one item, begin at the smallest integer of their type, end at its
//! largest one, have items without a size, or have `usize::MAX` items. The standard library cuts
//! the same items.

use std::ops::{Range, RangeInclusive};

use rangesteal::{
    Pool, source,
    source::{IntoChain, Pieces, Source, chunks_exact, drain, pieces},
};

/// An item of any source, as a number.
trait Value {
    fn value(self) -> i128;
}

macro_rules! integers {
    ($($int:ty)+) => {$(
        impl Value for $int {
            #[allow(trivial_numeric_casts, clippy::cast_lossless, clippy::cast_possible_wrap, reason = "all but one")]
            fn value(self) -> i128 {
                self as i128
            }
        }

        impl List for Range<$int> {
            fn list(self) -> Vec<i128> {
                self.map(Value::value).collect()
            }
        }

        impl List for RangeInclusive<$int> {
            fn list(self) -> Vec<i128> {
                self.map(Value::value).collect()
            }
        }
    )+};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl Value for () {
    fn value(self) -> i128 {
        0
    }
}

impl Value for String {
    fn value(self) -> i128 {
        self.parse().unwrap()
    }
}

impl<T: Value + Clone> Value for &T {
    fn value(self) -> i128 {
        self.clone().value()
    }
}

impl<T: Value + Clone> Value for &mut T {
    fn value(self) -> i128 {
        self.clone().value()
    }
}

/// Of items in step, which have equal values.
impl<A: Value, B: Value> Value for (A, B) {
    fn value(self) -> i128 {
        let value = self.0.value();
        assert_eq!(value, self.1.value());
        value
    }
}

/// A piece of any source, as numbers.
trait List {
    fn list(self) -> Vec<i128>;
}

impl<T: Value + Clone> List for &[T] {
    fn list(self) -> Vec<i128> {
        self.iter().map(Value::value).collect()
    }
}

impl<T: Value + Clone> List for &mut [T] {
    fn list(self) -> Vec<i128> {
        (&*self).list()
    }
}

impl<T: Value> List for Vec<T> {
    fn list(self) -> Vec<i128> {
        self.into_iter().map(Value::value).collect()
    }
}

/// Of pieces in step, which are equal.
impl<A: List, B: List> List for (A, B) {
    fn list(self) -> Vec<i128> {
        let list = self.0.list();
        assert_eq!(list, self.1.list());
        list
    }
}

/// Pools that run loops alone and that share them.
fn pools() -> [Pool; 2] {
    [1, 3].map(|threads| Pool::builder().num_threads(threads).build().unwrap())
}

fn lists<'a>(cut: impl Iterator<Item = &'a [i128]>) -> Vec<Vec<i128>> {
    cut.map(<[i128]>::to_vec).collect()
}

/// The lengths of pieces that are tested for `len` items.
fn sizes(len: usize) -> impl Iterator<Item = usize> {
    [1, 2, 3, len, len + 1, usize::MAX].into_iter().filter(|size| *size > 0)
}

/// Collects the items of `make`, as they are, in reverse and in chunks. `plain` are their values.
fn collected<S>(name: &str, pools: &[Pool], make: &dyn Fn() -> S, plain: &[i128])
where
    S: IntoChain<Chain: Pieces<Item: Value + Send, Piece: List + Send> + Sync>,
{
    for pool in pools {
        let len = plain.len();
        let items = |chain: Vec<_>, stage: &str| {
            let values: Vec<i128> = chain.into_iter().map(Value::value).collect();
            assert_eq!(values, plain, "{name}, {stage}");
        };
        items(pool.on(make()).collect(), "collect");
        let mut back: Vec<_> = pool.on(make()).rev().collect();
        back.reverse();
        items(back, "rev");
        assert_eq!(pool.on(make()).count(), len, "{name}, count");
        for size in sizes(len) {
            let ours: Vec<Vec<i128>> = pool.on(make()).chunks(size).map(List::list).collect();
            assert_eq!(ours, lists(plain.chunks(size)), "{name}, chunks of {size}");
        }
    }
}

/// Cuts the items of `make` by every stage that takes any source. `plain` are their values.
fn cut<S>(name: &str, pools: &[Pool], make: impl Fn() -> S, plain: &[i128])
where
    S: IntoChain<Chain: Pieces<Item: Value + Send, Piece: List + Send> + Sync>,
{
    collected(name, pools, &make, plain);
    for pool in pools {
        let len = plain.len();
        for size in sizes(len) {
            let at = |stage: &str| format!("{name}, {stage} of {size}");
            let is = |ours: Vec<Vec<i128>>, expected: Vec<Vec<i128>>, stage: &str| {
                assert_eq!(ours, expected, "{}", at(stage));
            };
            let items: Vec<_> = pool.on(make()).grain(size).collect();
            assert_eq!(items.into_iter().map(Value::value).collect::<Vec<_>>(), plain, "{}", at("grain"));
            let (all, exact) = (|| lists(plain.chunks(size)), || lists(plain.chunks_exact(size)));
            is(pool.on(make()).chunks_exact(size).map(List::list).collect(), exact(), "chunks_exact");
            let (chunks, rest) = chunks_exact(make(), size);
            is(pool.on(chunks).map(List::list).collect(), exact(), "source::chunks_exact");
            assert_eq!(rest.list(), plain.chunks_exact(size).remainder(), "{}", at("the rest"));
            let mut rows: Vec<Vec<i128>> = pool.on(make()).chunks(size).rev().map(List::list).collect();
            rows.reverse();
            is(rows, all(), "chunks in reverse");
            let reversed: Vec<i128> = plain.iter().rev().copied().collect();
            let rows = pool.on(make()).rev().chunks(size).map(List::list).collect();
            is(rows, lists(reversed.chunks(size)), "chunks behind rev");
            let part: Vec<i128> = plain.iter().skip(1).take(size).copied().collect();
            let rows = pool.on(make()).skip(1).take(size).chunks(2).map(List::list).collect();
            is(rows, lists(part.chunks(2)), "chunks of a part");
            let one: Vec<i128> = pool.on(make()).step_by(size).map(Value::value).collect();
            assert_eq!(one, plain.iter().copied().step_by(size).collect::<Vec<_>>(), "{}", at("step_by"));
            let steps: Vec<i128> = plain.iter().copied().step_by(size).collect();
            let rows = pool.on(make()).step_by(size).chunks(2).map(List::list).collect();
            is(rows, lists(steps.chunks(2)), "chunks behind step_by");
            is(pool.on(make()).zip(plain).chunks(size).map(List::list).collect(), all(), "chunks of a zip");
            is(pool.on((plain, make())).chunks(size).map(List::list).collect(), all(), "chunks of a tuple");
            let numbered = pool.on(make()).enumerate().chunks(size).map(|(at, piece)| {
                let list = piece.list();
                assert!(at.len() == list.len() && list == plain[at]);
                list
            });
            is(numbered.collect(), all(), "chunks of numbered items");
            is(pool.on(make()).map(Value::value).chunks(size).map(List::list).collect(), all(), "of a map");
            let blocks = pool.on(make()).grain(size).with_block(|block| block);
            let blocks: Vec<(usize, i128)> = blocks.map(|(block, item)| (*block, item.value())).collect();
            let expected = plain.iter().enumerate().map(|(i, value)| (i / size, *value));
            assert_eq!(blocks, expected.collect::<Vec<_>>(), "{}", at("with_block"));
            let merge = |mut a: Vec<i128>, b: Vec<i128>| {
                a.extend(b);
                a
            };
            let push = |mut list: Vec<i128>, value| {
                list.push(value);
                list
            };
            let on = pool.on(make()).grain(size).reproducible().map(Value::value);
            assert_eq!(on.fold(Vec::new, push, merge), plain, "{}", at("reproducible"));
        }
        let middle = len / 2;
        let offsets: [&[usize]; 8] = [
            &[],
            &[0],
            &[0, 0],
            &[0, len],
            &[len, len],
            &[middle, len, len],
            &[0, 0, middle, middle, len, len],
            &(0..=len).collect::<Vec<_>>(),
        ];
        for offsets in offsets {
            let ours: Vec<Vec<i128>> = pool.on(pieces(make(), offsets)).map(List::list).collect();
            let expected = offsets.windows(2).map(|pair| &plain[pair[0]..pair[1]]);
            assert_eq!(ours, lists(expected), "{name}, pieces at {offsets:?}");
        }
    }
}

/// Cuts the items of a source that can be requested twice by [`cut`] and by windows.
macro_rules! cut_shared {
    ($name:expr, $pools:expr, $make:expr, $plain:expr) => {
        let plain: &[i128] = $plain;
        cut($name, $pools, || $make, plain);
        for pool in $pools {
            for size in sizes(plain.len()) {
                let ours: Vec<Vec<i128>> = pool.on($make).windows(size).map(List::list).collect();
                assert_eq!(ours, lists(plain.windows(size)), "{}, windows of {size}", $name);
                let part: Vec<Vec<i128>> = pool.on($make).skip(1).windows(size).map(List::list).collect();
                let expected = lists(plain.get(1..).unwrap_or_default().windows(size));
                assert_eq!(part, expected, "{}, windows of {size} of a part", $name);
            }
        }
    };
}

#[test]
fn ranges_of_every_type() {
    let pools = &pools();
    macro_rules! collected {
        ($name:expr, $pools:expr, $make:expr, $plain:expr) => {
            collected($name, $pools, &|| $make, $plain)
        };
    }
    macro_rules! ranges {
        ($cut:ident: $($int:ident)+) => {$(
            let (min, max) = ($int::MIN, $int::MAX);
            for range in [min..min, max..max, max..min, min..min + 1, max - 1..max, min..min + 7, max - 7..max] {
                let plain: Vec<i128> = range.clone().map(Value::value).collect();
                $cut!(&format!("{range:?}: {}", stringify!($int)), pools, range.clone(), &plain);
            }
            let mut exhausted = max - 1..=max;
            assert!(exhausted.by_ref().count() == 2);
            #[allow(clippy::reversed_empty_ranges, reason = "it is empty")]
            let empty = [max..=min, 1..=0, max..=max - 1, exhausted];
            let full = [min..=min, max..=max, min..=min + 6, max - 6..=max, max - 7..=max - 1];
            for range in empty.into_iter().chain(full) {
                let plain: Vec<i128> = range.clone().map(Value::value).collect();
                $cut!(&format!("{range:?}: {}", stringify!($int)), pools, range.clone(), &plain);
            }
        )+};
    }
    ranges!(cut_shared: u8 i64);
    // The types differ in the number of their integers and in the integer at an index, and no stage
    // knows the type.
    if !cfg!(miri) {
        ranges!(collected: u16 u32 u64 u128 usize i8 i16 i32 i128 isize);
    }
}

#[test]
fn all_integers_of_a_type() {
    let pools = &pools();
    let all: Vec<i128> = (i8::MIN..=i8::MAX).map(Value::value).collect();
    cut_shared!("all of i8", pools, i8::MIN..=i8::MAX, &all);
    let all: Vec<i128> = (0..=u8::MAX).map(Value::value).collect();
    cut_shared!("all of u8", pools, 0..=u8::MAX, &all);
    let on = || pools[1].on(0..=u16::MAX).chunks(1000);
    assert_eq!(on().map(Iterator::count).sum::<usize>(), 1 << 16);
    assert_eq!(on().flat_map(|piece| piece).map(u64::from).sum::<u64>(), (0..1 << 16).sum());
}

#[test]
fn slices_and_vectors() {
    let pools = &pools();
    for len in [0, 1, 2, 11] {
        let plain: Vec<i128> = (0..len).map(|i| i * 7 % 11).collect();
        let texts: Vec<String> = plain.iter().map(i128::to_string).collect();
        cut_shared!(&format!("a slice of {len}"), pools, &plain[..], &plain);
        cut(&format!("a vector of {len}"), pools, || texts.clone(), &plain);
        cut(&format!("a box of {len}"), pools, || texts.clone().into_boxed_slice(), &plain);
        cut(&format!("a map of {len}"), pools, || source(&texts).map(|text| text), &plain);
        cut(&format!("a part of {len}"), pools, || source(texts.clone()).skip(0).take(usize::MAX), &plain);
        cut(&format!("a step of {len}"), pools, || source(texts.clone()).step_by(1), &plain);
        cut(&format!("a double reverse of {len}"), pools, || source(texts.clone()).rev().rev(), &plain);
        cut(&format!("a pair of {len}"), pools, || (texts.clone(), &plain), &plain);
        for pool in pools {
            for size in sizes(plain.len()) {
                let (mut lent, mut queue) = (plain.clone(), texts.clone());
                let ours: Vec<Vec<i128>> = pool.on(&mut lent).chunks(size).map(List::list).collect();
                assert_eq!(ours, lists(plain.chunks(size)), "lent chunks of {size} of {len}");
                let (chunks, rest) = chunks_exact(&mut lent, size);
                assert_eq!(rest.list(), plain.chunks_exact(size).remainder());
                let ours: Vec<Vec<i128>> = pool.on(chunks).map(List::list).collect();
                assert_eq!(ours, lists(plain.chunks_exact(size)), "lent, exact chunks of {size} of {len}");
                let taken = pool.on(drain(&mut queue, ..)).chunks(size).map(List::list);
                assert_eq!(taken.collect::<Vec<_>>(), lists(plain.chunks(size)), "drained: {size} of {len}");
                let same = |a: &i128, b: &i128| a < b;
                let ours: Vec<Vec<i128>> = pool.on(&mut lent).chunk_by(same).map(List::list).collect();
                assert_eq!(ours, lists(plain.chunk_by(same)), "lent runs of {len}");
            }
        }
    }
}

#[test]
fn items_without_a_size() {
    let pools = &pools();
    for len in [0, 1, 7] {
        let (units, plain) = (vec![(); len], vec![0; len]);
        cut_shared!(&format!("{len} units"), pools, &units, &plain);
        cut(&format!("{len} units by value"), pools, || units.clone(), &plain);
    }
}

/// The lengths of the pieces of `usize::MAX` items, whose items nobody could count one by one.
#[test]
fn as_many_items_as_a_usize_counts() {
    const ALL: usize = usize::MAX;
    /// The number of items of a piece.
    trait Len {
        fn len(self) -> usize;
    }
    impl Len for Range<usize> {
        fn len(self) -> usize {
            self.end - self.start
        }
    }
    impl Len for RangeInclusive<usize> {
        fn len(self) -> usize {
            if self.is_empty() { 0 } else { self.end() - self.start() + 1 }
        }
    }
    impl Len for &[()] {
        fn len(self) -> usize {
            <[()]>::len(self)
        }
    }
    impl Len for &mut [()] {
        fn len(self) -> usize {
            <[()]>::len(self)
        }
    }
    impl Len for Vec<()> {
        fn len(self) -> usize {
            <[()]>::len(&self)
        }
    }
    fn check<S: IntoChain<Chain: Pieces<Piece: Len + Send> + Sync>>(pool: &Pool, make: impl Fn() -> S) {
        assert_eq!(make().into_chain().count(), ALL);
        for size in [ALL / 2, ALL / 2 + 1, ALL - 1, ALL] {
            let (whole, rest) = (ALL / size, ALL % size);
            let mut expected = vec![size; whole];
            let (chunks, left) = chunks_exact(make(), size);
            assert_eq!(left.len(), rest, "the rest of chunks of {size}");
            assert_eq!(pool.on(chunks).map(Len::len).collect::<Vec<_>>(), expected);
            expected.extend((rest > 0).then_some(rest));
            let ours: Vec<usize> = pool.on(make()).chunks(size).map(Len::len).collect();
            assert_eq!(ours, expected, "chunks of {size}");
            assert_eq!(pool.on(make()).step_by(size).count(), expected.len(), "steps of {size}");
        }
        let cut = pieces(make(), &[0, 0, 1, ALL - 1, ALL, ALL]);
        assert_eq!(pool.on(cut).map(Len::len).collect::<Vec<_>>(), [0, 1, ALL - 2, 1, 0]);
        let last: Vec<usize> = pool.on(make()).skip(ALL - 3).chunks(2).map(Len::len).collect();
        assert_eq!(last, [2, 1]);
        assert_eq!(pool.on(make()).skip(ALL - 3).count(), 3);
        assert_eq!(pool.on(make()).rev().skip(ALL - 3).count(), 3);
    }
    let units = vec![(); ALL];
    for pool in &pools() {
        check(pool, || 0..ALL);
        check(pool, || 1..=ALL);
        check(pool, || 0..=ALL - 1);
        check(pool, || &units);
        check(pool, || vec![(); ALL]);
        let mut lent = vec![(); ALL];
        let ours: Vec<usize> = pool.on(&mut lent).chunks(ALL - 1).map(Len::len).collect();
        assert_eq!(ours, [ALL - 1, 1]);
        assert_eq!(pool.on(1..=ALL).windows(ALL).map(Len::len).collect::<Vec<_>>(), [ALL]);
        assert_eq!(pool.on(1..=ALL).windows(ALL - 1).map(Len::len).collect::<Vec<_>>(), [ALL - 1; 2]);
        assert_eq!(pool.on(&units).windows(ALL - 1).map(Len::len).collect::<Vec<_>>(), [ALL - 1; 2]);
        assert_eq!(pool.on(1..=ALL).skip(ALL - 2).collect::<Vec<_>>(), [ALL - 1, ALL]);
        assert_eq!(pool.on(i64::MIN + 1..=i64::MAX).skip(ALL - 2).max(), Some(i64::MAX));
    }
}

/// Ranges of 128 bits that lie anywhere, and whose length is the largest one or nearly so.
#[test]
fn long_ranges_of_wide_integers() {
    macro_rules! wide {
        ($($int:ident, [$($first:expr),+];)+) => {$(
            for first in [$int::MIN, $int::MAX - usize::MAX as $int, $($first),+] {
                for len in [usize::MAX, usize::MAX - 1, usize::MAX / 2 + 2, (1 << 40) + 1] {
                    let (end, middle) = (first + len as $int, first + (len / 2) as $int);
                    assert_eq!((first..end).into_chain().count(), len);
                    assert_eq!((first..=end - 1).into_chain().count(), len);
                    for pool in &pools() {
                        let on = || pool.on(first..end);
                        assert_eq!(on().skip(len - 2).collect::<Vec<_>>(), [end - 2, end - 1]);
                        assert_eq!(on().rev().skip(len - 2).collect::<Vec<_>>(), [first + 1, first]);
                        assert_eq!(on().skip(len / 2).take(1).collect::<Vec<_>>(), [middle]);
                        let halves = on().chunks(len / 2).map(|half| (half.start, half.end));
                        let halves: Vec<_> = halves.collect();
                        assert_eq!(halves[0], (first, middle));
                        assert_eq!(halves.last().map(|half| half.1), Some(end));
                        let on = || pool.on(first..=end - 1);
                        assert_eq!(on().skip(len - 2).collect::<Vec<_>>(), [end - 2, end - 1]);
                        assert_eq!(on().rev().skip(len - 2).collect::<Vec<_>>(), [first + 1, first]);
                    }
                }
            }
        )+};
    }
    wide! {
        u128, [u128::from(u64::MAX), (1 << 96) - 1, (1 << 96) + 1, 1 << 127];
        i128, [-(1 << 96) - 1, -(1 << 64) / 2, -1, i128::from(u64::MAX), (1 << 96) + 1];
    }
}
