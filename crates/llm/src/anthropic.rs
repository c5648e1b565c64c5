mod wire;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use hindsight_ports::{Clock, Llm, LlmError, LlmReply, LlmRequest};
use reqwest::{RequestBuilder, StatusCode};

use crate::{
    EndpointSettings,
    endpoint::{Endpoint, Failure},
};

/// The version of the protocol that is spoken.
const VERSION: &str = "2023-06-01";

/// A model behind Anthropic's `/messages`. A wanted shape is asked for as a tool that the model must call.
pub(crate) struct Anthropic {
    endpoint: Endpoint,
    /// Newer models choose their temperature themselves and refuse one.
    temperature: AtomicBool,
}

impl Anthropic {
    pub(crate) fn new(settings: &EndpointSettings, clock: Arc<dyn Clock>) -> Result<Self, LlmError> {
        let endpoint = Endpoint::new(settings, "/messages", clock)?;
        Ok(Self { endpoint, temperature: AtomicBool::new(true) })
    }

    async fn ask(&self, request: &LlmRequest, temperature: bool) -> Result<LlmReply, Failure> {
        let body = wire::request(&self.endpoint.model, request, temperature);
        let sign = |call: RequestBuilder, key: Option<&str>| {
            let call = call.header("anthropic-version", VERSION);
            match key {
                Some(key) => call.header("x-api-key", key),
                None => call,
            }
        };
        let answer = self.endpoint.call(&body, sign).await?;
        wire::reply(&answer, request, &self.endpoint).map_err(Failure::Broken)
    }
}

#[async_trait]
impl Llm for Anthropic {
    fn model(&self) -> &str {
        &self.endpoint.model
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let temperature = self.temperature.load(Ordering::Relaxed);
        match self.ask(request, temperature).await {
            Err(Failure::Refused(refusal))
                if temperature
                    && refusal.status == StatusCode::BAD_REQUEST
                    && refusal.text.contains("temperature") =>
            {
                tracing::warn!(model = self.endpoint.model, "the model takes no temperature; none is sent");
                self.temperature.store(false, Ordering::Relaxed);
                Ok(self.ask(request, false).await?)
            }
            answered => Ok(answered?),
        }
    }
}

#[cfg(test)]
mod tests;
