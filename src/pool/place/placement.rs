//! The plan of a pool: the number of workers, and the order in which they are put on CPUs.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // quotas: positive, and saturate

use std::{cell::OnceCell, env, io, sync::Mutex};

use super::{
    affinity::count_of_unknown,
    files::{File, number, this_system},
    quota::quota,
    topology::{Cpu, Machine, online},
};
use crate::{
    pool::error::{BuildError, MOST_THREADS, NUM_THREADS, PINNING, ranges},
    sorted::{order, sort},
    sync::lock_unless_stuck,
};

/// Whether workers are pinned to CPUs. Set by
/// [`PoolBuilder::pinning`](crate::PoolBuilder::pinning).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pinning {
    /// Workers are not pinned: the system chooses their CPUs. Loops make few [system
    /// calls](crate::guide::machines#system-calls), since a worker does not check whether it gets
    /// its CPU.
    Off,
    /// Workers are pinned. If the system refuses to pin workers, a warning is logged and the
    /// workers run unpinned. If another program keeps the CPU of a worker busy while other CPUs are
    /// idle, the worker loses its pin for a while. Workers are not pinned on systems other than
    /// Linux. Workers are not pinned under a CPU quota below the number of CPUs, since other
    /// processes then share the CPUs. On a system other than Linux, or under such a quota, a line
    /// is logged at debug level.
    #[default]
    BestEffort,
    /// Workers are pinned, or building the pool fails. On systems other than Linux, building always
    /// fails.
    Required,
}

/// The CPUs that workers are put on, and their order. Set by
/// [`PoolBuilder::placement`](crate::PoolBuilder::placement).
///
/// If the cores of a processor differ by design, strong cores come before weak cores; a list keeps
/// its order. Workers with neighbouring numbers share caches and memory where possible, except with
/// `Spread` and with a list. If the building thread runs on a CPU that a worker would get, except
/// with a list, this CPU is left free, and that worker gets the first CPU.
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
    /// All CPUs: first one CPU of every physical core, cache by cache and node by node; then their
    /// SMT siblings. The default.
    #[default]
    LogicalCpus,
    /// One CPU of every physical core and no SMT siblings: for loops that depend on the
    /// floating-point units or the cache of a core.
    PhysicalCores,
    /// All CPUs, core by core, with all SMT siblings of each core. A small number of workers then
    /// shares caches, and leaves other cores free.
    Compact,
    /// All CPUs: each worker goes to the next NUMA node and the next cache. SMT siblings come last.
    /// If there are few workers, each worker has much cache and memory bandwidth.
    Spread,
    /// These CPUs, in this order. A CPU that is listed twice gets two workers.
    Cpus(Vec<usize>),
}

impl Placement {
    /// The CPUs in the order in which workers are put on them. The caller has checked the CPUs of a
    /// list.
    pub(crate) fn order(&self, machine: &Machine) -> Vec<Cpu> {
        let all = &machine.cpus;
        let mut cpus = sorted(all, &|i| [all[i].thread, all[i].class, 0, 0]);
        match self {
            Self::LogicalCpus => cpus,
            Self::PhysicalCores => {
                cpus.retain(|cpu| cpu.thread == 0);
                cpus
            }
            Self::Compact => sorted(&cpus, &|i| [cpus[i].class, 0, 0, 0]),
            Self::Spread => {
                let cores = ranks(&cpus, &|cpu| [cpu.class, cpu.node, cpu.cache, cpu.core]);
                let caches = ranks(&cpus, &|cpu| [0, 0, cpu.node, cpu.cache]);
                sorted(&cpus, &|i| [cpus[i].thread, cpus[i].class, cores[i], caches[i]])
            }
            Self::Cpus(list) => list.iter().filter_map(|&number| machine.cpu(number)).collect(),
        }
    }
}

/// Sorts CPUs by the key of their index. CPUs with equal keys are sorted by node, cache, core and
/// number.
#[inline(never)]
fn sorted(cpus: &[Cpu], key: &dyn Fn(usize) -> [usize; 4]) -> Vec<Cpu> {
    let key = |i: usize| (key(i), [cpus[i].node, cpus[i].cache, cpus[i].core, cpus[i].number]);
    order(cpus.len(), &|a, b| key(a) < key(b)).into_iter().map(|i| cpus[i]).collect()
}

