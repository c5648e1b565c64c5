//! Judging with a model: who is asked, what is kept, and what happens when it does not answer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{sync::Arc, time::Duration};

use hindsight_evaluator::{EvaluatorSettings, JudgeSettings};
use hindsight_ports::{
    Llm, LlmError, LlmReply, LlmRequest, MemoryStore as _, Queue,
    testkit::llm::{ScriptedLlm, reply},
};
use hindsight_proto::{
    common::v1::JudgeChoice as Choice,
    evaluator::v1::{EvaluateRequest, EvaluateResponse},
};
use hindsight_types::{EvaluationState, JudgeChoice, StepLabel, Trajectory};
use serde_json::json;
use support::{
    House,
    runs::{ask, experience, incident, judged, record, settled},
    viewer,
};
use tonic::{Code, Status};

/// An answer that gives every step this label; to any other question, what cannot be used.
fn labels(request: &LlmRequest, label: &str) -> LlmReply {
    let Some((_, asked)) = request.user.split_once("Label the steps: ") else { return reply("{}") };
    let item = |n: &str| {
        let step: u32 = n.trim().parse().unwrap();
        json!({"step": step, "label": label, "reason": "the model thinks so", "used_by": -1, "used": ""})
    };
    let (asked, _) = asked.split_once('.').unwrap();
    reply(json!({"steps": asked.split(',').map(item).collect::<Vec<_>>()}).to_string())
}

/// Questions about labels.
fn asked(llm: &ScriptedLlm) -> usize {
    llm.requests().iter().filter(|r| r.user.contains("Label the steps: ")).count()
}

fn always(label: &'static str) -> Arc<ScriptedLlm> {
    Arc::new(ScriptedLlm::answering(move |r| Ok(labels(r, label))))
}

fn by(judge: JudgeChoice) -> EvaluatorSettings {
    let judge = JudgeSettings { judge, ..JudgeSettings::default() };
    EvaluatorSettings { judge, ..EvaluatorSettings::default() }
}

fn away(after: Duration) -> LlmError {
    LlmError::Unavailable { reason: "it restarts".to_owned(), retry_after: Some(after) }
}

async fn house(settings: EvaluatorSettings, llm: Arc<dyn Llm>) -> House {
    House::with_model(settings, Some(llm)).await
}

