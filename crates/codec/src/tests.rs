use hindsight_types::{
    ActionType, Decision, Environment, Evaluation, EvidenceSource, Judging, Outcome, OutcomeEvidence,
    OutcomeStatus, ReceiptId, RejectedLesson, Scope, Step, StepEvaluation, StepLabel, StepStatus, TenantId,
    Timestamp, TraceId, Trajectory, UserId, Visibility, Vote,
};

use super::*;

fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

fn at(second: i64, nano: i32) -> Timestamp {
    Timestamp::new(second, nano).unwrap()
}

fn trajectory() -> Trajectory {
    Trajectory {
        trace_id: TraceId::new("t-1").unwrap(),
        scope: Scope::new(tenant(), Visibility::Tenant),
        session: None,
        user: Some(UserId::new("李雷").unwrap()),
        agent: None,
        task_type: None,
        task_description: "restart loop".into(),
        steps: vec![Step {
            step_index: 0,
            action_type: ActionType::ToolCall,
            action_name: "docker_ps".into(),
            action_detail: "{}".into(),
            observation: "web Restarting (1)".into(),
            status: StepStatus::Ok,
            decision: Some(Decision {
                chosen: "a".into(),
                rejected: vec!["b".into()],
                rationale: "c".into(),
            }),
            reflection: String::new(),
            agent: None,
            started_at: Some(at(5, 7)),
            ended_at: None,
        }],
        outcome: Outcome {
            status: OutcomeStatus::Partial,
            evidence: vec![OutcomeEvidence {
                source: EvidenceSource::ExitCode,
                verdict: OutcomeStatus::Failure,
                detail: "exit code 1".into(),
                observed_at: None,
            }],
            conclusion: "done".into(),
        },
        environment: Environment {
            tags: vec!["docker".into()],
            attributes: [("host".to_owned(), "web-1".to_owned())].into(),
        },
        receipts: vec![ReceiptId::generate()],
        started_at: at(1, 0),
        ended_at: at(9, 999_999_999),
    }
}

#[test]
fn a_trajectory_survives_the_wire() {
    let t = trajectory();
    let back = trajectory_from_proto(&tenant(), trajectory_to_proto(&t), at(0, 0)).unwrap();
    assert_eq!(back, t);
}

#[test]
fn a_stated_scope_wins_over_the_default_of_the_user() {
    let mut p = trajectory_to_proto(&trajectory());
    assert_eq!(
        trajectory_from_proto(&tenant(), p.clone(), at(0, 0)).unwrap().scope.visibility,
        Visibility::Tenant
    );
    p.scope = None;
    assert_eq!(
        trajectory_from_proto(&tenant(), p, at(0, 0)).unwrap().scope.user().map(UserId::as_str),
        Some("李雷")
    );
}

#[test]
fn errors_name_the_field_with_its_path() {
    let mut p = trajectory_to_proto(&trajectory());
    p.steps[0].action_type = 99;
    let e = trajectory_from_proto(&tenant(), p, at(0, 0)).unwrap_err();
    assert_eq!(e.fields[0].field, "steps[0].action_type");

    let mut p = trajectory_to_proto(&trajectory());
    p.outcome.as_mut().unwrap().evidence[0].source = 0;
    let e = trajectory_from_proto(&tenant(), p, at(0, 0)).unwrap_err();
    assert_eq!(e.fields[0].field, "outcome.evidence[0].source");
}

#[test]
fn times_before_the_epoch_survive() {
    for t in [at(-1, 0), at(-2, -500_000_000), at(0, -1), at(3, 4)] {
        assert_eq!(time_from_proto("t", Some(time_to_proto(t))).unwrap(), t);
    }
    let bad = prost_types::Timestamp { seconds: 0, nanos: -5 };
    assert_eq!(time_from_proto("t", Some(bad)).unwrap_err().fields[0].field, "t");
}

#[test]
fn a_fact_of_nobody_is_refused() {
    let fact = hindsight_proto::common::v1::Fact {
        memory_id: uuid_text(),
        scope: Some(scope_to_proto(&Scope::new(tenant(), Visibility::Tenant))),
        occurred_at: Some(time_to_proto(at(1, 0))),
        ..Default::default()
    };
    assert_eq!(fact_from_proto(&tenant(), fact).unwrap_err().fields[0].field, "scope.level");
}

fn uuid_text() -> String {
    ReceiptId::generate().to_string()
}

#[test]
fn an_evaluation_survives_the_wire() {
    let evaluation = Evaluation {
        judge: "slice/1".into(),
        steps: vec![StepEvaluation {
            step_index: 0,
            label: StepLabel::Necessary,
            rationale: "the conclusion names it".into(),
            confidence: 0.75,
            depends_on: vec![],
            votes: vec![Vote {
                judge: "llm/judge-v1".into(),
                label: StepLabel::Redundant,
                confidence: 0.5,
                rationale: "没有用到".into(),
            }],
        }],
        outcome: OutcomeStatus::Failure,
        outcome_confidence: 0.875,
        outcome_evidence: trajectory().outcome.evidence,
        contradictions: vec!["the agent says done, the last test failed".into()],
        summary: "目标：恢复服务。".into(),
        worth_reference: false,
        rejected_lessons: vec![RejectedLesson { text: "be careful".into(), reason: "no action".into() }],
        evaluated_at: at(9, 1),
        judging: Judging {
            model: "m".into(),
            prompt: "judge-v1".into(),
            judgements: 3,
            calls: 4,
            input_tokens: 5,
            output_tokens: 6,
            cost_micros: 7,
            agreement: Some(0.0),
            consistency: None,
            fallback: "away".into(),
        },
    };
    assert_eq!(evaluation_from_proto(evaluation_to_proto(&evaluation)).unwrap(), evaluation);
}
