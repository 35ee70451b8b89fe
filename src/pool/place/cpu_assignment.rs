//! The assignment of workers to CPUs while the pool runs, and the CPU that is left free for the
//! caller.
//!
//! Helpers are pinned; the caller (outside of `scope`) is not. If the system has put the caller on
//! the CPU of a helper, that helper moves to the free CPU. The pool checks the caller's CPU before
//! it publishes a loop. The pool also checks whenever the caller reads the clock in the loop,
//! since a caller that sleeps in an item can wake up on the CPU of a helper. Without the check, the
//! system leaves both threads on one CPU while the other CPU is idle. A caller that keeps sleeping
//! shares a CPU with a helper again and again. (`docs/decisions.md` has figures.)

use std::{
    fmt, io,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::{
    affinity::{self, Mask, Thread, before_pin},
    pin_monitor::{Change, PinMonitor},
    placement::{CountSource, PinState, Pinning, Placement, SeatPlan},
    topology::{Cpu, Distance, distance},
};
use crate::clock::Instant;

/// The CPUs of the workers of a pool. Two kinds of threads write this: a caller that is not a
/// worker, while no other such caller shares a loop; and helpers that lose or regain their pin. All
/// values are hints, so `Relaxed` is enough.
#[derive(Debug)]
pub(crate) struct CpuAssignment {
    pub(crate) plan: SeatPlan,
    /// The pinned helpers, in the order of the workers.
    helpers: Vec<PinnedHelper>,
    /// The CPU of each worker, as an index of `plan.machine.cpus`; `NOT_PINNED` for a worker that
    /// is not pinned, or is unpinned at the moment because another program keeps its CPU busy. A
    /// thief that reads an old or a premature value makes a worse choice but no error. The atomic
    /// is that of std, not of loom: no step of the protocol depends on the value, so loom has
    /// nothing to explore.
    places: Box<[AtomicUsize]>,
    /// The CPU that is left free for the caller.
    free: AtomicUsize,
    /// Whether the caller is pinned.
    caller_pin: PinState,
}

const NOT_PINNED: usize = usize::MAX;

#[derive(Debug)]
struct PinnedHelper {
    worker: usize,
    thread: Thread,
    /// The number of the CPU that the helper is pinned to, or will be pinned to again.
    cpu: AtomicUsize,
    /// Tracks whether the helper gets its CPU. Only the helper uses this.
    monitor: Mutex<PinMonitor>,
}

impl CpuAssignment {
    /// The assignment of `plan`. `threads` are the helpers that could be pinned, in the order of
    /// the workers. `caller_pin` says whether the calling thread is pinned.
    pub(crate) fn new(plan: SeatPlan, threads: Vec<(usize, Thread)>, caller_pin: PinState) -> Self {
        let number = |worker| plan.cpu(worker).map_or(0, |cpu| cpu.number);
        let now = Instant::now();
        let helper = |(worker, thread)| PinnedHelper {
            worker,
            thread,
            cpu: AtomicUsize::new(number(worker)),
            monitor: Mutex::new(PinMonitor::new(now)),
        };
        let helpers: Vec<_> = threads.into_iter().map(helper).collect();
        let places = (0..plan.workers).map(|_| AtomicUsize::new(NOT_PINNED)).collect();
        let free = AtomicUsize::new(number(0));
        let assignment = Self { plan, helpers, places, free, caller_pin };
        if let Some(cpu) = assignment.plan.cpu(0).map(|cpu| cpu.number) {
            assignment.set_place(0, cpu);
        }
        for PinnedHelper { worker, cpu, .. } in &assignment.helpers {
            assignment.set_place(*worker, cpu.load(Relaxed));
        }
        assignment
    }

    /// The CPU of a worker: for a helper, the CPU to which it is pinned at the moment; for the
    /// caller, the CPU of the pool on which the caller was last seen.
    pub(crate) fn cpu(&self, worker: usize) -> Option<&Cpu> {
        self.plan.machine.cpus.get(self.places[worker].load(Relaxed))
    }

    /// Notes that a worker is on the CPU of this number, if the pool knows this CPU.
    #[inline(never)]
    fn set_place(&self, worker: usize, cpu: usize) {
        if let Some(index) = self.plan.machine.index(cpu) {
            self.places[worker].store(index, Relaxed);
        }
    }

    /// The distance from a thief to a victim.
    pub(crate) fn distance(&self, thief: usize, victim: usize) -> Distance {
        distance(self.cpu(thief), self.cpu(victim))
    }

    /// Makes room for a caller that is not pinned. If the system has put the caller on the CPU of a
    /// helper, this function moves the helper to the free CPU, since otherwise the helper could not
    /// run. If the caller is on the CPU of the pool where it was at the last call, this function
    /// only reads the number of the CPU, which costs some nanoseconds. Within a scope this function
    /// does nothing.
    pub(crate) fn make_room(&self) {
        if self.caller_pin == PinState::Free
            && !self.helpers.is_empty()
            && let Some(here) = affinity::here()
            && self.cpu(0).is_none_or(|cpu| cpu.number != here)
        {
            self.make_room_at(here, affinity::pin_thread);
        }
    }

    /// Checks the CPU of a worker that reads the clock in the middle of a loop. The caller may
    /// have slept and woken up on the CPU of a helper. The caller and the helper then share this
    /// CPU until the system moves the caller, after some 10 ms; the system never moves a caller
    /// that keeps sleeping. A helper may have lost its CPU to another program.
    pub(crate) fn look(&self, worker: usize, now: Instant) {
        if worker == 0 {
            self.make_room();
        } else if self.plan.pinning != Pinning::Required
            && let Ok(at) = self.helpers.binary_search_by_key(&worker, |helper| helper.worker)
        {
            self.check_pin(now, &self.helpers[at]);
        }
    }

    /// Checks whether a helper gets its CPU, and changes its pin if needed. The helper itself calls
    /// this.
    fn check_pin(&self, now: Instant, PinnedHelper { worker, cpu, monitor, .. }: &PinnedHelper) {
        let Ok(mut monitor) = monitor.try_lock() else { return };
        let idle = || affinity::idle(&self.plan.cpus());
        let Some(change) = monitor.check(now, affinity::turns, idle) else { return };
        let cpu = cpu.load(Relaxed);
        let cpus = if change == Change::Unpin { self.plan.cpus() } else { vec![cpu] };
        // If the system refuses, nothing changes: the assignment is only a hint.
        if Mask::of(&cpus).and_then(|mask| mask.apply()).is_ok() {
            match change {
                Change::Unpin => self.places[*worker].store(NOT_PINNED, Relaxed),
                Change::Pin => self.set_place(*worker, cpu),
            }
        }
    }

    /// Gives the calling thread, which is this worker or is 0, the mask that it had before a pool
    /// pinned it, while the result lives. Nobody pins a worker that counts as not pinned.
    pub(crate) fn unpin(&self, worker: usize) -> Unpinned<'_> {
        let unpin = || {
            let (outside, before) = (before_pin()?, Mask::of_this_thread().ok()?);
            let at = self.helpers.binary_search_by_key(&worker, |helper| helper.worker).ok();
            let at = at.filter(|_| self.places[worker].swap(NOT_PINNED, Relaxed) != NOT_PINNED);
            // If the system refuses, `before` is the mask of the thread all the same.
            let _may_fail = outside.apply();
            Some((before, at.map(|at| &self.helpers[at])))
        };
        Unpinned { assignment: self, before: unpin() }
    }

    pub(crate) fn make_room_at(&self, here: usize, pin: impl Fn(Thread, usize) -> io::Result<()>) {
        self.set_place(0, here);
        let free = self.free.load(Relaxed);
        if here == free || !self.helpers.iter().any(|helper| helper.cpu.load(Relaxed) == here) {
            return;
        }
        for PinnedHelper { worker, thread, cpu, .. } in &self.helpers {
            let there = match cpu.load(Relaxed) {
                before if before == here => free,
                before if before == free => here,
                _ => continue,
            };
            let is_evicted = self.cpu(*worker).is_none(); // will be pinned to that CPU later
            if is_evicted || pin(*thread, there).is_ok() {
                cpu.store(there, Relaxed);
                if !is_evicted {
                    self.set_place(*worker, there);
                }
                if there == free {
                    self.free.store(here, Relaxed);
                }
            }
        }
    }

    /// The assignment as the user sees it.
    pub(crate) fn seating(&self) -> Seating {
        let plan = &self.plan;
        let pin = plan.unpinned_because.unwrap_or(PinState::Refused);
        let mut seats: Vec<Seat> = (0..plan.workers).map(|worker| Seat { worker, cpu: None, pin }).collect();
        let mut seat = |worker: usize, cpu: &AtomicUsize, pin| {
            seats[worker] = Seat { worker, cpu: plan.machine.cpu(cpu.load(Relaxed)), pin };
        };
        if plan.unpinned_because.is_none() {
            seat(0, &self.free, self.caller_pin);
        }
        for &PinnedHelper { worker, ref cpu, .. } in &self.helpers {
            let is_pinned = self.cpu(worker).is_some();
            seat(worker, cpu, if is_pinned { PinState::Pinned } else { PinState::Evicted });
        }
        let (order, doubts, bound) = (plan.placement.clone(), plan.doubts.clone(), plan.bound.clone());
        Seating { counted_by: plan.counted_by, order, seats, doubts, bound }
    }
}