async fn dry_run(
    house: &House,
    run: &Trajectory,
    judge: Choice,
    judgements: u32,
) -> Result<EvaluateResponse, Status> {
    let trajectory = Some(hindsight_codec::trajectory_to_proto(run));
    let request = EvaluateRequest { trajectory, judge: judge.into(), judgements };
    Ok(house.client().evaluate(request).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_judges_are_heard_and_what_they_said_is_kept() {
    let llm = always("redundant");
    let house = house(by(JudgeChoice::Both), llm.clone()).await.run();
    let run = incident("j-1");
    ask(&house, &run, |_| true).await;
    let state = record(&house, &viewer(), &run, judged).await;
    let found = experience(&house, &viewer(), &run).await.unwrap().evaluation;
    let slice = hindsight_judge::SLICE_JUDGE;
    assert_eq!(state.judge, format!("{slice}+llm/judge-v1"));
    for step in &found.steps {
        assert_eq!(step.votes.iter().map(|v| v.judge.as_str()).collect::<Vec<_>>(), [slice, "llm/judge-v1"]);
        assert_eq!(step.votes[1].label, StepLabel::Redundant);
    }
    assert!(found.steps.iter().any(|s| !s.agreed()), "disagreement is kept");
    let judging = &found.judging;
    assert_eq!((judging.model.as_str(), judging.prompt.as_str(), judging.calls), ("scripted", "judge-v1", 2));
    assert_eq!((judging.input_tokens, judging.output_tokens), (200, 20));
    let told = found.rejected_lessons.iter().find(|r| r.text.contains("of the model")).unwrap();
    assert!(told.reason.contains("shape"), "{told:?}");
    assert!(judging.agreement.is_some_and(|a| (0.0..1.0).contains(&a)));
    assert!(!llm.requests()[0].user.contains("hunter2"), "redacted before a model sees it");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_away_is_waited_for() {
    let mut first = true;
    let llm = Arc::new(ScriptedLlm::answering(move |r| {
        if std::mem::take(&mut first) {
            Err(away(Duration::from_millis(20)))
        } else {
            Ok(labels(r, "necessary"))
        }
    }));
    let house = house(by(JudgeChoice::Llm), llm.clone()).await.run();
    let run = incident("j-2");
    ask(&house, &run, |_| true).await;
    let state = record(&house, &viewer(), &run, judged).await;
    assert_eq!((state.judge.as_str(), state.attempts), ("llm/judge-v1", 2));
    assert_eq!(asked(&llm), 2);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_stays_away_is_done_without_and_it_shows() {
    let mut settings = by(JudgeChoice::Both);
    settings.judge.model_attempts = 2;
    let llm = Arc::new(ScriptedLlm::answering(|_| Err(away(Duration::from_millis(10)))));
    let house = house(settings, llm).await.run();
    let run = incident("j-3");
    ask(&house, &run, |_| true).await;
    assert_eq!(record(&house, &viewer(), &run, judged).await.judge, hindsight_judge::SLICE_JUDGE);
    let found = experience(&house, &viewer(), &run).await.unwrap().evaluation;
    assert!(found.judging.fallback.contains("it restarts"), "{:?}", found.judging);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_for_good_fails_the_evaluation_when_nothing_stands_in() {
    let mut settings = by(JudgeChoice::Llm);
    settings.judge.fall_back = false;
    let llm = Arc::new(ScriptedLlm::saying(["no", "still no"]));
    let house = house(settings, llm).await.run();
    let run = incident("j-4");
    ask(&house, &run, |_| true).await;
    let failed = |s: &EvaluationState| matches!(s, EvaluationState::Failed { .. });
    let EvaluationState::Failed { reason } = record(&house, &viewer(), &run, failed).await.state else {
        panic!()
    };
    assert!(reason.contains("cannot be used, even after it was told why"), "{reason}");
    settled(&house).await;
    assert_eq!(house.bus.dead_letters(Queue::Evaluate, 9).await.unwrap()[0].reason, reason);
    assert_eq!(experience(&house, &viewer(), &run).await, None);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_chooses_its_judge() {
    let llm = always("necessary");
    let house = house(EvaluatorSettings::default(), llm.clone()).await;
    let run = incident("j-5");
    let slice = dry_run(&house, &run, Choice::Unspecified, 0).await.unwrap().evaluation.unwrap();
    assert_eq!((slice.judge.as_str(), asked(&llm)), (hindsight_judge::SLICE_JUDGE, 0));
    let model = dry_run(&house, &run, Choice::Llm, 3).await.unwrap().evaluation.unwrap();
    assert_eq!((model.judge.as_str(), asked(&llm)), ("llm/judge-v1", 3));
    let judging = model.judging.unwrap();
    assert_eq!((judging.judgements, judging.consistency, judging.agreement), (3, Some(1.0), None));
    let both = dry_run(&house, &run, Choice::Both, 0).await.unwrap().evaluation.unwrap();
    for (ours, theirs) in slice.steps.iter().zip(&both.steps) {
        assert_eq!(ours.label, theirs.label, "the model's bare word makes no step necessary");
    }
    let status = dry_run(&house, &run, Choice::Llm, 10).await.unwrap_err();
    assert!(status.message().contains("judgements"), "{status}");
    assert_eq!(house.store.stats(&viewer()).await.unwrap().experiences, 0);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_why_the_model_does_not_judge() {
    let house = House::new(EvaluatorSettings::default()).await;
    let status = dry_run(&house, &incident("j-6"), Choice::Both, 0).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("[llm]"), "{status}");
    house.stop().await;

    let mut settings = EvaluatorSettings::default();
    settings.judge.fall_back = false;
    let llm = ScriptedLlm::new([
        Err(away(Duration::from_secs(7))),
        Err(LlmError::Declined { reason: "a filter".to_owned() }),
    ]);
    let house = self::house(settings, Arc::new(llm)).await;
    let status = dry_run(&house, &incident("j-7"), Choice::Llm, 0).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    let status = dry_run(&house, &incident("j-7"), Choice::Llm, 0).await.unwrap_err();
    assert_eq!((status.code(), status.message().contains("a filter")), (Code::FailedPrecondition, true));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_does_not_wait_for_a_model_when_the_slice_stands_in() {
    let llm = Arc::new(ScriptedLlm::answering(|_| Err(away(Duration::from_secs(60)))));
    let house = house(EvaluatorSettings::default(), llm.clone()).await;
    for choice in [Choice::Llm, Choice::Both] {
        let found = dry_run(&house, &incident("j-9"), choice, 0).await.unwrap().evaluation.unwrap();
        assert_eq!(found.judge, hindsight_judge::SLICE_JUDGE);
        assert!(found.judging.unwrap().fallback.contains("it restarts"));
    }
    assert_eq!(asked(&llm), 2, "asked once each");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_model_tells_is_kept_when_the_run_bears_it_out() {
    let llm = Arc::new(ScriptedLlm::answering(|r| {
        if r.user.contains("Label the steps: ") {
            return Ok(labels(r, "necessary"));
        }
        let summary = "The disk was full: removing /data/app-cache-7781 brought api-9 back.";
        Ok(reply(json!({"summary": summary, "lessons": []}).to_string()))
    }));
    let house = house(EvaluatorSettings::default(), llm).await;
    let run = incident("j-8");
    let told = dry_run(&house, &run, Choice::Both, 0).await.unwrap().evaluation.unwrap();
    assert!(told.summary.starts_with("The disk was full"), "{}", told.summary);
    assert_eq!(told.judging.unwrap().prompt, "judge-v1+distil-v1");
    house.stop().await;
}
