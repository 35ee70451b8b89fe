//! When to wake the workers: the cost of a loop last time decides how the loop starts this time.
//!
//! Waking a thread costs the caller 0.2 to 7 µs, and the thread begins 10 to 40 µs later; on a
//! virtual machine whose idle CPUs halt, up to 30 µs and 300 µs. A shorter loop is best run by the
//! caller alone, and a very short one without a reading of the clock. So the pool remembers what an
//! item cost, in a few bytes for each loop in the program text. It measures what help costs from
//! helpers that sleep and from helpers that are awake. All of this is hints: they decide which
//! workers take part, never the result.
//!
//! A decision takes time, too, if the caches are cold: 2 µs for the quick verdict, and 7 µs for a
//! full decision. So while calls are so far apart that polling would not pay, few loops that end
//! before sleeping helpers could begin get a full decision.

use std::time::Duration;

use super::{
    alone_or_shared::{TRIAL_PARTS, parts_for},
    memory::Memory,
    plain::PlainParts,
    prices::{ASLEEP_NS, AT_FIRST, AWAKE_NS, CLEARLY, Prices, TOO_SHORT_TO_TIME_NS},
    repeat::LONGEST_REPEATED_NS,
    rhythm::Explores,
    rounds::{Ran, RoundBegin, Rounds},
    site::{Loop, LoopKind, Supply},
};
use crate::clock::{Instant, nanos, time};

/// In nanoseconds per item: for items below this, sharing pays only with more work. The reason is
/// that a shared loop begins with small claims, while the plain loop is vectorised from end to end.
/// (200,000 items of 0.17 ns took 33 µs alone and 44 µs shared.)
const VERY_CHEAP_NS: f32 = 1.0;
/// The factor that replaces [`CLEARLY`] if items are cheaper than [`VERY_CHEAP_NS`] and the helpers
/// sleep.
const VERY_CLEARLY: f32 = 2.0;
/// Exploration: one call in 16 of a loop that is too short to time is timed, so that changes are
/// noticed. So is one of the calls that are far apart.
pub(crate) const TIMED_ONE_IN: u64 = 16;
/// Exploration: of the calls that may be decided, one in 256 is shared although that seems not to
/// pay, so that a fall in the price of help is noticed. This holds for a loop that takes as long as
/// the assumed price of help: a longer loop explores more often, and a shorter one less often. So
/// exploring takes about the same part of a program's time, at most 1 or 2 %.
const EXPLORED_ONE_IN: u64 = 256;

/// A decision from a few words of memory, for most short loops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum QuickVerdict {
    /// Run the plain loop: the loop is far too short for help, or no worker is idle, or calls are
    /// too far apart for helpers to stay awake.
    Plain,
    /// Run the plain loop, as an earlier call, and time it. See [`repeat`](super::repeat).
    AloneAgain,
    /// The loop is far too short for help, but due to be timed.
    Timed,
    /// A full decision is needed.
    Unclear,
}

/// A quick verdict, and the parts of the plain loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuickLaunch {
    pub(crate) verdict: QuickVerdict,
    pub(crate) parts: PlainParts,
}

/// Why a loop starts on the calling thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Why {
    /// The loop is too short to share, or unknown.
    Short,
    /// The loop was short over this slice, and its first items took microseconds. The pool does not
    /// learn from such a call, since one loop of the program text may run over cheap and heavy
    /// items in turn, and should still count as short. (If the loop has become heavy for good, the
    /// next call that is timed shows that.)
    Unexpected,
    /// As [`Why::Unexpected`], over a slice that is new. The pool learns the cost for this slice
    /// only: the loop may run over cheap and heavy slices in turn.
    NewSlice,
    /// The loop is known to be faster alone, or this is tried.
    Faster,
    /// The rounds of the program are known to be faster with the loop alone, or this is tried.
    Rounds,
}

/// How a loop starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Launch {
    /// On the calling thread, which reads the clock: the items that are left after `limit` are
    /// shared.
    Alone {
        limit: Duration,
        /// Whether the loop runs as the plain loop, which is not timed.
        is_plain: bool,
        /// The number of items between the first reading of the clock and the second.
        stretch: usize,
        why: Why,
    },
    /// On the calling thread, to see whether that takes less than the usual time of a `shared`
    /// call, or less than a part of it in the first call of the trial of a list that grows. If the
    /// caller falls behind, the rest is shared.
    Trial { shared: Duration },
    /// On the calling thread and `helpers` others from the start.
    Shared { helpers: usize },
    /// On the calling thread and one other, to see whether help has become cheaper.
    Explored,
}

impl Launch {
    /// As the plain loop: helpers are of no use.
    pub(crate) const PLAIN: Self =
        Self::Alone { limit: Duration::MAX, is_plain: true, stretch: 1, why: Why::Short };

    /// As the plain loop. If the loop is watched, as this launch.
    fn plain(mut self) -> Self {
        if let Self::Alone { is_plain, .. } = &mut self {
            *is_plain = true;
        }
        self
    }

    /// Whether the loop runs as the plain loop.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Self::Alone { is_plain: true, .. })
    }

    /// The launch of a watched loop: its caller checks the clock or a handle from the start.
    pub(crate) fn watched(mut self) -> Self {
        if let Self::Alone { is_plain, .. } = &mut self {
            *is_plain = false;
        }
        self
    }

    /// Why the call begins alone. `None` if it is shared from the start.
    pub(crate) fn why(self) -> Option<Why> {
        match self {
            Self::Alone { why, .. } => Some(why),
            Self::Trial { .. } => Some(Why::Faster),
            _ => None,
        }
    }

    /// Whether the pool learns the cost of items from the call.
    pub(crate) fn is_learnt_from(self) -> bool {
        self.why() != Some(Why::Unexpected)
    }

    /// The number of helpers, if it is known from the start.
    pub(crate) fn helpers(self) -> Option<usize> {
        match self {
            Self::Shared { helpers } => Some(helpers),
            Self::Explored => Some(1),
            _ => None,
        }
    }

    /// Whether the call is shared only to see whether help has become cheaper. `awake` says whether
    /// a helper was awake when it began.
    pub(crate) fn explores(self, prices: &Prices, awake: bool) -> Explores {
        match self {
            Self::Explored if prices.explores_again(awake) => Explores::Again,
            Self::Explored => Explores::Last,
            _ => Explores::No,
        }
    }

    /// Whether the call is a trial of running alone.
    pub(crate) fn is_trial(self) -> bool {
        matches!(self, Self::Trial { .. })
    }

    /// On the calling thread, which reads the clock from the start, for `limit` nanoseconds.
    fn alone(limit: f32, stretch: f32, why: Why) -> Self {
        Self::Alone { limit: time(limit), is_plain: false, stretch: (stretch as usize).max(1), why }
    }

    /// On the calling thread, which does not know the cost of an item.
    fn begun_alone(prices: &Prices, awake: bool) -> Self {
        Self::alone(AT_FIRST * prices.help(awake), 1.0, Why::Short)
    }

    /// On the calling thread, which has begun a loop that takes longer than expected. A loop that
    /// may stop probably stops soon.
    pub(crate) fn unexpected(case: (&Memory, Loop), prices: &Prices, awake: bool, kind: LoopKind) -> Self {
        let part = if kind.may_stop { CLEARLY } else { AT_FIRST };
        let (memory, this) = case;
        let why = if memory.over_this(this).is_none() { Why::NewSlice } else { Why::Unexpected };
        Self::alone(part * prices.help(awake), 1.0, why)
    }
}

