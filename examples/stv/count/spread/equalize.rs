//! The spread of ballots with equal ranks. Every order of the equals counts for an equal part of
//! the ballot.
//!
//! The code does not enumerate the orders. In a random order of n equals, j equals come before
//! candidate i. Every j below n is equally likely, and so is every choice of j from the other
//! equals. The part that reaches i after j equals is the mean, over these choices, of the product
//! of the j passed-on shares. This mean is an elementary symmetric polynomial divided by its number
//! of terms. The part that reaches i is the mean of these means over all j.

use super::{KeepFactor, Spread};
use crate::arithmetic::{Arithmetic, Fault};
use stv_ballots::{Integer, Preference, Preferences};

impl<A: Arithmetic> Spread<'_, A> {
    /// Spreads a ballot with equals. The part that a rank passes on goes to the next rank as a
    /// whole.
    pub(super) fn equalized(&mut self, mut preferences: Preferences<'_>) -> Result<(), Fault> {
        let mut power = A::one();
        let (mut equals, mut polynomials) = (Vec::new(), Vec::new());
        while !preferences.is_empty() && !power.is_zero() {
            let (rank, below) = preferences.first_rank();
            equals.clear();
            equals.extend(rank);
            power = match equals[..] {
                [only] => self.single(&power, only)?,
                _ => self.equals(&power, &equals, &mut polynomials)?,
            };
            preferences = below;
        }
        Ok(())
    }

    /// Spreads over a rank of one candidate. Returns the power that it passes on.
    fn single(&mut self, power: &A, preference: Preference) -> Result<A, Fault> {
        let factor = &self.keep[preference.candidate()];
        self.give(preference, &power.times(&factor.keep)?)?;
        power.times(&factor.pass)
    }

    /// Spreads over a shared rank. Returns the power that it passes on.
    fn equals(&mut self, power: &A, rank: &[Preference], polynomials: &mut Vec<A>) -> Result<A, Fault> {
        let passed_on = shares(rank, self.keep, polynomials, |place, share| {
            self.give(rank[place], &power.times(share)?)
        })?;
        power.times(&passed_on)
    }
}

/// Calls the function with the place and the share of each candidate of a rank who keeps anything.
/// Returns the share that all of them pass on.
pub(crate) fn shares<A: Arithmetic>(
    rank: &[Preference],
    factors: &[KeepFactor<A>],
    polynomials: &mut Vec<A>,
    mut tell: impl FnMut(usize, &A) -> Result<(), Fault>,
) -> Result<A, Fault> {
    let pass = |preference: &Preference| &factors[preference.candidate()].pass;
    let parts = Integer::from(rank.len() as u64);
    let mut passed_on = A::one();
    // A hopeful passes nothing on. So the equals that pass something on are the same for every
    // hopeful, and all hopefuls get the same share.
    let mut hopefuls = None;
    for (place, &preference) in rank.iter().enumerate() {
        let factor = &factors[preference.candidate()];
        passed_on = passed_on.times(&factor.pass)?;
        if factor.keep.is_zero() {
            continue;
        }
        let hopeful = factor.pass.is_zero();
        let share = match &hopefuls {
            Some(share) if hopeful => A::clone(share),
            _ => {
                let (before, after) = (&rank[..place], &rank[place + 1..]);
                let others = before.iter().chain(after).map(pass);
                let share =
                    reaching(others, rank.len(), polynomials)?.times(&factor.keep)?.over_whole(&parts)?;
                if hopeful {
                    hopefuls = Some(share.clone());
                }
                share
            }
        };
        tell(place, &share)?;
    }
    Ok(passed_on)
}

/// The part that reaches one of these equals, times the number of equals. `others` are the shares
/// that the other equals pass on. `polynomials` is scratch memory.
fn reaching<'a, A: Arithmetic + 'a>(
    others: impl Iterator<Item = &'a A>,
    equals: usize,
    polynomials: &mut Vec<A>,
) -> Result<A, Fault> {
    polynomials.clear();
    polynomials.push(A::one());
    for pass in others.filter(|pass| !pass.is_zero()) {
        polynomials.push(A::zero());
        for degree in (1..polynomials.len()).rev() {
            let more = polynomials[degree - 1].times(pass)?;
            polynomials[degree] = polynomials[degree].plus(&more)?;
        }
    }
    let mut sum = A::one();
    for (degree, polynomial) in polynomials.iter().enumerate().skip(1) {
        sum = sum.plus(&polynomial.over_whole(&binomial(equals - 1, degree))?)?;
    }
    Ok(sum)
}

/// The number of ways to choose `chosen` of n, which is the number of terms of a polynomial.
fn binomial(n: usize, chosen: usize) -> Integer {
    match PASCAL.get(n) {
        Some(row) => Integer::Word(row[chosen]),
        // For this many equals the number may not fit in a word.
        None => (1..=chosen).fold(Integer::Word(1), |ways, place| {
            let more = Integer::from((n + 1 - place) as u64);
            ways.times(&more).over(&Integer::from(place as u64))
        }),
    }
}

