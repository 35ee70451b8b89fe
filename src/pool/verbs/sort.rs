//! Parallel sorts. Where few items are out of order, these are taken out (`outliers`). Otherwise
//! the stable sort lets std sort pieces of the slice, and merges them (`merge`). The unstable one,
//! on few threads: the slice is cut at pivots, as quicksort does, until there are pieces for all,
//! and std sorts the pieces; nothing is copied, and the cuts are what a quicksort would have to do
//! anyway. The first cut is made by the calling thread alone, so many threads merge as well.

use std::iter;

use super::{
    chain::IntoChain,
    comparator::{By, Comparator},
    merge::{SHORTEST_PIECE, Sides, in_parallel, pieces, sort_pieces},
    on::On,
    outliers::sort_outliers,
};
use crate::pool::call::executor::Executor;

/// In items: shorter slices are sorted by the calling thread. (Random numbers would gain from
/// 10,000 items on, but slices with few distinct keys would not: std sorts these in 3 ns per item.)
const SHORTEST_SHARED: usize = 32 * 1024;
/// Workers: with more of them, merges take less time than a first cut by one thread.
const FEW_WORKERS: usize = 4;
/// Pieces per worker that an unstable sort cuts, since pieces are not of equal length.
const PIECES_A_WORKER: usize = 2;
/// In items: how many a pivot is the median of.
const PIVOT_SAMPLE: usize = 511;
/// In bytes: larger items are not moved without need.
const SMALL_ITEM: usize = 64;
/// In bytes: an ascending slice up to this size is recognised without waking a worker.
const RECOGNISED_ALONE: usize = 1 << 20;

/// An order by which a slice can be cut at a pivot.
pub(crate) trait Partition<T>: Comparator<T> {
    /// Moves the items behind the first one that go before it, or all that are not greater, to the
    /// front of the others; returns how many these are.
    fn partition(&self, items: &mut [T], equal_too: bool) -> usize;
}

impl<T, S, L: Fn(&T, &T) -> bool + Sync> Partition<T> for By<S, L>
where
    Self: Comparator<T>,
{
    fn partition(&self, items: &mut [T], equal_too: bool) -> usize {
        if equal_too {
            partition(items, |item, pivot| !(self.is_less)(pivot, item))
        } else {
            partition(items, &self.is_less)
        }
    }
}

/// Sorts `items`, not stably. `order` has one of std's unstable sorts.
#[track_caller]
pub(crate) fn sort_unstable<T: Send>(executor: &Executor, items: &mut [T], order: &dyn Partition<T>) {
    let workers = executor.workers();
    if items.len() < SHORTEST_SHARED || size_of::<T>() == 0 || !executor.is_free() || workers > FEW_WORKERS {
        return sort(executor, items, order);
    }
    if ascends(items, RECOGNISED_ALONE, order) || sort_outliers(executor, items, order) {
        return;
    }
    let (mut pieces, enough) = (vec![items], workers * PIECES_A_WORKER);
    // Twice as often as good cuts need. With bad ones, by ill luck or an order that is none, a
    // piece stays long, and it is for std not to be slow.
    for _ in 0..2 * enough.ilog2() {
        if pieces.len() >= enough {
            break;
        }
        let mut cuts: Vec<_> = pieces.iter().map(|_| [&mut [][..], &mut []]).collect();
        let jobs = iter::zip(pieces, &mut cuts).collect();
        in_parallel(executor, jobs, &|(piece, cuts)| *cuts = cut(piece, order));
        pieces = cuts.into_iter().flatten().filter(|piece| piece.len() > 1).collect();
    }
    in_parallel(executor, pieces, &|piece| order.sort(piece));
}

/// Cuts `items` into those that go before others and these, in any order. What goes between is in
/// neither.
fn cut<'a, T>(items: &'a mut [T], order: &dyn Partition<T>) -> [&'a mut [T]; 2] {
    if items.len() <= 2 * SHORTEST_PIECE {
        return [items, &mut []];
    }
    // Some items from all over the slice, to its front; the median of them to the very front.
    let step = items.len() / PIVOT_SAMPLE;
    (0..PIVOT_SAMPLE).for_each(|i| items.swap(i, i * step));
    order.sort(&mut items[..PIVOT_SAMPLE]);
    items.swap(0, PIVOT_SAMPLE / 2);
    let before = order.partition(items, false);
    items.swap(0, before);
    let (less, rest) = items.split_at_mut(before);
    if less.len() >= rest.len() / 8 {
        return [less, &mut rest[1..]];
    }
    // There may be many that are equal to the pivot.
    let equal = order.partition(rest, true);
    [less, &mut rest[1 + equal..]]
}

