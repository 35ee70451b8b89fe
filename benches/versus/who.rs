//! The entrants of a race, and their columns in the table.

/// Workers of the pools that have more workers than the machine has CPUs.
pub(crate) const MANY: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Who {
    /// The natural form: iterators.
    Plain,
    /// The fastest known form without threads.
    Fastest,
    Rangesteal,
    /// Another pool of rangesteal, equal to the first one. A difference between the two pools is
    /// noise.
    Control,
    Rayon,
    Paralight,
    Chili,
    Orx,
    #[cfg_attr(not(fork_union), allow(dead_code, reason = "not built"))]
    ForkUnion,
    OpenMp,
    /// OpenMP with `OMP_WAIT_POLICY=passive`: its threads sleep right after a loop.
    PassiveOpenMp,
    /// One thread, in C++.
    PlainCpp,
    Tbb,
    /// A static split in two by rayon.
    Halves,
    /// rangesteal with one worker.
    One,
    /// rangesteal that busy-waits before it parks.
    Spinning,
    /// rangesteal that reports.
    Reporting,
    /// rangesteal that records a timeline.
    Tracing,
    /// rangesteal's ordinary loop, for comparison with its other kinds of loops.
    On,
    /// rangesteal without pinning.
    Unpinned,
    /// rangesteal with [`MANY`] workers.
    Many,
    /// rayon with [`MANY`] workers.
    ManyRayon,
    /// The lower bound, which no executor can beat.
    Bound,
    /// One task per item, on tokio's threads.
    Tokio,
    /// One task per item, on threads that run an executor of `async-executor`.
    AsyncExecutor,
    /// All items on one thread, by `buffer_unordered`.
    Unordered,
    /// One thread per item.
    Threads,
    /// rangesteal, woken by tokio's timers.
    WokenByTokio,
    /// rangesteal, woken by the timers of `async-io`.
    WokenByAsyncIo,
}

impl Who {
    /// The column of an entrant.
    pub(crate) fn column(self) -> Self {
        match self {
            Self::One | Self::Spinning | Self::Reporting | Self::Tracing | Self::Unpinned | Self::Many => {
                Self::Rangesteal
            }
            Self::WokenByTokio | Self::WokenByAsyncIo => Self::Rangesteal,
            Self::ManyRayon => Self::Rayon,
            who => who,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self.column() {
            Self::Rayon => "rayon",
            Self::Paralight => "paralight",
            Self::Chili => "chili",
            Self::Orx => "orx-parallel",
            Self::ForkUnion => "fork_union",
            Self::OpenMp => "OpenMP",
            Self::PassiveOpenMp => "OpenMP, passive",
            Self::PlainCpp => "plain, in C++",
            Self::Tbb => "oneTBB",
            Self::Rangesteal => "rangesteal",
            Self::Control => "rangesteal again",
            Self::On => "rangesteal, on",
            Self::Tokio => "tokio",
            Self::AsyncExecutor => "async-executor",
            Self::Unordered => "futures",
            Self::Threads => "a thread an item",
            _ => "plain",
        }
    }
}
