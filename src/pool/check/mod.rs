//! The checks that need access to private items. Nothing here is in the library that users build.
//!
//! `models` runs the real types under loom, which explores all schedules of small loops, and under
//! shuttle, which tries random schedules of large loops. `litmus` tests the fences on real cores,
//! which no model checker covers. A copy of the work tree that `.ci/plant` makes also has the bugs
//! of `.ci/bugs.diff`, and the tests in `mod planted`, which must find them.
//! `machines` tests placement on described machines, and `assignments` tests which worker moves to
//! which CPU there. `simulator` simulates loops on large machines, `gaps` simulates sequences of
//! loops with serial work between them, and `callers` simulates several callers of one pool.
//!
//! May name every folder. Nothing that is built for users may name this folder.

#[cfg(all(test, not(any(loom, shuttle, miri))))] // Miri knows no CPUs
mod assignments;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // minutes each under Miri; safe code on one thread
mod callers;
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
#[cfg(all(test, not(any(loom, shuttle, miri))))] // minutes each under Miri; safe code on one thread
mod simulator;
