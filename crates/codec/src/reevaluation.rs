use hindsight_proto::{
    common::v1 as pb,
    storage::v1::{FormerVerdicts as PbFormer, PendingRun, ReevaluationJob},
};
use hindsight_types::{
    FormerVerdicts, Invalid, JudgeChoice, Reevaluation, ReevaluationId, ReevaluationState,
    ReevaluationTarget, Scope, TraceId,
};

use crate::{
    evaluation::{evaluation_from_proto, evaluation_to_proto},
    scope::{scope_from_proto, scope_to_proto},
    time::{time_from_proto, time_to_proto},
};

pub fn judge_choice_to_proto(choice: Option<JudgeChoice>) -> i32 {
    let choice = match choice {
        None => pb::JudgeChoice::Unspecified,
        Some(JudgeChoice::Slice) => pb::JudgeChoice::Slice,
        Some(JudgeChoice::Llm) => pb::JudgeChoice::Llm,
        Some(JudgeChoice::Both) => pb::JudgeChoice::Both,
    };
    choice as i32
}

/// `None`: as the settings say.
pub fn judge_choice_from_proto(choice: i32) -> Result<Option<JudgeChoice>, Invalid> {
    match pb::JudgeChoice::try_from(choice) {
        Ok(pb::JudgeChoice::Unspecified) => Ok(None),
        Ok(pb::JudgeChoice::Slice) => Ok(Some(JudgeChoice::Slice)),
        Ok(pb::JudgeChoice::Llm) => Ok(Some(JudgeChoice::Llm)),
        Ok(pb::JudgeChoice::Both) => Ok(Some(JudgeChoice::Both)),
        Err(_) => Err(Invalid::new("judge", format!("{choice} is not a value of this enum"))),
    }
}

pub fn reevaluation_to_proto(r: &Reevaluation) -> pb::Reevaluation {
    let (state, reason) = match &r.state {
        ReevaluationState::Running => (pb::ReevaluationState::Running, String::new()),
        ReevaluationState::Done => (pb::ReevaluationState::Done, String::new()),
        ReevaluationState::Failed { reason } => (pb::ReevaluationState::Failed, reason.clone()),
    };
    let (trace_id, judge_version) = match &r.target {
        ReevaluationTarget::Run(trace) => (trace.to_string(), String::new()),
        ReevaluationTarget::Judge(judge) => (String::new(), judge.clone()),
    };
    let failure = |(trace, reason): &(TraceId, String)| pb::ReevaluationFailure {
        trace_id: trace.to_string(),
        reason: reason.clone(),
    };
    pb::Reevaluation {
        id: r.id.to_string(),
        state: state as i32,
        reason,
        trace_id,
        judge_version,
        judge: judge_choice_to_proto(r.judge),
        total: r.total,
        judged: r.judged,
        failed: r.failed,
        failures: r.failures.iter().map(failure).collect(),
        created_at: Some(time_to_proto(r.created_at)),
        updated_at: Some(time_to_proto(r.updated_at)),
    }
}

pub(crate) fn job_to_proto(r: &Reevaluation) -> ReevaluationJob {
    let pending = |(trace, scope): &(TraceId, Scope)| PendingRun {
        trace_id: trace.to_string(),
        scope: Some(scope_to_proto(scope)),
    };
    ReevaluationJob {
        reevaluation: Some(reevaluation_to_proto(r)),
        page: r.page,
        cursor: r.cursor.clone(),
        pending: r.pending.iter().map(pending).collect(),
    }
}

pub(crate) fn job_from_proto(scope: Scope, job: ReevaluationJob) -> Result<Reevaluation, Invalid> {
    let r = job.reevaluation.ok_or_else(|| Invalid::new("reevaluation", "is required"))?;
    let reason = r.reason;
    let state = match pb::ReevaluationState::try_from(r.state) {
        Ok(pb::ReevaluationState::Running) => ReevaluationState::Running,
        Ok(pb::ReevaluationState::Done) => ReevaluationState::Done,
        Ok(pb::ReevaluationState::Failed) => ReevaluationState::Failed { reason },
        _ => return Err(Invalid::new("state", format!("{} is not a state", r.state))),
    };
    let target = if r.trace_id.is_empty() {
        ReevaluationTarget::Judge(r.judge_version)
    } else {
        ReevaluationTarget::Run(TraceId::new(r.trace_id)?)
    };
    let tenant = scope.tenant.clone();
    let pending = job
        .pending
        .into_iter()
        .map(|p| Ok((TraceId::new(p.trace_id)?, scope_from_proto(&tenant, p.scope)?)))
        .collect::<Result<_, Invalid>>()?;
    let failures = r.failures.into_iter().map(|f| Ok((TraceId::new(f.trace_id)?, f.reason)));
    Ok(Reevaluation {
        id: ReevaluationId::parse(&r.id)?,
        scope,
        target,
        judge: judge_choice_from_proto(r.judge)?,
        state,
        total: r.total,
        judged: r.judged,
        failed: r.failed,
        failures: failures.collect::<Result<_, Invalid>>()?,
        page: job.page,
        cursor: job.cursor,
        pending,
        created_at: time_from_proto("created_at", r.created_at)?,
        updated_at: time_from_proto("updated_at", r.updated_at)?,
    })
}

pub(crate) fn former_to_proto(f: &FormerVerdicts) -> PbFormer {
    PbFormer {
        trace_id: f.trace_id.to_string(),
        verdicts: f.verdicts.iter().map(evaluation_to_proto).collect(),
    }
}

pub(crate) fn former_from_proto(scope: Scope, f: PbFormer) -> Result<FormerVerdicts, Invalid> {
    Ok(FormerVerdicts {
        trace_id: TraceId::new(f.trace_id)?,
        scope,
        verdicts: f.verdicts.into_iter().map(evaluation_from_proto).collect::<Result<_, Invalid>>()?,
    })
}
