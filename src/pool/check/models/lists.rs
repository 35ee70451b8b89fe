//! Lists that grow: an owner that pushes and pops, and thieves that take the older half.

use super::{local::Local, small::*, *};
use crate::pool::supply::deque::{Deque, Deques};

/// An item. An item contains its number, which the worker that made the item has written. loom
/// reports a read of the number that may come before the write.
struct Item(Local);

/// The deques of a loop. Each owner keeps `keeps` items to itself.
struct List {
    deques: Deques<Item>,
    claims: Claims,
}

impl List {
    fn new(workers: usize, keeps: usize, items: usize) -> Arc<Self> {
        let list = Self { deques: Deques::new(), claims: Claims::new(items) };
        list.deques.share(workers, keeps);
        Arc::new(list)
    }

    /// Worker `me` pushes items with these numbers.
    fn push(&self, me: usize, numbers: Range<usize>) {
        let deque = self.deques.of(me);
        let end = deque.load();
        for number in numbers {
            end.push(Item(Local::new(number)), |end, item| deque.push_and_show(end, item));
        }
        deque.store_end(&end);
    }

    /// Worker `me` takes `most` items, or all if there are fewer.
    fn take(&self, me: usize, most: usize) {
        let deque = self.deques.of(me);
        let end = deque.load();
        let items = std::iter::from_fn(|| end.pop(deque)).take(most);
        items.for_each(|item| self.claim(&item));
        deque.store_end(&end);
    }

    fn try_steal(&self, me: usize, victim: usize) {
        self.deques.of(me).try_steal(self.deques.of(victim));
    }

    fn claim(&self, item: &Item) {
        let number = item.0.read();
        self.claims.claim(number..number + 1);
    }

    /// Claims the items that are left, and checks that each item was claimed once.
    fn assert_all_claimed(&self, workers: usize) {
        (0..workers).for_each(|me| self.take(me, usize::MAX));
        assert!(self.deques.all().all(Deque::is_empty));
        self.claims.assert_all_before(self.claims.0.len());
    }
}

/// Runs `owner` as worker 0, and each of the `thieves` (worker, victim) on a thread of its own.
fn stolen_from(list: &Arc<List>, thieves: &[(usize, usize)], owner: impl Fn(&List)) {
    let threads = thieves.iter().map(|&(me, victim)| {
        let list = Arc::clone(list);
        thread::spawn(move || {
            list.try_steal(me, victim);
            list.take(me, 1);
        })
    });
    let threads: Vec<_> = threads.collect();
    owner(list);
    for thief in threads {
        thief.join().unwrap();
    }
    list.assert_all_claimed(1 + thieves.len());
}

/// The owner takes items that it has made, and makes another item.
fn takes_and_makes() {
    explore_all(|| {
        let list = List::new(2, 0, 4);
        list.push(0, 0..3);
        stolen_from(&list, &[(1, 0)], |list| {
            list.take(0, 2);
            list.push(0, 3..4);
            list.take(0, 1);
        });
    });
}

#[test]
fn takes_against_a_thief() {
    takes_and_makes();
}

/// An item that is shown during a theft has been written.
fn makes() {
    explore_all(|| {
        let list = List::new(2, 0, 2);
        list.push(0, 0..1);
        stolen_from(&list, &[(1, 0)], |list| {
            list.take(0, 1);
            list.push(0, 1..2);
        });
    });
}

#[test]
fn makes_against_a_thief() {
    makes();
}

/// Thieves have taken all items that the owner knows.
fn settles() {
    explore_all(|| {
        let list = List::new(2, 0, 2);
        list.push(0, 0..1);
        stolen_from(&list, &[(1, 0)], |list| {
            list.take(0, 1);
            list.push(0, 1..2);
            list.take(0, 1);
        });
    });
}

#[test]
fn settles_against_a_thief() {
    settles();
}

/// The memory has room for two items. The third item needs a larger memory, or the place of a
/// stolen item.
fn moves() {
    explore_all(|| {
        let list = List::new(2, 0, 4);
        list.push(0, 0..2);
        stolen_from(&list, &[(1, 0)], |list| list.push(0, 2..4));
    });
}

#[test]
fn moves_against_a_thief() {
    moves();
}

#[test]
fn two_thieves_of_one_owner() {
    explore(|| {
        let list = List::new(3, 0, 3);
        list.push(0, 0..3);
        stolen_from(&list, &[(1, 0), (2, 0)], |list| list.take(0, 1));
    });
}

#[test]
fn a_thief_of_a_thief() {
    explore(|| {
        let list = List::new(3, 0, 4);
        list.push(0, 0..4);
        stolen_from(&list, &[(1, 0), (2, 1)], |list| list.take(0, 2));
    });
}

/// An owner that keeps one or two items, which no thief ever sees.
#[test]
fn an_owner_that_keeps_some() {
    explore_all(|| {
        let list = List::new(2, 1, 5);
        list.push(0, 0..4);
        stolen_from(&list, &[(1, 0)], |list| {
            list.take(0, 3);
            list.push(0, 4..5);
        });
    });
}

/// A worker leaves while another worker shows an item. The leaving worker sees the item, or is
/// called back.
fn goes() {
    explore_all(|| {
        let list = List::new(2, 0, 1);
        let other = {
            let list = Arc::clone(&list);
            thread::spawn(move || {
                let goes = list.deques.go();
                if !goes {
                    list.deques.worker_counts().come_back();
                }
                goes
            })
        };
        list.push(0, 0..1);
        let called = list.deques.is_missed() && list.deques.worker_counts().come_back();
        let has_gone = other.join().unwrap();
        assert!(!has_gone || called, "it is missed for ever");
        list.assert_all_claimed(2);
    });
}

#[test]
fn who_goes_is_called_back() {
    goes();
}

#[cfg(planted)]
mod planted {
    use super::*;

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn takes_against_a_thief_that_takes_what_is_claimed() {
        with(Bug::TakesWhatIsClaimed, takes_and_makes);
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn takes_against_a_thief_without_a_fence() {
        with(Bug::TakesUnfenced, takes_and_makes);
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn takes_without_a_fence_against_a_thief() {
        with(Bug::ClaimsUnfenced, takes_and_makes);
    }

    #[test]
    #[should_panic(expected = "Causality violation")]
    fn shows_what_is_not_written() {
        with(Bug::ShowsUnwritten, makes);
    }

    #[test]
    #[should_panic]
    fn settles_without_the_lock() {
        with(Bug::SettlesUnlocked, settles);
    }

    #[test]
    #[should_panic(expected = "claimed twice")]
    fn moves_without_the_lock() {
        with(Bug::MovesUnlocked, moves);
    }

    #[test]
    #[should_panic(expected = "missed for ever")]
    fn who_goes_without_looking_is_missed() {
        with(Bug::GoesWithoutLooking, goes);
    }
}
