//! Items that wait: workers poll them and sleep, and other threads wake them.

use std::task::Waker;

use loom::sync::Notify;

use super::{local::Local, small::*, *};
use crate::{
    pool::supply::wake_queues::{Begins, Next, Slot, WakeQueues},
    sync::{AtomicUsize as Word, Ordering},
};

/// An item, with its events, and with a value that stands for its future: polls read and write this
/// value.
struct Item {
    /// Whether each event has happened. Each event wakes the item. Relaxed: the wake queues must
    /// make the last poll see all events.
    events: [Word; 2],
    needs: usize,
    future: Local,
    is_gone: std::sync::atomic::AtomicBool,
}

/// A loop over `items`.
struct Loop {
    queues: Arc<WakeQueues>,
    items: Vec<Item>,
    /// The number of items that have begun.
    begun: Word,
    /// The number of items that have begun and are not done.
    under_way: Word,
    limit: usize,
    done: Claims,
    /// The action of the last item when this item is done: it wakes the first item, or lets the
    /// long poll of another item go on.
    last: Last,
}

enum Last {
    Nothing,
    Wakes(std::sync::Mutex<Option<Waker>>),
    LetsGoOn(Notify),
}

impl Loop {
    fn new(workers: usize, limit: usize, needs: &[usize], last: Last) -> Arc<Self> {
        let item = |&needs: &usize| Item {
            events: [Word::new(0), Word::new(0)],
            needs,
            future: Local::new(0),
            is_gone: false.into(),
        };
        Arc::new(Self {
            queues: WakeQueues::new(workers, limit),
            items: needs.iter().map(item).collect(),
            begun: Word::new(0),
            under_way: Word::new(0),
            limit,
            done: Claims::new(needs.len()),
            last,
        })
    }

    /// Begins an item, if one is left.
    fn begin(&self) -> Option<usize> {
        let item = self.begun.fetch_add(1, SeqCst);
        (item < self.items.len()).then(|| {
            assert!(self.under_way.fetch_add(1, SeqCst) < self.limit, "more items than allowed");
            item
        })
    }

    /// Polls an item. Returns whether the item is done.
    fn poll(&self, number: usize) -> bool {
        let item = &self.items[number];
        item.future.write(item.future.read() + 1);
        let happened: usize = item.events.iter().map(|event| event.load(Ordering::Relaxed)).sum();
        if happened < item.needs {
            return false;
        }
        let is_last = number + 1 == self.items.len();
        match &self.last {
            Last::Wakes(waker) if is_last => {
                let waker = waker.lock().unwrap().take().expect("one item wakes another");
                self.happen(0, 0, waker);
            }
            Last::LetsGoOn(door) if is_last => door.notify(),
            Last::LetsGoOn(door) => door.wait(), // a long poll
            _ => {}
        }
        self.done.claim(number..number + 1);
        self.end(number);
        true
    }

    /// The item is done, or dropped.
    fn end(&self, number: usize) {
        let item = &self.items[number];
        item.future.write(item.future.read() + 1);
        assert!(!item.is_gone.swap(true, SeqCst), "dropped twice");
        self.under_way.fetch_sub(1, SeqCst);
    }

    /// An event happens, which wakes an item.
    fn happen(&self, item: usize, event: usize, waker: Waker) {
        self.items[item].events[event].store(1, Ordering::Relaxed);
        waker.wake();
    }

    /// The work of worker `me`. `begins` says whether the worker also begins items.
    fn work(&self, me: usize, begins: bool, mut own_slots: Vec<Slot>) {
        let (queues, mut begins, mut seen) = (&self.queues, begins, usize::MAX);
        queues.come();
        loop {
            if queues.stop() != seen {
                seen = queues.stop();
                let numbers = queues.items().map(|(_, number)| number);
                for slot in numbers.filter_map(|number| queues.take_behind(number, seen, |_| {})) {
                    let (item, _) = queues.resume(&slot, me);
                    self.end(item);
                    queues.end(me);
                    own_slots.push(slot);
                }
            }
            let would = if begins { Begins::Later } else { Begins::Nothing };
            let (slot, item) = match queues.next(me, &mut own_slots, would, seen).0 {
                Next::Resume(slot) => {
                    let (item, _) = queues.resume(&slot, me);
                    if item >= seen {
                        self.end(item);
                        queues.end(me);
                        own_slots.push(slot);
                    } else if self.poll(item) {
                        queues.end(me);
                        own_slots.push(slot);
                    } else {
                        queues.suspend(slot, me, item);
                    }
                    continue;
                }
                Next::Begin(slot) => match self.begin() {
                    Some(item) => (slot, item),
                    None => {
                        begins = false;
                        own_slots.push(slot);
                        continue;
                    }
                },
                Next::Look => continue,
                Next::Leave => return,
            };
            if self.poll(item) { own_slots.push(slot) } else { queues.suspend_first(slot, me, item) }
        }
    }

