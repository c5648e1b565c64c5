//! Judges runs again, in the background.
//!
//! One message of the queue brings a re-evaluation on for a while and then asks for the next. The record in the store says
//! how far it is: runs are listed into it before they are judged, and leave it in the same write that counts
//! them. So a worker that dies loses nothing and counts nothing twice.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt as _, StreamExt as _, stream};
use hindsight_ingest::{Assembly, assemble};
use hindsight_ports::{Bus, Clock, MemoryStore, PageRequest, Queue};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{
    EvaluationRecord, EvaluationState, FAILURES_NAMED, Reevaluation, ReevaluationState, ReevaluationTarget,
    Scope, TraceId, Viewer,
};

use crate::{
    bench::Bench,
    broken::Broken,
    forgotten::Whose,
    judges::Asked,
    message::{Continued, next_page},
};

/// Runs listed at a time.
const LISTED: usize = 100;
/// Records counted at a time.
const COUNTED: usize = 500;
/// How long one message works; well below the time in which a delivery must be settled.
const A_WHILE: Duration = Duration::from_secs(60);
/// Bytes of a reason that are kept.
const REASON: usize = 300;

pub(crate) struct Reevaluations {
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) bench: Arc<Bench>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Runs judged at a time by one message.
    pub(crate) at_a_time: usize,
}

impl Reevaluations {
    /// Brings the job on. `attempt` counts the deliveries of this message.
    pub(crate) async fn page(&self, page: &Continued, attempt: u32) -> Result<(), Broken> {
        let scope = self.bench.follow(&page.scope, self.clock.now()).await?;
        let found = self.store().reevaluation(&Viewer::of_scope(&scope), page.id).await?;
        let mut job =
            found.ok_or_else(|| Broken::Final(format!("re-evaluation {} is not known", page.id)))?;
        if job.state != ReevaluationState::Running || job.page > page.page {
            return Ok(());
        }
        let result = self.work(&mut job, attempt).await;
        if let Err(Broken::Final(reason)) = &result {
            job.state = ReevaluationState::Failed { reason: reason.clone() };
            self.put(&mut job).await?;
        }
        result
    }

    async fn work(&self, job: &mut Reevaluation, attempt: u32) -> Result<(), Broken> {
        if job.page == 0 && job.total == 0 {
            job.total = self.count(job).await?;
        }
        let begun = Instant::now();
        loop {
            if job.pending.is_empty() && !self.list(job).await? {
                job.state = ReevaluationState::Done;
                return self.put(job).await;
            }
            self.judge_some(job, attempt, begun).await?;
            if begun.elapsed() >= A_WHILE {
                job.page += 1;
                self.put(job).await?;
                self.bus.publish(Queue::Evaluate, vec![next_page(job, self.clock.now())]).await?;
                return Ok(());
            }
        }
    }

    /// Lists the next runs into the job; `false` when there are none.
    async fn list(&self, job: &mut Reevaluation) -> Result<bool, Broken> {
        let begun = job.judged + job.failed > 0 || job.page > 0;
        match &job.target {
            ReevaluationTarget::Run(_) if begun => return Ok(false),
            ReevaluationTarget::Run(trace) => job.pending = vec![(trace.clone(), job.scope.clone())],
            ReevaluationTarget::Judge(_) if begun && job.cursor.is_empty() => return Ok(false),
            ReevaluationTarget::Judge(judge) => {
                let page = PageRequest { size: LISTED, token: job.cursor.clone() };
                let page = self.store().judged_runs(&job.scope.tenant, judge, &page).await?;
                // What was judged since the job was asked for needs nothing.
                let old = page.items.into_iter().filter(|r| r.updated_at < job.created_at);
                job.pending = old.map(|r| (r.trace_id, r.scope)).collect();
                job.cursor = page.next_token;
            }
        }
        self.put(job).await?;
        Ok(!job.pending.is_empty() || !job.cursor.is_empty())
    }

