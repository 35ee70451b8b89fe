//! Tests of `join`: results, panics, recursion, and how often a worker helps.

mod busy;

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use busy::{Others, work};
use rangesteal::Pool;

const OFTEN: usize = if cfg!(miri) { 3 } else { 200 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a pool of a few threads")
}

/// A merge sort.
fn sort(pool: &Pool, items: &mut [u32], least: usize) {
    if items.len() <= least.max(1) {
        return items.sort_unstable();
    }
    let (front, back) = items.split_at_mut(items.len() / 2);
    pool.join(|| sort(pool, front, least), || sort(pool, back, least));
    let (mut front, mut back) = (front.iter().copied().peekable(), back.iter().copied().peekable());
    let mut merged = Vec::new();
    while let Some(next) = match (front.peek(), back.peek()) {
        (Some(a), Some(b)) if b < a => back.next(),
        (None, _) => back.next(),
        _ => front.next(),
    } {
        merged.push(next);
    }
    items.copy_from_slice(&merged);
}

#[test]
fn parts_are_sorted_down_to_one_item() {
    for threads in [1, 2, 3, 8] {
        let pool = pool(threads);
        for len in if cfg!(miri) { [0, 1, 20] } else { [0, 1, 5_000] } {
            let mut items: Vec<u32> = (0..len).map(|i: u32| i.wrapping_mul(0x9E37_79B9)).collect();
            let mut sorted = items.clone();
            sorted.sort_unstable();
            sort(&pool, &mut items, 1);
            assert_eq!(items, sorted);
        }
    }
}

/// The caller's closure and its result need not be `Send`.
#[test]
fn the_first_closure_stays_on_the_calling_thread() {
    let (pool, caller) = (pool(2), thread::current().id());
    for _ in 0..OFTEN {
        let local = Rc::new(Cell::new(1));
        let first = || {
            assert_eq!(thread::current().id(), caller);
            work(2_000);
            Rc::clone(&local)
        };
        let (first, second) = pool.join(first, || 2);
        assert_eq!((first.get(), second), (1, 2));
    }
}

#[test]
fn both_run_at_the_same_time() {
    let pool = pool(2);
    // A join that is over does not count as an outer join of the next one.
    (0..100).for_each(|_| assert_eq!(pool.join(|| 1, || 2), (1, 2)));
    let begun = [AtomicBool::new(false), AtomicBool::new(false)];
    // Waits for the other closure to begin. Another program may keep the helper from its CPU.
    let meets = |own: usize| {
        begun[own].store(true, Relaxed);
        let begin = Instant::now();
        while !begun[1 - own].load(Relaxed) && begin.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(1));
        }
        begun[1 - own].load(Relaxed)
    };
    assert_eq!(pool.join(|| meets(0), || meets(1)), (true, true));
}

/// The first closure ends at once, and the second closure is a recursion. Then the waiting caller
/// takes half of the recursion.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn the_caller_helps_what_it_waits_for() {
    fn naps(pool: &Pool, count: u32) {
        match count {
            1 => thread::sleep(Duration::from_millis(5)),
            _ => drop(pool.join(|| naps(pool, count / 2), || naps(pool, count / 2))),
        }
    }
    let pool = pool(2);
    let takes_half = |_| {
        let begin = Instant::now();
        // This lasts long enough for the worker to come.
        pool.join(|| thread::sleep(Duration::from_millis(2)), || naps(&pool, 16));
        begin.elapsed() < Duration::from_millis(60)
    };
    // Other programs may keep the helper from its CPU.
    let others = Others::watch();
    assert!((0..50).any(takes_half) || others.have_a_cpu(), "the caller waits for the whole recursion");
}

