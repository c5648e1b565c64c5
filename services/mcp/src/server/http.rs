//! The server over streamable HTTP, at `/mcp`.

use std::{io, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use hindsight_client::Client;
use hindsight_proto::{common::v1::MemoryKind, memory::v1::ListMemoriesRequest};
use http::{StatusCode, header};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::Code;

use super::{Access, MemoryServer, access::Unidentified};
use crate::Memory;

/// Where the server is reached.
const PATH: &str = "/mcp";

/// The address may not be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "{0} is reached from other machines, and Hindsight asks for no API key: anyone could read and write its \
         memories; set keys (`hindsight key new`) or serve 127.0.0.1"
    )]
    NoKeys(std::net::SocketAddr),
    #[error("Hindsight does not say whether it asks for API keys: {0}")]
    Unknown(hindsight_client::Error),
    #[error("Hindsight is not reached, so it is not known whether it asks for API keys")]
    Away,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What web pages are let in from is no origin.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no origin: write it like https://app.example.com:443, without a path")]
pub struct OriginError(String);

/// An origin as browsers send it; `*` may stand for its port.
pub fn origin(text: &str) -> Result<String, OriginError> {
    let invalid = || OriginError(text.to_owned());
    let uri: http::Uri = text.strip_suffix(":*").unwrap_or(text).parse().map_err(|_| invalid())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(invalid()) };
    let written = text.get(scheme.len() + "://".len()..).unwrap_or_default();
    let only = written.strip_suffix(":*").unwrap_or(written) == authority.as_str();
    if only && !authority.as_str().contains('@') { Ok(text.to_owned()) } else { Err(invalid()) }
}

/// Ready to serve.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    access: Access,
    origins: Vec<String>,
    local: bool,
}

impl HttpServer {
    /// Serves this machine alone with the key of this process, where callers bring none. On any other address each
    /// caller must bring a key that Hindsight knows, and Hindsight must ask for one. Browsers are let in from
    /// `origins` only.
    pub async fn new(listener: TcpListener, memory: Memory, origins: Vec<String>) -> Result<Self, OpenError> {
        let address = listener.local_addr()?;
        let local = address.ip().is_loopback();
        if local {
            return Ok(Self { listener, access: Access::own(memory), origins, local });
        }
        let access = Access::brought(memory);
        let client = access.client().await.ok_or(OpenError::Away)?;
        match check(&client.without_key()).await {
            Err(e) if e.code == Code::Unauthenticated => {}
            Err(e) if e.code != Code::PermissionDenied => return Err(OpenError::Unknown(e)),
            _ => return Err(OpenError::NoKeys(address)),
        }
        Ok(Self { listener, access, origins, local })
    }

    pub fn path(&self) -> &'static str {
        PATH
    }

    /// Serves until `stop` is there.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let ended = CancellationToken::new();
        let _sessions = ended.clone().drop_guard();
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_origins(self.origins)
            .enforce_origin_validation();
        config.cancellation_token = ended;
        if !self.local {
            // A name that points here gets nobody past the key.
            config = config.disable_allowed_hosts();
        }
        let access = self.access.clone();
        let service = StreamableHttpService::new(
            move || Ok(MemoryServer::new(access.clone())),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let router = Router::new()
            .route_service(PATH, service)
            .layer(middleware::from_fn_with_state(self.access, identified));
        tokio::select! {
            served = axum::serve(self.listener, router) => served,
            () = stop => Ok(()),
        }
    }
}

/// Lets a request through when somebody answers for it. Within a session each call is checked by Hindsight
/// itself, with the key that it brings.
async fn identified(State(access): State<Access>, request: Request, next: Next) -> Response {
    let client = match access.of_headers(request.headers()).await {
        Ok(client) => client,
        Err(away @ Unidentified::Away) => {
            return (StatusCode::SERVICE_UNAVAILABLE, away.to_string()).into_response();
        }
        Err(unidentified) => return unauthorized(&unidentified.to_string()),
    };
    let begins = !request.headers().contains_key("mcp-session-id");
    if begins && request.headers().contains_key(header::AUTHORIZATION) {
        match access.note(check(&client).await) {
            Err(e) if e.code == Code::Unauthenticated => return unauthorized(&e.to_string()),
            Err(e) if e.code == Code::Unavailable => {
                return (StatusCode::SERVICE_UNAVAILABLE, e.to_string()).into_response();
            }
            _ => {}
        }
    }
    next.run(request).await
}

fn unauthorized(why: &str) -> Response {
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"hindsight\"")];
    (StatusCode::UNAUTHORIZED, challenge, why.to_owned()).into_response()
}

/// A call that costs little and shows whether the key is known.
async fn check(client: &Client) -> Result<(), hindsight_client::Error> {
    let request = ListMemoriesRequest {
        kind: MemoryKind::Lesson.into(),
        page_size: 1,
        ..ListMemoriesRequest::default()
    };
    client.list_memories(request).await.map(drop)
}
