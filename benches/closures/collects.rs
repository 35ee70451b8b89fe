//! Closures whose results are kept.

use crate::{
    cell::Cell,
    data::{Centres, Pixel, Point},
};

pub(crate) fn cells() -> Vec<Cell> {
    vec![
        map_into!("40 rounds", words: u32, words_out: u32, let (), |x| rounds!(*x, 40)),
        map_into!("polynomial of 40", floats: f32, floats_out: f32, let (), |x| polynomial!(*x, 40)),
        map_into!("RGB to YUV", pixels: Pixel, pixels_out: Pixel, let (), |pixel| yuv!(pixel)),
        map_into!("3 x 3 stencil", places: u32, floats_out: f32, let (image: [f32]), |at| {
            blurred!(image, *at as usize)
        }),
        map_collect!("15 rounds", words: u32, let () -> u32, |x| rounds!(*x, 15)),
        map_collect!("mix of 80", wide: u64, let () -> u64, |x| mix!(*x, 80)),
        map_collect!("polynomial of 15", floats: f32, let () -> f32, |x| polynomial!(*x, 15)),
        map_collect!("3 x 3 stencil", places: u32, let (image: [f32]) -> f32, |at| {
            blurred!(image, *at as usize)
        }),
        map_collect!("nearest of 16 centres", points: Point, let (centres: Centres) -> usize, |point| {
            nearest!(point, centres).1
        }),
        filter_collect!("40 rounds", words: u32, let (), |x| rounds!(*x, 40) % 4 == 0),
        filter_collect!("mix of 10", wide: u64, let (), |x| mix!(*x, 10) % 4 == 0),
        filter_collect!("nearest of 16 centres", points: Point, let (centres: Centres), |point| {
            nearest!(point, centres).0 < 0.04
        }),
    ]
}
