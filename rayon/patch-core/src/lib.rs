//! rangesteal-rayon under the name of rayon-core, all of whose items are at its top. Beside the patch
//! of rayon, so that crates that name rayon-core run on the same pool.

pub use rangesteal_rayon::*;
