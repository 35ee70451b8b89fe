//! The records of loops: written by the workers of a loop, read when the loop is over.
//!
//! Each worker writes a `journal` of its own and hands it over once, when it leaves. The journals
//! give the times from which the policy learns, and the `report` and the `trace` that a user has
//! asked for. Loops inside items of a traced loop report themselves to its `scene`. The
//! `program_report` has the reports of all loops of a program. `units` says what the indices of a
//! loop stand for.
//!
//! Must not know: `place`, `policy`, `call`, `verbs`.

pub(crate) mod journal;
pub(crate) mod program_report;
pub(crate) mod report;
pub(crate) mod trace;
pub(crate) mod units;
pub(crate) mod why_alone;
