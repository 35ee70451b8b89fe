//! Loops that are called inside items of a traced loop.
//!
//! While a traced loop runs, its threads are in its *scene*. The calling thread is in the scene
//! from the call to its return. A helper is in the scene from arriving to leaving. A thread that
//! helps an inner loop is also in the scene. If a thread in a scene calls a loop, this loop reports
//! itself to the scene when it ends.

use std::{
    cell::RefCell,
    fmt,
    mem::{self, ManuallyDrop},
    panic::Location,
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
    time::Duration,
};

use super::timeline::{Helper, InnerLoop};
use crate::{clock::Instant, sync::lock_unless_stuck};

/// The functions of a scene. Only [`Trace`](super::Trace) has a direct pointer to this code. So a
/// program without traces does not contain this code.
pub(crate) trait Hear: fmt::Debug + Send + Sync {
    /// A loop has ended. `depth` is the number of loops of the scene around the loop's items.
    fn hear(&self, told: &LoopSpan<'_>, depth: usize);

    /// The inner loops of the traced loop, which this thread called at the time `begin`. `parts`
    /// are the visits of workers to the traced loop. `workers` is the number of workers that
    /// already have numbers.
    fn inner(&self, begin: Instant, workers: usize, parts: &[WorkerPart]) -> Vec<InnerLoop>;
}

/// Makes a scene. If the call of the traced loop is itself in a scene, the argument is the call's
/// place in that scene.
pub(crate) type Make = fn(Option<ScenePlace>) -> Arc<dyn Hear>;

/// The inner loops of a traced loop.
#[derive(Debug)]
struct Scene {
    /// The place of the traced loop's call in another scene, if another trace was being taken
    /// there.
    around: Option<ScenePlace>,
    /// If this lock is stuck, notes are lost. The lock is stuck in two cases: an allocator calls a
    /// loop while its thread holds the lock; or the process is a child that was forked while a
    /// thread held the lock.
    told: Mutex<Vec<NotedLoop>>,
}

/// Makes a scene without inner loops.
pub(super) fn make(around: Option<ScenePlace>) -> Arc<dyn Hear> {
    Arc::new(Scene { around, told: Mutex::default() })
}

/// The place of a thread in a scene. One word in size, because each shared loop carries a place.
#[derive(Clone, Debug)]
pub(crate) struct ScenePlace(Arc<Spot>);

#[derive(Debug)]
struct Spot {
    scene: Arc<dyn Hear>,
    /// How many inner loops contain this place.
    depth: usize,
}

thread_local! {
    /// The place of this thread. This variable has no destructor, because each thread would have to
    /// register a destructor at its first call. No destructor is needed, because a thread that
    /// enters a place also leaves it.
    static HERE: RefCell<ManuallyDrop<Option<ScenePlace>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// While this value lives, the thread is in another place.
#[derive(Debug)]
pub(crate) struct Stay {
    before: Option<ScenePlace>,
}

impl Drop for Stay {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        drop(change(self.before.take()));
    }
}

/// Moves the thread to a place. Returns its last place.
fn change(place: Option<ScenePlace>) -> Option<ScenePlace> {
    HERE.with_borrow_mut(|here| mem::replace(&mut **here, place))
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
#[derive(Debug)]
struct NotedLoop {
    at: &'static Location<'static>,
    depth: usize,
    caller: ThreadId,
    span: (Instant, Instant),
    items: usize,
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

impl ScenePlace {
    /// Whether this thread is in a scene. All other functions here are cold, because few loops are
    /// traced.
    #[inline(always)]
    pub(crate) fn is_near() -> bool {
        HERE.with_borrow(|here| here.is_some())
    }

    /// The place of this thread, if it is in a scene.
    #[inline(always)]
    pub(crate) fn here() -> Option<Self> {
        if Self::is_near() { Self::found() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn found() -> Option<Self> {
        HERE.with_borrow(|here| Option::clone(here))
    }

    /// The place of the items of a loop that this thread calls. A traced loop makes a scene.
    #[cold]
    pub(crate) fn of_call(make: Option<Make>) -> Option<Self> {
        let here = Self::here();
        let spot = match (make, here) {
            (Some(make), here) => Spot { scene: make(here), depth: 0 },
            (None, Some(Self(here))) => Spot { scene: Arc::clone(&here.scene), depth: here.depth + 1 },
            (None, None) => return None,
        };
        Some(Self(Arc::new(spot)))
    }

    /// Moves this thread to this place. The thread stays there while the result lives.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(&self) -> Stay {
        Stay { before: change(Some(self.clone())) }
    }

    /// Reports a loop that ends now. `self` is the place of the loop's items.
    pub(crate) fn tell(&self, told: &LoopSpan<'_>) {
        self.0.scene.hear(told, self.0.depth);
    }

    /// See [`Hear::inner`].
    pub(crate) fn inner(&self, begin: Instant, workers: usize, parts: &[WorkerPart]) -> Vec<InnerLoop> {
        self.0.scene.inner(begin, workers, parts)
    }
}

impl Scene {
    /// The largest number of inner loops in a timeline.
    const MOST: usize = 1000;

    /// Notes a loop. The notes are in the order of the loops' begins. If there are too many loops,
    /// drops the shortest one.
    fn note(&self, noted: NotedLoop) {
        let Some(mut all) = lock_unless_stuck(&self.told) else { return };
        let place = all.iter().rposition(|other| (noted.span.0 - other.span.0) > Duration::ZERO);
        all.insert(place.map_or(0, |place| place + 1), noted);
        if all.len() > Self::MOST {
            let took = |noted: &NotedLoop| noted.span.1 - noted.span.0;
            let shortest = (0..all.len()).min_by_key(|number| took(&all[*number]));
            shortest.map(|number| all.remove(number));
        }
    }
}

impl Hear for Scene {
    fn hear(&self, told: &LoopSpan<'_>, depth: usize) {
        let &LoopSpan { at, begin, items, parts } = told;
        if depth > 0 {
            let helpers = parts.iter().filter(|part| part.seat > 0 && !part.is_empty).cloned().collect();
            let (caller, span) = (thread::current().id(), (begin, Instant::now()));
            self.note(NotedLoop { at, depth, caller, span, items, helpers });
        }
        if let Some(ScenePlace(around)) = &self.around {
            around.scene.hear(told, around.depth + 1 + depth);
        }
    }

    fn inner(&self, begin: Instant, workers: usize, parts: &[WorkerPart]) -> Vec<InnerLoop> {
        let all = lock_unless_stuck(&self.told).map(|mut all| mem::take(&mut *all)).unwrap_or_default();
        let mut numbers = vec![(thread::current().id(), 0)];
        numbers.extend(parts.iter().map(|part| (part.thread, part.seat)));
        let mut next = parts.iter().map(|part| part.seat + 1).fold(workers, usize::max);
        let mut number = |thread| {
            let known = numbers.iter().find(|(other, _)| *other == thread).map(|(_, number)| *number);
            known.unwrap_or_else(|| {
                numbers.push((thread, next));
                next += 1;
                next - 1
            })
        };
        let helper = |part: &WorkerPart, worker| Helper {
            worker,
            items: part.items,
            begin: part.span.0 - begin,
            end: part.span.1 - begin,
        };
        let inner = all.iter().map(|noted| InnerLoop {
            at: noted.at,
            depth: noted.depth,
            worker: number(noted.caller),
            begin: noted.span.0 - begin,
            end: noted.span.1 - begin,
            items: noted.items,
            helpers: noted.helpers.iter().map(|part| helper(part, number(part.thread))).collect(),
        });
        inner.collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn depth() -> Option<usize> {
        ScenePlace::here().map(|place| place.0.depth)
    }

    fn tell(begin: Instant, items: usize, parts: &[WorkerPart]) {
        ScenePlace::here().unwrap().tell(&LoopSpan { at: Location::caller(), begin, items, parts });
    }

    /// The inner loops of the scene: depth, number of items, and calling worker.
    fn told(begin: Instant, workers: usize, parts: &[WorkerPart]) -> Vec<(usize, usize, usize)> {
        let inner = ScenePlace::here().unwrap().inner(begin, workers, parts);
        inner.iter().map(|inner| (inner.depth, inner.items, inner.worker)).collect()
    }

    #[test]
    fn a_thread_is_back_where_it_was_when_a_loop_is_over() {
        assert!(ScenePlace::of_call(None).is_none() && depth().is_none(), "nobody traces");
        let traced = ScenePlace::of_call(Some(make)).as_ref().map(ScenePlace::enter);
        assert_eq!(depth(), Some(0));
        let inner = ScenePlace::of_call(None).as_ref().map(ScenePlace::enter);
        assert_eq!(depth(), Some(1));
        let traced_inside = ScenePlace::of_call(Some(make)).as_ref().map(ScenePlace::enter);
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
        let _traced = ScenePlace::of_call(Some(make)).as_ref().map(ScenePlace::enter);
        tell(begin, 1, &[]);
        {
            let _inner = ScenePlace::of_call(None).as_ref().map(ScenePlace::enter);
            {
                let _traced_inside = ScenePlace::of_call(Some(make)).as_ref().map(ScenePlace::enter);
                {
                    let _deepest = ScenePlace::of_call(None).as_ref().map(ScenePlace::enter);
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
        let _traced = ScenePlace::of_call(Some(make)).as_ref().map(ScenePlace::enter);
        let parts = [part(0, thread::current().id(), 1), part(2, ids[0], 1), part(1, ids[1], 0)];
        let _inner = ScenePlace::of_call(None).as_ref().map(ScenePlace::enter);
        tell(begin, 9, &[part(0, ids[0], 1), part(1, ids[2], 2), part(2, ids[0], 3), part(3, ids[3], 0)]);
        tell(Instant::now(), 9, &[part(1, ids[3], 4), part(2, ids[2], 5), part(3, ids[1], 6)]);
        let inner = ScenePlace::here().unwrap().inner(begin, 3, &parts);
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
        let _traced = ScenePlace::of_call(Some(make)).as_ref().map(ScenePlace::enter);
        let _inner = ScenePlace::of_call(None).as_ref().map(ScenePlace::enter);
        tell(begin, 1, &[]); // the longest loop of all
        for _ in 0..3 * Scene::MOST {
            tell(Instant::now(), 2, &[]);
        }
        let told = told(begin, 1, &[]);
        assert!(told.len() == Scene::MOST && told[0].1 == 1, "{} {:?}", told.len(), told[0]);
    }
}
