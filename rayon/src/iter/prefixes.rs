//! Iterators that may end before their base: the loop over the base stops early.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use rangesteal::{
    On,
    options::{Fresh, OnPool},
    source::Chain,
};

use super::{End, Gather, Gathered, ParallelIterator, ends::ends, shown};

/// Collects the `Some` results of a closure, in order, until the closure returns `None`. Returns
/// the results, and whether the closure has returned `None`.
struct Until<F> {
    f: F,
    /// Whether to drop the results of items behind the first `None`. Other workers may have made
    /// such results.
    is_prefix: bool,
}

ends!([T, R: Send, F: Fn(T) -> Option<R> + Sync] Until<F>, T => (Vec<R>, bool),
    |self, on| {
        let step = |mut made: Vec<R>, (_, item): (&mut _, T)| match (self.f)(item) {
            Some(result) => {
                made.push(result);
                ControlFlow::Continue(made)
            }
            None => ControlFlow::Break(made),
        };
        let (mut runs, ended) = on.fold_runs_until(Vec::new, step);
        if let (Some(last), true) = (ended, self.is_prefix) {
            runs.retain(|(first, _)| *first <= last);
        }
        let mut runs = runs.into_iter().map(|(_, made)| made);
        let mut all = runs.next().unwrap_or_default();
        runs.for_each(|mut made| all.append(&mut made));
        (all, ended.is_some())
    },
    |first, second| {
        let (mut all, has_ended) = first;
        if has_ended {
            return (all, true);
        }
        let (mut more, has_ended) = second();
        all.append(&mut more);
        (all, has_ended)
    }
);

/// The values of the items before the first `None`.
#[doc(hidden)]
#[derive(Clone)]
pub struct SomeOf<I>(pub(super) I);
shown!(SomeOf<I>);

/// See [`ParallelIterator::while_some`].
pub type WhileSome<I> = Gathered<SomeOf<I>>;

impl<T: Send, I: ParallelIterator<Item = Option<T>>> Gather for SomeOf<I> {
    type Item = T;

    fn gather(self) -> Vec<T> {
        self.0.run(Until { f: |item| item, is_prefix: true }).0
    }
}

/// Items for which a closure returns true, until the closure returns false.
#[doc(hidden)]
#[derive(Clone)]
pub struct TakenWhile<I, P>(pub(super) I, pub(super) P);
shown!(TakenWhile<I, P>);

/// See [`ParallelIterator::take_any_while`].
pub type TakeAnyWhile<I, P> = Gathered<TakenWhile<I, P>>;

impl<I: ParallelIterator, P: Fn(&I::Item) -> bool + Sync + Send> Gather for TakenWhile<I, P> {
    type Item = I::Item;

    fn gather(self) -> Vec<I::Item> {
        let Self(base, test) = self;
        base.run(Until { f: |item| Some(item).filter(&test), is_prefix: false }).0
    }
}

/// Any items, up to a number.
#[doc(hidden)]
#[derive(Clone)]
pub struct SomeItems<I>(pub(super) I, pub(super) usize);
shown!(SomeItems<I>);

/// See [`ParallelIterator::take_any`].
pub type TakeAny<I> = Gathered<SomeItems<I>>;

impl<I: ParallelIterator> Gather for SomeItems<I> {
    type Item = I::Item;

    fn gather(self) -> Vec<I::Item> {
        let left = AtomicUsize::new(self.1);
        let take =
            |item| left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok().then_some(item);
        self.0.run(Until { f: take, is_prefix: false }).0
    }
}
