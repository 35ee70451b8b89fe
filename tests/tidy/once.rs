//! Tests that a loop compiles its closure once. One function of a user's program has the closure's
//! code, inside a loop. This function has no more copies of the code than the plain loop's function
//! has. `EXCUSED` lists the exceptions.
//!
//! Each closure multiplies by a number of its own. The number is an immediate operand in the code,
//! because the number is too long for a shift or a `lea`. A division follows, so that the compiler
//! does not vectorise the loop: a vectorised loop would load the number from a constant.

use std::{collections::BTreeMap, fmt::Write, process::Command};

use crate::users::{Program, Uses};

/// The ways in which a user may build.
const BUILDS: [(&str, &[(&str, &str)]); 4] = [
    ("16-units", &[]),
    ("1-unit", &[("CODEGEN_UNITS", "1")]),
    ("fat-lto", &[("CODEGEN_UNITS", "1"), ("LTO", "fat")]),
    ("opt-level-2", &[("OPT_LEVEL", "2")]),
];

/// The rounds of five instructions before the multiplication. The compiler inlines the smallest
/// closure into all callers. If the largest closure has two callers, the compiler inlines it into
/// neither.
const ROUNDS: [usize; 3] = [1, 8, 40];

/// A verb, the arguments of its function, the loop of the pool, and the plain loop. `WORK` is an
/// expression of `x: u64`.
const VERBS: [[&str; 4]; 9] = [
    [
        "map_reduce",
        "items: &[u64]) -> u64",
        "pool.map_reduce(items, |x| WORK, |a, b| a ^ b).unwrap_or(0)",
        "items.iter().map(|x| WORK).fold(0, |a, b| a ^ b)",
    ],
    [
        "fold_reduce",
        "items: &[u64]) -> u64",
        "pool.fold_reduce(items, || 0, |all, x| all ^ WORK, |a, b| a ^ b)",
        "items.iter().fold(0, |all, x| all ^ WORK)",
    ],
    [
        "map_collect",
        "items: &[u64]) -> Vec<u64>",
        "pool.map_collect(items, |x| WORK)",
        "items.iter().map(|x| WORK).collect()",
    ],
    [
        "map_into",
        "items: &[u64], out: &mut [u64])",
        "pool.on(items).map(|x| WORK).zip(out).for_each(|(made, place)| *place = made)",
        "items.iter().zip(out).for_each(|(x, place)| *place = WORK)",
    ],
    [
        "for_each_mut",
        "items: &mut [u64])",
        "pool.for_each_mut(items, |x| *x = WORK)",
        "items.iter_mut().for_each(|x| *x = WORK)",
    ],
    [
        "filter_collect",
        "items: &[u64]) -> Vec<u64>",
        "pool.on(items).copied().filter(|x| WORK % 4 == 0).collect()",
        "items.iter().copied().filter(|x| WORK % 4 == 0).collect()",
    ],
    [
        "map_filter_sum",
        "items: &[u64]) -> u64",
        "pool.on(items).map(|x| WORK).filter(|x| x % 4 == 0).map(|x| x >> 8).sum()",
        "items.iter().map(|x| WORK).filter(|x| x % 4 == 0).map(|x| x >> 8).sum()",
    ],
    [
        "any",
        "items: &[u64]) -> bool",
        "pool.on(items).any(|x| WORK == 77)",
        "items.iter().any(|x| WORK == 77)",
    ],
    [
        "try_map_reduce",
        "items: &[u64]) -> Result<u64, u64>",
        "Ok(pool.on(items).map(|x| { let x = WORK; if x == 77 { Err(x) } else { Ok(x) } }).try_reduce(|a, b| a ^ b)?.unwrap_or(0))",
        "items.iter().map(|x| { let x = WORK; if x == 77 { Err(x) } else { Ok(x) } }).try_fold(0, |a, b| Ok(a ^ b?))",
    ],
];

