//! Tasks that outlive their caller, and calls on each thread of the pool.
//!
//! A task that panics calls the panic handler of the pool. Without a handler, or if the handler
//! panics, the process aborts: nobody waits for the task, so nobody else would know.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use super::{ending::discard, executor::Executor};
use crate::{
    clock::Instant,
    pool::{
        team::{job::lend, task_list::Task},
        thread::tell,
    },
    sync::{AtomicUsize, Mutex, Ordering, lock},
};

std::thread_local! {
    /// The pool whose tasks this thread runs because no other thread exists, as the address of its
    /// executor; 0 if it does not.
    static RUNS_ALL_OF: Cell<usize> = const { Cell::new(0) };
}

impl Executor {
    /// Runs `work` on a thread of the pool, and does not wait for it.
    pub(crate) fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        let task = self.task(work);
        if !self.threads.process.is_current() {
            return task(); // the threads do not exist in the child, and a lock may stay locked
        }
        if !self.threads.barrier.spawn(task) && !self.has_reserve() && self.workers == 1 {
            self.run_all();
        }
    }

    /// Runs `work` once on each thread of the pool, with the number of the worker, and does not
    /// wait for it. Number 0 is a thread that stands for the calling thread of a loop.
    pub(crate) fn spawn_broadcast(&self, work: impl Fn(usize) + Send + Sync + 'static) {
        let work = Arc::new(work);
        let task = |number| {
            let work = Arc::clone(&work);
            self.task(move || work(number))
        };
        if !self.threads.process.is_current() {
            return (0..self.workers).for_each(|number| task(number)());
        }
        let all = |from| (from..self.workers).map(|number| (number, task(number)));
        if self.has_reserve() {
            return self.threads.call_all(all(0));
        }
        self.threads.call_all(all(1));
        if !self.threads.barrier.spawn(task(0)) && self.workers == 1 {
            self.run_all();
        }
    }

    /// Calls `work` once on each thread of the pool, with the number of the worker, at the same
    /// time. The calling thread is number 0, unless it is another worker. Returns the results in
    /// the order of these numbers. If a call panics, passes on the panic of the lowest number,
    /// after all calls.
    pub(crate) fn broadcast<R: Send>(&self, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
        let (threads, here) = (&self.threads, self.threads.here());
        let made: Vec<_> = (0..self.workers).map(|_| Mutex::new(None)).collect();
        let make = |number: usize| {
            let ended = catch_unwind(AssertUnwindSafe(|| work(number)));
            *lock(&made[number]) = Some(ended);
        };
        if threads.process.is_current() && (here == 0 || self.has_reserve()) {
            // A thread with a post runs its own call in line with those of other broadcasts.
            let is_in_line = threads.post() != 0;
            // Any other thread is number 0 itself. It waits for the number 0 of earlier calls, too.
            let waits_for_reserve = !is_in_line && threads.barrier.reserve_is_called();
            let skipped = (!is_in_line && !waits_for_reserve).then_some(here);
            let calls = self.workers - skipped.iter().count();
            let (left, waiter) = (AtomicUsize::new(calls), threads.waiter());
            let call = |number| {
                if is_in_line || number != here {
                    make(number);
                }
                // Release; partner: the load below. The caller sees what all threads have made.
                if left.fetch_sub(1, Ordering::Release) == 1 {
                    waiter.wake();
                }
            };
            lend(&call, |lent| {
                let called = (0..self.workers).filter(|number| Some(*number) != skipped);
                let calls = called.map(|number| {
                    let lent = lent.clone();
                    let call: Task = Box::new(move || lent.call(number));
                    (number, call)
                });
                threads.call_all(calls);
                // A worker may have been noted for a task that waits, and run its call first.
                if threads.barrier.has_waiting() {
                    self.has_reserve();
                }
                if !is_in_line {
                    make(here);
                }
                waiter.wait(&|| left.load(Ordering::Acquire) == 0); // partner: `call`
            });
        } else {
            (0..self.workers).for_each(make);
        }
        let (mut results, mut panic) = (Vec::with_capacity(self.workers), None);
        for made in made {
            let made = lock(&made).take();
            match made.expect("each thread has called it") {
                Ok(result) => results.push(result),
                Err(payload) if panic.is_none() => panic = Some(payload),
                Err(payload) => discard(payload),
            }
        }
        if let Some(payload) = panic {
            discard(results);
            resume_unwind(payload);
        }
        results
    }

    /// A task that does `work`.
    fn task(&self, work: impl FnOnce() + Send + 'static) -> Task {
        let (handler, report) = (self.hosts.panic_handler(), self.program_report);
        Box::new(move || {
            let begin = report.map(|report| (report, Instant::now()));
            if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
                tell(handler.as_ref(), payload);
            }
            if let Some((report, begin)) = begin {
                report.enter_task(begin.elapsed());
            }
        })
    }

    /// Whether the reserve has begun. Begins it first if it has not.
    fn has_reserve(&self) -> bool {
        let begun = self.threads.begin_reserve(|handle| {
            log::debug!(
                "a task waits, and no worker is idle: one more thread is started, which runs only tasks"
            );
            self.hosts.start_reserve(handle)
        });
        begun.is_ok()
    }

    /// Runs all tasks on the calling thread, since there is no other thread. A task that is spawned
    /// meanwhile runs when the task that spawns it has ended.
    #[cold]
    fn run_all(&self) {
        let own = std::ptr::from_ref(self).addr();
        let before = RUNS_ALL_OF.replace(own);
        while before != own && self.threads.run_task() {}
        RUNS_ALL_OF.set(before);
    }
}
