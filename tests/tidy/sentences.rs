//! Draws sentences at random for a reader to judge: from comments, documentation, messages of the
//! library, and documents.
//!
//! `cargo test -p rangesteal-tidy sentences_drawn -- --ignored --nocapture` prints 200 sentences,
//! one per line. `SEED=2` draws other sentences, `N=50` draws 50 sentences, `KEY=1` prints the
//! place of each sentence, and `BASE=d80e16d` draws from the revision `d80e16d`.

use std::{
    collections::{BTreeMap, HashSet},
    env,
    fmt::Write,
    mem,
};

use proc_macro2::TokenTree;
use syn::Lit;

use crate::{
    layers::production,
    revision::{base, texts},
    unsafe_inventory::flat,
};

/// A text with fewer words does not count as a sentence.
const FEWEST_WORDS: usize = 4;

/// The sentences of one text, each with the line where its paragraph begins.
#[derive(Default)]
struct Sentences {
    found: Vec<(usize, String)>,
    /// The paragraph up to the current line, and the number of the paragraph's first line.
    paragraph: String,
    start: usize,
    is_in_code: bool,
}

impl Sentences {
    /// Reads a line of Markdown.
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if line.starts_with("```") {
            self.is_in_code = !self.is_in_code;
            return self.end();
        }
        if self.is_in_code || line.is_empty() || line.starts_with(['|', '#', '<']) {
            return self.end();
        }
        let item = without_marker(line);
        if item.len() < line.len() {
            self.end();
        }
        if self.paragraph.is_empty() {
            self.start = number;
        }
        self.paragraph.push_str(item);
        self.paragraph.push(' ');
    }

    /// Ends the paragraph.
    fn end(&mut self) {
        let paragraph = without_links(&mem::take(&mut self.paragraph));
        let sentences = split(&paragraph).into_iter().filter(|sentence| words(sentence) >= FEWEST_WORDS);
        self.found.extend(sentences.map(|sentence| (self.start, sentence.to_string())));
    }
}

/// A line without the sign or the number of a list's item.
fn without_marker(line: &str) -> &str {
    let digits = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let numbered = if digits.len() < line.len() { digits.strip_prefix(". ") } else { None };
    let marked = ["* ", "- ", "> "].iter().find_map(|sign| line.strip_prefix(sign));
    marked.or(numbered).unwrap_or(line).trim_start()
}

/// `[text](address)` and `[text]` become `text`.
pub(super) fn without_links(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        left.push_str(before);
        let Some((inner, behind)) = behind.split_once(']') else {
            left.push('[');
            rest = behind;
            continue;
        };
        let address = behind.strip_prefix('(').and_then(|address| address.split_once(')'));
        if before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '#') {
            write!(left, "[{inner}]").unwrap(); // an index or an attribute
            rest = behind;
        } else {
            left.push_str(inner);
            rest = address.map_or(behind, |(_, behind)| behind);
        }
    }
    left + rest
}

/// Splits a paragraph into sentences. A sentence ends at `.`, `?` or `!` if a blank follows and the
/// next letter is not a small one.
fn split(paragraph: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, blank) in paragraph.char_indices() {
        let before = paragraph[..at].trim_end_matches([')', '"', '*', '`']);
        let behind = paragraph[at..].trim_start();
        if blank.is_whitespace()
            && before.ends_with(['.', '?', '!'])
            && !behind.starts_with(char::is_lowercase)
        {
            sentences.push(paragraph[start..at].trim());
            start = at;
        }
    }
    sentences.push(paragraph[start..].trim());
    sentences
}

fn words(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count()
}

/// The sentences of a document.
fn of_document(text: &str) -> Vec<(usize, String)> {
    let mut sentences = Sentences::default();
    for (at, line) in text.lines().enumerate() {
        sentences.line(at + 1, line);
    }
    sentences.end();
    sentences.found
}

/// The sentences of the comments and the documentation of a source.
fn of_comments(text: &str) -> Vec<(usize, String)> {
    let mut sentences = Sentences::default();
    let mut last = "";
    for (at, line) in text.lines().enumerate() {
        let (code, sign, comment) = comment(line);
        if sign != last || !code.is_empty() {
            sentences.end();
            sentences.is_in_code = false;
        }
        if !sign.is_empty() {
            sentences.line(at + 1, comment.trim_start().trim_start_matches("SAFETY:"));
        }
        last = if code.is_empty() { sign } else { "" };
    }
    sentences.end();
    sentences.found
}

/// The code of a line, the sign of its comment, and its comment.
fn comment(line: &str) -> (&str, &str, &str) {
    let is_code = |code: &str| code.matches('"').count().is_multiple_of(2);
    let starts = line.match_indices("//").map(|(at, _)| at);
    let mut starts = starts.filter(|at| is_code(&line[..*at]) && !line[..*at].ends_with(':'));
    let Some(start) = starts.next() else { return (line, "", "") };
    let (code, rest) = line.split_at(start);
    let sign = ["///", "//!", "//"].into_iter().find(|sign| rest.starts_with(sign)).expect("a comment");
    (code.trim(), sign, &rest[sign.len()..])
}

