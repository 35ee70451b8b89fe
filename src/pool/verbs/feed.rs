//! The work list of a loop over a list that grows; the [`Feed`], with which closures add items; and
//! the hot loop that folds the items.

#![allow(unsafe_code)] // takes an item from a deque that is not empty
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{fmt, marker::PhantomData, time::Duration};

use crate::{
    clock::{Instant, Moment, nanos},
    pool::{
        engine::{
            accumulator::Accumulate,
            ending::{StopAt, discard},
            executor::Executor,
            handles::Watch,
            work_list::{GrowWorker, WorkList},
            worker_log::WorkerLog,
        },
        policy::{
            back_off,
            grain::DEAR_NS,
            pace::{LARGE_BLOCK, SMALL_BLOCK, STRETCH},
            plain::CHECKED_AFTER,
            prices::TOO_SHORT_TO_TIME_NS,
        },
        supply::{
            deque::{Deque, Deques, OwnerEnd},
            worker_counts::WorkerCounts,
        },
    },
    sync::{AtomicU64, AtomicUsize, Mutex, Ordering, lock},
};

/// The items that have been added and not yet folded: one deque per worker.
pub(crate) struct List<'e, T> {
    deques: Deques<T>,
    executor: &'e Executor,
    watch: Watch<'e>,
    /// In nanoseconds: the time for which the calling thread works alone. Relaxed: only the calling
    /// thread writes this limit, and only while it works alone.
    limit: AtomicU64,
    /// In items: a worker folds this many items before its first reading of the clock. Relaxed: a
    /// hint.
    first: AtomicUsize,
    /// The arena in which the loop is shared. Relaxed: written before the loop is published.
    arena: AtomicUsize,
    /// When to call back workers that have left the loop.
    calls: Mutex<Calls>,
}

/// In items. Three limits have this value: a worker keeps at most this many items from thieves; a
/// worker folds at most this many items between two checks while another worker lacks work; a
/// chain, in which each item adds the next item, never shows this many items to thieves.
const KEPT: usize = 2 * SMALL_BLOCK;
/// In items: a worker folds at most this many items between two checks, since any item may take
/// longer than all items before it.
const ITEMS_A_LOOK_AT_MOST: usize = KEPT * LARGE_BLOCK;

/// When to call back workers that have left the loop.
#[derive(Debug, Default)]
struct Calls {
    /// When a worker was last called back, or last left the loop.
    last: Option<Instant>,
    /// In nanoseconds: for this time after `last`, a worker is called back only if many items can
    /// be stolen.
    pause: f32,
}

impl<'e, T> List<'e, T> {
    /// An empty list. The calling thread works alone for a few microseconds, unless
    /// [`until`](WorkList::until) sets another limit before it begins.
    pub(crate) fn new(executor: &'e Executor, watch: Watch<'e>) -> Self {
        let limit = if executor.workers > 1 { TOO_SHORT_TO_TIME_NS as u64 } else { u64::MAX };
        let deques = Deques::new();
        watch.begin_with(deques.worker_counts());
        Self {
            deques,
            executor,
            watch,
            limit: AtomicU64::new(limit),
            first: AtomicUsize::new(CHECKED_AFTER),
            arena: AtomicUsize::new(0),
            calls: Mutex::new(Calls::default()),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_and_show(&self, deque: &Deque<T>, end: OwnerEnd<T>, item: T) -> OwnerEnd<T> {
        let end = deque.push_and_show(end, item);
        self.call_back_for(deque);
        end
    }

    #[inline(never)]
    fn claim(&self, deque: &Deque<T>, end: OwnerEnd<T>) -> OwnerEnd<T> {
        let end = deque.claim(end);
        self.call_back_for(deque);
        end
    }

    /// If the deque shows items to steal, calls back a worker that has left the loop.
    fn call_back_for(&self, deque: &Deque<T>) {
        if self.deques.is_missed() && deque.shown() > 0 {
            self.call_back(deque.shown());
        }
    }

    /// Calls back a worker that has left the loop, if the pause after the last call is over, or if
    /// many items are shown. (A chain, in which each item adds the next item, never shows many.)
    #[cold]
    #[inline(never)]
    fn call_back(&self, shown: usize) {
        let now = Instant::now();
        let mut calls = lock(&self.calls);
        if shown < KEPT && calls.last.is_some_and(|last| nanos(now - last) < calls.pause) {
            return;
        }
        calls.last = Some(now);
        drop(calls);
        if self.deques.worker_counts().come_back() {
            self.executor.threads.barrier.call_back(self.arena.load(Ordering::Relaxed));
        }
    }
}

impl<T> Drop for List<'_, T> {
    /// Drops the items that were not folded because the loop was stopped.
    #[inline(never)]
    fn drop(&mut self) {
        self.watch.end_with(self.deques.worker_counts());
        self.deques.left().for_each(discard);
    }
}

impl<T: Send> WorkList for List<'_, T> {
    fn worker_counts(&self) -> &WorkerCounts {
        self.deques.worker_counts()
    }

