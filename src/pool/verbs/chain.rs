//! The traits of chains: a chain is the source of a loop and the stages that its items go through.

#![allow(unsafe_code)] // a stage requests items of its source when its own items are requested

use std::{convert::Infallible, ops::Range};

use super::state::{State, Stateless};

/// A source and the stages behind it. A chain makes the items of a loop;
/// [`Pool::on`](crate::Pool::on) runs it.
///
/// [`map`](crate::On::map), [`copied`](crate::On::copied) and [`inspect`](crate::On::inspect) make
/// one item of each item. A chain of a source and such stages is a [`Source`], too. Behind
/// [`filter`](crate::On::filter), [`flat_map`](crate::On::flat_map) and [`with`](crate::On::with)
/// items have no index, so such a chain is not a source.
///
/// Sealed: it cannot be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "no loop runs over `{Self}`",
    label = "neither a slice, nor a range of integers, nor a chain",
    note = "pass `&v`, `&mut v` or `v` of a slice, vector or array; a range of integers such as `0..n`; or a tuple of these",
    note = "iterators and other collections are collected into a `Vec` first"
)]
pub trait Chain: sealed::Sealed + IntoChain<Chain = Self> + Sized {
    /// The type of the items, which the closures of a loop receive.
    type Item;

    /// The type of the source that the chain begins with.
    #[doc(hidden)]
    type Source: Source;
    /// The type of the states of the workers.
    #[doc(hidden)]
    type State: State;
    /// Whether the chain makes one item of each item of its source.
    #[doc(hidden)]
    const MAKES_ONE: bool = false;
    /// Whether the chain makes at most one item of each item of its source: one item, which filters
    /// keep or leave out. See [`sift`](Self::sift).
    #[doc(hidden)]
    const SIFTS: bool = Self::MAKES_ONE;

    /// The source that the chain begins with.
    #[doc(hidden)]
    fn source(&self) -> &Self::Source;

    /// The source of the states of the workers.
    #[doc(hidden)]
    fn states(&self) -> &Self::State;

    /// Makes items of one item of the source, and folds them into `acc`. `next` is the step of the
    /// fold; its first `Err` ends the fold.
    #[doc(hidden)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<Self>,
        item: SourceItem<Self>,
        acc: A,
        next: impl FnMut(&mut WorkerOf<Self>, A, Self::Item) -> Result<A, Z>,
    ) -> Result<A, Z>;

    /// Makes items of one item of the source, calls `open` with the state and each of them, and
    /// appends the results to the vector `to`.
    #[doc(hidden)]
    #[inline(always)]
    fn emit<T>(
        &self,
        state: &mut WorkerOf<Self>,
        item: SourceItem<Self>,
        to: &mut Vec<T>,
        mut open: impl FnMut(&mut WorkerOf<Self>, Self::Item) -> T,
    ) {
        let Ok(()) = self.push(state, item, (), |state, (), made| {
            to.push(open(state, made));
            Ok::<_, Infallible>(())
        });
    }

    /// Makes the one item of an item of the source, for chains that
    /// [make one](Self::MAKES_ONE) item of each source item.
    ///
    /// # Panics
    /// If the chain makes no item of `item`.
    #[doc(hidden)]
    #[inline(always)]
    fn one(&self, state: &mut WorkerOf<Self>, item: SourceItem<Self>) -> Self::Item {
        let made = self.push(state, item, None, |_, _, made| Ok::<_, Infallible>(Some(made)));
        let Ok(Some(made)) = made else { unreachable!("the chain makes one item of each") };
        made
    }

    /// Makes an item of one item of the source, and returns whether the filters keep the item. For
    /// chains that [sift](Self::SIFTS) the items of the source.
    ///
    /// # Panics
    /// If the chain makes no item of `item`.
    #[doc(hidden)]
    #[inline(always)]
    fn sift(&self, state: &mut WorkerOf<Self>, item: SourceItem<Self>) -> (Self::Item, bool) {
        (self.one(state, item), true)
    }
}

/// The state of the workers of a chain.
pub(super) type WorkerOf<C> = <<C as Chain>::State as State>::Worker;
/// The type of the items of the source that a chain begins with.
pub(super) type SourceItem<C> = <<C as Chain>::Source as Chain>::Item;

