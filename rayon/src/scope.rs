//! Scopes of tasks that may spawn further tasks. A scope runs its tasks as a loop over a list that
//! grows.

use std::{
    any::Any,
    fmt, mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    absent::{BroadcastContext, BroadcastIsNotThere},
    join::discard,
    pool::{Seat, Shared, current, in_its_stack, inside},
};

type Task<'scope, S> = Box<dyn FnOnce(&S) + Send + 'scope>;
type Payload = Box<dyn Any + Send>;

/// The spawned tasks that have not begun, and the first panic.
struct Tasks<'scope, S> {
    waiting: Mutex<Vec<Task<'scope, S>>>,
    /// The first panic.
    panic: Mutex<Option<Payload>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'scope, S> Tasks<'scope, S> {
    fn new() -> Self {
        Self { waiting: Mutex::new(Vec::new()), panic: Mutex::new(None) }
    }

    fn add(&self, task: impl FnOnce(&S) + Send + 'scope) {
        lock(&self.waiting).push(Box::new(task));
    }

    fn take(&self) -> Vec<Task<'scope, S>> {
        mem::take(&mut lock(&self.waiting))
    }

    /// Runs a task. If the task is the first one that panics, keeps its panic.
    #[track_caller]
    fn run<R>(&self, task: impl FnOnce() -> R) -> Option<R> {
        let payload = match catch_unwind(AssertUnwindSafe(task)) {
            Ok(returned) => return Some(returned),
            Err(payload) => payload,
        };
        let mut first = lock(&self.panic);
        let surplus = if first.is_none() { first.replace(payload) } else { Some(payload) };
        drop(first);
        discard(surplus); // a drop may take time, or panic: not under the lock
        None
    }

    /// Returns the result of the scope's closure, or resumes the first panic.
    fn end<R>(&self, returned: Option<R>) -> R {
        let panic = lock(&self.panic).take();
        if let Some(payload) = panic {
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
        f.debug_struct("Scope").field("waiting", &lock(&self.0.waiting).len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("waiting", &lock(&self.0.waiting).len()).finish_non_exhaustive()
    }
}

impl<'scope> Scope<'scope> {
    /// Adds a task to the scope. The new task begins after the end of the closure or task that adds
    /// it.
    pub fn spawn<BODY: FnOnce(&Scope<'scope>) + Send + 'scope>(&self, body: BODY) {
        self.0.add(body);
    }

    /// Not in this crate: a call is a compile error.
    pub fn spawn_broadcast<BODY>(&self, _body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope + BroadcastIsNotThere,
    {
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Adds a task to the scope. The new task begins after all tasks that were added earlier have
    /// begun.
    pub fn spawn_fifo<BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope>(&self, body: BODY) {
        self.0.add(body);
    }

    /// Not in this crate: a call is a compile error.
    pub fn spawn_broadcast<BODY>(&self, _body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope + BroadcastIsNotThere,
    {
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
/// If `op` or a task panics: with the first panic, after all tasks have ended.
pub fn scope<'scope, OP: FnOnce(&Scope<'scope>) -> R + Send, R: Send>(op: OP) -> R {
    in_its_stack!(|pool| in_scope(pool, op))
}

/// [`scope`] with tasks that begin in the order in which they are spawned.
pub fn scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R + Send, R: Send>(op: OP) -> R {
    in_its_stack!(|pool| in_order(pool, op))
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
    let scope = Scope(Tasks::new());
    in_rounds(pool, &scope, &scope.0, op, newest_first)
}

/// Calls `op`, and then runs the spawned tasks, round after round. `many` runs several tasks.
fn in_rounds<'scope, S: Sync, R>(
    pool: &Shared,
    scope: &S,
    tasks: &Tasks<'scope, S>,
    op: impl FnOnce(&S) -> R,
    many: impl Fn(&Shared, &S, Vec<Task<'scope, S>>) + Sync,
) -> R {
    let seat = Seat::take(pool, 0);
    let returned = tasks.run(|| op(scope));
    loop {
        // If threads outside of the loop have added tasks, these tasks run in the next round.
        match <[_; 1]>::try_from(tasks.take()) {
            // No other thread could help with a single task, so this thread calls the task without
            // a loop, which needs less stack. The tasks that the task spawns form the next round.
            Ok([task]) => inside(pool, || _ = tasks.run(|| task(scope))),
            Err(none) if none.is_empty() => break,
            Err(several) => inside(pool, || many(pool, scope, several)),
        }
    }
    drop(seat);
    tasks.end(returned)
}

#[inline(never)]
fn newest_first<'scope>(pool: &Shared, scope: &Scope<'scope>, mut tasks: Vec<Task<'scope, Scope<'scope>>>) {
    tasks.reverse();
    pool.grow(tasks).with(|worker| Seat::take(pool, worker)).for_each(|(_, task), feed| {
        scope.0.run(|| task(scope));
        scope.0.take().into_iter().for_each(|task| feed.push(task));
    });
}

/// Runs a scope on a pool, the oldest tasks first. The tasks run in rounds, because tasks that a
/// task adds are younger than all other tasks.
pub(crate) fn in_order<'scope, R>(pool: &Shared, op: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
    let scope = ScopeFifo(Tasks::new());
    in_rounds(pool, &scope, &scope.0, op, oldest_first)
}

#[inline(never)]
fn oldest_first<'scope>(
    pool: &Shared,
    scope: &ScopeFifo<'scope>,
    tasks: Vec<Task<'scope, ScopeFifo<'scope>>>,
) {
    pool.on(tasks).with(|worker| Seat::take(pool, worker)).for_each(|(_, task)| {
        scope.0.run(|| task(scope));
    });
}
