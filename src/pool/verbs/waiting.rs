//! Loops whose items wait.

use std::convert::Infallible;

use super::{
    chain::Each,
    on::On,
    options::{Ending, OnPool},
    places::{Written, in_place},
};

/// A loop whose items sometimes wait: for a network, a disk, a timer, another program. Made by
/// [`On::waiting`]; the loops are its methods.
///
/// The closures return futures, and an `async` closure will do. A worker whose item waits goes on
/// with another one, so a loop over 500 pages that wait 50 ms each takes about 50 ms, and what
/// there is to compute is computed on all cores. No thread is started for an item, and futures are
/// made in places that are used again and again.
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
/// Whatever calls the waker, from any thread: a timer thread, a channel, the reactor of a runtime.
/// There is no runtime here. One that wants to be known to the thread, such as tokio, is entered by
/// each worker, with [`On::with`]: the state is made before a worker polls anything, dropped when
/// it leaves, and not given to the closures. The [guide](crate::guide::waiting) shows tokio,
/// smol, a timer and blocking calls.
///
/// Since the call blocks until all futures are done or dropped, they may borrow: the items, and
/// whatever the closures capture by reference. They must be `Send`: who goes on with an item is any
/// worker that is free. (`async move` closures that own what they capture lend it to their futures,
/// which the bound `Fn(Item) -> F` cannot express; capture references.)
///
/// # The limit
/// At most `limit` items are begun and not done at any time, over all workers, those that are
/// being polled included. It is there for the service and for memory, not for the CPUs. With a
/// limit of 1 the items are done one after the other, in order, on the calling thread.
///
/// Places for futures are made in blocks, each twice as large as the one before, of which the first
/// has 16: so there are up to twice as many as items have been under way at a time, and beside each
/// 0.4 KiB. (A waker that somebody keeps beyond the call keeps 128 bytes for each of them.)
///
/// # Who works
/// The calling thread, alone, as long as it is not in arrears: a few items that only wait need no
/// second one. If more is to be done at a time than help costs, others help until the loop is over.
/// Who finds nothing to poll sleeps, until a waker rings; no thread looks for anything meanwhile.
/// A woken item is polled by the worker that has polled it last, or by one that has nothing to do.
/// Of polls that have taken some microseconds on average, one more does not ring a sleeper; so if
/// one then computes for long, those that are woken meanwhile may wait for its end.
/// A helper stays until the loop is over, also while it sleeps, and helps no other loop meanwhile:
/// for loops that wait for long and compute much, beside others, make a pool of their own.
///
/// If the same loop runs over the same slice again, the items that waited last time are begun
/// first, unless all did, or more than `limit`: so the longest waits end while the others compute.
/// (The pool remembers their indices, for up to 64 loops. [`Progress`](crate::Progress) counts such
/// an item when those before it have been begun, too.)
///
/// # Order, errors, panics
/// Results are reduced and collected in the order of the slice, whatever the order in which items
/// are done. `reduce` may be called on any worker, and its result is not reproducible if it is not
/// associative. An error or a panic of an item ends the loop: no item behind it is begun, those
/// behind it that wait are dropped at once, and those before it are still attended. So what comes
/// out is the first error, or panic, of the plain loop. [`On::cancel`] drops all that wait, at
/// once; only a poll under way is finished.
///
/// # When not to use it
/// If the loop has no end, such as in a server, use a runtime. If nothing waits, the loops of
/// [`On`] are faster by some nanoseconds an item.
///
/// Never call it from `async` code, where it blocks a thread of the runtime, and may wait for ever:
/// for a reactor that this thread alone would turn, or, inside tokio, whatever its flavour, because
/// a task that does not return is soon told by everything that it awaits to let others go first.
/// Hand the call to a thread that may block: `tokio::task::spawn_blocking`, or `block_in_place`.
///
/// # Options
/// They come before `waiting`. [`On::grain`] has no meaning here, since items are claimed one by
/// one; a [`Trace`](crate::Trace) shows nothing of such a loop yet; the numbers of
/// [`RunReport::waits`](crate::RunReport::waits) tell what it did.
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct Waiting<C, P> {
    on: On<C, P>,
    limit: usize,
}

/// Of items that wait.
impl<'p, C: Each + Sync, E: Ending> On<C, OnPool<'p, E>> {
    /// Lets items wait: the closures of the loop return futures, and at most `limit` items are
    /// begun and not done at any time. See [`Waiting`].
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
    /// If `limit` is 0, or if the loop was to be [`reproducible`](Self::reproducible): items that
    /// wait are done in another order each time.
    #[inline(always)]
    pub fn waiting(self, limit: usize) -> Waiting<C, OnPool<'p, E>> {
        assert!(limit > 0, "waiting: with a limit of 0 items under way, none would ever begin");
        let is_reproducible = self.is_reproducible();
        assert!(
            !is_reproducible,
            "waiting: no loop whose items wait is reproducible: collect, and then reduce"
        );
        Waiting { on: self, limit }
    }
}

