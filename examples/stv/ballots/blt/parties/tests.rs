//! The candidates' lines in files of returning officers, and their readings.

use super::{
    super::tests::{self, fails},
    *,
};
use crate::{
    formats::{parse, survey},
    reading::Reading,
};

fn file(names: &str) -> String {
    let candidates = names.lines().count() - 1;
    format!("{candidates} 1\n3 1 0\n0\n{names}\n")
}

fn read(names: &str, order: Option<Order>) -> Result<Vec<String>, String> {
    let reading = Reading { names: order, ..Reading::default() };
    let read = survey("test", &mut file(names).as_bytes(), reading, 1);
    let (election, _) = read.map_err(|errors| errors[0].to_string())?;
    let people = election.candidates.iter().map(|candidate| match &candidate.party {
        Some(party) => format!("{} of {party}", candidate.name),
        None => candidate.name.clone(),
    });
    Ok(people.chain([election.title.clone()]).collect())
}

fn is_read(names: &str, wanted: &str) {
    assert_eq!(read(names, None).map(|people| people.join(", ")), Ok(wanted.to_owned()), "{names}");
}

/// A file of 2012: some strings end with a blank, and the title has no quotes.
#[test]
fn the_party_first() {
    let names = "\"Lab \"\"George ORR\"\" \"\n\"SNP \"\"Kirsty Ann REID\"\"\"\n\"Lab \"\"Les DUNN\"\" \"\nWard 5 - Hill ";
    is_read(names, "George ORR of Lab, Kirsty Ann REID of SNP, Les DUNN of Lab, Ward 5 - Hill");
    let lower = "\"Lab \"\"George Orr\"\"\"\n\"SNP \"\"Ann Reid\"\"\"\n\"Lab \"\"Les Dunn\"\"\"\nWard 5";
    is_read(lower, "George Orr of Lab, Ann Reid of SNP, Les Dunn of Lab, Ward 5");
    let capitals =
        "\"Lab \"\"George ORR\"\"\"\n\"SNP \"\"ANN O'REID\"\"\"\n\"The Greens \"\"Les McDUNN\"\"\"\nWard 5";
    is_read(capitals, "George ORR of Lab, ANN O'REID of SNP, Les McDUNN of The Greens, Ward 5");
}

/// A file of 2022.
#[test]
fn the_name_first() {
    let names = "\"Ann Orr \"\"Scottish Greens\"\"\"\n\"Ben Reid \"\"Independent\"\"\"\n\"Cy Dunn \"\"Independent\"\"\"\nWard 6";
    is_read(names, "Ann Orr of Scottish Greens, Ben Reid of Independent, Cy Dunn of Independent, Ward 6");
    let capitals =
        "\"Ann ORR \"\"Scottish National Party (SNP)\"\"\"\n\"Ben Ó RÉID \"\"Labour\"\"\"\n\"Ward 6\"";
    is_read(capitals, "Ann ORR of Scottish National Party (SNP), Ben Ó RÉID of Labour, Ward 6");
}

/// Ambiguous lines. Each error shows both readings and the option to choose one.
#[test]
fn what_is_not_clear_is_refused() {
    let unclear = [
        // No string occurs twice.
        "\"Red \"\"Ada Orr\"\"\"\n\"Blue \"\"Ben Reid\"\"\"\nT",
        // One of the first strings occurs twice, and so does one of the second strings.
        "\"Red \"\"Ada Orr\"\"\"\n\"Red \"\"Ben Reid\"\"\"\n\"Blue \"\"Ben Reid\"\"\"\nT",
        // Two candidates share a name and have different parties. The lines of these two look like
        // lines of two candidates of one party.
        "\"Red \"\"Ada Orr\"\"\"\n\"Blue \"\"Ada Orr\"\"\"\n\"Green \"\"Ben Reid\"\"\"\nT",
        "\"Red \"\"Ada ORR\"\"\"\n\"Blue \"\"Ada ORR\"\"\"\n\"Green \"\"Ben REID\"\"\"\nT",
        // The words show one order, but programs write these shapes in the opposite order.
        "Red \"Ada Party\"\nBlue \"Ada Party\"\nGreen \"Ben Party\"\nT",
        "Ada Orr \"Red\"\nBen Reid \"Blue\"\nT",
        "\"Red\" \"Ada Orr\"\n\"Red\" \"Ben Reid\"\n\"Blue\" \"Cy Dunn\"\n\"T\"",
        "\"Red\" \"Ada ORR\"\n\"Green\" \"Ben REID\"\n\"Blue\" \"Cy DUNN\"\n\"T\"",
        "\"\"\"Red\"\" \"\"Ada Orr\"\" \"\n\"\"\"Red\"\" \"\"Ben Reid\"\" \"\nT",
    ];
    for names in unclear {
        fails(&file(names), 4, "it is not clear who is who: either `");
        let (first, second) = (read(names, Some(Order::NameParty)), read(names, Some(Order::PartyName)));
        let [first, second] =
            [first, second].map(|people| people.expect("the user has said who is who")[0].clone());
        let (name, party) = first.split_once(" of ").expect("a party");
        assert_eq!(second, format!("{party} of {name}"));
        let said = format!(
            "either `{name}` is the name and `{party}` the party (then say --names name-party), or `{party}` is"
        );
        fails(&file(names), 4, &said);
    }
}

