//! Coming from rayon: the counterpart of each name, the differences, and when to stay.
//!
//! ```toml
//! [patch.crates-io]
//! rayon = { path = "../rangesteal/rayon/patch" }
//! rayon-core = { path = "../rangesteal/rayon/patch-core" }
//! ```
//!
//! These lines of a program's `Cargo.toml` replace rayon by the package `rangesteal-rayon` of this
//! repository, in the program and in all its dependencies. The package has rayon's names, so no
//! line of code changes.
//!
//! # Go on to `pool.on(..)`
//! Go on to `pool.on(..)` when a loop needs something for which rayon has no name:
//!
//! * a limit on its threads or other [options](super::options), such as `threads` and `grain`;
//! * a [report](super::reports) of one call;
//! * sums with the same bits on any number of threads
//!   ([`reproducible`](crate::On::reproducible));
//! * states that are kept from loop to loop ([`with_kept`](crate::On::with_kept));
//! * a token that cancels the loop ([`CancelToken`](crate::CancelToken)).
//!
//! ```
//! use rangesteal::Pool;
//! use rayon::prelude::*;
//!
//! let pool = Pool::new()?;
//! let words = ["a", "parallel", "loop"];
//! let theirs: usize = words.par_iter().map(|word| word.len()).filter(|len| *len > 1).sum();
//! let ours: usize = pool.on(&words).map(|word| word.len()).filter(|len| *len > 1).sum();
//! assert_eq!(ours, theirs);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Most methods have the same names: write `pool.on(&v)` for `v.par_iter()`. The rest of the line
//! often stays as it is. Four names have another meaning here: `zip`, `fold`, `reduce` and
//! `try_reduce`. `zip` panics if lengths differ. The compiler refuses calls of `fold`, `reduce` and
//! `try_reduce` with rayon's arguments, and proposes wrong changes of the closures: ignore these
//! proposals, and use [the table](#every-name).
//!
//! # Every name
//! The tables have all names of rayon except the types of iterators. `v` is a slice, a `Vec` or an
//! array. If code begins with a dot, `pool.on(..)` stands before it.
//!
//! The same names:
//!
//! | rayon | here |
//! |---|---|
//! | `map`, `copied`, `cloned`, `inspect`, `filter`, `filter_map`, `flat_map`, `flatten`, `enumerate`, `take`, `skip`, `step_by`, `rev`, `chunks`, `for_each`, `try_for_each`, `sum`, `product`, `count`, `min`, `max`, `min_by`, `max_by`, `min_by_key`, `max_by_key`, `any`, `all`, `find_any`, `position_any`, `eq`, `cmp`, `collect`, `partition`, `unzip` | the same; `chunks` makes slices, and vectors behind `map`, `copied`, `rev` and `step_by`; `partition` and `unzip` make vectors; the closure of `flat_map` returns an iterator or a collection, as that of `flat_map_iter` |
//!
//! Names that differ or are missing, and the code to write instead:
//!
//! | rayon | here |
//! |---|---|
//! | `par_iter`, `par_iter_mut`, `into_par_iter`, `iter` | `pool.on(&v)`, `pool.on(&mut v)`, `pool.on(v)` |
//! | `prelude`, `ParallelIterator`, `IndexedParallelIterator`, `IntoParallelIterator`, `IntoParallelRefIterator`, `IntoParallelRefMutIterator` | nothing to import; generic code names [`Chain`](crate::source::Chain), [`Source`](crate::source::Source), [`IntoChain`](crate::source::IntoChain) |
//! | `array`, `slice`, `vec`, `range`, `range_inclusive` | `pool.on(..)`, of integers of any type; a tuple such as `pool.on((&a, &mut b))` panics if lengths differ |
//! | `par_drain`, `ParallelDrainFull`, `ParallelDrainRange` | `pool.on(source::drain(&mut vec, range))`; of maps `pool.on(map.drain().collect::<Vec<_>>())` |
//! | `collections`, `collections::btree_map`, `collections::btree_set`, `collections::hash_map`, `collections::hash_set`, `collections::linked_list`, `par_bridge`, `ParallelBridge` | `pool.on(map.iter().collect::<Vec<_>>())` |
//! | `collections::binary_heap`, `collections::vec_deque` | `pool.on(heap.as_slice())`, `pool.on(deque.make_contiguous())` |
//! | `option`, `result` | none: a loop over one item cannot be shared. A chain collects into an `Option` or a `Result` |
//! | `iter::empty`, `iter::once` | `pool.on([])`, `pool.on([x])` |
//! | `iter::repeat`, `iter::repeat_n`, `iter::repeatn`, `Repeat::take`, `Repeat::zip` | `pool.on(0..n).map(\|_\| &x)` |
//! | `iter::split` | none: a loop divides work only between items. Make the pieces before the loop |
//! | `iter::walk_tree`, `iter::walk_tree_prefix`, `iter::walk_tree_postfix` | [`pool.grow([root])`](crate::Pool::grow), whose closure adds the children to the list; the order is not defined |
//! | `Either` | none: call the loop in both branches of an `if` |
//! | `zip_eq`, `zip` | `.zip(&b)`, which panics if lengths differ; `.zip_shortest(&b)` |
//! | `map_with`, `map_init`, `for_each_with`, `for_each_init`, `try_for_each_with`, `try_for_each_init` | [`.with(\|_worker\| init()).map(\|(state, x)\| ..)`](crate::On::with) and so on; for random numbers [`with_block`](super::random) |
//! | `flat_map_iter`, `flatten_iter` | `.flat_map(f)`, `.flatten()` |
//! | `fold`, `fold_with` | `.fold(init, step, merge)`: `merge` is the `reduce` that follows in rayon |
//! | `reduce`, `reduce_with` | `.reduce(op).unwrap_or_else(id)`, `.reduce(op)` |
//! | `try_fold`, `try_fold_with` | `.try_fold(init, step, merge)`, whose `step` returns a `Result` |
//! | `try_reduce`, `try_reduce_with` | `.try_reduce(op)` over items that are results; it returns `Ok(None)` if there are no items, and `op` cannot fail. If `op` can fail: `.reduce(\|a, b\| op(a?, b?)).unwrap_or(Ok(id))`, which runs all items |
//! | `fold_chunks`, `fold_chunks_with` | `.chunks(n).map(\|chunk\| chunk.iter().fold(init(), f))` |
//! | `update` | `.map(\|mut x\| { f(&mut x); x })` |
//! | `chain` | two loops: `.collect_into(&mut both)` of each |
//! | `interleave`, `interleave_shortest` | `.zip(&b).flat_map(\|(a, b)\| [a, b])`, then append the remaining items of the longer slice |
//! | `intersperse` | `.flat_map(\|x\| [x, &between])`, then `pop` the last |
//! | `positions` | `.enumerate().filter_map(\|(i, x)\| p(x).then_some(i))` |
//! | `skip_any`, `take_any` | `.skip(n)`, `.take(n)` |
//! | `skip_any_while`, `take_any_while`, `while_some` | `let n = pool.on(&v).position(\|x\| !p(x)).unwrap_or(v.len())`, then `.skip(n)`, `.take(n)` |
//! | `panic_fuse` | nothing: after a panic, the items before the panicking item still run, and few items behind it |
//! | `by_exponential_blocks`, `by_uniform_blocks` | nothing: searches begin at the front. To run one block after the other, use a plain loop over `v.chunks(n)` |
//! | `with_min_len`, `with_max_len` | nothing; [`grain(n)`](crate::On::grain) if blocks must have a certain size |
//! | `len`, `opt_len` | `v.len()`; for any source [`count`](crate::source::Source::count) |
//! | `find_first`, `find_last` | `.find(p)`, `.rev().find(p)` |
//! | `position_first`, `position_last` | `.position(p)`; `.rev().position(p)` counts from the end |
//! | `find_map_first`, `find_map_any`, `find_map_last` | `.find_map(f)`, `.rev().find_map(f)` |
//! | `partition_map` | two loops with `.filter_map(f)`, or `.fold(..)` into two vectors |
//! | `from_par_iter`, `FromParallelIterator` | [`FromChain`](crate::source::FromChain): only the collections of the standard library implement this trait |
//! | `collect_into_vec` | `out.clear()`, then `.collect_into(&mut out)` |
//! | `par_extend`, `ParallelExtend` | `.collect_into(&mut vec)`; `set.extend(pool.map_collect(&v, f))` |
//! | `collect_vec_list` | `.collect::<Vec<_>>()` |
//! | `unzip_into_vecs` | `pool.on((&v, &mut a, &mut b)).for_each(\|(x, a, b)\| (*a, *b) = f(x))` |
//! | `ne`, `lt`, `le`, `gt`, `ge` | `!pool.on(&a).eq(&b)`, `pool.on(&a).cmp(&b).is_lt()` and so on |
//! | `partial_cmp` | `pool.on(&a).zip_shortest(&b).map(\|(a, b)\| a.partial_cmp(b)).find(\|o\| *o != Some(Equal))` |
//! | `drive`, `drive_unindexed`, `with_producer` | none: your type implements [`IntoChain`](crate::source::IntoChain), which makes one of the sources of this crate |
//! | `ParallelSlice`, `ParallelSliceMut`, `as_parallel_slice`, `as_parallel_slice_mut` | nothing to import |
//! | `par_chunks`, `par_chunks_mut`, `par_chunks_exact`, `par_chunks_exact_mut` | `.chunks(n)`, `.chunks_exact(n)` |
//! | `ChunksExact::remainder`, `ChunksExactMut::remainder`, `ChunksExactMut::into_remainder`, `ChunksExactMut::take_remainder` | `let (chunks, rest) = source::chunks_exact(&mut v, n)`, then `pool.on(chunks)` |
//! | `par_rchunks`, `par_rchunks_mut` | `pool.on(v.rchunks(n).collect::<Vec<_>>())` |
//! | `par_rchunks_exact`, `par_rchunks_exact_mut` | `pool.on(&v[v.len() % n..]).chunks(n).rev()` |
//! | `RChunksExact::remainder`, `RChunksExactMut::remainder`, `RChunksExactMut::into_remainder`, `RChunksExactMut::take_remainder` | `&v[..v.len() % n]` |
//! | `par_windows`, `par_array_windows` | `.windows(n)`; `<&[T; N]>::try_from(window)` makes an array of a window |
//! | `par_chunk_by`, `par_chunk_by_mut` | `pool.on(&v).chunk_by(p)`, `pool.on(&mut v).chunk_by(p)` |
//! | `par_split`, `par_split_inclusive`, `par_split_mut`, `par_split_inclusive_mut` | `pool.on(v.split(p).collect::<Vec<_>>())` and so on |
//! | `par_sort`, `par_sort_by`, `par_sort_by_key`, `par_sort_by_cached_key` | `pool.sort(&mut v)`, `pool.sort_by(&mut v, c)` and so on |
//! | `par_sort_unstable`, `par_sort_unstable_by`, `par_sort_unstable_by_key` | `pool.sort_unstable(&mut v)` and so on; these allocate on pools of more than four workers |
//! | `str`, `string`, `ParallelString`, `as_parallel_string` | none: characters differ in length, so a text cannot be cut at an index |
//! | `par_bytes` | `pool.on(text.as_bytes())` |
//! | `par_chars`, `par_char_indices`, `par_encode_utf16`, `par_lines`, `par_split_whitespace`, `par_split_ascii_whitespace`, `par_split_terminator`, `par_matches`, `par_match_indices` | `pool.on(text.lines().collect::<Vec<_>>())` and so on |
//!
//! Pools and free functions:
//!
//! | rayon | here |
//! |---|---|
//! | `ThreadPoolBuilder::build`, `ThreadPoolBuilder::build_global`, `ThreadPoolBuilder::num_threads`, `ThreadPoolBuilder::stack_size`, `ThreadPoolBuilder::thread_name`, `ThreadPoolBuilder::spawn_handler`, `ThreadPoolBuilder::start_handler`, `ThreadPoolBuilder::exit_handler` | the same. Handlers get worker numbers from 1 on: worker 0 is the calling thread, on its own stack. `build` waits until the start handler has run on all threads. Leave `num_threads` out instead of passing 0 |
//! | `ThreadPool`, `ThreadPoolBuilder`, `ThreadPoolBuildError`, `ThreadPool::new`, `ThreadPoolBuilder::new` | `Pool`, `PoolBuilder`, `BuildError`, `Pool::new()?`, `Pool::builder()` |
//! | `ThreadPoolBuilder::build_scoped` | `Pool::builder().scope(\|pool\| ..)`; a `spawn_handler` may start scoped threads that call `run` |
//! | `ThreadPoolBuilder::use_current_thread` | nothing: the calling thread is always a worker |
//! | `ThreadBuilder`, `ThreadBuilder::index`, `ThreadBuilder::name`, `ThreadBuilder::run`, `ThreadBuilder::stack_size` | [`WorkerThread`](crate::WorkerThread), its `index()`, `name()`, `run()` and `stack_size()`; every thread has a name |
//! | `ThreadPoolBuilder::panic_handler` | [`panic_handler`](crate::PoolBuilder::panic_handler), for panics of tasks. The panic of a loop reaches its caller |
//! | `ThreadPoolBuilder::breadth_first` | nothing: tasks begin in the order in which they are spawned |
//! | `ThreadPool::install` | nothing: call loops on that pool. For the stack, name or handlers of a thread of the pool: [`pool.enter(..)`](crate::Pool::enter) |
//! | `ThreadPool::current_num_threads`, `rayon::current_num_threads` | `pool.num_threads()` |
//! | `ThreadPool::current_thread_index`, `rayon::current_thread_index` | the argument of the closure of `with` |
//! | `rayon::max_num_threads` | none: the limit is 65,536; more threads are `BuildError::TooManyThreads` |
//! | `ThreadPool::broadcast`, `rayon::broadcast`, `ThreadPool::spawn_broadcast`, `rayon::spawn_broadcast` | [`pool.broadcast(\|worker\| ..)`](crate::Pool::broadcast), [`pool.spawn_broadcast(..)`](crate::Pool::spawn_broadcast) |
//! | `Scope::spawn_broadcast`, `ScopeFifo::spawn_broadcast`, `BroadcastContext`, `BroadcastContext::index`, `BroadcastContext::num_threads` | none: closures of `broadcast` get the number of the worker |
//! | `ThreadPool::join`, `rayon::join` | [`pool.join(a, b)`](crate::Pool::join). If you need no results, items of [`pool.grow([all])`](super::grow) are better. If all jobs are known, use [a loop over jobs](super::grow#jobs-of-different-kinds) |
//! | `rayon::join_context`, `FnContext`, `FnContext::migrated` | none: `a` runs on the calling thread, and `b` on any worker |
//! | `ThreadPool::scope`, `ThreadPool::scope_fifo`, `ThreadPool::in_place_scope`, `ThreadPool::in_place_scope_fifo`, `rayon::scope`, `rayon::scope_fifo`, `rayon::in_place_scope`, `rayon::in_place_scope_fifo`, `Scope`, `Scope::spawn`, `ScopeFifo`, `ScopeFifo::spawn_fifo` | `pool.on(jobs)`; jobs that add jobs are [a list that grows](super::grow#jobs-of-different-kinds). No job may wait for another job. A panic drops the jobs that have not begun |
//! | `ThreadPool::spawn`, `ThreadPool::spawn_fifo`, `rayon::spawn`, `rayon::spawn_fifo` | [`pool.spawn(..)`](crate::Pool::spawn) |
//! | `ThreadPool::yield_now`, `ThreadPool::yield_local`, `rayon::yield_now`, `rayon::yield_local`, `Yield`, `ThreadPool::current_thread_has_pending_tasks` | none: a thread that waits for a loop runs no tasks |
//! | `RAYON_NUM_THREADS`, `RAYON_RS_NUM_CPUS` | `RANGESTEAL_NUM_THREADS` |
//!
//! # What differs
//! * **Order.** Partial results are reduced in slice order, as in rayon. With
//!   [`reproducible`](crate::On::reproducible), floating-point results also do not depend on
//!   threads or timing. Only a loop over a list that grows ([`grow`](super::grow)) has no order.
//! * **The first error** in slice order reaches the caller in every run. The first panic in slice
//!   order also reaches the caller.
//! * **Idle workers help nested loops**, and loops that other threads call at the same time. If no
//!   worker is idle, the calling thread runs the loop, and workers help as soon as they are idle. A
//!   thread that waits for the end of its loop helps only inner loops of this loop. A thread of
//!   rayon may run any other task: see [Locks and loops](super::locks).
//! * **Short and uneven loops** need no tuning: a loop that is too short wakes no thread, and
//!   workers steal down to single items.
//! * **The calling thread works, too.** A pool of `n` has `n - 1` threads of its own.
//! * **Threads are pinned** where the system allows it: see [pinning](super::machines#pinning). An
//!   item that starts programs or threads starts them in [`unpinned`](crate::Pool::unpinned).
//!
//! # The first error
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use rayon::prelude::*;
//!
//! let words = ["1", "2", "x", "y"];
//! let theirs: Result<Vec<i32>, _> =
//!     words.par_iter().map(|word| word.parse().map_err(|_| *word)).collect();
//! assert!(theirs == Err("x") || theirs == Err("y"));
//!
//! let ours: Result<Vec<i32>, _> =
//!     pool.on(&words).map(|word| word.parse().map_err(|_| *word)).collect();
//! assert_eq!(ours, Err("x"));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Scratch memory
//! rayon makes a new state whenever it splits the work. Here, a call makes one state for each
//! worker. Behind `with`, each closure that would take an item takes the pair of the state and the
//! item:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use rayon::prelude::*;
//!
//! fn sorted(letters: &mut Vec<char>, word: &str) -> String {
//!     letters.clear();
//!     letters.extend(word.chars());
//!     letters.sort_unstable();
//!     letters.iter().collect()
//! }
//!
//! let words = ["stealing", "range"];
//! let theirs: Vec<_> =
//!     words.par_iter().map_init(Vec::new, |letters, word| sorted(letters, word)).collect();
//! let ours: Vec<_> = pool
//!     .on(&words)
//!     .with(|_worker| Vec::new())
//!     .map(|(letters, word)| sorted(letters, word))
//!     .collect();
//! assert_eq!(ours, theirs);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # When to stay with rayon
//! * Items come from an iterator or a channel, and must not be collected.
//! * Most of the work is small tasks that outlive the call that makes them.
//! * A library should not bring threads of its own.
//!
//! One program can use both rayon and this crate: see [in a program that uses
//! rayon](super::beside#in-a-program-that-uses-rayon).
//!
//! # A function without a pool
//! The counterpart of rayon's global pool is [`Pool::global`](crate::Pool::global). A function of a
//! library takes [an `Option<&Pool>`](super::beside).
//!
//! # A function that returns a parallel iterator
//! With rayon, a function can return `impl ParallelIterator`. With this crate, a function returns a
//! [`source`](crate::source()) with stages, and the caller passes them to the `on` of a pool.
//! Values of a type that implements [`IntoChain`](crate::source::IntoChain) can be passed to `on`
//! directly.
//!
//! ```
//! use rangesteal::{Pool, source, source::{IntoChain, Source}};
//!
//! struct Track {
//!     times: Vec<f64>,
//!     places: Vec<f64>,
//! }
//!
//! impl Track {
//!     fn speeds(&self) -> impl Source<Item = f64> + Sync {
//!         source((&self.times, &self.places)).map(|(time, place)| place / time)
//!     }
//! }
//!
//! impl<'a> IntoChain for &'a Track {
//!     type Chain = &'a [f64];
//!
//!     fn into_chain(self) -> &'a [f64] {
//!         &self.places
//!     }
//! }
//!
//! let pool = Pool::new()?;
//! let track = Track { times: vec![1.0, 2.0], places: vec![5.0, 7.0] };
//! assert_eq!(pool.on(track.speeds()).max_by(f64::total_cmp), Some(5.0));
//! assert!(pool.on(&track).zip(track.speeds()).any(|(place, speed)| *place > speed));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Jobs, trees, types
//! * Jobs as in a scope: [jobs of different kinds](super::grow#jobs-of-different-kinds).
//! * A tree, as by `walk_tree`: [items that make items](super::grow), or [level by
//!   level](super::grow#level-by-level).
//! * "`Fn` is not general enough", "type annotations needed": [where a type must be
//!   written](super::loops#where-a-type-must-be-written).

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        cmp::Ordering::Equal,
        collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque},
        fmt::Debug,
    };

    use rayon::prelude::*;

    use crate::{BuildError, Pool, source};

    /// Compares two values of the same type, so that the compiler infers the type of each value
    /// from the other one.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "most are made for it")]
    fn agree<T: PartialEq + Debug>(ours: T, theirs: T) {
        assert_eq!(ours, theirs);
    }

    /// Compares the same code behind `pool.on(..)` and behind `into_par_iter()`.
    macro_rules! same {
        ($pool:ident, $items:expr, $($rest:tt)+) => {
            agree($pool.on($items)$($rest)+, $items.into_par_iter()$($rest)+)
        };
    }

    fn squares(modulus: usize) -> Vec<usize> {
        (0..10_003).map(|i| i * i % modulus).collect()
    }

    fn two_threads() -> Result<Pool, BuildError> {
        Pool::builder().num_threads(2).build()
    }

    /// All names of the first table.
    #[test]
    #[cfg_attr(miri, ignore = "too long: tests/verbs.rs has the same loops over fewer items")]
    fn what_is_called_the_same_is_the_same() -> Result<(), BuildError> {
        let (pool, v, w) = (two_threads()?, squares(1009), squares(1013));
        let nested = [vec![1, 2], vec![], vec![3]];

        same!(pool, &v, .map(|x| x + 1).collect::<Vec<_>>());
        same!(pool, &v, .map(|x| x % 2).collect::<HashSet<_>>());
        same!(pool, &v, .enumerate().map(|(i, x)| (x % 5, i)).collect::<HashMap<_, _>>());
        same!(pool, &v, .copied().map(|x| if x < 2000 { Ok(x) } else { Err(x) }).collect::<Result<Vec<_>, _>>());
        same!(pool, &v, .map(|x| x.checked_sub(1)).collect::<Option<Vec<_>>>());
        same!(pool, &v, .map(|x| if *x < 1000 { Ok(*x) } else { Err("large") }).collect::<Result<Vec<_>, _>>());
        same!(pool, &nested, .cloned().flatten().collect::<Vec<_>>());
        same!(pool, &nested, .flatten().copied().collect::<Vec<_>>());
        same!(pool, v.clone(), .inspect(|x| assert!(*x < 1009)).filter(|x| x % 100 == 99).count());
        same!(pool, &v, .filter_map(|x| (*x > 500).then_some(x / 2)).collect::<Vec<_>>());
        same!(pool, &v, .flat_map(|x| 0..x % 8).collect::<Vec<_>>());
        same!(pool, &v, .take(900).skip(100).rev().step_by(3).enumerate().collect::<Vec<_>>());
        same!(pool, &v, .chunks(7).map(|chunk| 2 * chunk.len()).collect::<Vec<_>>());
        same!(pool, 3..900_u16, .map(u64::from).sum::<u64>());
        same!(pool, -3..=900_i64, .map(|i| i + 1).collect::<Vec<_>>());
        same!(pool, &v, .copied().sum::<usize>());
        same!(pool, &v, .take(9).map(|x| x % 7 + 1).product::<usize>());
        same!(pool, &v, .count());
        same!(pool, &v, .min());
        same!(pool, &v, .max());
        same!(pool, &v, .min_by(Ord::cmp));
        same!(pool, &v, .max_by(Ord::cmp));
        same!(pool, &v, .min_by_key(|x| **x % 7));
        same!(pool, &v, .max_by_key(|x| **x % 7));
        same!(pool, &v, .any(|x| x % 100 == 99));
        same!(pool, &v, .all(|x| x % 100 == 99));
        same!(pool, &v, .find_any(|x| **x == 2000));
        same!(pool, &v, .find_any(|x| **x % 100 == 99).is_some());
        same!(pool, &v, .position_any(|x| *x == 2000));
        same!(pool, &v, .try_for_each(|x| if *x < 1000 { Ok(()) } else { Err("large") }));
        same!(pool, &v, .partition(|x| **x % 100 == 99));
        same!(pool, &v, .map(|x| (x / 2, x % 2)).unzip());
        for other in [&v, &w] {
            same!(pool, &v, .eq(other));
            same!(pool, &v, .cmp(other));
        }
        let (mut ours, mut theirs) = (v.clone(), v.clone());
        pool.on(&mut ours).for_each(|x| *x += 1);
        theirs.par_iter_mut().for_each(|x| *x += 1);
        agree(ours, theirs);
        Ok(())
    }

    /// The names of sources in the other tables.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_sources_of_the_table_agree() -> Result<(), BuildError> {
        let (pool, v) = (two_threads()?, squares(1009));
        let (f, n) = (|x: usize| 2 * x, v.len());

        let ours = pool.on([]).map(f).collect::<Vec<_>>();
        agree(ours, rayon::iter::empty().map(f).collect());
        let ours = pool.on([7]).map(f).collect::<Vec<_>>();
        agree(ours, rayon::iter::once(7).map(f).collect());
        let ours = pool.on(0..n).map(|_| &7).collect::<Vec<_>>();
        agree(ours, rayon::iter::repeat_n(&7, n).collect());
        let boxed: Box<[usize]> = v.clone().into();
        agree(pool.on(&boxed[..]).sum::<usize>(), boxed.par_iter().sum());
        agree(pool.on(boxed).map(f).collect::<Vec<_>>(), v.par_iter().map(|x| f(*x)).collect());
        let w = squares(1013);
        let product = |(a, b): (&usize, &usize)| a * b;
        agree(pool.on((&v, &w)).map(product).sum::<usize>(), (&v, &w).into_par_iter().map(product).sum());

        let map: BTreeMap<usize, usize> = v.iter().copied().enumerate().collect();
        let ours = pool.on(map.iter().collect::<Vec<_>>()).map(product).collect::<Vec<_>>();
        agree(ours, map.par_iter().map(product).collect());
        let heap = BinaryHeap::from(v.clone());
        agree(pool.on(heap.as_slice()).sum::<usize>(), heap.par_iter().sum());
        let mut deque = VecDeque::from(v.clone());
        let theirs: usize = deque.par_iter().sum();
        agree(pool.on(deque.make_contiguous()).map(|x| *x).sum(), theirs);
        let (mut ours, mut theirs) = (v.clone(), v.clone());
        let drained = pool.on(source::drain(&mut ours, 10..100)).map(f).collect::<Vec<_>>();
        agree(drained, theirs.par_drain(10..100).map(f).collect());
        agree(ours, theirs);

        let text = "a line\nanother one\n\nthe last";
        let ours = pool.on(text.as_bytes()).copied().map(usize::from).sum::<usize>();
        agree(ours, text.par_bytes().map(usize::from).sum());
        let ours = pool.on(text.lines().collect::<Vec<_>>()).map(str::len).collect::<Vec<_>>();
        agree(ours, text.par_lines().map(str::len).collect());
        let ours = pool.on(text.chars().collect::<Vec<_>>()).map(char::is_alphabetic).collect::<Vec<_>>();
        agree(ours, text.par_chars().map(char::is_alphabetic).collect());
        Ok(())
    }

    /// The names for pieces of slices.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_pieces_of_the_table_agree() -> Result<(), BuildError> {
        let (pool, mut v) = (two_threads()?, squares(1009));
        let sum = |piece: &[usize]| piece.iter().sum::<usize>();
        let n = v.len();
        agree(pool.on(&v).chunks(7).map(sum).collect::<Vec<_>>(), v.par_chunks(7).map(sum).collect());
        for size in [7, n, n + 1, n + 2] {
            let ours = pool.on(&v).windows(size).map(sum).collect::<Vec<_>>();
            agree(ours, v.par_windows(size).map(sum).collect());
        }
        let ours = pool.on(v.rchunks(7).collect::<Vec<_>>()).map(sum).collect::<Vec<_>>();
        agree(ours, v.par_rchunks(7).map(sum).collect());
        let theirs = v.par_rchunks_exact(9);
        agree(&v[..v.len() % 9], theirs.remainder());
        let ours = pool.on(&v[v.len() % 9..]).chunks(9).rev().map(sum).collect::<Vec<_>>();
        agree(ours, theirs.map(sum).collect());
        let reversed = |piece: &mut [usize]| piece.reverse();
        let mut theirs = v.clone();
        theirs.par_chunks_mut(11).for_each(reversed);
        pool.on(&mut v).chunks(11).for_each(reversed);
        assert_eq!(v, theirs);
        theirs.par_rchunks_mut(7).for_each(reversed);
        pool.on(v.rchunks_mut(7).collect::<Vec<_>>()).for_each(reversed);
        assert_eq!(v, theirs);
        theirs.par_rchunks_exact_mut(9).for_each(reversed);
        let left = v.len() % 9;
        pool.on(&mut v[left..]).chunks(9).for_each(reversed);
        assert_eq!(v, theirs);
        let theirs = v.par_chunks_exact(9);
        agree(pool.on(&v).chunks_exact(9).map(sum).collect::<Vec<_>>(), theirs.clone().map(sum).collect());
        let (chunks, rest) = source::chunks_exact(&v, 9);
        agree(rest, theirs.remainder());
        agree(pool.on(chunks).map(sum).collect::<Vec<_>>(), theirs.map(sum).collect());
        let of_three = |window: &[usize; 3]| window[0] * window[2];
        let ours = pool.on(&v).windows(3).map(|w| of_three(<&[usize; 3]>::try_from(w).expect("three")));
        agree(ours.collect::<Vec<_>>(), v.par_array_windows().map(of_three).collect());
        let rises = |a: &usize, b: &usize| a <= b;
        let ours = pool.on(&v).chunk_by(rises).map(sum).collect::<Vec<_>>();
        agree(ours, v.par_chunk_by(rises).map(sum).collect());
        let odd = |x: &usize| x % 2 == 1;
        let ours = pool.on(v.split(odd).collect::<Vec<_>>()).map(sum).collect::<Vec<_>>();
        agree(ours, v.par_split(odd).map(sum).collect());
        Ok(())
    }

    /// The names of stages.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_stages_of_the_table_agree() -> Result<(), BuildError> {
        let (pool, v, w) = (two_threads()?, squares(1009), squares(1013));
        let p = |x: &usize| x % 100 == 99;

        agree(pool.on(&v).zip(&w).collect::<Vec<_>>(), v.par_iter().zip_eq(&w).collect());
        let ours = pool.on(&v).zip_shortest(&w[..99]).collect::<Vec<_>>();
        agree(ours, v.par_iter().zip(&w[..99]).collect());
        let ours = pool.on(&v).with(|_worker| 1).map(|(one, x)| x + *one).collect::<Vec<_>>();
        agree(ours, v.par_iter().map_init(|| 1, |one, x| x + *one).collect());
        let below = |x: &usize| 0..x % 8;
        let ours = pool.on(&v).flat_map(below).collect::<Vec<_>>();
        agree(ours, v.par_iter().flat_map_iter(below).collect());
        let ours = pool.on(&v).chunks(7).map(|chunk| chunk.iter().fold(1, |a, x| a + x)).collect::<Vec<_>>();
        agree(ours, v.par_iter().fold_chunks(7, || 1, |a, x| a + x).collect());
        let checked = |a: usize, x: &usize| if *x < 2000 { Ok(a + x) } else { Err("large") };
        let ours = pool.on(&v).try_fold(|| 0, checked, |a, b| a + b);
        let theirs = v.par_iter().try_fold(|| 0, checked).try_reduce(|| 0, |a, b| Ok(a + b));
        agree(ours, theirs);
        let ours = pool.on(v.clone()).map(|mut x| {
            x += 1;
            x
        });
        agree(ours.collect::<Vec<_>>(), v.clone().into_par_iter().update(|x| *x += 1).collect());
        let mut both = Vec::new();
        pool.on(&v).collect_into(&mut both);
        pool.on(&w).collect_into(&mut both);
        agree(both, v.par_iter().chain(&w).collect());
        let ours = pool.on(&v).zip(&w).flat_map(|(a, b)| [a, b]).collect::<Vec<_>>();
        agree(ours, v.par_iter().interleave(&w).collect());
        let mut ours = pool.on(&v).flat_map(|x| [x, &1]).collect::<Vec<_>>();
        ours.pop();
        agree(ours, v.par_iter().intersperse(&1).collect());
        let ours = pool.on(&v).enumerate().filter_map(|(i, x)| p(x).then_some(i)).collect::<Vec<_>>();
        agree(ours, v.par_iter().positions(p).collect());
        let is_small = |x: &usize| *x < 900;
        let n = pool.on(&v).position(|x| !is_small(x)).unwrap_or(v.len());
        let ours = pool.on(&v).take(n).copied().collect::<Vec<_>>();
        agree(ours, v.iter().copied().take_while(is_small).collect());
        let ours = pool.on(&v).skip(n).copied().collect::<Vec<_>>();
        agree(ours, v.iter().copied().skip_while(is_small).collect());
        Ok(())
    }

    /// The names of ends.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_ends_of_the_table_agree() -> Result<(), BuildError> {
        let (pool, v, w) = (two_threads()?, squares(1009), squares(1013));
        let p = |x: &usize| x % 100 == 99;
        let half = |x: &usize| (*x > 500).then_some(x / 2);
        let add = |a: usize, b: usize| a + b;

        agree(pool.on(&v).copied().reduce(add), v.par_iter().copied().reduce_with(add));
        agree(pool.on(&v).copied().reduce(add).unwrap_or(0), v.par_iter().copied().reduce(|| 0, add));
        let (init, step) = (|| 0, |sum, x: &usize| sum + x);
        agree(pool.on(&v).fold(init, step, add), v.par_iter().fold(init, step).reduce(init, add));
        for limit in [1000, 2000] {
            let checked = |x: &usize| if *x < limit { Ok(*x) } else { Err("large") };
            let theirs = v.par_iter().map(checked).try_reduce_with(|a, b| Ok(a + b));
            agree(pool.on(&v).map(checked).try_reduce(add), theirs.transpose());
        }
        agree(pool.on(&v).find(|x| p(x)), v.par_iter().find_first(|x| p(x)));
        agree(pool.on(&v).rev().find(|x| p(x)), v.par_iter().find_last(|x| p(x)));
        agree(pool.on(&v).position(p), v.par_iter().position_first(p));
        let from_the_end = pool.on(&v).rev().position(p);
        agree(from_the_end.map(|i| v.len() - 1 - i), v.par_iter().position_last(p));
        agree(pool.on(&v).find_map(half), v.par_iter().find_map_first(half));
        agree(pool.on(&v).rev().find_map(half), v.par_iter().find_map_last(half));

        let (mut ours, mut theirs) = (vec![None], vec![None]);
        ours.clear();
        pool.on(&v).map(half).collect_into(&mut ours);
        v.par_iter().map(half).collect_into_vec(&mut theirs);
        agree(ours, theirs);
        let (mut ours, mut theirs) = (HashSet::new(), HashSet::new());
        ours.extend(pool.map_collect(&v, half));
        theirs.par_extend(v.par_iter().map(half));
        agree(ours, theirs);
        let parts = |x: &usize| (x / 2, x % 2);
        let (mut ours, mut theirs) = ((vec![0; v.len()], vec![0; v.len()]), (Vec::new(), Vec::new()));
        pool.on((&v, &mut ours.0, &mut ours.1)).for_each(|(x, a, b)| (*a, *b) = parts(x));
        v.par_iter().map(parts).unzip_into_vecs(&mut theirs.0, &mut theirs.1);
        agree(ours, theirs);
        for other in [&v, &w] {
            agree(!pool.on(&v).eq(other), v.par_iter().ne(other));
            agree(pool.on(&v).cmp(other).is_lt(), v.par_iter().lt(other));
            agree(pool.on(&v).cmp(other).is_ge(), v.par_iter().ge(other));
            let pairs = pool.on(&v).zip_shortest(other);
            let ours = pairs.map(|(a, b)| a.partial_cmp(b)).find(|order| *order != Some(Equal));
            agree(ours.unwrap_or(Some(Equal)), v.par_iter().partial_cmp(other));
        }
        let (mut ours, mut theirs) = (v.clone(), v.clone());
        pool.sort_by_key(&mut ours, |x| x % 7);
        theirs.par_sort_by_key(|x| x % 7);
        agree(ours, theirs);
        Ok(())
    }
}
