//! Small records to test with. Each is complete and differs from its neighbours in what it is given.

use hindsight_types::{
    ActionType, Decision, Environment, Evaluation, EvaluationRecord, EvaluationState, Event, EventBody,
    EventId, Evidence, EvidenceId, EvidenceOrigin, Experience, Exposure, Fact, FailurePattern, Judging,
    Lesson, Memory, MemoryId, Outcome, OutcomeStatus, Receipt, ReceiptId, Scope, SpanId, SpanRole, SpanStep,
    Stage, Step, StepEvaluation, StepLabel, StepMemory, StepStatus, TaskCompleted, TaskStarted, TenantId,
    Timestamp, TraceId, TraceSpan, Trajectory, UserId, Verdict, Visibility, Voice,
};

use crate::{EmbedderId, Encoded, Encoding, SparseVector};

/// Dimension of the sample vectors.
pub const DIMENSION: usize = 8;

/// The embedder the sample vectors pretend to come from.
pub fn embedder() -> EmbedderId {
    EmbedderId { model: "samples-v1".to_owned(), dimension: DIMENSION }
}

/// # Panics
/// When `name` is not an identifier; these samples are for tests alone.
#[allow(clippy::unwrap_used)]
pub fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

/// # Panics
/// As [`tenant`].
#[allow(clippy::unwrap_used)]
pub fn trace(name: &str) -> TraceId {
    TraceId::new(name).unwrap()
}

/// # Panics
/// As [`tenant`].
#[allow(clippy::unwrap_used)]
pub fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

/// Everyone in `tenant`.
pub fn shared(tenant: &TenantId) -> Scope {
    Scope::new(tenant.clone(), Visibility::Tenant)
}

/// One user in `tenant`.
pub fn private(tenant: &TenantId, name: &str) -> Scope {
    Scope::new(tenant.clone(), Visibility::User(user(name)))
}

/// `seconds` after a fixed moment in 2026.
#[allow(clippy::unwrap_used)]
pub fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + seconds).unwrap()
}

/// Unit vector along `axis`.
pub fn dense(axis: usize) -> Vec<f32> {
    (0..DIMENSION).map(|i| if i == axis % DIMENSION { 1.0 } else { 0.0 }).collect()
}

/// Each term once with weight 1.
pub fn sparse(terms: &[u32]) -> SparseVector {
    let mut indices = terms.to_vec();
    indices.sort_unstable();
    indices.dedup();
    SparseVector { values: vec![1.0; indices.len()], indices }
}

pub fn encoded(value: Memory, axis: usize, terms: &[u32]) -> Encoded<Memory> {
    Encoded { value, encoding: Encoding { dense: dense(axis), sparse: sparse(terms) } }
}

pub fn step(index: u32) -> Step {
    Step {
        step_index: index,
        action_type: ActionType::ToolCall,
        action_name: "docker_ps".to_owned(),
        action_detail: format!("{{\"name\":\"db-{index}\"}}"),
        observation: "db 重启中 Restarting (1) 3 seconds ago".to_owned(),
        status: StepStatus::Ok,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: Some(time(index.into())),
        ended_at: None,
    }
}

pub fn started(scope: &Scope, trace: &TraceId) -> Event {
    let body = EventBody::Started(TaskStarted {
        goal: "the test environment is down".to_owned(),
        session: None,
        user: scope.user().cloned(),
        agent: None,
        task_type: None,
        environment: environment(),
        receipts: Vec::new(),
    });
    event(scope, trace, "started", 0, body)
}

pub fn step_event(scope: &Scope, trace: &TraceId, index: u32) -> Event {
    event(scope, trace, &format!("step {index}"), i64::from(index) + 1, EventBody::Step(step(index)))
}

/// A call of a tool in a trace, below the root.
pub fn tool_span(scope: &Scope, trace: &TraceId, id: u8) -> Event {
    let told = SpanStep { voice: Voice::Done, call_id: format!("call-{id}"), step: step(id.into()) };
    span(scope, trace, id, Some(1), SpanRole::Tool, vec![told])
}

