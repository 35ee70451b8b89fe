//! Options of a pool, and how it is put together.

use std::{fmt, time::Duration};

use super::{
    Pool,
    affinity::{self, Pinned},
    error::{BuildError, LEAST_STACK},
    executor::Executor,
    fence::Fence,
    placement::{Hold, Pinning, Placement, Plan, System, Wish},
    range::{Ranges, Stealing},
    seats::Seats,
    worker::Crew,
};
use crate::sync::ThreadBuilder;

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
    wish: Wish,
    stealing: Stealing,
    thread_name: Option<Box<dyn Fn(usize) -> String>>,
    stack_size: Option<usize>,
    spin_before_park: Duration,
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("num_threads", &self.wish.workers)
            .field("pinning", &self.wish.pinning)
            .field("placement", &self.wish.placement)
            .field("stealing", &self.stealing)
            .field("stack_size", &self.stack_size)
            .field("spin_before_park", &self.spin_before_park)
            .finish_non_exhaustive()
    }
}

impl PoolBuilder {
    /// How many workers run a loop. The thread that calls the loop is one of them, so `num_threads - 1` threads are started.
    ///
    /// | if | there are |
    /// |---|---|
    /// | this is called | so many workers, from 1 to 65,536 |
    /// | else `RANGESTEAL_NUM_THREADS` is set | as many as it says; anything but a positive number is an error |
    /// | else the control group's CPU quota is less than the CPUs | as many as it keeps busy: 3 of a quota of 2.5 |
    /// | else | one for each CPU of the [`placement`](Self::placement) that the building thread may run on |
    ///
    /// More workers than CPUs share them round robin; of use are they only to loops whose items sleep or wait, and the pool finds
    /// out which do: others use no more workers than there are CPUs, or than the quota keeps busy (but two if there are two). Control groups and masks are read on Linux (`cgroups(7)`, `sched_getaffinity(2)`); elsewhere
    /// [`std::thread::available_parallelism`] counts the CPUs.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(3).build()?;
    /// assert_eq!(pool.num_threads(), 3);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.wish.workers = Some(num_threads);
        self
    }

    /// Whether workers are pinned to CPUs. Default: [`Pinning::BestEffort`].
    ///
    /// They are pinned to CPUs that the building thread may run on, in the order of [`placement`](Self::placement). Worker 0 is the
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
        self.wish.pinning = pinning;
        self
    }

    /// To which CPUs workers are pinned, and how many workers there are by default. Default: [`Placement::LogicalCpus`].
    ///
    /// Of a list, CPUs that the building thread may not run on are left out with a warning (of a list of nothing else, all CPUs take the
    /// place), or with [`Pinning::Required`] are an error. Where nobody is pinned, a placement says no more than how many workers there are.
    /// [`Pool::placement`] shows what has come of it.
    ///
    /// ```
    /// use rangesteal::{Placement, Pool};
    ///
    /// let pool = Pool::builder().placement(Placement::Cpus(vec![0, 2, 4])).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn placement(mut self, placement: Placement) -> Self {
        self.wish.placement = placement;
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

    /// Size of each thread's stack in bytes, 64 KiB or more. Default: that of [`std::thread::Builder::stack_size`].
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

    /// Builds the pool. Its threads are started, and pinned where asked for, when this returns. It takes some 30 µs a thread, and on Linux
    /// some 40 µs to look for a quota and, where workers are pinned, 40 µs a CPU to read where that is.
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
        self.assemble(false).map(|(pool, _)| pool)
    }

    /// Builds the pool, runs `work` with it, and joins its threads.
    ///
    /// The calling thread is pinned as worker 0 while `work` runs, and gets its old affinity mask back afterwards, also if
    /// `work` panics. Meanwhile this thread may run on that one CPU alone: build another pool before, not inside.
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
        let (pool, _pinned) = self.assemble(true)?;
        Ok(work(&pool))
    }

    fn assemble(self, pins_caller: bool) -> Result<(Pool, Option<Pinned>), BuildError> {
        if let Some(asked) = self.stack_size.filter(|bytes| *bytes < LEAST_STACK) {
            return Err(BuildError::StackSize { asked });
        }
        let required = self.wish.pinning == Pinning::Required;
        let mut plan = Plan::new(self.wish, System::now())?;
        let mut refused = Vec::new();
        let mut refuse = |plan: &Plan, worker, cpu, source| {
            if required {
                return Err(plan.refused(worker, cpu, source));
            }
            refused.push(format!("worker {worker} is not pinned to CPU {cpu}: {source}"));
            Ok(())
        };
        let fence = Fence::of_this_process(); // before the threads: registering is quick while there is only one
        let mut crew = Crew::new(plan.workers - 1, self.spin_before_park);
        let mut seated = Vec::new();
        for worker in 1..plan.workers {
            let name = self.thread_name.as_ref();
            let name = name.map_or_else(|| format!("rangesteal-{worker}"), |name| name(worker));
            if name.contains('\0') {
                return Err(BuildError::ThreadName { name });
            }
            let mut thread = ThreadBuilder::new().name(name);
            if let Some(bytes) = self.stack_size {
                thread = thread.stack_size(bytes);
            }
            let cpu = plan.cpu(worker).map(|cpu| cpu.number);
            let (thread, pinned) = crew
                .hire(thread, move || (affinity::this_thread(), cpu.map_or(Ok(()), affinity::pin)))
                .map_err(|source| BuildError::Spawn { worker, source })?;
            match (pinned, cpu) {
                (Ok(()), Some(_)) => seated.push((worker, thread)),
                (Err(source), Some(cpu)) => refuse(&plan, worker, cpu, source)?,
                (_, None) => {}
            }
        }
        let (mut pinned, mut caller_is) = (None, Hold::Free);
        if let Some(cpu) = plan.cpu(0).filter(|_| pins_caller) {
            match Pinned::to(cpu.number) {
                Ok(caller) => (pinned, caller_is) = (Some(caller), Hold::Pinned),
                Err(source) => {
                    refuse(&plan, 0, cpu.number, source)?;
                    caller_is = Hold::Refused;
                }
            }
        }
        match &refused[..] {
            [] => {}
            [one] => plan.doubts.push(one.clone()),
            [first, others @ ..] => plan.doubts.push(format!("{first}, nor are {} others", others.len())),
        }
        if !plan.doubts.is_empty() {
            log::warn!("{}", plan.doubts.join("; "));
        }
        let mut seats = Seats::new(plan, seated);
        seats.caller_is(caller_is);
        let ranges = Ranges::new(crew.size() + 1, fence, self.stealing);
        Ok((Pool { executor: Executor::new(ranges, seats, self.spin_before_park), crew }, pinned))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_kept_when_others_are_set() {
        let builder = Pool::builder()
            .num_threads(3)
            .pinning(Pinning::Off)
            .placement(Placement::Compact)
            .stack_size(1 << 20)
            .thread_name(|worker| format!("count-{worker}"))
            .spin_before_park(Duration::from_millis(7))
            .stealing(Stealing::Neighbour);
        assert_eq!(
            format!("{builder:?}"),
            "PoolBuilder { num_threads: Some(3), pinning: Off, placement: Compact, stealing: Neighbour, \
             stack_size: Some(1048576), spin_before_park: 7ms, .. }"
        );
        assert!(builder.thread_name.is_some());
    }
}
