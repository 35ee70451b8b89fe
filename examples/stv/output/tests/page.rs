//! The page for difficult elections: parties, long names, ties of many, malicious names, eighty
//! candidates.

use super::{assert_well_formed, record};
use std::fmt::Write;
use stv_count::SplitMix64;
use stv_page::page;

/// Ada is elected in round 1 and gives to Bert. All but Dora have parties.
const PARTIES: &str = "4 2\n10 1 2 0\n4 2 0\n5 3 0\n2 4 3 0\n0\n\"Ada\" \"Green\"\n\"Bert\" \"Old & New\"\n\"Cleo\" \"Green\"\n\"Dora\" \"\"\n\"T\"\n";

/// Every text between `begin` and the next `end`.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    page.split(begin).skip(1).map(|part| part.split_once(end).expect(end).0).collect()
}

/// A ballot file of this many candidates, each with one vote.
fn tied(candidates: usize) -> String {
    let mut ballots = format!("{candidates} 1\n");
    for candidate in 1..=candidates {
        let _ = writeln!(ballots, "1 {candidate} 0");
    }
    ballots.push_str("0\n");
    for candidate in 1..=candidates {
        let _ = writeln!(ballots, "\"Name {candidate}\"");
    }
    ballots + "\"T\"\n"
}

/// An election like that of `stv generate --kind uniform --candidates 80 --seats 7`, with names.
fn wide() -> String {
    let mut random = SplitMix64::new(80);
    let mut ballots = "80 7\n".to_owned();
    for _ in 0..1500 {
        let mut seen = [false; 80];
        ballots.push('1');
        for _ in 0..10 {
            let candidate = random.below(80);
            if !std::mem::replace(&mut seen[candidate], true) {
                let _ = write!(ballots, " {}", candidate + 1);
            }
        }
        ballots.push_str(" 0\n");
    }
    ballots.push_str("0\n");
    for candidate in 1..=80 {
        let _ = writeln!(
            ballots,
            "\"Maximiliane Freifrau von Candidate {candidate}\" \"The {candidate}th Party\""
        );
    }
    ballots + "\"Wide\"\n"
}

#[test]
fn parties_and_first_preferences_stand_beside_names() {
    let page = page(&record(PARTIES));
    assert_well_formed(&page);
    let party = |text: &str| format!("<span class=\"party\"><bdi>{text}</bdi></span>");
    let (green, old) = (party("Green"), party("Old &amp; New"));
    for wanted in [
        // The texts of the winner, of the list of winners, of the rounds, and of the table of all.
        format!(
            "<bdi>Ada</bdi></strong>{green}<span>round 1, with 10 votes</span><span>first preferences: 10 (47.62 %)</span>"
        ),
        format!("<strong><bdi>Ada</bdi> {green}</strong> elected"),
        format!(
            "<bdi>Ada</bdi> {green}</th><td>10</td><td>47.62 %</td><td class=\"what\"><strong>Elected, round 1"
        ),
        format!("<bdi>Bert</bdi> {old}</th><td>4</td><td>19.05 %</td>"),
        "<bdi>Dora</bdi></th><td>2</td><td>9.52 %</td><td class=\"what\">Defeated, round ".to_owned(),
        // Parties appear in both pictures, in a line below the name and in tips.
        "<text class=\"end soft\" x=\"192\" y=\"".to_owned(),
        "<title>Ada (Green): 10 first preferences</title>".to_owned(),
    ] {
        assert!(page.contains(&wanted), "{wanted}: {page}");
    }
    // Two tables have all candidates: the results and the votes.
    assert_eq!(page.matches(&format!("<bdi>Bert</bdi> {old}</th>")).count(), 2, "{page}");
}

