//! The table of dialects in the README: a small file of each, and what happens.

use std::{collections::BTreeSet, fs, num::NonZeroUsize, path::Path};
use stv_ballots::{Reading, read};

#[test]
fn the_table_of_dialects_is_true() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(here.join("README.md")).expect("the README");
    let (_, table) = readme.split_once("## Dialects\n").expect("the table");
    let mut named = BTreeSet::new();
    for row in table.lines().filter_map(|line| line.strip_prefix("| [`")) {
        let (name, row) = row.split_once("`](samples/").expect("a file");
        let happens = row.trim_end_matches(" |").rsplit(" | ").next().expect("what happens");
        let quoted = happens.split_once('“').map(|(_, text)| text.trim_end_matches('”'));
        let file = fs::read(here.join("samples").join(name)).expect(name);
        let seats = happens.contains("--seats").then_some(NonZeroUsize::MIN);
        match read(name, &mut &file[..], Reading { seats, ..Reading::default() }) {
            Ok(election) => {
                assert!(happens.starts_with("read"), "{name} is read");
                let warnings = election.warnings;
                let warns = |text: &str| warnings.iter().any(|warning| warning.contains(text));
                assert!(quoted.map_or(warnings.is_empty(), warns), "{name}: {warnings:?}");
            }
            Err(error) => {
                let (line, text) = happens.strip_prefix("line ").expect(name).split_once(": ").expect(name);
                assert!(quoted.is_some() && text.starts_with('“'), "{name} is refused");
                let wanted = format!("{name}:{line}: ");
                let error = error.to_string();
                assert!(error.starts_with(&wanted) && error.contains(quoted.unwrap()), "{error}");
            }
        }
        assert!(named.insert(name.to_owned()), "{name} twice");
    }
    let files = fs::read_dir(here.join("samples")).expect("the samples");
    let files = files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    assert_eq!(files.collect::<BTreeSet<_>>(), named);
    assert!(named.len() >= 30);
}
