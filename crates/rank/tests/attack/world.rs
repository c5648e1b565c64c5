//! Memories of all kinds from a small vocabulary, so that they contradict, repeat and outdate each other, and
//! arms that propose them.

use std::collections::BTreeMap;

use hindsight_ports::{Arm, Candidate, CandidateId, Encoding, Fetched, SparseVector};
use hindsight_rank::{DenseScale, Pool, Query, Ranking, Request, Settings, block::Style};
use hindsight_text::bm25;
use hindsight_types::*;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use uuid::Uuid;

pub(crate) const SCALE: DenseScale = DenseScale { zero: 0.1, crowd: 0.2, full: 0.6, weight: 0.2 };
pub(crate) const NOW: i64 = 1_780_000_000;

const WORDS: [&str; 16] = [
    "api",
    "container",
    "restarts",
    "memory",
    "limit",
    "disk",
    "full",
    "invoice",
    "INV-78901",
    "refund",
    "磁盘",
    "重启",
    "退款",
    "订单",
    "yesterday",
    "Ann",
];

pub(crate) fn at(days_ago: i64) -> Timestamp {
    Timestamp::from_second(NOW - days_ago * 86_400).unwrap()
}

fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

fn shared() -> Scope {
    Scope::new(tenant(), Visibility::Tenant)
}

pub(crate) fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS.to_vec()), 1..7).prop_map(|words| words.join(" "))
}

fn outcome() -> impl Strategy<Value = OutcomeStatus> {
    prop::sample::select(vec![
        OutcomeStatus::Success,
        OutcomeStatus::Partial,
        OutcomeStatus::Failure,
        OutcomeStatus::Unknown,
    ])
}

fn environment() -> impl Strategy<Value = Environment> {
    prop::sample::select(vec!["", "docker", "k8s"]).prop_map(|tag| Environment {
        tags: Some(tag.to_owned()).filter(|t| !t.is_empty()).into_iter().collect(),
        ..Environment::default()
    })
}

pub(crate) fn fact(key: &str, content: &str, days_ago: i64) -> Fact {
    Fact::new(&tenant(), UserId::new("ann").unwrap(), key, content, at(days_ago))
}

fn any_fact() -> impl Strategy<Value = Memory> {
    let status = prop::sample::select(vec![
        FactStatus::Open,
        FactStatus::Open,
        FactStatus::Resolved,
        FactStatus::Obsolete,
    ]);
    let entity = prop::option::of(prop::sample::select(vec!["Ann", "INV-78901"]));
    (0u8..40, words(), 0i64..400, status, entity, prop::option::of(-5i64..5), 0.0f32..1.0).prop_map(
        |(key, content, days, status, entity, expires, confidence)| {
            let mut fact = fact(&format!("{key}"), &content, days);
            // The same caller's key under another id: two statements about one thing.
            fact.key = format!("{}", key / 2);
            fact.entities = entity.into_iter().map(str::to_owned).collect();
            (fact.status, fact.confidence) = (status, confidence);
            fact.expires_at = expires.map(|days| at(-days));
            fact.session = Some(SessionId::new(format!("s-{}", key % 3)).unwrap());
            Memory::Fact(fact)
        },
    )
}

pub(crate) fn lesson(key: u8, situation: &str, advice: &str, stage: Stage) -> Lesson {
    Lesson {
        id: MemoryId::lesson(&tenant(), "tenant", &key.to_string()),
        scope: shared(),
        key: key.to_string(),
        situation: situation.to_owned(),
        advice: advice.to_owned(),
        applicability: String::new(),
        basis: Decision::default(),
        result: String::new(),
        task_type: None,
        environment: Environment::default(),
        entities: vec![],
        stage,
        source_outcome: OutcomeStatus::Success,
        sources: vec![TraceId::new(format!("t-{}", key % 6)).unwrap()],
        supported: 1,
        refuted: 0,
        created_at: at(60),
        last_supported_at: at(i64::from(key)),
        revision: None,
    }
}

fn any_lesson() -> impl Strategy<Value = Memory> {
    let stage = prop::sample::select(vec![Stage::Candidate, Stage::Canary, Stage::Active, Stage::Retired]);
    (0u8..20, words(), words(), stage, environment(), 0u32..5, 0u32..5).prop_map(
        |(key, situation, advice, stage, environment, supported, refuted)| {
            let mut lesson = lesson(key, &situation, &advice, stage);
            (lesson.environment, lesson.supported, lesson.refuted) = (environment, supported, refuted);
            Memory::Lesson(lesson)
        },
    )
}

pub(crate) fn pattern(key: u8, text: &str) -> FailurePattern {
    FailurePattern {
        id: MemoryId::failure_pattern(&tenant(), "tenant", &key.to_string()),
        scope: shared(),
        action_name: "bash".to_owned(),
        signature: format!("signature {}", key / 2),
        example: text.to_owned(),
        action_detail: text.to_owned(),
        cause: text.to_owned(),
        suggestion: text.to_owned(),
        environment: Environment::default(),
        sources: vec![TraceId::new("t-9").unwrap()],
        supported: 0,
        refuted: 0,
        first_seen: at(90),
        last_seen: at(i64::from(key)),
        frequency: None,
    }
}

pub(crate) fn step(index: u32, name: &str, text: &str) -> Step {
    Step {
        step_index: index,
        action_type: if index % 4 == 3 { ActionType::LlmReasoning } else { ActionType::ToolCall },
        action_name: name.to_owned(),
        action_detail: text.to_owned(),
        observation: text.to_owned(),
        status: StepStatus::Ok,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    }
}

