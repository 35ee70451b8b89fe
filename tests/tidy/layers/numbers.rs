//! The count of numbers in the policy. Each number was chosen by hand. `docs/numbers.md` has the
//! effect of each number. A line in `benches/ablate` measures this effect.
//!
//! `cargo test -p rangesteal-tidy numbers -- --nocapture` lists these numbers.

use proc_macro2::TokenTree;
use syn::Lit;

use super::{room, tree};
use crate::unsafe_inventory::{flat, read};

/// The largest number of numbers in the policy.
const BAR: usize = 26;

/// The numbers of a text other than 0, 1 and 2, with their lines. A number behind a dot is a field.
fn numbers(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_field = false;
    for tree in flat(text.parse().expect("tokens")) {
        if let TokenTree::Literal(literal) = &tree
            && !is_field
        {
            let value = match Lit::new(literal.clone()) {
                Lit::Int(int) => int.base10_digits().parse().ok(),
                Lit::Float(float) => float.base10_parse::<f64>().ok(),
                _ => None,
            };
            if value.is_some_and(|value| ![0.0, 1.0, 2.0].contains(&value)) {
                found.push((tree.span().start().line, literal.to_string()));
            }
        }
        is_field = matches!(&tree, TokenTree::Punct(dot) if dot.as_char() == '.');
    }
    found
}

#[test]
fn the_policy_has_few_numbers() {
    let of = tree("src");
    let files = of.sources.iter().filter(|(file, _)| room(file) == Some("policy"));
    let mut count = 0;
    for (file, source) in files {
        for (line, number) in numbers(&source.text) {
            println!("{file}:{line}: {number}");
            count += 1;
        }
    }
    println!("{count} numbers");
    assert!((10..=BAR).contains(&count), "{count} numbers in the policy");
}

/// `benches/ablate` replaces a text in a file of the policy. The text must occur exactly once.
#[test]
fn ablate_replaces_what_is_there() {
    let script = read("benches/ablate");
    let mut count = 0;
    for line in script.lines().filter(|line| line.starts_with("    \"") && line.contains(".rs\", ")) {
        let [_, name, _, file, _, old, ..] = line.split('"').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let there = read(&format!("src/pool/policy/{file}")).matches(old).count();
        assert_eq!(there, 1, "{name}: {old:?} in {file}");
        count += 1;
    }
    assert!((10..=BAR + 5).contains(&count), "{count} numbers in benches/ablate");
}

#[test]
fn numbers_are_told_from_fields_texts_and_small_ones() {
    let text =
        "const A: f32 = 0.25; let b = self.3 + 2.0 * 1_000; \"7\"; [x; 3]; 0x10_u32 >> 1; 1e9; 0.0 + 1_f32";
    let found: Vec<_> = numbers(text).into_iter().map(|(_, number)| number).collect();
    assert_eq!(found, ["0.25", "1_000", "3", "0x10_u32", "1e9"]);
}
