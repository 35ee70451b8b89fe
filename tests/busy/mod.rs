//! Work of a known duration, for all tests. The duration matters because a pool's decisions depend
//! on it. Also how busy other programs keep the CPUs, for tests that depend on time.

#![allow(dead_code, reason = "not all tests depend on time")]

use std::{
    fs,
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
            eprintln!("SKIPPED: other programs have taken {taken:?} of CPU time in {time:?}");
        }
        have
    }
}

/// The CPU time of all other programs since the system started: `proc_stat`(5),
/// `proc_pid_stat`(5). `None` if this system does not tell.
fn of_others() -> Option<Duration> {
    const TICK: Duration = Duration::from_millis(10); // the unit of all Linux interfaces
    let sum = |words: &str, of: &[usize]| {
        let words: Vec<&str> = words.split_whitespace().collect();
        of.iter().map(|&at| words.get(at)?.parse::<u32>().ok()).sum::<Option<u32>>()
    };
    let all = fs::read_to_string("/proc/stat").ok()?;
    let all = sum(all.lines().next()?, &[1, 2, 3, 6, 7, 8])?; // not the idle times
    let own = fs::read_to_string("/proc/self/stat").ok()?;
    let own = sum(own.rsplit_once(')')?.1, &[11, 12])?;
    Some(TICK * all.saturating_sub(own))
}
