//! loom models of the real types. Run with
//! `RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release --lib models`.
//!
//! Two threads are explored exhaustively, three with at most three preemptions (two have missed a real bug). Next to the models of
//! each step stands one with a planted bug that must be caught: a model that passes whatever happens proves nothing.

use std::{
    convert::Infallible,
    ops::Range,
    sync::{
        Arc,
        atomic::{
            AtomicUsize,
            Ordering::{Acquire, Release, SeqCst},
        },
    },
    time::Duration,
};

use loom::{cell::UnsafeCell, model::Builder, thread};

use super::{
    barrier::Barrier,
    fence::Fence,
    range::{Owner, Ranges, Stealing, Theft, half},
    units::{Front, Units},
};

/// Explores `model`; with three threads or more, up to three preemptions.
fn explore(threads: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = (threads > 2).then_some(3);
    builder.check(model);
}

/// A round on the real range cells, with a count of the claims of each item.
struct Round {
    ranges: Ranges,
    claims: Vec<AtomicUsize>, // std's: loom need not interleave the counting
}

impl Round {
    fn new(workers: usize, fence: Fence, stealing: Stealing, items: usize, dealt_to: usize) -> Arc<Self> {
        let round = Self {
            ranges: Ranges::new(workers, fence, stealing),
            claims: (0..items).map(|_| AtomicUsize::new(0)).collect(),
        };
        let bounds: Vec<usize> = (1..dealt_to).map(|worker| (items * worker).div_ceil(dealt_to)).collect();
        round.ranges.deal(0..items, &bounds);
        Arc::new(round)
    }

    fn claim(&self, items: Range<usize>) {
        for item in items {
            assert_eq!(self.claims[item].fetch_add(1, SeqCst), 0, "item {item} claimed twice");
        }
    }

    /// What `Round::drain` does, item by item.
    fn drain(&self, me: usize) {
        let (mut owner, mut first) = self.ranges.enter(me);
        while let Some(item) = first.take().or_else(|| Some(owner.steal(&half)?.item)) {
            self.claim(item..item + 1);
            while owner.left() > 0 {
                self.claim(self.pop(&mut owner));
            }
        }
    }

    /// Empties the range of worker `me`, in blocks of `N` where there are as many.
    fn empty<const N: usize>(&self, me: usize) {
        let (mut owner, first) = self.ranges.enter(me);
        if let Some(item) = first {
            self.claim(item..item + 1);
        }
        while owner.left() > 0 {
            if owner.left() >= N {
                let claim = |(), items| {
                    self.claim(items);
                    Ok::<_, Infallible>(())
                };
                let Ok(((), contested)) = owner.fold::<N, _, _>(1, (), claim);
                if contested {
                    self.claim(owner.settle(N));
                }
            } else {
                self.claim(self.pop(&mut owner));
            }
        }
    }

    /// Pops one item, if it can be had; not yet counted.
    fn pop(&self, owner: &mut Owner<'_>) -> Range<usize> {
        let Ok((popped, contested)) = owner.fold::<1, _, _>(1, 0..0, |_, items| Ok::<_, Infallible>(items));
        if contested { owner.settle(1) } else { popped }
    }

    fn assert_all_claimed(&self) {
        for (item, claims) in self.claims.iter().enumerate() {
            assert_eq!(claims.load(SeqCst), 1, "item {item} left out");
        }
    }
}

/// All workers drain, worker 0 on this thread.
fn all_drain(workers: usize, fence: Fence, stealing: Stealing, items: usize) {
    explore(workers, move || {
        let round = Round::new(workers, fence, stealing, items, workers);
        let others: Vec<_> = (1..workers)
            .map(|me| {
                let round = Arc::clone(&round);
                thread::spawn(move || round.drain(me))
            })
            .collect();
        round.drain(0);
        others.into_iter().for_each(|worker| worker.join().unwrap());
        round.assert_all_claimed();
    });
}

#[test]
fn pop_against_steal() {
    all_drain(2, Fence::Symmetric, Stealing::Largest, 3);
}

#[test]
#[should_panic(expected = "claimed twice")]
fn pop_against_steal_without_fences() {
    all_drain(2, Fence::Missing, Stealing::Largest, 3);
}

#[test]
fn nothing_is_left_out_without_stealing() {
    all_drain(2, Fence::Symmetric, Stealing::Off, 4);
}

#[test]
fn nothing_is_left_out_when_fences_are_refused() {
    robbed::<1>(1, Fence::Refusing, 4, half);
}

