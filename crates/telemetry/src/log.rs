//! The log: to standard error alone, so that standard output stays the product's. People on a terminal get
//! lines, machines get JSON.

use std::{
    fmt,
    io::{IsTerminal as _, stderr},
    panic::PanicHookInfo,
    str::FromStr,
};

use opentelemetry_sdk::trace::SdkTracerProvider;
use serde::Serialize;
use tracing_subscriber::{EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _};

use crate::traces;

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

impl Format {
    pub(crate) fn is_json(self) -> bool {
        match self {
            Self::Auto => !stderr().is_terminal(),
            Self::Human => false,
            Self::Json => true,
        }
    }
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

pub(crate) fn subscriber<W>(
    json: bool,
    filter: &Filter,
    writer: W,
    traces: Option<&SdkTracerProvider>,
) -> Result<tracing::Dispatch, BadFilter>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::builder().parse(&filter.0).map_err(|e| BadFilter(e.to_string()))?;
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let lines = if json {
        lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
    } else {
        lines.with_ansi(stderr().is_terminal()).boxed()
    };
    let log = tracing_subscriber::registry().with(lines.with_filter(filter));
    Ok(match traces {
        Some(provider) => log.with(traces::layer(provider)).into(),
        None => log.into(),
    })
}

pub(crate) fn panicked(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("(no message)");
    let at = info.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let backtrace = std::backtrace::Backtrace::capture();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    tracing::error!(at, thread, %backtrace, "panic: {message}");
}

#[cfg(test)]
mod tests;
