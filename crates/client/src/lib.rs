//! The Rust client of Hindsight.
//!
//! A [`Client`] talks to services in the same process ([`Client::local`]) or over the network
//! ([`Client::remote`]); nothing else differs, and both pass the same middleware. Every call has a
//! deadline. Calls are repeated while the server is away or asks to wait, which is safe since everything
//! they write is idempotent.

mod calls;
mod error;
mod recorder;
mod retry;
mod transport;
mod watch;
mod watcher;

use std::{convert::Infallible, time::Duration};

use hindsight_proto::{
    collector::v1::collector_service_client::CollectorServiceClient,
    compactor::v1::compactor_service_client::CompactorServiceClient,
    evaluator::v1::evaluator_service_client::EvaluatorServiceClient,
    memory::v1::memory_service_client::MemoryServiceClient,
    operations::v1::operations_service_client::OperationsServiceClient,
    recall::v1::recall_service_client::RecallServiceClient,
};
use hindsight_types::limits;
use http::{Request, Response};
use secrecy::SecretString;
use tonic::body::Body;
use tower::Service;

pub use hindsight_proto as proto;

pub use error::{ConnectError, Error, Violation};
pub use recorder::{NewTask, Recorder, RecorderSettings, RecorderState, SpoolError, Task};
pub use retry::RetryPolicy;
pub use transport::{BoxError, Transport};
pub use watcher::Watcher;

/// Access to all services. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
    retry: RetryPolicy,
    deadline: Option<Duration>,
}

impl Client {
    /// Calls services in this process: the routes behind the middleware that a server would put there.
    pub fn local<S, R>(service: S, key: Option<&SecretString>) -> Result<Self, ConnectError>
    where
        S: Service<Request<Body>, Response = Response<R>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        R: http_body::Body<Data = tonic::codegen::Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        Ok(Self::over(Transport::local(service, key)?))
    }

    /// Calls a server at `http://HOST:PORT` or `https://HOST:PORT`. Connects with the first call, and again
    /// whenever the connection is lost.
    pub fn remote(endpoint: &str, key: Option<&SecretString>) -> Result<Self, ConnectError> {
        Ok(Self::over(Transport::remote(endpoint, key)?))
    }

    fn over(transport: Transport) -> Self {
        Self { transport, retry: RetryPolicy::default(), deadline: None }
    }

    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Time for each call, instead of [`READ_DEADLINE`] and [`WRITE_DEADLINE`].
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The generated client, for streams and for calls without repetition and deadline.
    pub fn collector(&self) -> CollectorServiceClient<Transport> {
        CollectorServiceClient::new(self.transport.clone())
            .max_decoding_message_size(limits::MESSAGE_BYTES)
            .max_encoding_message_size(limits::MESSAGE_BYTES)
    }

    pub fn recaller(&self) -> RecallServiceClient<Transport> {
        RecallServiceClient::new(self.transport.clone()).max_decoding_message_size(limits::MESSAGE_BYTES)
    }

    pub fn memory(&self) -> MemoryServiceClient<Transport> {
        MemoryServiceClient::new(self.transport.clone()).max_decoding_message_size(limits::MESSAGE_BYTES)
    }

    pub fn compactor(&self) -> CompactorServiceClient<Transport> {
        CompactorServiceClient::new(self.transport.clone()).max_decoding_message_size(limits::MESSAGE_BYTES)
    }

    pub fn operations(&self) -> OperationsServiceClient<Transport> {
        OperationsServiceClient::new(self.transport.clone()).max_decoding_message_size(limits::MESSAGE_BYTES)
    }

    pub fn evaluator(&self) -> EvaluatorServiceClient<Transport> {
        EvaluatorServiceClient::new(self.transport.clone())
            .max_decoding_message_size(limits::MESSAGE_BYTES)
            .max_encoding_message_size(limits::MESSAGE_BYTES)
    }
}

/// Time for a call that reads.
pub const READ_DEADLINE: Duration = Duration::from_secs(15);
/// Time for a call that writes or judges.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(60);
