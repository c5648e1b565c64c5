use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use hindsight_ports::StoreError;
use hindsight_store::VectorBackend;
use hindsight_store_edge::EdgeBackend;
use qdrant_client::qdrant::{
    CreateCollection, HealthCheckReply, HealthCheckRequest, VectorParamsDiff, qdrant_server::Qdrant,
};
use tonic::{Request, Response, Status};

use crate::answer::status;

#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) backend: Arc<EdgeBackend>,
    /// How each collection was asked for since the start.
    pub(crate) created: Arc<Mutex<HashMap<String, CreateCollection>>>,
    /// What was asked for of the vectors of each collection since.
    pub(crate) updated: Arc<Mutex<HashMap<String, HashMap<String, VectorParamsDiff>>>>,
    delay: Duration,
    version: String,
}

impl Service {
    pub(crate) fn new(backend: Arc<EdgeBackend>, delay: Duration, version: String) -> Self {
        Self { backend, created: Arc::default(), updated: Arc::default(), delay, version }
    }

    /// Does `work` on `collection` after the delay, as a server does: to the end, even when nobody waits for it.
    pub(crate) async fn run<T, F>(
        &self,
        collection: String,
        work: impl FnOnce(Arc<EdgeBackend>) -> F + Send + 'static,
    ) -> Result<T, Status>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let (backend, delay) = (self.backend.clone(), self.delay);
        let done = tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            match work(backend.clone()).await {
                Ok(done) => Ok(done),
                Err(error) => {
                    let missing = matches!(backend.collection_info(&collection).await, Ok(None));
                    Err(status(error, missing))
                }
            }
        });
        done.await.map_err(|error| Status::internal(error.to_string()))?
    }
}

#[tonic::async_trait]
impl Qdrant for Service {
    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckReply>, Status> {
        tokio::time::sleep(self.delay).await;
        let title = "hindsight-qdrant-socket".to_owned();
        Ok(Response::new(HealthCheckReply { title, version: self.version.clone(), commit: None }))
    }
}

/// Lets only those pass who name the key, as Qdrant does.
pub(crate) fn guard(
    api_key: Option<String>,
) -> impl Fn(Request<()>) -> Result<Request<()>, Status> + Clone + Send + Sync + 'static {
    move |request| {
        let Some(key) = &api_key else { return Ok(request) };
        match request.metadata().get("api-key") {
            Some(given) if given.as_bytes() == key.as_bytes() => Ok(request),
            Some(_) => Err(Status::unauthenticated("Invalid API key or JWT")),
            None => Err(Status::unauthenticated("Must provide an API key or an Authorization bearer token")),
        }
    }
}
