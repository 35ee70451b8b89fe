//! An item that counts its drops.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
pub(crate) struct Dropped<'d> {
    pub(crate) at: usize,
    pub(crate) drops: &'d [AtomicUsize],
}

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.drops[self.at].fetch_add(1, Relaxed);
    }
}
