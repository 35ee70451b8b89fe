//! Selects the pool of a loop. A loop inside an item of another loop runs on the same pool as that
//! loop. A loop inside `install` runs on the pool of `install`. Any other loop runs on the global
//! pool.

use std::{
    cell::RefCell,
    io,
    mem::ManuallyDrop,
    ops::Deref,
    rc::Rc,
    sync::{
        Arc, LazyLock, Once, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use rangesteal::{
    BuildError, Pinning, Pool, PoolBuilder, WorkerThread,
    source::{Chain, Source},
};

use crate::{local_tasks::LocalTasks, thread_pool::max_num_threads};

/// A shared pool.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    /// The global pool.
    Global(&'static Pool),
    /// The pool of a [`ThreadPool`](crate::ThreadPool).
    Own(Arc<OwnPool>),
}

/// The pool of a [`ThreadPool`](crate::ThreadPool).
#[derive(Debug)]
pub(crate) struct OwnPool {
    pool: Pool,
    /// Whether calls from outside run on a thread of the pool: `ThreadPoolBuilder::is_hosted`.
    is_hosted: bool,
    local: LocalTasks,
}

/// The tasks that are spawned inside the global pool.
static GLOBAL_TASKS: LazyLock<LocalTasks> = LazyLock::new(LocalTasks::new);

/// Whether a hosted pool was built, and whether the global pool is one. Relaxed: a thread that
/// calls loops on such a pool has the pool from the thread that has built it.
static ANY_IS_HOSTED: AtomicBool = AtomicBool::new(false);
static GLOBAL_IS_HOSTED: AtomicBool = AtomicBool::new(false);

impl Shared {
    /// Whether this is the same pool as `pool`.
    fn is(&self, pool: &Pool) -> bool {
        let own: &Pool = self;
        std::ptr::eq(own, pool)
    }

    /// A pool of its own.
    pub(crate) fn own(pool: Pool, is_hosted: bool) -> Self {
        if is_hosted {
            ANY_IS_HOSTED.store(true, Relaxed);
        }
        Self::Own(Arc::new(OwnPool { pool, is_hosted, local: LocalTasks::new() }))
    }

    /// The tasks that a thread spawns inside this pool, if it has one thread.
    pub(crate) fn local(&self) -> &LocalTasks {
        match self {
            Self::Global(_) => &GLOBAL_TASKS,
            Self::Own(own) => &own.local,
        }
    }

    /// Whether calls from outside run on a thread of the pool.
    fn is_hosted(&self) -> bool {
        match self {
            Self::Global(_) => GLOBAL_IS_HOSTED.load(Relaxed),
            Self::Own(own) => own.is_hosted,
        }
    }
}

impl Deref for Shared {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        match self {
            Self::Global(pool) => pool,
            Self::Own(own) => &own.pool,
        }
    }
}

/// The pool of a thread, and the thread's number in the pool. The thread has its own reference
/// count (`Rc`). All threads write the count of a `Shared`, so recursive joins would contend for
/// this count.
#[derive(Clone)]
pub(crate) struct Place {
    pool: Rc<Shared>,
    worker: usize,
    /// Whether this is the thread's place outside of any call (`use_current_thread`).
    lasts: bool,
}

thread_local! {
    /// The place of this thread, if it works in a loop or in `install`. This variable has no
    /// destructor, so destructors of other variables can call loops. No destructor is needed,
    /// because a thread that enters a place also leaves it.
    static PLACE: RefCell<ManuallyDrop<Option<Place>>> = const { RefCell::new(ManuallyDrop::new(None)) };
    static GLOBAL: Rc<Shared> = Rc::new(Shared::Global(global()));
}

/// The global pool, with a reference count of this thread alone.
fn global_here() -> Rc<Shared> {
    // At the end of a thread the variable may be gone.
    GLOBAL.try_with(Rc::clone).unwrap_or_else(|_| Rc::new(Shared::Global(global())))
}

/// The number of threads in the environment variable `RAYON_NUM_THREADS`. `Ok(None)` if the
/// variable is not set, or is 0. If the number is wrong: a warning.
fn wanted() -> Result<Option<usize>, String> {
    const NAME: &str = "RAYON_NUM_THREADS";
    let Some(value) = std::env::var_os(NAME) else { return Ok(None) };
    let (value, most) = (value.to_string_lossy(), max_num_threads());
    match value.parse().ok() {
        Some(0) => Ok(None),
        Some(threads) if threads <= most => Ok(Some(threads)),
        _ => Err(format!(
            "{NAME} is {value:?}: set it to a number of threads up to {most}, or unset it to use all CPUs"
        )),
    }
}

/// The options of a pool, before the program sets any but the number of threads. Threads are not
/// pinned, as in rayon, because programs and threads that an item starts would inherit the one CPU.
/// The environment variable `RANGESTEAL_PINNING` asks for pinned threads.
pub(crate) fn options(threads: Option<usize>) -> PoolBuilder {
    let threads = threads.map_or_else(wanted, |threads| Ok(Some(threads)));
    let options = Pool::builder().lenient(threads.clone().err().into_iter().collect());
    if cfg!(not(feature = "threads")) {
        return options.alone();
    }
    let options = threads.ok().flatten().into_iter().fold(options, PoolBuilder::num_threads);
    if std::env::var_os("RANGESTEAL_PINNING").is_some() { options } else { options.pinning(Pinning::Off) }
}

/// The global pool without the feature `threads`: the calling thread alone.
static ALONE: OnceLock<Pool> = OnceLock::new();

/// The global pool.
fn global() -> &'static Pool {
    if cfg!(feature = "threads") {
        static WANTED: Once = Once::new();
        WANTED.call_once(|| _ = Pool::global_or(|| options(None)));
        return Pool::global();
    }
    ALONE.get_or_init(|| {
        Pool::builder().alone().build().expect("a pool of the calling thread alone needs nothing")
    })
}

