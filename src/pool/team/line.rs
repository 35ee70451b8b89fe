//! The line of a thread: its joins whose second closures wait while it runs the first ones. Other
//! threads get these closures from the front, the oldest first: the oldest one mostly has the most
//! work.
//!
//! Each idle worker gets an offer. If none is idle, the next closure gets one open place, and while
//! nobody has taken that place, no other closure is offered. So a thread offers few closures,
//! however deep its recursion is.
//!
//! Only the thread itself uses its line. Another thread sees a closure when the closure is
//! published at the barrier: at the begin or at the end of any join further up on the stack. Each
//! closure that is offered has an arena, which is given back as soon as another thread has run it.
//! So a chain of hundreds of joins needs few arenas. `src/pool/README.md` has the proof.

#![allow(unsafe_code)] // the line points into frames of its own thread

use std::{
    cell::{Cell, RefCell},
    ptr::NonNull,
    thread_local,
};

use super::{
    arena::Turn,
    barrier::{Barrier, Caller, Offer, Published},
    job::{self, Job},
};
use crate::sync::Ordering;

/// What is to be done with the closure that is the next to be offered.
pub(crate) enum Terms<'a> {
    /// It is offered in the arena of this turn.
    Offered(Turn<'a>, Offer),
    /// Neither this one nor a younger one is offered now.
    NotNow,
    /// It is never offered.
    Never,
}

/// A closure that waits in line.
pub(crate) struct WaitingJoin<'a> {
    barrier: &'a Barrier<Job>,
    /// The thread, where it called the join.
    caller: Caller,
    work: &'a (dyn Fn(usize) + Sync),
    terms: &'a dyn Fn() -> Terms<'a>,
    offered: RefCell<Option<HeldOffer<'a>>>,
    older: Cell<Link>,
    younger: Cell<Link>,
    /// The next older one that has an arena.
    older_held: Cell<Link>,
}

/// An offer. Its drop retracts the offer and waits, and then gives the arena back.
struct HeldOffer<'a> {
    published: Published<'a, Job>,
    _turn: Turn<'a>,
}

type Link = Option<NonNull<WaitingJoin<'static>>>;

struct JoinLine {
    youngest: Cell<Link>,
    /// The oldest one that was neither offered nor refused: the next to be offered.
    next: Cell<Link>,
    /// The youngest one that has an arena.
    held: Cell<Link>,
}

thread_local!(static LINE: JoinLine = const {
    JoinLine { youngest: Cell::new(None), next: Cell::new(None), held: Cell::new(None) }
});

