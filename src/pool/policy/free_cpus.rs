//! How many helpers a loop gets, if other threads call loops of the same pool at the same time.
//!
//! Idle threads are not idle CPUs: two callers and one helper are three threads on two CPUs.

/// How many threads a loop wakes at most while it is not known whether its items sleep. So items
/// that sleep gain at once, and the first call of other loops wakes a bounded number. On 2 CPUs,
/// the first loop of 4,096 threads takes 0.2 s, and 2 s without this bound.
const MOST_WOKEN: usize = 256;

/// The threads of a pool and its callers. All counts are hints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuUse {
    /// How many threads can run at the same time.
    pub(crate) cpus: usize,
    /// The number of threads of the pool.
    pub(crate) threads: usize,
    /// The number of threads of the pool that are in no loop, minus the number of open places.
    pub(crate) idle: usize,
    /// The number of callers of shared loops that are not threads of the pool.
    pub(crate) callers: usize,
    /// The number of callers of shared loops that wait for their last worker.
    pub(crate) waiting: usize,
    /// Whether the thread that calls a loop now is among `threads` or `callers` already.
    pub(crate) is_counted: bool,
}

impl CpuUse {
    /// How many CPUs are left for helpers of the thread that calls a loop now. The other CPUs
    /// belong to that thread, to threads of the pool in loops, and to callers that do not wait.
    pub(crate) fn free_cpus(self) -> usize {
        let inside = self.threads.saturating_sub(self.idle);
        let running = inside + self.callers + usize::from(!self.is_counted);
        (self.cpus + self.waiting).saturating_sub(running)
    }
}

/// A loop that asks for helpers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// How many helpers pay for the loop.
    pub(crate) helpers: usize,
    /// How many indices are left; `usize::MAX` if items may be made.
    pub(crate) left: usize,
    /// Whether the items keep a CPU busy, if known.
    pub(crate) is_cpu_bound: Option<bool>,
    /// How many callers wait in the loops around this one. They help, too.
    pub(crate) around: usize,
    pub(crate) cpu_use: CpuUse,
}

impl Request {
    /// The helpers of the loop; `None` if it gets none.
    pub(crate) fn grant(self) -> Option<Granted> {
        let Self { helpers, left, is_cpu_bound, around, cpu_use } = self;
        let asked = helpers.min(most_woken(is_cpu_bound, cpu_use.cpus - 1)).min(left - 1);
        // Where threads outnumber CPUs, items may sleep, and then need no CPU.
        let needs_cpus = is_cpu_bound == Some(true) || cpu_use.threads < cpu_use.cpus;
        let free = if needs_cpus { cpu_use.free_cpus() } else { usize::MAX };
        Granted::new(asked, cpu_use.idle + around, free)
    }
}

/// How many helpers a loop may wake, if `at_a_time` helpers can run at the same time. More helpers
/// are of use only to items that sleep, so a loop whose items do (`is_cpu_bound` is false) may wake
/// any number. If this is not known, the loop wakes up to [`MOST_WOKEN`] threads.
pub(crate) fn most_woken(is_cpu_bound: Option<bool>, at_a_time: usize) -> usize {
    match is_cpu_bound {
        Some(true) => at_a_time,
        Some(false) => usize::MAX,
        None => MOST_WOKEN.max(at_a_time),
    }
}

/// The number of helpers of a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Granted {
    /// How many helpers the loop may have. If fewer are idle, threads that become idle later may
    /// help, too.
    pub(crate) helpers: usize,
    /// How many workers get items at the start: the caller and the helpers that are idle now.
    pub(crate) dealt: usize,
    /// Whether the loop gets as many helpers as it asked for, and all of them are idle now.
    pub(crate) is_full: bool,
}

impl Granted {
    /// The helpers of a loop that asks for `asked` helpers while this many threads are `idle` and
    /// this many CPUs are `free`. `None` if the loop should be shared but gets no helper.
    pub(crate) fn new(asked: usize, idle: usize, free: usize) -> Option<Self> {
        let helpers = asked.min(free);
        let is_full = asked <= idle && asked <= free;
        (helpers >= asked.min(1)).then_some(Self { helpers, dealt: helpers.min(idle) + 1, is_full })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn each_running_thread_needs_a_cpu() {
        let alone = CpuUse { cpus: 8, threads: 7, idle: 7, callers: 0, waiting: 0, is_counted: false };
        assert_eq!(alone.free_cpus(), 7);
        assert_eq!(CpuUse { idle: 4, callers: 1, ..alone }.free_cpus(), 3, "a caller has three helpers");
        assert_eq!(CpuUse { idle: 4, callers: 1, waiting: 1, ..alone }.free_cpus(), 4, "the caller waits");
        assert_eq!(CpuUse { idle: 3, callers: 1, is_counted: true, ..alone }.free_cpus(), 3, "an inner loop");
        assert_eq!(CpuUse { cpus: 2, idle: 0, callers: 3, ..alone }.free_cpus(), 0, "more threads than CPUs");
    }

    #[test]
    fn only_items_that_sleep_wake_more_threads_than_cpus_can_run_soon() {
        assert_eq!([Some(true), Some(false), None].map(|is| most_woken(is, 1)), [1, usize::MAX, 256]);
        assert_eq!(most_woken(None, 500), 500);
    }

    #[test]
    fn a_loop_gets_as_many_helpers_as_cpus_are_free() {
        let granted = |helpers, dealt, is_full| Some(Granted { helpers, dealt, is_full });
        assert_eq!(Granted::new(7, 7, 7), granted(7, 8, true));
        assert_eq!(Granted::new(7, 7, 3), granted(3, 4, false));
        assert_eq!(Granted::new(7, 2, 5), granted(5, 3, false), "three may come later");
        assert_eq!(Granted::new(7, 2, 0), None);
        assert_eq!(Granted::new(0, 2, 0), granted(0, 1, true), "a loop that asks for nobody");
    }
}
