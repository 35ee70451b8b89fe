//! The report of all loops of a program, with one line for each loop of the source text. If
//! `RANGESTEAL_REPORT` requests it, the report is printed to standard error when the program exits.
//!
//! A loop waits at most a tenth of a second for the lock of the report. After this time the loop's
//! entry is lost, and the report counts the lost entry. The limit prevents deadlocks in two cases:
//! an allocator runs a loop while its thread writes an entry; or a process is forked while a thread
//! writes an entry.

#![allow(unsafe_code)] // atexit is not in std
#![cfg_attr(not(unix), allow(dead_code, reason = "exits are not noticed"))]

use std::{
    env,
    fmt::Write,
    mem,
    panic::Location,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    report::{RunReport, decimal},
    why_alone::Alone,
};
use crate::{sorted::sort, sync::lock_unless_stuck};

/// The environment variable that requests the report of a program. Any value requests the report,
/// except the empty value and `0`.
const VARIABLE: &str = "RANGESTEAL_REPORT";

/// The names of the columns.
const COLUMNS: &str = "     calls        items      time   gain  idle balance    thefts      help  loop";

/// The report of all loops of this program.
#[derive(Debug)]
pub(crate) struct ProgramReport {
    /// The lines, sorted by the places of their loops.
    lines: Mutex<Vec<(&'static Location<'static>, Line)>>,
    /// The number of entries that found the report locked.
    lost: AtomicU64,
    /// The number of tasks that have ended, and how long they took in nanoseconds. Counts.
    tasks: AtomicU64,
    of_tasks: AtomicU64,
}

/// The sums over all calls of one loop.
#[derive(Clone, Debug, Default, PartialEq)]
struct Line {
    calls: u64,
    items: u64,
    wall: Duration,
    /// The working time of all workers together.
    working: Duration,
    /// Calls that ran on the calling thread alone, by reason, in the order of [`Alone::ALL`].
    alone: [u64; Alone::ALL.len()],
    /// How long the calling thread worked alone before it shared calls.
    begun_alone: Duration,
    thefts: u64,
    /// The numbers of shared calls that found no idle worker, one idle worker, two idle workers,
    /// and so on.
    idle: Vec<u64>,
    /// Sums over the shared calls: the mean working time of the workers, and the longest working
    /// time.
    mean: Duration,
    longest: Duration,
    /// The latest estimate of the cost of help.
    help: Duration,
}

impl ProgramReport {
    const fn new() -> Self {
        let [lost, tasks, of_tasks] = [const { AtomicU64::new(0) }; 3];
        Self { lines: Mutex::new(Vec::new()), lost, tasks, of_tasks }
    }

    /// The report of this program, if the environment variable requests it. The variable is read
    /// when a pool is built.
    pub(crate) fn if_wanted() -> Option<&'static Self> {
        let is_set = env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
        (is_set && exit::is_watched()).then_some(&REPORT)
    }

    /// Enters a call of the loop at `at`.
    pub(crate) fn enter(&self, at: &'static Location<'static>, report: &RunReport, help: Duration) {
        let Some(mut lines) = lock_unless_stuck(&self.lines) else {
            self.lost.fetch_add(1, Ordering::Relaxed); // a count: orders nothing
            return;
        };
        let line = lines.binary_search_by(|(place, _)| (*place).cmp(at)).unwrap_or_else(|new| {
            lines.insert(new, (at, Line::default()));
            new
        });
        lines[line].1.add(report, help);
    }

    /// Enters a task that took so long.
    pub(crate) fn enter_task(&self, took: Duration) {
        self.tasks.fetch_add(1, Ordering::Relaxed);
        self.of_tasks.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The text of the report. Removes all entries from the report. The loops that took longest
    /// come first.
    fn text(&self) -> String {
        let all = lock_unless_stuck(&self.lines).map(|mut lines| mem::take(&mut *lines));
        let mut all = all.unwrap_or_default();
        let (mut wall, mut working) = (Duration::ZERO, Duration::ZERO);
        for (_, line) in &all {
            wall += line.wall;
            working += line.working;
        }
        let mut text = format!(
            "rangesteal: {} loops took {wall:.1?}, and all workers worked for {working:.1?} in them: gain {}\n{COLUMNS}\n",
            all.len(),
            ratio(working, wall),
        );
        sort(&mut all, &|(_, a), (_, b)| a.wall > b.wall);
        for (place, line) in &all {
            let Line { calls, items, wall, alone, begun_alone, thefts, help, .. } = line;
            let (gain, balance) = (ratio(line.working, *wall), ratio(line.mean, line.longest));
            let (usual, least_and_most) = middle(&line.idle);
            _ = write!(
                text,
                "{calls:>10} {items:>12} {wall:>9.1?} {gain:>6} {usual:>5} {balance:>7} {thefts:>9} {help:>9.1?}  {place}"
            );
            let mut before = "; alone:";
            for (why, calls) in Alone::ALL.iter().zip(alone).filter(|(_, calls)| **calls > 0) {
                _ = write!(text, "{before} {} {calls}", why.label());
                before = ",";
            }
            if let Some((least, most)) = least_and_most {
                _ = write!(text, "; idle: {least} to {most}");
            }
            if !begun_alone.is_zero() {
                _ = write!(text, "; begun alone: {begun_alone:.1?}");
            }
            text.push('\n');
        }
        if let tasks @ 1.. = self.tasks.load(Ordering::Relaxed) {
            let took = Duration::from_nanos(self.of_tasks.load(Ordering::Relaxed));
            _ = writeln!(text, "{tasks} tasks (Pool::spawn, Pool::spawn_broadcast) took {took:.1?}");
        }
        if let lost @ 1.. = self.lost.load(Ordering::Relaxed) {
            _ = writeln!(text, "{lost} calls are missing: another thread held the report");
        }
        text
    }
}

