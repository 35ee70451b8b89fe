//! Loops without threads: the natural form, and the fastest known form.

use std::{cmp::Ordering, mem};

use crate::rival::{Chained, Cost, Rival, Written};

/// The loop of the standard library.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Rival for Plain {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        items.iter().map(map).fold(0, u64::wrapping_add)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        _: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        Some(items.iter().fold(init(), fold))
    }

    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        Some(items.iter().map(map).collect())
    }

    fn keep(&mut self, items: &[u32], keep: impl Fn(&u32) -> bool + Sync) -> Option<Vec<u32>> {
        Some(items.iter().copied().filter(keep).collect())
    }

    fn part(&mut self, items: &[u32], test: impl Fn(&u32) -> bool + Sync) -> Option<(Vec<u32>, Vec<u32>)> {
        Some(items.iter().copied().partition(test))
    }

    fn both<A: Send, B: Send>(
        &mut self,
        items: &[u32],
        map: impl Fn(&u32) -> (A, B) + Sync,
    ) -> Option<(Vec<A>, Vec<B>)> {
        Some(items.iter().map(map).unzip())
    }

    fn flat<I: IntoIterator<Item = u32>>(
        &mut self,
        items: &[u32],
        map: impl Fn(&u32) -> I + Sync,
    ) -> Option<Vec<u32>> {
        Some(items.iter().flat_map(map).collect())
    }

    fn moved(
        &mut self,
        items: Vec<String>,
        map: impl Fn(String) -> String + Sync + Send,
    ) -> Option<Vec<String>> {
        Some(items.into_iter().map(map).collect())
    }

    fn index_reduce<R: Send>(
        &mut self,
        len: usize,
        map: impl Fn(usize) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        (0..len).map(map).reduce(reduce)
    }

    fn index_sum(&mut self, len: usize, map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        Some((0..len).map(map).fold(0, u64::wrapping_add))
    }

    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        Some(items.iter().find(|item| wanted(item)))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.iter().any(wanted))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.iter().all(wanted))
    }

    fn sort<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        items.sort();
        Some(())
    }

    fn sort_by<T: Send + Sync>(
        &mut self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        items.sort_by(compare);
        Some(())
    }

    fn written<W: Written>(&mut self, work: &W, data: &mut W::Data) -> Option<W::Output> {
        Some(work.plain(data))
    }

    fn scan<T: Clone + Send + Sync>(
        &mut self,
        items: &mut [T],
        op: impl Fn(&T, &T) -> T + Sync,
    ) -> Option<()> {
        for index in 1..items.len() {
            items[index] = op(&items[index - 1], &items[index]);
        }
        Some(())
    }

    fn sort_unstable<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        items.sort_unstable();
        Some(())
    }

    fn sort_by_digits(&mut self, items: &mut [u32], cached: bool) -> Option<()> {
        if cached {
            items.sort_by_cached_key(u32::to_string);
        } else {
            items.sort_by_key(u32::to_string);
        }
        Some(())
    }

    fn chain(&mut self, chain: Chained, xs: &[u32], ys: &[u32]) -> Option<u64> {
        Some(match chain {
            Chained::MapFilterSum => xs.iter().map(|x| x >> 3).filter(|x| x % 2 == 0).sum::<u32>().into(),
            Chained::FilterCount => xs.iter().filter(|x| **x % 7 == 0).count() as u64,
            Chained::EnumerateMax => {
                let largest = xs.iter().enumerate().map(|(i, x)| (i, x ^ 0x55)).max_by_key(|(_, x)| *x);
                largest.map_or(0, |(i, x)| u64::from(x) << 32 | i as u64)
            }
            Chained::ZipSum => xs.iter().zip(ys).map(|(x, y)| u64::from(x ^ y)).sum(),
        })
    }

    fn try_each(
        &mut self,
        items: &[u64],
        f: impl Fn(&u64) -> Result<(), u64> + Sync,
    ) -> Option<Result<(), u64>> {
        Some(items.iter().try_for_each(f))
    }

    fn try_sum(
        &mut self,
        items: &[u64],
        map: impl Fn(&u64) -> Result<u64, u64> + Sync,
    ) -> Option<Result<u64, u64>> {
        Some(items.iter().try_fold(0, |sum: u64, x| Ok(sum.wrapping_add(map(x)?))))
    }
}

/// The form of a careful programmer. This form handles several items per step, so the compiler uses
/// vector instructions.
pub(crate) struct Fastest;

/// The number of separate sums.
const SUMS: usize = 16;
/// The number of items that are tested before a branch on the results.
const LOOK: usize = 64;
/// The number of items that are tested before the kept ones are copied.
const KEPT: usize = 1024;

impl Rival for Fastest {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let (chunks, rest) = items.as_chunks::<SUMS>();
        let mut sums = [0_u64; SUMS];
        for chunk in chunks {
            for (sum, item) in sums.iter_mut().zip(chunk) {
                *sum = sum.wrapping_add(map(item));
            }
        }
        sums.into_iter().chain(rest.iter().map(map)).fold(0, u64::wrapping_add)
    }

    /// Makes four results per step, into reserved memory.
    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        let mut results = Vec::with_capacity(items.len());
        let (chunks, rest) = items.as_chunks::<4>();
        for chunk in chunks {
            results.extend_from_slice(&chunk.each_ref().map(&map));
        }
        results.extend(rest.iter().map(map));
        Some(results)
    }

    /// Writes every number. If a number is not kept, the next number overwrites it.
    fn keep(&mut self, items: &[u32], keep: impl Fn(&u32) -> bool + Sync) -> Option<Vec<u32>> {
        let (mut kept, mut room, mut count) = (Vec::new(), [0; KEPT], 0);
        for chunk in items.chunks(KEPT) {
            for item in chunk {
                room[count] = *item;
                count += usize::from(keep(item));
            }
            kept.extend_from_slice(&room[..mem::take(&mut count)]);
        }
        Some(kept)
    }

    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        let look = |chunk: &&[T]| chunk.iter().fold(false, |found, item| found | wanted(item));
        Some(items.chunks(LOOK).find(look).and_then(|chunk| chunk.iter().find(|item| wanted(item))))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.chunks(LOOK).any(|chunk| chunk.iter().fold(false, |found, item| found | wanted(item))))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.chunks(LOOK).all(|chunk| chunk.iter().fold(true, |all, item| all & wanted(item))))
    }
}