/// The agent around a trace; its span is number 1.
pub fn root_span(scope: &Scope, trace: &TraceId) -> Event {
    span(scope, trace, 1, None, SpanRole::Agent, Vec::new())
}

#[allow(clippy::unwrap_used)]
fn span(
    scope: &Scope,
    trace: &TraceId,
    id: u8,
    parent: Option<u8>,
    role: SpanRole,
    steps: Vec<SpanStep>,
) -> Event {
    let name = |id: u8| SpanId::new(format!("{id:016x}")).unwrap();
    let agent = role == SpanRole::Agent;
    let span = TraceSpan {
        span_id: name(id),
        parent: parent.map(name),
        role,
        name: format!("span {id}"),
        started_at: time(id.into()),
        ended_at: time(if agent { 120 } else { i64::from(id) + 1 }),
        task: TaskStarted {
            goal: if agent { "the test environment is down".to_owned() } else { String::new() },
            session: None,
            user: None,
            agent: None,
            task_type: None,
            environment: if agent { environment() } else { Environment::default() },
            receipts: Vec::new(),
        },
        instructions: String::new(),
        steps,
        outcome: if agent { outcome() } else { Outcome::default() },
    };
    event(scope, trace, &format!("span:{}", name(id)), i64::from(id) + 1, EventBody::Span(Box::new(span)))
}

pub fn completed(scope: &Scope, trace: &TraceId, step_count: u32) -> Event {
    let body = EventBody::Completed(TaskCompleted { outcome: outcome(), step_count });
    event(scope, trace, "completed", i64::from(step_count) + 1, body)
}

fn event(scope: &Scope, trace: &TraceId, key: &str, seconds: i64, body: EventBody) -> Event {
    Event {
        event_id: EventId::derived(&scope.tenant, trace, key),
        scope: scope.clone(),
        trace_id: trace.clone(),
        recorded_at: time(seconds),
        body,
    }
}

fn outcome() -> Outcome {
    let conclusion = "the volume was full; 清理后恢复".to_owned();
    Outcome { status: OutcomeStatus::Success, evidence: Vec::new(), conclusion }
}

fn environment() -> Environment {
    Environment { tags: vec!["docker".to_owned()], attributes: [("os".into(), "linux".into())].into() }
}

pub fn experience(scope: &Scope, trace: &TraceId, ended: i64) -> Memory {
    let trajectory = Trajectory {
        trace_id: trace.clone(),
        scope: scope.clone(),
        session: None,
        user: scope.user().cloned(),
        agent: None,
        task_type: None,
        task_description: format!("测试环境 is down ({trace})"),
        steps: vec![step(0)],
        outcome: outcome(),
        environment: environment(),
        receipts: Vec::new(),
        started_at: time(ended - 60),
        ended_at: time(ended),
    };
    let evaluation = Evaluation {
        judge: "slice/1".to_owned(),
        steps: vec![StepEvaluation {
            step_index: 0,
            label: StepLabel::Necessary,
            rationale: "the conclusion names what it showed".to_owned(),
            confidence: 0.75,
            depends_on: Vec::new(),
            votes: Vec::new(),
        }],
        outcome: OutcomeStatus::Success,
        outcome_confidence: 0.0,
        outcome_evidence: Vec::new(),
        contradictions: Vec::new(),
        summary: "looked at the containers".to_owned(),
        worth_reference: true,
        rejected_lessons: Vec::new(),
        evaluated_at: time(ended + 1),
        judging: Judging { model: "m-1".to_owned(), agreement: Some(0.5), ..Judging::default() },
    };
    Memory::Experience(Box::new(Experience {
        id: MemoryId::experience(&scope.tenant, trace),
        trajectory,
        evaluation,
        entities: vec!["db-0".to_owned()],
        supported: 0,
        refuted: 0,
    }))
}

pub fn step_memory(scope: &Scope, trace: &TraceId, index: u32, action: &str) -> Memory {
    Memory::Step(StepMemory {
        id: MemoryId::step(&scope.tenant, trace, index),
        scope: scope.clone(),
        trace_id: trace.clone(),
        step_index: index,
        action_name: action.to_owned(),
        text: "exit code 137".to_owned(),
        label: StepLabel::Failed,
        outcome: OutcomeStatus::Failure,
        recorded_at: time(index.into()),
    })
}