    async fn count(&self, job: &Reevaluation) -> Result<u64, Broken> {
        let ReevaluationTarget::Judge(judge) = &job.target else { return Ok(1) };
        let mut page = PageRequest { size: COUNTED, token: String::new() };
        let mut count = 0;
        loop {
            let found = self.store().judged_runs(&job.scope.tenant, judge, &page).await?;
            count += found.items.iter().filter(|r| r.updated_at < job.created_at).count() as u64;
            if found.next_token.is_empty() {
                return Ok(count);
            }
            page.token = found.next_token;
        }
    }

    /// Judges what is pending until it is done or a while has passed.
    async fn judge_some(&self, job: &mut Reevaluation, attempt: u32, begun: Instant) -> Result<(), Broken> {
        let asked = Asked { judge: job.judge, judgements: None, looks: attempt };
        let one = |(trace, scope): (TraceId, Scope)| {
            async move {
                let end = self.one(&trace, &scope, asked).await;
                (trace, scope, end)
            }
            .boxed()
        };
        let runs: Vec<_> = job.pending.clone().into_iter().map(one).collect();
        let mut ends = stream::iter(runs).buffer_unordered(self.at_a_time);
        while let Some((trace, scope, end)) = ends.next().await {
            match end {
                Ok(()) => job.judged += 1,
                Err(Broken::Final(reason)) => {
                    job.failed += 1;
                    note(job, &trace, &scope, reason);
                }
                Err(transient) => return Err(transient),
            }
            job.pending.retain(|(t, s)| (t, s) != (&trace, &scope));
            self.put(job).await?;
            if begun.elapsed() >= A_WHILE {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Judges one run again. Until that is done, the verdict it has stays; a failure leaves it.
    async fn one(&self, trace: &TraceId, scope: &Scope, asked: Asked) -> Result<(), Broken> {
        let result = self.judge_again(trace, scope, asked).await;
        let word = match &result {
            Ok(()) => "judged",
            Err(Broken::Final(_)) => "failed",
            Err(Broken::Transient { .. }) => return result,
        };
        Metric::Reevaluated.add(1, &[(Label::Result, word)]);
        result
    }

    async fn judge_again(&self, trace: &TraceId, scope: &Scope, asked: Asked) -> Result<(), Broken> {
        let scope = &self.bench.follow(scope, self.clock.now()).await?;
        let Some(record) = self.store().evaluation_record(&Viewer::of_scope(scope), trace).await? else {
            return Err(Broken::Final("it was not judged before".to_owned()));
        };
        let (events, _) = self.bench.events(scope, trace).await?;
        let run = match assemble::assemble(events) {
            Assembly::Complete(run) => *run,
            Assembly::Missing(gap) => {
                return Err(Broken::Final(format!("its events are no longer complete: {gap}")));
            }
        };
        let whose = Whose::of(&run);
        if self.bench.is_forgotten(&whose).await? {
            return Err(Broken::Final("it was forgotten".to_owned()));
        }
        let judge = self.bench.judge(run, asked).await?;
        let now = self.clock.now();
        let record = EvaluationRecord { state: EvaluationState::Judged, judge, updated_at: now, ..record };
        self.store().put_evaluation_record(&record).await?;
        self.bench.settle(&whose).await?;
        self.bench.follow(scope, now).await?;
        Ok(())
    }

    async fn put(&self, job: &mut Reevaluation) -> Result<(), Broken> {
        job.updated_at = self.clock.now();
        Ok(self.store().put_reevaluation(job).await?)
    }

    fn store(&self) -> &dyn MemoryStore {
        self.bench.store.as_ref()
    }
}

/// Names a run that failed, if whoever may see the job may see it.
fn note(job: &mut Reevaluation, trace: &TraceId, scope: &Scope, mut reason: String) {
    if job.failures.len() < FAILURES_NAMED && Viewer::of_scope(&job.scope).may_see(scope) {
        reason.truncate(reason.floor_char_boundary(REASON));
        job.failures.push((trace.clone(), reason));
    }
}
