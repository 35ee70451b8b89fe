//! One call: decide how to run; then run plain, alone, busy or shared; then combine the results.

use std::{panic::Location, time::Duration};

use super::{
    accumulator::{Accumulate, Accumulator, BlocksOf, InBlocks, Lend, Lender, Partials, Started},
    alone::Solo,
    body::{Body, kernel},
    ending::{How, Outcome},
    help::FoundHelp,
    inputs::{Gaps, Inside, draw},
    loop_options::{Account, LoopOptions, is_logged},
    order::{Node, Order},
    plan,
};
use crate::{
    clock::{Instant, Moment, nanos},
    pool::{
        place::{cpu_assignment::CpuAssignment, placement::SeatPlan},
        policy::{
            alone_or_shared,
            launch::{self, CHECKED, CHECKED_AFTER, Case, Gap, Launch, QuickVerdict},
            memory::Memory,
            prices::Prices,
            site::{Loop, LoopKind, Site, Slice},
            split::{Splits, equal_parts},
            victim::Stealing,
        },
        protocol::{Fence, arena::Turn, range::Claims, threads::Threads},
        record::{program_report::ProgramReport, trace::scene::ScenePlace, units::Units, why_alone::Alone},
    },
    sync::{AtomicBool, AtomicU64, Mutex, Ordering, Patience, try_lock_soon},
};

/// The threads of a pool, and the data that its loops share.
#[derive(Debug)]
#[repr(C, align(64))] // what `glance` looks at is one cache line
pub(crate) struct Executor {
    pub(super) workers: usize,
    /// Whether another thread has called a loop during the last shared loops: then a helper that
    /// polls between loops may take its CPU. Relaxed: it is a hint.
    pub(super) is_crowded: AtomicBool,
    /// Where all loops of the program are told of, if that is wanted.
    pub(super) ledger: Option<&'static ProgramReport>,
    pub(super) memory: Memory,
    pub(super) prices: Prices,
    pub(super) gaps: Gaps,
    /// How many helpers can run at a time.
    pub(super) placed: usize,
    pub(super) threads: Threads,
    pub(super) seats: CpuAssignment,
    pub(super) stealing: Stealing,
    /// The memory of shared loops. Locked before a loop is shared and after it. All of it is a
    /// hint: a call that finds the lock held for long goes without.
    pub(super) learnt: Mutex<Splits>,
    /// What has been told of, one bit each. Relaxed: one line more does no harm.
    told: AtomicU64,
}

impl Executor {
    /// For a threads whose threads are placed on CPUs; helpers poll for `patience` before they
    /// sleep, or as long as seems to pay.
    pub(crate) fn new(
        threads: Threads,
        seats: CpuAssignment,
        stealing: Stealing,
        patience: Option<Duration>,
    ) -> Self {
        let workers = threads.size() + 1;
        Self {
            workers,
            is_crowded: AtomicBool::new(false),
            memory: Memory::new(),
            prices: Prices::new(),
            gaps: Gaps::new(patience),
            ledger: ProgramReport::if_wanted(),
            placed: workers.min(seats.at_a_time()).max(2) - 1,
            threads,
            seats,
            stealing,
            learnt: Mutex::new(Splits::new(workers)),
            told: AtomicU64::new(0),
        }
    }

    /// Without helpers, because of these `doubts`, or for the global pool until it is built.
    /// Nothing is logged, and the system is asked for memory and one variable alone.
    pub(crate) fn of_one(doubts: Vec<String>) -> Self {
        let threads = Threads::new(0, Fence::Symmetric, Patience::default());
        let seats = CpuAssignment::new(SeatPlan::alone(doubts), Vec::new());
        Self::new(threads, seats, Stealing::default(), None)
    }

