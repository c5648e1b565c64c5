//! What the model sees of each step.

use hindsight_text::one_line;
use hindsight_types::{ActionType, Step, StepStatus, Trajectory};
use serde_json::Value;

use crate::{canon, signature};

use super::prompt;

/// Characters of a step's arguments, and of what came back.
const DETAIL: usize = 50;
const OBSERVATION: usize = 100;
/// Words of the agent or the user have nothing that came back.
const WORDS: usize = DETAIL + OBSERVATION;
const NAME: usize = 60;
/// Text that is looked at for a cut of it.
const LOOKED_AT: usize = 16 * 1024;

/// One line of the digest: a step, or several in a row that are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) first: u32,
    pub(super) last: u32,
    /// The one that counts: the first when all came back alike, the last when it was waited for.
    pub(super) telling: u32,
    pub(super) line: String,
}

/// Every step, in order, each in exactly one entry. Consecutive steps of one kind are merged: the same
/// action with the same arguments and status, as in polling. Steps that look at different things stay
/// apart, since each gets a label of its own.
pub(super) fn all(t: &Trajectory) -> Vec<Entry> {
    let kinds: Vec<u64> = t.steps.iter().map(kind).collect();
    let mut entries = Vec::new();
    let mut at = 0;
    while at < t.steps.len() {
        let run = kinds[at..].iter().take_while(|k| **k == kinds[at]).count();
        let (first, last) = (&t.steps[at], &t.steps[at + run - 1]);
        let alike = canon::result(&first.observation) == canon::result(&last.observation);
        entries.push(Entry {
            first: first.step_index,
            last: last.step_index,
            telling: if alike { first.step_index } else { last.step_index },
            line: line(first, last),
        });
        at += run;
    }
    entries
}

fn kind(step: &Step) -> u64 {
    let arguments = serde_json::from_str(&step.action_detail).ok();
    canon::hash_of((step.action_type, step.status, &step.agent, canon::call(step, arguments.as_ref())))
}

/// A JSON object on one line. Of several steps, the arguments of the first and what came back of the last.
fn line(first: &Step, last: &Step) -> String {
    let mut line = format!("{{\"step\":{}", first.step_index);
    if last.step_index != first.step_index {
        line.push_str(&format!(",\"to\":{}", last.step_index));
    }
    let mut field = |name: &str, value: &str, max: usize| {
        line.push_str(&format!(",\"{name}\":{}", prompt::quoted(value, max)));
    };
    field("kind", action(first.action_type), NAME);
    if let Some(agent) = &first.agent {
        field("agent", agent.as_str(), NAME);
    }
    if first.action_type == ActionType::ToolCall {
        field("tool", &first.action_name, NAME);
        field("status", status(last.status), NAME);
        field("do", &compact(&first.action_detail), DETAIL);
        field("saw", &seen(last), OBSERVATION);
    } else {
        field("do", &first.action_detail, WORDS);
    }
    line.push('}');
    line
}

fn action(kind: ActionType) -> &'static str {
    match kind {
        ActionType::ToolCall => "TOOL_CALL",
        ActionType::LlmReasoning => "LLM_REASONING",
        ActionType::UserInput => "USER_INPUT",
    }
}

fn status(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Ok => "ok",
        StepStatus::Error => "error",
        StepStatus::Unknown => "unknown",
    }
}

/// Arguments with one key are that key's value: `{"command": "df -h"}` is `df -h`.
fn compact(detail: &str) -> String {
    if detail.len() <= LOOKED_AT
        && let Ok(Value::Object(arguments)) = serde_json::from_str(detail)
    {
        let one = arguments.values().next().and_then(Value::as_str).filter(|_| arguments.len() == 1);
        return one.map_or_else(|| Value::Object(arguments.clone()).to_string(), str::to_owned);
    }
    one_line(detail, LOOKED_AT)
}

fn seen(step: &Step) -> String {
    match step.status {
        StepStatus::Error => signature::error_message(&step.observation).into_owned(),
        _ => one_line(&step.observation, LOOKED_AT),
    }
}
