//! Converts numbers to bytes for other ranks, and back. Damaged bytes are refused.

use num_bigint::BigInt;

pub(crate) fn put_word(word: u64, out: &mut Vec<u8>) {
    out.extend(word.to_le_bytes());
}

pub(crate) fn word(from: &mut &[u8]) -> Option<u64> {
    let (word, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(u64::from_le_bytes(*word))
}

/// Writes the number of the bytes, and then the bytes.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_word(bytes.len() as u64, out);
    out.extend(bytes);
}

pub(crate) fn bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(word(from)?).ok()?;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes)
}

pub(crate) fn put_big(number: &BigInt, out: &mut Vec<u8>) {
    put_bytes(&number.to_signed_bytes_le(), out);
}

pub(crate) fn big(from: &mut &[u8]) -> Option<BigInt> {
    bytes(from).map(BigInt::from_signed_bytes_le)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers in vec((any::<u64>(), vec(any::<u8>(), 0..20)), 0..9),
            lost in any::<prop::sample::Index>(),
        ) {
            let mut out = Vec::new();
            for (number, digits) in &numbers {
                put_word(*number, &mut out);
                put_big(&BigInt::from_signed_bytes_le(digits), &mut out);
            }
            let mut from = &out[..];
            for (number, digits) in &numbers {
                prop_assert_eq!(word(&mut from), Some(*number));
                prop_assert_eq!(big(&mut from), Some(BigInt::from_signed_bytes_le(digits)));
            }
            prop_assert_eq!((from.len(), word(&mut from), bytes(&mut from)), (0, None, None));
            // A truncated message has fewer numbers, and reading it does not panic.
            if !out.is_empty() {
                let mut from = &out[..lost.index(out.len())];
                let read = numbers.iter().filter(|_| word(&mut from).is_some() && big(&mut from).is_some());
                prop_assert!(read.count() < numbers.len());
            }
        }
    }
}