/// A chain that makes one item of each item of its source. Sealed, as [`Chain`] is.
#[diagnostic::on_unimplemented(
    message = "the items of `{Self}` have no index",
    note = "`filter`, `flat_map` and similar stages make any number of items of each item; `collect` their items first, and run the next loop over the result"
)]
pub trait Each: Chain {}

/// A source of items for a loop. Each item has an index.
///
/// | source | item |
/// |---|---|
/// | `&[T]` (and `&Vec<T>`, `&[T; N]`) | `&T` |
/// | `&mut [T]` (and `&mut Vec<T>`, `&mut [T; N]`) | `&mut T` |
/// | `Vec<T>`, `Box<[T]>`, `[T; N]` ([`Owned`](crate::source::Owned)), or a part of a `Vec` ([`drain`](crate::source::drain)) | `T` |
/// | a range of at most `usize::MAX` integers `T`, such as `0..n` or `1..=n` | `T` |
/// | a tuple of two to eight sources, or [`On::zip`](crate::On::zip) | a tuple of their items |
/// | [`On::chunks`](crate::On::chunks) of a source | `&[T]`, `&mut [T]`, `Range<T>`, `RangeInclusive<T>`, tuples of these, or `Vec<T>` |
/// | [`On::windows`](crate::On::windows) of a source | `&[T]`, `Range<T>` or `RangeInclusive<T>` |
/// | [`source::pieces`](crate::source::pieces), [`On::chunk_by`](crate::On::chunk_by) | as [`On::chunks`](crate::On::chunks) |
/// | [`On::at`](crate::On::at) of a slice | `&T` or `&mut T` |
/// | [`source::tiles`](crate::source::tiles) of a `&mut [T]` | [`Tile<T>`](crate::source::Tile) |
/// | `map`, `copied`, `inspect`, `enumerate`, `take`, `skip`, `rev`, `step_by` of a source | as [`Iterator`] |
///
/// Sealed: it cannot be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of items with an index",
    label = "not a source",
    note = "behind `filter`, `flat_map`, `with` and so on, items have no index: `zip`, `enumerate` and so on stand before such a stage, and a function returns `impl Chain`",
    note = "a function returns `source(..)` and stages, which the caller passes to `pool.on(..)`"
)]
pub trait Source: Chain<State = Stateless> {
    /// The number of items.
    fn count(&self) -> usize;

    /// A number that distinguishes this source from others. The pool uses it as a part of the key
    /// under which it remembers the cost of a loop over the source.
    #[doc(hidden)]
    fn address(&self) -> usize;

    /// The type of a worker's claim log. The type has no content, unless the source moves items
    /// out.
    #[doc(hidden)]
    type Ledger<'s>
    where
        Self: 's;

    /// An empty claim log, for a worker that begins.
    #[doc(hidden)]
    fn ledger(&self) -> Self::Ledger<'_>;

    /// Notes that the items of `range` are claimed. The worker requests these items once, after
    /// this call.
    #[doc(hidden)]
    fn note(&self, ledger: &mut Self::Ledger<'_>, range: Range<usize>);

    /// Whether the source is in parts, which a lock guards: then claims are to be few. The parts
    /// are code of other crates, so [`items`](Self::items) may return more or fewer than it should.
    #[doc(hidden)]
    const IS_PARTED: bool = false;

    /// Whether claimed items that are not requested are dropped one by one: the source moves items
    /// out, and dropping an item does something.
    #[doc(hidden)]
    const DROPS_ITEMS: bool = false;

    /// The item at an index.
    ///
    /// # Safety
    /// As for [`items`](Self::items).
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn item(&self, index: usize) -> Self::Item {
        // SAFETY: as the caller promises, since an item has the same index here as in the source
        // that begins the chain.
        self.one(&mut (), unsafe { self.source().own_item(index) })
    }

    /// The item at an index of a source that begins a chain.
    ///
    /// # Safety
    /// As for [`items`](Self::items).
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> Self::Item {
        // SAFETY: as the caller promises.
        let mut items = unsafe { self.items(index..index + 1) };
        let Some(item) = items.next() else { unreachable!("there is one") };
        item
    }

    /// The items at the indices of `range`. The default is for stages that make one item of each
    /// item of their source.
    ///
    /// # Safety
    /// 1. `range` lies within `0..self.count()`. 2. No index is requested twice. 3. `range` has
    ///    been noted, in a claim log of this source.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises, since an item has the same index here as in the source
        // that begins the chain.
        unsafe { self.source().items(range) }.map(|item| self.one(&mut (), item))
    }

