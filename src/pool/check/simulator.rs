//! Simulated loops of up to 256 workers: one thread simulates a loop in milliseconds.
//!
//! The policy is the shipped one: this module calls `victim`, `theft`, `Grain`, `Splits` and
//! the pieces of a journal as a loop does. `SimRangeLoop` has the protocol in a few lines, and a
//! table of prices has the costs of its steps. The events are the ends of stretches and the steps
//! of thieves. Between two events, the index that a worker has reached is computed from the sums of
//! the costs of the items.
//!
//! Simplifications: hyper-threads do not slow each other; an item from another node costs its thief
//! no more than an item from its own node; a claim is free; a theft is never undone; reducing is
//! free.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{cmp::Reverse, collections::BinaryHeap, hint::black_box, ops::Range, sync::Arc, time::Duration};

use crate::{
    clock::{Instant, nanos},
    pool::{
        Pool,
        place::topology::{Cpu, Distance, distance},
        policy::{
            grain::Grain,
            pace::{Pace, STRETCH, Stretch},
            prices::Estimate,
            site::{Loop, Site, Slice, scatter},
            split::{Profile, Splits, equal_parts, parts},
            theft::{self, Watched},
            victim::{spread, victim},
        },
        tell::{
            journal::{Mark, OpenPieces},
            times::Times,
        },
    },
};

/// Prices in nanoseconds. "Assumed" means not measured on a large machine.
#[derive(Clone, Copy)]
pub(super) struct SimPrices {
    /// Partitioning one cell. Assumed: a free lock and three stores.
    pub(super) deal: u64,
    /// The time that a thread takes to wake one sleeper. Assumed; 8 µs on a virtual machine of
    /// two CPUs.
    pub(super) wake: u64,
    /// The mean time until a woken thread begins. A thread takes between 0.5 and 1.5 times the
    /// mean. Assumed; on a virtual machine of two CPUs the median is 5 µs, and one thread in ten
    /// takes 38 µs or more.
    pub(super) latency: u64,
    /// The time that the caller takes to write an offer to the post of one worker. Assumed; 63
    /// offers take 0.35 to 0.86 µs on a virtual machine of two CPUs.
    pub(super) offer: u64,
    /// The time until a polling helper has seen the job. Assumed.
    pub(super) notice: u64,
    /// Writing the count of tokens, which the workers of a loop write one after the other. Assumed;
    /// 40 to 100 ns on a virtual machine of two CPUs.
    pub(super) count: u64,
    /// The time to read the cell of a worker in the same cache, in the same node, and in another
    /// node. Assumed: the latency of a cache line, with several requests in flight.
    pub(super) view: [u64; 3],
    /// The time of a theft from a worker in the same cache, in the same node, and in another node,
    /// without the fence. Both cells are locked meanwhile. Assumed.
    pub(super) theft: [u64; 3],
    /// The fixed part of the time that the expensive heavy fence takes the thief. Assumed; with two
    /// workers on a virtual machine of two CPUs, the whole fence takes 5 to 12 µs.
    pub(super) fence: u64,
    /// The further time that the expensive heavy fence takes the thief for each worker. Assumed.
    pub(super) fence_each: u64,
    /// The time for which the expensive heavy fence interrupts each other worker. Assumed.
    pub(super) tax: u64,
}

/// A large machine, not virtual.
pub(super) const PRICES: SimPrices = SimPrices {
    deal: 60,
    wake: 2_000,
    latency: 20_000,
    offer: 15,
    notice: 300,
    count: 100,
    view: [15, 25, 50],
    theft: [200, 400, 800],
    fence: 500,
    fence_each: 50,
    tax: 700,
};

/// In nanoseconds: how long threads poll for a lock before they sleep, like `Patience::BRIEF`.
pub(super) const BRIEF: u64 = 5_000;

/// The CPUs of the workers of a machine.
struct SimMachine {
    name: &'static str,
    homes: Vec<Option<Cpu>>,
}

/// A CPU with this cache and this node.
fn home(cache: usize, node: usize) -> Cpu {
    Cpu { number: 0, core: 0, thread: 0, cache, node, class: 0 }
}

impl SimMachine {
    /// Two nodes, with two hyper-threads per core. The workers are numbered over the first
    /// hyper-threads of all cores, then over the second hyper-threads.
    fn two_nodes(name: &'static str, cores: usize, caches: usize) -> Self {
        let of_worker = |worker| {
            let core = worker % cores;
            Some(home(core * caches / cores, core * 2 / cores))
        };
        Self { name, homes: (0..2 * cores).map(of_worker).collect() }
    }

    /// Caches of 8 workers, and nodes of 64.
    fn chiplets(workers: usize) -> Self {
        Self {
            name: "chiplets",
            homes: (0..workers).map(|worker| Some(home(worker / 8, worker / 64))).collect(),
        }
    }
}

/// The setting of all loops in a row of a table.
#[derive(Clone, Copy)]
struct Setting<'a> {
    prices: SimPrices,
    homes: &'a [Option<Cpu>],
    /// The CPUs that thieves assume.
    known: &'a [Option<Cpu>],
    /// Whether the helpers poll for the job.
    awake: bool,
    /// The number of workers that is passed to the policy.
    told: usize,
}

