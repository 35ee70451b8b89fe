//! An endurance test. For each unbalanced loop, the test runs a hundred small loops. Several
//! threads also run nests of loops at the same time. These nests are three levels deep, and have
//! panics and stops. Each loop is compared with the serial loop.
//!
//! `RANGESTEAL_SOAK_SECONDS` sets the duration. The default is a few seconds. A failure prints its
//! seed. `RANGESTEAL_SOAK_SEED` repeats the episode of this seed for the whole duration. In one
//! minute on two cores, an optimised build runs five million small loops, fifty thousand unbalanced
//! loops, and 280 thousand nests.

mod busy;

use std::{
    env,
    future::poll_fn,
    hash::{BuildHasher, RandomState},
    io::{self, Write},
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process,
    sync::{
        LazyLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    task::{Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use rangesteal::{CancelToken, Cancelled, Pinning, Pool, Progress, RunReport};

/// A generator of random numbers from one seed: splitmix64.
struct Random(u64);

fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("less than a usize")
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns a random index below `len`, with probability 1 in `times`.
    fn some(&mut self, len: usize, times: usize) -> Option<usize> {
        (len > 0 && self.one_in(times)).then(|| self.below(len))
    }
}

/// Functions `x -> a x + b`. Their composition is associative, but not commutative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Affine(u64, u64);

impl Affine {
    const NEUTRAL: Self = Self(1, 0);

    fn of(value: u64) -> Self {
        Self(value | 1, value)
    }

    fn then(self, next: Self) -> Self {
        Self(self.0.wrapping_mul(next.0), self.1.wrapping_mul(next.0).wrapping_add(next.1))
    }

    fn of_all(values: impl IntoIterator<Item = u64>) -> Self {
        values.into_iter().map(Self::of).fold(Self::NEUTRAL, Self::then)
    }
}

/// How a loop ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    With(Affine),
    Stopped(usize),
    Panicked(usize),
    Cancelled,
}

/// A loop, and the panics, stops and waits of its items.
#[derive(Debug)]
struct Plan {
    verb: Verb,
    salt: u64,
    len: usize,
    heavy: Range<usize>,
    nanos: u64,
    panics: Option<usize>,
    stops: Option<usize>,
    nests: Option<Nest>,
}

/// A loop inside items of another loop.
#[derive(Debug)]
struct Nest {
    first: usize,
    /// The distance between two items that contain the loop.
    every: usize,
    plan: Box<Plan>,
    /// Whether the inner loop runs on the other pool.
    is_elsewhere: bool,
}

/// The pool on which a loop runs, and a second pool for inner loops. Often both are the same pool.
#[derive(Clone, Copy)]
struct Pools<'p> {
    here: &'p Pool,
    elsewhere: &'p Pool,
}

impl<'p> Pools<'p> {
    fn one(pool: &'p Pool) -> Self {
        Self { here: pool, elsewhere: pool }
    }

    fn swapped(self) -> Self {
        Self { here: self.elsewhere, elsewhere: self.here }
    }
}

/// Whether an inner loop has ended differently from the serial loop. The panic of this check may be
/// lost, since another item may end the outer loop.
static IS_WRONG: AtomicBool = AtomicBool::new(false);

