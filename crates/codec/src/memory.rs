use hindsight_proto::common::v1::{self as pb, memory::Kind};
use hindsight_types::{
    Attachment, Correction, Experience, Fact, FactStatus, FailurePattern, Frequency, Invalid, Lesson, Memory,
    MemoryId, Revision, SessionId, StepMemory, TaskType, TenantId, TraceId,
};

use crate::{
    enums::*,
    evaluation::{evaluation_from_proto, evaluation_to_proto},
    scope::{optional, scope_from_proto, scope_to_proto, text},
    time::{optional_time_from_proto, time_from_proto, time_or, time_to_proto},
    trajectory::*,
};

pub fn memory_to_proto(m: &Memory) -> pb::Memory {
    pb::Memory {
        kind: Some(match m {
            Memory::Fact(m) => Kind::Fact(fact_to_proto(m)),
            Memory::Experience(m) => Kind::Experience(experience_to_proto(m)),
            Memory::Lesson(m) => Kind::Lesson(lesson_to_proto(m)),
            Memory::FailurePattern(m) => Kind::FailurePattern(failure_pattern_to_proto(m)),
            Memory::Step(m) => Kind::Step(step_memory_to_proto(m)),
        }),
    }
}

pub fn memory_from_proto(tenant: &TenantId, m: pb::Memory) -> Result<Memory, Invalid> {
    Ok(match m.kind.ok_or_else(|| Invalid::new("kind", "is required"))? {
        Kind::Fact(m) => Memory::Fact(fact_from_proto(tenant, m)?),
        Kind::Experience(m) => Memory::Experience(Box::new(experience_from_proto(tenant, m)?)),
        Kind::Lesson(m) => Memory::Lesson(lesson_from_proto(tenant, m)?),
        Kind::FailurePattern(m) => Memory::FailurePattern(failure_pattern_from_proto(tenant, m)?),
        Kind::Step(m) => Memory::Step(step_memory_from_proto(tenant, m)?),
    })
}

pub fn fact_to_proto(m: &Fact) -> pb::Fact {
    pb::Fact {
        memory_id: m.id.to_string(),
        scope: Some(scope_to_proto(&m.scope)),
        key: m.key.clone(),
        content: m.content.clone(),
        context: m.context.clone(),
        speaker: m.speaker.clone(),
        session: text(m.session.as_ref()),
        intent: m.intent.clone(),
        entities: m.entities.clone(),
        status: fact_status_to_proto(m.status),
        confidence: m.confidence,
        occurred_at: Some(time_to_proto(m.occurred_at)),
        expires_at: m.expires_at.map(time_to_proto),
        retained_at: Some(time_to_proto(m.retained_at)),
        surroundings: m.surroundings.clone(),
        original: m.original.clone(),
        r#type: fact_type_to_proto(m.fact_type),
        attachments: m.attachments.iter().map(attachment_to_proto).collect(),
        resolved_at: m.resolved_at.map(time_to_proto),
        superseded_by: text(m.superseded_by.as_ref()),
        revision: m.revision.as_ref().map(revision_to_proto),
    }
}

