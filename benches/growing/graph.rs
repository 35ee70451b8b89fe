//! Connected components of a random graph. From each node without a component, a search visits all
//! reachable nodes.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use rangesteal::Pool;

use crate::{
    entrants::Entrants,
    random::Random,
    row::{Row, Unit},
    task::Task,
};

const NODES: usize = 400_000;
/// A node has 4 neighbours on average.
const EDGES: usize = 2 * NODES;
/// The component of a node that has not been visited.
const UNSEEN: u32 = u32::MAX;

struct Graph {
    /// For each node, the index of its first neighbour; then the end of the last node's neighbours.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    fn random() -> Self {
        let mut random = Random::default();
        let mut draw = || random.draw() % NODES as u32;
        let edges: Vec<[u32; 2]> = (0..EDGES).map(|_| [draw(), draw()]).collect();
        let mut arrows: Vec<[u32; 2]> = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        arrows.sort_unstable();
        let starts = (0..=NODES).map(|node| arrows.partition_point(|[from, _]| (*from as usize) < node));
        Self { starts: starts.collect(), neighbours: arrows.iter().map(|[_, to]| *to).collect() }
    }

    fn neighbours(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.neighbours[self.starts[node]..self.starts[node + 1]]
    }
}

/// The result, equal for all entrants. Searches begin in the order of the nodes. So the number of a
/// component is that of its first node, and does not depend on the order of the visits.
fn sum(components: impl Iterator<Item = u32>) -> u64 {
    components.map(u64::from).sum()
}

fn plain(graph: &Graph, components: &mut [u32]) {
    let mut stack = Vec::new();
    for first in 0..NODES as u32 {
        if components[first as usize] != UNSEEN {
            continue;
        }
        components[first as usize] = first;
        stack.push(first);
        while let Some(node) = stack.pop() {
            for &next in graph.neighbours(node) {
                let component = &mut components[next as usize];
                if *component == UNSEEN {
                    *component = first;
                    stack.push(next);
                }
            }
        }
    }
}

/// Whether this is the first visit to a node.
#[inline]
fn is_new(component: &AtomicU32, first: u32) -> bool {
    component.load(Relaxed) == UNSEEN && component.swap(first, Relaxed) == UNSEEN
}

fn grow(pool: &Pool, graph: &Graph, components: &[AtomicU32]) {
    for first in 0..NODES as u32 {
        if is_new(&components[first as usize], first) {
            pool.grow([first]).for_each(|node, feed| {
                let is_new = |next: &u32| is_new(&components[*next as usize], first);
                feed.extend(graph.neighbours(node).iter().copied().filter(is_new));
            });
        }
    }
}

fn rayon(graph: &Graph, components: &[AtomicU32]) {
    for first in 0..NODES as u32 {
        if is_new(&components[first as usize], first) {
            rayon::scope(|scope| spawned(scope, graph, components, first, first));
        }
    }
}

fn spawned<'s>(
    scope: &rayon::Scope<'s>,
    graph: &'s Graph,
    components: &'s [AtomicU32],
    first: u32,
    node: u32,
) {
    for &next in graph.neighbours(node) {
        if is_new(&components[next as usize], first) {
            scope.spawn(move |scope| spawned(scope, graph, components, first, next));
        }
    }
}

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let graph = Graph::random();
    let alone = RefCell::new(vec![UNSEEN; NODES]);
    let shared: Vec<AtomicU32> = (0..NODES).map(|_| AtomicU32::new(UNSEEN)).collect();
    let all = || sum(shared.iter().map(|component| component.load(Relaxed)));
    let task = Task::plain(|| {
        plain(&graph, &mut alone.borrow_mut());
        sum(alone.borrow().iter().copied())
    })
    .grow(|pool| {
        grow(pool, &graph, &shared);
        all()
    })
    .rayon(|| {
        rayon(&graph, &shared);
        all()
    })
    .prepared(|| {
        alone.borrow_mut().fill(UNSEEN);
        for component in &shared {
            component.store(UNSEEN, Relaxed);
        }
    });
    let name = "components, 400k nodes, 4 neighbours each";
    vec![Row::of(&task.race(entrants), name, Unit::Ratio, None)]
}
