use std::{sync::OnceLock, time::Duration};

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::Metric;

/// How often what was measured is folded into the buckets, whether anyone reads them or not.
const UPKEEP: Duration = Duration::from_secs(5);

static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();

/// Begins to record metrics, once per process and within a Tokio runtime.
pub(crate) fn install() -> Result<(), BuildError> {
    let handle = builder()?.install_recorder()?;
    Metric::ALL.iter().for_each(|m| m.describe());
    let kept = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            kept.run_upkeep();
        }
    });
    HANDLE.get_or_init(|| handle);
    Ok(())
}

pub(crate) fn builder() -> Result<PrometheusBuilder, BuildError> {
    let spreads = Metric::ALL.iter().filter(|m| !m.shape().buckets().is_empty());
    spreads.copied().try_fold(PrometheusBuilder::new(), |builder, metric| {
        builder.set_buckets_for_metric(Matcher::Full(metric.name().to_owned()), metric.shape().buckets())
    })
}

/// Whether metrics are recorded in this process.
pub(crate) fn is_recording() -> bool {
    HANDLE.get().is_some()
}

/// All metrics as Prometheus reads them (text format 0.0.4); `None` in a process that records none.
pub fn render() -> Option<String> {
    HANDLE.get().map(PrometheusHandle::render)
}
