//! Ballots with equal ranks as `--equalize` spreads them: every order of the equals counts for an equal part of the ballot.
//!
//! Nobody goes through the orders. In a random order of n equals the ones before candidate i are any j of the others with the same
//! probability for every j below n, and then any j of them alike. So the part that reaches i is the mean, over all j, of
//! the mean product of j shares that are passed on: an elementary symmetric polynomial divided by its number of terms.

use super::{Spread, first_rank};
use crate::{
    arithmetic::{Arithmetic, Fault, Integer},
    election::Preference,
};

impl<A: Arithmetic> Spread<'_, A> {
    /// What each rank passes on goes to the next as a whole.
    pub(super) fn equalized(&mut self, mut preferences: &[Preference]) -> Result<(), Fault> {
        let mut power = A::one();
        while !preferences.is_empty() && !power.is_zero() {
            let (rank, below) = first_rank(preferences);
            power = if let &[only] = rank { self.single(&power, only)? } else { self.equals(&power, rank)? };
            preferences = below;
        }
        Ok(())
    }

    /// A rank of one candidate; the power that is passed on.
    fn single(&mut self, power: &A, preference: Preference) -> Result<A, Fault> {
        let factor = &self.keep[preference.candidate()];
        self.give(preference, &power.times(&factor.keep)?)?;
        power.times(&factor.pass)
    }

    /// A shared rank; the power that is passed on.
    fn equals(&mut self, power: &A, rank: &[Preference]) -> Result<A, Fault> {
        let factors = self.keep;
        let passing = || rank.iter().filter(|preference| !factors[preference.candidate()].pass.is_zero());
        // A hopeful passes nothing on, and so for all hopefuls the others that do are the same.
        let mut hopefuls_share = None;
        for &preference in rank {
            let factor = &factors[preference.candidate()];
            if factor.keep.is_zero() {
                continue;
            }
            let reaching = |others: &mut dyn Iterator<Item = &Preference>| {
                reaching(others.map(|other| &factors[other.candidate()].pass), rank.len())
            };
            let share =
                |reaching: A| reaching.times(&factor.keep)?.over_whole(&Integer::from(rank.len() as u64));
            if factor.pass.is_zero() {
                let share = match &mut hopefuls_share {
                    Some(share) => share,
                    none => none.insert(share(reaching(&mut passing())?)?),
                };
                let used = power.times(share)?;
                self.give(preference, &used)?;
            } else {
                let others = reaching(&mut passing().filter(|&&other| other != preference))?;
                let used = power.times(&share(others)?)?;
                self.give(preference, &used)?;
            }
        }
        let mut passed_on = A::one();
        for preference in rank {
            passed_on = passed_on.times(&factors[preference.candidate()].pass)?;
        }
        power.times(&passed_on)
    }
}

