//! What a process tells of itself: the log on standard error, traces by OTLP, metrics for Prometheus.
//!
//! A server begins with [`init_server`] and ends with [`Telemetry::shutdown`]; a single command needs only
//! the log ([`init`]). Ports are wrapped by [`observe`], calls and messages by [`span`], and whatever else
//! is counted is a [`Metric`].

pub mod context;
mod log;
mod metric;
pub mod observe;
mod recorder;
pub mod span;
mod traces;

use std::{fmt, time::Duration};

use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::util::SubscriberInitExt as _;

pub use log::{BadFilter, Filter, Format};
pub use metric::{Label, Metric, Shape, outcome};
pub use recorder::render as render_metrics;
pub use traces::Traces;

/// How long the end of a process waits for its last traces to be taken.
const FLUSH: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("log.filter {0}")]
    Filter(#[from] BadFilter),
    #[error("the log is set up already: {0}")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
    #[error("telemetry.otlp_endpoint: {0}; give http://HOST:PORT, usually of port 4317")]
    Traces(#[from] opentelemetry_otlp::ExporterBuildError),
    #[error("metrics: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}

/// Sets up the log of the process, once; from here on panics are logged too.
pub fn init(format: Format, filter: &Filter) -> Result<(), InitError> {
    log::subscriber(format.is_json(), filter, std::io::stderr, None)?.try_init()?;
    std::panic::set_hook(Box::new(log::panicked));
    Ok(())
}

/// As [`init`], with metrics, and with traces when they have a place to go. Needs a Tokio runtime.
/// `service` names the process in traces, as in `hindsight-collector`.
pub fn init_server(
    format: Format,
    filter: &Filter,
    service: &str,
    traces: &Traces,
) -> Result<Telemetry, InitError> {
    let provider = traces::provider(service, traces)?;
    log::subscriber(format.is_json(), filter, std::io::stderr, provider.as_ref())?.try_init()?;
    std::panic::set_hook(Box::new(log::panicked));
    recorder::install()?;
    Ok(Telemetry { provider })
}

/// What must be told before the process ends.
#[must_use = "the last traces are lost without `shutdown`"]
pub struct Telemetry {
    provider: Option<SdkTracerProvider>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("traces", &self.provider.is_some()).finish()
    }
}

impl Telemetry {
    /// Sends the last traces, for a few seconds at most.
    pub async fn shutdown(self) {
        if let Some(provider) = self.provider {
            traces::flush(provider, FLUSH).await;
        }
    }
}

#[cfg(test)]
mod tests;
