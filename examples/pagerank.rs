//! `PageRank`: results written into a reused buffer, and a sum with the same bits in every run.
//!
//! ```text
//! cargo run --release --example pagerank [pages]
//! ```
//!
//! The three parallel loops are in `round_by_rangesteal`: a loop over a tuple of three vectors, a
//! loop with `enumerate`, whose index selects data outside of the slice, and a `reproducible` sum.
//! Few pages have most of the links, so some items cost ten thousand times more than others. One
//! worker sums each rank, in the order of its links, so all versions find the same ranks.

mod side_by_side;

use rangesteal::{BuildError, Pool};
use rayon::prelude::*;

const DAMPING: f64 = 0.85;

/// The links between pages.
struct Web {
    /// For each page, the index in `sources` of the first link to the page. The last element is the
    /// end of the last page's links.
    begins: Vec<usize>,
    sources: Vec<usize>,
    /// The number of links on each page.
    degrees: Vec<f64>,
}

impl Web {
    /// A page with a smaller number is the target of more links.
    fn new(pages: usize, links_a_page: usize) -> Self {
        let mut random = side_by_side::random(1);
        let mut to = vec![Vec::new(); pages];
        for source in 0..pages {
            for _ in 0..links_a_page {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `pages`")]
                let target = (random().powi(4) * as_f64(pages)) as usize;
                to[target].push(source);
            }
        }
        let begins = to.iter().map(Vec::len).scan(0, |end, links| Some(std::mem::replace(end, *end + links)));
        let begins = begins.chain([pages * links_a_page]).collect();
        Self { begins, sources: to.concat(), degrees: vec![as_f64(links_a_page); pages] }
    }

    fn pages(&self) -> usize {
        self.degrees.len()
    }

    /// The rank of a page: the sum of the ranks that pages pass on with their links to this page.
    fn rank(&self, page: usize, shares: &[f64]) -> f64 {
        let sources = &self.sources[self.begins[page]..self.begins[page + 1]];
        let passed_on: f64 = sources.iter().map(|&source| shares[source]).sum();
        (1.0 - DAMPING) / as_f64(self.pages()) + DAMPING * passed_on
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

/// One round. Computes the rank that each page passes on with each of its links, and then the new
/// ranks. Returns the sum of the differences between new and old ranks.
type Round<'a> = &'a dyn Fn(&Web, &[f64], &mut [f64], &mut [f64]) -> f64;

fn round_plain(web: &Web, old: &[f64], shares: &mut [f64], new: &mut [f64]) -> f64 {
    for ((share, rank), degree) in shares.iter_mut().zip(old).zip(&web.degrees) {
        *share = rank / degree;
    }
    for (page, rank) in new.iter_mut().enumerate() {
        *rank = web.rank(page, shares);
    }
    new.iter().zip(old).map(|(new, old)| (new - old).abs()).sum()
}

fn round_by_rayon(web: &Web, old: &[f64], shares: &mut [f64], new: &mut [f64]) -> f64 {
    shares
        .par_iter_mut()
        .zip(old)
        .zip(&web.degrees)
        .for_each(|((share, rank), degree)| *share = rank / degree);
    new.par_iter_mut().enumerate().for_each(|(page, rank)| *rank = web.rank(page, shares));
    new.par_iter().zip(old).map(|(new, old)| (new - old).abs()).sum()
}

fn round_by_rangesteal(pool: &Pool, web: &Web, old: &[f64], shares: &mut [f64], new: &mut [f64]) -> f64 {
    pool.on((&mut *shares, old, &web.degrees)).for_each(|(share, rank, degree)| *share = rank / degree);
    pool.on(&mut *new).enumerate().for_each(|(page, rank)| *rank = web.rank(page, shares));
    pool.on((&*new, old)).map(|(new, old)| (new - old).abs()).reproducible().sum()
}

/// The ranks, and the number of rounds until they hardly change. The number of rounds depends on a
/// floating-point sum. Without `reproducible`, one run in a billion may stop a round earlier or
/// later than other runs.
fn pagerank(web: &Web, round: Round) -> (usize, Vec<f64>) {
    let (mut old, mut new) = (vec![1.0 / as_f64(web.pages()); web.pages()], vec![0.0; web.pages()]);
    let mut shares = old.clone();
    for rounds in 1.. {
        let difference = round(web, &old, &mut shares, &mut new);
        std::mem::swap(&mut old, &mut new);
        if difference < 1e-9 {
            return (rounds, old);
        }
    }
    unreachable!("the difference falls from round to round")
}

fn main() -> Result<(), BuildError> {
    let web = Web::new(side_by_side::size_or(200_000), 10);
    let pool = Pool::new()?;
    side_by_side::compare(
        [
            ("plain", &|| pagerank(&web, &round_plain)),
            ("rayon", &|| pagerank(&web, &round_by_rayon)),
            ("rangesteal", &|| {
                pagerank(&web, &|web, old, shares, new| round_by_rangesteal(&pool, web, old, shares, new))
            }),
        ],
        |(rounds, ranks)| format!("{rounds} rounds, first rank {:.17}", ranks[0]),
        |a, b| a == b,
    );
    Ok(())
}

#[test]
fn all_versions_find_the_same_ranks() -> Result<(), BuildError> {
    let web = Web::new(1000, 5);
    let plain = pagerank(&web, &round_plain);
    assert_eq!(pagerank(&web, &round_by_rayon), plain);
    for threads in 1..4 {
        let pool = Pool::builder().num_threads(threads).build()?;
        let round: Round = &|web, old, shares, new| round_by_rangesteal(&pool, web, old, shares, new);
        assert_eq!(pagerank(&web, round), plain);
    }
    Ok(())
}
