//! SWE-agent `.traj`: one object per run with `trajectory` (action, observation, thought), `history` and
//! `info`. The issue is the task; the first word of an action is its tool.
//!
//! A submitted patch says that the agent believes it is done, not that it works: it is a claim with an
//! unknown verdict. Ending without a submission is a failure.

use hindsight_types::{EvidenceSource, OutcomeStatus, StepStatus, Trajectory};
use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options,
    draft::{Draft, Mark},
    json::{content_text, flag_at, scalar, str_at},
};

pub(super) struct SweAgent;

impl Format for SweAgent {
    fn name(&self) -> &'static str {
        "swe-agent"
    }

    fn recognises(&self, record: &Value) -> bool {
        record.get("trajectory").is_some_and(Value::is_array)
            && (record.get("history").is_some() || record.get("info").is_some())
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(TrajReader(options.clone()))
    }
}

struct TrajReader(Options);

impl Reader for TrajReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        sink.push_back(run(&record, &self.0).map_err(|reason| record.error(reason)));
    }

    fn finish(&mut self, _: &mut Sink) {}
}

fn run(record: &Record, options: &Options) -> Result<Trajectory, String> {
    let place = (record.line, record.element);
    let record = &record.value;
    let steps = record
        .get("trajectory")
        .and_then(Value::as_array)
        .ok_or("has no `trajectory` list, so it is not a SWE-agent run")?;
    let mut draft = Draft::by("swe-agent").at(place);
    draft.user(
        issue(record).ok_or("`history` has no message of a user, so the task is not known")?,
        Mark::default(),
    );
    for (i, s) in steps.iter().enumerate() {
        step(&mut draft, s).map_err(|reason| format!("trajectory[{i}]: {reason}"))?;
    }
    if let Some(name) = record.get("environment").and_then(scalar) {
        draft.attribute("environment", name);
    }
    outcome(&mut draft, record);
    draft.finish(str_at(record, "instance_id"), "swe-agent", options)
}

fn step(draft: &mut Draft, s: &Value) -> Result<(), String> {
    let mark = Mark::default();
    let thought = str_at(s, "thought").or_else(|| str_at(s, "response")).unwrap_or_default();
    let Some(action) = str_at(s, "action") else {
        draft.say(thought, mark);
        draft.flush();
        return Ok(());
    };
    draft.think(thought, mark.clone());
    let name = action.split_whitespace().next().unwrap_or_default();
    draft.call(None, name, action.trim_end().to_owned(), mark)?;
    draft.result(None, s.get("observation").map(content_text).unwrap_or_default(), StepStatus::Unknown, None)
}

/// The issue within the first message that is not a demonstration.
fn issue(record: &Value) -> Option<String> {
    let history = record.get("history")?.as_array()?;
    let demo = |m: &Value| {
        flag_at(m, "is_demo")
            || m.get("content").map(content_text).is_some_and(|t| t.contains("--- DEMONSTRATION ---"))
    };
    let message = history.iter().find(|m| str_at(m, "role") == Some("user") && !demo(m))?;
    let text = content_text(message.get("content")?);
    for (begin, end) in [("<pr_description>", "</pr_description>"), ("ISSUE:\n", "\nINSTRUCTIONS:")] {
        if let Some((_, rest)) = text.split_once(begin)
            && let Some((issue, _)) = rest.split_once(end)
        {
            return Some(issue.trim().to_owned());
        }
    }
    Some(text)
}

fn outcome(draft: &mut Draft, record: &Value) {
    let Some(info) = record.get("info") else { return };
    let submission = str_at(info, "submission");
    if let Some(patch) = submission {
        draft.conclusion = crate::clip::clip(patch.trim().to_owned(), hindsight_types::limits::TEXT_BYTES);
    }
    if let Some(resolved) = info.get("resolved").or_else(|| record.get("resolved")).and_then(Value::as_bool) {
        let verdict = if resolved { OutcomeStatus::Success } else { OutcomeStatus::Failure };
        draft.proof(EvidenceSource::TestResult, verdict, format!("resolved: {resolved}"));
    }
    match (str_at(info, "exit_status"), submission) {
        (Some(status), Some(_)) => draft.proof(
            EvidenceSource::AgentClaim,
            OutcomeStatus::Unknown,
            format!("exit status `{status}`: a patch was submitted, nothing here tested it"),
        ),
        (Some(status), None) => draft.proof(
            EvidenceSource::ExitCode,
            OutcomeStatus::Failure,
            format!("exit status `{status}` without a submission"),
        ),
        (None, _) => {}
    }
}
