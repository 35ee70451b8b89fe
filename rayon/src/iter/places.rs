//! The stages that need the index of an item.

use rangesteal::{source, source::Source};

use super::{IndexedStage, Placed};

/// Declares a stage of sources, and the iterator that consists of a base and the stage.
macro_rules! place {
    (
        $(#[$doc:meta])* $iter:ident, $name:ident($($field:ty)?), $item:ident => $made:ty,
        |$self:ident, $source:ident| $behind:expr, |$count:ident| $counted:expr
    ) => {
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name($(pub(super) $field)?);

        $(#[$doc])*
        pub type $iter<I> = Placed<I, $name>;

        impl<$item: Send> IndexedStage<$item> for $name {
            type Made = $made;

            fn behind<S: Source<Item = $item> + Sync>($self, $source: S) -> impl Source<Item = $made> + Sync {
                $behind
            }

            fn count(&$self, $count: usize) -> usize {
                $counted
            }
        }
    };
}

place! {
    /// See [`IndexedParallelIterator::enumerate`](super::IndexedParallelIterator::enumerate).
    Enumerate, Numbered(), T => (usize, T), |self, of| source(of).enumerate(), |count| count
}
place! {
    /// See [`IndexedParallelIterator::rev`](super::IndexedParallelIterator::rev).
    Rev, Reversed(), T => T, |self, of| source(of).rev(), |count| count
}
place! {
    /// See [`IndexedParallelIterator::skip`](super::IndexedParallelIterator::skip).
    Skip, Without(usize), T => T, |self, of| source(of).skip(self.0), |count| count.saturating_sub(self.0)
}
place! {
    /// See [`IndexedParallelIterator::take`](super::IndexedParallelIterator::take).
    Take, First(usize), T => T, |self, of| source(of).take(self.0), |count| count.min(self.0)
}
place! {
    /// See [`IndexedParallelIterator::step_by`](super::IndexedParallelIterator::step_by).
    StepBy, Steps(usize), T => T, |self, of| source(of).step_by(self.0), |count| count.div_ceil(self.0)
}
place! {
    /// See [`IndexedParallelIterator::chunks`](super::IndexedParallelIterator::chunks).
    Chunks, Pieces(usize), T => Vec<T>, |self, of| source(of).map(|item| item).chunks(self.0),
    |count| count.div_ceil(self.0)
}

/// The stage of [`MinLen`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct AtLeast(pub(super) usize);

/// The stage of [`MaxLen`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct AtMost(pub(super) usize);

/// See [`IndexedParallelIterator::with_min_len`](super::IndexedParallelIterator::with_min_len).
pub type MinLen<I> = Placed<I, AtLeast>;
/// See [`IndexedParallelIterator::with_max_len`](super::IndexedParallelIterator::with_max_len).
pub type MaxLen<I> = Placed<I, AtMost>;

impl<T: Send> IndexedStage<T> for AtLeast {
    type Made = T;

    fn behind<S: Source<Item = T> + Sync>(self, source: S) -> impl Source<Item = T> + Sync {
        source
    }

    fn lengths(&self, (least, most): (usize, usize)) -> (usize, usize) {
        (least.max(self.0), most)
    }
}

impl<T: Send> IndexedStage<T> for AtMost {
    type Made = T;

    fn behind<S: Source<Item = T> + Sync>(self, source: S) -> impl Source<Item = T> + Sync {
        source
    }

    fn lengths(&self, (least, most): (usize, usize)) -> (usize, usize) {
        (least, most.min(self.0))
    }
}
