//! A call decides how to run its loop: as the plain loop, alone, or shared. Then the call runs the
//! loop, combines the results, and tells the policy what it has seen. The engine joins the policy,
//! which takes no lock, and the team and the supply, which read no clock.
//!
//! Read `call` first.
//!
//! | module | what it is |
//! |---|---|
//! | `executor` | the threads of a pool, and the data that its loops share |
//! | `call` | a call: the plain loop, if that is fastest |
//! | `ask` | how to run a call: the questions to the policy |
//! | `again` | a call that runs as an earlier one ran |
//! | `run` | a call that is more than the plain loop: alone, then together with workers |
//! | `teach` | what a call tells the policy at its end |
//! | `solo` | the items of the calling thread alone |
//! | `visit` | a worker's visit to a loop; the loop over a run of items |
//! | `range_loop`, `thief` | a worker that claims from ranges and steals |
//! | `plan` | the policy's decisions about a shared loop |
//! | `search` | a worker that claims blocks from the front of the slice |
//! | `work_list` | made items in a loop over a list that grows |
//! | `async_call`, `async_loop` | a call whose items wait, and the loop of its workers |
//! | `join` | runs two closures at the same time |
//! | `tasks` | tasks that outlive their caller; calls on each thread |
//! | `body` | the kernel: the only function of a loop that contains the user's closure |
//! | `accumulator`, `worker_log` | a worker's folder, its partial results and its notes |
//! | `order`, `ending` | the order of the reductions; how a loop ends |
//! | `handles`, `loop_options` | tokens and progress; the user's options for a call |
//! | `account` | the report, the timeline and the log of a loop, if they are wanted |
//! | `inputs` | the policy's inputs: times and random numbers |
//!
//! A program contains most code once, whatever its number of loops. That code calls a worker's
//! accumulator through a vtable, about once in some microseconds. Accumulators and
//! `Executor::decide_and_run` know the type of a loop's results, and are compiled once for each
//! such type. They call the worker's folder through a vtable. Only folders, `body`,
//! `Executor::call`, `call_plain`, `call_with_care` and `call_for_tree` know the loop's closures.
//! `join` knows its own closures.
//!
//! May know: `policy`, `team`, `supply`, `place`, `tell`. Must not know: `verbs`.

pub(crate) mod account;
pub(crate) mod accumulator;
pub(crate) mod again;
pub(crate) mod ask;
pub(crate) mod async_call;
pub(crate) mod async_loop;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod ending;
pub(crate) mod executor;
pub(crate) mod handles;
pub(crate) mod inputs;
pub(crate) mod join;
pub(crate) mod loop_options;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod range_loop;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod solo;
pub(crate) mod tasks;
pub(crate) mod teach;
pub(crate) mod thief;
pub(crate) mod visit;
pub(crate) mod work_list;
pub(crate) mod worker_log;
