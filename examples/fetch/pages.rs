//! The contents of a page, and the computation on it.

use std::{error::Error, fmt, ops::Add};

/// The number of columns, without the column of totals.
const COLUMNS: u64 = 48;

/// The reason why a page has no result.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) page: usize,
    pub(crate) why: String,
}

impl Failure {
    pub(crate) fn new(page: usize, why: impl fmt::Display) -> Self {
        Self { page, why: why.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}: {}", self.page, self.why)
    }
}

impl Error for Failure {}

/// The sum of pages, which does not depend on the order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    numbers: u64,
    hundredths: i64,
}

impl Add for Sum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (numbers, hundredths) = (self.numbers + other.numbers, self.hundredths + other.hundredths);
        Self { numbers, hundredths }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} numbers", Decimal(self.hundredths), self.numbers)
    }
}

/// Hundredths, with a point before the last two digits.
struct Decimal(i64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, hundredths) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

/// Sums the table up. Each line has numbers, and their total at the end. A wrong total is a
/// failure.
pub(crate) fn parse(page: usize, text: &str) -> Result<Sum, Failure> {
    let mut sum = Sum::default();
    for (line, row) in (1..).zip(text.lines()) {
        let row = total_of(row).map_err(|why| Failure::new(page, format_args!("line {line}: {why}")))?;
        sum = sum + row;
    }
    Ok(sum)
}

fn total_of(row: &str) -> Result<Sum, &'static str> {
    let (fields, total) = row.rsplit_once(',').ok_or("there is no total")?;
    let mut sum = Sum::default();
    for field in fields.split(',') {
        sum = sum + Sum { numbers: 1, hundredths: hundredths(field)? };
    }
    if sum.hundredths == hundredths(total)? { Ok(sum) } else { Err("the total is wrong") }
}

/// A number with two digits behind the point.
fn hundredths(field: &str) -> Result<i64, &'static str> {
    let (sign, digits) = field.strip_prefix('-').map_or((1, field), |digits| (-1, digits));
    let number = |digits: &str| digits.parse::<u32>().map(i64::from).map_err(|_| "that is no number");
    match digits.split_once('.') {
        Some((whole, rest)) if rest.len() == 2 && !digits.contains('+') => {
            Ok(sign * (100 * number(whole)? + number(rest)?))
        }
        _ => Err("that is no number"),
    }
}

/// Some 20 to 60 KB of numbers. A page has the same numbers on every platform.
pub(crate) fn text(page: usize) -> String {
    let seed = mixed(page as u64);
    let rows = (0..60 + seed % 120).map(|row| {
        let numbers = (0..COLUMNS).map(|column| mixed(seed ^ (row * COLUMNS + column)) % 200_000);
        let numbers: Vec<_> = numbers.map(|number| number.cast_signed() - 50_000).collect();
        let total = numbers.iter().sum();
        let fields: Vec<_> =
            numbers.into_iter().chain([total]).map(|number| Decimal(number).to_string()).collect();
        fields.join(",") + "\n"
    });
    rows.collect()
}

/// A pseudo-random number for each number, the same on every platform (`SplitMix64`).
pub(crate) fn mixed(number: u64) -> u64 {
    let state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_as_large_as_they_are_said_to_be() {
        for page in 0..50 {
            let text = text(page);
            assert!((18_000..=66_000).contains(&text.len()), "{} bytes", text.len());
            let sum = parse(page, &text).unwrap();
            assert_eq!(sum.numbers, COLUMNS * text.lines().count() as u64);
        }
    }

    #[test]
    fn totals_are_checked() {
        let good = "1.00,-2.50,-1.50\n0.01,0.01\n";
        let sum = Sum { numbers: 3, hundredths: -149 };
        assert_eq!(parse(7, good), Ok(sum));
        assert_eq!(sum.to_string(), "-1.49 of 3 numbers");
        assert_eq!(parse(7, ""), Ok(Sum::default()));
        let why = |text: &str| parse(7, text).unwrap_err().to_string();
        assert_eq!(why("1.00,1.00\n1.00,-2.50,-1.51"), "page 7: line 2: the total is wrong");
        assert_eq!(why("1.00"), "page 7: line 1: there is no total");
        for field in ["", "1", "1.0", "1.000", "--1.00", "+1.00", "1.+1", ".00", "1e3"] {
            assert_eq!(why(&format!("{field},1.00")), "page 7: line 1: that is no number", "{field}");
        }
    }
}
