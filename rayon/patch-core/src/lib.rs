//! rangesteal-rayon under the name of rayon-core, whose items are all at its top. A patch beside
//! that of rayon lets crates that name rayon-core run on the same pool.

pub use rangesteal_rayon::*;
