//! Takes finished tasks from `Queue::Evaluate` and judges each once.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use hindsight_forgetting::Arriving;
use hindsight_ingest::{Assembly, GateDecision, assemble, gate, otlp};
use hindsight_ports::{Bus, Clock, Delivery, MemoryStore, StoreError};
use hindsight_runtime::Trouble;
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, EventBody, Forgotten, OutcomeStatus, Scope, Subject, Timestamp,
    Viewer,
};

use crate::{
    EvaluatorSettings,
    bench::Bench,
    broken::Broken,
    forgotten::Whose,
    judges::Asked,
    message::{self, Message, Requested},
    reevaluate::Reevaluations,
    take::{Handle, settled},
};

const SAME_SCOPE: &str = "all events of a trace must be recorded in the scope of its start";
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(300);
/// While a dependency is away the delay between attempts grows to that of this many: 16 s.
const AWAY_ATTEMPTS: u32 = 5;
/// However long a model wants to be left alone, it is looked at again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

pub(crate) struct Worker {
    settings: EvaluatorSettings,
    store: Arc<dyn MemoryStore>,
    bench: Arc<Bench>,
    again: Reevaluations,
    clock: Arc<dyn Clock>,
    /// Why the last run could not be judged for now.
    trouble: Trouble,
}

/// How an attempt to judge a run ended.
enum End {
    Done,
    /// Look again after `wait`.
    Later {
        reason: String,
        wait: Duration,
    },
    /// It will never succeed as it is.
    Failed {
        reason: String,
    },
}

/// One attempt at one run.
struct Job<'a> {
    requested: &'a Requested,
    /// Of the start of the run, once that is known.
    scope: Scope,
    /// Attempts since the run was asked for or replayed, this one included.
    attempts: u32,
    /// Steps that must be there: what was asked for, or more when more was asked for before.
    step_count: u32,
    /// When it was put on record last in another scope: it was not known yet whose the run is.
    moved: Option<Timestamp>,
    /// Who judged; empty before.
    judge: String,
    begun: Instant,
}

enum Look {
    /// It was judged or skipped before; the request came twice.
    Settled,
    Events(Vec<Event>),
}

#[async_trait]
impl Handle for Worker {
    async fn deliver(&self, delivery: &Delivery) {
        let message = match message::read(&delivery.envelope) {
            Ok(message) => message,
            Err(reason) => return settled(delivery, delivery.settle.dead_letter(&reason).await),
        };
        if let Message::Requested(requested) = &message
            && let Some(wait) = self.early(requested)
        {
            return settled(delivery, delivery.settle.retry("spans may be on their way", wait).await);
        }
        let (about, end) = match &message {
            Message::Requested(requested) => {
                let end = match self.forgotten_since(requested, delivery.envelope.occurred_at).await {
                    Ok(Some(_)) => Ok(End::Done),
                    Ok(None) => self.attempt(requested).await,
                    Err(error) => Err(error.into()),
                };
                (requested.trace_id.to_string(), end)
            }
            Message::Continued(page) => {
                let end = self.again.page(page, delivery.attempt).await;
                (page.id.to_string(), end.map(|()| End::Done))
            }
        };
        let (end, trouble) = match end {
            Ok(end) => (end, None),
            Err(Broken::Final(reason)) => (End::Failed { reason }, None),
            Err(Broken::Transient { reason, wait }) => {
                // What is away comes back at once; nobody should wait minutes for it then.
                let wait = wait.unwrap_or_else(|| delay(delivery.attempt.min(AWAY_ATTEMPTS)));
                (End::Later { reason: reason.clone(), wait: wait.min(LONGEST_WAIT) }, Some(reason))
            }
        };
        self.trouble.report(trouble);
        let outcome = match end {
            End::Done => delivery.settle.ack().await,
            End::Later { reason, wait } => {
                tracing::info!(about, reason, ?wait, "judged later");
                delivery.settle.retry(&reason, wait).await
            }
            End::Failed { reason } => {
                tracing::error!(about, reason, "could not be judged");
                delivery.settle.dead_letter(&reason).await
            }
        };
        settled(delivery, outcome);
    }
}

