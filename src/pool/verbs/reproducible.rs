//! The blocks of a reproducible loop. Their partial results are reduced in an order that depends
//! only on the number of blocks: see `engine/order.rs`.

/// The number of items per block of a whole of `len` items, unless a [`grain`](crate::On::grain) is
/// set. The number is `len / 256` limited to `1..=64`, or `len / 2048` if this is greater. There
/// are always fewer than 4096 blocks.
///
/// ```
/// use rangesteal::reproducible::block;
///
/// assert_eq!([0, 100, 1000, 100_000, 1_000_000].map(block), [1, 1, 3, 64, 488]);
/// ```
#[must_use]
pub fn block(len: usize) -> usize {
    // With `len / 256` items per block there are at least 256 blocks to share, since workers claim
    // whole blocks. With `len / 2048` there are fewer than 4096 blocks, and so fewer than 4096
    // partial results.
    (len / 256).clamp(1, 64).max(len / 2048)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_many_but_not_too_many() {
        for len in [1, 2, 255, 256, 1000, 10_000, 131_072, 140_000, 1 << 20, usize::MAX] {
            let blocks = len.div_ceil(block(len));
            assert!((256.min(len)..4096).contains(&blocks), "{len} items in {blocks} blocks");
        }
    }
}
