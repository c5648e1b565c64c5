//! ATIF, the Agent Trajectory Interchange Format of Harbor: one object per run with `schema_version`, `agent`
//! and `steps`. System messages are the agent's equipment and are left out; steps copied from an earlier
//! trajectory are not repeated. Embedded trajectories of sub-agents become steps with their agent named, before
//! the result of the call that started them; those in other files are left to those files.

use hindsight_types::{AgentId, Trajectory};
use serde_json::Value;

use super::{Format, Reader, Record, Sink, status_of};
use crate::{
    Options,
    draft::{Draft, Mark},
    json::{arguments_text, content_text, flag_at, kind_of, str_at, time_at},
};

pub(super) struct Atif;

/// Most sub-agents within each other.
const DEPTH: usize = 4;
/// What an agent does that has no tools by name.
const ACTION: &str = "action";

impl Format for Atif {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn recognises(&self, record: &Value) -> bool {
        str_at(record, "schema_version").is_some_and(|v| v.starts_with("ATIF"))
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(AtifReader(options.clone()))
    }
}

struct AtifReader(Options);

impl Reader for AtifReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        sink.push_back(run(&record, &self.0).map_err(|reason| record.error(reason)));
    }

    fn finish(&mut self, _: &mut Sink) {}
}

fn run(record: &Record, options: &Options) -> Result<Trajectory, String> {
    let root = &record.value;
    let name = root.pointer("/agent/name").and_then(Value::as_str).unwrap_or("atif");
    let mut draft = Draft::by(name).at((record.line, record.element));
    draft.session = str_at(root, "session_id").map(str::to_owned);
    for (key, path) in [("model", "/agent/model_name"), ("version", "/agent/version")] {
        if let Some(text) = root.pointer(path).and_then(Value::as_str) {
            draft.attribute(key, text);
        }
    }
    if let Some(next) = str_at(root, "continued_trajectory_ref") {
        draft.attribute("continued_in", next);
    }
    Teller { root, draft: &mut draft, agent: None, depth: 0 }.steps(root)?;
    let own_id = str_at(root, "trajectory_id").or_else(|| str_at(root, "session_id"));
    draft.finish(own_id, "atif", options)
}

struct Teller<'a> {
    /// Holds the sub-agents.
    root: &'a Value,
    draft: &'a mut Draft,
    /// The sub-agent whose steps these are.
    agent: Option<AgentId>,
    depth: usize,
}

impl<'a> Teller<'a> {
    fn steps(&mut self, trajectory: &'a Value) -> Result<(), String> {
        let steps = trajectory.get("steps").ok_or("has no `steps`")?;
        let steps = steps.as_array().ok_or_else(|| format!("steps is {}, not a list", kind_of(steps)))?;
        for (i, step) in steps.iter().enumerate() {
            self.step(step).map_err(|reason| format!("steps[{i}]{reason}"))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &'a Value) -> Result<(), String> {
        let text = step.get("message").map(content_text).unwrap_or_default();
        let mark = Mark { at: time_at(step, "timestamp"), agent: self.agent.clone() };
        let copied = flag_at(step, "is_copied_context");
        match str_at(step, "source") {
            Some("system") => Ok(()),
            // What a sub-agent is told is in the call already.
            Some("user") if self.agent.is_some() => Ok(()),
            Some("user") => {
                if !copied || self.draft.description.is_empty() {
                    self.draft.user(text, mark);
                }
                Ok(())
            }
            Some("agent") if copied => Ok(()),
            Some("agent") => self.act(step, &text, &mark),
            Some(other) => Err(format!(".source: `{other}` is none of system, user, agent")),
            None => Err(format!(": is {} without a `source`", kind_of(step))),
        }
    }

    fn act(&mut self, step: &'a Value, text: &str, mark: &Mark) -> Result<(), String> {
        self.draft.flush();
        self.draft.think(str_at(step, "reasoning_content").unwrap_or_default(), mark.clone());
        let list = |path| step.pointer(path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let (calls, results) = (list("/tool_calls"), list("/observation/results"));
        let mut last = None;
        if calls.is_empty() && !results.is_empty() {
            self.draft.call(None, ACTION, text.to_owned(), mark.clone())?;
        } else {
            self.draft.say(text, mark.clone());
        }
        for (k, call) in calls.iter().enumerate() {
            let name = str_at(call, "function_name").unwrap_or_default();
            let id = str_at(call, "tool_call_id");
            self.draft
                .call(id, name, arguments_text(call.get("arguments")), mark.clone())
                .map_err(|reason| format!(".tool_calls[{k}].function_name: {reason}"))?;
            last = id;
        }
        for (k, result) in results.iter().enumerate() {
            self.result(result, last, mark)
                .map_err(|reason| format!(".observation.results[{k}]: {reason}"))?;
        }
        self.draft.flush();
        Ok(())
    }

    fn result(&mut self, result: &'a Value, last: Option<&str>, mark: &Mark) -> Result<(), String> {
        for sub in self.subagents(result) {
            let name = sub.pointer("/agent/name").and_then(Value::as_str).unwrap_or("subagent");
            let agent = AgentId::new(name).ok();
            let (root, depth) = (self.root, self.depth + 1);
            Teller { root, draft: self.draft, agent, depth }.steps(sub)?;
        }
        let failed = ["is_error", "tool_result_is_error"]
            .iter()
            .find_map(|key| result.pointer(&format!("/extra/{key}"))?.as_bool());
        let text = result.get("content").map(content_text).unwrap_or_default();
        // What names no call is what the last one brought about.
        let id = str_at(result, "source_call_id").or(last);
        self.draft.result(id, text, status_of(failed), mark.at)
    }

    fn subagents(&self, result: &Value) -> Vec<&'a Value> {
        let refs = result.get("subagent_trajectory_ref").and_then(Value::as_array);
        let embedded = self.root.get("subagent_trajectories").and_then(Value::as_array);
        let (Some(refs), Some(embedded), true) = (refs, embedded, self.depth < DEPTH) else {
            return Vec::new();
        };
        let of = |r: &Value| {
            let id = str_at(r, "trajectory_id")?;
            embedded.iter().find(|t| str_at(t, "trajectory_id") == Some(id))
        };
        refs.iter().filter_map(of).collect()
    }
}
