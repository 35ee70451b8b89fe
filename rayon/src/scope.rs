//! Scopes of tasks that may spawn further tasks.
//!
//! Tasks wait in a list of the scope. When the closure of the scope has ended, its thread runs
//! them: a few alone, and more as a loop over *tickets*, whose workers take a task for each ticket.
//! Meanwhile, and before, helpers run the oldest tasks, if the watch calls them (`watch.rs`). So a
//! task begins although the closure, or another task, waits for it.
//!
//! Inside a pool of one thread, the tasks of all scopes of the thread also wait in one line, and a
//! scope that waits runs the newest of the line: a task of a scope around it, perhaps. This is
//! rayon's order.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use rangesteal::{LentCall, Pool, Waiter};

use crate::{
    join::discard,
    pool::{Seat, Shared, current, inside, on_its_host, worker},
    spawn::BroadcastContext,
    sync::lock,
    watch::{Help, Watching},
};

type Task<'scope, S> = Box<dyn FnOnce(&S) + Send + 'scope>;
type Broadcast<'scope, S> = Arc<dyn Fn(&S, BroadcastContext<'_>) + Send + Sync + 'scope>;
type Payload = Box<dyn Any + Send>;

/// How long the thread of a scope runs tasks alone before it makes a loop of them.
const ALONE: Duration = Duration::from_micros(5);

/// The tasks that have not begun, each with its number.
struct InLine<'scope, S> {
    /// How many tasks and broadcasts have been spawned. They are numbered from 1.
    spawned: usize,
    tasks: VecDeque<(usize, Task<'scope, S>)>,
}

impl<S> InLine<'_, S> {
    /// The number of the next task or broadcast.
    fn number(&mut self) -> usize {
        self.spawned += 1;
        self.spawned
    }
}

thread_local! {
    /// The line of this thread's scopes inside a pool of one thread: an entry for each task that
    /// was spawned on this thread, which runs the next task of its scope. Each scope has its
    /// address.
    static LINE: RefCell<Vec<(usize, LentCall)>> = const { RefCell::new(Vec::new()) };
}

/// The number of [`Tasks::help`] that stands for the next task, in the order of the scope.
const NEXT: usize = usize::MAX;

/// Runs a task of the newest entry of the line. Whether there was one.
fn run_in_line() -> bool {
    let newest = LINE.try_with(|line| line.borrow_mut().pop()).ok().flatten();
    newest.map(|(_, lent)| lent.call(NEXT)).is_some()
}

/// The tasks of a scope, and their first panic.
struct Tasks<'scope, S> {
    pool: Shared,
    /// Whether the newest task is next.
    newest: bool,
    /// The thread whose line has the tasks, if there is one.
    in_line_of: Option<ThreadId>,
    /// Calls [`Tasks::help`] for this scope.
    lent: OnceLock<LentCall>,
    waiting: Mutex<InLine<'scope, S>>,
    /// The tasks that have not ended.
    left: AtomicUsize,
    /// The tasks that have no ticket yet.
    added: AtomicUsize,
    /// Made with the first task. `None` if nobody could help.
    watching: OnceLock<Option<Watching>>,
    /// With their numbers.
    broadcasts: Mutex<Vec<(usize, Broadcast<'scope, S>)>>,
    /// Whether the thread of the scope waits, and where.
    waits: AtomicBool,
    waiter: OnceLock<Waiter>,
    /// The panic of the closure, or else of the task that was spawned first, with its number: the
    /// closure has 0.
    panic: Mutex<Option<(usize, Payload)>>,
}