/// A failure of `action`, seen in `traces` at `seen`.
pub fn failure_pattern(scope: &Scope, action: &str, traces: &[&str], seen: i64) -> FailurePattern {
    FailurePattern {
        id: MemoryId::failure_pattern(&scope.tenant, &scope.visibility.keyword(), action),
        scope: scope.clone(),
        action_name: action.to_owned(),
        signature: "no space left on device".to_owned(),
        example: format!("write /data/{seen}: no space left on device"),
        action_detail: "{\"path\":\"/data\"}".to_owned(),
        cause: "the disk is full".to_owned(),
        suggestion: "delete old images first; 先清理旧镜像".to_owned(),
        environment: environment(),
        sources: traces.iter().map(|t| trace(t)).collect(),
        supported: 0,
        refuted: 0,
        first_seen: time(seen),
        last_seen: time(seen),
        frequency: None,
    }
}

/// What `traces` taught at `created`.
pub fn lesson(scope: &Scope, key: &str, traces: &[&str], created: i64) -> Lesson {
    Lesson {
        id: MemoryId::lesson(&scope.tenant, &scope.visibility.keyword(), key),
        scope: scope.clone(),
        key: key.to_owned(),
        situation: format!("{key}: a container restarts over and over"),
        advice: "read its last log lines before restarting it; 先看日志".to_owned(),
        applicability: "where containers are watched by docker".to_owned(),
        basis: Decision {
            chosen: "docker logs".to_owned(),
            rejected: vec!["docker restart".to_owned()],
            rationale: "a restart hides the cause".to_owned(),
        },
        result: "found the full volume".to_owned(),
        task_type: None,
        environment: environment(),
        entities: Vec::new(),
        stage: Stage::Candidate,
        source_outcome: OutcomeStatus::Success,
        sources: traces.iter().map(|t| trace(t)).collect(),
        supported: 0,
        refuted: 0,
        created_at: time(created),
        last_supported_at: time(created),
        revision: None,
    }
}

pub fn fact(tenant: &TenantId, name: &str, key: &str, occurred: i64) -> Fact {
    let content = format!("{name} likes tea; 喜欢喝茶 ({key})");
    Fact {
        speaker: name.to_owned(),
        intent: "preference".to_owned(),
        entities: vec!["tea".to_owned()],
        confidence: 0.5,
        ..Fact::new(tenant, user(name), key, &content, time(occurred))
    }
}

pub fn evaluation_record(
    scope: &Scope,
    trace: &TraceId,
    state: EvaluationState,
    updated: i64,
) -> EvaluationRecord {
    let judge = if state == EvaluationState::Judged { "slice/1" } else { "" };
    EvaluationRecord {
        trace_id: trace.clone(),
        scope: scope.clone(),
        state,
        attempts: 1,
        step_count: 1,
        judge: judge.to_owned(),
        updated_at: time(updated),
    }
}

pub fn receipt(scope: &Scope) -> Receipt {
    Receipt {
        id: ReceiptId::generate(),
        scope: scope.clone(),
        query: "why is db down".to_owned(),
        asked: None,
        at: time(0),
        arms: Vec::new(),
        funnel: None,
        injected: Vec::new(),
        withheld: Vec::new(),
        degraded: false,
        empty_reason: "nothing relevant".to_owned(),
        tokens: 0,
    }
}

pub fn evidence(scope: &Scope, memory: MemoryId, trace: &TraceId, verdict: Verdict, at: i64) -> Evidence {
    Evidence {
        id: EvidenceId::of(memory, &scope.tenant, trace),
        memory_id: memory,
        scope: scope.clone(),
        trace_id: trace.clone(),
        verdict,
        exposure: Exposure::Injected,
        origin: EvidenceOrigin::Credited,
        outcome: OutcomeStatus::Success,
        outcome_from: None,
        steps: 3,
        tokens: 100,
        at: time(at),
    }
}
