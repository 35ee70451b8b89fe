//! The ends of a chain that collect its items.

use std::{
    array,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    convert::Infallible,
    hash::{BuildHasher, Hash},
    iter, mem,
};

use super::{
    chain::{Chain, Source, WorkerOf},
    extend::{extend_parted, extend_sifted},
    gather::{Gathered, ITEMS_A_LOOK},
    kernel::Claim,
    on::On,
    options::{Ending, OnPool, PartOptions},
    places::{Written, append_in_place, extend_both, in_two_places},
    state::{Given, State},
};
use crate::pool::{
    engine::{body::Stop, ending::Outcome},
    policy::site::LoopKind,
};

/// A type that [`On::collect`] can make of items `T`: `Vec<T>`, `Box<[T]>`, `String`, the
/// collections of the standard library, and `()` for items of type `()`. If the items are results
/// or options, also `Result<B, E>` or `Option<B>`, where `B` is one of these types. Such a loop
/// stops at the first item that is an `Err` or a `None`. Sealed.
///
/// Behind [`located`](On::located) the error contains the index of its item.
#[diagnostic::on_unimplemented(
    message = "a chain of `{T}` cannot be collected into `{Self}`",
    note = "collect into a `Vec`, a `Box<[T]>`, a `String`, a `HashMap`, a `BTreeMap` and so on, or a `Result` or `Option` of one",
    note = "`copied()` or `cloned()` makes values of references"
)]
pub trait FromChain<T>: Sized {
    /// Runs the loop. `open` converts an item of the chain to an item of the collection, or to the
    /// reason why the collection fails. Returns `None` if the loop was cancelled.
    #[doc(hidden)]
    fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
        on: On<C, OnPool<'_, E>>,
        open: impl Fn(C::Item) -> Result<T, Z> + Sync,
    ) -> Option<Result<Self, Z>>;
}

/// Whether a loop whose error type is `Z` can fail: it cannot if `Z` has no values. (Conditions on
/// types stand in `const` blocks, so that the compiler makes code for only one branch.)
const fn can_fail<Z>() -> bool {
    size_of::<Option<Z>>() > 0
}

fn kind_of<Z>() -> LoopKind {
    if const { can_fail::<Z>() } { LoopKind::MAY_STOP } else { LoopKind::THROUGH }
}

/// The value of an operation that cannot fail.
#[inline(always)]
fn never<T, Z>(opened: Result<T, Z>) -> T {
    match opened {
        Ok(opened) => opened,
        Err(_) => unreachable!("it cannot fail"),
    }
}

/// The vectors that a run fills, in a box. So for each block of items the loop moves one pointer
/// instead of six words per vector.
type Boxed<R, const N: usize> = Box<[Gathered<R>; N]>;

/// A run without items.
#[allow(clippy::unnecessary_box_returns, reason = "a pointer is moved: see above")]
fn nothing<R, const N: usize>() -> Boxed<R, N> {
    Box::new(array::from_fn(|_| Gathered::default()))
}

/// Appends a run to the run before it.
#[inline(never)] // compiled once for all loops with results `R`
#[allow(clippy::unnecessary_box_returns, clippy::boxed_local, reason = "a pointer is moved: see above")]
fn append_run<R, const N: usize>(mut before: Boxed<R, N>, behind: Boxed<R, N>) -> Boxed<R, N> {
    iter::zip(&mut *before, *behind).for_each(|(before, behind)| before.append(behind));
    before
}

/// Joins the pieces that the runs filled into whole vectors. `part_options` are the options of the
/// loop that moves the pieces. Returns `None` if the loop was cancelled.
#[inline(never)] // compiled once for all loops with results `R`
fn join_pieces<R: Send, Z, const N: usize>(
    filled: Outcome<Option<Boxed<R, N>>, Z>,
    part_options: PartOptions<'_>,
) -> Option<Result<[Vec<R>; N], Z>> {
    let joined = filled.or(nothing).map(|mut filled| {
        let mut all = [const { Vec::new() }; N]; // `map` would add code for a panic
        for (all, of) in iter::zip(&mut all, &mut *filled) {
            *all = mem::take(of).into_vec(part_options);
        }
        all
    });
    joined.ended()
}

/// Calls `go` with claimed items in steps of at most [`ITEMS_A_LOOK`]. Between two steps the
/// vectors grow.
#[inline(always)]
fn in_steps<S: Source>(mut items: Claim<'_, S>, mut go: impl FnMut(Claim<'_, S>)) {
    while items.len() > 0 {
        let step = items.len().min(ITEMS_A_LOOK);
        go(items.take(step));
    }
}

