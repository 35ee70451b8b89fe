//! The cost of a pool in a program that runs few loops. Each figure comes from a process of its
//! own. strace counts the system calls.

use std::{env, error::Error, fs, hint::black_box, path::Path, process::Command, thread, time::Duration};

use clap::{Args, ValueEnum};
use rangesteal::Pool;

use crate::{
    loops::{Items, Sum},
    machine::{cpu_nanos, settle, thread_cpu_nanos},
    plain::Plain,
    race::median,
    rival::{Loop, Rival},
    row::{Cell, Row, Unit},
    runner::Runner,
    who::Who,
    work::{links, work},
};

/// A program that mostly sleeps.
#[derive(Args)]
pub(crate) struct Idle {
    executor: Executor,
    task: Task,
    calls: u32,
    workers: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Executor {
    Plain,
    Rangesteal,
    Rayon,
}

#[derive(Clone, Copy, ValueEnum)]
enum Task {
    /// Sleeps two seconds (or less, with few calls).
    Sleep,
    /// Loops over two items, with sleep between.
    Two,
    /// Loops of 200 µs, with sleep between.
    Long,
    /// Loops of 20 µs, with 20 µs of work between them. The helpers stay awake until the program
    /// ends.
    Awake,
}

impl Idle {
    /// Prints the CPU time of the calls, in milliseconds, including the work of other threads
    /// between calls.
    pub(crate) fn run(&self) {
        let cpu = match self.executor {
            Executor::Plain => self.cpu(Plain),
            Executor::Rangesteal => {
                let pool = Pool::builder().num_threads(self.workers);
                let pool = match self.task {
                    Task::Awake => pool.spin_before_park(Duration::from_secs(60)),
                    _ => pool,
                };
                pool.scope(|pool| self.cpu(pool)).expect("a pool")
            }
            Executor::Rayon => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(self.workers).build();
                self.cpu(&pool.expect("a pool of rayon's"))
            }
        };
        println!("{}", cpu / 1e6);
    }

    fn cpu(&self, rival: impl Rival) -> f64 {
        match self.task {
            Task::Sleep => {
                let mut rival = rival;
                Items::even(100, 2000).run(&mut rival);
                settle();
                let before = cpu_nanos();
                thread::sleep(Duration::from_millis(2) * self.calls);
                cpu_nanos() - before
            }
            Task::Two => self.calls(rival, &Sum(&[1, 2])),
            Task::Long => self.calls(rival, &Items::even(100, 2000)),
            Task::Awake => self.calls(rival, &Items::even(100, 200)),
        }
    }

    fn calls(&self, mut rival: impl Rival, lap: &impl Loop) -> f64 {
        let between = links(20_000);
        for _ in 0..50 {
            lap.run(&mut rival);
        }
        settle();
        let (all, here) = (cpu_nanos(), thread_cpu_nanos());
        let mut calls = 0.0;
        for _ in 0..self.calls {
            match self.task {
                Task::Awake => _ = black_box(work(black_box(between))),
                _ => thread::sleep(Duration::from_millis(1)),
            }
            let begin = thread_cpu_nanos();
            lap.run(&mut rival);
            calls += thread_cpu_nanos() - begin;
        }
        let elsewhere = (cpu_nanos() - all) - (thread_cpu_nanos() - here);
        calls + elsewhere.max(0.0)
    }
}

fn arguments(executor: Executor, task: Task, calls: u32, workers: usize) -> [String; 5] {
    let name = |value: Option<clap::builder::PossibleValue>| {
        value.expect("no value is hidden").get_name().to_owned()
    };
    let (executor, task) = (name(executor.to_possible_value()), name(task.to_possible_value()));
    ["idle".into(), executor, task, calls.to_string(), workers.to_string()]
}

type Figure = Result<f64, Box<dyn Error>>;

