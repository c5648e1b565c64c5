//! Where a memory comes from: verdict, steps, raw events; and what became of it: recalls, evidence.

use hindsight_api::{Caller, status};
use hindsight_codec::{
    evaluation_record_to_proto, evidence_to_proto, feedback_to_proto, memory_kind_from_proto,
    memory_to_proto, outcome_status_to_proto, step_label_to_proto, time_to_proto,
};
use hindsight_ports::{PageRequest, StoreError};
use hindsight_proto::memory::v1::{
    GetProvenanceRequest, GetProvenanceResponse, ProvenanceRecall, ProvenanceRun, ProvenanceStep,
};
use hindsight_types::{Experience, Memory, MemoryId, Receipt, TraceId, Viewer};
use tonic::Status;

use super::{Memories, invalid, store};
use crate::{
    NAME,
    ask::viewer,
    doctor::{Doctor, Found},
};

const RUNS: usize = 20;
const STEPS: usize = 200;
const RECALLS: usize = 20;
const EVIDENCE: usize = 100;

impl Memories {
    pub(super) async fn provenance(
        &self,
        caller: Caller,
        request: GetProvenanceRequest,
    ) -> Result<GetProvenanceResponse, Status> {
        let GetProvenanceRequest { memory_id, kind, user } = request;
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let id = MemoryId::parse(&memory_id).map_err(invalid)?;
        let kind = (kind != 0).then(|| memory_kind_from_proto(kind)).transpose().map_err(invalid)?;
        let doctor = self.doctor(viewer)?;
        let found = doctor.memory(id).await.map_err(store)?;
        let found = found.filter(|found| kind.is_none_or(|kind| found.memory().kind() == kind));
        let found = found.ok_or_else(|| status::not_found(NAME, "memory", id))?;
        traced(&doctor, &found).await.map_err(store)
    }
}

async fn traced(doctor: &Doctor, found: &Found) -> Result<GetProvenanceResponse, StoreError> {
    let memory = found.memory();
    let sources = sources(memory);
    let mut runs = Vec::new();
    for trace in sources.iter().take(RUNS) {
        runs.push(run(doctor, trace).await?);
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.ended_at.map(|at| (at.seconds, at.nanos))));
    let page = PageRequest { size: RECALLS, token: String::new() };
    let recalls = doctor.browse.receipts(&doctor.viewer, Some(memory.id()), &page).await?;
    let mut gave = Vec::new();
    for receipt in &recalls.items {
        gave.push(recall(doctor, receipt, memory.id()).await?);
    }
    let mut evidence = doctor.store.evidence(&doctor.viewer, memory.id()).await?;
    evidence.reverse();
    Ok(GetProvenanceResponse {
        memory: Some(memory_to_proto(memory)),
        archived_at: match found {
            Found::There(_) => None,
            Found::Archived(archived) => Some(time_to_proto(archived.at)),
        },
        runs,
        run_count: size(sources.len()),
        recalls: gave,
        more_recalls: !recalls.next_token.is_empty(),
        evidence_count: size(evidence.len()),
        evidence: evidence.iter().take(EVIDENCE).map(evidence_to_proto).collect(),
    })
}

/// The runs that a memory was learned from; a lesson's and a pattern's in the order of their names.
fn sources(memory: &Memory) -> Vec<TraceId> {
    match memory {
        Memory::Fact(_) => Vec::new(),
        Memory::Experience(m) => vec![m.trajectory.trace_id.clone()],
        Memory::Lesson(m) => m.sources.clone(),
        Memory::FailurePattern(m) => m.sources.clone(),
        Memory::Step(m) => vec![m.trace_id.clone()],
    }
}

async fn run(doctor: &Doctor, trace: &TraceId) -> Result<ProvenanceRun, StoreError> {
    let Doctor { store, viewer, .. } = doctor;
    let events = doctor.events(trace).await?;
    let record = store.evaluation_record(viewer, trace).await?;
    let id = MemoryId::experience(&viewer.tenant, trace);
    let found = doctor.memory(id).await?;
    let mut run = match found.as_ref().map(Found::memory) {
        Some(Memory::Experience(experience)) => judged(experience),
        _ => ProvenanceRun::default(),
    };
    run.trace_id = trace.to_string();
    run.raw_events = size(events.len());
    run.archived = matches!(found, Some(Found::Archived(_)));
    run.record = record.as_ref().map(evaluation_record_to_proto);
    Ok(run)
}

fn judged(experience: &Experience) -> ProvenanceRun {
    let Experience { trajectory, evaluation, .. } = experience;
    let steps = trajectory.steps.iter().zip(&evaluation.steps).take(STEPS);
    ProvenanceRun {
        task_description: trajectory.task_description.clone(),
        outcome: outcome_status_to_proto(evaluation.outcome),
        ended_at: Some(time_to_proto(trajectory.ended_at)),
        summary: evaluation.summary.clone(),
        steps: steps
            .map(|(step, verdict)| ProvenanceStep {
                step_index: step.step_index,
                action_name: step.action_name.clone(),
                label: step_label_to_proto(verdict.label),
                rationale: verdict.rationale.clone(),
            })
            .collect(),
        ..ProvenanceRun::default()
    }
}

async fn recall(
    doctor: &Doctor,
    receipt: &Receipt,
    memory: MemoryId,
) -> Result<ProvenanceRecall, StoreError> {
    let viewer = Viewer::of_scope(&receipt.scope);
    let said = doctor.store.feedback(&viewer, receipt.id, &[memory]).await?;
    let item = receipt.injected.iter().find(|item| item.memory_id == memory);
    Ok(ProvenanceRecall {
        receipt_id: receipt.id.to_string(),
        at: Some(time_to_proto(receipt.at)),
        query: receipt.query.clone(),
        why: item.map(|item| item.why.clone()).unwrap_or_default(),
        feedback: said.first().map(feedback_to_proto),
    })
}

fn size(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
