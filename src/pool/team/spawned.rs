//! What threads of a pool do with tasks: spawn and call, take and run, and wait. `task_list.rs`
//! says what a task is.

use super::{
    barrier::{Barrier, Offered},
    post::{Post, PostState, WorkerState},
    task_list::{RESERVE, TASKS, Task},
};
use crate::sync::{MutexGuard, Ordering, Patience, lock, wait};

impl<J: Copy> Barrier<J> {
    fn post(&self, number: usize) -> &Post<Offered<J>> {
        self.posts.get(number - 1).map_or(&self.tasks.reserve, |post| &**post)
    }

    /// Adds a task. Returns whether an idle thread has been told, or the reserve was.
    pub(crate) fn spawn(&self, task: Task) -> bool {
        let mut lists = lock(&self.tasks.lists);
        lists.waiting.push_back(task);
        if lists.waiting.len() == 1 {
            self.open.fetch_or(TASKS, Ordering::AcqRel); // partner: `open_arenas`
        }
        drop(lists);
        self.note_taker()
    }

    /// From now on, a thread that has run the last task polls for another one.
    pub(crate) fn poll_for_tasks(&self, patience: Patience) {
        lock(&self.tasks.lists).patience = patience;
    }

    /// Puts a note at the post of an idle worker; if there is none, at that of the reserve. A
    /// reserve that is awake comes before workers that sleep. Returns whether one of them was idle,
    /// or no task waits any more. If none was, each of them looks for tasks before it sleeps.
    fn note_taker(&self) -> bool {
        let reserve = &self.tasks.reserve;
        let mut was_awake = false;
        for post in self.posts.iter().map(|post| &**post).chain([reserve]) {
            if post.at() == WorkerState::Awake {
                if post.note() {
                    return true;
                }
                was_awake = true;
            }
        }
        let is_taken = || self.open.load(Ordering::Relaxed) & TASKS == 0;
        if was_awake {
            Patience::BRIEF.poll(is_taken); // this thread has probably seen the task before the note
        }
        is_taken()
            || WorkerState::IDLE
                .into_iter()
                .any(|at| self.posts.iter().any(|post| post.at() == at && post.note()))
            || reserve.note()
    }

    /// An offer was taken back from a worker that sleeps. A thread that has spawned a task
    /// meanwhile has not noted this worker.
    #[cold]
    pub(super) fn note_if_tasks_wait(&self) {
        if self.open.load(Ordering::Relaxed) & TASKS != 0 {
            self.note_taker();
        }
    }

    /// Adds calls, each with the number of its post. They come in one step: all threads run the
    /// calls of two broadcasts in the same order, so these calls may wait for each other.
    pub(crate) fn call_all(&self, calls: Vec<(usize, Task)>) {
        let posts: Vec<usize> = calls.iter().map(|(post, _)| *post).collect();
        lock(&self.tasks.lists).add_called(calls);
        for post in posts {
            self.tell(post);
        }
    }

    /// Whether a call of the reserve has not ended.
    pub(crate) fn reserve_is_called(&self) -> bool {
        lock(&self.tasks.lists).calls_of_reserve > 0
    }

    /// Whether a task waits that any thread may run.
    pub(crate) fn has_waiting(&self) -> bool {
        !lock(&self.tasks.lists).waiting.is_empty()
    }

    /// Adds a task that only the thread of this post may run.
    #[cfg(loom)]
    pub(crate) fn call(&self, post: usize, task: Task) {
        self.call_all(vec![(post, task)]);
    }

    /// Tells the thread of this post that it is called: at its post, or where it waits for the end
    /// of a loop.
    fn tell(&self, post: usize) {
        if self.post(post).call() {
            return;
        }
        for (arena, job) in self.arenas.made().zip(&self.jobs) {
            arena.caller.is_wanted.store(true, Ordering::Relaxed);
            let _arena_job = lock(job);
            if arena.caller_sleeps() {
                arena.done.notify_one(); // another caller looks, and sleeps again
            }
        }
    }

    /// Whether tasks wait that only the thread of this post may run.
    pub(super) fn is_called(&self, post: usize) -> bool {
        post != 0 && lock(&self.post(post).state).is_called
    }

    /// Runs the tasks that only the thread of this post may run.
    #[cold]
    pub(super) fn run_calls(&self, post: usize) {
        self.post(post).takes_call();
        while let Some(task) = self.called(post) {
            task();
            self.call_ends(post);
        }
    }

    /// The thread of this post has run a call.
    fn call_ends(&self, post: usize) {
        if post == RESERVE {
            lock(&self.tasks.lists).calls_of_reserve -= 1;
        }
    }

    fn called(&self, post: usize) -> Option<Task> {
        lock(&self.tasks.lists).take_called(post)
    }

    /// Runs tasks on the thread of this post, until none waits. Returns how long the thread polls
    /// for another one.
    #[cold]
    pub(super) fn run_tasks(&self, post: usize) -> Patience {
        self.post(post).takes_call();
        while self.run_task(post) {}
        lock(&self.tasks.lists).patience
    }

