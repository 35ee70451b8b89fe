//! The fastest plain forms known here: what somebody writes who has time for it. Whatever is cheap
//! is done for some items at once, in a way that the compiler turns into wide instructions.

#![allow(clippy::option_option, reason = "no such loop; nothing found; found")]

use crate::{
    errors::Fallible,
    rivals::{Cost, Rival},
    search::Search,
    sort::Sort,
};

pub(crate) struct Fastest;

/// As many sums side by side.
const SUMS: usize = 16;
/// Items that are looked at before anybody asks whether one was wanted.
const LOOK: usize = 64;

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

    fn fold<T: Sync, A: Send>(
        &mut self,
        _: &[T],
        _: impl Fn() -> A + Sync,
        _: impl Fn(A, &T) -> A + Sync,
        _: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        None
    }

    /// Four results at once, into memory that is there.
    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        let mut results = Vec::with_capacity(items.len());
        let (chunks, rest) = items.as_chunks::<4>();
        for chunk in chunks {
            results.extend_from_slice(&chunk.each_ref().map(&map));
        }
        results.extend(rest.iter().map(map));
        Some(results)
    }
}

impl Search for Fastest {
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

impl Sort for Fastest {}
impl Fallible for Fastest {}
