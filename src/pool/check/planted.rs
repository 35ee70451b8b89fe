//! The steps of the protocol and of a call, in a form in which each step can be done wrong. A model
//! plants a mistake in the real code, to show that the model finds the mistake. Builds for loom and
//! for shuttle, and builds with `--cfg planted`, use these steps in place of the steps in
//! `protocol` and `call`. A plain `cargo test` does not contain this file. `.ci/planted` builds it
//! for the sanitizers, and `.ci/plant` for the litmus tests.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::{
    pool::{
        call::{
            ending,
            handles::{self, CancelToken, End},
        },
        protocol::{
            Fence,
            arena::{self, Arena, LazyArena},
            barrier::{self, ArenaJob, Barrier, HelpInside, Offered, Published},
            cell::{self, Both, Cell},
            deque,
            gate::{self, Gate},
            post::{Post, WorkerState},
            shared_cursor,
            wake_queues::{self, Hints, ParkState, Parked, RunQueue, Slot, WakeQueues},
        },
    },
    sync::{AtomicUsize, Mutex, MutexGuard, Ordering, lock},
};

/// The mistakes that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A worker that enters does not tell thieves that they need a fence.
    EntersUnknown,
    /// A worker that changes its fences does not tell thieves.
    ChangesUntold,
    /// A thief's comparison with `<=` is off by one. So the thief keeps an item that its victim has
    /// just claimed.
    KeepsOneTooMany,
    /// A thief leaves an item to its victim, and claims the same item.
    CutsOneTooFew,
    /// A thief unlocks its own range for a moment while the theft is undecided.
    LetsGoUndecided,
    /// A thief always locks its own cell before the cell of its victim.
    OwnLockFirst,
    /// A thief shortens the victim's range before its own range shows the stolen items.
    CutsBeforeItShows,
    /// A scan that found nothing is not repeated, although a theft has begun.
    ScansOnce,
    /// `truncate` locks the cells one after the other.
    CutsOneByOne,
    /// `truncate` locks nothing.
    CutsUnlocked,
    /// A `truncate` behind the end of a range gives stolen items back to that range.
    CutsLonger,
    /// A round checks for a cancelled token before the token knows its ranges.
    LooksBeforeItTells,
    /// A token keeps the ranges of a round that is over.
    StaysWithToken,
    /// A block of a search is claimed by a load and a store.
    ClaimsInTwoSteps,
    /// A thief of a list that grows takes items that its victim has just claimed.
    TakesWhatIsClaimed,
    /// The owner's claim in a list that grows has no fence between its store and its load.
    ClaimsUnfenced,
    /// A theft from a list that grows has no fence.
    TakesUnfenced,
    /// The items of a list that grows are shown before they are written.
    ShowsUnwritten,
    /// An owner whose claim is contested resolves it without the lock.
    SettlesUnlocked,
    /// The owner of a list that grows unlocks before it moves the items.
    MovesUnlocked,
    /// A waker writes nothing if the item was woken before.
    WakesOnce,
    /// A poll begins with a plain store, so it does not see the writes of a second waker.
    PollsByStore,
    /// A poll does not see writes before the wake-up of its item.
    PollsUnseeing,
    /// A worker suspends an item by a plain store.
    SuspendsByStore,
    /// A worker drops an item that is not needed without taking its slot.
    DropsUntaken,
    /// A worker takes a slot to drop its item, and does not check again which item is in the slot.
    DropsAnother,
    /// A worker parks although items were woken in the meantime.
    SleepsUnwatched,
    /// A run queue is not watched again after its list was taken.
    WatchesOnce,
    /// A thread unparks a worker without the lock.
    UnparksUnlocked,
    /// A stop notifies no worker if no worker seems to sleep.
    StopsUnheard,
    /// A slot is given to a worker that does not want one.
    FeedsAnybody,
    /// The limit is off by one.
    BeginsOneTooMany,
    /// A worker that finds no items left leaves the other workers parked.
    LeavesAlone,
    /// A worker leaves a list that grows without a last look at the deques.
    GoesWithoutLooking,
    /// The caller rests although it was called back.
    RestsUncalled,
    /// A worker that is called back finds no open place.
    OpensNoPlace,
    /// Two callers take one arena.
    TakesWhatIsTaken,
    /// A caller makes an arena and does not register it.
    RegistersNothing,
    /// Of two callers that make one arena, each uses its own.
    UsesItsOwnArena,
    /// A thread finds an arena, and does not see what its maker wrote. Only loom's `OnceLock` can
    /// be wrong in this way.
    #[cfg(loom)]
    FindsUnmadeArenas,
    /// A caller opens places and wakes no worker.
    WakesNobody,
    /// A caller looks for sleeping workers before its places are open.
    WakesBeforeItOpens,
    /// A worker sleeps although a place is open.
    SleepsBesideAPlace,
    /// A worker looks for open places by a plain load before it sleeps.
    SleepsUnseen,
    /// A thread wakes a worker for an open place without a note at its post.
    RingsUnheard,
    /// A caller takes an offer back from a sleeping worker, and does not look whether another
    /// caller has opened a place meanwhile.
    TakesBackUnseeing,
    /// A worker that declines an offer keeps its token.
    DeclinesSilently,
    /// A worker is called back without a token.
    CallsUncounted,
    /// A sleeping caller is not woken for a loop inside its own loop.
    WakesNoCaller,
    /// A waiting caller sleeps without a look at the loops inside its own loop.
    HelpsNobodyInside,
    /// A waiting caller helps any loop.
    HelpsAnybody,
    /// Two workers get one seat.
    SharesSeats,
    /// The end of a call counts offers as taken back that it leaves at their posts.
    RetractsNothing,
    /// The end of a call does not wait for the workers inside.
    WaitsForNobody,
    /// The end of a call sees that the last token is back, and not what its worker did.
    SeesTheEndOnly,
    /// The caller sleeps although the last token is back.
    SleepsAfterTheLast,
    /// The last worker checks whether the caller sleeps, and leaves only afterwards.
    LooksBeforeItLeaves,
    /// A pool that stops wakes its workers before they can see that it stops.
    WakesBeforeItStops,
    /// A thread that leaves a gate notifies before it is counted out.
    NotifiesBeforeItLeaves,
    /// A thread enters a closed gate.
    ComesTooLate,
    /// A worker leaves the round after a panic.
    PanicsAndLeaves,
    /// If several items panic, the last panic counts.
    LastPanicCounts,
}

