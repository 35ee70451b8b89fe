//! Tests of the rooms of `src/pool`: the rooms that a room may name, and the words that it must not
//! contain. In all of `src`, no files name each other in a circle.
//!
//! `cargo test -p rangesteal-tidy layers -- --nocapture` prints the numbers of files, floors and
//! arrows.

mod arrows;
mod made_up;
mod picture;
mod production;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::LazyLock,
};

use arrows::{Arrows, CHECK, Crate};
use proc_macro2::TokenTree;
use production::Function;
use syn::Lit;

use crate::unsafe_inventory::{flat, read, sources, text};

/// Each room, with the rooms that it must not name. The file that has `Pool` counts as a room.
const FORBIDDEN: [(&str, &[&str]); 7] = [
    ("supply", &["team", "policy", "place", "tell", "verbs", "engine"]),
    ("team", &["policy", "place", "tell", "verbs", "engine"]),
    ("policy", &["supply", "team", "engine", "verbs"]),
    ("place", &["policy", "engine", "verbs"]),
    ("tell", &["place", "policy", "engine", "verbs"]),
    ("engine", &["verbs"]),
    ("verbs", &["mod.rs"]),
];
const ROOMS: [&str; 8] = ["verbs", "engine", "policy", "team", "supply", "place", "tell", "check"];
/// The rooms that have to be right.
const PROVEN: [&str; 2] = ["team", "supply"];
/// These rooms do not depend on time, and compute with integers only.
const NOT_IN_PROVEN: [&str; 5] = ["f32", "f64", "Instant", "SystemTime", "Duration"];
/// Policies are plain functions. Times and random numbers are arguments.
const NOT_IN_POLICY: [&str; 9] =
    ["unsafe", "Mutex", "Condvar", "lock", "lock_soon", "try_lock", "thread", "elapsed", "thread_local"];
/// A room's essay has at least this number of lines.
const SHORTEST_ESSAY: usize = 5;

/// The room of a file in `src/pool`. For a file without a room: its name.
fn room(file: &str) -> Option<&str> {
    file.strip_prefix("src/pool/")?.split('/').next()
}

/// The arrows that break a rule.
fn forbidden(arrows: &Arrows) -> Vec<String> {
    let is_forbidden = |from: &str, to: &str| {
        let above = FORBIDDEN.iter().filter(|(below, _)| room(from) == Some(below));
        to.starts_with(CHECK) || above.flat_map(|(_, above)| *above).any(|above| room(to) == Some(above))
    };
    let arrows = arrows.iter().filter(|((from, to), _)| is_forbidden(from, to));
    arrows.map(|((from, to), paths)| format!("{from} -> {to} by {paths:?}")).collect()
}

/// The shortest way from a file back to itself.
fn circle<'a>(start: &'a str, ahead: &BTreeMap<&str, Vec<&'a str>>) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for &next in ahead.get(way[way.len() - 1]).into_iter().flatten() {
            if next == start {
                return Some(way);
            }
            if seen.insert(next) {
                ways.push_back([way.as_slice(), &[next]].concat());
            }
        }
    }
    None
}

/// The shortest circle of each file that has one, without repetitions.
fn circles(arrows: &Arrows) -> BTreeSet<Vec<&str>> {
    let ahead = ahead(arrows);
    let from_the_first = |mut circle: Vec<_>| {
        let first = (0..circle.len()).min_by_key(|&at| circle[at]).expect("a file");
        circle.rotate_left(first);
        circle
    };
    ahead.keys().filter_map(|file| circle(file, &ahead)).map(from_the_first).collect()
}

/// For each file, the files that it names.
fn ahead(arrows: &Arrows) -> BTreeMap<&str, Vec<&str>> {
    let mut ahead = BTreeMap::<_, Vec<_>>::new();
    for (from, to) in arrows.keys() {
        ahead.entry(&**from).or_default().push(&**to);
    }
    ahead
}