    /// Takes slots for the first items. Returns the slots with their items, and the wakers.
    fn slots(&self, items: usize) -> (Vec<(Slot, usize)>, Vec<Waker>) {
        let mut own_slots = Vec::new();
        let begun = (0..items).map(|_| {
            let Next::Begin(slot) = self.queues.next(0, &mut own_slots, Begins::First, usize::MAX).0 else {
                unreachable!("there are as many")
            };
            (slot, self.begin().unwrap())
        });
        let begun: Vec<_> = begun.collect();
        // Makes the records of the slots before there are threads, because loom does not model
        // `OnceLock`.
        assert_eq!(self.queues.items().count(), items);
        let wakers = begun.iter().map(|(slot, _)| self.queues.waker(slot)).collect();
        (begun, wakers)
    }

    /// Polls items for the first time, the last one first, and then works.
    fn begin_and_work(&self, me: usize, begun: Vec<(Slot, usize)>, begins: bool) {
        let mut own_slots = Vec::new();
        for (slot, item) in begun.into_iter().rev() {
            if self.poll(item) { own_slots.push(slot) } else { self.queues.suspend_first(slot, me, item) }
        }
        self.work(me, begins, own_slots);
    }

    fn assert_all_gone(&self) {
        assert_eq!(self.queues.under_way().0, 0);
        assert_eq!(self.under_way.load(SeqCst), 0);
        assert!(self.items.iter().all(|item| item.is_gone.load(SeqCst)));
    }
}

/// A loop of `workers` workers. Worker 0 has begun all items. Each event of each item happens on a
/// thread of its own. But if the last item lets another item go on, all events happen on one
/// thread. With `stops`, a further thread stops the loop at this index.
fn woken(workers: usize, needs: &'static [usize], stops: Option<usize>) {
    woken_and(workers, needs, stops, Last::Nothing);
}

/// Like `woken`, with an action of the last item when it is done.
fn woken_and(workers: usize, needs: &'static [usize], stops: Option<usize>, last: Last) {
    let this = Loop::new(workers, needs.len(), needs, last);
    let (begun, wakers) = this.slots(needs.len());
    let mut threads = Vec::new();
    for me in 1..workers {
        let this = Arc::clone(&this);
        threads.push(thread::spawn(move || this.work(me, false, Vec::new())));
    }
    if let Last::LetsGoOn(_) = this.last {
        let (this, wakers) = (Arc::clone(&this), wakers.clone());
        threads.push(thread::spawn(move || {
            wakers.into_iter().enumerate().for_each(|(item, waker)| this.happen(item, 0, waker));
        }));
    }
    let apart = !matches!(this.last, Last::LetsGoOn(_));
    for (item, waker) in wakers.into_iter().enumerate().filter(|_| apart) {
        for event in 0..needs[item] {
            let (this, waker) = (Arc::clone(&this), waker.clone());
            threads.push(thread::spawn(move || this.happen(item, event, waker)));
        }
    }
    if let Some(place) = stops {
        let this = Arc::clone(&this);
        threads.push(thread::spawn(move || this.queues.stop_at(place)));
    }
    this.begin_and_work(0, begun, false);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    this.assert_all_gone();
    if stops.is_none() {
        this.done.assert_all_before(needs.len());
    }
}

