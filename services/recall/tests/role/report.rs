//! What became of what a recall gave.

use crate::common::{World, ask, experience, fact, lesson};
use hindsight_api::Permission;
use hindsight_ports::{
    MemoryStore as _, StoreError,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::{
    common::v1::{Feedback, FeedbackVerdict, OutcomeStatus},
    recall::v1::{
        ExplainRecallRequest, RecallRequest, RecallResponse, ReportOutcomeRequest, ReportOutcomeResponse,
        ReportedItem,
    },
};
use hindsight_types::{Exposure, Memory, MemoryId, MemoryKind, Stage, Verdict, Viewer};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

const TASK: &str = "the api container restarts in a loop";

async fn recalled(world: &World) -> (RecallResponse, MemoryId) {
    let advice = lesson("loop", TASK, Stage::Active);
    let id = advice.id();
    world.remember(vec![advice, experience("t-1", TASK)]).await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    assert!(answer.block.contains("read the last lines of its log"), "{answer:?}");
    (answer, id)
}

fn says(receipt_id: &str, memory: MemoryId, verdict: FeedbackVerdict) -> ReportOutcomeRequest {
    ReportOutcomeRequest {
        receipt_id: receipt_id.to_owned(),
        items: vec![ReportedItem { memory_id: memory.to_string(), verdict: verdict as i32 }],
        ..ReportOutcomeRequest::default()
    }
}

async fn report(world: &World, request: ReportOutcomeRequest) -> Result<ReportOutcomeResponse, Status> {
    Ok(world.recalls("acme").report_outcome(request).await?.into_inner())
}

async fn told(world: &World, receipt_id: &str) -> Vec<Feedback> {
    let request = ExplainRecallRequest { receipt_id: receipt_id.to_owned(), ..Default::default() };
    let told = world.recalls("acme").explain_recall(request).await.unwrap().into_inner();
    told.receipt.unwrap().feedback
}

/// What the ledger counts for a lesson.
async fn counted(world: &World, id: MemoryId) -> (u32, u32) {
    let viewer = Viewer::of_tenant(crate::common::tenant("acme"));
    match world.store.get(&viewer, MemoryKind::Lesson, id).await.unwrap() {
        Some(Memory::Lesson(lesson)) => (lesson.supported, lesson.refuted),
        other => panic!("no lesson: {other:?}"),
    }
}

#[tokio::test]
async fn what_helped_in_a_run_is_evidence_and_the_last_word_counts() {
    let world = World::new().await;
    let (answer, id) = recalled(&world).await;
    let in_run = |verdict, trace: &str| ReportOutcomeRequest {
        trace_id: trace.to_owned(),
        outcome: OutcomeStatus::Success as i32,
        note: "说对了".to_owned(),
        ..says(&answer.receipt_id, id, verdict)
    };
    for added in [1, 0] {
        let said = report(&world, in_run(FeedbackVerdict::Helpful, "t-9")).await.unwrap();
        assert_eq!(said.evidence, added, "what is said again adds nothing");
        assert_eq!(counted(&world, id).await, (1, 0), "said twice, counted once");
    }
    let feedback = told(&world, &answer.receipt_id).await;
    assert_eq!(feedback.len(), 1);
    assert_eq!((feedback[0].verdict(), feedback[0].note.as_str()), (FeedbackVerdict::Helpful, "说对了"));
    assert_eq!((feedback[0].trace_id.as_str(), feedback[0].outcome()), ("t-9", OutcomeStatus::Success));

    report(&world, in_run(FeedbackVerdict::Harmful, "t-10")).await.unwrap();
    assert_eq!(counted(&world, id).await, (1, 1));
    assert_eq!(told(&world, &answer.receipt_id).await[0].verdict(), FeedbackVerdict::Harmful);
    report(&world, in_run(FeedbackVerdict::Ignored, "t-11")).await.unwrap();
    assert_eq!(counted(&world, id).await, (1, 1), "what is ignored is neither");

    let viewer = Viewer::of_tenant(crate::common::tenant("acme"));
    let lines = world.store.evidence(&viewer, id).await.unwrap();
    assert!(lines.iter().all(|line| line.exposure == Exposure::Injected));
    let mut verdicts: Vec<Verdict> = lines.iter().map(|line| line.verdict).collect();
    verdicts.sort_by_key(|v| *v as u8);
    assert_eq!(verdicts, [Verdict::Supported, Verdict::Refuted, Verdict::Ignored]);
}

#[tokio::test]
async fn without_a_run_or_a_judgement_nothing_is_evidence() {
    let world = World::new().await;
    let (answer, id) = recalled(&world).await;
    let said = report(&world, says(&answer.receipt_id, id, FeedbackVerdict::Helpful)).await.unwrap();
    assert_eq!((said.evidence, said.feedback.len()), (0, 1));
    let used = says(&answer.receipt_id, id, FeedbackVerdict::Used);
    let said = report(&world, ReportOutcomeRequest { trace_id: "t-9".to_owned(), ..used }).await.unwrap();
    assert_eq!((said.evidence, said.feedback[0].verdict()), (0, FeedbackVerdict::Used));
    assert_eq!(counted(&world, id).await, (0, 0));
}

#[tokio::test]
async fn only_what_was_given_is_reported_on_and_only_by_who_may() {
    let world = World::new().await;
    let (answer, id) = recalled(&world).await;
    world.remember(vec![fact("acme", "ann", "tea", "Ann likes green tea")]).await;
    let anns = RecallRequest { user: "ann".to_owned(), ..ask("which tea does Ann like?") };
    let anns = world.recall(anns).await.unwrap();
    assert_eq!(anns.items.len(), 1);

    let mut foreign = says(&answer.receipt_id, id, FeedbackVerdict::Helpful);
    let tea = crate::common::fact("acme", "ann", "tea", "").id();
    foreign.items.push(ReportedItem { memory_id: tea.to_string(), verdict: 1 });
    let refused = report(&world, foreign).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let fields = refused.get_details_bad_request().unwrap().field_violations;
    assert_eq!(fields[0].field, "items[1].memory_id");
    assert!(told(&world, &answer.receipt_id).await.is_empty(), "nothing of a refused report is kept");

    // The receipt of a user is that user's.
    let of_ann = says(&anns.receipt_id, tea, FeedbackVerdict::Helpful);
    for (tenant, user) in [("acme", ""), ("acme", "ben"), ("other", "ann")] {
        let request = ReportOutcomeRequest { user: user.to_owned(), ..of_ann.clone() };
        let refused = world.recalls(tenant).report_outcome(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{tenant} {user}");
    }
    let mine = ReportOutcomeRequest { user: "ann".to_owned(), ..of_ann };
    assert_eq!(report(&world, mine.clone()).await.unwrap().feedback.len(), 1);
    let reader = world.recalls_with("acme", Permission::Read).report_outcome(mine).await.unwrap_err();
    assert_eq!(reader.code(), Code::PermissionDenied);
}

#[tokio::test]
async fn a_report_that_failed_half_way_is_sent_again() {
    let world = World::new().await;
    let (answer, id) = recalled(&world).await;
    let request = ReportOutcomeRequest {
        trace_id: "t-9".to_owned(),
        ..says(&answer.receipt_id, id, FeedbackVerdict::Harmful)
    };
    let away = StoreError::Unavailable("gone".to_owned());
    world.store.inject(Calls::Only(StoreCall::AppendEvidence), When::Nth(1), Fault::Refuse(away));
    assert_eq!(report(&world, request.clone()).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(counted(&world, id).await, (0, 0));
    report(&world, request).await.unwrap();
    assert_eq!(counted(&world, id).await, (0, 1));
}
