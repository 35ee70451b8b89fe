//! Publish, enter, retract, leave and stop, with workers that come late or not at all.

use std::mem::ManuallyDrop;

use super::{
    frame::{Frame, barrier, enter_and_leave, leave_too_early, share_loops, take},
    local::Local,
    small::*,
    *,
};
use crate::{
    pool::team::{
        arena::Turn,
        barrier::{Barrier, Caller, Offer, Published, Reentry},
    },
    sync::{Ordering, Patience},
};

fn one_worker(work: fn(&Frame, usize)) {
    explore_to(5, move || share_loops(1, 2, work));
}

#[test]
fn nobody_is_inside_after_the_call() {
    one_worker(enter_and_leave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn somebody_is_inside_after_the_call() {
    one_worker(leave_too_early);
}

fn two_workers(work: fn(&Frame, usize)) {
    explore(move || share_loops(2, 1, work));
}

#[test]
fn two_workers_come_late() {
    two_workers(enter_and_leave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn two_workers_leave_too_early() {
    two_workers(leave_too_early);
}

/// A signal from one thread to another.
#[derive(Default)]
pub(super) struct Word(loom::sync::Mutex<bool>, loom::sync::Condvar);

impl Word {
    pub(super) fn say(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }

    pub(super) fn hear(&self) {
        let mut said = self.0.lock().unwrap();
        while !*said {
            said = self.1.wait(said).unwrap();
        }
    }
}

/// Publishes `job`. If loom stops the model, the offer is not dropped, because then loom has no
/// execution.
pub(super) fn publish<'a>(
    barrier: &'a Barrier<usize>,
    turn: &'a Turn<'_>,
    (helpers, reentry): (usize, Reentry),
    job: usize,
) -> ManuallyDrop<Published<'a, usize>> {
    publish_by(Caller::default(), barrier, turn, (helpers, reentry), job)
}

/// Two callers want the one worker, which may sleep: the first offers it a job and wakes it late,
/// or not at all, and the second opens a place.
fn late_ring() {
    explore_to(2, || {
        let shared = Arc::new((barrier(1), Word::default()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, came) = &*shared;
                let mut patience = barrier.patience;
                while let Some(entered) = barrier.enter(0, &mut patience) {
                    if entered.job == 1 {
                        came.say();
                    }
                    drop(entered);
                }
            })
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, came) = &*shared;
                let turn = take(barrier);
                let published = publish(barrier, &turn, (1, Reentry::Once), 1);
                came.hear();
                drop(ManuallyDrop::into_inner(published));
                drop(ManuallyDrop::into_inner(turn));
            })
        };
        let (barrier, _) = &*shared;
        let turn = take(barrier);
        let offer = Offer { helpers: 1, ..Offer::default() };
        let published = ManuallyDrop::new(barrier.offer_job(&turn, Caller::default(), offer, 0));
        drop(ManuallyDrop::into_inner(published));
        drop(ManuallyDrop::into_inner(turn));
        other.join().unwrap();
        barrier.stop();
        worker.join().unwrap();
    });
}

/// A thread arrives before, while or after a caller offers a job and takes it back.
#[test]
fn a_job_is_offered_before_the_thread_runs() {
    explore_to(3, || {
        let barrier = Arc::new(Barrier::new(1, Fence::Symmetric, Patience::default()));
        let worker = {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                barrier.arrive(0);
                let mut patience = barrier.patience;
                while let Some(entered) = barrier.enter(0, &mut patience) {
                    assert_eq!(entered.job, 1);
                    drop(entered);
                }
            })
        };
        let turn = take(&barrier);
        let published = publish(&barrier, &turn, (1, Reentry::Once), 1);
        drop(ManuallyDrop::into_inner(published));
        drop(ManuallyDrop::into_inner(turn));
        barrier.stop();
        worker.join().unwrap();
    });
}

#[test]
fn an_offer_is_taken_back_from_a_worker_that_sleeps() {
    late_ring();
}

