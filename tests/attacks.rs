//! Attacks from safe code on the loops that move or replace items: permutations, partitions,
//! selections, sorts, scans. After each attack every item is there once, and the pool works.

#![allow(clippy::type_complexity, clippy::needless_for_each)] // tables of attacks

use std::{
    array,
    borrow::Cow,
    cell::{Cell, RefCell},
    cmp::Ordering::{self, Less},
    collections::HashSet,
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    sync::{Arc, mpsc},
    thread,
};

use rangesteal::{CancelToken, Pool, source, source::Permutation};

mod busy;
#[cfg(all(target_os = "linux", not(miri)))]
mod child;
#[cfg(all(target_os = "linux", not(miri)))]
mod forked;

/// Enough items that sorts and selections are shared.
const MANY: usize = if cfg!(miri) { 40 } else { 33_000 };
const FEW: usize = if cfg!(miri) { 16 } else { 400 };
const NEVER: usize = usize::MAX;

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

fn pools() -> Vec<Pool> {
    (if cfg!(miri) { &[3][..] } else { &[2, 4] }).iter().map(|threads| pool(*threads)).collect()
}

fn work() {
    busy::work(if cfg!(miri) { 0 } else { 1_000 });
}

/// Counts down `fuse` at each drop and clone of an item, except in a panicking thread. Panics when
/// `fuse` reaches 0.
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

/// An item. In scans it is the range `id..key`. The total of neighbours is the range of both.
struct Item<const N: usize> {
    id: usize,
    key: AtomicUsize,
    /// All items of an attack share this number, and nothing else does. So the number of references
    /// is the number of items.
    of: Arc<AtomicUsize>,
    /// A partition moves large items by another algorithm.
    padding: [usize; N],
}

impl<const N: usize> Item<N> {
    fn new(id: usize, key: usize, of: &Arc<AtomicUsize>) -> Self {
        Self { id, key: key.into(), of: Arc::clone(of), padding: [id; N] }
    }

    fn key(&self) -> usize {
        self.key.load(Relaxed)
    }

    fn and(&self, next: &Self) -> Self {
        work();
        Self::new(self.id, if self.key() == next.id { next.key() } else { NEVER }, &self.of)
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
        self.key().cmp(&other.key())
    }
}

impl<const N: usize> Clone for Item<N> {
    fn clone(&self) -> Self {
        burn(&self.of);
        Self::new(self.id, self.key(), &self.of)
    }
}

impl<const N: usize> Drop for Item<N> {
    fn drop(&mut self) {
        burn(&self.of);
    }
}

fn items<const N: usize>(len: usize, key: impl Fn(usize) -> usize) -> (Arc<AtomicUsize>, Vec<Item<N>>) {
    let of = Arc::new(NEVER.into());
    let items = (0..len).map(|id| Item::new(id, key(id), &of)).collect();
    (of, items)
}

fn scatter(i: usize) -> usize {
    i.wrapping_mul(0x9E37_79B9).rotate_left(19) % MANY
}

/// Returns whether the attack did not panic. An attack may panic, except by a failed assertion.
fn run(attack: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(attack)) else { return true };
    match payload.downcast::<Payload>() {
        Ok(payload) => mem::forget(payload),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(|text| &**text);
            let text = text.or(payload.downcast_ref::<&str>().copied());
            if text.is_none_or(|text| text.starts_with("assertion")) {
                resume_unwind(payload);
            }
        }
    }
    false
}

/// Checks that the pool works, and that no item lives except these.
fn survived<const N: usize>(name: &str, pool: &Pool, of: &Arc<AtomicUsize>, items: &[Item<N>]) {
    of.store(NEVER, Relaxed);
    assert_eq!(Arc::strong_count(of) - 1, items.len(), "{name}: no item leaks");
    assert_eq!(pool.on(0..100).map(|i| i * pool.join(|| 1, || 2).1).sum::<i32>(), 9900, "{name}");
}

