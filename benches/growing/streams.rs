//! Lists of nearly constant length. Either each item is replaced by a new one, or no item adds
//! another one.

use std::{
    cell::Cell,
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rangesteal::Pool;

use crate::{
    entrants::Entrants,
    row::{Row, Unit},
    task::{Task, busy},
    who::Who,
    work::links,
};

/// Requests that go through stages, one after the other. Each finished request admits another one,
/// so a constant number is in flight.
#[derive(Clone, Copy)]
struct Feedback {
    requests: u64,
    stages: u32,
    /// The work of a stage.
    links: u64,
}

impl Feedback {
    const ON_THE_WAY: u64 = 1000;

    /// The item after a stage of a request: the request's next stage, or another request.
    #[inline]
    fn next(self, stage: u32, request: u64) -> Option<(u32, u64)> {
        if stage + 1 < self.stages {
            return Some((stage + 1, request));
        }
        let other = request + Self::ON_THE_WAY;
        (other < self.requests).then_some((0, other))
    }

    fn plain(self) -> u64 {
        let requests = 0..self.requests;
        let stages = requests.flat_map(|_| 0..self.stages);
        stages.fold(0, |sum, _| sum.wrapping_add(busy(black_box(self.links))))
    }

    fn grow(self, pool: &Pool) -> u64 {
        pool.grow((0..Self::ON_THE_WAY).map(|request| (0, request))).fold_unordered(
            || 0,
            |sum: u64, (stage, request), feed| {
                let done = busy(black_box(self.links));
                feed.extend(self.next(stage, request));
                sum.wrapping_add(done)
            },
            u64::wrapping_add,
        )
    }

    fn rayon(self) -> u64 {
        let sum = AtomicU64::new(0);
        rayon::scope(|scope| {
            for request in 0..Self::ON_THE_WAY {
                let sum = &sum;
                scope.spawn(move |scope| self.spawned(scope, 0, request, 0, sum));
            }
        });
        sum.into_inner()
    }

    /// Carries the sum of the finished stages along, so that only the last stage writes to the
    /// shared sum.
    fn spawned<'s>(
        self,
        scope: &rayon::Scope<'s>,
        stage: u32,
        request: u64,
        before: u64,
        sum: &'s AtomicU64,
    ) {
        let done = before.wrapping_add(busy(black_box(self.links)));
        match self.next(stage, request) {
            Some((stage, request)) => {
                scope.spawn(move |scope| self.spawned(scope, stage, request, done, sum));
            }
            None => _ = sum.fetch_add(done, Relaxed),
        }
    }
}

pub(crate) fn feedback(entrants: &Entrants<'_>) -> Vec<Row> {
    let row = |(stages, micros, requests): (u32, u64, u64)| {
        let feedback = Feedback { requests, stages, links: links(1000 * micros) };
        let task =
            Task::plain(|| feedback.plain()).grow(|pool| feedback.grow(pool)).rayon(|| feedback.rayon());
        let name = format!("{}k requests of {stages} x {micros} µs, 1000 on the way", requests / 1000);
        Row::of(&task.race(entrants), name, Unit::Ratio, Some(0.52))
    };
    [(2, 1, 100_000), (4, 10, 20_000)].map(row).into()
}

/// The extra cost of a list that could grow, but does not grow.
pub(crate) fn flat(entrants: &Entrants<'_>) -> Vec<Row> {
    const LEN: u64 = 1_000_000;
    fn add(sum: u64, item: u64) -> u64 {
        sum.wrapping_add(item ^ 5)
    }
    let items = Cell::new(Vec::new());
    let task = Task::plain(|| items.take().into_iter().fold(0, add))
        .grow(|pool| {
            let grow = pool.grow(items.take());
            grow.fold_unordered(|| 0, |sum, item, _| add(sum, item), u64::wrapping_add)
        })
        .on(|pool| pool.on(items.take()).fold(|| 0, add, u64::wrapping_add))
        .prepared(|| items.set((0..LEN).collect()))
        .per_part(LEN as usize)
        .calls(10);
    let race = task.race(entrants).relative_to(Who::On);
    let mut row = Row::of(&race, "1M items that make none: more than `on`, an item", Unit::Nanos, Some(5.0));
    row.reference = format!("on {}", row.reference);
    vec![row]
}
