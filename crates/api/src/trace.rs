use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use hindsight_telemetry::{Label, Metric, span};
use http::{HeaderMap, Response};
use http_body::{Body, Frame, SizeHint};
use tonic::Code;
use tracing::{Span, field};

use crate::{Caller, edge::OTLP_PATH, is_open_path, methods, status};

/// One call on its way: a span in the caller's trace, and when it ends, however it ends, one line of log
/// and its metrics.
#[derive(Debug)]
pub(crate) struct Call {
    span: Span,
    /// For the metrics; none for probes.
    method: Option<&'static str>,
    begun: Instant,
    /// Whether the answer is one of plain HTTP, whose head says all.
    plain: bool,
    ended: bool,
}

impl Call {
    pub(crate) fn begin(path: &str, headers: &HeaderMap, request_id: &str) -> Self {
        let method = path.trim_start_matches('/');
        let method = method.get(..128).unwrap_or(method);
        let span = tracing::info_span!(
            "rpc",
            otel.kind = "server",
            method,
            request_id,
            tenant = field::Empty,
            key = field::Empty,
            status = field::Empty,
            latency_ms = field::Empty
        );
        span::serve(&span, method, headers);
        let known = (!is_open_path(path)).then(|| methods::known(method));
        Self { span, method: known, begun: Instant::now(), plain: path == OTLP_PATH, ended: false }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(crate) fn caller(&self, caller: &Caller) {
        self.span.record("tenant", caller.tenant.as_str());
        self.span.record("key", &*caller.key);
    }

    /// Ends the call if the head of the response says how; else its body will.
    pub(crate) fn respond<R>(mut self, response: Response<R>) -> Response<TracedBody<R>> {
        if let Some(code) = code(response.headers()) {
            self.end(code);
        } else if self.plain {
            self.end(status::code_of(response.status()));
        }
        response.map(|inner| TracedBody { inner: Box::pin(inner), call: self })
    }

    fn end(&mut self, code: Code) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        let latency_ms = seconds * 1000.0;
        self.span.record("status", field::debug(code));
        self.span.record("latency_ms", latency_ms);
        span::served(&self.span, code);
        if let Some(method) = self.method {
            Metric::RpcCalls.add(1, &[(Label::Method, method), (Label::Code, span::code_word(code))]);
            Metric::RpcDuration.record(seconds, &[(Label::Method, method)]);
        }
        let _entered = self.span.enter();
        match code {
            Code::Ok => tracing::debug!("call done"),
            Code::Internal | Code::Unknown | Code::DataLoss | Code::Unavailable => {
                tracing::warn!("call failed");
            }
            _ => tracing::info!("call refused"),
        }
    }
}

/// A caller that went away leaves a body that is dropped before its trailers.
impl Drop for Call {
    fn drop(&mut self) {
        self.end(Code::Cancelled);
    }
}

pub(crate) fn code(headers: &HeaderMap) -> Option<Code> {
    headers.get("grpc-status").map(|v| Code::from_bytes(v.as_bytes()))
}

/// A response body that notes the status in its trailers.
#[derive(Debug)]
pub struct TracedBody<R> {
    inner: Pin<Box<R>>,
    call: Call,
}

impl<R: Body> Body for TracedBody<R> {
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let this = &mut *self;
        let polled = {
            let _entered = this.call.span.clone().entered();
            this.inner.as_mut().poll_frame(cx)
        };
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(trailers) = frame.trailers_ref() {
                    this.call.end(code(trailers).unwrap_or(Code::Unknown));
                }
            }
            Poll::Ready(Some(Err(_))) => this.call.end(Code::Unknown),
            Poll::Ready(None) => this.call.end(Code::Ok),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
