//! A scene: several loops, for any executor.

use std::time::Instant;

use rangesteal::Pool;

use crate::{
    machine,
    plain::Plain,
    race::{Race, Turn},
    rival::Rival,
    who::Who,
};

/// A measurement with any executor.
pub(crate) trait Scene {
    type Output;

    fn play(&self, rival: impl Rival + Copy + Send + Sync) -> Self::Output;
}

/// Pools with the number of threads that a row needs, whatever the number of CPUs.
pub(crate) struct Executors {
    pub(crate) pool: Pool,
    pub(crate) control: Pool,
    rayon: rayon::ThreadPool,
}

impl Executors {
    pub(crate) fn new(threads: usize) -> Self {
        let pool = || Pool::builder().num_threads(threads).build().expect("a pool");
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Self { pool: pool(), control: pool(), rayon: rayon.expect("a pool of rayon's") }
    }

    pub(crate) fn by<S: Scene>(&self, who: Who, scene: &S) -> S::Output {
        match who {
            Who::Rangesteal => scene.play(&self.pool),
            Who::Control => scene.play(&self.control),
            Who::Rayon => scene.play(&self.rayon),
            _ => scene.play(Plain),
        }
    }

    pub(crate) fn race(&self, entrants: &[Who], rounds: usize, scene: &impl Scene<Output = Turn>) -> Race {
        Race::interleaved(entrants, rounds, |_, who| {
            let turn = self.by(who, scene);
            machine::settle();
            Some(turn)
        })
    }
}

/// A turn without counts of CPU time and context switches.
pub(crate) fn taking(nanos: f64) -> Turn {
    Turn { nanos, cpu: f64::NAN, switches: f64::NAN }
}

pub(crate) fn nanos_since(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9
}
