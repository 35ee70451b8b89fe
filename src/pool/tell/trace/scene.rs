//! Loops that are called inside items of a traced loop.
//!
//! While a traced loop runs, its threads are in its *scene*. The calling thread is in the scene
//! from the call to its return. A helper is in the scene from arriving to leaving. A thread that
//! helps an inner loop is also in the scene. If a thread in a scene calls a loop, this loop reports
//! itself to the scene when it ends.

use std::{
    cell::RefCell,
    mem::{self, ManuallyDrop},
    panic::Location,
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
};

use super::timeline::{Helper, InnerLoop};
use crate::{clock::Instant, sync::lock_unless_stuck};

/// The function [`hear`]. Only [`Trace`](super::Trace) has a direct pointer to it. So a program
/// without traces does not contain its code.
pub(crate) type Hear = fn(&SceneSpot, &LoopSpan<'_>);

/// The spot of a thread in a scene: in the items of a loop. One word in size, because each shared
/// loop carries a spot.
#[derive(Clone, Debug)]
pub(crate) struct SceneSpot(Arc<Spot>);

#[derive(Debug)]
struct Spot {
    hear: Hear,
    /// The spot of the loop's call, if that is also in a scene.
    around: Option<SceneSpot>,
    /// If the loop is traced: its inner loops, in the order of their begins. If this lock is stuck,
    /// notes are lost. The lock is stuck in two cases: an allocator calls a loop while its thread
    /// holds the lock; or the process is a child that was forked while a thread held the lock.
    inner: Option<Mutex<Vec<NotedLoop>>>,
}

thread_local! {
    /// The spot of this thread. This variable has no destructor, because each thread would have to
    /// register a destructor at its first call. No destructor is needed, because a thread that
    /// enters a spot also leaves it.
    static HERE: RefCell<ManuallyDrop<Option<SceneSpot>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// While this value lives, the thread is at another spot.
#[derive(Debug)]
pub(crate) struct Stay {
    before: Option<SceneSpot>,
}

impl Drop for Stay {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        drop(change(self.before.take()));
    }
}

/// Moves the thread to a spot. Returns its last spot.
fn change(spot: Option<SceneSpot>) -> Option<SceneSpot> {
    ManuallyDrop::into_inner(HERE.replace(ManuallyDrop::new(spot)))
}

/// The report of a loop to the scene around it.
#[derive(Debug)]
pub(crate) struct LoopSpan<'a> {
    pub(crate) at: &'static Location<'static>,
    pub(crate) begin: Instant,
    pub(crate) items: usize,
    pub(crate) parts: &'a [WorkerPart],
}

/// An inner loop in a scene.
#[derive(Clone, Debug)]
struct NotedLoop {
    at: &'static Location<'static>,
    /// The number of loops of the scene around the inner loop.
    depth: usize,
    /// The visit of the calling thread; and the items of all workers together.
    call: WorkerPart,
    helpers: Vec<WorkerPart>,
}

/// The visit of a worker to a loop, from arriving to leaving.
#[derive(Clone, Debug)]
pub(crate) struct WorkerPart {
    pub(crate) seat: usize,
    pub(crate) thread: ThreadId,
    pub(crate) span: (Instant, Instant),
    pub(crate) items: usize,
    /// Whether the worker found nothing to do.
    pub(crate) is_empty: bool,
}

impl SceneSpot {
    /// Whether this thread is in a scene. All other functions here are cold, because few loops are
    /// traced.
    #[inline(always)]
    pub(crate) fn is_near() -> bool {
        HERE.with_borrow(|here| here.is_some())
    }

