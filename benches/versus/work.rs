//! Work of a given cost that does not look at the clock: a chain of dependent integer operations, whose end can be checked.

use std::{hint::black_box, sync::LazyLock, time::Instant};

/// The end of a chain of `iterations` links; 0, and no work, for 0.
#[inline]
pub(crate) fn work(iterations: u64) -> u64 {
    // The multiplier is 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming 3, section 6.4).
    (0..iterations).fold(iterations, |x, _| (x ^ x >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// What a link costs. The fastest of many short runs: whatever disturbs the machine only makes it slower.
static NANOS_A_LINK: LazyLock<f64> = LazyLock::new(|| {
    const LINKS: u64 = 100_000;
    let run = |_| {
        let begin = Instant::now();
        black_box(work(black_box(LINKS)));
        begin.elapsed().as_secs_f64() * 1e9 / LINKS as f64
    };
    (0..100).map(run).fold(f64::INFINITY, f64::min)
});

/// How many links take `nanos`. The first call measures; let it come from a pinned thread.
pub(crate) fn links(nanos: u64) -> u64 {
    (nanos as f64 / *NANOS_A_LINK).round() as u64
}
