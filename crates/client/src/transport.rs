use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hindsight_telemetry::span;
use http::{HeaderValue, Request, Response, header::AUTHORIZATION};
use secrecy::{ExposeSecret as _, SecretString};
use tonic::{
    Code, Status,
    body::Body,
    transport::{Channel, ClientTlsConfig, Endpoint},
};
use tower::{Service, ServiceExt as _, util::BoxCloneSyncService};
use tracing::{Instrument as _, Span};

use crate::{Client, ConnectError};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A server that does not answer a ping within these is gone.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Carries calls to services in this process or to a server, with the API key.
#[derive(Clone)]
pub struct Transport {
    route: Route,
    authorization: Option<HeaderValue>,
}

#[derive(Clone)]
enum Route {
    Local(BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>),
    Remote(Channel),
}

impl Transport {
    pub(crate) fn local<S, R>(service: S, key: Option<&SecretString>) -> Result<Self, ConnectError>
    where
        S: Service<Request<Body>, Response = Response<R>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        R: http_body::Body<Data = tonic::codegen::Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        let service = service.map_response(|response: Response<R>| response.map(Body::new));
        Ok(Self { route: Route::Local(BoxCloneSyncService::new(service)), authorization: bearer(key)? })
    }

    pub(crate) fn remote(endpoint: &str, key: Option<&SecretString>) -> Result<Self, ConnectError> {
        let invalid = |problem: String| ConnectError::Endpoint { endpoint: endpoint.to_owned(), problem };
        let secure = endpoint.starts_with("https://");
        if !secure && !endpoint.starts_with("http://") {
            return Err(invalid("begins with neither http:// nor https://".to_owned()));
        }
        let mut built = Endpoint::from_shared(endpoint.to_owned())
            .map_err(|e| invalid(e.to_string()))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
        if secure {
            built = built
                .tls_config(ClientTlsConfig::new().with_native_roots())
                .map_err(|e| invalid(e.to_string()))?;
        }
        Ok(Self { route: Route::Remote(built.connect_lazy()), authorization: bearer(key)? })
    }
}

impl Client {
    /// The same services with another API key, over the same connection.
    pub fn with_key(&self, key: &SecretString) -> Result<Self, ConnectError> {
        let mut other = self.clone();
        other.transport.authorization = bearer(Some(key))?;
        Ok(other)
    }

    /// The same services without an API key.
    #[must_use]
    pub fn without_key(&self) -> Self {
        let mut other = self.clone();
        other.transport.authorization = None;
        other
    }
}

fn bearer(key: Option<&SecretString>) -> Result<Option<HeaderValue>, ConnectError> {
    let Some(key) = key else { return Ok(None) };
    let mut value =
        HeaderValue::try_from(format!("Bearer {}", key.expose_secret())).map_err(|_| ConnectError::Key)?;
    value.set_sensitive(true);
    Ok(Some(value))
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

impl Route {
    fn call(&mut self, request: Request<Body>) -> Answer {
        match self {
            Self::Local(service) => {
                let answer = service.call(request);
                Box::pin(async move { answer.await.map_err(|never| match never {}) })
            }
            Self::Remote(channel) => {
                let answer = channel.call(request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }
        }
    }
}

/// Whether the call succeeded, as far as the head of the answer tells: an error is in it, and a stream
/// says how it ends only at its end.
fn status(answer: &Result<Response<Body>, BoxError>) -> Code {
    match answer {
        Ok(response) => Status::from_header_map(response.headers()).map_or(Code::Ok, |s| s.code()),
        Err(_) => Code::Unavailable,
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Answer;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match &mut self.route {
            Route::Local(service) => service.poll_ready(cx).map_err(|never| match never {}),
            Route::Remote(channel) => channel.poll_ready(cx).map_err(Into::into),
        }
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(key) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, key.clone());
        }
        let path = request.uri().path().to_owned();
        let span = span::client(&path, request.headers_mut());
        let answer = span.in_scope(|| self.route.call(request));
        Box::pin(
            async move {
                let answer = answer.await;
                span::client_ended(&Span::current(), status(&answer));
                answer
            }
            .instrument(span),
        )
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.route {
            Route::Local(_) => "Transport::Local",
            Route::Remote(_) => "Transport::Remote",
        })
    }
}
