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
//! The process has to register before the kernel runs such a barrier. In a process with several
//! threads the kernel takes about 10 ms for this, in which the thread that asks sleeps. So the
//! building of a pool registers only a process with one thread. Otherwise one worker registers the
//! process when it leaves a loop, once it is some time old (`thread.rs`). Until then all claims use
//! the full fence. This costs little, and a process that ends soon never waits.
//!
//! On other systems, and under loom, shuttle and Miri, both fences are `fence(SeqCst)`: the same
//! handshake in its textbook form.

#![allow(unsafe_code)] // membarrier is not in std or nix

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::sync::{Ordering, fence};

#[cfg(all(target_os = "linux", not(any(loom, shuttle, miri, portable))))] // Android kills a process for a forbidden system call
mod membarrier {
    use std::{fs, os::unix::fs::MetadataExt};

    use nix::libc;

    /// Asks the kernel for `command`. Returns the kernel's answer: less than 0 is an error.
    fn ask(command: libc::c_int) -> libc::c_long {
        const FLAGS: libc::c_uint = 0;
        // SAFETY: 1. membarrier reads its two integers and no memory of ours; 2. for an unknown
        // system call or command, the kernel returns an error.
        unsafe { libc::syscall(libc::SYS_membarrier, command, FLAGS) }
    }

    /// Asks the kernel for `command`. Returns whether the kernel did it.
    pub(super) fn call(command: libc::c_int) -> bool {
        ask(command) == 0
    }

    /// Whether the kernel has the barrier, and lets this thread ask.
    pub(super) fn is_offered() -> bool {
        let offered = ask(libc::MEMBARRIER_CMD_QUERY);
        offered > 0 && offered & libc::c_long::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0
    }

    /// Whether this process has one thread. False if that is not known.
    pub(super) fn has_one_thread() -> bool {
        const LINKS: u64 = 2; // of a folder without folders in it
        fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == LINKS + 1)
    }

    /// Registers this process. Takes 3 µs in a process with one thread, and up to about 20 ms in a
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
    pub(super) fn is_offered() -> bool {
        false
    }

    pub(super) fn has_one_thread() -> bool {
        false
    }

    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn everywhere() -> bool {
        false
    }
}

/// Where the registration of this process stands. Relaxed: the registration is in the kernel, not
/// in memory.
static REGISTRATION: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
/// A worker registers the process.
const REGISTERING: u8 = 1;
const REGISTERED: u8 = 2;
const REFUSED: u8 = 3;

/// Registers the process on the calling thread. Threads that call this at the same time all
/// register. (With a `OnceLock`, a child that is forked meanwhile would wait for ever.) A thread
/// that the kernel refuses does not hide that another one has registered.
fn register() {
    if membarrier::register() {
        REGISTRATION.store(REGISTERED, Relaxed);
    } else {
        let refused = |before| (before != REGISTERED).then_some(REFUSED);
        let _before = REGISTRATION.fetch_update(Relaxed, Relaxed, refused);
    }
}

/// Whether nobody has registered the process.
#[inline(always)]
pub(crate) fn has_to_register() -> bool {
    REGISTRATION.load(Relaxed) == UNKNOWN
}

/// Registers the process, unless another worker does.
#[cold]
pub(crate) fn register_once() {
    if REGISTRATION.compare_exchange(UNKNOWN, REGISTERING, Relaxed, Relaxed).is_ok() {
        register();
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
    /// The best pair of fences that this process may use, now or as soon as it has registered. A
    /// process with one thread registers here.
    pub(crate) fn of_this_process() -> Self {
        // A forked child has one thread, and the thread of its parent that has begun to register
        // does not exist there.
        let is_open = matches!(REGISTRATION.load(Relaxed), UNKNOWN | REGISTERING);
        if is_open && (membarrier::has_one_thread() || !membarrier::is_offered()) {
            register();
        }
        if REGISTRATION.load(Relaxed) == REFUSED { Self::Symmetric } else { Self::Asymmetric }
    }

    /// Registers this process if it has not, and waits for it. Returns the best pair of fences.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn registered() -> Self {
        if REGISTRATION.load(Relaxed) != REGISTERED {
            register();
        }
        Self::of_this_process()
    }

    /// This pair of fences; instead of the asymmetric pair the symmetric one, until the process has
    /// registered.
    #[inline(always)]
    pub(crate) fn now(self) -> Self {
        if self == Self::Asymmetric && REGISTRATION.load(Relaxed) != REGISTERED {
            return Self::Symmetric;
        }
        self
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
        assert_eq!(registered, membarrier::is_offered());
        assert_eq!(membarrier::everywhere(), registered);
        let best = Fence::registered();
        assert_eq!(best, if registered { Fence::Asymmetric } else { Fence::Symmetric });
        assert_eq!((best, best), (Fence::of_this_process(), best.now()), "remembered");
        assert!(best.heavy() && best.full().heavy());
        assert_eq!(best.is_dear_for_thieves(), registered);
        assert!(!best.full().is_dear_for_thieves());
    }

    /// Calls a test of this module in a process of its own. Returns whether this is that process.
    fn in_child(test: &str) -> bool {
        use std::{env, process::Command};
        const MARK: &str = "RANGESTEAL_TEST_CHILD";
        if env::var_os(MARK).is_some() {
            return true;
        }
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", &format!("pool::supply::fence::tests::{test}")]).env(MARK, "1");
        let output = child.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
        false
    }

    #[test]
    fn a_process_with_several_threads_registers_later() {
        if in_child("a_process_with_several_threads_registers_later") && membarrier::is_offered() {
            assert!(!membarrier::has_one_thread(), "the harness has one, and this test another");
            let best = Fence::of_this_process();
            assert!(has_to_register() && !membarrier::everywhere());
            assert_eq!((best, best.now()), (Fence::Asymmetric, Fence::Symmetric));
            register_once();
            assert!(!has_to_register() && membarrier::everywhere());
            assert_eq!(best.now(), Fence::Asymmetric);
        }
    }

    #[test]
    fn a_process_with_one_thread_registers_at_once() {
        use nix::{
            sys::wait::{WaitStatus, waitpid},
            unistd::{ForkResult, fork},
        };
        // SAFETY: the child allocates nothing, and ends.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                REGISTRATION.store(REGISTERING, Relaxed); // by a thread that does not exist here
                let is_offered = membarrier::is_offered();
                let best = Fence::of_this_process();
                let is_right = best.now() == best && best.is_dear_for_thieves() == is_offered;
                // SAFETY: ends the child, which has no other thread.
                unsafe { libc::_exit(i32::from(!is_right)) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
            }
        }
    }

    #[test]
    fn a_barrier_that_the_kernel_refuses_is_none() {
        if in_child("a_barrier_that_the_kernel_refuses_is_none") {
            assert!(!membarrier::everywhere(), "this process has not registered");
            assert_eq!(membarrier::register(), membarrier::everywhere());
        }
    }
}
