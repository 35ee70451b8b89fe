//! The records of loops. The workers of a loop write its records, which are read when the loop is
//! over.
//!
//! Each worker writes its own `journal` and hands it over once, when the worker leaves. From the
//! journals come the times for the policy and, if the user wants them, the `report` and the `trace`
//! of the loop. Loops inside items of a traced loop report themselves to the `scene` of the traced
//! loop. The `program_report` sums up the reports of all loops of a program. `units` says whether
//! an index of a loop stands for an item or for a block.
//!
//! Must not know: `place`, `policy`, `call`, `verbs`.

pub(crate) mod journal;
pub(crate) mod program_report;
pub(crate) mod report;
pub(crate) mod trace;
pub(crate) mod units;
pub(crate) mod why_alone;
