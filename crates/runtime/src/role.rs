use async_trait::async_trait;
use axum::Router;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

/// One of the jobs a process can do. Built first (which may fail and starts nothing), then run.
#[async_trait]
pub trait Role: Send + Sync + 'static {
    /// `collector`, `evaluator`, `compactor`, `recall`.
    fn name(&self) -> &'static str;

    /// Full names of its gRPC services, for the health service.
    fn service_names(&self) -> Vec<&'static str>;

    /// Adds its gRPC services to the server.
    fn register(&self, routes: &mut RoutesBuilder);

    /// What it serves over plain HTTP on the same port, behind the same edge.
    fn http(&self) -> Option<Router> {
        None
    }

    /// Does the background work until `stop` is cancelled, then finishes what it holds and returns.
    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError>;

    /// Whether it can do its work for those who call it. The reason is shown to people.
    async fn ready(&self) -> Result<(), String>;

    /// What does not work though it is ready: a dependency is away that it can do without for a while.
    async fn degraded(&self) -> Option<String> {
        None
    }

    /// What it still holds, for the report while shutting down: `2 deliveries`. Empty: nothing.
    fn pending(&self) -> String {
        String::new()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{role} failed: {reason}")]
pub struct RoleError {
    pub role: &'static str,
    pub reason: String,
}
