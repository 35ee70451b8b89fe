//! What a loop does, as its workers see it.

use std::{convert::Infallible, ops::Range};

/// What a loop does. What the indices mean is the business of the public loops.
pub(crate) trait Body: Sync {
    /// Whether indices may be claimed in blocks, and not only one by one.
    const IN_BLOCKS: bool = true;

    /// What a worker keeps during a loop: made by it, and dropped by it.
    type State;
    /// A partial result, of a run of neighbouring items.
    type Acc: Send;
    /// What is found where a loop stops.
    type Found: Send;

    /// Makes the state of worker `me`: called once a worker and loop, and again after a panic.
    fn state(&self, me: usize) -> Self::State;

    /// Folds a range of indices, which is not empty, into the partial result of those before it in its run, if there are any; or
    /// stops.
    fn block(
        &self,
        state: &mut Self::State,
        acc: Option<Self::Acc>,
        range: Range<usize>,
    ) -> Result<Self::Acc, Stop<Self::Found>>;
}

/// [`Body::block`], out of line: one copy for all who fold whatever range they have, well optimised, since what `body` holds can be
/// loaded before the loop. (In line, some copies were vectorised and others not. The plain loop stays in line: there the compiler may
/// know what the closures have captured.)
#[inline(never)]
pub(crate) fn fold<L: Body>(
    body: &L,
    state: &mut L::State,
    acc: Option<L::Acc>,
    range: Range<usize>,
) -> Result<L::Acc, Stop<L::Found>> {
    body.block(state, acc, range)
}

/// The end of a loop before its last item.
#[derive(Debug)]
pub(crate) struct Stop<Z> {
    /// The index.
    pub(crate) at: usize,
    /// Whether what lies before it need not be folded any more either.
    pub(crate) anywhere: bool,
    pub(crate) found: Z,
}

impl<Z> Stop<Z> {
    /// At or behind that index nothing is needed any more.
    pub(crate) fn place(&self) -> usize {
        if self.anywhere { 0 } else { self.at }
    }
}

/// How a loop ends without a result.
#[derive(Debug)]
pub(crate) enum End<Z> {
    /// Something was found: of several, that with the lowest index.
    Stopped(Z),
    Cancelled,
}

/// The result of a loop that nothing stops; none if it was cancelled.
#[inline(always)]
pub(crate) fn through<A>(ended: Result<A, End<Infallible>>) -> Option<A> {
    ended.ok() // there is no `Infallible`
}

/// The result of a loop, or what it has found; none if it was cancelled.
#[inline(always)]
pub(crate) fn result<A, Z>(ended: Result<A, End<Z>>) -> Option<Result<A, Z>> {
    match ended {
        Ok(result) => Some(Ok(result)),
        Err(End::Stopped(found)) => Some(Err(found)),
        Err(End::Cancelled) => None,
    }
}