/// The number of files on the longest way along arrows. A way ends where it closes a circle.
fn floors(arrows: &Arrows) -> usize {
    fn height<'a>(
        file: &'a str,
        ahead: &BTreeMap<&str, Vec<&'a str>>,
        known: &mut BTreeMap<&'a str, usize>,
    ) -> usize {
        if let Some(height) = known.get(file) {
            return *height;
        }
        known.insert(file, 0);
        let below = ahead.get(file).into_iter().flatten().map(|file| height(file, ahead, known)).max();
        let height = below.unwrap_or(0) + 1;
        known.insert(file, height);
        height
    }
    let ahead = ahead(arrows);
    let mut known = BTreeMap::new();
    ahead.keys().map(|file| height(file, &ahead, &mut known)).max().unwrap_or(1)
}

/// The `words` in a text, with their lines. A floating-point literal counts as `1.0`.
fn words<'a>(text: &str, words: &[&'a str]) -> BTreeSet<(usize, &'a str)> {
    let mut found = BTreeSet::new();
    let mut behind_dot = false;
    for tree in flat(text.parse().expect("tokens")) {
        let line = tree.span().start().line;
        match &tree {
            TokenTree::Ident(name) => {
                found.extend(words.iter().filter(|word| name == *word).map(|word| (line, *word)));
            }
            TokenTree::Literal(literal)
                if !behind_dot && matches!(Lit::new(literal.clone()), Lit::Float(_)) =>
            {
                found.insert((line, "1.0"));
            }
            _ => {}
        }
        behind_dot = matches!(&tree, TokenTree::Punct(dot) if dot.as_char() == '.');
    }
    found
}

/// Whether a function has different code in test builds.
fn is_switched(body: &str) -> bool {
    let trees = flat(body.parse().expect("tokens"));
    let is = |tree: &TokenTree, names: &[&str]| matches!(tree, TokenTree::Ident(name) if names.iter().any(|of| name == of));
    let configured = trees.windows(3).filter(|trees| is(&trees[0], &["cfg", "cfg_attr"]));
    let mut conditions = configured.flat_map(|trees| &trees[1..]).filter_map(|tree| match tree {
        TokenTree::Group(group) => Some(flat(group.stream())),
        _ => None,
    });
    trees.iter().any(|tree| is(tree, &["is_planted"]))
        || conditions.any(|trees| trees.iter().any(|tree| is(tree, &["test", "planted"])))
}

/// The faults in the files of the rooms that have to be right.
fn wrong_in_proven(of: &Crate) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, source) in
        of.sources.iter().filter(|(file, _)| room(file).is_some_and(|room| PROVEN.contains(&room)))
    {
        wrong.extend(
            words(&source.text, &NOT_IN_PROVEN)
                .into_iter()
                .map(|(line, word)| format!("{file}:{line}: {word}")),
        );
        let is_clock = |path: &&Vec<String>| {
            let [first, second, ..] = &path[..] else { return false };
            first == "crate" && second == "clock" || (first == "std" || first == "core") && second == "time"
        };
        wrong.extend(of.paths(file).filter(is_clock).map(|path| format!("{file}: {}", path.join("::"))));
        let switched = source.functions.iter().filter(|function| is_switched(&function.body));
        wrong.extend(
            switched.map(|Function { line, name, .. }| format!("{file}:{line}: {name} knows of tests")),
        );
    }
    wrong
}

/// The numbers of the lines, before the tests of a file, that take something from `check/` or plant
/// a bug. The bugs of `.ci/bugs.diff` are planted in a copy of the tree.
fn replaceable(source: &str) -> Vec<usize> {
    let code = (1..).zip(source.lines()).take_while(|(_, line)| !line.starts_with("mod tests"));
    let code = code.filter(|(_, line)| ["check::", "planted"].iter().any(|word| line.contains(word)));
    code.map(|(number, _)| number).collect()
}

/// The faults in the files of `policy/`.
fn wrong_in_policy(of: &Crate) -> Vec<String> {
    let files = of.sources.iter().filter(|(file, _)| room(file) == Some("policy"));
    let words = files.flat_map(|(file, source)| {
        let found = words(&source.text, &NOT_IN_POLICY).into_iter().filter(|(_, word)| *word != "1.0");
        found.map(move |(line, word)| format!("{file}:{line}: {word}"))
    });
    words.collect()
}

