use std::{ops::AddAssign, time::Duration};

use async_trait::async_trait;
use hindsight_types::{TenantId, Timestamp};
use serde_json::Value;

/// How long to wait before another try when nobody said: of an endpoint that is away, or slow.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// What a model is asked. Two equal requests may be answered from a cache: who wants a second opinion gives
/// another `seed`.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmRequest {
    /// Who pays.
    pub tenant: TenantId,
    /// What to do. Written by us alone, never with observed text in it.
    pub system: String,
    /// What to do it with. Observed text in it is fenced by the caller.
    pub user: String,
    /// The shape the answer must have; any text when absent.
    pub schema: Option<JsonSchema>,
    /// The answer is cut there, which is [`LlmError::Truncated`].
    pub max_output_tokens: u32,
    /// 0: the likeliest answer.
    pub temperature: f32,
    /// Same seed, same answer, where the model can do that.
    pub seed: Option<u64>,
}

/// A JSON schema. Keep to what every server knows: objects with `required` and
/// `additionalProperties: false`, arrays, `enum`, strings, numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonSchema {
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    pub schema: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmReply {
    /// Of a request with a schema: one JSON value and nothing else around it. That it fits the schema is
    /// for the caller to check, since not every server can hold a model to it.
    pub text: String,
    /// As the endpoint names the model that answered.
    pub model: String,
    /// What the answer took when it was made.
    pub usage: LlmUsage,
    /// It was made before: nothing was spent now.
    pub cached: bool,
}

/// Tokens as the endpoint counts them (estimated where it does not tell), and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LlmUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Millionths of the currency that prices are set in; 0 without prices.
    pub cost_micros: u64,
}

impl LlmUsage {
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl AddAssign for LlmUsage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

/// Why there is no answer. Whether the same request can succeed later: [`LlmError::retry_after`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The endpoint is away or broken.
    #[error("model unavailable: {reason}")]
    Unavailable { reason: String, retry_after: Option<Duration> },
    /// No answer in time. It may have been made, and paid for, all the same.
    #[error("model did not answer within {after:?}")]
    TimedOut { after: Duration },
    /// The endpoint wants fewer requests or tokens per minute.
    #[error("model overloaded: {reason}")]
    RateLimited { reason: String, retry_after: Option<Duration> },
    /// The endpoint failed often and is left alone for a while; it was not asked.
    #[error("model failed often and is left alone until {until}")]
    CircuitOpen { until: Timestamp },
    /// The tenant has used up its tokens of the day; the endpoint was not asked.
    #[error(
        "tenant {tenant} has {left} tokens left until {resets_at}, the request needs about {needed}; raise \
         llm.daily_tokens_per_tenant or wait"
    )]
    BudgetExceeded { tenant: TenantId, needed: u64, left: u64, resets_at: Timestamp },
    /// The endpoint takes no such request: too long, or a parameter it does not know.
    #[error("model refused the request: {reason}")]
    InvalidRequest { reason: String },
    /// The model will not answer this: a content filter, or a refusal in words.
    #[error("model declined to answer: {reason}")]
    Declined { reason: String },
    /// The answer reached `max_output_tokens`; `text` is what there was of it.
    #[error("model's answer was cut at {max_output_tokens} tokens")]
    Truncated { text: String, max_output_tokens: u32, usage: LlmUsage },
    /// What came back is not an answer, or not JSON where a schema was given.
    #[error("model's answer cannot be read: {reason}")]
    Malformed { reason: String, usage: LlmUsage },
    /// Key, address or model name are wrong: no request will succeed until someone mends the settings.
    #[error("model misconfigured: {reason}")]
    Misconfigured { reason: String },
}

impl LlmError {
    /// When the same request is worth another try, from `now`. `None`: it will fail again. A `Malformed` or
    /// `Truncated` answer may come out otherwise with another prompt or seed, which is for the caller to do.
    pub fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } | Self::RateLimited { retry_after, .. } => {
                Some(retry_after.unwrap_or(DEFAULT_WAIT))
            }
            Self::TimedOut { .. } => Some(DEFAULT_WAIT),
            Self::CircuitOpen { until } | Self::BudgetExceeded { resets_at: until, .. } => {
                Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
            }
            Self::InvalidRequest { .. }
            | Self::Declined { .. }
            | Self::Truncated { .. }
            | Self::Malformed { .. }
            | Self::Misconfigured { .. } => None,
        }
    }

    /// What was spent although there is no answer to show for it.
    pub fn usage(&self) -> LlmUsage {
        match self {
            Self::Truncated { usage, .. } | Self::Malformed { usage, .. } => *usage,
            _ => LlmUsage::default(),
        }
    }
}

/// A language model that answers one question at a time.
#[async_trait]
pub trait Llm: Send + Sync + 'static {
    /// The model asked for, as verdicts name it: `gpt-4o-mini`. Of several that stand in for each other,
    /// the first.
    fn model(&self) -> &str;

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError>;
}
