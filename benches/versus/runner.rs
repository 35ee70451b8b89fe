//! Runs a loop by several executors, interleaved in one process in an order drawn anew each round, so that whatever disturbs
//! the machine disturbs them all.

use std::{fmt, hint::black_box, num::NonZero, time::Instant};

use nix::sched::CpuSet;
use orx_parallel::BasicPool;
use paralight::prelude::{CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPoolBuilder};
use rangesteal::{Pinning, Pool};

use crate::{
    machine,
    peers::Peer,
    rivals::{Chili, Foreign, Halves, Plain, Rival},
    work::work,
};

/// Workers of the pools that have more workers than the machine has CPUs.
pub(crate) const MANY: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Who {
    Plain,
    Rangesteal,
    Rayon,
    Paralight,
    Chili,
    Orx,
    #[cfg_attr(not(fork_union), allow(dead_code, reason = "not built"))]
    ForkUnion,
    OpenMp,
    Tbb,
    /// A static split in two by rayon.
    Halves,
    /// rangesteal that spins before it parks.
    Spinning,
    /// rangesteal without pinning.
    Unpinned,
    /// rangesteal with [`MANY`] workers.
    Many,
    /// rayon with [`MANY`] workers.
    ManyRayon,
}

/// A loop, for any executor. Its result is what all must agree on; `None` from those who have no such loop.
pub(crate) trait Loop {
    type Output: PartialEq + fmt::Debug;

    fn run(&self, rival: &mut impl Rival) -> Option<Self::Output>;
}

/// How a loop is called in one turn.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) calls: u32,
    /// Links of serial work before each call; not part of what is measured.
    pub(crate) gap: u64,
    /// A long loop: a tenth of the rounds, and no call to warm up.
    pub(crate) long: bool,
}

impl Pace {
    pub(crate) const ONCE: Self = Self::calls(1);
    pub(crate) const LONG: Self = Self { long: true, ..Self::ONCE };

    pub(crate) const fn calls(calls: u32) -> Self {
        Self { calls, gap: 0, long: false }
    }

    /// The turn of one executor whose threads are yet to start, on `cpus`.
    fn first_turn<L: Loop, R: Rival>(
        self,
        lap: &L,
        cpus: &CpuSet,
        start: impl FnOnce() -> R,
    ) -> Option<(L::Output, Turn)> {
        let there = machine::Freed::to(cpus);
        let mut rival = start();
        black_box(lap.run(&mut rival)?); // OpenMP starts its threads when they are needed
        drop(there);
        self.turn(lap, rival)
    }

    /// The turn of one executor.
    fn turn<L: Loop>(self, lap: &L, mut rival: impl Rival) -> Option<(L::Output, Turn)> {
        if !self.long {
            black_box(lap.run(&mut rival)?);
        }
        let (switches, elsewhere) = (machine::switches(), machine::cpu_nanos_elsewhere());
        let (here, begin) = (machine::thread_cpu_nanos(), Instant::now());
        let (mut result, mut nanos) = (None, 0.0);
        if self.gap == 0 {
            for _ in 0..self.calls {
                result = black_box(lap.run(&mut rival));
            }
            nanos = nanos_since(begin);
        } else {
            for _ in 0..self.calls {
                black_box(work(black_box(self.gap)));
                let begin = Instant::now();
                result = black_box(lap.run(&mut rival));
                nanos += nanos_since(begin);
            }
        }
        let between = nanos_since(begin) - nanos; // serial work: as much CPU time
        let here = machine::thread_cpu_nanos() - here - between;
        let cpu = here + machine::cpu_nanos_elsewhere() - elsewhere;
        let switches = (machine::switches() - switches) as f64;
        let calls = f64::from(self.calls);
        Some((result?, Turn { nanos: nanos / calls, cpu: cpu / calls, switches: switches / calls }))
    }
}

fn nanos_since(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9
}

/// What one turn took, per call.
#[derive(Clone, Copy)]
struct Turn {
    nanos: f64,
    cpu: f64,
    switches: f64,
}

/// What all turns took: a list for every entrant, in the order of the rounds. The first entrant is the reference.
pub(crate) struct Race {
    entrants: Vec<(Who, Vec<Turn>)>,
}

impl Race {
    /// Those who have such a loop, without the reference.
    pub(crate) fn others(&self) -> impl Iterator<Item = Who> {
        self.entrants.iter().skip(1).filter(|(_, turns)| !turns.is_empty()).map(|(who, _)| *who)
    }