    pub(crate) fn seats(&self) -> &CpuAssignment {
        &self.seats
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    pub(crate) fn prices(&self) -> &Prices {
        &self.prices
    }

    pub(crate) fn thefts(&self) -> u64 {
        self.threads.thefts()
    }

    /// Whether a loop is being shared at the moment.
    pub(crate) fn is_busy(&self) -> bool {
        self.threads.is_busy()
    }

    /// Whether a loop would be shared if it were long enough. A hint.
    pub(crate) fn is_free(&self) -> bool {
        self.threads.process.is_current() && self.idle() > 0
    }

    /// Makes room for the calling thread, which shares a loop. Only one caller from elsewhere at a
    /// time: two of them would send one helper to and fro.
    pub(super) fn make_room(&self) {
        if self.threads.here() == 0 && self.threads.callers() == 0 {
            self.seats.make_room();
        }
    }

    /// The calling thread checks its CPU when it looks at the clock.
    pub(crate) fn look(&self, now: Instant) {
        plan::look(&self.threads, &self.seats, now);
    }

    /// Folds the indices of `slice`, and reduces the partial results in order.
    ///
    /// Only the code here, in `call_with_care` and in `accumulator.rs` is compiled once per loop.
    /// The code of the plain loop lies here, and is small: a caller that has slept finds little of
    /// it in its caches.
    #[inline(always)]
    pub(crate) fn call<L: Body>(
        &self,
        slice: Slice,
        options: LoopOptions<'_>,
        body: &L,
    ) -> Outcome<Option<L::Acc>, L::Found> {
        let (this, len) = (loop_of::<L>(slice), slice.len);
        let glance = self.glance(&this, options.kind, options.threads, options.is_plain());
        let from = 'plain: {
            if glance == QuickVerdict::Unclear || options.units.are_blocks() {
                break 'plain (0, None);
            }
            if len == 0 {
                return Outcome::Through(None);
            }
            let timed = (glance == QuickVerdict::Timed).then(Instant::now);
            // A loop that was short may be long this time.
            let first = if len < CHECKED { len } else { CHECKED_AFTER };
            let begin = (first < len).then(Moment::now);
            let mut state = body.state(0);
            let mut ended = kernel(body, &mut state, None, &mut Claims::of(0..first));
            if let Some(begin) = begin
                && let Ok(few) = ended
            {
                if begin.is_microseconds_ago() && most(len, self.workers.min(options.threads)) > 0 {
                    break 'plain (first, Some((state, few)));
                }
                ended = kernel(body, &mut state, few, &mut Claims::of(first..len));
            }
            // Before the result is on its way: if this panics, the result is dropped.
            drop(state);
            if let Some(begin) = timed {
                self.learn_plain(this, options.kind, begin);
            }
            return Outcome::of(ended);
        };
        let mut options = options; // in memory from here on
        self.call_with_care(this, glance, from, &mut options, body)
    }

    /// A call that is more than the plain loop. The first `done` indices are folded already.
    #[cold]
    #[inline(never)]
    fn call_with_care<'b, L: Body>(
        &self,
        this: Loop,
        glance: QuickVerdict,
        (mut done, mut begun): (usize, Option<Started<'b, L>>),
        options: &mut LoopOptions<'_>,
        body: &'b L,
    ) -> Outcome<Option<L::Acc>, L::Found> {
        let is_plain = glance == QuickVerdict::Plain || done > 0;
        let call = if is_plain { None } else { self.weigh(this, glance, options) };
        // A loop that ends at one of its first items needs nothing that is set up below.
        let first = call.as_ref().map_or(0, |call| call.launch.unlooked().min(this.slice.len));
        if L::MAY_STOP && first > 0 && options.list.is_none() && !options.units.are_blocks() {
            done = first;
            let mut state = body.state(0);
            match kernel(body, &mut state, None, &mut Claims::of(0..done)) {
                Ok(few) => begun = Some((state, few)),
                Err(stop) => return Outcome::Stopped(stop.found),
            }
        }
        let order = if options.leaves.is_some() { Order::Tree } else { Order::Runs };
        let made = Partials::new();
        let mut own = Accumulator::new(body, 0, &made).after(begun);
        let others = &Lender { body, made: &made };
        let Finish { how, account } = self.carry_out(this, (call, done), options, &mut own, others);
        let outcome = own.outcome(how, order);
        self.tell(options, account);
        outcome
    }

    /// The same of a loop over leaves: the nodes of their tree, reduced as far as one worker has
    /// folded them.
    pub(crate) fn call_for_nodes<L: Body>(
        &self,
        slice: Slice,
        mut options: LoopOptions<'_>,
        body: &L,
    ) -> Outcome<Vec<(Node, L::Acc)>, L::Found> {
        let this = loop_of::<L>(slice);
        let glance = self.glance(&this, options.kind, options.threads, options.is_plain());
        let call = if glance == QuickVerdict::Plain { None } else { self.weigh(this, glance, &options) };
        let made = Partials::new();
        let mut own = Accumulator::new(body, 0, &made);
        let others = &Lender { body, made: &made };
        let Finish { how, account } = self.carry_out(this, (call, 0), &options, &mut own, others);
        let outcome = own.nodes(how);
        self.tell(&mut options, account);
        outcome
    }

