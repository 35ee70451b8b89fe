//! The stack that a loop in an item of a loop takes, and a `join` in a `join`. The documentation of
//! [`Pool`] has these figures. Each level notes how far it is from the level around it.

use std::{
    hint::black_box,
    ptr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use rangesteal::Pool;

/// The place of a level: its thread, and the address of one of its local variables.
type Level = (ThreadId, usize);

const DEPTH: usize = 24;

/// The documented figure, of this build.
fn at_most(optimised: usize, unoptimised: usize) -> usize {
    if cfg!(debug_assertions) { unoptimised } else { optimised }
}

#[inline(never)]
fn here() -> Level {
    let local = 0_u8;
    (thread::current().id(), ptr::from_ref(black_box(&local)).addr())
}

/// The most bytes between two neighbouring levels on one thread, of each kind of level.
#[derive(Default)]
struct Most([AtomicUsize; 2]);

impl Most {
    fn see(&self, kind: usize, outer: Level, inner: Level) {
        if outer.0 == inner.0 {
            self.0[kind].fetch_max(outer.1.abs_diff(inner.1), Ordering::Relaxed);
        }
    }

    fn bytes(self) -> [usize; 2] {
        self.0.map(AtomicUsize::into_inner)
    }
}

/// A loop of two items. The first item calls the same loop, after another thread has taken the
/// second item or some time is over. Levels that run alone have kind 0, and shared levels kind 1.
fn nest(pool: &Pool, depth: usize, most: &Most) -> Level {
    let this = here();
    if depth == 0 {
        return this;
    }
    let has_come = &AtomicBool::new(false);
    pool.on(0..2_u32).for_each(|item| {
        if item == 0 {
            wait_for(has_come, pool.num_threads());
            let inner = nest(pool, depth - 1, most);
            most.see(usize::from(has_come.load(Ordering::Relaxed)), this, inner);
        } else if thread::current().id() != this.0 {
            has_come.store(true, Ordering::Relaxed);
        }
    });
    this
}

#[inline(never)]
fn wait_for(has_come: &AtomicBool, threads: usize) {
    let begin = Instant::now();
    while threads > 1 && !has_come.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_millis(5) {
        thread::yield_now();
    }
}

/// A `join` whose first closure calls the same `join`. The outer half of the levels has kind 1.
fn joins(pool: &Pool, depth: usize, most: &Most) -> Level {
    let this = here();
    if depth > 0 {
        let (inner, ()) = pool.join(|| joins(pool, depth - 1, most), || ());
        most.see(usize::from(depth > DEPTH / 2), this, inner);
    }
    this
}

#[test]
fn a_loop_that_runs_alone_takes_little_stack() {
    let (pool, most) = (Pool::builder().num_threads(1).build().unwrap(), Most::default());
    nest(&pool, DEPTH, &most);
    let [alone, _] = most.bytes();
    assert!(alone > 0 && alone <= at_most(9 << 6, 4 << 10), "{alone} bytes");
}

#[test]
fn a_shared_loop_takes_the_documented_stack() {
    let (pool, most) = (Pool::builder().num_threads(3).build().unwrap(), Most::default());
    // On a busy machine helpers come late.
    for round in 0..1000 {
        nest(&pool, DEPTH, &most);
        if round >= 10 && most.0[1].load(Ordering::Relaxed) > 0 {
            break;
        }
    }
    let [_, shared] = most.bytes();
    assert!(shared > 0 && shared <= at_most(7 << 9, 10 << 10), "{shared} bytes");
}

#[test]
fn a_join_takes_the_documented_stack() {
    for threads in [1, 2] {
        let (pool, most) = (Pool::builder().num_threads(threads).build().unwrap(), Most::default());
        joins(&pool, DEPTH, &most);
        // The inner levels are not offered to workers.
        let [inner, outer] = most.bytes();
        assert!(inner > 0 && inner <= at_most(256, 1 << 10), "{inner} bytes");
        assert!(outer > 0 && outer <= at_most(18 << 6, 4 << 10), "{outer} bytes if offered");
    }
}
