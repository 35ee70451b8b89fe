//! The programs by name, and the table.

use rangesteal::Pool;

use crate::{
    bp::Grid, cg::Cg, em::Em, entrants::Rivals, host::Host, kmeans::KMeans, machine, rates::Rates,
    stencil::Plate, turn::Turns, web::Web,
};

pub(crate) const NAMES: [&str; 6] = ["k-means", "PageRank", "EM", "stencil", "CG", "BP"];

pub(crate) fn program(name: &str, points: usize) -> Box<dyn Turns> {
    match name {
        "k-means" => Box::new(KMeans::new(points)),
        "PageRank" => Box::new(Web::new(points)),
        "EM" => Box::new(Em::new(points)),
        "stencil" => Box::new(Plate::new(points)),
        "CG" => Box::new(Cg::new(points)),
        "BP" => Box::new(Grid::new(points)),
        _ => unreachable!("{name} is no program"),
    }
}

/// Measures the programs with these names, or all programs, with these numbers of points.
pub(crate) fn run(pool: &Pool, rivals: &Rivals, rounds: usize, names: &[String], points: &[usize]) {
    let host = Host::new("programs", machine::cpus(&rivals.mask).len(), rivals.threads, rounds);
    println!("{}", host.said());
    if let Some((openmp, _)) = &rivals.openmp {
        println!("OpenMP of {}", openmp.version);
    }
    let mut rates = Rates::new(rivals.columns());
    for name in NAMES {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            for &points in points {
                rates.push(name, points, rivals.race(pool, rounds, name, points));
            }
        }
    }
    rates.print_times();
}
