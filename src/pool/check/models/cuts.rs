//! Early exit and cancelling: `truncate` against pop and steal.

use loom::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};

use super::{small::*, *};
use crate::pool::{
    engine::handles::{CancelToken, Watch},
    tell::units::Units,
};

/// Claims until nothing is left for worker `me`, and calls `claimed` for each claim. Once this
/// worker has learnt that all ranges are closed, which means truncated at 0, it begins no claim.
fn drain_before(
    ranges: &Ranges,
    claims: &Claims,
    me: usize,
    closed: Option<&AtomicBool>,
    claimed: impl Fn(Range<usize>),
) {
    let end = || if closed.is_some_and(|closed| closed.load(Acquire)) { 0 } else { usize::MAX };
    let mut before = end();
    let (mut owner, first) = ranges.enter(me);
    let mut items = first.map_or(0..0, |item| item..item + 1);
    loop {
        if !items.is_empty() {
            assert!(items.end <= before, "{items:?} claimed after the end");
            claims.claim(items.clone());
            claimed(items);
        }
        before = end();
        items = if owner.left() > 0 {
            pop(&mut owner)
        } else {
            let Some(loot) = owner.steal(&mut Halves) else { break };
            loot.item..loot.item + 1
        };
    }
}

/// A `truncate` at 1 or at 0 while worker 0 drains. Worker 1, which is this thread, has not
/// begun. If the cut is at 1, item 0 is claimed exactly once all the same.
fn cut_while_draining(closes: bool) {
    explore_all(move || {
        let small = SmallLoop::new(2, Fence::Symmetric, 6, 2);
        let closed = Arc::new(AtomicBool::new(false));
        let other = {
            let (small, closed) = (Arc::clone(&small), Arc::clone(&closed));
            thread::spawn(move || drain_before(&small.ranges, &small.claims, 0, Some(&closed), |_| ()))
        };
        small.ranges.truncate(usize::from(!closes));
        closed.store(closes, Release);
        small.drain(1);
        other.join().unwrap();
        small.claims.assert_all_before(usize::from(!closes));
    });
}

#[test]
fn a_cut_keeps_the_items_before_it() {
    cut_while_draining(false);
}

#[test]
fn who_knows_of_the_end_claims_nothing() {
    cut_while_draining(true);
}

/// The worker that claims the item at `at` truncates the ranges there. Meanwhile the other worker
/// pops and steals. At first all items belong to worker 0.
fn stop(items: usize, at: usize) {
    explore(move || {
        let small = SmallLoop::new(2, Fence::Symmetric, items, 1);
        let worker = |me| {
            let small = Arc::clone(&small);
            move || {
                drain_before(&small.ranges, &small.claims, me, None, |items| {
                    if items.contains(&at) {
                        small.ranges.truncate(at);
                    }
                });
            }
        };
        let other = thread::spawn(worker(1));
        worker(0)();
        other.join().unwrap();
        small.claims.assert_all_before(at + 1);
    });
}

#[test]
fn a_stop_against_pop_and_steal() {
    stop(6, 1);
}

/// A `truncate` at 3 while worker 0 pops and worker 1 steals from it.
fn cut_during_a_theft() {
    explore(|| {
        let small = SmallLoop::new(2, Fence::Symmetric, 4, 1);
        let thief = {
            let small = Arc::clone(&small);
            thread::spawn(move || small.try_steal(1, 0, half))
        };
        let cutter = {
            let small = Arc::clone(&small);
            thread::spawn(move || small.ranges.truncate(3))
        };
        small.empty::<1>(0);
        thief.join().unwrap();
        cutter.join().unwrap();
        small.empty::<1>(1);
        small.claims.assert_all_before(3);
    });
}

#[test]
fn a_cut_during_a_theft() {
    cut_during_a_theft();
}

/// A token is cancelled while a loop of one worker begins, runs or ends. The next loop does not
/// have the token, and must claim all its items.
fn cancel() {
    explore_all(|| {
        let ranges = Arc::new(Ranges::new(1, Fence::Symmetric));
        let (token, is_cut) = (CancelToken::new(), Arc::new(AtomicBool::new(false)));
        let other = {
            let (token, is_cut) = (token.clone(), Arc::clone(&is_cut));
            thread::spawn(move || {
                token.cancel();
                is_cut.store(true, Release);
            })
        };
        let watch = Watch { cancel: Some(&token), ..Watch::default() };
        for watch in [watch, Watch::default()] {
            let claims = Claims::new(3);
            ranges.partition(0..3, &[]);
            watch.begin(&ranges, Units::Items, 0..3);
            drain_before(&ranges, &claims, 0, watch.cancel.map(|_| &*is_cut), |_| ());
            watch.end(&ranges);
            if watch.cancel.is_none() {
                claims.assert_all_before(3);
            }
        }
        other.join().unwrap();
    });
}

#[test]
fn a_cancelled_loop_ends_and_the_next_is_whole() {
    cancel();
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "after the end")]
    fn a_close_of_one_cell_after_the_other() {
        with(Bug::CutsOneByOne, || cut_while_draining(true));
    }

    #[test]
    #[should_panic(expected = "item")] // claimed twice or not at all
    fn a_cut_during_a_theft_that_locks_nothing() {
        with(Bug::CutsUnlocked, cut_during_a_theft);
    }

    #[test]
    #[should_panic(expected = "after the end")]
    fn a_close_that_locks_nothing() {
        with(Bug::CutsUnlocked, || cut_while_draining(true));
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn a_stop_that_lengthens_a_range() {
        with(Bug::CutsLonger, || stop(4, 3));
    }

    #[test]
    #[should_panic(expected = "after the end")]
    fn a_loop_that_looks_before_its_token_knows_it() {
        with(Bug::LooksBeforeItTells, cancel);
    }

    #[test]
    #[should_panic(expected = "left out")]
    fn a_token_that_still_knows_a_loop_that_is_over() {
        with(Bug::StaysWithToken, cancel);
    }
}
