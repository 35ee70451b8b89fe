//! loom models of the real types. Run with
//! `RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release --lib models`.
//!
//! The smaller ones are explored exhaustively, the others with at most three preemptions (two have missed a real bug). Next to each
//! stand those with a planted bug that must be caught: a model that passes whatever happens proves nothing.

mod barrier;
mod calls;
mod claims;
mod cuts;
mod searches;
mod thefts;

use std::{
    convert::Infallible,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use loom::{cell::UnsafeCell, model::Builder, thread};

use super::{
    fence::Fence,
    planted::{Bug, plant},
    range::{Middle, Owner, Ranges, Stealing, Theft, half},
};

/// Explores every schedule of `model`, with a bug or without.
fn explore_all(bug: Option<Bug>, model: impl Fn() + Sync + Send + 'static) {
    plant(bug);
    Builder::new().check(model);
}

/// Explores schedules of up to three preemptions.
fn explore(bug: Option<Bug>, model: impl Fn() + Sync + Send + 'static) {
    plant(bug);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// How often each item was claimed.
struct Claims(Vec<AtomicUsize>); // std's: loom need not interleave the counting

impl Claims {
    fn new(items: usize) -> Self {
        Self((0..items).map(|_| AtomicUsize::new(0)).collect())
    }

    fn claim(&self, items: Range<usize>) {
        for item in items {
            assert_eq!(self.0[item].fetch_add(1, SeqCst), 0, "item {item} claimed twice");
        }
    }

    fn assert_all_before(&self, end: usize) {
        for (item, claims) in self.0[..end].iter().enumerate() {
            assert_eq!(claims.load(SeqCst), 1, "item {item} left out");
        }
    }
}

/// A round on the real range cells.
struct Round {
    ranges: Ranges,
    claims: Claims,
}

impl Round {
    /// Its items are dealt to the first `dealt_to` of the workers.
    fn new(workers: usize, fence: Fence, stealing: Stealing, items: usize, dealt_to: usize) -> Arc<Self> {
        let bounds: Vec<usize> = (1..dealt_to).map(|worker| (items * worker).div_ceil(dealt_to)).collect();
        let round = Self { ranges: Ranges::new(workers, fence, stealing), claims: Claims::new(items) };
        round.ranges.deal(0..items, &bounds);
        Arc::new(round)
    }

    /// What the real round does, item by item.
    fn drain(&self, me: usize) {
        let (mut owner, mut first) = self.ranges.enter(me);
        while let Some(item) = first.take().or_else(|| Some(owner.steal(&half)?.item)) {
            self.claims.claim(item..item + 1);
            while owner.left() > 0 {
                self.claims.claim(pop(&mut owner));
            }
        }
    }

    /// Empties the range of worker `me`, in blocks of `N` where there are as many.
    fn empty<const N: usize>(&self, me: usize) {
        let (mut owner, first) = self.ranges.enter(me);
        if let Some(item) = first {
            self.claims.claim(item..item + 1);
        }
        while owner.left() > 0 {
            if owner.left() >= N {
                let claim = |(), items| {
                    self.claims.claim(items);
                    Ok::<_, Infallible>(())
                };
                let Ok(((), contested)) = owner.fold::<N, _, _>(1, (), claim);
                if contested {
                    self.claims.claim(owner.settle(N));
                }
            } else {
                self.claims.claim(pop(&mut owner));
            }
        }
    }

    /// Worker `me` makes one attempt at a theft.
    fn rob(&self, me: usize, victim: usize, middle: impl Middle) {
        let (mut owner, nothing) = self.ranges.enter(me);
        assert_eq!(nothing, None);
        if let Theft::Done(item) = owner.rob(victim, middle) {
            self.claims.claim(item..item + 1);
        }
    }

    fn assert_all_claimed(&self) {
        self.claims.assert_all_before(self.claims.0.len());
    }
}

/// Pops one item, if it can be had; not yet counted.
fn pop(owner: &mut Owner<'_>) -> Range<usize> {
    let Ok((popped, contested)) = owner.fold::<1, _, _>(1, 0..0, |_, items| Ok::<_, Infallible>(items));
    if contested { owner.settle(1) } else { popped }
}

/// What the caller's stack is to the workers: written before each round and after it, read during it.
struct Local(UnsafeCell<usize>);

// SAFETY: loom's cell checks every access, which is what these models are for.
#[allow(unsafe_code)]
unsafe impl Sync for Local {}

impl Local {
    fn new(value: usize) -> Self {
        Self(UnsafeCell::new(value))
    }

    fn write(&self, value: usize) {
        // SAFETY: loom reports a conflicting access.
        #[allow(unsafe_code)]
        self.0.with_mut(|local| unsafe { *local = value });
    }

    fn read(&self) -> usize {
        // SAFETY: loom reports a conflicting access.
        #[allow(unsafe_code)]
        self.0.with(|local| unsafe { *local })
    }
}
