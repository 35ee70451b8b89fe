//! Our stages and ends as consumers of the items of others' iterators.

use std::{
    cell::Cell,
    marker::PhantomData,
    mem,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use rangesteal::{
    source,
    source::{Target, append_to_target},
};

use super::{
    ParallelIterator, Stage,
    plumbing::{Begins, Consumer, Folder, Reducer, UnindexedConsumer},
};
use crate::pool::{current, on};

/// A stage before a consumer or a folder.
pub(crate) struct Before<'s, G, C>(pub(crate) &'s G, pub(crate) C);

impl<'s, T, G: Stage<T> + Sync, C: Consumer<G::Made>> Consumer<T> for Before<'s, G, C> {
    type Folder = Before<'s, G, C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.1.split_at(index);
        (Self(self.0, left), Self(self.0, right), reducer)
    }

    fn into_folder(self) -> Self::Folder {
        Before(self.0, self.1.into_folder())
    }

    fn full(&self) -> bool {
        self.0.has_ended() || self.1.full()
    }

    fn rs_goes_on(&self) -> bool {
        self.1.rs_goes_on()
    }

    /// The items that the stage makes of one item are not reversed.
    fn rs_begins(&self) -> Begins {
        match self.1.rs_begins() {
            Begins::AtLastItem if !G::ONE_AT_MOST => Begins::AtLastPart,
            begins => begins,
        }
    }

    fn rs_into_backward_folder(self) -> Self::Folder {
        Before(self.0, self.1.rs_into_backward_folder())
    }
}

impl<T, G: Stage<T> + Sync, C: UnindexedConsumer<G::Made>> UnindexedConsumer<T> for Before<'_, G, C> {
    fn split_off_left(&self) -> Self {
        Self(self.0, self.1.split_off_left())
    }

    fn rs_split_off_right(&self) -> Self {
        Self(self.0, self.1.rs_split_off_right())
    }

    fn to_reducer(&self) -> C::Reducer {
        self.1.to_reducer()
    }
}

impl<T, G: Stage<T>, F: Folder<G::Made>> Folder<T> for Before<'_, G, F> {
    type Result = F::Result;

    #[inline(always)]
    fn consume(self, item: T) -> Self {
        Self(self.0, self.0.feed_to(item, self.1))
    }

    /// Passes all items on at once if each makes one. Other stages may leave out endlessly many,
    /// and the folder may be full meanwhile.
    #[inline(always)]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        if const { G::ONE_EACH } {
            let one = |item| {
                let made = self.0.feed(item, None, |_, made| Ok(Some(made)));
                let (Ok(Some(made)) | Err(Some(made))) = made else {
                    unreachable!("the stage makes one of each")
                };
                made
            };
            return Self(self.0, self.1.consume_iter(iter.into_iter().map(one)));
        }
        Self(self.0, self.0.feed_all(iter.into_iter(), self.1))
    }

    fn complete(self) -> F::Result {
        self.1.complete()
    }

    #[inline(always)]
    fn full(&self) -> bool {
        self.0.has_ended() || self.1.full()
    }
}

/// Which parts of a loop no longer matter once the fold of one part has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prunes {
    /// Those behind it.
    Later,
    /// Those before it. A part goes on to its last item, unless it receives its items in reverse.
    Earlier,
    /// All.
    All,
}

/// How items are folded: each part of the loop into an accumulator, which becomes the result of the
/// part. If `MAY_END`, an item may end the fold.
pub(super) struct Fold<I, F, D, M, const MAY_END: bool> {
    pub(super) init: I,
    /// Returns an `Err` if the fold ends with this item.
    pub(super) step: F,
    pub(super) done: D,
    /// Merges the results of two neighbouring parts.
    pub(super) merge: M,
}

/// The closures of a [`Fold`].
trait Folds<T>: Sync {
    type Acc;
    type Result: Send;
    const MAY_END: bool;

    fn init(&self) -> Self::Acc;
    fn step(&self, acc: Self::Acc, item: T) -> Result<Self::Acc, Self::Acc>;
    fn done(&self, acc: Self::Acc) -> Self::Result;
    fn merge(&self, left: Self::Result, right: Self::Result) -> Self::Result;
}

impl<T, A, R, I, F, D, M, const MAY_END: bool> Folds<T> for Fold<I, F, D, M, MAY_END>
where
    R: Send,
    I: Fn() -> A + Sync,
    F: Fn(A, T) -> Result<A, A> + Sync,
    D: Fn(A) -> R + Sync,
    M: Fn(R, R) -> R + Sync,
{
    type Acc = A;
    type Result = R;
    const MAY_END: bool = MAY_END;

    fn init(&self) -> A {
        (self.init)()
    }

    #[inline(always)]
    fn step(&self, acc: A, item: T) -> Result<A, A> {
        (self.step)(acc, item)
    }

    fn done(&self, acc: A) -> R {
        (self.done)(acc)
    }

    fn merge(&self, left: R, right: R) -> R {
        (self.merge)(left, right)
    }
}

