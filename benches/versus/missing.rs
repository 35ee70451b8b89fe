//! Plain loops in place of those that `Pool` does not have yet. Its own methods go before these: when they are there, this file
//! can go, and the lines that use it.

use std::cmp::Ordering;

use rangesteal::Pool;

pub(crate) trait Missing {
    fn sort<T: Ord + Send + Sync>(&self, items: &mut [T]) {
        items.sort();
    }

    fn sort_by<T: Send + Sync>(&self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        items.sort_by(compare);
    }
}

impl Missing for Pool {}