/// Sorts, partitions, selects, scans and permutes numbers, and checks the results.
fn use_all(pool: &Pool, len: usize) {
    let mut numbers: Vec<usize> = (0..len).map(|i| i * 7 % len).collect();
    let small = pool.partition_in_place(&mut numbers, |x| *x < len / 3);
    assert!(small == len / 3 && numbers[..small].iter().all(|x| *x < small));
    assert_eq!(*pool.select_nth_unstable(&mut numbers, len / 2).1, len / 2);
    let places = pool.permutation(&numbers, len).unwrap();
    let mut ranks = vec![0; len];
    pool.on(&mut ranks).at(&places).zip(&numbers).for_each(|(to, x)| *to = *x);
    pool.sort_unstable(&mut numbers);
    assert!(ranks.iter().copied().eq(0..len) && numbers == ranks);
    assert_eq!(pool.on(&mut numbers).grain(9).exclusive_scan(0, |a, b| a + b), len * (len - 1) / 2);
    pool.on(&mut ranks).inclusive_scan(|a, b| a + b);
    assert_eq!(numbers[1..], ranks[..len - 1]);
}

/// Hostile orders, given the number of the call. The first order is honest.
fn orders<const N: usize>() -> [(&'static str, fn(&Pool, usize, &Item<N>, &Item<N>) -> Ordering); 9] {
    [
        ("uses the pool", |pool, call, a, b| {
            if call % 10_000 == 77 {
                pool.join(|| use_all(pool, 90), || use_all(pool, 50));
            }
            a.cmp(b)
        }),
        ("always less", |_, _, _, _| Less),
        ("stone, scissors, paper", |_, _, a, b| ((a.id + 3 - b.id % 3) % 3).cmp(&1)),
        ("by the call", |_, call, a, b| (call ^ a.key()).cmp(&(call.rotate_left(7) ^ b.key()))),
        ("changes the keys", |_, _, a, b| b.key.fetch_xor(a.id, Relaxed).cmp(&a.key())),
        ("panics at once", |_, call, _, _| if call < 2 { Less } else { panic_any(Payload) }),
        (
            "panics in a sample",
            |_, call, a, b| if call == 200 { panic_any(Payload) } else { a.id.cmp(&b.id) },
        ),
        ("panics everywhere", |_, call, a, b| if call > MANY { panic_any(Payload) } else { a.id.cmp(&b.id) }),
        ("the drop or clone of a key panics", |_, call, a, b| {
            if call == MANY / 2 {
                a.of.store(99, Relaxed);
            }
            a.clone().cmp(b)
        }),
    ]
}

/// Uses each of these orders in each of these loops, on two of four slices. The slices are in no
/// order, have few keys, have long runs, or have few outliers.
fn compare<const N: usize>(pools: [&Pool; 4], verbs: Range<usize>, which: Range<usize>) {
    let keys: [fn(usize) -> usize; 4] =
        [scatter, |id| scatter(id) % 3, |id| id * 10 / MANY % 2, |id| if id % 500 == 7 { 0 } else { id }];
    let cases =
        which.flat_map(|which| verbs.clone().flat_map(move |verb| [(which, verb, 0), (which, verb, 2)]));
    for (which, verb, slice) in cases {
        let ((name, order), slice) = (orders()[which], (which + verb + slice) % 4);
        let (pool, (of, mut items)) = (pools[slice], items::<N>(MANY, keys[slice]));
        let (calls, pivot) = (AtomicUsize::new(0), Item::new(NEVER, MANY / 3, &Arc::new(NEVER.into())));
        // An order that lies for ever would make std's selection quadratic.
        let order = |a: &Item<N>, b: &Item<N>| match calls.fetch_add(1, Relaxed) {
            call @ 0..200_000 => order(pool, call, a, b),
            _ => a.cmp(b),
        };
        let mut at = 0;
        let done = run(|| match verb {
            0 => pool.sort_unstable_by(&mut items, order),
            1 => pool.sort_by_cached_key(&mut items, |item| (order(item, &pivot), item.clone())),
            2 => at = pool.partition_in_place(&mut items, |item| order(item, &pivot).is_lt()),
            _ => at = pool.select_nth_unstable_by(&mut items, MANY / 3, order).0.len(),
        });
        survived(name, pool, &of, &items);
        let mut ids: Vec<usize> = items.iter().map(|item| item.id).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..MANY), "{name}: loop {verb}: each item is there once");
        assert!(items.iter().all(|item| item.padding == [item.id; N]), "{name}: whole items");
        if which == 0 {
            let passing = items.iter().filter(|item| item.key() < MANY / 3).count();
            let (front, back) = items.split_at(at);
            let greatest = front.iter().map(Item::key).max().unwrap_or(0);
            assert!(done && back.iter().all(|item| item.key() >= greatest));
            assert!(if verb < 2 { items.is_sorted_by_key(Item::key) } else { verb == 3 || at == passing });
        }
    }
}