impl<'a> Setting<'a> {
    fn new(machine: &'a SimMachine) -> Self {
        let homes = &*machine.homes;
        Self { prices: PRICES, homes, known: homes, awake: true, told: homes.len() }
    }

    /// The same setting with the rule for few workers: thieves choose the largest of the nearest
    /// victims.
    fn the_largest(self) -> Self {
        Self { told: 2, ..self }
    }
}

/// The outcome of one loop, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SimOutcome {
    thefts: u64,
    /// The number of thefts between nodes.
    between_nodes: u64,
    /// The number of thefts with an expensive fence.
    fences: u64,
    /// The number of scans that found no victim, or a victim that was almost done.
    vain: u64,
    /// The time until the caller returns, in nanoseconds.
    makespan: u64,
    /// A lower bound of the makespan.
    bound: u64,
}

impl SimOutcome {
    fn add(&mut self, other: Self) {
        self.thefts += other.thefts;
        self.between_nodes += other.between_nodes;
        self.fences += other.fences;
        self.vain += other.vain;
        self.makespan += other.makespan;
        self.bound += other.bound;
    }

    /// The makespan as a multiple of the lower bound.
    fn ratio(&self) -> f64 {
        self.makespan as f64 / self.bound as f64
    }
}

/// A worker that was woken.
pub(super) struct Woken {
    /// The time when it has come, and the time when it has rung others and begins to work.
    pub(super) came: u64,
    pub(super) begin: u64,
}

/// Rings `sleepers` that have an offer, as `Barrier::ring_two` does: the caller rings two at the
/// time `from`, each worker rings two when it has come, and each of them rings two more after each
/// stretch of its work. Returns the time when the caller begins to work. Ringing later on takes no
/// time.
pub(super) fn ring(prices: &SimPrices, sleepers: usize, from: u64, random: &mut Random) -> (u64, Vec<Woken>) {
    let (mut own, mut woken) = (from, Vec::with_capacity(sleepers));
    // The times when somebody rings, and the worker that has just come; `None` if it works.
    let mut ringers = BinaryHeap::from([Reverse((from, None))]);
    while let Some(Reverse((mut now, comes))) = ringers.pop() {
        for _ in 0..2.min(sleepers - woken.len()) {
            now += prices.wake;
            let came = now + prices.latency / 2 + random.below(prices.latency + 1);
            ringers.push(Reverse((came, Some(woken.len()))));
            woken.push(Woken { came, begin: came });
        }
        match comes {
            Some(worker) => woken[worker].begin = now,
            None if own == from => own = now,
            None => {}
        }
        if woken.len() < sleepers {
            ringers.push(Reverse((now + STRETCH.as_nanos() as u64, None)));
        }
    }
    (own, woken)
}

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 += 1;
        scatter(scatter(self.0)) % bound
    }
}

/// The items of a loop: for each item, the sum of the costs of the items before it; and the sum of
/// all costs.
pub(super) struct SimItems(Vec<u64>);

impl SimItems {
    pub(super) fn new(costs: impl IntoIterator<Item = u64>) -> Self {
        let mut sum = 0;
        let sums = costs.into_iter().map(|cost| {
            sum += cost;
            sum
        });
        Self([0].into_iter().chain(sums).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// The time of the items `first..behind`.
    pub(super) fn take(&self, first: usize, behind: usize) -> u64 {
        self.0[behind] - self.0[first]
    }

    pub(super) fn total(&self) -> u64 {
        self.0[self.len()]
    }

    /// A lower bound for the time of a loop.
    pub(super) fn bound(&self, workers: usize) -> u64 {
        let dearest = self.0.windows(2).map(|sums| sums[1] - sums[0]).max();
        self.total().div_ceil(workers as u64).max(dearest.unwrap_or(0))
    }
}

/// A sequence of claims of `size` items each, from `first` to `end`.
#[derive(Clone, Copy)]
pub(super) struct SimClaims {
    pub(super) since: u64,
    pub(super) first: usize,
    pub(super) size: usize,
    pub(super) end: usize,
}

impl SimClaims {
    /// The end of the claim whose items the worker folds.
    pub(super) fn claimed(&self, items: &SimItems, now: u64) -> usize {
        let gone = now.saturating_sub(self.since);
        let (mut begun, mut not_begun) = (0, (self.end - self.first).div_ceil(self.size));
        while begun + 1 < not_begun {
            let middle = usize::midpoint(begun, not_begun);
            if items.take(self.first, self.first + middle * self.size) <= gone {
                begun = middle;
            } else {
                not_begun = middle;
            }
        }
        self.end.min(self.first + (begun + 1) * self.size)
    }

    pub(super) fn done(&self, items: &SimItems) -> u64 {
        self.since + items.take(self.first, self.end)
    }
}

/// A run that is under way.
struct SimRun {
    begin: u64,
    pieces: OpenPieces,
    /// `None` while the worker folds the first item.
    grain: Option<Grain>,
}

/// The next step of a worker.
#[derive(Clone, Copy)]
enum SimStep {
    Come,
    /// The worker has folded its claims.
    Fold,
    /// The worker has scanned all cells. Contains the number of thefts at the start of the scan.
    Scan(usize),
    /// The worker locks the cell of the victim to read the victim's fence. The worker has tried to
    /// lock the cell since the time `since`.
    Look {
        victim: usize,
        since: u64,
    },
    /// The worker has watched a victim. Contains the victim's position, and whether the victim's
    /// fence was expensive.
    Watch {
        victim: usize,
        start: usize,
        is_dear: bool,
    },
    /// The worker locks the cell of the victim for a theft. The worker has tried to lock the cell
    /// since the time `since`.
    Steal {
        victim: usize,
        is_stuck: bool,
        since: u64,
    },
}

struct Worker {
    /// `next` and `end` are the worker's cell. `next` is valid only if the worker has no claims.
    next: usize,
    end: usize,
    claims: Option<SimClaims>,
    /// Whether the fence of the worker's cell is expensive for thieves. `None` if the worker has
    /// not entered.
    is_dear: Option<bool>,
    locked_until: u64,
    run: Option<SimRun>,
    step: SimStep,
    /// Events of the worker with an older version are void.
    version: u32,
    /// As in `Thief`: the number of the worker's current theft, from 1.
    nth: usize,
    /// As in `Thief`: how often the worker has asked for a victim.
    asked: u64,
    spared: Option<usize>,
}

/// A shared loop.
struct SimRangeLoop<'a> {
    of: &'a Setting<'a>,
    items: &'a SimItems,
    profile: Option<&'a Profile>,
    pace: Option<f32>,
    heavy: &'a Estimate,
    /// The time 0.
    begin: Instant,
    workers: Vec<Worker>,
    /// The events, each with its time, its number in the order of creation, its worker, and the
    /// version of the worker.
    events: BinaryHeap<Reverse<(u64, u64, usize, u32)>>,
    made: u64,
    moves: usize,
    folded: usize,
    /// The time when the last worker has written the count of tokens.
    counted: u64,
    /// The time when the caller has written the count of tokens at the end.
    caller: u64,
    marks: Vec<Mark>,
    times: Box<Times>,
    outcome: SimOutcome,
}

impl SimRangeLoop<'_> {
    fn at(&self, now: u64) -> Instant {
        self.begin + Duration::from_nanos(now)
    }

