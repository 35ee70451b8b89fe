//! One loop: alone or shared, and the partial results combined in slice order.

use std::{borrow::Cow, mem, ops::Range, panic::resume_unwind, sync::Arc, time::Duration};

use super::{
    accumulator::{Accumulate, Accumulator, Halt, Lend, Made, discard},
    body::{Body, End, Stop, fold},
    estimate::nanos,
    job::share,
    launch::{Costs, Habit, Launch},
    options::{Account, Options},
    range::Ranges,
    report::Alone,
    round::{Course, Panic, Plan, Round},
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
    sync::{Mutex, MutexGuard, try_lock},
};

/// What a pool's loops share.
#[derive(Debug)]
pub(crate) struct Executor {
    ranges: Arc<Ranges>,
    workers: usize,
    /// Helpers with a CPU of their own.
    placed: usize,
    costs: Costs,
    seats: Arc<Seats>,
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
        Self { ranges, workers, placed, costs: Costs::new(patience), seats: Arc::new(seats), turn }
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
            mem::forget((Arc::clone(&self.ranges), Arc::clone(&self.seats), Arc::clone(&self.turn)));
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
    ///
    /// All that is compiled once a loop is here and in `accumulator.rs`.
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
        let call = match self.begin(crew, this, &options) {
            Begin::Plain => {
                let folded = body.block(&mut body.state(0), None, 0..slice.len);
                return folded.map(Some).map_err(|Stop { found, .. }| End::Stopped(found));
            }
            Begin::Nothing => return Ok(None),
            Begin::Call(call) => call,
        };
        let (mut state, mut acc) = (None, None);
        if call.unlooked > 0 {
            let folded = fold(body, state.insert(body.state(0)), None, 0..call.unlooked);
            acc = Some(folded.map_err(|Stop { found, .. }| End::Stopped(found))?);
            if call.unlooked == slice.len {
                return Ok(acc);
            }
        }
        let made = Made::new();
        let mut own = Accumulator::new(body, 0, &made).after(state, acc);
        let (end, own) = match self.alone(crew, &call, &options, &mut own) {
            Then::End(end) => (end, own.into_rest()),
            Then::Share(left) => {
                let Rest { body, range, units } = rest(left.before.indices..slice.len, left.workers);
                let mut own = own.with(body);
                let lend: Lend<'_> = &|me, work| work(&mut Accumulator::new(body, me, &made));
                (self.share(crew, left, (range, units), &options, &mut own, lend), own.into_rest())
            }
        };
        let result = match end.how {
            How::Through => Ok(made.reduced(own, reduce)),
            How::Stopped => match made.into_found(own) {
                Some(found) => Err(End::Stopped(found)),
                None => unreachable!("it has stopped where something was found"),
            },
            How::Cancelled => {
                discard(made.into_found(own));
                Err(End::Cancelled)
            }
            How::Panic(payload) => {
                discard(made.into_found(own));
                resume_unwind(payload)
            }
        };
        options.tell(end.account);
        result
    }

    /// How a call begins.
    fn begin(&self, crew: &Crew, this: Loop, options: &Options<'_>) -> Begin {
        let is_watched = options.is_watched(); // once: a logger may change its mind
        let len = this.slice.len;
        // Helpers that find an index each.
        let most = self.workers.min(options.threads).min(len).saturating_sub(1);
        let awake = crew.barrier.is_first_awake();
        let mut launch = Launch::Plain;
        if !options.watch.is_cancelled() {
            if len == 0 && !is_watched {
                return Begin::Nothing;
            }
            if most > 0 {
                launch = self.costs.launch(this, most, awake, options.habit);
            }
            if launch == Launch::Plain && !is_watched {
                return Begin::Plain;
            }
        }
        if launch == Launch::Plain {
            launch = Launch::Alone { limit: Duration::MAX, unlooked: 0, stretch: 1 };
        }
        let unlooked = match launch {
            Launch::Alone { unlooked, .. } if !is_watched => unlooked.min(len),
            _ => 0,
        };
        Begin::Call(Call { this, launch, unlooked, most, awake, is_watched })
    }

    /// What the calling thread does alone behind that: everything, or until the rest is worth sharing.
    fn alone<'a>(
        &'a self,
        crew: &Crew,
        call: &Call,
        options: &Options<'_>,
        acc: &mut dyn Accumulate,
    ) -> Then<'a> {
        let Call { this, launch, unlooked: mut done, most, awake, is_watched } = *call;
        let len = this.slice.len;
        let begin = Instant::now();
        let mut before = Before::none(begin);
        if options.watch.is_cancelled() {
            options.watch.done(options.units.items(done..len));
            let account = options.account(&mut before, Err(Alone::Cancelled));
            return Then::End(Finish { how: How::Cancelled, account });
        }
        let mut helpers = most;
        match launch {
            Launch::Shared { helpers: enough } => helpers = enough,
            Launch::Plain => {}
            Launch::Alone { limit, mut stretch, .. } => {
                if options.watch.progress.is_some() {
                    stretch = 1; // it counts as done when it begins, so none may be long
                }
                let mut solo = Solo::new(begin, options, done..len);
                let ended = solo.fold(acc, limit, stretch);
                done = solo.done;
                before = solo.so_far();
                if ended.is_some() || done == len {
                    if !matches!(ended, Some(How::Cancelled)) {
                        self.costs.learn(this, options.habit, solo.looked, nanos(begin.elapsed()));
                    }
                    let why = if most == 0 { Alone::OneWorker } else { Alone::Short };
                    let account = options.account(&mut before, Err(why));
                    return Then::End(Finish { how: ended.unwrap_or(How::Through), account });
                }
                done = solo.hand_over();
            }
        }
        // In a forked child no lock from before is touched: who held it is gone.
        let ours = crew.process.is_current() && options.watch.is_current();
        let turn = if ours { try_lock(&self.turn) } else { None };
        let Some(turn) = turn else {
            let mut solo = Solo::new(begin, options, done..len);
            solo.closeup = before.closeup.or(solo.closeup.take()); // of all that this thread has done
            let ended = if is_watched {
                solo.fold(acc, Duration::MAX, 1)
            } else {
                acc.take(done..len).err().map(|_| How::Stopped)
            };
            let account = options.account(&mut solo.so_far(), Err(Alone::Busy));
            return Then::End(Finish { how: ended.unwrap_or(How::Through), account });
        };
        self.seats.make_room(|worker, home| self.ranges.seat(worker, home));
        let helpers = if turn.is_busy(this.site) { helpers.min(self.placed) } else { helpers };
        let workers = helpers.min(len - done - 1) + 1;
        Then::Share(Left { this, awake, workers, begin: begin + before.took, before, turn })
    }

    /// Folds what is left of a call, dealt out as a `range` of such units, and learns from it.
    fn share(
        &self,
        crew: &Crew,
        mut left: Left<'_>,
        (range, units): (Range<usize>, Units<'_>),
        options: &Options<'_>,
        own: &mut dyn Accumulate,
        others: Lend<'_>,
    ) -> Finish {
        let Left { this, awake, workers, before: Before { indices: done, .. }, .. } = left;
        let splits = &mut *left.turn;
        let mut times = splits.take_times(workers, self.workers > self.placed + 1);
        // Only of rounds over all of a slice, from one end to the other, is anything known.
        let whole = done == 0 && self.ranges.steals() && !matches!(units, Units::Searchers(_));
        let taught = if whole { splits.bounds(this, awake, workers) } else { None };
        let same = matches!(taught, Some(Cow::Borrowed(_)));
        let bounds = taught.unwrap_or_else(|| equal_parts(&range, workers).into());
        times.notes = options.notes(left.before.took);
        if let Some(notes) = &mut times.notes {
            notes.dealt = parts(range.clone(), &bounds).map(|part| units.span(part)).collect();
        }
        // Not by way of `self`, which is gone where the process ends in the middle of a loop: see `stays_if_busy`.
        let (ranges, seats) = (&*self.ranges, &*self.seats);
        let seat = |worker, home| ranges.seat(worker, home);
        let plan = Plan {
            begin: left.begin,
            pace: match (options.habit, units) {
                (_, Units::Searchers(_)) => None,
                (Habit::Search, _) => self.costs.pace(this),
                _ => self.costs.recall(this),
            },
            units,
            profile: if whole { splits.profile(this, awake) } else { None },
            looked: &|worker, now| seats.look(worker, now, seat),
        };
        let round = Round::new(ranges, plan, times);
        let Course { mut times, stop } =
            run(&self.ranges, crew, range.clone(), &bounds, round, options.watch, own, others);
        if let Units::Searchers(_) = units {
            // Its searchers have counted what they have looked at; a search that is over counts as done.
            options.watch.done((this.slice.len - done).saturating_sub(units.items(range)));
        }

        let cancelled = options.watch.is_cancelled();
        if stop.is_none() && !cancelled {
            let runs = times.tallies.iter().map(|tally| tally.runs).sum();
            let balanced = same && runs == workers && times.are_balanced();
            if whole && !balanced {
                splits.learn(this, awake, &mut times);
            }
            splits.learn_busy(this, workers.min(self.placed + 1), runs, &times);
        }
        if !cancelled {
            self.learn(&left, options.habit, &times);
        }
        let account = options.account(&mut left.before, Ok(&mut times));
        left.turn.give_back(times);
        let how = match stop {
            Some((_, Some(payload))) => How::Panic(payload),
            _ if cancelled => How::Cancelled,
            Some((_, None)) => How::Stopped,
            None => How::Through,
        };
        Finish { how, account }
    }

    /// Learns what items cost and what help costs.
    fn learn(&self, left: &Left<'_>, habit: Habit, times: &Times) {
        let Before { indices, took, .. } = left.before;
        self.costs.learn(left.this, habit, indices + times.indices(), nanos(took) + times.work());
        let starts = |tallies: &[Tally]| tallies.iter().map(|tally| tally.span.start).reduce(f32::min);
        let (own, helpers) = times.tallies.split_at(1);
        if let (Some(own), Some(first)) = (starts(own), starts(helpers))
            && own.is_finite()
        {
            let first = first.is_finite().then_some(first);
            self.costs.learn_help(left.awake, first, own, || nanos(left.begin.elapsed()));
        }
    }
}

