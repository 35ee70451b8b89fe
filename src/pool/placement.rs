//! Who goes where: how many workers there are, and in which order they are put on CPUs.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    io, thread,
};

use super::{
    affinity,
    error::{BuildError, MOST_THREADS, VARIABLE, ranges},
    quota::quota,
    topology::{Cpu, File, Machine, this_system},
};

/// Whether workers are kept on CPUs of their own; an option of [`PoolBuilder::pinning`](crate::PoolBuilder::pinning).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pinning {
    /// Threads run where the system puts them.
    Off,
    /// Threads are pinned; where that is refused, a warning is logged and they run unpinned. A thread whose CPU another program keeps busy
    /// while others are idle loses its pin for a while. On systems other than Linux it is
    /// `Off`, and a line at debug level says so; likewise under a CPU quota of less than there are CPUs, which are then shared with others.
    #[default]
    BestEffort,
    /// Threads are pinned, or the pool is not built: never on systems other than Linux.
    Required,
}

/// On which CPUs the workers are put, and in which order; an option of [`PoolBuilder::placement`](crate::PoolBuilder::placement).
///
/// In every order but that of a list, strong cores come before weak ones (where cores differ by design), and neighbours in worker number
/// are neighbours in cache and memory, but for `Spread`.
///
/// ```
/// use rangesteal::{Placement, Pool};
///
/// let pool = Pool::builder().placement(Placement::PhysicalCores).build()?;
/// println!("{}", pool.placement());
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// All CPUs: one of every physical core first, filled cache by cache and node by node; then their SMT siblings. The default.
    #[default]
    LogicalCpus,
    /// One CPU of every physical core and no siblings: for loops that live on the floating-point units or the cache of a core.
    PhysicalCores,
    /// All CPUs, core by core with all siblings of each: few workers share caches, and leave other cores to others.
    Compact,
    /// All CPUs, a node and a cache further with every worker, and siblings last: few workers have much cache and memory bandwidth each.
    Spread,
    /// These CPUs in this order; one that is named twice takes two workers.
    Cpus(Vec<usize>),
}

impl Placement {
    /// The CPUs in the order in which workers are put on them. A list is checked by whoever made it.
    pub(crate) fn order(&self, machine: &Machine) -> Vec<Cpu> {
        let mut cpus = machine.cpus.clone();
        let near = |cpu: &Cpu| (cpu.node, cpu.cache, cpu.core, cpu.number);
        cpus.sort_by_key(|cpu| (cpu.thread, cpu.class, near(cpu)));
        match self {
            Self::LogicalCpus => {}
            Self::PhysicalCores => cpus.retain(|cpu| cpu.thread == 0),
            Self::Compact => cpus.sort_by_key(|cpu| (cpu.class, near(cpu))),
            Self::Spread => {
                let cores = places(&cpus, |cpu| (cpu.class, cpu.node, cpu.cache), |cpu| cpu.core);
                let caches = places(&cpus, |cpu| cpu.node, |cpu| cpu.cache);
                let mut places: Vec<_> = cores.into_iter().zip(caches).zip(cpus).collect();
                places.sort_by_key(|((core, cache), cpu)| (cpu.thread, cpu.class, *core, *cache, near(cpu)));
                return places.into_iter().map(|(_, cpu)| cpu).collect();
            }
            Self::Cpus(list) => return list.iter().filter_map(|&number| machine.cpu(number)).collect(),
        }
        cpus
    }
}

/// The how-manieth `part` of its `whole` each CPU belongs to, in the order of `cpus`.
fn places<W: Ord, P: Ord>(cpus: &[Cpu], whole: impl Fn(&Cpu) -> W, part: impl Fn(&Cpu) -> P) -> Vec<usize> {
    let mut wholes: BTreeMap<W, BTreeMap<P, usize>> = BTreeMap::new();
    let place = |cpu| {
        let parts = wholes.entry(whole(cpu)).or_default();
        let next = parts.len();
        *parts.entry(part(cpu)).or_insert(next)
    };
    cpus.iter().map(place).collect()
}