pub fn fact_from_proto(tenant: &TenantId, m: pb::Fact) -> Result<Fact, Invalid> {
    let scope = scope_from_proto(tenant, m.scope)?;
    if scope.user().is_none() {
        return Err(Invalid::new("scope.level", "must be USER for a fact"));
    }
    let occurred_at = time_from_proto("occurred_at", m.occurred_at)?;
    let retained_at = time_or("retained_at", m.retained_at, occurred_at)?;
    let status = fact_status_from_proto(m.status)?;
    // Facts that were settled before the time of it was kept: when they arrived.
    let resolved_at = match status {
        FactStatus::Resolved => Some(time_or("resolved_at", m.resolved_at, retained_at)?),
        FactStatus::Open | FactStatus::Obsolete => None,
    };
    Ok(Fact {
        id: MemoryId::parse(&m.memory_id)?,
        scope,
        key: m.key,
        content: m.content,
        original: m.original,
        context: m.context,
        surroundings: m.surroundings,
        speaker: m.speaker,
        session: optional(m.session, SessionId::new)?,
        intent: m.intent,
        fact_type: fact_type_from_proto(m.r#type)?,
        entities: m.entities,
        attachments: m.attachments.into_iter().map(attachment_from_proto).collect(),
        status,
        confidence: m.confidence,
        occurred_at,
        retained_at,
        expires_at: optional_time_from_proto("expires_at", m.expires_at)?,
        resolved_at,
        superseded_by: optional(m.superseded_by, |id| {
            MemoryId::parse(&id).map_err(|e| Invalid::new("superseded_by", e.fields[0].problem.clone()))
        })?,
        revision: revision_from_proto(m.revision)?,
    })
}

pub fn revision_to_proto(r: &Revision) -> pb::Revision {
    pb::Revision {
        cause: revision_cause_to_proto(r.cause),
        by: r.by.clone(),
        reason: r.reason.clone(),
        at: Some(time_to_proto(r.at)),
        request_id: r.request_id.clone(),
    }
}

fn revision_from_proto(r: Option<pb::Revision>) -> Result<Option<Revision>, Invalid> {
    let revision = |r: pb::Revision| {
        Ok::<_, Invalid>(Revision {
            at: time_from_proto("at", r.at)?,
            cause: revision_cause_from_proto(r.cause)?,
            by: r.by,
            reason: r.reason,
            request_id: r.request_id,
        })
    };
    r.map(revision).transpose().map_err(|e| e.within("revision"))
}

pub(crate) fn correction_to_proto(memory: MemoryId, c: &Correction) -> pb::Correction {
    pb::Correction {
        memory_id: memory.to_string(),
        situation: c.situation.clone(),
        advice: c.advice.clone(),
        applicability: c.applicability.clone(),
        revision: c.revision.as_ref().map(revision_to_proto),
    }
}

pub(crate) fn correction_from_proto(c: pb::Correction) -> Result<(MemoryId, Correction), Invalid> {
    let pb::Correction { memory_id, situation, advice, applicability, revision } = c;
    let revision = revision_from_proto(revision)?;
    Ok((MemoryId::parse(&memory_id)?, Correction { situation, advice, applicability, revision }))
}

pub fn attachment_to_proto(a: &Attachment) -> pb::Attachment {
    pb::Attachment { uri: a.uri.clone(), media_type: a.media_type.clone(), caption: a.caption.clone() }
}

pub fn attachment_from_proto(a: pb::Attachment) -> Attachment {
    Attachment { uri: a.uri, media_type: a.media_type, caption: a.caption }
}

pub fn experience_to_proto(m: &Experience) -> pb::Experience {
    pb::Experience {
        memory_id: m.id.to_string(),
        trajectory: Some(trajectory_to_proto(&m.trajectory)),
        evaluation: Some(evaluation_to_proto(&m.evaluation)),
        entities: m.entities.clone(),
        supported: m.supported,
        refuted: m.refuted,
    }
}

pub fn experience_from_proto(tenant: &TenantId, m: pb::Experience) -> Result<Experience, Invalid> {
    let t = m.trajectory.ok_or_else(|| Invalid::new("trajectory", "is required"))?;
    let e = m.evaluation.ok_or_else(|| Invalid::new("evaluation", "is required"))?;
    let ended_at = time_from_proto("trajectory.ended_at", t.ended_at)?;
    Ok(Experience {
        id: MemoryId::parse(&m.memory_id)?,
        trajectory: trajectory_from_proto(tenant, t, ended_at).map_err(|e| e.within("trajectory"))?,
        evaluation: evaluation_from_proto(e).map_err(|e| e.within("evaluation"))?,
        entities: m.entities,
        supported: m.supported,
        refuted: m.refuted,
    })
}

pub fn lesson_to_proto(m: &Lesson) -> pb::Lesson {
    pb::Lesson {
        memory_id: m.id.to_string(),
        scope: Some(scope_to_proto(&m.scope)),
        situation: m.situation.clone(),
        advice: m.advice.clone(),
        applicability: m.applicability.clone(),
        basis: Some(decision_to_proto(&m.basis)),
        result: m.result.clone(),
        task_type: text(m.task_type.as_ref()),
        environment: Some(environment_to_proto(&m.environment)),
        entities: m.entities.clone(),
        stage: stage_to_proto(m.stage),
        source_outcome: outcome_status_to_proto(m.source_outcome),
        sources: m.sources.iter().map(ToString::to_string).collect(),
        supported: m.supported,
        refuted: m.refuted,
        created_at: Some(time_to_proto(m.created_at)),
        last_supported_at: Some(time_to_proto(m.last_supported_at)),
        key: m.key.clone(),
        revision: m.revision.as_ref().map(revision_to_proto),
    }
}

pub fn lesson_from_proto(tenant: &TenantId, m: pb::Lesson) -> Result<Lesson, Invalid> {
    Ok(Lesson {
        id: MemoryId::parse(&m.memory_id)?,
        scope: scope_from_proto(tenant, m.scope)?,
        situation: m.situation,
        advice: m.advice,
        applicability: m.applicability,
        basis: m.basis.map(decision_from_proto).unwrap_or_default(),
        result: m.result,
        task_type: optional(m.task_type, TaskType::new)?,
        environment: environment_from_proto(m.environment),
        entities: m.entities,
        stage: stage_from_proto(m.stage)?,
        source_outcome: outcome_status_from_proto(m.source_outcome)?,
        sources: traces_from_proto(m.sources)?,
        supported: m.supported,
        refuted: m.refuted,
        created_at: time_from_proto("created_at", m.created_at)?,
        last_supported_at: time_from_proto("last_supported_at", m.last_supported_at)?,
        key: m.key,
        revision: revision_from_proto(m.revision)?,
    })
}

fn traces_from_proto(ids: Vec<String>) -> Result<Vec<TraceId>, Invalid> {
    ids.into_iter()
        .enumerate()
        .map(|(i, id)| {
            TraceId::new(id).map_err(|e| Invalid::new(format!("sources[{i}]"), e.fields[0].problem.clone()))
        })
        .collect()
}

pub fn failure_pattern_to_proto(m: &FailurePattern) -> pb::FailurePattern {
    pb::FailurePattern {
        memory_id: m.id.to_string(),
        scope: Some(scope_to_proto(&m.scope)),
        action_name: m.action_name.clone(),
        signature: m.signature.clone(),
        example: m.example.clone(),
        action_detail: m.action_detail.clone(),
        cause: m.cause.clone(),
        suggestion: m.suggestion.clone(),
        environment: Some(environment_to_proto(&m.environment)),
        sources: m.sources.iter().map(ToString::to_string).collect(),
        first_seen: Some(time_to_proto(m.first_seen)),
        last_seen: Some(time_to_proto(m.last_seen)),
        frequency: m.frequency.map(|f| pb::FailureFrequency {
            counted_at: Some(time_to_proto(f.counted_at)),
            week: f.week,
            month: f.month,
        }),
        supported: m.supported,
        refuted: m.refuted,
    }
}

pub fn failure_pattern_from_proto(
    tenant: &TenantId,
    m: pb::FailurePattern,
) -> Result<FailurePattern, Invalid> {
    Ok(FailurePattern {
        id: MemoryId::parse(&m.memory_id)?,
        scope: scope_from_proto(tenant, m.scope)?,
        action_name: m.action_name,
        signature: m.signature,
        example: m.example,
        action_detail: m.action_detail,
        cause: m.cause,
        suggestion: m.suggestion,
        environment: environment_from_proto(m.environment),
        sources: traces_from_proto(m.sources)?,
        supported: m.supported,
        refuted: m.refuted,
        first_seen: time_from_proto("first_seen", m.first_seen)?,
        last_seen: time_from_proto("last_seen", m.last_seen)?,
        frequency: m.frequency.map(frequency_from_proto).transpose()?,
    })
}

fn frequency_from_proto(f: pb::FailureFrequency) -> Result<Frequency, Invalid> {
    let counted_at = time_from_proto("frequency.counted_at", f.counted_at)?;
    Ok(Frequency { counted_at, week: f.week, month: f.month })
}

pub fn step_memory_to_proto(m: &StepMemory) -> pb::StepMemory {
    pb::StepMemory {
        memory_id: m.id.to_string(),
        scope: Some(scope_to_proto(&m.scope)),
        trace_id: m.trace_id.to_string(),
        step_index: m.step_index,
        action_name: m.action_name.clone(),
        text: m.text.clone(),
        label: step_label_to_proto(m.label),
        outcome: outcome_status_to_proto(m.outcome),
        recorded_at: Some(time_to_proto(m.recorded_at)),
    }
}

pub fn step_memory_from_proto(tenant: &TenantId, m: pb::StepMemory) -> Result<StepMemory, Invalid> {
    Ok(StepMemory {
        id: MemoryId::parse(&m.memory_id)?,
        scope: scope_from_proto(tenant, m.scope)?,
        trace_id: TraceId::new(m.trace_id)?,
        step_index: m.step_index,
        action_name: m.action_name,
        text: m.text,
        label: step_label_from_proto(m.label)?,
        outcome: outcome_status_from_proto(m.outcome)?,
        recorded_at: time_from_proto("recorded_at", m.recorded_at)?,
    })
}
