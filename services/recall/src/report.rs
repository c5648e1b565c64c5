//! What became of what a recall gave: kept beside the receipt, and as evidence when a run is named.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_codec::{
    compaction_task_to_proto, feedback_verdict_from_proto, outcome_status_from_proto, schema,
};
use hindsight_ports::{Envelope, Queue, StoreError};
use hindsight_proto::{
    event::v1::CompactionRequested,
    recall::v1::{ReportOutcomeRequest, ReportedItem},
};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{
    CompactionTask, Evidence, EvidenceId, EvidenceOrigin, Exposure, Feedback, FeedbackVerdict, FieldError,
    Invalid, MemoryId, MemoryKind, OutcomeStatus, Receipt, ReceiptId, Timestamp, TraceId, Verdict, Viewer,
    Work,
};
use prost::Message as _;
use tonic::Status;

use crate::{NAME, ask::note, engine::Engine};

/// Most memories of one report: a recall gives no more.
const ITEMS: usize = 10;
const NOTE_BYTES: usize = 4 * 1024;

/// A report, checked for itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    receipt_id: ReceiptId,
    trace_id: Option<TraceId>,
    outcome: OutcomeStatus,
    items: Vec<(MemoryId, FeedbackVerdict)>,
    note: String,
}

/// What is known after a report.
#[derive(Debug)]
pub(crate) struct Reported {
    /// The last word on each memory.
    pub(crate) feedback: Vec<Feedback>,
    /// Lines of the ledger that the report added or changed.
    pub(crate) evidence: usize,
}

impl Report {
    pub(crate) fn new(request: ReportOutcomeRequest) -> Result<Self, Invalid> {
        let mut wrong = Vec::new();
        let receipt_id = note(&mut wrong, ReceiptId::parse(&request.receipt_id));
        let trace = (!request.trace_id.is_empty()).then(|| TraceId::new(request.trace_id)).transpose();
        let trace_id = note(&mut wrong, trace).flatten();
        let outcome = outcome_status_from_proto(request.outcome)
            .map_err(|_| Invalid::new("outcome", format!("{} is not a value of this enum", request.outcome)));
        let outcome = note(&mut wrong, outcome).unwrap_or_default();
        let items = items(request.items, &mut wrong);
        note(&mut wrong, check_note(&request.note));
        Invalid::check(wrong)?;
        let receipt_id = receipt_id.ok_or_else(|| Invalid::new("receipt_id", "is required"))?;
        Ok(Self { receipt_id, trace_id, outcome, items, note: request.note })
    }

    /// The same of all that a receipt gave.
    pub(crate) fn of_all(
        receipt_id: ReceiptId,
        memories: &[MemoryId],
        verdict: FeedbackVerdict,
        (trace_id, outcome): (Option<TraceId>, OutcomeStatus),
        note: String,
    ) -> Self {
        let items = memories.iter().map(|id| (*id, verdict)).collect();
        Self { receipt_id, trace_id, outcome, items, note }
    }

    /// Only what the receipt gave may be reported on.
    fn check(&self, receipt: &Receipt) -> Result<(), Invalid> {
        let given = |id: &MemoryId| receipt.injected.iter().any(|item| item.memory_id == *id);
        let wrong = self.items.iter().enumerate().filter(|(_, (id, _))| !given(id)).map(|(at, (id, _))| {
            let problem = format!("{id} was not given by this recall; ExplainRecall lists what was");
            FieldError { field: format!("items[{at}].memory_id"), problem }
        });
        Invalid::check(wrong.collect())
    }

    fn feedback(&self, receipt: &Receipt, at: Timestamp) -> Vec<Feedback> {
        // It is stored, so it is freed of secrets like everything else.
        let note = hindsight_ingest::redact::text(&self.note).into_owned();
        let one = |(memory_id, verdict): &(MemoryId, FeedbackVerdict)| Feedback {
            receipt_id: receipt.id,
            memory_id: *memory_id,
            scope: receipt.scope.clone(),
            verdict: *verdict,
            trace_id: self.trace_id.clone(),
            outcome: self.outcome,
            note: note.clone(),
            at,
        };
        self.items.iter().map(one).collect()
    }

    /// That a memory was used says nothing about it yet.
    fn evidence(&self, receipt: &Receipt, at: Timestamp) -> Vec<Evidence> {
        let Some(trace) = &self.trace_id else { return Vec::new() };
        let line = |(memory_id, said): &(MemoryId, FeedbackVerdict)| {
            let verdict = match said {
                FeedbackVerdict::Used => return None,
                FeedbackVerdict::Helpful => Verdict::Supported,
                FeedbackVerdict::Harmful => Verdict::Refuted,
                FeedbackVerdict::Ignored => Verdict::Ignored,
            };
            Some(Evidence {
                id: EvidenceId::of(*memory_id, &receipt.scope.tenant, trace),
                memory_id: *memory_id,
                scope: receipt.scope.clone(),
                trace_id: trace.clone(),
                verdict,
                exposure: Exposure::Injected,
                origin: EvidenceOrigin::Reported,
                outcome: self.outcome,
                outcome_from: None,
                // What the run took is told by the run itself.
                steps: 0,
                tokens: 0,
                at,
            })
        };
        self.items.iter().filter_map(line).collect()
    }
}

pub(crate) fn check_note(note: &str) -> Result<(), Invalid> {
    if note.len() <= NOTE_BYTES {
        return Ok(());
    }
    Err(Invalid::new("note", format!("is longer than the {NOTE_BYTES} bytes accepted")))
}