#[test]
fn a_bare_party_and_a_quoted_name() {
    let names = "Con \"Ian ORR\"\nSNP \"Kim \t LOW\"  \nThe Greens \"Cy DAY\"\nAbbey";
    is_read(names, "Ian ORR of Con, Kim \t LOW of SNP, Cy DAY of The Greens, Abbey");
    is_read("Con \"Ian\"\n\"Abbey\"", "Ian of Con, Abbey");
    is_read("Con \"Ian ORR\"\nKim LOW\nAbbey", "Con \"Ian ORR\", Kim LOW, Abbey");
    fails(
        &file("Con \"Ian\"\nSNP \"Kim Low\"\nThe Greens \"Kim Low\"\nAbbey"),
        4,
        "if all of it is a name, say --names whole",
    );
}

/// A spreadsheet has joined the two strings of each line, and quoted the title.
#[test]
fn two_strings_as_one() {
    let names = "\"\"\"Robin ORR\"\" \"\"Scottish Labour\"\" \"\n\"\"\"Kim O'LOW\"\" \"\"Alba\"\" \"\n\"\"\"Ward 5 - South\"\" \"";
    is_read(names, "Robin ORR of Scottish Labour, Kim O'LOW of Alba, Ward 5 - South");
    is_read(
        &names.replace("\"\"\"Ward 5 - South\"\" \"", "Ward 5"),
        "Robin ORR of Scottish Labour, Kim O'LOW of Alba, Ward 5",
    );
    let whole = read(names, Some(Order::Whole)).expect("names");
    assert_eq!(whole[1..], ["\"Kim O'LOW\" \"Alba\" ", "\"Ward 5 - South\" "]);
}

#[test]
fn two_strings_on_a_line() {
    let names = "\"Marie ORR\" \"Scottish National Party (SNP)\"\n\"Ben LOW\" \" \"\n\"Cy DAY\" \"Labour\"\n";
    for title in ["\"Ward 5\"", "Ward 5", "Ward 5 \"South\"  "] {
        let title_read = title.trim_end().trim_matches(|letter| letter == '"' && title.starts_with('"'));
        let wanted =
            format!("Marie ORR of Scottish National Party (SNP), Ben LOW, Cy DAY of Labour, {title_read}");
        is_read(&format!("{names}{title}"), &wanted);
    }
    fails(&format!("3 1\n3 1 0\n0\n{names}Ward 5\nCouncil"), 7, "not clear which are names");
    let two = "\"Ada\" \"Red\"\n\"Bert\" \"Blue\"\nT";
    fails(&file(two), 4, "could be name and party, or two names; put one string on a line, or say --names");
    assert_eq!(read(two, Some(Order::NameParty)).unwrap(), ["Ada of Red", "Bert of Blue", "T"]);
    assert_eq!(read(two, Some(Order::PartyName)).unwrap(), ["Red of Ada", "Blue of Bert", "T"]);
}

#[test]
fn nicknames_are_no_parties() {
    let names = "\"William \"\"Bill\"\" ORR\"\n\"Ada \"\"The \"\"A\"\"\"\" LOW\"\n\"Ann\"\nT";
    is_read(names, "William \"Bill\" ORR, Ada \"The \"A\"\" LOW, Ann, T");
    let some = "\"Ann LI \"\"Greens\"\"\"\n\"Ben DAY \"\"Labour\"\"\"\n\"Cy\"\nT";
    is_read(some, "Ann LI \"Greens\", Ben DAY \"Labour\", Cy, T");
    is_read("Bill \"B\" ORR (Red)\nAda LOW (Blue)\nT", "Bill \"B\" ORR (Red), Ada LOW (Blue), T");
    let last = "\"Bill ORR \"\"Billy\"\"\"\n\"Ada LOW \"\"Addie\"\"\"\nT";
    assert_eq!(read(last, Some(Order::Whole)).unwrap(), ["Bill ORR \"Billy\"", "Ada LOW \"Addie\"", "T"]);
}

/// If the user has given the order, a line with a nickname or without a party is no error.
#[test]
fn odd_lines_of_a_known_order() {
    let party_first =
        "\"Red \"\"Bill \"\"B\"\" ORR\"\"\"\n\"Blue \"\"Ada\"\"\"\n\"Cy\"\n\"Red \"\"Di\"\" \"\nT";
    let read_first = read(party_first, Some(Order::PartyName)).unwrap();
    assert_eq!(read_first, ["Bill \"B\" ORR of Red", "Ada of Blue", "Cy", "Di of Red", "T"]);
    let name_first = "\"Bill \"\"B\"\" ORR \"\"Red\"\"\"\n\"Cy\"\n\"William \"\"Bill\"\" ORR\"\nT";
    let read_first = read(name_first, Some(Order::NameParty)).unwrap();
    assert_eq!(read_first, ["Bill \"B\" ORR of Red", "Cy", "William \"Bill\" ORR", "T"]);
}

