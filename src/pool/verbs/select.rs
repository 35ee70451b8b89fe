//! Selection: the item that a sort would put at an index.
//!
//! The algorithm is Floyd and Rivest's SELECT ("Expected time bounds for selection", Communications
//! of the ACM 18(3), 1975), with one pivot per round. The pivot is selected from a sample. The
//! pivot lies a little beyond the wanted index, on the side that has more items. So if the median
//! of *n* items is wanted, the first partition leaves little more than half of the items, and the
//! second partition leaves a few hundredths of the items. All partitions are shared. If the least
//! or the greatest item is wanted, one shared pass finds it.

use super::{
    merge::{PARTS_A_WORKER, in_parallel, shares, split},
    partition::{AtPivot, partition_at, sample},
    sort::SHORTEST_SHARED,
};
use crate::pool::engine::executor::Executor;

/// After this many rounds std's selection does the rest: pivots were bad, or the order is
/// inconsistent.
const ROUNDS: usize = 16;

/// Moves to `index` the item that a sort would put there. Items that are not greater are then
/// before this item, and items that are not less are behind it. `serial` is one of std's
/// selections.
#[track_caller]
pub(crate) fn select<'a, T: Send + Sync>(
    executor: &Executor,
    items: &'a mut [T],
    index: usize,
    order: &dyn AtPivot<T>,
    serial: &(dyn Fn(&mut [T], usize) + Sync),
) -> (&'a mut [T], &'a mut T, &'a mut [T]) {
    let len = items.len();
    assert!(index < len, "select_nth_unstable: index {index}, and there are {len} items");
    narrow(executor, items, index, order, serial);
    let (before, rest) = items.split_at_mut(index);
    let [item, behind @ ..] = rest else { unreachable!("the index was checked") };
    (before, item, behind)
}

/// Partitions, and goes on with the part that has the index.
#[track_caller]
fn narrow<T: Send + Sync>(
    executor: &Executor,
    mut items: &mut [T],
    mut index: usize,
    order: &dyn AtPivot<T>,
    serial: &(dyn Fn(&mut [T], usize) + Sync),
) {
    for _ in 0..ROUNDS {
        let len = items.len();
        if len < SHORTEST_SHARED || size_of::<T>() == 0 || !executor.is_free() {
            break;
        }
        if index == 0 || index == len - 1 {
            return move_extreme(executor, items, index, serial);
        }
        let pivot = pivot(items, index, serial);
        items.swap(0, pivot);
        let [pivot, others @ ..] = &mut *items else { unreachable!("a long slice") };
        let less = partition_at(executor, others, order, pivot, false);
        items.swap(0, less);
        if index < less {
            items = &mut items[..less];
            continue;
        }
        // The pivot is the first item of the rest.
        let [pivot, others @ ..] = &mut items[less..] else { unreachable!("the pivot") };
        let many_are_equal = less < len / 8;
        let equal = if many_are_equal { partition_at(executor, others, order, pivot, true) } else { 0 };
        let Some(behind) = index.checked_sub(less + 1 + equal) else { return };
        (items, index) = (&mut others[equal..], behind);
    }
    serial(items, index);
}

/// Moves the least item to `index` 0, or the greatest item to the last `index`. std's selection
/// finds such an item by one pass.
#[track_caller]
fn move_extreme<T: Send>(
    executor: &Executor,
    items: &mut [T],
    index: usize,
    serial: &(dyn Fn(&mut [T], usize) + Sync),
) {
    let end = |len: usize| if index == 0 { 0 } else { len - 1 };
    let parts: Vec<usize> = shares(items.len(), executor.workers * PARTS_A_WORKER).collect();
    in_parallel(executor, split(items, &parts), &|part: &mut [T]| serial(part, end(part.len())));
    let mut begin = 0;
    for (i, part) in parts.iter().enumerate() {
        items.swap(i, begin + end(*part));
        begin += part;
    }
    let found = end(parts.len());
    serial(&mut items[..parts.len()], found);
    items.swap(found, index);
}

/// The index of a pivot that probably lies beyond `index`, on the side that has more items. Moves a
/// sample to the front of `items`, and selects the pivot from it.
fn pivot<T>(items: &mut [T], index: usize, serial: &dyn Fn(&mut [T], usize)) -> usize {
    let len = items.len();
    let size = len.isqrt();
    sample(items, size);
    // Three standard deviations of the rank of a median.
    let beyond = 3 * size.isqrt() / 2;
    let rank = (index / (len / size)).min(size - 1);
    let rank = if index < len / 2 { (rank + beyond).min(size - 1) } else { rank.saturating_sub(beyond) };
    serial(&mut items[..size], rank);
    rank
}
