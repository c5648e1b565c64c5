use std::sync::Arc;

use hindsight_types::{
    Evaluation, EvaluationRecord, EvaluationState, Evidence, EvidenceOrigin, FormerVerdicts, JudgeChoice,
    Memory, OutcomeStatus, Reevaluation, ReevaluationId, ReevaluationState, ReevaluationTarget, Verdict,
    Viewer,
};
use tokio::task::JoinSet;

use super::merges::stored_lesson;
use crate::{
    MemoryStore, PageRequest,
    testkit::samples::{
        self, encoded, evaluation_record, evidence, lesson, private, shared, tenant, time, trace, user,
    },
};

pub async fn evaluations_are_replaced_and_listed(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("evaluations");
    let (scope, viewer) = (shared(&tenant), Viewer::of_tenant(tenant.clone()));
    let waiting = || EvaluationState::Waiting { reason: "2 of 3 steps".to_owned() };
    let failed = || EvaluationState::Failed { reason: "模型没有回答".to_owned() };
    let records = [
        evaluation_record(&scope, &trace("a"), waiting(), 1),
        evaluation_record(&scope, &trace("b"), failed(), 2),
        evaluation_record(&scope, &trace("c"), waiting(), 3),
        evaluation_record(&scope, &trace("d"), EvaluationState::Skipped { reason: "short".to_owned() }, 4),
        evaluation_record(&scope, &trace("c"), EvaluationState::Judged, 5),
        evaluation_record(&private(&tenant, "anna"), &trace("e"), failed(), 6),
    ];
    for record in &records {
        store.put_evaluation_record(record).await.unwrap();
        store.put_evaluation_record(record).await.unwrap();
    }
    let found = async |viewer: &Viewer, name| store.evaluation_record(viewer, &trace(name)).await.unwrap();
    assert_eq!(found(&viewer, "c").await.as_ref(), Some(&records[4]));
    assert_eq!(found(&viewer, "e").await, None);
    assert_eq!(found(&viewer, "unknown").await, None);

    let page = store.unfinished_evaluations(&viewer, &PageRequest::default()).await.unwrap();
    assert_eq!(page.items, [records[1].clone(), records[0].clone()]);
    assert_eq!(page.next_token, "");
    let anna = viewer.with_user(Some(user("anna")));
    let first = PageRequest { size: 1, token: String::new() };
    let page = store.unfinished_evaluations(&anna, &first).await.unwrap();
    assert_eq!(page.items, [records[5].clone()]);
    let rest = PageRequest { size: 5, token: page.next_token };
    let page = store.unfinished_evaluations(&anna, &rest).await.unwrap();
    assert_eq!(page.items, [records[1].clone(), records[0].clone()]);
}

pub async fn judged_runs_are_found_for_upkeep(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("upkeep");
    let scope = shared(&tenant);
    let judged = || EvaluationState::Judged;
    let other = EvaluationRecord {
        judge: "slice/2".to_owned(),
        ..evaluation_record(&scope, &trace("b"), judged(), 2)
    };
    let records = [
        evaluation_record(&scope, &trace("a"), judged(), 1),
        other,
        evaluation_record(&private(&tenant, "anna"), &trace("c"), judged(), 3),
        evaluation_record(&scope, &trace("d"), EvaluationState::Skipped { reason: "short".to_owned() }, 4),
        evaluation_record(&shared(&samples::tenant("upkeep 2")), &trace("e"), judged(), 5),
    ];
    for record in &records {
        store.put_evaluation_record(record).await.unwrap();
    }
    let page = async |judge: &str, size, token: String| {
        store.judged_runs(&tenant, judge, &PageRequest { size, token }).await.unwrap()
    };
    let all = page("", 9, String::new()).await;
    assert_eq!(all.items, [records[2].clone(), records[1].clone(), records[0].clone()]);
    let first = page("slice/1", 1, String::new()).await;
    assert_eq!(first.items, [records[2].clone()]);
    let rest = page("slice/1", 9, first.next_token).await;
    assert_eq!((rest.items, rest.next_token.as_str()), (vec![records[0].clone()], ""));
    assert_eq!(page("slice/9", 9, String::new()).await.items, []);
}

