//! What users call: a loop is a *source* (what it runs over), *options*, and a *verb* (what is done
//! with each item). All generics over closures are in this room.
//!
//! A verb is written once, for every source, with and without state (`loops`, and `emit` for those
//! that make any number of results, `sums` for those that make one of all). It says how a range of
//! indices is folded into a partial result, and how two partial results are reduced. Together these
//! make it a body (`bodies`), which is all that the rest of the crate knows of it. `on` holds the
//! options; `source` is what a loop runs over (`owned`: items that are moved out), and `state` what
//! its workers keep. A worker's claim is given to the loop as a `Claim`, which can be asked for its
//! items once: so the loops are safe code, and `bodies` alone relies on the executor. `collect`
//! writes results to their final places, `gather` makes one `Vec` of what runs have emitted,
//! `reproducible` reduces results in a fixed order, and `part` does so with a part of a slice.
//! `sort` is built on these loops (`merge`, with `interleave`; `stragglers` for what is nearly in
//! order; `comparator` has what is compiled for each comparison). `grow` has the loops over a list
//! that grows, and `feed` the hand by which their closures feed it, with the hot loop of these.
//! `waiting` has the loops whose items wait, `attendant` polls them, and `runs` keeps what they
//! have made.
//!
//! May know: `call`, and the folders below it. Must not know `Pool`: a loop is given the executor.

pub(crate) mod attendant;
pub(crate) mod bodies;
pub(crate) mod chain;
pub(crate) mod collect;
pub(crate) mod comparator;
pub(crate) mod ends;
pub(crate) mod feed;
pub(crate) mod gather;
pub(crate) mod grow;
pub(crate) mod indexed;
pub(crate) mod interleave;
pub(crate) mod merge;
pub(crate) mod on;
pub(crate) mod options;
pub(crate) mod otherwise;
pub(crate) mod owned;
pub(crate) mod part;
pub(crate) mod places;
pub(crate) mod reproducible;
pub(crate) mod runs;
pub(crate) mod searches;
pub(crate) mod sort;
pub(crate) mod source;
pub(crate) mod stages;
pub(crate) mod state;
pub(crate) mod stragglers;
pub(crate) mod waiting;
