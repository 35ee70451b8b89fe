//! Workers and CPUs: how many workers a pool has, on which CPUs it puts them, and on which CPU each
//! worker is at the moment.
//!
//! `files` reads text files of the system. `topology` reads which CPUs exist, and which of them
//! share a cache or a NUMA node. `quota` reads how much CPU time the process may use. `placement`
//! makes a plan from the topology, the quota and the wishes of the user. `affinity` makes the
//! system calls. `inherited_scheduling` gives the threads of the global pool the CPUs and the
//! priority of the process. `cpu_assignment` tracks which worker is on which CPU while the pool
//! runs, and moves a helper away from the CPU of the caller. `pin_monitor` unpins a helper whose
//! CPU another program keeps busy. If a helper does not get its CPU, `starvation` keeps the helper
//! out of loops.
//!
//! No result of a loop depends on this folder. If information of the system is missing
//! or contradicts itself, the order of the CPUs may be worse. If the system refuses a call, a
//! worker may not be pinned. Contradictions and refused calls are logged as warnings.
//!
//! May know: `tell`. Must not know: `policy`, `engine`, `verbs`.

pub(crate) mod affinity;
pub(crate) mod cpu_assignment;
pub(crate) mod files;
pub(crate) mod inherited_scheduling;
pub(crate) mod pin_monitor;
pub(crate) mod placement;
pub(crate) mod quota;
pub(crate) mod starvation;
pub(crate) mod topology;
