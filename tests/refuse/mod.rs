//! Seccomp filters that make system calls fail: see seccomp(2).

#![allow(unsafe_code)] // prctl

use nix::libc;

/// From this call on, the system call `number` fails with `EPERM` on this thread and on the threads
/// that it starts.
#[allow(dead_code, reason = "not in all tests")]
pub(crate) fn refuse(number: libc::c_long) {
    filter(&mut [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the system call's number
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, u32::try_from(number).unwrap()),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, error(libc::EPERM)),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]);
}

pub(crate) fn statement(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k }
}

/// The return value of a filter that makes a call fail with this error.
#[allow(dead_code, reason = "not in all tests")]
pub(crate) fn error(number: libc::c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | u32::try_from(number).unwrap()
}

pub(crate) fn filter(filter: &mut [libc::sock_filter]) {
    let len = filter.len().try_into().unwrap();
    let program = libc::sock_fprog { len, filter: filter.as_mut_ptr() };
    // SAFETY: the call takes integers only.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: the kernel copies the statements before it returns.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!(set, 0, "seccomp filters are not available");
}