impl Worker {
    pub(crate) fn new(
        settings: EvaluatorSettings,
        bus: Arc<dyn Bus>,
        bench: Arc<Bench>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let store = bench.store.clone();
        let again = Reevaluations {
            bus,
            bench: bench.clone(),
            clock: clock.clone(),
            at_a_time: settings.concurrency.max(1),
        };
        Self { settings, store, bench, again, clock, trouble: Trouble::default() }
    }

    /// How long until the run may be looked at.
    fn early(&self, requested: &Requested) -> Option<Duration> {
        let wait = requested.not_before?.duration_since(self.clock.now());
        Duration::try_from(wait).ok().filter(|wait| !wait.is_zero()).map(|wait| wait.min(LONGEST_DELAY))
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.reason()
    }

    /// Looks at the run and brings its evaluation on. Whatever comes of it is put on record before the
    /// delivery is settled, if the store answers at all.
    async fn attempt(&self, requested: &Requested) -> Result<End, Broken> {
        let (scope, step_count) = (requested.scope.clone(), requested.step_count);
        let (judge, begun) = (String::new(), Instant::now());
        let mut job = Job { requested, scope, attempts: 1, step_count, moved: None, judge, begun };
        let end = match self.look(&mut job).await {
            Ok(Look::Settled) => return Ok(End::Done),
            Ok(Look::Events(events)) => self.evaluate(&mut job, events).await,
            Err(broken) => Err(broken),
        };
        match end {
            Err(Broken::Final(reason)) => self.fail(&job, reason).await,
            Err(Broken::Transient { reason, wait }) => {
                // Shows why it takes long; when the store is what is away, the queue alone knows.
                let state = EvaluationState::Waiting { reason: reason.clone() };
                let _ = self.record(&job, state).await;
                Err(Broken::Transient { reason, wait })
            }
            end => end,
        }
    }

    async fn look(&self, job: &mut Job<'_>) -> Result<Look, Broken> {
        let trace = &job.requested.trace_id;
        job.scope = self.bench.follow(&job.scope, self.clock.now()).await?;
        let (events, scope) = self.bench.events(&job.scope, trace).await?;
        job.scope = scope;
        job.step_count = job.step_count.max(otlp::spans(&events));
        let known = self.store.evaluation_record(&Viewer::of_scope(&job.scope), trace).await?;
        if events.is_empty() && self.is_gone(job.requested, known.as_ref()).await? {
            return Ok(Look::Settled);
        }
        let Some(known) = known else { return Ok(Look::Events(events)) };
        job.moved = (known.scope != job.scope).then_some(known.updated_at);
        let grown = job.step_count > known.step_count;
        job.step_count = job.step_count.max(known.step_count);
        match known.state {
            EvaluationState::Judged if !grown && !self.knows_more(job, &events).await? => {
                return Ok(Look::Settled);
            }
            // Looking at the gate again costs less than telling whether anything changed.
            EvaluationState::Judged | EvaluationState::Skipped { .. } => {}
            EvaluationState::Waiting { .. } if !grown => job.attempts = known.attempts.saturating_add(1),
            EvaluationState::Waiting { .. } | EvaluationState::Failed { .. } => {}
        }
        Ok(Look::Events(events))
    }

    /// Whether the events tell an outcome that was unknown when the run was judged: it was taken for
    /// abandoned, and then its agent ended it after all.
    async fn knows_more(&self, job: &Job<'_>, events: &[Event]) -> Result<bool, StoreError> {
        let tells = |e: &Event| match &e.body {
            EventBody::Completed(c) => c.outcome.resolved() != OutcomeStatus::Unknown,
            _ => false,
        };
        if !events.iter().any(tells) {
            return Ok(false);
        }
        let judged = self.store.experience(&Viewer::of_scope(&job.scope), &job.requested.trace_id).await?;
        Ok(judged.is_some_and(|e| e.trajectory.outcome.resolved() == OutcomeStatus::Unknown))
    }

