//! Tests of loops whose items wait.

mod busy;

use std::{
    future::poll_fn,
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use busy::Others;
use rangesteal::{CancelToken, Cancelled, Pool, RunReport, source};

/// A thread that wakes the wakers it receives, in a different order. Later the thread wakes each
/// waker a second time.
struct Service(mpsc::Sender<Waker>);

impl Service {
    fn new() -> Self {
        let (send, asked) = mpsc::channel::<Waker>();
        thread::spawn(move || {
            let (mut late, mut random) = (Vec::new(), 1_u32);
            while let Ok(waker) = asked.recv() {
                random = random.wrapping_mul(0x9E37_79B9).wrapping_add(1);
                late.push(waker);
                late.extend(asked.try_iter());
                if random.is_multiple_of(3) {
                    thread::sleep(Duration::from_micros(u64::from(random % 100)));
                }
                late.reverse();
                late.drain(..).for_each(|waker| {
                    waker.wake_by_ref();
                    waker.wake();
                });
            }
        });
        Self(send)
    }

    /// A future that waits until it is woken once.
    async fn call(&self) {
        let mut has_asked = false;
        poll_fn(|context| {
            if has_asked {
                return Poll::Ready(());
            }
            has_asked = true;
            self.0.send(context.waker().clone()).expect("the service runs");
            Poll::Pending
        })
        .await;
    }
}

/// A future that waits for ever.
struct Never;

impl Future for Never {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let _kept_by_nobody = context.waker();
        Poll::Pending
    }
}

/// Thread counts of the tests: fewer under Miri, which is slow.
const THREADS: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 3] };
const ROUNDS: usize = if cfg!(miri) { 10 } else { 200 };

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a pool")
}

#[test]
fn results_are_in_order_and_the_limit_is_kept() {
    let service = &Service::new();
    for &threads in THREADS {
        let pool = pool(threads);
        for limit in [1, 2, 7, usize::MAX] {
            for len in [0_usize, 1, 2, if cfg!(miri) { 9 } else { 50 }] {
                let items: Vec<usize> = (0..len).collect();
                let (now, most) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
                let name = async |&i: &usize| {
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    for _ in 0..i % 4 {
                        service.call().await;
                    }
                    now.fetch_sub(1, SeqCst);
                    format!("{i} ")
                };
                let names: Vec<String> = items.iter().map(|i| format!("{i} ")).collect();
                let on = || pool.on(&items).waiting(limit);
                assert_eq!(on().map_collect(name), names);
                assert_eq!(on().map_reduce(name, |a, b| a + &b), (len > 0).then(|| names.concat()));
                let joined = on().fold(String::new, async |text, i| text + &name(i).await, |a, b| a + &b);
                assert_eq!(joined, names.concat());
                assert!(most.load(SeqCst) <= limit, "{most:?} of {limit}, {threads} threads");
                assert_eq!(now.load(SeqCst), 0);
            }
        }
    }
}

#[test]
fn items_may_be_anything_that_loops_run_over() {
    let (service, pool) = (&Service::new(), &pool(2));
    let words = vec![String::from("a"), String::from("bc"), String::new()];
    let separator = String::from("-");
    let ended = pool.on(&words).waiting(2).map_collect(async |word| {
        service.call().await;
        format!("{word}{separator}")
    });
    assert_eq!(ended, ["a-", "bc-", "-"]);
    let longest: Option<&str> = pool
        .on(&words)
        .waiting(2)
        .map_reduce(async |word| word.as_str(), |a, b| if b.len() > a.len() { b } else { a });
    assert_eq!(longest, Some("bc"));
    let mut numbers: Vec<usize> = (0..100).collect();
    pool.on(&mut numbers).zip(0..100).enumerate().waiting(7).for_each(async |(index, (number, other))| {
        service.call().await;
        *number += index + other;
    });
    assert!(numbers.iter().enumerate().all(|(index, number)| *number == 3 * index));
    let sums = pool.on(&numbers).chunks(30).rev().waiting(3).map_collect(async |chunk| {
        service.call().await;
        chunk.len()
    });
    assert_eq!(sums, [10, 30, 30, 30]);
    let moved = pool.on(words).waiting(2).map_collect(async |word| {
        service.call().await;
        word
    });
    assert_eq!(moved, ["a", "bc", ""]);
}

