//! What a further loop weighs in a user's program: two programs, with one loop and with 21, each
//! with closures of its own.

use std::{fmt::Write, process::Command};

use crate::users::built;

/// Bytes of a further `map_reduce`, at most: code, constants and tables for unwinding.
const BAR: usize = 6_000;

/// What else a user may call. `ODD` and `TURN` are other numbers at each site.
const OTHERS: [(&str, &str); 10] = [
    ("sum_of", "pool.on(items).sum_of(|x| x.wrapping_mul(ODD).rotate_left(TURN))"),
    ("map_collect", "pool.map_collect(items, |x| x.wrapping_mul(ODD) >> TURN).len() as u64"),
    (
        "map_collect by value",
        "pool.on(items.to_vec()).map_collect(|x| vec![x.wrapping_mul(ODD); TURN]).len() as u64",
    ),
    ("filter_collect", "pool.filter_collect(items, |x| x.wrapping_mul(ODD) % 64 < TURN).len() as u64"),
    ("flat_map_collect", "pool.flat_map_collect(items, |x| *x..x + x % TURN).len() as u64 + ODD"),
    ("partition", "pool.on(items).copied().partition(|x| x.wrapping_mul(ODD) % 64 < TURN).0.len() as u64"),
    ("find_first", "pool.find_first(items, |x| x.wrapping_mul(ODD) % 64 < TURN).map_or(0, |x| *x)"),
    (
        "grow",
        "{ let all = pool.grow(items.to_vec()); all.fold_unordered(|| 0, |a, x, feed| { if x > TURN { feed.push(x / 2) } a ^ x.wrapping_mul(ODD) }, |a, b| a ^ b) }",
    ),
    (
        "waiting map_reduce",
        "pool.on(items).waiting(9).map_reduce(async |x| x.wrapping_mul(ODD).rotate_left(TURN), |a, b| a ^ b.wrapping_add(ODD)).unwrap_or(0)",
    ),
    (
        "sort_by_key",
        "{ let mut v = items.to_vec(); pool.sort_by_key(&mut v, |x| x.wrapping_mul(ODD) >> TURN); v[0] }",
    ),
];

/// A `map_reduce`.
const PLAIN: &str = "pool.map_reduce(items, |x| x.wrapping_mul(ODD).rotate_left(TURN), |a, b| a ^ b.wrapping_add(ODD)).unwrap_or(0)";

/// The bytes of an optimised program with so many loops.
fn size(name: &str, expression: &str, loops: usize) -> usize {
    let mut program = String::from("use rangesteal::Pool;\n");
    let mut calls = String::new();
    for site in 0..loops {
        let call = expression.replace("ODD", &(2 * site + 3).to_string());
        let call = call.replace("TURN", &(site % 31 + 1).to_string());
        let head = format!("#[inline(never)]\nfn site_{site}(pool: &Pool, items: &[u64]) -> u64");
        writeln!(program, "{head} {{\n    {call}\n}}").unwrap();
        writeln!(calls, "    println!(\"{{:?}}\", site_{site}(&pool, &items));").unwrap();
    }
    let main = format!(
        "fn main() {{\n    let pool = Pool::new().unwrap();\n    \
         let items: Vec<u64> = (0..std::env::args().count() as u64).collect();\n{calls}}}\n"
    );
    let name = format!("weight-{}-{loops}", name.replace(' ', "-"));
    let sizes = Command::new("size").arg(built(&name, &(program + &main))).output();
    let sizes = String::from_utf8(sizes.unwrap().stdout).unwrap();
    let text = sizes.lines().nth(1).and_then(|line| line.split_whitespace().next());
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("size has said: {sizes}"))
}

/// What a further loop of this kind weighs.
fn further(name: &str, expression: &str) -> usize {
    const FURTHER: usize = 20;
    let bytes = (size(name, expression, 1 + FURTHER) - size(name, expression, 1)) / FURTHER;
    eprintln!("{bytes} bytes a further {name}");
    bytes
}

/// Whether bytes can be compared with the bar.
fn can_be_weighed() -> bool {
    let can = cfg!(all(target_os = "linux", target_arch = "x86_64")) && Command::new("size").output().is_ok();
    if !can {
        eprintln!("SKIPPED: the bar is for x86-64 Linux, and needs `size` (Debian: binutils)");
    }
    can
}

#[test]
fn a_further_loop_is_light() {
    if can_be_weighed() {
        let bytes = further("map_reduce", PLAIN);
        assert!(bytes <= BAR, "{bytes} bytes a further loop; at most {BAR}");
    }
}

/// `cargo test -p rangesteal-tidy weight -- --ignored --nocapture`: two programs a row.
#[test]
#[ignore = "no bar, and long"]
fn what_other_loops_weigh() {
    if can_be_weighed() {
        for (name, expression) in OTHERS {
            assert!(further(name, expression) > 0);
        }
    }
}
