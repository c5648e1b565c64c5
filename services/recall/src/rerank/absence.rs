use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long a reranker that failed is left out.
const PAUSE: Duration = Duration::from_secs(30);

/// Remembers that the reranker is away, so that not every recall has to find out.
#[derive(Debug, Default)]
pub(super) struct Absence(Mutex<Option<Instant>>);

impl Absence {
    /// Whether to call it. After a pause one recall finds out for all: its call begins the next pause.
    pub(super) fn may_ask(&self, now: Instant) -> bool {
        match &mut *self.until() {
            Some(until) if now < *until => false,
            Some(until) => {
                *until = now + PAUSE;
                true
            }
            None => true,
        }
    }

    pub(super) fn begins(&self, now: Instant, why: &str) {
        if self.until().replace(now + PAUSE).is_none() {
            tracing::warn!(why, pause = ?PAUSE, "the reranker is unavailable and left out until it answers again");
        }
    }

    pub(super) fn ends(&self) {
        if self.until().take().is_some() {
            tracing::info!("the reranker is back");
        }
    }

    fn until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
