//! The pin monitor: unpins a helper that does not get the CPU that it is pinned to. Every program
//! puts its workers on the same CPUs first. So on sixteen CPUs the pools of two programs, with four
//! workers each, pin their helpers to the same three CPUs, while twelve CPUs are idle. A helper
//! loses its pin if it is ready to run but keeps waiting for its CPU, while another CPU is idle.
//! The system chooses the CPU of a helper without a pin. After a pause the helper is pinned again.
//! If the helper has to wait for its CPU again, the next pause is longer.
//!
//! The pin is kept if no other CPU is idle, since a helper without a pin often wakes up on the CPU
//! of the caller that wakes it. `docs/decisions.md` has figures.
//!
//! The tests below model two pools of four workers on sixteen CPUs. Without this module, the
//! helpers do half of the work that they could do. With this module, the helpers do more than 0.97
//! times the work that they could do in the first minute. If no CPU is idle, this module changes
//! nothing.
//!
//! A helper can lose its CPU for milliseconds in the middle of an item. A loop whose mean time is
//! longer for that reason is not shared for a while (`policy/alone_or_shared.rs`).

use std::{mem, time::Duration};

use crate::clock::Instant;

/// A helper lets at least this time pass between two checks. A check takes some 3 µs. If the helper
/// seems to have lost its CPU, the check also reads `/proc/stat`.
const PIN_CHECK_INTERVAL: Duration = Duration::from_millis(30);
/// A helper has lost its CPU to another thread if it has waited for at least this part of its ready
/// time, in which it ran or waited. (If another thread on the same CPU always computes, the helper
/// waits for half of its ready time.) Mean waits below [`SHORT_WAIT`] do not count.
const LOST_SHARE: f32 = 0.4;
/// A helper whose mean wait is shorter than this has not lost its CPU: after a wake-up, a thread
/// waits about this long.
const SHORT_WAIT: Duration = Duration::from_micros(500);
/// The length of the first pause. A pause begins when a helper is unpinned, or when it has lost its
/// CPU and no other CPU is idle. Nothing changes during a pause.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The length of the longest pause.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The kernel's times of a thread since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    pub(crate) ran: Duration,
    /// How long the thread was ready while another thread had its CPU.
    pub(crate) waited: Duration,
    /// The number of times that the thread has got a CPU.
    pub(crate) count: u64,
    /// The number of times that the thread has given its CPU away to sleep; 0 if unknown.
    pub(crate) naps: u64,
}

impl Turns {
    /// The times since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(before.ran),
            waited: self.waited.saturating_sub(before.waited),
            count: self.count.saturating_sub(before.count),
            naps: self.naps.saturating_sub(before.naps),
        }
    }
}

/// A change of a helper's pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Unpin,
    Pin,
}

/// The state with which a helper tracks whether it gets its CPU.
#[derive(Debug)]
pub(crate) struct PinMonitor {
    last_check: Instant,
    turns: Turns,
    phase: PinPhase,
    /// The length of the last pause.
    pause: Duration,
    /// When the last pause began; after that pause, when it ended.
    since: Instant,
}

#[derive(Debug)]
enum PinPhase {
    Pinned,
    /// At the last check, the helper had waited for its CPU. Contains the idle time of each CPU of
    /// the pool, up to that check.
    Suspects(Vec<Duration>),
    /// The helper is not pinned, or no other CPU was idle. Nothing changes until the pause is over.
    Pauses {
        is_pinned: bool,
    },
}

