//! Simulated callers: up to eight threads call loops of one pool at the same time.
//!
//! A pool of `n` workers has `n - 1` threads, and `n` CPUs. The callers are further threads. Each
//! caller calls loops one after the other, without a pause.
//!
//! The policy is the shipped one: this module calls `quick_launch`, `Case::launch`, `of_rest`,
//! `CpuUse`, `Granted`, `Memory`, `Prices`, `Splits`, `theft` and `victim` as a call and a
//! shared loop do. `SimPool` has the protocol of posts, arenas, places and seats in a few lines: a
//! caller offers its loop to idle workers, those that are awake first, and opens a place for each
//! further helper, which a worker takes that becomes idle later. The caller rings two of the
//! sleepers with an offer. Each worker that takes an offer rings the next two, and so does each
//! worker in the loop, and the caller, after every stretch. The costs of these steps are the table
//! of `simulator`. Time is computed; no thread is started.
//!
//! The system divides the CPUs evenly: if more threads run than there are CPUs, all threads run at
//! the same lower speed. So there are two clocks. The *service* is the CPU time of a thread that
//! has run since the start. Work ends by the service; wake-ups and polling end by the time.
//!
//! Simplifications: claims are single items and free; all workers are equally far from each other;
//! cells are never locked; a fence does not delay the victim; reducing is free; a caller that works
//! alone compares limits with the time that its work takes at the present speed; a worker that
//! rings others in the middle of its range does that before the items of the range; no worker
//! declines an offer; there are no loops inside loops.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{cmp::Reverse, collections::BinaryHeap, iter, mem, ops::Range, ptr, sync::Arc, time::Duration};

use super::{
    gaps::{SimGaps, done},
    simulator::{BRIEF, PRICES, Random, SimClaims, SimItems, SimPrices, Size, shape},
};
use crate::{
    clock::nanos,
    pool::{
        place::topology::Distance,
        policy::{
            alone_or_shared::{parts_for, time_for},
            free_cpus::{CpuUse, Granted, Request},
            grain::DEAR_NS,
            launch::{Case, Draw, Launch, QuickVerdict, Why, of_rest, quick_launch},
            learn::SharedCall,
            memory::Memory,
            pace::STRETCH,
            prices::{HelpersAre, Prices},
            repeat::REPEATED,
            rhythm::LoopSeen,
            site::{GOLDEN, Loop, LoopKind, Site, Slice},
            split::{Boundaries, Splits, equal_parts, parts},
            theft::{self, Watched},
            victim::{spread, victim},
        },
        team::arena::ARENAS,
        tell::times::Times,
    },
};

const MICROS: u64 = 1_000;
const MILLIS: u64 = 1_000 * MICROS;
const ITEMS_A_LOOP: u64 = 8_000;

/// The clock by which an event comes.
#[derive(Clone, Copy)]
enum SimClock {
    Service,
    Time,
}

/// The next step of a caller that works alone, at the end of a stretch.
#[derive(Clone, Copy)]
enum AfterStretch {
    /// It has run the plain loop, and learns from it if the loop was timed.
    Plain { is_timed: bool },
    /// It shares the rest.
    Share,
    /// It checks the time limit of this part of a trial.
    Trial { part: u16 },
    /// It looks for idle workers.
    Look,
}

/// The activity of a thread until its next event.
#[derive(Clone, Copy)]
enum Doing {
    /// A worker sleeps. There is no event.
    Sleep,
    /// A worker wakes up, or is about to see its offer.
    Come,
    /// A worker polls until it falls asleep.
    Poll,
    /// A worker rings others, or takes a place; then it begins to work.
    Enter,
    /// A worker writes the count of tokens, to leave its loop.
    Leave,
    /// A worker or a caller folds the range of its cell, up to its end or to the end of a stretch.
    Fold,
    /// It scans all cells. Contains the number of thefts at the start of the scan.
    Scan(usize),
    /// It watches a victim.
    Watch { victim: usize, start: usize, is_dear: bool },
    /// It moves stolen items to its own cell.
    Steal,
    /// A caller folds the items before `end` alone.
    Alone { end: usize, after: AfterStretch },
    /// A caller partitions the ranges.
    Deal,
    /// A caller offers its loop to workers, and rings two.
    Offer,
    /// A caller writes the count of tokens, to retract its job.
    Retract,
    /// A caller polls for the last worker until it falls asleep.
    Wait,
    /// A caller sleeps. There is no event.
    WaitAsleep,
    /// A caller has been told that the last worker has left.
    Return,
}

impl Doing {
    /// Whether the thread is on a CPU, or waits for one.
    fn runs(self) -> bool {
        !matches!(self, Self::Sleep | Self::Come | Self::WaitAsleep | Self::Return)
    }
}

/// A thread of the pool or a caller.
struct SimThread {
    doing: Doing,
    /// Events of the thread with an older version are void.
    version: u32,
    /// The arena and the seat of a thread in a shared loop.
    seat: Option<(usize, usize)>,
    /// The arena and the seat that a worker is offered.
    offer: Option<(usize, usize)>,
    /// How long a worker polls after its last offer.
    patience: u64,
    /// As in `Thief`: the number of the current theft, and the number of requests for a victim.
    nth: usize,
    asked: u64,
    spared: Option<usize>,
}

/// The begin of a run whose first item is claimed but not begun.
const NOT_BEGUN: Option<(f64, u64)> = Some((f64::INFINITY, u64::MAX));

/// The range of a seat.
struct SimCell {
    next: usize,
    end: usize,
    /// The begin of the run that is under way: its time and its service. `None` if no item of the
    /// cell is claimed.
    run: Option<(f64, u64)>,
    has_entered: bool,
    /// The worker that has the seat, or an offer for it.
    worker: Option<usize>,
}

/// How far a caller is with its shared loop.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Dealt,
    Published,
    /// The caller waits for the last worker.
    Retracted,
}

/// A shared loop.
struct SimArena {
    caller: usize,
    items: Arc<SimItems>,
    helpers: usize,
    /// The number of open places.
    places: usize,
    /// The number of helpers inside.
    inside: usize,
    /// These seats belong to sleepers that have an offer and are not rung yet.
    to_ring: Range<usize>,
    /// How long workers poll after the loop.
    between: u64,
    /// The time when the last thread has written the arena's count of tokens or has had the lock of
    /// its job.
    line: u64,
    phase: Phase,
    /// The number of thefts.
    moves: usize,
    is_dear: bool,
    cells: Vec<SimCell>,
    is_full: bool,
    boundaries: Boundaries,
    begin: f64,
    times: Box<Times>,
}