/// The faults in the first file of a room, which has the essay.
fn wrong_with_essay(file: &str, source: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let lines = source.lines().take_while(|line| line.starts_with("//!")).count();
    if lines < SHORTEST_ESSAY {
        wrong.push(format!("{file}: an essay of {lines} lines"));
    }
    for item in syn::parse_file(source).expect("a file").items {
        match item {
            syn::Item::Use(_) => {}
            syn::Item::Mod(module) if module.content.is_none() => {}
            _ => wrong.push(format!("{file}: {}", text(&item))),
        }
    }
    wrong
}

/// The texts of the files of `src`, by path. Code that only test builds have is blanked out.
pub(super) fn production(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let sources = Crate::new("src", files).sources.into_iter();
    sources.map(|(file, source)| (file, source.text)).collect()
}

/// The files of `src` that the files in `those` name, except the files in `those`.
pub(super) fn named_by(files: &BTreeMap<String, String>, those: &BTreeSet<String>) -> BTreeSet<String> {
    let arrows = Crate::new("src", files).arrows().into_keys();
    arrows.filter(|(from, to)| those.contains(from) && !those.contains(to)).map(|(_, to)| to).collect()
}

fn tree(root: &str) -> Crate {
    Crate::new(root, &sources(root).into_iter().map(|file| (file.clone(), read(&file))).collect())
}

/// The library, which several tests read.
static LIBRARY: LazyLock<Crate> = LazyLock::new(|| tree("src"));
/// Its arrows.
static ARROWS: LazyLock<Arrows> = LazyLock::new(|| LIBRARY.arrows());

/// Fails if `wrong` has faults, and prints all of them.
#[track_caller]
fn none(what: &str, wrong: impl IntoIterator<Item = impl ToString>) {
    let wrong: Vec<_> = wrong.into_iter().map(|wrong| wrong.to_string()).collect();
    assert!(wrong.is_empty(), "{} {what}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn rooms_name_only_what_is_below_them() {
    let (of, arrows) = (&*LIBRARY, &*ARROWS);
    let inside = |file: &str| room(file).is_some();
    let files = of.sources.keys().filter(|file| inside(file)).count();
    let mut inner = arrows.clone();
    inner.retain(|(from, to), _| inside(from) && inside(to));
    println!("src/pool: {files} files, {} floors, {} arrows", floors(&inner), inner.len());
    assert!(files > 30 && inner.len() > files, "they are not found");
    none("arrows that must not be", forbidden(arrows));
}

#[test]
fn files_do_not_name_each_other_in_circles() {
    let mut told = Vec::new();
    for (root, arrows) in [("src", &*ARROWS), ("benches/versus", &tree("benches/versus").arrows())] {
        assert!(arrows.len() > 30, "{} arrows in {root}", arrows.len());
        told.extend(
            circles(arrows).into_iter().map(|circle| [&circle[..], &circle[..1]].concat().join(" -> ")),
        );
    }
    none("circles", told);
}

#[test]
fn team_and_supply_know_no_time_no_fractions_and_no_tests() {
    none("in team and supply", wrong_in_proven(&LIBRARY));
}

/// Builds for models run the shipped code, too: no step can be replaced.
#[test]
fn every_build_runs_the_shipped_steps() {
    let files: Vec<_> = sources("src").into_iter().filter(|file| room(file) != Some("check")).collect();
    assert!(files.len() > 100, "{} files", files.len());
    let wrong = files
        .iter()
        .flat_map(|file| replaceable(&read(file)).into_iter().map(move |line| format!("{file}:{line}")));
    none("lines that only some builds run", wrong);
}

#[test]
fn policies_are_plain_functions() {
    none("in policy", wrong_in_policy(&LIBRARY));
}

#[test]
fn every_room_begins_with_an_essay_and_has_no_code_there() {
    let files = ROOMS.map(|room| format!("src/pool/{room}/mod.rs"));
    none("in rooms", files.iter().flat_map(|file| wrong_with_essay(file, &read(file))));
}
