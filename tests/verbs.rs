//! Tests that, under any schedule, every loop over every source gives the result of the serial
//! loop, and ends early where the serial loop ends.

mod busy;

use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash},
    hint::black_box,
    iter,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed},
    thread,
    time::Duration,
};

use busy::work;
use proptest::prelude::*;
use rangesteal::{CancelToken, Cancelled, On, Pool, options::OnPool, source::IntoChain};

/// The number of loops. An interpreter runs fewer and shorter loops; unoptimised builds run fewer
/// loops.
const CASES: u32 = if cfg!(miri) {
    1
} else if cfg!(debug_assertions) {
    24
} else {
    48
};
const LONGEST: usize = if cfg!(miri) { 40 } else { 3000 };

/// A pool, and a grain for its loops, if any.
#[derive(Debug)]
struct Team {
    pool: Pool,
    grain: Option<usize>,
}

impl Team {
    fn on<C: IntoChain<Chain: Sync>>(&self, source: C) -> On<C::Chain, OnPool<'_>> {
        let on = self.pool.on(source);
        match self.grain {
            Some(items) => on.grain(items),
            None => on,
        }
    }
}

fn teams() -> impl Strategy<Value = Team> {
    let grain = prop_oneof![2 => Just(None), 1 => (1usize..100).prop_map(Some), 1 => Just(Some(usize::MAX))];
    (1usize..9, prop_oneof![Just(0), Just(50)], grain).prop_map(|(threads, spin, grain)| {
        let builder = Pool::builder().num_threads(threads);
        Team { pool: builder.spin_before_park(Duration::from_micros(spin)).build().unwrap(), grain }
    })
}

/// The costs of items, in nanoseconds. One item in `one_in` costs up to 20 µs, and all other items
/// cost 0.
fn costs() -> impl Strategy<Value = Vec<u64>> {
    let len = prop_oneof![1 => prop::sample::select(&[0usize, 1, 2, 3, 63, 64, 65][..]), if cfg!(miri) { 99 } else { 2 } => 0..LONGEST];
    let cost = prop_oneof![30 => Just(0u64), 1 => 0u64..20_000];
    len.prop_flat_map(move |len| prop::collection::vec(cost.clone(), len))
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

/// Whether a search ends at an item.
type Test<'a> = &'a (dyn Fn(usize) -> bool + Sync);

/// A value that counts the living values.
struct Counted<'a>(&'a AtomicIsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Joins lists, which is associative and not commutative.
fn join<T>(mut a: Vec<T>, b: Vec<T>) -> Vec<T> {
    a.extend(b);
    a
}

/// Returns true for about half of all values. The result for a value is always the same.
fn coin(value: &impl Hash) -> bool {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value) % 2 == 0
}

