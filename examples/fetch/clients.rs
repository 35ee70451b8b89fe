//! Two clients of the server. An asynchronous client frees its thread during a wait. A blocking
//! client keeps its thread.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};

use crate::pages::Failure;

fn address(server: SocketAddr, page: usize) -> String {
    format!("http://{server}/{page}")
}

/// A client that frees its thread during a wait. Any thread that has entered a tokio runtime may
/// poll its futures.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    server: SocketAddr,
    connections: legacy::Client<HttpConnector, Empty<Bytes>>,
}

impl Client {
    pub(crate) fn new(server: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let connections = legacy::Client::builder(TokioExecutor::new()).build(connector);
        Self { server, connections }
    }

    pub(crate) async fn get(&self, page: usize) -> Result<String, Failure> {
        let address = address(self.server, page).parse().expect("a host and a number");
        let answer = self.connections.get(address).await.map_err(|error| Failure::new(page, error))?;
        if !answer.status().is_success() {
            return Err(Failure::new(page, answer.status()));
        }
        let body = answer.into_body().collect().await.map_err(|error| Failure::new(page, error))?;
        String::from_utf8(body.to_bytes().into()).map_err(|error| Failure::new(page, error))
    }
}

/// A client that blocks its thread during a wait.
#[derive(Debug)]
pub(crate) struct Blocking {
    server: SocketAddr,
    connections: ureq::Agent,
}

impl Blocking {
    /// Keeps this many connections.
    pub(crate) fn new(server: SocketAddr, connections: usize) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_connections(connections)
            .max_idle_connections_per_host(connections)
            .proxy(None); // ignores the proxies of the environment
        Self { server, connections: config.build().into() }
    }

    pub(crate) fn get(&self, page: usize) -> Result<String, Failure> {
        let get = self.connections.get(address(self.server, page));
        let mut answer = get.call().map_err(|error| Failure::new(page, error))?;
        if !answer.status().is_success() {
            return Err(Failure::new(page, answer.status()));
        }
        answer.body_mut().read_to_string().map_err(|error| Failure::new(page, error))
    }
}
