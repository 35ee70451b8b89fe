//! The clock of the crate: the clock of the system, in nanoseconds on Linux, and that of std
//! elsewhere; on a system without a clock, a clock that stands still; under shuttle, a clock that
//! advances at random.

pub(crate) use moment::Moment;
#[cfg(all(target_os = "linux", not(shuttle)))]
pub(crate) use nanoseconds::Instant;
#[cfg(shuttle)]
pub(crate) use random::Instant;
#[cfg(not(any(target_os = "linux", shuttle, all(target_family = "wasm", target_os = "unknown"))))]
pub(crate) use std::time::Instant;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) use still::Instant;

use std::time::Duration;

/// Converts a time to nanoseconds, the unit of all estimates. Compiled once, since an account of a
/// loop has some 40 such times.
#[inline(never)]
pub(crate) fn nanos(time: Duration) -> f32 {
    time.as_secs_f32() * 1e9
}

/// Converts nanoseconds to a time.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an estimate
#[inline(never)]
pub(crate) fn time(nanos: f32) -> Duration {
    Duration::from_nanos(nanos as u64)
}

/// A point in time that answers one question: was an earlier point clearly longer ago than some
/// time?
#[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, portable)))))]
mod moment {
    use std::cell::Cell;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub(crate) struct Moment(Option<super::Instant>);

    std::thread_local!(static LAST: Cell<Moment> = const { Cell::new(Moment(None)) });

    impl Moment {
        pub(crate) fn now() -> Self {
            let now = Self(Some(super::Instant::now()));
            LAST.set(now);
            now
        }

        /// The last point that this thread has read. Long ago if it has read none.
        pub(crate) fn last() -> Self {
            LAST.get()
        }

        fn since(self, earlier: Self) -> f32 {
            let since = |now: super::Instant, earlier| super::nanos(now - earlier);
            self.0.zip(earlier.0).map_or(f32::INFINITY, |(now, earlier)| since(now, earlier))
        }

        /// Whether clearly more than `nanos` nanoseconds lie between an `earlier` point and this
        /// one.
        pub(crate) fn is_long_after(self, earlier: Self, nanos: f32) -> bool {
            self.since(earlier) > 3.0 * nanos
        }

        /// Whether this point comes at least `nanos` nanoseconds after an `earlier` one.
        pub(crate) fn is_after(self, earlier: Self, nanos: f32) -> bool {
            self.since(earlier) >= nanos
        }
    }
}

/// A point in time that answers one question: was an earlier point clearly longer ago than some
/// time? A point is a reading of the time stamp counter, from which the system computes the clock.
/// This takes less than half the time of a reading of the clock: 7 to 35 ns, the longer times on
/// virtual machines. The length of a tick need not be known.
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, portable))))]
#[allow(unsafe_code)] // reads the time stamp counter
mod moment {
    use std::{arch::x86_64::_rdtsc, cell::Cell};

    /// So many ticks take 2 to 8 ns on processors of 1 to 4 GHz.
    const CLEARLY_A_NANO: f32 = 8.0;
    /// So many ticks take about a nanosecond on most processors.
    const ABOUT_A_NANO: f32 = 2.6;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub(crate) struct Moment(u64);

    std::thread_local!(static LAST: Cell<Moment> = const { Cell::new(Moment(0)) });

    impl Moment {
        #[inline(always)]
        pub(crate) fn now() -> Self {
            // SAFETY: every x86-64 processor has the instruction, which reads and writes no memory.
            let now = Self(unsafe { _rdtsc() });
            LAST.set(now);
            now
        }

        /// The last point that this thread has read. Long ago if it has read none.
        #[inline(always)]
        pub(crate) fn last() -> Self {
            LAST.get()
        }

        /// Whether clearly more than `nanos` nanoseconds lie between an `earlier` point and this
        /// one. The limit is 2 to 8 times `nanos`, depending on the length of a tick.
        #[inline(always)]
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an estimate
        pub(crate) fn is_long_after(self, earlier: Self, nanos: f32) -> bool {
            // If the counters of two CPUs differ, some answers are wrong. The answer is only a
            // hint.
            self.0.wrapping_sub(earlier.0) > (CLEARLY_A_NANO * nanos) as u64
        }

