//! The ballots in an order that brings equal beginnings together.

use crate::election::{Ballot, Ballots, Preference, Preferences};
use std::cmp::Ordering;

/// What is left of the ballots, last ones first; those with equal ranks come before the strict
/// ones.
pub(super) struct Order {
    /// As many codes of a ballot as fit.
    keys: Vec<(u64, Ballot)>,
}

/// So many ballots later, the memory of those that have been taken is given back: that of what they
/// become grows meanwhile.
const PORTION: usize = 1 << 14;

impl Order {
    pub(super) fn new(ballots: &Ballots, candidates: usize) -> Self {
        let records = ballots.records();
        let bits = (2 * candidates as u64).ilog2() + 1;
        let fit = 63 / bits;
        let (mut keys, mut codes, mut longest) = (Vec::with_capacity(records.len()), Vec::new(), 0);
        for &ballot in records {
            let equal_ranks = ballots.has_equal_ranks(ballot);
            codes.clear();
            encode(ballots.preferences(ballot), equal_ranks && !ballots.equalize, &mut codes);
            longest = longest.max(codes.len());
            let mut key = u64::from(equal_ranks);
            for at in 0..fit as usize {
                key = key << bits | codes.get(at).map_or(0, |&code| u64::from(code));
            }
            keys.push((key, ballot));
        }
        if longest <= fit as usize {
            keys.sort_unstable_by_key(|key| key.0);
        } else {
            keys.sort_unstable_by(|left, right| {
                left.0.cmp(&right.0).then_with(|| compare(ballots, left.1, right.1))
            });
        }
        Self { keys }
    }
}

impl Iterator for Order {
    type Item = Ballot;

    fn next(&mut self) -> Option<Ballot> {
        let (_, ballot) = self.keys.pop()?;
        if self.keys.len().is_multiple_of(PORTION) {
            self.keys.shrink_to_fit();
        }
        Some(ballot)
    }
}

/// The codes of a ballot; equals in candidate order if they may be, so that ranks are equal as
/// codes if they are equal as sets.
fn encode(preferences: Preferences<'_>, in_any_order: bool, codes: &mut Vec<u32>) {
    if !in_any_order {
        return codes.extend(preferences.map(Preference::code));
    }
    let mut equals = 0;
    for preference in preferences {
        if preference.shares_rank_with_next() {
            codes.push(preference.code());
        } else {
            codes.push(preference.code() + 1);
            codes[equals..].sort_unstable();
            equals = codes.len();
            codes[equals - 1] -= 1;
        }
    }
}

/// Two ballots that have equal ranks both or neither of them, and begin alike.
fn compare(ballots: &Ballots, left: Ballot, right: Ballot) -> Ordering {
    let [left_ones, right_ones] = [left, right].map(|ballot| ballots.preferences(ballot));
    if ballots.has_equal_ranks(left) && !ballots.equalize {
        sets(left_ones).cmp(sets(right_ones))
    } else {
        left_ones.map(Preference::code).cmp(right_ones.map(Preference::code))
    }
}

/// The ranks of a ballot as sets of candidates: equals are written in any order.
pub(super) fn sets(mut preferences: Preferences<'_>) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let mut set = 0;
        for preference in preferences.by_ref() {
            set |= 1 << preference.candidate();
            if !preference.shares_rank_with_next() {
                return Some(set);
            }
        }
        None
    })
}