/// A random number for one call. All numbers are equally likely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    /// Returns `true` in one of `odds` calls on average.
    #[inline(always)]
    pub(crate) fn is_one_in(self, odds: u64) -> bool {
        self.0 < u64::MAX / odds
    }
}

/// A decision from a few words of memory, for a loop that has enough items for helpers. `idle`
/// returns the number of idle workers, and is not called if the loop is short. If no worker is
/// idle, a loop that would end before help pays runs as the plain loop. A longer loop gets a full
/// decision, since a worker may become idle while the loop runs.
#[inline(always)]
pub(crate) fn quick_launch(
    memory: &Memory,
    prices: &Prices,
    this: Loop,
    kind: LoopKind,
    idle: impl FnOnce() -> usize,
    draw: impl FnOnce() -> Draw,
) -> QuickLaunch {
    let len = this.slice.len;
    let with = |verdict| QuickLaunch { verdict, parts: PlainParts::short(len) };
    let unclear = with(QuickVerdict::Unclear);
    let until_stop = || {
        let launch =
            |item| QuickLaunch { parts: PlainParts::until_stop(len, item), ..with(QuickVerdict::Plain) };
        memory.pace(this).map_or(unclear, launch)
    };
    match memory.call(this, kind) {
        Some(expected) if expected < 2.0 * prices.help(false) => {
            if expected < prices.short.get() && !kind.is_long {
                // The pool learns from where a call stops, which only a decided call notes.
                return match (kind.may_stop, draw().is_one_in(TIMED_ONE_IN)) {
                    (true, true) => unclear,
                    (true, false) => until_stop(),
                    (false, true) => with(QuickVerdict::Timed),
                    (false, false) => with(QuickVerdict::Plain),
                };
            }
            match idle() {
                0 if kind.may_stop => until_stop(),
                0 => with(QuickVerdict::Plain),
                _ => unclear,
            }
        }
        _ => unclear,
    }
}

/// The launch of a call of `expected` nanoseconds while all helpers sleep, if it is too short to
/// wake one for. `None` otherwise.
pub(crate) fn asleep_launch(this: Loop, expected: f32, draw: impl FnOnce() -> Draw) -> Option<QuickLaunch> {
    let is_short = 0.0 < expected && expected < TOO_SHORT_TO_TIME_NS;
    is_short.then(|| timed_or_plain(PlainParts::of(this.slice.len, expected), draw()))
}

/// A plain loop that is timed in one call of [`TIMED_ONE_IN`].
fn timed_or_plain(parts: PlainParts, draw: Draw) -> QuickLaunch {
    let is_timed = draw.is_one_in(TIMED_ONE_IN);
    QuickLaunch { verdict: if is_timed { QuickVerdict::Timed } else { QuickVerdict::Plain }, parts }
}

/// While all helpers sleep: whether chance chooses a call of `expected` nanoseconds for a decision.
/// The decision gets the same number, so it explores as often as if all calls were decided.
pub(crate) fn is_drawn(draw: Draw, expected: f32) -> bool {
    draw.is_one_in(explored_one_in(expected, false).min(EXPLORED_ONE_IN))
}

/// The launch of a call that is far from the last one, if all helpers sleep. `None` if it gets a
/// decision: the loop is unknown, or might not end before help. Chance chooses further calls for a
/// decision, which gets the same number.
pub(crate) fn far_launch(
    memory: &Memory,
    prices: &Prices,
    this: Loop,
    kind: LoopKind,
    draw: Draw,
) -> Option<QuickLaunch> {
    let item = if kind.may_stop { memory.pace(this) } else { memory.over_this(this) };
    let takes = item? * this.slice.len as f32; // through all items
    if takes >= prices.help(false) || kind.is_long || is_drawn(draw, takes) {
        return None;
    }
    let quick = timed_or_plain(PlainParts::of(this.slice.len, takes), draw);
    // The pool learns from where a call stops, which only a decided call notes.
    (!kind.may_stop || quick.verdict == QuickVerdict::Plain).then_some(quick)
}

/// The launch of the rest of a loop, which has `work` nanoseconds of work. The caller has begun
/// alone because no worker was idle. Now a worker is idle. `None` if the caller should go on alone.
pub(crate) fn of_rest(prices: &Prices, work: f32, awake: bool) -> Option<Launch> {
    let worth_sharing = CLEARLY * prices.help(awake);
    let helpers = helpers_worth(prices, work, worth_sharing).max(1);
    (work >= worth_sharing).then_some(Launch::Shared { helpers })
}

/// The thread that would run the second closure of a join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JoinHelp {
    /// A worker or a waiting caller that needs no wake-up.
    Awake,
    /// A worker that sleeps.
    Asleep,
    /// A worker that becomes idle later, and finds the offer. Most such offers are in vain. (With
    /// this price, a skewed tree of 130 µs takes 0.60 of its time on one thread, and 0.72 with the
    /// price of a sleeping worker. An even tree of 64 leaves of 1 µs takes 0.56, and 0.60 with the
    /// price of a worker that is awake.)
    Later,
}

/// Whether the second closure of a join is offered to a worker. The closure takes `cost`
/// nanoseconds, if that is known. It is offered if its cost is unknown or clearly worth a worker. A
/// cheaper closure is offered now and then, if there is a `draw`: an outermost join measures the
/// cost of help. Work that is too short to be timed is never worth a worker, since it takes much
/// longer with the cold caches of that worker.
pub(crate) fn is_join_worth_it(
    prices: &Prices,
    cost: Option<f32>,
    help: JoinHelp,
    draw: Option<Draw>,
) -> bool {
    let price = match help {
        JoinHelp::Awake => CLEARLY * prices.help(true),
        JoinHelp::Asleep => CLEARLY * prices.help(false),
        JoinHelp::Later => ASLEEP_NS,
    };
    let worth_it = f32::max(price, TOO_SHORT_TO_TIME_NS);
    let awake = help != JoinHelp::Asleep;
    let odds = |cost| explored_one_in(cost, awake).min(EXPLORED_ONE_IN);
    let explores = |cost| draw.is_some_and(|draw| draw.is_one_in(odds(cost)));
    cost.is_none_or(|cost| cost >= worth_it || explores(cost))
}

/// The number of calls of which one is shared although that seems not to pay. Each of them takes
/// `expected` nanoseconds.
fn explored_one_in(expected: f32, awake: bool) -> u64 {
    let assumed = if awake { AWAKE_NS } else { ASLEEP_NS };
    ((EXPLORED_ONE_IN as f32 * assumed / expected) as u64).max(1)
}

