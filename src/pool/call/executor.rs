//! One call decides how to run its loop: plain, alone, busy or shared. Then the call runs the loop
//! and combines the results.

use std::{panic::Location, time::Duration};

use super::{
    account::Account,
    accumulator::{Accumulator, Folder, Folders, Partials, Started, WorkerFolder},
    body::{Body, Stop, kernel},
    ending::{Outcome, Panic},
    inputs::{Gaps, Inside, draw, upcoming, with_rounds},
    loop_options::{LoopOptions, is_logged},
    order::Node,
    plan::check_cpu,
};
use crate::{
    clock::{Instant, Moment, nanos, time},
    pool::{
        hosts::{HostOptions, Hosts},
        place::{
            cpu_assignment::CpuAssignment,
            placement::{PinState, SeatPlan},
        },
        policy::{
            launch::{self, CHECKED, CHECKED_AFTER, Case, FIRST_LOOK_NS, Gap, Launch, QuickVerdict, Why},
            memory::Memory,
            prices::Prices,
            site::{Loop, LoopKind, Site, Slice},
            split::Splits,
            victim::Stealing,
        },
        protocol::{Fence, arena::Turn, range::Claims, threads::Threads},
        record::{program_report::ProgramReport, why_alone::Alone},
    },
    sync::{AtomicBool, AtomicU64, Mutex, Ordering, Patience},
};

