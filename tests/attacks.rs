//! Attacks from safe code on the loops that move or replace items: permutations, partitions,
//! selections, sorts, scans. After each attack every item is there once, and the pool works.

use std::{
    any::Any,
    array,
    borrow::Cow,
    cell::{Cell, RefCell},
    cmp::Ordering,
    collections::HashSet,
    hint::black_box,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
};

use rangesteal::{CancelToken, Cancelled, Pool, source, source::Permutation};

mod busy;
#[cfg(all(target_os = "linux", not(miri)))]
mod child;
#[cfg(all(target_os = "linux", not(miri)))]
mod forked;
use busy::work;

/// Enough items that sorts and selections are shared.
const MANY: usize = if cfg!(miri) { 60 } else { 40_000 };
const FEW: usize = if cfg!(miri) { 30 } else { 400 };
const NEVER: usize = usize::MAX;

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// Shared by all items of an attack, and by nothing else, so the number of references counts items.
struct Fuses {
    drops: AtomicUsize,
    clones: AtomicUsize,
}

/// Panics at the call with this number. While a thread panics, its calls do not count.
fn burn(fuse: &AtomicUsize) {
    if !thread::panicking() && fuse.fetch_sub(1, Relaxed) == 1 {
        panic_any(Payload);
    }
}

/// The payload of a panic. Its drop panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        assert!(thread::panicking(), "the drop of a payload");
    }
}

/// An item. In scans, the range `id..key`: the total of neighbours is the range of both.
struct Item<const N: usize> {
    id: usize,
    key: AtomicUsize,
    of: Arc<Fuses>,
    /// A partition moves large items by another algorithm.
    padding: [u64; N],
}

impl<const N: usize> Item<N> {
    fn new(id: usize, key: usize, of: &Arc<Fuses>) -> Self {
        Self { id, key: key.into(), of: Arc::clone(of), padding: [id as u64; N] }
    }

    fn key(&self) -> usize {
        self.key.load(Relaxed)
    }

    fn by_key(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }

    /// The total of two neighbours, if nothing is wrong.
    fn and(&self, other: &Self) -> Self {
        Self::new(self.id, if self.key() == other.id { other.key() } else { NEVER }, &self.of)
    }
}

impl<const N: usize> Clone for Item<N> {
    fn clone(&self) -> Self {
        burn(&self.of.clones);
        Self::new(self.id, self.key(), &self.of)
    }
}

impl<const N: usize> Drop for Item<N> {
    fn drop(&mut self) {
        burn(&self.of.drops);
    }
}

impl<const N: usize> PartialEq for Item<N> {
    fn eq(&self, _: &Self) -> bool {
        false // a lie
    }
}
impl<const N: usize> Eq for Item<N> {}
impl<const N: usize> PartialOrd for Item<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<const N: usize> Ord for Item<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.by_key(other)
    }
}

/// Items with these keys.
fn items<const N: usize>(len: usize, key: impl Fn(usize) -> usize) -> (Arc<Fuses>, Vec<Item<N>>) {
    let of = Arc::new(Fuses { drops: NEVER.into(), clones: NEVER.into() });
    let items = (0..len).map(|id| Item::new(id, key(id), &of)).collect();
    (of, items)
}

fn scatter(i: usize) -> usize {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> 13) % MANY
}

/// Runs the attack, which may panic with any payload. The payload is not dropped.
fn run<R>(attack: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(attack))
        .map_err(|payload: Box<dyn Any + Send>| std::mem::forget(payload))
        .ok()
}

/// Checks that the pool works, and that no item but these lives.
fn survived<const N: usize>(name: &str, pool: &Pool, of: &Arc<Fuses>, items: &[Item<N>]) {
    of.drops.store(NEVER, Relaxed);
    of.clones.store(NEVER, Relaxed);
    assert_eq!(Arc::strong_count(of), items.len() + 1, "{name}: items that live");
    let begun = pool.on(0..100_u64).map(|i| i * pool.join(|| 1, || 2).1).sum::<u64>();
    assert_eq!(begun, 9900, "{name}: the pool works");
}