/// All loops that visit every item of a source give the result of the serial iterator. Called three
/// times: from the second call on, the pool knows the loop.
macro_rules! as_plain {
    ($on:expr, $plain:expr, $value:expr) => {
        let (plain, value) = ($plain, $value);
        for _ in 0..3 {
            prop_assert_eq!(&$on.map(value).collect::<Vec<_>>(), &plain);
            let reduced = $on.map(|item| vec![value(item)]).reduce(join);
            prop_assert_eq!(reduced, (!plain.is_empty()).then(|| plain.clone()));
            let push = |list, item| join(list, vec![value(item)]);
            prop_assert_eq!(&$on.fold(Vec::new, push, join), &plain);
            let tried = $on.map(|item| Ok::<_, ()>(vec![value(item)])).try_reduce(join);
            prop_assert_eq!(&tried.unwrap().unwrap_or_default(), &plain);
            let mut out: Vec<_> = plain.iter().rev().cloned().collect();
            $on.map(value).zip(&mut out).for_each(|(made, place)| *place = made);
            prop_assert_eq!(&out, &plain);

            let half: Vec<_> = plain.iter().filter(|value| coin(value)).cloned().collect();
            let sifted: Vec<_> = $on.filter_map(|item| Some(value(item)).filter(coin)).collect();
            prop_assert_eq!(&sifted, &half);
            let sifted: Vec<_> = $on.map(value).filter(coin).collect();
            prop_assert_eq!(&sifted, &half);
            let twice: Vec<_> = half.iter().flat_map(|value| [value, value]).cloned().collect();
            let emitted: Vec<_> = $on
                .flat_map(|item| {
                    let value = value(item);
                    let count = if coin(&value) { 2 } else { 0 };
                    iter::repeat_n(value, count)
                })
                .collect();
            prop_assert_eq!(&emitted, &twice);
            let tried: Result<Vec<_>, ()> = $on.map(|item| Ok(value(item))).collect();
            prop_assert_eq!(tried, Ok(plain.clone()));
            let (values, coins) = $on
                .map(|item| {
                    let value = value(item);
                    (value.clone(), coin(&value))
                })
                .unzip();
            prop_assert_eq!(&values, &plain);
            prop_assert!(coins.into_iter().eq(plain.iter().map(coin)));
            let visits = AtomicUsize::new(0);
            let seen = |_| visits.fetch_add(1, Relaxed) < usize::MAX;
            $on.for_each(|item| assert!(seen(value(item))));
            prop_assert_eq!($on.try_for_each(|item| seen(value(item)).then_some(()).ok_or(())), Ok(()));
            prop_assert!(!$on.any(|item| !seen(value(item))));
            prop_assert!($on.all(|item| seen(value(item))));
            prop_assert_eq!(visits.into_inner(), 4 * plain.len());
            for sought in [plain.first(), plain.get(plain.len() / 2), plain.last()].into_iter().flatten() {
                prop_assert!($on.any(|item| value(item) == *sought));
                prop_assert!(!$on.all(|item| value(item) != *sought));
            }

            prop_assert_eq!($on.map(value).filter(coin).count(), half.len());
            prop_assert_eq!(
                $on.map(|item| usize::from(coin(&value(item))) + 1).sum::<usize>(),
                half.len() + plain.len()
            );
            prop_assert_eq!($on.with(|worker| worker).any(|(_, item)| coin(&value(item))), !half.is_empty());
            prop_assert_eq!(
                $on.with(|worker| worker).all(|(_, item)| coin(&value(item))),
                half.len() == plain.len()
            );
            let first = plain.iter().position(coin);
            prop_assert_eq!($on.with(|worker| worker).position(|(_, item)| coin(&value(item))), first);

            let states: Vec<_> = $on
                .with(|_| 0)
                .map(|(count, item)| {
                    *count += 1;
                    value(item)
                })
                .collect();
            prop_assert_eq!(&states, &plain);
        }
    };
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn every_loop_over_every_source_is_the_plain_loop(costs in costs(), team in teams(), size in 1usize..200) {
        let len = costs.len();
        let busy = |cost: &u64| { work(*cost); *cost };
        as_plain!(team.on(&costs), costs.clone(), busy);
        let mut exclusive = costs.clone();
        as_plain!(team.on(&mut exclusive), costs.clone(), |cost: &mut u64| busy(cost));
        as_plain!(team.on(&mut exclusive).zip(&costs), costs.clone(), |(own, cost): (&mut u64, &u64)| {
            *own = busy(cost);
            *own
        });
        let chunks: Vec<Vec<u64>> = costs.chunks(size).map(<[_]>::to_vec).collect();
        // Other sources with each loop: tests/chains.rs.
        let windows: Vec<Vec<u64>> = costs.windows(size).map(<[_]>::to_vec).collect();
        prop_assert_eq!(team.on(&costs).windows(size).map(<[_]>::to_vec).collect::<Vec<_>>(), windows);
        let ranges: Vec<_> = (0..(len + 1).saturating_sub(size)).map(|i| 7 + i..7 + i + size).collect();
        prop_assert_eq!(team.on(7..7 + len).windows(size).collect::<Vec<_>>(), ranges);
        as_plain!(team.on(&costs).zip(&mut exclusive).chunks(size), chunks.clone(), |(chunk, own): (&[u64], &mut [u64])| {
            own.copy_from_slice(chunk);
            chunk.iter().map(busy).collect::<Vec<_>>()
        });
        prop_assert_eq!(exclusive, costs);
    }

    #[test]
    fn items_are_changed_once_each(costs in costs(), team in teams(), size in 1usize..200) {
        let mut items = vec![0; costs.len()];
        for _ in 0..3 {
            team.on(&mut items).zip(&costs).for_each(|(item, cost)| { work(*cost); *item += 1; });
            team.on(&mut items).chunks(size).for_each(|chunk| chunk.iter_mut().for_each(|item| *item += 1));
            let places: Vec<_> = team.on(&mut items).zip(0..costs.len()).map(|(item, i)| { *item += 1; (i, item) }).collect();
            for (at, (i, item)) in places.into_iter().enumerate() { // each place is borrowed once, for the whole loop
                prop_assert_eq!(at, i);
                *item += 1;
            }
        }
        prop_assert!(items.iter().all(|count| *count == 12));
    }

    #[test]
    fn what_is_kept_is_what_the_plain_loop_keeps(costs in costs(), team in teams(), often in 1u64..9) {
        let numbers: Vec<u64> = (0..).take(costs.len()).collect();
        let keep = |i: u64| { work(costs[usize::try_from(i).unwrap()]); (i * i * 7919) % 8 < often };
        let (kept, left): (Vec<u64>, Vec<u64>) = numbers.iter().partition(|i| keep(**i));
        let mut exclusive = numbers.clone();
        for _ in 0..3 {
            prop_assert_eq!(&team.pool.on(&numbers).copied().filter(|i| keep(*i)).collect::<Vec<_>>(), &kept);
            prop_assert!(team.on(&numbers).filter(|i| keep(**i)).collect::<Vec<_>>().into_iter().eq(&kept));
            prop_assert!(team.on(&numbers).with(|_| ()).filter(|((), i)| keep(**i)).collect::<Vec<_>>().into_iter().eq(&kept));
            let (yes, no) = team.on(&mut exclusive).partition(|i| keep(**i));
            prop_assert!(yes.into_iter().map(|i| *i).eq(kept.iter().copied()));
            prop_assert!(no.into_iter().map(|i| *i).eq(left.iter().copied()));
            let pairs: Vec<_> = team.on(&numbers).zip(&mut exclusive).filter(|(i, _)| keep(**i)).collect();
            let pairs: Vec<_> = pairs.into_iter().map(|(i, own)| (*i, *own)).collect();
            prop_assert!(pairs.into_iter().eq(kept.iter().map(|i| (*i, *i))));
            // Many keys are equal.
            let key = |i: &u64| (i * 7919) % often;
            let by = |a: &u64, b: &u64| key(a).cmp(&key(b));
            let on = || team.on(&numbers).copied();
            prop_assert_eq!(on().min_by_key(key), numbers.iter().copied().min_by_key(key));
            prop_assert_eq!(on().max_by_key(key), numbers.iter().copied().max_by_key(key));
            prop_assert_eq!(on().min_by(by), numbers.iter().copied().min_by(by));
            prop_assert_eq!(on().max_by(by), numbers.iter().copied().max_by(by));
            let (yes, no) = team.on(0..costs.len()).with(|_| ()).partition(|((), i)| keep(*i as u64));
            prop_assert!(yes.into_iter().map(|i| i as u64).eq(kept.iter().copied()));
            prop_assert!(no.into_iter().map(|i| i as u64).eq(left.iter().copied()));
        }
    }

    #[test]
    fn the_first_stop_ends_the_loop(
        costs in costs(), team in teams(), stops in prop::collection::vec(0.0..1.0, 0..6), slow in any::<bool>(),
    ) {
        let len = costs.len();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // a place in the slice
        let stops: Vec<usize> = stops.iter().map(|part: &f64| (part * len as f64) as usize).filter(|stop| *stop < len).collect();
        let first = stops.iter().min().copied();
        // All items shortly before the first stop are slow, so that workers find later stops first.
        let cost = |i: usize| costs[i] + if slow && first.is_some_and(|first| (first.saturating_sub(20)..=first).contains(&i)) { 3_000 } else { 0 };
        for _ in 0..3 {
            let looked_at = |search: &dyn Fn(Test<'_>)| {
                let visits: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
                search(&|i| {
                    visits[i].fetch_add(1, Relaxed);
                    work(cost(i));
                    stops.contains(&i)
                });
                let before = first.map_or(len, |first| first + 1);
                assert!(visits[..before].iter().all(|count| count.load(Relaxed) == 1), "all before the stop, once");
                assert!(visits[before..].iter().all(|count| count.load(Relaxed) <= 1), "nothing twice");
            };
            looked_at(&|stop| assert_eq!(team.on(&costs).zip(0..len).position(|(_, i)| stop(i)), first));
            looked_at(&|stop| assert_eq!(team.on(0..len).find(|&i| stop(i)), first));
            looked_at(&|stop| assert_eq!(team.on(0..len).with(|_| ()).find(|((), &i)| stop(i)), first));
            let found = team.on(0..len).with(|_| ()).find_any(|((), &i)| stops.contains(&i));
            prop_assert!(found.map_or(first.is_none(), |i| stops.contains(&i)));
            looked_at(&|stop| {
                let ended = team.on(0..len).try_for_each(|i| if stop(i) { Err(i) } else { Ok(()) });
                assert_eq!(ended, first.map_or(Ok(()), Err));
            });
            looked_at(&|stop| {
                let ended = team.on(0..len).map(|i| if stop(i) { Err(i) } else { Ok(vec![i]) }).try_reduce(join);
                let all: Option<Vec<usize>> = (len > 0).then(|| (0..len).collect());
                assert_eq!(ended, first.map_or(Ok(all), Err));
            });
            looked_at(&|stop| {
                let ended: Result<Vec<_>, _> = team.on(0..len).map(|i| if stop(i) { Err(i) } else { Ok(i) }).collect();
                assert_eq!(ended, first.map_or(Ok((0..len).collect()), Err));
            });
            looked_at(&|stop| {
                let ended = team.on(0..len).with_block(|_| ()).map(|((), i)| if stop(i) { Err(i) } else { Ok(i) }).try_reduce(usize::max);
                assert_eq!(ended, first.map_or(Ok(len.checked_sub(1)), Err));
            });
            let found = team.on(0..len).find_any(|&i| { work(cost(i)); stops.contains(&i) });
            prop_assert_eq!(found.is_some(), first.is_some());
            prop_assert!(found.is_none_or(|i| stops.contains(&i)));
            let place = team.on(0..len).position_any(|i| { work(cost(i)); stops.contains(&i) });
            prop_assert!(place.map_or(first.is_none(), |i| stops.contains(&i)));
            prop_assert_eq!(team.on(0..len).any(|i| stops.contains(&i)), first.is_some());
            prop_assert_eq!(team.on(0..len).all(|i| !stops.contains(&i)), first.is_none());
        }
    }

    #[test]
    fn no_result_is_leaked_or_dropped_twice(costs in costs(), team in teams(), stop in 0..LONGEST) {
        let len = costs.len();
        let alive = AtomicIsize::new(0);
        let alive_now = || usize::try_from(alive.load(Relaxed)).unwrap();
        let make = |i: usize| {
            work(costs[i]);
            alive.fetch_add(1, Relaxed);
            Counted(&alive)
        };
        for _ in 0..3 {
            let results: Vec<_> = team.on(0..len).map(make).collect();
            prop_assert_eq!(alive_now(), len);
            let mut out = results;
            team.on(0..len).map(make).zip(&mut out).for_each(|(made, place)| *place = made);
            prop_assert_eq!(alive_now(), len, "former values are dropped");
            drop(out);
            prop_assert_eq!(alive_now(), 0);

            let ended = team.on(0..len).map(|i| if i == stop { Err(make(i)) } else { Ok(make(i)) }).try_reduce(|_, b| b);
            prop_assert_eq!(ended.is_err(), stop < len);
            prop_assert_eq!(alive_now(), len.min(1), "the result, or the error");
            drop(ended);
            prop_assert_eq!(alive_now(), 0);

            let ended: Result<Vec<_>, Counted<'_>> = team.on(0..len).map(|i| if i == stop { Err(make(i)) } else { Ok(make(i)) }).collect();
            prop_assert_eq!(alive_now(), if stop < len { 1 } else { len }, "the results, or the error");
            drop(ended);
            prop_assert_eq!(alive_now(), 0);
            let emit = |i| (i % 3 != 1).then(|| make(i));
            prop_assert_eq!(team.on(0..len).filter_map(emit).collect::<Vec<_>>().len(), len - (len + 1) / 3);
            prop_assert_eq!(team.on(0..len).flat_map(|i| [emit(i), emit(i)]).collect::<Vec<_>>().len(), 2 * len);
            prop_assert_eq!(team.on(0..len).map(|i| (make(i), emit(i))).unzip().1.len(), len);
            prop_assert_eq!(alive_now(), 0);
            let bad = |i| if i == stop { panic!("at {i}") } else { make(i) };
            let emits: [&dyn Fn(); 4] = [
                &|| drop(team.on(0..len).filter_map(|i| Some(bad(i))).collect::<Vec<_>>()),
                &|| drop(team.on(0..len).flat_map(|i| [make(i), bad(i)]).collect::<Vec<_>>()),
                &|| drop(team.on(0..len).map(|i| (make(i), bad(i))).unzip()),
                &|| drop(team.on(0..len).map(|i| Ok(bad(i))).collect::<Result<Vec<_>, ()>>()),
            ];
            for emit in emits {
                prop_assert_eq!(catch_unwind(AssertUnwindSafe(emit)).is_err(), stop < len);
                prop_assert_eq!(alive_now(), 0, "a panic");
            }

            let token = CancelToken::new();
            let make_or_cancel = |i| {
                if i == stop {
                    token.cancel();
                }
                make(i)
            };
            let ended: Result<Vec<_>, Cancelled> = team.on(0..len).cancel(&token).map(make_or_cancel).collect();
            prop_assert_eq!(ended.as_ref().err(), (stop < len).then_some(&Cancelled));
            drop(ended);
            prop_assert_eq!(alive_now(), 0, "cancelled");
            let token = CancelToken::new();
            let make_or_cancel = |i| {
                if i == stop {
                    token.cancel();
                }
                Some(make(i))
            };
            let ended: Result<Vec<_>, Cancelled> = team.on(0..len).cancel(&token).filter_map(make_or_cancel).collect();
            prop_assert_eq!(ended.is_err(), stop < len);
            drop(ended);
            prop_assert_eq!(alive_now(), 0, "cancelled");
        }
    }
}

