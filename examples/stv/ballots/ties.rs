//! Who is tied, and what decides.

use crate::election::CandidateIndex;
use std::fmt;

/// The source of a tie-break order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieOrder {
    /// The order of the list of candidates, because nobody gave another order.
    BallotPaper,
    /// The order in the file.
    File,
    /// An order drawn from this seed.
    Random(u64),
}

impl TieOrder {
    /// The name of the source in JSON.
    pub fn name(self) -> String {
        match self {
            Self::BallotPaper => "ballot paper".to_owned(),
            Self::File => "file".to_owned(),
            Self::Random(seed) => format!("random:{seed}"),
        }
    }

    /// The source of this name.
    pub fn named(name: &str) -> Option<Self> {
        let seed = || name.strip_prefix("random:")?.parse().ok().map(Self::Random);
        [Self::BallotPaper, Self::File].into_iter().find(|order| order.name() == name).or_else(seed)
    }
}

/// The tied candidates, in candidate order, as one bit per candidate. Nearly all of thousands of
/// candidates may be tied in every round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tied(Vec<u64>);

impl Tied {
    /// The tied candidates, in candidate order.
    pub fn iter(&self) -> impl Iterator<Item = CandidateIndex> {
        let bits = |(place, &bits): (usize, &u64)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| place * 64 + bit)
        };
        self.0.iter().enumerate().flat_map(bits)
    }

    /// The number of tied candidates.
    pub fn number(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Whether the candidate is one of the tied.
    pub fn contains(&self, candidate: CandidateIndex) -> bool {
        self.0.get(candidate / 64).is_some_and(|bits| bits >> (candidate % 64) & 1 == 1)
    }
}

impl FromIterator<CandidateIndex> for Tied {
    fn from_iter<I: IntoIterator<Item = CandidateIndex>>(candidates: I) -> Self {
        let mut tied = Vec::new();
        for candidate in candidates {
            tied.resize(tied.len().max(candidate / 64 + 1), 0);
            tied[candidate / 64] |= 1 << (candidate % 64);
        }
        Self(tied)
    }
}

/// The reason of a decided tie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    /// The last round that was used, if earlier rounds distinguish some of the tied candidates. 0
    /// is the beginning.
    pub round: Option<usize>,
    /// The order that decided between several candidates that no round distinguishes.
    pub order: Option<TieOrder>,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.round {
            Some(0) => f.write_str("fewer votes at the beginning")?,
            Some(round) => write!(f, "fewer votes in round {round}")?,
            None => {}
        }
        if self.round.is_some() && self.order.is_some() {
            f.write_str(", then ")?;
        }
        match self.order {
            Some(TieOrder::BallotPaper) => f.write_str("ballot-paper order"),
            Some(TieOrder::File) => f.write_str("the order of the file’s [tie …]"),
            Some(TieOrder::Random(seed)) => write!(f, "lot, drawn with random:{seed}"),
            None => Ok(()),
        }
    }
}