    fn turns(&self, who: Who) -> &[Turn] {
        self.entrants.iter().find(|(entrant, _)| *entrant == who).map_or(&[], |(_, turns)| turns)
    }

    fn reference(&self) -> &[Turn] {
        &self.entrants[0].1
    }

    /// Nanoseconds of the reference: median.
    pub(crate) fn nanos(&self) -> f64 {
        median(self.reference().iter().map(|turn| turn.nanos))
    }

    /// Time relative to the reference: median of the rounds' ratios, and the ratio of the minima.
    pub(crate) fn ratio(&self, who: Who) -> (f64, f64) {
        let pairs = self.turns(who).iter().zip(self.reference());
        let (ours, theirs) = (least(self.turns(who)), least(self.reference()));
        (median(pairs.map(|(turn, plain)| turn.nanos / plain.nanos)), ours / theirs)
    }

    /// Nanoseconds more than the reference: median of the rounds' differences, and the difference of the minima.
    pub(crate) fn excess(&self, who: Who) -> (f64, f64) {
        let pairs = self.turns(who).iter().zip(self.reference());
        let (ours, theirs) = (least(self.turns(who)), least(self.reference()));
        (median(pairs.map(|(turn, plain)| turn.nanos - plain.nanos)), ours - theirs)
    }

    /// CPU time relative to the reference's: ratio of the means.
    pub(crate) fn cpu(&self, who: Who) -> f64 {
        mean(self.turns(who), |turn| turn.cpu) / mean(self.reference(), |turn| turn.cpu)
    }

    /// Nanoseconds of CPU time a call more than the reference's: of means.
    pub(crate) fn cpu_excess(&self, who: Who) -> f64 {
        mean(self.turns(who), |turn| turn.cpu) - mean(self.reference(), |turn| turn.cpu)
    }

    /// Context switches a call: mean.
    pub(crate) fn switches(&self, who: Who) -> f64 {
        mean(self.turns(who), |turn| turn.switches)
    }
}

fn mean(turns: &[Turn], figure: impl Fn(&Turn) -> f64) -> f64 {
    turns.iter().map(figure).sum::<f64>() / turns.len() as f64
}

