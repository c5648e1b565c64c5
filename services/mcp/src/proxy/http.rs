//! A server that is reached over streamable HTTP.

mod sessions;

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::{IntoResponse as _, Response},
    serve::ListenerExt as _,
};
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::{
    HeaderMap, Method, StatusCode, Uri,
    header::{self, HeaderName},
};
use tokio::net::TcpListener;

use super::{
    Connection, FAREWELL, Memory, Proxy, Settings,
    gate::{Gate, Verdict},
    message::Side,
    observe::{Notes, Seen},
    sse::{Events, with_data},
};
use sessions::Sessions;

#[cfg(test)]
mod tests;

/// Longest request, and longest answer that is looked at before it is passed on.
const BODY: usize = 64 * 1024 * 1024;
/// Longest event that is looked at before it is passed on.
const EVENT: usize = 8 * 1024 * 1024;
/// Headers that are about one connection and not passed on (RFC 9110, section 7.6.1).
const HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The server that is named cannot be one.
#[derive(Debug, thiserror::Error)]
#[error("`{url}` is not the address of an MCP server: {problem}; give http://HOST:PORT/PATH")]
pub struct UpstreamError {
    url: String,
    problem: String,
}

/// Stands where the server is expected: same path, other host.
#[derive(Debug)]
pub struct HttpProxy {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    http: reqwest::Client,
    /// Scheme and authority of the server.
    origin: String,
    path: String,
    proxy: Mutex<Option<Proxy>>,
    sessions: Sessions,
}

impl HttpProxy {
    pub fn new(upstream: &str, settings: Settings, memory: Memory) -> Result<Self, UpstreamError> {
        let invalid = |problem: String| UpstreamError { url: upstream.to_owned(), problem };
        let uri: Uri = upstream.parse().map_err(|e: http::uri::InvalidUri| invalid(e.to_string()))?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(invalid("it begins with neither http:// nor https://".to_owned()));
        };
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|e| invalid(e.to_string()))?;
        let shared = Shared {
            http,
            origin: format!("{scheme}://{authority}"),
            path: uri.path().to_owned(),
            proxy: Mutex::new(Some(Proxy::new(settings, memory))),
            sessions: Sessions::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The path at which the server is reached, here as there.
    pub fn path(&self) -> &str {
        &self.shared.path
    }

    /// Serves until `stop`; then what was seen last is recorded.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
        let local = listener.local_addr()?.ip().is_loopback();
        let shared = self.shared.clone();
        let router = Router::new().fallback(move |request: Request| {
            let shared = shared.clone();
            async move { if local && !is_local(&request) { foreign() } else { shared.forward(request).await } }
        });
        // A message is small and must not wait for the next one.
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "small messages may be late");
            }
        });
        tokio::select! {
            served = axum::serve(listener, router) => served?,
            () = stop => {}
        }
        self.shared.sessions.close();
        let proxy = self.shared.proxy.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(proxy) = proxy {
            proxy.finish(FAREWELL).await;
        }
        Ok(())
    }
}

