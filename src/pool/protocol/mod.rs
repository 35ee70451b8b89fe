//! The part of the pool that must be correct: which thread may access which memory, and when. This
//! part reads no clock and compares no costs. When a thief has a choice, its
//! [`StealPolicy`](range::StealPolicy) decides. Whatever the policy decides, every index is claimed
//! exactly once, and no worker is inside a call that has returned.
//!
//! `cell` is the range of one worker. `range` has the claim, the theft, `resolve` and `truncate`.
//! `fence` is the pair of barriers between a claim and a theft. In a search all workers claim from
//! one `shared_cursor` instead of ranges. `deque` holds the items that one worker has made or
//! stolen, in a list that grows. `searching` counts the workers that have made items, search for
//! some, or have gone. `wake_queues` holds the woken items of a loop whose items wait. `futures`
//! holds the futures of these items, in a table that grows (`slab`). `first_indices` are the
//! indices of the items that begin first. `arena` is the state of one shared loop. Each worker has
//! a `post`, where callers offer it jobs. Workers take a job, and its caller waits for them, at the
//! `barrier`. `job` lends the workers the caller's closure. `task_list` holds tasks that outlive
//! their caller, and `spawned` says who runs them. `threads` are the threads of the pool.//!
//! Through `oneshot` a new thread reports that it has arrived. `gate` waits for threads that the
//! pool cannot join. `fork` detects a forked child, in which the threads do not exist.
//!
//! The proof is in `src/pool/README.md`. The comments in the code refer to its cases as `case 1` to
//! `case 23`.
//!
//! Must not name any other part of the pool.

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
pub(crate) mod post;
pub(crate) mod range;
pub(crate) mod searching;
pub(crate) mod shared_cursor;
pub(crate) mod slab;
pub(crate) mod spawned;
pub(crate) mod task_list;
pub(crate) mod threads;
pub(crate) mod wake_queues;

pub(crate) use fence::Fence;
