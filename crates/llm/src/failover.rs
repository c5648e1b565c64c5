use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use hindsight_ports::{Clock, Llm, LlmError, LlmReply, LlmRequest};

/// Asks the first; while it cannot answer, the next. What is wrong with a request is not asked twice.
pub struct Failover {
    first: Arc<dyn Llm>,
    others: Vec<Arc<dyn Llm>>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Failover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let models = std::iter::once(&self.first).chain(&self.others).map(|llm| llm.model());
        f.debug_list().entries(models).finish()
    }
}

impl Failover {
    pub fn new(first: Arc<dyn Llm>, others: Vec<Arc<dyn Llm>>, clock: Arc<dyn Clock>) -> Self {
        Self { first, others, clock }
    }

    /// Of two failures, the one that passes sooner.
    fn hopefuller(&self, a: LlmError, b: LlmError) -> LlmError {
        let now = self.clock.now();
        let wait = |error: &LlmError| error.retry_after(now).unwrap_or(Duration::MAX);
        if wait(&b) < wait(&a) { b } else { a }
    }
}

/// Whether another endpoint may do better.
fn is_for_another(error: &LlmError) -> bool {
    matches!(
        error,
        LlmError::Unavailable { .. }
            | LlmError::TimedOut { .. }
            | LlmError::RateLimited { .. }
            | LlmError::CircuitOpen { .. }
            | LlmError::Misconfigured { .. }
    )
}

#[async_trait]
impl Llm for Failover {
    fn model(&self) -> &str {
        self.first.model()
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let mut failed = match self.first.complete(request).await {
            Err(error) if is_for_another(&error) => error,
            answered => return answered,
        };
        for next in &self.others {
            tracing::warn!(error = %failed, model = next.model(), "another model is asked in place of one that fails");
            match next.complete(request).await {
                Err(error) if is_for_another(&error) => failed = self.hopefuller(failed, error),
                answered => return answered,
            }
        }
        Err(failed)
    }
}

#[cfg(test)]
mod tests {
    use hindsight_ports::testkit::llm::{ScriptedLlm, reply};
    use rstest::rstest;

    use super::*;
    use crate::{testing::ManualClock, tokens::tests::request};

    fn wait(seconds: u64) -> LlmError {
        LlmError::RateLimited { reason: "busy".into(), retry_after: Some(Duration::from_secs(seconds)) }
    }

    fn key() -> LlmError {
        LlmError::Misconfigured { reason: "api_key".into() }
    }

    async fn run(answers: [Result<LlmReply, LlmError>; 3]) -> (Result<LlmReply, LlmError>, [usize; 3]) {
        let llms = answers.map(|answer| Arc::new(ScriptedLlm::new([answer])));
        let [first, second, third] = llms.clone();
        let failover = Failover::new(first, vec![second, third], Arc::new(ManualClock::default()));
        let result = failover.complete(&request("s", "u")).await;
        (result, llms.map(|llm| llm.requests().len()))
    }

    #[tokio::test]
    async fn the_first_answers_alone_when_it_can() {
        assert_eq!(run([Ok(reply("a")), Ok(reply("b")), Ok(reply("c"))]).await, (Ok(reply("a")), [1, 0, 0]));
    }

    #[tokio::test]
    async fn the_next_answers_in_its_place() {
        assert_eq!(run([Err(key()), Ok(reply("b")), Ok(reply("c"))]).await, (Ok(reply("b")), [1, 1, 0]));
    }

    #[rstest]
    #[case(LlmError::InvalidRequest { reason: "too long".into() })]
    #[case(LlmError::Declined { reason: "no".into() })]
    #[tokio::test]
    async fn a_bad_request_stays_one(#[case] error: LlmError) {
        assert_eq!(run([Err(error.clone()), Ok(reply("b")), Ok(reply("c"))]).await, (Err(error), [1, 0, 0]));
    }

    #[tokio::test]
    async fn when_all_fail_the_one_that_passes_soonest_is_told() {
        assert_eq!(run([Err(key()), Err(wait(60)), Err(wait(90))]).await, (Err(wait(60)), [1, 1, 1]));
        assert_eq!(run([Err(wait(60)), Err(key()), Err(wait(9))]).await, (Err(wait(9)), [1, 1, 1]));
    }
}
