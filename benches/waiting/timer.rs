//! The timers that items wait for. This bench has its own timer thread. Other timers are those of
//! tokio and of `async-io`.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

/// Makes futures that are ready after a time.
pub(crate) trait Timer: Copy + Send + Sync + 'static {
    fn wait(self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// The timer of this bench's own thread.
#[derive(Clone, Copy)]
pub(crate) struct Own;

/// Needs an entered runtime of tokio.
#[derive(Clone, Copy)]
pub(crate) struct Tokio;

#[derive(Clone, Copy)]
pub(crate) struct AsyncIo;

impl Timer for Own {
    fn wait(self, time: Duration) -> impl Future<Output = ()> + Send {
        Nap { due: ALARMS.tick_in(time), is_set: false }
    }
}

impl Timer for Tokio {
    fn wait(self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

impl Timer for AsyncIo {
    async fn wait(self, time: Duration) {
        async_io::Timer::after(time).await;
    }
}

/// Starts the thread, which inherits the mask of the caller.
pub(crate) fn start() {
    LazyLock::force(&ALARMS);
    thread::spawn(|| ALARMS.ring());
}

/// Times are rounded up to a multiple of this. So one wake-up of the thread serves many futures,
/// and the thread takes less CPU time from the entrants.
const TICK: Duration = Duration::from_micros(100);

static ALARMS: LazyLock<Alarms> = LazyLock::new(|| Alarms {
    start: Instant::now(),
    due: Mutex::new(Due { wakers: BTreeMap::new(), next: AWAKE }),
    earlier: Condvar::new(),
});

/// The thread is awake, and will read the map of wakers before it sleeps.
const AWAKE: u64 = 0;

/// The waiting futures and their times.
struct Alarms {
    start: Instant,
    due: Mutex<Due>,
    /// Notified when a future waits for a time before the end of the thread's sleep.
    earlier: Condvar,
}

struct Due {
    /// The wakers by tick since the start.
    wakers: BTreeMap<u64, Vec<Waker>>,
    /// The tick until which the thread sleeps.
    next: u64,
}

impl Alarms {
    /// The first tick at or after `time` from now.
    fn tick_in(&self, time: Duration) -> u64 {
        let since_start = self.start.elapsed() + time;
        (since_start.as_nanos() as u64).div_ceil(TICK.as_nanos() as u64)
    }

    fn is_over(&self, tick: u64) -> bool {
        self.start.elapsed() >= time_of(tick)
    }

    fn lock(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, tick: u64, waker: Waker) {
        let mut due = self.lock();
        due.wakers.entry(tick).or_default().push(waker);
        let is_earlier = tick < due.next;
        if is_earlier {
            due.next = AWAKE;
        }
        drop(due);
        if is_earlier {
            self.earlier.notify_one();
        }
    }

    /// Wakes futures when they are due, in an endless loop.
    fn ring(&self) {
        let mut due = self.lock();
        loop {
            due.next = AWAKE;
            let first = due.wakers.first_key_value().map(|(tick, _)| *tick);
            due = match first {
                Some(tick) if self.is_over(tick) => {
                    let wakers = due.wakers.remove(&tick);
                    drop(due);
                    wakers.into_iter().flatten().for_each(Waker::wake);
                    self.lock()
                }
                Some(tick) => {
                    due.next = tick;
                    let time = time_of(tick).saturating_sub(self.start.elapsed());
                    let woken = self.earlier.wait_timeout(due, time);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    due.next = u64::MAX;
                    self.earlier.wait(due).unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }
}

fn time_of(tick: u64) -> Duration {
    Duration::from_nanos(tick * TICK.as_nanos() as u64)
}

/// A future that is ready at a tick.
struct Nap {
    due: u64,
    is_set: bool,
}

impl Future for Nap {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The first poll comes at once. Later polls may come too early, and with another waker.
        if self.is_set && ALARMS.is_over(self.due) {
            return Poll::Ready(());
        }
        self.is_set = true;
        ALARMS.set(self.due, context.waker().clone());
        Poll::Pending
    }
}
