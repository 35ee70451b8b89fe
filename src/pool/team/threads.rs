//! The threads of a pool: they wait for a job, run it, and leave.

use std::{
    cell::RefCell,
    io, mem,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::Arc,
};

use super::{
    arena::Arena,
    barrier::Barrier,
    fork::Process,
    gate::Gate,
    here::{self, Here},
    job::{self, Job},
    task_list::{RESERVE, Task},
};
use crate::{
    pool::supply::{
        Fence,
        fence::{has_to_register, register_once},
    },
    sync::{AtomicBool, JoinHandle, Mutex, Ordering, Patience, ThreadBuilder, lock, thread_local},
};

/// The threads of one pool. Dropping this value stops the threads, which run all tasks that wait.
/// It joins the threads that the pool has started, and waits until the threads of the program have
/// left the gate; but if one of these threads drops it, or they are detached, it waits for nobody.
#[derive(Debug)]
pub(crate) struct Threads {
    pub(crate) barrier: Arc<Barrier<Job>>,
    /// The number of threads.
    number: usize,
    handles: Vec<JoinHandle<()>>,
    /// The gate of threads that the program has started, if there are any.
    gate: Option<Arc<Gate>>,
    reserve: Reserve,
    /// Whether the drop waits for nobody.
    is_detached: bool,
    /// The process in which the threads exist.
    pub(crate) process: Process,
}

/// The thread that runs tasks when no worker is idle.
#[derive(Debug, Default)]
struct Reserve {
    /// Whether a thread has begun it.
    is_begun: AtomicBool,
    handle: Mutex<Option<JoinHandle<()>>>,
}

// After a panic in user code, the threads and the barrier are in a consistent state.
impl UnwindSafe for Threads {}
impl RefUnwindSafe for Threads {}

impl Threads {
    /// No threads yet, with room for `workers` threads, which poll at least for `patience` before
    /// they sleep.
    pub(crate) fn new(workers: usize, fence: Fence, patience: Patience) -> Self {
        Self {
            barrier: Arc::new(Barrier::new(workers, fence, patience)),
            number: 0,
            handles: Vec::with_capacity(workers),
            gate: None,
            reserve: Reserve::default(),
            is_detached: false,
            process: Process::current(),
        }
    }

    /// The number of the calling thread, from 1; 0 if it is no worker among these threads.
    pub(crate) fn here(&self) -> usize {
        self.barrier.caller().thread()
    }

    /// About the number of waiting callers of loops around the calling thread. If this thread calls
    /// a loop now, these callers would help.
    #[inline(always)]
    pub(crate) fn waiting_around(&self) -> usize {
        if self.barrier.waiting() == 0 {
            return 0;
        }
        here::arena(self.barrier.address()).map_or(0, |number| self.barrier.waiting_around(number))
    }

    /// Whether any loop is shared now.
    pub(crate) fn is_busy(&self) -> bool {
        self.barrier.arenas.made().any(|arena| arena.caller.is_taken.load(Ordering::Relaxed))
    }

    /// The number of thefts.
    pub(crate) fn thefts(&self) -> u64 {
        self.barrier.arenas.made().map(|arena| arena.ranges.thefts()).sum()
    }

    /// Wakes two more workers that sleep on an offer of the loop of this arena, if there are any.
    /// The calling thread works in that loop.
    #[inline(always)]
    pub(crate) fn ring_more(&self, arena: &Arena) {
        if arena.has_to_ring() {
            self.barrier.ring_two(arena);
        }
    }

    /// The caller rests while workers are inside. Returns true if the caller was called back, and
    /// false if all workers have left.
    pub(crate) fn rest(&self, arena: &Arena) -> bool {
        self.barrier.rest(arena, self.barrier.caller(), Some(&job::work))
    }

    /// The number of threads.
    pub(crate) fn size(&self) -> usize {
        self.number
    }

    /// Adds tasks for workers of these numbers, which are threads of the pool; number 0 is the
    /// reserve, which has to have begun.
    pub(crate) fn call_all(&self, calls: impl Iterator<Item = (usize, Task)>) {
        let post = |number| if number == 0 { RESERVE } else { number };
        self.barrier.call_all(calls.map(|(number, task)| (post(number), task)).collect());
    }