/// A loop of a caller.
struct SimLoop {
    this: Loop,
    items: Arc<SimItems>,
}

/// The call of a caller that is under way.
#[derive(Clone, Copy)]
struct SimCall {
    begin: f64,
    launch: Launch,
    awake: bool,
    is_gap_short: bool,
    /// How many items the caller has folded alone, and how long that took.
    alone: usize,
    took: f64,
    /// A lower bound of the time of the call.
    least: u64,
}

/// A caller and its loops.
struct SimCaller {
    loops: Vec<SimLoop>,
    calls: usize,
    call: SimCall,
    /// How many threads fold items of its loops now, and how much work these threads have done.
    folding: usize,
    work: f64,
    /// The sum of the lower bounds of the calls since the begin of the measurement.
    least: u64,
}

/// Another policy. All but the last are wrong.
#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    /// No CPU seems to be free while another caller shares a loop.
    NoFreeCpu,
    /// CPUs are not counted: a loop gets every idle worker.
    NoLimit,
    /// A caller that has begun alone never looks for help again.
    NoRest,
    /// Helpers poll between loops as if there were one caller: see
    /// [`helpers_that_poll_in_a_crowd`].
    NoCrowd,
}

/// When an event comes, its number in the order of creation, its thread, and the version of the
/// thread.
type SimEvent = (u64, u64, usize, u32);

/// A pool and its callers. Times are in nanoseconds.
struct SimPool {
    flaw: Flaw,
    costs: SimPrices,
    workers: usize,
    threads: Vec<SimThread>,
    callers: Vec<SimCaller>,
    arenas: Vec<Option<SimArena>>,
    memory: Memory,
    prices: Prices,
    splits: Splits,
    gaps: SimGaps,
    is_crowded: bool,
    drawn: u64,
    random: Random,
    now: f64,
    service: f64,
    /// How many threads run.
    running: usize,
    /// The events of the service, and those of the time.
    events: [BinaryHeap<Reverse<SimEvent>>; 2],
    made: u64,
    /// The begin of the measurement.
    measured_from: f64,
}

impl SimPool {
    fn new(workers: usize, loops: Vec<Vec<SimLoop>>, costs: SimPrices, flaw: Flaw) -> Self {
        let threads = workers - 1 + loops.len();
        let thread = || SimThread {
            doing: Doing::Sleep,
            version: 0,
            seat: None,
            offer: None,
            patience: 0,
            nth: 0,
            asked: 0,
            spared: None,
        };
        let nothing = SimCall {
            begin: 0.0,
            launch: Launch::PLAIN,
            awake: false,
            is_gap_short: false,
            alone: 0,
            took: 0.0,
            least: 0,
        };
        let caller = |loops| SimCaller { loops, calls: 0, call: nothing, folding: 0, work: 0.0, least: 0 };
        let mut pool = Self {
            flaw,
            costs,
            workers,
            threads: iter::repeat_with(thread).take(threads).collect(),
            callers: loops.into_iter().map(caller).collect(),
            arenas: iter::repeat_with(|| None).take(ARENAS).collect(),
            memory: Memory::new(),
            prices: Prices::new(),
            splits: Splits::new(workers),
            gaps: SimGaps::default(),
            is_crowded: false,
            drawn: 0,
            random: Random(workers as u64),
            now: 0.0,
            service: 0.0,
            running: 0,
            events: [BinaryHeap::new(), BinaryHeap::new()],
            made: 0,
            measured_from: f64::INFINITY,
        };
        (0..pool.callers.len()).for_each(|caller| pool.begin_call(caller));
        pool
    }

    /// The thread of a caller.
    fn thread_of(&self, caller: usize) -> usize {
        self.workers - 1 + caller
    }

    /// The caller for whose loop a thread folds items.
    fn folds_for(&self, thread: usize) -> Option<usize> {
        match self.threads[thread].doing {
            Doing::Fold => Some(self.arena(self.threads[thread].seat?.0).caller),
            Doing::Alone { .. } => Some(thread - (self.workers - 1)),
            _ => None,
        }
    }

    fn set_doing(&mut self, thread: usize, doing: Doing) {
        if let Some(caller) = self.folds_for(thread) {
            self.callers[caller].folding -= 1;
        }
        self.running -= usize::from(self.threads[thread].doing.runs());
        self.threads[thread].doing = doing;
        self.threads[thread].version += 1;
        self.running += usize::from(doing.runs());
        if let Some(caller) = self.folds_for(thread) {
            self.callers[caller].folding += 1;
        }
    }

    /// A thread does this for `lasts` nanoseconds.
    fn then(&mut self, thread: usize, doing: Doing, clock: SimClock, lasts: u64) {
        self.set_doing(thread, doing);
        let at = match clock {
            SimClock::Service => self.service,
            SimClock::Time => self.now,
        };
        self.made += 1;
        let event = (at as u64 + lasts, self.made, thread, self.threads[thread].version);
        self.events[clock as usize].push(Reverse(event));
    }

    /// The thread writes the count of tokens of the arena of its loop, or has the lock of its job.
    fn pass(&mut self, thread: usize, doing: Doing) {
        let (number, _) = self.threads[thread].seat.expect("it is in a loop");
        let (now, price) = (self.now as u64, self.costs.count);
        let line = &mut self.arena_mut(number).line;
        *line = now.max(*line) + price;
        let lasts = *line - now;
        self.then(thread, doing, SimClock::Time, lasts);
    }

    /// The time until a woken thread begins.
    fn late(&mut self) -> u64 {
        self.costs.latency / 2 + self.random.below(self.costs.latency + 1)
    }

    fn arena(&self, number: usize) -> &SimArena {
        self.arenas[number].as_ref().expect("a loop has an arena")
    }

    fn arena_mut(&mut self, number: usize) -> &mut SimArena {
        self.arenas[number].as_mut().expect("a loop has an arena")
    }

    fn shared(&self) -> impl Iterator<Item = &SimArena> {
        self.arenas.iter().flatten().filter(|arena| arena.phase != Phase::Dealt)
    }

    fn open(&self) -> usize {
        self.shared().map(|arena| arena.places).sum()
    }

    fn helpers(&self) -> &[SimThread] {
        &self.threads[..self.workers - 1]
    }

    /// Like `Barrier::idle`. A worker that is rung but not here yet counts as asleep.
    fn idle(&self) -> usize {
        let is_idle = |helper: &&SimThread| helper.seat.is_none() && helper.offer.is_none();
        self.helpers().iter().filter(is_idle).count().saturating_sub(self.open())
    }

