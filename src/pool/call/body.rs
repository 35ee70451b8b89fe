//! What a loop does, as its workers see it.

use crate::pool::protocol::range::Claims;

/// What a loop does. Only the public loops know what the indices mean.
pub(crate) trait Body: Sync {
    /// What a worker keeps during a loop. The worker makes it and drops it.
    type State<'s>
    where
        Self: 's;
    /// A partial result: that of a run of neighbouring items.
    type Acc: Send;
    /// What a loop that stops early returns.
    type Found: Send;
    /// False if there is no value of `Found`: then nothing stops the loop. A hint.
    const MAY_STOP: bool = size_of::<Option<Self::Found>>() > 0;

    /// Makes the state of worker `me`. Called once per worker and loop, and again after a panic.
    fn state(&self, me: usize) -> Self::State<'_>;

    /// Makes all `claims`, of which there may be none, and folds the indices into `acc`, the
    /// partial result of the indices before them in their run, if there are any; or stops the loop.
    /// There is no partial result without items.
    fn fold<'s>(
        &'s self,
        state: &mut Self::State<'s>,
        acc: Option<Self::Acc>,
        claims: &mut Claims<'_>,
    ) -> Result<Option<Self::Acc>, Stop<Self::Found>>;

    /// Reduces the partial results of two neighbours.
    fn reduce(&self, before: Self::Acc, behind: Self::Acc) -> Self::Acc;
}

/// The kernel: [`Body::fold`] as a function of its own, the only one of the program that has the
/// code of the user's closure. The plain loop, claims, searches, blocks and leaves all come here.
///
/// LLVM inlines a closure of more than some 45 instructions only where it is called at one place of
/// the program, and vectorises a loop only if it has inlined the closure. (40 rounds of shift, xor
/// and add on `u32`: 4.2 times as long with a second place.)
#[inline(never)]
pub(crate) fn kernel<'s, L: Body>(
    body: &'s L,
    state: &mut L::State<'s>,
    acc: Option<L::Acc>,
    claims: &mut Claims<'_>,
) -> Result<Option<L::Acc>, Stop<L::Found>> {
    body.fold(state, acc, claims)
}

/// Where a loop stops before its last item, and what it has found there. Without a type parameter:
/// `found` is stored elsewhere.
///
/// This is the error type of the kernel, and its layout matters. (With a `bool` in place of
/// `place`, the `bool` lay where accumulators have a pointer or a length. They were then written
/// byte by byte and read as a whole, which stalls.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<Z = ()> {
    /// The index at which the loop stops.
    pub(crate) at: usize,
    /// Items from this index on are not needed any more: `at`; or 0 if the items before `at` are
    /// not needed either.
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
