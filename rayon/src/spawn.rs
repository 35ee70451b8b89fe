//! Tasks that outlive their caller, and calls on each thread of a pool.

use std::marker::PhantomData;

use crate::{
    pool::{Seat, Shared, current, on_its_host, worker},
    watch::can_help,
};

/// Runs `func` on a thread of the pool of this thread's loops, and returns at once. Inside a pool
/// of one thread, `func` begins when this thread leaves the pool, or after some milliseconds. A
/// panic of `func` goes to the [`panic_handler`](crate::ThreadPoolBuilder::panic_handler); without
/// one it aborts the process.
///
/// ```
/// # use rangesteal_rayon as rayon;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon::spawn(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn<F: FnOnce() + Send + 'static>(func: F) {
    spawn_on(&current(), func, false);
}

/// [`spawn()`], in order: those that a thread spawns inside a pool of one thread begin in the order
/// in which they are spawned. All others do so in any case.
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(func: F) {
    spawn_on(&current(), func, true);
}

/// Calls `op` once on each thread of the pool of this thread's loops, and returns the results in
/// the order of the threads. This thread is one of them.
///
/// ```
/// # use rangesteal_rayon as rayon;
/// let numbers = rayon::broadcast(|context| context.index());
/// assert!(numbers.into_iter().eq(0..rayon::current_num_threads()));
/// ```
pub fn broadcast<OP: Fn(BroadcastContext<'_>) -> R + Sync, R: Send>(op: OP) -> Vec<R> {
    on_its_host!(|pool| broadcast_on(pool, &op))
}

/// Calls `op` once on each thread of the pool of this thread's loops, and returns at once.
pub fn spawn_broadcast<OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static>(op: OP) {
    spawn_broadcast_on(&current(), op);
}

pub(crate) fn spawn_on(pool: &Shared, func: impl FnOnce() + Send + 'static, is_in_order: bool) {
    let own = pool.clone();
    let task = move || {
        let _seat = Seat::take(&own);
        func();
    };
    if pool.num_threads() == 1 && worker(Some(pool)).is_some() && can_help() {
        pool.local().add(pool, Box::new(task), is_in_order);
    } else {
        pool.spawn(task);
    }
}

pub(crate) fn broadcast_on<R: Send>(pool: &Shared, op: impl Fn(BroadcastContext<'_>) -> R + Sync) -> Vec<R> {
    pool.broadcast(|index| {
        let _seat = Seat::take(pool);
        op(BroadcastContext::new(pool, index))
    })
}

pub(crate) fn spawn_broadcast_on(pool: &Shared, op: impl Fn(BroadcastContext<'_>) + Send + Sync + 'static) {
    let own = pool.clone();
    pool.spawn_broadcast(move |index| {
        let _seat = Seat::take(&own);
        op(BroadcastContext::new(&own, index));
    });
}

/// The argument of a call of [`broadcast`] on one thread.
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    of: PhantomData<&'a dyn Sync>,
}

impl BroadcastContext<'_> {
    pub(crate) fn new(pool: &Shared, index: usize) -> Self {
        Self { index, num_threads: pool.num_threads(), of: PhantomData }
    }

    /// The number of the thread that runs this call, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of the calls.
    #[must_use]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}
