//! Whether a loop runs alone or shared, judged by the rounds of its program.
//!
//! A program that iterates calls the same loops round after round. A shared loop moves data: the
//! calling thread fetches back the data that a helper has written, in the loops and in the serial
//! code that follow. The time of the loop does not show this. (In rounds of `PageRank` over 5,000
//! pages, two short loops run alone, and the loop between them took less time shared; the rounds
//! took 1.4 times the plain program's.) The time from the begin of a call to the begin of the next
//! call of the loop on the same thread does show it.
//!
//! The times between begins decide if they are alike. Otherwise
//! [`alone_or_shared`](super::alone_or_shared) decides, unless a trial has found one way better and
//! the times of the loop itself do not contradict. This holds until the rounds change. A trial runs
//! several calls in a row against the verdict. The first call of a trial does not count, since the
//! data comes home in this call. The middle one of the rounds that count is compared, so a single
//! interrupted round decides nothing. The trial ends early if two rounds are clearly longer. If a
//! trial confirms the verdict, the next interval between trials is longer. But the next trial comes
//! soon if rounds become longer than those of the last trial.
//!
//! If calls of the loop repeat plans, so do the calls of a trial of sharing, and its first calls do
//! not count, because the caches of the helpers are cold. For the same reason this trial comes only
//! after calls alone that repeat a plan. Such a trial goes on also if the price of help rises.
//!
//! A short loop is worth sharing only with helpers that are awake, and a helper that was rung may
//! come many rounds later. (On a virtual machine with idle CPUs this took 240 µs, 20 calls of a
//! loop.) A call that rings such a helper does not count, nor do calls that run alone until the
//! helper comes.
//!
//! While the rounds of a short loop are alike, most of its calls run as an earlier one ran
//! ([`repeat`](super::repeat)). They count in the intervals between trials, and their rounds are
//! measured if the calls are timed. After two such rounds that are not like the others, the next
//! call is decided.
//!
//! A loop is tried alone only if the round is clearly longer than the shared loop, and could gain
//! as much as the loop would lose. So a loop that is most of its program is never tried, nor is a
//! long one.

use std::cell::{RefCell, RefMut};

use super::{
    alone_or_shared::{DOUBTED, LONGER, LONGEST_INTERVAL, MEAN_OF},
    prices::CLEARLY,
    repeat::{DECIDED_NS, LONGEST_REPEATED_NS, REPEATED, deciding},
    site::Loop,
};
use crate::clock::{Instant, nanos};

/// In rounds: the rounds of a loop decide after this number of rounds that were alike.
const ALIKE: u8 = 2;
/// In rounds: how many rounds of a trial count. (With the longer one of two rounds, a trial failed
/// if one round was interrupted. Then `PageRank` over 500 pages took 1.4 times the plain program's
/// time for thousands of rounds, and now takes 1.1 times this time.)
const COUNTED: usize = 3;
/// In calls: the shared calls at the begin of a trial that do not count, if calls repeat a plan,
/// since the caches of the helpers are cold.
const WARMING: u8 = 4;
/// In calls: a trial fails that has not ended after this number of calls, since no helper comes.
const LONGEST_TRIAL: u8 = 64;
/// A loop is most of its round if the round takes less than this factor times the loop alone. Then
/// its own verdict decides, unless its calls repeat plans. (That verdict comes from calls that are
/// decided, with cold caches. Without this number, a loop of 23 ms was all of its round for 200
/// rounds, and ran alone in all of them.)
const MOST_OF: f32 = 1.1;
/// In nanoseconds: a loop is not tried alone if sharing saves it more than this. The rest of the
/// round hardly gains as much if the loop runs alone, since the data of most caches moves in less
/// time. (A loop of 1 s beside 0.5 s of other code ran alone in 3 of the first 9 rounds.)
const MOST_REPAID_NS: f32 = 4e6;
/// In loops: how many loops of a thread are remembered.
const LOOPS: usize = 8;

/// How a call of a loop runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ran {
    Alone,
    Shared,
    /// Shared, but only to wake a helper for the next calls.
    Waking,
}

/// A call of a loop that is worth sharing by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundBegin {
    pub(crate) now: Instant,
    /// How the call runs if rounds do not decide, and how if they decide to share it.
    pub(crate) own: Ran,
    pub(crate) shared: Ran,
    /// About the time of a call alone, and of a shared call, in nanoseconds.
    pub(crate) took_alone: f32,
    pub(crate) took_shared: f32,
}

/// A thread's knowledge of the rounds of its loops.
#[derive(Debug)]
pub(crate) struct Rounds([RefCell<RoundsOfLoop>; LOOPS]);

impl Rounds {
    pub(crate) const fn new() -> Self {
        Self([const { RefCell::new(RoundsOfLoop::NEW) }; LOOPS])
    }

    /// A call begins. Returns whether to run it alone, if rounds decide.
    pub(crate) fn begin(&self, this: Loop, call: RoundBegin) -> Option<bool> {
        let (number, mut rounds) = (this.class_number(), self.place(this));
        if rounds.number != number {
            *rounds = RoundsOfLoop { number, ..RoundsOfLoop::NEW };
        }
        rounds.begin(call)
    }