    /// Converts a time to the unit of the policy.
    fn nanos(time: u64) -> f32 {
        nanos(Duration::from_nanos(time))
    }

    fn then(&mut self, me: usize, at: u64, step: SimStep) {
        let worker = &mut self.workers[me];
        worker.step = step;
        worker.version += 1;
        self.made += 1;
        self.events.push(Reverse((at, self.made, me, worker.version)));
    }

    /// The first item that a worker has not claimed.
    fn start(&self, worker: usize, now: u64) -> usize {
        let Worker { next, claims, .. } = &self.workers[worker];
        claims.map_or(*next, |claims| claims.claimed(self.items, now))
    }

    fn left(&self, worker: usize, now: u64) -> usize {
        self.workers[worker].end - self.start(worker, now)
    }

    fn distance(&self, me: usize, other: usize) -> Distance {
        distance(self.of.homes[me].as_ref(), self.of.homes[other].as_ref())
    }

    /// The time when a worker that arrives `now` has written the count of tokens.
    fn pass(&mut self, now: u64) -> u64 {
        self.counted = self.counted.max(now) + self.of.prices.count;
        self.counted
    }

    /// Begins a run whose first item has been claimed already.
    fn begin_run(&mut self, me: usize, first: usize, now: u64) {
        self.workers[me].run =
            Some(SimRun { begin: now, pieces: OpenPieces::new(first, self.at(now)), grain: None });
        self.claim(me, SimClaims { since: now, first, size: 1, end: first + 1 });
    }

    fn claim(&mut self, me: usize, claims: SimClaims) {
        self.workers[me].claims = Some(claims);
        self.then(me, claims.done(self.items), SimStep::Fold);
    }

    /// The work of `fold_from` after a stretch, or after the first item.
    fn fold(&mut self, me: usize, now: u64) {
        let at = self.at(now);
        let Worker { next, end, claims, run, is_dear, locked_until, .. } = &mut self.workers[me];
        let (Some(done), Some(SimRun { begin, pieces, grain })) = (claims.take(), run.as_mut()) else {
            return;
        };
        *next = done.end;
        self.folded += done.end - done.first;
        let left = *end - *next;
        if let Some(grain) = grain {
            grain.end_stretch(left, at);
            pieces.mark(*next, at, &mut self.marks);
        }
        if left > 0 {
            let begun = self.begin + Duration::from_nanos(*begin);
            let harmless = self.profile.map_or(1, |profile| profile.harmless_block(*next..*end));
            let grain = grain.get_or_insert_with(|| Grain::new(Some(begun), self.pace, harmless, false));
            let Stretch { size, items, full_fences, .. } = grain.stretch(left);
            if *locked_until <= now {
                *is_dear = Some(!full_fences);
            }
            let claims = SimClaims { since: now, first: *next, size, end: *next + items };
            return self.claim(me, claims);
        }
        if grain.is_none() {
            pieces.mark(*next, at, &mut self.marks); // a run of one item is timed when it ends
        }
        let working = now - *begin;
        let tally = &mut self.times.tallies[me];
        if tally.runs == 0 {
            tally.span.start = Self::nanos(*begin);
        }
        tally.span.end = Self::nanos(now);
        tally.working += Self::nanos(working);
        tally.runs += 1;
        if let Some(run) = run.take() {
            run.pieces.end(&mut self.marks);
        }
        self.steal(me, now);
    }

