use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use hindsight_ports::{Clock, Llm, LlmError, LlmReply, LlmRequest};
use hindsight_types::Timestamp;

/// Longest time for which an endpoint can ask to be left alone.
const MAX_PAUSE: Duration = Duration::from_secs(15 * 60);

/// Leaves an endpoint alone for a while after it failed so many times in a row. Then one call tries whether
/// it is back; the others are refused until that one has ended.
pub struct Breaker {
    inner: Arc<dyn Llm>,
    clock: Arc<dyn Clock>,
    failures: u32,
    pause: Duration,
    on_change: Box<OnChange>,
    state: Mutex<State>,
}

type OnChange = dyn Fn(bool) + Send + Sync;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Calls go through; so many failed in a row.
    Closed {
        failed: u32,
    },
    Open {
        until: Timestamp,
    },
    /// One call is trying.
    HalfOpen,
}

impl std::fmt::Debug for Breaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Breaker").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Puts the breaker back when the call that tries is dropped before its end.
struct Trial<'a>(&'a Breaker);

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if matches!(*state, State::HalfOpen) {
            *state = State::Open { until: self.0.clock.now() };
        }
    }
}

impl Breaker {
    /// `on_change` hears `true` when the endpoint begins to be left alone, and `false` when it is back.
    pub fn new(
        inner: Arc<dyn Llm>,
        clock: Arc<dyn Clock>,
        failures: u32,
        pause: Duration,
        on_change: impl Fn(bool) + Send + Sync + 'static,
    ) -> Self {
        let state = Mutex::new(State::Closed { failed: 0 });
        Self { inner, clock, failures, pause, on_change: Box::new(on_change), state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call may go through; `Some` when it is the one that tries.
    fn enter(&self) -> Result<Option<Trial<'_>>, LlmError> {
        let now = self.clock.now();
        let mut state = self.state();
        match *state {
            State::Closed { .. } => Ok(None),
            State::Open { until } if now < until => Err(LlmError::CircuitOpen { until }),
            State::Open { .. } => {
                *state = State::HalfOpen;
                Ok(Some(Trial(self)))
            }
            State::HalfOpen => Err(LlmError::CircuitOpen { until: later(now, self.pause) }),
        }
    }

    fn succeeded(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Closed { failed: 0 });
        if !matches!(before, State::Closed { .. }) {
            tracing::info!(model = self.model(), "the model is back");
            (self.on_change)(false);
        }
    }

    fn failed(&self, error: &LlmError) {
        let mut state = self.state();
        let failed = match *state {
            State::Closed { failed } => failed + 1,
            // A call that began before the breaker opened.
            State::Open { .. } => return,
            State::HalfOpen => self.failures,
        };
        if failed < self.failures {
            *state = State::Closed { failed };
            return;
        }
        let asked = told(error).unwrap_or_default().min(MAX_PAUSE);
        let until = later(self.clock.now(), self.pause.max(asked));
        let before = std::mem::replace(&mut *state, State::Open { until });
        drop(state);
        tracing::warn!(model = self.model(), %error, %until, "the model failed often and is left alone");
        if matches!(before, State::Closed { .. }) {
            (self.on_change)(true);
        }
    }
}

fn told(error: &LlmError) -> Option<Duration> {
    match error {
        LlmError::Unavailable { retry_after, .. } | LlmError::RateLimited { retry_after, .. } => *retry_after,
        _ => None,
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Whether the endpoint is at fault, and not what it was asked.
fn is_its_fault(error: &LlmError) -> bool {
    matches!(
        error,
        LlmError::Unavailable { .. }
            | LlmError::TimedOut { .. }
            | LlmError::RateLimited { .. }
            | LlmError::Misconfigured { .. }
    )
}

#[async_trait]
impl Llm for Breaker {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let _trial = self.enter()?;
        let result = self.inner.complete(request).await;
        match &result {
            Err(error) if is_its_fault(error) => self.failed(error),
            _ => self.succeeded(),
        }
        result
    }
}

#[cfg(test)]
mod tests;
