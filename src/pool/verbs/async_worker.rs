//! The worker of a loop whose items may wait. The worker makes the futures of the items, polls the
//! futures, and folds their results.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll, ready},
};

use crossbeam_utils::CachePadded;

use super::{
    chain::{Chain, Each, Source},
    kernel::{Index, claim_item},
    options::LoopCall,
    runs::{DoneRun, DoneRuns},
    state::State,
};
use crate::pool::{
    engine::{
        async_loop::{LendPollItems, PollItems},
        ending::{FirstStop, Outcome, Panic, StopAt, attempt, discard},
    },
    policy::site::{Loop, Site},
    supply::{
        futures::Futures,
        range::Claims,
        wake_queues::{Slot, WakeQueues},
    },
};

/// Completes all items of a chain, with at most `limit` items under way. `make` makes the future of
/// an item. The partial result of the items before this item may be moved into the future. `done`
/// folds the future's output. The result is `None` if there are no items.
pub(super) fn run_async<C, B, D, R, F, A, Z>(
    call: LoopCall<'_, C>,
    limit: usize,
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
    let LoopCall { executor, slice, mut options, body: chain } = call;
    let site = Site::new(run_async::<C, B, D, R, F, A, Z> as *const ());
    let workers = executor.workers.min(options.threads).min(limit);
    let queues = WakeQueues::new(workers, limit.min(slice.len).max(1));
    // All workers read this value, and the calling thread writes its stack once per item. So the
    // value has its own cache lines.
    let async_body = CachePadded::new(AsyncBody {
        chain,
        make,
        done,
        runs: DoneRuns::new(reduce),
        futures: Futures::new(Arc::clone(&queues)),
        first_stop: FirstStop::none(),
    });
    let worker = |me| AsyncWorker { of: &*async_body, me, state: None, run: None, to_publish: None, at: 0 };
    let mut own = worker(0);
    let others: LendPollItems<'_> = &|me, work| work(&mut worker(me));
    executor.call_async(Loop { site, slice }, &mut options, &queues, &mut own, others);
    let is_cancelled = options.watch.is_cancelled();
    drop(own);
    let AsyncBody { runs, first_stop, .. } = CachePadded::into_inner(async_body);
    if first_stop.at().is_none() && !is_cancelled {
        return Outcome::Through(runs.into_result(slice.len));
    }
    runs.into_accs().for_each(discard);
    first_stop.into_outcome(is_cancelled)
}

/// A loop whose items may wait.
struct AsyncBody<C, B, D, R, F, A, Z> {
    chain: C,
    make: B,
    done: D,
    runs: DoneRuns<A, R>,
    futures: Futures<F, Note>,
    first_stop: FirstStop<Z>,
}

/// A note about a waiting item: the first index of the run that ends with the item, and the right
/// to write the item's result.
struct Note {
    first: usize,
    index: Index,
}

/// A worker's data for the duration of the loop: its state, and its notes about the source.
type HeldBy<'v, C> = (<<C as Chain>::State as State>::Held<'v>, <<C as Chain>::Source as Source>::Ledger<'v>);

/// A worker of the loop.
struct AsyncWorker<'v, C: Chain, B, D, R, F, A, Z> {
    of: &'v AsyncBody<C, B, D, R, F, A, Z>,
    me: usize,
    state: Option<HeldBy<'v, C>>,
    /// The newest run of this worker, which the next item may continue.
    run: Option<DoneRun<A>>,
    /// The second newest run, if `hand_over` has not published this run yet.
    to_publish: Option<DoneRun<A>>,
    /// The index of the item that the worker polls.
    at: usize,
}

