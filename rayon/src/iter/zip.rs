//! Iterators over the items of several iterators, in step or in turn.

use rangesteal::{source, source::Source};

use super::{
    ANY_LENGTH, Backward, End, IndexedEnd, IndexedParallelIterator, IntoParallelIterator,
    IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator, Unindexed, indexed_by_bridge,
    unindexed_by_bridge,
};

/// Makes one source of two sources.
#[doc(hidden)]
pub trait Join<A, B>: Send {
    /// The type of the items of the one source.
    type Made: Send;

    /// The number of items of the one source, given those of the two sources.
    fn count(&self, a: usize, b: usize) -> usize;

    /// Joins two sources.
    #[track_caller]
    fn join(
        self,
        a: impl Source<Item = A> + Sync,
        b: impl Source<Item = B> + Sync,
    ) -> impl Source<Item = Self::Made> + Sync;
}

/// An iterator over the items of two iterators.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Joined<A, B, J> {
    pub(super) a: A,
    pub(super) b: B,
    pub(super) by: J,
}

/// Joins two sources in step, up to the end of the shorter one.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct InStep;

/// See [`IndexedParallelIterator::zip`].
pub type Zip<A, B> = Joined<A, B, InStep>;
/// See [`IndexedParallelIterator::zip_eq`].
pub type ZipEq<A, B> = Zip<A, B>;

impl<A: Send, B: Send> Join<A, B> for InStep {
    type Made = (A, B);

    fn count(&self, a: usize, b: usize) -> usize {
        a.min(b)
    }

    fn join(
        self,
        a: impl Source<Item = A> + Sync,
        b: impl Source<Item = B> + Sync,
    ) -> impl Source<Item = (A, B)> + Sync {
        source(a).zip_shortest(b)
    }
}

/// Joins two sources in turn.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ByTurns {
    /// Whether to end as soon as one source has no item for its turn.
    pub(super) ends_early: bool,
}

/// See [`IndexedParallelIterator::interleave`].
pub type Interleave<A, B> = Joined<A, B, ByTurns>;
/// See [`IndexedParallelIterator::interleave_shortest`].
pub type InterleaveShortest<A, B> = Joined<A, B, ByTurns>;

impl<T: Send> Join<T, T> for ByTurns {
    type Made = T;

    fn count(&self, a: usize, b: usize) -> usize {
        let more = if self.ends_early { usize::from(a > b) } else { a.abs_diff(b) };
        a.min(b).checked_mul(2).and_then(|both| both.checked_add(more)).expect("at most `usize::MAX` items")
    }

    fn join(
        self,
        a: impl Source<Item = T> + Sync,
        b: impl Source<Item = T> + Sync,
    ) -> impl Source<Item = T> + Sync {
        source(a).in_turn(b, self.ends_early)
    }
}
impl<A, B, J> ParallelIterator for Joined<A, B, J>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
    J: Join<A::Item, B::Item>,
{
    type Item = J::Made;
    unindexed_by_bridge!();

    #[track_caller]
    fn rs_run<E: End<Self::Item>>(self, end: E) -> E::Out {
        let lengths = self.rs_lengths();
        self.rs_run_indexed(Unindexed(end, lengths))
    }

    #[track_caller]
    fn rs_run_backward<E: End<Self::Item>>(self, end: E) -> E::Out {
        let lengths = self.rs_lengths();
        self.rs_run_indexed(Backward(end, lengths))
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }

    fn rs_lengths(&self) -> (usize, usize) {
        let (a, b) = (self.a.rs_lengths(), self.b.rs_lengths());
        (a.0.max(b.0), a.1.min(b.1))
    }
}

impl<A, B, J> IndexedParallelIterator for Joined<A, B, J>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
    J: Join<A::Item, B::Item>,
{
    indexed_by_bridge!();

    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out {
        let Self { a, b, by } = self;
        a.rs_run_indexed(First { b, by, end })
    }

    fn len(&self) -> usize {
        self.by.count(self.a.len(), self.b.len())
    }
}

/// An end that receives the source of the first of two iterators.
struct First<B, J, E> {
    b: B,
    by: J,
    end: E,
}

impl<T, B, J, E> IndexedEnd<T> for First<B, J, E>
where
    B: IndexedParallelIterator,
    J: Join<T, B::Item>,
    E: IndexedEnd<J::Made>,
{
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, a: S) -> E::Out {
        self.b.rs_run_indexed(Second { a, by: self.by, end: self.end })
    }
}

/// An end that receives the source of the second of two iterators.
struct Second<S, J, E> {
    a: S,
    by: J,
    end: E,
}

