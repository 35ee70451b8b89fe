//! Random schedules of loops that are too large for loom: 8 workers, 1,000 items. A failure prints
//! the seed of its schedule ("failing seed"). If `SHUTTLE_RANDOM_SEED` is set to that seed, the
//! same test begins with that schedule. shuttle does not model weak memory: loom and `litmus.rs`
//! check the fences.

use std::sync::Mutex;

use shuttle::{
    Config, FailurePersistence, Runner,
    rand::{Rng, thread_rng},
    scheduler::RandomScheduler,
};

use super::{
    frame::{Frame, enter_and_leave, leave_too_early, share_loops},
    team::Team,
    *,
};
use crate::{
    clock::Instant,
    pool::{
        engine::handles::{CancelToken, Watch},
        place::placement::Pinning,
    },
};

const WORKERS: usize = 8;
const ITEMS: usize = 1000;

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 18; // for panics
    config.failure_persistence = FailurePersistence::None; // the seed is enough
    config.silence_warnings = true; // shuttle treats all orderings as `SeqCst`, see above
    config
}

/// Runs `model` in this number of random schedules, which differ in each run.
fn fuzz(schedules: usize, model: impl Fn() + Sync + Send + 'static) {
    Runner::new(RandomScheduler::new(schedules), config()).run(model);
}

/// A team makes calls of `items` items each, which are partitioned at random bounds. The calls have
/// `ITEMS` items in total.
fn calls(items: usize, call: impl Fn(&Team, usize, &[usize])) {
    let team = Team::new(WORKERS);
    for _ in 0..ITEMS / items {
        call(&team, items, &[(); WORKERS - 1].map(|()| thread_rng().gen_range(0..=items)));
    }
}

/// Few items: all workers soon reach the end of their ranges.
const FEW: usize = 20;

fn whole(team: &Team, items: usize, bounds: &[usize]) {
    team.call(items, bounds, &[], Watch::default());
}

/// Up to three items panic.
fn panicking(team: &Team, items: usize, bounds: &[usize]) {
    let mut panics: Vec<_> = (0..3).map(|_| thread_rng().gen_range(0..items)).collect();
    panics.sort_unstable();
    team.call(items, bounds, &panics, Watch::default());
}

/// A call is cancelled, and then the same call runs completely.
fn cancelled(team: &Team, items: usize, bounds: &[usize]) {
    let token = CancelToken::new();
    let other = {
        let (token, later) = (token.clone(), thread_rng().gen_range(0..400));
        thread::spawn(move || {
            (0..later).for_each(|_| thread::yield_now());
            token.cancel();
        })
    };
    team.call(items, bounds, &[], Watch { cancel: Some(&token), ..Watch::default() });
    team.call(items, bounds, &[], Watch::default());
    other.join().unwrap();
}

#[test]
fn a_seed_makes_the_same_schedule_again() {
    let log = || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&log);
        Runner::new(RandomScheduler::new_from_seed(1, 20), config()).run(move || {
            calls(ITEMS, |team, items, bounds| {
                let begin = Instant::now();
                whole(team, items, bounds);
                seen.lock().unwrap().push((team.thefts(), begin.elapsed()));
            });
        });
        log.lock().unwrap().clone()
    };
    assert_eq!(log(), log());
}

#[test]
fn large_calls() {
    fuzz(5000, || calls(ITEMS, whole));
}

#[test]
fn small_calls() {
    fuzz(1000, || calls(FEW, whole));
}

#[test]
fn large_calls_that_panic() {
    fuzz(5000, || calls(ITEMS, panicking));
}

#[test]
fn small_calls_that_panic() {
    fuzz(1000, || calls(FEW, panicking));
}

#[test]
fn large_calls_that_are_cancelled() {
    fuzz(4000, || calls(ITEMS, cancelled));
}

#[test]
fn small_calls_that_are_cancelled() {
    fuzz(500, || calls(FEW, cancelled));
}

fn many_loops(work: fn(&Frame, usize)) {
    share_loops(WORKERS, 20, work);
}

#[test]
fn many_come_late() {
    fuzz(5000, || many_loops(enter_and_leave));
}

#[test]
#[should_panic(expected = "a job from another loop")]
fn many_leave_too_early() {
    fuzz(1000, || many_loops(leave_too_early));
}

/// Loops over lists that grow, on a whole pool: six trees of up to 200 items, one after the other.
/// Workers leave these loops and are called back.
fn lists() {
    const TREES: [usize; 6] = [200, 1, 30, 0, 3, 100];
    let pool = crate::Pool::builder().num_threads(4).pinning(Pinning::Off).build().unwrap();
    for end in TREES {
        let claims = Claims::new(end);
        let folded = pool.grow((0..end).take(2)).fold_unordered(
            || 0,
            |folded, item, feed| {
                claims.claim(item..item + 1);
                thread::yield_now();
                feed.extend([2 * item + 2, 2 * item + 3].into_iter().filter(|child| *child < end));
                folded + 1
            },
            |a, b| a + b,
        );
        claims.assert_all_before(end);
        assert_eq!(folded, end, "a result is lost");
    }
}

#[test]
fn lists_that_grow() {
    fuzz(5000, lists);
}

/// A thread that wakes items. Items send their wakers to this thread.
struct Service(shuttle::sync::mpsc::Sender<std::task::Waker>);

impl Service {
    fn start() -> (Arc<Self>, thread::JoinHandle<()>) {
        let (send, asked) = shuttle::sync::mpsc::channel();
        let serve = move || {
            while let Ok(waker) = asked.recv() {
                std::task::Waker::wake_by_ref(&waker);
                if thread_rng().gen_bool(0.2) {
                    waker.wake(); // without an event
                }
            }
        };
        (Arc::new(Self(send)), thread::spawn(serve))
    }

