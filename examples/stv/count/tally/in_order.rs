//! Distributions in floating-point numbers, whose sums depend on their order. Here the order
//! depends only on the number of ballots, so all threads and executors get the same bytes.
//!
//! The sums of blocks of ballots are added in pairs, then the sums of pairs in pairs, and so on.
//! The pool's `reproducible` adds in this order. Other executors use `by_halves`.

use super::Part;
use crate::{
    arithmetic::Arithmetic,
    spread::{KeepFactor, Votes},
};
use rangesteal::{On, options::OnPool};
use stv_ballots::{Ballot, Ballots};

/// The number of ballots in a block. A block is large, so that its sums (one per candidate) cost
/// little, but small enough to give every thread some blocks.
fn block(ballots: usize) -> usize {
    (ballots / 1024).max(64)
}

fn sum<A: Arithmetic>(block: &[Ballot], ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
    block.iter().try_fold(Votes::none(keep.len()), |votes, &ballot| votes.with(ballot, ballots, keep))
}

/// The function that adds up one half of the ballots.
pub(crate) type Half<'a, A> = &'a (dyn Fn() -> Part<A> + Sync);

/// Adds up both halves, one after the other or at the same time.
pub(crate) type Both<A> = fn(Half<'_, A>, Half<'_, A>) -> [Part<A>; 2];

/// The sum of all ballots. `both` adds up the halves.
pub fn by_halves<A: Arithmetic>(ballots: &Ballots, keep: &[KeepFactor<A>], both: Both<A>) -> Part<A> {
    let records = ballots.records();
    in_pairs(records, block(records.len()), &|block| sum(block, ballots, keep), both)
}

/// The sum of these ballots. The number of blocks in the first half is the largest power of two
/// that leaves at least one block for the second half.
fn in_pairs<A: Arithmetic>(
    records: &[Ballot],
    block: usize,
    sum: &(impl Fn(&[Ballot]) -> Part<A> + Sync),
    both: Both<A>,
) -> Part<A> {
    let blocks = records.len().div_ceil(block);
    if blocks <= 1 {
        return sum(records);
    }
    let (left, right) = records.split_at(blocks.next_power_of_two() / 2 * block);
    let [left, right] = both(&|| in_pairs(left, block, sum, both), &|| in_pairs(right, block, sum, both));
    left?.plus(&right?)
}

/// The sum of all ballots on the pool. `records` are the records of `ballots`.
pub(super) fn on_pool<A: Arithmetic>(
    records: On<&[Ballot], OnPool<'_>>,
    ballots: &Ballots,
    keep: &[KeepFactor<A>],
) -> Part<A> {
    records.grain(block(ballots.records().len())).reproducible().fold(
        || Ok(Votes::none(keep.len())),
        |votes: Part<A>, &ballot: &Ballot| votes?.with(ballot, ballots, keep),
        |left, right| left?.plus(&right?),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Float64;
    use rangesteal::Pool;
    use stv_ballots::Integer;

    /// Thirds and sevenths of ballots, for elections of all sizes. Another order would change the
    /// last digits of the sums.
    #[test]
    fn sums_have_the_same_digits_everywhere() {
        for lines in [1, 2, 63, 64, 65, 128, 129, 1000, 4097, 70_000] {
            let mut ballots = Ballots::new();
            for line in 0..lines {
                let weight = Integer::Word(1 + (line * line) % 1009);
                ballots.push(weight, &[(0, 0), (1, 0), (2, 0), (usize::from(line % 3 == 0) + 3, 1)]);
            }
            let mut keep = vec![KeepFactor::all(); 5];
            let votes = |number| Float64::one().times_whole(&Integer::Word(number)).unwrap();
            keep[1] = KeepFactor::all().lowered(&votes(3), &votes(7)).unwrap();
            keep[3] = KeepFactor::all().lowered(&votes(9), &votes(11)).unwrap();
            let wanted = by_halves(&ballots, &keep, |left, right| [left(), right()]).unwrap();
            if lines == 70_000 {
                assert_ne!(sum(ballots.records(), &ballots, &keep).unwrap(), wanted, "the order shows");
            }
            for threads in [1, 2, 3, 8] {
                let pool = Pool::builder().num_threads(threads).build().unwrap();
                for _ in 0..3 {
                    assert_eq!(
                        on_pool(pool.on(ballots.records()), &ballots, &keep).unwrap(),
                        wanted,
                        "{lines} {threads}"
                    );
                }
            }
        }
    }
}
