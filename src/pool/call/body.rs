//! The kernel of a loop.

use crate::pool::protocol::range::Claims;

/// The kernel's work, as the workers see it. Only the public loops know what the indices mean.
pub(crate) trait Body: Sync {
    /// A worker's state during a loop. The worker makes it and drops it.
    type State<'s>
    where
        Self: 's;
    /// A partial result: that of a run of neighbouring items.
    type Acc: Send;
    /// The value with which a loop stops early.
    type Found: Send;
    /// Whether the loop may stop early: whether there is a value of `Found`. A hint.
    const MAY_STOP: bool = size_of::<Option<Self::Found>>() > 0;

    /// Makes the state of worker `me`. Called once per worker and loop, and again after a panic.
    fn state(&self, me: usize) -> Self::State<'_>;

    /// Makes all `claims`, of which there may be none, and folds their indices. `acc` is the
    /// partial result of the indices before them in the same run, if there are any. An `Err` stops
    /// the loop. Without items there is no partial result.
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
/// LLVM inlines a closure of more than some 45 instructions only if one place of the program calls
/// it. It vectorises a loop only after it has inlined the closure. (40 rounds of shift, xor and add
/// on `u32`: with a second place they took 4.2 times as long.)
#[inline(never)]
pub(crate) fn kernel<'s, L: Body>(
    body: &'s L,
    state: &mut L::State<'s>,
    acc: Option<L::Acc>,
    claims: &mut Claims<'_>,
) -> Result<Option<L::Acc>, Stop<L::Found>> {
    body.fold(state, acc, claims)
}

/// Where a loop stops before its last item, and the value that it has found there. Without a type
/// parameter, the value is stored elsewhere.
///
/// This is the error type of the kernel, and its layout matters. (With a `bool` in place of
/// `place`, the `bool` lay where accumulators have a pointer or a length. The compiler then wrote
/// these in pieces of bytes and read them as a whole, which stalls the CPU.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<Z = ()> {
    /// The index at which the loop stops.
    pub(crate) at: usize,
    /// Items from this index on are not needed any more. It is `at`; or 0 if the items before `at`
    /// are not needed either.
    pub(crate) place: usize,
    pub(crate) found: Z,
}

impl<Z> Stop<Z> {
    /// A stop at `at`. The items before `at` are still needed.
    #[inline(always)]
    pub(crate) fn there(at: usize, found: Z) -> Self {
        Self { at, place: at, found }
    }
}
