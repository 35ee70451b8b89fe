//! Loops whose items wait.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use rangesteal::{CancelToken, Cancelled, Pool, RunReport};

/// A thread that wakes whatever is sent to it, in another order, and each for a second time later.
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

    /// Waits until it is woken once.
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

/// Waits for ever.
struct Never;

impl Future for Never {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        std::mem::forget(context.waker().clone());
        Poll::Pending
    }
}

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a pool")
}

#[test]
fn results_are_in_order_and_the_limit_is_kept() {
    let service = &Service::new();
    for threads in [1, 2, 3] {
        let pool = pool(threads);
        for limit in [1, 2, 7, usize::MAX] {
            for len in [0_usize, 1, 2, 50] {
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
                let joined = on().fold_reduce(
                    String::new,
                    async |text, i| text + &name(i).await,
                    |a, b| a + &b,
                );
                assert_eq!(joined, names.concat());
                assert!(most.load(SeqCst) <= limit, "{most:?} of {limit}, {threads} threads");
                assert_eq!(now.load(SeqCst), 0);
            }
        }
    }
}
