//! The choice of a victim: a thief steals from the worker that has the most items left. If several
//! workers have about the same number of items left, it steals from the nearest of them.
//!
//! A cell lies in the cache of the worker that claims from it. After an earlier call, the items of
//! the worker most likely lie there, too. A thief that shares this cache gets the cell and the
//! items cheaply. From another cache of the same NUMA node they cost more, and from another node
//! they cost the most. But a thief that takes few items must soon steal again, so a victim that has
//! many more items left is worth the distance. `check/simulator.rs` shows the time that this saves
//! on large machines.

use super::site::scatter;
use crate::pool::place::topology::Distance;

/// In workers: from this many on, victims are chosen partly at random. If many thieves choose the
/// same victim at once, all but one of them find fewer items than they saw.
const MANY_WORKERS: usize = 32;
/// Two ranges count as about equally large if their lengths differ by at most the length of the
/// larger range divided by this number.
const CLOSE_PARTS: usize = 4;

/// A number for the `nth` request of a `thief` for a victim, in a loop of `workers` workers. It
/// differs from thief to thief and from request to request. `None` among few workers.
pub(crate) fn spread(workers: usize, thief: usize, nth: u64) -> Option<u64> {
    (workers >= MANY_WORKERS).then(|| scatter((thief as u64) << u32::BITS ^ nth))
}

/// The victim among `others`. Each entry is a worker, the number of its items left, and its
/// distance. A worker qualifies if it has at least three quarters of the largest number of items
/// left. The victim is the nearest worker that qualifies. Of several equally near workers, it is
/// the one with the most items. Of several workers with equally many items, it is the one with the
/// highest number, so that the caller (worker 0) is spared if possible. `None` if no items are
/// left.
///
/// With a `draw`, equally near workers are compared by reduced numbers: a random part of up to a
/// quarter is taken off the items of each worker. So workers with equal numbers of items are chosen
/// equally often. A worker with fewer items is chosen less often. A worker with less than three
/// quarters of the largest number is never chosen.
///
/// The threshold is three quarters and not a half, since a range that has just been halved must not
/// qualify beside a range that no thief has halved yet. With a threshold of a half, thieves would
/// empty the near ranges first, and then all turn to the far ranges at once. In the simulator,
/// loops whose cost grows with the index or lies on one node then took up to 6 % longer than with
/// victims chosen by size alone. With a threshold of nine tenths, the number of thefts between
/// nodes grows by a factor of up to two if costs are noisy.
pub(crate) fn victim(
    others: impl IntoIterator<Item = (usize, usize, Distance)>,
    draw: Option<u64>,
) -> Option<usize> {
    let mut richest = [(0, 0, 0); Distance::Beyond as usize + 1]; // at each distance, the nearest first
    let mut most = 0;
    for (worker, left, distance) in others {
        let seems = left - draw.map_or(0, |draw| part(left / CLOSE_PARTS, scatter(draw ^ worker as u64)));
        let richest = &mut richest[distance as usize];
        *richest = (seems, worker, left).max(*richest);
        most = left.max(most);
    }
    let found = richest.into_iter().find(|&(.., left)| left >= most - most / CLOSE_PARTS);
    found.filter(|_| most > 0).map(|(_, worker, _)| worker)
}

