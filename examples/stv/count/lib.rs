//! Counts elections by Single Transferable Vote, Meek's method. Each distribution of the ballots is
//! a loop on all cores. README.md says where to begin.
//!
//! Each file calls only files further down in this table:
//!
//! | file | owns |
//! |---|---|
//! | `tally` | a distribution of all ballots as one loop; `pool` has the loops on the pool |
//! | `meek` | the rounds of the count |
//! | `transcript` | the printed transcript |
//! | `plurality` | block voting, for comparison |
//! | `events` | the events of a count, for its listeners |
//! | `ties`, `random` | the rules that decide ties, and random numbers |
//! | `standing` | the state of a count |
//! | `layout` | the ballots as trees of common beginnings, and the distribution on these |
//! | `crew` | the threads of a count: one thread, or those of a pool |
//! | `spread` | the distribution of one ballot; `equalize` has the rule for equal ranks |
//! | `error` | the reasons why a count stops early |
//! | `arithmetic` | the kinds of numbers |

#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![allow(clippy::must_use_candidate, clippy::return_self_not_must_use)] // of a package that is not published
#![allow(missing_docs)] // of fields and variants whose names say what they are

mod arithmetic;
#[cfg(test)]
mod corpus;
mod crew;
mod error;
mod events;
mod layout;
mod meek;
mod plurality;
mod random;
mod spread;
mod standing;
mod tally;
mod ties;
mod transcript;

pub use arithmetic::{Approx, Arithmetic, BigFixed9, Exact, Fault, Fixed9, Float64, Words};
pub use crew::{Crew, Parallel, Threads};
pub use error::CountError;
pub use events::{Event, Listener, Scene};
pub use layout::{Chunk, Factors, Layout, Sums};
pub use meek::Rule;
pub use plurality::count as plurality;
pub use random::SplitMix64;
pub use spread::{KeepFactor, Votes};
pub use standing::Standing;
pub use tally::{Effort, Loops, count, count_with, in_order::in_order};
pub use ties::{Tie, drawn};
pub use transcript::Transcript;
