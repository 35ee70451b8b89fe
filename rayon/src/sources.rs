//! Macros for iterators that begin a chain, and for collections.

/// Implements both iterator traits for an iterator that begins a chain. The arguments are the
/// source and the length of the iterator.
macro_rules! begins {
    ([$($generic:tt)*] $iter:ty => $item:ty, |$self:ident| $source:expr, |$of:ident| $len:expr) => {
        impl<$($generic)*> $crate::iter::ParallelIterator for $iter {
            type Item = $item;
            $crate::iter::unindexed_by_bridge!();

            #[track_caller]
            fn rs_run<E_: $crate::iter::End<$item>>(self, end: E_) -> E_::Out {
                $crate::iter::IndexedParallelIterator::rs_run_indexed(self, $crate::iter::Unindexed(end, $crate::iter::ANY_LENGTH))
            }

            #[track_caller]
            fn rs_run_backward<E_: $crate::iter::End<$item>>(self, end: E_) -> E_::Out {
                $crate::iter::IndexedParallelIterator::rs_run_indexed(self, $crate::iter::Backward(end, $crate::iter::ANY_LENGTH))
            }

            fn opt_len(&self) -> Option<usize> {
                Some($crate::iter::IndexedParallelIterator::len(self))
            }
        }

        impl<$($generic)*> $crate::iter::IndexedParallelIterator for $iter {
            $crate::iter::indexed_by_bridge!();

            #[allow(unused_mut, reason = "some sources are taken out of a value with a drop")]
            #[track_caller]
            fn rs_run_indexed<E_: $crate::iter::IndexedEnd<$item>>(mut $self, end: E_) -> E_::Out {
                end.source($source)
            }

            fn len(&$of) -> usize {
                $len
            }
        }
    };
}
pub(crate) use begins;

/// Implements `IntoParallelIterator` for a collection.
macro_rules! becomes {
    ([$($generic:tt)*] $collection:ty => $item:ty, $iter:ty, |$self:ident| $make:expr) => {
        impl<$($generic)*> $crate::iter::IntoParallelIterator for $collection {
            type Iter = $iter;
            type Item = $item;

            fn into_par_iter($self) -> $iter {
                $make
            }
        }
    };
}
pub(crate) use becomes;
