//! What befalls a child made by `fork`.

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
    // SAFETY: what the child does is what these tests are about: nothing of it may need another
    // thread.
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
