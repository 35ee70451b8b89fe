//! A worker's visit to a loop, from its arrival until it leaves; and the loop over a run, which
//! folds neighbours by the clock.
//!
//! The calling thread runs through [`fold_run`] also before it has invited a worker. Only then does
//! a loop have visits: [`visit`] is the part that all workers of ranges and of searches have in
//! common, and a [`Worker`] is what differs between the two. Items that wait share [`catching`],
//! and joins share [`visit_once`]. Made items are folded in `verbs/feed.rs`, which reads the clock
//! once for many items.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    accumulator::Accumulate,
    ending::{Panic, StopAt},
    worker_log::WorkerLog,
};
use crate::{
    clock::Instant,
    pool::{
        policy::pace::{Pace, Stretch},
        team::here::Inside,
        tell::{journal::Journal, times::Times, units::Units},
    },
};

/// The indices that a thread has in hand: neighbours, folded from the front.
pub(crate) trait Hand {
    /// How many indices are left.
    fn left(&self) -> usize;

    /// Claims the indices of `stretch`, and folds them. May claim fewer indices if another thread
    /// has interfered.
    fn fold(&mut self, stretch: Stretch, acc: &mut dyn Accumulate) -> Result<(), StopAt>;

    /// Whether the run is noted. If not, nobody needs the time of its end.
    fn is_noted(&self) -> bool;

    /// A stretch has ended `now`. Returns whether the run goes on.
    fn end_stretch(&mut self, now: Instant) -> bool;
}

/// Folds what is in `hand`, stretch by stretch. Returns when nothing is left, when the pace has no
/// more time, when the hand does not go on, or when the loop stops.
#[inline(always)] // into its two callers
pub(crate) fn fold_run(
    hand: &mut impl Hand,
    pace: &mut impl Pace,
    acc: &mut dyn Accumulate,
) -> Result<(), StopAt> {
    while hand.left() > 0 {
        hand.fold(pace.stretch(hand.left()), acc)?;
        if !hand.is_noted() && hand.left() == 0 {
            break;
        }
        let now = Instant::now();
        pace.end_stretch(hand.left(), now);
        if !hand.end_stretch(now) || !pace.has_time(now) {
            break;
        }
    }
    Ok(())
}

/// The work of a worker in a loop.
pub(crate) trait Worker {
    /// Folds all that the worker can find. May panic, because user code may.
    fn work(&mut self, acc: &mut dyn Accumulate, worker_log: &mut WorkerLog<'_>);

    /// The worker has panicked: ends the loop at the place of the panic, and abandons `acc`.
    /// Returns whether the worker continues. Does not panic.
    fn end_at_panic(&mut self, panic: Panic, acc: &mut dyn Accumulate) -> bool;

    /// Writes the last notes to the journal, if there is one. Returns how many thefts the worker
    /// tried without success.
    fn leave(&mut self, journal: Option<&mut Journal>) -> usize;
}

/// Runs worker `me` of a loop with these `times` until it leaves. Never unwinds: a panic ends the
/// loop and is kept for the caller.
pub(crate) fn visit(
    times: Option<&Times>,
    (me, units): (usize, Units),
    worker: &mut (dyn Worker + '_),
    acc: &mut dyn Accumulate,
) {
    let _inside = Inside::new();
    let mut worker_log = WorkerLog::enter(times, me, units);
    let _or_it_has_given_up = catching(
        &mut (&mut *worker, acc),
        |(worker, acc)| {
            worker.work(*acc, &mut worker_log);
            acc.leave();
        },
        |(worker, acc), panic| worker.end_at_panic(panic, *acc),
    );
    let failed = worker.leave(worker_log.journal.as_deref_mut());
    worker_log.leave(failed);
}

/// Calls `work` until it returns, and returns its result. After each panic, `end_at_panic` gets the
/// payload. It returns whether the worker continues; if not, the result is `None`.
#[inline(always)] // so that items run above few frames
pub(crate) fn catching<W, T>(
    worker: &mut W,
    mut work: impl FnMut(&mut W) -> T,
    mut end_at_panic: impl FnMut(&mut W, Panic) -> bool,
) -> Option<T> {
    loop {
        match catch_unwind(AssertUnwindSafe(|| work(worker))) {
            Ok(done) => return Some(done),
            Err(panic) => {
                if !end_at_panic(worker, panic) {
                    return None;
                }
            }
        }
    }
}

/// Calls a closure of a join, inside the join. Returns the payload of a panic.
#[inline(always)] // a result may be large
pub(crate) fn visit_once(work: impl FnOnce()) -> Option<Panic> {
    let _inside = Inside::new();
    catch_unwind(AssertUnwindSafe(work)).err()
}
