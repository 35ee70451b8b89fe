//! Random numbers for the data of the programs.

use crate::random::Random;

/// Numbers from 0 to below 1. Every run draws the same ones.
pub(crate) fn uniform() -> impl FnMut() -> f64 {
    let mut random = Random::default();
    move || f64::from(random.draw()) / 2_f64.powi(32)
}