/// The closure behind a link.
///
/// # Safety
/// It is in the line of the calling thread.
unsafe fn at<'a>(link: NonNull<WaitingJoin<'static>>) -> &'a WaitingJoin<'a> {
    // SAFETY: *line*: 1. it is alive while it is in line, and the caller does not use it longer;
    // 2. there are only shared references to it.
    unsafe { link.cast::<WaitingJoin<'a>>().as_ref() }
}

impl<'a> WaitingJoin<'a> {
    /// Whether it has an open place that no thread has taken: a hint.
    fn is_open(&self) -> bool {
        self.offered.borrow().as_ref().is_some_and(|offered| offered.published.arena.places() > 0)
    }

    /// Whether another thread has taken and run it.
    fn is_over(&self) -> bool {
        // Acquire; partner: `give_back`. The thread sees the result.
        let tokens = |offered: &HeldOffer<'_>| offered.published.arena.tokens(Ordering::Acquire);
        self.offered.borrow().as_ref().is_some_and(|offered| tokens(offered) == 0)
    }

    /// Offers it in the arena of this turn.
    fn offer(&self, turn: Turn<'a>, offer: Offer) {
        let published = self.barrier.publish(&turn, self.caller, offer, Job::new(self.work));
        *self.offered.borrow_mut() = Some(HeldOffer { published, _turn: turn });
    }
}

impl JoinLine {
    /// Offers the oldest closure, and then the next ones, as long as the terms are good.
    #[inline(always)]
    fn offer_next(&self) {
        if self.next.get().is_some() {
            self.offer_from_the_front();
        }
    }

    #[inline(never)]
    fn offer_from_the_front(&self) {
        // SAFETY: *line*: a linked closure is in line.
        let held = self.held.get().map(|held| unsafe { at(held) });
        if held.is_some_and(WaitingJoin::is_open) {
            return;
        }
        self.give_back_arenas();
        while let Some(next) = self.next.get() {
            // SAFETY: *line*: a linked closure is in line.
            let waiting = unsafe { at(next) };
            // First, because an allocator that is called here may call a join.
            self.next.set(waiting.younger.get());
            match (waiting.terms)() {
                Terms::Never => {}
                Terms::NotNow => return self.next.set(Some(next)),
                Terms::Offered(turn, offer) => {
                    waiting.offer(turn, offer);
                    waiting.older_held.set(self.held.replace(Some(next)));
                    if waiting.is_open() {
                        return;
                    }
                }
            }
        }
    }

    /// Ends the offers of the closures that other threads have run.
    fn give_back_arenas(&self) {
        let mut held = &self.held;
        while let Some(link) = held.get() {
            // SAFETY: *line*: a linked closure is in line.
            let waiting = unsafe { at(link) };
            if waiting.is_over() {
                held.set(waiting.older_held.get());
                drop(waiting.offered.take());
            } else {
                held = &waiting.older_held;
            }
        }
    }
}

/// While this value exists, a closure is in the line of the calling thread.
struct InLine<'w, 'a>(&'w WaitingJoin<'a>);

impl<'w, 'a> InLine<'w, 'a> {
    #[inline(always)]
    fn new(line: &JoinLine, waiting: &'w WaitingJoin<'a>) -> Self {
        let link = Some(NonNull::from(waiting).cast());
        let older = line.youngest.replace(link);
        waiting.older.set(older);
        if let Some(older) = older {
            // SAFETY: *line*: it was the youngest one in line.
            unsafe { at(older) }.younger.set(link);
        }
        if line.next.get().is_none() {
            line.next.set(link);
        }
        Self(waiting)
    }
}

impl Drop for InLine<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        LINE.with(|line| {
            let (link, older) = (line.youngest.get(), self.0.older.get());
            line.youngest.set(older);
            if let Some(older) = older {
                // SAFETY: *line*: it is in line, since this one was called after it.
                unsafe { at(older) }.younger.set(None);
            }
            if line.next.get() == link {
                line.next.set(None);
            }
            if line.held.get() == link {
                line.held.set(self.0.older_held.get());
            }
        });
    }
}

