//! Tests of the checks of rooms. In made-up sources, the checks find all faults, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    arrows::{Arrows, Crate},
    circles, floors, forbidden, is_switched, replaceable, words, wrong_in_policy, wrong_in_proven,
    wrong_with_essay,
};

/// A crate with these files in `src/pool`, and some empty files.
fn made_up(files: &[(&str, &str)]) -> Crate {
    let empty =
        ["mod", "error", "supply/mod", "team/mod", "supply/range", "policy/mod", "policy/near", "verbs/mod"]
            .into_iter()
            .chain(["place/mod", "tell/mod", "tell/trace", "engine/mod", "engine/range_loop", "verbs/on"])
            .chain(["check/mod", "check/litmus"]);
    let all = empty.map(|file| (file, "")).chain(files.iter().copied());
    let mut all: BTreeMap<_, _> =
        all.map(|(file, text)| (format!("src/pool/{file}.rs"), text.to_string())).collect();
    let crates = "mod clock; mod pool; pub use pool::Pool;";
    all.extend([("src/lib.rs", crates), ("src/clock.rs", "")].map(|(file, text)| (file.into(), text.into())));
    Crate::new("src", &all)
}

/// The files that `file` names if it has this text. The names are without `src/pool/` and `.rs`.
fn from(file: &str, text: &str) -> Vec<String> {
    let short = |file: &str| file.trim_start_matches("src/pool/").trim_end_matches(".rs").to_string();
    let arrows = made_up(&[("mod", "pub struct Pool;"), (file, text)]).arrows();
    arrows.into_keys().filter(|(from, _)| short(from) == file).map(|(_, to)| short(&to)).collect()
}

fn wrong(files: &[(&str, &str)]) -> Vec<String> {
    let told = forbidden(&made_up(files).arrows());
    told.iter().map(|line| line.split(" by ").next().unwrap().to_string()).collect()
}

#[test]
fn every_way_to_name_a_file_is_an_arrow() {
    let ways = [
        "use crate::pool::policy::near::Near;",
        "use super::super::policy::near::{self, Near as Nearest};",
        "use super::super::{error, policy::{near::{Near, Home}}};",
        "use crate::pool::{policy::{near}};",
        "use crate::pool::policy::near::*;",
        "use crate::pool; use pool::policy as rules; const A: u8 = rules::near::A;",
        "fn f(near: super::super::policy::near::Near) {}",
        "fn f() { let x = crate::pool::policy::near::pick(1); }",
        "fn f() { use super::super::policy::near::pick; }",
        "fn f<T: crate::pool::policy::near::Trait>() {}",
        "impl<T> X for T where T: crate::pool::policy::near::Trait<u8> {}",
        "fn f() { assert!(a.b(1, crate::pool::policy::near::pick(2)) > 1); }",
        "fn f() { crate::pool::policy::near::say!(); }",
        "mod inner { use super::super::super::policy::near::Near; }",
        "mod inner { fn f() -> super::super::super::policy::near::Near {} }",
        "struct S { #[cfg(not(test))] near: Vec<crate::pool::policy::near::Near> }",
        "#[cfg(any(test, target_os = \"linux\"))] use crate::pool::policy::near::Near;",
        "fn f(x: X) -> u8 { match x { crate::pool::policy::near::X(n) => n } }",
    ];
    for way in ways {
        let found = from("supply/range", way);
        assert!(found.contains(&"policy/near".to_string()), "{way}: {found:?}");
        let told = wrong(&[("supply/range", way)]);
        assert!(told.contains(&"src/pool/supply/range.rs -> src/pool/policy/near.rs".to_string()), "{way}");
    }
}

#[test]
fn a_name_is_followed_to_where_it_comes_from() {
    assert_eq!(from("verbs/on", "use crate::Pool;"), ["src/lib", "mod"]);
    assert_eq!(from("verbs/on", "use super::super::Pool;"), ["mod"]);
    let handed_on = [
        ("policy/mod", "pub(super) use near::Near;"),
        ("engine/range_loop", "use super::super::policy::Near;"),
    ];
    let arrows: Vec<_> =
        made_up(&handed_on).arrows().into_keys().filter(|(from, _)| from.contains("engine")).collect();
    let to: Vec<_> = arrows.iter().map(|(_, to)| &**to).collect();
    assert_eq!(to, ["src/pool/policy/mod.rs", "src/pool/policy/near.rs"]);
}

