//! A thread of the process that watches the tasks of scopes, and those of pools of one thread.
//!
//! The thread that has opened a scope runs the tasks of the scope when its closure has ended, and
//! idle workers help, as in a loop. If it does not come to that, because the closure or a task
//! waits for another task, some thread has to begin the task all the same. To wake one for each
//! task would cost more than most tasks take. So the *watch* looks at all scopes once in a while
//! ([`TICK`]). Where tasks wait and none has begun since it last looked, it calls a helper: a task
//! of the pool (`rangesteal::Pool::spawn`), which begins in any case.
//!
//! The watch sleeps while no task waits. The invariant: it does not fall asleep beside a task that
//! waits. A scope writes that a task waits, then reads whether the watch sleeps. The watch writes
//! that it sleeps, then reads whether tasks wait. All four are `SeqCst`, so at least one of them
//! sees the other.
//!
//! If the closure of a scope had to be helped, the next scopes call a helper at once
//! ([`EAGER_SCOPES`]), since a program that waits for its tasks probably does so again.

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst},
    },
    thread::{self, Thread},
    time::Duration,
};

use rangesteal::{LentCall, Process};

use crate::{pool::Shared, sync::lock};

/// How often the watch looks.
const TICK: Duration = Duration::from_millis(1);
/// In ticks: the watch sleeps after this time without a waiting task.
const LAST_TICKS: u32 = 20;
/// In ticks: debug builds report a task that has not begun after this time, which is 10 seconds,
/// and one second in tests.
const STUCK_TICKS: u32 = if cfg!(test) { 1_000 } else { 10_000 };
/// How many scopes call helpers at once after a closure of a scope had to be helped.
const EAGER_SCOPES: usize = 1000;
/// The scopes of different threads are mostly in different lists.
const LISTS: usize = 16;

/// How another thread begins tasks that wait.
#[derive(Debug)]
pub(crate) enum Help {
    /// It cannot: the closures of `join`.
    No,
    /// It calls a function of a scope, which runs tasks that wait.
    Scope(LentCall),
    /// The pool is given the tasks that its only thread has spawned.
    LocalTasks,
}

/// The tasks of a scope or pool, as the watch sees them.
#[derive(Debug)]
pub(crate) struct Watched {
    pool: Shared,
    help: Help,
    /// What waits, for a message.
    what: &'static str,
    /// The number of tasks that have not begun.
    waiting: AtomicUsize,
    /// The number of tasks that have begun, and of helpers that were called and have not come.
    begun: AtomicUsize,
    called: AtomicUsize,
    /// Whether the closure of the scope has not ended.
    is_in_closure: AtomicBool,
    /// The watch's own: how many tasks had begun when it last looked, and since how many ticks.
    seen: AtomicUsize,
    ticks: AtomicUsize,
}

/// The watch of this process.
struct Watch {
    lists: [Mutex<Vec<Arc<Watched>>>; LISTS],
    sleeps: AtomicBool,
    /// How many more scopes call helpers at once.
    eager: AtomicUsize,
    /// `None` if the thread could not be started.
    thread: OnceLock<Option<Thread>>,
    /// The process in which the thread exists. In a forked child, locks may stay locked.
    process: OnceLock<Process>,
}

static WATCH: Watch = Watch {
    lists: [const { Mutex::new(Vec::new()) }; LISTS],
    sleeps: AtomicBool::new(true),
    eager: AtomicUsize::new(0),
    thread: OnceLock::new(),
    process: OnceLock::new(),
};

/// The list of this thread's scopes.
fn own_list() -> &'static Mutex<Vec<Arc<Watched>>> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: Cell<usize> = const { Cell::new(usize::MAX) });
    if OWN.get() == usize::MAX {
        OWN.set(NEXT.fetch_add(1, Relaxed) % LISTS);
    }
    &WATCH.lists[OWN.get()]
}

/// While this value lives, the watch looks at the tasks of a scope.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) watched: Arc<Watched>,
    list: &'static Mutex<Vec<Arc<Watched>>>,
    is_eager: bool,
}

impl Watching {
    /// Begins to watch tasks. Returns `None` where no other thread could help.
    pub(crate) fn new(pool: &Shared, help: Help, what: &'static str) -> Option<Self> {
        if !can_help() {
            return None;
        }
        let watched = Arc::new(Watched {
            pool: pool.clone(),
            help,
            what,
            waiting: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            called: AtomicUsize::new(0),
            is_in_closure: AtomicBool::new(true),
            seen: AtomicUsize::new(usize::MAX),
            ticks: AtomicUsize::new(0),
        });
        let list = own_list();
        lock(list).push(Arc::clone(&watched));
        let eager = if matches!(watched.help, Help::Scope(_)) { WATCH.eager.load(Relaxed) } else { 0 };
        if eager > 0 {
            WATCH.eager.store(eager - 1, Relaxed); // a hint: scopes of other threads count, too
        }
        Some(Self { watched, list, is_eager: eager > 0 })
    }

