//! The threads that prepare a count: this thread alone, or the threads of a pool.

use rangesteal::Pool;
use std::cmp::Ordering;

/// The threads that read the ballots and lay them out. The ballots and the votes do not depend on
/// the number of threads.
#[derive(Debug, Clone, Copy)]
pub struct Crew<'a>(Option<&'a Pool>);

impl<'a> Crew<'a> {
    /// The calling thread alone.
    pub const ALONE: Crew<'static> = Crew(None);

    /// The threads of a pool.
    pub(crate) fn of(pool: &'a Pool) -> Self {
        Self(Some(pool).filter(|pool| pool.num_threads() > 1))
    }

    /// The number of threads.
    pub(crate) fn threads(self) -> usize {
        self.0.map_or(1, Pool::num_threads)
    }

    /// Calls `work` with each number below `number`.
    pub fn each(self, number: usize, work: &(dyn Fn(usize) + Sync)) {
        match self.0 {
            Some(pool) => pool.on(0..number).for_each(work),
            None => (0..number).for_each(work),
        }
    }

    /// The results of `map` for all items, in order. `make` gives each thread its own state.
    pub(crate) fn map<T: Sync, W, R: Send>(
        self,
        items: &[T],
        make: impl Fn() -> W + Sync,
        map: impl Fn(&mut W, &T) -> R + Sync,
    ) -> Vec<R> {
        if let Some(pool) = self.0 {
            return pool.on(items).with(|_| make()).map(|(own, item)| map(own, item)).collect();
        }
        let mut own = make();
        items.iter().map(|item| map(&mut own, item)).collect()
    }

    /// Calls `change` with each item.
    pub(crate) fn change<T: Send>(self, items: &mut [T], change: impl Fn(&mut T) + Sync) {
        match self.0 {
            Some(pool) => pool.for_each_mut(items, change),
            None => items.iter_mut().for_each(change),
        }
    }

    /// Sorts the items. Equal items may come in any order.
    pub(crate) fn sort_by<T: Send>(self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        match self.0 {
            Some(pool) => pool.sort_unstable_by(items, compare),
            None => items.sort_unstable_by(compare),
        }
    }
}