    /// Begins the reserve, if it has not begun: `begin` starts its thread.
    pub(crate) fn begin_reserve(
        &self,
        begin: impl FnOnce(WorkerHandle) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        // Relaxed: a thread that finds that it has begun has added its task before; a thread that
        // could not begin it looks for tasks afterwards.
        if self.reserve.is_begun.load(Ordering::Relaxed)
            || self.reserve.is_begun.swap(true, Ordering::Relaxed)
        {
            return Ok(());
        }
        let handle = WorkerHandle { barrier: Arc::clone(&self.barrier), worker: RESERVE };
        let begun = begin(handle);
        if begun.is_err() {
            self.reserve.is_begun.store(false, Ordering::Relaxed);
        }
        *lock(&self.reserve.handle) = Some(begun?);
        Ok(())
    }

    /// Where the calling thread is called: the number of its post, or 0.
    pub(crate) fn post(&self) -> usize {
        self.barrier.caller().post
    }

    /// Runs one task that waits, on the calling thread. Returns whether there was one.
    pub(crate) fn run_task(&self) -> bool {
        self.process.is_current() && self.barrier.run_task(self.post())
    }

    /// Whether a task waits that the calling thread may run.
    pub(crate) fn has_tasks(&self) -> bool {
        self.process.is_current() && self.barrier.has_tasks(self.post())
    }

    /// Where the calling thread waits, if it has to.
    pub(crate) fn waiter(&self) -> Waiter {
        let own = OWN.try_with(|own| own.borrow().clone()); // gone at the end of a thread
        own.ok().flatten().unwrap_or_else(|| Waiter { barrier: Arc::clone(&self.barrier), post: 0 })
    }

    /// Gives up the threads. Does not stop or join them.
    pub(crate) fn forget(&mut self) {
        mem::forget((mem::take(&mut self.handles), mem::take(&mut self.reserve)));
        self.gate = None;
    }

    /// The right of the next thread to work for the pool.
    pub(crate) fn new_worker(&mut self) -> WorkerHandle {
        self.number += 1;
        WorkerHandle { barrier: Arc::clone(&self.barrier), worker: self.number }
    }

    /// Starts a thread that runs `body`. In `body` the thread works for the pool. `body` is boxed,
    /// because the code that starts a thread is compiled once for each type of closure.
    pub(crate) fn start(
        &mut self,
        thread: ThreadBuilder,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<&JoinHandle<()>> {
        self.handles.push(thread.spawn(body)?);
        Ok(&self.handles[self.handles.len() - 1])
    }

    /// From now on, the drop waits for nobody.
    pub(crate) fn detach(&mut self) {
        self.is_detached = true;
    }

    /// The gate for threads that the program starts.
    pub(crate) fn gate(&mut self) -> Arc<Gate> {
        Arc::clone(self.gate.get_or_insert_default())
    }
}

thread_local! {
    /// Where the calling thread waits, if it is a thread of a pool.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro takes no block")]
    static OWN: RefCell<Option<Waiter>> = RefCell::new(None);
}

/// A thread that waits: a thread of a pool at its own post, whichever pool it waits for, and any
/// other thread beside the posts of the pool that it waits for.
#[derive(Clone, Debug)]
pub struct Waiter {
    barrier: Arc<Barrier<Job>>,
    post: usize,
}

/// While this value lives, the calling thread is a thread of a pool.
struct Own(Option<Waiter>);

impl Own {
    fn new(waiter: Waiter) -> Self {
        Self(OWN.with(|own| own.replace(Some(waiter))))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let before = self.0.take();
        drop(OWN.with(|own| own.replace(before)));
    }
}

impl Waiter {
    /// Waits until `is_over`, on the thread that has made this value. A thread of a pool runs the
    /// tasks that only it may run meanwhile. What makes `is_over` true has to [`wake`](Self::wake)
    /// the thread afterwards.
    pub fn wait(&self, is_over: &dyn Fn() -> bool) {
        self.barrier.wait(self.post, is_over);
    }

