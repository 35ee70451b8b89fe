//! The way of a loop to a helper that is awake, and back: when the two items of a loop begin and
//! end, by rangesteal and by rivals.

use std::{
    array,
    hint::{self, black_box},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread::{self, ThreadId},
    time::Instant,
};

use crossbeam_utils::CachePadded;
use rangesteal::Pool;

use crate::{
    foreign::Foreign,
    machine::{self, Freed},
    race::median,
    random::Random,
    rival::{Cost, Rival},
    runner::Runner,
    who::Who,
    work::{links, work},
};

/// Each entrant has a turn in each round, in a new random order.
const ROUNDS: usize = 20;
/// Untimed calls at the start of a turn.
const WARM_UP: usize = 100;
/// In half of these calls the first item is the longer one, in the others the second. The caller
/// mostly runs the first.
const CALLS: usize = 1000;
/// The number of loops without work that are timed together.
const EMPTY: u32 = 100;

/// The times of one call in which each thread had an item, in nanoseconds since the call.
#[derive(Clone, Copy)]
struct Trip {
    /// The beginnings of the items: the caller's, the helper's.
    begin: [f64; 2],
    end: [f64; 2],
    returned: f64,
}

/// Both threads write the begin and the end of their item here, in nanoseconds since `base`.
struct Stamps {
    base: Instant,
    begin: [AtomicU64; 2],
    end: [AtomicU64; 2],
    caller: ThreadId,
    /// The links of the longer item, of the shorter one, and of the work before a call.
    links: [u64; 2],
    between: u64,
}

impl Stamps {
    /// The calling thread is the caller.
    fn new() -> Self {
        let zero = || array::from_fn(|_| AtomicU64::new(0));
        Self {
            base: Instant::now(),
            begin: zero(),
            end: zero(),
            caller: thread::current().id(),
            links: [links(8_000), links(4_000)],
            between: links(3_000),
        }
    }

    fn now(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    /// Returns 1 if the helper runs the item.
    fn item(&self, links: u64) -> u64 {
        let begin = self.now();
        let here = usize::from(thread::current().id() != self.caller);
        self.begin[here].store(begin, Ordering::Relaxed);
        black_box(work(links));
        self.end[here].store(self.now(), Ordering::Relaxed);
        here as u64
    }

    /// `None` unless each thread had an item.
    fn trip(&self, rival: &mut impl Rival, longer: usize) -> Option<Trip> {
        black_box(work(black_box(self.between)));
        let items = [self.links[longer], self.links[1 - longer]];
        let called = self.now();
        let helped = rival.map_sum(black_box(&items), Cost::Even, |&links| self.item(links));
        let returned = self.now();
        let since = |times: &[AtomicU64; 2]| {
            times.each_ref().map(|time| time.load(Ordering::Relaxed) as f64 - called as f64)
        };
        let [begin, end] = [&self.begin, &self.end].map(since);
        (helped == 1).then(|| Trip { begin, end, returned: (returned - called) as f64 })
    }
}

/// The times of one entrant.
#[derive(Default)]
pub(crate) struct Trips {
    /// The calls in which the caller's item ended last, and those in which the helper's did.
    by_last: [Vec<Trip>; 2],
    calls: usize,
    /// Loops without work.
    empty: Vec<f64>,
}

/// A figure in nanoseconds: median and minimum.
pub(crate) type Figure = (f64, f64);

fn figure(values: impl Iterator<Item = f64> + Clone) -> Figure {
    (median(values.clone()), values.fold(f64::INFINITY, f64::min))
}

fn less(from: Figure, take: Figure) -> Figure {
    (from.0 - take.0, from.1 - take.1)
}

impl Trips {
    /// One turn. `is_empty_shared` says whether the entrant also shares loops without work.
    fn add(&mut self, mut rival: impl Rival, is_empty_shared: bool) {
        let stamps = Stamps::new();
        for call in 0..WARM_UP + CALLS {
            if let Some(trip) = stamps.trip(&mut rival, call % 2)
                && call >= WARM_UP
            {
                self.by_last[usize::from(trip.end[1] > trip.end[0])].push(trip);
            }
        }
        self.calls += CALLS;
        if is_empty_shared {
            for _ in 0..CALLS as u32 / EMPTY {
                let begin = stamps.now();
                for _ in 0..EMPTY {
                    black_box(rival.map_sum(black_box(&[0; 2]), Cost::Even, |zero| *zero));
                }
                self.empty.push((stamps.now() - begin) as f64 / f64::from(EMPTY));
            }
        }
    }