#[cfg(not(test))]
fn is_planted(bug: Bug) -> bool {
    use std::{env, sync::LazyLock};
    static PLANTED: LazyLock<String> = LazyLock::new(|| env::var("PLANTED").unwrap_or_default());
    *PLANTED == format!("{bug:?}")
}

// Thread-local, because a model checker runs all threads of a model on the calling thread.
#[cfg(test)]
thread_local!(static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) });

#[cfg(test)]
fn is_planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Plants a bug for the calling thread, until the next call of this function.
#[cfg(test)]
pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

pub(crate) fn own_lock_first(me: usize, victim: usize) -> bool {
    cell::own_lock_first(me, victim) || is_planted(Bug::OwnLockFirst)
}

pub(crate) fn tell(known: &mut Option<Fence>, fence: Fence) {
    let bug = if known.is_none() { Bug::EntersUnknown } else { Bug::ChangesUntold };
    if !is_planted(bug) {
        cell::tell(known, fence);
    }
}

pub(crate) fn transfer<'a>(mut both: Both<'a>, middle: usize, end: usize, moves: &AtomicUsize) -> Both<'a> {
    if is_planted(Bug::CutsBeforeItShows) {
        both.victim.cell.end.store(middle, Ordering::Release);
    }
    both = cell::transfer(both, middle, end, moves);
    if is_planted(Bug::CutsOneTooFew) {
        both.victim.cell.end.store(middle + 1, Ordering::Release);
    }
    if is_planted(Bug::LetsGoUndecided) {
        drop(both.own.fence);
        both.own.fence = lock(&both.own.cell.lock);
    }
    both
}

pub(crate) fn stands(middle: usize, start: usize) -> bool {
    cell::stands(middle + usize::from(is_planted(Bug::KeepsOneTooMany)), start)
}

