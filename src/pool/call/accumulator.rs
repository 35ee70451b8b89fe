//! What a worker makes of a loop: its state and its partial results. This is the only part of a
//! shared loop that knows the loop's types. Everything else calls it through [`Accumulate`], and so
//! is compiled once, not once per loop.

use std::{
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::PoisonError,
};

use super::{
    body::{Body, Stop, fold_out_of_line},
    ending::{Earliest, How, Outcome, discard},
};
use crate::{
    pool::{
        policy::grain::{LARGE, SMALL},
        protocol::range::Owner,
    },
    sync::{Mutex, lock},
};

/// A worker's part of a loop, whatever the loop folds. Each call does some microseconds of work, so
/// the cost of a virtual call is negligible.
pub(crate) trait Accumulate {
    /// Folds claimed items, at least one, which follow those already folded in the same run.
    fn take(&mut self, items: Range<usize>) -> Result<(), Halt>;

    /// Claims `size` items `claims` times and folds them. True: the last claim is contested, and
    /// [`Owner::settle`] tells which items of it are claimed.
    fn claim(&mut self, owner: &mut Owner<'_>, size: usize, claims: usize) -> Result<bool, Halt>;

    /// A run is over: stores its partial result under its `first` index.
    fn end(&mut self, first: usize);

    /// Nothing is left to do: hands over the partial results, and drops the state.
    fn leave(&mut self);

    /// After a panic: drops the state and the partial result of the run. Does not panic.
    fn lose(&mut self);
}

/// Where a loop stops before its last item. What it has found there is already stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halt {
    /// The index at which it stops.
    pub(crate) at: usize,
    /// The index from which on nothing is needed any more.
    pub(crate) place: usize,
}

/// Makes an accumulator for a worker, on its thread, and lends it to a closure.
pub(crate) type Lend<'a> = &'a (dyn Fn(usize, &mut dyn FnMut(&mut dyn Accumulate)) + Sync);

/// The state and the partial results of one worker in the loop `body`.
pub(crate) struct Accumulator<'b, 'm, L: Body> {
    body: &'b L,
    me: usize,
    made: &'m Made<L::Acc, L::Found>,
    state: Option<L::State<'b>>,
    acc: Option<L::Acc>,
    own: Parts<L::Acc, L::Found>,
}

impl<'b, 'm, L: Body> Accumulator<'b, 'm, L> {
    /// For worker `me`, which hands over to `made`.
    pub(crate) fn new(body: &'b L, me: usize, made: &'m Made<L::Acc, L::Found>) -> Self {
        Self { body, me, made, state: None, acc: None, own: Parts::new() }
    }

    /// Goes on with a state and a partial result that were made before.
    pub(crate) fn after(self, state: Option<L::State<'b>>, acc: Option<L::Acc>) -> Self {
        Self { state, acc, ..self }
    }

    /// What this worker has not handed over. Drops the state first: if that panics, the rest is
    /// dropped, too.
    pub(crate) fn into_rest(self) -> Rest<L::Acc, L::Found> {
        let Self { state, acc, own, .. } = self;
        drop(state);
        Rest { acc, parts: own }
    }

    /// Stores what was found.
    #[cold]
    fn halt(&mut self, stop: Stop<L::Found>) -> Halt {
        let halt = Halt { at: stop.at, place: stop.place };
        discard(self.own.found.note(halt.place, stop.found));
        halt
    }
}

impl<L: Body> Accumulate for Accumulator<'_, '_, L> {
    fn take(&mut self, items: Range<usize>) -> Result<(), Halt> {
        let Self { body, me, .. } = *self;
        let state = self.state.get_or_insert_with(|| body.state(me));
        let folded = fold_out_of_line(body, state, self.acc.take(), items);
        self.acc = Some(folded.map_err(|stop| self.halt(stop))?);
        Ok(())
    }

    fn claim(&mut self, owner: &mut Owner<'_>, size: usize, claims: usize) -> Result<bool, Halt> {
        let (Some(state), Some(acc)) = (&mut self.state, self.acc.take()) else {
            unreachable!("the first item of a run is taken by itself")
        };
        let folded = stretch(self.body, owner, state, acc, (size, claims));
        let (acc, contested) = folded.map_err(|stop| self.halt(stop))?;
        self.acc = Some(acc);
        Ok(contested)
    }

    fn end(&mut self, first: usize) {
        if let Some(acc) = self.acc.take() {
            self.own.firsts.push(first);
            self.own.accs.push(Some(acc));
        }
    }

    fn leave(&mut self) {
        self.made.add(&mut self.own);
        self.state = None;
    }

    fn lose(&mut self) {
        discard(self.acc.take());
        discard(self.state.take());
    }
}

/// Folds `claims` claims of `size` items. Not inlined: here the accumulator stays in a register,
/// since nothing is called except the user's closures. (Inlined into the code that reads the clock,
/// it went through memory with every block: a sum of `f64` took 0.77 ns per item there, and 0.5
/// here.)
#[inline(never)]
fn stretch<L: Body>(
    body: &L,
    owner: &mut Owner<'_>,
    state: &mut L::State<'_>,
    acc: L::Acc,
    (size, claims): (usize, usize),
) -> Result<(L::Acc, bool), Stop<L::Found>> {
    let block = |acc, items| body.block(state, Some(acc), items);
    match size {
        1 => owner.fold::<1, _, _>(claims, acc, block),
        SMALL if L::IN_BLOCKS => owner.fold::<SMALL, _, _>(claims, acc, block),
        LARGE if L::IN_BLOCKS => owner.fold::<LARGE, _, _>(claims, acc, block),
        _ => unreachable!("there are no other sizes, and it may be claimed item by item only"),
    }
}

