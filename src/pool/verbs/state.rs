//! The states that the closures of a loop keep between items. There are four kinds: no state; a
//! state that each worker makes for one loop; a state that each worker keeps for many loops; a
//! state for each block of items.

use std::{fmt, sync::PoisonError};

use crossbeam_utils::CachePadded;

use crate::sync::{Mutex, MutexGuard, lock};

/// The source of the states of a loop. Sealed.
pub trait State: sealed::Sealed + Sync {
    /// Whether each block of items has a state of its own.
    #[doc(hidden)]
    const BY_BLOCK: bool = false;
    /// Whether each item meets the same state in every run of the loop. If each worker has a state,
    /// an item may meet any of these states.
    #[doc(hidden)]
    const MAY_REPRODUCE: bool = Self::BY_BLOCK;

    /// The type of the state. The closures of a loop receive an exclusive reference to the state.
    type Worker;
    /// The type of a closure's argument for an item `T`: [`Given`] for each lifetime.
    #[doc(hidden)]
    type With<T>: ?Sized + for<'a> Lends<'a>;
    /// The type in which a worker holds its state.
    #[doc(hidden)]
    type Held<'s>
    where
        Self: 's;

    /// Makes or borrows the state of worker `me`. Called once per worker and loop, again after a
    /// panic has dropped the state, and each time that the worker comes back to a list that grows.
    #[doc(hidden)]
    fn hold(&self, me: usize) -> Self::Held<'_>;

    /// The state that the worker holds.
    #[doc(hidden)]
    fn get<'h>(held: &'h mut Self::Held<'_>) -> &'h mut Self::Worker;

    /// The argument of a closure: the item, together with the state if there is one.
    #[doc(hidden)]
    fn give<T>(state: &mut Self::Worker, item: T) -> Given<'_, Self, T>;

    /// Begins the block with this number.
    #[doc(hidden)]
    #[inline(always)]
    fn begin_block(&self, _held: &mut Self::Held<'_>, _block: usize) {}

    /// The number of workers that can have a state.
    #[doc(hidden)]
    fn most(&self) -> usize {
        usize::MAX
    }
}

/// The argument of a closure for an item `T` in a loop with states `M`: the item alone if `M` is
/// [`Stateless`], otherwise `(&mut state, item)`.
pub type Given<'a, M, T> = <<M as State>::With<T> as Lends<'a>>::Out;

/// A type that depends on a lifetime. The trait objects `dyn for<'a> Lends<'a, Out = ..>` stand for
/// such types; no value of these trait objects is ever made. (A generic associated type with a
/// lifetime would not do: a closure that takes a state with any lifetime would then require a state
/// that lives for `'static`.)
#[doc(hidden)]
pub trait Lends<'a> {
    /// The type.
    type Out;
}

/// The closures of the loop have no state.
#[derive(Clone, Copy, Debug)]
pub struct Stateless;

impl State for Stateless {
    const MAY_REPRODUCE: bool = true;

    type Worker = ();
    type With<T> = dyn for<'a> Lends<'a, Out = T>;
    type Held<'s> = ();

    #[inline(always)]
    fn hold(&self, _: usize) {}

    #[inline(always)]
    fn get(held: &mut ()) -> &mut () {
        held
    }

    #[inline(always)]
    fn give<T>((): &mut (), item: T) -> T {
        item
    }
}

