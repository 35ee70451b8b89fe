//! Workers and CPUs: how many workers a pool has, on which CPUs, and which worker is on which CPU
//! at the moment.
//!
//! `files` reads text files of the system. `topology` reads which CPUs exist, `quota` reads how
//! many CPUs' worth of time the process may use, and `placement` makes a plan from both and from
//! the wishes of the user. `affinity` makes the system calls. `inherited_scheduling` gives the
//! threads of the global pool the CPUs and the priority of the process. `cpu_assignment` tracks
//! which worker is on which CPU while the pool runs, and moves a helper away from the CPU of the
//! caller. `pin_monitor` unpins a helper whose CPU another program keeps busy. `starvation` keeps a
//! helper that does not get its CPU out of loops. `locality` tells thieves which workers share a
//! cache or a NUMA node.
//!
//! No result of a loop depends on this folder. If the system does not report something, or refuses
//! a call, an order or a pin is lost, and a warning is logged.
//!
//! May know: `record`. Must not know: `policy`, `call`, `verbs`.

pub(crate) mod affinity;
pub(crate) mod cpu_assignment;
pub(crate) mod files;
pub(crate) mod inherited_scheduling;
pub(crate) mod locality;
pub(crate) mod pin_monitor;
pub(crate) mod placement;
pub(crate) mod quota;
pub(crate) mod starvation;
pub(crate) mod topology;
