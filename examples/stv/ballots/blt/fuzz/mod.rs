//! Millions of inputs, each read within a budget of memory and time. A failure names the seed of
//! its input.
//!
//! ```text
//! STV_FUZZ=10000000 STV_FUZZ_SEED=1 cargo test --release -p stv-ballots fuzz -- --nocapture
//! ```
//! This reads ten million inputs, made from seed 1 on. If `STV_CORPUS` exists, inputs are also made
//! by damaging its ballot files.

mod findings;
mod memory;
pub(crate) mod mutate;

use super::{hostile::read_in_blocks, *};
use crate::random::SplitMix64;
use std::{
    env,
    fmt::Arguments,
    io::Write,
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// The memory that an input may take: a constant for the window and the tables of the first
/// candidates, and an amount for each byte.
const BYTES: usize = 128 << 10;
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

/// The largest figures of many inputs.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    inputs: u64,
    bytes: usize,
    elections: u64,
    /// The most memory, without the bytes of the input itself.
    memory: usize,
    /// The most memory per byte, of long inputs.
    memory_per_byte: f64,
    time_per_byte: f64,
}

impl Figures {
    /// Reads an input, and checks the budgets.
    pub(crate) fn read(
        &mut self,
        input: &[u8],
        survey: impl Fn() -> Result<Election, Vec<InputError>>,
    ) -> Result<Election, Vec<InputError>> {
        let budget = BYTES + BYTES_PER_BYTE * input.len();
        let begin = cpu_time();
        let (read, memory) = memory::most_taken(&survey);
        let mut time = cpu_time().saturating_sub(begin);
        assert!(memory <= budget, "{memory} bytes of memory for {} bytes", input.len());
        let budget = TIME + TIME_PER_BYTE * u32::try_from(input.len()).expect("an input is not that long");
        for _ in 0..3 {
            // Repeats the measurement up to three times, since other work on the machine may take
            // time.
            if time > budget {
                let begin = cpu_time();
                drop(survey());
                time = time.min(cpu_time().saturating_sub(begin));
            }
        }
        assert!(time <= budget, "{time:?} for {} bytes", input.len());
        self.inputs += 1;
        self.bytes += input.len();
        self.elections += u64::from(read.is_ok());
        self.memory = self.memory.max(memory.saturating_sub(BYTES_PER_BYTE * input.len()));
        if input.len() >= 10_000 {
            #[allow(clippy::cast_precision_loss)] // figures for people
            let (length, memory) = (input.len() as f64, memory as f64);
            self.memory_per_byte = self.memory_per_byte.max(memory / length);
            self.time_per_byte = self.time_per_byte.max(time.as_secs_f64() * 1e9 / length);
        }
        read
    }
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

/// Checks everything that must hold for any input.
fn examine(input: &[u8], seed: u64, figures: &mut Figures) {
    let most_errors = if seed.is_multiple_of(2) { 1 } else { 20 };
    let read =
        figures.read(input, || survey("test", &mut &*input, most_errors).map(|(election, _)| election));
    if let Err(errors) = &read {
        assert!(!errors.is_empty() && errors.len() <= 20, "{errors:?}");
    }
    if seed.is_multiple_of(4) && input.len() < 4000 {
        let most = 1 + usize::try_from(seed / 4 % 40).expect("a small number");
        assert_eq!(read_in_blocks(input, most).is_ok(), read.is_ok());
    }
    if let Ok(election) = &read {
        let naming = if seed.is_multiple_of(3) { Naming::Nicknames } else { Naming::Numbers };
        hostile::reads_as_printed(election, naming);
    }
}

/// The samples of other tests, and the small files of the corpus if it exists.
fn files() -> Vec<Vec<u8>> {
    let small = |file: &Vec<u8>| file.len() < 3000;
    let corpus = crate::corpus::files().into_iter().map(|(_, file)| file).filter(small);
    hostile::GOOD.iter().map(|good| good.as_bytes().to_vec()).chain(corpus).collect()
}

fn number(variable: &str, default: u64) -> u64 {
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

/// Makes inputs and examines them, each with its seed. The tests of the readers run one after the
/// other, so at most one input is read at any moment.
pub(crate) fn by_the_million(
    make: impl Fn(&mut SplitMix64) -> Vec<u8>,
    examine: impl Fn(&[u8], u64, &mut Figures),
) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let first = number("STV_FUZZ_SEED", 1);
    let seeds = first..first + number("STV_FUZZ", 3000);
    let mut figures = Figures::default();
    let done = AtomicBool::new(false);
    let begin = std::time::Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| watch(&done));
        for seed in seeds {
            NOW.0.store(seed, Relaxed);
            let input = make(&mut SplitMix64::new(seed));
            let examined = panic::catch_unwind(AssertUnwindSafe(|| examine(&input, seed, &mut figures)));
            if examined.is_err() {
                done.store(true, Relaxed);
                let beginning = &input[..input.len().min(2000)];
                panic!(
                    "the input of seed {seed}: {}\n{} bytes: {}",
                    Replay(seed),
                    input.len(),
                    beginning.escape_ascii()
                );
            }
        }
        done.store(true, Relaxed);
    });
    println!("{figures:?} in {:?}", begin.elapsed());
}

#[test]
fn inputs_by_the_million() {
    let files = files();
    println!("{} files to start from", files.len());
    by_the_million(|random| mutate::input(random, &files), examine);
}