    /// Like `Barrier::awake`.
    fn awake(&self) -> usize {
        let is_awake = |helper: &&SimThread| helper.offer.is_none() && matches!(helper.doing, Doing::Poll);
        self.helpers().iter().filter(is_awake).count()
    }

    /// Like `Barrier::is_waking`.
    fn is_waking(&self) -> bool {
        let is_waking = |helper: &SimThread| helper.offer.is_none() && matches!(helper.doing, Doing::Come);
        self.helpers().iter().any(is_waking)
    }

    fn current(&self, caller: usize) -> &SimLoop {
        let SimCaller { loops, calls, .. } = &self.callers[caller];
        &loops[calls % loops.len()]
    }

    fn draw(&mut self) -> Draw {
        self.drawn = self.drawn.wrapping_add(GOLDEN);
        Draw(self.drawn)
    }

    /// A lower bound of the time of a loop that begins now. The caller works from the start, and
    /// all workers that do not sleep could begin at once. Somebody has to wake each of the others,
    /// and pays for it: whoever is awake could, one after the other. A worker begins no sooner than
    /// half of the mean time after that. No loop ends before its longest item.
    fn least(&self, items: &SimItems) -> u64 {
        let asleep = self.helpers().iter().filter(|helper| matches!(helper.doing, Doing::Sleep)).count();
        let SimPrices { wake, latency, .. } = self.costs;
        let mut starts = vec![0; self.workers - asleep];
        let mut ringers: BinaryHeap<Reverse<u64>> = starts.iter().copied().map(Reverse).collect();
        let mut least = done(items.total(), starts.clone());
        for woken in 1..=asleep as u64 {
            let Reverse(free) = ringers.pop().expect("the caller is awake");
            let start = free + wake + latency / 2;
            ringers.extend([free + wake, start].map(Reverse));
            starts.push(start);
            let more = done(items.total() + woken * wake, starts.clone());
            if more > least {
                break;
            }
            least = more;
        }
        least.max(items.bound(self.workers))
    }

    /// Like `Executor::call` and `Executor::weigh`.
    fn begin_call(&mut self, caller: usize) {
        let SimLoop { this, items } = self.current(caller);
        let (this, items) = (*this, Arc::clone(items));
        let (now, idle, drawn, awake) = (self.now as u64, self.idle(), self.draw(), self.awake());
        let mut call = SimCall {
            begin: self.now,
            launch: Launch::PLAIN,
            awake: awake > 0,
            is_gap_short: false,
            alone: 0,
            took: 0.0,
            least: if self.now < self.measured_from { 0 } else { self.least(&items) },
        };
        let kind = LoopKind::THROUGH;
        let verdict = quick_launch(&self.memory, &self.prices, this, kind, || idle, || drawn).verdict;
        let is_timed = verdict == QuickVerdict::Timed;
        if verdict == QuickVerdict::Unclear {
            if self.shared().next().is_some() {
                self.is_crowded = true;
            }
            let gap = (idle > 0).then(|| self.gaps.gap(now, &self.prices));
            let case = Case {
                memory: &self.memory,
                prices: &self.prices,
                this,
                kind,
                grows: false,
                helpers: self.workers.min(items.len()) - 1,
                awake: awake > 0,
                polling: awake,
                is_waking: awake == 0 && self.is_waking(),
                is_timed,
                gap,
                draw: drawn,
                rounds: None,
            };
            call.launch = case.launch();
            call.is_gap_short = gap.is_some_and(|gap| gap.is_short(self.memory.expected(this)));
        }
        self.callers[caller].call = call;
        match call.launch {
            launch if launch.is_plain() => {
                self.go_alone(caller, items.len(), AfterStretch::Plain { is_timed });
            }
            Launch::Alone { limit, .. } => self.go_alone_for(caller, limit, AfterStretch::Share),
            Launch::Trial { shared } => self.go_on_with_trial(caller, shared, 1),
            Launch::Shared { .. } | Launch::Explored => self.share(caller),
        }
    }

    fn go_alone(&mut self, caller: usize, end: usize, after: AfterStretch) {
        let work = self.current(caller).items.take(self.callers[caller].call.alone, end);
        self.then(self.thread_of(caller), Doing::Alone { end, after }, SimClock::Service, work);
    }

    /// The caller works alone until the end of the item during which the `limit` is over.
    fn go_alone_for(&mut self, caller: usize, limit: Duration, after: AfterStretch) {
        let end = self.end_after(caller, limit);
        self.go_alone(caller, end, after);
    }

    fn end_after(&self, caller: usize, limit: Duration) -> usize {
        let items = &self.current(caller).items;
        let left = SimClaims { since: 0, first: self.callers[caller].call.alone, size: 1, end: items.len() };
        left.claimed(items, (limit.as_nanos() as f64 / self.slowness()) as u64)
    }

    /// The caller works on a part of a trial: until the end of the part or until its limit is over.
    fn go_on_with_trial(&mut self, caller: usize, shared: Duration, part: u16) {
        let SimLoop { this, items } = self.current(caller);
        let SimCall { awake, begin, .. } = self.callers[caller].call;
        let parts = parts_for(shared);
        let known = self.splits.ends(*this, awake, parts);
        let equal = || [equal_parts(&(0..items.len()), parts.into()), vec![items.len()]].concat();
        let end = known.unwrap_or_else(equal)[usize::from(part) - 1];
        let took = Duration::from_nanos((self.now - begin) as u64);
        let in_time = self.end_after(caller, time_for(part, parts, shared).saturating_sub(took));
        let end = end.max(self.callers[caller].call.alone).min(in_time);
        self.go_alone(caller, end, AfterStretch::Trial { part });
    }

