//! The topology of the CPUs, as Linux reports it: which CPUs share a core, a cache or a NUMA node,
//! and which CPUs are weaker than others.
//!
//! This module reads the topology from sysfs: see `Documentation/admin-guide/cputopology.rst` and
//! `Documentation/ABI/{testing,stable}/sysfs-devices-*` of the kernel. If a relation is missing for
//! some CPU or contradicts itself, this module uses that relation for no CPU: an order of only some
//! CPUs is worse than no order.

use std::{fmt, mem};

use super::files::{File, number, parts, text};

const CPU: &str = "/sys/devices/system/cpu/cpu";
const NODE: &str = "/sys/devices/system/node/";

/// The largest number of hardware threads of a core so far (POWER8 to 10). A larger number is taken
/// for an error.
const MOST_THREADS_OF_A_CORE: usize = 8;

/// The largest number of NUMA nodes of a Linux kernel. A larger number is taken for an error.
const MOST_NODES: usize = 1 << 10;
/// No number in the files is as large: the number of a CPU, of a node or of a level of caches, and
/// the capacity of a CPU, which is at most 1024 (`SCHED_CAPACITY_SCALE`).
const TOO_LARGE: usize = 1 << 20;

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

/// The value of each CPU by the files, or the reason why these values are not used.
type Told = Result<Vec<usize>, Doubt>;