fn items(items: Vec<ReportedItem>, wrong: &mut Vec<FieldError>) -> Vec<(MemoryId, FeedbackVerdict)> {
    if items.is_empty() || items.len() > ITEMS {
        let problem = format!("has {} memories; name 1 to {ITEMS} that the recall gave", items.len());
        wrong.extend(Invalid::new("items", problem).fields);
        return Vec::new();
    }
    let (mut seen, mut read) = (BTreeSet::new(), Vec::new());
    for (at, item) in items.into_iter().enumerate() {
        let within = |e: Invalid| e.within(&format!("items[{at}]"));
        let id = note(wrong, MemoryId::parse(&item.memory_id).map_err(within));
        let verdict = note(wrong, feedback_verdict_from_proto(item.verdict).map_err(within));
        if id.is_some_and(|id| !seen.insert(id)) {
            let problem = "names a memory for the second time; say one thing of each";
            wrong.extend(within(Invalid::new("memory_id", problem)).fields);
        }
        read.extend(id.zip(verdict));
    }
    read
}

impl Engine {
    /// Keeps what is said. Saying it again changes nothing, so a report that failed half way is sent again.
    pub(crate) async fn report(&self, viewer: &Viewer, report: Report) -> Result<Reported, Status> {
        let store = |e| hindsight_api::status::store(NAME, e);
        let receipt = self.store.receipt(viewer, report.receipt_id).await.map_err(store)?;
        let not_found = || hindsight_api::status::not_found(NAME, "receipt", report.receipt_id);
        let receipt = receipt.ok_or_else(not_found)?;
        report.check(&receipt).map_err(|e| hindsight_api::status::invalid(NAME, &e))?;
        let mut feedback = self.feedback(viewer, &receipt).await.map_err(store)?;
        let now = self.clock.now();
        let said = report.feedback(&receipt, now);
        self.store.put_feedback(&said).await.map_err(store)?;
        let lines = report.evidence(&receipt, now);
        let before = self.known(viewer, &lines).await.map_err(store)?;
        if !lines.is_empty() {
            self.store.append_evidence(&lines).await.map_err(store)?;
        }
        let changed: Vec<&Evidence> = lines.iter().filter(|line| changes(line, &before)).collect();
        self.restage(&receipt, &changed, now).await;
        count(&receipt, &feedback, &said);
        feedback.retain(|old| said.iter().all(|new| new.memory_id != old.memory_id));
        feedback.extend(said);
        feedback.sort_by_key(|f| f.memory_id);
        Ok(Reported { feedback, evidence: changed.len() })
    }

    /// The lines that are there already under the ids of these.
    async fn known(&self, viewer: &Viewer, lines: &[Evidence]) -> Result<Vec<Evidence>, StoreError> {
        let reads = lines.iter().map(|line| self.store.evidence(viewer, line.memory_id));
        let known = futures::future::try_join_all(reads).await?;
        Ok(known.into_iter().flatten().filter(|old| lines.iter().any(|new| new.id == old.id)).collect())
    }

    /// Asks for the stages that follow. A request that is lost only delays them: all lessons are looked at on a
    /// schedule.
    async fn restage(&self, receipt: &Receipt, changed: &[&Evidence], now: Timestamp) {
        let is_lesson = |id: &MemoryId| {
            receipt.injected.iter().any(|item| item.memory_id == *id && item.kind == MemoryKind::Lesson)
        };
        let lessons: Vec<MemoryId> = changed.iter().map(|line| line.memory_id).filter(is_lesson).collect();
        let Some(bus) = self.bus.as_ref().filter(|_| !lessons.is_empty()) else { return };
        let (tenant, cause) = (receipt.scope.tenant.clone(), format!("{} {now}", receipt.id));
        let why = format!("what recall {} gave was reported on", receipt.id);
        let task = CompactionTask::triggered(tenant, Work::Restage { lessons }, why, &cause, now);
        let request = CompactionRequested { task: Some(compaction_task_to_proto(&task)) };
        let message = Envelope {
            id: task.id.0,
            schema: schema::COMPACTION_REQUESTED.to_owned(),
            tenant: task.scope.tenant,
            occurred_at: now,
            trace_context: BTreeMap::new(),
            payload: request.encode_to_vec(),
        };
        if let Err(error) = bus.publish(Queue::Compact, vec![message]).await {
            tracing::warn!(receipt = %receipt.id, %error, "lessons will be staged on schedule only");
        }
    }

    /// What was said of what a receipt gave.
    pub(crate) async fn feedback(
        &self,
        viewer: &Viewer,
        receipt: &Receipt,
    ) -> Result<Vec<Feedback>, StoreError> {
        let given: Vec<MemoryId> = receipt.injected.iter().map(|item| item.memory_id).collect();
        self.store.feedback(viewer, receipt.id, &given).await
    }
}

/// Whether a line says more than what is there of the same run. When it was said is nothing new.
fn changes(line: &Evidence, before: &[Evidence]) -> bool {
    let says = |e: &Evidence| (e.verdict, e.exposure, e.origin, e.outcome);
    let known = before.iter().find(|old| old.id == line.id);
    known.is_none_or(|old| says(&old.join(line)) != says(old))
}

/// What is said again is not counted again.
fn count(receipt: &Receipt, before: &[Feedback], said: &[Feedback]) {
    let known =
        |new: &Feedback| before.iter().any(|f| f.memory_id == new.memory_id && f.verdict == new.verdict);
    for new in said.iter().filter(|new| !known(new)) {
        if let Some(item) = receipt.injected.iter().find(|item| item.memory_id == new.memory_id) {
            let labels = [(Label::Kind, item.kind.as_str()), (Label::Result, new.verdict.as_str())];
            Metric::RecallFeedback.add(1, &labels);
        }
    }
}

#[cfg(test)]
mod tests;
