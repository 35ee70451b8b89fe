//! Parallel loops over slices for iterative algorithms: the same loop on all cores, again and
//! again.
//!
//! ```
//! use rangesteal::Pool;
//!
//! let pool = Pool::new()?;
//! let mut weights = vec![1.0_f64; 1000];
//! for _round in 0..10 {
//!     let total: f64 = pool.on(&weights).map(|w| w * w).sum();
//!     weights = pool.on(&weights).map(|w| w / total.sqrt()).collect();
//! }
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # How to use it
//! Make a [`Pool`] once, or run the program inside [`PoolBuilder::scope`], which also pins the
//! calling thread. Pass the source of the items (a slice or a range, say) to
//! [`pool.on(..)`](Pool::on), and continue as with an [`Iterator`]. [`On`] lists all methods.
//!
//! | plain loop | in parallel |
//! |---|---|
//! | `items.iter().map(f).filter(p).sum()` | `pool.on(&items).map(f).filter(p).sum()` |
//! | `items.iter_mut().for_each(f)` | `pool.on(&mut items).for_each(f)` |
//! | `items.into_iter().map(f).collect()` | `pool.on(items).map(f).collect()` |
//! | `items.iter().fold(init(), step)` | [`pool.on(&items).fold(init, step, merge)`](On::fold) |
//! | `a.iter_mut().zip(&b).for_each(f)` | [`pool.on(&mut a).zip(&b).for_each(f)`](On::zip) |
//! | `while let Some(item) = stack.pop() { stack.extend(f(item)) }` | [`pool.grow(seeds).for_each(\|item, feed\| feed.extend(f(item)))`](Pool::grow) |
//! | `items.sort_by(compare)` | [`pool.sort_by(&mut items, compare)`](Pool::sort_by), [`sort_unstable`](Pool::sort_unstable) and so on |
//!
//! Five loops over a slice have a short form: `pool.map_reduce(&items, f, reduce)` is
//! `pool.on(&items).map(f).reduce(reduce)`. The others are [`fold_reduce`](Pool::fold_reduce),
//! [`map_collect`](Pool::map_collect), [`for_each`](Pool::for_each) and
//! [`for_each_mut`](Pool::for_each_mut).
//!
//! The [`guide`] has a page for each job: the [other loops](guide::loops),
//! [reports](guide::reports), the counterparts of [rayon](guide::from_rayon) and
//! [`OpenMP`](guide::from_openmp), and so on.
//!
//! Closures may borrow local variables. The compiler rejects a closure that changes a local
//! variable without synchronisation:
//!
//! ```compile_fail,E0594
//! # let pool = rangesteal::Pool::new()?;
//! let mut sum = 0;
//! pool.on(&[1, 2, 3]).for_each(|x| sum += *x);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Trade-offs
//! The aim is that a loop over a slice, inside an iterative algorithm, runs as fast as the machine
//! allows. At worst, such a loop should take some tens of nanoseconds longer than the plain loop.
//! `benches/README.md` in the repository lists the targets that are missed. With two threads a long
//! call takes 0.51 to 0.54 of the plain loop's time if its items are bound by the CPU, wherever the
//! slow ones are. The third shared call of a loop is first tried alone, and tells the pool whether
//! sharing makes this loop slower. For speed, the crate supports only what iterative algorithms
//! need:
//!
//! * Loops run over slices, ranges of integers, chains of these, and lists that grow;
//!   [`join`](Pool::join) runs divide and conquer. Tasks that outlive their call
//!   ([`spawn`](Pool::spawn)) share one list with one lock: for a program that consists of tiny
//!   tasks, use [rayon](https://docs.rs/rayon).
//! * A thread that waits for the end of its loop helps only the loops inside its own loop. Idle
//!   workers help other loops.
//! * A pool has threads of its own. Make one pool and pass it along, or use [`Pool::global`].
//! * Threads are pinned to CPUs where the system allows it ([`Pinning`], [`Placement`]).
//!
//! # How it works
//! Every worker owns a range of indices and takes items from its front. A worker without items
//! reads the ranges of all other workers. It then steals the back half of the largest range, or of
//! a nearer range that is about as large. The smallest theft is a single item. There is no job tree
//! and no queue, and no item needs an allocation or a lock.
//!
//! A claim costs one store, one load and one comparison. If items take 0.4 µs or more, a claim also
//! costs a fence of a few nanoseconds. Claims of single items would slow down loops over cheap
//! items, so a claim can take a block of items. If the last call over the same slice is known, a
//! block took at most 2.5 µs in that call, less than a theft takes. Otherwise a block has 8 items
//! if an item takes less than 128 ns, 64 if it takes less than 16 ns and blocks of 64 measured
//! faster, and 512 if it takes less than 0.25 ns. The other items of a block can wait behind an
//! unexpectedly slow item of the same claim.
//!
//! In a loop over a list that grows ([`Pool::grow`]) each worker adds new items to its own deque.
//! The owner takes the newest item. A thief takes the older half of the items that the owner shows.
//! If items are cheap and no worker lacks work, the owner keeps the newest 16 items to itself, and
//! takes these without a claim.
//!
//! The thread that calls a loop is worker 0 and begins at once. The other workers sleep on
//! condition variables. The pool decides how many workers to wake, if any. The pool compares the
//! cost of the loop's last call with the measured cost of help: waking a thread takes a few
//! microseconds of the caller's time, and the thread begins 10 to 40 µs later, on some virtual
//! machines up to 300 µs. A worker that wakes up too late finds no items, and no thread waits for
//! it. If the pauses between loops are shorter than the time to wake a thread, a worker polls for
//! the next loop. A worker stops polling after about the time that a wake-up takes, so an idle
//! program uses no CPU time. If a loop of 64 items or more is expected to be short, the caller
//! reads a clock after eight items, and in a loop of 4 µs or more after each 2 µs of expected work.
//! It shares the rest if these items took much longer. A loop of fewer items is timed in one of
//! sixteen calls on average.
//!
//! The cost of help does not show that all items of a loop need one lock, or that another program
//! uses the CPU of a helper. So the pool now and then tries the opposite of its choice: it shares a
//! loop that it ran alone, or runs a shared loop alone. The pool keeps the faster choice. If a loop
//! is faster alone, each pause before the next trial is four times as long as the last pause. For a
//! loop that is faster shared, the trials cost some 1 % of its first hundred calls.
//!
//! An iterative algorithm runs the same loop over the same slice again and again. So workers note
//! how much time each part of the slice took. The next call is partitioned into parts of equal
//! cost, with smaller parts for workers that wake up late. If the prediction is good, no worker
//! steals, and each item runs on the core that has the item in its cache. If the prediction is
//! wrong, stealing corrects the balance. A wrong prediction never makes the result of the loop
//! wrong. The memory orderings and the proof that every item is claimed exactly once are in
//! `src/pool/README.md`.
//!
//! Partial results are combined in slice order, so a reduction need not be commutative: strings can
//! be concatenated in parallel.

