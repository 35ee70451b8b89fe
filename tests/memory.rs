//! Tests of failing allocations, and of memory that is not returned. This binary has its own
//! allocator, so its tests are few. The tests run one by one, each in a child.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // an allocator

mod busy;
mod child;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    future::poll_fn,
    os::unix::process::ExitStatusExt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed},
    },
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use child::{is_child, passed, run};
use nix::libc;
use rangesteal::Pool;

/// The number of allocated bytes.
static LIVE: AtomicIsize = AtomicIsize::new(0);
/// The maximum of allocated bytes so far.
static MOST_LIVE: AtomicIsize = AtomicIsize::new(0);
/// The number of allocations until an allocation fails. If this number is huge, no allocation
/// fails.
static UNTIL_FAILURE: AtomicUsize = AtomicUsize::new(usize::MAX / 2);
/// Requests of more bytes than this fail.
const MOST: usize = 1 << 40;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

impl Counting {
    fn has(size: usize) -> bool {
        UNTIL_FAILURE.fetch_sub(1, Relaxed) != 0 && size <= MOST
    }
}

// SAFETY: 1. all memory comes from the system's allocator, and an allocator may fail; 2. no
// function unwinds; 3. atomics do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::has(layout.size()) {
            return std::ptr::null_mut();
        }
        let live = LIVE.fetch_add(layout.size().cast_signed(), Relaxed) + layout.size().cast_signed();
        MOST_LIVE.fetch_max(live, Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size().cast_signed(), Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

fn pool() -> Pool {
    Pool::builder().num_threads(3).build().expect("a pool of three")
}

/// Runs a loop that is shared, and whose results are allocated.
fn collect(pool: &Pool) {
    let texts: Vec<_> = pool
        .on(0..100)
        .map(|i| {
            busy::work(10_000);
            i.to_string()
        })
        .collect();
    assert!(texts.iter().enumerate().all(|(i, text)| text.parse() == Ok(i)));
}

/// A loop over a million items, of which up to a hundred wait. The hundredth item that waits wakes
/// all waiting items.
#[test]
fn a_million_items_that_wait_take_little() {
    const ITEMS: usize = 1_000_000;
    const LIMIT: usize = 100;
    if !in_child("a_million_items_that_wait_take_little") {
        return;
    }
    let (pool, waiting, begun) = (pool(), &Mutex::new(Vec::<Waker>::new()), &AtomicUsize::new(0));
    let wait = || {
        let mut has_begun = false;
        poll_fn(move |context| {
            if std::mem::replace(&mut has_begun, true) {
                return Poll::Ready(());
            }
            // The count changes under the lock. Otherwise the item that is counted last might wake
            // the list before another item is in the list. Then nothing would wake that other item.
            let mut waiting = waiting.lock().unwrap();
            let all = begun.fetch_add(1, Relaxed) + 1;
            waiting.push(context.waker().clone());
            if waiting.len() == LIMIT || all == ITEMS {
                waiting.drain(..).for_each(Waker::wake);
            }
            Poll::Pending
        })
    };
    let run = async |item: usize| {
        wait().await;
        item
    };
    let future = size_of_val(&run(0));
    waiting.lock().unwrap().reserve(LIMIT);
    for round in 0..2 {
        begun.store(0, Relaxed);
        let before = LIVE.load(Relaxed);
        MOST_LIVE.store(before, Relaxed);
        let sum = pool.on(0..ITEMS).waiting(LIMIT).map_reduce(run, |a, b| a + b);
        assert_eq!(sum, Some(ITEMS * (ITEMS - 1) / 2));
        let most = MOST_LIVE.load(Relaxed) - before;
        println!("round {round}: {most} bytes, for futures of {future} bytes");
        assert!(most < 64 << 10, "{most} bytes, for futures of {future} bytes");
    }
}

/// Fills a vector with capacity repeatedly, as an iterative algorithm does with its results.
#[test]
fn what_has_room_is_collected_without_allocating() {
    const ITEMS: usize = 100_000;
    if !in_child("what_has_room_is_collected_without_allocating") {
        return;
    }
    let alone = Pool::builder().num_threads(1).build().unwrap();
    let (pool, xs, mut squares) = (pool(), vec![7_u64; ITEMS], Vec::with_capacity(ITEMS));
    // Loops on one thread allocate nothing, and shared loops allocate no results.
    for (pool, most_bytes) in [(&alone, 0), (&pool, ITEMS / 4)] {
        for round in 0..5 {
            squares.clear();
            let before = LIVE.load(Relaxed);
            MOST_LIVE.store(before, Relaxed);
            pool.on(&xs).map(|x| x * x).collect_into(&mut squares);
            let most = (MOST_LIVE.load(Relaxed) - before).unsigned_abs();
            assert!(round == 0 || most <= most_bytes, "round {round}: {most} bytes");
            assert!(squares.len() == ITEMS && squares.capacity() == ITEMS && squares[ITEMS - 1] == 49);
            let sum = pool.on(&xs).map(|x| x * 3).filter(|x| x % 2 == 1).sum::<u64>();
            assert_eq!(sum, 21 * ITEMS as u64);
        }
    }
}

fn in_child(name: &str) -> bool {
    let is_child = is_child();
    if !is_child {
        passed(&run(&[], name, &[]));
    }
    is_child
}

#[test]
fn the_kth_allocation_fails() {
    const NAME: &str = "the_kth_allocation_fails";
    const K: &str = "RANGESTEAL_TEST_K";
    if is_child() {
        let k = std::env::var(K).unwrap().parse().unwrap();
        let warm = pool();
        collect(&warm);
        UNTIL_FAILURE.store(k, Relaxed);
        collect(&warm);
        let mut numbers: Vec<u32> = (0..50_000).rev().map(|x| x ^ 0x55).collect();
        warm.sort(&mut numbers);
        collect(&pool());
        let was_enough = UNTIL_FAILURE.swap(usize::MAX / 2, Relaxed) <= usize::MAX / 2;
        assert!(numbers.is_sorted());
        println!("{}", if was_enough { "enough" } else { "did without" });
        return;
    }
    // Makes allocations of the closure, the loops, the sort and the new pool fail. Later
    // allocations fail less and less often. If std has no memory to read a system file, the file
    // counts as unreadable.
    let (mut k, mut failed) = (0, 0);
    loop {
        let output = run(&[], NAME, &[(K, &k.to_string())]);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() && stdout.contains("enough") {
            break;
        }
        if !output.status.success() {
            // The process ends with a message, as std ends it. No thread keeps waiting, and no loop
            // returns without its items.
            let context = format!("allocation {k}: {}\n{stdout}{stderr}", output.status);
            assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{context}");
            assert!(stderr.contains("memory allocation of"), "{context}");
            failed += 1;
        }
        k += 1 + k / 8;
    }
    assert!(failed > 20, "only {failed} allocations failed, of {k}");
}

#[test]
fn more_results_than_memory() {
    const NAME: &str = "more_results_than_memory";
    const LEN: &str = "RANGESTEAL_TEST_LEN";
    if is_child() {
        let pool = pool();
        let len: usize = std::env::var(LEN).unwrap().parse().unwrap();
        let visited = AtomicUsize::new(0);
        let collected = catch_unwind(AssertUnwindSafe(|| {
            pool.on(0..len)
                .map(|i| {
                    visited.fetch_add(1, Relaxed);
                    i
                })
                .collect::<Vec<_>>()
        }));
        let payload = collected.unwrap_err();
        assert!(payload.downcast_ref::<&str>().is_some_and(|text| text.contains("capacity overflow")));
        assert_eq!(visited.into_inner(), 0, "before any item");
        collect(&pool);
        return;
    }
    passed(&run(&[], NAME, &[(LEN, &usize::MAX.to_string())]));
    let output = run(&[], NAME, &[(LEN, &(1usize << 44).to_string())]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{}\n{stderr}", output.status);
    assert!(stderr.contains("memory allocation of 140737488355328 bytes failed"), "{stderr}");
}

#[test]
fn closures_that_may_be_refused_memory() {
    if in_child("closures_that_may_be_refused_memory") {
        let pool = pool();
        for _ in 0..20 {
            let tried = pool.on(0..200).try_for_each(|i| {
                busy::work(5_000);
                let mut buffer: Vec<u8> = Vec::new();
                buffer.try_reserve_exact(if i % 64 == 63 { MOST + 1 } else { i }).map_err(|_| i)
            });
            assert_eq!(tried, Err(63));
        }
    }
}

/// The resources of this process: threads, open files, pages of memory.
fn held() -> [usize; 3] {
    let entries = |path| fs::read_dir(path).unwrap().count();
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let resident = pages.split(' ').nth(1).unwrap().parse().unwrap();
    [entries("/proc/self/task"), entries("/proc/self/fd"), resident]
}

#[test]
fn ten_thousand_pools_leave_nothing() {
    const POOLS: usize = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
    /// On a quiet machine the test takes 4 s, and mostly waits for threads. If many other processes
    /// wait for a CPU, fewer pools suffice.
    const ENOUGH: Duration = Duration::from_secs(60);
    if in_child("ten_thousand_pools_leave_nothing") {
        let pools = |number| {
            let begin = Instant::now();
            for i in 0..number {
                if begin.elapsed() > ENOUGH {
                    eprintln!("SKIPPED: {i} pools took a minute, so there were not {number}");
                    break;
                }
                let pool = Pool::builder().num_threads(if i % 16 == 0 { 4 } else { 2 }).build().unwrap();
                if i % 128 == 0 {
                    collect(&pool);
                } else {
                    assert_eq!(pool.map_reduce(&[1, 2], |x| *x, |a, b| a + b), Some(3));
                }
            }
        };
        pools(300); // makes all allocations that happen only once
        let (live, [threads, files, resident]) = (LIVE.load(Relaxed), held());
        pools(POOLS);
        assert_eq!(LIVE.load(Relaxed), live, "bytes allocated");
        // The system lists a thread for a moment after its join.
        let begin = Instant::now();
        let mut after = held();
        while after[0] > threads && begin.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
            after = held();
        }
        assert!(
            after[0] <= threads && after[1] == files,
            "threads and files: {after:?}, before {threads} and {files}"
        );
        // Memory that the allocator does not count, such as stacks. If each pool lost one page, the
        // sum would be 40 MiB.
        assert!(after[2] < resident + 256 + POOLS / 10, "{} pages, and before {resident}", after[2]);
    }
}

/// The bytes of a pool of two threads before its first shared loop, and of each of its arenas. At
/// first a pool has one arena, and its memory of loops is empty.
#[test]
fn a_pool_takes_little_memory() {
    const POOL: isize = 24 * 1024;
    const ARENA: isize = 2 * 1024;
    if in_child("a_pool_takes_little_memory") {
        /// A loop inside each item, with its own arena if a worker is idle.
        fn nested(pool: &Pool, depth: usize) {
            pool.on(0..2).threads(2).for_each(|_| {
                busy::work(500_000);
                if depth > 0 {
                    nested(pool, depth - 1);
                }
            });
        }
        let build = || Pool::builder().num_threads(2).build().expect("a pool of two");
        nested(&build(), 1); // makes all allocations that happen only once
        let before = LIVE.load(Relaxed);
        let pool = build();
        assert_eq!(pool.map_reduce(&[1, 2], |x| *x, |a, b| a + b), Some(3));
        let built = LIVE.load(Relaxed) - before;
        collect(&pool);
        collect(&pool);
        let shared = LIVE.load(Relaxed) - before;
        (0..20).for_each(|_| nested(&pool, 4));
        let used = LIVE.load(Relaxed) - before;
        println!("a pool of two: {built} bytes, {shared} after two shared loops, {used} after nested loops");
        assert!((1..POOL).contains(&built) && used - shared < 16 * ARENA, "{built}, {shared}, {used}");
    }
}
