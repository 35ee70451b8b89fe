//! Why a loop ran on the calling thread alone.

/// Why a loop ran on the calling thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alone {
    /// The loop was over, or expected to be over, before help would have paid.
    Short,
    /// Its items waited, and there was never so much to compute at a time that help would have
    /// paid.
    Waited,
    /// The loop has been found to be faster that way, or this call was to find out: perhaps its
    /// items wait for each other, or another program has the CPU of a helper. Such a loop is shared
    /// again after a pause, and after a longer one each time it is still slower.
    Faster,
    /// No worker of the pool was idle, from the begin of the loop to its end.
    Busy,
    /// There is only one worker for the loop, or only one item, or none.
    OneWorker,
    /// The loop's token had been cancelled before the loop began.
    Cancelled,
}

impl Alone {
    /// The reason in a few words, as reports print it.
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
