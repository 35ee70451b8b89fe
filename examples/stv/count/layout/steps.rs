//! Counts shared ranks without branches. Until a candidate is elected or defeated, every
//! distribution visits the same ranks of a tree, with other keep factors. So a walk down the tree
//! is written once as a list of steps, and later distributions repeat the list. The processor then
//! does not have to predict the number of equals that hold a rank, or the number of parts of a
//! ballot that reach the rank. A repeated step takes a third of the time of a step in a walk.

use super::{
    MOST_IN_SETS, ONE,
    equals::members,
    kept::Kept,
    trie::{Rank, Trie},
    walk::{SHARES, walk},
};
use std::ops::Range;

/// The steps of a chunk.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The states of the candidates in the last distribution.
    standing: Option<Standing>,
    /// Whether `list` has the steps for these states. The steps are written when the states occur a
    /// second time.
    written: Written,
    list: Vec<Step>,
}

/// Two sets of candidates: those that keep anything, and those that keep something and pass
/// something on.
pub(super) type Standing = (u64, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Written {
    #[default]
    NotYet,
    All,
    /// The chunk has too many steps.
    Never,
}

/// One candidate of a rank gets a part of a power, keeps some of this part, and passes on the rest.
/// Every distribution reads all steps, so a step is one word. The fields of the word, from the
/// lowest bits, are:
///
/// * the number of the step that has passed on the power, from 1 (0 stands for a whole ballot);
/// * the candidate;
/// * the number of candidates that share the power, less one;
/// * the number of ballots, or that number divided by 256.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step(u32);

const FROM_BITS: u32 = 11;
const SET_BITS: u32 = 6;
const WEIGHT_BITS: u32 = 8;
const _: () = assert!(MOST_IN_SETS == 1 << SET_BITS && FROM_BITS + 2 * SET_BITS + WEIGHT_BITS == 31);

/// The most steps of a chunk. A step refers to another step with `FROM_BITS` bits, so more steps
/// have no number. If a chunk needs more steps, every distribution walks through the chunk. Only
/// ballots with very many parts need more steps. The steps of all chunks together take some
/// megabytes at most.
const MOST_STEPS: usize = (1 << FROM_BITS) - 1;

impl Step {
    fn new(from: u32, candidate: u32, equals: u32) -> Self {
        Self(from | candidate << FROM_BITS | (equals - 1) << (FROM_BITS + SET_BITS))
    }

    /// Returns this step for some of the ballots, and the number of the ballots that need another
    /// step.
    fn about(self, weight: u64) -> (Self, u64) {
        let most = (1 << WEIGHT_BITS) - 1;
        let (digit, times) = if weight > most { ((weight >> WEIGHT_BITS).min(most), 1) } else { (weight, 0) };
        #[allow(clippy::cast_possible_truncation)] // a digit
        let bits = digit as u32 | times << WEIGHT_BITS;
        (Self(self.0 | bits << (FROM_BITS + 2 * SET_BITS)), weight - (digit << (times * WEIGHT_BITS)))
    }

    #[inline(always)]
    fn weight(self) -> u64 {
        let bits = self.0 >> (FROM_BITS + 2 * SET_BITS);
        u64::from(bits & ((1 << WEIGHT_BITS) - 1)) << (bits >> WEIGHT_BITS << WEIGHT_BITS.ilog2())
    }

    #[inline(always)]
    fn from(self) -> usize {
        (self.0 & ((1 << FROM_BITS) - 1)) as usize
    }

    #[inline(always)]
    fn candidate(self) -> usize {
        (self.0 >> FROM_BITS & ((1 << SET_BITS) - 1)) as usize
    }

    /// The number of equals that share the power, less one.
    #[inline(always)]
    fn others(self) -> usize {
        (self.0 >> (FROM_BITS + SET_BITS) & ((1 << SET_BITS) - 1)) as usize
    }
}

/// The memory with which a worker repeats steps.
#[derive(Debug)]
pub(super) struct Room {
    powers: Box<[u32; MOST_STEPS + 1]>,
}

impl Default for Room {
    fn default() -> Self {
        Self { powers: Box::new([0; MOST_STEPS + 1]) }
    }
}

impl Room {
    /// Repeats the steps, and adds their votes.
    pub(super) fn repeat(&mut self, steps: &[Step], kept: &Kept, votes: &mut [u64]) {
        let (splits, powers) = (kept.first(), &mut *self.powers);
        let mut more = [0; MOST_IN_SETS];
        powers[0] = ONE;
        for (place, &step) in (1..).zip(steps) {
            let part = SHARES[step.others()].of(powers[step.from()]);
            let (used, rest) = splits[step.candidate()].of(part);
            powers[place & MOST_STEPS] = rest;
            more[step.candidate()] += u64::from(used) * step.weight();
        }
        votes.iter_mut().zip(more).for_each(|(votes, more)| *votes += more);
    }
}

impl Steps {
    /// The steps of this chunk for the present states of the candidates, if they are written.
    pub(super) fn of<S: Rank + Into<u64>>(
        &mut self,
        tree: &Trie<S>,
        range: &Range<usize>,
        above: &[u32],
        kept: &Kept,
    ) -> Option<&[Step]> {
        let standing = kept.standing();
        if self.standing != Some(standing) {
            (self.standing, self.written) = (Some(standing), Written::NotYet);
            return None;
        }
        if self.written == Written::NotYet {
            self.list.clear();
            let mut writer = Writer { standing, steps: &mut self.list, parts: vec![0], ends: vec![0, 1] };
            self.written = if writer.write(tree, range, above) { Written::All } else { Written::Never };
        }
        (self.written == Written::All).then_some(&self.list)
    }
}

#[cfg(test)]
impl Steps {
    /// The number of steps, if they are written.
    pub(super) fn written(&self) -> Option<usize> {
        (self.written == Written::All).then_some(self.list.len())
    }
}

struct Writer<'a> {
    standing: Standing,
    steps: &'a mut Vec<Step>,
    /// The parts of the ballot at each depth, depth after depth. A part is the number of the step
    /// that has passed it on.
    parts: Vec<u16>,
    /// The parts of depth `d` are `parts[ends[d]..ends[d + 1]]`.
    ends: Vec<usize>,
}

