//! Work of a known duration, for all tests. The duration matters because a pool's decisions depend
//! on it.

use std::time::{Duration, Instant};

/// Keeps this core busy for `nanos` nanoseconds.
pub(crate) fn work(nanos: u64) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_nanos(nanos) {}
}
