//! A sort for short lists that are seldom sorted: CPUs, runs, lines of a report.
//!
//! The sorts of std are compiled once for each type and key; each copy has 8 to 20 KB of code. Here
//! only the exchange of items is compiled for each type.

use std::mem;

/// Sorts `items` by the order `before`. The sort is stable.
pub(crate) fn sort<T>(items: &mut [T], before: &dyn Fn(&T, &T) -> bool) {
    if let [first, second] = items {
        // The commonest case takes no allocation.
        if before(second, first) {
            mem::swap(first, second);
        }
        return;
    }
    let exchanges = exchanges(items.len(), &|a, b| before(&items[a], &items[b]));
    for (at, from) in exchanges.into_iter().enumerate() {
        items.swap(at, from);
    }
}

/// Entry `i` is the index of the item to exchange with item `i`. These exchanges, in ascending
/// order of `i`, sort the items.
#[inline(never)]
fn exchanges(len: usize, before: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut order = order(len, before);
    for at in 0..len {
        while order[at] < at {
            order[at] = order[order[at]]; // an earlier exchange has moved that item
        }
    }
    order
}

/// The indices `0..len`, sorted by the order `before`, with a merge sort. If the indices are
/// already in order, each index is compared about once.
pub(crate) fn order(len: usize, before: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    let mut merged = Vec::with_capacity(len);
    let mut width = 1;
    while width < len {
        for pair in order.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([a, ..], [b, ..]) = (left, right)
                && before(right[0], left[left.len() - 1])
            {
                let (taken, from) = if before(*b, *a) { (*b, &mut right) } else { (*a, &mut left) };
                merged.push(taken);
                *from = &from[1..];
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        mem::swap(&mut order, &mut merged);
        merged.clear();
        width *= 2;
    }
    order
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_that_of_std() {
        for len in 0..200_u64 {
            for keys in [1, 2, 7, 1000] {
                let key = |at: u64| ((at * at * 2_654_435_761) >> 7) % keys;
                let items: Vec<(u64, u64)> = (0..len).map(|at| (key(at), at)).collect();
                let (mut ours, mut stds) = (items.clone(), items);
                sort(&mut ours, &|a, b| a.0 < b.0);
                stds.sort_by_key(|item| item.0);
                assert_eq!(ours, stds, "{len} items with {keys} keys");
            }
        }
    }

    #[test]
    fn items_in_order_are_compared_once() {
        let compared = std::cell::Cell::new(0);
        let before = |a: usize, b: usize| {
            compared.set(compared.get() + 1);
            a < b
        };
        assert_eq!(order(1000, &before), (0..1000).collect::<Vec<_>>());
        assert!(compared.get() < 1000, "{}", compared.get());
    }
}
