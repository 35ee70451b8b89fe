//! Loops of several kinds, for tests of pools on all systems.

use rangesteal::{CancelToken, Cancelled, Pool, Progress, RunReport};

/// Runs loops with and without options, loops of few and of many items, and loops inside loops.
pub(crate) fn loops(pool: &Pool) {
    let lengths: &[u64] = if cfg!(miri) { &[0, 1, 30] } else { &[0, 1, 2, 100, 100_000] };
    for &len in lengths {
        let items: Vec<u64> = (0..len).map(|i| i * 7919 % 1009).collect();
        let sum: u64 = items.iter().sum();
        for _ in 0..if cfg!(miri) { 1 } else { 3 } {
            assert_eq!(pool.map_reduce(&items, |x| *x, |a, b| a + b).unwrap_or(0), sum);
            assert_eq!(pool.fold_reduce(&items, || 0, |a, x| a + x, |a, b| a + b), sum);
            assert_eq!(pool.on(&items).position(|x| *x == 1008), items.iter().position(|x| *x == 1008));
            let mut sorted = pool.map_collect(&items, |x| x + 1);
            pool.for_each_mut(&mut sorted, |x| *x -= 1);
            assert_eq!(sorted, items);
            pool.sort(&mut sorted);
            assert!(sorted.is_sorted());
            assert_eq!(sorted.iter().sum::<u64>(), sum);

            let (mut report, progress, token) = (RunReport::default(), Progress::new(), CancelToken::new());
            let options = pool.on(&items).reproducible().report(&mut report).progress(&progress);
            let reduced = options.cancel(&token).copied().reduce(|a, b| a + b);
            assert_eq!(reduced.map(Option::unwrap_or_default), Ok(sum));
            assert_eq!((report.items(), progress.done()), (items.len(), items.len()));
            token.cancel();
            assert_eq!(pool.on(&items).cancel(&token).for_each(|_| ()), Err(Cancelled));
        }
    }
    assert_eq!(
        pool.map_reduce(
            &[1, 2],
            |x| pool.fold_reduce(&[3, 4], || 0, |a, y| a + x * y, |a, b| a + b),
            |a, b| a + b
        ),
        Some(21)
    );
}