/// Explores the schedules with at most this number of preemptions. For models that have more
/// threads than the other models.
fn explore_less(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn one_worker() {
    explore_all(|| woken(1, &[1], None));
}

#[test]
fn a_worker_sleeps_until_its_item_is_woken() {
    one_worker();
}

/// The second of two wake-ups may find that the item has been woken. The poll must still see the
/// event of the second wake-up.
fn two_wakers() {
    explore(|| woken(1, &[2], None));
}

#[test]
fn an_item_is_woken_twice() {
    two_wakers();
}

fn two_workers() {
    explore_less(2, || woken(2, &[1], None));
}

#[test]
fn two_workers_end_together() {
    two_workers();
}

fn two_items() {
    explore_less(1, || woken(2, &[1, 1], None));
}

#[test]
fn two_items_and_two_workers() {
    two_items();
}

/// A loop stops while a thread wakes an item. The item is dropped once.
fn stopped() {
    explore(|| woken(1, &[1], Some(0)));
}

#[test]
fn an_item_is_not_needed_any_more() {
    stopped();
}

#[test]
fn an_item_is_not_needed_any_more_by_two_workers() {
    explore_less(1, || woken(2, &[1], Some(0)));
}

/// A loop stops behind an item. The item before the stop is completed all the same.
#[test]
fn an_item_is_needed_all_the_same() {
    explore(|| woken(1, &[1], Some(1)));
}

/// A loop stops while its only item waits for an event that never happens. Only the stop wakes the
/// worker.
fn stopped_unwoken() {
    explore_all(|| {
        let this = Loop::new(1, 1, &[1], Last::Nothing);
        let (begun, _wakers) = this.slots(1);
        let other = {
            let this = Arc::clone(&this);
            thread::spawn(move || this.queues.stop_at(0))
        };
        this.begin_and_work(0, begun, false);
        other.join().unwrap();
        this.assert_all_gone();
    });
}

#[test]
fn a_stop_wakes_a_worker_whose_item_is_never_woken() {
    stopped_unwoken();
}

/// The loop has stopped at item 1, which waits. Two workers look for items to drop. One worker
/// takes the slot of item 1 and begins item 0 in this slot. The other worker must not drop item 0.
fn taken_behind() {
    explore_all(|| {
        let (queues, mut own_slots) = (WakeQueues::new(2, 1), Vec::new());
        queues.come();
        let Next::Begin(slot) = queues.next(0, &mut own_slots, Begins::First, usize::MAX).0 else {
            unreachable!("there is one")
        };
        let waker = queues.waker(&slot);
        assert_eq!(queues.items().count(), 1); // see `slots`
        queues.suspend_first(slot, 0, 1);
        queues.stop_at(1);
        let other = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || {
                if let Some(slot) = queues.take_behind(0, 1, |_| {}) {
                    assert_eq!(queues.resume(&slot, 1).0, 1, "dropped although it is needed");
                }
            })
        };
        if let Some(slot) = queues.take_behind(0, 1, |_| {}) {
            queues.suspend_first(slot, 0, 0);
            waker.wake();
            let Next::Resume(slot) = queues.next(0, &mut own_slots, Begins::Nothing, 1).0 else {
                unreachable!("item 0 is woken")
            };
            assert_eq!(queues.resume(&slot, 0).0, 0);
        }
        other.join().unwrap();
    });
}

#[test]
fn a_slot_that_another_item_has_by_now_is_given_back() {
    taken_behind();
}

/// Like `taken_behind`, but then the loop also stops at item 0, which no thread wakes. While the
/// other worker holds the slot of item 0 by mistake, the worker that began item 0 may look for
/// items to drop. So the other worker must look again after it has put item 0 back. The other
/// worker looks again if it `notes` item 0.
fn put_back(notes: bool) {
    explore_all(move || {
        let (queues, mut own_slots) = (WakeQueues::new(2, 1), Vec::new());
        queues.come();
        let Next::Begin(slot) = queues.next(0, &mut own_slots, Begins::First, usize::MAX).0 else {
            unreachable!("there is one")
        };
        assert_eq!(queues.items().count(), 1); // see `slots`
        queues.suspend_first(slot, 0, 1);
        queues.stop_at(1);
        let other = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || {
                let mut noted = Vec::new();
                let taken = queues.take_behind(0, 1, |item| noted.extend(notes.then_some(item)));
                (noted, taken.is_some())
            })
        };
        let Some(slot) = queues.take_behind(0, 1, |_| {}) else {
            assert!(other.join().unwrap().1, "one of them takes it");
            return;
        };
        queues.suspend_first(slot, 0, 0);
        queues.stop_at(0);
        let is_dropped = queues.take_behind(0, 0, |_| {}).is_some();
        let (noted, _) = other.join().unwrap();
        let is_dropped_later = noted.iter().any(|_| queues.take_behind(0, 0, |_| {}).is_some());
        assert!(is_dropped || is_dropped_later, "item 0 waits for ever");
    });
}

