//! Iterators over the accumulators of a fold, and over items mapped with a state.

use std::{marker::PhantomData, mem, ops::ControlFlow, sync::Mutex};

use rangesteal::{
    On,
    options::{Fresh, OnPool},
    source,
    source::{Chain, Source},
};

use super::{
    ANY_LENGTH, End, Gather, GatherExact, Gathered, IndexedEnd, IndexedParallelIterator, ParallelIterator,
    Try,
    drive::{Fold as Folded, Prunes, gather},
    end::{Behind, Keeps},
    ends::{self, ends},
    lend::ToEnd,
    plumbing::{Begins, Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer},
    shown,
};
use crate::sync::lock;

/// Folds runs of items. The length of a run has bounds.
struct InRuns<ID, F> {
    init: ID,
    op: F,
    lengths: (usize, usize),
    count: Option<usize>,
}

ends!([T, A: Send, ID: Fn() -> A + Sync, F: Fn(A, T) -> A + Sync] InRuns<ID, F>, T => Vec<A>,
    |self, on| {
        let Self { init, op, lengths: (least, most), count } = self;
        let (least, most) = (*least, *most);
        let step = |acc, (_, item): (&mut _, T)| op(acc, item);
        if (least, most) == ANY_LENGTH {
            return on.fold_runs(init, step);
        }
        let least = least.clamp(1, count.unwrap_or(usize::MAX).max(1));
        // Whether blocks of this size leave a last block of at least `least` items.
        let leaves_enough = |block: &usize| {
            count.is_none_or(|count| matches!(count % block, rest if rest == 0 || rest >= least))
        };
        let block = (least..least.saturating_mul(2)).find(leaves_enough).unwrap_or(least);
        let most = (most / block * block).max(block);
        let on = if block > 1 { on.grain(block) } else { on };
        // A run that is full goes into a vector, and the next run begins.
        let step = |(mut full, mut acc, mut len): (Vec<A>, A, usize), item: (&mut _, T)| {
            if len == most {
                full.push(mem::replace(&mut acc, init()));
                len = 0;
            }
            (full, step(acc, item), len + 1)
        };
        let runs = on.fold_runs(|| (Vec::new(), init(), 0), step);
        let in_order = |(mut full, acc, _): (Vec<A>, A, usize)| {
            full.push(acc);
            full
        };
        runs.into_iter().flat_map(in_order).collect()
    },
    |first, second| first.into_iter().chain(second()).collect(),
    {
        fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> Vec<A>
        where
            T: Send,
        {
            let fold = Folded::<_, _, _, _, false> {
                init: &self.init,
                step: |acc, item| Ok((self.op)(acc, item)),
                done: |acc| vec![acc],
                merge: |first, second| self.then(first, || second),
            };
            fold.of(iter, Prunes::Later)
        }
    }
);

/// The accumulators of [`fold`](ParallelIterator::fold).
#[doc(hidden)]
#[derive(Clone)]
pub struct FoldOf<I, ID, F> {
    pub(super) base: I,
    pub(super) init: ID,
    pub(super) op: F,
}
shown!(FoldOf<I, ID, F>);

/// See [`ParallelIterator::fold`].
pub type Fold<I, ID, F> = Gathered<FoldOf<I, ID, F>>;

impl<I, T, ID, F> Gather for FoldOf<I, ID, F>
where
    I: ParallelIterator,
    T: Send,
    ID: Fn() -> T + Sync + Send,
    F: Fn(T, I::Item) -> T + Sync + Send,
{
    type Item = T;

    fn gather(self) -> Vec<T> {
        let (lengths, count) = (self.base.rs_lengths(), self.base.opt_len());
        self.base.rs_run(InRuns { init: self.init, op: self.op, lengths, count })
    }

    /// If any accumulator ends the loop, the loop does not make all of them first. (Only `InRuns`
    /// obeys bounds of lengths exactly.)
    #[track_caller]
    fn rs_run<E: End<T>>(self, end: E) -> E::Out {
        if E::TAKES_ANY && self.base.rs_lengths() == ANY_LENGTH {
            return end.foreign(Gathered(self));
        }
        end.chain(source(self.gather()))
    }

    fn drive<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        let fold = BeforeFold { init: &self.init, op: &self.op, to: consumer };
        self.base.drive_unindexed(fold)
    }
}