    /// A call begins `now` that is not worth sharing at present, and runs alone.
    pub(crate) fn begin_alone(&self, this: Loop, now: Instant) {
        if let Some(mut rounds) = self.known(this) {
            rounds.end_last(now);
            if rounds.is_alone {
                rounds.left = rounds.left.saturating_sub(1);
            }
            rounds.runs(Ran::Alone, false);
        }
    }

    /// The expected time of a shared call in nanoseconds, if the next calls may run as the call ran
    /// that began at `begun`: it was shared, the loop is short, and its rounds are settled.
    pub(crate) fn takes_shared(&self, this: Loop, begun: Instant) -> Option<f32> {
        let rounds = self.known(this)?;
        rounds.takes.filter(|_| rounds.begun == Some(begun) && rounds.may_repeat(Ran::Shared))
    }

    /// A call of this loop was decided, and took `took` nanoseconds. The part of this time that it
    /// would not have taken if it had repeated a plan; 0 if calls of this loop do not repeat plans.
    pub(crate) fn saved_by_repeating(&self, this: Loop, took: f32) -> f32 {
        self.known(this).filter(|rounds| rounds.repeats()).map_or(0.0, |_| deciding(took))
    }

    /// Whether calls of this loop have been shared for a while, so that the caches of the helpers
    /// are warm. `None` if the loop is not known.
    pub(crate) fn is_warm(&self, this: Loop) -> Option<bool> {
        let rounds = self.known(this)?;
        Some(rounds.ran == Ran::Shared && rounds.in_row == REPEATED)
    }

    /// Whether the next calls may run alone, as the last call ran: the rounds of the loop are
    /// settled, or not known.
    pub(crate) fn may_repeat_alone(&self, this: Loop) -> bool {
        self.known(this).is_none_or(|rounds| rounds.is_settled(Ran::Alone))
    }

    /// A call began at `begin` that is to run, or has run, as an earlier one `ran`. Returns whether
    /// rounds allow this.
    pub(crate) fn begin_again(&self, this: Loop, ran: Ran, begin: Instant) -> bool {
        let Some(mut rounds) = self.known(this) else { return ran == Ran::Alone };
        rounds.end_last(begin);
        let may_repeat = rounds.may_repeat(ran);
        if may_repeat {
            rounds.runs(ran, true);
            rounds.count();
        } else {
            rounds.begun = None; // the decision begins the round
        }
        may_repeat
    }

    /// A call of this loop follows that is not timed, so the round that has begun is not measured.
    pub(crate) fn forget_begin(&self, this: Loop) {
        if let Some(mut rounds) = self.known(this) {
            (rounds.begun, rounds.in_row) = (None, 0);
            rounds.count();
        }
    }

    /// The times of a round with the loop alone and with the loop shared, in nanoseconds, if trials
    /// have shown that the round is shorter with the loop alone.
    pub(crate) fn of_alone_and_shared(&self, this: Loop) -> Option<[f32; 2]> {
        let rounds = self.known(this)?;
        (rounds.is_alone && rounds.otherwise > 0.0).then_some([rounds.usually, rounds.otherwise])
    }

    /// Whether a trial of sharing is under way.
    pub(crate) fn tries_sharing(&self, this: Loop) -> bool {
        self.known(this).is_some_and(|rounds| rounds.tries(Ran::Shared))
    }

    /// The place of a loop. Another loop may have it.
    fn place(&self, this: Loop) -> RefMut<'_, RoundsOfLoop> {
        self.0[this.class_number() as usize % LOOPS].borrow_mut()
    }

    /// The rounds of a loop, if no other one has its place.
    fn known(&self, this: Loop) -> Option<RefMut<'_, RoundsOfLoop>> {
        Some(self.place(this)).filter(|known| known.number == this.class_number())
    }
}

/// The rounds of one loop. All times are nanoseconds.
#[derive(Clone, Copy, Debug)]
struct RoundsOfLoop {
    number: u64,
    /// When the last call began.
    begun: Option<Instant>,
    /// How the last call ran, how many calls in a row did as it did, at most [`REPEATED`], and
    /// whether rounds decided it.
    ran: Ran,
    in_row: u8,
    was_decided: bool,
    /// How many calls have been decided since one repeated a plan, at most [`REPEATED`].
    decided_in_row: u8,
    /// How the last call would have run if rounds had not decided.
    own: Ran,
    /// The verdict: whether calls run alone.
    is_alone: bool,
    /// The usual time of a round; 0 if unknown. How many of the last rounds were alike, at most
    /// twice [`ALIKE`].
    usually: f32,
    alike: u8,
    /// The time of a round against the verdict, by the last trial; 0 if unknown.
    otherwise: f32,
    trial: Option<Trial>,
    /// In calls: the interval between two trials, and what is left of it.
    lasts: u16,
    left: u16,
    /// The expected time of a shared call that is short, and shorter than a call alone.
    takes: Option<f32>,
}

/// A trial of the way against the verdict.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// Its rounds that count, infinite until they have ended, and the number of those that have.
    rounds: [f32; COUNTED],
    count: usize,
    /// In calls: the part of [`LONGEST_TRIAL`] that is left.
    left: u8,
}