#[test]
fn hostile_orders_lose_no_item() {
    let [a, b, c, d] = [3, 2, 4, 6].map(pool);
    compare::<0>([&a, &b, &c, &d], 0..4, 0..9);
    compare::<10>([&d, &c, &b, &a], 2..4, 0..9);
}

#[test]
fn many_threads_use_and_harm_one_pool() {
    let pool = &pool(3);
    let attack = |attacker| {
        compare::<0>([pool; 4], 0..4, attacker..attacker + 1);
        use_all(pool, MANY + 1);
    };
    thread::scope(|scope| (0..6).for_each(|attacker| _ = scope.spawn(move || attack(attacker))));
}

thread_local!(static IN_USE: RefCell<usize> = const { RefCell::new(0) });

/// Hostile operators, given the number of the call. The first three operators are honest.
const OPERATORS: [(&str, fn(&Pool, &CancelToken, usize, &Item<0>, &Item<0>) -> Item<0>); 12] = [
    ("uses the pool", |pool, _, call, a, b| {
        if call % 50 == 7 {
            use_all(pool, 30);
        }
        pool.join(|| a.and(b), || pool.on(&mut [1; 9]).grain(1).inclusive_scan(|a, b| a + b)).0
    }),
    ("catches the panic of a scan", |pool, _, call, a, b| {
        let panics = || run(|| pool.on(&mut [0; 20]).inclusive_scan(|_, _| panic_any(Payload)));
        assert!(call % 16 != 3 || !panics());
        a.and(b)
    }),
    ("uses a thread-local", |_, _, call, a, b| IN_USE.with_borrow_mut(|last| (*last = call, a.and(b)).1)),
    ("holds a thread-local in a nested loop", |pool, _, call, a, b| {
        IN_USE.with_borrow_mut(|last| (*last = pool.on(0..call).map(|i| i / 2).sum(), a.and(b)).1)
    }),
    ("panics in a first pass", |_, _, _, a, b| if a.id > FEW / 4 { panic_any(Payload) } else { a.and(b) }),
    ("panics in a second pass", |_, _, _, a, b| {
        if a.id == 0 && b.id > FEW / 2 && b.key() == b.id + 1 { panic_any(Payload) } else { a.and(b) }
    }),
    ("panics at the front", |_, _, _, a, b| if b.key() > b.id + 1 { panic_any(Payload) } else { a.and(b) }),
    ("panics everywhere", |_, _, call, a, b| if call > FEW / 3 { panic_any(Payload) } else { a.and(b) }),
    ("cancels", |_, token, call, a, b| (a.and(b), (call == FEW / 3).then(|| token.cancel())).0),
    ("a drop or clone panics", |_, _, call, a, b| {
        (a.and(b), (call == FEW / 3).then(|| a.of.store(5, Relaxed))).0
    }),
    ("an early drop or clone panics", |_, _, call, a, b| {
        (a.and(b), (call == 2).then(|| a.of.store(2, Relaxed))).0
    }),
    ("is not associative", |_, _, call, a, b| if call % 3 == 0 { a.clone() } else { b.clone() }),
];

