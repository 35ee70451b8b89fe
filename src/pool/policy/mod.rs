//! Policy: which workers take part in a loop, and how many items a claim takes. All decisions here
//! are hints: they change the speed of a loop, never its result. Nothing here waits, locks or
//! starts a thread. Time and random numbers are arguments.
//!
//! In the order of a call: `launch` decides whether workers are woken, from the `prices` of help
//! and the `memory` of the loop; `plain` divides a short loop into parts. `repeat` says which calls
//! do without such a decision, and run as an earlier one ran. `free_cpus` limits the number of
//! helpers while other threads call loops. `alone_or_shared` decides whether sharing has paid, and
//! `rounds` whether it pays for the program around the loop. `split` decides where the ranges of
//! workers begin, and `rhythm` decides whether helpers stay awake for the next loop. `pace` decides
//! when a thread reads the clock next: `alone` for the calling thread alone, and `grain`, which
//! also decides how many items a claim takes, for a worker. `victim` chooses the worker that a
//! thief steals from. `theft` decides whether the theft pays and where it divides the range.
//! `learn` is told at the end of a shared call. In a list that grows, `back_off` decides when a
//! worker looks again for new items. In a loop whose items wait, `poll_costs` decides which workers
//! take part. `site` is the key under which a loop is remembered.
//!
//! An attempt that has failed is repeated after an interval. After each failure the interval grows,
//! except the last one of this list:
//!
//! * trials of running alone or shared (`alone_or_shared`): 4 times the last interval, up to 16,384
//!   calls;
//! * polls between loops (`rhythm`): about twice the last interval, up to 254 calls;
//! * searches for work in a list that grows (`back_off`): twice the last pause, without a bound;
//! * calls of workers to such a list (`back_off`): twice the last pause, up to 100 times the cost
//!   of help;
//! * trials of blocks of 64 items (`grain`): always 64 stretches.
//!
//! Each atomic is independent of all others, so all accesses are `Relaxed`. A lost update loses
//! only a hint.
//!
//! May know: `tell`, and from `place` the distance between two workers. Must not know:
//! `team`, `supply`, `engine`, `verbs`.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates, hashes and packed words

pub(crate) mod alone;
pub(crate) mod alone_or_shared;
pub(crate) mod back_off;
pub(crate) mod free_cpus;
pub(crate) mod grain;
pub(crate) mod launch;
pub(crate) mod learn;
pub(crate) mod memory;
pub(crate) mod pace;
pub(crate) mod plain;
pub(crate) mod poll_costs;
pub(crate) mod prices;
pub(crate) mod repeat;
pub(crate) mod rhythm;
pub(crate) mod rounds;
pub(crate) mod site;
pub(crate) mod split;
pub(crate) mod theft;
pub(crate) mod victim;
