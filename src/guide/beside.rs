//! Beside others: libraries, several pools, other runtimes, processes, quotas, `fork`, loggers.
//!
//! ```
//! use rangesteal::Pool;
//!
//! /// The caller passes its pool, or none.
//! fn norm(x: &[f64], pool: Option<&Pool>) -> f64 {
//!     let pool = pool.unwrap_or_else(Pool::global);
//!     pool.on(x).map(|x| x * x).sum::<f64>().sqrt()
//! }
//!
//! assert_eq!(norm(&[3.0, 4.0], None), 5.0);
//! ```
//!
//! # Where a pool comes from
//! | I write | the pool |
//! |---|---|
//! | a program | [`Pool::new`](crate::Pool::new) once, in `main`, and pass `&pool` along |
//! | a library | take an `Option<&Pool>`, as above. [`Pool::global`](crate::Pool::global) is one pool for the whole program |
//! | a type that runs many loops | [let it own a pool](#a-struct-that-owns-a-pool), or borrow one: `&'p Pool` |
//! | owners on several threads | `Arc<Pool>`: all loops take `&self` |
//!
//! # A struct that owns a pool
//! ```
//! use rangesteal::{BuildError, PerWorker, Pool};
//!
//! struct Simulation {
//!     places: Vec<f64>,
//!     speeds: Vec<f64>,
//!     steps: PerWorker<u64>,
//!     pool: Pool,
//! }
//!
//! impl Simulation {
//!     fn new(bodies: usize) -> Result<Self, BuildError> {
//!         let pool = Pool::new()?;
//!         let steps = pool.per_worker(|_worker| 0);
//!         Ok(Self { places: vec![0.0; bodies], speeds: vec![2.0; bodies], steps, pool })
//!     }
//!
//!     fn step(&mut self, seconds: f64) {
//!         let bodies = self.pool.on(&mut self.places).zip(&self.speeds);
//!         bodies.with_kept(&mut self.steps).for_each(|(steps, (place, speed))| {
//!             *place += speed * seconds;
//!             *steps += 1;
//!         });
//!     }
//! }
//!
//! let mut simulation = Simulation::new(100)?;
//! simulation.step(0.5);
//! assert_eq!(simulation.places, [1.0; 100]);
//! assert_eq!(simulation.steps.into_vec().iter().sum::<u64>(), 100);
//! # Ok::<(), BuildError>(())
//! ```
//!
//! The loop borrows two fields: `self.pool` shared, and `self.places` exclusively. A closure that
//! calls a method of `self` borrows the whole struct, so the compiler refuses such a closure in a
//! loop over `&mut self.places`. [`PerWorker`](crate::PerWorker) states have no lifetime, so the
//! struct can keep them beside the pool.
//!
//! # Several pools
//! A pool pins a thread to each CPU except one. So six pools have six threads on each of these
//! CPUs. Use one pool: several threads can call its loops. Idle workers help these loops, beginning
//! with the loop that was shared first. A call that never gets help is counted as `busy`, in
//! [`RunReport::alone`](crate::RunReport::alone) and in [the report of the
//! program](super::reports#a-report-of-a-program).
//!
//! Items that wait for a long time and compute much should have a pool of their own, because a
//! helper of [such a loop](super::waiting) stays with it until the end of the loop.
//!
//! # In a program that uses rayon
//! Threads of rayon may call loops. A loop uses the CPUs that are idle. Loops were measured on two
//! workers of rayon: one worker was busy, and the other worker called the loops. Loops of 0.1, 1
//! and 10 ms took 0.60, 0.52 and 0.71 times the plain loop's time beside the same busy worker. A
//! loop of 20 µs took 1.02 times the plain loop's time. (These figures are medians. For the loop of
//! 20 µs, the mean was 1.23 times the plain loop's time.) The busy worker loses the time that the
//! loop gains.
//!
//! If one thread calls a short loop of rayon and a short loop of this library in turn, loops take
//! longer, probably because the threads of the pool that has just worked still poll for work. Two
//! pools of two threads on two CPUs: in turn with rayon's, loops of 20,000 items of some 1 ns took
//! 1.2 to 1.5 times as long as without them, loops of 100,000 items 1.1 to 1.3, and loops of
//! 1,000,000 items 1.0 to 1.1. rayon's loops took 0.9 to 1.3 times as long. (Four runs of `cargo
//! bench -p rangesteal-benches --bench adapters -- --both`, on a machine that others used, too.)
//! Two pools have nearly twice as many threads as the machine has CPUs. With the package
//! `rangesteal-rayon` in `[patch.crates-io]`, all crates of a program share one pool.
//!
//! # In a program that uses tokio
//! Call loops in `spawn_blocking`, never in an async task. [Items that wait](super::waiting) can
//! use tokio.
//!
//! # Several processes on the same CPUs
//! Pools of different processes pin their workers to the same CPUs. If another program keeps the
//! CPU of a worker busy while other CPUs are idle, the pool unpins that worker for a while. If
//! programs share CPUs all the time, start them with `RANGESTEAL_PINNING=off`, or give each program
//! its own CPUs by `taskset` or a control group. [Ranks of
//! MPI](super::machines#more-than-one-machine) need the same setting.
//!
//! # Measured
//! The table has the time of loops of 1 ms, called again and again on two CPUs, divided by the time
//! of plain loops in the same place. The command is `cargo bench --bench versus -- --rows beside`.
//!
//! | loops of 1 ms | rangesteal | rayon |
//! |---|---|---|
//! | on a thread of rayon | 0.52 | 0.51 |
//! | on a blocking thread of tokio | 0.53 | 0.54 |
//! | two threads, on the global pool | 0.96 | 1.11 |
//! | two threads, a pool each | 1.21 | |
//! | eight threads, on the global pool | 1.04 | 1.02 |
//! | eight threads, a pool each | 1.15 | |
//! | beside another process that does the same | 0.71 | 1.02 |
//!
//! # CPU quotas
//! On Linux the first pool of a process reads the CPU quota of its control group. Later pools use
//! what it has read, unless they may run on other CPUs. If the quota is less than the number
//! of CPUs, the pool has as many workers as the quota, rounded up: three for 2.5 CPUs.
//! `num_threads` and `RANGESTEAL_NUM_THREADS` override that number. No worker is pinned, because
//! other programs share the CPUs. If three workers share 2.5 CPUs, none of them polls between
//! loops, unless the program sets
//! [`spin_before_park`](crate::PoolBuilder::spin_before_park). More workers than the quota help
//! only loops whose items sleep or wait.
//! [`PoolBuilder::num_threads`](crate::PoolBuilder::num_threads) has all rules.
//!
//! # `fork`
//! The child has only the thread that called `fork`. So in the child
//!
//! * loops on a pool of the parent run on the calling thread, and so do loops with a
//!   [`CancelToken`](crate::CancelToken) or [`Progress`](crate::Progress) of the parent;
//! * loops on a pool that the child has built are shared;
//! * loops on [`Pool::global`](crate::Pool::global) are shared if the parent had not used the
//!   global pool before.
//!
//! If a closure forks inside a loop, the child must not return into the loop: let it exec or exit.
//! If the parent will print [a report](super::reports#a-report-of-a-program), its later children
//! print no report.
//!
//! # Loggers and allocators
//! A logger or an allocator may run loops on [`Pool::global`](crate::Pool::global), even while that
//! pool is being built. Until the pool is ready, these loops run on their calling threads.
//!
//! * **A logger**: each loop logs a line at level `debug`. If the logger runs a loop for each line,
//!   this loop logs another line, and the recursion never ends.
//! * **An allocator**: each loop may allocate. If the allocator runs a loop for each allocation,
//!   this loop allocates again, and the recursion never ends. During a loop, the allocator must not
//!   hold a lock that other threads need to allocate.
