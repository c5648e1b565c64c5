//! Runs judged again: one, those of a judge, all; through faults and once only.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{sync::Arc, time::Duration};

use hindsight_evaluator::EvaluatorSettings;
use hindsight_ports::{
    LlmError, LlmRequest, Queue, StoreError,
    testkit::{
        faulty_store::{Calls, Fault, StoreCall, When},
        llm::{ScriptedLlm, reply},
    },
};
use hindsight_proto::{
    common::v1::{JudgeChoice as Choice, Reevaluation, ReevaluationState as State},
    evaluator::v1::{
        GetEvaluationRequest, GetReevaluationRequest, ReevaluateRequest, reevaluate_request::Target,
    },
};
use hindsight_types::{Trajectory, UserId, Visibility};
use serde_json::json;
use support::{
    House,
    runs::{ask, incident, judged, record, settled},
    until, viewer,
};
use tonic::{Code, Status};

const SLICE: &str = hindsight_judge::SLICE_JUDGE;

fn both() -> String {
    format!("{SLICE}+llm/judge-v1")
}

fn answer(request: &LlmRequest) -> String {
    let Some((_, asked)) = request.user.split_once("Label the steps: ") else { return "{}".to_owned() };
    let (asked, _) = asked.split_once('.').unwrap();
    let item = |n: &str| {
        let step: u32 = n.trim().parse().unwrap();
        json!({"step": step, "label": "failed", "reason": "r", "used_by": -1, "used": ""})
    };
    json!({"steps": asked.split(',').map(item).collect::<Vec<_>>()}).to_string()
}

async fn house(llm: ScriptedLlm) -> House {
    House::with_model(EvaluatorSettings::default(), Some(Arc::new(llm))).await.run()
}

async fn judge_all(house: &House, runs: &[Trajectory]) {
    for run in runs {
        ask(house, run, |_| true).await;
        record(house, &viewer().with_user(run.scope.user().cloned()), run, judged).await;
    }
    settled(house).await;
}

async fn begin(house: &House, target: Target, request_id: &str) -> Result<Reevaluation, Status> {
    let request = ReevaluateRequest {
        request_id: request_id.to_owned(),
        target: Some(target),
        user: String::new(),
        judge: Choice::Both.into(),
    };
    Ok(house.client().reevaluate(request).await?.into_inner().reevaluation.unwrap())
}

async fn ended(house: &House, id: &str) -> Reevaluation {
    until("the re-evaluation ends", || async {
        let request = GetReevaluationRequest { id: id.to_owned(), user: String::new() };
        let job = house.client().get_reevaluation(request).await.ok()?.into_inner().reevaluation?;
        (job.state() != State::Running).then_some(job)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_judged_again_and_its_former_verdicts_stay() {
    let house = house(ScriptedLlm::answering(|r| Ok(reply(answer(r))))).await;
    let run = incident("r-1");
    judge_all(&house, std::slice::from_ref(&run)).await;
    for round in 1..=2 {
        let job = begin(&house, Target::TraceId("r-1".into()), &format!("once-{round}")).await.unwrap();
        let again = begin(&house, Target::TraceId("r-1".into()), &format!("once-{round}")).await.unwrap();
        assert_eq!(job.id, again.id);
        let job = ended(&house, &job.id).await;
        assert_eq!((job.state(), job.total, job.judged, job.failed), (State::Done, 1, 1, 0));
    }
    settled(&house).await;
    let request = GetEvaluationRequest { trace_id: "r-1".into(), user: String::new() };
    let found = house.client().get_evaluation(request).await.unwrap().into_inner();
    assert_eq!((found.record.unwrap().judge, found.evaluation.unwrap().judge), (both(), both()));
    let previous: Vec<_> = found.previous.into_iter().map(|e| (e.judge, e.steps.len())).collect();
    assert_eq!(previous, [(both(), 6), (SLICE.to_owned(), 6)]);

    let status = begin(&house, Target::JudgeVersion("x".into()), "once-1").await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let status = begin(&house, Target::TraceId("unknown".into()), "").await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let status = begin(&house, Target::All(false), "").await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_runs_of_a_judge_are_judged_again_whoever_they_belong_to() {
    let house = house(ScriptedLlm::answering(|r| Ok(reply(answer(r))))).await;
    let mut runs: Vec<Trajectory> = (0..4).map(|n| incident(&format!("all-{n}"))).collect();
    runs[2].scope.visibility = Visibility::User(UserId::new("ann").unwrap());
    judge_all(&house, &runs).await;
    let job = begin(&house, Target::JudgeVersion(SLICE.into()), "").await.unwrap();
    let job = ended(&house, &job.id).await;
    assert_eq!((job.total, job.judged, job.failed), (4, 4, 0));
    for run in &runs {
        let viewer = viewer().with_user(run.scope.user().cloned());
        assert_eq!(record(&house, &viewer, run, judged).await.judge, both());
    }
    let job = begin(&house, Target::JudgeVersion(SLICE.into()), "").await.unwrap();
    assert_eq!(ended(&house, &job.id).await.total, 0, "none is left of that judge");
    let job = begin(&house, Target::All(true), "").await.unwrap();
    assert_eq!(ended(&house, &job.id).await.judged, 4);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_delay_it_and_nothing_is_counted_twice() {
    let mut calls = 0;
    let house = house(ScriptedLlm::answering(move |r| {
        calls += 1;
        if calls == 2 {
            return Err(LlmError::RateLimited {
                reason: "slow down".to_owned(),
                retry_after: Some(Duration::from_millis(10)),
            });
        }
        Ok(reply(answer(r)))
    }))
    .await;
    let runs: Vec<Trajectory> = (0..5).map(|n| incident(&format!("f-{n}"))).collect();
    judge_all(&house, &runs).await;
    let down = || StoreError::Unavailable("disk".to_owned());
    house.store.inject(Calls::Only(StoreCall::PutReevaluation), When::Nth(4), Fault::Lose(down()));
    house.store.inject(Calls::Only(StoreCall::Upsert), When::Nth(3), Fault::Refuse(down()));
    let job = begin(&house, Target::All(true), "").await.unwrap();
    let job = ended(&house, &job.id).await;
    assert_eq!((job.state(), job.total, job.judged, job.failed), (State::Done, 5, 5, 0));
    settled(&house).await;
    assert!(house.bus.dead_letters(Queue::Evaluate, 9).await.unwrap().is_empty());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_judged_again_keeps_its_verdict_and_is_named() {
    let house = House::with_model(
        EvaluatorSettings {
            judge: hindsight_evaluator::JudgeSettings { fall_back: false, ..Default::default() },
            ..EvaluatorSettings::default()
        },
        Some(Arc::new(ScriptedLlm::answering(|r| {
            if r.user.contains("broken") { Ok(reply("no")) } else { Ok(reply(answer(r))) }
        }))),
    )
    .await
    .run();
    let mut runs = [incident("k-1"), incident("k-2")];
    runs[1].task_description.push_str(" broken");
    judge_all(&house, &runs).await;
    let job = begin(&house, Target::All(true), "").await.unwrap();
    let job = ended(&house, &job.id).await;
    assert_eq!((job.judged, job.failed, job.failures.len()), (1, 1, 1));
    assert_eq!(job.failures[0].trace_id, "k-2");
    assert!(job.failures[0].reason.contains("cannot be used"), "{}", job.failures[0].reason);
    assert_eq!(record(&house, &viewer(), &runs[1], judged).await.judge, SLICE);
    house.stop().await;
}
