//! Who may touch what, and why: the part that has to be right. No clock is read here, and no costs
//! are compared: when a thief has to choose, it asks its [`Tactics`](range::Tactics). Whatever
//! these answer, every index is claimed exactly once, and no worker is inside a call that has
//! returned.
//!
//! `cell` is one worker's range with the single steps of the protocol, `range` composes them:
//! claim, settle, steal, cut. `fence` is the pair of barriers between a claim and a theft. `front`
//! is the other way of sharing indices: all workers claim from one front. `deque` holds what items
//! have made in a loop over a list that grows, and `hunger` tells who looks for some of it, and who
//! has gone. `hub` tells which of the items that wait have been woken, and `futures` holds these
//! items, in a table that grows (`slab`); `early` are those that are begun first. `arena` is what
//! each shared loop needs for itself. `barrier` lets workers into a call and the caller out of it,
//! `job` lends them the caller's closure, and `crew` are the threads. `oneshot` tells that a thread
//! has come, and `gate` waits for those that cannot be joined. `fork` tells whether the threads are
//! in this process or in its parent.
//!
//! The proof is in `src/pool/README.md`; the comments in the code refer to its cases as `case 1` to
//! `case 21`. Builds for tests take [`Fence`] and the steps from `check`, where one of them can be
//! made wrong.
//!
//! Must not know: any other room.

pub(crate) mod arena;
pub(crate) mod barrier;
pub(crate) mod cell;
pub(crate) mod crew;
pub(crate) mod deque;
pub(crate) mod early;
pub(crate) mod fence;
pub(crate) mod fork;
pub(crate) mod front;
pub(crate) mod futures;
pub(crate) mod gate;
mod here;
pub(crate) mod hub;
pub(crate) mod hunger;
pub(crate) mod job;
pub(crate) mod oneshot;
pub(crate) mod range;
pub(crate) mod slab;

#[cfg(test)]
pub(crate) use super::check::fence::Fence;
#[cfg(not(test))]
pub(crate) use fence::Fence;
