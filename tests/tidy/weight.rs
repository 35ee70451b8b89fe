//! The size of one more loop in a user's program, and the size of a program with one loop.
//!
//! One program has a single loop, and another one has 21 loops. Each loop has a closure of a
//! different size. Two more programs have the plain loops instead. The functions of plain loops are
//! the user's own code, so their size is subtracted.

#![allow(clippy::cast_precision_loss, reason = "sizes of programs")]

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{
    top,
    users::{Program, Uses},
};

const FURTHER: usize = 20;

/// A loop that a user may write.
struct Loop {
    name: &'static str,
    /// The largest size of one more loop minus the size of its plain loop. The size is in bytes of
    /// code, constants and tables for unwinding.
    bar: usize,
    /// The target, in the same unit as `bar`.
    aim: usize,
    ours: &'static str,
    plain: &'static str,
    /// Empty if rayon has no such loop.
    rayon: &'static str,
}

/// `WORK` is an expression of `*x` that differs from site to site. `SITE` is the number of the
/// site.
const LOOPS: [Loop; 5] = [
    Loop {
        name: "map_reduce",
        bar: 1_790,
        aim: 2_500,
        ours: "pool.map_reduce(items, |x| WORK, |a, b| a ^ b).unwrap_or(0)",
        plain: "items.iter().map(|x| WORK).fold(0, |a, b| a ^ b)",
        rayon: "items.par_iter().map(|x| WORK).reduce(|| 0, |a, b| a ^ b)",
    },
    Loop {
        name: "filter_collect",
        bar: 2_070,
        aim: 3_500,
        ours: "pool.on(items).copied().filter(|x| WORK % 64 < 9).collect::<Vec<_>>().len() as u64",
        plain: "items.iter().copied().filter(|x| WORK % 64 < 9).collect::<Vec<_>>().len() as u64",
        rayon: "items.par_iter().copied().filter(|x| WORK % 64 < 9).collect::<Vec<_>>().len() as u64",
    },
    Loop {
        name: "chain of three",
        bar: 1_710,
        aim: 3_500,
        ours: "pool.on(items).map(|x| WORK).filter(|x| x % 4 == 0).map(|x| x >> 8).sum::<u64>()",
        plain: "items.iter().map(|x| WORK).filter(|x| x % 4 == 0).map(|x| x >> 8).sum::<u64>()",
        rayon: "items.par_iter().map(|x| WORK).filter(|x| x % 4 == 0).map(|x| x >> 8).sum::<u64>()",
    },
    Loop {
        name: "grow",
        bar: 5_000,
        aim: 5_000,
        ours: "pool.grow(items.to_vec()).fold_unordered(|| 0, |a, x, feed| { if x > SITE { feed.push(x / 2) } let x = &x; a ^ WORK }, |a, b| a ^ b)",
        plain: "{ let (mut all, mut a) = (items.to_vec(), 0); while let Some(x) = all.pop() { if x > SITE { all.push(x / 2) } let x = &x; a ^= WORK } a }",
        rayon: "",
    },
    // The bytes beyond the sort of std come from three functions, each with the closure inlined:
    // the search for sorted runs, the merges, and the search for an item's place. All other code
    // exists once for each type of items.
    Loop {
        name: "sort_by_key",
        bar: 7_000,
        aim: 7_000,
        ours: "{ let mut v = items.to_vec(); pool.sort_by_key(&mut v, |x| WORK); v[0] }",
        plain: "{ let mut v = items.to_vec(); v.sort_by_key(|x| WORK); v[0] }",
        rayon: "{ let mut v = items.to_vec(); v.par_sort_by_key(|x| WORK); v[0] }",
    },
];