#[test]
fn what_is_of_tests_or_of_others_is_no_arrow() {
    let ways = [
        "",
        "mod inner; mod near { pub struct Near; } use near::Near;",
        "#[cfg(test)] mod tests { use crate::pool::policy::near::Near; }",
        "#[cfg(all(test, not(any(loom, shuttle))))] mod tests { use crate::pool::policy::near::Near; }",
        "#[cfg(any(test, planted))] use crate::pool::policy::near::Near;",
        "/// Said.\n#[cfg(test)]\nfn f() { crate::pool::policy::near::pick() }",
        "enum E { #[cfg(test)] A(crate::pool::policy::near::Near), B }",
        "struct S { #[cfg(test)] a: crate::pool::policy::near::Near, b: u8 }",
        "impl S { #[cfg(test)] fn f() { crate::pool::policy::near::pick() } }",
        "fn f() { #[cfg(test)] let x = crate::pool::policy::near::X; }",
        "fn f() { match 1 { #[cfg(test)] 1 => crate::pool::policy::near::pick(), _ => {} } }",
        "#![cfg(test)] use crate::pool::policy::near::Near;",
        "//! [near](crate::pool::policy::near)\n// crate::pool::policy::near::Near",
        "const S: &str = \"crate::pool::policy::near::Near\";",
        "use std::policy::near::Near; use ::policy::near::Home; use policy::near::pick;",
        "fn f(near: u8) { let policy = near; println!(\"{}\", policy); }",
        "pub(in crate::pool) struct S;",
    ];
    for way in ways {
        assert_eq!(from("supply/range", way), [""; 0], "{way}");
    }
    let apart = [
        ("engine/mod", "#[cfg(test)] mod range_loop;"),
        ("engine/range_loop", "use crate::pool::verbs::on::On;"),
    ];
    assert_eq!(wrong(&apart), [""; 0]);
    let above = [("mod", "#[cfg(test)] mod engine;"), ("engine/mod", "mod range_loop;"), apart[1]];
    assert_eq!(wrong(&above), [""; 0]);
    assert_eq!(wrong(&[("engine/mod", "mod range_loop;"), apart[1]]).len(), 1);
    assert_eq!(from("check/litmus", "use crate::pool::verbs::on::On;"), [""; 0]);
    assert_eq!(from("mod", "use ::error::E; fn f() -> ::error::E {}"), [""; 0]);
    assert_eq!(from("mod", "fn f(error: u8) -> u8 { error }"), [""; 0]);
    assert_eq!(from("mod", "fn f() -> error::E {}"), ["error"]);
}

#[test]
fn each_room_has_others_that_it_must_not_name() {
    let rooms = ["verbs", "engine", "policy", "team", "supply", "place", "tell", "check"];
    let inside = |room: &str| format!("{room}/mod");
    let mut found = Vec::new();
    for from in rooms.iter().filter(|room| **room != "check") {
        let named = |to: &&&str| {
            !wrong(&[(&inside(from), &format!("use crate::pool::{to}::X;"))]).is_empty() && *to != from
        };
        found.push(format!("{from} {}", rooms.iter().filter(named).copied().collect::<Vec<_>>().join(" ")));
    }
    let expected = [
        "verbs check",
        "engine verbs check",
        "policy verbs engine team supply check",
        "team verbs engine policy place tell check",
        "supply verbs engine policy team place tell check",
        "place verbs engine policy check",
        "tell verbs engine policy place check",
    ];
    assert_eq!(found, expected);
    let pool = ["src/pool/verbs/on.rs -> src/pool/mod.rs"];
    let defined = ("mod", "pub struct Pool; mod engine; mod verbs;");
    assert_eq!(wrong(&[defined, ("verbs/on", "use crate::{Pool};")]), pool);
    assert_eq!(wrong(&[defined, ("verbs/on", "fn f(pool: &super::super::Pool) {}")]), pool);
    assert_eq!(wrong(&[defined, ("engine/range_loop", "fn f(pool: &super::super::Pool) {}")]), [""; 0]);
    let check = ["src/pool/error.rs -> src/pool/check/litmus.rs"];
    assert_eq!(wrong(&[("error", "use super::check::litmus::Fight;")]), check);
}

#[test]
fn circles_are_found_and_towers_are_not() {
    let of = |arrows: &[(&str, &str)]| -> Arrows {
        arrows.iter().map(|(from, to)| ((from.to_string(), to.to_string()), [].into())).collect()
    };
    let tower = of(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "c"), ("c", "e")]);
    assert!(circles(&tower).is_empty());
    assert_eq!(floors(&tower), 4);
    let three = of(&[("c", "a"), ("a", "b"), ("b", "c"), ("a", "d"), ("e", "a")]);
    assert_eq!(circles(&three), [vec!["a", "b", "c"]].into());
    let two = of(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "b")]);
    assert_eq!(circles(&two), [vec!["a", "b"], vec!["b", "c", "d"]].into());

    let by_files = [
        ("mod", "mod error; mod engine; pub use engine::RangeLoop;"),
        ("engine/mod", "mod range_loop; pub use range_loop::RangeLoop;"),
        ("engine/range_loop", "use crate::pool::error::Error;"),
        ("error", "fn f() -> super::RangeLoop {}"),
    ];
    let arrows = made_up(&by_files).arrows();
    let told: Vec<_> = circles(&arrows).into_iter().collect();
    assert!(told.contains(&vec!["src/pool/engine/range_loop.rs", "src/pool/error.rs"]), "{told:?}");
    let arrows = made_up(&by_files[..3]).arrows();
    assert!(circles(&arrows).is_empty());
}

