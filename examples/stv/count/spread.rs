//! The distribution of one ballot's weight over the candidates it ranks. The votes of a ballot
//! depend only on the ballot and on the keep factors, so a distribution is the sum over all
//! ballots.

use crate::arithmetic::{Arithmetic, Fault};
use stv_ballots::{Ballot, Ballots, EqualRanks, Integer, Preference, Preferences};

mod equalize;

pub(crate) use equalize::shares;

/// The share of every vote that a candidate keeps, and the share that it passes on.
#[derive(Debug, Clone)]
pub struct KeepFactor<A> {
    keep: A,
    pass: A,
}

impl<A: Arithmetic> KeepFactor<A> {
    /// A hopeful keeps everything.
    pub fn all() -> Self {
        Self { keep: A::one(), pass: A::zero() }
    }

    /// A defeated candidate passes everything on.
    pub(crate) fn none() -> Self {
        Self { keep: A::zero(), pass: A::one() }
    }

    /// A candidate who keeps this share.
    pub(crate) fn keeping(keep: A) -> Result<Self, Fault> {
        Ok(Self { pass: A::one().minus(&keep)?, keep })
    }

    /// The share that the candidate keeps.
    pub fn kept(&self) -> &A {
        &self.keep
    }

    /// The new factor of a candidate who has `votes` at the present factor. With the new factor,
    /// the same ballots would have given the candidate just the quota. The result is rounded up.
    pub(crate) fn lowered(&self, quota: &A, votes: &A) -> Result<Self, Fault> {
        let keep = self.keep.times_up(quota)?.over_up(votes)?;
        Self::keeping(keep)
    }
}

/// The votes of a distribution, over all ballots or some of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Votes<A> {
    pub of: Vec<A>,
    pub exhausted: A,
}

impl<A: Arithmetic> Votes<A> {
    pub fn none(candidates: usize) -> Self {
        Self { of: vec![A::zero(); candidates], exhausted: A::zero() }
    }

    /// Adds the votes of one more ballot.
    pub fn with(mut self, ballot: Ballot, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Result<Self, Fault> {
        let weight = &ballots.weight(ballot);
        let leftover = A::one().times_whole(weight)?;
        let mut spread = Spread { keep, weight, leftover, votes: &mut self.of };
        let preferences = ballots.preferences(ballot);
        match ballots.equal_ranks {
            _ if !ballots.has_equal_ranks(ballot) => spread.strictly(preferences)?,
            EqualRanks::AllOrders => spread.equalized(preferences)?,
            EqualRanks::AsDroop => spread.ranks(A::one(), preferences)?,
        }
        self.exhausted = self.exhausted.plus(&spread.leftover)?;
        Ok(self)
    }

    /// The sum of two parts of a distribution.
    pub fn plus(mut self, other: &Self) -> Result<Self, Fault> {
        for (votes, more) in self.of.iter_mut().zip(&other.of) {
            *votes = votes.plus(more)?;
        }
        self.exhausted = self.exhausted.plus(&other.exhausted)?;
        Ok(self)
    }
}

/// The spread of a ballot down its ranks. The *power* at a rank is the part of the ballot that
/// reaches this rank, at most one.
struct Spread<'a, A> {
    keep: &'a [KeepFactor<A>],
    weight: &'a Integer,
    leftover: A,
    votes: &'a mut [A],
}

