//! The options of a pool, and the function that builds a pool from them.

use std::{any::Any, fmt, io, mem, sync::Arc, time::Duration};

use crate::{
    pool::{
        engine::executor::Executor,
        error::{BuildError, LEAST_STACK},
        hosts::{HostOptions, Hosts, new_thread},
        place::{
            affinity::{self, Mask, Pin, before_pin, note_pinned, pin_for_good, pin_thread, thread_of},
            cpu_assignment::CpuAssignment,
            inherited_scheduling::InheritedScheduling,
            placement::{PinState, Pinning, Placement, Reading, SeatPlan, System, Wish},
            topology::Cpu,
        },
        supply::Fence,
        team::{oneshot, threads::Threads},
        thread::{Arrived, Handlers, ThreadBody, WorkerThread},
    },
    sync::Patience,
};

/// Logs the messages about the building of a pool. Called after the pool is complete, since a
/// logger may use the pool. The calling thread must hold no lock that a logger may need.
pub(crate) fn log_building(executor: &Executor) {
    let SeatPlan { doubts, remarks, .. } = &executor.cpus.plan;
    for doubt in doubts {
        log::warn!("{doubt}");
    }
    for remark in remarks {
        log::debug!("{remark}");
    }
}

/// The options of a new [`Pool`](crate::Pool). Made by [`Pool::builder`](crate::Pool::builder).
/// [`build`](Self::build), [`scope`](Self::scope) and [`build_global`](Self::build_global) build
/// the pool.
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
/// `S` is the type of the [`spawn_handler`](Self::spawn_handler). `PoolBuilder` without `S` has no
/// such handler, or a function pointer.
#[must_use = "a builder does nothing until `build` or `scope`"]
pub struct PoolBuilder<S = fn(WorkerThread) -> io::Result<()>> {
    options: PoolOptions,
    spawn_handler: Option<S>,
}

/// The options that the program has set.
#[derive(Default)]
struct PoolOptions {
    wish: Wish,
    thread_name: Option<Box<dyn Fn(usize) -> String>>,
    stack_size: Option<usize>,
    spin_before_park: Option<Duration>,
    handlers: Handlers,
    /// If the first host starts with the pool: the function that starts it.
    start_host: Option<StartHost>,
    is_alone: bool,
}

/// [`PoolOptions::start_host`].
type StartHost = fn(&Hosts, Option<&mut Spawn<'_>>) -> Result<oneshot::Receiver<Arrived>, BuildError>;

/// The spawn handler of a program. The handler is boxed, so that the code that builds pools is
/// compiled once.
type Spawn<'a> = Box<dyn FnMut(WorkerThread) -> io::Result<()> + 'a>;

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
            .field("stack_size", &options.stack_size)
            .field("spin_before_park", &options.spin_before_park)
            .finish_non_exhaustive()
    }
}

impl<S> PoolBuilder<S> {
    /// The number of workers of the pool, from 1 to 65,536. The thread that calls a loop counts as
    /// a worker, so building the pool starts `num_threads - 1` threads. Any other number makes
    /// [`build`](Self::build) fail with [`BuildError::ZeroThreads`] or
    /// [`BuildError::TooManyThreads`].
    ///
    /// | if | the number of workers is |
    /// |---|---|
    /// | this method is called | `num_threads` |
    /// | else the environment variable `RANGESTEAL_NUM_THREADS` is set | the value of the variable; a value that is no number from 1 to 65,536 is an error, and for [`Pool::global`](crate::Pool::global) a warning without effect |
    /// | else the CPU quota of the control group is less than the number of CPUs | the quota, rounded up: 3 for a quota of 2.5 CPUs |
    /// | else | the number of CPUs of the [`placement`](Self::placement) that the building thread may run on |
    ///
    /// If there are more workers than CPUs, they are put on the CPUs round robin. The additional
    /// workers help only loops whose items sleep or wait; the pool finds these loops by measuring.
    /// For all other loops, the number of workers is at most the number of CPUs, or the number of
    /// CPUs that the quota keeps busy. This limit is at least two, even on one CPU. The first call
    /// of a loop, which is not measured yet, has up to 256 helpers.
    ///
    /// On Linux the CPUs and the quota are read from `sched_getaffinity(2)` and `cgroups(7)`. On
    /// other systems [`std::thread::available_parallelism`] counts the CPUs. If the building thread
    /// may run on fewer CPUs than are online, [`Pool::placement`](crate::Pool::placement) and a log
    /// line at debug level say so. A frequent cause is a launcher such as `mpirun`, which binds a
    /// process to one core by default.
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