    fn steal(&mut self, me: usize, now: u64) {
        self.workers[me].nth += 1;
        self.workers[me].spared = None;
        self.scan(me, now);
    }

    fn scan(&mut self, me: usize, now: u64) {
        let others = (0..self.workers.len()).filter(|&other| other != me);
        let price: u64 = others.map(|other| self.of.prices.view[self.distance(me, other) as usize]).sum();
        self.then(me, now + price, SimStep::Scan(self.moves));
    }

    fn choose(&mut self, me: usize, now: u64, moves: usize) {
        let Worker { spared, asked, .. } = &mut self.workers[me];
        *asked += 1;
        let (spared, draw) = (*spared, spread(self.of.told, me, *asked));
        let workers = self.workers.len();
        let others = (me + 1..workers).chain(0..me).filter(|&other| Some(other) != spared);
        let left = others.map(|other| (other, self.left(other, now))).filter(|&(_, left)| left > 0);
        let known = self.of.known;
        let distance = |other: usize| distance(known[me].as_ref(), known[other].as_ref());
        let Some(victim) = victim(left.map(|(other, left)| (other, left, distance(other))), draw) else {
            self.outcome.vain += 1;
            if moves != self.moves {
                return self.scan(me, now);
            }
            let left = self.pass(now);
            if me == 0 {
                self.caller = left;
                // The caller retracts the job.
                for late in self.workers.iter_mut().filter(|worker| worker.is_dear.is_none()) {
                    late.version += 1;
                }
            }
            return;
        };
        self.look(me, now, victim, now);
    }

    /// The time when a thief tries again to lock a cell; `None` if the lock is free. The thief has
    /// waited for the lock since the time `since`: it polls for a moment, then sleeps.
    fn waits(&self, now: u64, victim: usize, since: u64) -> Option<u64> {
        let free = self.workers[victim].locked_until;
        let slept = free > since + BRIEF;
        (now < free).then_some(if slept { free + self.of.prices.latency } else { free })
    }

    fn look(&mut self, me: usize, now: u64, victim: usize, since: u64) {
        if let Some(later) = self.waits(now, victim, since) {
            return self.then(me, later, SimStep::Look { victim, since });
        }
        let Some(is_dear) = self.workers[victim].is_dear else {
            return self.try_steal(me, now, victim, false, now);
        };
        let moment = theft::moment(self.expected(is_dear)).as_nanos() as u64;
        let start = self.start(victim, now);
        self.then(me, now + moment, SimStep::Watch { victim, start, is_dear });
    }

    /// The cost of a heavy fence that a thief expects.
    fn expected(&self, is_dear: bool) -> f32 {
        if is_dear { self.heavy.get() } else { 0.0 }
    }

    fn watch(&mut self, me: usize, now: u64, victim: usize, start: usize, is_dear: bool) {
        let moved = self.start(victim, now).saturating_sub(start);
        match theft::watched(self.expected(is_dear), is_dear, moved, self.left(victim, now)) {
            Watched::AlmostDone => {
                self.outcome.vain += 1;
                self.scan(me, now);
            }
            watched => self.try_steal(me, now, victim, watched == Watched::Stuck, now),
        }
    }

    fn try_steal(&mut self, me: usize, now: u64, victim: usize, is_stuck: bool, since: u64) {
        if let Some(later) = self.waits(now, victim, since) {
            return self.then(me, later, SimStep::Steal { victim, is_stuck, since });
        }
        let range = self.start(victim, now)..self.workers[victim].end;
        if range.is_empty() {
            self.outcome.vain += 1;
            return self.scan(me, now);
        }
        let nth = self.workers[me].nth;
        let end = range.end;
        let middle =
            if is_stuck { Some(range.start) } else { theft::middle(self.profile, nth, victim, range) };
        let Some(middle) = middle else {
            self.workers[me].spared = Some(victim);
            return self.scan(me, now);
        };
        let distance = self.distance(me, victim);
        let prices = &self.of.prices;
        let mut price = prices.theft[distance as usize];
        if self.workers[victim].is_dear == Some(true) {
            price += prices.fence + prices.fence_each * self.workers.len() as u64;
            self.outcome.fences += 1;
            self.heavy.see(Self::nanos(price));
        }
        self.outcome.thefts += 1;
        self.outcome.between_nodes += u64::from(distance == Distance::Beyond);
        self.moves += 1;
        let cell_of_victim = &mut self.workers[victim];
        cell_of_victim.end = middle;
        cell_of_victim.locked_until = now + price;
        // The next claim of the victim finds the new end, takes the items that are left, and ends
        // the stretch.
        if let Some(mut claims) = cell_of_victim.claims {
            let claimed = claims.claimed(self.items, now);
            if claimed < claims.end {
                claims.end = (claimed + claims.size).min(middle).max(claimed);
                self.claim(victim, claims);
            }
        }
        let thief = &mut self.workers[me];
        thief.end = end;
        thief.is_dear = Some(false);
        thief.locked_until = now + price;
        self.begin_run(me, middle, now + price);
    }

