//! Synthetic elections from a seed. The program writes an election ballot by ballot, so an election
//! may be larger than the memory.

use std::{
    fmt,
    io::{self, Write},
    num::{NonZeroU64, NonZeroUsize},
};
use stv_ballots::{CandidateIndex, plural};
use stv_count::SplitMix64;

/// The election to generate.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Synthetic {
    /// The distribution of the voters' choices
    #[arg(long, value_enum)]
    pub(crate) kind: Kind,
    /// Number of ballots, each on its own line
    #[arg(long, value_name = "N", default_value = "10000")]
    pub(crate) ballots: NonZeroU64,
    /// Number of candidates [default: 64 for sorted, otherwise 10]
    #[arg(long, value_name = "N")]
    pub(crate) candidates: Option<NonZeroUsize>,
    /// Number of seats [default: 48 for sorted, otherwise 3]
    #[arg(long, value_name = "N")]
    pub(crate) seats: Option<NonZeroUsize>,
    /// The seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// All candidates are equally popular
    Uniform,
    /// Each candidate is three quarters as popular as the previous candidate
    Geometric,
    /// The number of shared ranks grows from the first ballot to the last one. Each shared rank
    /// triples the cost of a ballot, so nearly all work is in the last few ballots
    Sorted,
}

/// The most candidates on a strict ballot. Few voters rank more.
const MOST_RANKS: usize = 10;
/// The number of candidates that share a rank of a `sorted` ballot.
pub(crate) const EQUALS: usize = 3;
/// The most shared ranks of a ballot. Such a ballot takes some thousand steps, about ten
/// microseconds.
pub(crate) const MOST_SHARED_RANKS: usize = 8;

/// Writes the election in the plainest BLT: nicknames, one ballot per line, no comment before the
/// end.
pub(crate) fn write(synthetic: &Synthetic, out: &mut impl Write) -> io::Result<()> {
    let &Synthetic { kind, seed, ballots, .. } = synthetic;
    let (candidates, seats) = if kind == Kind::Sorted { (64, 48) } else { (10, 3) };
    let candidates = synthetic.candidates.map_or(candidates, NonZeroUsize::get);
    let seats = synthetic.seats.map_or(seats, NonZeroUsize::get);
    if seats > candidates {
        let message = format!(
            "{} cannot be filled by {}; change --seats or --candidates",
            plural(seats, "seat"),
            plural(candidates, "candidate")
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    writeln!(out, "{candidates} {seats}")?;
    write!(out, "[nick")?;
    for number in 1..=candidates {
        write!(out, " c{number}")?;
    }
    writeln!(out, "]")?;
    let mut voter = Voter::new(candidates, seats, seed);
    for ballot in 0..ballots.get() {
        match kind {
            Kind::Uniform => voter.uniform(),
            Kind::Geometric => voter.geometric(),
            Kind::Sorted => voter.sorted(ballots.get() - ballot, ballots.get()),
        }
        write!(out, "1")?;
        for &(candidate, separator) in &voter.ballot {
            write!(out, "{separator}c{}", candidate + 1)?;
        }
        writeln!(out, " 0")?;
    }
    writeln!(out, "0")?;
    for number in 1..=candidates {
        writeln!(out, "\"Candidate {number}\"")?;
    }
    writeln!(out, "\"Synthetic election ({kind}, seed {seed})\"")?;
    writeln!(
        out,
        "# generate --kind {kind} --ballots {ballots} --candidates {candidates} --seats {seats} --seed {seed}"
    )?;
    out.flush()
}

/// Fills in ballots, one after the other.
struct Voter {
    random: SplitMix64,
    candidates: Vec<CandidateIndex>,
    /// The chosen candidates, each with the character before it.
    ballot: Vec<(CandidateIndex, char)>,
    most_shared_ranks: usize,
}

impl Voter {
    fn new(candidates: usize, seats: usize, seed: u64) -> Self {
        // The favourites of `sorted` must be elected early and pass votes on for many rounds, so
        // they take half of the seats.
        let most_shared_ranks = (seats / 2 / EQUALS).max(1).min(candidates / EQUALS).min(MOST_SHARED_RANKS);
        Self {
            random: SplitMix64::new(seed),
            candidates: (0..candidates).collect(),
            ballot: Vec::new(),
            most_shared_ranks,
        }
    }

    fn uniform(&mut self) {
        let length = 1 + self.random.below(self.candidates.len().min(MOST_RANKS));
        self.random.choose(&mut self.candidates, length);
        self.ballot.clear();
        self.ballot.extend(self.candidates[..length].iter().map(|&candidate| (candidate, ' ')));
    }

    fn geometric(&mut self) {
        let candidates = self.candidates.len();
        let length = 1 + self.random.below(candidates.min(MOST_RANKS));
        self.ballot.clear();
        while self.ballot.len() < length {
            let mut candidate = 0;
            while self.random.below(4) > 0 {
                candidate += 1;
            }
            // The candidates form a ring, which leaves the ratios of their popularity unchanged. If
            // a candidate is already chosen, the next one in the ring is taken.
            candidate %= candidates;
            while self.ballot.iter().any(|chosen| chosen.0 == candidate) {
                candidate = (candidate + 1) % candidates;
            }
            self.ballot.push((candidate, ' '));
        }
    }

    /// Fills in a `sorted` ballot. `from_end` counts down to 1 for the last ballot. Each ballot of
    /// the last quarter has at least one shared rank, each ballot of the last eighth at least two,
    /// and so on.
    fn sorted(&mut self, from_end: u64, ballots: u64) {
        let favourites = self.most_shared_ranks * EQUALS;
        let shared_ranks =
            (1..=self.most_shared_ranks).take_while(|ranks| from_end <= ballots >> (ranks + 1)).count();
        let (favourites, others) = self.candidates.split_at_mut(favourites);
        self.ballot.clear();
        if shared_ranks > 0 {
            let chosen = shared_ranks * EQUALS;
            self.random.choose(favourites, chosen);
            let separators = [' ', '=', '='].into_iter().cycle();
            self.ballot.extend(favourites[..chosen].iter().copied().zip(separators));
            return;
        }
        if !favourites.is_empty() && (others.is_empty() || self.random.below(5) > 0) {
            self.random.choose(favourites, 1);
            self.ballot.push((favourites[0], ' '));
        }
        let length = others.len().min(2);
        self.random.choose(others, length);
        self.ballot.extend(others[..length].iter().map(|&candidate| (candidate, ' ')));
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uniform => "uniform",
            Self::Geometric => "geometric",
            Self::Sorted => "sorted",
        })
    }
}
