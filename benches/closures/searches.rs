//! Searches for an item that does not exist.

use crate::{
    cell::Cell,
    data::{Centres, Point},
};

/// A value that no item reaches.
const NEVER: u64 = 0x0123_4567_89AB_CDEF;

pub(crate) fn cells() -> Vec<Cell> {
    vec![
        any!("15 rounds", words: u32, let (), |x| rounds!(*x, 15) == NEVER as u32),
        any!("mix of 40", wide: u64, let (), |x| mix!(*x, 40) == NEVER),
        any!("nearest of 16 centres", points: Point, let (centres: Centres), |point| {
            nearest!(point, centres).0 > 16.0
        }),
        try_map_reduce!(
            "40 rounds", words: u32, let () -> u32, 0,
            |x| {
                let x = rounds!(*x, 40);
                if x == NEVER as u32 { Err(NEVER) } else { Ok(x) }
            },
            |a: u32, b| a.wrapping_add(b)
        ),
        try_map_reduce!(
            "mix of 10", wide: u64, let () -> u64, 0,
            |x| {
                let x = mix!(*x, 10);
                if x == NEVER { Err(NEVER) } else { Ok(x) }
            },
            |a: u64, b| a ^ b
        ),
        try_map_reduce!(
            "polynomial of 15", floats: f32, let () -> u32, 0,
            |x| {
                let y = polynomial!(*x, 15);
                if y.is_nan() { Err(NEVER) } else { Ok(y.to_bits()) }
            },
            |a: u32, b| a.max(b)
        ),
    ]
}
