//! Lists of long items that add no item.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    entrants::Entrants,
    row::{Row, Unit},
    task::{Task, busy},
    work::links,
};

const MICRO: u64 = 1000;

/// Runs on all executors that have such a loop. `items` are numbers of links.
fn row(entrants: &Entrants<'_>, name: String, bar: f64, items: &[u64]) -> Row {
    let task = Task::plain(|| items.iter().map(|links| busy(*links)).fold(0, u64::wrapping_add))
        .grow(|pool| {
            let grow = pool.grow(items);
            grow.fold_unordered(|| 0, |sum: u64, links, _| sum.wrapping_add(busy(*links)), u64::wrapping_add)
        })
        .rayon(|| items.par_iter().map(|links| busy(*links)).reduce(|| 0, u64::wrapping_add))
        .on(|pool| pool.on(items).map(|links| busy(*links)).reduce(u64::wrapping_add).unwrap_or(0));
    Row::of(&task.race(entrants), name, Unit::Ratio, Some(bar))
}

/// Items one of which takes as long as all others together.
pub(crate) fn heavy(entrants: &Entrants<'_>) -> Vec<Row> {
    let (light, heavy) = (links(20 * MICRO), links(20_000 * MICRO));
    let row = |at| {
        let mut items = vec![light; 1000];
        items[at] = heavy;
        row(entrants, format!("1000 items of 20 µs, number {at} of 20 ms"), 0.53, &items)
    };
    [0, 500, 999].map(row).into()
}

pub(crate) fn farm(entrants: &Entrants<'_>) -> Vec<Row> {
    vec![
        row(entrants, "50k items of 5 µs".to_owned(), 0.51, &vec![links(5 * MICRO); 50_000]),
        row(entrants, "64 items of 5 ms".to_owned(), 0.51, &[links(5000 * MICRO); 64]),
    ]
}