impl<C: Chain, B, D, R, F, A, Z> AsyncWorker<'_, C, B, D, R, F, A, Z> {
    /// If item `next` continues the newest run, takes the run, and returns its first index and its
    /// partial result. Otherwise returns `next` and `None`.
    fn take_run_before(&mut self, next: usize) -> (usize, Option<A>) {
        match self.run.take_if(|run| run.end == next) {
            Some(run) => (run.first, Some(run.acc)),
            None => (next, None),
        }
    }

    /// Keeps a run as the newest run, and marks the previous run for publication.
    fn keep_run(&mut self, first: usize, end: usize, acc: A) {
        self.to_publish = self.run.replace(DoneRun { first, end, acc });
    }

    /// Stores the error that ends the loop.
    #[cold]
    fn stop(&mut self, found: Z) -> StopAt {
        let stop = StopAt::there(self.at);
        self.of.first_stop.note(stop, Ok(found));
        stop
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
        self.state = Some((chain.states().hold(self.me), chain.source().ledger()));
    }

    fn begin(&mut self, next: usize, claims: &mut Claims<'_>, slot: &mut Slot) -> Poll<Result<(), StopAt>> {
        // `acc` is the partial result of the items from `first` to before `end`.
        let (first, mut acc) = self.take_run_before(next);
        let mut end = next;
        let Self { of, state: Some((held, ledger)), at, .. } = self else { unreachable!("it has arrived") };
        let mut entry = of.futures.at(slot);
        let mut context = Context::from_waker(entry.waker);
        let mut own = mem::replace(claims, Claims::of(0..0)); // in registers, not in memory
        own.take_by(1);
        let begun = loop {
            let Some(claimed) = own.next() else { break Poll::Ready(Ok(())) };
            *at = claimed.start;
            let (item, token) = claim_item(of.chain.source(), ledger, *at);
            let item = of.chain.one(C::State::get(held), item);
            let had = acc.is_some();
            let future = (of.make)(&mut acc, item);
            entry.future.set(Some(future));
            let Some(future) = entry.future.as_mut().as_pin_mut() else { unreachable!("it is there") };
            let Poll::Ready(output) = future.poll(&mut context) else {
                // The item waits. Its future may have taken the partial result.
                let first = if had && acc.is_none() { first } else { *at };
                *entry.note = Some(Note { first, index: token });
                break Poll::Pending;
            };
            entry.future.set(None);
            match (of.done)(acc.take(), token, output) {
                Ok(folded) => acc = Some(folded),
                Err(found) => break Poll::Ready(Err(found)),
            }
            end = claimed.end;
        };
        *claims = own;
        if let Some(acc) = acc {
            self.keep_run(first, end, acc);
        }
        begun.map_err(|found| self.stop(found))
    }

    fn resume(&mut self, index: usize, slot: &mut Slot) -> Poll<Result<(), StopAt>> {
        self.at = index;
        let of = self.of;
        let mut entry = of.futures.at(slot);
        let Some(future) = entry.future.as_mut().as_pin_mut() else { unreachable!("it waits there") };
        let output = ready!(future.poll(&mut Context::from_waker(entry.waker)));
        entry.future.set(None);
        let Some(Note { first, index: token }) = entry.note.take() else { unreachable!("it has waited") };
        let acc = (of.done)(None, token, output).map_err(|found| self.stop(found))?;
        // If items wait equally long, neighbours are often done one after the other.
        let (before, last) = self.take_run_before(first);
        let acc = match last {
            Some(last) => of.runs.reduce(last, acc),
            None => acc,
        };
        self.keep_run(before, index + 1, acc);
        Poll::Ready(Ok(()))
    }

    fn clear(&mut self, slot: &mut Slot) {
        let mut entry = self.of.futures.at(slot);
        *entry.note = None;
        attempt(|| entry.future.set(None));
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
        drop(self.state.take());
    }

    fn abandon(&mut self, claimed: Option<usize>, panic: Panic) -> usize {
        let at = claimed.unwrap_or(self.at);
        self.of.first_stop.note(StopAt::there(at), Err(panic));
        discard(self.run.take());
        discard(self.to_publish.take());
        at
    }
}
