//! The time of a loop against its length, and against the cost of an item:
//! `cargo bench --bench curves`. First calls of loops: `cargo bench --bench curves -- --once`.

#![allow(missing_docs, clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

#[allow(dead_code, reason = "some of it is for tables")]
#[path = "../versus/host.rs"]
mod host;
mod once;
#[path = "../versus/work.rs"]
mod work;

use std::{env, hint::black_box, sync::LazyLock};

use divan::Bencher;
use rangesteal::Pool;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use work::{links, work};

fn main() {
    if env::args().any(|word| word == "--once") {
        return once::run();
    }
    divan::main();
}

trait Executor {
    fn sum(items: &[u64], map: impl Fn(&u64) -> u64 + Sync) -> u64;
}

struct Plain;

impl Executor for Plain {
    fn sum(items: &[u64], map: impl Fn(&u64) -> u64 + Sync) -> u64 {
        items.iter().map(map).fold(0, u64::wrapping_add)
    }
}

struct Rangesteal;

impl Executor for Rangesteal {
    fn sum(items: &[u64], map: impl Fn(&u64) -> u64 + Sync) -> u64 {
        static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new().expect("a pool"));
        POOL.map_reduce(items, map, u64::wrapping_add).unwrap_or(0)
    }
}

struct Rayon;

impl Executor for Rayon {
    fn sum(items: &[u64], map: impl Fn(&u64) -> u64 + Sync) -> u64 {
        items.par_iter().map(&map).reduce(|| 0, u64::wrapping_add)
    }
}

/// Items of about a nanosecond.
#[divan::bench(types = [Plain, Rangesteal, Rayon], args = [10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000], max_time = 0.5)]
fn length<E: Executor>(bencher: Bencher, len: u64) {
    let items: Vec<u64> = (0..len).collect();
    let hash = |x: &u64| (0..2).fold(*x, |x, _| (x ^ x >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    bencher.bench(|| E::sum(black_box(&items), hash));
}

/// A thousand items, each of this many nanoseconds.
#[divan::bench(types = [Plain, Rangesteal, Rayon], args = [3, 10, 30, 100, 300, 1000, 10_000], max_time = 0.5)]
fn cost<E: Executor>(bencher: Bencher, nanos: u64) {
    let items = vec![links(nanos); 1000];
    bencher.bench(|| E::sum(black_box(&items), |links| work(*links)));
}