impl<C: Chain + Sync, E: Ending> On<C, OnPool<'_, E>> {
    /// Runs a loop in which each run fills `N` vectors, and joins the vectors of all runs. `fill`
    /// receives the vectors to append to, and claimed items of the source.
    #[inline(always)]
    fn gathered<R: Send, Z: Send, const N: usize>(
        self,
        fill: impl Fn([&mut Vec<R>; N], Claim<'_, C::Source>, &C, &mut WorkerOf<C>) -> Result<(), Stop<Z>> + Sync,
    ) -> Option<Result<[Vec<R>; N], Z>> {
        let (part_options, all) = (self.part_options(), self.source_count());
        let filled = self.fold_claims(
            kind_of::<Z>(),
            move |mut claimed, acc: Option<Boxed<R, N>>| {
                let chain = claimed.chain;
                let mut acc = acc.unwrap_or_else(nothing);
                while let Some(items) = claimed.next() {
                    let vectors = acc.each_mut().map(|of| of.last(items.range(), all));
                    fill(vectors, items, chain, claimed.state())?;
                }
                Ok(Some(acc))
            },
            append_run,
        );
        join_pieces(filled, part_options)
    }

    /// Appends the items to `to`, for a chain that makes one item of each item of its source. Each
    /// item is written once, at its final place.
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
            folded.or(|| Written::none(places))
        });
        appended.ended()
    }

    /// Collects the items, for a chain that makes any number of items of each item of its source.
    /// Each run fills its own vector.
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
            } else if const { C::SIFTS && !mem::needs_drop::<T>() } {
                in_steps(items, |step| {
                    let sifted = step.items().map(|item| {
                        let (item, stays) = chain.sift(state, item);
                        (never(open(item)), stays)
                    });
                    extend_sifted(made, sifted);
                });
            } else {
                items.items().for_each(|item| chain.emit(state, item, made, |_, item| never(open(item))));
            }
            Ok(())
        });
        Some(gathered?.map(|[made]| made))
    }

    /// Collects the items in their order, as [`Iterator::collect`]: into a `Vec`, a `String`, a map
    /// or another type that implements [`FromChain`]. If that type is a `Result` or an `Option`,
    /// the loop stops at the first item, in the order of the items, that is an `Err` or a `None`,
    /// and the call returns it. The items collected until then are dropped.
    ///
    /// If the chain makes one item of each item of its source, each item is written once, at its
    /// final place in the vector. Otherwise each worker fills vectors of its own, which are joined
    /// in parallel. If the chain has a [`filter`](Self::filter) and the items need no drop, the
    /// time does not depend on which items the filter keeps. Maps, sets and other collections are
    /// made by the calling thread from a vector of all items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let lengths: Vec<usize> = pool.on(0..10).chunks(4).map(|chunk| chunk.len()).collect();
    /// assert_eq!(lengths, [4, 4, 2]);
    /// let squares: Option<Vec<u8>> = pool.on(0..16_u8).map(|x| x.checked_mul(x)).collect();
    /// assert_eq!(squares.map(|squares| squares.len()), Some(16));
    /// let even = |x: u8| if x % 2 == 0 { Ok(x) } else { Err(format!("{x} is odd")) };
    /// let all_even: Result<Vec<u8>, _> = pool.on(&[2, 4, 7, 9]).map(|x| even(*x)).collect();
    /// assert_eq!(all_even, Err("7 is odd".to_owned()));
    /// let shout: String = pool.on(&["no", "de"]).flat_map(|word| word.chars().rev()).collect();
    /// assert_eq!(shout, "oned");
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics. The items collected until then are dropped.
    #[inline(always)]
    pub fn collect<B: FromChain<C::Item>>(self) -> E::Of<B> {
        let collected = B::from_chain(self, Ok::<_, Infallible>);
        E::end(collected.map(never))
    }

    /// Appends the items to a vector, in their order. Nothing is allocated if the vector has enough
    /// capacity and the chain makes one item of each item of its source. If the loop is cancelled,
    /// nothing is appended.
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
    /// If a closure of the chain panics. Then nothing is appended.
    #[inline(always)]
    pub fn collect_into(self, to: &mut Vec<C::Item>) -> E::Of<()>
    where
        C::Item: Send,
    {
        let appended = if const { C::MAKES_ONE } {
            self.write_to(to, Ok::<_, Infallible>)
        } else {
            let append = |mut made: Vec<_>| {
                if to.is_empty() && to.capacity() < made.len() {
                    *to = made;
                } else {
                    to.append(&mut made);
                }
            };
            self.emitted(Ok::<_, Infallible>).map(|made| made.map(append))
        };
        E::end(appended.map(never))
    }

    /// Splits the items into two vectors, as [`Iterator::partition`]: the items for which `test`
    /// returns true, and the items for which it returns false. Both vectors keep the order of the
    /// items. If the items need no drop, the time does not depend on the results of `test`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (even, odd) = pool.on(0..7).partition(|i| i % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4, 6], vec![1, 3, 5]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics. The items collected until then are dropped.
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
            if const { C::MAKES_ONE && !mem::needs_drop::<C::Item>() } {
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
                    let side = if test(C::State::give(state, &item)) { &mut *yes } else { &mut *no };
                    side.push(item);
                    Ok::<_, Infallible>(())
                });
            });
            Ok(())
        });
        E::end(gathered.map(never).map(|[yes, no]| (yes, no)))
    }

    /// Splits pairs into a vector of their first parts and a vector of their second parts, both in
    /// order, as [`Iterator::unzip`]. If the chain makes one pair of each item of its source, each
    /// part is written once, at its final place.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (squares, cubes) = pool.on(0..4).map(|i| (i * i, i * i * i)).unzip();
    /// assert_eq!((squares, cubes), (vec![0, 1, 4, 9], vec![0, 1, 8, 27]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics. The items collected until then are dropped.
    #[inline(always)]
    pub fn unzip<A: Send, B: Send>(self) -> E::Of<(Vec<A>, Vec<B>)>
    where
        C: Chain<Item = (A, B)>,
    {
        if const { !C::MAKES_ONE } {
            let pairs = Vec::<(A, B)>::from_chain(self, Ok::<_, Infallible>);
            return E::end(pairs.map(|pairs| never(pairs).into_iter().unzip()));
        }
        E::end(in_two_places(self.source_count(), |firsts, seconds| {
            let folded = self.fold_claims(
                LoopKind::THROUGH,
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
            folded.or(|| (Written::none(firsts), Written::none(seconds)))
        }))
    }
}

