//! The post of a worker: where callers offer jobs to the worker, where a note says that a task
//! waits for it, and where it sleeps.
//!
//! Each worker has a post of its own, and polls only its own post. So callers that offer jobs to
//! different workers write to different cache lines, and no worker takes a lock that all workers
//! take. Each step happens under the lock of the post, which a thread holds for some ten
//! nanoseconds. `src/pool/README.md` has the states and the proofs.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, Patience, lock, wait};

/// The post of one worker. `O` is what callers offer.
#[derive(Debug)]
pub(crate) struct Post<O> {
    /// A copy of [`PostState::at`], which the worker polls, and by which callers look for idle
    /// workers: Relaxed. It has a cache line of its own: each poll would take the line of the lock
    /// from a caller that holds the lock.
    word: CachePadded<AtomicUsize>,
    pub(super) state: Mutex<PostState<O>>,
    /// The worker sleeps on this.
    bell: Condvar,
}

/// What the lock of a post protects.
#[derive(Debug)]
pub(crate) struct PostState<O> {
    pub(super) at: WorkerState,
    /// The offer, while the worker is [`WorkerState::Offered`].
    offered: Option<O>,
    /// How long the worker polls after the last offered job, even if the offer was taken back.
    patience: Patience,
    /// Where the worker was before the offer, and is again if the offer is taken back.
    was: WorkerState,
    /// Whether a task waits that only this worker may run. The worker itself takes it back.
    pub(super) is_called: bool,
}

/// Where a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerState {
    /// In no loop. It looks for a job, or will look for one before it sleeps.
    Awake,
    /// Its thread starts, or it slept and was rung: it is on its way, and looks around before it
    /// sleeps.
    Rung,
    /// Sleeps on its bell.
    Asleep,
    /// It has declined a job, and sleeps. Callers choose it last.
    Away,
    /// In a loop, or about to enter one.
    Inside,
    /// A caller offers it a job. The caller may take the offer back.
    Offered,
    /// A note says that a task waits. Nobody takes the note back.
    Noted,
    /// The pool stops.
    Stopped,
}

impl WorkerState {
    const ALL: [Self; 8] = [
        Self::Awake,
        Self::Rung,
        Self::Asleep,
        Self::Away,
        Self::Inside,
        Self::Offered,
        Self::Noted,
        Self::Stopped,
    ];

    /// Where a worker is that may get an offer, in the order in which callers choose.
    pub(super) const IDLE: [Self; 4] = [Self::Awake, Self::Rung, Self::Asleep, Self::Away];

    pub(super) fn is_idle(self) -> bool {
        Self::IDLE.contains(&self)
    }

    /// Whether the worker has to be rung.
    pub(super) fn sleeps(self) -> bool {
        matches!(self, Self::Asleep | Self::Away)
    }
}

impl<O: Copy> Post<O> {
    /// The post of a worker that is `at`.
    pub(super) fn new(at: WorkerState) -> Self {
        let patience = Patience::NONE;
        let state = PostState { at, offered: None, patience, was: at, is_called: false };
        Self { word: AtomicUsize::new(at as usize).into(), state: Mutex::new(state), bell: Condvar::new() }
    }

    /// Where the worker is: a hint.
    #[inline(always)]
    pub(crate) fn at(&self) -> WorkerState {
        WorkerState::ALL[self.word.load(Ordering::Relaxed)]
    }

    pub(super) fn set(&self, state: &mut PostState<O>, at: WorkerState) {
        state.at = at;
        self.word.store(at as usize, Ordering::Relaxed);
    }

    /// The worker's thread runs. An offer that came before it may be taken back later.
    pub(super) fn arrive(&self) {
        let mut state = lock(&self.state);
        if state.at == WorkerState::Rung {
            self.set(&mut state, WorkerState::Awake);
        } else if state.was == WorkerState::Rung {
            state.was = WorkerState::Awake;
        }
    }

    /// Offers a job, if the worker is idle. Returns where it was.
    pub(super) fn offer(&self, offered: O, patience: Patience) -> Option<WorkerState> {
        let mut state = lock(&self.state);
        let was = state.at;
        if !was.is_idle() {
            return None;
        }
        (state.offered, state.was, state.patience) = (Some(offered), was, patience);
        self.set(&mut state, WorkerState::Offered);
        Some(was)
    }

