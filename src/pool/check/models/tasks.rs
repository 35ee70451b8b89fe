//! Tasks: no task is lost, and no call is, however workers come, go and fall asleep.

use std::mem::ManuallyDrop;

use super::{
    barriers::{Word, local, publish_by},
    frame::{barrier, take},
    small::*,
    *,
};
use crate::pool::team::{
    barrier::{Barrier, Caller, Offer, Reentry},
    job::lend,
    task_list::RESERVE,
};

/// What the threads of a model share.
type Shared = Arc<(Barrier<usize>, [Word; 2])>;

fn new(workers: usize) -> Shared {
    Arc::new((barrier(workers), [Word::default(), Word::default()]))
}

/// A task that says the word of this number.
fn says(shared: &Shared, word: usize) -> Box<dyn FnOnce() + Send> {
    let shared = Arc::clone(shared);
    Box::new(move || shared.1[word].say())
}

/// Worker `me`, which runs jobs and tasks.
fn worker(shared: &Shared, me: usize) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let mut patience = shared.0.patience;
        while let Some(entered) = shared.0.enter(me, &mut patience) {
            drop(entered);
        }
    })
}

fn reserve(shared: &Shared) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || shared.0.serve())
}

/// The spawner waits for its task, which the only worker runs.
fn one_task() {
    explore_to(3, || {
        let shared = new(1);
        let worker = worker(&shared, 0);
        shared.0.spawn(says(&shared, 0));
        shared.1[0].hear();
        shared.0.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_task_begins_while_its_spawner_waits() {
    one_task();
}

/// The second task may come when the worker has looked for more.
fn tasks_in_a_row() {
    explore_to(3, || {
        let shared = new(1);
        let worker = worker(&shared, 0);
        [0, 1].into_iter().for_each(|word| _ = shared.0.spawn(says(&shared, word)));
        shared.1.iter().for_each(|word| word.hear());
        shared.0.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_task_begins_after_another() {
    tasks_in_a_row();
}

/// The first task waits for the second one: the reserve, or the worker, has to take it.
fn two_tasks() {
    explore_to(2, || {
        let shared = new(1);
        let threads = [worker(&shared, 0), reserve(&shared)];
        let waits = {
            let shared = Arc::clone(&shared);
            Box::new(move || {
                shared.1[0].hear();
                shared.1[1].say();
            })
        };
        shared.0.spawn(waits);
        shared.0.spawn(says(&shared, 0));
        shared.1[1].hear();
        shared.0.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_task_begins_while_another_waits_for_it() {
    two_tasks();
}

/// A worker that starves passes over jobs, and runs tasks all the same.
fn starved(shared: &Shared) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || while shared.0.pass_over(0).is_some() {})
}

/// A loop offers the worker a job, wakes nobody, and takes the offer back. Meanwhile a task is
/// spawned.
fn beside_an_offer(starts: fn(&Shared) -> thread::JoinHandle<()>) {
    explore_to(2, move || {
        let shared = new(1);
        let worker = starts(&shared);
        let spawner = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.spawn(says(&shared, 0));
                shared.1[0].hear();
            })
        };
        let turn = take(&shared.0);
        let offer = Offer { helpers: 1, ..Offer::default() };
        let published = ManuallyDrop::new(shared.0.offer_job(&turn, Caller::default(), offer, 0));
        drop(ManuallyDrop::into_inner(published));
        drop(ManuallyDrop::into_inner(turn));
        spawner.join().unwrap();
        shared.0.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_task_begins_beside_an_offer_that_is_taken_back() {
    beside_an_offer(|shared| worker(shared, 0));
}

#[test]
fn a_starved_worker_runs_a_task() {
    beside_an_offer(starved);
}

/// The pool stops before the tasks have begun.
fn stops(preemptions: usize) {
    explore_to(preemptions, || {
        let shared = new(1);
        let threads = [worker(&shared, 0), reserve(&shared)];
        shared.0.spawn(says(&shared, 0));
        shared.0.call(1, says(&shared, 1));
        shared.0.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        shared.1.iter().for_each(|word| word.hear());
    });
}

#[test]
fn a_pool_that_stops_runs_its_tasks() {
    stops(2);
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn a_pool_that_stops_runs_its_tasks_in_more_schedules() {
    stops(3);
}

/// A starved worker is called while it has an offer, and declines the offer.
fn call_beside_an_offer() {
    explore_to(3, || {
        let shared = new(1);
        let worker = starved(&shared);
        let turn = take(&shared.0);
        let offer = Offer { helpers: 1, ..Offer::default() };
        let published = ManuallyDrop::new(shared.0.offer_job(&turn, Caller::default(), offer, 0));
        shared.0.call(1, says(&shared, 0));
        drop(ManuallyDrop::into_inner(published));
        drop(ManuallyDrop::into_inner(turn));
        shared.1[0].hear();
        shared.0.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_starved_worker_that_declines_an_offer_hears_a_call() {
    call_beside_an_offer();
}

/// Two threads call each other, as two broadcasts do, and wait for each other: the worker in the
/// item of a loop that it has called, the other in the place of the reserve.
fn calls() {
    explore_to(2, || {
        let shared = new(1);
        let over = Arc::new(AtomicUsize::new(0));
        let task = |of: usize| -> Box<dyn FnOnce() + Send> {
            let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
            Box::new(move || {
                over.fetch_add(if of == 1 { 2 } else { 4 }, SeqCst);
                shared.0.wake(of);
            })
        };
        let (of_worker, of_reserve) = (task(1), task(RESERVE));
        let worker = {
            let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
            thread::spawn(move || {
                let begins: Box<dyn FnOnce() + Send> = {
                    let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
                    Box::new(move || {
                        shared.0.call(RESERVE, of_worker);
                        shared.0.wait(1, &|| over.load(SeqCst) & 2 != 0);
                        shared.1[1].say();
                    })
                };
                shared.0.call(1, begins);
                let mut patience = shared.0.patience;
                while let Some(entered) = shared.0.enter(0, &mut patience) {
                    drop(entered);
                }
            })
        };
        let reserve = {
            let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
            thread::spawn(move || {
                let begins: Box<dyn FnOnce() + Send> = {
                    let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
                    Box::new(move || {
                        shared.0.call(1, of_reserve);
                        shared.0.wait(RESERVE, &|| over.load(SeqCst) & 4 != 0);
                        shared.1[0].say();
                    })
                };
                shared.0.call(RESERVE, begins);
                shared.0.serve();
            })
        };
        shared.1.iter().for_each(|word| word.hear());
        shared.0.stop();
        worker.join().unwrap();
        reserve.join().unwrap();
    });
}

#[test]
fn two_threads_that_wait_run_the_calls_for_each_other() {
    calls();
}

/// A worker calls a loop in a task, and waits for the end of the loop. Its helper calls the worker,
/// and waits for the call.
fn a_call_inside() {
    explore_to(2, || {
        let shared = new(2);
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut patience = shared.0.patience;
                while shared.0.enter(0, &mut patience).map(ManuallyDrop::new).is_some() {}
            })
        };
        let helper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut patience = shared.0.patience;
                while let Some(entered) = shared.0.enter(1, &mut patience).map(ManuallyDrop::new) {
                    shared.1[1].say();
                    let called = Arc::new(Word::default());
                    let says = Arc::clone(&called);
                    shared.0.call(1, Box::new(move || says.say()));
                    called.hear();
                    drop(ManuallyDrop::into_inner(entered));
                }
            })
        };
        let loops = {
            let shared = Arc::clone(&shared);
            Box::new(move || {
                let turn = take(&shared.0);
                let caller = Caller { post: 1, outer: None };
                let published = publish_by(caller, &shared.0, &turn, (1, Reentry::Once), 0);
                shared.1[1].hear();
                published.retract_and_wait(Some(&|_| ()));
                drop(ManuallyDrop::into_inner(turn));
                shared.1[0].say();
            })
        };
        shared.0.call(1, loops);
        shared.1[0].hear();
        shared.0.stop();
        worker.join().unwrap();
        helper.join().unwrap();
    });
}

#[test]
fn a_caller_that_waits_for_its_loop_is_called() {
    a_call_inside();
}

/// The reserve is called. A broadcast from outside of the pool then ends after this call: it calls
/// the reserve, too, if the call has not ended.
fn calls_of_the_reserve() {
    explore_to(3, || {
        let (shared, written) = (new(1), Arc::new(local()));
        let reserve = reserve(&shared);
        let writes = Arc::clone(&written);
        shared.0.call(RESERVE, Box::new(move || writes.write(7)));
        if shared.0.reserve_is_called() {
            shared.0.call(RESERVE, says(&shared, 0));
            shared.1[0].hear();
        }
        written.write(0);
        shared.0.stop();
        reserve.join().unwrap();
    });
}

#[test]
fn a_broadcast_ends_after_the_earlier_calls_of_the_reserve() {
    calls_of_the_reserve();
}

/// A task calls a closure that is lent, and finds what the closure borrows; or it comes too late.
#[test]
fn nobody_is_inside_of_a_closure_after_it_was_lent() {
    explore_to(3, || {
        let borrowed = Arc::new(local());
        borrowed.write(7);
        let task = lend(&|seat| assert_eq!((seat, borrowed.read()), (3, 7)), |lent| {
            let lent = lent.clone();
            thread::spawn(move || lent.call(3))
        });
        borrowed.write(0);
        task.join().unwrap();
    });
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_spawner_that_notes_nobody() {
        with(Bug::NotesNoTask, one_task);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_spawner_that_sets_no_bit() {
        with(Bug::SpawnsUnseen, tasks_in_a_row);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn an_offer_that_is_taken_back_beside_a_task() {
        with(Bug::TakesBackUnnoted, || beside_an_offer(starved));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_call_that_wakes_nobody() {
        with(Bug::CallsNoWorker, calls);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_starved_worker_that_declines_an_offer_and_hears_no_call() {
        with(Bug::DeclinesUncalled, call_beside_an_offer);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_call_that_wakes_no_caller() {
        with(Bug::CallsNoCaller, a_call_inside);
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn a_broadcast_that_sees_no_call_that_has_begun() {
        with(Bug::SeesNoCallInside, calls_of_the_reserve);
    }
}
