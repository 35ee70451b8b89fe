//! Starved helpers. If a helper has claimed an item, no other worker can take over this item. If a
//! program of higher priority then takes the helper's CPU, the loop waits for the helper. The loop
//! may take a second instead of ten milliseconds. So a helper that has starved once takes no part
//! in loops until it has shown that it gets its CPU again.
//!
//! If a helper shares its CPU with programs of its own priority, it gets a half or a third of the
//! CPU. Such a helper does not starve, and takes part in loops.
//!
//! A helper whose items sleep does not starve either, however long it waits for a CPU each time it
//! wakes. (Beside six busy processes on two CPUs, all 1,499 helpers of such a loop seemed to
//! starve, and a loop of 0.3 s took 17 s.) Such a helper is known by its naps: others sleep once
//! between two jobs.
//!
//! `cargo bench --bench versus -- --rows starved` measures loops of four items of 2.75 ms, with a
//! helper at nice 19 whose CPU another program takes. `docs/decisions.md` has figures.

use std::time::Duration;

use super::pin_monitor::{FIRST_PAUSE, LONGEST_PAUSE, Turns};
use crate::clock::Instant;

/// A helper lets at least this time pass between two checks. A check takes some 3 µs. A helper that
/// has waited for its CPU less than this time between two checks has not starved.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// A helper has starved if it has waited for its CPU at least 16 times as long as it has run. On a
/// CPU with one thread at nice 0, a thread at nice 19 waits 68 times as long as it runs, and a
/// thread at `SCHED_IDLE` waits 341 times as long as it runs (`sched_prio_to_weight` of the
/// kernel).
const STARVES: u32 = 16;
/// In naps a job: the items of a helper that sleeps at least so often are taken for items that
/// sleep. A helper whose items keep the CPU sleeps once, between two jobs.
const NAPS_A_JOB: u64 = 2;
/// The length of a trial. In a trial, a helper that has starved runs until this time has passed by
/// the clock, to show that it gets its CPU. The length is two ticks of the slowest scheduler. The
/// trial succeeds if the helper waits less than four times as long as it runs.
const TRIAL: Duration = Duration::from_millis(20);

/// The state with which a helper tracks whether it gets its CPU. The helper updates this state
/// between loops, when no other thread waits for the helper.
#[derive(Debug)]
pub(crate) struct Starvation {
    last_check: Instant,
    turns: Turns,
    /// How many jobs the helper has begun since the last check, with the one to come.
    jobs: u64,
    has_starved: bool,
    /// The time for which the helper takes no part in loops before its next trial.
    pause: Duration,
}

impl Starvation {
    pub(crate) fn new(now: Instant) -> Self {
        Self { last_check: now, turns: Turns::default(), jobs: 0, has_starved: false, pause: FIRST_PAUSE }
    }

    /// Whether the helper may take part in the next loop. `turns` reads the kernel's times. When a
    /// pause of a starved helper is over, this function calls `run`, which runs for [`TRIAL`].
    pub(crate) fn has_cpu(
        &mut self,
        now: Instant,
        turns: impl Fn() -> Option<Turns>,
        run: impl FnOnce(Duration) -> Instant,
    ) -> bool {
        let passed = now - self.last_check;
        if passed < if self.has_starved { self.pause } else { CHECK_INTERVAL } {
            self.jobs += 1;
            return !self.has_starved;
        }
        self.last_check = now;
        let Some(before) = turns() else { return true };
        if !self.has_starved {
            let Turns { ran, waited, naps, .. } = before.since(self.turns);
            let items_sleep = naps >= NAPS_A_JOB * self.jobs;
            (self.turns, self.jobs) = (before, 1);
            self.has_starved = !items_sleep && waited >= CHECK_INTERVAL && waited >= STARVES * ran;
            if !self.has_starved && passed > LONGEST_PAUSE {
                self.pause = FIRST_PAUSE;
            }
            return !self.has_starved;
        }
        self.last_check = run(TRIAL);
        let Some(after) = turns() else { return true };
        (self.turns, self.jobs) = (after, 1);
        let Turns { ran, waited, .. } = after.since(before);
        self.has_starved = waited >= STARVES / 4 * ran;
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        !self.has_starved
    }
}