/// Other loops. Each bar is some 5 % above the weight in `docs/weight.md`.
const OTHERS: [Loop; 16] = [
    other(
        "map_reduce to a type of its own",
        10_680,
        "{ struct Own([u8; SITE + 1]); pool.map_reduce(items, |x| Own([(WORK) as u8; SITE + 1]), |a, _| a).map_or(0, |own| own.0[0].into()) }",
        "{ struct Own([u8; SITE + 1]); items.iter().map(|x| Own([(WORK) as u8; SITE + 1])).reduce(|a, _| a).map_or(0, |own| own.0[0].into()) }",
    ),
    other("sum", 1_730, "pool.on(items).map(|x| WORK).sum()", "items.iter().map(|x| WORK).sum()"),
    other(
        "map_collect",
        3_270,
        "pool.map_collect(items, |x| WORK).len() as u64",
        "items.iter().map(|x| WORK).collect::<Vec<_>>().len() as u64",
    ),
    other(
        "flat_map",
        1_570,
        "pool.on(items).flat_map(|x| *x..WORK % 9 + *x).collect::<Vec<_>>().len() as u64",
        "items.iter().flat_map(|x| *x..WORK % 9 + *x).collect::<Vec<_>>().len() as u64",
    ),
    other(
        "partition",
        2_600,
        "pool.on(items).copied().partition(|x| WORK % 64 < 9).0.len() as u64",
        "items.iter().copied().partition::<Vec<_>, _>(|x| WORK % 64 < 9).0.len() as u64",
    ),
    other(
        "find",
        2_200,
        "pool.on(items).find(|x| { let x = *x; (WORK) % 64 < 9 }).map_or(0, |x| *x)",
        "items.iter().find(|x| { let x = *x; (WORK) % 64 < 9 }).map_or(0, |x| *x)",
    ),
    other(
        "sort_by_key of items of another type",
        19_900,
        "{ struct Item(u64); let mut v: Vec<_> = items.iter().map(|x| Item(*x)).collect(); pool.sort_by_key(&mut v, |Item(x)| WORK); v[0].0 }",
        "{ struct Item(u64); let mut v: Vec<_> = items.iter().map(|x| Item(*x)).collect(); v.sort_by_key(|Item(x)| WORK); v[0].0 }",
    ),
    other(
        "inclusive_scan",
        1_490,
        "{ let mut v = items.to_vec(); pool.on(&mut v).inclusive_scan(|a, x| *a ^ (WORK)); v[0] }",
        "{ let mut v = items.to_vec(); for i in 1..v.len() { let (a, x) = (v[i - 1], &v[i]); v[i] = a ^ (WORK); } v[0] }",
    ),
    other(
        "inclusive_scan_into",
        4_070,
        "{ let mut v = Vec::new(); pool.on(items).map(|x| WORK).inclusive_scan_into(&mut v, |a, b| *a ^ *b); v[0] }",
        "{ let (mut v, mut a) = (Vec::with_capacity(items.len()), 0); v.extend(items.iter().map(|x| { a ^= WORK; a })); v[0] }",
    ),
    other(
        "chunk_by",
        5_050,
        "pool.on(items).chunk_by(|x, y| WORK % 9 == *y).map(|group| group.len() as u64).sum()",
        "items.chunk_by(|x, y| { let y = *y; (WORK) % 9 == y }).map(|group| group.len() as u64).sum()",
    ),
    other(
        "partition_in_place",
        850,
        "{ let mut v = items.to_vec(); pool.partition_in_place(&mut v, |x| WORK % 64 < 9) as u64 }",
        "{ let mut v = items.to_vec(); let mut n = 0; for i in 0..v.len() { let x = &v[i]; let passes = (WORK) % 64 < 9; v.swap(n, i); n += usize::from(passes); } n as u64 }",
    ),
    other(
        "select_nth_unstable_by_key",
        200,
        "{ let mut v = items.to_vec(); *pool.select_nth_unstable_by_key(&mut v, 0, |x| WORK).1 }",
        "{ let mut v = items.to_vec(); *v.select_nth_unstable_by_key(0, |x| WORK).1 }",
    ),
    other(
        "merge_by",
        7_250,
        "{ let mut v = items.to_vec(); pool.merge_by(&mut v, 0, |x, z| { let x = WORK; x.cmp(z) }); v[0] }",
        "{ let mut v = items.to_vec(); v.sort_by(|x, z| { let x = WORK; x.cmp(z) }); v[0] }",
    ),
    other(
        "for_each of items at given indices",
        2_590,
        "{ let mut v = items.to_vec(); let p = pool.permutation(vec![0], v.len()).unwrap(); pool.on(&mut v).at(&p).for_each(|x| *x = WORK); v[0] }",
        "{ let mut v = items.to_vec(); for i in [0] { let x = &mut v[i]; *x = WORK; } v[0] }",
    ),
    other(
        "for_each of tiles",
        1_670,
        "{ let mut v = items.to_vec(); pool.on(rangesteal::source::tiles(&mut v, 1, [1, 1])).for_each(|mut t| for x in t.cells().flatten() { *x = WORK }); v[0] }",
        "{ let mut v = items.to_vec(); for x in &mut v { *x = WORK } v[0] }",
    ),
    other(
        "waiting map_reduce",
        5_240,
        "pool.on(items).waiting(9).map_reduce(async |x| WORK, |a, b| a ^ b).unwrap_or(0)",
        "items.iter().map(|x| WORK).fold(0, |a, b| a ^ b)",
    ),
];