/// Whether the second closure of a join that is not offered is timed. It is always timed below the
/// outermost level and above level `last`: joins at these levels are few, and they soon show that a
/// recursion runs over more data. At other levels it is timed now and then.
pub(crate) fn is_join_timed(level: u32, last: u32, draw: Draw) -> bool {
    level > 0 && level < last || draw.is_one_in(TIMED_ONE_IN)
}

/// The number of helpers that pay for `work` nanoseconds of work. Each helper needs `worth_sharing`
/// nanoseconds of work to pay.
fn helpers_worth(prices: &Prices, work: f32, worth_sharing: f32) -> usize {
    prices.most_helpers(work).min((work / worth_sharing) as usize)
}

/// The gap between a call and the last call of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// The time since the last call began.
    pub(crate) since_begin: Duration,
    /// The time since the last call ended, if that was shared.
    pub(crate) since_end: Option<Duration>,
    /// How long helpers that poll stay awake after a loop, and whether they may poll at present.
    pub(crate) patience: Duration,
    pub(crate) may_poll: bool,
}

impl Gap {
    /// Whether helpers may poll, and would have stayed awake through the gap. A call of the loop is
    /// expected to take `expected` nanoseconds.
    pub(crate) fn is_short(self, expected: f32) -> bool {
        self.may_poll && !self.is_long(expected)
    }

    /// Whether a helper that is woken now would probably still be awake when the next such call
    /// begins, which is expected to take `expected` nanoseconds. If the last call was shared, it
    /// would not: the helpers of that call already sleep.
    pub(crate) fn is_worth_waking(self, expected: f32) -> bool {
        self.since_end.is_none() && self.is_short(expected)
    }

    /// Whether even helpers that poll would have slept before the end of the gap.
    pub(super) fn is_long(self, expected: f32) -> bool {
        let idle = self.since_end.map_or(nanos(self.since_begin) - expected, nanos);
        idle.max(0.0) >= nanos(self.patience)
    }
}

/// How the next calls of a loop are decided ([`repeat`](super::repeat)).
#[derive(Debug)]
pub(crate) enum NextCalls {
    /// One by one.
    Decided,
    /// They run alone in these parts, for a number of calls.
    Alone(PlainParts),
    /// They are compared with this one, as long as calls are far apart.
    Far,
}

/// The expected costs of a call, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// Of an item that is reached.
    item: f32,
    /// Of all items that are reached.
    call: f32,
}

/// A call, with all inputs of the decision on its launch.
#[allow(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Case<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) prices: &'a Prices,
    pub(crate) this: Loop,
    pub(crate) kind: LoopKind,
    /// Whether the loop runs over a list that grows.
    pub(crate) grows: bool,
    /// The number of workers that can help; whether any idle worker is awake; the number of idle
    /// workers that are awake; and whether a worker was rung and is not awake yet.
    pub(crate) helpers: usize,
    pub(crate) awake: bool,
    pub(crate) polling: usize,
    pub(crate) is_waking: bool,
    /// Whether the loop is timed even if it is very short.
    pub(crate) is_timed: bool,
    /// `None` if no worker is idle.
    pub(crate) gap: Option<Gap>,
    pub(crate) draw: Draw,
    /// The calling thread's knowledge of the rounds of its loops, and the time. `None` if no worker
    /// is idle, or if the loop is inside an item of another one.
    pub(crate) rounds: Option<(&'a Rounds, Instant)>,
}

