#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use hindsight_ports::StoreError;
use hindsight_store::VectorBackend;
use hindsight_store_qdrant::{QdrantBackend, QdrantOptions};
use qdrant_client::qdrant::{CountPoints, CreateCollection, PointStruct, UpsertPoints, Vectors};

pub const NAME: &str = "outage";
/// Nothing takes this long; it only bounds a failing test.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A server in a process of its own, killed like by `kill -9` when dropped.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
}

impl Process {
    pub fn start(data: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hindsight-qdrant-socket"))
            .arg("--data")
            .arg(data)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, address: line.trim().parse().unwrap() }
    }

    /// On the address that it had.
    pub fn start_again(data: &Path, address: SocketAddr) -> Self {
        Self::start(data, &["--listen", &address.to_string()])
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub fn options(url: String) -> QdrantOptions {
    QdrantOptions { url, timeout: Duration::from_secs(10), ..QdrantOptions::default() }
}

pub fn backend(options: QdrantOptions) -> QdrantBackend {
    QdrantBackend::new(options).unwrap()
}

pub async fn create(backend: &QdrantBackend) -> Result<(), StoreError> {
    let request = CreateCollection { collection_name: NAME.to_owned(), ..CreateCollection::default() };
    backend.create_collection(request).await
}

pub fn upsert(n: u64) -> UpsertPoints {
    let none = std::collections::HashMap::<String, qdrant_client::qdrant::Vector>::new();
    let point =
        PointStruct { id: Some(n.into()), vectors: Some(Vectors::from(none)), ..PointStruct::default() };
    UpsertPoints { collection_name: NAME.to_owned(), points: vec![point], ..UpsertPoints::default() }
}

pub async fn count(backend: &QdrantBackend) -> Result<u64, StoreError> {
    let request =
        CountPoints { collection_name: NAME.to_owned(), exact: Some(true), ..CountPoints::default() };
    backend.count(request).await
}

/// The words of an error that is worth another try.
#[track_caller]
pub fn unavailable<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Unavailable(why)) => why,
        other => panic!("expected Unavailable, got {other:?}"),
    }
}

/// Calls are bounded: panics when `work` takes longer than `limit` and the patience of a busy machine.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit + PATIENCE, work).await.unwrap()
}

pub async fn eventually<T, F>(mut attempt: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(error) => assert!(Instant::now() < end, "still: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