    /// Wakes the thread.
    pub fn wake(&self) {
        self.barrier.wake(self.post);
    }
}

/// The right of a thread to work for the pool, until the threads are dropped.
#[derive(Debug)]
pub(crate) struct WorkerHandle {
    barrier: Arc<Barrier<Job>>,
    /// From 1: worker 0 is a thread that calls a loop.
    worker: usize,
}

impl WorkerHandle {
    /// Whether this is the work of the reserve.
    pub(crate) fn is_reserve(&self) -> bool {
        self.worker == RESERVE
    }

    /// Runs jobs on the calling thread until the threads are dropped. Before it looks for a job it
    /// calls `has_cpu`, and takes a job only if this returns true. If `registers` returns true, it
    /// registers the process first, if nobody has. The thread may do other work before and after
    /// this.
    pub(crate) fn work(self, mut has_cpu: impl FnMut() -> bool, mut registers: impl FnMut() -> bool) {
        let Self { barrier, worker } = self;
        let _is_worker = Here::is_worker(barrier.address(), worker);
        let _own = Own::new(Waiter { barrier: Arc::clone(&barrier), post: worker });
        if worker == RESERVE {
            return barrier.serve();
        }
        let (me, mut patience) = (worker - 1, barrier.patience);
        barrier.arrive(me);
        loop {
            if has_to_register() && registers() {
                barrier.turn_aside(me, register_once);
            }
            // Checked outside of every loop: no thread waits for this worker.
            while !has_cpu() {
                if barrier.pass_over(me).is_none() {
                    return;
                }
            }
            let Some(entered) = barrier.enter(me, &mut patience) else { return };
            job::work(&entered);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if !self.process.is_current() {
            self.forget(); // the threads do not exist in the child, and a lock may stay locked
        }
        let (threads, gate) = (mem::take(&mut self.handles), self.gate.take());
        let reserve = lock(&self.reserve.handle).take();
        if threads.is_empty() && gate.is_none() && reserve.is_none() {
            return;
        }
        self.barrier.stop();
        if self.post() > 0 || self.is_detached {
            // If a task drops its pool, its thread would wait for itself.
            return gate.into_iter().for_each(|gate| gate.shut());
        }
        for thread in threads.into_iter().chain(reserve) {
            let _never_panicked = thread.join();
        }
        if let Some(gate) = gate {
            gate.close();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
        sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
        thread,
        time::{Duration, Instant},
    };

    use super::{
        super::barrier::{Offer, PollTimes, Reentry},
        *,
    };

    /// `number` threads that look for jobs.
    fn started(number: usize, patience: Patience) -> Threads {
        let mut threads = Threads::new(number, Fence::Symmetric, patience);
        assert_eq!((threads.barrier.awake(), threads.barrier.idle()), (0, number), "no thread runs yet");
        for _ in 0..number {
            let worker = threads.new_worker();
            threads.start(ThreadBuilder::new(), Box::new(move || worker.work(|| true, || false))).unwrap();
        }
        threads
    }

    #[test]
    fn a_sleeping_thread_is_not_awake_and_a_polling_one_is() {
        let impatient = started(1, Patience::default());
        let begin = Instant::now();
        while impatient.barrier.awake() > 0 || impatient.barrier.is_waking() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it has no patience");
            thread::yield_now();
        }
        let patient = started(1, Patience::of(Duration::from_secs(60)));
        thread::sleep(Duration::from_millis(50));
        assert_eq!(patient.barrier.awake(), 1, "it polls");
    }

    /// A thread that the next loop does not ask for falls asleep when its own patience is over.
    #[test]
    fn as_many_threads_poll_as_the_last_loop_asked_for() {
        let threads = started(3, Patience::default());
        for (asked, patience) in [(3, 100), (2, 60_000), (1, 60_000)] {
            let polls =
                PollTimes { between: Patience::of(Duration::from_millis(patience)), ..PollTimes::default() };
            let offer = Offer { helpers: asked, polls, ..Offer::default() };
            let inside = AtomicUsize::new(0);
            let job = |_| {
                inside.fetch_add(1, Ordering::Relaxed);
            };
            let turn = threads.barrier.arenas.take().expect("an arena");
            let begin = Instant::now();
            let is_late = || begin.elapsed() > Duration::from_secs(60);
            job::share(&threads.barrier, &turn, offer, &job, || {
                while inside.load(Ordering::Relaxed) < asked && !is_late() {
                    thread::yield_now();
                }
            });
            assert_eq!(inside.load(Ordering::Relaxed), asked);
            let polling = asked.max(2); // the second of the two polls for the last loop but one
            while threads.barrier.awake() > polling && !is_late() {
                thread::yield_now();
            }
            assert_eq!(threads.barrier.awake(), polling);
        }
    }

    /// A worker in an outer loop is not among the helpers of an inner loop.
    #[test]
    fn as_many_threads_poll_as_an_inner_loop_asked_for() {
        let threads = started(3, Patience::default());
        let [came, ends] = [const { AtomicBool::new(false) }; 2];
        let outer = |_| {
            came.store(true, Ordering::Relaxed);
            wait_for(&ends);
        };
        let turn = threads.barrier.arenas.take().expect("an arena");
        let offer = Offer { helpers: 1, ..Offer::default() };
        job::share(&threads.barrier, &turn, offer, &outer, || {
            wait_for(&came);
            let begin = Instant::now();
            let is_late = || begin.elapsed() > Duration::from_secs(60);
            let inside = AtomicUsize::new(0);
            let inner = |_| {
                inside.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(50));
            };
            // After the inner loops their two helpers poll.
            let polls = PollTimes { between: Patience::of(Duration::from_secs(60)), ..PollTimes::default() };
            let share = |helpers, wait: &dyn Fn()| {
                let turn = threads.barrier.arenas.take().expect("an arena");
                let offer = Offer { helpers, polls, ..Offer::default() };
                job::share(&threads.barrier, &turn, offer, &inner, wait);
            };
            share(2, &|| {
                while inside.load(Ordering::Relaxed) < 2 && !is_late() {
                    thread::yield_now();
                }
            });
            assert_eq!(threads.barrier.awake(), 2);
            // This loop asks for two helpers, and may end before they come.
            share(2, &|| ());
            thread::sleep(Duration::from_millis(50));
            assert_eq!(threads.barrier.awake(), 2);
            ends.store(true, Ordering::Relaxed);
        });
    }

