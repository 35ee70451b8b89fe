//! The candidates of a shared rank. A candidate *holds* a rank if it keeps anything. Some holders
//! also pass something on.

use super::{
    groups::{Group, Groups},
    kept::Kept,
    trie::Rank,
};

/// A rank that several candidates may share. The rank is a set of candidates, or the number of a
/// group if there are too many candidates for sets.
pub(super) trait Equals: Rank {
    /// Returns the number of holders of the rank, the holders that pass something on, and the other
    /// holders.
    fn stand<'a>(
        self,
        groups: &'a Groups,
        kept: &Kept,
        arranged: &'a mut Arranged,
    ) -> (usize, impl Iterator<Item = usize> + Clone + 'a, impl Iterator<Item = usize> + Clone + 'a);
}

impl Equals for u32 {
    #[inline(always)]
    fn stand<'a>(
        self,
        groups: &'a Groups,
        kept: &Kept,
        arranged: &'a mut Arranged,
    ) -> (usize, impl Iterator<Item = usize> + Clone + 'a, impl Iterator<Item = usize> + Clone + 'a) {
        u64::from(self).stand(groups, kept, arranged)
    }
}

impl Equals for u64 {
    #[inline(always)]
    fn stand<'a>(
        self,
        _: &'a Groups,
        kept: &Kept,
        _: &'a mut Arranged,
    ) -> (usize, impl Iterator<Item = usize> + Clone + 'a, impl Iterator<Item = usize> + Clone + 'a) {
        let (holders, elected) = (self & kept.standing().0, self & kept.standing().1);
        (holders.count_ones() as usize, members(elected), members(holders & !elected))
    }
}

impl Equals for Group {
    #[inline(always)]
    fn stand<'a>(
        self,
        groups: &'a Groups,
        kept: &Kept,
        arranged: &'a mut Arranged,
    ) -> (usize, impl Iterator<Item = usize> + Clone + 'a, impl Iterator<Item = usize> + Clone + 'a) {
        let (here, elected, holders) = arranged.of(self, groups, kept);
        let candidates = |part: &'a [u32]| part.iter().map(|&candidate| candidate as usize);
        (holders, candidates(&here[..elected]), candidates(&here[elected..holders]))
    }
}

/// The groups that a worker has met in this distribution. In each group, the holders that pass
/// something on come first, then the other holders.
#[derive(Debug, Default)]
pub(super) struct Arranged {
    candidates: Vec<u32>,
    /// For each group, the number of holders that pass something on, and the number of all holders.
    counts: Vec<(usize, usize)>,
    /// For each group, the number of the last distribution in which a worker arranged the group.
    when: Vec<u64>,
}

impl Arranged {
    pub(super) fn make_room(&mut self, groups: &Groups) {
        self.candidates.resize(groups.members(), 0);
        self.counts.resize(groups.number(), (0, 0));
        self.when.resize(groups.number(), 0);
    }

    #[inline]
    fn of(&mut self, group: Group, groups: &Groups, kept: &Kept) -> (&[u32], usize, usize) {
        let (number, range) = (group.number(), groups.range(group.number()));
        if self.when[number] != kept.distribution() {
            let mut end = range.start;
            let mut elected = 0;
            for pass_on in [true, false] {
                for candidate in groups.candidates(group) {
                    if kept.holds(candidate) && kept.passes_on(candidate) == pass_on {
                        self.candidates[end] = u32::try_from(candidate).unwrap_or(u32::MAX);
                        end += 1;
                    }
                }
                if pass_on {
                    elected = end - range.start;
                }
            }
            self.counts[number] = (elected, end - range.start);
            self.when[number] = kept.distribution();
        }
        let (elected, holders) = self.counts[number];
        (&self.candidates[range], elected, holders)
    }
}

/// The candidates of a set.
pub(super) fn members(mut set: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (first < u64::BITS).then_some(first as usize)
    })
}
