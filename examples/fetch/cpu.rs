//! CPU time, which is zero on systems where this crate cannot read CPU times.

use std::time::Duration;

#[cfg(target_os = "linux")]
use nix::time::{ClockId, clock_gettime};

/// The CPU time of all threads.
pub(crate) fn of_process() -> Duration {
    #[cfg(target_os = "linux")]
    return clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// The CPU time of this thread.
pub(crate) fn of_this_thread() -> Duration {
    #[cfg(target_os = "linux")]
    return clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}
