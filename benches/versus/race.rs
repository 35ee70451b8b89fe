//! The turns of a race, and the figures computed from them.

use crate::{random::Random, who::Who};

/// The times of one turn, per call.
pub(crate) struct Turn {
    pub(crate) nanos: f64,
    pub(crate) cpu: f64,
    pub(crate) switches: f64,
}

/// The times of all turns: a list for each entrant, in the order of the rounds. The first entrant
/// is the reference.
pub(crate) struct Race {
    pub(crate) entrants: Vec<(Who, Vec<Turn>)>,
}

impl Race {
    /// Gives every entrant a turn in each round, in a new random order each round, so that
    /// disturbances of the machine affect all entrants. A turn of `None` does not count.
    pub(crate) fn interleaved(
        entrants: &[Who],
        rounds: usize,
        mut turn: impl FnMut(usize, Who) -> Option<Turn>,
    ) -> Self {
        let mut race = Self { entrants: entrants.iter().map(|who| (*who, Vec::new())).collect() };
        let mut order: Vec<usize> = (0..entrants.len()).collect();
        let mut random = Random::default();
        for round in 0..rounds {
            random.shuffle(&mut order);
            for &which in &order {
                let (who, turns) = &mut race.entrants[which];
                turns.extend(turn(round, *who));
            }
        }
        race
    }

    /// The same race, relative to another reference.
    pub(crate) fn relative_to(mut self, who: Who) -> Self {
        let place = self.entrants.iter().position(|(entrant, _)| *entrant == who).expect("an entrant");
        self.entrants.swap(0, place);
        self
    }

    /// The entrants that have such a loop, except the reference.
    pub(crate) fn others(&self) -> impl Iterator<Item = Who> {
        self.entrants.iter().skip(1).filter(|(_, turns)| !turns.is_empty()).map(|(who, _)| *who)
    }

    pub(crate) fn turns(&self, who: Who) -> &[Turn] {
        self.entrants.iter().find(|(entrant, _)| *entrant == who).map_or(&[], |(_, turns)| turns)
    }

    fn reference(&self) -> &[Turn] {
        &self.entrants[0].1
    }

    /// The time of the reference in nanoseconds: median.
    pub(crate) fn nanos(&self) -> f64 {
        median(self.reference().iter().map(|turn| turn.nanos))
    }

    /// The time of an entrant in nanoseconds: median.
    pub(crate) fn nanos_of(&self, who: Who) -> f64 {
        median(self.turns(who).iter().map(|turn| turn.nanos))
    }

    /// The time of an entrant in nanoseconds: minimum.
    pub(crate) fn fastest(&self, who: Who) -> f64 {
        least(self.turns(who))
    }

    /// Time divided by the reference's time: the median of the rounds' ratios, and the ratio of the
    /// minima.
    pub(crate) fn ratio(&self, who: Who) -> (f64, f64) {
        let pairs = self.turns(who).iter().zip(self.reference());
        let (ours, theirs) = (least(self.turns(who)), least(self.reference()));
        (median(pairs.map(|(turn, plain)| turn.nanos / plain.nanos)), ours / theirs)
    }

    /// Time minus the reference's time, in nanoseconds: the median of the rounds' differences, and
    /// the difference of the minima.
    pub(crate) fn excess(&self, who: Who) -> (f64, f64) {
        let pairs = self.turns(who).iter().zip(self.reference());
        let (ours, theirs) = (least(self.turns(who)), least(self.reference()));
        (median(pairs.map(|(turn, plain)| turn.nanos - plain.nanos)), ours - theirs)
    }

    /// CPU time divided by the reference's CPU time: the ratio of the means.
    pub(crate) fn cpu(&self, who: Who) -> f64 {
        mean(self.turns(who), |turn| turn.cpu) / mean(self.reference(), |turn| turn.cpu)
    }

    /// CPU time per call minus the reference's, in nanoseconds: the difference of the means.
    pub(crate) fn cpu_excess(&self, who: Who) -> f64 {
        mean(self.turns(who), |turn| turn.cpu) - mean(self.reference(), |turn| turn.cpu)
    }

    /// Context switches per call: mean.
    pub(crate) fn switches(&self, who: Who) -> f64 {
        mean(self.turns(who), |turn| turn.switches)
    }
}

fn mean(turns: &[Turn], figure: impl Fn(&Turn) -> f64) -> f64 {
    turns.iter().map(figure).sum::<f64>() / turns.len() as f64
}

fn least(turns: &[Turn]) -> f64 {
    turns.iter().map(|turn| turn.nanos).fold(f64::INFINITY, f64::min)
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
