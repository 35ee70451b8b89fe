//! One call decides how to run its loop: plain, alone, busy or shared. Then the call runs the loop
//! and combines the results.

use std::{panic::Location, time::Duration};

use super::{
    account::Account,
    accumulator::{Accumulate, Accumulator, Folder, Folders, Lend, Partials, Started, WorkerFolder},
    alone::Solo,
    body::{Body, Stop, kernel},
    ending::{Outcome, Panic},
    inputs::{Gaps, Inside, draw, upcoming},
    loop_options::{LoopOptions, is_logged},
    order::Node,
    plan::check_cpu,
};
use crate::{
    clock::{Instant, Moment, nanos},
    pool::{
        hosts::{HostOptions, Hosts},
        place::{
            cpu_assignment::CpuAssignment,
            placement::{PinState, SeatPlan},
        },
        policy::{
            alone_or_shared,
            launch::{self, CHECKED, CHECKED_AFTER, Case, FIRST_LOOK_NS, Gap, Launch, QuickVerdict, Why},
            memory::Memory,
            prices::Prices,
            site::{Loop, LoopKind, Site, Slice},
            split::{Splits, equal_parts},
            victim::Stealing,
        },
        protocol::{Fence, arena::Turn, range::Claims, threads::Threads},
        record::{program_report::ProgramReport, trace::scene::ScenePlace, why_alone::Alone},
    },
    sync::{AtomicBool, AtomicU64, Mutex, Ordering, Patience, try_lock_soon},
};

/// The threads of a pool, and the data that its loops share.
#[derive(Debug)]
#[repr(C, align(64))] // `quick_verdict` reads one cache line
pub(crate) struct Executor {
    pub(crate) workers: usize,
    /// Whether another thread called a loop during the last shared loops. A helper that polls
    /// between loops may occupy the CPU of such a thread. Relaxed: this is a hint.
    pub(super) is_crowded: AtomicBool,
    /// Whether the last call that was too short for helpers came so late that helpers which poll
    /// would have slept. Relaxed: this is a hint.
    is_quiet: AtomicBool,
    /// The report of all loops of the program, if the user wants this report.
    pub(super) program_report: Option<&'static ProgramReport>,
    pub(super) memory: Memory,
    pub(crate) prices: Prices,
    pub(super) gaps: Gaps,
    /// How many helpers can run at the same time.
    pub(super) helpers_at_a_time: usize,
    pub(crate) threads: Threads,
    pub(crate) cpus: CpuAssignment,
    pub(crate) hosts: Hosts,
    pub(super) stealing: Stealing,
    /// The memory of shared loops. A call locks this memory before and after it shares a loop,
    /// after a trial of running a loop alone, and in a loop whose items wait. This memory is only a
    /// hint: a call that cannot get the lock soon continues without the memory.
    pub(super) learnt: Mutex<Splits>,
    /// Which messages have been logged, one bit each. Relaxed: a repeated message does no harm.
    logged: AtomicU64,
}

impl Executor {
    /// An executor with these `threads`. The threads are placed on `cpus`. Helpers poll for the
    /// time `patience` before they sleep. If `patience` is `None`, the pool estimates how long
    /// polling pays, and helpers do not poll where `SeatPlan::may_poll` is false.
    pub(crate) fn new(
        threads: Threads,
        cpus: CpuAssignment,
        hosts: Hosts,
        stealing: Stealing,
        patience: Option<Duration>,
    ) -> Self {
        let workers = threads.size() + 1;
        let patience = patience.or((!cpus.plan.may_poll).then_some(Duration::ZERO));
        Self {
            workers,
            is_crowded: AtomicBool::new(false),
            is_quiet: AtomicBool::new(false),
            memory: Memory::new(),
            prices: Prices::new(),
            gaps: Gaps::new(patience),
            program_report: ProgramReport::if_wanted(),
            helpers_at_a_time: cpus.plan.workers_at_a_time() - 1,
            threads,
            cpus,
            hosts,
            stealing,
            learnt: Mutex::new(Splits::new(workers)),
            logged: AtomicU64::new(0),
        }
    }

    /// An executor without helpers. The global pool uses such an executor until the pool is built.
    /// If a pool could not get helpers, `doubts` are the reasons. Logs nothing. Asks the system
    /// only for memory and for one environment variable.
    pub(crate) fn of_one(doubts: Vec<String>) -> Self {
        let threads = Threads::new(0, Fence::Symmetric, Patience::default());
        let cpus = CpuAssignment::new(SeatPlan::alone(doubts), Vec::new(), PinState::Free);
        let hosts = Hosts::new(HostOptions::default());
        Self::new(threads, cpus, hosts, Stealing::default(), None)
    }

