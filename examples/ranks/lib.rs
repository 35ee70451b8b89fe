//! What the programs that run on several ranks have in common. `README.md` tells how to run them.

pub mod exchange;
pub mod figures;
pub mod launch;
pub mod shares;
