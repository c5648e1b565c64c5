use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    Evaluation, EvaluationRecord, EvaluationState, Invalid, Judging, RejectedLesson, Scope, StepEvaluation,
    TraceId, Vote,
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
                votes: s.votes.iter().map(vote_to_proto).collect(),
            })
            .collect(),
        outcome: outcome_status_to_proto(e.outcome),
        summary: e.summary.clone(),
        worth_reference: e.worth_reference,
        evaluated_at: Some(time_to_proto(e.evaluated_at)),
        judging: Some(judging_to_proto(&e.judging)),
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
                votes: s
                    .votes
                    .into_iter()
                    .enumerate()
                    .map(|(j, v)| vote_from_proto(v).map_err(|e| e.within(&format!("steps[{i}].votes[{j}]"))))
                    .collect::<Result<_, Invalid>>()?,
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
        judging: e.judging.map(judging_from_proto).unwrap_or_default(),
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

fn vote_to_proto(v: &Vote) -> pb::Vote {
    pb::Vote {
        judge: v.judge.clone(),
        label: step_label_to_proto(v.label),
        confidence: v.confidence,
        rationale: v.rationale.clone(),
    }
}

fn vote_from_proto(v: pb::Vote) -> Result<Vote, Invalid> {
    Ok(Vote {
        judge: v.judge,
        label: step_label_from_proto(v.label)?,
        confidence: v.confidence,
        rationale: v.rationale,
    })
}

fn judging_to_proto(j: &Judging) -> pb::Judging {
    pb::Judging {
        model: j.model.clone(),
        prompt: j.prompt.clone(),
        judgements: j.judgements,
        calls: j.calls,
        input_tokens: j.input_tokens,
        output_tokens: j.output_tokens,
        cost_micros: j.cost_micros,
        agreement: j.agreement,
        consistency: j.consistency,
        fallback: j.fallback.clone(),
    }
}

fn judging_from_proto(j: pb::Judging) -> Judging {
    Judging {
        model: j.model,
        prompt: j.prompt,
        judgements: j.judgements,
        calls: j.calls,
        input_tokens: j.input_tokens,
        output_tokens: j.output_tokens,
        cost_micros: j.cost_micros,
        agreement: j.agreement,
        consistency: j.consistency,
        fallback: j.fallback,
    }
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
        judge: r.judge.clone(),
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
        judge: r.judge,
        updated_at: time_from_proto("updated_at", r.updated_at)?,
    })
}
