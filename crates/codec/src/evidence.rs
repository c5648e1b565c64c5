use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    Evidence, EvidenceId, EvidenceOrigin, Invalid, MemoryId, Review, ReviewId, TenantId, TraceId,
};

use crate::{
    enums::*,
    scope::{scope_from_proto, scope_to_proto},
    time::{time_from_proto, time_to_proto},
};

pub fn evidence_to_proto(e: &Evidence) -> pb::Evidence {
    let (outcome_origin, outcome_at) = match e.outcome_from {
        Some((origin, at)) => (evidence_origin_to_proto(origin), Some(time_to_proto(at))),
        None => (pb::EvidenceOrigin::Unspecified as i32, None),
    };
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
        origin: evidence_origin_to_proto(e.origin),
        outcome_origin,
        outcome_at,
    }
}

pub fn evidence_from_proto(tenant: &TenantId, e: pb::Evidence) -> Result<Evidence, Invalid> {
    let from = |at| -> Result<(EvidenceOrigin, _), Invalid> {
        Ok((evidence_origin_from_proto(e.outcome_origin)?, time_from_proto("outcome_at", Some(at))?))
    };
    Ok(Evidence {
        id: EvidenceId::parse(&e.evidence_id)?,
        memory_id: MemoryId::parse(&e.memory_id)?,
        scope: scope_from_proto(tenant, e.scope)?,
        trace_id: TraceId::new(e.trace_id)?,
        verdict: verdict_from_proto(e.verdict)?,
        exposure: exposure_from_proto(e.exposure)?,
        origin: evidence_origin_from_proto(e.origin)?,
        outcome: outcome_status_from_proto(e.outcome)?,
        outcome_from: e.outcome_at.map(from).transpose()?,
        steps: e.steps,
        tokens: e.tokens,
        at: time_from_proto("at", e.at)?,
    })
}

pub fn review_to_proto(r: &Review) -> pb::Review {
    pb::Review {
        review_id: r.id.to_string(),
        memory_id: r.memory_id.to_string(),
        scope: Some(scope_to_proto(&r.scope)),
        decision: review_decision_to_proto(r.decision),
        by: r.by.clone(),
        reason: r.reason.clone(),
        at: Some(time_to_proto(r.at)),
    }
}

pub fn review_from_proto(tenant: &TenantId, r: pb::Review) -> Result<Review, Invalid> {
    Ok(Review {
        id: ReviewId::parse(&r.review_id)?,
        memory_id: MemoryId::parse(&r.memory_id)?,
        scope: scope_from_proto(tenant, r.scope)?,
        decision: review_decision_from_proto(r.decision)?,
        by: r.by,
        reason: r.reason,
        at: time_from_proto("at", r.at)?,
    })
}
