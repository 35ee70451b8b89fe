//! Who works, and on how much at a time. All of it is hints: they decide who works and how fast,
//! never the result. Nothing here waits, locks or starts anything; times and chance come as
//! arguments.
//!
//! In the order of a call: `launch` decides whether workers are woken, from the `prices` of help
//! and the `memory` of the loop; `alone_or_shared` whether that has been worth it, `split` where
//! their ranges begin, `rhythm` whether helpers stay awake for the next loop, `grain` how many
//! items a claim takes, `victim` whom a thief robs, and `theft` whether the theft pays and where it
//! begins. `back_off` decides when it pays to look for what items have made, and `poll_costs` who
//! works in a loop whose items wait. `site` is the name under which a loop is remembered, and
//! `estimate` is a number that follows most of its samples.
//!
//! Each atomic is one word that is independent of all others, so they are `Relaxed`: a lost update
//! loses a hint.
//!
//! May know: `record`, and from `place` the distance between two workers. Must not know:
//! `protocol`, `call`, `verbs`.

pub(crate) mod alone_or_shared;
pub(crate) mod back_off;
pub(crate) mod grain;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod poll_costs;
pub(crate) mod prices;
pub(crate) mod rhythm;
pub(crate) mod site;
pub(crate) mod split;
pub(crate) mod theft;
pub(crate) mod victim;
