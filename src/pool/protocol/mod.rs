//! Who may touch what, and why: the part that has to be right. No clock is read here, and no costs
//! are compared: when a thief has to choose, it asks its [`StealPolicy`](range::StealPolicy).
//! Whatever these answer, every index is claimed exactly once, and no worker is inside a call that
//! has returned.
//!
//! `cell` is one worker's range with the single steps of the protocol, `range` composes them:
//! claim, settle, steal, cut. `fence` is the pair of barriers between a claim and a theft.
//! `shared_cursor` is the other way of sharing indices: all workers claim from one front. `deque`
//! holds what items have made in a loop over a list that grows, and `searching` tells who looks for
//! some of it, and who has gone. `wake_queues` tells which of the items that wait have been woken,
//! and `futures` holds these items, in a table that grows (`slab`); `first_indices` are those that
//! are begun first. `arena` is what each shared loop needs for itself. `barrier` lets workers into
//! a call and the caller out of it, `job` lends them the caller's closure, and `threads` are the
//! threads. `oneshot` tells that a thread has come, and `gate` waits for those that cannot be
//! joined. `fork` tells whether the threads are in this process or in its parent.
//!
//! The proof is in `src/pool/README.md`; the comments in the code refer to its cases as `case 1` to
//! `case 21`. Models, and builds with `--cfg planted`, take the steps and their test's [`Fence`]
//! from `check`, where one of them can be made wrong. All other builds have the shipped steps, a
//! plain `cargo test` too.
//!
//! Must not know: any other room.

pub(crate) mod arena;
pub(crate) mod barrier;
pub(crate) mod cell;
pub(crate) mod deque;
pub(crate) mod fence;
pub(crate) mod first_indices;
pub(crate) mod fork;
pub(crate) mod futures;
pub(crate) mod gate;
mod here;
pub(crate) mod job;
pub(crate) mod oneshot;
pub(crate) mod range;
pub(crate) mod searching;
pub(crate) mod shared_cursor;
pub(crate) mod slab;
pub(crate) mod threads;
pub(crate) mod wake_queues;

#[cfg(all(test, any(loom, shuttle, planted)))]
pub(crate) use super::check::fences::TestFence as Fence;
#[cfg(not(all(test, any(loom, shuttle, planted))))]
pub(crate) use fence::Fence;
