//! The checks that need access to private items. Nothing here is in the library that users build.
//!
//! `planted` has the steps of the protocol and of a call, in a form in which each step can be done
//! wrong. `fences` has the pairs of fences, and wrong pairs. Builds for loom and for shuttle, and
//! builds with `--cfg planted`, contain `planted` and `fences`; a plain `cargo test` runs the
//! shipped steps and fences. `models` runs the real types under loom, which explores all schedules
//! of small rounds, and under shuttle, which tries random schedules of large rounds. Each model
//! passes without a bug, and fails when the bug that it must find is planted. `once` is loom's form
//! of a type of std. `litmus` tests the fences on real cores, which no model checker covers.
//! `machines` tests placement on described machines, and `assignments` tests which worker moves to
//! which CPU there. `simulator` simulates rounds on large machines, `gaps` simulates sequences of
//! rounds with serial work between them, and `callers` simulates several callers of one pool.
//!
//! May name every folder. Nothing that is built for users may name this folder.

#[cfg(all(test, not(any(loom, shuttle, miri))))] // Miri knows no CPUs
mod assignments;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // minutes each under Miri; safe code on one thread
mod callers;
#[cfg(all(test, any(loom, shuttle, planted)))]
pub(crate) mod fences;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // minutes each under Miri; safe code on one thread
mod gaps;
#[cfg(all(test, loom))]
pub(crate) mod halves;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod litmus;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // minutes each under Miri; safe code on one thread
mod machines;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
#[cfg(loom)]
pub(crate) mod once;
#[cfg(any(loom, shuttle, planted))]
pub(crate) mod planted;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // minutes each under Miri; safe code on one thread
mod simulator;