/// An attack on a slice, which may be moved about.
type Move<const N: usize> = (&'static str, fn(&Pool, &mut [Item<N>]));

/// A comparison that lies by its number of calls, and then becomes honest.
fn liar<const N: usize>(calls: &AtomicUsize) -> impl Fn(&Item<N>, &Item<N>) -> Ordering + Sync {
    |a, b| match calls.fetch_add(1, Relaxed) {
        lie @ 0..200_000 => (lie ^ a.key()).cmp(&(lie.rotate_left(7) ^ b.key())),
        _ => a.by_key(b),
    }
}

/// A comparison that panics at its call with this number, and at all later ones.
fn bomb<const N: usize>(calls: &AtomicUsize, at: usize) -> impl Fn(&Item<N>, &Item<N>) -> Ordering + Sync {
    move |a, b| if calls.fetch_add(1, Relaxed) < at { a.by_key(b) } else { panic_any(Payload) }
}

fn moves<const N: usize>() -> Vec<Move<N>> {
    vec![
        ("a test panics at once", |pool, items| {
            pool.partition_in_place(items, |_| panic_any(Payload));
        }),
        ("a test panics in every thread", |pool, items| {
            let (calls, len) = (AtomicUsize::new(0), items.len());
            pool.partition_in_place(items, |_| {
                work(if cfg!(miri) { 0 } else { 100 });
                calls.fetch_add(1, Relaxed) < len / 2 || panic_any(Payload)
            });
        }),
        ("a test lies", |pool, items| {
            let calls = AtomicUsize::new(0);
            pool.partition_in_place(items, |item| (calls.fetch_add(7, Relaxed) ^ item.key()) % 3 == 0);
        }),
        ("a test lies to the sample", |pool, items| {
            let (calls, len) = (AtomicUsize::new(0), items.len());
            pool.partition_in_place(items, |_| calls.fetch_add(1, Relaxed) < len / 10);
        }),
        ("a test partitions, sorts, scans and joins", |pool, items| {
            let passed = pool.partition_in_place(items, |item| {
                if item.id % 1000 == 0 {
                    let mut inner = [3, 1, 2, item.id];
                    pool.partition_in_place(&mut inner, |x| x % 2 == 0);
                    pool.join(|| pool.on(&mut [1; 30]).inclusive_scan(|a, b| a + b), || black_box(1));
                    pool.sort_unstable(&mut inner);
                }
                item.key() % 2 == 0
            });
            assert!(items[..passed].iter().all(|item| item.key() % 2 == 0));
        }),
        ("partitions, selections and sorts in a loop", |pool, items| {
            pool.on(&mut *items).chunks(MANY / 5).for_each(|part| {
                pool.partition_in_place(part, |item| item.key() % 3 == 0);
                pool.select_nth_unstable(part, 3);
                pool.sort_unstable(part);
                assert!(part.is_sorted_by_key(Item::key));
            });
        }),
        ("a selection by an order that lies", |pool, items| {
            pool.select_nth_unstable_by(items, MANY / 2, liar(&AtomicUsize::new(0)));
        }),
        ("a selection whose order panics in the sample", |pool, items| {
            pool.select_nth_unstable_by(items, MANY / 2, bomb(&AtomicUsize::new(0), 100));
        }),
        ("a selection whose order panics in a partition", |pool, items| {
            pool.select_nth_unstable_by(items, MANY / 3, bomb(&AtomicUsize::new(0), MANY));
        }),
        ("a selection by keys whose drop panics", |pool, items| {
            items[0].of.drops.store(MANY / 2, Relaxed);
            pool.select_nth_unstable_by_key(items, 1, Item::clone);
        }),
        ("a selection whose order selects", |pool, items| {
            let (_, item, _) = pool.select_nth_unstable_by(items, MANY - 1, |a, b| {
                if (a.id ^ b.id) % 4096 == 1 {
                    pool.select_nth_unstable(&mut [3, 2, 1, 0], 2);
                }
                a.by_key(b)
            });
            let greatest = item.key();
            assert!(items.iter().all(|item| item.key() <= greatest));
        }),
        ("a selection whose order changes the keys", |pool, items| {
            let calls = AtomicUsize::new(0);
            pool.select_nth_unstable_by(items, MANY / 2, |a, b| {
                if calls.fetch_add(1, Relaxed) < 100_000 {
                    a.key.fetch_xor(b.id, Relaxed);
                }
                a.by_key(b)
            });
        }),
        ("no such index", |pool, items| drop(pool.select_nth_unstable(items, NEVER))),
        ("always less", |pool, items| pool.sort_unstable_by(items, |_, _| Ordering::Less)),
        ("always greater", |pool, items| pool.sort_unstable_by(items, |_, _| Ordering::Greater)),
        ("a sort by an order that lies", |pool, items| {
            pool.sort_unstable_by(items, liar(&AtomicUsize::new(0)));
        }),
        ("stone, scissors, paper", |pool, items| {
            pool.sort_unstable_by(items, |a, b| ((a.id + 4 - b.id % 3) % 3).cmp(&1));
        }),
        ("a sort whose order panics at the beginning", |pool, items| {
            pool.sort_unstable_by(items, bomb(&AtomicUsize::new(0), 2));
        }),
        ("a sort whose order panics in a cut", |pool, items| {
            pool.sort_unstable_by(items, bomb(&AtomicUsize::new(0), 3 * MANY / 2));
        }),
        ("a sort whose order panics in a piece", |pool, items| {
            pool.sort_unstable_by(items, bomb(&AtomicUsize::new(0), 5 * MANY));
        }),
        ("a sort whose order changes the keys", |pool, items| {
            pool.sort_unstable_by(items, |a, b| b.key.fetch_xor(a.id, Relaxed).cmp(&a.key()));
        }),
        ("a sort whose order sorts", |pool, items| {
            pool.sort_unstable_by(items, |a, b| {
                if (a.id ^ b.id) % 4096 == 1 {
                    pool.sort_unstable(&mut [2, 1, 0]);
                }
                a.by_key(b)
            });
            assert!(items.is_sorted_by_key(Item::key));
        }),
        ("a sort by keys whose drop panics", |pool, items| {
            items[0].of.drops.store(MANY / 2, Relaxed);
            pool.sort_by_cached_key(items, Item::clone);
        }),
        ("a sort by keys whose clone panics", |pool, items| {
            items[0].of.clones.store(MANY / 2, Relaxed);
            pool.sort_by_cached_key(items, Item::clone);
        }),
    ]
}

fn move_about<const N: usize>() {
    let keys: [fn(usize) -> usize; 4] =
        [scatter, |id| id / 2, |id| id * 10 / MANY % 2, |id| if id % 500 == 7 { scatter(id) } else { id }];
    for (which, key) in keys.into_iter().enumerate() {
        let pool = pool([3, 2, 4, 6][which]);
        for (name, attack) in moves::<N>() {
            let (of, mut items) = items(MANY, key);
            run(|| attack(&pool, &mut items));
            survived(name, &pool, &of, &items);
            let mut ids: Vec<usize> = items.iter().map(|item| item.id).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..MANY), "{name}: each item is there once");
            assert!(items.iter().all(|item| item.padding == [item.id as u64; N]), "{name}: whole items");
        }
    }
}