#[test]
fn sources_of_different_length_are_refused() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    for refused in [
        catch_unwind(|| pool.on(0..3).zip(0..4).for_each(|_| ())),
        catch_unwind(|| pool.on(0..3).zip(&mut [0; 2]).for_each(|(i, place)| *place = i)),
        catch_unwind(|| pool.on(0..3).chunks(0).for_each(|_| ())),
        catch_unwind(|| pool.on(0..3).grain(0).for_each(|_| ())),
        catch_unwind(|| pool.on(0..3).threads(0).for_each(|_| ())),
    ] {
        refused.unwrap_err();
    }
    assert_eq!(pool.on(std::ops::Range { start: 5, end: 3 }).count(), 0, "an empty range");
    assert_eq!(pool.on(std::ops::Range { start: 5, end: 3 }).collect::<Vec<_>>(), [], "an empty range");
}

#[test]
fn no_length_is_too_long() {
    let pool = Pool::builder().num_threads(3).build().unwrap();
    let far = if cfg!(miri) { 1_000 } else { 100_000 };
    for _ in 0..3 {
        assert_eq!(pool.on(0..usize::MAX).find(|&i| i == far), Some(far));
        assert!(pool.on(0..usize::MAX).grain(7).any(|i| i % far == far - 1));
        let ended = pool.on(3..usize::MAX).grain(64).try_for_each(|i| if i >= far { Err(i) } else { Ok(()) });
        assert_eq!(ended, Err(far));
        assert_eq!(
            pool.on(0..usize::MAX).chunks(usize::MAX).map(|all| all.len()).collect::<Vec<_>>(),
            [usize::MAX]
        );
        assert_eq!(
            pool.on(0..usize::MAX).chunks(usize::MAX / 2).map(|part| part.start).collect::<Vec<_>>(),
            [0, usize::MAX / 2, usize::MAX - 1]
        );
        let zero_sized = vec![(); usize::MAX];
        assert_eq!(pool.on(&zero_sized).zip(0..usize::MAX).position(|((), i)| i == far), Some(far));
    }
}

