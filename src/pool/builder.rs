//! Options of a pool, and what can go wrong when it is built.

use std::{env, error::Error, fmt, io, thread, time::Duration};

use super::{
    Pool,
    affinity::{self, Pinned, Seats},
    executor::Executor,
    fence::Fence,
    range::{Ranges, Stealing},
    topology,
    worker::Crew,
};

/// The environment variable that sets the number of workers of pools built without
/// [`num_threads`](PoolBuilder::num_threads).
const VARIABLE: &str = "RANGESTEAL_NUM_THREADS";

/// The name of the system; on bare wasm, which has none, that of the processor.
const SYSTEM: &str = if env::consts::OS.is_empty() { env::consts::ARCH } else { env::consts::OS };

/// More threads than any machine has CPUs; a larger number is a mistake.
const MOST_THREADS: usize = 65_536;

/// Whether workers are kept on CPUs of their own; an option of [`PoolBuilder::pinning`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// Threads run where the system puts them.
    Off,
    /// Threads are pinned; where that is refused, a warning is logged and they run unpinned. On systems other than Linux it is
    /// `Off`, and a line at debug level says so.
    #[default]
    BestEffort,
    /// Threads are pinned, or the pool is not built: never on systems other than Linux.
    Required,
}

impl Pinning {
    /// What a refusal comes to: the error where pinning is required, a warning otherwise.
    fn is_refused(self, error: BuildError) -> Result<(), BuildError> {
        if self == Self::Required {
            return Err(error);
        }
        log::warn!("{error}");
        Ok(())
    }
}

/// Options of a [`Pool`]; made by [`Pool::builder`].
///
/// ```
/// use rangesteal::{Pinning, Pool};
///
/// let pool = Pool::builder()
///     .num_threads(2)
///     .pinning(Pinning::Off)
///     .thread_name(|worker| format!("count-{worker}"))
///     .build()?;
/// assert_eq!(pool.num_threads(), 2);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Default)]
#[must_use = "a builder does nothing until `build` or `scope`"]
pub struct PoolBuilder {
    num_threads: Option<usize>,
    pinning: Pinning,
    stealing: Stealing,
    thread_name: Option<Box<dyn Fn(usize) -> String>>,
    stack_size: Option<usize>,
    spin_before_park: Duration,
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("pinning", &self.pinning)
            .field("stealing", &self.stealing)
            .field("stack_size", &self.stack_size)
            .field("spin_before_park", &self.spin_before_park)
            .finish_non_exhaustive()
    }
}

