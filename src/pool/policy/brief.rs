//! Brief loops: loops that end before a sleeping helper could begin, while all helpers sleep and
//! the last full decision was that a loop runs alone.
//!
//! A full decision touches some 250 cache lines, which takes 7 µs after a pause of the caller, and
//! 0.5 µs otherwise. A timed call takes 0.2 µs more than one that is not timed. So most brief loops
//! run as the plain loop, some are timed, and few get a full decision. (When all others were timed,
//! a loop of 4 µs took 0.4 µs longer than the plain loop, and now takes 0.2 µs longer.)

use super::{
    launch::{EXPLORED_ONE_IN, Gap, Launch, QuickLaunch, Why},
    memory::Memory,
    prices::{CLEARLY, Prices},
    rounds::LOOPS,
    site::{Loop, LoopKind},
};

/// One brief call in 64 gets a full decision while calls are so near to each other that helpers
/// which poll would stay awake. (With one in 1,024, a loop of 4 µs takes 0.05 µs less.)
const NEAR_ONE_IN: u64 = 64;
/// In calls: how many brief calls of a thread are timed after a full decision. As many loops have
/// rounds that are remembered, so a round of all of them is measured.
const TIMED: u32 = LOOPS as u32;

/// The brief calls of a thread since its last full decision.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BriefCalls(u32);

impl BriefCalls {
    pub(crate) const NEW: Self = Self(0);

