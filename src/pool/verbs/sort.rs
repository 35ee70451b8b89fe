//! Parallel sorts.
//!
//! If few items are out of order, `outliers` takes these items out, sorts them, and puts them back.
//!
//! Otherwise the stable sort cuts the slice into pieces, sorts each with std's sort, and merges
//! them (`merge`). The unstable sort does the same with more than four workers.
//!
//! A slice is long enough for that if it has [`SHORTEST_SHARED`] items, or fewer items and dear
//! comparisons.
//!
//! With up to four workers, the unstable sort partitions the slice at pivots, as quicksort does,
//! until there are enough pieces for all workers, and sorts each piece with std's sort. Nothing is
//! copied, and quicksort would need the same partitions. The calling thread does the first
//! partition alone. With more than four workers this partition takes too long, so the workers
//! merge.

use super::{
    chain::IntoChain,
    comparator::{By, Comparator},
    merge::{SHORTEST_PIECE, Sides, in_parallel, merge_runs, pieces, sort_pieces},
    on::On,
    outliers::sort_outliers,
    partition::{AtPivot, sample},
};
use crate::{clock::Moment, pool::engine::executor::Executor};

/// In items: the calling thread sorts shorter slices alone. Slices of random numbers gain from
/// fewer items on, but slices with few distinct keys do not.
pub(super) const SHORTEST_SHARED: usize = 32 * 1024;
/// In items: slices of this length are shared, too, if a comparison is dear.
const SHORTEST_DEAR: usize = 2 * SHORTEST_PIECE;
/// In nanoseconds: a comparison that takes longer is dear. A comparison of two numbers and the two
/// readings of the time take 8 to 36 ns.
const DEAR_COMPARISON_NS: f32 = 50.0;
/// In workers: with more workers, merging takes less time than a first partition by one thread.
const FEW_WORKERS: usize = 4;
/// An unstable sort makes this many pieces per worker, since pieces differ in length.
const PIECES_A_WORKER: usize = 2;
/// In items: a pivot is the median of a sample of this size.
const PIVOT_SAMPLE: usize = 511;
/// In bytes: up to this size, the calling thread alone checks whether the slice is in order.
const RECOGNISED_ALONE: usize = 1 << 20;

/// In items: std sorts shorter slices by cached keys. The loops of the pool and the buffer take
/// 60 to 90 ns, and a sort of 10 items by cheap keys takes 60 to 70 ns.
const FEW_KEYS: usize = 8;
/// In pieces: all items are one piece if no other worker is idle. A loop over this piece puts the
/// sort into the report of the program.
const ALL: usize = 1;

/// An order by which slices can be merged, and partitioned at a pivot.
pub(crate) trait Partition<T>: Comparator<T> {
    fn at_pivot(&self) -> &dyn AtPivot<T>;
}

impl<T, S, L: Fn(&T, &T) -> bool + Sync> Partition<T> for By<S, L>
where
    Self: Comparator<T>,
{
    fn at_pivot(&self) -> &dyn AtPivot<T> {
        &self.is_less
    }
}

/// Sorts `items` unstably. The sort of `order` must be one of std's unstable sorts.
#[track_caller]
pub(crate) fn sort_unstable<T: Send>(executor: &Executor, items: &mut [T], order: &dyn Partition<T>) {
    if is_short(executor, items, order) {
        return order.sort(items);
    }
    let workers = executor.workers;
    if !executor.is_free() || workers > FEW_WORKERS {
        return sort_long(executor, items, order);
    }
    if ascends(items, order) || sort_outliers(executor, items, order) {
        return;
    }
    let (mut pieces, enough) = (vec![items], workers * PIECES_A_WORKER);
    // Good pivots need half of these rounds. After all rounds a piece may still be long, because of
    // bad pivots or an inconsistent order. Then std's sort of the long piece must be fast.
    for _ in 0..2 * enough.ilog2() {
        if pieces.len() >= enough {
            break;
        }
        let cuts = in_parallel(executor, pieces, &|piece| cut(piece, order));
        pieces = cuts.into_iter().flatten().filter(|piece| piece.len() > 1).collect();
    }
    in_parallel(executor, pieces, &|piece| order.sort(piece));
}

/// Partitions `items` at a pivot into the lesser and the greater items. The pivot, and possibly
/// items equal to it, are in their final places and in neither slice.
fn cut<'a, T>(items: &'a mut [T], order: &dyn Partition<T>) -> [&'a mut [T]; 2] {
    if items.len() <= 2 * SHORTEST_PIECE {
        return [items, &mut []];
    }
    // Moves a sample from all over the slice to its front, and the median of the sample to index 0.
    sample(items, PIVOT_SAMPLE);
    order.sort(&mut items[..PIVOT_SAMPLE]);
    items.swap(0, PIVOT_SAMPLE / 2);
    let [pivot, others @ ..] = &mut *items else { unreachable!("more than one item") };
    let [before, _] = order.at_pivot().pair(pivot, false, [others, &mut []], 0);
    items.swap(0, before);
    let (less, rest) = items.split_at_mut(before);
    if less.len() >= rest.len() / 8 {
        return [less, &mut rest[1..]];
    }
    // There may be many items equal to the pivot.
    let [pivot, others @ ..] = rest else { unreachable!("the pivot") };
    let [equal, _] = order.at_pivot().pair(pivot, true, [&mut *others, &mut []], 0);
    [less, &mut others[equal..]]
}

