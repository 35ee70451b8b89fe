//! Reports: why a loop is not faster.
//!
//! ```
//! use rangesteal::{Pool, RunReport};
//!
//! let pool = Pool::new()?;
//! let mut report = RunReport::default();
//! pool.on(0..400_000).report(&mut report).map(|i| f64::from(i).sqrt()).sum::<f64>();
//! println!("{report}");
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! prints, with two threads,
//!
//! ```text
//! 400000 items in 1.6ms, 0 thefts, balance 0.971
//! worker        items   runs  thefts suffered  failed   working  to start    at end
//!      0       204608      1       0        0       0     1.5ms     0.0ns     1.2µs
//!      1       195392      1       0        0       0     1.5ms    87.6µs    15.2µs
//! ```
//!
//! * [A report of a call](#a-report-of-a-call) says what each worker did in one call.
//! * [A report of a program](#a-report-of-a-program) lists the loops and their times.
//! * [A trace](#a-trace-of-a-loop) has the runs and thefts of each worker over time, for a profiler
//!   or a picture.
//!
//! # A report of a call
//! Each line is a [worker](crate::WorkerReport). Worker 0 is the calling thread. A worker waits for
//! its first item (`to start`), is `working`, steals between its runs, and waits for the other
//! workers (`at end`). These four times add up to the time of the loop. The
//! [balance](crate::RunReport::balance) is the mean of the workers' `working` times, divided by the
//! longest of them.
//!
//! Report a round in the middle of your algorithm, because the pool learns the cost of a loop in
//! the first rounds. Then look for these signs:
//!
//! | you see | meaning | remedy |
//! |---|---|---|
//! | one line only | the loop ran on the calling thread alone; the first line says why (see [`Alone`](crate::Alone)) | `short`, `one worker`: none. `faster`: see the last row, and look for other programs that use the CPUs. `its program is faster`: none; if data moves between CPUs, longer loops or loops that work on the same parts gain more. `the pool was busy`: none, since all workers had work |
//! | `to start` of some 10 to 100 µs | the thread had to wake up | none, if the loop takes a millisecond or more. Otherwise less work between loops, or fewer and longer loops |
//! | `to start` is as long as the loop | the thread came too late for any item: its CPU had other work | fewer threads, or less other work on the machine |
//! | `at end` is long for all workers but one | the other workers waited for the last item of this worker | divide heavy items; sort them to the front |
//! | few thefts, a balance of nearly 1 | the loop is well balanced | none |
//! | thefts in every round | the cost of items changes from round to round | none: the thefts restore the balance |
//! | many `failed` | there are fewer ranges than workers that want to steal | more and smaller items, or fewer threads |
//! | all are `working`, and their times add up to much more than the plain loop's time | workers wait for memory, for a lock, or for a cache line that all of them write; or they share a core; or the compiler vectorised the plain loop and not the blocks | touch less memory; fold instead of locking; try a large [`grain`](crate::On::grain), such as 4096 |
//!
//! # A report of a program
//! With the environment variable `RANGESTEAL_REPORT=1` a program writes a line for each of its
//! loops to standard error when it exits:
//!
//! ```text
//! rangesteal: 3 loops took 128.5ms, and all workers worked for 246.9ms in them: gain 1.92
//!  calls        items      time   gain  idle balance    thefts      help  loop
//!     63     25200000   125.5ms   1.93     1    0.98        34    39.0µs  src/kmeans.rs:61:10
//!      1       400000     2.1ms   1.96     1    1.00         0    36.7µs  src/kmeans.rs:111:10
//!      9          180     0.9ms   0.93     -       -         0    20.0µs  a.rs:2:9; alone: short 9
//! ```
//!
//! | column | meaning |
//! |---|---|
//! | `loop` | the place of the call in the source |
//! | `time` | the time of all calls together |
//! | `gain` | the sum of the workers' `working` times, divided by `time`: the mean number of working workers. The gain is not a speed-up. With two threads, a gain of 1.9 is good. The plain loop has a gain of 1. Items that wait for memory or for each other also make the gain high, so compare the time with that of `threads(1)` |
//! | `idle` | the number of idle workers when a call was shared: the median of the shared calls |
//! | `balance` | the [balance](crate::RunReport::balance) of the shared calls |
//! | `help` | the cost of waking a worker, as the pool estimates it |
//! | `alone: short 9` | nine calls ran on the calling thread alone, because they were short ([`Alone`](crate::Alone) has all reasons) |
//! | `idle: 1 to 7` | the smallest and the largest number of idle workers, if they differ |
//! | `begun alone: 2.0ms` | the time that callers worked alone before they shared calls |
//!
//! * **A low gain and few idle workers**: when the loop was called, most workers worked in other
//!   loops.
//! * **A low gain and many idle workers**: the loop was too short to use many workers, or they
//!   started too late.
//! * The time of an inner loop also counts as time of the outer loop.
//! * A sort counts each part that it shares as a call. A `collect` behind `filter` or `flat_map`
//!   may count a second call, which moves the results together.
//! * Not listed: sorts that run alone, calls of `join`, and calls that panic.
//! * The report adds some 0.5 µs to each call, and up to 1.5 µs to a call of a short loop: without
//!   a report, most such calls run as the last call that was decided.
//! * The report needs Unix. If a signal ends the program, no report is printed. If the report goes
//!   to a full pipe, the exit waits at most a second.
//!
//! # Log lines
//! A pool logs through the crate `log`. The texts and the levels may change.
//!
//! | level | line |
//! |---|---|
//! | `warn` | a pool could not do what its builder requested, such as pin a thread |
//! | `info` | a loop is much slower shared than alone (at most one line per pool) |
//! | `debug` | one line for each loop; remarks on CPUs and quotas when a pool is built; the first loop that runs alone because other loops use the pool |
//! | `trace` | the report of each loop |
//!
//! # A trace of a loop
//! ```no_run
//! use rangesteal::{Pool, Trace};
//!
//! let pool = Pool::new()?;
//! let mut trace = Trace::new();
//! for round in 1..=3 {
//!     let title = format!("round {round}");
//!     let loops = pool.on(0..10_000).trace(trace.titled(title));
//!     loops.map(|i| f64::from(i).sqrt()).sum::<f64>();
//! }
//! // For ui.perfetto.dev, profiler.firefox.com or `profiling/timeline`:
//! std::fs::write("loops.json", trace.chrome().to_string())?;
//! for slow in &trace.timelines()[2].slowest {
//!     println!("items {:?} took {:?}", slow.items, slow.took);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Trace`](crate::Trace) records each run of each worker, the victim of each theft, and the
//! slowest items. A profiler shows the file with a lane for each worker. The script
//! `profiling/timeline` of this crate's repository draws the last eight loops of the file as a
//! picture (SVG):
//!
//! ```sh
//! profiling/timeline loops.json >loops.svg
//! ```
//!
//! In the picture
//!
//! * each worker has a lane and a colour;
//! * a run has the colour of the worker that first had its items, so a lane with several colours
//!   belongs to a worker that stole;
//! * an arrow points from the victim of a theft to the thief;
//! * grey is waiting;
//! * a fine line is a reading of the clock;
//! * an inner loop is a framed bar at the foot of the run that called it. Each helper of the inner
//!   loop has a bar in its own lane, in the colour of the worker that called the inner loop. A
//!   worker that only helps has a lane, too.
//!
//! So the picture shows whether an outer loop of two items keeps all workers busy. The trace has
//! the numbers as well:
//!
//! ```
//! # use rangesteal::{Pool, Trace};
//! # let (pool, mut trace) = (Pool::new()?, Trace::new());
//! pool.on(0..2).trace(trace.titled("two items")).for_each(|_| {
//!     pool.on(0..10_000).map(|i| f64::from(i).sqrt()).sum::<f64>();
//! });
//! for inner in &trace.timelines()[0].inner {
//!     println!("{} by worker {}, helpers: {}", inner.at, inner.worker, inner.helpers.len());
//! }
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A trace omits inner loops that are too short to share, and loops that other threads call.
//!
//! # What makes a loop slow
//! * **Large accumulators by value.** `fold` moves the accumulator for every item. Moving a `Vec`
//!   or a `Box` costs almost nothing. An array of 256 counters is copied for every item, so the
//!   loop takes a hundred times as long. [`Iterator::fold`] copies the array, too.
//! * **Indices where items would do.** `pool.on(0..n)` with `x[i]` in the closure checks a bound
//!   for every item. A loop over a tuple of slices, `pool.on((&x, &y))`, checks no bound. A closure
//!   that captures a `Vec` loads its address again for every item. Capture a slice instead:
//!   `let x = &x[..];` before `move |i| x[i]`.
//! * **An unpredictable branch.** See [the next section](#a-branch-that-cannot-be-predicted).
//! * **`max` or `min` of a large closure.** For the first item, the loop has no earlier value to
//!   compare with, so the loop handles this item separately. If the closure has more than some 150
//!   instructions, the compiler then does not vectorise the loop. `fold` with an initial value
//!   avoids this problem: with `fold`, a loop whose closure has 40 rounds of shift, xor and add
//!   takes a fifth of the time.
//! * **`reproducible` with few items and a large accumulator.** The loop calls `init` and `merge`
//!   once for each block, and 10,000 items make 257 blocks of 39 items. If the accumulator is a
//!   table, ask for larger blocks: `.reproducible().grain(1000)`.
//! * **Shared state in the closure**: a lock, an atomic counter, an allocator with a lock. Use
//!   [`fold`](crate::On::fold).
//!
//! # A branch that cannot be predicted
//! In the step of k-means below, finding the nearest of 16 centres takes 60 ns per point with
//! `if distance < best`, and 27 ns per point with
//! [`select_unpredictable`](std::hint::select_unpredictable). The plain loop and the pool's loop
//! take the same time:
//!
//! ```
//! use std::hint::select_unpredictable;
//!
//! fn nearest(point: [f64; 2], centres: &[[f64; 2]]) -> usize {
//!     let (mut nearest, mut best) = (0, f64::INFINITY);
//!     for (i, centre) in centres.iter().enumerate() {
//!         let [x, y] = [point[0] - centre[0], point[1] - centre[1]];
//!         let distance = x * x + y * y;
//!         let is_nearer = distance < best;
//!         nearest = select_unpredictable(is_nearer, i, nearest);
//!         best = select_unpredictable(is_nearer, distance, best);
//!     }
//!     nearest
//! }
//!
//! let pool = rangesteal::Pool::new()?;
//! let (centres, points) = ([[0.0, 0.0], [4.0, 4.0]], [[1.0, 0.5], [3.0, 5.0], [0.0, 2.0]]);
//! let clusters: Vec<usize> = pool.on(&points).map(|point| nearest(*point, &centres)).collect();
//! assert_eq!(clusters, [0, 1, 0]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
