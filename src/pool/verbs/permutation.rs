//! Distinct indices of a slice, and the stage that gives the items at these indices.

#![allow(unsafe_code)] // requests items by index, each once

use std::{
    borrow::Cow,
    collections::HashMap,
    error::Error,
    fmt,
    ops::Range,
    sync::atomic::{AtomicU8, Ordering},
};

use super::{
    chain::{Chain, Each, Source, base, begins_a_chain, itself, nothing_is_noted},
    on::On,
    source::Lent,
    state::Stateless,
};
use crate::pool::engine::executor::Executor;

/// Distinct indices of a slice, in any order. Made by [`Pool::permutation`](crate::Pool), which
/// checks them. [`On::at`](crate::On::at) runs over the items at these indices, and has an example.
///
/// If there are as many indices as items, this is a permutation of the items. Otherwise it is a
/// [partial permutation](https://en.wikipedia.org/wiki/Partial_permutation): some items are left
/// out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation<'i> {
    /// Distinct, and less than `len`. Nobody can change them: a `Cow` of a slice of `usize` runs no
    /// code of a user, and these indices are lent as `&[usize]` only.
    indices: Cow<'i, [usize]>,
    len: usize,
}

impl<'i> Permutation<'i> {
    /// Checks the indices with the pool. A worker marks a byte for each index. The indices are
    /// distinct and less than `len` if and only if as many bytes are marked as there are indices.
    ///
    /// Bytes are stored and not read, so workers do not wait for each other's cache lines. (A bit
    /// for each index would need an atomic read-modify-write.)
    #[track_caller]
    pub(crate) fn new(
        executor: &Executor,
        indices: Cow<'i, [usize]>,
        len: usize,
    ) -> Result<Self, PermutationError> {
        // Collected in place: the zeroed pages of the allocator stay untouched.
        let mut marks: Vec<AtomicU8> = vec![0; len].into_iter().map(AtomicU8::new).collect();
        On::new(executor, &*indices).for_each(|index| {
            if let Some(mark) = marks.get(*index) {
                // Relaxed: the end of the loop orders the marks before the count.
                mark.store(1, Ordering::Relaxed);
            }
        });
        // Sums of at most 255 marks fit in a byte, and are vectorised as bytes.
        let sum = |marks: &mut [AtomicU8]| marks.iter_mut().fold(0, |sum, mark| sum + *mark.get_mut());
        let marked: usize = marks.chunks_mut(255).map(|marks| usize::from(sum(marks))).sum();
        if marked < indices.len()
            && let Some(fault) = first_fault(&indices, len)
        {
            return Err(fault);
        }
        Ok(Self { indices, len })
    }

    /// The indices.
    ///
    /// ```
    /// let pool = rangesteal::Pool::new()?;
    /// let places = pool.permutation(vec![2, 0], 3)?;
    /// assert_eq!(places.indices(), [2, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }
}

/// Returns the fault at the least position, if there is a fault.
#[cold]
fn first_fault(indices: &[usize], len: usize) -> Option<PermutationError> {
    let mut seen = HashMap::new();
    indices.iter().enumerate().find_map(|(position, &index)| {
        if index >= len {
            return Some(PermutationError::OutOfRange { index, position, len });
        }
        let first = seen.insert(index, position)?;
        Some(PermutationError::Duplicate { index, first, second: position })
    })
}

/// The reason why indices are not those of a [`Permutation`]. If there are several faults, this is
/// the fault at the least position. Later versions may add variants, and fields to each variant:
/// match with `..` and `_`.
///
/// ```
/// use rangesteal::{Pool, source::PermutationError};
///
/// let error = Pool::new()?.permutation(&[4, 1, 4], 5).unwrap_err();
/// assert!(matches!(error, PermutationError::Duplicate { index: 4, first: 0, second: 2, .. }));
/// assert_eq!(error.to_string(), "the indices at positions 0 and 2 are both 4");
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermutationError {
    /// Two indices are equal.
    #[non_exhaustive]
    Duplicate {
        /// The index.
        index: usize,
        /// The position of its first occurrence.
        first: usize,
        /// The position of its second occurrence.
        second: usize,
    },
    /// An index is not less than the number of items.
    #[non_exhaustive]
    OutOfRange {
        /// The index.
        index: usize,
        /// The position of the index.
        position: usize,
        /// The number of items.
        len: usize,
    },
}

impl fmt::Display for PermutationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { index, first, second } => {
                write!(f, "the indices at positions {first} and {second} are both {index}")
            }
            Self::OutOfRange { index, position, len } => {
                write!(f, "the index at position {position} is {index}, and there are {len} items")
            }
        }
    }
}

impl Error for PermutationError {}

impl<S: Lent, P> On<S, P> {
    /// Runs over the items at the indices of a [`Permutation`], in its
    /// order. The source is a slice, by shared or exclusive reference. So a loop changes items at
    /// arbitrary distinct indices. The indices were checked when the permutation was made, and no
    /// loop checks them again.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut values = [0.0; 4];
    /// let places = pool.permutation(&[3, 1], values.len())?;
    /// for _round in 0..2 {
    ///     pool.on(&mut values).at(&places).zip(&[0.5, 2.0]).for_each(|(value, x)| *value += x);
    /// }
    /// assert_eq!(values, [0.0, 4.0, 0.0, 1.0]);
    /// assert_eq!(pool.on(&values).at(&places).copied().collect::<Vec<_>>(), [1.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the permutation was made for another number of items.
    #[inline(always)]
    #[track_caller]
    pub fn at<'p>(self, places: &'p Permutation<'_>) -> On<Permuted<'p, S>, P> {
        let Self { chain: source, pool } = self;
        let (found, expected) = (source.count(), places.len);
        assert!(found == expected, "at: a permutation for {expected} items, and there are {found}");
        On { chain: Permuted { source, indices: &places.indices }, pool }
    }
}

/// The items of a slice at the indices of a permutation. Made by [`On::at`](crate::On::at).
#[doc(hidden)]
#[derive(Debug)]
pub struct Permuted<'p, S> {
    source: S,
    indices: &'p [usize],
}

begins_a_chain!(['p, S: Lent] Permuted<'p, S>, S::Item);

impl<S: Lent> Source for Permuted<'_, S> {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.indices.len()
    }

    /// The address of the indices: loops over the same slice at other indices differ in cost.
    fn address(&self) -> usize {
        self.indices.as_ptr().addr()
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        self.indices[range].iter().map(|&index| {
            // SAFETY: *once*, *inside*: 1. an index of a `Permutation` is less than its `len`,
            // which is the number of items, as `On::at` has checked; 2. no two positions have the
            // same index, and each position is requested once, as the caller promises.
            unsafe { self.source.at(index) }
        })
    }
}
