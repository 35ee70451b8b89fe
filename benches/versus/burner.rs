//! A busy program that takes a CPU.

use std::hint::black_box;

use nix::sched::CpuSet;

use crate::{
    machine,
    other::{Other, end_with_stdin},
    work::work,
};

/// Starts the program on the last CPU of the mask, to which a helper is pinned.
pub(crate) fn start(mask: &CpuSet) -> Other {
    Other::start(["burn", &machine::cpus(mask).last().expect("a CPU").to_string()])
}

/// The program of that process.
pub(crate) fn burn(cpu: usize) {
    end_with_stdin();
    machine::pin(cpu);
    loop {
        black_box(work(1_000_000));
    }
}
