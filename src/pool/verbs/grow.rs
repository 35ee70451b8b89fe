//! Loops over a list that grows: items make items.

use std::convert::Infallible;

use super::{
    bodies::Claim,
    feed::{Feed, Feeder, List},
    on::{Cancellable, Ending, On, Uncancellable},
    owned::Owned,
    state::{self, Fresh, Kept, PerWorker, State, Stateful, Stateless},
};
use crate::pool::{
    call::{body::Stop, handles::CancelToken},
    record::report::RunReport,
};

/// A list that grows, and the options of a loop over it. Made by
/// [`Pool::grow`](crate::Pool::grow).
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct Grow<'p, T: Send, E = Uncancellable, M = Stateless>(On<'p, Owned<Vec<T>>, E, M>);

impl<'p, T: Send> Grow<'p, T> {
    pub(crate) fn new(seeds: On<'p, Owned<Vec<T>>>) -> Self {
        Self(seeds)
    }
}

/// Options.
impl<'p, T: Send, E: Ending, M: State> Grow<'p, T, E, M> {
    /// Gives each worker a state of its own, made by `make(worker)` before its first item. The
    /// closures of the loop take it as `&mut`, first of all.
    pub fn with<W, F: Fn(usize) -> W + Sync>(self, make: F) -> Grow<'p, T, E, Fresh<F>> {
        Grow(self.0.with(make))
    }

    /// Gives each worker a state that is kept from loop to loop: see [`PerWorker`].
    pub fn with_kept<W: Send>(self, states: &'p mut PerWorker<W>) -> Grow<'p, T, E, Kept<'p, W>> {
        Grow(self.0.with_kept(states))
    }

    /// Lets any thread end the loop, which then returns `Result<_, Cancelled>`.
    pub fn cancel(self, token: &'p CancelToken) -> Grow<'p, T, Cancellable, M> {
        Grow(self.0.cancel(token))
    }

    /// Writes what the loop did into `report`.
    pub fn report(self, report: &'p mut RunReport) -> Self {
        Self(self.0.report(report))
    }

    /// Uses at most `workers` workers, including the calling thread.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn threads(self, workers: usize) -> Self {
        Self(self.0.threads(workers))
    }

    /// Folds the items and reduces the results. None if it was cancelled.
    #[inline(always)]
    fn folded<A: Send, Z: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(&mut M::Worker, A, T, &Feed<'_, T>) -> Result<A, Z> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<Result<A, Z>> {
        let (seeds, list, states) = self.0.with_list();
        let block = |seeds: Claim<'_, Owned<Vec<T>>>, hand: &mut Hand<'_, T, M>, acc: Option<A>| {
            let Hand { feeder, held } = hand;
            let at = seeds.range().start;
            let acc = acc.unwrap_or_else(&init);
            let state = M::get(held);
            let folded = feeder.fold(seeds.items(), acc, |acc, item, feed| fold(state, acc, item, feed));
            folded.map_err(|found| Stop { at, place: 0, found })
        };
        let folded = seeds.state(Hands { list: &list, states: &states }).fold_list(&list, block, &reduce);
        folded.map(|folded| folded.unwrap_or_else(&init)).ended()
    }
}

/// Loops.
impl<T: Send, E: Ending> Grow<'_, T, E> {
    /// Folds every item.
    pub fn fold_unordered<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, T, &Feed<'_, T>) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let fold = |_: &mut (), acc, item, feed: &Feed<'_, T>| Ok::<_, Infallible>(fold(acc, item, feed));
        E::end(self.folded(init, fold, reduce).map(|Ok(folded)| folded))
    }

    /// Calls `f` with every item.
    pub fn for_each(self, f: impl Fn(T, &Feed<'_, T>) + Sync) -> E::Of<()> {
        self.fold_unordered(|| (), |(), item, feed| f(item, feed), |(), ()| ())
    }
}

/// The same loops with a state that each worker keeps, which the closures take first.
impl<T: Send, E: Ending, M: Stateful> Grow<'_, T, E, M> {
    /// Folds every item.
    pub fn fold_unordered<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(&mut M::Worker, A, T, &Feed<'_, T>) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let fold = |state: &mut M::Worker, acc, item, feed: &Feed<'_, T>| Ok::<_, Infallible>(fold(state, acc, item, feed));
        E::end(self.folded(init, fold, reduce).map(|Ok(folded)| folded))
    }

    /// Calls `f` with every item.
    pub fn for_each(self, f: impl Fn(&mut M::Worker, T, &Feed<'_, T>) + Sync) -> E::Of<()> {
        self.fold_unordered(|| (), |state, (), item, feed| f(state, item, feed), |(), ()| ())
    }
}

/// What a worker has in hand.
struct Hand<'f, T, M: State + 'f> {
    feeder: Feeder<'f, T>,
    held: M::Held<'f>,
}

/// Gives each worker its hand.
struct Hands<'f, T, M> {
    list: &'f List<'f, T>,
    states: &'f M,
}

impl<'f, T: Send, M: State> State for Hands<'f, T, M> {
    const MAKES_ITEMS: bool = true;

    type Worker = Hand<'f, T, M>;
    type Held<'s>
        = Hand<'f, T, M>
    where
        Self: 's;

    fn hold(&self, me: usize) -> Hand<'f, T, M> {
        Hand { feeder: Feeder::new(self.list, me), held: self.states.hold(me) }
    }

    fn get<'h>(held: &'h mut Hand<'f, T, M>) -> &'h mut Hand<'f, T, M> {
        held
    }

    fn most(&self) -> usize {
        self.states.most()
    }
}

impl<T, M> state::sealed::Sealed for Hands<'_, T, M> {}