const fn other(name: &'static str, bar: usize, ours: &'static str, plain: &'static str) -> Loop {
    Loop { name, bar, aim: bar, ours, plain, rayon: "" }
}

/// A program with `loops` of these loops. The closure at site `n` has `2 n` rounds of shift, xor,
/// add.
fn source(uses: Uses, expression: &str, loops: usize) -> String {
    let (import, make, pool, lend) = match uses {
        Uses::Rangesteal => {
            ("use rangesteal::Pool;", "let pool = Pool::new().unwrap();", "pool: &Pool, ", "&pool, ")
        }
        Uses::Rayon => ("use rayon::prelude::*;", "", "", ""),
        Uses::Nothing => ("", "", "", ""),
    };
    let (mut program, mut calls) = (format!("{import}\n"), String::new());
    for site in 0..loops {
        let work = format!(
            "{{ let mut y: u64 = *x; for _ in 0..{} {{ y ^= y << 13; y ^= y >> 7; y = y.wrapping_add({}); }} y }}",
            2 * site,
            2 * site + 3
        );
        let call = expression.replace("WORK", &work).replace("SITE", &site.to_string());
        writeln!(program, "#[inline(never)]\nfn site_{site}({pool}items: &[u64]) -> u64 {{\n    {call}\n}}")
            .unwrap();
        writeln!(calls, "    println!(\"{{:?}}\", site_{site}({lend}&items));").unwrap();
    }
    let items = "let items: Vec<u64> = (0..std::env::args().count() as u64).collect();";
    format!("#![allow(unused_parens)]\n{program}fn main() {{\n    {make}\n    {items}\n{calls}}}\n")
}

/// The bytes of code and constants of a program, as `size` reports them.
fn text(program: &Path) -> usize {
    let sizes = Command::new("size").arg(program).output();
    let sizes = String::from_utf8(sizes.unwrap().stdout).unwrap();
    let text = sizes.lines().nth(1).and_then(|line| line.split_whitespace().next());
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("size has said: {sizes}"))
}

/// CPU time of all children of this process that have ended, in seconds.
fn children() -> f64 {
    const TICKS: f64 = 100.0; // per second, on every current Linux
    let status = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = status.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    [13, 14].iter().map(|at| fields[*at].parse::<f64>().unwrap()).sum::<f64>() / TICKS // cutime, cstime: proc(5)
}

/// The cost of one more loop, in bytes and in CPU seconds of the compiler.
struct Cost {
    bytes: usize,
    seconds: f64,
}

