//! Where the chain from a run to its use by others breaks.

use crate::common::{World, ask, experience, fact, lesson, run, tenant, time};
use hindsight_ingest::split;
use hindsight_ports::{Archive as _, Forget as _, Leaving, MemoryStore as _};
use hindsight_proto::{
    common::v1::{FeedbackVerdict, MemoryKind as Kind, OutcomeStatus},
    memory::v1::{
        DiagnoseRequest, DiagnoseResponse, DiagnosisLink, DiagnosisStage, DiagnosisState, DiagnosisSubject,
    },
    recall::v1::{RecallRequest, RecallResponse, ReportOutcomeRequest, ReportedItem},
};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, EventBody, Fact, FactStatus, Forgotten, Memory, MemoryId,
    MemoryKind, Receipt, ReceiptId, RejectedLesson, Scope, Stage, Subject, TraceId, UserId, Viewer,
    Visibility, Withheld, WithheldReason,
};
use tonic::Code;

const TASK: &str = "the api container restarts in a loop";

async fn diagnose(world: &World, subject: &str, user: &str) -> DiagnoseResponse {
    let request = DiagnoseRequest { subject: subject.to_owned(), user: user.to_owned() };
    world.memories("acme").diagnose(request).await.unwrap().into_inner()
}

/// The first broken link, after which none may be anything but out of reach.
fn broken(response: &DiagnoseResponse) -> &DiagnosisLink {
    let at = response.links.iter().position(|link| link.state() == DiagnosisState::Broken);
    let at = at.unwrap_or_else(|| panic!("nothing is broken: {response:?}"));
    assert!(response.links[..at].iter().all(|link| link.state() == DiagnosisState::Whole), "{response:?}");
    assert!(
        response.links[at + 1..].iter().all(|link| link.state() == DiagnosisState::NotReached),
        "{response:?}"
    );
    let last = response.links.last().unwrap().stage();
    assert_eq!(last, DiagnosisStage::Helped, "every link is named");
    &response.links[at]
}

async fn is_broken(
    world: &World,
    subject: &str,
    user: &str,
    stage: DiagnosisStage,
    reason: &str,
) -> DiagnosisLink {
    let response = diagnose(world, subject, user).await;
    let link = broken(&response);
    assert_eq!((link.stage(), link.reason.as_str()), (stage, reason), "{response:?}");
    assert!(!link.finding.is_empty(), "{link:?}");
    link.clone()
}

fn scope() -> Scope {
    Scope::new(tenant("acme"), Visibility::Tenant)
}

fn events() -> Vec<Event> {
    split(run("t-1", TASK).trajectory)
}

async fn recorded(world: &World, state: EvaluationState) {
    let record = EvaluationRecord {
        trace_id: TraceId::new("t-1").unwrap(),
        scope: scope(),
        state,
        attempts: 1,
        step_count: 3,
        judge: "slice/1".to_owned(),
        updated_at: time(-2),
    };
    world.store.put_evaluation_record(&record).await.unwrap();
}

/// A run in which everything went as it should, up to the store.
async fn judged(world: &World) {
    world.store.append_events(&events()).await.unwrap();
    recorded(world, EvaluationState::Judged).await;
    world.remember(vec![experience("t-1", TASK)]).await;
}

async fn says(world: &World, answer: &RecallResponse, memory: MemoryId, verdict: FeedbackVerdict) {
    let report = ReportOutcomeRequest {
        receipt_id: answer.receipt_id.clone(),
        items: vec![ReportedItem { memory_id: memory.to_string(), verdict: verdict as i32 }],
        trace_id: "t-9".to_owned(),
        outcome: OutcomeStatus::Success as i32,
        ..ReportOutcomeRequest::default()
    };
    world.recalls("acme").report_outcome(report).await.unwrap();
}

#[tokio::test]
async fn a_run_that_did_not_arrive_or_end() {
    let world = World::new().await;
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Collected, "NOT_COLLECTED").await;
    assert!(link.remedy.contains("--user"), "{link:?}");

    let unfinished = |e: &Event| !matches!(e.body, EventBody::Completed(_));
    let open: Vec<Event> = events().into_iter().filter(unfinished).collect();
    world.store.append_events(&open).await.unwrap();
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Collected, "NOT_COMPLETED").await;
    assert!(link.finding.contains("3 steps") && link.remedy.contains("CompleteTask"), "{link:?}");

    let other = World::new().await;
    let third = |e: &Event| !matches!(&e.body, EventBody::Step(step) if step.step_index == 1);
    let gappy: Vec<Event> = events().into_iter().filter(third).collect();
    other.store.append_events(&gappy).await.unwrap();
    let link = is_broken(&other, "t-1", "", DiagnosisStage::Collected, "STEPS_MISSING").await;
    assert!(link.finding.contains("step 1"), "{link:?}");
}

