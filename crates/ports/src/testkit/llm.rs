//! A model that says what a test tells it to.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use crate::{Llm, LlmError, LlmReply, LlmRequest, LlmUsage};

type Answer = dyn FnMut(&LlmRequest) -> Result<LlmReply, LlmError> + Send;

/// Answers by a script and remembers what it was asked.
pub struct ScriptedLlm {
    answer: Mutex<Box<Answer>>,
    requests: Mutex<Vec<LlmRequest>>,
}

impl ScriptedLlm {
    /// Says these, in order; a call after the last is an error that says so.
    pub fn new(script: impl IntoIterator<Item = Result<LlmReply, LlmError>>) -> Self {
        let mut script: VecDeque<_> = script.into_iter().collect();
        Self::answering(move |_| script.pop_front().unwrap_or_else(|| Err(ended())))
    }

    /// Says these texts, in order.
    pub fn saying<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::new(texts.into_iter().map(|text| Ok(reply(text))))
    }

    /// Answers each request as the function does.
    pub fn answering(answer: impl FnMut(&LlmRequest) -> Result<LlmReply, LlmError> + Send + 'static) -> Self {
        Self { answer: Mutex::new(Box::new(answer)), requests: Mutex::default() }
    }

    /// What it was asked so far, in order.
    pub fn requests(&self) -> Vec<LlmRequest> {
        lock(&self.requests).clone()
    }
}

impl fmt::Debug for ScriptedLlm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedLlm").field("requests", &self.requests).finish_non_exhaustive()
    }
}

/// A reply of the model `scripted` that took 100 tokens to read and 10 to write.
pub fn reply(text: impl Into<String>) -> LlmReply {
    LlmReply {
        text: text.into(),
        model: "scripted".to_owned(),
        usage: LlmUsage { input_tokens: 100, output_tokens: 10, cost_micros: 0 },
        cached: false,
    }
}

fn ended() -> LlmError {
    LlmError::Misconfigured { reason: "the script of this test has ended".to_owned() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Llm for ScriptedLlm {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        lock(&self.requests).push(request.clone());
        (lock(&self.answer))(request)
    }
}