impl Line {
    fn add(&mut self, report: &RunReport, help: Duration) {
        let times = || report.workers.iter().map(|worker| worker.working);
        let working: Duration = times().sum();
        self.calls += 1;
        self.items = self.items.saturating_add(report.items() as u64);
        self.wall += report.wall;
        self.working += working;
        self.help = help;
        if let Some(alone) = report.alone {
            self.alone[alone as usize] += 1;
            return;
        }
        self.idle.resize(self.idle.len().max(report.idle + 1), 0);
        self.idle[report.idle] += 1;
        self.begun_alone += report.begun_alone;
        self.thefts += report.thefts() as u64;
        self.mean += working / u32::try_from(report.workers.len()).unwrap_or(u32::MAX).max(1);
        self.longest += times().max().unwrap_or_default();
    }
}

/// The median of some numbers, as text; and the smallest and the largest number, if these differ.
/// `times[n]` says how often the number `n` occurs.
fn middle(times: &[u64]) -> (String, Option<(usize, usize)>) {
    let occurs = |times: &u64| *times > 0;
    let (Some(least), Some(most)) = (times.iter().position(occurs), times.iter().rposition(occurs)) else {
        return ("-".into(), None);
    };
    let all: u64 = times.iter().sum();
    let mut below = 0;
    let median = times.iter().position(|times| {
        below += times;
        2 * below >= all
    });
    (median.unwrap_or(most).to_string(), (least < most).then_some((least, most)))
}

#[inline(never)]
fn ratio(time: Duration, of: Duration) -> String {
    if of.is_zero() { "-".into() } else { decimal(time.as_secs_f64() / of.as_secs_f64(), 2) }
}

static REPORT: ProgramReport = ProgramReport::new();

#[cfg(all(unix, not(any(miri, portable))))]
mod exit {
    use std::{
        fs::File,
        io::{self, Write},
        os::fd::AsFd,
        process,
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
        thread,
        time::{Duration, Instant},
    };

    unsafe extern "C" {
        /// C23, 7.24.4.2.
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }

    /// The id of the process that prints the report when it exits; 0 if no process does. A forked
    /// child does not print. Relaxed: no other data depends on this number.
    static PROCESS: AtomicU32 = AtomicU32::new(0);

    /// Has the report printed at the exit of this process. Returns false if the C library refuses.
    pub(super) fn is_watched() -> bool {
        if PROCESS.compare_exchange(0, process::id(), Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return true;
        }
        // SAFETY: 1. the declaration is that of C; 2. the C library calls the function before it
        // unloads the function's code. The function joins its thread, unless a write hangs for a
        // second. In that case `dlclose` of a library with this crate would unload the thread's
        // code, so only the exit of the process may follow; 3. a panic in the function ends the
        // process.
        let is_watched = unsafe { atexit(print) == 0 };
        if !is_watched {
            PROCESS.store(0, Ordering::Relaxed);
        }
        is_watched
    }

    /// The longest delay of this process's exit if no other process reads its standard error.
    const LONGEST: Duration = Duration::from_secs(1);

