//! A call asks the policy how to run its loop: a quick question before the plain loop, and a full
//! one if that is not the answer.

use super::{
    again::end_alone,
    executor::{Executor, most_helpers},
    inputs::{draw, with_rounds},
    loop_options::{LoopOptions, is_logged},
};
use crate::{
    clock::{Instant, Moment},
    pool::{
        policy::{
            launch::{self, Case, Launch, NextCalls, QuickLaunch, QuickVerdict, Why},
            plain::PlainParts,
            prices::TOO_SHORT_TO_TIME_NS,
            site::{Loop, LoopKind},
        },
        team::here::Inside,
        tell::why_alone::Alone,
    },
    sync::Ordering,
};

/// A loop, and how it begins.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) this: Loop,
    pub(super) launch: Launch,
    /// Whether helpers were awake when the call began.
    pub(super) awake: bool,
    /// When the call was weighed; `None` if it was not weighed before it began.
    pub(super) weighed: Option<Instant>,
    /// Whether helpers that poll would have stayed awake since the last call.
    pub(super) is_gap_short: bool,
}

impl Call {
    /// A call that runs as the plain loop, or has already begun.
    pub(super) fn unweighed(this: Loop, launch: Launch, awake: bool) -> Self {
        Self { this, launch, awake, weighed: None, is_gap_short: false }
    }

    /// When the call begins to be timed. A call that is shared from its first item on begins when
    /// it is weighed: its invitations are part of its time.
    pub(super) fn begin(&self) -> Instant {
        let shared = self.weighed.filter(|_| self.launch.helpers().is_some());
        shared.unwrap_or_else(Instant::now)
    }
}

impl Executor {
    /// The quick launch: whether to run the plain loop, and in which parts. The user allows
    /// `threads` threads. This function reads few places in memory, because any further work would
    /// make a very short loop slower.
    #[inline(never)]
    pub(super) fn quick_launch(
        &self,
        this: &Loop,
        kind: LoopKind,
        threads: usize,
        is_bare: bool,
    ) -> QuickLaunch {
        let len = this.slice.len;
        if !self.is_unseen(is_bare) {
            return QuickLaunch { verdict: QuickVerdict::Unclear, parts: PlainParts::whole(len) };
        } else if most_helpers(len, self.workers.min(threads)) == 0 {
            return QuickLaunch { verdict: QuickVerdict::Plain, parts: PlainParts::whole(len) };
        }
        let idle = || self.could_help();
        let mut quick = launch::quick_launch(&self.memory, &self.prices, *this, kind, idle, draw);
        match quick.verdict {
            // A timed loop writes to memory that all threads read, so loops inside items are not
            // timed.
            QuickVerdict::Timed if Inside::is_here() => quick.verdict = QuickVerdict::Plain,
            QuickVerdict::Unclear => return self.alone_again(*this, kind, threads).unwrap_or(quick),
            _ => {}
        }
        quick
    }

    /// Whether no log and no report tells of a call. `is_bare` says whether the call has no
    /// handle, report, trace or list.
    #[inline(always)]
    pub(super) fn is_unseen(&self, is_bare: bool) -> bool {
        is_bare && !is_logged() && self.program_report.is_none()
    }

    /// Notes that this thread calls a loop while a thread from outside the pool shares a loop. A
    /// call inside an item of a shared loop is not noted.
    fn notice_crowd(&self) {
        if self.threads.barrier.callers() > 0
            && !Inside::is_here()
            && !self.is_crowded.load(Ordering::Relaxed)
        {
            self.is_crowded.store(true, Ordering::Relaxed);
        }
    }

    /// How a call goes on after the quick verdict, if the plain loop has folded its first `done`
    /// indices. A watched loop never runs as the plain loop.
    #[inline(never)]
    pub(super) fn weigh(
        &self,
        this: &Loop,
        verdict: QuickVerdict,
        done: usize,
        options: &LoopOptions<'_>,
    ) -> Call {
        let this = *this;
        if done > 0 {
            if options.kind.may_stop && !Inside::is_here() {
                // The time of the call is not known yet, but it is not short.
                self.memory.learn(this, options.kind, done, TOO_SHORT_TO_TIME_NS);
            }
            return self.weigh_again(this, options.kind);
        }
        // Only a loop over blocks: `call_plain` has run the others.
        if matches!(verdict, QuickVerdict::Plain | QuickVerdict::AloneAgain) {
            return Call::unweighed(this, Launch::PLAIN, false);
        }
        let most = self.most_helpers(this, options);
        let polling = self.threads.barrier.awake();
        let awake = polling > 0;
        let is_waking = !awake && self.threads.barrier.is_waking();
        let (mut launch, mut next) = (Launch::PLAIN, NextCalls::Decided);
        let has_idle = self.could_help() > 0;
        self.notice_crowd();
        let now = has_idle.then(Instant::now);
        let gap = now.map(|now| self.gaps.gap(now, &self.prices));
        let is_decided = most > 0 && !options.watch.is_cancelled();
        if is_decided {
            (launch, next) = with_rounds(|rounds| {
                let case = Case {
                    memory: &self.memory,
                    prices: &self.prices,
                    this,
                    kind: options.kind,
                    grows: options.list.is_some(),
                    helpers: most,
                    awake,
                    polling,
                    is_waking,
                    is_timed: verdict == QuickVerdict::Timed,
                    gap,
                    draw: draw(),
                    rounds: rounds.zip(now),
                };
                let launch = case.launch();
                (launch, case.next_calls(launch))
            });
        }
        if is_decided && has_idle && !options.kind.is_long {
            self.note_far(this, matches!(next, NextCalls::Far));
        }
        if let NextCalls::Alone(parts) = next {
            self.repeat_alone(this, options, parts, launch.why() == Some(Why::Faster));
        }
        let is_gap_short = gap.is_some_and(|gap| gap.is_short(self.memory.expected(this)));
        if options.is_watched() || self.program_report.is_some() {
            launch = launch.watched();
        }
        Call { this, launch, awake, weighed: now, is_gap_short }
    }

    /// How a call continues if it was expected to be short but is not. The next call gets a full
    /// decision, which learns the cost.
    #[cold]
    #[inline(never)]
    pub(super) fn weigh_again(&self, this: Loop, kind: LoopKind) -> Call {
        end_alone(this);
        self.note_far(this, false);
        let awake = self.threads.barrier.awake() > 0;
        let launch = Launch::unexpected((&self.memory, this), &self.prices, awake, kind);
        Call::unweighed(this, launch, awake)
    }

    /// Why a call has run alone, given that it was not cancelled and workers were idle.
    pub(super) fn why_alone(&self, call: &Call, options: &LoopOptions<'_>) -> Alone {
        match call.launch.why() {
            _ if self.most_helpers(call.this, options) == 0 => Alone::OneWorker,
            Some(Why::Faster) => Alone::Faster,
            Some(Why::Rounds) => Alone::Round,
            _ => Alone::Short,
        }
    }
}

/// Begins the first part of a plain loop.
#[inline(always)]
pub(super) fn begin_first(parts: &mut PlainParts) {
    if parts.is_checked() {
        parts.begin(if parts.is_timed() { now() } else { Moment::last() });
    }
}

/// A part of a plain loop has ended. Begins the next one. Returns `false` if that was the last one.
#[inline(never)] // few instructions in each loop
pub(super) fn begin_next(parts: &mut PlainParts) -> bool {
    parts.next(Moment::now())
}

#[cold]
#[inline(never)] // few instructions in each loop
fn now() -> Moment {
    Moment::now()
}
