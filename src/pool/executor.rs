//! One loop: alone or shared, and the partial results combined in slice order.

use std::{
    borrow::Cow,
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use super::{
    body::{Body, End, Stop, fold},
    estimate::nanos,
    job::share,
    launch::{Costs, Habit, Launch},
    options::{Account, Options},
    range::Ranges,
    report::Alone,
    round::{Made, Plan, Round, Run, discard},
    seats::Seats,
    site::{Loop, Site, Slice},
    split::{Splits, equal_parts, parts},
    times::{Tally, Times},
    trace::{Before, Closeup},
    units::Units,
    watch::Watch,
    worker::Crew,
};
use crate::{
    clock::Instant,
    sync::{Mutex, try_lock},
};

/// What a pool's loops share.
#[derive(Debug)]
pub(crate) struct Executor {
    ranges: Arc<Ranges>,
    workers: usize,
    /// Helpers with a CPU of their own.
    placed: usize,
    costs: Costs,
    seats: Seats,
    /// Held while a loop is shared. A loop that finds it held runs on its own thread alone, so nothing waits for a turn.
    turn: Arc<Mutex<Splits>>,
}

/// What is left to be shared.
pub(crate) struct Rest<'a, L> {
    pub(crate) body: &'a L,
    pub(crate) range: Range<usize>,
    pub(crate) units: Units<'a>,
}

impl Executor {
    /// For the workers who are seated; helpers poll for `patience` before they sleep.
    pub(crate) fn new(ranges: Ranges, seats: Seats, patience: Duration) -> Self {
        let workers = ranges.workers();
        let placed = workers.min(seats.at_a_time()).max(2) - 1;
        seats.homes().for_each(|(worker, home)| ranges.seat(worker, home));
        let (ranges, turn) = (Arc::new(ranges), Arc::new(Mutex::new(Splits::new(workers))));
        Self { ranges, workers, placed, costs: Costs::new(patience), seats, turn }
    }

