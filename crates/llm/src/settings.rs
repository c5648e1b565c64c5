use std::time::Duration;

use hindsight_ports::LlmError;
use secrecy::SecretString;

/// Most endpoints that can stand in for each other.
pub const MAX_ENDPOINTS: usize = 4;

/// Models and the rules they are used by.
#[derive(Debug, Clone)]
pub struct LlmSettings {
    /// In the order in which they are asked; the next one answers while one cannot.
    pub endpoints: Vec<EndpointSettings>,
    /// Input and output of one tenant in one day of UTC, counted by this process. `None`: no bound.
    pub daily_tokens_per_tenant: Option<u64>,
    /// Memory for replies that may be given again, in bytes; 0: none are.
    pub cache_bytes: u64,
}

impl LlmSettings {
    pub fn new(endpoint: EndpointSettings) -> Self {
        Self { endpoints: vec![endpoint], daily_tokens_per_tenant: None, cache_bytes: 16 << 20 }
    }
}

/// Which language an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// `/chat/completions`: OpenAI, vLLM, Ollama, llama.cpp, gateways.
    OpenAi,
    /// `/messages`.
    Anthropic,
}

#[derive(Debug, Clone)]
pub struct EndpointSettings {
    pub provider: Provider,
    /// Up to and without `/chat/completions` or `/messages`: `https://api.openai.com/v1`.
    pub url: String,
    pub model: String,
    pub api_key: Option<SecretString>,
    pub connect_timeout: Duration,
    /// For one request, from connecting to the last byte of the answer.
    pub timeout: Duration,
    /// Tries after the first, while the endpoint is away or overloaded.
    pub retries: usize,
    /// Requests at a time.
    pub concurrency: usize,
    pub prices: Prices,
    /// Calls in a row that fail until the endpoint is left alone.
    pub breaker_failures: u32,
    /// For how long.
    pub breaker_pause: Duration,
}

/// In any currency, per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
}

impl EndpointSettings {
    pub fn new(provider: Provider, url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider,
            url: url.into(),
            model: model.into(),
            api_key: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(120),
            retries: 2,
            concurrency: 4,
            prices: Prices::default(),
            breaker_failures: 5,
            breaker_pause: Duration::from_secs(30),
        }
    }

    pub(crate) fn check(&self) -> Result<(), LlmError> {
        let wrong = |problem: &str| Err(LlmError::Misconfigured { reason: problem.to_owned() });
        if self.model.trim().is_empty() {
            return wrong("model is empty; name the model that the endpoint serves");
        }
        if self.timeout.is_zero() || self.connect_timeout.is_zero() {
            return wrong("timeout or connect_timeout is 0; give the endpoint time to answer");
        }
        if self.concurrency == 0 {
            return wrong("concurrency is 0; allow at least 1 request at a time");
        }
        if self.breaker_failures == 0 {
            return wrong("breaker_failures is 0; allow at least 1");
        }
        let prices = [self.prices.input, self.prices.output];
        if prices.iter().any(|p| !p.is_finite() || *p < 0.0) {
            return wrong("a price is negative or no number; give what a million tokens cost");
        }
        Ok(())
    }
}
