//! The kernel of a loop.

use crate::pool::supply::range::Claims;

/// The loop's work on indices. Only the public loops know the meaning of the indices.
pub(crate) trait Body: Sync {
    /// A worker's state during a loop. The worker makes and drops its state.
    type State<'s>
    where
        Self: 's;
    /// The partial result of a run of neighbouring items.
    type Acc: Send;
    /// The value with which a loop stops early.
    type Found: Send;

    /// Makes the state of worker `me`. Called once per worker and loop, again after a panic, and
    /// each time that the worker comes back to a list that grows.
    fn state(&self, me: usize) -> Self::State<'_>;

    /// Makes all `claims`, possibly none, and folds the claimed indices. `acc` is the partial
    /// result of the earlier indices of the same run; `None` if this is the begin of the run. An
    /// `Err` stops the loop. A run without items has no partial result.
    fn fold<'s>(
        &'s self,
        state: &mut Self::State<'s>,
        acc: Option<Self::Acc>,
        claims: &mut Claims<'_>,
    ) -> Result<Option<Self::Acc>, Stop<Self::Found>>;

    /// Reduces the partial results of two neighbours.
    fn reduce(&self, before: Self::Acc, behind: Self::Acc) -> Self::Acc;
}

/// The kernel: [`Body::fold`] as a function of its own. No other function of the program contains
/// the code of the user's closure. The plain loop, claims, searches, blocks and leaves all call it.
///
/// LLVM inlines a closure of more than some 45 instructions only if a single place of the program
/// calls the closure. LLVM vectorises a loop only after inlining its closure: that makes a loop of
/// 40 rounds of shift, xor and add on `u32` four times as fast.
#[inline(never)]
pub(crate) fn kernel<'s, L: Body>(
    body: &'s L,
    state: &mut L::State<'s>,
    acc: Option<L::Acc>,
    claims: &mut Claims<'_>,
) -> Result<Option<L::Acc>, Stop<L::Found>> {
    body.fold(state, acc, claims)
}

/// A stop of a loop before its last item: the item, and the value found at this item. The engine
/// knows it as a [`StopAt`](super::ending::StopAt).
///
/// This is the error type of the kernel. It has only whole words, since a result of the kernel
/// shares its bytes with an accumulator: a `bool` in the place of a pointer makes the compiler
/// write the pointer in pieces and read it as one word, which stalls the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<Z> {
    /// The item at which the loop stops.
    pub(crate) at: usize,
    /// Items from this one on are no longer needed: 0 if no item is needed, and `at` otherwise.
    pub(crate) needed_end: usize,
    pub(crate) found: Z,
}

impl<Z> Stop<Z> {
    /// A stop at `at`. The items before `at` are still needed.
    #[inline(always)]
    pub(crate) fn there(at: usize, found: Z) -> Self {
        Self { at, needed_end: at, found }
    }
}