fn least(turns: &[Turn]) -> f64 {
    turns.iter().map(|turn| turn.nanos).fold(f64::INFINITY, f64::min)
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The executors.
pub(crate) struct Runner {
    pub(crate) rounds: usize,
    pub(crate) threads: usize,
    /// The CPUs of this process before any thread was pinned.
    pub(crate) mask: CpuSet,
    rayon: rayon::ThreadPool,
    many_rayon: rayon::ThreadPool,
    paralight: paralight::prelude::ThreadPool,
    chili: Chili,
    orx: BasicPool,
    pub(crate) openmp: Option<Peer>,
    pub(crate) tbb: Option<Peer>,
    many: Pool,
    unpinned: Pool,
    spinning: Pool,
}

impl Runner {
    /// To be called before any pool has pinned this thread: threads inherit the mask of the one that starts them.
    pub(crate) fn new(rounds: usize, threads: usize) -> Self {
        let rayon = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of rayon's")
        };
        let paralight = ThreadPoolBuilder {
            num_threads: ThreadCount::Count(NonZero::new(threads).expect("a thread")),
            range_strategy: RangeStrategy::WorkStealing,
            cpu_pinning: CpuPinningPolicy::No,
        };
        Self {
            rounds,
            threads,
            mask: machine::mask(),
            rayon: rayon(threads),
            many_rayon: rayon(MANY),
            paralight: paralight.build(),
            chili: Chili::new(threads),
            orx: orx_parallel::Pool::basic(threads),
            openmp: Peer::load("OpenMP", &["-DOPENMP", "-fopenmp"]),
            tbb: Peer::load("oneTBB", &["-ltbb"]),
            many: Pool::builder().num_threads(MANY).build().expect("a pool"),
            unpinned: Pool::builder().num_threads(threads).pinning(Pinning::Off).build().expect("a pool"),
            spinning: spinning_pool(threads),
        }
    }

    /// The columns of the table.
    pub(crate) fn columns(&self) -> Vec<Who> {
        let mut columns = vec![Who::Rangesteal, Who::Rayon, Who::Paralight, Who::Chili, Who::Orx];
        #[cfg(fork_union)]
        columns.push(Who::ForkUnion);
        columns.extend(self.openmp.is_some().then_some(Who::OpenMp));
        columns.extend(self.tbb.is_some().then_some(Who::Tbb));
        columns
    }

    /// Runs `lap` by all entrants, and checks that they agree.
    pub(crate) fn race<L: Loop>(&mut self, pool: &Pool, entrants: &[Who], pace: Pace, lap: &L) -> Race {
        let mut race = Race { entrants: entrants.iter().map(|who| (*who, Vec::new())).collect() };
        let mut agreed = None;
        let mut order: Vec<usize> = (0..entrants.len()).collect();
        let mut random = 1u64;
        let (warm_up, rounds) =
            if pace.long { (1, self.rounds.div_ceil(10)) } else { (self.rounds.clamp(1, 3), self.rounds) };
        for round in 0..warm_up + rounds {
            for i in (1..order.len()).rev() {
                // Knuth's MMIX generator draws the order (The Art of Computer Programming 2, section 3.3.4).
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(i, (random >> 33) as usize % (i + 1));
            }
            for &which in &order {
                let (who, turns) = &mut race.entrants[which];
                let Some((result, turn)) = self.turn(pool, *who, pace, lap) else { continue };
                match &agreed {
                    None => agreed = Some(result),
                    Some(agreed) => assert_eq!(result, *agreed, "{who:?} disagrees"),
                }
                if round >= warm_up {
                    turns.push(turn);
                }
            }
        }
        race
    }

    /// Where the threads of a spinning pool start. Next to this thread they would share its CPU, both spinning, until the system
    /// moves one of them, some milliseconds later.
    fn elsewhere(&self) -> CpuSet {
        let (all, mut others) = (machine::cpus(&self.mask), self.mask);
        for here in machine::cpus(&machine::mask()) {
            others.unset(here).expect("a CPU");
        }
        let room = self.threads <= all.len() && !machine::cpus(&others).is_empty();
        if room { others } else { self.mask }
    }

    /// A turn leaves nothing behind that would disturb the next: threads of `fork_union` and OpenMP spin between loops for
    /// milliseconds or for ever, so they are started right before the turn, untimed, and end with it; the others may look for
    /// work for a while, which is waited for. That is why each turn begins with an untimed call.
    fn turn<L: Loop>(&mut self, pool: &Pool, who: Who, pace: Pace, lap: &L) -> Option<(L::Output, Turn)> {
        // The pool has pinned this thread. To the others that would be a handicap, and threads that they start inherit it.
        // Where it takes part in spinning, the CPU of its own is as good for it as for us.
        let pinned = matches!(
            who,
            Who::Plain | Who::Rangesteal | Who::Spinning | Who::Many | Who::ForkUnion | Who::OpenMp
        );
        let _freed = (!pinned).then(|| machine::Freed::to(&self.mask));
        let threads = self.threads;
        let turn = match who {
            Who::Plain => pace.turn(lap, Plain),
            Who::Rangesteal => pace.turn(lap, pool),
            Who::Rayon => pace.turn(lap, &self.rayon),
            Who::Paralight => pace.turn(lap, &mut self.paralight),
            Who::Chili => pace.turn(lap, &mut self.chili),
            Who::Orx => pace.turn(lap, &self.orx),
            #[cfg(fork_union)]
            Who::ForkUnion => pace.first_turn(lap, &self.elsewhere(), || {
                fork_union::ThreadPool::try_spawn(threads).expect("a pool")
            }),
            #[cfg(not(fork_union))]
            Who::ForkUnion => None,
            Who::OpenMp => self
                .openmp
                .as_ref()
                .and_then(|peer| pace.first_turn(lap, &self.elsewhere(), || Foreign { peer, threads })),
            Who::Tbb => self.tbb.as_ref().and_then(|peer| pace.turn(lap, Foreign { peer, threads })),
            Who::Halves => pace.turn(lap, Halves(&self.rayon)),
            Who::Spinning => pace.turn(lap, &self.spinning),
            Who::Unpinned => pace.turn(lap, &self.unpinned),
            Who::Many => pace.turn(lap, &self.many),
            Who::ManyRayon => pace.turn(lap, &self.many_rayon),
        };
        machine::settle();
        turn
    }
}

/// A pool that looks for the next loop for a while before it sleeps.
fn spinning_pool(threads: usize) -> Pool {
    // TODO: .spin_before_park(Duration::from_micros(50)), once there is such a method
    Pool::builder().num_threads(threads).build().expect("a pool")
}
