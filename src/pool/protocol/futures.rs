//! The futures of a loop whose items wait. Each lies at the place of its slot.

#![allow(unsafe_code)] // the holder of a slot polls the future at its place

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

/// The futures of one loop, each with a note `N`. A future stays at its place until it is dropped.
#[derive(Debug)]
pub(crate) struct Futures<F, N> {
    queues: Arc<WakeQueues>,
    places: Slab<CachePadded<FuturePlace<F, N>>>,
}

#[derive(Debug)]
struct FuturePlace<F, N> {
    waker: OnceLock<Waker>,
    item: UnsafeCell<(Option<F>, Option<N>)>,
}

// SAFETY: *slot*: 1. a shared `Futures` gives what lies at a place only to who has the slot (`at`),
// one thread at a time; 2. that thread may be any, hence `Send`.
unsafe impl<F: Send, N: Send> Sync for Futures<F, N> {}

/// The future and the note of a slot.
pub(crate) struct AtSlot<'a, F, N> {
    pub(crate) future: Pin<&'a mut Option<F>>,
    pub(crate) note: &'a mut Option<N>,
    /// Wakes the item.
    pub(crate) waker: &'a Waker,
}

impl<F, N> Futures<F, N> {
    /// For the slots of `queues` only.
    pub(crate) fn new(queues: Arc<WakeQueues>) -> Self {
        Self { queues, places: Slab::new() }
    }

    /// The future and the note of `slot`.
    #[inline(always)]
    pub(crate) fn at<'a>(&'a self, slot: &'a mut Slot) -> AtSlot<'a, F, N> {
        let place = self.places.get(slot.number(), || {
            CachePadded::new(FuturePlace { waker: OnceLock::new(), item: UnsafeCell::new((None, None)) })
        });
        let waker = place.waker.get_or_init(|| self.queues.waker(slot));
        // SAFETY: *slot*: 1. `slot` is borrowed exclusively, and there is no other of this number:
        // the queues give each out once, and take it back before they give it out again (case 11);
        // 2. the writes of the previous holder are seen by way of the queues.
        let (future, note) = unsafe { &mut *place.item.get() };
        // SAFETY: places never move (`Slab`), and this is the only way to a future, so it is
        // dropped where it lies.
        let future = unsafe { Pin::new_unchecked(future) };
        AtSlot { future, note, waker }
    }
}
