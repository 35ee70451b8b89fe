//! A list that grows while a loop runs over it, and the hand by which closures feed it.

#![allow(unsafe_code)] // takes an item from a deque that has one
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{fmt, marker::PhantomData, time::Duration};

use crate::{
    clock::{Instant, nanos},
    pool::{
        call::{ending::discard, executor::Executor, growing::Growing, handles::Watch},
        policy::{
            grain::{DEAR_NS, SMALL, STRETCH},
            hunger,
            launch::CHECKED_AFTER,
            prices::TOO_SHORT_TO_TIME_NS,
        },
        protocol::{
            deque::{Deque, Deques, Hand},
            hunger::Hunger,
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
    /// When workers that have gone are called back.
    calls: Mutex<Calls>,
}

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
        Self {
            deques: Deques::new(),
            executor,
            watch,
            limit: AtomicU64::new(limit),
            first: AtomicUsize::new(CHECKED_AFTER),
            calls: Mutex::new(Calls::default()),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_and_show(&self, deque: &Deque<T>, hand: Hand<T>, item: T) -> Hand<T> {
        let hand = deque.push_and_show(hand, item);
        if deque.is_shared() && self.deques.is_missed() {
            self.call_back();
        }
        hand
    }

    /// Calls back a worker that has gone, if the last call is long enough ago.
    #[cold]
    fn call_back(&self) {
        let now = Instant::now();
        let mut calls = lock(&self.calls);
        if calls.last.is_some_and(|last| nanos(now - last) < calls.pause) {
            return;
        }
        calls.last = Some(now);
        drop(calls);
        if let Some(worker) = self.deques.call_back() {
            self.executor.crew().call_back(worker);
        }
    }
}

impl<T> Drop for List<'_, T> {
    /// What nobody has folded, since the loop was stopped, is dropped.
    fn drop(&mut self) {
        self.deques.left().for_each(discard);
    }
}

impl<T: Send> Growing for List<'_, T> {
    fn hunger(&self) -> &Hunger {
        self.deques.hunger()
    }

    fn share(&self, workers: usize) {
        self.until(None);
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

    fn rob(&self, me: usize, victim: usize) -> usize {
        self.deques.of(me).rob(self.deques.of(victim))
    }

    fn come(&self, me: usize) {
        self.deques.come(me);
    }

    fn go(&self, me: usize, worked: Duration) -> bool {
        let help = self.executor.prices().help(false);
        let mut calls = lock(&self.calls);
        calls.pause = hunger::pause_after(calls.pause, worked, help);
        calls.last = Some(Instant::now());
        drop(calls);
        self.deques.go(me)
    }

    fn folded(&self, me: usize) -> usize {
        self.deques.of(me).take_count()
    }
}

/// By this a closure adds items to the list that its loop runs over: see
/// [`Pool::grow`](crate::Pool::grow).
///
/// It cannot be sent to another thread, nor shared with one. Items that are pushed are folded by
/// the same worker, the last one first, unless another worker steals them.
///
/// ```compile_fail,E0277
/// # let pool = rangesteal::Pool::new()?;
/// pool.grow([3]).for_each(|item, feed| {
///     std::thread::scope(|scope| { scope.spawn(|| feed.push(item)); }); // nor a loop in the loop
/// });
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
pub struct Feed<'a, T> {
    list: &'a List<'a, T>,
    deque: &'a Deque<T>,
    hand: Hand<T>,
    here: PhantomData<*mut ()>,
}

impl<T> fmt::Debug for Feed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

impl<T> Feed<'_, T> {
    /// Adds an item to the list. Takes about as long as [`Vec::push`].
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

    /// Adds items to the list, one after the other: so the last one is the first to be folded.
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
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T> Drop for Feed<'_, T> {
    /// The owner puts its end down, also after a panic.
    #[inline(always)]
    fn drop(&mut self) {
        self.deque.put_down(&self.hand);
    }
}

/// A worker's way through a list that grows: where it is, and when it looks up.
pub(crate) struct Feeder<'a, T> {
    list: &'a List<'a, T>,
    me: usize,
    /// When it began, and looked at the clock last.
    begun: Instant,
    clock: Instant,
    /// How many items there should be between two looks; how many there are between the last one and
    /// the next, and how many of these are left.
    suited: usize,
    stretch: usize,
    left: usize,
}

impl<'a, T> Feeder<'a, T> {
    /// For worker `me`, on its thread.
    pub(crate) fn new(list: &'a List<'_, T>, me: usize) -> Self {
        let (now, first) = (Instant::now(), list.first.load(Ordering::Relaxed));
        Self { list, me, begun: now, clock: now, suited: first, stretch: first, left: first }
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
            self.clock = Instant::now(); // it goes on after a while
            (self.stretch, self.left) = (self.suited, self.suited);
        }
        let feed = Feed { list, deque, hand: deque.take_up(), here: PhantomData };
        loop {
            let mut left = self.left; // in a register
            let is_dry = loop {
                if !feed.hand.has_item(deque) {
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
            if stops || !hunger.is_quiet() {
                seeds.by_ref().rev().for_each(|seed| feed.push(seed)); // for whoever wants some
            }
            if stops {
                return Ok(acc);
            }
        }
    }

    /// Looks at the clock, at whoever may want something, and at whatever may end the loop. True:
    /// stop, and leave what is left in the list.
    #[inline(never)]
    fn look(&mut self, deque: &Deque<T>, hand: Hand<T>) -> (Hand<T>, bool) {
        /// How many items there are between two looks at most, while somebody lacks work.
        const FEW: usize = 2 * SMALL;
        let Self { list, me, suited, stretch, left, .. } = *self;
        let hunger = list.deques.hunger();
        if left > 0 && !hunger.is_closed() {
            self.left = left.min(FEW);
            self.stretch -= left - self.left;
            return (deque.keep(hand, 0), false);
        }
        let now = Instant::now();
        let took = now - self.clock;
        let is_dear = nanos(took) > DEAR_NS * (stretch - left) as f32;
        if stretch == suited {
            if took < STRETCH {
                self.suited = suited.saturating_mul(2);
            } else if took > 2 * STRETCH {
                let shorter = suited as f32 * (nanos(STRETCH) / nanos(took));
                self.suited = (shorter as usize).max(1);
            }
        }
        self.clock = now;
        (self.stretch, self.left) = (self.suited, self.suited);
        if list.watch.is_cancelled() {
            hunger.close();
        }
        let limit = Duration::from_nanos(list.limit.load(Ordering::Relaxed));
        let stops = hunger.is_closed() || now - self.begun >= limit;
        if !deque.is_shared() {
            return (hand, stops);
        }
        list.executor.seats().look(me, now);
        let hand = deque.keep(hand, if is_dear || !hunger.is_quiet() { 0 } else { SMALL });
        if deque.shown() > 0 && list.deques.is_missed() {
            list.call_back();
        }
        (hand, stops)
    }
}
