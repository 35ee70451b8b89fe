//! The topology of the CPUs, as Linux reports it: which CPUs share a core, a cache or a NUMA node,
//! and which CPUs are weaker than others.
//!
//! This module reads the topology from sysfs: see `Documentation/admin-guide/cputopology.rst` and
//! `Documentation/ABI/{testing,stable}/sysfs-devices-*` of the kernel. If a relation is missing for
//! some CPU or contradicts itself, this module uses that relation for no CPU: an order of only some
//! CPUs is worse than no order.

use std::ops::RangeInclusive;

use super::files::{File, number, parts, text};

const CPU: &str = "/sys/devices/system/cpu/cpu";
const NODE: &str = "/sys/devices/system/node/";

/// The largest number of hardware threads of a core so far (POWER8 to 10). A larger number is taken
/// for an error.
const MOST_THREADS_OF_A_CORE: usize = 8;

/// The largest number of NUMA nodes of a Linux kernel. A larger number is taken for an error.
const MOST_NODES: usize = 1 << 10;
/// The largest number of CPUs of a Linux kernel. A larger number is taken for an error.
const MOST_CPUS: usize = 1 << 20;

/// A bound of the capacity of a CPU. The largest capacity in Linux is 1024
/// (`SCHED_CAPACITY_SCALE`). A capacity far above 1024 is taken for an error.
const MOST_CAPACITY: usize = 1 << 20;

/// A CPU (a hardware thread), with the core, the cache and the NUMA node that it belongs to. If the
/// system does not report a value: each CPU is a core of its own, each node has one cache, the node
/// is 0, and the class is 0.
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
    /// The number of the CPU in the system.
    pub number: usize,
    /// The physical core: the lowest number of its CPUs.
    pub core: usize,
    /// The position among the CPUs of its core that the pool may use: 0 for the first one, 1 for
    /// the next one (an SMT sibling), and so on.
    pub thread: usize,
    /// The last-level cache, usually L3: the lowest number of the CPUs that share it.
    pub cache: usize,
    /// The number of the NUMA node. If the system has no nodes: the number of the socket.
    pub node: usize,
    /// The class of the core: 0 for the strongest cores; 1, 2 and so on for weaker ones. The
    /// strongest core of each class has less than nine tenths of the capacity of the strongest core
    /// in the next stronger class.
    pub class: usize,
}

/// The distance from a thief to a victim. The two workers share a last-level cache, or are in
/// different caches of one NUMA node, or are farther apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    Cache,
    Node,
    Beyond,
}

/// The distance between two workers on these CPUs. A worker that is not pinned has no CPU, and is
/// `Beyond` every other worker, both as a thief and as a victim. So a pool that is not pinned
/// prefers no victim.
pub(crate) fn distance(one: Option<&Cpu>, other: Option<&Cpu>) -> Distance {
    match one.zip(other) {
        Some((one, other)) if one.cache == other.cache => Distance::Cache,
        Some((one, other)) if one.node == other.node => Distance::Node,
        _ => Distance::Beyond,
    }
}

/// The CPUs that the pool may use, in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) cpus: Vec<Cpu>,
}

/// A value for each CPU, in the order of the CPUs, or the reason why the relation is not used:
/// [`MISSING`], or what is not plausible.
type Relation = Result<Vec<usize>, String>;

/// The system does not report the relation.
const MISSING: String = String::new();

impl Machine {
    /// Reads the topology of the `allowed` CPUs, which are in ascending order. Reads some four
    /// files per CPU; each file takes 5 to 10 µs. Adds warnings to `doubts`.
    pub(crate) fn read(allowed: &[usize], file: File<'_>, doubts: &mut Vec<String>) -> Self {
        let mut known = |what: &str, relation: Relation, otherwise: &dyn Fn(usize) -> usize| {
            let doubt = match relation {
                Ok(known) => return known,
                Err(why) if why != MISSING => Some(format!("{what} not used: {why}")),
                Err(_) if what == "cores" => {
                    Some("sysfs tells nothing of cores: CPUs are used in the order of their numbers".into())
                }
                Err(_) => None, // many systems have no NUMA nodes and do not report caches: no warning
            };
            doubts.extend(doubt.filter(|_| allowed.len() > 1)); // one CPU has no order
            (0..allowed.len()).map(otherwise).collect()
        };
        // The socket of a CPU. If the firmware does not report the socket, the file contains -1 or
        // is missing, and the socket is 0.
        let socket = |i: usize| {
            let text = of_cpu(file, allowed[i], "topology/physical_package_id");
            text.and_then(|text| number(&text)).unwrap_or(0)
        };
        let nodes = known("nodes", nodes(allowed, file), &socket);
        let caches = known("caches", caches(allowed, file), &|i| allowed[first_with(&nodes, i)]);
        let cores = known("cores", cores(allowed, &nodes, file), &|i| allowed[i]);
        let classes = known("classes of cores", classes(allowed, file), &|_| 0);
        let cpu = |i: usize| Cpu {
            number: allowed[i],
            core: cores[i],
            thread: cores[..i].iter().filter(|core| **core == cores[i]).count(),
            cache: caches[i],
            node: nodes[i],
            class: classes[i],
        };
        Self { cpus: (0..allowed.len()).map(cpu).collect() }
    }

