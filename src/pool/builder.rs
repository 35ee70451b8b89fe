//! Options of a pool, and how a pool is assembled.

use std::{fmt, io, mem, sync::Arc, time::Duration};

use crate::{
    pool::{
        call::executor::Executor,
        error::{BuildError, LEAST_STACK},
        place::{
            affinity::{Mask, Pinned},
            cpu_assignment::CpuAssignment,
            inherited_scheduling::InheritedScheduling,
            placement::{PinState, Pinning, Placement, SeatPlan, System, Wish},
            starvation,
        },
        policy::victim::Stealing,
        protocol::{Fence, oneshot, threads::Threads},
        thread::{Arrived, Handler, Life, WorkerThread},
    },
    sync::{Patience, ThreadBuilder},
};

/// What there is when a pool is built.
pub(crate) struct Assembled {
    pub(crate) executor: Executor,
    /// The caller of a scope.
    pub(crate) pinned: Option<Pinned>,
    pub(crate) said: Said,
}

/// What came up while a pool was built.
#[must_use = "to be logged"]
pub(crate) struct Said {
    doubts: String,
    remarks: Vec<String>,
}

impl Said {
    /// Logs it. Whoever calls this holds no lock that a logger needs.
    pub(crate) fn log(self) {
        if !self.doubts.is_empty() {
            log::warn!("{}", self.doubts);
        }
        for remark in self.remarks {
            log::debug!("{remark}");
        }
    }
}

/// Whose CPUs a pool is built on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Those of the thread that builds it.
    Own,
    /// The same; and that thread is pinned.
    Scope,
    /// Those of the process. Its threads get the priority of the process, too.
    Global,
}

/// Options of a [`Pool`](crate::Pool); made by [`Pool::builder`](crate::Pool::builder).
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
///
/// `S` is the type of the [`spawn_handler`](Self::spawn_handler): `PoolBuilder` by itself is one
/// without a handler, or with a function.
#[must_use = "a builder does nothing until `build` or `scope`"]
pub struct PoolBuilder<S = fn(WorkerThread) -> io::Result<()>> {
    options: PoolOptions,
    spawn_handler: Option<S>,
}

/// What was asked for.
#[derive(Default)]
pub(crate) struct PoolOptions {
    wish: Wish,
    stealing: Stealing,
    thread_name: Option<Box<dyn Fn(usize) -> String>>,
    stack_size: Option<usize>,
    spin_before_park: Option<Duration>,
    start_handler: Option<Handler>,
    exit_handler: Option<Handler>,
}

/// The spawn handler of a program, in a box: pools are assembled by one function.
pub(crate) type Spawn<'a> = Box<dyn FnMut(WorkerThread) -> io::Result<()> + 'a>;

impl Default for PoolBuilder {
    fn default() -> Self {
        Self { options: PoolOptions::default(), spawn_handler: None }
    }
}

impl<S> fmt::Debug for PoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        f.debug_struct("PoolBuilder")
            .field("num_threads", &options.wish.workers)
            .field("pinning", &options.wish.pinning.unwrap_or_default())
            .field("placement", &options.wish.placement)
            .field("stealing", &options.stealing)
            .field("stack_size", &options.stack_size)
            .field("spin_before_park", &options.spin_before_park)
            .finish_non_exhaustive()
    }
}

