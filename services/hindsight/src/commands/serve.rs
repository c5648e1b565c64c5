use std::net::SocketAddr;

use hindsight_wiring::{Failure, RoleName};

use crate::context::Context;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Address to answer probes on, over HTTP.
    #[arg(long, value_name = "IP:PORT")]
    admin_listen: Option<SocketAddr>,
    /// Only these roles; the others run elsewhere, on the same bus and store.
    #[arg(long, value_delimiter = ',', value_name = "ROLE")]
    roles: Vec<RoleName>,
}

/// Serves until SIGTERM or SIGINT; the second one stops at once.
pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let listen = args.listen.map(|l| ("server.listen".to_owned(), l.to_string()));
    let admin = args.admin_listen.map(|l| ("server.admin_listen".to_owned(), l.to_string()));
    let (config, telemetry) = context.server_config(listen.into_iter().chain(admin).collect())?;
    let wanted = |r: &RoleName| args.roles.is_empty() || args.roles.contains(r);
    let names = RoleName::ALL.into_iter().filter(wanted);
    hindsight_wiring::serve(
        &config,
        telemetry,
        |config, parts| names.map(|r| r.build(config, parts)).collect(),
        |address| context.ui.note(address),
    )
    .await
}
