//! Parallel iterators over the items of serial iterators. Each thread pulls one item after the
//! other under a lock, so the closures of the loop may feed the iterator, and the iterator need not
//! end.

use std::{
    iter::{self, Fuse},
    mem,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use super::{
    ParallelIterator,
    plumbing::{Folder, Reducer, UnindexedConsumer, this_thread},
    shown,
};
use crate::{
    pool::{Seat, Shared, on_its_host},
    scope::{Scope, in_scope},
    sync::lock,
};

/// See [`ParallelBridge::par_bridge`].
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct IterBridge<I>(I);
shown!(IterBridge<I>);

/// A serial iterator that can be converted into a parallel one.
pub trait ParallelBridge: Sized {
    /// ```
    /// # use rangesteal_rayon as rayon;
    /// use rayon::prelude::*;
    ///
    /// let lengths: usize = "one two".split(' ').par_bridge().map(str::len).sum();
    /// assert_eq!(lengths, 6);
    /// ```
    ///
    /// Converts this serial iterator into a parallel one. The threads take its items in turn, one
    /// by one, so the order of the items is lost. The closures of the loop may make the items that
    /// the iterator returns later.
    fn par_bridge(self) -> IterBridge<Self>;
}

impl<I: Iterator<Item: Send> + Send> ParallelBridge for I {
    fn par_bridge(self) -> IterBridge<I> {
        IterBridge(self)
    }
}

impl<I: Iterator<Item: Send> + Send> ParallelIterator for IterBridge<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        on_its_host!(|pool| pull_all(pool, self.0, consumer))
    }
}

/// How long the calling thread pulls items alone: to call another one takes some microseconds. If
/// the first item takes longer, the watch of scopes calls it.
const ALONE: Duration = Duration::from_micros(20);

/// A loop over the items of a serial iterator.
struct Pulled<I, C, R> {
    /// Poisoned if the iterator has panicked: then no items are left.
    items: Mutex<Fuse<I>>,
    /// The thread that is inside the iterator, or 0. Relaxed: to a thread only its own number
    /// matters.
    inside: AtomicUsize,
    /// Whether the loop has panicked on a thread. Relaxed: a thread that sees it late pulls one
    /// more item.
    has_panicked: AtomicBool,
    /// The consumer of which each thread splits off its part.
    consumer: Mutex<C>,
    results: Mutex<Vec<R>>,
}

impl<I: Iterator, C: UnindexedConsumer<I::Item>> Pulled<I, C, C::Result> {
    /// Folds items into a result until none is left. Calls `begin` whenever an item begins.
    fn pull(&self, mut begin: impl FnMut()) {
        let panics = Panics(&self.has_panicked);
        let part = lock(&self.consumer).split_off_left();
        let is_full = part.full();
        let next = || {
            let item = self.next();
            if item.is_some() {
                begin();
            }
            item
        };
        let folder = part.into_folder();
        let folder = if is_full { folder } else { folder.consume_iter(iter::from_fn(next)) };
        let result = folder.complete();
        lock(&self.results).push(result);
        mem::forget(panics);
    }

    /// The next item. None is left for a thread that is inside the iterator already: the iterator
    /// has run a task of this loop, by `yield_now`.
    fn next(&self) -> Option<I::Item> {
        let here = this_thread();
        if self.inside.load(Relaxed) == here || self.has_panicked.load(Relaxed) {
            return None;
        }
        let mut items = self.items.lock().ok()?;
        self.inside.store(here, Relaxed);
        let item = items.next();
        self.inside.store(0, Relaxed);
        item
    }

    /// The result of all threads.
    fn end(self) -> C::Result {
        let consumer = self.consumer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let results = self.results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let merge = |a, b| consumer.to_reducer().reduce(a, b);
        let all = results.into_iter().reduce(merge);
        all.unwrap_or_else(|| consumer.into_folder().complete())
    }
}

/// Notes a panic of the loop on a thread, which drops this value.
struct Panics<'a>(&'a AtomicBool);

impl Drop for Panics<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Gives the items to a consumer.
fn pull_all<I, C>(pool: &Shared, items: I, consumer: C) -> C::Result
where
    I: Iterator<Item: Send> + Send,
    C: UnindexedConsumer<I::Item>,
{
    // An iterator of one item needs no helper.
    let most = items.size_hint().1.map_or(usize::MAX, |most| most.saturating_sub(1));
    let helpers = most.min(pool.num_threads() - 1);
    let all = Pulled {
        items: Mutex::new(items.fuse()),
        inside: AtomicUsize::new(0),
        has_panicked: AtomicBool::new(false),
        consumer: Mutex::new(consumer),
        results: Mutex::new(Vec::new()),
    };
    if helpers == 0 {
        let _seat = Seat::take(pool);
        all.pull(|| ());
        return all.end();
    }
    in_scope(pool, |scope| {
        let mut begun = None;
        all.pull(|| match &mut begun {
            None => {
                scope.spawn(|scope| help(scope, &all, helpers - 1));
                begun = Some(Instant::now());
            }
            Some(since) => {
                if since.elapsed() > ALONE && pool.idle() > 0 {
                    scope.call_helper();
                    *since = Instant::now();
                }
            }
        });
    });
    all.end()
}

/// Pulls items on a helper, which calls the next one first, if `more` may come.
fn help<'scope, I, C>(scope: &Scope<'scope>, all: &'scope Pulled<I, C, C::Result>, more: usize)
where
    I: Iterator<Item: Send> + Send,
    C: UnindexedConsumer<I::Item>,
{
    if more > 0 {
        scope.spawn(move |scope| help(scope, all, more - 1));
        scope.call_helper();
    }
    all.pull(|| ());
}
