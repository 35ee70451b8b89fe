//! A loop over a slice on all cores, again and again.
//!
//! ```
//! use rangesteal::Pool;
//!
//! let pool = Pool::new()?;
//! let mut weights = vec![1.0_f64; 1000];
//! for _round in 0..10 {
//!     let total = pool.map_reduce(&weights, |w| w * w, |a, b| a + b).unwrap_or(0.0);
//!     weights = pool.map_collect(&weights, |w| w / total.sqrt());
//! }
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Trade-offs
//! This crate does one thing: it runs a loop over a slice inside an iterative algorithm, as fast as the machine allows and
//! never slower than the plain loop (but for some tens of nanoseconds). For that it gives up what such a loop does not need:
//!
//! * Only slices and index ranges, and one loop at a time on a pool. No `join`, no trees of tasks, no iterator adaptors. A loop called inside
//!   another loop runs as a plain loop. If your work is recursive, or your program is a mix of many kinds of parallelism, use
//!   [rayon](https://docs.rs/rayon).
//! * A pool of its own threads. A program with one pool per library would have too many; make one and pass it along.
//! * Threads are pinned to CPUs where the system allows it ([`Pinning`], [`Placement`]).
//!
//! # How it works
//! Every worker owns a range of indices and takes items from its front. A worker that has run out looks at all ranges and
//! steals the back half of the largest, or of a nearer one that is about as large, down to a single item. So there is no job tree
//! and no queue; and nothing that a loop needs is allocated or locked per item: to claim an item is one store, one load and one comparison (and a fence of a few
//! nanoseconds where items take 0.4 µs or more). Where items are so cheap that even this would show, they are claimed in blocks
//! of 8, or, where that is measured to be faster still, of 64; the price is that up to 63 items can be trapped behind an unexpectedly heavy
//! one in a claim (at most 7 where the items before it, or the average item of the last round, took 2 ns or more, none where they took
//! 128 ns or more).
//!
//! The thread that calls a loop is worker 0 and begins at once. The others sleep on condition variables. Whether they are woken,
//! and how many, is decided by what the loop cost last time and by what help costs, which the pool measures: a few microseconds
//! of the caller's time, and 10 to 40 µs until the other thread begins. Who wakes up too late finds nothing to do and is not
//! waited for. Between loops nobody spins, unless asked to ([`PoolBuilder::spin_before_park`]). A loop that was very short and
//! has become long all of a sudden runs on the caller alone until it is timed again: one call in sixteen is, on average.
//!
//! An iterative algorithm runs the same loop over the same slice again and again. So workers note where in the slice the time
//! went, and the next round is dealt out at boundaries of equal cost, with less for who wakes up late. When that guess is good
//! nobody steals, and every item meets the core that has it in its cache; when it is wrong, stealing repairs it. Either way the
//! result is the same. The memory orderings and the proof that every item is claimed exactly once are in `src/pool/README.md`.
//!
//! Partial results are combined in slice order, so a reduction need not be commutative: strings can be joined in parallel.
//!
//! # How to use it
//! Make a [`Pool`] once, or run everything inside [`PoolBuilder::scope`], which also pins the calling thread. Then
//!
//! | plain loop | in parallel |
//! |---|---|
//! | `items.iter().map(map).reduce(reduce)` | [`pool.map_reduce(&items, map, reduce)`](Pool::map_reduce) |
//! | `items.iter().fold(init(), fold)` | [`pool.fold_reduce(&items, init, fold, reduce)`](Pool::fold_reduce) |
//! | `items.iter().for_each(f)` | [`pool.for_each(&items, f)`](Pool::for_each) |
//! | `items.iter().map(map).collect()` | [`pool.map_collect(&items, map)`](Pool::map_collect) |
//! | `items.iter_mut().for_each(f)` | [`pool.for_each_mut(&mut items, f)`](Pool::for_each_mut) |
//! | `items.iter().position(test)` | [`pool.position_first(&items, test)`](Pool::position_first) |
//! | `a.iter_mut().zip(&b).for_each(f)` | [`pool.on(&mut a).zip(&b).for_each(f)`](Pool::on) |
//! | `items.sort_by(compare)` | [`pool.sort_by(&mut items, compare)`](Pool::sort_by), [`sort`](Pool::sort), [`sort_by_key`](Pool::sort_by_key) |
//!
//! The [`guide`] has the others, and what to write for what you know from rayon or `OpenMP`.
//!
//! Closures may borrow local variables. What they must not do is change them without synchronisation, and the compiler sees to
//! that:
//!
//! ```compile_fail,E0594
//! # let pool = rangesteal::Pool::new()?;
//! let mut sum = 0;
//! pool.for_each(&[1, 2, 3], |x| sum += x);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```

mod clock;
pub mod guide;
mod pool;
#[cfg(doctest)]
mod refused;
mod sync;

/// The examples of the README, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use pool::{
    Alone, BuildError, CancelToken, Cancelled, CountedBy, Cpu, Hold, On, PerWorker, Pinning, Placement, Pool,
    PoolBuilder, Progress, RunReport, Seat, Seating, Stealing, Trace, WorkerReport,
};

/// What loops run over.
pub mod source {
    pub use crate::pool::{Chunks, Exclusive, IntoSource, Pieces, Source, Zip};
}

/// What a [`Trace`] holds.
pub mod trace {
    pub use crate::pool::{Run, Slow, Theft, Timeline};
}

/// The types that stand for the options of [`On`]. Only generic code has to name them.
pub mod options {
    pub use crate::pool::{Always, Ending, Fresh, Kept, State, Stateful, Stateless, Unless};
}
