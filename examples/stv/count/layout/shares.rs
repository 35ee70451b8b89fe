//! The shares of the candidates of a rank. A worker computes them once per distribution for each
//! group that it meets.

use super::{
    ONE,
    factors::Factors,
    groups::{Group, Groups},
};
use crate::{arithmetic::Fixed9, spread};

/// The shares of the groups that a worker has met. They serve the distributions of one count, since
/// the number of a distribution says whether they are of that distribution.
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
        factors: &Factors,
    ) -> (impl Iterator<Item = (usize, u32)> + 'a, u32) {
        if self.when[group.number()] != factors.distribution() {
            self.work_out(group, groups, factors);
        }
        let range = groups.range(group);
        let members = groups.members()[range.clone()].iter().map(|member| member.candidate());
        (members.zip(self.kept[range].iter().copied()), self.passed_on[group.number()])
    }

    #[cold]
    fn work_out(&mut self, group: Group, groups: &Groups, factors: &Factors) {
        let range = groups.range(group);
        let members = &groups.members()[range.clone()];
        let shares = &mut self.kept[range];
        shares.fill(0);
        let passed_on = spread::shares(members, factors.keep(), &mut self.polynomials, |place, share| {
            shares[place] = share.billionths().unwrap_or(ONE);
            Ok(())
        });
        let passed_on = passed_on.ok().and_then(Fixed9::billionths);
        self.passed_on[group.number()] = passed_on.expect("so few equals have shares between zero and one");
        self.when[group.number()] = factors.distribution();
    }
}
