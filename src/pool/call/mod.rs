//! One call: decide how to run; then run plain, alone, busy or shared; then combine the results.
//! Here the policy, which knows no lock, meets the protocol, which knows no time.
//!
//! `executor` is the table of contents; read it first. `alone` is the loop on the calling thread,
//! `shared` what comes before and after a loop of several workers, `round` the loop of a worker
//! that claims from ranges and steals (`thief`), and `search` the loop of a worker that goes
//! through the slice from the front, `work_list` what a worker of a round does with what items have
//! made, and `async_round` the loop of a worker whose items wait (`wait` is a call of such a loop).
//! `join` runs two closures at a time.
//! When a worker leaves a shared loop, it hands over its partial results (`accumulator`) and its
//! notes (`round_log`). `order` says which partial results are reduced with which, and `ending`
//! which of several stops counts, and what the call returns.
//!
//! `body` has the kernel: the one function of a loop that has the user's closure. Only
//! `Executor::call`, `call_with_care` and `accumulator` know the types of a loop, too. All other
//! code calls a worker's accumulator through a vtable, once in some microseconds, and is compiled
//! once, however many loops a program has.
//!
//! `handles` are tokens and progress, `loop_options` are what the user asks of a call, `inputs` is
//! what the policy needs of time and chance, and `plan` is what it has decided before a round
//! begins.
//!
//! May know: `policy`, `protocol`, `place`, `record`. Must not know: `verbs`.

pub(crate) mod accumulator;
pub(crate) mod alone;
pub(crate) mod async_round;
pub(crate) mod body;
pub(crate) mod ending;
pub(crate) mod executor;
pub(crate) mod handles;
pub(crate) mod inputs;
pub(crate) mod join;
pub(crate) mod loop_options;
pub(crate) mod order;
pub(crate) mod round;
pub(crate) mod round_log;
pub(crate) mod search;
pub(crate) mod shared;
pub(crate) mod thief;
pub(crate) mod wait;
pub(crate) mod work_list;