#[test]
fn hostile_operators_lose_no_item() {
    for (pool, (which, (name, op))) in
        pools().iter().flat_map(|pool| OPERATORS.into_iter().enumerate().map(move |op| (pool, op)))
    {
        for verb in (0..8).step_by(if cfg!(miri) { 3 } else { 1 }) {
            let ((of, mut items), token) = (items(FEW, |id| id + 1), CancelToken::new());
            let (first, calls) = (Item::new(0, 0, &of), AtomicUsize::new(0));
            let on = pool.on(&mut items).cancel(&token);
            let on = match verb / 2 {
                0 => on,
                1 => on.grain(1),
                2 => on.reproducible(),
                _ => on.grain(NEVER).threads(NEVER),
            };
            let op = |a: &Item<0>, b: &Item<0>| op(pool, &token, calls.fetch_add(1, Relaxed), a, b);
            let done = run(|| {
                if verb % 2 == 0 {
                    drop(first);
                    on.inclusive_scan(op).unwrap();
                } else {
                    let total = on.exclusive_scan(first, op).unwrap();
                    assert!(which > 8 || (total.id, total.key()) == (0, FEW));
                }
            });
            survived(name, pool, &of, &items);
            assert!(done || which >= 3, "{name}");
            for (i, item) in items.iter().enumerate().filter(|_| which < OPERATORS.len() - 1) {
                let (is, total) = ((item.id, item.key()), (0, i + 1 - verb % 2));
                assert!(is == total || !done && is == (i, i + 1), "{name}: item {i} is {is:?}");
            }
        }
    }
}

/// A user's type that becomes indices. The conversion uses the pool, or panics.
struct Hostile<'p>(&'p Pool, Vec<usize>);

impl<'i> From<Hostile<'i>> for Cow<'i, [usize]> {
    fn from(Hostile(pool, mut indices): Hostile<'i>) -> Self {
        pool.sort_unstable(&mut indices);
        drop(pool.permutation(&indices, FEW).expect("distinct"));
        indices.into()
    }
}

fn touch(item: &Item<0>) {
    work();
    item.key.fetch_add(1, Relaxed);
}

/// The first six loops are honest: these loops touch each item once.
const LOOPS: [(&str, fn(&Pool, &mut [Item<0>], &Permutation)); 14] = [
    ("in reverse and by steps", |pool, items, places| {
        pool.on(&mut *items).at(places).rev().step_by(3).for_each(|item| touch(item));
        pool.on(&mut *items).at(places).rev().skip(1).step_by(3).for_each(|item| touch(item));
        pool.on(&mut *items).at(places).rev().skip(2).step_by(3).grain(1).for_each(|item| touch(item));
        pool.on(&mut *items).at(places).skip(NEVER).step_by(NEVER).for_each(|item| touch(item));
    }),
    ("collected by exclusive reference", |pool, items, places| {
        let mut taken: Vec<&mut Item<0>> = pool.on(items).at(places).collect();
        pool.on(&mut taken).for_each(|item| touch(item));
        assert_eq!(taken.iter().map(|item| &raw const **item).collect::<HashSet<_>>().len(), FEW);
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
                let (inner, mut values) = (pool.permutation(places.indices(), FEW).unwrap(), [0; FEW]);
                pool.on(&mut values).at(&inner).for_each(|value| *value += 1);
            }
            touch(item);
        });
    }),
    ("shared and cloned by threads", |pool, items, places| {
        let attack = |seed: usize| {
            let (places, mut values) = (places.clone(), vec![seed; FEW]);
            pool.on(&mut values).at(&places).grain(seed + 1).for_each(|value| *value += 1);
            assert_eq!(values, vec![seed + 1; FEW]);
        };
        thread::scope(|scope| (0..4).for_each(|seed| _ = scope.spawn(move || attack(seed))));
        pool.on(items).at(places).for_each(|item| touch(item));
    }),
    ("a conversion that uses the pool", |pool, items, places| {
        let places = pool.permutation(Hostile(pool, places.indices().to_vec()), FEW).unwrap();
        pool.on((0..FEW, source(items).at(&places))).reproducible().for_each(|(i, item)| {
            assert_eq!(item.id, i);
            touch(item);
        });
    }),
    ("a conversion that panics", |pool, _, _| _ = pool.permutation(Hostile(pool, vec![0, 0]), FEW)),
    ("more owned items", |pool, items, places| {
        let owned = [items.to_vec(), items[..7].to_vec()].concat();
        let on = pool.on(owned).zip_shortest(source(items).at(places));
        on.filter(|(owned, _)| owned.id % 2 == 0).for_each(|(_, item)| touch(item));
    }),
    ("a loop that is not run", |pool, items, places| {
        let owned = items.to_vec();
        drop(pool.on(items).at(places).zip(owned).map(|(item, _)| touch(item)));
    }),
    ("a panic among owned items", |pool, items, places| {
        let owned = items.to_vec();
        pool.on((owned, source(items).at(places))).for_each(|(owned, item)| {
            touch(item);
            let _payload = (owned.id == FEW / 2).then(|| panic_any(Payload));
        });
    }),
    ("a token cancels among owned items", |pool, items, places| {
        let (owned, token) = (items.to_vec(), CancelToken::new());
        let on = pool.on(items).at(places).zip(owned).cancel(&token);
        on.for_each(|(item, _)| (touch(item), token.cancel()).0).unwrap();
    }),
    ("drops of owned items panic", |pool, items, places| {
        let owned = items.to_vec();
        items[0].of.store(FEW / 3, Relaxed);
        pool.on(items).at(places).zip(owned).for_each(|(item, _)| touch(item));
    }),
    ("errors have the position in the permutation", |pool, items, places| {
        let results =
            pool.on(items).at(places).map(|item| if item.id == 5 { Err(item) } else { Ok(item.id) });
        let at = results.located().collect::<Result<Vec<_>, source::At<_>>>().err().unwrap();
        assert_eq!((at.error.id, places.indices()[at.index]), (5, 5));
    }),
    ("faulty indices and lengths", |pool, items, places| {
        for index in [FEW, NEVER, NEVER / 2 + 1, 1 << (usize::BITS / 2), places.indices()[0]] {
            assert!(
                pool.permutation([&places.indices()[1..], &[index, places.indices()[1]]].concat(), FEW)
                    .is_err()
            );
        }
        assert!(!run(|| _ = pool.permutation(&[0], NEVER)), "no memory");
        pool.on(&mut items[1..]).at(places).for_each(|item| touch(item));
    }),
];

