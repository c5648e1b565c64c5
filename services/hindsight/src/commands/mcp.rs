use std::net::SocketAddr;

use hindsight_mcp::server::{HttpServer, MemoryServer, OpenError, origin};
use hindsight_runtime::StopSignal;
use hindsight_wiring::{Failure, code};
use tokio::net::TcpListener;

use crate::{context::Context, standing};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Serve streamable HTTP at this address, under /mcp, instead of standard input and output; port 0 takes a
    /// free one. An address that other machines reach needs API keys.
    #[arg(long, value_name = "IP:PORT")]
    http: Option<SocketAddr>,
    /// Let web pages of this origin in, as in https://app.example.com:443. May be given several times.
    #[arg(long, value_name = "ORIGIN", value_parser = origin, requires = "http")]
    allow_origin: Vec<String>,
}

/// Serves until the client leaves, SIGTERM or SIGINT.
pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let stop = StopSignal::default();
    let _signals = stop.on_signals()?;
    Box::pin(standing::beside(context, async |memory| {
        let Some(address) = args.http else {
            MemoryServer::serve_stdio(memory, stop.requested()).await?;
            return Ok(0);
        };
        let listener = listen(address, "--http").await?;
        let address = listener.local_addr()?;
        let server = tokio::select! {
            server = HttpServer::new(listener, memory, args.allow_origin) => server.map_err(unopened)?,
            () = stop.requested() => return Ok(0),
        };
        context.ui.note(&format!("serving MCP at http://{address}{}", server.path()));
        server.serve(stop.requested()).await?;
        Ok(0)
    }))
    .await
}

pub(super) async fn listen(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|e| {
        let message = format!("cannot listen on {address}: {e}; name another address with {flag}");
        Failure::new(code::UNAVAILABLE, message)
    })
}

fn unopened(error: OpenError) -> Failure {
    match error {
        OpenError::NoKeys(_) => Failure::new(code::CONFIG, error),
        OpenError::Unknown(error) => error.into(),
        OpenError::Away => Failure::new(code::UNAVAILABLE, error),
        OpenError::Io(error) => error.into(),
    }
}