    /// A caller has folded the items before `end` alone. Like the parts of `Executor` that run a
    /// loop alone.
    fn after_stretch(&mut self, caller: usize, end: usize, after: AfterStretch) {
        let this = self.current(caller).this;
        let SimCaller { call, .. } = &mut self.callers[caller];
        (call.alone, call.took) = (end, self.now - call.begin);
        let SimCall { launch, took, .. } = *call;
        let took = took as f32;
        let is_over = match after {
            _ if end == this.slice.len => true,
            AfterStretch::Trial { part } => {
                let Launch::Trial { shared } = launch else { return };
                let parts = parts_for(shared);
                if took < nanos(time_for(part, parts, shared)) && part < parts {
                    return self.go_on_with_trial(caller, shared, part + 1);
                }
                false
            }
            _ => false,
        };
        if is_over {
            let kind = LoopKind::THROUGH;
            match after {
                AfterStretch::Plain { is_timed: false } => {}
                AfterStretch::Plain { .. } | AfterStretch::Look => self.memory.learn(this, kind, end, took),
                AfterStretch::Share | AfterStretch::Trial { .. } => {
                    self.memory.learn(this, kind, end, took);
                    if launch.why() == Some(Why::Faster) {
                        self.memory.learn_alone(&self.prices, this, launch.is_trial(), took);
                    }
                }
            }
            return self.end_call(caller);
        }
        if !matches!(after, AfterStretch::Look) {
            return self.share(caller);
        }
        // Like `Running::go_on_until_help`.
        let left = this.slice.len - end;
        let rest = of_rest(&self.prices, took / end as f32 * left as f32, self.awake() > 0);
        if self.flaw != Flaw::NoRest
            && self.idle() > 0
            && let Some(launch) = rest
        {
            let before = self.callers[caller].call;
            let awake = self.awake() > 0;
            self.callers[caller].call = SimCall { launch, awake, is_gap_short: false, ..before };
            if self.find_help(caller, true) {
                return;
            }
            self.callers[caller].call = SimCall { launch: before.launch, awake, ..before };
        }
        self.go_alone_for(caller, self.prices.help_time(false), AfterStretch::Look);
    }

    /// Like `Executor::share`.
    fn share(&mut self, caller: usize) {
        if self.callers[caller].call.launch.is_trial() {
            let this = self.current(caller).this;
            self.memory.learn_alone(&self.prices, this, true, f32::INFINITY);
        }
        if !self.find_help(caller, false) {
            self.go_alone_for(caller, self.prices.help_time(false), AfterStretch::Look);
        }
    }

    /// Like `Running::invite`. Returns whether the caller has an arena and begins to share.
    fn find_help(&mut self, caller: usize, is_rest: bool) -> bool {
        let SimLoop { this, items } = self.current(caller);
        let (this, items) = (*this, Arc::clone(items));
        let SimCall { launch, awake, alone, .. } = self.callers[caller].call;
        let (idle, left) = (self.idle(), alone..items.len());
        let Some(number) = self.arenas.iter().position(Option::is_none).filter(|_| idle > 0) else {
            return false;
        };
        let most = self.workers.min(items.len()) - 1;
        let asked = launch.helpers().map_or(most, |helpers| helpers.min(most));
        let waits = |arena: &&SimArena| arena.phase == Phase::Retracted;
        let cpu_use = CpuUse {
            cpus: self.workers,
            threads: self.workers - 1,
            idle,
            callers: self.shared().count(),
            waiting: self.shared().filter(waits).count(),
            is_counted: false,
        };
        // Items do not sleep, so there is no need for the bound on unknown loops.
        let request =
            Request { helpers: asked, left: left.len(), is_cpu_bound: Some(true), around: 0, cpu_use };
        let free = match self.flaw {
            Flaw::NoFreeCpu if cpu_use.callers > 0 => Some(0),
            Flaw::NoLimit => Some(usize::MAX),
            _ => None,
        };
        let granted = match free {
            Some(free) => Granted::new(asked.min(left.len() - 1), idle, free),
            None => request.grant(),
        };
        let Some(Granted { helpers, dealt, is_full }) = granted else { return false };
        let from = Some(&self.splits).filter(|_| left.start == 0);
        let boundaries = from.map(|splits| splits.boundaries(this, awake, dealt)).unwrap_or_default();
        let bounds = boundaries.bounds(&left, dealt).into_owned();
        let cell =
            |Range { start, end }| SimCell { next: start, end, run: None, has_entered: false, worker: None };
        let nobody = iter::repeat_n(left.end..left.end, helpers + 1 - dealt);
        let cells = parts(left.clone(), &bounds).chain(nobody).map(cell).collect();
        let is_dear = nanos(Duration::from_nanos(items.total())) / (items.len() as f32) < DEAR_NS;
        self.arenas[number] = Some(SimArena {
            caller,
            items,
            helpers,
            places: 0,
            inside: 0,
            to_ring: 0..0,
            between: 0,
            line: 0,
            phase: Phase::Dealt,
            moves: 0,
            is_dear,
            cells,
            is_full: is_full && !is_rest,
            boundaries,
            begin: self.now,
            times: self.splits.take_times().unwrap_or_default().of(helpers + 1, false),
        });
        let thread = self.thread_of(caller);
        self.threads[thread].seat = Some((number, 0));
        let deal = self.costs.deal * (helpers as u64 + 1);
        self.then(thread, Doing::Deal, SimClock::Service, deal);
        true
    }

    /// Like `Barrier::publish`.
    fn publish(&mut self, caller: usize, number: usize) {
        let SimCall { launch, awake, is_gap_short, .. } = self.callers[caller].call;
        let is_crowded = mem::take(&mut self.is_crowded) && self.flaw != Flaw::NoCrowd;
        let seen =
            LoopSeen { awake, is_gap_short, is_crowded, explores: launch.explores(&self.prices, awake) };
        let between = self.gaps.next(seen, &self.prices);
        let arena = self.arena_mut(number);
        (arena.phase, arena.cells[0].has_entered, arena.cells[0].run) = (Phase::Published, true, NOT_BEGUN);
        arena.between = between;
        let helpers = arena.helpers;
        let (mut seat, mut asleep) = (1, None);
        for polls in [true, false] {
            for worker in 0..self.workers - 1 {
                let SimThread { doing, seat: its, offer, .. } = &self.threads[worker];
                if seat > helpers || its.is_some() || offer.is_some() || matches!(doing, Doing::Poll) != polls
                {
                    continue;
                }
                asleep = asleep.or((!polls).then_some(seat));
                self.threads[worker].offer = Some((number, seat));
                self.threads[worker].patience = between;
                self.arena_mut(number).cells[seat].worker = Some(worker);
                if polls {
                    let seen = self.costs.offer * seat as u64 + self.costs.notice;
                    self.then(worker, Doing::Come, SimClock::Time, seen);
                }
                seat += 1;
            }
        }
        let arena = self.arena_mut(number);
        (arena.places, arena.to_ring) = (helpers + 1 - seat, asleep.unwrap_or(seat)..seat);
        let offered = self.costs.offer * (seat as u64 - 1);
        let rung = self.ring_two(number, offered);
        self.then(self.thread_of(caller), Doing::Offer, SimClock::Service, offered + rung);
    }

