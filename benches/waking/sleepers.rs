//! Threads that sleep, each on a condition variable of its own, as the workers of a pool do.

use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{machine, nanos_since};

/// The order in which threads are woken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// The caller wakes all.
    OneByOne,
    /// The caller wakes two, and each woken thread wakes the next two before it begins, as in
    /// `Barrier::ring_two`.
    Tree,
}

/// What a thread is woken for.
#[derive(Clone, Copy)]
enum Call {
    Begin(Order, Instant),
    Stop,
}

/// What all threads see.
struct Bells {
    places: Vec<(Mutex<Option<Call>>, Condvar)>,
    /// The thread that is woken next, in a tree.
    next: AtomicUsize,
    /// How many have begun, and when the last one did, in nanoseconds since the call.
    begun: AtomicUsize,
    last: AtomicU64,
}

impl Bells {
    fn ring(&self, which: usize, call: Call) {
        let (place, bell) = &self.places[which];
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        bell.notify_one();
    }

    fn ring_two(&self, call: Call) {
        for _ in 0..2 {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            if next < self.places.len() {
                self.ring(next, call);
            }
        }
    }

    fn sleep(&self, me: usize) -> Call {
        let (place, bell) = &self.places[me];
        let place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let called = bell.wait_while(place, |call| call.is_none());
        called.unwrap_or_else(PoisonError::into_inner).take().expect("a call")
    }

    fn work(&self, me: usize) {
        while let call @ Call::Begin(order, since) = self.sleep(me) {
            if order == Order::Tree {
                self.ring_two(call);
            }
            self.last.fetch_max(nanos_since(since), Ordering::Relaxed);
            self.begun.fetch_add(1, Ordering::Release); // partner: `Sleepers::wake`
        }
    }
}

/// The threads. They are spread over the CPUs, as those of a pool.
pub(crate) struct Sleepers {
    bells: Arc<Bells>,
    threads: Vec<JoinHandle<()>>,
}

impl Sleepers {
    pub(crate) fn new(number: usize) -> Self {
        let bells = Arc::new(Bells {
            places: (0..number).map(|_| (Mutex::default(), Condvar::new())).collect(),
            next: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            last: AtomicU64::new(0),
        });
        let cpus = machine::cpus(&machine::mask());
        let start = |me: usize| {
            let (bells, cpu) = (Arc::clone(&bells), cpus[(me + 1) % cpus.len()]);
            thread::spawn(move || {
                machine::pin(cpu);
                bells.work(me);
            })
        };
        let threads = (0..number).map(start).collect();
        machine::settle();
        Self { bells, threads }
    }

    /// The time until the last thread has begun, in microseconds. The caller sleeps for `item` when
    /// it has woken its share.
    pub(crate) fn wake(&self, order: Order, item: Duration) -> f64 {
        let bells = &self.bells;
        bells.last.store(0, Ordering::Relaxed);
        bells.begun.store(0, Ordering::Relaxed);
        bells.next.store(0, Ordering::Relaxed);
        let call = Call::Begin(order, Instant::now());
        match order {
            Order::OneByOne => (0..self.threads.len()).for_each(|which| bells.ring(which, call)),
            Order::Tree => bells.ring_two(call),
        }
        thread::sleep(item);
        while bells.begun.load(Ordering::Acquire) < self.threads.len() {
            thread::sleep(item);
        }
        bells.last.load(Ordering::Relaxed) as f64 / 1e3
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        (0..self.threads.len()).for_each(|which| self.bells.ring(which, Call::Stop));
        for thread in self.threads.drain(..) {
            let _never_panicked = thread.join();
        }
    }
}