impl PinMonitor {
    /// The state of a helper that is pinned at the time `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            last_check: now,
            turns: Turns::default(),
            phase: PinPhase::Pinned,
            pause: Duration::ZERO,
            since: now,
        }
    }

    /// Checks whether the pin should change. Called when the helper reads the clock. `turns` reads
    /// the kernel's times of the helper. `idle` reads how long each of the pool's CPUs has been
    /// idle. Both return `None` if the kernel does not report these times.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        turns: impl Fn() -> Option<Turns>,
        idle: impl Fn() -> Option<Vec<Duration>>,
    ) -> Option<Change> {
        let passed = now - self.last_check;
        if passed < PIN_CHECK_INTERVAL {
            return None;
        }
        self.last_check = now;
        if let PinPhase::Pauses { is_pinned } = self.phase {
            if now - self.since < self.pause {
                return None;
            }
            (self.phase, self.since) = (PinPhase::Pinned, now);
            self.turns = turns()?;
            return (!is_pinned).then_some(Change::Pin);
        }
        if !self.has_lost_its_cpu(turns()?) {
            self.phase = PinPhase::Pinned;
            return None;
        }
        let idle = idle()?;
        let PinPhase::Suspects(before) = &self.phase else {
            self.phase = PinPhase::Suspects(idle);
            return None;
        };
        let is_pinned =
            !idle.iter().zip(before).any(|(now, before)| now.saturating_sub(*before) > passed / 2);
        let soon = now - self.since < self.pause + 3 * PIN_CHECK_INTERVAL;
        self.pause = if soon { (2 * self.pause).clamp(FIRST_PAUSE, LONGEST_PAUSE) } else { FIRST_PAUSE };
        (self.phase, self.since) = (PinPhase::Pauses { is_pinned }, now);
        (!is_pinned).then_some(Change::Unpin)
    }

    /// Whether the helper has lost its CPU since the last check. Now its times are `turns`.
    fn has_lost_its_cpu(&mut self, turns: Turns) -> bool {
        let Turns { ran, waited, count, .. } = turns.since(mem::replace(&mut self.turns, turns));
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        waited >= (ran + waited).mul_f32(LOST_SHARE) && waited / count >= SHORT_WAIT
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(10);

    /// A thread that is always ready to run, and two CPUs: its own and another one.
    struct Thread {
        monitor: PinMonitor,
        knows: Knows,
    }

    #[derive(Default)]
    struct Knows {
        turns: Turns,
        idle: Duration,
    }

    impl Thread {
        fn new(now: Instant) -> Self {
            Self { monitor: PinMonitor::new(now), knows: Knows::default() }
        }

        /// The thread runs for `1 / share` of the tick. `is_idle` says whether the other CPU is
        /// idle.
        fn tick(&mut self, now: Instant, share: u32, is_idle: bool) -> Option<Change> {
            self.knows.turns.ran += TICK / share;
            self.knows.turns.waited += TICK.saturating_sub(TICK / share);
            self.knows.turns.count += u64::from(share);
            self.knows.idle += if is_idle { TICK } else { Duration::ZERO };
            let Knows { turns, idle } = self.knows;
            self.monitor.check(now, || Some(turns), || Some(vec![Duration::ZERO, idle]))
        }

        fn is_pinned(&self) -> bool {
            !matches!(self.monitor.phase, PinPhase::Pauses { is_pinned: false })
        }
    }

    #[test]
    fn a_helper_that_shares_its_cpu_is_unpinned_for_growing_pauses() {
        let begin = Instant::now();
        let mut thread = Thread::new(begin);
        let mut changes = Vec::new();
        for tick in 1..6_000 {
            let shared = if thread.is_pinned() { 2 } else { 1 };
            if let Some(change) = thread.tick(begin + TICK * tick, shared, true) {
                changes.push((change, 10 * tick));
            }
        }
        assert_eq!(changes[..2], [(Change::Unpin, 60), (Change::Pin, 180)], "after two checks");
        let pauses: Vec<u32> = changes.chunks_exact(2).map(|pair| pair[1].1 - pair[0].1).collect();
        for (pause, expected) in pauses.iter().zip([100, 200, 400, 800, 1600, 3200, 6400, 10_000]) {
            assert!((expected..=expected + 30).contains(pause), "{pauses:?}");
        }
        // When the thread has been alone on its CPU for a while, its pauses are short again.
        let mut now = begin + TICK * 6_000;
        while !thread.is_pinned() || now < begin + TICK * 9_000 {
            now += TICK;
            let _pinned = thread.tick(now, 1, true);
        }
        let mut until = |change| {
            let before = now;
            while thread.tick(now, if change == Change::Unpin { 2 } else { 1 }, true) != Some(change) {
                now += TICK;
            }
            now - before
        };
        assert!(until(Change::Unpin) <= 10 * TICK);
        assert!(until(Change::Pin) <= 13 * TICK);
    }

    #[test]
    fn no_helper_is_unpinned_if_no_cpu_is_idle() {
        let begin = Instant::now();
        let mut thread = Thread::new(begin);
        assert!((1..1_000).all(|tick| thread.tick(begin + TICK * tick, 2, false).is_none()));
        let one_is = (1_000..3_000).find(|&tick| thread.tick(begin + TICK * tick, 2, true).is_some());
        assert!(one_is.is_some_and(|tick| tick < 2_020), "last_check for again after a pause: {one_is:?}");
    }

    #[test]
    fn short_or_rare_waits_do_not_unpin() {
        let begin = Instant::now();
        for (ran, waited, count, has_lost) in [
            (10_000, 10_000, 5, true),
            (10_000, 10_000, 40, false), // a mean wait of 250 µs, as after a wake-up
            (18_000, 9_000, 5, false),   // a third
            (18_000, 13_000, 5, true),
            (0, 29_000, 1, true), // the thread has not run at all
            (0, 0, 0, false),
        ] {
            let [ran, waited] = [ran, waited].map(Duration::from_micros);
            let found =
                PinMonitor::new(begin).has_lost_its_cpu(Turns { ran, waited, count, ..Turns::default() });
            assert_eq!(found, has_lost, "{ran:?} {waited:?} {count}");
        }
    }

    /// Two programs with three helpers each, which are pinned to the same three of sixteen CPUs.
    /// The callers have two other CPUs. A helper without a pin has a CPU to itself. Returns the
    /// work that the helpers do in `ticks` ticks, as a fraction of the work of six CPUs.
    fn done(ticks: u32, others_are_idle: bool) -> f64 {
        let begin = Instant::now();
        let mut helpers: Vec<(usize, Thread)> =
            (0..6).map(|helper| (1 + helper % 3, Thread::new(begin))).collect();
        for tick in 1..=ticks {
            let pinned: Vec<usize> =
                helpers.iter().filter(|(_, helper)| helper.is_pinned()).map(|(cpu, _)| *cpu).collect();
            for (cpu, helper) in &mut helpers {
                let share = pinned.iter().filter(|other| *other == cpu).count();
                let share = if helper.is_pinned() { u32::try_from(share).unwrap() } else { 1 };
                let _change = helper.tick(begin + TICK * tick, share, others_are_idle);
            }
        }
        let ran: Duration = helpers.iter().map(|(_, helper)| helper.knows.turns.ran).sum();
        ran.as_secs_f64() / (TICK * ticks * 6).as_secs_f64()
    }

    #[test]
    fn two_programs_on_the_same_cpus_move_apart() {
        assert!((0.49..0.51).contains(&done(1_000, false)));
        let (second, minute) = (done(100, true), done(6_000, true));
        assert!(second > 0.85 && minute > 0.97, "{second} {minute}");
    }
}
