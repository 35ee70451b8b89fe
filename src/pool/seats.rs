//! Who sits where at the moment: workers on CPUs, and the CPU that is left for the caller.

use std::{
    fmt, io,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{
    affinity::{self, Mask, Thread},
    near::Home,
    placement::{CountedBy, Hold, Placement, Plan},
    tenure::{Change, Kernel, Tenure, Turns},
    topology::Cpu,
};
use crate::clock::Instant;

/// The seats of a pool. Written by whoever has the turn, and by helpers that lose their pin or get it back; and hints all, so `Relaxed` will
/// do.
#[derive(Debug)]
pub(crate) struct Seats {
    plan: Plan,
    /// Who is pinned, in the order of the workers.
    helpers: Vec<Helper>,
    /// The CPU that is best left to the caller.
    free: AtomicUsize,
    /// Where the caller was last seen.
    caller: AtomicUsize,
    /// What keeps the caller on its seat.
    caller_is: Hold,
}

#[derive(Debug)]
struct Helper {
    worker: usize,
    thread: Thread,
    cpu: AtomicUsize,
    /// Another program has its CPU, and so it is not pinned at the moment.
    evicted: AtomicBool,
    /// Its own.
    tenure: Mutex<Tenure>,
}

impl Seats {
    /// Of a plan, with the helpers that could be pinned as it says.
    pub(crate) fn new(plan: Plan, threads: Vec<(usize, Thread)>) -> Self {
        let number = |worker| plan.cpu(worker).map_or(0, |cpu| cpu.number);
        let now = Instant::now();
        let helper = |(worker, thread)| Helper {
            worker,
            thread,
            cpu: AtomicUsize::new(number(worker)),
            evicted: AtomicBool::new(false),
            tenure: Mutex::new(Tenure::new(now)),
        };
        let helpers = threads.into_iter().map(helper).collect();
        let (free, caller) = (AtomicUsize::new(number(0)), AtomicUsize::new(number(0)));
        Self { plan, helpers, free, caller, caller_is: Hold::Free }
    }

    /// The calling thread was to be pinned, too.
    pub(crate) fn caller_is(&mut self, hold: Hold) {
        self.caller_is = hold;
    }

    /// How many workers can be running at a time.
    pub(crate) fn at_a_time(&self) -> usize {
        self.plan.at_a_time
    }

    /// Where the workers sit to begin with.
    pub(crate) fn homes(&self) -> impl Iterator<Item = (usize, Home)> {
        let pinned = self.helpers.iter().map(|helper| helper.worker);
        pinned.chain([0]).filter_map(|worker| Some((worker, home(self.plan.cpu(worker)?))))
    }

    /// The caller is not pinned, and may have come to sit on the CPU of a helper, which then could not help. Whoever is pinned there
    /// changes with the CPU that was free. `moved` is told who sits where now. One reading of the CPU's number, some nanoseconds, if
    /// the caller is where it was. Within a scope its seat is taken, whoever else calls a loop.
    pub(crate) fn make_room(&self, moved: impl Fn(usize, Home)) {
        if self.caller_is == Hold::Free
            && !self.helpers.is_empty()
            && let Some(here) = affinity::here()
            && here != self.caller.load(Relaxed)
        {
            self.make_room_at(here, &moved, |thread, cpu| {
                Mask::of(&[cpu]).and_then(|mask| mask.apply_to(thread))
            });
        }
    }

    /// A worker looks at the clock in the middle of a round. The caller may have slept, and woken up on the CPU of a helper: then both
    /// share that one, until the system moves the caller after some ten milliseconds or, as long as it keeps sleeping, never. A helper may
    /// have lost its CPU to another program.
    pub(crate) fn look(&self, worker: usize, now: Instant, moved: impl Fn(usize, Home)) {
        if worker == 0 {
            self.make_room(moved);
        } else if self.plan.gives_way
            && let Ok(at) = self.helpers.binary_search_by_key(&worker, |helper| helper.worker)
        {
            self.helpers[at].look(now, &self.plan, moved);
        }
    }

    fn make_room_at(
        &self,
        here: usize,
        moved: &impl Fn(usize, Home),
        pin: impl Fn(Thread, usize) -> io::Result<()>,
    ) {
        self.caller.store(here, Relaxed);
        let tell = |worker, cpu| {
            if let Some(cpu) = self.plan.machine.cpu(cpu) {
                moved(worker, home(cpu));
            }
        };
        tell(0, here);
        let free = self.free.load(Relaxed);
        if here == free || !self.helpers.iter().any(|helper| helper.cpu.load(Relaxed) == here) {
            return;
        }
        for Helper { worker, thread, cpu, evicted, .. } in &self.helpers {
            let there = match cpu.load(Relaxed) {
                before if before == here => free,
                before if before == free => here,
                _ => continue,
            };
            let is_evicted = evicted.load(Relaxed); // it will be pinned there, and nobody is near it until then
            if is_evicted || pin(*thread, there).is_ok() {
                cpu.store(there, Relaxed);
                if !is_evicted {
                    tell(*worker, there);
                }
                if there == free {
                    self.free.store(here, Relaxed);
                }
            }
        }
    }

    /// A copy for the user.
    pub(crate) fn seating(&self) -> Seating {
        let Plan { workers, counted_by, nobody, ref placement, ref machine, ref doubts, .. } = self.plan;
        let hold = nobody.unwrap_or(Hold::Refused);
        let mut seats: Vec<Seat> = (0..workers).map(|worker| Seat { worker, cpu: None, hold }).collect();
        if nobody.is_none() {
            seats[0] = Seat { worker: 0, cpu: machine.cpu(self.free.load(Relaxed)), hold: self.caller_is };
        }
        for Helper { worker, cpu, evicted, .. } in &self.helpers {
            let cpu = machine.cpu(cpu.load(Relaxed));
            let hold = if evicted.load(Relaxed) { Hold::Evicted } else { Hold::Pinned };
            seats[*worker] = Seat { worker: *worker, cpu, hold };
        }
        Seating { counted_by, order: placement.clone(), seats, doubts: doubts.clone() }
    }
}

impl Kernel for Plan {
    fn turns(&self) -> Option<Turns> {
        affinity::turns()
    }

    fn idle(&self) -> Option<Vec<Duration>> {
        affinity::idle(&self.cpus())
    }
}

impl Helper {
    /// A look by itself.
    fn look(&self, now: Instant, plan: &Plan, moved: impl Fn(usize, Home)) {
        let Ok(mut tenure) = self.tenure.try_lock() else { return };
        let Some(change) = tenure.look(now, plan) else { return };
        let cpu = self.cpu.load(Relaxed);
        let (mask, home) = match change {
            Change::LetGo => (Mask::of(&plan.cpus()), Home::default()),
            Change::Pin => (Mask::of(&[cpu]), plan.machine.cpu(cpu).map_or(Home::default(), home)),
        };
        // What is refused stays as it is: a hint, like all of this.
        if mask.and_then(|mask| mask.apply()).is_ok() {
            self.evicted.store(change == Change::LetGo, Relaxed);
            moved(self.worker, home);
        }
    }
}

fn home(cpu: Cpu) -> Home {
    Home::new(cpu.cache, cpu.node)
}

/// Which worker of a pool sits where, and why: from [`Pool::placement`](crate::Pool::placement). Shows itself as a table.
///
/// ```
/// use rangesteal::{CountedBy, Pool};
///
/// let pool = Pool::builder().num_threads(2).build()?;
/// let placement = pool.placement();
/// assert_eq!(placement.seats.len(), 2);
/// assert_eq!(placement.counted_by, CountedBy::NumThreads);
/// println!("{placement}");
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Seating {
    /// Why there are so many workers.
    pub counted_by: CountedBy,
    /// The order in which they were put on CPUs.
    pub order: Placement,
    /// One for each worker, in the order of their numbers.
    pub seats: Vec<Seat>,
    /// What the system did not tell, or refused, as it was logged.
    pub doubts: Vec<String>,
}

/// Where one worker sits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seat {
    /// The worker; 0 is the thread that calls a loop.
    pub worker: usize,
    /// Its CPU. None: it runs where the system puts it.
    pub cpu: Option<Cpu>,
    /// What keeps it there.
    pub hold: Hold,
}

