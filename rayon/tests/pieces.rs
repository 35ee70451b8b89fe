//! The pieces of texts and slices are those of std, wherever the blocks of the loop end.

#![cfg(feature = "threads")]

use std::{
    fmt::Debug,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use rangesteal_rayon::{ThreadPoolBuilder, prelude::*};

/// Numbers that look random, each below a limit.
fn numbers(seed: u32) -> impl FnMut(u32) -> u32 {
    let mut state = u64::from(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32 % below
    }
}

/// Calls `test` on pools of one thread and of three, with numbers of many seeds and lengths up to
/// 2000.
fn with_lengths(test: impl Fn(&mut dyn FnMut(u32) -> u32, u32) + Sync) {
    for threads in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            for (seed, most) in (0..120).zip([5, 40, 2000].into_iter().cycle()) {
                let mut number = numbers(seed);
                let len = number(most);
                test(&mut number, len);
            }
        });
    }
}

/// Compares the items of a parallel iterator with those of `plain`, from the front and from the
/// back. (A closure of this function would have both iterators in its type, and the compiler needs
/// long for such types. So the loops call `dyn Fn`.)
fn same<T: PartialEq + Debug + Send + Sync>(
    parallel: impl ParallelIterator<Item = T> + Clone,
    plain: impl Iterator<Item = T>,
    what: &str,
) {
    let plain: Vec<T> = plain.collect();
    assert_eq!(parallel.clone().collect::<Vec<T>>(), plain, "{what}");
    assert_eq!(parallel.clone().count(), plain.len(), "{what}");
    let any: &(dyn Fn(&T) -> bool + Sync) = &|_| true;
    assert_eq!(parallel.clone().find_last(any).as_ref(), plain.last(), "{what}");
    // From the back: the items behind the first one that is equal to the item in the middle.
    let Some(middle) = plain.get(plain.len() / 2) else { return };
    let behind = plain.iter().rev().take_while(|item| *item != middle).count();
    let seen = AtomicUsize::new(0);
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let is_middle: &(dyn Fn(&T) -> bool + Sync) = &|item| {
        seen.fetch_add(1, Relaxed);
        item == middle
    };
    pool.install(|| parallel.find_last(is_middle));
    assert_eq!(seen.into_inner(), behind + 1, "{what}");
}

#[test]
fn each_line_loses_one_carriage_return() {
    for (text, lines) in
        [("a\r\nb\r", &["a", "b"][..]), ("\r", &[""]), ("a\r\r\n\r\n", &["a\r", ""]), ("\ra", &["\ra"])]
    {
        assert_eq!(text.par_lines().collect::<Vec<_>>(), lines);
    }
}

#[test]
fn pieces_of_texts_are_those_of_std() {
    with_lengths(|number, len| {
        // From many separators to hardly any.
        let rare = 1 << (3 * number(4));
        let letters = ["a", "e", "\u{e9}", "\u{1F600}", "\u{2003}", "\r\n", "\n", " ", ",", "\t"];
        let letter = |_| letters[(if number(rare) == 0 { number(10) } else { number(4) }) as usize];
        let text: String = (0..len).map(letter).collect();
        let at = |piece: &str| (piece.as_ptr() as usize - text.as_ptr() as usize, piece.len());
        same(text.par_chars(), text.chars(), "chars");
        same(text.par_char_indices(), text.char_indices(), "char_indices");
        same(text.par_bytes(), text.bytes(), "bytes");
        same(text.par_encode_utf16(), text.encode_utf16(), "encode_utf16");
        same(text.par_lines().map(at), text.lines().map(at), "lines");
        same(text.par_split_whitespace().map(at), text.split_whitespace().map(at), "whitespace");
        let (ours, std) = (text.par_split_ascii_whitespace(), text.split_ascii_whitespace());
        same(ours.map(at), std.map(at), "ASCII whitespace");
        // One macro implements all patterns, so two of them stand for all in all methods but one.
        macro_rules! by {
            ($pattern:expr) => {
                same(text.par_split($pattern).map(at), text.split($pattern).map(at), "split");
            };
            (all: $pattern:expr) => {
                by!($pattern);
                let (ours, std) = (text.par_split_inclusive($pattern), text.split_inclusive($pattern));
                same(ours.map(at), std.map(at), "split_inclusive");
                let (ours, std) = (text.par_split_terminator($pattern), text.split_terminator($pattern));
                same(ours.map(at), std.map(at), "split_terminator");
                same(text.par_matches($pattern).map(at), text.matches($pattern).map(at), "matches");
                let (ours, std) = (text.par_match_indices($pattern), text.match_indices($pattern));
                same(ours, std, "match_indices");
            };
        }
        for letter in [',', '\u{1F600}'] {
            by!(all: letter);
        }
        by!([',', '\u{2003}']);
        by!(&[',', 'a']);
        by!(&[',', '\u{e9}', ' '][..]);
        by!(all: |letter: char| !letter.is_alphanumeric());
    });
}

