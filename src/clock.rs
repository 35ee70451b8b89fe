//! The clock: std's, or one that stands still where there is none, or one that goes at random under shuttle.

#[cfg(shuttle)]
pub(crate) use random::Instant;
#[cfg(not(any(shuttle, all(target_family = "wasm", target_os = "unknown"))))]
pub(crate) use std::time::Instant;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) use still::Instant;

/// On bare wasm std's clock panics. No loop needs one there: nobody helps the calling thread. Only reports say that it took no time.
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

/// Claims are as large as items are quick. So that a seed makes the same schedule again, and schedules meet claims of all sizes, the time
/// comes from the seed.
#[cfg(shuttle)]
mod random {
    use std::{cell::Cell, ops, time::Duration};

    use shuttle::rand::{Rng, thread_rng};

    thread_local!(static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) }); // shuttle's threads are all on one of the system's

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Instant(Duration);

    impl Instant {
        /// Up to a nanosecond later than the last one, or up to two, or four ...
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