        /// Whether this point comes at least `nanos` nanoseconds after an `earlier` one, about: at
        /// 2 to 3 GHz the limit is 0.9 to 1.3 times `nanos`.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an estimate
        pub(crate) fn is_after(self, earlier: Self, nanos: f32) -> bool {
            self.0.wrapping_sub(earlier.0) >= (ABOUT_A_NANO * nanos) as u64
        }
    }

    #[cfg(test)]
    mod tests {
        use std::time::{Duration, Instant};

        use super::*;

        #[test]
        fn twenty_microseconds_are_long_and_nothing_is_not() {
            let (moment, begin) = (Moment::now(), Instant::now());
            while begin.elapsed() < Duration::from_micros(20) {}
            let now = Moment::now();
            assert!(now.is_long_after(moment, 1e3) && !now.is_long_after(moment, 1e9));
            let is_short = |_: &i32| {
                let last = Moment::last();
                !Moment::now().is_long_after(last, 1e3)
            };
            let short = (0..100).filter(is_short).count();
            assert!(short > 50, "{short} of 100 moments are not long ago");
        }
    }
}

/// The clock of std counts seconds and nanoseconds, and the difference of two of its times takes 40
/// to 56 instructions. A shared call has some 40 differences.
#[cfg(all(target_os = "linux", not(shuttle)))]
mod nanoseconds {
    use std::{ops, time::Duration};

    use nix::time::{ClockId, clock_gettime};

    /// A time of the system's monotonic clock, in nanoseconds.
    #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
    pub(crate) struct Instant(u64);

    impl Instant {
        #[allow(clippy::cast_sign_loss, reason = "this clock begins at 0")]
        pub(crate) fn now() -> Self {
            const SECOND: u64 = 1_000_000_000;
            // Every Linux has this clock. Without it, no time would pass.
            let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
            Self(now.map_or(0, |now| now.tv_sec() as u64 * SECOND + now.tv_nsec() as u64))
        }

        #[inline(never)]
        pub(crate) fn elapsed(self) -> Duration {
            Self::now() - self
        }
    }

    impl ops::Sub for Instant {
        type Output = Duration;

        fn sub(self, earlier: Self) -> Duration {
            Duration::from_nanos(self.0.saturating_sub(earlier.0))
        }
    }

    impl ops::Add<Duration> for Instant {
        type Output = Self;

        fn add(self, later: Duration) -> Self {
            Self(self.0.saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)))
        }
    }

    #[cfg(test)]
    impl ops::AddAssign<Duration> for Instant {
        fn add_assign(&mut self, later: Duration) {
            *self = *self + later;
        }
    }
}

/// A clock that stands still. The clock of std panics on bare wasm. No loop needs a clock there,
/// since there is only the calling thread. Reports contain times of zero.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod still {
    use std::{ops, time::Duration};

    #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
    pub(crate) struct Instant;

    impl Instant {
        pub(crate) fn now() -> Self {
            Self
        }

        pub(crate) fn elapsed(self) -> Duration {
            Self::now() - self
        }
    }

    impl ops::Sub for Instant {
        type Output = Duration;

        fn sub(self, _earlier: Self) -> Duration {
            Duration::ZERO
        }
    }

    impl ops::Add<Duration> for Instant {
        type Output = Self;

        fn add(self, _later: Duration) -> Self {
            self
        }
    }
}

/// A clock that advances at random. The size of claims depends on the measured cost of items. The
/// time is derived from shuttle's seed, so each seed always gives the same schedule. Together the
/// schedules have claims of all sizes.
#[cfg(shuttle)]
mod random {
    use std::{cell::Cell, ops, time::Duration};

    use shuttle::rand::{Rng, thread_rng};

    thread_local!(static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) }); // shuttle runs all its threads on one system thread

    #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
    pub(crate) struct Instant(Duration);

    impl Instant {
        /// Returns a time that is later than the last one, by up to 1 ns, 2 ns, 4 ns and so on.
        pub(crate) fn now() -> Self {
            let most = 1 << thread_rng().gen_range(0..16_u32);
            NOW.set(NOW.get() + Duration::from_nanos(thread_rng().gen_range(0..most)));
            Self(NOW.get())
        }

        pub(crate) fn elapsed(self) -> Duration {
            Self::now() - self
        }
    }

    impl ops::Sub for Instant {
        type Output = Duration;

        fn sub(self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }

    impl ops::Add<Duration> for Instant {
        type Output = Self;

        fn add(self, later: Duration) -> Self {
            Self(self.0 + later)
        }
    }
}
