use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    Evaluation, EvaluationRecord, EvaluationState, Invalid, RejectedLesson, Scope, StepEvaluation, TraceId,
};

use crate::{
    enums::*,
    time::{time_from_proto, time_to_proto},
    trajectory::{outcome_evidence_from_proto, outcome_evidence_to_proto},
};

pub fn evaluation_to_proto(e: &Evaluation) -> pb::Evaluation {
    pb::Evaluation {
        judge: e.judge.clone(),
        steps: e
            .steps
            .iter()
            .map(|s| pb::StepEvaluation {
                step_index: s.step_index,
                label: step_label_to_proto(s.label),
                rationale: s.rationale.clone(),
                confidence: s.confidence,
                depends_on: s.depends_on.clone(),
            })
            .collect(),
        outcome: outcome_status_to_proto(e.outcome),
        summary: e.summary.clone(),
        worth_reference: e.worth_reference,
        evaluated_at: Some(time_to_proto(e.evaluated_at)),
        outcome_confidence: e.outcome_confidence,
        outcome_evidence: outcome_evidence_to_proto(&e.outcome_evidence),
        contradictions: e.contradictions.clone(),
        rejected_lessons: e
            .rejected_lessons
            .iter()
            .map(|l| pb::RejectedLesson { text: l.text.clone(), reason: l.reason.clone() })
            .collect(),
    }
}

pub fn evaluation_from_proto(e: pb::Evaluation) -> Result<Evaluation, Invalid> {
    let steps = e
        .steps
        .into_iter()
        .enumerate()
        .map(|(i, s)| {
            Ok(StepEvaluation {
                step_index: s.step_index,
                label: step_label_from_proto(s.label)
                    .map_err(|e: Invalid| e.within(&format!("steps[{i}]")))?,
                rationale: s.rationale,
                confidence: s.confidence,
                depends_on: s.depends_on,
            })
        })
        .collect::<Result<_, Invalid>>()?;
    Ok(Evaluation {
        judge: e.judge,
        steps,
        outcome: outcome_status_from_proto(e.outcome)?,
        summary: e.summary,
        worth_reference: e.worth_reference,
        evaluated_at: time_from_proto("evaluated_at", e.evaluated_at)?,
        outcome_confidence: e.outcome_confidence,
        outcome_evidence: outcome_evidence_from_proto("outcome_evidence", e.outcome_evidence)?,
        contradictions: e.contradictions,
        rejected_lessons: e
            .rejected_lessons
            .into_iter()
            .map(|l| RejectedLesson { text: l.text, reason: l.reason })
            .collect(),
    })
}

pub fn evaluation_record_to_proto(r: &EvaluationRecord) -> pb::EvaluationRecord {
    let (state, reason) = match &r.state {
        EvaluationState::Waiting { reason } => (pb::EvaluationState::Waiting, reason.clone()),
        EvaluationState::Judged => (pb::EvaluationState::Judged, String::new()),
        EvaluationState::Skipped { reason } => (pb::EvaluationState::Skipped, reason.clone()),
        EvaluationState::Failed { reason } => (pb::EvaluationState::Failed, reason.clone()),
    };
    pb::EvaluationRecord {
        trace_id: r.trace_id.to_string(),
        state: state as i32,
        reason,
        attempts: r.attempts,
        step_count: r.step_count,
        updated_at: Some(time_to_proto(r.updated_at)),
    }
}

pub fn evaluation_record_from_proto(
    scope: Scope,
    r: pb::EvaluationRecord,
) -> Result<EvaluationRecord, Invalid> {
    let reason = r.reason;
    let state = match pb::EvaluationState::try_from(r.state) {
        Ok(pb::EvaluationState::Waiting) => EvaluationState::Waiting { reason },
        Ok(pb::EvaluationState::Judged) => EvaluationState::Judged,
        Ok(pb::EvaluationState::Skipped) => EvaluationState::Skipped { reason },
        Ok(pb::EvaluationState::Failed) => EvaluationState::Failed { reason },
        _ => return Err(Invalid::new("state", format!("{} is not a state", r.state))),
    };
    Ok(EvaluationRecord {
        trace_id: TraceId::new(r.trace_id)?,
        scope,
        state,
        attempts: r.attempts,
        step_count: r.step_count,
        updated_at: time_from_proto("updated_at", r.updated_at)?,
    })
}
