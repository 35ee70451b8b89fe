//! A list that grows while a loop runs over it, and the hand by which closures feed it.

#![allow(unsafe_code)] // takes an item from a deque that has one
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{fmt, marker::PhantomData, time::Duration};

use crate::{
    clock::{Instant, Moment, nanos},
    pool::{
        call::{ending::discard, executor::Executor, handles::Watch, work_list::WorkList},
        policy::{
            back_off,
            grain::{DEAR_NS, LARGE_BLOCK, SMALL_BLOCK, STRETCH},
            launch::CHECKED_AFTER,
            prices::TOO_SHORT_TO_TIME_NS,
        },
        protocol::{
            deque::{Deque, Deques, OwnerEnd},
            searching::Searching,
        },
    },
    sync::{AtomicU64, AtomicUsize, Mutex, Ordering, lock},
};

/// The items that a loop has made, and that are not folded yet.
pub(crate) struct List<'e, T> {
    deques: Deques<T>,
    executor: &'e Executor,
    watch: Watch<'e>,
    /// In nanoseconds: how long the calling thread is to go on alone. Relaxed: it writes that
    /// itself.
    limit: AtomicU64,
    /// How many items a worker folds before its first look at the clock. Relaxed: it is a hint.
    first: AtomicUsize,
    /// The arena in which the loop is shared. Relaxed: written before the loop is published.
    arena: AtomicUsize,
    /// When workers that have gone are called back.
    calls: Mutex<Calls>,
}

/// In items: how many each worker keeps to itself at most; how many there are at most between two
/// looks while somebody lacks work; and how many a chain of items never shows.
const KEPT: usize = 2 * SMALL_BLOCK;
/// In items: how many there are from one look to the next at most. Any may take longer than all
/// before it.
const ITEMS_A_LOOK_AT_MOST: usize = KEPT * LARGE_BLOCK;

/// When workers that have gone are called back.
#[derive(Debug, Default)]
struct Calls {
    /// When the last worker was called back, or has gone.
    last: Option<Instant>,
    /// In nanoseconds: how long nobody is called back after that.
    pause: f32,
}

impl<'e, T> List<'e, T> {
    /// An empty list. The calling thread goes on alone for a few microseconds, if nothing else is
    /// said before it begins.
    pub(crate) fn new(executor: &'e Executor, watch: Watch<'e>) -> Self {
        let limit = if executor.workers() > 1 { TOO_SHORT_TO_TIME_NS as u64 } else { u64::MAX };
        let deques = Deques::new();
        watch.begin_with(deques.hunger());
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

    fn hunger(&self) -> &Searching {
        self.deques.hunger()
    }

    #[cold]
    #[inline(never)]
    fn push_and_show(&self, deque: &Deque<T>, hand: OwnerEnd<T>, item: T) -> OwnerEnd<T> {
        let hand = deque.push_and_show(hand, item);
        self.call_back_for(deque);
        hand
    }

    #[inline(never)]
    fn claim(&self, deque: &Deque<T>, hand: OwnerEnd<T>) -> OwnerEnd<T> {
        let hand = deque.claim(hand);
        self.call_back_for(deque);
        hand
    }

    /// Calls back a worker that has gone, if there is something for it.
    fn call_back_for(&self, deque: &Deque<T>) {
        if self.deques.is_missed() && deque.shown() > 0 {
            self.call_back(deque.shown());
        }
    }

    /// Calls back a worker that has gone, if the last call is long enough ago, or many items are
    /// shown: chains of items never show many.
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
        if self.hunger().come() {
            self.executor.threads().call(self.arena.load(Ordering::Relaxed));
        }
    }
}

impl<T> Drop for List<'_, T> {
    /// What nobody has folded, since the loop was stopped, is dropped.
    #[inline(never)]
    fn drop(&mut self) {
        self.watch.end_with(self.deques.hunger());
        self.deques.left().for_each(discard);
    }
}

impl<T: Send> WorkList for List<'_, T> {
    fn searching(&self) -> &Searching {
        self.hunger()
    }

    fn share(&self, workers: usize, arena: usize) {
        self.until(None);
        self.arena.store(arena, Ordering::Relaxed);
        self.deques.share(workers, 0); // until items are known to be cheap
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
        self.call_back_for(own); // there may be enough for one more
        stolen
    }

    fn try_leave(&self, worked: Duration) -> bool {
        let help = self.executor.prices().help(false);
        let mut calls = lock(&self.calls);
        calls.pause = back_off::pause_after(calls.pause, worked, help);
        calls.last = Some(Instant::now());
        drop(calls);
        self.deques.go()
    }

    fn folded(&self, me: usize) -> usize {
        self.deques.of(me).take_count()
    }
}