/// The calling thread has the mask that it had before a pool pinned it. Dropping this value pins
/// the thread again.
#[derive(Debug)]
pub(crate) struct Unpinned<'a> {
    assignment: &'a CpuAssignment,
    /// The mask of the thread before; and if the thread is a pinned helper, that helper, which may
    /// have got another CPU meanwhile. `None` if the thread was not pinned.
    before: Option<(Mask, Option<&'a PinnedHelper>)>,
}

impl Drop for Unpinned<'_> {
    fn drop(&mut self) {
        let Some((before, helper)) = &self.before else { return };
        let cpu = helper.map(|helper| (helper.worker, helper.cpu.load(Relaxed)));
        let pinned = cpu.map_or_else(|| before.apply(), |(_, cpu)| affinity::pin(cpu));
        if let (Some((worker, cpu)), Ok(())) = (cpu, pinned) {
            self.assignment.set_place(worker, cpu);
        }
    }
}

/// The CPU of each worker of a pool, and why it has that CPU. Returned by
/// [`Pool::placement`](crate::Pool::placement). The `Display` of this type is a table. If the pool
/// may use fewer CPUs than are online, a line above the table says so, for example "bound to 1 of
/// 64 CPUs". The reason may be a launcher (`mpirun`, `taskset`, SLURM), a container, or the scope
/// of another pool.
///
/// ```
/// use rangesteal::{CountSource, Pool};
///
/// let pool = Pool::builder().num_threads(2).build()?;
/// let placement = pool.placement();
/// assert_eq!(placement.seats.len(), 2);
/// assert_eq!(placement.counted_by, CountSource::NumThreads);
/// println!("{placement}");
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Seating {
    /// The reason for the number of workers.
    pub counted_by: CountSource,
    /// The order in which workers are put on CPUs.
    pub order: Placement,
    /// One entry for each worker, in the order of worker numbers.
    pub seats: Vec<Seat>,
    /// The warnings that were logged while the pool was built. The warnings report information of
    /// the system that is missing or not plausible, and refused system calls.
    pub doubts: Vec<String>,
    bound: Option<String>,
}