    /// Takes back the offer, if `is_own`. Returns where the worker is now; `None` if the worker has
    /// taken the caller's own offer.
    pub(super) fn take_back(&self, is_own: impl Fn(O) -> bool) -> Option<WorkerState> {
        if self.at() != WorkerState::Offered {
            return None; // the last write here that the caller has seen is its own offer
        }
        let mut state = lock(&self.state);
        if !state.offered.is_some_and(is_own) {
            return None;
        }
        state.offered = None;
        let was = state.was;
        self.set(&mut state, was);
        if state.is_called {
            self.set(&mut state, WorkerState::Noted);
            self.bell.notify_one();
        }
        Some(was)
    }

    /// Puts a note here if the worker is idle, and wakes the worker if it sleeps. Returns whether
    /// it was idle.
    pub(super) fn note(&self) -> bool {
        let mut state = lock(&self.state);
        let was = state.at;
        if was.is_idle() {
            self.set(&mut state, WorkerState::Noted);
            if was.sleeps() {
                self.bell.notify_one();
            }
        }
        was.is_idle()
    }

    /// Says that a task waits which only this worker may run. If the worker is idle, puts a note
    /// here. Wakes the worker if it sleeps here. Returns whether it was idle.
    pub(super) fn call(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_called = true;
        let is_idle = state.at.is_idle();
        if is_idle {
            self.set(&mut state, WorkerState::Noted);
        }
        self.bell.notify_one();
        is_idle
    }

    /// Whether the worker is called. If it is, it takes all its tasks now.
    pub(super) fn takes_call(&self) -> bool {
        std::mem::take(&mut lock(&self.state).is_called)
    }

    /// The worker is in no loop any more, and has no task.
    pub(super) fn leave(&self, state: &mut PostState<O>) {
        if state.at == WorkerState::Inside {
            self.set(state, if state.is_called { WorkerState::Noted } else { WorkerState::Awake });
        }
    }

    /// The worker waits here until `is_over`, or until it is called. Returns whether it is over.
    /// What makes `is_over` true has to call [`wake`](Self::wake) afterwards.
    pub(super) fn wait_until(&self, is_over: &dyn Fn() -> bool) -> bool {
        let mut state = lock(&self.state);
        loop {
            if is_over() {
                return true;
            }
            if state.is_called {
                return false;
            }
            state = wait(&self.bell, state);
        }
    }

    /// Wakes the worker, which waits here.
    pub(super) fn wake(&self) {
        drop(lock(&self.state)); // by now the worker sleeps, or will see what it waits for
        self.bell.notify_one();
    }

    /// The worker takes the offer, if there is one, and is `at` from now on. Also returns how long
    /// it polls afterwards.
    pub(super) fn take(&self, state: &mut PostState<O>, at: WorkerState) -> Option<(O, Patience)> {
        let offered = state.offered.take()?;
        self.set(state, at);
        Some((offered, std::mem::take(&mut state.patience)))
    }

    /// Wakes the worker if it is [`WorkerState::Asleep`].
    pub(super) fn ring_if_asleep(&self) {
        if self.at() == WorkerState::Asleep {
            self.ring();
        }
    }

    /// Wakes the worker if it sleeps. If it has an offer that is taken back before it is awake, it
    /// looks around.
    pub(super) fn ring(&self) {
        let mut state = lock(&self.state);
        if state.at.sleeps() {
            self.set(&mut state, WorkerState::Rung);
        } else if state.was.sleeps() {
            state.was = WorkerState::Rung;
        }
        drop(state);
        self.bell.notify_one();
    }

    /// Sleeps as long as the worker is `at`. A worker that was rung is awake from now on.
    pub(super) fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, PostState<O>>,
        at: WorkerState,
    ) -> MutexGuard<'a, PostState<O>> {
        while state.at == at {
            state = wait(&self.bell, state);
        }
        if state.at == WorkerState::Rung {
            self.set(&mut state, WorkerState::Awake);
        }
        state
    }

    /// The time to poll for after an offer that was taken back. It counts once.
    pub(super) fn patience(state: &mut PostState<O>) -> Patience {
        std::mem::take(&mut state.patience)
    }

    /// Whether the worker has an offer that `is_own`.
    pub(super) fn has_offer(&self, is_own: impl Fn(O) -> bool) -> bool {
        lock(&self.state).offered.is_some_and(is_own)
    }

    /// Tells the worker to stop, then wakes it.
    pub(super) fn stop(&self) {
        self.set(&mut lock(&self.state), WorkerState::Stopped);
        self.bell.notify_one();
    }
}
