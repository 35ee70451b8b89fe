//! Options of a loop. An option may stand anywhere before the end of the chain.
//!
//! ```
//! use rangesteal::{Pool, Progress, RunReport};
//!
//! let pool = Pool::new()?;
//! let (x, y) = (vec![1.0_f64; 100_000], vec![2.5; 100_000]);
//! let (progress, mut report) = (Progress::new(), RunReport::default());
//! let pairs = pool.on((&x, &y)).reproducible().progress(&progress).report(&mut report);
//! let dot: f64 = pairs.map(|(x, y)| x * y).sum();
//! assert_eq!(dot, 250_000.0); // the same bits on any number of threads
//! println!("{report}"); // each worker's items, thefts and waits
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! | I want | option |
//! |---|---|
//! | floating-point sums with the same bits in every run | [`reproducible`](crate::On::reproducible); for items on several machines [`reproducible_part`](crate::On::reproducible_part) |
//! | to follow the loop from another thread | [`progress(&handle)`](crate::On::progress) |
//! | to end the loop from another thread | [`cancel(&token)`](#cancelling-a-loop) |
//! | to know why the loop is not faster | [`report(&mut report)`](super::reports), [`trace(&mut trace)`](super::reports#a-trace-of-a-loop) |
//! | fewer threads | [`threads(n)`](crate::On::threads); `threads(1)` runs the loop on the calling thread |
//! | blocks of a certain size | [`grain(n)`](crate::On::grain) |
//!
//! A loop over [a list that grows](crate::Grow) has `cancel`, `report` and `threads`. Options of a
//! loop whose [items wait](crate::Waiting) stand before `waiting`. In such a loop `grain` has no
//! effect, and `reproducible` panics.
//!
//! # Cancelling a loop
//! ```
//! use rangesteal::{CancelToken, Cancelled, Pool};
//! use std::{thread, time::Duration};
//!
//! let (pool, token) = (Pool::new()?, CancelToken::new());
//! let ended = thread::scope(|scope| {
//!     scope.spawn(|| {
//!         thread::sleep(Duration::from_millis(5)); // the time that the loop may take
//!         token.cancel();
//!     });
//!     let slow = |_| thread::sleep(Duration::from_millis(1));
//!     pool.on(0..1_000_000).cancel(&token).for_each(slow)
//! });
//! assert_eq!(ended, Err(Cancelled));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A loop with [`cancel`](crate::On::cancel) returns a `Result`. If the loop can fail, its own
//! `Result` is inside the `Result` of `cancel`. After a cancel, workers finish the items that they
//! have claimed, and claim no more: [`CancelToken`](crate::CancelToken) says how many items a claim
//! has.
//!
//! # Options of a pool
//! [`PoolBuilder`](crate::PoolBuilder) has the options for all loops of a pool: the number of
//! threads, pinning, placement, names, stacks and handlers of threads. Environment variables set
//! options, too. An option that a pool's builder sets overrides `RANGESTEAL_NUM_THREADS` or
//! `RANGESTEAL_PINNING`. A wrong value is an error of the builder. The global pool, which nobody
//! builds, logs a warning instead and ignores the value:
//!
//! | variable | effect |
//! |---|---|
//! | `RANGESTEAL_NUM_THREADS` | the number of workers, the calling thread included |
//! | `RANGESTEAL_PINNING` | `off`, `best-effort` or `required`: see [pinning](super::machines#pinning) |
//! | `RANGESTEAL_REPORT` | `1` prints [a report of the program](super::reports#a-report-of-a-program) at its exit, with the loops of pools that are built while the variable is set |
