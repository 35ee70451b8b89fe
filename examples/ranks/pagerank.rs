//! `PageRank` over ranks. The pages of each rank take the same computing time, and the result has
//! the same bits for any boundaries.
//!
//! ```text
//! cargo build --release -p ranks
//! mpirun -n 2 --map-by slot:PE=8 target/release/pagerank
//! ```
//! By far the most links lead to the first pages, so equal numbers of pages are unequal work. In
//! each round the ranks exchange their computing times, together with the sums (`exchange::sums`),
//! and move the boundaries if it pays (`Shares::learn`). A rank with a new share makes its new
//! links itself. Only the PageRanks of pages are sent.

use std::{
    error::Error,
    ops::Range,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, value_parser};
use mpi::{collective::SystemOperation, topology::SimpleCommunicator, traits::CommunicatorCollectives};
use rangesteal::Pool;
use ranks::{
    exchange::{self, Told, add, gather_into, rank, ranks},
    figures::{Medians, Round, as_f64, fingerprint, random},
    launch,
    shares::{Shares, imbalance},
};

const DAMPING: f64 = 0.85;

/// Ranks the pages of a made-up web, on all ranks of the machine
#[derive(Debug, Parser)]
#[command(name = "pagerank")]
struct Options {
    /// Number of pages on all ranks
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u32).range(2..))]
    pages: u32,
    /// Mean number of links to a page
    #[arg(long, value_name = "N", default_value_t = 10)]
    links: u32,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 100)]
    rounds: usize,
    /// Every rank keeps its first share
    #[arg(long)]
    fixed: bool,
    /// Computes on one rank, without parts, for comparison
    #[arg(long)]
    alone: bool,
}

/// The links between pages. Every rank can compute the links of every page.
#[derive(Clone, Copy)]
struct Web {
    pages: u32,
    links: u64,
}

impl Web {
    /// The number of links to the pages before this one. A page with a smaller number is the target
    /// of more links: half of the links lead to the first sixteenth of the pages.
    fn links_before(self, page: usize) -> u64 {
        let place = as_f64(page as u64) / f64::from(self.pages);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `links`")]
        let links = (as_f64(self.links) * place.sqrt().sqrt()) as u64;
        links
    }

    /// The page that has a link. Every other page has no links.
    fn source(self, link: u64) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `pages`")]
        let pair = (random(link) * f64::from(self.pages / 2)) as u32;
        2 * pair + 1
    }
}

/// The pages of this rank, with the links to them.
struct Mine {
    pages: Range<usize>,
    /// For each page, the range of the links to it in `sources`.
    links: Vec<Range<usize>>,
    sources: Vec<u32>,
}

impl Mine {
    /// # Panics
    /// If the links do not fit into memory.
    fn load(pool: &Pool, web: Web, pages: Range<usize>) -> Self {
        let first = web.links_before(pages.start);
        let here = |page| usize::try_from(web.links_before(page) - first).expect("links fit into memory");
        let links = pool.on(pages.clone()).map(|page| here(page)..here(page + 1)).collect();
        let sources = pool.on(0..here(pages.end)).map(|link| web.source(first + link as u64)).collect();
        Self { pages, links, sources }
    }
}

/// The number of links on each page, over all ranks. The counts are integers, whose sum does not
/// depend on the order.
fn degrees(world: &SimpleCommunicator, pages: usize, mine: &Mine) -> Vec<f64> {
    let mut here = vec![0_u64; pages];
    for &source in &mine.sources {
        here[source as usize] += 1;
    }
    let mut everywhere = vec![0_u64; pages];
    world.all_reduce_into(&here, &mut everywhere, SystemOperation::sum());
    everywhere.into_iter().map(as_f64).collect()
}

/// The rank that a page passes on with each of its links.
fn passed_on(rank: f64, degree: f64) -> f64 {
    if degree > 0.0 { rank / degree } else { 0.0 }
}

/// The change of a page's rank, and the rank that the page spreads evenly over all pages. A page
/// without links spreads its whole rank. Any other page spreads nothing.
fn change_and_rest(new: f64, old: f64, degree: f64) -> [f64; 2] {
    [(new - old).abs(), if degree > 0.0 { 0.0 } else { new }]
}

