//! A program for systems without threads, and for bare wasm, which has no clock either. A pool has
//! one worker, runs loops of several kinds, and gives an error instead of a second worker.

#[path = "../tests/kinds/mod.rs"]
mod kinds;

use rangesteal::{BuildError, Pool};

fn main() {
    let pool = Pool::new().expect("a pool of the calling thread");
    assert_eq!(pool.num_threads(), 1);
    kinds::loops(&pool);
    Pool::builder().scope(kinds::loops).expect("a pool of the calling thread");
    let refused = Pool::builder().num_threads(2).build();
    assert!(matches!(refused, Err(BuildError::Spawn { worker: 1, .. })));
}