impl<T, A: Source + Sync, J: Join<A::Item, T>, E: IndexedEnd<J::Made>> IndexedEnd<T> for Second<A, J, E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, b: S) -> E::Out {
        self.end.source(self.by.join(self.a, b))
    }
}

/// An iterator over tuples of items of several iterators. Ends with the shortest of these
/// iterators.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct MultiZip<T>(T);

macro_rules! tuples {
    ($(($($name:ident),+) $nested:tt;)+) => {$(
        impl<$($name: IndexedParallelIterator),+> ParallelIterator for MultiZip<($($name,)+)> {
            type Item = ($($name::Item,)+);
            unindexed_by_bridge!();

            #[track_caller]
            fn rs_run<E_: End<Self::Item>>(self, end: E_) -> E_::Out {
                self.rs_run_indexed(Unindexed(end, ANY_LENGTH))
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }

        impl<$($name: IndexedParallelIterator),+> IndexedParallelIterator for MultiZip<($($name,)+)> {
            indexed_by_bridge!();

            #[allow(non_snake_case, reason = "variables have the names of their types")]
            #[track_caller]
            fn rs_run_indexed<E_: IndexedEnd<Self::Item>>(self, end: E_) -> E_::Out {
                let ($($name,)+) = self.0;
                in_step!($($name),+).map(|$nested| ($($name,)+)).rs_run_indexed(end)
            }

            #[allow(non_snake_case, reason = "variables have the names of their types")]
            fn len(&self) -> usize {
                let ($($name,)+) = &self.0;
                let lengths = [$($name.len()),+];
                lengths.into_iter().fold(usize::MAX, usize::min)
            }
        }

        impl<$($name: IntoParallelIterator<Iter: IndexedParallelIterator>),+> IntoParallelIterator for ($($name,)+) {
            type Item = ($($name::Item,)+);
            type Iter = MultiZip<($($name::Iter,)+)>;

            #[allow(non_snake_case, reason = "variables have the names of their types")]
            fn into_par_iter(self) -> Self::Iter {
                let ($($name,)+) = self;
                MultiZip(($($name.into_par_iter(),)+))
            }
        }

        // The bound is not `&'a $name: IntoParallelIterator`: with that bound the compiler would
        // recurse through tuples of tuples without end.
        impl<'a, $($name),+> IntoParallelIterator for &'a ($($name,)+)
        where
            $($name: IntoParallelRefIterator<'a, Iter: IndexedParallelIterator>,)+
        {
            type Item = ($(<$name as IntoParallelRefIterator<'a>>::Item,)+);
            type Iter = MultiZip<($(<$name as IntoParallelRefIterator<'a>>::Iter,)+)>;

            #[allow(non_snake_case, reason = "variables have the names of their types")]
            fn into_par_iter(self) -> Self::Iter {
                let ($($name,)+) = self;
                MultiZip(($($name.par_iter(),)+))
            }
        }

        impl<'a, $($name),+> IntoParallelIterator for &'a mut ($($name,)+)
        where
            $($name: IntoParallelRefMutIterator<'a, Iter: IndexedParallelIterator>,)+
        {
            type Item = ($(<$name as IntoParallelRefMutIterator<'a>>::Item,)+);
            type Iter = MultiZip<($(<$name as IntoParallelRefMutIterator<'a>>::Iter,)+)>;

            #[allow(non_snake_case, reason = "variables have the names of their types")]
            fn into_par_iter(self) -> Self::Iter {
                let ($($name,)+) = self;
                MultiZip(($($name.par_iter_mut(),)+))
            }
        }
    )+};
}

/// Zips the first iterator with the second one, the resulting pairs with the third one, and so on.
macro_rules! in_step {
    ($first:ident $(, $next:ident)*) => { $first$(.zip($next))* };
}

tuples! {
    (A) A;
    (A, B) (A, B);
    (A, B, C) ((A, B), C);
    (A, B, C, D) (((A, B), C), D);
    (A, B, C, D, E) ((((A, B), C), D), E);
    (A, B, C, D, E, F) (((((A, B), C), D), E), F);
    (A, B, C, D, E, F, G) ((((((A, B), C), D), E), F), G);
    (A, B, C, D, E, F, G, H) (((((((A, B), C), D), E), F), G), H);
    (A, B, C, D, E, F, G, H, I) ((((((((A, B), C), D), E), F), G), H), I);
    (A, B, C, D, E, F, G, H, I, J) (((((((((A, B), C), D), E), F), G), H), I), J);
    (A, B, C, D, E, F, G, H, I, J, K) ((((((((((A, B), C), D), E), F), G), H), I), J), K);
    (A, B, C, D, E, F, G, H, I, J, K, L) (((((((((((A, B), C), D), E), F), G), H), I), J), K), L);
}
