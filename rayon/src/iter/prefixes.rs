//! Iterators that end before their base does: the loop over the base stops early.

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

/// What is made of the items of one block, until it is handed in.
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

/// What a closure makes of the items, in order, until it makes nothing.
struct Until<F> {
    f: F,
    /// Whether only what comes before that item is taken: otherwise also what others have made.
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

/// What is in the items before the first that has nothing.
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

/// Items of which a closure is true, until it is false of one.
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

/// So many items.
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