/// A closure that a helper calls between loops. The closure returns whether the helper may take
/// part in the next loop. In models and under Miri the closure always returns true, since these do
/// not let a thread starve.
pub(crate) fn has_cpu() -> impl FnMut() -> bool + Send + Sync + 'static {
    let mut record = Starvation::new(Instant::now());
    let run = |time| {
        let begin = Instant::now();
        while begin.elapsed() < time {
            std::hint::spin_loop();
        }
        Instant::now()
    };
    move || cfg!(any(loom, shuttle, miri)) || record.has_cpu(Instant::now(), super::affinity::turns, run)
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // minutes each under Miri, which has nothing to check in safe code on one thread
mod tests {
    use std::cell::Cell;

    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    /// A helper that waits for its CPU `waits` times as long as it runs.
    struct Helper {
        record: Starvation,
        now: Instant,
        turns: Cell<Turns>,
        waits: u32,
        /// How often the helper sleeps in a loop.
        naps: u64,
        trials: u32,
    }

    impl Helper {
        fn new() -> Self {
            let now = Instant::now();
            let (record, turns) = (Starvation::new(now), Cell::default());
            Self { record, now, turns, waits: 0, naps: 1, trials: 0 }
        }

        /// Takes part in a loop of `millis` ms of work, if the helper may. Returns whether the
        /// helper has taken part.
        fn loop_of(&mut self, millis: u32) -> bool {
            let Self { record, now, turns, waits, naps, trials } = self;
            let run = |work: Duration| {
                let Turns { ran, waited, count, naps: before } = turns.get();
                turns.set(Turns {
                    ran: ran + work,
                    waited: waited + *waits * work,
                    count: count + 1,
                    naps: before + *naps,
                });
                (1 + *waits) * work
            };
            // The trial ends by the clock, but the helper runs for a few milliseconds before it is
            // interrupted.
            let run_by_clock = |time: Duration| run((time / (1 + *waits)).max(3 * MILLI));
            let has_cpu = record.has_cpu(
                *now,
                || Some(turns.get()),
                |trial| {
                    *trials += 1;
                    *now + run_by_clock(trial)
                },
            );
            *now += if has_cpu { run(millis * MILLI) } else { millis * MILLI };
            has_cpu
        }
    }

    #[test]
    fn loops_wait_once_for_a_starved_helper_which_comes_back() {
        for waits in [30, 68, 341] {
            let mut helper = Helper::new();
            assert!((0..100).all(|_| helper.loop_of(11)));
            helper.waits = waits;
            let helped = (0..10_000).filter(|_| helper.loop_of(11)).count();
            assert!((1..=2).contains(&helped), "{helped} loops have waited for the helper");
            assert!((6..30).contains(&helper.trials), "{} trials in 110 s", helper.trials);
            helper.waits = u32::from(waits == 68); // half of the CPU, or all of it
            let away = (0..10_000).take_while(|_| !helper.loop_of(11)).count();
            assert!(away < 1_100, "{away} loops without the helper");
            assert!((0..1_000).all(|_| helper.loop_of(11)));
        }
    }

    #[test]
    fn a_helper_that_shares_its_cpu_goes_on() {
        for waits in 0..8 {
            let mut helper = Helper { waits, ..Helper::new() };
            assert!((0..1_000).all(|_| helper.loop_of(5)));
            assert_eq!(helper.trials, 0);
        }
    }

    #[test]
    fn a_helper_whose_items_sleep_goes_on_however_long_it_waits_when_it_wakes() {
        for waits in [16, 68, 341] {
            let mut helper = Helper { waits, naps: 2, ..Helper::new() };
            assert!((0..1_000).all(|_| helper.loop_of(5)));
            assert_eq!(helper.trials, 0);
        }
    }

    #[test]
    fn a_kernel_without_these_times_changes_nothing() {
        let now = Instant::now();
        let mut record = Starvation::new(now);
        for second in 1..10 {
            let now = now + Duration::from_secs(second);
            assert!(record.has_cpu(now, || None, |_| unreachable!("no trial")));
        }
    }
}
