//! The team: the threads, and the loop in which each of them works. Callers and workers meet here.
//! No worker is inside a call that has returned. This part compares no costs, and names no clock:
//! `Patience` limits its polls.
//!
//! `arena` is the state of one shared loop. Each worker has a `post`, where callers offer it jobs.
//! Workers take a job, and its caller waits for them, at the `barrier`. `callback` calls threads
//! back into a list that grows. `here` says in which loop a thread works. `job` lends the workers
//! the caller's closure. `task_list` holds tasks that outlive their caller, and `spawned` says who
//! runs them. `threads` are the threads of the pool. Through `oneshot` a new thread reports that it
//! has arrived. `gate` waits for threads that the pool cannot join. `fork` detects a forked child,
//! in which the threads do not exist.
//!
//! The proof is in `src/pool/README.md`. The comments in the code refer to its cases as `case 1` to
//! `case 23`.
//!
//! May know: `supply`. Must not name any other part of the pool.

pub(crate) mod arena;
pub(crate) mod barrier;
mod callback;
pub(crate) mod fork;
pub(crate) mod gate;
pub(crate) mod here;
pub(crate) mod job;
pub(crate) mod oneshot;
pub(crate) mod post;
pub(crate) mod spawned;
pub(crate) mod task_list;
pub(crate) mod threads;
