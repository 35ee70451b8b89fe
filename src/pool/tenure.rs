//! Whether a helper has the CPU that it is pinned to. Every program begins with the same CPUs, so two pools of four on sixteen CPUs
//! pin the same three while twelve are idle. A helper that keeps waiting for its CPU while it is ready to run loses its pin, and so
//! goes where the system puts it; after a pause it is pinned again, and if it has to wait again, the pauses grow.

use std::time::Duration;

use crate::clock::Instant;

/// So often a helper looks, at most. A look takes some 3 µs.
const EVERY: Duration = Duration::from_millis(30);
/// Whoever has waited for a CPU for two fifths of the time in which it was ready has lost it to somebody (who computes all the time takes a
/// half)...
const PARTS: (u32, u32) = (2, 5);
/// ... unless each wait was short: to be woken takes as long.
const SHORT: Duration = Duration::from_micros(500);
/// How long it is not pinned, at first and at most.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);

/// What the kernel knows of a thread, since its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    pub(crate) ran: Duration,
    /// It was ready, and another thread had its CPU.
    pub(crate) waited: Duration,
    /// How often it has got a CPU.
    pub(crate) count: u64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    LetGo,
    Pin,
}

/// Of one helper, kept by it.
#[derive(Debug)]
pub(crate) struct Tenure {
    looked: Instant,
    turns: Turns,
    /// None: pinned.
    until: Option<Instant>,
    /// How long it was last not pinned, and since when it is pinned again.
    pause: Duration,
    since: Instant,
}

impl Tenure {
    /// Of a helper that has been pinned.
    pub(crate) fn new(now: Instant) -> Self {
        Self { looked: now, turns: Turns::default(), until: None, pause: Duration::ZERO, since: now }
    }

