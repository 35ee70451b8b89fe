//! One call: decides how to run the loop; runs it plain, alone, busy or shared; combines the
//! results. Here the policy, which knows no lock, meets the protocol, which knows no time.
//!
//! Read `executor` first: it is the table of contents.
//!
//! | module | what it is |
//! |---|---|
//! | `executor` | a call: `call`, `call_with_care`, `carry_out` |
//! | `alone` | the loop on the calling thread alone |
//! | `shared` | before and after a loop of several workers |
//! | `round`, `thief` | the loop of a worker that claims from ranges and steals |
//! | `plan` | how a round runs: the decisions of the policy |
//! | `search` | the loop of a worker that claims blocks from the front of the slice |
//! | `work_list` | made items in a round over a list that grows |
//! | `async_call`, `async_round` | a call whose items wait, and the loop of its workers |
//! | `join` | two closures at the same time |
//! | `body` | the kernel: the one function of a loop that has the user's closure |
//! | `accumulator`, `round_log` | the partial results and the notes that a worker hands over |
//! | `order`, `ending` | which partial results are reduced with which; how a loop ends |
//! | `handles`, `loop_options` | tokens and progress; what the user asks of a call |
//! | `inputs` | time and chance, for the policy |
//!
//! Only `Executor::call`, `call_with_care`, `body` and `accumulator` know the types of a loop. All
//! other code calls a worker's accumulator through a vtable, once in some microseconds, and is
//! compiled once, however many loops a program has.
//!
//! May know: `policy`, `protocol`, `place`, `record`. Must not know: `verbs`.

pub(crate) mod accumulator;
pub(crate) mod alone;
pub(crate) mod async_call;
pub(crate) mod async_round;
pub(crate) mod body;
pub(crate) mod ending;
pub(crate) mod executor;
pub(crate) mod handles;
pub(crate) mod inputs;
pub(crate) mod join;
pub(crate) mod loop_options;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod round;
pub(crate) mod round_log;
pub(crate) mod search;
pub(crate) mod shared;
pub(crate) mod thief;
pub(crate) mod work_list;
