//! How does an election count fare? One distribution of ballots: each spreads its weight over its candidates, in big integers.

#![allow(missing_docs)]

mod side_by_side;

use num_bigint::BigUint;
use paralight::iter::{ExactParallelSourceExt, IntoExactParallelRefSource, ParallelIterator as _};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use side_by_side::run;

const CANDIDATES: usize = 20;

struct Ballot {
    weight: u32,
    ranking: Vec<usize>,
}

type Votes = Vec<BigUint>;

fn no_votes() -> Votes {
    vec![BigUint::ZERO; CANDIDATES]
}

/// Each candidate keeps four tenths of what reaches it.
fn spread(mut votes: Votes, ballot: &Ballot) -> Votes {
    let mut power = BigUint::from(10u32).pow(24) * ballot.weight;
    for &candidate in &ballot.ranking {
        let used = &power * 4u32 / 10u32;
        power -= &used;
        votes[candidate] += used;
    }
    votes
}

fn add(mut votes: Votes, more: Votes) -> Votes {
    votes.iter_mut().zip(more).for_each(|(votes, more)| *votes += more);
    votes
}

fn main() {
    // Ballots of 1 to 8 ranks, the long ones last, as an export sorted by length has them.
    let ballots: Vec<Ballot> = (0..4000)
        .map(|i| Ballot {
            weight: 1 + i % 7,
            ranking: (0..=i as usize / 500).map(|rank| (i as usize * 7 + rank * 3) % CANDIDATES).collect(),
        })
        .collect();
    let ballots = &ballots[..];
    run("How does a count of BigUint ballots fare?", |rivals| {
        rivals.row(
            "4k ballots, 20 candidates",
            Some(0.54),
            &mut [
                ("plain", &mut |_| ballots.iter().fold(no_votes(), spread)),
                ("rangesteal", &mut |rivals| rivals.pool.fold_reduce(ballots, no_votes, spread, add)),
                ("rayon", &mut |rivals| {
                    rivals.rayon.install(|| {
                        IntoParallelRefIterator::par_iter(ballots)
                            .fold(no_votes, spread)
                            .reduce(no_votes, add)
                    })
                }),
                ("paralight", &mut |rivals| {
                    let items =
                        IntoExactParallelRefSource::par_iter(ballots).with_thread_pool(&mut rivals.paralight);
                    items.pipeline(no_votes, spread, |votes| votes, add)
                }),
            ],
        );
    });
}
