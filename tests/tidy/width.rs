//! Comments have at most 100 columns.

use crate::unsafe_inventory::{read, sources};

const WIDEST: usize = 100;
/// The most lines that a message lists.
const TOLD: usize = 20;

/// Whether a line is a comment that is too wide. Addresses and rows of tables are exempt, because a
/// line break would damage them.
fn is_too_wide(line: &str) -> bool {
    let comment = line.trim_start();
    let is_row = ["//! |", "/// |"].iter().any(|row| comment.starts_with(row));
    comment.starts_with("//") && line.chars().count() > WIDEST && !line.contains("://") && !is_row
}

#[test]
fn comments_are_at_most_100_columns_wide() {
    let mut wide = Vec::new();
    let mut count = 0;
    for file in ["src", "tests", "benches", "examples", "rayon"].into_iter().flat_map(sources) {
        for (at, line) in read(&file).lines().enumerate() {
            count += usize::from(line.trim_start().starts_with("//"));
            if is_too_wide(line) {
                wide.push(format!("{file}:{}", at + 1));
            }
        }
    }
    assert!(count > 1000, "{count} lines of comments");
    let told = wide.iter().take(TOLD).cloned().collect::<Vec<_>>().join("\n");
    assert!(wide.is_empty(), "{} lines of comments are wider than {WIDEST} columns:\n{told}", wide.len());
}

#[test]
fn width_is_counted_in_characters_of_comments() {
    for marker in ["//", "///", "//!", "    //"] {
        let line = |columns: usize| format!("{marker} {}", "µ".repeat(columns - marker.len() - 1));
        assert!(is_too_wide(&line(101)), "{marker}");
        assert!(!is_too_wide(&line(100)), "{marker}");
    }
    let long = "word ".repeat(30);
    assert!(is_too_wide(&format!("// | {long}")));
    for line in [format!("//! | {long}"), format!("    /// | {long}"), format!("// https://{long}"), long] {
        assert!(!is_too_wide(&line), "{line}");
    }
}