/// What sets the number of workers: the first of these that applies.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CountedBy {
    /// [`PoolBuilder::num_threads`](crate::PoolBuilder::num_threads).
    NumThreads,
    /// The environment variable `RANGESTEAL_NUM_THREADS`.
    Variable,
    /// The CPU quota of the control group, in CPUs: it is less than there are CPUs.
    Quota(f64),
    /// The CPUs of the placement.
    Cpus,
}

/// What keeps a worker on its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hold {
    /// It is pinned.
    Pinned,
    /// Nothing for the moment: another program keeps its CPU busy, and others are idle, so it runs where the system puts it. It is pinned again
    /// after a while.
    /// Not with [`Pinning::Required`].
    Evicted,
    /// Nothing: it is the seat of the calling thread, which runs where the system puts it.
    Free,
    /// Nothing: workers are not pinned, by [`Pinning::Off`] or because this system has no such thing.
    Off,
    /// Nothing: a CPU quota below the number of CPUs says that these are shared with others, and whoever is pinned cannot give way. With
    /// [`Pinning::Required`] workers are pinned all the same.
    Quota,
    /// Nothing: the system has refused to pin it.
    Refused,
}

/// What a program asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) workers: Option<usize>,
    pub(crate) pinning: Pinning,
    pub(crate) placement: Placement,
}

/// What the system says.
pub(crate) struct System<'a> {
    /// The CPUs on which the calling thread may run, in ascending order.
    pub(crate) allowed: io::Result<Vec<usize>>,
    pub(crate) file: File<'a>,
    /// The environment variable.
    pub(crate) variable: Option<OsString>,
}

impl System<'_> {
    /// What it says now, to this thread.
    pub(crate) fn now() -> Self {
        Self { allowed: affinity::allowed(), file: &this_system, variable: env::var_os(VARIABLE) }
    }
}

/// What comes of it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) workers: usize,
    pub(crate) counted_by: CountedBy,
    pub(crate) placement: Placement,
    /// Worker `i` goes to the CPU at `i`, round robin. Empty: nobody is pinned.
    order: Vec<Cpu>,
    pub(crate) machine: Machine,
    /// How many workers can be running at a time.
    pub(crate) at_a_time: usize,
    /// Why nobody is pinned, if so.
    pub(crate) nobody: Option<Hold>,
    /// Whether who is pinned may be let go.
    pub(crate) gives_way: bool,
    /// What could not be believed, or done.
    pub(crate) doubts: Vec<String>,
}

impl Plan {
    pub(crate) fn new(wish: Wish, system: System<'_>) -> Result<Self, BuildError> {
        let Wish { workers: asked, pinning, mut placement } = wish;
        if placement == Placement::Cpus(Vec::new()) {
            return Err(BuildError::NoCpus);
        }
        let mut doubts = Vec::new();
        let mut nobody = (pinning == Pinning::Off).then_some(Hold::Off);
        let allowed = system.allowed.or_else(|source| match (pinning, source.kind()) {
            (Pinning::Required, _) => Err(BuildError::Affinity { source }),
            (Pinning::Off, _) => Ok(Vec::new()),
            (Pinning::BestEffort, io::ErrorKind::Unsupported) => {
                log::debug!("workers are not pinned: {source}"); // there is no such thing here
                nobody = Some(Hold::Off);
                Ok(Vec::new())
            }
            (Pinning::BestEffort, _) => {
                doubts.push(format!("workers are not pinned: {source}"));
                nobody = Some(Hold::Refused);
                Ok(Vec::new())
            }
        })?;
        let quota = quota(system.file);
        let whole = quota.map_or(usize::MAX, round_up);
        if whole < allowed.len() && pinning == Pinning::BestEffort {
            // Every container of a machine would pin its workers to the same CPUs.
            log::debug!("workers are not pinned: the quota of {whole} CPUs says that others share them");
            nobody = Some(Hold::Quota);
        }
        if let Placement::Cpus(list) = &mut placement
            && nobody.is_none()
        {
            restrict(list, &allowed, pinning, &mut doubts)?;
            if list.is_empty() {
                placement = Placement::LogicalCpus;
            }
        }
        let mut machine = if nobody.is_none() || placement == Placement::PhysicalCores {
            Machine::read(&allowed, system.file)
        } else {
            Machine::unknown(&allowed) // enough to count
        };
        doubts.append(&mut machine.doubts);
        let mut order = placement.order(&machine);
        let cpus = match allowed.len() {
            0 => thread::available_parallelism().map_or(1, usize::from),
            allowed => allowed,
        };
        let places = match &placement {
            Placement::Cpus(list) => list.len(),
            _ if order.is_empty() => cpus,
            _ => order.len(),
        };
        let (workers, counted_by) = count(asked, system.variable, quota, places)?;
        let cpus = if nobody.is_none() {
            order.iter().map(|cpu| cpu.number).collect::<BTreeSet<_>>().len()
        } else {
            order.clear();
            cpus
        };
        let at_a_time = cpus.min(whole);
        let gives_way = pinning != Pinning::Required;
        Ok(Self { workers, counted_by, placement, order, machine, at_a_time, nobody, gives_way, doubts })
    }