impl<'scope, S> Tasks<'scope, S> {
    fn new(pool: &Shared, newest: bool) -> Self {
        let is_in_line = pool.num_threads() == 1 && worker(Some(pool)).is_some();
        Self {
            pool: pool.clone(),
            newest,
            in_line_of: is_in_line.then(|| thread::current().id()),
            lent: OnceLock::new(),
            waiting: Mutex::new(InLine { spawned: 0, tasks: VecDeque::new() }),
            left: AtomicUsize::new(0),
            added: AtomicUsize::new(0),
            watching: OnceLock::new(),
            broadcasts: Mutex::new(Vec::new()),
            waits: AtomicBool::new(false),
            waiter: OnceLock::new(),
            panic: Mutex::new(None),
        }
    }

    fn add(&self, task: impl FnOnce(&S) + Send + 'scope) {
        self.left.fetch_add(1, Relaxed); // by a thread that the scope waits for
        self.added.fetch_add(1, Relaxed);
        let task = Box::new(task);
        let mut waiting = lock(&self.waiting);
        let number = waiting.number();
        waiting.tasks.push_back((number, task));
        drop(waiting);
        if self.in_line_of.is_some_and(|thread| thread == thread::current().id()) {
            self.lent
                .get()
                .map(|lent| LINE.try_with(|line| line.borrow_mut().push((self.address(), lent.clone()))));
        }
        let watch = || {
            let help = self.lent.get().map_or(Help::No, |lent| Help::Scope(lent.clone()));
            Watching::new(&self.pool, help, "a task of a scope")
        };
        if let Some(watching) = self.watching.get_or_init(watch) {
            watching.waits();
        }
        self.wake();
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Calls `task` on each thread of the pool.
    fn add_broadcast(&self, task: Broadcast<'scope, S>) {
        let threads = self.pool.num_threads();
        self.left.fetch_add(threads, Relaxed);
        let number = lock(&self.waiting).number();
        let mut all = lock(&self.broadcasts);
        let first = 1 + all.len() * threads;
        all.push((number, task));
        drop(all);
        let lent = self.lent.get().cloned().expect("set before the closure of the scope begins");
        self.pool.spawn_broadcast(move |worker| lent.call(first + worker));
    }

    /// The number of tasks that wait.
    fn waiting(&self) -> usize {
        lock(&self.waiting).tasks.len()
    }

    /// Runs one task, if one waits: the newest one, or the oldest one.
    fn run_one(&self, scope: &S, newest: bool) -> bool {
        let mut waiting = lock(&self.waiting);
        let task = if newest { waiting.tasks.pop_back() } else { waiting.tasks.pop_front() };
        drop(waiting);
        let Some((number, task)) = task else { return false };
        if let Some(Some(watching)) = self.watching.get() {
            watching.watched.begins();
        }
        self.run(number, || task(scope));
        self.ends();
        true
    }

    /// Runs the next task, if one waits.
    fn run_next(&self, scope: &S) -> bool {
        self.run_one(scope, self.newest)
    }

    /// A task has ended.
    fn ends(&self) {
        // SeqCst: the thread of the scope sees what the task has done. And see `wait`.
        if self.left.fetch_sub(1, SeqCst) == 1 {
            self.wake();
        }
    }

    /// Wakes the thread of the scope, if it waits.
    fn wake(&self) {
        if self.waits.load(SeqCst)
            && let Some(waiter) = self.waiter.get()
        {
            waiter.wake();
        }
    }

    /// Waits until no task is left, or one waits. (This thread writes `waits`, then reads what it
    /// waits for; other threads write that, then read `waits`. All are `SeqCst`, or under a lock
    /// behind which a `SeqCst` follows.)
    fn wait(&self) {
        let waiter = self.waiter.get_or_init(|| self.pool.waiter());
        self.waits.store(true, SeqCst);
        waiter.wait(&|| self.left.load(SeqCst) == 0 || self.waiting() > 0);
        self.waits.store(false, SeqCst);
    }

    /// The work of other threads for a scope: number 0 runs the tasks that wait, the oldest first.
    /// [`NEXT`] runs one. Any other number is a call of a broadcast.
    fn help(&self, scope: &S, number: usize) {
        let _seat = Seat::take(&self.pool);
        if number == NEXT {
            self.run_next(scope);
            return;
        }
        let Some(call) = number.checked_sub(1) else {
            if let Some(Some(watching)) = self.watching.get() {
                watching.watched.helper_comes();
            }
            while self.run_one(scope, false) {}
            return;
        };
        let (of, worker) = (call / self.pool.num_threads(), call % self.pool.num_threads());
        let (number, task) = lock(&self.broadcasts)[of].clone();
        self.run(number, || task(scope, BroadcastContext::new(&self.pool, worker)));
        drop(task);
        self.ends();
    }

    /// Runs the task of this number. Keeps its panic, unless a task with a lower number panics.
    #[track_caller]
    fn run<R>(&self, number: usize, task: impl FnOnce() -> R) -> Option<R> {
        let payload = match catch_unwind(AssertUnwindSafe(task)) {
            Ok(returned) => return Some(returned),
            Err(payload) => payload,
        };
        let mut first = lock(&self.panic);
        let is_first = first.as_ref().is_none_or(|(other, _)| number < *other);
        let surplus =
            if is_first { first.replace((number, payload)).map(|(_, later)| later) } else { Some(payload) };
        drop(first);
        discard(surplus); // a drop may take time, or panic: not under the lock
        None
    }

    /// Returns the result of the scope's closure, or resumes the first panic.
    fn end<R>(&self, returned: Option<R>) -> R {
        let panic = lock(&self.panic).take();
        if let Some((_, payload)) = panic {
            discard(returned);
            resume_unwind(payload);
        }
        returned.expect("the closure has returned or panicked")
    }
}

/// A scope whose tasks may borrow all values that outlive the scope. See [`scope`].
pub struct Scope<'scope>(Tasks<'scope, Scope<'scope>>);

/// A scope whose tasks begin in the order in which they are spawned. See [`scope_fifo`].
pub struct ScopeFifo<'scope>(Tasks<'scope, ScopeFifo<'scope>>);

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("waiting", &self.0.waiting()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("waiting", &self.0.waiting()).finish_non_exhaustive()
    }
}