pub async fn former_verdicts_are_kept(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("former");
    let scope = private(&tenant, "anna");
    let Memory::Experience(run) = samples::experience(&scope, &trace("a"), 10) else {
        panic!("no experience")
    };
    let mut former =
        FormerVerdicts { trace_id: trace("a"), scope: scope.clone(), verdicts: vec![run.evaluation.clone()] };
    store.put_former_verdicts(&former).await.unwrap();
    former.add(run.evaluation.clone());
    former.add(Evaluation { judge: "slice/2".to_owned(), ..run.evaluation });
    store.put_former_verdicts(&former).await.unwrap();
    let viewer = Viewer::of_tenant(tenant);
    let anna = viewer.clone().with_user(Some(user("anna")));
    let found = store.former_verdicts(&anna, &trace("a")).await.unwrap().unwrap();
    assert_eq!((found.verdicts.len(), &found), (2, &former));
    assert_eq!(store.former_verdicts(&viewer, &trace("a")).await.unwrap(), None);
    // Nothing of it looks like the state of an evaluation.
    assert_eq!(store.evaluation_record(&anna, &trace("a")).await.unwrap(), None);
    assert_eq!(store.unfinished_evaluations(&anna, &PageRequest::default()).await.unwrap().items, []);
}

pub async fn reevaluations_are_kept(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("reevaluations");
    let job = Reevaluation {
        id: ReevaluationId::of_request(&tenant, "r-1"),
        scope: shared(&tenant),
        target: ReevaluationTarget::Judge("slice/1".to_owned()),
        judge: Some(JudgeChoice::Both),
        state: ReevaluationState::Running,
        total: 3,
        judged: 1,
        failed: 1,
        failures: vec![(trace("b"), "没有事件".to_owned())],
        page: 1,
        cursor: "c".to_owned(),
        pending: vec![(trace("c"), private(&tenant, "anna"))],
        created_at: time(1),
        updated_at: time(2),
    };
    store.put_reevaluation(&job).await.unwrap();
    let failed = ReevaluationState::Failed { reason: "away".to_owned() };
    let ended = Reevaluation {
        state: failed,
        target: ReevaluationTarget::Run(trace("a")),
        judge: None,
        updated_at: time(3),
        ..job.clone()
    };
    store.put_reevaluation(&ended).await.unwrap();
    let viewer = Viewer::of_tenant(tenant);
    assert_eq!(store.reevaluation(&viewer, job.id).await.unwrap(), Some(ended));
    let stranger = Viewer::of_tenant(samples::tenant("reevaluations 2"));
    assert_eq!(store.reevaluation(&stranger, job.id).await.unwrap(), None);
    assert_eq!(store.judged_runs(&viewer.tenant, "", &PageRequest::default()).await.unwrap().items, []);
}

pub async fn lines_of_a_run_are_joined(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("evidence");
    let (scope, viewer) = (shared(&tenant), Viewer::of_tenant(tenant.clone()));
    let memory = lesson(&scope, "loop", &[], 0).id;
    let first = evidence(&scope, memory, &trace("a"), Verdict::Supported, 1);
    let second = evidence(&scope, memory, &trace("b"), Verdict::Ignored, 2);
    let private = evidence(&private(&tenant, "anna"), memory, &trace("c"), Verdict::Refuted, 3);
    let other = evidence(&scope, lesson(&scope, "disk", &[], 0).id, &trace("a"), Verdict::Refuted, 4);
    store.append_evidence(&[second.clone(), first.clone(), private.clone(), other]).await.unwrap();
    assert_eq!(store.evidence(&viewer, memory).await.unwrap(), [first.clone(), second.clone()]);
    // The same run speaks again about the same memory: what is known better, and what is known later.
    let said = Evidence {
        origin: EvidenceOrigin::Reported,
        outcome: OutcomeStatus::Unknown,
        ..evidence(&scope, memory, &trace("a"), Verdict::Refuted, 0)
    };
    let later = evidence(&scope, memory, &trace("b"), Verdict::Supported, 9);
    store.append_evidence(&[said.clone(), later.clone(), said.clone()]).await.unwrap();
    store.append_evidence(&[first.clone(), second.clone()]).await.unwrap();
    let (first, second) = (first.join(&said), second.join(&later));
    assert_eq!((first.verdict, first.outcome), (Verdict::Refuted, OutcomeStatus::Success));
    assert_eq!(store.evidence(&viewer, memory).await.unwrap(), [first.clone(), second.clone()]);
    let anna = viewer.with_user(Some(user("anna")));
    assert_eq!(store.evidence(&anna, memory).await.unwrap(), [first, private, second]);
}

