//! What becomes of what was learned, and of what is on its way, when runs are forgotten or come together.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use hindsight_codec::{compaction_task_to_proto, schema};
use hindsight_forgetting::{Files, Forgetter};
use hindsight_ingest::encode;
use hindsight_lifecycle::plan::lessons;
use hindsight_ports::{
    Archive as _, Begun, Envelope, Forget as _, History as _, Leaving, Ledger as _, MemoryStore as _,
    PageRequest, Queue, Revised, Subjects, SystemClock, testkit::samples,
};
use hindsight_proto::event::v1::CompactionRequested;
use hindsight_types::{
    CompactionTask, EvaluationState, EvidencePolicy, Forgetting, ForgettingId, ForgettingState, Forgotten,
    Lesson, Memory, MemoryId, MemoryKind, OutcomeStatus, Review, ReviewDecision, ReviewId, Revision,
    RevisionCause, Scope, Stage, Subject, SubjectMerge, Timestamp, Trajectory, UserId, Viewer, Visibility,
    Work,
};
use prost::Message as _;
use support::{
    Bytes8, House,
    incidents::{Way, judge, lesson, lines, run, shared, trace},
    runs::{requested, settled},
    tenant, until, viewer,
};

const SUCCESS: OutcomeStatus = OutcomeStatus::Success;
const WORDS: &str = "Set the mode of the file to 640, and tell the owner of the deployment.";

async fn idle(house: &House) {
    until("nothing is on its way", || async {
        let mut waiting = 0;
        for queue in [Queue::Evaluate, Queue::Compact] {
            let stats = house.bus.stats(queue).await.ok()?;
            waiting += stats.ready + stats.delayed + stats.unsettled;
        }
        (waiting == 0).then_some(())
    })
    .await;
}

async fn forget(house: &House, subject: Subject) -> Forgetting {
    let forgetter = Forgetter {
        forget: house.ledger.clone(),
        bus: house.bus.clone(),
        clock: std::sync::Arc::new(SystemClock),
        store_files: Files::OutOfReach("those of the store"),
        queue_files: Files::OutOfReach("those of the queues"),
    };
    let id = ForgettingId::of_request(&tenant(), &subject.in_words());
    let (reason, by, now) = ("asked".to_owned(), "ops".to_owned(), Timestamp::now());
    forgetter.begin(&Forgetting::begin(id, shared(), subject, reason, by, now)).await.unwrap();
    let over = until("it is forgotten", || async {
        let f = house.ledger.forgetting(&tenant(), id).await.ok()??;
        f.state.is_over().then_some(f)
    })
    .await;
    idle(house).await;
    over
}

/// A person's words in the place of the advice, approved.
async fn correct(house: &House, lesson: &Lesson, by: &str) {
    let revision = Revision {
        at: Timestamp::now(),
        cause: RevisionCause::Updated,
        by: by.to_owned(),
        reason: "it was not the whole truth".to_owned(),
        request_id: String::new(),
    };
    let next = Lesson { advice: WORDS.to_owned(), revision: Some(revision), ..lesson.clone() };
    let next = Memory::Lesson(next);
    let encoded = encode::memories(&Bytes8::new(), vec![next.clone()]).await.unwrap();
    let revised =
        house.ledger.revise(&Memory::Lesson(lesson.clone()), &next, Some(&encoded[0].encoding)).await;
    assert_eq!(revised.unwrap(), Revised::Done);
    let review = Review {
        id: ReviewId::of_request(&tenant(), "approved"),
        memory_id: lesson.id,
        scope: lesson.scope.clone(),
        decision: ReviewDecision::Approved,
        by: "ann".to_owned(),
        reason: "so it is right".to_owned(),
        at: Timestamp::now(),
    };
    house.ledger.review(&review).await.unwrap();
    assert!(house.ledger.restage(&tenant(), lesson.id, Stage::Active).await.unwrap());
}