    /// Whether workers are pinned to CPUs. The default is the value of the environment variable
    /// `RANGESTEAL_PINNING`: `off`, `best-effort` or `required`; another value is an error, and for
    /// [`Pool::global`](crate::Pool::global) a warning without effect. If the variable is not set,
    /// the default is [`Pinning::BestEffort`].
    ///
    /// Workers are pinned to CPUs that the building thread may run on, in the order of
    /// [`placement`](Self::placement). Worker 0 is the thread that calls a loop. Only
    /// [`scope`](Self::scope) pins this thread; otherwise the pool leaves one CPU free for the
    /// calling thread: that of the building thread, if a worker would get it. If the caller runs on
    /// the CPU of another worker when it shares a loop, that worker moves to the free CPU.
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

    /// The CPUs that workers are pinned to, and the order of these CPUs. The placement also sets
    /// the number of workers, if nothing else does. Default: [`Placement::LogicalCpus`].
    ///
    /// If a list contains CPUs that the building thread may not run on, these are left out and a
    /// warning is logged; if none remains, all CPUs are used. With [`Pinning::Required`] such a CPU
    /// is an error. If workers are not pinned, the placement only sets the number of workers.
    /// [`Pool::placement`](crate::Pool::placement) shows the result.
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

    /// Sets the names of the threads that the pool starts. `build` calls `name` with the number of
    /// each worker, from 1 on, and once with 0, for the threads of
    /// [`Pool::enter`](crate::Pool::enter). The calling thread of a loop, which is worker 0, keeps
    /// its name. Default: `rangesteal-1` and so on. A name with a NUL character makes
    /// [`build`](Self::build) fail with [`BuildError::ThreadName`].
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

