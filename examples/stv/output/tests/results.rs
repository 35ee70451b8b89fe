//! Tests that a result has all options of its count, and that `verify` finds any change in a
//! result.

use super::*;
use stv_page::{Comparison, head};

const TIES: &str = "4 1\n[colour red]\n[tie 3 1 2 4]\n2 1 0\n2 2 0\n1 3 1 0\n1 4 1 0\n1 4 2 0\n1 3 2 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"T\"";

#[test]
fn a_result_says_how_it_was_made() {
    let result = result(TIES);
    assert_eq!(result["program"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(result["options"]["arithmetic"], "fixed9");
    assert_eq!(result["input"]["sha256"], "0".repeat(64));
    assert_eq!(result["tie_order"], serde_json::json!({"from": "file", "candidates": [3, 1, 2, 4]}));
    assert_eq!(
        result["warnings"],
        serde_json::json!(["line 2: the option [colour …] is unknown and ignored"])
    );
    let ties: Vec<_> =
        result["steps"].as_array().unwrap().iter().filter(|step| step["action"] == "break tie").collect();
    assert_eq!(ties[0]["by"], serde_json::json!({"order": "file"}));
    let page = page(&record(TIES));
    assert_well_formed(&page);
    for text in [
        "Tie, decided by the order of the file’s [tie …]: ",
        "<code>stv meek --arithmetic=fixed9 --duplicates=refuse --equal-ranks=all-orders --force-positive-surplus",
        &"0".repeat(64),
        "line 2: the option [colour …]",
        "(file): 3 1 2 4",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

/// The changes put together are the same as the `full` record.
#[test]
fn changes_are_all_that_differs() {
    let full = result(TIES);
    let mut changes = record(TIES);
    changes.recipe.only_changes = true;
    let changes = result_of(&changes);
    let list = |value: &Value| value.as_array().unwrap().clone();
    let mut now = vec![Value::Null; 4];
    let mut shown = 0;
    for (full, changes) in list(&full["steps"]).iter().zip(list(&changes["steps"])) {
        for candidate in list(&changes["candidates"]) {
            let place = usize::try_from(candidate["number"].as_u64().unwrap()).unwrap() - 1;
            assert_ne!(now[place], candidate, "it has changed");
            now[place] = candidate;
            shown += 1;
        }
        assert_eq!(list(&full["candidates"]), now);
    }
    assert!((4..list(&full["steps"]).len() * 4).contains(&shown));
}

#[test]
fn a_record_that_is_too_large_ends_the_count() {
    let election = stv_ballots::parse("test", TIES.as_bytes()).unwrap();
    for (everybody, helps) in [(true, "--record changes"), (false, "the transcript")] {
        let mut recorder = Recorder::new("Package".to_owned(), recipe(), everybody);
        recorder.most = 1500;
        let error = count(&election, &mut recorder).unwrap_err().to_string();
        assert!(error.starts_with("round ") && error.contains(helps), "{error}");
    }
}

/// `verify` finds every change in a result, and no other difference.
#[test]
fn a_difference_is_found_and_named() {
    let record = record(TIES);
    let same = written(write_json, &record);
    let difference = |text: &str, is_same_version| {
        let fields = head(text.as_bytes()).unwrap();
        Comparison { is_same_version }.difference(&fields, text.as_bytes(), &record).unwrap()
    };
    assert_eq!(difference(&same, true), None);
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&same).unwrap()).unwrap();
    assert_eq!(difference(&pretty, true), None, "however it is formatted");
    for (text, other, words) in [
        ("\"elected\": [", "\"elected\": [4,", "elected, no. 1: the result has 4, the count "),
        ("\"title\": \"T\"", "\"title\": \"U\"", "title: the result has \"U\", the count \"T\""),
        ("\"version\": 2,", "\"version\": 2, \"mayor\": 3,", "the result has `mayor`"),
        ("\"Bert\"", "\"Bart\"", "candidates, candidate 2, name: the result has \"Bart\""),
        ("\"steps\": [", "\"steps\": [{},", "step 1 has no `action`"),
        (
            "\"quota\":\"4.000000001\"",
            "\"quota\":\"4.000000002\"",
            "step 1 (round 0, begin), quota: the result has ",
        ),
        (
            "\"votes\":\"2.000000000\"",
            "\"votes\":\"2.000000001\"",
            "candidate 1, votes: the result has \"2.000000001\"",
        ),
        ("\"cause\":\"defeat\"", "\"cause\":\"surplus\"", "transfer 1 (round 1, surplus), cause: "),
        ("\"transfers\": [", "\"others\": [", "the result has no transfers"),
    ] {
        assert!(same.contains(text), "{text}: {same}");
        let found = difference(&same.replacen(text, other, 1), true).unwrap_or_else(|| panic!("{other}"));
        assert!(found.contains(words), "{found}");
    }
    let lines: Vec<_> = same.lines().collect();
    let last = lines.iter().rposition(|line| line.contains("\"complete\"")).unwrap();
    let cut = [&lines[..last - 1], &[lines[last - 1].trim_end_matches(',')], &lines[last + 1..]]
        .concat()
        .join("\n");
    assert_eq!(difference(&cut, true).unwrap(), "the count has 1 more steps than the result");
    let newer = same.replacen("\"version\": 2,", "\"version\": 2, \"mayor\": 3,", 1);
    assert_eq!(difference(&newer, false), None, "another version may have more fields");
    let forged = same.replacen("\"elected\"", "\"Elected\"", 1);
    assert_eq!(difference(&forged, false).as_deref(), Some("the result has no `elected`"));
    let twice = same.replacen("\"version\": 2,", "\"version\": 2, \"version\": 1,", 1);
    assert!(head(twice.as_bytes()).unwrap_err().to_string().contains("`version` stands twice"));
}
