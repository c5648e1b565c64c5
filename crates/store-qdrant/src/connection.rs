use std::{
    future::Future,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use hindsight_ports::StoreError;
use qdrant_client::qdrant::{HealthCheckRequest, qdrant_client::QdrantClient};
use secrecy::ExposeSecret;
use tokio::time::{Instant, timeout_at};
use tonic::{
    Request, Response, Status,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, ClientTlsConfig, Endpoint},
};

use crate::{
    QdrantOptions,
    failure::{Failure, Kind},
    options::rejected,
    version::Version,
};

/// Attempts after the first; an outage that outlives them is for the caller to wait out.
const RETRIES: usize = 3;
const RETRY_AFTER: Duration = Duration::from_millis(50);
/// Making a collection or an index may mean reading all that is there.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);
/// A connection that does not answer this is given up.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// One kind of call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    name: &'static str,
    /// Whether doing it twice is the same as doing it once.
    idempotent: bool,
    setup: bool,
}

impl Call {
    pub(crate) const fn idempotent(name: &'static str) -> Self {
        Self { name, idempotent: true, setup: false }
    }

    pub(crate) const fn once(name: &'static str) -> Self {
        Self { name, idempotent: false, setup: false }
    }

    pub(crate) const fn setup(name: &'static str) -> Self {
        Self { name, idempotent: true, setup: true }
    }

    fn may_repeat(self, failure: &Failure) -> bool {
        match failure.kind {
            Kind::Unsent => true,
            Kind::Broken => self.idempotent,
            Kind::Missing | Kind::Final => false,
        }
    }
}

/// Connections to one server, made when they are needed and made anew when they break.
#[derive(Debug)]
pub(crate) struct Connection {
    server: String,
    channels: Vec<Channel>,
    next: AtomicUsize,
    api_key: Option<MetadataValue<Ascii>>,
    timeout: Duration,
    /// The server's, once it has said so and until a connection to it breaks: another may come up then.
    version: Mutex<Option<Version>>,
}

impl Connection {
    pub(crate) fn new(options: &QdrantOptions) -> Result<Self, StoreError> {
        let uri = options.check()?;
        let tls = uri.scheme_str() == Some("https");
        if options.api_key.is_some() && !tls {
            tracing::warn!(url = options.url, "the API key of Qdrant crosses the network without TLS");
        }
        let mut endpoint = Endpoint::from(uri)
            .connect_timeout(options.connect_timeout)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true);
        if tls {
            endpoint = endpoint
                .tls_config(ClientTlsConfig::new().with_native_roots())
                .map_err(|e| rejected("url", &format!("TLS cannot be set up: {e}")))?;
        }
        Ok(Self {
            server: options.url.trim_end_matches('/').to_owned(),
            channels: (0..options.connections).map(|_| endpoint.connect_lazy()).collect(),
            next: AtomicUsize::new(0),
            api_key: options.api_key.as_ref().map(|key| header(key.expose_secret())).transpose()?,
            timeout: options.timeout,
            version: Mutex::new(None),
        })
    }

    /// Makes `call`, again where that is safe and may help. `rpc` sends `message` over the channel it is given.
    pub(crate) async fn call<M, R, F>(
        &self,
        call: Call,
        message: M,
        rpc: impl Fn(Channel, Request<M>) -> F + Sync,
    ) -> Result<R, Failure>
    where
        M: Clone + Send + Sync,
        R: Send,
        F: Future<Output = Result<Response<R>, Status>> + Send,
    {
        let limit = if call.setup { self.timeout.max(SETUP_TIMEOUT) } else { self.timeout };
        let deadline = Instant::now() + limit;
        let attempt = || async {
            self.version(deadline).await?;
            self.attempt(call.name, deadline, message.clone(), &rpc).await
        };
        let policy =
            ExponentialBuilder::default().with_min_delay(RETRY_AFTER).with_max_times(RETRIES).with_jitter();
        let mut last = None;
        let attempts = attempt
            .retry(policy)
            .when(|failure: &Failure| call.may_repeat(failure))
            .notify(|failure, _| last = Some(failure.error.to_string()));
        match timeout_at(deadline, attempts).await {
            Ok(result) => result,
            Err(_) => Err(self.too_late(call.name, limit, last)),
        }
    }

    /// Asks the server for its version, whatever was known of it.
    pub(crate) async fn check_version(&self, deadline: Instant) -> Result<Version, Failure> {
        self.set_version(None);
        let rpc = |channel, request| async move { QdrantClient::new(channel).health_check(request).await };
        let reply = self.attempt("health check", deadline, HealthCheckRequest {}, &rpc).await;
        let reply = reply.map_err(|failure| match (failure.kind, failure.error) {
            (kind @ Kind::Broken, StoreError::Unavailable(why)) => {
                let error = StoreError::Unavailable(format!("{why} (is it Qdrant's gRPC port, 6334?)"));
                Failure { kind, error }
            }
            (kind, error) => Failure { kind, error },
        })?;
        let needed = Version::CONDITIONAL_UPSERTS;
        match Version::parse(&reply.version) {
            Some(version) if version >= needed => {
                self.set_version(Some(version));
                Ok(version)
            }
            Some(_) => Err(Failure::unavailable(format!(
                "Qdrant at {} is of version {}, which ignores the conditions of conditional writes; \
                 upgrade it to {needed} or later",
                self.server, reply.version
            ))),
            None => Err(Failure::unavailable(format!(
                "{} calls itself {:?} of version {:?}; Qdrant {needed} or later is needed",
                self.server, reply.title, reply.version
            ))),
        }
    }

    pub(crate) async fn version(&self, deadline: Instant) -> Result<Version, Failure> {
        let known = *self.version.lock().unwrap_or_else(PoisonError::into_inner);
        match known {
            Some(version) => Ok(version),
            None => self.check_version(deadline).await,
        }
    }

    /// When a call that begins now must have ended.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    fn set_version(&self, version: Option<Version>) {
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    async fn attempt<M, R, F>(
        &self,
        name: &str,
        deadline: Instant,
        message: M,
        rpc: &(impl Fn(Channel, Request<M>) -> F + Sync),
    ) -> Result<R, Failure>
    where
        F: Future<Output = Result<Response<R>, Status>> + Send,
    {
        let mut request = Request::new(message);
        // So that the server does not work for someone who has left.
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        if let Some(key) = &self.api_key {
            request.metadata_mut().insert("api-key", key.clone());
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.channels.len();
        let sent = rpc(self.channels[index].clone(), request);
        match timeout_at(deadline, sent).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => {
                let failure = Failure::of(name, &self.server, &status);
                if matches!(failure.kind, Kind::Unsent | Kind::Broken) {
                    self.set_version(None);
                }
                Err(failure)
            }
            Err(_) => Err(self.too_late(name, self.timeout, None)),
        }
    }

    fn too_late(&self, name: &str, limit: Duration, last: Option<String>) -> Failure {
        let last = last.map(|last| format!("; the last attempt: {last}")).unwrap_or_default();
        let server = &self.server;
        Failure::unavailable(format!("Qdrant at {server}: {name}: no answer within {limit:?}{last}"))
    }
}

fn header(key: &str) -> Result<MetadataValue<Ascii>, StoreError> {
    let refused = || rejected("api_key", "must be one word of visible ASCII");
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(refused());
    }
    let mut value: MetadataValue<Ascii> = key.parse().map_err(|_| refused())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