    pub(crate) fn seats(&self) -> &Seats {
        &self.seats
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn thefts(&self) -> u64 {
        self.ranges.thefts()
    }

    /// Whether a loop is being shared. If so, what its workers use stays for ever, also when this is dropped.
    pub(crate) fn stays_if_busy(&self) -> bool {
        let is_busy = try_lock(&self.turn).is_none();
        if is_busy {
            mem::forget((Arc::clone(&self.ranges), Arc::clone(&self.turn)));
        }
        is_busy
    }

    /// Whether a loop would be shared if it were long enough. A hint.
    pub(crate) fn is_free(&self, crew: &Crew) -> bool {
        self.workers > 1 && crew.process.is_current() && try_lock(&self.turn).is_some()
    }

    /// Folds the indices of `slice`.
    #[inline]
    pub(crate) fn fold<L: Body, R: Fn(L::Acc, L::Acc) -> L::Acc>(
        &self,
        crew: &Crew,
        slice: Slice,
        options: Options<'_>,
        body: &L,
        reduce: &R,
    ) -> Result<Option<L::Acc>, End<L::Found>> {
        let units = options.units;
        let rest = |range, _workers| Rest { body, range, units };
        self.fold_in_order(crew, slice, options, body, rest, reduce)
    }

    /// Folds the indices of `slice`. What the caller does not do alone is dealt out as `rest` says, which is told the indices that are
    /// left and how many workers there will be.
    pub(crate) fn fold_in_order<'a, L, D, S, R>(
        &self,
        crew: &Crew,
        slice: Slice,
        options: Options<'_>,
        body: &L,
        rest: D,
        reduce: &R,
    ) -> Result<Option<L::Acc>, End<L::Found>>
    where
        L: Body,
        D: FnOnce(Range<usize>, usize) -> Rest<'a, S>,
        S: Body<State = L::State, Acc = L::Acc, Found = L::Found> + 'a,
        R: Fn(L::Acc, L::Acc) -> L::Acc,
    {
        let this = Loop { site: Site::new(Self::fold_in_order::<L, D, S, R> as *const ()), slice };
        let len = slice.len;
        if options.watch.is_cancelled() {
            options.watch.done(options.units.items(0..len));
            let begin = Instant::now();
            let account = options.account(&mut Before::none(begin), Err(Alone::Cancelled));
            options.tell(begin, account);
            return Err(End::Cancelled);
        }
        let is_watched = options.is_watched(); // once: a logger may change its mind
        if len == 0 && !is_watched {
            return Ok(None);
        }
        // Helpers that find an index each.
        let most = self.workers.min(options.threads).min(len).saturating_sub(1);
        let awake = crew.barrier.is_first_awake();
        let mut launch = Launch::Plain;
        if most > 0 {
            launch = self.costs.launch(this, most, awake, options.habit);
        }
        if launch == Launch::Plain {
            if !is_watched {
                let folded = body.block(&mut body.state(0), None, 0..len);
                return folded.map(Some).map_err(|Stop { found, .. }| End::Stopped(found));
            }
            launch = Launch::Alone { limit: Duration::MAX, unlooked: 0, stretch: 1 };
        }
        let (mut state, mut acc, mut done) = (None, None, 0);
        if let Launch::Alone { unlooked, .. } = launch
            && unlooked > 0
            && !is_watched
        {
            done = unlooked.min(len);
            let folded = fold(body, state.insert(body.state(0)), None, 0..done);
            acc = Some(folded.map_err(|Stop { found, .. }| End::Stopped(found))?);
            if done == len {
                return Ok(acc);
            }
        }
        let begin = Instant::now();
        let mut before = Before::none(begin);
        let mut helpers = most;
        match launch {
            Launch::Shared { helpers: enough } => helpers = enough,
            Launch::Plain => {}
            Launch::Alone { limit, mut stretch, .. } => {
                if options.watch.progress.is_some() {
                    stretch = 1; // it counts as done when it begins, so none may be long
                }
                let mut solo = Solo::new(begin, &options, done..len);
                let folded = solo.fold(body, &mut state, acc, limit, stretch);
                done = solo.done;
                before = solo.so_far();
                if done == len || folded.is_err() {
                    if !matches!(folded, Err(End::Cancelled)) {
                        self.costs.learn(this, options.habit, solo.looked, nanos(begin.elapsed()));
                    }
                    let why = if most == 0 { Alone::OneWorker } else { Alone::Short };
                    let account = options.account(&mut before, Err(why));
                    drop(solo);
                    options.tell(begin, account);
                    return folded;
                }
                done = solo.hand_over();
                acc = folded.ok().flatten();
            }
        }
        // In a forked child no lock from before is touched: who held it is gone.
        let ours = crew.process.is_current() && options.watch.is_current();
        let turn = if ours { try_lock(&self.turn) } else { None };
        let Some(mut turn) = turn else {
            let mut solo = Solo::new(begin, &options, done..len);
            solo.closeup = before.closeup.or(solo.closeup.take()); // of all that this thread has done
            let folded = if is_watched {
                solo.fold(body, &mut state, acc, Duration::MAX, 1)
            } else {
                let state = state.get_or_insert_with(|| body.state(0));
                let folded = fold(body, state, acc, done..len);
                folded.map(Some).map_err(|Stop { found, .. }| End::Stopped(found))
            };
            let account = options.account(&mut solo.so_far(), Err(Alone::Busy));
            drop(solo);
            options.tell(begin, account);
            return folded;
        };
        let mut call = Call { this, awake, helpers, begin: begin + before.took, before, account: None };
        self.seats.make_room(|worker, home| self.ranges.seat(worker, home));
        let runs = self.share(crew, &mut turn, &mut call, (state, acc), rest, &options);
        drop(turn);
        let result = runs.map(|mut runs| {
            runs.sort_unstable_by_key(|&(first, _)| first);
            combine(runs.into_iter().map(|(_, part)| part), reduce)
        });
        options.tell(begin, call.account);
        result
    }

