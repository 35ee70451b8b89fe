//! Calls into a loop that workers may enter again: a list that grows. A worker that finds nothing
//! to do leaves, and the caller rests. When an item has made items, a thread is called back.

use super::{
    arena::{Arena, TOKEN},
    barrier::{ArenaJob, Barrier, Caller, HelpInside},
};
use crate::sync::{Ordering, lock};

impl<J: Copy> Barrier<J> {
    /// Calls a thread back into the loop in arena `number`: the caller of that loop if it rests,
    /// otherwise an idle worker, or the next one that becomes idle. The calling thread is inside.
    pub(crate) fn call_back(&self, number: usize) {
        let Some(arena) = self.arenas.get(number) else { return };
        let mut arena_job = lock(&self.jobs[number]);
        let Some(job) = arena_job.job else { return };
        arena.callbacks.fetch_add(1, Ordering::Relaxed);
        if arena_job.recalls.rests {
            arena_job.recalls.of_caller += 1;
            drop(arena_job);
            arena.done.notify_one();
            return;
        }
        arena.active.fetch_add(TOKEN, Ordering::Relaxed); // the calling thread has a token, or is the caller
        let (helpers, places) = (arena_job.helpers, arena.places());
        if arena.free_seats(helpers) <= places {
            arena_job.recalls.owed += 1; // a worker that has announced that it goes keeps its seat until it has left
            return;
        }
        let seat = arena.first_free_seat(helpers);
        let offered = self.offer(&arena_job, (job, arena), 0, seat..=seat);
        if offered.end == seat {
            arena_job.recalls.places += 1;
            return self.open_places(arena_job, arena, places + 1);
        }
        drop(arena_job);
        offered.for_each(|seat| self.ring(arena.thread_at(seat)));
    }

    /// The caller rests while workers are inside, until it is called back. Meanwhile it helps loops
    /// inside its own loop. Returns true if it was called back, and false if no worker is inside.
    pub(crate) fn rest(&self, arena: &Arena, caller: Caller, help: HelpInside<'_, J>) -> bool {
        let mut arena_job = lock(&self.jobs[arena.number]);
        arena_job.recalls.rests = true;
        if !self.patience.is_none() && arena_job.recalls.is_empty() {
            let untaken = self.untaken(&arena_job, arena);
            let callbacks = arena.callbacks.load(Ordering::Relaxed);
            drop(arena_job);
            self.patience.poll(|| {
                arena.tokens(Ordering::Relaxed) <= untaken
                    || arena.callbacks.load(Ordering::Relaxed) != callbacks
            });
            arena_job = lock(&self.jobs[arena.number]);
        }
        self.set_waits(arena, true);
        let is_called = loop {
            if self.takes_recall(&mut arena_job, arena) {
                break true;
            }
            let tokens = arena.tokens_now();
            if tokens == self.untaken(&arena_job, arena) {
                break false;
            }
            arena_job = self.help_or_sleep(arena_job, (arena, caller), tokens, self.patience, help);
        };
        arena_job.recalls.rests = false;
        self.set_waits(arena, false);
        is_called
    }

    /// Whether the caller, which rests, or any thread was called back. If so, the caller comes.
    #[inline(always)]
    fn takes_recall(&self, arena_job: &mut ArenaJob<J>, arena: &Arena) -> bool {
        if arena_job.recalls.of_caller > 0 {
            arena_job.recalls.of_caller -= 1;
            return true;
        }
        if arena_job.recalls.owed > 0 {
            arena_job.recalls.owed -= 1;
        } else if arena_job.recalls.places > 0 {
            arena_job.recalls.places -= 1;
            self.set_places(arena_job, arena, arena.places() - 1);
        } else {
            return false;
        }
        arena.active.fetch_sub(TOKEN, Ordering::Relaxed); // the token of the call, which no worker has
        true
    }

    /// The number of tokens that no worker has taken, under the lock of the job.
    pub(super) fn untaken(&self, arena_job: &ArenaJob<J>, arena: &Arena) -> usize {
        let is_offered = |thread: &usize| {
            thread.checked_sub(1).is_some_and(|worker| {
                self.posts[worker].has_offer(|offered| offered.number() == arena.number)
            })
        };
        arena.places() + arena_job.recalls.owed + arena.seated(arena_job.helpers).filter(is_offered).count()
    }
}