    fn share(&self, workers: usize, arena: usize) {
        self.until(None);
        self.arena.store(arena, Ordering::Relaxed);
        self.deques.share(workers, 0); // show all items until they are known to be cheap
    }

    fn until(&self, limit: Option<Duration>) {
        let limit = limit.and_then(|limit| u64::try_from(limit.as_nanos()).ok());
        self.limit.store(limit.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.first.store(1, Ordering::Relaxed);
    }

    fn is_dry(&self, me: usize) -> bool {
        self.deques.of(me).is_empty()
    }

    fn shown(&self, worker: usize) -> usize {
        self.deques.of(worker).shown()
    }

    fn try_steal(&self, me: usize, victim: usize) -> usize {
        let own = self.deques.of(me);
        let stolen = own.try_steal(self.deques.of(victim));
        self.call_back_for(own); // there may be enough stolen items for another worker
        stolen
    }

    fn try_leave(&self, worked: Duration) -> bool {
        let help = self.executor.prices.help(false);
        let mut calls = lock(&self.calls);
        calls.pause = back_off::pause_after(calls.pause, worked, help);
        calls.last = Some(Instant::now());
        drop(calls);
        self.deques.go()
    }

    fn folded(&self, me: usize) -> usize {
        self.deques.of(me).take_count()
    }

    fn run_worker(
        &self,
        worker: GrowWorker<'_>,
        acc: &mut dyn Accumulate,
        worker_log: &mut WorkerLog<'_>,
    ) -> Result<(), StopAt> {
        worker.run(acc, worker_log)
    }
}

/// Adds items to the list over which a loop runs: see [`Pool::grow`](crate::Pool::grow). A loop's
/// closure receives a `&Feed` with each item.
///
/// A `Feed` can be neither sent to another thread nor shared with another thread. Each worker folds
/// the items that it has added, the newest first, unless another worker steals them. All writes
/// made before an item is added are visible to the closure that folds the item.
///
/// A function that adds items has the signature `fn visit(node: Node, feed: &Feed<'_, Node>)`. A
/// closure that is bound to a variable must name the type:
/// `|node: Node, feed: &Feed<'_, Node>| ..`.
///
/// ```compile_fail,E0277
/// # let pool = rangesteal::Pool::new()?;
/// pool.grow([3]).for_each(|item, feed| {
///     std::thread::scope(|scope| { scope.spawn(|| feed.push(item)); }); // nor in a loop in here
/// });
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
pub struct Feed<'a, T> {
    list: &'a List<'a, T>,
    deque: &'a Deque<T>,
    end: OwnerEnd<T>,
    here: PhantomData<*mut ()>,
}

