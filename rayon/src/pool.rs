//! The pool that a loop runs on: the one whose item calls it, or whose `install` it stands in;
//! otherwise the global one.

use std::{
    cell::RefCell,
    ops::Deref,
    rc::Rc,
    sync::{Arc, Once, OnceLock},
};

use rangesteal::{BuildError, Pool, PoolBuilder};

/// A pool that somebody may run loops on.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    /// The global one.
    Global(&'static Pool),
    /// That of a [`ThreadPool`](crate::ThreadPool).
    Own(Arc<Pool>),
}

impl Shared {
    /// Whether it is a certain pool.
    fn is(&self, pool: &Pool) -> bool {
        let own: &Pool = self;
        std::ptr::eq(own, pool)
    }
}

impl Deref for Shared {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        match self {
            Self::Global(pool) => pool,
            Self::Own(pool) => pool,
        }
    }
}

/// The pool of a thread, and the number that the thread has in it. Counted by the thread itself:
/// the count of a `Shared` is written by all threads, and a recursion of joins would wait for it.
#[derive(Clone)]
pub(crate) struct Place {
    pool: Rc<Shared>,
    worker: usize,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
    static GLOBAL: Rc<Shared> = Rc::new(Shared::Global(global()));
}

/// The number of threads that the environment asks for: of the variable that programs with rayon
/// are started with.
pub(crate) fn wanted() -> Option<usize> {
    std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|threads| *threads > 0)
}

/// The pool of one thread, where there are no others.
static ALONE: OnceLock<Pool> = OnceLock::new();

/// The global pool.
fn global() -> &'static Pool {
    if cfg!(feature = "threads") {
        static WANTED: Once = Once::new();
        WANTED.call_once(|| {
            if let Some(threads) = wanted() {
                // An error is that it is there already.
                Pool::builder().num_threads(threads).build_global().ok();
            }
        });
        return Pool::global();
    }
    ALONE.get_or_init(|| {
        Pool::builder().num_threads(1).build().expect("a pool of the calling thread alone needs nothing")
    })
}

/// Builds the global pool.
pub(crate) fn build_global(options: PoolBuilder) -> Result<(), BuildError> {
    if cfg!(feature = "threads") {
        return options.build_global().map(|_| ());
    }
    global();
    Ok(())
}

/// The pool that loops of this thread run on.
pub(crate) fn current() -> Shared {
    Shared::clone(&here())
}

/// The same, for this thread alone.
pub(crate) fn here() -> Rc<Shared> {
    PLACE.with_borrow(|place| {
        place.as_ref().map_or_else(|| GLOBAL.with(Rc::clone), |place| Rc::clone(&place.pool))
    })
}

/// The number of this thread in a pool, or in the pool that its loops run on.
pub(crate) fn worker(of: Option<&Pool>) -> Option<usize> {
    PLACE.with_borrow(|place| {
        let place = place.as_ref()?;
        of.is_none_or(|of| place.pool.is(of)).then_some(place.worker)
    })
}

/// As long as it lives, loops of this thread run on a certain pool.
pub(crate) enum Seat {
    /// They did before.
    Kept,
    /// They have another place before and after.
    Taken(Option<Place>),
}

impl Seat {
    /// Gives this thread a place. It keeps the number that it has in that pool.
    pub(crate) fn take(pool: &Shared, worker: usize) -> Self {
        if PLACE.with_borrow(|place| place.as_ref().is_some_and(|place| place.pool.is(pool))) {
            return Self::Kept;
        }
        let place = Place { pool: Rc::new(pool.clone()), worker };
        Self::Taken(PLACE.with_borrow_mut(|before| before.replace(place)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Self::Taken(before) = self {
            PLACE.with_borrow_mut(|place| *place = before.take());
        }
    }
}

/// Runs a chain on the pool of this thread: `on!(chain).for_each(|(_, item)| ..)`. Loops that its
/// closures call run on the same pool.
macro_rules! on {
    ($pool:ident, $chain:expr) => {
        $pool.on($chain).with(|worker| $crate::pool::Seat::take(&$pool, worker))
    };
}
pub(crate) use on;
