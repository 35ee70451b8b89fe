//! The identity of a loop, which is the key to all that the pool has learnt from the loop. This
//! module also defines the kinds of loops.

/// A loop in the program text: the address of its monomorphised code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site(usize);

impl Site {
    pub(crate) fn new(code: *const ()) -> Self {
        Self(code.addr())
    }

    /// The key of this loop in tables, whatever slice it runs over.
    pub(crate) fn number(self) -> u64 {
        scatter(self.0 as u64)
    }
}

/// A slice: its address, and its number of indices. An index is an item, or a block of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) address: usize,
    pub(crate) len: usize,
}

/// A loop in the program text, over one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) site: Site,
    pub(crate) slice: Slice,
}

impl Loop {
    /// The number of this loop over this slice.
    pub(crate) fn number(self) -> u64 {
        let Slice { address, len } = self.slice;
        scatter(self.site.0 as u64 ^ scatter((address as u64).rotate_left(u32::BITS) ^ len as u64))
    }

    /// The number of this loop over any slice of about the same length.
    pub(crate) fn class_number(self) -> u64 {
        scatter(!self.site.number() ^ u64::from((self.slice.len | 1).ilog2()))
    }
}

/// The facts that a public loop states about itself. Each is independent of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoopKind {
    /// From where workers take items.
    pub(crate) supply: Supply,
    /// Whether an error or a match may end the loop at any item. Such a loop is expected to take
    /// about as long as last time, wherever it stops. Any other loop is expected to go through all
    /// items.
    pub(crate) may_stop: bool,
    /// Whether the loop is known to be long.
    pub(crate) is_long: bool,
    /// Whether partial results may grow from one reduction to the next. If items become dearer in a
    /// run, the worker begins a new partial result.
    pub(crate) has_large_partials: bool,
}

/// From where the workers of a loop take items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supply {
    /// Each worker has a range, and steals from other ranges.
    Ranges,
    /// From the front of the slice, all workers together: a scan.
    InOrder,
    /// From the front, for the first match. Items behind the first match are tested in vain.
    First,
    /// From the front, for any match (`any`, `all`, `position_any`). If the search lasts, each
    /// worker continues in a part of its own. (`find_any` divides the slice from the start.)
    Any,
}

impl LoopKind {
    pub(crate) const THROUGH: Self =
        Self { supply: Supply::Ranges, may_stop: false, is_long: false, has_large_partials: false };
    pub(crate) const LARGE_PARTIALS: Self = Self { has_large_partials: true, ..Self::THROUGH };
    pub(crate) const MAY_STOP: Self = Self { may_stop: true, ..Self::THROUGH };
    pub(crate) const LONG: Self = Self { is_long: true, ..Self::THROUGH };
    pub(crate) const IN_ORDER: Self = Self { supply: Supply::InOrder, ..Self::THROUGH };
    pub(crate) const FIRST: Self = Self { supply: Supply::First, ..Self::MAY_STOP };
    pub(crate) const ANY: Self = Self { supply: Supply::Any, ..Self::MAY_STOP };

    /// Whether the next call of the loop is expected to go through all items, in about the time of
    /// the last one.
    pub(crate) fn goes_through(self) -> bool {
        !self.may_stop && !self.is_long
    }

    /// Whether all workers begin at the front together, and have no ranges to steal from.
    pub(crate) fn is_from_the_front(self) -> bool {
        self.supply != Supply::Ranges
    }
}

/// The golden ratio times 2^64: its multiples spread evenly over all numbers (Knuth, The Art of
/// Computer Programming, volume 3, section 6.4).
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads numbers over all 64 bits: both halves of the product with the golden ratio.
pub(crate) fn scatter(number: u64) -> u64 {
    let product = u128::from(number) * u128::from(GOLDEN);
    (product >> u64::BITS) as u64 ^ product as u64
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Functions begin at multiples of 16, and large slices a little behind the begin of a page.
    #[test]
    fn numbers_of_one_loop_are_spread() {
        const SITES: usize = 4096;
        let mut equal = 0;
        for i in 0..SITES {
            let site = Site(0x5555_5555_0000 + 16 * i);
            let slice = Slice { address: 0x7fff_0000_0010 + (i << 12), len: 1_000_000 };
            let this = Loop { site, slice };
            let places = [site.number(), this.number(), this.class_number()].map(|n| n % 256);
            let pairs = (0..3).flat_map(|one| (0..one).map(move |other| (one, other)));
            equal += pairs.filter(|&(one, other)| places[one] == places[other]).count();
        }
        // A loop has 3 numbers, which form 3 pairs. By chance, the two numbers of one pair in 256
        // have the same place.
        let expected = SITES * 3 / 256;
        assert!((expected / 2..expected * 3 / 2).contains(&equal), "{equal} instead of {expected}");
    }
}