#[test]
fn items_that_are_moved() {
    move_about::<0>();
}

#[test]
fn large_items_that_are_moved() {
    move_about::<10>();
}

/// An attack on a scan of the ranges `i..i + 1`.
type Scan = (&'static str, fn(&Pool, &mut Vec<Item<0>>));

fn slow_and(a: &Item<0>, b: &Item<0>) -> Item<0> {
    work(if cfg!(miri) { 0 } else { 2_000 });
    a.and(b)
}

/// The first total of a shared scan, for an exclusive scan.
fn nothing(items: &[Item<0>]) -> Item<0> {
    Item::new(0, 0, &items[0].of)
}

thread_local!(static IN_USE: RefCell<usize> = const { RefCell::new(0) });

/// The honest ones come first.
const HONEST: usize = 6;
const SCANS: [Scan; 17] = [
    ("blocks of one", |pool, items| pool.on(items).grain(1).inclusive_scan(slow_and)),
    ("odd options", |pool, items| {
        pool.on(items).grain(NEVER).threads(NEVER).reproducible().inclusive_scan(slow_and);
    }),
    ("the operator scans, partitions, sorts and joins", |pool, items| {
        pool.on(items).inclusive_scan(|a, b| {
            let mut inner = [0, 1, b.id];
            pool.on(&mut inner).grain(1).inclusive_scan(|a, b| *a.max(b));
            pool.join(|| pool.partition_in_place(&mut inner, |x| x % 2 == 0), || slow_and(a, b)).1
        });
    }),
    ("the operator catches the panic of a scan", |pool, items| {
        pool.on(items).reproducible().inclusive_scan(|a, b| {
            let failed = run(|| pool.on(&mut [0; 20]).inclusive_scan(|_, _| panic_any(Payload)));
            if failed.is_some() { b.clone() } else { slow_and(a, b) }
        });
    }),
    ("the operator uses a thread-local", |pool, items| {
        pool.on(items).inclusive_scan(|a, b| {
            IN_USE.with_borrow_mut(|calls| {
                *calls += 1;
                slow_and(a, b)
            })
        });
    }),
    ("an exclusive scan, then the ends of the ranges", |pool, items| {
        let first = nothing(items);
        let total = pool.on(&mut *items).exclusive_scan(first, slow_and);
        assert_eq!((total.id, total.key()), (0, items.len()));
        assert!(items.iter().enumerate().all(|(i, item)| (item.id, item.key()) == (0, i)));
        items.iter().for_each(|item| _ = item.key.fetch_add(1, Relaxed));
    }),
    ("the operator panics in a block", |pool, items| {
        pool.on(items).inclusive_scan(|a, b| if a.id > 100 { panic_any(Payload) } else { slow_and(a, b) });
    }),
    ("the operator panics in the second pass", |pool, items| {
        let panics = |a: &Item<0>, b: &Item<0>| a.id == 0 && b.id > 200 && b.id + 1 == b.key();
        pool.on(items).inclusive_scan(|a, b| if panics(a, b) { panic_any(Payload) } else { slow_and(a, b) });
    }),
    ("the operator panics at the front", |pool, items| {
        let first = nothing(items);
        pool.on(items).exclusive_scan(first, |a, b| {
            if b.key() > b.id + 1 { panic_any(Payload) } else { slow_and(a, b) }
        });
    }),
    ("the operator panics in every thread", |pool, items| {
        let calls = AtomicUsize::new(0);
        pool.on(items).inclusive_scan(|a, b| {
            if calls.fetch_add(1, Relaxed) > FEW / 3 { panic_any(Payload) } else { slow_and(a, b) }
        });
    }),
    ("a clone panics", |pool, items| {
        items[0].of.clones.store(2, Relaxed);
        pool.on(items).reproducible().inclusive_scan(slow_and);
    }),
    ("the drop of an item panics", |pool, items| {
        items[0].of.drops.store(FEW / 2, Relaxed);
        pool.on(items).inclusive_scan(slow_and);
    }),
    ("the drop of a total panics", |pool, items| {
        let first = nothing(items);
        items[0].of.drops.store(FEW + 1, Relaxed);
        pool.on(items).exclusive_scan(first, slow_and);
    }),
    ("a token cancels", |pool, items| {
        let (token, first) = (CancelToken::new(), nothing(items));
        let ended = pool.on(items).cancel(&token).exclusive_scan(first, |a, b| {
            if b.key() > FEW / 2 {
                token.cancel();
            }
            slow_and(a, b)
        });
        assert!(ended.is_err() || ended.is_ok_and(|total| total.key() == FEW));
    }),
    ("a token has cancelled", |pool, items| {
        let (token, first) = (CancelToken::new(), nothing(items));
        token.cancel();
        let ended = pool.on(&mut *items).cancel(&token).exclusive_scan(first, slow_and);
        assert!(ended.is_err_and(|error| error == Cancelled));
        assert!(items.iter().enumerate().all(|(i, item)| (item.id, item.key()) == (i, i + 1)));
    }),
    ("the operator holds a thread-local in a nested loop", |pool, items| {
        pool.on(items).inclusive_scan(|a, b| {
            IN_USE.with_borrow_mut(|_| {
                pool.on(&mut [0; 9]).grain(1).inclusive_scan(|a, b| a + b);
                slow_and(a, b)
            })
        });
    }),
    ("the operator is not associative", |pool, items| {
        pool.on(&mut *items)
            .inclusive_scan(|a, b| if (a.key() ^ b.id) % 3 == 0 { a.clone() } else { b.clone() });
        items.iter_mut().enumerate().for_each(|(i, item)| *item = Item::new(0, i + 1, &item.of));
    }),
];

#[test]
fn scans() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for (which, (name, attack)) in SCANS.into_iter().enumerate() {
            for _ in 0..if cfg!(miri) { 1 } else { 4 } {
                let (of, mut items) = items(FEW, |id| id + 1);
                let done = run(|| attack(&pool, &mut items)).is_some();
                assert!(done || which >= HONEST, "{name}");
                survived(name, &pool, &of, &items);
                for (i, item) in items.iter().enumerate() {
                    let (is, total) = ((item.id, item.key()), [(0, i + 1), (i, i + 1), (0, i)]);
                    assert!(
                        total[..if which < HONEST { 1 } else { 3 }].contains(&is),
                        "{name}: {i} is {is:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn items_without_a_size() {
    let pool = pool(3);
    let mut units = vec![(); NEVER];
    pool.sort_unstable(&mut units);
    assert_eq!(pool.select_nth_unstable(&mut units, NEVER / 2).2.len(), NEVER - NEVER / 2 - 1);
    assert!(run(|| pool.permutation(&[0], NEVER).is_ok()).is_none(), "no memory for so many marks");
    let places = pool.permutation(vec![1, 0], 3).unwrap();
    assert!(run(|| pool.on(&mut units).at(&places).for_each(|()| ())).is_none());
    units.truncate(FEW);
    assert_eq!(pool.partition_in_place(&mut units, |()| false), 0);
    pool.on(&mut units).grain(1).inclusive_scan(|(), ()| ());
    pool.on(&mut units).exclusive_scan((), |(), ()| ());
    let all = pool.permutation((0..FEW).rev().collect::<Vec<_>>(), FEW).unwrap();
    assert_eq!(
        pool.on(&mut units).at(&all).rev().step_by(7).collect::<Vec<&mut ()>>().len(),
        FEW.div_ceil(7)
    );
    let none = pool.permutation(&[], 0).unwrap();
    pool.on(&mut [(); 0]).at(&none).for_each(|()| unreachable!("no item"));
    pool.on(&mut [0; 0]).inclusive_scan(|_, _| unreachable!("no item"));
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    struct Unit;
    let unit = || {
        LIVING.fetch_add(1, Relaxed);
        Unit
    };
    impl Clone for Unit {
        fn clone(&self) -> Self {
            LIVING.fetch_add(1, Relaxed);
            Self
        }
    }
    impl Drop for Unit {
        fn drop(&mut self) {
            LIVING.fetch_sub(1, Relaxed);
        }
    }
    let mut units: Vec<Unit> = (0..FEW).map(|_| unit()).collect();
    pool.on(&mut units).grain(3).inclusive_scan(|_, _| unit());
    drop(pool.on(&mut units).reproducible().exclusive_scan(unit(), |_, _| unit()));
    pool.partition_in_place(&mut units, |_| LIVING.load(Relaxed) % 2 == 0);
    pool.sort_unstable_by(&mut units, |_, _| Ordering::Less);
    assert!(
        run(|| pool.on(&mut units).at(&all).zip(vec![unit(); FEW]).for_each(|_| panic_any(Payload)))
            .is_none()
    );
    assert_eq!(LIVING.load(Relaxed), FEW);
}

/// A user's type that becomes indices. The conversion uses the pool, or panics.
struct Hostile<'p>(&'p Pool, Vec<usize>);

impl<'i> From<Hostile<'i>> for Cow<'i, [usize]> {
    fn from(Hostile(pool, mut indices): Hostile<'i>) -> Self {
        pool.sort_unstable(&mut indices);
        assert!(pool.permutation(&indices, FEW).is_ok_and(|all| all.indices().len() > 1), "planned");
        indices.into()
    }
}

type Permuted = (&'static str, fn(&Pool, &mut [Item<0>], &Permutation));

fn touch(item: &Item<0>) {
    work(if cfg!(miri) { 0 } else { 500 });
    item.key.fetch_add(1, Relaxed);
}

/// The first six are honest.
const PERMUTED: [Permuted; 15] = [
    ("in reverse, then again what was left out", |pool, items, places| {
        pool.on(&mut *items).at(places).rev().step_by(3).for_each(|item| touch(item));
        pool.on(&mut *items).at(places).rev().skip(1).step_by(3).for_each(|item| touch(item));
        pool.on(&mut *items).at(places).rev().skip(2).step_by(3).grain(1).for_each(|item| touch(item));
    }),
    ("collected by exclusive reference", |pool, items, places| {
        let mut taken: Vec<&mut Item<0>> = pool.on(items).at(places).collect();
        taken.iter_mut().for_each(|item| touch(item));
        pool.on(&mut taken).for_each(|item| item.padding = []);
        let addresses: HashSet<_> = taken.iter().map(|item| &raw const **item).collect();
        assert_eq!(addresses.len(), FEW);
    }),
    ("kept by workers behind the loop", |pool, items, places| {
        let mut kept = pool.per_worker(|_| Vec::new());
        pool.on(items).at(places).with_kept(&mut kept).for_each(|(kept, item)| kept.push(item));
        kept.into_vec().into_iter().flatten().for_each(|item| touch(item));
    }),
    ("the same permutation inside its loop", |pool, items, places| {
        pool.on(items).at(places).enumerate().for_each(|(i, item)| {
            assert_eq!(item.id, places.indices()[i]);
            if i % 50 == 0 {
                let inner = pool.permutation(places.indices(), FEW).unwrap();
                pool.on(&mut [0; FEW]).at(&inner).for_each(|value| *value += 1);
            }
            touch(item);
        });
    }),
    ("shared and cloned by threads", |pool, items, places| {
        thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || {
                    let (places, mut values) = (places.clone(), vec![seed; FEW]);
                    pool.on(&mut values).at(&places).grain(seed + 1).for_each(|value| *value += 1);
                    assert_eq!(values, vec![seed + 1; FEW]);
                });
            }
            pool.on(items).at(places).for_each(|item| touch(item));
        });
    }),
    ("a conversion that uses the pool", |pool, items, places| {
        let hostile = pool.permutation(Hostile(pool, places.indices().to_vec()), FEW).unwrap();
        pool.on(items).at(&hostile).reproducible().enumerate().for_each(|(i, item)| {
            assert_eq!(item.id, i);
            touch(item);
        });
    }),
    ("zipped with owned items that are longer", |pool, items, places| {
        let owned: Vec<_> = items.iter().chain(&items[..7]).cloned().collect();
        let on = pool.on(owned).zip_shortest(source(items).at(places));
        on.filter(|(a, _)| a.id % 2 == 0).for_each(|(_, item)| touch(item));
        let token = CancelToken::new();
        token.cancel();
        let owned = vec![Box::new(0); FEW];
        assert!(pool.on((owned, 0..FEW)).cancel(&token).for_each(drop).is_err());
    }),
    ("a loop that is never run", |pool, items, places| {
        let owned = items.to_vec();
        drop(pool.on(items).at(places).zip(owned).map(|(item, _)| touch(item)));
    }),
    ("a panic among owned items", |pool, items, places| {
        let owned = items.to_vec();
        pool.on((owned, source(items).at(places))).for_each(|(a, item)| {
            touch(item);
            assert!(a.id != FEW / 2, "planned");
        });
    }),
    ("a token cancels among owned items", |pool, items, places| {
        let (owned, token) = (items.to_vec(), CancelToken::new());
        let _either = pool.on(items).at(places).zip(owned).cancel(&token).for_each(|(item, _)| {
            touch(item);
            token.cancel();
        });
    }),
    ("drops of owned items panic", |pool, items, places| {
        let owned = items.to_vec();
        items[0].of.drops.store(FEW / 3, Relaxed);
        pool.on(items).at(places).zip(owned).for_each(|(item, _)| touch(item));
    }),
    ("errors have the position in the permutation", |pool, items, places| {
        let results =
            pool.on(items).at(places).map(|item| if item.id == 5 { Err(item) } else { Ok(touch(item)) });
        let at = results.located().collect::<Result<Vec<()>, source::At<&mut Item<0>>>>().unwrap_err();
        assert_eq!((at.error.id, places.indices()[at.index]), (5, 5));
    }),
    ("a wrong length", |pool, items, places| {
        pool.on(&mut items[1..]).at(places).for_each(|item| touch(item));
    }),
    ("a conversion that panics", |pool, _, _| drop(pool.permutation(Hostile(pool, vec![0, 0]), FEW))),
    ("faulty indices", |pool, _, places| {
        for index in [FEW, NEVER, NEVER / 2 + 1, 1 << (usize::BITS / 2), places.indices()[0]] {
            let indices: Vec<_> = places.indices()[..FEW - 1].iter().copied().chain([index]).collect();
            assert!(pool.permutation(&indices, FEW).is_err());
        }
    }),
];