/// By this a closure adds items to the list that its loop runs over: see
/// [`Pool::grow`](crate::Pool::grow).
///
/// It cannot be sent to another thread, nor shared with one. Items that are pushed are folded by
/// the same worker, the last one first, unless another worker steals them. Whoever folds an item
/// sees all that was done before it was pushed.
///
/// A function that feeds a list is `fn visit(node: Node, feed: &Feed<'_, Node>)`; in a closure that
/// has a name, the type must be written: `|node: Node, feed: &Feed<'_, Node>| ..`.
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
    hand: OwnerEnd<T>,
    here: PhantomData<*mut ()>,
}

impl<T> fmt::Debug for Feed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl<T> Feed<'_, T> {
    /// Adds an item to the list. Takes about as long as [`Vec::push`]. Others may take the item at
    /// once, while the closure goes on (but not in a seed that is the only one: see
    /// [`Grow`](crate::Grow)).
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
        let Self { list, deque, hand, .. } = self;
        hand.push(item, |hand, item| list.push_and_show(deque, hand, item));
    }

    /// Adds items to the list. They are folded in their own order, the first one first, before all
    /// that was added earlier. So a structure in memory is walked forward. (Of more than 16 cheap
    /// items the order may differ: others may have been shown the first ones.)
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
        // Two wait in registers: a store and a load would take longer than all the rest.
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
        self.hand.reverse(count);
    }
}

impl<T> Feed<'_, T> {
    /// Adds the `first` item and the others, the last one first. For a worker that shows each item
    /// at once, so that none can be moved any more: its items are dear, or somebody lacks work.
    #[cold]
    #[inline(never)]
    fn push_backward(&self, first: T, others: Vec<T>) {
        others.into_iter().rev().chain([first]).for_each(|item| self.push(item));
    }

    /// Adds seeds, the last one first. By value: if an address of it were known, the hand would not
    /// be in registers in the hot loop.
    #[cold]
    #[inline(never)]
    fn with_seeds(self, seeds: &mut impl DoubleEndedIterator<Item = T>) -> Self {
        seeds.rev().for_each(|seed| self.push(seed));
        self
    }
}

impl<T> Drop for Feed<'_, T> {
    /// The owner puts its end down, also after a panic.
    #[inline(always)]
    fn drop(&mut self) {
        self.deque.store_end(&self.hand);
    }
}

/// A worker's way through a list that grows: where it is, and when it looks up.
pub(crate) struct Feeder<'a, T> {
    list: &'a List<'a, T>,
    me: usize,
    /// When it began, and looked at the clock last.
    begun: Instant,
    clock: Instant,
    /// The moment of its last look at the clock; `None` before the first look.
    moment: Option<Moment>,
    /// How many items there are from one look to the next, how many from the last one at the clock
    /// to the next, and how many of these are left.
    chunk: usize,
    stretch: usize,
    left: usize,
}

impl<'a, T> Feeder<'a, T> {
    /// For worker `me`, on its thread.
    pub(crate) fn new(list: &'a List<'_, T>, me: usize) -> Self {
        let (now, first) = (Instant::now(), list.first.load(Ordering::Relaxed));
        let (chunk, stretch, left) = (first, first, first);
        Self { list, me, begun: now, clock: now, moment: None, chunk, stretch, left }
    }

