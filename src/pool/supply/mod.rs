//! The supply: the items that are left, and their claims. Every index is claimed exactly once. This
//! part reads no clock and compares no costs: when a thief has a choice, its
//! [`StealPolicy`](range::StealPolicy) decides.
//!
//! `cell` is the range of one worker. `range` has the claim, the theft, `resolve` and `truncate`.
//! `fence` is the pair of barriers between a claim and a theft. In a search all workers claim from
//! one `shared_cursor` instead of ranges. `deque` holds the items that one worker has made or
//! stolen, in a list that grows. `worker_counts` counts the workers that have made items, search
//! for some, or have gone. `wake_queues` holds the woken items of a loop whose items wait.
//! `futures` holds the futures of these items, in a table that grows (`slab`). `first_indices` are
//! the indices of the items that begin first.
//!
//! The proof is in `src/pool/README.md`. The comments in the code refer to its cases as `case 1` to
//! `case 23`.
//!
//! Must not name any other part of the pool.

pub(crate) mod cell;
pub(crate) mod deque;
pub(crate) mod fence;
pub(crate) mod first_indices;
pub(crate) mod futures;
pub(crate) mod range;
pub(crate) mod shared_cursor;
pub(crate) mod slab;
pub(crate) mod wake_queues;
pub(crate) mod worker_counts;

pub(crate) use fence::Fence;
