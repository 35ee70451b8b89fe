//! Tests in a child made by `fork`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::{
    libc,
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};

/// Runs `work` in a forked child and checks that it ends well. A child that hangs is ended by
/// SIGALRM.
#[expect(unsafe_code, reason = "fork is what is tested")]
pub(crate) fn forked(work: impl FnOnce()) {
    // SAFETY: the child runs the code under test, which must not need another thread.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            // SAFETY: the call takes a number. A child does not inherit the parent's alarm.
            unsafe { libc::alarm(60) };
            let fine = catch_unwind(AssertUnwindSafe(work)).is_ok();
            // SAFETY: ends the child without running the parent's destructors and exit handlers.
            unsafe { libc::_exit(i32::from(!fine)) }
        }
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
        }
    }
}