pub(crate) fn experience(key: u8, task: &str, labels: &[StepLabel], outcome: OutcomeStatus) -> Experience {
    let trace_id = TraceId::new(format!("t-{key}")).unwrap();
    let verdict = |(step_index, label): (u32, &StepLabel)| StepEvaluation {
        step_index,
        label: *label,
        rationale: format!("because of {task}"),
        confidence: 0.9,
        depends_on: vec![],
        votes: vec![],
    };
    Experience {
        id: MemoryId::experience(&tenant(), &trace_id),
        trajectory: Trajectory {
            trace_id,
            scope: shared(),
            session: None,
            user: None,
            agent: None,
            task_type: None,
            task_description: task.to_owned(),
            steps: (0..).zip(labels).map(|(i, _)| step(i, "bash", task)).collect(),
            outcome: Outcome { status: outcome, evidence: vec![], conclusion: task.to_owned() },
            environment: Environment::default(),
            receipts: vec![],
            started_at: at(i64::from(key) + 1),
            ended_at: at(i64::from(key)),
        },
        evaluation: Evaluation {
            judge: "slice/2".to_owned(),
            steps: (0..).zip(labels).map(verdict).collect(),
            outcome,
            outcome_confidence: 0.9,
            outcome_evidence: vec![],
            contradictions: vec![],
            summary: task.to_owned(),
            worth_reference: true,
            rejected_lessons: vec![],
            evaluated_at: at(0),
            judging: Judging::default(),
        },
        entities: vec![],
        supported: 0,
        refuted: 0,
    }
}

fn any_experience() -> impl Strategy<Value = Memory> {
    let labels = prop::collection::vec(prop::sample::select(StepLabel::ALL.to_vec()), 0..20);
    (0u8..12, words(), labels, outcome(), environment()).prop_map(
        |(key, task, labels, outcome, environment)| {
            let mut run = experience(key, &task, &labels, outcome);
            run.trajectory.environment = environment;
            Memory::Experience(Box::new(run))
        },
    )
}

pub(crate) fn step_memory(index: u32, text: &str) -> StepMemory {
    StepMemory {
        id: MemoryId(Uuid::from_u128(1_000 + u128::from(index))),
        scope: shared(),
        trace_id: TraceId::new("t-1").unwrap(),
        step_index: index,
        action_name: "bash".to_owned(),
        text: text.to_owned(),
        label: StepLabel::Necessary,
        outcome: OutcomeStatus::Success,
        recorded_at: at(1),
    }
}

/// Memories with distinct ids.
pub(crate) fn memories(most: usize) -> impl Strategy<Value = Vec<Memory>> {
    let memory = prop_oneof![
        3 => any_fact(),
        2 => any_lesson(),
        2 => any_experience(),
        1 => (0u8..8, words()).prop_map(|(key, text)| Memory::FailurePattern(pattern(key, &text))),
        1 => (0u32..8, words()).prop_map(|(index, text)| Memory::Step(step_memory(index, &text))),
    ];
    prop::collection::vec(memory, 0..most).prop_map(|all| {
        let distinct: BTreeMap<MemoryId, Memory> = all.into_iter().map(|m| (m.id(), m)).collect();
        distinct.into_values().collect()
    })
}

pub(crate) fn query(text: &str) -> Query {
    Query::new(text, &[], at(0), &TimeZone::UTC)
}

/// One call of `Pool::add`.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    pub(crate) kind: MemoryKind,
    pub(crate) arm: Arm,
    pub(crate) candidates: Vec<Candidate>,
}

/// What the arms bring of each memory: each in calls of its own, as the finest order that can be shuffled.
pub(crate) fn arms(query: &Query, memories: &[Memory]) -> Vec<Brought> {
    let asked = query.sparse();
    let mut brought = Vec::new();
    for memory in memories {
        let (indices, values) = bm25::encode_document(&memory.indexed_text());
        let held = |term: &u32| indices.iter().position(|i| i == term).map(|at| values[at]);
        let sum: f32 = asked.indices.iter().filter_map(held).map(|weight| weight * 3.0).sum();
        let cosine = (sum / 30.0).min(0.9);
        let dense = vec![cosine, (1.0 - cosine * cosine).sqrt()];
        let encoding =
            Encoding { dense, sparse: SparseVector { indices: indices.clone(), values: values.clone() } };
        let mut bring = |arm: Arm, score: f32| {
            let candidate = Candidate { id: CandidateId(memory.id().0), score, encoding: encoding.clone() };
            brought.push(Brought { kind: memory.kind(), arm, candidates: vec![candidate] });
        };
        bring(Arm::Dense(vec![1.0, 0.0]), cosine);
        if sum > 0.0 {
            bring(Arm::Bm25(asked.clone()), sum);
        }
        if memory.indexed_text().contains("Ann") {
            bring(Arm::Entities(query.names().to_vec()), 1.0);
        }
    }
    brought
}

/// How much is asked for, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) limit: usize,
    pub(crate) token_budget: usize,
    pub(crate) style: Style,
}

pub(crate) fn ranked(query: &Query, brought: Vec<Brought>, fetched: Vec<Fetched>, limits: Limits) -> Ranking {
    let here = Environment { tags: vec!["docker".to_owned()], ..Environment::default() };
    let mut pool = Pool::new(query.clone(), vec![1.0, 0.0], SCALE, Settings::default());
    brought.into_iter().for_each(|b| pool.add(b.kind, &b.arm, b.candidates));
    let request = Request {
        query: query.text(),
        environment: &here,
        now: at(0),
        limit: limits.limit,
        token_budget: limits.token_budget,
        receipt: ReceiptId(Uuid::from_u128(7)),
        style: limits.style,
        said: None,
    };
    pool.rank(fetched, &request)
}

pub(crate) fn fetched(memories: &[Memory]) -> Vec<Fetched> {
    memories.iter().map(|m| Fetched { id: CandidateId(m.id().0), memory: m.clone() }).collect()
}