    fn come(&mut self, me: usize, now: u64) {
        let Worker { next, end, is_dear, .. } = &mut self.workers[me];
        *is_dear = Some(false);
        if next < end {
            let first = *next;
            self.begin_run(me, first, now);
        } else {
            self.steal(me, now);
        }
    }

    fn run(mut self) -> (SimOutcome, Box<Times>) {
        while let Some(Reverse((now, _, me, version))) = self.events.pop() {
            if self.workers[me].version != version {
                continue;
            }
            match self.workers[me].step {
                SimStep::Come => self.come(me, now),
                SimStep::Fold => self.fold(me, now),
                SimStep::Scan(moves) => self.choose(me, now, moves),
                SimStep::Watch { victim, start, is_dear } => self.watch(me, now, victim, start, is_dear),
                SimStep::Look { victim, since } => self.look(me, now, victim, since),
                SimStep::Steal { victim, is_stuck, since } => {
                    self.try_steal(me, now, victim, is_stuck, since);
                }
            }
        }
        let Self { of: Setting { prices, awake, .. }, items, counted, caller, .. } = self;
        let woken = if !awake && counted > caller + BRIEF { prices.latency } else { 0 };
        assert_eq!(self.folded, items.len());
        self.outcome.makespan = counted + woken + self.outcome.fences * prices.tax;
        self.outcome.bound = items.bound(self.workers.len());
        self.times.marks = self.marks;
        (self.outcome, self.times)
    }
}

/// The values that a pool has learnt of one loop.
struct Learnt {
    splits: Splits,
    heavy: Estimate,
    pace: Option<f32>,
    random: Random,
}

impl Learnt {
    fn nothing(workers: usize, seed: u64) -> Self {
        Self {
            splits: Splits::new(workers),
            heavy: Estimate::new(5e3),
            pace: None,
            random: Random(seed << 32),
        }
    }

    /// The times when the workers begin; the first time is that of the caller.
    fn comings(&mut self, of: &Setting<'_>) -> Vec<u64> {
        let Setting { prices, homes, awake, .. } = of;
        let helpers = homes.len() as u64 - 1;
        let dealt = prices.deal * (helpers + 1);
        let offered = dealt + prices.offer * helpers;
        if *awake {
            let helper = |helper| dealt + prices.offer * helper + prices.notice;
            return [offered].into_iter().chain((1..=helpers).map(helper)).collect();
        }
        let (own, woken) = ring(prices, helpers as usize, offered, &mut self.random);
        [own].into_iter().chain(woken.into_iter().map(|woken| woken.begin)).collect()
    }

    /// Simulates a call and learns from it, like `Executor::share_ranges`.
    fn call(&mut self, of: &Setting<'_>, items: &SimItems) -> SimOutcome {
        static SITE: u8 = 0;
        let slice = Slice { address: 0x1000, len: items.len() };
        let this = Loop { site: Site::new((&raw const SITE).cast()), slice };
        let workers = of.homes.len();
        let comings = self.comings(of);
        let times = self.splits.take_times().unwrap_or_default().of(workers, false);
        let known = self.splits.known(this, of.awake).map(Arc::clone);
        let same = known.is_some();
        let learnt = known.as_ref().and_then(|known| known.bounds(workers));
        let bounds = learnt.map_or_else(|| equal_parts(&(0..items.len()), workers), <[usize]>::to_vec);
        let worker = |range: Range<usize>| Worker {
            next: range.start,
            end: range.end,
            claims: None,
            is_dear: None,
            locked_until: 0,
            run: None,
            step: SimStep::Come,
            version: 0,
            nth: 0,
            asked: 0,
            spared: None,
        };
        let mut range_loop = SimRangeLoop {
            of,
            items,
            profile: known.as_ref().map(|known| &known.profile),
            pace: self.pace,
            heavy: &self.heavy,
            begin: Instant::now(),
            workers: parts(0..items.len(), &bounds).map(worker).collect(),
            events: BinaryHeap::new(),
            made: 0,
            moves: 0,
            folded: 0,
            counted: 0,
            caller: 0,
            marks: Vec::new(),
            times,
            outcome: SimOutcome::default(),
        };
        range_loop.come(0, comings[0]); // the caller enters its cell before it wakes helpers
        for (me, at) in comings.into_iter().enumerate().skip(1) {
            range_loop.then(me, at, SimStep::Come);
        }
        let (outcome, mut times) = range_loop.run();
        self.pace = Some(times.work() / items.len() as f32);
        if !(same && times.runs() == workers && times.are_balanced()) {
            self.splits.learn(this, of.awake, &mut times);
        }
        self.splits.keep_times(times);
        outcome
    }
}

/// The amount of work.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) workers: u64,
    pub(super) items: u64,
    /// The work divided by the number of workers, in nanoseconds.
    pub(super) each: u64,
}

impl Size {
    fn mean(&self) -> u64 {
        self.workers * self.each / self.items
    }
}

/// Makes the costs of the items.
pub(super) type Costs = fn(&mut Random, Size) -> Vec<u64>;

