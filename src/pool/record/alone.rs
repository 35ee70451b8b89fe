//! Why a loop ran on the calling thread alone.

/// Why a loop ran on the calling thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alone {
    /// The loop was over, or expected to be over, before help would have paid.
    Short,
    /// The pool was busy with another loop.
    Busy,
    /// There is only one worker for the loop, or only one item, or none.
    OneWorker,
    /// The loop's token had been cancelled before the loop began.
    Cancelled,
}
