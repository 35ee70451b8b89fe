//! Tests of the system calls that loops make: with `Pinning::Off`, `futex` and `membarrier` alone.

#![cfg(all(target_os = "linux", not(portable)))]
#![allow(unsafe_code)] // ends a process that may make few system calls

mod busy;
mod child;
mod refuse;

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, Write},
    process::{self, Command},
    thread::available_parallelism,
    time::{Duration, Instant},
};

use busy::work;
use nix::libc;
use rangesteal::{Pinning, Pool};
use refuse::{filter, statement};

/// Files that do not exist. The child asks for them before and after its loops.
const MARKS: [&str; 2] = ["/the-loops-begin", "/the-loops-have-ended"];

/// The memory allocator makes these calls.
const MEMORY: [libc::c_long; 5] =
    [libc::SYS_brk, libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_madvise];

/// Each kind of loop, for long enough that all checks of the pool are due. The items keep two
/// threads busy, so that workers steal and wait.
fn loops(pool: &Pool) {
    let begin = Instant::now();
    let mut items = vec![0; 2_000];
    while begin.elapsed() < Duration::from_millis(600) {
        let sum = pool.on(0..2_000_u64).map(|i| if i < 40 { work(50_000) } else { work(500) }).count();
        assert_eq!(sum, 2_000);
        pool.on(&mut items).for_each(|item| *item += 1);
        assert!(pool.on(&items).any(|item| *item > 0));
        pool.join(|| work(200_000), || work(200_000));
        pool.sort(&mut items);
        let nodes = pool.grow([6_u32]).fold_unordered(
            || 0_u64,
            |nodes, depth, feed| {
                if depth > 0 {
                    feed.extend([depth - 1; 2]);
                }
                work(1_000);
                nodes + 1
            },
            |a, b| a + b,
        );
        assert_eq!(nodes, 127);
    }
}

fn mark(file: &str) {
    assert!(fs::metadata(file).is_err(), "{file} exists");
}

/// The system calls of the loops in a child, apart from those of the allocator. `None` without
/// strace.
fn calls(name: &str, pinning: &str) -> Option<BTreeSet<String>> {
    let log = env::temp_dir().join(format!("rangesteal-calls-{}-{pinning}", process::id()));
    let through = ["strace", "-f", "-qq", "-o", log.to_str().unwrap()];
    if !Command::new(through[0])
        .args(&through[1..])
        .arg("true")
        .output()
        .is_ok_and(|run| run.status.success())
    {
        let words = "SKIPPED: strace is not installed, or may do nothing here\n";
        io::stderr().write_all(words.as_bytes()).unwrap(); // bypasses the test harness
        return None;
    }
    child::passed(&child::run(&through, name, &[("RANGESTEAL_PINNING", pinning)]));
    let text = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    let [begin, end] = MARKS.map(|mark| text.find(&format!("\"{mark}\"")).expect("a mark"));
    let call = |line: &str| Some(line.split_once(' ')?.1.trim_start().split_once('(')?.0.to_owned());
    let (loops, _of_the_mark) = text[begin..end].rsplit_once('\n').expect("lines");
    let lines = loops.lines().skip(1).filter(|line| !line.contains("resumed>"));
    let mut calls: BTreeSet<_> = lines.filter_map(call).collect();
    for of_memory in ["brk", "mmap", "munmap", "mprotect", "madvise"] {
        calls.remove(of_memory);
    }
    Some(calls)
}

#[test]
fn loops_without_pinning_make_two_system_calls() {
    const NAME: &str = "loops_without_pinning_make_two_system_calls";
    if child::is_child() {
        let pool = Pool::new().unwrap();
        loops(&pool);
        mark(MARKS[0]);
        loops(&pool);
        mark(MARKS[1]);
        return;
    }
    let Some(off) = calls(NAME, "off") else { return };
    let few = BTreeSet::from(["futex", "membarrier"].map(str::to_owned));
    assert!(off.is_subset(&few), "{off:?}");
    if available_parallelism().unwrap().get() > 1 {
        assert!(off.contains("futex"), "{off:?}: no helper has taken part");
        let pinned = calls(NAME, "best-effort").unwrap();
        assert!(pinned.contains("openat"), "{pinned:?}: the checks have not been due");
    }
}

/// From this call on, any other system call of the calling thread kills the process.
fn allow_few_calls() {
    let allowed = [libc::SYS_futex, libc::SYS_membarrier, libc::SYS_exit_group];
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for number in allowed.into_iter().chain(MEMORY) {
        let number = u32::try_from(number).unwrap();
        program.push(statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number));
        program.push(statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_KILL_PROCESS));
    filter(&mut program);
}

#[test]
fn a_filter_that_kills_does_not_kill_loops_without_pinning() {
    if child::is_child() {
        let handler = |_worker| allow_few_calls();
        let pool = Pool::builder().pinning(Pinning::Off).start_handler(handler).build().unwrap();
        allow_few_calls();
        loops(&pool);
        // SAFETY: ends the process. The harness would make other system calls on this thread.
        unsafe { libc::_exit(0) };
    }
    let output = child::run(&[], "a_filter_that_kills_does_not_kill_loops_without_pinning", &[]);
    assert!(output.status.success(), "{output:?}");
}
