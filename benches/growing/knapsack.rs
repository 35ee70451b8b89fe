//! Branch and bound: the best value that fits into a knapsack. The sooner a search finds a good
//! choice, the fewer choices it visits.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crossbeam_utils::CachePadded;
use rangesteal::Pool;

use crate::{
    entrants::Entrants,
    random::Random,
    row::{Row, Unit},
    task::Task,
};

struct Thing {
    weight: u64,
    value: u64,
}

struct Knapsack {
    /// In falling order of value per weight.
    things: Vec<Thing>,
    room: u64,
}

/// A choice among the first `decided` things: which of them are in the knapsack.
#[derive(Clone, Copy)]
struct Choice {
    decided: u32,
    /// The remaining room.
    room: u64,
    value: u64,
}

impl Knapsack {
    const THINGS: usize = 40;

    /// Things whose value is nearly their weight, so that many choices are about equally good. The
    /// search visits 5.4 million choices.
    fn random() -> Self {
        let mut random = Random::default();
        let thing = |_| {
            let weight = 1_000_000 + u64::from(random.draw() % 1_000_000);
            Thing { weight, value: weight + u64::from(random.draw() % 33) }
        };
        let mut things: Vec<Thing> = (0..Self::THINGS).map(thing).collect();
        let room = things.iter().map(|thing| thing.weight).sum::<u64>() / 2;
        things.sort_by(|a, b| (b.value * a.weight).cmp(&(a.value * b.weight)));
        Self { things, room }
    }

    fn start(&self) -> Choice {
        Choice { decided: 0, room: self.room, value: 0 }
    }

    /// An upper bound of the values of all choices that extend this one. For the bound, a thing may
    /// be cut into parts.
    #[inline(never)] // one copy of the code for all entrants
    fn bound(&self, choice: Choice) -> u64 {
        let Choice { decided, mut room, mut value } = choice;
        for thing in &self.things[decided as usize..] {
            if thing.weight > room {
                return value + thing.value * room / thing.weight;
            }
            room -= thing.weight;
            value += thing.value;
        }
        value
    }

    /// The choice without the next thing, and the choice with it if there is room. Empty if no such
    /// choice can be better than `best`.
    #[inline]
    fn next(&self, choice: Choice, best: u64) -> Option<(Choice, Option<Choice>)> {
        let thing = self.things.get(choice.decided as usize)?;
        if self.bound(choice) <= best {
            return None;
        }
        let without = Choice { decided: choice.decided + 1, ..choice };
        let room = choice.room.checked_sub(thing.weight);
        Some((without, room.map(|room| Choice { room, value: choice.value + thing.value, ..without })))
    }

    fn plain(&self, choice: Choice, best: &mut u64) {
        *best = choice.value.max(*best);
        let Some((without, with)) = self.next(choice, *best) else { return };
        if let Some(with) = with {
            self.plain(with, best);
        }
        self.plain(without, best);
    }

    /// Like `next`, but all workers share and raise the best value.
    #[inline]
    fn next_of_all(&self, choice: Choice, best: &AtomicU64) -> Option<(Choice, Option<Choice>)> {
        let mut found = best.load(Relaxed);
        if choice.value > found {
            found = best.fetch_max(choice.value, Relaxed).max(choice.value);
        }
        self.next(choice, found)
    }

    fn grow(&self, pool: &Pool) -> u64 {
        let best = CachePadded::new(AtomicU64::new(0));
        pool.grow([self.start()]).for_each(|choice, feed| {
            if let Some((without, with)) = self.next_of_all(choice, &best) {
                feed.push(without);
                feed.extend(with); // runs first
            }
        });
        best.into_inner().into_inner()
    }

    fn rayon(&self) -> u64 {
        let best = CachePadded::new(AtomicU64::new(0));
        rayon::scope(|scope| self.spawned(scope, self.start(), &best));
        best.into_inner().into_inner()
    }

    fn spawned<'s>(&'s self, scope: &rayon::Scope<'s>, choice: Choice, best: &'s AtomicU64) {
        let Some((without, with)) = self.next_of_all(choice, best) else { return };
        scope.spawn(move |scope| self.spawned(scope, without, best));
        if let Some(with) = with {
            scope.spawn(move |scope| self.spawned(scope, with, best));
        }
    }
}

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let knapsack = black_box(Knapsack::random());
    let task = Task::plain(|| {
        let mut best = 0;
        knapsack.plain(knapsack.start(), &mut best);
        best
    })
    .grow(|pool| knapsack.grow(pool))
    .rayon(|| knapsack.rayon());
    vec![Row::of(&task.race(entrants), "40 things, branch and bound", Unit::Ratio, None)]
}