pub(super) fn publish_by<'a>(
    caller: Caller,
    barrier: &'a Barrier<usize>,
    turn: &'a Turn<'_>,
    (helpers, reentry): (usize, Reentry),
    job: usize,
) -> ManuallyDrop<Published<'a, usize>> {
    let offer = Offer { helpers, reentry, ..Offer::default() };
    ManuallyDrop::new(barrier.publish(turn, caller, offer, job))
}

/// Ends an offer. The offer is not dropped even if loom stops the model.
fn end(published: ManuallyDrop<Published<'_, usize>>, help: impl Fn(usize)) {
    published.retract_and_wait(Some(&|entered| help(entered.job)));
}

/// A job for one worker, which does `work` whenever it enters. Meanwhile the caller does `own`.
fn shared(work: fn(&Barrier<usize>, &Word, usize), own: fn(&Barrier<usize>, &Word, &Turn<'_>)) {
    explore_to(5, move || {
        let shared = Arc::new((barrier(1), Word::default()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, word) = &*shared;
                let (mut patience, mut entries) = (barrier.patience, 0);
                while let Some(entered) = barrier.enter(0, &mut patience) {
                    entries += 1;
                    work(barrier, word, entries);
                    drop(entered);
                }
            })
        };
        let (barrier, word) = &*shared;
        let turn = take(barrier);
        let published = publish(barrier, &turn, (1, Reentry::Again), 0);
        own(barrier, word, &turn);
        drop(ManuallyDrop::into_inner(published));
        barrier.stop();
        worker.join().unwrap();
    });
}

/// The worker calls the caller back, and goes on when the caller has come.
fn rests() {
    let work = |barrier: &Barrier<usize>, word: &Word, entries| {
        if entries == 1 {
            barrier.call_back(0);
            word.hear();
        }
    };
    shared(work, |barrier, word, turn| {
        barrier.rest(turn.arena, Caller::default(), None);
        word.say(); // the caller was called back, or all workers have left
    });
}

#[test]
fn a_caller_that_rests_is_called_back() {
    rests();
}

/// The caller calls the worker back, and waits until the worker has entered a second time.
fn returns() {
    let work = |_: &Barrier<usize>, word: &Word, entries| {
        if entries == 2 {
            word.say();
        }
    };
    shared(work, |barrier, word, turn| {
        if turn.arena.tokens(Ordering::Relaxed) > 0 {
            barrier.call_back(0);
            word.hear();
        }
    });
}

#[test]
fn a_worker_that_has_gone_is_called_back() {
    returns();
}