    /// A look at the clock: whether it is time to do something. `turns` asks the kernel.
    pub(crate) fn look(&mut self, now: Instant, turns: impl FnOnce() -> Option<Turns>) -> Option<Change> {
        if now - self.looked < EVERY {
            return None;
        }
        self.looked = now;
        if let Some(until) = self.until {
            if until > now {
                return None;
            }
            (self.until, self.since) = (None, now);
            self.turns = turns()?;
            return Some(Change::Pin);
        }
        let before = self.turns;
        self.turns = turns()?;
        let ran = self.turns.ran.saturating_sub(before.ran);
        let waited = self.turns.waited.saturating_sub(before.waited);
        let count = u32::try_from(self.turns.count.saturating_sub(before.count)).unwrap_or(u32::MAX).max(1);
        let (lost, of) = PARTS;
        if of * waited < lost * (ran + waited) || waited / count < SHORT {
            return None;
        }
        let soon = now - self.since < self.pause;
        self.pause = if soon { (2 * self.pause).min(LONGEST) } else { FIRST };
        self.until = Some(now + self.pause);
        Some(Change::LetGo)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(10);

    /// A thread that is always ready and gets that part of its CPU: what it is told in each tick.
    struct Thread {
        tenure: Tenure,
        turns: Turns,
    }

    impl Thread {
        fn new(now: Instant) -> Self {
            Self { tenure: Tenure::new(now), turns: Turns::default() }
        }

        fn tick(&mut self, now: Instant, share: u32) -> Option<Change> {
            self.turns.ran += TICK / share;
            self.turns.waited += TICK - TICK / share;
            self.turns.count += u64::from(share);
            let turns = self.turns;
            self.tenure.look(now, || Some(turns))
        }

        fn is_pinned(&self) -> bool {
            self.tenure.until.is_none()
        }
    }

    #[test]
    fn who_shares_a_cpu_is_let_go_and_pinned_again_with_growing_pauses() {
        let begin = Instant::now();
        let mut thread = Thread::new(begin);
        let mut changes = Vec::new();
        for tick in 1..6_000 {
            let shared = if thread.is_pinned() { 2 } else { 1 };
            if let Some(change) = thread.tick(begin + TICK * tick, shared) {
                changes.push((change, 10 * tick));
            }
        }
        let [first, second, third] = [changes[0].1, changes[2].1, changes[4].1];
        assert_eq!(changes[0], (Change::LetGo, 30), "after the first look");
        assert_eq!(changes[1].0, Change::Pin);
        assert!((100..=140).contains(&(changes[1].1 - first)), "{changes:?}");
        assert!((200..=240).contains(&(changes[3].1 - second)), "{changes:?}");
        assert!((400..=440).contains(&(changes[5].1 - third)), "{changes:?}");
        let longest = changes.windows(2).map(|pair| pair[1].1 - pair[0].1).max().unwrap();
        assert!((10_000..=10_040).contains(&longest), "{changes:?}");
        // Later, after a while by itself, the pauses are short again.
        let mut now = begin + TICK * 6_000;
        while !thread.is_pinned() || now < begin + TICK * 9_000 {
            now += TICK;
            let _pinned = thread.tick(now, 1);
        }
        let before = now;
        while thread.tick(now, 2) != Some(Change::LetGo) {
            now += TICK;
        }
        assert!(now - before <= 7 * TICK); // two looks
        while thread.tick(now, 1) != Some(Change::Pin) {
            now += TICK;
        }
        assert!(now - before <= 20 * TICK, "{:?}", now - before);
    }

    #[test]
    fn short_waits_and_few_ones_take_no_pin() {
        let begin = Instant::now();
        for (ran, waited, count, lets_go) in [
            (10_000, 10_000, 5, true),
            (10_000, 10_000, 40, false), // 250 µs each: that is what waking up takes
            (18_000, 9_000, 5, false),   // a third
            (18_000, 13_000, 5, true),
            (0, 29_000, 1, true), // it has not run at all
            (0, 0, 0, false),
        ] {
            let [ran, waited] = [ran, waited].map(Duration::from_micros);
            let change = Tenure::new(begin).look(begin + EVERY, || Some(Turns { ran, waited, count }));
            assert_eq!(change.is_some(), lets_go, "{ran:?} {waited:?} {count}");
        }
        let asked = |later| Tenure::new(begin).look(begin + later, || panic!("asked"));
        assert_eq!(asked(EVERY / 2), None);
        assert_eq!(Tenure::new(begin).look(begin + EVERY, || None), None, "a kernel that does not tell");
    }

    /// Two programs with three helpers each on the same CPUs of sixteen, of which the callers have two: how much of what six CPUs could do
    /// they get done, in so many ticks? Who is not pinned goes where nobody is.
    fn done(ticks: u32, gives_way: bool) -> f64 {
        let begin = Instant::now();
        let mut helpers: Vec<(usize, Thread)> =
            (0..6).map(|helper| (1 + helper % 3, Thread::new(begin))).collect();
        for tick in 1..=ticks {
            let pinned: Vec<usize> =
                helpers.iter().filter(|(_, helper)| helper.is_pinned()).map(|(cpu, _)| *cpu).collect();
            for (cpu, helper) in &mut helpers {
                let share = pinned.iter().filter(|other| *other == cpu).count();
                let share = if helper.is_pinned() { u32::try_from(share).unwrap() } else { 1 };
                let change = helper.tick(begin + TICK * tick, share);
                if !gives_way && change.is_some() {
                    helper.tenure = Tenure::new(begin + TICK * tick);
                }
            }
        }
        let ran: Duration = helpers.iter().map(|(_, helper)| helper.turns.ran).sum();
        ran.as_secs_f64() / (TICK * ticks * 6).as_secs_f64()
    }

    #[test]
    fn two_programs_on_the_same_cpus_of_many_get_out_of_each_others_way() {
        assert!((0.49..0.51).contains(&done(1_000, false)));
        let (second, minute) = (done(100, true), done(6_000, true));
        assert!(second > 0.90 && minute > 0.98, "{second} {minute}");
    }
}
