//! Estimates of times that vary from sample to sample.

#![allow(clippy::cast_possible_truncation)] // an `f32` in the lower half of a word

use crate::sync::{AtomicU64, Ordering};

/// The factor by which a sample moves an estimate.
const SAMPLE_STEP: f32 = 1.0625;
/// In nanoseconds: no estimate is larger. What takes a millisecond is not run alone because of one.
const MOST_NS: f32 = 1e6;

/// An estimate in nanoseconds: roughly the running median of its samples. Each sample moves it by
/// one step, so that no outlier moves it far.
///
/// Relaxed: a lost update loses a hint.
#[derive(Debug)]
pub(crate) struct Estimate(AtomicU64);

impl Estimate {
    pub(crate) fn new(nanos: f32) -> Self {
        Self(AtomicU64::new(u64::from(nanos.to_bits())))
    }

    pub(crate) fn get(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed) as u32)
    }

    pub(crate) fn see(&self, nanos: f32) {
        let now = self.get();
        let now = if nanos > now { now * SAMPLE_STEP } else { now / SAMPLE_STEP };
        self.set(now.clamp(1.0, MOST_NS));
    }

    pub(crate) fn set(&self, nanos: f32) {
        self.0.store(u64::from(nanos.to_bits()), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_goes_where_most_samples_are() {
        let estimate = Estimate::new(20e3);
        for sample in [5e3, 6e3, 1e9].iter().cycle().take(300) {
            estimate.see(*sample);
        }
        assert!((5e3..7e3).contains(&estimate.get()), "{}", estimate.get());
    }
}
