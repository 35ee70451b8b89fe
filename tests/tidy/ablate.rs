//! Tests `benches/ablate`, which changes one number of the policy at a time.

use crate::unsafe_inventory::read;

/// The script replaces a text in a file of the policy. The text must occur exactly once.
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
    assert!(count > 10, "{count} numbers in benches/ablate");
}
