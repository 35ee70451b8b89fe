//! The clock: std's; or one that stands still, if the system has none; or, under shuttle, one that
//! advances at random.

#[cfg(shuttle)]
pub(crate) use random::Instant;
#[cfg(not(any(shuttle, all(target_family = "wasm", target_os = "unknown"))))]
pub(crate) use std::time::Instant;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) use still::Instant;

use std::time::Duration;

/// Converts a time to nanoseconds, the unit of all estimates.
pub(crate) fn nanos(time: Duration) -> f32 {
    time.as_secs_f32() * 1e9
}

/// A clock that stands still: on bare wasm std's clock panics. No loop needs a clock there, since
/// there is only the calling thread. Reports say that loops took no time.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod still {
    use std::{ops, time::Duration};

    #[derive(Clone, Copy, Debug)]
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

/// A clock that advances at random. The size of claims depends on how long items take. The time
/// comes from shuttle's seed, so that a seed makes the same schedule again, and schedules meet
/// claims of all sizes.
#[cfg(shuttle)]
mod random {
    use std::{cell::Cell, ops, time::Duration};

    use shuttle::rand::{Rng, thread_rng};

    thread_local!(static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) }); // shuttle runs all its threads on one thread of the system

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Instant(Duration);

    impl Instant {
        /// Returns a time that is later than the last one by up to 1 ns, 2 ns, 4 ns, and so on.
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
