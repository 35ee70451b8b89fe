//! Small elections that were counted by hand. They test each clause of the method and each error.

use super::*;
use crate::{
    arithmetic::{Approx, BigFixed9, Exact, Fixed9, Float64},
    transcript::Transcript,
};

const RULE: Rule = Rule { omega_exponent: 6, force_positive_surplus: false, backwards: false };

/// Returns the transcript. If the count fails, returns the transcript up to the error, and the
/// error.
fn count_as<A: Arithmetic>(ballots: &str, rule: Rule) -> Result<String, (String, String)> {
    let election = stv_ballots::parse("test", ballots.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut distribute = |keep: &[KeepFactor<A>]| {
        let none = Votes::none(keep.len());
        election
            .ballots
            .all()
            .iter()
            .try_fold(none, |votes, &ballot| votes.with(ballot, &election.ballots, keep))
    };
    let mut out = Vec::new();
    let counted =
        count(&election, rule, &mut distribute, &mut Transcript::new(&mut out, "Package".to_owned()));
    let out = String::from_utf8(out).unwrap();
    counted.map_or_else(|error| Err((error.to_string(), out.clone())), |()| Ok(out.clone()))
}

fn counted(ballots: &str, rule: Rule) -> Result<String, (String, String)> {
    let transcript = count_as::<Fixed9>(ballots, rule);
    assert_eq!(transcript, count_as::<BigFixed9>(ballots, rule), "the two fixed kinds agree");
    transcript
}

fn actions(transcript: &str) -> Vec<&str> {
    transcript.lines().filter_map(|line| line.strip_prefix("Action: ")).collect()
}

#[test]
fn a_count_from_begin_to_end() {
    let ballots = "3 1\n-3\n2 1 2 0\n1 2 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"One seat\"\n";
    let wanted = "
Election: One seat

\tPackage
\tRule: Meek Parametric (omega = 1/10^6)
\tArithmetic: fixed-point decimal arithmetic (9 places)
\tSeats: 1
\tBallots: 3
\tQuota: 1.500000001
\tOmega: 0.000001000

\tAdd eligible: Ada
\tAdd eligible: Bert
\tAdd withdrawn: Cleo
Action: Begin Count
\tHopeful:  Ada (2.000000000)
\tHopeful:  Bert (1.000000000)
\tQuota: 1.500000001
\tVotes: 3.000000000
\tResidual: 0.000000000
\tTotal: 3.000000000
\tSurplus: 0.000000000
Round 1:
Action: Elect: Ada
\tElected:  Ada (2.000000000)
\tHopeful:  Bert (1.000000000)
\tQuota: 1.500000001
\tVotes: 3.000000000
\tResidual: 0.000000000
\tTotal: 3.000000000
\tSurplus: 0.000000000
Action: Iterate (elected)
\tQuota: 1.500000001
\tVotes: 3.000000000
\tResidual: 0.000000000
\tTotal: 3.000000000
\tSurplus: 0.499999999
Action: Defeat remaining: Bert
\tElected:  Ada (2.000000000)
\tDefeated: Bert (1.000000000)
\tQuota: 1.500000001
\tVotes: 3.000000000
\tResidual: 0.000000000
\tTotal: 3.000000000
\tSurplus: 0.499999999
Action: Count Complete
\tElected:  Ada (2.000000000)
\tDefeated: Bert (0.000000000)
\tQuota: 1.500000001
\tVotes: 2.000000000
\tResidual: 1.000000000
\tTotal: 3.000000000
\tSurplus: 0.499999999

";
    assert_eq!(counted(ballots, RULE).unwrap(), wanted);
}

#[test]
fn nothing_counts_as_exhausted_at_the_start() {
    let transcript = counted("3 1\n2 1=2=3 0\n0\n\"A\" \"B\" \"C\" \"T\"", RULE).unwrap();
    let (begin, first_round) = transcript.split_once("Round 1:").unwrap();
    assert!(begin.contains("\tVotes: 1.999999998\n\tResidual: 0.000000000\n\tTotal: 1.999999998\n"));
    assert!(first_round.contains("\tVotes: 1.999999998\n\tResidual: 0.000000002\n\tTotal: 2.000000000\n"));
}

/// Ada has four votes more than she needs. These four votes decide the second seat.
#[test]
fn a_surplus_is_passed_on() {
    let ballots = "3 2\n10 1 2 0\n4 2 0\n5 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"";
    let transcript = counted(ballots, RULE).unwrap();
    assert_eq!(
        actions(&transcript)[..5],
        ["Begin Count", "Elect: Ada", "Iterate (elected)", "Elect: Bert", "Iterate (elected)"]
    );
    assert!(transcript.contains("\tElected:  Bert (7.666666660)\n"), "{transcript}");
}

#[test]
fn the_tie_break_order_decides_who_is_defeated() {
    let ballots = |tie| format!("3 1\n{tie}\n1 1 0\n1 2 0\n1 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"");
    let transcript = counted(&ballots("[tie 3 1 2]"), RULE).unwrap();
    assert!(
        transcript.contains("Action: Break tie (defeat): [Ada, Bert, Cleo] -> Cleo\n\tQuota"),
        "{transcript}"
    );
    assert!(transcript.contains("Action: Break tie (defeat): [Ada, Bert] -> Ada\n\tQuota"), "{transcript}");
    assert!(transcript.contains("\tDefeated: Ada, Cleo (0.000000000)\n"), "{transcript}");
    assert!(
        counted(&ballots(""), RULE).unwrap().contains("[Ada, Bert, Cleo] -> Ada\n"),
        "candidate order if no other is given"
    );
}

#[test]
fn hopefuls_as_many_as_seats_need_no_round() {
    let transcript = counted("2 2\n1 1 0\n0\n\"Ada\" \"Bert\" \"T\"", RULE).unwrap();
    assert_eq!(
        actions(&transcript),
        ["Begin Count", "Elect remaining: Ada", "Elect remaining: Bert", "Count Complete"]
    );
    assert!(!transcript.contains("Round"));
}

#[test]
fn a_surplus_that_stays_is_stable() {
    let transcript = counted("3 2\n1 2 0\n3 2 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"", RULE).unwrap();
    assert!(transcript.contains("\tStable state detected (0.000050826)\n"), "{transcript}");
    assert!(transcript.contains("Action: Iterate (stable)\n"), "{transcript}");
    assert!(transcript.contains("Action: Defeat (stable surplus 0.000050826): Ada\n"), "{transcript}");
}

#[test]
fn a_large_omega_ends_the_iteration_early() {
    let ballots = "4 2\n10 1 2 0\n3 2 0\n5 3 0\n4 4 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"T\"";
    let rule = Rule { omega_exponent: 0, ..RULE };
    let transcript = counted(ballots, rule).unwrap();
    assert!(transcript.contains("\tRule: Meek Parametric (omega = 1/10^0)\n"), "{transcript}");
    assert!(transcript.contains("\tOmega: 1.000000000\n"), "{transcript}");
    assert!(counted(ballots, RULE).unwrap().lines().count() >= transcript.lines().count());
    assert_ne!(counted(ballots, RULE).unwrap(), transcript);
}

/// Ada has one billionth less than the quota, by rounding. Bert and Cleo have the same votes, so a
/// surplus of zero decides as this one.
#[test]
fn a_negative_surplus_of_rounding_counts_as_zero() {
    let ballots = "3 2\n2 1=3 2 0\n2 1=2 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"";
    let transcript = counted(ballots, RULE).unwrap();
    let wanted = [
        "Begin Count",
        "Elect: Ada",
        "Iterate (elected)",
        "Iterate (omega)",
        "Break tie (defeat): [Bert, Cleo] -> Bert",
        "Defeat (surplus -0.000000001 < omega): Bert",
        "Elect remaining: Cleo",
        "Count Complete",
    ];
    assert_eq!(actions(&transcript), wanted);
    let forced = counted(ballots, Rule { force_positive_surplus: true, ..RULE }).unwrap();
    assert_eq!(winners(&forced), winners(&transcript));
}

#[test]
fn more_electable_than_seats_is_an_error() {
    let ballots = "4 2\n2 3=4 2 1 0\n3 4=1=2 3 0\n3 3=1=2 4 0\n0\n\"A\" \"B\" \"C\" \"D\" \"T\"";
    let (error, _) = counted(ballots, RULE).unwrap_err();
    assert!(error.contains("round 3: 2 candidates reach the quota, but only 1 seat(s)"), "{error}");
    assert!(error.contains("--arithmetic approx"), "{error}");
    assert_eq!(winners(&count_as::<Approx>(ballots, RULE).unwrap()), 2, "as the error says");
}

fn winners(transcript: &str) -> usize {
    actions(transcript).iter().filter(|action| action.starts_with("Elect")).count()
}

#[test]
fn who_has_just_the_quota_is_elected_by_decimals_only() {
    // With two seats and six ballots, the quota is 2, or 2 plus the smallest step.
    let ballots = "3 2\n2 1 0\n2 2 0\n2 3 0\n0\n\"A\" \"B\" \"C\" \"T\"";
    let exact = count_as::<Exact>(ballots, RULE).unwrap();
    assert!(exact.contains("\tQuota: 2\n\tOmega: 1/1000000\n"), "{exact}");
    assert_eq!(
        actions(&exact)[1..4],
        ["Iterate (omega)", "Break tie (defeat): [A, B, C] -> A", "Defeat (surplus 0 < omega): A"]
    );
    let double = count_as::<Float64>(ballots, RULE).unwrap();
    assert!(double.contains("\tQuota: 2\n\tOmega: 0.000001\n"), "{double}");
    assert_eq!(actions(&double), actions(&exact));
    assert!(counted(ballots, RULE).unwrap().contains("\tQuota: 2.000000001\n"));
}

/// One iteration, computed by hand. Ada has 7 of 10 votes, and the quota is 10/3. So Ada's keep
/// factor becomes 10/21, which `approx` rounds up to 0.476191.
#[test]
fn keep_factors_of_fractions() {
    let ballots = "3 2\n7 1 2 0\n3 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"";
    let exact = count_as::<Exact>(ballots, RULE).unwrap();
    assert!(exact.contains("\tElected:  Ada (10/3)\n\tElected:  Bert (11/3)\n"), "{exact}");
    let approx = count_as::<Approx>(ballots, RULE).unwrap();
    assert!(
        approx.contains("\tElected:  Ada (3333337/1000000)\n\tElected:  Bert (3666663/1000000)\n"),
        "{approx}"
    );
}

#[test]
fn fixed9_ends_where_bigfixed9_goes_on() {
    let ballots = "2 1\n9223372037 1 0\n1 2 0\n0\n\"Ada\" \"Bert\" \"T\"";
    let (error, written) = count_as::<Fixed9>(ballots, RULE).unwrap_err();
    assert!(error.contains("--arithmetic bigfixed9"), "{error}");
    assert_eq!(written, "", "no transcript of a count that has not begun");
    assert!(count_as::<BigFixed9>(ballots, RULE).unwrap().contains("\tBallots: 9223372038\n"));
}

#[test]
fn totals_beyond_64_bits_are_counted() {
    let ballots = "2 1\n18446744073709551616 1 0\n18446744073709551618 2 0\n1 1 0\n0\n\"Ada\" \"Bert\" \"T\"";
    for (transcript, quota, votes) in [
        (
            count_as::<BigFixed9>(ballots, RULE),
            "18446744073709551617.500000001",
            "18446744073709551618.000000000",
        ),
        (count_as::<Exact>(ballots, RULE), "36893488147419103235/2", "18446744073709551618"),
        (count_as::<Approx>(ballots, RULE), "36893488147419103235/2", "18446744073709551618"),
        (count_as::<Float64>(ballots, RULE), "18446744073709552000", "18446744073709552000"),
    ] {
        let transcript = transcript.unwrap();
        let header = format!("\tBallots: 36893488147419103235\n\tQuota: {quota}\n");
        assert!(transcript.contains(&header), "{transcript}");
        assert!(transcript.contains(&format!("\tElected:  Bert ({votes})\n")), "{transcript}");
    }
    let beyond_doubles = ballots.replace("18446744073709551616 1", &format!("{} 1", "9".repeat(310)));
    let (error, _) = count_as::<Float64>(&beyond_doubles, RULE).unwrap_err();
    assert!(error.contains("--arithmetic bigfixed9"), "{error}");
}

#[test]
fn a_transcript_that_cannot_be_written_ends_the_count() {
    let election = stv_ballots::parse("test", b"1 1\n1 1 0\n0\n\"Ada\" \"T\"").unwrap();
    let mut distribute = |_: &[KeepFactor<Fixed9>]| Ok(Votes { of: vec![Fixed9::one()], ..Votes::none(1) });
    let mut no_room: &mut [u8] = &mut [0; 20];
    let error = count(&election, RULE, &mut distribute, &mut Transcript::new(&mut no_room, String::new()))
        .unwrap_err();
    assert!(matches!(error, CountError::Transcript(_)), "{error}");
}

#[test]
fn a_distribution_that_loses_a_vote_ends_the_count() {
    let election = stv_ballots::parse("test", b"2 1\n2 1 0\n1 2 0\n0\n\"Ada\" \"Bert\" \"T\"").unwrap();
    let mut distributions = 0;
    let mut distribute = |_: &[KeepFactor<Fixed9>]| {
        distributions += 1;
        let lost = if distributions == 2 { Fixed9::epsilon() } else { Fixed9::zero() };
        let two = Fixed9::one().plus(&Fixed9::one())?;
        Ok(Votes { of: vec![two.minus(&lost)?, Fixed9::one()], exhausted: Fixed9::zero() })
    };
    let mut out = Vec::new();
    let error = count(&election, RULE, &mut distribute, &mut Transcript::new(&mut out, String::new()))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("round 1: votes and residual are 2.999999999, but there are 3.000000000"),
        "{error}"
    );
}

/// Goes back round by round, to a round in which the tied candidates have different votes.
#[test]
fn backwards_decides_by_the_votes_of_earlier_rounds() {
    // After Dora's vote goes to Cleo, the three other candidates have three votes each. Before
    // that, Cleo had two votes.
    let ballots =
        "4 1\n[tie 1 2 3 4]\n3 1 0\n3 2 0\n2 3 0\n1 4 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"T\"";
    let by_order = counted(ballots, RULE).unwrap();
    assert!(by_order.contains("Break tie (defeat): [Ada, Bert, Cleo] -> Ada\n"), "{by_order}");
    let rule = Rule { backwards: true, ..RULE };
    let backwards = counted(ballots, rule).unwrap();
    assert!(backwards.contains("Break tie (defeat): [Ada, Bert, Cleo] -> Cleo\n"), "{backwards}");
    let election = stv_ballots::parse("test", ballots.as_bytes()).unwrap();
    let mut distribute = |keep: &[KeepFactor<Fixed9>]| {
        let mut records = election.ballots.all().iter();
        records
            .try_fold(Votes::none(keep.len()), |votes, &ballot| votes.with(ballot, &election.ballots, keep))
    };
    let mut out = Vec::new();
    let mut transcript = Transcript::new(&mut out, "Package".to_owned()).explaining_ties(true);
    count(&election, rule, &mut distribute, &mut transcript).unwrap();
    let explained = String::from_utf8(out).unwrap();
    let decided: Vec<_> = explained.lines().filter(|line| line.starts_with("\tDecided by: ")).collect();
    assert_eq!(
        decided,
        ["\tDecided by: fewer votes in round 1", "\tDecided by: the order of the file’s [tie …]"],
        "Ada and Bert have always had the same"
    );
    let without = explained.lines().filter(|line| !line.starts_with("\tDecided by: ")).collect::<Vec<_>>();
    assert_eq!(without, backwards.lines().collect::<Vec<_>>(), "nothing else is another");
}