    /// Whether a sufficiently long loop would be shared now. A hint.
    pub(crate) fn is_free(&self) -> bool {
        self.threads.process.is_current() && self.idle() > 0
    }

    /// If a helper is on the CPU of the calling thread, which shares a loop, moves the helper away.
    /// Does so only if the thread is the only caller from outside the pool: two callers would move
    /// one helper to and fro.
    pub(super) fn make_room(&self) {
        if self.threads.here() == 0 && self.threads.callers() == 0 {
            self.cpus.make_room();
        }
    }

    /// Checks whether the calling thread has its CPU to itself. The thread calls this after it has
    /// read the clock.
    pub(crate) fn check_cpu(&self, now: Instant) {
        check_cpu(&self.threads, &self.cpus, now);
    }

    /// Folds the indices of `slice`, and reduces the partial results in order.
    ///
    /// Only this function, `call_plain`, `call_with_care`, `call_for_nodes`, `kernel` and
    /// `WorkerFolder` are compiled once for each loop. Their code is kept small, because after a
    /// sleep a caller finds little of the code in its caches.
    #[inline]
    pub(crate) fn call<L: Body>(
        &self,
        slice: Slice,
        options: LoopOptions<'_>,
        body: &L,
    ) -> Outcome<Option<L::Acc>, L::Found> {
        let this = loop_of::<L>(slice);
        let (verdict, part) = self.quick_verdict(&this, options.kind, options.threads, options.is_plain());
        let mut from = (0, None);
        if verdict != QuickVerdict::Unclear && !options.units.are_blocks() {
            match self.call_plain(&this, (verdict, part), &options, body) {
                Ok(outcome) => return outcome,
                Err((done, begun)) => from = (done, Some(begun)),
            }
        }
        self.call_with_care(&this, verdict, from, &mut options.in_memory(), body)
    }