pub(crate) fn is_still(before: usize, moves: usize) -> bool {
    cell::is_still(before, moves) || is_planted(Bug::ScansOnce)
}

pub(crate) fn lock_all(cells: &[CachePadded<Cell>]) -> Vec<MutexGuard<'_, Option<Fence>>> {
    if is_planted(Bug::CutsUnlocked) || is_planted(Bug::CutsOneByOne) {
        return Vec::new();
    }
    cell::lock_all(cells)
}

pub(crate) fn lower(cell: &Cell, at: usize) {
    let _one = is_planted(Bug::CutsOneByOne).then(|| lock(&cell.lock));
    if is_planted(Bug::CutsLonger) {
        return cell.end.store(at, Ordering::Relaxed);
    }
    cell::lower(cell, at);
}

pub(crate) fn order_of_top() -> Ordering {
    if is_planted(Bug::ShowsUnwritten) { Ordering::Relaxed } else { deque::order_of_top() }
}

pub(crate) fn fence_of_claim() {
    if !is_planted(Bug::ClaimsUnfenced) {
        deque::fence_of_claim();
    }
}

pub(crate) fn fence_of_theft() {
    if !is_planted(Bug::TakesUnfenced) {
        deque::fence_of_theft();
    }
}

pub(crate) fn stands_at(middle: usize, top: usize) -> bool {
    deque::stands_at(middle, top) || is_planted(Bug::TakesWhatIsClaimed)
}

pub(crate) fn lock_own<M>(memory: &Mutex<M>) -> Option<MutexGuard<'_, M>> {
    if is_planted(Bug::SettlesUnlocked) { None } else { deque::lock_own(memory) }
}

pub(crate) fn hold_on<'a, M>(guard: MutexGuard<'a, M>, memory: &'a Mutex<M>) -> MutexGuard<'a, M> {
    if is_planted(Bug::MovesUnlocked) {
        drop(guard);
        return lock(memory);
    }
    deque::hold_on(guard, memory)
}

pub(crate) fn is_seen(shown: usize) -> bool {
    deque::is_seen(shown) && !is_planted(Bug::GoesWithoutLooking)
}

pub(crate) fn takes_arena(arena: &Arena) -> bool {
    if is_planted(Bug::TakesWhatIsTaken) {
        return !arena.is_taken.load(Ordering::Relaxed) && {
            arena.is_taken.store(true, Ordering::Relaxed);
            true
        };
    }
    arena::takes_arena(arena)
}

pub(crate) fn register(place: &LazyArena, made: Box<Arena>) -> &Arena {
    if is_planted(Bug::RegistersNothing) {
        return Box::leak(made);
    }
    if is_planted(Bug::UsesItsOwnArena) {
        let mut own = Some(made);
        let registered = place.get_or_init(|| own.take().expect("initialised once"));
        return own.map_or(registered, |made| Box::leak(made));
    }
    arena::register(place, made)
}

/// The ordering with which loom's `OnceLock` checks for a value.
#[cfg(loom)]
pub(crate) fn order_of_get() -> Ordering {
    if is_planted(Bug::FindsUnmadeArenas) { Ordering::Relaxed } else { Ordering::Acquire }
}

pub(crate) fn is_free(thread: usize) -> bool {
    arena::is_free(thread) || is_planted(Bug::SharesSeats)
}

pub(crate) fn open_places<J: Copy>(
    barrier: &Barrier<J>,
    mut arena_job: MutexGuard<'_, ArenaJob<J>>,
    arena: &Arena,
    number: usize,
    places: usize,
) {
    if !is_planted(Bug::WakesBeforeItOpens) {
        return barrier::open_places(barrier, arena_job, arena, number, places);
    }
    barrier.announce(number);
    barrier.set_places(&mut arena_job, arena, number, places);
}

pub(crate) fn open_arenas(open: &AtomicUsize) -> usize {
    if is_planted(Bug::SleepsUnseen) {
        return open.load(Ordering::Relaxed);
    }
    if is_planted(Bug::SleepsBesideAPlace) { 0 } else { barrier::open_arenas(open) }
}

