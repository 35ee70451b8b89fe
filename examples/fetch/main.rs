//! Fetches pages from a server and sums them up: each item first waits, and then computes.
//!
//! ```text
//! cargo run --release --example fetch [-- --help]
//! ```
//! A worker must not wait for a single page, so the number of pages in flight is far larger than
//! the number of threads. So the closures are asynchronous, and `waiting(100)` allows 100 pages in
//! flight with any number of workers. A worker continues with any page that has arrived. The loops
//! are in `sum` and `dead`, the first functions of this file. Such loops need more than closures:
//!
//! * *A reactor*, which wakes the futures when data has come. This example uses the reactor of
//!   tokio. The reactor has a thread of its own, and reads from the connections while the workers
//!   compute. The client's futures look for the runtime on the thread that polls them, so each
//!   worker enters the runtime before the loop and leaves it after the loop (`with`).
//! * *A limit* on the pages in flight, for the server and the memory.
//! * *No blocking calls*: such a call would block a worker, and delay all pages that this worker
//!   could compute. Computing is allowed: compute in the closure, as soon as the page has come, and
//!   spawn nothing.
//! * *A choice about failures*: a `try_` loop returns the first failure in the order of the list,
//!   not in the order of time. If a failure should not end the other pages, `map_collect` returns
//!   the result of each page.
//!
//! Closures and futures may borrow, since all of them have ended when the call returns. The other
//! options are the same as for all loops: a progress bar reads `progress`, and a deadline calls
//! `cancel`.
//!
//! For items that wait and compute little, tokio is equally good. Items that only compute need no
//! runtime: leave out `waiting`.
//!
//! | file | owns |
//! |---|---|
//! | `cli` | the command line: ways, pages and threads |
//! | `rivals` | the same as a plain loop, with rayon and with tokio |
//! | `pages` | the contents of a page, and its sum |
//! | `clients` | the clients, waiting or blocking |
//! | `server` | the server, on a thread of its own; it takes 20 to 80 ms for a page |
//! | `table`, `cpu` | the times of the ways; the progress bar |

mod cli;
mod clients;
mod cpu;
mod pages;
mod rivals;
mod server;
mod table;
#[cfg(test)]
mod tests;

use std::{
    error::Error,
    net::SocketAddr,
    time::{Duration, Instant},
};

use clap::Parser;
use rangesteal::{CancelToken, Pool, Progress, RunReport};
use tokio::runtime::{self, Runtime};

use cli::{Limits, Options};
use clients::Client;
use pages::{Failure, Sum, parse};
use server::Server;
use table::Table;

/// The data of the loops.
#[derive(Debug)]
struct Fetch {
    pool: Pool,
    reactor: Runtime,
    client: Client,
    in_flight: usize,
    progress: Progress,
    token: CancelToken,
}

impl Fetch {
    /// Sums the pages up.
    fn sum(&self, links: &[usize], report: &mut RunReport) -> Result<Sum, Box<dyn Error>> {
        let pages = self.pool.on(links).with(|_worker| self.reactor.enter());
        let pages = pages.progress(&self.progress).cancel(&self.token).report(report);
        let pages = pages.waiting(self.in_flight);
        let read = async |page: &usize| parse(*page, &self.client.get(*page).await?);
        let sum = pages.try_map_reduce(read, |a, b| a + b);
        Ok(sum??.unwrap_or_default()) // the outer error is a cancel, the inner one a failed page
    }

    /// Finds the pages that cannot be fetched. A failed page does not end the other pages.
    fn dead(&self, links: &[usize]) -> Vec<Failure> {
        let pages = self.pool.on(links).with(|_worker| self.reactor.enter()).waiting(self.in_flight);
        let failures = pages.map_collect(async |page| self.client.get(*page).await.err());
        failures.into_iter().flatten().collect()
    }

    fn new(server: SocketAddr, limits: Limits) -> Result<Self, Box<dyn Error>> {
        let reactor = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let token = CancelToken::new();
        if let Some(deadline) = limits.deadline {
            reactor.spawn(cancel_after(deadline, token.clone()));
        }
        Ok(Self {
            pool: Pool::builder().num_threads(limits.threads).build()?,
            reactor,
            client: Client::new(server),
            in_flight: limits.in_flight,
            progress: Progress::new(),
            token,
        })
    }
}

async fn cancel_after(deadline: Duration, token: CancelToken) {
    tokio::time::sleep(deadline).await;
    token.cancel();
}

fn total(sums: &[Sum]) -> Sum {
    sums.iter().fold(Sum::default(), |a, b| a + *b)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let (count, limits) = (options.pages.get(), options.limits()?);
    let links: Vec<_> = (0..count).collect();
    let texts: Vec<_> = Pool::global().on(&links).copied().map(pages::text).collect();
    let pages = Pool::global().on((&links, &texts));
    let sums = pages.map(|(page, text)| parse(*page, text)).collect::<Result<Vec<_>, _>>()?;
    let size = texts.iter().map(String::len).sum::<usize>() / count / 1000;
    let server = Server::start(texts, options.latency())?;
    println!(
        "Pages of {size} KB that take {:?}, on the average; at most {} in flight.\n",
        options.latency(),
        limits.in_flight
    );

    let begin = Instant::now();
    let dead = Fetch::new(server.address(), limits)?.dead(&[&links[..], &[count, 2 * count]].concat());
    println!("Of {} links, two lead nowhere, as is found in {:.0?}:", count + 2, begin.elapsed());
    for failure in dead {
        println!("  {failure}");
    }

    let (mut table, mut report) = (Table::new(&server), RunReport::default());
    for way in options.ways() {
        let links = &links[..way.part(count)];
        let sum = table.measure((way.name(), way.threads(limits)), links.len(), || {
            way.run(server.address(), links, limits, &mut report)
        })?;
        assert_eq!(sum, total(&sums[..links.len()]), "{way:?} has found something else");
    }
    if report != RunReport::default() {
        println!("\nThe loop of rangesteal: {report}");
    }
    Ok(())
}