/// A file of Glasgow in 2007: only the title follows the comments that name the candidates.
#[test]
fn names_in_comments() {
    let ballots = "3 2\n3 1 0\n2 3 2 0\n0\n";
    let names = "# ALTERNATIVE NAME 1: Ann Orr (Lab)\n# ALTERNATIVE NAME 2: Ben  Low (SNP) \n# of the council\n# ALTERNATIVE NAME 3: Cy: Day\n";
    for title in ["Canal ward", "Canal ward\n", "Canal ward  \r\n\r\n", "\"Canal ward\"", "Canal ward\u{1a}"]
    {
        let election = parse("test", format!("{ballots}{names}{title}").as_bytes()).unwrap();
        let wanted = vec!["Ann Orr (Lab)", "Ben  Low (SNP)", "Cy: Day"];
        assert_eq!((tests::names(&election), election.seats), ((wanted, "Canal ward"), 2));
    }
    // Names outside of comments take precedence.
    let own = parse("test", format!("{ballots}{names}A\nB\nC\nT\n").as_bytes()).unwrap();
    assert_eq!(own.candidates[2].name, "C");
    fails(&format!("{ballots}{names}"), 8, "before the name of candidate 1");
    fails(&format!("{ballots}{names}\"Canal"), 9, "no closing quote");
}

/// Winners without names are called by number, and a message reports the lone title.
#[test]
fn a_title_and_no_names() {
    let text = "3 2\n3 1 0\n2 3 2 0\n0\nCanal ward";
    let election = parse("test", text.as_bytes()).unwrap();
    assert_eq!(election.title, "Canal ward");
    assert_eq!(crate::election::called(&election.candidates)[2], "Candidate 3");
    let some = text.replace("Canal", "# ALTERNATIVE NAME 2: Ann\n# ALTERNATIVE NAME 1: Ben\nCanal");
    assert_eq!(parse("test", some.as_bytes()).unwrap().candidates[1].name, "", "in another order");
    fails(&text.replace("Canal ward", "\"Canal ward\""), 5, "before the name of candidate 2");
    fails(&text.replace("3 2\n3", "1000 2\n3"), 5, "stands where the name of candidate 1 is expected");
    fails("1 1\n3 1 0\n0\nCanal ward", 4, "stands where the name of candidate 1 is expected");
}

/// The characters that DOS and disks leave at the end of a text.
#[test]
fn files_that_end_in_other_ways() {
    let ballots = "2 1\r\n3 1 0\r\n0\r\n";
    for names in
        ["\"Ann\"\r\n\"Ben\"\r\n\"T\"", "Ann\r\nBen\r\nT", "\"Ann\"\r\n\"Ben\"\r\nT", "\"Ann\" \"Ben\" \"T\""]
    {
        for end in [
            "",
            "\r\n",
            "\u{1a}",
            "\r\n\u{1a}",
            "\r\n\u{1a}\r\n",
            "\0\0\0",
            "\r\n\0\0\0\0",
            " \u{1a}\0\0\n\0",
        ] {
            let election = parse("test", format!("{ballots}{names}{end}").as_bytes());
            let election = election.unwrap_or_else(|error| panic!("{names:?} {end:?}: {error}"));
            let found = tests::names(&election);
            assert_eq!(found, (vec!["Ann", "Ben"], "T"), "{names:?} {end:?}");
        }
    }
    let inside = parse("test", format!("{ballots}\"A\u{1a}\"\n\"\0\"\n\"T\0x\"").as_bytes()).unwrap();
    assert_eq!((inside.candidates[0].name.as_str(), inside.title.as_str()), ("A\u{1a}", "T\0x"));
}

/// The printed file has one string per candidate, so none is read as two.
#[test]
fn what_looks_like_two_is_printed_as_one() {
    for name in [
        "Red \"Ann\"",
        "\"Red\" \"Ann\"",
        "Red \"Ann\" ",
        "\"A \"B\" c\" \"D\"",
        "Red \"Ann\"\" ",
        "“Red” \"Ann\" ",
    ] {
        let quoted = super::super::quotes::in_quotes(name);
        let text = format!("1 1\n1 1 0\n0\n{quoted}\n\"T\"\n");
        let election = parse("test", text.as_bytes()).unwrap_or_else(|error| panic!("{error} {quoted}"));
        let [candidate] = &election.candidates[..] else { panic!("one candidate") };
        assert_eq!((candidate.name.as_str(), &candidate.party), (name, &None), "{quoted}");
    }
}