impl PoolBuilder {
    /// How many workers run a loop. The thread that calls the loop is one of them, so `num_threads - 1` threads are started.
    ///
    /// Without this call it is the value of the environment variable `RANGESTEAL_NUM_THREADS`; without that, what
    /// [`std::thread::available_parallelism`] says: the CPUs this thread may run on, or the CPU quota of its control group if
    /// that is less. More workers than CPUs share the CPUs; of use are they only to loops whose items sleep or wait, and the pool finds
    /// out which do.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(3).build()?;
    /// assert_eq!(pool.num_threads(), 3);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = Some(num_threads);
        self
    }

    /// Whether workers are pinned to CPUs. Default: [`Pinning::BestEffort`].
    ///
    /// They are pinned to the CPUs that the building thread may run on, one of each physical core first. Worker 0 is the
    /// thread that calls a loop: it is pinned by [`scope`](Self::scope) alone, and its CPU is otherwise left free for it. (If it runs
    /// on another worker's CPU when it shares a loop, that worker moves to the free one.)
    ///
    /// ```
    /// use rangesteal::{Pinning, Pool};
    ///
    /// let pool = Pool::builder().pinning(Pinning::Off).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = pinning;
        self
    }

    /// From whom idle workers steal. Default: [`Stealing::Largest`]. The others are there for comparison.
    ///
    /// ```
    /// use rangesteal::{Pool, Stealing};
    ///
    /// let pool = Pool::builder().stealing(Stealing::Neighbour).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn stealing(mut self, stealing: Stealing) -> Self {
        self.stealing = stealing;
        self
    }

    /// Names the threads: `name` is called with the worker's number, from 1 on. Default: `rangesteal-1` and so on.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().thread_name(|worker| format!("count-{worker}")).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + 'static) -> Self {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// Size of each thread's stack in bytes. Default: that of [`std::thread::Builder::stack_size`].
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().stack_size(16 << 20).build()?; // deep recursion in a closure
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// How long idle workers poll for the next loop before they sleep, and the calling thread for the end of a loop. Default: zero.
    ///
    /// It trades cores for latency: a worker that polls begins within a microsecond, one that sleeps within some 10 to 40 µs, and
    /// a pool of `n` threads keeps `n - 1` cores busy for that long after each loop. The pool takes it into account when it
    /// decides which loops are worth sharing. (Where this is zero, the calling thread still polls for up to 5 µs.)
    ///
    /// ```
    /// use std::time::Duration;
    /// use rangesteal::Pool;
    ///
    /// let pool = Pool::builder().spin_before_park(Duration::from_micros(50)).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn spin_before_park(mut self, spin_before_park: Duration) -> Self {
        self.spin_before_park = spin_before_park;
        self
    }

    /// Builds the pool. Its threads are started, and pinned where asked for, when this returns; it takes some 50 µs a thread.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().build()?;
    /// assert_eq!(pool.map_reduce(&[1, 2], |x| *x, |a, b| a + b), Some(3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`]; threads that were already started have ended when it is returned.
    pub fn build(self) -> Result<Pool, BuildError> {
        self.build_with_placement().map(|(pool, _)| pool)
    }

    /// Builds the pool, runs `work` with it, and joins its threads.
    ///
    /// The calling thread is pinned as worker 0 while `work` runs, and gets its old affinity mask back afterwards, also if
    /// `work` panics.
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// let total = Pool::builder().scope(|pool| {
    ///     let squares = pool.map_collect(&[1, 2, 3], |x| x * x);
    ///     pool.map_reduce(&squares, |x| *x, |a, b| a + b)
    /// })?;
    /// assert_eq!(total, Some(14));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`]; then `work` has not run.
    ///
    /// # Panics
    /// If `work` does.
    pub fn scope<R>(self, work: impl FnOnce(&Pool) -> R) -> Result<R, BuildError> {
        let pinning = self.pinning;
        let (pool, placement) = self.build_with_placement()?;
        let _pinned = match placement.cpu(0).map(|cpu| (cpu, Pinned::to(cpu))) {
            Some((cpu, Err(source))) => {
                pinning.is_refused(placement.refused(0, cpu, source))?;
                None
            }
            Some((_, Ok(pinned))) => Some(pinned),
            None => None,
        };
        Ok(work(&pool))
    }

    fn build_with_placement(self) -> Result<(Pool, Placement), BuildError> {
        let workers = match self.num_threads {
            Some(number) => number,
            None => default_workers()?,
        };
        match workers {
            0 => return Err(BuildError::ZeroThreads),
            1..=MOST_THREADS => {}
            _ => return Err(BuildError::TooManyThreads { asked: workers }),
        }
        let placement = Placement::choose(self.pinning)?;
        let fence = Fence::of_this_process(); // before the threads: registering is quick while there is only one
        let mut crew = Crew::new(workers - 1, self.spin_before_park);
        let mut seated = Vec::new();
        for worker in 1..workers {
            let name = self.thread_name.as_ref();
            let name = name.map_or_else(|| format!("rangesteal-{worker}"), |name| name(worker));
            if name.contains('\0') {
                return Err(BuildError::ThreadName { name });
            }
            let mut thread = thread::Builder::new().name(name);
            if let Some(bytes) = self.stack_size {
                thread = thread.stack_size(bytes);
            }
            let cpu = placement.cpu(worker);
            let (thread, pinned) = crew
                .hire(thread, move || (affinity::this_thread(), cpu.map_or(Ok(()), affinity::pin)))
                .map_err(|source| BuildError::Spawn { worker, source })?;
            match (pinned, cpu) {
                (Ok(()), Some(cpu)) => seated.push((thread, cpu)),
                (Err(source), Some(cpu)) => {
                    self.pinning.is_refused(placement.refused(worker, cpu, source))?;
                }
                (_, None) => {}
            }
        }
        let ranges = Ranges::new(workers, fence, self.stealing);
        let seats = Seats::new(seated, placement.cpu(0).unwrap_or(0));
        let executor = Executor::new(ranges, workers, placement.cpus(), seats, self.spin_before_park);
        Ok((Pool { executor, crew }, placement))
    }
}

