//! The options of all commands that read ballot files.

use crate::kinds::one_of;
use std::num::NonZeroUsize;
use stv_ballots::{Duplicates, Order};

/// The options of all commands that read ballot files.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Reading {
    /// The order of name and party in the line of a candidate, if the file does not show it
    #[arg(long, value_parser = one_of(Order::ALL), value_name = "ORDER")]
    pub(crate) names: Option<Order>,
    #[allow(clippy::doc_markdown)] // it is the help
    /// Number of seats, in place of the number in the file; PrefLib files have no number
    #[arg(long, value_name = "N")]
    pub(crate) seats: Option<NonZeroUsize>,
    /// The treatment of a ballot that names a candidate twice
    #[arg(long, value_parser = one_of(Duplicates::ALL), default_value_t)]
    pub(crate) duplicates: Duplicates,
}

impl Reading {
    /// The options for the reader.
    pub(crate) fn of_ballots(self) -> stv_ballots::Reading {
        stv_ballots::Reading { names: self.names, seats: self.seats, duplicates: self.duplicates }
    }
}