    /// The size of the stack of each thread that the pool starts, in bytes, at least 64 KiB.
    /// Default: the default of [`std::thread::Builder::stack_size`]. A smaller size makes
    /// [`build`](Self::build) fail with [`BuildError::StackSize`].
    ///
    /// The thread that calls a loop takes part in it, on the stack that it has. For deep recursions
    /// call the loop in [`Pool::enter`](crate::Pool::enter), whose thread has a stack of this size:
    ///
    /// ```
    /// fn depth(level: u32) -> u32 {
    ///     let frame = std::hint::black_box([level; 256]);
    ///     if level == 0 { 0 } else { depth(level - 1) + frame[255] / level }
    /// }
    ///
    /// let pool = rangesteal::Pool::builder().stack_size(256 << 20).build()?;
    /// let depths: u32 = pool.enter(|| pool.on(0..4).map(|i| depth(20_000 + i)).sum());
    /// assert_eq!(depths, 80_006);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.options.stack_size = Some(bytes);
        self
    }

    /// How long an idle worker polls for the next loop before it sleeps, and the least time for
    /// which the calling thread polls for the end of a loop.
    ///
    /// Most programs need no value. By default workers poll only if the gaps between loops are
    /// shorter than a limit: the time to wake a worker, or 26 µs if that is longer. A worker polls
    /// for at most this limit. If no loop comes while workers poll, they poll less and less often.
    /// By default no worker polls on one CPU, or under a CPU quota that does not let all workers
    /// run all the time. With `Duration::ZERO`, idle workers do not poll. A thread that has run the
    /// last [task](crate::Pool::spawn) polls for another one for this value, by default for 26 µs.
    ///
    /// The value trades CPU time for latency. A worker that polls begins a loop within 1 µs; a
    /// worker that sleeps begins within some 10 to 40 µs. In return, each thread of the pool keeps
    /// a core busy for this time after each loop. The pool takes the value into account when it
    /// decides which loops to share.
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

    /// Sets a function that runs on each thread of the pool before its first work, with the number
    /// of its worker, from 1 on. The thread is pinned before the handler runs.
    /// [`build`](Self::build) returns when the handler has run on all threads; several threads may
    /// run it at the same time. The handler also runs on each thread that
    /// [`Pool::enter`](crate::Pool::enter) starts, with the number 0. It does not run on other
    /// threads that call loops. In a child made by `fork` only `enter` runs it.
    ///
    /// If the handler panics, `build` fails with [`BuildError::StartHandler`]. For values that a
    /// thread makes for one loop, or keeps between loops, use [`with`](crate::On::with) and
    /// [`PerWorker`](crate::PerWorker), which give them to the closures.
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
        self.options.handlers.start = Some(Arc::new(handler));
        self
    }

    /// Sets a function that runs on each thread of the pool after its last work, with the number of
    /// its worker, from 1 on, and with 0 on the threads of [`Pool::enter`](crate::Pool::enter).
    /// Dropping the pool returns when the handler has run on all threads. If the pool cannot be
    /// built, the handler runs on those threads on which the [`start_handler`](Self::start_handler)
    /// has returned. The handler does not run at the end of the process for pools that are not
    /// dropped, such as the global one. In a child made by `fork` only `enter` runs it.
    ///
    /// If the handler panics, the panic hook runs, and the pool is dropped nevertheless.
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
        self.options.handlers.exit = Some(Arc::new(handler));
        self
    }

    /// Sets a function that is given the payload of each panic of a task ([`Pool::spawn`],
    /// [`Pool::spawn_broadcast`]), on the thread of the task. Without this function such a panic
    /// aborts the process, because nobody waits for the task. A panic of the function does, too.
    /// The panics of loops, of [`Pool::join`] and of [`Pool::broadcast`] come out of their calls.
    ///
    /// [`Pool::spawn`]: crate::Pool::spawn
    /// [`Pool::spawn_broadcast`]: crate::Pool::spawn_broadcast
    /// [`Pool::join`]: crate::Pool::join
    /// [`Pool::broadcast`]: crate::Pool::broadcast
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use rangesteal::Pool;
    ///
    /// let (sender, panics) = channel();
    /// let handler = move |payload: Box<dyn std::any::Any + Send>| {
    ///     sender.send(payload.downcast_ref::<&str>().copied()).unwrap();
    /// };
    /// let pool = Pool::builder().panic_handler(handler).build()?;
    /// pool.spawn(|| panic!("a task fails"));
    /// drop(pool);
    /// assert_eq!(panics.recv(), Ok(Some("a task fails")));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn panic_handler(mut self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Self {
        self.options.handlers.panic = Some(Arc::new(handler));
        self
    }

    /// Sets a function that starts the threads of the pool. Such a function is useful for threads
    /// of another runtime or another priority, and on a system on which [`std::thread`] cannot
    /// start threads. The building thread calls the handler once for each worker except worker 0,
    /// with a [`WorkerThread`]. Each `WorkerThread` has to be [run](WorkerThread::run) on a thread
    /// of its own. These threads are pinned, and run the [`start_handler`](Self::start_handler) and
    /// the [`exit_handler`](Self::exit_handler), like threads that the pool itself starts. In the
    /// global pool these threads keep the priority that the handler gives them.
    ///
    /// | if | then |
    /// |---|---|
    /// | the handler returns `Ok` | the pool calls the handler for the next worker; after the last one it drops the handler, and [`build`](Self::build) waits until all workers run |
    /// | the handler returns an error | `build` fails with [`BuildError::Spawn`] |
    /// | the handler panics | the panic comes out of `build` |
    /// | a `WorkerThread` is dropped | `build` fails with [`BuildError::NotRun`] |
    /// | a `WorkerThread` is neither run nor dropped | `build` waits for ever |
    ///
    /// Dropping the pool waits until all its workers have left `run`. Dropping the pool does not
    /// wait for the end of their threads, which may go on to do something else. If the pool cannot
    /// be built, `build` also waits until all workers have left `run`.
    ///
    /// The handler may borrow, and the threads may be scoped. If the threads are scoped, drop the
    /// pool inside the scope, since the scope waits for the threads:
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

impl PoolBuilder {
    /// For the global pool, and for the pools of `rangesteal-rayon`: a wrong environment variable
    /// is a warning and has no effect. `doubts` are logged with the warnings of the pool.
    #[doc(hidden)]
    pub fn lenient(mut self, doubts: Vec<String>) -> Self {
        self.options.wish.lenient = Some(ToString::to_string);
        self.options.wish.doubts = doubts;
        self
    }

    /// For the pools of `rangesteal-rayon` that have handlers. The first thread of
    /// [`Pool::enter`](crate::Pool::enter) starts with the pool, by the spawn handler if there is
    /// one, with the number 0. Neither `build` nor the drop of the pool waits for handlers. A panic
    /// of a handler is given to the [`panic_handler`](Self::panic_handler), as that of a task.
    #[doc(hidden)]
    pub fn hosted(mut self) -> Self {
        self.options.handlers.are_detached = true;
        self.options.start_host = Some(PoolOptions::start_host);
        self
    }

    /// For the pools of `rangesteal-rayon` without threads: tasks start no thread, either.
    #[doc(hidden)]
    pub fn alone(mut self) -> Self {
        self.options.is_alone = true;
        self.num_threads(1)
    }
}