impl Case<'_> {
    /// How the loop should start.
    pub(crate) fn launch(&self) -> Launch {
        let &Self { prices, this, kind, helpers, awake, is_waking, gap, draw, .. } = self;
        if kind.is_long {
            return Launch::Shared { helpers };
        }
        let Some(costs) = self.expected() else { return self.unknown() };
        let Expected { item: cost, call: expected } = costs;
        // A loop in order has too few blocks if its work is less than `ASLEEP_NS`. (A scan of
        // 30,000 sums of `u64`, which takes 7 µs alone, took 1.20 times the plain loop's time when
        // shared.)
        let least = if kind.supply == Supply::InOrder { ASLEEP_NS } else { 0.0 };
        let worth_sharing = f32::max(self.worth_sharing(cost, awake), least);
        let shareable = self.shareable(costs);
        // A trial of sharing that is under way goes on, whatever help costs.
        let tries_sharing = self.rounds.is_some_and(|(rounds, _)| rounds.tries_sharing(this))
            && shareable >= f32::max(TOO_SHORT_TO_TIME_NS, least);
        if shareable >= worth_sharing || awake && tries_sharing {
            let worth_sharing = worth_sharing.min(shareable);
            return self.faster(costs, (self.shared(shareable, worth_sharing), Ran::Shared));
        }
        // While a helper that was woken before is on its way, no other one is woken.
        let will_be_awake = || gap.is_some_and(|gap| gap.is_worth_waking(expected));
        if !awake
            && !is_waking
            && shareable >= f32::max(TOO_SHORT_TO_TIME_NS, least)
            && will_be_awake()
            && (tries_sharing || shareable >= self.worth_sharing(cost, true))
        {
            return self.faster(costs, (Launch::Shared { helpers: 1 }, Ran::Waking));
        }
        // Of calls that are shorter, rounds know nothing, since most of them get no decision.
        if expected >= prices.short.get()
            && let Some((rounds, now)) = self.rounds
        {
            rounds.begin_alone(this, now);
        }
        // This call explores whether help has become cheaper.
        let imaginable = if awake { AWAKE_NS } else { TOO_SHORT_TO_TIME_NS };
        let explores = || awake && prices.is_exploring() || draw.is_one_in(explored_one_in(expected, awake));
        if shareable >= f32::max(imaginable, least) && explores() {
            return Launch::Explored;
        }
        let limit = f32::max(worth_sharing, TOO_SHORT_TO_TIME_NS);
        let launch = Launch::alone(limit, AT_FIRST * limit / cost, Why::Short);
        if self.is_timed { launch } else { self.timed_now_and_then(launch, expected) }
    }

    /// The expected costs of the call. `None` if the loop is unknown. A loop that may stop is
    /// expected to take as long as the mean of its last calls over this slice. If the slice is new,
    /// the last calls over any slice count.
    fn expected(&self) -> Option<Expected> {
        let &Self { memory, this, kind, .. } = self;
        let item = memory.item(this, kind)?;
        let call = memory.call(this, kind).unwrap_or(item * this.slice.len as f32);
        Some(Expected { item, call })
    }

    /// The part of the expected time that workers can share from the start, if all items take the
    /// same time. In a loop over ranges that stops at an item, a helper works in vain whose range
    /// begins behind this item. (If the loop takes longer than expected, it is shared later.)
    fn shareable(&self, Expected { item, call }: Expected) -> f32 {
        let Self { this, kind, helpers, .. } = *self;
        if !kind.may_stop || kind.is_from_the_front() {
            return call;
        }
        call - (item * this.slice.len as f32 - call).max(0.0) / helpers as f32
    }

    /// How the calls after this one are decided, which has this `launch`.
    pub(crate) fn next_calls(&self, launch: Launch) -> NextCalls {
        if self.is_far(launch) {
            return NextCalls::Far;
        }
        self.parts_of_next_calls(launch).map_or(NextCalls::Decided, NextCalls::Alone)
    }

    /// Whether all helpers sleep, and calls are so far apart that helpers which poll would sleep,
    /// too. This call has this `launch`.
    fn is_far(&self, launch: Launch) -> bool {
        let &Self { memory, this, awake, is_waking, gap, .. } = self;
        let is_long = |gap: Gap| gap.is_long(memory.expected(this));
        launch.helpers().is_none() && !awake && !is_waking && gap.is_some_and(is_long)
    }

    /// In which parts the next calls run alone without a decision, after this call, which has this
    /// `launch`. `None` if each of them is decided. See [`repeat`](super::repeat).
    fn parts_of_next_calls(&self, launch: Launch) -> Option<PlainParts> {
        let &Self { memory, prices, this, awake, is_waking, .. } = self;
        let Launch::Alone { why, .. } = launch else { return None };
        let expected = memory.expected(this);
        if expected <= 0.0 || expected > LONGEST_REPEATED_NS {
            return None; // it is unknown, or long
        }
        let is_settled = if awake {
            !launch.is_plain() // most such calls are not timed, and some explore
        } else {
            !is_waking && (why != Why::Short || expected < CLEARLY * prices.help(true))
        };
        is_settled.then(|| PlainParts::timed(this.slice.len, expected))
    }

    /// The launch of an unknown loop. If the loop has few items, each item may be long, so helpers
    /// are woken before the first item. This costs a loop of cheap items some microseconds, once.
    /// If the loop has many items, or no worker is idle, the caller begins alone, and reads the
    /// clock after the first item.
    fn unknown(&self) -> Launch {
        let &Self { prices, this, helpers, awake, gap, .. } = self;
        let few = usize::from(TRIAL_PARTS) * (helpers + 1);
        if (2..=few).contains(&this.slice.len) && gap.is_some() {
            Launch::Shared { helpers }
        } else {
            Launch::begun_alone(prices, awake)
        }
    }

    /// The launch of a loop that is worth sharing at the current price of help: shared or alone, as
    /// the rounds of its program or else its own verdict say, or a trial of the opposite. An item
    /// takes `cost` nanoseconds. The caller can give up a trial of running alone only at the end of
    /// an item. So a loop of long items is not tried alone. Items are long in two cases. An item
    /// costs at least [`TRIAL_PARTS`] times the price of help. Or an item costs clearly more than
    /// that price, and also more than one of [`TRIAL_PARTS`] equal parts of a shared call. In a
    /// list that grows, `cost` is that of a seed, and calls over long items make no verdict.
    fn faster(&self, costs: Expected, (shared, ran): (Launch, Ran)) -> Launch {
        let &Self { memory, prices, this, grows, .. } = self;
        let Expected { item: cost, call: expected } = costs;
        let len = this.slice.len as f32;
        let Some(verdict) = memory.verdict(this) else { return shared };
        let (help, parts, usually) = (prices.help(false), f32::from(TRIAL_PARTS), verdict.usually * len);
        let is_long = cost >= parts * help || cost >= CLEARLY * help && parts * cost > usually;
        if !verdict.alone && is_long && !grows {
            return shared;
        }
        // Because the verdict is "alone", or because running alone is tried.
        let begins_alone = verdict.alone != verdict.is_trial_due() && !verdict.is_outdated(expected / len);
        let own = if begins_alone && verdict.alone { Ran::Alone } else { ran };
        let decided = self.rounds.filter(|_| !(grows && is_long)).and_then(|(rounds, now)| {
            let (took_alone, took_shared) = (expected, usually);
            rounds.begin(this, RoundBegin { now, own, shared: ran, took_alone, took_shared })
        });
        let looks = f32::from(parts_for(time(expected)));
        match decided {
            Some(true) => return Launch::alone(2.0 * expected, len / looks, Why::Rounds),
            Some(false) => return shared,
            None if !begins_alone => return shared,
            None if !verdict.alone => return Launch::Trial { shared: verdict.trial_time(len, grows) },
            None => {}
        }
        let limit = f32::max(2.0 * expected, verdict.usually * len);
        self.timed_now_and_then(Launch::alone(limit, len / looks, Why::Faster), expected)
    }

    /// This launch; but most calls of a loop that is too short to time run as the plain loop. A
    /// loop that may stop is timed, since most of its short calls get no decision.
    fn timed_now_and_then(&self, launch: Launch, expected: f32) -> Launch {
        let Self { kind, draw, .. } = *self;
        let is_timed = kind.may_stop || expected >= TOO_SHORT_TO_TIME_NS || draw.is_one_in(TIMED_ONE_IN);
        if is_timed { launch } else { launch.plain() }
    }

    /// A shared launch with the number of helpers that pay for the work, at least one. If helpers
    /// are awake, the limit of this number is the larger of two numbers: the number of helpers that
    /// would pay if all of them slept, and twice the number of awake helpers. If the loop is called
    /// again and again, all helpers that pay are soon awake. (If the caller called all of them at
    /// once, it would still be waking sleepers when the awake helpers have done the work.)
    fn shared(&self, expected: f32, worth_sharing: f32) -> Launch {
        let Self { prices, awake, .. } = self;
        let mut worth = helpers_worth(prices, expected, worth_sharing);
        if *awake {
            let woken = helpers_worth(prices, expected, CLEARLY * prices.help(false));
            worth = worth.min(woken.max(2 * self.polling));
        }
        Launch::Shared { helpers: worth.clamp(1, self.helpers) }
    }

    /// The work that clearly exceeds the cost of help, in nanoseconds, in a loop whose items cost
    /// `cost` nanoseconds.
    fn worth_sharing(&self, cost: f32, awake: bool) -> f32 {
        let clearly = if cost < VERY_CHEAP_NS && !awake { VERY_CLEARLY } else { CLEARLY };
        clearly * self.prices.help(awake)
    }
}

