//! Measures the memory that a call touches. After other work, little of this memory is in the
//! caches, so every cache line (64 bytes) and every page costs time.
//!
//! Valgrind's tool lackey lists every memory access of a program. The tool slows the program down
//! so much that every loop would seem long. So the test slows down the program's clock, too.

use std::{
    collections::HashSet,
    fmt,
    fs::{self, File},
    io::{BufRead, BufReader},
    ops::Range,
    process::Command,
};

use crate::users::Program;

/// A kind of calls.
struct Kind {
    name: &'static str,
    /// The most cache lines of code and data that a call may touch beyond those of the plain loop.
    lines: usize,
    /// If a call touches fewer cache lines, it has not run in the way that `name` says.
    least: usize,
    /// The most pages that a call may touch beyond those of the plain loop.
    pages: usize,
}

/// A shared call records where the work lies, checks whether helpers get their CPUs, and allocates
/// four times. `docs/weight.md` has the figures.
const KINDS: [Kind; 3] = [
    Kind { name: "2 items", lines: 36, least: 0, pages: 8 },
    Kind { name: "2 items, timed", lines: 76, least: 0, pages: 18 },
    Kind { name: "8 long items, shared", lines: 1350, least: 600, pages: 95 },
];

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

/// This program prints the addresses of its mark and of the clock function. The program writes the
/// mark before and after each call of the plain loop and of the pool's loop. The first calls have 2
/// items, and the pool times some of these calls. The later calls have items that take 4 µs each by
/// the slow clock.
const PROGRAM: &str = "
use rangesteal::Pool;
use std::{hint::black_box, sync::atomic::{AtomicU64, Ordering::Relaxed}, thread, time::Duration};
static MARK: AtomicU64 = AtomicU64::new(0);
unsafe extern \"C\" { fn clock_gettime(); }
#[inline(never)]
fn plain(items: &[u64]) -> Option<u64> {
    items.iter().map(|x| x * 3).reduce(|a, b| a ^ b)
}
#[inline(never)]
fn pool(pool: &Pool, items: &[u64]) -> Option<u64> {
    pool.map_reduce(items, |x| x * 3, |a, b| a ^ b)
}
fn long(x: u64) -> u64 {
    thread::sleep(Duration::from_millis(20));
    x * 3
}
#[inline(never)]
fn plain_long(items: &[u64]) -> Option<u64> {
    items.iter().map(|x| long(*x)).reduce(|a, b| a ^ b)
}
#[inline(never)]
fn pool_long(pool: &Pool, items: &[u64]) -> Option<u64> {
    pool.map_reduce(items, |x| long(*x), |a, b| a ^ b)
}
fn main() {
    let threads = Pool::builder().num_threads(2).build().unwrap();
    let (two, eight) = ([1, 2], [1, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..200 {
        black_box(pool(&threads, black_box(&two)));
    }
    for _ in 0..20 {
        black_box(pool_long(&threads, black_box(&eight)));
    }
    println!(\"{:08x} {:08x}\", &raw const MARK as usize, clock_gettime as *const () as usize);
    for _ in 0..SHORT {
        MARK.store(0, Relaxed);
        black_box(plain(black_box(&two)));
        MARK.store(1, Relaxed);
        black_box(pool(&threads, black_box(&two)));
        MARK.store(2, Relaxed);
    }
    for _ in 0..20 {
        MARK.store(0, Relaxed);
        black_box(plain_long(black_box(&eight)));
        MARK.store(1, Relaxed);
        black_box(pool_long(&threads, black_box(&eight)));
        MARK.store(2, Relaxed);
    }
}
";

/// The number of calls over 2 items.
const SHORT: usize = 100;

/// The instructions, cache lines and pages of a call.
#[derive(Clone, Default)]
struct Touched {
    instructions: usize,
    lines: HashSet<u64>,
    pages: HashSet<u64>,
    is_timed: bool,
}

/// The medians over several calls.
#[derive(Clone, Copy)]
struct Medians {
    instructions: usize,
    lines: usize,
    pages: usize,
}

impl Medians {
    fn of<'a>(calls: &(impl Iterator<Item = &'a Touched> + Clone)) -> Self {
        let median = |count: fn(&Touched) -> usize| {
            let mut counts: Vec<_> = calls.clone().map(count).collect();
            counts.sort_unstable();
            counts.get(counts.len() / 2).copied().expect("a call of this kind")
        };
        Self {
            instructions: median(|call| call.instructions),
            lines: median(|call| call.lines.len()),
            pages: median(|call| call.pages.len()),
        }
    }
}

impl fmt::Display for Medians {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instructions, lines, pages } = self;
        write!(f, "{instructions} instructions, {lines} lines, {pages} pages")
    }
}

/// The measured calls: those of the plain loop, and those of the pool's loop.
fn touched() -> [Vec<Touched>; 2] {
    let program = Program::new("touched", &PROGRAM.replace("SHORT", &SHORT.to_string())).built();
    let in_target = |end| program.with_extension(end);
    let (source, clock, trace) = (in_target("c"), in_target("so"), in_target("trace"));
    fs::write(&source, CLOCK).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&clock).arg(&source).status();
    assert!(compiled.unwrap().success());
    let mut lackey = Command::new("valgrind");
    lackey.args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"]);
    let said = lackey.arg(format!("--log-file={}", trace.display())).arg(&program).env("LD_PRELOAD", &clock);
    let said = String::from_utf8(said.output().unwrap().stdout).unwrap();
    let (mark, clock) = said.trim().split_once(' ').expect("two addresses");
    let (mark, clock) = (format!(" S {mark},8"), u64::from_str_radix(clock, 16).unwrap());
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
            let touches = |unit| address / unit..=(address + size - 1) / unit;
            call.instructions += usize::from(line.starts_with('I'));
            call.is_timed |= line.starts_with('I') && address == clock;
            call.lines.extend(touches(64));
            call.pages.extend(touches(4096));
        }
    }
    fs::remove_file(&trace).unwrap();
    calls
}

#[test]
#[ignore = "long"]
fn a_call_touches_little() {
    let found = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !found("valgrind") || !found("cc") {
        eprintln!("SKIPPED: the bars are for x86-64 Linux, and need valgrind and cc (Debian: valgrind, gcc)");
        return;
    }
    // If other programs use the CPUs, calls seem long and take other paths. So one quiet run
    // suffices.
    let mut told = Vec::new();
    let is_quiet = (0..3).any(|_| {
        let [plain, pool] = touched();
        assert_eq!((plain.len(), pool.len()), (SHORT + 20, SHORT + 20), "calls");
        let (short, long): (Range<usize>, Range<usize>) = (0..SHORT, SHORT..SHORT + 20);
        let timed =
            |is: bool| Medians::of(&pool[short.clone()].iter().filter(move |call| call.is_timed == is));
        let ours = [timed(false), timed(true), Medians::of(&pool[long.clone()].iter())];
        let [plain, plain_long] = [short.clone(), long].map(|calls| Medians::of(&plain[calls].iter()));
        assert!(plain.lines > 1, "a call has an instruction, a stack and two items");
        let mut are_few = true;
        for (kind, (ours, plain)) in KINDS.iter().zip(ours.into_iter().zip([plain, plain, plain_long])) {
            told.push(format!("{}: {ours}; the plain loop {plain}", kind.name));
            are_few &= (kind.least..=plain.lines + kind.lines).contains(&ours.lines);
            are_few &= ours.pages <= plain.pages + kind.pages;
        }
        are_few
    });
    eprintln!("{}", told.join("\n"));
    assert!(is_quiet, "more than the bars: {told:#?}");
}
