//! A tree in memory that is larger than the caches. The subtrees lie in memory in the order of the
//! walk.

use rangesteal::Pool;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    entrants::Entrants,
    random::Random,
    row::{Row, Unit},
    task::Task,
};

/// 2.4 million nodes of 184 bytes, some 450 MB.
const HEIGHT: u32 = 13;

struct Node {
    values: [u64; 20],
    children: Vec<Node>,
}

impl Node {
    /// A node of this height, with two to four children of the next lower height.
    fn random(height: u32, random: &mut Random) -> Self {
        let values = [(); 20].map(|()| u64::from(random.draw()));
        let children = if height == 0 { 0 } else { 2 + random.draw() as usize % 3 };
        Self { values, children: (0..children).map(|_| Self::random(height - 1, random)).collect() }
    }

    fn value(&self) -> u64 {
        self.values.iter().fold(0, |sum, value| sum.wrapping_mul(31).wrapping_add(*value))
    }

    fn plain(&self) -> u64 {
        self.children.iter().fold(self.value(), |sum, child| sum.wrapping_add(child.plain()))
    }

    fn grow(&self, pool: &Pool) -> u64 {
        pool.grow([self]).fold_unordered(
            || 0,
            |sum: u64, node, feed| {
                feed.extend(&node.children);
                sum.wrapping_add(node.value())
            },
            u64::wrapping_add,
        )
    }

    fn rayon(&self) -> u64 {
        let below = self.children.par_iter().map(Self::rayon).reduce(|| 0, u64::wrapping_add);
        self.value().wrapping_add(below)
    }
}

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let tree = Node::random(HEIGHT, &mut Random::default());
    let task = Task::plain(|| tree.plain()).grow(|pool| tree.grow(pool)).rayon(|| tree.rayon());
    vec![Row::of(&task.race(entrants), "in memory, forward", Unit::Ratio, Some(0.62))]
}