    /// Carries out a call, whatever the loop folds. The first `done` indices are folded already.
    /// Unwinds only with a panic of user code on the calling thread, while nothing is shared.
    #[inline(never)]
    fn carry_out(
        &self,
        this: Loop,
        begin: (Option<Call>, usize),
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> Finish {
        let _stay = options.enter();
        let Units::Blocks(blocks) = options.units else {
            return self.begin(this, begin, options, own, others);
        };
        let leaves = options.leaves;
        let others = &BlocksOf { others, blocks, leaves };
        self.begin(this, begin, options, &mut InBlocks { of: own, blocks, leaves }, others)
    }

    /// The same of a loop over indices, whatever they stand for.
    fn begin(
        &self,
        this: Loop,
        (call, done): (Option<Call>, usize),
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> Finish {
        if let Some(call) = call {
            return self.go_on(&call, done, options, own, others);
        }
        if done > 0 {
            return self.go_on(&self.weigh_again(this), done, options, own, others);
        }
        let (len, most) = (this.slice.len, self.most(this, options));
        if len == 0 {
            return Finish::of(How::Through);
        }
        let list = options.list.filter(|_| most > 0);
        if let (Some(list), 0) = (options.list, most) {
            list.until(None);
        }
        match own.take(&mut Claims::of(0..len)) {
            Err(_) => Finish::of(How::Stopped),
            Ok(()) if list.is_some_and(|list| !list.is_dry(0)) => {
                self.go_on(&self.weigh_again(this), len, options, own, others)
            }
            Ok(()) => Finish::of(How::Through),
        }
    }

    /// Whether a loop has to look at the clock or at a handle.
    #[inline(always)]
    fn is_watched(&self, options: &LoopOptions<'_>) -> bool {
        options.is_watched() || self.ledger.is_some()
    }

    /// Whether anybody wants to know what a loop does.
    fn wants_account(&self, options: &LoopOptions<'_>) -> bool {
        options.wants_account() || self.ledger.is_some()
    }

    /// Decides at a glance whether to run the plain loop; the user allows `threads` threads. A very
    /// short loop pays for nothing else, so this looks at few places in memory.
    #[inline(never)]
    fn glance(&self, this: &Loop, kind: LoopKind, threads: usize, is_plain: bool) -> QuickVerdict {
        if !is_plain || is_logged() || self.ledger.is_some() {
            QuickVerdict::Unclear
        } else if most(this.slice.len, self.workers.min(threads)) == 0 {
            QuickVerdict::Plain
        } else {
            let idle = || self.idle();
            match launch::quick_verdict(&self.memory, &self.prices, *this, kind, idle, draw) {
                // A timed loop writes where all threads read, so loops inside items are not timed.
                QuickVerdict::Timed if Inside::is_here() => QuickVerdict::Plain,
                glance => glance,
            }
        }
    }

    /// Learns from the plain loop, which began `begin`.
    #[cold]
    #[inline(never)]
    fn learn_plain(&self, this: Loop, kind: LoopKind, begin: Instant) {
        self.memory.learn(this, kind, this.slice.len, nanos(begin.elapsed()));
    }

    /// Notes that this thread calls a loop while another one shares one, unless it works in that.
    fn notice_crowd(&self) {
        if self.threads.callers() > 0 && !Inside::is_here() && !self.is_crowded.load(Ordering::Relaxed) {
            self.is_crowded.store(true, Ordering::Relaxed);
        }
    }

    /// How a call begins that is more than the plain loop. A watched loop is never the plain loop.
    #[inline(never)]
    fn weigh(&self, this: Loop, glance: QuickVerdict, options: &LoopOptions<'_>) -> Option<Call> {
        let most = self.most(this, options);
        let polling = self.threads.awake();
        let awake = polling > 0;
        let (mut launch, mut gap) = (Launch::Plain, None);
        let is_busy = self.idle() == 0;
        self.notice_crowd();
        if !is_busy {
            gap = Some(self.gaps.gap(&self.prices));
        }
        if most > 0 && !options.watch.is_cancelled() {
            let case = Case {
                memory: &self.memory,
                prices: &self.prices,
                this,
                kind: options.kind,
                helpers: most,
                awake,
                polling,
                is_busy,
                is_timed: glance == QuickVerdict::Timed,
                gap: gap.unwrap_or(Gap::LONG),
                draw: draw(),
            };
            launch = case.launch();
        }
        if self.is_watched(options) {
            launch = launch.watched();
        }
        (launch != Launch::Plain).then_some(Call { this, launch, awake, gap })
    }

    /// How a call goes on that was expected to be short, and is not.
    #[cold]
    #[inline(never)]
    fn weigh_again(&self, this: Loop) -> Call {
        let awake = self.threads.awake() > 0;
        Call { this, launch: launch::unexpected(&self.prices, awake), awake, gap: None }
    }

    /// How many helpers there can be, such that each has at least one index, or may get some of a
    /// list that grows.
    #[inline(always)]
    pub(super) fn most(&self, this: Loop, options: &LoopOptions<'_>) -> usize {
        let len = if options.list.is_some() { usize::MAX } else { this.slice.len };
        most(len, self.workers.min(options.threads))
    }

    /// Goes on with a call whose first `done` indices are folded: alone, or alone until the rest is
    /// worth sharing, and then shared.
    fn go_on(
        &self,
        call: &Call,
        mut done: usize,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> Finish {
        let len = call.this.slice.len;
        if done == 0 && call.launch.unlooked() > 0 {
            done = call.launch.unlooked().min(len);
            match own.take(&mut Claims::of(0..done)) {
                Ok(()) if done < len => {}
                Ok(()) => return Finish::of(How::Through),
                Err(_) => return Finish::of(How::Stopped),
            }
        }
        let mut solo = Solo::new(options, done..call.this.slice.len);
        let (how, why) = if options.watch.is_cancelled() {
            (How::Cancelled, Alone::Cancelled)
        } else if let Some(how) = self.alone(call, &mut solo, options, own) {
            (how, if self.most(call.this, options) == 0 { Alone::OneWorker } else { call.launch.why_alone() })
        } else if let Some(help) = self.find_help(call, options, solo.left()) {
            return self.share(call, solo.hand_over(), help, options, own, others);
        } else {
            self.tell_of_busy(options.wishes.at);
            match self.go_on_until_help(call, &mut solo, options, own) {
                Ok(how) => (how, Alone::Busy),
                Err(found) => {
                    let (call, help) = *found;
                    return self.share(&call, solo.hand_over(), help, options, own, others);
                }
            }
        };
        let is_told_around = why == Alone::Busy && ScenePlace::is_near();
        if !is_told_around && !self.wants_account(options) {
            return Finish::of(how);
        }
        let mut before = solo.so_far();
        if is_told_around {
            options.tell_around(&before, None);
        }
        let account = options.account(&mut before, Err(why), self.ledger.is_some());
        Finish::with(how, account, self.prices.help_time(call.awake))
    }

    /// Folds on the calling thread alone, as far as the launch says. None: the rest is to be
    /// shared.
    fn alone(
        &self,
        call: &Call,
        solo: &mut Solo<'_>,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
    ) -> Option<How> {
        let ended = match call.launch {
            Launch::Alone { limit, stretch, .. } => solo.fold_until(own, limit, stretch),
            Launch::Trial { shared } => self.try_alone(call, shared, solo, own),
            Launch::Plain | Launch::Shared { .. } => return None,
        };
        if ended.is_none() && !solo.is_through() {
            return None;
        }
        let how = ended.unwrap_or(How::Through);
        if !matches!(how, How::Cancelled) && call.launch.is_learnt_from() {
            let (looked, took) = solo.looked();
            self.memory.learn(call.this, options.kind, looked, nanos(took));
            if self.memory.learn_alone(&self.prices, call.this, call.launch.is_trial(), nanos(took)) {
                self.tell_of_faster(options.wishes.at, took);
            }
        }
        Some(how)
    }

    /// Folds on the calling thread alone as long as that is faster than a `shared` call.
    fn try_alone(
        &self,
        call: &Call,
        shared: Duration,
        solo: &mut Solo<'_>,
        own: &mut dyn Accumulate,
    ) -> Option<How> {
        if solo.has_work_list() {
            return solo.fold_until(own, shared, 1);
        }
        let is_current = self.threads.process.is_current();
        let learnt = if is_current { try_lock_soon(&self.learnt) } else { None };
        let parts = alone_or_shared::parts_for(shared);
        let known = learnt.and_then(|learnt| learnt.ends(call.this, call.awake, parts));
        // If nobody knows where the work lies, parts with equal numbers of items may be anything:
        // then the clock is looked at within them, too.
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

    /// Tells what a loop did, if anybody wants to know.
    #[inline(always)]
    fn tell(&self, options: &mut LoopOptions<'_>, account: Option<Box<(Account, Duration)>>) {
        if let Some(account) = account {
            self.tell_account(options, *account);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_account(&self, options: &mut LoopOptions<'_>, (account, help): (Account, Duration)) {
        options.tell(account, self.ledger, help);
    }

    /// Whether that has not been told of before.
    fn is_news(&self, bit: u64) -> bool {
        self.told.load(Ordering::Relaxed) & bit == 0 && self.told.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Tells once of a loop that took far longer when it was shared than now.
    #[cold]
    fn tell_of_faster(&self, at: &Location<'_>, took: Duration) {
        if self.is_news(1) {
            log::info!(
                "{at}: this loop takes {took:?} alone, and much longer shared: other programs have the CPUs of this \
                 pool, or its items wait for each other; it runs alone, and is shared again after growing pauses"
            );
        }
    }

    /// Tells once of a loop that is not shared since another loop has the pool.
    #[cold]
    pub(super) fn tell_of_busy(&self, at: &Location<'_>) {
        if self.is_news(2) {
            log::debug!(
                "{at}: this loop runs on its own thread, since other loops have the pool; more of them are not told of: \
                 RANGESTEAL_REPORT=1 counts them"
            );
        }
    }

    /// The right to share a loop. In a forked child nothing of the parent is touched: its threads
    /// do not exist there.
    pub(super) fn take_turn(&self, options: &LoopOptions<'_>) -> Option<Turn<'_>> {
        let ours = self.threads.process.is_current() && options.watch.is_current();
        if ours { self.threads.take_turn() } else { None }
    }

    /// Goes on alone, since nobody is idle, until a worker is, and the rest is worth sharing.
    fn go_on_until_help(
        &self,
        call: &Call,
        solo: &mut Solo<'_>,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
    ) -> Result<How, Box<(Call, FoundHelp<'_>)>> {
        let (this, between) = (call.this, self.prices.help_time(false));
        loop {
            let limit = solo.elapsed().saturating_add(between);
            let how = solo.fold_on(own, limit);
            if how.is_some() || solo.is_through() {
                let (looked, took) = solo.looked();
                if call.launch.is_learnt_from() {
                    self.memory.learn(this, options.kind, looked, nanos(took));
                }
                return Ok(how.unwrap_or(How::Through));
            }
            let awake = self.threads.awake() > 0;
            if self.idle() > 0
                && let Some(launch) = launch::of_rest(&self.prices, solo.work_left(), awake)
            {
                let call = Call { this, launch, awake, gap: None };
                if let Some(help) = self.find_help(&call, options, solo.left()) {
                    return Err(Box::new((call, help.of_a_rest())));
                }
            }
        }
    }
}

/// How many helpers a loop over `len` indices can have if each worker has at least one index.
#[inline(always)]
fn most(len: usize, workers: usize) -> usize {
    workers.min(len).saturating_sub(1)
}

/// The loop `L` over a slice.
#[inline(always)]
fn loop_of<L: Body>(slice: Slice) -> Loop {
    Loop { site: Site::new(kernel::<L> as *const ()), slice }
}

/// A call, and how it begins.
pub(super) struct Call {
    pub(super) this: Loop,
    pub(super) launch: Launch,
    /// Whether helpers were awake when it began.
    pub(super) awake: bool,
    /// The gap before it; `None` if the call was not weighed before it began.
    pub(super) gap: Option<Gap>,
}

/// How a call has ended; and its account, if anybody wants one, with the cost of help.
pub(super) struct Finish {
    how: How,
    account: Option<Box<(Account, Duration)>>,
}

impl Finish {
    fn of(how: How) -> Self {
        Self { how, account: None }
    }

    pub(super) fn with(how: How, account: Option<Account>, help: Duration) -> Self {
        Self { how, account: account.map(|account| Box::new((account, help))) }
    }
}
