//! The ends of a chain that collect its items.

use std::{
    array,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    convert::Infallible,
    hash::{BuildHasher, Hash},
    iter, mem,
};

use super::{
    chain::{Chain, Makes, Source, WorkerOf},
    ends::folding,
    gather::{Gathered, ITEMS_A_LOOK, extend_parted, extend_sifted},
    kernel::{Claim, Claimed},
    on::On,
    options::{Ending, OnPool, PartOptions},
    places::{Written, append_in_place, extend_both, in_two_places},
    state::{Given, State},
};
use crate::pool::{
    call::{body::Stop, ending::Outcome},
    policy::site::LoopKind,
};

/// What [`On::collect`] can make of items `T`: `Vec<T>`, `Box<[T]>`, `String`, the collections of
/// the standard library, `()` of units, and `Result<B, E>` or `Option<B>` of one of these, if the
/// items are results or options: then the loop stops at the first that is an error, or none.
/// Sealed.
///
/// Behind [`located`](On::located) the error tells its index, too.
#[diagnostic::on_unimplemented(
    message = "a chain of `{T}` cannot be collected into `{Self}`",
    note = "collect into a `Vec`, a `Box<[T]>`, a `String`, a `HashMap`, a `BTreeMap` and so on, or a `Result` or `Option` of one"
)]
pub trait FromChain<T>: Sized {
    /// Runs the loop, of whose items `open` makes what is collected, or why there is nothing; none
    /// if it was cancelled.
    #[doc(hidden)]
    fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
        on: On<C, OnPool<'_, E>>,
        open: impl Fn(C::Item) -> Result<T, Z> + Sync,
    ) -> Option<Result<Self, Z>>;
}

/// Whether a loop that can fail with `Z` can fail. (Conditions on the types of a loop stand in
/// `const` blocks: the compiler makes code for one branch only.)
const fn can_fail<Z>() -> bool {
    size_of::<Option<Z>>() > 0
}

fn kind_of<Z>() -> LoopKind {
    if const { can_fail::<Z>() } { LoopKind::MayStop } else { LoopKind::Through }
}

/// The value of an operation that cannot fail.
#[inline(always)]
fn never<T, Z>(opened: Result<T, Z>) -> T {
    match opened {
        Ok(opened) => opened,
        Err(_) => unreachable!("it cannot fail"),
    }
}

/// In a box, so that with each block of items a pointer is moved, and not six words a vector.
type Boxed<R, const N: usize> = Box<[Gathered<R>; N]>;

/// Empty vectors.
#[allow(clippy::unnecessary_box_returns, reason = "a pointer is moved: see above")]
fn nothing<R, const N: usize>() -> Boxed<R, N> {
    Box::new(array::from_fn(|_| Gathered::default()))
}

/// What two neighbouring runs have filled.
#[inline(never)] // one of all loops that fill such vectors
#[allow(clippy::unnecessary_box_returns, clippy::boxed_local, reason = "a pointer is moved: see above")]
fn joined<R, const N: usize>(mut before: Boxed<R, N>, behind: Boxed<R, N>) -> Boxed<R, N> {
    iter::zip(&mut *before, *behind).for_each(|(before, behind)| before.append(behind));
    before
}

/// The vectors of a loop, whole: these hands move the pieces there. None if it was cancelled.
#[inline(never)] // likewise
fn whole<R: Send, Z, const N: usize>(
    filled: Outcome<Option<Boxed<R, N>>, Z>,
    hands: PartOptions<'_>,
) -> Option<Result<[Vec<R>; N], Z>> {
    let whole = filled.or(nothing).map(|mut filled| {
        let mut all = [const { Vec::new() }; N]; // not `map`, which has code for a panic amidst
        for (all, of) in iter::zip(&mut all, &mut *filled) {
            *all = mem::take(of).into_vec(hands);
        }
        all
    });
    whole.ended()
}

/// Goes through claimed items in steps, between which room is made for the next.
#[inline(always)]
fn in_steps<S: Source>(mut items: Claim<'_, S>, mut go: impl FnMut(Claim<'_, S>)) {
    while items.len() > 0 {
        let step = items.len().min(ITEMS_A_LOOK);
        go(items.take(step));
    }
}

