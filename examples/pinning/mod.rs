//! The option `--pinning` of some examples.

/// The library's `Pinning`, for a command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Pinning {
    /// The system places the threads
    Off,
    /// Each thread stays on a CPU of its own, if the system allows it
    #[default]
    BestEffort,
    /// Each thread stays on a CPU of its own; otherwise an error
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