impl<'scope> Scope<'scope> {
    /// Adds a task to the scope. The new task begins at the latest some milliseconds after a thread
    /// of the pool has nothing else to do, also if the closure or task that adds it goes on.
    pub fn spawn<BODY: FnOnce(&Scope<'scope>) + Send + 'scope>(&self, body: BODY) {
        self.0.add(body);
    }

    /// Calls a thread of the pool, which runs tasks of this scope, if more of them wait than
    /// threads were called.
    pub(crate) fn call_helper(&self) {
        if let Some(Some(watching)) = self.0.watching.get() {
            watching.watched.call_helper();
        }
    }

    /// Adds tasks to the scope that call `body` once on each thread of the pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0.add_broadcast(Arc::new(body));
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Adds a task to the scope, as [`Scope::spawn`]. The new task begins after all tasks that were
    /// added earlier have begun.
    pub fn spawn_fifo<BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope>(&self, body: BODY) {
        self.0.add(body);
    }

    /// Adds tasks to the scope that call `body` once on each thread of the pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0.add_broadcast(Arc::new(body));
    }
}

/// Calls `op` with a scope, then runs all tasks of the scope, and returns when all tasks have
/// ended. All tasks run, even if one of them panics.
///
/// ```
/// # use rangesteal_rayon as rayon;
/// let mut lengths = [0; 2];
/// let [first, second] = &mut lengths;
/// rayon::scope(|scope| {
///     scope.spawn(|_| *first = "one".len());
///     scope.spawn(|_| *second = "three".len());
/// });
/// assert_eq!(lengths, [3, 5]);
/// ```
///
/// # Panics
/// If `op` or a task panics: with the panic of `op`, or else of the task that was spawned first,
/// after all tasks have ended.
pub fn scope<'scope, OP: FnOnce(&Scope<'scope>) -> R + Send, R: Send>(op: OP) -> R {
    on_its_host!(|pool| in_scope(pool, op))
}

