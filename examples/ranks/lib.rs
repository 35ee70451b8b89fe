//! The common parts of the programs that run on several ranks. `README.md` explains how to run
//! them.

pub mod exchange;
pub mod figures;
pub mod launch;
pub mod shares;
