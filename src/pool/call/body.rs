//! What a loop does, as its workers see it.

use std::ops::Range;

/// What a loop does. Only the public loops know what the indices mean.
pub(crate) trait Body: Sync {
    /// Whether indices may be claimed in blocks, and not only one by one.
    const IN_BLOCKS: bool = true;
    /// Whether items make others, in a list that grows.
    const MAKES_ITEMS: bool = false;

    /// What a worker keeps during a loop. The worker makes it and drops it.
    type State<'s>
    where
        Self: 's;
    /// A partial result: that of a run of neighbouring items.
    type Acc: Send;
    /// What a loop that stops early returns.
    type Found: Send;

    /// Makes the state of worker `me`. Called once per worker and loop, and again after a panic.
    fn state(&self, me: usize) -> Self::State<'_>;

    /// Folds a non-empty range of indices into `acc`, the partial result of the indices before it
    /// in its run, if there are any; or stops the loop.
    fn block(
        &self,
        state: &mut Self::State<'_>,
        acc: Option<Self::Acc>,
        range: Range<usize>,
    ) -> Result<Self::Acc, Stop<Self::Found>>;
}

/// [`Body::block`], not inlined: all callers share one copy. It is well optimised, since what
/// `body` holds can be loaded before the loop. (When it was inlined, some copies were vectorised
/// and others were not. The plain loop stays inlined: there the compiler may know what the closures
/// have captured.)
#[inline(never)]
pub(crate) fn fold_out_of_line<L: Body>(
    body: &L,
    state: &mut L::State<'_>,
    acc: Option<L::Acc>,
    range: Range<usize>,
) -> Result<L::Acc, Stop<L::Found>> {
    body.block(state, acc, range)
}

/// A loop stops before its last item.
#[derive(Debug)]
pub(crate) struct Stop<Z> {
    /// The index at which it stops.
    pub(crate) at: usize,
    /// The index from which on nothing is needed any more: `at`; or 0, if the items before are not
    /// needed either. (A `bool` instead lay where accumulators have a pointer or a length, which
    /// were then moved in pieces of bytes and read as a whole, with a stall.)
    pub(crate) place: usize,
    pub(crate) found: Z,
}

impl<Z> Stop<Z> {
    /// At `at`; the items before are needed.
    #[inline(always)]
    pub(crate) fn there(at: usize, found: Z) -> Self {
        Self { at, place: at, found }
    }
}