/// Loops.
impl<C: Each + Sync, E: Ending> Waiting<C, OnPool<'_, E>> {
    /// Calls `f` with every item, and waits for what it returns.
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
    /// If `f` or one of its futures does.
    pub fn for_each<F: Future<Output = ()> + Send>(self, f: impl Fn(C::Item) -> F + Sync) -> E::Of<()> {
        let Self { on, limit } = self;
        let folded = on.run_async(limit, |_, item| f(item), |_, _, ()| Ok::<_, Infallible>(()), |(), ()| ());
        E::end(folded.map(drop).through())
    }

    /// Maps every item, and reduces the results in the order of the slice; none if there are no
    /// items. `reduce` must be associative.
    ///
    /// As soon as two neighbours are done they are reduced, so there are never more partial results
    /// than items under way or begun first, and two for each worker. Results that grow are best
    /// collected, and joined behind the loop: here one may be joined with all behind it, item by
    /// item.
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
    /// If `map`, one of its futures, or `reduce` does.
    pub fn map_reduce<R: Send, F: Future<Output = R> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Option<R>> {
        let Self { on, limit } = self;
        let done = |acc: Option<R>, _, result| {
            Ok::<_, Infallible>(match acc {
                Some(acc) => reduce(acc, result),
                None => result,
            })
        };
        E::end(on.run_async(limit, |_, item| map(item), done, &reduce).through())
    }

    /// Folds the items into accumulators, and reduces these in the order of the slice.
    ///
    /// An item is given the accumulator of the items before it, if they are done when it begins and
    /// no other has it; otherwise it is given a new one, made by `init`. It keeps the accumulator
    /// while it waits. So `init` must be neutral: `reduce(init(), a)` is `a`; and if all items
    /// wait, it is called for each of them.
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
    /// If `init`, `fold`, one of its futures, or `reduce` does.
    pub fn fold<A: Send, F: Future<Output = A> + Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, C::Item) -> F + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let Self { on, limit } = self;
        let make = |acc: &mut Option<A>, item| fold(acc.take().unwrap_or_else(&init), item);
        let folded = on.run_async(limit, make, |_, _, acc| Ok::<_, Infallible>(acc), reduce);
        E::end(folded.map(|folded| folded.unwrap_or_else(&init)).through())
    }

    /// Maps every item into a `Vec`, in the order of the slice.
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
    /// If `map` or one of its futures does.
    pub fn map_collect<R: Send, F: Future<Output = R> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
    ) -> E::Of<Vec<R>> {
        let Self { on, limit } = self;
        let collected = in_place(on.source_count(), |places| {
            let none = || Written::none(places);
            let folded = on.run_async(
                limit,
                |_, item| map(item),
                move |written, index, result| {
                    Ok::<_, Infallible>(written.unwrap_or_else(none).put(index, result))
                },
                Written::join,
            );
            folded.map(|written| written.unwrap_or_else(none)).through().ok_or(())
        });
        E::end(collected.ok())
    }

    /// [`for_each`](Self::for_each) for futures that can fail: returns the error of the first item
    /// that does.
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
    /// # Panics
    /// If `f` or one of its futures does.
    pub fn try_for_each<Z: Send, F: Future<Output = Result<(), Z>> + Send>(
        self,
        f: impl Fn(C::Item) -> F + Sync,
    ) -> E::Of<Result<(), Z>> {
        let Self { on, limit } = self;
        let folded = on.run_async(limit, |_, item| f(item), |_, _, result| result, |(), ()| ());
        E::end(folded.map(drop).ended())
    }

    /// [`map_reduce`](Self::map_reduce) for futures that can fail: returns the error of the first
    /// item that does.
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
    /// # Panics
    /// If `map`, one of its futures, or `reduce` does.
    pub fn try_map_reduce<R: Send, Z: Send, F: Future<Output = Result<R, Z>> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Result<Option<R>, Z>> {
        let Self { on, limit } = self;
        let done = |acc: Option<R>, _, result: Result<R, Z>| {
            Ok(match acc {
                Some(acc) => reduce(acc, result?),
                None => result?,
            })
        };
        E::end(on.run_async(limit, |_, item| map(item), done, &reduce).ended())
    }

    /// [`map_collect`](Self::map_collect) for futures that can fail: returns the error of the first
    /// item that does.
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
    /// # Panics
    /// If `map` or one of its futures does.
    pub fn try_map_collect<R: Send, Z: Send, F: Future<Output = Result<R, Z>> + Send>(
        self,
        map: impl Fn(C::Item) -> F + Sync,
    ) -> E::Of<Result<Vec<R>, Z>> {
        let Self { on, limit } = self;
        let collected = in_place(on.source_count(), |places| {
            let none = || Written::none(places);
            let folded = on.run_async(
                limit,
                |_, item| map(item),
                move |written, index, result: Result<R, Z>| {
                    Ok(written.unwrap_or_else(none).put(index, result?))
                },
                Written::join,
            );
            let folded = folded.map(|written| written.unwrap_or_else(none)).ended();
            folded.ok_or(None)?.map_err(Some)
        });
        E::end(match collected {
            Ok(collected) => Some(Ok(collected)),
            Err(Some(found)) => Some(Err(found)),
            Err(None) => None,
        })
    }
}