/// A value that counts drops.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn the_panic_of_the_first_comes_out_and_everything_is_dropped() {
    let pool = pool(2);
    for panics in [[true, false], [false, true], [true, true]] {
        for nap in [0, 20_000] {
            for _ in 0..OFTEN {
                let dropped = AtomicUsize::new(0);
                let [first, second] = [0, 1].map(|number| {
                    let counted = Counted(&dropped);
                    move || {
                        work(nap);
                        if panics[number] {
                            resume_unwind(Box::new(number)); // no message
                        }
                        counted
                    }
                });
                let panic = catch_unwind(AssertUnwindSafe(|| pool.join(first, second)));
                let expected = usize::from(!panics[0]);
                assert_eq!(panic.err().expect("a panic").downcast_ref(), Some(&expected));
                assert_eq!(dropped.into_inner(), 2);
            }
        }
    }
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

/// The only worker is busy, so this worker does not take the second closure of the inner join.
#[test]
#[cfg_attr(miri, ignore = "polls for a second")]
fn the_second_closure_does_not_run_after_a_panic_of_the_first() {
    let (pool, is_busy, is_over) = (pool(2), AtomicBool::new(false), AtomicBool::new(false));
    let poll = |flag: &AtomicBool| {
        let begin = Instant::now();
        while !flag.load(Relaxed) && begin.elapsed() < Duration::from_secs(1) {
            thread::yield_now();
        }
    };
    let first = || {
        poll(&is_busy);
        let has_run = AtomicBool::new(false);
        let panics = || -> () { resume_unwind(Box::new("first")) };
        let join = || pool.join(panics, || has_run.store(true, Relaxed));
        let panic = catch_unwind(AssertUnwindSafe(join)).expect_err("a panic");
        is_over.store(true, Relaxed);
        assert_eq!((panic.downcast_ref(), has_run.into_inner()), (Some(&"first"), false));
    };
    let second = || {
        is_busy.store(true, Relaxed);
        poll(&is_over);
    };
    pool.join(first, second);
}

/// The first closure panics. So the second closure is dropped, and its drop panics as well.
#[test]
fn a_closure_that_panics_when_it_is_dropped_does_no_harm() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !thread::panicking() {
                resume_unwind(Box::new("dropped"));
            }
        }
    }
    let pool = pool(2);
    for _ in 0..OFTEN {
        let bomb = Bomb;
        let first = || -> () { resume_unwind(Box::new("first")) };
        let second = move || drop(bomb);
        let panic = catch_unwind(AssertUnwindSafe(|| pool.join(first, second))).expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"first"));
    }
}

#[test]
fn loops_and_joins_inside_each_other() {
    fn level(pool: &Pool, levels: usize) -> usize {
        if levels == 0 {
            return pool.on(0..10).map(|_| pool.join(|| 1, || 2)).map(|(a, b)| a + b).sum();
        }
        let (a, b) = pool.join(|| level(pool, levels - 1), || level(pool, levels - 1));
        a + b
    }
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        let callers = if cfg!(miri) { 1 } else { 4 };
        thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| {
                    let levels = if cfg!(miri) { 2 } else { 8 };
                    assert_eq!(level(&pool, levels), 30 << levels);
                });
            }
        });
    }
}

/// An item holds a lock across a join. Threads that hold no lock run both closures.
#[test]
fn a_lock_is_held_across_a_join() {
    let (pool, lock) = (pool(4), Mutex::new(0));
    for _ in 0..OFTEN {
        pool.on(0..8).for_each(|_| {
            let mut held = lock.lock().unwrap();
            let (a, b) = pool.join(|| 1, || 2);
            *held += a + b;
        });
    }
    assert_eq!(lock.into_inner().unwrap(), 24 * OFTEN);
}

/// Ten thousand joins of empty closures, in one level and in many.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn joins_that_are_too_short_wake_nobody() {
    fn count(pool: &Pool, levels: usize, come: &(dyn Fn() + Sync)) {
        if levels > 0 {
            pool.join(|| count(pool, levels - 1, come), || count(pool, levels - 1, come));
        }
        come();
    }
    let (pool, caller) = (pool(2), thread::current().id());
    let elsewhere = AtomicUsize::new(0);
    let come = || {
        elsewhere.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
    };
    for levels in [1, 3] {
        (0..10_000).for_each(|_| count(&pool, levels, &come));
    }
    let elsewhere = elsewhere.into_inner();
    assert!(elsewhere < 5_000, "{elsewhere} of 100,000 on the other thread");
}
