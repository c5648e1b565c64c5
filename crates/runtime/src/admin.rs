//! HTTP for operators and orchestrators, on a port of its own.
//!
//! | path | 200 when | otherwise 503 |
//! |---|---|---|
//! | `/livez` | the process answers | |
//! | `/startupz` | its roles were started | while it starts |
//! | `/readyz` | every role can do its work | with each role and why it is not ready |
//! | `/metrics` | metrics are recorded | |
//!
//! A dependency that is away never fails `/livez` or `/startupz`: a restart would not bring it back.

use axum::{
    Router,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    Probes,
    probes::{Phase, Report},
};

/// The probes and the metrics. More routes may be merged into it before it is served.
pub fn router(probes: Probes) -> Router {
    let (live, started, ready) = (probes.clone(), probes.clone(), probes);
    Router::new()
        .route("/livez", get(async move || answer(true, &live.report())))
        .route("/startupz", get(async move || started_answer(&started.report())))
        .route("/readyz", get(async move || ready_answer(&ready.report())))
        .route("/metrics", get(metrics))
}

/// Serves until the handle is dropped.
pub fn serve(listener: TcpListener, router: Router) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "probes are no longer answered");
        }
    }))
}

/// As Prometheus reads them.
async fn metrics() -> Response {
    match hindsight_telemetry::render_metrics() {
        Some(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

fn started_answer(report: &Report) -> Response {
    answer(report.phase != Phase::Starting, report)
}

fn ready_answer(report: &Report) -> Response {
    answer(report.ready, report)
}

fn answer(good: bool, report: &Report) -> Response {
    let status = if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(report) {
        Ok(body) => (status, [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