/// [`scope`] with tasks that begin in the order in which they are spawned.
pub fn scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R + Send, R: Send>(op: OP) -> R {
    on_its_host!(|pool| in_order(pool, op))
}

/// [`scope`] whose `op` need not be `Send`: this thread calls it.
pub fn in_place_scope<'scope, OP: FnOnce(&Scope<'scope>) -> R, R>(op: OP) -> R {
    in_scope(&current(), op)
}

/// [`scope_fifo`] whose `op` need not be `Send`: this thread calls it.
pub fn in_place_scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R, R>(op: OP) -> R {
    in_order(&current(), op)
}

/// Runs a scope on a pool, the newest tasks first.
pub(crate) fn in_scope<'scope, R>(pool: &Shared, op: impl FnOnce(&Scope<'scope>) -> R) -> R {
    let scope = Scope(Tasks::new(pool, true));
    run_scope(&scope, &scope.0, op)
}

/// Runs a scope on a pool, the oldest tasks first.
pub(crate) fn in_order<'scope, R>(pool: &Shared, op: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
    let scope = ScopeFifo(Tasks::new(pool, false));
    run_scope(&scope, &scope.0, op)
}

/// Calls `op`, and then runs the spawned tasks, until all have ended.
fn run_scope<S: Sync, R>(scope: &S, tasks: &Tasks<'_, S>, op: impl FnOnce(&S) -> R) -> R {
    let pool = &tasks.pool;
    let seat = Seat::take(pool);
    let returned = Pool::lend(&|number| tasks.help(scope, number), |lent| {
        tasks.lent.get_or_init(|| lent.clone());
        let returned = tasks.run(0, || op(scope));
        if let Some(Some(watching)) = tasks.watching.get() {
            watching.watched.closure_ends();
        }
        while tasks.left.load(SeqCst) > 0 {
            if tasks.in_line_of.is_some() && run_in_line() {
                continue;
            }
            if tasks.waiting() > 0 {
                inside(pool, || run_waiting(scope, tasks));
            } else {
                tasks.wait();
            }
        }
        if tasks.in_line_of.is_some() {
            // Helpers may have run the tasks of some entries.
            let _ = LINE.try_with(|line| line.borrow_mut().retain(|(of, _)| *of != tasks.address()));
        }
        returned
    });
    drop(seat);
    tasks.end(returned)
}

thread_local! {
    /// Whether the tasks of this thread's last scope took longer than [`ALONE`].
    static ARE_LONG: Cell<bool> = const { Cell::new(false) };
}

/// Runs the tasks that wait. The first ones run on this thread alone: a loop costs more than some
/// short tasks. If they take long, or did so in the last scope, the others make a loop.
#[inline(never)]
fn run_waiting<S: Sync>(scope: &S, tasks: &Tasks<'_, S>) {
    if tasks.waiting() > 1 {
        let begin = Instant::now();
        while tasks.waiting() > 1 {
            if (ARE_LONG.get() || begin.elapsed() > ALONE) && tasks.pool.idle() > 0 {
                in_a_loop(scope, tasks);
            } else {
                tasks.run_next(scope);
            }
        }
        ARE_LONG.set(begin.elapsed() > ALONE);
    }
    // Nobody else could help with a single task.
    tasks.run_next(scope);
}

/// Runs the tasks as a loop that grows with them. Its items are tickets: each is for one task.
#[inline(never)]
fn in_a_loop<S: Sync>(scope: &S, tasks: &Tasks<'_, S>) {
    let pool = &tasks.pool;
    tasks.added.store(0, Relaxed);
    pool.grow(vec![(); tasks.waiting()]).with(|_| Seat::take(pool)).for_each(|_, feed| {
        tasks.run_next(scope);
        (0..tasks.added.swap(0, Relaxed)).for_each(|_| feed.push(()));
    });
}