    /// Runs the plain loop, in parts of `part` indices behind the first part. If the loop takes
    /// longer than expected, returns an `Err` with the number of folded indices.
    #[inline]
    fn call_plain<'b, L: Body>(
        &self,
        this: &Loop,
        (verdict, part): (QuickVerdict, usize),
        options: &LoopOptions<'_>,
        body: &'b L,
    ) -> Result<OutcomeOf<L>, (usize, Started<'b, L>)> {
        let len = this.slice.len;
        if len == 0 {
            return Ok(Outcome::Through(None));
        }
        let timed = (verdict != QuickVerdict::Plain).then(Instant::now);
        let (mut state, mut few) = (body.state(0), None);
        let (mut done, mut end) = (0, if len < CHECKED { len } else { CHECKED_AFTER });
        let ended = loop {
            let begin = (end < len).then(Moment::now);
            match kernel(body, &mut state, few, &mut Claims::of(done..end)) {
                Ok(more) if end < len => few = more,
                ended => break ended,
            }
            // The last call of this loop was short, but this call may be long.
            if begin.is_some_and(|begin| begin.is_over(FIRST_LOOK_NS))
                && most(len, self.workers.min(options.threads)) > 0
            {
                return Err((end, (state, few)));
            }
            (done, end) = (end, end + part.min(len - end));
        };
        // The state is dropped before the result is returned. So if the drop of the state panics,
        // the result is dropped, too.
        drop(state);
        if let Some(begin) = timed {
            self.learn_plain(this, options.kind, begin, verdict);
        }
        Ok(Outcome::of(ended))
    }

    /// A call that is more than the plain loop. The first `done` indices are already folded.
    #[cold]
    #[inline(never)]
    fn call_with_care<'b, L: Body>(
        &self,
        this: &Loop,
        verdict: QuickVerdict,
        (done, begun): (usize, Option<Started<'b, L>>),
        options: &mut LoopOptions<'_>,
        body: &'b L,
    ) -> Outcome<Option<L::Acc>, L::Found> {
        let (state, acc) = begun.unzip();
        let mut folder = WorkerFolder::new(body, 0, state);
        self.weighed(this, verdict, (done, acc.flatten()), options, &mut folder, body)
    }

    /// The part of [`call_with_care`](Self::call_with_care) that is compiled once for each type of
    /// results.
    #[inline(never)]
    fn weighed<A: Send, Z: Send>(
        &self,
        this: &Loop,
        verdict: QuickVerdict,
        (mut done, mut acc): (usize, Option<A>),
        options: &mut LoopOptions<'_>,
        folder: &mut dyn Folder<A, Z>,
        folders: &dyn Folders<A, Z>,
    ) -> Outcome<Option<A>, Z> {
        let mut call = self.weigh(this, verdict, done, options);
        // A loop that stops early has a found value. If it stops at one of its first items, it does
        // not need the setup below.
        let may_stop = size_of::<Option<Z>>() > 0;
        let first = call.as_ref().map_or(0, |call| call.launch.unlooked().min(this.slice.len));
        if may_stop && first > 0 && options.list.is_none() && !options.units.are_blocks() {
            match fold_first(folder, first) {
                Ok(few) => (done, acc) = (first, few),
                Err(found) => return Outcome::Stopped(found),
            }
        }
        let mut made = Partials::new(folders, &options.units);
        let mut own = Accumulator::new(folder, acc, &made);
        let (ended, account) = self.carry_out(this, (&mut call, done), options, &mut own, &made);
        let last = own.take_last();
        drop(own);
        let outcome = made.outcome(ended, last);
        if let Some(account) = account {
            options.tell(account, self.program_report);
        }
        outcome
    }

    /// Calls a loop over the leaves of a tree. Returns the largest nodes of this tree whose leaves
    /// a single worker has folded.
    pub(crate) fn call_for_nodes<L: Body>(
        &self,
        slice: Slice,
        mut options: LoopOptions<'_>,
        body: &L,
    ) -> Outcome<Vec<(Node, L::Acc)>, L::Found> {
        let this = loop_of::<L>(slice);
        let (verdict, _) = self.quick_verdict(&this, options.kind, options.threads, options.is_plain());
        let mut call = self.weigh(&this, verdict, 0, &options);
        let mut made = Partials::new(body, &options.units);
        let mut folder = WorkerFolder::new(body, 0, None);
        let mut own = Accumulator::new(&mut folder, None, &made);
        let (ended, account) = self.carry_out(&this, (&mut call, 0), &options, &mut own, &made);
        let last = own.take_last();
        drop(own);
        let outcome = made.nodes(ended, last);
        if let Some(account) = account {
            options.tell(account, self.program_report);
        }
        outcome
    }

    /// Carries out a call. Returns how the loop has ended, and the loop's account if an account is
    /// wanted. The first `done` indices are already folded. This function does not depend on the
    /// types of the loop. This function unwinds only if user code panics on the calling thread
    /// before the loop is shared.
    #[inline(never)]
    fn carry_out(
        &self,
        this: &Loop,
        (call, mut done): (&mut Option<Call>, usize),
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> EndAndAccount {
        let _stay = options.enter();
        let call = if let Some(call) = call {
            call
        } else {
            if done == 0 {
                if let Some(ended) = self.plain(this, options, own) {
                    return (Ok(ended), None);
                }
                done = this.slice.len;
            }
            self.weigh_again(*this, call)
        };
        self.carefully((call, done), options, own, others)
    }

    /// The plain loop. Returns `None` if the items of the loop have made further items, which may
    /// be worth sharing.
    #[inline(never)] // other loops do without its frame
    fn plain(&self, this: &Loop, options: &LoopOptions<'_>, own: &mut dyn Accumulate) -> Option<Outcome> {
        let len = this.slice.len;
        if len == 0 {
            return Some(Outcome::Through(()));
        }
        let most = self.most(*this, options);
        if let (Some(list), 0) = (options.list, most) {
            list.until(None);
        }
        match own.take(&mut Claims::of(0..len)) {
            Err(_) => Some(Outcome::Stopped(())),
            Ok(()) if most == 0 || options.list.is_none_or(|list| list.is_dry(0)) => {
                Some(Outcome::Through(()))
            }
            Ok(()) => None,
        }
    }

    /// A call that reads the clock, or shares the loop.
    #[inline(never)] // so that the frame of its caller is small
    fn carefully(
        &self,
        (call, mut done): (&Call, usize),
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> EndAndAccount {
        let len = call.this.slice.len;
        if done == 0 && call.launch.unlooked() > 0 {
            done = call.launch.unlooked().min(len);
            match own.take(&mut Claims::of(0..done)) {
                Ok(()) if done < len => {}
                Ok(()) => return (Ok(Outcome::Through(())), None),
                Err(_) => return (Ok(Outcome::Stopped(())), None),
            }
        }
        let mut solo = Solo::new(options, done..len);
        let (ended, why) = if options.watch.is_cancelled() {
            (Outcome::Cancelled, Alone::Cancelled)
        } else if let Some(ended) = self.alone(call, &mut solo, options, own) {
            let why = match call.launch.why() {
                _ if self.most(call.this, options) == 0 => Alone::OneWorker,
                Some(Why::Faster) => Alone::Faster,
                _ => Alone::Short,
            };
            (ended, why)
        } else {
            match self.share(call, &mut solo, options, own, others) {
                Ok(shared) => return shared,
                Err(ended) => (ended, Alone::Busy),
            }
        };
        let account = self.account_alone(call, &mut solo, options, why);
        (Ok(ended), account)
    }

    /// The account of a loop that has run alone, for the reason `why`. If the loop found no idle
    /// worker, reports it to the traced loop around it.
    #[inline(never)]
    fn account_alone(
        &self,
        call: &Call,
        solo: &mut Solo<'_>,
        options: &LoopOptions<'_>,
        why: Alone,
    ) -> Option<Box<Account>> {
        let is_told_around = why == Alone::Busy && ScenePlace::is_near();
        if !is_told_around && !options.wants_account() && self.program_report.is_none() {
            return None;
        }
        let mut before = solo.so_far();
        if is_told_around {
            options.tell_around(&before, None);
        }
        let help = self.prices.help_time(call.awake);
        options.account(&mut before, Err(why), self.program_report.is_some(), help)
    }

    /// The quick verdict: whether to run the plain loop, and the length of its parts behind the
    /// first part. The user allows `threads` threads. This function reads few places in memory,
    /// because any further work would make a very short loop slower.
    #[inline(never)]
    fn quick_verdict(
        &self,
        this: &Loop,
        kind: LoopKind,
        threads: usize,
        is_plain: bool,
    ) -> (QuickVerdict, usize) {
        let len = this.slice.len;
        let verdict = if !is_plain || is_logged() || self.program_report.is_some() {
            QuickVerdict::Unclear
        } else if most(len, self.workers.min(threads)) == 0 {
            QuickVerdict::Plain
        } else {
            let idle = || self.idle();
            match launch::quick_verdict(&self.memory, &self.prices, *this, kind, idle, draw) {
                // A timed loop writes to memory that all threads read, so loops inside items are
                // not timed.
                QuickVerdict::Timed if Inside::is_here() => QuickVerdict::Plain,
                QuickVerdict::Unclear if self.is_quiet.load(Ordering::Relaxed) => {
                    return match self.brief(*this, kind) {
                        Some(part) => (QuickVerdict::Brief, part),
                        None => (QuickVerdict::Unclear, len),
                    };
                }
                verdict => verdict,
            }
        };
        (verdict, len)
    }

    /// If the loop is brief: the length of its parts.
    #[cold]
    #[inline(never)]
    fn brief(&self, this: Loop, kind: LoopKind) -> Option<usize> {
        if self.threads.awake() > 0 || Inside::is_here() {
            return None;
        }
        let part = launch::brief(&self.memory, &self.prices, this, kind, upcoming())?;
        draw(); // otherwise the full decision uses this number
        Some(part)
    }

    /// Learns from a plain loop that began at `begin`.
    #[cold]
    #[inline(never)]
    fn learn_plain(&self, this: &Loop, kind: LoopKind, begin: Instant, verdict: QuickVerdict) {
        let took = begin.elapsed();
        self.memory.learn(*this, kind, this.slice.len, nanos(took));
        if verdict == QuickVerdict::Brief {
            self.set_quiet(self.gaps.after_brief(begin, took, &self.prices));
        }
    }

    fn set_quiet(&self, is_quiet: bool) {
        if self.is_quiet.load(Ordering::Relaxed) != is_quiet {
            self.is_quiet.store(is_quiet, Ordering::Relaxed);
        }
    }

    /// Notes that this thread calls a loop while a thread from outside the pool shares a loop. A
    /// call inside an item of a shared loop is not noted.
    fn notice_crowd(&self) {
        if self.threads.callers() > 0 && !Inside::is_here() && !self.is_crowded.load(Ordering::Relaxed) {
            self.is_crowded.store(true, Ordering::Relaxed);
        }
    }

    /// How a call begins after the quick verdict; `None` if it runs the plain loop, or has already
    /// folded `done` indices by the plain loop. A watched loop never runs as the plain loop.
    #[inline(never)]
    fn weigh(
        &self,
        this: &Loop,
        verdict: QuickVerdict,
        done: usize,
        options: &LoopOptions<'_>,
    ) -> Option<Call> {
        if verdict == QuickVerdict::Plain || done > 0 {
            return None;
        }
        let this = *this;
        let most = self.most(this, options);
        let polling = self.threads.awake();
        let awake = polling > 0;
        let mut launch = Launch::Plain;
        let has_idle = self.idle() > 0;
        self.notice_crowd();
        let gap = has_idle.then(|| self.gaps.gap(&self.prices));
        if most > 0 && !options.watch.is_cancelled() {
            let case = Case {
                memory: &self.memory,
                prices: &self.prices,
                this,
                kind: options.kind,
                helpers: most,
                awake,
                polling,
                is_timed: verdict == QuickVerdict::Timed,
                gap,
                draw: draw(),
            };
            launch = case.launch();
        }
        if launch.why() == Some(Why::Short) && !awake {
            self.set_quiet(gap.is_some_and(|gap| !gap.is_short(self.memory.expected(this))));
        }
        if options.is_watched() || self.program_report.is_some() {
            launch = launch.watched();
        }
        (launch != Launch::Plain).then_some(Call { this, launch, awake, gap })
    }

    /// How a call continues if it was expected to be short but is not. The next call gets a full
    /// decision, which learns the cost.
    #[cold]
    #[inline(never)]
    fn weigh_again<'c>(&self, this: Loop, call: &'c mut Option<Call>) -> &'c Call {
        self.set_quiet(false);
        let awake = self.threads.awake() > 0;
        let launch = Launch::begun_alone(&self.prices, awake, Why::Unexpected);
        call.insert(Call { this, launch, awake, gap: None })
    }

    /// The largest useful number of helpers: with this number each worker can have at least one
    /// index. A list that grows may have work for any number of helpers.
    #[inline]
    pub(super) fn most(&self, this: Loop, options: &LoopOptions<'_>) -> usize {
        let len = if options.list.is_some() { usize::MAX } else { this.slice.len };
        most(len, self.workers.min(options.threads))
    }

    /// Folds on the calling thread alone, for the time that the launch demands. Returns how the
    /// loop has ended; `None` if the remaining indices shall be shared.
    fn alone(
        &self,
        call: &Call,
        solo: &mut Solo<'_>,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
    ) -> Option<Outcome> {
        let ended = match call.launch {
            Launch::Alone { limit, stretch, .. } => solo.fold_until(own, limit, stretch),
            Launch::Trial { shared } => self.try_alone(call, shared, solo, own),
            Launch::Plain | Launch::Shared { .. } => return None,
        };
        if ended.is_none() && !solo.is_through() {
            return None;
        }
        let ended = ended.unwrap_or(Outcome::Through(()));
        self.learn_from_alone(call, solo, options, &ended);
        Some(ended)
    }

    /// Learns from a loop that has run alone and has `ended`.
    #[inline(never)]
    fn learn_from_alone(&self, call: &Call, solo: &Solo<'_>, options: &LoopOptions<'_>, ended: &Outcome) {
        if !matches!(ended, Outcome::Cancelled) && call.launch.is_learnt_from() {
            let (timed, took) = solo.timed();
            self.memory.learn(call.this, options.kind, timed, nanos(took));
            let (is_trial, is_judged) = (call.launch.is_trial(), call.launch.why() == Some(Why::Faster));
            if is_judged && self.memory.learn_alone(&self.prices, call.this, is_trial, nanos(took)) {
                self.tell_of_faster(options.wishes.at, took);
            }
        }
    }

    /// A trial: folds on the calling thread alone, until the end or until the trial takes longer
    /// than a shared call. `shared` is the time of a shared call. Returns how the loop has ended,
    /// if it stops or is cancelled.
    #[inline(never)]
    fn try_alone(
        &self,
        call: &Call,
        shared: Duration,
        solo: &mut Solo<'_>,
        own: &mut dyn Accumulate,
    ) -> Option<Outcome> {
        if solo.has_work_list() {
            return solo.fold_until(own, shared, 1);
        }
        let is_current = self.threads.process.is_current();
        let learnt = if is_current { try_lock_soon(&self.learnt) } else { None };
        let parts = alone_or_shared::parts_for(shared);
        let known = learnt.and_then(|learnt| learnt.ends(call.this, call.awake, parts));
        // If the distribution of the work is unknown, all parts have equal numbers of items, but
        // may take very different times. If the distribution is unknown, the clock is also read
        // inside the parts.
        let len = call.this.slice.len;
        let is_known = known.is_some();
        let parts = if is_known { parts } else { parts.min(len.try_into().unwrap_or(parts)) };
        let ends = known.unwrap_or_else(|| [equal_parts(&(0..len), parts.into()), vec![len]].concat());
        let mut begin = 0;
        for (part, end) in (1..).zip(ends) {
            let limit = alone_or_shared::time_for(part, parts, shared);
            let expected = if is_known { end.saturating_sub(begin).max(1) } else { 1 };
            let ended = solo.fold_before(own, end, limit, expected);
            if ended.is_some() || solo.elapsed() > limit {
                return ended;
            }
            begin = end;
        }
        None
    }

    /// Whether this message has not been logged before.
    fn is_news(&self, bit: u64) -> bool {
        self.logged.load(Ordering::Relaxed) & bit == 0
            && self.logged.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Logs, once, that a shared call of this loop took far longer than a call on one thread.
    #[cold]
    fn tell_of_faster(&self, at: &Location<'_>, took: Duration) {
        if self.is_news(1) {
            log::info!(
                "{at}: this loop takes {took:?} alone, and much longer shared: other programs have the CPUs of this \
                 pool, or its items wait for each other. It now runs alone, and is shared again after growing pauses"
            );
        }
    }

    /// Logs, once, that a loop is not shared because another loop uses the pool.
    #[cold]
    pub(super) fn tell_of_busy(&self, at: &Location<'_>) {
        if self.is_news(2) {
            log::debug!(
                "{at}: this loop runs on the calling thread alone, because other loops have the pool. Later such loops are not \
                 logged; RANGESTEAL_REPORT=1 counts them"
            );
        }
    }

    /// The right to share a loop. A forked child touches nothing of its parent, because the
    /// parent's threads do not exist in the child.
    pub(super) fn take_turn(&self, options: &LoopOptions<'_>) -> Option<Turn<'_>> {
        let ours = self.threads.process.is_current() && options.watch.is_current();
        if ours { self.threads.take_turn() } else { None }
    }
}

/// Folds the first `done` items of a loop that may stop early. If the loop stops, returns the found
/// value.
#[inline(never)] // the items of other loops do without its frame
fn fold_first<A, Z>(folder: &mut dyn Folder<A, Z>, done: usize) -> Result<Option<A>, Z> {
    folder.fold(None, &mut Claims::of(0..done)).map_err(|Stop { found, .. }| {
        folder.leave(); // if this panics, the found value is dropped, too
        found
    })
}

/// How many helpers a loop over `len` indices can have if each worker must have at least one index.
#[inline]
fn most(len: usize, workers: usize) -> usize {
    workers.min(len).saturating_sub(1)
}

/// The loop `L` over a slice.
#[inline]
fn loop_of<L: Body>(slice: Slice) -> Loop {
    Loop { site: Site::new(kernel::<L> as *const ()), slice }
}

/// How the loop `L` has ended.
type OutcomeOf<L> = Outcome<Option<<L as Body>::Acc>, <L as Body>::Found>;

/// How a loop has ended, and its account if an account is wanted.
pub(super) type EndAndAccount = (Result<Outcome, Panic>, Option<Box<Account>>);

/// A call, and how it begins.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) this: Loop,
    pub(super) launch: Launch,
    /// Whether helpers were awake when the call began.
    pub(super) awake: bool,
    /// The gap before the call; `None` if the call was not weighed before it began.
    pub(super) gap: Option<Gap>,
}

/// The help that a call has found: an arena, idle workers, and the pool's knowledge of the loop.
pub(super) struct FoundHelp<'a> {
    pub(super) turn: Turn<'a>,
    /// The number of helpers that pays for this loop. The arena has one place for each of these
    /// helpers. Workers that become idle later may take a place, too.
    pub(super) helpers: usize,
    /// Whether at least `helpers` workers are idle now. If fewer workers are idle, the pool learns
    /// only the cost of items from this call, and nothing about sharing.
    pub(super) is_full: bool,
    /// How many workers get items at the start: the caller and all helpers that are idle now.
    pub(super) dealt: usize,
    /// Whether the whole slice is shared, from one end to the other.
    pub(super) is_whole: bool,
    /// How many workers were idle.
    pub(super) idle: usize,
    /// The boundaries of the ranges, if the distribution of the cost is known and the number of
    /// workers has changed since the last call.
    pub(super) new_bounds: Option<Vec<usize>>,
}