/// The number of workers where the program does not say.
fn default_workers() -> Result<usize, BuildError> {
    match env::var_os(VARIABLE) {
        Some(value) => match value.to_str().and_then(|value| value.trim().parse().ok()) {
            None | Some(0) => Err(BuildError::Variable { value: value.to_string_lossy().into_owned() }),
            Some(number) => Ok(number),
        },
        None => Ok(thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// Where the workers go.
struct Placement {
    /// Worker `i` goes to the CPU at `i`, round robin. Empty: nobody is pinned.
    order: Vec<usize>,
}

impl Placement {
    fn choose(pinning: Pinning) -> Result<Self, BuildError> {
        if pinning == Pinning::Off {
            return Ok(Self { order: Vec::new() });
        }
        match affinity::allowed() {
            Ok(allowed) => Ok(Self { order: topology::cores_first(&allowed) }),
            Err(source) if pinning == Pinning::Required => Err(BuildError::Affinity { source }),
            Err(source) => {
                if source.kind() == io::ErrorKind::Unsupported {
                    log::debug!("workers are not pinned: not supported on this system ({SYSTEM})");
                } else {
                    log::warn!("workers are not pinned: no affinity mask: {source}");
                }
                Ok(Self { order: Vec::new() })
            }
        }
    }

    fn cpu(&self, worker: usize) -> Option<usize> {
        (!self.order.is_empty()).then(|| self.order[worker % self.order.len()])
    }

    /// How many CPUs there are for the workers.
    fn cpus(&self) -> usize {
        match self.order.len() {
            0 => thread::available_parallelism().map_or(usize::MAX, usize::from),
            cpus => cpus,
        }
    }

    fn refused(&self, worker: usize, cpu: usize, source: io::Error) -> BuildError {
        let mut allowed = self.order.clone();
        allowed.sort_unstable();
        BuildError::Pin { worker, cpu, allowed, source }
    }
}

/// Why a pool could not be built. The message says what to do.
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
    TooManyThreads {
        /// How many.
        asked: usize,
    },
    /// `RANGESTEAL_NUM_THREADS` is set to something that is no positive number.
    Variable {
        /// What it is set to.
        value: String,
    },
    /// A thread name contains a NUL character.
    ThreadName {
        /// The name.
        name: String,
    },
    /// The system did not start a thread.
    Spawn {
        /// The worker whose thread it was to be, from 1 on.
        worker: usize,
        /// What the system said.
        source: io::Error,
    },
    /// Pinning is required, and the system did not tell on which CPUs this thread may run; those other than Linux are not even asked.
    Affinity {
        /// What the system said.
        source: io::Error,
    },
    /// Pinning is required, and the system refused it.
    Pin {
        /// The worker; 0 is the calling thread.
        worker: usize,
        /// The CPU it was to be pinned to.
        cpu: usize,
        /// The CPUs that the building thread was allowed to run on, in ascending order.
        allowed: Vec<usize>,
        /// What the system said.
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
                "{asked} threads: ask for at most {MOST_THREADS} (num_threads, or {VARIABLE}), or leave it out to use all CPUs"
            ),
            Self::Variable { value } => write!(
                f,
                "{VARIABLE} is {value:?}: set it to a number of workers from 1 on, or unset it to use all CPUs"
            ),
            Self::ThreadName { name } => {
                write!(f, "thread name {name:?} contains a NUL character: leave it out")
            }
            Self::Spawn { worker, source } => write!(
                f,
                "cannot start the thread of worker {worker}: {source}; ask for fewer threads (num_threads) or smaller stacks (stack_size), or raise the limits of this process (ulimit -u, ulimit -v)"
            ),
            Self::Affinity { source } if source.kind() == io::ErrorKind::Unsupported => write!(
                f,
                "pinning is not supported on this system ({SYSTEM}); build with Pinning::BestEffort or Pinning::Off to run unpinned"
            ),
            Self::Affinity { source } => write!(
                f,
                "cannot read the affinity mask: {source}; build with Pinning::BestEffort or Pinning::Off to run unpinned"
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
            | Self::ThreadName { .. } => None,
        }
    }
}

/// `0-3,8` for 0, 1, 2, 3, 8.
fn ranges(ascending: &[usize]) -> String {
    ascending
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run[0].to_string(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ranges;

    #[test]
    fn masks_are_written_short() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(ranges(&[]), "");
    }
}
