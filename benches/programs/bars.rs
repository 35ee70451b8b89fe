//! The bars of a cell: a program with a number of points.

use crate::{
    race::{Race, median},
    who::Who,
};

/// The heads of the bars' columns.
pub(crate) const HEADS: [&str; 4] = [
    "of plain (1.05 + 0.3 µs)",
    "of rayon (1.00)",
    "of OpenMP, if that beats plain (1.15)",
    "CPU time of plain, if nothing is gained (1.10)",
];

/// In nanoseconds, what a round may take in addition to its share of the plain program's time.
const A_ROUND: f64 = 300.0;

/// A program gains nothing if it takes at least this share of the plain program's time.
const GAINS_NOTHING: f64 = 0.95;

/// For each bar, a ratio and whether it meets the bar. A text is empty if the bar is not for this
/// cell.
pub(crate) fn verdicts(race: &Race) -> [String; 4] {
    let [ours, plain, rayon, openmp] =
        [Who::Rangesteal, Who::Plain, Who::Rayon, Who::OpenMp].map(|who| race.nanos_of(who));
    let [our_cpu, plain_cpu] =
        [Who::Rangesteal, Who::Plain].map(|who| median(race.turns(who).iter().map(|turn| turn.cpu)));
    let beats_plain = openmp < plain; // not if it is missing, since its time is not a number then
    let gains_nothing = ours >= GAINS_NOTHING * plain;
    [
        verdict(ours / plain, 1.05 + A_ROUND / plain),
        verdict(ours / rayon, 1.0),
        if beats_plain { verdict(ours / openmp, 1.15) } else { String::new() },
        if gains_nothing { verdict(our_cpu / plain_cpu, 1.1) } else { String::new() },
    ]
}

fn verdict(ratio: f64, most: f64) -> String {
    format!("{ratio:.2} {}", if ratio <= most { "met" } else { "missed" })
}
