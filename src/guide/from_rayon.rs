//! Coming from rayon: what is called what here, what differs, and when to stay.
//!
//! In [rayon](https://docs.rs/rayon) a parallel iterator is put together piece by piece. Here a
//! loop is one call: what to run over, how to map and how to reduce. So a chain becomes the body of
//! a closure.
//!
//! ```
//! use rangesteal::Pool;
//! use rayon::prelude::*;
//!
//! let words = ["a", "parallel", "loop"];
//! let pool = Pool::new()?;
//!
//! let theirs: usize = words.par_iter().map(|word| word.len()).filter(|len| *len > 1).sum();
//! let ours = pool.fold_reduce(
//!     &words,
//!     || 0,
//!     |sum, word| if word.len() > 1 { sum + word.len() } else { sum },
//!     |a, b| a + b,
//! );
//! assert_eq!(ours, theirs);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # What is called what
//! `v` is a slice, a `Vec` or an array.
//!
//! | rayon | here |
//! |---|---|
//! | `v.par_iter().map(f).reduce_with(op)` | `pool.map_reduce(&v, f, op)` |
//! | `v.par_iter().map(f).reduce(id, op)` | `pool.map_reduce(&v, f, op).unwrap_or_else(id)` |
//! | `.map(f).sum()`, `.filter(p).count()` | `pool.on(&v).map(f).sum()`, `pool.on(&v).filter(p).count()` |
//! | `.map(f).min()`, `.max()` | `pool.map_reduce(&v, f, \|a, b\| a.min(b))`, `a.max(b)` |
//! | `.min_by(c)`, `.max_by(c)`, `.min_by_key(k)`, `.max_by_key(k)` | `pool.on(&v).min_by(c)` and so on |
//! | `.fold(init, f).reduce(init, op)` | `pool.fold_reduce(&v, init, f, op)` |
//! | `.filter(p).collect()` | `pool.on(&v).filter(p).collect::<Vec<_>>()`; of copies `pool.on(&v).copied().filter(p).collect::<Vec<_>>()` |
//! | `.filter_map(f).collect()`, `.flat_map_iter(f).collect()` | `pool.on(&v).filter_map(f).collect::<Vec<_>>()`, `pool.on(&v).flat_map(f).collect::<Vec<_>>()` |
//! | `.copied()`, `.partition(p)` | `pool.on(&v).copied()`, `pool.on(&v).partition(p)` |
//! | `v.par_iter().for_each(f)` | `pool.for_each(&v, f)` |
//! | `v.par_iter_mut().for_each(f)` | `pool.for_each_mut(&mut v, f)` |
//! | `.map(f).collect::<Vec<_>>()` | `pool.map_collect(&v, f)` |
//! | `.map(f).collect_into_vec(&mut out)` | `pool.map_into(&v, &mut out, f)`; `out` must have the right length |
//! | `.map(f).unzip()` | `pool.on(&v).map(f).unzip()` |
//! | `.map(f).collect::<Result<Vec<_>, _>>()` | `pool.on(&v).map(f).collect::<Result<Vec<_>, _>>()` |
//! | `.enumerate()` | `pool.on(&v).enumerate()` |
//! | `a.par_iter().zip(&b)` | `pool.on(&a).zip(&b)`; panics if lengths differ, as `zip_eq` |
//! | `v.par_chunks(n)`, `v.par_chunks_mut(n)` | `pool.on(&v).chunks(n)`, `pool.on(&mut v).chunks(n)` |
//! | `v.par_windows(n)` | `pool.on(&v).windows(n)` |
//! | `v.into_par_iter()` | `pool.on(v)` |
//! | `(0..n).into_par_iter()` | `pool.on(0..n)`; indices are `usize` |
//! | `.any(p)`, `.all(p)`, `.find_any(p)`, `.find(p)`, `.position(p)` | `pool.any(&v, p)` and so on |
//! | `.find_map_first(f)` | `pool.on(&v).try_for_each(\|x\| f(x).map_or(Ok(()), Err)).err()` |
//! | `.try_for_each(f)` | `pool.on(&v).try_for_each(f)` |
//! | `.map(f).try_reduce_with(op)` | `pool.on(&v).map(f).try_reduce(op)`; `op` itself cannot fail |
//! | `.for_each_init(init, f)`, `.map_init(init, f)` | `pool.on(&v).with(\|_worker\| init()).for_each(f)` and so on |
//! | `.map_init(rng, f)` with random numbers | `pool.on(&v).with_block(\|block\| rng(block)).map(f).collect::<Vec<_>>()`: the same in each run |
//! | `.for_each_with(x, f)`, `.map_with(x, f)` | `pool.on(&v).with(\|_worker\| x.clone()).for_each(f)` |
//! | `.with_min_len(n)`, `.with_max_len(n)` | nothing; [`grain(n)`](crate::On::grain) where blocks must be of a certain size |
//! | `v.par_sort()`, `par_sort_by`, `par_sort_by_key` | `pool.sort(&mut v)`, `sort_by`, `sort_by_key`; `sort_unstable` and so on likewise |
//! | `ThreadPoolBuilder::new().num_threads(n).build()?` | `Pool::builder().num_threads(n).build()?` |
//! | `pool.install(\|\| ..)` | call the loops of that pool |
//! | `RAYON_NUM_THREADS` | `RANGESTEAL_NUM_THREADS` |
//!
//! All other names are [below](#every-name), with what is not here.
//!
//! Closures of `find_*` and the like are given `&T`, not `&&T`.
//!
//! Errors: it is always the first that comes out.
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
//!     pool.on(&words).map(|word| word.parse().map_err(|_| *word)).collect::<Result<Vec<_>, _>>();
//! assert_eq!(ours, Err("x"));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Scratch memory. rayon makes a new state whenever it splits the work; here each call makes one
//! per worker:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use rayon::prelude::*;
//!
//! let words = ["stealing", "range"];
//! let sorted = |letters: &mut Vec<char>, word: &&str| {
//!     letters.clear();
//!     letters.extend(word.chars());
//!     letters.sort_unstable();
//!     letters.iter().collect::<String>()
//! };
//! let theirs: Vec<_> = words.par_iter().map_init(Vec::new, sorted).collect();
//! let ours = pool.on(&words).with(|_worker| Vec::new()).map(sorted).collect::<Vec<_>>();
//! assert_eq!(ours, theirs);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! rayon's functions use its global pool. Here that has a name: a program with one pool passes
//! `&pool` along, and a library uses [`Pool::global()`](crate::Pool::global).
//!
//! ```
//! use rangesteal::Pool;
//!
//! assert_eq!(Pool::global().map_reduce(&[1, 2, 3], |x| x * x, |a, b| a + b), Some(14));
//! ```
//!
//! # What differs
//! All of this is said of loops over slices. A loop over a list that grows
//! ([`grow`](crate::Pool::grow)) has no order: any error, any panic, and the reduction must be
//! commutative.
//!
//! * **No identity in `map_reduce`.** It returns an `Option`, as `reduce_with` does. `fold_reduce`
//!   has `init`, whose value must be neutral: it is called once per run of neighbouring items, and
//!   at least once.
//! * **The same order, always.** Partial results are reduced in slice order, as in rayon, so it is
//!   enough that the reduction is associative. With [`reproducible`](crate::On::reproducible),
//!   floating-point results do not depend on threads and timing either; rayon does not offer that.
//! * **The first error.** If several items return `Err`, rayon returns any of them. Here it is the
//!   one with the lowest index, in every run.
//! * **The first panic.** A panic comes out of the call, as in rayon; of several panics, the one of
//!   the first item. A loop that ends with an `Err`, or with an item that `find_first` found, is
//!   not disturbed by a panic at a later item.
//! * **A nested loop runs alone.** A loop called inside another loop of the same pool is a plain
//!   loop on that worker, and so is a loop that is called while another thread's loop runs. In
//!   rayon such loops share the threads. Put the loop with many items outside, or build two pools.
//! * **Short loops.** No thread is woken for them, so there is no need for an `if v.len() > 1000`.
//!   `with_min_len` is not needed either: the pool measures what items cost and claims them one by
//!   one or in small blocks.
//! * **Uneven items.** Work is stolen down to the single item, so heavy items next to each other do
//!   not end up with one thread. There is no need to shuffle them, or for `with_max_len(1)`.
//! * **The calling thread works, too.** A pool of `n` has `n - 1` threads of its own. (In rayon a
//!   thread outside the pool waits.)
//! * **Threads are pinned** to CPUs of their own where the system allows it: see
//!   [`Pinning`](crate::Pinning). Two pools on all CPUs share them, and so does a rayon pool beside
//!   them.
//!
//! # When to stay with rayon
//! When recursive work goes on with the results of its parts (`join`; a search, or a count, is a
//! [list that grows](crate::Pool::grow)); when it comes from an iterator, a map or a channel; when
//! several loops should share the threads at the same time, or loops are nested and the inner ones
//! are the long ones; when a library should not bring threads of its own. Both can be used in one
//! program, as long as their loops run one after another: neither pool's threads spin for long when
//! they have nothing to do.
//!
//! # Every name
//! All that rayon has for parallel iterators, slices, strings and pools; a test takes the names
//! from the sources of the rayon that it is built with. *The same* is a method of that name behind
//! `pool.on(..)`. `Type::method` is a method of that type; the types of iterators are left out.
//!
//! What to run over:
//!
//! | rayon | here |
//! |---|---|
//! | `par_iter`, `IntoParallelRefIterator` | `pool.on(&v)` |
//! | `par_iter_mut`, `IntoParallelRefMutIterator` | `pool.on(&mut v)` |
//! | `into_par_iter`, `IntoParallelIterator` | `pool.on(v)`; for a type of yours implement [`IntoSource`](crate::source::IntoSource) |
//! | `iter`, `prelude`, `ParallelIterator`, `IndexedParallelIterator` | nothing to import; the traits are [`Source`](crate::source::Source) and [`Pieces`](crate::source::Pieces), the type is [`On`](crate::On) |
//! | `array`, `slice`, `vec` | `pool.on(..)` of slices, vectors, arrays; and boxed slices |
//! | `range` | `pool.on(a..b)`; other numbers than `usize` are computed in the closure |
//! | `range_inclusive` | `pool.on(a..b + 1)` |
//! | `option`, `result` | none: one item is no loop. To collect into them: [below](#some-recipes) |
//! | `collections` | collect the items first: `pool.on(map.iter().collect::<Vec<_>>())`, or `iter_mut`, or `into_iter` |
//! | `collections::btree_map`, `collections::btree_set`, `collections::hash_map`, `collections::hash_set`, `collections::linked_list` | likewise, as rayon does inside |
//! | `collections::binary_heap`, `collections::vec_deque` | `pool.on(heap.as_slice())`; `pool.on(deque.make_contiguous())`, or one loop for each of `deque.as_slices()` |
//! | `par_drain`, `ParallelDrainFull`, `ParallelDrainRange` | `pool.on(source::drain(&mut vec, range))`; of maps `pool.on(map.drain().collect::<Vec<_>>())` |
//! | `par_bridge`, `ParallelBridge` | `pool.on(iterator.collect::<Vec<_>>())`; what must not be collected needs a plain loop, or rayon |
//! | `iter::empty`, `iter::once` | `pool.on([])`, `pool.on([x])` |
//! | `iter::repeat`, `iter::repeat_n`, `iter::repeatn`, `Repeat::take`, `Repeat::zip` | `pool.on(0..n)`, or the other source alone; the closure borrows what is repeated |
//! | `iter::split` | none: work is divided between items. Make the pieces first, and run over them |
//! | `iter::walk_tree`, `iter::walk_tree_prefix`, `iter::walk_tree_postfix` | [`pool.grow([root])`](crate::Pool::grow), whose closure feeds the children; in no order, so `reduce` must be commutative. For one collect the nodes first |
//! | `Either` | none: call the loop in both branches of an `if` |
//!
//! What a loop does before its end. `f` and `p` stand for all that a chain does with an item:
//!
//! | rayon | here |
//! |---|---|
//! | `enumerate`, `copied`, `rev`, `skip`, `take`, `step_by` | the same |
//! | `zip_eq` | `pool.on(&a).zip(&b)` |
//! | `zip` | the same, but it panics if lengths differ: `take(n)` of the longer one; a tuple of three is `pool.on(&a).zip(&b).zip(&c)` |
//! | `chunks` | the same; pieces of a slice are slices, not vectors; not behind `copied`, `rev` and `step_by` |
//! | `cloned` | `copied`, or `.clone()` in the closure |
//! | `map` | the closure of the loop: `map_collect(f)`, `map_reduce(f, op)`, `sum_of(f)` and so on |
//! | `map_with`, `map_init` | `pool.on(&v).with(\|_worker\| init()).map(f).collect::<Vec<_>>()` and so on |
//! | `filter`, `filter_map` | `filter_collect(p)`, `filter_map_collect(f)`, `count_if(p)`; or an `if` in the closure of `fold_reduce` or `for_each` |
//! | `flat_map_iter`, `flatten_iter` | `flat_map_collect(f)`, `flat_map_collect(\|inner\| inner)` |
//! | `flat_map`, `flatten` | likewise; what comes of one item is made by one worker |
//! | `inspect`, `update` | a statement in the closure |
//! | `fold`, `fold_with` | `fold_reduce(init, f, op)`: partial results are reduced in the same call |
//! | `fold_chunks`, `fold_chunks_with` | `pool.on(&v).chunks(n).map(\|chunk\| chunk.iter().fold(init(), f)).collect::<Vec<_>>()` |
//! | `try_fold`, `try_fold_with` | `pool.on(&v).chunks(n).map(\|chunk\| chunk.iter().try_fold(init(), f)).try_reduce(op)` |
//! | `chain` | two loops; or one slice, made first: `pool.on([a, b].concat())` |
//! | `interleave`, `interleave_shortest` | `pool.on(&a).zip(&b).flat_map(\|(a, b)\| [a, b]).collect::<Vec<_>>()`, and what is left of the longer one |
//! | `intersperse` | `pool.on(&v).flat_map(\|x\| [x, &between]).collect::<Vec<_>>()`, then `pop` the last |
//! | `positions` | `pool.on(&v).enumerate().filter_map(\|(i, x)\| p(x).then_some(i)).collect::<Vec<_>>()` |
//! | `skip_any`, `take_any` | `skip(n)`, `take(n)` |
//! | `skip_any_while`, `take_any_while` | `let n = pool.on(&v).position(\|x\| !p(x)).unwrap_or(v.len())`, then `skip(n)`, `take(n)` |
//! | `while_some` | likewise, up to the first item of which `f` makes `None`; or `try_for_each` |
//! | `panic_fuse` | nothing: after a panic few items behind it are run, and all before it |
//! | `by_exponential_blocks` | nothing: `find_first`, `position_first`, `any` and `all` go from the front, all workers together |
//! | `by_uniform_blocks` | a plain loop around: `for block in v.chunks(n) { pool.for_each(block, &f) }` |
//! | `with_min_len`, `with_max_len` | nothing, or `grain(n)` |
//! | `len`, `opt_len` | `v.len()`; of any source [`count`](crate::source::Source::count) |
//!
//! How a loop ends:
//!
//! | rayon | here |
//! |---|---|
//! | `for_each`, `all`, `any`, `min_by`, `min_by_key`, `max_by`, `max_by_key` | the same |
//! | `find_any`, `find_first` | the same, of items that are `Copy`, as references are; closures are given the item itself |
//! | `position_first` | the same |
//! | `position_any` | `position_first(p)` |
//! | `find_last`, `position_last` | `pool.on(&v).rev().find(p)`; `position_first(p)` then counts from the end |
//! | `find_map_first`, `find_map_any` | `pool.on(&v).try_for_each(\|x\| f(x).map_or(Ok(()), Err)).err()` |
//! | `find_map_last` | `pool.on(&v).rev().try_for_each(\|x\| f(x).map_or(Ok(()), Err)).err()` |
//! | `partition` | the same, into two vectors |
//! | `partition_map` | `fold_reduce` with [two vectors](#some-recipes); or `filter_map_collect` twice |
//! | `try_for_each` | the same, of a `Result`; it is the first error that comes out |
//! | `for_each_with`, `for_each_init`, `try_for_each_with`, `try_for_each_init` | `pool.on(&v).with(\|_worker\| init()).for_each(f)` and so on |
//! | `count` | `v.len()`; behind `filter`, `count_if(p)` |
//! | `sum`, `product` | `sum_of(f)`, `pool.map_reduce(&v, f, \|a, b\| a * b).unwrap_or(1)` |
//! | `min`, `max` | `pool.on(&v).min_by(Ord::cmp)`, `max_by(Ord::cmp)` |
//! | `reduce`, `reduce_with` | `pool.map_reduce(&v, f, op).unwrap_or_else(id)`, `pool.map_reduce(&v, f, op)` |
//! | `try_reduce`, `try_reduce_with` | `pool.on(&v).map(f).try_reduce(op)`; `op` itself cannot fail |
//! | `collect`, `from_par_iter`, `FromParallelIterator` | `map_collect(f)`, `try_map_collect(f)`, `filter_collect(p)` and so on, all into a `Vec`; of that `into_iter().collect()` makes other collections |
//! | `collect_into_vec` | `pool.map_into(&v, &mut out, f)`; `out` must have the right length |
//! | `collect_vec_list` | `map_collect(f)`; nothing is moved after it was made |
//! | `unzip` | `unzip_collect(f)` |
//! | `unzip_into_vecs` | `pool.on(&v).zip(&mut a).zip(&mut b).for_each(\|((x, a), b)\| (*a, *b) = f(x))` |
//! | `par_extend`, `ParallelExtend` | `collection.extend(pool.map_collect(&v, f))` |
//! | `eq`, `ne` | `a.len() == b.len() && pool.on(&a).zip(&b).all(\|(a, b)\| a == b)` |
//! | `cmp`, `partial_cmp`, `lt`, `le`, `gt`, `ge` | find [the first pair that differs](#some-recipes), and compare that |
//! | `drive`, `drive_unindexed`, `with_producer` | none: sources cannot be written elsewhere, and loops only by means of those there are |
//!
//! Slices and strings. What is cut at places that must be found is cut first:
//!
//! | rayon | here |
//! |---|---|
//! | `ParallelSlice`, `ParallelSliceMut`, `as_parallel_slice`, `as_parallel_slice_mut` | nothing to import: `pool.on(..)` takes slices |
//! | `par_chunks`, `par_chunks_mut` | `pool.on(&v).chunks(n)`, `pool.on(&mut v).chunks(n)` |
//! | `par_chunks_exact`, `par_chunks_exact_mut` | `pool.on(&v).chunks_exact(n)`, `pool.on(&mut v).chunks_exact(n)` |
//! | `ChunksExact::remainder`, `ChunksExactMut::remainder`, `ChunksExactMut::into_remainder`, `ChunksExactMut::take_remainder` | `let (chunks, rest) = source::chunks_exact(&mut v, n)`, then `pool.on(chunks)` |
//! | `par_rchunks`, `par_rchunks_mut` | `pool.on(v.rchunks(n).collect::<Vec<_>>())`, `pool.on(v.rchunks_mut(n).collect::<Vec<_>>())` |
//! | `par_rchunks_exact`, `par_rchunks_exact_mut` | `pool.on(&v[v.len() % n..]).chunks(n).rev()`, `let left = v.len() % n`, then `pool.on(&mut v[left..])` and so on |
//! | `RChunksExact::remainder`, `RChunksExactMut::remainder`, `RChunksExactMut::into_remainder`, `RChunksExactMut::take_remainder` | `&v[..v.len() % n]` |
//! | `par_windows` | `pool.on(&v).windows(n)` |
//! | `par_array_windows` | `pool.on(&v).windows(N)`; `<&[T; N]>::try_from(window)` makes an array of one |
//! | `par_chunk_by`, `par_chunk_by_mut` | `pool.on(v.chunk_by(p).collect::<Vec<_>>())`, `v.chunk_by_mut(p)` |
//! | `par_split`, `par_split_inclusive`, `par_split_mut`, `par_split_inclusive_mut` | `pool.on(v.split(p).collect::<Vec<_>>())` and so on, of slices and strings alike |
//! | `par_sort`, `par_sort_by`, `par_sort_by_key` | `pool.sort(&mut v)`, `pool.sort_by(&mut v, c)`, `pool.sort_by_key(&mut v, k)` |
//! | `par_sort_by_cached_key` | `pool.sort_by_cached_key(&mut v, k)` |
//! | `par_sort_unstable`, `par_sort_unstable_by`, `par_sort_unstable_by_key` | `pool.sort_unstable(&mut v)`, `pool.sort_unstable_by(&mut v, c)`, `pool.sort_unstable_by_key(&mut v, k)`; on pools of more than four workers they take memory for as many items again |
//! | `str`, `string`, `ParallelString`, `as_parallel_string` | none: characters differ in length, so that there is no slice of them |
//! | `par_bytes` | `pool.on(text.as_bytes())` |
//! | `par_chars`, `par_char_indices`, `par_encode_utf16` | `pool.on(text.chars().collect::<Vec<_>>())` and so on; or run over lines |
//! | `par_lines`, `par_split_whitespace`, `par_split_ascii_whitespace`, `par_split_terminator`, `par_matches`, `par_match_indices` | `pool.on(text.lines().collect::<Vec<_>>())` and so on |
//!
//! Pools and free functions. Nothing runs behind a caller's back here: what there is, is loops.
//!
//! | rayon | here |
//! |---|---|
//! | `ThreadPool`, `ThreadPoolBuilder`, `ThreadPoolBuildError` | `Pool`, `PoolBuilder`, `BuildError` |
//! | `ThreadPool::new`, `ThreadPoolBuilder::new` | `Pool::new()?`, `Pool::builder()` |
//! | `ThreadPoolBuilder::build`, `ThreadPoolBuilder::stack_size`, `ThreadPoolBuilder::thread_name` | the same |
//! | `ThreadPoolBuilder::num_threads` | the same; leave it out instead of passing 0 |
//! | `ThreadPoolBuilder::build_scoped` | `Pool::builder().scope(\|pool\| ..)`: the threads have ended when it returns; they cannot be wrapped |
//! | `ThreadPoolBuilder::build_global` | the same; an error if the pool has been used before |
//! | `ThreadPoolBuilder::use_current_thread` | nothing: the calling thread is always one of the workers |
//! | `ThreadPoolBuilder::spawn_handler`, `ThreadPoolBuilder::start_handler`, `ThreadPoolBuilder::exit_handler`, `ThreadBuilder`, `ThreadBuilder::index`, `ThreadBuilder::name`, `ThreadBuilder::run`, `ThreadBuilder::stack_size` | none: the pool starts its threads itself. What a thread needs is made by `with` or `pool.per_worker(..)` |
//! | `ThreadPoolBuilder::panic_handler` | none: a panic comes out of the loop's call, wherever it happened |
//! | `ThreadPoolBuilder::breadth_first` | none: there are no tasks to be put in order |
//! | `ThreadPool::install` | nothing: call the loops of that pool |
//! | `ThreadPool::current_num_threads`, `rayon::current_num_threads` | `pool.num_threads()` |
//! | `ThreadPool::current_thread_index`, `rayon::current_thread_index` | the argument of the closure of `with` |
//! | `rayon::max_num_threads` | none: the most is 65,536, and one more is `BuildError::TooManyThreads` |
//! | `ThreadPool::broadcast`, `rayon::broadcast`, `ThreadPool::spawn_broadcast`, `rayon::spawn_broadcast`, `Scope::spawn_broadcast`, `ScopeFifo::spawn_broadcast`, `BroadcastContext`, `BroadcastContext::index`, `BroadcastContext::num_threads` | none: no item belongs to a certain worker, and not every worker comes to every loop |
//! | `ThreadPool::join`, `rayon::join`, `rayon::join_context`, `FnContext`, `FnContext::migrated` | for work that divides itself [`pool.grow([all])`](crate::Pool::grow): the parts are fed instead of joined, and what they make is reduced in no order; what goes on *after* both parts are done has no place there. A known number of jobs is [a loop](#some-recipes) |
//! | `ThreadPool::scope`, `ThreadPool::scope_fifo`, `ThreadPool::in_place_scope`, `ThreadPool::in_place_scope_fifo`, `rayon::scope`, `rayon::scope_fifo`, `rayon::in_place_scope`, `rayon::in_place_scope_fifo`, `Scope`, `Scope::spawn`, `ScopeFifo`, `ScopeFifo::spawn_fifo` | jobs that add others: [`pool.grow(jobs)`](crate::Pool::grow), where a job is an item; otherwise put them into a vector, and [run over it](#some-recipes). A job must not wait for another one; and after a panic those that have not begun are dropped, while rayon runs them |
//! | `ThreadPool::spawn`, `ThreadPool::spawn_fifo`, `rayon::spawn`, `rayon::spawn_fifo` | none: a loop is over when its call returns. `std::thread::spawn`, and a loop in there |
//! | `ThreadPool::yield_now`, `ThreadPool::yield_local`, `rayon::yield_now`, `rayon::yield_local`, `Yield`, `ThreadPool::current_thread_has_pending_tasks` | none: there are no tasks to run in between |
//! | `RAYON_NUM_THREADS`, `RAYON_RS_NUM_CPUS` | `RANGESTEAL_NUM_THREADS` |
//!
//! # Some recipes
//! To collect into an `Option`, make a `Result` of it; other collections are made of the `Vec`.
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use std::collections::HashMap;
//!
//! let words = ["1", "2", "x"];
//! let digits = |text: &str| text.parse::<u32>().ok();
//! let numbers = pool.on(&words).map(|word| digits(word).ok_or(())).collect::<Result<Vec<_>, _>>().ok();
//! assert_eq!(numbers, None);
//!
//! let lengths = pool.on(&words).map(|word| (*word, word.len())).collect::<Vec<_>>();
//! let lengths: HashMap<_, _> = lengths.into_iter().collect();
//! assert_eq!(lengths["x"], 1);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Two kinds of results, and the order of two slices, of which one may be the beginning of the
//! other:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let words = ["1", "x", "2"];
//! let (numbers, others) = pool.on(&words).fold(
//!     || (Vec::new(), Vec::new()),
//!     |(mut numbers, mut others), word| {
//!         match word.parse::<u32>() {
//!             Ok(number) => numbers.push(number),
//!             Err(_) => others.push(*word),
//!         }
//!         (numbers, others)
//!     },
//!     |mut a, mut b| {
//!         a.0.append(&mut b.0);
//!         a.1.append(&mut b.1);
//!         a
//!     });
//! assert_eq!((numbers, others), (vec![1, 2], vec!["x"]));
//!
//! let (a, b) = ([1, 5, 3], [1, 5]);
//! let both = a.len().min(b.len());
//! let differing = pool.on(&a[..both]).zip(&b[..both]).find(|&(a, b)| a != b);
//! let order = differing.map_or(a.len().cmp(&b.len()), |(a, b)| a.cmp(b));
//! assert_eq!(order, a[..].cmp(&b[..]));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Jobs of different kinds, and a tree, level by level:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let (mut a, mut b) = (0, String::new());
//! let jobs: Vec<Box<dyn FnOnce() + Send>> = vec![Box::new(|| a = 1), Box::new(|| b.push('b'))];
//! pool.on(jobs).for_each(|job| job());
//!
//! // Jobs that make others, as in a scope. (An `enum` is better if their kinds are known.)
//! use rangesteal::Feed;
//!
//! struct Job<'a>(Box<dyn FnOnce(&Feed<'_, Job<'a>>) + Send + 'a>);
//! let first = Job(Box::new(|feed| feed.push(Job(Box::new(|_| println!("the second job"))))));
//! pool.grow([first]).for_each(|Job(job), feed| job(feed));
//! assert_eq!((a, &b[..]), (1, "b"));
//!
//! struct Node {
//!     value: u32,
//!     children: Vec<Node>,
//! }
//!
//! let leaf = |value| Node { value, children: Vec::new() };
//! let branch = Node { value: 3, children: vec![leaf(4)] };
//! let root = Node { value: 1, children: vec![leaf(2), branch] };
//! let (mut level, mut sum) = (vec![&root], 0);
//! while !level.is_empty() {
//!     sum += pool.on(&level).map(|node| node.value).sum();
//!     level = pool.on(&level).flat_map(|node| &node.children).collect::<Vec<_>>();
//! }
//! assert_eq!(sum, 10);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # A library that returns something parallel to loop over
//! In rayon that is `fn points(&self) -> impl ParallelIterator<Item = &Point>`, or an
//! implementation of `IntoParallelIterator`. Here there are three ways. The first is to return a
//! source. The caller brings the pool, and has all the loops; with `&Shape` as a source, too:
//!
//! ```
//! use rangesteal::{Pool, source::{IntoSource, Pieces, Source}};
//!
//! struct Point(f64, f64);
//!
//! struct Shape {
//!     points: Vec<Point>,
//! }
//!
//! impl Shape {
//!     /// To loop over, `chunks` included.
//!     fn points(&self) -> impl Pieces<Item = &Point, Piece = &[Point]> {
//!         &self.points[..]
//!     }
//!
//!     fn indices(&self) -> impl Source<Item = usize> {
//!         0..self.points.len()
//!     }
//! }
//!
//! impl<'a> IntoSource for &'a Shape {
//!     type Source = &'a [Point];
//!
//!     fn into_source(self) -> &'a [Point] {
//!         &self.points
//!     }
//! }
//!
//! let pool = Pool::new()?;
//! let shape = Shape { points: vec![Point(0.0, 3.0), Point(4.0, 1.0)] };
//! assert_eq!(pool.on(shape.points()).map(|point| point.0).sum(), 4.0);
//! assert_eq!(pool.on(&shape).zip(shape.indices()).filter(|&(point, i)| point.1 > i as f64).count(), 1);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! The second is to return a loop that has been begun, [`On`](crate::On), with `zip`, `windows` or
//! options. The caller can add others, and calls the loop:
//!
//! ```
//! use rangesteal::{On, Pool, source::Source};
//!
//! struct Track {
//!     times: Vec<f64>,
//!     places: Vec<f64>,
//! }
//!
//! impl Track {
//!     fn samples<'a>(&'a self, pool: &'a Pool) -> On<'a, impl Source<Item = (&'a f64, &'a f64)>> {
//!         pool.on(&self.times).zip(&self.places)
//!     }
//! }
//!
//! let pool = Pool::new()?;
//! let track = Track { times: vec![0.0, 1.0], places: vec![5.0, 7.0] };
//! let furthest = track.samples(&pool).skip(1).map(|(_time, place)| *place).reduce(f64::max);
//! assert_eq!(furthest, Some(7.0));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Neither has room for a closure of the library: there is no source that maps or filters. If the
//! items must be computed, take the closures of the caller. With a fold all other loops can be
//! written:
//!
//! ```
//! use rangesteal::Pool;
//!
//! struct Squares(usize);
//!
//! impl Squares {
//!     fn for_each(&self, pool: &Pool, f: impl Fn(usize) + Sync) {
//!         pool.on(0..self.0).for_each(|i| f(i * i));
//!     }
//!
//!     fn fold_reduce<A: Send>(
//!         &self,
//!         pool: &Pool,
//!         init: impl Fn() -> A + Sync,
//!         fold: impl Fn(A, usize) -> A + Sync,
//!         reduce: impl Fn(A, A) -> A + Sync,
//!     ) -> A {
//!         pool.on(0..self.0).fold(init, |acc, i| fold(acc, i * i), reduce)
//!     }
//! }
//!
//! let pool = Pool::new()?;
//! Squares(3).for_each(&pool, |square| assert!(square <= 4));
//! assert_eq!(Squares(4).fold_reduce(&pool, || 0, |sum, square| sum + square, |a, b| a + b), 14);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Where a type must be written
//! As a rule a closure that is written in the call needs no types. One that has a name first may,
//! since the compiler looks at it before it knows the loop: for the argument of a search, or the
//! state of a worker, `|x: &u32|` and `|scratch: &mut String|`. Without them the compiler asks for
//! an annotation or says, as here, that the implementation of `Fn` is not general enough:
//!
//! ```compile_fail
//! # let pool = rangesteal::Pool::new()?;
//! let even = |x| x % 2 == 0;
//! assert!(pool.any(&[1, 2, 3], even));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let even = |x: &u32| x % 2 == 0;
//! assert!(pool.any(&[1, 2, 3], even));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! Results may borrow from the items:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! let names = vec![String::from("Ann Bell"), String::from("Cecil")];
//! let first = pool.map_collect(&names, |name| name.split(' ').next());
//! assert_eq!(first, [Some("Ann"), Some("Cecil")]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! An error that only `?` returns must be named, and so must an accumulator of which the first item
//! is all that tells the type:
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! use std::num::ParseIntError;
//!
//! let words = ["12", "7", "301"];
//! let checked = pool.on(&words).try_for_each(|word| {
//!     word.parse::<u32>()?;
//!     Ok::<(), ParseIntError>(())
//! });
//! assert_eq!(checked, Ok(()));
//!
//! let longest = pool.on(&words).fold(
//!     || None::<&&str>,
//!     |longest, word| longest.filter(|longest| longest.len() >= word.len()).or(Some(word)),
//!     |a, b| a.into_iter().chain(b).reduce(|a, b| if b.len() > a.len() { b } else { a }));
//! assert_eq!(longest, Some(&"301"));
//! # Ok::<(), rangesteal::BuildError>(())
//! ```

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};

    use rayon::prelude::*;

    use crate::{BuildError, Pool, source};

    /// What the table says is the same is the same.
    #[test]
    #[cfg_attr(miri, ignore = "too long: tests/verbs.rs has the same loops over fewer items")]
    fn the_rows_of_the_table_agree() -> Result<(), BuildError> {
        let pool = Pool::builder().num_threads(2).build()?;
        let v: Vec<usize> = (0..10_000).map(|i| i * i % 1009).collect();
        let n = v.len();
        let (f, add) = (|x: &usize| x + 1, |a: usize, b: usize| a + b);
        let p = |x: &usize| x % 100 == 99;

        assert_eq!(pool.map_reduce(&v, f, add), v.par_iter().map(f).reduce_with(add));
        assert_eq!(pool.map_reduce(&v, f, add).unwrap_or(0), v.par_iter().map(f).reduce(|| 0, add));
        assert_eq!(pool.map_reduce(&v, f, add), Some(v.par_iter().map(f).sum()));
        assert_eq!(pool.map_reduce(&v, f, usize::max), v.par_iter().map(f).max());
        assert_eq!(pool.on(&v).map(f).sum(), v.par_iter().map(f).sum());
        assert_eq!(pool.on(&v).filter(p).count(), v.par_iter().filter(|x| p(x)).count());
        let key = |x: &&usize| **x % 7;
        assert_eq!(pool.on(&v).min_by_key(key), v.par_iter().min_by_key(key));
        assert_eq!(pool.on(&v).max_by_key(key), v.par_iter().max_by_key(key));
        assert_eq!(pool.on(&v).min_by(Ord::cmp), v.par_iter().min_by(Ord::cmp));
        let fold = |sum, x: &usize| sum + x;
        assert_eq!(pool.fold_reduce(&v, || 0, fold, add), v.par_iter().fold(|| 0, fold).reduce(|| 0, add));

        let theirs: Vec<_> = v.par_iter().map(f).collect();
        assert_eq!(pool.map_collect(&v, f), theirs);
        let mut out = vec![0; n];
        pool.map_into(&v, &mut out, f);
        assert_eq!(out, theirs);
        pool.for_each_mut(&mut out, |x| *x -= 1);
        assert_eq!(out, v);
        assert_eq!(pool.on(&v).map(|x| (f(x), p(x))).unzip(), v.par_iter().map(|x| (f(x), p(x))).unzip());
        let theirs: Vec<usize> = v.par_iter().filter(|x| p(x)).copied().collect();
        assert_eq!(pool.on(&v).copied().filter(p).collect::<Vec<_>>(), theirs);
        assert_eq!(pool.on(&v).copied().partition(p), v.par_iter().copied().partition(p));
        let half = |x: &usize| (*x > 500).then_some(x / 2);
        assert_eq!(
            pool.on(&v).filter_map(half).collect::<Vec<_>>(),
            v.par_iter().filter_map(half).collect::<Vec<_>>()
        );
        let below = |x: &usize| 0..x % 8;
        assert_eq!(
            pool.on(&v).flat_map(below).collect::<Vec<_>>(),
            v.par_iter().flat_map_iter(below).collect::<Vec<_>>()
        );

        let largest = |pair: (usize, usize), other| pair.max(other);
        let ours = pool.on(&v).enumerate().map(|(i, x)| (*x, i)).reduce(largest);
        assert_eq!(ours, v.par_iter().enumerate().map(|(i, x)| (*x, i)).reduce_with(largest));
        let sum = |items: &[usize]| items.iter().sum();
        assert_eq!(
            pool.on(&v).chunks(7).map(sum).collect::<Vec<_>>(),
            v.par_chunks(7).map(sum).collect::<Vec<usize>>()
        );
        for size in [7, n, n + 1, n + 2] {
            let ours = pool.on(&v).windows(size).map(sum).collect::<Vec<_>>();
            assert_eq!(ours, v.par_windows(size).map(sum).collect::<Vec<usize>>());
        }

        assert_eq!(pool.any(&v, p), v.par_iter().any(p));
        assert_eq!(pool.all(&v, p), v.par_iter().all(p));
        assert_eq!(pool.find_any(&v, p).is_some(), v.par_iter().find_any(|&&x| p(x)).is_some());
        assert_eq!(pool.find(&v, p), v.par_iter().find(|&x| p(x)));
        assert_eq!(pool.position(&v, p), v.par_iter().position(p));
        let found = |x: &usize| p(x).then_some(x * 2);
        let ours = pool.on(&v).try_for_each(|x| found(x).map_or(Ok(()), Err)).err();
        assert_eq!(ours, v.par_iter().find_map_first(found));
        let checked = |x: &usize| if *x < 2000 { Ok(*x) } else { Err("large") };
        let theirs = v.par_iter().map(checked).try_reduce_with(|a, b| Ok(a + b)).transpose();
        assert_eq!(pool.on(&v).map(checked).try_reduce(add), theirs);
        let checked = |x: &usize| if *x < 1000 { Ok(*x) } else { Err("large") };
        assert_eq!(
            pool.on(&v).map(checked).collect::<Result<Vec<_>, _>>(),
            v.par_iter().map(checked).collect()
        );
        Ok(())
    }

    /// So are the recipes among the rows of all names: of sources.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_sources_of_the_table_agree() -> Result<(), BuildError> {
        let pool = Pool::builder().num_threads(2).build()?;
        let v: Vec<usize> = (0..10_003).map(|i| i * i % 1009).collect();
        let (f, n) = (|x: usize| 2 * x, v.len());

        assert_eq!(
            pool.on(v.clone()).map(f).collect::<Vec<_>>(),
            v.clone().into_par_iter().map(f).collect::<Vec<_>>()
        );
        assert_eq!(pool.on([]).map(f).collect::<Vec<_>>(), rayon::iter::empty().map(f).collect::<Vec<_>>());
        assert_eq!(pool.on([7]).map(f).collect::<Vec<_>>(), rayon::iter::once(7).map(f).collect::<Vec<_>>());
        let x = 7;
        let theirs: Vec<_> = rayon::iter::repeat_n(x, n).map(f).collect();
        assert_eq!(pool.on(0..n).map(|_| f(x)).collect::<Vec<_>>(), theirs);
        let boxed: Box<[usize]> = v.clone().into();
        assert_eq!(pool.on(&boxed[..]).map(|x| *x).sum(), boxed.par_iter().sum());
        assert_eq!(
            pool.on(boxed).map(f).collect::<Vec<_>>(),
            v.par_iter().map(|x| f(*x)).collect::<Vec<_>>()
        );
        assert_eq!(
            pool.on(3..9 + 1).map(f).collect::<Vec<_>>(),
            (3..=9).into_par_iter().map(f).collect::<Vec<_>>()
        );

        let map: BTreeMap<usize, usize> = v.iter().copied().enumerate().collect();
        let value = |(_, value): (&usize, &usize)| *value;
        let theirs: Vec<_> = map.par_iter().map(value).collect();
        assert_eq!(pool.on(map.iter().collect::<Vec<_>>()).map(value).collect::<Vec<_>>(), theirs);
        let heap = BinaryHeap::from(v.clone());
        assert_eq!(pool.on(heap.as_slice()).map(|x| *x).sum(), heap.par_iter().sum());
        let mut deque = VecDeque::from(v.clone());
        let theirs: usize = deque.par_iter().sum();
        let (front, back) = deque.as_slices();
        assert_eq!(pool.on(front).map(|x| *x).sum() + pool.on(back).map(|x| *x).sum(), theirs);
        assert_eq!(pool.on(deque.make_contiguous()).map(|x| *x).sum(), theirs);
        let (mut ours, mut theirs) = (v.clone(), v.clone());
        let drained = pool.on(source::drain(&mut ours, 10..100)).map(f).collect::<Vec<_>>();
        assert_eq!(drained, theirs.par_drain(10..100).map(f).collect::<Vec<_>>());
        assert_eq!(ours, theirs);

        let text = "a line\nanother one\n\nthe last";
        assert_eq!(
            pool.on(text.as_bytes()).copied().map(usize::from).sum(),
            text.par_bytes().map(usize::from).sum()
        );
        let ours = pool.on(text.lines().collect::<Vec<_>>()).map(str::len).collect::<Vec<_>>();
        assert_eq!(ours, text.par_lines().map(str::len).collect::<Vec<_>>());
        let ours = pool.on(text.chars().collect::<Vec<_>>()).map(char::is_alphabetic).collect::<Vec<_>>();
        assert_eq!(ours, text.par_chars().map(char::is_alphabetic).collect::<Vec<_>>());
        Ok(())
    }

    /// Of pieces of slices.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_pieces_of_the_table_agree() -> Result<(), BuildError> {
        let pool = Pool::builder().num_threads(2).build()?;
        let mut v: Vec<usize> = (0..10_003).map(|i| i * i % 1009).collect();
        let sum = |piece: &[usize]| piece.iter().sum::<usize>();
        let ours = pool.on(v.rchunks(7).collect::<Vec<_>>()).map(sum).collect::<Vec<_>>();
        assert_eq!(ours, v.par_rchunks(7).map(sum).collect::<Vec<_>>());
        let theirs = v.par_rchunks_exact(9);
        assert_eq!(&v[..v.len() % 9], theirs.remainder());
        let ours = pool.on(&v[v.len() % 9..]).chunks(9).rev().map(sum).collect::<Vec<_>>();
        assert_eq!(ours, theirs.map(sum).collect::<Vec<_>>());
        let reversed = |piece: &mut [usize]| piece.reverse();
        let mut theirs = v.clone();
        theirs.par_rchunks_mut(7).for_each(reversed);
        pool.on(v.rchunks_mut(7).collect::<Vec<_>>()).for_each(reversed);
        assert_eq!(v, theirs);
        theirs.par_rchunks_exact_mut(9).for_each(reversed);
        let left = v.len() % 9;
        pool.on(&mut v[left..]).chunks(9).for_each(reversed);
        assert_eq!(v, theirs);
        let theirs = v.par_chunks_exact(9);
        let (chunks, rest) = source::chunks_exact(&v, 9);
        assert_eq!(rest, theirs.remainder());
        assert_eq!(pool.on(chunks).map(sum).collect::<Vec<_>>(), theirs.map(sum).collect::<Vec<_>>());
        let of_three = |window: &[usize; 3]| window[0] * window[2];
        let ours =
            pool.on(&v).windows(3).map(|w| of_three(<&[usize; 3]>::try_from(w).unwrap())).collect::<Vec<_>>();
        assert_eq!(ours, v.par_array_windows().map(of_three).collect::<Vec<_>>());
        let rises = |a: &usize, b: &usize| a <= b;
        let ours = pool.on(v.chunk_by(rises).collect::<Vec<_>>()).map(sum).collect::<Vec<_>>();
        assert_eq!(ours, v.par_chunk_by(rises).map(sum).collect::<Vec<_>>());
        let odd = |x: &usize| x % 2 == 1;
        let ours = pool.on(v.split(odd).collect::<Vec<_>>()).map(sum).collect::<Vec<_>>();
        assert_eq!(ours, v.par_split(odd).map(sum).collect::<Vec<_>>());
        Ok(())
    }

    /// Of what comes between a source and the end of its loop.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_adaptors_of_the_table_agree() -> Result<(), BuildError> {
        let pool = Pool::builder().num_threads(2).build()?;
        let v: Vec<usize> = (0..10_003).map(|i| i * i % 1009).collect();
        let w: Vec<usize> = (0..10_003).map(|i| i * i % 1013).collect();
        let p = |x: &usize| x % 100 == 99;

        let ours = pool.on(&v).chunks(7).map(|chunk| chunk.iter().fold(1, |a, x| a + x)).collect::<Vec<_>>();
        assert_eq!(ours, v.par_iter().fold_chunks(7, || 1, |a, x| a + x).collect::<Vec<_>>());
        let checked = |a: usize, x: &usize| if *x < 2000 { Ok(a + x) } else { Err("large") };
        let add = |a, b| a + b;
        let ours = pool.on(&v).chunks(7).map(|chunk| chunk.iter().try_fold(0, checked)).try_reduce(add);
        let theirs = v.par_iter().try_fold(|| 0, checked).try_reduce_with(|a, b| Ok(a + b));
        assert_eq!(ours, theirs.transpose());
        let ours = pool.on([&v[..], &w[..]].concat()).map(|x| x).collect::<Vec<_>>();
        assert_eq!(ours, v.par_iter().chain(&w).copied().collect::<Vec<_>>());
        let ours = pool.on(&v).zip(&w).flat_map(|(a, b)| [a, b]).collect::<Vec<_>>();
        assert_eq!(ours, v.par_iter().interleave(&w).collect::<Vec<_>>());
        let mut ours = pool.on(&v).flat_map(|x| [x, &1]).collect::<Vec<_>>();
        ours.pop();
        assert_eq!(ours, v.par_iter().intersperse(&1).collect::<Vec<_>>());
        let ours = pool.on(&v).enumerate().filter_map(|(i, x)| p(x).then_some(i)).collect::<Vec<_>>();
        assert_eq!(ours, v.par_iter().positions(p).collect::<Vec<_>>());
        let nested = [vec![1, 2], vec![], vec![3]];
        let ours = pool.on(&nested).flat_map(|inner| inner).collect::<Vec<_>>();
        assert_eq!(ours, nested.par_iter().flatten().collect::<Vec<_>>());
        let ours = pool.on(&v).take(900).skip(100).rev().step_by(3).map(|x| *x).collect::<Vec<_>>();
        let theirs = v.par_iter().take(900).skip(100).rev().step_by(3);
        assert_eq!(ours, theirs.copied().collect::<Vec<_>>());
        let ours = pool.on(&v).zip(&w).zip(&v).map(|((a, b), c)| a * b + c).collect::<Vec<_>>();
        let theirs = (&v, &w, &v).into_par_iter().map(|(a, b, c)| a * b + c);
        assert_eq!(ours, theirs.collect::<Vec<_>>());
        let large = |x: &usize| *x >= 900;
        let begins = pool.on(&v).position(large).unwrap_or(v.len());
        assert_eq!(Some(begins), v.iter().position(large));
        let ours = pool.on(&v).take(begins).map(|x| *x).collect::<Vec<_>>();
        assert_eq!(ours, v.iter().copied().take_while(|x| !large(x)).collect::<Vec<_>>());
        Ok(())
    }

    /// Of ends.
    #[test]
    #[cfg_attr(miri, ignore = "too long")]
    fn the_ends_of_the_table_agree() -> Result<(), BuildError> {
        let pool = Pool::builder().num_threads(2).build()?;
        let v: Vec<usize> = (0..10_003).map(|i| i * i % 1009).collect();
        let other: Vec<usize> = (0..10_003).map(|i| i * i % 1013).collect();
        let p = |x: &usize| x % 100 == 99;
        let half = |x: &usize| (*x > 500).then_some(x / 2);

        assert_eq!(pool.on(&v).rev().find(p), v.par_iter().find_last(|x| p(x)));
        let from_the_end = pool.on(&v).rev().position(p);
        assert_eq!(from_the_end.map(|i| v.len() - 1 - i), v.par_iter().position_last(p));
        let ours = pool.on(&v).rev().try_for_each(|x| half(x).map_or(Ok(()), Err)).err();
        assert_eq!(ours, v.par_iter().find_map_last(half));
        let small = |x: &usize| x % 7 + 1;
        let theirs: usize = v[..9].par_iter().map(small).product();
        assert_eq!(pool.map_reduce(&v[..9], small, |a, b| a * b).unwrap_or(1), theirs);
        assert_eq!(pool.on(&v).max_by(Ord::cmp), v.par_iter().max());
        assert_eq!(pool.on(&v).min_by(Ord::cmp), v.par_iter().min());
        let parts = |x: &usize| (x / 2, x % 2);
        let ((mut a, mut b), mut theirs) = ((vec![0; v.len()], vec![0; v.len()]), (Vec::new(), Vec::new()));
        pool.on(&v).zip(&mut a).zip(&mut b).for_each(|((x, a), b)| (*a, *b) = parts(x));
        v.par_iter().map(parts).unzip_into_vecs(&mut theirs.0, &mut theirs.1);
        assert_eq!((a, b), theirs);
        let (mut ours, mut theirs) = (HashSet::new(), HashSet::new());
        ours.extend(pool.map_collect(&v, half));
        theirs.par_extend(v.par_iter().map(half));
        assert_eq!(ours, theirs);
        for other in [&v, &other] {
            let ours = v.len() == other.len() && pool.on(&v).zip(other).all(|(a, b)| a == b);
            assert_eq!(ours, v.par_iter().eq(other));
        }
        Ok(())
    }
}