    /// The CPU with this number, if it is allowed.
    pub(crate) fn cpu(&self, number: usize) -> Option<Cpu> {
        self.index(number).map(|index| self.cpus[index])
    }

    /// The index of the CPU with this number, if it is allowed.
    pub(crate) fn index(&self, number: usize) -> Option<usize> {
        self.cpus.binary_search_by_key(&number, |cpu| cpu.number).ok()
    }
}

/// The number of CPUs that are online, whether or not this process may use them.
pub(crate) fn online(file: File<'_>) -> Option<usize> {
    CpuList::parse(&text(file, "/sys/devices/system/cpu/online")?).map(|list| list.count())
}

/// The index of the first CPU in the group of the CPU at index `i`.
fn first_with(groups: &[usize], i: usize) -> usize {
    groups[..i].iter().position(|group| *group == groups[i]).unwrap_or(i)
}

/// Reads a file of a CPU.
#[inline(never)]
fn of_cpu(file: File<'_>, cpu: usize, name: &str) -> Option<String> {
    text(file, &format!("{CPU}{cpu}/{name}"))
}

/// For each CPU, the lowest CPU of its group. `list` returns the group of a CPU as text. A CPU
/// without such a text is a group of its own. A group has at most `most` CPUs.
fn groups(allowed: &[usize], most: usize, list: &dyn Fn(usize) -> Option<String>) -> Relation {
    let (mut groups, mut is_reported) = (Vec::new(), false);
    for &cpu in allowed {
        let Some(list) = list(cpu) else {
            groups.push((cpu, 1));
            continue;
        };
        is_reported = true;
        let group = CpuList::parse(&list).filter(|group| group.contains(cpu) && group.count() <= most);
        let Some(group) = group else {
            return Err(format!("the system reports that CPU {cpu} shares with CPUs {list:?}"));
        };
        let lowest = group.0.iter().fold(cpu, |lowest, part| lowest.min(*part.start()));
        groups.push((lowest, group.count()));
    }
    if !is_reported {
        return Err(MISSING);
    }
    for (group, &cpu) in groups.iter().zip(allowed) {
        let (lowest, _) = group;
        let alike = match allowed.binary_search(lowest) {
            Ok(at) => Some(&groups[at]),
            Err(_) => groups.iter().find(|(other, _)| other == lowest),
        };
        if alike != Some(group) {
            return Err(format!("CPU {cpu} shares with CPU {lowest}, but not the reverse"));
        }
    }
    Ok(groups.into_iter().map(|(lowest, _)| lowest).collect())
}

/// The core of each CPU. `core_cpus_list` was called `thread_siblings_list` before Linux 5.3.
///
/// A core may have more than one cache: a large core of POWER10 consists of two small ones.
fn cores(allowed: &[usize], nodes: &[usize], file: File<'_>) -> Relation {
    let cores = groups(allowed, MOST_THREADS_OF_A_CORE, &|cpu| {
        of_cpu(file, cpu, "topology/core_cpus_list")
            .or_else(|| of_cpu(file, cpu, "topology/thread_siblings_list"))
    })?;
    match (0..cores.len()).find(|&i| nodes[first_with(&cores, i)] != nodes[i]) {
        Some(i) => Err(format!("the system reports the core of CPU {} in two nodes", cores[i])),
        None => Ok(cores),
    }
}

/// The last-level cache of each CPU: L3 if there is one, otherwise the highest level below.
fn caches(allowed: &[usize], file: File<'_>) -> Relation {
    groups(allowed, usize::MAX, &|cpu| {
        let level = |index| number(&of_cpu(file, cpu, &format!("cache/index{index}/level"))?);
        let last = if level(3) == Some(3) {
            3
        } else {
            let levels = (0..16).map_while(|index| Some((level(index)?, index)));
            levels.filter(|(level, _)| *level <= 3).max()?.1
        };
        of_cpu(file, cpu, &format!("cache/index{last}/shared_cpu_list"))
    })
}

