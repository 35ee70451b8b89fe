//! The programs by name, and the table.

use rangesteal::Pool;

use crate::{
    em::Em, entrants::Rivals, host::Host, kmeans::KMeans, machine, rates::Rates, stencil::Plate, turn::Turns,
    web::Web,
};

const POINTS: [usize; 3] = [1_000, 5_000, 20_000];

pub(crate) const NAMES: [&str; 4] = ["k-means", "PageRank", "EM", "stencil"];

pub(crate) fn program(name: &str, points: usize) -> Box<dyn Turns> {
    match name {
        "k-means" => Box::new(KMeans::new(points)),
        "PageRank" => Box::new(Web::new(points)),
        "EM" => Box::new(Em::new(points)),
        "stencil" => Box::new(Plate::new(points)),
        _ => unreachable!("{name} is no program"),
    }
}

/// Measures the programs with these names, or all programs.
pub(crate) fn run(pool: &Pool, rivals: &Rivals, rounds: usize, names: &[String]) {
    let host = Host::new("programs", machine::cpus(&rivals.mask).len(), rivals.threads, rounds);
    println!("{}", host.said());
    if let Some((openmp, _)) = &rivals.openmp {
        println!("OpenMP of {}", openmp.version);
    }
    let mut rates = Rates::new(rivals.columns());
    for name in NAMES {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            for points in POINTS {
                rates.push(name, points, rivals.race(pool, rounds, name, points));
            }
        }
    }
    rates.print_times();
}