/// What the caller has not handed over: its last partial result, and those it has stored.
pub(crate) struct Rest<A, Z> {
    acc: Option<A>,
    parts: Parts<A, Z>,
}

/// The partial results of runs.
struct Parts<A, Z> {
    /// The first index of each run, and its partial result.
    firsts: Vec<usize>,
    accs: Vec<Option<A>>,
    /// What was found at the first place where anything was found.
    found: Earliest<Z>,
}

impl<A, Z> Parts<A, Z> {
    fn new() -> Self {
        Self { firsts: Vec::new(), accs: Vec::new(), found: Earliest::NONE }
    }
}

/// What the workers of a loop have handed over.
pub(crate) struct Made<A, Z>(Mutex<Parts<A, Z>>);

impl<A, Z> Made<A, Z> {
    /// Nothing has been handed over yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Parts::new()))
    }

    /// Takes the partial results of a worker.
    fn add(&self, own: &mut Parts<A, Z>) {
        let mut made = lock(&self.0);
        made.firsts.append(&mut own.firsts);
        made.accs.append(&mut own.accs);
        let surplus = made.found.merge(mem::replace(&mut own.found, Earliest::NONE));
        drop(made);
        discard(surplus);
    }

    fn into_inner(self) -> Parts<A, Z> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcome of a loop that has ended; `rest` is what the caller has not handed over.
    pub(crate) fn outcome(
        self,
        how: How,
        mut rest: Rest<A, Z>,
        reduce: &impl Fn(A, A) -> A,
    ) -> Outcome<Option<A>, Z> {
        self.add(&mut rest.parts);
        if let How::Through = how {
            return Outcome::Through(self.reduced(rest.acc, reduce));
        }
        how.short_of_the_end(self.into_found(rest.acc))
    }

    /// The result when everything has been folded: what was handed over, reduced in the order of
    /// the slice; or `rest` if nothing was handed over.
    ///
    /// Neighbours are reduced in pairs, and pairs of them, and so on: if results grow, each of them
    /// is copied a few times, and not again with every part behind it.
    pub(crate) fn reduced(self, rest: Option<A>, reduce: &impl Fn(A, A) -> A) -> Option<A> {
        let Parts { firsts, mut accs, .. } = self.into_inner();
        if accs.is_empty() {
            return rest;
        }
        let mut last = 0;
        for (left, right) in pairs(&firsts) {
            let (Some(a), Some(b)) = (accs[left].take(), accs[right].take()) else { continue };
            // If `reduce` panics, the remaining parts are dropped outside of the unwinding: a
            // second panic during it would end the process, and the plain loop has no such parts.
            match catch_unwind(AssertUnwindSafe(|| reduce(a, b))) {
                Ok(reduced) => accs[left] = Some(reduced),
                Err(payload) => {
                    accs.into_iter().for_each(discard);
                    resume_unwind(payload);
                }
            }
            last = left;
        }
        accs[last].take()
    }

    /// What was found first, when the loop has stopped. Everything else is dropped.
    fn into_found(self, rest: Option<A>) -> Option<Z> {
        let Parts { accs, found, .. } = self.into_inner();
        accs.into_iter().flatten().chain(rest).for_each(discard);
        found.into_noted()
    }
}

/// Which two partial results to reduce, one pair after the other: neighbours in the order of their
/// first indices, then pairs of these, and so on. The result is kept in the place of the left one.
fn pairs(firsts: &[usize]) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..firsts.len()).collect();
    order.sort_unstable_by_key(|&run| firsts[run]);
    let mut pairs = Vec::with_capacity(order.len());
    while order.len() > 1 {
        pairs.extend(order.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        order = order.into_iter().step_by(2).collect();
    }
    pairs
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_reduced_once_per_level_with_its_neighbour() {
        for parts in 1..100 {
            let firsts: Vec<usize> = (0..parts).map(|part| part * 37 % 101).collect();
            let mut order: Vec<usize> = (0..parts).collect();
            order.sort_unstable_by_key(|&part| firsts[part]);
            // Each part as a stretch of the order, and how often it was reduced.
            let mut stretches: Vec<_> = (0..parts).map(|_| None).collect();
            order.iter().enumerate().for_each(|(at, &part)| stretches[part] = Some((at..at + 1, 0)));
            let mut last = 0;
            for (left, right) in pairs(&firsts) {
                let ((before, a), (behind, b)): ((Range<usize>, u32), (Range<usize>, u32)) =
                    stretches[left].take().zip(stretches[right].take()).unwrap();
                assert_eq!(before.end, behind.start);
                stretches[left] = Some((before.start..behind.end, a.max(b) + 1));
                last = left;
            }
            let (whole, levels) = stretches[last].take().unwrap();
            assert_eq!(whole, 0..parts);
            assert!(levels <= parts.next_power_of_two().ilog2(), "{levels} levels of {parts} parts");
        }
    }
}