/// A fold before a consumer: each part gives the consumer one accumulator.
struct BeforeFold<'f, ID, F, C> {
    init: &'f ID,
    op: &'f F,
    to: C,
}

impl<'f, T, A, ID, F, C> Consumer<T> for BeforeFold<'f, ID, F, C>
where
    ID: Fn() -> A + Sync,
    F: Fn(A, T) -> A + Sync,
    C: UnindexedConsumer<A>,
{
    type Folder = FolderFold<'f, A, F, C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, _: usize) -> (Self, Self, C::Reducer) {
        let Self { init, op, to } = self;
        let (left, reducer) = (to.split_off_left(), to.to_reducer());
        (Self { init, op, to: left }, Self { init, op, to }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        FolderFold { acc: (self.init)(), op: self.op, to: self.to.into_folder() }
    }

    fn full(&self) -> bool {
        self.to.full()
    }
}

impl<T, A, ID, F, C> UnindexedConsumer<T> for BeforeFold<'_, ID, F, C>
where
    ID: Fn() -> A + Sync,
    F: Fn(A, T) -> A + Sync,
    C: UnindexedConsumer<A>,
{
    fn split_off_left(&self) -> Self {
        Self { init: self.init, op: self.op, to: self.to.split_off_left() }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.to.to_reducer()
    }
}

/// The folder of [`BeforeFold`], and the accumulator of its part.
struct FolderFold<'f, A, F, C> {
    acc: A,
    op: &'f F,
    to: C,
}

impl<T, A, F: Fn(A, T) -> A, C: Folder<A>> Folder<T> for FolderFold<'_, A, F, C> {
    type Result = C::Result;

    #[inline(always)]
    fn consume(mut self, item: T) -> Self {
        self.acc = (self.op)(self.acc, item);
        self
    }

    fn complete(self) -> C::Result {
        self.to.consume(self.acc).complete()
    }

    #[inline(always)]
    fn full(&self) -> bool {
        self.to.full()
    }
}

/// The accumulators of [`fold_with`](ParallelIterator::fold_with).
#[doc(hidden)]
#[derive(Clone)]
pub struct FoldWithOf<I, T, F> {
    pub(super) base: I,
    pub(super) init: T,
    pub(super) op: F,
}
shown!(FoldWithOf<I, T, F>);

impl<I, T: Send + Clone, F> FoldWithOf<I, T, F> {
    /// Each part clones the accumulator.
    fn fold(self) -> FoldOf<I, impl Fn() -> T + Sync + Send, F> {
        FoldOf { base: self.base, init: cloned_from(self.init), op: self.op }
    }
}

/// See [`ParallelIterator::fold_with`].
pub type FoldWith<I, T, F> = Gathered<FoldWithOf<I, T, F>>;

impl<I, T, F> Gather for FoldWithOf<I, T, F>
where
    I: ParallelIterator,
    T: Send + Clone,
    F: Fn(T, I::Item) -> T + Sync + Send,
{
    type Item = T;

    fn gather(self) -> Vec<T> {
        self.fold().gather()
    }

    #[track_caller]
    fn rs_run<E: End<T>>(self, end: E) -> E::Out {
        self.fold().rs_run(end)
    }

    fn drive<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        self.fold().drive(consumer)
    }
}

/// A closure that returns clones of `value`. A lock guards the value, since `T` need not be `Sync`.
pub(super) fn cloned_from<T: Send + Clone>(value: T) -> impl Fn() -> T + Sync + Send {
    let value = Mutex::new(value);
    move || lock(&value).clone()
}

/// The accumulators of [`try_fold`](ParallelIterator::try_fold).
#[doc(hidden)]
#[derive(Clone)]
pub struct TryFoldOf<I, R, ID, F> {
    pub(super) base: I,
    pub(super) init: ID,
    pub(super) op: F,
    pub(super) of: PhantomData<R>,
}
shown!(TryFoldOf<I, R, ID, F>);

/// See [`ParallelIterator::try_fold`].
pub type TryFold<I, R, ID, F> = Gathered<TryFoldOf<I, R, ID, F>>;