const SHAPES: [(&str, Costs); 9] = [
    ("noise", |random, size| {
        let mean = size.mean();
        (0..size.items).map(|_| mean / 10 + random.below(mean * 9 / 5)).collect()
    }),
    ("growing", |_, size| (0..size.items).map(|item| 2 * size.mean() * item / size.items).collect()),
    ("growing, noise", |random, size| {
        (0..size.items).map(|item| random.below(4 * size.mean() * item / size.items + 1)).collect()
    }),
    ("heavy run", |random, size| {
        let (items, mean) = (size.items, size.mean());
        let begin = random.below(items - items / 20);
        let heavy = begin..begin + items / 20;
        (0..items).map(|item| if heavy.contains(&item) { 19 * mean } else { mean / 20 }).collect()
    }),
    ("few heavy", |random, size| {
        let mean = size.mean();
        (0..size.items).map(|_| if random.below(100) == 0 { 50 * mean } else { mean / 2 }).collect()
    }),
    ("dear node", |random, size| {
        let (items, mean) = (size.items, size.mean());
        let dear = random.below(2);
        (0..items).map(|item| if 4 * item / items % 2 == dear { mean * 3 / 2 } else { mean / 2 }).collect()
    }),
    ("hot run", |random, size| {
        let hot = (size.workers * size.each / 128).min(size.each / 2);
        let rest = (size.workers * size.each - 64 * hot) / (size.items - 64);
        let begin = random.below(size.items - 64);
        (0..size.items).map(|item| if (begin..begin + 64).contains(&item) { hot } else { rest }).collect()
    }),
    ("first heavy", |_, size| {
        let first = size.each * 9 / 10;
        let rest = (size.workers * size.each - first) / (size.items - 1);
        (0..size.items).map(|item| if item == 0 { first } else { rest }).collect()
    }),
    ("heavy tail", |random, size| {
        let third = size.mean() / 3;
        let unit = |random: &mut Random| (random.below(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64;
        (0..size.items)
            .map(|_| ((third as f64 / unit(random).powf(1.0 / 1.5)) as u64).min(size.each * 9 / 10))
            .collect()
    }),
];

/// The sum over first calls with several seeds.
fn first_calls(of: &Setting<'_>, costs: Costs, size: Size, seeds: u64) -> SimOutcome {
    let mut sum = SimOutcome::default();
    for seed in 0..seeds {
        let items = SimItems::new(costs(&mut Random(seed << 32), size));
        sum.add(Learnt::nothing(of.homes.len(), seed).call(of, &items));
    }
    sum
}

/// The shape with this name.
pub(super) fn shape(name: &str) -> Costs {
    SHAPES.into_iter().find(|(its, _)| *its == name).expect("a shape").1
}

/// For every machine, size and shape: if thieves know the localities, there are fewer thefts
/// between nodes than if they do not, and the mean makespan is at most 2 % longer. To see the
/// table: `cargo test -p rangesteal --release --lib fewer_thefts -- --ignored --nocapture`.
#[test]
#[ignore = "seconds without optimisation: .ci/long runs it"]
fn fewer_thefts_between_nodes_and_hardly_a_longer_makespan() {
    const SEEDS: u64 = 4;
    println!("means of a loop: by size alone -> near ones preferred");
    println!("machine  items a worker  costs           between nodes    all thefts   makespan in µs");
    let mut bad = Vec::new();
    for machine in [SimMachine::two_nodes("2 x 36", 72, 2), SimMachine::two_nodes("8 x 8", 64, 8)] {
        let workers = machine.homes.len() as u64;
        let nowhere = vec![None; machine.homes.len()];
        for (items, mean) in [(70, 10_000), (300, 1_000)] {
            let size = Size { workers, items: items * workers, each: items * mean };
            for (name, costs) in SHAPES {
                let near = Setting::new(&machine);
                let far = Setting { known: &nowhere, ..near };
                let [far, near] = [far, near].map(|setting| first_calls(&setting, costs, size, SEEDS));
                let row = format!("{:7} {items:4} of {:2} µs    {name:15}", machine.name, mean / 1000);
                println!(
                    "{row} {:5} -> {:<5} {:5} -> {:<5} {:6.1} -> {:6.1}, {:+.2} %",
                    far.between_nodes / SEEDS,
                    near.between_nodes / SEEDS,
                    far.thefts / SEEDS,
                    near.thefts / SEEDS,
                    far.makespan as f64 / SEEDS as f64 / 1e3,
                    near.makespan as f64 / SEEDS as f64 / 1e3,
                    (near.makespan as f64 / far.makespan as f64 - 1.0) * 100.0,
                );
                if near.between_nodes >= far.between_nodes || near.makespan * 100 > far.makespan * 102 {
                    bad.push(row);
                }
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Makespans of first calls of 1 ms per worker with awake helpers, as multiples of the lower
/// bound. The makespans are computed for thieves that choose the largest victim, and for thieves
/// that choose partly at random.
///
/// In a hot run on 64 workers, all workers without hot items run out of items at the same moment,
/// and few ranges have many items left. If thefts need expensive fences, as at the start of loops
/// of cheap items, choosing the largest victim causes more thefts. There are few largest ranges, so
/// several thieves choose the same range, get fewer items than they have seen, and steal again.
/// (Workers that came 150 ns after one another, through one lock, were done at different moments:
/// then the figure of 64 workers was at most 1.12.) On 128 workers, thieves find the hot items only
/// when three quarters of the loop are over. Each hot item takes half of a loop, so with every
/// rule the makespan is at least 1.25 times the lower bound.
#[test]
fn many_thieves_look_for_many_victims() {
    for (name, workers, items, bar) in [
        ("hot run", 64, 100_000, 1.20),
        ("hot run", 128, 100_000, 1.35),
        ("growing", 64, 500_000, 1.12),
        ("growing", 128, 500_000, 1.15),
        ("dear node", 128, 500_000, 1.25),
    ] {
        let machine = SimMachine::chiplets(workers);
        let size = Size { workers: workers as u64, items, each: 1_000_000 };
        let setting = Setting::new(&machine);
        let rules = [setting.the_largest(), setting];
        let [largest, any] = rules.map(|of| first_calls(&of, shape(name), size, 2).ratio());
        println!("{name:10} {workers:4} {largest:.3} -> {any:.3}");
        assert!(any < bar && any < largest + 0.01, "{name}, {workers} workers: {largest:.3} -> {any:.3}");
    }
}

/// A hot run: 64 adjacent items have half of the costs. Each hot item costs half as much as the
/// mean work of a worker. A boundary among these items is up to one item from its best index. If
/// each boundary is chosen independently, one worker may get three hot items. No other worker can
/// help with the third hot item: when this item is claimed, all other workers are done.
/// Microseconds, such as the expected delays of workers, decide which worker gets three items, if
/// any. So the policy keeps good boundaries. Without this rule, good and bad calls alternate for
/// ever.
#[test]
fn good_boundaries_stay_where_items_take_long() {
    const CALLS: usize = 10;
    let machine = SimMachine::chiplets(64);
    let size = Size { workers: 64, items: 64_000, each: 1_000_000 };
    for seed in 0..4 {
        let items = SimItems::new(shape("hot run")(&mut Random(seed << 32), size));
        let mut learnt = Learnt::nothing(64, seed);
        let ratios = [(); CALLS].map(|()| learnt.call(&Setting::new(&machine), &items).ratio());
        let mean = ratios[1..].iter().sum::<f64>() / (CALLS - 1) as f64;
        assert!(mean < 1.1 && ratios[CALLS - 1] < 1.05, "{ratios:.2?}");
    }
}

/// Up to 31 workers choose the largest victim.
#[test]
fn few_thieves_do_as_ever() {
    for workers in [2, 8, 16, 31] {
        let machine = SimMachine::chiplets(workers);
        let size = Size { workers: workers as u64, items: 10_000, each: 1_000_000 };
        for (name, costs) in SHAPES {
            let setting = Setting::new(&machine);
            let [largest, any] = [setting.the_largest(), setting].map(|of| first_calls(&of, costs, size, 1));
            assert_eq!(largest, any, "{name}, {workers} workers");
        }
    }
}

/// Prints makespans as multiples of the lower bound, and the thefts, fences and vain scans per
/// worker. The rows are for a first call and for the next call over the same items, with thieves
/// that choose the largest victim and with thieves that choose partly at random. `cargo test
/// --release --lib simulator::table -- --ignored --nocapture`
#[test]
#[ignore = "a table for people"]
fn table() {
    const SEEDS: u64 = 8;
    for items in [100_000, 1_000_000] {
        println!("loops of 1 ms a worker, {items} items: the largest | by chance || next call");
        for ((name, costs), workers) in
            SHAPES.into_iter().flat_map(|shape| [8, 16, 32, 64, 128, 256].map(|workers| (shape, workers)))
        {
            let machine = SimMachine::chiplets(workers);
            let size = Size { workers: workers as u64, items, each: 1_000_000 };
            let setting = Setting::new(&machine);
            let mut sums = [[SimOutcome::default(); 2]; 2];
            for seed in 0..SEEDS {
                let items = SimItems::new(costs(&mut Random(seed << 32), size));
                for (rule, of) in [setting.the_largest(), setting].iter().enumerate() {
                    let mut learnt = Learnt::nothing(workers, seed);
                    for sums in &mut sums {
                        sums[rule].add(learnt.call(of, &items));
                    }
                }
            }
            let cells = sums.map(|sums| {
                sums.map(|sum| {
                    let [thefts, fences, vain] = [sum.thefts, sum.fences, sum.vain]
                        .map(|sum| sum as f64 / (SEEDS * workers as u64) as f64);
                    format!("{:.3} ({thefts:.1} {fences:.1} {vain:.1})", sum.ratio())
                })
                .join(" | ")
            });
            println!("{name:15} {workers:4} {}", cells.join(" || "));
        }
    }
}

/// The caller wakes two sleeping helpers and begins. Each worker wakes further ones. Prints the
/// mean makespans, in µs, of loops over noise with known costs: with the policy's number of
/// helpers, with at most `sqrt(1.5 * work / wake)` helpers, and with the best number of workers.
/// `cargo test -p rangesteal --release --lib simulator::helpers -- --ignored --nocapture`
#[test]
#[ignore = "a table for people"]
fn helpers_that_cost_more_than_they_save() {
    const SEEDS: u64 = 4;
    const CALLS: usize = 8;
    /// A loop gets one helper for this much work, in nanoseconds.
    const WORTH_SHARING: u64 = 26_000;
    println!("pool  wake   work: workers now, µs | at most, µs | best, µs");
    for (pool, wake) in [64, 128, 256].into_iter().flat_map(|pool| [2_000, 8_000].map(|wake| (pool, wake))) {
        for work in [1_000_000, 10_000_000, 1_000_000 * pool, 10_000_000 * pool] {
            let micros = |workers: u64| {
                let machine = SimMachine::chiplets(workers as usize);
                let prices = SimPrices { wake, ..PRICES };
                let setting = Setting { prices, awake: false, ..Setting::new(&machine) };
                let makespan = |seed| {
                    let size = Size { workers: 1, items: 50_000, each: work };
                    let items = SimItems::new(shape("noise")(&mut Random(seed << 32), size));
                    let mut learnt = Learnt::nothing(workers as usize, seed);
                    (0..CALLS).map(|_| learnt.call(&setting, &items).makespan).last().unwrap_or(0)
                };
                (0..SEEDS).map(makespan).sum::<u64>() / SEEDS / 1_000
            };
            let now = (work / WORTH_SHARING).min(pool - 1) + 1;
            let most = (now - 1).min((1.5 * work as f64 / wake as f64).sqrt() as u64) + 1;
            let grid = (1..=16).map(|step| pool * step / 16);
            let (best, least) = grid
                .map(|workers| (workers, micros(workers)))
                .min_by_key(|&(_, micros)| micros)
                .expect("some");
            println!(
                "{pool:4} {wake:5} {work:>11}: {now:3}, {:5} | {most:3}, {:5} | {best:3}, {least:5}",
                micros(now),
                micros(most),
            );
        }
    }
}

/// The prices of the virtual machine of two CPUs on which some prices were measured. Each price was
/// measured alone, and not in loops.
const SMALL_VM: SimPrices = SimPrices {
    wake: 8_000,
    latency: 5_400,
    view: [100; 3],
    theft: [500; 3],
    fence: 8_000,
    fence_each: 0,
    tax: 1_000,
    ..PRICES
};

/// Prints the median times, in µs, of loops of two workers on this machine and in the simulator
/// with the prices of `SMALL_VM`. To be run on a machine with two free CPUs: `cargo test --release
/// --lib simulator::two -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn two_workers_here_and_in_the_simulator() {
    const REPEATS: u64 = 31;
    /// The number of calls after which the learnt values are stable.
    const SETTLED: u64 = 8;
    fn spin(steps: u64) -> u64 {
        (0..steps).fold(steps | 1, |x, _| black_box(x.wrapping_mul(0xBF58_476D_1CE4_E5B9)))
    }
    let timed = |work: &dyn Fn() -> Option<u64>| {
        let begin = Instant::now();
        black_box(work());
        begin.elapsed().as_nanos() as u64
    };
    let median = |mut times: Vec<u64>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let pool = Pool::builder().num_threads(2).build().expect("a pool");
    let machine = SimMachine { name: "small", homes: vec![None; 2] };
    let setting = Setting { prices: SMALL_VM, awake: false, ..Setting::new(&machine) };
    println!("each µs  costs             alone | a first call: here, predicted | settled: here, predicted");
    let mut seen = Vec::new(); // kept, so that no address comes back and no loop is known
    for (each, items) in
        [(100_000, 200), (300_000, 600), (1_000_000, 2_000), (1_000_000, 10_000), (10_000_000, 2_000)]
    {
        for name in ["noise", "growing", "hot run", "first heavy"] {
            let mut steps = shape(name)(&mut Random(7), Size { workers: 2, items, each });
            if name == "first heavy" {
                // The caller of an unknown loop folds the first item alone, which the simulator
                // leaves out.
                steps.rotate_right(items as usize / 3);
            }
            let sum = |steps: &[u64]| pool.map_reduce(steps, |&steps| spin(steps), u64::wrapping_add);
            let fresh: Vec<Vec<u64>> = (0..REPEATS).map(|_| steps.clone()).collect();
            let alone = || timed(&|| steps.iter().map(|&steps| spin(steps)).reduce(u64::wrapping_add));
            let alone = median((0..REPEATS).map(|_| alone()).collect());
            seen.extend(fresh);
            let fresh = &seen[seen.len() - REPEATS as usize..];
            let first = median(fresh.iter().map(|steps| timed(&|| sum(steps))).collect());
            let settled = (0..SETTLED + REPEATS).map(|_| timed(&|| sum(&steps))).skip(SETTLED as usize);
            let settled = median(settled.collect());
            let a_step = alone as f64 / steps.iter().sum::<u64>() as f64;
            let items = SimItems::new(steps.iter().map(|&steps| (steps as f64 * a_step) as u64));
            let predicted = |calls: u64| {
                let last = |seed| {
                    let mut learnt = Learnt::nothing(2, seed);
                    (0..calls).map(|_| learnt.call(&setting, &items).makespan).last().unwrap_or(0)
                };
                median((0..REPEATS).map(last).collect())
            };
            let row = |here: u64, predicted: u64| {
                let ratio = here as f64 / predicted as f64;
                format!("{:6}, {:6} ({ratio:.3})", here / 1_000, predicted / 1_000)
            };
            println!(
                "{:6} {:6} {name:12} {:6} | {} | {}",
                each / 1_000,
                items.len(),
                alone / 1_000,
                row(first, predicted(1)),
                row(settled, predicted(SETTLED + REPEATS / 2)),
            );
        }
    }
}
