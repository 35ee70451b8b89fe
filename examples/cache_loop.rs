//! Rounds over data of the size of the L2 caches. A worker that loses its CPU also loses the
//! contents of the cache. The rounds show how much time this costs.
//!
//! ```text
//! cargo run --release --example cache_loop -- --pinning off
//! ```
//!
//! `profiling/placement` runs this program. Do not copy this program's loop. The loops of the other
//! examples stream through memory. If the data of such a loop fit in a cache, the loop ends before
//! a second thread has woken. Here every step waits until the cache delivers the next cell.

#[path = "pinning/mod.rs"]
mod pinning;

use std::{
    error::Error,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use clap::Parser;
use pinning::Pinning;
use rangesteal::Pool;

/// Runs rounds over data of the size of the L2 caches, and prints how long they took
#[derive(Debug, Parser)]
struct Arguments {
    /// Whether the pool pins each thread to a CPU of its own
    #[arg(long, value_enum, default_value_t)]
    pinning: Pinning,
    /// Number of threads [default: all threads of the machine]
    #[arg(long, value_name = "N")]
    num_threads: Option<NonZeroUsize>,
    /// KiB of data per thread: more than its L1 cache holds, less than its L2 cache
    #[arg(long, value_name = "N", default_value = "512")]
    kib: NonZeroUsize,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value = "5000")]
    rounds: NonZeroUsize,
}

/// A chain is larger than the L1 cache. Otherwise only the first lap would miss that cache.
const CELLS_A_CHAIN: usize = 1024;
const KIB_A_CHAIN: usize = CELLS_A_CHAIN * size_of::<Cell>() / 1024;

/// With this number of laps, a round is just long enough to be shared. In longer rounds, the cost
/// of a cold cache would not show.
const LAPS: usize = 6;

/// A cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Cell {
    next: usize,
    visits: usize,
}

/// An item: a ring of cells. Each cell has the index of the next cell, so the processor cannot
/// prefetch cells.
struct Chain(Vec<Cell>);

impl Chain {
    fn new() -> Self {
        let cell = |at| Cell { next: (77 * at + 31) % CELLS_A_CHAIN, visits: 0 }; // a full period, which reaches all cells
        Self((0..CELLS_A_CHAIN).map(cell).collect())
    }

    fn follow(&mut self) {
        let mut at = 0;
        for _ in 0..LAPS * CELLS_A_CHAIN {
            let cell = &mut self.0[at];
            cell.visits += 1;
            at = cell.next;
        }
    }
}

/// The time of each round, in ascending order.
fn rounds(pool: &Pool, chains: &mut [Chain], rounds: usize) -> Vec<Duration> {
    let round = |_| {
        let begin = Instant::now();
        pool.for_each_mut(chains, Chain::follow);
        begin.elapsed()
    };
    let mut times: Vec<_> = (0..rounds).map(round).collect();
    times.sort();
    times
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { pinning, num_threads, kib, rounds: number } = Arguments::parse();
    let mut builder = Pool::builder().pinning(pinning.into());
    if let Some(threads) = num_threads {
        builder = builder.num_threads(threads.get());
    }
    // This thread is a worker too, and has a CPU of its own until the rounds end.
    builder.scope(|pool| {
        let number_of_chains = pool.num_threads() * kib.get().div_ceil(KIB_A_CHAIN);
        let mut chains: Vec<_> = (0..number_of_chains).map(|_| Chain::new()).collect();
        let times = rounds(pool, &mut chains, number.get());
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let at = |percent| millis(times[(times.len() - 1) * percent / 100]);
        eprint!("cache_loop: {} threads, {number} rounds: median {:.3} ms, ", pool.num_threads(), at(50));
        eprintln!(
            "99 % within {:.3} ms, slowest {:.3} ms, all {:.0} ms",
            at(99),
            at(100),
            millis(times.iter().sum())
        );
    })?;
    Ok(())
}

#[test]
fn every_round_visits_every_cell() -> Result<(), Box<dyn Error>> {
    for threads in 1..4 {
        let pool = Pool::builder().num_threads(threads).pinning(Pinning::Off.into()).build()?;
        let mut chains = [Chain::new(), Chain::new(), Chain::new()];
        assert_eq!(rounds(&pool, &mut chains, 5).len(), 5);
        assert!(chains.iter().flat_map(|chain| &chain.0).all(|cell| cell.visits == 5 * LAPS));
    }
    Ok(())
}

#[test]
fn the_command_line_is_well_formed() {
    use clap::CommandFactory;
    Arguments::command().debug_assert();
}