/// Whoever wrote it and in whatever order: a lesson's counts are what its tenant's ledger says.
pub async fn lesson_counts_follow_the_ledger(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("ledger-counts");
    let scope = shared(&tenant);
    let lesson = lesson(&scope, "loop", &["a"], 0);
    let line =
        |name: &str, verdict, at| evidence(&private(&tenant, name), lesson.id, &trace(name), verdict, at);
    // Before the lesson itself.
    store.append_evidence(&[line("early", Verdict::Supported, 5)]).await.unwrap();
    store.upsert(&[encoded(Memory::Lesson(lesson.clone()), 0, &[1])]).await.unwrap();
    assert_eq!(stored_lesson(&*store, &lesson).await.supported, 1);
    let mut writers = JoinSet::new();
    for n in 0..6 {
        let verdict = if n % 3 == 0 { Verdict::Refuted } else { Verdict::Supported };
        let lines = [line(&format!("run-{n}"), verdict, 10 + n)];
        let store = store.clone();
        writers.spawn(async move {
            store.append_evidence(&lines).await.unwrap();
            store.append_evidence(&lines).await.unwrap();
        });
    }
    writers.join_all().await;
    let found = stored_lesson(&*store, &lesson).await;
    assert_eq!((found.supported, found.refuted), (5, 2));
    // One that refuted it is read again, and supports it.
    store.append_evidence(&[line("run-3", Verdict::Supported, 99)]).await.unwrap();
    let found = stored_lesson(&*store, &lesson).await;
    assert_eq!((found.supported, found.refuted), (6, 1));
    assert_eq!(found.last_supported_at, time(99));
    assert_eq!(found.sources, lesson.sources);
}

/// So do those of runs and of failure patterns, also when these are written again.
pub async fn all_counts_follow_the_ledger(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("ledger-others");
    let (scope, viewer) = (shared(&tenant), Viewer::of_tenant(tenant.clone()));
    let run = samples::experience(&scope, &trace("a"), 10);
    let pattern = Memory::FailurePattern(samples::failure_pattern(&scope, "docker_pull", &["a"], 4));
    let counts = async |memory: &Memory| {
        let found = store.get(&viewer, memory.kind(), memory.id()).await.unwrap().unwrap();
        match found {
            Memory::Experience(m) => (m.supported, m.refuted),
            Memory::FailurePattern(m) => (m.supported, m.refuted),
            other => panic!("{other:?}"),
        }
    };
    let both = [encoded(run.clone(), 0, &[1]), encoded(pattern.clone(), 0, &[2])];
    store.upsert(&both).await.unwrap();
    for memory in [&run, &pattern] {
        assert_eq!(counts(memory).await, (0, 0));
        let lines = [("b", Verdict::Supported), ("c", Verdict::Refuted), ("d", Verdict::Supported)];
        let line = |(name, verdict)| evidence(&scope, memory.id(), &trace(name), verdict, 20);
        store.append_evidence(&lines.map(line)).await.unwrap();
        assert_eq!(counts(memory).await, (2, 1));
    }
    store.upsert(&both).await.unwrap();
    // Written by many at once, while more is said.
    let mut writers = JoinSet::new();
    for n in 0..6 {
        let (store, run) = (store.clone(), both[0].clone());
        let line = evidence(&scope, run.value.id(), &trace(&format!("run-{n}")), Verdict::Refuted, 30);
        writers.spawn(async move {
            store.upsert(&[run]).await.unwrap();
            store.append_evidence(&[line]).await.unwrap();
        });
    }
    writers.join_all().await;
    assert_eq!(counts(&run).await, (2, 7));
    assert_eq!(counts(&pattern).await, (2, 1));
}
