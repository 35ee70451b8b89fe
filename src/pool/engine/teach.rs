//! At its end, a call tells the policy what it has seen.

use super::{
    account::Account,
    ask::Call,
    executor::Executor,
    inputs::with_rounds,
    loop_options::LoopOptions,
    plan::SharedPlan,
    run::{Running, SharedPart},
};
use crate::{
    clock::{Instant, nanos},
    pool::policy::{
        launch::{Launch, QuickVerdict, Why},
        learn::{ListCall, SharedCall},
        prices::HelpersAre,
        repeat::deciding,
        site::{Loop, LoopKind},
    },
    sync::try_lock_soon,
};

impl Executor {
    /// Learns from a plain loop that began at `begin`.
    #[cold]
    #[inline(never)]
    pub(super) fn learn_plain(&self, this: &Loop, kind: LoopKind, begin: Instant, verdict: QuickVerdict) {
        let took = begin.elapsed();
        if verdict == QuickVerdict::AloneAgain {
            self.gaps.begin(begin);
            return self.end_again(*this, kind, begin, nanos(took));
        }
        self.memory.learn(*this, kind, this.slice.len, nanos(took));
    }

    /// Learns from the times of a shared part, which has ended; at index `stop`, if it has stopped.
    /// Returns the loop's account, if an account is wanted.
    #[inline(never)]
    pub(super) fn end_shared(
        &self,
        shared: Box<SharedPart<'_>>,
        stop: Option<usize>,
        options: &LoopOptions<'_>,
    ) -> Option<Box<Account>> {
        let repeatable = if self.may_repeat(options) { shared.begun_alike(options) } else { None };
        let has_ranges = shared.has_ranges(options);
        let SharedPart { call, mut before, left, turn: _turn, plan, is_full, idle, mut times, .. } = *shared;
        let begin = before.begin + before.took;
        times.gather(begin);
        if options.kind.is_from_the_front() {
            // When a search is over, all its items count as done.
            options.watch.done(left.len().saturating_sub(times.indices()));
        }
        let Call { this, awake, launch, .. } = call;
        options.tell_around(&before, Some(&times));
        let now = Instant::now();
        let took = nanos(now - before.begin);
        // The price of help is that of a repeated call. The loop's own time is, too, but only if
        // its calls do repeat plans: otherwise it would never take so little time.
        let saved =
            repeatable.and_then(|_| with_rounds(|rounds| Some(rounds?.saved_by_repeating(this, took))));
        let helpers = self.helpers_are(this, awake, launch);
        let list = before.counted.map(|own| ListCall::new(own, nanos(before.took), times.items()));
        let seen = SharedCall {
            this,
            kind: options.kind,
            helpers,
            launch,
            is_full,
            list,
            alone: before.indices,
            took_alone: nanos(before.took),
            took: took - saved.unwrap_or(0.0),
            took_shared: nanos(now - begin),
            stop,
            deciding: repeatable.map_or(0.0, |_| deciding(took)),
        };
        if !options.watch.is_cancelled() && launch.is_learnt_from() {
            seen.learn(&self.memory, &self.prices, &times);
        } else if launch.is_trial() && list.is_some() {
            self.memory.learn_part_of_list(this, Some(f32::INFINITY));
        }
        let help = self.prices.help_time(awake);
        let account = options.account(&mut before, Ok(&mut times), self.program_report.is_some(), help);
        let account = account.map(|account| account.with_idle(idle));
        if let Some(mut splits) = try_lock_soon(&self.learnt) {
            if stop.is_none() && !options.watch.is_raised() {
                let boundaries = has_ranges.then_some(&plan.boundaries);
                let cpus = plan.workers.min(self.cpus_at_a_time);
                seen.learn_splits(&mut splits, boundaries, cpus, &mut times);
                if let Some(begun) = repeatable {
                    self.repeat_shared((this, begun), options, || {
                        let boundaries = splits.boundaries(this, true, plan.workers);
                        SharedPlan { boundaries, ..plan }
                    });
                }
            }
            splits.keep_times(times);
        }
        self.gaps.end(now);
        account
    }

    /// How helpers were when a shared call began. Rounds do not know a loop of long items, nor one
    /// that is shared for the first time.
    fn helpers_are(&self, this: Loop, awake: bool, launch: Launch) -> HelpersAre {
        if !awake {
            return HelpersAre::Asleep;
        }
        let is_known = || launch != Launch::Explored && self.memory.verdict(this).is_some();
        match with_rounds(|rounds| rounds.map(|rounds| rounds.is_warm(this))) {
            Some(is_warm) if !is_warm.unwrap_or_else(is_known) => HelpersAre::Cold,
            _ => HelpersAre::Warm,
        }
    }
}

impl Running<'_> {
    /// Learns from a loop that the calling thread has run alone. `is_judged` says whether that was
    /// meant to be faster than a shared call.
    #[inline(never)]
    pub(super) fn learn_alone(&self, is_judged: bool) {
        let Self { executor, call: Call { this, launch, .. }, options, ref solo, .. } = *self;
        if options.watch.is_cancelled() || !launch.is_learnt_from() {
            return;
        }
        let Executor { memory, prices, .. } = executor;
        let (timed, took) = solo.timed();
        if launch.why() == Some(Why::NewSlice) {
            return memory.learn_slice(this, options.kind, timed, nanos(took));
        }
        memory.learn(this, options.kind, timed, nanos(took));
        if launch.why() == Some(Why::Rounds) {
            executor.tell_of_rounds(options.wishes.at, this);
        }
        if is_judged && memory.learn_alone(prices, this, launch.is_trial(), nanos(took)) {
            executor.tell_of_faster(options.wishes.at, took);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::ptr;

    use super::*;
    use crate::pool::{
        PoolBuilder,
        policy::{
            rounds::{Ran, RoundBegin},
            site::{Site, Slice},
        },
        team::here::Inside,
    };

    #[test]
    fn helpers_are_warm_if_the_loop_is_known_to_be_shared_for_long() {
        let executor = PoolBuilder::default().num_threads(2).assemble_here(None).unwrap();
        let slice = Slice { address: 0x1000, len: 1000 };
        let this = Loop { site: Site::new(ptr::without_provenance(0x1230)), slice };
        let shared = Launch::Shared { helpers: 1 };
        let are = |awake, launch| executor.helpers_are(this, awake, launch);
        assert_eq!(are(false, shared), HelpersAre::Asleep);
        assert_eq!(are(true, shared), HelpersAre::Cold, "the first shared call");
        executor.memory.learn_shared(&executor.prices, this, LoopKind::THROUGH, (9e3, true), 1000, 5e3);
        assert_eq!(are(true, shared), HelpersAre::Warm, "rounds do not judge it");
        assert_eq!(are(true, Launch::Explored), HelpersAre::Cold);
        let (now, ran) = (Instant::now(), Ran::Shared);
        let call = RoundBegin { now, own: ran, shared: ran, took_alone: 9e3, took_shared: 5e3 };
        with_rounds(|rounds| rounds.map(|rounds| rounds.begin(this, call)));
        assert_eq!(are(true, shared), HelpersAre::Cold, "the first call that rounds have seen");
        let _item = Inside::new();
        assert_eq!(are(true, shared), HelpersAre::Warm, "in an item of a shared loop");
    }
}
