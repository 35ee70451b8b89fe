//! Tasks that a thread keeps for its pool: each task begins, and no watcher stays, whichever thread
//! takes the tasks. The code is that of rangesteal-rayon.

use super::{small::*, *};

#[path = "../../../../rayon/src/kept_tasks.rs"]
mod code;

use code::KeptTasks;

/// The number of watchers that are there. A watcher counts itself.
#[derive(Default)]
struct Watchers(loom::sync::atomic::AtomicUsize);

struct Watcher(Arc<Watchers>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

struct Shared {
    kept: KeptTasks<usize, Watcher>,
    watchers: Arc<Watchers>,
    begun: Claims,
}

impl Shared {
    fn add(&self, task: usize, is_in_order: bool) {
        self.kept.add(task, is_in_order, || {
            self.watchers.0.fetch_add(1, SeqCst);
            Some(Watcher(Arc::clone(&self.watchers)))
        });
    }

    /// Begins all tasks that are kept.
    fn give_all(&self) {
        if self.kept.has_kept() {
            let (count, watcher) = self.kept.take_all();
            drop(watcher);
            for _ in 0..count {
                let task = self.kept.next().expect("a task for each that was taken");
                self.begun.claim(task..task + 1);
            }
        }
    }
}

/// A thread adds tasks and leaves. The watch gives what it sees meanwhile.
fn kept(tasks: usize) {
    explore_all(move || {
        let shared =
            Arc::new(Shared { kept: KeptTasks::new(), watchers: Arc::default(), begun: Claims::new(tasks) });
        let watch = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.watchers.0.load(SeqCst) > 0 {
                    shared.give_all();
                }
            })
        };
        (0..tasks).for_each(|task| shared.add(task, task > 0));
        shared.give_all();
        watch.join().unwrap();
        shared.begun.assert_all_before(tasks);
        assert_eq!(shared.watchers.0.load(SeqCst), 0, "a watcher has stayed");
    });
}

#[test]
fn each_task_begins_and_no_watcher_stays() {
    kept(1);
    kept(2);
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "a watcher has stayed")]
    fn a_watcher_that_comes_after_the_lock() {
        with(Bug::WatchesUnlocked, || kept(1));
    }

    #[test]
    #[should_panic(expected = "left out")]
    fn a_flag_that_is_written_after_the_lock() {
        with(Bug::ForgetsUnlocked, || kept(2));
    }
}