/// Sorts `items`, stably if the sort of `order` is stable.
#[track_caller]
pub(crate) fn sort<T: Send>(executor: &Executor, items: &mut [T], order: &dyn Comparator<T>) {
    if is_short(executor, items, order) {
        return order.sort(items);
    }
    sort_long(executor, items, order);
}

/// As [`sort`], for slices that are not short.
#[track_caller]
fn sort_long<T: Send>(executor: &Executor, items: &mut [T], order: &dyn Comparator<T>) {
    let is_free = executor.is_free();
    // In longer slices, sorting the pieces finds ascending runs in parallel.
    if is_free && ascends(items, order) || sort_outliers(executor, items, order) {
        return;
    }
    sort_pieces(executor, items, if is_free { pieces(executor, items.len()) } else { ALL }, order);
}

/// Merges two sorted runs, which meet at `middle`, stably if the sort of `order` is stable.
#[track_caller]
pub(crate) fn merge<T: Send>(executor: &Executor, items: &mut [T], middle: usize, order: &dyn Comparator<T>) {
    let len = items.len();
    assert!(middle <= len, "merge: the second run begins at {middle}, and there are {len} items");
    if is_short(executor, items, order) {
        return order.sort(items); // std's sort finds both runs
    }
    if !executor.is_free() {
        return sort_pieces(executor, items, ALL, order);
    }
    let mut runs = vec![middle, len - middle];
    runs.retain(|run| *run > 0);
    merge_runs(executor, items, runs, order);
}

/// Sorts `items` stably by a key that is computed once per item.
#[track_caller]
pub(crate) fn sort_by_cached_key<T: Send, K: Ord + Send>(
    executor: &Executor,
    items: &mut [T],
    key: impl Fn(&T) -> K + Sync,
) {
    if items.len() < FEW_KEYS || size_of::<T>() == 0 {
        return items.sort_by_cached_key(key);
    }
    if !executor.is_free() {
        in_parallel(executor, vec![items], &|all| all.sort_by_cached_key(&key));
        return;
    }
    let on = On::new(executor, (&mut *items).into_chain()).enumerate();
    let mut keys = on.map(|(place, item)| (key(item), place)).collect::<Vec<_>>();
    // No two pairs are equal, so an unstable sort gives the stable result.
    sort_unstable(executor, &mut keys, &By::new(<[_]>::sort_unstable, PartialOrd::lt));
    let mut buffer = Vec::with_capacity(items.len());
    Sides::new(items, &mut buffer).arrange(executor, keys);
}

/// Whether the calling thread sorts or merges `items` alone: they are few, and a comparison is
/// cheap, or no other worker is idle. A comparison of the first two items is timed, after one that
/// may miss caches. If it seems dear, another one is timed: the first may have been interrupted.
fn is_short<T>(executor: &Executor, items: &[T], order: &dyn Comparator<T>) -> bool {
    if items.len() >= SHORTEST_SHARED || size_of::<T>() == 0 {
        return size_of::<T>() == 0;
    }
    if items.len() < SHORTEST_DEAR || !executor.is_free() {
        return true;
    }
    let compare = || order.is_less(&items[1], &items[0]);
    compare();
    let is_cheap = || {
        let begin = Moment::now();
        compare();
        !Moment::now().is_after(begin, DEAR_COMPARISON_NS)
    };
    is_cheap() || is_cheap()
}

/// Reverses a strictly descending beginning of `items`, and returns whether `items` are then known
/// to be in order. A slice above `RECOGNISED_ALONE` is known to be in order only if the beginning
/// was the whole slice.
fn ascends<T>(items: &mut [T], order: &dyn Comparator<T>) -> bool {
    let descending = order.run(items, true);
    items[..descending].reverse();
    descending == items.len()
        || size_of_val(items) <= RECOGNISED_ALONE && order.run(items, false) == items.len()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{super::merge::tests::items, *};

    #[test]
    fn a_cut_leaves_out_the_pivot_and_what_is_equal_to_it() {
        for keys in [1, 2, 5, 1 << 40] {
            let mut given: Vec<u64> =
                items(3 * SHORTEST_PIECE, keys, 3).into_iter().map(|item| item.0).collect();
            let mut sorted = given.clone();
            sorted.sort_unstable();
            let len = given.len();
            let [less, rest] = cut(&mut given, &By::new(<[_]>::sort_unstable, u64::lt));
            let (less, rest) = (less.len(), rest.len());
            assert!(less + rest < len && less.max(rest) < if keys > 2 { len * 3 / 4 } else { len });
            given[..less].sort_unstable();
            given[len - rest..].sort_unstable();
            assert_eq!(given, sorted);
        }
    }
}
