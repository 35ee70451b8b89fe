//! Items that wait: requests, timers, files.
//!
//! ```
//! use std::time::Duration;
//!
//! let pool = rangesteal::Pool::new()?;
//! let mut runtime = tokio::runtime::Builder::new_multi_thread();
//! let runtime = runtime.worker_threads(1).enable_all().build()?;
//! let on = pool.on(&[1, 2, 3]).with(|_worker| runtime.enter());
//! let doubled = on.waiting(100).map_collect(async |x| {
//!     tokio::time::sleep(Duration::from_millis(1)).await; // or a request
//!     2 * x
//! });
//! assert_eq!(doubled, [2, 4, 6]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With [`waiting`](crate::On::waiting) the closures return futures. While an item waits, its
//! worker continues with another item. At most `limit` items (100 in the example) are in flight at
//! the same time. An item is in flight from its begin until it is done. A runtime, a reactor or
//! another thread must wake the futures. [`Waiting`](crate::Waiting) lists the ends.
//!
//! # tokio
//! The timers and sockets of tokio need two things: a runtime that has a thread of its own, and a
//! polling thread that has entered this runtime. In the example above, the runtime has one thread,
//! and each worker enters it by `with`. Without `with`, tokio panics with "there is no reactor
//! running", perhaps only in a helper.
//!
//! # smol
//! `async-io` has a thread of its own, and a worker need not enter anything:
//!
//! ```
//! # use std::time::Duration;
//! # let pool = rangesteal::Pool::new()?;
//! let doubled = pool.on(&[1, 2, 3]).waiting(100).map_collect(async |x| {
//!     async_io::Timer::after(Duration::from_millis(1)).await;
//!     2 * x
//! });
//! assert_eq!(doubled, [2, 4, 6]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # A thread of your own
//! A future sends its waker to the thread. The thread waits for a millisecond, and then wakes all
//! futures whose wakers it has received:
//!
//! ```
//! use std::{future::poll_fn, sync::mpsc, task::{Poll, Waker}, thread, time::Duration};
//!
//! let (send, asked) = mpsc::channel::<Waker>();
//! thread::spawn(move || {
//!     while let Ok(first) = asked.recv() {
//!         thread::sleep(Duration::from_millis(1));
//!         std::iter::once(first).chain(asked.try_iter()).for_each(Waker::wake);
//!     }
//! });
//! let nap = || {
//!     let (mut has_slept, send) = (false, &send);
//!     poll_fn(move |context| {
//!         if std::mem::replace(&mut has_slept, true) {
//!             return Poll::Ready(()); // perhaps too early: a poll may come without a wake
//!         }
//!         send.send(context.waker().clone()).expect("the thread runs");
//!         Poll::Pending
//!     })
//! };
//! # let pool = rangesteal::Pool::new()?;
//! let doubled = pool.on(&[1, 2, 3]).waiting(100).map_collect(async |x| {
//!     nap().await;
//!     2 * x
//! });
//! assert_eq!(doubled, [2, 4, 6]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! # Blocking calls
//! Make blocking calls, such as reading a file, on threads that may block:
//! `tokio::task::spawn_blocking(..).await`, or `blocking::unblock(..).await` of smol. The closures
//! of these functions cannot borrow.
//!
//! ```
//! # let pool = rangesteal::Pool::new()?;
//! # let mut runtime = tokio::runtime::Builder::new_multi_thread();
//! # let runtime = runtime.worker_threads(1).enable_all().build()?;
//! let files = ["Cargo.toml", "README.md"];
//! let lines = pool.on(&files).with(|_worker| runtime.enter()).waiting(16).try_map_reduce(
//!     async |&file| {
//!         let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(file));
//!         let text = read.await.expect("the closure does not panic")?;
//!         Ok::<_, std::io::Error>(text.lines().count())
//!     },
//!     |a, b| a + b,
//! )?;
//! assert!(lines > Some(10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it can hang
//! If an item is never woken, its loop waits for ever, without using a CPU. So
//!
//! * **never call the loop from `async` code**: neither in a task nor inside `block_on`. From
//!   there, use `spawn_blocking` or `block_in_place`. (Inside tokio, a reactor on another thread
//!   does not help: tokio gives a task a budget of 128 ready operations, and renews it only when
//!   the task returns, which is after the loop.)
//! * **no item may wait for another item of the same loop**, because the other item may never
//!   begin;
//! * **no poll may block**, because its worker blocks with it.
//!
//! # What the report says
//! [`RunReport::waits`](crate::RunReport::waits) of [a report](super::reports) says where the time
//! went:
//!
//! | you see | remedy |
//! |---|---|
//! | `most_in_flight` near the limit, a long time `asleep` | raise the limit, if the service can bear it |
//! | `most_in_flight` far below the limit, a long time `asleep` | the service is slow, or there are too few items |
//! | no time `asleep` | none: the workers always had an item to poll |
//!
//! # When not to use it
//! A server has no last item, so use a runtime for a server. If other threads of the program
//! compute meanwhile, blocking a thread costs little.