    /// Folds what the worker has of the list, and the `seeds`, each with all that it makes, as far
    /// as nobody else takes it.
    ///
    /// If the calling thread has run alone for long enough, or the loop has stopped, what is left
    /// stays in the list. The hot loop: an item costs what it costs to push it on a `Vec` and to
    /// pop it, and a look at one word that hardly ever changes.
    #[inline(always)]
    pub(crate) fn fold<A, Z>(
        &mut self,
        mut seeds: impl ExactSizeIterator<Item = T> + DoubleEndedIterator,
        mut acc: A,
        mut fold: impl FnMut(A, T, &Feed<'_, T>) -> Result<A, Z>,
    ) -> Result<A, Z> {
        let list = self.list;
        let (deque, hunger) = (list.deques.of(self.me), list.deques.hunger());
        if seeds.len() == 0 {
            self.begin(Instant::now()); // it goes on after a while
        }
        let mut feed = Feed { list, deque, hand: deque.load(), here: PhantomData };
        loop {
            let mut left = self.left; // in a register
            let is_dry = loop {
                if !feed.hand.has_item(|hand| list.claim(deque, hand)) {
                    let Some(seed) = seeds.next() else { break true };
                    feed.push(seed);
                    continue; // a thief may be faster
                }
                // SAFETY: there is an item.
                match fold(acc, unsafe { feed.hand.take() }, &feed) {
                    Ok(folded) => acc = folded,
                    Err(found) => {
                        deque.count(self.left - left + 1);
                        return Err(found);
                    }
                }
                left -= 1;
                if left == 0 || !hunger.is_quiet() {
                    break false;
                }
            };
            deque.count(self.left - left);
            self.left = left;
            if is_dry {
                return Ok(acc);
            }
            let (hand, stops) = self.look(deque, feed.hand.copy());
            feed.hand.set(&hand);
            if seeds.len() > 0 && (stops || !hunger.is_quiet()) {
                feed = feed.with_seeds(&mut seeds); // for whoever wants some
            }
            if stops {
                return Ok(acc);
            }
        }
    }

    /// A stretch begins.
    fn begin(&mut self, now: Instant) {
        (self.clock, self.moment) = (now, Some(Moment::now()));
        (self.stretch, self.left) = (self.chunk, self.chunk);
    }

    /// Looks at the clock, at whoever may want something, and at whatever may end the loop. True:
    /// stop, and leave what is left in the list.
    #[inline(never)]
    fn look(&mut self, deque: &Deque<T>, hand: OwnerEnd<T>) -> (OwnerEnd<T>, bool) {
        let Self { list, chunk, stretch, left, .. } = *self;
        let hunger = list.hunger();
        if !hunger.is_closed() {
            if left > 0 {
                self.left = left.min(KEPT); // somebody lacks work
                self.stretch -= left - self.left;
                return (deque.keep(hand, 0), false);
            }
            let is_early = |moment: Moment| !moment.is_microseconds_ago();
            if chunk == ITEMS_A_LOOK_AT_MOST && hunger.is_quiet() && self.moment.is_some_and(is_early) {
                (self.stretch, self.left) = (stretch + chunk, chunk);
                return (hand, false);
            }
        }
        let now = Instant::now();
        let each = nanos(now - self.clock) / (stretch - left) as f32;
        self.chunk = ((nanos(STRETCH) / each) as usize).clamp(1, ITEMS_A_LOOK_AT_MOST);
        self.begin(now);
        if list.watch.is_cancelled() {
            hunger.close();
        }
        let limit = Duration::from_nanos(list.limit.load(Ordering::Relaxed));
        let stops = hunger.is_closed() || now - self.begun >= limit;
        if !deque.is_shared() {
            return (hand, stops);
        }
        list.executor.check_cpu(now);
        let keeps = match each {
            _ if each > DEAR_NS || !hunger.is_quiet() => 0,
            _ if hunger.has_gone() => 1,
            _ => SMALL_BLOCK,
        };
        let hand = deque.keep(hand, keeps);
        list.call_back_for(deque);
        (hand, stops)
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
        list.until(Some(Duration::ZERO)); // it stops after the first item
        let mut feeder = Feeder::new(&list, 0);
        let folded = feeder.fold(vec![10, 20, 30].into_iter(), Vec::new(), |mut folded, item, _feed| {
            folded.push(item);
            Ok::<_, ()>(folded)
        });
        assert_eq!(folded, Ok(vec![10]));
        let mut left: Vec<i32> = list.deques.left().collect();
        left.sort_unstable();
        assert_eq!(left, [20, 30]);
    }

    /// A worker that keeps nothing to itself, since its items are dear or somebody lacks work.
    #[test]
    fn what_is_added_at_once_is_folded_forward_however_much_is_shown() {
        for keeps in [0, 1, 2, 8] {
            let executor = executor(2);
            let list = List::new(&executor, Watch::default());
            list.deques.share(2, keeps);
            let deque = list.deques.of(0);
            let feed = Feed { list: &list, deque, hand: deque.load(), here: PhantomData };
            feed.push(9);
            feed.extend(0..5);
            let folded: Vec<i32> = iter::from_fn(|| feed.hand.pop(deque)).collect();
            let wanted = if keeps == 2 { vec![2, 3, 4, 1, 0, 9] } else { vec![0, 1, 2, 3, 4, 9] };
            assert_eq!(folded, wanted, "{keeps}");
        }
    }
}