    /// Waits for `times` wake-ups.
    async fn call(&self, times: usize) {
        let mut asked = 0;
        std::future::poll_fn(|context| {
            if asked == times {
                return std::task::Poll::Ready(());
            }
            asked += 1;
            self.0.send(context.waker().clone()).expect("the service runs");
            std::task::Poll::Pending
        })
        .await;
    }
}

/// Loops whose items wait, on a whole pool. The loops have 200 items, and at most 1, 3 or 200 items
/// in flight. Each loop completes, or stops at an item.
fn waits() {
    const WAITING: usize = 200;
    let pool = crate::Pool::builder().num_threads(4).pinning(Pinning::Off).build().unwrap();
    let (service, served) = Service::start();
    for (limit, stops) in [(1, false), (3, false), (3, true), (WAITING, false), (WAITING, true)] {
        let claims = Claims::new(WAITING);
        let stop = if stops { thread_rng().gen_range(0..WAITING) } else { WAITING };
        let on = pool.on(0..WAITING).waiting(limit);
        let sum = on.try_map_reduce(
            async |item| {
                claims.claim(item..item + 1);
                service.call(item % 3).await;
                if item < stop { Ok(item) } else { Err(item) }
            },
            |a, b| a + b,
        );
        claims.assert_all_before(stop);
        assert_eq!(sum, if stops { Err(stop) } else { Ok(Some(WAITING * (WAITING - 1) / 2)) });
    }
    drop(service);
    served.join().unwrap();
}

#[test]
fn items_that_wait() {
    fuzz(1000, waits);
}

/// Random nests of loops and joins on a whole pool, by two callers. The first caller holds a lock
/// around each of its loops, and items of the second caller take that lock.
fn nests() {
    fn nest(pool: &crate::Pool, levels: usize, leaf: &(dyn Fn() + Sync)) {
        let items = thread_rng().gen_range(2..6);
        let claims = Claims::new(items);
        pool.on(0..items).for_each(|item| {
            claims.claim(item..item + 1);
            thread::yield_now();
            match thread_rng().gen_range(0..4) {
                _ if levels == 0 => leaf(),
                0 | 1 => nest(pool, levels - 1, leaf),
                2 => drop(pool.join(leaf, || nest(pool, levels - 1, leaf))),
                _ => leaf(),
            }
        });
        claims.assert_all_before(items);
    }

    let pool = Arc::new(crate::Pool::builder().num_threads(3).pinning(Pinning::Off).build().unwrap());
    let lock = Arc::new(shuttle::sync::Mutex::new(()));
    let other = {
        let (pool, lock) = (Arc::clone(&pool), Arc::clone(&lock));
        thread::spawn(move || {
            nest(&pool, 2, &|| {
                drop(lock.lock().unwrap());
                thread::yield_now();
            });
        })
    };
    for _ in 0..3 {
        let held = lock.lock().unwrap();
        nest(&pool, 1, &thread::yield_now);
        drop(held);
    }
    other.join().unwrap();
}

#[test]
fn loops_inside_loops() {
    fuzz(8000, nests);
}

#[cfg(planted)]
mod planted {
    use super::*;

    /// Runs `model` with a bug until it is found, in at most a thousand schedules, which are the
    /// same in each run.
    fn find(bug: Bug, model: impl Fn() + Sync + Send + 'static) {
        const SEED: u64 = 1;
        with(bug, || {
            Runner::new(RandomScheduler::new_from_seed(SEED, 1000), config()).run(model);
        });
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn thieves_that_keep_too_much() {
        find(Bug::KeepsOneTooMany, || calls(ITEMS, whole));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn thieves_that_let_go_undecided() {
        find(Bug::LetsGoUndecided, || calls(FEW, whole));
    }

    #[test]
    #[should_panic(expected = "another panic came out")]
    fn the_last_panic_comes_out() {
        find(Bug::LastPanicCounts, || calls(ITEMS, panicking));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn cuts_that_lock_nothing() {
        find(Bug::CutsUnlocked, || calls(ITEMS, panicking));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn cuts_that_lengthen_ranges() {
        find(Bug::CutsLonger, || calls(ITEMS, panicking));
    }

    #[test]
    #[should_panic(expected = "left out")]
    fn a_token_that_still_knows_a_loop_that_is_over() {
        find(Bug::StaysWithToken, || calls(FEW, cancelled));
    }

    #[test]
    #[should_panic(expected = "a job from another loop")]
    fn a_caller_that_waits_for_nobody() {
        find(Bug::WaitsForNobody, || many_loops(enter_and_leave));
    }

    /// The worker that comes late is not counted where its caller waits. `barriers` has the other
    /// end of this bug, a job of another loop, which few random schedules reach first.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_retracts_nothing() {
        find(Bug::RetractsNothing, || many_loops(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_is_not_woken() {
        find(Bug::LooksBeforeItLeaves, || many_loops(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn threads_that_sleep_for_ever() {
        find(Bug::WakesBeforeItStops, || drop(Team::new(WORKERS)));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn lists_whose_thieves_take_what_is_claimed() {
        find(Bug::TakesWhatIsClaimed, lists);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn lists_whose_caller_is_not_woken() {
        find(Bug::LooksBeforeItLeaves, lists);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn items_that_wait_for_a_worker_that_has_not_watched() {
        find(Bug::SleepsUnwatched, waits);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn items_that_wait_and_are_let_go_by_a_store() {
        find(Bug::SuspendsByStore, waits);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loops_whose_callers_help_any_loop() {
        find(Bug::HelpsAnybody, nests);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loops_inside_loops_whose_caller_is_not_woken() {
        find(Bug::LooksBeforeItLeaves, nests);
    }
}