    /// Runs one task on the calling thread, which is called at this post, if a task waits.
    pub(crate) fn run_task(&self, post: usize) -> bool {
        let mut lists = lock(&self.tasks.lists);
        if post != 0
            && let Some(task) = lists.take_called(post)
        {
            let others_wait = !lists.waiting.is_empty();
            drop(lists);
            if others_wait {
                self.note_taker(); // in its stead: it may have come for one of these
            }
            task();
            self.call_ends(post);
            return true;
        }
        let task = lists.waiting.pop_front();
        if task.is_some() && lists.waiting.is_empty() {
            self.open.fetch_and(!TASKS, Ordering::Relaxed);
        }
        drop(lists);
        task.map(|task| task()).is_some()
    }

    /// Whether any task waits that the calling thread, which is called at this post, may run.
    pub(crate) fn has_tasks(&self, post: usize) -> bool {
        let lists = lock(&self.tasks.lists);
        !lists.waiting.is_empty() || lists.called.iter().any(|(of, _)| *of == post)
    }

    /// A worker that is in no loop runs tasks, if it has no offer. Returns how long it polls
    /// afterwards.
    #[cold]
    pub(super) fn run_tasks_at(
        &self,
        post: &Post<Offered<J>>,
        mut state: MutexGuard<'_, PostState<Offered<J>>>,
        number: usize,
    ) -> Patience {
        if !state.at.is_idle() && state.at != WorkerState::Noted {
            return Patience::NONE;
        }
        post.set(&mut state, WorkerState::Inside); // no caller offers it anything meanwhile
        drop(state);
        let patience = self.run_tasks(number);
        post.leave(&mut lock(&post.state));
        patience
    }

    /// The work of the reserve. Returns when the pool stops, after all tasks.
    pub(crate) fn serve(&self) {
        let (number, post) = (RESERVE, &self.tasks.reserve);
        loop {
            let patience = self.run_tasks(number);
            post.leave(&mut lock(&post.state));
            patience
                .poll(|| post.at() != WorkerState::Awake || self.open.load(Ordering::Relaxed) & TASKS != 0);
            let mut state = lock(&post.state);
            if state.at == WorkerState::Awake {
                post.set(&mut state, WorkerState::Asleep);
                if self.open_arenas() & TASKS == 0 {
                    state = post.sleep(state, WorkerState::Asleep);
                }
            }
            if state.at == WorkerState::Stopped {
                break;
            }
            post.set(&mut state, WorkerState::Inside);
        }
        self.run_tasks(number);
    }

    /// Waits until `is_over`. The thread, which is called at this post, runs its own tasks
    /// meanwhile. What makes `is_over` true has to [`wake`](Self::wake) the thread afterwards.
    pub(crate) fn wait(&self, post: usize, is_over: &dyn Fn() -> bool) {
        Patience::BRIEF.poll(is_over);
        if post == 0 {
            let (outside, over) = &self.tasks.outside;
            let mut none = lock(outside);
            while !is_over() {
                none = wait(over, none);
            }
            return;
        }
        while !self.post(post).wait_until(is_over) {
            self.run_calls(post);
        }
    }

    /// Wakes the thread that waits and is called at this post.
    pub(crate) fn wake(&self, post: usize) {
        if post == 0 {
            drop(lock(&self.tasks.outside.0)); // by now the thread sleeps, or will see that it is over
            self.tasks.outside.1.notify_all();
        } else {
            self.post(post).wake();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // nobody polls under Miri
mod tests {
    use std::{
        sync::mpsc::channel,
        thread,
        time::{Duration, Instant},
    };

    use super::{super::post::WorkerState, *};
    use crate::pool::supply::Fence;

    /// The worker runs a task, or, if there is none, the reserve does. The next task needs no
    /// wake-up.
    #[test]
    fn a_thread_that_has_run_a_task_polls_for_another_one() {
        for workers in [0, 1] {
            let barrier = &Barrier::<usize>::new(workers, Fence::Symmetric, Patience::NONE);
            barrier.poll_for_tasks(Patience::of(Duration::from_secs(600)));
            let post = if workers == 0 { &barrier.tasks.reserve } else { &*barrier.posts[0] };
            let sees = |state| {
                let begin = Instant::now();
                while post.at() != state && begin.elapsed() < Duration::from_secs(10) {
                    thread::yield_now();
                }
                post.at() == state
            };
            thread::scope(|scope| {
                let run = || {
                    if workers == 0 {
                        barrier.serve();
                    } else {
                        barrier.arrive(0);
                        assert!(barrier.enter(0, &mut barrier.patience.clone()).is_none());
                    }
                };
                scope.spawn(run);
                let (sender, ran) = channel();
                let mut polls = Vec::new();
                for _ in 0..3 {
                    let sender = sender.clone();
                    barrier.spawn(Box::new(move || sender.send(()).unwrap()));
                    polls.push(ran.recv_timeout(Duration::from_secs(60)).is_ok() && sees(WorkerState::Awake));
                }
                thread::sleep(Duration::from_millis(20));
                polls.push(post.at() == WorkerState::Awake);
                barrier.stop();
                assert_eq!(polls, [true; 4], "{workers} workers");
            });
        }
    }
}
