//! Pages from a server, summed up as they come: items that wait first, and compute then.
//!
//! ```text
//! cargo run --release --example fetch [-- --help]
//! ```
//! A worker that waits for a page computes nothing, and there are more pages to wait for than
//! threads to wait with them. So the closures are asynchronous, and `waiting(100)` lets 100 pages
//! be under way at once, however few workers there are: each goes on with a page that has come. The
//! loops are in `sum` and `dead`, the first functions here. What else they need:
//!
//! * *A reactor*: what tells the futures that something has come. Here it is tokio's, turned by a
//!   thread of its own, which reads from the connections while the workers compute. Each worker
//!   enters that runtime while it is in the loop (`with`), since the client's futures look for it
//!   on the thread that polls them.
//! * *A limit*: as many at once as the other end bears, and as there is memory for.
//! * *Nothing that blocks*: it would hold up a worker, and what could be computed there. Computing
//!   is no such thing: do it where the page has come, and spawn nothing.
//! * *Failures*: a `try_` loop ends with the failure that comes first in the list, not with the one
//!   that happened first. If the others are to go on, `map_collect` returns what came of each.
//!
//! Closures and futures may borrow, since nothing of them is left when the call returns. The other
//! options are those of all loops: a progress bar asks `progress`, and `cancel` is for deadlines.
//!
//! What waits and computes little is in good hands with tokio, too. What only computes needs
//! neither: leave out `waiting`.
//!
//! | file | owns |
//! |---|---|
//! | `cli` | the command line: which ways, how many pages and threads |
//! | `rivals` | the same as a plain loop, with rayon and with tokio |
//! | `pages` | what is on a page, and how it is summed up |
//! | `clients` | who asks for pages, waiting or blocking |
//! | `server` | the server, on a thread of its own: every page takes it 20 to 80 ms |
//! | `table`, `cpu` | what the ways have taken; the progress bar |

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

/// What the loops need.
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
        Ok(sum??.unwrap_or_default()) // it may have been cancelled; a page may have failed
    }

    /// Finds out which pages cannot be had. The others go on.
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