impl<S: FnMut(WorkerThread) -> io::Result<()>> PoolBuilder<S> {
    /// Makes the executor of a pool whose threads have the scheduling `inherited`. A thread that a
    /// pool has pinned builds a pool on the CPUs that it had before. In a scope, `pin_caller` pins
    /// the calling thread.
    pub(crate) fn assemble(
        self,
        inherited: Option<InheritedScheduling>,
        pin_caller: Option<Pin<'_>>,
    ) -> Result<Executor, BuildError> {
        let spawn = self.spawn_handler.map(|handler| Box::new(handler) as Spawn<'_>);
        self.options.assemble(inherited, pin_caller, spawn)
    }

    /// [`assemble`](Self::assemble) on the CPUs of the calling thread.
    pub(crate) fn assemble_here(self, pin_caller: Option<Pin<'_>>) -> Result<Executor, BuildError> {
        let inherited = before_pin().as_ref().map(InheritedScheduling::of_cpus);
        self.assemble(inherited, pin_caller)
    }
}

impl PoolOptions {
    /// Makes the plan, starts the threads, waits for those that have to say something, and pins the
    /// caller of a scope.
    fn assemble(
        mut self,
        inherited: Option<InheritedScheduling>,
        pin_caller: Option<Pin<'_>>,
        mut spawn: Option<Spawn<'_>>,
    ) -> Result<Executor, BuildError> {
        if let Some(asked) = self.stack_size.filter(|bytes| *bytes < LEAST_STACK) {
            return Err(BuildError::StackSize { asked });
        }
        let mask = inherited.as_ref().map_or_else(Mask::of_this_thread, InheritedScheduling::mask);
        let scheduling = inherited.clone().or_else(|| mask.as_ref().ok().map(InheritedScheduling::of_cpus));
        let before = mask.as_ref().ok().cloned();
        let allowed = mask.map(|mask| mask.cpus());
        let reading = Reading::of(allowed.as_deref().unwrap_or_default());
        let mut plan = SeatPlan::new(mem::take(&mut self.wish), System::now(allowed, &reading))?;
        reading.keep();
        if let (None, Some(here)) = (&pin_caller, affinity::here()) {
            plan.leave_free(here);
        }
        let handlers = Arc::new(mem::take(&mut self.handlers));
        let hosts = Hosts::new(HostOptions {
            name: self.name(0)?,
            stack_size: self.stack_size,
            scheduling,
            handlers: Arc::clone(&handlers),
            is_alone: self.is_alone,
        });
        let fence = Fence::of_this_process(); // before the threads start: a process with one thread registers at once
        if !fence.is_dear_for_thieves() {
            plan.remarks.push("no membarrier(2): each claim takes a full fence".into());
        }
        let patience = Patience::of(self.spin_before_park.unwrap_or_default());
        let mut threads = Threads::new(plan.workers - 1, fence, patience);
        if handlers.are_detached {
            threads.detach();
        }
        let host = self.start_host.map(|start| start(&hosts, spawn.as_mut())).transpose()?;
        let arrivals = self.start(&mut threads, &plan, (inherited, before), &handlers, spawn.as_mut())?;
        drop(spawn); // also drops the workers that the handler has kept, so that their receivers report an error
        if let Some(arrival) = host {
            arrival.receive().ok_or(BuildError::NotRun { worker: 0 })?;
        }
        let (mut pinned_helpers, mut refused, mut first_refused) = (Vec::new(), 0, None);
        let mut refuse = |worker, cpu: Cpu, source| {
            refused += 1;
            first_refused.get_or_insert((worker, cpu.number, source));
        };
        for (worker, arrival) in (1..).zip(arrivals) {
            let Arrived { taken_over, pinned, started } = match arrival {
                Arrival::Past(arrived) => arrived,
                Arrival::Awaited(arrival) => arrival.receive().ok_or(BuildError::NotRun { worker })?,
            };
            started.map_err(|message| BuildError::StartHandler { worker, message })?;
            if worker == 1
                && let Err(source) = taken_over
            {
                plan.doubts.push(format!(
                    "workers keep the CPUs and the priority of the thread that built the pool: {source}"
                ));
            }
            let Some(cpu) = plan.cpu(worker) else { continue };
            match pinned {
                Ok(thread) => pinned_helpers.push((worker, thread)),
                Err(source) => refuse(worker, cpu, source),
            }
        }
        let mut caller_pin = PinState::Free;
        if let (Some(pin), Some(cpu)) = (pin_caller, plan.cpu(0)) {
            caller_pin = PinState::Pinned;
            if let Err(source) = pin(cpu.number) {
                refuse(0, cpu, source);
                caller_pin = PinState::Refused;
            }
        }
        if let Some((worker, cpu, source)) = first_refused {
            if plan.pinning == Pinning::Required {
                let allowed = plan.machine.cpus.iter().map(|cpu| cpu.number).collect();
                return Err(BuildError::Pin { worker, cpu, allowed, source });
            }
            let others = if refused > 1 { &format!(", nor are {} others", refused - 1) } else { "" };
            plan.doubts.push(format!("worker {worker} is not pinned to CPU {cpu}: {source}{others}"));
        }
        let assignment = CpuAssignment::new(plan, pinned_helpers, caller_pin);
        Ok(Executor::new(threads, assignment, hosts, self.spin_before_park))
    }