/// `whole * draw / 2^64`, rounded down.
fn part(whole: usize, draw: u64) -> usize {
    ((whole as u128 * u128::from(draw)) >> u64::BITS) as usize
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::pool::place::topology::Distance::*;

    #[test]
    fn the_near_are_victims_if_they_have_about_as_much() {
        let from = |others: &[_]| victim(others.iter().copied(), None);
        assert_eq!(from(&[]), None);
        assert_eq!(from(&[(1, 0, Cache), (2, 0, Beyond)]), None);
        assert_eq!(from(&[(1, 0, Cache), (2, 1, Beyond)]), Some(2));
        // A near worker has three quarters of the most items, or just less.
        assert_eq!(from(&[(1, 75, Cache), (2, 100, Beyond)]), Some(1));
        assert_eq!(from(&[(1, 74, Cache), (2, 100, Beyond)]), Some(2));
        assert_eq!(from(&[(1, 74, Cache), (2, 75, Node), (3, 100, Beyond)]), Some(2));
        assert_eq!(from(&[(1, 80, Beyond), (2, 80, Node), (3, 80, Cache), (4, 80, Node)]), Some(3));
        // Of equally near workers, the victim is the one with the most items.
        assert_eq!(from(&[(1, 80, Cache), (2, 90, Cache), (3, 76, Cache), (4, 100, Node)]), Some(2));
        // The rule holds for few items, too: three of four items qualify, two of three do not.
        assert_eq!(from(&[(1, 3, Cache), (2, 4, Node)]), Some(1));
        assert_eq!(from(&[(1, 2, Cache), (2, 3, Node)]), Some(2));
        assert_eq!(from(&[(1, 1, Cache), (2, 1, Node)]), Some(1));
        // The caller comes last, but not if the other victim is farther away.
        assert_eq!(from(&[(0, 9, Node), (1, 9, Node)]), Some(1));
        assert_eq!(from(&[(1, 9, Node), (0, 9, Node)]), Some(1));
        assert_eq!(from(&[(0, 9, Cache), (1, 9, Node)]), Some(0));
        // The largest possible numbers.
        assert_eq!(from(&[(1, usize::MAX / 2, Cache), (2, usize::MAX, Beyond)]), Some(2));
        assert_eq!(from(&[(1, usize::MAX - 1, Cache), (2, usize::MAX, Beyond)]), Some(1));
    }

    /// Workers 0, 1, 2 ...
    fn others() -> impl Strategy<Value = Vec<(usize, usize, Distance)>> {
        let left = prop_oneof![0..6_usize, 70..110_usize, any::<usize>()];
        let distance = prop_oneof![Just(Cache), Just(Node), Just(Beyond)];
        prop::collection::vec((left, distance), 0..12).prop_map(|others| {
            others
                .into_iter()
                .enumerate()
                .map(|(worker, (left, distance))| (worker, left, distance))
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_victim_has_about_as_much_as_anybody_and_nobody_nearer_has(others in others()) {
            let most = others.iter().map(|&(_, left, _)| left).max().unwrap_or(0);
            let about_as_much = |left: usize| left as u128 * 4 >= most as u128 * 3;
            let found = victim(others.iter().copied(), None);
            prop_assert_eq!(found.is_some(), most > 0);
            if let Some(victim) = found {
                let (_, left, distance) = others[victim];
                prop_assert!(left > 0 && about_as_much(left));
                for &(worker, its, at) in &others {
                    prop_assert!(at >= distance || !about_as_much(its), "{} is nearer", worker);
                    prop_assert!(at != distance || (its, worker) <= (left, victim), "{} has more", worker);
                }
            }
            prop_assert_eq!(victim(others.into_iter().rev(), None), found, "the order matters");
        }

        #[test]
        fn by_chance_too_a_victim_has_about_as_much_and_nobody_nearer_has_the_most(
            others in others(),
            draw in any::<u64>(),
        ) {
            let most = others.iter().map(|&(_, left, _)| left).max().unwrap_or(0);
            let found = victim(others.iter().copied(), Some(draw));
            prop_assert_eq!(found.is_some(), most > 0);
            if let Some(victim) = found {
                let (_, left, distance) = others[victim];
                prop_assert!(left > 0 && left as u128 * 4 >= most as u128 * 3);
                for &(worker, its, at) in &others {
                    prop_assert!(at >= distance || its < most, "{} is nearer", worker);
                }
            }
            prop_assert_eq!(victim(others.into_iter().rev(), Some(draw)), found, "the order matters");
        }

        #[test]
        fn among_few_workers_chance_has_no_say(
            others in others(),
            workers in 2..MANY_WORKERS,
            thief in 0..MANY_WORKERS,
            nth in any::<u64>(),
        ) {
            let found = victim(others.iter().copied(), spread(workers, thief, nth));
            prop_assert_eq!(found, victim(others.iter().copied(), None));
        }

        #[test]
        fn where_all_are_equally_far_the_largest_is_the_victim(others in others()) {
            let largest = others.iter().filter(|&&(_, left, _)| left > 0).max_by_key(|&&(worker, left, _)| (left, worker));
            for distance in [Cache, Node, Beyond] {
                let equally_far = others.iter().map(|&(worker, left, _)| (worker, left, distance));
                prop_assert_eq!(victim(equally_far, None), largest.map(|&(worker, ..)| worker));
            }
        }
    }

    #[test]
    fn many_thieves_find_many_victims() {
        let victims = |workers: usize, left: fn(usize) -> usize| {
            let thieves = 0..workers;
            let victim_of = |thief| {
                let others = (0..workers).filter(|&other| other != thief);
                victim(others.map(|other| (other, left(other), Node)), spread(workers, thief, 1))
            };
            thieves.map(victim_of).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(victims(MANY_WORKERS - 1, |_| 100), 2, "all but the last steal from the last");
        assert!(victims(MANY_WORKERS, |_| 100) > MANY_WORKERS / 2);
        assert!(victims(MANY_WORKERS, |worker| 80 + worker % 20) > MANY_WORKERS / 6);
        assert_eq!(
            victims(MANY_WORKERS, |worker| if worker == 9 { 100 } else { 74 }),
            2,
            "one has clearly the most"
        );
        let again = |nth| {
            let others = (1..MANY_WORKERS).map(|other| (other, 100, Node));
            victim(others, spread(MANY_WORKERS, 0, nth))
        };
        assert!(
            (0..MANY_WORKERS as u64).map(again).collect::<BTreeSet<_>>().len() > MANY_WORKERS / 2,
            "each time another"
        );
    }
}
