//! Claude Code session files: one entry per line, of kind `user`, `assistant`, `system`, `summary` and
//! more. One session is one run; side chains (sub-agents) are steps with their agent named. A file that
//! holds nothing but a side chain is a run of its own, named after session and agent.

mod entry;

use std::collections::{HashMap, HashSet};

use hindsight_types::{AgentId, Trajectory};
use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    draft::{Draft, Mark},
    json::{flag_at, kind_of, str_at, time_at},
};

pub(super) struct ClaudeCode;

const KINDS: [&str; 5] = ["user", "assistant", "system", "summary", "file-history-snapshot"];

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn recognises(&self, record: &Value) -> bool {
        str_at(record, "type").is_some_and(|t| KINDS.contains(&t))
            && ["sessionId", "leafUuid", "snapshot", "parentUuid"].iter().any(|k| record.get(k).is_some())
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(SessionReader { options: options.clone(), order: Vec::new(), sessions: HashMap::new() })
    }
}

struct SessionReader {
    options: Options,
    /// Sessions in the order in which they appear.
    order: Vec<String>,
    sessions: HashMap<String, Session>,
}

#[derive(Clone)]
struct Session {
    draft: Draft,
    start: RecordError,
    /// Entries by `uuid`: a resumed session repeats those of the one before.
    seen: HashSet<String>,
    /// Message whose blocks are arriving, one entry each.
    message: Option<String>,
    main_chain: bool,
    /// Agent of the first side chain.
    side_agent: Option<String>,
    /// First words said to a side chain: the task when there is nothing else.
    side_task: Option<String>,
}

impl Reader for SessionReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        let value = &record.value;
        let Some(kind) = str_at(value, "type") else {
            let reason = format!("is {} without a `type`, so not a Claude Code entry", kind_of(value));
            sink.push_back(Err(record.error(reason)));
            return;
        };
        // Everything else is bookkeeping of the program.
        if kind != "user" && kind != "assistant" {
            return;
        }
        let id = str_at(value, "sessionId").unwrap_or_default().to_owned();
        let session = self.sessions.entry(id.clone()).or_insert_with(|| {
            self.order.push(id);
            Session::new(record.error(""))
        });
        if let Err(reason) = session.entry(kind, value) {
            sink.push_back(Err(record.error(reason)));
        }
    }

    fn finish(&mut self, sink: &mut Sink) {
        for id in self.order.drain(..) {
            if let Some(session) = self.sessions.remove(&id) {
                let start = session.start.clone();
                let run = session.finish(&id, &self.options);
                sink.push_back(run.map_err(|reason| RecordError { reason, ..start }));
            }
        }
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let session = |id: &String| self.sessions.get(id)?.so_far(id, &self.options);
        self.order.iter().filter_map(session).collect()
    }
}

impl Session {
    fn new(start: RecordError) -> Self {
        Self {
            draft: Draft::by("claude-code").at((start.line, start.element)),
            start,
            seen: HashSet::new(),
            message: None,
            main_chain: false,
            side_agent: None,
            side_task: None,
        }
    }

    fn entry(&mut self, kind: &str, value: &Value) -> Result<(), String> {
        self.surroundings(value);
        let uuid = str_at(value, "uuid");
        if uuid.is_some_and(|u| self.seen.contains(u)) || flag_at(value, "isMeta") {
            return Ok(());
        }
        self.draft.ended = entry::is_farewell(value);
        let message = value.get("message").ok_or("has no `message`")?;
        let content = message.get("content").ok_or("has no `message.content`")?;
        let blocks = entry::blocks(content)?;
        let mark = Mark { at: time_at(value, "timestamp"), agent: self.side_agent_of(value) };
        let id = str_at(message, "id").map(str::to_owned);
        if kind == "user" || id.is_none() || id != self.message {
            self.draft.flush();
        }
        self.message = id.filter(|_| kind == "assistant");
        if let Some(model) = str_at(message, "model") {
            self.draft.attribute("model", model);
        }
        for block in blocks {
            self.block(kind, value, &block, &mark)?;
        }
        self.seen.extend(uuid.map(str::to_owned));
        Ok(())
    }

    /// The agent of a side chain; `None` on the main one.
    fn side_agent_of(&mut self, value: &Value) -> Option<AgentId> {
        if !flag_at(value, "isSidechain") {
            self.main_chain = true;
            return None;
        }
        let name = str_at(value, "agentId").unwrap_or("sidechain");
        self.side_agent.get_or_insert_with(|| name.to_owned());
        AgentId::new(name).ok()
    }

    fn surroundings(&mut self, value: &Value) {
        for (key, name) in [("cwd", "cwd"), ("gitBranch", "git_branch"), ("version", "version")] {
            if let Some(text) = str_at(value, key) {
                self.draft.attribute(name, text);
            }
        }
    }

    fn block(&mut self, kind: &str, value: &Value, block: &Value, mark: &Mark) -> Result<(), String> {
        match (str_at(block, "type").unwrap_or_default(), kind) {
            ("tool_use" | "server_tool_use", _) => entry::call(&mut self.draft, block, mark),
            (t, _) if t.ends_with("tool_result") => entry::result(&mut self.draft, value, block, mark),
            ("thinking", _) => {
                self.draft.think(str_at(block, "thinking").unwrap_or_default(), mark.clone());
                Ok(())
            }
            ("redacted_thinking", _) => Ok(()),
            (_, "assistant") => {
                self.draft.say(&entry::text(block), mark.clone());
                Ok(())
            }
            _ => {
                self.user(value, entry::text(block), mark.clone());
                Ok(())
            }
        }
    }

    fn user(&mut self, value: &Value, text: String, mark: Mark) {
        if flag_at(value, "isCompactSummary") || entry::is_machinery(&text) {
            return;
        }
        // What a sub-agent is told comes from the main agent; it is in the call already.
        if mark.agent.is_some() {
            self.side_task.get_or_insert(text);
            return;
        }
        // A command the user ran is something he did, not the task.
        if entry::is_shell(&text) && self.draft.description.is_empty() {
            return;
        }
        self.draft.user(text, mark);
    }

    fn so_far(&self, id: &str, options: &Options) -> Option<UnderWay> {
        let mut session = self.clone();
        let own_id = session.close(id);
        session.draft.so_far(own_id.as_deref(), "claude-code", options)
    }

    fn finish(mut self, id: &str, options: &Options) -> Result<Trajectory, String> {
        let own_id = self.close(id);
        self.draft.finish(own_id.as_deref(), "claude-code", options)
    }

    /// Settles whose run it is; its name.
    fn close(&mut self, id: &str) -> Option<String> {
        if !id.is_empty() {
            self.draft.session = Some(id.to_owned());
        }
        let mut own_id = id.to_owned();
        if !self.main_chain {
            self.draft.description = self.side_task.take().unwrap_or_default();
            let agent = self.side_agent.take().unwrap_or_default();
            own_id = format!("{id}:{agent}");
            self.draft.agent = Some(agent);
        }
        Some(own_id).filter(|_| !id.is_empty())
    }
}
