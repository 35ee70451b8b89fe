//! A parallel iterator that takes characters out of a [`String`].

use std::{ops::RangeBounds, string};

use crate::iter::{Gathered, Listed, ParallelDrainRange};

/// An iterator that takes the characters of a range out of a string.
pub type Drain<'a> = Gathered<Listed<string::Drain<'a>>>;

impl<'a> ParallelDrainRange<usize> for &'a mut String {
    type Iter = Drain<'a>;
    type Item = char;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a> {
        Gathered(Listed(self.drain(range)))
    }
}
