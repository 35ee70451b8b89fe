//! Inputs of the policy. The policy neither reads a clock nor draws random numbers. Instead, a call
//! gives the policy its inputs: the time since the last call, what the calling thread knows of its
//! rounds, and a random number.

use std::{cell::Cell, time::Duration};

use crate::{
    clock::Instant,
    pool::{
        policy::{
            launch::{Draw, Gap},
            prices::Prices,
            rhythm::{LoopSeen, Rhythm},
            rounds::Rounds,
            site::GOLDEN,
        },
        team::here::Inside,
    },
    sync::{AtomicU64, Ordering, Patience},
};

/// The time between calls, and how long helpers stay awake after a loop. Relaxed throughout: these
/// are hints.
#[derive(Debug)]
pub(crate) struct Gaps {
    /// How long helpers poll, if this time is fixed: the user has set it, or it is zero because
    /// helpers may not poll.
    fixed: Option<Duration>,
    rhythm: AtomicU64,
    made: Instant,
    /// When the last call began, and when the last shared call ended, in nanoseconds after `made`.
    began: AtomicU64,
    ended: AtomicU64,
}

impl Gaps {
    pub(crate) fn new(fixed: Option<Duration>) -> Self {
        let zero = || AtomicU64::new(0);
        Self { fixed, rhythm: zero(), made: Instant::now(), began: zero(), ended: zero() }
    }

    /// How long helpers poll after a loop: the fixed time, or zero.
    pub(crate) fn fixed(&self) -> Patience {
        Patience::of(self.fixed.unwrap_or_default())
    }

    /// How long helpers that poll stay awake after a loop.
    pub(super) fn patience(&self, prices: &Prices) -> Duration {
        self.fixed.unwrap_or_else(|| prices.worth_staying_awake())
    }

    /// The time between the last call and the call that begins `now`.
    pub(crate) fn gap(&self, now: Instant, prices: &Prices) -> Gap {
        let now = self.nanos_of(now);
        let began = self.began.load(Ordering::Relaxed);
        self.began.store(now, Ordering::Relaxed);
        let ended = self.ended.load(Ordering::Relaxed);
        let (before, rhythm) = (self.rhythm(), self.rhythm().before_call());
        if rhythm != before {
            self.rhythm.store(rhythm.to_word(), Ordering::Relaxed);
        }
        Gap {
            since_begin: Duration::from_nanos(now.saturating_sub(began)),
            since_end: (ended > began).then(|| Duration::from_nanos(now.saturating_sub(ended))),
            patience: self.patience(prices),
            may_poll: self.fixed.is_some() || rhythm.may_poll(),
        }
    }

    /// A call alone that repeats an earlier one began at `begin`.
    pub(crate) fn begin(&self, begin: Instant) {
        self.began.store(self.nanos_of(begin), Ordering::Relaxed);
    }

    /// A shared loop begins. Returns how long helpers poll for the next loop.
    pub(crate) fn next(&self, seen: LoopSeen, prices: &Prices) -> Patience {
        if self.fixed.is_some() {
            return self.fixed();
        }
        let rhythm = self.rhythm().after_loop(seen);
        self.rhythm.store(rhythm.to_word(), Ordering::Relaxed);
        Patience::of(if rhythm.polls { prices.worth_staying_awake() } else { Duration::ZERO })
    }

    /// A shared loop has ended `now`.
    pub(crate) fn end(&self, now: Instant) {
        self.ended.store(self.nanos_of(now), Ordering::Relaxed);
    }

    fn rhythm(&self) -> Rhythm {
        Rhythm::from_word(self.rhythm.load(Ordering::Relaxed))
    }

    fn nanos_of(&self, time: Instant) -> u64 {
        u64::try_from((time - self.made).as_nanos()).unwrap_or(u64::MAX)
    }
}

thread_local!(static ROUNDS: Rounds = const { Rounds::new() });

/// Calls `decide` with this thread's knowledge of the rounds of its loops. In an item of a shared
/// loop there is no such knowledge, since the begin of a call says little about the program there.
pub(crate) fn with_rounds<T>(decide: impl FnOnce(Option<&Rounds>) -> T) -> T {
    ROUNDS.with(|rounds| decide((!Inside::is_here()).then_some(rounds)))
}

thread_local!(static LAST: Cell<u64> = const { Cell::new(0) });

/// The next number of this thread. The number is not used up: [`draw`] returns the same number.
pub(crate) fn upcoming() -> Draw {
    Draw(LAST.get().wrapping_add(GOLDEN))
}

/// The next number of this thread.
///
/// The numbers are multiples of the golden ratio. These multiples are spread evenly, and so is
/// every second or third multiple. A counter of calls would be wrong: if short loops alternate, a
/// fixed period would always select the same loop. Each thread has its own sequence, because a
/// common sequence would cost each caller a cache miss.
#[inline(always)]
pub(crate) fn draw() -> Draw {
    LAST.with(|last| {
        last.set(last.get().wrapping_add(GOLDEN));
        Draw(last.get())
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::pool::policy::rhythm::Explores;

    #[test]
    fn a_gap_begins_where_a_shared_loop_ended_and_otherwise_where_the_last_call_began() {
        let (gaps, prices) = (Gaps::new(None), Prices::new());
        let gap = || gaps.gap(Instant::now(), &prices);
        gap();
        assert_eq!(gap().since_end, None, "the last call was not shared");
        gaps.end(Instant::now());
        let after = gap();
        assert!(after.since_end.is_some_and(|end| end < after.since_begin), "{after:?}");
        assert_eq!(gap().since_end, None, "one call later");
    }

    #[test]
    fn a_gap_begins_where_a_call_began_that_repeats_an_earlier_one() {
        let (gaps, prices) = (Gaps::new(None), Prices::new());
        let begin = Instant::now();
        let at = |micros| begin + Duration::from_micros(micros);
        gaps.gap(at(1_000), &prices);
        gaps.begin(at(1_300));
        assert_eq!(gaps.gap(at(1_320), &prices).since_begin.as_micros(), 20);
    }

    #[test]
    fn helpers_do_not_poll_while_other_threads_call_loops() {
        let (gaps, prices) = (Gaps::new(None), Prices::new());
        let polls = |is_crowded| {
            gaps.gap(Instant::now(), &prices);
            let seen = LoopSeen { awake: true, is_gap_short: true, is_crowded, explores: Explores::No };
            !gaps.next(seen, &prices).is_none()
        };
        assert!(polls(false));
        assert!((0..8).all(|_| !polls(true)));
        let pause = (0..1000).position(|_| polls(false)).expect("they poll again");
        assert!((100..300).contains(&pause), "after {pause} loops");
    }

    #[test]
    fn the_user_has_the_last_word() {
        for asked in [Duration::ZERO, Duration::from_micros(50)] {
            let (gaps, prices) = (Gaps::new(Some(asked)), Prices::new());
            for is_gap_short in [false, true] {
                let seen =
                    LoopSeen { awake: true, is_gap_short, is_crowded: !is_gap_short, explores: Explores::No };
                assert_eq!(gaps.next(seen, &prices), Patience::of(asked));
            }
            assert_eq!(gaps.gap(Instant::now(), &prices).patience, asked);
        }
    }
}
