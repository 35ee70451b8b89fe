//! Helpers for the models of loom: a few threads on the range cells.

use loom::model::Builder;

use super::*;
use crate::pool::supply::range::{self, Attempt, Owner};

/// The index where a theft begins.
pub(super) type At = fn(Range<usize>) -> Option<usize>;

/// Explores every schedule of `model`.
pub(super) fn explore_all(model: impl Fn() + Sync + Send + 'static) {
    builder().check(model);
}

/// Explores the schedules with up to three preemptions.
pub(super) fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_to(3, model);
}

/// Explores the schedules with up to this number of preemptions.
pub(super) fn explore_to(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = builder();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.max_branches = 10_000; // loom's 1,000 are fewer than a model with two callers needs
    builder
}

/// A loop on the real range cells.
pub(super) struct SmallLoop {
    pub(super) ranges: Ranges,
    pub(super) claims: Claims,
}

impl SmallLoop {
    /// A loop of `workers` workers. The items are partitioned among the first `dealt_to` workers.
    pub(super) fn new(workers: usize, fence: Fence, items: usize, dealt_to: usize) -> Arc<Self> {
        let bounds: Vec<usize> = (1..dealt_to).map(|worker| (items * worker).div_ceil(dealt_to)).collect();
        let (ranges, claims) = (Ranges::new(workers, fence), Claims::new(items));
        let small = Self { ranges, claims };
        small.ranges.partition(0..items, &bounds);
        Arc::new(small)
    }

    /// Does the work of a worker in a real loop, item by item.
    pub(super) fn drain(&self, me: usize) {
        let (mut owner, mut first) = self.ranges.enter(me);
        while let Some(item) = first.take().or_else(|| Some(owner.steal(&mut Halves)?.item)) {
            self.claims.claim(item..item + 1);
            while owner.left() > 0 {
                self.claims.claim(pop(&mut owner));
            }
        }
    }

    /// Empties the range of worker `me`, in blocks of `N`, of which the last one may be shorter.
    pub(super) fn empty<const N: usize>(&self, me: usize) {
        let (mut owner, first) = self.ranges.enter(me);
        if let Some(item) = first {
            self.claims.claim(item..item + 1);
        }
        while owner.left() > 0 {
            let claim = |claims: &mut range::Claims<'_>| {
                claims.next().into_iter().for_each(|items| self.claims.claim(items));
            };
            let ((), contested) = owner.claim(N, owner.left(), claim);
            if contested {
                self.claims.claim(owner.resolve(N));
            }
        }
    }

    /// Worker `me` makes one attempt at a theft.
    pub(super) fn try_steal(&self, me: usize, victim: usize, middle: At) {
        let (mut owner, nothing) = self.ranges.enter(me);
        assert_eq!(nothing, None);
        if let Attempt::Done(item) = owner.try_steal(victim, &mut |left| middle(left)) {
            self.claims.claim(item..item + 1);
        }
    }

    pub(super) fn assert_all_claimed(&self) {
        self.claims.assert_all_before(self.claims.0.len());
    }
}

/// Pops one item, if one can be claimed. Does not count the claim.
pub(super) fn pop(owner: &mut Owner<'_>) -> Range<usize> {
    let (popped, contested) = owner.claim(1, 1, |claims| claims.next());
    if contested { owner.resolve(1) } else { popped.unwrap_or(0..0) }
}