impl<S> PoolBuilder<S> {
    /// How many workers run a loop. The thread that calls the loop is one of them, so
    /// `num_threads - 1` threads are started.
    ///
    /// | if | there are |
    /// |---|---|
    /// | this is called | `num_threads` workers, from 1 to 65,536 |
    /// | else `RANGESTEAL_NUM_THREADS` is set | as many as the variable says; anything but a positive number is an error |
    /// | else the control group's CPU quota is less than the number of CPUs | as many as the quota keeps busy: 3 for a quota of 2.5 |
    /// | else | one for each CPU of the [`placement`](Self::placement) that the building thread may run on |
    ///
    /// If there are more workers than CPUs, they are put on the CPUs round robin. They help only
    /// loops whose items sleep or wait, and the pool finds out which loops those are: other loops
    /// use no more workers than there are CPUs, or than the quota keeps busy (but two if there are
    /// two). Control groups and masks are read on Linux (`cgroups(7)`, `sched_getaffinity(2)`);
    /// elsewhere [`std::thread::available_parallelism`] counts the CPUs. If the building thread may
    /// run on fewer CPUs than are online, [`Pool::placement`](crate::Pool::placement) and a line at
    /// debug level say so: launchers such as `mpirun` may bind a process to one core unless they
    /// are told otherwise.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(3).build()?;
    /// assert_eq!(pool.num_threads(), 3);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.options.wish.workers = Some(num_threads);
        self
    }

    /// Whether workers are pinned to CPUs. Default: what `RANGESTEAL_PINNING` says, which is `off`,
    /// `best-effort` or `required`, and anything else is an error; if it is not set,
    /// [`Pinning::BestEffort`].
    ///
    /// They are pinned to CPUs that the building thread may run on, in the order of
    /// [`placement`](Self::placement). Worker 0 is the thread that calls a loop: only
    /// [`scope`](Self::scope) pins it; otherwise its CPU is left free for it. (If it runs on
    /// another worker's CPU when it shares a loop, that worker moves to the free CPU.)
    ///
    /// ```
    /// use rangesteal::{Pinning, Pool};
    ///
    /// let pool = Pool::builder().pinning(Pinning::Off).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.options.wish.pinning = Some(pinning);
        self
    }

    /// Which CPUs workers are pinned to, and how many workers there are if nothing else sets their
    /// number. Default: [`Placement::LogicalCpus`].
    ///
    /// CPUs in a list that the building thread may not run on are left out with a warning; if that
    /// leaves none, all CPUs are used. With [`Pinning::Required`] such CPUs are an error. If nobody
    /// is pinned, a placement only determines how many workers there are.
    /// [`Pool::placement`](crate::Pool::placement) shows the outcome.
    ///
    /// ```
    /// use rangesteal::{Placement, Pool};
    ///
    /// let pool = Pool::builder().placement(Placement::Cpus(vec![0, 2, 4])).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn placement(mut self, placement: Placement) -> Self {
        self.options.wish.placement = placement;
        self
    }

    /// Which workers idle workers steal from. Default: [`Stealing::Largest`].
    ///
    /// ```
    /// use rangesteal::{Pool, Stealing};
    ///
    /// let pool = Pool::builder().stealing(Stealing::Off).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn stealing(mut self, stealing: Stealing) -> Self {
        self.options.stealing = stealing;
        self
    }

    /// Names the threads: `name` is called with the worker's number, from 1 on. Default:
    /// `rangesteal-1` and so on.
    ///
    /// ```
    /// let builder = rangesteal::Pool::builder();
    /// let pool = builder.thread_name(|worker| format!("count-{worker}")).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + 'static) -> Self {
        self.options.thread_name = Some(Box::new(name));
        self
    }

    /// Size of each thread's stack in bytes, 64 KiB or more. Default: the default of
    /// [`std::thread::Builder::stack_size`].
    ///
    /// ```
    /// // For deep recursion in a closure:
    /// let pool = rangesteal::Pool::builder().stack_size(16 << 20).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.options.stack_size = Some(bytes);
        self
    }

    /// How long idle workers poll for the next loop before they sleep, always; and how long the
    /// calling thread polls for the end of a loop at least. Not needed for speed: by default,
    /// workers poll if the gaps between loops are shorter than the time to wake them (or than
    /// 26 µs, where that is longer), for at most that time, and less and less often where that has
    /// been in vain. Zero: they never poll.
    ///
    /// It trades cores for latency: a worker that polls begins within a microsecond, and one that
    /// sleeps within some 10 to 40 µs; in return, a pool of `n` threads keeps `n - 1` cores busy
    /// for this long after each loop. The pool takes that into account when it decides which loops
    /// are worth sharing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rangesteal::Pool;
    ///
    /// let pool = Pool::builder().spin_before_park(Duration::from_micros(50)).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn spin_before_park(mut self, spin_before_park: Duration) -> Self {
        self.options.spin_before_park = Some(spin_before_park);
        self
    }

    /// Runs `handler` on each thread that is started, with the worker's number, from 1 on: after
    /// the thread is pinned, and before it takes any work. [`build`](Self::build) returns when it
    /// has run on all of them. It may run on several threads at a time. It does not run on the
    /// threads that call loops, nor in children made by `fork`.
    ///
    /// If it panics, `build` fails with [`BuildError::StartHandler`]. What a thread makes for one
    /// loop, or keeps between loops, is better made by [`with`](crate::On::with) and
    /// [`PerWorker`](crate::PerWorker), which give it to the closures.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering::Relaxed}};
    /// use rangesteal::Pool;
    ///
    /// let started = Arc::new(AtomicUsize::new(0));
    /// let count = Arc::clone(&started);
    /// let pool = Pool::builder()
    ///     .num_threads(3)
    ///     .start_handler(move |_worker| {
    ///         count.fetch_add(1, Relaxed);
    ///     })
    ///     .build()?;
    /// assert_eq!(started.load(Relaxed), 2);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.options.start_handler = Some(Arc::new(handler));
        self
    }

    /// Runs `handler` on each thread when the pool is dropped, after its last work, with the
    /// worker's number, from 1 on. The drop of the pool returns when it has run on all of them. It
    /// also runs if the pool cannot be built, on those threads on which the
    /// [`start_handler`](Self::start_handler) has returned. It does not run at the end of the
    /// process for pools that are not dropped, such as the global one, nor in children made by
    /// `fork`.
    ///
    /// If it panics, the panic hook tells of it, and the pool is dropped all the same.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering::Relaxed}};
    /// use rangesteal::Pool;
    ///
    /// let ended = Arc::new(AtomicUsize::new(0));
    /// let count = Arc::clone(&ended);
    /// let exit = move |_worker| {
    ///     count.fetch_add(1, Relaxed);
    /// };
    /// drop(Pool::builder().num_threads(3).exit_handler(exit).build()?);
    /// assert_eq!(ended.load(Relaxed), 2);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.options.exit_handler = Some(Arc::new(handler));
        self
    }

    /// Has `handler` start the threads: for threads of another runtime, of another priority, or on
    /// a system on which [`std::thread`] cannot start any. It is called on the building thread,
    /// once for each worker but worker 0, with a [`WorkerThread`] to be
    /// [run](WorkerThread::run) on a thread of its own. Everything else is as with threads of the
    /// pool's own: they are pinned, and run the [`start_handler`](Self::start_handler) and the
    /// [`exit_handler`](Self::exit_handler). In the global pool, they keep the priority that the
    /// handler gives them.
    ///
    /// | if | then |
    /// |---|---|
    /// | the handler returns `Ok` | it is called for the next worker; after the last one it is dropped, and [`build`](Self::build) waits until all workers are run |
    /// | it returns an error | `build` fails with [`BuildError::Spawn`] |
    /// | it panics | the panic comes out of `build` |
    /// | a `WorkerThread` is dropped | `build` fails with [`BuildError::NotRun`] |
    /// | one is kept for ever | `build` waits for ever |
    ///
    /// When a pool is dropped, or cannot be built, it waits until all its workers have left `run`,
    /// and not for the ends of their threads. So the threads may go on to do something else.
    ///
    /// The handler may borrow, and the threads may be scoped, if the pool is dropped inside of the
    /// scope, which waits for them:
    ///
    /// ```
    /// use std::thread;
    /// use rangesteal::Pool;
    ///
    /// let greeting = String::from("borrowed by each thread");
    /// let sum = thread::scope(|threads| {
    ///     let pool = Pool::builder()
    ///         .num_threads(3)
    ///         .spawn_handler(|worker| {
    ///             threads.spawn(|| {
    ///                 assert!(greeting.starts_with("borrowed"));
    ///                 worker.run();
    ///             });
    ///             Ok(())
    ///         })
    ///         .build()?;
    ///     Ok::<i32, rangesteal::BuildError>(pool.on(1..=100).sum())
    /// })?;
    /// assert_eq!(sum, 5050);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn spawn_handler<H>(self, handler: H) -> PoolBuilder<H>
    where
        H: FnMut(WorkerThread) -> io::Result<()>,
    {
        PoolBuilder { options: self.options, spawn_handler: Some(handler) }
    }
}

