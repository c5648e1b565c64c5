//! The `main` of a process that serves one role.

use std::{io::Write as _, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc};

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use hindsight_config::{Config, Sources};
use hindsight_runtime::Role;

use crate::{Failure, Parts, code, server};

#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Flags {
    /// Configuration file. Every setting can also be given as HINDSIGHT__SECTION__KEY.
    #[arg(long, value_name = "FILE", env = "HINDSIGHT_CONFIG")]
    config: Option<PathBuf>,
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Address to answer probes on, over HTTP.
    #[arg(long, value_name = "IP:PORT")]
    admin_listen: Option<SocketAddr>,
}

/// Parses flags, reads settings, builds the role and serves it until SIGTERM.
pub fn run(name: &'static str, about: &'static str, build: fn(&Config, &Parts) -> Arc<dyn Role>) -> ExitCode {
    let command = Flags::command().name(name).about(about);
    let flags = match command.try_get_matches().and_then(|m| Flags::from_arg_matches(&m)) {
        Ok(flags) => flags,
        Err(usage) => {
            // Printing can only fail when nobody reads.
            let _ = usage.print();
            return if usage.use_stderr() { ExitCode::from(code::USAGE) } else { ExitCode::SUCCESS };
        }
    };
    // Once per process; fails only when it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match serve(name, flags, build) {
        Ok(exit) => ExitCode::from(exit),
        Err(failure) => {
            say(&format!("{name}: {failure}"));
            ExitCode::from(failure.code)
        }
    }
}

fn serve(name: &str, flags: Flags, build: fn(&Config, &Parts) -> Arc<dyn Role>) -> Result<u8, Failure> {
    let given = [("server.listen", flags.listen), ("server.admin_listen", flags.admin_listen)];
    let given = given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_string())));
    let sources = Sources::from_process(flags.config, given.collect());
    let loaded = hindsight_config::load(&sources).map_err(|e| Failure::new(code::CONFIG, e))?;
    let config = loaded.config;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _entered = runtime.enter();
    let telemetry = server::begin_telemetry(&config, name)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    runtime.block_on(server::serve(&config, telemetry, |config, parts| vec![build(config, parts)], say))
}

fn say(text: &str) {
    // Nothing can be said about standard error not working.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
