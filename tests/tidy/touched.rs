//! What a very short loop touches in memory: its caller finds little of it in its caches after it
//! has done something else, so every line of 64 bytes counts.
//!
//! Every access of a program to memory is listed by valgrind's lackey, which slows it down so much
//! that no loop would seem short; so its clock is slowed down as well.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufRead, BufReader},
    process::Command,
};

use crate::users::Program;

/// Cache lines of code and data that a call of 2 items touches, at most, beyond those of the plain
/// loop.
const BAR: usize = 32;

/// A clock that is 5,000 times too slow.
const CLOCK: &str = "
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    if (syscall(SYS_clock_gettime, clock, time)) return -1;
    unsigned long long nanos = (time->tv_sec * 1000000000ull + time->tv_nsec) / 5000;
    time->tv_sec = nanos / 1000000000, time->tv_nsec = nanos % 1000000000;
    return 0;
}
";

/// Says where its mark lies, and writes the mark before and after each call: of a plain loop over 2
/// items, and of the pool's.
const PROGRAM: &str = "
use rangesteal::Pool;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
static MARK: AtomicU64 = AtomicU64::new(0);
#[inline(never)]
fn plain(items: &[u64]) -> Option<u64> {
    items.iter().map(|x| x * 3).reduce(|a, b| a ^ b)
}
#[inline(never)]
fn pool(pool: &Pool, items: &[u64]) -> Option<u64> {
    pool.map_reduce(items, |x| x * 3, |a, b| a ^ b)
}
fn main() {
    let threads = Pool::builder().num_threads(2).build().unwrap();
    let items = [1, 2];
    for _ in 0..200 {
        black_box(pool(&threads, black_box(&items)));
    }
    println!(\"{:08x}\", &raw const MARK as usize);
    for _ in 0..50 {
        MARK.store(0, Relaxed);
        black_box(plain(black_box(&items)));
        MARK.store(1, Relaxed);
        black_box(pool(&threads, black_box(&items)));
        MARK.store(2, Relaxed);
    }
}
";

/// What a call has done.
#[derive(Clone, Default)]
struct Touched {
    instructions: usize,
    lines: HashSet<u64>,
}

/// The medians of instructions and of cache lines.
fn medians(calls: &[Touched]) -> (usize, usize) {
    let median = |mut counts: Vec<usize>| {
        counts.sort_unstable();
        counts[counts.len() / 2]
    };
    let instructions = calls.iter().map(|call| call.instructions).collect();
    (median(instructions), median(calls.iter().map(|call| call.lines.len()).collect()))
}

/// What the calls between marks have touched: plain loops and the pool's.
fn touched() -> [Vec<Touched>; 2] {
    let program = Program::new("touched", PROGRAM).built();
    let in_target = |end| program.with_extension(end);
    let (source, clock, trace) = (in_target("c"), in_target("so"), in_target("trace"));
    fs::write(&source, CLOCK).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&clock).arg(&source).status();
    assert!(compiled.unwrap().success());
    let mut lackey = Command::new("valgrind");
    lackey.args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"]);
    let said = lackey.arg(format!("--log-file={}", trace.display())).arg(&program).env("LD_PRELOAD", &clock);
    let mark = format!(" S {},8", String::from_utf8(said.output().unwrap().stdout).unwrap().trim());
    let (mut calls, mut marks) = ([const { Vec::new() }; 2], 0);
    let mut call = Touched::default();
    for line in BufReader::new(File::open(&trace).unwrap()).lines().map(Result::unwrap) {
        if line == mark {
            match marks % 3 {
                0 => {}
                after => calls[after - 1].push(call),
            }
            (marks, call) = (marks + 1, Touched::default());
        } else if marks % 3 > 0
            && let Some((address, size)) = line.get(3..).and_then(|access| access.split_once(','))
        {
            let (address, size) = (u64::from_str_radix(address, 16).unwrap(), size.parse::<u64>().unwrap());
            call.instructions += usize::from(line.starts_with('I'));
            call.lines.extend(address / 64..=(address + size - 1) / 64);
        }
    }
    fs::remove_file(&trace).unwrap();
    calls
}

#[test]
fn a_very_short_loop_touches_little() {
    let found = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !found("valgrind") || !found("cc") {
        eprintln!("SKIPPED: the bar is for x86-64 Linux, and needs valgrind and cc (Debian: valgrind, gcc)");
        return;
    }
    // Where other programs have the CPUs, calls seem long, and are weighed: ask for one quiet run.
    let mut told = Vec::new();
    let is_quiet = (0..3).any(|_| {
        let [plain, pool] = touched();
        assert_eq!((plain.len(), pool.len()), (50, 50), "calls");
        let ((instructions, lines), (plain_instructions, plain_lines)) = (medians(&pool), medians(&plain));
        assert!(plain_lines > 1, "a call has an instruction, a stack and two items");
        told.push(format!(
            "2 items: {instructions} instructions and {lines} cache lines; \
             the plain loop {plain_instructions} and {plain_lines}"
        ));
        lines - plain_lines <= BAR
    });
    eprintln!("{}", told.join("\n"));
    assert!(is_quiet, "more than {BAR} lines: {told:?}");
}
