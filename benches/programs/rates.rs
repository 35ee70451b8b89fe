//! The tables: rounds per second, printed as they are measured, and the time of a round.

use crate::{
    race::{Race, median},
    who::Who,
};

/// The bars of a round's time: relative to the best rival that sleeps between loops, and to the
/// best rival that busy-waits.
const BARS: [(&str, &[Who], f64); 2] = [
    ("of those that sleep", &[Who::Rayon, Who::PassiveOpenMp], 1.0),
    ("of those that spin", &[Who::OpenMp], 1.1),
];

pub(crate) struct Rates {
    columns: Vec<Who>,
    /// The programs with their names.
    races: Vec<(String, Race)>,
}

impl Rates {
    pub(crate) fn new(columns: Vec<Who>) -> Self {
        println!("\nRounds a second, by medians. A round of ours, relative to the best");
        let bars = BARS.map(|(said, ..)| said.to_owned());
        head("program", columns.iter().map(|who| who.name().to_owned()).chain(bars));
        Self { columns, races: Vec::new() }
    }

    pub(crate) fn push(&mut self, name: &str, points: usize, race: Race) {
        let name = format!("{name}, {} points", thousands(points as f64));
        let rates = self.columns.iter().map(|who| thousands(1e9 / race.nanos_of(*who)));
        let bars = BARS.map(|(_, rivals, bar)| verdict(&race, rivals, bar));
        line(&name, rates.chain(bars));
        self.races.push((name, race));
    }

    pub(crate) fn print_times(&self) {
        println!("\nµs a round: median (minimum); CPU time of all threads: median");
        head("program", self.columns.iter().map(|who| who.name().to_owned()));
        for (name, race) in &self.races {
            let times = self.columns.iter().map(|who| {
                let micros = |nanos: f64| format!("{:.*}", usize::from(nanos < 99_950.0), nanos / 1e3);
                let (time, least) = (micros(race.nanos_of(*who)), micros(race.fastest(*who)));
                let cpu = micros(median(race.turns(*who).iter().map(|turn| turn.cpu)));
                format!("{time} ({least}); {cpu}")
            });
            line(name, times);
        }
    }
}

/// The time of rangesteal relative to the fastest of the rivals, and whether it meets the bar.
fn verdict(race: &Race, rivals: &[Who], bar: f64) -> String {
    let least = rivals.iter().map(|who| race.nanos_of(*who)).fold(f64::NAN, f64::min);
    let ratio = race.nanos_of(Who::Rangesteal) / least;
    match ratio {
        ratio if ratio.is_nan() => String::new(), // no such rival
        ratio => format!("{ratio:.2} {}", if ratio <= bar { "met" } else { "missed" }),
    }
}

fn head(name: &str, columns: impl Iterator<Item = String> + Clone) {
    line(name, columns.clone());
    line("---", columns.map(|_| "---".to_owned()));
}

fn line(name: &str, cells: impl Iterator<Item = String>) {
    println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
}

fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).expect("digits")
}
