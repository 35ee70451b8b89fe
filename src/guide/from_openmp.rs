//! Coming from `OpenMP`: the counterpart of each directive and clause.
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # let (x, y) = (vec![1.0; 100], vec![2.0; 100]);
//! // #pragma omp parallel for reduction(+:sum) schedule(dynamic, 64)
//! // for (size_t i = 0; i < n; i++)
//! //     sum += x[i] * y[i];
//! let sum: f64 = pool.on((&x, &y)).map(|(x, y)| x * y).sum();
//! # assert_eq!(sum, 200.0);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A [`Pool`](crate::Pool), made once, takes the place of the team of threads. A closure borrows
//! the shared variables, and the compiler refuses races. There is no schedule to choose.
//!
//! # Directives and clauses
//! | `OpenMP` | here |
//! |---|---|
//! | `parallel for` over an array | `pool.for_each(&v, f)`, `pool.for_each_mut(&mut v, f)` |
//! | `parallel for` over indices | `pool.on(0..n).for_each(f)` |
//! | `parallel for` that fills an array | `pool.on((0..n, &mut out)).for_each(\|(i, place)\| *place = f(i))`, or `let out: Vec<_> = pool.on(0..n).map(f).collect()` |
//! | `schedule(static)`, `schedule(dynamic)`, `schedule(guided)`, `schedule(auto)` | nothing: each worker gets a share of equal cost, estimated from the last round, and idle workers steal, down to single items |
//! | `schedule(dynamic, 64)` | nothing, or [`grain(64)`](crate::On::grain) |
//! | `reduction(+:x)` | [`sum`](crate::On::sum), [`max`](crate::On::max), [`reduce`](crate::On::reduce) |
//! | `reduction(+:x) reduction(max:y)`, `reduction(+:a[:k])`, `declare reduction` | [`fold`](crate::On::fold) into a tuple, a `Vec` or any other type |
//! | `ordered` | [`collect`](crate::On::collect), then a plain loop over the results |
//! | `simd` | nothing: the compiler inlines the closures and vectorises the loop; or a plain loop over each of [`chunks(n)`](crate::On::chunks) |
//! | `collapse(2)` | [`pool.on(&mut matrix).chunks(width)`](#two-loops-in-one), or `pool.on(0..height * width)` |
//! | `num_threads(n)` | [`num_threads`](crate::PoolBuilder::num_threads) of the pool; for one loop [`.threads(n)`](crate::On::threads) |
//! | `if (n > 1000)` | nothing: short loops run on the calling thread |
//! | `private(x)` | a `let` in the closure |
//! | `firstprivate(x)` | borrow `x`; if items change it, [`.with(\|_worker\| x.clone())`](crate::On::with) |
//! | `lastprivate(x)` | none: compute `x` from the last item after the loop |
//! | `threadprivate` | [`pool.per_worker`](crate::Pool::per_worker) and [`.with_kept(&mut states)`](crate::On::with_kept) |
//! | `omp_get_thread_num()` | the argument of the closure of `with` |
//! | `critical`, `atomic` | `fold`; otherwise a `Mutex` or an atomic, which are as slow as in `OpenMP` |
//! | `cancel for`, `cancellation point` | [`any`](crate::On::any), [`try_for_each`](crate::On::try_for_each), or a [`CancelToken`](crate::CancelToken); closures need no cancellation points |
//! | `barrier` | the end of the loop |
//! | `single`, `masked`, `master` | the code between two loops |
//! | `target` | none: a pool uses the CPUs of one machine, and no other device |
//! | `OMP_NUM_THREADS` | `RANGESTEAL_NUM_THREADS`; a call of `num_threads` overrides it |
//! | `OMP_PROC_BIND=close`, `OMP_PLACES=threads` | [`Placement::Compact`](crate::Placement::Compact) |
//! | `OMP_PROC_BIND=spread` | [`Placement::Spread`](crate::Placement::Spread) |
//! | `OMP_PLACES=cores` | [`Placement::PhysicalCores`](crate::Placement::PhysicalCores); the default uses one CPU of every core first, then the other CPUs |
//! | `OMP_PLACES={3},{7}`, `GOMP_CPU_AFFINITY` | [`Placement::Cpus`](crate::Placement::Cpus); CPUs that the program may not use are left out (`taskset` sets the CPUs that it may use) |
//! | `OMP_PROC_BIND=false` | `RANGESTEAL_PINNING=off`, or [`Pinning::Off`](crate::Pinning::Off) |
//! | `OMP_DISPLAY_AFFINITY` | `println!("{}", pool.placement())`: [`Pool::placement`](crate::Pool::placement) |
//! | `OMP_WAIT_POLICY=active`, `GOMP_SPINCOUNT` | nothing: idle threads poll if loops follow each other quickly, and sleep otherwise; [`spin_before_park`](crate::PoolBuilder::spin_before_park) sets the time by hand |
//!
//! # Every clause
//! The other directives and clauses of `OpenMP` 5.2 for loops, and within loops:
//!
//! | `OpenMP` | here |
//! |---|---|
//! | `parallel`, `teams`, `num_teams`, `thread_limit` | a pool, made once; there is no code that every thread runs |
//! | `for`, `loop`, `parallel loop`, `bind` | as `parallel for` |
//! | `for simd`, `parallel for simd`, `taskloop simd`, `declare simd` | as `simd` |
//! | `distribute`, `distribute parallel for`, `dist_schedule` | none: a pool has one level of threads |
//! | `taskloop`, `grainsize`, `num_tasks` | a loop; `grain(n)` if blocks must have a certain size |
//! | `task`, `in_reduction`, `reduction(task,)`, `untied`, `mergeable`, `final`, `priority`, `depend`, `taskgroup`, `taskwait`, `taskyield` | [`pool.grow(seeds)`](super::grow): an item is a task, and can add more tasks. No task waits for another one |
//! | `nogroup`, `nowait` | none: a loop has ended when its call returns. Put independent work into one loop |
//! | `sections` | a vector of closures: [`pool.on(jobs).for_each(\|job\| job())`](super::grow#jobs-of-different-kinds) |
//! | `scope` | none: there is no code that every thread runs; `with` or `pool.per_worker(..)` makes a state for each worker |
//! | `schedule(runtime)` | none: there is no schedule to choose |
//! | `monotonic`, `nonmonotonic` | nothing: a worker may run items in any order, since it may steal earlier items |
//! | `schedule(simd:)` | `grain(n)`, with a multiple of the items in a vector register |
//! | `order(concurrent)`, `unconstrained` | nothing: the order of items is never defined |
//! | `reproducible` (of `order`) | none: no item is bound to a thread |
//! | `default`, `shared` | nothing: a closure borrows the variables that it names, and the compiler refuses races |
//! | `linear` | `enumerate`, and `start + step * i` in the closure |
//! | `lastprivate(conditional:)` | `pool.on(&v).rev().position(p)`: the index of the last item that assigns the variable, counted from the end |
//! | `reduction(inscan,)`, `scan`, `inclusive`, `exclusive` | [`inclusive_scan`](crate::On::inclusive_scan), [`exclusive_scan`](crate::On::exclusive_scan): [an example](#prefix-sums) |
//! | `ordered(n)`, `doacross` | none: items do not wait for each other. Write a plain loop over the wavefronts, and run each wavefront in parallel |
//! | `copyin` | `pool.per_worker(\|_worker\| x.clone())` |
//! | `copyprivate` | nothing: the next loop borrows the values that the code before it computed |
//! | `allocate`, `aligned` | none: alignment is a property of a type; the closure of `with` allocates on the thread that uses the state |
//! | `nontemporal`, `safelen`, `simdlen` | none: there are no hints to the vectoriser; `chunks_exact(8)` has a length that suits vectors |
//! | `tile`, `sizes` | `chunks(rows * width)`, or `pool.on(0..tiles)` with the place of a tile computed from its index |
//! | `unroll`, `full`, `partial` | nothing: the compiler unrolls; `chunks_exact(8)` if it does not |
//! | `proc_bind` | [`placement`](crate::PoolBuilder::placement) of the pool, for all its loops |
//! | `flush` | nothing: the caller and later loops see everything that a loop has written |
//!
//! # A table as an accumulator
//! ```c
//! int count[10] = {0};
//! #pragma omp parallel for reduction(+:count[:10])
//! for (size_t i = 0; i < n; i++)
//!     count[digit[i]]++;
//! ```
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # let digits = [3, 1, 4, 1, 5];
//! let counts: Vec<u32> = pool.on(&digits).fold(
//!     || vec![0; 10],
//!     |mut counts, &digit| {
//!         counts[digit] += 1;
//!         counts
//!     },
//!     |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect(),
//! );
//! # assert_eq!(counts, [0, 2, 0, 1, 1, 1, 0, 0, 0, 0]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Prefix sums
//! ```c
//! #pragma omp parallel for reduction(inscan, +:sum)
//! for (size_t i = 0; i < n; i++) {
//!     sum += x[i];
//!     #pragma omp scan inclusive(sum)
//!     sums[i] = sum;
//! }
//! ```
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # let x: Vec<u64> = (0..10).collect();
//! # let mut sums = vec![0; x.len()];
//! sums.copy_from_slice(&x);
//! pool.on(&mut sums).inclusive_scan(|a, b| a + b);
//! # assert_eq!(sums, [0, 1, 3, 6, 10, 15, 21, 28, 36, 45]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Two loops in one
//! ```c
//! #pragma omp parallel for collapse(2)
//! for (size_t y = 0; y < height; y++)
//!     for (size_t x = 0; x < width; x++)
//!         image[y * width + x] = shade(x, y);
//! ```
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # let (width, height) = (4, 3);
//! # let shade = |x: usize, y: usize| x * y;
//! # let mut image = vec![0; width * height];
//! pool.on(&mut image).chunks(width).zip(0..height).for_each(|(row, y)| {
//!     for (x, pixel) in row.iter_mut().enumerate() {
//!         *pixel = shade(x, y);
//!     }
//! });
//! # assert_eq!(image, [0, 0, 0, 0, 0, 1, 2, 3, 0, 2, 4, 6]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! If a single pixel can take long, or if there are fewer rows than threads, run over the pixels:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # let (width, height) = (4, 3);
//! # let shade = |x: usize, y: usize| x * y;
//! # let mut image = vec![0; width * height];
//! pool.on(&mut image).enumerate().for_each(|(i, pixel)| *pixel = shade(i % width, i / width));
//! # assert_eq!(image, [0, 0, 0, 0, 0, 1, 2, 3, 0, 2, 4, 6]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Something for each thread
//! ```c
//! static struct random state;
//! #pragma omp threadprivate(state)
//! ```
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # struct Random(usize);
//! # impl Random { fn next(&mut self) -> usize { self.0 += 1; self.0 } }
//! let mut samples = vec![0; 100];
//! for step in 0..10 {
//!     let seed = 4096 * step;
//!     let loops = pool.on(&mut samples).with_block(|block| Random(seed + block));
//!     loops.for_each(|(random, sample)| *sample += random.next());
//! }
//! # assert!(samples.iter().all(|sample| *sample > 0));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Each [block of items](super::random) has a generator of its own, so the samples are the same on
//! any number of threads. If a state does not affect the results, such as scratch memory, use one
//! state for each worker: [`with_kept`](crate::On::with_kept).
//!
//! # What differs
//! * **No item is bound to a thread.** With `schedule(static)` the same thread runs the same
//!   indices in every loop. Here, the same worker is likely to get the same items, but this is not
//!   promised.
//! * **The order of a reduction** is the order of the slice, so the function must be associative.
//!   The function need not be commutative. With [`reproducible`](crate::On::reproducible),
//!   floating-point sums are the same for every number of threads.
//! * **A loop in a loop**: idle workers help the inner loop. The pool starts no thread for an inner
//!   loop.
//! * **A panic** (or an `Err`, in `try_for_each`) ends the loop and reaches the caller. In
//!   `OpenMP`, an exception must not leave the loop.
//! * **Several threads** may call loops of one pool. Idle workers help each of these loops.
