//! What a merge moved, so that it can be told from what was the user's.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_codec::RecordBody;
use hindsight_ports::{StoreError, Tally};
use hindsight_types::{
    Memory, MemoryId, Moved, MovedRecord, ReceiptId, ReevaluationTarget, SubjectMerge, Timestamp, TraceId,
};
use qdrant_client::qdrant::Condition;

use super::rescope::Route;
use crate::{
    collection::Collection,
    field, point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk, next_id},
    write::records,
};

/// Lines read at a time.
const CHUNK: usize = 500;

/// The log of a merge in memory.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) runs: BTreeSet<TraceId>,
    receipts: BTreeSet<ReceiptId>,
    statements: BTreeSet<(MemoryId, Timestamp)>,
    /// From the ids that memories had to those they have.
    pub(super) names: BTreeMap<MemoryId, MemoryId>,
}

impl Log {
    pub(super) async fn read(backend: &ScopedBackend, merge: &SubjectMerge) -> Result<Self, StoreError> {
        let mut log = Self::default();
        let mut from = None;
        loop {
            let filter = lines(merge);
            let found =
                backend.scroll(Collection::Merges, filter, Walk::ById(from), CHUNK, Show::Record).await?;
            for line in &found.points {
                let line: MovedRecord = point::decode(line)?;
                log.add(line.moved);
            }
            from = next_id(found.next)?;
            if from.is_none() {
                return Ok(log);
            }
        }
    }

    fn add(&mut self, moved: Moved) -> bool {
        match moved {
            Moved::Run(trace) => self.runs.insert(trace),
            Moved::Receipt(id) => self.receipts.insert(id),
            Moved::Statement { fact, retained_at } => self.statements.insert((fact, retained_at)),
            Moved::Renamed { from, to } => self.names.insert(from, to) != Some(to),
        }
    }

    /// Puts on record what is not there yet.
    pub(super) async fn note(
        &mut self,
        backend: &ScopedBackend,
        merge: &SubjectMerge,
        moved: impl IntoIterator<Item = Moved>,
    ) -> Result<(), StoreError> {
        let line = |moved| MovedRecord {
            scope: merge.scope.clone(),
            merge: merge.id(),
            merged_at: merge.merged_at,
            moved,
        };
        let fresh: Vec<MovedRecord> =
            moved.into_iter().filter(|moved| self.add(moved.clone())).map(line).collect();
        records(backend, Collection::Merges, &fresh, Overwrite::Never).await
    }

    /// Whether a record of the user is among what moved, or came of it.
    pub(super) fn has(&self, body: &RecordBody) -> bool {
        let run = |trace: &TraceId| self.runs.contains(trace);
        let renamed = |id: &MemoryId| self.names.values().any(|new| new == id);
        match body {
            RecordBody::Memory(memory) => self.has_memory(memory),
            RecordBody::Version(version) => self.has_memory(&version.0),
            RecordBody::Archived(archived) => self.has_memory(&archived.memory),
            RecordBody::Event(event) => run(&event.trace_id),
            RecordBody::Evaluation(record) => run(&record.trace_id),
            RecordBody::FormerVerdicts(former) => run(&former.trace_id),
            RecordBody::OpenTask(task) => run(&task.trace_id),
            RecordBody::Evidence(line) => run(&line.trace_id),
            RecordBody::Reevaluation(job) => {
                matches!(&job.target, ReevaluationTarget::Run(trace) if run(trace))
            }
            RecordBody::Receipt(receipt) => self.receipts.contains(&receipt.id),
            RecordBody::Feedback(feedback) => self.receipts.contains(&feedback.receipt_id),
            RecordBody::Review(review) => renamed(&review.memory_id),
            RecordBody::CompactionRun(_)
            | RecordBody::CompactionTask(_)
            | RecordBody::Forgotten(_)
            | RecordBody::Forgetting(_)
            | RecordBody::SubjectMerge(_)
            | RecordBody::Moved(_) => false,
        }
    }

    fn has_memory(&self, memory: &Memory) -> bool {
        match memory {
            Memory::Fact(m) => self.statements.contains(&(m.id, m.retained_at)),
            Memory::Experience(m) => self.runs.contains(&m.trajectory.trace_id),
            Memory::Step(m) => self.runs.contains(&m.trace_id),
            Memory::Lesson(m) => m.sources.iter().any(|trace| self.runs.contains(trace)),
            Memory::FailurePattern(m) => m.sources.iter().any(|trace| self.runs.contains(trace)),
        }
    }
}

/// What must be on record before this record moves along this route.
pub(super) fn traces_of(body: &RecordBody, route: &Route) -> Vec<Moved> {
    let run = |trace: &TraceId| vec![Moved::Run(trace.clone())];
    match body {
        RecordBody::Memory(memory) => of_memory(memory, route),
        RecordBody::Version(version) => of_memory(&version.0, route),
        RecordBody::Archived(archived) => of_memory(&archived.memory, route),
        RecordBody::Event(event) => run(&event.trace_id),
        RecordBody::Evaluation(record) => run(&record.trace_id),
        RecordBody::FormerVerdicts(former) => run(&former.trace_id),
        RecordBody::OpenTask(task) => run(&task.trace_id),
        RecordBody::Evidence(line) => run(&line.trace_id),
        RecordBody::Reevaluation(job) => match &job.target {
            ReevaluationTarget::Run(trace) => run(trace),
            ReevaluationTarget::Judge(_) => Vec::new(),
        },
        RecordBody::Receipt(receipt) => vec![Moved::Receipt(receipt.id)],
        RecordBody::Feedback(feedback) => vec![Moved::Receipt(feedback.receipt_id)],
        _ => Vec::new(),
    }
}

fn of_memory(memory: &Memory, route: &Route) -> Vec<Moved> {
    let runs = |traces: &[TraceId]| traces.iter().cloned().map(Moved::Run).collect();
    match memory {
        Memory::Fact(m) => {
            let fact = route.renamed(memory).unwrap_or(m.id);
            vec![Moved::Statement { fact, retained_at: m.retained_at }]
        }
        Memory::Experience(m) => vec![Moved::Run(m.trajectory.trace_id.clone())],
        Memory::Step(m) => vec![Moved::Run(m.trace_id.clone())],
        Memory::Lesson(m) => runs(&m.sources),
        Memory::FailurePattern(m) => runs(&m.sources),
    }
}

fn lines(merge: &SubjectMerge) -> ScopedFilter {
    ScopedFilter::exactly(&merge.scope).and(Condition::matches(field::MERGE, merge.id().to_string()))
}

pub(super) async fn tally(backend: &ScopedBackend, merge: &SubjectMerge) -> Result<Tally, StoreError> {
    let count = |kind: &str| {
        let filter = lines(merge).and(Condition::matches(field::TYPE, kind.to_owned()));
        backend.count(Collection::Merges, filter)
    };
    let (facts, runs, receipts) = futures::try_join!(count("statement"), count("run"), count("receipt"))?;
    Ok(Tally { facts, runs, receipts })
}
