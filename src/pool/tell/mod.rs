//! The records of loops. The workers of a loop write its records. The caller reads the records when
//! the loop is over.
//!
//! Each worker writes its own `journal`, and adds it to the `times` when the worker
//! leaves. The times for the policy are computed from the journals. If the user wants a `report` or
//! a `trace` of the loop, it is also computed from the journals. Loops inside items of a traced
//! loop report themselves to the `scene` of the traced loop. The `program_report` sums up the
//! reports of all loops of a program. `units` says whether an index of a loop stands for an item or
//! for a block.
//!
//! Must not know: `place`, `policy`, `engine`, `verbs`.

pub(crate) mod journal;
pub(crate) mod program_report;
pub(crate) mod report;
pub(crate) mod times;
pub(crate) mod trace;
pub(crate) mod units;
pub(crate) mod why_alone;
