//! Has the model tell what a judged run teaches. Where it does not, or not well, what was drawn from the
//! run's own words stays, and the evaluation says so.

use std::time::Duration;

use hindsight_judge::distil::model::{self, OUTPUT_TOKENS, PROMPT_VERSION, SYSTEM, Written};
use hindsight_ports::{Llm, LlmReply, LlmRequest};
use hindsight_types::{JudgedTrajectory, Judging, RejectedLesson, Trajectory};

/// `seen` is the run as the model is shown it.
pub(crate) async fn tell(
    llm: &dyn Llm,
    judged: &mut JudgedTrajectory,
    seen: &Trajectory,
    deadline: Duration,
) {
    let JudgedTrajectory { trajectory, evaluation, lessons, .. } = judged;
    let request = LlmRequest {
        tenant: trajectory.scope.tenant.clone(),
        system: SYSTEM.to_owned(),
        user: model::question(seen, evaluation),
        schema: Some(model::schema()),
        max_output_tokens: OUTPUT_TOKENS,
        temperature: 0.0,
        seed: Some(0),
    };
    let told = match tokio::time::timeout(deadline, llm.complete(&request)).await {
        Ok(Ok(reply)) => {
            count(&mut evaluation.judging, &reply);
            model::read(&reply.text, trajectory, evaluation, evaluation.evaluated_at)
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {deadline:?}")),
    };
    match told {
        Ok(Written { summary, lessons: written, rejected }) => {
            evaluation.summary = summary;
            evaluation.rejected_lessons = rejected;
            if !written.is_empty() {
                *lessons = written;
            }
            evaluation.judging.prompt.push_str(&format!("+{PROMPT_VERSION}"));
        }
        Err(reason) => {
            tracing::warn!(trace = %trajectory.trace_id, reason, "the model told nothing that can be kept");
            let text = "the summary and lessons of the model".to_owned();
            evaluation.rejected_lessons.push(RejectedLesson { text, reason });
        }
    }
}

fn count(judging: &mut Judging, reply: &LlmReply) {
    judging.calls += 1;
    if !reply.cached {
        judging.input_tokens += reply.usage.input_tokens;
        judging.output_tokens += reply.usage.output_tokens;
        judging.cost_micros += reply.usage.cost_micros;
    }
}
