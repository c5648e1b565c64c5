//! Holds steps and ends to what the server takes: long texts are cut, visibly; what stays wrong is refused here,
//! since a step that the server refuses would leave a hole in its run.

use hindsight_proto::common::v1::{ActionType, Decision, Outcome, Step};
use hindsight_types::{AgentId, FieldError, Invalid, limits};

/// Returns whether something was cut.
pub(super) fn step(step: &mut Step) -> Result<bool, Invalid> {
    if step.action_type == ActionType::Unspecified as i32 {
        let is_call = !step.action_name.trim().is_empty();
        step.set_action_type(if is_call { ActionType::ToolCall } else { ActionType::LlmReasoning });
    }
    Invalid::check(problems(step))?;
    let mut cut = Cut::default();
    cut.text(&mut step.action_name, limits::ID_BYTES);
    cut.text(&mut step.action_detail, limits::DETAIL_BYTES);
    cut.text(&mut step.observation, limits::OBSERVATION_BYTES);
    cut.text(&mut step.reflection, limits::TEXT_BYTES);
    if let Some(d) = &mut step.decision {
        cut.decision(d);
    }
    Ok(cut.done)
}

/// Returns whether something was cut.
pub(super) fn outcome(outcome: &mut Outcome) -> bool {
    let mut cut = Cut::default();
    cut.text(&mut outcome.conclusion, limits::TEXT_BYTES);
    cut.list(&mut outcome.evidence);
    for e in &mut outcome.evidence {
        cut.text(&mut e.detail, limits::TEXT_BYTES);
    }
    cut.done
}

fn problems(step: &Step) -> Vec<FieldError> {
    let mut problems = Vec::new();
    let mut add = |field: &str, problem: String| {
        problems.push(FieldError { field: format!("step.{field}"), problem });
    };
    if ActionType::try_from(step.action_type).is_err() {
        add("action_type", format!("{} is not a value of this enum", step.action_type));
    }
    if step.action_type() == ActionType::ToolCall && step.action_name.trim().is_empty() {
        add("action_name", "is required for a tool call: the name of the tool".to_owned());
    }
    if step.decision.as_ref().is_some_and(|d| d.chosen.trim().is_empty()) {
        add("decision.chosen", "is required: what was chosen".to_owned());
    }
    let moment = |t: &prost_types::Timestamp| (t.seconds, t.nanos);
    if let (Some(start), Some(end)) = (&step.started_at, &step.ended_at)
        && moment(end) < moment(start)
    {
        add("ended_at", "is before the start".to_owned());
    }
    if !step.agent.is_empty()
        && let Err(e) = AgentId::new(step.agent.as_str())
    {
        problems.extend(e.within("step").fields);
    }
    problems
}

#[derive(Debug, Default)]
struct Cut {
    done: bool,
}

impl Cut {
    /// Keeps the head and the tail, where what matters stands.
    fn text(&mut self, text: &mut String, limit: usize) {
        if text.len() <= limit {
            return;
        }
        self.done = true;
        let mark = |left_out: usize| format!("\n[… {left_out} bytes left out …]\n");
        let room = limit.saturating_sub(mark(text.len()).len());
        let head = text.floor_char_boundary(room / 2);
        let tail = text.ceil_char_boundary(text.len() - (room - room / 2));
        text.replace_range(head..tail, &mark(tail - head));
    }

    fn list<T>(&mut self, list: &mut Vec<T>) {
        self.done |= list.len() > limits::TAGS;
        list.truncate(limits::TAGS);
    }

    fn decision(&mut self, d: &mut Decision) {
        self.text(&mut d.chosen, limits::TEXT_BYTES);
        self.text(&mut d.rationale, limits::TEXT_BYTES);
        self.list(&mut d.rejected);
        for r in &mut d.rejected {
            self.text(r, limits::TEXT_BYTES);
        }
    }
}
