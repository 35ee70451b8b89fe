//! What a further loop weighs in a user's program: two programs, with one loop and with 21, each
//! with closures of its own.

use std::{fmt::Write, process::Command};

use crate::users::built;

/// Bytes of a further `map_reduce`, at most: code, constants and tables for unwinding.
const BAR: usize = 6_000;

/// The bytes of an optimised program with so many loops.
fn size(loops: usize) -> usize {
    let mut program = String::from("use rangesteal::Pool;\n");
    let mut calls = String::new();
    for site in 0..loops {
        let (odd, turn) = (2 * site + 3, site % 31 + 1);
        writeln!(
            program,
            "#[inline(never)]\nfn site_{site}(pool: &Pool, items: &[u64]) -> Option<u64> {{\n    \
             pool.map_reduce(items, |x| x.wrapping_mul({odd}).rotate_left({turn}), |a, b| a ^ b.wrapping_add({site}))\n}}"
        )
        .unwrap();
        writeln!(calls, "    println!(\"{{:?}}\", site_{site}(&pool, &items));").unwrap();
    }
    let main = format!(
        "fn main() {{\n    let pool = Pool::new().unwrap();\n    \
         let items: Vec<u64> = (0..std::env::args().count() as u64).collect();\n{calls}}}\n"
    );
    let sizes = Command::new("size").arg(built(&format!("weight-{loops}"), &(program + &main))).output();
    let sizes = String::from_utf8(sizes.unwrap().stdout).unwrap();
    let text = sizes.lines().nth(1).and_then(|line| line.split_whitespace().next());
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("size has said: {sizes}"))
}

#[test]
fn a_further_loop_is_light() {
    const FURTHER: usize = 20;
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || Command::new("size").output().is_err() {
        eprintln!("SKIPPED: the bar is for x86-64 Linux, and needs `size` (Debian: binutils)");
        return;
    }
    let bytes = (size(1 + FURTHER) - size(1)) / FURTHER;
    eprintln!("{bytes} bytes a further loop");
    assert!(bytes <= BAR, "{bytes} bytes a further loop; at most {BAR}");
}