#[tokio::test]
async fn a_run_that_has_no_verdict() {
    let world = World::new().await;
    world.store.append_events(&events()).await.unwrap();
    is_broken(&world, "t-1", "", DiagnosisStage::Judged, "NOT_JUDGED").await;
    let reason = |reason: &str| reason.to_owned();
    recorded(&world, EvaluationState::Waiting { reason: reason("the model is away") }).await;
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Judged, "WAITING").await;
    assert!(link.finding.contains("the model is away"), "{link:?}");
    recorded(&world, EvaluationState::Skipped { reason: reason("it took 4 s") }).await;
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Judged, "SKIPPED").await;
    assert!(link.finding.contains("because it took 4 s") && link.remedy.contains("[gate]"), "{link:?}");
    recorded(&world, EvaluationState::Failed { reason: reason("no JSON") }).await;
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Judged, "FAILED").await;
    assert!(link.finding.contains("no JSON") && link.remedy.contains("failures --replay t-1"), "{link:?}");
    recorded(&world, EvaluationState::Judged).await;
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Stored, "NOT_STORED").await;
    assert!(link.remedy.contains("reevaluate t-1"), "{link:?}");
}

#[tokio::test]
async fn a_run_that_is_whole_from_end_to_end() {
    let world = World::new().await;
    judged(&world).await;
    is_broken(&world, "t-1", "", DiagnosisStage::Recalled, "NEVER_ASKED").await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Helped, "NOTHING_KNOWN").await;
    assert!(link.remedy.contains(&answer.receipt_id), "{link:?}");
    let id = experience("t-1", TASK).id();
    says(&world, &answer, id, FeedbackVerdict::Ignored).await;
    is_broken(&world, "t-1", "", DiagnosisStage::Helped, "IGNORED").await;
    says(&world, &answer, id, FeedbackVerdict::Harmful).await;
    is_broken(&world, "t-1", "", DiagnosisStage::Helped, "HARMED").await;
    says(&world, &answer, id, FeedbackVerdict::Helpful).await;
    for (subject, kind) in [
        ("t-1", DiagnosisSubject::Run),
        (&id.to_string(), DiagnosisSubject::Memory),
        (&answer.receipt_id, DiagnosisSubject::Receipt),
    ] {
        let response = diagnose(&world, subject, "").await;
        assert_eq!(response.subject(), kind);
        let whole = response.links.iter().all(|link| link.state() == DiagnosisState::Whole);
        assert!(whole && response.links.last().unwrap().stage() == DiagnosisStage::Helped, "{response:?}");
    }
}

#[tokio::test]
async fn a_run_without_a_lesson_says_why() {
    let world = World::new().await;
    world.store.append_events(&events()).await.unwrap();
    recorded(&world, EvaluationState::Judged).await;
    let mut vague = run("t-1", TASK);
    let (text, reason) = ("be careful next time".to_owned(), "it names nothing to do".to_owned());
    vague.evaluation.rejected_lessons = vec![RejectedLesson { text, reason }];
    world.remember(vec![Memory::Experience(Box::new(vague))]).await;
    let response = diagnose(&world, "t-1", "").await;
    let stored = response.links.iter().find(|link| link.stage() == DiagnosisStage::Stored).unwrap();
    assert_eq!(stored.reason, "STORED_WITHOUT_LESSON");
    assert!(stored.finding.contains("it names nothing to do"), "{stored:?}");
    world.remember(vec![lesson("loop", TASK, Stage::Active)]).await;
    let response = diagnose(&world, "t-1", "").await;
    let stored = response.links.iter().find(|link| link.stage() == DiagnosisStage::Stored).unwrap();
    assert!(stored.reason == "STORED" && stored.finding.contains("1 lesson"), "{stored:?}");
}

#[tokio::test]
async fn memories_that_are_not_served() {
    let world = World::new().await;
    judged(&world).await;
    let candidate = lesson("new", TASK, Stage::Candidate);
    let retired = lesson("bad", TASK, Stage::Retired);
    world.remember(vec![candidate.clone(), retired.clone()]).await;
    let link = is_broken(&world, &candidate.id().to_string(), "", DiagnosisStage::Stored, "CANDIDATE").await;
    assert!(link.finding.contains("waits for") && link.remedy.contains("approve"), "{link:?}");
    is_broken(&world, &retired.id().to_string(), "", DiagnosisStage::Stored, "RETIRED").await;

    let stated = |key: &str, change: fn(&mut Fact)| {
        let Memory::Fact(mut stated) = fact("acme", "ann", key, "喜欢喝茶") else { panic!("not a fact") };
        change(&mut stated);
        Memory::Fact(stated)
    };
    let obsolete = stated("a", |f| f.status = FactStatus::Obsolete);
    let expired = stated("b", |f| f.expires_at = Some(time(-1)));
    world.remember(vec![obsolete.clone(), expired.clone()]).await;
    is_broken(&world, &obsolete.id().to_string(), "ann", DiagnosisStage::Stored, "OBSOLETE").await;
    is_broken(&world, &expired.id().to_string(), "ann", DiagnosisStage::Stored, "EXPIRED").await;
    is_broken(&world, &expired.id().to_string(), "", DiagnosisStage::Collected, "NOT_COLLECTED").await;

    let faded = experience("t-1", TASK).id();
    let leaving = [Leaving { id: faded, why: "faded".to_owned(), instead: None }];
    let left =
        world.vectors.archive(&tenant("acme"), MemoryKind::Experience, &leaving, time(0)).await.unwrap();
    assert_eq!(left.len(), 1);
    for subject in [&faded.to_string(), "t-1"] {
        let link = is_broken(&world, subject, "", DiagnosisStage::Stored, "ARCHIVED").await;
        assert!(link.finding.contains("faded") && link.remedy.contains(&faded.to_string()), "{link:?}");
    }
}