    /// Rings the next two sleepers that have an offer of the loop in arena `number`, after `before`
    /// nanoseconds. Returns how long that takes. A worker that is on its way is not rung again.
    fn ring_two(&mut self, number: usize, before: u64) -> u64 {
        let mut lasts = 0;
        for _ in 0..2 {
            let Some(seat) = self.arena_mut(number).to_ring.next() else { break };
            let worker = self.arena(number).cells[seat].worker.expect("it was offered");
            if matches!(self.threads[worker].doing, Doing::Sleep) {
                lasts += self.costs.wake;
                let late = self.late();
                self.then(worker, Doing::Come, SimClock::Time, before + lasts + late);
            }
        }
        lasts
    }

    /// A worker that is awake looks for an offer or a place. Like `Barrier::enter`.
    fn look_for_job(&mut self, thread: usize) {
        if let Some((number, seat)) = self.threads[thread].offer.take() {
            self.enter(thread, number, seat);
            let rung = self.ring_two(number, 0);
            return self.then(thread, Doing::Enter, SimClock::Service, rung);
        }
        let has_place =
            |arena: &Option<SimArena>| arena.as_ref().is_some_and(|arena: &SimArena| arena.places > 0);
        let Some(number) = self.arenas.iter().position(has_place) else {
            return match self.threads[thread].patience {
                0 => self.set_doing(thread, Doing::Sleep),
                lasts => self.then(thread, Doing::Poll, SimClock::Time, lasts),
            };
        };
        let arena = self.arena_mut(number);
        arena.places -= 1;
        let between = arena.between;
        let is_free = |seat: &usize| arena.cells[*seat].worker.is_none();
        let own = Some(thread + 1).filter(|own| *own <= arena.helpers && is_free(own));
        let seat = own.or_else(|| (1..=arena.helpers).find(is_free)).expect("a place has a seat");
        arena.cells[seat].worker = Some(thread);
        self.threads[thread].patience = between;
        self.enter(thread, number, seat);
        self.pass(thread, Doing::Enter);
    }

    fn enter(&mut self, thread: usize, number: usize, seat: usize) {
        let arena = self.arena_mut(number);
        arena.inside += 1;
        arena.cells[seat].has_entered = true;
        let SimThread { seat: its, nth, asked, spared, .. } = &mut self.threads[thread];
        (*its, *nth, *asked, *spared) = (Some((number, seat)), 0, 0, None);
    }

    /// Begins with the range of the thread's own cell.
    fn begin_work(&mut self, thread: usize) {
        let (number, seat) = self.threads[thread].seat.expect("it is in a loop");
        let (now, service) = (self.now, self.service as u64);
        let cell = &mut self.arena_mut(number).cells[seat];
        if cell.next == cell.end {
            return self.steal(thread);
        }
        cell.run = Some((now, service));
        self.fold_on(thread);
    }

    /// When the run of a thread ends, by its service.
    fn end_of_run(&self, thread: usize) -> u64 {
        let (number, seat) = self.threads[thread].seat.expect("it is in a loop");
        let SimArena { cells, items, .. } = self.arena(number);
        let SimCell { next, end, run, .. } = cells[seat];
        let (_, since) = run.expect("it has a run");
        SimClaims { since, first: next, size: 1, end }.done(items)
    }

    /// Goes on with the range of the thread's own cell: up to the end of a stretch if workers are
    /// to be rung, otherwise up to the end.
    fn fold_on(&mut self, thread: usize) {
        let (number, seat) = self.threads[thread].seat.expect("it is in a loop");
        let (service, mut until) = (self.service as u64, self.end_of_run(thread));
        let SimArena { cells, items, to_ring, .. } = self.arena(number);
        if !to_ring.is_empty() {
            let SimCell { next, end, run, .. } = cells[seat];
            let (_, since) = run.expect("it has a run");
            let stretch = service + STRETCH.as_nanos() as u64;
            let behind = SimClaims { since, first: next, size: 1, end }.claimed(items, stretch);
            until = until.min(since + items.take(next, behind));
        }
        self.then(thread, Doing::Fold, SimClock::Service, until.saturating_sub(service));
    }

    /// The end of a stretch, or of a run.
    fn end_stretch(&mut self, thread: usize) {
        let (number, seat) = self.threads[thread].seat.expect("it is in a loop");
        if self.service as u64 >= self.end_of_run(thread) {
            self.end_run(thread);
            return self.steal(thread);
        }
        let rung = self.ring_two(number, 0);
        if let Some((_, since)) = &mut self.arena_mut(number).cells[seat].run {
            *since += rung;
        }
        self.fold_on(thread);
    }

    fn steal(&mut self, thread: usize) {
        let SimThread { nth, spared, .. } = &mut self.threads[thread];
        (*nth, *spared) = (*nth + 1, None);
        self.scan(thread);
    }

    fn scan(&mut self, thread: usize) {
        let (number, _) = self.threads[thread].seat.expect("it is in a loop");
        let SimArena { moves, cells, .. } = self.arena(number);
        let (moves, price) = (*moves, self.costs.view[Distance::Node as usize] * cells.len() as u64);
        self.then(thread, Doing::Scan(moves), SimClock::Service, price);
    }

    /// The first item that is not claimed, of a seat.
    fn start(&self, arena: &SimArena, seat: usize) -> usize {
        let SimCell { next, end, run, .. } = arena.cells[seat];
        run.map_or(next, |(_, since)| {
            SimClaims { since, first: next, size: 1, end }.claimed(&arena.items, self.service as u64)
        })
    }

    fn left(&self, number: usize, seat: usize) -> Range<usize> {
        let arena = self.arena(number);
        self.start(arena, seat)..arena.cells[seat].end
    }

    /// The run of a seat has ended.
    fn end_run(&mut self, thread: usize) {
        const PIECES: usize = 16;
        let (number, seat) = self.threads[thread].seat.expect("it is in a loop");
        let now = self.now;
        let SimArena { items, cells, times, begin, .. } = self.arena_mut(number);
        let cell = &mut cells[seat];
        let run = cell.next..mem::replace(&mut cell.next, cell.end);
        let Some((since, _)) = cell.run.take() else { return };
        let (took, run) = ((now - since) as f32, run.start..cell.end);
        let tally = &mut times.tallies[seat];
        if tally.runs == 0 {
            tally.span.start = (since - *begin) as f32;
        }
        tally.span.end = (now - *begin) as f32;
        tally.working += took;
        tally.runs += 1;
        tally.indices += run.len();
        let each = took / items.take(run.start, run.end).max(1) as f32;
        let bounds = equal_parts(&run, PIECES.min(run.len()));
        let mark = |piece: Range<usize>| (piece.start, each * items.take(piece.start, piece.end) as f32);
        times.marks.extend(parts(run, &bounds).map(mark));
    }

