//! Tests that the planted bugs (`.ci/bugs.diff`) fit the code.

use std::process::Command;

use crate::top;

/// The lines of each bug occur once in their file, a test plants the bug, and the tour of the pool
/// has it.
#[test]
fn each_planted_bug_finds_its_lines() {
    let Ok(output) = Command::new("python3").arg(top().join(".ci/plant")).arg("--check").output() else {
        eprintln!("SKIPPED: no python3");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
