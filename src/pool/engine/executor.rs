//! The executor of a pool: its threads, and the data that its loops share.

use std::time::Duration;

use super::{inputs::Gaps, loop_options::LoopOptions, plan::check_cpu};
use crate::{
    clock::Instant,
    pool::{
        hosts::{HostOptions, Hosts},
        place::{
            cpu_assignment::CpuAssignment,
            placement::{PinState, SeatPlan},
        },
        policy::{memory::Memory, prices::Prices, site::Loop, split::Splits},
        supply::Fence,
        team::{arena::Turn, threads::Threads},
        tell::program_report::ProgramReport,
    },
    sync::{AtomicBool, AtomicU64, Mutex, Patience},
};

/// The threads of a pool, and the data that its loops share.
#[derive(Debug)]
#[repr(C, align(64))] // `quick_launch` reads one cache line
pub(crate) struct Executor {
    pub(crate) workers: usize,
    /// Whether another thread called a loop during the last shared loops. A helper that polls
    /// between loops may occupy the CPU of such a thread. Relaxed: this is a hint.
    pub(super) is_crowded: AtomicBool,
    /// The report of all loops of the program, if the user wants this report.
    pub(super) program_report: Option<&'static ProgramReport>,
    pub(super) memory: Memory,
    pub(crate) prices: Prices,
    pub(super) gaps: Gaps,
    /// How many workers can run at the same time.
    pub(super) cpus_at_a_time: usize,
    pub(crate) threads: Threads,
    pub(crate) cpus: CpuAssignment,
    pub(crate) hosts: Hosts,
    /// The memory of shared loops. A call locks this memory before and after it shares a loop,
    /// before a trial of running a loop alone, and in a loop whose items wait. This memory is only
    /// a hint: a call that cannot get the lock soon continues without the memory.
    pub(super) learnt: Mutex<Splits>,
    /// Which messages have been logged, one bit each. Relaxed: a repeated message does no harm.
    pub(super) logged: AtomicU64,
}

impl Executor {
    /// An executor with these `threads`. The threads are placed on `cpus`. Helpers poll for the
    /// time `patience` before they sleep. If `patience` is `None`, the pool estimates how long
    /// polling pays, and helpers do not poll where `SeatPlan::may_poll` is false. After tasks they
    /// poll as long as a wake-up seems to take at first: what follows a task is often soon spawned
    /// by a thread that this task has woken.
    pub(crate) fn new(
        threads: Threads,
        cpus: CpuAssignment,
        hosts: Hosts,
        patience: Option<Duration>,
    ) -> Self {
        let workers = threads.size() + 1;
        let cpus_at_a_time = cpus.plan.workers_at_a_time();
        let patience = patience.or((!cpus.plan.may_poll).then_some(Duration::ZERO));
        let prices = Prices::new();
        let may_poll = workers <= cpus_at_a_time;
        let after_tasks = if may_poll { prices.worth_staying_awake() } else { Duration::ZERO };
        threads.barrier.poll_for_tasks(Patience::of(patience.unwrap_or(after_tasks)));
        Self {
            workers,
            is_crowded: AtomicBool::new(false),
            memory: Memory::new(),
            prices,
            gaps: Gaps::new(patience),
            program_report: ProgramReport::if_wanted(),
            cpus_at_a_time,
            threads,
            cpus,
            hosts,
            learnt: Mutex::new(Splits::new(workers)),
            logged: AtomicU64::new(0),
        }
    }

    /// An executor without helpers. The global pool uses such an executor until the pool is built.
    /// If a pool could not get helpers, `doubts` are the reasons. Logs nothing. Asks the system
    /// only for memory and for one environment variable.
    pub(crate) fn of_one(doubts: Vec<String>) -> Self {
        let threads = Threads::new(0, Fence::Symmetric, Patience::default());
        let cpus = CpuAssignment::new(SeatPlan::alone(doubts), Vec::new(), PinState::Free);
        let hosts = Hosts::new(HostOptions::default());
        Self::new(threads, cpus, hosts, None)
    }

    /// Whether a sufficiently long loop would be shared now. A hint.
    pub(crate) fn is_free(&self) -> bool {
        self.threads.process.is_current() && self.could_help() > 0
    }

    /// If a helper is on the CPU of the calling thread, which shares a loop, moves the helper away.
    /// Does so only if the thread is the only caller from outside the pool: two callers would move
    /// one helper to and fro.
    pub(super) fn make_room(&self) {
        if self.threads.here() == 0 && self.threads.barrier.callers() == 0 {
            self.cpus.make_room();
        }
    }

    /// Checks whether the calling thread has its CPU to itself. The thread calls this after it has
    /// read the clock.
    pub(crate) fn check_cpu(&self, now: Instant) {
        check_cpu(&self.threads, &self.cpus, now);
    }

    /// The largest useful number of helpers: with this number each worker can have at least one
    /// index. A list that grows may have work for any number of helpers.
    #[inline]
    pub(super) fn most_helpers(&self, this: Loop, options: &LoopOptions<'_>) -> usize {
        let len = if options.list.is_some() { usize::MAX } else { this.slice.len };
        most_helpers(len, self.workers.min(options.threads))
    }

    /// About how many threads would help if the calling thread called a loop now. These threads are
    /// the workers that are in no loop, and the callers that wait for the end of the loop around
    /// this call.
    #[inline(always)]
    pub(super) fn could_help(&self) -> usize {
        self.threads.barrier.idle() + self.threads.waiting_around()
    }

    /// The right to share a loop. A forked child touches nothing of its parent, because the
    /// parent's threads do not exist in the child.
    pub(super) fn take_turn(&self, options: &LoopOptions<'_>) -> Option<Turn<'_>> {
        let ours = self.threads.process.is_current() && options.watch.is_current();
        if ours { self.threads.barrier.arenas.take() } else { None }
    }
}

/// How many helpers a loop over `len` indices can have if each worker must have at least one index.
#[inline]
pub(super) fn most_helpers(len: usize, workers: usize) -> usize {
    workers.min(len).saturating_sub(1)
}
