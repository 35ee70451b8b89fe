// Each row: a name, the plain loop, and the parallel one. This file is included twice.

use std::ops::Range;

use super::{NUMBERS, Row, Run, TEXT, mix};
use rayon::prelude::*;

mod foreign {
    use super::rayon;
    include!("foreign.rs");
}
use foreign::{Add, Lent, Numbers, Sums};

/// Rows of closures that capture nothing.
macro_rules! rows {
    ($($name:literal: $plain:expr, $parallel:expr;)+) => {
        pub(crate) const ROWS: &[Row] = &[$(Row {
            name: $name,
            plain: || -> Run { Box::new(|| $plain) },
            parallel: || -> Run { Box::new(|| $parallel) },
        }),+];
    };
}

const SOME: u64 = 1_000_000;

fn counted(mut counts: [u32; 256], x: &u32) -> [u32; 256] {
    counts[*x as usize % 256] += 1;
    counts
}

fn counted_in(mut counts: Vec<u32>, x: &u32) -> Vec<u32> {
    counts[*x as usize % 256] += 1;
    counts
}

fn added<C: AsMut<[u32]> + AsRef<[u32]>>(mut a: C, b: C) -> C {
    a.as_mut().iter_mut().zip(b.as_ref()).for_each(|(a, b)| *a += b);
    a
}

fn first(counts: impl AsRef<[u32]>) -> u64 {
    u64::from(counts.as_ref()[0])
}

fn sum(items: impl Iterator<Item = u64>) -> u64 {
    items.sum()
}

fn par_sum(items: impl ParallelIterator<Item = u64>) -> u64 {
    items.sum()
}

fn upto(len: u64) -> rayon::range::Iter<u64> {
    (0..len).into_par_iter()
}

fn short() -> &'static [u32] {
    &NUMBERS[..30_000]
}

fn long() -> &'static [u32] {
    &NUMBERS[..2_000_000]
}

fn is_end(x: &u32) -> bool {
    x.is_multiple_of(16)
}

fn is_near(a: &u32, b: &u32) -> bool {
    a % 8 != b % 8
}

fn in_turn(a: impl Iterator<Item = u64>, b: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    a.zip(b).flat_map(|(a, b)| [a, b])
}

fn halves(range: Range<u64>) -> (Range<u64>, Option<Range<u64>>) {
    let middle = u64::midpoint(range.start, range.end);
    if range.end - range.start < 2 { (range, None) } else { (range.start..middle, Some(middle..range.end)) }
}

/// The children of a node of a tree of 199,999 nodes.
fn children(of: &u64) -> impl DoubleEndedIterator<Item = u64> + use<> {
    (2 * of..2 * of + 2).filter(|x| *x < 200_000)
}

