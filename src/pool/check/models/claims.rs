//! Pop against steal. Each worker pops and steals until nothing is left.

use super::{small::*, *};

/// All workers drain. Worker 0 is this thread. The items are partitioned among the first `dealt_to`
/// workers.
fn drain(workers: usize, fence: Fence, items: usize, dealt_to: usize) {
    let small = SmallLoop::new(workers, fence, items, dealt_to);
    let others: Vec<_> = (1..workers)
        .map(|me| {
            let small = Arc::clone(&small);
            thread::spawn(move || small.drain(me))
        })
        .collect();
    small.drain(0);
    for worker in others {
        worker.join().unwrap();
    }
    small.assert_all_claimed();
}

/// Two workers and four items.
fn two(fence: Fence) {
    explore_all(move || drain(2, fence, 4, 2));
}

#[test]
fn pop_against_steal() {
    explore(|| drain(2, Fence::Symmetric, 4, 2));
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn pop_against_steal_in_all_schedules() {
    two(Fence::Symmetric);
}

#[test]
fn three_workers_steal_from_each_other() {
    explore(|| drain(3, Fence::Symmetric, 2, 3));
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn three_workers_steal_from_the_largest() {
    explore(|| drain(3, Fence::Symmetric, 3, 3));
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    fn nothing_is_left_out_if_only_late_workers_are_victims() {
        explore(|| drain(2, Fence::Refusing, 4, 2));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn pop_against_steal_without_fences() {
        two(Fence::Missing);
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn pop_against_steal_with_the_light_fence_alone() {
        two(Fence::OnlyLight);
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn pop_against_steal_with_the_heavy_fence_alone() {
        two(Fence::OnlyHeavy);
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn pop_against_a_thief_that_keeps_too_much() {
        with(Bug::KeepsOneTooMany, || two(Fence::Symmetric));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn pop_against_a_thief_that_cuts_one_too_few() {
        with(Bug::CutsOneTooFew, || two(Fence::Symmetric));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn pop_against_a_thief_that_locks_its_own_cell_first() {
        // Three items: with four, no schedule of two workers ends in a deadlock.
        with(Bug::OwnLockFirst, || explore_all(|| drain(2, Fence::Symmetric, 3, 2)));
    }

    /// The kernel refuses the fence, so only late workers are victims.
    #[test]
    #[should_panic(expected = "claimed twice")]
    fn a_worker_that_enters_unknown_is_a_victim_without_a_fence() {
        with(Bug::EntersUnknown, || two(Fence::Refusing));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn three_workers_steal_from_each_other_and_cut_one_too_few() {
        with(Bug::CutsOneTooFew, || explore(|| drain(3, Fence::Symmetric, 2, 3)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn three_workers_steal_from_each_other_and_lock_their_own_cell_first() {
        with(Bug::OwnLockFirst, || explore(|| drain(3, Fence::Symmetric, 2, 3)));
    }

    /// Two thieves from the beginning. loom finds a bug at once, but without a bug there are too
    /// many schedules to explore.
    fn two_steal_from_the_third(fence: Fence) {
        explore(move || drain(3, fence, 2, 1));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn three_workers_that_keep_too_much() {
        with(Bug::KeepsOneTooMany, || two_steal_from_the_third(Fence::Symmetric));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn three_workers_without_fences() {
        two_steal_from_the_third(Fence::Missing);
    }
}
