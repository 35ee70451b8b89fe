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
//! | `.map(f).sum()`, `.filter(p).count()` | `pool.on(&v).sum_of(f)`, `pool.on(&v).count_if(p)` |
//! | `.map(f).min()`, `.max()` | `pool.map_reduce(&v, f, \|a, b\| a.min(b))`, `a.max(b)` |
//! | `.min_by(c)`, `.max_by(c)`, `.min_by_key(k)`, `.max_by_key(k)` | `pool.on(&v).min_by(c)` and so on |
//! | `.fold(init, f).reduce(init, op)` | `pool.fold_reduce(&v, init, f, op)` |
//! | `.filter(p).collect()` | `pool.on(&v).filter_collect(p)`; of copies `pool.filter_collect(&v, p)` |
//! | `.filter_map(f).collect()`, `.flat_map_iter(f).collect()` | `pool.filter_map_collect(&v, f)`, `pool.flat_map_collect(&v, f)` |
//! | `.copied()`, `.partition(p)` | `pool.on(&v).copied()`, `pool.on(&v).partition(p)` |
//! | `v.par_iter().for_each(f)` | `pool.for_each(&v, f)` |
//! | `v.par_iter_mut().for_each(f)` | `pool.for_each_mut(&mut v, f)` |
//! | `.map(f).collect::<Vec<_>>()` | `pool.map_collect(&v, f)` |
//! | `.map(f).collect_into_vec(&mut out)` | `pool.map_into(&v, &mut out, f)`; `out` must have the right length |
//! | `.map(f).unzip()` | `pool.on(&v).unzip_collect(f)` |
//! | `.map(f).collect::<Result<Vec<_>, _>>()` | `pool.try_map_collect(&v, f)` |
//! | `.enumerate()` | `pool.on(&v).zip(0..v.len())` |
//! | `a.par_iter().zip(&b)` | `pool.on(&a).zip(&b)`; panics if lengths differ, as `zip_eq` |
//! | `v.par_chunks(n)`, `v.par_chunks_mut(n)` | `pool.on(&v).chunks(n)`, `pool.on(&mut v).chunks(n)` |
//! | `v.par_windows(n)` | `pool.on(&v).windows(n)` |
//! | `(0..n).into_par_iter()` | `pool.on(0..n)`; indices are `usize` |
//! | `.any(p)`, `.all(p)`, `.find_any(p)`, `.find_first(p)`, `.position_first(p)` | `pool.any(&v, p)` and so on |
//! | `.find_map_first(f)` | `pool.try_for_each(&v, \|x\| f(x).map_or(Ok(()), Err)).err()` |
//! | `.try_for_each(f)` | `pool.try_for_each(&v, f)` |
//! | `.map(f).try_reduce_with(op)` | `pool.try_map_reduce(&v, f, op)`; `op` itself cannot fail |
//! | `.for_each_init(init, f)`, `.map_init(init, f)` | `pool.on(&v).with(\|_worker\| init()).for_each(f)` and so on |
//! | `.for_each_with(x, f)`, `.map_with(x, f)` | `pool.on(&v).with(\|_worker\| x.clone()).for_each(f)` |
//! | `.with_min_len(n)`, `.with_max_len(n)` | nothing; [`grain(n)`](crate::On::grain) where blocks must be of a certain size |
//! | `v.par_sort()`, `par_sort_by`, `par_sort_by_key` | `pool.sort(&mut v)`, `sort_by`, `sort_by_key` |
//! | `ThreadPoolBuilder::new().num_threads(n).build()?` | `Pool::builder().num_threads(n).build()?` |
//! | `pool.install(\|\| ..)` | call the loops of that pool |
//! | `RAYON_NUM_THREADS` | `RANGESTEAL_NUM_THREADS` |
//! | `join`, `scope`, `spawn`, `par_bridge`, maps, sets, strings | none |
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
//!     pool.on(&words).try_map_collect(|word| word.parse().map_err(|_| *word));
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
//! let ours = pool.on(&words).with(|_worker| Vec::new()).map_collect(sorted);
//! assert_eq!(ours, theirs);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! There is no global pool. Pass `&pool` along, or keep one yourself:
//!
//! ```
//! use std::sync::LazyLock;
//! use rangesteal::Pool;
//!
//! static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new().expect("a pool"));
//!
//! assert_eq!(POOL.map_reduce(&[1, 2, 3], |x| x * x, |a, b| a + b), Some(14));
//! ```
//!
//! # What differs
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
//! When work is recursive (`join`); when it comes from an iterator, a map or a channel; when
//! several loops should share the threads at the same time, or loops are nested and the inner ones
//! are the long ones; when a library should not bring threads of its own. Both can be used in one
//! program, as long as their loops run one after another: neither pool's threads spin for long when
//! they have nothing to do.

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use rayon::prelude::*;

    use crate::{BuildError, Pool};

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
        assert_eq!(pool.on(&v).sum_of(f), v.par_iter().map(f).sum());
        assert_eq!(pool.on(&v).count_if(p), v.par_iter().filter(|x| p(x)).count());
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
        assert_eq!(pool.on(&v).unzip_collect(|x| (f(x), p(x))), v.par_iter().map(|x| (f(x), p(x))).unzip());
        let theirs: Vec<usize> = v.par_iter().filter(|x| p(x)).copied().collect();
        assert_eq!(pool.filter_collect(&v, p), theirs);
        assert_eq!(pool.on(&v).copied().partition(p), v.par_iter().copied().partition(p));
        let half = |x: &usize| (*x > 500).then_some(x / 2);
        assert_eq!(pool.filter_map_collect(&v, half), v.par_iter().filter_map(half).collect::<Vec<_>>());
        let below = |x: &usize| 0..x % 8;
        assert_eq!(pool.flat_map_collect(&v, below), v.par_iter().flat_map_iter(below).collect::<Vec<_>>());

        let largest = |pair: (usize, usize), other| pair.max(other);
        let ours = pool.on(&v).zip(0..n).map_reduce(|(x, i)| (*x, i), largest);
        assert_eq!(ours, v.par_iter().enumerate().map(|(i, x)| (*x, i)).reduce_with(largest));
        let sum = |items: &[usize]| items.iter().sum();
        assert_eq!(pool.on(&v).chunks(7).map_collect(sum), v.par_chunks(7).map(sum).collect::<Vec<usize>>());
        for size in [7, n, n + 1, n + 2] {
            let ours = pool.on(&v).windows(size).map_collect(sum);
            assert_eq!(ours, v.par_windows(size).map(sum).collect::<Vec<usize>>());
        }

        assert_eq!(pool.any(&v, p), v.par_iter().any(p));
        assert_eq!(pool.all(&v, p), v.par_iter().all(p));
        assert_eq!(pool.find_any(&v, p).is_some(), v.par_iter().find_any(|x| p(x)).is_some());
        assert_eq!(pool.find_first(&v, p), v.par_iter().find_first(|x| p(x)));
        assert_eq!(pool.position_first(&v, p), v.par_iter().position_first(p));
        let found = |x: &usize| p(x).then_some(x * 2);
        let ours = pool.try_for_each(&v, |x| found(x).map_or(Ok(()), Err)).err();
        assert_eq!(ours, v.par_iter().find_map_first(found));
        let checked = |x: &usize| if *x < 2000 { Ok(*x) } else { Err("large") };
        let theirs = v.par_iter().map(checked).try_reduce_with(|a, b| Ok(a + b)).transpose();
        assert_eq!(pool.try_map_reduce(&v, checked, add), theirs);
        let checked = |x: &usize| if *x < 1000 { Ok(*x) } else { Err("large") };
        assert_eq!(pool.try_map_collect(&v, checked), v.par_iter().map(checked).collect());
        Ok(())
    }
}
