//! Where lessons stand, and what people say of them.

use crate::common::{World, lesson, tenant, time};
use hindsight_api::Permission;
use hindsight_ports::{Ledger as _, MemoryStore as _};
use hindsight_proto::{
    common::v1::{ReviewDecision, Stage as PbStage},
    memory::v1::{LessonStanding, ListLessonsRequest, ReviewLessonRequest},
};
use hindsight_types::{
    Evidence, EvidenceId, EvidenceOrigin, Exposure, MemoryId, OutcomeStatus, Scope, Stage, TraceId, Verdict,
    Visibility,
};
use tonic::Code;

fn line(lesson: MemoryId, name: &str, exposure: Exposure, outcome: OutcomeStatus, day: i64) -> Evidence {
    let (tenant, trace) = (tenant("acme"), TraceId::new(name).unwrap());
    let verdict = match (exposure, outcome) {
        (Exposure::Withheld, _) => Verdict::Ignored,
        (_, OutcomeStatus::Success) => Verdict::Supported,
        _ => Verdict::Refuted,
    };
    Evidence {
        id: EvidenceId::of(lesson, &tenant, &trace),
        memory_id: lesson,
        scope: Scope::new(tenant, Visibility::Tenant),
        trace_id: trace,
        verdict,
        exposure,
        origin: EvidenceOrigin::Credited,
        outcome,
        outcome_from: None,
        steps: if exposure == Exposure::Withheld { 12 } else { 8 },
        tokens: 0,
        at: time(day),
    }
}

/// Five of five runs with the advice reached their goal, and one of five without.
fn tried(lesson: MemoryId) -> Vec<Evidence> {
    let mut lines = vec![line(lesson, "seen", Exposure::Observed, OutcomeStatus::Success, 1)];
    for n in 0..5 {
        let ended = if n == 0 { OutcomeStatus::Success } else { OutcomeStatus::Failure };
        lines.push(line(lesson, &format!("with-{n}"), Exposure::Injected, OutcomeStatus::Success, 2));
        lines.push(line(lesson, &format!("without-{n}"), Exposure::Withheld, ended, 2));
    }
    lines
}

async fn listed(world: &World, stage: PbStage) -> Vec<LessonStanding> {
    let request = ListLessonsRequest { stage: stage as i32, ..ListLessonsRequest::default() };
    world.memories("acme").list_lessons(request).await.unwrap().into_inner().lessons
}

fn review(lesson: MemoryId, decision: ReviewDecision, request: &str) -> ReviewLessonRequest {
    ReviewLessonRequest {
        memory_id: lesson.to_string(),
        user: String::new(),
        decision: decision as i32,
        reason: "tried it by hand; 试过了".to_owned(),
        request_id: request.to_owned(),
    }
}

async fn stage(world: &World, lesson: MemoryId) -> Stage {
    world.vectors.lesson(&tenant("acme"), lesson).await.unwrap().unwrap().stage
}

#[tokio::test]
async fn a_list_says_what_a_lesson_does_and_what_is_next() {
    let world = World::new().await;
    let (tried_one, new_one) =
        (lesson("logs", "a loop", Stage::Active), lesson("disk", "full", Stage::Candidate));
    let (good, new) = (tried_one.id(), new_one.id());
    world.remember(vec![tried_one, new_one]).await;
    world.store.append_evidence(&tried(good)).await.unwrap();

    let all = listed(&world, PbStage::Unspecified).await;
    assert_eq!(all.len(), 2);
    let active = listed(&world, PbStage::Active).await;
    let [LessonStanding { lesson: Some(lesson), standing: Some(standing) }] = active.as_slice() else {
        panic!("{active:?}");
    };
    assert_eq!((lesson.memory_id.as_str(), lesson.supported), (good.to_string().as_str(), 6));
    assert_eq!((standing.supported, standing.refuted, standing.stage), (6, 0, PbStage::Active as i32));
    let (with, without) = (standing.injected.unwrap(), standing.withheld.unwrap());
    assert_eq!((with.runs, with.successes, without.runs, without.successes), (5, 5, 5, 1));
    let success = standing.success.unwrap();
    assert!(success.low > 0.0 && success.low < success.value && success.value < success.high, "{success:?}");
    assert!(standing.helps >= 0.9 && standing.harms < 0.1, "{standing:?}");
    assert!(
        standing.why.contains("% without: better with probability 0.9")
            && standing.next.starts_with("retired when"),
        "{standing:?}"
    );

    let candidates = listed(&world, PbStage::Candidate).await;
    let standing = candidates[0].standing.clone().unwrap();
    assert_eq!(candidates[0].lesson.as_ref().unwrap().memory_id, new.to_string());
    assert_eq!(standing.success, None);
    assert!(standing.next.contains("confirms it"), "{standing:?}");
    assert_eq!(listed(&world, PbStage::Retired).await, []);
}

