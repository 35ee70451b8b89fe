//! Parallel iterators: the traits, and the iterators that their methods return.

mod blocks;
mod bridge;
mod collect;
mod divided;
mod drive;
mod end;
mod ends;
mod folds;
mod gathered;
mod grown;
mod indexed;
mod into;
mod lend;
mod make;
mod mixed;
mod parallel;
mod places;
pub mod plumbing;
mod positions;
mod prefixes;
mod spread;
mod staged;
pub(crate) mod stages;
mod start;
mod tries;
mod unindexed;
mod zip;

/// Implements `Debug` by the name of the iterator alone, since closures cannot be printed.
macro_rules! shown {
    ($name:ident<$($generic:ident),+>) => {
        impl<$($generic),+> std::fmt::Debug for $name<$($generic),+> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use shown;

pub use either::Either;

#[allow(deprecated, reason = "rayon still has it")]
pub use self::make::repeatn;
pub use self::{
    blocks::{Blocks, ExponentialBlocks, UniformBlocks},
    bridge::{IterBridge, ParallelBridge},
    divided::Divided,
    folds::{Fold, FoldChunks, FoldChunksWith, FoldWith, MapInit, MapWith, TryFold, TryFoldWith},
    grown::{
        Split, WalkTree, WalkTreePostfix, WalkTreePrefix, split, walk_tree, walk_tree_postfix,
        walk_tree_prefix,
    },
    indexed::IndexedParallelIterator,
    into::{
        FromParallelIterator, IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator,
        ParallelDrainFull, ParallelDrainRange, ParallelExtend,
    },
    make::{Empty, Once, Repeat, RepeatN, empty, once, repeat, repeat_n},
    mixed::{Chain, Intersperse},
    parallel::ParallelIterator,
    places::{Chunks, Enumerate, MaxLen, MinLen, Rev, Skip, StepBy, Take},
    positions::Positions,
    prefixes::{TakeAny, TakeAnyWhile, WhileSome},
    spread::{FlatMap, Flatten, Spread},
    stages::{
        Cloned, Copied, Filter, FilterMap, FlatMapIter, FlattenIter, Inspect, Map, PanicFuse, SkipAny,
        SkipAnyWhile, Update,
    },
    zip::{Interleave, InterleaveShortest, Joined, MultiZip, Zip, ZipEq},
};
#[doc(hidden)]
pub use self::{
    divided::{Divide, Whole},
    end::{End, IndexedEnd, IndexedStage, Keeps, Stage},
    gathered::{Counted, Gather, GatherExact, Gathered, Listed},
    grown::Walk,
    spread::{Flat, FlatMapBy, Spreads},
    staged::{Placed, Staged},
    tries::Try,
    zip::Join,
};
pub(crate) use self::{
    drive::Before,
    end::{ANY_LENGTH, Backward, Then, Unindexed},
    lend::{Lend, drive, indexed_by_bridge, unindexed_by_bridge},
    stages::FlatMapIterBy,
};
