//! What Linux tells about its CPUs: which of them share a core, a cache, a node, and which are weaker than others.
//!
//! Read from sysfs: `Documentation/admin-guide/cputopology.rst` and `Documentation/ABI/{testing,stable}/sysfs-devices-*` of the kernel. A
//! relation that is not there, or that contradicts itself, is not used for any CPU: half an order is worse than none.

use std::{cmp::Reverse, collections::BTreeMap, fs, ops::RangeInclusive};

const CPU: &str = "/sys/devices/system/cpu/cpu";
const NODE: &str = "/sys/devices/system/node/";

/// The largest number of hardware threads that a core has ever had (POWER8 to 10): more than that is no core.
const MOST_THREADS_OF_A_CORE: usize = 8;

/// As many as Linux can be configured for: a larger number is a mistake.
const MOST_NODES: usize = 1 << 10;
const MOST_CPUS: usize = 1 << 20;

/// The text of a file, by its path; none where there is no such file.
pub(crate) type File<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The files of this system.
pub(crate) fn this_system(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// A CPU as the system numbers them, that is a hardware thread, and what it shares with others.
///
/// ```
/// let pool = rangesteal::Pool::new()?;
/// for seat in pool.placement().seats {
///     if let Some(cpu) = &seat.cpu {
///         println!("worker {} sits on core {} of node {}", seat.worker, cpu.core, cpu.node);
///     }
/// }
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cpu {
    /// Its number.
    pub number: usize,
    /// The physical core, named by its lowest CPU.
    pub core: usize,
    /// 0 for the first CPU of the core that the pool may use, 1 for the next (its SMT sibling), and so on.
    pub thread: usize,
    /// The last cache before memory, mostly L3, named by the lowest CPU that shares it.
    pub cache: usize,
    /// The NUMA node; the socket where there are no nodes.
    pub node: usize,
    /// 0 for the strongest cores; 1, 2 and so on for those that do less than nine tenths of the work of the class before.
    pub class: usize,
}

/// The CPUs that may be used, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) cpus: Vec<Cpu>,
    /// What could not be believed.
    pub(crate) doubts: Vec<String>,
}

/// Why a relation is not used.
enum Unknown {
    Missing,
    Doubtful(String),
}

/// What is known of each CPU, in the order of the CPUs.
type Known<T> = Result<Vec<T>, Unknown>;

impl Machine {
    /// Reads what the system tells about `allowed` CPUs, which ascend. Some five files for each, at some 5 µs.
    pub(crate) fn read(allowed: &[usize], file: File<'_>) -> Self {
        if allowed.len() < 2 {
            return Self::unknown(allowed); // no order to find
        }
        let mut doubts = Vec::new();
        let mut believe = |what: &str, known: Known<usize>, otherwise: &dyn Fn() -> Vec<usize>| match known {
            Ok(known) => known,
            Err(unknown) => {
                match unknown {
                    Unknown::Doubtful(why) => doubts.push(format!("{what} not used: {why}")),
                    Unknown::Missing if what == "cores" => {
                        doubts.push("sysfs tells nothing of cores: CPUs are taken by number".into());
                    }
                    Unknown::Missing => {} // many systems have no NUMA and tell of no caches
                }
                otherwise()
            }
        };
        let nodes = believe("nodes", nodes(allowed, file), &|| packages(allowed, file));
        let lowest = lowest_of(&nodes, allowed);
        let caches = believe("caches", caches(allowed, file), &|| lowest.clone());
        let within = (nodes.as_slice(), caches.as_slice());
        let cores = believe("cores", cores(allowed, within, file), &|| allowed.to_vec());
        let classes = believe("classes of cores", classes(allowed, file), &|| vec![0; allowed.len()]);
        let mut threads = BTreeMap::new();
        let cpus = (0..allowed.len()).map(|i| {
            let next = threads.entry(cores[i]).or_insert(0);
            let thread = *next;
            *next += 1;
            let (cache, node, class) = (caches[i], nodes[i], classes[i]);
            Cpu { number: allowed[i], core: cores[i], thread, cache, node, class }
        });
        Self { cpus: cpus.collect(), doubts }
    }