impl<C: Chain + Sync, E: Ending> On<C, OnPool<'_, E>> {
    /// Runs a loop whose runs fill `N` vectors each, and makes one of those of all runs. `fill` is
    /// given vectors to append to, and items of the source.
    #[inline(always)]
    fn gathered<R: Send, Z: Send, const N: usize>(
        self,
        fill: impl Fn([&mut Vec<R>; N], Claim<'_, C::Source>, &C, &mut WorkerOf<C>) -> Result<(), Stop<Z>> + Sync,
    ) -> Option<Result<[Vec<R>; N], Z>> {
        let (hands, all) = (self.hands(), self.source_count());
        let fold = move |mut claimed: Claimed<'_, '_, '_, C>, acc: Option<Boxed<R, N>>| {
            let chain = claimed.chain;
            let mut acc = match acc {
                Some(acc) => acc,
                None => nothing(),
            };
            while let Some(items) = claimed.next() {
                let vectors = acc.each_mut().map(|of| of.last(items.range(), all));
                fill(vectors, items, chain, claimed.state())?;
            }
            Ok(Some(acc))
        };
        whole(self.fold_claims(kind_of::<Z>(), fold, joined), hands)
    }

    /// One item of each of the source: each is written once, at its final place behind what is
    /// there.
    #[inline(always)]
    fn write_to<T: Send, Z: Send>(
        self,
        to: &mut Vec<T>,
        open: impl Fn(C::Item) -> Result<T, Z> + Sync,
    ) -> Option<Result<(), Z>> {
        let appended = append_in_place(to, self.source_count(), |places| {
            let folded = self.fold_claims(
                kind_of::<Z>(),
                move |mut claimed, written: Option<Written<'_, T>>| {
                    let chain = claimed.chain;
                    let mut written = written.unwrap_or(Written::none(places));
                    while let Some(items) = claimed.next() {
                        let state = claimed.state();
                        written = if const { can_fail::<Z>() } {
                            written.try_extend(items, |item| open(chain.one(state, item)))?
                        } else {
                            written.extend(items, |item| never(open(chain.one(state, item))))
                        };
                    }
                    Ok(Some(written))
                },
                Written::join,
            );
            folded.or(|| Written::none(places)).ended().ok_or(None)?.map_err(Some)
        });
        match appended {
            Ok(()) => Some(Ok(())),
            Err(found) => found.map(Err),
        }
    }

    /// Any number of items of each of the source: they are gathered in pieces.
    #[inline(always)]
    fn emitted<T: Send, Z: Send>(
        self,
        open: impl Fn(C::Item) -> Result<T, Z> + Sync,
    ) -> Option<Result<Vec<T>, Z>> {
        let gathered = self.gathered(move |[made], items, chain, state| {
            if const { can_fail::<Z>() } {
                for (at, item) in items.numbered() {
                    let pushed = chain.push(state, item, (), |_, (), item| {
                        made.push(open(item)?);
                        Ok(())
                    });
                    pushed.map_err(|found| Stop::there(at, found))?;
                }
            } else if const { matches!(C::MAKES, Makes::Sifted) && !mem::needs_drop::<T>() } {
                in_steps(items, |step| {
                    let sifted = step.items().map(|item| {
                        let (item, stays) = chain.sift(state, item);
                        (never(open(item)), stays)
                    });
                    extend_sifted(made, sifted);
                });
            } else {
                items.items().for_each(|item| chain.emit(state, item, made, |item| never(open(item))));
            }
            Ok(())
        });
        Some(gathered?.map(|[made]| made))
    }

    /// Collects the items, as [`Iterator::collect`]: into a `Vec` in order, a `String`, a map and
    /// so on: see [`FromChain`]. Into a `Result` or an `Option` it stops at the first item, in
    /// order, that is an error or none.
    ///
    /// If the chain makes one item of each of its source, each is written once, at its final place
    /// in the vector. If it may leave some out ([`filter`](Self::filter)) and they need not be
    /// dropped, the time does not depend on which. Maps and sets are made of such a vector by the
    /// calling thread.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let lengths: Vec<usize> = pool.on(0..10).chunks(4).map(|chunk| chunk.len()).collect();
    /// assert_eq!(lengths, [4, 4, 2]);
    /// let squares: Option<Vec<u8>> = pool.on(0..16_u8).map(|x| x.checked_mul(x)).collect();
    /// assert_eq!(squares.map(|squares| squares.len()), Some(16));
    /// let shout: String = pool.on(&["no", "de"]).flat_map(|word| word.chars().rev()).collect();
    /// assert_eq!(shout, "oned");
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain does; the items collected until then are dropped.
    #[inline(always)]
    pub fn collect<B: FromChain<C::Item>>(self) -> E::Of<B> {
        let collected = B::from_chain(self, Ok::<_, Infallible>);
        E::end(collected.map(never))
    }

    /// Appends the items to a vector, in order. Nothing is allocated if the vector has room and the
    /// chain makes one item of each of its source. Nothing is appended if the loop is cancelled.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut all = vec![0];
    /// pool.on(1..4).map(|i| i * i).collect_into(&mut all);
    /// assert_eq!(all, [0, 1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain does; then nothing is appended.
    #[inline(always)]
    pub fn collect_into(self, to: &mut Vec<C::Item>) -> E::Of<()>
    where
        C::Item: Send,
    {
        let appended = if const { matches!(C::MAKES, Makes::One) } {
            self.write_to(to, Ok::<_, Infallible>)
        } else {
            self.emitted(Ok::<_, Infallible>).map(|made| made.map(|mut made| to.append(&mut made)))
        };
        E::end(appended.map(never))
    }

    /// The items of which `test` is true, and the others, both in order, as
    /// [`Iterator::partition`]. If items need not be dropped, it takes as long whatever `test`
    /// returns.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (even, odd) = pool.on(0..7).partition(|i| i % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4, 6], vec![1, 3, 5]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain does; the items collected until then are dropped.
    #[allow(clippy::type_complexity, reason = "two vectors")]
    #[inline(always)]
    pub fn partition(
        self,
        test: impl for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync,
    ) -> E::Of<(Vec<C::Item>, Vec<C::Item>)>
    where
        C::Item: Send,
    {
        let gathered = self.gathered(move |[yes, no], items, chain, state| {
            if const { matches!(C::MAKES, Makes::One) && !mem::needs_drop::<C::Item>() } {
                in_steps(items, |step| {
                    let tested = step.items().map(|item| {
                        let item = chain.one(state, item);
                        let is_first = test(C::State::give(state, &item));
                        (item, is_first)
                    });
                    extend_parted([yes, no], tested);
                });
                return Ok::<_, Stop<Infallible>>(());
            }
            items.items().for_each(|item| {
                let Ok(()) = chain.push(state, item, (), |state, (), item| {
                    if test(C::State::give(state, &item)) {
                        yes.push(item);
                    } else {
                        no.push(item);
                    }
                    Ok::<_, Infallible>(())
                });
            });
            Ok(())
        });
        E::end(gathered.map(never).map(|[yes, no]| (yes, no)))
    }

    /// The first parts of pairs, and the second ones, both in order, as [`Iterator::unzip`]. If the
    /// chain makes one pair of each item of its source, each part is written once, at its final
    /// place.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (squares, cubes) = pool.on(0..4).map(|i| (i * i, i * i * i)).unzip();
    /// assert_eq!((squares, cubes), (vec![0, 1, 4, 9], vec![0, 1, 8, 27]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain does; the items collected until then are dropped.
    #[inline(always)]
    pub fn unzip<A: Send, B: Send>(self) -> E::Of<(Vec<A>, Vec<B>)>
    where
        C: Chain<Item = (A, B)>,
    {
        if const { !matches!(C::MAKES, Makes::One) } {
            let pairs = Vec::<(A, B)>::from_chain(self, Ok::<_, Infallible>);
            return E::end(pairs.map(|pairs| never(pairs).into_iter().unzip()));
        }
        E::end(in_two_places(self.source_count(), |firsts, seconds| {
            let folded = self.fold_claims(
                LoopKind::Through,
                move |mut claimed, both| {
                    let chain = claimed.chain;
                    let mut both = both.unwrap_or((Written::none(firsts), Written::none(seconds)));
                    while let Some(items) = claimed.next() {
                        let state = claimed.state();
                        both = extend_both(both, items, |item| chain.one(state, item));
                    }
                    Ok(Some(both))
                },
                |(a, b), (c, d)| (a.join(c), b.join(d)),
            );
            folded.or(|| (Written::none(firsts), Written::none(seconds))).through()
        }))
    }
}