#[test]
fn permutations() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for (which, (name, attack)) in PERMUTED.into_iter().enumerate() {
            let (of, mut items) = items(FEW, |id| id);
            let mut indices: Vec<usize> = (0..FEW).collect();
            indices.sort_by_key(|i| scatter(*i));
            let places = pool.permutation(&indices, FEW).unwrap();
            let done = run(|| attack(&pool, &mut items, &places)).is_some();
            assert!(done || which >= HONEST, "{name}");
            survived(name, &pool, &of, &items);
            for (i, item) in items.iter().enumerate() {
                let touched = item.key() == i + 1;
                assert!(item.id == i && (touched || which >= HONEST && item.key() == i), "{name}: item {i}");
            }
        }
    }
}

/// Sorts, partitions, scans and permutes numbers, and checks the results.
fn use_all(pool: &Pool, len: usize) {
    let mut numbers: Vec<usize> = (0..len).map(|i| i * 7 % len).collect();
    let small = pool.partition_in_place(&mut numbers, |x| *x < len / 3);
    assert!(small == len / 3 && numbers[..small].iter().all(|x| *x < small));
    assert_eq!(*pool.select_nth_unstable(&mut numbers, len / 2).1, len / 2);
    let places = pool.permutation(&numbers, len).unwrap();
    let mut ranks = vec![0; len];
    pool.on(&mut ranks).at(&places).zip(&numbers).for_each(|(to, x)| *to = *x);
    assert!(ranks.iter().copied().eq(0..len));
    pool.sort_unstable(&mut numbers);
    assert_eq!(numbers, ranks);
    assert_eq!(pool.on(&mut numbers).grain(9).exclusive_scan(0, |a, b| a + b), len * (len - 1) / 2);
    pool.on(&mut ranks).inclusive_scan(|a, b| a + b);
    assert_eq!(numbers[1..], ranks[..len - 1]);
}