#[test]
fn three_workers_steal_from_each_other() {
    all_drain(3, Fence::Symmetric, Stealing::Neighbour, 2);
}

type Middle = fn(usize, Range<usize>) -> Option<usize>;

/// Thefts of everything, and of as little as can be: a profile may suggest both.
const FIRST: Middle = |_, left| Some(left.start);
const LAST: Middle = |_, left| Some(left.end - 1);

/// The victim pops blocks of `N` while each thief makes one attempt; what the thieves leave is claimed afterwards.
fn robbed<const N: usize>(thieves: usize, fence: Fence, items: usize, middle: Middle) {
    explore(1 + thieves, move || {
        let round = Round::new(1 + thieves, fence, Stealing::Largest, items, 1);
        let threads: Vec<_> = (1..=thieves)
            .map(|me| {
                let round = Arc::clone(&round);
                thread::spawn(move || {
                    let (mut owner, nothing) = round.ranges.enter(me);
                    assert_eq!(nothing, None);
                    if let Theft::Done(item) = owner.rob(0, middle) {
                        round.claim(item..item + 1);
                    }
                })
            })
            .collect();
        round.empty::<N>(0);
        threads.into_iter().for_each(|thief| thief.join().unwrap());
        (1..=thieves).for_each(|me| round.empty::<1>(me));
        round.assert_all_claimed();
    });
}

#[test]
fn blocks_against_a_thief() {
    robbed::<2>(1, Fence::Symmetric, 5, half);
}

#[test]
#[should_panic(expected = "claimed twice")]
fn blocks_against_a_thief_without_fences() {
    robbed::<2>(1, Fence::Missing, 5, half);
}

#[test]
fn pop_against_a_thief_of_all() {
    robbed::<1>(1, Fence::Symmetric, 4, FIRST);
}

#[test]
#[should_panic(expected = "claimed twice")]
fn pop_against_a_thief_of_all_without_fences() {
    robbed::<1>(1, Fence::Missing, 4, FIRST);
}

#[test]
fn pop_against_a_thief_of_the_last() {
    robbed::<1>(1, Fence::Symmetric, 3, LAST);
}

#[test]
#[should_panic(expected = "claimed twice")]
fn pop_against_a_thief_of_the_last_without_fences() {
    robbed::<1>(1, Fence::Missing, 3, LAST);
}

#[test]
fn two_thieves_on_one_victim() {
    robbed::<1>(2, Fence::Symmetric, 4, half);
}

#[test]
#[should_panic(expected = "claimed twice")]
fn two_thieves_on_one_victim_without_fences() {
    robbed::<1>(2, Fence::Missing, 4, half);
}

/// A cut at 1 while worker 0 drains and worker 1, this thread, has not begun. Item 0 is claimed exactly once all the same; of the others no
/// claim starts after the cut.
fn cut_while_draining(cut: fn(&Ranges)) {
    explore(2, move || {
        let round = Round::new(2, Fence::Symmetric, Stealing::Largest, 6, 2);
        let is_cut = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        let other = {
            let (round, is_cut) = (Arc::clone(&round), Arc::clone(&is_cut));
            thread::spawn(move || {
                let (mut owner, mut first) = round.ranges.enter(0);
                loop {
                    let too_late = is_cut.load(Acquire);
                    let claimed = match first.take() {
                        Some(item) => item..item + 1,
                        None if owner.left() > 0 => round.pop(&mut owner),
                        None => match owner.steal(&half) {
                            Some(loot) => loot.item..loot.item + 1,
                            None => break,
                        },
                    };
                    let before = claimed.is_empty() || claimed.end <= 1;
                    assert!(!too_late || before, "{claimed:?} claimed behind the cut");
                    round.claim(claimed);
                }
            })
        };
        cut(&round.ranges);
        is_cut.store(true, Release);
        round.drain(1);
        other.join().unwrap();
        assert_eq!(round.claims[0].load(SeqCst), 1, "item 0 left out");
    });
}

#[test]
fn no_claim_starts_behind_a_cut() {
    cut_while_draining(|ranges| ranges.cut(1));
}

#[test]
#[should_panic(expected = "behind the cut")]
fn a_claim_starts_behind_a_cut_of_one_cell_after_the_other() {
    cut_while_draining(|ranges| ranges.cut_one_by_one(1));
}

