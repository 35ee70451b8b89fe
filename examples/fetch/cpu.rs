//! CPU time, where it is known how to ask for it; elsewhere none.

use std::time::Duration;

#[cfg(target_os = "linux")]
use nix::time::{ClockId, clock_gettime};

/// What all threads have used.
pub(crate) fn of_process() -> Duration {
    #[cfg(target_os = "linux")]
    return clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// What this thread has used.
pub(crate) fn of_this_thread() -> Duration {
    #[cfg(target_os = "linux")]
    return clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}
