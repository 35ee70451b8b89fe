//! A worker's part of a loop whose items may wait: it makes their futures, polls these, and folds
//! their results.

use std::{
    pin::Pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll},
};

use crossbeam_utils::CachePadded;

use super::{
    chain::{Chain, Each, Source},
    kernel::{Index, claim_one},
    runs::{DoneRun, DoneRuns},
    state::State,
};
use crate::{
    pool::{
        call::{
            accumulator::Halt,
            async_round::{Began, LendPollItems, PollItems},
            ending::{Earliest, How, Outcome, discard},
            executor::Executor,
            loop_options::LoopOptions,
        },
        policy::site::{Loop, Site, Slice},
        protocol::{
            futures::{AtSlot, Futures},
            range::Owner,
            wake_queues::{Slot, WakeQueues},
        },
    },
    sync::{Mutex, lock},
};

/// A call of such a loop: the executor, the options, the items, and how many may be under way.
pub(super) struct AsyncCall<'p, 'o, C> {
    pub(super) executor: &'p Executor,
    pub(super) options: LoopOptions<'o>,
    pub(super) chain: C,
    pub(super) limit: usize,
}

/// Completes all items of a loop. `make` makes the future of an item, and may move the partial
/// result of the items before it into the future. `done` folds the future's output.
pub(super) fn run_async<C, B, D, R, F, A, Z>(
    call: AsyncCall<'_, '_, C>,
    make: B,
    done: D,
    reduce: R,
) -> Outcome<Option<A>, Z>
where
    C: Each + Sync,
    B: Fn(&mut Option<A>, C::Item) -> F + Sync,
    D: Fn(Option<A>, Index, F::Output) -> Result<A, Z> + Sync,
    R: Fn(A, A) -> A + Sync,
    F: Future + Send,
    A: Send,
    Z: Send,
{
    let AsyncCall { executor, mut options, chain, limit } = call;
    let slice = Slice { address: chain.begin().address(), len: chain.begin().count() };
    let site = Site::new(run_async::<C, B, D, R, F, A, Z> as *const ());
    let workers = executor.workers().min(options.threads).min(limit);
    let queues = WakeQueues::new(workers, limit.min(slice.len).max(1));
    // In cache lines of its own: all workers read this, and the caller's stack is written per item.
    let async_loop = CachePadded::new(AsyncLoop {
        chain,
        make,
        done,
        runs: DoneRuns::new(reduce),
        futures: Futures::new(Arc::clone(&queues)),
        found: Mutex::new(Earliest::NONE),
    });
    let mut own = AsyncWorker::new(&async_loop, 0);
    let others: LendPollItems<'_> = &|me, work| work(&mut AsyncWorker::new(&async_loop, me));
    let how = executor.wait(Loop { site, slice }, &mut options, &queues, &mut own, others);
    drop(own);
    CachePadded::into_inner(async_loop).outcome(how, slice.len)
}

/// A loop whose items may wait.
struct AsyncLoop<C, B, D, R, F, A, Z> {
    chain: C,
    make: B,
    done: D,
    runs: DoneRuns<A, R>,
    futures: Futures<F, Note>,
    found: Mutex<Earliest<Z>>,
}

/// A note about a waiting item: the first index of the run that ends with the item, and the right
/// to write the item's result.
struct Note {
    first: usize,
    index: Index,
}

impl<C, B, D, R: Fn(A, A) -> A, F, A, Z> AsyncLoop<C, B, D, R, F, A, Z> {
    /// The outcome of the loop, which had `len` items.
    fn outcome(self, how: How, len: usize) -> Outcome<Option<A>, Z> {
        let Self { runs, found, .. } = self;
        if let How::Through = how {
            return Outcome::Through(runs.into_result(len));
        }
        runs.into_accs().for_each(discard);
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner).into_noted();
        how.short_of_the_end(found)
    }
}

/// A worker's data for the duration of the loop: its state, and its notes about the source.
type HeldBy<'v, C> = (<<C as Chain>::State as State>::Held<'v>, <<C as Chain>::Source as Source>::Ledger<'v>);