#[tokio::test]
async fn pages_are_bounded_and_wrong_ones_refused() {
    let world = World::new().await;
    let lessons = (0..5).map(|n| lesson(&format!("l-{n}"), "a loop", Stage::Candidate));
    world.remember(lessons.collect()).await;
    let mut client = world.memories("acme");
    let mut request = ListLessonsRequest { page_size: 2, ..ListLessonsRequest::default() };
    let mut seen = Vec::new();
    loop {
        let page = client.list_lessons(request.clone()).await.unwrap().into_inner();
        assert!(page.lessons.len() <= 2);
        seen.extend(page.lessons.into_iter().map(|l| l.lesson.unwrap().memory_id));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
    let wrong = [
        ListLessonsRequest { stage: 99, ..ListLessonsRequest::default() },
        ListLessonsRequest { page_size: -1, ..ListLessonsRequest::default() },
        ListLessonsRequest { page_token: "what".to_owned(), ..ListLessonsRequest::default() },
    ];
    for request in wrong {
        assert_eq!(client.list_lessons(request).await.unwrap_err().code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn an_approved_lesson_serves_until_it_harms() {
    let world = World::new().await;
    let memory = lesson("logs", "a loop", Stage::Candidate);
    let id = memory.id();
    world.remember(vec![memory]).await;
    let mut client = world.memories("acme");
    let request = review(id, ReviewDecision::Approved, "r-1");
    let done = client.review_lesson(request.clone()).await.unwrap().into_inner();
    let standing = done.lesson.clone().unwrap().standing.unwrap();
    assert_eq!(standing.stage, PbStage::Active as i32);
    assert!(standing.next.starts_with("nothing: approved by test"), "{standing:?}");
    assert_eq!(done.review.as_ref().unwrap().by, "test");
    assert_eq!(stage(&world, id).await, Stage::Active, "at once");
    let again = client.review_lesson(request).await.unwrap().into_inner();
    assert_eq!(again, done);
    let (_, reviews) = world.vectors.ledger(&tenant("acme"), id).await.unwrap();
    assert_eq!(reviews.len(), 1);

    let failed: Vec<_> =
        (0..4).map(|n| line(id, &format!("f-{n}"), Exposure::Injected, OutcomeStatus::Failure, 1)).collect();
    world.store.append_evidence(&failed).await.unwrap();
    let standing = listed(&world, PbStage::Unspecified).await[0].standing.clone().unwrap();
    assert_eq!(standing.stage, PbStage::Retired as i32, "{standing:?}");
    assert!(standing.why.starts_with("harm: "), "{standing:?}");
}

#[tokio::test]
async fn a_rejected_lesson_is_retired_whatever_it_does() {
    let world = World::new().await;
    let memory = lesson("logs", "a loop", Stage::Active);
    let id = memory.id();
    world.remember(vec![memory]).await;
    world.store.append_evidence(&tried(id)).await.unwrap();
    let mut client = world.memories("acme");
    let done = client.review_lesson(review(id, ReviewDecision::Rejected, "")).await.unwrap().into_inner();
    assert_eq!(done.lesson.unwrap().standing.unwrap().next, "an approval");
    assert_eq!(stage(&world, id).await, Stage::Retired);
}

#[tokio::test]
async fn reviews_are_checked() {
    let world = World::new().await;
    let memory = lesson("logs", "a loop", Stage::Candidate);
    let id = memory.id();
    world.remember(vec![memory]).await;
    let mut client = world.memories("acme");
    let good = review(id, ReviewDecision::Approved, "r-1");
    let wrong = [
        ReviewLessonRequest { decision: 0, ..good.clone() },
        ReviewLessonRequest { reason: " ".to_owned(), ..good.clone() },
        ReviewLessonRequest { reason: "x".repeat(5_000), ..good.clone() },
        ReviewLessonRequest { memory_id: "what".to_owned(), ..good.clone() },
        ReviewLessonRequest { request_id: "x".repeat(40), ..good.clone() },
    ];
    for request in wrong {
        assert_eq!(client.review_lesson(request).await.unwrap_err().code(), Code::InvalidArgument);
    }
    let unknown = review(MemoryId(uuid::Uuid::nil()), ReviewDecision::Approved, "");
    assert_eq!(client.review_lesson(unknown).await.unwrap_err().code(), Code::NotFound);
    let elsewhere = world.memories("other").review_lesson(good.clone()).await.unwrap_err();
    assert_eq!(elsewhere.code(), Code::NotFound);
    let mut reading = world.memories_with("acme", Permission::Read);
    assert_eq!(reading.review_lesson(good.clone()).await.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(stage(&world, id).await, Stage::Candidate, "nothing was done");

    client.review_lesson(good).await.unwrap();
    let reused = client.review_lesson(review(id, ReviewDecision::Rejected, "r-1")).await.unwrap_err();
    assert_eq!(reused.code(), Code::InvalidArgument);
    // A reason is kept, so it is freed of secrets.
    let secret = ReviewLessonRequest {
        reason: "the key AKIAIOSFODNN7EXAMPLE does it".to_owned(),
        ..review(id, ReviewDecision::Approved, "r-2")
    };
    let done = client.review_lesson(secret).await.unwrap().into_inner().review.unwrap();
    assert!(!done.reason.contains("AKIAIOSFODNN7EXAMPLE"), "{}", done.reason);
}

#[tokio::test]
async fn a_request_id_used_for_another_lesson_loses_no_review() {
    let world = World::new().await;
    let (first, second) =
        (lesson("logs", "a loop", Stage::Candidate), lesson("disk", "full", Stage::Candidate));
    let (one, other) = (first.id(), second.id());
    world.remember(vec![first, second]).await;
    let mut client = world.memories("acme");
    client.review_lesson(review(one, ReviewDecision::Approved, "r-1")).await.unwrap();
    client.review_lesson(review(other, ReviewDecision::Rejected, "r-1")).await.unwrap();
    assert_eq!((stage(&world, one).await, stage(&world, other).await), (Stage::Active, Stage::Retired));
}
