//! What users call: a chain is a *source* (what a loop runs over), *stages* (what is done with each
//! item), *options*, and an *end*, which runs the loop. All generics over closures are in this
//! room.
//!
//! `source` has the slices and ranges, `owned` the items that are moved out, `indexed` the sources
//! that are made of sources. `chain` tells what a chain is, `stages` has the stages, and `state`
//! what workers keep between items. `on` is what users write: a chain and where it runs; its
//! methods are the stages. `options` has the options, and hands the loop to the executor. The ends
//! are in `ends` (those that fold), `searches`, `scan` (running totals) and `collect`; `otherwise`
//! has the names that other libraries have for them.
//!
//! An end says how the items of a claim are folded into a partial result, and how two partial
//! results are reduced. With the chain these make a body (`kernel`), which is all that the rest of
//! the crate knows of a loop. A worker's claim is given to the end as a `Claim`, which can be asked
//! for its items once: so the ends are safe code, and `kernel` alone relies on the executor.
//! `places` writes results to their final places, `gather` makes one `Vec` of what runs have
//! emitted, `reproducible` reduces results in a fixed order, and `part` does so with a part of a
//! slice.
//!
//! `sort` is built on these loops (`merge`, with `interleave`; `outliers` for what is nearly in
//! order; `comparator` has what is compiled for each comparison). `grow` has the loops over a list
//! that grows, and `feed` the hand by which their closures feed it, with the hot loop of these.
//! `waiting` has the loops whose items wait, `attendant` polls them, and `runs` keeps what they
//! have made.
//!
//! May know: `call`, and the folders below it. Must not know `Pool`: a loop is given the executor.

pub(crate) mod async_worker;
pub(crate) mod chain;
pub(crate) mod collect;
pub(crate) mod comparator;
pub(crate) mod ends;
pub(crate) mod feed;
pub(crate) mod gather;
pub(crate) mod grow;
pub(crate) mod indexed;
pub(crate) mod interleave;
pub(crate) mod kernel;
pub(crate) mod merge;
pub(crate) mod on;
pub(crate) mod options;
pub(crate) mod otherwise;
pub(crate) mod outliers;
pub(crate) mod owned;
pub(crate) mod part;
pub(crate) mod places;
pub(crate) mod reproducible;
pub(crate) mod runs;
mod scan;
pub(crate) mod searches;
pub(crate) mod sort;
pub(crate) mod source;
pub(crate) mod stages;
pub(crate) mod state;
pub(crate) mod value;
pub(crate) mod waiting;
