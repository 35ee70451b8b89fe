//! Tests every clause of the dialect, and every error with the line that it names.

use super::*;
use crate::{election::Preferences, formats::parse, integer::Integer};

pub(super) fn read_text(text: &str) -> Result<Election, InputError> {
    parse("test.blt", text.as_bytes())
}

/// The ballots in a plain notation: numbers from 1, `=` between equals.
pub(crate) fn shown(election: &Election) -> Vec<String> {
    let ballot = |(weight, preferences): (Integer, Preferences<'_>)| {
        let mut line = format!("{weight}:");
        let mut separator = ' ';
        for preference in preferences {
            line.push(separator);
            line += &(preference.candidate() + 1).to_string();
            separator = if preference.shares_rank_with_next() { '=' } else { ' ' };
        }
        line
    };
    election.ballots.iter().map(ballot).collect()
}

pub(super) fn ballots(text: &str) -> Vec<String> {
    shown(&read_text(text).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

/// The names and the title.
pub(super) fn names(election: &Election) -> (Vec<&str>, &str) {
    let names = election.candidates.iter().map(|candidate| candidate.name.as_str());
    (names.collect(), &election.title)
}

const NAMES: &str = "0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Three\"\n";

/// A file with three candidates, one seat, and these lines between the header and the names.
fn three(lines: &str) -> String {
    format!("3 1\n{lines}\n{NAMES}")
}

pub(super) fn fails(text: &str, line: usize, wanted: &str) {
    let error = read_text(text).map(|_| "read without error").unwrap_err();
    assert!(
        error.line == line && error.message.contains(wanted),
        "wanted line {line}: …{wanted}…, got {error}\n{text}"
    );
}

#[test]
fn more_names_than_candidates() {
    let read = |behind: &str| {
        let election = read_text(&format!("{}{behind}", three("1 2 0").replace("\"Three\"\n", ""))).unwrap();
        (election.title, election.warnings)
    };
    let (title, warnings) = read("\"Dora\"\n\"Three\"\n");
    assert_eq!(title, "Three");
    assert!(
        warnings[0].starts_with("line 7: there may be 4 names for 3 candidates, from `Dora` on"),
        "{warnings:?}"
    );
    let (title, warnings) = read("\"Three\"\n\"by hand\"\n\"none\"\n");
    assert!(title == "Three" && warnings[0].contains("`Three` is taken for the title"), "{warnings:?}");
    assert_eq!(read("\"Three\" \"by hand\"\n"), ("Three".to_owned(), Vec::new()));
    assert_eq!(read("\"Three\" \"by hand\" \"none\"\n"), ("Three".to_owned(), Vec::new()));
}

#[test]
fn names_title_and_seats() {
    let election = read_text(&three("1 2 0")).unwrap();
    assert_eq!(names(&election), (vec!["Ada", "Bert", "Cleo"], "Three"));
    assert_eq!(election.seats, 1);
    assert_eq!(election.tie_break, [0, 1, 2]);
}

#[test]
fn numbers_and_nicknames_mix() {
    assert_eq!(ballots(&three("[nick a b c]\n2 a 3 0\n5 3=b 1 0\n1 c 0")), ["2: 1 3", "5: 3=2 1", "1: 3"]);
    assert_eq!(
        ballots(&three("[nick A ä c-1]\n1 c-1 A 0\n1 ä 0")),
        ["1: 3 1", "1: 2"],
        "any word is a nickname"
    );
    fails(&three("[nick A b c]\n1 a 0"), 3, "`a` is not a candidate's number or nickname");
}

#[test]
fn digits_are_always_a_number() {
    assert_eq!(ballots(&three("[nick 3 x y]\n1 3 0")), ["1: 3"]);
}

#[test]
fn white_space_of_any_kind_separates() {
    assert_eq!(ballots(&three("2 1 2 0 1 2 0\n3 3\n\n1 \t\n0")), ["2: 1 2", "1: 2", "3: 3 1"]);
    let crlf = three("[nick a b c]\n2 a b 0\n1 c 0   ").replace('\n', "\r\n");
    assert_eq!(ballots(&crlf), ["2: 1 2", "1: 3"]);
    assert_eq!(read_text(&crlf).unwrap().title, "Three");
    assert_eq!(ballots(&format!("\u{feff}{}", three("1 2 0"))), ["1: 2"]);
    assert_eq!(ballots("2 1 1 2 0 0 \"A\" \"B\" \"T\""), ["1: 2"], "all of it on one line");
}

#[test]
fn comments_are_skipped_outside_quotes() {
    let text = "3 1 # three\n/* block\n/* nested */ still */ 2 1 /**/ 2 0 # c\n0 # end\n\"A # 1\" # a\n/* b */ \"/* B */\"\n\"C\"\n\"T\"";
    assert_eq!(ballots(text), ["2: 1 2"]);
    let election = read_text(text).unwrap();
    assert_eq!(election.candidates[0].name, "A # 1");
    assert_eq!(election.candidates[1].name, "/* B */");
    fails("3 1\n/* never\nclosed", 2, "never closed");
}

#[test]
fn ballot_ids_stand_for_a_weight_of_one() {
    assert_eq!(ballots(&three("(A1) 1 2 0\n(no 2) 3 0")), ["1: 1 2", "1: 3"]);
    fails(&three("(x) 1 0\n(y) 2 0\n(x) 3 0"), 4, "(x) is given twice");
    fails(&three("(x) 1 0\n2 2 0"), 3, "some ballots have an id");
    fails(&three("2 1 0\n(x) 2 0"), 3, "some ballots have an id");
    fails(&three("(x 1 0"), 2, "no ) on its line");
}

#[test]
fn withdrawn_candidates_leave_the_ballots() {
    let wanted = ["2: 1 3", "1: 1=3", "1: 3"];
    let lines = "2 1 2 3 0\n1 1=2=3 0\n7 2 0\n1 2 3 0\n4 0";
    for withdrawal in [
        "[withdrawn 2]",
        "-2",
        "[nick a b c] [withdrawn b ]",
        "[withdrawn b] [nick a b c]",
        "-2 [withdrawn 2]",
    ] {
        let text = three(&format!("{withdrawal}\n{lines}"));
        assert_eq!(ballots(&text), wanted, "{withdrawal}");
        let election = read_text(&text).unwrap();
        assert!(election.candidates[1].withdrawn && !election.candidates[0].withdrawn);
        assert_eq!(election.ballots.total(), &Integer::Word(4), "empty ballots do not count");
    }
    let strict = read_text(&three("-2\n1 1=2 3 0")).unwrap();
    assert!(
        !strict.ballots.has_equal_ranks(strict.ballots.all()[0]),
        "a rank of one candidate is no equal rank"
    );
    fails(&three("[withdrawn z]\n1 1 0"), 2, "`z` is not a candidate's number");
    fails(&three("-4\n1 1 0"), 2, "there is no candidate `4`");
}

#[test]
fn tie_break_order() {
    let twice = read_text(&three("[tie 1 2 3]\n[nick a b c]\n[tie c a 2 ]\n1 1 0")).unwrap_err();
    assert_eq!(twice.to_string(), "test.blt:4: a second [tie …]; the first is in line 2; remove one of them");
    assert_eq!(read_text(&three("[nick a b c]\n[tie c a 2 ]\n1 1 0")).unwrap().tie_break, [1, 2, 0]);
    fails(&three("[tie 1 2]\n1 1 0"), 2, "names 2 of 3");
    fails(&three("[tie 1\n2 2]\n1 1 0"), 3, "`2` stands twice");
    fails(&three("[tie 1 2 4]\n1 1 0"), 2, "no candidate `4`");
}

#[test]
fn other_options_do_not_change_the_count() {
    assert_eq!(
        ballots(&three("[droop omega=3 arithmetic=fixed]\n[undeclared 3]\n[colour red\nblue]\n1 1 3 0")),
        ["1: 1 3"]
    );
    fails(&three("[undeclared z]\n1 1 0"), 2, "`z` is not");
    fails(&three("[tie 1 2 3\n1 1 0"), 2, "never closed");
    fails(&three("[ ]\n1 1 0"), 2, "brackets are empty");
}

#[test]
fn source_and_comment_may_follow_the_title() {
    assert_eq!(ballots(&(three("1 1 0") + "\"source\"\n\"comment\"\n")), ["1: 1"]);
    assert_eq!(ballots(&(three("1 1 0") + "anything \"else\" \"\nat all")), ["1: 1"]);
}

#[test]
fn names_without_quotes() {
    let election = read_text("2 1\n1 1 0\n0\nAda \"A\" Li  \t\n\nBert\nOne seat\n").unwrap();
    assert_eq!(election.candidates[0].name, "Ada \"A\" Li");
    assert_eq!((election.candidates[1].name.as_str(), election.title.as_str()), ("Bert", "One seat"));
    assert_eq!(read_text("2 1\n1 1 0\n0\nAda\nBert\n\"T\"\n").unwrap().title, "T");
    fails("2 1\n1 1 0\n0\nAda\nBert\nTitle\nSource\n", 4, "put it in double quotes");
    fails(
        "3 1\n1 1 0\n0\nAda\nBert\n",
        4,
        "or write 4 lines after the ballots, 3 names and a title: there are 2",
    );
    assert_eq!(read_text("2 1\n1 1 0\n0\nAda\n\"Bert\"\nTitle\n").unwrap().candidates[0].name, "Ada");
    fails("2 1\n1 1 0\n0\nAda # 1\n\"Bert\" # 2\n\"T\"\n", 4, "the name of candidate 1");
    fails("2 1\n1 1 0\n0\n\"Ada\"\nBert \"\n\"T\"\n", 5, "the name of candidate 2");
    fails("2 1\n1 1 0\n0\n\"Ada\" \"Bert\"\nTitle\n", 5, "the title");
    fails("2 1\n1 1 0\n0\nAda\nBert\n\"Title\n", 4, "the name of candidate 1");
}

/// Files with two possible readings. With the wrong reading, a party wins the seat.
#[test]
fn names_and_parties_are_not_taken_for_each_other() {
    let ward = |names: &str| format!("3 1\n1 1 0\n0\n{names}\n");
    for (names, line) in [
        ("\"Ada\" \"Red\"\n\"Bert\"\n\"Cleo\"\n\"T\"", 5),
        ("\"Ada\"\n\"Bert\" \"Blue\"\n\"Cleo\"\n\"T\"", 5),
        ("\"Ada\" \"Red\"\n\"Bert\" \"Blue\"\n\"Cleo\"\n\"T\"", 6),
        ("\"Ada\" \"Red\"\n\"Bert\" \"Blue\"\n\"Cleo\" \"Red\" \"x\"\n\"T\"", 6),
        ("\"Ada\" \"Bert\"\n\"Cleo\" \"T\"", 4),
    ] {
        fails(&ward(names), line, "not clear which are names");
    }
    fails("2 1\n1 1 0\n0\n\"Ada\" \"Red\"\n\"Bert\"\n\"T\"\n", 5, "not clear which are names");
    for lines in [
        "\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"T\" \"source\" \"comment\"",
        "\"Ada\" \"Red\"\n\"Bert\" \"Blue\"\n\"Cleo\" \"Red\"\n\"T\" \"source\" \"comment\"",
        "\"Ada\" \"Bert\" \"Cleo\"\n\"T\"\n\"source\" \"comment\"",
        "\"Ada\" \"Bert\" \"Cleo\" \"T\" \"source\"\n\"comment\"",
    ] {
        let election = read_text(&ward(lines)).unwrap_or_else(|error| panic!("{error}\n{lines}"));
        assert_eq!(names(&election), (vec!["Ada", "Bert", "Cleo"], "T"), "{lines}");
    }
}

#[test]
fn quotes_within_names() {
    let election = read_text("1 1\n1 1 0\n0\n\"Ada \"the\"-first Li\"\n\"\"\n").unwrap();
    assert_eq!((election.candidates[0].name.as_str(), election.title.as_str()), ("Ada \"the\"-first Li", ""));
    fails("1 1\n1 1 0\n0\n\"Ada\n\"T\"\n", 4, "no closing quote");
    fails("1 1\n1 1 0\n0\n\"Ada\"\n\"The \"first\" election\"\n", 5, "`election\"` follows the title");
    let doubled = "follows a name on its line; quotes inside a name are doubled, as in \"Ann \"\"Z\"\" Orr\"";
    fails("2 1\n3 1 2 0\n0\n\"Ada \"Z\" Lee\"\n\"Bea\"\n\"T\"\n", 4, doubled);
}

#[test]
fn weights_have_no_limit() {
    let text = three("18446744073709551616 1 0\n18446744073709551616 2 0\n007 3 0");
    assert_eq!(ballots(&text), ["18446744073709551616: 1", "18446744073709551616: 2", "7: 3"]);
    assert_eq!(read_text(&text).unwrap().ballots.total().to_string(), "36893488147419103239");
}

/// The 0 at the end of a ballot is missing, so two ballots become one.
#[test]
fn a_ballot_that_goes_on_where_others_do_not_is_a_warning() {
    let names = "0\n\"A\"\n\"B\"\n\"C\"\n\"D\"\n\"E\"\n\"T\"\n";
    let warnings = |ballots: &str| read_text(&format!("5 2\n{ballots}\n{names}")).unwrap().warnings;
    let one = warnings("2 1 2\n4 3 0\n1 1 0");
    assert!(one.len() == 1 && one[0].starts_with("line 2: this ballot ends on another line"), "{one:?}");
    assert!(warnings("2 1 2\n4 3 0\n1\n1 0").is_empty(), "all ballots span lines");
}

#[test]
fn errors_in_the_header() {
    fails("", 1, "before the number of candidates");
    fails("\n# nothing\n", 2, "before the number of candidates");
    fails("three two\n", 1, "`three` is not the number of candidates");
    fails("3\n[nick a b c]\n1 a 0\n", 2, "`[nick` is not the number of seats");
    fails("\n0 1\n0\n\"T\"", 2, "the number of candidates cannot be 0");
    fails(&three("1 1 0").replace("3 1", "3 0"), 1, "the number of seats cannot be 0");
    fails("99999999999999999999 1\n", 1, "cannot be 99999999999999999999");
    fails("4000000000 1\n1 1 0\n0\n\"A\"\n", 1, "more than the 65536");
    fails(&three("1 1 0").replace("3 1", "3 4"), 1, "4 seats cannot be filled by 3");
    fails(&three("-2\n-3\n1 1 0").replace("3 1", "3 2"), 1, "2 seats cannot be filled by 1");
}

#[test]
fn errors_in_nicknames() {
    fails(&three("[nick a b]\n1 1 0"), 2, "2 names for 3 candidates");
    fails(&three("[nick a\nb a]\n1 1 0"), 3, "`a` is given twice");
    fails(&three("[nick a b=c d]\n1 1 0"), 2, "contains =");
    fails(&three("[nick a b c]\n[nick a b c]\n1 1 0"), 3, "a second [nick");
}

#[test]
fn errors_in_ballots() {
    fails(&three("2 1 1 0"), 2, "stands twice on one ballot");
    fails(&three("2 1 2=1 0"), 2, "stands twice on one ballot");
    fails(&three("[nick a b c]\n2 1 3 a 0"), 3, "`a` stands twice");
    fails(&three("2 1 2\n1 2 0"), 2, "on line 3: candidate `1` stands twice on one ballot");
    fails(&three("1 4 0"), 2, "the numbers go from 1 to 3");
    fails(&three("1 z 0"), 2, "`z` is not a candidate's number");
    fails(&three("1 1= 0"), 2, "one of them is missing");
    fails(&three("1 1=0 0"), 2, "there is no candidate `0`");
    fails(&three("[nick a b c]\n-2 a b 0"), 3, "weight must be at least 1");
    fails(&three("1 1 0\n-2 1 0"), 3, "`-2` is not the weight");
    fails(&three("- 1 0"), 2, "`-` is not the weight");
    fails(&three("1.5 1 0"), 2, "`1.5` is not the weight");
    fails(&three("00 1 0"), 2, "`00` is not the weight");
    fails(&three("[nick a b c]\n1 b 0\n0 a 0\n1 b 0"), 4, "weight of at least 1");
    fails(&three("").replace("\n0\n", "\n"), 3, "`\"Ada\"` is not the weight");
}

#[test]
fn errors_at_the_end() {
    fails("3 1\n1 1 0\n2 2 0\n", 3, "add a line with a single 0");
    fails("3 1\n1 1 0\n2 2", 3, "within the ballot of line 3");
    fails("2 1\n1 1 0\n0\n\"Ada\"\n", 4, "before the name of candidate 2");
    fails("2 1\n1 1 0\n0\n\"Ada\"\n\"Bert\"\n\n", 5, "before the title");
    fails(&three(""), 3, "nothing to count");
    fails(&three("5 0\n1 0"), 4, "nothing to count");
    fails(&three("-1\n5 1 0"), 4, "nothing to count");
}

#[test]
fn errors_name_the_file() {
    let error = parse("some/where.blt", b"3 1\n\n1 1 0\n\xff").unwrap_err();
    assert_eq!(
        error.to_string(),
        "some/where.blt:4: byte 1 of this line, 0xFF, is not UTF-8; the file looks like Latin-1, where it is ÿ; \
         convert it, for example with: iconv -f LATIN1 -t UTF-8 FILE > NEW"
    );
}
