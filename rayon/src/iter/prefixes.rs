//! Iterators that may end before their base: the loop over the base stops early.

use std::{
    mem,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use rangesteal::{options::Stateless, source::Chain};

use super::{End, Gather, Gathered, ParallelIterator, shown};
use crate::pool::{Seat, current};

/// The results of one block of items. When this value is dropped, it adds its results to the list
/// of all blocks.
struct Block<'o, R> {
    number: usize,
    made: Vec<R>,
    to: &'o Mutex<Vec<(usize, Vec<R>)>>,
    _seat: Seat,
}

impl<R> Drop for Block<'_, R> {
    fn drop(&mut self) {
        let made = (self.number, mem::take(&mut self.made));
        self.to.lock().unwrap_or_else(PoisonError::into_inner).push(made);
    }
}

/// Collects the `Some` results of a closure, in order, until the closure returns `None`.
struct Until<F> {
    f: F,
    /// Whether to drop the results of items behind the first `None`. Other workers may have made
    /// such results.
    is_prefix: bool,
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync> End<T> for Until<F> {
    type Out = Vec<R>;

    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(self, chain: C) -> Vec<R> {
        let (pool, to) = (current(), Mutex::new(Vec::new()));
        let begin = |number| Block { number, made: Vec::new(), to: &to, _seat: Seat::take(&pool, 0) };
        let ended = pool.on(chain).with_block(begin).try_for_each(|(block, item)| match (self.f)(item) {
            Some(made) => {
                block.made.push(made);
                Ok(())
            }
            None => Err(block.number),
        });
        let mut blocks = to.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let (Err(last), true) = (ended, self.is_prefix) {
            blocks.retain(|(number, _)| *number <= last);
        }
        blocks.sort_unstable_by_key(|(number, _)| *number);
        blocks.into_iter().flat_map(|(_, made)| made).collect()
    }
}

/// The values of the items before the first `None`.
#[doc(hidden)]
#[derive(Clone)]
pub struct SomeOf<I>(pub(super) I);
shown!(SomeOf<I>);

/// See [`ParallelIterator::while_some`].
pub type WhileSome<I> = Gathered<SomeOf<I>>;

impl<T: Send, I: ParallelIterator<Item = Option<T>>> Gather for SomeOf<I> {
    type Item = T;

    fn gather(self) -> Vec<T> {
        self.0.run(Until { f: |item| item, is_prefix: true })
    }
}

/// Items for which a closure returns true, until the closure returns false.
#[doc(hidden)]
#[derive(Clone)]
pub struct TakenWhile<I, P>(pub(super) I, pub(super) P);
shown!(TakenWhile<I, P>);

/// See [`ParallelIterator::take_any_while`].
pub type TakeAnyWhile<I, P> = Gathered<TakenWhile<I, P>>;

impl<I: ParallelIterator, P: Fn(&I::Item) -> bool + Sync + Send> Gather for TakenWhile<I, P> {
    type Item = I::Item;

    fn gather(self) -> Vec<I::Item> {
        let Self(base, test) = self;
        base.run(Until { f: |item| Some(item).filter(&test), is_prefix: false })
    }
}

/// Any items, up to a number.
#[doc(hidden)]
#[derive(Clone)]
pub struct SomeItems<I>(pub(super) I, pub(super) usize);
shown!(SomeItems<I>);

/// See [`ParallelIterator::take_any`].
pub type TakeAny<I> = Gathered<SomeItems<I>>;

impl<I: ParallelIterator> Gather for SomeItems<I> {
    type Item = I::Item;

    fn gather(self) -> Vec<I::Item> {
        let left = AtomicUsize::new(self.1);
        let take =
            |item| left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok().then_some(item);
        self.0.run(Until { f: take, is_prefix: false })
    }
}