/// For each CPU, the rank of its part (such as a core) among the parts of its whole (such as a
/// cache), in the order of `cpus`. `part` returns the number of the part, behind the numbers that
/// name its whole.
#[inline(never)]
fn ranks(cpus: &[Cpu], part: &dyn Fn(&Cpu) -> [usize; 4]) -> Vec<usize> {
    let mut parts = Vec::new();
    for cpu in cpus {
        if !parts.contains(&part(cpu)) {
            parts.push(part(cpu));
        }
    }
    let rank = |cpu| {
        let own = part(cpu);
        let before = parts.iter().take_while(|other| **other != own);
        before.filter(|other| other[..3] == own[..3]).count()
    };
    cpus.iter().map(rank).collect()
}

/// The reason for the number of workers. The first variant that applies sets the number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CountSource {
    /// A call of [`PoolBuilder::num_threads`](crate::PoolBuilder::num_threads).
    NumThreads,
    /// The environment variable `RANGESTEAL_NUM_THREADS`.
    Variable,
    /// The CPU quota of the control group, in CPUs; less than the number of CPUs.
    Quota(f64),
    /// The number of CPUs of the placement.
    Cpus,
}

/// Whether a worker is pinned to its CPU, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinState {
    /// The worker is pinned.
    Pinned,
    /// The worker is not pinned for a while, because another program keeps its CPU busy while other
    /// CPUs are idle; this does not occur with [`Pinning::Required`]. Or because an item of the
    /// worker is in [`Pool::unpinned`](crate::Pool::unpinned). The worker is pinned again later.
    Evicted,
    /// This CPU is left free for the calling thread, which is not pinned.
    Free,
    /// The worker is not pinned, because of [`Pinning::Off`] or because this system cannot pin
    /// threads.
    Off,
    /// The worker is not pinned, because of a CPU quota below the number of CPUs. Such a quota
    /// shows that other processes share the CPUs, and a pinned thread cannot move to another CPU.
    /// Does not occur with [`Pinning::Required`].
    Quota,
    /// The worker is not pinned, because the system has refused to pin it.
    Refused,
}

/// Says that the threads may run on fewer CPUs than are online. A user or a container may have set
/// the restriction on purpose. A launcher may also set the restriction without a request of the
/// user: by default, some launchers bind a process to one core. On one core the program is as slow
/// as the plain loop, and without this message the user does not know why.
///
/// Returns `None` if the threads may use all CPUs, or if the system does not report which CPUs are
/// online.
fn bound(machine: &Machine, online: Option<usize>) -> Option<String> {
    let allowed = machine.cpus.len();
    let online = online.filter(|online| *online > allowed && allowed > 0)?;
    let by_default = match allowed {
        1 => ", one worker at a time",
        _ if machine.cpus.iter().all(|cpu| cpu.core == machine.cpus[0].core) => ", one core",
        _ => return Some(format!("bound to {allowed} of {online} CPUs")),
    };
    Some(format!(
        "bound to {allowed} of {online} CPUs{by_default}: \
         a launcher may have done that (mpirun: --map-by slot:PE=k, or --bind-to none)"
    ))
}

/// The settings of the program: number of workers, pinning and placement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) workers: Option<usize>,
    pub(crate) pinning: Option<Pinning>,
    pub(crate) placement: Placement,
    /// If a wrong environment variable is a warning and has no effect: the text of the warning.
    /// Otherwise it is an error.
    pub(crate) lenient: Option<fn(&BuildError) -> String>,
    /// Warnings of the caller, which are logged with those of the pool.
    pub(crate) doubts: Vec<String>,
}

impl Wish {
    /// What `meaning` makes of the value of an environment variable, if the variable is set.
    fn variable<T>(
        &mut self,
        value: Option<String>,
        meaning: fn(String) -> Result<T, BuildError>,
    ) -> Result<Option<T>, BuildError> {
        match (value.map(meaning).transpose(), self.lenient) {
            (Err(error), Some(warning)) => {
                self.doubts.push(warning(&error));
                Ok(None)
            }
            (read, _) => read,
        }
    }
}

