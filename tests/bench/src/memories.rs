//! Memories in the form in which they are stored, made from the runs of [`crate::data`] and from what users say.

use hindsight_codec::step_from_proto;
use hindsight_proto::collector::v1::record_events_request::Body;
use hindsight_types::{
    Environment, Evaluation, Experience, Fact, Judging, Memory, MemoryId, Outcome, OutcomeStatus, Scope,
    Step, StepEvaluation, StepLabel, StepStatus, TenantId, Timestamp, TraceId, Trajectory, UserId,
};

use crate::data::{self, Words};

const STARTED_AT: i64 = 1_780_000_000;

/// What a user says, and what somebody asks about it.
const SAYINGS: &[(&str, &str)] = &[
    ("I always deploy {s} on {h} before lunch, never on a Friday", "when do I deploy {s}?"),
    ("My order {o} should go to the office, not to my flat", "where should order {o} be delivered?"),
    ("The budget for {s} is {n} euros a month", "how much may {s} cost a month?"),
    ("Please send the reports of {h} by e-mail to the whole team", "how should the reports of {h} be sent?"),
    (
        "We pinned {s} to {v} because the newer release leaks memory",
        "which release of {s} do we run and why?",
    ),
    ("我负责{s}，值班电话是{n}", "{s}的值班电话是多少？"),
    ("订单{o}请退到原来的银行卡", "订单{o}的退款退到哪里？"),
    ("{h}上的备份每天凌晨{m}分钟跑完，不要在那时重启", "什么时候不能重启{h}？"),
];

pub(crate) fn user(number: u64) -> String {
    format!("user-{number}")
}

/// What is asked about what [`fact`] says.
pub(crate) fn question(index: u64) -> String {
    let words = Words::of(index);
    words.fill(SAYINGS[at(index)].1)
}

fn at(index: u64) -> usize {
    usize::try_from(index).unwrap_or_default() % SAYINGS.len()
}

/// What a user said, number `index`.
pub(crate) fn fact(tenant: &TenantId, user: &str, index: u64) -> anyhow::Result<Memory> {
    let user = UserId::new(user)?;
    let content = Words::of(index).fill(SAYINGS[at(index)].0);
    Ok(Memory::Fact(Fact::new(tenant, user, &format!("fact-{index}"), &content, time(index)?)))
}

fn time(index: u64) -> anyhow::Result<Timestamp> {
    Ok(Timestamp::from_second(STARTED_AT + 600 * i64::try_from(index % 10_000)?)?)
}

/// A judged run, number `index`: its calls that worked were needed, the others failed.
pub(crate) fn experience(scope: &Scope, index: u64) -> anyhow::Result<Memory> {
    let (mut goal, mut steps, mut conclusion, mut tags) = Default::default();
    for event in data::events(index) {
        match event.body {
            Some(Body::Started(started)) => {
                tags = started.environment.map(|e| e.tags).unwrap_or_default();
                goal = started.goal;
            }
            Some(Body::Step(step)) => Vec::push(&mut steps, step_from_proto(step)?),
            Some(Body::Completed(done)) => {
                conclusion = done.outcome.map(|o| o.conclusion).unwrap_or_default()
            }
            None => {}
        }
    }
    let trace = TraceId::new(format!("bench-{index}"))?;
    let evaluation = evaluation(&steps, &conclusion, time(index)?);
    Ok(Memory::Experience(Box::new(Experience {
        id: MemoryId::experience(&scope.tenant, &trace),
        entities: hindsight_text::names(&goal, 16, 128),
        supported: 0,
        refuted: 0,
        evaluation,
        trajectory: Trajectory {
            trace_id: trace,
            scope: scope.clone(),
            session: None,
            user: None,
            agent: None,
            task_type: None,
            task_description: goal,
            steps,
            outcome: Outcome { status: OutcomeStatus::Success, conclusion, ..Outcome::default() },
            environment: Environment { tags, ..Environment::default() },
            receipts: Vec::new(),
            started_at: time(index)?,
            ended_at: time(index)?,
        },
    })))
}

fn evaluation(steps: &[Step], conclusion: &str, at: Timestamp) -> Evaluation {
    let steps = steps.iter().map(|step| StepEvaluation {
        step_index: step.step_index,
        label: if step.status == StepStatus::Error { StepLabel::Failed } else { StepLabel::Necessary },
        rationale: "the conclusion names what it showed".to_owned(),
        confidence: 0.75,
        depends_on: Vec::new(),
        votes: Vec::new(),
    });
    Evaluation {
        judge: "bench/1".to_owned(),
        steps: steps.collect(),
        outcome: OutcomeStatus::Success,
        outcome_confidence: 1.0,
        outcome_evidence: Vec::new(),
        contradictions: Vec::new(),
        summary: conclusion.to_owned(),
        worth_reference: true,
        rejected_lessons: Vec::new(),
        evaluated_at: at,
        judging: Judging::default(),
    }
}
