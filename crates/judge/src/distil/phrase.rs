//! How steps are put into words.

use hindsight_text::truncate_chars;
use hindsight_types::{OutcomeStatus, Step, StepEvaluation, Trajectory};
use serde_json::Value;

use crate::effect::command_of;

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
    let cut = truncate_chars(&squeezed, n);
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
        _ if shown.starts_with(name) => shown,
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

/// A text shortened to `n` characters, ended with `stop` unless it ends by itself.
pub(super) fn sentence(text: &str, n: usize, stop: &str) -> String {
    let mut said = short(text, n);
    if !said.is_empty() && !said.ends_with(['.', '!', '?', '…', '。', '！', '？']) {
        said.push_str(stop);
    }
    said
}

pub(super) fn status(status: OutcomeStatus, chinese: bool) -> &'static str {
    match (status, chinese) {
        (OutcomeStatus::Success, false) => "succeeded",
        (OutcomeStatus::Partial, false) => "partly succeeded",
        (OutcomeStatus::Failure, false) => "failed",
        (OutcomeStatus::Unknown, false) => "not known",
        (OutcomeStatus::Success, true) => "成功",
        (OutcomeStatus::Partial, true) => "部分成功",
        (OutcomeStatus::Failure, true) => "失败",
        (OutcomeStatus::Unknown, true) => "未知",
    }
}

/// The first line that says something: the heading of a table does not.
pub(super) fn first_line(text: &str) -> &str {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let heading =
        |l: &&str| l.chars().any(char::is_alphabetic) && !l.chars().any(|c| c.is_lowercase() || is_wide(c));
    let mut lines = lines.skip_while(heading);
    lines.next().or_else(|| text.lines().next()).unwrap_or_default()
}

/// Characters that stand for a word or a syllable by themselves.
pub(super) fn is_wide(c: char) -> bool {
    c as u32 >= 0x3040 && c.is_alphabetic()
}

/// Whether a text is written in Chinese, Japanese or Korean rather than with spaces.
pub(super) fn is_cjk(text: &str) -> bool {
    let wide = text.chars().filter(|c| is_wide(*c)).count();
    wide * 3 > text.chars().filter(|c| c.is_alphabetic()).count()
}