impl<A: Arithmetic> Spread<'_, A> {
    fn give(&mut self, preference: Preference, used: &A) -> Result<(), Fault> {
        let amount = used.times_whole(self.weight)?;
        let votes = &mut self.votes[preference.candidate()];
        *votes = votes.plus(&amount)?;
        self.leftover = self.leftover.minus(&amount)?;
        Ok(())
    }

    /// Spreads a ballot without equals. Each candidate keeps a share of the power that the previous
    /// candidate passed on.
    fn strictly(&mut self, preferences: Preferences<'_>) -> Result<(), Fault> {
        let mut power = A::one();
        for preference in preferences {
            let KeepFactor { keep, pass } = &self.keep[preference.candidate()];
            if keep.is_zero() {
                continue;
            }
            self.give(preference, &power.times(keep)?)?;
            power = power.times(pass)?;
            if power.is_zero() {
                break;
            }
        }
        Ok(())
    }

    /// Spreads a ballot with a shared rank. The candidates of the rank get equal parts. Each
    /// candidate passes on a share of its part. The ranks below treat each passed-on share as a
    /// power of its own.
    ///
    /// If all candidates of a rank are defeated, the ranks below get nothing, even if the rank has
    /// a single candidate. That is unfair to ballots with a shared rank. It is the way of the
    /// reference counts, for comparisons with these.
    ///
    /// The number of steps grows exponentially with the number of shared ranks. The depth of the
    /// recursion does not grow with the ballot: each recursive call gets at most half of the power,
    /// and a power below the last decimal is zero.
    fn ranks(&mut self, mut power: A, mut preferences: Preferences<'_>) -> Result<(), Fault> {
        while !preferences.is_empty() {
            let (rank, below) = preferences.first_rank();
            let holds = |preference: &Preference| !self.keep[preference.candidate()].keep.is_zero();
            let holders = rank.clone().filter(holds).count() as u64;
            if holders == 0 {
                return Ok(());
            }
            let part = power.over_whole(&Integer::from(holders))?;
            // The outer loop continues with the share that the last candidate passes on. A
            // recursive call spreads the share of each other candidate.
            let mut rest = A::zero();
            for preference in rank {
                let KeepFactor { keep, pass } = &self.keep[preference.candidate()];
                if keep.is_zero() {
                    continue;
                }
                if !rest.is_zero() {
                    self.ranks(rest, below.clone())?;
                }
                self.give(preference, &part.times(keep)?)?;
                rest = part.times(pass)?;
            }
            if rest.is_zero() {
                return Ok(());
            }
            (power, preferences) = (rest, below);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::arithmetic::{BigFixed9, Fixed9};

    pub(super) fn factor<A: Arithmetic>(keep: u64, of: u64) -> KeepFactor<A> {
        let parts = |number| A::one().times_whole(&Integer::from(number)).unwrap();
        KeepFactor::keeping(parts(keep).over_whole(&Integer::from(of)).unwrap()).unwrap()
    }

    /// The votes of all candidates and the exhausted rest of one ballot. The candidates keep the
    /// parts `keep` of `of`.
    pub(super) fn spread_as<A: Arithmetic>(
        equal_ranks: EqualRanks,
        weight: u64,
        ranked: &[(usize, usize)],
        keep: &[u64],
        of: u64,
    ) -> Vec<String> {
        let mut ballots = Ballots::new();
        ballots.equal_ranks = equal_ranks;
        ballots.push(Integer::from(weight), ranked);
        let keep: Vec<KeepFactor<A>> = keep.iter().map(|&keep| factor(keep, of)).collect();
        let votes = Votes::none(keep.len()).with(ballots.all()[0], &ballots, &keep).unwrap();
        votes.of.iter().chain([&votes.exhausted]).map(ToString::to_string).collect()
    }

    /// The votes of three candidates and the exhausted rest, as in Droop. Keep factors are in
    /// billionths.
    fn spread(weight: u64, ranked: &[(usize, usize)], keep: [u64; 3]) -> Vec<String> {
        let votes = spread_as::<Fixed9>(EqualRanks::AsDroop, weight, ranked, &keep, ALL);
        let big = spread_as::<BigFixed9>(EqualRanks::AsDroop, weight, ranked, &keep, ALL);
        assert_eq!(votes, big, "the two fixed kinds agree");
        votes
    }

    const ALL: u64 = 1_000_000_000;
    const STRICT: [(usize, usize); 3] = [(0, 0), (1, 1), (2, 2)];

    #[test]
    fn ballots_are_spread_as_worked_out_by_hand() {
        let third = 333_333_333;
        let (equals, pair) = ([(0, 0), (1, 0), (2, 0)], [(0, 0), (1, 0), (2, 1)]);
        for (what, weight, ranked, keep, wanted) in [
            ("a hopeful ends a strict ballot", 7, STRICT, [ALL; 3], "7 0 0 0"),
            ("defeated and elected pass on", 4, STRICT, [0, ALL / 4, ALL], "0 1 3 0"),
            ("what nobody keeps is exhausted", 4, STRICT, [0, 0, ALL / 4], "0 0 1 3"),
            // The second candidate gets power 0.666666667. The candidate keeps 0.222222222 and
            // passes on 0.444444444. The sum of the truncated products is less than the power.
            (
                "products are truncated before they are weighed",
                3,
                STRICT,
                [third, third, ALL],
                "0.999999999 0.666666666 1.333333332 0.000000003",
            ),
            (
                "the last decimals of a division are exhausted",
                2,
                equals,
                [ALL; 3],
                "0.666666666 0.666666666 0.666666666 0.000000002",
            ),
            ("the rest of an equal goes below", 8, pair, [ALL / 4, ALL, ALL], "1 4 3 0"),
            ("so do the rests of two", 8, pair, [ALL / 4, ALL / 2, ALL], "1 2 5 0"),
            ("a defeated equal leaves its part to the others", 8, pair, [0, ALL, ALL], "0 8 0 0"),
            (
                "a rank of defeated blocks the ranks below",
                8,
                [(0, 0), (1, 1), (2, 1)],
                [0, ALL, ALL],
                "0 0 0 8",
            ),
            ("also a rank of two", 8, [(1, 0), (2, 0), (0, 1)], [ALL, 0, 0], "0 0 0 8"),
        ] {
            let votes = spread(weight, &ranked, keep).join(" ").replace(".000000000", "");
            assert_eq!(votes, wanted, "{what}");
        }
    }

    /// A ballot of many thousands of ranks, each of which passes on nearly everything. A rank with
    /// one candidate needs no recursion, so the stack stays shallow.
    #[test]
    fn a_long_ballot_needs_no_deep_stack() {
        let candidates = 200_000;
        let mut ballots = Ballots::new();
        ballots.equal_ranks = EqualRanks::AsDroop;
        let ranked: Vec<_> = (0..candidates).map(|place| (place, place.max(1))).collect();
        ballots.push(Integer::Word(1), &ranked);
        let mut keep = vec![factor::<Fixed9>(1, ALL); candidates];
        keep[0] = KeepFactor::none();
        let votes = Votes::none(candidates).with(ballots.all()[0], &ballots, &keep).unwrap();
        assert!(ballots.has_equal_ranks(ballots.all()[0]) && votes.exhausted < Fixed9::one());
    }

    #[test]
    fn keep_factors_are_rounded_up_twice() {
        let votes = |billionths: i64| Fixed9::epsilon().times_whole(&Integer::Word(billionths)).unwrap();
        let lowered = KeepFactor::all().lowered(&votes(1), &votes(3)).unwrap();
        assert_eq!((lowered.keep, lowered.pass), (votes(333_333_334), votes(666_666_666)));
        let again = lowered.lowered(&votes(1), &votes(1)).unwrap();
        assert_eq!(
            again.keep,
            votes(1_000_000_000),
            "the product of two tiny numbers is rounded up to the smallest"
        );
    }
}
