//! Writes a synthetic election to standard output. The same options give the same bytes everywhere.
//!
//! ```text
//! cargo run --release --example generate -- --kind uniform --ballots 100000 > uniform.blt
//! ```

mod synthetic;

use clap::Parser;
use std::io::{self, BufWriter};

/// Writes a synthetic election to standard output; the same options give the same bytes everywhere
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    synthetic: synthetic::Synthetic,
}

fn main() -> io::Result<()> {
    let written = synthetic::write(&Arguments::parse().synthetic, &mut BufWriter::new(io::stdout()));
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()), // as `head` ends it
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        synthetic::{EQUALS, Kind, MOST_SHARED_RANKS, Synthetic},
        *,
    };
    use std::num::{NonZeroU64, NonZeroUsize};
    use stv_ballots::{Election, Naming, parse, print_blt};

    fn synthetic(kind: Kind, ballots: u64, candidates: usize, seats: usize, seed: u64) -> Synthetic {
        let ballots = NonZeroU64::new(ballots).unwrap();
        Synthetic {
            kind,
            ballots,
            candidates: NonZeroUsize::new(candidates),
            seats: NonZeroUsize::new(seats),
            seed,
        }
    }

    fn text(synthetic: &Synthetic) -> String {
        let mut out = Vec::new();
        synthetic::write(synthetic, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_size_can_be_read_back() {
        for kind in [Kind::Uniform, Kind::Geometric, Kind::Sorted] {
            for (candidates, seats) in [(1, 1), (2, 1), (2, 2), (3, 2), (5, 5), (9, 1), (40, 30), (300, 20)] {
                let text = text(&synthetic(kind, 50, candidates, seats, 3));
                let read = |text: &str| -> Election {
                    parse("synthetic", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
                };
                let election = read(&text);
                assert_eq!((election.candidates.len(), election.seats), (candidates, seats));
                assert_eq!(election.ballots.all().len(), 50, "no ballot is empty");
                for naming in [Naming::Numbers, Naming::Nicknames] {
                    let printed = |election: &Election| {
                        let mut out = Vec::new();
                        print_blt(election, naming, &mut out).unwrap();
                        String::from_utf8(out).unwrap()
                    };
                    let text = printed(&election);
                    assert_eq!(printed(&read(&text)), text);
                }
            }
        }
    }

    /// Seeds must keep their output: benchmarks and bug reports name a seed instead of sending a
    /// file.
    #[test]
    fn a_seed_stands_for_its_bytes() {
        let geometric = text(&synthetic(Kind::Geometric, 3, 4, 2, 7));
        let wanted = r#"4 2
[nick c1 c2 c3 c4]
1 c1 c4 0
1 c2 c3 0
1 c2 c1 c3 c4 0
0
"Candidate 1"
"Candidate 2"
"Candidate 3"
"Candidate 4"
"Synthetic election (geometric, seed 7)"
# generate --kind geometric --ballots 3 --candidates 4 --seats 2 --seed 7
"#;
        assert_eq!(geometric, wanted);
        assert_eq!(geometric, text(&synthetic(Kind::Geometric, 3, 4, 2, 7)));
        assert_ne!(geometric.replace("seed 8", "seed 7"), text(&synthetic(Kind::Geometric, 3, 4, 2, 8)));
    }

    #[test]
    fn geometric_popularity_falls_by_a_quarter() {
        let election = parse("test", text(&synthetic(Kind::Geometric, 20_000, 10, 3, 1)).as_bytes()).unwrap();
        let mut first = [0_u32; 10];
        for &ballot in election.ballots.all() {
            let mut ranked = election.ballots.preferences(ballot);
            first[ranked.next().unwrap().candidate()] += 1;
        }
        for pair in first.windows(2) {
            let ratio = f64::from(pair[1]) / f64::from(pair[0]);
            assert!((0.6..0.9).contains(&ratio), "{first:?}");
        }
    }

    #[test]
    fn sorted_puts_the_most_shared_ranks_last() {
        let text = text(&synthetic(Kind::Sorted, 4096, 64, 48, 1));
        let election = parse("synthetic", text.as_bytes()).unwrap();
        let shared = |&ballot| {
            let preferences = election.ballots.preferences(ballot);
            preferences.filter(|preference| preference.shares_rank_with_next()).count() / (EQUALS - 1)
        };
        let shared: Vec<_> = election.ballots.all().iter().map(shared).collect();
        assert!(shared.is_sorted());
        assert_eq!((shared[0], shared[3071], shared[3072], shared[4095]), (0, 0, 1, MOST_SHARED_RANKS));
    }

    #[test]
    fn more_seats_than_candidates_are_refused() {
        let error = synthetic::write(&synthetic(Kind::Uniform, 1, 2, 3, 1), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("change --seats"), "{error}");
    }
}
