//! The checks that need access to private items. Nothing here is in the library that users build.
//!
//! `planted` has the steps of the protocol and of a call, each with a way to do it wrong; `fence`
//! has the fences, with ways to do them wrong. `models` runs the real types under loom, which tries
//! all schedules of small rounds, and under shuttle, which tries random schedules of large rounds.
//! Each model passes as it is, and fails when the bug that it is meant to find is planted. `litmus`
//! tries the fences on real cores, which no model checker knows. `machines` puts workers on
//! machines that are not here, `simulator` runs rounds there, and `gaps` runs sequences of rounds
//! with serial work between them.
//!
//! May know everything; nothing that is built for users may know this room.

#[cfg(all(test, any(loom, shuttle, planted)))]
pub(crate) mod fences;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod gaps;
#[cfg(all(test, loom))]
pub(crate) mod halves;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod litmus;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
pub(crate) mod machines;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
#[cfg(any(loom, shuttle, planted))]
pub(crate) mod planted;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod simulator;
