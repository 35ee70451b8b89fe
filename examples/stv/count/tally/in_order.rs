//! Distributions in floating-point numbers, whose sums depend on their order. Here the order
//! depends only on the number of ballots, so all threads get the same bytes.
//!
//! The ballots are cut into blocks. The sums of blocks are added in pairs, then the sums of pairs
//! in pairs, and so on. The pool's `reproducible` adds in this order, too.

use crate::{
    arithmetic::{Arithmetic, Fault},
    spread::{KeepFactor, Votes},
};
use stv_ballots::{Ballot, Ballots};

/// The number of ballots in a block. A block is large, so that its sums (one per candidate) cost
/// little, but small enough to give every thread some blocks.
pub(super) fn block(ballots: usize) -> usize {
    (ballots / 1024).max(64)
}

/// The sum of all ballots, on this thread.
pub fn in_order<A: Arithmetic>(ballots: &Ballots, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault> {
    let of_block = |block: &[Ballot]| {
        block.iter().try_fold(Votes::none(keep.len()), |votes, &ballot| votes.with(ballot, ballots, keep))
    };
    in_pairs(ballots.all(), block(ballots.all().len()), &of_block)
}

/// The sum of these ballots. The number of blocks in the first half is the largest power of two
/// that leaves at least one block for the second half.
fn in_pairs<A: Arithmetic>(
    ballots: &[Ballot],
    block: usize,
    of_block: &impl Fn(&[Ballot]) -> Result<Votes<A>, Fault>,
) -> Result<Votes<A>, Fault> {
    let blocks = ballots.len().div_ceil(block);
    if blocks <= 1 {
        return of_block(ballots);
    }
    let (left, right) = ballots.split_at(blocks.next_power_of_two() / 2 * block);
    in_pairs(left, block, of_block)?.plus(&in_pairs(right, block, of_block)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::Float64,
        tally::{Loops, pool::PoolLoops},
    };
    use rangesteal::Pool;
    use stv_ballots::{Election, Integer};

    /// Thirds and sevenths of ballots, for elections of all sizes. Another order would change the
    /// last digits of the sums.
    #[test]
    fn sums_have_the_same_digits_everywhere() {
        let text = "5 1\n1 1 0\n0\n\"A\" \"B\" \"C\" \"D\" \"E\" \"T\"";
        let mut election: Election = stv_ballots::parse("test", text.as_bytes()).unwrap();
        for lines in [1, 2, 63, 64, 65, 128, 129, 1000, 4097, 70_000] {
            let mut ballots = Ballots::new();
            for line in 0..lines {
                let weight = Integer::Word(1 + (line * line) % 1009);
                ballots.push(weight, &[(0, 0), (1, 0), (2, 0), (usize::from(line % 3 == 0) + 3, 1)]);
            }
            election.ballots = ballots;
            let ballots = &election.ballots;
            let mut keep = vec![KeepFactor::all(); 5];
            let votes = |number| Float64::one().times_whole(&Integer::Word(number)).unwrap();
            keep[1] = KeepFactor::all().lowered(&votes(3), &votes(7)).unwrap();
            keep[3] = KeepFactor::all().lowered(&votes(9), &votes(11)).unwrap();
            let wanted = in_order(ballots, &keep).unwrap();
            if lines == 70_000 {
                let one_block = in_pairs(ballots.all(), 70_000, &|all| {
                    all.iter().try_fold(Votes::none(5), |votes, &ballot| votes.with(ballot, ballots, &keep))
                });
                assert_ne!(one_block.unwrap(), wanted, "the order shows");
            }
            for threads in [1, 2, 3, 8] {
                let pool = Pool::builder().num_threads(threads).build().unwrap();
                for _ in 0..3 {
                    let found = PoolLoops::new(&pool, &election).ballots(ballots, &keep).unwrap();
                    assert_eq!(found, wanted, "{lines} {threads}");
                }
            }
        }
    }
}
