//! rangesteal-rayon under the name of rayon. `[patch.crates-io]` replaces rayon by this package in
//! a whole tree of dependencies.

pub use rangesteal_rayon::*;
