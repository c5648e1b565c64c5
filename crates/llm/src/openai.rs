mod dialect;
mod wire;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use hindsight_ports::{Clock, Llm, LlmError, LlmReply, LlmRequest, LlmUsage};
use reqwest::StatusCode;

use crate::{
    EndpointSettings,
    endpoint::{Endpoint, Failure},
};
use dialect::Dialect;

/// A model behind an OpenAI-compatible `/chat/completions`.
///
/// Such servers differ in what they take. The first refusal of a feature is answered by the next best way
/// of asking, and what worked is remembered for the life of the process.
pub(crate) struct OpenAi {
    endpoint: Endpoint,
    known: Mutex<Known>,
}

/// What experience with a server has shown.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    dialect: Dialect,
    /// An answer of the wanted shape has come this way. One that is not is then the model's slip.
    proven: bool,
}

impl OpenAi {
    pub(crate) fn new(settings: &EndpointSettings, clock: Arc<dyn Clock>) -> Result<Self, LlmError> {
        let endpoint = Endpoint::new(settings, "/chat/completions", clock)?;
        Ok(Self { endpoint, known: Mutex::default() })
    }

    async fn ask(&self, request: &LlmRequest, dialect: Dialect) -> Result<LlmReply, Failure> {
        let body = wire::request(&self.endpoint.model, request, dialect);
        let sign = |call: reqwest::RequestBuilder, key: Option<&str>| match key {
            Some(key) => call.bearer_auth(key),
            None => call,
        };
        let answer = self.endpoint.call(&body, sign).await?;
        wire::reply(&answer, request, &self.endpoint).map_err(Failure::Broken)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that this way of asking works, and says so when it is not the usual one.
    fn remember(&self, dialect: Dialect, request: &LlmRequest, first: Option<&LlmError>) {
        let mut known = self.known();
        let proven = request.schema.is_some() || (known.proven && known.dialect == dialect);
        *known = Known { dialect, proven };
        drop(known);
        if let Some(why) = first {
            tracing::warn!(
                model = self.endpoint.model, ?dialect, %why,
                "the endpoint does not take all of OpenAI's protocol; it is asked this way from now on"
            );
        }
    }
}

#[async_trait]
impl Llm for OpenAi {
    fn model(&self) -> &str {
        &self.endpoint.model
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let Known { mut dialect, proven } = *self.known();
        let mut first: Option<LlmError> = None;
        let mut spent = LlmUsage::default();
        // Each round gives up one feature, of which there are five.
        loop {
            let (why, error) = match self.ask(request, dialect).await {
                Ok(mut reply) => {
                    self.remember(dialect, request, first.as_ref());
                    reply.usage += spent;
                    return Ok(reply);
                }
                Err(Failure::Refused(refusal)) if is_about_the_request(refusal.status) => {
                    (Some(refusal.text.clone()), LlmError::from(refusal))
                }
                // Some servers ignore a format they do not know.
                Err(Failure::Broken(error @ LlmError::Malformed { .. })) if !proven => (None, error),
                Err(failure) => return Err(failure.into()),
            };
            spent += error.usage();
            let Some(simpler) = dialect.simpler(request, why.as_deref()) else {
                return Err(first.unwrap_or(error));
            };
            dialect = simpler;
            first.get_or_insert(error);
        }
    }
}

/// Servers say "I do not know this parameter" with any of these.
fn is_about_the_request(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY | StatusCode::NOT_IMPLEMENTED)
}

#[cfg(test)]
mod tests;
