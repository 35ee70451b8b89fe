//! The futures of a loop whose items wait. Each future lies in the entry of its slot.

#![allow(unsafe_code)] // the holder of a slot polls the future in its entry

use std::{
    cell::UnsafeCell,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::Waker,
};

use crossbeam_utils::CachePadded;

use super::{
    slab::Slab,
    wake_queues::{Slot, WakeQueues},
};

/// The futures of one loop, each with a note `N`. A future stays in its entry until it is dropped.
#[derive(Debug)]
pub(crate) struct Futures<F, N> {
    queues: Arc<WakeQueues>,
    entries: Slab<CachePadded<FutureEntry<F, N>>>,
}

/// The waker of a slot, and the future and the note there.
type FutureEntry<F, N> = (OnceLock<Waker>, UnsafeCell<(Option<F>, Option<N>)>);

// SAFETY: *slot*: 1. a shared `Futures` gives the contents of an entry only to the holder of the
// slot (`at`), which is one thread at any moment; 2. any thread may be the holder, hence `Send`.
unsafe impl<F: Send, N: Send> Sync for Futures<F, N> {}

/// The future and the note of a slot.
pub(crate) struct AtSlot<'a, F, N> {
    pub(crate) future: Pin<&'a mut Option<F>>,
    pub(crate) note: &'a mut Option<N>,
    /// Wakes the item.
    pub(crate) waker: &'a Waker,
}

impl<F, N> Futures<F, N> {
    /// Futures for the slots of `queues`.
    pub(crate) fn new(queues: Arc<WakeQueues>) -> Self {
        Self { queues, entries: Slab::new() }
    }

    /// The future and the note of `slot`.
    #[inline(always)]
    pub(crate) fn at<'a>(&'a self, slot: &'a mut Slot) -> AtSlot<'a, F, N> {
        let (waker, entry) = &**self.entries.get(slot.number(), CachePadded::default);
        let waker = waker.get_or_init(|| self.queues.waker(slot));
        // SAFETY: *slot*: 1. `slot` is borrowed exclusively, and no other `Slot` has this number:
        // the queues give out a number again only after they have taken it back (case 11); 2. this
        // thread sees the writes of the previous holder, since the slot went through the queues.
        let (future, note) = unsafe { &mut *entry.get() };
        // SAFETY: entries never move (`Slab`), and a future is accessed only here, so it is dropped
        // in its entry.
        let future = unsafe { Pin::new_unchecked(future) };
        AtSlot { future, note, waker }
    }
}