#[test]
fn words_are_found_where_they_are_no_comments() {
    let found = |text| {
        let found: BTreeSet<_> =
            words(text, &["f32", "unsafe", "lock"]).into_iter().map(|(_, word)| word).collect();
        found.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(found("// f32 1.0\nfn unlock() { x.0.1; 0..1; \"lock 1.5\"; 'l' }"), [""; 0]);
    assert_eq!(found("fn f(x: f32) { m!(1.5, (x.lock())) }"), ["1.0", "f32", "lock"]);
    assert_eq!(found("unsafe impl X for Y {} const A: u8 = 1e3 as u8;"), ["1.0", "unsafe"]);
    assert_eq!(words("fn f() {\n\nlock() }", &["lock"]), [(3, "lock")].into());
}

#[test]
fn rooms_are_searched_for_what_does_not_belong_there() {
    let innocent =
        "use crate::sync::lock; fn f() -> u64 { 1 } #[cfg(test)] mod tests { fn f() -> f32 { 1.0 } }";
    assert_eq!(wrong_in_proven(&made_up(&[("supply/range", innocent)])), [""; 0]);
    assert_eq!(wrong_in_proven(&made_up(&[("policy/near", "fn f(x: f64) {}")])), [""; 0]);
    let guilty = [
        "fn f() -> f32 { 1 }",
        "const A: u8 = 1.0 as u8;",
        "use std::time;",
        "use std::{time::{Duration as Long}};",
        "fn f() { crate::clock::now(); }",
        "use crate::clock;",
        "fn f() { if is_planted(Bug::X) {} }",
        "fn f() { let f = || planted::is_planted(Bug::X); }",
        "impl X { fn f() { #[cfg(test)] g(); } }",
        "fn f() { if cfg!(any(test, loom)) {} }",
        "fn f() { #[cfg(not(test))] g(); }",
    ];
    for guilty in guilty {
        assert!(!wrong_in_proven(&made_up(&[("supply/range", guilty)])).is_empty(), "{guilty}");
    }
    let switches = "#[cfg(test)] use a::is_planted; #[cfg(not(test))] use b::is_planted;";
    assert_eq!(wrong_in_proven(&made_up(&[("supply/mod", switches)])), [""; 0]);
    let third_line = "\n\nfn f() { is_planted(Bug::X) }";
    let told = wrong_in_proven(&made_up(&[("supply/range", third_line)]));
    assert_eq!(told, ["src/pool/supply/range.rs:3: f knows of tests"]);
    assert!(!is_switched("{ #[cfg(loom)] test(); }"));

    assert_eq!(wrong_in_policy(&made_up(&[("policy/near", "fn f() { 1.0 } fn unlock() {}")])), [""; 0]);
    assert_eq!(wrong_in_policy(&made_up(&[("supply/range", "fn f() { lock() }")])), [""; 0]);
    for guilty in ["fn f() { unsafe { g() } }", "use crate::sync::Mutex;", "fn f() { std::thread::park() }"] {
        assert_eq!(wrong_in_policy(&made_up(&[("policy/near", guilty)])).len(), 1, "{guilty}");
    }
}

#[test]
fn what_replaces_a_step_is_found() {
    let replaced = "#[cfg(loom)]\nuse crate::pool::check::wrong as steps;\n#[cfg(planted)]\nfn f() {}\n";
    assert_eq!(replaceable(replaced), [2, 3]);
    let tests =
        "use super::cell as steps;\n#[cfg(test)]\nmod tests {\n    use crate::pool::check::halves;\n}\n";
    assert_eq!(replaceable(tests), [0; 0]);
}

#[test]
fn essays_are_neither_missing_nor_beside_code() {
    let essay = |lines: usize, code: &str| format!("{}\n{code}", "//! Words.\n".repeat(lines));
    let wrong = |lines, code| wrong_with_essay("mod.rs", &essay(lines, code)).len();
    let code = "mod a;\n#[cfg(test)]\nmod b;\npub(crate) use a::A;\n";
    assert_eq!([wrong(5, code), wrong(90, code)], [0, 0]);
    assert_eq!([wrong(4, code), wrong(0, "")], [1, 1]);
    assert_eq!(wrong(9, "mod a {}\nfn f() {}\nconst A: u8 = 1;"), 3);
}