    /// The items at the indices of `range`, the last one first.
    ///
    /// # Safety
    /// As for [`items`](Self::items).
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises, since an item has the same index here as in the source
        // that begins the chain.
        unsafe { self.source().own_items_backward(range) }.map(|item| self.one(&mut (), item))
    }

    /// The items at the indices of `range` of a source that begins a chain, the last one first.
    ///
    /// # Safety
    /// As for [`items`](Self::items).
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.items(range) }.rev()
    }

    /// The items at the indices of `range` of a source that begins a chain, made by `make`, in
    /// blocks. The closure returns the next block of a length from the front, or, if it receives
    /// false, from the back. No block is longer than what is left.
    ///
    /// # Safety
    /// As for [`items`](Self::items).
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn own_blocks<R>(
        &self,
        range: Range<usize>,
        make: impl Fn(Self::Item) -> R,
    ) -> impl FnMut(usize, bool) -> Vec<R> {
        // SAFETY: as the caller promises.
        let mut items = unsafe { self.items(range) }.map(make);
        move |len, is_first| {
            if is_first {
                return items.by_ref().take(len).collect();
            }
            let mut block: Vec<R> = items.by_ref().rev().take(len).collect();
            block.reverse();
            block
        }
    }

    /// Whether `find_map` of [`items`](Self::items) is faster than a `for` loop over them.
    /// Otherwise no loop calls it: one more frame would be on the path to each closure.
    #[doc(hidden)]
    const FINDS_FASTER: bool = false;
}

/// A type that can be converted to a [`Chain`]: slices, vectors and arrays by shared or exclusive
/// reference; vectors, boxed slices and arrays by value; ranges of integers; tuples of up to eight
/// of these, as sources in step; and the results of [`source`](crate::source()).
///
/// ```
/// use rangesteal::{Pool, source::IntoChain};
///
/// /// The number of items of a slice, a range or any other chain.
/// fn count(pool: &Pool, items: impl IntoChain<Chain: Sync>) -> usize {
///     pool.on(items).count()
/// }
///
/// let pool = Pool::new()?;
/// assert_eq!(count(&pool, 0..10) + count(&pool, &[1, 2]), 12);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// Not sealed: you can implement it for your own type that holds a slice.
///
/// ```
/// use rangesteal::{Pool, source::{Exclusive, IntoChain}};
///
/// struct Matrix { cells: Vec<f64> }
///
/// impl<'a> IntoChain for &'a Matrix {
///     type Chain = &'a [f64];
///
///     fn into_chain(self) -> &'a [f64] {
///         &self.cells
///     }
/// }
///
/// impl<'a> IntoChain for &'a mut Matrix {
///     type Chain = Exclusive<'a, f64>;
///
///     fn into_chain(self) -> Exclusive<'a, f64> {
///         (&mut self.cells).into_chain()
///     }
/// }
///
/// let (pool, mut matrix) = (Pool::new()?, Matrix { cells: vec![1.0; 6] });
/// pool.on(&mut matrix).for_each(|cell| *cell += 1.0);
/// let sums: Vec<f64> = pool.on(&matrix).chunks(3).map(|row| row.iter().sum()).collect();
/// assert_eq!(sums, [6.0, 6.0]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "no loop runs over `{Self}`",
    label = "neither a slice, nor a range of integers, nor a chain",
    note = "pass `&v`, `&mut v` or `v` of a slice, vector or array; a range of integers such as `0..n`; or a tuple of these",
    note = "iterators and other collections are collected into a `Vec` first"
)]
pub trait IntoChain {
    /// The type of the chain.
    type Chain: Chain;

    /// Converts the value to a chain.
    fn into_chain(self) -> Self::Chain;
}