#[test]
fn permutations_give_each_item_once() {
    for (pool, (which, (name, attack))) in
        pools().iter().flat_map(|pool| LOOPS.into_iter().enumerate().map(move |one| (pool, one)))
    {
        let (of, mut items) = items(FEW, |id| id);
        let mut indices: Vec<usize> = (0..FEW).collect();
        indices.sort_by_key(|i| scatter(*i));
        let places = pool.permutation(&indices, FEW).unwrap();
        assert!(run(|| attack(pool, &mut items, &places)) || which >= 6, "{name}");
        survived(name, pool, &of, &items);
        for (i, item) in items.iter().enumerate() {
            let touched = item.key() == i + 1;
            assert!(item.id == i && (touched || which >= 6 && item.key() == i), "{name}: item {i}");
        }
    }
}

static UNITS: AtomicUsize = AtomicUsize::new(0);

struct Unit;

fn unit() -> Unit {
    UNITS.fetch_add(1, Relaxed);
    Unit
}

impl Clone for Unit {
    fn clone(&self) -> Self {
        unit()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        UNITS.fetch_sub(1, Relaxed);
    }
}

#[test]
fn items_without_a_size() {
    let (pool, mut many) = (pool(3), vec![(); NEVER]);
    pool.sort_unstable(&mut many);
    assert_eq!(pool.select_nth_unstable(&mut many, NEVER / 2).0.len(), NEVER / 2);
    let none = pool.permutation(&[], 0).unwrap();
    assert!(!run(|| pool.on(&mut many).at(&none).for_each(|()| ())), "another length");
    pool.on(&mut [(); 0]).at(&none).for_each(|()| unreachable!("no item"));
    pool.on(&mut [0; 0]).inclusive_scan(|_, _| unreachable!("no item"));
    let mut units: Vec<Unit> = (0..FEW).map(|_| unit()).collect();
    pool.on(&mut units).grain(3).inclusive_scan(|_, _| unit());
    drop(pool.on(&mut units).reproducible().exclusive_scan(unit(), |_, _| (work(), unit()).1));
    pool.partition_in_place(&mut units, |_| UNITS.load(Relaxed).is_multiple_of(2));
    pool.sort_unstable_by(&mut units, |_, _| Less);
    let all = pool.permutation((0..FEW).rev().collect::<Vec<_>>(), FEW).unwrap();
    assert_eq!(pool.on(&mut units).at(&all).rev().step_by(7).collect::<Vec<_>>().len(), FEW.div_ceil(7));
    assert!(!run(|| pool.on(&mut units).at(&all).zip(vec![unit(); FEW]).for_each(|_| panic_any(Payload))));
    assert_eq!(UNITS.load(Relaxed), FEW);
}

