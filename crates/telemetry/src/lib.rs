//! The log: to standard error alone, so that standard output stays the product's. People on a terminal get
//! lines, machines get JSON.

use std::{
    fmt,
    io::{IsTerminal as _, stderr},
    panic::PanicHookInfo,
    str::FromStr,
};

use serde::Serialize;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter, util::SubscriberInitExt as _};

/// How a line of log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Human on a terminal, JSON elsewhere.
    #[default]
    Auto,
    Human,
    Json,
}

/// What is logged: `tracing` directives, as in `info,hindsight_recall=debug`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Filter(String);

impl Default for Filter {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("is not a log filter ({0}); use a level, or target=level pairs, as in `info,hindsight_recall=debug`")]
pub struct BadFilter(String);

impl FromStr for Filter {
    type Err = BadFilter;

    fn from_str(s: &str) -> Result<Self, BadFilter> {
        EnvFilter::builder().parse(s).map_err(|e| BadFilter(e.to_string()))?;
        Ok(Self(s.to_owned()))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("log.filter {0}")]
    Filter(#[from] BadFilter),
    #[error("the log is set up already: {0}")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Sets up the log of the process, once; from here on panics are logged too.
pub fn init(format: Format, filter: &Filter) -> Result<(), InitError> {
    let json = match format {
        Format::Auto => !stderr().is_terminal(),
        Format::Human => false,
        Format::Json => true,
    };
    subscriber(json, filter, stderr)?.try_init()?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(())
}

fn subscriber<W>(json: bool, filter: &Filter, writer: W) -> Result<tracing::Dispatch, BadFilter>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::builder().parse(&filter.0).map_err(|e| BadFilter(e.to_string()))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    Ok(if json {
        log.json().flatten_event(true).with_current_span(true).with_span_list(false).into()
    } else {
        log.with_ansi(stderr().is_terminal()).into()
    })
}

fn log_panic(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("(no message)");
    let at = info.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let backtrace = std::backtrace::Backtrace::capture();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    tracing::error!(at, thread, %backtrace, "panic: {message}");
}

#[cfg(test)]
mod tests;
