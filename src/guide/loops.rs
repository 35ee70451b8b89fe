//! Choosing a loop: a source, stages and an end.
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let words = ["range", "on", "steal"];
//! let long: Vec<usize> = pool.on(&words).map(|word| word.len()).filter(|len| *len > 2).collect();
//! assert_eq!(long, [5, 5]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Stages and ends have the names and the meanings of [`Iterator`], except `zip` and `fold`.
//! [`On`](crate::On) lists all stages and ends, and how they differ from `Iterator`. A
//! [`Pool`](crate::Pool) is made once and serves all loops: see [where a pool comes
//! from](super::beside#where-a-pool-comes-from).
//!
//! # Which loop do I need?
//! Take the first row that fits.
//!
//! | I want | loop |
//! |---|---|
//! | to visit items that are not known at the start: a tree, a graph, jobs that make jobs | [`pool.grow(seeds)`](super::grow) |
//! | to run items that wait: requests, files, timers | [`pool.on(&v).waiting(limit)`](super::waiting) |
//! | a sum, a count, the smallest or largest | [`sum`](crate::On::sum), [`count`](crate::On::count), [`min_by_key`](crate::On::min_by_key) and so on |
//! | one value from all items, such as a joined string | [`map(f).reduce(op)`](crate::On::reduce) |
//! | several values, a histogram, a table | [`fold(init, step, merge)`](crate::On::fold) |
//! | a new `Vec`, `String`, map or set | [`collect`](crate::On::collect); into a `Result` or an `Option` if an item can fail |
//! | two new vectors | [`partition`](crate::On::partition), [`unzip`](crate::On::unzip) |
//! | new results in each round, without allocating | [`collect_into`](crate::On::collect_into) a vector that you have cleared |
//! | to change the items | `pool.on(&mut v)` and [`for_each`](crate::On::for_each) |
//! | to know whether an item matches, or which one does | [`any`](crate::On::any), [`find`](crate::On::find), [`position`](crate::On::position); [`find_any`](crate::On::find_any) if any match will do |
//! | to stop at the first error | [`try_for_each`](crate::On::try_for_each), [`try_fold`](crate::On::try_fold), [`try_reduce`](crate::On::try_reduce) |
//! | the index of the first error | [`located()`](#the-line-of-the-first-error) before the end |
//! | running totals: of each item, the total up to it; offsets from lengths | `pool.on(&mut v)` and [`inclusive_scan`](crate::On::inclusive_scan), [`exclusive_scan`](crate::On::exclusive_scan) |
//! | running totals of computed items, in a vector: offsets of a graph from its degrees | [`inclusive_scan_into`](crate::On::inclusive_scan_into), [`exclusive_scan_into`](crate::On::exclusive_scan_into) |
//! | to sort the items | [`pool.sort(&mut v)`](crate::Pool::sort), `sort_by_key`, `sort_unstable` and so on |
//! | to add a sorted batch to a sorted vector | [`pool.merge(&mut v, middle)`](crate::Pool::merge) |
//! | the median, or the ten largest | [`pool.select_nth_unstable(&mut v, index)`](crate::Pool::select_nth_unstable) |
//! | the items that pass a test at the front, without copies | [`pool.partition_in_place(&mut v, test)`](crate::Pool::partition_in_place) |
//! | two closures at the same time, and both results | [`pool.join(a, b)`](crate::Pool::join) |
//! | to use a lock or an atomic inside the closure | `fold` if it can replace the lock, otherwise `for_each` |
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
//! | a parameter `items: &mut [T]`, for more than one loop | [`pool.on_mut(items)`](crate::Pool::on_mut); in `zip` and in tuples `&mut *items` |
//! | integers | `pool.on(0..n)`, `pool.on(1..=n)` |
//! | two to eight slices in lockstep | `pool.on((&mut y, &x))`, or `pool.on(&mut y).zip(&x)`; [`zip_shortest`](crate::On::zip_shortest) if lengths differ |
//! | a part of the items | `pool.on(&v[a..b])`; of other sources [`skip`](crate::On::skip), [`take`](crate::On::take), [`step_by`](crate::On::step_by) |
//! | rows of a matrix, blocks of items | [`chunks(width)`](crate::On::chunks), [`chunks_exact(width)`](crate::On::chunks_exact); overlapping [`windows(n)`](crate::On::windows); rows of different lengths [`source::pieces`](crate::source::pieces) |
//! | rows of a matrix beside a result vector | `pool.on(&mut y).zip(source(&matrix).chunks(width))`; a chain inside `zip` has no pool |
//! | rectangles of a matrix, for loops that also read along columns | [`source::tiles`](crate::source::tiles) |
//! | items at distinct indices in any order: one colour of a mesh, a permutation | [`on(&mut v).at(&places)`](#items-at-given-indices) |
//! | groups of equal items, as after a sort | [`chunk_by(same)`](#groups-of-equal-keys) |
//! | blocks of two slices in lockstep, with different block sizes | `pool.on(&mut a).chunks(2).zip(source(&b).chunks(3))` |
//! | a chain made elsewhere | `pool.on(chain)`, where the chain is [`source(&v).map(f)`](crate::source()) |
//!
//! # The line of the first error
//! ```
//! use rangesteal::{Pool, source::At};
//!
//! let pool = Pool::new()?;
//! let text = "7 3\n1 x\n2 y";
//! let lines: Vec<&str> = text.lines().collect();
//! let total = |line: &&str| line.split(' ').map(str::parse::<u32>).sum::<Result<u32, _>>();
//! let totals: Result<Vec<u32>, At<_>> = pool.on(&lines).map(total).located().collect();
//! let error = totals.map_err(|at| format!("line {}: {}", at.index + 1, at.error));
//! assert_eq!(error, Err("line 2: invalid digit found in string".into()));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! On any number of threads, the loop returns the error of the first bad item, as the plain loop
//! does. [`located`](crate::On::located) adds the index of that item. The loop stops early: items
//! behind the error may stay unparsed.
//!
//! # Groups of equal keys
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use std::collections::HashMap;
//!
//! let mut sales = [("Bonn", 2), ("Aachen", 7), ("Bonn", 5)];
//! let by_town = pool.on(&sales).fold(
//!     HashMap::new,
//!     |mut totals, (town, price)| {
//!         *totals.entry(*town).or_insert(0) += price;
//!         totals
//!     },
//!     |mut a, b| {
//!         b.into_iter().for_each(|(town, total)| *a.entry(town).or_insert(0) += total);
//!         a
//!     },
//! );
//! assert_eq!(by_town, HashMap::from([("Aachen", 7), ("Bonn", 7)]));
//!
//! pool.sort_by_key(&mut sales, |sale| sale.0); // stable: equal keys keep their order
//! let groups = pool.on(&sales).chunk_by(|a, b| a.0 == b.0);
//! let dearest: Vec<_> = groups.map(|group| group.iter().max_by_key(|sale| sale.1)).collect();
//! assert_eq!(dearest, [Some(&("Aachen", 7)), Some(&("Bonn", 5))]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! * **One value for each key**: fold into a map. Each worker fills a map, and the maps are merged.
//! * **Few keys, such as a histogram**: fold into a `Box` of an array or a `Vec`. A step moves the
//!   accumulator, so `[0; 256]` without a box is copied for each item: an item takes 22 ns instead
//!   of 0.2 ns. ([`Iterator::fold`] copies the accumulator, too: 19 ns for each item.)
//! * **All items of each key together**: sort by the key, and run a loop over the groups with
//!   [`chunk_by`](crate::On::chunk_by).
//! * **One item of each key**: sort by the key, and collect the first item of each group:
//!   `pool.on(0..v.len()).filter(|&i| i == 0 || v[i].0 != v[i - 1].0).map(|i| v[i])`.
//!   [`Vec::dedup_by_key`] moves items to the front of the same vector, so it keeps no second copy.
//!
//! # Items at given indices
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! // A ring of six nodes. Neighbours have different colours.
//! let mut heat = [0.0, 0.0, 0.0, 8.0, 0.0, 0.0];
//! let colours = [[0, 2, 4], [1, 3, 5]];
//! let places = colours.map(|nodes| pool.permutation(nodes.to_vec(), 6));
//! for places in &places {
//!     let places = places.as_ref().unwrap();
//!     let mean = |node: &usize| (heat[(node + 5) % 6] + heat[(node + 1) % 6]) / 2.0;
//!     let means: Vec<f64> = pool.on(places.indices()).map(mean).collect();
//!     pool.on(&mut heat).at(places).zip(&means).for_each(|(heat, mean)| *heat = *mean);
//! }
//! assert_eq!(heat, [0.0, 2.0, 4.0, 4.0, 4.0, 2.0]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! [`pool.permutation(indices, len)`](crate::Pool::permutation) checks once that the indices are
//! distinct. Then [`at`](crate::On::at) gives each worker `&mut` items at its indices, in each
//! round, without a further check and without `unsafe` code. If indices may be equal, items can
//! only be read: `pool.on(&indices).map(|index| &v[*index])`.
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
//!     .filter(|(_words, line)| line.len() > 3)
//!     .collect();
//! assert_eq!(sorted, ["c d e"]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! [`with`](crate::On::with) makes a state for each worker. Every later stage and end gets the
//! state, too: its closure takes the pair `(state, item)` instead of the item, and the `step` of
//! `fold` takes `|acc, (state, item)|`. Closures that combine two results get no state.
//!
//! [`with_kept`](crate::On::with_kept) keeps the states from loop to loop.
//! [`with_block`](super::random) makes a state for each block of items.
//!
//! # How many items?
//! Make one item for each piece of work that can run by itself. The pool divides work down to
//! single items.
//!
//! * **A few long items** are fine. In the first call of a loop, the number of items matters. With
//!   at most 16 items for each thread, the caller wakes helpers before the first item, which costs
//!   5 to 16 µs for one helper. With more items, the caller runs one item before it wakes helpers:
//!   [`begun_alone`](crate::RunReport::begun_alone) of the report is the time of that item.
//! * **No loop is faster than its longest item.** Divide a long item into several items.
//! * **Many short items** are fine. Claiming an item costs less than a nanosecond.
//!
//! **Items must never wait for each other.** One thread may run all items, one after the other. A
//! producer and a consumer need threads of their own:
//!
//! ```
//! use std::{sync::mpsc, thread};
//!
//! let (sender, receiver) = mpsc::sync_channel(1);
//! let sum: u32 = thread::scope(|scope| {
//!     scope.spawn(|| (1..=10).for_each(|n| sender.send(n).expect("the receiver lives")));
//!     receiver.iter().take(10).sum()
//! });
//! assert_eq!(sum, 55);
//! ```
//!
//! # Where a type must be written
//! A closure that is written inside the call needs no types. A closure in a variable needs the
//! types of the parameters that are references. Without these types the compiler says that `Fn` is
//! not general enough:
//!
//! ```compile_fail
//! # let pool = rangesteal::Pool::new()?;
//! let even = |x| x % 2 == 0;
//! assert_eq!(pool.on(&[1, 2, 3]).copied().filter(even).count(), 1);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let even = |x: &u32| x % 2 == 0;
//! assert_eq!(pool.on(&[1, 2, 3]).copied().filter(even).count(), 1);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! `sum`, `product` and `collect` need the type of their result, as in `Iterator`. If a loop
//! collects errors, or if a closure returns errors by `?` only, their type must be written:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use std::num::ParseIntError;
//!
//! let numbers = pool.on(&["12", "7"]).map(|word| word.parse::<u32>());
//! assert!(numbers.collect::<Result<Vec<u32>, ParseIntError>>().is_ok());
//! let checked = pool.on(&["12", "7"]).try_for_each(|word| {
//!     word.parse::<u32>()?;
//!     Ok::<(), ParseIntError>(())
//! });
//! assert_eq!(checked, Ok(()));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
