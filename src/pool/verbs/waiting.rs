//! Loops whose items wait: their closures return futures.

use std::convert::{Infallible, identity};

use super::{
    async_worker::run_async,
    chain::Each,
    on::On,
    options::{Ending, OnPool},
    places::{Written, in_place},
};
use crate::pool::engine::ending::Outcome;

/// A loop whose items sometimes wait for a network, a disk, a timer or another program. Made by
/// [`On::waiting`]. The last method call runs the loop.
///
/// The closures return futures, as `async` closures do. While one item waits, its worker polls
/// other items. So a loop over 500 pages that wait 50 ms each takes about 50 ms. Computations
/// between the waits run on all cores. The loop starts no thread per item. The memory of a finished
/// future is used for another future.
///
/// ```
/// # use std::{sync::mpsc, task::{Poll, Waker}, thread};
/// use rangesteal::Pool;
///
/// # struct Client(mpsc::Sender<Waker>);
/// # impl Client {
/// #     fn new() -> Self {
/// #         let (send, asked) = mpsc::channel::<Waker>();
/// #         thread::spawn(move || asked.iter().for_each(Waker::wake));
/// #         Self(send)
/// #     }
/// #     async fn get(&self, url: &str) -> String {
/// #         let mut asked = false;
/// #         std::future::poll_fn(|context| {
/// #             if asked {
/// #                 return Poll::Ready(());
/// #             }
/// #             asked = true;
/// #             self.0.send(context.waker().clone()).unwrap();
/// #             Poll::Pending
/// #         })
/// #         .await;
/// #         format!("the page {url}")
/// #     }
/// # }
/// let (pool, client) = (Pool::new()?, Client::new());
/// let urls = ["a", "b", "c"];
/// let lengths = pool.on(&urls).waiting(100).map_collect(async |url| {
///     let page = client.get(url).await; // the worker goes on with another item
///     page.len()
/// });
/// assert_eq!(lengths, [10, 10, 10]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// # What wakes the items
/// Any thread may call an item's waker: a timer thread, a channel, the reactor of a runtime. This
/// crate contains no runtime. If a runtime such as tokio must be entered on each thread, use
/// [`On::with`] with a closure that enters the runtime. The state of a worker is made before the
/// worker's first poll, and dropped when the worker leaves the loop. The closures of the loop do
/// not receive this state. The [guide](crate::guide::waiting) shows tokio, smol, a timer and
/// blocking calls.
///
/// # Borrowing
/// The call blocks until all futures are done or dropped. So the futures may borrow the items and
/// everything that the closures capture by reference. The futures must be `Send`, since any free
/// worker may poll a woken item. An `async move` closure that owns its captures does not compile:
/// its futures would borrow from the closure, which the bound `Fn(Item) -> F` cannot express.
/// Capture references instead.
///
/// # The limit
/// At most `limit` items are under way (begun and not done) at any time. The limit applies to all
/// workers together, and includes the items that are being polled. The limit protects a service
/// from too many requests, and bounds memory; the CPUs need no limit. With a limit of 1 the calling
/// thread completes the items one after another, in order.
///
/// Memory for futures is allocated in blocks. The first block has room for 16 futures, and each
/// further block for twice as many as the block before. A block is made when its first place is
/// needed, so there are fewer than `2 * limit + 16` places. Each place takes 0.4 KiB plus the size
/// of the future. A waker that outlives the call keeps 128 bytes alive for each place.
///
/// # Scheduling
/// At first the calling thread works alone: a few items that only wait need no second worker. When
/// the time to work off the backlog exceeds the cost of waking other workers, these help until the
/// loop is over. A worker that finds no item to poll sleeps until a waker unparks the worker, and
/// does not search for work meanwhile.
///
/// A woken item is polled by the worker that polled it last, or by an idle worker. If polls take
/// only some microseconds on average, a sleeping worker stays asleep when a single item is woken.
/// So if one poll then takes long, items that are woken meanwhile may wait until this poll ends.
///
/// A helping worker stays in the loop until the loop is over, even while the worker sleeps, and
/// helps no other loop meanwhile. If the same program also runs loops that compute much, give a
/// loop that waits for a long time a separate pool.
///
/// If the same loop runs over the same slice again, the items that waited last time are begun
/// first. So the longest waits overlap with the computation of the other items. If all items
/// waited, or if more than `limit` items waited, no items are begun first. The pool remembers the
/// indices for up to 64 loops. [`Progress`](crate::Progress) counts an item that was begun early
/// only when all items before this item have been begun.
///
/// # Order, errors, panics
/// Results are reduced and collected in the order of the slice, even if the items are done in
/// another order. Any worker may call `reduce`. The result is not reproducible if `reduce` is not
/// associative.
///
/// An error or a panic of an item ends the loop. Items behind the failed item are not begun any
/// more, and if they wait, they are dropped at once. Items before the failed item are still
/// completed. So the call reports the error or panic that the serial loop would meet first.
///
/// [`On::cancel`] drops all waiting items at once; a poll that is under way is finished.
///
/// # When not to use it
/// For a loop without end, such as a server, use a runtime. If items never wait, the loops of
/// [`On`] are faster by some nanoseconds per item.
///
/// Never call such a loop from `async` code: the call blocks a thread of the runtime, and may
/// deadlock. There is a deadlock if an item waits for a reactor that only the blocked thread
/// drives. There is also a deadlock inside a tokio task, whatever the flavour of the runtime: the
/// task never returns to its scheduler, so tokio's cooperative budget runs out, and every await
/// returns `Pending`. Move the call to a thread that may block: `tokio::task::spawn_blocking`, or
/// `block_in_place`.
///
/// # Options
/// Options of [`On`] come before `waiting`. [`On::grain`] has no effect, since items are claimed
/// one by one. A [`Trace`](crate::Trace) does not record loops whose items wait.
/// [`RunReport::waits`](crate::RunReport::waits) gives its statistics.
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct Waiting<C, P> {
    on: On<C, P>,
    limit: usize,
}

