//! The end of the page: instructions to repeat the count.

use super::text::escaped;
use crate::result::{Record, command_line};
use std::fmt::Write;
use stv_ballots::TieOrder;

/// A word, quoted if a shell would otherwise change or split it.
fn in_a_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-=_:.".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Instructions to repeat the count: the program, its options, the file, the order of ties.
pub(super) fn again(record: &Record, out: &mut String) {
    let options: Vec<_> = command_line(&record.recipe.options).iter().map(|word| in_a_shell(word)).collect();
    let options = options.join(" ");
    let order: Vec<_> = record.tie_break.iter().map(|candidate| (candidate + 1).to_string()).collect();
    let _ = writeln!(
        out,
        "<p>To count the same again: <code>stv meek {} FILE</code>, version {}; SHA-256 of the file: <code>{}</code>. Tie-break order, by numbers of candidates ({}): {}.</p>",
        escaped(&options),
        escaped(&record.version),
        record.sha256().unwrap_or("not known"),
        record.tie_order.map(TieOrder::name).unwrap_or_default(),
        order.join(" ")
    );
    if !record.warnings.is_empty() {
        let warnings: Vec<_> = record.warnings.iter().map(|warning| escaped(warning)).collect();
        let _ = writeln!(out, "<p>Warnings: {}.</p>", warnings.join("; "));
    }
}