/// A worker that starves passes over a job, and sleeps until it is woken for another job or until
/// the pool stops.
fn passes_over(preemptions: usize) {
    explore_to(preemptions, || {
        let shared = Arc::new((barrier(1), local()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, frame) = &*shared;
                let mut patience = barrier.patience;
                while barrier.pass_over(0).is_some() {
                    let Some(entered) = barrier.enter(0, &mut patience) else { return };
                    assert_eq!(frame.read(), entered.job, "a job from another loop");
                    drop(entered);
                }
            })
        };
        let (barrier, frame) = &*shared;
        for job in 1..3 {
            let turn = take(barrier);
            frame.write(job);
            drop(ManuallyDrop::into_inner(publish(barrier, &turn, (1, Reentry::Once), job)));
            frame.write(0);
            drop(ManuallyDrop::into_inner(turn));
        }
        barrier.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_worker_that_passes_over_a_job_may_take_the_next() {
    passes_over(3);
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn a_worker_that_passes_over_a_job_may_take_the_next_in_more_schedules() {
    passes_over(5);
}

/// Two callers publish a job for one helper each, and wait for that helper. Each job finds its own
/// frame. Workers leave one loop and enter the other while both end.
///
/// loom explores one worker with two preemptions, and two workers with one. `arenas` has a smaller
/// model with three workers.
fn two_loops(workers: usize) {
    explore_to(3 - workers, move || {
        let shared = Arc::new((barrier(workers), [Word::default(), Word::default()], [local(), local()]));
        let threads: Vec<_> = (0..workers)
            .map(|me| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (barrier, came, frames) = &*shared;
                    let mut patience = barrier.patience;
                    while let Some(entered) = barrier.enter(me, &mut patience) {
                        came[entered.job].say();
                        assert_eq!(frames[entered.job].read(), 1, "the frame is gone");
                        drop(entered);
                    }
                })
            })
            .collect();
        let call = |job: usize, shared: &(Barrier<usize>, [Word; 2], [Local; 2])| {
            let (barrier, came, frames) = shared;
            let turn = take(barrier);
            frames[job].write(1);
            let published = publish(barrier, &turn, (1, Reentry::Once), job);
            came[job].hear();
            drop(ManuallyDrop::into_inner(published));
            drop(ManuallyDrop::into_inner(turn));
            frames[job].write(0);
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || call(1, &shared))
        };
        call(0, &shared);
        other.join().unwrap();
        shared.0.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

pub(super) fn local() -> Local {
    Local::new(0)
}

/// The only worker enters a loop, calls another loop inside it, and waits until a helper has come
/// to that loop. The only possible helper is the caller of the outer loop, which waits for this
/// worker.
fn a_loop_inside() {
    explore_to(5, || {
        let shared = Arc::new((barrier(1), Word::default(), local()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, came, frame) = &*shared;
                let mut patience = barrier.patience;
                while let Some(entered) = barrier.enter(0, &mut patience).map(ManuallyDrop::new) {
                    let turn = take(barrier);
                    frame.write(1);
                    let caller = Caller { post: 1, outer: Some(entered.arena.number) };
                    let published = publish_by(caller, barrier, &turn, (1, Reentry::Once), 1);
                    came.hear();
                    end(published, |_| panic!("no other worker exists"));
                    frame.write(0);
                    drop(ManuallyDrop::into_inner(turn));
                    drop(ManuallyDrop::into_inner(entered));
                }
            })
        };
        let (barrier, came, frame) = &*shared;
        let turn = take(barrier);
        let published = publish(barrier, &turn, (1, Reentry::Once), 0);
        end(published, |job| {
            assert_eq!((job, frame.read()), (1, 1), "the frame is gone");
            came.say();
        });
        drop(ManuallyDrop::into_inner(turn));
        barrier.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_caller_that_waits_helps_the_loop_inside() {
    a_loop_inside();
}

/// The worker stays in the first loop until the second loop, of another thread, is over. The caller
/// of the first loop must not help in the second loop: it may hold a lock that items of the second
/// loop need.
fn a_loop_beside() {
    explore_to(2, || {
        let shared = Arc::new((barrier(1), Word::default()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (barrier, over) = &*shared;
                let mut patience = barrier.patience;
                while let Some(entered) = barrier.enter(0, &mut patience).map(ManuallyDrop::new) {
                    if entered.job == 0 {
                        over.hear();
                    }
                    drop(ManuallyDrop::into_inner(entered));
                }
            })
        };
        let call = |barrier: &Barrier<usize>, job| {
            let turn = take(barrier);
            let published = publish(barrier, &turn, (1, Reentry::Once), job);
            end(published, |_| panic!("the loop of another thread"));
            drop(ManuallyDrop::into_inner(turn));
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                call(&shared.0, 1);
                shared.1.say();
            })
        };
        call(&shared.0, 0);
        other.join().unwrap();
        shared.0.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_caller_that_waits_helps_no_other_loop() {
    a_loop_beside();
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn one_worker_helps_two_loops() {
    two_loops(1);
}

#[test]
fn two_workers_help_two_loops() {
    two_loops(2);
}

/// Two threads take an arena each. One of the arenas does not exist yet.
fn two_arenas() {
    explore_all(|| {
        let barrier = Arc::new(barrier(1));
        let frames = Arc::new([local(), local()]);
        let visit = |barrier: &Barrier<usize>, frames: &[Local; 2]| {
            let turn = take(barrier);
            frames[turn.arena.number].write(1);
            drop(ManuallyDrop::into_inner(turn));
        };
        let other = {
            let (barrier, frames) = (Arc::clone(&barrier), Arc::clone(&frames));
            thread::spawn(move || visit(&barrier, &frames))
        };
        visit(&barrier, &frames);
        other.join().unwrap();
    });
}

#[test]
fn an_arena_has_one_caller() {
    two_arenas();
}

/// Two workers take open places of one loop, and have different seats. The places are open because
/// the workers have offers of another loop, which are taken back.
fn two_seats(preemptions: usize) {
    explore_to(preemptions, || {
        let shared = Arc::new((barrier(2), [local(), local(), local()]));
        let threads: Vec<_> = [0, 1]
            .into_iter()
            .map(|me| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (barrier, frames) = &*shared;
                    let mut patience = barrier.patience;
                    while let Some(entered) = barrier.enter(me, &mut patience) {
                        if entered.job == 1 {
                            frames[entered.seat].write(me);
                        }
                        drop(entered);
                    }
                })
            })
            .collect();
        let (barrier, _) = &*shared;
        let (turn, other) = (take(barrier), take(barrier));
        let first = publish(barrier, &turn, (2, Reentry::Once), 0);
        let second = publish(barrier, &other, (2, Reentry::Once), 1);
        drop(ManuallyDrop::into_inner(first));
        drop(ManuallyDrop::into_inner(second));
        barrier.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_seat_has_one_worker() {
    two_seats(1);
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_caller_that_does_not_wait() {
        with(Bug::WaitsForNobody, || one_worker(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_caller_that_sees_only_the_end() {
        with(Bug::SeesTheEndOnly, || one_worker(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_caller_that_finds_all_back_unseen() {
        with(Bug::FindsAllBackUnseen, || one_worker(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "a job from another loop")]
    fn a_caller_that_does_not_retract() {
        with(Bug::RetractsNothing, || one_worker(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_is_not_woken() {
        with(Bug::LooksBeforeItLeaves, || one_worker(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_sleeps_after_the_last_token_is_back() {
        with(Bug::SleepsAfterTheLast, || one_worker(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_is_woken_before_it_is_to_stop() {
        with(Bug::WakesBeforeItStops, || one_worker(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "a job from another loop")]
    fn two_workers_may_come_too_late() {
        with(Bug::RetractsNothing, || two_workers(enter_and_leave));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn an_offer_is_taken_back_beside_an_open_place() {
        with(Bug::TakesBackUnseeing, late_ring);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_rests_and_does_not_listen() {
        with(Bug::RestsUncalled, rests);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_is_called_and_finds_no_place() {
        with(Bug::OpensNoPlace, returns);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_is_called_without_a_token() {
        with(Bug::CallsUncounted, returns);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_keeps_the_token_of_a_job_that_it_declines() {
        with(Bug::DeclinesSilently, || passes_over(5));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_sleeps_beside_the_loop_inside() {
        with(Bug::HelpsNobodyInside, a_loop_inside);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_is_not_woken_for_the_loop_inside() {
        with(Bug::WakesNoCaller, a_loop_inside);
    }

    #[test]
    #[should_panic(expected = "the loop of another thread")]
    fn a_caller_that_helps_the_loop_of_another_thread() {
        with(Bug::HelpsAnybody, a_loop_beside);
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn two_loops_that_wait_for_nobody() {
        with(Bug::WaitsForNobody, || two_loops(2));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn two_loops_whose_callers_are_not_woken() {
        with(Bug::LooksBeforeItLeaves, || two_loops(2));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_sleeps_beside_an_open_place() {
        with(Bug::SleepsBesideAPlace, || two_loops(1));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn callers_that_wake_nobody() {
        with(Bug::WakesNobody, || two_loops(1));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn callers_that_ring_a_worker_and_leave_it_asleep() {
        with(Bug::RingsUnheard, || two_loops(1));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_counts_as_rung_before_anybody_rang_it() {
        with(Bug::CountsAsRung, late_ring);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_whose_sleep_is_not_seen() {
        with(Bug::SleepsUnseen, || two_loops(1));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_caller_that_wakes_workers_before_it_opens_places() {
        with(Bug::WakesBeforeItOpens, || two_loops(1));
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn an_arena_with_two_callers() {
        with(Bug::TakesWhatIsTaken, two_arenas);
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_seat_with_two_workers() {
        with(Bug::SharesSeats, || two_seats(2));
    }
}
