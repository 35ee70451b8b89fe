//! The options that choose one of several ways, and their values on the command line.

use clap::ValueEnum;

/// The name of a value on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|value| value.get_name().to_owned())
}

/// Defines an option whose values are the variants of an enum of another package.
macro_rules! option {
    ($(#[$doc:meta])* $name:ident = $other:path { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant,)* }

        impl From<$name> for $other {
            fn from(value: $name) -> Self {
                match value { $($name::$variant => Self::$variant,)* }
            }
        }
    };
}

option! {
    /// The order of name and party in the line of a candidate.
    Order = stv_ballots::Order {
        /// The name, then the party
        NameParty,
        /// The party, then the name
        PartyName,
        /// The name alone, even if it has quotes inside
        Whole,
    }
}

option! {
    /// The treatment of a ballot that names a candidate twice.
    #[derive(Default)]
    Duplicates = stv_ballots::Duplicates {
        /// The file is refused, with an error that names the ballot
        #[default]
        Refuse,
        /// The first mention counts; later mentions are left out
        First,
        /// The ballot ends before the rank with a second mention
        Truncate,
    }
}

option! {
    /// The way in which a ballot with equal ranks counts.
    #[derive(Default)]
    EqualRanks = stv_ballots::EqualRanks {
        /// As all orders of the equals, each for an equal part of the ballot. No vote is lost
        #[default]
        AllOrders,
        /// As in the counters Droop and stv-rs, for comparisons. Ranks below defeated equals get
        /// nothing, even if they rank a hopeful candidate
        AsDroop,
    }
}

option! {
    /// The threads that distribute the ballots.
    Parallel = stv_count::Parallel {
        /// One thread, a plain loop
        No,
        /// The threads of this crate's pool
        Pool,
    }
}