impl<I, R, ID, F> Gather for TryFoldOf<I, R, ID, F>
where
    I: ParallelIterator,
    R: Try + Send,
    ID: Fn() -> R::Output + Sync + Send,
    F: Fn(R::Output, I::Item) -> R + Sync + Send,
{
    type Item = R;

    fn gather(self) -> Vec<R> {
        if self.base.rs_lengths() == ANY_LENGTH {
            return gather(Gathered(self));
        }
        let Self { base, init, op, .. } = self;
        let init = move || R::from_output(init());
        let op = move |acc: R, item| match acc.branch() {
            ControlFlow::Continue(acc) => op(acc, item),
            ControlFlow::Break(why) => R::from_residual(why),
        };
        FoldOf { base, init, op }.gather()
    }

    /// Each run ends with its first failure, and all runs end with the loop. (Only `InRuns` obeys
    /// bounds of lengths exactly.)
    #[track_caller]
    fn rs_run<E: End<R>>(self, end: E) -> E::Out {
        if self.base.rs_lengths() == ANY_LENGTH {
            return end.foreign(Gathered(self));
        }
        end.chain(source(self.gather()))
    }

    fn drive<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        let fold = BeforeTryFold { init: &self.init, op: &self.op, to: consumer, of: PhantomData };
        self.base.drive_unindexed(fold)
    }
}

/// A fold before a consumer: each part gives the consumer one accumulator. A part ends with its
/// first failure.
struct BeforeTryFold<'f, R, ID, F, C> {
    init: &'f ID,
    op: &'f F,
    to: C,
    of: PhantomData<fn() -> R>,
}

impl<'f, T, R, ID, F, C> Consumer<T> for BeforeTryFold<'f, R, ID, F, C>
where
    R: Try,
    ID: Fn() -> R::Output + Sync,
    F: Fn(R::Output, T) -> R + Sync,
    C: UnindexedConsumer<R>,
{
    type Folder = FolderTryFold<'f, R, F, C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, _: usize) -> (Self, Self, C::Reducer) {
        let (left, reducer) = (self.to.split_off_left(), self.to.to_reducer());
        (Self { to: left, ..self }, self, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        let acc = ControlFlow::Continue((self.init)());
        FolderTryFold { acc, op: self.op, to: self.to.into_folder() }
    }

    fn full(&self) -> bool {
        self.to.full()
    }
}

impl<T, R, ID, F, C> UnindexedConsumer<T> for BeforeTryFold<'_, R, ID, F, C>
where
    R: Try,
    ID: Fn() -> R::Output + Sync,
    F: Fn(R::Output, T) -> R + Sync,
    C: UnindexedConsumer<R>,
{
    fn split_off_left(&self) -> Self {
        Self { to: self.to.split_off_left(), ..*self }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.to.to_reducer()
    }
}

/// The folder of [`BeforeTryFold`], and the accumulator of its part, or why the part has ended.
struct FolderTryFold<'f, R: Try, F, C> {
    acc: ControlFlow<R::Residual, R::Output>,
    op: &'f F,
    to: C,
}

impl<T, R: Try, F: Fn(R::Output, T) -> R, C: Folder<R>> Folder<T> for FolderTryFold<'_, R, F, C> {
    type Result = C::Result;

    #[inline(always)]
    fn consume(mut self, item: T) -> Self {
        if let ControlFlow::Continue(acc) = self.acc {
            self.acc = (self.op)(acc, item).branch();
        }
        self
    }

    /// As `consume`, with the accumulator in registers.
    #[inline(always)]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let Self { acc, op, to } = self;
        let mut acc = match acc {
            ControlFlow::Continue(acc) => acc,
            ControlFlow::Break(_) => return Self { acc, op, to },
        };
        for item in iter {
            match op(acc, item).branch() {
                ControlFlow::Continue(next) => acc = next,
                ended @ ControlFlow::Break(_) => return Self { acc: ended, op, to },
            }
            if to.full() {
                break;
            }
        }
        Self { acc: ControlFlow::Continue(acc), op, to }
    }

    fn complete(self) -> C::Result {
        let made = match self.acc {
            ControlFlow::Continue(acc) => R::from_output(acc),
            ControlFlow::Break(why) => R::from_residual(why),
        };
        self.to.consume(made).complete()
    }

    #[inline(always)]
    fn full(&self) -> bool {
        self.acc.is_break() || self.to.full()
    }
}

/// The accumulators of [`try_fold_with`](ParallelIterator::try_fold_with).
#[doc(hidden)]
#[derive(Clone)]
pub struct TryFoldWithOf<I, R: Try, F> {
    pub(super) base: I,
    pub(super) init: R::Output,
    pub(super) op: F,
}

