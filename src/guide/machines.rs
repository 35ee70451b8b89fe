//! Machines: CPUs, pinning, NUMA, ranks of MPI, wasm.
//!
//! ```
//! use rangesteal::{Placement, Pool};
//!
//! let pool = Pool::builder().placement(Placement::LogicalCpus).build()?;
//! println!("{}", pool.placement());
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! prints the CPU of each worker, and the reasons. `LogicalCpus` is the default. On four cores with
//! two hardware threads each, the output is:
//!
//! ```text
//! 8 workers, by the CPUs there are; LogicalCpus
//! worker    CPU   core thread  cache   node  class
//!      0      0      0      0      0      0      0  left free for the calling thread
//!      1      1      1      0      0      0      0  pinned
//!      ...
//!      4      4      0      1      0      0      0  pinned
//! ```
//!
//! # Which CPUs
//! [`Placement`](crate::Placement) is the order in which workers get CPUs. If no other setting sets
//! the number of workers, the placement also sets this number.
//!
//! | I want | placement |
//! |---|---|
//! | all CPUs: one of each core first, then the others | [`LogicalCpus`](crate::Placement::LogicalCpus), the default |
//! | one worker for each core | [`PhysicalCores`](crate::Placement::PhysicalCores) |
//! | few workers that share caches, while other cores stay free | [`Compact`](crate::Placement::Compact) |
//! | few workers, each with much cache and memory bandwidth | [`Spread`](crate::Placement::Spread) |
//! | certain CPUs | [`Cpus`](crate::Placement::Cpus) |
//!
//! A pool uses only CPUs that the building thread may run on. `taskset`, control groups and
//! launchers reduce the CPUs that a thread may run on.
//!
//! # Pinning
//! On Linux a pool pins its threads, except under [a CPU quota](super::beside#cpu-quotas).
//! [`pinning`](crate::PoolBuilder::pinning) or `RANGESTEAL_PINNING` changes this default. Only a
//! [`scope`](crate::PoolBuilder::scope) pins the calling thread. Without a scope, the pool leaves a
//! CPU free for the calling thread.
//!
//! Threads and programs that a pinned thread starts may use only the same CPU, and
//! [`available_parallelism`](std::thread::available_parallelism) returns 1 there. If an item starts
//! programs, threads or a library's team of threads, start them in
//! [`pool.unpinned(..)`](crate::Pool::unpinned), or turn pinning off. Pools that an item builds use
//! all CPUs of the program.
//!
//! # System calls
//! The system calls that a loop makes on Linux, once its pool is built. Closures, the allocator, a
//! logger and [reports](super::reports) make further calls.
//!
//! | call | when |
//! |---|---|
//! | `futex` | threads sleep and wake |
//! | `membarrier` | a worker steals from a worker whose items are cheap; a worker registers the process, once, if it had several threads when its first pool was built |
//! | `getrusage` | in a pool with more workers than CPUs: to find loops whose items sleep |
//! | `openat`, `read`, `close` of `/proc/thread-self/schedstat` and `/proc/stat` | unless pinning is off: a worker checks whether it gets its CPU |
//! | `sched_setaffinity` | unless pinning is off: a worker moves to another CPU |
//!
//! [`Pinning::Off`](crate::Pinning::Off), or `RANGESTEAL_PINNING=off`, leaves the first two calls,
//! in a pool that has no more workers than CPUs. A worker that gets hardly any CPU time then still
//! takes part in loops. A filter that kills the process at other calls is installed after the pool
//! is built, or by the [`start_handler`](crate::PoolBuilder::start_handler) and on the calling
//! thread.
//!
//! # NUMA
//! One pool may span all NUMA nodes of a machine. No machine with several nodes was measured.
//!
//! * Workers with neighbouring numbers have neighbouring caches and nodes, except with `Spread`.
//! * A worker steals from the nearest of the workers that have at least three quarters of the most
//!   items left: first from a worker that shares its last-level cache, then from a worker on its
//!   node. A worker that is not pinned counts as far from all others. From 32 workers on, thieves
//!   that look at the same time choose different victims, if several workers qualify.
//! * If the same loop runs over the same slice again, each worker is likely to get the same items
//!   as in the last round. The items may then still lie in the worker's cache or on the worker's
//!   node. The pool does not promise that a worker gets the same items again.
//! * An alternative is [a rank](#more-than-one-machine) on each node: threads of a rank never steal
//!   from another node.
//!
//! # More than one machine
//! ```
//! use rangesteal::{Pool, reproducible::{Part, Place, share}};
//!
//! # fn all_gather(mine: Vec<(Place, f64)>) -> Vec<(Place, f64)> { mine }
//! # let (rank, ranks, points) = (0, 1, 10_000);
//! let add = |a, b| a + b;
//! let pool = Pool::new()?;
//! let mine = share(points, rank, ranks); // the points of this rank
//! let x: Vec<f64> = pool.on(mine.clone()).map(|i| 1.0 / (i + 1) as f64).collect();
//! for _round in 0..10 {
//!     let squares = pool.on(&x).map(|x| x * x);
//!     let part = squares.reproducible_part(mine.start, points).reduce(add);
//!     let nodes = all_gather(part.into_nodes().collect()); // of all ranks, in their order
//!     let sum = Part::from_nodes(points, nodes, add)?.into_result(add)?;
//!     // On any number of ranks and threads, this has the bits of one loop over all points:
//!     assert_eq!(sum, pool.on(&x).reproducible().map(|x| x * x).reduce(add));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A *rank* is a process on one machine, or on one NUMA node. Each rank has a share of the items, a
//! pool, and the same loops as before. The result of a loop goes through an all-reduce of MPI.
//!
//! ## When ranks pay
//! Use ranks if the items do not fit into one memory, or if a round takes some ten milliseconds on
//! all cores of one machine and there are thousands of rounds.
//!
//! * An exchange takes 0.3 µs between two ranks on one machine. Through a network it takes 2 to 100
//!   µs (the usual values of InfiniBand and Ethernet, not measured here).
//! * The main cost of ranks is the wait for the slowest rank of each round: 10 to 700 µs in rounds
//!   of 0.5 to 5 ms, on two cores.
//! * Threads steal from each other, and ranks do not. So one process balances the load of a machine
//!   better than several ranks.
//!
//! The table has the time of two ranks with one thread each, divided by the time of one process
//! with two threads, on two cores of an Intel Xeon with Open MPI 4.1.4 in shared memory (no network
//! was measured):
//!
//! | program | time |
//! |---|---|
//! | k-means, rounds of 1.1 ms; of 11 ms | 1.04; 0.89 |
//! | `PageRank` on a skewed graph, rounds of 0.9 ms: equal shares; learned shares | 0.79; 0.63 |
//!
//! Ranks are faster where threads gain little: in page faults, and in loops that are too short for
//! two threads. The README of `examples/ranks` has all figures.
//!
//! ## What to send
//! | the result is | do | the bits are the same |
//! |---|---|---|
//! | one integer or a few integers | `all_reduce` with `MPI_SUM` | always |
//! | any value that is reduced in order | `all_gather`, then fold in the order of the ranks | for the same number of ranks |
//! | a floating-point sum | `all_gather` and fold, as above; or [`reproducible_part`](crate::On::reproducible_part), and gather its nodes | with `reproducible_part`, for any number of ranks and threads |
//!
//! `reproducible_part`, as in the example, makes a tree whose shape depends only on the total
//! number of items. MPI's own floating-point sums may have different bits for different numbers of
//! ranks.
//!
//! ## How to start ranks
//! `examples/ranks` in the repository has k-means and `PageRank`, with [rsmpi](https://docs.rs/mpi).
//!
//! ```sh
//! cargo build --release -p ranks
//! mpirun -n 2 --map-by slot:PE=8 --bind-to core target/release/kmeans
//! mpirun -n 2 --bind-to none -x RANGESTEAL_PINNING=off target/release/pagerank
//! mpirun -n 2 --bind-to none target/release/latency
//! ```
//!
//! * **CPUs.** If there are only one or two ranks, Open MPI 4 binds each rank to one core unless an
//!   option says otherwise. The pool then has a worker for each hardware thread of this core, and
//!   [`Pool::placement`](crate::Pool::placement) says "bound to 1 of 64 CPUs" (or to 2). The first
//!   `mpirun` above gives each rank 8 cores of its own, which is best.
//! * **Pinning.** Ranks that may run on the same CPUs pin their workers to the same CPUs. A rank
//!   that waits in MPI polls all the time, and keeps its CPU busy. With shared CPUs, a loop of an
//!   election count took 27 times as long. So give each rank its own CPUs, or set
//!   `RANGESTEAL_PINNING=off`.
//! * **Threads.** Initialise MPI with `Funneled`, on the thread that calls the loops. The calling
//!   thread is worker 0 of every loop, and may call MPI between loops. Closures of loops must not
//!   call MPI.
//! * **The end.** If a rank returns early, the other ranks wait for ever. So every message should
//!   be able to carry an error instead of a result, and `main` should catch a panic and call
//!   `abort`. The examples send errors in this way, and call `abort`.
//!
//! ## Shares of unequal cost
//! Ranks do not steal from each other, but they can adjust their shares from round to round. Each
//! rank sends the time that it has computed. If the slowest rank takes 1.1 times the mean for three
//! rounds, all ranks compute the same new boundaries, and load the items that are new to them.
//! `examples/ranks/shares.rs` does this in some hundred lines. On a skewed graph, it reduced the
//! imbalance of `PageRank` from 1.45 to 1.07, and the time of a round from 1.75 to 1.36 ms.
//!
//! If items need no data except their index, a shared counter balances the ranks even better: all
//! ranks fetch chunks of indices from this counter. See LB4MPI (Mohammed, Eleliemy, Ciorba,
//! Kasielke, Banicescu).
//!
//! # wasm and other systems
//! On wasm, with or without WASI, loops run on the calling thread, which is the only worker.
//! Building a pool of more workers returns a [`BuildError`](crate::BuildError).
//! `wasm32-unknown-unknown` has no clock, so all times of reports are zero there.
//!
//! On systems other than Linux, pools pin no threads, and
//! [`Pinning::Required`](crate::Pinning::Required) is an error. `STABILITY.md` in the repository
//! lists the systems that are tested.
