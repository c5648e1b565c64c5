//! How steps are put into words.

use hindsight_types::{Step, StepEvaluation, Trajectory};
use serde_json::Value;

use crate::effect::command_of;
use crate::signature::head;

/// One step with its verdict.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) step: &'a Step,
    pub(super) verdict: &'a StepEvaluation,
}

pub(super) fn judged<'a>(
    t: &'a Trajectory,
    labels: &'a [StepEvaluation],
) -> impl DoubleEndedIterator<Item = Judged<'a>> + Clone {
    t.steps.iter().zip(labels).map(|(step, verdict)| Judged { step, verdict })
}

/// White space squeezed, at most `n` characters, with `…` where something was cut.
pub(super) fn short(text: &str, n: usize) -> String {
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = head(&squeezed, n);
    if cut.len() == squeezed.len() { squeezed } else { format!("{}…", cut.trim_end()) }
}

/// A call as a person would write it: `restart_service(name=web)`, or the command line it ran.
pub(super) fn call(step: &Step, n: usize) -> String {
    let arguments = serde_json::from_str::<Value>(&step.action_detail).ok();
    let shown = match &arguments {
        Some(Value::Object(map)) => match command_of(&step.action_detail, arguments.as_ref()) {
            Some(command) => command.to_owned(),
            None => map.iter().map(|(k, v)| format!("{k}={}", plain(v))).collect::<Vec<_>>().join(", "),
        },
        Some(Value::String(s)) => s.clone(),
        _ => step.action_detail.clone(),
    };
    let name = step.action_name.trim();
    let shown = short(&shown, n);
    match (name.is_empty(), shown.is_empty()) {
        (true, _) => shown,
        (false, true) => name.to_owned(),
        (false, false) => format!("{name}({shown})"),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// Whether a text is written in Chinese, Japanese or Korean rather than with spaces.
pub(super) fn is_cjk(text: &str) -> bool {
    let cjk = text.chars().filter(|c| *c as u32 >= 0x3040 && c.is_alphabetic()).count();
    cjk * 3 > text.chars().filter(|c| c.is_alphabetic()).count()
}
