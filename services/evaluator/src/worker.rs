//! Takes finished tasks from `Queue::Evaluate` and judges each once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use hindsight_ingest::{Assembly, GateDecision, assemble, encode, gate, redact};
use hindsight_ports::{
    Bus, BusError, Clock, Consumer, Delivery, EmbedError, Embedder, MemoryStore, Queue, StoreError,
};
use hindsight_runtime::Trouble;
use hindsight_telemetry::{Label, Metric, span};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, EventBody, JudgedTrajectory, Memory, OutcomeStatus, Scope,
    StepLabel, Trajectory, Viewer, Visibility,
};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::{
    EvaluatorSettings, evaluate,
    message::{self, Requested},
};

const SAME_SCOPE: &str = "all events of a trace must be recorded in the scope of its start";
/// Wait before a lost consumer is opened again.
const REOPEN: Duration = Duration::from_secs(1);
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(300);
/// While a dependency is away the delay between attempts grows to that of this many: 16 s.
const AWAY_ATTEMPTS: u32 = 5;

pub(crate) struct Worker {
    settings: EvaluatorSettings,
    bus: Arc<dyn Bus>,
    store: Arc<dyn MemoryStore>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    held: AtomicUsize,
    /// Why the last run could not be judged for now.
    trouble: Trouble,
}

