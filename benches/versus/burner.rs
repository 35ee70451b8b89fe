//! A busy program that takes a CPU away.

use std::hint::black_box;

use nix::sched::CpuSet;

use crate::{
    machine,
    other::{Other, end_with_stdin},
    work::work,
};

/// Starts it on the last CPU of the mask, where a helper sits.
pub(crate) fn start(mask: &CpuSet) -> Other {
    Other::start(["burn", &machine::cpus(mask).last().expect("a CPU").to_string()])
}

/// What that process does.
pub(crate) fn burn(cpu: usize) {
    end_with_stdin();
    machine::pin(cpu);
    loop {
        black_box(work(1_000_000));
    }
}
