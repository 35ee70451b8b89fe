//! A report names the lines of the program that call loops, and none of this package.

use std::{collections::HashSet, env, process::Command};

use rangesteal_rayon as rayon;
use rayon::prelude::*;

/// Loops that collect. A line calls one of them at most.
fn loops() {
    let items = || (0..10_000_u64).into_par_iter();
    let mut all: Vec<u64> = items().filter(|x| x % 3 > 0).collect();
    let some: HashSet<u64> = items().map(|x| x / 2).collect();
    let boxed: Box<[u64]> = items().map_init(|| 1, |one, x| x + *one).collect();
    all.par_extend(items().map(|x| x + 1));
    let mut others: Vec<u64> = Vec::new();
    others.par_extend(items().map(|x| x ^ 1));
    let list = items().map(|x| x + 2).collect_vec_list();
    let result: Result<Vec<u64>, ()> = items().map(Ok).collect();
    assert_eq!((some.len(), boxed.len(), others.len(), list.len()), (5000, 10_000, 10_000, 1));
    assert_eq!((all.len(), result.map(|all| all.len())), (16_666, Ok(10_000)));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_report_names_the_lines_of_the_program() {
    if env::var_os("RANGESTEAL_REPORT").is_some() {
        return loops();
    }
    let mut test = Command::new(env::current_exe().unwrap());
    test.args(["--exact", "a_report_names_the_lines_of_the_program"]).env("RANGESTEAL_REPORT", "1");
    let output = test.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("7 loops took"), "{text}");
    assert_eq!(text.matches("/reported.rs:").count(), 7, "{text}");
}
