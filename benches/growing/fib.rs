//! Fibonacci numbers by the slow recursion: a tree whose items cost next to nothing.

use std::hint::black_box;

use chili::Scope;
use rangesteal::Pool;

use crate::{
    entrants::Entrants,
    race::Race,
    row::{Cell, Row, Unit},
    task::Task,
    who::Who,
};

const N: u32 = 38;
const FIB: u64 = 39_088_169;

fn plain(n: u32) -> u64 {
    if n < 2 { n.into() } else { plain(n - 1) + plain(n - 2) }
}

/// The plain function, which every entrant calls below `CUT`.
#[inline]
fn leaf<const CUT: u32>(n: u32) -> u64 {
    if CUT == 2 { n.into() } else { plain(n) }
}

fn grow<const CUT: u32>(pool: &Pool, n: u32) -> u64 {
    pool.grow([n]).fold_unordered(
        || 0,
        |sum, n, feed| {
            if n < CUT {
                return sum + leaf::<CUT>(n);
            }
            feed.extend([n - 1, n - 2]);
            sum
        },
        |a, b| a + b,
    )
}

fn rayon<const CUT: u32>(n: u32) -> u64 {
    if n < CUT {
        return leaf::<CUT>(n);
    }
    let (a, b) = rayon::join(|| rayon::<CUT>(n - 1), || rayon::<CUT>(n - 2));
    a + b
}

fn chili<const CUT: u32>(scope: &mut Scope<'_>, n: u32) -> u64 {
    if n < CUT {
        return leaf::<CUT>(n);
    }
    let (a, b) = scope.join(|scope| chili::<CUT>(scope, n - 1), |scope| chili::<CUT>(scope, n - 2));
    a + b
}

fn race<const CUT: u32>(entrants: &Entrants<'_>) -> Race {
    let n = || black_box(N);
    let task = Task::plain(|| plain(n()))
        .grow(|pool| grow::<CUT>(pool, n()))
        .rayon(|| rayon::<CUT>(n()))
        .chili(|scope| chili::<CUT>(scope, n()))
        .gives(FIB);
    task.race(entrants)
}

/// The time of rangesteal relative to that of the faster rival.
fn beside_rivals(race: &Race, name: String) -> Row {
    let (best, nanos) = [Who::Rayon, Who::Chili]
        .map(|who| (who, race.nanos_of(who)))
        .into_iter()
        .min_by(|(_, one), (_, other)| one.total_cmp(other))
        .expect("two rivals");
    let cells = [Who::Rangesteal, Who::Control].map(|who| (who, Cell::of(race.nanos_of(who) / nanos)));
    Row { name, reference: best.name().to_owned(), unit: Unit::Ratio, bar: Some(1.0), cells: cells.into() }
}

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let name = format!("{N} without a cut");
    let (cut, uncut) = (race::<8>(entrants), race::<2>(entrants));
    vec![
        Row::of(&cut, format!("{N}, plain below 8"), Unit::Ratio, Some(0.51)),
        Row::of(&uncut, name.clone(), Unit::Ratio, Some(1.0)),
        beside_rivals(&uncut, format!("{name}, relative to the faster rival")),
    ]
}
