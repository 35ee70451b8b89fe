//! A shared loop as its workers see it: claim, fold, steal, hand over.

use std::{
    any::Any,
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::PoisonError,
    time::Instant,
};

use super::{
    affinity::usage,
    estimate::nanos,
    grain::{Grain, Stretch},
    range::{Owner, Ranges, half},
    split::Profile,
    times::{Pieces, Times},
};
use crate::sync::{Mutex, lock};

/// So many thefts of a worker go by what the last round has taught. Who needs more has been taught wrong.
const TRUSTED: usize = 3;

/// The last item of the caller is left to it if that took less last time, in nanoseconds: otherwise it would have to wait for the
/// thief, and to fall asleep and wake up takes about as long.
const NAP: f32 = 60e3;

const CALLER: usize = 0;

/// What a loop does: `init` makes an accumulator, `block` folds a range of indices into one.
pub(crate) struct Body<'a, I, B> {
    pub(crate) init: &'a I,
    pub(crate) block: &'a B,
}

impl<I, B> Clone for Body<'_, I, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, B> Copy for Body<'_, I, B> {}

/// A piece of the slice folded by one worker: the index it begins with, and the result.
pub(crate) type Run<A> = (usize, A);

/// A shared loop.
pub(crate) struct Round<'a, A, I, B> {
    ranges: &'a Ranges,
    body: Body<'a, I, B>,
    /// What an item cost last time, in nanoseconds.
    pace: Option<f32>,
    /// And where in the slice the cost was.
    profile: Option<&'a Profile>,
    begin: Instant,
    measures_usage: bool,
    made: Mutex<Made<A>>,
}

/// What comes out of a shared loop.
pub(crate) struct Made<A> {
    pub(crate) runs: Vec<Run<A>>,
    pub(crate) times: Times,
    /// The first one.
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a, A, I, B> Round<'a, A, I, B>
where
    I: Fn() -> A,
    B: Fn(A, Range<usize>) -> A,
{
    pub(crate) fn new(
        ranges: &'a Ranges,
        body: Body<'a, I, B>,
        begin: Instant,
        pace: Option<f32>,
        profile: Option<&'a Profile>,
        times: Times,
    ) -> Self {
        let measures_usage = times.usage.is_some();
        let made = Made { runs: Vec::with_capacity(2 * times.spans.len()), times, panic: None };
        Self { ranges, body, pace, profile, begin, measures_usage, made: Mutex::new(made) }
    }

    /// What worker `me` does from entering to leaving; `acc` is the result of the items before its range, if it has one. Never
    /// unwinds: a panic ends the loop and is kept for the caller.
    pub(crate) fn work(&self, me: usize, owner: Owner<'_>, first: Option<usize>, acc: Option<A>) {
        let before = if self.measures_usage { usage() } else { None };
        let drained = catch_unwind(AssertUnwindSafe(|| self.drain(me, owner, first, acc)));
        if let (Some(before), Some(after)) = (before, before.and_then(|_| usage())) {
            lock(&self.made).times.usage.get_or_insert_default().add(before, after);
        }
        let Err(payload) = drained else { return };
        self.ranges.cut(0);
        let mut made = lock(&self.made);
        let surplus = match made.panic {
            None => made.panic.replace(payload),
            Some(_) => Some(payload),
        };
        drop(made);
        discard(surplus);
    }

    /// Claims and folds until nothing is left to claim or steal. A run ends when its worker jumps.
    fn drain(&self, me: usize, mut owner: Owner<'_>, first: Option<usize>, mut acc: Option<A>) {
        let Body { init, block } = self.body;
        let begun = Instant::now();
        let mut thefts = 0;
        let mut steal = |owner: &mut Owner<'_>| {
            thefts += 1;
            let profile = self.profile.filter(|_| thefts <= TRUSTED);
            owner.steal(&|victim, left: Range<usize>| match profile {
                Some(profile) if victim == CALLER && left.len() == 1 && profile.cost(&left) < NAP => None,
                Some(profile) => Some(profile.middle(left)),
                None => half(victim, left),
            })
        };
        let mut next = first.map(|item| (item, begun));
        while let Some((item, begin)) = next.take().or_else(|| Some((steal(&mut owner)?, Instant::now()))) {
            let mut part = block(acc.take().unwrap_or_else(init), item..item + 1);
            let mut pieces = Pieces::new(item, begin);
            let mut grain = Grain::new(begin, self.pace);
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
                let now = Instant::now();
                grain.look(owner.left(), now);
                pieces.look(owner.next(), now);
            }
            let mut made = lock(&self.made);
            made.runs.push((item, part));
            let end = pieces.end(&mut made.times.marks);
            made.times.spans[me] = nanos(begun - self.begin)..nanos(end - self.begin);
        }
    }

    /// What the workers have made, or their panic goes on. Not before everybody has left.
    pub(crate) fn into_made(self) -> Made<A> {
        let mut made = self.made.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = made.panic.take() {
            made.runs.into_iter().for_each(discard);
            resume_unwind(payload);
        }
        made
    }
}

/// Drops a value that a panic has made useless. If that panics too, one panic is enough for the caller.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        mem::forget(payload); // its own drop may panic as well
    }
}