pub(crate) fn ring_if_asleep<J: Copy>(post: &Post<Offered<J>>) {
    if is_planted(Bug::RingsUnheard) {
        post.bell.notify_one();
    } else if !is_planted(Bug::WakesNobody) {
        barrier::ring_if_asleep(post);
    }
}

pub(crate) fn take_back<J: Copy>(post: &Post<Offered<J>>, number: usize) -> Option<WorkerState> {
    if is_planted(Bug::RetractsNothing) {
        return (post.at() == WorkerState::Offered).then_some(WorkerState::Awake);
    }
    barrier::take_back(post, number)
}

pub(crate) fn look_for_sleepers<J: Copy>(barrier: &Barrier<J>) {
    if !is_planted(Bug::TakesBackUnseeing) {
        barrier::look_for_sleepers(barrier);
    }
}

pub(crate) fn decline<J: Copy>(barrier: &Barrier<J>, offered: Offered<J>) {
    if !is_planted(Bug::DeclinesSilently) {
        barrier::decline(barrier, offered);
    }
}

pub(crate) fn job_to_call_for<J: Copy>(arena_job: &ArenaJob<J>) -> Option<J> {
    barrier::job_to_call_for(arena_job).filter(|_| !is_planted(Bug::OpensNoPlace))
}

pub(crate) fn count_call(arena: &Arena) {
    if !is_planted(Bug::CallsUncounted) {
        barrier::count_call(arena);
    }
}

pub(crate) fn takes_the_call<J: Copy>(
    barrier: &Barrier<J>,
    arena_job: &mut ArenaJob<J>,
    arena: &Arena,
    number: usize,
) -> bool {
    !is_planted(Bug::RestsUncalled) && barrier::takes_the_call(barrier, arena_job, arena, number)
}

pub(crate) fn try_schedule(state: &AtomicUsize) -> bool {
    if is_planted(Bug::WakesOnce) && state.load(Ordering::Relaxed) & wake_queues::NOTIFIED != 0 {
        return false;
    }
    wake_queues::try_schedule(state)
}

pub(crate) fn poll_again(state: &AtomicUsize) {
    if is_planted(Bug::PollsUnseeing) {
        state.swap(wake_queues::SCHEDULED, Ordering::Relaxed);
    } else if is_planted(Bug::PollsByStore) {
        state.load(Ordering::Acquire);
        state.store(wake_queues::SCHEDULED, Ordering::Relaxed);
    } else {
        wake_queues::poll_again(state);
    }
}

pub(crate) fn try_suspend(state: &AtomicUsize) -> bool {
    if !is_planted(Bug::SuspendsByStore) {
        return wake_queues::try_suspend(state);
    }
    let was_woken = state.load(Ordering::Relaxed) & wake_queues::NOTIFIED != 0;
    if !was_woken {
        state.store(0, Ordering::Release);
    }
    !was_woken
}

pub(crate) fn try_take(state: &AtomicUsize) -> bool {
    if is_planted(Bug::DropsUntaken) {
        state.load(Ordering::Acquire) == 0
    } else {
        wake_queues::try_take(state)
    }
}

pub(crate) fn is_still_behind(item: usize, stop: usize) -> bool {
    wake_queues::is_still_behind(item, stop) || is_planted(Bug::DropsAnother)
}

pub(crate) fn watches(run_queues: &[CachePadded<RunQueue>]) -> bool {
    wake_queues::watches(run_queues) || is_planted(Bug::SleepsUnwatched)
}

pub(crate) fn is_watched(woken: &AtomicUsize) -> bool {
    is_planted(Bug::WatchesOnce) || wake_queues::is_watched(woken)
}

pub(crate) fn lock_to_unpark(queues: &WakeQueues) -> MutexGuard<'_, Parked> {
    if is_planted(Bug::UnparksUnlocked) {
        queues.notify_all();
        let mut parked = wake_queues::lock_to_unpark(queues);
        parked.mark_all_awake(&queues.hints); // so that no worker is notified now
        return parked;
    }
    wake_queues::lock_to_unpark(queues)
}

pub(crate) fn make_all_check(queues: &WakeQueues) {
    if !is_planted(Bug::StopsUnheard) || queues.sleepers() > 0 {
        wake_queues::make_all_check(queues);
    }
}

