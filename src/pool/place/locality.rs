//! The cache and the NUMA node of a worker. A thief computes the distance to a victim from the
//! caches and the nodes of both workers.

use std::sync::atomic::{AtomicU64, Ordering};

/// The last-level cache and the NUMA node of a worker. The default stands for a worker that is not
/// pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Locality {
    /// The number of the last-level cache, from 1 on; 0 means unknown.
    cache: u32,
    node: u32,
}

impl Locality {
    /// Caches are numbered across all nodes, from 0 on: workers with the same number share a cache.
    pub(crate) fn new(cache: usize, node: usize) -> Self {
        let from_1 = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        Self { cache: from_1(cache), node: from_1(node) }
    }

    /// The distance between two workers. A worker that is not pinned is `Beyond` every other
    /// worker, both as a thief and as a victim. So a pool that is not pinned prefers no victim.
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

/// The locality of a worker, which can change. The locality is a hint in one word, and no other
/// word depends on this word, hence `Relaxed`. The atomic is that of std, not of loom: no step of
/// the protocol depends on the value, so loom has nothing to explore.
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

/// The distance from a thief to a victim. The two workers share a last-level cache, or are in
/// different caches of one NUMA node, or are farther apart.
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
    fn localities_have_a_distance() {
        let locality = Locality::new(2, 1);
        assert_eq!(locality.distance(locality), Cache);
        assert_eq!(locality.distance(Locality::new(2, 0)), Cache, "a cache over two nodes is a cache");
        assert_eq!(locality.distance(Locality::new(3, 1)), Node);
        assert_eq!(locality.distance(Locality::new(0, 0)), Beyond);
        let unknown = Locality::default();
        assert_eq!(Locality::new(0, 0).distance(unknown), Beyond, "cache 0 is a cache");
        assert_eq!(unknown.distance(Locality::new(0, 0)), Beyond);
        assert_eq!(unknown.distance(unknown), Beyond);
    }

    #[test]
    fn localities_fit_into_a_word() {
        let atomic = AtomicLocality::default();
        assert_eq!(atomic.load(), Locality::default());
        for locality in [
            Locality::new(0, 0),
            Locality::new(2, 1),
            Locality::new(usize::MAX, 7),
            Locality::new(7, usize::MAX),
        ] {
            atomic.store(locality);
            assert_eq!(atomic.load(), locality);
            assert_ne!(locality, Locality::default());
        }
    }
}
