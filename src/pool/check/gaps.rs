//! Simulated sequences of loops with serial work between them. The simulations show the cost of
//! helpers that poll between loops, and the cost of helpers that sleep.
//!
//! The policy is the shipped one: this module calls `Case::launch`, `Gap`, `Rhythm`, `Memory` and
//! `Prices` as an executor does. The costs of helpers are the table of `simulator`. Time is
//! computed; no thread is started.
//!
//! Simplifications: within a loop, work is spread evenly at no cost; a caller that waits for the
//! last helper does not sleep, but polls.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{mem, ops::Range, ptr, time::Duration};

use super::simulator::{PRICES, Random, ring};
use crate::pool::policy::{
    alone_or_shared::{TRIAL_PARTS, time_for},
    launch::{Case, Draw, Gap, Launch},
    memory::Memory,
    prices::Prices,
    rhythm::{LoopSeen, Rhythm},
    site::{GOLDEN, Loop, LoopKind, Site, Slice, scatter},
};

/// In nanoseconds of work.
const ITEM: u64 = 100;

/// A helper polls from `since` to `until`, then it sleeps. Before `since` the helper is waking up:
/// it was woken for a loop that is over.
#[derive(Clone, Copy, Default)]
struct GapHelper {
    since: u64,
    until: u64,
}

/// The arrival of a helper at a loop.
struct Coming {
    me: usize,
    /// The time when the helper begins.
    at: u64,
    /// The time from which the helper's CPU time counts.
    counts: u64,
}

/// The cost of loops, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// The time that the loops took, minus the time of evenly spread work.
    lost: u64,
    /// The CPU time of all threads, minus the work.
    cpu: u64,
    /// The CPU time in which helpers polled between loops. `cpu` contains it.
    polled: u64,
}

/// `Gaps` with computed times, in nanoseconds.
#[derive(Default)]
pub(super) struct SimGaps {
    /// How long helpers poll, if the user has set that.
    spin: Option<Duration>,
    rhythm: Rhythm,
    began: u64,
    ended: u64,
}

impl SimGaps {
    /// Like `Gaps::gap`.
    pub(super) fn gap(&mut self, now: u64, prices: &Prices) -> Gap {
        let began = mem::replace(&mut self.began, now);
        let since = |then| Duration::from_nanos(now - then);
        self.rhythm = self.rhythm.before_call();
        Gap {
            since_begin: since(began),
            since_end: (self.ended > began).then(|| since(self.ended)),
            patience: self.spin.unwrap_or_else(|| prices.worth_staying_awake()),
            may_poll: self.spin.is_some() || self.rhythm.may_poll(),
        }
    }

    /// Like `Gaps::next`.
    pub(super) fn next(&mut self, seen: LoopSeen, prices: &Prices) -> u64 {
        self.rhythm = self.rhythm.after_loop(seen);
        let learnt = if self.rhythm.polls { prices.worth_staying_awake() } else { Duration::ZERO };
        self.spin.unwrap_or(learnt).as_nanos() as u64
    }

    /// Like `Gaps::end`.
    pub(super) fn end(&mut self, now: u64) {
        self.ended = now;
    }
}

/// The helpers and the policy of a pool. Times are in nanoseconds.
struct Team {
    helpers: Vec<GapHelper>,
    memory: Memory,
    prices: Prices,
    gaps: SimGaps,
    drawn: u64,
    random: Random,
    now: u64,
    cost: Cost,
}

impl Team {
    fn new(workers: usize, spin: Option<Duration>) -> Self {
        Self {
            helpers: vec![GapHelper::default(); workers - 1],
            memory: Memory::new(),
            prices: Prices::new(),
            gaps: SimGaps { spin, ..SimGaps::default() },
            drawn: 0,
            random: Random(0),
            now: 0,
            cost: Cost::default(),
        }
    }

