use std::{ffi::OsString, net::SocketAddr, time::Duration};

use clap::ValueEnum;
use hindsight_mcp::{
    Memory,
    proxy::{self, About, HttpProxy, Settings},
};
use hindsight_runtime::StopSignal;
use hindsight_wiring::{Failure, code};

use super::mcp::listen;
use crate::{context::Context, standing};

/// Exit code of shells for a command that cannot be run.
const NOT_STARTED: u8 = 127;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it does beside passing messages on.
    #[arg(long, value_enum, default_value_t = Mode::Observe)]
    mode: Mode,
    /// What the calls are for, in words; told from the names of client and server by default.
    #[arg(long, env = "HINDSIGHT_GOAL")]
    goal: Option<String>,
    /// The person the agent works for; what is learned is theirs alone.
    #[arg(long, env = "HINDSIGHT_USER")]
    user: Option<String>,
    /// The agent that makes the calls; the name of the client by default.
    #[arg(long)]
    agent: Option<String>,
    /// Kind of task, as in incident or refund.
    #[arg(long)]
    task_type: Option<String>,
    /// Where the tools run, as in docker or k8s. May be given several times.
    #[arg(long, value_name = "TAG")]
    env: Vec<String>,
    /// A task ends when nothing is heard for so long.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    idle: Duration,
    /// How long a check may hold up a call, or the result of one that failed; then there is no warning.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10ms")]
    patience: Duration,
    /// Stand before this server over streamable HTTP, as in http://HOST:PORT/mcp.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// Where clients reach the proxy of --url; port 0 takes a free one. [default: 127.0.0.1:0]
    #[arg(long, value_name = "IP:PORT", requires = "url", conflicts_with = "command")]
    listen: Option<SocketAddr>,
    /// Let --listen name an address that other machines reach. The proxy asks them for nothing: whoever reaches it
    /// uses the server, and is told what the memory of this process knows.
    #[arg(long, requires = "listen", conflicts_with = "command")]
    allow_remote: bool,
    /// Start this server and stand before its standard input and output.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<OsString>,
}

impl Args {
    /// What threads that work beside the messages do first. Where a check is waited for, they work for the messages.
    pub(crate) fn first(&self) -> fn() {
        if self.mode == Mode::Observe && self.url.is_none() { proxy::give_way } else { || () }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Record what happens.
    Observe,
    /// Also add a warning to the result of a call that is known to fail, and what is known of a failure.
    Annotate,
    /// Also answer a call that is known to fail with the warning; made again, it goes through.
    Confirm,
}

impl From<Mode> for proxy::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Observe => Self::Observe,
            Mode::Annotate => Self::Annotate,
            Mode::Confirm => Self::Confirm,
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|e| format!("{e}; write it like 10m or 500ms"))
}

/// Where the proxy is reached, unless that lets in whom nobody meant to let in.
fn address(args: &Args) -> Result<SocketAddr, Failure> {
    let address = args.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    if address.ip().is_loopback() || args.allow_remote {
        return Ok(address);
    }
    let message = format!(
        "--listen {address} is reached from other machines, and the proxy asks for no key: anyone could use the server, \
         and the memory; listen on 127.0.0.1, or give --allow-remote where something else keeps others out"
    );
    Err(Failure::new(code::USAGE, message))
}

/// Passes messages on until the server or the client ends; the exit code is that of the server.
pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let address = address(&args)?;
    let settings = Settings {
        mode: args.mode.into(),
        about: About {
            goal: args.goal,
            user: args.user.unwrap_or_default(),
            agent: args.agent,
            task_type: args.task_type.unwrap_or_default(),
            environment: args.env,
        },
        idle: args.idle,
        patience: args.patience,
    };
    standing::beside(context, async |memory| match &args.url {
        Some(url) => over_http(url, address, settings, memory, context).await,
        None => proxy::stdio(&args.command, settings, memory).await.map_err(|e| {
            let server = args.command.first().map(|c| c.to_string_lossy()).unwrap_or_default();
            Failure::new(NOT_STARTED, format!("cannot run `{server}`: {e}"))
        }),
    })
    .await
}

async fn over_http(
    url: &str,
    address: SocketAddr,
    settings: Settings,
    memory: Memory,
    context: &Context,
) -> Result<u8, Failure> {
    let stop = StopSignal::default();
    let _signals = stop.on_signals()?;
    let proxy = HttpProxy::new(url, settings, memory).map_err(|e| Failure::new(code::USAGE, e))?;
    let listener = listen(address, "--listen").await?;
    context.ui.note(&format!("passing on {url} at http://{}{}", listener.local_addr()?, proxy.path()));
    proxy.serve(listener, stop.requested()).await?;
    Ok(0)
}
