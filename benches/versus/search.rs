//! Loops that end early: who has them, and those that the rows run.

#![allow(clippy::option_option, reason = "no such loop; nothing found; found")]

use std::hint::black_box;

use orx_parallel::{BasicPool, Par, Parallelizable, Runner};
use paralight::iter::{ExactParallelSourceExt, IntoExactParallelRefSource, ParallelIteratorExt};
use rangesteal::Pool;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    rivals::{Chili, Foreign, Halves, Plain, Rival, Telling},
    turn::Loop,
    work::work,
};

/// How an executor searches; `None` where it does not.
pub(crate) trait Search {
    /// The first of the items wanted.
    fn first<'t, T: Sync>(
        &mut self,
        _items: &'t [T],
        _wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        None
    }

    /// Whether any item is wanted.
    fn any<T: Sync>(&mut self, _items: &[T], _wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        None
    }

    /// Whether all items are.
    fn all<T: Sync>(&mut self, _items: &[T], _wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        None
    }
}

impl Search for Plain {
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
}

impl Search for &Pool {
    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        Some(Pool::find_first(self, items, wanted))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(Pool::any(self, items, wanted))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(Pool::all(self, items, wanted))
    }
}

impl Search for &rayon::ThreadPool {
    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).find_first(|item| wanted(item))))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).any(&wanted)))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).all(&wanted)))
    }
}

impl Search for &mut paralight::prelude::ThreadPool {
    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        let items = IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self);
        Some(items.find_first(|item| wanted(item)))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self).any(wanted))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self).all(wanted))
    }
}

impl Search for &BasicPool {
    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        let items = items.par().runner(Runner::adaptive_with_pool(*self));
        Some(items.find(|item| wanted(item))) // the first, unless told otherwise
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.par().runner(Runner::adaptive_with_pool(*self)).any(|item| wanted(item)))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.par().runner(Runner::adaptive_with_pool(*self)).all(|item| wanted(item)))
    }
}

impl Search for Halves<'_> {
    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        let (front, back) = items.split_at(items.len() / 2);
        let (front, back) =
            self.0.install(|| rayon::join(|| front.iter().all(&wanted), || back.iter().all(&wanted)));
        Some(front && back)
    }
}

impl Search for Telling<'_> {}
impl Search for &mut Chili {}
impl Search for Foreign<'_> {}
#[cfg(fork_union)]
impl Search for fork_union::ThreadPool {}

/// Finds the first of the numbers that `is` each of those wanted; all are found.
pub(crate) struct First<'a, F> {
    pub(crate) numbers: &'a [u32],
    pub(crate) wanted: &'a [u32],
    pub(crate) is: F,
}

impl<'a> First<'a, fn(u32, u32) -> bool> {
    pub(crate) fn equal(
        numbers: &'a [u32],
        wanted: &'a [u32],
    ) -> First<'a, impl Fn(u32, u32) -> bool + Sync> {
        First { numbers, wanted, is: |x, wanted| x == wanted }
    }

    /// All numbers that are as large will do, which matters to those who do not begin at the front. To look at one takes `links`.
    pub(crate) fn as_large(
        numbers: &'a [u32],
        wanted: &'a [u32],
        links: u64,
    ) -> First<'a, impl Fn(u32, u32) -> bool + Sync> {
        let (links, end) = (black_box(links), work(links) >> 1);
        First {
            numbers,
            wanted,
            is: move |x, wanted| u64::from(x) + (work(links) >> 1) >= u64::from(wanted) + end,
        }
    }
}

impl<F: Fn(u32, u32) -> bool + Sync> Loop for First<'_, F> {
    type Output = u64;

    /// A hash of the numbers found.
    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        let is = &self.is;
        self.wanted.iter().try_fold(0, |found: u64, &wanted| {
            let number = rival.first(black_box(self.numbers), move |x| is(*x, wanted))?;
            Some(found.wrapping_mul(31).wrapping_add(u64::from(*number.expect("all are found"))))
        })
    }
}

/// Whether each of those wanted is among the numbers.
pub(crate) struct Any<'a> {
    pub(crate) numbers: &'a [u32],
    pub(crate) wanted: &'a [u32],
}

impl Loop for Any<'_> {
    type Output = bool;

    fn run(&self, rival: &mut impl Rival) -> Option<bool> {
        self.wanted.iter().try_fold(true, |found, &wanted| {
            Some(rival.any(black_box(self.numbers), move |x| *x == wanted)? && found)
        })
    }
}

/// Whether all numbers are below a limit.
pub(crate) struct AllBelow<'a>(pub(crate) &'a [u32], pub(crate) u32);

impl Loop for AllBelow<'_> {
    type Output = bool;

    fn run(&self, rival: &mut impl Rival) -> Option<bool> {
        let limit = self.1;
        rival.all(black_box(self.0), move |x| *x < limit)
    }
}
