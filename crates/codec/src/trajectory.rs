use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    AgentId, Decision, Environment, Invalid, Outcome, OutcomeEvidence, ReceiptId, SessionId, Step, TaskType,
    TenantId, Timestamp, TraceId, Trajectory, UserId,
};

use crate::{
    enums::*,
    scope::{optional, scope_or_default, scope_to_proto, text},
    time::{optional_time_from_proto, time_or, time_to_proto},
};

pub fn step_to_proto(s: &Step) -> pb::Step {
    pb::Step {
        step_index: s.step_index,
        action_type: action_type_to_proto(s.action_type),
        action_name: s.action_name.clone(),
        action_detail: s.action_detail.clone(),
        observation: s.observation.clone(),
        status: step_status_to_proto(s.status),
        decision: s.decision.as_ref().map(decision_to_proto),
        reflection: s.reflection.clone(),
        agent: text(s.agent.as_ref()),
        started_at: s.started_at.map(time_to_proto),
        ended_at: s.ended_at.map(time_to_proto),
    }
}

pub fn step_from_proto(s: pb::Step) -> Result<Step, Invalid> {
    Ok(Step {
        step_index: s.step_index,
        action_type: action_type_from_proto(s.action_type)?,
        action_name: s.action_name,
        action_detail: s.action_detail,
        observation: s.observation,
        status: step_status_from_proto(s.status)?,
        decision: s.decision.map(decision_from_proto),
        reflection: s.reflection,
        agent: optional(s.agent, AgentId::new)?,
        started_at: optional_time_from_proto("started_at", s.started_at)?,
        ended_at: optional_time_from_proto("ended_at", s.ended_at)?,
    })
}

pub(crate) fn decision_to_proto(d: &Decision) -> pb::Decision {
    pb::Decision { chosen: d.chosen.clone(), rejected: d.rejected.clone(), rationale: d.rationale.clone() }
}

pub(crate) fn decision_from_proto(d: pb::Decision) -> Decision {
    Decision { chosen: d.chosen, rejected: d.rejected, rationale: d.rationale }
}

pub fn environment_to_proto(e: &Environment) -> pb::Environment {
    pb::Environment { tags: e.tags.clone(), attributes: e.attributes.clone().into_iter().collect() }
}

pub fn environment_from_proto(e: Option<pb::Environment>) -> Environment {
    e.map_or_else(Environment::default, |e| Environment {
        tags: e.tags,
        attributes: e.attributes.into_iter().collect(),
    })
}

pub fn outcome_to_proto(o: &Outcome) -> pb::Outcome {
    pb::Outcome {
        status: outcome_status_to_proto(o.status),
        evidence: outcome_evidence_to_proto(&o.evidence),
        conclusion: o.conclusion.clone(),
    }
}

pub fn outcome_from_proto(o: Option<pb::Outcome>) -> Result<Outcome, Invalid> {
    let Some(o) = o else { return Ok(Outcome::default()) };
    let evidence = outcome_evidence_from_proto("evidence", o.evidence)?;
    Ok(Outcome { status: outcome_status_from_proto(o.status)?, evidence, conclusion: o.conclusion })
}

pub(crate) fn outcome_evidence_to_proto(evidence: &[OutcomeEvidence]) -> Vec<pb::OutcomeEvidence> {
    let one = |e: &OutcomeEvidence| pb::OutcomeEvidence {
        source: evidence_source_to_proto(e.source),
        verdict: outcome_status_to_proto(e.verdict),
        detail: e.detail.clone(),
        observed_at: e.observed_at.map(time_to_proto),
    };
    evidence.iter().map(one).collect()
}

pub(crate) fn outcome_evidence_from_proto(
    field: &str,
    evidence: Vec<pb::OutcomeEvidence>,
) -> Result<Vec<OutcomeEvidence>, Invalid> {
    let numbered = evidence.into_iter().enumerate();
    numbered
        .map(|(i, e)| evidence_item_from_proto(e).map_err(|e| e.within(&format!("{field}[{i}]"))))
        .collect()
}

fn evidence_item_from_proto(e: pb::OutcomeEvidence) -> Result<OutcomeEvidence, Invalid> {
    Ok(OutcomeEvidence {
        source: evidence_source_from_proto(e.source)?,
        verdict: outcome_status_from_proto(e.verdict)?,
        detail: e.detail,
        observed_at: optional_time_from_proto("observed_at", e.observed_at)?,
    })
}

pub(crate) fn receipts_from_proto(ids: &[String]) -> Result<Vec<ReceiptId>, Invalid> {
    ids.iter()
        .enumerate()
        .map(|(i, id)| {
            ReceiptId::parse(id)
                .map_err(|e| Invalid::new(format!("receipts[{i}]"), e.fields[0].problem.clone()))
        })
        .collect()
}

pub fn trajectory_to_proto(t: &Trajectory) -> pb::Trajectory {
    pb::Trajectory {
        trace_id: t.trace_id.to_string(),
        scope: Some(scope_to_proto(&t.scope)),
        session: text(t.session.as_ref()),
        user: text(t.user.as_ref()),
        agent: text(t.agent.as_ref()),
        task_type: text(t.task_type.as_ref()),
        task_description: t.task_description.clone(),
        steps: t.steps.iter().map(step_to_proto).collect(),
        outcome: Some(outcome_to_proto(&t.outcome)),
        environment: Some(environment_to_proto(&t.environment)),
        receipts: t.receipts.iter().map(ToString::to_string).collect(),
        started_at: Some(time_to_proto(t.started_at)),
        ended_at: Some(time_to_proto(t.ended_at)),
    }
}

/// `now` stands in for times that are absent.
pub fn trajectory_from_proto(
    tenant: &TenantId,
    t: pb::Trajectory,
    now: Timestamp,
) -> Result<Trajectory, Invalid> {
    let user = optional(t.user, UserId::new)?;
    let mut steps = Vec::with_capacity(t.steps.len());
    for (i, s) in t.steps.into_iter().enumerate() {
        steps.push(step_from_proto(s).map_err(|e| e.within(&format!("steps[{i}]")))?);
    }
    let ended_at = time_or("ended_at", t.ended_at, now)?;
    Ok(Trajectory {
        trace_id: TraceId::new(t.trace_id)?,
        scope: scope_or_default(tenant, t.scope, user.as_ref())?,
        session: optional(t.session, SessionId::new)?,
        user,
        agent: optional(t.agent, AgentId::new)?,
        task_type: optional(t.task_type, TaskType::new)?,
        task_description: t.task_description,
        steps,
        outcome: outcome_from_proto(t.outcome).map_err(|e| e.within("outcome"))?,
        environment: environment_from_proto(t.environment),
        receipts: receipts_from_proto(&t.receipts)?,
        started_at: time_or("started_at", t.started_at, ended_at)?,
        ended_at,
    })
}