    /// These calls and one more.
    pub(crate) fn and_one(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// How many calls were not timed.
    pub(crate) fn untimed(self) -> u32 {
        self.0.saturating_sub(TIMED)
    }
}

/// The launch of a loop that ends before a sleeping helper could begin; `None` if it does not.
/// Called only if the quick verdict is `Unclear`, all helpers sleep, and the last full decision was
/// that a loop runs alone: because calls are so far apart that polling would not pay, or because
/// the loop is not worth a helper that is awake either.
pub(crate) fn brief(memory: &Memory, prices: &Prices, this: Loop, kind: LoopKind) -> Option<QuickLaunch> {
    let len = this.slice.len;
    let takes = memory.over_this(this)? * len as f32;
    let ends_before_help = takes < prices.help(false);
    (ends_before_help && kind.goes_through()).then(|| QuickLaunch::brief(len, takes))
}

/// After a full decision that was made while all helpers sleep: how many brief loops there are for
/// one that gets the next full decision; 0 if each loop gets one. The call began after `gap`, and
/// is expected to take `expected` nanoseconds; 0 if that is unknown. `is_waking` says whether a
/// helper is on its way.
pub(crate) fn quiet_odds(prices: &Prices, launch: Launch, is_waking: bool, gap: Gap, expected: f32) -> u64 {
    let is_far = gap.is_long(expected);
    let is_settled = match launch {
        _ if is_waking => false,
        // It might be shared as soon as a helper is awake.
        Launch::Alone { why: Why::Short, .. } => {
            is_far || (0.0 < expected && expected < CLEARLY * prices.help(true))
        }
        Launch::Alone { .. } => true,
        _ => false,
    };
    match (is_settled, is_far) {
        (true, true) => EXPLORED_ONE_IN,
        (true, false) => NEAR_ONE_IN,
        (false, _) => 0,
    }
}

/// As [`quiet_odds`], after a brief loop that was timed. `odds` were those before. `is_far` says
/// whether helpers that poll would have slept before it began.
pub(crate) fn odds_after_brief(odds: u64, is_far: bool) -> u64 {
    match odds {
        _ if is_far => EXPLORED_ONE_IN,
        // Calls are no longer far apart, so polling may pay.
        EXPLORED_ONE_IN => 0,
        odds => odds,
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use std::{ptr, time::Duration};

    use super::{
        super::{
            launch::{Case, Draw},
            site::{GOLDEN, Site, Slice},
        },
        *,
    };

    fn over(len: usize) -> Loop {
        Loop { site: Site::new(ptr::without_provenance(0x1230)), slice: Slice { address: 0x1000, len } }
    }

    /// The knowledge of a pool after a loop over `len` items has taken `work` nanoseconds.
    fn known(len: usize, kind: LoopKind, work: f32) -> (Memory, Prices) {
        let memory = Memory::new();
        memory.learn(over(len), kind, if len == usize::MAX { 1000 } else { len }, work);
        (memory, Prices::new())
    }

    fn alone(why: Why) -> Launch {
        Launch::Alone { limit: Duration::from_micros(1), unlooked: 0, stretch: 1, why }
    }

    fn gap(micros: u64) -> Gap {
        let time = Duration::from_micros;
        Gap { since_begin: time(micros), since_end: None, patience: time(26), may_poll: true }
    }

    #[test]
    fn a_loop_that_ends_before_help_is_brief() {
        for (len, work, kind, is_brief) in [
            (1000, 19e3, LoopKind::THROUGH, true),
            (64, 5e3, LoopKind::LARGE_PARTIALS, true),
            (1000, 19e3, LoopKind::MAY_STOP, false),
            (8, 16e3, LoopKind::THROUGH, true),
            (1000, 21e3, LoopKind::THROUGH, false),
        ] {
            let (memory, prices) = known(len, kind, work);
            let launch = brief(&memory, &prices, over(len), kind);
            assert_eq!(launch.is_some(), is_brief, "{len} items of {work} ns");
        }
    }

    #[test]
    fn the_parts_of_a_brief_loop_take_about_the_same_time() {
        for (len, work, first, next) in [
            (1000, 19e3, 8, 416),
            (64, 1e3, 8, 64),
            (40, 5e3, 16, 40),
            (8, 19e3, 1, 3),
            (usize::MAX, 0.0, 8, usize::MAX - 7),
        ] {
            let (memory, prices) = known(len, LoopKind::THROUGH, work);
            let launch = brief(&memory, &prices, over(len), LoopKind::THROUGH);
            let expected = QuickLaunch { first, next, ..QuickLaunch::brief(len, 1.0) };
            assert_eq!(launch, Some(expected), "{len} items");
        }
    }

    #[test]
    fn brief_loops_get_full_decisions_again_when_calls_come_nearer() {
        let prices = Prices::new();
        let odds = |launch, is_waking, gap| quiet_odds(&prices, launch, is_waking, gap, 10e3);
        assert_eq!(odds(alone(Why::Short), false, gap(1_000)), EXPLORED_ONE_IN);
        assert_eq!(odds(alone(Why::Short), false, gap(12)), 0, "it is worth a helper that is awake");
        assert_eq!(odds(alone(Why::Rounds), false, gap(12)), NEAR_ONE_IN);
        assert_eq!(odds(alone(Why::Rounds), true, gap(12)), 0, "a helper is coming");
        assert_eq!(odds(Launch::Shared { helpers: 1 }, false, gap(12)), 0);
        assert_eq!(odds(Launch::PLAIN, false, gap(1_000)), EXPLORED_ONE_IN, "as if it were timed");
        let paused = Gap { may_poll: false, ..gap(12) };
        assert!(!paused.is_short(10e3));
        let near = odds(alone(Why::Rounds), false, paused);
        assert_eq!(near, NEAR_ONE_IN, "calls are near, whether helpers poll or not");
        assert_eq!(odds_after_brief(EXPLORED_ONE_IN, false), 0);
        assert_eq!(odds_after_brief(NEAR_ONE_IN, false), NEAR_ONE_IN);
        assert_eq!(odds_after_brief(NEAR_ONE_IN, true), EXPLORED_ONE_IN);
    }

    #[test]
    fn some_calls_are_timed_after_a_full_decision_and_then_none() {
        let calls = (1..=100).scan(BriefCalls::NEW, |calls, _| {
            *calls = calls.and_one();
            Some(calls.untimed())
        });
        let untimed: Vec<_> = calls.collect();
        assert!(untimed[..8].iter().all(|untimed| *untimed == 0));
        assert_eq!(untimed[8..], (1..=92).collect::<Vec<_>>());
    }

    /// A random number chooses the calls of a brief loop that get a full decision. The full
    /// decision has the same number.
    #[test]
    fn a_brief_loop_is_shared_now_and_then() {
        let (memory, prices) = known(1000, LoopKind::THROUGH, 19e3);
        for odds in [NEAR_ONE_IN, EXPLORED_ONE_IN] {
            let launch = |draw: Draw| {
                Case {
                    memory: &memory,
                    prices: &prices,
                    this: over(1000),
                    kind: LoopKind::THROUGH,
                    helpers: 7,
                    awake: false,
                    polling: 0,
                    is_waking: false,
                    is_timed: false,
                    gap: Some(gap(1_000)),
                    draw,
                    rounds: None,
                }
                .launch()
            };
            let numbers = (0..10_240_u64).map(|call| Draw(call.wrapping_mul(GOLDEN)));
            let shared =
                numbers.filter(|draw| draw.is_one_in(odds) && launch(*draw).helpers().is_some()).count();
            assert!((30..=50).contains(&shared), "{shared} of 10,240 calls");
        }
    }
}
