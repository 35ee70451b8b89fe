//! The light and the heavy fence: a store-load barrier between two threads, whose cost falls on the
//! thread that runs it rarely.
//!
//! A claim must make its store to `start` visible before it reads `end`. A theft must make its
//! store to `end` visible before it reads `start` (Dekker's pattern). With two `SeqCst` fences each
//! claim would cost 2 to 3 ns. Most items have a claim of their own, and thefts are rare. So on
//! Linux the claim only forbids the *compiler* to reorder. The theft asks the kernel to run a full
//! barrier on every CPU that runs a thread of this process: `membarrier(2)`, command
//! `PRIVATE_EXPEDITED`. A thread that is not running has executed a full barrier at its context
//! switch. The pair orders like two `SeqCst` fences: the thief sees every store of a claim that the
//! CPU executed before the barrier, and every load of a claim after the barrier sees the thief's
//! store.
//!
//! The kernel's barrier costs the thief 0.5 µs on idle hardware. On a busy virtual machine it costs
//! the thief 25 µs and the victim 10 µs. So a worker whose items take long, or are not timed yet,
//! uses the full fence in its claims. Thieves of this worker then also use a full fence instead of
//! the kernel's barrier. Each cell has its own pair of fences, which changes under the lock of the
//! cell.
//!
//! On other systems, and under loom, shuttle and Miri, both fences are `fence(SeqCst)`: the same
//! handshake in its textbook form.

#![allow(unsafe_code)] // membarrier is not in std or nix

use crate::sync::{Ordering, fence};

#[cfg(all(target_os = "linux", not(any(loom, shuttle, miri, portable))))] // Android kills a process for a forbidden system call
mod membarrier {
    use nix::libc;

    /// Asks the kernel for `command`. Returns whether the kernel did it.
    pub(super) fn call(command: libc::c_int) -> bool {
        const FLAGS: libc::c_uint = 0;
        // SAFETY: 1. membarrier reads its two integers and no memory of ours; 2. for an unknown
        // system call or command, the kernel returns an error.
        unsafe { libc::syscall(libc::SYS_membarrier, command, FLAGS) == 0 }
    }

    /// Registers this process. Takes 1 µs in a process with one thread, and up to about 20 ms in a
    /// process with several threads.
    pub(super) fn register() -> bool {
        call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    /// A full barrier on every CPU that runs a thread of this process.
    pub(super) fn everywhere() -> bool {
        call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }
}

#[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri, portable)))))]
mod membarrier {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn everywhere() -> bool {
        false
    }
}

/// Which pair of fences this process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    /// Light: a compiler barrier. Heavy: `membarrier`.
    Asymmetric,
    /// Both are `fence(SeqCst)`.
    Symmetric,
}

impl Fence {
    /// The best pair of fences that this process may use. The first call registers the process with
    /// the kernel. This uses no `OnceLock`: registering takes a while, and a child forked during
    /// that time would wait for ever. Threads that call this at the same time all register.
    pub(crate) fn of_this_process() -> Self {
        use std::sync::atomic::AtomicU8;
        const UNKNOWN: u8 = 0;
        const REGISTERED: u8 = 1;
        const REFUSED: u8 = 2;
        static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
        // Relaxed: the registration is in the kernel, not in memory.
        let mut answer = ANSWER.load(Ordering::Relaxed);
        if answer == UNKNOWN {
            answer = if membarrier::register() { REGISTERED } else { REFUSED };
            ANSWER.store(answer, Ordering::Relaxed);
        }
        if answer == REGISTERED { Self::Asymmetric } else { Self::Symmetric }
    }

    /// The pair of fences with cheap thefts, for claims of expensive items: `fence(SeqCst)` on both
    /// sides.
    pub(crate) fn full(self) -> Self {
        match self {
            Self::Asymmetric | Self::Symmetric => Self::Symmetric,
        }
    }

    /// Whether the heavy fence costs microseconds.
    pub(crate) fn is_dear_for_thieves(self) -> bool {
        self == Self::Asymmetric
    }

    /// The fence of a claim. Partner: [`heavy`](Self::heavy).
    #[inline(always)]
    pub(crate) fn light(self) {
        match self {
            Self::Asymmetric => std::sync::atomic::compiler_fence(Ordering::SeqCst),
            Self::Symmetric => fence(Ordering::SeqCst),
        }
    }

    /// The fence of a theft. Partner: [`light`](Self::light). Returns false if the kernel refused,
    /// for example because of a seccomp filter that was set after the start. Then nothing is
    /// ordered, and the theft must be undone.
    #[must_use]
    pub(crate) fn heavy(self) -> bool {
        match self {
            Self::Asymmetric => membarrier::everywhere(),
            Self::Symmetric => {
                fence(Ordering::SeqCst);
                true
            }
        }
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle, miri, portable))))]
mod tests {
    use nix::libc;

    use super::*;

    #[test]
    fn the_kernel_is_asked_and_its_answer_heeded() {
        assert!(!membarrier::call(-1), "there is no such command");
        let registered = membarrier::register();
        // SAFETY: a query; reads two integers.
        let offered = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0) };
        let expedited = libc::c_long::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        assert_eq!(registered, offered > 0 && offered & expedited != 0);
        assert_eq!(membarrier::everywhere(), registered);
        let best = Fence::of_this_process();
        assert_eq!(best, if registered { Fence::Asymmetric } else { Fence::Symmetric });
        assert_eq!(best, Fence::of_this_process(), "remembered");
        assert!(best.heavy() && best.full().heavy());
        assert_eq!(best.is_dear_for_thieves(), registered);
        assert!(!best.full().is_dear_for_thieves());
    }

    #[test]
    fn a_barrier_that_the_kernel_refuses_is_none() {
        use std::{env, process::Command};
        const MARK: &str = "RANGESTEAL_TEST_CHILD";
        if env::var_os(MARK).is_some() {
            assert!(!membarrier::everywhere(), "this process has not registered");
            assert_eq!(membarrier::register(), membarrier::everywhere());
            return;
        }
        let mut child = Command::new(env::current_exe().unwrap());
        child
            .args(["--exact", "pool::supply::fence::tests::a_barrier_that_the_kernel_refuses_is_none"])
            .env(MARK, "1");
        let output = child.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
    }
}
