//! Closures that return nothing.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{cell::Cell, data::Pixel};

pub(crate) fn cells() -> Vec<Cell> {
    vec![
        for_each!("mix of 40, few counted", wide: u64, let (hits: AtomicU32), |x| {
            if mix!(*x, 40) % 256 == 0 {
                hits.fetch_add(1, Relaxed);
            }
        }),
        for_each_zip!("40 rounds, zipped", words: u32, words_out: u32, let (), |(place, x)| {
            *place = rounds!(*x, 40);
        }),
        for_each_mut!("15 rounds", words: u32, |x| *x = rounds!(*x, 15)),
        for_each_mut!("100 rounds", words: u32, |x| *x = rounds!(*x, 100)),
        for_each_mut!("mix of 40", wide: u64, |x| *x = mix!(*x, 40)),
        for_each_mut!("RGB to YUV", pixels: Pixel, |pixel| *pixel = yuv!(pixel)),
    ]
}