    /// Like `SimRangeLoop::choose`.
    fn choose(&mut self, thread: usize, moves: usize) {
        let (number, me) = self.threads[thread].seat.expect("it is in a loop");
        let SimThread { spared, asked, .. } = &mut self.threads[thread];
        *asked += 1;
        let (spared, asked) = (*spared, *asked);
        let seats = self.arena(number).cells.len();
        let others = (me + 1..seats).chain(0..me).filter(|&other| Some(other) != spared);
        let left = others.map(|other| (other, self.left(number, other).len(), Distance::Node));
        let others = left.filter(|&(_, left, _)| left > 0);
        let Some(victim) = victim(others, spread(seats, me, asked)) else {
            if moves != self.arena(number).moves {
                return self.scan(thread);
            }
            return self.pass(thread, if me == 0 { Doing::Retract } else { Doing::Leave });
        };
        let arena = self.arena(number);
        if !arena.cells[victim].has_entered {
            return self.try_steal(thread, victim, false, false);
        }
        let (start, is_dear) = (self.start(arena, victim), arena.is_dear);
        let moment = theft::moment(self.expected(is_dear)).as_nanos() as u64;
        self.then(thread, Doing::Watch { victim, start, is_dear }, SimClock::Service, moment);
    }

    /// The cost of a heavy fence that a thief expects.
    fn expected(&self, is_dear: bool) -> f32 {
        if is_dear { self.prices.heavy.get() } else { 0.0 }
    }

    fn watch(&mut self, thread: usize, victim: usize, start: usize, is_dear: bool) {
        let (number, _) = self.threads[thread].seat.expect("it is in a loop");
        let left = self.left(number, victim);
        let moved = left.start.saturating_sub(start);
        match theft::watched(self.expected(is_dear), is_dear, moved, left.len()) {
            Watched::AlmostDone => self.scan(thread),
            watched => self.try_steal(thread, victim, is_dear, watched == Watched::Stuck),
        }
    }

    fn try_steal(&mut self, thread: usize, victim: usize, is_dear: bool, is_stuck: bool) {
        let (number, me) = self.threads[thread].seat.expect("it is in a loop");
        let range = self.left(number, victim);
        if range.is_empty() {
            return self.scan(thread);
        }
        let nth = self.threads[thread].nth;
        let profile = self.arena(number).boundaries.profile();
        let Range { start, end } = range;
        let middle = if is_stuck { Some(start) } else { theft::middle(profile, nth, victim, range) };
        let Some(middle) = middle else {
            self.threads[thread].spared = Some(victim);
            return self.scan(thread);
        };
        let mut price = self.costs.theft[Distance::Node as usize];
        if is_dear {
            price += self.costs.fence + self.costs.fence_each * self.workers as u64;
            self.prices.heavy.see(nanos(Duration::from_nanos(price)));
        }
        let arena = self.arena_mut(number);
        arena.moves += 1;
        let SimCell { run, .. } = arena.cells[victim];
        arena.cells[victim].end = middle;
        (arena.cells[me].next, arena.cells[me].end, arena.cells[me].run) = (middle, end, NOT_BEGUN);
        if run.is_some() && run != NOT_BEGUN {
            let is_victim = |thread: &SimThread| thread.seat == Some((number, victim));
            let victim = self.threads.iter().position(is_victim).expect("a run has a thread");
            self.fold_on(victim); // up to its new end
        }
        self.then(thread, Doing::Steal, SimClock::Service, price);
    }

    /// A helper leaves its loop.
    fn leave(&mut self, thread: usize) {
        let (number, _) = self.threads[thread].seat.take().expect("it is in a loop");
        let arena = self.arena_mut(number);
        (arena.inside, arena.places) = (arena.inside - 1, 0);
        if arena.inside == 0 {
            let caller = self.thread_of(self.arena(number).caller);
            match self.threads[caller].doing {
                Doing::Wait => self.then(caller, Doing::Return, SimClock::Time, self.costs.notice),
                Doing::WaitAsleep => {
                    let late = self.costs.wake + self.late();
                    self.then(caller, Doing::Return, SimClock::Time, late);
                }
                _ => {}
            }
        }
        self.look_for_job(thread);
    }

    fn retract(&mut self, caller: usize, number: usize) {
        let arena = self.arena_mut(number);
        (arena.places, arena.to_ring, arena.phase) = (0, 0..0, Phase::Retracted);
        let is_idle = arena.inside == 0;
        for helper in self.threads.iter_mut().filter(|thread| thread.offer.is_some_and(|of| of.0 == number)) {
            helper.offer = None;
        }
        if is_idle {
            return self.end_shared(caller, number);
        }
        let pace = self.memory.pace(self.current(caller).this);
        let patience = self.prices.worth_polling(pace).as_nanos() as u64;
        self.then(self.thread_of(caller), Doing::Wait, SimClock::Time, patience.max(BRIEF));
    }

    /// The end of `Executor::share`: the pool learns from the call.
    fn end_shared(&mut self, caller: usize, number: usize) {
        let this = self.current(caller).this;
        let SimCall { begin: call_begin, launch, awake, alone, took, .. } = self.callers[caller].call;
        let arena = self.arenas[number].take().expect("a loop has an arena");
        let SimArena { is_full, boundaries, begin, mut times, cells, items, .. } = arena;
        let thread = self.thread_of(caller);
        self.threads[thread].seat = None;
        assert_eq!(alone + times.indices(), items.len(), "every item is folded once");
        let helpers = match awake {
            false => HelpersAre::Asleep,
            true if self.callers[caller].calls < usize::from(REPEATED) => HelpersAre::Cold,
            true => HelpersAre::Warm,
        };
        let seen = SharedCall {
            this,
            kind: LoopKind::THROUGH,
            helpers,
            launch,
            is_full,
            list: None,
            alone,
            took_alone: took as f32,
            took: (self.now - call_begin) as f32,
            took_shared: (self.now - begin) as f32,
            stop: None,
            deciding: 0.0,
        };
        seen.learn(&self.memory, &self.prices, &times);
        let boundaries = Some(&boundaries).filter(|_| alone == 0);
        seen.learn_splits(&mut self.splits, boundaries, cells.len(), &mut times);
        self.splits.keep_times(times);
        self.gaps.end(self.now as u64);
        self.end_call(caller);
    }