/// The cost of one more loop of this kind, its closure included.
fn further(name: &str, uses: Uses, expression: &str) -> Cost {
    let cost = |loops: usize| {
        let name = format!("weight-{}-{uses:?}-{loops}", name.replace(' ', "-")).to_lowercase();
        let source = source(uses, expression, loops);
        let begin = children();
        let program = Program { uses, ..Program::new(&name, &source) }.built(); // built again, because the source is new
        (text(&program), children() - begin)
    };
    cost(1); // builds the dependencies
    let (one, all) = (cost(1), cost(1 + FURTHER));
    Cost { bytes: (all.0 - one.0) / FURTHER, seconds: (all.1 - one.1) / FURTHER as f64 }
}

/// The cost of one more loop minus the cost of the plain loop. Prints a line with this cost, and
/// with rayon's cost.
fn above_plain(it: &Loop, beside_rayon: bool) -> Cost {
    let (ours, plain) =
        (further(it.name, Uses::Rangesteal, it.ours), further(it.name, Uses::Nothing, it.plain));
    let above = |cost: &Cost| Cost {
        bytes: cost.bytes.saturating_sub(plain.bytes),
        seconds: cost.seconds - plain.seconds,
    };
    let told = |cost: &Cost| format!("{} bytes and {:.2} s", cost.bytes, cost.seconds);
    let (name, ours) = (it.name, above(&ours));
    let mut line = format!("a further {name}: {} above the plain loop's {}", told(&ours), told(&plain));
    if beside_rayon && !it.rayon.is_empty() {
        let rayon = further(it.name, Uses::Rayon, it.rayon);
        write!(line, "; rayon's {}", told(&above(&rayon))).unwrap();
    }
    if it.aim < usize::MAX {
        write!(line, "; bar {}, aim {}", it.bar, it.aim).unwrap();
    }
    eprintln!("{line}");
    ours
}

/// Whether bytes on this machine can be compared with the bar.
fn can_be_weighed() -> bool {
    let can = cfg!(all(target_os = "linux", target_arch = "x86_64")) && Command::new("size").output().is_ok();
    if !can {
        eprintln!("SKIPPED: the bar is for x86-64 Linux, and needs `size` (Debian: binutils)");
    }
    can
}

#[test]
#[ignore = "long"]
fn a_further_loop_is_light() {
    if can_be_weighed() {
        let [map_reduce, ..] = &LOOPS;
        let Cost { bytes, .. } = above_plain(map_reduce, false);
        assert!(bytes <= map_reduce.bar, "{bytes} bytes a further loop; at most {}", map_reduce.bar);
    }
}

/// The most CPU seconds of the compiler for one more loop, minus the CPU seconds for its plain
/// loop.
const SECONDS_BAR: f64 = 0.10;

/// `cargo test -p rangesteal-tidy weight -- --ignored --nocapture --test-threads 1`. The tests run
/// on one thread, because the CPU seconds are those of all children of this process.
#[test]
#[ignore = "long"]
fn further_loops_of_five_kinds_are_light() {
    if can_be_weighed() {
        let costs: Vec<_> = LOOPS.iter().map(|it| (it, above_plain(it, true))).collect();
        let heavy = costs.iter().filter(|(it, cost)| cost.bytes > it.bar || cost.seconds > SECONDS_BAR);
        let heavy: Vec<_> = heavy.map(|(it, _)| it.name).collect();
        assert!(heavy.is_empty(), "more bytes than their bars, or more than {SECONDS_BAR} s: {heavy:?}");
    }
}

/// Prints the cost of each loop of `OTHERS`. The command is the one above.
#[test]
#[ignore = "long"]
fn what_other_loops_weigh() {
    if can_be_weighed() {
        let bytes = OTHERS.map(|other| (other.name, above_plain(&other, false).bytes, other.bar));
        assert!(bytes.iter().all(|(_, bytes, bar)| bytes <= bar), "{bytes:?}");
    }
}

/// The largest size of a stripped program with one loop, divided by the size of the same program
/// with rayon.
/// `docs/weight.md` has the sizes of its parts.
const STRIPPED_BAR: f64 = 1.62;
/// The most CPU seconds of this program's release build from clean: on two quiet cores, twelve
/// seconds. (The time of the clock was up to six times as long beside other programs, and the CPU
/// seconds were the same.)
const CLEAN_BAR: f64 = 24.0; // aim: 16
/// The number of symbols to print.
const LARGEST: usize = 25;