/// [`FromChain::from_chain`], for items of a type. `C` is the chain, and `Z` the reason why the
/// collection fails.
macro_rules! from_chain {
    (|$on:ident, $open:ident| -> $item:ty $collected:block) => {
        #[inline(always)]
        fn from_chain<C: Chain + Sync, E: Ending, Z: Send>(
            $on: On<C, OnPool<'_, E>>,
            $open: impl Fn(C::Item) -> Result<$item, Z> + Sync,
        ) -> Option<Result<Self, Z>> $collected
    };
}

impl<T: Send> FromChain<T> for Vec<T> {
    from_chain!(|on, open| -> T {
        if const { !C::MAKES_ONE } {
            return on.emitted(open);
        }
        let mut all = Self::new();
        Some(on.write_to(&mut all, open)?.map(|()| all))
    });
}

/// Collections that the calling thread makes of a vector of all items.
macro_rules! of_a_vector {
    ($([$($bound:tt)*] $collection:ty, $item:ty;)+) => {$(
        impl<$($bound)*> FromChain<$item> for $collection {
            from_chain!(|on, open| -> $item {
                Some(Vec::from_chain(on, open)?.map(|all| all.into_iter().collect()))
            });
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

/// An item may be of any type that extends a string: a character, a string, or a reference to one
/// of these.
impl<T> FromChain<T> for String
where
    Self: Extend<T>,
{
    from_chain!(|on, open| -> T {
        let step = move |_: &mut WorkerOf<C>, mut text: Self, item| {
            text.extend(iter::once(open(item)?));
            Ok(text)
        };
        on.folded(kind_of::<Z>(), Self::new, step, |a, b| a + &b).ended()
    });
}

impl FromChain<()> for () {
    from_chain!(|on, open| -> () { on.each(kind_of::<Z>(), move |_, item| open(item)).ended() });
}

impl<T, X: Send, B: FromChain<T>> FromChain<Result<T, X>> for Result<B, X> {
    from_chain!(|on, open| -> Result<T, X> {
        // The loop fails with `Ok` of an error of this `Result`, or with `Err` of a failure of a
        // `Result` or `Option` that contains this one.
        let collected = B::from_chain(on, move |item| match open(item) {
            Ok(opened) => opened.map_err(Ok),
            Err(found) => Err(Err(found)),
        });
        Some(collected?.map(Ok).or_else(|found| found.map(Err)))
    });
}

impl<T, B: FromChain<T>> FromChain<Option<T>> for Option<B> {
    from_chain!(|on, open| -> Option<T> {
        let collected = Result::from_chain(on, move |item| Ok(open(item)?.ok_or(())))?;
        Some(collected.map(Result::ok))
    });
}