/// Two search three items for the second: all before it are claimed exactly once, those behind it at most once.
fn search(claim: fn(&Front, usize) -> Option<Range<usize>>) {
    explore(2, move || {
        let front = Arc::new(Front::new(0..3, 2));
        let claims: Arc<Vec<AtomicUsize>> = Arc::new((0..3).map(|_| AtomicUsize::new(0)).collect());
        let searcher = |me| {
            let (front, claims) = (Arc::clone(&front), Arc::clone(&claims));
            move || {
                while let Some(block) = claim(&front, me) {
                    for item in block.clone() {
                        assert_eq!(claims[item].fetch_add(1, SeqCst), 0, "item {item} claimed twice");
                    }
                    if block.contains(&1) {
                        assert_eq!(Units::Searchers(&front).end(1), 0);
                        break;
                    }
                }
            }
        };
        let other = thread::spawn(searcher(1));
        searcher(0)();
        other.join().unwrap();
        assert!(claims[..2].iter().all(|claims| claims.load(SeqCst) == 1), "an item left out");
    });
}

#[test]
fn a_search_leaves_nothing_out_before_what_it_finds() {
    search(Front::claim);
}

#[test]
#[should_panic(expected = "claimed twice")]
fn a_search_that_claims_in_two_steps() {
    search(Front::claim_in_two_steps);
}

/// What the caller's stack is to the workers: written before each round and after it, read during it.
struct Frame {
    barrier: Barrier<usize>,
    local: UnsafeCell<usize>,
    visits: AtomicUsize,
}

// SAFETY: loom's cell checks every access, which is what these models are for.
#[allow(unsafe_code)]
unsafe impl Sync for Frame {}

impl Frame {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            barrier: Barrier::new(workers, Duration::ZERO),
            local: UnsafeCell::new(0),
            visits: AtomicUsize::new(0),
        })
    }

    fn write(&self, value: usize) {
        // SAFETY: loom reports a conflicting access.
        #[allow(unsafe_code)]
        self.local.with_mut(|local| unsafe { *local = value });
    }

    fn read(&self) -> usize {
        // SAFETY: loom reports a conflicting access.
        #[allow(unsafe_code)]
        self.local.with(|local| unsafe { *local })
    }

    fn visit(&self, job: usize) {
        assert_eq!(self.read(), job, "a job from another round");
        self.visits.fetch_add(1, SeqCst);
    }
}

/// `rounds` rounds with `workers` workers, each of which may come late or not at all.
fn rounds(workers: usize, rounds: usize, work: fn(&Frame, usize)) {
    explore(workers + 1, move || {
        let frame = Frame::new(workers);
        let threads: Vec<_> = (0..workers)
            .map(|me| {
                let frame = Arc::clone(&frame);
                thread::spawn(move || work(&frame, me))
            })
            .collect();
        for round in 1..=rounds {
            frame.write(round);
            let published = frame.barrier.publish(round, workers);
            assert_eq!(frame.read(), round);
            drop(published);
            frame.write(0); // the frame is gone
        }
        frame.barrier.stop();
        threads.into_iter().for_each(|worker| worker.join().unwrap());
        assert!(frame.visits.load(SeqCst) <= rounds * workers, "a worker entered a round twice");
    });
}

fn enter_and_leave(frame: &Frame, me: usize) {
    let mut seen = 0;
    while let Some((job, entered)) = frame.barrier.enter(me, &mut seen) {
        frame.visit(job);
        drop(entered);
    }
}

/// The planted bug: still reading after it has left.
fn leave_too_early(frame: &Frame, me: usize) {
    let mut seen = 0;
    while let Some((job, entered)) = frame.barrier.enter(me, &mut seen) {
        drop(entered);
        frame.visit(job);
    }
}

#[test]
fn nobody_is_inside_after_the_call() {
    rounds(1, 2, enter_and_leave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn somebody_is_inside_after_the_call() {
    rounds(1, 2, leave_too_early);
}

#[test]
fn two_workers_come_late() {
    rounds(2, 1, enter_and_leave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn two_workers_leave_too_early() {
    rounds(2, 1, leave_too_early);
}

/// The planted bug: the caller retracts nothing and waits for nobody.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_caller_that_does_not_wait() {
    explore(2, || {
        let frame = Frame::new(1);
        let worker = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || enter_and_leave(&frame, 0))
        };
        frame.write(1);
        std::mem::forget(frame.barrier.publish(1, 1));
        frame.write(0);
        frame.barrier.stop();
        worker.join().unwrap();
    });
}