/// Runs a round on `ranges` over `range`, dealt out at `bounds`.
#[expect(clippy::too_many_arguments, reason = "all that a round is made of")]
pub(crate) fn run(
    ranges: &Arc<Ranges>,
    crew: &Crew,
    range: Range<usize>,
    bounds: &[usize],
    round: Round<'_>,
    watch: Watch<'_>,
    own: &mut dyn Accumulate,
    others: Lend<'_>,
) -> Course {
    // From here to the end there is no way out: all user code is inside `Round::work`, which catches.
    ranges.deal(range.clone(), bounds);
    watch.enter(ranges, round.units(), range);
    let (owner, first) = ranges.enter(0);
    let work = |me| {
        let (owner, first) = ranges.enter(me);
        let mut begin = Some((owner, first));
        others(me, &mut |acc| {
            if let Some((owner, first)) = begin.take() {
                round.work(me, owner, first, acc);
            }
        });
    };
    let own = || round.work(0, owner, first, own);
    share(&crew.barrier, bounds.len() + 1, &work, own);
    watch.leave(ranges);
    round.into_course()
}

/// How a call begins.
enum Begin {
    /// As the plain loop.
    Plain,
    /// There is nothing to fold.
    Nothing,
    Call(Call),
}

/// A call that is more than the plain loop.
struct Call {
    this: Loop,
    launch: Launch,
    /// Indices before the first reading of the clock, even the one from which time is counted.
    unlooked: usize,
    /// Helpers, at most.
    most: usize,
    /// Whether helpers were awake.
    awake: bool,
    is_watched: bool,
}

