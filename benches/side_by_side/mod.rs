//! The plain loop and its parallel rivals, interleaved in one process in an order drawn anew each round, so that whatever
//! disturbs the machine disturbs them all. Printed are ratios to the plain loop of the same round: median (minimum).

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each bench uses a part of it")]

use std::{
    env, fmt,
    hint::black_box,
    time::{Duration, Instant},
};

use paralight::prelude::{CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPool, ThreadPoolBuilder};
use rangesteal::Pool;

/// The executors, each with the same number of threads.
pub struct Rivals<'a> {
    pub pool: &'a Pool,
    pub rayon: rayon::ThreadPool,
    pub paralight: ThreadPool,
    rounds: usize,
}

/// Runs `benches` with one worker per CPU, or `RANGESTEAL_NUM_THREADS`; `-- --rounds N` sets how often each loop runs.
pub fn run(question: &str, benches: impl FnOnce(&mut Rivals)) {
    let args: Vec<String> = env::args().collect();
    let rounds = args.windows(2).find(|pair| pair[0] == "--rounds");
    let rounds = rounds.map_or(60, |pair| pair[1].parse().expect("--rounds takes a number"));
    let builder = Pool::builder();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads =
        env::var("RANGESTEAL_NUM_THREADS").map_or(cores, |number| number.parse().expect("a number"));
    println!("\n{question}");
    println!(
        "{threads} threads on {cores} cores, {rounds} rounds; ratio to the plain loop: median (minimum)"
    );
    // Before the scope pins this thread: threads inherit the mask of the one that starts them.
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("rayon's pool");
    let paralight = ThreadPoolBuilder {
        num_threads: ThreadCount::try_from(threads).expect("not zero"),
        range_strategy: RangeStrategy::WorkStealing,
        cpu_pinning: CpuPinningPolicy::No,
    };
    let paralight = paralight.build();
    let measure = |pool: &Pool| {
        benches(&mut Rivals { pool, rayon, paralight, rounds });
    };
    builder.num_threads(threads).scope(measure).expect("a pool");
}

/// A loop by one executor. Returns something that all must agree on.
type Contender<'a, 'r, R> = (&'static str, &'a mut dyn FnMut(&mut Rivals<'r>) -> R);

impl<'r> Rivals<'r> {
    /// Prints one row. The first contender is the plain loop, the second is ours; `bar` is what ours should reach.
    pub fn row<R: PartialEq + fmt::Debug>(
        &mut self,
        name: &str,
        bar: Option<f64>,
        contenders: &mut [Contender<'_, 'r, R>],
    ) {
        const WARM_UP: usize = 5;
        let mut times = vec![Vec::with_capacity(self.rounds); contenders.len()];
        let mut agreed = None;
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        let mut random = 1u64;
        for round in 0..WARM_UP + self.rounds {
            for i in (1..order.len()).rev() {
                // Knuth's MMIX generator draws the order (The Art of Computer Programming 2, section 3.3.4).
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(i, (random >> 33) as usize % (i + 1));
            }
            for &which in &order {
                let (rival, contender) = &mut contenders[which];
                let begin = Instant::now();
                let result = black_box(contender(self));
                let time = begin.elapsed();
                match &agreed {
                    None => agreed = Some(result),
                    Some(agreed) => assert_eq!(result, *agreed, "{rival} disagrees"),
                }
                if round >= WARM_UP {
                    times[which].push(time);
                }
            }
        }
        let plain = &times[0];
        let micros = median(plain.iter().map(|time| time.as_secs_f64() * 1e6));
        print!("{name:<34} plain {:>9.2} µs", micros.unwrap_or(f64::NAN));
        for ((name, _), times) in contenders.iter().zip(&times).skip(1) {
            let ratios =
                times.iter().zip(plain).map(|(time, plain)| time.as_secs_f64() / plain.as_secs_f64());
            let least = |times: &[Duration]| times.iter().min().map_or(0.0, Duration::as_secs_f64);
            print!("  {name} {:.3} ({:.3})", median(ratios).unwrap_or(f64::NAN), least(times) / least(plain));
        }
        println!("{}", bar.map_or(String::new(), |bar| format!("  bar {bar}")));
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Keeps a core busy for `nanos` nanoseconds; returns at once for 0.
pub fn work(nanos: u64) -> u64 {
    if nanos > 0 {
        let (begin, time) = (Instant::now(), Duration::from_nanos(nanos));
        while begin.elapsed() < time {}
    }
    nanos
}
