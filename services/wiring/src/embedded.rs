use std::{fmt, net::Ipv4Addr, sync::Arc};

use hindsight_api::{DEFAULT_TENANT, EdgeLayer, Keyring};
use hindsight_client::Client;
use hindsight_config::Config;
use hindsight_ports::{Bus, BusError, Clock, Queue, SystemClock};
use hindsight_runtime::{Exit, Running};
use hindsight_types::TenantId;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use tonic::transport::{Server, server::TcpIncoming};

use crate::{
    Failure, Parts, RoleName, code,
    data_dir::{DataDir, Serving},
    models,
    parts::{Engine, is_embedded},
};

/// All roles at work in this process on a data directory, with a client of them. Holds the directory.
pub struct Embedded {
    pub client: Client,
    bus: Arc<dyn Bus>,
    running: Running,
    engine: Engine,
    /// Whether it asks for no key although keys are configured.
    unlocked: bool,
    shared: Option<AbortOnDropHandle<()>>,
    dir: DataDir,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("running", &self.running).finish_non_exhaustive()
    }
}

impl Embedded {
    /// Runs all roles for one command. Whoever can read the directory owns what is in it, so a key is asked
    /// for only to say which tenant is meant.
    pub async fn start(config: &Config, dir: DataDir, key: Option<&SecretString>) -> Result<Self, Failure> {
        Self::start_at(config, dir, key, Arc::new(SystemClock)).await
    }

    /// As [`Self::start`], with the roles in another time than that of the system.
    pub async fn start_at(
        config: &Config,
        dir: DataDir,
        key: Option<&SecretString>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
        if !is_embedded(config) {
            let message = "the configuration names a cluster; name one of its servers with --server";
            return Err(Failure::new(code::USAGE, message));
        }
        let keyring = match key {
            Some(_) => config.auth.keyring(),
            None => TenantId::new(DEFAULT_TENANT).map(Keyring::open),
        };
        let edge = EdgeLayer::new(keyring.map_err(|e| Failure::new(code::CONFIG, e))?);
        let embedder = models::embedder(&config.embedder).await?;
        let mut parts = Parts::open(config, dir.path(), embedder).await?;
        parts.clock = clock;
        if let Some(reranker) = &parts.reranker
            && let Err(error) = reranker.load().await
        {
            // A command that recalls goes on without it and says so; the others do not need it.
            tracing::debug!(reason = %Failure::from(error), "no reranker");
        }
        let roles = RoleName::ALL.map(|r| r.build(config, &parts)).to_vec();
        let running = Running::start(roles, edge, config.server.grace_period)
            .await
            .map_err(|e| Failure::new(code::INTERNAL, e))?;
        let client = Client::local(running.routes(), key)?;
        let unlocked = key.is_none() && !config.auth.keys.is_empty();
        let (bus, engine) = (parts.bus.clone(), parts.engine.clone());
        Ok(Self { client, bus, running, engine, unlocked, shared: None, dir })
    }

    /// Lets other processes of this machine in, as a server that holds the directory does, until it stops. Not
    /// where keys are configured and this process goes without.
    pub async fn share(&mut self) -> Result<(), Failure> {
        if self.unlocked {
            return Ok(());
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = format!("http://{}", listener.local_addr()?);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let router = Server::builder().add_routes(self.running.routes());
        self.shared = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            if let Err(error) = router.serve_with_incoming(incoming).await {
                tracing::warn!(%error, "other processes do not reach this one any more");
            }
        })));
        self.dir.announce(&Serving { address, pid: std::process::id() })
    }

    /// Messages that are still to be handled, and messages that were set aside.
    pub async fn messages(&self) -> Result<(u64, u64), BusError> {
        let (mut open, mut dead) = (0, 0);
        // In the order of the work: what leaves the first queue has entered the second before.
        for queue in Queue::ALL {
            let stats = self.bus.stats(queue).await?;
            open += stats.ready + stats.delayed + stats.unsettled;
            dead += stats.dead;
        }
        Ok((open, dead))
    }

    pub async fn stop(self) {
        drop(self.shared);
        if self.running.stop().await != Exit::Clean {
            tracing::warn!("some work was left; it is done at the next start");
        }
        self.engine.close().await;
    }
}
