use std::{future::Future, time::Duration};

use backon::{ExponentialBuilder, Retryable as _};
use tonic::{Request, Response, Status};

use crate::Error;

/// Longest pause that a server can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How calls are repeated while the server is away or asks to wait. One layer retries: this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Repetitions after the first try; 0 switches them off.
    pub repeats: usize,
    /// First pause; doubled each time, with jitter. A server that names a pause is obeyed instead.
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

impl Default for RetryPolicy {
    /// Gives a server that restarts about ten seconds.
    fn default() -> Self {
        Self { repeats: 6, first_pause: Duration::from_millis(100), longest_pause: Duration::from_secs(5) }
    }
}

impl RetryPolicy {
    pub fn none() -> Self {
        Self { repeats: 0, ..Self::default() }
    }

    /// Makes the call, each try with its own deadline.
    pub(crate) async fn run<Q, A, F>(
        &self,
        method: &'static str,
        deadline: Duration,
        request: Q,
        call: impl Fn(Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        Q: Clone,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let backoff = ExponentialBuilder::default()
            .with_min_delay(self.first_pause)
            .with_max_delay(self.longest_pause)
            .with_max_times(self.repeats)
            .with_jitter();
        let attempt = || async {
            let mut request = Request::new(request.clone());
            request.set_timeout(deadline);
            // Routes in the same process do not watch the header, so the time is kept here.
            match tokio::time::timeout(deadline, call(request)).await {
                Ok(answer) => answer.map(Response::into_inner).map_err(Error::from),
                Err(_) => Err(Error::deadline(method, deadline)),
            }
        };
        attempt
            .retry(backoff)
            .when(Error::is_transient)
            .adjust(|error, pause| pause.map(|own| error.retry_after.unwrap_or(own).min(LONGEST_WAIT)))
            .await
    }
}
