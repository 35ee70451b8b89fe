//! Where threads sit: how many workers there are and on which CPUs, and which worker is where at
//! the moment.
//!
//! `files` is how texts of the system are read. `topology` reads what CPUs there are, `quota` reads
//! how many of them the process may keep busy, and `placement` makes a plan of both and of the
//! user's wishes. `affinity` makes the system calls. `heritage` is what the threads of the global
//! pool take over from the process. `seats` tracks which worker is where while the pool runs: it
//! makes room for the caller, and unpins a helper whose CPU another program keeps busy (`tenure`).
//! `starvation` keeps a helper out of loops that does not get its CPU at all. `home` is what
//! thieves know of the seats.
//!
//! No result depends on any of it: if the system does not tell something or refuses it, an order or
//! a pin is lost, and a warning is logged.
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
