use std::{convert::Infallible, fmt, net::SocketAddr, sync::Arc, time::Duration};

use hindsight_api::EdgeLayer;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tonic::service::Routes;
use tonic_health::server::{HealthReporter, HealthService};

use crate::{Exit, Probes, Role, health, routes, supervise::Supervised};

/// How often a shutdown says what it waits for.
const REPORT_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error("reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    #[error(
        "listening on {0} without API keys would open the memory to the network; \
         configure [auth] keys, or listen on 127.0.0.1"
    )]
    OpenToNetwork(SocketAddr),
    #[error("listener: {0}")]
    Listener(#[from] std::io::Error),
    #[error("server: {0}")]
    Server(#[from] tonic::transport::Error),
}

/// Roles at work in this process. Dropping it aborts them; [`Running::stop`] ends them in order.
pub struct Running {
    pub(crate) roles: Arc<Vec<Supervised>>,
    pub(crate) edge: EdgeLayer,
    routes: Routes,
    reporter: HealthReporter,
    readiness: AbortOnDropHandle<()>,
    probes: Probes,
    grace: Duration,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.roles.iter().map(|r| r.role.name()).collect();
        f.debug_struct("Running").field("roles", &names).field("grace", &self.grace).finish_non_exhaustive()
    }
}

impl Running {
    /// Starts the roles. They are stopped in the order given: sources first, sinks last, all within
    /// `grace`.
    pub async fn start(
        roles: Vec<Arc<dyn Role>>,
        edge: EdgeLayer,
        grace: Duration,
    ) -> Result<Self, RuntimeError> {
        Self::start_with(roles, edge, grace, Probes::default()).await
    }

    /// As [`Running::start`], for a process whose probes are answered already.
    pub async fn start_with(
        roles: Vec<Arc<dyn Role>>,
        edge: EdgeLayer,
        grace: Duration,
        probes: Probes,
    ) -> Result<Self, RuntimeError> {
        let reporter = HealthReporter::new();
        let service = HealthService::from_health_reporter(reporter.clone());
        let routes = routes::build(roles.iter().map(|r| &**r), service, &edge)?;
        let roles = Arc::new(roles.into_iter().map(Supervised::start).collect::<Vec<_>>());
        health::all_down(&reporter, &roles).await;
        let follow = health::follow(reporter.clone(), roles.clone(), probes.clone());
        let readiness = AbortOnDropHandle::new(tokio::spawn(follow));
        Ok(Self { roles, edge, routes, reporter, readiness, probes, grace })
    }

    /// All services, for a client in the same process. Calls pass the same edge as over a socket.
    pub fn routes(&self) -> Routes {
        self.routes.clone()
    }

    /// Ends the roles in order.
    pub async fn stop(self) -> Exit {
        self.stop_with(std::future::ready(()), &CancellationToken::new()).await
    }

    /// Health first, then `sources` (the listener), then the roles in order; all within the grace period
    /// and not after `immediate`.
    pub(crate) async fn stop_with(
        self,
        sources: impl Future<Output = ()>,
        immediate: &CancellationToken,
    ) -> Exit {
        self.readiness.abort();
        self.probes.stopping();
        let in_order = async {
            health::all_down(&self.reporter, &self.roles).await;
            sources.await;
            for role in self.roles.iter() {
                role.stop().await;
                tracing::info!(role = role.role.name(), "stopped");
            }
        };
        let exit = tokio::select! {
            biased;
            () = in_order => Exit::Clean,
            () = immediate.cancelled() => Exit::Interrupted,
            () = tokio::time::sleep(self.grace) => Exit::GraceExpired,
            never = self.report() => match never {},
        };
        if exit != Exit::Clean {
            let pending = self.pending();
            tracing::error!(
                pending,
                ?exit,
                "stopped before all was finished; it comes again at the next start"
            );
        }
        exit
    }

    async fn report(&self) -> Infallible {
        let mut every = tokio::time::interval(REPORT_EVERY);
        loop {
            every.tick().await;
            tracing::info!(pending = self.pending(), "stopping");
        }
    }

    /// The roles that still run, with what they hold.
    fn pending(&self) -> String {
        let running = self.roles.iter().filter(|r| !r.is_done());
        let each = running.map(|r| match r.role.pending() {
            held if held.is_empty() => r.role.name().to_owned(),
            held => format!("{} ({held})", r.role.name()),
        });
        each.collect::<Vec<_>>().join(", ")
    }
}