/// Builds the global pool.
pub(crate) fn build_global<S>(options: PoolBuilder<S>, is_hosted: bool) -> Result<(), BuildError>
where
    S: FnMut(WorkerThread) -> io::Result<()>,
{
    if cfg!(feature = "threads") {
        options.build_global()?;
        for flag in [&ANY_IS_HOSTED, &GLOBAL_IS_HOSTED] {
            flag.fetch_or(is_hosted, Relaxed);
        }
        return Ok(());
    }
    global();
    Ok(())
}

/// The pool on which loops of this thread run.
pub(crate) fn current() -> Shared {
    Shared::clone(&here())
}

/// The pool on which loops of this thread run, with a reference count of this thread alone.
pub(crate) fn here() -> Rc<Shared> {
    PLACE.with_borrow(|place| place.as_ref().map_or_else(global_here, |place| Rc::clone(&place.pool)))
}

/// Whether this thread works for a pool, and a join that it calls now is too deep in its recursion
/// to be offered to another thread. False for a hosted pool, whose joins run on its own threads.
#[inline]
pub(crate) fn joins_alone() -> bool {
    let is_deep = |pool: &Shared| !pool.is_hosted() && pool.joins_alone();
    PLACE.with_borrow(|place| place.as_ref().is_some_and(|place| is_deep(&place.pool)))
}

/// This thread's number in the pool `of`. If `of` is `None`, the number in the pool on which loops
/// of this thread run.
pub(crate) fn worker(of: Option<&Pool>) -> Option<usize> {
    PLACE.with_borrow(|place| {
        let place = place.as_ref()?;
        of.is_none_or(|of| place.pool.is(of)).then_some(place.worker)
    })
}

/// Moves the thread to a place. Returns its last place.
fn change(place: Option<Place>) -> Option<Place> {
    ManuallyDrop::into_inner(PLACE.replace(ManuallyDrop::new(place)))
}

/// Makes the loops of this thread run on `pool`, with the number 0, until
/// [`forget_current`] is called.
pub(crate) fn set_current(pool: &Shared) {
    drop(change(Some(Place { pool: Rc::new(pool.clone()), worker: 0, lasts: true })));
}