    /// The name of a worker's thread.
    fn name(&self, worker: usize) -> Result<String, BuildError> {
        let name =
            self.thread_name.as_ref().map_or_else(|| format!("rangesteal-{worker}"), |name| name(worker));
        if name.contains('\0') { Err(BuildError::ThreadName { name }) } else { Ok(name) }
    }

    /// Starts the first host.
    fn start_host(
        hosts: &Hosts,
        spawn: Option<&mut Spawn<'_>>,
    ) -> Result<oneshot::Receiver<Arrived>, BuildError> {
        hosts.begin(|threads, (name, stack_size), body| {
            let started = match spawn {
                Some(spawn) => {
                    spawn(WorkerThread::new(0, name, stack_size, Box::new(|_pin| body()), threads.gate()))
                }
                None => threads.start(new_thread(name, stack_size), body).map(drop),
            };
            started.map_err(|source| BuildError::Spawn { worker: 0, source })
        })
    }

    /// Starts all threads. Does not wait until the threads arrive: a handler may collect all
    /// workers before it runs the first worker.
    ///
    /// A thread that has to do something before its first job pins itself before, and is awaited.
    /// Any other thread is pinned from here, and may not even run when the first loop is called:
    /// its start takes some 30 µs. New threads have the mask `before` of the building thread, until
    /// they take over what is `inherited`.
    fn start(
        &self,
        threads: &mut Threads,
        plan: &SeatPlan,
        (inherited, before): (Option<InheritedScheduling>, Option<Mask>),
        handlers: &Arc<Handlers>,
        mut spawn: Option<&mut Spawn<'_>>,
    ) -> Result<Vec<Arrival>, BuildError> {
        let inherited = inherited.filter(|_| spawn.is_none()); // threads of a handler keep their priority
        let is_awaited = inherited.is_some() || handlers.start.is_some();
        let mut arrivals = Vec::with_capacity(plan.workers);
        for worker in 1..plan.workers {
            let name = self.name(worker)?;
            let cpu = plan.cpu(worker).map(|cpu| cpu.number);
            let body = ThreadBody {
                worker,
                inherited: inherited.clone(),
                cpu,
                checks_cpu: plan.pinning != Pinning::Off,
                handlers: Arc::clone(handlers),
            };
            let (handle, (sender, arrival)) = (threads.new_worker(), oneshot::channel());
            let started = if let Some(spawn) = &mut spawn {
                let body = Box::new(move |pin: Pin<'_>| body.run(handle, sender, pin));
                spawn(WorkerThread::new(worker, name, self.stack_size, body, threads.gate()))
                    .map(|()| Arrival::Awaited(arrival))
            } else if is_awaited {
                let body = Box::new(move || body.run(handle, sender, &mut pin_for_good));
                threads.start(new_thread(name, self.stack_size), body).map(|_| Arrival::Awaited(arrival))
            } else {
                let before = before.clone();
                let mut is_pinned = move |_cpu| {
                    before.iter().for_each(note_pinned);
                    Ok(())
                };
                let body = Box::new(move || body.run(handle, sender, &mut is_pinned));
                threads.start(new_thread(name, self.stack_size), body).map(|started| {
                    let thread = thread_of(started);
                    let pinned = cpu.map_or(Ok(()), |cpu| pin_thread(thread, cpu)).map(|()| thread);
                    Arrival::Past(Arrived { taken_over: Ok(()), pinned, started: Ok(()) })
                })
            };
            arrivals.push(started.map_err(|source| BuildError::Spawn { worker, source })?);
        }
        Ok(arrivals)
    }
}

/// The message of a worker's thread.
enum Arrival {
    /// The builder knows it without the thread.
    Past(Arrived),
    Awaited(oneshot::Receiver<Arrived>),
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
            .spin_before_park(Duration::from_millis(7));
        assert_eq!(
            format!("{builder:?}"),
            "PoolBuilder { num_threads: Some(3), pinning: Off, placement: Compact, \
             stack_size: Some(1048576), spin_before_park: Some(7ms), .. }"
        );
        assert!(builder.options.thread_name.is_some());
    }
}
