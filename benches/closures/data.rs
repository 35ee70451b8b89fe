//! The inputs and outputs of the loops.

use std::{array, sync::atomic::AtomicU32};

use crate::random::Random;

/// The size of the image, in pixels.
pub(crate) const WIDTH: usize = 100;

pub(crate) type Point = [f32; 4];
pub(crate) type Pixel = [u8; 3];
pub(crate) type Centres = [Point; 16];

pub(crate) struct Data {
    pub(crate) words: Vec<u32>,
    pub(crate) wide: Vec<u64>,
    pub(crate) floats: Vec<f32>,
    pub(crate) pixels: Vec<Pixel>,
    pub(crate) points: Vec<Point>,
    pub(crate) centres: Centres,
    /// The indices of the squares of 3 x 3 pixels in the image.
    pub(crate) places: Vec<u32>,
    pub(crate) image: Vec<f32>,
    pub(crate) hits: AtomicU32,
    pub(crate) words_out: Vec<u32>,
    pub(crate) floats_out: Vec<f32>,
    pub(crate) pixels_out: Vec<Pixel>,
}

impl Data {
    /// All entrants get the same inputs.
    pub(crate) fn new(len: usize) -> Self {
        let mut random = Random::default();
        let words: Vec<u32> = (0..len).map(|_| random.draw()).collect();
        let mut unit = || (random.draw() >> 8) as f32 / (1 << 24) as f32;
        let floats: Vec<f32> = (0..len).map(|_| unit()).collect();
        let points = (0..len).map(|_| array::from_fn(|_| unit())).collect();
        let image = (0..len + 2 * WIDTH + 2).map(|_| unit()).collect();
        Self {
            wide: words.iter().map(|word| u64::from(*word) << 21 | 1).collect(),
            pixels: words.iter().map(|word| array::from_fn(|i| (word >> (8 * i)) as u8)).collect(),
            centres: array::from_fn(|_| array::from_fn(|_| unit())),
            places: (0..len as u32).collect(),
            hits: AtomicU32::new(0),
            words_out: vec![0; len],
            floats_out: vec![0.0; len],
            pixels_out: vec![[0; 3]; len],
            words,
            floats,
            points,
            image,
        }
    }
}
