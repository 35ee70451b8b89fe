//! rayon's names without threads, for projects that have a shim of their own for wasm.

use rangesteal_rayon::{self as rayon, prelude::*};

fn main() {
    assert_eq!(rayon::current_num_threads(), 1);
    let squares: Vec<u64> = (0..1000_u64).into_par_iter().map(|x| x * x).filter(|x| x % 2 == 0).collect();
    assert_eq!(squares.len(), 500);
    let mut items: Vec<u32> = (0..1000).rev().collect();
    items.par_sort_unstable();
    items.par_chunks_mut(7).enumerate().for_each(|(number, chunk)| chunk.fill(number as u32));
    assert_eq!(items[999], 142);
    assert_eq!(rayon::join(|| 1, || 2), (1, 2));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("a pool of the calling thread");
    assert_eq!(pool.install(|| items.par_iter().max().copied()), Some(142));
}
