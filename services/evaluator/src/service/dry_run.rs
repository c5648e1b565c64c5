use hindsight_api::status;
use hindsight_codec::{
    evaluation_to_proto, failure_pattern_to_proto, judge_choice_from_proto, lesson_to_proto,
    trajectory_from_proto,
};
use hindsight_ingest::{GateDecision, assemble::complete, gate, redact, validate};
use hindsight_judge::llm::MOST_JUDGEMENTS;
use hindsight_proto::evaluator::v1::{EvaluateRequest, EvaluateResponse};
use hindsight_types::{Invalid, TenantId, Trajectory};
use tonic::{Code, Status};

use super::{Service, invalid, no_model};
use crate::{
    NAME,
    judges::{Asked, Unjudged},
};

impl Service {
    /// Judges a run and stores nothing.
    pub(super) async fn dry_run(
        &self,
        tenant: TenantId,
        request: EvaluateRequest,
    ) -> Result<EvaluateResponse, Status> {
        let asked = asked(&request).map_err(invalid)?;
        if !self.bench.judges.has(asked.judge) {
            return Err(no_model());
        }
        let run = request.trajectory.ok_or_else(|| invalid(Invalid::new("trajectory", "is required")))?;
        let (now, settings) = (self.clock.now(), self.gate.clone());
        let work = move || {
            let mut run: Trajectory = trajectory_from_proto(&tenant, run, now)?;
            validate::trajectory(&run)?;
            redact::trajectory(&mut run);
            complete(&mut run);
            let decision = gate(&run, &settings);
            Ok((run, decision))
        };
        let done = tokio::task::spawn_blocking(work).await.map_err(|e| status::internal(NAME, e))?;
        let (run, decision) = done.map_err(|e: Invalid| invalid(e.within("trajectory")))?;
        let judged = self.bench.judges.judge(run, asked).await.map_err(unjudged)?;
        Ok(EvaluateResponse {
            evaluation: Some(evaluation_to_proto(&judged.evaluation)),
            lessons: judged.lessons.iter().map(lesson_to_proto).collect(),
            failure_patterns: judged.failure_patterns.iter().map(failure_pattern_to_proto).collect(),
            gate_reason: match decision {
                GateDecision::Judge { .. } => String::new(),
                GateDecision::Skip { reason } => reason,
            },
        })
    }
}

fn asked(request: &EvaluateRequest) -> Result<Asked, Invalid> {
    let judgements = match request.judgements {
        0 => None,
        n if n <= MOST_JUDGEMENTS => Some(n),
        n => return Err(Invalid::new("judgements", format!("is {n}; at most {MOST_JUDGEMENTS} are made"))),
    };
    Ok(Asked { judge: judge_choice_from_proto(request.judge)?, judgements, looks: 0 })
}

/// Who asks for a dry run decides himself whether to ask again later.
fn unjudged(unjudged: Unjudged) -> Status {
    match unjudged {
        Unjudged::Later { reason, after } => status::away(NAME, "MODEL_UNAVAILABLE", reason, after),
        Unjudged::Never { reason } => {
            status::error(NAME, Code::FailedPrecondition, "MODEL_FAILED", reason, [])
        }
    }
}