/// A fold of all items, whose accumulators are the results.
pub(super) fn through<T, R, I, F, M>(init: I, step: F, merge: M) -> Fold<I, F, fn(R) -> R, M, false>
where
    I: Fn() -> R,
    F: Fn(R, T) -> Result<R, R>,
{
    Fold { init, step, done: |acc| acc, merge }
}

/// A fold of items until the first `Err`, whose accumulators are the results.
pub(super) fn until<T, R, I, F, M>(init: I, step: F, merge: M) -> Fold<I, F, fn(R) -> R, M, true>
where
    I: Fn() -> R,
    F: Fn(R, T) -> Result<R, R>,
{
    Fold { init, step, done: |acc| acc, merge }
}

impl<I, F, D, M, const MAY_END: bool> Fold<I, F, D, M, MAY_END> {
    /// Folds the items of an iterator.
    pub(super) fn of<T, A, R, P>(self, iter: P, prunes: Prunes) -> R
    where
        P: ParallelIterator<Item = T>,
        R: Send,
        I: Fn() -> A + Sync,
        F: Fn(A, T) -> Result<A, A> + Sync,
        D: Fn(A) -> R + Sync,
        M: Fn(R, R) -> R + Sync,
    {
        let ended = AtomicUsize::new(usize::MAX);
        let place = Cell::new((0, usize::MAX - 1));
        iter.drive_unindexed(FoldPart { fold: &self, prunes, ended: &ended, place })
    }
}

/// A part of a loop that folds items.
struct FoldPart<'f, F> {
    fold: &'f F,
    prunes: Prunes,
    /// The least place of a part whose fold has ended. Relaxed: a part that sees it late folds more
    /// items than it need.
    ended: &'f AtomicUsize,
    /// The first and the last place of the part. Parts that matter less have higher places. When
    /// there are no places left, several parts have the same one, and none prunes another.
    place: Cell<(usize, usize)>,
}

impl<F> FoldPart<'_, F> {
    fn part(&self, place: (usize, usize)) -> Self {
        Self { place: Cell::new(place), ..*self }
    }

    /// Splits off a part that matters more, or less, than what is left.
    fn split_off(&self, matters_more: bool) -> Self {
        let (first, last) = self.place.get();
        let middle = first + (last - first) / 2;
        let (lower, upper) = ((first, middle), ((middle + 1).min(last), last));
        let (off, rest) = if matters_more { (lower, upper) } else { (upper, lower) };
        self.place.set(rest);
        self.part(off)
    }

    /// Splits off the left half.
    fn left(&self) -> Self {
        self.split_off(self.prunes != Prunes::Earlier)
    }

    /// Whether the fold of another part makes this part needless.
    #[inline(always)]
    fn is_pruned(&self) -> bool {
        self.ended.load(Relaxed) < self.limit()
    }

    /// The part is needless if the fold of a part before this place has ended.
    fn limit(&self) -> usize {
        if self.prunes == Prunes::All { usize::MAX } else { self.place.get().0 }
    }

    /// Notes that the fold of this part has ended. Returns whether the part ends, too.
    fn end(&self) -> bool {
        self.ended.fetch_min(self.place.get().0, Relaxed);
        self.prunes != Prunes::Earlier
    }
}

impl<'f, T, F: Folds<T>> Consumer<T> for FoldPart<'f, F> {
    type Folder = Folding<'f, F, F::Acc>;
    type Reducer = Merge<'f, F, T>;
    type Result = F::Result;

    fn split_at(self, _: usize) -> (Self, Self, Merge<'f, F, T>) {
        (self.left(), self.part(self.place.get()), Merge(self.fold, PhantomData))
    }

    fn into_folder(self) -> Self::Folder {
        Folding { acc: self.fold.init(), has_ended: false, part: self }
    }

    fn full(&self) -> bool {
        F::MAY_END && self.is_pruned()
    }

    fn rs_goes_on(&self) -> bool {
        true
    }

    fn rs_begins(&self) -> Begins {
        if self.prunes == Prunes::Earlier { Begins::AtLastItem } else { Begins::AtFirst }
    }

    /// In reverse, the item that ends the fold prunes what comes later in time.
    fn rs_into_backward_folder(self) -> Self::Folder {
        Self { prunes: Prunes::Later, ..self }.into_folder()
    }
}

