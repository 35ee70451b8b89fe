//! One loop: alone or shared, and the partial results combined in slice order.
//!
//! The loop is known here as three closures: `init` makes an accumulator, `block` folds a range of indices into one, `reduce`
//! combines two that are neighbours in the slice. What the indices mean is the business of the public loops.

use std::{
    borrow::Cow,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use super::{
    affinity::Seats,
    estimate::nanos,
    job::share,
    launch::{Costs, Launch},
    range::Ranges,
    round::{Body, Made, Round, Run, discard},
    site::{Loop, Site, Slice},
    split::{Splits, equal_parts},
    times::Times,
    worker::Crew,
};
use crate::sync::{Mutex, try_lock};

/// What a pool's loops share.
#[derive(Debug)]
pub(crate) struct Executor {
    ranges: Ranges,
    workers: usize,
    /// Helpers with a CPU of their own.
    placed: usize,
    costs: Costs,
    /// Held while a loop is shared. A loop that finds it held runs on its own thread alone, so nothing waits for a turn.
    turn: Mutex<Turn>,
}

/// What belongs to whoever has the turn.
#[derive(Debug)]
struct Turn {
    splits: Splits,
    seats: Seats,
}

impl Executor {
    /// For that many workers on that many CPUs, who are seated; helpers poll for `patience` before they sleep.
    pub(crate) fn new(ranges: Ranges, workers: usize, cpus: usize, seats: Seats, patience: Duration) -> Self {
        let placed = workers.min(cpus).max(2) - 1;
        let turn = Turn { splits: Splits::new(workers), seats };
        Self { ranges, workers, placed, costs: Costs::new(patience), turn: Mutex::new(turn) }
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn thefts(&self) -> u64 {
        self.ranges.thefts()
    }

    /// Folds the indices of `slice`.
    pub(crate) fn fold<A, I, B, R>(&self, crew: &Crew, slice: Slice, body: Body<'_, I, B>, reduce: &R) -> A
    where
        A: Send,
        I: Fn() -> A + Sync,
        B: Fn(A, Range<usize>) -> A + Sync,
        R: Fn(A, A) -> A,
    {
        let Body { init, block } = body;
        let this = Loop { site: Site::new(Self::fold::<A, I, B, R> as *const ()), slice };
        let len = slice.len;
        let most = (self.workers - 1).min(len.saturating_sub(1)); // helpers that find an item each
        let awake = crew.barrier.is_first_awake();
        let launch = if most == 0 { Launch::Plain } else { self.costs.launch(this, most, awake) };
        let (begin, (acc, done), helpers) = match launch {
            Launch::Plain => return block(init(), 0..len),
            Launch::Shared { helpers } => (Instant::now(), (init(), 0), helpers),
            Launch::Alone { limit, stretch } => {
                let begin = Instant::now();
                (begin, alone(len, begin, limit, stretch, init(), block), most)
            }
        };
        if done == len {
            self.costs.learn(this, nanos(begin.elapsed()));
            return acc;
        }
        // In a forked child no lock is touched: who held it may be gone.
        let turn = if crew.process.is_current() { try_lock(&self.turn) } else { None };
        let Some(mut turn) = turn else {
            return block(acc, done..len);
        };
        let alone = if done == 0 { Duration::ZERO } else { begin.elapsed() };
        let call = Call { this, awake, done, alone, begin: begin + alone };
        turn.seats.make_room();
        let mut runs = self.share(crew, &mut turn.splits, &call, helpers, acc, body);
        drop(turn);
        runs.sort_unstable_by_key(|&(first, _)| first);
        combine(runs.into_iter().map(|(_, part)| part), reduce).unwrap_or_else(init)
    }

    /// Folds what is left of a call with the help of `helpers`, and learns from it. `acc` is the result of the items before.
    fn share<A, I, B>(
        &self,
        crew: &Crew,
        splits: &mut Splits,
        call: &Call,
        helpers: usize,
        acc: A,
        body: Body<'_, I, B>,
    ) -> Vec<Run<A>>
    where
        A: Send,
        I: Fn() -> A + Sync,
        B: Fn(A, Range<usize>) -> A + Sync,
    {
        let Call { this, awake, done, .. } = *call;
        let items = done..this.slice.len;
        let helpers = if splits.is_busy(this.site) { helpers.min(self.placed) } else { helpers };
        let workers = helpers.min(items.len() - 1) + 1;
        let times = splits.take_times(workers, self.workers > self.placed + 1);
        // Only of rounds over all of a slice is anything known.
        let whole = done == 0 && self.ranges.steals();
        let taught = if whole { splits.bounds(this, awake, workers) } else { None };
        let same = matches!(taught, Some(Cow::Borrowed(_)));
        let bounds = taught.unwrap_or_else(|| equal_parts(&items, workers).into());
        let profile = if whole { splits.profile(this, awake) } else { None };
        let round = Round::new(&self.ranges, body, call.begin, self.costs.recall(this), profile, times);
        let Made { runs, mut times, .. } = self.run(crew, items, &bounds, acc, round);

        let balanced = same && runs.len() == workers && times.are_balanced();
        if whole && !balanced {
            splits.learn(this, awake, &mut times);
        }
        splits.learn_busy(this, workers.min(self.placed + 1), runs.len(), &times);
        self.learn(call, &times);
        splits.give_back(times);
        runs
    }

    /// Runs a round over `items`, dealt out at `bounds`.
    fn run<A, I, B>(
        &self,
        crew: &Crew,
        items: Range<usize>,
        bounds: &[usize],
        acc: A,
        round: Round<'_, A, I, B>,
    ) -> Made<A>
    where
        A: Send,
        I: Fn() -> A + Sync,
        B: Fn(A, Range<usize>) -> A + Sync,
    {
        // From here to the end of `run` there is no way out: all user code is inside `Round::work`, which catches.
        self.ranges.deal(items, bounds);
        let (owner, first) = self.ranges.enter(0);
        let work = |me| {
            let (owner, first) = self.ranges.enter(me);
            round.work(me, owner, first, None);
        };
        let own = || round.work(0, owner, first, Some(acc));
        share(&crew.barrier, bounds.len() + 1, &work, own);
        round.into_made()
    }

    /// Learns what items cost and what help costs.
    fn learn(&self, call: &Call, times: &Times) {
        self.costs.learn(call.this, nanos(call.alone) + times.work());
        let (own, helpers) = times.spans.split_at(1);
        if let Some(first) = helpers.iter().map(|span| span.start).reduce(f32::min)
            && own[0].start.is_finite()
        {
            let first = first.is_finite().then_some(first);
            self.costs.learn_help(call.awake, first, own[0].start, || nanos(call.begin.elapsed()));
        }
    }
}

/// A loop that is about to be shared.
struct Call {
    this: Loop,
    /// Whether helpers were awake.
    awake: bool,
    /// Items done by the caller alone, and how long they took.
    done: usize,
    alone: Duration,
    /// When that was over.
    begin: Instant,
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