/// n times the part of the power that reaches one of n equals, when the others pass on these shares; the others that pass nothing on may be left out.
fn reaching<'a, A: Arithmetic + 'a>(others: impl Iterator<Item = &'a A>, equals: usize) -> Result<A, Fault> {
    let mut polynomials = vec![A::one()];
    for pass in others {
        polynomials.push(A::zero());
        for degree in (1..polynomials.len()).rev() {
            let more = polynomials[degree - 1].times(pass)?;
            polynomials[degree] = polynomials[degree].plus(&more)?;
        }
    }
    let mut sum = A::zero();
    // The number of terms of each polynomial in equals - 1 variables: a row of Pascal's triangle, each number from the one before.
    let mut terms = Integer::Word(1);
    for (degree, polynomial) in polynomials.iter().enumerate() {
        sum = sum.plus(&polynomial.over_whole(&terms)?)?;
        terms =
            terms.times(&Integer::from((equals - 1 - degree) as u64)).over(&Integer::from(degree as u64 + 1));
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::{Approx, BigFixed9, Exact, Fixed9},
        election::Ballots,
        spread::{KeepFactor, Votes},
    };
    use proptest::prelude::*;

    fn factor<A: Arithmetic>(keep: u64, of: u64) -> KeepFactor<A> {
        let parts = |number| A::one().times_whole(&Integer::from(number)).unwrap();
        let keep = parts(keep).over_whole(&Integer::from(of)).unwrap();
        KeepFactor { pass: A::one().minus(&keep).unwrap(), keep }
    }

    /// The votes of all candidates and the exhausted rest after one ballot whose candidates keep these parts of `of`.
    fn spread<A: Arithmetic>(weight: u64, ranked: &[(usize, usize)], keep: &[u64], of: u64) -> Vec<String> {
        let mut ballots = Ballots::new();
        ballots.equalize = true;
        ballots.push(Integer::from(weight), ranked);
        let keep: Vec<KeepFactor<A>> = keep.iter().map(|&keep| factor(keep, of)).collect();
        let votes = Votes::none(keep.len()).with(&ballots.records()[0], &ballots, &keep).unwrap();
        votes.of.iter().chain([&votes.exhausted]).map(ToString::to_string).collect()
    }

    const PAIR: [(usize, usize); 3] = [(0, 0), (1, 0), (2, 1)];
    const THREE: [(usize, usize); 4] = [(0, 0), (1, 0), (2, 0), (3, 1)];

    #[test]
    fn the_rest_of_an_equal_goes_to_its_equals() {
        // Half of the ballot comes to the hopeful first, of the other half what the elected one passes on.
        assert_eq!(spread::<Exact>(8, &PAIR, &[1, 4, 4], 4), ["1", "7", "0", "0"]);
        assert_eq!(spread::<Exact>(8, &PAIR, &[0, 4, 4], 4), ["0", "8", "0", "0"]);
        assert_eq!(spread::<Exact>(8, &PAIR, &[0, 0, 4], 4), ["0", "0", "8", "0"], "nothing is blocked");
        assert_eq!(spread::<Exact>(32, &PAIR, &[1, 2, 2], 4), ["6", "14", "6", "6"]);
        assert_eq!(spread::<Approx>(32, &PAIR, &[1, 2, 2], 4), ["6", "14", "6", "6"]);
    }

    #[test]
    fn every_step_is_truncated_in_its_order() {
        // Shares passed on: 2/3, 1/3 (0.333333334) and 2/3 (0.666666667) in billionths; the sums by hand:
        // for 0: 1 + (0.333333334 + 0.666666667)/2 + 0.222222222 = 1.722222222; kept 0.574074073, a third 0.191358024.
        // for 1: 1 + 1.333333334/2 + 0.444444444 = 2.111111111; kept 0.666666666 of it 1.407407405, a third 0.469135801.
        let third = 333_333_333;
        let votes = spread::<Fixed9>(10, &THREE, &[third, 2 * third, third, 1_000_000_000], 1_000_000_000);
        // Passed on: 0.666666667 * 0.333333334 = 0.222222222, * 0.666666667 = 0.148148148.
        assert_eq!(votes, ["1.913580240", "4.691358010", "1.913580240", "1.481481480", "0.000000030"]);
        assert_eq!(
            votes,
            spread::<BigFixed9>(10, &THREE, &[third, 2 * third, third, 1_000_000_000], 1_000_000_000)
        );
    }

    /// The middle product is formed in the order written, so the last decimal may depend on that order.
    #[test]
    fn the_order_written_can_matter_to_fixed_decimals() {
        let scale = 1_000_000_000;
        let keep = [scale - 7, scale - 500_000_000, scale - 3];
        let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1]].map(|order| {
            let ranked: Vec<_> = order.iter().map(|&candidate| (candidate, 0)).collect();
            (spread::<Fixed9>(1, &ranked, &keep, scale), spread::<Exact>(1, &ranked, &keep, scale))
        });
        assert!(orders.iter().all(|order| order.1 == orders[0].1), "never to fractions");
    }

    /// A group so large that Pascal's triangle leaves the machine word.
    #[test]
    fn a_hundred_equals() {
        let ranked: Vec<_> = (0..100).map(|candidate| (candidate, 0)).collect();
        let votes = spread::<Exact>(100, &ranked, &[1; 100], 2);
        assert!(votes[..100].iter().all(|votes| *votes == votes_of_one()), "{}", votes[0]);
        let close = spread::<BigFixed9>(100, &ranked, &[1; 100], 2);
        assert!(close[..100].iter().all(|votes| votes == "0.999999900"), "{}", close[0]);
    }

    /// All that is not passed on by a hundred who keep a half each is 1 - 2^-100, shared by all.
    fn votes_of_one() -> String {
        let all = Exact::one();
        let passed = (0..100).fold(all.clone(), |part, _| part.over_whole(&Integer::Word(2)).unwrap());
        all.minus(&passed).unwrap().to_string()
    }

    /// What the method means: the mean over all orders of the equals, each counted as a strict ballot.
    fn over_all_orders(keep: &[u64], of: u64) -> Vec<Exact> {
        fn orders(rest: &mut Vec<usize>, from: usize, seen: &mut Vec<Vec<usize>>) {
            if from == rest.len() {
                return seen.push(rest.clone());
            }
            for next in from..rest.len() {
                rest.swap(from, next);
                orders(rest, from + 1, seen);
                rest.swap(from, next);
            }
        }
        let mut all = Vec::new();
        orders(&mut (0..keep.len()).collect(), 0, &mut all);
        let factors: Vec<KeepFactor<Exact>> = keep.iter().map(|&keep| factor(keep, of)).collect();
        let mut votes = vec![Exact::zero(); keep.len()];
        for order in &all {
            let mut power = Exact::one();
            for &candidate in order {
                let used = power.times(&factors[candidate].keep).unwrap();
                votes[candidate] = votes[candidate].plus(&used).unwrap();
                power = power.times(&factors[candidate].pass).unwrap();
            }
        }
        let orders = Integer::from(all.len() as u64);
        votes.iter().map(|votes| votes.over_whole(&orders).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn fractions_are_the_mean_over_all_orders(keep in prop::collection::vec(0_u64..=6, 2..6)) {
            let ranked: Vec<_> = (0..keep.len()).map(|candidate| (candidate, 0)).collect();
            let votes = spread::<Exact>(1, &ranked, &keep, 6);
            let wanted: Vec<_> = over_all_orders(&keep, 6).iter().map(ToString::to_string).collect();
            prop_assert_eq!(&votes[..keep.len()], &wanted[..]);
        }
    }
}
