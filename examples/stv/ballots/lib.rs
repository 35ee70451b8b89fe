//! Ballot files of preferential elections: BLT, Scottish CSV and `PrefLib`.
//!
//! ```
//! let file = b"2 1\n3 1 2 0\n2 2 0\n0\n\"Ada\" \"Bert\" \"Chair\"";
//! let election = stv_ballots::parse("chair.blt", file)?;
//! assert_eq!(election.title, "Chair");
//! for (weight, preferences) in election.ballots.iter() {
//!     let candidates = preferences.map(|ranked| &election.candidates[ranked.candidate()]);
//!     let names: Vec<_> = candidates.map(|candidate| &*candidate.name).collect();
//!     println!("{weight} times {}", names.join(", "));
//! }
//! # Ok::<(), stv_ballots::InputError>(())
//! ```
//!
//! Each file calls only files further down in this table:
//!
//! | file | owns |
//! |---|---|
//! | `formats` | files of all formats, recognised by their contents |
//! | `blt` | the BLT format |
//! | `reading` | the user's options for reading |
//! | `warnings` | warnings, with a limit for each kind |
//! | `election` | candidates, seats and ballots in memory |
//! | `action` | the actions of a count |
//! | `ties` | who is tied, and what decides |
//! | `integer` | weights of ballots |
//! | `printable` | text of files in messages |
//! | `named` | enums whose variants have names |

#![allow(clippy::missing_errors_doc, clippy::must_use_candidate, clippy::return_self_not_must_use)] // of a package that is not published

#[macro_use]
mod named;

mod action;
mod blt;
#[cfg(test)]
#[path = "../corpus.rs"]
mod corpus;
mod election;
mod formats;
#[cfg(test)]
mod fuzz;
mod integer;
mod printable;
#[cfg(test)]
#[allow(dead_code, unreachable_pub)] // a file of another package
#[path = "../count/random.rs"]
mod random;
mod reading;
mod ties;
mod warnings;

pub use action::{Action, Cause, Iteration, Status};
pub use blt::{InputError, Naming, Order, Seen, Source, print as print_blt};
pub use election::{
    Ballot, Ballots, Candidate, CandidateIndex, Election, EqualRanks, Preference, Preferences, Turnout,
    called, called_by_name, not_counted,
};
pub use formats::{Plain, Target, parse, read, read_in_parts, survey};
pub use integer::Integer;
pub use printable::{is_formula, misleads, plural, printable};
pub use reading::{Duplicates, Each, Reading};
pub use ties::{By, TieOrder, Tied};
pub use warnings::Kinds;