/// A table: a line a worker.
impl fmt::Display for Seating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEADS: [&str; 6] = ["CPU", "core", "thread", "cache", "node", "class"];
        let number = self.seats.len();
        write!(f, "{number} worker{}, by ", if number == 1 { "" } else { "s" })?;
        match self.counted_by {
            CountedBy::NumThreads => f.write_str("num_threads"),
            CountedBy::Variable => f.write_str("RANGESTEAL_NUM_THREADS"),
            CountedBy::Quota(cpus) => write!(f, "the quota of {cpus:.2} CPUs"),
            CountedBy::Cpus => f.write_str("the CPUs there are"),
        }?;
        f.write_str(match self.order {
            Placement::LogicalCpus => "; LogicalCpus",
            Placement::PhysicalCores => "; PhysicalCores",
            Placement::Compact => "; Compact",
            Placement::Spread => "; Spread",
            Placement::Cpus(_) => "; Cpus",
        })?;
        self.doubts.iter().try_for_each(|doubt| write!(f, "\n{doubt}"))?;
        f.write_str("\nworker")?;
        HEADS.iter().try_for_each(|head| write!(f, " {head:>6}"))?;
        for (at, Seat { worker, cpu, hold }) in self.seats.iter().enumerate() {
            write!(f, "\n{worker:>6}")?;
            match cpu.map(|cpu| [cpu.number, cpu.core, cpu.thread, cpu.cache, cpu.node, cpu.class]) {
                Some(values) => values.iter().try_for_each(|value| write!(f, " {value:>6}"))?,
                None => HEADS.iter().try_for_each(|_| write!(f, " {:>6}", '-'))?,
            }
            f.write_str(match hold {
                Hold::Pinned => "  pinned",
                Hold::Evicted => "  not pinned for a while: another program has this CPU",
                Hold::Free => "  left free for the calling thread",
                Hold::Off => "  not pinned",
                Hold::Quota => "  not pinned: the quota says that the CPUs are shared",
                Hold::Refused => "  not pinned: refused",
            })?;
            let before = self.seats[..at].iter().find(|seat| seat.cpu.is_some() && seat.cpu == *cpu);
            if let Some(Seat { worker, .. }) = before {
                write!(f, ", shared with worker {worker}")?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::pool::{machines, placement::Wish};

    /// Six workers on two sockets, whose CPUs are numbered in turn: 0, 2 and 4 belong to the first.
    fn seats() -> Seats {
        let wish =
            Wish { workers: Some(6), placement: Placement::Cpus(vec![0, 1, 2, 3, 4]), ..Wish::default() };
        let plan = machines::two_sockets(wish);
        Seats::new(plan, (1..6).map(|worker| (worker, affinity::this_thread())).collect())
    }

    fn cpus(seats: &Seats) -> Vec<usize> {
        seats.seating().seats.iter().map(|seat| seat.cpu.unwrap().number).collect()
    }

    const FIRST: (usize, usize) = (0, 0);
    const SECOND: (usize, usize) = (1, 1);

    #[test]
    fn homes_are_those_of_the_cpus() {
        let homes = [(1, SECOND), (2, FIRST), (3, SECOND), (4, FIRST), (5, FIRST), (0, FIRST)];
        let homes = homes.map(|(worker, (cache, node))| (worker, Home::new(cache, node)));
        assert_eq!(seats().homes().collect::<Vec<_>>(), homes);
    }

    #[test]
    fn whoever_sits_where_the_caller_is_changes_with_the_free_cpu() {
        let seats = seats();
        let told = RefCell::new(Vec::new());
        let moves = |here: usize, pinned: bool| {
            let tell = |worker, home| told.borrow_mut().push((worker, home));
            let pin = |_, _| if pinned { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) };
            seats.make_room_at(here, &tell, pin);
            told.take()
        };
        let home = |(cache, node)| Home::new(cache, node);
        assert_eq!(cpus(&seats), [0, 1, 2, 3, 4, 0], "round robin");
        assert_eq!(moves(7, true), [(0, home(SECOND))], "nobody's");
        assert_eq!(cpus(&seats), [0, 1, 2, 3, 4, 0]);
        // Worker 5, which has shared the free CPU, goes where the caller is, and worker 3 has the free one to itself.
        assert_eq!(moves(3, true), [(0, home(SECOND)), (3, home(FIRST)), (5, home(SECOND))]);
        assert_eq!(cpus(&seats), [3, 1, 2, 0, 4, 3]);
        assert_eq!(moves(3, true), [(0, home(SECOND))], "it stays");
        assert_eq!(moves(4, true), [(0, home(FIRST)), (4, home(SECOND)), (5, home(FIRST))]);
        assert_eq!(cpus(&seats), [4, 1, 2, 0, 3, 4]);
        assert_eq!(moves(1, false), [(0, home(SECOND))], "it may not go away");
        assert_eq!(cpus(&seats), [4, 1, 2, 0, 3, 4]);
        assert_eq!(moves(9999, true), [], "a CPU that came later");
    }
}
