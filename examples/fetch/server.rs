//! A server of pages on the loopback device, on a thread of its own. Every page has a latency, as
//! on distant or busy servers.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, runtime, sync::oneshot, time::sleep};

use crate::{cpu, pages::mixed};

/// Serves pages until it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    site: Arc<Site>,
    /// Its drop ends the thread.
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Site {
    pages: Vec<Bytes>,
    latency: Duration,
    counts: Counts,
}

/// The counts of the server.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) asked: AtomicUsize,
    in_flight: AtomicUsize,
    /// The largest number of requests in flight.
    pub(crate) peak: AtomicUsize,
    /// The CPU time of the server, in nanoseconds.
    spent: AtomicU64,
}

impl Counts {
    /// The CPU time of the server up to its last answer.
    pub(crate) fn cpu_time(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Relaxed))
    }
}

impl Server {
    /// Serves these pages, with a mean time of `latency` from request to answer.
    pub(crate) fn start(pages: Vec<String>, latency: Duration) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let pages = pages.into_iter().map(Bytes::from).collect();
        let site = Arc::new(Site { pages, latency, counts: Counts::default() });
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&site);
        let serve = move || {
            runtime.spawn(accept(listener, served));
            drop(runtime.block_on(stopped)); // the error says that the sender was dropped
        };
        let thread = thread::Builder::new().name("server".to_owned()).spawn(serve)?;
        Ok(Self { address, site, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.site.counts
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop = None;
        // A panic message of the thread is on standard error already.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(10)).await; // the reason may be too many open files
            continue;
        };
        // Sends small packets at once. If the system refuses this option, small packets arrive
        // later.
        drop(stream.set_nodelay(true));
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(&site, request));
            // An error means that the client has gone.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn answer(site: &Site, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let _in_flight = InFlight::new(&site.counts);
    let number: Option<usize> = request.uri().path().strip_prefix('/').and_then(|number| number.parse().ok());
    sleep(latency(number.unwrap_or(0), site.latency)).await;
    let mut response = Response::default();
    match number.and_then(|number| site.pages.get(number)) {
        Some(page) => *response.body_mut() = page.clone().into(),
        None => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    Ok(response)
}

/// The time until a page comes: 0.4 to 1.6 times the mean, constant for each page.
pub(crate) fn latency(page: usize, mean: Duration) -> Duration {
    let percent = 40 + mixed(page as u64) % 121;
    mean * u32::try_from(percent).expect("160 at most") / 100
}

/// Counts a request until the server has answered, or the client has gone.
struct InFlight<'a>(&'a Counts);

impl<'a> InFlight<'a> {
    fn new(counts: &'a Counts) -> Self {
        counts.asked.fetch_add(1, Relaxed);
        let in_flight = counts.in_flight.fetch_add(1, Relaxed) + 1;
        counts.peak.fetch_max(in_flight, Relaxed);
        Self(counts)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
        self.0.spent.store(u64::try_from(cpu::of_this_thread().as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}
