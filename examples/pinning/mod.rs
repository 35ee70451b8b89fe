//! The option `--pinning` of the examples that have one.

/// The library's `Pinning`, for a command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Pinning {
    /// Threads run where the system puts them
    Off,
    /// Each thread stays on a CPU of its own, where the system allows it
    #[default]
    BestEffort,
    /// The same, or an error
    Required,
}

impl From<Pinning> for rangesteal::Pinning {
    fn from(pinning: Pinning) -> Self {
        match pinning {
            Pinning::Off => Self::Off,
            Pinning::BestEffort => Self::BestEffort,
            Pinning::Required => Self::Required,
        }
    }
}
