//! Whether helpers stay awake between loops.
//!
//! After a shared loop a helper polls for the next one. It polls at most for the time that it takes
//! to wake the helper, and only if the gap before this loop was shorter than that time. So polling
//! and waking together cost at most twice as much as the better of the two, whatever the gaps are
//! (A. R. Karlin and others, "Competitive randomized algorithms for nonuniform problems", 1990,
//! section 1). If waking is quick, a helper polls for longer, and this bound does not hold: see
//! `Prices::worth_staying_awake`.
//!
//! On one CPU helpers do not poll, nor under a CPU quota that does not let all workers run all the
//! time: see `SeatPlan::may_poll`. Neither do they poll after a loop with more workers than CPUs.
//! In these cases they poll only if the user has set `spin_before_park`. Loops of 15 µs with 15 µs
//! between them and two threads, in loops a second:
//!
//! | quota | plain loop | helpers poll | helpers sleep |
//! |---|---|---|---|
//! | 1.5 CPUs | 32,900 | 32,200 | 32,500 |
//! | 1.2 CPUs | 33,100 | 30,000 | 32,500 |
//! | 1 CPU | 33,200 | 25,700 | 32,400 |
//!
//! If helpers have polled in vain, they do not poll for a number of calls, which grows with each
//! failure. Helpers that poll only because calls explore whether help has become cheaper poll in
//! vain. (Otherwise, with a loop of 4 µs, k-means over 500 points, a helper polls for ever, and
//! rounds take 1.2 times the plain program's time.) Calls that are not shared count, too, if they
//! are decided. Otherwise a disturbed pool, which shares hardly any loop, would never reach the end
//! of a pause.

/// Whether helpers polled after the last shared loop, and the record of earlier polls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rhythm {
    /// Whether helpers poll after the last shared loop.
    pub(crate) polls: bool,
    /// The number of polls in vain, minus the number of successful polls.
    failures: u8,
    /// The number of calls after which helpers may poll again.
    pause: u32,
}

/// A shared loop, as far as it says whether helpers should poll.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoopSeen {
    /// Whether helpers were awake before the loop, and whether the gap before it was short.
    pub(crate) awake: bool,
    pub(crate) is_gap_short: bool,
    /// Whether other threads call loops, too.
    pub(crate) is_crowded: bool,
    pub(crate) explores: Explores,
}

/// Whether a loop was shared only to see whether help has become cheaper.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Explores {
    #[default]
    No,
    /// It was, and its helper is to be awake at the next call, which explores, too.
    Again,
    /// It was the last such loop.
    Last,
}

impl Rhythm {
    /// The rhythm before a call, shared or not.
    pub(crate) fn before_call(self) -> Self {
        Self { pause: self.pause.saturating_sub(1), ..self }
    }

    /// The rhythm after a shared loop.
    pub(crate) fn after_loop(self, seen: LoopSeen) -> Self {
        let LoopSeen { awake, is_gap_short, is_crowded, explores } = seen;
        if is_crowded {
            self.in_vain()
        } else {
            match explores {
                Explores::No => self.after(awake, is_gap_short),
                Explores::Again => Self { polls: true, ..self },
                Explores::Last => self.after_exploring(),
            }
        }
    }

    /// The rhythm after a shared loop. `awake` says whether helpers were awake before the loop, and
    /// `short` says whether the gap before the loop was short.
    fn after(self, awake: bool, short: bool) -> Self {
        let now = match (self.polls, awake) {
            (true, true) => Self { failures: self.failures.saturating_sub(1), pause: 0, ..self },
            (true, false) => self.in_vain(),
            (false, _) => self,
        };
        Self { polls: short && now.pause == 0, ..now }
    }

    /// The rhythm after a loop that explored with a helper that was awake. A second such loop is a
    /// poll in vain, unless helpers have polled for a loop that was worth sharing in between.
    fn after_exploring(self) -> Self {
        if self.failures > 0 { self.in_vain() } else { Self { failures: 1, ..self } }
    }

    /// The rhythm after a poll in vain. Also after a loop during which other threads call loops and
    /// need the CPUs, since a poll would be in vain then.
    fn in_vain(self) -> Self {
        let failures = (self.failures + 1).min(u8::BITS as u8);
        Self { polls: false, failures, pause: (1 << failures) - 2 } // no pause after the first failure
    }

    /// Whether helpers may poll after this call.
    pub(crate) fn may_poll(self) -> bool {
        self.pause == 0
    }

    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.pause) << u32::BITS | u64::from(self.failures) << 1 | u64::from(self.polls)
    }

    pub(crate) fn from_word(word: u64) -> Self {
        Self { polls: word & 1 == 1, failures: (word >> 1) as u8, pause: (word >> u32::BITS) as u32 }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The number of loops after which helpers poll. `gaps` says of each gap whether it is short.
    /// Helpers are awake before a loop if they have polled and the gap is short.
    fn polls(gaps: impl Iterator<Item = bool>) -> usize {
        let (mut rhythm, mut count) = (Rhythm::default(), 0);
        for short in gaps {
            rhythm = rhythm.before_call().after(rhythm.polls && short, short);
            assert_eq!(Rhythm::from_word(rhythm.to_word()), rhythm);
            count += usize::from(rhythm.polls);
        }
        count
    }

    #[test]
    fn helpers_poll_where_gaps_are_short() {
        assert_eq!(polls([true; 1000].into_iter()), 1000);
        assert_eq!(polls([false; 1000].into_iter()), 0);
        // Bursts of a hundred loops: one poll in vain for each burst.
        assert!((900..=1000).contains(&polls((0..1000).map(|number| number % 100 > 0))));
    }

    #[test]
    fn helpers_that_poll_in_vain_do_so_less_and_less() {
        let alternating = polls((0..10_000).map(|number| number % 2 == 0));
        assert!(alternating < 100, "{alternating} of 10000 loops");
    }

    #[test]
    fn a_pause_ends_where_no_loop_is_shared() {
        let often = (0..20).fold(Rhythm::default(), |rhythm, _| rhythm.in_vain());
        assert!(!often.may_poll() && !often.after(false, true).polls);
        let calls = (0..300).fold(often, |rhythm, _| rhythm.before_call());
        assert!(calls.may_poll() && calls.after(false, true).polls);
    }

    #[test]
    fn helpers_do_not_poll_for_loops_that_explore() {
        let (explored, shared) = (
            LoopSeen { awake: true, explores: Explores::Last, ..LoopSeen::default() },
            Rhythm::default().after(false, true),
        );
        assert!(shared.polls, "a helper that was woken waits for the next call");
        let once = shared.after_loop(explored);
        assert!(once.polls && !once.after_loop(explored).polls);
        // Beside loops that are worth sharing, a helper stays awake.
        let beside = (0..100).fold(shared, |rhythm, number| {
            let explores = if number % 4 == 0 { Explores::Last } else { Explores::No };
            let seen = LoopSeen { awake: true, is_gap_short: true, explores, is_crowded: false };
            let after = rhythm.before_call().after_loop(seen);
            assert!(after.polls);
            after
        });
        assert_eq!(beside.failures, 0);
    }

    #[test]
    fn what_becomes_regular_is_noticed() {
        let gaps = (0..1000).map(|number| number % 2 == 0).chain([true; 1000]);
        let regular = polls(gaps);
        assert!(regular > 700, "{regular} of 2000 loops");
    }
}
