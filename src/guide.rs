//! Which loop to use, how to read a report, and the counterparts of other libraries. Text only.
//!
//! [Coming from rayon](from_rayon), [coming from OpenMP](from_openmp), and [locks and loops](locks)
//! have pages of their own.
//! Seven short programs in `examples/` put the plain loop, rayon and this crate side by side:
//! `kmeans`, `pagerank`, `em`, `stencil`, `queens`, `fetch` and `records`. In `examples/ranks` are
//! two of them on several machines.
//!
//! # Which loop do I need?
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let words = ["range", "on", "steal"];
//! let long: Vec<usize> = pool.on(&words).map(|word| word.len()).filter(|len| *len > 2).collect();
//! assert_eq!(long, [5, 5]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! A loop has a source, stages and an end. Stages and ends are called as in [`Iterator`], and mean
//! the same: [`On`](crate::On) lists them. Take the first line that fits.
//!
//! | I want | loop |
//! |---|---|
//! | to go through what I do not know at the start: a tree, a graph, jobs that make jobs | [`pool.grow(seeds)`](#my-items-make-items) |
//! | items that wait: requests, files, timers | [`pool.on(&v).waiting(limit)`](#my-items-wait) |
//! | a sum, a count, the smallest or largest | [`sum`](crate::On::sum), [`count`](crate::On::count), [`min_by_key`](crate::On::min_by_key) and so on |
//! | one value from all items: a joined string | [`map(f).reduce(op)`](crate::On::reduce) |
//! | several values, a histogram, a table | [`fold(init, step, merge)`](crate::On::fold) |
//! | a new `Vec`, `String`, map or set | [`collect`](crate::On::collect); in a `Result` or an `Option` if an item can fail |
//! | two new vectors | [`partition`](crate::On::partition), [`unzip`](crate::On::unzip) |
//! | results again and again, without allocating | [`collect_into`](crate::On::collect_into) a vector that you have cleared |
//! | to change the items | `pool.on(&mut v)` and [`for_each`](crate::On::for_each) |
//! | to know whether there is a match, or which it is | [`any`](crate::On::any), [`find`](crate::On::find), [`position`](crate::On::position); [`find_any`](crate::On::find_any) if any will do |
//! | to stop at the first error | [`try_for_each`](crate::On::try_for_each), [`try_reduce`](crate::On::try_reduce) |
//! | the index of that error, too | [`located()`](crate::On::located) before the end |
//! | to put the items in order | [`pool.sort(&mut v)`](crate::Pool::sort), `sort_by_key`, `sort_unstable` and so on |
//! | something with a lock or an atomic inside | think of `fold` again, then `for_each` |
//!
//! # What does it run over?
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let (width, height) = (3, 2);
//! let mut matrix = vec![0; width * height];
//! pool.on(&mut matrix).chunks(width).zip(0..height).for_each(|(row, y)| {
//!     for (x, cell) in row.iter_mut().enumerate() {
//!         *cell = 10 * y + x;
//!     }
//! });
//! assert_eq!(matrix, [0, 1, 2, 10, 11, 12]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! | I have | write |
//! |---|---|
//! | items to read, to change, to consume | `pool.on(&v)`, `pool.on(&mut v)`, `pool.on(v)`; [`source::drain`](crate::source::drain) keeps the vector |
//! | a parameter `items: &mut [T]`, for more than one loop | [`pool.on_mut(items)`](crate::Pool::on_mut) |
//! | integers | `pool.on(0..n)`, `pool.on(1..=n)` |
//! | several slices in step | `pool.on((&mut y, &x))`, or `pool.on(&mut y).zip(&x)`; [`zip_shortest`](crate::On::zip_shortest) if lengths differ |
//! | a part of the items | `pool.on(&v[a..b])`; of other sources [`skip`](crate::On::skip), [`take`](crate::On::take), [`step_by`](crate::On::step_by) |
//! | rows of a matrix, blocks of items | [`chunks(width)`](crate::On::chunks), [`chunks_exact(width)`](crate::On::chunks_exact); [`windows(n)`](crate::On::windows) overlap; rows of any lengths [`source::pieces`](crate::source::pieces) |
//! | runs of equal items, as after a sort | [`chunk_by(same)`](crate::On::chunk_by) |
//! | blocks of different sizes in step | `pool.on(&mut a).chunks(2).zip(source(&b).chunks(3))` |
//! | a chain made elsewhere | `pool.on(chain)`, of [`source(&v).map(f)`](crate::source()) |
//!
//! # Scratch memory
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let lines = ["b a", "d c e"];
//! let sorted: Vec<String> = pool
//!     .on(&lines)
//!     .with(|_worker| Vec::new())
//!     .map(|(words, line)| {
//!         words.clear();
//!         words.extend(line.split(' '));
//!         words.sort_unstable();
//!         words.join(" ")
//!     })
//!     .collect();
//! assert_eq!(sorted, ["a b", "c d e"]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! [`with`](crate::On::with) makes a state for each worker. Every closure behind it that is given
//! an item is given the pair of the state and the item; `fold` has `|acc, (state, item)|`. Those
//! that combine results have no state. [`with_kept`](crate::On::with_kept) keeps the states from
//! loop to loop, and [`with_block`](#random-numbers) makes one for each block of items.
//!
//! # Options
//! ```
//! use rangesteal::{Pool, Progress, RunReport};
//!
//! let pool = Pool::new()?;
//! let (x, y) = (vec![1.0_f64; 100_000], vec![2.5; 100_000]);
//! let (progress, mut report) = (Progress::new(), RunReport::default());
//! let pairs = pool.on((&x, &y)).reproducible().progress(&progress).report(&mut report);
//! let dot: f64 = pairs.map(|(x, y)| x * y).sum();
//! assert_eq!(dot, 250_000.0); // the same bits on any number of threads
//! println!("{report}"); // what each worker did, and how long it waited
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! They may stand anywhere before the end.
//!
//! | I want | option |
//! |---|---|
//! | floating-point sums that are the same in every run | [`reproducible`](crate::On::reproducible); of items on several machines [`reproducible_part`](crate::On::reproducible_part) |
//! | to follow the loop from another thread, or to end it | [`progress(&handle)`](crate::On::progress), [`cancel(&token)`](crate::On::cancel) |
//! | to know why it is not faster | [`report(&mut report)`](#how-to-read-a-report), [`trace(&mut trace)`](#how-to-see-a-loop) |
//! | fewer threads, or blocks of a certain size | [`threads(n)`](crate::On::threads), [`grain(n)`](crate::On::grain) |
//!
//! # My items make items
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//!
//! use rangesteal::Pool;
//!
//! // What is the most valuable load of 12 kg? By branch and bound.
//! let goods = [(7, 13), (6, 11), (3, 5), (4, 6), (2, 3)]; // kg and value, the most a kg first
//! let best = AtomicU64::new(0);
//! Pool::new()?.grow([(0, 12, 0)]).for_each(|(next, room, value): (usize, u64, u64), feed| {
//!     best.fetch_max(value, Relaxed);
//!     let Some((weight, gain)) = goods.get(next) else { return };
//!     if value * weight + room * gain <= best.load(Relaxed) * weight {
//!         return; // not even if the rest were as good as the next one
//!     }
//!     let with = (*weight <= room).then(|| (next + 1, room - weight, value + gain));
//!     feed.extend(with.into_iter().chain([(next + 1, room, value)])); // with it comes first
//! });
//! assert_eq!(best.into_inner(), 21);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! [`grow`](crate::Pool::grow) begins with some *seeds*, and its closure is given a
//! [`feed`](crate::Feed) to which it pushes what it finds.
//!
//! | I have | an item is | its closure |
//! |---|---|---|
//! | a tree: files, states of a game | a node | `feed.extend(&node.children)`, and folds the node itself |
//! | a graph | a node | marks its neighbours (atomic flags), and pushes those that were not marked |
//! | a graph, for its connected components | a node, all of them seeds | lowers its neighbours' labels (`fetch_min`) to its own, and pushes those whose label was higher |
//! | branch and bound | a partial solution | returns if it cannot beat the best so far; otherwise adds its extensions, the best one first |
//! | any solution of a puzzle | a position | [`try_for_each`](crate::Grow::try_for_each): `Err(solution)` ends the loop |
//! | divide and conquer | a part | pushes its parts, or folds it if it is small |
//! | jobs in several steps | a job and its step | does the step, and pushes the job with the next one |
//!
//! * **There is no order**, so `reduce` must be commutative.
//! * **The newest item comes first**, as in a recursive function, so the list stays about as short
//!   as its stack would be deep. `extend` adds several items that come in their own order, so a
//!   structure in memory is walked forward; backward it took three times as long.
//! * **Nothing waits for its children.** A step behind all parts belongs behind the loop, or into
//!   the part that brings a counter to zero.
//! * **An item should be worth some nanoseconds.** Items of 100 ns lose nothing; where one takes 1
//!   ns, call the plain function below a certain size.
//!
//! For breadth first, where the order matters, go level by level: one loop over the frontier makes
//! the next one by [`flat_map`](crate::On::flat_map).
//!
//! # My items wait
//! With [`waiting`](crate::On::waiting) the closures return futures, and a worker whose item waits
//! goes on with another. The maker of the futures has to wake them: a runtime, a reactor, a thread.
//!
//! **tokio.** Its timers and sockets need a runtime that turns on threads of its own, and that the
//! polling thread has entered: each worker enters it.
//!
//! ```
//! use std::time::Duration;
//!
//! let pool = rangesteal::Pool::new()?;
//! let mut runtime = tokio::runtime::Builder::new_multi_thread();
//! let runtime = runtime.worker_threads(1).enable_all().build()?;
//! let on = pool.on(&[1, 2, 3]).with(|_worker| runtime.enter());
//! let doubled = on.waiting(100).map_collect(async |x| {
//!     tokio::time::sleep(Duration::from_millis(1)).await; // or a request
//!     2 * x
//! });
//! assert_eq!(doubled, [2, 4, 6]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **smol.** `async-io` has a thread of its own; nothing is to be entered:
//!
//! ```
//! # use std::time::Duration;
//! # let pool = rangesteal::Pool::new()?;
//! let doubled = pool.on(&[1, 2, 3]).waiting(100).map_collect(async |x| {
//!     async_io::Timer::after(Duration::from_millis(1)).await;
//!     2 * x
//! });
//! assert_eq!(doubled, [2, 4, 6]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! **A thread of your own.** A future gives it a waker. This one wakes all that it is sent, one
//! millisecond later:
//!
//! ```
//! use std::{future::poll_fn, sync::mpsc, task::{Poll, Waker}, thread, time::Duration};
//!
//! let (send, asked) = mpsc::channel::<Waker>();
//! thread::spawn(move || {
//!     while let Ok(first) = asked.recv() {
//!         thread::sleep(Duration::from_millis(1));
//!         std::iter::once(first).chain(asked.try_iter()).for_each(Waker::wake);
//!     }
//! });
//! let nap = || {
//!     let (mut has_slept, send) = (false, &send);
//!     poll_fn(move |context| {
//!         if std::mem::replace(&mut has_slept, true) {
//!             return Poll::Ready(()); // perhaps too soon: a poll may come for nothing
//!         }
//!         send.send(context.waker().clone()).expect("the thread runs");
//!         Poll::Pending
//!     })
//! };
//! # let pool = rangesteal::Pool::new()?;
//! let doubled = pool.on(&[1, 2, 3]).waiting(100).map_collect(async |x| {
//!     nap().await;
//!     2 * x
//! });
//! assert_eq!(doubled, [2, 4, 6]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! **Blocking calls**, such as reading files, go to threads that may block:
//! `tokio::task::spawn_blocking(..).await`, or `blocking::unblock(..).await` of smol. Their
//! closures cannot borrow.
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # let mut runtime = tokio::runtime::Builder::new_multi_thread();
//! # let runtime = runtime.worker_threads(1).enable_all().build()?;
//! let files = ["Cargo.toml", "README.md"];
//! let lines = pool.on(&files).with(|_worker| runtime.enter()).waiting(16).try_map_reduce(
//!     async |&file| {
//!         let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(file));
//!         let text = read.await.expect("it does not panic")?;
//!         Ok::<_, std::io::Error>(text.lines().count())
//!     },
//!     |a, b| a + b,
//! )?;
//! assert!(lines > Some(10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **How it can hang.** If nobody wakes an item, the loop waits for ever, and the program uses no
//! CPU. So never call the loop from `async` code: not in a task, not inside `block_on`. (Inside
//! tokio even a reactor on another thread does not help: after 128 ready operations its budget for
//! a task is used up until the task returns, which is after the loop.) From there, use
//! `spawn_blocking` or `block_in_place`. An item must not wait for another one of the same loop,
//! which may never begin. A poll must not block, or its worker does. If `with` is forgotten,
//! tokio's "there is no reactor running" may come from the first helper only.
//!
//! **What the report says.** `most_in_flight` near the limit and a long time `asleep`: raise the
//! limit, if the service can bear it. Less in flight, and `asleep`: the service is slow, or there
//! are too few items. Not asleep at all: nothing is waited for.
//!
//! **When not to use it.** A server, which has no last item, needs a runtime. Where all threads of
//! a program compute anyway, a thread that blocks costs little.
//!
//! # Random numbers
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
//!         Self(rng.next()) // neighbouring seeds begin far from each other
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
//! /// Four times the part of random points of a square that lie in the quarter of a circle.
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
//! [`with_block`](crate::On::with_block) makes a generator for each block of items, and the size of
//! blocks depends on the number of items alone: the results are the same in each run and on any
//! number of threads. With a generator for each worker, chance would decide. Two loops that must
//! not draw the same numbers need seeds at least 4096 apart: a loop has fewer blocks than that,
//! unless it asks for a [`grain`](crate::On::grain).
//!
//! # How many items?
//! As many as there are pieces of work that do not need each other. The pool balances down to
//! single items.
//!
//! * **A few long items** are fine. In a first call of at most 16 items a thread, helpers are woken
//!   before the first item, which costs 5 to 16 µs for one helper. With more, the calling thread
//!   runs one item first: [`begun_alone`](crate::RunReport::begun_alone).
//! * **No loop is faster than its longest item.** Divide that one.
//! * **Many short items** are fine, too: a claim costs less than a nanosecond an item.
//!
//! **Items must never wait for each other**: one thread may run them all, one after the other. A
//! producer and a consumer need threads:
//!
//! ```
//! use std::{sync::mpsc, thread};
//!
//! let (sender, receiver) = mpsc::sync_channel(1);
//! let sum: u32 = thread::scope(|scope| {
//!     scope.spawn(|| (1..=10).for_each(|n| sender.send(n).expect("somebody receives")));
//!     receiver.iter().take(10).sum()
//! });
//! assert_eq!(sum, 55);
//! ```
//!
//! # What makes a loop slow
//! * **Large accumulators by value.** `fold` moves the accumulator for every item. A `Vec` or a
//!   `Box` stays in a register; an array of 256 counters is copied each time, which is a hundred
//!   times slower. ([`Iterator::fold`] does the same.)
//! * **Indices where items would do.** `pool.on(0..n)` with `x[i]` in the closure checks a bound
//!   for every item; a tuple of slices checks none. A captured `Vec` is dereferenced again for
//!   every item: capture a slice instead, as in `let x = &x[..];` before `move |i| x[i]`.
//! * **A branch that cannot be predicted.** The nearest of 16 centres, by `if distance < best`,
//!   takes 60 ns a point in the plain loop and in the pool's. With
//!   [`select_unpredictable`](std::hint::select_unpredictable)`(distance < best, distance, best)`,
//!   and the same for the number of the centre, it takes 27 ns.
//! * **`max` or `min` of a large closure.** The first item has nothing to be compared with, so the
//!   compiler does not vectorise the loop if the closure has more than some 150 instructions.
//!   `fold` with a first value does not have that problem: 40 rounds of shift, xor and add take a
//!   fifth of the time.
//! * **`reproducible` with few items and much to reduce.** It calls `init` and `merge` once per
//!   block, and 10,000 items make 257 blocks of 39. For a table, ask for larger blocks:
//!   `.reproducible().grain(1000)`.
//! * **Something shared in the closure**: a lock, an atomic counter, an allocator with a lock.
//!
//! # How to read a report
//! ```
//! use rangesteal::{Pool, RunReport};
//!
//! let pool = Pool::new()?;
//! let mut report = RunReport::default();
//! pool.on(0..400_000).report(&mut report).map(|i| f64::from(i).sqrt()).sum::<f64>();
//! println!("{report}");
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//! prints
//!
//! ```text
//! 400000 items in 1.6ms, 0 thefts, balance 0.971
//! worker        items   runs  thefts suffered  failed   working  to start    at end
//!      0       204608      1       0        0       0     1.5ms     0.0ns     1.2µs
//!      1       195392      1       0        0       0     1.5ms    87.6µs    15.2µs
//! ```
//!
//! Each line is a [worker](crate::WorkerReport); worker 0 is the calling thread. A worker waited
//! (`to start`), was `working`, stole in between, and waited for the others (`at end`); the four
//! add up to the time of the loop. Report a round in the middle of your algorithm, since the pool
//! learns what a loop costs. Then look for
//!
//! | what you see | what it means | what to do |
//! |---|---|---|
//! | one line only | the loop ran on the calling thread alone, and the first line says why ([`alone`](crate::RunReport::alone)): too short to share, faster alone, no worker was idle, or there is one worker | if it is short, nothing; if it is faster alone, see the last line, and look for programs that have the CPUs; if no worker was idle, nothing: all of them worked |
//! | `to start` of some 10 to 100 µs | the thread had to wake up | in a loop of a millisecond, nothing; otherwise less work between the loops, or fewer, longer loops |
//! | `to start` as long as the loop | the thread came too late for any item: its CPU had other work | fewer threads, or less other work on the machine |
//! | `at end` is long for all workers but one | they waited for its last item | divide heavy items; sort them to the front |
//! | few thefts, a balance of nearly 1 | as it should be | nothing |
//! | thefts in every round | the cost of items changes from round to round | nothing: that is what thefts are for |
//! | many `failed` | there is less left to steal than there are thieves | more and smaller items, or fewer threads |
//! | all `working`, and in sum much longer than the plain loop | they wait for memory, for a lock, or for a cache line that all write; or they share a core; or the plain loop was vectorised and the blocks are not | touch less memory; fold instead of locking; try a large [`grain`](crate::On::grain), such as 4096 |
//!
//! The [balance](crate::RunReport::balance) is the mean time that workers were `working`, divided
//! by the longest. With a logger at level `debug`, every loop logs a line; at level `trace`, its
//! report; at level `info`, a pool logs once that a loop takes much longer shared than alone.
//!
//! # Where the time of a program goes
//! With the environment variable `RANGESTEAL_REPORT=1` a program that exits writes to standard
//! error what its loops did. (On Unix; not if a signal ends it. The exit waits at most a second for
//! a full pipe.)
//!
//! ```text
//! rangesteal: 3 loops took 128.5ms, and all workers worked for 246.9ms in them: gain 1.92
//!  calls        items      time   gain  idle balance    thefts      help  loop
//!     63     25200000   125.5ms   1.93     1    0.98        34    39.0µs  src/kmeans.rs:61:10
//!      1       400000     2.1ms   1.96     1    1.00         0    36.7µs  src/kmeans.rs:111:10
//!      9          180     0.9ms   0.93     -       -         0    20.0µs  a.rs:2:9; alone: short 9
//! ```
//!
//! A line is a call in the text of the program. The `gain` is the time that all workers worked,
//! divided by the `time` of the calls: with two threads, 1.9 is good, and 1 is what the plain loop
//! does. (Items that wait for memory or for each other make a high gain, too: compare it with
//! `threads(1)`.) `idle` says how many workers were idle when a call was shared: the median of its
//! calls, and behind the place the least and the most, if they differ (`idle: 1 to 7`). A loop with
//! a low gain and few idle workers was called while the others worked in other loops; with many
//! idle ones, it was worth few of them, or they came too late. `help` is what the pool thinks that
//! it costs to wake a worker. Behind the place it says how often the loop ran on its caller alone,
//! and why, as in [`Alone`](crate::Alone); `idle` and the balance are those of the other calls.
//! `begun alone` is the time that callers worked alone before they shared calls. A loop inside a
//! loop counts for both. A sort, and a loop that emits, counts each part that it shares; sorts that
//! run alone, and calls that panic, are not listed. Each call costs some 0.5 µs more then.
//!
//! # Beside others
//! **Several libraries in one program.** A pool pins a thread to each CPU, so six pools have six
//! threads there. A library takes an [`Option<&Pool>`](from_rayon#some-recipes). Loops of several
//! threads on one pool are helped by its idle workers, the loop that was shared first before all
//! others. A call that gets no help until its end is counted as `busy`, in
//! [`RunReport::alone`](crate::RunReport::alone) and by `RANGESTEAL_REPORT`.
//!
//! **In a program that uses rayon** a loop may be called from rayon's threads, and takes the CPUs
//! that it finds. With one of two workers of rayon busy and the other one calling a loop: loops of
//! 0.1, 1 and 10 ms took 0.60, 0.52 and 0.71 of the plain loop beside the same busy worker, and one
//! of 20 µs 1.02 (medians; the mean of the last 1.23). The busy worker loses what the loop gains.
//!
//! **In a program that uses tokio** call loops in `spawn_blocking`, never on the reactor.
//!
//! **Several processes** on the same CPUs pin their workers to the same ones. A worker whose CPU
//! another program keeps busy while others are idle is unpinned for a while. Where programs share
//! CPUs all the time, start them with `RANGESTEAL_PINNING=off`, or give each its own by `taskset`
//! or a control group. With a quota nothing is pinned. Ranks of MPI are
//! [processes](#more-than-one-machine), too.
//!
//! On two CPUs, loops of 1 ms again and again, relative to plain loops in the same place, by
//! `cargo bench --bench versus -- --rows beside`:
//!
//! | | rangesteal | rayon |
//! |---|---|---|
//! | on a thread of rayon's | 0.52 | 0.51 |
//! | on a blocking thread of tokio's | 0.53 | 0.54 |
//! | two threads, on the global pool | 0.96 | 1.11 |
//! | two threads, a pool each | 1.21 | |
//! | eight threads, on the global pool | 1.04 | 1.02 |
//! | eight threads, a pool each | 1.15 | |
//! | beside another process that does the same | 0.71 | 1.02 |
//!
//! [`pool.placement()`](crate::Pool::placement) shows the CPU of each worker, and why:
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
//! [`Placement`](crate::Placement) has other orders, from one worker a core to a list of CPUs.
//!
//! A pool pins its threads, unless [`pinning`](crate::PoolBuilder::pinning) or `RANGESTEAL_PINNING`
//! says otherwise; a [`scope`](crate::PoolBuilder::scope) pins the calling thread. A thread that is
//! started by a pinned one inherits its one CPU: start threads before a scope.
//! `RANGESTEAL_NUM_THREADS` and `RANGESTEAL_PINNING` are for pools whose builder says nothing.
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
//! A *rank* is a process on one machine, or on one NUMA node. It has a share of the items, a pool,
//! and the same loops as before; the result of a loop goes through an all-reduce of MPI.
//!
//! **When.** When the items do not fit into one memory, or a round takes some ten milliseconds on
//! all cores of one machine and there are thousands of rounds. An exchange takes 0.3 µs between two
//! ranks on one machine, and 2 to 100 µs through a network (the usual values of InfiniBand and
//! Ethernet, not measured here); but a round waits for its slowest rank, and that is what ranks
//! cost: 10 to 700 µs a round of 0.5 to 5 ms, on two cores. Threads steal from each other, and
//! ranks do not: one machine is better than two halves of one, until it is full.
//!
//! Two ranks of one thread, relative to one process with two threads, on two cores of an Intel Xeon
//! with Open MPI 4.1.4 in shared memory (no network was measured):
//!
//! | program | time |
//! |---|---|
//! | k-means, rounds of 1.1 ms; of 11 ms | 1.04; 0.89 |
//! | `PageRank` on a skewed graph, rounds of 0.9 ms: equal shares; learned shares | 0.79; 0.63 |
//! | an election: 400,000 ballots, 160 distributions (42 ms); in `float64` (0.86 s) | 0.91; 0.96 |
//! | an election: 10^8 ballots, reading included (14 s) | 0.71 |
//!
//! Ranks win where threads share work less well: in reading a file, in page faults, and in loops
//! too short for two threads. The READMEs of the two examples have all figures.
//!
//! **What to send.**
//!
//! | the result is | do | the same bits |
//! |---|---|---|
//! | an integer, or a few | `all_reduce` with `MPI_SUM` | always |
//! | anything that is reduced in order | `all_gather`, then fold in the order of the ranks | for as many ranks |
//! | a floating-point sum | the same; or [`reproducible_part`](crate::On::reproducible_part), and gather its nodes | for any number of ranks and threads |
//!
//! The last row, as in the example, is a tree whose shape follows from the number of all items. MPI
//! says of its own floating-point sums only that they are the same for as many ranks, if that.
//!
//! **How to start it.** In the repository are `examples/ranks` (k-means and `PageRank`, with
//! [rsmpi](https://docs.rs/mpi)) and `examples/stv-ranks` (an election).
//!
//! ```sh
//! cargo build --release -p ranks
//! mpirun -n 2 --map-by slot:PE=8 --bind-to core target/release/kmeans
//! mpirun -n 2 --bind-to none -x RANGESTEAL_PINNING=off target/release/pagerank
//! mpirun -n 2 --bind-to none target/release/latency
//! ```
//!
//! * **CPUs.** Open MPI 4 binds each of one or two ranks to one core unless it is told otherwise;
//!   the pool there has a worker for each hardware thread of that core, and
//!   [`Pool::placement`](crate::Pool::placement) says "bound to 1 of 64 CPUs" (or to 2). The first
//!   `mpirun` above gives each rank 8 cores of its own: the best way.
//! * **Pinning.** Ranks that may run on the same CPUs pin their workers to the same ones, and those
//!   that wait in MPI turn there all the time: a count took 27 times as long. So either each has
//!   CPUs of its own, or `RANGESTEAL_PINNING=off`.
//! * **Threads.** Initialise MPI with `Funneled`, on the thread that calls the loops. It is worker
//!   0, so loops are not in its way; but a closure of a loop never calls MPI.
//! * **The end.** A rank that returns early leaves the others waiting for ever. So every message
//!   has room for an error in the place of a result; a panic is caught in `main` and calls `abort`.
//!   The examples do both.
//!
//! **Shares.** Nothing is stolen across ranks. But rounds repeat: each rank says how long it has
//! computed, and if the slowest takes 1.1 times the mean for three rounds, all move their
//! boundaries alike, and load what is new. `examples/ranks/shares.rs` does it in some hundred
//! lines: the imbalance of `PageRank` on a skewed graph fell from 1.45 to 1.07 there, and a round
//! from 1.75 to 1.36 ms. For items that are made from their index, and need no data, a counter that
//! all ranks fetch chunks from is better still: see LB4MPI (Mohammed, Eleliemy, Ciorba, Kasielke,
//! Banicescu).
//!
//! # How to see a loop
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
//! std::fs::write("loops.svg", trace.svg().to_string())?; // for a browser
//! // For ui.perfetto.dev or profiler.firefox.com:
//! std::fs::write("loops.json", trace.chrome().to_string())?;
//! for slow in &trace.timelines()[2].slowest {
//!     println!("items {:?} took {:?}", slow.items, slow.took);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A report gives sums; a [`Trace`](crate::Trace) records what happened when: every run of every
//! worker, whom it was stolen from, and which items were the slowest. In the picture each worker
//! has a lane and a colour. A run has the colour of the worker that its items were dealt to, so a
//! lane of many colours is a thief's. Arrows point from the victim to the thief; grey is waiting;
//! fine lines are readings of the clock.
//!
//! A loop inside an item is a framed bar at the foot of its run. Each helper has a bar of the same
//! colour, that of the worker that called the loop, on the grey of its own lane. A worker that only
//! helps has a lane, too. So an outer loop of two items can be seen to keep all workers busy, or
//! not:
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
//! A loop that is too short to be shared does not look whether it lies in a traced one, and is not
//! drawn. Nor is what workers do for loops that other threads call.

pub mod from_openmp;
pub mod from_rayon;
pub mod locks;
