//! Distributions in floating-point numbers, whose sums depend on their order. Here the order
//! depends only on the number of ballots, so all threads and executors get the same bytes.
//!
//! The sums of blocks of ballots are added in pairs, then the sums of pairs in pairs, and so on.
//! The pool's `reproducible` adds in this order. The plain loop and rayon have their own code for
//! this order. If there are several ranks, each rank computes a part of this tree of sums.

use super::together::{Together, both};
use crate::{
    arithmetic::{Arithmetic, Fault},
    election::{Ballot, Ballots},
    spread::{KeepFactor, Votes},
};
use rangesteal::{On, options::OnPool, reproducible};

/// The number of ballots in a block. A block is large, so that its sums (one per candidate) cost
/// little, but small enough to give every thread some blocks.
pub(crate) fn block(ballots: usize) -> usize {
    (ballots / 1024).max(64)
}

fn sum<A: Arithmetic>(block: &[Ballot], ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
    block.iter().try_fold(Votes::none(keep.len()), |votes, &ballot| votes.with(ballot, ballots, keep))
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

/// The function that adds up one half of the ballots.
pub(super) type Half<'a, A> = &'a (dyn Fn() -> Part<A> + Sync);

/// Adds up both halves, one after the other or at the same time.
pub(super) type Both<A> = fn(Half<'_, A>, Half<'_, A>) -> [Part<A>; 2];

pub(super) type Part<A> = Result<Votes<A>, Fault>;

pub(super) fn serially<A: Arithmetic>(
    together: &Together<'_>,
    ballots: &Ballots,
    keep: &[KeepFactor<A>],
) -> Part<A> {
    let (records, size) = (ballots.records(), block(ballots.number()));
    if together.number() == 1 {
        return by_halves(ballots, keep, |left, right| [left(), right()]);
    }
    let place = |block: usize| [ballots.number(), size, ballots.first() / size + block, 0];
    let nodes = records
        .chunks(size)
        .enumerate()
        .map(|(number, block)| (place(number).map(|word| word as u64), sum(block, ballots, keep)));
    let part = reproducible::Part::from_nodes(ballots.number(), nodes, both);
    together.sum_in_order(ballots.number(), keep.len(), part.map_err(|_| Fault::Incomplete)?)
}

/// The sum of all ballots. `both` adds up the halves.
pub(super) fn by_halves<A: Arithmetic>(ballots: &Ballots, keep: &[KeepFactor<A>], both: Both<A>) -> Part<A> {
    let records = ballots.records();
    in_pairs(records, block(records.len()), &|block| sum(block, ballots, keep), both)
}

/// The sum of the ballots on the pool. `records` are the records of `ballots`.
pub(super) fn on_pool<A: Arithmetic>(
    together: &Together<'_>,
    records: On<&[Ballot], OnPool<'_>>,
    ballots: &Ballots,
    keep: &[KeepFactor<A>],
) -> Part<A> {
    let none = || Ok(Votes::none(keep.len()));
    let with = |votes: Part<A>, &ballot: &Ballot| votes?.with(ballot, ballots, keep);
    let records = records.grain(block(ballots.number()));
    if together.number() == 1 {
        return records.reproducible().fold(none, with, both);
    }
    let part = records.reproducible_part(ballots.first(), ballots.number()).fold(none, with, both);
    together.sum_in_order(ballots.number(), keep.len(), part)
}

#[cfg(test)]
mod tests {
    use super::{super::rival, *};
    use crate::{
        arithmetic::{Float64, Integer},
        ranks::Alone,
    };
    use rangesteal::Pool;

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
            let alone = &Together::new(&Alone);
            let wanted = serially(alone, &ballots, &keep).unwrap();
            if lines == 70_000 {
                assert_ne!(sum(ballots.records(), &ballots, &keep).unwrap(), wanted, "the order shows");
            }
            for threads in [1, 2, 3, 8] {
                let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let pool = Pool::builder().num_threads(threads).build().unwrap();
                for _ in 0..3 {
                    assert_eq!(
                        rayon.install(|| rival::in_order(&ballots, &keep)).unwrap(),
                        wanted,
                        "{lines} {threads}"
                    );
                    assert_eq!(
                        on_pool(alone, pool.on(ballots.records()), &ballots, &keep).unwrap(),
                        wanted,
                        "{lines} {threads}"
                    );
                }
            }
        }
    }
}
