//! What befalls a whole process while there are pools.

#![cfg(target_os = "linux")]

mod busy;
mod child;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use busy::work;
use child::{is_child, passed, run};
use nix::{
    libc,
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};
use rangesteal::{CancelToken, Cancelled, Pool, Progress};

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a small pool")
}

/// A loop that is shared, and then one that may not be.
fn counts(pool: &Pool) {
    for nanos in [10_000, 0] {
        let item = |i: usize| {
            work(nanos);
            i
        };
        assert_eq!(pool.on(0..200).map_reduce(item, |a, b| a + b), Some(199 * 100));
    }
}

/// Runs `work` in a forked child and checks that it ends well. A child that hangs is ended by SIGALRM.
#[expect(unsafe_code, reason = "fork is what is tested")]
fn forked(work: impl FnOnce()) {
    // SAFETY: what the child does is what these tests are about: nothing of it may need another thread.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            // SAFETY: takes a number; the parent's alarm is not the child's.
            unsafe { libc::alarm(60) };
            let fine = catch_unwind(AssertUnwindSafe(work)).is_ok();
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(i32::from(!fine)) }
        }
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
        }
    }
}

/// Runs `meanwhile` while another thread repeats `other`, which has begun.
fn beside(other: impl Fn() + Sync, meanwhile: impl FnOnce()) {
    struct Raise<'a>(&'a AtomicBool);
    impl Drop for Raise<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            begun.store(true, Relaxed);
            while !over.load(Relaxed) {
                other();
            }
        });
        let _over = Raise(&over); // also if this panics
        while !begun.load(Relaxed) {
            std::hint::spin_loop();
        }
        meanwhile();
    });
}

#[test]
fn a_forked_child_uses_the_handles_of_loops_under_way() {
    let (pool, token, progress) = (pool(3), CancelToken::new(), Progress::new());
    let watched = || pool.on(0..500).cancel(&token).progress(&progress).for_each(|_| work(2_000));
    beside(
        || assert_eq!(watched(), Ok(())),
        || {
            let ask = || assert!(progress.done() < usize::MAX);
            beside(ask, || {
                for _ in 0..100 {
                    forked(|| {
                        let before = progress.done();
                        assert_eq!(watched(), Ok(()));
                        let done = progress.done();
                        assert!(done >= before);
                        assert_eq!(watched(), Ok(()));
                        assert_eq!(progress.done(), done + 500);
                        token.cancel();
                        assert_eq!(watched(), Err(Cancelled));
                    });
                }
            });
        },
    );
    assert!(!token.is_cancelled(), "the parent's own");
}

#[test]
fn a_child_builds_a_pool_forked_while_its_parent_builds_the_first() {
    const NAME: &str = "a_child_builds_a_pool_forked_while_its_parent_builds_the_first";
    if !is_child() {
        for _ in 0..6 {
            passed(&run(&[], NAME, &[]));
        }
        return;
    }
    // The first pool takes its time to register with the kernel. It has no thread, lest one be forked while std starts it.
    beside(
        || drop(pool(1)),
        || {
            for micros in 0..5 {
                work(100_000 * micros);
                forked(|| counts(&pool(2)));
            }
        },
    );
}