/// Implements [`IntoChain`] for a type of chain: the conversion returns the chain itself. (With one
/// implementation for all `C: Chain`, users would get a second error message, in which the compiler
/// reports that their type does not implement `Chain`.)
macro_rules! itself {
    ([$($generic:tt)*] $chain:ty $(where $($bound:tt)*)?) => {
        impl<$($generic)*> $crate::pool::verbs::chain::sealed::Sealed for $chain $(where $($bound)*)? {}

        impl<$($generic)*> $crate::pool::verbs::chain::IntoChain for $chain $(where $($bound)*)? {
            type Chain = Self;

            #[inline(always)]
            fn into_chain(self) -> Self {
                self
            }
        }
    };
}
pub(super) use itself;

/// The part of [`Chain`] that all sources share: a source begins a chain, makes one item of each
/// source item, and has no state.
macro_rules! base {
    () => {
        type Source = Self;
        type State = Stateless;
        const MAKES_ONE: bool = true;

        #[inline(always)]
        fn source(&self) -> &Self {
            self
        }

        #[inline(always)]
        fn states(&self) -> &Stateless {
            &Stateless
        }

        #[inline(always)]
        fn push<Acc, Z>(
            &self,
            state: &mut (),
            item: Self::Item,
            acc: Acc,
            mut next: impl FnMut(&mut (), Acc, Self::Item) -> Result<Acc, Z>,
        ) -> Result<Acc, Z> {
            next(state, acc, item)
        }
    };
}
pub(super) use base;

/// The part of [`Chain`] that stages share: source and state are those of the chain before the
/// stage, which is in the field `chain`. The closure is the stage: it receives an item of that
/// chain.
macro_rules! behind {
    (|$self:ident, $next:ident, $state:ident, $acc:ident, $item:ident| $pushed:expr) => {
        type Source = C::Source;
        type State = C::State;

        #[inline(always)]
        fn source(&self) -> &C::Source {
            self.chain.source()
        }

        #[inline(always)]
        fn states(&self) -> &C::State {
            self.chain.states()
        }

        #[inline(always)]
        fn push<A, Z>(
            &$self,
            state: &mut WorkerOf<C>,
            item: SourceItem<C>,
            acc: A,
            mut $next: impl FnMut(&mut WorkerOf<C>, A, Self::Item) -> Result<A, Z>,
        ) -> Result<A, Z> {
            $self.chain.push(state, item, acc, |$state, $acc, $item| $pushed)
        }
    };
}
pub(super) use behind;

/// Implements [`Chain`] for a source, which begins its chain. `$item` is the type of the items.
macro_rules! begins_a_chain {
    ([$($generic:tt)*] $source:ty, $item:ty) => {
        impl<$($generic)*> Chain for $source {
            type Item = $item;
            base!();
        }

        impl<$($generic)*> Each for $source {}

        itself!([$($generic)*] $source);
    };
}
pub(super) use begins_a_chain;

/// The part of [`Source`] for sources that lend items or count integers: such sources note no
/// claims.
macro_rules! nothing_is_noted {
    () => {
        type Ledger<'s>
            = ()
        where
            Self: 's;

        #[inline(always)]
        fn ledger(&self) {}

        #[inline(always)]
        fn note(&self, (): &mut (), _: Range<usize>) {}
    };
}
pub(super) use nothing_is_noted;

/// The part of [`Source`] for a source that is made of another source, which notes the claims.
/// `$there` is the range of indices in the other source. If it is left out, an item has the same
/// index in both sources. The address is that of the other source, moved by the begin of an empty
/// range there.
macro_rules! made_of {
    ($source:tt) => {
        made_of!($source, self, range => range);

        fn count(&self) -> usize {
            self.$source.count()
        }
    };
    ($source:tt, $self:ident, $range:ident => $there:expr) => {
        type Ledger<'s>
            = S::Ledger<'s>
        where
            Self: 's;
        const IS_PARTED: bool = S::IS_PARTED;
        const DROPS_ITEMS: bool = S::DROPS_ITEMS;

        fn address(&$self) -> usize {
            let $range = 0..0;
            $self.$source.address().wrapping_add($there.start)
        }

        #[inline(always)]
        fn ledger(&self) -> S::Ledger<'_> {
            self.$source.ledger()
        }

        #[inline(always)]
        fn note(&$self, ledger: &mut S::Ledger<'_>, $range: Range<usize>) {
            $self.$source.note(ledger, $there);
        }
    };
}
pub(super) use made_of;

pub(crate) mod sealed {
    pub trait Sealed {}
}