/// The texts in product code: log lines, output and panic messages.
fn of_messages(text: &str) -> Vec<(usize, String)> {
    let mut sentences = Sentences::default();
    let trees = flat(text.parse().expect("tokens"));
    for (at, tree) in trees.iter().enumerate() {
        let is_documentation = at >= 2 && matches!(&trees[at - 2], TokenTree::Ident(name) if name == "doc");
        if let TokenTree::Literal(literal) = tree
            && let Lit::Str(text) = Lit::new(literal.clone())
            && !is_documentation
        {
            for line in text.value().lines() {
                sentences.line(literal.span().start().line, line);
                sentences.end();
            }
        }
    }
    sentences.found
}

/// All sentences of a revision, or of the working tree, each with its place. A sentence with
/// several places is listed once.
fn all(revision: Option<&str>) -> Vec<(String, String)> {
    let sources = texts(revision, ".", "rs");
    let library = sources.iter().filter(|(file, _)| file.starts_with("src/"));
    let library: BTreeMap<_, _> = library.map(|(file, text)| (file.clone(), text.clone())).collect();
    let documents = texts(revision, ".", "md");
    let by_file = (documents.iter().map(|(file, text)| (file.clone(), of_document(text))))
        .chain(sources.iter().map(|(file, text)| (file.clone(), of_comments(text))))
        .chain(production(&library).into_iter().map(|(file, text)| (file, of_messages(&text))));
    let placed = by_file.flat_map(|(file, found)| {
        found.into_iter().map(move |(line, sentence)| (format!("{file}:{line}"), sentence))
    });
    let mut seen = HashSet::new();
    placed.filter(|(_, sentence)| seen.insert(sentence.clone())).collect()
}

/// `SplitMix64`: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`. The probabilities of numbers differ by at most `end` in 2^64.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("less than `end`")
    }
}

/// Draws `count` items at random, and moves them to the front in random order.
fn draw<T>(all: &mut [T], count: usize, seed: u64) -> &[T] {
    let mut random = Random(seed);
    let count = count.min(all.len());
    for at in 0..count {
        let other = at + random.below(all.len() - at);
        all.swap(at, other);
    }
    &all[..count]
}

#[test]
#[ignore = "prints sentences"]
fn sentences_drawn() {
    let number = |name: &str, default| {
        env::var(name).map_or(default, |text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text}")))
    };
    let (seed, count) = (number("SEED", 1), number("N", 200));
    let mut all = all(base().as_deref());
    println!("of {} sentences, with seed {seed}:", all.len());
    let drawn = draw(&mut all, usize::try_from(count).expect("a small number"), seed);
    for (at, (place, sentence)) in drawn.iter().enumerate() {
        match env::var_os("KEY") {
            Some(_) => println!("{:>4} {place}: {sentence}", at + 1),
            None => println!("{:>4} {sentence}", at + 1),
        }
    }
}

#[test]
fn sentences_are_told_from_code_tables_and_links() {
    let found = |found: Vec<(usize, String)>| -> Vec<String> {
        found.into_iter().map(|(line, sentence)| format!("{line} {sentence}")).collect()
    };
    let document = "# A heading of four words\n\nOne [link in](a.md) a\nline. Another: e.g. this `x.y`! No.\n\
                    * An item of a list\n2. And another of these\n| a | table of four words |\n\
                    ```text\nsome code of four words\n```\nThe last one of [these]";
    assert_eq!(
        found(of_document(document)),
        [
            "3 One link in a line.",
            "3 Another: e.g. this `x.y`!",
            "5 An item of a list",
            "6 And another of these",
            "11 The last one of these"
        ]
    );
    let source = "//! It is the first.\n/// It is the\n/// second one.\n\nf(\"no // comment is here\"); // but one \
                  is here\n// SAFETY: this is the last\n";
    assert_eq!(
        found(of_comments(source)),
        ["1 It is the first.", "2 It is the second one.", "5 but one is here", "6 this is the last"]
    );
    let code = "/// Documentation is not a message.\nfn f() {\n panic!(\"this is a message\", \"short\") }";
    assert_eq!(found(of_messages(code)), ["3 this is a message"]);
    assert_eq!(Random(0).next(), 0xE220_A839_7B1D_CDAF);
    let mut numbers: Vec<_> = (0..9).collect();
    let drawn = draw(&mut numbers, 20, 7).to_vec();
    assert!(!drawn.is_sorted() && drawn.iter().sum::<i32>() == 36, "{drawn:?}");
}