    async fn evaluate(&self, job: &mut Job<'_>, events: Vec<Event>) -> Result<End, Broken> {
        let run = match assemble::assemble(events) {
            Assembly::Complete(run) => *run,
            Assembly::Missing(_)
                if job.attempts >= self.settings.attempts
                    && self.forgotten_since(job.requested, Timestamp::MIN).await?.is_some() =>
            {
                let reason = "what came before was forgotten".to_owned();
                self.record(job, EvaluationState::Skipped { reason }).await?;
                return Ok(End::Done);
            }
            Assembly::Missing(gap) if job.attempts >= self.settings.attempts => {
                return self.fail(job, format!("{gap}, after {} attempts; {SAME_SCOPE}", job.attempts)).await;
            }
            Assembly::Missing(gap) => {
                let reason = gap.to_string();
                self.record(job, EvaluationState::Waiting { reason: reason.clone() }).await?;
                return Ok(End::Later { reason, wait: delay(job.attempts) });
            }
        };
        let whose = Whose::of(&run);
        if self.bench.is_forgotten(&whose).await? {
            return Ok(End::Done);
        }
        if let Some(since) = job.moved {
            self.bench.take_back(&whose, since).await?;
            // The record goes before the memories, so that nobody reads on about a run that is no longer theirs.
            let reason = "it turned out whose run it is".to_owned();
            self.record(job, EvaluationState::Waiting { reason }).await?;
        }
        let state = match gate(&run, &self.settings.gate) {
            GateDecision::Skip { reason } => EvaluationState::Skipped { reason },
            GateDecision::Judge { .. } => {
                let asked = Asked { looks: job.attempts, ..Asked::default() };
                job.judge = self.bench.judge(run, asked).await?;
                EvaluationState::Judged
            }
        };
        self.record(job, state).await?;
        self.bench.settle(&whose).await?;
        // It may have turned out meanwhile whose the run is.
        self.bench.follow(&job.scope, self.clock.now()).await?;
        Ok(End::Done)
    }

    /// Whether a run of which nothing is there was forgotten. Whoever asks for a run to be judged does so when its
    /// events are durable, so they were deleted since, also when the user came back and other runs are theirs. It is
    /// not listed; if it is already, that goes as well.
    async fn is_gone(&self, requested: &Requested, known: Option<&EvaluationRecord>) -> Result<bool, Broken> {
        let Some(forgotten) = self.forgotten_since(requested, Timestamp::MIN).await? else {
            return Ok(false);
        };
        match known.map(|known| (&known.state, known.updated_at)) {
            // What was judged outlives its events.
            Some((EvaluationState::Judged, _)) => return Ok(false),
            Some((EvaluationState::Waiting { .. } | EvaluationState::Failed { .. }, at)) => {
                let cause = format!("listed at {}", at.as_nanosecond());
                self.bench.sweep(&requested.trace_id, &forgotten, &cause).await?;
            }
            Some((EvaluationState::Skipped { .. }, _)) | None => {}
        }
        Ok(true)
    }

    /// Whether the run was forgotten after this.
    async fn forgotten_since(
        &self,
        requested: &Requested,
        recorded_at: Timestamp,
    ) -> Result<Option<Forgotten>, StoreError> {
        let Requested { trace_id, scope, .. } = requested;
        let mut subjects = vec![Subject::Run(trace_id.clone())];
        subjects.extend(scope.user().cloned().map(Subject::User));
        self.bench.forgotten(&scope.tenant, &Arriving { subjects, recorded_at }).await
    }

    /// A failure is listed before it becomes a dead letter.
    async fn fail(&self, job: &Job<'_>, reason: String) -> Result<End, Broken> {
        self.record(job, EvaluationState::Failed { reason: reason.clone() }).await?;
        Ok(End::Failed { reason })
    }

    async fn record(&self, job: &Job<'_>, state: EvaluationState) -> Result<(), StoreError> {
        let record = EvaluationRecord {
            trace_id: job.requested.trace_id.clone(),
            scope: job.scope.clone(),
            state,
            attempts: job.attempts,
            step_count: job.step_count,
            judge: job.judge.clone(),
            updated_at: self.clock.now(),
        };
        self.store.put_evaluation_record(&record).await?;
        let result = [(Label::Result, word(&record.state))];
        Metric::Evaluations.add(1, &result);
        Metric::EvaluationDuration.record(job.begun.elapsed().as_secs_f64(), &result);
        Ok(())
    }
}

fn word(state: &EvaluationState) -> &'static str {
    match state {
        EvaluationState::Waiting { .. } => "waiting",
        EvaluationState::Skipped { .. } => "skipped",
        EvaluationState::Judged => "judged",
        EvaluationState::Failed { .. } => "failed",
    }
}

/// 1 s, 2 s, 4 s, … 5 min.
fn delay(attempts: u32) -> Duration {
    FIRST_DELAY.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST_DELAY)
}
