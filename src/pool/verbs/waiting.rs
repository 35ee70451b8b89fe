//! Loops whose items wait.

use std::convert::Infallible;

use super::{
    collect::{Written, in_place},
    on::{Ending, On, Uncancellable},
    source::Source,
    state::{State, Stateless},
};

/// A loop whose items wait, now and then, for something that is not a CPU.
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct Waiting<'p, S, E = Uncancellable, M = Stateless> {
    on: On<'p, S, E, M>,
    limit: usize,
}

impl<'p, S: Source, E: Ending, M: State> Waiting<'p, S, E, M> {
    pub(super) fn new(on: On<'p, S, E, M>, limit: usize) -> Self {
        Self { on, limit }
    }
}

/// Loops.
impl<S: Source, E: Ending, M: State> Waiting<'_, S, E, M> {
    /// Calls `f` with every item.
    pub fn for_each<F: Future<Output = ()> + Send>(self, f: impl Fn(S::Item) -> F + Sync) -> E::Of<()> {
        let Self { on, limit } = self;
        let folded = on.attend(limit, |_, item| f(item), |_, _, ()| Ok::<_, Infallible>(()), |(), ()| ());
        E::end(folded.map(drop).through())
    }

    /// Maps every item, and reduces the results in the order of the slice.
    pub fn map_reduce<R: Send, F: Future<Output = R> + Send>(
        self,
        map: impl Fn(S::Item) -> F + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Option<R>> {
        let Self { on, limit } = self;
        let done = |acc: Option<R>, _, result| {
            Ok::<_, Infallible>(match acc {
                Some(acc) => reduce(acc, result),
                None => result,
            })
        };
        E::end(on.attend(limit, |_, item| map(item), done, &reduce).through())
    }

    /// Folds.
    pub fn fold_reduce<A: Send, F: Future<Output = A> + Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, S::Item) -> F + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let Self { on, limit } = self;
        let make = |acc: &mut Option<A>, item| fold(acc.take().unwrap_or_else(&init), item);
        let folded = on.attend(limit, make, |_, _, acc| Ok::<_, Infallible>(acc), reduce);
        E::end(folded.map(|folded| folded.unwrap_or_else(&init)).through())
    }

    /// Maps every item into a `Vec`, in the order of the slice.
    pub fn map_collect<R: Send, F: Future<Output = R> + Send>(
        self,
        map: impl Fn(S::Item) -> F + Sync,
    ) -> E::Of<Vec<R>> {
        let Self { on, limit } = self;
        let collected = in_place(on.count(), |places| {
            let none = || Written::none(places);
            let folded = on.attend(
                limit,
                |_, item| map(item),
                move |written, index, result| {
                    Ok::<_, Infallible>(written.unwrap_or_else(none).put(index, result))
                },
                Written::join,
            );
            folded.map(|written| written.unwrap_or_else(none)).through().ok_or(())
        });
        E::end(collected.ok())
    }

    /// The same with errors.
    pub fn try_for_each<Z: Send, F: Future<Output = Result<(), Z>> + Send>(
        self,
        f: impl Fn(S::Item) -> F + Sync,
    ) -> E::Of<Result<(), Z>> {
        let Self { on, limit } = self;
        let folded = on.attend(limit, |_, item| f(item), |_, _, result| result, |(), ()| ());
        E::end(folded.map(drop).ended())
    }

    /// The same with errors.
    pub fn try_map_reduce<R: Send, Z: Send, F: Future<Output = Result<R, Z>> + Send>(
        self,
        map: impl Fn(S::Item) -> F + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Result<Option<R>, Z>> {
        let Self { on, limit } = self;
        let done = |acc: Option<R>, _, result: Result<R, Z>| {
            Ok(match acc {
                Some(acc) => reduce(acc, result?),
                None => result?,
            })
        };
        E::end(on.attend(limit, |_, item| map(item), done, &reduce).ended())
    }

    /// The same with errors.
    pub fn try_map_collect<R: Send, Z: Send, F: Future<Output = Result<R, Z>> + Send>(
        self,
        map: impl Fn(S::Item) -> F + Sync,
    ) -> E::Of<Result<Vec<R>, Z>> {
        let Self { on, limit } = self;
        let collected = in_place(on.count(), |places| {
            let none = || Written::none(places);
            let folded = on.attend(
                limit,
                |_, item| map(item),
                move |written, index, result: Result<R, Z>| {
                    Ok(written.unwrap_or_else(none).put(index, result?))
                },
                Written::join,
            );
            let folded = folded.map(|written| written.unwrap_or_else(none)).ended();
            folded.ok_or(None)?.map_err(Some)
        });
        E::end(match collected {
            Ok(collected) => Some(Ok(collected)),
            Err(Some(found)) => Some(Err(found)),
            Err(None) => None,
        })
    }
}