/// Moves the items behind the first one of which `goes_before` is true, in relation to that first
/// one, to the front of the others; returns how many these are.
#[inline(never)]
fn partition<T>(items: &mut [T], goes_before: impl Fn(&T, &T) -> bool) -> usize {
    let Some((pivot, items)) = items.split_first_mut() else { return 0 };
    let (mut before, mut end) = (0, items.len());
    if size_of::<T>() <= SMALL_ITEM {
        // No branch: whether an item goes before is as good as random.
        for at in 0..end {
            let goes = goes_before(&items[at], pivot);
            items.swap(before, at);
            before += usize::from(goes);
        }
        return before;
    }
    // What is on the right side is not written.
    loop {
        before += items[before..end].iter().take_while(|item| goes_before(item, pivot)).count();
        end -= items[before..end].iter().rev().take_while(|item| !goes_before(item, pivot)).count();
        if before + 1 >= end {
            return before; // one that is left has been found to stay
        }
        end -= 1;
        items.swap(before, end);
        before += 1;
    }
}

/// Sorts `items`, stably if the sort that `order` has is stable.
#[track_caller]
pub(crate) fn sort<T: Send>(executor: &Executor, items: &mut [T], order: &dyn Comparator<T>) {
    if items.len() < SHORTEST_SHARED || size_of::<T>() == 0 {
        return order.sort(items);
    }
    if !executor.is_free() {
        if !sort_outliers(executor, items, order) {
            order.sort(items);
        }
        return;
    }
    // Longer slices are looked through in parallel, by the sort of the pieces.
    if !ascends(items, RECOGNISED_ALONE, order) && !sort_outliers(executor, items, order) {
        sort_pieces(executor, items, pieces(executor, items.len()), order);
    }
}

/// Sorts `items` by a key that is computed once for each, stably.
#[track_caller]
pub(crate) fn sort_by_cached_key<T: Send, K: Ord + Send>(
    executor: &Executor,
    items: &mut [T],
    key: impl Fn(&T) -> K + Sync,
) {
    if items.len() < SHORTEST_PIECE || size_of::<T>() == 0 || !executor.is_free() {
        return items.sort_by_cached_key(key);
    }
    let on = On::new(executor, (&mut *items).into_chain()).enumerate();
    let mut keys = on.map(|(place, item)| (key(item), place)).collect::<Vec<_>>();
    // No two of them are equal, so that no sort needs to be stable.
    sort_unstable(executor, &mut keys, &By::new(<[_]>::sort_unstable, PartialOrd::lt));
    let mut buffer = Vec::with_capacity(items.len());
    Sides::new(items, &mut buffer).arrange(executor, keys);
}

/// Whether `items` are known to be in order, after reversing a strictly descending beginning. More
/// than so many bytes are not looked through.
fn ascends<T>(items: &mut [T], bytes: usize, order: &dyn Comparator<T>) -> bool {
    let descending = order.run(items, true);
    items[..descending].reverse();
    descending == items.len() || size_of_val(items) <= bytes && order.run(items, false) == items.len()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{super::merge::tests::items, *};

    /// Partitions and looks at what came of it.
    fn is_parted<T: Clone + Ord>(given: &[T]) {
        let mut items = given.to_vec();
        let before = partition(&mut items, |item, pivot| item < pivot);
        assert!(items.first() == given.first(), "the pivot stays");
        let ends = items.get(1..).map(|rest| rest.split_at(before));
        assert!(ends.is_none_or(|(less, rest)| {
            less.iter().all(|item| *item < items[0]) && rest.iter().all(|item| *item >= items[0])
        }));
        items.sort();
        let mut given = given.to_vec();
        given.sort();
        assert!(items == given);
    }

    #[test]
    fn items_change_places_until_each_is_on_its_side() {
        for len in (0..40).chain([if cfg!(miri) { 50 } else { 1000 }]) {
            for keys in [1, 2, 3, 100] {
                let small = items(len, keys, len as u64);
                is_parted(&small);
                let large: Vec<[u64; 16]> = small.iter().map(|item| [item.0; 16]).collect();
                is_parted(&large);
            }
        }
    }

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
