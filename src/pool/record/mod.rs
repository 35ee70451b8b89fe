//! What happened: noted by the workers of a loop, read when it is over.
//!
//! A worker notes in a `journal` of its own and hands it over once, when it leaves. The journals
//! give the times that the policy learns from, and the `report` and the `trace` that a user has
//! asked for; loops inside items of a traced loop tell its `scene`. The `ledger` has the reports of
//! all loops of a program. `units` says what the indices of a loop stand for, `usage` what a thread
//! has used, `alone` why a loop ran on the calling thread alone, and `waits` what one did whose
//! items wait.
//!
//! Must not know: `place`, `policy`, `call`, `verbs`.

pub(crate) mod alone;
pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod report;
pub(crate) mod trace;
pub(crate) mod units;
pub(crate) mod usage;
pub(crate) mod waits;
