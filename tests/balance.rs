//! Tests of load balance. Balance depends on time, so these tests run in a process of their own,
//! with no other tests beside them.

mod busy;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use busy::{Others, work};
use rangesteal::Pool;

/// The costs of 10,000 items: 0, except a run of 64 heavy items. Also returns the lock that keeps
/// the tests from running at the same time. `None` if the machine has one CPU, since there is
/// nothing to balance.
fn heavy_run() -> Option<(Vec<u64>, impl Drop)> {
    static ALONE: Mutex<()> = Mutex::new(());
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("SKIPPED: one CPU has nothing to balance");
        return None;
    }
    let costs = (0..10_000).map(|i| if (3333..3397).contains(&i) { 50_000 } else { 0 }).collect();
    Some((costs, ALONE.lock().unwrap_or_else(PoisonError::into_inner)))
}

#[test]
fn the_next_round_needs_fewer_thefts() {
    let Some((items, _alone)) = heavy_run() else { return };
    let fewer = |_| {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let thefts = || {
            let before = pool.thefts();
            pool.for_each(&items, |cost| work(*cost));
            pool.thefts() - before
        };
        let first = thefts();
        let mut later: Vec<u64> = (0..20).map(|_| thefts()).collect();
        later.sort_unstable();
        2 * later[10] <= first
    };
    // If other programs take a core, the pool learns again in each round.
    let others = Others::watch();
    assert!((0..50).any(fewer) || others.have_a_cpu(), "as many thefts in later rounds as in the first");
}

#[test]
fn heavy_items_in_a_row_are_shared_one_by_one() {
    // The worker that begins the heavy run must not keep the whole run. With two workers, a share
    // may exceed one half by at most one block: the block that contains the start of the run.
    let Some((items, _alone)) = heavy_run() else { return };
    let heavy_here = |pool: &Pool| {
        let caller = thread::current().id();
        let mine = AtomicUsize::new(0);
        pool.for_each(&items, |cost| {
            work(*cost);
            if *cost > 0 && thread::current().id() == caller {
                mine.fetch_add(1, Relaxed);
            }
        });
        mine.into_inner()
    };
    // A pool of its own for few rounds: while other programs take a core, a pool learns to run the
    // loop alone.
    let second_and_fifth_round = || {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        [0; 5].map(|_| heavy_here(&pool)).into_iter().skip(1).step_by(3)
    };
    // If other programs take a core, the fair share differs. So the test waits for five rounds with
    // both cores.
    let (begin, others, mut shares) = (Instant::now(), Others::watch(), Vec::new());
    while shares.iter().filter(|share| (24..=40).contains(*share)).count() < 5 {
        let is_late = begin.elapsed() > Duration::from_secs(20);
        if is_late && others.have_a_cpu() {
            return;
        }
        assert!(!is_late, "heavy items on the caller: {shares:?}");
        shares.extend(second_and_fifth_round());
    }
}

#[test]
fn a_loop_that_was_brief_and_turns_long_is_shared() {
    let Some(_alone) = heavy_run() else { return };
    let items = [(); 64];
    let pool = Pool::builder().num_threads(2).build().unwrap();
    // One place calls the loop: a loop is known by its place in the program.
    let on_the_helper = |nanos| {
        let (caller, there) = (thread::current().id(), AtomicUsize::new(0));
        pool.for_each(&items, |()| {
            work(nanos);
            if thread::current().id() != caller {
                there.fetch_add(1, Relaxed);
            }
        });
        there.into_inner()
    };
    // If other programs take a core, the helper gets few items.
    let shares = |_| {
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(1)); // so helpers sleep, and nothing is worth a wake-up
            on_the_helper(150);
        }
        (16..48).contains(&on_the_helper(150_000))
    };
    let others = Others::watch();
    assert!((0..20).any(shares) || others.have_a_cpu(), "10 ms on the calling thread alone");
}
