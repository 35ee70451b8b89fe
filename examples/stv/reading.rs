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
    /// Largest unpacked size of a compressed file, in bytes, or with K, M, G or T after the number
    #[arg(long, value_name = "BYTES", default_value = "16G", value_parser = bytes)]
    pub(crate) most_unpacked: u64,
}

impl Reading {
    /// The options for the reader.
    pub(crate) fn of_ballots(self) -> stv_ballots::Reading {
        stv_ballots::Reading { names: self.names, seats: self.seats, duplicates: self.duplicates }
    }
}

/// A number of bytes such as `100000`, `64M` or `16G`.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let unit =
        units.iter().find(|(letter, _)| text.ends_with(|last: char| last.eq_ignore_ascii_case(letter)));
    let (digits, shift) = unit.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], *shift));
    let number: Option<u64> =
        digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number = number.and_then(|number| number.checked_mul(1 << shift)).filter(|&number| number > 0);
    number.ok_or_else(|| "not a number of bytes such as 500000, 64M or 16G".to_owned())
}

/// Formats a number of bytes as a user would write the number.
pub(crate) fn in_units(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let whole = units.iter().find(|(shift, _)| bytes.trailing_zeros() >= *shift && bytes > 0);
    whole.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_are_told() {
        for (text, number) in
            [("1", 1), ("500000", 500_000), ("64m", 64 << 20), ("16G", 16 << 30), ("3T", 3 << 40)]
        {
            assert_eq!(bytes(text), Ok(number));
            assert_eq!(in_units(number), text.to_uppercase());
        }
        for text in ["", "G", "0", "-1", "+1", "1.5G", "16 G", "16GB", "é", "18446744073709551615T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