    fn end_call(&mut self, caller: usize) {
        let SimCaller { calls, call, least, .. } = &mut self.callers[caller];
        *calls += 1;
        *least += call.least;
        self.begin_call(caller);
    }

    /// How many times slower than on a CPU of its own a thread runs.
    fn slowness(&self) -> f64 {
        (self.running as f64 / self.workers as f64).max(1.0)
    }

    /// Advances both clocks to the next event, and returns its thread.
    fn next(&mut self) -> usize {
        let Self { events, threads, .. } = self;
        for events in &mut *events {
            while let Some(&Reverse((_, _, thread, version))) = events.peek()
                && threads[thread].version != version
            {
                events.pop();
            }
        }
        let slowness = self.slowness();
        let [by_service, by_time] = [0, 1].map(|clock: usize| self.events[clock].peek().map(|event| event.0));
        let at_service = by_service
            .map_or(f64::INFINITY, |(at, ..)| self.now + (at as f64 - self.service).max(0.0) * slowness);
        let at_time = by_time.map_or(f64::INFINITY, |(at, ..)| (at as f64).max(self.now));
        let (at, clock) = if at_service <= at_time { (at_service, 0) } else { (at_time, 1) };
        let served = (at - self.now) / slowness;
        self.callers.iter_mut().for_each(|caller| caller.work += caller.folding as f64 * served);
        (self.now, self.service) = (at, self.service + served);
        let Reverse((due, _, thread, _)) = self.events[clock].pop().expect("a caller never stops");
        if clock == 0 {
            self.service = due as f64;
        }
        thread
    }

    fn step(&mut self) {
        let thread = self.next();
        let seat = self.threads[thread].seat;
        let caller = thread.wrapping_sub(self.workers - 1);
        match self.threads[thread].doing {
            Doing::Come => self.look_for_job(thread),
            Doing::Poll => self.set_doing(thread, Doing::Sleep),
            Doing::Enter | Doing::Offer | Doing::Steal => self.begin_work(thread),
            Doing::Leave => self.leave(thread),
            Doing::Fold => self.end_stretch(thread),
            Doing::Scan(moves) => self.choose(thread, moves),
            Doing::Watch { victim, start, is_dear } => self.watch(thread, victim, start, is_dear),
            Doing::Alone { end, after } => self.after_stretch(caller, end, after),
            Doing::Deal => self.publish(caller, seat.expect("it has an arena").0),
            Doing::Retract => self.retract(caller, seat.expect("it has an arena").0),
            Doing::Wait => self.set_doing(thread, Doing::WaitAsleep),
            Doing::Return => self.end_shared(caller, seat.expect("it has an arena").0),
            Doing::Sleep | Doing::WaitAsleep => unreachable!("a sleeping thread has no event"),
        }
    }

    /// Runs until each caller has ended this many further calls.
    fn run(&mut self, calls: usize) {
        let until: Vec<usize> = self.callers.iter().map(|caller| caller.calls + calls).collect();
        while self.callers.iter().zip(&until).any(|(caller, until)| caller.calls < *until) {
            self.step();
        }
    }

    /// Measures from now on, until each caller has ended this many further calls.
    fn measure(&mut self, calls: usize) -> Measured {
        self.measured_from = self.now;
        self.callers.iter_mut().for_each(|caller| (caller.work, caller.least) = (0.0, 0));
        self.run(calls);
        let (callers, lasted) = (self.callers.len() as f64, self.now - self.measured_from);
        let share = |work: f64| work * callers / self.workers as f64;
        let works = || self.callers.iter().map(|caller| caller.work);
        let least = self.callers.iter().map(|caller| caller.least).sum::<u64>() as f64;
        Measured {
            ratio: callers * lasted / share(works().sum()).max(least),
            slowest: works().map(|work| lasted / share(work)).fold(0.0, f64::max),
        }
    }
}

/// What callers lose.
///
/// The sum of the times of all loops has two lower bounds. The larger one counts.
///
/// * *Share.* Each caller is in a loop at any moment, so `c` callers spend `c` times the measured
///   time in loops. In this time `n` CPUs do at most `n` times as much work. So the sum is at least
///   the time that the work takes if each caller has `n / c` CPUs.
/// * *Alone.* Each loop takes at least as long as it would take if it had the whole pool. A worker
///   that sleeps when the loop begins has to be woken: see [`SimPool::least`].
struct Measured {
    /// The sum of the times of all loops, as a multiple of its lower bound.
    ratio: f64,
    /// The time of the slowest caller, as a multiple of the time that its work would take on its
    /// share of the CPUs. No policy can promise 1 for this if loops differ.
    slowest: f64,
}

/// In workers: pools of this size do not keep [`SLOWEST`]. (On 64 workers, one of two to four
/// callers may take 8 to 24 times as long as on its share: it begins alone, and finds no idle
/// worker while the other callers take all of them again and again.)
const MANY: usize = 64;
/// The limit of [`Measured::slowest`] for loops of 500 µs and more.
const SLOWEST: f64 = 2.25;

/// The lengths of loops in nanoseconds of work, and how many calls of each caller are measured.
/// "mixed": each caller has loops of two lengths.
const LENGTHS: [(&str, [u64; 4], usize); 5] = [
    ("50 us", [50 * MICROS; 4], 30),
    ("500 us", [500 * MICROS; 4], 16),
    ("5 ms", [5 * MILLIS; 4], 8),
    ("50 ms", [50 * MILLIS; 4], 4),
    ("mixed", [50 * MICROS, 50 * MILLIS, 5 * MILLIS, 500 * MICROS], 4),
];
const CALLERS: [usize; 4] = [1, 2, 4, 8];

/// Simulates callers with two loops each: items of equal costs, of growing costs, or a few of which
/// are heavy. The first calls are not measured: the pool learns the loops from them.
fn simulate(workers: usize, callers: usize, row: usize, flaw: Flaw) -> Measured {
    let (_, lengths, calls) = LENGTHS[row];
    let of = |caller: usize, nth: usize| {
        let size = Size { workers: 1, items: ITEMS_A_LOOP, each: lengths[(caller + nth) % 4] };
        let costs = match ["even", "growing", "few heavy"][(caller + nth) % 3] {
            "even" => vec![size.each / size.items; size.items as usize],
            name => shape(name)(&mut Random((caller as u64) << 32), size),
        };
        let site = Site::new(ptr::without_provenance(0x1000 * (2 * caller + nth + 1)));
        let slice = Slice { address: 0x1000, len: costs.len() };
        SimLoop { this: Loop { site, slice }, items: Arc::new(SimItems::new(costs)) }
    };
    let loops = (0..callers).map(|caller| [0, 1].map(|nth| of(caller, nth)).into()).collect();
    let mut pool = SimPool::new(workers, loops, PRICES, flaw);
    pool.run(2 * calls);
    pool.measure(calls)
}