impl<T> fmt::Debug for Feed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl<T> Feed<'_, T> {
    /// Adds one item to the list, in about the time of [`Vec::push`]. Other workers may fold the
    /// item while the closure is still running. If the loop has a single seed, items added by this
    /// seed are shared only when the seed is done: see [`Grow`](crate::Grow).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let leaves = pool.grow([20]).fold_unordered(
    ///     || 0,
    ///     |leaves, depth, feed| {
    ///         if depth == 0 {
    ///             return leaves + 1;
    ///         }
    ///         feed.push(depth - 1);
    ///         feed.push(depth - 1);
    ///         leaves
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(leaves, 1 << 20);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn push(&self, item: T) {
        let Self { list, deque, end, .. } = self;
        end.push(item, |end, item| list.push_and_show(deque, end, item));
    }

    /// Adds items to the list. These items are folded in the order given, before all items that
    /// were added earlier. So a closure that adds the parts of a structure in memory order visits
    /// the structure in memory order. If a call adds more than 16 cheap items, their order may
    /// differ, since thieves may already have access to the first of these items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let below = |n: u32| (1..=2).map(move |i| 2 * n + i).filter(|child| *child < 1000);
    /// let nodes = pool.grow([0]).fold_unordered(
    ///     || 0,
    ///     |nodes, n, feed| {
    ///         feed.extend(below(n));
    ///         nodes + 1
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(nodes, 1000);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn extend(&self, items: impl IntoIterator<Item = T>) {
        let mut items = items.into_iter();
        let Some(first) = items.next() else { return };
        // The first two items stay in registers: storing and loading them would take longer than
        // the rest of the push.
        let second = items.next();
        let third = second.is_some().then(|| items.next()).flatten();
        if third.is_none() {
            if let Some(second) = second {
                self.push(second);
            }
            return self.push(first);
        }
        if self.deque.shows_all() {
            let others = second.into_iter().chain(third).chain(items).collect();
            return self.push_backward(first, others);
        }
        let mut count = 1;
        self.push(first);
        second.into_iter().chain(third).chain(items).for_each(|item| {
            self.push(item);
            count += 1;
        });
        self.end.reverse(count);
    }

    /// Pushes `others` from the last to the first, and then `first`. Called if the worker's items
    /// are expensive, or while another worker lacks work. The worker then shows each pushed item to
    /// thieves at once, so pushed items can no longer be reordered.
    #[cold]
    #[inline(never)]
    fn push_backward(&self, first: T, others: Vec<T>) {
        others.into_iter().rev().chain([first]).for_each(|item| self.push(item));
    }

    /// Pushes the seeds from the last to the first. Takes `self` by value: if the address of a
    /// `Feed` escaped, the compiler could not keep the owner end in registers in the hot loop.
    #[cold]
    #[inline(never)]
    fn with_seeds(self, seeds: &mut impl DoubleEndedIterator<Item = T>) -> Self {
        seeds.rev().for_each(|seed| self.push(seed));
        self
    }
}

impl<T> Drop for Feed<'_, T> {
    /// Stores the owner end in the deque. This also happens after a panic.
    #[inline(always)]
    fn drop(&mut self) {
        self.deque.store_end(&self.end);
    }
}

/// A worker that folds a list that grows, and the times of its checks.
pub(crate) struct ListFolder<'a, T> {
    list: &'a List<'a, T>,
    me: usize,
    /// When the worker began, and when it last read the clock.
    begun: Instant,
    clock: Instant,
    /// The time-stamp counter at the last reading of the clock; `None` before the first reading.
    moment: Option<Moment>,
    /// In items: `chunk` is the number of items between two checks, and `stretch` the number of
    /// items between two readings of the clock. `left` is the number of items of the stretch that
    /// are not yet folded.
    chunk: usize,
    stretch: usize,
    left: usize,
}

impl<'a, T> ListFolder<'a, T> {
    /// For worker `me`. Called on that worker's thread.
    pub(crate) fn new(list: &'a List<'_, T>, me: usize) -> Self {
        let (now, first) = (Instant::now(), list.first.load(Ordering::Relaxed));
        Self { list, me, begun: now, clock: now, moment: None, chunk: first, stretch: first, left: first }
    }

