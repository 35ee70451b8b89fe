//! Iterators over tuples of items of several iterators.

use rangesteal::{source, source::Source};

use super::{
    Backward, End, IndexedEnd, IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelIterator, Unindexed,
};

/// An iterator over pairs of items of two iterators. See [`IndexedParallelIterator::zip`].
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Zip<A, B> {
    pub(super) a: A,
    pub(super) b: B,
}

/// See [`IndexedParallelIterator::zip_eq`].
pub type ZipEq<A, B> = Zip<A, B>;

impl<A, B> crate::absent::IsOfThisCrate for Zip<A, B> {}
impl<T> crate::absent::IsOfThisCrate for MultiZip<T> {}

impl<A: IndexedParallelIterator, B: IndexedParallelIterator> ParallelIterator for Zip<A, B> {
    type Item = (A::Item, B::Item);

    #[track_caller]
    fn run<E: End<Self::Item>>(self, end: E) -> E::Out {
        self.run_indexed(Unindexed(end))
    }

    #[track_caller]
    fn run_backward<E: End<Self::Item>>(self, end: E) -> E::Out {
        self.run_indexed(Backward(end))
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }

    fn lengths(&self) -> (usize, usize) {
        let (a, b) = (self.a.lengths(), self.b.lengths());
        (a.0.max(b.0), a.1.min(b.1))
    }
}

impl<A: IndexedParallelIterator, B: IndexedParallelIterator> IndexedParallelIterator for Zip<A, B> {
    #[track_caller]
    fn run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out {
        self.a.run_indexed(First { b: self.b, end })
    }

    fn len(&self) -> usize {
        self.a.len().min(self.b.len())
    }
}

/// An end that receives the source of the first of two iterators.
struct First<B, E> {
    b: B,
    end: E,
}

impl<T, B: IndexedParallelIterator, E: IndexedEnd<(T, B::Item)>> IndexedEnd<T> for First<B, E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> E::Out {
        self.b.run_indexed(Second { a: source, end: self.end })
    }
}

/// An end that receives the source of the second of two iterators.
struct Second<S, E> {
    a: S,
    end: E,
}

impl<T, A: Source + Sync, E: IndexedEnd<(A::Item, T)>> IndexedEnd<T> for Second<A, E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, b: S) -> E::Out {
        self.end.source(source(self.a).zip_shortest(b))
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

            #[track_caller]
            fn run<E_: End<Self::Item>>(self, end: E_) -> E_::Out {
                self.run_indexed(Unindexed(end))
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }

        impl<$($name: IndexedParallelIterator),+> IndexedParallelIterator for MultiZip<($($name,)+)> {
            #[allow(non_snake_case, reason = "variables have the names of their types")]
            #[track_caller]
            fn run_indexed<E_: IndexedEnd<Self::Item>>(self, end: E_) -> E_::Out {
                let ($($name,)+) = self.0;
                in_step!($($name),+).map(|$nested| ($($name,)+)).run_indexed(end)
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
