//! Merging two runs: the steps of several merges, interleaved.

#![allow(unsafe_code)] // moves elements bitwise to where they are merged

use std::{hint::select_unpredictable, mem::MaybeUninit};

/// Two neighbouring runs, and where to merge them.
pub(crate) struct MergePart<'a, T> {
    pub(super) left: &'a mut [T],
    pub(super) right: &'a mut [T],
    pub(super) to: &'a mut [MaybeUninit<T>],
}

impl<T> MergePart<'_, T> {
    /// How many steps can be done before one side may be empty.
    fn steps(&self) -> usize {
        self.left.len().min(self.right.len())
    }
}

/// Takes the first `len` items off a slice.
#[allow(clippy::mut_mut)] // as `split_off_mut` has it
pub(super) fn take<'a, T>(items: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    items.split_off_mut(..len).expect("a part is no longer than the whole")
}

/// Merges parts until one of them has an empty side. The steps of one merge depend on each other,
/// those of several merges do not: with four merges, 0.5 ns per element instead of 1.6.
pub(super) fn interleave<T, const N: usize>(
    parts: &mut [MergePart<'_, T>; N],
    is_less: &impl Fn(&T, &T) -> bool,
) {
    loop {
        let steps = parts.iter().map(MergePart::steps).fold(usize::MAX, usize::min);
        if steps == 0 {
            return;
        }
        let mut cursors = parts.each_mut().map(Cursor::new);
        for _ in 0..steps {
            for cursor in &mut cursors {
                // SAFETY: no side of the parts gets empty before so many steps are done.
                unsafe { cursor.step(is_less) };
            }
        }
        for (part, cursor) in parts.iter_mut().zip(cursors) {
            // SAFETY: the cursor has moved within the left side, or to its end.
            let lefts = unsafe { cursor.left.offset_from_unsigned(part.left.as_ptr()) };
            take(&mut part.left, lefts);
            take(&mut part.right, steps - lefts);
            part.to.split_off_mut(..steps).expect("there are as many places as elements");
        }
    }
}

/// How far the merge of a part has come.
struct Cursor<T> {
    left: *const T,
    right: *const T,
    to: *mut T,
}

impl<T> Cursor<T> {
    fn new(part: &mut MergePart<'_, T>) -> Self {
        assert!(part.left.len() + part.right.len() == part.to.len());
        Self { left: part.left.as_ptr(), right: part.right.as_ptr(), to: part.to.as_mut_ptr().cast() }
    }

    /// Moves the lesser element, the left one if they are equal.
    ///
    /// # Safety
    /// 1. The part that this was made of is still borrowed. 2. Neither of its sides is at its end.
    #[inline(always)]
    unsafe fn step(&mut self, is_less: &impl Fn(&T, &T) -> bool) {
        // SAFETY: 1. there is an element, as promised; 2. nobody changes it while the part is
        // borrowed.
        let left = unsafe { &*self.left };
        // SAFETY: 1. there is an element, as promised; 2. nobody changes it while the part is
        // borrowed.
        let right = unsafe { &*self.right };
        let is_right = is_less(right, left);
        let from = select_unpredictable(is_right, self.right, self.left);
        // SAFETY: 1. there is a place for each element that is left; 2. it is on the other side of
        // the round.
        unsafe { self.to.copy_from_nonoverlapping(from, 1) };
        // SAFETY: there was a place.
        self.to = unsafe { self.to.add(1) };
        // SAFETY: there was an element.
        self.left = unsafe { self.left.add(usize::from(!is_right)) };
        // SAFETY: there was an element.
        self.right = unsafe { self.right.add(usize::from(is_right)) };
    }
}