    /// Random loops, in whose items other loops are called.
    struct Nest {
        threads: Threads,
        draws: AtomicU64,
        /// Whether a check has failed. (The panic of a worker would not reach the test.)
        has_failed: AtomicBool,
    }

    impl Nest {
        #[allow(clippy::cast_possible_truncation, reason = "any bits will do")]
        fn draw(&self, below: usize) -> usize {
            let state = self.draws.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
            ((state ^ (state >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) as usize % below
        }

        fn check(&self, check: impl FnOnce()) {
            let failed = catch_unwind(AssertUnwindSafe(check)).is_err();
            self.has_failed.fetch_or(failed, Ordering::Relaxed);
        }

        /// The item of a worker or of a caller, which may call another loop. Up to `depth` loops
        /// are inside each other.
        fn item(&self, depth: u32) {
            if self.draw(2) == 0 {
                thread::sleep(Duration::from_micros(self.draw(100) as u64));
            }
            if depth > 0 && self.draw(3) > 0 {
                self.run(depth - 1);
            }
            let barrier = &self.threads.barrier;
            if let Some(me) = here::worker(barrier.address()).checked_sub(1) {
                self.check(|| barrier.assert_inside(me));
            }
        }

        /// Runs a loop, and counts the state again.
        fn run(&self, depth: u32) {
            let Some(turn) = self.threads.barrier.arenas.take() else { return };
            let reentry = if self.draw(2) == 0 { Reentry::Once } else { Reentry::Again };
            let is_again = reentry == Reentry::Again;
            let helpers = 1 + self.draw(self.threads.size());
            let inside = |_| {
                self.item(depth);
                if is_again && self.draw(3) > 0 {
                    self.threads.barrier.call_back(turn.arena.number);
                }
            };
            let offer = Offer { helpers, reentry, ..Offer::default() };
            job::share(&self.threads.barrier, &turn, offer, &inside, || {
                inside(0);
                while is_again && self.draw(4) > 0 && self.threads.rest(turn.arena) {}
            });
            self.check(|| self.threads.barrier.recount());
        }
    }

    #[test]
    fn nothing_is_left_of_a_random_nest() {
        for workers in 1..=3 {
            let (threads, draws) = (started(workers, Patience::default()), AtomicU64::new(workers as u64));
            let nest = Nest { threads, draws, has_failed: AtomicBool::new(false) };
            for _ in 0..300 {
                nest.run(3);
                nest.threads.barrier.assert_no_loop();
                assert!(!nest.has_failed.load(Ordering::Relaxed), "see the panic above");
            }
        }
    }

    /// Worker A waits for its loop, and helps a loop that worker B calls inside it. Meanwhile A is
    /// still inside the outer loop, and afterwards, too.
    #[test]
    fn a_worker_that_helps_while_it_waits_stays_inside() {
        let (threads, offer) = (started(2, Patience::default()), Offer { helpers: 1, ..Offer::default() });
        let [came, helped, over, is_wrong] = [const { AtomicBool::new(false) }; 4];
        let share = |work: &(dyn Fn(usize) + Sync), waits_for: &AtomicBool| {
            let turn = threads.barrier.arenas.take().expect("an arena");
            job::share(&threads.barrier, &turn, offer, work, || wait_for(waits_for));
        };
        let inner = |_| helped.store(true, Ordering::Relaxed);
        let middle = |_| {
            came.store(true, Ordering::Relaxed);
            share(&inner, &helped);
        };
        let outer = |_| {
            share(&middle, &came);
            let me = here::worker(threads.barrier.address()) - 1;
            let checked = catch_unwind(AssertUnwindSafe(|| threads.barrier.assert_inside(me)));
            is_wrong.store(checked.is_err(), Ordering::Relaxed);
            over.store(true, Ordering::Relaxed);
        };
        share(&outer, &over);
        assert!(!is_wrong.load(Ordering::Relaxed), "a worker in a loop counts as awake");
        threads.barrier.assert_no_loop();
    }

    fn wait_for(word: &AtomicBool) {
        let begin = Instant::now();
        while !word.load(Ordering::Relaxed) {
            assert!(begin.elapsed() < Duration::from_secs(60), "nobody comes");
            thread::yield_now();
        }
    }

    /// The work of a loop never unwinds. Even if it unwound while a caller helps, no worker would
    /// touch a borrowed value after the call.
    #[test]
    fn a_caller_whose_help_unwinds_has_waited_all_the_same() {
        let (threads, caller) = (started(1, Patience::default()), thread::current().id());
        let [came, helped, is_inside] = [const { AtomicBool::new(false) }; 3];
        let offer = Offer { helpers: 1, ..Offer::default() };
        let inner = |_| {
            if thread::current().id() == caller {
                helped.store(true, Ordering::Relaxed);
                resume_unwind(Box::new("help"));
            }
        };
        let outer = |_| {
            is_inside.store(true, Ordering::Relaxed);
            came.store(true, Ordering::Relaxed);
            let turn = threads.barrier.arenas.take().expect("an arena");
            job::share(&threads.barrier, &turn, offer, &inner, || wait_for(&helped));
            thread::sleep(Duration::from_millis(20));
            is_inside.store(false, Ordering::Relaxed);
        };
        let turn = threads.barrier.arenas.take().expect("an arena");
        let ended = catch_unwind(AssertUnwindSafe(|| {
            job::share(&threads.barrier, &turn, offer, &outer, || wait_for(&came));
        }));
        assert_eq!(ended.expect_err("a panic").downcast_ref(), Some(&"help"));
        assert!(!is_inside.load(Ordering::Relaxed), "the worker is inside after the return");
        assert_eq!(threads.barrier.callers(), 0);
    }

    #[test]
    fn a_thread_that_has_left_is_no_worker() {
        let mut threads = Threads::new(1, Fence::Symmetric, Patience::default());
        let (worker, pass, address) =
            (threads.new_worker(), threads.gate().enter().unwrap(), threads.barrier.address());
        let lent = thread::spawn(move || {
            let mut at_work = 0;
            let has_cpu = || {
                at_work = here::worker(address);
                true
            };
            worker.work(has_cpu, || false);
            drop(pass);
            (at_work, here::worker(address))
        });
        drop(threads);
        assert_eq!(lent.join().unwrap(), (1, 0));
    }
}