/// The ratio that a row may have unless its comment says otherwise.
const BAR: f64 = 1.15;
/// The ratio that two callers of loops of 500 µs may have on eight workers.
const TWO_CALLERS: f64 = 1.31;

/// Prints the ratios of all lengths, and compares them with the `bars`: for each length, one bar
/// for each number of callers. `cargo test --lib callers -- --nocapture`
fn compare(workers: usize, bars: [[f64; CALLERS.len()]; LENGTHS.len()]) {
    let mut bad = Vec::new();
    for (row, (bars, (name, ..))) in bars.iter().zip(LENGTHS).enumerate() {
        for (callers, bar) in CALLERS.into_iter().zip(bars) {
            let Measured { ratio, slowest } = simulate(workers, callers, row, Flaw::None);
            let cell = format!("{workers:2} workers, {callers} callers, {name:6}: {ratio:.2} of {bar:.2}");
            println!("{cell}; the slowest caller {slowest:.2}");
            if ratio > *bar || workers < MANY && row > 0 && slowest > SLOWEST {
                bad.push(cell);
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn callers_share_two_workers() {
    compare(2, [[BAR; 4]; LENGTHS.len()]);
}

/// Loops of 50 µs miss the bar of 1.15, with 1.35, 2.26 and 1.67. With all workers such a loop
/// would take some 6 µs, which is less than a wake-up. If several threads call loops, workers sleep
/// after each loop. So most loops run on few workers while other workers wake up. For the same
/// reason two callers of loops of 500 µs miss it, with 1.24 (1.02 with [`Flaw::NoCrowd`]).
#[test]
fn callers_share_eight_workers() {
    compare(8, [[1.43, 2.4, 1.76, BAR], [BAR, TWO_CALLERS, BAR, BAR], [BAR; 4], [BAR; 4], [BAR; 4]]);
}

/// The pool misses the bar of 1.15 in 15 of 20 rows. The target of loops of 500 µs and more is
/// 1.30, and that of two callers of 5 ms is 1.25: five rows miss these. The measured ratios follow,
/// for one, two, four and eight callers; the asserted limits are about 5 % higher. Few calls are
/// measured, so with other seeds the ratios of several callers differ by a tenth.
///
/// * 50 µs: 1.62, 2.52, 3.40, 6.90. With 64 workers such a loop would take 1 µs. The policy wakes
///   few workers, because help costs more than it saves.
/// * 500 µs: 2.68, 4.69, 3.19, 2.21. With 64 workers the work of such a loop takes 7.8 µs. What one
///   thread after the other does takes longer: the caller partitions 64 cells (3.8 µs) and writes
///   63 offers (0.9 µs), and 63 workers write the count of tokens (6.3 µs). If none of this took
///   time, the ratio of one caller would be 1.29. With any number of helpers it is at least 2.4.
/// * 5 ms: 1.16, 1.69, 1.30, 1.16. If several threads call loops, workers sleep after each loop. A
///   wake-up takes some 22 µs of a CPU, and the work of 5 ms takes 78 µs of each. Helpers that poll
///   all the same ([`Flaw::NoCrowd`]) bring two callers to 1.11, and those of 500 µs to 1.86.
/// * Loops of mixed lengths: 1.03, 1.21, 1.24, 1.30. One caller takes long: it begins alone, and
///   finds no idle worker while the others take all of them again and again. A loop opens as many
///   places as CPUs are free at its begin, and the first worker that finds nothing to steal closes
///   them.
/// * A failed trial of running alone counts even if its rest gets fewer helpers than it asks for.
///   When such trials did not count, each call of a loop was a trial, and the ratios of four and
///   eight callers were 9.29 and 8.08 with loops of 50 µs. (With one lock for all workers and
///   wake-ups one by one, as all figures of this item.) A call with fewer helpers does not bring
///   the next trial closer: with such calls counted, the mixed ratios were 1.03, 1.25, 1.39, 1.34.
#[test]
#[ignore = "seconds without optimisation: .ci/long runs it"]
fn callers_share_sixty_four_workers() {
    let (micros_50, micros_500) = ([1.71, 2.65, 3.58, 7.25], [2.82, 4.93, 3.36, 2.33]);
    compare(64, [micros_50, micros_500, [1.23, 1.78, 1.37, 1.23], [BAR; 4], [BAR, 1.28, 1.31, 1.37]]);
}

/// Prints the ratios, with the policy and with helpers that poll between the loops of several
/// callers as they do between those of one: `cargo test -p rangesteal --release --lib crowd --
/// --ignored --nocapture`. CPU time does not count here. The threads of a crowd have no CPUs to
/// spare on two CPUs, but 63 helpers and two callers are only one more than 64.
#[test]
#[ignore = "a table for people"]
fn helpers_that_poll_in_a_crowd() {
    for (workers, row) in [2, 8, 64].into_iter().flat_map(|workers| [0, 1, 2, 3, 4].map(|row| (workers, row)))
    {
        let ratios = CALLERS.map(|callers| {
            let [now, polls] =
                [Flaw::None, Flaw::NoCrowd].map(|flaw| simulate(workers, callers, row, flaw).ratio);
            format!("{now:5.2} -> {polls:5.2}")
        });
        println!("{workers:2} workers, {:6}, callers {CALLERS:?}: {}", LENGTHS[row].0, ratios.join(", "));
    }
}

/// If the policy were wrong in one of these ways, the bars of eight workers would notice it.
#[test]
fn the_bars_notice_a_wrong_policy() {
    let two_callers = |row, flaw| simulate(8, 2, row, flaw);
    let ratio = |flaw| two_callers(1, flaw).ratio;
    assert!(ratio(Flaw::None) < TWO_CALLERS && ratio(Flaw::NoFreeCpu) > 1.05 * TWO_CALLERS);
    for (row, flaw) in [(3, Flaw::NoLimit), (2, Flaw::NoRest)] {
        let slowest = |flaw| two_callers(row, flaw).slowest;
        assert!(slowest(Flaw::None) < SLOWEST && slowest(flaw) > 1.1 * SLOWEST);
    }
}