impl Nest {
    /// The loop as an item of another loop.
    fn run(&self, pools: Pools) {
        let end = self.plan.run(if self.is_elsewhere { pools.swapped() } else { pools });
        if !self.plan.is_plain(end) {
            IS_WRONG.store(true, Relaxed);
            panic!("inside, {end:?} is no end of {:?}", self.plan);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    MapReduce,
    FoldReduce,
    Reproducible,
    MapCollect,
    MapInto,
    ForEach,
    With,
    Sort,
    TryMapReduce,
    FindFirst,
    FindAny,
    Cancel,
    Grow,
    Wait,
}

impl Verb {
    const ALL: [Self; 14] = [
        Self::MapReduce,
        Self::FoldReduce,
        Self::Reproducible,
        Self::MapCollect,
        Self::MapInto,
        Self::ForEach,
        Self::With,
        Self::Sort,
        Self::TryMapReduce,
        Self::FindFirst,
        Self::FindAny,
        Self::Cancel,
        Self::Grow,
        Self::Wait,
    ];
}

impl Plan {
    fn new(random: &mut Random, small: bool) -> Self {
        let len = random.below(if small { 100 } else { 2000 });
        let begin = random.below(len + 1);
        let (heavy, nanos) = if small { (0, 0) } else { (random.below(20), 20_000) };
        Self {
            verb: Verb::ALL[random.below(Verb::ALL.len())],
            salt: random.next(),
            len,
            heavy: begin..begin + heavy,
            nanos: random.next() % (nanos + 1),
            panics: random.some(len, 8),
            stops: random.some(len, 4),
            nests: random.some(len, 16).map(|first| Nest {
                first,
                every: len,
                plan: Box::new(Self::leaf(random, 20)),
                is_elsewhere: false,
            }),
        }
    }

    /// A loop without inner loops. Some items may take long.
    fn leaf(random: &mut Random, longest: usize) -> Self {
        let len = random.below(longest + 1);
        let begin = random.below(len + 1);
        Self {
            verb: Verb::ALL[random.below(Verb::ALL.len())],
            salt: random.next(),
            len,
            heavy: begin..begin + random.below(4),
            nanos: random.next() % 10_000,
            panics: random.some(len, 8),
            stops: random.some(len, 4),
            nests: None,
        }
    }

    /// A loop with `depth` levels of inner loops. If an item panics, the panic comes after the
    /// item's inner loop, as if the panic came from the inner loop.
    fn nest(random: &mut Random, depth: usize) -> Self {
        let mut plan = Self::leaf(random, 12);
        if depth > 0 && plan.len > 0 && plan.verb != Verb::Sort {
            let first = random.below(plan.len);
            plan.panics = plan.panics.map(|place| if random.one_in(2) { first } else { place });
            plan.nests = Some(Nest {
                first,
                every: 1 + random.below(4),
                plan: Box::new(Self::nest(random, depth - 1)),
                is_elsewhere: random.one_in(4),
            });
        }
        plan
    }

    fn value(&self, i: usize) -> u64 {
        mixed(self.salt ^ i as u64)
    }

    /// The work of an item.
    fn visit(&self, pools: Pools, i: usize) -> u64 {
        if self.heavy.contains(&i) {
            busy::work(self.nanos);
        }
        if let Some(nest) = &self.nests
            && i >= nest.first
            && (i - nest.first).is_multiple_of(nest.every)
        {
            nest.run(pools);
        }
        if self.panics == Some(i) {
            resume_unwind(Box::new(i)); // without a message of the panic hook
        }
        self.value(i)
    }

    fn try_visit(&self, pools: Pools, i: usize) -> Result<u64, usize> {
        let value = self.visit(pools, i);
        if self.stops == Some(i) { Err(i) } else { Ok(value) }
    }

    fn run(&self, pools: Pools) -> End {
        match catch_unwind(AssertUnwindSafe(|| self.run_unwinding(pools))) {
            Ok(end) => end,
            Err(payload) => match payload.downcast() {
                Ok(place) => End::Panicked(*place),
                Err(other) => resume_unwind(other),
            },
        }
    }

    fn run_unwinding(&self, pools: Pools) -> End {
        let pool = pools.here;
        let (indices, visit) = (0..self.len, |i| self.visit(pools, i));
        let affine = |i| Affine::of(visit(i));
        let fold = |acc: Affine, i| acc.then(affine(i));
        let found = |place: Option<usize>| {
            place.map_or_else(|| End::With(Affine::of_all(self.plain_values())), End::Stopped)
        };
        let stops = |i| self.try_visit(pools, i).is_err();
        match self.verb {
            Verb::MapReduce => {
                End::With(pool.on(indices).map(affine).reduce(Affine::then).unwrap_or(Affine::NEUTRAL))
            }
            Verb::FoldReduce => End::With(pool.on(indices).fold(|| Affine::NEUTRAL, fold, Affine::then)),
            Verb::MapCollect => End::With(Affine::of_all(pool.on(indices).map(visit).collect::<Vec<_>>())),
            Verb::ForEach => {
                let mut values = vec![0; self.len];
                pool.on(&mut values).enumerate().for_each(|(i, value)| *value = visit(i));
                End::With(Affine::of_all(values))
            }
            Verb::TryMapReduce => {
                let tried = |i| self.try_visit(pools, i).map(Affine::of);
                let ended = pool.on(indices).map(tried).try_reduce(Affine::then);
                ended.map_or_else(End::Stopped, |reduced| End::With(reduced.unwrap_or(Affine::NEUTRAL)))
            }
            Verb::FindFirst => found(pool.on(indices).find(|i| stops(*i))),
            Verb::FindAny => found(pool.on(indices).find_any(|i| stops(*i))),
            Verb::Reproducible => {
                let on = pool.on(indices).reproducible();
                End::With(on.fold(|| Affine::NEUTRAL, fold, Affine::then))
            }
            Verb::With => {
                let (progress, mut report) = (Progress::new(), RunReport::default());
                let on = pool.on(indices).with(|_| 0).grain(7).progress(&progress).report(&mut report);
                let values: Vec<_> = on
                    .map(|(count, i)| {
                        *count += 1;
                        (visit(i), *count)
                    })
                    .collect();
                assert_eq!((progress.done(), report.items()), (self.len, self.len));
                assert!(values.iter().all(|(_, count)| (1..=self.len).contains(count)));
                End::With(Affine::of_all(values.into_iter().map(|(value, _)| value)))
            }
            Verb::MapInto => {
                let mut values = vec![0; self.len];
                let on = pool.on(indices).threads(2).map(visit).zip(&mut values);
                on.for_each(|(made, place)| *place = made);
                End::With(Affine::of_all(values))
            }
            Verb::Cancel => {
                let token = CancelToken::new();
                let cancels = |acc: Affine, i| {
                    if self.stops == Some(i) {
                        token.cancel();
                    }
                    fold(acc, i)
                };
                let on = pool.on(indices).cancel(&token);
                let ended = on.fold(|| Affine::NEUTRAL, cancels, Affine::then);
                ended.map_or_else(|Cancelled| End::Cancelled, End::With)
            }
            Verb::Grow => {
                // The indices form a tree. Each node adds up to three other nodes.
                let roots = pool.grow(indices.take(1));
                let folded = roots.try_fold_unordered(
                    Vec::new,
                    |mut seen, i, feed| {
                        feed.extend((3 * i + 1..3 * i + 4).filter(|child| *child < self.len));
                        seen.push((i, self.try_visit(pools, i)?));
                        Ok(seen)
                    },
                    |a, b| [a, b].concat(),
                );
                folded.map_or_else(End::Stopped, |mut seen| {
                    seen.sort_unstable();
                    assert!(seen.iter().map(|(i, _)| *i).eq(0..self.len), "an item is lost, or there twice");
                    End::With(Affine::of_all(seen.into_iter().map(|(_, value)| value)))
                })
            }
            Verb::Wait => self.wait(pools),
            Verb::Sort => {
                let mut items: Vec<(u64, usize)> = indices.map(|i| (self.value(i) % 16, i)).collect();
                let sorted = catch_unwind(AssertUnwindSafe(|| {
                    pool.sort_by_key(&mut items, |&(key, i)| {
                        if self.panics == Some(i) {
                            resume_unwind(Box::new(i));
                        }
                        key
                    });
                }));
                let mut there: Vec<usize> = items.iter().map(|(_, i)| *i).collect();
                let all = there.clone();
                there.sort_unstable();
                assert!(there.into_iter().eq(0..self.len), "an item is lost");
                sorted.unwrap_or_else(|payload| resume_unwind(payload));
                End::With(Affine::of_all(all.into_iter().map(|i| i as u64)))
            }
        }
    }

    /// Some items wait, once or twice.
    fn wait(&self, pools: Pools) -> End {
        let limit = 1 + usize::try_from(self.salt % 50).expect("less than fifty");
        let waits = async |i: usize| {
            let value = self.value(i);
            for turn in 0..(value % 16).saturating_sub(13) {
                called(value >> (4 + turn)).await;
            }
            self.try_visit(pools, i).map(Affine::of)
        };
        let ended = pools.here.on(0..self.len).waiting(limit).try_map_reduce(waits, Affine::then);
        ended.map_or_else(End::Stopped, |reduced| End::With(reduced.unwrap_or(Affine::NEUTRAL)))
    }

    fn plain_values(&self) -> impl Iterator<Item = u64> {
        (0..self.len).map(|i| self.value(i))
    }

    /// The end of the serial loop.
    fn is_plain(&self, end: End) -> bool {
        let Self { verb, panics, stops, .. } = *self;
        let panicked = panics.map(|place| (place, End::Panicked(place)));
        let stopped = stops.map(|place| (place, End::Stopped(place)));
        let ends = match verb {
            Verb::Sort => {
                let mut items: Vec<(u64, usize)> =
                    self.plain_values().map(|value| value % 16).zip(0..).collect();
                items.sort_by_key(|(key, _)| *key);
                let sorted = End::With(Affine::of_all(items.into_iter().map(|(_, i)| i as u64)));
                return end == panics.filter(|_| self.len > 1).map_or(sorted, End::Panicked);
            }
            Verb::FindAny | Verb::Grow if panics.is_some() && stops.is_some() => {
                return [panicked, stopped].iter().flatten().any(|(_, possible)| *possible == end);
            }
            Verb::Cancel if end == End::Cancelled => return stops.is_some(),
            Verb::Cancel if panics.is_none() && stops.is_some() => return false,
            Verb::TryMapReduce | Verb::FindFirst | Verb::FindAny | Verb::Grow | Verb::Wait => {
                [panicked, stopped]
            }
            _ => [panicked, None],
        };
        // If an item has both a panic and a stop, the panic comes first.
        let first = ends.into_iter().flatten().min_by_key(|(place, _)| *place);
        end == first.map_or_else(|| End::With(Affine::of_all(self.plain_values())), |(_, end)| end)
    }
}

/// Three threads that wake the wakers they receive: each waker at once, or several wakers in
/// reverse order. Now and then they wake a waker a second time, which has no effect.
static CALLED: LazyLock<[mpsc::Sender<Waker>; 3]> = LazyLock::new(|| {
    [0, 1, 2].map(|seed| {
        let (send, asked) = mpsc::channel::<Waker>();
        thread::spawn(move || {
            let (mut random, mut late) = (Random(seed), Vec::new());
            while let Ok(waker) = asked.recv() {
                late.push(waker);
                if random.one_in(3) {
                    late.extend(asked.try_iter());
                    late.reverse();
                }
                for waker in late.drain(..) {
                    if random.one_in(10) {
                        waker.wake_by_ref();
                    }
                    waker.wake();
                }
            }
        });
        send
    })
});

/// Waits until one of these threads wakes it.
async fn called(which: u64) {
    let mut has_called = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_called, true) {
            return Poll::Ready(());
        }
        let thread = &CALLED[usize::try_from(which % 3).expect("less than three")];
        thread.send(context.waker().clone()).expect("it runs as long as the program");
        Poll::Pending
    })
    .await;
}