/// What follows when the caller has done its part alone.
enum Then<'a> {
    End(Finish),
    Share(Left<'a>),
}

/// A loop that is about to be shared.
struct Left<'a> {
    this: Loop,
    awake: bool,
    workers: usize,
    /// What the caller has done alone.
    before: Before,
    /// When that was over.
    begin: Instant,
    turn: MutexGuard<'a, Splits>,
}

/// The end of a call.
struct Finish {
    how: How,
    account: Option<Account>,
}

/// How a loop has ended.
enum How {
    Through,
    Stopped,
    Cancelled,
    Panic(Panic),
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

    /// Folds from there until the end is reached or `limit` is over, whichever comes first: then none. Or how the loop has ended before.
    fn fold(&mut self, acc: &mut dyn Accumulate, limit: Duration, mut stretch: usize) -> Option<How> {
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
                    return Some(How::Cancelled);
                }
                let range = self.done..self.done + most.min(until - self.done);
                self.done = range.end;
                watch.done(units.items(range.clone()));
                match acc.take(range) {
                    Ok(()) => self.looked = self.done,
                    Err(_) if watch.is_cancelled() => return Some(How::Cancelled),
                    Err(Halt { at, .. }) => {
                        self.looked = at + 1;
                        return Some(How::Stopped);
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
        watch.is_cancelled().then_some(How::Cancelled)
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