    /// Runs a loop of `work` ns that begins after `gap` ns, as an executor does.
    fn call(&mut self, GapCall { gap, work }: GapCall) {
        self.now += gap;
        let begin = self.now;
        let slice = Slice { address: 0x1000, len: (work / ITEM) as usize };
        let this = Loop { site: Site::new(ptr::without_provenance(work as usize)), slice };
        let is_awake = |helper: &&GapHelper| (helper.since..helper.until).contains(&self.now);
        let awake = is_awake(&&self.helpers[0]);
        let polling = self.helpers.iter().filter(is_awake).count();
        let gap = self.gaps.gap(self.now, &self.prices);
        self.drawn = self.drawn.wrapping_add(GOLDEN);
        let case = Case {
            memory: &self.memory,
            prices: &self.prices,
            this,
            kind: LoopKind::THROUGH,
            grows: false,
            helpers: self.helpers.len(),
            awake,
            polling,
            is_waking: self
                .helpers
                .iter()
                .any(|helper| self.now < helper.since && helper.since < helper.until),
            is_timed: false,
            gap: Some(gap),
            draw: Draw(self.drawn),
            rounds: None,
        };
        let (launch, all) = (case.launch(), self.helpers.len());
        let (helpers, alone) = match launch {
            launch if launch.is_plain() => (0, work),
            Launch::Alone { limit, .. } => (all, work.min(limit.as_nanos() as u64)),
            Launch::Trial { shared } => {
                let done = |part: u16| work * u64::from(part) / u64::from(TRIAL_PARTS);
                let is_behind =
                    |part: &u16| u128::from(done(*part)) > time_for(*part, TRIAL_PARTS, shared).as_nanos();
                (all, (1..=TRIAL_PARTS).find(is_behind).map_or(work, done))
            }
            Launch::Shared { helpers } => (helpers, 0),
            Launch::Explored => (1, 0),
        };
        self.now += alone;
        self.cost.cpu += alone;
        if alone < work {
            let seen = LoopSeen {
                awake,
                is_gap_short: gap.is_short(self.memory.expected(this)),
                is_crowded: false,
                explores: launch.explores(&self.prices, awake),
            };
            let patience = self.gaps.next(seen, &self.prices);
            let prices_count = launch != Launch::Explored || self.prices.explored(awake);
            self.share(helpers, work - alone, patience, (awake, prices_count));
            self.gaps.end(self.now);
            let took = (self.now - begin) as f32;
            if launch.is_trial() {
                self.memory.learn_alone(&self.prices, this, true, f32::INFINITY);
                self.memory.learn(this, LoopKind::THROUGH, slice.len, work as f32);
            } else if launch != Launch::Explored {
                let kind = LoopKind::THROUGH;
                self.memory.learn_shared(&self.prices, this, kind, (took, awake), slice.len, work as f32);
            }
        } else if !launch.is_plain() {
            self.memory.learn(this, LoopKind::THROUGH, slice.len, work as f32);
            self.memory.learn_alone(&self.prices, this, launch.is_trial(), work as f32);
        }
        self.cost.cpu -= work;
        self.cost.lost += (self.now - begin).saturating_sub(work / (all as u64 + 1));
    }