/// Has a recall for something else tell that it found a memory and kept it back.
async fn kept_back(world: &World, memory: &Memory, reason: WithheldReason, score: f32) -> String {
    let answer = world.recall(ask("how do I bake sourdough bread")).await.unwrap();
    let (viewer, id) = (Viewer::of_tenant(tenant("acme")), ReceiptId::parse(&answer.receipt_id).unwrap());
    let receipt = world.store.receipt(&viewer, id).await.unwrap().unwrap();
    let kept = Withheld { memory_id: memory.id(), kind: memory.kind(), score, reason, instead: None };
    let receipt = Receipt { injected: vec![], withheld: vec![kept], ..receipt };
    world.store.put_receipt(&receipt).await.unwrap();
    answer.receipt_id
}

#[tokio::test]
async fn memories_that_recalls_left_behind() {
    let world = World::new().await;
    judged(&world).await;
    let run = experience("t-1", TASK);
    let id = run.id().to_string();
    let lessons = RecallRequest { kinds: vec![Kind::Lesson as i32], ..ask(TASK) };
    world.recall(lessons).await.unwrap();
    is_broken(&world, &id, "", DiagnosisStage::Recalled, "NOT_FOUND_BY_RECALLS").await;

    let far = kept_back(&world, &run, WithheldReason::BelowFloor, 0.14).await;
    let link = is_broken(&world, &id, "", DiagnosisStage::Recalled, "BELOW_FLOOR").await;
    for part in ["0.14 at best", "sourdough", "below the floor of 0."] {
        assert!(link.finding.contains(part), "{part}: {link:?}");
    }
    assert!(link.remedy.contains(&format!("explain {far} --expect {id}")), "{link:?}");
    let receipt = is_broken(&world, &far, "", DiagnosisStage::Injected, "NOTHING_GIVEN").await;
    assert!(receipt.remedy.contains(&id), "{receipt:?}");

    // What got further counts.
    let reasons = [
        (WithheldReason::Stage, "STAGE"),
        (WithheldReason::Superseded, "SUPERSEDED"),
        (WithheldReason::TokenBudget, "TOKEN_BUDGET"),
        (WithheldReason::Control, "CONTROL"),
    ];
    for (reason, named) in reasons {
        kept_back(&world, &run, reason, 0.3).await;
        is_broken(&world, &id, "", DiagnosisStage::Injected, named).await;
    }
    let link = is_broken(&world, &id, "", DiagnosisStage::Injected, "CONTROL").await;
    assert!(link.finding.contains("withheld as control"), "{link:?}");
}

#[tokio::test]
async fn what_was_forgotten() {
    let world = World::new().await;
    let memory = fact("acme", "ann", "k", "喜欢喝茶").id();
    let forget = |subject| Forgotten { scope: scope(), subject, at: time(0) };
    world.vectors.entomb(&forget(Subject::Run(TraceId::new("t-1").unwrap()))).await.unwrap();
    world.vectors.entomb(&forget(Subject::Memory(MemoryKind::Fact, memory))).await.unwrap();
    world.vectors.entomb(&forget(Subject::User(UserId::new("ann").unwrap()))).await.unwrap();
    let link = is_broken(&world, "t-1", "", DiagnosisStage::Collected, "FORGOTTEN").await;
    assert!(link.finding.contains("run t-1 was forgotten at 2026-09-21"), "{link:?}");
    is_broken(&world, &memory.to_string(), "", DiagnosisStage::Stored, "FORGOTTEN").await;
    let link = is_broken(&world, "another", "ann", DiagnosisStage::Collected, "FORGOTTEN").await;
    assert!(link.finding.contains("user ann"), "{link:?}");
}

#[tokio::test]
async fn a_recall_that_found_nothing() {
    let world = World::new().await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    is_broken(&world, &answer.receipt_id, "", DiagnosisStage::Recalled, "NOTHING_FOUND").await;
}

#[tokio::test]
async fn a_name_that_is_none() {
    let world = World::new().await;
    for subject in [String::new(), "x".repeat(200), "a\nb".to_owned()] {
        let request = DiagnoseRequest { subject, user: String::new() };
        let refused = world.memories("acme").diagnose(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
}
