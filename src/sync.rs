//! All synchronisation primitives of the crate: those of std; with `--cfg loom` those of loom; with
//! `--cfg shuttle` those of shuttle.

#[cfg(loom)]
mod once;

#[cfg(loom)]
use loom as primitives;
#[cfg(shuttle)]
use shuttle as primitives;
#[cfg(not(any(loom, shuttle)))]
use std as primitives;

pub(crate) use primitives::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread::{Builder as ThreadBuilder, JoinHandle, LocalKey},
    thread_local,
};

#[cfg(loom)]
pub(crate) use once::OnceLock;
#[cfg(not(loom))]
pub(crate) use std::sync::OnceLock;

use std::{
    sync::{PoisonError, TryLockError, TryLockResult},
    time::Duration,
};

/// Locks `mutex`, even if it is poisoned. User code runs under two locks of this crate: that of a
/// worker's kept state, which belongs to the user, and that of a worker's journal. A panic can
/// leave a run of the journal open, and the next run replaces it. No other data of this crate is
/// ever left half-changed. Not inlined: each copy has some 100 bytes.
#[inline(never)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `mutex` if no thread holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    guard(mutex.try_lock())
}

/// The guard of a mutex, even if the mutex is poisoned. `None` if another thread holds the lock.
fn guard<G>(tried: TryLockResult<G>) -> Option<G> {
    match tried {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Waits on `condvar` and releases `guard` while it waits. May wake up spuriously.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Locks a `mutex` that other threads hold for a few microseconds at most. Polls before it sleeps,
/// since sleeping takes longer than the wait.
#[inline(never)]
pub(crate) fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    Patience::BRIEF.poll_for(|| try_lock(mutex)).unwrap_or_else(|| lock(mutex))
}

/// Locks a `mutex` that other threads hold for a few microseconds at most. This thread itself may
/// already hold the lock, since an allocator that is called under the lock may call a loop. Returns
/// `None` if the mutex stays locked.
pub(crate) fn try_lock_soon<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    try_lock(mutex).or_else(|| Patience::BRIEF.poll_for(|| try_lock(mutex)))
}

/// Locks a `mutex` of a static, which other threads hold for a few microseconds, unless they are
/// interrupted. Returns `None` if the mutex is still locked after 100 naps of a millisecond. A
/// mutex that is still locked may be locked for ever: by this thread, or, in a forked child, by a
/// thread that does not exist there. This thread naps, so that the other thread gets the CPU. (100
/// ms of polling failed beside 25 busy threads on two CPUs: the other thread was moved to a CPU
/// while it held the lock, and a global pool had one thread.)
#[allow(unused_qualifications, reason = "models have another `Mutex`")]
pub(crate) fn lock_unless_stuck<T>(mutex: &std::sync::Mutex<T>) -> Option<std::sync::MutexGuard<'_, T>> {
    const POLLS: Patience = Patience::of(Duration::from_micros(100));
    const NAP: Duration = Duration::from_millis(1);
    let try_lock = || guard(mutex.try_lock());
    let after_nap = |_| {
        std::thread::sleep(NAP);
        try_lock()
    };
    let naps = if cfg!(any(loom, shuttle, miri, target_family = "wasm")) { 0 } else { 100 };
    try_lock().or_else(|| POLLS.poll_for(try_lock)).or_else(|| (0..naps).find_map(after_nap))
}

/// How long a thread polls before it sleeps, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Patience(u64);

impl Patience {
    /// How long a thread polls for a lock, and the least time for which it polls for the end of a
    /// loop: 5 µs.
    pub(crate) const BRIEF: Self = Self::of(Duration::from_micros(5));

    pub(crate) const NONE: Self = Self(0);

    #[allow(clippy::cast_possible_truncation, reason = "at most the time of 584 years")]
    pub(crate) const fn of(time: Duration) -> Self {
        let nanos = time.as_nanos();
        Self(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }

    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Polls `get` until it returns a value or the time is over.
    fn poll_for<V>(self, mut get: impl FnMut() -> Option<V>) -> Option<V> {
        let mut got = None;
        self.poll(|| {
            got = get();
            got.is_some()
        });
        got
    }

    /// Polls `ready` until it returns true or the time is over. The result is only a hint, since
    /// polling orders no memory accesses.
    ///
    /// In models this does nothing. A model checker explores the path on which threads sleep;
    /// polling would only multiply its states.
    pub(crate) fn poll(self, mut ready: impl FnMut() -> bool) {
        if cfg!(not(any(loom, shuttle, miri))) {
            self.poll_dyn(&mut ready);
        }
    }

    /// As [`poll`](Self::poll); compiled once for all closures.
    #[inline(never)]
    fn poll_dyn(self, ready: &mut dyn FnMut() -> bool) {
        let (mut begin, time) = (None, Duration::from_nanos(self.0));
        while !self.is_none() {
            for _ in 0..16 {
                if ready() {
                    return;
                }
                std::hint::spin_loop();
            }
            let now = crate::clock::Instant::now();
            if now - *begin.get_or_insert(now) >= time {
                return;
            }
        }
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle, miri))))]
mod tests {
    use std::{sync::mpsc, thread};

    use nix::sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
    };

    use super::*;

    #[test]
    fn a_thread_waits_for_a_lock_whose_holder_is_interrupted() {
        let (mutex, (tell, hear)) = (Mutex::new(()), mpsc::channel());
        thread::scope(|scope| {
            scope.spawn(|| {
                let _locked = mutex.lock().unwrap();
                tell.send(()).unwrap();
                thread::sleep(Duration::from_millis(30));
            });
            hear.recv().unwrap();
            assert!(lock_unless_stuck(&mutex).is_some());
        });
    }

    #[test]
    fn a_thread_that_waits_for_a_lock_leaves_the_cpu_to_others() {
        let used = || {
            let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
            usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds()
        };
        let mutex = Mutex::new(());
        let (_stuck, before) = (mutex.lock().unwrap(), used());
        assert!(lock_unless_stuck(&mutex).is_none());
        assert!(used() - before < 50, "{} ms of CPU time", used() - before);
    }
}