#[test]
fn pieces_of_slices_are_those_of_std() {
    with_lengths(|number, len| {
        let kinds = 2 << (3 * number(4));
        let items: Vec<u64> = (0..len).map(|_| u64::from(number(kinds))).collect();
        let at = |piece: &[u64]| (piece.as_ptr() as usize - items.as_ptr() as usize, piece.len());
        let is_end = |x: &u64| *x == 1;
        let is_near = |a: &u64, b: &u64| a.abs_diff(*b) > 1;
        same(items.par_split(is_end).map(at), items.split(is_end).map(at), "split");
        let (ours, std) = (items.par_split_inclusive(is_end), items.split_inclusive(is_end));
        same(ours.map(at), std.map(at), "split_inclusive");
        same(items.par_chunk_by(is_near).map(at), items.chunk_by(is_near).map(at), "chunk_by");
        let calls = AtomicUsize::new(0);
        let counted = |a: &u64, b: &u64| {
            calls.fetch_add(1, Relaxed);
            is_near(a, b)
        };
        assert_eq!(items.par_chunk_by(counted).count(), items.chunk_by(is_near).count());
        assert_eq!(calls.into_inner(), items.len().saturating_sub(1), "one call for each pair");
        let change = |piece: &mut [u64]| {
            let len = piece.len() as u64;
            piece.iter_mut().zip(0..).for_each(|(x, at)| *x = 1000 * *x + 7 * len + at);
        };
        let [mut ours, mut std] = [0; 2].map(|_| items.clone());
        ours.par_split_mut(is_end).for_each(change);
        std.split_mut(is_end).for_each(change);
        assert_eq!(ours, std);
        ours.par_split_inclusive_mut(is_end).for_each(change);
        std.split_inclusive_mut(is_end).for_each(change);
        assert_eq!(ours, std);
        let is_near = |a: &u64, b: &u64| a % 3 <= b % 3;
        ours.par_chunk_by_mut(is_near).for_each(change);
        std.chunk_by_mut(is_near).for_each(change);
        assert_eq!(ours, std);
    });
}

/// A search that ends at the first piece does not divide the rest.
#[test]
fn pieces_are_not_gathered() {
    let text = "some words, ".repeat(10_000);
    let items: Vec<u32> = (0..100_000).collect();
    let (calls, most) = (AtomicUsize::new(0), items.len() / 4);
    let called = || _ = calls.fetch_add(1, Relaxed);
    let is_comma = |letter| {
        called();
        letter == ','
    };
    let is_end = |x: &u32| {
        called();
        x.is_multiple_of(10)
    };
    let is_near = |a: &u32, b: &u32| {
        called();
        a / 10 == b / 10
    };
    let few = |found: bool| {
        assert!(found);
        let calls = calls.swap(0, Relaxed);
        assert!(calls < most, "{calls} calls");
    };
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        few(text.par_split(is_comma).any(|_| true));
        few(text.par_matches(is_comma).find_last(|_| true).is_some());
        few(items.par_split(is_end).any(|_| true));
        few(items.par_split_inclusive(is_end).any(|_| true));
        few(items.par_chunk_by(is_near).any(|_| true));
    });
}

