//! A thief: answers the questions of the supply according to the policy.

use std::ops::Range;

use super::plan::Plan;
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::{
            theft::{self, Watched},
            victim::{spread, victim},
        },
        supply::range::{Owner, StealPolicy, Stolen, VictimView},
    },
    sync::Patience,
};

/// A worker of a loop when it steals.
pub(crate) struct Thief<'a> {
    me: usize,
    plan: &'a Plan<'a>,
    /// The number of the current theft of this worker, from 1.
    nth: usize,
    /// How often this worker has asked the policy for a victim.
    asked: u64,
    /// Two facts about the current victim: whether a theft from it needs an expensive heavy fence,
    /// and whether the victim is stuck in an item.
    is_dear: bool,
    is_stuck: bool,
    /// When the theft began, if the theft needs an expensive fence.
    begun: Option<Instant>,
}

impl<'a> Thief<'a> {
    pub(crate) fn new(me: usize, plan: &'a Plan<'a>) -> Self {
        Self { me, plan, nth: 0, asked: 0, is_dear: false, is_stuck: false, begun: None }
    }

    /// Steals, and learns the cost of the fence if the fence is expensive.
    pub(crate) fn steal(&mut self, owner: &mut Owner<'_>) -> Option<Stolen> {
        self.nth += 1;
        let stolen = owner.steal(self);
        if let (Some(_), Some(begun)) = (&stolen, self.begun.take()) {
            self.plan.heavy.see(nanos(begun.elapsed()));
        }
        stolen
    }
}

impl StealPolicy for Thief<'_> {
    fn victim(&mut self, others: &mut dyn Iterator<Item = (usize, usize)>) -> Option<usize> {
        self.asked += 1;
        let Self { me, plan, asked, .. } = *self;
        let others = others.map(|(worker, left)| (worker, left, plan.distance(me, worker)));
        victim(others, spread(plan.shared.workers, me, asked))
    }

    fn pays(&mut self, victim: VictimView<'_>) -> bool {
        (self.is_dear, self.is_stuck, self.begun) = (false, false, None);
        let Some(fence) = victim.fence() else { return true };
        self.is_dear = fence.is_dear_for_thieves();
        let heavy = if self.is_dear { self.plan.heavy.get() } else { 0.0 };
        let before = victim.start();
        Patience::of(theft::moment(heavy)).poll(|| victim.left() == 0);
        let moved = victim.start().saturating_sub(before);
        let watched = theft::watched(heavy, self.is_dear, moved, victim.left());
        self.is_stuck = watched == Watched::Stuck;
        watched != Watched::AlmostDone
    }

    fn middle(&mut self, victim: usize, left: Range<usize>) -> Option<usize> {
        self.begun = self.is_dear.then(Instant::now);
        if self.is_stuck {
            return Some(left.start);
        }
        theft::middle(self.plan.shared.boundaries.profile(), self.nth, victim, left)
    }
}