impl<'a, S: FnMut(WorkerThread) -> io::Result<()> + 'a> PoolBuilder<S> {
    /// What was asked for, and the spawn handler if there is one.
    pub(crate) fn parts(self) -> (PoolOptions, Option<Spawn<'a>>) {
        (self.options, self.spawn_handler.map(|handler| Box::new(handler) as Spawn<'a>))
    }
}

impl PoolOptions {
    /// Starts the threads, and pins the caller of a scope.
    pub(crate) fn assemble(
        mut self,
        role: Role,
        mut spawn: Option<Spawn<'_>>,
    ) -> Result<Assembled, BuildError> {
        if let Some(asked) = self.stack_size.filter(|bytes| *bytes < LEAST_STACK) {
            return Err(BuildError::StackSize { asked });
        }
        let heritage = (role == Role::Global).then(InheritedScheduling::of_process);
        let mask = heritage.as_ref().map_or_else(Mask::of_this_thread, InheritedScheduling::mask);
        let mut plan = SeatPlan::new(mem::take(&mut self.wish), System::now(mask))?;
        let required = plan.pinning == Pinning::Required;
        let mut refused = Vec::new();
        let mut refuse = |plan: &SeatPlan, worker, cpu, source| {
            if required {
                return Err(plan.refused(worker, cpu, source));
            }
            refused.push(format!("worker {worker} is not pinned to CPU {cpu}: {source}"));
            Ok(())
        };
        let fence = Fence::of_this_process(); // before the threads: registering is quick while there is only one
        if !fence.is_dear_for_thieves() {
            plan.remarks.push("no membarrier: claims pay for a full fence".into());
        }
        let patience = Patience::of(self.spin_before_park.unwrap_or_default());
        let mut threads = Threads::new(plan.workers - 1, fence, patience);
        let arrivals = self.start(&mut threads, &plan, heritage, spawn.as_mut())?;
        drop(spawn); // with the workers that it has kept: they will not arrive
        let mut seated = Vec::new();
        for (worker, arrival) in (1..).zip(arrivals) {
            let arrived = arrival.receive().ok_or(BuildError::NotRun { worker })?;
            let Arrived { thread, taken_over, pinned, started } = arrived;
            started.map_err(|message| BuildError::StartHandler { worker, message })?;
            if worker == 1
                && let Err(source) = taken_over
            {
                plan.doubts.push(format!(
                    "workers keep what they inherit from the thread that came first: {source}"
                ));
            }
            match (pinned, plan.cpu(worker).map(|cpu| cpu.number)) {
                (Ok(()), Some(_)) => seated.push((worker, thread)),
                (Err(source), Some(cpu)) => refuse(&plan, worker, cpu, source)?,
                (_, None) => {}
            }
        }
        let (mut pinned, mut caller_pin) = (None, PinState::Free);
        if let Some(cpu) = plan.cpu(0).filter(|_| role == Role::Scope) {
            match Pinned::to(cpu.number) {
                Ok(caller) => (pinned, caller_pin) = (Some(caller), PinState::Pinned),
                Err(source) => {
                    refuse(&plan, 0, cpu.number, source)?;
                    caller_pin = PinState::Refused;
                }
            }
        }
        match &refused[..] {
            [] => {}
            [one] => plan.doubts.push(one.clone()),
            [first, others @ ..] => plan.doubts.push(format!("{first}, nor are {} others", others.len())),
        }
        let said = Said { doubts: plan.doubts.join("; "), remarks: mem::take(&mut plan.remarks) };
        let mut seats = CpuAssignment::new(plan, seated);
        seats.set_caller_pin(caller_pin);
        let executor = Executor::new(threads, seats, self.stealing, self.spin_before_park);
        Ok(Assembled { executor, pinned, said })
    }

    /// Has all threads started. Does not wait until they arrive: a handler may collect all workers
    /// before it runs the first.
    fn start(
        &self,
        threads: &mut Threads,
        plan: &SeatPlan,
        heritage: Option<InheritedScheduling>,
        mut spawn: Option<&mut Spawn<'_>>,
    ) -> Result<Vec<oneshot::Receiver<Arrived>>, BuildError> {
        let heritage = heritage.filter(|_| spawn.is_none()); // a handler knows its threads
        let start = |worker| {
            let name = self.thread_name.as_ref();
            let name = name.map_or_else(|| format!("rangesteal-{worker}"), |name| name(worker));
            if name.contains('\0') {
                return Err(BuildError::ThreadName { name });
            }
            let life = Life {
                worker,
                heritage: heritage.clone(),
                cpu: plan.cpu(worker).map(|cpu| cpu.number),
                is_lent: spawn.is_some(),
                start_handler: self.start_handler.clone(),
                exit_handler: self.exit_handler.clone(),
            };
            let (post, (tell, arrival)) = (threads.post(), oneshot::channel());
            let may_help = starvation::may_help();
            let life = Box::new(move || life.live(post, tell, may_help));
            let started = if let Some(spawn) = &mut spawn {
                spawn(WorkerThread::new(worker, name, self.stack_size, life, threads.gate()))
            } else {
                let thread = ThreadBuilder::new().name(name);
                threads.start(self.stack_size.into_iter().fold(thread, ThreadBuilder::stack_size), life)
            };
            started.map(|()| arrival).map_err(|source| BuildError::Spawn { worker, source })
        };
        (1..plan.workers).map(start).collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_kept_when_others_are_set() {
        let builder = PoolBuilder::default()
            .num_threads(3)
            .pinning(Pinning::Off)
            .placement(Placement::Compact)
            .stack_size(1 << 20)
            .thread_name(|worker| format!("count-{worker}"))
            .spin_before_park(Duration::from_millis(7))
            .stealing(Stealing::Off);
        assert_eq!(
            format!("{builder:?}"),
            "PoolBuilder { num_threads: Some(3), pinning: Off, placement: Compact, stealing: Off, \
             stack_size: Some(1048576), spin_before_park: Some(7ms), .. }"
        );
        assert!(builder.options.thread_name.is_some());
    }
}
