//! Memories and proposals for the tests of this crate.

use std::collections::BTreeMap;

use hindsight_ports::{Arm, Candidate, CandidateId, Encoding, Fetched, SparseVector};
use hindsight_text::bm25;
use hindsight_types::*;
use jiff::tz::TimeZone;

use crate::{DenseScale, Pool, Query, Request, Settings};

pub(crate) const DENSE: DenseScale = DenseScale { zero: 0.1, crowd: 0.2, full: 0.6, weight: 0.2 };

pub(crate) fn day(n: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + n * 86_400).unwrap()
}

pub(crate) fn scope() -> Scope {
    Scope::new(TenantId::new("acme").unwrap(), Visibility::Tenant)
}

pub(crate) fn environment(tags: &[&str]) -> Environment {
    Environment { tags: tags.iter().map(|t| (*t).to_owned()).collect(), ..Environment::default() }
}

pub(crate) fn request<'a>(query: &'a str, environment: &'a Environment) -> Request<'a> {
    Request {
        query,
        environment,
        now: day(100),
        limit: 3,
        token_budget: 1500,
        receipt: ReceiptId(uuid::Uuid::from_u128(7)),
        style: Default::default(),
        said: None,
    }
}

pub(crate) fn fact(key: &str, content: &str) -> Fact {
    let tenant = TenantId::new("acme").unwrap();
    let user = UserId::new("ann").unwrap();
    Fact::new(&tenant, user, key, content, day(99))
}

pub(crate) fn step(index: u32, name: &str, detail: &str, observation: &str) -> Step {
    Step {
        step_index: index,
        action_type: ActionType::ToolCall,
        action_name: name.to_owned(),
        action_detail: detail.to_owned(),
        observation: observation.to_owned(),
        status: StepStatus::Ok,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    }
}

/// A run of three steps: one dead end, two necessary.
pub(crate) fn experience(trace: &str, task: &str, status: OutcomeStatus) -> Experience {
    let steps = vec![
        step(0, "restart_container", "api", "still restarting"),
        step(1, "read_logs", "api --tail 50", "OOMKilled: limit 128Mi"),
        step(2, "set_memory_limit", "api 512Mi", "updated; api is healthy"),
    ];
    let verdict = |i: u32, label, why: &str| StepEvaluation {
        step_index: i,
        label,
        rationale: why.to_owned(),
        confidence: 0.9,
        depends_on: vec![],
        votes: vec![],
    };
    let trace_id = TraceId::new(trace).unwrap();
    Experience {
        id: MemoryId::experience(&scope().tenant, &trace_id),
        trajectory: Trajectory {
            trace_id,
            scope: scope(),
            session: None,
            user: None,
            agent: None,
            task_type: None,
            task_description: task.to_owned(),
            steps,
            outcome: Outcome {
                status,
                evidence: vec![OutcomeEvidence {
                    source: EvidenceSource::TestResult,
                    verdict: status,
                    detail: "health check".to_owned(),
                    observed_at: None,
                }],
                conclusion: "the memory limit was too low".to_owned(),
            },
            environment: Environment::default(),
            receipts: vec![],
            started_at: day(98),
            ended_at: day(99),
        },
        evaluation: Evaluation {
            judge: "slice/1".to_owned(),
            steps: vec![
                verdict(0, StepLabel::Misleading, "the restart changed nothing"),
                verdict(1, StepLabel::Necessary, "found the cause"),
                verdict(2, StepLabel::Necessary, "fixed it"),
            ],
            outcome: status,
            outcome_confidence: 1.0,
            outcome_evidence: vec![],
            contradictions: vec![],
            summary: "The container was killed for memory; raising the limit fixed it.".to_owned(),
            worth_reference: true,
            rejected_lessons: vec![],
            evaluated_at: day(99),
            judging: Default::default(),
        },
        entities: vec![],
        supported: 0,
        refuted: 0,
    }
}

pub(crate) fn lesson(key: &str, situation: &str, advice: &str, stage: Stage) -> Lesson {
    Lesson {
        id: MemoryId::lesson(&scope().tenant, "tenant", key),
        scope: scope(),
        key: key.to_owned(),
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
        sources: vec![],
        supported: 1,
        refuted: 0,
        created_at: day(90),
        last_supported_at: day(99),
        revision: None,
    }
}

pub(crate) fn pattern(signature: &str) -> FailurePattern {
    FailurePattern {
        id: MemoryId::failure_pattern(&scope().tenant, "tenant", signature),
        scope: scope(),
        action_name: "docker_pull".to_owned(),
        signature: signature.to_owned(),
        example: "manifest unknown for api:v2".to_owned(),
        action_detail: "api:v2".to_owned(),
        cause: "the tag was never pushed".to_owned(),
        suggestion: "list the tags before pulling".to_owned(),
        environment: Environment::default(),
        sources: vec![TraceId::new("t-9").unwrap()],
        supported: 0,
        refuted: 0,
        first_seen: day(50),
        last_seen: day(99),
        frequency: None,
    }
}

/// A memory that the arms propose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proposed {
    pub(crate) memory: Memory,
    pub(crate) cosine: f32,
}

pub(crate) fn hit(memory: Memory, cosine: f32) -> Proposed {
    Proposed { memory, cosine }
}

/// As near in meaning as the tokens of the query are in it.
pub(crate) fn near(memory: Memory, query: &str) -> Proposed {
    let share = hindsight_text::overlap(
        &hindsight_text::token_set(query),
        &hindsight_text::token_set(&memory.indexed_text()),
    );
    hit(memory, share * 0.7)
}

pub(crate) fn query(text: &str) -> Query {
    Query::new(text, &[], day(100), &TimeZone::UTC)
}

/// An inverse document frequency that only the engine knows.
pub(crate) fn idf(term: u32) -> f32 {
    1.0 + (term % 7) as f32
}

/// What the arms bring, as the store would encode and score it.
pub(crate) fn pool(query: &Query, proposed: &[Proposed], settings: &Settings) -> (Pool, Vec<Fetched>) {
    let mut pool = Pool::new(query.clone(), vec![1.0, 0.0], DENSE, settings.clone());
    let asked = query.sparse();
    let mut fetched = Vec::new();
    for Proposed { memory, cosine } in proposed {
        let (indices, values) = bm25::encode_document(&memory.indexed_text());
        let weights: BTreeMap<u32, f32> = indices.iter().copied().zip(values.iter().copied()).collect();
        let terms = asked.indices.iter().zip(&asked.values);
        let sum: f32 = terms.filter_map(|(id, q)| weights.get(id).map(|w| q * w * idf(*id))).sum();
        let cosine = cosine.clamp(-1.0, 1.0);
        let encoding = Encoding {
            dense: vec![cosine, (1.0 - cosine * cosine).sqrt()],
            sparse: SparseVector { indices, values },
        };
        let id = CandidateId(memory.id().0);
        let kind = memory.kind();
        pool.add(
            kind,
            &Arm::Dense(vec![1.0, 0.0]),
            vec![Candidate { id, score: cosine, encoding: encoding.clone() }],
        );
        if sum > 0.0 {
            pool.add(kind, &Arm::Bm25(asked.clone()), vec![Candidate { id, score: sum, encoding }]);
        }
        fetched.push(Fetched { id, memory: memory.clone() });
    }
    (pool, fetched)
}