/// Counts of the loops that were run.
#[derive(Debug, Default)]
struct Counts {
    small: AtomicU64,
    unbalanced: AtomicU64,
    panics: AtomicU64,
    stops: AtomicU64,
    nested: AtomicU64,
    /// Nests of several levels.
    nests: AtomicU64,
    thefts: AtomicU64,
}

/// Prints how to repeat a failure.
struct Replay(u64);

impl Replay {
    fn tell(&self) {
        // Not a print macro: the test harness captures its output until the test ends, and the
        // process may abort before.
        let command = "cargo test --release --test soak";
        let _ = writeln!(io::stderr(), "to repeat: RANGESTEAL_SOAK_SEED={} {command}", self.0);
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if thread::panicking() {
            self.tell();
        }
    }
}

/// One episode: a pool and some thousand loops, or some hundred nests, all determined by the seed.
/// The schedule is not determined.
fn episode(seed: u64, counts: &Counts) {
    let _replay = Replay(seed);
    let mut random = Random(seed);
    if seed.is_multiple_of(2) {
        nests(&mut random, counts);
    } else {
        loops(&mut random, counts);
    }
    assert!(!IS_WRONG.load(Relaxed), "an inner loop ended differently");
}

/// Several threads run nests on one pool. Now and then one of these threads has its own pool, and
/// drops this pool while the loops of the other threads run.
fn nests(random: &mut Random, counts: &Counts) {
    const ROUNDS: usize = 100;
    const DEPTH: usize = 2; // levels of loops inside the outermost
    let pool = Pool::builder().num_threads(1 + random.below(8)).build().expect("a pool");
    let callers = 1 + random.below(4);
    by_callers(callers, random, |random| {
        for _ in 0..ROUNDS / callers {
            let plan = Plan::nest(random, DEPTH);
            let own = random.one_in(8).then(|| {
                let threads = 1 + random.below(3);
                Pool::builder().num_threads(threads).build().expect("a pool")
            });
            let pools = Pools { here: &pool, elsewhere: own.as_ref().unwrap_or(&pool) };
            let end = plan.run(if random.one_in(2) { pools.swapped() } else { pools });
            assert!(plan.is_plain(end), "{end:?} is no end of {plan:?}");
            counts.nests.fetch_add(1, Relaxed);
        }
    });
    counts.thefts.fetch_add(pool.thefts(), Relaxed);
}