impl<T: Send> FromChain<T> for Vec<T> {
    #[inline(always)]
    fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
        on: On<C, OnPool<'_, E>>,
        open: impl Fn(C::Item) -> Result<T, Z> + Sync,
    ) -> Option<Result<Self, Z>> {
        if const { !matches!(C::MAKES, Makes::One) } {
            return on.emitted(open);
        }
        let mut all = Self::new();
        Some(on.write_to(&mut all, open)?.map(|()| all))
    }
}

/// Collections that the calling thread makes of a vector.
macro_rules! of_a_vector {
    ($([$($bound:tt)*] $collection:ty, $item:ty;)+) => {$(
        impl<$($bound)*> FromChain<$item> for $collection {
            #[inline(always)]
            fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
                on: On<C, OnPool<'_, E>>,
                open: impl Fn(C::Item) -> Result<$item, Z> + Sync,
            ) -> Option<Result<Self, Z>> {
                Some(Vec::from_chain(on, open)?.map(|all| all.into_iter().collect()))
            }
        }
    )+};
}

of_a_vector! {
    [T: Send] Box<[T]>, T;
    [T: Send] VecDeque<T>, T;
    [T: Send] LinkedList<T>, T;
    [T: Send + Ord] BinaryHeap<T>, T;
    [T: Send + Ord] BTreeSet<T>, T;
    [T: Send + Eq + Hash, S: BuildHasher + Default] HashSet<T, S>, T;
    [K: Send + Ord, V: Send] BTreeMap<K, V>, (K, V);
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Default] HashMap<K, V, S>, (K, V);
}