/// Whether a request to a local address means one: a page whose name was made to point here does not.
fn is_local(request: &Request) -> bool {
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn foreign() -> Response {
    (StatusCode::FORBIDDEN, "this proxy serves this machine only: use localhost or 127.0.0.1").into_response()
}

impl Shared {
    async fn forward(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let body = match axum::body::to_bytes(body, BODY).await {
            Ok(body) => body,
            Err(error) => return (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()).into_response(),
        };
        let session = sessions::name(&parts.headers);
        let is_post = parts.method == Method::POST;
        let connection = if is_post {
            self.connection(session.as_deref(), &body)
        } else {
            self.sessions.find(session.as_deref())
        };
        if let Some(connection) = connection.as_ref().filter(|_| is_post) {
            connection.notes.note(Seen::Message { side: Side::Client, bytes: body.clone() });
            if let Some(gate) = &connection.gate
                && let Verdict::Answer(answer) = gate.request(&body).await
            {
                return ([(header::CONTENT_TYPE, "application/json")], answer).into_response();
            }
        }
        let target = parts.uri.path_and_query().map_or("/", |p| p.as_str());
        let url = format!("{}{target}", self.origin);
        let mut headers = parts.headers;
        strip(&mut headers);
        // The host is another one, the length is that of the body, and what is compressed could not be read here.
        for name in [header::HOST, header::CONTENT_LENGTH, header::ACCEPT_ENCODING] {
            headers.remove(name);
        }
        let sent = self.http.request(parts.method.clone(), url).headers(headers).body(body.clone()).send();
        let answer = match sent.await {
            Ok(answer) => http::Response::from(answer).map(Body::new),
            Err(error) => {
                let message =
                    format!("the MCP server at {} does not answer: {}", self.origin, causes(&error));
                return (StatusCode::BAD_GATEWAY, message).into_response();
            }
        };
        match (&connection, &session) {
            (_, Some(session)) if parts.method == Method::DELETE && answer.status().is_success() => {
                self.sessions.end(session);
            }
            (Some(connection), None) if is_greeting(&body) && answer.status().is_success() => {
                self.sessions.keep(sessions::name(answer.headers()), connection.clone());
            }
            _ => {}
        }
        pass(answer, connection).await
    }

    /// What a message belongs to.
    fn connection(&self, session: Option<&str>, body: &[u8]) -> Option<Connection> {
        let known = if session.is_none() && is_greeting(body) { None } else { self.sessions.find(session) };
        if known.is_some() {
            return known;
        }
        let mut proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = proxy.as_mut()?.connect(&self.origin);
        if session.is_some() || !is_greeting(body) {
            self.sessions.keep(session.map(str::to_owned), connection.clone());
        }
        Some(connection)
    }
}

/// Whether a session begins with it.
fn is_greeting(body: &[u8]) -> bool {
    [&b"\"initialize\""[..], b"\"server/discover\""].iter().any(|m| memchr::memmem::find(body, m).is_some())
}

fn strip(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|v| v.to_str().ok());
    let named: Vec<_> =
        named.flat_map(|v| v.split(',')).filter_map(|n| n.trim().parse::<HeaderName>().ok()).collect();
    for name in HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

fn causes(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

/// The answer of the server, for the client, with a copy of it for the connection.
async fn pass(mut answer: Response, connection: Option<Connection>) -> Response {
    strip(answer.headers_mut());
    let Some(Connection { notes, gate }) = connection else { return answer };
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|k| k.to_str().ok()).unwrap_or_default();
    let is = |name: &str| kind.trim_start().get(..name.len()).is_some_and(|k| k.eq_ignore_ascii_case(name));
    if answer.headers().contains_key(header::CONTENT_ENCODING) {
        return answer;
    }
    match gate {
        _ if is("text/event-stream") => answer.map(|body| events(body, notes, gate)),
        Some(gate) if is("application/json") => gated(answer, notes, gate).await,
        None if is("application/json") => answer.map(|body| copied(body, notes)),
        _ => answer,
    }
}

/// Passes a message on as it comes, and notes it at its end.
fn copied(body: Body, notes: Notes) -> Body {
    let mut copy = Copy { held: Vec::new(), notes };
    Body::from_stream(body.into_data_stream().inspect_ok(move |bytes| {
        if copy.held.len() + bytes.len() <= BODY {
            copy.held.extend_from_slice(bytes);
        }
    }))
}

/// Whoever sends a body with a length stops at the length, so the end shows only when it is dropped.
struct Copy {
    held: Vec<u8>,
    notes: Notes,
}

impl Drop for Copy {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.held).into();
        self.notes.note(Seen::Message { side: Side::Server, bytes });
    }
}

/// Looks at a message before it goes on.
async fn gated(answer: Response, notes: Notes, gate: Arc<Gate>) -> Response {
    let (mut parts, body) = answer.into_parts();
    let bytes = match axum::body::to_bytes(body, BODY).await {
        Ok(bytes) => bytes,
        Err(error) => {
            let message =
                format!("the answer of the MCP server broke off, or is longer than {BODY} bytes: {error}");
            return (StatusCode::BAD_GATEWAY, message).into_response();
        }
    };
    notes.note(Seen::Message { side: Side::Server, bytes: bytes.clone() });
    let bytes = match gate.answer(&bytes).await {
        Some(other) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            other.into()
        }
        None => bytes,
    };
    Response::from_parts(parts, Body::from(bytes))
}

/// Passes a stream of events on. With a gate each event is whole before it goes on; without, bytes go on as
/// they come.
fn events(body: Body, notes: Notes, gate: Option<Arc<Gate>>) -> Body {
    let reader =
        Reader { body: body.into_data_stream(), events: Events::new(EVENT), notes, gate, ended: false };
    Body::from_stream(reader.run())
}

struct Reader<S> {
    body: S,
    events: Events,
    notes: Notes,
    gate: Option<Arc<Gate>>,
    ended: bool,
}

impl<S: Stream<Item = Result<Bytes, axum::Error>> + Unpin> Reader<S> {
    fn run(self) -> impl Stream<Item = Result<Bytes, axum::Error>> {
        stream::unfold(self, |mut reader| async move { reader.next().await.map(|bytes| (bytes, reader)) })
    }

    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        while !self.ended {
            let chunk = match self.body.next().await {
                Some(Ok(chunk)) => chunk,
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                None => {
                    self.ended = true;
                    let rest = self.events.end();
                    return (self.gate.is_some() && !rest.is_empty()).then(|| Ok(rest.into()));
                }
            };
            let mut whole = Vec::new();
            self.events.push(&chunk, |event| whole.push(event));
            for data in whole.iter().filter_map(|e| e.data.as_ref()) {
                self.notes.note(Seen::Message { side: Side::Server, bytes: Bytes::copy_from_slice(data) });
            }
            let Some(gate) = &self.gate else { return Some(Ok(chunk)) };
            let mut passed = Vec::with_capacity(chunk.len());
            for event in whole {
                let other = match &event.data {
                    Some(data) => gate.answer(data).await,
                    None => None,
                };
                match other {
                    Some(other) => passed.extend(with_data(&event.raw, &other)),
                    None => passed.extend(event.raw),
                }
            }
            if !passed.is_empty() {
                return Some(Ok(passed.into()));
            }
        }
        None
    }
}