/// The threads of a pool, and the data that its loops share.
#[derive(Debug)]
#[repr(C, align(64))] // `quick_verdict` reads one cache line
pub(crate) struct Executor {
    pub(crate) workers: usize,
    /// Whether another thread called a loop during the last shared loops. A helper that polls
    /// between loops may occupy the CPU of such a thread. Relaxed: this is a hint.
    pub(super) is_crowded: AtomicBool,
    /// While all helpers sleep, and the last full decision was that a loop runs alone: one in so
    /// many brief loops gets a full decision. Otherwise 0. Relaxed: this is a hint.
    quiet: AtomicU64,
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
            quiet: AtomicU64::new(0),
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
                Plain::Ended(outcome) => return outcome,
                Plain::Begun(done, begun) => from = (done, Some(begun)),
            }
        }
        self.call_with_care(&this, verdict, from, &mut options.in_memory(), body)
    }

    /// Runs the plain loop, in parts of `part` indices, unless it takes longer than expected. The
    /// first part is shorter if there are many indices.
    #[inline]
    fn call_plain<'b, L: Body>(
        &self,
        this: &Loop,
        (verdict, part): (QuickVerdict, usize),
        options: &LoopOptions<'_>,
        body: &'b L,
    ) -> Plain<'b, L> {
        let len = this.slice.len;
        if len == 0 {
            return Plain::Ended(Outcome::Through(None));
        }
        let timed = (verdict != QuickVerdict::Plain).then(Instant::now);
        let (mut state, mut few) = (body.state(0), None);
        let (mut done, mut end) = (0, if len < CHECKED { part } else { CHECKED_AFTER });
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
                return Plain::Begun(end, (state, few));
            }
            (done, end) = (end, end + part.min(len - end));
        };
        // The state is dropped before the result is returned. So if the drop of the state panics,
        // the result is dropped, too.
        drop(state);
        if let Some(begin) = timed {
            self.learn_plain(this, options.kind, begin, verdict);
        }
        Plain::Ended(Outcome::of(ended))
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
        let call = self.weigh(this, verdict, done, options);
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
        let (ended, account) = self.carry_out(this, (call, done), options, &mut own, &made);
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
        let call = self.weigh(&this, verdict, 0, &options);
        let mut made = Partials::new(body, &options.units);
        let mut folder = WorkerFolder::new(body, 0, None);
        let mut own = Accumulator::new(&mut folder, None, &made);
        let (ended, account) = self.carry_out(&this, (call, 0), &options, &mut own, &made);
        let last = own.take_last();
        drop(own);
        let outcome = made.nodes(ended, last);
        if let Some(account) = account {
            options.tell(account, self.program_report);
        }
        outcome
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
                QuickVerdict::Unclear => {
                    let odds = self.quiet.load(Ordering::Relaxed);
                    let part = if odds > 0 { self.brief(*this, kind, odds) } else { None };
                    return part.map_or((QuickVerdict::Unclear, len), |part| (QuickVerdict::Brief, part));
                }
                verdict => verdict,
            }
        };
        (verdict, len)
    }

    /// If the loop is brief: the length of its parts. One in `odds` brief loops gets a full
    /// decision all the same.
    #[cold]
    #[inline(never)]
    fn brief(&self, this: Loop, kind: LoopKind, odds: u64) -> Option<usize> {
        if self.threads.awake() > 0 || Inside::is_here() {
            return None;
        }
        let part = launch::brief(&self.memory, &self.prices, this, kind, upcoming().is_one_in(odds))?;
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
            self.end_brief(this, begin, took);
        }
    }

    /// A brief call that began at `begin` has taken `took`.
    #[inline(never)] // other calls touch none of its code
    fn end_brief(&self, this: &Loop, begin: Instant, took: Duration) {
        let is_far = self.gaps.after_brief(begin, took, &self.prices);
        self.set_quiet(launch::odds_after_brief(self.quiet.load(Ordering::Relaxed), is_far));
        with_rounds(|rounds| rounds.map(|rounds| rounds.begin_alone(*this, begin)));
    }

    fn set_quiet(&self, odds: u64) {
        if self.quiet.load(Ordering::Relaxed) != odds {
            self.quiet.store(odds, Ordering::Relaxed);
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
        let is_waking = !awake && self.threads.is_waking();
        let mut launch = Launch::Plain;
        let has_idle = self.idle() > 0;
        self.notice_crowd();
        let now = has_idle.then(Instant::now);
        let gap = now.map(|now| self.gaps.gap(now, &self.prices));
        if most > 0 && !options.watch.is_cancelled() {
            launch = with_rounds(|rounds| {
                let case = Case {
                    memory: &self.memory,
                    prices: &self.prices,
                    this,
                    kind: options.kind,
                    helpers: most,
                    awake,
                    polling,
                    is_waking,
                    is_timed: verdict == QuickVerdict::Timed,
                    gap,
                    draw: draw(),
                    rounds: rounds.zip(now),
                };
                case.launch()
            });
        }
        if let Some(gap) = gap.filter(|_| !awake) {
            let expected = self.memory.expected(this);
            self.set_quiet(launch::quiet_odds(&self.prices, launch, is_waking, gap, expected));
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
    pub(super) fn weigh_again(&self, this: Loop) -> Call {
        self.set_quiet(0);
        let awake = self.threads.awake() > 0;
        let launch = Launch::begun_alone(&self.prices, awake, Why::Unexpected);
        Call { this, launch, awake, gap: None }
    }

    /// Why a call has run alone, given that it was not cancelled and workers were idle.
    pub(super) fn why_alone(&self, call: &Call, options: &LoopOptions<'_>) -> Alone {
        match call.launch.why() {
            _ if self.most(call.this, options) == 0 => Alone::OneWorker,
            Some(Why::Faster) => Alone::Faster,
            Some(Why::Rounds) => Alone::Round,
            _ => Alone::Short,
        }
    }

    /// The largest useful number of helpers: with this number each worker can have at least one
    /// index. A list that grows may have work for any number of helpers.
    #[inline]
    pub(super) fn most(&self, this: Loop, options: &LoopOptions<'_>) -> usize {
        let len = if options.list.is_some() { usize::MAX } else { this.slice.len };
        most(len, self.workers.min(options.threads))
    }

    /// Whether this message has not been logged before.
    fn is_news(&self, bit: u64) -> bool {
        self.logged.load(Ordering::Relaxed) & bit == 0
            && self.logged.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Logs, once, that a shared call of this loop took far longer than a call on one thread.
    #[cold]
    pub(super) fn tell_of_faster(&self, at: &Location<'_>, took: Duration) {
        if self.is_news(1) {
            log::info!(
                "{at}: this loop takes {took:?} alone, and much longer shared: other programs have the CPUs of this \
                 pool, or its items wait for each other. It now runs alone, and is shared again after growing pauses"
            );
        }
    }

    /// Logs, once, that a loop runs alone because its program is faster so.
    #[cold]
    pub(super) fn tell_of_rounds(&self, at: &Location<'_>, this: Loop) {
        let times = with_rounds(|rounds| rounds?.of_alone_and_shared(this));
        if let Some([alone, shared]) = times.filter(|_| self.is_news(4)) {
            log::info!(
                "{at}: this loop runs alone, because its program is faster so: from the begin of a call to the begin \
                 of the next, {:?} instead of {:?}. It is shared again after growing pauses",
                time(alone),
                time(shared)
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

/// How the plain loop has gone.
enum Plain<'b, L: Body + 'b> {
    Ended(Outcome<Option<L::Acc>, L::Found>),
    /// It takes longer than expected. So many indices are folded.
    Begun(usize, Started<'b, L>),
}

/// How a loop has ended, and its account if an account is wanted.
pub(super) type EndAndAccount = (Result<Outcome, Panic>, Option<Box<Account>>);

/// A loop, and how it begins.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) this: Loop,
    pub(super) launch: Launch,
    /// Whether helpers were awake when the call began.
    pub(super) awake: bool,
    /// The gap before the call; `None` if the call was not weighed before it began.
    pub(super) gap: Option<Gap>,
}