    /// Folds the items in the worker's deque, the `seeds`, and all items that these add, except
    /// items that other workers steal.
    ///
    /// Returns early if the calling thread has worked alone for long enough, or the loop has
    /// stopped. The remaining items then stay in the list.
    ///
    /// This is the hot loop: each item costs about a push onto a `Vec`, a pop, and a load of one
    /// word that hardly ever changes.
    #[inline(always)]
    pub(crate) fn fold<A, Z>(
        &mut self,
        mut seeds: impl ExactSizeIterator<Item = T> + DoubleEndedIterator,
        mut acc: A,
        mut fold: impl FnMut(A, T, &Feed<'_, T>) -> Result<A, Z>,
    ) -> Result<A, Z> {
        let list = self.list;
        let (deque, counts) = (list.deques.of(self.me), list.deques.worker_counts());
        if seeds.len() == 0 {
            self.begin(Instant::now()); // time has passed since the last fold
        }
        let mut feed = Feed { list, deque, end: deque.load(), here: PhantomData };
        loop {
            let mut left = self.left; // in a register
            let is_dry = loop {
                if !feed.end.has_item(|end| list.claim(deque, end)) {
                    let Some(seed) = seeds.next() else { break true };
                    feed.push(seed);
                    continue; // a thief may take the seed first
                }
                // SAFETY: `has_item` has found an item.
                match fold(acc, unsafe { feed.end.take() }, &feed) {
                    Ok(folded) => acc = folded,
                    Err(found) => {
                        deque.count(self.left - left + 1);
                        return Err(found);
                    }
                }
                left -= 1;
                if left == 0 || !counts.is_quiet() {
                    break false;
                }
            };
            deque.count(self.left - left);
            self.left = left;
            if is_dry {
                return Ok(acc);
            }
            let (end, stops) = self.look(deque, feed.end.copy());
            feed.end.set(&end);
            if seeds.len() > 0 && (stops || !counts.is_quiet()) {
                feed = feed.with_seeds(&mut seeds); // thieves can take seeds from the deque
            }
            if stops {
                return Ok(acc);
            }
        }
    }

    /// Begins a stretch at `now`.
    fn begin(&mut self, now: Instant) {
        (self.clock, self.moment) = (now, Some(Moment::now()));
        (self.stretch, self.left) = (self.chunk, self.chunk);
    }

    /// Checks whether other workers lack work and whether the loop must stop, and reads the clock.
    /// Returns the owner end, and whether the worker must stop and leave the remaining items in the
    /// list.
    #[inline(never)]
    fn look(&mut self, deque: &Deque<T>, end: OwnerEnd<T>) -> (OwnerEnd<T>, bool) {
        let Self { list, chunk, stretch, left, .. } = *self;
        let counts = list.deques.worker_counts();
        if !counts.is_closed() {
            if left > 0 {
                self.left = left.min(KEPT); // another worker lacks work
                self.stretch -= left - self.left;
                return (deque.keep(end, 0), false);
            }
            if chunk == ITEMS_A_LOOK_AT_MOST
                && counts.is_quiet()
                && self.moment.is_some_and(|moment| !Moment::now().is_long_after(moment, 1e3))
            {
                (self.stretch, self.left) = (stretch + chunk, chunk);
                return (end, false);
            }
        }
        let now = Instant::now();
        let each = nanos(now - self.clock) / (stretch - left) as f32;
        self.chunk = ((nanos(STRETCH) / each) as usize).clamp(1, ITEMS_A_LOOK_AT_MOST);
        self.begin(now);
        if list.watch.is_cancelled() {
            counts.close();
        }
        let limit = Duration::from_nanos(list.limit.load(Ordering::Relaxed));
        let stops = counts.is_closed() || now - self.begun >= limit;
        if !deque.is_shared() {
            return (end, stops);
        }
        list.executor.check_cpu(now);
        let keeps = if each > DEAR_NS || !counts.is_quiet() {
            0
        } else if counts.has_gone() {
            1
        } else {
            SMALL_BLOCK
        };
        let end = deque.keep(end, keeps);
        list.call_back_for(deque);
        (end, stops)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::iter;

    use super::{super::merge::tests::executor, *};

    #[test]
    fn seeds_that_are_not_folded_in_time_are_left_in_the_list() {
        let executor = executor(2);
        let mut list = List::new(&executor, Watch::default());
        list.until(Some(Duration::ZERO)); // the fold stops after the first item
        let mut folder = ListFolder::new(&list, 0);
        let folded = folder.fold(vec![10, 20, 30].into_iter(), Vec::new(), |mut folded, item, _feed| {
            folded.push(item);
            Ok::<_, ()>(folded)
        });
        assert_eq!(folded, Ok(vec![10]));
        let left: Vec<i32> = list.deques.left().collect();
        assert_eq!(left, [30, 20], "the next seed is taken first");
    }

    /// One case is a worker that keeps no items from thieves, since its items are expensive or
    /// another worker lacks work.
    #[test]
    fn what_is_added_at_once_is_folded_forward_however_much_is_shown() {
        for keeps in [0, 1, 2, 8] {
            let executor = executor(2);
            let list = List::new(&executor, Watch::default());
            list.deques.share(2, keeps);
            let deque = list.deques.of(0);
            let feed = Feed { list: &list, deque, end: deque.load(), here: PhantomData };
            feed.push(9);
            feed.extend(0..5);
            let folded: Vec<i32> = iter::from_fn(|| feed.end.pop(deque)).collect();
            let wanted = if keeps == 2 { vec![2, 3, 4, 1, 0, 9] } else { vec![0, 1, 2, 3, 4, 9] };
            assert_eq!(folded, wanted, "{keeps}");
        }
    }
}
