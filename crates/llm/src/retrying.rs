use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable as _};
use hindsight_ports::{Llm, LlmError, LlmReply, LlmRequest};

/// The longest wait between two tries. An endpoint that asks for more is not asked again here: who called
/// knows better how long it can wait.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Tries again while an endpoint is away or overloaded. Not after a time-out: the first answer may have been
/// made, and paid for.
pub struct Retrying {
    inner: Arc<dyn Llm>,
    retries: usize,
    first_wait: Duration,
}

impl std::fmt::Debug for Retrying {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retrying").field("retries", &self.retries).finish_non_exhaustive()
    }
}

impl Retrying {
    /// Waits `first_wait` before the second try, then ever longer, with jitter; as long as the endpoint says
    /// when it says so.
    pub fn new(inner: Arc<dyn Llm>, retries: usize, first_wait: Duration) -> Self {
        Self { inner, retries, first_wait }
    }
}

/// What the endpoint said about the next try.
fn told(error: &LlmError) -> Option<Duration> {
    match error {
        LlmError::Unavailable { retry_after, .. } | LlmError::RateLimited { retry_after, .. } => *retry_after,
        _ => None,
    }
}

fn is_worth_another_try(error: &LlmError) -> bool {
    matches!(error, LlmError::Unavailable { .. } | LlmError::RateLimited { .. })
        && told(error).is_none_or(|wait| wait <= MAX_WAIT)
}

#[async_trait]
impl Llm for Retrying {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(self.first_wait)
            .with_max_delay(MAX_WAIT)
            .with_max_times(self.retries);
        (|| self.inner.complete(request))
            .retry(backoff)
            .when(is_worth_another_try)
            .adjust(|error, wait| wait.map(|wait| told(error).unwrap_or(wait)))
            .notify(|error, wait| tracing::warn!(%error, ?wait, "the model will be asked again"))
            .await
    }
}

#[cfg(test)]
mod tests {
    use hindsight_ports::testkit::llm::{ScriptedLlm, reply};
    use rstest::rstest;

    use super::*;
    use crate::tokens::tests::request;

    fn away(retry_after: Option<u64>) -> LlmError {
        LlmError::Unavailable { reason: "away".into(), retry_after: retry_after.map(Duration::from_secs) }
    }

    fn busy(retry_after: Option<u64>) -> LlmError {
        LlmError::RateLimited { reason: "busy".into(), retry_after: retry_after.map(Duration::from_secs) }
    }

    async fn run(script: Vec<Result<LlmReply, LlmError>>) -> (Result<LlmReply, LlmError>, usize) {
        let inner = Arc::new(ScriptedLlm::new(script));
        let llm = Retrying::new(inner.clone(), 2, Duration::from_millis(1));
        (llm.complete(&request("s", "u")).await, inner.requests().len())
    }

    #[tokio::test]
    async fn what_passes_is_waited_for() {
        let (result, asked) = run(vec![Err(away(None)), Err(busy(Some(0))), Ok(reply("ok"))]).await;
        assert_eq!((result.unwrap().text.as_str(), asked), ("ok", 3));
    }

    #[tokio::test]
    async fn tries_are_bounded() {
        let (result, asked) = run(vec![Err(away(None)); 9]).await;
        assert_eq!((result, asked), (Err(away(None)), 3));
    }

    #[rstest]
    #[case::hour(busy(Some(3600)))]
    #[case::time_out(LlmError::TimedOut { after: Duration::from_secs(1) })]
    #[case::key(LlmError::Misconfigured { reason: "api_key".into() })]
    #[case::length(LlmError::InvalidRequest { reason: "too long".into() })]
    #[tokio::test]
    async fn what_another_try_cannot_mend_is_told_at_once(#[case] error: LlmError) {
        let (result, asked) = run(vec![Err(error.clone()); 9]).await;
        assert_eq!((result, asked), (Err(error), 1));
    }
}
