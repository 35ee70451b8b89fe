//! Random numbers: the same results in each run and on any number of threads.
//!
//! ```
//! use rangesteal::{BuildError, Pool};
//!
//! /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). The
//! /// generators of the crate `rand` are seeded in the same way: `SmallRng::seed_from_u64(..)`.
//! struct Rng(u64);
//!
//! impl Rng {
//!     fn new(seed: u64) -> Self {
//!         let mut rng = Self(seed);
//!         Self(rng.next()) // separates generators with neighbouring seeds
//!     }
//!
//!     fn next(&mut self) -> u64 {
//!         self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
//!         let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
//!         let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
//!         z ^ (z >> 31)
//!     }
//!
//!     /// At least 0 and less than 1.
//!     fn float(&mut self) -> f64 {
//!         (self.next() >> 11) as f64 / (1_u64 << 53) as f64
//!     }
//! }
//!
//! /// Draws random points of a square, and returns four times the part of them that lies in the
//! /// quarter of a circle.
//! fn pi(threads: usize, seed: u64) -> Result<f64, BuildError> {
//!     const POINTS: usize = 100_000;
//!     let pool = Pool::builder().num_threads(threads).build()?;
//!     let points = pool.on(0..POINTS).with_block(|block| Rng::new(seed + block as u64));
//!     let inside = points.filter(|(rng, _)| rng.float().hypot(rng.float()) < 1.0).count();
//!     Ok(4.0 * inside as f64 / POINTS as f64)
//! }
//!
//! let digits = pi(1, 2026)?.to_string();
//! for threads in [2, 3, 8] {
//!     assert_eq!(pi(threads, 2026)?.to_string(), digits);
//! }
//! # assert!((pi(1, 2026)? - std::f64::consts::PI).abs() < 0.02);
//! # Ok::<(), BuildError>(())
//! ```
//!
//! [`with_block`](crate::On::with_block) makes a generator for each block of items. The seed of a
//! generator is the seed of the loop plus the number of the block. The size of blocks depends only
//! on the number of items, so each item draws the same numbers in each run and on any number of
//! threads. The loop is also [`reproducible`](crate::On::reproducible): a sum of floating-point
//! numbers has the same bits on any number of threads.
//!
//! # A generator for each worker
//! Do not use [`with`](crate::On::with) to make a generator for each worker. Chance decides which
//! worker runs an item, so the results differ from run to run.
//!
//! # Seeds of several loops
//! If two loops must not draw the same numbers, their seeds must be at least 4096 apart, because a
//! loop has fewer than 4096 blocks. A loop with a [`grain`](crate::On::grain) has one block for
//! each `grain` items, which may be more blocks.
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # struct Rng(u64);
//! # impl Rng { fn new(seed: u64) -> Self { Self(seed) } fn float(&mut self) -> f64 { 0.5 } }
//! let mut places = vec![0.0; 1000];
//! for round in 0..10 {
//!     let seed = 2026 + 4096 * round;
//!     let loops = pool.on(&mut places).with_block(|block| Rng::new(seed + block as u64));
//!     loops.for_each(|(rng, place)| *place += rng.float() - 0.5);
//! }
//! # assert_eq!(places, [0.0; 1000]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
