//! Who runs a loop: the entrants of a race, and their columns in the table.

/// Workers of the pools that have more workers than the machine has CPUs.
pub(crate) const MANY: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Who {
    /// The natural form: iterators.
    Plain,
    /// The fastest form without threads that is known here.
    Fastest,
    Rangesteal,
    /// Another pool of rangesteal's, as the first: how far the two are apart means nothing.
    Control,
    Rayon,
    Paralight,
    Chili,
    Orx,
    #[cfg_attr(not(fork_union), allow(dead_code, reason = "not built"))]
    ForkUnion,
    OpenMp,
    Tbb,
    /// A static split in two by rayon.
    Halves,
    /// rangesteal with one worker.
    One,
    /// rangesteal that spins before it parks.
    Spinning,
    /// rangesteal that reports.
    Reporting,
    /// rangesteal that records a timeline.
    Tracing,
    /// rangesteal's loop over a list that does not grow; only in `growing`.
    #[allow(dead_code, reason = "not in versus")]
    On,
    /// rangesteal without pinning.
    Unpinned,
    /// rangesteal with [`MANY`] workers.
    Many,
    /// rayon with [`MANY`] workers.
    ManyRayon,
}

impl Who {
    /// The column of an entrant.
    pub(crate) fn column(self) -> Self {
        match self {
            Self::One | Self::Spinning | Self::Reporting | Self::Tracing | Self::Unpinned | Self::Many => {
                Self::Rangesteal
            }
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
            Self::Tbb => "oneTBB",
            Self::Rangesteal => "rangesteal",
            Self::Control => "rangesteal again",
            Self::On => "rangesteal, on",
            _ => "plain",
        }
    }
}