/// A verb, the number of copies that the verb may have beyond those of the plain loop, and whether
/// its closure must be inside a loop.
///
/// LLVM makes a copy of the closure for the first item of a reduction that may fail. A search
/// checks eight items in each step, and then the remaining items. With these steps, a search takes
/// 0.65 to 1.03 times the plain search's time, and a closure of 40 rounds is a function of its own.
/// A search with one simple loop takes 1.0 to 2.0 times the plain search's time.
const EXCUSED: [(&str, usize, bool); 2] = [("try_map_reduce", 1, true), ("any", 8, false)];

/// The factor of a closure: odd, 31 bits long, and different for each closure.
fn factor(verb: usize, rounds: usize, is_ours: bool) -> u64 {
    0x5A5A_0001 + 0x1_0000 * (verb as u64 + 1) + 2 * (2 * rounds as u64 + u64::from(is_ours))
}

/// The body of a closure that computes a number from `x`.
fn work(rounds: usize, factor: u64) -> String {
    format!(
        "{{ let (x, mut y) = (*x, *x); for _ in 0..{rounds} {{ y ^= y << 13; y ^= y >> 7; y = y.wrapping_add(0x9E37); }} \
         y.wrapping_mul({factor:#x}) / (x | 1) }}"
    )
}

/// A program with all closures. Each closure is in two functions: one function has the pool's loop,
/// and the other one has the plain loop.
fn source() -> String {
    let (mut functions, mut calls) = ("use rangesteal::Pool;\n".to_owned(), String::new());
    for (verb, [name, signature, ours, plain]) in VERBS.into_iter().enumerate() {
        for rounds in ROUNDS {
            for (whose, expression, is_ours) in [("ours", ours, true), ("plain", plain, false)] {
                let body = expression.replace("WORK", &work(rounds, factor(verb, rounds, is_ours)));
                let (pool, argument) = if is_ours { ("pool: &Pool, ", "&pool, ") } else { ("", "") };
                let function = format!("{whose}_{name}_{rounds}");
                writeln!(functions, "#[inline(never)]\nfn {function}({pool}{signature} {{\n    {body}\n}}")
                    .unwrap();
                let arguments = if signature.contains("out") { "&items, &mut out" } else { "&mut items" };
                writeln!(calls, "    println!(\"{{:?}}\", {function}({argument}{arguments}));").unwrap();
            }
        }
    }
    format!(
        "{functions}fn main() {{\n    let pool = Pool::new().unwrap();\n    \
         let mut items: Vec<u64> = (0..std::env::args().count() as u64).collect();\n    \
         let mut out = items.clone();\n{calls}}}\n"
    )
}

/// The most characters of a function's name in a message.
const NAME: usize = 150;

/// The occurrences of a factor in the code of one function.
#[derive(Clone, Default)]
struct Found {
    copies: usize,
    /// The number of copies between a backward jump and its target.
    in_loops: usize,
}