/// Pascal's triangle.
static PASCAL: [[i64; 32]; 32] = {
    let mut rows = [[0; 32]; 32];
    let mut row = 0;
    while row < rows.len() {
        rows[row][0] = 1;
        let mut place = 1;
        while place <= row {
            rows[row][place] = rows[row - 1][place - 1] + rows[row - 1][place];
            place += 1;
        }
        row += 1;
    }
    rows
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::{Approx, BigFixed9, Exact, Fixed9},
        spread::{
            KeepFactor,
            tests::{factor, spread_as},
        },
    };
    use proptest::prelude::*;
    use stv_ballots::EqualRanks;

    fn spread<A: Arithmetic>(weight: u64, ranked: &[(usize, usize)], keep: &[u64], of: u64) -> Vec<String> {
        spread_as::<A>(EqualRanks::AllOrders, weight, ranked, keep, of)
    }

    const PAIR: [(usize, usize); 3] = [(0, 0), (1, 0), (2, 1)];
    const THREE: [(usize, usize); 4] = [(0, 0), (1, 0), (2, 0), (3, 1)];

    #[test]
    fn the_rest_of_an_equal_goes_to_its_equals() {
        // The hopeful comes first in half of the orders, and gets that half. Of the other half, the
        // hopeful gets the part that the elected candidate passes on.
        assert_eq!(spread::<Exact>(8, &PAIR, &[1, 4, 4], 4), ["1", "7", "0", "0"]);
        assert_eq!(spread::<Exact>(8, &PAIR, &[0, 4, 4], 4), ["0", "8", "0", "0"]);
        assert_eq!(spread::<Exact>(8, &PAIR, &[0, 0, 4], 4), ["0", "0", "8", "0"], "nothing is blocked");
        assert_eq!(spread::<Exact>(32, &PAIR, &[1, 2, 2], 4), ["6", "14", "6", "6"]);
        assert_eq!(spread::<Approx>(32, &PAIR, &[1, 2, 2], 4), ["6", "14", "6", "6"]);
    }

    #[test]
    fn every_step_is_truncated_in_its_order() {
        // Shares passed on: 2/3, 1/3 (0.333333334) and 2/3 (0.666666667), in billionths. By hand:
        //
        // Candidate 0: the sum is 1 + (0.333333334 + 0.666666667)/2 + 0.222222222 = 1.722222222.
        // The candidate keeps 0.574074073. A third of this part is 0.191358024.
        //
        // Candidate 1: the sum is 1 + 1.333333334/2 + 0.444444444 = 2.111111111. The candidate
        // keeps 0.666666666 of that sum, which is 1.407407405. A third of this part is 0.469135801.
        let third = 333_333_333;
        let votes = spread::<Fixed9>(10, &THREE, &[third, 2 * third, third, 1_000_000_000], 1_000_000_000);
        // Passed on: 0.666666667 * 0.333333334 = 0.222222222, * 0.666666667 = 0.148148148.
        assert_eq!(votes, ["1.913580240", "4.691358010", "1.913580240", "1.481481480", "0.000000030"]);
        assert_eq!(
            votes,
            spread::<BigFixed9>(10, &THREE, &[third, 2 * third, third, 1_000_000_000], 1_000_000_000)
        );
    }

    /// Another program calculated these digits. The last decimals depend on the order of
    /// operations: the shares of the other equals are multiplied in written order, and the division
    /// by the number of equals comes after the multiplication by the keep factor.
    #[test]
    fn four_equals() {
        let keep = [500_000_001, 500_000_001, 500_000_001, 666_666_666, 1_000_000_000];
        let ranked = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)];
        let votes = spread::<Fixed9>(1, &ranked, &keep, 1_000_000_000);
        let equals = ["0.215277778", "0.215277778", "0.215277778", "0.312499999"];
        assert_eq!(votes[..4], equals);
        assert_eq!(votes[4..], ["0.041666666", "0.000000001"]);
    }

    /// Truncated products depend on their order, so the code uses the written order. Products of
    /// fractions do not depend on the order.
    #[test]
    fn only_to_fixed_decimals_the_order_written_can_matter() {
        let scale = 1_000_000_000;
        let keep = [scale / 7, scale / 3, scale / 11, scale];
        let below = |order: [usize; 3]| {
            let ranked: Vec<_> = order.iter().map(|&candidate| (candidate, 0)).chain([(3, 1)]).collect();
            let fraction = spread::<Exact>(1, &ranked, &keep, scale);
            (spread::<Fixed9>(1, &ranked, &keep, scale)[3].clone(), fraction)
        };
        let (written, other) = (below([0, 1, 2]), below([1, 2, 0]));
        assert_eq!((written.0.as_str(), other.0.as_str()), ("0.519480520", "0.519480519"));
        assert_eq!(written.1, other.1);
    }

    /// A group so large that Pascal's triangle does not fit in machine words.
    #[test]
    fn a_hundred_equals() {
        let ranked: Vec<_> = (0..100).map(|candidate| (candidate, 0)).collect();
        let votes = spread::<Exact>(100, &ranked, &[1; 100], 2);
        assert!(votes[..100].iter().all(|votes| *votes == votes_of_one()), "{}", votes[0]);
        let close = spread::<BigFixed9>(100, &ranked, &[1; 100], 2);
        assert!(close[..100].iter().all(|votes| votes == "0.999999900"), "{}", close[0]);
    }

    /// A hundred equals keep a half each. The part that is not passed on is 1 - 2^-100. The equals
    /// share this part equally.
    fn votes_of_one() -> String {
        let all = Exact::one();
        let passed = (0..100).fold(all.clone(), |part, _| part.over_whole(&Integer::Word(2)).unwrap());
        all.minus(&passed).unwrap().to_string()
    }

    #[test]
    fn pascals_triangle_goes_on_beyond_the_table() {
        let row = |n| (0..=n).map(|chosen| binomial(n, chosen)).collect::<Vec<_>>();
        assert_eq!(row(4), [1, 4, 6, 4, 1].map(Integer::Word));
        for n in [1, 31, 32, 33, 67, 100] {
            let (above, below) = (row(n - 1), row(n));
            assert!((1..n).all(|chosen| above[chosen - 1].plus(&above[chosen]) == below[chosen]), "{n}");
        }
    }

    /// The definition of the method: the mean over all orders of the equals, each counted as a
    /// strict ballot.
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