/// Why a relation is not used.
#[derive(Clone, Copy)]
enum Doubt {
    /// The system does not report it.
    Missing,
    /// The last file has an implausible text.
    Text,
    /// Files contradict each other: the number of a CPU, and what they report of it.
    Cpu(usize, &'static str),
}

/// A relation between CPUs.
struct Relation {
    name: &'static str,
    read: fn(&mut Reader<'_>, &[Cpu]) -> Told,
    /// The value of the CPU of this index, if the relation is not used.
    otherwise: fn(&mut Reader<'_>, &[Cpu], usize) -> usize,
    field: fn(&mut Cpu) -> &mut usize,
}

/// Some relations need those before them.
const RELATIONS: [Relation; 4] = [
    // The socket. If the firmware does not report it, the file contains -1 or is missing.
    Relation {
        name: "nodes",
        read: nodes,
        otherwise: |reader, cpus, i| {
            reader.number(cpus[i].number, format_args!("topology/physical_package_id")).unwrap_or(0)
        },
        field: |cpu| &mut cpu.node,
    },
    Relation {
        name: "caches",
        read: caches,
        otherwise: |_, cpus, i| {
            cpus[cpus.iter().position(|cpu| cpu.node == cpus[i].node).unwrap_or(i)].number
        },
        field: |cpu| &mut cpu.cache,
    },
    Relation {
        name: "cores",
        read: cores,
        otherwise: |_, cpus, i| cpus[i].number,
        field: |cpu| &mut cpu.core,
    },
    Relation { name: "classes of cores", read: classes, otherwise: |_, _, _| 0, field: |cpu| &mut cpu.class },
];

impl Machine {
    /// Reads the topology of the `allowed` CPUs, which are in ascending order. Reads some four
    /// files per CPU; each file takes 5 to 10 µs. Adds warnings to `doubts`.
    pub(crate) fn read(allowed: &[usize], file: File<'_>, doubts: &mut Vec<String>) -> Self {
        let cpu = |&number: &usize| Cpu { number, core: 0, thread: 0, cache: 0, node: 0, class: 0 };
        let mut cpus: Vec<Cpu> = allowed.iter().map(cpu).collect();
        let mut reader = Reader::new(file);
        for Relation { name, read, otherwise, field } in RELATIONS {
            let told = read(&mut reader, &cpus);
            let has_order = allowed.len() > 1;
            if let (Err(doubt), true) = (&told, has_order) {
                doubts.extend(reader.warning(name, *doubt));
            }
            for i in 0..cpus.len() {
                let value = told.as_ref().map_or_else(|_| otherwise(&mut reader, &cpus, i), |told| told[i]);
                *field(&mut cpus[i]) = value;
            }
        }
        for i in 0..cpus.len() {
            cpus[i].thread = cpus[..i].iter().filter(|cpu| cpu.core == cpus[i].core).count();
        }
        Self { cpus }
    }

    /// The CPU with this number, if it is allowed.
    pub(crate) fn cpu(&self, number: usize) -> Option<Cpu> {
        self.index(number).map(|index| self.cpus[index])
    }

    /// The index of the CPU with this number, if it is allowed.
    #[inline(never)]
    pub(crate) fn index(&self, number: usize) -> Option<usize> {
        self.cpus.binary_search_by_key(&number, |cpu| cpu.number).ok()
    }
}

/// The number of CPUs that are online, whether or not this process may use them.
pub(crate) fn online(file: File<'_>) -> Option<usize> {
    let mut reader = Reader::new(file);
    reader.read(format_args!("/sys/devices/system/cpu/online")).is_ok().then(|| reader.list.count())
}

/// For each CPU, the lowest CPU of its group. `read` reads the list of a CPU's group. A CPU without
/// such a list is a group of its own. A group has at most `most` CPUs.
fn groups(
    reader: &mut Reader<'_>,
    cpus: &[Cpu],
    most: usize,
    read: fn(&mut Reader<'_>, usize) -> Result<(), Doubt>,
) -> Told {
    let (mut lowest, mut sizes) = (Vec::with_capacity(cpus.len()), Vec::with_capacity(cpus.len()));
    let mut is_missing = true;
    for &Cpu { number, .. } in cpus {
        match read(reader, number) {
            Err(Doubt::Missing) => reader.list = CpuList(vec![(number, number)]),
            told => {
                told?;
                is_missing = false;
            }
        }
        let Reader { list, .. } = reader;
        if !list.contains(number) || list.count() > most {
            return Err(Doubt::Text);
        }
        lowest.push(list.lowest());
        sizes.push(list.count());
    }
    if is_missing {
        return Err(Doubt::Missing);
    }
    for (i, cpu) in cpus.iter().enumerate() {
        let same = lowest.iter().position(|first| *first == lowest[i]).unwrap_or(i);
        let owner = cpus.binary_search_by_key(&lowest[i], |cpu| cpu.number).unwrap_or(same);
        if (lowest[owner], sizes[owner]) != (lowest[i], sizes[i]) {
            return Err(Doubt::Cpu(cpu.number, "to share with another one, but not the reverse"));
        }
    }
    Ok(lowest)
}

/// The core of each CPU. `core_cpus_list` was called `thread_siblings_list` before Linux 5.3.
///
/// A core may have more than one cache: a large core of POWER10 consists of two small ones.
fn cores(reader: &mut Reader<'_>, cpus: &[Cpu]) -> Told {
    let cores = groups(reader, cpus, MOST_THREADS_OF_A_CORE, |reader, cpu| {
        match reader.read_of(cpu, format_args!("topology/core_cpus_list")) {
            Err(Doubt::Missing) => reader.read_of(cpu, format_args!("topology/thread_siblings_list")),
            told => told,
        }
    })?;
    for (i, cpu) in cpus.iter().enumerate() {
        let same = cores.iter().position(|core| *core == cores[i]).unwrap_or(i);
        if cpus[same].node != cpu.node {
            return Err(Doubt::Cpu(cpu.number, "to share a core between two nodes"));
        }
    }
    Ok(cores)
}

/// The last-level cache of each CPU: L3 if there is one, otherwise the highest level below.
fn caches(reader: &mut Reader<'_>, cpus: &[Cpu]) -> Told {
    groups(reader, cpus, usize::MAX, |reader, cpu| {
        let mut level = |index| reader.number(cpu, format_args!("cache/index{index}/level"));
        let mut last = (3, 3); // level, index
        if level(3) != Some(3) {
            last = (0, 0);
            for index in 0..16 {
                let Some(level) = level(index) else { break };
                if level <= 3 {
                    last = last.max((level, index));
                }
            }
        }
        reader.read_of(cpu, format_args!("cache/index{}/shared_cpu_list", last.1))
    })
}

/// The NUMA node of each CPU.
fn nodes(reader: &mut Reader<'_>, cpus: &[Cpu]) -> Told {
    reader.read(format_args!("{NODE}online"))?;
    let online = mem::take(&mut reader.list);
    if online.count() > MOST_NODES {
        return Err(Doubt::Text);
    }
    let mut lists: Vec<(usize, CpuList)> = Vec::new();
    for node in online.0.iter().flat_map(|&(first, last)| first..=last) {
        match reader.read(format_args!("{NODE}node{node}/cpulist")) {
            Err(Doubt::Missing) => continue,
            told => told?,
        }
        // Emulated nodes (`numa=fake`) are parts of the memory, and each emulated node has all
        // CPUs of the real node. The first emulated node stands for the real node.
        if lists.iter().all(|(_, known)| known.0 != reader.list.0) {
            lists.push((node, mem::take(&mut reader.list)));
        }
    }
    let mut nodes = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        let mut of_cpu = lists.iter().filter(|(_, list)| list.contains(cpu.number));
        match (of_cpu.next(), of_cpu.next()) {
            (Some((node, _)), None) => nodes.push(*node),
            (None, _) => return Err(Doubt::Cpu(cpu.number, "in no node")),
            _ => return Err(Doubt::Cpu(cpu.number, "in several nodes")),
        }
    }
    Ok(nodes)
}

/// The class of each CPU: from `cpu_capacity` if Linux knows that cores differ (Arm, RISC-V,
/// hybrid x86 without SMT), otherwise from the lists of the weaker kinds of hybrid x86. Clock
/// rates are not used, because a core with a higher clock rate may be of the same kind as the
/// other cores.
fn classes(reader: &mut Reader<'_>, cpus: &[Cpu]) -> Told {
    let mut known = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        match reader.read_of(cpu.number, format_args!("cpu_capacity")) {
            Err(Doubt::Missing) => break,
            told => told?,
        }
        known.push(reader.list.number().filter(|capacity| *capacity > 0).ok_or(Doubt::Text)?);
    }
    if known.len() < cpus.len() || known.iter().all(|capacity| *capacity == known[0]) {
        return listed_classes(reader, cpus);
    }
    let (mut tops, mut bound) = (Vec::new(), usize::MAX); // the capacity of the strongest core of each class
    while let Some(top) = known.iter().copied().filter(|known| known * 10 < bound).max() {
        tops.push(top);
        bound = top * 9;
    }
    for known in &mut known {
        *known = tops.iter().filter(|top| **top >= *known).count() - 1;
    }
    Ok(known)
}

/// The class of each CPU, from the lists of the performance counters. Each kind of core has a
/// list of the CPUs of this kind. The list is empty while all these CPUs are offline.
fn listed_classes(reader: &mut Reader<'_>, cpus: &[Cpu]) -> Told {
    let mut classes = vec![0; cpus.len()];
    for (kind, weakness) in [("cpu_atom", 1), ("cpu_lowpower", 2)] {
        match reader.read(format_args!("/sys/devices/{kind}/cpus")) {
            Err(Doubt::Missing) => continue,
            told => told?,
        }
        for (cpu, class) in cpus.iter().zip(&mut classes) {
            if reader.list.contains(cpu.number) {
                *class = weakness;
            }
        }
    }
    Ok(classes)
}

/// Reads files that contain a list.
struct Reader<'f> {
    file: File<'f>,
    /// The path of the last file that was read, its text, and its list.
    path: String,
    text: String,
    list: CpuList,
}

impl<'f> Reader<'f> {
    fn new(file: File<'f>) -> Self {
        Self { file, path: String::new(), text: String::new(), list: CpuList::default() }
    }

