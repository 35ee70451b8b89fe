//! Work of a given cost, without readings of the clock. The work is a chain of dependent integer
//! operations. The result of the chain can be checked.

use std::{hint::black_box, sync::LazyLock, time::Instant};

/// The result of a chain of `links`. A chain of 0 links has the result 0, without work.
#[inline]
pub(crate) fn work(links: u64) -> u64 {
    // The multiplier is 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming 3,
    // section 6.4).
    (0..links).fold(links, |x, _| (x ^ x >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// The time of an item in a plain loop, in nanoseconds, for items of 1, 2, 4 and so on links. Each
/// length is measured, because the processor overlaps consecutive items, and so makes short items
/// cheaper.
static COSTS: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let cost = |links: u64| {
        let items = vec![links; (1 << 17) / links as usize];
        let nanos = |_| {
            let begin = Instant::now();
            black_box(black_box(&items).iter().fold(0, |sum: u64, links| sum.wrapping_add(work(*links))));
            begin.elapsed().as_secs_f64() * 1e9 / items.len() as f64
        };
        // The minimum, since disturbances only make an item slower.
        ((0..20).map(nanos).fold(f64::INFINITY, f64::min), links as f64)
    };
    (0..=16).map(|power| cost(1 << power)).collect()
});

/// The number of links that take `nanos`. The first call measures, and should come from a pinned
/// thread.
pub(crate) fn links(nanos: u64) -> u64 {
    let nanos = nanos as f64;
    let longer = COSTS.partition_point(|(cost, _)| *cost < nanos).clamp(1, COSTS.len() - 1);
    let ((less, few), (more, many)) = (COSTS[longer - 1], COSTS[longer]);
    (few + (nanos - less) / (more - less) * (many - few)).max(0.0).round() as u64
}
