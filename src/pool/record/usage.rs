//! What a thread uses.

use std::time::Duration;

/// What a thread uses: CPU time, and voluntary context switches (`naps`: how often it has slept or
/// waited).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) naps: u64,
}

impl Usage {
    pub(crate) fn add(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.naps += other.naps;
    }

    /// What has been used since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        let cpu = self.cpu.saturating_sub(before.cpu);
        Self { cpu, naps: self.naps.saturating_sub(before.naps) }
    }
}
