//! The clock: std's, or one that stands still where there is none.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
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