/// A value that counts drops.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// The place of a panic in user code.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Map,
    FirstPoll,
    LaterPoll,
    Drop,
    Reduce,
}

fn payload(run: impl FnOnce()) -> usize {
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    *panicked.expect_err("it panics").downcast().expect("our own")
}

struct PanicsInDrop(Option<usize>);

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        if let Some(item) = self.0 {
            std::panic::panic_any(item);
        }
    }
}

#[test]
fn the_first_panic_comes_out_and_everything_is_dropped() {
    const FIRST: usize = 30;
    let service = &Service::new();
    for &threads in THREADS {
        let pool = pool(threads);
        for at in [At::Map, At::FirstPoll, At::LaterPoll, At::Drop] {
            for limit in [1, 64, 500] {
                let (made, gone) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
                let panics = |item: usize, now| {
                    if item >= FIRST && item.is_multiple_of(10) && now == at {
                        std::panic::panic_any(item);
                    }
                };
                let payload = payload(|| {
                    pool.on(0..200).waiting(limit).for_each(|item| {
                        panics(item, At::Map);
                        made.fetch_add(1, SeqCst);
                        let counted = Counted(gone);
                        async move {
                            let _counted = counted;
                            let _panics = PanicsInDrop(
                                (at == At::Drop && item >= FIRST && item % 10 == 0).then_some(item),
                            );
                            panics(item, At::FirstPoll);
                            if item > 60 && item % 4 == 3 {
                                Never.await; // dropped while it waits
                            }
                            service.call().await;
                            panics(item, At::LaterPoll);
                        }
                    });
                });
                assert_eq!(payload, FIRST, "{at:?}, {threads} threads, limit {limit}");
                assert_eq!(made.load(SeqCst), gone.load(SeqCst), "{at:?}");
            }
        }
        let panics = payload(|| {
            pool.on(0..200).waiting(10).map_reduce(
                async |item| {
                    service.call().await;
                    item
                },
                |_, _| std::panic::panic_any(5_usize),
            );
        });
        assert_eq!((panics, At::Reduce), (5, At::Reduce));
        assert_eq!(pool.on(0..10).waiting(3).map_reduce(async |i| i, |a, b| a + b), Some(45), "usable");
    }
}

#[test]
fn the_first_error_comes_out_and_what_is_behind_it_is_dropped_at_once() {
    let service = &Service::new();
    for &threads in THREADS {
        let pool = pool(threads);
        for limit in [1, 64, 500] {
            let gone = &AtomicUsize::new(0);
            let made = &AtomicUsize::new(0);
            let run = |item: usize| {
                made.fetch_add(1, SeqCst);
                let counted = Counted(gone);
                async move {
                    let _counted = counted;
                    // Fewer items wait for ever than the limit. Otherwise no item before the
                    // waiting items could begin.
                    if item > 40 && item.is_multiple_of(4) {
                        Never.await;
                    }
                    for _ in 0..item % 3 {
                        service.call().await;
                    }
                    if item >= 30 { Err(item) } else { Ok(item) }
                }
            };
            let on = || pool.on(0..200).waiting(limit);
            assert_eq!(on().try_map_collect(run), Err(30));
            assert_eq!(on().try_map_reduce(run, |a, b| a + b), Err(30));
            assert_eq!(on().try_for_each(async |item| run(item).await.map(drop)), Err(30));
            assert_eq!(made.load(SeqCst), gone.load(SeqCst));
            let part = || pool.on(0..30).waiting(limit);
            assert_eq!(part().try_map_collect(run), Ok((0..30).collect()));
            assert_eq!(part().try_map_reduce(run, |a, b| a + b), Ok(Some(435)));
            assert_eq!(part().try_for_each(async |item| run(item).await.map(drop)), Ok(()));
        }
    }
}

