//! What a worker makes of a loop: its state and its partial results. The only part of a shared loop
//! that knows the loop's types: everything else calls it through [`Accumulate`], and so is compiled
//! once, not once a loop.

use std::{
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::PoisonError,
};

use super::{
    body::{Body, Stop, fold},
    range::Owner,
};
use crate::sync::{Mutex, lock};

/// A worker's part of a loop, whatever the loop folds. Each call is worth some microseconds of the
/// loop, so that it costs nothing to speak of.
pub(crate) trait Accumulate {
    /// Folds items that are claimed, at least one, behind those of the same run.
    fn take(&mut self, items: Range<usize>) -> Result<(), Halt>;

    /// Claims `size` items so many times and folds them. True: the last claim is contested, and
    /// [`Owner::settle`] tells what of it is claimed.
    fn claim(&mut self, owner: &mut Owner<'_>, size: usize, claims: usize) -> Result<bool, Halt>;

    /// A run is over: hands over what was made of it, known by its first index.
    fn hand_over(&mut self, first: usize);

    /// Nothing is left to do: drops the state.
    fn leave(&mut self);

    /// After a panic: drops the state, and what was made of the run. Does not panic.
    fn lose(&mut self);
}

/// Where a loop stops before its last item. What it has found there is handed over already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halt {
    /// The index.
    pub(crate) at: usize,
    /// At or behind that index nothing is needed any more.
    pub(crate) place: usize,
}

/// Makes an accumulator for some worker, on its thread, and lends it out.
pub(crate) type Lend<'a> = &'a (dyn Fn(usize, &mut dyn FnMut(&mut dyn Accumulate)) + Sync);

/// What one worker makes of the loop that `body` does.
pub(crate) struct Accumulator<'a, L: Body> {
    body: &'a L,
    me: usize,
    made: &'a Made<L::Acc, L::Found>,
    state: Option<L::State>,
    acc: Option<L::Acc>,
}

impl<'a, L: Body> Accumulator<'a, L> {
    /// Of worker `me`, which hands over to `made`.
    pub(crate) fn new(body: &'a L, me: usize, made: &'a Made<L::Acc, L::Found>) -> Self {
        Self { body, me, made, state: None, acc: None }
    }

    /// Goes on where somebody has begun.
    pub(crate) fn after(self, state: Option<L::State>, acc: Option<L::Acc>) -> Self {
        Self { state, acc, ..self }
    }

    /// Goes on with another body of the same kind.
    pub(crate) fn with<S>(self, body: &'a S) -> Accumulator<'a, S>
    where
        S: Body<State = L::State, Acc = L::Acc, Found = L::Found>,
    {
        let Self { me, made, state, acc, .. } = self;
        Accumulator { body, me, made, state, acc }
    }

    /// What has not been handed over.
    pub(crate) fn into_rest(self) -> Option<L::Acc> {
        self.acc
    }

    /// Hands over what was found.
    #[cold]
    fn halt(&self, stop: Stop<L::Found>) -> Halt {
        let halt = Halt { at: stop.at, place: stop.place() };
        self.made.found(halt.place, stop.found);
        halt
    }
}

impl<L: Body> Accumulate for Accumulator<'_, L> {
    fn take(&mut self, items: Range<usize>) -> Result<(), Halt> {
        let Self { body, me, .. } = *self;
        let state = self.state.get_or_insert_with(|| body.state(me));
        self.acc = Some(fold(body, state, self.acc.take(), items).map_err(|stop| self.halt(stop))?);
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

    fn hand_over(&mut self, first: usize) {
        if let Some(acc) = self.acc.take() {
            self.made.part(first, acc);
        }
    }

    fn leave(&mut self) {
        self.state = None;
    }

    fn lose(&mut self) {
        discard(self.acc.take());
        discard(self.state.take());
    }
}

/// Folds so many claims of some size. Out of line: here the accumulator stays in a register, since
/// nothing is called but the user's closures. (Inlined into what looks at the clock, it went
/// through memory with every block: 0.77 ns an item of a sum of `f64`, and 0.5 here.)
#[inline(never)]
fn stretch<L: Body>(
    body: &L,
    owner: &mut Owner<'_>,
    state: &mut L::State,
    acc: L::Acc,
    (size, claims): (usize, usize),
) -> Result<(L::Acc, bool), Stop<L::Found>> {
    let block = |acc, items| body.block(state, Some(acc), items);
    match size {
        1 => owner.fold::<1, _, _>(claims, acc, block),
        8 if L::IN_BLOCKS => owner.fold::<8, _, _>(claims, acc, block),
        _ if L::IN_BLOCKS => owner.fold::<64, _, _>(claims, acc, block),
        _ => unreachable!("it is claimed item by item"),
    }
}

/// What the workers of a loop have handed over.
pub(crate) struct Made<A, Z>(Mutex<HandedOver<A, Z>>);

struct HandedOver<A, Z> {
    /// Of each run the first index, and what was made of it.
    firsts: Vec<usize>,
    parts: Vec<Option<A>>,
    /// What was found at the first place where anything was.
    found: Option<(usize, Z)>,
}

impl<A, Z> Made<A, Z> {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HandedOver { firsts: Vec::new(), parts: Vec::new(), found: None }))
    }

    fn part(&self, first: usize, part: A) {
        let mut made = lock(&self.0);
        made.firsts.push(first);
        made.parts.push(Some(part));
    }

    fn found(&self, place: usize, found: Z) {
        let mut made = lock(&self.0);
        let surplus = match &made.found {
            Some((before, _)) if *before <= place => Some(found),
            _ => made.found.replace((place, found)).map(|(_, found)| found),
        };
        drop(made);
        discard(surplus);
    }

    fn into_inner(self) -> HandedOver<A, Z> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything has been folded: what was handed over, reduced in the order of the slice; or
    /// `rest`, if nothing was.
    pub(crate) fn reduced(self, rest: Option<A>, reduce: &impl Fn(A, A) -> A) -> Option<A> {
        let HandedOver { firsts, mut parts, .. } = self.into_inner();
        if parts.is_empty() {
            return rest;
        }
        let order = order(&firsts);
        let mut in_order = order.into_iter().filter_map(|part| parts[part].take());
        let mut acc = in_order.next()?;
        // Should `reduce` panic, the parts left over are dropped outside of the unwinding: a second
        // panic there would end the process, and the plain loop has no such parts.
        while let Some(part) = in_order.next() {
            match catch_unwind(AssertUnwindSafe(|| reduce(acc, part))) {
                Ok(reduced) => acc = reduced,
                Err(payload) => {
                    in_order.for_each(discard);
                    resume_unwind(payload);
                }
            }
        }
        Some(acc)
    }

    /// The loop has stopped: what was found first. All else is dropped.
    pub(crate) fn into_found(self, rest: Option<A>) -> Option<Z> {
        let HandedOver { parts, found, .. } = self.into_inner();
        parts.into_iter().flatten().chain(rest).for_each(discard);
        found.map(|(_, found)| found)
    }
}

/// The numbers of the runs in the order of their first indices.
fn order(firsts: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..firsts.len()).collect();
    order.sort_unstable_by_key(|&run| firsts[run]);
    order
}

/// Drops a value that a panic has made useless. If that panics too, one panic is enough for the
/// caller.
pub(crate) fn discard<T>(value: T) {
    if mem::needs_drop::<T>()
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
    {
        mem::forget(payload); // its own drop may panic as well
    }
}