/// How an attempt to judge a run ended.
enum End {
    Done,
    /// Look again: `reason`, and how often it was looked at for it.
    Later {
        reason: String,
        attempts: u32,
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
    begun: Instant,
}

enum Look {
    /// It was judged or skipped before; the request came twice.
    Settled,
    Events(Vec<Event>),
}

/// Why an attempt broke off.
enum Broken {
    Transient(String),
    Final(String),
}

impl From<StoreError> for Broken {
    fn from(e: StoreError) -> Self {
        match e {
            // The operator can correct the configuration; the run is sound.
            StoreError::Unavailable(_) | StoreError::EmbedderMismatch { .. } => {
                Self::Transient(e.to_string())
            }
            StoreError::Corrupt(_) | StoreError::Rejected(_) => Self::Final(e.to_string()),
        }
    }
}

impl From<EmbedError> for Broken {
    fn from(e: EmbedError) -> Self {
        match e {
            EmbedError::Unavailable(_) | EmbedError::Misconfigured(_) => Self::Transient(e.to_string()),
            EmbedError::Rejected(_) => Self::Final(e.to_string()),
        }
    }
}

impl Worker {
    pub(crate) fn new(
        settings: EvaluatorSettings,
        bus: Arc<dyn Bus>,
        store: Arc<dyn MemoryStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { settings, bus, store, embedder, clock, held: AtomicUsize::new(0), trouble: Trouble::default() }
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.reason()
    }

    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Until `stop`; what is being judged then is finished.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let opened = tokio::select! {
                opened = self.bus.subscribe(Queue::Evaluate, self.settings.concurrency.max(1)) => opened,
                () = stop.cancelled() => return,
            };
            let end = match opened {
                Ok(consumer) => self.clone().consume(consumer, &stop).await,
                Err(e) => Err(e),
            };
            if let Err(error) = end {
                tracing::warn!(%error, "the evaluation queue is away; opening it again");
                tokio::select! {
                    () = tokio::time::sleep(REOPEN) => {}
                    () = stop.cancelled() => return,
                }
            }
        }
    }

    async fn consume(
        self: Arc<Self>,
        mut consumer: Box<dyn Consumer>,
        stop: &CancellationToken,
    ) -> Result<(), BusError> {
        let mut tasks = JoinSet::new();
        let end = loop {
            let room = tasks.len() < self.settings.concurrency.max(1);
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(()),
                Some(done) = tasks.join_next() => self.finished(done),
                next = consumer.next(), if room => match next {
                    Ok(delivery) => {
                        let worker = self.clone();
                        self.held.fetch_add(1, Ordering::Relaxed);
                        let span = span::process(Queue::Evaluate, &delivery.envelope, delivery.attempt);
                        tasks.spawn(async move { worker.deliver(&delivery).await }.instrument(span));
                    }
                    Err(e) => break Err(e),
                },
            }
        };
        while let Some(done) = tasks.join_next().await {
            self.finished(done);
        }
        end
    }

    fn finished(&self, done: Result<(), JoinError>) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        if let Err(error) = done {
            // Its delivery was dropped, so it comes again.
            tracing::error!(%error, "an evaluation broke off");
        }
    }

    async fn deliver(&self, delivery: &Delivery) {
        let requested = match message::read(&delivery.envelope) {
            Ok(requested) => requested,
            Err(reason) => return settled(delivery, delivery.settle.dead_letter(&reason).await),
        };
        let trace = &requested.trace_id;
        let (end, trouble) = match self.attempt(&requested).await {
            Ok(end) => (end, None),
            Err(Broken::Final(reason)) => (End::Failed { reason }, None),
            Err(Broken::Transient(reason)) => {
                // What is away comes back at once; nobody should wait minutes for it then.
                let attempts = delivery.attempt.min(AWAY_ATTEMPTS);
                (End::Later { reason: reason.clone(), attempts }, Some(reason))
            }
        };
        self.trouble.report(trouble);
        let outcome = match end {
            End::Done => delivery.settle.ack().await,
            End::Later { reason, attempts } => {
                tracing::info!(%trace, reason, attempts, "a run is judged later");
                delivery.settle.retry(&reason, delay(attempts)).await
            }
            End::Failed { reason } => {
                tracing::error!(%trace, reason, "a run could not be judged");
                delivery.settle.dead_letter(&reason).await
            }
        };
        settled(delivery, outcome);
    }

    /// Looks at the run and brings its evaluation on. Whatever comes of it is put on record before the
    /// delivery is settled, if the store answers at all.
    async fn attempt(&self, requested: &Requested) -> Result<End, Broken> {
        let (scope, step_count) = (requested.scope.clone(), requested.step_count);
        let mut job = Job { requested, scope, attempts: 1, step_count, begun: Instant::now() };
        let end = match self.look(&mut job).await {
            Ok(Look::Settled) => return Ok(End::Done),
            Ok(Look::Events(events)) => self.evaluate(&job, events).await,
            Err(broken) => Err(broken),
        };
        match end {
            Err(Broken::Final(reason)) => self.fail(&job, reason).await,
            Err(Broken::Transient(reason)) => {
                // Shows why it takes long; when the store is what is away, the queue alone knows.
                let state = EvaluationState::Waiting { reason: reason.clone() };
                let _ = self.record(&job, state).await;
                Err(Broken::Transient(reason))
            }
            end => end,
        }
    }

    async fn look(&self, job: &mut Job<'_>) -> Result<Look, Broken> {
        let trace = &job.requested.trace_id;
        let mut events = self.store.events(&job.scope, trace).await?;
        let shared = Scope::new(job.scope.tenant.clone(), Visibility::Tenant);
        if shared != job.scope {
            // Events that everyone may see join a run of narrower scope.
            events.extend(self.store.events(&shared, trace).await?);
        }
        if let Some(scope) = assemble::scope_of(&events) {
            job.scope = scope.clone();
        }
        let Some(known) = self.store.evaluation_record(&viewer(&job.scope), trace).await? else {
            return Ok(Look::Events(events));
        };
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
        let judged = self.store.experience(&viewer(&job.scope), &job.requested.trace_id).await?;
        Ok(judged.is_some_and(|e| e.trajectory.outcome.resolved() == OutcomeStatus::Unknown))
    }

    async fn evaluate(&self, job: &Job<'_>, events: Vec<Event>) -> Result<End, Broken> {
        let run = match assemble::assemble(events) {
            Assembly::Complete(run) => *run,
            Assembly::Missing(gap) if job.attempts >= self.settings.attempts => {
                return self.fail(job, format!("{gap}, after {} attempts; {SAME_SCOPE}", job.attempts)).await;
            }
            Assembly::Missing(gap) => {
                let reason = gap.to_string();
                self.record(job, EvaluationState::Waiting { reason: reason.clone() }).await?;
                return Ok(End::Later { reason, attempts: job.attempts });
            }
        };
        let state = match gate(&run, &self.settings.gate) {
            GateDecision::Skip { reason } => EvaluationState::Skipped { reason },
            GateDecision::Judge { .. } => {
                self.judge(run).await?;
                EvaluationState::Judged
            }
        };
        self.record(job, state).await?;
        Ok(End::Done)
    }

    /// Everything is written under ids derived from the run, so an attempt that broke off halfway is
    /// completed by the next.
    async fn judge(&self, run: Trajectory) -> Result<(), Broken> {
        let now = self.clock.now();
        let work = move || {
            let mut run = run;
            redact::trajectory(&mut run);
            let judged: JudgedTrajectory = evaluate::judge(run, now);
            count_labels(&judged);
            evaluate::memories(judged)
        };
        // On a thread of its own: a large run takes long, and one that breaks the judge is a failure to list.
        let memories: Vec<Memory> = tokio::task::spawn_blocking(work)
            .await
            .map_err(|e| Broken::Final(format!("the judge broke off: {e}")))?;
        let encoded = encode::memories(self.embedder.as_ref(), memories).await?;
        Ok(self.store.upsert(&encoded).await?)
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

fn count_labels(judged: &JudgedTrajectory) {
    for step in &judged.evaluation.steps {
        let label = match step.label {
            StepLabel::Necessary => "necessary",
            StepLabel::Redundant => "redundant",
            StepLabel::Misleading => "misleading",
            StepLabel::Failed => "failed",
        };
        Metric::StepLabels.add(1, &[(Label::Label, label)]);
    }
}

fn settled(delivery: &Delivery, outcome: Result<(), BusError>) {
    if let Err(error) = outcome {
        tracing::warn!(id = %delivery.envelope.id, %error, "a delivery could not be settled");
    }
}

/// 1 s, 2 s, 4 s, … 5 min.
fn delay(attempts: u32) -> Duration {
    FIRST_DELAY.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST_DELAY)
}

/// Who sees what is in this scope.
fn viewer(scope: &Scope) -> Viewer {
    let viewer = Viewer::of_tenant(scope.tenant.clone());
    match scope.visibility.clone() {
        Visibility::Tenant => viewer,
        Visibility::User(u) => viewer.with_user(Some(u)),
        Visibility::Agent(a) => viewer.with_agent(Some(a)),
        Visibility::Task(t) => viewer.with_task_type(Some(t)),
    }
}
