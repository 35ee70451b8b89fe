//! Why a loop ran on the calling thread alone: both reports and timelines say it.

/// Why a loop ran on the calling thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alone {
    /// The loop ended, or was expected to end, before help would have paid.
    Short,
    /// Its items waited, and there was never enough to compute to pay for help.
    Waited,
    /// The loop has been found to be faster alone, or this call was a trial to find that out.
    /// Perhaps its items wait for each other, or another program has the CPU of a helper. Such a
    /// loop is shared again after a pause. The pause grows each time the shared loop is still
    /// slower.
    Faster,
    /// No worker of the pool was idle, from the begin of the loop to its end.
    Busy,
    /// There is only one worker for the loop, or only one item, or none.
    OneWorker,
    /// The loop's token was cancelled before the loop began.
    Cancelled,
}

impl Alone {
    /// The reason in a few words, as all reports print it.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Waited => "its items waited",
            Self::Faster => "faster",
            Self::Busy => "the pool was busy",
            Self::OneWorker => "one worker",
            Self::Cancelled => "cancelled before it began",
        }
    }
}
