//! The deprecated names of rayon-core.

#![allow(deprecated)]

use std::{any::Any, error::Error};

use crate::{ThreadPool, ThreadPoolBuilder};

/// A [`ThreadPoolBuilder`].
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Debug, Default)]
pub struct Configuration(ThreadPoolBuilder);

/// Builds the global pool.
///
/// # Errors
/// As [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(configuration: Configuration) -> Result<(), Box<dyn Error>> {
    configuration.0.build_global().map_err(Box::from)
}

impl Configuration {
    /// Begins with default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error>> {
        self.0.build().map_err(Box::from)
    }

    /// [`ThreadPoolBuilder::num_threads`].
    #[must_use]
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self(self.0.num_threads(num_threads))
    }

    /// [`ThreadPoolBuilder::thread_name`].
    #[must_use]
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        Self(self.0.thread_name(closure))
    }

    /// [`ThreadPoolBuilder::stack_size`].
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self(self.0.stack_size(stack_size))
    }

    /// [`ThreadPoolBuilder::breadth_first`].
    #[must_use]
    pub fn breadth_first(self) -> Self {
        Self(self.0.breadth_first())
    }

    /// [`ThreadPoolBuilder::panic_handler`].
    #[must_use]
    pub fn panic_handler<H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self(self.0.panic_handler(handler))
    }

    /// [`ThreadPoolBuilder::start_handler`].
    #[must_use]
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self(self.0.start_handler(handler))
    }

    /// [`ThreadPoolBuilder::exit_handler`].
    #[must_use]
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self(self.0.exit_handler(handler))
    }
}
