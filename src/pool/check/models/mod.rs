//! Models of the real types. A model that passes with every bug proves nothing. So each model also
//! runs with planted bugs, which it must find: these tests are in `mod planted` of each file.
//! `.ci/plant` makes a copy of the work tree that has the bugs of `.ci/bugs.diff`, and only builds
//! of that copy have `cfg(planted)`.
//!
//! loom explores small models. loom explores the smallest models exhaustively, and the other models
//! with at most three preemptions (with two preemptions, a real bug was missed). Models of several
//! workers or two callers have one or two. `.ci/long` explores more schedules of the models that
//! take longest.
//! `RUSTC_WORKSPACE_WRAPPER=$PWD/.ci/loom cargo test -p rangesteal --release --lib models`
//!
//! shuttle runs large models in random schedules (`schedules.rs`):
//! `RUSTC_WORKSPACE_WRAPPER=$PWD/.ci/shuttle cargo test -p rangesteal --release --lib models`

#[cfg(loom)]
mod arenas;
#[cfg(loom)]
mod barriers;
#[cfg(loom)]
mod calls;
#[cfg(loom)]
mod claims;
#[cfg(loom)]
mod cursors;
#[cfg(loom)]
mod cuts;
mod frame;
#[cfg(loom)]
mod gates;
#[cfg(loom)]
mod kept_tasks;
#[cfg(loom)]
mod lists;
mod local;
#[cfg(shuttle)]
mod schedules;
#[cfg(loom)]
mod small;
#[cfg(loom)]
mod tasks;
mod team;
#[cfg(loom)]
mod thefts;
#[cfg(loom)]
mod waits;

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;

#[cfg(loom)]
use crate::pool::check::halves::{Halves, half};
#[cfg(planted)]
use crate::pool::check::planted::{Bug, with};
use crate::pool::supply::Fence;
#[cfg(loom)]
use crate::pool::supply::range::Ranges;

/// The number of claims of each item.
struct Claims(Vec<AtomicUsize>); // atomics of std, so that loom does not interleave the counting

impl Claims {
    fn new(items: usize) -> Self {
        Self((0..items).map(|_| AtomicUsize::new(0)).collect())
    }

    fn claim(&self, items: Range<usize>) {
        for item in items {
            assert_eq!(self.0[item].fetch_add(1, SeqCst), 0, "item {item} claimed twice");
        }
    }

    fn assert_all_before(&self, end: usize) {
        for (item, claims) in self.0[..end].iter().enumerate() {
            assert_eq!(claims.load(SeqCst), 1, "item {item} left out");
        }
    }
}