fn pagerank(world: &SimpleCommunicator, options: &Options) -> Result<(), Box<dyn Error>> {
    let (rank, ranks) = (rank(world), ranks(world));
    if options.alone && ranks > 1 {
        return Err("--alone is for one rank".into());
    }
    let pool = Pool::new()?;
    let web = Web { pages: options.pages, links: u64::from(options.pages) * u64::from(options.links) };
    let pages = usize::try_from(web.pages)?;
    let mut shares = Shares::new(pages, ranks);
    let mut mine = Mine::load(&pool, web, shares.of(rank));
    let degrees = degrees(world, pages, &mine);

    // `old` has the ranks of the pages of this rank. `passed` has the rank that each page passes on
    // with a link.
    let all_alike = 1.0 / f64::from(web.pages);
    let mut old = vec![all_alike; mine.pages.len()];
    let mut passed: Vec<_> = degrees.iter().map(|&degree| passed_on(all_alike, degree)).collect();
    let [mut change, mut rest] =
        degrees.iter().map(|&degree| change_and_rest(all_alike, 0.0, degree)).fold([0.0; 2], add);
    let (mut rounds, mut moves, mut moving) = (Vec::new(), Vec::new(), Duration::ZERO);
    for rounds_left in (0..options.rounds).rev() {
        let begin = Instant::now();
        let for_all = (1.0 - DAMPING + DAMPING * rest) / f64::from(web.pages);
        let new = pool.map_collect(&mine.links, |links| {
            let sources = &mine.sources[links.clone()];
            for_all + DAMPING * sources.iter().map(|&source| passed[source as usize]).sum::<f64>()
        });
        let degrees = &degrees[mine.pages.clone()];
        let passed_here: Vec<_> =
            pool.on((&new, degrees)).map(|(&rank, &degree)| passed_on(rank, degree)).collect();
        let sums = pool.on((&new, &old, degrees));
        let sums = sums.map(|(new, old, degree)| change_and_rest(*new, *old, *degree));
        let (loops, Told { sums, times }) = if options.alone {
            let sums = sums.reproducible().reduce(add).unwrap_or_default();
            let loops = begin.elapsed();
            passed = passed_here;
            (loops, Told { sums, times: vec![1.0] })
        } else {
            let part = sums.reproducible_part(mine.pages.start, pages).reduce(add);
            let loops = begin.elapsed();
            gather_into(world, &passed_here, &shares.lengths(), &mut passed);
            (loops, exchange::sums(world, pages, part, loops)?)
        };
        [change, rest] = sums;
        old = new;
        rounds.push(Round::behind(begin, loops, imbalance(&times)));

        let lengths = shares.lengths();
        if !options.fixed && rounds_left > 0 && shares.learn(&times) {
            let begin = Instant::now();
            old = gathered(world, &old, &lengths)[shares.of(rank)].to_vec();
            mine = Mine::load(&pool, web, shares.of(rank));
            moving += begin.elapsed();
            moves.push(rounds.len());
        }
    }

    let result = gathered(world, &old, &shares.lengths());
    if rank == 0 {
        let threads = pool.num_threads();
        println!("pagerank: {pages} pages, {} rounds, {ranks} ranks x {threads} threads", rounds.len());
        tell(&rounds, &moves, moving, &shares);
        println!("last change {change:.1e}");
        println!("fingerprint {:016x}", fingerprint(&result));
    }
    Ok(())
}

/// Prints how long rounds took before the first move of the boundaries, and after the last one.
fn tell(rounds: &[Round], moves: &[usize], moving: Duration, shares: &Shares) {
    let (Some(&first), Some(&last)) = (moves.first(), moves.last()) else {
        return println!("{}", Medians(rounds));
    };
    println!("equal shares: {}", Medians(&rounds[..first]));
    println!("shares moved after rounds {moves:?}, in {:.1} ms", moving.as_secs_f64() * 1e3);
    println!("now {:?}: {}", shares.lengths(), Medians(&rounds[last..]));
}

/// The ranks of all pages, on every rank.
fn gathered(world: &SimpleCommunicator, ranks: &[f64], lengths: &[usize]) -> Vec<f64> {
    let mut all = vec![0.0; lengths.iter().sum()];
    gather_into(world, ranks, lengths, &mut all);
    all
}

fn main() -> ExitCode {
    launch::run(pagerank)
}
