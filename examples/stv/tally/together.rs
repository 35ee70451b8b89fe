//! Distributions over several ranks. Each rank distributes its share of the ballots, and then every
//! rank adds up the sums of all ranks. So all ranks go through the same rounds, with the same
//! digits.
//!
//! Every rank sends a message once per distribution, and once at the end. A rank that ends early
//! sends the reason instead, and the other ranks then end too.

use crate::{
    arithmetic::{Arithmetic, Fault},
    error::CountError,
    ranks::{self, Elsewhere, Ranks},
    spread::Votes,
    wire,
};
use rangesteal::reproducible::{Part, Place};
use std::sync::OnceLock;

/// The ranks of a count.
pub(super) struct Together<'a> {
    ranks: &'a dyn Ranks,
    /// The reason why another rank has ended, if one has ended.
    ended: OnceLock<Elsewhere>,
}

/// The votes of some of the ballots, or a fault.
pub(super) type Found<A> = Result<Votes<A>, Fault>;

impl<'a> Together<'a> {
    pub(super) fn new(ranks: &'a dyn Ranks) -> Self {
        Self { ranks, ended: OnceLock::new() }
    }

    pub(super) fn number(&self) -> usize {
        self.ranks.number()
    }

    /// The sum of the votes of all ranks, for sums that do not depend on their order.
    pub(super) fn sum<A: Arithmetic>(&self, found: Found<A>) -> Found<A> {
        if self.number() == 1 {
            return found;
        }
        let mut said = Vec::new();
        write(&found, &mut said);
        let all = self.gather(said, |from| read(from))?;
        all.into_iter().reduce(both).unwrap_or(found)
    }

    /// The sum of the votes of all ranks, in the order of the tree. Each rank has a part of the
    /// tree.
    pub(super) fn sum_in_order<A: Arithmetic>(
        &self,
        ballots: usize,
        candidates: usize,
        found: Part<Found<A>>,
    ) -> Found<A> {
        let mut said = Vec::new();
        for (place, found) in found.into_nodes() {
            for word in place {
                wire::put_word(word, &mut said);
            }
            write(&found, &mut said);
        }
        let nodes = self.gather(said, |from| {
            let mut nodes: Vec<(Place, Found<A>)> = Vec::new();
            while !from.is_empty() {
                let mut place = Place::default();
                for word in &mut place {
                    *word = wire::word(from)?;
                }
                nodes.push((place, read(from)?));
            }
            Some(nodes)
        })?;
        let whole = Part::from_nodes(ballots, nodes.into_iter().flatten(), both);
        let result = whole.and_then(|whole| whole.into_result(both)).map_err(|_| Fault::Incomplete)?;
        result.unwrap_or_else(|| Ok(Votes::none(candidates)))
    }

    /// Exchanges messages with all ranks, and parses them.
    fn gather<T>(&self, said: Vec<u8>, read: impl Fn(&mut &[u8]) -> Option<T>) -> Result<Vec<T>, Fault> {
        let heard = ranks::gather(self.ranks, Ok(said)).and_then(|heard| {
            let read = heard.iter().enumerate().map(|(rank, said)| {
                let mut from = &said[..];
                read(&mut from).filter(|_| from.is_empty()).ok_or(Elsewhere::unreadable(rank))
            });
            read.collect()
        });
        heard.map_err(|ended| {
            self.ended.get_or_init(|| ended);
            Fault::Elsewhere
        })
    }

    /// Ends the count on all ranks. If one rank has failed, all ranks fail.
    pub(super) fn end<T>(&self, counted: Result<T, CountError>) -> Result<T, CountError> {
        if let Some(ended) = self.ended.get() {
            return Err(CountError::Elsewhere(ended.clone()));
        }
        let (counted, said) = match counted {
            Ok(counted) => (Some(counted), Ok(Vec::new())),
            Err(error) => (None, Err(error)),
        };
        ranks::gather(self.ranks, said)?;
        Ok(counted.expect("who has not counted has said so"))
    }
}

/// The sum of two parts.
pub(super) fn both<A: Arithmetic>(left: Found<A>, right: Found<A>) -> Found<A> {
    left?.plus(&right?)
}

