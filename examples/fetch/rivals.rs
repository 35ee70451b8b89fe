//! The same sums without rangesteal. Each way starts without threads and without connections.

use std::{error::Error, net::SocketAddr, sync::Arc};

use rayon::prelude::*;
use tokio::{runtime, sync::Semaphore, task::JoinSet};

use crate::{
    clients::{Blocking, Client},
    pages::{Sum, parse},
};

/// One page after the other.
pub(crate) fn plain(server: SocketAddr, links: &[usize]) -> Result<Sum, Box<dyn Error>> {
    let client = Blocking::new(server, 1);
    let mut sum = Sum::default();
    for page in links {
        sum = sum + parse(*page, &client.get(*page)?)?;
    }
    Ok(sum)
}

/// The number of pages in flight is the number of threads, since each thread waits for its page.
pub(crate) fn by_rayon(server: SocketAddr, links: &[usize], threads: usize) -> Result<Sum, Box<dyn Error>> {
    let client = Blocking::new(server, threads);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let one = |page: &usize| parse(*page, &client.get(*page)?);
    let sum = pool.install(|| links.par_iter().map(one).try_reduce(Sum::default, |a, b| Ok(a + b)));
    Ok(sum?)
}

/// A task for each page. The first failure in time ends all tasks. The first failure in time need
/// not be the first failure in the order of the pages.
pub(crate) fn by_tokio(
    server: SocketAddr,
    links: &[usize],
    threads: usize,
    in_flight: usize,
) -> Result<Sum, Box<dyn Error>> {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let client = Client::new(server);
    let permits = Arc::new(Semaphore::new(in_flight));
    runtime.block_on(async {
        let mut sum = Sum::default();
        let mut tasks = JoinSet::new(); // its drop aborts its tasks
        for page in links.iter().copied() {
            // A task cannot borrow, since it may outlive this function.
            let permit = Arc::clone(&permits).acquire_owned().await?;
            let client = client.clone();
            tasks.spawn(async move {
                let _permit = permit;
                parse(page, &client.get(page).await?)
            });
            while let Some(done) = tasks.try_join_next() {
                sum = sum + done??;
            }
        }
        while let Some(done) = tasks.join_next().await {
            sum = sum + done??;
        }
        Ok::<_, Box<dyn Error>>(sum)
    })
}
