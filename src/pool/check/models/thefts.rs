//! Single thefts: by one thief or two thieves, of many items or few items, from a victim that pops
//! or from a victim that steals.

use super::{small::*, *};

/// A theft of all items. A profile may suggest such a theft.
const FIRST: At = |left| Some(left.start);
/// The smallest theft. A profile may suggest such a theft.
const LAST: At = |left| Some(left.end - 1);

/// Worker 0 pops blocks of `N` while each thief makes one attempt to steal from its `victim`. The
/// items that are left are claimed afterwards.
fn stolen_from<const N: usize>(fence: Fence, items: usize, thieves: &[(usize, At)]) {
    let workers = 1 + thieves.len();
    let small = SmallLoop::new(workers, fence, items, 1);
    let threads: Vec<_> = (1..)
        .zip(thieves)
        .map(|(me, &(victim, middle))| {
            let small = Arc::clone(&small);
            thread::spawn(move || small.try_steal(me, victim, middle))
        })
        .collect();
    small.empty::<N>(0);
    for thief in threads {
        thief.join().unwrap();
    }
    (1..workers).for_each(|me| small.empty::<1>(me));
    small.assert_all_claimed();
}

#[test]
fn blocks_against_a_thief() {
    explore_all(|| stolen_from::<2>(Fence::Symmetric, 5, &[(0, half)]));
}

#[test]
fn pop_against_a_thief_of_all() {
    explore(|| stolen_from::<1>(Fence::Symmetric, 4, &[(0, FIRST)]));
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn pop_against_a_thief_of_all_in_all_schedules() {
    explore_all(|| stolen_from::<1>(Fence::Symmetric, 4, &[(0, FIRST)]));
}

#[test]
fn pop_against_a_thief_of_the_last() {
    explore_all(|| stolen_from::<1>(Fence::Symmetric, 3, &[(0, LAST)]));
}

#[test]
fn two_thieves_on_one_victim() {
    explore(|| stolen_from::<1>(Fence::Symmetric, 4, &[(0, half), (0, half)]));
}

#[test]
fn a_thief_of_a_thief() {
    explore(|| stolen_from::<1>(Fence::Symmetric, 4, &[(0, half), (1, FIRST)]));
}

/// All items belong to worker 1, which sleeps. Worker 0 takes them. Meanwhile worker 2 reads cell 0
/// and then cell 1, and must find the items in one of them.
fn looks_twice() {
    explore(|| {
        let small = Arc::new(SmallLoop { ranges: Ranges::new(3, Fence::Symmetric), claims: Claims::new(4) });
        small.ranges.partition(0..4, &[0, 4]);
        let other = {
            let small = Arc::clone(&small);
            thread::spawn(move || small.try_steal(0, 1, FIRST))
        };
        let (mut owner, _) = small.ranges.enter(2);
        let loot = owner.steal(&mut Halves).expect("nobody leaves early");
        small.claims.claim(loot.item..loot.item + 1);
        other.join().unwrap();
        (0..3).for_each(|me| small.empty::<1>(me));
        small.assert_all_claimed();
    });
}

#[test]
fn nobody_leaves_while_something_moves() {
    looks_twice();
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn blocks_against_a_thief_without_fences() {
        explore_all(|| stolen_from::<2>(Fence::Missing, 5, &[(0, half)]));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn pop_against_a_thief_of_all_without_fences() {
        explore_all(|| stolen_from::<1>(Fence::Missing, 4, &[(0, FIRST)]));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn pop_against_a_thief_of_the_last_without_fences() {
        explore_all(|| stolen_from::<1>(Fence::Missing, 3, &[(0, LAST)]));
    }

    #[test]
    fn nothing_is_left_out_when_fences_are_refused() {
        explore_all(|| stolen_from::<1>(Fence::Refusing, 4, &[(0, half)]));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn a_refused_fence_that_is_taken_for_done() {
        explore_all(|| stolen_from::<1>(Fence::OnlyLight, 4, &[(0, half)]));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn two_thieves_on_one_victim_without_fences() {
        explore(|| stolen_from::<1>(Fence::Missing, 4, &[(0, half), (0, half)]));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn two_thieves_that_keep_too_much() {
        with(Bug::KeepsOneTooMany, || {
            explore(|| stolen_from::<1>(Fence::Symmetric, 4, &[(0, half), (0, half)]))
        });
    }

    /// If the first theft is undone after the second theft, the items of the second theft are
    /// claimed twice.
    #[test]
    #[should_panic(expected = "claimed twice")]
    fn a_thief_of_a_thief_that_is_undecided() {
        with(Bug::LetsGoUndecided, || {
            explore(|| stolen_from::<1>(Fence::Symmetric, 4, &[(0, half), (1, FIRST)]))
        });
    }

    #[test]
    #[should_panic(expected = "nobody leaves early")]
    fn a_scan_that_is_not_repeated() {
        with(Bug::ScansOnce, looks_twice);
    }

    #[test]
    #[should_panic(expected = "nobody leaves early")]
    fn a_theft_that_cuts_before_it_shows() {
        with(Bug::CutsBeforeItShows, looks_twice);
    }
}
