//! Tests of the report of a whole program, which an environment variable enables.

#![cfg(target_os = "linux")]

mod busy;
mod child;
mod every;

use std::{
    io::{self, Write},
    process::{Command, ExitStatus, exit},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use busy::work;
use child::{command, is_child, passed, run};
use nix::{
    sys::{
        signal::{SigHandler, Signal, signal},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, fork},
};
use rangesteal::Pool;

const VARIABLE: &str = "RANGESTEAL_REPORT";

/// The columns of a row of the report, and why the loop ran alone. The row is that of the last loop
/// in this file whose line contains `text`.
fn told<'a>(stderr: &'a str, text: &str) -> (Vec<&'a str>, &'a str) {
    let own = include_str!("ledger.rs");
    let before = &own[..own.rfind(text).expect("a loop")];
    let place = format!("{}:{}:", file!(), before.matches('\n').count() + 1);
    let mut lines = stderr.lines().filter(|line| line.contains(&place));
    let line = lines.next().unwrap_or_else(|| panic!("{place} {stderr}"));
    assert!(lines.next().is_none(), "{stderr}");
    let (columns, behind) = line.split_once(&place).unwrap();
    (columns.split_whitespace().collect(), behind.split_once("; ").map_or("", |(_, why)| why))
}

#[test]
#[cfg_attr(portable, ignore = "exits are not noticed")]
fn a_program_tells_at_its_end_where_its_time_went() {
    const NAME: &str = "a_program_tells_at_its_end_where_its_time_went";
    if is_child() {
        return program();
    }
    for value in ["", "0"] {
        let stderr = passed(&run(&[], NAME, &[(VARIABLE, value)]));
        assert!(!stderr.contains("rangesteal: "), "{stderr}");
    }
    let output = run(&[], NAME, &[(VARIABLE, "1")]);
    let stderr = &*String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert_eq!(stderr.matches("rangesteal: 10 loops").count(), 1, "once, and not in the child: {stderr}");
    let (columns, alone) = told(stderr, "pool.for_each(&[1, 2]");
    // A few calls may be shared as a trial.
    let is_short = ["alone: short 9", "alone: short 1000"].iter().any(|most| alone.contains(most));
    assert!(columns[..2] == ["1000", "2000"] && is_short, "{stderr}");
    let (columns, alone) = told(stderr, "pool.for_each(&items");
    assert_eq!((columns[0], columns[1], columns[5] != "-"), ("20", "20000", true), "{stderr}");
    assert_eq!(columns[4], "1", "of two workers, one calls: {stderr}");
    let begun = alone.is_empty() || alone.starts_with("begun alone: ");
    let on_a_busy_machine = alone.contains("faster") || alone.contains("busy");
    assert!(begun || on_a_busy_machine, "{stderr}");
    assert!(columns[3].parse::<f64>().unwrap() > 0.5, "{stderr}");
    assert_eq!(told(stderr, "pool.on(0..1000)").0[..2], ["1", "1000"]);
    let (columns, alone) = told(stderr, "pool.on(0..3)");
    // No worker is idle, except the outer loop's caller while it waits for the last items.
    let is_alone = alone.contains("busy") || alone.contains("short");
    assert!(columns[..2] == ["1000", "3000"] && is_alone, "{stderr}");
    let (columns, alone) = told(stderr, "one.on(0..100)");
    assert_eq!((columns[0], columns[1], alone), ("1", "100", "alone: one worker 1"), "{stderr}");
    for of_several_parts in ["pool.on(&numbers)", "pool.sort("] {
        assert!(told(stderr, of_several_parts).0[0].parse::<u32>().unwrap() >= 1, "{stderr}");
    }
    // No other worker is idle, so a sort is one item.
    for sort in ["pool.sort(&mut own", "pool.sort_by_cached_key(", "pool.merge("] {
        let (columns, alone) = told(stderr, sort);
        assert_eq!((columns[0], columns[1], alone), ("2", "2", "alone: one worker 2"), "{stderr}");
    }
}

