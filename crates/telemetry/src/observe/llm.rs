use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use hindsight_ports::{Llm, LlmError, LlmReply, LlmRequest, LlmUsage};
use tracing::Instrument as _;

use crate::{Label, Metric, span};

/// A model whose calls are counted, timed and traced.
pub fn llm(inner: Arc<dyn Llm>) -> Arc<dyn Llm> {
    Arc::new(Observed(inner))
}

/// Notes that a model, by its place in the settings, begins to be left alone, or is back.
pub fn llm_breaker(place: usize, open: bool) {
    let place = ["first", "second", "third"].get(place).copied().unwrap_or("fourth");
    Metric::LlmBreakerOpen.set(if open { 1.0 } else { 0.0 }, &[(Label::Endpoint, place)]);
}

struct Observed(Arc<dyn Llm>);

#[async_trait]
impl Llm for Observed {
    fn model(&self) -> &str {
        self.0.model()
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let begun = Instant::now();
        let span = span::chat(self.model(), request.max_output_tokens);
        let result = self.0.complete(request).instrument(span.clone()).await;
        let (word, usage) = match &result {
            Ok(reply) if reply.cached => ("cached", LlmUsage::default()),
            Ok(reply) => {
                span::chat_ended(&span, &reply.model, reply.usage);
                ("ok", reply.usage)
            }
            Err(error) => {
                span::failed(&span, word(error));
                (word(error), error.usage())
            }
        };
        Metric::GenAiDuration.record(begun.elapsed().as_secs_f64(), &[(Label::Result, word)]);
        count(usage);
        result
    }
}

fn count(usage: LlmUsage) {
    if usage == LlmUsage::default() {
        return;
    }
    for (tokens, kind) in [(usage.input_tokens, "input"), (usage.output_tokens, "output")] {
        Metric::GenAiTokens.record(tokens as f64, &[(Label::TokenType, kind)]);
    }
    Metric::LlmCost.add(usage.cost_micros, &[]);
}

/// Without the details, which may quote the text.
fn word(error: &LlmError) -> &'static str {
    match error {
        LlmError::Unavailable { .. } => "unavailable",
        LlmError::TimedOut { .. } => "timeout",
        LlmError::RateLimited { .. } => "rate_limited",
        LlmError::CircuitOpen { .. } => "left_alone",
        LlmError::BudgetExceeded { .. } => "budget",
        LlmError::InvalidRequest { .. } => "invalid_request",
        LlmError::Declined { .. } => "declined",
        LlmError::Truncated { .. } => "truncated",
        LlmError::Malformed { .. } => "malformed",
        LlmError::Misconfigured { .. } => "misconfigured",
    }
}