    /// In how many of a hundred calls each thread had an item.
    pub(crate) fn shared(&self) -> usize {
        100 * (self.by_last[0].len() + self.by_last[1].len()) / self.calls.max(1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_last.iter().any(Vec::is_empty)
    }

    fn of(&self, last: usize, time: impl Fn(&Trip) -> f64 + Clone) -> Figure {
        figure(self.by_last[last].iter().map(time))
    }

    /// From the call to the helper's first item. Includes the decision of the caller before it
    /// publishes.
    pub(crate) fn there(&self) -> Figure {
        self.of(1, |trip| trip.begin[1])
    }

    /// From the end of the helper's last item to the return. Includes what the caller does
    /// afterwards: reducing, learning.
    pub(crate) fn back(&self) -> Figure {
        self.of(1, |trip| trip.returned - trip.end[1])
    }

    /// [`there`](Self::there) without the caller's own part: without the time until the caller
    /// begins its own item, right after it has published.
    pub(crate) fn way_there(&self) -> Figure {
        less(self.there(), self.of(1, |trip| trip.begin[0]))
    }

    /// [`back`](Self::back) without the caller's own part: without the time to the return where
    /// the caller's item ends last, long after the helper has left.
    pub(crate) fn way_back(&self) -> Figure {
        less(self.back(), self.of(0, |trip| trip.returned - trip.end[0]))
    }

    /// A loop without work, by an entrant that shares each loop.
    pub(crate) fn empty(&self) -> Option<Figure> {
        (!self.empty.is_empty()).then(|| figure(self.empty.iter().copied()))
    }
}

/// How long it takes until one of two threads sees a store of the other, in nanoseconds. Nothing
/// can reach a helper sooner on this machine in this minute. Includes a clock reading.
fn one_way(runner: &Runner, delays: &mut Vec<f64>) {
    const PINGS: usize = 500;
    let (sent, seen, base) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
    let (call, answer) = (CachePadded::new(AtomicUsize::new(0)), CachePadded::new(AtomicUsize::new(0)));
    let until = |word: &AtomicUsize, round| {
        while word.load(Ordering::Acquire) != round {
            hint::spin_loop();
        }
    };
    let now = || base.elapsed().as_nanos() as u64;
    thread::scope(|scope| {
        let there = Freed::to(&machine::elsewhere(&runner.mask, 2));
        scope.spawn(|| {
            for round in 1..=PINGS {
                until(&call, round);
                seen.store(now(), Ordering::Relaxed);
                answer.store(round, Ordering::Release);
            }
        });
        drop(there);
        let between = links(3_000);
        delays.extend((1..=PINGS).map(|round| {
            black_box(work(black_box(between))); // the other thread polls meanwhile
            sent.store(now(), Ordering::Relaxed);
            call.store(round, Ordering::Release);
            until(&answer, round);
            seen.load(Ordering::Relaxed) as f64 - sent.load(Ordering::Relaxed) as f64
        }));
    });
}

/// The one-way time alone: median and minimum.
pub(crate) fn mood(runner: &Runner) -> Figure {
    let mut delays = Vec::new();
    (0..4).for_each(|_| one_way(runner, &mut delays));
    figure(delays.iter().copied())
}

/// The trips of all entrants with two threads each, and the one-way time of the same minute. `pool`
/// is a pool whose helper busy-waits.
pub(crate) fn race(pool: &Pool, runner: &Runner) -> (Vec<(Who, Trips)>, Figure) {
    const THREADS: usize = 2;
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("a pool of rayon's");
    let (mut delays, mut random) = (Vec::new(), Random::default());
    let asked = [Who::Rangesteal, Who::Rayon, Who::ForkUnion, Who::OpenMp];
    let present = runner.columns();
    let asked = asked.into_iter().filter(|who| present.contains(who));
    let mut entrants: Vec<(Who, Trips)> = asked.map(|who| (who, Trips::default())).collect();
    let mut order: Vec<usize> = (0..entrants.len()).collect();
    let brief = runner.rounds < 10;
    for _ in 0..if brief { ROUNDS / 5 } else { ROUNDS } {
        one_way(runner, &mut delays);
        random.shuffle(&mut order);
        for &which in &order {
            let (who, trips) = &mut entrants[which];
            match who {
                Who::Rangesteal => trips.add(pool, false),
                // A worker of rayon's calls its loops: a foreign thread would have to be woken at
                // the end of each.
                Who::Rayon => rayon.install(|| trips.add(&rayon, false)),
                #[cfg(fork_union)]
                Who::ForkUnion => {
                    let there = Freed::to(&machine::elsewhere(&runner.mask, THREADS));
                    let team = fork_union::ThreadPool::try_spawn(THREADS).expect("a pool");
                    drop(there);
                    trips.add(team, true);
                }
                Who::OpenMp => {
                    let Some(peer) = &runner.openmp else { continue };
                    let there = Freed::to(&machine::elsewhere(&runner.mask, THREADS));
                    let mut team = Foreign { peer, threads: THREADS };
                    team.map_sum(&[0; 2], Cost::Even, |zero| *zero); // starts its threads
                    drop(there);
                    trips.add(team, true);
                }
                _ => {}
            }
            machine::settle();
        }
    }
    (entrants, figure(delays.iter().copied()))
}
