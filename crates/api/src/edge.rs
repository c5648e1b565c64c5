use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::FutureExt as _;
use http::{HeaderMap, HeaderValue, Request, Response, header::CONTENT_TYPE};
use tonic::Status;
use tower::{Layer, Service};
use tracing::Instrument as _;

use crate::{
    Keyring, status,
    trace::{self, Call, TracedBody},
};

const REQUEST_ID: &str = "x-request-id";

/// Whether a path needs no key: health checks and reflection.
pub fn is_open_path(path: &str) -> bool {
    path.starts_with("/grpc.health.") || path.starts_with("/grpc.reflection.")
}

/// Where OpenTelemetry's exporters send traces over HTTP. Who is refused there is told by the handler, in words
/// that exporters understand, and not by the edge.
pub const OTLP_PATH: &str = "/v1/traces";

/// Why a caller is not let in, among the extensions of a request to [`OTLP_PATH`], in place of a [`Caller`].
#[derive(Debug, Clone)]
pub struct Refusal(pub Status);

/// What every call passes, in a process or over a socket: a request id, a tracing span, the API key. A
/// handler that panics answers INTERNAL.
#[derive(Debug, Clone)]
pub struct EdgeLayer {
    keyring: Arc<Keyring>,
}

impl EdgeLayer {
    pub fn new(keyring: Keyring) -> Self {
        Self { keyring: Arc::new(keyring) }
    }

    /// Whether callers come in without a key.
    pub fn is_open(&self) -> bool {
        self.keyring.is_open()
    }
}

impl<S> Layer<S> for EdgeLayer {
    type Service = Edge<S>;

    fn layer(&self, inner: S) -> Edge<S> {
        Edge { inner, keyring: self.keyring.clone() }
    }
}

/// A service behind the [`EdgeLayer`].
#[derive(Debug, Clone)]
pub struct Edge<S> {
    inner: S,
    keyring: Arc<Keyring>,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<S, B, R> Service<Request<B>> for Edge<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
    S::Future: Send + 'static,
    R: http_body::Body + Default + Send + 'static,
{
    type Response = Response<TracedBody<R>>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let id = request_id(&request);
        let path = request.uri().path();
        let open = is_open_path(path);
        let call = Call::begin(path, request.headers(), &id);
        let plain = !is_grpc(request.headers());
        if !open {
            match self.keyring.authenticate(request.headers()) {
                Ok(caller) => {
                    call.caller(caller);
                    request.extensions_mut().insert(caller.clone());
                }
                Err(refusal) if path == OTLP_PATH => {
                    request.extensions_mut().insert(Refusal(refusal));
                }
                Err(refusal) => {
                    let response = answer(refusal.into_http(), call, &id, plain);
                    return Box::pin(std::future::ready(Ok(response)));
                }
            }
        }
        let span = call.span().clone();
        let inner = span.in_scope(|| self.inner.call(request));
        Box::pin(
            async move {
                let response = match AssertUnwindSafe(inner).catch_unwind().await {
                    Ok(Ok(response)) => response,
                    Ok(Err(never)) => match never {},
                    Err(_) => status::internal("edge", "a handler panicked").into_http(),
                };
                Ok(answer(response, call, &id, plain))
            }
            .instrument(span),
        )
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn answer<R: http_body::Body>(
    mut response: Response<R>,
    call: Call,
    id: &str,
    plain: bool,
) -> Response<TracedBody<R>> {
    // Whoever does not speak gRPC would take its errors for success.
    if plain && let Some(code) = trace::code(response.headers()) {
        *response.status_mut() = status::http_code(code);
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    call.respond(response)
}

/// The caller's own id when it is a sane one, else a new one.
fn request_id<B>(request: &Request<B>) -> String {
    request
        .headers()
        .get(REQUEST_ID)
        .and_then(|v| v.to_str().ok())
        .filter(|v| !v.is_empty() && v.len() <= 64 && v.bytes().all(|b| b.is_ascii_graphic()))
        .map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
