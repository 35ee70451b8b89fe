//! The outputs of small counts: their contents, and their agreement.

use super::{recorder::Recorder, trace::Trace};
use proptest::prelude::*;
use serde_json::Value;
use stv_ballots::{Cause, Election, Integer};
use stv_count::{Arithmetic, CountError, Crew, Fixed9, Listener, Rule, Transcript};
use stv_page::{Recipe, Record, page, write_csv, write_json};

mod page;
mod results;
mod schema;

pub(super) const STRANGE: &str =
    "3 1\n4 1 2 0\n3 2 0\n2 3 2 0\n0\n\"<A> & 'a'\"\n\"B, b\"\n\"🍌\"\n\"May<or>\"\n";

pub(super) fn record(ballots: &str) -> Record {
    counted(ballots).unwrap_or_else(|error| panic!("{error}"))
}

/// The JSON result that the program writes.
pub(super) fn result(ballots: &str) -> Value {
    result_of(&record(ballots))
}

fn result_of(record: &Record) -> Value {
    serde_json::from_str(&written(write_json, record)).unwrap()
}

fn recipe() -> Recipe {
    let options = serde_json::json!({
        "arithmetic": "fixed9",
        "omega_exponent": 6,
        "force_positive_surplus": true,
        "equal_ranks": "all-orders",
        "tie": null,
        "names": null,
        "seats": null,
        "duplicates": "refuse",
        "package_name": "Package",
        "record": "full",
    });
    let options = options.as_object().unwrap().clone();
    Recipe { options, sha256: Some("0".repeat(64)), ..Recipe::default() }
}

