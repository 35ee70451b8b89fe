//! Tests of the page of a result that is read, and of damaged results.

use super::*;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

#[test]
fn a_browser_may_use_this_style_sheet_and_nothing_else() {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    assert!(POLICY.contains(&format!("style-src 'sha256-{hash}';")), "the style sheet is sha256-{hash} now");
    assert!(POLICY.starts_with("default-src 'none';") && !POLICY.contains("unsafe"));
    let page = page(&read_text(RESULT).unwrap());
    assert!(page.contains(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>")));
    assert_eq!(between(&page, "<style>", "</style>"), [STYLE], "the bytes of the hash");
    for refused in [" style=", " onload=", "<script", "<link", "<img", "<base"] {
        let (_, body) = page.split_once("</style>").unwrap();
        let tags = between(body, "<", ">");
        assert!(tags.iter().all(|tag| !format!("<{tag}").contains(refused)), "{refused}");
    }
}

/// The result of a count with a tie, a surplus, parties, and a candidate who has withdrawn.
const RESULT: &str = include_str!("council.json");

/// Every text between `begin` and the next `end`.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    page.split(begin).skip(1).map(|part| part.split_once(end).expect(end).0).collect()
}

fn read_text(text: &str) -> Result<Record, serde_json::Error> {
    read(|| Ok(text.as_bytes()))
}

/// What is read is what was written.
#[test]
fn a_result_is_read_as_it_was_written() {
    let mut written = Vec::new();
    let record = read_text(RESULT).unwrap();
    write_json(&record, &mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), RESULT);
    assert_eq!(
        Comparison { is_same_version: true }
            .difference(&head(RESULT.as_bytes()).unwrap(), RESULT.as_bytes(), &record)
            .unwrap(),
        None
    );
}

/// A result that shows only changes has the same page, but for the options in its last lines.
#[test]
fn the_page_needs_only_the_changes() {
    let mut record = read_text(RESULT).unwrap();
    let whole = page(&record);
    assert!(
        whole.contains("<strong><bdi>Ada</bdi></strong>") && whole.contains("Withdrawn: <bdi>Finn</bdi>")
    );
    record.recipe.only_changes = true;
    let mut changes = Vec::new();
    write_json(&record, &mut changes).unwrap();
    assert!(changes.len() < RESULT.len());
    assert_eq!(page(&read_text(&String::from_utf8(changes).unwrap()).unwrap()), whole);
}

/// Replaces each value of a result by others. The result is refused, or it has a page on which the
/// value is text.
#[test]
fn no_value_of_a_stranger_is_markup() {
    let result: Value = serde_json::from_str(RESULT).unwrap();
    let (mut refused, mut pages) = (0, 0);
    for place in places::of(&result) {
        for other in [json!("<b>"), json!(1_000_000), json!([])] {
            let mut mutant = result.clone();
            *mutant.pointer_mut(&place).unwrap() = other;
            match read_text(&mutant.to_string()) {
                Ok(record) => {
                    let page = page(&record);
                    assert_eq!(page.matches("<b>").count(), page.matches("</b>").count(), "{place}");
                    pages += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 500 && pages > 100, "{refused} refused, {pages} pages");
}

/// Steps are compared one by one and then dropped. An endless result is not read to its end.
#[test]
fn a_result_takes_no_more_memory_than_a_step() {
    let step = br#"{"action":"iterate","votes":["1","2","3"]},"#;
    let begin = br#"{"steps":["#;
    let steps = |number: usize| {
        let steps = std::iter::repeat_n(&step[..], number).flatten().copied();
        let all: Vec<u8> = begin.iter().copied().chain(steps).chain(*b"{}]}").collect();
        all
    };
    let mut seen = 0;
    let longer_than_a_step_may_be = steps(1 << 15);
    assert!(longer_than_a_step_may_be.len() > 1 << 20);
    result::each_element(&longer_than_a_step_may_be[..], &mut |_, _| {
        seen += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, (1 << 15) + 1);
    let endless = std::io::repeat(b'1');
    let error = head(std::io::Read::chain(&br#"{"title":""#[..], endless)).unwrap_err();
    assert!(error.to_string().contains("longer than 16 MiB"), "{error}");
}