/// For each factor, the functions whose code has this factor, as `objdump` lists them.
fn found(listing: &str) -> BTreeMap<u64, BTreeMap<String, Found>> {
    let mut found = BTreeMap::<u64, BTreeMap<String, Found>>::new();
    for function in listing.split("\n\n") {
        let mut lines = function.trim_start().lines();
        // The address is a part of the key, since all instances of a generic function have one
        // name.
        let Some(name) = lines.next().and_then(|head| head.strip_suffix(">:")) else {
            continue;
        };
        let (mut factors, mut jumps) = (Vec::new(), Vec::new());
        for (address, instruction) in lines.filter_map(|line| line.trim_start().split_once(":\t")) {
            let address = u64::from_str_radix(address, 16).unwrap();
            let (mnemonic, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
            let operands = operands.trim_start();
            if let Some((immediate, _)) = operands.strip_prefix("$0x").and_then(|rest| rest.split_once(',')) {
                factors.extend(u64::from_str_radix(immediate, 16).map(|factor| (factor, address)));
            }
            if mnemonic.starts_with('j') {
                let target = operands.split(' ').next().unwrap_or_default();
                jumps.extend(u64::from_str_radix(target, 16).map(|target| target..address));
            }
        }
        for (factor, address) in factors {
            let found = found.entry(factor).or_default().entry(name.to_owned()).or_default();
            found.copies += 1;
            found.in_loops += usize::from(jumps.iter().any(|jump| jump.contains(&address)));
        }
    }
    found
}

/// A line for each fault of a closure, and the number of closures.
fn wrong(build: &str, listing: &str) -> (Vec<String>, usize) {
    let (found, mut wrong, mut count) = (found(listing), Vec::new(), 0);
    for (verb, [name, ..]) in VERBS.into_iter().enumerate() {
        for rounds in ROUNDS {
            let in_functions =
                |is_ours| found.get(&factor(verb, rounds, is_ours)).cloned().unwrap_or_default();
            let (ours, plain) = (in_functions(true), in_functions(false));
            assert!(!ours.is_empty() && !plain.is_empty(), "{build}: {name} of {rounds} rounds is nowhere");
            let sum = |functions: &BTreeMap<String, Found>, of: fn(&Found) -> usize| {
                functions.values().map(of).sum::<usize>()
            };
            let (copies, in_plain) = (sum(&ours, |found| found.copies), sum(&plain, |found| found.copies));
            let in_loops = sum(&ours, |found| found.in_loops);
            let excused = EXCUSED.iter().find(|(verb, ..)| *verb == name);
            let (more, in_a_loop) = excused.map_or((0, true), |&(_, more, in_a_loop)| (more, in_a_loop));
            let is_in_a_loop = !in_a_loop || in_loops > 0 || sum(&plain, |found| found.in_loops) == 0;
            count += 1;
            if ours.len() > 1 || copies > in_plain + more || !is_in_a_loop {
                wrong.push(format!(
                    "{build}: {name}, {rounds} rounds: {} functions, {copies} copies ({in_plain} in the plain loop), {in_loops} in loops",
                    ours.len()
                ));
                wrong.extend(ours.iter().map(|(name, found)| {
                    let name: String = name.trim_start_matches('0').chars().take(NAME).collect();
                    format!("    {} in {name}", found.copies)
                }));
            }
        }
    }
    (wrong, count)
}

#[test]
#[ignore = "long"]
fn a_closure_is_compiled_once() {
    if !cfg!(target_arch = "x86_64") || Command::new("objdump").arg("--version").output().is_err() {
        eprintln!("SKIPPED: reads code of x86-64, and needs `objdump` (Debian: binutils)");
        return;
    }
    let (source, mut all) = (source(), Vec::new());
    for (build, profile) in BUILDS {
        let name = format!("once-{build}");
        let program = Program { name: &name, source: &source, uses: Uses::Rangesteal, profile }.built();
        let mut objdump = Command::new("objdump");
        let output = objdump.args(["-d", "-C", "--no-show-raw-insn"]).arg(program).output().unwrap();
        let (wrong, count) = wrong(build, &String::from_utf8_lossy(&output.stdout));
        let failures = wrong.iter().filter(|line| !line.starts_with(' ')).count();
        eprintln!("{build}: {failures} of {count} closures are not compiled once");
        all.extend(wrong);
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn copies_are_counted_by_function_and_loop() {
    let listing = "
0000000000001000 <one>:
    1000:\timul   $0x5a5a1235,%rax,%rcx
    1007:\tjne    1000 <one>
    1009:\timul   $0x5a5a1235,%rdx,%rdx
    1010:\tret

0000000000001020 <two>:
    1020:\tjmp    1030 <two+0x10>
    1022:\timul   $0x5a5a1235,%rax,%rax
    1030:\tret
";
    let found = &found(listing)[&0x5a5a_1235];
    let counts: Vec<_> =
        found.iter().map(|(name, found)| (&name[17..], found.copies, found.in_loops)).collect();
    assert_eq!(counts, [("<one", 2, 1), ("<two", 1, 0)]);
}
