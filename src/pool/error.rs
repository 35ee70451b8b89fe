//! Why a pool could not be built.

use std::{error::Error, fmt, io};

/// The environment variable that sets the number of workers of pools built without
/// [`num_threads`](crate::PoolBuilder::num_threads).
pub(crate) const NUM_THREADS: &str = "RANGESTEAL_NUM_THREADS";

/// The environment variable that sets the pinning of pools built without
/// [`pinning`](crate::PoolBuilder::pinning).
pub(crate) const PINNING: &str = "RANGESTEAL_PINNING";

/// The most threads that a pool may have. No machine has as many CPUs, so a larger number is a
/// mistake.
pub(crate) const MOST_THREADS: usize = 65_536;

/// The smallest stack that may be asked for, in bytes. A loop and a panic need some of it: in debug
/// builds 32 KiB were measured to be enough, with a backtrace, and 24 KiB were not.
pub(crate) const LEAST_STACK: usize = 64 << 10;

/// Why a pool could not be built. The message says what to do.
///
/// Later versions may add reasons, and fields to each: match with `..` and `_`.
///
/// ```
/// use rangesteal::{BuildError, Pool};
///
/// let error = Pool::builder().num_threads(0).build().unwrap_err();
/// assert!(matches!(error, BuildError::ZeroThreads));
/// assert!(error.to_string().contains("ask for 1 or more"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// `num_threads(0)` was asked for.
    ZeroThreads,
    /// More than 65,536 threads were asked for, by `num_threads` or by `RANGESTEAL_NUM_THREADS`.
    #[non_exhaustive]
    TooManyThreads {
        /// How many were asked for.
        asked: usize,
    },
    /// `RANGESTEAL_NUM_THREADS` is set to something that is not a positive number, or
    /// `RANGESTEAL_PINNING` to none of its words.
    #[non_exhaustive]
    Variable {
        /// The name of the variable.
        name: &'static str,
        /// The value of the variable.
        value: String,
    },
    /// The list of [`Placement::Cpus`](crate::Placement::Cpus) is empty.
    NoCpus,
    /// Pinning is required, and the building thread may not run on a CPU of
    /// [`Placement::Cpus`](crate::Placement::Cpus).
    #[non_exhaustive]
    Cpu {
        /// The first CPU of the list that is not allowed.
        cpu: usize,
        /// The CPUs that the building thread was allowed to run on, in ascending order.
        allowed: Vec<usize>,
    },
    /// A thread name contains a NUL character.
    #[non_exhaustive]
    ThreadName {
        /// The name with the NUL character.
        name: String,
    },
    /// A [`stack_size`](crate::PoolBuilder::stack_size) of less than 64 KiB was asked for.
    #[non_exhaustive]
    StackSize {
        /// How many bytes were asked for.
        asked: usize,
    },
    /// The system did not start a thread, or the
    /// [`spawn_handler`](crate::PoolBuilder::spawn_handler) has returned an error. The threads that
    /// were started before it have ended.
    #[non_exhaustive]
    Spawn {
        /// The worker whose thread was not started, from 1 on.
        worker: usize,
        /// The error of the system, or of the handler.
        source: io::Error,
    },
    /// The [`spawn_handler`](crate::PoolBuilder::spawn_handler) has returned, and a
    /// [`WorkerThread`](crate::WorkerThread) was dropped instead of run. The other threads have
    /// left the pool.
    #[non_exhaustive]
    NotRun {
        /// The worker that was not run, from 1 on.
        worker: usize,
    },
    /// The [`start_handler`](crate::PoolBuilder::start_handler) has panicked. All threads have
    /// ended, or left the pool.
    #[non_exhaustive]
    StartHandler {
        /// The worker on whose thread it has panicked; the first of several.
        worker: usize,
        /// The message of the panic.
        message: String,
    },
    /// The global pool is there already, or is being built: it has been used, or built.
    GlobalExists,
    /// Pinning is required, and the system does not tell which CPUs this thread may run on, or
    /// cannot pin threads.
    #[non_exhaustive]
    Affinity {
        /// The error of the system.
        source: io::Error,
    },
    /// Pinning is required, and the system refused it.
    #[non_exhaustive]
    Pin {
        /// The worker that was not pinned; 0 is the calling thread.
        worker: usize,
        /// The CPU that the worker should have been pinned to.
        cpu: usize,
        /// The CPUs that the building thread was allowed to run on, in ascending order.
        allowed: Vec<usize>,
        /// The error of the system.
        source: io::Error,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroThreads => f.write_str(
                "num_threads(0): a loop needs at least one worker, the calling thread; ask for 1 or more, or leave it out to use all CPUs",
            ),
            Self::TooManyThreads { asked } => write!(
                f,
                "{asked} threads: ask for at most {MOST_THREADS} (num_threads, or {NUM_THREADS}), or leave it out to use all CPUs"
            ),
            Self::Variable { name, value } => {
                let instead = if *name == PINNING {
                    "to off, best-effort or required, or unset it to pin where that is possible"
                } else {
                    "to a number of workers from 1 on, or unset it to use all CPUs"
                };
                write!(f, "{name} is {value:?}: set it {instead}")
            }
            Self::NoCpus => {
                f.write_str("Placement::Cpus names no CPU: name one or more, or leave the placement out")
            }
            Self::Cpu { cpu, allowed } => write!(
                f,
                "Placement::Cpus names CPU {cpu}, which is not allowed (allowed CPUs: {}): leave it out, or have it left out by Pinning::BestEffort",
                ranges(allowed)
            ),
            Self::ThreadName { name } => {
                write!(f, "thread name {name:?} contains a NUL character: leave it out")
            }
            Self::StackSize { asked } => write!(
                f,
                "stack_size({asked}): a worker needs some 32 KiB for itself, and what the closures take; ask for {LEAST_STACK} bytes or more, or leave it out"
            ),
            Self::Spawn { worker, source } => write!(
                f,
                "cannot start the thread of worker {worker}: {source}; ask for fewer threads (num_threads) or smaller stacks (stack_size), or raise the limits of this process (ulimit -u, ulimit -v)"
            ),
            Self::NotRun { worker } => write!(
                f,
                "the WorkerThread of worker {worker} was dropped: have spawn_handler start a thread that calls its `run`"
            ),
            Self::StartHandler { worker, message } => write!(
                f,
                "start_handler panicked on the thread of worker {worker}: {message}; it has to return on each thread"
            ),
            Self::GlobalExists => f.write_str(
                "the global pool is there already: build it before anybody uses it, or build a pool of your own",
            ),
            Self::Affinity { source } => write!(
                f,
                "workers cannot be pinned: {source}; build with Pinning::BestEffort or Pinning::Off to run unpinned"
            ),
            Self::Pin {
                worker,
                cpu,
                allowed,
                source,
            } => write!(
                f,
                "cannot pin worker {worker} to CPU {cpu} (allowed CPUs: {}): {source}; build with Pinning::BestEffort or Pinning::Off to run unpinned",
                ranges(allowed)
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Spawn { source, .. } | Self::Affinity { source } | Self::Pin { source, .. } => Some(source),
            Self::ZeroThreads
            | Self::TooManyThreads { .. }
            | Self::Variable { .. }
            | Self::NoCpus
            | Self::Cpu { .. }
            | Self::ThreadName { .. }
            | Self::StackSize { .. }
            | Self::NotRun { .. }
            | Self::StartHandler { .. }
            | Self::GlobalExists => None,
        }
    }
}

/// Writes CPU numbers as a list of ranges: `0-3,8` for 0, 1, 2, 3, 8.
pub(crate) fn ranges(ascending: &[usize]) -> String {
    ascending
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run[0].to_string(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{error::Error, io};

    use super::{BuildError, ranges};

    #[test]
    fn what_the_system_said_is_the_source() {
        let source = || io::Error::from(io::ErrorKind::OutOfMemory);
        let said = source().to_string();
        for error in [
            BuildError::Spawn { worker: 1, source: source() },
            BuildError::Affinity { source: source() },
            BuildError::Pin { worker: 0, cpu: 0, allowed: vec![0], source: source() },
        ] {
            assert_eq!(error.source().map(ToString::to_string).as_ref(), Some(&said));
        }
        assert!(BuildError::NoCpus.source().is_none());
    }

    #[test]
    fn masks_are_written_short() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(ranges(&[]), "");
    }
}
