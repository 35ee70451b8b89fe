//! Which workers take part, and how many items a claim takes. All of it is hints: they decide which
//! workers take part and how fast, never the result. Nothing here waits, locks or starts anything;
//! time and random numbers are arguments.
//!
//! In the order of a call: `launch` decides whether workers are woken, from the `prices` of help
//! and the `memory` of the loop. `alone_or_shared` decides whether sharing has paid, `split` where
//! the ranges of workers begin, `rhythm` whether helpers stay awake for the next loop, and `grain`
//! how many items a claim takes. `victim` chooses the worker that a thief steals from, and `theft`
//! decides whether the theft pays and where it begins. `back_off` decides when a worker looks again
//! for items that items have made, and `poll_costs` which workers take part in a loop whose items
//! wait. `site` is the name under which a loop is remembered.
//!
//! An attempt that has failed is repeated after an interval. Each interval has its own unit:
//!
//! * trials of running alone or shared (`alone_or_shared`): 4 times the last one, up to 16,384
//!   calls;
//! * polls between loops (`rhythm`): about twice the last one, up to 254 calls;
//! * searches for work in a list that grows (`back_off`): twice the last one, without a bound;
//! * calls of workers to such a list (`back_off`): twice the last one, up to 100 times the cost of
//!   help;
//! * blocks of 64 (`grain`): always 64 stretches.
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
