//! A process that serves roles until it is told to stop.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use hindsight_api::EdgeLayer;
use hindsight_config::Config;
use hindsight_ports::{EmbedError, Embedder};
use hindsight_runtime::{Exit, Probes, Role, Running, StopSignal, admin};
use hindsight_telemetry::{Filter, Telemetry};
use tokio::net::TcpListener;

use crate::{
    Failure, Parts, code,
    data_dir::{DataDir, Hold, Serving},
    models,
    parts::{Engine, is_local},
};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Sets up the log as the settings say.
pub fn begin_log(config: &Config, filter: &Filter) -> Result<(), Failure> {
    hindsight_telemetry::init(config.log.format, &calm(filter)?).map_err(|e| Failure::new(code::CONFIG, e))
}

/// Sets up log, metrics and traces of a server as the settings say. Needs a Tokio runtime. `service` names
/// the process in traces.
pub fn begin_telemetry(config: &Config, service: &str) -> Result<Telemetry, Failure> {
    let (filter, traces) = (calm(&config.log.filter)?, config.telemetry.traces());
    hindsight_telemetry::init_server(config.log.format, &filter, service, &traces)
        .map_err(|e| Failure::new(code::CONFIG, e))
}

/// The engine complains of not being told what its defaults are.
fn calm(filter: &Filter) -> Result<Filter, Failure> {
    format!("{filter},qdrant_edge::common::flags=off")
        .parse()
        .map_err(|e| Failure::new(code::CONFIG, format!("log.filter {e}")))
}

/// Serves the roles that `build` makes until SIGTERM or SIGINT; the second one stops at once. `say` is told
/// the address once it is reached there. A dependency in the network that is away, now or later, is waited
/// for. Ends with the last traces sent.
pub async fn serve(
    config: &Config,
    telemetry: Telemetry,
    build: impl FnOnce(&Config, &Parts) -> Vec<Arc<dyn Role>>,
    say: impl FnOnce(&str),
) -> Result<u8, Failure> {
    let result = serve_roles(config, build, say).await;
    telemetry.shutdown().await;
    result
}

async fn serve_roles(
    config: &Config,
    build: impl FnOnce(&Config, &Parts) -> Vec<Arc<dyn Role>>,
    say: impl FnOnce(&str),
) -> Result<u8, Failure> {
    let stop = StopSignal::default();
    let _signals = stop.on_signals()?;
    let probes = Probes::default();
    let _admin = match config.server.admin_listen {
        Some(address) => {
            let listener = bind(address, "server.admin_listen").await?;
            Some(admin::serve(listener, admin::router(probes.clone())))
        }
        None => None,
    };
    let mut dir = hold(config).await?;
    let listener = bind(config.server.listen, "--listen").await?;
    let edge = EdgeLayer::new(config.auth.keyring().map_err(|e| Failure::new(code::CONFIG, e))?);
    let started = tokio::select! {
        started = start(config, dir.as_ref(), edge, build, &probes) => started?,
        () = stop.requested() => return Ok(Exit::Clean.code()),
    };
    let address = format!("http://{}", reachable(listener.local_addr()?));
    let what = match &mut dir {
        Some(dir) => {
            dir.announce(&Serving { address: address.clone(), pid: std::process::id() })?;
            dir.path().display().to_string()
        }
        None => started.names.join(", "),
    };
    say(&format!("serving {what} at {address}"));
    let exit = hindsight_runtime::serve(started.running, listener, stop).await;
    started.engine.close().await;
    Ok(exit.map_err(|e| Failure::new(code::UNAVAILABLE, e))?.code())
}

struct Started {
    running: Running,
    names: Vec<&'static str>,
    engine: Engine,
}

async fn start(
    config: &Config,
    dir: Option<&DataDir>,
    edge: EdgeLayer,
    build: impl FnOnce(&Config, &Parts) -> Vec<Arc<dyn Role>>,
    probes: &Probes,
) -> Result<Started, Failure> {
    let embedder = embedder(config, probes).await?;
    let path = dir.map_or_else(PathBuf::new, |d| d.path().to_owned());
    let parts = Parts::open(config, &path, embedder).await?;
    let roles = build(config, &parts);
    let names: Vec<_> = roles.iter().map(|r| r.name()).collect();
    if let Some(reranker) = &parts.reranker
        && names.contains(&"recall")
    {
        reranker.load().await?;
    }
    let running = Running::start_with(roles, edge, config.server.grace_period, probes.clone())
        .await
        .map_err(|e| Failure::new(code::INTERNAL, e))?;
    Ok(Started { running, names, engine: parts.engine.clone() })
}

/// An endpoint that must be asked for its dimension may be away.
async fn embedder(config: &Config, probes: &Probes) -> Result<Arc<dyn Embedder>, Failure> {
    let mut pause = FIRST_PAUSE;
    loop {
        match models::embedder(&config.embedder).await {
            Err(EmbedError::Unavailable(reason)) => {
                tracing::warn!(reason, again_in = ?pause, "the embedder does not answer");
                probes.starting(format!("the embedder: {reason}"));
            }
            done => return Ok(done?),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The data directory, when anything is kept there.
async fn hold(config: &Config) -> Result<Option<DataDir>, Failure> {
    if !is_local(config) {
        return Ok(None);
    }
    match DataDir::hold_async(config.data.dir.clone()).await? {
        Hold::Mine(dir) => Ok(Some(dir)),
        Hold::Served(Serving { address, pid }) => {
            let dir = config.data.dir.display();
            let message = format!("{dir} is already served at {address} by process {pid}");
            Err(Failure::new(code::UNAVAILABLE, message))
        }
    }
}

async fn bind(address: SocketAddr, setting: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|e| {
        let message = format!("cannot listen on {address}: {e}; name another with {setting}");
        Failure::new(code::UNAVAILABLE, message)
    })
}

/// Where this machine reaches a listener; one on all addresses is reached by loopback.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_all_addresses_is_reached_by_loopback() {
        let reached = |a: &str| reachable(a.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(reached("[::]:80"), "[::1]:80");
        assert_eq!(reached("10.0.0.1:80"), "10.0.0.1:80");
    }
}