#[test]
#[cfg_attr(miri, ignore = "long, and about time")]
fn a_search_looks_at_little_behind_what_it_finds() {
    const ITEMS: usize = 1 << 21;
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let mut looks = pool.per_worker(|_| 0);
    // The number of tested items behind the match. `None` if the other worker did not help in time.
    // Each worker has its own counter. If the workers wrote one counter, the pool would soon find
    // that the loop is faster alone.
    let mut in_vain = |sought| {
        looks.iter_mut().for_each(|looks| *looks = 0);
        let found = pool.on(0..ITEMS).with_kept(&mut looks).find(|(looks, &i)| {
            *looks += 1;
            i == black_box(sought)
        });
        assert_eq!(found, Some(sought));
        let looks: Vec<usize> = looks.iter_mut().map(|looks| *looks).collect();
        (looks[1] > sought / 4).then(|| looks[0] + looks[1] - sought)
    };
    // The limit is one eighth. If a worker loses its CPU for a while, more items are tested in
    // vain, so one quiet round suffices.
    for sought in [ITEMS / 8, ITEMS / 2, ITEMS - 1] {
        let rounds: Vec<_> = (0..100)
            .map(|_| in_vain(sought))
            .take_while(|vain| vain.is_none_or(|vain| vain > sought / 6))
            .collect();
        let is_busy = rounds.iter().all(Option::is_none);
        if rounds.len() == 100 && is_busy {
            eprintln!("SKIPPED: other programs have a CPU, and no worker helped");
        } else {
            assert!(rounds.len() < 100, "behind {sought}: {rounds:?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "about time")]
fn a_loop_that_an_error_has_stopped_is_shared_when_it_goes_through() {
    let (items, caller) = (vec![(); 2000], thread::current().id());
    let is_shared = |pool: &Pool| {
        let (fails, elsewhere) = (AtomicBool::new(true), AtomicUsize::new(0));
        let run = || {
            pool.on(&items).try_for_each(|()| {
                if fails.load(Relaxed) {
                    return Err(());
                }
                work(50_000);
                elsewhere.fetch_add(usize::from(thread::current().id() != caller), Relaxed);
                Ok(())
            })
        };
        (0..5).for_each(|_| assert!(run().is_err()));
        fails.store(false, Relaxed);
        run().unwrap();
        elsewhere.into_inner() > 0
    };
    // If other threads use the CPU, no worker helps. So one quiet pool of several is enough.
    let is_quiet = |_| {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        (0..3).all(|_| is_shared(&pool))
    };
    assert!((0..8).any(is_quiet), "100 ms on one thread");
}

#[test]
fn a_descent_is_found_wherever_it_is() {
    let pool = Pool::builder().num_threads(1).build().unwrap();
    let most = if cfg!(miri) { 85 } else { 200 };
    for len in [0, 1, 2, 3, 66, 67, 81, 82, 83, most] {
        let mut numbers: Vec<usize> = (0..len).collect();
        for descent in 1..=len {
            if descent < len {
                numbers[descent..].fill(descent - 1);
                numbers[descent] = descent - 2_usize.min(descent);
            }
            let made = AtomicUsize::new(0);
            let make = |number: &usize| {
                made.fetch_add(1, Relaxed);
                *number
            };
            assert_eq!(pool.on(&numbers).map(make).is_sorted(), numbers.is_sorted(), "{descent} of {len}");
            let made = made.into_inner();
            assert!(made == len || made <= descent + 1 || descent >= 66 && made <= descent + 16, "{made}");
            assert_eq!(pool.on(&numbers).filter(|number| *number % 2 == 0).is_sorted(), {
                numbers.iter().filter(|number| *number % 2 == 0).is_sorted()
            });
            let twice = |number: &usize| [*number; 2];
            assert_eq!(pool.on(&numbers).flat_map(twice).is_sorted(), numbers.is_sorted());
            numbers = (0..len).collect();
        }
    }
}
