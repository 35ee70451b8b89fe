//! Mistakes that a model can plant in the real code, to show that it would find them. The normal build knows none: each question is
//! the constant `false`, and none stands in the hot loop.

/// What can be done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A worker does not tell thieves, when it enters, that it now needs a fence.
    EntersUnknown,
    /// Nor when it changes its fence.
    ChangesUntold,
    /// A thief keeps what its victim has just claimed: `<=` one too far.
    KeepsOneTooMany,
    /// A thief leaves its victim the item that it claims.
    CutsOneTooFew,
    /// A thief lets go of its own range for a moment while the theft is undecided.
    LetsGoUndecided,
    /// A thief locks its own cell before that of its victim, whatever their order.
    OwnLockFirst,
    /// A thief cuts the victim's range before the own one shows what was cut off.
    CutsBeforeItShows,
    /// A scan that found nothing is not repeated, although something has moved.
    ScansOnce,
    /// A cut goes through the cells one after the other.
    CutsOneByOne,
    /// A cut locks nothing.
    CutsUnlocked,
    /// A cut behind the end of a range gives back what has been stolen from it.
    CutsLonger,
    /// A round looks for a cancelled token before it lets the token know its ranges.
    LooksBeforeItTells,
    /// The ranges of a round that is over stay with its token.
    StaysWithToken,
    /// A block of a search is claimed by a load and a store.
    ClaimsInTwoSteps,
    /// The end of a call does not retract the job.
    RetractsNothing,
    /// Nor waits for those inside.
    WaitsForNobody,
    /// Nor takes the lock when it has seen the last one leave.
    SeesTheEndUnlocked,
    /// The last worker to leave looks whether the caller sleeps before it has left.
    LooksBeforeItLeaves,
    /// A pool that stops wakes its workers before they can see that it stops.
    WakesBeforeItStops,
    /// A worker goes home after a panic.
    PanicsAndLeaves,
    /// Of several panics the last one counts.
    LastPanicCounts,
}

#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn is_planted(_: Bug) -> bool {
    false
}

// Of the calling thread: on which a model checker runs all threads of a model.
#[cfg(test)]
thread_local!(static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) });

#[cfg(test)]
pub(crate) fn is_planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// For the calling thread, until the next call.
#[cfg(test)]
#[cfg_attr(miri, allow(dead_code))] // as is `litmus.rs`
pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}
