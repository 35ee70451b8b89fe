//! Unbalanced trees: counts the nodes of a tree of unpredictable shape. The hash of a node decides
//! how many children it has (Olivier and others, UTS: an unbalanced tree search benchmark, 2006).

use std::hint::black_box;

use rangesteal::Pool;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use sha1::{Digest, Sha1};

use crate::{
    entrants::Entrants,
    row::{Cell, Row, Unit},
    task::Task,
    who::Who,
};

#[derive(Clone, Copy)]
struct Node {
    hash: [u8; 20],
    height: u32,
}

impl Node {
    fn root(seed: u32) -> Self {
        let mut text = [0; 20];
        text[16..].copy_from_slice(&seed.to_be_bytes());
        Self { hash: Sha1::digest(text).into(), height: 0 }
    }

    #[inline(never)] // one copy of the code for all entrants
    fn child(&self, index: u32) -> Self {
        let mut text = [0; 24];
        text[..20].copy_from_slice(&self.hash);
        text[20..].copy_from_slice(&index.to_be_bytes());
        Self { hash: Sha1::digest(text).into(), height: self.height + 1 }
    }

    /// A number from 0 to 1, derived from the node's hash.
    fn chance(&self) -> f64 {
        let last = self.hash[16..].try_into().expect("four bytes");
        f64::from(u32::from_be_bytes(last) & i32::MAX as u32) / f64::from(1_u32 << 31)
    }
}

/// The distribution of the number of children.
#[derive(Clone, Copy)]
enum Shape {
    /// 4 children on average, and none at a height of 10.
    Geometric,
    /// The root has 2000 children. Each other node has either no child, which is the usual case, or
    /// 8 children.
    Binomial,
}

impl Shape {
    fn children(self, node: &Node) -> u32 {
        const STOPS: f64 = 1.0 / (1.0 + 4.0);
        match self {
            Self::Geometric if node.height >= 10 => 0,
            Self::Geometric => ((1.0 - node.chance()).ln() / (1.0 - STOPS).ln()).floor() as u32,
            Self::Binomial if node.height == 0 => 2000,
            Self::Binomial => 8 * u32::from(node.chance() < 0.124_875),
        }
    }

    fn plain(self, node: &Node) -> u64 {
        1 + (0..self.children(node)).map(|index| self.plain(&node.child(index))).sum::<u64>()
    }

    fn grow(self, pool: &Pool, root: Node) -> u64 {
        pool.grow([root]).fold_unordered(
            || 0,
            |nodes, node, feed| {
                feed.extend((0..self.children(&node)).map(|index| node.child(index)));
                nodes + 1
            },
            |a, b| a + b,
        )
    }

    fn rayon(self, node: &Node) -> u64 {
        let children = self.children(node);
        if children == 0 {
            return 1;
        }
        1 + (0..children).into_par_iter().map(|index| self.rayon(&node.child(index))).sum::<u64>()
    }
}

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let row = |(name, shape, seed, nodes, time, cpu): (&str, Shape, u32, u64, f64, f64)| {
        let root = black_box(Node::root(seed));
        let task = Task::plain(|| shape.plain(&root))
            .grow(|pool| shape.grow(pool, root))
            .rayon(|| shape.rayon(&root))
            .gives(nodes);
        let race = task.race(entrants);
        let row = Row::of(&race, name, Unit::Ratio, Some(time));
        let cells = [Who::Rangesteal, Who::Control, Who::Rayon].map(|who| (who, Cell::of(race.cpu(who))));
        let name = format!("{name}: CPU time");
        [row, Row { name, reference: String::new(), unit: Unit::Ratio, bar: Some(cpu), cells: cells.into() }]
    };
    let trees = [
        ("T1, geometric, 4.1M nodes", Shape::Geometric, 19, 4_130_071, 0.55, 1.08),
        ("T3, binomial, 4.1M nodes", Shape::Binomial, 42, 4_112_897, 0.57, 1.12),
    ];
    trees.into_iter().flat_map(row).collect()
}
