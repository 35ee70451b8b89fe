//! Tests that programs which cannot compile get a compile error that says what to write.

use std::{fs, path::Path, process::Command};

/// Chains that need an index where there is none, one error each.
const UNINDEXED: [&str; 8] = [
    "v.par_iter().filter(|x| **x > 2).enumerate().map(|(i, x)| i.pow(*x)).sum::<usize>()",
    "v.par_iter().filter(|x| **x > 2).rev().map(|x| x.pow(2)).count()",
    "v.par_iter().filter(|x| **x > 2).map(|x| x + 1).zip(v).map(|(a, b)| a.pow(*b)).count()",
    "v.par_iter().filter_map(|x| x.checked_sub(2)).map(|x| x + 1).enumerate().count()",
    "v.par_iter().flat_map_iter(|x| 0..*x).chunks(2).map(|x| x.len()).count()",
    "v.par_iter().flat_map(|x| 0..*x).take(2).map(|x| x.pow(2)).count()",
    "v.par_iter().map(Some).flatten().skip(2).sum::<u32>()",
    "v.par_iter().skip_any(2).with_min_len(2).map(|x| x.pow(2)).count()",
];

/// The compiler's messages for a library that must not compile.
fn refusal(name: &str, program: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\nrayon = {{ package = \"rangesteal-rayon\", path = '{}' }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), program).unwrap();
    let check = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--target-dir"])
        .arg(folder.with_file_name("target")) // one for all, which compiles the library once
        .current_dir(&folder)
        .output()
        .expect("cargo");
    assert!(!check.status.success(), "it compiles");
    String::from_utf8_lossy(&check.stderr).into_owned()
}

#[test]
fn what_needs_an_index_behind_a_filter_is_one_error_that_says_what_to_write() {
    let lines: String = UNINDEXED.map(|chain| format!("    let _ = {chain};\n")).concat();
    let said =
        refusal("unindexed", &format!("use rayon::prelude::*;\npub fn all(v: &Vec<u32>) {{\n{lines}}}\n"));
    let error = "error[E0277]: items behind `filter`, `flat_map` and so on have no index: put this method";
    assert_eq!(said.matches("error[").count(), UNINDEXED.len(), "{said}");
    assert_eq!(said.matches(error).count(), UNINDEXED.len(), "{said}");
    let zipped = "v.par_iter().zip(v.par_iter().filter(|x| **x > 2))";
    let said =
        refusal("unindexed", &format!("use rayon::prelude::*;\npub fn all(v: &Vec<u32>) {{ {zipped}; }}"));
    assert!(
        said.starts_with("error[E0277]: items behind `filter`, `flat_map` and so on have no index\n"),
        "{said}"
    );
}

/// What another crate has for the real rayon, one error each.
const THEIRS: [&str; 8] = [
    "Theirs.into_par_iter().map(|x: u8| x).count()",
    "Theirs.par_iter().map(|x: u8| x).count()",
    "Theirs.par_iter_mut().map(|x: u8| x).count()",
    "v.par_iter().zip(Theirs)",
    "v.par_iter().chain(Theirs)",
    "v.par_iter().map(|_| Theirs).flatten()",
    "v.par_iter().collect::<Theirs>()",
    "v.clone().par_extend(Theirs)",
];

#[test]
fn what_is_of_the_real_rayon_is_an_error_that_says_what_to_do_first() {
    // The compiler reports the same error of the same type once.
    let of_its_own = |(at, line): (usize, &&str)| {
        let line = line.replace("Theirs", &format!("Theirs::<{at}>"));
        format!("    let _ = {line};\n")
    };
    let lines = THEIRS.iter().enumerate().map(of_its_own).collect::<Vec<_>>().concat();
    let begin = "use rayon::prelude::*;\npub struct Theirs<const N: usize>;\npub fn all(v: &Vec<u32>) {\n";
    let said = refusal("theirs", &format!("{begin}{lines}}}\n"));
    for (at, line) in THEIRS.iter().enumerate() {
        let place = format!("--> src/lib.rs:{}:", at + 4);
        let first = said.split("\nerror").find(|error| error.contains(&place)).unwrap_or_default();
        assert!(
            first.lines().next().is_some_and(|says| says.contains("patch rayon for the whole tree")),
            "{line}:\n{first}"
        );
        assert!(first.contains("\"The whole tree\" in the README of rangesteal-rayon"), "{line}:\n{first}");
    }
}