/// A worker of the loop.
struct AsyncWorker<'v, C: Chain, B, D, R, F, A, Z> {
    of: &'v AsyncLoop<C, B, D, R, F, A, Z>,
    me: usize,
    state: Option<HeldBy<'v, C>>,
    /// The newest run of this worker, which the next item may continue.
    run: Option<DoneRun<A>>,
    /// The run before the newest, if `hand_over` has not published it yet.
    to_publish: Option<DoneRun<A>>,
    /// The index of the item that the worker polls.
    at: usize,
}

/// A future that is no longer needed. Dropping this drops the future in place.
struct Leftover<'a, F>(Pin<&'a mut Option<F>>);

impl<F> Drop for Leftover<'_, F> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// Why no further item is begun now.
enum Unfinished<A, Z> {
    /// An item waits. Contains the partial result of the items before it, unless the item's future
    /// has it.
    Waits(Option<A>),
    /// An item ends the loop, with this error.
    Found(Z),
}

impl<'v, C, B, D, R, F, A, Z> AsyncWorker<'v, C, B, D, R, F, A, Z>
where
    C: Each + Sync,
    B: Fn(&mut Option<A>, C::Item) -> F + Sync,
    D: Fn(Option<A>, Index, F::Output) -> Result<A, Z> + Sync,
    R: Fn(A, A) -> A + Sync,
    F: Future + Send,
{
    /// For worker `me`.
    fn new(of: &'v AsyncLoop<C, B, D, R, F, A, Z>, me: usize) -> Self {
        Self { of, me, state: None, run: None, to_publish: None, at: 0 }
    }

    /// Makes the future of item `index` and polls it for the first time. `acc` is the partial
    /// result of the items before it, from `first` on.
    #[inline(always)]
    fn begin_item(
        of: &'v AsyncLoop<C, B, D, R, F, A, Z>,
        (held, ledger): &mut HeldBy<'v, C>,
        place: &mut AtSlot<'_, F, Note>,
        context: &mut Context<'_>,
        (first, mut acc): (usize, Option<A>),
        index: usize,
    ) -> Result<Option<A>, Unfinished<A, Z>> {
        let (item, token) = claim_one(of.chain.begin(), ledger, index).into_item();
        let item = of.chain.one(C::State::get(held), item);
        let had = acc.is_some();
        let future = (of.make)(&mut acc, item);
        place.future.set(Some(future));
        let Some(future) = place.future.as_mut().as_pin_mut() else { unreachable!("it is there") };
        match future.poll(context) {
            Poll::Ready(output) => {
                place.future.set(None);
                (of.done)(acc, token, output).map(Some).map_err(Unfinished::Found)
            }
            Poll::Pending => {
                let first = if had && acc.is_none() { first } else { index };
                *place.note = Some(Note { first, index: token });
                Err(Unfinished::Waits(acc))
            }
        }
    }

    /// Takes the newest run if item `next` continues it: its first index, and its partial result.
    fn take_run_before(&mut self, next: usize) -> (usize, Option<A>) {
        match self.run.take_if(|run| run.end == next) {
            Some(run) => (run.first, Some(run.acc)),
            None => (next, None),
        }
    }

    /// Keeps a run as the newest, and marks the previous one, if any, for publication.
    fn keep_run(&mut self, run: DoneRun<A>) {
        self.to_publish = self.run.replace(run);
    }

    /// Keeps the partial result of the items from `first` on, and returns how the attempt ended.
    /// `is_contested` tells whether the last claim is contested; it counts if no item waits.
    fn keep(
        &mut self,
        first: usize,
        end: usize,
        folded: Result<(Option<A>, bool), Unfinished<A, Z>>,
    ) -> Result<Began, Halt> {
        let (acc, end, began) = match folded {
            Ok((acc, is_contested)) => (acc, end, if is_contested { Began::Contested } else { Began::Done }),
            Err(Unfinished::Waits(acc)) => (acc, self.at, Began::Waits(self.at)),
            Err(Unfinished::Found(found)) => return Err(self.halt(found)),
        };
        if let Some(acc) = acc {
            self.keep_run(DoneRun { first, end, acc });
        }
        Ok(began)
    }

    /// Stores the error that ends the loop.
    #[cold]
    fn halt(&mut self, found: Z) -> Halt {
        let surplus = lock(&self.of.found).note(self.at, found);
        discard(surplus);
        Halt { at: self.at, place: self.at }
    }
}

