//! Several loops at the same time: sleep and wake over two arenas, and the registration of arenas.

use std::mem::ManuallyDrop;

use super::{
    barriers::{Word, local, publish},
    frame::{barrier, take},
    small::*,
    *,
};
use crate::pool::team::{
    arena::Turn,
    barrier::{Barrier, Reentry},
};

/// The number of workers that sleep and wake.
const WORKERS: usize = 3;

/// Two loops that together need all workers at the same time.
struct BusyLoops {
    barrier: Barrier<usize>,
    /// The number of workers that have entered a loop.
    inside: AtomicUsize, // an atomic of std: loom does not interleave the counting
    /// For each worker, then for each caller: tells this thread that all workers are inside.
    all_inside: [Word; WORKERS + 2],
}

impl BusyLoops {
    /// Worker `me` enters one of the loops, and leaves it when all workers are inside.
    fn work(&self, me: usize) {
        let entered = ManuallyDrop::new(self.barrier.enter(me, &mut self.barrier.patience.clone()));
        if self.inside.fetch_add(1, SeqCst) + 1 == WORKERS {
            loom::stop_exploring();
            self.all_inside.iter().for_each(Word::say);
        }
        self.all_inside[me].hear();
        drop(ManuallyDrop::into_inner(entered));
    }

    /// Calls a loop with `helpers` places in the arena with this number, and ends the loop when all
    /// workers are inside.
    fn call(&self, number: usize, helpers: usize) {
        let arena = self.barrier.arenas.made().nth(number).expect("the model has taken it");
        let turn = ManuallyDrop::new(Turn { arena });
        let published = publish(&self.barrier, &turn, (helpers, Reentry::Once), number);
        self.all_inside[WORKERS + number].hear();
        drop(ManuallyDrop::into_inner(published));
        drop(ManuallyDrop::into_inner(turn));
    }
}

/// Two callers open two places and one place for three workers. Each worker stays inside until all
/// three are inside. So if a worker is forgotten, the model deadlocks.
///
/// loom supports five threads at most. These are the callers and the workers; one worker is the
/// model's own thread. loom explores what happens until the last worker has entered: the workers
/// look for a place and sleep, the callers publish and wake. The other models explore the ends of
/// loops. The callers do not compete for their arenas: `new_arenas` explores that.
///
/// One preemption takes about half a minute, and two take minutes.
fn three_workers(preemptions: usize) {
    explore_to(preemptions, || {
        let loops = Arc::new(BusyLoops {
            barrier: barrier(WORKERS),
            inside: AtomicUsize::new(0),
            all_inside: [(); WORKERS + 2].map(|()| Word::default()),
        });
        let _turns = [take(&loops.barrier), take(&loops.barrier)];
        let start = |role: fn(&BusyLoops)| {
            let loops = Arc::clone(&loops);
            thread::spawn(move || role(&loops))
        };
        let others = [
            start(|loops| loops.work(1)),
            start(|loops| loops.work(2)),
            start(|loops| loops.call(0, 2)),
            start(|loops| loops.call(1, 1)),
        ];
        loops.work(0);
        others.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
#[ignore = "takes a minute: .ci/long runs it"]
fn three_workers_enter_two_loops() {
    three_workers(1);
}

#[test]
#[ignore = "takes minutes: .ci/long runs it"]
fn three_workers_enter_two_loops_in_more_schedules() {
    three_workers(2);
}

/// The first arena is taken. Two callers take an arena each, and publish there. The arenas do not
/// exist yet, so the callers register them. Meanwhile a worker scans the arenas. The worker helps
/// both loops.
///
/// The second caller may find an arena that the first caller has made. The second caller then uses
/// this arena without having held a lock that its maker held: only the `OnceLock` makes the arena's
/// content visible. loom checks this, because `sync/once.rs` is a `OnceLock` that loom knows.
///
/// loom stops exploring when the worker has entered the second loop.
fn new_arenas() {
    explore_to(1, || {
        let shared = Arc::new((barrier(1), [Word::default(), Word::default()], [local(), local()]));
        let callers = [0, 1].map(|job: usize| {
            let shared = Arc::clone(&shared);
            move || {
                let (barrier, came, frames) = &*shared;
                let turn = take(barrier);
                frames[job].write(1);
                let published = publish(barrier, &turn, (1, Reentry::Once), job);
                came[job].hear();
                drop(ManuallyDrop::into_inner(published));
                drop(ManuallyDrop::into_inner(turn));
                frames[job].write(0);
            }
        });
        let (barrier, came, frames) = &*shared;
        let _first = take(barrier);
        let callers = callers.map(thread::spawn);
        let mut patience = barrier.patience;
        for entries in 1..=2 {
            let entered = ManuallyDrop::new(barrier.enter(0, &mut patience).expect("nobody stops the pool"));
            if entries == 2 {
                loom::stop_exploring();
            }
            assert_eq!(frames[entered.job].read(), 1, "the frame is gone");
            came[entered.job].say();
            drop(ManuallyDrop::into_inner(entered));
        }
        callers.into_iter().for_each(|caller| caller.join().unwrap());
    });
}

#[test]
fn a_worker_finds_the_arenas_that_callers_register() {
    new_arenas();
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "nobody stops the pool")]
    fn an_arena_that_is_not_registered() {
        with(Bug::RegistersNothing, new_arenas);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn two_callers_that_register_one_arena() {
        with(Bug::UsesItsOwnArena, new_arenas);
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn an_arena_that_is_found_before_it_is_made() {
        with(Bug::FindsUnmadeArenas, new_arenas);
    }
}
