//! Work of a known duration, for all tests. The duration matters because a pool's decisions depend
//! on it. Also how busy other programs keep the CPUs, for tests that depend on time.

#![allow(dead_code, reason = "not all tests depend on time")]

use std::{
    fs,
    io::{self, Write},
    time::{Duration, Instant},
};

/// Keeps this core busy for `nanos` nanoseconds.
pub(crate) fn work(nanos: u64) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_nanos(nanos) {}
}

/// The CPU time that other programs take from now on. Tests of time say with it why they have not
/// seen what they wait for.
pub(crate) struct Others {
    begin: Instant,
    before: Option<Duration>,
}

impl Others {
    pub(crate) fn watch() -> Self {
        Self { begin: Instant::now(), before: of_others() }
    }

    /// Whether other programs have taken half of a CPU, or more. If so, prints that the test is
    /// skipped.
    pub(crate) fn have_a_cpu(&self) -> bool {
        let (Some(before), Some(now)) = (self.before, of_others()) else { return false };
        let (taken, time) = (now.saturating_sub(before), self.begin.elapsed());
        let have = taken > time / 2;
        if have {
            // Not `eprintln!`, whose output is dropped if the test passes.
            _ = writeln!(
                io::stderr(),
                "SKIPPED: other programs have taken {taken:?} of CPU time in {time:?}"
            );
        }
        have
    }
}

/// The CPU time of all other programs since the system started: `proc_stat`(5),
/// `proc_pid_stat`(5). `None` if this system does not tell. The programs of this one's process
/// group are not others: they are the test program, and the children that it has started.
fn of_others() -> Option<Duration> {
    const TICK_MILLIS: u64 = 10; // the unit of all Linux interfaces
    let sum = |words: &str, of: &[usize]| {
        let words: Vec<&str> = words.split_whitespace().collect();
        of.iter().map(|&at| words.get(at)?.parse::<u64>().ok()).sum::<Option<u64>>()
    };
    let all = fs::read_to_string("/proc/stat").ok()?;
    let all = sum(all.lines().next()?, &[1, 2, 3, 6, 7, 8])?; // not the idle times
    // The words behind the name of a program, which may contain spaces.
    let words = |process: &str| {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        Some(text.rsplit_once(')')?.1.to_owned())
    };
    let group = |words: &str| words.split_whitespace().nth(2).map(str::to_owned);
    let own_group = group(&words("self")?);
    let processes =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let own: u64 = processes
        .filter(|process| process.parse::<u32>().is_ok()) // `self` would count this one twice
        .filter_map(|process| words(&process))
        .filter(|words| group(words) == own_group)
        .filter_map(|words| sum(&words, &[11, 12, 13, 14])) // also of children that have ended
        .sum();
    Some(Duration::from_millis(TICK_MILLIS * all.saturating_sub(own)))
}
