//! The door for OpenTelemetry traces: `TraceService/Export` over gRPC, and `POST /v1/traces` over HTTP with
//! protobuf or JSON, on the same port. What of a span tells of an agent's work becomes an event; the others are
//! passed over and counted.

mod answer;
mod export;
mod grpc;
mod http;
mod wire;

use std::sync::Arc;

use hindsight_ports::{Bus, Clock};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::TraceServiceServer;
use tonic::codec::CompressionEncoding;

use crate::service::Scopes;

/// What both roads share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Otlp {
    bus: Arc<dyn Bus>,
    clock: Arc<dyn Clock>,
    /// Of the traces that were seen to tell of an agent's work.
    scopes: Arc<Scopes>,
}

impl Otlp {
    pub(crate) fn new(bus: Arc<dyn Bus>, clock: Arc<dyn Clock>, scopes: Arc<Scopes>) -> Self {
        Self { bus, clock, scopes }
    }

    pub(crate) fn grpc(&self) -> TraceServiceServer<Self> {
        TraceServiceServer::new(self.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(hindsight_types::limits::MESSAGE_BYTES)
    }

    pub(crate) fn http(&self) -> axum::Router {
        http::router(self.clone())
    }
}
