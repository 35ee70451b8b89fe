//! Iterators that may end before their base: the loop over the base stops early.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use rangesteal::{
    CancelToken, On,
    options::{Fresh, OnPool},
    source,
    source::Chain,
};

use super::{
    End, Gather, Gathered, Keeps, ParallelIterator, Stage, Staged,
    drive::{Prunes, until},
    ends::ends,
    shown,
};

/// A stage that may end the loop, and the end behind the stage. Once the stage has ended the loop,
/// it lets no item through, and workers claim no further items.
struct ThenUntil<F, E> {
    /// Returns the result of an item, if any, and whether the loop goes on.
    f: F,
    has_ended: AtomicBool,
    end: E,
}

impl<T, R: Send, F: Fn(T) -> (Option<R>, bool) + Sync, E: End<R>> End<T> for ThenUntil<F, E> {
    type Out = E::Out;
    type Kept = E::Kept;

    fn keep(&self) -> E::Kept {
        self.end.keep()
    }

    #[track_caller]
    fn run<C, G, W, L>(&self, on: On<C, OnPool<'_>>, kept: L) -> E::Out
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
        L: Keeps<W, E::Kept>,
    {
        let token = CancelToken::new();
        let (on, token) = on.end_by(&token);
        if self.has_ended.load(Relaxed) {
            token.cancel(); // in an earlier loop of a chain
        }
        let taken = on.filter_map(|(_, item)| {
            // Relaxed: a worker that sees the flag late lets a few more items through.
            if self.has_ended.load(Relaxed) {
                return None;
            }
            let (made, goes_on) = (self.f)(item);
            if !goes_on && !self.has_ended.swap(true, Relaxed) {
                token.cancel();
            }
            made
        });
        self.end.run(taken, kept)
    }

    #[track_caller]
    fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> E::Out
    where
        T: Send,
    {
        self.end.foreign(Staged { base: iter, stage: While { f: &self.f, has_ended: &self.has_ended } })
    }

    fn then(&self, first: E::Out, second: impl FnOnce() -> E::Out) -> E::Out {
        self.end.then(first, second)
    }
}

/// The stage of a [`ThenUntil`], for another crate's iterator.
struct While<'f, F> {
    f: &'f F,
    has_ended: &'f AtomicBool,
}

impl<F> While<'_, F> {
    /// Whether the stage has ended. Relaxed: see [`ThenUntil`].
    fn is_over(&self) -> bool {
        self.has_ended.load(Relaxed)
    }

    /// The result of an item, if any.
    fn made<T, R>(&self, item: T) -> Option<R>
    where
        F: Fn(T) -> (Option<R>, bool),
    {
        if self.is_over() {
            return None;
        }
        let (made, goes_on) = (self.f)(item);
        if !goes_on {
            self.has_ended.store(true, Relaxed);
        }
        made
    }
}

impl<T, R: Send, F: Fn(T) -> (Option<R>, bool) + Sync> Stage<T> for While<'_, F> {
    type Made = R;

    fn feed<A>(&self, item: T, acc: A, mut next: impl FnMut(A, R) -> Result<A, A>) -> Result<A, A> {
        match self.made(item) {
            Some(made) => next(acc, made),
            None => Ok(acc),
        }
    }

    fn has_ended(&self) -> bool {
        self.is_over()
    }

    fn behind<'p, C, G, W>(
        &self,
        on: On<C, OnPool<'p>>,
    ) -> On<impl Chain<Item = R, State = Fresh<G>> + Sync, OnPool<'p>>
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
    {
        on.filter_map(|(_, item)| self.made(item))
    }
}

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
    },
    {
        fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> (Vec<R>, bool)
        where
            T: Send,
        {
            let step = |(mut made, _): (Vec<R>, bool), item| match (self.f)(item) {
                Some(result) => {
                    made.push(result);
                    Ok((made, false))
                }
                None => Err((made, true)),
            };
            let merge = |first: (Vec<R>, bool), second: (Vec<R>, bool)| {
                if first.1 && self.is_prefix {
                    return first;
                }
                let ((mut all, ended), (mut more, ended_later)) = (first, second);
                all.append(&mut more);
                (all, ended || ended_later)
            };
            let prunes = if self.is_prefix { Prunes::Later } else { Prunes::All };
            until(|| (Vec::new(), false), step, merge).of(iter, prunes)
        }
    }
);

/// Whether an item of `base` may be one of many that are made of one item, as behind `flat_map`.
/// Their loop must be able to end in the middle of them: they may be without end. Only a loop that
/// gathers its items ends there.
fn may_be_of_many(base: &impl ParallelIterator) -> bool {
    base.opt_len().is_none()
}

/// The values of items that are `Some`.
#[doc(hidden)]
#[derive(Clone)]
pub struct SomeOf<I>(pub(super) I);
shown!(SomeOf<I>);

/// See [`ParallelIterator::while_some`].
pub type WhileSome<I> = Gathered<SomeOf<I>>;

impl<T: Send, I: ParallelIterator<Item = Option<T>>> Gather for SomeOf<I> {
    type Item = T;

    fn gather(self) -> Vec<T> {
        self.0.rs_run(Until { f: |item| item, is_prefix: true }).0
    }

    #[track_caller]
    fn rs_run<E: End<T>>(self, end: E) -> E::Out {
        if may_be_of_many(&self.0) {
            return end.chain(source(self.gather()));
        }
        let f = |item: Option<T>| {
            let goes_on = item.is_some();
            (item, goes_on)
        };
        self.0.rs_run(ThenUntil { f, has_ended: false.into(), end })
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
        base.rs_run(Until { f: |item| Some(item).filter(&test), is_prefix: false }).0
    }

    #[track_caller]
    fn rs_run<E: End<I::Item>>(self, end: E) -> E::Out {
        if may_be_of_many(&self.0) {
            return end.chain(source(self.gather()));
        }
        let Self(base, test) = self;
        let f = |item: I::Item| {
            let item = Some(item).filter(&test);
            let goes_on = item.is_some();
            (item, goes_on)
        };
        base.rs_run(ThenUntil { f, has_ended: false.into(), end })
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
        self.0.rs_run(Until { f: take, is_prefix: false }).0
    }

    #[track_caller]
    fn rs_run<E: End<I::Item>>(self, end: E) -> E::Out {
        if may_be_of_many(&self.0) {
            return end.chain(source(self.gather()));
        }
        let Self(base, count) = self;
        let left = AtomicUsize::new(count);
        let f = |item| {
            let before = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).unwrap_or(0);
            ((before > 0).then_some(item), before > 1)
        };
        base.rs_run(ThenUntil { f, has_ended: (count == 0).into(), end })
    }
}