    /// The spot of this thread, if it is in a scene.
    #[inline(always)]
    pub(crate) fn here() -> Option<Self> {
        if Self::is_near() { Self::found() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn found() -> Option<Self> {
        HERE.with_borrow(|here| Option::clone(here))
    }

    /// The spot of the items of a loop that this thread calls. A traced loop, which has the
    /// function `hear`, makes a scene.
    #[cold]
    pub(crate) fn of_call(hear: Option<Hear>) -> Option<Self> {
        let around = Self::here();
        let inner = hear.map(|_| Mutex::default());
        let hear = hear.or_else(|| Some(around.as_ref()?.0.hear))?;
        Some(Self(Arc::new(Spot { hear, around, inner })))
    }

    /// Moves this thread to this spot. The thread stays there while the result lives.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(&self) -> Stay {
        Stay { before: change(Some(self.clone())) }
    }

    /// Reports a loop that ends now. `self` is the spot of the loop's items.
    pub(crate) fn tell(&self, told: &LoopSpan<'_>) {
        (self.0.hear)(self, told);
    }

    /// The inner loops of the traced loop at this spot. This thread called the traced loop at the
    /// time `begin`. `parts` are the visits of workers to the traced loop. `workers` is the number
    /// of workers that already have numbers.
    pub(super) fn inner(&self, begin: Instant, workers: usize, parts: &[WorkerPart]) -> Vec<InnerLoop> {
        let all = self.0.inner.as_ref().and_then(lock_unless_stuck);
        let all = all.map(|mut all| mem::take(&mut *all)).unwrap_or_default();
        let mut numbers = vec![(thread::current().id(), 0)];
        numbers.extend(parts.iter().map(|part| (part.thread, part.seat)));
        let mut next = parts.iter().map(|part| part.seat + 1).fold(workers, usize::max);
        let mut visit = |&WorkerPart { thread, span, items, .. }: &WorkerPart| {
            let known = numbers.iter().find(|(other, _)| *other == thread).copied();
            let (_, worker) = known.unwrap_or_else(|| {
                numbers.push((thread, next));
                next += 1;
                (thread, next - 1)
            });
            Helper { worker, items, begin: span.0 - begin, end: span.1 - begin }
        };
        let inner = all.iter().map(|&NotedLoop { at, depth, ref call, ref helpers }| {
            let Helper { worker, items, begin, end } = visit(call);
            let helpers = helpers.iter().map(&mut visit).collect();
            InnerLoop { at, depth, worker, begin, end, items, helpers }
        });
        inner.collect()
    }
}

/// Notes a loop that ends now, in all scenes around it. `spot` is the spot of the loop's items.
pub(super) fn hear(mut spot: &SceneSpot, told: &LoopSpan<'_>) {
    let &LoopSpan { at, begin, items, parts } = told;
    let helpers = parts.iter().filter(|part| part.seat > 0 && !part.is_empty).cloned().collect();
    let (thread, span) = (thread::current().id(), (begin, Instant::now()));
    let call = WorkerPart { seat: 0, thread, span, items, is_empty: false };
    let mut noted = NotedLoop { at, depth: 0, call, helpers };
    while let Some(around) = &spot.0.around {
        spot = around;
        noted.depth += 1;
        let Some(inner) = &spot.0.inner else { continue };
        let copy = noted.clone(); // outside of the lock: an allocator may call loops
        if let Some(mut inner) = lock_unless_stuck(inner) {
            note(&mut inner, copy);
        }
    }
}

/// The largest number of inner loops in a timeline.
const MOST_INNER: usize = 1000;

/// Adds a loop to the inner loops. If there are too many loops, drops the shortest one.
fn note(inner: &mut Vec<NotedLoop>, noted: NotedLoop) {
    let index = inner.partition_point(|other| other.call.span.0 < noted.call.span.0);
    inner.insert(index, noted);
    if inner.len() > MOST_INNER {
        let took = |noted: &NotedLoop| noted.call.span.1 - noted.call.span.0;
        let shortest = (0..inner.len()).min_by_key(|number| took(&inner[*number]));
        shortest.map(|number| inner.remove(number));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The traced loop around this thread, and the number of inner loops that contain this thread.
    fn traced() -> Option<(SceneSpot, usize)> {
        let mut spot = SceneSpot::here()?;
        let mut depth = 0;
        while spot.0.inner.is_none() {
            spot = spot.0.around.clone()?;
            depth += 1;
        }
        Some((spot, depth))
    }

    fn depth() -> Option<usize> {
        traced().map(|(_, depth)| depth)
    }

    fn tell(begin: Instant, items: usize, parts: &[WorkerPart]) {
        SceneSpot::here().unwrap().tell(&LoopSpan { at: Location::caller(), begin, items, parts });
    }

    /// The inner loops of the scene: depth, number of items, and calling worker.
    fn told(begin: Instant, workers: usize, parts: &[WorkerPart]) -> Vec<(usize, usize, usize)> {
        let inner = traced().unwrap().0.inner(begin, workers, parts);
        inner.iter().map(|inner| (inner.depth, inner.items, inner.worker)).collect()
    }

    #[test]
    fn a_thread_is_back_where_it_was_when_a_loop_is_over() {
        assert!(SceneSpot::of_call(None).is_none() && depth().is_none(), "nobody traces");
        let traced = SceneSpot::of_call(Some(hear)).as_ref().map(SceneSpot::enter);
        assert_eq!(depth(), Some(0));
        let inner = SceneSpot::of_call(None).as_ref().map(SceneSpot::enter);
        assert_eq!(depth(), Some(1));
        let traced_inside = SceneSpot::of_call(Some(hear)).as_ref().map(SceneSpot::enter);
        assert_eq!(depth(), Some(0), "of another scene");
        drop(traced_inside);
        assert_eq!(depth(), Some(1));
        drop(inner);
        assert_eq!(depth(), Some(0));
        drop(traced);
        assert!(depth().is_none());
    }

    #[test]
    fn a_loop_tells_all_scenes_around() {
        let begin = Instant::now();
        let _traced = SceneSpot::of_call(Some(hear)).as_ref().map(SceneSpot::enter);
        tell(begin, 1, &[]);
        {
            let _inner = SceneSpot::of_call(None).as_ref().map(SceneSpot::enter);
            {
                let _traced_inside = SceneSpot::of_call(Some(hear)).as_ref().map(SceneSpot::enter);
                {
                    let _deepest = SceneSpot::of_call(None).as_ref().map(SceneSpot::enter);
                    tell(begin, 4, &[]);
                }
                tell(Instant::now(), 3, &[]);
                assert_eq!(told(begin, 1, &[]), [(1, 4, 0)], "it is not inside itself");
            }
            tell(Instant::now(), 2, &[]);
        }
        assert_eq!(told(begin, 1, &[]), [(3, 4, 0), (2, 3, 0), (1, 2, 0)], "as they began");
        assert!(told(begin, 1, &[]).is_empty(), "they have been told");
    }

    #[test]
    fn workers_that_were_never_in_the_traced_loop_have_the_numbers_behind() {
        let begin = Instant::now();
        let ids: Vec<_> = (0..4).map(|_| thread::spawn(|| thread::current().id()).join().unwrap()).collect();
        let part = |seat, thread, items| WorkerPart {
            seat,
            thread,
            span: (begin, begin + Duration::from_millis(1)),
            items,
            is_empty: items == 0,
        };
        let _traced = SceneSpot::of_call(Some(hear)).as_ref().map(SceneSpot::enter);
        let parts = [part(0, thread::current().id(), 1), part(2, ids[0], 1), part(1, ids[1], 0)];
        let _inner = SceneSpot::of_call(None).as_ref().map(SceneSpot::enter);
        tell(begin, 9, &[part(0, ids[0], 1), part(1, ids[2], 2), part(2, ids[0], 3), part(3, ids[3], 0)]);
        tell(Instant::now(), 9, &[part(1, ids[3], 4), part(2, ids[2], 5), part(3, ids[1], 6)]);
        let inner = traced().unwrap().0.inner(begin, 3, &parts);
        let helpers = |inner: &InnerLoop| {
            inner.helpers.iter().map(|helper| (helper.worker, helper.items)).collect::<Vec<_>>()
        };
        assert_eq!(helpers(&inner[0]), [(3, 2), (2, 3)], "neither the caller, nor who found nothing");
        assert_eq!(helpers(&inner[1]), [(4, 4), (3, 5), (1, 6)]);
        assert_eq!(inner[0].helpers[0].end, Duration::from_millis(1));
    }

    #[test]
    fn the_longest_are_kept() {
        let begin = Instant::now();
        let _traced = SceneSpot::of_call(Some(hear)).as_ref().map(SceneSpot::enter);
        let _inner = SceneSpot::of_call(None).as_ref().map(SceneSpot::enter);
        tell(begin, 1, &[]); // the longest loop of all
        for _ in 0..3 * MOST_INNER {
            tell(Instant::now(), 2, &[]);
        }
        let told = told(begin, 1, &[]);
        assert!(told.len() == MOST_INNER && told[0].1 == 1, "{} {:?}", told.len(), told[0]);
    }
}