impl<T, F: Folds<T>> UnindexedConsumer<T> for FoldPart<'_, F> {
    fn split_off_left(&self) -> Self {
        self.left()
    }

    fn rs_split_off_right(&self) -> Self {
        self.split_off(true)
    }

    fn to_reducer(&self) -> Self::Reducer {
        Merge(self.fold, PhantomData)
    }
}

/// The fold of a part.
struct Folding<'f, F, A> {
    acc: A,
    has_ended: bool,
    part: FoldPart<'f, F>,
}

impl<T, F: Folds<T>> Folder<T> for Folding<'_, F, F::Acc> {
    type Result = F::Result;

    /// A part that has ended takes no more items: another crate's producer need not ask `full`.
    #[inline(always)]
    fn consume(mut self, item: T) -> Self {
        if F::MAY_END && self.has_ended {
            return self;
        }
        match self.part.fold.step(self.acc, item) {
            Ok(acc) => self.acc = acc,
            Err(acc) => {
                self.acc = acc;
                self.has_ended = self.part.end();
            }
        }
        self
    }

    /// As `consume`, with the accumulator in registers.
    #[inline(always)]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let Self { mut acc, mut has_ended, part } = self;
        if !F::MAY_END {
            let step = |acc, item| {
                let (Ok(acc) | Err(acc)) = part.fold.step(acc, item);
                acc
            };
            return Self { acc: iter.into_iter().fold(acc, step), has_ended, part };
        }
        let (ended, limit) = (part.ended, part.limit());
        if has_ended {
            return Self { acc, has_ended, part };
        }
        for item in iter {
            match part.fold.step(acc, item) {
                Ok(next) => acc = next,
                Err(last) => {
                    acc = last;
                    has_ended = part.end();
                }
            }
            if has_ended || ended.load(Relaxed) < limit {
                break;
            }
        }
        Self { acc, has_ended, part }
    }

    fn complete(self) -> F::Result {
        self.part.fold.done(self.acc)
    }

    #[inline(always)]
    fn full(&self) -> bool {
        F::MAY_END && (self.has_ended || self.part.is_pruned())
    }
}

/// Merges the results of two parts of a loop over items `T`.
struct Merge<'f, F, T>(&'f F, PhantomData<fn(T)>);

impl<T, F: Folds<T>> Reducer<F::Result> for Merge<'_, F, T> {
    fn reduce(self, left: F::Result, right: F::Result) -> F::Result {
        self.0.merge(left, right)
    }
}

/// Appends the items of an iterator to a vector. If their number is known, each item is written to
/// its final place. Otherwise each part fills a vector of its own.
pub(super) fn append<I: ParallelIterator>(iter: I, to: &mut Vec<I::Item>) {
    if let Some(len) = iter.opt_len() {
        return append_to_target(to, len, |target| iter.drive_unindexed(Places(target)));
    }
    let step = |mut part: Box<Pieces<_>>, item| {
        part.push(item);
        Ok(part)
    };
    let merge = |mut a: Box<Pieces<_>>, b: Box<Pieces<_>>| {
        a.append(*b);
        a
    };
    let all = through(Box::default, step, merge).of(iter, Prunes::Later);
    concat(all.all(), to);
}

/// The items of a part, in vectors that do not grow beyond some 64 kB, so that none is copied
/// often. A fold has its pieces in a box: it moves its accumulator for each item.
pub(super) struct Pieces<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

const fn at_least_one(count: usize) -> usize {
    if count == 0 { 1 } else { count }
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::new() }
    }
}

impl<T> Pieces<T> {
    /// In items: a piece of this length does not grow any more. About 32 kB.
    const LARGE: usize = at_least_one((1 << 15) / at_least_one(size_of::<T>()));
    /// In items: the room that a piece begins with. About 1 kB: the allocator has such blocks at
    /// hand, and a short part needs no other one.
    const FIRST: usize = at_least_one((1 << 10) / at_least_one(size_of::<T>()));

    #[inline(always)]
    pub(super) fn push(&mut self, item: T) {
        if self.last.len() == self.last.capacity() {
            self.make_room();
        }
        self.last.push(item);
    }

    #[cold]
    fn make_room(&mut self) {
        if self.last.len() >= Self::LARGE {
            let next = Vec::with_capacity(2 * Self::LARGE);
            self.full.push(mem::replace(&mut self.last, next));
        } else if self.last.is_empty() {
            self.last.reserve_exact(Self::FIRST);
        }
    }

    /// Appends the pieces of the next part. A part of few items becomes no piece of its own.
    fn append(&mut self, mut next: Self) {
        if self.full.is_empty() && self.last.is_empty() {
            *self = next;
            return;
        }
        if next.full.is_empty() && self.last.len() + next.last.len() <= Self::LARGE {
            self.last.append(&mut next.last);
            return;
        }
        self.full.push(mem::replace(&mut self.last, next.last));
        self.full.append(&mut next.full);
    }

