//! Millions of inputs, each read within a budget of memory and time. A failure names the seed of
//! its input.
//!
//! ```text
//! STV_FUZZ=10000000 STV_FUZZ_SEED=1 cargo test --release -p stv-ballots fuzz -- --nocapture
//! ```
//! This reads ten million inputs, made from seed 1 on: random elections and the samples, most of
//! them damaged. If `STV_CORPUS` exists, its ballot files are damaged, too.

mod findings;
pub(crate) mod made;
mod memory;
pub(crate) mod mutate;

use crate::{
    Duplicates, Election, InputError, Naming, Reading, Target,
    blt::{self, dialects::Trickle},
    formats::{reads_as_written, survey},
    printable::misleads,
    random::SplitMix64,
};
use std::{
    env,
    fmt::{self, Arguments},
    fs,
    io::{Read, Write},
    num::NonZeroUsize,
    panic,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// The memory that an input may take: a constant for the window and the list of candidates, and an
/// amount for each byte.
const BYTES: usize = 1200 << 10;
const BYTES_PER_BYTE: usize = 64;

/// The CPU time that an input may take. In an unoptimised build, an input may take more.
const TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 100 } else { 5 });
const TIME_PER_BYTE: Duration = Duration::from_nanos(if cfg!(debug_assertions) { 20_000 } else { 500 });

/// A reader that takes this long counts as hanging.
const HANGS: Duration = Duration::from_secs(60);

/// The seed of the input that is being read. A failure other than a panic reports this seed.
static NOW: Now = Now(AtomicU64::new(0));

struct Now(AtomicU64);

impl Now {
    /// Writes to standard error without allocating, since the caller has no memory or ends the
    /// process.
    fn tell(&self, what: &Arguments<'_>) {
        let seed = self.0.load(Relaxed);
        let _ = writeln!(std::io::stderr(), "the input of seed {seed} {what}; {}", Replay(seed));
    }
}

/// The command that reads one input again.
struct Replay(u64);

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "STV_FUZZ=1 STV_FUZZ_SEED={} cargo test --release -p stv-ballots fuzz", self.0)
    }
}

/// Reads an input, and checks the budgets.
fn within_budget<T>(input: &[u8], read: impl Fn() -> T) -> T {
    let budget = BYTES + BYTES_PER_BYTE * input.len();
    let begin = cpu_time();
    let (result, memory) = memory::most_taken(&read);
    let mut time = cpu_time().saturating_sub(begin);
    assert!(memory <= budget, "{memory} bytes of memory for {} bytes", input.len());
    let budget = TIME + TIME_PER_BYTE * u32::try_from(input.len()).expect("an input is not that long");
    for _ in 0..3 {
        // Repeats the measurement up to three times, since other work on the machine may take time.
        if time > budget {
            let begin = cpu_time();
            drop(read());
            time = time.min(cpu_time().saturating_sub(begin));
        }
    }
    assert!(time <= budget, "{time:?} for {} bytes", input.len());
    result
}

/// The CPU time of this thread, or the wall-clock time on other systems.
fn cpu_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use nix::time::{ClockId, clock_gettime};
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every thread has this clock").into()
    }
    #[cfg(not(target_os = "linux"))]
    {
        static BEGIN: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        BEGIN.elapsed()
    }
}

/// The ways to read ballots that name a candidate twice.
const DUPLICATES: [Duplicates; 4] =
    [Duplicates::Refuse, Duplicates::Refuse, Duplicates::First, Duplicates::Truncate];

