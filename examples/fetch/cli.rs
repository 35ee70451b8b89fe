//! The command line: the ways to run, and the numbers of pages and threads.

use std::{error::Error, io, net::SocketAddr, num::NonZeroUsize, thread, time::Duration};

use clap::{Parser, ValueEnum};
use rangesteal::RunReport;

use crate::{Fetch, pages::Sum, rivals, table::with_bar};

/// Fetches pages from its own server and sums them up, in several ways
#[derive(Debug, Parser)]
#[command(name = "fetch")]
pub(crate) struct Options {
    /// Number of pages
    #[arg(long, value_name = "N", default_value = "500")]
    pub(crate) pages: NonZeroUsize,
    /// Largest number of pages in flight
    #[arg(long, value_name = "N", default_value = "100")]
    in_flight: NonZeroUsize,
    /// Number of computing threads [default: the number of CPUs]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Mean time in milliseconds until the server sends a page; a page takes 0.4 to 1.6 times that
    #[arg(long, value_name = "MS", default_value_t = 50)]
    latency: u64,
    /// Milliseconds after which the loop of rangesteal is cancelled
    #[arg(long, value_name = "MS")]
    deadline: Option<u64>,
    /// Runs only these ways, separated by commas
    #[arg(long, value_name = "WAYS", value_enum, value_delimiter = ',')]
    only: Vec<Way>,
}

/// The limits of a way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) threads: usize,
    pub(crate) in_flight: usize,
    pub(crate) deadline: Option<Duration>,
}

impl Options {
    pub(crate) fn limits(&self) -> io::Result<Limits> {
        let threads = self.threads.map_or_else(thread::available_parallelism, Ok)?;
        Ok(Limits {
            threads: threads.get(),
            in_flight: self.in_flight.get(),
            deadline: self.deadline.map(Duration::from_millis),
        })
    }

    pub(crate) fn latency(&self) -> Duration {
        Duration::from_millis(self.latency)
    }

    pub(crate) fn ways(&self) -> impl Iterator<Item = Way> {
        let is_asked_for = |way: &Way| self.only.is_empty() || self.only.contains(way);
        Way::value_variants().iter().copied().filter(is_asked_for)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Way {
    /// Rangesteal, with one more thread for the reactor
    Rangesteal,
    /// Tokio, with a task for each page
    Tokio,
    /// Rayon, with a thread for each page in flight
    RayonWide,
    /// Rayon, with a thread for each CPU
    Rayon,
    /// One page after the other; only the first 40 pages, which suffice to measure the time per
    /// page
    Plain,
}

impl Way {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The number of threads that wait and compute.
    pub(crate) fn threads(self, limits: Limits) -> usize {
        match self {
            Self::Rangesteal | Self::Tokio | Self::Rayon => limits.threads,
            Self::RayonWide => limits.in_flight,
            Self::Plain => 1,
        }
    }

    /// The number of pages to fetch, of `pages`.
    pub(crate) fn part(self, pages: usize) -> usize {
        if self == Self::Plain { pages.min(40) } else { pages }
    }

    /// Sums the pages up. Starts without threads and without connections.
    pub(crate) fn run(
        self,
        server: SocketAddr,
        links: &[usize],
        limits: Limits,
        report: &mut RunReport,
    ) -> Result<Sum, Box<dyn Error>> {
        match self {
            Self::Plain => rivals::plain(server, links),
            Self::Rayon | Self::RayonWide => rivals::by_rayon(server, links, self.threads(limits)),
            Self::Tokio => rivals::by_tokio(server, links, limits.threads, limits.in_flight),
            Self::Rangesteal => {
                let fetch = Fetch::new(server, limits)?;
                with_bar(links.len(), &fetch.progress, || fetch.sum(links, report))
            }
        }
    }
}