#[test]
fn items_that_wait_for_ever_are_cancelled_at_once() {
    for threads in [1, 2] {
        let (pool, gone) = (pool(threads), &AtomicUsize::new(0));
        let soon = (0..10).any(|_| {
            gone.store(0, SeqCst);
            let begun = &Arc::new(AtomicUsize::new(0));
            let token = CancelToken::new();
            let canceller = thread::spawn({
                let (token, begun) = (token.clone(), Arc::clone(begun));
                move || {
                    while begun.load(SeqCst) < 50 {
                        thread::yield_now();
                    }
                    thread::sleep(Duration::from_millis(10));
                    let begin = Instant::now();
                    token.cancel();
                    begin
                }
            });
            let ended = pool.on(0..100).cancel(&token).waiting(50).for_each(|_| {
                begun.fetch_add(1, SeqCst);
                let counted = Counted(gone);
                async move {
                    let _counted = counted;
                    Never.await;
                }
            });
            let took = canceller.join().expect("it cancels").elapsed();
            assert_eq!((ended, gone.load(SeqCst)), (Err(Cancelled), 50));
            assert_eq!(
                pool.on(0..1).cancel(&token).waiting(1).for_each(async |_| ()),
                Err(Cancelled),
                "before it begins"
            );
            took < Duration::from_millis(1) || cfg!(miri)
        });
        assert!(soon, "it takes longer than a millisecond");
    }
}