/// Builds a program with one loop from clean. Returns its path, the wall seconds and the CPU
/// seconds.
fn alone(uses: Uses) -> (PathBuf, f64, f64) {
    let [Loop { ours, plain, rayon, .. }, ..] = LOOPS;
    let expression = match uses {
        Uses::Rangesteal => ours,
        Uses::Rayon => rayon,
        Uses::Nothing => plain,
    };
    let (name, source) = (format!("one-loop-{uses:?}").to_lowercase(), source(uses, expression, 1));
    let program = Program { uses, ..Program::new(&name, &source) };
    let target = top().join("target/users/clean").join(&name);
    if target.exists() {
        fs::remove_dir_all(&target).unwrap();
    }
    program.write();
    let (begin, used) = (Instant::now(), children());
    assert!(program.cargo(&target).status().unwrap().success());
    (target.join("release").join(name), begin.elapsed().as_secs_f64(), children() - used)
}

/// The largest symbols of a program, as listed by `nm`.
fn largest(program: &Path) -> String {
    let symbols = Command::new("nm").args(["--size-sort", "-C", "-S", "-r"]).arg(program).output().unwrap();
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let line = |line: &str| {
        let (_, line) = line.split_once(' ')?;
        let (size, name) = line.split_once(' ')?;
        let name: String = name.chars().take(140).collect();
        Some(format!("{:8} {name}", usize::from_str_radix(size, 16).ok()?))
    };
    symbols.lines().filter_map(line).take(LARGEST).collect::<Vec<_>>().join("\n")
}

/// The bytes of all functions and constants of a crate. Their symbols begin with `name`.
fn of_crate(program: &Path, name: &str) -> usize {
    let symbols = Command::new("nm").args(["-C", "-S"]).arg(program).output().unwrap();
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let size = |line: &str| {
        let fields: Vec<&str> = line.splitn(4, ' ').collect();
        let [_, size, _, symbol] = fields[..] else { return None };
        symbol.trim_start_matches('<').starts_with(name).then(|| usize::from_str_radix(size, 16).ok())?
    };
    symbols.lines().filter_map(size).sum()
}

/// `cargo test -p rangesteal-tidy one_loop -- --ignored --nocapture`
#[test]
#[ignore = "builds from clean, and takes the time"]
fn a_program_with_one_loop_is_small() {
    if !can_be_weighed() {
        return;
    }
    let [nothing, rayon, ours] = [Uses::Nothing, Uses::Rayon, Uses::Rangesteal].map(|uses| {
        let (program, seconds, used) = alone(uses);
        let stripped = program.with_extension("stripped");
        let strip = Command::new("strip").arg("-o").arg(&stripped).arg(&program).status();
        assert!(strip.unwrap().success());
        let bytes = fs::metadata(&stripped).unwrap().len() as f64;
        eprintln!(
            "one loop, {uses:?}: {:.0} KB stripped, {:.0} KB of text, {seconds:.1} s from clean, {used:.1} s of CPU",
            bytes / 1e3,
            text(&program) as f64 / 1e3
        );
        (program, bytes, used)
    });
    for name in ["rangesteal::", "std::", "core::", "alloc::", "log::"] {
        let [less, more] = [&nothing.0, &ours.0].map(|program| of_crate(program, name) as f64 / 1e3);
        eprintln!("{name} {more:.0} KB ({less:.0} KB in the plain program)");
    }
    eprintln!("the largest:\n{}", largest(&ours.0));
    assert!(nothing.1 < ours.1);
    let (relative, seconds) = (ours.1 / rayon.1, ours.2);
    assert!(relative <= STRIPPED_BAR, "{relative:.2} of rayon's size; at most {STRIPPED_BAR}");
    assert!(seconds <= CLEAN_BAR, "{seconds:.1} s of CPU from clean; at most {CLEAN_BAR}");
}
