//! A server that is reached over streamable HTTP.

mod body;
mod exchange;
mod sessions;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
    serve::ListenerExt as _,
};
use http::{
    HeaderMap, Method, StatusCode, Uri,
    header::{self, HeaderName},
    request::Parts,
};
use tokio::net::TcpListener;

use super::{Connection, FAREWELL, Memory, Proxy, Settings, calls::Way, message::Head};
use body::Message;
use exchange::Exchange;
use sessions::{Sessions, Signs};

#[cfg(test)]
mod tests;

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
    /// Requests until now, which numbers them.
    exchanges: AtomicU64,
}

/// What a request belongs to.
#[derive(Debug)]
struct Arrival {
    /// `None`: it is passed on, and that is all.
    exchange: Option<Exchange>,
    signs: Signs,
    /// A client begins with it.
    begins: bool,
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
            exchanges: AtomicU64::new(0),
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
            served = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()) => served?,
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
        let message = match body::read(body).await {
            Ok(message) => message,
            Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
        };
        let arrival = self.arrival(&parts, &message);
        let is_post = parts.method == Method::POST;
        if let Some(exchange) = arrival.exchange.as_ref().filter(|_| is_post)
            && let Some(answer) = exchange.request(message.whole()).await
        {
            return answer;
        }
        let ends = parts.method == Method::DELETE;
        let mut answer = match self.send(parts, message).await {
            Ok(answer) => http::Response::from(answer).map(Body::new),
            Err(error) => {
                let message =
                    format!("the MCP server at {} does not answer: {}", self.origin, causes(&error));
                return (StatusCode::BAD_GATEWAY, message).into_response();
            }
        };
        if answer.status().is_success() {
            self.remember(&arrival, ends, answer.headers());
        }
        strip(answer.headers_mut());
        match arrival.exchange {
            Some(exchange) => exchange.response(answer).await,
            None => answer,
        }
    }

    fn arrival(&self, request: &Parts, message: &Message) -> Arrival {
        let session = Signs::of_session(&request.headers);
        let unnamed = message.whole().filter(|_| session.is_none());
        let Head { greets, client } = unnamed.map(|bytes| Head::of(&bytes)).unwrap_or_default();
        let signs = session.unwrap_or_else(|| self.sessions.signs(request, client.as_deref()));
        let is_post = request.method == Method::POST;
        let begins = greets && is_post;
        let (connection, way) = if is_post {
            let number = self.exchanges.fetch_add(1, Ordering::Relaxed);
            (self.connection(&signs, begins), Way::Exchange(number))
        } else {
            (self.sessions.find(&signs), Way::Common)
        };
        Arrival { exchange: connection.map(|connection| Exchange { connection, way }), signs, begins }
    }

    fn connection(&self, signs: &Signs, begins: bool) -> Option<Connection> {
        let known = if begins { None } else { self.sessions.find(signs) };
        if known.is_some() {
            return known;
        }
        let mut proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = proxy.as_mut()?.connect(&self.origin);
        if !begins {
            self.sessions.keep(signs, &connection);
        }
        Some(connection)
    }

    /// Which requests belong together after one that the server took.
    fn remember(&self, Arrival { exchange, signs, begins }: &Arrival, ends: bool, answer: &HeaderMap) {
        if ends && signs.is_session() {
            self.sessions.end(signs);
        } else if let Some(exchange) = exchange.as_ref().filter(|_| *begins) {
            let session = Signs::of_session(answer);
            self.sessions.keep(session.as_ref().unwrap_or(signs), &exchange.connection);
        }
    }

    async fn send(&self, parts: Parts, message: Message) -> reqwest::Result<reqwest::Response> {
        let target = parts.uri.path_and_query().map_or("/", |p| p.as_str());
        let url = format!("{}{target}", self.origin);
        let mut headers = parts.headers;
        strip(&mut headers);
        // The host is another one, and what is compressed could not be read here.
        for name in [header::HOST, header::ACCEPT_ENCODING] {
            headers.remove(name);
        }
        self.http.request(parts.method, url).headers(headers).body(message).send().await
    }
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
