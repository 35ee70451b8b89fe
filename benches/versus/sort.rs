//! Stable sorts: who has one, and those that the rows run.

use std::{any::Any, cell::RefCell, cmp::Ordering};

use orx_parallel::BasicPool;
use rangesteal::Pool;
use rayon::slice::ParallelSliceMut;

use crate::{
    rivals::{Chili, Foreign, Halves, Plain, Rival, Telling},
    turn::Loop,
};

/// How an executor sorts, items that are equal staying in order; `None` where it does not.
pub(crate) trait Sort {
    fn sort<T: Ord + Send + Sync + 'static>(&mut self, _items: &mut Vec<T>) -> Option<()> {
        None
    }

    fn sort_by<T: Send + Sync>(
        &mut self,
        _items: &mut [T],
        _compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        None
    }
}

impl Sort for Plain {
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
}

impl Sort for &Pool {
    fn sort<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        Pool::sort(self, items);
        Some(())
    }

    fn sort_by<T: Send + Sync>(
        &mut self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        Pool::sort_by(self, items, compare);
        Some(())
    }
}

impl Sort for &rayon::ThreadPool {
    fn sort<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        self.install(|| items.par_sort());
        Some(())
    }

    fn sort_by<T: Send + Sync>(
        &mut self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        self.install(|| items.par_sort_by(&compare));
        Some(())
    }
}

/// C++ knows no type but `u32`, and only its natural order.
impl Sort for Foreign<'_> {
    fn sort<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        self.peer.sort(self.threads, (items as &mut dyn Any).downcast_mut::<Vec<u32>>()?);
        Some(())
    }
}

impl Sort for Halves<'_> {}
impl Sort for &mut paralight::prelude::ThreadPool {}
impl Sort for Telling<'_> {}
impl Sort for &mut Chili {}
impl Sort for &BasicPool {} // it has an experiment that is not stable
#[cfg(fork_union)]
impl Sort for fork_union::ThreadPool {}

/// Sorts a copy, which is made anew for each call.
pub(crate) struct Sorted<T> {
    items: Vec<T>,
    copy: RefCell<Vec<T>>,
}

impl<T> Sorted<T> {
    pub(crate) fn new(items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), copy: RefCell::default() }
    }
}

impl<T: Ord + Clone + Send + Sync + 'static> Loop for Sorted<T> {
    type Output = Vec<T>;

    fn prepare(&self, _: &mut impl Rival) {
        self.copy.borrow_mut().clone_from(&self.items);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<T>> {
        let mut items = self.copy.take();
        rival.sort(&mut items)?;
        Some(items)
    }
}

/// Sorts by a key of few values, the upper bits of each number; the lower ones show what became of equal items.
pub(crate) struct ByKey(Sorted<u32>);

impl ByKey {
    const PLACE: u32 = 20;

    pub(crate) fn new(keys: impl Iterator<Item = u32>) -> Self {
        Self(Sorted::new((0..1 << Self::PLACE).zip(keys).map(|(place, key)| key << Self::PLACE | place)))
    }
}

impl Loop for ByKey {
    type Output = Vec<u32>;

    fn prepare(&self, rival: &mut impl Rival) {
        self.0.prepare(rival);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<u32>> {
        let mut items = self.0.copy.take();
        let key = |x: &u32| x >> Self::PLACE;
        rival.sort_by(&mut items, |a, b| key(a).cmp(&key(b)))?;
        Some(items)
    }
}
