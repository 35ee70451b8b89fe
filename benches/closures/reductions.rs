//! Closures that are reduced to one result.

use crate::{
    cell::Cell,
    data::{Centres, Point},
};

/// For each centre, the number of points that have it as their nearest centre.
type Counts = [u32; 16];

pub(crate) fn cells() -> Vec<Cell> {
    vec![
        map_reduce!("4 rounds", words: u32, let () -> u32, 0, |x| rounds!(*x, 4), u32::wrapping_add),
        map_reduce!("15 rounds", words: u32, let () -> u32, 0, |x| rounds!(*x, 15), u32::wrapping_add),
        map_reduce!("40 rounds", words: u32, let () -> u32, 0, |x| rounds!(*x, 40), |a, b| a.wrapping_add(b)),
        map_reduce!("100 rounds", words: u32, let () -> u32, 0, |x| rounds!(*x, 100), |a, b| a.wrapping_add(b)),
        map_reduce!("mix of 10", wide: u64, let () -> u64, 0, |x| mix!(*x, 10), |a, b| a ^ b),
        map_reduce!("mix of 40", wide: u64, let () -> u64, 0, |x| mix!(*x, 40), |a, b| a ^ b),
        map_reduce!("polynomial of 40", floats: f32, let () -> u32, 0, |x| polynomial!(*x, 40).to_bits(), u32::max),
        map_reduce!(
            "nearest of 16 centres", points: Point, let (centres: Centres) -> usize, 0,
            |point| nearest!(point, centres).1, |a, b| a + b
        ),
        fold_reduce!(
            "4 rounds", words: u32, let () -> u32, || 0,
            |sum, x| rounds!(*x, 4).wrapping_add(sum), |a, b| a.wrapping_add(b)
        ),
        fold_reduce!(
            "40 rounds", words: u32, let () -> u32, || 0,
            |sum, x| rounds!(*x, 40).wrapping_add(sum), |a, b| a.wrapping_add(b)
        ),
        fold_reduce!("mix of 10", wide: u64, let () -> u64, || 0, |all, x| all ^ mix!(*x, 10), |a, b| a ^ b),
        fold_reduce!("mix of 80", wide: u64, let () -> u64, || 0, |all, x| all ^ mix!(*x, 80), |a, b| a ^ b),
        fold_reduce!(
            "polynomial of 15", floats: f32, let () -> u32, || 0,
            |most: u32, x| most.max(polynomial!(*x, 15).to_bits()), |a, b| a.max(b)
        ),
        fold_reduce!(
            "nearest of 16 centres", points: Point, let (centres: Centres) -> Counts, || [0; 16],
            |mut counts: Counts, point| {
                counts[nearest!(point, centres).1] += 1;
                counts
            },
            |mut a: Counts, b: Counts| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            }
        ),
    ]
}