/// The NUMA node of each CPU.
fn nodes(allowed: &[usize], file: File<'_>) -> Relation {
    let online = text(file, &format!("{NODE}online")).ok_or(MISSING)?;
    let Some(numbers) = CpuList::parse(&online).filter(|list| list.count() <= MOST_NODES) else {
        return Err(format!("the system reports {online:?} as the online nodes"));
    };
    let mut lists: Vec<(usize, CpuList)> = Vec::new();
    for node in numbers.0.into_iter().flatten() {
        let cpus = listed(file, &format!("{NODE}node{node}/cpulist"))?; // none if it is a node of memory
        // Emulated nodes (`numa=fake`) are parts of the memory, and each emulated node has all
        // CPUs of the real node. The first emulated node stands for the real node.
        if lists.iter().all(|(_, known)| known.0 != cpus.0) {
            lists.push((node, cpus));
        }
    }
    let node = |&cpu: &usize| {
        let mut of_cpu = lists.iter().filter(|(_, cpus)| cpus.contains(cpu)).map(|(node, _)| *node);
        match (of_cpu.next(), of_cpu.next()) {
            (Some(node), None) => Ok(node),
            (Some(before), Some(node)) => {
                Err(format!("the system reports CPU {cpu} in node {before} and in node {node}"))
            }
            (None, _) => Err(format!("CPU {cpu} is in none")),
        }
    };
    allowed.iter().map(node).collect()
}

/// The class of each CPU: from `cpu_capacity` if Linux knows that cores differ (Arm, RISC-V,
/// hybrid x86 without SMT), otherwise from the lists of the weaker kinds of hybrid x86. Clock
/// rates are not used, because a core with a higher clock rate may be of the same kind as the
/// other cores.
fn classes(allowed: &[usize], file: File<'_>) -> Relation {
    let mut known = Vec::new();
    for &cpu in allowed {
        let Some(text) = of_cpu(file, cpu, "cpu_capacity") else { break };
        let Some(capacity @ 1..=MOST_CAPACITY) = number(&text) else {
            return Err(format!("the system reports {text:?} as the capacity of CPU {cpu}"));
        };
        known.push(capacity);
    }
    if known.len() < allowed.len() || known.iter().all(|capacity| *capacity == known[0]) {
        return listed_classes(allowed, file);
    }
    let (mut tops, mut bound) = (Vec::new(), usize::MAX); // the capacity of the strongest core of each class
    while let Some(top) = known.iter().copied().filter(|known| known * 10 < bound).max() {
        tops.push(top);
        bound = top * 9;
    }
    let class = |capacity| tops.iter().filter(|top| **top >= capacity).count() - 1;
    Ok(known.into_iter().map(class).collect())
}

/// The class of each CPU, from the lists of the performance counters. Each kind of core has a
/// list of the CPUs of this kind. The list is empty while all these CPUs are offline.
fn listed_classes(allowed: &[usize], file: File<'_>) -> Relation {
    let mut classes = vec![0; allowed.len()];
    for (kind, weakness) in [("cpu_atom", 1), ("cpu_lowpower", 2)] {
        let list = listed(file, &format!("/sys/devices/{kind}/cpus"))?;
        for (&cpu, class) in allowed.iter().zip(&mut classes) {
            if list.contains(cpu) {
                *class = weakness;
            }
        }
    }
    Ok(classes)
}

/// The CPUs in a file; none if the file is empty or missing.
fn listed(file: File<'_>, path: &str) -> Result<CpuList, String> {
    match text(file, path).unwrap_or_default().as_str() {
        "" => Ok(CpuList(Vec::new())),
        text => CpuList::parse(text).ok_or_else(|| format!("the system reports CPUs {text:?} in {path}")),
    }
}

/// A list of numbers such as `0-3,8,10-11`, as the ranges of its parts.
struct CpuList(Vec<RangeInclusive<usize>>);

impl CpuList {
    #[inline(never)]
    fn parse(text: &str) -> Option<Self> {
        let mut list = Vec::new();
        for part in parts(text, ',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let part = number(first)?..=number(last)?;
            if part.is_empty() || *part.end() >= MOST_CPUS {
                return None;
            }
            list.push(part);
        }
        Some(Self(list))
    }

    #[inline(never)]
    fn contains(&self, number: usize) -> bool {
        self.0.iter().any(|part| part.contains(&number))
    }

    #[inline(never)]
    fn count(&self) -> usize {
        self.0.iter().fold(0, |sum, part| sum.saturating_add(part.end() - part.start() + 1))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Distance::*, *};

    #[test]
    fn cpus_have_a_distance() {
        let cpu = |cache, node| Cpu { number: 0, core: 0, thread: 0, cache, node, class: 0 };
        let from = |one: &Cpu, other: &Cpu| distance(Some(one), Some(other));
        let here = cpu(2, 1);
        assert_eq!(from(&here, &here), Cache);
        assert_eq!(from(&here, &cpu(2, 0)), Cache, "a cache over two nodes is a cache");
        assert_eq!(from(&here, &cpu(3, 1)), Node);
        assert_eq!(from(&here, &cpu(0, 0)), Beyond);
        assert_eq!(
            [distance(Some(&here), None), distance(None, Some(&here)), distance(None, None)],
            [Beyond; 3]
        );
    }
}
