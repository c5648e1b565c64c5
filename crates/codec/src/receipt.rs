use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    AgentId, ArmReport, Asked, Feedback, Funnel, Invalid, MemoryId, Period, RecalledItem, Receipt, ReceiptId,
    Scope, ScoreFactors, SessionId, SimilarityParts, TaskType, TenantId, TraceId, Watched, Withheld,
};

use crate::{
    enums::*,
    scope::{scope_from_proto, scope_to_proto},
    time::{optional_time_from_proto, time_from_proto, time_to_proto},
    trajectory::{environment_from_proto, environment_to_proto},
};

pub fn factors_to_proto(f: &ScoreFactors) -> pb::ScoreFactors {
    pb::ScoreFactors {
        similarity: f.similarity,
        decay: f.decay,
        reliability: f.reliability,
        environment: f.environment,
        trust: f.trust,
        stage: f.stage,
        total: f.total(),
        parts: Some(parts_to_proto(&f.parts)),
    }
}

fn factors_from_proto(f: pb::ScoreFactors) -> ScoreFactors {
    ScoreFactors {
        similarity: f.similarity,
        // Receipts of before have none.
        parts: f.parts.map(parts_from_proto).unwrap_or_default(),
        decay: f.decay,
        reliability: f.reliability,
        environment: f.environment,
        trust: f.trust,
        stage: f.stage,
    }
}

fn parts_to_proto(p: &SimilarityParts) -> pb::SimilarityParts {
    let SimilarityParts { words, meaning, entities, period, session, rerank } = *p;
    pb::SimilarityParts { words, meaning, entities, period, session, rerank }
}

fn parts_from_proto(p: pb::SimilarityParts) -> SimilarityParts {
    let pb::SimilarityParts { words, meaning, entities, period, session, rerank } = p;
    SimilarityParts { words, meaning, entities, period, session, rerank }
}

pub fn arm_to_proto(a: &ArmReport) -> pb::ArmReport {
    pb::ArmReport {
        kind: memory_kind_to_proto(a.kind),
        arm: a.arm.clone(),
        candidates: a.candidates,
        dropped: a.dropped.clone(),
    }
}