/// The part of [`State`] for states that closures receive: a closure receives the pair of the state
/// and the item.
macro_rules! gives_pairs {
    () => {
        type Worker = W;
        type With<T> = dyn for<'a> Lends<'a, Out = (&'a mut W, T)>;

        #[inline(always)]
        fn give<T>(state: &mut W, item: T) -> (&mut W, T) {
            (state, item)
        }
    };
}

/// Declares a source of states that a closure makes.
macro_rules! made {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[doc(hidden)]
        #[derive(Clone, Copy)]
        pub struct $name<F>(pub(crate) F);

        impl<F> fmt::Debug for $name<F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

made! {
    /// A state that each worker makes before its first item of the loop and drops after its last
    /// item. See [`On::with`](crate::On::with).
    Fresh
}
made! {
    /// A state for each block of items, made before the first item of the block and dropped after
    /// the last item. See [`On::with_block`](crate::On::with_block).
    PerBlock
}

impl<W, F: Fn(usize) -> W + Sync> State for Fresh<F> {
    gives_pairs!();
    type Held<'s>
        = W
    where
        Self: 's;

    #[inline(always)]
    fn hold(&self, me: usize) -> W {
        (self.0)(me)
    }

    #[inline(always)]
    fn get(held: &mut W) -> &mut W {
        held
    }
}

impl<W, F: Fn(usize) -> W + Sync> State for PerBlock<F> {
    const BY_BLOCK: bool = true;

    gives_pairs!();
    type Held<'s>
        = Option<W>
    where
        Self: 's;

    #[inline(always)]
    fn hold(&self, _: usize) -> Option<W> {
        None
    }

    #[inline(always)]
    fn get(held: &mut Option<W>) -> &mut W {
        held.as_mut().expect("a block has begun")
    }

    #[inline(always)]
    fn begin_block(&self, held: &mut Option<W>, block: usize) {
        drop(held.take()); // before `make` is called, so that a worker has one state at any time
        *held = Some((self.0)(block));
    }
}

/// A state for each worker of a pool. The states are kept for any number of loops. See
/// [`On::with_kept`](crate::On::with_kept).
///
/// Made by [`Pool::per_worker`](crate::Pool::per_worker). The number of states limits the number of
/// workers of a loop with these states. The states lie in different cache lines.
///
/// ```
/// let pool = rangesteal::Pool::new()?;
/// let mut seen = pool.per_worker(|_worker| Vec::new());
/// for _round in 0..3 {
///     pool.on(0..100).with_kept(&mut seen).for_each(|(seen, i)| seen.push(i));
/// }
/// let all: usize = seen.iter_mut().map(|seen| seen.len()).sum();
/// assert_eq!(all, 300);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
pub struct PerWorker<W>(Box<[CachePadded<Mutex<W>>]>);

/// Makes a state for each of the workers `0..workers`. (If this were a private function of
/// `PerWorker`, the compiler would propose it to users.)
pub(crate) fn per_worker<W>(workers: usize, make: impl FnMut(usize) -> W) -> PerWorker<W> {
    PerWorker((0..workers).map(make).map(|state| CachePadded::new(Mutex::new(state))).collect())
}

impl<W> PerWorker<W> {
    /// References to the states, in the order of the workers.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::builder().num_threads(2).build()?;
    /// let mut sums = pool.per_worker(|_| 0);
    /// sums.iter_mut().for_each(|sum| *sum += 1);
    /// assert_eq!(sums.into_vec(), [1, 1]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut W> {
        self.0.iter_mut().map(|state| state.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// The states, in the order of the workers. For a reduction after all loops.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut sums = pool.per_worker(|_| 0);
    /// pool.on(0..5).with_kept(&mut sums).for_each(|(sum, i)| *sum += i);
    /// assert_eq!(sums.into_vec().into_iter().sum::<usize>(), 10);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn into_vec(self) -> Vec<W> {
        let own = |state: CachePadded<Mutex<W>>| state.into_inner().into_inner();
        self.0.into_iter().map(|state| own(state).unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

impl<W> fmt::Debug for PerWorker<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerWorker").field("workers", &self.0.len()).finish_non_exhaustive()
    }
}

/// States that outlive the loop. See [`On::with_kept`](crate::On::with_kept).
#[doc(hidden)]
#[derive(Debug)]
pub struct Kept<'a, W>(pub(crate) &'a PerWorker<W>);

impl<W: Send> State for Kept<'_, W> {
    gives_pairs!();
    type Held<'s>
        = MutexGuard<'s, W>
    where
        Self: 's;

    /// Never waits for the lock: only one loop borrows the states, and a worker returns its state
    /// before the worker borrows the state again.
    fn hold(&self, me: usize) -> MutexGuard<'_, W> {
        lock(&self.0.0[me])
    }

    fn get<'h>(held: &'h mut MutexGuard<'_, W>) -> &'h mut W {
        held
    }

    fn most(&self) -> usize {
        self.0.0.len()
    }
}

pub(super) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Stateless {}
    impl<F> Sealed for super::Fresh<F> {}
    impl<W> Sealed for super::Kept<'_, W> {}
    impl<F> Sealed for super::PerBlock<F> {}
}