/// A length that 7 does not divide.
const LEN: usize = MANY + 1;

#[test]
fn many_threads_use_and_harm_one_pool() {
    let pool = pool(3);
    thread::scope(|scope| {
        for attacker in 0..6 {
            let pool = &pool;
            scope.spawn(move || {
                let (of, mut items) = items::<0>(MANY, scatter);
                for (name, attack) in moves().into_iter().skip(attacker).step_by(6) {
                    run(|| attack(pool, &mut items));
                    survived(name, pool, &of, &items);
                    use_all(pool, LEN);
                }
            });
        }
    });
}

/// Cells are not `Sync`: at any moment only one thread may have a reference to an item.
#[test]
fn cells_and_huge_items() {
    let pool = pool(2);
    let mut cells: Vec<Cell<usize>> = (0..LEN).map(|i| Cell::new(scatter(i))).collect();
    let add = |cell: &Cell<usize>| cell.replace(cell.get() + 1);
    let passed = pool.partition_in_place(&mut cells, |cell| add(cell) % 2 == 0);
    assert!(cells[..passed].iter().all(|cell| cell.get() % 2 == 1));
    pool.sort_unstable_by(&mut cells, |a, b| (add(a), a.set(a.get() - 1)).0.cmp(&b.get()));
    assert!(cells.is_sorted());
    let places = pool.permutation((0..LEN).rev().collect::<Vec<_>>(), LEN).unwrap();
    pool.on(&mut cells).at(&places).enumerate().for_each(|(i, cell)| cell.set(i));
    let total = pool.on(&mut cells).exclusive_scan(Cell::new(0), |a, b| Cell::new(a.get() + b.get()));
    assert_eq!((total.into_inner(), cells[1].get()), (LEN * (LEN - 1) / 2, LEN - 1));

    type Huge = [usize; 512];
    let mut huge: Vec<Huge> = (0..FEW).map(|i| [i; 512]).collect();
    let places = pool.permutation((0..FEW).rev().step_by(2).collect::<Vec<_>>(), FEW).unwrap();
    pool.on(&mut huge).at(&places).enumerate().for_each(|(i, item)| *item = [FEW - 1 - 2 * i; 512]);
    assert_eq!(pool.partition_in_place(&mut huge, |item| item[511] % 2 == 1), FEW / 2);
    pool.sort_unstable(&mut huge);
    pool.on(&mut huge).grain(1).inclusive_scan(|a, b| array::from_fn(|i| a[i].max(b[511 - i])));
    assert!(huge.iter().enumerate().all(|(i, item)| *item == [i; 512]));
}