fn loops(random: &mut Random, counts: &Counts) {
    const ROUNDS: usize = 20;
    let builder = Pool::builder()
        .num_threads(1 + random.below(6))
        .pinning(if random.one_in(2) { Pinning::Off } else { Pinning::BestEffort })
        .spin_before_park(Duration::from_micros([0, 0, 50][random.below(3)]));
    let pool = builder.build().expect("a pool");
    let callers = 1 + random.below(3);
    by_callers(callers, random, |random| {
        for round in 0..ROUNDS * 101 / callers {
            let small = round % 101 != 0;
            let plan = Plan::new(random, small);
            let end = plan.run(Pools::one(&pool));
            assert!(plan.is_plain(end), "{end:?} is no end of {plan:?}");
            if small { &counts.small } else { &counts.unbalanced }.fetch_add(1, Relaxed);
            counts.panics.fetch_add(u64::from(matches!(end, End::Panicked(_))), Relaxed);
            let stopped = matches!(end, End::Stopped(_) | End::Cancelled);
            counts.stops.fetch_add(u64::from(stopped), Relaxed);
            counts.nested.fetch_add(u64::from(plan.nests.is_some()), Relaxed);
        }
    });
    counts.thefts.fetch_add(pool.thefts(), Relaxed);
}

/// Runs `call` on each of `callers` threads. Each thread has its own random numbers.
fn by_callers(callers: usize, random: &mut Random, call: impl Fn(&mut Random) + Sync) {
    let seeds: Vec<u64> = (0..callers).map(|_| random.next()).collect();
    thread::scope(|scope| {
        for seed in seeds {
            let call = &call;
            scope.spawn(move || call(&mut Random(seed)));
        }
    });
}