/// Of what a string can be extended by: characters, strings, references to these.
impl<T> FromChain<T> for String
where
    Self: Extend<T>,
{
    #[inline(always)]
    fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
        on: On<C, OnPool<'_, E>>,
        open: impl Fn(C::Item) -> Result<T, Z> + Sync,
    ) -> Option<Result<Self, Z>> {
        let step = move |_: &mut WorkerOf<C>, mut text: Self, item| {
            text.extend(iter::once(open(item)?));
            Ok(text)
        };
        on.fold_claims(kind_of::<Z>(), folding(Self::new, step), |a, b| a + &b).or(Self::new).ended()
    }
}

impl FromChain<()> for () {
    #[inline(always)]
    fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
        on: On<C, OnPool<'_, E>>,
        open: impl Fn(C::Item) -> Result<(), Z> + Sync,
    ) -> Option<Result<(), Z>> {
        let step = move |_: &mut WorkerOf<C>, (): (), item| open(item);
        on.fold_claims(kind_of::<Z>(), folding(|| (), step), |(), ()| ()).or(|| ()).ended()
    }
}

/// Why a loop has nothing to collect: for the reason of what it is in, or its own.
enum Reason<Z, X> {
    Outer(Z),
    Own(X),
}

/// Runs a loop that collects into `B` as long as `check` makes a `T` of each item.
#[inline(always)]
fn checked<B: FromChain<T>, T, I, X: Send, C: Chain + Sync, E: Ending, Z: Send>(
    on: On<C, OnPool<'_, E>>,
    open: impl Fn(C::Item) -> Result<I, Z> + Sync,
    check: impl Fn(I) -> Result<T, X> + Sync,
) -> Option<Result<Result<B, X>, Z>> {
    let both = move |item| match open(item) {
        Ok(opened) => check(opened).map_err(Reason::Own),
        Err(found) => Err(Reason::Outer(found)),
    };
    Some(match B::from_chain(on, both)? {
        Ok(all) => Ok(Ok(all)),
        Err(Reason::Own(found)) => Ok(Err(found)),
        Err(Reason::Outer(found)) => Err(found),
    })
}

impl<T, X: Send, B: FromChain<T>> FromChain<Result<T, X>> for Result<B, X> {
    #[inline(always)]
    fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
        on: On<C, OnPool<'_, E>>,
        open: impl Fn(C::Item) -> Result<Result<T, X>, Z> + Sync,
    ) -> Option<Result<Self, Z>> {
        checked(on, open, |item| item)
    }
}

impl<T, B: FromChain<T>> FromChain<Option<T>> for Option<B> {
    #[inline(always)]
    fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
        on: On<C, OnPool<'_, E>>,
        open: impl Fn(C::Item) -> Result<Option<T>, Z> + Sync,
    ) -> Option<Result<Self, Z>> {
        let collected = checked(on, open, |item: Option<T>| item.ok_or(()))?;
        Some(collected.map(Result::ok))
    }
}