/// An item is woken, and the loop is cancelled before the item is polled again.
#[test]
fn an_item_that_was_woken_before_the_loop_was_cancelled_is_not_polled_again() {
    let (pool, token) = (pool(1), CancelToken::new());
    let (polls, first) = (&AtomicUsize::new(0), &Mutex::new(None::<Waker>));
    let ended = pool.on(0..2).cancel(&token).waiting(2).for_each(async |item| {
        poll_fn(|context| {
            if item > 0 {
                first.lock().unwrap().take().expect("item 0 has begun").wake();
                token.cancel();
            } else if polls.fetch_add(1, SeqCst) == 0 {
                *first.lock().unwrap() = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    });
    assert_eq!((ended, polls.load(SeqCst)), (Err(Cancelled), 1));
}

/// A future that wakes itself, and keeps its wakers.
struct WakesItself<'a>(&'a Mutex<Vec<Waker>>, u32);

impl Future for WakesItself<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.lock().unwrap().push(context.waker().clone());
        context.waker().wake_by_ref();
        context.waker().wake_by_ref();
        self.1 += 1;
        if self.1 > 3 { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[test]
fn wakers_may_outlive_the_loop_and_wake_for_nothing() {
    let (pool, kept) = (pool(2), Arc::new(Mutex::new(Vec::new())));
    let (stop, stopped) = mpsc::channel::<()>();
    let waking = thread::spawn({
        let kept = Arc::clone(&kept);
        move || {
            while matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Empty)) {
                let mut wakers: Vec<Waker> = kept.lock().unwrap().clone();
                wakers.iter().for_each(Waker::wake_by_ref);
                wakers.truncate(100);
                kept.lock().unwrap().truncate(100);
            }
        }
    });
    for round in 0..ROUNDS {
        let kept = &*kept;
        let count = pool.on(0..100).waiting(1 + round % 20).map_reduce(
            async |_| {
                WakesItself(kept, 0).await;
                1
            },
            |a, b| a + b,
        );
        assert_eq!(count, Some(100));
    }
    drop(stop);
    waking.join().expect("it wakes");
    drop(pool);
    kept.lock().unwrap().drain(..).for_each(Waker::wake);
}

#[test]
fn loops_may_be_nested() {
    let (pool, service) = (&pool(2), &Service::new());
    let sum = pool.on(0..20).waiting(20).map_reduce(
        async |i| {
            service.call().await;
            let inner = pool.on(0..10).waiting(5).map_reduce(
                async |j| {
                    service.call().await;
                    i * j
                },
                |a, b| a + b,
            );
            inner.unwrap_or(0) + pool.on(0..3).sum::<i32>()
        },
        |a, b| a + b,
    );
    assert_eq!(sum, Some(190 * 45 + 60));
}

#[test]
fn states_are_made_and_dropped_on_their_workers() {
    struct Entered(thread::ThreadId);
    impl Drop for Entered {
        fn drop(&mut self) {
            assert_eq!(self.0, thread::current().id());
            INSIDE.set(false);
        }
    }
    thread_local!(static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
    let (pool, service) = (pool(2), &Service::new());
    for _ in 0..ROUNDS / 10 {
        let on = pool.on(0..50).with(|_| {
            assert!(!INSIDE.replace(true), "once a worker");
            Entered(thread::current().id())
        });
        on.waiting(10).for_each(async |_| {
            assert!(INSIDE.get());
            service.call().await;
            assert!(INSIDE.get());
        });
        assert!(!INSIDE.get());
    }
    let mut visits = pool.per_worker(|_| 0);
    pool.on(0..50).with_kept(&mut visits).waiting(10).for_each(async |_| service.call().await);
}

#[test]
fn it_is_told_what_waited() {
    let (pool, service) = (pool(2), &Service::new());
    let (mut report, progress) = (RunReport::default(), rangesteal::Progress::new());
    let on = pool.on(0..90).report(&mut report).progress(&progress);
    on.waiting(10).for_each(async |item| {
        if item % 3 == 0 {
            service.call().await;
            service.call().await;
            assert!(progress.done() <= 89, "this one is not done");
        }
    });
    assert_eq!((progress.done(), report.items()), (90, 90));
    let waits = report.waits.expect("a loop whose items wait");
    assert_eq!(waits.waited, 30);
    assert!(waits.polls >= 90 + 60 && waits.polls <= 90 + 4 * 30, "{waits:?}");
    assert!((1..=10).contains(&waits.most_in_flight), "{waits:?}");
    assert!(report.to_string().contains("30 items waited"), "{report}");
    pool.on(0..9).report(&mut report).for_each(drop);
    assert_eq!(report.waits, None);
}

#[test]
#[should_panic(expected = "waiting: with a limit of 0")]
fn a_limit_of_none_is_refused() {
    let _never = pool(1).on(0..3).waiting(0);
}

#[test]
#[should_panic(expected = "no loop whose items wait is reproducible")]
fn nothing_that_waits_is_reproducible() {
    let _never = pool(1).on(0..3).reproducible().waiting(1);
}

#[test]
fn who_waited_last_time_begins_first() {
    let (pool, service) = (pool(1), &Service::new());
    let mut items = vec![String::from("an item"); 100];
    for owned in [false, true] {
        for round in 0..3 {
            let order = &Mutex::new(Vec::new());
            let run = async |index: usize| {
                order.lock().unwrap().push(index);
                if index % 10 == 7 {
                    service.call().await;
                }
                index
            };
            let results = if owned {
                let drained = source::drain(&mut items, ..);
                let results = pool.on(drained).enumerate().waiting(10).map_collect(async |(index, item)| {
                    assert_eq!(item, "an item");
                    run(index).await
                });
                items.resize(100, String::from("an item")); // at the same address
                results
            } else {
                pool.on(&items).enumerate().waiting(10).map_collect(async |(index, _)| run(index).await)
            };
            assert!(results.into_iter().eq(0..100));
            let order = order.lock().unwrap();
            assert_eq!(order.len(), 100);
            if round == 0 {
                assert!(order.is_sorted(), "nothing is known");
            } else if !cfg!(miri) {
                // (Under Miri the address of a function changes, so no loop is recognised.)
                assert_eq!(order[..10], [7, 17, 27, 37, 47, 57, 67, 77, 87, 97]);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "time")]
fn what_only_waits_is_left_to_one_thread() {
    // Waking a worker that naps needs no system call.
    let (pool, napping) = (pool(2), Arc::new(Mutex::new(Vec::<Waker>::new())));
    thread::spawn({
        let napping = Arc::downgrade(&napping);
        move || {
            while let Some(napping) = napping.upgrade() {
                // After longer naps the CPUs of some virtual machines are slow: an item seems to
                // compute for 30 µs.
                thread::sleep(Duration::from_micros(50));
                // An item that naps must not wait for the lock while others are woken.
                let wakers = mem::take(&mut *napping.lock().unwrap());
                wakers.into_iter().for_each(Waker::wake);
            }
        }
    });
    let nap = async || {
        let mut has_begun = false;
        poll_fn(|context| {
            if mem::replace(&mut has_begun, true) {
                return Poll::Ready(());
            }
            napping.lock().unwrap().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    };
    // An item computes for a short time, unless another program uses the CPU.
    let mut last = RunReport::default();
    let is_alone = (0..200).any(|_| {
        let mut report = RunReport::default();
        pool.on(0..10).report(&mut report).waiting(2).for_each(async |_| nap().await);
        let waits = report.waits.expect("a loop whose items wait");
        assert_eq!(waits.waited, 10, "{report}");
        let is_alone = report.alone == Some(rangesteal::Alone::Waited) && waits.asleep >= report.wall / 2;
        last = report;
        is_alone
    });
    let report = &last;
    assert!(is_alone, "help is called for where nothing is to be computed: {report}");
}

#[test]
#[cfg_attr(miri, ignore = "time")]
fn what_is_computed_behind_the_waits_is_shared() {
    let (pool, service) = (pool(2), &Service::new());
    let shared = (0..20).any(|_| {
        let mut report = RunReport::default();
        pool.on(0..200).report(&mut report).waiting(200).for_each(async |item| {
            service.call().await;
            if item < 100 {
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_micros(200) {}
            }
        });
        report.alone.is_none() && report.idle == 1 && report.balance() > 0.8
    });
    assert!(shared, "one thread computes, and the other does not");
}

#[test]
fn a_panic_of_reduce_comes_after_the_errors_before_it() {
    let service = &Service::new();
    for &threads in THREADS {
        let pool = pool(threads);
        for _ in 0..ROUNDS / 10 {
            let ended = pool.on(0..40).waiting(40).try_map_reduce(
                async |item: usize| {
                    if item < 20 {
                        for _ in 0..5 {
                            service.call().await;
                        }
                    }
                    if item == 5 { Err(item) } else { Ok(item) }
                },
                |a, b| if a > 20 { std::panic::panic_any(b) } else { a },
            );
            assert_eq!(ended, Err(5), "the plain loop comes to no other item");
        }
    }
}

/// A value whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            std::panic::panic_any(7_usize);
        }
    }
}

/// A future whose poll and drop both panic.
struct Bad(Option<Bomb>);

impl Future for Bad {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.is_some() { std::panic::panic_any(5_usize) } else { Poll::Ready(()) }
    }
}

/// A worker that has panicked begins items before the panic in the same slot.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn the_drop_of_a_future_that_has_panicked_does_not_hide_its_panic() {
    let pool = pool(2);
    let panics = payload(|| {
        pool.on(0..200).waiting(10).for_each(|item| {
            thread::sleep(Duration::from_millis(1));
            Bad((item >= 50).then(|| Bomb))
        });
    });
    assert_eq!(panics, 5);
}

#[test]
fn whatever_panics_when_workers_leave_no_thread_is_lost() {
    let (pool, service) = (pool(2), &Service::new());
    for _ in 0..ROUNDS / 10 {
        let panics = payload(|| {
            pool.on(0..50).with(|_| Bomb).waiting(50).map_reduce(
                async |item| {
                    service.call().await;
                    item
                },
                |_, _| std::panic::panic_any(7_usize),
            );
        });
        assert_eq!(panics, 7);
    }
    let workers = Mutex::new(std::collections::HashSet::new());
    let both = (0..100).any(|_| {
        pool.on(0..200).for_each(|_| {
            workers.lock().unwrap().insert(thread::current().id());
            thread::sleep(Duration::from_micros(20));
        });
        workers.lock().unwrap().len() == 2
    });
    assert!(both, "a helper is gone");
}

#[test]
fn a_state_that_cannot_be_made_ends_the_loop() {
    let (pool, service, begun) = (pool(2), &Service::new(), &AtomicUsize::new(0));
    for fails in [0, 1] {
        // The helper takes part only if the loop has enough work to compute.
        let run = || {
            let on = pool.on(0..100).with(|worker| {
                if worker == fails {
                    std::panic::panic_any(worker);
                }
            });
            on.waiting(20).for_each(async |_| {
                begun.fetch_add(1, SeqCst);
                service.call().await;
                let begin = Instant::now();
                while fails == 1 && begin.elapsed() < Duration::from_micros(100) {}
            });
        };
        if fails == 0 {
            assert_eq!(payload(run), 0);
            assert_eq!(begun.load(SeqCst), 0, "the caller has no state");
        } else {
            let panics = |_| std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            let failed = (0..100).map(panics).find_map(Result::err);
            assert_eq!(failed.map(|payload| *payload.downcast::<usize>().expect("ours")), Some(1));
        }
    }
}

#[test]
fn with_a_limit_of_one_the_items_are_done_in_order() {
    let (pool, service) = (pool(2), &Service::new());
    for _round in 0..3 {
        let order = &Mutex::new(Vec::new());
        pool.on(0..20).waiting(1).for_each(async |item| {
            order.lock().unwrap().push(item);
            if item == 7 {
                service.call().await;
            }
        });
        assert!(order.lock().unwrap().iter().copied().eq(0..20), "whichever of them waited last time");
    }
}

#[test]
fn items_that_wake_themselves_keep_no_others_from_beginning() {
    let (pool, begun) = (pool(1), &AtomicUsize::new(0));
    pool.on(0..10).waiting(10).for_each(async |_| {
        begun.fetch_add(1, SeqCst);
        // Waits until all items have begun.
        poll_fn(|context| {
            if begun.load(SeqCst) == 10 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    });
}

/// The items are done at their first poll, so a worker begins many of them before the panic.
#[test]
fn no_item_before_a_panic_begins_twice() {
    const BAD: usize = 100;
    for &threads in THREADS {
        let (pool, begun) = (pool(threads), [const { AtomicUsize::new(0) }; 200]);
        let payload = payload(|| {
            pool.on(0..200).waiting(10).for_each(async |item| {
                begun[item].fetch_add(1, SeqCst);
                if item == BAD {
                    std::panic::panic_any(item);
                }
            });
        });
        assert_eq!(payload, BAD);
        let begun = begun.map(AtomicUsize::into_inner);
        assert!(begun[..BAD].iter().all(|begun| *begun == 1) && begun.iter().all(|begun| *begun <= 1));
    }
}

/// Each item wakes itself again and again, until all items have been resumed.
#[test]
fn items_that_wake_themselves_keep_no_others_from_being_resumed() {
    let (pool, resumed) = (pool(1), &AtomicUsize::new(0));
    pool.on(0..10).waiting(10).for_each(async |_| {
        let mut polls = 0;
        poll_fn(|context| {
            polls += 1;
            if resumed.fetch_add(usize::from(polls == 2), SeqCst) == 10 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    });
}

/// Every second item waits for ever. The other items fail from the last to the first: each of them
/// wakes the previous one and fails. Each error drops one waiting item. Returns the time from the
/// first error on.
fn falling_errors(items: usize) -> Duration {
    let (pool, alive) = (pool(2), AtomicUsize::new(0));
    let wakers: Vec<Mutex<Option<Waker>>> = (0..items).map(|_| Mutex::new(None)).collect();
    let (asked, begin) = (AtomicUsize::new(0), OnceLock::new());
    let wake = |item: usize| wakers[item].lock().unwrap().take().expect("it waits").wake();
    let ended = pool.on(0..items).waiting(items).try_for_each(|item| {
        alive.fetch_add(1, SeqCst);
        let (is_alive, mut has_asked) = (Alive(&alive), false);
        let (wakers, wake, asked, begin) = (&wakers, &wake, &asked, &begin);
        poll_fn(move |context| {
            let _ = &is_alive;
            if mem::replace(&mut has_asked, true) {
                if item >= 2 {
                    wake(item - 2);
                }
                return Poll::Ready(Err(item));
            }
            *wakers[item].lock().unwrap() = Some(context.waker().clone());
            if asked.fetch_add(1, SeqCst) + 1 == items {
                begin.set(Instant::now()).expect("one item is the last");
                wake(items - 2);
            }
            Poll::Pending
        })
    });
    assert_eq!(ended, Err(0));
    assert_eq!(alive.load(SeqCst), 0, "each is dropped");
    begin.get().expect("all have asked").elapsed()
}

/// A value that counts the living values.
struct Alive<'a>(&'a AtomicUsize);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[test]
fn falling_errors_do_not_cost_the_square_of_their_number() {
    let fewest = if cfg!(miri) { 8 } else { 4_000 };
    let (begin, others) = (Instant::now(), Others::watch());
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    for attempt in 1.. {
        few = few.min(falling_errors(fewest));
        many = many.min(falling_errors(4 * fewest));
        // The loop with four times the items takes 16 times as long if each error scans all slots,
        // and about 5 times as long with a heap. Other programs can slow down several attempts.
        if attempt >= 3 && many < 9 * few || cfg!(miri) {
            break;
        }
        let is_late = begin.elapsed() > Duration::from_secs(30);
        if is_late && others.have_a_cpu() {
            break;
        }
        assert!(!is_late, "{few:?} and {many:?}");
    }
}
