//! Loops that are called inside items of a traced loop.
//!
//! While a traced loop runs, its threads are in its *scene*: the calling thread from the call to
//! its return, a helper from coming to leaving. So is whoever helps an inner loop. A loop that is
//! called by a thread in a scene tells the scene of itself when it is over.

use std::{
    cell::RefCell,
    mem::{self, ManuallyDrop},
    panic::Location,
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
    time::Duration,
};

use super::timeline::{Helper, InnerLoop};
use crate::{clock::Instant, sorted::sort, sync::lock_unless_stuck};

/// What is told while a loop is traced.
#[derive(Debug, Default)]
struct Scene {
    /// Where the traced loop was called, if another trace was being taken there.
    around: Option<Place>,
    /// A lock that is stuck costs a note: an allocator may call a loop under it, and a child may be
    /// forked then.
    told: Mutex<Vec<Told>>,
}

/// Where a thread is in a scene.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    scene: Arc<Scene>,
    /// How many inner loops are around it.
    depth: usize,
}

thread_local! {
    /// Where this thread is. Without a destructor, which each thread would have to register at its
    /// first call: whoever enters a place leaves it.
    static HERE: RefCell<ManuallyDrop<Option<Place>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// As long as this lives, the thread is in another place.
#[derive(Debug)]
pub(crate) struct Stay {
    before: Option<Place>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        drop(change(self.before.take()));
    }
}

/// The thread goes to a place. Returns where it was.
fn change(place: Option<Place>) -> Option<Place> {
    HERE.with_borrow_mut(|here| mem::replace(&mut **here, place))
}

/// What is told of a loop.
#[derive(Clone, Debug)]
struct Told {
    at: &'static Location<'static>,
    depth: usize,
    caller: ThreadId,
    span: (Instant, Instant),
    items: usize,
    parts: Vec<Part>,
}

/// What a worker did in a loop from coming to leaving.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) seat: usize,
    pub(crate) thread: ThreadId,
    pub(crate) span: (Instant, Instant),
    pub(crate) items: usize,
    /// Whether it found nothing to do.
    pub(crate) is_empty: bool,
}

impl Place {
    /// The most inner loops of a timeline.
    const MOST: usize = 1000;

    /// Where this thread is, if it is in a scene.
    pub(crate) fn here() -> Option<Self> {
        HERE.with_borrow(|here| Option::clone(here))
    }

    /// Where the items are of a loop that this thread calls.
    pub(crate) fn of_call(is_traced: bool) -> Option<Self> {
        let here = Self::here();
        if is_traced {
            return Some(Self { scene: Arc::new(Scene { around: here, ..Scene::default() }), depth: 0 });
        }
        here.map(|here| Self { depth: here.depth + 1, ..here })
    }

    /// This thread is there, as long as the result lives.
    pub(crate) fn enter(self) -> Stay {
        Stay { before: change(Some(self)) }
    }

    /// Tells of the loop whose items are here, and which ends now.
    pub(crate) fn tell(self, at: &'static Location<'static>, begin: Instant, items: usize, parts: &[Part]) {
        let mut told = Told {
            at,
            depth: 0,
            caller: thread::current().id(),
            span: (begin, Instant::now()),
            items,
            parts: parts.iter().filter(|part| part.seat > 0 && !part.is_empty).cloned().collect(),
        };
        let mut place = Some(self);
        while let Some(Self { scene, depth }) = place {
            told.depth += depth;
            if told.depth > 0
                && let Some(mut all) = lock_unless_stuck(&scene.told)
            {
                all.push(told.clone());
                if all.len() >= 2 * Self::MOST {
                    longest(&mut all);
                }
            }
            place = scene.around.clone();
            told.depth += 1;
        }
    }

    /// The inner loops of the traced loop that this thread has called at `begin`. `parts` are those
    /// of its workers; `workers` says how many numbers they have.
    pub(crate) fn inner(&self, begin: Instant, workers: usize, parts: &[Part]) -> Vec<InnerLoop> {
        let mut all =
            lock_unless_stuck(&self.scene.told).map(|mut all| mem::take(&mut *all)).unwrap_or_default();
        longest(&mut all);
        sort(&mut all, |a, b| a.span.0 < b.span.0);
        let mut numbers = vec![(thread::current().id(), 0)];
        numbers.extend(parts.iter().map(|part| (part.thread, part.seat)));
        let mut next = parts.iter().map(|part| part.seat + 1).fold(workers, usize::max);
        let mut number = |thread| match numbers.iter().find(|(other, _)| *other == thread) {
            Some((_, number)) => *number,
            None => {
                numbers.push((thread, next));
                next += 1;
                next - 1
            }
        };
        let since = |time: Instant| time - begin;
        let helper = |part: &Part, worker| Helper {
            worker,
            items: part.items,
            begin: since(part.span.0),
            end: since(part.span.1),
        };
        let inner = all.iter().map(|told| InnerLoop {
            at: told.at,
            depth: told.depth,
            worker: number(told.caller),
            begin: since(told.span.0),
            end: since(told.span.1),
            items: told.items,
            helpers: told.parts.iter().map(|part| helper(part, number(part.thread))).collect(),
        });
        inner.collect()
    }
}

/// Keeps those that took longest.
fn longest(all: &mut Vec<Told>) {
    if all.len() > Place::MOST {
        let took = |told: &Told| -> Duration { told.span.1 - told.span.0 };
        sort(all, |a, b| took(a) > took(b));
        all.truncate(Place::MOST);
    }
}