/// The number of indices of a shared loop that the plain loop would also have reached, and the work
/// on these indices.
///
/// Helpers may have folded items behind the `stop`, which the plain loop never reaches. If these
/// items counted, a loop that stops early would seem long after one shared call, and would be
/// shared again.
pub(crate) fn up_to(stop: Option<usize>, indices: usize, work: f32) -> (usize, f32) {
    let needed = stop.map_or(indices, |place| indices.min(place + 1));
    (needed, work * needed as f32 / indices.max(1) as f32)
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use std::{cell::Cell, ptr};

    use super::{
        super::site::{Site, Slice},
        *,
    };

    /// The address is constant: at one address in a hundred, two words that a test needs would have
    /// the same place in the table.
    fn over(len: usize) -> Loop {
        Loop { site: Site::new(ptr::without_provenance(0x1230)), slice: Slice { address: 0x1000, len } }
    }

    /// The policy of a pool.
    struct Costs {
        memory: Memory,
        prices: Prices,
        patience: Duration,
        drawn: Cell<u64>,
    }

    impl Costs {
        fn new(patience: Duration) -> Self {
            Self { memory: Memory::new(), prices: Prices::new(), patience, drawn: Cell::new(0) }
        }

        /// Multiples of the golden ratio.
        fn draw(&self) -> Draw {
            self.drawn.set(self.drawn.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
            Draw(self.drawn.get())
        }

        fn quick_launch(&self, this: Loop, kind: LoopKind) -> QuickLaunch {
            quick_launch(&self.memory, &self.prices, this, kind, || 1, || self.draw())
        }

        fn launch(&self, this: Loop, awake: bool, kind: LoopKind) -> Launch {
            self.launch_with(7, this, awake, kind)
        }

        fn launch_with(&self, helpers: usize, this: Loop, awake: bool, kind: LoopKind) -> Launch {
            self.launch_of(helpers, helpers, this, awake, kind)
        }

        fn launch_of(
            &self,
            helpers: usize,
            polling: usize,
            this: Loop,
            awake: bool,
            kind: LoopKind,
        ) -> Launch {
            let draw = self.draw();
            Case { kind, helpers, awake, polling, draw, ..self.case(this, MICRO) }.launch()
        }

        /// A call that begins `since` after the last one, while 7 helpers sleep.
        fn case(&self, this: Loop, since: Duration) -> Case<'_> {
            let Self { memory, prices, patience, .. } = self;
            let gap = Some(Gap { since_begin: since, since_end: None, patience: *patience, may_poll: true });
            let (kind, grows, helpers, polling, draw) = (LoopKind::THROUGH, false, 7, 0, Draw(u64::MAX));
            let (awake, is_waking, is_timed, rounds) = (false, false, false, None);
            Case {
                memory,
                prices,
                this,
                kind,
                grows,
                helpers,
                awake,
                polling,
                is_waking,
                is_timed,
                gap,
                draw,
                rounds,
            }
        }

        fn learn(&self, this: Loop, kind: LoopKind, indices: usize, work: f32) {
            self.memory.learn(this, kind, indices, work);
        }

        fn learn_help(&self, awake: bool, delay: Option<f32>, wake: f32, length: f32) {
            self.prices.learn(awake, 1, delay, wake, length);
        }
    }

    const MICRO: Duration = Duration::from_micros(1);

    /// The launch of a loop where help costs 20 µs.
    fn launch(costs: &Costs, len: usize) -> Launch {
        costs.launch(over(len), false, LoopKind::THROUGH)
    }

    fn is_shared(launch: Launch) -> bool {
        launch.helpers().is_some()
    }

    /// Its caller reads the clock anyway, so a watched loop is shared if it takes longer than
    /// expected.
    #[test]
    fn a_watched_loop_never_runs_as_the_plain_loop() {
        let launch = Launch::alone(5e3, 3.0, Why::Faster);
        assert!(launch.plain().is_plain() && !launch.is_plain());
        assert_eq!(launch.plain().watched(), launch);
        let Launch::Alone { limit, is_plain: false, .. } = Launch::PLAIN.watched() else {
            panic!("it is alone")
        };
        assert_eq!(limit, Duration::MAX, "helpers are of no use");
    }

    #[test]
    fn loops_are_launched_by_what_they_cost() {
        let costs = Costs::new(Duration::ZERO);
        assert_eq!(launch(&costs, 1000), Launch::alone(5e3, 1.0, Why::Short), "unknown");
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 100e3);
        assert_eq!(launch(&costs, 1000), Launch::Shared { helpers: 3 });
        assert_eq!(launch(&costs, 9000), Launch::Shared { helpers: 7 });
        assert_eq!(launch(&costs, 270), Launch::Shared { helpers: 1 }, "27 µs");
        let shared = (0..640).filter(|_| is_shared(launch(&costs, 250))).count();
        assert!((1..=20).contains(&shared), "25 µs: {shared} of 640 are shared all the same");
        assert!((0..9).any(|_| matches!(launch(&costs, 250), Launch::Alone { stretch: 65, .. })));
        for stride in 1..=16 {
            // Each of the `stride` loops of a round is timed as often as the others.
            let timed = (0..16_000).filter(|i| !launch(&costs, 10).is_plain() && i % stride == 0).count();
            let expected = 1000 / stride;
            assert!(
                (expected / 2..=2 * expected + 2).contains(&timed),
                "{timed} of {} are timed",
                16_000 / stride
            );
        }
        let other = Loop { site: Site::new(ptr::without_provenance(0x4560)), ..over(1000) };
        assert_eq!(
            costs.launch(other, false, LoopKind::THROUGH),
            launch(&Costs::new(Duration::ZERO), 1000),
            "another loop"
        );
    }

    /// Help from a sleeping helper costs 20 µs, and help from an awake helper costs hardly
    /// anything.
    #[test]
    fn who_is_awake_is_asked_for_with_as_many_sleepers_or_those_that_pay() {
        let costs = Costs::new(Duration::ZERO);
        for (work, polling, asked) in [(200e3, 1, 7), (200e3, 10, 20), (200e3, 40, 28), (50e3, 63, 14)] {
            costs.learn(over(1000), LoopKind::THROUGH, 1000, work);
            let launch = costs.launch_of(63, polling, over(1000), true, LoopKind::THROUGH);
            assert_eq!(launch, Launch::Shared { helpers: asked }, "{work} ns, {polling} are awake");
        }
    }

    const WHYS: [Why; 3] = [Why::Short, Why::Faster, Why::Rounds];

    /// Whether calls repeat one that runs alone for this reason, and takes `work` nanoseconds.
    fn repeats(why: Why, work: f32, change: impl Fn(Case<'_>) -> Case<'_>) -> bool {
        let costs = Costs::new(26 * MICRO);
        costs.learn(over(1000), LoopKind::THROUGH, 1000, work);
        let launch = Launch::alone(1e6, 1.0, why);
        change(costs.case(over(1000), 12 * MICRO)).parts_of_next_calls(launch).is_some()
    }

    /// If a loop is worth a helper that is awake, each call is decided: a helper may be awake.
    #[test]
    fn a_call_alone_is_repeated_if_no_helper_would_change_the_decision() {
        let asleep = |why, work| repeats(why, work, |case| case);
        assert_eq!(WHYS.map(|why| asleep(why, 10e3)), [false, true, true]);
        assert!(asleep(Why::Short, 600.0), "not worth a helper that is awake");
        assert!(!asleep(Why::Rounds, 2.0 * LONGEST_REPEATED_NS));
        let waking = |why| repeats(why, 10e3, |case| Case { is_waking: true, ..case });
        assert_eq!(WHYS.map(waking), [false; 3]);
        let awake = |why| repeats(why, 10e3, |case| Case { awake: true, ..case });
        assert_eq!(WHYS.map(awake), [true; 3]);
        let costs = Costs::new(26 * MICRO);
        let awake =
            |launch| Case { awake: true, ..costs.case(over(1000), 12 * MICRO) }.parts_of_next_calls(launch);
        assert_eq!(awake(Launch::alone(1e6, 1.0, Why::Short)), None, "it is unknown");
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 3e3);
        assert!(awake(Launch::alone(1e6, 1.0, Why::Short)).is_some());
        assert_eq!(awake(Launch::PLAIN), None, "some of these calls explore");
        assert_eq!(awake(Launch::Shared { helpers: 1 }), None);
        assert_eq!(awake(Launch::Explored), None);
    }

    #[test]
    fn a_call_is_far_if_helpers_sleep_and_would_have_slept() {
        let costs = Costs::new(26 * MICRO);
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 10e3);
        let case = |micros: u32| costs.case(over(1000), micros * MICRO);
        assert!(case(40).is_far(Launch::PLAIN));
        assert!(!case(30).is_far(Launch::PLAIN), "20 µs after the last call");
        assert!(!case(40).is_far(Launch::Shared { helpers: 1 }), "a helper is coming");
        assert!(!Case { awake: true, ..case(40) }.is_far(Launch::PLAIN));
        assert!(!Case { is_waking: true, ..case(40) }.is_far(Launch::PLAIN));
        assert!(!Case { gap: None, ..case(40) }.is_far(Launch::PLAIN), "no helper is idle");
    }

    /// A call far from the last one is decided as often as it would explore if all were decided.
    #[test]
    fn calls_far_apart_are_decided_if_help_might_come_in_time_or_to_explore() {
        for (work, help, explored, of) in [(19e3, 20e3, 30..=50, 10_240), (80e3, 160e3, 150..=170, 10_240)] {
            let costs = Costs::new(26 * MICRO);
            costs.learn(over(1000), LoopKind::THROUGH, 1000, work);
            while costs.prices.help(false) < help {
                costs.learn_help(false, Some(2.0 * help), 0.0, 1e6);
            }
            let far = |draw, kind| far_launch(&costs.memory, &costs.prices, over(1000), kind, draw);
            let explores = |draw: Draw| {
                let case = Case { draw, ..costs.case(over(1000), 1_000 * MICRO) };
                far(draw, LoopKind::THROUGH).is_none() && is_shared(case.launch())
            };
            let shared = (0..of).filter(|_| explores(costs.draw())).count();
            assert!(explored.contains(&shared), "{shared} of {of} calls of {work} ns");
            let never = Draw(u64::MAX);
            assert_eq!(far(never, LoopKind::LONG), None);
            for kind in [LoopKind::THROUGH, LoopKind::MAY_STOP] {
                let parts = far(never, kind).map(|quick| quick.parts);
                assert_eq!(parts, Some(PlainParts::of(1000, work)));
            }
            for _ in 0..2 {
                costs.learn(over(1000), LoopKind::THROUGH, 1000, 2.0 * costs.prices.help(false));
            }
            assert_eq!(far(never, LoopKind::THROUGH), None, "it might not end before help");
        }
        let new = Costs::new(26 * MICRO);
        let unknown = far_launch(&new.memory, &new.prices, over(1000), LoopKind::THROUGH, Draw(u64::MAX));
        assert_eq!(unknown, None);
    }

    /// Only a decided call notes where it stopped, so those that would be timed are decided.
    #[test]
    fn a_far_call_that_may_stop_is_decided_instead_of_timed() {
        let costs = Costs::new(26 * MICRO);
        costs.learn(over(1000), LoopKind::MAY_STOP, 1000, 10e3);
        let verdict = |kind, draw| {
            let far = far_launch(&costs.memory, &costs.prices, over(1000), kind, Draw(draw));
            far.map(|quick| quick.verdict)
        };
        let rarely = u64::MAX / 20;
        assert_eq!(verdict(LoopKind::THROUGH, rarely), Some(QuickVerdict::Timed));
        assert_eq!(verdict(LoopKind::MAY_STOP, rarely), None);
        assert_eq!(verdict(LoopKind::MAY_STOP, u64::MAX), Some(QuickVerdict::Plain));
        costs.learn(over(1000), LoopKind::MAY_STOP, 100, 2.0 * costs.prices.help(false));
        assert_eq!(
            verdict(LoopKind::MAY_STOP, u64::MAX),
            None,
            "going through all might not end before help"
        );
    }

    #[test]
    fn a_call_that_is_too_short_to_wake_a_helper_gets_no_decision_while_all_sleep() {
        let verdict =
            |expected, draw| asleep_launch(over(1000), expected, || Draw(draw)).map(|quick| quick.verdict);
        assert_eq!(verdict(3_999.0, u64::MAX), Some(QuickVerdict::Plain));
        assert_eq!(verdict(1.0, 0), Some(QuickVerdict::Timed), "now and then");
        assert_eq!([0.0, TOO_SHORT_TO_TIME_NS].map(|expected| verdict(expected, 0)), [None; 2]);
        let few = asleep_launch(over(40), 3_500.0, || Draw(u64::MAX)).expect("a launch");
        assert!(few.parts.is_checked(), "its items may have become heavy");
    }

    /// One loop runs over many slices, most of them cheap.
    #[test]
    fn a_new_slice_that_takes_longer_than_others_is_learnt() {
        let costs = Costs::new(MICRO);
        let is_learnt = || {
            let Costs { memory, prices, .. } = &costs;
            Launch::unexpected((memory, over(22)), prices, false, LoopKind::THROUGH).is_learnt_from()
        };
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 10e3);
        assert!(is_learnt());
        costs.learn(over(22), LoopKind::THROUGH, 22, 100.0);
        assert!(!is_learnt(), "it was cheap before");
    }

    #[test]
    fn a_trial_of_sharing_goes_on_if_help_becomes_dear() {
        let (costs, rounds, mut now) = (Costs::new(MICRO), Rounds::new(), Instant::now());
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 5e3);
        for _ in 0..100 {
            costs.learn_help(true, Some(8e3), 300.0, 16e3);
        }
        let is_shared = |now| {
            let (awake, rounds) = (true, Some((&rounds, now)));
            is_shared(Case { awake, rounds, ..costs.case(over(1000), MICRO) }.launch())
        };
        assert!(!is_shared(now), "help is dear");
        let is_tried = (0..100).any(|_| {
            now += Duration::from_micros(6);
            let (own, shared) = (Ran::Alone, Ran::Shared);
            let call = RoundBegin { now, own, shared, took_alone: 5e3, took_shared: 9e3 };
            rounds.begin(over(1000), call) == Some(false)
        });
        assert!(is_tried && is_shared(now));
    }

    #[test]
    fn few_items_of_which_nothing_is_known_are_shared() {
        let costs = Costs::new(Duration::ZERO);
        let searches = [LoopKind::FIRST, LoopKind::ANY];
        for kind in
            [LoopKind::THROUGH, LoopKind::LARGE_PARTIALS, LoopKind::MAY_STOP].into_iter().chain(searches)
        {
            for (helpers, len, few) in
                [(1, 2, true), (1, 32, true), (1, 33, false), (7, 128, true), (7, 129, false)]
            {
                let launch = costs.launch_with(helpers, over(len), false, kind);
                assert_eq!(launch == Launch::Shared { helpers }, few, "{len} items for {helpers} helpers");
            }
        }
        assert!(!is_shared(costs.launch(over(1), false, LoopKind::THROUGH)), "a seed alone");
    }

    /// Help costs 20 µs.
    #[test]
    fn a_loop_of_long_items_is_not_tried_alone() {
        for (item, len, tried) in [
            (20e3, 2, true),
            (30e3, 2, false),
            (30e3, 31, false),
            (30e3, 100, true),
            (300e3, 1000, true),
            (330e3, 1000, false),
        ] {
            let costs = Costs::new(Duration::ZERO);
            let this = over(len);
            for _ in 0..2 {
                let work = item * len as f32;
                costs.memory.learn_shared(
                    &costs.prices,
                    this,
                    LoopKind::THROUGH,
                    (work / 2.0, true),
                    len,
                    work,
                );
            }
            assert_eq!(launch(&costs, len).is_trial(), tried, "{len} items of {item} ns");
        }
    }

    #[test]
    fn no_more_helpers_are_woken_than_can_come_in_time() {
        let costs = Costs::new(Duration::ZERO);
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 1e6);
        let helpers = |wake: f32| {
            (0..200).for_each(|_| costs.prices.learn(false, 10, Some(0.0), 10.0 * wake, 0.0));
            let Launch::Shared { helpers } = costs.launch_with(100, over(1000), false, LoopKind::THROUGH)
            else {
                panic!("it is shared")
            };
            helpers
        };
        // The last of `n` helpers comes `n * wake` late, so the best `n` is the root of 2 * 1 ms /
        // wake.
        assert!((30..=33).contains(&helpers(2e3)));
        assert!((14..=17).contains(&helpers(8e3)), "by what help costs it would be three times as many");
    }

    #[test]
    fn what_is_plain_by_the_quick_verdict_is_never_worth_sharing() {
        let costs = Costs::new(Duration::from_millis(1));
        // `helpers` lists the values of `awake` to test.
        let looks = |work: f32, helpers: &[bool]| {
            costs.learn(over(100), LoopKind::THROUGH, 100, work);
            let mut plain = 0;
            for _ in 0..1600 {
                let verdict = costs.quick_launch(over(100), LoopKind::THROUGH).verdict;
                plain += usize::from(verdict == QuickVerdict::Plain);
                for awake in helpers {
                    let launch = costs.launch(over(100), *awake, LoopKind::THROUGH);
                    assert!(verdict == QuickVerdict::Unclear || !is_shared(launch), "{work} ns");
                }
            }
            plain
        };
        assert!((1450..=1550).contains(&looks(50.0, &[false])), "one in sixteen is timed");
        assert!(looks(3.9e3, &[false]) > 1400);
        assert_eq!(looks(4.1e3, &[false]), 0, "too long for a quick verdict");
        for _ in 0..100 {
            costs.learn_help(true, Some(100.0), 10.0, 1e3);
        }
        assert!(looks(100.0, &[false, true]) > 1400);
        assert_eq!(looks(300.0, &[false, true]), 0, "help is cheap");
    }

    #[test]
    fn the_same_loop_over_another_slice_is_another_loop() {
        let costs = Costs::new(Duration::ZERO);
        let (long, short) = (over(1000), Loop { slice: Slice { address: 0x9000, len: 1000 }, ..over(1000) });
        for _ in 0..100 {
            costs.learn(long, LoopKind::THROUGH, long.slice.len, 1e6);
            costs.learn(short, LoopKind::THROUGH, short.slice.len, 100.0);
        }
        assert!(is_shared(costs.launch(long, false, LoopKind::THROUGH)));
        assert!((0..9).any(|_| costs.launch(short, false, LoopKind::THROUGH).is_plain()));
        let third = Loop { slice: Slice { address: 0x5000, len: 1000 }, ..over(1000) };
        assert!((0..9).any(|_| costs.launch(third, false, LoopKind::THROUGH).is_plain()), "as the last one");
    }

    #[test]
    fn a_loop_that_was_stopped_early_may_go_through_next_time() {
        let costs = Costs::new(Duration::ZERO);
        (0..9).for_each(|_| costs.learn(over(1000), LoopKind::THROUGH, 1, 5e3));
        assert!(is_shared(launch(&costs, 1000)));
        // A search is expected to stop early again.
        let costs = Costs::new(Duration::ZERO);
        (0..9).for_each(|_| costs.learn(over(1000), LoopKind::MAY_STOP, 1, 5e3));
        assert!(!is_shared(costs.launch(over(1000), false, LoopKind::MAY_STOP)));
    }

    #[test]
    fn a_loop_that_stops_early_is_expected_to_do_so_again_whatever_the_slice() {
        let costs = Costs::new(Duration::ZERO);
        let launch = |of: Loop| costs.launch(of, false, LoopKind::MAY_STOP);
        // The parts of a short call; a few calls are timed.
        let parts = |of: Loop| {
            let quick = || costs.quick_launch(of, LoopKind::MAY_STOP);
            (0..3)
                .map(|_| quick())
                .find(|quick| quick.verdict == QuickVerdict::Plain)
                .map(|quick| quick.parts)
        };
        let window = |i: usize| Loop { slice: Slice { address: 0x9000 + 8 * i, len: 1000 }, ..over(1000) };
        // Items of 10 ns each, and a stop at the tenth item.
        (0..9).for_each(|i| costs.learn(window(i), LoopKind::MAY_STOP, 10, 100.0));
        let soon = Some(PlainParts::until_stop(1000, 10.0));
        assert_eq!((parts(window(0)), parts(window(99))), (soon, soon));
        // From now on calls stop at the five hundredth item, and the time of the last call is
        // known.
        (0..9).for_each(|_| costs.learn(window(0), LoopKind::MAY_STOP, 500, 5e3));
        assert_eq!((parts(window(0)), parts(window(99))), (None, None));
        assert!(!is_shared(launch(window(0))));
        (0..100).for_each(|_| costs.learn_help(false, Some(100.0), 0.0, 0.0));
        assert!(is_shared(launch(window(0))), "help has become cheap");
        assert!(is_shared(launch(window(99))));
        (0..100).for_each(|_| costs.learn_help(false, Some(20e3), 0.0, 0.0));
        // From now on calls go through all items.
        (0..9).for_each(|_| costs.learn(window(0), LoopKind::MAY_STOP, 1000, 1e6));
        assert!(is_shared(launch(window(0))) && is_shared(launch(window(98))));
    }

    #[test]
    fn what_helpers_did_behind_a_stop_makes_no_loop_long() {
        assert_eq!(up_to(None, 1000, 1e6), (1000, 1e6));
        assert_eq!(up_to(Some(9), 1000, 1e6), (10, 1e4));
        assert_eq!(up_to(Some(9), 10, 5e3), (10, 5e3));
        assert_eq!(up_to(Some(9), 0, 0.0), (0, 0.0), "a panic in a state, before any item");
    }

    #[test]
    fn help_is_asked_for_where_it_has_been_quick() {
        let costs = Costs::new(Duration::ZERO);
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 10e3);
        assert!(is_shared(costs.launch(over(1000), true, LoopKind::THROUGH)), "awake");
        for _ in 0..100 {
            costs.learn_help(true, None, 100.0, 50e3);
            costs.learn_help(false, Some(3e3), 1e3, 10e3);
            costs.learn_help(false, None, 1e3, 1e3);
        }
        assert!(
            (0..9).any(|_| !is_shared(costs.launch(over(1000), true, LoopKind::THROUGH))),
            "nobody ever comes in time"
        );
        assert!(is_shared(launch(&costs, 1000)), "wakes up in 3 µs");
    }

    #[test]
    fn help_that_was_dear_once_is_asked_for_again() {
        for (awake, work, quick) in [(false, 50e3, 20e3), (true, 2e3, 300.0)] {
            let costs = Costs::new(Duration::ZERO);
            (0..1000).for_each(|_| costs.learn_help(awake, None, 0.0, 1e9));
            let shared = |costs: &Costs| is_shared(costs.launch(over(1000), awake, LoopKind::THROUGH));
            let mut calls = 0;
            for _ in 0..200 {
                costs.learn(over(1000), LoopKind::THROUGH, 1000, work);
                calls += (0..100_000).position(|_| shared(&costs)).unwrap();
                costs.learn_help(awake, Some(quick), 0.0, work);
            }
            assert!((0..100).all(|_| shared(&costs)), "awake: {awake}");
            assert!(calls < 100_000, "awake: {awake}, after {calls} calls");
        }
    }

    /// The price of a helper that is awake has risen to 12 µs, since its CPU was taken for a while.
    #[test]
    fn a_call_that_explores_wakes_a_helper_and_the_second_call_that_finds_it_measures_it() {
        let costs = Costs::new(Duration::ZERO);
        costs.learn(over(1000), LoopKind::THROUGH, 1000, 11e3);
        (0..54).for_each(|_| costs.learn_help(true, None, 0.0, 50e3));
        let before = costs.prices.help(true);
        assert!((11e3..15e3).contains(&before), "{before}");
        let launch = |awake| costs.launch(over(1000), awake, LoopKind::THROUGH);
        let call = |awake, delay| {
            assert_eq!(launch(awake), Launch::Explored);
            let explores = Launch::Explored.explores(&costs.prices, awake);
            if costs.prices.explored(awake) {
                costs.learn_help(awake, delay, 1e3, 20e3);
            }
            explores
        };
        let calls = (0..2000).position(|_| launch(false) == Launch::Explored).expect("one call explores");
        assert!(calls < 1000, "{calls}");
        costs.prices.explored(false);
        assert_eq!(call(true, Some(13e3)), Explores::Again, "with cold caches");
        assert!((costs.prices.help(true) - before).abs() < 1.0);
        assert_eq!(call(true, Some(3e3)), Explores::Last);
        assert!(is_shared(launch(true)), "{}", costs.prices.help(true));
    }

    /// Help costs 20 µs from a worker that sleeps, and half a microsecond from one that is awake.
    #[test]
    fn a_closure_is_offered_if_it_is_worth_the_worker_that_would_take_it() {
        let prices = Prices::new();
        let worth = |help, cost| is_join_worth_it(&prices, Some(cost), help, None);
        for (help, least) in [(JoinHelp::Awake, 4e3), (JoinHelp::Later, 20e3), (JoinHelp::Asleep, 26e3)] {
            assert!(!worth(help, 0.99 * least) && worth(help, 1.01 * least), "{help:?}");
            assert!(is_join_worth_it(&prices, None, help, None), "unknown");
        }
    }

    #[test]
    fn long_joins_often_find_out_what_help_costs() {
        let costs = Costs::new(Duration::ZERO);
        (0..200).for_each(|_| costs.prices.learn(false, 1, None, 1e6, 1e6));
        let offered = |cost| {
            let draw = || Some(costs.draw());
            let is_offered = || is_join_worth_it(&costs.prices, Some(cost), JoinHelp::Asleep, draw());
            (0..2560).filter(|_| is_offered()).count()
        };
        assert!((8..13).contains(&offered(5e3)), "{}", offered(5e3));
        assert!((95..110).contains(&offered(200e3)), "{}", offered(200e3));
    }

    #[test]
    fn helpers_are_woken_where_they_will_stay_awake() {
        for (patience, wakes) in [(Duration::ZERO, false), (Duration::from_secs(100), true)] {
            let costs = Costs::new(patience);
            costs.learn(over(1000), LoopKind::THROUGH, 1000, 4.9e3);
            let woken = (0..10).filter(|_| is_shared(launch(&costs, 1000))).count();
            assert_eq!(woken > 0, wakes, "{patience:?}");
        }
    }

    /// Workers search from the front. In a loop over ranges, the only helper begins in the middle,
    /// so it is of no use if the loop stops before that.
    #[test]
    fn a_helper_is_woken_for_what_it_can_share_of_a_loop_that_stops() {
        for (kind, reached, wakes) in [
            (LoopKind::FIRST, 1000, true),
            (LoopKind::ANY, 500, true),
            (LoopKind::MAY_STOP, 1000, true),
            (LoopKind::MAY_STOP, 500, false),
        ] {
            let costs = Costs::new(Duration::from_secs(100));
            (0..9).for_each(|_| costs.learn(over(1000), kind, reached, reached as f32 * 12.0));
            let case = Case { kind, helpers: 1, ..costs.case(over(1000), MICRO) };
            let is_woken = case.launch() == Launch::Shared { helpers: 1 };
            assert_eq!(is_woken, wakes, "{kind:?} until {reached}");
        }
    }

    #[test]
    fn one_interruption_does_not_make_a_loop_long() {
        let costs = Costs::new(Duration::ZERO);
        costs.learn(over(2), LoopKind::THROUGH, 2, 20.0);
        costs.learn(over(2), LoopKind::THROUGH, 2, 4e6);
        assert!((0..9).any(|_| !is_shared(launch(&costs, 2))));
        for _ in 0..9 {
            costs.learn(over(2), LoopKind::THROUGH, 2, 4e6);
        }
        assert!(is_shared(launch(&costs, 2)), "but ten in a row do");
    }

    #[test]
    fn a_loop_that_has_jumped_is_watched() {
        let costs = Costs::new(Duration::ZERO);
        for before in [0.0, 20.0] {
            costs.learn(over(2), LoopKind::THROUGH, 2, before);
            costs.learn(over(2), LoopKind::THROUGH, 2, 4e6);
            assert!((0..100).all(|_| !launch(&costs, 2).is_plain()), "{before:?}");
        }
    }
}