    /// Folds what is left of a call, and learns from it. `own` is what the caller has made of the indices before.
    fn share<'a, S: Body + 'a>(
        &self,
        crew: &Crew,
        splits: &mut Splits,
        call: &mut Call,
        own: (Option<S::State>, Option<S::Acc>),
        rest: impl FnOnce(Range<usize>, usize) -> Rest<'a, S>,
        options: &Options<'_>,
    ) -> Result<Vec<Run<S::Acc>>, End<S::Found>> {
        let Call { this, awake, helpers, before: Before { indices: done, .. }, .. } = *call;
        let left = done..this.slice.len;
        let helpers = if splits.is_busy(this.site) { helpers.min(self.placed) } else { helpers };
        let workers = helpers.min(left.len() - 1) + 1;
        let Rest { body, range, units } = rest(left, workers);
        let mut times = splits.take_times(workers, self.workers > self.placed + 1);
        // Only of rounds over all of a slice, from one end to the other, is anything known.
        let whole = done == 0 && self.ranges.steals() && !matches!(units, Units::Searchers(_));
        let taught = if whole { splits.bounds(this, awake, workers) } else { None };
        let same = matches!(taught, Some(Cow::Borrowed(_)));
        let bounds = taught.unwrap_or_else(|| equal_parts(&range, workers).into());
        times.notes = options.notes(call.before.took);
        if let Some(notes) = &mut times.notes {
            notes.dealt = parts(range.clone(), &bounds).map(|part| units.span(part)).collect();
        }
        let plan = Plan {
            begin: call.begin,
            pace: match (options.habit, units) {
                (_, Units::Searchers(_)) => None,
                (Habit::Search, _) => self.costs.pace(this),
                _ => self.costs.recall(this),
            },
            units,
            profile: if whole { splits.profile(this, awake) } else { None },
        };
        let round = Round::new(&self.ranges, body, plan, times);
        let mut made = run(&self.ranges, crew, range.clone(), &bounds, own, round, options.watch);
        if let Units::Searchers(_) = units {
            // Its searchers have counted what they have looked at; a search that is over counts as done.
            options.watch.done((this.slice.len - done).saturating_sub(units.items(range)));
        }

        let cancelled = options.watch.is_cancelled();
        let times = &mut made.times;
        if made.stop.is_none() && !cancelled {
            let balanced = same && made.runs.len() == workers && times.are_balanced();
            if whole && !balanced {
                splits.learn(this, awake, times);
            }
            splits.learn_busy(this, workers.min(self.placed + 1), made.runs.len(), times);
        }
        if !cancelled {
            self.learn(call, options.habit, times);
        }
        call.account = options.account(&mut call.before, Ok(times));
        splits.give_back(mem::take(times));
        made.into_runs(cancelled)
    }

    /// Learns what items cost and what help costs.
    fn learn(&self, call: &Call, habit: Habit, times: &Times) {
        let Before { indices, took, .. } = call.before;
        self.costs.learn(call.this, habit, indices + times.indices(), nanos(took) + times.work());
        let starts = |tallies: &[Tally]| tallies.iter().map(|tally| tally.span.start).reduce(f32::min);
        let (own, helpers) = times.tallies.split_at(1);
        if let (Some(own), Some(first)) = (starts(own), starts(helpers))
            && own.is_finite()
        {
            let first = first.is_finite().then_some(first);
            self.costs.learn_help(call.awake, first, own, || nanos(call.begin.elapsed()));
        }
    }
}

/// Runs a round on `ranges` over `range`, dealt out at `bounds`.
pub(crate) fn run<S: Body>(
    ranges: &Arc<Ranges>,
    crew: &Crew,
    range: Range<usize>,
    bounds: &[usize],
    (state, acc): (Option<S::State>, Option<S::Acc>),
    round: Round<'_, S>,
    watch: Watch<'_>,
) -> Made<S> {
    // From here to the end there is no way out: all user code is inside `Round::work`, which catches.
    ranges.deal(range.clone(), bounds);
    watch.enter(ranges, round.units(), range);
    let (owner, first) = ranges.enter(0);
    let work = |me| {
        let (owner, first) = ranges.enter(me);
        round.work(me, owner, first, None, None);
    };
    let own = || round.work(0, owner, first, state, acc);
    share(&crew.barrier, bounds.len() + 1, &work, own);
    watch.leave(ranges);
    round.into_made()
}

/// A loop that is about to be shared.
struct Call {
    this: Loop,
    /// Whether helpers were awake.
    awake: bool,
    helpers: usize,
    /// What the caller has done alone.
    before: Before,
    /// When that was over.
    begin: Instant,
    account: Option<Account>,
}

