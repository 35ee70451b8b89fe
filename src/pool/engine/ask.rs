//! A call asks the policy how to run its loop: a quick question before the plain loop, and a full
//! one if that is not the answer.

use super::{
    again::end_alone,
    executor::{Executor, most},
    inputs::{Inside, count_brief, draw, upcoming, with_rounds},
    loop_options::{LoopOptions, is_logged},
};
use crate::{
    clock::Instant,
    pool::{
        policy::{
            brief,
            launch::{self, Case, Launch, QuickLaunch, QuickVerdict, Why},
            rounds::Rounds,
            site::{Loop, LoopKind},
        },
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
    /// A call that has already begun.
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
    /// The quick verdict: whether to run the plain loop, and in which parts. The user allows
    /// `threads` threads. This function reads few places in memory, because any further work would
    /// make a very short loop slower.
    #[inline(never)]
    pub(super) fn quick_verdict(
        &self,
        this: &Loop,
        kind: LoopKind,
        threads: usize,
        is_bare: bool,
    ) -> QuickLaunch {
        let len = this.slice.len;
        let verdict = if !self.is_unseen(is_bare) {
            QuickVerdict::Unclear
        } else if most(len, self.workers.min(threads)) == 0 {
            QuickVerdict::Plain
        } else {
            let idle = || self.could_help();
            match launch::quick_verdict(&self.memory, &self.prices, *this, kind, idle, draw) {
                // A timed loop writes to memory that all threads read, so loops inside items are
                // not timed.
                QuickVerdict::Timed if Inside::is_here() => QuickVerdict::Plain,
                QuickVerdict::Unclear => {
                    let odds = self.quiet.load(Ordering::Relaxed);
                    let brief = if odds > 0 { self.brief(*this, kind, odds) } else { None };
                    let parts = brief.or_else(|| self.alone_again(*this, threads));
                    return parts.unwrap_or(QuickLaunch::new(QuickVerdict::Unclear, len));
                }
                verdict => verdict,
            }
        };
        QuickLaunch::new(verdict, len)
    }

    /// Whether no log and no report tells of a call. `is_bare` says whether the call has no
    /// handle, report, trace or list.
    #[inline(always)]
    pub(super) fn is_unseen(&self, is_bare: bool) -> bool {
        is_bare && !is_logged() && self.program_report.is_none()
    }

    /// The launch of a brief loop; `None` if the loop is not brief. One in `odds` brief loops gets
    /// a full decision all the same.
    #[cold]
    #[inline(never)]
    fn brief(&self, this: Loop, kind: LoopKind, odds: u64) -> Option<QuickLaunch> {
        if self.threads.barrier.awake() > 0 || Inside::is_here() {
            return None;
        }
        let launch = brief::brief(&self.memory, &self.prices, this, kind)?;
        if upcoming().is_one_in(odds) {
            return None; // the full decision draws the same number
        }
        draw();
        let verdict = match count_brief() {
            0 => QuickVerdict::Brief,
            untimed => {
                if untimed == 1 {
                    with_rounds(|rounds| rounds.map(Rounds::forget_begins));
                }
                QuickVerdict::Plain
            }
        };
        Some(QuickLaunch { verdict, ..launch })
    }

    pub(super) fn set_quiet(&self, odds: u64) {
        if self.quiet.load(Ordering::Relaxed) != odds {
            self.quiet.store(odds, Ordering::Relaxed);
        }
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
            return self.weigh_again(this);
        }
        if matches!(verdict, QuickVerdict::Plain | QuickVerdict::Again) {
            return Call::unweighed(this, Launch::PLAIN, false);
        }
        let most = self.most(this, options);
        let polling = self.threads.barrier.awake();
        let awake = polling > 0;
        let is_waking = !awake && self.threads.barrier.is_waking();
        let mut launch = Launch::PLAIN;
        let has_idle = self.could_help() > 0;
        self.notice_crowd();
        let now = has_idle.then(Instant::now);
        let gap = now.map(|now| self.gaps.gap(now, &self.prices));
        let is_decided = most > 0 && !options.watch.is_cancelled();
        if is_decided {
            launch = with_rounds(|rounds| {
                let case = Case {
                    memory: &self.memory,
                    prices: &self.prices,
                    this,
                    kind: options.kind,
                    helpers: most,
                    awake,
                    polling,
                    is_waking,
                    is_timed: verdict == QuickVerdict::Timed,
                    gap,
                    draw: draw(),
                    rounds: rounds.zip(now),
                };
                case.launch()
            });
        }
        let mut is_gap_short = false;
        if let Some(gap) = gap {
            let expected = self.memory.expected(this);
            is_gap_short = gap.is_short(expected);
            if !awake && is_decided {
                self.set_quiet(brief::quiet_odds(&self.prices, launch, is_waking, gap, expected));
            }
        }
        if options.is_watched() || self.program_report.is_some() {
            launch = launch.watched();
        }
        Call { this, launch, awake, weighed: now, is_gap_short }
    }

    /// How a call continues if it was expected to be short but is not. The next call gets a full
    /// decision, which learns the cost.
    #[cold]
    #[inline(never)]
    pub(super) fn weigh_again(&self, this: Loop) -> Call {
        self.set_quiet(0);
        end_alone(this);
        let awake = self.threads.barrier.awake() > 0;
        let launch = Launch::begun_alone(&self.prices, awake, Why::Unexpected);
        Call::unweighed(this, launch, awake)
    }

    /// Why a call has run alone, given that it was not cancelled and workers were idle.
    pub(super) fn why_alone(&self, call: &Call, options: &LoopOptions<'_>) -> Alone {
        match call.launch.why() {
            _ if self.most(call.this, options) == 0 => Alone::OneWorker,
            Some(Why::Faster) => Alone::Faster,
            Some(Why::Rounds) => Alone::Round,
            _ => Alone::Short,
        }
    }
}