impl RoundsOfLoop {
    const NEW: Self = Self {
        number: 0,
        begun: None,
        ran: Ran::Alone,
        in_row: 0,
        was_decided: false,
        decided_in_row: REPEATED,
        own: Ran::Shared,
        is_alone: false,
        usually: 0.0,
        alike: 0,
        otherwise: 0.0,
        trial: None,
        lasts: LONGER,
        left: 0,
        takes: None,
    };

    fn begin(&mut self, call: RoundBegin) -> Option<bool> {
        self.end_last(call.now);
        let decided = self.decide(&call);
        let own_is_alone = call.own == Ran::Alone;
        // Two slices of a loop may have two verdicts of their own. A round of both is judged as it
        // is.
        if decided.is_none() && self.own == call.own && self.is_alone != own_is_alone {
            // Before a trial of sharing, calls alone repeat a plan. Decided ones take longer.
            let left = if own_is_alone { DOUBTED } else { 0 };
            let (number, begun) = (self.number, self.begun);
            *self = Self { number, begun, is_alone: own_is_alone, left, ..Self::NEW };
        }
        (self.own, self.was_decided) = (call.own, decided.is_some());
        let ran = match decided {
            Some(true) => Ran::Alone,
            Some(false) => call.shared,
            None => call.own,
        };
        self.runs(ran, false);
        let mut takes = call.took_shared;
        if self.tries(Ran::Shared) || self.is_confirmed(Ran::Shared) {
            takes = takes.min(call.took_alone); // its own time may be that of calls with cold caches
        }
        self.takes = Some(takes).filter(|&took| took <= call.took_alone && took < LONGEST_REPEATED_NS);
        decided
    }

    /// Whether calls repeat plans.
    fn repeats(&self) -> bool {
        self.decided_in_row < REPEATED
    }

    /// Whether the last call ran this way, the rounds are alike but for one that was interrupted,
    /// and no trial is under way or soon due. (A call that is not worth sharing at present runs
    /// alone, whatever the verdict is. No trial is due then.)
    fn is_settled(&self, ran: Ran) -> bool {
        let is_verdict = (ran == Ran::Alone) == self.is_alone;
        let is_doubted = is_verdict && 0.0 < self.otherwise && self.otherwise < self.usually;
        self.ran == ran && self.alike >= 2 * ALIKE - 1 && self.trial.is_none() && !is_doubted
    }

    /// Whether the next calls may run this way without a decision, as the last call ran. A trial
    /// that has found the loop better alone ends the plan that the trial has repeated.
    fn may_repeat(&self, ran: Ran) -> bool {
        if ran == Ran::Alone || !self.is_alone {
            return self.is_settled(ran);
        }
        self.ran == ran && self.tries(ran) || self.is_settled(ran) && !self.is_confirmed(Ran::Alone)
    }

    /// Whether a trial of this way is under way.
    fn tries(&self, ran: Ran) -> bool {
        self.trial.is_some() && (ran == Ran::Alone) != self.is_alone
    }

    /// Whether this way is the verdict, and a trial has shown that rounds are shorter so.
    fn is_confirmed(&self, ran: Ran) -> bool {
        (ran == Ran::Alone) == self.is_alone && self.otherwise > self.usually
    }

    /// The last round has ended `now`.
    fn end_last(&mut self, now: Instant) {
        let Some(begun) = self.begun.replace(now) else { return };
        if self.ran != Ran::Waking && (self.in_row > 1 || !self.was_decided) {
            self.see(nanos(now - begun));
        }
        if let Some(trial) = &mut self.trial {
            trial.left -= 1;
            if trial.left == 0 {
                self.end_trial(f32::INFINITY);
            }
        }
    }

    /// The call that begins runs this way. `repeats` says whether it repeats an earlier one.
    fn runs(&mut self, ran: Ran, repeats: bool) {
        self.in_row = if ran == self.ran { REPEATED.min(self.in_row + 1) } else { 1 };
        let decided = if repeats { 0 } else { REPEATED.min(self.decided_in_row + 1) };
        (self.ran, self.decided_in_row) = (ran, decided);
    }

    /// A call counts in the interval until the next trial, which a decision begins.
    fn count(&mut self) {
        self.left = self.left.saturating_sub(1).max(1);
    }

    /// Whether the last call was shared with cold caches, and calls of the loop do repeat plans.
    fn is_cold(&self) -> bool {
        let may_repeat = self.ran == Ran::Shared && self.takes.is_some() && self.repeats();
        may_repeat && (self.decided_in_row > 0 || self.in_row <= WARMING)
    }

