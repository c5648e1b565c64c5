//! Memories are condensed, merged, archived, superseded and expired by tasks from the queue, and a task that comes
//! again finds nothing to do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod upkeep;

use hindsight_ports::{
    Archive, History, Leaving, Ledger, MemoryStore, PageRequest,
    testkit::samples::{self, time, trace},
};
use hindsight_types::{
    Asked, Evidence, EvidenceId, EvidenceOrigin, Experience, Exposure, Fact, FactStatus, FactType,
    ForgettingState, Funnel, Lesson, Memory, MemoryId, MemoryKind, OutcomeStatus, RecalledItem, Receipt,
    ReceiptId, Review, ReviewDecision, ReviewId, Revision, RevisionCause, ScoreFactors, SimilarityParts,
    Stage, Step, StepEvaluation, TaskState, Verdict, Viewer, Work,
};
use upkeep::{DAY, House, scope, tenant, user, viewer};

fn skipped(state: &TaskState) -> bool {
    matches!(state, TaskState::Skipped { .. })
}

/// A run that repaired a container: it looked, and set a limit.
fn run(name: &str, day: i64, service: &str) -> Memory {
    let Memory::Experience(mut run) = samples::experience(&scope(), &trace(name), day * DAY) else {
        unreachable!("a sample of an experience")
    };
    let call = |at: u32, tool: &str, arguments: String| Step {
        action_name: tool.to_owned(),
        action_detail: arguments,
        ..samples::step(at)
    };
    let Experience { trajectory, evaluation, .. } = &mut *run;
    trajectory.task_description = format!("Repair the container {service}-7f that restarts over and over");
    trajectory.steps = vec![
        call(0, "get_logs", format!(r#"{{"name":"{service}"}}"#)),
        call(1, "set_limit", format!(r#"{{"name":"{service}","limit":"512m"}}"#)),
    ];
    let verdict = evaluation.steps[0].clone();
    evaluation.steps = (0..2).map(|at| StepEvaluation { step_index: at, ..verdict.clone() }).collect();
    Memory::Experience(run)
}

async fn the_rule(house: &House) -> Option<Lesson> {
    let page = house.store.lessons(&viewer(), None, &PageRequest::default()).await.unwrap();
    page.items.into_iter().next()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_alike_become_a_rule_with_their_evidence() {
    let house = House::new().await;
    let runs = [run("t-1", 1, "api"), run("t-2", 2, "web"), run("t-3", 3, "db")];
    house.write(&runs).await;
    let sources = |runs: &[Memory]| Work::Condense { sources: runs.iter().map(Memory::id).collect() };
    assert_eq!(house.work(sources(&runs)).await, TaskState::Done);
    let rule = the_rule(&house).await.unwrap();
    assert_eq!(rule.basis.chosen, "get_logs(name=<name>), then set_limit(limit=512m, name=<name>)");
    assert_eq!((rule.supported, rule.refuted, rule.stage), (2, 0, Stage::Candidate), "others than the first");
    assert_eq!(rule.sources, ["t-1", "t-2", "t-3"].map(trace));
    assert!(skipped(&house.work(sources(&runs)).await), "nothing is new");
    assert_eq!(the_rule(&house).await, Some(rule.clone()));

    let grown = [&runs[..], &[run("t-4", 4, "api")]].concat();
    house.write(&grown[3..]).await;
    assert_eq!(house.work(sources(&grown)).await, TaskState::Done);
    let again = the_rule(&house).await.unwrap();
    assert_eq!((again.id, again.supported, again.sources.len()), (rule.id, 3, 4));
    assert!(skipped(&house.work(sources(&grown[..2])).await), "two runs do not make a rule");
    house.stop().await;
}

/// However its runs are forgotten, a rule tells what the others did alike, as long as there are two.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_made_anew_of_the_runs_that_are_left() {
    let house = House::new().await;
    let runs = [run("t-1", 1, "api"), run("t-2", 2, "web"), run("t-3", 3, "db"), run("t-4", 4, "mq")];
    house.write(&runs).await;
    let sources = Work::Condense { sources: runs.iter().map(Memory::id).collect() };
    assert_eq!(house.work(sources).await, TaskState::Done);
    let rule = the_rule(&house).await.unwrap();
    let gone = [Leaving { id: runs[1].id(), why: "faded".to_owned(), instead: None }];
    house.store.archive(&tenant(), MemoryKind::Experience, &gone, time(9 * DAY)).await.unwrap();

    let f = house.forget("t-4").await;
    assert_eq!((f.state, f.rederived), (ForgettingState::Done, 1));
    let left = the_rule(&house).await.unwrap();
    assert_eq!((left.id, &left.basis.chosen), (rule.id, &rule.basis.chosen));
    assert_eq!(left.sources, ["t-1", "t-2", "t-3"].map(trace), "the archived one, too");
    assert_eq!(left.supported, 2);

    assert_eq!(house.forget("t-1").await.rederived, 1);
    let left = the_rule(&house).await.unwrap();
    assert_eq!((left.sources, left.supported), (["t-2", "t-3"].map(trace).to_vec(), 1));
    assert_eq!(house.forget("t-2").await.rederived, 0, "one run is no rule");
    assert_eq!(the_rule(&house).await, None);
    house.stop().await;
}

fn lesson(key: &str, situation: &str) -> Lesson {
    let mut lesson = samples::lesson(&scope(), key, &[key], 1);
    lesson.situation = situation.to_owned();
    lesson
}

fn line(lesson: &Lesson, run: &str, verdict: Verdict) -> Evidence {
    Evidence {
        id: EvidenceId::of(lesson.id, &tenant(), &trace(run)),
        memory_id: lesson.id,
        scope: scope(),
        trace_id: trace(run),
        verdict,
        exposure: Exposure::Injected,
        origin: EvidenceOrigin::Credited,
        outcome: OutcomeStatus::Success,
        outcome_from: None,
        steps: 3,
        tokens: 0,
        at: time(DAY),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lessons_that_say_the_same_become_one_with_the_evidence_of_both() {
    let house = House::new().await;
    let (keep, other) =
        (lesson("a", "api container is out of memory"), lesson("b", "The api container is out of memory."));
    let different = lesson("c", "the disk of db-01 is full");
    house.write(&[&keep, &other, &different].map(|l| Memory::Lesson(l.clone()))).await;
    let both = [
        line(&keep, "r-1", Verdict::Supported),
        line(&other, "r-1", Verdict::Supported),
        line(&other, "r-2", Verdict::Supported),
    ];
    house.store.append_evidence(&both).await.unwrap();
    let review = Review {
        id: ReviewId::of_request(&tenant(), "x"),
        memory_id: other.id,
        scope: scope(),
        decision: ReviewDecision::Approved,
        by: "ann".to_owned(),
        reason: "it works".to_owned(),
        at: time(DAY),
    };
    house.store.review(&review).await.unwrap();
    let work =
        || Work::Merge { kind: MemoryKind::Lesson, keep: keep.id, duplicates: vec![other.id, different.id] };
    assert_eq!(house.work(work()).await, TaskState::Done);
    let merged = house.store.lesson(&tenant(), keep.id).await.unwrap().unwrap();
    assert_eq!(merged.sources, ["a", "b"].map(trace));
    assert_eq!(merged.supported, 2, "the run that spoke of both speaks once");
    let (lines, reviews) = house.store.ledger(&tenant(), keep.id).await.unwrap();
    assert_eq!((lines.len(), reviews.len()), (2, 1));
    assert_eq!((reviews[0].decision, reviews[0].memory_id), (ReviewDecision::Approved, keep.id));
    assert!(house.store.lesson(&tenant(), different.id).await.unwrap().is_some());
    assert_eq!(house.store.lesson(&tenant(), other.id).await.unwrap(), None);
    let archived = house.store.archived(&viewer(), other.id).await.unwrap().unwrap();
    assert_eq!(archived.instead, Some(keep.id));
    assert!(skipped(&house.work(work()).await));

    let back = house.store.restore(&viewer(), other.id, time(9 * DAY)).await.unwrap();
    assert!(
        matches!(back, Some(Memory::Lesson(back)) if back.id == other.id && back.situation == other.situation)
    );
    assert!(skipped(&house.work(work()).await), "what somebody brought back stays");
    assert!(house.store.lesson(&tenant(), other.id).await.unwrap().is_some());
    house.stop().await;
}

fn fact(key: &str, content: &str, day: i64) -> Fact {
    let mut fact = samples::fact(&tenant(), "anna", key, day * DAY);
    (fact.content, fact.fact_type) = (content.to_owned(), FactType::Preference);
    (fact.entities, fact.intent) = (Vec::new(), String::new());
    fact
}

async fn known(house: &House, id: MemoryId) -> Option<Fact> {
    match house.store.get(&user("anna"), MemoryKind::Fact, id).await.unwrap() {
        Some(Memory::Fact(fact)) => Some(fact),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_that_was_said_again_or_taken_back_is_obsolete_and_names_what_holds() {
    let house = House::new().await;
    let (first, again) = (fact("a", "I live in Shanghai.", 1), fact("b", "I live in Shanghai", 2));
    let moved = fact("c", "I moved to Beijing, I no longer live in Shanghai", 3);
    house.write(&[&first, &again, &moved].map(|f| Memory::Fact(f.clone()))).await;
    let merge =
        || Work::Merge { kind: MemoryKind::Fact, keep: again.id, duplicates: vec![first.id, moved.id] };
    assert_eq!(house.work(merge()).await, TaskState::Done);
    let gone = known(&house, first.id).await.unwrap();
    assert_eq!((gone.status, gone.superseded_by), (FactStatus::Obsolete, Some(again.id)));
    assert!(skipped(&house.work(merge()).await));

    let replace =
        || Work::Supersede { kind: MemoryKind::Fact, newer: moved.id, older: vec![again.id, first.id] };
    assert_eq!(house.work(replace()).await, TaskState::Done);
    let gone = known(&house, again.id).await.unwrap();
    assert_eq!((gone.status, gone.superseded_by), (FactStatus::Obsolete, Some(moved.id)));
    assert_eq!(known(&house, moved.id).await, Some(moved.clone()));
    let before = house
        .store
        .history(&user("anna"), MemoryKind::Fact, again.id, &PageRequest::default())
        .await
        .unwrap();
    assert_eq!(before.items, [Memory::Fact(again.clone())], "how it was can be looked up");
    assert!(skipped(&house.work(replace()).await));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lesson_with_clear_evidence_retires_its_opposite() {
    let house = House::new().await;
    let seen = "the api container is out of memory and restarts";
    let (mut old, mut new) = (lesson("old", seen), lesson("new", seen));
    (old.basis.chosen, old.basis.rejected) = ("restart(api)".to_owned(), Vec::new());
    (new.basis.chosen, new.basis.rejected) =
        ("set_limit(api, 512m)".to_owned(), vec!["restart(api)".to_owned()]);
    house.write(&[&old, &new].map(|l| Memory::Lesson(l.clone()))).await;
    let work = || Work::Supersede { kind: MemoryKind::Lesson, newer: new.id, older: vec![old.id] };
    assert!(skipped(&house.work(work()).await), "no evidence speaks for either");
    let approval = |id: &str, decision, at| Review {
        id: ReviewId::of_request(&tenant(), id),
        memory_id: old.id,
        scope: scope(),
        decision,
        by: "ann".to_owned(),
        reason: String::new(),
        at: time(at),
    };
    let lines: Vec<Evidence> = ["r-1", "r-2", "r-3"].map(|run| line(&new, run, Verdict::Supported)).into();
    house.store.append_evidence(&lines).await.unwrap();
    house.store.append_evidence(&[line(&old, "r-4", Verdict::Refuted)]).await.unwrap();
    house.store.review(&approval("1", ReviewDecision::Approved, 1)).await.unwrap();
    assert!(skipped(&house.work(work()).await), "a person wants it to serve");
    house.store.review(&approval("2", ReviewDecision::Rejected, 2)).await.unwrap();
    assert_eq!(house.work(work()).await, TaskState::Done);
    let retired = house.store.lesson(&tenant(), old.id).await.unwrap().unwrap();
    assert_eq!(retired.stage, Stage::Retired);
    let (_, reviews) = house.store.ledger(&tenant(), old.id).await.unwrap();
    let last = reviews.last().unwrap();
    assert_eq!((reviews.len(), last.decision), (3, ReviewDecision::Rejected));
    assert!(last.reason.contains(&new.id.to_string()));
    assert!(skipped(&house.work(work()).await));
    house.stop().await;
}

fn receipt(memory: MemoryId, at: i64) -> Receipt {
    Receipt {
        id: ReceiptId::generate(),
        scope: scope(),
        query: "it restarts".to_owned(),
        asked: Some(Asked::default()),
        at: time(at),
        arms: Vec::new(),
        funnel: Some(Funnel::default()),
        injected: vec![RecalledItem {
            memory_id: memory,
            kind: MemoryKind::Experience,
            factors: ScoreFactors {
                similarity: 1.0,
                parts: SimilarityParts::default(),
                decay: 1.0,
                reliability: 1.0,
                environment: 1.0,
                trust: 1.0,
                stage: 1.0,
            },
            why: String::new(),
            supersedes: Vec::new(),
        }],
        withheld: Vec::new(),
        degraded: false,
        empty_reason: String::new(),
        tokens: 10,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_faded_leaves_unless_it_was_read() {
    let house = House::new().await;
    let (faded, read, young) = (run("faded", 1, "api"), run("read", 1, "web"), run("young", 390, "db"));
    house.write(&[faded.clone(), read.clone(), young.clone()]).await;
    house.store.put_receipt(&receipt(read.id(), 390 * DAY)).await.unwrap();
    house.set(400);
    let work = || {
        let memories = vec![faded.id(), read.id(), young.id()];
        Work::Archive { kind: MemoryKind::Experience, memories, surplus: false }
    };
    assert_eq!(house.work(work()).await, TaskState::Done);
    let there = house.store.list(&viewer(), MemoryKind::Experience, &PageRequest::default()).await.unwrap();
    assert_eq!(there.items, [young.clone(), read.clone()]);
    let archived = house.store.list_archived(&viewer(), &PageRequest::default()).await.unwrap();
    assert_eq!(archived.items.iter().map(|a| a.memory.id()).collect::<Vec<_>>(), [faded.id()]);
    assert!(skipped(&house.work(work()).await));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_enough_later_ones_leaves_unless_it_was_read() {
    let house = House::new().await;
    let (young, read) = (run("young", 390, "api"), run("read", 391, "web"));
    house.write(&[young.clone(), read.clone()]).await;
    house.store.put_receipt(&receipt(read.id(), 395 * DAY)).await.unwrap();
    house.set(400);
    let archive = |surplus| {
        let memories = vec![young.id(), read.id()];
        Work::Archive { kind: MemoryKind::Experience, memories, surplus }
    };
    assert!(skipped(&house.work(archive(false)).await), "it has not faded");
    assert_eq!(house.work(archive(true)).await, TaskState::Done);
    let there = house.store.list(&viewer(), MemoryKind::Experience, &PageRequest::default()).await.unwrap();
    assert_eq!(there.items, [read]);

    let expire = || Work::ExpireArchived { kind: MemoryKind::Experience, memories: vec![young.id()] };
    house.set(579);
    assert!(skipped(&house.work(expire()).await), "not long enough in the archive");
    house.set(581);
    assert_eq!(house.work(expire()).await, TaskState::Done);
    assert_eq!(house.store.archived(&viewer(), young.id()).await.unwrap(), None);
    assert!(skipped(&house.work(expire()).await));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_whose_time_is_over_leaves_with_how_it_was_before() {
    let house = House::new().await;
    let (expired, kept) =
        (Fact { expires_at: Some(time(50 * DAY)), ..fact("a", "a coupon", 1) }, fact("b", "I like tea", 1));
    let mut corrected = Memory::Fact(Fact { content: "a red coupon".to_owned(), ..expired.clone() });
    corrected.set_revision(Revision {
        at: time(2 * DAY),
        cause: RevisionCause::Updated,
        by: "ann".to_owned(),
        reason: "it is red".to_owned(),
        request_id: String::new(),
    });
    house.write(&[Memory::Fact(expired.clone()), Memory::Fact(kept.clone())]).await;
    house.store.revise(&Memory::Fact(expired.clone()), &corrected, None).await.unwrap();
    let work = || Work::ExpireFacts { facts: vec![expired.id, kept.id] };
    house.set(49);
    assert!(skipped(&house.work(work()).await));
    house.set(50);
    assert_eq!(house.work(work()).await, TaskState::Done);
    assert_eq!(known(&house, expired.id).await, None);
    assert_eq!(known(&house, kept.id).await, Some(kept.clone()));
    let before = house
        .store
        .history(&user("anna"), MemoryKind::Fact, expired.id, &PageRequest::default())
        .await
        .unwrap();
    assert!(before.items.is_empty());
    assert!(skipped(&house.work(work()).await));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_on_one_tenant_touches_no_other() {
    let house = House::new().await;
    let others = samples::tenant("others");
    let theirs = Memory::Fact(Fact { expires_at: Some(time(1)), ..samples::fact(&others, "anna", "a", 1) });
    house.write(std::slice::from_ref(&theirs)).await;
    house.set(50);
    assert!(skipped(&house.work(Work::ExpireFacts { facts: vec![theirs.id()] }).await));
    let Memory::Fact(fact) = &theirs else { unreachable!() };
    let whose = Viewer::of_scope(&fact.scope);
    assert_eq!(house.store.get(&whose, MemoryKind::Fact, theirs.id()).await.unwrap(), Some(theirs));
    house.stop().await;
}