fn write<A: Arithmetic>(found: &Found<A>, out: &mut Vec<u8>) {
    match found {
        Err(fault) => out.push(fault.number()),
        Ok(votes) => {
            out.push(0);
            wire::put_word(votes.of.len() as u64, out);
            votes.of.iter().chain([&votes.exhausted]).for_each(|votes| votes.write(out));
        }
    }
}

fn read<A: Arithmetic>(from: &mut &[u8]) -> Option<Found<A>> {
    let (&first, rest) = from.split_first()?;
    *from = rest;
    if first > 0 {
        return Fault::from_number(first).map(Err);
    }
    let candidates = wire::word(from)?;
    let of = (0..candidates).map(|_| A::read(from)).collect::<Option<_>>()?;
    Some(Ok(Votes { of, exhausted: A::read(from)? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::{Approx, BigFixed9, Exact, Fixed9, Float64, Integer},
        ranks::tests::together,
    };
    use proptest::prelude::*;

    fn votes<A: Arithmetic>(numbers: &[i64], divisor: i64) -> Votes<A> {
        let number = |number: &i64| {
            A::one()
                .times_whole(&Integer::Word(*number))
                .unwrap()
                .over_whole(&Integer::Word(divisor))
                .unwrap()
        };
        Votes { of: numbers.iter().map(number).collect(), exhausted: number(&divisor) }
    }

    fn survives<A: Arithmetic>(numbers: &[i64], divisor: i64) {
        let mut out = Vec::new();
        let found: [Found<A>; 3] = [Ok(votes(numbers, divisor)), Err(Fault::Unwieldy), Ok(Votes::none(0))];
        for found in &found {
            write(found, &mut out);
        }
        let mut from = &out[..];
        for found in &found {
            assert_eq!(read(&mut from).as_ref(), Some(found));
        }
        assert_eq!((from.len(), read::<A>(&mut from)), (0, None));
        for end in 0..out.len() {
            let mut from = &out[..end];
            let whole = found.iter().take_while(|_| read::<A>(&mut from).is_some()).count();
            assert!(whole < found.len(), "it was cut short");
        }
    }

    proptest! {
        #[test]
        fn what_was_found_is_read_as_it_was_written(
            numbers in prop::collection::vec(0..1_000_000_000_i64, 0..5),
            divisor in 1..1000_i64,
        ) {
            survives::<Fixed9>(&numbers, divisor);
            survives::<BigFixed9>(&numbers, divisor);
            survives::<Float64>(&numbers, divisor);
            survives::<Exact>(&numbers, divisor);
            survives::<Approx>(&numbers, divisor);
        }

        #[test]
        fn other_bytes_are_nothing(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut from = &bytes[..];
            if let Some(Ok(found)) = read::<Exact>(&mut from) {
                prop_assert!(found.of.len() < bytes.len());
            }
        }
    }

    #[test]
    fn every_fault_has_a_number() {
        for number in 1..=u8::MAX {
            assert!(Fault::from_number(number).is_none_or(|fault| fault.number() == number));
        }
        assert_eq!(Fault::from_number(Fault::Incomplete.number()), Some(Fault::Incomplete));
    }

    #[test]
    fn a_fault_of_one_is_a_fault_of_all() {
        let found = together(3, |ranks| {
            let mine = if ranks.rank() == 1 { Err(Fault::Overflow) } else { Ok(votes::<Fixed9>(&[5], 1)) };
            Together::new(ranks).sum(mine)
        });
        assert_eq!(found, [const { Err(Fault::Overflow) }; 3]);
    }

    /// A rank whose output is full ends in the middle of a count, while the other ranks distribute.
    #[test]
    fn who_ends_early_ends_all() {
        let ended = together(3, |ranks| {
            let together = Together::new(ranks);
            let counted = if ranks.rank() == 0 {
                Err(CountError::Transcript(std::io::Error::other("it is full")))
            } else {
                together.sum(Ok(votes::<Fixed9>(&[5], 1))).map_err(CountError::from)
            };
            together.end(counted).unwrap_err().to_string()
        });
        assert_eq!(ended[0], "cannot write the transcript: it is full");
        assert!(ended[1..].iter().all(|ended| ended == "rank 0: cannot write the transcript: it is full"));
    }
}
