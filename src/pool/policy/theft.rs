//! When a theft pays, and where it begins.

use std::{ops::Range, time::Duration};

use super::{
    prices::{AWAKE_NS, HARMLESS_NS, THEFT_NS},
    split::{NAP, Profile},
};
use crate::clock::time;

/// The number of a worker's thefts in a loop that divide ranges by the costs of the last call. If
/// a worker steals more often, these costs are wrong, so its later thefts divide ranges by the
/// number of items.
const TRUSTED: usize = 2;
const CALLER: usize = 0;

/// The state of a victim that a thief has watched for a [`moment`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Watched {
    /// The victim will finish the rest before a theft would help.
    AlmostDone,
    /// The victim has enough work left for two workers.
    Busy,
    /// The victim has claimed nothing for a [`moment`], and thefts from it are expensive. Its
    /// claims took less time at its last reading of the clock, but now a single claim takes
    /// longer. Until that claim ends, the victim does not reach the rest of its range. Each
    /// theft of half of the rest would cost an expensive fence, so the thief takes all of the rest.
    /// After the claim the victim steals in turn.
    Stuck,
}

/// How long a thief watches a victim. The fence of the theft costs `heavy` nanoseconds. The more
/// expensive the theft, the longer the thief watches. (A victim that claims nothing may only have
/// been interrupted.)
pub(crate) fn moment(heavy: f32) -> Duration {
    time((heavy / 2.0).clamp(AWAKE_NS, 2.0 * THEFT_NS))
}

/// The result of watching a victim that claimed `moved` items in the [`moment`] and has `left`
/// items left.
pub(crate) fn watched(heavy: f32, is_dear: bool, moved: usize, left: usize) -> Watched {
    let moment = moment(heavy).as_nanos() as f32;
    // A theft saves half of the time that the rest takes. The fence also delays the victim.
    if (left as f32) * moment < moved as f32 * (THEFT_NS + 2.0 * heavy) {
        Watched::AlmostDone
    } else if moved == 0 && is_dear && moment >= HARMLESS_NS {
        Watched::Stuck
    } else {
        Watched::Busy
    }
}

/// The index where the `nth` theft of a worker divides the range that `victim` has `left`. Both
/// parts have equal costs if the last call has shown the costs; otherwise they have equal numbers
/// of items. `None` if the victim should keep the range.
pub(crate) fn middle(
    profile: Option<&Profile>,
    nth: usize,
    victim: usize,
    left: Range<usize>,
) -> Option<usize> {
    match profile.filter(|_| nth <= TRUSTED) {
        Some(profile) if victim == CALLER && left.len() == 1 && profile.cost(&left) < NAP => None,
        Some(profile) => Some(profile.middle(left)),
        None => Some(left.start + left.len() / 2),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_theft_pays_where_the_victim_does_not_get_through_soon() {
        assert_eq!(watched(0.0, false, 0, 1), Watched::Busy, "a long item");
        assert_eq!(watched(0.0, false, 10, 10), Watched::AlmostDone, "half a microsecond is left");
        assert_eq!(watched(0.0, false, 10, 99), Watched::AlmostDone, "five are");
        assert_eq!(watched(0.0, false, 10, 100), Watched::Busy);
        assert_eq!(watched(20e3, true, 100, 449), Watched::AlmostDone, "a dear theft");
        assert_eq!(watched(20e3, true, 100, 450), Watched::Busy);
        assert_eq!(watched(20e3, true, 0, 450), Watched::Stuck);
        assert_eq!(watched(4e3, true, 0, 450), Watched::Busy, "it may be within a harmless block");
    }

    #[test]
    fn a_victim_is_watched_longer_where_thefts_are_dearer() {
        let micros = [0.0, 5e3, 1e6].map(|heavy| moment(heavy).as_nanos());
        assert_eq!(micros, [500, 2500, 10_000]);
    }

    #[test]
    fn thefts_halve_by_number_where_nothing_is_known() {
        assert_eq!(middle(None, 1, 1, 4..8), Some(6));
        assert_eq!(middle(None, 1, 0, 7..8), Some(7));
    }
}
