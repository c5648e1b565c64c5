//! `hindsight-qdrant-socket --data DIR`: a stand-in for a Qdrant server, for tests. Prints its address.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Parser;
use hindsight_qdrant_socket::{SocketOptions, SocketServer};

/// Serves the embedded engine as Qdrant's gRPC services. Runs until it is killed, and may be at any time.
#[derive(Debug, Parser)]
struct Args {
    /// Port 0 takes any that is free.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Directory of the data.
    #[arg(long)]
    data: PathBuf,
    /// Time that passes before each call is done, as in 50ms.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    delay: Duration,
    /// Key that callers must name.
    #[arg(long)]
    api_key: Option<String>,
    /// Version that the server says it is of.
    #[arg(long, default_value = "1.19.0")]
    qdrant_version: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Args { listen, data, delay, api_key, qdrant_version: version } = Args::parse();
    let server = SocketServer::start(SocketOptions { listen, data, delay, api_key, version }).await?;
    #[allow(clippy::print_stdout, reason = "who started it reads the address here")]
    {
        println!("{}", server.address());
    }
    server.ended().await
}