    fn all(mut self) -> Vec<Vec<T>> {
        self.full.push(self.last);
        self.full
    }
}

/// The elements of `a`, then those of `b`.
pub(super) fn joined<T>(mut a: Vec<T>, mut b: Vec<T>) -> Vec<T> {
    a.append(&mut b);
    a
}

/// Appends the items of all parts to a vector.
fn concat<T: Send>(mut parts: Vec<Vec<T>>, to: &mut Vec<T>) {
    parts.retain(|part| !part.is_empty());
    if let [only] = &mut *parts
        && to.is_empty()
        && to.capacity() < only.len()
    {
        *to = mem::take(only);
        return;
    }
    let len = parts.iter().map(Vec::len).sum();
    append_to_target(to, len, |mut rest| {
        let mut moves = Vec::new();
        for part in parts {
            let (own, behind) = rest.split_at(part.len());
            moves.push((own, part));
            rest = behind;
        }
        let (pool, moves) = (current(), source(moves));
        let moved = on!(pool, moves).map(|(_, (mut own, part))| {
            own.append(part);
            own
        });
        moved.reduce(Target::join).unwrap_or(rest)
    });
}

/// The items of all parts.
fn concatenated<T: Send>(parts: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::new();
    concat(parts, &mut all);
    all
}

/// The `Ok` values of the items, or the first error.
pub(super) fn to_result<T: Send, Z: Send>(
    iter: impl ParallelIterator<Item = Result<T, Z>>,
) -> Result<Vec<T>, Z> {
    let step = |mut part: Box<(Pieces<T>, Option<Z>)>, item| match item {
        Ok(item) => {
            part.0.push(item);
            Ok(part)
        }
        Err(error) => {
            part.1 = Some(error);
            Err(part)
        }
    };
    let done = |part: Box<(Pieces<T>, Option<Z>)>| part.1.map_or(Ok(part.0.all()), Err);
    let merge = |a: Result<_, _>, b: Result<_, _>| Ok(joined(a?, b?));
    let fold = Fold::<_, _, _, _, true> { init: Box::default, step, done, merge };
    fold.of(iter, Prunes::Later).map(concatenated)
}

/// Two vectors, to whose pieces `push` adds each item.
pub(super) fn to_two<I: ParallelIterator, A: Send, B: Send>(
    iter: I,
    push: impl Fn(&mut Pieces<A>, &mut Pieces<B>, I::Item) + Sync,
) -> (Vec<A>, Vec<B>) {
    let step = |mut part: Box<(Pieces<A>, Pieces<B>)>, item| {
        let (a, b) = &mut *part;
        push(a, b, item);
        Ok(part)
    };
    let done = |part: Box<(Pieces<A>, Pieces<B>)>| (part.0.all(), part.1.all());
    let merge = |(a, b), (more_of_a, more_of_b)| (joined(a, more_of_a), joined(b, more_of_b));
    let fold = Fold::<_, _, _, _, false> { init: Box::default, step, done, merge };
    let (a, b) = fold.of(iter, Prunes::Later);
    (concatenated(a), concatenated(b))
}

/// The places of the items in a vector.
struct Places<'v, T>(Target<'v, T>);
struct InOrder;

impl<'v, T: Send> Consumer<T> for Places<'v, T> {
    type Folder = Self;
    type Reducer = InOrder;
    type Result = Target<'v, T>;

    fn split_at(self, index: usize) -> (Self, Self, InOrder) {
        let (left, right) = self.0.split_at(index);
        (Self(left), Self(right), InOrder)
    }

    fn into_folder(self) -> Self {
        self
    }

    fn full(&self) -> bool {
        false
    }
}

impl<T: Send> UnindexedConsumer<T> for Places<'_, T> {
    fn split_off_left(&self) -> Self {
        panic!("an iterator whose `opt_len` is known must split its consumer by `split_at`")
    }

    fn to_reducer(&self) -> InOrder {
        InOrder
    }
}

impl<'v, T> Folder<T> for Places<'v, T> {
    type Result = Target<'v, T>;

    #[inline(always)]
    fn consume(mut self, item: T) -> Self {
        self.0.push(item);
        self
    }

    fn complete(self) -> Target<'v, T> {
        self.0
    }

    fn full(&self) -> bool {
        false
    }
}

impl<'v, T> Reducer<Target<'v, T>> for InOrder {
    fn reduce(self, left: Target<'v, T>, right: Target<'v, T>) -> Target<'v, T> {
        left.join(right)
    }
}

/// The items of an iterator.
pub(super) fn gather<I: ParallelIterator>(iter: I) -> Vec<I::Item> {
    let mut all = Vec::new();
    append(iter, &mut all);
    all
}