    /// Where that worker goes, if anybody is pinned.
    pub(crate) fn cpu(&self, worker: usize) -> Option<Cpu> {
        (!self.order.is_empty()).then(|| self.order[worker % self.order.len()])
    }

    /// The CPUs of the placement.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        self.order.iter().map(|cpu| cpu.number).collect()
    }

    /// The error of a worker that could not be pinned.
    pub(crate) fn refused(&self, worker: usize, cpu: usize, source: io::Error) -> BuildError {
        BuildError::Pin {
            worker,
            cpu,
            allowed: self.machine.cpus.iter().map(|cpu| cpu.number).collect(),
            source,
        }
    }
}

/// How many workers, and why: the table of `PoolBuilder::num_threads`.
fn count(
    asked: Option<usize>,
    variable: Option<OsString>,
    quota: Option<f64>,
    places: usize,
) -> Result<(usize, CountedBy), BuildError> {
    let (workers, counted_by) = match (asked, variable, quota) {
        (Some(asked), ..) => (asked, CountedBy::NumThreads),
        (None, Some(value), _) => match value.to_str().and_then(|value| value.trim().parse().ok()) {
            None | Some(0) => {
                return Err(BuildError::Variable { value: value.to_string_lossy().into_owned() });
            }
            Some(number) => (number, CountedBy::Variable),
        },
        (None, None, Some(quota)) if round_up(quota) < places => (round_up(quota), CountedBy::Quota(quota)),
        (None, None, _) => (places, CountedBy::Cpus),
    };
    match workers {
        0 => Err(BuildError::ZeroThreads),
        1..=MOST_THREADS => Ok((workers, counted_by)),
        _ => Err(BuildError::TooManyThreads { asked: workers }),
    }
}

/// Keeps what is allowed of a list of CPUs.
fn restrict(
    list: &mut Vec<usize>,
    allowed: &[usize],
    pinning: Pinning,
    doubts: &mut Vec<String>,
) -> Result<(), BuildError> {
    let forbidden = |cpu: &usize| allowed.binary_search(cpu).is_err();
    let Some(&cpu) = list.iter().find(|cpu| forbidden(cpu)) else { return Ok(()) };
    if pinning == Pinning::Required {
        return Err(BuildError::Cpu { cpu, allowed: allowed.to_vec() });
    }
    let mut left_out: Vec<usize> = list.extract_if(.., |cpu| forbidden(cpu)).collect();
    left_out.sort_unstable();
    left_out.dedup();
    let (left_out, allowed) = (ranges(&left_out), ranges(allowed));
    doubts.push(format!("Placement::Cpus names CPUs {left_out}, which are not allowed (allowed: {allowed})"));
    Ok(())
}

/// Whole CPUs that a quota keeps busy.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
fn round_up(quota: f64) -> usize {
    (quota.ceil() as usize).max(1)
}
