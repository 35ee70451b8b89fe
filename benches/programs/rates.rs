//! The tables: rounds per second with the bars, printed as they are measured, and the time of a
//! round.

use crate::{
    bars,
    race::{Race, median},
    who::Who,
};

pub(crate) struct Rates {
    columns: Vec<Who>,
    /// The programs with their names.
    races: Vec<(String, Race)>,
}

impl Rates {
    pub(crate) fn new(columns: Vec<Who>) -> Self {
        println!("\nRounds a second, by medians. Time of our round relative to others, and the bars");
        let names = columns.iter().map(|who| who.name().to_owned());
        head("program", names.chain(bars::HEADS.map(str::to_owned)));
        Self { columns, races: Vec::new() }
    }

    pub(crate) fn push(&mut self, name: &str, points: usize, race: Race) {
        let name = format!("{name}, {} points", thousands(points as f64));
        let rates = self.columns.iter().map(|who| thousands(1e9 / race.nanos_of(*who)));
        line(&name, rates.chain(bars::verdicts(&race)));
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