/// A loop on the calling thread, with an eye on the clock and on the handles. What it leaves when dropped counts as done.
struct Solo<'a> {
    begin: Instant,
    watch: Watch<'a>,
    units: Units<'a>,
    /// Indices that have been begun, and all of them.
    done: usize,
    len: usize,
    /// Indices that have been looked at.
    looked: usize,
    closeup: Option<Closeup>,
}

impl Drop for Solo<'_> {
    fn drop(&mut self) {
        self.watch.done(self.units.items(self.done..self.len));
    }
}

impl<'a> Solo<'a> {
    /// Over what is left of a call that began at `begin`.
    fn new(begin: Instant, options: &Options<'a>, left: Range<usize>) -> Self {
        let Options { watch, units, .. } = *options;
        let closeup = options.closeup(left.start);
        Self { begin, watch, units, done: left.start, len: left.end, looked: left.start, closeup }
    }

    /// Folds from there until the end is reached or `limit` is over, whichever comes first.
    fn fold<L: Body>(
        &mut self,
        body: &L,
        state: &mut Option<L::State>,
        mut acc: Option<L::Acc>,
        limit: Duration,
        mut stretch: usize,
    ) -> Result<Option<L::Acc>, End<L::Found>> {
        /// Items at once, where somebody may cancel.
        const FEW: usize = 8;
        // How exactly a limit is kept; without one, looks are as far apart as those of a shared loop.
        let lasts = Duration::from_micros(if limit == Duration::MAX { 10 } else { 1 });
        let Self { watch, units, len, .. } = *self;
        let most = if watch.cancel.is_some() { FEW } else { usize::MAX };
        let mut elapsed = Duration::ZERO;
        while self.done < len && elapsed < limit {
            let until = self.done + stretch.min(len - self.done);
            while self.done < until {
                if watch.is_cancelled() {
                    return Err(End::Cancelled);
                }
                let range = self.done..self.done + most.min(until - self.done);
                self.done = range.end;
                watch.done(units.items(range.clone()));
                let state = state.get_or_insert_with(|| body.state(0));
                match fold(body, state, acc, range) {
                    Ok(folded) => (acc, self.looked) = (Some(folded), self.done),
                    Err(_) if watch.is_cancelled() => return Err(End::Cancelled),
                    Err(Stop { at, found, .. }) => {
                        self.looked = at + 1;
                        return Err(End::Stopped(found));
                    }
                }
            }
            let now = self.begin.elapsed();
            if let Some(closeup) = &mut self.closeup {
                closeup.look(self.done, self.begin + now);
            }
            let took = now.saturating_sub(elapsed);
            if took < lasts {
                stretch = stretch.saturating_mul(2);
            } else if took > 4 * lasts {
                stretch = (stretch / 4).max(1);
            }
            elapsed = now;
        }
        if watch.is_cancelled() { Err(End::Cancelled) } else { Ok(acc) }
    }

    /// What has been done until now.
    fn so_far(&mut self) -> Before {
        let Self { begin, done, .. } = *self;
        let (took, mut closeup) = (begin.elapsed(), self.closeup.take());
        if let Some(closeup) = &mut closeup {
            closeup.look_again(done, begin + took);
        }
        Before { begin, indices: done, took, closeup }
    }

    /// The rest is somebody else's. Returns how far it has got.
    fn hand_over(mut self) -> usize {
        self.len = self.done;
        self.done
    }
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

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;
    use crate::pool::{
        affinity::this_thread, fence::Fence, machines, near::Home, placement::Wish, range::Stealing,
    };

    #[test]
    fn thieves_are_told_who_sits_where() {
        let plan = machines::two_sockets(Wish { workers: Some(20), ..Wish::default() });
        let ranges = Ranges::new(20, Fence::of_this_process(), Stealing::Largest);
        let seated = (1..20).filter(|worker| *worker != 7).map(|worker| (worker, this_thread())).collect();
        let executor = Executor::new(ranges, Seats::new(plan, seated), Duration::ZERO);
        let home = |worker| executor.ranges.home(worker);
        assert_eq!([0, 1, 17].map(home), [Home::new(0, 0); 3]);
        assert_eq!([18, 19].map(home), [Home::new(1, 1); 2]);
        assert_eq!(home(7), Home::default(), "who is not pinned may be anywhere");
    }
}