#[test]
fn captions_are_one_line_and_tables_are_named() {
    let page = page(&record(&wide()));
    assert_well_formed(&page);
    let captions =
        [between(&page, "<caption>", "</caption>"), between(&page, "<figcaption>", "</figcaption>")];
    assert_eq!(captions[1].len(), 2);
    for caption in captions.concat() {
        assert!((10..=110).contains(&caption.chars().count()) && !caption.contains('<'), "{caption}");
    }
    let tables = between(&page, "<table ", "</table>");
    assert_eq!(tables.len(), captions[0].len());
    for table in tables {
        let after = table.split_once('>').unwrap().1;
        assert!(after.starts_with("<caption>"), "{after}");
        let heads = between(table, "<th", ">");
        let scoped = heads.iter().filter(|head| **head != "ead");
        assert!(
            scoped.clone().count() > 2 && scoped.clone().all(|head| head.starts_with(" scope=\"")),
            "{heads:?}"
        );
        for row in between(table, "<tr>", "</tr>") {
            assert!(row.starts_with("<th scope=\"row\">") || row.starts_with("<th scope=\"col\">"), "{row}");
        }
    }
}

#[test]
fn many_names_are_a_number_that_unfolds() {
    let few = page(&record(&tied(3)));
    assert!(
        few.contains("ballot-paper order: <bdi>Name 1</bdi>; <bdi>Name 2</bdi>; <bdi>Name 3</bdi></div>"),
        "{few}"
    );
    let many = page(&record(&tied(40)));
    assert_well_formed(&many);
    assert!(
        many.contains("ballot-paper order: <details><summary>40 candidates</summary><bdi>Name 1</bdi>; "),
        "{many}"
    );
    let folded: usize = between(&many, "<details>", "</details>").iter().map(|names| names.len()).sum();
    let (_, rounds) = many.split_once("<table class=\"rounds\">").unwrap();
    let (rounds, _) = rounds.split_once("</table>").unwrap();
    assert!(folded > 1000 && rounds.matches("<div>Tie, ").count() > 30);
    let mut withdrawn = "9 1\n-1 -2 -3 -4 -5 -6 -7\n2 8 0\n1 9 0\n0\n".to_owned();
    (1..=9).for_each(|candidate| write!(withdrawn, "\"N{candidate}\" ").expect("memory takes all"));
    let withdrawn = page(&record(&(withdrawn + "\"T\"")));
    assert_well_formed(&withdrawn);
    assert!(withdrawn.contains("Withdrawn: <details><summary>7 candidates</summary>"), "{withdrawn}");
    assert!(withdrawn.contains("<bdi>N7</bdi></th><td></td><td></td><td class=\"what\">Withdrawn<"));
}

/// The page has labels for its pictures.
#[test]
fn pictures_say_in_words_who_won_by_what_and_when() {
    let page = page(&record(PARTIES));
    let pictures = between(&page, "<svg ", ">");
    let (hidden, pictures) = pictures.split_first().unwrap();
    assert!(hidden.contains("aria-hidden=\"true\""), "the hatching");
    assert_eq!(pictures.len(), 4, "two pictures, each wide and narrow");
    for (place, picture) in pictures.iter().enumerate() {
        let label = between(picture, "role=\"img\" aria-label=\"", "\"")[0];
        let wanted: &[&str] = if place < 2 {
            &[
                "Votes of every candidate by round. 2 of 4 candidates elected in ",
                "Ada (Green) in round 1 with 10 votes; Cleo (Green) ",
                "The quota was just above 7",
                "Closest to a seat without one: Bert (Old &amp; New), at last with ",
            ]
        } else {
            &[
                "Flow of votes. Rounds 2 to ",
                "by the surplus of Ada (Green): 3 votes, 3 of them to Bert (Old &amp; New)",
                "by the defeat of Dora: 2 votes, 2 of them to Cleo (Green)",
            ]
        };
        for wanted in wanted {
            assert!(label.contains(wanted), "{wanted}: {label}");
        }
        if place == 0 {
            assert_eq!(page.matches(label.split_once(". ").unwrap().1).count(), 3, "and below the picture");
        }
    }
}

