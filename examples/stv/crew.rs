//! The threads that prepare a count: this thread alone, or the threads of a pool.

use rangesteal::Pool;
use std::cmp::Ordering;

/// The threads that read the ballots and lay them out. Their result does not depend on their
/// number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crew<'a>(Option<&'a Pool>);

impl<'a> Crew<'a> {
    /// This thread.
    pub(crate) const ALONE: Crew<'static> = Crew(None);

    /// Those of a pool.
    pub(crate) fn of(pool: &'a Pool) -> Self {
        Self(Some(pool).filter(|pool| pool.num_threads() > 1))
    }

    pub(crate) fn is_alone(self) -> bool {
        self.0.is_none()
    }

    /// How many they are.
    pub(crate) fn threads(self) -> usize {
        self.0.map_or(1, Pool::num_threads)
    }

    /// What `map` makes of each item, in their order. Each thread has something of its own that
    /// `make` gives it.
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

    /// Does something with each item.
    pub(crate) fn change<T: Send>(self, items: &mut [T], change: impl Fn(&mut T) + Sync) {
        match self.0 {
            Some(pool) => pool.for_each_mut(items, change),
            None => items.iter_mut().for_each(change),
        }
    }

    /// Sorts the items, those that are equal in any order.
    pub(crate) fn sort_by<T: Send>(self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        match self.0 {
            Some(pool) => pool.sort_unstable_by(items, compare),
            None => items.sort_unstable_by(compare),
        }
    }
}