    /// Prints the report. A second thread writes the text, because a write to a full pipe may never
    /// return.
    extern "C" fn print() {
        if PROCESS.load(Ordering::Relaxed) != process::id() {
            return;
        }
        let text: Arc<str> = super::REPORT.text().into();
        let written = Arc::clone(&text);
        let writer: Box<dyn FnOnce() + Send> = Box::new(move || write(written.as_bytes()));
        let Ok(writer) = thread::Builder::new().spawn(writer) else {
            return write(text.as_bytes());
        };
        let begin = Instant::now();
        while !writer.is_finished() && begin.elapsed() < LONGEST {
            thread::sleep(Duration::from_micros(50));
        }
        if writer.is_finished() {
            let _it_does_not_panic = writer.join();
        }
    }

    /// Writes `text` to standard error. Errors are ignored, because standard error is the only
    /// place to report them.
    fn write(text: &[u8]) {
        // A program may have restored the default action of SIGPIPE, which would end the process.
        #[cfg(target_os = "linux")]
        let _ = nix::sys::signal::SigSet::from(nix::sys::signal::Signal::SIGPIPE).thread_block();
        // Writes to a copy of the descriptor, because another thread may hold the lock of
        // `io::stderr()` for ever.
        if let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() {
            let _ = File::from(stderr).write_all(text);
        }
    }
}

#[cfg(not(all(unix, not(any(miri, portable)))))]
mod exit {
    pub(super) fn is_watched() -> bool {
        false
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{super::report::WorkerReport, *};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn report(wall: u64, alone: Option<Alone>, idle: usize, working: &[u64]) -> RunReport {
        let worker = |working: &u64| WorkerReport {
            items: 50,
            thefts: 1,
            working: ms(*working),
            ..WorkerReport::default()
        };
        let (wall, workers) = (ms(wall), working.iter().map(worker).collect());
        let begun_alone = if alone.is_none() { ms(1) } else { ms(0) };
        RunReport { wall, alone, idle, begun_alone, workers, waits: None }
    }

    #[test]
    fn a_line_for_each_loop_and_the_longest_first() {
        let program_report = ProgramReport::new();
        let (short, long) = (Location::caller(), Location::caller());
        for (at, report) in [
            (short, report(10, Some(Alone::Short), 0, &[10])),
            (long, report(100, None, 1, &[100, 60])),
            (long, report(100, None, 3, &[80, 100])),
            (long, report(50, Some(Alone::Busy), 0, &[50])),
            (short, report(10, Some(Alone::OneWorker), 0, &[9])),
            (short, report(10, Some(Alone::Short), 0, &[10])),
        ] {
            program_report.enter(at, &report, ms(7));
        }
        let text = program_report.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("rangesteal: 2 loops took 280.0ms"), "{text}");
        assert!(lines[0].ends_with("worked for 419.0ms in them: gain 1.50"), "{text}");
        let words: Vec<Vec<&str>> = lines[2..].iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0][..8], ["3", "250", "250.0ms", "1.56", "1", "0.85", "4", "7.0ms"]);
        assert_eq!(words[1][..8], ["3", "150", "30.0ms", "0.97", "-", "-", "0", "7.0ms"]);
        let behind = "; alone: the pool was busy 1; idle: 1 to 3; begun alone: 2.0ms";
        assert!(lines[2].ends_with(&format!("{long}{behind}")), "{text}");
        assert!(lines[3].ends_with(&format!("{short}; alone: short 2, one worker 1")), "{text}");
    }

    #[test]
    fn the_usual_number_of_idle_workers_is_the_median() {
        for (times, usual, least_and_most) in [
            (&[][..], "-", None),
            (&[0, 0, 4], "2", None),
            (&[1, 0, 0, 5], "3", Some((0, 3))),
            (&[0, 990, 0, 0, 0, 0, 0, 10], "1", Some((1, 7))),
            (&[0, 10, 0, 0, 0, 0, 0, 990], "7", Some((1, 7))),
        ] {
            assert_eq!(middle(times), (usual.into(), least_and_most), "{times:?}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_stay_the_largest() {
        let program_report = ProgramReport::new();
        for _ in 0..2 {
            let mut report = report(1, None, 1, &[1]);
            report.workers[0].items = usize::MAX;
            program_report.enter(Location::caller(), &report, ms(0));
        }
        assert!(program_report.text().contains(&format!(" {} ", u64::MAX)), "{}", program_report.text());
    }

    #[test]
    fn a_locked_report_delays_no_loop() {
        let program_report = ProgramReport::new();
        let locked = program_report.lines.lock().unwrap();
        program_report.enter(Location::caller(), &RunReport::default(), ms(0));
        assert!(program_report.text().contains("1 calls are missing"), "{}", program_report.text());
        drop(locked);
        program_report.enter(Location::caller(), &RunReport::default(), ms(0));
        assert!(program_report.text().starts_with("rangesteal: 1 loops"), "{}", program_report.text());
    }
}