impl Writer<'_> {
    /// Writes the steps of a chunk. Returns false if there are too many.
    fn write<S: Rank + Into<u64>>(&mut self, tree: &Trie<S>, range: &Range<usize>, above: &[u32]) -> bool {
        let mut all = true;
        walk(tree, range.clone(), above, |depth, ranks, weight| {
            all && (depth..).zip(ranks).all(|(depth, &set)| {
                let passed_on = self.rank(set.into(), depth, weight);
                all &= passed_on.is_some();
                passed_on.unwrap_or(false)
            })
        });
        all
    }

    /// Writes the steps of one rank. Returns whether the rank passes anything on, or `None` if
    /// there are too many steps.
    fn rank(&mut self, set: u64, depth: usize, weight: u64) -> Option<bool> {
        let (holders, elected) = (set & self.standing.0, set & self.standing.1);
        let parts = self.ends[depth]..self.ends[depth + 1];
        self.parts.truncate(parts.end);
        self.ends.truncate(depth + 2);
        for part in parts {
            let from = self.parts[part];
            // Above the chunk, a candidate matters only if it passes on a part of the ballot.
            for candidate in members(if weight > 0 { holders } else { elected }) {
                #[allow(clippy::cast_possible_truncation)] // a member of a set of 64
                let step = Step::new(from.into(), candidate as u32, holders.count_ones());
                let (first, mut left) = step.about(weight);
                self.steps.push(first);
                if elected >> candidate & 1 != 0 {
                    self.parts.push(u16::try_from(self.steps.len()).ok()?);
                }
                while left > 0 && self.steps.len() <= MOST_STEPS {
                    let more;
                    (more, left) = step.about(left);
                    self.steps.push(more);
                }
            }
            if self.steps.len() > MOST_STEPS {
                return None;
            }
        }
        self.ends.push(self.parts.len());
        Some(elected != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_what_was_written() {
        for (from, candidate, equals) in [(0, 0, 1), (1, 63, 64), (2047, 5, 3)] {
            for weight in [0, 1, 255, 256, 257, 65_535, 65_536, 1_234_567] {
                let step = Step::new(from, candidate, equals);
                let (mut sum, mut left) = (0, weight);
                loop {
                    let one;
                    (one, left) = step.about(left);
                    sum += one.weight();
                    let said = [one.from(), one.candidate(), one.others() + 1];
                    assert_eq!(said, [from, candidate, equals].map(|number| number as usize));
                    if left == 0 {
                        break;
                    }
                }
                assert_eq!(sum, weight);
            }
        }
    }
}