/// The information of the system about CPUs and workers.
pub(crate) struct System<'a> {
    /// The CPUs on which the calling thread (for the global pool, the process) may run, in
    /// ascending order.
    pub(crate) allowed: io::Result<Vec<usize>>,
    pub(crate) file: File<'a>,
    /// The values that have been read from the files.
    pub(crate) reading: &'a Reading,
    /// The values of the environment variables `RANGESTEAL_NUM_THREADS` and `RANGESTEAL_PINNING`.
    pub(crate) num_threads: Option<String>,
    pub(crate) pinning: Option<String>,
}

/// The values that pools have read from the files, for threads that may run on these CPUs. Each is
/// read when a pool needs it.
#[derive(Clone, Default)]
pub(crate) struct Reading {
    cpus: Vec<usize>,
    quota: OnceCell<Option<f64>>,
    /// The number of CPUs that are online.
    online: OnceCell<Option<usize>>,
    /// The machine of these CPUs, and the warnings about it.
    machine: OnceCell<(Machine, Vec<String>)>,
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl Reading {
    /// Whether nobody has read anything.
    pub(crate) fn is_new(&self) -> bool {
        self.quota.get().is_none()
    }
}

/// The reading of the last pool of this process.
static LAST_READING: Mutex<Option<Reading>> = Mutex::new(None);

impl Reading {
    /// The reading for threads that may run on these CPUs: that of the last pool, if its threads
    /// could run on the same ones.
    pub(crate) fn of(cpus: &[usize]) -> Self {
        let last = lock_unless_stuck(&LAST_READING).and_then(|last| last.clone());
        let new = || Self { cpus: cpus.to_vec(), ..Self::default() };
        last.filter(|last| last.cpus == cpus).unwrap_or_else(new)
    }

    /// Keeps the reading for later pools, which then read no file. Reading takes nine tenths of the
    /// time in which the first pool of a program, of one thread, is built.
    pub(crate) fn keep(self) {
        if let Some(mut last) = lock_unless_stuck(&LAST_READING) {
            *last = Some(self);
        }
    }

    fn quota(&self, file: File<'_>) -> Option<f64> {
        *self.quota.get_or_init(|| quota(file))
    }

    fn online(&self, file: File<'_>) -> Option<usize> {
        *self.online.get_or_init(|| online(file))
    }