    /// CPUs of which nothing is known: by number.
    pub(crate) fn unknown(allowed: &[usize]) -> Self {
        let lowest = allowed.first().copied().unwrap_or(0);
        let alike = |&number| Cpu { number, core: number, thread: 0, cache: lowest, node: 0, class: 0 };
        Self { cpus: allowed.iter().map(alike).collect(), doubts: Vec::new() }
    }

    /// A CPU by its number.
    pub(crate) fn cpu(&self, number: usize) -> Option<Cpu> {
        let found = self.cpus.binary_search_by_key(&number, |cpu| cpu.number);
        found.ok().map(|at| self.cpus[at])
    }
}

/// The lowest CPU of each CPU's group.
fn lowest_of(groups: &[usize], allowed: &[usize]) -> Vec<usize> {
    let mut lowest = BTreeMap::new();
    groups.iter().zip(allowed).map(|(group, &cpu)| *lowest.entry(group).or_insert(cpu)).collect()
}

/// Groups of CPUs, named by their lowest, where `list` tells the group of a CPU.
fn groups(allowed: &[usize], list: impl Fn(usize) -> Option<String>) -> Known<(usize, usize)> {
    let lists: Vec<Option<String>> = allowed.iter().map(|&cpu| list(cpu)).collect();
    if lists.iter().all(Option::is_none) {
        return Err(Unknown::Missing);
    }
    let mut groups = Vec::with_capacity(allowed.len());
    for (&cpu, list) in allowed.iter().zip(&lists) {
        let list = list.as_deref().unwrap_or("");
        let Some(parts) = parse_list(list).filter(|parts| contain(parts, cpu)) else {
            return Err(Unknown::Doubtful(format!("CPU {cpu} is said to share one with {:?}", list.trim())));
        };
        let lowest = parts.iter().map(|part| *part.start()).min().unwrap_or(cpu);
        groups.push((lowest, parts.iter().map(|part| part.clone().count()).sum()));
    }
    let mut sizes = BTreeMap::new();
    for (&cpu, &(lowest, size)) in allowed.iter().zip(&groups) {
        let of_lowest = allowed.binary_search(&lowest).map_or(lowest, |at| groups[at].0);
        if of_lowest != lowest || *sizes.entry(lowest).or_insert(size) != size {
            return Err(Unknown::Doubtful(format!(
                "CPU {cpu} shares one with CPU {lowest}, but not the reverse"
            )));
        }
    }
    Ok(groups)
}

/// `core_cpus_list` was called `thread_siblings_list` before Linux 5.3.
fn cores(allowed: &[usize], (nodes, caches): (&[usize], &[usize]), file: File<'_>) -> Known<usize> {
    let cores = groups(allowed, |cpu| {
        file(&format!("{CPU}{cpu}/topology/core_cpus_list"))
            .or_else(|| file(&format!("{CPU}{cpu}/topology/thread_siblings_list")))
    })?;
    let mut inside = BTreeMap::new();
    for (i, &(core, threads)) in cores.iter().enumerate() {
        if threads > MOST_THREADS_OF_A_CORE {
            return Err(Unknown::Doubtful(format!("that of CPU {core} is said to have {threads} CPUs")));
        }
        let here = (nodes[i], caches[i]);
        if *inside.entry(core).or_insert(here) != here {
            return Err(Unknown::Doubtful(format!("that of CPU {core} is said to be in two places")));
        }
    }
    Ok(cores.into_iter().map(|(core, _)| core).collect())
}

/// L3 where there is one, otherwise the highest level there is.
fn caches(allowed: &[usize], file: File<'_>) -> Known<usize> {
    let shared = |cpu| {
        let dir = format!("{CPU}{cpu}/cache/index");
        let level = |index| file(&format!("{dir}{index}/level"))?.trim().parse::<u32>().ok();
        let index = if level(3) == Some(3) {
            3
        } else {
            let levels = (0..16).map_while(|index| Some((level(index)?, index)));
            levels.filter(|&(level, _)| level <= 3).max()?.1
        };
        file(&format!("{dir}{index}/shared_cpu_list"))
    };
    Ok(groups(allowed, shared)?.into_iter().map(|(cache, _)| cache).collect())
}