rows! {
    "fold: histogram of 10M":
        first(NUMBERS.iter().fold(vec![0; 256], counted_in)),
        first(NUMBERS.par_iter().fold(|| vec![0; 256], counted_in).reduce(|| vec![0; 256], added));
    "fold: histogram of 30,000":
        first(short().iter().fold(vec![0; 256], counted_in)),
        first(short().par_iter().fold(|| vec![0; 256], counted_in).reduce(|| vec![0; 256], added));
    "fold: histogram of 2M in an array":
        first(long().iter().fold([0; 256], counted)),
        first(long().par_iter().fold(|| [0; 256], counted).reduce(|| [0; 256], added));
    "fold_with":
        first(NUMBERS.iter().fold(vec![0; 256], counted_in)),
        first(NUMBERS.par_iter().fold_with(vec![0; 256], counted_in).reduce(|| vec![0; 256], added));
    "fold of a range":
        sum((0..SOME).map(mix)),
        upto(SOME).fold(|| 0, |a: u64, x| a.wrapping_add(mix(x))).reduce(|| 0, u64::wrapping_add);
    "try_fold":
        (0..SOME).try_fold(0, |a: u64, x| a.checked_add(mix(x))).unwrap_or(0),
        upto(SOME).try_fold(|| 0, |a: u64, x| a.checked_add(mix(x))).try_reduce(|| 0, u64::checked_add).unwrap_or(0);
    "try_fold that fails":
        (0..10 * SOME).try_fold(0, |a: u64, x| if x == 100_000 { None } else { a.checked_add(mix(x)) }).unwrap_or(0),
        upto(10 * SOME).try_fold(|| 0, |a: u64, x| if x == 100_000 { None } else { a.checked_add(mix(x)) }).try_reduce(|| 0, u64::checked_add).unwrap_or(0);
    "enumerate, rev":
        sum(long().iter().enumerate().rev().map(|(i, x)| u64::from(*x) ^ i as u64)),
        par_sum(long().par_iter().enumerate().rev().map(|(i, x)| u64::from(*x) ^ i as u64));
    "map_init":
        sum((0..SOME).map(|x| mix(x) ^ 1)),
        par_sum(upto(SOME).map_init(|| 1, |one, x| mix(x) ^ *one));
    "map_with":
        sum((0..SOME).map(|x| mix(x) ^ 1)),
        par_sum(upto(SOME).map_with(1, |one, x| mix(x) ^ *one));
    "chain, sum":
        sum((0..SOME).chain(7..SOME).map(mix)),
        par_sum(upto(SOME).chain(7..SOME).map(mix));
    "chain, collect":
        (0..SOME).chain(7..SOME).map(mix).collect::<Vec<_>>()[100],
        upto(SOME).chain(7..SOME).map(mix).collect::<Vec<_>>()[100];
    "chain, enumerate":
        sum((0..SOME).chain(7..SOME).enumerate().map(|(i, x)| mix(x) ^ i as u64)),
        par_sum((0..SOME as usize).into_par_iter().chain(7..SOME as usize).enumerate().map(|(i, x)| mix(x as u64) ^ i as u64));
    "map_init, enumerate":
        sum((0..SOME).map(mix).enumerate().map(|(i, x)| x ^ i as u64)),
        par_sum((0..SOME as usize).into_par_iter().map_init(|| 0, |zero, x| mix(x as u64) ^ *zero).enumerate().map(|(i, x)| x ^ i as u64));
    "repeat_n":
        sum((0..SOME).map(|_| 7)),
        par_sum(rayon::iter::repeat_n(7, SOME as usize));
    "repeat_n of vectors":
        sum(std::iter::repeat_n(vec![7_u64; 100], 30_000).map(|x| x[50])),
        par_sum(rayon::iter::repeat_n(vec![7_u64; 100], 30_000).map(|x| x[50]));
    "repeat, zip":
        sum(long().iter().map(|x| mix(u64::from(*x)) ^ 7)),
        par_sum(rayon::iter::repeat(7).zip(long()).map(|(seven, x)| mix(u64::from(*x)) ^ seven));
    "split of a range":
        sum((0..SOME).map(mix)),
        par_sum(rayon::iter::split(0..SOME, halves).map(|part| sum(part.map(mix))));
    "walk_tree":
        sum((1..200_000).map(mix)),
        par_sum(rayon::iter::walk_tree(1, children).map(mix));
    "walk_tree_postfix":
        sum((1..200_000).map(mix)),
        par_sum(rayon::iter::walk_tree_postfix(1, children).map(mix));
    "walk_tree, 1,000 nodes":
        sum((1..1000).map(mix)),
        par_sum(rayon::iter::walk_tree(1, |x: &u64| (2 * x..2 * x + 2).filter(|x| *x < 1000)).map(mix));
    "while_some":
        sum((0..SOME).map(|x| Some(mix(x))).map_while(|x| x)),
        par_sum(upto(SOME).map(|x| Some(mix(x))).while_some());
    "while_some, 30,000":
        sum((0..30_000).map(|x| Some(mix(x))).map_while(|x| x)),
        par_sum(upto(30_000).map(|x| Some(mix(x))).while_some());
    "while_some, collect":
        (0..SOME).map(|x| Some(mix(x))).map_while(|x| x).collect::<Vec<_>>()[100],
        upto(SOME).map(|x| Some(mix(x))).while_some().collect::<Vec<_>>()[100];
    "take_any, all":
        sum((0..SOME).map(mix).take(SOME as usize)),
        par_sum(upto(SOME).map(mix).take_any(SOME as usize));
    "take_any, few":
        sum((0..SOME).map(mix).take(1000)),
        par_sum(upto(SOME).map(mix).take_any(1000));
    "skip_any":
        sum((0..SOME).map(mix).skip(1000)),
        par_sum(upto(SOME).map(mix).skip_any(1000));
    "take_any_while":
        sum((0..SOME).map(mix).take_while(|x| *x < u64::MAX)),
        par_sum(upto(SOME).map(mix).take_any_while(|x| *x < u64::MAX));
    "skip_any_while":
        sum((0..SOME).map(mix).skip_while(|x| x.is_multiple_of(2))),
        par_sum(upto(SOME).map(mix).skip_any_while(|x| x.is_multiple_of(2)));
    "intersperse":
        sum((0..SOME).map(mix).flat_map(|x| [1, x]).skip(1)),
        par_sum(upto(SOME).map(mix).intersperse(1));
    "intersperse of a slice":
        sum(long().iter().map(|x| u64::from(*x)).flat_map(|x| [1, x]).skip(1)),
        par_sum(long().par_iter().map(|x| u64::from(*x)).intersperse(1));
    "interleave":
        sum(in_turn(long()[1..].iter().map(|x| mix(u64::from(*x))), (1..2_000_000).map(mix))),
        par_sum(long()[1..].par_iter().map(|x| mix(u64::from(*x))).interleave((1..2_000_000_usize).into_par_iter().map(|x| mix(x as u64))));
    "interleave_shortest, collect":
        in_turn(long().iter().map(|x| u64::from(*x)), NUMBERS.iter().map(|x| u64::from(*x))).collect::<Vec<_>>()[777],
        long().par_iter().map(|x| u64::from(*x)).interleave_shortest(NUMBERS.par_iter().map(|x| u64::from(*x))).collect::<Vec<_>>()[777];
    "slice, par_chunk_by":
        sum(long().chunk_by(is_near).map(|piece| piece.len() as u64 ^ 1)),
        par_sum(long().par_chunk_by(is_near).map(|piece| piece.len() as u64 ^ 1));
    "slice, par_chunk_by, 30,000":
        sum(short().chunk_by(is_near).map(|piece| piece.len() as u64 ^ 1)),
        par_sum(short().par_chunk_by(is_near).map(|piece| piece.len() as u64 ^ 1));
    "slice, par_chunks":
        sum(long().chunks(8).map(|of| u64::from(of[0]) ^ 1)),
        par_sum(long().par_chunks(8).map(|of| u64::from(of[0]) ^ 1));
    "slice, par_chunks_exact, all items":
        sum(long().chunks_exact(8).map(|of| sum(of.iter().map(|x| u64::from(*x))))),
        par_sum(long().par_chunks_exact(8).map(|of| sum(of.iter().map(|x| u64::from(*x)))));
    "slice, par_chunks_mut, enumerate":
        sum(vec![1; 300_000].chunks_mut(8).enumerate().map(|(at, of)| of[0] + at as u64)),
        par_sum(vec![1; 300_000].par_chunks_mut(8).enumerate().map(|(at, of)| of[0] + at as u64));
    "slice, par_chunks_exact, zip":
        sum(long().chunks_exact(8).zip(long().rchunks_exact(8)).map(|(a, b)| u64::from(a[0] ^ b[0]))),
        par_sum(long().par_chunks_exact(8).zip(long().par_rchunks_exact(8)).map(|(a, b)| u64::from(a[0] ^ b[0])));
    "slice, par_rchunks":
        sum(long().rchunks(8).map(|of| u64::from(of[0]) ^ 1)),
        par_sum(long().par_rchunks(8).map(|of| u64::from(of[0]) ^ 1));
    "slice, par_rchunks_exact":
        sum(long().rchunks_exact(8).map(|of| u64::from(of[0]) ^ 1)),
        par_sum(long().par_rchunks_exact(8).map(|of| u64::from(of[0]) ^ 1));
    "slice, par_rchunks_mut":
        sum(vec![1; 300_000].rchunks_mut(7).map(|of| of[0])),
        par_sum(vec![1; 300_000].par_rchunks_mut(7).map(|of| of[0]));
    "slice, par_split":
        sum(long().split(is_end).map(|piece| piece.len() as u64 ^ 1)),
        par_sum(long().par_split(is_end).map(|piece| piece.len() as u64 ^ 1));
    "slice, par_split_inclusive":
        sum(long().split_inclusive(is_end).map(|piece| piece.len() as u64 ^ 1)),
        par_sum(long().par_split_inclusive(is_end).map(|piece| piece.len() as u64 ^ 1));
    "text, par_split_whitespace":
        sum(TEXT.split_whitespace().map(|word| word.len() as u64 ^ 1)),
        par_sum(TEXT.par_split_whitespace().map(|word| word.len() as u64 ^ 1));
    "text, par_split_whitespace, 30,000 bytes":
        sum(TEXT[..30_000].split_whitespace().map(|word| word.len() as u64 ^ 1)),
        par_sum(TEXT[..30_000].par_split_whitespace().map(|word| word.len() as u64 ^ 1));
    "text, par_split_ascii_whitespace":
        sum(TEXT.split_ascii_whitespace().map(|word| word.len() as u64 ^ 1)),
        par_sum(TEXT.par_split_ascii_whitespace().map(|word| word.len() as u64 ^ 1));
    "text, par_lines":
        sum(TEXT.lines().map(|line| line.len() as u64 ^ 1)),
        par_sum(TEXT.par_lines().map(|line| line.len() as u64 ^ 1));
    "text, par_split":
        sum(TEXT.split('e').map(|piece| piece.len() as u64 ^ 1)),
        par_sum(TEXT.par_split('e').map(|piece| piece.len() as u64 ^ 1));
    "text, par_matches":
        sum(TEXT.matches(['e', 'o']).map(|piece| piece.len() as u64 ^ 1)),
        par_sum(TEXT.par_matches(['e', 'o']).map(|piece| piece.len() as u64 ^ 1));
    "text, par_chars":
        sum(TEXT.chars().map(u64::from)),
        par_sum(TEXT.par_chars().map(u64::from));
    "text, par_char_indices":
        sum(TEXT.char_indices().map(|(at, letter)| at as u64 ^ u64::from(letter))),
        par_sum(TEXT.par_char_indices().map(|(at, letter)| at as u64 ^ u64::from(letter)));
    "text, par_encode_utf16":
        sum(TEXT.encode_utf16().map(u64::from)),
        par_sum(TEXT.par_encode_utf16().map(u64::from));
    "text, par_bytes":
        sum(TEXT.bytes().map(u64::from)),
        par_sum(TEXT.par_bytes().map(u64::from));
    "foreign, sum":
        sum((0..SOME).map(mix)),
        par_sum(Numbers(0..SOME).map(mix));
    "foreign, light sum":
        sum(0..20 * SOME),
        par_sum(Numbers(0..20 * SOME));
    "foreign, short sum":
        sum((0..2000).map(mix)),
        par_sum(Numbers(0..2000).map(mix));
    "foreign, for_each":
        {
            (0..SOME).for_each(|x| _ = std::hint::black_box(mix(x)));
            0
        },
        {
            Numbers(0..SOME).for_each(|x| _ = std::hint::black_box(mix(x)));
            0
        };
    "foreign, find_first near":
        (0..SOME).find(|x| mix(*x) % 1000 == 7).unwrap_or(0),
        Numbers(0..SOME).find_first(|x| mix(*x) % 1000 == 7).unwrap_or(0);
    "foreign, find_first none":
        (0..SOME).find(|x| mix(*x) == 1).unwrap_or(0),
        Numbers(0..SOME).find_first(|x| mix(*x) == 1).unwrap_or(0);
    "foreign, find_last":
        (0..SOME).rfind(|x| mix(*x) % 1000 == 7).unwrap_or(0),
        Numbers(0..SOME).find_last(|x| mix(*x) % 1000 == 7).unwrap_or(0);
    "foreign, any":
        (0..SOME).any(|x| mix(x) == 1).into(),
        Numbers(0..SOME).any(|x| mix(x) == 1).into();
    "foreign, filter, collect":
        (0..SOME).map(mix).filter(|x| x % 3 > 0).collect::<Vec<_>>()[777],
        Numbers(0..SOME).map(mix).filter(|x| x % 3 > 0).collect::<Vec<_>>()[777];
    "foreign, map_init":
        sum((0..SOME).map(mix)),
        par_sum(Numbers(0..SOME).map_init(|| 0, |zero, x| mix(x) + *zero));
    "foreign, fold, reduce":
        first(NUMBERS.iter().fold(vec![0; 256], counted_in)),
        first(Lent(&NUMBERS).fold(|| vec![0; 256], counted_in).reduce(|| vec![0; 256], added));
    "foreign, unzip":
        (0..SOME).map(|x| (mix(x), x)).unzip::<_, _, Vec<_>, Vec<_>>().0[777],
        Numbers(0..SOME).map(|x| (mix(x), x)).unzip::<_, _, Vec<_>, Vec<_>>().0[777];
    "foreign, collect into a result":
        (0..SOME).map(|x| Ok::<_, ()>(mix(x))).collect::<Result<Vec<_>, _>>().map_or(0, |all| all[777]),
        Numbers(0..SOME).map(|x| Ok::<_, ()>(mix(x))).collect::<Result<Vec<_>, _>>().map_or(0, |all| all[777]);
    "foreign with an index, sum":
        sum(NUMBERS.iter().map(|x| u64::from(*x))),
        par_sum(Lent(&NUMBERS).map(|x| u64::from(*x)));
    "foreign with an index, collect":
        long().iter().map(|x| mix(u64::from(*x))).collect::<Vec<_>>()[777],
        Lent(long()).map(|x| mix(u64::from(*x))).collect::<Vec<_>>()[777];
    "foreign with an index, enumerate":
        sum(NUMBERS.iter().enumerate().map(|(i, x)| u64::from(*x) ^ i as u64)),
        par_sum(Lent(&NUMBERS).enumerate().map(|(i, x)| u64::from(*x) ^ i as u64));
    "foreign with an index, enumerate, short":
        sum(NUMBERS[..2000].iter().enumerate().map(|(i, x)| mix(u64::from(*x)) ^ i as u64)),
        par_sum(Lent(&NUMBERS[..2000]).enumerate().map(|(i, x)| mix(u64::from(*x)) ^ i as u64));
    "foreign with an index, enumerate, collect":
        long().iter().enumerate().map(|(i, x)| mix(u64::from(*x)) ^ i as u64).collect::<Vec<_>>()[777],
        Lent(long()).enumerate().map(|(i, x)| mix(u64::from(*x)) ^ i as u64).collect::<Vec<_>>()[777];
    "foreign with an index, zip":
        sum(NUMBERS.iter().zip(NUMBERS.iter().rev()).map(|(a, b)| u64::from(a ^ b))),
        par_sum(Lent(&NUMBERS).zip(Lent(&NUMBERS).rev()).map(|(a, b)| u64::from(a ^ b)));
    "foreign with an index, zip with ours":
        sum(NUMBERS.iter().zip(NUMBERS.iter().rev()).map(|(a, b)| u64::from(a ^ b))),
        par_sum(NUMBERS.par_iter().zip(Lent(&NUMBERS).rev()).map(|(a, b)| u64::from(a ^ b)));
    "foreign with an index, chunks":
        sum(long().chunks(100).map(|of| mix(u64::from(of[0])))),
        par_sum(Lent(long()).chunks(100).map(|of| mix(u64::from(*of[0]))));
    "foreign with an index, position_first":
        long().iter().position(|x| mix(u64::from(*x)) == 1).unwrap_or(0) as u64,
        Lent(long()).position_first(|x| mix(u64::from(*x)) == 1).unwrap_or(0) as u64;
    "lent, slice":
        sum(NUMBERS.iter().map(|x| u64::from(*x))),
        NUMBERS.par_iter().with_producer(Sums(NUMBERS.len(), |x: &u32| u64::from(*x)));
    "lent, range":
        sum((0..SOME).map(mix)),
        (0..SOME as usize).into_par_iter().with_producer(Sums(SOME as usize, |x| mix(x as u64)));
    "lent, map":
        sum(NUMBERS.iter().map(|x| u64::from(*x))),
        NUMBERS.par_iter().map(|x| u64::from(*x)).with_producer(Sums(NUMBERS.len(), |x| x));
    "lent, zip":
        sum(NUMBERS.iter().zip(&NUMBERS[7..]).map(|(a, b)| u64::from(a ^ b))),
        NUMBERS.par_iter().zip(&NUMBERS[7..]).with_producer(Sums(NUMBERS.len() - 7, |(a, b): (&u32, &u32)| u64::from(a ^ b)));
    "lent, enumerate, rev":
        sum(NUMBERS.iter().enumerate().rev().map(|(i, x)| u64::from(*x) ^ i as u64)),
        NUMBERS.par_iter().enumerate().rev().with_producer(Sums(NUMBERS.len(), |(i, x): (usize, &u32)| u64::from(*x) ^ i as u64));
    "lent, chunks":
        sum(NUMBERS.chunks(8).map(|of| u64::from(of[0]))),
        NUMBERS.par_chunks(8).with_producer(Sums(NUMBERS.len() / 8, |of: &[u32]| u64::from(of[0])));
    "lent, a vector of strings":
        sum((0..30_000_u64).map(|x| x.to_string()).collect::<Vec<_>>().into_iter().map(|x| x.len() as u64)),
        (0..30_000_u64).map(|x| x.to_string()).collect::<Vec<_>>().into_par_iter().with_producer(Sums(30_000, |x: String| x.len() as u64));
    "driven, slice":
        sum(NUMBERS.iter().map(|x| u64::from(*x))),
        NUMBERS.par_iter().map(|x| u64::from(*x)).drive(Add);
    "driven, filter":
        sum(NUMBERS.iter().filter(|x| **x % 3 > 0).map(|x| u64::from(*x))),
        NUMBERS.par_iter().filter(|x| **x % 3 > 0).map(|x| u64::from(*x)).drive_unindexed(Add);
    "driven, short":
        sum((0..2000).map(mix)),
        (0..2000_usize).into_par_iter().map(|x| mix(x as u64)).drive(Add);
    "driven, flat_map":
        sum((0..100_000).flat_map(|x| x..x + 8)),
        (0..100_000_usize).into_par_iter().flat_map(|x| x..x + 8).map(|x| x as u64).drive_unindexed(Add);
}
