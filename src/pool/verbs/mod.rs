//! The loops that users call. A chain is a *source* (the items that a loop runs over), *stages*
//! (which convert or select items), *options*, and an *end*, which runs the loop. All code of loops
//! that is generic over closures is in this folder; `engine/join.rs` and `engine/tasks.rs` have
//! that of joins and tasks.
//!
//! `source` has slices and ranges, `owned` has items by value, and `indexed` has sources that are
//! made of other sources, as has `in_turn`; `portion` lends a source to rangesteal-rayon in parts.
//! `permutation` has the items of a slice at given indices, and `tiles` the rectangles of a matrix.
//! `chain` has the traits of chains, `pieces` those of sources that give neighbouring items as one
//! piece, `stages` the stages, and `state` the states that workers keep between items. `on` has the
//! type `On` of a chain and its pool, with the stages as methods. `options` has the options and
//! hands the loop to the executor. `value` makes a chain without a pool a source. The ends are in
//! `ends` (those that fold), `searches`, `scan` (running totals) and `collect`; `otherwise` lists
//! rayon's methods that have another name in this crate.
//!
//! An end defines how the items of a claim are folded into a partial result, and how two partial
//! results are reduced. The chain and the end make a kernel (`kernel`); the rest of the crate knows
//! only the kernel of a loop. An end receives each claim of a worker as a `Claim`, from which the
//! end can take the items once. So the ends are safe code, and only `kernel` relies on the
//! executor. `places` writes results to their final places, `target` lets rangesteal-rayon do that,
//! `gather` joins the vectors of all runs, `extend` appends the items of a stage to one,
//! `reproducible` has the size of the blocks of a reproducible loop, and `part` reduces the results
//! of such blocks of a part of a whole.
//!
//! `sort` is built on these loops: `merge` and `interleave` merge sorted pieces, `outliers` sorts
//! slices that are nearly in order, and `comparator` has the code that is compiled for each
//! comparison. `partition` partitions a slice in place, also for sorts, and `select` selects an
//! item by its rank. `grow` has the loops over a list that grows, and `feed` the handle by which
//! closures add items, with the hot loop. `waiting` has the loops whose items wait, `async_worker`
//! polls their futures, and `runs` keeps their results.
//!
//! May know: `engine`, and the folders below it. Must not know `Pool`: a loop receives the executor
//! instead.

mod async_worker;
pub(crate) mod chain;
pub(crate) mod collect;
pub(crate) mod comparator;
mod ends;
mod extend;
pub(crate) mod feed;
mod gather;
pub(crate) mod grow;
mod in_turn;
pub(crate) mod indexed;
mod interleave;
mod kernel;
mod merge;
pub(crate) mod on;
pub(crate) mod options;
pub(crate) mod otherwise;
pub(crate) mod outliers;
pub(crate) mod owned;
pub(crate) mod part;
pub(crate) mod partition;
pub(crate) mod permutation;
pub(crate) mod pieces;
mod places;
pub(crate) mod portion;
pub(crate) mod reproducible;
mod runs;
mod scan;
mod searches;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod source;
pub(crate) mod stages;
pub(crate) mod state;
pub(crate) mod target;
pub(crate) mod tiles;
mod value;
pub(crate) mod waiting;
