//! One loop: alone or shared, claim by claim, and the partial results combined in slice order.
//!
//! The loop is known here as three closures: `init` makes an accumulator, `block` folds a range of indices into one, `reduce`
//! combines two that are neighbours in the slice. What the indices mean is the business of the public loops.

use std::{
    any::Any,
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::PoisonError,
    time::{Duration, Instant},
};

use super::{
    grain::{Grain, Stretch},
    job::share,
    launch::{Costs, Launch, Site},
    range::{Owner, Ranges},
    worker::Crew,
};
use crate::sync::{Mutex, lock, try_lock};

/// A piece of the slice folded by one worker: the index it begins with, and the result.
type Run<A> = (usize, A);

/// What a pool's loops share.
#[derive(Debug)]
pub(crate) struct Executor {
    ranges: Ranges,
    workers: usize,
    costs: Costs,
    /// Held while a loop is shared. A loop that finds it held runs on its own thread alone, so nothing waits for a turn.
    turn: Mutex<()>,
}

impl Executor {
    pub(crate) fn new(ranges: Ranges, workers: usize) -> Self {
        Self { ranges, workers, costs: Costs::new(), turn: Mutex::new(()) }
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn thefts(&self) -> u64 {
        self.ranges.thefts()
    }

    /// Folds `0..len`.
    pub(crate) fn fold<A, I, B, R>(&self, crew: &Crew, len: usize, init: &I, block: &B, reduce: &R) -> A
    where
        A: Send,
        I: Fn() -> A + Sync,
        B: Fn(A, Range<usize>) -> A + Sync,
        R: Fn(A, A) -> A,
    {
        let site = Site::new(Self::fold::<A, I, B, R> as *const ());
        let launch = if self.workers == 1 || len < 2 { Launch::Plain } else { self.costs.launch(site, len) };
        if launch == Launch::Plain {
            return block(init(), 0..len);
        }
        let begin = Instant::now();
        let (acc, done) = match launch {
            Launch::Alone { limit, stretch } => alone(len, begin, limit, stretch, init(), block),
            Launch::Plain | Launch::Shared => (init(), 0),
        };
        if done == len {
            self.costs.learn(site, len, begin.elapsed());
            return acc;
        }
        // In a forked child no lock is touched: who held it may be gone.
        let turn = if crew.process.is_current() { try_lock(&self.turn) } else { None };
        if turn.is_none() {
            return block(acc, done..len);
        }
        let alone = begin.elapsed();
        let (mut runs, hands) = self.share(crew, done..len, acc, init, block);
        let shared = begin.elapsed().saturating_sub(alone);
        self.costs.learn(site, len, alone + shared * hands);
        drop(turn);

        runs.sort_unstable_by_key(|&(first, _)| first);
        combine(runs.into_iter().map(|(_, part)| part), reduce).unwrap_or_else(init)
    }

    /// Folds `items` on all workers; `acc` is the result of the items before them. Returns the runs and the number of workers
    /// that had any.
    fn share<A, I, B>(
        &self,
        crew: &Crew,
        items: Range<usize>,
        acc: A,
        init: &I,
        block: &B,
    ) -> (Vec<Run<A>>, u32)
    where
        A: Send,
        I: Fn() -> A + Sync,
        B: Fn(A, Range<usize>) -> A + Sync,
    {
        let ranges = &self.ranges;
        let workers = self.workers.min(items.len());
        let outcome = Outcome::new();
        // From here to the end of `share` there is no way out: all user code is inside `Outcome::of`, which catches.
        ranges.deal(items, workers);
        let (owner, first) = ranges.enter(0);
        let work = |me| {
            let (owner, first) = ranges.enter(me);
            outcome.of(ranges, |runs| drain(owner, first, None, init, block, runs));
        };
        let own = || outcome.of(ranges, |runs| drain(owner, first, Some(acc), init, block, runs));
        share(&crew.barrier, workers, &work, own);
        outcome.into_runs()
    }
}

/// Folds from the front until the loop is done or `limit` is over, whichever comes first; returns how far it got.
fn alone<A, B>(
    len: usize,
    begin: Instant,
    limit: Duration,
    mut stretch: usize,
    mut acc: A,
    block: &B,
) -> (A, usize)
where
    B: Fn(A, Range<usize>) -> A,
{
    const STRETCH: Duration = Duration::from_micros(1);
    let (mut done, mut elapsed) = (0, Duration::ZERO);
    while done < len && elapsed < limit {
        let next = done + stretch.min(len - done);
        acc = block(acc, done..next);
        done = next;
        let now = begin.elapsed();
        if now.saturating_sub(elapsed) < STRETCH {
            stretch = stretch.saturating_mul(2);
        }
        elapsed = now;
    }
    (acc, done)
}

/// Reduces the parts in their order. Should `reduce` panic, the parts left over are dropped outside of the unwinding: a second
/// panic there would end the process, and the plain loop has no such parts.
fn combine<A>(mut parts: impl Iterator<Item = A>, reduce: &impl Fn(A, A) -> A) -> Option<A> {
    let mut acc = parts.next()?;
    while let Some(part) = parts.next() {
        match catch_unwind(AssertUnwindSafe(|| reduce(acc, part))) {
            Ok(reduced) => acc = reduced,
            Err(payload) => {
                parts.for_each(discard);
                resume_unwind(payload);
            }
        }
    }
    Some(acc)
}

/// Claims and folds until nothing is left to claim or steal. A run ends when its worker jumps.
fn drain<A, I, B>(
    mut owner: Owner<'_>,
    mut first: Option<usize>,
    mut acc: Option<A>,
    init: &I,
    block: &B,
    runs: &mut Vec<Run<A>>,
) where
    I: Fn() -> A,
    B: Fn(A, Range<usize>) -> A,
{
    while let Some(item) = first.take().or_else(|| owner.steal()) {
        let mut part = block(acc.take().unwrap_or_else(init), item..item + 1);
        let mut grain = Grain::new(Instant::now());
        while owner.left() > 0 {
            let Stretch { size, claims, full_fences } = grain.stretch(owner.left());
            owner.use_full_fences(full_fences);
            let contested;
            (part, contested) = match size {
                1 => owner.fold::<1, _>(claims, part, block),
                8 => owner.fold::<8, _>(claims, part, block),
                _ => owner.fold::<64, _>(claims, part, block),
            };
            if !contested.is_empty() {
                part = block(part, contested);
            }
            grain.look(owner.left(), Instant::now());
        }
        runs.push((item, part));
    }
}

/// What comes out of a shared loop.
struct Outcome<A>(Mutex<Collected<A>>);

struct Collected<A> {
    runs: Vec<Run<A>>,
    /// Workers that have contributed.
    hands: u32,
    /// Of the first panic.
    panic: Option<Box<dyn Any + Send>>,
}

impl<A> Outcome<A> {
    fn new() -> Self {
        Self(Mutex::new(Collected { runs: Vec::new(), hands: 0, panic: None }))
    }

    /// Collects what one worker makes. Never unwinds: a panic ends the loop and is kept for the caller.
    fn of(&self, ranges: &Ranges, work: impl FnOnce(&mut Vec<Run<A>>)) {
        let mut runs = Vec::new();
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut runs)));
        let surplus = match result {
            Ok(()) => {
                let mut collected = lock(&self.0);
                collected.hands += u32::from(!runs.is_empty());
                collected.runs.append(&mut runs);
                return;
            }
            Err(payload) => {
                ranges.cut(0);
                let mut collected = lock(&self.0);
                match collected.panic {
                    None => collected.panic.replace(payload),
                    Some(_) => Some(payload),
                }
            }
        };
        discard(surplus);
        runs.into_iter().for_each(discard);
    }

    /// The runs and the number of hands, or the panic goes on. Not before everybody has left.
    fn into_runs(self) -> (Vec<Run<A>>, u32) {
        let collected = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        match collected.panic {
            None => (collected.runs, collected.hands),
            Some(payload) => {
                collected.runs.into_iter().for_each(discard);
                resume_unwind(payload)
            }
        }
    }
}

/// Drops a value that a panic has made useless. If that panics too, one panic is enough for the caller.
fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        mem::forget(payload); // its own drop may panic as well
    }
}