fn variable(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|error| panic!("{name} is {value:?}: {error}")))
}

#[test]
#[cfg_attr(miri, ignore = "long")]
fn soak() {
    /// An episode that takes longer hangs.
    const LIMIT: Duration = Duration::from_secs(120);
    let time = Duration::from_secs(variable("RANGESTEAL_SOAK_SECONDS").unwrap_or(4));
    let given = variable("RANGESTEAL_SOAK_SEED");
    let mut seeds = Random(RandomState::new().hash_one(Instant::now()));
    let (begins, begun) = mpsc::channel();
    let watch = thread::spawn(move || {
        let mut last = Replay(0);
        loop {
            match begun.recv_timeout(LIMIT) {
                Ok(seed) => last.0 = seed,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = writeln!(io::stderr(), "it hangs");
                    last.tell();
                    process::abort();
                }
            }
        }
    });
    let (begin, counts, mut episodes) = (Instant::now(), Counts::default(), 0);
    while begin.elapsed() < time || episodes < 2 {
        let seed = given.unwrap_or_else(|| seeds.next() & !1 | episodes & 1); // kinds alternate
        begins.send(seed).expect("the watching thread lives");
        episode(seed, &counts);
        episodes += 1;
    }
    drop(begins);
    watch.join().expect("no episode hangs");
    println!("{episodes} episodes in {:?}: {counts:?}", begin.elapsed());
    let Counts { panics, stops, nested, nests, .. } = counts;
    let all_happen = [panics, stops, nested, nests].into_iter().all(|count| count.into_inner() > 0);
    assert!(all_happen || given.is_some(), "nothing happens"); // a seed has one kind
}
