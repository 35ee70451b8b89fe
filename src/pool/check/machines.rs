//! Tests of placement on described machines. The descriptions are in `machines/`. The tests below
//! contain the expected CPUs of the workers.
//!
//! The files were written for these tests, in the form in which Linux describes such machines. Each
//! line has a path and a text. A path that does not begin with `/` is below `/sys/devices/system`.
//! `[0-6:2]` in a path stands for each number of the list. In the text, `{}` stands for the number
//! in the path, `{+1}` for the next number, and `{-1}` for the previous number. Several lines with
//! the same path are several lines of one file.

use std::{cell::Cell, collections::HashMap, io};

use proptest::prelude::*;

use crate::pool::{
    error::BuildError,
    place::{
        affinity,
        cpu_assignment::CpuAssignment,
        placement::{CountSource, PinState, Pinning, Placement, Reading, SeatPlan, System, Wish},
        quota::quota,
    },
};
use Placement::{Compact, Cpus, LogicalCpus, PhysicalCores, Spread};

const LAPTOP: &str = include_str!("machines/laptop.txt");
const SOCKETS: &str = include_str!("machines/sockets.txt");
const CHIPLETS: &str = include_str!("machines/chiplets.txt");
const HYBRID: &str = include_str!("machines/hybrid.txt");
const PHONE: &str = include_str!("machines/phone.txt");
const VM: &str = include_str!("machines/vm.txt");
const CONTAINER: &str = include_str!("machines/container.txt");
const LARGE_SERVER: &str = include_str!("machines/large.txt");

struct KnownMachine {
    allowed: Vec<usize>,
    files: HashMap<String, String>,
}

/// The numbers of a list such as `0,2,8-11,20-26:2`.
fn list(text: &str) -> Vec<usize> {
    let numbers = |part: &str| {
        let (part, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        (first.parse().unwrap()..=last.parse().unwrap()).step_by(step.parse().unwrap())
    };
    text.split(',').flat_map(numbers).collect()
}

impl KnownMachine {
    fn new(text: &str) -> Self {
        let mut machine = Self { allowed: Vec::new(), files: HashMap::new() };
        for (path, text) in
            text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(' ').unwrap())
        {
            if path == "allowed" {
                machine.allowed = list(text);
            } else if let Some((before, (numbers, after))) =
                path.split_once('[').map(|(before, rest)| (before, rest.split_once(']').unwrap()))
            {
                for number in list(numbers) {
                    machine.add(&format!("{before}{number}{after}"), &filled(text, number));
                }
            } else {
                machine.add(path, text);
            }
        }
        machine
    }

    fn add(&mut self, path: &str, line: &str) {
        let root = if path.starts_with('/') { "" } else { "/sys/devices/system/" };
        let text = self.files.entry(format!("{root}{path}")).or_default();
        text.push_str(line);
        text.push('\n');
    }

    /// Replaces the text of the files whose paths end with `ending`.
    fn lie(mut self, ending: &str, text: &str) -> Self {
        let mut lied = 0;
        for (_, told) in self.files.iter_mut().filter(|(path, _)| path.ends_with(ending)) {
            text.clone_into(told);
            lied += 1;
        }
        assert!(lied > 0, "no file {ending}");
        self
    }

    fn without(mut self, part: &str) -> Self {
        self.files.retain(|path, _| !path.contains(part));
        self
    }

    fn plan_of(&self, wish: Wish, variable: Option<&str>) -> Result<SeatPlan, BuildError> {
        let file = |path: &str| self.files.get(path).cloned();
        SeatPlan::new(
            wish,
            System {
                allowed: Ok(self.allowed.clone()),
                file: &file,
                reading: &Reading::default(),
                num_threads: variable.map(Into::into),
                pinning: None,
            },
        )
    }

    fn plan(&self, placement: Placement) -> SeatPlan {
        self.plan_of(Wish { placement, ..Wish::default() }, None).unwrap()
    }

    /// The CPUs of the default number of workers.
    fn order(&self, placement: Placement) -> Vec<usize> {
        let plan = self.plan(placement);
        assert_eq!(plan.doubts, Vec::<String>::new());
        order(&plan)
    }
}

/// The plan for two sockets.
pub(super) fn two_sockets(wish: Wish) -> SeatPlan {
    KnownMachine::new(SOCKETS).plan_of(wish, None).unwrap()
}

fn order(plan: &SeatPlan) -> Vec<usize> {
    (0..plan.workers).map(|worker| plan.cpu(worker).unwrap().number).collect()
}

/// Fills in `{}`, `{+3}` and `{-3}`.
fn filled(text: &str, number: usize) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap().to_owned();
    for part in parts {
        let (offset, rest) = part.split_once('}').unwrap();
        let offset: isize = if offset.is_empty() { 0 } else { offset.parse().unwrap() };
        filled += &number.checked_add_signed(offset).unwrap().to_string();
        filled += rest;
    }
    filled
}