/// Loops whose items wait.
impl<'p, C: Each + Sync, E: Ending> On<C, OnPool<'p, E>> {
    /// Lets items wait: the closures of the loop return futures, and at most `limit` items are
    /// under way (begun and not done) at any time. See [`Waiting`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (urls, client) = (["a", "b"], Client);
    /// let pages = pool.on(&urls).waiting(100).map_collect(async |url| client.get(url).await);
    /// assert_eq!(pages, ["page a", "page b"]);
    /// # struct Client;
    /// # impl Client {
    /// #     async fn get(&self, url: &str) -> String {
    /// #         format!("page {url}")
    /// #     }
    /// # }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `limit` is 0, or if the loop is [`reproducible`](Self::reproducible), since waiting items
    /// are done in another order each time.
    #[inline(always)]
    #[track_caller]
    pub fn waiting(self, limit: usize) -> Waiting<C, OnPool<'p, E>> {
        assert!(limit > 0, "waiting: with a limit of 0 items under way, none would ever begin");
        assert!(
            !self.is_reproducible(),
            "waiting: no loop whose items wait is reproducible: collect, and then reduce"
        );
        Waiting { on: self, limit }
    }
}

/// Loops.
impl<C: Each + Sync, E: Ending> Waiting<C, OnPool<'_, E>> {
    /// Calls `f` with every item, and awaits the returned future.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut pages = vec![String::new(); 3];
    /// pool.on(&mut pages).enumerate().waiting(2).for_each(async |(number, page)| {
    ///     *page = read(number).await;
    /// });
    /// assert_eq!(pages, ["page 0", "page 1", "page 2"]);
    /// # async fn read(number: usize) -> String {
    /// #     format!("page {number}")
    /// # }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` or one of its futures panics.
    pub fn for_each<F: Future<Output = ()> + Send>(self, f: impl Fn(C::Item) -> F + Sync) -> E::Of<()> {
        E::end(self.reduced(f, Ok::<_, Infallible>, |(), ()| ()).map(drop).through())
    }

    /// Maps every item, and reduces the results in the order of the slice. Returns `None` if there
    /// are no items. `reduce` must be associative.
    ///
    /// Two neighbouring results are reduced as soon as both exist. So the number of partial results
    /// is at most the number of items under way, plus the number of items begun early, plus two for
    /// each worker.
    ///
    /// If results grow, as a `Vec` or a `String` does, collect them and join them after the loop.
    /// With `map_reduce`, one long result may be joined with many later results one by one.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = pool.on(0..100).waiting(10).map_reduce(
    ///     async |number| read(number).await.split(' ').count(),
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(words, Some(200));
    /// # async fn read(number: usize) -> String {
    /// #     format!("page {number}")
    /// # }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map`, one of its futures, or `reduce` panics.
    pub fn map_reduce<R: Send, F: Future<Output = R> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Option<R>> {
        E::end(self.reduced(map, Ok::<_, Infallible>, reduce).through())
    }

    /// Folds the items into accumulators, and reduces the accumulators in the order of the slice.
    ///
    /// An item that begins receives the accumulator of the items right before it, if these items
    /// are done and no other item has taken the accumulator. Otherwise the item receives a new
    /// accumulator, made by `init`. While an item waits, it keeps its accumulator. So if all items
    /// wait, `init` is called once for each item. `init` must be neutral: `reduce(init(), a)` is
    /// `a`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let text = pool.on(0..3).waiting(10).fold(
    ///     String::new,
    ///     async |text, number| text + &read(number).await + ". ",
    ///     |text, behind| text + &behind,
    /// );
    /// assert_eq!(text, "page 0. page 1. page 2. ");
    /// # async fn read(number: usize) -> String {
    /// #     format!("page {number}")
    /// # }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `init`, `fold`, one of its futures, or `reduce` panics.
    pub fn fold<A: Send, F: Future<Output = A> + Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, C::Item) -> F + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let Self { on, limit } = self;
        let make = |acc: &mut Option<A>, item| fold(acc.take().unwrap_or_else(&init), item);
        let folded = run_async(on.into_async(), limit, make, |_, _, acc| Ok::<_, Infallible>(acc), reduce);
        E::end(folded.map(|folded| folded.unwrap_or_else(&init)).through())
    }

    /// Maps every item, and collects the results into a `Vec` in the order of the slice.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let pages = pool.on(0..3).waiting(10).map_collect(read);
    /// assert_eq!(pages, ["page 0", "page 1", "page 2"]);
    /// # async fn read(number: usize) -> String {
    /// #     format!("page {number}")
    /// # }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or one of its futures panics.
    pub fn map_collect<R: Send, F: Future<Output = R> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
    ) -> E::Of<Vec<R>> {
        E::end(self.collected(map, Ok::<_, Infallible>).map(|Ok(collected)| collected))
    }

    /// [`for_each`](Self::for_each) for futures that can fail: an error ends the loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sent = pool.on(&["a", "b", "c"]).waiting(10).try_for_each(async |name| {
    ///     if *name == "a" { Ok(()) } else { Err(format!("{name} is refused")) }
    /// });
    /// assert_eq!(sent, Err("b is refused".to_owned()));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of the first item, in the order of the slice, whose future returns an `Err`.
    ///
    /// # Panics
    /// If `f` or one of its futures panics.
    pub fn try_for_each<Z: Send, F: Future<Output = Result<(), Z>> + Send>(
        self,
        f: impl Fn(C::Item) -> F + Sync,
    ) -> E::Of<Result<(), Z>> {
        E::end(self.reduced(f, identity, |(), ()| ()).map(drop).ended())
    }

    /// [`map_reduce`](Self::map_reduce) for futures that can fail: an error ends the loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sum = |texts: &[&str]| {
    ///     let sum = pool.on(texts).waiting(10);
    ///     sum.try_map_reduce(async |text| text.parse::<u32>(), |a, b| a + b)
    /// };
    /// assert_eq!(sum(&["1", "20"]), Ok(Some(21)));
    /// assert!(sum(&["1", "twenty"]).is_err());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of the first item, in the order of the slice, whose future returns an `Err`.
    ///
    /// # Panics
    /// If `map`, one of its futures, or `reduce` panics.
    pub fn try_map_reduce<R: Send, Z: Send, F: Future<Output = Result<R, Z>> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Result<Option<R>, Z>> {
        E::end(self.reduced(map, identity, reduce).ended())
    }

    /// [`map_collect`](Self::map_collect) for futures that can fail: an error ends the loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let numbers = |texts: &[&str]| {
    ///     pool.on(texts).waiting(10).try_map_collect(async |text| text.parse::<u32>())
    /// };
    /// assert_eq!(numbers(&["1", "20"]), Ok(vec![1, 20]));
    /// assert!(numbers(&["1", "twenty"]).is_err());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of the first item, in the order of the slice, whose future returns an `Err`.
    ///
    /// # Panics
    /// If `map` or one of its futures panics.
    pub fn try_map_collect<R: Send, Z: Send, F: Future<Output = Result<R, Z>> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
    ) -> E::Of<Result<Vec<R>, Z>> {
        E::end(self.collected(map, identity))
    }

    /// Maps every item, makes a result of each output, and reduces the results.
    fn reduced<R: Send, Z: Send, F: Future + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
        result: impl Fn(F::Output) -> Result<R, Z> + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Outcome<Option<R>, Z> {
        let done = |acc: Option<R>, _, output| {
            let result = result(output)?;
            Ok(match acc {
                Some(acc) => reduce(acc, result),
                None => result,
            })
        };
        run_async(self.on.into_async(), self.limit, |_, item| map(item), done, &reduce)
    }

    /// Maps every item, makes a result of each output, and collects the results. Returns `None` if
    /// the loop was cancelled.
    fn collected<R: Send, Z: Send, F: Future + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
        result: impl Fn(F::Output) -> Result<R, Z> + Sync,
    ) -> Option<Result<Vec<R>, Z>> {
        let Self { on, limit } = self;
        let collected = in_place(on.source_count(), |places| {
            let none = || Written::none(places);
            let folded = run_async(
                on.into_async(),
                limit,
                |_, item| map(item),
                |written, index, output| Ok(written.unwrap_or_else(none).put(index, result(output)?)),
                Written::join,
            );
            folded.or(none)
        });
        collected.ended()
    }
}