/// Checks everything that must hold for any input. Returns whether it is an election.
fn examine(input: &[u8], seed: u64) -> bool {
    let below = |seed: u64, bound: u64| usize::try_from(seed % bound).expect("a small number");
    let most_errors = if seed.is_multiple_of(2) { 1 } else { 20 };
    let reading = Reading {
        seats: NonZeroUsize::new(below(seed / 2, 3)),
        duplicates: DUPLICATES[below(seed / 6, 4)],
        ..Reading::default()
    };
    let survey = |reader: &mut dyn Read, most_errors| {
        survey("test", reader, reading, most_errors).map(|(election, _)| election)
    };
    let read = within_budget(input, || survey(&mut &*input, most_errors));
    if let Err(errors) = &read {
        assert!((1..=most_errors).contains(&errors.len()), "{errors:?}");
        let ends = input.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        for error in errors {
            let error = error.to_string();
            let line = error.strip_prefix("test:").and_then(|error| error.split_once(": "));
            let line = line.and_then(|(line, _)| line.parse().ok());
            assert!(line.is_some_and(|line| (1..=ends + 1).contains(&line)), "{error}");
            assert!(error.len() < 1000 && !error.contains(misleads), "{error}");
        }
    }
    if seed.is_multiple_of(4) && input.len() < 4000 {
        let most = 1 + below(seed / 4, 40);
        let again = survey(&mut Trickle { bytes: input, most }, most_errors);
        assert_eq!(format!("{again:?}"), format!("{read:?}"), "blocks of {most}");
        let several = survey(&mut &*input, 5).map_err(|errors| errors[0].clone());
        let first = read.as_ref().map_err(|errors| errors[0].clone());
        assert_eq!(format!("{several:?}"), format!("{first:?}"), "the first of several errors");
    }
    let is_election = read.is_ok();
    if let Ok(mut election) = read {
        let standing = election.candidates.iter().filter(|candidate| !candidate.withdrawn).count();
        assert!((1..=standing).contains(&election.seats));
        assert!(!election.ballots.all().is_empty());
        let naming = if seed.is_multiple_of(3) { Naming::Nicknames } else { Naming::Numbers };
        blt::reads_as_printed(&election, naming);
        for _ in 0..2 {
            reads_as_written(&election, Target::Scottish);
            reads_as_written(&election, Target::PrefLib);
            // The other formats hold an election only if it has no order of ties.
            election.tie_break.sort_unstable();
        }
    }
    is_election
}

pub(crate) fn number(variable: &str, default: u64) -> u64 {
    let number = env::var(variable).map(|number| number.parse().expect("a whole number"));
    number.unwrap_or(default)
}

/// Ends the process when an input takes too long. Nothing else can end the reader.
fn watch(done: &AtomicBool) {
    let (mut seed, mut since) = (NOW.0.load(Relaxed), Duration::ZERO);
    while !done.load(Relaxed) {
        let pause = Duration::from_millis(100);
        thread::sleep(pause);
        let now = NOW.0.load(Relaxed);
        since = if now == seed { since + pause } else { Duration::ZERO };
        seed = now;
        if since > HANGS {
            NOW.tell(&format_args!("does not come to an end"));
            std::process::abort();
        }
    }
}

/// The samples, and the small ballot files of the corpus.
pub(crate) fn files() -> Vec<Vec<u8>> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let samples = fs::read_dir(samples).expect("the samples").map(|file| file.expect("a file").path());
    let mut samples: Vec<_> = samples.collect();
    samples.sort();
    let samples = samples.iter().map(|path| fs::read(path).expect("a sample"));
    let corpus = crate::corpus::files().into_iter().map(|(_, file)| file);
    samples.chain(corpus.filter(|file| file.len() < 3000)).collect()
}

/// An input before it is damaged.
fn undamaged(random: &mut SplitMix64, files: &[Vec<u8>]) -> Vec<u8> {
    let most = if random.below(mutate::ONE_IN_LONG) == 0 { mutate::LONG / 10 } else { 6 };
    match random.below(8) {
        0 => (0..random.below(80)).map(|_| mutate::any_byte(random)).collect(),
        1 => (0..random.below(40)).flat_map(|_| mutate::piece(random, files)).collect(),
        2..5 => made::file(random, most),
        _ => files[random.below(files.len())].clone(),
    }
}

/// Makes inputs and examines them, each with its seed.
#[test]
fn inputs_by_the_million() {
    let files = files();
    let first = number("STV_FUZZ_SEED", 1);
    let seeds = first..first + number("STV_FUZZ", 3_000);
    let (done, mut elections) = (AtomicBool::new(false), 0);
    thread::scope(|scope| {
        scope.spawn(|| watch(&done));
        for seed in seeds.clone() {
            NOW.0.store(seed, Relaxed);
            let random = &mut SplitMix64::new(seed);
            let mut input = undamaged(random, &files);
            mutate::change(&mut input, random, &files);
            let examined = panic::catch_unwind(|| examine(&input, seed));
            elections += u64::from(examined.unwrap_or_else(|_| {
                done.store(true, Relaxed);
                let beginning = input[..input.len().min(2000)].escape_ascii();
                panic!("the input of seed {seed}: {}\n{} bytes: {beginning}", Replay(seed), input.len())
            }));
        }
        done.store(true, Relaxed);
    });
    println!("{elections} elections of {} inputs, from {} files", seeds.count(), files.len());
}