impl<I, R: Try, F> std::fmt::Debug for TryFoldWithOf<I, R, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TryFoldWithOf").finish_non_exhaustive()
    }
}

impl<I, R: Try<Output: Send + Clone>, F> TryFoldWithOf<I, R, F> {
    /// Each part clones the accumulator.
    fn fold(self) -> TryFoldOf<I, R, impl Fn() -> R::Output + Sync + Send, F> {
        TryFoldOf { base: self.base, init: cloned_from(self.init), op: self.op, of: PhantomData }
    }
}

/// See [`ParallelIterator::try_fold_with`].
pub type TryFoldWith<I, R, F> = Gathered<TryFoldWithOf<I, R, F>>;

impl<I, R, F> Gather for TryFoldWithOf<I, R, F>
where
    I: ParallelIterator,
    R: Try + Send,
    R::Output: Send + Clone,
    F: Fn(R::Output, I::Item) -> R + Sync + Send,
{
    type Item = R;

    fn gather(self) -> Vec<R> {
        self.fold().gather()
    }

    #[track_caller]
    fn rs_run<E: End<R>>(self, end: E) -> E::Out {
        self.fold().rs_run(end)
    }

    fn drive<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        self.fold().drive(consumer)
    }
}

/// A stage that maps items with a state that each worker makes, and the end behind the stage.
struct ThenInit<ID, F, E> {
    init: ID,
    op: F,
    end: E,
}

impl<T, S, R: Send, ID, F, E> End<T> for ThenInit<ID, F, E>
where
    ID: Fn() -> S + Sync,
    F: Fn(&mut S, T) -> R + Sync,
    E: End<R>,
{
    type Out = E::Out;
    type Kept = (S, E::Kept);

    fn keep(&self) -> Self::Kept {
        ((self.init)(), self.end.keep())
    }

    #[track_caller]
    fn run<C, G, W, L>(&self, on: On<C, OnPool<'_>>, kept: L) -> E::Out
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
        L: Keeps<W, Self::Kept>,
    {
        let mapped = on.map(|(state, item)| kept.with(state, |(state, _)| (self.op)(state, item)));
        self.end.run(mapped, Behind::<_, S>::new(kept))
    }

    #[track_caller]
    fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> E::Out
    where
        T: Send,
    {
        self.end.foreign(Gathered(MapInitOf { base: iter, init: &self.init, op: &self.op }))
    }

    fn then(&self, first: E::Out, second: impl FnOnce() -> E::Out) -> E::Out {
        self.end.then(first, second)
    }
}

/// The same stage before a consumer of items of another crate's iterator: each part makes a state.
struct BeforeInit<'f, ID, F, C> {
    init: &'f ID,
    op: &'f F,
    to: C,
}

impl<'f, T, S, R, ID, F, C> Consumer<T> for BeforeInit<'f, ID, F, C>
where
    ID: Fn() -> S + Sync,
    F: Fn(&mut S, T) -> R + Sync,
    C: Consumer<R>,
{
    type Folder = FolderInit<'f, S, F, C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let Self { init, op, to } = self;
        let (left, right, reducer) = to.split_at(index);
        (Self { init, op, to: left }, Self { init, op, to: right }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        FolderInit { state: (self.init)(), op: self.op, to: self.to.into_folder() }
    }

    fn full(&self) -> bool {
        self.to.full()
    }

    fn rs_begins(&self) -> Begins {
        self.to.rs_begins()
    }

    fn rs_into_backward_folder(self) -> Self::Folder {
        FolderInit { state: (self.init)(), op: self.op, to: self.to.rs_into_backward_folder() }
    }
}

impl<T, S, R, ID, F, C> UnindexedConsumer<T> for BeforeInit<'_, ID, F, C>
where
    ID: Fn() -> S + Sync,
    F: Fn(&mut S, T) -> R + Sync,
    C: UnindexedConsumer<R>,
{
    fn split_off_left(&self) -> Self {
        Self { init: self.init, op: self.op, to: self.to.split_off_left() }
    }

    fn rs_split_off_right(&self) -> Self {
        Self { init: self.init, op: self.op, to: self.to.rs_split_off_right() }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.to.to_reducer()
    }
}

/// The folder of [`BeforeInit`], and the state of its part.
struct FolderInit<'f, S, F, C> {
    state: S,
    op: &'f F,
    to: C,
}