fn counted(ballots: &str) -> Result<Record, CountError> {
    let election = stv_ballots::parse("test", ballots.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut recorder = Recorder::new("Package".to_owned(), recipe(), true);
    count(&election, &mut recorder)?;
    Ok(recorder.record)
}

fn count<L: Listener<Fixed9>>(election: &Election, listener: &mut L) -> Result<(), CountError> {
    let rule = Rule { omega_exponent: 6, force_positive_surplus: true, backwards: false };
    stv_count::count(election, rule, Crew::ALONE, listener).map(|_| ())
}

fn written(write: fn(&Record, &mut dyn std::io::Write) -> std::io::Result<()>, record: &Record) -> String {
    let mut out = Vec::new();
    write(record, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn json_has_every_step_and_exact_numbers() {
    let json: Value = serde_json::from_str(&written(write_json, &record(STRANGE))).unwrap();
    assert_eq!((&json["format"], &json["version"]), (&"stv count".into(), &2.into()));
    assert_eq!((&json["title"], &json["ballots"]), (&"May<or>".into(), &"9".into()));
    assert_eq!(json["candidates"][0]["name"], "<A> & 'a'");
    assert_eq!(json["elected"], serde_json::json!([2]));
    let steps = json["steps"].as_array().unwrap();
    let actions: Vec<_> = steps.iter().map(|step| step["action"].as_str().unwrap()).collect();
    let wanted = ["begin", "iterate", "defeat", "elect", "iterate", "defeat remaining", "complete"];
    assert_eq!(actions, wanted);
    assert_eq!(steps[0]["quota"], "4.500000001");
    assert_eq!(steps[2]["candidate"], 3);
    assert_eq!(steps[2]["iteration"], "omega");
    let cleo = &steps[2]["candidates"][2];
    assert_eq!((&cleo["status"], &cleo["votes"]), (&"defeated".into(), &"2.000000000".into()));
    assert_eq!(steps[3]["candidates"][2]["keep"], "0.000000000");
    assert_eq!(json["transfers"][0]["cause"], "defeat");
    assert_eq!(json["transfers"][0]["changes"][1]["votes"], "-2.000000000");
}

#[test]
fn csv_has_a_row_for_each_step_and_candidate() {
    let csv = written(write_csv, &record(STRANGE));
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 7 * 3);
    assert_eq!(
        lines[0],
        "step,round,action,subject,quota,surplus,residual,candidate,name,status,votes,keep,party"
    );
    assert_eq!(
        lines[8],
        "3,1,defeat,3,4.500000001,0.000000000,0.000000000,2,\"B, b\",hopeful,3.000000000,1.000000000,"
    );
}

/// Three candidates share a name, two of them with the same party. One name has a strange party.
const ALIKE: &str = "5 1\n4 1 2 0\n3 2 0\n2 3 2 0\n1 4 0\n1 5 0\n0\n\"J LI\" \"Red\"\n\"J LI\" \"=Blue, \"x\"y\"\n\"J LI\" \"Red\"\n\"Ann\" \"Red\"\n\"\" \"\"\n\"T\"\n";

#[test]
fn every_output_tells_candidates_apart_and_names_parties() {
    let record = record(ALIKE);
    let json: Value = serde_json::from_str(&written(write_json, &record)).unwrap();
    let people =
        |field: &str| json["candidates"].as_array().unwrap().iter().map(|one| one[field].clone()).collect();
    let (names, parties): (Vec<Value>, Vec<Value>) = (people("name"), people("party"));
    assert_eq!(names, ["J LI", "J LI", "J LI", "Ann", ""]);
    assert_eq!(parties, ["Red".into(), "=Blue, \"x\"y".into(), "Red".into(), "Red".into(), Value::Null]);
    let csv = written(write_csv, &record);
    let rows = [
        "1,\"J LI [1]\",hopeful,4.000000000,1.000000000,\"Red\"",
        "2,\"J LI [2]\",hopeful,3.000000000,1.000000000,\"'=Blue, \"\"x\"\"y\"",
        "5,\"Candidate 5\",hopeful,1.000000000,1.000000000,",
    ];
    for row in rows {
        assert!(csv.lines().any(|line| line.ends_with(&format!(",0.000000000,{row}"))), "{row}: {csv}");
    }
    let election = stv_ballots::parse("test", ALIKE.as_bytes()).unwrap();
    let mut out = Vec::new();
    count(&election, &mut Transcript::new(&mut out, "Package".to_owned())).unwrap();
    stv_count::plurality::<Fixed9>(&election, 1, "Package", &mut out).unwrap();
    let mut trace =
        Trace::new(&mut out, "J LI (Red) [3] > J LI (=Blue, \"x\"y) = Ann > 5", &election).unwrap();
    count(&election, &mut trace).unwrap();
    let text = String::from_utf8(out).unwrap();
    let page = page(&record);
    assert_well_formed(&page);
    let called = ["J LI (Red) [1]", "J LI (=Blue, \"x\"y) [2]", "J LI (Red) [3]", "Ann (Red)", "Candidate 5"];
    for name in called {
        let (action, status) =
            if name == called[0] { ("Elect", "Elected: ") } else { ("Defeat", "Defeated:") };
        // The first lines are of the count, the others of plurality.
        for line in [
            format!("\tAdd eligible: {name}\n"),
            format!("\tHopeful:  {name} ("),
            format!("Action: {action}: {name}\n"),
            format!("\t{status} {name} ("),
        ] {
            assert!(text.contains(&line), "{line}: {text}");
        }
    }
    // The page shows the party beside the name. So names that differ in the party only are alike.
    let shown =
        [("J LI [1]", "Red"), ("J LI [2]", "=Blue, &quot;x&quot;y"), ("J LI [3]", "Red"), ("Ann", "Red")];
    for (name, party) in shown {
        let beside = format!("<bdi>{name}</bdi> <span class=\"party\"><bdi>{party}</bdi></span>");
        assert!(page.contains(&beside), "{name}: {page}");
    }
    assert!(page.contains("<bdi>Candidate 5</bdi>"), "{page}");
    assert!(
        text.contains("\nBallot: J LI (Red) [3] > J LI (=Blue, \"x\"y) [2] = Ann (Red) > Candidate 5\n"),
        "{text}"
    );
}

#[test]
fn withdrawn_candidates_are_in_no_step() {
    let record = record("3 1\n-3\n2 1 2 0\n1 2 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"");
    let json: Value = serde_json::from_str(&written(write_json, &record)).unwrap();
    assert_eq!(json["candidates"][2]["withdrawn"], true);
    assert_eq!(json["steps"][0]["candidates"].as_array().unwrap().len(), 2);
    assert!(!written(write_csv, &record).contains("Cleo"));
}

/// The weights of all lines, 2 + 1 + 3 + 4, are the counted and the empty ballots.
#[test]
fn papers_reconcile() {
    let record = record("3 1\n-3\n2 1 2 0\n1 2 3 0\n3 3 0\n4 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"");
    let json: Value = serde_json::from_str(&written(write_json, &record)).unwrap();
    assert_eq!((&json["ballots"], &json["empty_ballots"]), (&"3".into(), &"7".into()));
    let page = page(&record);
    assert!(page.contains("<div class=\"soft\">7 empty ballots not counted.</div>"), "{page}");
    assert!(!stv_page::page(&self::record(STRANGE)).contains("not counted"));
}

#[test]
fn one_elected_candidate_gives_exactly_and_several_give_net() {
    let record = record("4 3\n10 1 2 0\n10 2 3 0\n3 3 0\n4 4 0\n0\n\"A\" \"B\" \"C\" \"D\" \"T\"");
    let surplus = record.transfers.iter().find(|transfer| transfer.cause == Cause::Surplus).unwrap();
    assert_eq!(surplus.from, [0, 1], "both were elected in one step");
    assert!(surplus.changes.iter().any(|(candidate, change)| *candidate == 2 && !change.starts_with('-')));
}

/// Text shows characters that change direction, end lines or are invisible. JSON keeps these
/// characters exactly.
#[test]
fn what_misleads_is_shown_and_exact_in_json() {
    let name = "Eve\u{202e}\u{2066}99\u{2028}\u{2029}\u{61c}\u{200b}\u{7f}\u{e0041}\u{200d}";
    let record = record(&STRANGE.replace("B, b", name));
    let shown = "Eve\u{fffd}\u{fffd}99\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{200d}";
    assert!(written(write_csv, &record).contains(&format!(",\"{shown}\",")));
    let text = written(write_json, &record);
    let escaped = "Eve\\u202e\\u206699\\u2028\\u2029\\u061c\\u200b\\u007f\\udb40\\udc41\u{200d}";
    assert!(text.contains(escaped), "{text}");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["candidates"][1]["name"], name);
}

/// Parses the page like simple XML. Every element must be closed in order, every attribute quoted,
/// and every name harmless.
pub(super) fn assert_well_formed(page: &str) {
    let body = page.strip_prefix("<!DOCTYPE html>").expect("a page of HTML 5");
    let mut open: Vec<&str> = Vec::new();
    let mut rest = body;
    while let Some((text, tag)) = rest.split_once('<') {
        let allowed =
            |entity: &str| ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|end| entity.starts_with(end));
        assert!(text.split('&').skip(1).all(allowed), "a bare & in {text:?}");
        assert!(open.last() == Some(&"style") || !text.contains('>'), "a bare > in {text:?}");
        let (tag, after) = tag.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in another order");
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        for (place, part) in attributes.split('"').enumerate() {
            let between = part
                .trim()
                .strip_suffix('=')
                .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
            assert!(place % 2 == 1 || part.is_empty() || between, "an attribute without quotes in {tag:?}");
        }
        if !is_empty {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "left open");
}

#[test]
fn the_page_is_well_formed_and_names_are_text() {
    let page = page(&record(STRANGE));
    assert_well_formed(&page);
    assert!(page.contains("<title>May&lt;or&gt;</title>"));
    assert!(page.contains("&lt;A&gt; &amp; &#39;a&#39;") && page.contains("🍌") && !page.contains("<A>"));
    for outside in ["<script", "http:", "https:", "src=", "@import", "javascript"] {
        assert!(!page.contains(outside), "{outside}: the page needs nothing else");
    }
}

/// Each of two candidates has half of the votes, one billionth below the quota. A candidate who
/// gets a remaining seat passes nothing on.
#[test]
fn a_quota_that_is_more_than_shown_says_so() {
    let page = page(&record("3 1\n12 1 2 0\n12 2 1 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\""));
    assert_well_formed(&page);
    for text in [">quota just above 12<", "12<span>+</span>", "A quota with a + is just above"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(page.contains(">24</text>") && !page.contains("class=\"gone\""), "{page}");
    let mut exact = record("2 1\n3 1 0\n1 2 0\n0\n\"Ada\" \"Bert\" \"T\"");
    exact.steps.iter_mut().for_each(|step| step.quota = "2.000000000".to_owned());
    let page = stv_page::page(&exact);
    assert!(!page.contains("just above") && page.contains("2<span class=\"none\">+</span>"), "{page}");
}

const COUNCIL: &str =
    "5 3\n20 1 2 0\n9 2 3 0\n6 3 2 0\n7 4 5 0\n5 5 3 0\n0\n\"Ada\" \"Bert\" \"\" \"Dora\" \"Emil\" \"T\"";

#[test]
fn the_page_of_small_elections() {
    let passed_on = "4 2\n10 1 2 0\n4 2 0\n5 3 0\n2 4 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"T\"";
    let no_round = "2 1\n-1\n1 2 0\n0\n\"Ada\" \"Bert\" \"\"";
    for (ballots, texts) in [
        (passed_on, &[">quota just above 7<", ": 2 from Dora to Cleo"][..]),
        // A transfer has one round in both pictures.
        (
            COUNCIL,
            &["Round 2: 8.25 from Ada to Bert", "Bert: 8.25 gained by round 2<", "<text class=\"on over\""],
        ),
        // The nameless have a number.
        (COUNCIL, &["<strong><bdi>Candidate 3</bdi></strong> elected", "</span><bdi>Candidate 3</bdi></th>"]),
        (no_round, &["No votes moved", "Withdrawn: <bdi>Ada</bdi></div>"]),
    ] {
        let page = page(&record(ballots));
        assert_well_formed(&page);
        for text in texts {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("<bdi></bdi>"), "{page}");
    }
    let page = page(&record(passed_on));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    let order = [
        "<strong><bdi>Ada</bdi></strong><span>round 1, with 10 votes",
        "<strong><bdi>Cleo</bdi></strong>",
        "<h2>Rounds</h2>",
        "<h2>Flow of votes</h2>",
    ];
    assert!(order.map(place).is_sorted(), "the winners come first, in their order");
}

#[test]
fn the_numbers_of_a_column_have_the_same_decimals() {
    let page = page(&record(COUNCIL));
    let (_, table) = page.split_once("<table class=\"votes\">").unwrap();
    let rows: Vec<Vec<&str>> =
        table.split("<tr>").skip(1).map(|row| row.split("<td").skip(1).collect()).collect();
    let has_decimals = |cell: &&str| cell.split('<').next().unwrap().contains('.');
    for column in 0..5 {
        let cells: Vec<_> =
            rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.starts_with("></")).collect();
        assert!(cells.iter().all(|cell| has_decimals(cell) == (column > 0)), "{cells:?}");
    }
    assert!(page.contains("title=\"Surplus\">8.25<") && page.contains("title=\"Surplus\">0.00<"), "{page}");
}

#[test]
fn no_line_goes_through_the_number_beside_a_bar() {
    let page = page(&record(include_str!("../sample.blt")));
    let (_, bars) = page.split_once("<h2>Votes by round</h2>").unwrap();
    let (bars, _) = bars.split_once("<figcaption>").unwrap();
    let number = |text: &str| text.split_once(['"', ' ']).unwrap().0.parse::<f64>().unwrap();
    let mut lines_seen = 0;
    for picture in bars.split("</svg>").filter(|picture| picture.contains("<svg")) {
        let lines: Vec<f64> = picture.split(" d=\"M").skip(1).map(number).collect();
        lines_seen += lines.len();
        for text in picture.split("<text class=\"soft\" x=\"").skip(1) {
            let shown = text.split_once('>').unwrap().1.split_once('<').unwrap().0;
            let (left, width) = (number(text), 6.0 * f64::from(u8::try_from(shown.len()).unwrap()));
            assert!(
                lines.iter().all(|line| *line < left - 2.0 || left + width < *line),
                "{shown} at {left}: {lines:?}"
            );
        }
    }
    assert_eq!(lines_seen, 8, "the first quota and the last with their halos, in both pictures");
}

#[test]
fn a_trace_follows_one_ballot_to_the_end() {
    let ballots = "3 1\n4 1 2 0\n3 2 0\n2 3 2 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"";
    let election = stv_ballots::parse("test", ballots.as_bytes()).unwrap();
    let mut out = Vec::new();
    let mut trace = Trace::new(&mut out, "Cleo > Bert > Ada", &election).unwrap();
    count(&election, &mut trace).unwrap();
    let wanted = "Ballot: Cleo > Bert > Ada
Ballots like it: 0 of 9

Begin
\tHopeful:  Cleo (1.000000000)
\tHopeful:  Bert (0.000000000)
\tHopeful:  Ada (0.000000000)
\tExhausted: 0.000000000

Round 1: Cleo defeated
\tDefeated: Cleo (0.000000000)
\tHopeful:  Bert (1.000000000)
\tHopeful:  Ada (0.000000000)
\tExhausted: 0.000000000

Round 2: Bert elected
\tDefeated: Cleo (0.000000000)
\tElected:  Bert (1.000000000)
\tHopeful:  Ada (0.000000000)
\tExhausted: 0.000000000

End: Ada defeated
\tDefeated: Cleo (0.000000000)
\tElected:  Bert (1.000000000)
\tDefeated: Ada (0.000000000)
\tExhausted: 0.000000000
";
    assert_eq!(String::from_utf8(out).unwrap(), wanted);
    assert!(Trace::new(Vec::new(), "Emil", &election).unwrap_err().contains("`Emil` is neither"));
}

/// A printed number in billionths.
fn billionths(text: &str) -> i64 {
    text.replace('.', "").parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Votes only move between candidates. The changes of a transfer add up to zero. All changes
    /// together lead from the first votes to the last votes.
    #[test]
    fn flows_add_up_to_the_changes(
        lines in prop::collection::vec((1_u32..40, prop::collection::vec((1_usize..6, any::<bool>()), 1..5)), 1..12),
        seats in 1_usize..4,
    ) {
        let ballots: Vec<String> = lines.iter().map(|(weight, ranks)| {
            let mut seen = [false; 6];
            let mut line = weight.to_string();
            for &(candidate, equal) in ranks {
                if !std::mem::replace(&mut seen[candidate], true) {
                    line.push(if equal && line.contains(' ') { '=' } else { ' ' });
                    line += &candidate.to_string();
                }
            }
            line + " 0\n"
        }).collect();
        // With equal ranks, more candidates than seats can reach the quota. This event ends the
        // count.
        let counted = counted(&format!("5 {seats}\n{}0\n\"A\" \"B\" \"C\" \"D\" \"E\" \"T\"", ballots.concat()));
        prop_assume!(counted.is_ok());
        let record = counted.unwrap();
        let steps = &record.steps;
        let mut votes: Vec<i64> = steps[0].states.iter().map(|state| billionths(&state.votes)).collect();
        for transfer in &record.transfers {
            let moved: i64 = transfer.changes.iter().map(|(_, change)| billionths(change)).sum();
            prop_assert_eq!(moved + billionths(&transfer.exhausted), 0);
            prop_assert!(!transfer.from.is_empty());
            for (candidate, change) in &transfer.changes {
                votes[*candidate] += billionths(change);
            }
        }
        let last: Vec<i64> = steps.last().unwrap().states.iter().map(|state| billionths(&state.votes)).collect();
        prop_assert_eq!(votes, last);
        let total = Fixed9::one().times_whole(&Integer::from_digits(&record.ballots).unwrap()).unwrap().to_string();
        assert_well_formed(&page(&record));
        prop_assert!(steps[1..].iter().all(|step| step.total == total));
    }
}