    /// Reads a file. An empty file contains no number.
    #[inline(never)]
    fn read(&mut self, path: fmt::Arguments<'_>) -> Result<(), Doubt> {
        self.path = path.to_string();
        self.text = text(self.file, &self.path).ok_or(Doubt::Missing)?;
        self.list.0.clear();
        if self.text.is_empty() {
            return Ok(());
        }
        for part in parts(&self.text, ',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first).unwrap_or(TOO_LARGE), number(last).unwrap_or(TOO_LARGE));
            if first > last || last >= TOO_LARGE {
                return Err(Doubt::Text);
            }
            self.list.0.push((first, last));
        }
        Ok(())
    }

    /// Reads a file of a CPU.
    #[inline(never)]
    fn read_of(&mut self, cpu: usize, name: fmt::Arguments<'_>) -> Result<(), Doubt> {
        self.read(format_args!("{CPU}{cpu}/{name}"))
    }

    /// The number in a file of a CPU; `None` if there is no such file, or if it contains something
    /// else.
    #[inline(never)]
    fn number(&mut self, cpu: usize, name: fmt::Arguments<'_>) -> Option<usize> {
        self.read_of(cpu, name).ok()?;
        self.list.number()
    }

    /// The warning that a relation is not used. Many systems have no NUMA nodes and do not report
    /// caches: there is no such warning.
    fn warning(&self, relation: &str, doubt: Doubt) -> Option<String> {
        let Self { text, path, .. } = self;
        match doubt {
            Doubt::Missing if relation == "cores" => {
                Some("sysfs tells nothing of cores: CPUs are used in the order of their numbers".into())
            }
            Doubt::Missing => None,
            Doubt::Text => Some(format!("{relation} not used: the system reports {text:?} in {path}")),
            Doubt::Cpu(cpu, told) => {
                Some(format!("{relation} not used: the system reports CPU {cpu} {told}"))
            }
        }
    }
}

/// A list of numbers such as `0-3,8,10-11`, or a single number: the first and the last number of
/// each part.
#[derive(Default)]
struct CpuList(Vec<(usize, usize)>);

impl CpuList {
    /// The number, if the list is one number.
    fn number(&self) -> Option<usize> {
        match self.0[..] {
            [(first, last)] if first == last => Some(first),
            _ => None,
        }
    }

    #[inline(never)]
    fn contains(&self, number: usize) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&number))
    }

    /// The lowest number.
    fn lowest(&self) -> usize {
        self.0.iter().fold(usize::MAX, |lowest, (first, _)| lowest.min(*first))
    }

    #[inline(never)]
    fn count(&self) -> usize {
        self.0.iter().fold(0, |sum, (first, last)| sum.saturating_add(last - first + 1))
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