    /// The machine of the allowed CPUs. Adds warnings to `doubts`.
    fn machine(&self, allowed: &[usize], file: File<'_>, doubts: &mut Vec<String>) -> Machine {
        let (machine, warnings) = self.machine.get_or_init(|| {
            let mut warnings = Vec::new();
            (Machine::read(allowed, file, &mut warnings), warnings)
        });
        doubts.extend_from_slice(warnings);
        machine.clone()
    }
}

impl<'a> System<'a> {
    /// The information of this system, for threads that may run on the CPUs `allowed`, of which
    /// `reading` is the reading.
    pub(crate) fn now(allowed: io::Result<Vec<usize>>, reading: &'a Reading) -> Self {
        let (num_threads, pinning) = (variable(NUM_THREADS), variable(PINNING));
        Self { allowed, file: &this_system, reading, num_threads, pinning }
    }
}

/// The value of an environment variable, if it is set. No valid value has a character that is not
/// UTF-8.
#[inline(never)]
fn variable(name: &str) -> Option<String> {
    Some(env::var_os(name)?.to_string_lossy().into_owned())
}

/// The plan of a pool: how many workers it has, and on which CPUs.
#[derive(Debug)]
pub(crate) struct SeatPlan {
    pub(crate) workers: usize,
    pub(crate) counted_by: CountSource,
    pub(crate) placement: Placement,
    /// Worker `i` goes to the CPU at index `i`, round robin. Empty if workers are not pinned.
    order: Vec<Cpu>,
    pub(crate) machine: Machine,
    /// The number of CPUs that workers can keep busy at the same time.
    pub(crate) at_a_time: usize,
    /// Whether helpers may poll: all workers that run at the same time can also run all the time,
    /// and at least two can. A quota of 2.5 CPUs lets three
    /// workers run at the same time. If they run all the time, they use up the quota before its
    /// period ends, and all of them stop until the next period. So a helper that polls would take
    /// CPU time from the items.
    pub(crate) may_poll: bool,
    pub(crate) pinning: Pinning,
    /// Why no worker is pinned; `None` if workers are pinned.
    pub(crate) unpinned_because: Option<PinState>,
    /// See [`bound`].
    pub(crate) bound: Option<String>,
    /// Warnings: information of the system that is not plausible, and refused system calls.
    pub(crate) doubts: Vec<String>,
    /// Further messages, to be logged at debug level.
    pub(crate) remarks: Vec<String>,
}

impl SeatPlan {
    pub(crate) fn new(mut wish: Wish, system: System<'_>) -> Result<Self, BuildError> {
        if wish.placement == Placement::Cpus(Vec::new()) {
            return Err(BuildError::NoCpus);
        }
        if wish.pinning.is_none() {
            wish.pinning = wish.variable(system.pinning, pinning_of)?;
        }
        let of_variable = match wish.workers {
            Some(_) => None,
            None => wish.variable(system.num_threads, workers_of)?,
        };
        let pinning = wish.pinning.unwrap_or_default();
        let mut plan = Self { placement: wish.placement, pinning, ..Self::alone(wish.doubts) };
        plan.unpinned_because = (pinning == Pinning::Off).then_some(PinState::Off);
        let allowed = match system.allowed {
            Ok(allowed) => allowed,
            Err(source) if pinning == Pinning::Required => return Err(BuildError::Affinity { source }),
            Err(source) => {
                if pinning == Pinning::BestEffort {
                    let (why, messages) = match source.kind() {
                        io::ErrorKind::Unsupported => (PinState::Off, &mut plan.remarks), // this system cannot pin threads
                        _ => (PinState::Refused, &mut plan.doubts),
                    };
                    plan.unpinned_because = Some(why);
                    messages.push(format!("workers are not pinned: {source}"));
                }
                Vec::new()
            }
        };
        let quota = system.reading.quota(system.file);
        let whole = quota.map_or(usize::MAX, |quota| (quota.ceil() as usize).max(1)); // how many CPUs it can keep busy
        if whole < allowed.len() && pinning == Pinning::BestEffort {
            // Without this rule, every container of a machine would pin its workers to the same
            // CPUs.
            plan.remarks.push(format!(
                "workers are not pinned: a quota of {whole} CPUs means that other processes share the CPUs"
            ));
            plan.unpinned_because = Some(PinState::Quota);
        }
        let is_pinned = plan.unpinned_because.is_none();
        if is_pinned {
            plan.restrict(&allowed)?;
        }
        plan.machine = if is_pinned || plan.placement == Placement::PhysicalCores {
            system.reading.machine(&allowed, system.file, &mut plan.doubts)
        } else {
            Machine::read(&allowed, &|_| None, &mut Vec::new()) // enough to count the CPUs
        };
        plan.bound = bound(&plan.machine, system.reading.online(system.file));
        plan.remarks.extend(plan.bound.clone());
        plan.order = plan.placement.order(&plan.machine);
        let mut cpus = match allowed.len() {
            0 => count_of_unknown(system.reading.online(system.file)),
            allowed => allowed,
        };
        let places = match (&plan.placement, plan.order.len()) {
            (Placement::Cpus(list), _) => list.len(),
            (_, 0) => cpus,
            (_, len) => len,
        };
        (plan.workers, plan.counted_by) = match (wish.workers, of_variable, quota) {
            (Some(asked), ..) => (asked, CountSource::NumThreads),
            (None, Some(number), _) => (number, CountSource::Variable),
            (None, None, Some(quota)) if whole < places => (whole, CountSource::Quota(quota)),
            (None, None, _) => (places, CountSource::Cpus),
        };
        match plan.workers {
            0 => return Err(BuildError::ZeroThreads),
            1..=MOST_THREADS => {}
            asked => return Err(BuildError::TooManyThreads { asked }),
        }
        if is_pinned {
            cpus = plan.machine.cpus.iter().filter(|cpu| plan.order.contains(cpu)).count(); // a CPU may be listed twice
        } else {
            plan.order.clear();
        }
        plan.at_a_time = cpus.min(whole);
        let at_a_time = plan.workers_at_a_time();
        plan.may_poll = at_a_time <= cpus && quota.is_none_or(|quota| at_a_time as f64 <= quota);
        Ok(plan)
    }

