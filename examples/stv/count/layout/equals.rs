//! The candidates of a rank in a distribution. A worker computes them once for each rank that it
//! meets: their shares, if equals count as all orders, or who holds the rank, if they count as in
//! Droop.

use super::{
    ONE,
    groups::{Group, Groups},
    kept::Kept,
};
use crate::{arithmetic::Fixed9, spread};

/// The shares of ranks that count as all orders.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The share of each member of each group, in billionths of the power that comes to the rank.
    kept: Vec<u32>,
    passed_on: Vec<u32>,
    /// For each group, the number of the distribution for which its shares were computed.
    when: Vec<u64>,
    /// Scratch memory.
    polynomials: Vec<Fixed9>,
}

impl Shares {
    pub(super) fn make_room(&mut self, groups: &Groups) {
        self.kept.resize(groups.members().len(), 0);
        self.passed_on.resize(groups.number(), 0);
        self.when.resize(groups.number(), 0);
    }

    /// The candidates of a rank with their shares, and the share that the rank passes on.
    #[inline]
    pub(super) fn of<'a>(
        &'a mut self,
        group: Group,
        groups: &'a Groups,
        kept: &Kept,
    ) -> (impl Iterator<Item = (usize, u32)> + 'a, u32) {
        if self.when[group.number()] != kept.distribution() {
            self.work_out(group, groups, kept);
        }
        let range = groups.range(group);
        let members = groups.members()[range.clone()].iter().map(|member| member.candidate());
        (members.zip(self.kept[range].iter().copied()), self.passed_on[group.number()])
    }

    #[cold]
    fn work_out(&mut self, group: Group, groups: &Groups, kept: &Kept) {
        let range = groups.range(group);
        let members = &groups.members()[range.clone()];
        let shares = &mut self.kept[range];
        shares.fill(0);
        let passed_on = spread::shares(members, kept.factors(), &mut self.polynomials, |place, share| {
            shares[place] = share.billionths().unwrap_or(ONE);
            Ok(())
        });
        let passed_on = passed_on.ok().and_then(Fixed9::billionths);
        self.passed_on[group.number()] = passed_on.expect("so few equals have shares between zero and one");
        self.when[group.number()] = kept.distribution();
    }
}

/// The holders of ranks that count as in Droop. A candidate *holds* a rank if it keeps anything.
/// In each group, the holders that pass something on come first, then the other holders.
#[derive(Debug, Default)]
pub(super) struct Holders {
    candidates: Vec<u32>,
    /// For each group, the number of holders that pass something on, and the number of all holders.
    counts: Vec<(usize, usize)>,
    /// For each group, the number of the distribution for which its holders were found.
    when: Vec<u64>,
}

impl Holders {
    pub(super) fn make_room(&mut self, groups: &Groups) {
        self.candidates.resize(groups.members().len(), 0);
        self.counts.resize(groups.number(), (0, 0));
        self.when.resize(groups.number(), 0);
    }

    /// The holders that pass something on, and the other holders.
    #[inline]
    pub(super) fn of(&mut self, group: Group, groups: &Groups, kept: &Kept) -> (&[u32], &[u32]) {
        let range = groups.range(group);
        if self.when[group.number()] != kept.distribution() {
            let (mut end, mut elected) = (range.start, 0);
            for pass_on in [true, false] {
                for candidate in groups.members()[range.clone()].iter().map(|member| member.candidate()) {
                    if kept.holds(candidate) && kept.passes_on(candidate) == pass_on {
                        self.candidates[end] = u32::try_from(candidate).unwrap_or(u32::MAX);
                        end += 1;
                    }
                }
                if pass_on {
                    elected = end - range.start;
                }
            }
            self.counts[group.number()] = (elected, end - range.start);
            self.when[group.number()] = kept.distribution();
        }
        let (elected, holders) = self.counts[group.number()];
        self.candidates[range][..holders].split_at(elected)
    }
}