    /// A round took `took`.
    fn see(&mut self, took: f32) {
        let was_decided = self.ran == Ran::Shared && self.decided_in_row > 0;
        let took = if was_decided && self.repeats() { took - deciding(took) } else { took };
        let is_verdict = (self.ran == Ran::Alone) == self.is_alone;
        let is_cold = self.is_cold();
        if let Some(trial) = &mut self.trial {
            if is_verdict {
                return; // until a helper is awake
            }
            if is_cold && took < CLEARLY * self.usually + 2.0 * DECIDED_NS {
                return; // if it takes even longer, the helper has no CPU, or much data has moved
            }
            trial.rounds[trial.count] = took;
            trial.count += 1;
            let Trial { mut rounds, count, .. } = *trial;
            rounds.sort_unstable_by(f32::total_cmp);
            if count == COUNTED || count > 1 && rounds[0] > CLEARLY * self.usually {
                self.end_trial(rounds[COUNTED / 2]);
            }
        } else if !is_verdict && self.was_decided {
            // The call was not worth sharing at present.
        } else if took <= CLEARLY * self.usually && self.usually <= CLEARLY * took {
            self.usually += (took - self.usually) / MEAN_OF;
            self.alike = (2 * ALIKE).min(self.alike + 1);
        } else if self.alike > 0 {
            self.alike -= 1;
        } else {
            self.usually = took;
        }
    }

    /// A round of the present trial usually took `took`.
    fn end_trial(&mut self, took: f32) {
        (self.trial, self.otherwise) = (None, took);
        if took < self.usually {
            (self.usually, self.otherwise) = (took, self.usually);
            (self.is_alone, self.lasts, self.alike) = (!self.is_alone, LONGER, 2 * ALIKE);
        }
        self.lasts = self.lasts.saturating_mul(LONGER).min(LONGEST_INTERVAL);
        self.left = self.lasts;
    }

