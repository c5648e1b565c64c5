//! `[llm]`: the language model that judges, and others that stand in for it. None by default.

use std::time::Duration;

use secrecy::SecretString;
use serde::Serialize;

use crate::{
    adapters::is_url,
    load::required,
    model::{duration, secret},
    section::{Findings, Section},
};

const SECOND: Duration = Duration::from_secs(1);
const KINDS: &[(&str, LlmKind)] = &[("openai", LlmKind::OpenAi), ("anthropic", LlmKind::Anthropic)];
/// Most models that can stand in for the first.
const MAX_FALLBACKS: usize = 3;

#[derive(Debug, Clone, Serialize)]
pub struct Llm {
    /// Absent: no model is asked.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<LlmEndpoint>,
    /// Input and output of one tenant in one day of UTC, counted by each process. Absent: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_tokens_per_tenant: Option<u64>,
    /// Memory for replies that may be given again; 0: none are.
    pub cache_mib: u64,
    /// Asked in this order while the model cannot answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<LlmEndpoint>,
}

impl Default for Llm {
    fn default() -> Self {
        Self { endpoint: None, daily_tokens_per_tenant: None, cache_mib: 16, fallbacks: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LlmKind {
    /// OpenAI, vLLM, Ollama, llama.cpp, gateways: all that serve `/chat/completions`.
    OpenAi,
    /// `/messages`.
    Anthropic,
}

/// Where a model is and how it is used.
#[derive(Debug, Clone, Serialize)]
pub struct LlmEndpoint {
    pub kind: LlmKind,
    /// Up to and without `/chat/completions` or `/messages`.
    pub url: String,
    pub model: String,
    #[serde(serialize_with = "secret", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    #[serde(serialize_with = "duration")]
    pub connect_timeout: Duration,
    /// Of one request, to the last byte of its answer.
    #[serde(serialize_with = "duration")]
    pub timeout: Duration,
    /// Tries after the first, while the endpoint is away or overloaded.
    pub retries: usize,
    /// Requests at a time.
    pub concurrency: usize,
    /// Of a million tokens, in any currency.
    pub input_price: f64,
    pub output_price: f64,
    /// Calls in a row that fail until the endpoint is left alone.
    pub breaker_failures: u32,
    /// For how long.
    #[serde(serialize_with = "duration")]
    pub breaker_pause: Duration,
}

pub(crate) fn llm(mut s: Section<'_>, f: &mut Findings) -> Llm {
    let d = Llm::default();
    // Without an address there is no model, unless another key says that one was meant.
    let is_meant =
        ["url", "model", "kind", "api_key", "api_key_file", "fallbacks"].iter().any(|k| s.is_set(k));
    let endpoint = if is_meant { endpoint(&mut s, f) } else { None };
    let daily_tokens_per_tenant = s.number("daily_tokens_per_tenant", 1..=1_000_000_000_000, f);
    let cache_mib = s.number("cache_mib", 0..=4_096, f).unwrap_or(d.cache_mib);
    let tables = s.tables("fallbacks", f);
    if tables.len() > MAX_FALLBACKS {
        f.mistakes
            .push(s.mistake("fallbacks", format!("are {}; name at most {MAX_FALLBACKS}", tables.len())));
    }
    let fallbacks = tables.into_iter().filter_map(|mut t| {
        let fallback = self::endpoint(&mut t, f);
        t.finish(f);
        fallback
    });
    let fallbacks = fallbacks.collect();
    s.finish(f);
    Llm { endpoint, daily_tokens_per_tenant, cache_mib, fallbacks }
}

fn endpoint(s: &mut Section<'_>, f: &mut Findings) -> Option<LlmEndpoint> {
    let kind = s.choice("kind", KINDS, f).unwrap_or(LlmKind::OpenAi);
    let what = match kind {
        LlmKind::OpenAi => "the endpoint, as in \"https://api.openai.com/v1\"",
        LlmKind::Anthropic => "the endpoint, as in \"https://api.anthropic.com/v1\"",
    };
    let url = required(s.text("url", f), "url", what, s, f);
    let url = url.filter(|u| is_url(u, &["http://", "https://"], "api_key_file", s, f));
    let model = required(s.text("model", f), "model", "the name the endpoint knows it by", s, f);
    let endpoint = LlmEndpoint {
        kind,
        url: url.clone().unwrap_or_default(),
        model: model.clone().unwrap_or_default(),
        api_key: s.secret_or_file("api_key", "api_key_file", f),
        connect_timeout: s.duration("connect_timeout", SECOND / 10..=60 * SECOND, f).unwrap_or(5 * SECOND),
        timeout: s.duration("timeout", SECOND..=3_600 * SECOND, f).unwrap_or(120 * SECOND),
        retries: s.number("retries", 0..=10, f).unwrap_or(2),
        concurrency: s.number("concurrency", 1..=256, f).unwrap_or(4),
        input_price: s.price("input_price", f).unwrap_or(0.0),
        output_price: s.price("output_price", f).unwrap_or(0.0),
        breaker_failures: s.number("breaker_failures", 1..=1_000, f).unwrap_or(5),
        breaker_pause: s.duration("breaker_pause", SECOND..=3_600 * SECOND, f).unwrap_or(30 * SECOND),
    };
    url.and(model).map(|_| endpoint)
}

#[cfg(test)]
mod tests;
