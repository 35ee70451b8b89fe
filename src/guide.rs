//! The user guide: one page for each job. Each page begins with its example.
//!
//! A loop has a source, stages and an end: `pool.on(&v).map(f).sum()` has the source `&v`, the
//! stage `map` and the end `sum`. The programs `kmeans`, `pagerank`, `em`, `stencil`, `queens`,
//! `fetch` and `records` in `examples/` show the plain loop, rayon and this crate side by side.
//!
//! * [Choosing a loop](loops): the loop for each job; recipes for errors and groups.
//! * [Options](options): same bits in every run, progress, cancelling, fewer threads, block sizes.
//! * [Reports](reports): reports of a call and of a program, traces, and what makes a loop slow.
//! * [Items that make items](grow): trees, graphs, branch and bound, divide and conquer.
//! * [Items that wait](waiting): requests, timers, files; tokio, smol, a thread of your own.
//! * [Beside others](beside): several pools, other runtimes, processes, quotas, `fork`, loggers.
//! * [Machines](machines): CPUs, pinning, NUMA, ranks of MPI, wasm.
//! * [Random numbers](random): results that do not depend on the number of threads.
//! * [Locks and loops](locks): which locks may be held around a loop, and what can deadlock.
//! * [Coming from rayon](from_rayon): the counterpart of each name, and what differs.
//! * [Coming from `OpenMP`](from_openmp): the counterpart of each directive and clause.

pub mod beside;
pub mod from_openmp;
pub mod from_rayon;
pub mod grow;
pub mod locks;
pub mod loops;
pub mod machines;
pub mod options;
pub mod random;
pub mod reports;
pub mod waiting;