pub fn receipt_to_proto(r: &Receipt) -> pb::Receipt {
    pb::Receipt {
        receipt_id: r.id.to_string(),
        scope: Some(scope_to_proto(&r.scope)),
        query: r.query.clone(),
        at: Some(time_to_proto(r.at)),
        arms: r.arms.iter().map(arm_to_proto).collect(),
        injected: r
            .injected
            .iter()
            .map(|i| pb::RecalledItem {
                memory_id: i.memory_id.to_string(),
                kind: memory_kind_to_proto(i.kind),
                factors: Some(factors_to_proto(&i.factors)),
                why: i.why.clone(),
                supersedes: i.supersedes.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        withheld: r
            .withheld
            .iter()
            .map(|w| pb::WithheldItem {
                memory_id: w.memory_id.to_string(),
                kind: memory_kind_to_proto(w.kind),
                score: w.score,
                reason: withheld_to_proto(w.reason),
                instead: w.instead.map(|id| id.to_string()).unwrap_or_default(),
            })
            .collect(),
        degraded: r.degraded,
        empty_reason: r.empty_reason.clone(),
        tokens: r.tokens,
        asked: r.asked.as_ref().map(asked_to_proto),
        funnel: r.funnel.as_ref().map(funnel_to_proto),
        // Kept beside the receipt.
        feedback: Vec::new(),
    }
}

fn asked_to_proto(a: &Asked) -> pb::RecallAsked {
    pb::RecallAsked {
        kinds: a.kinds.iter().map(|kind| memory_kind_to_proto(*kind)).collect(),
        limit: a.limit,
        token_budget: a.token_budget,
        environment: Some(environment_to_proto(&a.environment)),
        agent: a.agent.as_ref().map(ToString::to_string).unwrap_or_default(),
        task_type: a.task_type.as_ref().map(ToString::to_string).unwrap_or_default(),
        candidates: a.candidates,
        floor: a.floor,
        period: a
            .period
            .map(|p| pb::Period { from: Some(time_to_proto(p.from)), until: Some(time_to_proto(p.until)) }),
        names: a.names.clone(),
        asked_at: a.asked_at.map(time_to_proto),
        time_zone: a.time_zone.clone(),
        watched: a.watched.as_ref().map(watched_to_proto),
    }
}

fn asked_from_proto(a: pb::RecallAsked) -> Result<Asked, Invalid> {
    let period = |p: pb::Period| {
        let (from, until) = (time_from_proto("from", p.from)?, time_from_proto("until", p.until)?);
        Ok(Period { from, until })
    };
    Ok(Asked {
        kinds: a.kinds.into_iter().map(memory_kind_from_proto).collect::<Result<_, _>>()?,
        limit: a.limit,
        token_budget: a.token_budget,
        environment: environment_from_proto(a.environment),
        agent: (!a.agent.is_empty()).then(|| AgentId::new(a.agent)).transpose()?,
        task_type: (!a.task_type.is_empty()).then(|| TaskType::new(a.task_type)).transpose()?,
        candidates: a.candidates,
        floor: a.floor,
        period: a.period.map(period).transpose()?,
        names: a.names,
        asked_at: optional_time_from_proto("asked_at", a.asked_at)?,
        time_zone: a.time_zone,
        watched: a.watched.map(watched_from_proto).transpose()?,
    })
}

fn watched_to_proto(w: &Watched) -> pb::Watched {
    pb::Watched {
        trigger: reminder_trigger_to_proto(w.trigger),
        trace_id: w.trace_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        tool: w.tool.clone(),
        session: w.session.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

fn watched_from_proto(w: pb::Watched) -> Result<Watched, Invalid> {
    Ok(Watched {
        trigger: reminder_trigger_from_proto(w.trigger)?,
        trace_id: (!w.trace_id.is_empty()).then(|| TraceId::new(w.trace_id)).transpose()?,
        tool: w.tool,
        session: (!w.session.is_empty()).then(|| SessionId::new(w.session)).transpose()?,
    })
}

fn funnel_to_proto(f: &Funnel) -> pb::RecallFunnel {
    let count =
        |(reason, count): &(_, _)| pb::WithheldCount { reason: withheld_to_proto(*reason), count: *count };
    pb::RecallFunnel {
        distinct: f.distinct,
        shortlisted: f.shortlisted,
        withheld: f.withheld.iter().map(count).collect(),
    }
}

fn funnel_from_proto(f: pb::RecallFunnel) -> Result<Funnel, Invalid> {
    let count = |c: pb::WithheldCount| Ok((withheld_from_proto(c.reason)?, c.count));
    Ok(Funnel {
        distinct: f.distinct,
        shortlisted: f.shortlisted,
        withheld: f.withheld.into_iter().map(count).collect::<Result<_, Invalid>>()?,
    })
}

pub fn feedback_to_proto(f: &Feedback) -> pb::Feedback {
    pb::Feedback {
        memory_id: f.memory_id.to_string(),
        verdict: feedback_verdict_to_proto(f.verdict),
        trace_id: f.trace_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        outcome: outcome_status_to_proto(f.outcome),
        note: f.note.clone(),
        at: Some(time_to_proto(f.at)),
        receipt_id: f.receipt_id.to_string(),
    }
}

pub fn feedback_from_proto(scope: Scope, f: pb::Feedback) -> Result<Feedback, Invalid> {
    Ok(Feedback {
        receipt_id: ReceiptId::parse(&f.receipt_id)?,
        memory_id: MemoryId::parse(&f.memory_id)?,
        scope,
        verdict: feedback_verdict_from_proto(f.verdict)?,
        trace_id: (!f.trace_id.is_empty()).then(|| TraceId::new(f.trace_id)).transpose()?,
        outcome: outcome_status_from_proto(f.outcome)?,
        note: f.note,
        at: time_from_proto("at", f.at)?,
    })
}

pub fn receipt_from_proto(tenant: &TenantId, r: pb::Receipt) -> Result<Receipt, Invalid> {
    Ok(Receipt {
        id: ReceiptId::parse(&r.receipt_id)?,
        scope: scope_from_proto(tenant, r.scope)?,
        query: r.query,
        asked: r.asked.map(asked_from_proto).transpose()?,
        funnel: r.funnel.map(funnel_from_proto).transpose()?,
        at: time_from_proto("at", r.at)?,
        arms: r.arms.into_iter().map(arm_from_proto).collect::<Result<_, _>>()?,
        injected: r.injected.into_iter().map(item_from_proto).collect::<Result<_, _>>()?,
        withheld: r.withheld.into_iter().map(withheld_item_from_proto).collect::<Result<_, _>>()?,
        degraded: r.degraded,
        empty_reason: r.empty_reason,
        tokens: r.tokens,
    })
}

fn arm_from_proto(a: pb::ArmReport) -> Result<ArmReport, Invalid> {
    Ok(ArmReport {
        kind: memory_kind_from_proto(a.kind)?,
        arm: a.arm,
        candidates: a.candidates,
        dropped: a.dropped,
    })
}

fn item_from_proto(i: pb::RecalledItem) -> Result<RecalledItem, Invalid> {
    Ok(RecalledItem {
        memory_id: MemoryId::parse(&i.memory_id)?,
        kind: memory_kind_from_proto(i.kind)?,
        factors: factors_from_proto(i.factors.ok_or_else(|| Invalid::new("factors", "is required"))?),
        why: i.why,
        supersedes: i.supersedes.iter().map(|id| MemoryId::parse(id)).collect::<Result<_, _>>()?,
    })
}

fn withheld_item_from_proto(w: pb::WithheldItem) -> Result<Withheld, Invalid> {
    Ok(Withheld {
        memory_id: MemoryId::parse(&w.memory_id)?,
        kind: memory_kind_from_proto(w.kind)?,
        score: w.score,
        reason: withheld_from_proto(w.reason)?,
        instead: (!w.instead.is_empty()).then(|| MemoryId::parse(&w.instead)).transpose()?,
    })
}