/// The CPU of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seat {
    /// The number of the worker; 0 is the thread that calls a loop.
    pub worker: usize,
    /// The CPU of the worker; `None` if the system chooses it.
    pub cpu: Option<Cpu>,
    /// Whether the worker is pinned to that CPU, and if not, why.
    pub pin: PinState,
}

/// Lines that concern the whole pool, and below them a table with one line per worker.
impl fmt::Display for Seating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn cells<T: fmt::Display>(f: &mut fmt::Formatter<'_>, cells: &[T; 6]) -> fmt::Result {
            cells.iter().try_for_each(|cell| write!(f, " {cell:>6}"))
        }
        let number = self.seats.len();
        write!(f, "{number} worker{}, by ", if number == 1 { "" } else { "s" })?;
        match self.counted_by {
            CountSource::NumThreads => f.write_str("num_threads"),
            CountSource::Variable => f.write_str("RANGESTEAL_NUM_THREADS"),
            CountSource::Quota(cpus) => write!(f, "the quota of {cpus:.2} CPUs"),
            CountSource::Cpus => f.write_str("the CPUs there are"),
        }?;
        match &self.order {
            Placement::Cpus(_) => f.write_str("; Cpus"),
            order => write!(f, "; {order:?}"),
        }?;
        self.bound.iter().chain(&self.doubts).try_for_each(|line| write!(f, "\n{line}"))?;
        f.write_str("\nworker")?;
        cells(f, &["CPU", "core", "thread", "cache", "node", "class"])?;
        for (at, Seat { worker, cpu, pin }) in self.seats.iter().enumerate() {
            write!(f, "\n{worker:>6}")?;
            match *cpu {
                Some(Cpu { number, core, thread, cache, node, class }) => {
                    cells(f, &[number, core, thread, cache, node, class])
                }
                None => cells(f, &["-"; 6]),
            }?;
            f.write_str(match pin {
                PinState::Pinned => "  pinned",
                PinState::Evicted => "  not pinned for a while",
                PinState::Free => "  left free for the calling thread",
                PinState::Off => "  not pinned",
                PinState::Quota => "  not pinned: the CPU quota means that the CPUs are shared",
                PinState::Refused => "  not pinned: refused",
            })?;
            let before = self.seats[..at].iter().find(|seat| seat.cpu.is_some() && seat.cpu == *cpu);
            if let Some(Seat { worker, .. }) = before {
                write!(f, ", shared with worker {worker}")?;
            }
        }
        Ok(())
    }
}
