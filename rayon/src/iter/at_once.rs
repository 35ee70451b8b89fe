//! Runs the two loops of a chain at the same time, if the chain is long. In turn, each loop would
//! end with threads that wait for its last item.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind},
    ptr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use crate::join::{discard, join};

/// In items: longer loops end with short waits.
pub(super) const FEW: usize = 64;
/// A chain that takes less time runs its loops in turn.
const LONG: Duration = Duration::from_micros(20);
/// Of so many short chains, a thread times one.
const PERIOD: u8 = 251;

/// The place of each of some chains in the program, and, in the lowest bit, whether the last timed
/// call was long. Relaxed: any chain may be taken for long or short.
static PLACES: [AtomicUsize; 1024] = [const { AtomicUsize::new(0) }; 1024];

thread_local! {
    /// The number of chains that this thread begins before it times one.
    static UNTIMED: Cell<u8> = const { Cell::new(0) };
}

/// A chain in the program.
#[derive(Clone, Copy)]
pub(super) struct Site {
    entry: &'static AtomicUsize,
    place: usize,
}

impl Site {
    /// The chain that begins now.
    #[track_caller]
    #[inline(always)]
    pub(super) fn here() -> Self {
        let place = ptr::from_ref(Location::caller()).addr();
        Self { entry: &PLACES[place / align_of::<Location<'static>>() % PLACES.len()], place }
    }

    /// Whether the chain is known to be short, and need not be timed.
    #[inline(always)]
    pub(super) fn is_short(self) -> bool {
        let untimed = UNTIMED.get();
        UNTIMED.set(if untimed == 0 { PERIOD - 1 } else { untimed - 1 });
        self.entry.load(Relaxed) == self.place && untimed > 0
    }

    /// Times the chain. `run` receives whether it is expected to be long: the first chain is.
    pub(super) fn time<R>(self, run: impl FnOnce(bool) -> R) -> R {
        let (begun, known) = (Instant::now(), self.entry.load(Relaxed));
        let out = run(known == 0 || known == self.place | 1);
        let now = self.place | usize::from(begun.elapsed() > LONG);
        if known != now {
            self.entry.store(now, Relaxed);
        }
        out
    }
}

/// The results of two closures. An idle thread calls the second closure at the same time.
pub(super) fn at_once<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut of_a, mut of_b) = (None, None);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        join_erased(&mut || of_a = a.take().map(|a| a()), &mut || of_b = b.take().map(|b| b()));
    }));
    match (ended, of_a, of_b) {
        (Ok(()), Some(of_a), Some(of_b)) => (of_a, of_b),
        (Ok(()), ..) => unreachable!("both closures have ended"),
        (Err(payload), of_a, of_b) => {
            discard(of_a);
            discard(of_b);
            resume_unwind(payload)
        }
    }
}

#[inline(never)] // compiled once for all chains
fn join_erased(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    join(a, b);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_chain_is_expected_to_take_as_long_as_when_it_was_timed() {
        let site = Site::here();
        let time = |takes| {
            site.time(|is_long| {
                thread::sleep(takes);
                is_long
            })
        };
        UNTIMED.set(9);
        assert!(!site.is_short(), "it is not known");
        assert!(time(Duration::from_millis(1)), "the first chain is expected to be long");
        assert!(!site.is_short());
        let was_long = (0..1000).take_while(|_| time(Duration::ZERO)).count();
        assert!(was_long > 0, "the last one was");
        UNTIMED.set(1);
        assert!(site.is_short());
        assert!(!site.is_short(), "it is due to be timed");
        assert!(!time(2 * LONG));
        assert!(time(Duration::ZERO));
    }
}