mod clock;
pub mod guide;
mod pool;
#[cfg(doctest)]
mod refused;
mod sorted;
mod sync;

/// The examples of the README, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use pool::{
    Alone, BuildError, CancelToken, Cancelled, CountSource, Cpu, Feed, Grow, On, PerWorker, PinState,
    Pinning, Placement, Pool, PoolBuilder, Progress, RunReport, Seat, Seating, Trace, WaitReport, Waiting,
    WorkerReport, WorkerThread, source,
};

#[doc(hidden)]
pub use pool::{LentCall, Process, Waiter};

/// Sources and chains. `use rangesteal::source` imports this module and the function
/// [`source`](crate::source()).
///
/// Generic code names [`Chain`](source::Chain), [`Source`](source::Source) and
/// [`IntoChain`](source::IntoChain). The types of stages have no stable names: a function returns
/// `impl Source<Item = T> + Sync`.
pub mod source {
    pub use crate::pool::{
        At, Chain, Each, Exclusive, FromChain, IntoChain, Owned, Permutation, PermutationError, Pieces,
        Shared, Source, Tile, chunks_exact, drain, pieces, tiles,
    };
    #[doc(hidden)]
    pub use crate::pool::{
        Chunks, Cloned, Cuts, Drained, Filter, FilterMap, FlatMap, Flatten, Holder, InParts, InStep, Indices,
        Inspect, Integer, Integers, Lent, Located, Map, Nested, Permuted, Portion, Rev, Splittable, StepBy,
        Subrange, Target, Tiles, Windows, With, Zip, append_to_target, portioned,
    };
}

/// One reproducible result from several slices: parts of a whole on several machines, or parts that
/// are read one after the other.
pub mod reproducible {
    pub use crate::pool::{OnPart, Part, PartError, Place, block, share};
}

/// The contents of a [`Trace`].
pub mod trace {
    pub use crate::pool::{Helper, InnerLoop, Run, Slow, Theft, Timeline};
}

/// The types that represent the options of [`On`]. Only generic code has to name these types.
pub mod options {
    pub use crate::pool::{Cancellable, Ending, Given, NoPool, OnPool, State, Stateless, Uncancellable};
    #[doc(hidden)]
    pub use crate::pool::{Fresh, Kept, Lends, PerBlock, WithoutPool};
}
