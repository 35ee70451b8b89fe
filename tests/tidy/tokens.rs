//! The size of the product code: tokens and lines of `src`, without comments, documentation, and
//! code that only test builds have.
//!
//! `BASE=d80e16d cargo test -p rangesteal-tidy tokens -- --ignored --nocapture` prints the tokens
//! of each room, now and in the revision `d80e16d`, and the percentage. With `FILES=1` the test
//! prints a row for each file.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
};

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use crate::{
    layers::production,
    revision::{base, texts},
};

/// The positions of the tokens of a text, without documentation.
///
/// A bracket is a token. `::` counts as two tokens, because each character of punctuation is a
/// token.
pub(super) fn tokens(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    collect(text.parse().expect("tokens"), &mut found);
    found
}

fn collect(trees: TokenStream, found: &mut Vec<Span>) {
    let trees: Vec<_> = trees.into_iter().collect();
    let mut rest = &trees[..];
    while let [first, others @ ..] = rest {
        if let Some(behind) = behind_documentation(rest) {
            rest = behind;
            continue;
        }
        match first {
            TokenTree::Group(group) => {
                found.push(group.span_open());
                collect(group.stream(), found);
                found.push(group.span_close());
            }
            other => found.push(other.span()),
        }
        rest = others;
    }
}

/// The trees behind a leading `#[doc…]` or `#![doc…]`. `None` if there is none.
fn behind_documentation(trees: &[TokenTree]) -> Option<&[TokenTree]> {
    let is = |tree: &TokenTree, sign| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign);
    let behind = match trees {
        [hash, bang, rest @ ..] if is(hash, '#') && is(bang, '!') => rest,
        [hash, rest @ ..] if is(hash, '#') => rest,
        _ => return None,
    };
    let (TokenTree::Group(group), rest) = behind.split_first()? else { return None };
    let first = group.stream().into_iter().next()?;
    let is_doc = matches!(first, TokenTree::Ident(name) if name == "doc");
    (group.delimiter() == Delimiter::Bracket && is_doc).then_some(rest)
}

/// The number of lines that have code.
pub(super) fn lines(text: &str) -> usize {
    let spans = tokens(text);
    let lines: BTreeSet<_> = spans.iter().flat_map(|span| span.start().line..=span.end().line).collect();
    lines.len()
}

/// The room that a file belongs to.
fn room(file: &str) -> &str {
    match file.strip_prefix("src/pool/").map(|inner| inner.split_once('/')) {
        Some(Some((room, _))) => room,
        Some(None) => "pool, outside of rooms",
        None => "outside of pool",
    }
}

/// The tokens of each room of a revision, or of each file.
fn counts(revision: Option<&str>, by_file: bool) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (file, text) in production(&texts(revision, "src", "rs")) {
        let row = if by_file { &file } else { room(&file) };
        *counts.entry(row.to_string()).or_default() += tokens(&text).len();
    }
    counts
}

#[test]
#[ignore = "prints a table"]
fn tokens_of_the_product_code() {
    let by_file = env::var_os("FILES").is_some();
    let (now, base) = (counts(None, by_file), base());
    let before = base.as_ref().map(|base| counts(Some(base), by_file)).unwrap_or_default();
    println!("{:<40} {:>8} {:>8}", "tokens", base.as_deref().unwrap_or(""), "now");
    let row = |name: &str, before: usize, now: usize| match before {
        0 => println!("{name:<40} {:>8} {now:>8}", ""),
        _ => println!("{name:<40} {before:>8} {now:>8} {:>4} %", now * 100 / before),
    };
    let names: BTreeSet<_> = now.keys().chain(before.keys()).collect();
    let of = |counts: &BTreeMap<String, usize>, name| counts.get(name).copied().unwrap_or(0);
    for name in names {
        row(name, of(&before, name), of(&now, name));
    }
    row("all", before.values().sum(), now.values().sum());
}

#[test]
fn tokens_are_counted_without_documentation() {
    let text =
        "//! Text.\n#![doc = \"more\"]\n/// Text.\n#[inline]\nfn f() { // text\n\n    a::b(\"c\n d\");\n}\n";
    // #[inline] 4, fn f() 4, {} 2, a::b 4, ("…"); 4
    assert_eq!(tokens(text).len(), 18);
    assert_eq!(lines(text), 5);
    assert_eq!(tokens("#![allow(x)]").len(), 8);
}
