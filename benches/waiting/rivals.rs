//! The implementations with rivals.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Condvar, Mutex},
    thread,
};

use async_executor::Executor;
use futures::{StreamExt, executor::block_on, stream};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use tokio::{runtime::Runtime, task::JoinSet};

/// The stack size of the threads that run one item each.
const STACK: usize = 64 << 10;

/// One task per item, spawned from inside the runtime.
pub(crate) fn tokio<T, F>(
    runtime: &Runtime,
    items: &Arc<[T]>,
    limit: Option<usize>,
    run: impl Fn(T) -> F + Send + 'static,
) -> u64
where
    T: Copy + Send + Sync + 'static,
    F: Future<Output = u64> + Send + 'static,
{
    let items = Arc::clone(items);
    let all = async move {
        let room = limit.map(|limit| Arc::new(tokio::sync::Semaphore::new(limit)));
        let mut tasks = JoinSet::new();
        for &item in &*items {
            let mut place = None;
            if let Some(room) = &room {
                place = Some(Arc::clone(room).acquire_owned().await.expect("it is never closed"));
            }
            let item = run(item);
            tasks.spawn(async move {
                let result = item.await;
                drop(place);
                result
            });
        }
        let mut sum = 0_u64;
        while let Some(result) = tasks.join_next().await {
            sum = sum.wrapping_add(result.expect("no item panics"));
        }
        sum
    };
    runtime.block_on(runtime.spawn(all)).expect("no item panics")
}

/// One task per item. The calling thread is one of the executor's threads.
pub(crate) fn async_executor<T, F>(
    executor: &Executor<'static>,
    items: &Arc<[T]>,
    limit: Option<usize>,
    run: impl Fn(T) -> F,
) -> u64
where
    T: Copy,
    F: Future<Output = u64> + Send + 'static,
{
    let all = async {
        let room = limit.map(|limit| Arc::new(async_lock::Semaphore::new(limit)));
        let mut tasks = Vec::with_capacity(items.len());
        for &item in &**items {
            let mut place = None;
            if let Some(room) = &room {
                place = Some(room.acquire_arc().await);
            }
            let item = run(item);
            tasks.push(executor.spawn(async move {
                let result = item.await;
                drop(place);
                result
            }));
        }
        let mut sum = 0_u64;
        for task in tasks {
            sum = sum.wrapping_add(task.await);
        }
        sum
    };
    async_io::block_on(executor.run(pin!(all)))
}

/// All items on the calling thread.
pub(crate) fn unordered<T: Copy, F: Future<Output = u64>>(
    items: &[T],
    limit: Option<usize>,
    run: impl Fn(T) -> F,
) -> u64 {
    let results = stream::iter(items).map(|item| run(*item)).buffer_unordered(limit.unwrap_or(usize::MAX));
    block_on(results.fold(0_u64, async |sum, result| sum.wrapping_add(result)))
}

/// Threads of rayon, blocked while an item waits.
pub(crate) fn rayon<T: Sync>(
    pool: &rayon::ThreadPool,
    items: &[T],
    run: impl Fn(&T) -> u64 + Send + Sync,
) -> u64 {
    pool.install(|| items.par_iter().map(run).reduce(|| 0, u64::wrapping_add))
}

/// One thread per item.
pub(crate) fn threads<T: Sync>(items: &[T], limit: Option<usize>, run: impl Fn(&T) -> u64 + Sync) -> u64 {
    let room = Room { left: Mutex::new(limit.unwrap_or(items.len())), more: Condvar::new() };
    thread::scope(|scope| {
        let (run, room) = (&run, &room);
        let start = |item| {
            room.enter();
            let run = move || {
                let result = run(item);
                room.leave();
                result
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run).expect("a thread")
        };
        let threads: Vec<_> = items.iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no item panics")).fold(0, u64::wrapping_add)
    })
}

/// For at most this many threads at once.
struct Room {
    left: Mutex<usize>,
    more: Condvar,
}

impl Room {
    fn enter(&self) {
        let left = self.left.lock().expect("no thread panics");
        *self.more.wait_while(left, |left| *left == 0).expect("no thread panics") -= 1;
    }

    fn leave(&self) {
        *self.left.lock().expect("no thread panics") += 1;
        self.more.notify_one();
    }
}