pub(crate) fn free_slot(parked: &mut Parked) -> Option<Slot> {
    let more = usize::from(is_planted(Bug::BeginsOneTooMany));
    parked.limit += more;
    let slot = wake_queues::free_slot(parked);
    parked.limit -= more;
    slot
}

pub(crate) fn sleeper_for_slot(parked: &mut Parked, hints: &Hints) -> Option<usize> {
    if is_planted(Bug::FeedsAnybody) {
        parked.take_sleeper(0, ParkState::Asleep, hints)
    } else {
        wake_queues::sleeper_for_slot(parked, hints)
    }
}

pub(crate) fn release_all(queues: &WakeQueues, parked: MutexGuard<'_, Parked>) {
    if !is_planted(Bug::LeavesAlone) {
        wake_queues::release_all(queues, parked);
    }
}

pub(crate) fn advance(next: &AtomicUsize, behind: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    if !is_planted(Bug::ClaimsInTwoSteps) {
        return shared_cursor::advance(next, behind);
    }
    let start = next.load(Ordering::Relaxed);
    next.store(behind(start)?, Ordering::Relaxed);
    Some(start)
}

pub(crate) fn falls_asleep(arena: &Arena, tokens: usize) -> bool {
    if is_planted(Bug::SleepsAfterTheLast) {
        arena.active.fetch_or(arena::SLEEPS, Ordering::Relaxed);
        return true;
    }
    barrier::falls_asleep(arena, tokens)
}

pub(crate) fn wait_for_the_last<J: Copy>(published: &Published<'_, J>, help: HelpInside<'_, J>) {
    let is_seen = is_planted(Bug::SeesTheEndOnly) && published.arena.tokens(Ordering::Relaxed) == 0;
    if !is_seen && !is_planted(Bug::WaitsForNobody) {
        barrier::wait_for_the_last(published, help);
    }
}

pub(crate) fn sleeps<J>(arena_job: &ArenaJob<J>) -> bool {
    barrier::sleeps(arena_job) && !is_planted(Bug::WakesNoCaller)
}

pub(crate) fn may_help(is_around: bool) -> bool {
    !is_planted(Bug::HelpsNobodyInside) && (barrier::may_help(is_around) || is_planted(Bug::HelpsAnybody))
}

pub(crate) fn gives_back(arena: &Arena, tokens: usize, is_again: bool) -> bool {
    if !is_planted(Bug::LooksBeforeItLeaves) {
        return barrier::gives_back(arena, tokens, is_again);
    }
    let sleeps = arena.active.load(Ordering::Relaxed) & arena::SLEEPS != 0;
    barrier::gives_back(arena, tokens, is_again) && sleeps
}

pub(crate) fn stop<J: Copy>(post: &Post<Offered<J>>) {
    if is_planted(Bug::WakesBeforeItStops) {
        post.bell.notify_one();
        return post.mark_stopped();
    }
    barrier::stop(post);
}

pub(crate) fn is_open(state: &gate::GateState) -> bool {
    gate::is_open(state) || is_planted(Bug::ComesTooLate)
}

pub(crate) fn go_out(gate: &Gate) {
    if is_planted(Bug::NotifiesBeforeItLeaves) {
        gate.emptier.notify_one();
        lock(&gate.state).inside -= 1;
        return;
    }
    gate::go_out(gate);
}

pub(crate) fn tell_token(token: &CancelToken, end: Arc<dyn End>) {
    let missed = is_planted(Bug::LooksBeforeItTells) && !token.is_cancelled();
    if missed {
        lock(&token.0.ends).push(end);
    } else {
        handles::tell_token(token, end);
    }
}

pub(crate) fn forget(ends: &mut Vec<Arc<dyn End>>, end: &Arc<impl End>) {
    if !is_planted(Bug::StaysWithToken) {
        handles::forget(ends, end);
    }
}

pub(crate) fn goes_on_after(panic: &ending::Panic) -> bool {
    ending::goes_on_after(panic) && !is_planted(Bug::PanicsAndLeaves)
}

pub(crate) fn is_earlier(place: usize, before: usize) -> bool {
    ending::is_earlier(place, before) || is_planted(Bug::LastPanicCounts)
}