    /// A task waits.
    pub(crate) fn waits(&self) {
        if self.watched.waiting.fetch_add(1, SeqCst) == 0 && WATCH.sleeps.load(SeqCst) {
            wake();
        }
        if self.is_eager && self.watched.is_in_closure.load(Relaxed) {
            self.watched.call_helper();
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut list = lock(self.list);
        if let Some(at) = list.iter().rposition(|watched| Arc::ptr_eq(watched, &self.watched)) {
            list.swap_remove(at);
        }
    }
}

impl Watched {
    /// A task begins that has waited.
    pub(crate) fn begins(&self) {
        self.begun.fetch_add(1, Relaxed);
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// The closure of the scope has ended.
    pub(crate) fn closure_ends(&self) {
        self.is_in_closure.store(false, Relaxed);
    }

    /// A helper comes.
    pub(crate) fn helper_comes(&self) {
        self.called.fetch_sub(1, Relaxed);
    }

    /// Calls a helper, if more tasks wait than helpers were called. (Helpers that have come may
    /// wait in their tasks.)
    pub(crate) fn call_helper(&self) {
        match &self.help {
            Help::No => {}
            Help::LocalTasks => self.pool.local().give_to(&self.pool),
            Help::Scope(lent) => {
                let most = self.waiting.load(Relaxed).min(self.pool.num_threads());
                if self.called.load(Relaxed) < most {
                    self.called.fetch_add(1, Relaxed);
                    let lent = lent.clone();
                    self.pool.spawn(move || lent.call(0));
                }
            }
        }
    }

    /// The watch looks. Returns whether tasks wait.
    fn look(&self) -> bool {
        if self.waiting.load(SeqCst) == 0 {
            self.ticks.store(0, Relaxed);
            return false;
        }
        let begun = self.begun.load(Relaxed);
        let ticks = if self.seen.swap(begun, Relaxed) == begun { self.ticks.load(Relaxed) + 1 } else { 0 };
        self.ticks.store(ticks, Relaxed);
        if ticks > 0 {
            if self.is_in_closure.load(Relaxed) && matches!(self.help, Help::Scope(_)) {
                WATCH.eager.store(EAGER_SCOPES, Relaxed);
            }
            self.call_helper();
        }
        if cfg!(debug_assertions) && ticks == STUCK_TICKS as usize {
            eprintln!(
                "rangesteal-rayon: {} has not begun for {} s, because the {} threads of its pool are busy or wait. \
                 If they wait for it, it never begins: see \"What differs\", line 7, in the README of rangesteal-rayon",
                self.what,
                (TICK * STUCK_TICKS).as_secs(),
                self.pool.num_threads()
            );
        }
        true
    }
}

/// Whether other threads can begin tasks: not in a forked child.
pub(crate) fn can_help() -> bool {
    cfg!(feature = "threads") && WATCH.process.get_or_init(Process::current).is_current()
}

/// Wakes the watch. Starts its thread first if it has none.
#[cold]
fn wake() {
    let thread = WATCH.thread.get_or_init(|| {
        let name = "rangesteal-watch".to_owned();
        thread::Builder::new().name(name).spawn(watch).ok().map(|handle| handle.thread().clone())
    });
    if WATCH.sleeps.swap(false, SeqCst)
        && let Some(thread) = thread
    {
        thread.unpark();
    }
}

/// The work of the watch.
fn watch() {
    let mut quiet = 0;
    loop {
        if quiet < LAST_TICKS {
            thread::sleep(TICK);
        } else {
            WATCH.sleeps.store(true, SeqCst);
            if !looks() {
                while WATCH.sleeps.load(SeqCst) {
                    thread::park();
                }
            }
            WATCH.sleeps.store(false, SeqCst);
            quiet = 0;
            continue;
        }
        quiet = if looks() { 0 } else { quiet + 1 };
    }
}

/// Looks at all scopes. Returns whether tasks wait.
fn looks() -> bool {
    let mut wait = false;
    for list in &WATCH.lists {
        // `look` may run a helper at once, which may open a scope, so the lock is free by then.
        let all: Vec<_> =
            lock(list).iter().filter(|watched| watched.waiting.load(SeqCst) > 0).cloned().collect();
        for watched in all {
            wait |= watched.look();
        }
    }
    wait
}

#[cfg(all(test, debug_assertions, feature = "threads"))]
mod tests {
    use std::{
        env,
        io::{BufRead, BufReader},
        process::{Command, Stdio},
        sync::{
            Barrier,
            mpsc::{channel, sync_channel},
        },
        thread,
        time::Duration,
    };

    use crate::{ThreadPool, ThreadPoolBuilder};

    fn pool(threads: usize) -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
    }

    /// Runs a test in a child that never ends. Returns whether the child has said `text`.
    fn child_says(test: &str, variable: &str, text: &'static str) -> bool {
        let mut child = Command::new(env::current_exe().expect("a path"));
        child.args([&format!("watch::tests::{test}"), "--exact", "--nocapture"]).env(variable, "1");
        let mut child = child.stderr(Stdio::piped()).spawn().expect("a child");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let (sender, said) = channel();
        let reader = thread::spawn(move || {
            _ = sender.send(stderr.lines().map_while(Result::ok).any(|line| line.contains(text)));
        });
        let says = said.recv_timeout(Duration::from_secs(60));
        child.kill().expect("it still waits");
        child.wait().expect("it has ended");
        reader.join().unwrap();
        says == Ok(true)
    }

    /// More tasks than threads wait for each other.
    #[test]
    fn a_task_that_never_begins_is_reported() {
        const CHILD: &str = "RANGESTEAL_STUCK_TASK";
        if env::var_os(CHILD).is_some() {
            let (pool, together) = (pool(1), Barrier::new(4));
            return pool.scope(|scope| (0..4).for_each(|_| scope.spawn(|_| _ = together.wait())));
        }
        let text = "a task of a scope has not begun for 1 s";
        assert!(child_says("a_task_that_never_begins_is_reported", CHILD, text));
    }

    /// The first closure waits for the second one.
    #[test]
    fn a_second_closure_that_never_begins_is_reported() {
        const CHILD: &str = "RANGESTEAL_STUCK_JOIN";
        if env::var_os(CHILD).is_some() {
            let (sender, receiver) = sync_channel(0);
            pool(1).join(move || sender.send(1).unwrap(), move || receiver.recv().unwrap());
        }
        let text = "the second closure of a `join` has not begun for 1 s";
        assert!(child_says("a_second_closure_that_never_begins_is_reported", CHILD, text));
    }
}