    /// Whether to run the call that begins alone. `None` if rounds do not decide.
    fn decide(&mut self, call: &RoundBegin) -> Option<bool> {
        if self.trial.is_some() {
            return Some(!self.is_alone);
        }
        // A trial has shown that the round is shorter with the loop alone, and the loop itself
        // gains little if it is shared.
        let gains = CLEARLY * call.took_shared < call.took_alone.min(self.usually);
        let is_confirmed = self.is_confirmed(Ran::Alone) && !gains;
        if self.alike < ALIKE {
            // Only some of the last rounds were not alike.
            let is_shared = self.is_confirmed(Ran::Shared) && call.took_shared < call.took_alone;
            return (is_confirmed || is_shared).then_some(is_confirmed);
        }
        let may_be_alone = if self.is_alone {
            // The cost of items may be that of a shared call, in which they cost more.
            is_confirmed || self.repeats() && !gains || MOST_OF * call.took_alone < self.usually
        } else {
            CLEARLY * call.took_shared < self.usually && call.took_alone - call.took_shared < MOST_REPAID_NS
        };
        if !may_be_alone {
            // A trial has shown that sharing is better, though the loop's own verdict may differ.
            return self.is_confirmed(Ran::Shared).then_some(false);
        }
        self.left = self.left.saturating_sub(1);
        if 0.0 < self.otherwise && self.otherwise < self.usually {
            self.left = self.left.min(DOUBTED);
        }
        if self.left == 0 {
            self.trial = Some(Trial { rounds: [f32::INFINITY; COUNTED], count: 0, left: LONGEST_TRIAL });
        }
        Some(self.is_alone != self.trial.is_some())
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use std::{ptr, time::Duration};

    use super::{
        super::{
            repeat::{PlanKey, Repeats},
            site::{GOLDEN, Site, Slice},
        },
        *,
    };

    /// A program whose rounds consist of one loop that is worth sharing, and of other code. The
    /// times are nanoseconds.
    #[derive(Clone, Copy, Debug)]
    struct Program {
        /// The time of the loop, and of a round, if the loop runs alone.
        loop_alone: f32,
        alone: f32,
        /// The time of a round if the loop is shared. The shared loop takes half of `loop_alone`.
        shared: f32,
        /// The first round after a change takes longer by this time.
        moving: f32,
        /// The largest part by which a round differs from others.
        noise: f32,
    }

    fn this() -> Loop {
        let slice = Slice { address: 0x1000, len: 1000 };
        Loop { site: Site::new(ptr::without_provenance(0x1230)), slice }
    }

    fn key() -> PlanKey {
        PlanKey { this: this(), pool: 1, most: 1 }
    }

    struct Simulated {
        rounds: Rounds,
        repeats: Repeats<Ran>,
        now: Instant,
        was_alone: bool,
        drawn: u64,
        /// How many calls have repeated a plan.
        repeated: usize,
    }

    impl Simulated {
        fn new() -> Self {
            let (rounds, repeats, now) = (Rounds::new(), Repeats::new(), Instant::now());
            Self { rounds, repeats, now, was_alone: false, drawn: 0, repeated: 0 }
        }

        /// Runs a round. Returns its time, and whether the loop ran alone.
        fn round(&mut self, program: Program, is_alone: bool) -> (f32, bool) {
            self.call(program, is_alone, program.loop_alone / 2.0)
        }

        /// As [`round`](Self::round), if a shared call takes `took_shared`.
        fn call(&mut self, program: Program, is_alone: bool, took_shared: f32) -> (f32, bool) {
            let Program { loop_alone, alone, shared, moving, noise } = program;
            let call = RoundBegin {
                now: self.now,
                own: if is_alone { Ran::Alone } else { Ran::Shared },
                shared: Ran::Shared,
                took_alone: loop_alone,
                took_shared,
            };
            let again = self.repeats.take(key());
            let again = again.filter(|again| {
                if again.way == Ran::Alone && !again.is_timed() {
                    self.rounds.forget_begin(this());
                    return true;
                }
                self.rounds.begin_again(this(), again.way, call.now)
            });
            let decided = again.is_none();
            self.repeated += usize::from(!decided);
            let way = match again {
                Some(again) => {
                    let is_alone = again.way == Ran::Alone;
                    self.repeats.put_back(again);
                    self.repeats.end_if(this(), |again| is_alone && again.is_outdated(loop_alone));
                    is_alone
                }
                None => self.decide(call).unwrap_or(is_alone),
            };
            self.drawn = self.drawn.wrapping_mul(GOLDEN).wrapping_add(GOLDEN);
            let random = (self.drawn >> 40) as f32 / (1 << 24) as f32;
            let moved = if way == self.was_alone { 0.0 } else { moving };
            let deciding = if decided { DECIDED_NS } else { 0.0 };
            let took = (if way { alone } else { shared + deciding } + moved) * (1.0 + noise * random);
            self.was_alone = way;
            self.now += Duration::from_nanos(took as u64);
            (took, way)
        }

        fn decide(&mut self, call: RoundBegin) -> Option<bool> {
            let is_alone = self.rounds.begin(this(), call);
            let Self { rounds, repeats, .. } = self;
            if rounds.may_repeat_alone(this()) && call.took_alone <= LONGEST_REPEATED_NS {
                repeats.begin(key(), Ran::Alone, call.took_alone);
            } else if let Some(takes) = rounds.takes_shared(this(), call.now) {
                repeats.begin(key(), Ran::Shared, takes);
            }
            is_alone
        }

        fn rounds(&mut self, program: Program, count: usize) -> f32 {
            (0..count).map(|_| self.round(program, false).0).sum()
        }
    }

    /// `PageRank` over 5,000 pages, as measured.
    const PAGE_RANK: Program =
        Program { loop_alone: 17e3, alone: 24e3, shared: 35e3, moving: 3e3, noise: 0.1 };

    /// A program that is better shared.
    const SHARED: Program = Program { loop_alone: 20e3, alone: 22e3, shared: 13e3, moving: 0.0, noise: 0.05 };

    #[test]
    fn a_short_loop_whose_rounds_are_alike_repeats_its_plan() {
        let repeated = |program| {
            let mut simulated = Simulated::new();
            simulated.rounds(program, 1000);
            simulated.repeated
        };
        assert!((950..=985).contains(&repeated(SHARED)), "{}", repeated(SHARED));
        // Its decided calls take more than `CLEARLY` times as long as its repeated ones.
        let short = Program { loop_alone: 5e3, alone: 5.2e3, shared: 2.9e3, ..SHARED };
        assert!((950..=985).contains(&repeated(short)), "{}", repeated(short));
        assert_eq!(repeated(Program { loop_alone: 400e3, alone: 440e3, shared: 260e3, ..SHARED }), 0, "long");
        assert!((900..=985).contains(&repeated(PAGE_RANK)), "{} calls alone", repeated(PAGE_RANK));
    }

    #[test]
    fn the_time_of_deciding_counts_in_a_loop_whose_calls_repeat_nothing() {
        let saved = |program| {
            let mut simulated = Simulated::new();
            simulated.rounds(program, 100);
            simulated.rounds.saved_by_repeating(this(), 5e3)
        };
        assert!(saved(SHARED) > 0.0);
        let long = saved(Program { loop_alone: 400e3, alone: 440e3, shared: 260e3, ..SHARED });
        assert!([long, Rounds::new().saved_by_repeating(this(), 5e3)].iter().all(|&saved| saved <= 0.0));
    }

    #[test]
    fn the_call_after_two_rounds_unlike_the_others_is_decided() {
        let mut simulated = Simulated::new();
        simulated.rounds(SHARED, 102);
        let before = simulated.repeated;
        for repeated in [1, 2, 2] {
            simulated.rounds(SHARED, 1);
            assert_eq!(simulated.repeated, before + repeated);
            simulated.now += Duration::from_micros(20);
        }
        let rounds = simulated.rounds.known(this()).expect("known");
        assert_eq!(rounds.alike, 2 * ALIKE - 2, "each round is measured once");
    }

    /// Another program takes the helper's CPU, and a shared round takes 4 ms.
    #[test]
    fn a_trial_of_sharing_without_a_cpu_ends_after_two_long_rounds() {
        let (mut simulated, mut longest, mut in_row) = (Simulated::new(), 0, 0);
        simulated.rounds(PAGE_RANK, 500);
        for _ in 0..1000 {
            let is_alone = simulated.round(Program { shared: 4e6, ..PAGE_RANK }, false).1;
            in_row = if is_alone { 0 } else { in_row + 1 };
            longest = longest.max(in_row);
        }
        assert_eq!(longest, 3, "the first round of a trial does not count");
    }

    #[test]
    fn a_call_that_rounds_have_not_seen_may_be_repeated_alone_and_not_shared() {
        let mut simulated = Simulated::new();
        simulated.rounds(SHARED, 20);
        let later = simulated.now + Duration::from_micros(1);
        assert_eq!(simulated.rounds.takes_shared(this(), later), None);
        let new = Rounds::new();
        assert!(new.may_repeat_alone(this()) && new.begin_again(this(), Ran::Alone, later));
        assert!(!new.begin_again(this(), Ran::Shared, later));
    }

    /// The data of the loop moves to other code: now the program is better with the loop alone.
    #[test]
    fn what_is_better_is_noticed_although_most_calls_repeat_a_plan() {
        let mut simulated = Simulated::new();
        simulated.rounds(SHARED, 2000);
        let later = Program { alone: 24e3, shared: 35e3, ..SHARED };
        let ratio = simulated.rounds(later, 4000) / (4000.0 * later.alone);
        assert!(ratio < 1.1, "{ratio}");
    }

    #[test]
    fn a_loop_that_slows_down_its_program_runs_alone() {
        let mut simulated = Simulated::new();
        let first = simulated.rounds(PAGE_RANK, 30) / (30.0 * PAGE_RANK.alone);
        assert!(first < 1.3, "the first rounds take {first} times the plain program");
        let later = simulated.rounds(PAGE_RANK, 1000) / (1000.0 * PAGE_RANK.alone);
        assert!(later < 1.07, "{later}");
    }

    #[test]
    fn a_loop_that_gains_more_than_the_rest_of_the_round_could_is_not_tried_alone() {
        let tried = |loop_alone: f32| {
            let (alone, shared) = (loop_alone + 20e6, loop_alone / 2.0 + 20e6);
            let program = Program { loop_alone, alone, shared, moving: 0.0, noise: 0.05 };
            let mut simulated = Simulated::new();
            (0..100).filter(|_| simulated.round(program, false).1).count()
        };
        assert_eq!([7e6, 9e6, 1e9].map(|loop_alone| tried(loop_alone) > 0), [true, false, false]);
    }

    #[test]
    fn the_faster_way_is_found_and_trials_cost_little() {
        for (alone, shared) in
            [(30e3, 20e3), (30e3, 29e3), (21e3, 30e3), (300e3, 200e3), (24e3, 100e3), (1e6, 1.2e6)]
        {
            let mut simulated = Simulated::new();
            let program = Program { loop_alone: alone / 2.0, alone, shared, moving: 5e3, noise: 0.05 };
            let best = f32::min(alone, shared) * (1.0 + program.noise / 2.0);
            let first = simulated.rounds(program, 30) / (30.0 * best);
            let later = simulated.rounds(program, 2000) / (2000.0 * best);
            println!("alone {alone}, shared {shared}: {first:.2}, then {later:.3}");
            assert!(first < 1.3 || shared > 2.0 * alone, "the first rounds of {program:?}: {first}");
            assert!(later < 1.05, "{program:?}: {later}");
        }
    }

    /// Rounds of which some take a third longer than others.
    #[test]
    fn noise_changes_no_verdict_for_long() {
        let program = Program { loop_alone: 10e3, alone: 20e3, shared: 22e3, moving: 5e3, noise: 0.3 };
        let best = 500.0 * program.alone * (1.0 + program.noise / 2.0);
        let runs = (0..100).map(|drawn| {
            let mut simulated = Simulated { drawn, ..Simulated::new() };
            simulated.rounds(program, 500) / best
        });
        let mean = runs.sum::<f32>() / 100.0;
        println!("{mean:.3} of the best way");
        assert!(mean < 1.05, "{mean}");
    }

    /// Conjugate gradients over 1,000 points, on a machine that interrupts them. The loop is most
    /// of its round. In a shared call its items cost more, and the pool takes this for their cost.
    #[test]
    fn what_a_trial_has_confirmed_holds_until_the_rounds_change() {
        let alone = |drawn| {
            let mut simulated = Simulated { drawn, ..Simulated::new() };
            let is_alone = |_: &i32| {
                let loop_alone = if simulated.was_alone { 8e3 } else { 13e3 };
                let (alone, shared, moving, noise) = (11e3, 13e3, 2e3, 0.7);
                let program = Program { loop_alone, alone, shared, moving, noise };
                simulated.call(program, false, 9e3).1
            };
            (0..2000).filter(is_alone).count()
        };
        let mean = (0..100).map(alone).sum::<usize>() / 100;
        println!("{mean} of 2,000 rounds are alone");
        assert!(mean > 1750, "{mean}");
    }

    /// A loop of 5 µs whose own verdict is to run alone, because its first shared calls were slow.
    /// Shared calls are faster once the caches of the helper are warm.
    #[test]
    fn a_trial_of_sharing_judges_calls_with_warm_caches() {
        let (mut simulated, mut in_row, mut shared) = (Simulated::new(), 0, 0);
        for _ in 0..2000 {
            let takes = [7e3, 6.5e3, 6e3, 5.5e3, 3.2e3][in_row.min(4)];
            let program = Program { loop_alone: 5e3, alone: 5.2e3, shared: takes, moving: 0.0, noise: 0.05 };
            let is_alone = simulated.call(program, true, 9e3).1;
            in_row = if is_alone { 0 } else { in_row + 1 };
            shared += usize::from(!is_alone);
        }
        assert!(shared > 1900, "{shared} of 2,000 calls");
    }

    /// A shared round takes longer, but not so much longer that a trial ends early.
    #[test]
    fn a_trial_that_fails_ends_the_plan_that_it_has_repeated() {
        let (mut simulated, mut longest, mut in_row) = (Simulated::new(), 0, 0);
        let program = Program { loop_alone: 5e3, alone: 5.2e3, shared: 6e3, moving: 0.0, noise: 0.02 };
        for _ in 0..1000 {
            let is_alone = simulated.call(program, true, 9e3).1;
            in_row = if is_alone { 0 } else { in_row + 1 };
            longest = longest.max(in_row);
        }
        let trial = usize::from(WARMING) + COUNTED;
        assert!((trial..=trial + 1).contains(&longest), "{longest} shared calls in a row");
    }

    /// The rest of the program has become shorter and uneven, and a shared call has become slow.
    #[test]
    fn the_own_times_of_a_loop_decide_while_rounds_are_unlike_and_contradict_a_trial() {
        let mut simulated = Simulated::new();
        let steady = Program { loop_alone: 6e3, alone: 30e3, shared: 27.5e3, moving: 0.0, noise: 0.01 };
        for _ in 0..400 {
            simulated.call(steady, false, 3.5e3);
        }
        let is_shared = |round: &usize| {
            let rest = [3e3, 9e3][round % 2];
            let program = Program { alone: 6e3 + rest, shared: 9e3 + rest, ..steady };
            !simulated.call(program, true, 9e3).1
        };
        let shared = (0..1000).filter(is_shared).count();
        assert!(shared < 500, "{shared} of 1,000 calls");
    }

    #[test]
    fn rounds_do_not_keep_a_loop_alone_that_gains_by_itself() {
        let decided = |took_shared| {
            let (rounds, number) = (Rounds::new(), this().class_number());
            let alone =
                RoundsOfLoop { number, is_alone: true, alike: 2 * ALIKE, left: 100, ..RoundsOfLoop::NEW };
            *rounds.place(this()) = RoundsOfLoop { usually: 12.5e3, decided_in_row: 0, ..alone };
            let (now, took_alone) = (Instant::now(), 12e3);
            let call = RoundBegin { now, own: Ran::Shared, shared: Ran::Shared, took_alone, took_shared };
            rounds.begin(this(), call)
        };
        assert_eq!(decided(11e3), Some(true));
        assert_eq!(decided(6e3), None);
    }

    #[test]
    fn a_trial_of_sharing_comes_after_calls_alone_that_repeat_a_plan() {
        let mut simulated = Simulated::new();
        let program = Program { loop_alone: 5e3, alone: 5.2e3, shared: 3e3, moving: 0.0, noise: 0.02 };
        let first = (0..100).position(|_| !simulated.call(program, true, 9e3).1);
        assert!(first.is_some_and(|first| first > usize::from(DOUBTED)), "call {first:?}");
        assert!(simulated.rounds.tries_sharing(this()), "the trial is under way");
        for _ in 0..100 {
            simulated.call(program, true, 9e3);
        }
        assert!(!simulated.rounds.tries_sharing(this()), "it has ended");
    }

    /// In each trial of running alone, the first round that counts is interrupted.
    #[test]
    fn an_interrupted_round_decides_nothing() {
        let (mut simulated, mut in_row, mut ran_alone) = (Simulated::new(), 0, 0);
        for _ in 0..100 {
            let alone = PAGE_RANK.alone * if in_row == 1 { 5.0 } else { 1.0 };
            let way = simulated.round(Program { alone, ..PAGE_RANK }, false).1;
            in_row = if way { in_row + 1 } else { 0 };
            ran_alone += usize::from(way);
        }
        assert!(ran_alone > 80, "{ran_alone} of 100 rounds");
    }

    #[test]
    fn rounds_that_become_longer_than_those_of_the_last_trial_are_tried_again_soon() {
        let (mut simulated, program) = (Simulated::new(), Program { noise: 0.02, ..PAGE_RANK });
        simulated.rounds(Program { shared: 20e3, ..program }, 5000);
        let later = simulated.rounds(program, 200) / (200.0 * program.alone);
        assert!(later < 1.1, "{later}");
    }

    #[test]
    fn a_round_in_which_calls_were_not_timed_is_not_measured() {
        let mut simulated = Simulated::new();
        simulated.rounds(PAGE_RANK, 500);
        let usually = |simulated: &Simulated| simulated.rounds.known(this()).map(|known| known.usually);
        let before = usually(&simulated);
        for _ in 0..10 {
            simulated.rounds.forget_begin(this());
            simulated.now += Duration::from_millis(1);
            simulated.rounds.begin_alone(this(), simulated.now);
        }
        assert_eq!(usually(&simulated), before);
    }

    #[test]
    fn a_loop_is_warm_after_15_shared_calls_in_a_row() {
        let rounds = Rounds::new();
        assert_eq!(rounds.is_warm(this()), None);
        rounds.place(this()).number = this().class_number();
        let ran = |ran| {
            rounds.place(this()).runs(ran, false);
            rounds.is_warm(this()) == Some(true)
        };
        let warm: Vec<bool> = (0..20).map(|_| ran(Ran::Shared)).collect();
        assert_eq!(warm.iter().position(|&is_warm| is_warm), Some(14));
        assert!(warm[14..].iter().all(|&is_warm| is_warm), "{warm:?}");
        rounds.forget_begin(this());
        assert!(!ran(Ran::Shared), "calls that were not timed ran alone");
    }

    /// The last trial found the loop alone slower than it is now. That doubts the verdict "alone",
    /// which decides nothing while the price of help is too high.
    #[test]
    fn calls_that_are_not_worth_sharing_repeat_a_plan_whatever_the_verdict() {
        let settled = |is_alone| {
            let (ran, alike, usually, otherwise) = (Ran::Alone, 4, 4.5e3, 4.3e3);
            RoundsOfLoop { ran, is_alone, usually, alike, otherwise, ..RoundsOfLoop::NEW }
                .is_settled(Ran::Alone)
        };
        assert_eq!([true, false].map(settled), [false, true]);
    }

    #[test]
    fn a_loop_that_takes_longer_than_its_round_is_not_tried_alone() {
        let mut simulated = Simulated::new();
        let program = Program { loop_alone: 24e3, alone: 25e3, shared: 13.5e3, moving: 0.0, noise: 0.05 };
        assert!((0..1000).all(|_| !simulated.round(program, false).1));
    }

    #[test]
    fn a_loop_that_is_all_of_its_round_is_not_kept_alone() {
        let (now, own, shared) = (Instant::now(), Ran::Shared, Ran::Shared);
        let call = RoundBegin { now, own, shared, took_alone: 23e3, took_shared: 12e3 };
        let decides = |usually| {
            let left = LONGER;
            RoundsOfLoop { is_alone: true, usually, alike: 4, left, ..RoundsOfLoop::NEW }.decide(&call)
        };
        assert_eq!([23e3, 24e3, 40e3].map(decides), [None, None, Some(true)]);
    }

    #[test]
    fn rounds_of_different_times_decide_nothing() {
        let (mut simulated, mut ran_alone) = (Simulated::new(), 0);
        for round in 0..3000 {
            let times = [1.0, 3.0, 9.0][round % 3];
            let program = Program { shared: times * 35e3, alone: times * 24e3, ..PAGE_RANK };
            ran_alone += usize::from(simulated.round(program, false).1);
        }
        assert_eq!(ran_alone, 0);
    }

    /// A helper that is rung comes 20 rounds later. It sleeps again if the loop runs alone for 4
    /// rounds. The rounds take 24 µs shared, and 40 µs alone. The loop's own verdict is that it
    /// runs alone, since nobody has come to its first calls.
    #[test]
    fn a_trial_of_sharing_waits_for_its_helper() {
        let (rounds, this) = (Rounds::new(), this());
        let (mut now, mut comes_in, mut idle_for, mut shared) = (Instant::now(), None, 4, 0);
        for _ in 0..1000 {
            let is_awake = idle_for < 4;
            let ran = if is_awake { Ran::Shared } else { Ran::Waking };
            let way = if is_awake || comes_in.is_none() {
                let (took_alone, took_shared) = (34e3, 19e3);
                let call = RoundBegin { now, own: Ran::Alone, shared: ran, took_alone, took_shared };
                rounds.begin(this, call).unwrap_or(true)
            } else {
                rounds.begin_alone(this, now);
                true
            };
            (idle_for, comes_in) = match (way, ran, comes_in) {
                (false, Ran::Shared, _) | (_, _, Some(0)) => (0, None),
                (false, _, None) => (idle_for, Some(20)),
                (.., left) => (idle_for + 1, left.map(|left| left - 1)),
            };
            let is_shared = !way && ran == Ran::Shared;
            shared += usize::from(is_shared);
            now += Duration::from_micros(if is_shared { 24 } else { 40 });
        }
        assert!(shared > 800, "{shared} of 1000 rounds");
    }

    /// A program swaps two buffers. By the verdicts of their own, the loop over one of them is
    /// shared, and that over the other runs alone, so each round moves the data.
    #[test]
    fn two_slices_with_two_verdicts_are_judged_together() {
        let (rounds, this) = (Rounds::new(), this());
        let (mut now, mut mixed, mut was_alone) = (Instant::now(), 0, false);
        for round in 0..1000 {
            let own = [Ran::Alone, Ran::Shared][round % 2];
            let (took_alone, took_shared) = (6.5e3, 6e3);
            let call = RoundBegin { now, own, shared: Ran::Shared, took_alone, took_shared };
            let way = rounds.begin(this, call).unwrap_or(own == Ran::Alone);
            mixed += usize::from(!way);
            now += Duration::from_nanos(if way && was_alone { 9_000 } else { 11_000 });
            was_alone = way;
        }
        assert!(mixed < 50, "{mixed} of 1000 rounds");
    }

    #[test]
    fn a_program_that_changes_its_phase_is_judged_again() {
        let mut simulated = Simulated::new();
        simulated.rounds(PAGE_RANK, 500);
        assert!(simulated.round(PAGE_RANK, false).1, "it runs alone");
        let dear = Program { loop_alone: 300e3, alone: 310e3, shared: 160e3, moving: 3e3, noise: 0.1 };
        let ratio = simulated.rounds(dear, 200) / (200.0 * dear.shared);
        assert!(ratio < 1.1, "{ratio}");
    }
}
