//! Where a worker sits, as far as thieves need to know: in which cache and in which memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where a worker sits, as far as thieves need to know: its last-level cache and its NUMA node. The
/// default is a worker that is not pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Locality {
    /// The last-level cache, numbered from 1; 0 is unknown.
    cache: u32,
    node: u32,
}

impl Locality {
    /// Caches are numbered across all nodes: workers with the same number share a cache.
    pub(crate) fn new(cache: usize, node: usize) -> Self {
        let from_1 = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        Self { cache: from_1(cache), node: from_1(node) }
    }

    /// The distance between two workers. A worker that is not pinned is near no other, as thief or
    /// as victim, so in a pool that is not pinned no victim is preferred.
    pub(crate) fn distance(self, other: Self) -> Distance {
        if self == Self::default() || other == Self::default() {
            Distance::Beyond
        } else if self.cache == other.cache {
            Distance::Cache
        } else if self.node == other.node {
            Distance::Node
        } else {
            Distance::Beyond
        }
    }
}

/// The home of a worker, which can change. A hint in one word, independent of all others, hence
/// `Relaxed`. The atomic is std's, not loom's: no step of the protocol depends on its value, so
/// there is nothing for loom to explore.
#[derive(Debug, Default)]
pub(crate) struct AtomicLocality(AtomicU64);

impl AtomicLocality {
    #[allow(clippy::cast_possible_truncation, reason = "takes the halves apart")]
    pub(crate) fn load(&self) -> Locality {
        let bits = self.0.load(Ordering::Relaxed); // partner: `store`
        Locality { cache: bits as u32, node: (bits >> 32) as u32 }
    }

    pub(crate) fn store(&self, Locality { cache, node }: Locality) {
        self.0.store(u64::from(node) << 32 | u64::from(cache), Ordering::Relaxed); // partner: `load`
    }
}

/// How far a victim is from a thief: in the same last-level cache, in another cache of the same
/// NUMA node, or farther.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    Cache,
    Node,
    Beyond,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Distance::*, *};

    #[test]
    fn homes_know_their_distance() {
        let home = Locality::new(2, 1);
        assert_eq!(home.distance(home), Cache);
        assert_eq!(home.distance(Locality::new(2, 0)), Cache, "a cache over two nodes is a cache");
        assert_eq!(home.distance(Locality::new(3, 1)), Node);
        assert_eq!(home.distance(Locality::new(0, 0)), Beyond);
        let unknown = Locality::default();
        assert_eq!(Locality::new(0, 0).distance(unknown), Beyond, "cache 0 is a cache");
        assert_eq!(unknown.distance(Locality::new(0, 0)), Beyond);
        assert_eq!(unknown.distance(unknown), Beyond);
    }

    #[test]
    fn homes_fit_into_a_word() {
        let atomic = AtomicLocality::default();
        assert_eq!(atomic.load(), Locality::default());
        for home in [
            Locality::new(0, 0),
            Locality::new(2, 1),
            Locality::new(usize::MAX, 7),
            Locality::new(7, usize::MAX),
        ] {
            atomic.store(home);
            assert_eq!(atomic.load(), home);
            assert_ne!(home, Locality::default());
        }
    }
}
