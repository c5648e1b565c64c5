use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hindsight_api::EdgeLayer;
use hindsight_runtime::StopSignal;
use tokio::net::TcpListener;

use crate::{
    context::{self, Context},
    data_dir::{Hold, Serving},
    failure::{Failure, code},
    wiring,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
}

/// Serves until SIGTERM or SIGINT; the second one stops at once.
pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let stop = StopSignal::default();
    let _signals = stop.on_signals()?;
    let flags = args.listen.map(|l| ("server.listen".to_owned(), l.to_string()));
    let config = context.config(flags.into_iter().collect())?;
    let mut dir = match context::hold(config.data.dir.clone()).await? {
        Hold::Mine(dir) => dir,
        Hold::Served(Serving { address, pid }) => {
            let message =
                format!("{} is already served at {address} by process {pid}", config.data.dir.display());
            return Err(Failure::new(code::UNAVAILABLE, message));
        }
    };
    let listener = TcpListener::bind(config.server.listen).await.map_err(|e| {
        let message = format!("cannot listen on {}: {e}; name another with --listen", config.server.listen);
        Failure::new(code::UNAVAILABLE, message)
    })?;
    let keyring = config.auth.keyring().map_err(|e| Failure::new(code::CONFIG, e))?;
    let running = wiring::start(&config, &dir, EdgeLayer::new(keyring)).await?;
    let address = format!("http://{}", reachable(listener.local_addr()?));
    dir.announce(&Serving { address: address.clone(), pid: std::process::id() })?;
    context.ui.note(&format!("serving {} at {address}", dir.path().display()));
    let exit = hindsight_runtime::serve(running, listener, stop)
        .await
        .map_err(|e| Failure::new(code::UNAVAILABLE, e))?;
    Ok(exit.code())
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
