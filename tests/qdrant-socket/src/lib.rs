//! The embedded engine behind Qdrant's gRPC services, for tests of what speaks to a Qdrant server: what crosses
//! the wire is what a real server would get, and answers, statuses and broken connections are real.
//!
//! Answered are the calls that `hindsight-store-qdrant` makes: of `Collections` Get, List, Create and Update, of
//! `Points` Upsert, UpdateVectors, Get, Delete, SetPayload, CreateFieldIndex, CreateVectorName, DeleteVectorName,
//! Query, Scroll, Count and Facet, and `Qdrant/HealthCheck`.
//! All others are `UNIMPLEMENTED`. Settings of a collection that say only where data lies (shards, replicas,
//! quantization) are taken, reported back until the server restarts, and have no effect.

mod answer;
mod collections;
mod points;
mod service;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use qdrant_client::qdrant::{
    collections_server::CollectionsServer, points_server::PointsServer, qdrant_server::QdrantServer,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{service::interceptor::InterceptedService, transport::Server};

use crate::service::Service;

/// As much as a real server takes.
const MAX_REQUEST: usize = 256 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct SocketOptions {
    /// Port 0: any that is free.
    pub listen: SocketAddr,
    /// Holds the data; survives restarts.
    pub data: PathBuf,
    /// Time that passes before a call is done. It is done even when its caller has left.
    pub delay: Duration,
    /// Callers must name it.
    pub api_key: Option<String>,
    /// What the health check answers.
    pub version: String,
}

impl SocketOptions {
    /// On a free port of this machine, as a recent server.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data: data.into(),
            delay: Duration::ZERO,
            api_key: None,
            version: "1.19.0".to_owned(),
        }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct SocketServer {
    address: SocketAddr,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl SocketServer {
    /// Opens the data and serves it.
    ///
    /// # Errors
    /// When the data cannot be opened or the address is taken.
    pub async fn start(options: SocketOptions) -> anyhow::Result<Self> {
        let data = options.data.clone();
        let opened = tokio::task::spawn_blocking(move || EdgeBackend::open(&data, EdgeOptions::default()));
        let backend = opened.await?.with_context(|| format!("cannot open {}", options.data.display()))?;
        let listener = TcpListener::bind(options.listen)
            .await
            .with_context(|| format!("cannot listen on {}", options.listen))?;
        let address = listener.local_addr()?;
        let service = Service::new(Arc::new(backend), options.delay, options.version);
        let guard = service::guard(options.api_key);
        let collections = CollectionsServer::new(service.clone()).max_decoding_message_size(MAX_REQUEST);
        let points = PointsServer::new(service.clone()).max_decoding_message_size(MAX_REQUEST);
        let router = Server::builder()
            .add_service(InterceptedService::new(collections, guard.clone()))
            .add_service(InterceptedService::new(points, guard))
            .add_service(QdrantServer::new(service));
        let serving = tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        Ok(Self { address, serving })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Until the server ends by itself, which it does only on an error.
    ///
    /// # Errors
    /// That error.
    pub async fn ended(mut self) -> anyhow::Result<()> {
        (&mut self.serving).await??;
        Ok(())
    }
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
