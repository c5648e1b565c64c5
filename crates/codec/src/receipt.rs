use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    ArmReport, Evidence, EvidenceId, Invalid, MemoryId, RecalledItem, Receipt, ReceiptId, ScoreFactors,
    SimilarityParts, TenantId, TraceId, Withheld,
};

use crate::{
    enums::*,
    scope::{scope_from_proto, scope_to_proto},
    time::{time_from_proto, time_to_proto},
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
    }
}

pub fn receipt_from_proto(tenant: &TenantId, r: pb::Receipt) -> Result<Receipt, Invalid> {
    Ok(Receipt {
        id: ReceiptId::parse(&r.receipt_id)?,
        scope: scope_from_proto(tenant, r.scope)?,
        query: r.query,
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

pub fn evidence_to_proto(e: &Evidence) -> pb::Evidence {
    pb::Evidence {
        evidence_id: e.id.to_string(),
        memory_id: e.memory_id.to_string(),
        scope: Some(scope_to_proto(&e.scope)),
        trace_id: e.trace_id.to_string(),
        verdict: verdict_to_proto(e.verdict),
        exposure: exposure_to_proto(e.exposure),
        outcome: outcome_status_to_proto(e.outcome),
        steps: e.steps,
        tokens: e.tokens,
        at: Some(time_to_proto(e.at)),
    }
}

pub fn evidence_from_proto(tenant: &TenantId, e: pb::Evidence) -> Result<Evidence, Invalid> {
    Ok(Evidence {
        id: EvidenceId::parse(&e.evidence_id)?,
        memory_id: MemoryId::parse(&e.memory_id)?,
        scope: scope_from_proto(tenant, e.scope)?,
        trace_id: TraceId::new(e.trace_id)?,
        verdict: verdict_from_proto(e.verdict)?,
        exposure: exposure_from_proto(e.exposure)?,
        outcome: outcome_status_from_proto(e.outcome)?,
        steps: e.steps,
        tokens: e.tokens,
        at: time_from_proto("at", e.at)?,
    })
}