impl<C, B, D, R, F, A, Z> PollItems for AsyncWorker<'_, C, B, D, R, F, A, Z>
where
    C: Each + Sync,
    B: Fn(&mut Option<A>, C::Item) -> F + Sync,
    D: Fn(Option<A>, Index, F::Output) -> Result<A, Z> + Sync,
    R: Fn(A, A) -> A + Sync,
    F: Future + Send,
{
    fn arrive(&mut self) {
        let chain = &self.of.chain;
        self.state = Some((chain.states().hold(self.me), chain.begin().ledger()));
    }

    fn begin(&mut self, owner: &mut Owner<'_>, slot: &mut Slot, claims: usize) -> Result<Began, Halt> {
        let (first, acc) = self.take_run_before(owner.next());
        let Self { of, state: Some(state), at, .. } = self else { unreachable!("it has arrived") };
        let mut place = of.futures.at(slot);
        let mut context = Context::from_waker(place.waker);
        let (folded, is_contested) = owner.claim(1, claims, |claims| {
            let mut acc = acc;
            while let Some(claimed) = claims.next() {
                *at = claimed.start;
                acc = Self::begin_item(of, state, &mut place, &mut context, (first, acc), claimed.start)?;
            }
            Ok(acc)
        });
        self.keep(first, owner.next(), folded.map(|acc| (acc, is_contested)))
    }

    fn begin_one(&mut self, index: usize, slot: &mut Slot) -> Result<Began, Halt> {
        let (first, acc) = self.take_run_before(index);
        self.at = index;
        let Self { of, state: Some(state), .. } = self else { unreachable!("it has arrived") };
        let mut place = of.futures.at(slot);
        let mut context = Context::from_waker(place.waker);
        let begun = Self::begin_item(of, state, &mut place, &mut context, (first, acc), index);
        self.keep(first, index + 1, begun.map(|acc| (acc, false)))
    }

    fn resume(&mut self, index: usize, slot: &mut Slot) -> Result<bool, Halt> {
        self.at = index;
        let of = self.of;
        let mut place = of.futures.at(slot);
        let Some(future) = place.future.as_mut().as_pin_mut() else { unreachable!("it waits there") };
        let Poll::Ready(output) = future.poll(&mut Context::from_waker(place.waker)) else {
            return Ok(false);
        };
        place.future.set(None);
        let Some(Note { first, index: token }) = place.note.take() else { unreachable!("it has waited") };
        let acc = (of.done)(None, token, output).map_err(|found| self.halt(found))?;
        // Items that wait equally long often finish one after another.
        let (before, last) = self.take_run_before(first);
        let acc = match last {
            Some(last) => of.runs.reduce(last, acc),
            None => acc,
        };
        self.keep_run(DoneRun { first: before, end: index + 1, acc });
        Ok(true)
    }

    fn clear(&mut self, slot: &mut Slot) {
        let place = self.of.futures.at(slot);
        *place.note = None;
        discard(Leftover(place.future));
    }

    fn hand_over(&mut self) {
        if let Some(run) = self.to_publish.take() {
            self.of.runs.add(run, &mut self.at);
        }
    }

    fn leave(&mut self, is_needed: bool) {
        self.to_publish = self.run.take();
        if is_needed {
            self.hand_over();
        } else {
            discard(self.to_publish.take());
        }
        self.state = None;
    }

    fn lose(&mut self) -> usize {
        discard(self.run.take());
        discard(self.to_publish.take());
        self.at
    }

    fn go(&mut self) {
        discard(self.state.take());
    }
}
