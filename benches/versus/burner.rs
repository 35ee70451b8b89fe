//! A busy program that takes a CPU away.

use std::{
    env,
    hint::black_box,
    io::{Read, stdin},
    process::{Child, Command, Stdio, exit},
    thread,
};

use nix::sched::CpuSet;

use crate::{machine, work::work};

/// Another process on a CPU. It ends when its standard input does, thus with this process at the
/// latest.
pub(crate) struct Burner(Child);

impl Burner {
    /// On the last CPU of the mask, where a helper sits.
    pub(crate) fn start(mask: &CpuSet) -> Self {
        let cpu = machine::cpus(mask).last().expect("a CPU").to_string();
        let mut command = Command::new(env::current_exe().expect("the name of this program"));
        command.args(["burn", &cpu]).stdin(Stdio::piped());
        Self(command.spawn().expect("this program again"))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("the end of a child");
    }
}

/// What that process does.
pub(crate) fn burn(cpu: usize) {
    thread::spawn(|| {
        let _ = stdin().read_to_end(&mut Vec::new());
        exit(0);
    });
    machine::pin(cpu);
    loop {
        black_box(work(1_000_000));
    }
}
