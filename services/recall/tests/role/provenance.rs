//! Where a memory comes from, and what became of it.

use crate::common::{World, ask, experience, fact, lesson, run};
use hindsight_ingest::split;
use hindsight_ports::MemoryStore as _;
use hindsight_proto::{
    common::v1::{FeedbackVerdict, MemoryKind, OutcomeStatus, StepLabel, memory::Kind},
    memory::v1::{GetProvenanceRequest, GetProvenanceResponse},
    recall::v1::{ReportOutcomeRequest, ReportedItem},
};
use hindsight_types::{MemoryId, Stage};
use tonic::{Code, Status};

const TASK: &str = "the api container restarts in a loop";

async fn provenance(world: &World, id: MemoryId, user: &str) -> Result<GetProvenanceResponse, Status> {
    let request =
        GetProvenanceRequest { memory_id: id.to_string(), user: user.to_owned(), ..Default::default() };
    Ok(world.memories("acme").get_provenance(request).await?.into_inner())
}

#[tokio::test]
async fn a_lesson_is_traced_to_its_run_and_to_its_use() {
    let world = World::new().await;
    world.store.append_events(&split(run("t-1", TASK).trajectory)).await.unwrap();
    let advice = lesson("loop", TASK, Stage::Active);
    let id = advice.id();
    world.remember(vec![advice, experience("t-1", TASK)]).await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    let report = ReportOutcomeRequest {
        receipt_id: answer.receipt_id.clone(),
        items: vec![ReportedItem { memory_id: id.to_string(), verdict: FeedbackVerdict::Helpful as i32 }],
        trace_id: "t-9".to_owned(),
        outcome: OutcomeStatus::Success as i32,
        ..ReportOutcomeRequest::default()
    };
    world.recalls("acme").report_outcome(report).await.unwrap();

    let traced = provenance(&world, id, "").await.unwrap();
    assert!(matches!(traced.memory.unwrap().kind, Some(Kind::Lesson(_))));
    assert_eq!((traced.run_count, traced.runs.len(), traced.archived_at), (1, 1, None));
    let from = &traced.runs[0];
    assert_eq!((from.trace_id.as_str(), from.task_description.as_str()), ("t-1", TASK));
    assert_eq!((from.raw_events, from.outcome()), (5, OutcomeStatus::Success));
    let labels: Vec<StepLabel> = from.steps.iter().map(|step| step.label()).collect();
    assert_eq!(labels, [StepLabel::Misleading, StepLabel::Necessary, StepLabel::Necessary]);
    assert_eq!(traced.recalls.len(), 1);
    let recall = &traced.recalls[0];
    assert_eq!((recall.receipt_id.as_str(), recall.query.as_str()), (answer.receipt_id.as_str(), TASK));
    assert_eq!(recall.feedback.as_ref().unwrap().verdict(), FeedbackVerdict::Helpful);
    assert_eq!((traced.evidence_count, traced.evidence[0].trace_id.as_str()), (1, "t-9"));
}

#[tokio::test]
async fn a_fact_comes_from_no_run_and_is_its_users_alone() {
    let world = World::new().await;
    let said = fact("acme", "ann", "k", "喜欢喝茶");
    let id = said.id();
    world.remember(vec![said]).await;
    let traced = provenance(&world, id, "ann").await.unwrap();
    assert_eq!((traced.run_count, traced.recalls.len(), traced.evidence_count), (0, 0, 0));
    for user in ["", "bob"] {
        assert_eq!(provenance(&world, id, user).await.unwrap_err().code(), Code::NotFound);
    }
    let request = GetProvenanceRequest {
        memory_id: id.to_string(),
        kind: MemoryKind::Lesson as i32,
        user: "ann".to_owned(),
    };
    assert_eq!(world.memories("acme").get_provenance(request).await.unwrap_err().code(), Code::NotFound);
}