fn nodes(allowed: &[usize], file: File<'_>) -> Known<usize> {
    let online = file(&format!("{NODE}online")).ok_or(Unknown::Missing)?;
    let doubtful = |why: String| Unknown::Doubtful(why);
    let numbers = parse_list(&online)
        .filter(|parts| parts.iter().map(|part| part.clone().count()).sum::<usize>() <= MOST_NODES)
        .ok_or_else(|| doubtful(format!("those online are said to be {:?}", online.trim())))?;
    let mut node_of = vec![None; allowed.len()];
    for node in numbers.into_iter().flatten() {
        let list = file(&format!("{NODE}node{node}/cpulist")).unwrap_or_default();
        if list.trim().is_empty() {
            continue; // memory alone
        }
        let parts = parse_list(&list)
            .ok_or_else(|| doubtful(format!("node {node} is said to have CPUs {:?}", list.trim())))?;
        for (&cpu, known) in allowed.iter().zip(&mut node_of).filter(|&(&cpu, _)| contain(&parts, cpu)) {
            if let Some(before) = known.replace(node) {
                return Err(doubtful(format!("CPU {cpu} is said to be in node {before} and in node {node}")));
            }
        }
    }
    let known = node_of.iter().zip(allowed);
    known.map(|(node, cpu)| node.ok_or_else(|| doubtful(format!("CPU {cpu} is in none")))).collect()
}

/// Sockets. -1, or nothing, where the firmware does not tell.
fn packages(allowed: &[usize], file: File<'_>) -> Vec<usize> {
    let package = |cpu| file(&format!("{CPU}{cpu}/topology/physical_package_id"))?.trim().parse().ok();
    allowed.iter().map(|cpu| package(cpu).unwrap_or(0)).collect()
}

/// By `cpu_capacity`, which Linux gives where cores differ by design (Arm, RISC-V, and hybrid x86 without SMT since 6.12); by the list of
/// efficiency cores on other hybrid x86. Not by clock rates: a favoured core of its kind is no kind of its own.
fn classes(allowed: &[usize], file: File<'_>) -> Known<usize> {
    let capacity = |cpu| file(&format!("{CPU}{cpu}/cpu_capacity"));
    let capacities: Vec<Option<String>> = allowed.iter().map(capacity).collect();
    if capacities.iter().all(Option::is_none) {
        let Some(list) = file("/sys/devices/cpu_atom/cpus") else { return Err(Unknown::Missing) };
        let parts = parse_list(&list).ok_or_else(|| {
            Unknown::Doubtful(format!("the efficiency cores are said to be {:?}", list.trim()))
        })?;
        return Ok(allowed.iter().map(|&cpu| usize::from(contain(&parts, cpu))).collect());
    }
    let mut known = Vec::with_capacity(allowed.len());
    for (cpu, text) in allowed.iter().zip(&capacities) {
        let text = text.as_deref().unwrap_or("").trim();
        match text.parse::<u32>() {
            Ok(capacity @ 1..) => known.push(capacity),
            _ => return Err(Unknown::Doubtful(format!("the capacity of CPU {cpu} is said to be {text:?}"))),
        }
    }
    let mut falling = known.clone();
    falling.sort_unstable_by_key(|capacity| Reverse(*capacity));
    let mut tops = Vec::new(); // the strongest of each class
    for capacity in falling {
        if tops.last().is_none_or(|top| u64::from(capacity) * 10 < u64::from(*top) * 9) {
            tops.push(capacity);
        }
    }
    let class = |capacity| tops.iter().filter(|top| **top >= capacity).count() - 1;
    Ok(known.into_iter().map(class).collect())
}

/// Parses a list of numbers such as `0-3,8,10-11`.
fn parse_list(list: &str) -> Option<Vec<RangeInclusive<usize>>> {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let part = first.parse().ok()?..=last.parse().ok()?;
        (!part.is_empty() && *part.end() < MOST_CPUS).then_some(part)
    };
    list.trim().split(',').map(part).collect()
}

fn contain(parts: &[RangeInclusive<usize>], cpu: usize) -> bool {
    parts.iter().any(|part| part.contains(&cpu))
}