#[test]
fn an_item_that_is_put_back_is_looked_at_again() {
    put_back(true);
}

#[test]
#[should_panic(expected = "item 0 waits for ever")]
fn an_item_that_is_put_back_and_not_noted() {
    put_back(false);
}

/// Two items are woken one after the other. The poll of the first item lasts until the second item
/// is done. So another worker must poll the second item, although the worker with the first item
/// has taken the list.
fn long_poll() {
    explore_less(1, || woken_and(2, &[1, 1], None, Last::LetsGoOn(Notify::new())));
}

#[test]
fn nobody_waits_for_a_worker_that_polls() {
    long_poll();
}

/// Three items in two slots. The first item waits for the third item. The third item needs the slot
/// of the second item, and one worker waits for a slot to begin it. The worker that completes the
/// second item begins no items, so it must pass the slot of that item on. A further worker also
/// begins no items, and waits for woken items.
fn hungry() {
    explore_less(2, || {
        let this = Loop::new(3, 2, &[1, 0, 0], Last::Wakes(std::sync::Mutex::new(None)));
        let (mut begun, wakers) = this.slots(2);
        let Last::Wakes(first) = &this.last else { unreachable!() };
        *first.lock().unwrap() = wakers.into_iter().next();
        let second = begun.pop().into_iter().collect();
        let threads = [
            {
                let this = Arc::clone(&this);
                thread::spawn(move || this.work(1, true, Vec::new()))
            },
            {
                let this = Arc::clone(&this);
                thread::spawn(move || this.begin_and_work(2, second, false))
            },
        ];
        this.begin_and_work(0, begun, false);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        this.assert_all_gone();
        this.done.assert_all_before(3);
    });
}

#[test]
fn a_slot_goes_to_a_worker_that_wants_one() {
    hungry();
}

/// Two workers begin items that do not wait. One slot exists.
fn limited() {
    explore_less(2, || {
        let this = Loop::new(2, 1, &[0, 0, 0], Last::Nothing);
        let thread = {
            let this = Arc::clone(&this);
            thread::spawn(move || this.work(1, true, Vec::new()))
        };
        this.work(0, true, Vec::new());
        thread.join().unwrap();
        this.assert_all_gone();
        this.done.assert_all_before(3);
    });
}

#[test]
fn no_more_items_are_under_way_than_allowed() {
    limited();
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_suspends_by_a_store_sleeps_for_ever() {
        with(Bug::SuspendsByStore, one_worker);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_does_not_watch_sleeps_for_ever() {
        with(Bug::SleepsUnwatched, one_worker);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_is_unparked_without_the_lock_sleeps() {
        with(Bug::UnparksUnlocked, one_worker);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_poll_that_does_not_see_what_happened_is_the_last() {
        with(Bug::PollsUnseeing, one_worker);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn who_wakes_for_a_second_time_writes() {
        with(Bug::WakesOnce, two_wakers);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_poll_that_begins_with_a_store_forgets_who_wakes_meanwhile() {
        with(Bug::PollsByStore, two_wakers);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn who_leaves_tells_the_others() {
        with(Bug::LeavesAlone, two_workers);
    }

    #[test]
    #[should_panic(expected = "dropped twice")]
    fn who_drops_an_item_takes_it() {
        with(Bug::DropsUntaken, stopped);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_stop_that_notifies_only_known_sleepers_is_lost() {
        with(Bug::StopsUnheard, stopped_unwoken);
    }

    #[test]
    #[should_panic(expected = "dropped although it is needed")]
    fn who_drops_an_item_looks_again_which_it_is() {
        with(Bug::DropsAnother, taken_behind);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_worker_that_takes_items_watches_for_sleepers() {
        with(Bug::WatchesOnce, long_poll);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_slot_that_goes_to_anybody_is_lost() {
        with(Bug::FeedsAnybody, hungry);
    }

    #[test]
    #[should_panic(expected = "more items than allowed")]
    fn a_limit_that_is_off_by_one() {
        with(Bug::BeginsOneTooMany, limited);
    }
}