    /// How many workers of the pool run at the same time. This is at least two, so that a pool of
    /// two threads has a helper on one CPU, too.
    pub(crate) fn workers_at_a_time(&self) -> usize {
        self.workers.min(self.at_a_time).max(2)
    }

    /// Keeps only the `allowed` CPUs of a list. If none remains, the workers are put on all CPUs.
    fn restrict(&mut self, allowed: &[usize]) -> Result<(), BuildError> {
        let Placement::Cpus(list) = &mut self.placement else { return Ok(()) };
        let is_left_out = |cpu: &mut usize| allowed.binary_search(cpu).is_err();
        let mut left_out: Vec<usize> = list.extract_if(.., is_left_out).collect();
        let Some(&cpu) = left_out.first() else { return Ok(()) };
        if self.pinning == Pinning::Required {
            return Err(BuildError::Cpu { cpu, allowed: allowed.to_vec() });
        }
        if list.is_empty() {
            self.placement = Placement::LogicalCpus;
        }
        sort(&mut left_out, &|a, b| a < b);
        left_out.dedup();
        let (left_out, allowed) = (ranges(&left_out), ranges(allowed));
        self.doubts.push(format!(
            "Placement::Cpus names CPUs {left_out}, which are not allowed (allowed: {allowed})"
        ));
        Ok(())
    }

    /// The plan of a pool whose only worker is its caller. Reads nothing from the system.
    pub(crate) fn alone(doubts: Vec<String>) -> Self {
        Self {
            workers: 1,
            counted_by: CountSource::NumThreads,
            placement: Placement::default(),
            order: Vec::new(),
            machine: Machine { cpus: Vec::new() },
            at_a_time: 1,
            may_poll: false,
            pinning: Pinning::Off,
            unpinned_because: Some(PinState::Off),
            bound: None,
            doubts,
            remarks: Vec::new(),
        }
    }

    /// Leaves CPU `here` free, on which the building thread runs, if a helper would get it. That
    /// thread probably calls the first loops, and a helper that starts on its CPU would stop it. A
    /// list keeps its order.
    pub(crate) fn leave_free(&mut self, here: usize) {
        if matches!(self.placement, Placement::Cpus(_)) {
            return;
        }
        let used = self.order.iter().take(self.workers);
        if let Some(at) = used.map(|cpu| cpu.number).position(|cpu| cpu == here) {
            self.order.swap(0, at);
        }
    }

    /// The CPU of a worker, if workers are pinned.
    #[inline(never)]
    pub(crate) fn cpu(&self, worker: usize) -> Option<Cpu> {
        self.order.get(worker.checked_rem(self.order.len())?).copied()
    }

    /// The CPUs of the placement.
    #[inline(never)]
    pub(crate) fn cpus(&self) -> Vec<usize> {
        self.order.iter().map(|cpu| cpu.number).collect()
    }
}

/// The number of workers that a value of the environment variable stands for.
fn workers_of(value: String) -> Result<usize, BuildError> {
    match number(value.trim_ascii()) {
        None | Some(0) => Err(BuildError::Variable { name: NUM_THREADS, value }),
        Some(asked) if asked > MOST_THREADS => Err(BuildError::TooManyThreads { asked }),
        Some(number) => Ok(number),
    }
}

/// The pinning that a value of the environment variable stands for.
fn pinning_of(value: String) -> Result<Pinning, BuildError> {
    let names =
        [("off", Pinning::Off), ("best-effort", Pinning::BestEffort), ("required", Pinning::Required)];
    let known = names.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(value.trim_ascii()));
    known.map(|(_, pinning)| pinning).ok_or(BuildError::Variable { name: PINNING, value })
}
