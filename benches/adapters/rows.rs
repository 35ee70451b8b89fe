// Each row: a name, the plain loop, and the parallel one. This file is included twice.

use super::{NUMBERS, Row, Run, TEXT, mix};
use rayon::prelude::*;

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
}
