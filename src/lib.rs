//! A loop over a slice on all cores, again and again.
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
//! Make a [`Pool`] once, or run everything inside [`PoolBuilder::scope`], which also pins the
//! calling thread. Write [`pool.on(..)`](Pool::on) around what the loop runs over, and go on as
//! with an [`Iterator`]: [`On`] lists what there is.
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
//! The [`guide`] has a page for each job: the [other loops](guide::loops),
//! [reports](guide::reports), the counterparts of [rayon](guide::from_rayon) and
//! [`OpenMP`](guide::from_openmp), and so on.
//!
//! Closures may borrow local variables. They must not change them without synchronisation, and the
//! compiler enforces that:
//!
//! ```compile_fail,E0594
//! # let pool = rangesteal::Pool::new()?;
//! let mut sum = 0;
//! pool.on(&[1, 2, 3]).for_each(|x| sum += *x);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Trade-offs
//! This crate runs a loop over a slice inside an iterative algorithm, as fast as the machine
//! allows, and never slower than the plain loop by more than some tens of nanoseconds.
//! `benches/README.md` in the repository lists the targets that are missed. With two threads a long
//! call takes half the time of the plain loop and 1 % more, wherever its heavy items are. After two
//! calls the pool knows that a loop is slower shared. For that the crate gives up what such a loop
//! does not need:
//!
//! * Only slices, ranges of integers, chains of these, lists that grow, and divide and conquer
//!   ([`join`](Pool::join)). If your work has tasks that outlive the call that makes them, use
//!   [rayon](https://docs.rs/rayon).
//! * A thread that waits for the end of its loop helps the loops inside it, and does nothing else
//!   meanwhile. Other loops are helped by workers that are idle.
//! * A pool of its own threads. Make one and pass it along, or use [`Pool::global`].
//! * Threads are pinned to CPUs where the system allows it ([`Pinning`], [`Placement`]).
//!
//! # How it works
//! Every worker owns a range of indices and takes items from its front. A worker that has run out
//! looks at all ranges and steals the back half of the largest one, or of a nearer one that is
//! about as large. The smallest theft is a single item. So there is no job tree and no queue, and
//! nothing is allocated or locked per item. To claim an item takes one store, one load and one
//! comparison, and also a fence of a few nanoseconds if items take 0.4 µs or more. If items are so
//! cheap that even this would show, they are claimed in blocks of 8, or of 64 if that is measured
//! to be faster still. The price is that up to 63 items can be trapped behind an unexpectedly heavy
//! one in the same claim: at most 7 if the items before it, or the average item of the last round,
//! took 2 ns or more; none if they took 128 ns or more.
//!
//! In a loop over a list that grows ([`Pool::grow`]) what items make goes to a deque of the worker
//! that makes it: the owner takes the newest item, a thief the older half of all. Of cheap items
//! the owner keeps the newest 16 to itself, as long as nobody lacks work, and claims nothing for
//! them.
//!
//! The thread that calls a loop is worker 0 and begins at once. The others sleep on condition
//! variables. The pool decides whether to wake them, and how many, by what the loop cost last time
//! and by the measured cost of help: a few microseconds of the caller's time, and 10 to 40 µs until
//! the other thread begins. A worker that wakes up too late finds nothing to do, and nobody waits
//! for it. Where loops follow each other faster than a thread wakes up, a worker polls for the next
//! one, for about as long as it takes to wake it; an idle program uses no CPU time. A loop of 64
//! items or more that is expected to be very short is checked after eight of them, and shared if
//! these took microseconds; a shorter one is timed in one call of sixteen on average.
//!
//! No price of help tells that all items of a loop need one lock, or that another program has the
//! CPU of a helper. So every loop is now and then begun in the other way, alone or shared, and what
//! is faster is kept. A loop that is better alone is shared again after pauses that grow fourfold;
//! one that is better shared pays for its trials with some 1 % of its first hundred calls.
//!
//! An iterative algorithm runs the same loop over the same slice again and again. So workers note
//! where in the slice the time went, and the next round is partitioned at boundaries of equal cost,
//! with less for workers that wake up late. If that guess is good, nobody steals, and every item is
//! processed by the core that has it in its cache. If it is wrong, stealing repairs it. Either way
//! the result is the same. The memory orderings and the proof that every item is claimed exactly
//! once are in `src/pool/README.md`.
//!
//! Partial results are combined in slice order, so a reduction need not be commutative: strings can
//! be joined in parallel.

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
    Pinning, Placement, Pool, PoolBuilder, Progress, RunReport, Seat, Seating, Stealing, Trace, WaitReport,
    Waiting, WorkerReport, WorkerThread, source,
};

/// What loops run over, and what they make of it. Generic code names [`Chain`](source::Chain),
/// [`Source`](source::Source) and [`IntoChain`](source::IntoChain). The types of sources and stages
/// have no names to rely on: a function returns `impl Source<Item = T> + Sync`.
pub mod source {
    pub use crate::pool::{
        At, Chain, Each, Exclusive, FromChain, IntoChain, Owned, Pieces, Shared, Source, chunks_exact, drain,
        pieces,
    };
    #[doc(hidden)]
    pub use crate::pool::{
        Chunks, Cloned, Cuts, Drained, Filter, FilterMap, FlatMap, Flatten, Holder, InStep, Indices, Inspect,
        Integer, Integers, Lent, Located, Makes, Map, Nested, Offsets, Rev, StepBy, Subrange, TryFlatMap,
        Windows, With, Zip,
    };
}

/// One reproducible result from several slices: parts of a whole on several machines, or read one
/// after the other.
pub mod reproducible {
    pub use crate::pool::{OnPart, PartError, PartOfResult as Part, Place, block, share};
}

/// What a [`Trace`] holds.
pub mod trace {
    pub use crate::pool::{Helper, InnerLoop, Run, Slow, Theft, Timeline};
}

/// The types that stand for the options of [`On`]. Only generic code has to name them.
pub mod options {
    pub use crate::pool::{Cancellable, Ending, Given, NoPool, OnPool, State, Stateless, Uncancellable};
    #[doc(hidden)]
    pub use crate::pool::{Fresh, Kept, Lends, PerBlock};
}
