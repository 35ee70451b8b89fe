//! Why a loop ran on the calling thread alone. Reports and timelines give this reason.

/// Why a loop ran on the calling thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alone {
    /// The loop ended, or was expected to end, before help would have paid.
    Short,
    /// The loop's items waited, and the remaining computation was never large enough to pay for
    /// help.
    Waited,
    /// Earlier calls of the loop were faster on one thread, or this call was a trial that measured
    /// the time on one thread. There are two possible causes: items of the loop wait for each
    /// other, or another program uses the CPU of a helper. After a pause the pool shares the loop
    /// again. If the shared loop is still slower, the next pause is longer.
    Faster,
    /// The time from the begin of one call to the begin of the next was shorter with the loop on
    /// one thread, or this call was one of a few that measured this time. The loop by itself may be
    /// faster shared. But then the loops and the serial code around it fetch data from the CPUs of
    /// helpers. After a pause the pool shares the loop again.
    Round,
    /// From the begin of the loop to its end, no worker of the pool was idle.
    Busy,
    /// The loop had only one worker, or at most one item. (A sort is one item if no other worker is
    /// idle.)
    OneWorker,
    /// The loop's token was cancelled before the loop began.
    Cancelled,
}

impl Alone {
    /// All reasons, in the order of their numbers.
    pub(super) const ALL: [Self; 7] =
        [Self::Short, Self::Waited, Self::Faster, Self::Round, Self::Busy, Self::OneWorker, Self::Cancelled];

    /// The reason in a few words, for all reports.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Waited => "its items waited",
            Self::Faster => "faster",
            Self::Round => "its program is faster",
            Self::Busy => "the pool was busy",
            Self::OneWorker => "one worker",
            Self::Cancelled => "cancelled before it began",
        }
    }
}