/// The pool is dropped. If it is the pool of this thread's loops outside of any call, it is not any
/// more.
pub(crate) fn forget_current(pool: &Shared) {
    if PLACE.with_borrow(|place| place.as_ref().is_some_and(|place| place.lasts && place.pool.is(pool))) {
        drop(change(None));
    }
}

/// While this value lives, loops of this thread run on the pool of this value.
pub(crate) enum Seat {
    /// The thread already ran its loops on this pool.
    Kept,
    /// The thread's earlier place, which is restored at the end.
    Taken(Option<Place>),
}

impl Seat {
    /// Makes loops of this thread run on `pool`. The thread gets the number that it has in the
    /// pool, not its number in the present loop: two threads may have the same number in two loops,
    /// and work at the same time.
    pub(crate) fn take(pool: &Shared) -> Self {
        if PLACE.with_borrow(|place| place.as_ref().is_some_and(|place| place.pool.is(pool))) {
            return Self::Kept;
        }
        let place = Place { pool: Rc::new(pool.clone()), worker: pool.here(), lasts: false };
        Self::Taken(change(Some(place)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Self::Taken(before) = self
            && let Some(left) = change(before.take())
        {
            left.pool.local().give_to(&left.pool);
        }
    }
}

/// The pool on which loops of this thread run, if it is hosted.
#[inline(always)]
pub(crate) fn hosted() -> Option<Rc<Shared>> {
    #[cold]
    fn here_if_hosted() -> Option<Rc<Shared>> {
        Some(here()).filter(|pool| pool.is_hosted())
    }
    if ANY_IS_HOSTED.load(Relaxed) { here_if_hosted() } else { None }
}

/// Calls `work`, whose loops run on `pool`. If `pool` is hosted, one of its threads calls `work`.
#[inline(never)] // a result may be large, and most calls need no slot for it here
pub(crate) fn inside<R: Send>(pool: &Shared, work: impl FnOnce() -> R + Send) -> R {
    let (mut work, mut returned) = (Some(work), None);
    let mut call = || {
        let _seat = Seat::take(pool);
        returned = work.take().map(|work| work());
    };
    let call: &mut (dyn FnMut() + Send) = &mut call;
    if pool.is_hosted() {
        pool.enter(call);
    } else {
        call();
    }
    returned.expect("the closure was called")
}

/// Evaluates an expression that calls a loop on `pool`, the pool of this thread's loops:
/// `on_its_host!(|pool| pool.sort(items))`. If the pool is hosted, one of its threads evaluates it.
/// Otherwise the caller's place in the source is kept
/// (`track_caller`), which a closure does not keep.
macro_rules! on_its_host {
    (|$pool:ident| $call:expr) => {
        match $crate::pool::hosted() {
            None => {
                let $pool: &$crate::pool::Shared = &$crate::pool::here();
                $call
            }
            Some(pool) => {
                let $pool: &$crate::pool::Shared = &pool;
                $crate::pool::inside($pool, || $call)
            }
        }
    };
    (|| $call:expr) => {
        match $crate::pool::hosted() {
            None => $call,
            Some(pool) => $crate::pool::inside(&pool, || $call),
        }
    };
}
pub(crate) use on_its_host;

/// The number of items of a claim, if another crate's iterator begins the chain: each claim locks
/// that iterator and splits it, so a thread makes few.
pub(crate) fn grain<C: Chain>(chain: &C, pool: &Pool) -> Option<usize> {
    const CLAIMS_A_THREAD: usize = 16;
    C::Source::IS_PARTED.then(|| (chain.source().count() / (CLAIMS_A_THREAD * pool.num_threads())).max(1))
}

/// Prepares a loop over a chain on a pool: `on!(pool, chain).for_each(|(_, item)| ..)`. Loops that
/// its closures call run on the same pool.
macro_rules! on {
    ($pool:ident, $chain:expr) => {{
        let chain = $chain;
        let grain = $crate::pool::grain(&chain, &$pool);
        let on = $pool.on(chain).with(|_| $crate::pool::Seat::take(&$pool));
        if let Some(grain) = grain { on.grain(grain) } else { on }
    }};
}
pub(crate) use on;
