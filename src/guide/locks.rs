//! Locks and loops: which locks may be held around a loop, and which loops can deadlock.
//!
//! ```
//! use std::sync::Mutex;
//!
//! let pool = rangesteal::Pool::new()?;
//! let table = Mutex::new(vec![0; 100]);
//! pool.on(0..8).for_each(|i| {
//!     let mut table = table.lock().unwrap(); // held until the inner loop ends
//!     pool.on(&mut *table).for_each(|cell| *cell += i);
//! });
//! assert_eq!(table.into_inner().unwrap(), [28; 100]);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! **The rule.** A thread that waits for the end of a loop runs only items of loops that are called
//! inside that loop. A plain program would run the items of an inner loop at the same place, under
//! the same locks. [The last section](#what-can-deadlock) has the remaining deadlocks. A program of
//! plain threads has these deadlocks as well.
//!
//! The tests that this page names are in `tests/locks.rs`. The tests run on pools of 2, 4 and 8
//! threads, with one caller and with several callers.
//!
//! # A lock held across a loop
//! The caller runs the loop under the lock, and idle workers help. Other items that want the lock
//! block their threads meanwhile, so take the lock late and release it early. (Tests
//! `a_lock_is_held_across_an_inner_loop`, `a_lock_is_held_across_a_loop_on_another_pool`,
//! `a_lock_of_each_level_is_held_across_the_levels_below`.)
//!
//! # A lock taken in items
//! Items of any number of simultaneous loops, on one pool or on several, may take the same lock.
//! (Test `items_of_two_loops_at_a_time_take_one_lock`.) If each item adds to one value, a
//! [`fold`](crate::On::fold) needs no lock.
//!
//! # A loop inside `get_or_init`
//! ```
//! use std::sync::OnceLock;
//!
//! let pool = rangesteal::Pool::new()?;
//! let squares = OnceLock::<Vec<u64>>::new();
//! let make = || pool.on(0..100).map(|x| x * x).collect();
//! let sum: u64 = pool.on(0..100).map(|i| squares.get_or_init(make)[i]).sum();
//! assert_eq!(sum, 328_350);
//! # Ok::<(), rangesteal::BuildError>(())
//! ```
//!
//! One item makes the value. Other items that want the value block their threads until the value
//! exists. (Test `values_are_made_by_loops_inside_get_or_init`.) `LazyLock` and `Once` behave like
//! `OnceLock`.
//!
//! # A `RefCell` in a `thread_local!`
//! An item may borrow a thread-local `RefCell`, and call an inner loop during the borrow: its
//! thread runs no other item of the outer loop meanwhile. But the thread of this item runs items of
//! the inner loop, and of loops inside the inner loop. So items of these loops must not borrow the
//! same `RefCell`. (Test `what_an_item_borrows_of_its_thread_is_not_borrowed_by_another_item`.)
//!
//! # Why a waiting thread takes no other work
//! In a pool of tasks, a thread that waits for a stolen task runs another task from a queue. If a
//! task from the queue wants a lock that its thread already holds, the lock is never released:
//! [rayon#592], and in `get_or_init` [rayon#1251]. Here, a caller without further items waits for
//! the threads that are still in its loop, and helps only the loops of these threads. No thread
//! that is still in the loop waits for the caller. So the loops that wait for each other form a
//! tree, and the leaves of this tree make progress. (Test
//! `items_of_two_loops_at_a_time_take_one_lock`.)
//!
//! # What can deadlock
//! * **A lock that the caller holds around a loop while items of the loop take it.** No item can
//!   get the lock, not even an item on the thread of the caller. (Test
//!   `a_lock_that_the_caller_holds_around_a_loop_is_free_to_none_of_its_items`.)
//!
//!   ```
//!   # let pool = rangesteal::Pool::new()?;
//!   let lock = std::sync::Mutex::new(0);
//!   let held = lock.lock().unwrap();
//!   pool.on(0..8).for_each(|_| assert!(lock.try_lock().is_err())); // `lock()` would wait for ever
//!   drop(held);
//!   # Ok::<(), rangesteal::BuildError>(())
//!   ```
//! * **Items of one loop that wait for each other**, by a channel, a barrier or a flag. The waiting
//!   item may run before the awaited item on the same thread:
//!
//!   ```
//!   use std::{sync::mpsc, time::Duration};
//!
//!   let pool = rangesteal::Pool::builder().num_threads(1).build()?;
//!   let (send, receive) = mpsc::sync_channel(1);
//!   let receive = std::sync::Mutex::new(receive);
//!   pool.on(0..2).for_each(|i| match i {
//!       0 => assert!(receive.lock().unwrap().recv_timeout(Duration::from_millis(1)).is_err()),
//!       // Item 1 comes next, on the same thread: `recv()` in item 0 would never return.
//!       _ => send.send(()).unwrap(),
//!   });
//!   # Ok::<(), rangesteal::BuildError>(())
//!   ```
//! * **Two locks in opposite orders**, as in any program. An item holds lock A and wants lock B,
//!   while another item, or the caller of its loop, holds lock B and wants lock A.
//!
//! [rayon#592]: https://github.com/rayon-rs/rayon/issues/592
//! [rayon#1251]: https://github.com/rayon-rs/rayon/issues/1251
