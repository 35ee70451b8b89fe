//! Block voting, for comparison. The first candidates of a ballot, up to a limit, get a vote each.
//! The candidates with most votes win. The count is one pass over the ballots and takes less time
//! than reading the file, so it uses no threads.

use crate::{
    arithmetic::{Arithmetic, Fault},
    error::CountError,
};
use std::{cmp::Ordering, io::Write};
use stv_ballots::{CandidateIndex, Election, Integer, TieOrder, called, printable};

/// Counts the election and writes its transcript. `package` is the transcript's line about the
/// program.
pub fn count<A: Arithmetic>(
    election: &Election,
    votes_per_ballot: usize,
    package: &str,
    out: &mut dyn Write,
) -> Result<(), CountError> {
    // Checks that the numbers can hold the total, before anything is written.
    A::one().times_whole(election.ballots.total())?;
    let votes = votes::<A>(election, votes_per_ballot)?;
    let ranking = ranking(election, &votes);
    let (elected, defeated) = ranking.split_at(election.seats.min(ranking.len()));
    let names = called(&election.candidates);
    if let (Some(&last), Some(&next)) = (elected.last(), defeated.first())
        && votes[last] == votes[next]
    {
        let by = match election.tie_order {
            TieOrder::File => "the order of the file’s [tie …]",
            TieOrder::BallotPaper | TieOrder::Random(_) => "ballot-paper order",
        };
        log::warn!(
            "the last seat is tied: {} and {} have as many votes; decided by {by}",
            names[last],
            names[next]
        );
    }
    writeln!(out, "\nElection: {}\n", printable(&election.title))?;
    writeln!(out, "\t{package}")?;
    writeln!(out, "\tRule: Simulated Plurality Block Voting")?;
    writeln!(out, "\tArithmetic: {}", A::DESCRIPTION)?;
    writeln!(out, "\tSeats: {}", election.seats)?;
    writeln!(out, "\tBallots: {}", election.ballots.total())?;
    writeln!(out, "\tVotes per ballot: {votes_per_ballot}\n")?;
    writeln!(out, "Action: Count Complete")?;
    for &candidate in elected {
        writeln!(out, "Action: Elect: {}", names[candidate])?;
    }
    for &candidate in defeated.iter().rev() {
        writeln!(out, "Action: Defeat: {}", names[candidate])?;
    }
    writeln!(out, "Action: Count Complete")?;
    for &candidate in elected {
        writeln!(out, "\tElected:  {} ({})", names[candidate], votes[candidate])?;
    }
    for &candidate in defeated {
        writeln!(out, "\tDefeated: {} ({})", names[candidate], votes[candidate])?;
    }
    Ok(out.flush()?)
}

fn votes<A: Arithmetic>(election: &Election, votes_per_ballot: usize) -> Result<Vec<A>, Fault> {
    let mut votes = vec![A::zero(); election.candidates.len()];
    for (weight, mut preferences) in election.ballots.iter() {
        let mut left = votes_per_ballot;
        while left > 0 && !preferences.is_empty() {
            let (rank, below) = preferences.first_rank();
            let equals = rank.clone().count();
            // If a rank has more candidates than the ballot has votes left, its candidates share
            // these votes.
            let each = if equals <= left { A::one() } else { part(left, equals)? };
            let more = each.times_whole(&weight)?;
            for preference in rank {
                let votes = &mut votes[preference.candidate()];
                *votes = votes.plus(&more)?;
            }
            left = left.saturating_sub(equals);
            preferences = below;
        }
    }
    Ok(votes)
}

fn part<A: Arithmetic>(votes: usize, equals: usize) -> Result<A, Fault> {
    A::one().times_whole(&Integer::from(votes as u64))?.over_whole(&Integer::from(equals as u64))
}

/// The candidates who stand, most votes first. Equal votes are in tie-break order.
fn ranking<A: Arithmetic>(election: &Election, votes: &[A]) -> Vec<CandidateIndex> {
    let standing = |&candidate: &CandidateIndex| !election.candidates[candidate].withdrawn;
    let mut ranking: Vec<_> = (0..election.candidates.len()).filter(standing).collect();
    ranking.sort_by(|&a, &b| {
        let by_votes = votes[b].partial_cmp(&votes[a]).unwrap_or(Ordering::Equal);
        by_votes.then_with(|| election.tie_break[a].cmp(&election.tie_break[b]))
    });
    ranking
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{Exact, Fixed9};

    fn counted<A: Arithmetic>(ballots: &str, votes_per_ballot: usize) -> String {
        let names = "0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"T\"";
        let election = stv_ballots::parse("test", format!("{ballots}\n{names}").as_bytes()).unwrap();
        let mut out = Vec::new();
        count::<A>(&election, votes_per_ballot, "Package", &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_first_of_a_ballot_get_a_vote_each() {
        let wanted = "
Election: T

\tPackage
\tRule: Simulated Plurality Block Voting
\tArithmetic: fixed-point decimal arithmetic (9 places)
\tSeats: 1
\tBallots: 6
\tVotes per ballot: 2

Action: Count Complete
Action: Elect: Bert
Action: Defeat: Dora
Action: Defeat: Ada
Action: Count Complete
\tElected:  Bert (6.000000000)
\tDefeated: Ada (4.000000000)
\tDefeated: Dora (1.000000000)
";
        assert_eq!(counted::<Fixed9>("4 1\n-3\n4 1 2 4 0\n1 2 3 4 0\n1 2 0", 2), wanted);
    }

    #[test]
    fn a_rank_that_is_too_large_shares_the_votes_left() {
        let shared = counted::<Fixed9>("4 1\n2 1 2=3=4 0", 3);
        assert!(
            shared.contains("\tElected:  Ada (2.000000000)\n\tDefeated: Bert (1.333333332)\n"),
            "{shared}"
        );
        let exact = counted::<Exact>("4 1\n2 1 2=3=4 0", 3);
        assert!(exact.contains("\tDefeated: Bert (4/3)\n"), "{exact}");
        let pair = counted::<Fixed9>("4 1\n2 1=2 3 4 0", 3);
        assert!(pair.contains("Cleo (2.000000000)\n\tDefeated: Dora (0.000000000)\n"), "{pair}");
        let enough = counted::<Fixed9>("4 1\n2 1 2=3=4 0", 4);
        assert!(enough.contains("\tDefeated: Dora (2.000000000)\n"), "{enough}");
    }

    #[test]
    fn ties_go_by_the_tie_break_order() {
        let tied = "4 2\n[tie 4 3 2 1]\n1 1 0\n1 2 0\n1 3 0";
        let actions = |votes| counted::<Fixed9>(tied, votes).replace("Action: ", "");
        assert!(
            actions(1).contains("Elect: Cleo\nElect: Bert\nDefeat: Dora\nDefeat: Ada\n"),
            "{}",
            actions(1)
        );
    }
}