impl<T, S, R, F: Fn(&mut S, T) -> R, C: Folder<R>> Folder<T> for FolderInit<'_, S, F, C> {
    type Result = C::Result;

    #[inline(always)]
    fn consume(mut self, item: T) -> Self {
        self.to = self.to.consume((self.op)(&mut self.state, item));
        self
    }

    fn complete(self) -> C::Result {
        self.to.complete()
    }

    #[inline(always)]
    fn full(&self) -> bool {
        self.to.full()
    }
}

/// The items of [`map_init`](ParallelIterator::map_init).
#[doc(hidden)]
#[derive(Clone)]
pub struct MapInitOf<I, ID, F> {
    pub(super) base: I,
    pub(super) init: ID,
    pub(super) op: F,
}
shown!(MapInitOf<I, ID, F>);

/// See [`ParallelIterator::map_init`].
pub type MapInit<I, ID, F> = Gathered<MapInitOf<I, ID, F>>;

impl<I, W, R, ID, F> Gather for MapInitOf<I, ID, F>
where
    I: ParallelIterator,
    R: Send,
    ID: Fn() -> W + Sync + Send,
    F: Fn(&mut W, I::Item) -> R + Sync + Send,
{
    type Item = R;

    fn gather(self) -> Vec<R> {
        ends::gathered!(self.known_len(), |end| self.rs_run(end))
    }

    #[track_caller]
    fn rs_run<E: End<R>>(self, end: E) -> E::Out {
        self.base.rs_run(ThenInit { init: self.init, op: self.op, end })
    }

    fn drive<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(BeforeInit { init: &self.init, op: &self.op, to: consumer })
    }

    fn known_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, W, R, ID, F> GatherExact for MapInitOf<I, ID, F>
where
    I: IndexedParallelIterator,
    R: Send,
    ID: Fn() -> W + Sync + Send,
    F: Fn(&mut W, I::Item) -> R + Sync + Send,
{
    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<R>>(self, end: E) -> E::Out {
        let len = self.base.len();
        self.lend(ToEnd { len, end })
    }

    fn lend<CB: ProducerCallback<R>>(self, callback: CB) -> CB::Output {
        let Self { base, init, op } = self;
        base.with_producer(WithInit { init: &init, op: &op, to: callback })
    }
}

/// Receives the producer of the items before a stage that maps them with a state.
struct WithInit<'f, ID, F, CB> {
    init: &'f ID,
    op: &'f F,
    to: CB,
}

impl<T, S, R, ID, F, CB> ProducerCallback<T> for WithInit<'_, ID, F, CB>
where
    ID: Fn() -> S + Sync,
    F: Fn(&mut S, T) -> R + Sync,
    CB: ProducerCallback<R>,
{
    type Output = CB::Output;

    fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
        let Self { init, op, to } = self;
        to.callback(BehindInit { base, init, op })
    }
}

/// The items behind the stage: each part makes a state.
struct BehindInit<'f, P, ID, F> {
    base: P,
    init: &'f ID,
    op: &'f F,
}

impl<'f, P, S, R, ID, F> Producer for BehindInit<'f, P, ID, F>
where
    P: Producer,
    ID: Fn() -> S + Sync,
    F: Fn(&mut S, P::Item) -> R + Sync,
{
    type Item = R;
    type IntoIter = WithState<'f, S, F, P::IntoIter>;

    fn into_iter(self) -> Self::IntoIter {
        WithState { state: (self.init)(), op: self.op, items: self.base.into_iter() }
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    fn max_len(&self) -> usize {
        self.base.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let Self { base, init, op } = self;
        let (first, second) = base.split_at(index);
        (Self { base: first, init, op }, Self { base: second, init, op })
    }

    fn fold_with<G: Folder<R>>(self, folder: G) -> G {
        self.base.fold_with(FolderInit { state: (self.init)(), op: self.op, to: folder }).to
    }
}

/// The items of an iterator, mapped with a state.
struct WithState<'f, S, F, I> {
    state: S,
    op: &'f F,
    items: I,
}

impl<S, R, I: Iterator, F: Fn(&mut S, I::Item) -> R> Iterator for WithState<'_, S, F, I> {
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        let item = self.items.next()?;
        Some((self.op)(&mut self.state, item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }

    #[inline]
    fn fold<A, G: FnMut(A, R) -> A>(self, acc: A, mut f: G) -> A {
        let Self { mut state, op, items } = self;
        items.fold(acc, |acc, item| f(acc, op(&mut state, item)))
    }
}

