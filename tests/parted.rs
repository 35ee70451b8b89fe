//! Tests of sources in parts, as rangesteal-rayon makes them of other crates' iterators.

use std::{
    ops::Range,
    sync::atomic::{AtomicIsize, Ordering::Relaxed},
};

use rangesteal::{
    Pool, source,
    source::{InParts, Splittable, portioned},
};

/// Counts the numbers that are alive.
struct Counted<'a>(usize, &'a AtomicIsize);

impl<'a> Counted<'a> {
    fn new(number: usize, alive: &'a AtomicIsize) -> Self {
        alive.fetch_add(1, Relaxed);
        Self(number, alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Relaxed);
    }
}

/// Some numbers, and `more` items in each part than it should have, or fewer.
struct Numbers<'a>(Range<usize>, isize, &'a AtomicIsize);

impl<'a> Splittable for Numbers<'a> {
    type Item = Counted<'a>;
    type Items = std::vec::IntoIter<Counted<'a>>;

    fn split_at(self, len: usize) -> (Self, Self) {
        let Self(Range { start, end }, more, alive) = self;
        (Self(start..start + len, more, alive), Self(start + len..end, more, alive))
    }

    fn into_items(self) -> Self::Items {
        let Self(Range { start, end }, more, alive) = self;
        let end = end.saturating_add_signed(more).max(start);
        (start..end).map(|number| Counted::new(number, alive)).collect::<Vec<_>>().into_iter()
    }
}

const LEN: usize = 1000;

fn pools() -> [Pool; 2] {
    [1, 2].map(|threads| Pool::builder().num_threads(threads).build().unwrap())
}

/// A part that has more items than it says, or fewer, makes no more results than there are places,
/// and all its items are dropped once.
#[test]
fn a_part_with_a_wrong_number_of_items() {
    let alive = AtomicIsize::new(0);
    for pool in pools() {
        for more in [-2, -1, 0, 1, 7] {
            let on = |grain| pool.on(InParts::new(Numbers(0..LEN, more, &alive), LEN)).grain(grain);
            for grain in [1, 10, LEN] {
                let collected = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    on(grain).map(|item| item.0).collect::<Vec<_>>()
                }));
                match collected {
                    Ok(all) => assert!(more >= 0 && all.into_iter().eq(0..LEN), "{more} more"),
                    Err(_) => assert!(more < 0, "{more} more"),
                }
                assert_eq!(alive.load(Relaxed), 0, "{more} more, collect");
                let failed = on(grain).map(|item| if item.0 < 555 { Ok(item) } else { Err(()) });
                let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    failed.collect::<Result<Vec<_>, _>>().err()
                }));
                assert!(more < 0 || failed.is_ok_and(|error| error.is_some()));
                assert_eq!(alive.load(Relaxed), 0, "{more} more, an error");
                let (small, large) = on(grain).map(|item| item.0).partition(|number| *number < 500);
                assert!(more < 0 || small.len() >= 500 && large.len() >= 500);
                on(grain).for_each(drop);
                assert_eq!(alive.load(Relaxed), 0, "{more} more, partition");
            }
        }
    }
}

/// Vectors of neighbouring items, from both ends, also if a claim begins or ends among them.
#[test]
fn chunks_of_a_source_in_parts() {
    let alive = AtomicIsize::new(0);
    for pool in pools() {
        for len in [0, 1, 6, 7, 8, LEN] {
            for size in [1, 2, 7, 2 * LEN] {
                let parts = || source(InParts::new(Numbers(0..len, 0, &alive), len));
                let on = || parts().map(|item| item).chunks(size);
                let numbers =
                    |piece: Vec<Counted<'_>>| piece.into_iter().map(|item| item.0).collect::<Vec<_>>();
                let all: Vec<usize> = (0..len).collect();
                let expected: Vec<Vec<usize>> = all.chunks(size).map(<[usize]>::to_vec).collect();
                assert_eq!(pool.on(on()).map(numbers).collect::<Vec<_>>(), expected);
                let backward: Vec<_> = pool.on(on()).rev().map(numbers).collect();
                assert!(backward.iter().eq(expected.iter().rev()), "{len} items by {size}, in reverse");
                let stepped: Vec<_> = pool.on(on()).skip(1).step_by(2).map(numbers).collect();
                assert!(stepped.iter().eq(expected.iter().skip(1).step_by(2)));
                portioned(on(), |all| {
                    let count = all.len();
                    let (first, second) = all.split_at(count / 2);
                    let (mut first, mut second) = (first.items(), second.items());
                    let ends = [first.next_back(), second.next()].map(|piece| piece.map(numbers));
                    let of = |at: usize| expected.get(at).cloned();
                    assert_eq!(ends, [(count / 2).checked_sub(1).and_then(of), of(count / 2)]);
                });
                // The other items of the pairs are moved out of a vector.
                let pairs = || {
                    let owned: Vec<_> = (0..len).map(|number| Counted::new(number, &alive)).collect();
                    parts().zip(owned).map(|(a, b)| (a.0 == b.0, b)).chunks(size)
                };
                let are_pairs = |piece: Vec<(bool, Counted<'_>)>| piece.iter().all(|pair| pair.0);
                assert!(pool.on(pairs()).all(are_pairs) && pool.on(pairs()).rev().all(are_pairs));
                _ = pool.on(pairs()).find(|piece| piece[0].1.0 > 3);
                _ = pool.on(pairs()).rev().find(|piece| piece[0].1.0 > 3);
                assert_eq!(alive.load(Relaxed), 0);
            }
        }
    }
}