/// Runs `first` on the calling thread. Meanwhile `work` waits in the line of this thread. If it is
/// offered, `work` gets the seat of the helper that comes, from 1. Then runs `second`, which does
/// `work` if no helper has come. Returns when no worker is inside `work` and none can enter it.
///
/// `work` must not unwind. If another closure unwinds, this function waits before it unwinds.
pub(crate) fn wait_in_line<'a>(
    barrier: &'a Barrier<Job>,
    work: &'a (dyn Fn(usize) + Sync),
    terms: &'a dyn Fn() -> Terms<'a>,
    first: impl FnOnce(),
    second: impl FnOnce(),
) {
    // On every way out of this function, `in_line` takes `waiting` out of the line, and the offer
    // is ended or dropped, before the borrow of `work` ends. The end and the drop retract the job
    // and wait for the worker inside (barrier.rs). Only links point to `waiting`, so no other code
    // can forget its offer.
    let waiting = WaitingJoin {
        barrier,
        caller: barrier.caller(),
        work,
        terms,
        offered: RefCell::new(None),
        older: Cell::new(None),
        younger: Cell::new(None),
        older_held: Cell::new(None),
    };
    let in_line = LINE.with(|line| {
        let in_line = InLine::new(line, &waiting);
        line.offer_next();
        in_line
    });
    first();
    drop(in_line);
    LINE.with(JoinLine::offer_next);
    second();
    if let Some(HeldOffer { published, _turn }) = waiting.offered.take() {
        published.end(job::work);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{cell::Cell, sync::Mutex, thread};

    use super::*;
    use crate::{
        pool::supply::Fence,
        sync::{Patience, lock},
    };

    /// What a closure answers when it is asked for its terms.
    #[derive(Clone, Copy)]
    enum Answer {
        Offered,
        NotNow,
        Never,
    }

    /// What the closures of a line have answered, and which of them a worker has run.
    struct Seen<'a> {
        barrier: &'a Barrier<Job>,
        asked: Cell<Vec<usize>>,
        ran: Mutex<Vec<usize>>,
    }

    /// Puts closures with these answers in line, the oldest first. When all wait, calls `come`.
    fn wait_all(seen: &Seen<'_>, answers: &[Answer], me: usize, come: &dyn Fn(&Barrier<Job>)) {
        let Seen { barrier, asked, ran } = seen;
        let Some(answer) = answers.get(me) else { return come(barrier) };
        let terms = || {
            let mut so_far = asked.take();
            so_far.push(me);
            asked.set(so_far);
            match answer {
                Answer::Offered => {
                    let turn = barrier.arenas.take().expect("an arena is free");
                    Terms::Offered(turn, Offer { helpers: 1, ..Offer::default() })
                }
                Answer::NotNow => Terms::NotNow,
                Answer::Never => Terms::Never,
            }
        };
        let work = |_| lock(ran).push(me);
        wait_in_line(barrier, &work, &terms, || wait_all(seen, answers, me + 1, come), || ());
    }

    /// Which closures with these answers were asked, and which a worker has run.
    fn asked_and_ran(answers: &[Answer], come: &dyn Fn(&Barrier<Job>)) -> (Vec<usize>, Vec<usize>) {
        let barrier = &Barrier::new(1, Fence::Symmetric, Patience::NONE);
        let seen = Seen { barrier, asked: Cell::default(), ran: Mutex::default() };
        wait_all(&seen, answers, 0, come);
        barrier.assert_no_loop();
        (seen.asked.take(), seen.ran.into_inner().unwrap())
    }

    #[test]
    fn the_oldest_is_asked_until_it_answers() {
        let asked = |answers: &[Answer]| asked_and_ran(answers, &|_| ()).0;
        // Asked when each begins, and when the two youngest end.
        assert_eq!(asked(&[Answer::NotNow; 3]), [0; 5]);
        assert_eq!(asked(&[Answer::Never; 3]), [0, 1, 2]);
        assert_eq!(asked(&[Answer::Never, Answer::NotNow, Answer::NotNow]), [0, 1, 1, 1]);
        assert_eq!(asked(&[Answer::Offered; 3]), [0, 1], "the worker has an offer, and a place is open");
    }

    /// A worker takes the oldest one. Then the next one is offered, in the arena of the first.
    #[test]
    fn what_has_run_makes_room_for_the_next() {
        let answers = [Answer::Offered; 40];
        let come = |barrier: &Barrier<Job>| {
            for next in 0..answers.len() {
                thread::scope(|scope| {
                    let worker = || {
                        let entered = barrier.enter(0, &mut Patience::NONE.clone()).expect("a place is open");
                        job::work(&entered);
                    };
                    scope.spawn(worker).join().unwrap();
                });
                LINE.with(JoinLine::offer_next);
                assert!(barrier.arenas.made().count() <= 2, "{next}");
            }
        };
        let (asked, ran) = asked_and_ran(&answers, &come);
        assert!(asked.into_iter().eq(0..40) && ran.into_iter().eq(0..40));
    }

    #[test]
    fn a_closure_that_unwinds_leaves_the_line_as_it_was() {
        let barrier = &Barrier::new(1, Fence::Symmetric, Patience::NONE);
        let asked = Cell::new(0);
        let terms = || {
            asked.set(asked.get() + 1);
            Terms::NotNow
        };
        let panics = || -> () { std::panic::resume_unwind(Box::new("first")) };
        let inner = || wait_in_line(barrier, &|_| (), &|| unreachable!("not the oldest"), panics, || ());
        let caught = || drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(inner)));
        wait_in_line(barrier, &|_| (), &terms, caught, || ());
        assert_eq!(asked.get(), 2);
        LINE.with(|line| assert!(line.youngest.get().is_none() && line.next.get().is_none()));
        barrier.assert_no_loop();
    }
}