    /// Publishes `work` for this number of helpers, awake ones first. They poll for `patience`
    /// afterwards. The policy learns the cost of the help.
    fn share(&mut self, helpers: usize, work: u64, patience: u64, (awake, prices_count): (bool, bool)) {
        let begin = self.now;
        let published = begin + PRICES.deal * (helpers as u64 + 1);
        let offered = published + PRICES.offer * helpers as u64;
        let is_awake = |&me: &usize| (self.helpers[me].since..self.helpers[me].until).contains(&published);
        let (polling, others): (Vec<usize>, Vec<usize>) = (0..self.helpers.len()).partition(is_awake);
        for helper in &mut self.helpers {
            let GapHelper { since, until } = *helper;
            self.cost.polled += published.min(until).saturating_sub(since);
            helper.since = since.max(published.min(until)); // its polling is counted
        }
        let see = |me| Coming { me, at: offered + PRICES.notice, counts: published };
        let mut comings: Vec<Coming> = polling.into_iter().take(helpers).map(see).collect();
        let called: Vec<usize> = others.into_iter().take(helpers - comings.len()).collect();
        // A helper that is waking up for an earlier loop is not rung again.
        let (coming, asleep): (Vec<usize>, Vec<usize>) =
            called.into_iter().partition(|me| self.helpers[*me].since > published);
        comings.extend(coming.into_iter().map(|me| {
            let at = self.helpers[me].since;
            Coming { me, at, counts: at }
        }));
        let (own, woken) = ring(&PRICES, asleep.len(), offered, &mut self.random);
        // A context switch is work too.
        comings.extend(asleep.into_iter().zip(woken).map(|(me, woken)| Coming {
            me,
            at: woken.begin,
            counts: woken.came - PRICES.wake,
        }));
        comings.sort_by_key(|coming| (coming.at, scatter(coming.me as u64)));
        let helped = || comings.iter().map(|coming| coming.at);
        let done = done(work, helped().chain([own]).collect());
        let retracted = done.max(own) + PRICES.count;
        let first = helped().next().filter(|first| *first < done);
        let mut last = retracted;
        for &Coming { me, at, counts } in &comings {
            let since = if at < retracted {
                last = last.max(at) + PRICES.count;
                last
            } else {
                at // too late
            };
            self.helpers[me] = GapHelper { since, until: since + patience };
            self.cost.cpu += since - counts;
        }
        self.now = last;
        self.cost.cpu += last - begin;
        let [first, own, length] = [first, Some(own), Some(last)].map(|at| at.map(|at| (at - begin) as f32));
        if prices_count {
            self.prices.learn(awake, helpers, first, own.unwrap_or(0.0), length.unwrap_or(0.0));
        }
    }

    /// Runs `calls`, and returns their cost.
    fn run(&mut self, calls: impl IntoIterator<Item = GapCall>) -> Cost {
        self.cost = Cost::default();
        calls.into_iter().for_each(|call| self.call(call));
        self.cost.cpu += self.cost.polled;
        self.cost
    }
}

/// The time when `work` is done, if threads that begin at these times share it evenly.
pub(super) fn done(work: u64, mut starts: Vec<u64>) -> u64 {
    starts.sort_unstable();
    let (mut sum, mut done) = (work, u64::MAX);
    for (others, start) in (0..).zip(starts) {
        if start >= done {
            break;
        }
        sum += start;
        done = sum.div_ceil(others + 1);
    }
    done
}

/// A loop with `work` ns of work, and the time since the previous loop ended.
#[derive(Clone, Copy)]
struct GapCall {
    gap: u64,
    work: u64,
}

/// The number of calls before the measured calls.
const LEARNING: u64 = 100;
const CALLS: u64 = 300;
const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000 * MICRO;

/// Call number `nth` of a sequence of loops of `work` ns.
type Sequence = fn(nth: u64, work: u64) -> GapCall;

const SEQUENCES: [(&str, Sequence); 12] = [
    ("5 us", |_, work| GapCall { gap: 5 * MICRO, work }),
    ("20 us", |_, work| GapCall { gap: 20 * MICRO, work }),
    ("50 us", |_, work| GapCall { gap: 50 * MICRO, work }),
    ("200 us", |_, work| GapCall { gap: 200 * MICRO, work }),
    ("1 ms", |_, work| GapCall { gap: MILLI, work }),
    ("20 us, 2 ms", |nth, work| GapCall { gap: [20 * MICRO, 2 * MILLI][nth as usize % 2], work }),
    ("growing", |nth, work| GapCall { gap: (1000.0 * 1.02_f64.powf(nth as f64)) as u64, work }),
    ("bursts of 10", |nth, work| GapCall { gap: if nth % 10 == 0 { 2 * MILLI } else { 10 * MICRO }, work }),
    ("random, 20 us", |nth, work| GapCall { gap: random(nth, 20 * MICRO), work }),
    ("random, 50 us", |nth, work| GapCall { gap: random(nth, 50 * MICRO), work }),
    ("stops for 2 s", |nth, work| GapCall {
        gap: if nth == LEARNING + CALLS - 1 { 2_000 * MILLI } else { 10 * MICRO },
        work,
    }),
    ("few, many", |nth, work| GapCall { gap: 10 * MICRO, work: [4 * MICRO, work][nth as usize % 2] }),
];

/// Exponentially distributed.
fn random(nth: u64, mean: u64) -> u64 {
    let unit = (Random(nth << 32).below(1 << 40) + 1) as f64 / (1_u64 << 40) as f64;
    (-unit.ln() * mean as f64) as u64
}