/// Cells are not `Sync`: at any moment only one thread may have a reference to an item.
#[test]
fn cells_and_huge_items() {
    let (pool, len) = (pool(2), MANY + 1);
    let mut cells: Vec<Cell<usize>> = (0..len).map(|i| Cell::new(scatter(i))).collect();
    let add = |cell: &Cell<usize>| cell.replace(cell.get() + 1);
    let passed = pool.partition_in_place(&mut cells, |cell| add(cell) % 2 == 0);
    assert!(cells[..passed].iter().all(|cell| cell.get() % 2 == 1));
    pool.sort_unstable_by(&mut cells, |a, b| (add(a), a.set(a.get() - 1)).0.cmp(&b.get()));
    assert!(cells.is_sorted());
    let places = pool.permutation((0..len).rev().collect::<Vec<_>>(), len).unwrap();
    pool.on(&mut cells).at(&places).enumerate().for_each(|(i, cell)| cell.set(i));
    let total = pool.on(&mut cells).exclusive_scan(Cell::new(0), |a, b| Cell::new(a.get() + b.get()));
    assert_eq!((total.get(), cells[1].get()), (len * (len - 1) / 2, len - 1));
    let mut huge: Vec<[usize; 512]> = (0..FEW).map(|i| [i; 512]).collect();
    let places = pool.permutation((0..FEW).rev().step_by(2).collect::<Vec<_>>(), FEW).unwrap();
    pool.on(&mut huge).at(&places).enumerate().for_each(|(i, item)| *item = [FEW - 1 - 2 * i; 512]);
    assert_eq!(pool.partition_in_place(&mut huge, |item| item[511] % 2 == 1), FEW / 2);
    pool.sort_unstable(&mut huge);
    pool.on(&mut huge).grain(1).inclusive_scan(|a, b| array::from_fn(|i| a[i].max(b[i])));
    assert!(huge.iter().enumerate().all(|(i, item)| *item == [i; 512]));
}

/// Uses the pool when dropped: in the destructor of a thread-local, or while its thread panics.
struct UsesAtTheEnd(Arc<Pool>, mpsc::Sender<()>);

impl Drop for UsesAtTheEnd {
    fn drop(&mut self) {
        use_all(&self.0, MANY + 1);
        self.1.send(()).unwrap();
    }
}

/// Drops the value while the thread panics.
fn drop_in_panic(_: UsesAtTheEnd) -> i32 {
    panic_any(Payload)
}

#[test]
fn destructors_use_the_pool() {
    thread_local!(static LAST: RefCell<Option<UsesAtTheEnd>> = const { RefCell::new(None) });
    let (pool, (sender, receiver)) = (Arc::new(pool(3)), mpsc::channel());
    let local = || UsesAtTheEnd(Arc::clone(&pool), sender.clone());
    let last = local();
    thread::spawn(|| LAST.set(Some(last))).join().unwrap();
    receiver.recv().unwrap();
    assert!(!run(|| pool.on(&mut [0; 30]).inclusive_scan(|_, _| drop_in_panic(local()))));
    receiver.recv().unwrap();
    use_all(&pool, MANY + 1);
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
    let (pool, calls, mut numbers) = (pool(3), AtomicUsize::new(0), (0..MANY).collect::<Vec<_>>());
    use_all(&pool, MANY + 1);
    // In the middle of a partition, a sort and a scan.
    let may_fork = || {
        if calls.fetch_add(1, Relaxed) % 30_000 == 20_000 {
            forked::forked(|| use_all(&pool, MANY + 1));
        }
    };
    pool.partition_in_place(&mut numbers, |x| (x % 2, may_fork()).0 == 0);
    pool.sort_unstable_by(&mut numbers, |a, b| (a.cmp(b), may_fork()).0);
    pool.on(&mut numbers).inclusive_scan(|a, b| (*a.max(b), may_fork()).0);
    assert!(numbers.iter().copied().eq(0..MANY) && calls.into_inner() > 3 * MANY - 9);
    use_all(&pool, MANY + 1);
}
