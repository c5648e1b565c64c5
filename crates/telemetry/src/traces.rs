use std::time::Duration;

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{Sampler, SdkTracerProvider, Tracer},
};
use tracing::{Metadata, level_filters::LevelFilter};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::{
    Layer,
    filter::{FilterFn, filter_fn},
    registry::LookupSpan,
};
use uuid::Uuid;

/// The spans that are exported all come from our crates.
const OURS: &str = "hindsight_";
/// Where OpenTelemetry says an endpoint is named.
const ENDPOINT: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Where traces go. Nowhere, and at no cost, when neither `endpoint` nor the standard environment names a
/// place.
#[derive(Debug, Clone, PartialEq)]
pub struct Traces {
    /// OTLP over gRPC, as in `http://collector:4317`.
    pub endpoint: Option<String>,
    /// Share of the traces begun here that is kept, 0 to 1. A caller's own decision goes before it.
    pub sample_ratio: f64,
}

impl Traces {
    /// The place to export to, by configuration or environment.
    fn place(&self) -> Option<String> {
        let named = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        self.endpoint.clone().or_else(|| ENDPOINT.into_iter().find_map(named))
    }
}

/// Prepares the export, when there is a place for it. The exporter connects when it first sends.
pub(crate) fn provider(
    service: &str,
    traces: &Traces,
) -> Result<Option<SdkTracerProvider>, ExporterBuildError> {
    let Some(place) = traces.place() else { return Ok(None) };
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(place).build()?;
    let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(traces.sample_ratio)));
    let resource = Resource::builder().with_service_name(service.to_owned()).with_attributes([
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", Uuid::new_v4().to_string()),
    ]);
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(sampler)
        .with_resource(resource.build());
    Ok(Some(provider.build()))
}

/// Turns our spans into OpenTelemetry's. Events of the log stay in the log: they may quote.
pub(crate) fn layer<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    let layer: OpenTelemetryLayer<S, Tracer> = tracing_opentelemetry::layer()
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_tracer(provider.tracer("hindsight"));
    layer.with_filter(exported())
}

fn exported() -> FilterFn<fn(&Metadata<'_>) -> bool> {
    let ours: fn(&Metadata<'_>) -> bool = |m| m.is_span() && m.target().starts_with(OURS);
    filter_fn(ours).with_max_level_hint(LevelFilter::DEBUG)
}

/// Sends what is not sent yet, on the threads for blocking work.
pub(crate) async fn flush(provider: SdkTracerProvider, limit: Duration) {
    let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(limit));
    // The provider keeps the limit by itself, unless the exporter hangs.
    match tokio::time::timeout(limit * 2, ended).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => tracing::warn!(%error, "the last traces could not be exported"),
        Ok(Err(error)) => tracing::warn!(%error, "the export of traces broke off"),
        Err(_) => tracing::warn!("the last traces were not exported in time"),
    }
}
