//! Waiting until what was written can be found.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use hindsight_api::status;
use hindsight_ports::{Clock, MemoryStore, StoreError, Subjects};
use hindsight_types::{EvaluationState, Fact, Memory, MemoryId, MemoryKind, Scope, TraceId, Viewer};
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Request, Status};

use crate::NAME;

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// However long a caller would wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

pub(super) struct Indexed {
    pub(super) store: Arc<dyn MemoryStore>,
    /// Knows who turned out to be whom.
    pub(super) subjects: OnceLock<Arc<dyn Subjects>>,
    pub(super) clock: Arc<dyn Clock>,
    /// For callers without a deadline of their own.
    pub(super) timeout: Duration,
}

impl Indexed {
    pub(super) fn deadline<T>(&self, request: &Request<T>) -> Instant {
        Instant::now() + hindsight_api::deadline(request).unwrap_or(self.timeout).min(LONGEST_WAIT)
    }

    /// Until the run of this many steps is judged, skipped by the gate, or has failed for good.
    pub(super) async fn run(
        &self,
        scope: &Scope,
        trace: &TraceId,
        steps: u32,
        deadline: Instant,
    ) -> Result<(), Status> {
        let look = || async {
            let viewer = Viewer::of_scope(&self.whose(scope).await?);
            let record = self.store.evaluation_record(&viewer, trace).await?;
            let settled = |s: &EvaluationState| !matches!(s, EvaluationState::Waiting { .. });
            Ok(record.is_some_and(|r| r.step_count >= steps && settled(&r.state)))
        };
        until(deadline, "the run is recorded but was not evaluated", look).await
    }

    /// Whose what is written in this scope is.
    pub(super) async fn whose(&self, scope: &Scope) -> Result<Scope, StoreError> {
        match self.subjects.get() {
            Some(subjects) if scope.user().is_some() => subjects.whose(scope, self.clock.now()).await,
            _ => Ok(scope.clone()),
        }
    }

    /// Until each fact, or a newer version of it, can be found.
    pub(super) async fn facts(&self, facts: &[Fact], deadline: Instant) -> Result<(), Status> {
        let what = "the fact is durable and will be indexed; it was not within the deadline, so do not send it \
                    again: a recall finds it once the ingester has caught up";
        for fact in facts {
            let look = || async {
                let whose = self.whose(&fact.scope).await?;
                let id = match whose.user() {
                    Some(user) if whose != fact.scope => MemoryId::fact(&whose.tenant, user, &fact.key),
                    _ => fact.id,
                };
                let found = self.store.get(&Viewer::of_scope(&whose), MemoryKind::Fact, id).await?;
                Ok(matches!(found, Some(Memory::Fact(f)) if f.retained_at >= fact.retained_at))
            };
            until(deadline, what, look).await?;
        }
        Ok(())
    }
}

/// A store that is away for a moment is asked again: what is waited for is durable already.
async fn until<F: Future<Output = Result<bool, StoreError>> + Send>(
    deadline: Instant,
    what: &str,
    look: impl Fn() -> F,
) -> Result<(), Status> {
    let mut pause = FIRST_PAUSE;
    let waiting = async {
        loop {
            match look().await {
                Ok(true) => return Ok(()),
                Err(e) if !e.is_transient() => return Err(status::store(NAME, e)),
                Ok(false) | Err(_) => sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    timeout_at(deadline, waiting).await.unwrap_or_else(|_| Err(status::deadline_exceeded(NAME, what)))
}