/// Compares what iterators over chunks make with what those of std make: alone, from the back,
/// numbered, in part, and zipped with chunks from the front.
macro_rules! chunks_of {
    ($v:ident, $size:ident, $($par:ident $std:ident)+) => {$({
        let what = format!("{}({}) of {} items", stringify!($std), $size, $v.len());
        let (par, std) = (|| $v.$par($size), || $v.$std($size));
        same(par(), std(), &what);
        same(par().rev(), std().rev(), &what);
        same(par().enumerate(), std().enumerate(), &what);
        same(par().rev().enumerate(), std().rev().enumerate(), &what);
        same(par().skip(1).take(3), std().skip(1).take(3), &what);
        same(par().zip($v.par_chunks($size)), std().zip($v.chunks($size)), &what);
        same(par().zip(par().rev()), std().zip(std().rev()), &what);
        same(par().chain(par().rev()), std().chain(std().rev()), &what);
    })+};
}

/// As `chunks_of`, of exclusive chunks: writes into each chunk a number that depends on its place.
macro_rules! chunks_of_mut {
    ($len:ident, $size:ident, $($par:ident $std:ident)+) => {$({
        let what = format!("{}({}) of {} items", stringify!($std), $size, $len);
        let write = |at: usize, chunk: &mut [usize]| {
            let of = 1000 * (at + 1) + chunk.len();
            chunk.iter_mut().enumerate().for_each(|(i, x)| *x = *x * 7 + of + i);
        };
        let (mut ours, mut theirs) = (vec![0; $len], vec![0; $len]);
        ours.$par($size).enumerate().for_each(|(at, chunk)| write(at, chunk));
        theirs.$std($size).enumerate().for_each(|(at, chunk)| write(at, chunk));
        assert_eq!(ours, theirs, "{what}");
        ours.$par($size).rev().enumerate().for_each(|(at, chunk)| write(at, chunk));
        theirs.$std($size).rev().enumerate().for_each(|(at, chunk)| write(at, chunk));
        assert_eq!(ours, theirs, "{what}, rev");
        let other: Vec<usize> = (0..$len).collect();
        ours.$par($size).zip(other.par_chunks($size)).for_each(|(chunk, of)| write(of[0], chunk));
        theirs.$std($size).zip(other.chunks($size)).for_each(|(chunk, of)| write(of[0], chunk));
        assert_eq!(ours, theirs, "{what}, zip");
        ours.$par($size).for_each(|chunk| write(0, chunk));
        theirs.$std($size).for_each(|chunk| write(0, chunk));
        assert_eq!(ours, theirs, "{what}, for_each");
    })+};
}

#[test]
fn chunks() {
    for threads in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            for len in [0, 1, 2, 3, 7, 8, 9, 24, 25, 2000, 2003] {
                let v: Vec<usize> = (0..len).collect();
                for size in [1, 2, 3, 8, 2000, usize::MAX] {
                    chunks_of!(v, size, par_chunks chunks par_chunks_exact chunks_exact);
                    chunks_of!(v, size, par_rchunks rchunks par_rchunks_exact rchunks_exact);
                    chunks_of_mut!(len, size, par_chunks_mut chunks_mut par_chunks_exact_mut chunks_exact_mut);
                    chunks_of_mut!(len, size, par_rchunks_mut rchunks_mut par_rchunks_exact_mut rchunks_exact_mut);
                    assert_eq!(v.par_chunks_exact(size).remainder(), v.chunks_exact(size).remainder());
                    assert_eq!(v.par_rchunks_exact(size).remainder(), v.rchunks_exact(size).remainder());
                }
            }
        });
    }
}
