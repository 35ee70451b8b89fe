//! `PageRank`. A round has three loops. Two of these loops take a nanosecond per item. Few pages
//! have most of the links. See `examples/pagerank.rs`.

use std::mem;

use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};

use crate::{
    program::{By, Program},
    web::Web,
};

pub(crate) struct Ranks {
    old: Vec<f64>,
    /// The rank that each page passes on with a link.
    shares: Vec<f64>,
    new: Vec<f64>,
    /// The sum of the changes of the ranks, over all rounds.
    changes: f64,
}

/// One round by any entrant except OpenMP. Returns the sum of the changes of the ranks.
fn round(web: &Web, Ranks { old, shares, new, .. }: &mut Ranks, by: By<'_>) -> f64 {
    let old = &**old;
    let change = |(new, old): (&f64, &f64)| (new - old).abs();
    match by {
        By::Rangesteal(pool) => {
            let pairs = pool.on((&mut *shares, old, web.degrees()));
            pairs.for_each(|(share, rank, degree)| *share = rank / degree);
            pool.on(&mut *new).enumerate().for_each(|(page, rank)| *rank = web.rank(page, shares));
            pool.on((&*new, old)).map(change).sum()
        }
        By::Rayon => {
            let pairs = shares.par_iter_mut().zip(old).zip(web.degrees());
            pairs.for_each(|((share, rank), degree)| *share = rank / degree);
            new.par_iter_mut().enumerate().for_each(|(page, rank)| *rank = web.rank(page, shares));
            new.par_iter().zip(old).map(change).sum()
        }
        _ => {
            for ((share, rank), degree) in shares.iter_mut().zip(old).zip(web.degrees()) {
                *share = rank / degree;
            }
            for (page, rank) in new.iter_mut().enumerate() {
                *rank = web.rank(page, shares);
            }
            new.iter().zip(old).map(change).sum()
        }
    }
}

impl Program for Web {
    type State = Ranks;

    fn start(&self) -> Ranks {
        let old = vec![1.0 / self.pages() as f64; self.pages()];
        Ranks { shares: old.clone(), new: old.clone(), old, changes: 0.0 }
    }

    fn rounds(&self, ranks: &mut Ranks, rounds: usize, by: By<'_>) {
        if let By::OpenMp(openmp, threads) = by {
            let Ranks { old, shares, new, changes } = ranks;
            *changes += openmp.pagerank(self, old, shares, new, rounds, threads);
            if rounds % 2 == 1 {
                mem::swap(old, new);
            }
            return;
        }
        for _ in 0..rounds {
            ranks.changes += round(self, ranks, by);
            mem::swap(&mut ranks.old, &mut ranks.new);
        }
    }

    fn result(&self, ranks: Ranks) -> Vec<f64> {
        [ranks.old, vec![ranks.changes]].concat()
    }
}