/// CPU time of `calls`: median of three processes.
fn millis(executor: Executor, task: Task, calls: u32, workers: usize) -> Figure {
    let once = |_| -> Figure {
        let arguments = arguments(executor, task, calls, workers);
        let output = Command::new(env::current_exe()?).args(arguments).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    };
    let figures: Vec<f64> = (0..3).map(once).collect::<Result<_, _>>()?;
    Ok(median(figures.into_iter()))
}

/// System calls of `calls` loops: the count of a process with these loops, minus the count of a
/// process without them.
fn system_calls(executor: Executor, task: Task, calls: u32, workers: usize) -> Figure {
    let count = |calls| -> Figure {
        let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("versus-strace");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-c", "-o"]).arg(&list).arg(env::current_exe()?);
        let output =
            strace.args(arguments(executor, task, calls, workers)).output().map_err(|_| "no strace")?;
        if !output.status.success() {
            return Err("strace may not trace".into());
        }
        Ok(fs::read_to_string(list)?.lines().filter_map(count_of_line).sum::<u32>().into())
    };
    Ok((count(calls)? - count(0)?).max(0.0)) // the number of calls at the start and end of a process varies by one
}

/// Parses `% time, seconds, usecs/call, calls, [errors], syscall`. Leaves out the program's own
/// sleep and clock readings.
fn count_of_line(line: &str) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if matches!(words.last()?, &"total" | &"clock_nanosleep" | &"clock_gettime") {
        return None;
    }
    words.get(3)?.parse().ok()
}

/// The row of the system calls of a loop with awake helpers.
pub(crate) fn awake(runner: &Runner) -> Row {
    const CALLS: u32 = 10_000;
    let figure = system_calls(Executor::Rangesteal, Task::Awake, CALLS, runner.threads);
    let cells = figure.map(|calls| vec![(Who::Rangesteal, Cell::of(calls / f64::from(CALLS)))]);
    Row {
        name: "loop of 20 µs, 20 µs between, helpers awake: system calls".into(),
        reference: Unit::Calls.write(0.0),
        unit: Unit::Calls,
        bar: Some(0.05),
        cells: cells.unwrap_or_default(),
    }
}

pub(crate) fn rows(runner: &Runner) -> Vec<Row> {
    // Fewer calls in a short run. The figures are scaled to a thousand calls.
    let calls = if runner.rounds < 10 { 100 } else { 1000 };
    let thousand = 1000.0 / f64::from(calls);
    let row = |name: &str, unit: Unit, bar, scale: f64, figure: &dyn Fn(Executor) -> Figure| {
        let plain = figure(Executor::Plain);
        let reference = plain.map_or_else(|error| format!("{error}"), |plain| unit.write(plain * scale));
        let ours = [(Who::Rangesteal, Executor::Rangesteal), (Who::Rayon, Executor::Rayon)];
        let cell = |(who, executor)| Some((who, Cell::of(figure(executor).ok()? * scale)));
        let cells = ours.into_iter().filter_map(cell).collect();
        Row { name: name.into(), reference, unit, bar: Some(bar), cells }
    };
    let workers = runner.threads;
    let _freed = crate::machine::Freed::to(&runner.mask); // the children would inherit the CPU of this thread
    vec![
        // Under this bar, a call costs no CPU time except that of the sleep itself.
        row("idle for 2 s: CPU time", Unit::Millis, 0.1, 1.0, &|who| {
            millis(who, Task::Sleep, calls, workers)
        }),
        row("1000 loops of 2 items, 1 ms sleep: CPU time", Unit::Millis, 1.0, thousand, &|who| {
            millis(who, Task::Two, calls, workers)
        }),
        row("1000 loops of 2 items, 1 ms sleep: system calls", Unit::Calls, 50.0, thousand, &|who| {
            system_calls(who, Task::Two, calls, workers)
        }),
        row("loop of 200 µs, 1 ms sleep: system calls", Unit::Calls, 6.0, 1.0 / f64::from(calls), &|who| {
            system_calls(who, Task::Long, calls, workers)
        }),
    ]
}
