//! What runs say of lessons: learned once, followed by another on its own, tried on half of the recalls, proven or
//! retired. Nobody else's runs count.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use hindsight_codec::compaction_task_from_proto;
use hindsight_evaluator::EvaluatorSettings;
use hindsight_ports::{
    MemoryStore as _, Queue, StoreError,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::{
    common::v1::ReevaluationState,
    evaluator::v1::{GetReevaluationRequest, ReevaluateRequest, reevaluate_request::Target},
    event::v1::CompactionRequested,
};
use hindsight_types::{
    EvidenceOrigin, Exposure, Lesson, MemoryKind, OutcomeStatus, ReceiptId, Scope, Stage, TenantId,
    Trajectory, UserId, Verdict, Viewer, Visibility, WithheldReason, Work,
};
use prost::Message as _;
use support::{
    House,
    incidents::{
        Way, experience, given, gives, goal, judge, lesson, lines, recall, restaged, run, shared, trace,
    },
    tenant, until,
};
use uuid::Uuid;

const SUCCESS: OutcomeStatus = OutcomeStatus::Success;
const FAILURE: OutcomeStatus = OutcomeStatus::Failure;

async fn house() -> House {
    House::new(EvaluatorSettings::default()).await.run()
}

/// Recalls that are tried, and the smallest distance from the half that at most one in a million fair draws of so
/// many exceeds, by the exact binomial distribution: P(|X − 20| > 15) = 1.9e-7, P(|X − 20| > 14) = 1.4e-6.
const RECALLS: u128 = 40;
const FROM_HALF: usize = 15;

/// A lesson that was learned by one run and followed by another on its own.
async fn on_trial(house: &House) -> Lesson {
    judge(house, &run("learned", "payment-api", Way::Mode, SUCCESS)).await;
    let learned = lesson(house, &shared()).await;
    assert_eq!((learned.stage, lines(house, &learned).await.len()), (Stage::Candidate, 0));
    judge(house, &run("alone", "checkout-api", Way::Mode, SUCCESS)).await;
    let [line] = lines(house, &learned).await.try_into().unwrap();
    assert_eq!(
        (line.verdict, line.exposure, line.origin),
        (Verdict::Supported, Exposure::Observed, EvidenceOrigin::Observed)
    );
    assert_eq!((line.trace_id.as_str(), line.outcome, line.steps), ("alone", SUCCESS, 5));
    assert_eq!(restaged(house, &learned).await, Stage::Canary);
    lesson(house, &shared()).await
}

/// Runs that are given the lesson or not, as chance wants, until it is no longer on trial.
async fn tried(
    house: &House,
    lesson: &Lesson,
    with: (Way, OutcomeStatus),
    without: (Way, OutcomeStatus),
) -> Stage {
    for n in 0..RECALLS {
        let container = format!("web-{n}");
        let receipt = recall(house, &shared(), n, &goal(&container)).await;
        let (way, end) = if gives(&receipt, lesson) { with } else { without };
        let run =
            Trajectory { receipts: vec![receipt.id], ..run(&format!("tried-{n}"), &container, way, end) };
        judge(house, &run).await;
        let stage = restaged(house, lesson).await;
        if stage != Stage::Canary {
            return stage;
        }
    }
    Stage::Canary
}

#[tokio::test(flavor = "multi_thread")]
async fn what_helps_is_tried_on_half_and_then_served() {
    let house = house().await;
    let lesson = on_trial(&house).await;
    let mut had_it = 0;
    for n in 0..RECALLS {
        let receipt = recall(&house, &shared(), n, &goal("web-9")).await;
        let held = receipt.withheld.iter().find(|w| w.memory_id == lesson.id).map(|w| w.reason);
        assert_eq!(held, (!gives(&receipt, &lesson)).then_some(WithheldReason::Control));
        had_it += usize::from(gives(&receipt, &lesson));
    }
    assert!(had_it.abs_diff(RECALLS as usize / 2) <= FROM_HALF, "{had_it} of {RECALLS}");

    let stage = tried(&house, &lesson, (Way::Mode, SUCCESS), (Way::Restart, FAILURE)).await;
    let all = lines(&house, &lesson).await;
    assert_eq!(stage, Stage::Active, "{all:?}");
    for line in all.iter().filter(|l| l.origin == EvidenceOrigin::Credited) {
        let expected = match line.exposure {
            Exposure::Injected => (Verdict::Supported, SUCCESS),
            _ => (Verdict::Ignored, FAILURE),
        };
        assert_eq!((line.verdict, line.outcome), expected, "{line:?}");
    }
    assert!(all.iter().any(|l| l.exposure == Exposure::Withheld), "the other half is known");
    let known = crate::lesson(&house, &shared()).await;
    let supported = all.iter().filter(|l| l.verdict == Verdict::Supported).count();
    assert_eq!(known.supported as usize, supported);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_harms_is_retired() {
    let house = house().await;
    let lesson = on_trial(&house).await;
    let stage = tried(&house, &lesson, (Way::Mode, FAILURE), (Way::Owner, SUCCESS)).await;
    assert_eq!(stage, Stage::Retired, "{:?}", lines(&house, &lesson).await);
    let receipt = recall(&house, &shared(), 1_000, &goal("web-1")).await;
    assert!(!gives(&receipt, &lesson));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_others_say_nothing() {
    let house = house().await;
    let of = |user: &str| Scope::new(tenant(), Visibility::User(UserId::new(user).unwrap()));
    let by = |scope: &Scope, run: Trajectory| Trajectory { scope: scope.clone(), ..run };
    judge(&house, &by(&of("ann"), run("ann-1", "payment-api", Way::Mode, SUCCESS))).await;
    let anns = lesson(&house, &of("ann")).await;
    let receipt = given(&house, &of("ann"), 1, anns.id, MemoryKind::Lesson).await;

    // Bob's run, one of everyone's, and one of another tenant, each with her receipt.
    let other = Scope::new(TenantId::new("globex").unwrap(), Visibility::Tenant);
    for (name, scope) in [("bob-1", of("bob")), ("all-1", shared()), ("globex-1", other)] {
        let run = Trajectory { receipts: vec![receipt.id], ..run(name, "payment-api", Way::Mode, SUCCESS) };
        judge(&house, &by(&scope, run)).await;
    }
    assert_eq!(lines(&house, &anns).await, []);

    // Hers counts, and stays hers.
    judge(&house, &by(&of("ann"), run("ann-2", "checkout-api", Way::Mode, SUCCESS))).await;
    let [line] = lines(&house, &anns).await.try_into().unwrap();
    assert_eq!((line.trace_id.as_str(), &line.scope), ("ann-2", &of("ann")));
    let bob = Viewer::of_tenant(tenant()).with_user(Some(UserId::new("bob").unwrap()));
    assert_eq!(house.ledger.evidence(&bob, anns.id).await.unwrap(), []);

    // What her run says of a lesson of everyone is counted, and told to nobody else.
    let everyones = lesson(&house, &shared()).await;
    let said = lines(&house, &everyones).await;
    assert!(said.iter().any(|l| l.trace_id == trace("ann-2") && l.scope == of("ann")), "{said:?}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_there_before_the_run_counts_as_judged_and_only_once() {
    let house = house().await;
    judge(&house, &run("learned", "payment-api", Way::Mode, SUCCESS)).await;
    let learned = lesson(&house, &shared()).await;
    let down = || StoreError::Unavailable("down".to_owned());
    // The worker dies, as far as the ledger is concerned: before the line is there, and after.
    house.store.inject(Calls::Only(StoreCall::AppendEvidence), When::Nth(1), Fault::Refuse(down()));
    house.store.inject(Calls::Only(StoreCall::AppendEvidence), When::Nth(2), Fault::Lose(down()));
    let alone = run("alone", "checkout-api", Way::Mode, SUCCESS);
    judge(&house, &alone).await;
    assert_eq!(lines(&house, &learned).await.len(), 1);
    // Its message comes again.
    judge(&house, &alone).await;
    assert_eq!(lines(&house, &learned).await.len(), 1);
    assert_eq!(lesson(&house, &shared()).await.supported, 1);

    let mut upkeep = house.bus.subscribe(Queue::Compact, 8).await.unwrap();
    let delivery = upkeep.next().await.unwrap();
    let request = CompactionRequested::decode(delivery.envelope.payload.as_slice()).unwrap();
    let task = compaction_task_from_proto(&delivery.envelope.tenant, request.task.unwrap()).unwrap();
    assert!(matches!(&task.work, Work::Restage { lessons } if lessons.contains(&learned.id)), "{task:?}");
    delivery.settle.ack().await.unwrap();
    drop(upkeep);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn judged_again_a_run_rewrites_its_lines() {
    let house = house().await;
    judge(&house, &run("learned", "payment-api", Way::Mode, SUCCESS)).await;
    let learned = lesson(&house, &shared()).await;
    let receipt = given(&house, &shared(), 1, learned.id, MemoryKind::Lesson).await;
    let told = Trajectory { receipts: vec![receipt.id], ..run("told", "checkout-api", Way::Mode, SUCCESS) };
    judge(&house, &told).await;
    let before = lines(&house, &learned).await;
    assert_eq!((before[0].verdict, before[0].exposure), (Verdict::Supported, Exposure::Injected));
    for request_id in ["once", "twice"] {
        let target = Some(Target::All(true));
        let request = ReevaluateRequest { request_id: request_id.to_owned(), target, ..Default::default() };
        let job = house.client().reevaluate(request).await.unwrap().into_inner().reevaluation.unwrap();
        until("the re-evaluation ends", || async {
            let request = GetReevaluationRequest { id: job.id.clone(), user: String::new() };
            let job = house.client().get_reevaluation(request).await.ok()?.into_inner().reevaluation?;
            (job.state() == ReevaluationState::Done).then_some(())
        })
        .await;
        let after = lines(&house, &learned).await;
        assert_eq!(after.len(), before.len(), "the run that taught it says nothing of it: {after:?}");
        assert_eq!((after[0].id, after[0].verdict), (before[0].id, before[0].verdict));
        assert!(after[0].at > before[0].at, "written anew");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_recall_decides_and_experiences_are_credited_too() {
    let house = house().await;
    let lesson = on_trial(&house).await;
    let source = experience(&house, &run("learned", "payment-api", Way::Mode, SUCCESS)).await;
    let find = |wanted: bool| {
        (2_000_u128..).find(|n| (ReceiptId(Uuid::from_u128(*n)).draw(lesson.id) >= 0.5) == wanted).unwrap()
    };
    let kept_back = recall(&house, &shared(), find(false), &goal("web-1")).await;
    let has_it = recall(&house, &shared(), find(true), &goal("web-1")).await;
    assert!(!gives(&kept_back, &lesson) && gives(&has_it, &lesson));
    let has_source = given(&house, &shared(), 1, source.id(), MemoryKind::Experience).await;
    // Named in another order, with one that nobody made.
    let receipts = vec![has_it.id, ReceiptId(Uuid::from_u128(7_777_777)), has_source.id, kept_back.id];
    judge(&house, &Trajectory { receipts, ..run("asked-twice", "web-1", Way::Mode, SUCCESS) }).await;
    let said = lines(&house, &lesson).await;
    let line = said.iter().find(|l| l.trace_id == trace("asked-twice")).unwrap();
    assert_eq!(
        (line.exposure, line.verdict, line.origin),
        (Exposure::Withheld, Verdict::Supported, EvidenceOrigin::Credited)
    );
    let of_source = house.ledger.evidence(&support::viewer(), source.id()).await.unwrap();
    assert_eq!(
        of_source.iter().map(|l| (l.exposure, l.verdict)).collect::<Vec<_>>(),
        [(Exposure::Injected, Verdict::Supported)]
    );
    house.stop().await;
}