#[test]
fn a_laptop() {
    let laptop = KnownMachine::new(LAPTOP);
    assert_eq!(laptop.order(LogicalCpus), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(laptop.order(PhysicalCores), [0, 1, 2, 3]);
    assert_eq!(laptop.order(Compact), [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(laptop.order(Spread), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(laptop.order(Cpus(vec![6, 1, 6])), [6, 1, 6]);
    assert_eq!(laptop.plan(Cpus(vec![6, 1, 6])).at_a_time, 2);
    assert_eq!(laptop.plan_of(Wish { workers: Some(20), ..Wish::default() }, None).unwrap().at_a_time, 8);
}

#[test]
fn a_server_of_two_sockets() {
    let server = KnownMachine::new(SOCKETS);
    assert_eq!(server.order(LogicalCpus), list("0-34:2,1-35:2,36-70:2,37-71:2"));
    assert_eq!(server.order(PhysicalCores), list("0-34:2,1-35:2"));
    assert_eq!(
        server.order(Compact),
        list(
            "0,36,2,38,4,40,6,42,8,44,10,46,12,48,14,50,16,52,18,54,20,56,22,58,24,60,26,62,28,64,30,66,32,68,34,70,\
             1,37,3,39,5,41,7,43,9,45,11,47,13,49,15,51,17,53,19,55,21,57,23,59,25,61,27,63,29,65,31,67,33,69,35,71"
        )
    );
    assert_eq!(server.order(Spread), list("0-71"), "from one socket to the other");
    let plan = server.plan(LogicalCpus);
    let nodes: Vec<usize> = (0..72).map(|worker| plan.cpu(worker).unwrap().node).collect();
    assert_eq!(nodes, [[0; 18], [1; 18], [0; 18], [1; 18]].concat());
}

#[test]
fn chiplets() {
    let server = KnownMachine::new(CHIPLETS);
    assert_eq!(server.order(LogicalCpus), list("0-127"));
    assert_eq!(server.order(PhysicalCores), list("0-63"));
    assert_eq!(server.order(Compact)[..20], list("0,64,1,65,2,66,3,67,4,68,5,69,6,70,7,71,8,72,9,73"));
    assert_eq!(
        server.order(Spread),
        list(
            "0,32,8,40,16,48,24,56,1,33,9,41,17,49,25,57,2,34,10,42,18,50,26,58,3,35,11,43,19,51,27,59,\
             4,36,12,44,20,52,28,60,5,37,13,45,21,53,29,61,6,38,14,46,22,54,30,62,7,39,15,47,23,55,31,63,\
             64,96,72,104,80,112,88,120,65,97,73,105,81,113,89,121,66,98,74,106,82,114,90,122,67,99,75,107,83,115,91,123,\
             68,100,76,108,84,116,92,124,69,101,77,109,85,117,93,125,70,102,78,110,86,118,94,126,71,103,79,111,87,119,95,127"
        )
    );
}

#[test]
fn strong_cores_and_weak_ones() {
    let desktop = KnownMachine::new(HYBRID);
    assert_eq!(
        desktop.order(LogicalCpus),
        list("0-14:2,16-31,1-15:2"),
        "a weak core is more than a strong one's sibling"
    );
    assert_eq!(desktop.order(PhysicalCores), list("0-14:2,16-31"));
    assert_eq!(desktop.order(Compact), list("0-31"));
    assert_eq!(desktop.order(Spread), list("0-14:2,16-31,1-15:2"));

    // Linux reports equal capacities for different cores if there are SMT siblings. This test also
    // has a third kind of core, and a kind whose cores are offline.
    let mut equal = KnownMachine::new(HYBRID).lie("cpu_atom/cpus", "0-15");
    for cpu in 0..32 {
        equal.add(&format!("cpu/cpu{cpu}/cpu_capacity"), "1024");
    }
    assert_eq!(equal.order(PhysicalCores), list("16-31,0-14:2"));
    let mut three = KnownMachine::new(HYBRID).lie("cpu_atom/cpus", "16-23\n");
    three.add("/sys/devices/cpu_lowpower/cpus", "0-1");
    assert_eq!(three.order(PhysicalCores), list("2-14:2,24-31,16-23,0"));
    assert_eq!(KnownMachine::new(HYBRID).lie("cpu_atom/cpus", "\n").order(Compact), list("0-31"));

    for (capacity, class) in [("900", 0), ("899", 1)] {
        let two = KnownMachine::new(VM).lie("cpu0/cpu_capacity", "1000").lie("cpu1/cpu_capacity", capacity);
        assert_eq!(two.plan(LogicalCpus).machine.cpus[1].class, class, "{capacity} of 1000");
    }

    let phone = KnownMachine::new(PHONE);
    assert_eq!(phone.order(LogicalCpus), [7, 4, 5, 6, 0, 1, 2, 3]);
    let plan = phone.plan(LogicalCpus);
    let class = |cpu| plan.machine.cpu(cpu).unwrap().class;
    assert_eq!([0, 4, 5, 6, 7].map(class), [2, 1, 1, 1, 0]);
    let cache = |cpu| plan.machine.cpu(cpu).unwrap().cache;
    assert_eq!([3, 6, 7].map(cache), [0, 4, 7], "the last there is");
}

#[test]
fn a_virtual_machine() {
    let vm = KnownMachine::new(VM);
    for placement in [LogicalCpus, PhysicalCores, Compact, Spread] {
        assert_eq!(vm.order(placement), [0, 1]);
    }
}

#[test]
#[cfg_attr(windows, ignore = "paths of Linux, which Windows joins by another sign: it has no control groups")]
fn a_container() {
    let container = KnownMachine::new(CONTAINER);
    assert_eq!(container.order(LogicalCpus), [3, 7, 11], "11 is a sibling of 3");
    assert_eq!(container.order(PhysicalCores), [3, 7]);
    assert_eq!(container.order(Compact), [3, 11, 7]);
    let plan = container.plan(LogicalCpus);
    assert_eq!(
        (plan.workers, plan.counted_by, plan.at_a_time),
        (3, CountSource::Cpus, 3),
        "2.5 CPUs keep 3 busy"
    );

    let group = "/sys/fs/cgroup/pod/cpu.max";
    let narrow = KnownMachine::new(CONTAINER).lie(group, "120000 100000\n");
    let required = Wish { pinning: Some(Pinning::Required), ..Wish::default() };
    let plan = narrow.plan_of(required.clone(), None).unwrap();
    assert_eq!((order(&plan), plan.counted_by), (vec![3, 7], CountSource::Quota(1.2)));
    let plan = narrow.plan_of(Wish { workers: Some(5), ..required.clone() }, Some("4")).unwrap();
    assert_eq!(
        (order(&plan), plan.counted_by),
        (vec![3, 7, 11, 3, 7], CountSource::NumThreads),
        "round robin"
    );
    assert_eq!(plan.at_a_time, 2, "more would wait for the quota");
    let plan = narrow.plan_of(required, Some(" 4 ")).unwrap();
    assert_eq!((order(&plan), plan.counted_by), (vec![3, 7, 11, 3], CountSource::Variable));
    // Other programs use the rest of the CPU time, and their pools would be pinned to the same
    // CPUs.
    let plan = narrow.plan(LogicalCpus);
    assert_eq!(
        (plan.workers, plan.cpu(0), plan.unpinned_because, plan.doubts.len()),
        (2, None, Some(PinState::Quota), 0)
    );
    let tiny = KnownMachine::new(CONTAINER).lie(group, "1000 100000\n").plan(LogicalCpus);
    assert_eq!((tiny.workers, tiny.at_a_time), (1, 1));
}

#[test]
#[cfg_attr(windows, ignore = "paths of Linux, which Windows joins by another sign: it has no control groups")]
fn helpers_poll_where_all_workers_can_run_all_the_time() {
    let may_poll = |quota: &str, workers| {
        let container = KnownMachine::new(CONTAINER).lie("/sys/fs/cgroup/pod/cpu.max", quota);
        container.plan_of(Wish { workers: Some(workers), ..Wish::default() }, None).unwrap().may_poll
    };
    let quotas = ["max 100000\n", "250000 100000\n", "200000 100000\n", "190000 100000\n", "100000 100000\n"];
    assert_eq!(quotas.map(|quota| may_poll(quota, 2)), [true, true, true, false, false]);
    assert_eq!(
        quotas.map(|quota| may_poll(quota, 3)),
        [true, false, true, false, false],
        "two run at a time"
    );
    let laptop = KnownMachine::new(LAPTOP);
    assert!(laptop.plan_of(Wish { workers: Some(20), ..Wish::default() }, None).unwrap().may_poll);
    assert!(
        !laptop
            .plan_of(Wish { workers: Some(2), placement: Cpus(vec![3]), ..Wish::default() }, None)
            .unwrap()
            .may_poll
    );
}

#[test]
fn two_thousand_cpus() {
    let large = KnownMachine::new(LARGE_SERVER);
    assert_eq!(large.order(LogicalCpus), list("0-1998:2,1-1999:2"));
    assert_eq!(large.order(PhysicalCores), list("0-1998:2"));
    assert_eq!(large.order(Compact), list("0-1999"));
    assert_eq!(large.order(Spread)[..18], list("0-1750:250,2-1752:250,4,254"));
}

#[test]
fn without_pinning_cores_still_count() {
    let laptop = KnownMachine::new(LAPTOP);
    let wish = |placement| Wish { pinning: Some(Pinning::Off), placement, ..Wish::default() };
    let plan = laptop.plan_of(wish(PhysicalCores), None).unwrap();
    assert_eq!((plan.workers, plan.cpu(0), plan.at_a_time), (4, None, 8), "they may run anywhere");
    let plan = laptop.plan_of(wish(Cpus(vec![1, 5, 99])), None).unwrap();
    assert_eq!(
        (plan.workers, plan.cpu(0), plan.at_a_time, plan.doubts.len()),
        (3, None, 8, 0),
        "a number, no more"
    );
    let plan = laptop.without("/").plan_of(wish(LogicalCpus), None).unwrap();
    assert_eq!((plan.workers, plan.doubts.len()), (8, 0), "nothing is doubted that nobody needs");
}

#[test]
fn a_list_that_is_not_all_allowed() {
    let container = KnownMachine::new(CONTAINER);
    let plan = container.plan(Cpus(vec![11, 0, 3, 12]));
    assert_eq!((order(&plan), plan.doubts.len()), (vec![11, 3], 1));
    assert!(plan.doubts[0].contains("0,12") && plan.doubts[0].contains("3,7,11"), "{:?}", plan.doubts);
    let plan = container.plan(Cpus(vec![1, 2]));
    assert_eq!((order(&plan), plan.doubts.len()), (vec![3, 7, 11], 1), "nothing is left of it");

    let wish = |list| Wish { pinning: Some(Pinning::Required), placement: Cpus(list), ..Wish::default() };
    let error = container.plan_of(wish(vec![11, 4]), None).unwrap_err();
    assert!(matches!(error, BuildError::Cpu { cpu: 4, .. }), "{error}");
    assert!(container.plan_of(wish(vec![11, 3]), None).is_ok());
    let error = container.plan_of(wish(Vec::new()), None).unwrap_err();
    assert!(error.to_string().contains("names no CPU"), "{error}");
}

#[test]
fn what_cannot_be_true_is_not_used() {
    let cores = "topology/core_cpus_list";
    let by_cache = [3, 11, 7]; // with the true cores the order would be 3, 7, 11
    for lie in ["", "x", "3-11", "0-15", "11-3", "0-99999999999", "-1", "3,11\n\n7", "9"] {
        let plan = KnownMachine::new(CONTAINER).lie(cores, lie).plan(LogicalCpus);
        assert_eq!((order(&plan), plan.doubts.len()), (by_cache.to_vec(), 1), "{lie:?}: {:?}", plan.doubts);
        assert!(plan.doubts[0].starts_with("cores not used: "), "{:?}", plan.doubts);
    }
    // The files call 3 a sibling of 11, but not 11 a sibling of 3.
    let plan = KnownMachine::new(CONTAINER).lie("cpu3/topology/core_cpus_list", "3").plan(LogicalCpus);
    assert_eq!((order(&plan), plan.doubts.len()), (by_cache.to_vec(), 1), "{:?}", plan.doubts);
    // The files call 7 a sibling of 3, and 3 a sibling of 2. CPU 2 is not allowed.
    let lie = |machine: KnownMachine| {
        machine.lie("cpu3/topology/core_cpus_list", "2-3").lie("cpu11/topology/core_cpus_list", "11")
    };
    let plan = lie(KnownMachine::new(CONTAINER)).lie("cpu7/topology/core_cpus_list", "3,7").plan(LogicalCpus);
    assert_eq!((order(&plan), plan.doubts.len()), (by_cache.to_vec(), 1), "{:?}", plan.doubts);
    let plan = KnownMachine::new(HYBRID).lie(cores, "0-31").plan(PhysicalCores);
    assert_eq!(
        (order(&plan), plan.doubts.len()),
        (list("0-31"), 1),
        "one core, and one worker? {:?}",
        plan.doubts
    );
    // The files call CPUs 0 and 1 siblings, and put them in two nodes.
    let siblings = |machine: KnownMachine, cpu: usize, lie: &str| {
        machine.lie(&format!("cpu{cpu}/topology/thread_siblings_list"), lie)
    };
    let twins = |machine| siblings(siblings(machine, 0, "0-1"), 1, "0-1");
    let plan = siblings(siblings(twins(KnownMachine::new(SOCKETS)), 36, "36"), 37, "37").plan(LogicalCpus);
    assert_eq!(plan.doubts.len(), 1, "{:?}", plan.doubts);
    assert!(plan.doubts[0].contains("two nodes"), "{:?}", plan.doubts);

    let plan = KnownMachine::new(SOCKETS).lie("node1/cpulist", "0-71").plan(LogicalCpus);
    assert_eq!(plan.doubts.len(), 1, "{:?}", plan.doubts);
    assert_eq!(order(&plan), list("0-34:2,1-35:2,36-70:2,37-71:2"), "there are caches to go by");
    for lie in ["", "0-99999", "0-5000", "node", "3"] {
        let plan = KnownMachine::new(SOCKETS).lie("node/online", lie).plan(LogicalCpus);
        assert_eq!(plan.doubts.len(), 1, "{lie:?}: {:?}", plan.doubts);
    }
    for lie in ["17-16", "16-1048576"] {
        let plan = KnownMachine::new(HYBRID).lie("cpu_atom/cpus", lie).plan(LogicalCpus);
        assert_eq!(plan.doubts.len(), 1, "{lie:?}: {:?}", plan.doubts);
    }
    let plan = KnownMachine::new(PHONE).lie("cpu5/cpu_capacity", "-1").plan(LogicalCpus);
    assert_eq!((order(&plan), plan.doubts.len()), (list("0-7"), 1), "{:?}", plan.doubts);
    let plan = KnownMachine::new(PHONE).lie("cpu5/cpu_capacity", "0").plan(LogicalCpus);
    assert_eq!((order(&plan), plan.doubts.len()), (list("0-7"), 1), "{:?}", plan.doubts);
}

/// Machines whose files look wrong but are right.
#[test]
fn what_is_true_though_strange() {
    // Each emulated node has all CPUs.
    let mut fake = KnownMachine::new(LAPTOP).lie("node/online", "0-3\n");
    for node in 1..4 {
        fake.add(&format!("node/node{node}/cpulist"), "0-7");
    }
    assert_eq!(fake.order(PhysicalCores), [0, 1, 2, 3]);
    // A node has no CPUs, and half of the machine is offline.
    let mut half = KnownMachine::new(LAPTOP).lie("node/online", "0,2\n");
    half.add("node/node2/cpulist", "");
    half.allowed = vec![0, 3, 4, 5, 7];
    assert_eq!(half.order(LogicalCpus), [0, 5, 3, 4, 7], "5 has core 1 to itself");
    // A large core consists of two small cores with a cache each.
    let mut large = KnownMachine { allowed: list("0-15"), files: HashMap::new() };
    for cpu in 0..16 {
        let core = cpu / 8 * 8;
        large.add(&format!("cpu/cpu{cpu}/topology/core_cpus_list"), &format!("{core}-{}", core + 7));
        large.add(&format!("cpu/cpu{cpu}/cache/index3/level"), "3");
        let small: Vec<String> = (0..4).map(|i| (core + cpu % 2 + 2 * i).to_string()).collect();
        large.add(&format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), &small.join(","));
    }
    assert_eq!(large.order(PhysicalCores), [0, 8]);
    assert_eq!(large.order(LogicalCpus), list("0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15"));
}

#[test]
fn what_is_not_told() {
    let plan = KnownMachine::new(SOCKETS).without("/").plan(LogicalCpus);
    assert_eq!((order(&plan), plan.doubts.len()), (list("0-71"), 1), "{:?}", plan.doubts);
    // Without nodes, the order uses the caches. Without caches, the order uses the sockets. Missing
    // nodes or caches cause no warning.
    assert_eq!(KnownMachine::new(SOCKETS).without("/node/").order(PhysicalCores), list("0-34:2,1-35:2"));
    assert_eq!(KnownMachine::new(SOCKETS).without("/cache/").order(PhysicalCores), list("0-34:2,1-35:2"));
    let plan = KnownMachine::new(SOCKETS).without("/cache/").plan(LogicalCpus);
    assert_eq!([4, 70, 5, 71].map(|cpu| plan.machine.cpu(cpu).unwrap().cache), [0, 0, 1, 1], "one a node");
    assert_eq!(
        KnownMachine::new(VM).without("topology/physical").without("/node/").order(LogicalCpus),
        [0, 1]
    );
    // The files say nothing about one CPU, so this CPU counts as a core of its own.
    assert_eq!(KnownMachine::new(LAPTOP).without("cpu4/topology").order(PhysicalCores), [0, 1, 2, 3, 4]);
    assert_eq!(KnownMachine::new(LAPTOP).without("cpu4/cache").order(PhysicalCores), [0, 1, 2, 3]);
    // A single CPU needs no order.
    let mut vm = KnownMachine::new(VM).without("/");
    vm.allowed = vec![1];
    assert_eq!(vm.order(LogicalCpus), [1]);
}

#[test]
fn the_building_threads_cpu_is_left_free() {
    let order_with = |here, wish: Wish| {
        let mut plan = KnownMachine::new(SOCKETS).plan_of(wish, None).unwrap();
        let before = order(&plan);
        plan.leave_free(here);
        (before, order(&plan))
    };
    let four = || Wish { workers: Some(4), ..Wish::default() };
    let (before, after) = order_with(0, four());
    assert_eq!((&before, before[0]), (&after, 0), "it is free anyway");
    let here = before[2];
    let (_, after) = order_with(here, four());
    assert_eq!(after, [here, before[1], before[0], before[3]]);
    let unused = (0..8).find(|cpu| !before.contains(cpu)).unwrap();
    assert_eq!(order_with(unused, four()), (before.clone(), before.clone()));
    assert_eq!(order_with(9999, four()).1, before, "a CPU that is not allowed");
    let list = Wish { placement: Cpus(vec![3, 5]), ..Wish::default() };
    assert_eq!(order_with(5, list).1, [3, 5], "a list keeps its order");
}

#[test]
fn a_value_that_was_read_is_not_read_again() {
    let (machine, reads) = (KnownMachine::new(SOCKETS), Cell::new(0));
    let file = |path: &str| {
        reads.set(reads.get() + 1);
        machine.files.get(path).cloned()
    };
    let reading = Reading::default();
    let plan = || {
        let allowed = Ok(machine.allowed.clone());
        let system = System { allowed, file: &file, reading: &reading, num_threads: None, pinning: None };
        let plan = SeatPlan::new(Wish::default(), system).unwrap();
        (order(&plan), reads.take())
    };
    let ((first, some), (again, none)) = (plan(), plan());
    assert_eq!((first, none), (again, 0));
    assert!(some > 0);
}

/// Other tests build pools, too, perhaps on other CPUs.
#[test]
#[cfg(all(target_os = "linux", not(any(miri, portable))))]
fn a_pool_keeps_its_reading_for_pools_of_the_same_cpus() {
    let keep = |cpus: &[usize]| {
        let reading = Reading::of(cpus);
        SeatPlan::new(Wish::default(), System::now(Ok(cpus.to_vec()), &reading)).unwrap();
        reading.keep();
    };
    let is_kept = |cpus| {
        keep(&[7777, 7778]);
        !Reading::of(cpus).is_new()
    };
    assert!((0..1000).any(|_| is_kept(&[7777, 7778])), "it is read again");
    assert!((0..1000).all(|_| !is_kept(&[7777])), "it is kept for other CPUs");
}

#[test]
fn the_mask_is_not_told() {
    let reading = Reading::default();
    let system = |kind: io::ErrorKind| System {
        allowed: Err(kind.into()),
        file: &|_| None,
        reading: &reading,
        num_threads: None,
        pinning: None,
    };
    let wish = |pinning| Wish { workers: Some(3), pinning: Some(pinning), ..Wish::default() };
    let (denied, unsupported) = (io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported);
    for kind in [denied, unsupported] {
        let error = SeatPlan::new(wish(Pinning::Required), system(kind)).unwrap_err();
        assert!(matches!(error, BuildError::Affinity { .. }), "{error}");
        let plan = SeatPlan::new(wish(Pinning::Off), system(kind)).unwrap();
        assert_eq!((plan.workers, plan.cpu(0), plan.doubts.len()), (3, None, 0));
    }
    let plan = SeatPlan::new(wish(Pinning::BestEffort), system(denied)).unwrap();
    assert_eq!((plan.workers, plan.cpu(0), plan.doubts.len()), (3, None, 1));
    let plan = SeatPlan::new(wish(Pinning::BestEffort), system(unsupported)).unwrap();
    assert_eq!(
        (plan.workers, plan.cpu(0), plan.doubts.len()),
        (3, None, 0),
        "a system that cannot is none to warn of"
    );
}

#[test]
#[cfg_attr(windows, ignore = "paths of Linux, which Windows joins by another sign: it has no control groups")]
fn quotas() {
    let told = |text: &str| {
        let machine = KnownMachine::new(text);
        quota(&|path| machine.files.get(path).cloned())
    };
    assert_eq!(told(CONTAINER), Some(2.5));
    assert_eq!(told(LAPTOP), None);
    // Version 1: the controller is mounted together with another controller, under its own name.
    let old = "\
        /proc/self/cgroup 12:memory:/a\n/proc/self/cgroup 4:cpu,cpuacct:/a/b\n/proc/self/cgroup 0::/other\n\
        /proc/self/mountinfo 33 32 0:29 / /sys/fs/cgroup/cpu\\040time rw - cgroup - rw,cpu,cpuacct\n\
        /proc/self/mountinfo 34 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        /sys/fs/cgroup/memory/a/cpu.cfs_quota_us 1\n/sys/fs/cgroup/memory/a/cpu.cfs_period_us 100000\n";
    assert_eq!(told(old), None);
    let limit = |dir: &str, quota: &str| {
        format!(
            "/sys/fs/cgroup/{dir}/cpu.cfs_quota_us {quota}\n/sys/fs/cgroup/{dir}/cpu.cfs_period_us 50000\n"
        )
    };
    let with = |limits: &[String]| {
        // The lines of `machines/` cannot contain a path with a blank. So this test adds the file,
        // with the mount point in the form that the kernel writes.
        let mut machine = KnownMachine::new(old);
        for line in limits.concat().lines() {
            let (path, text) = line.rsplit_once(' ').unwrap();
            machine.add(path, text);
        }
        quota(&|path| machine.files.get(path).cloned())
    };
    assert_eq!(with(&[limit("cpu time/a/b", "-1")]), None);
    assert_eq!(with(&[limit("cpu time/a/b", "75000")]), Some(1.5));
    assert_eq!(
        with(&[limit("cpu time/a/b", "75000"), limit("cpu time/a", "60000")]),
        Some(1.2),
        "the smallest"
    );
    assert_eq!(with(&[limit("cpu time/a/b", "0")]), None);
    assert_eq!(with(&[limit("cpu time/a/b", "many")]), None);
    // A container in which its own group is mounted as the top of the hierarchy, and a container
    // that sees its group from outside.
    let container = |group: &str, root: &str| {
        told(&format!(
            "/proc/self/cgroup 0::{group}\n/proc/self/mountinfo 1 2 0:27 {root} /cg rw - cgroup2 none rw\n\
             /cg/cpu.max 150000 100000\n/cg/../other/cpu.max 10 100000\n"
        ))
    };
    assert_eq!(container("/", "/"), Some(1.5));
    assert_eq!(container("/docker/7", "/docker/7"), Some(1.5));
    assert_eq!(container("/../other", "/"), Some(1.5));
    assert_eq!(container("/user", "/machine/x"), None, "what is mounted there is another group");
    let top = "/proc/self/cgroup 0::/\n/proc/self/mountinfo 1 2 0:27 / /cg rw - cgroup2 none rw\n";
    assert_eq!(told(&format!("{top}/cg/cpu.max 1000 0\n")), None, "a period of nothing");
    for nonsense in ["", "0", "::", "0::/", "0::\n/\n"] {
        let file = |path: &str| path.starts_with("/proc").then(|| nonsense.to_owned());
        assert_eq!(quota(&file), None);
    }
}

#[test]
fn a_placement_is_readable() {
    let laptop = KnownMachine::new(LAPTOP);
    let plan = laptop.plan_of(Wish { workers: Some(9), ..Wish::default() }, None).unwrap();
    let shown = CpuAssignment::new(
        plan,
        (1..9).filter(|worker| *worker != 2).map(|worker| (worker, affinity::this_thread())).collect(),
        PinState::Free,
    );
    let expected = "\
9 workers, by num_threads; LogicalCpus
worker    CPU   core thread  cache   node  class
     0      0      0      0      0      0      0  left free for the calling thread
     1      1      1      0      0      0      0  pinned
     2      -      -      -      -      -      -  not pinned: refused
     3      3      3      0      0      0      0  pinned
     4      4      0      1      0      0      0  pinned
     5      5      1      1      0      0      0  pinned
     6      6      2      1      0      0      0  pinned
     7      7      3      1      0      0      0  pinned
     8      0      0      0      0      0      0  pinned, shared with worker 0";
    let mut seating = shown.seating();
    assert_eq!(seating.to_string(), expected);
    seating.seats.retain(|seat| seat.worker == 8);
    assert!(seating.to_string().ends_with("  pinned"), "{seating}");

    let bound = KnownMachine { allowed: vec![5], ..laptop };
    let seating = CpuAssignment::new(bound.plan(LogicalCpus), Vec::new(), PinState::Free).seating();
    let expected = "\
1 worker, by the CPUs there are; LogicalCpus
bound to 1 of 8 CPUs, one worker at a time: a launcher may have done that (mpirun: --map-by slot:PE=k, or --bind-to none)
worker    CPU   core thread  cache   node  class
     0      5      1      0      0      0      0  left free for the calling thread";
    assert_eq!(seating.to_string(), expected);
}

/// If the mask has fewer CPUs than the machine, the plan reports this with all options.
#[test]
fn who_is_bound_is_told() {
    let told = |machine: &KnownMachine, wish: Wish| {
        let plan = machine.plan_of(wish, None).unwrap();
        let remarks = plan.remarks.clone();
        let shown = CpuAssignment::new(plan, Vec::new(), PinState::Free).seating().to_string();
        let line = shown.lines().find(|line| line.contains("bound")).map(str::to_owned);
        assert_eq!(remarks, line.clone().into_iter().collect::<Vec<_>>(), "the log says the same: {shown}");
        line
    };
    let bound = |allowed: &str| KnownMachine { allowed: list(allowed), ..KnownMachine::new(SOCKETS) };
    let hint = "a launcher may have done that (mpirun: --map-by slot:PE=k, or --bind-to none)";
    let one = format!("bound to 1 of 72 CPUs, one worker at a time: {hint}");
    let off = || Wish { pinning: Some(Pinning::Off), ..Wish::default() };
    let required = Wish { pinning: Some(Pinning::Required), ..Wish::default() };
    let three = Wish { workers: Some(3), ..Wish::default() };
    for wish in [Wish::default(), off(), required, three] {
        assert_eq!(told(&bound("40"), wish).as_ref(), Some(&one));
    }
    let listed = |list| Wish { placement: Cpus(list), ..Wish::default() };
    assert_eq!(told(&bound("40"), listed(vec![40])), Some(one));
    assert_eq!(told(&bound("0-71"), listed(vec![40])), None, "the program has asked for one");
    let core = told(&bound("4,40"), Wish::default());
    assert_eq!(core, Some(format!("bound to 2 of 72 CPUs, one core: {hint}")), "the siblings of a core");
    assert_eq!(told(&bound("4,40"), off()).as_deref(), Some("bound to 2 of 72 CPUs"), "cores are not read");
    for allowed in ["0-7", "4,41", "0-70"] {
        let expected = format!("bound to {} of 72 CPUs", list(allowed).len());
        assert_eq!(told(&bound(allowed), Wish::default()), Some(expected));
    }
    assert_eq!(told(&bound("0-71"), Wish::default()), None);
    assert_eq!(told(&bound("0-71").lie("cpu/online", "0-63\n"), off()), None, "fewer than may be used");
    assert_eq!(
        told(&bound("1").lie("cpu/online", "0-3,8,10-11\n"), off()).map(|line| line.contains("1 of 7 CPUs")),
        Some(true)
    );
    for lie in ["", "\n", "x", "3-1", "0-1048576"] {
        assert_eq!(told(&bound("40").lie("cpu/online", lie), Wish::default()), None, "{lie:?}");
    }
    assert_eq!(told(&bound("40").without("cpu/online"), Wish::default()), None, "the system does not tell");
    let container = told(&KnownMachine::new(CONTAINER), Wish::default());
    assert_eq!(container.as_deref(), Some("bound to 3 of 16 CPUs"));

    let whole = KnownMachine::new(LAPTOP);
    let file = |path: &str| whole.files.get(path).cloned();
    let allowed = Err(io::ErrorKind::Unsupported.into());
    let system =
        System { allowed, file: &file, reading: &Reading::default(), num_threads: None, pinning: None };
    let plan = SeatPlan::new(off(), system).unwrap();
    assert_eq!((plan.bound, plan.remarks), (None, Vec::new()), "no mask, no CPU that is forbidden");
}

/// Every program puts its workers on the same CPUs first. A worker that loses its CPU to another
/// program may run on all CPUs of the plan.
#[test]
fn two_programs_begin_with_the_same_cpus() {
    let [one, other] = [(); 2].map(|()| two_sockets(Wish { workers: Some(4), ..Wish::default() }));
    let cpus = |plan: &SeatPlan| (0..4).map(|worker| plan.cpu(worker).unwrap().number).collect::<Vec<_>>();
    assert_eq!(cpus(&one), cpus(&other));
    assert!(one.cpus().len() >= 16 && cpus(&one).iter().all(|cpu| one.cpus().contains(cpu)));
    assert_eq!(one.pinning, Pinning::BestEffort);
    let pinned = two_sockets(Wish { workers: Some(4), pinning: Some(Pinning::Required), ..Wish::default() });
    assert_eq!(pinned.pinning, Pinning::Required, "as was asked for");
    let two = two_sockets(Wish { placement: Cpus(vec![3, 5]), ..Wish::default() });
    assert_eq!(two.cpus(), [3, 5], "nowhere else");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any content of the files, every CPU is in the order once, and there is at most one
    /// warning for each kind of relation.
    #[test]
    fn whatever_the_files_say(
        machine in prop::sample::select(&[LAPTOP, PHONE, VM, CONTAINER][..]),
        lies in prop::collection::vec((any::<prop::sample::Index>(), "[0-9]{1,2}|[0-9]-[0-9]{1,2}(,[0-9]{1,2})?|.{0,9}|[0-9,:/-]{0,30}"), 0..12),
        losses in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        placement in prop::sample::select(&[LogicalCpus, Compact, Spread][..]),
    ) {
        let mut machine = KnownMachine::new(machine);
        let mut paths: Vec<String> = machine.files.keys().cloned().collect();
        paths.sort_unstable();
        for (path, text) in lies {
            machine.files.insert(path.get(&paths).clone(), text);
        }
        for path in losses {
            machine.files.remove(path.get(&paths));
        }
        let plan = machine.plan_of(Wish { workers: Some(machine.allowed.len()), placement, ..Wish::default() }, None).unwrap();
        let mut order = order(&plan);
        order.sort_unstable();
        prop_assert_eq!(order, machine.allowed);
        prop_assert!(plan.doubts.len() <= 4, "{:?}", plan.doubts);
    }
}
