//! Strings.

use std::{ops::RangeBounds, string};

use crate::iter::{Gathered, Listed, ParallelDrainRange};

/// The characters of a part of a string, which are taken out of it.
pub type Drain<'a> = Gathered<Listed<string::Drain<'a>>>;

impl<'a> ParallelDrainRange<usize> for &'a mut String {
    type Iter = Drain<'a>;
    type Item = char;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a> {
        Gathered(Listed(self.drain(range)))
    }
}
