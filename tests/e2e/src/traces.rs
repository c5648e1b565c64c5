//! An OTLP endpoint of a test's own, and how spans hang together.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    trace::v1::{Span, span::SpanKind},
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport};

/// An OTLP endpoint that keeps what it is sent.
#[derive(Debug, Clone, Default)]
pub struct Sink(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Sink {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Sink {
    /// On a free port of this machine; with its URL.
    pub async fn serve() -> (Self, String) {
        let sink = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = transport::Server::builder().add_service(TraceServiceServer::new(sink.clone()));
        tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        (sink, url)
    }

    /// Every span, with the service it is from.
    pub fn spans(&self) -> Vec<(String, Span)> {
        let mut spans = Vec::new();
        for resource in self.0.lock().unwrap().iter().flat_map(|r| &r.resource_spans) {
            let attributes = &resource.resource.as_ref().unwrap().attributes;
            let service = attributes.iter().find(|a| a.key == "service.name").unwrap();
            assert!(attributes.iter().any(|a| a.key == "service.version"));
            assert!(attributes.iter().any(|a| a.key == "service.instance.id"));
            let service = format!("{:?}", service.value);
            spans.extend(
                resource.scope_spans.iter().flat_map(|s| &s.spans).map(|s| (service.clone(), s.clone())),
            );
        }
        spans
    }

    /// The trace that begins with the client's call of `method`.
    pub fn trace(&self, method: &str) -> Trace {
        let mut spans = self.spans();
        let client = |s: &Span| s.name == method && s.kind() == SpanKind::Client;
        let root = spans.iter().find(|(_, s)| client(s)).expect("the client's span").1.clone();
        spans.retain(|(_, s)| s.trace_id == root.trace_id);
        let trace = Trace { root, spans: spans.into_iter().map(|(_, s)| (s.span_id.clone(), s)).collect() };
        trace.is_whole();
        trace
    }
}

/// The spans of one trace.
#[derive(Debug)]
pub struct Trace {
    pub root: Span,
    spans: HashMap<Vec<u8>, Span>,
}

impl Trace {
    /// Every span but the root has its parent in the trace.
    fn is_whole(&self) {
        for span in self.spans.values().filter(|s| s.span_id != self.root.span_id) {
            assert!(
                self.spans.contains_key(&span.parent_span_id),
                "{} hangs in the air: {}",
                span.name,
                self.names()
            );
        }
        assert!(self.root.parent_span_id.is_empty());
    }

    pub fn contains(&self, span: &Span) -> bool {
        self.spans.contains_key(&span.span_id)
    }

    pub fn names(&self) -> String {
        let mut names: Vec<_> = self.spans.values().map(|s| s.name.as_str()).collect();
        names.sort_unstable();
        names.join(", ")
    }

    /// Whether spans of these names lie on one line from the root down, others between them or not.
    pub fn has_line(&self, names: &[&str]) -> bool {
        let above = |span: &Span| {
            let mut line = vec![span.name.clone()];
            let mut at = span;
            while let Some(parent) = self.spans.get(&at.parent_span_id) {
                line.push(parent.name.clone());
                at = parent;
            }
            line
        };
        self.spans.values().filter(|s| Some(&s.name.as_str()) == names.last()).any(|last| {
            let line = above(last);
            let mut up = line.iter();
            names.iter().rev().all(|name| up.any(|n| n == name))
        })
    }

    #[track_caller]
    pub fn assert_line(&self, names: &[&str]) {
        assert!(self.has_line(names), "no line {names:?} in {}", self.names());
    }

    pub fn attribute(&self, span: &str, key: &str) -> String {
        let spans = self.spans.values().filter(|s| s.name == span);
        let mut found = spans.flat_map(|s| &s.attributes).filter(|a| a.key == key);
        format!("{:?}", found.next().map(|a| &a.value))
    }
}