/// How long a helper may poll after a loop: the time of a wake-up. Its caller rings two helpers
/// before it begins to work.
const PRICE: u64 = 2 * PRICES.wake + PRICES.latency * 3 / 2;

/// Prints a row for each sequence, each number of workers and each amount of work (in µs for two
/// workers). A row has three parts: for the policy, for helpers that always poll, and for helpers
/// that always sleep. The columns of each part are, in µs per loop: the lost time, the polling of
/// one helper, and the CPU time of all threads beyond the work. `cargo test -p rangesteal
/// --release --lib gaps -- --ignored --nocapture`
#[test]
#[ignore = "seconds without optimisation: .ci/long runs it"]
fn polling_costs_at_most_about_twice_the_better_of_always_and_never() {
    let us = |sum: u64| sum as f64 / (CALLS * MICRO) as f64;
    for ((name, sequence), workers, each) in SEQUENCES.into_iter().flat_map(|(name, sequence)| {
        let sizes = [2, 4, 16, 64, 128].map(|workers| [10, 40, 300].map(|each| (workers, each)));
        sizes.into_iter().flatten().map(move |(workers, each)| ((name, sequence), workers, each))
    }) {
        let (helpers, work) = (workers as u64 - 1, each * MICRO * workers as u64 / 2);
        let calls = |nth: Range<u64>| nth.map(|nth| sequence(nth, work));
        let [now, spins, sleeps] = [None, Some(Duration::from_secs(9)), Some(Duration::ZERO)].map(|spin| {
            let mut team = Team::new(workers, spin);
            team.run(calls(0..LEARNING));
            team.run(calls(LEARNING..LEARNING + CALLS))
        });
        let row = format!("{name:14} | {workers:4} | {each:4}");
        let cells = [now, spins, sleeps].map(|Cost { lost, polled, cpu }| {
            format!("{:6.1} {:7.1} {:8.1}", us(lost), us(polled / helpers), us(cpu))
        });
        println!("{row} | {}", cells.join("; "));

        let total = |cost: Cost| us(cost.lost + cost.polled / helpers);
        let better = total(spins).min(total(sleeps));
        // Helpers poll for the time of one wake-up; waking many helpers takes longer. If the
        // helpers sleep, a loop that is shorter than a wake-up runs alone, and loses only half of
        // its time. If the helpers poll instead, the polling costs up to one wake-up more, but the
        // loop is faster.
        let twice = if workers > 16 { 2.3 } else { 2.0 } * better + 5.0;
        let bar = if each * MICRO < PRICE { better + PRICE as f64 / MICRO as f64 } else { twice };
        assert!(total(now) <= bar, "{row}: {:.1} of {bar:.1} us", total(now));
        assert!(now.lost as f64 <= 1.15 * sleeps.lost as f64, "{row}: helpers that sleep lose less time");
        assert!(now.polled <= CALLS * helpers * PRICE, "{row}: {:.1} us", us(now.polled));
        // In addition to polling, threads that are awake wait for each other at the count of
        // tokens.
        let cpu = sleeps.cpu + CALLS * (helpers * PRICE + PRICES.count * (helpers + 1).pow(2));
        assert!(now.cpu <= cpu, "{row}: CPU time of {:.1} us", us(now.cpu));
        if name == "5 us" && workers <= 64 {
            let took = |cost: Cost| us(cost.lost) + each as f64 / 2.0;
            assert!(took(now) <= 1.05 * took(spins), "{row}: {:.1} us", took(now));
        }
    }
}

#[test]
fn helpers_poll_once_after_the_last_loop() {
    for workers in [2, 4, 16, 64, 128] {
        let mut team = Team::new(workers, None);
        let (gap, work) = (10 * MICRO, 20 * MICRO * workers as u64);
        assert!(team.run((0..CALLS).map(|_| GapCall { gap, work })).polled > 0);
        let idle = team.run([GapCall { gap: 2_000 * MILLI, work }]);
        assert!((1..=(workers as u64 - 1) * PRICE).contains(&idle.polled), "{workers}: {idle:?}");
    }
}
