//! The common parts of the short examples: made-up data, and the table at the end.

use std::time::{Duration, Instant};

/// Numbers from 0 to below 1, the same on every platform (`SplitMix64`).
pub(crate) fn random(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let top = u32::try_from((mixed ^ (mixed >> 31)) >> 32).expect("32 bits");
        f64::from(top) / 2_f64.powi(32)
    }
}

/// The first argument of the program, or `default`.
pub(crate) fn size_or(default: usize) -> usize {
    std::env::args().nth(1).map_or(default, |size| size.parse().expect("the size is a number"))
}

/// Runs the versions three times in turn. Prints the result of each version, its best time, and
/// this time divided by the best time of the first version.
///
/// # Panics
/// If `same` says that the result of a version differs from the result of the first version.
pub(crate) fn compare<R>(
    versions: [(&str, &dyn Fn() -> R); 3],
    show: impl Fn(&R) -> String,
    same: impl Fn(&R, &R) -> bool,
) {
    let mut best = [Duration::MAX; 3];
    let mut results = versions.map(|_| None);
    for _ in 0..3 {
        for (i, (_, run)) in versions.iter().enumerate() {
            let begin = Instant::now();
            results[i] = Some(run());
            best[i] = best[i].min(begin.elapsed());
        }
    }
    let results = results.map(|result| result.expect("each version has run"));
    let width = results.iter().map(|result| show(result).len()).max().unwrap_or(0);
    println!("{:<10}  {:<width$}  {:>9}  of plain", "version", "result", "time");
    for (i, (name, _)) in versions.iter().enumerate() {
        let ratio = best[i].as_secs_f64() / best[0].as_secs_f64();
        let millis = best[i].as_secs_f64() * 1e3;
        println!("{name:<10}  {:<width$}  {millis:>6.1} ms  {ratio:>8.2}", show(&results[i]));
        assert!(same(&results[0], &results[i]), "{name} found something else");
    }
}