#[test]
fn long_names_are_wrapped_and_whole_in_tips() {
    let name = "Maria-Magdalena Gräfin Hohenstaufen-Schwarzenberg";
    let page = page(&record(&PARTIES.replace("Cleo", name)));
    assert_well_formed(&page);
    assert!(page.matches(&format!("<title>{name} (Green)</title>")).count() >= 4, "in all pictures");
    let (_, pictures) = page.split_once("<h2>Votes by round</h2>").unwrap();
    let (pictures, _) = pictures.split_once("<h2>All candidates</h2>").unwrap();
    for (place, picture) in pictures.split("</svg>").filter(|part| part.contains("<svg")).enumerate() {
        let group = between(picture, &format!("<title>{name} (Green)</title>"), "</g>")
            .into_iter()
            .find(|group| group.starts_with("<text class=\"end"))
            .expect("a label");
        let lines: Vec<_> = between(group, "<text", "</text>")
            .iter()
            .map(|line| line.split_once('>').unwrap().1.to_owned())
            .collect();
        let words = lines.concat().replace(' ', "");
        let wide = place % 2 == 0;
        let most = if wide { 30 } else { 17 };
        assert!(lines.iter().all(|line| line.chars().count() <= most), "{lines:?}");
        assert!(words.starts_with("Maria-MagdalenaGräfinHohenstaufen-Schwarzenberg"), "{lines:?}");
    }
}

/// Three difficult names. One name changes the direction of its neighbours and breaks its line, one
/// name runs from right to left, and one name has many marks on one letter.
#[test]
fn names_of_strangers_stay_in_their_place() {
    let hostile = "3 1\n4 1 2 0\n3 2 0\n2 3 2 0\n0\n\"Eve\u{202e}\u{2066}\u{200f}99\u{2028}x\" \"\"\n\"שרה לוי\" \"\u{2069}ליכוד\"\n\"Z\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\" \"\"\n\"\u{2067}T\"\n";
    let page = page(&record(hostile));
    assert_well_formed(&page);
    assert!(page.contains("<h1><bdi>\u{fffd}T</bdi></h1>"));
    assert!(page.contains("<bdi>Eve\u{fffd}\u{fffd}\u{fffd}99\u{fffd}x</bdi>"));
    assert!(page.contains("<bdi>שרה לוי</bdi> <span class=\"party\"><bdi>\u{fffd}ליכוד</bdi></span>"));
    assert!(page.contains("\u{2068}שרה לוי\u{2069} (\u{2068}\u{fffd}ליכוד\u{2069})"), "tips");
    assert!(page.contains("<bdi>Z\u{301}\u{301}\u{301}\u{301}</bdi>"), "marks that would lie on other lines");
    let mut depth = 0;
    for character in page.chars() {
        match character {
            '\u{2068}' => depth += 1,
            '\u{2069}' => depth -= 1,
            '<' => assert_eq!(depth, 0, "isolated text ends where it began"),
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}' | '\u{2067}' => {
                panic!("U+{:04X}", u32::from(character))
            }
            _ => {}
        }
        assert!((0..=1).contains(&depth));
    }
    // Outside of tips and labels, every name is in an element of its own.
    let parts: Vec<_> = page.split("שרה").collect();
    assert!(parts.len() > 10);
    for before in &parts[..parts.len() - 1] {
        assert!(["<bdi>", "\u{2068}", "\">", "✕ "].iter().any(|begin| before.ends_with(begin)), "{before}");
    }
}

#[test]
fn a_wide_election_has_a_small_page_that_can_be_read() {
    let page = page(&record(&wide()));
    assert_well_formed(&page);
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    // In the flow, candidates with few votes share a lane, and the last panel is open. In the bars,
    // a piece too narrow to see is joined with the next one.
    let (bars, flow) = page.split_once("<h2>Flow of votes</h2>").unwrap();
    assert!(bars.contains(" gained by rounds "));
    let (flow, tables) = flow.split_once("<h2>All candidates</h2>").unwrap();
    let panels = between(flow, "<svg class=", "</svg>");
    for panel in &panels {
        let most = if panel.starts_with("\"wide\"") { 24 } else { 16 };
        // Two lanes are not counted in `most`: the shared lane of other candidates, and the lane of
        // the exhausted votes.
        assert!(panel.matches("<path class=\"s\"").count() <= most + 2);
    }
    assert!(panels[0].contains("<title>56 others</title>"), "{}", panels[0]);
    let folded = between(flow, "<details class=", "</details>");
    assert_eq!(folded.len(), panels.len() - 2, "one is open on wide screens, and one on narrow ones");
    assert_eq!(tables.matches("<details>").count() + 1, tables.matches("<table class=\"votes\"").count());
}