impl<S, R, I: DoubleEndedIterator, F: Fn(&mut S, I::Item) -> R> DoubleEndedIterator
    for WithState<'_, S, F, I>
{
    #[inline]
    fn next_back(&mut self) -> Option<R> {
        let item = self.items.next_back()?;
        Some((self.op)(&mut self.state, item))
    }
}

impl<S, R, I: ExactSizeIterator, F: Fn(&mut S, I::Item) -> R> ExactSizeIterator for WithState<'_, S, F, I> {}

/// The items of [`map_with`](ParallelIterator::map_with).
#[doc(hidden)]
#[derive(Clone)]
pub struct MapWithOf<I, W, F> {
    pub(super) base: I,
    pub(super) init: W,
    pub(super) op: F,
}
shown!(MapWithOf<I, W, F>);

impl<I, W: Send + Clone, F> MapWithOf<I, W, F> {
    /// Each worker clones the state.
    fn init(self) -> MapInitOf<I, impl Fn() -> W + Sync + Send, F> {
        MapInitOf { base: self.base, init: cloned_from(self.init), op: self.op }
    }
}

/// See [`ParallelIterator::map_with`].
pub type MapWith<I, W, F> = Gathered<MapWithOf<I, W, F>>;

impl<I, W, R, F> Gather for MapWithOf<I, W, F>
where
    I: ParallelIterator,
    R: Send,
    W: Send + Clone,
    F: Fn(&mut W, I::Item) -> R + Sync + Send,
{
    type Item = R;

    fn gather(self) -> Vec<R> {
        self.init().gather()
    }

    #[track_caller]
    fn rs_run<E: End<R>>(self, end: E) -> E::Out {
        self.init().rs_run(end)
    }

    fn drive<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        self.init().drive(consumer)
    }

    fn known_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, W, R, F> GatherExact for MapWithOf<I, W, F>
where
    I: IndexedParallelIterator,
    R: Send,
    W: Send + Clone,
    F: Fn(&mut W, I::Item) -> R + Sync + Send,
{
    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<R>>(self, end: E) -> E::Out {
        self.init().rs_run_indexed(end)
    }

    fn lend<CB: ProducerCallback<R>>(self, callback: CB) -> CB::Output {
        self.init().lend(callback)
    }
}

/// The stage of [`fold_chunks`](IndexedParallelIterator::fold_chunks): folds each `size` items.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct FoldPieces<ID, F> {
    pub(super) size: usize,
    pub(super) init: ID,
    pub(super) op: F,
}
shown!(FoldPieces<ID, F>);

/// See [`IndexedParallelIterator::fold_chunks`].
pub type FoldChunks<I, ID, F> = super::Placed<I, FoldPieces<ID, F>>;

impl<T: Send, A: Send, ID: Fn() -> A + Sync, F: Fn(A, T) -> A + Sync> super::IndexedStage<T>
    for FoldPieces<ID, F>
{
    type Made = A;

    fn behind<S: Source<Item = T> + Sync>(self, source: S) -> impl Source<Item = A> + Sync {
        let Self { size, init, op } = self;
        let pieces = self::source(source).map(|item| item).chunks(size);
        pieces.map(move |piece| piece.into_iter().fold(init(), &op))
    }

    fn count(&self, count: usize) -> usize {
        count.div_ceil(self.size)
    }
}

/// The stage of [`fold_chunks_with`](IndexedParallelIterator::fold_chunks_with): folds each `size`
/// items into a clone of `init`.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct FoldPiecesWith<A, F> {
    pub(super) size: usize,
    pub(super) init: A,
    pub(super) op: F,
}
shown!(FoldPiecesWith<A, F>);

/// See [`IndexedParallelIterator::fold_chunks_with`].
pub type FoldChunksWith<I, A, F> = super::Placed<I, FoldPiecesWith<A, F>>;

impl<T: Send, A: Send + Clone, F: Fn(A, T) -> A + Sync> super::IndexedStage<T> for FoldPiecesWith<A, F> {
    type Made = A;

    fn behind<S: Source<Item = T> + Sync>(self, source: S) -> impl Source<Item = A> + Sync {
        FoldPieces { size: self.size, init: cloned_from(self.init), op: self.op }.behind(source)
    }

    fn count(&self, count: usize) -> usize {
        count.div_ceil(self.size)
    }
}
