//! Rounded numbers for the page, with two decimals or in pixels. The exact numbers are in the
//! transcript, in JSON and in CSV.

use std::fmt::Write;

/// The value of a printed number: a decimal or a fraction, of any length.
pub(super) fn value(text: &str) -> f64 {
    let Some((numerator, denominator)) = text.split_once('/') else {
        return text.parse().unwrap_or_default();
    };
    let ((over, more), (under, less)) = (leading(numerator), leading(denominator));
    // The conversion through text rounds alike on every machine.
    format!("{}e{}", over / under, more - less).parse().unwrap_or_default()
}

/// The first digits of a whole number, and the number of the other digits. Fractions may be longer
/// than a double can hold.
fn leading(digits: &str) -> (f64, i64) {
    let (first, rest) = digits.split_at(digits.len().min(18));
    (first.parse().unwrap_or_default(), i64::try_from(rest.len()).unwrap_or(i64::MAX))
}

/// The number with two decimals, or with none if it is whole, and with separated thousands.
pub(super) fn shown(value: f64) -> String {
    aligned(value, is_broken(value))
}

/// Whether a number shows decimals.
pub(super) fn is_broken(value: f64) -> bool {
    !format!("{value:.2}").ends_with(".00")
}

/// The number with two decimals or with none, as all numbers of its column.
pub(super) fn aligned(value: f64, broken: bool) -> String {
    let text = format!("{:.2}", value.abs());
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, "00"));
    let is_zero = text == "0.00";
    let mut shown = String::from(if value < 0.0 && !is_zero { "−" } else { "" });
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if broken {
        let _ = write!(shown, ".{decimals}");
    }
    shown
}

/// Whether a number is larger than its shown value with two decimals. Votes that equal the shown
/// value of such a quota do not reach the quota.
pub(super) fn is_more_than_shown(text: &str) -> bool {
    let digits = text.split_once('.').map_or("", |(_, decimals)| decimals.get(2..).unwrap_or(""));
    if text.contains('/') {
        let value = value(text);
        return value > (value * 100.0).round() / 100.0;
    }
    digits.starts_with(|digit| digit < '5') && digits.contains(|digit| digit != '0')
}

/// A printed number, rounded for the page.
pub(super) fn rounded(text: &str) -> String {
    shown(value(text))
}

/// A share in percent, always with two decimals.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", aligned(share, true))
}

/// A number of rows or columns, as a double. Such numbers are small enough for an exact conversion.
#[expect(clippy::cast_precision_loss, reason = "as its comment says")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_and_fractions_have_their_value() {
        let near = |text: &str, wanted: f64| {
            assert!((value(text) - wanted).abs() <= wanted.abs() * 1e-12, "{text}: {}", value(text));
        };
        near("12.500000000", 12.5);
        near("-0.000000001", -1e-9);
        near("-7/2", -3.5);
        near("0", 0.0);
        let (long, longer) = ("3".repeat(400), "6".repeat(401));
        near(&format!("{longer}/{long}"), 20.0);
    }

    #[test]
    fn numbers_are_rounded_and_grouped() {
        let text: Vec<_> = [0.0, -0.001, 1.5, 999.0, -1234.567, 1e6].map(shown).into();
        assert_eq!(text, ["0", "0", "1.50", "999", "−1,234.57", "1,000,000"]);
    }

    #[test]
    fn what_is_rounded_down_is_known() {
        for (text, wanted) in [
            ("12.000000001", true),
            ("12345678901234567.500000001", true),
            ("12.000000000", false),
            ("12", false),
            ("12.5", false),
            ("3.666666667", false),
            ("37/3", true),
            ("38/3", false),
            ("7/2", false),
        ] {
            assert_eq!(is_more_than_shown(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_column_has_the_same_decimals() {
        assert_eq!([6.5, 12.0].map(|value| aligned(value, true)), ["6.50", "12.00"]);
        assert!(is_broken(6.5) && !is_broken(12.000_000_001));
    }
}