async fn archive(house: &House, names: &[&str]) {
    let leaving = names.iter().map(|name| Leaving {
        id: MemoryId::experience(&tenant(), &trace(*name)),
        why: "faded".to_owned(),
        instead: None,
    });
    let leaving: Vec<Leaving> = leaving.collect();
    let gone = house.ledger.archive(&tenant(), MemoryKind::Experience, &leaving, Timestamp::now()).await;
    assert_eq!(gone.unwrap().len(), names.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_made_of_a_lesson_outlives_its_runs() {
    let house = House::caring().await.run();
    for (name, container) in [("a", "payment-api"), ("b", "checkout-api"), ("c", "billing-api")] {
        judge(&house, &run(name, container, Way::Mode, SUCCESS)).await;
    }
    idle(&house).await;
    let taught = lesson(&house, &shared()).await;
    assert_eq!(taught.sources, ["a", "b", "c"].map(trace));
    correct(&house, &taught, "ops").await;
    // What left the search teaches as before.
    archive(&house, &["b", "c"]).await;

    let f = forget(&house, Subject::Run(trace("a"))).await;
    assert_eq!(f.state, ForgettingState::Done);
    let kept = lesson(&house, &shared()).await;
    assert_eq!((kept.id, kept.advice.as_str(), kept.stage), (taught.id, WORDS, Stage::Active));
    assert_eq!(kept.sources, ["b", "c"].map(trace));
    assert_eq!(kept.revision.as_ref().map(|r| r.by.as_str()), Some("ops"));
    let former = house.ledger.history(&viewer(), MemoryKind::Lesson, kept.id, &PageRequest::default()).await;
    let former = former.unwrap().items;
    assert_eq!(former.len(), 1, "as the others teach it: {former:?}");
    assert!(!format!("{former:?}").contains("payment-api"), "{former:?}");
    assert!(!format!("{kept:?}").contains("payment-api"), "{kept:?}");

    // And once more.
    let f = forget(&house, Subject::Run(trace("b"))).await;
    assert_eq!(f.state, ForgettingState::Done);
    let kept = lesson(&house, &shared()).await;
    assert_eq!((kept.advice.as_str(), kept.stage), (WORDS, Stage::Active));
    assert_eq!(kept.sources, ["c"].map(trace));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_the_one_who_is_forgotten_go_and_the_lesson_waits_for_a_person() {
    let house = House::caring().await.run();
    let hers =
        Trajectory { user: Some(UserId::new("ann").unwrap()), ..run("a", "payment-api", Way::Mode, SUCCESS) };
    judge(&house, &hers).await;
    judge(&house, &run("b", "checkout-api", Way::Mode, SUCCESS)).await;
    idle(&house).await;
    let taught = lesson(&house, &shared()).await;
    correct(&house, &taught, "ann").await;
    let f = forget(&house, Subject::User(UserId::new("ann").unwrap())).await;
    assert_eq!(f.state, ForgettingState::Done);
    let left = lesson(&house, &shared()).await;
    assert_eq!((left.sources.as_slice(), left.stage), (&[trace("b")][..], Stage::Retired));
    assert!(left.revision.is_none() && left.advice != WORDS, "{left:?}");
    let (_, reviews) = house.ledger.ledger(&tenant(), left.id).await.unwrap();
    let last = reviews.last().unwrap();
    assert_eq!((last.decision, last.by.as_str()), (ReviewDecision::Rejected, "policy forgetting"));
    house.stop().await;
}

fn of(name: &str) -> Scope {
    Scope::new(tenant(), Visibility::User(UserId::new(name).unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_run_does_not_come_back_to_the_failures() {
    let house = House::caring().await.run();
    let hers = Trajectory { scope: of("ann"), ..run("hers", "payment-api", Way::Mode, SUCCESS) };
    let listed = Trajectory { trace_id: trace("listed"), ..hers.clone() };
    let at = Timestamp::now();
    let ann = Subject::User(UserId::new("ann").unwrap());
    house.ledger.entomb(&Forgotten { scope: shared(), subject: ann, at }).await.unwrap();
    let state = EvaluationState::Waiting { reason: "missing start".to_owned() };
    let record = samples::evaluation_record(&of("ann"), &listed.trace_id, state, 3);
    house.store.put_evaluation_record(&record).await.unwrap();
    // Asked for when its user was forgotten already: its events were durable before, and are gone.
    let late = at + Duration::from_secs(1);
    for run in [&hers, &listed] {
        let asked = Envelope { occurred_at: late, ..requested(run) };
        house.bus.publish(Queue::Evaluate, vec![asked]).await.unwrap();
    }
    settled(&house).await;
    idle(&house).await;
    let hers_too = Viewer::of_scope(&of("ann"));
    for run in [&hers, &listed] {
        let record = house.store.evaluation_record(&hers_too, &run.trace_id).await.unwrap();
        assert_eq!(record, None, "{}", run.trace_id);
    }

    // Whoever comes back is judged as before.
    let again = Trajectory {
        trace_id: trace("again"),
        started_at: late,
        ended_at: late + Duration::from_secs(60),
        ..hers.clone()
    };
    judge(&house, &again).await;
    house.stop().await;
}

/// Whether runs are judged one after the other, or apart and then come together, makes no difference.
#[tokio::test(flavor = "multi_thread")]
async fn runs_that_come_together_confirm_each_other() {
    let house = House::caring().await.run();
    for (name, user) in [("m-1", "visitor"), ("n-1", "ann")] {
        let theirs = Trajectory { scope: of(user), ..run(name, "payment-api", Way::Mode, SUCCESS) };
        judge(&house, &theirs).await;
    }
    idle(&house).await;
    let (from, to) = (UserId::new("visitor").unwrap(), UserId::new("ann").unwrap());
    let merge = SubjectMerge::new(tenant(), from, to, "ops", "signed in", Timestamp::now());
    let begun = Subjects::begin(&*house.ledger, &merge).await.unwrap();
    let Begun::Stands(merge) = begun else { panic!("in the way") };
    house.ledger.carry(&merge, Timestamp::now()).await.unwrap();
    let both = lesson(&house, &of("ann")).await;
    assert_eq!(both.sources, ["m-1", "n-1"].map(trace));
    assert_eq!((both.stage, lines(&house, &both).await.len()), (Stage::Candidate, 0));

    let planned = async || {
        let all = [lesson(&house, &of("ann")).await];
        let rows = lessons::rows(&*house.ledger, &tenant(), &all, &EvidencePolicy::default()).await;
        lessons::plan(&rows.unwrap())
    };
    let plan = planned().await;
    assert_eq!(plan.len(), 1);
    upkeep(&house, plan[0].work.clone()).await;
    idle(&house).await;
    let both = lesson(&house, &of("ann")).await;
    assert_eq!((both.stage, both.supported), (Stage::Canary, 1));
    let [line] = lines(&house, &both).await.try_into().unwrap();
    assert_eq!((line.trace_id, line.scope), (trace("n-1"), of("ann")));
    assert_eq!(planned().await, []);
    house.stop().await;
}

async fn upkeep(house: &House, work: Work) {
    let task = CompactionTask::triggered(tenant(), work, "a test".to_owned(), "test", Timestamp::now());
    let envelope = Envelope {
        id: task.id.0,
        schema: schema::COMPACTION_REQUESTED.to_owned(),
        tenant: tenant(),
        occurred_at: task.planned_at,
        trace_context: Default::default(),
        payload: CompactionRequested { task: Some(compaction_task_to_proto(&task)) }.encode_to_vec(),
    };
    house.bus.publish(Queue::Compact, vec![envelope]).await.unwrap();
}
