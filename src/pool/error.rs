//! `BuildError`: the reasons why building a pool fails.

use std::{
    error::Error,
    fmt::{self, Write},
    io,
};

/// The environment variable that sets the number of workers of pools built without
/// [`num_threads`](crate::PoolBuilder::num_threads).
pub(crate) const NUM_THREADS: &str = "RANGESTEAL_NUM_THREADS";

/// The environment variable that sets the pinning of pools built without
/// [`pinning`](crate::PoolBuilder::pinning).
pub(crate) const PINNING: &str = "RANGESTEAL_PINNING";

/// The largest number of workers of a pool. No machine has more CPUs than this, so a larger number
/// is a mistake.
pub(crate) const MOST_THREADS: usize = 65_536;

/// The smallest stack of a thread, in bytes. A loop and a panic need a part of the stack: debug
/// builds with a backtrace needed more than 24 KiB and at most 32 KiB.
pub(crate) const LEAST_STACK: usize = 64 << 10;

/// The reason why a pool could not be built. The message says how to correct the error.
///
/// Later versions may add variants, and fields to variants: match with `..` and `_`.
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
    /// [`num_threads(0)`](crate::PoolBuilder::num_threads) was called.
    ZeroThreads,
    /// More than 65,536 workers were requested, by [`num_threads`](crate::PoolBuilder::num_threads)
    /// or by the environment variable `RANGESTEAL_NUM_THREADS`.
    #[non_exhaustive]
    TooManyThreads {
        /// The number of workers that was requested.
        asked: usize,
    },
    /// The environment variable `RANGESTEAL_NUM_THREADS` is not a positive number, or
    /// `RANGESTEAL_PINNING` is not `off`, `best-effort` or `required`. (To
    /// [`Pool::global`](crate::Pool::global) a wrong variable is no error, only a warning.)
    #[non_exhaustive]
    Variable {
        /// The name of the variable.
        name: &'static str,
        /// The value of the variable.
        value: String,
    },
    /// The list of [`Placement::Cpus`](crate::Placement::Cpus) is empty.
    NoCpus,
    /// [`Pinning::Required`](crate::Pinning::Required) is set, and the building thread may not run
    /// on a CPU of [`Placement::Cpus`](crate::Placement::Cpus).
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
    /// A [`stack_size`](crate::PoolBuilder::stack_size) of less than 64 KiB was requested.
    #[non_exhaustive]
    StackSize {
        /// The number of bytes that was requested.
        asked: usize,
    },
    /// The system did not start a thread, or the
    /// [`spawn_handler`](crate::PoolBuilder::spawn_handler) returned an error. The threads that
    /// were started earlier have ended.
    #[non_exhaustive]
    Spawn {
        /// The worker whose thread was not started, from 1 on.
        worker: usize,
        /// The error of the system, or of the handler.
        source: io::Error,
    },
    /// The [`spawn_handler`](crate::PoolBuilder::spawn_handler), or a thread that it started,
    /// dropped a [`WorkerThread`](crate::WorkerThread) instead of running it. The other threads
    /// have left the pool.
    #[non_exhaustive]
    NotRun {
        /// The worker that was not run, from 1 on.
        worker: usize,
    },
    /// The [`start_handler`](crate::PoolBuilder::start_handler) panicked. All threads have ended,
    /// or left the pool.
    #[non_exhaustive]
    StartHandler {
        /// The worker on whose thread the handler panicked. If the handler panicked on several
        /// threads, this is the worker with the lowest number.
        worker: usize,
        /// The message of the panic.
        message: String,
    },
    /// The global pool has been built or used before, or is being built.
    GlobalExists,
    /// [`Pinning::Required`](crate::Pinning::Required) is set, and the system does not report which
    /// CPUs this thread may run on, or cannot pin threads.
    #[non_exhaustive]
    Affinity {
        /// The error of the system.
        source: io::Error,
    },
    /// [`Pinning::Required`](crate::Pinning::Required) is set, and the system refused to pin a
    /// worker.
    #[non_exhaustive]
    Pin {
        /// The worker that was not pinned; 0 is the calling thread.
        worker: usize,
        /// The CPU to which the worker was to be pinned.
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
                "num_threads(0): a pool has at least one worker, the calling thread; ask for 1 or more, or leave num_threads out to use all CPUs",
            ),
            Self::TooManyThreads { asked } => write!(
                f,
                "{asked} threads: ask for at most {MOST_THREADS} (num_threads, or {NUM_THREADS}), or leave both out to use all CPUs"
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
                "stack_size({asked}): a worker needs some 32 KiB, and the closures need more; ask for {LEAST_STACK} bytes or more, or leave stack_size out"
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
                "start_handler panicked on the thread of worker {worker}: {message}; the handler has to return on each thread"
            ),
            Self::GlobalExists => f.write_str(
                "the global pool exists already: build it before its first use, or build another pool",
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
            _ => None,
        }
    }
}

/// Formats ascending CPU numbers as a list of ranges: `0-3,8` for 0, 1, 2, 3, 8.
pub(crate) fn ranges(ascending: &[usize]) -> String {
    let mut text = String::new();
    for run in ascending.chunk_by(|a, b| a + 1 == *b) {
        let (first, comma) = (run[0], if text.is_empty() { "" } else { "," });
        _ = write!(text, "{comma}{first}");
        if let [_, .., last] = run {
            _ = write!(text, "-{last}");
        }
    }
    text
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
