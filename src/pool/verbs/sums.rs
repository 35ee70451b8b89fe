//! The loops that sum up: one number, or one of the items.

use std::{cmp::Ordering, iter::Sum};

use super::{
    on::{Ending, On},
    source::Source,
};

/// The loops that sum up.
impl<S: Source, E: Ending> On<'_, S, E> {
    /// Adds up what `map` makes of the items; without items, the sum of nothing.
    ///
    /// Sums of floating-point numbers are rounded in an order that may differ from call to call,
    /// unless the loop is [`reproducible`](Self::reproducible).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&["a", "bcd"]).sum_of(|word| word.len()), 4);
    /// assert_eq!(pool.on(0..0).sum_of(|i| i), 0);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does, or if the sum overflows where additions are checked.
    #[inline(always)]
    pub fn sum_of<R: Send + Sum>(self, map: impl Fn(S::Item) -> R + Sync) -> E::Of<R> {
        let nothing = || [].into_iter().sum();
        self.fold_reduce(nothing, move |sum, item| add(sum, map(item)), add)
    }

    /// Counts the items of which `test` is true.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(0..100).count_if(|i| i % 7 == 0), 15);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does.
    #[inline(always)]
    pub fn count_if(self, test: impl Fn(S::Item) -> bool + Sync) -> E::Of<usize> {
        self.sum_of(move |item| usize::from(test(item)))
    }

    /// The smallest item by `compare`, and of several equal ones the first, as
    /// [`Iterator::min_by`]; none if there are no items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let smallest = pool.on(&[2.5_f64, -1.0, 7.0]).min_by(|a, b| a.total_cmp(b));
    /// assert_eq!(smallest, Some(&-1.0));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `compare` does.
    #[inline(always)]
    pub fn min_by<T: Send>(self, compare: impl Fn(&T, &T) -> Ordering + Sync) -> E::Of<Option<T>>
    where
        S: Source<Item = T>,
    {
        self.map_reduce(|item| item, move |a, b| if compare(&a, &b).is_gt() { b } else { a })
    }

    /// The largest item by `compare`, and of several equal ones the last, as [`Iterator::max_by`];
    /// none if there are no items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let longest = pool.on(&["a", "bc", "de"]).max_by(|a, b| a.len().cmp(&b.len()));
    /// assert_eq!(longest, Some(&"de"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `compare` does.
    #[inline(always)]
    pub fn max_by<T: Send>(self, compare: impl Fn(&T, &T) -> Ordering + Sync) -> E::Of<Option<T>>
    where
        S: Source<Item = T>,
    {
        self.map_reduce(|item| item, move |a, b| if compare(&a, &b).is_gt() { a } else { b })
    }

    /// The item with the smallest key, and of several with equal keys the first, as
    /// [`Iterator::min_by_key`]; none if there are no items. `key` is called once per item.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let nearest = pool.on(&[12, 95, 103]).min_by_key(|x| i32::abs(**x - 100));
    /// assert_eq!(nearest, Some(&103));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `key` or a comparison of keys does.
    #[inline(always)]
    pub fn min_by_key<T: Send, K: Ord + Send>(self, key: impl Fn(&T) -> K + Sync) -> E::Of<Option<T>>
    where
        S: Source<Item = T>,
    {
        self.best_by_key(key, move |a, b| a > b)
    }

    /// The item with the largest key, and of several with equal keys the last, as
    /// [`Iterator::max_by_key`]; none if there are no items. `key` is called once per item.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = ["parallel", "loop", "stealing"];
    /// assert_eq!(pool.on(&words).max_by_key(|word| word.len()), Some(&"stealing"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `key` or a comparison of keys does.
    #[inline(always)]
    pub fn max_by_key<T: Send, K: Ord + Send>(self, key: impl Fn(&T) -> K + Sync) -> E::Of<Option<T>>
    where
        S: Source<Item = T>,
    {
        self.best_by_key(key, move |a, b| a <= b)
    }

    /// Of each two items, in their order, the second if that is the better one.
    #[inline(always)]
    fn best_by_key<T: Send, K: Send>(
        self,
        key: impl Fn(&T) -> K + Sync,
        is_second_better: impl Fn(&K, &K) -> bool + Sync,
    ) -> E::Of<Option<T>>
    where
        S: Source<Item = T>,
    {
        let best = self.reduced_by(
            move |(), item| (key(&item), item),
            move |a: (K, T), b: (K, T)| if is_second_better(&a.0, &b.0) { b } else { a },
        );
        E::end(best.map(|best| best.map(|(_, item)| item)))
    }
}

#[inline(always)]
fn add<R: Sum>(a: R, b: R) -> R {
    [a, b].into_iter().sum()
}
