//! The sums of a worker.

use super::shares::Shares;

/// The votes that a worker has counted, in billionths, and the memory of its walks. The sums of one
/// worker serve all distributions of one count.
#[derive(Debug)]
pub struct Sums {
    pub(super) votes: Vec<u64>,
    /// The number of nodes in the counted chunks. This number shows whether a distribution lost a
    /// chunk or counted it twice. It does not show whether a walk skipped a node of its chunk.
    pub(super) nodes: usize,
    pub(super) scratch: Scratch,
}

/// The memory of a walk.
#[derive(Debug)]
pub(super) struct Scratch {
    /// The power that comes to each depth of the path to the present node.
    pub(super) powers: Vec<u32>,
    pub(super) shares: Shares,
}

impl Sums {
    pub fn new(candidates: usize) -> Self {
        let scratch = Scratch { powers: vec![0; candidates + 1], shares: Shares::default() };
        Self { votes: vec![0; candidates], nodes: 0, scratch }
    }

    pub(crate) fn clear(&mut self) {
        self.votes.fill(0);
        self.nodes = 0;
    }

    pub fn add(&mut self, other: &Self) {
        for (votes, more) in self.votes.iter_mut().zip(&other.votes) {
            *votes += more;
        }
        self.nodes += other.nodes;
    }
}