/// Uses the pool when dropped: in the destructor of a thread-local, or while its thread panics.
struct UsesAtTheEnd(Arc<Pool>, mpsc::Sender<()>);

impl Drop for UsesAtTheEnd {
    fn drop(&mut self) {
        use_all(&self.0, LEN);
        self.1.send(()).unwrap();
    }
}

#[test]
fn destructors_use_the_pool() {
    thread_local!(static LAST: RefCell<Option<UsesAtTheEnd>> = const { RefCell::new(None) });
    let (pool, (sender, receiver)) = (Arc::new(pool(3)), mpsc::channel());
    let local = UsesAtTheEnd(Arc::clone(&pool), sender.clone());
    thread::spawn(|| LAST.set(Some(local))).join().unwrap();
    receiver.recv().unwrap();
    let failed = run(|| {
        pool.on(&mut [0; 30]).inclusive_scan(|_, _| {
            let _while_panicking = UsesAtTheEnd(Arc::clone(&pool), sender.clone());
            panic_any(Payload)
        });
    });
    assert!(failed.is_none());
    receiver.recv().unwrap();
    use_all(&pool, LEN);
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn a_forked_child_uses_the_pool() {
    const NAME: &str = "a_forked_child_uses_the_pool";
    if !child::is_child() {
        child::passed(&child::run(&[], NAME, &[]));
        return;
    }
    let pool = pool(3);
    use_all(&pool, LEN);
    forked::forked(|| use_all(&pool, LEN));
    // In the middle of a partition and of a scan.
    let mut calls = [const { AtomicUsize::new(0) }; 2];
    let fork_once = |calls: &AtomicUsize| {
        if calls.fetch_add(1, Relaxed) == FEW {
            forked::forked(|| use_all(&pool, LEN));
        }
    };
    let mut numbers: Vec<usize> = (0..MANY).collect();
    pool.partition_in_place(&mut numbers, |x| (x % 2, fork_once(&calls[0])).0 == 0);
    pool.sort_unstable(&mut numbers);
    pool.on(&mut numbers).inclusive_scan(|a, b| (*a.max(b), fork_once(&calls[1])).0);
    assert!(numbers.iter().copied().eq(0..MANY) && calls.iter_mut().all(|calls| *calls.get_mut() > FEW));
    use_all(&pool, LEN);
}
