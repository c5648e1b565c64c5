//! Judges one run and keeps what comes of it.

use std::sync::{Arc, OnceLock};

use hindsight_forgetting::Forgetter;
use hindsight_ingest::{assemble, encode, otlp, redact};
use hindsight_ports::{Bus, Embedder, MemoryStore, StoreError, Subjects};
use hindsight_types::{Event, FormerVerdicts, Scope, Timestamp, TraceId, Trajectory, Viewer, Visibility};

use crate::{
    broken::Broken,
    credit::Account,
    evaluate,
    judges::{Asked, Judges},
};

pub(crate) struct Bench {
    pub(crate) judges: Judges,
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) bus: Arc<dyn Bus>,
    /// Knows what was forgotten.
    pub(crate) forgetter: OnceLock<Forgetter>,
    /// Knows who turned out to be whom.
    pub(crate) subjects: OnceLock<Arc<dyn Subjects>>,
}

impl Bench {
    /// Whose what is written in this scope is; what was written in it meanwhile is moved there.
    pub(crate) async fn follow(&self, scope: &Scope, now: Timestamp) -> Result<Scope, StoreError> {
        match self.subjects.get() {
            Some(subjects) if scope.user().is_some() => {
                let whose = subjects.follow(std::slice::from_ref(scope), now).await?;
                Ok(whose.into_iter().next().unwrap_or_else(|| scope.clone()))
            }
            _ => Ok(scope.clone()),
        }
    }

    /// The events of a run and the scope of its start, or `scope` while that is not known.
    pub(crate) async fn events(
        &self,
        scope: &Scope,
        trace: &TraceId,
    ) -> Result<(Vec<Event>, Scope), StoreError> {
        let mut events = self.store.events(scope, trace).await?;
        let shared = Scope::new(scope.tenant.clone(), Visibility::Tenant);
        if shared != *scope {
            // Events that everyone may see join a run of narrower scope.
            events.extend(self.store.events(&shared, trace).await?);
        }
        if otlp::spans(&events) > 0 {
            // Spans of a run need not all say whose it is.
            events = self.store.trace_events(&scope.tenant, trace).await?;
        }
        let scope = assemble::scope_of(&events).unwrap_or(scope).clone();
        Ok((events, scope))
    }

    /// Judges a complete run and stores what it leaves; says who judged. Everything is written under ids derived
    /// from the run, so an attempt that broke off halfway is completed by the next.
    pub(crate) async fn judge(&self, mut run: Trajectory, asked: Asked) -> Result<String, Broken> {
        let (tenant, ended_at) = (run.scope.tenant.clone(), run.ended_at);
        let former =
            self.store.experience(&Viewer::of_scope(&run.scope), &run.trace_id).await?.map(|e| e.evaluation);
        let redacted = tokio::task::spawn_blocking(move || {
            redact::trajectory(&mut run);
            run
        });
        let run = redacted.await.map_err(|e| Broken::Final(format!("the redaction broke off: {e}")))?;
        let judged = self.judges.judge(run, asked).await?;
        let judge = judged.evaluation.judge.clone();
        if let Some(verdict) = &former {
            let (scope, trace_id) = (judged.trajectory.scope.clone(), judged.trajectory.trace_id.clone());
            let kept = self.store.former_verdicts(&Viewer::of_scope(&scope), &trace_id).await?;
            let verdicts = kept.map(|kept| kept.verdicts).unwrap_or_default();
            let mut kept = FormerVerdicts { trace_id, scope, verdicts };
            kept.add(verdict.clone());
            self.store.put_former_verdicts(&kept).await?;
        }
        let digested = tokio::task::spawn_blocking(move || {
            (Account::of(&judged, former.is_some()), evaluate::memories(judged, former.as_ref()))
        });
        let (account, memories) =
            digested.await.map_err(|e| Broken::Final(format!("the digest broke off: {e}")))?;
        let memories = self.without_deleted(&tenant, memories, ended_at).await?;
        let encoded = encode::memories(self.embedder.as_ref(), memories).await?;
        self.credit(&account).await?;
        self.store.upsert(&encoded).await?;
        Ok(judge)
    }
}