fn program() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    for _ in 0..1000 {
        pool.for_each(&[1, 2], |_| ());
    }
    let items = vec![(); 1000];
    for _ in 0..20 {
        pool.for_each(&items, |()| work(2_000));
    }
    // One loop inside another.
    pool.on(0..1000).for_each(|_| {
        pool.on(0..3).for_each(|_| work(500));
    });
    let one = Pool::builder().num_threads(1).build().unwrap();
    one.on(0..100).sum::<i32>();
    // A call with several loops has one row.
    let mut numbers: Vec<u32> = (0..200_000_u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let odd: Vec<_> = pool.on(&numbers).copied().filter(|i| i % 2 == 1).collect();
    pool.sort(&mut numbers);
    assert!(numbers.is_sorted() && odd.len() == 100_000);
    let meeting = Barrier::new(2);
    pool.broadcast(|_| {
        let mut own = odd.clone();
        own.swap(0, 50_000);
        meeting.wait();
        pool.sort(&mut own);
        pool.sort_by_cached_key(&mut own, |number| !number);
        own.reverse();
        own.rotate_left(50_000);
        pool.merge(&mut own, 50_000);
        assert!(own.is_sorted());
        meeting.wait();
    });
    if std::env::var(VARIABLE).unwrap() == "1" {
        #[expect(unsafe_code, reason = "fork is what is tested")]
        // SAFETY: the child exits.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => exit(0),
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
            }
        }
        thread::spawn(|| exit(7)).join().unwrap();
    }
}

#[test]
fn the_report_changes_no_result() {
    const NAME: &str = "the_report_changes_no_result";
    if is_child() {
        return every::print();
    }
    let results = |value| {
        let output = run(&[], NAME, &[(VARIABLE, value)]);
        let stderr = passed(&output);
        assert!(!stderr.contains("panicked"), "{stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let results: Vec<_> =
            stdout.lines().filter(|line| line.contains(every::MARK)).map(str::to_owned).collect();
        assert!(results.len() > 100, "{stdout}");
        (results, stderr)
    };
    let ((without, _), (with, stderr)) = thread::scope(|scope| {
        let without = scope.spawn(|| results("0"));
        let with = results("1");
        (without.join().expect("the results without a report"), with)
    });
    assert_eq!(without, with);
    assert!(cfg!(portable) || stderr.contains("its items waited "), "{stderr}");
}

#[test]
fn every_loop_is_among_those_that_are_compared() {
    let names = every::names();
    assert!(names.len() > 50 && names.contains(&"fold_unordered"), "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !every::calls(name)).collect();
    assert!(missing.is_empty(), "not in tests/every: {missing:?}");
}

/// Runs the child of the test `name`, which exits with code 7. Returns its status and its run time.
fn timed(name: &str, stderr: impl FnOnce(&mut Command)) -> (ExitStatus, Duration) {
    let mut command = command(&[], name, &[(VARIABLE, "1")]);
    stderr(&mut command);
    let begin = Instant::now();
    (command.status().unwrap(), begin.elapsed())
}

/// Runs one loop, and exits.
fn loop_and_exit() -> ! {
    Pool::global().on(0..100).for_each(|_| ());
    exit(7);
}

/// This time is far longer than an exit may wait, and far shorter than a child may run.
const NO_HANG: Duration = Duration::from_secs(60);

#[test]
fn the_exit_does_not_wait_for_the_lock_of_standard_error() {
    const NAME: &str = "the_exit_does_not_wait_for_the_lock_of_standard_error";
    if is_child() {
        let (locked, is_locked) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let _lock = io::stderr().lock();
            locked.send(()).unwrap();
            loop {
                thread::park();
            }
        });
        is_locked.recv().unwrap();
        loop_and_exit();
    }
    let begin = Instant::now();
    let output = run(&[], NAME, &[(VARIABLE, "1")]);
    assert_eq!(output.status.code(), Some(7));
    assert!(begin.elapsed() < NO_HANG, "{:?}", begin.elapsed());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(cfg!(portable) || stderr.contains("rangesteal: 1 loop"), "{stderr}");
}

#[test]
fn the_exit_does_not_wait_for_a_reader_of_standard_error() {
    const NAME: &str = "the_exit_does_not_wait_for_a_reader_of_standard_error";
    if is_child() {
        loop_and_exit();
    }
    let (_reader, writer) = io::pipe().unwrap();
    // These are more bytes than a pipe holds. So the thread fills the pipe, and then waits for
    // ever.
    let mut filler = writer.try_clone().unwrap();
    thread::spawn(move || filler.write_all(&vec![b' '; 4 << 20]));
    thread::sleep(Duration::from_millis(50));
    let (status, took) = timed(NAME, |command| {
        command.stderr(writer);
    });
    assert_eq!(status.code(), Some(7));
    assert!(took < NO_HANG, "{took:?}");
}

#[test]
#[expect(unsafe_code, reason = "a signal's action is not in std")]
fn a_closed_standard_error_does_not_change_the_exit() {
    const NAME: &str = "a_closed_standard_error_does_not_change_the_exit";
    if is_child() {
        // SAFETY: the call resets a signal to its default, so no handler runs.
        unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.unwrap();
        loop_and_exit();
    }
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let (status, _) = timed(NAME, |command| {
        command.stderr(writer);
    });
    assert_eq!(status.code(), Some(7), "{status}");
}
