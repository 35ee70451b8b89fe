//! The effect of a slice's offset in a cache line.

use rangesteal::Pool;

use crate::{
    rival::Loop,
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

const LINE: usize = 64;
const OFFSETS: [usize; 4] = [0, 16, 32, 48];

/// Room for a slice of `len` at any offset in a line.
pub(crate) fn buffer<T>(len: usize, numbers: impl Iterator<Item = T>) -> Vec<T> {
    numbers.take(len + 2 * LINE / size_of::<T>()).collect()
}

/// A slice of `len` that begins `bytes` bytes behind the start of a cache line.
pub(crate) fn at<T>(buffer: &[T], bytes: usize, len: usize) -> &[T] {
    let first = buffer.as_ptr().align_offset(LINE) + bytes / size_of::<T>();
    &buffer[first..first + len]
}

/// The rows of the worst and of the best offset, each relative to the plain loop over the same
/// slice.
pub(crate) fn rows<L: Loop>(
    pool: &Pool,
    runner: &mut Runner,
    name: &str,
    bar: f64,
    pace: Pace,
    lap: impl Fn(usize) -> L,
) -> Vec<Row> {
    let mut rows: Vec<_> = OFFSETS
        .iter()
        .map(|&bytes| {
            let race = runner.race(pool, &[Who::Plain, Who::Rangesteal, Who::Control], pace, &lap(bytes));
            (
                race.ratio(Who::Rangesteal).0,
                Row::of(&race, format!("(at {bytes} bytes)"), Unit::Ratio, Some(bar)),
            )
        })
        .collect();
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let named = |(_, row): (f64, Row), which: &str| {
        let name = format!("{name}: {which} of {} offsets {}", OFFSETS.len(), row.name);
        Row { name, ..row }
    };
    let best = rows.pop().expect("an offset");
    vec![named(rows.swap_remove(0), "worst"), named(best, "best")]
}
