//! Where warnings enter: before a call goes to the server, and when its result comes back.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use hindsight_proto::{
    common::v1::Environment,
    recall::v1::{AfterCall, BeforeCall, Reminder, WatchStart, watch_request::Event},
};
use hindsight_types::limits;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    About,
    message::{self, Id, Message, Side},
    observe::{Notes, Seen},
    splice,
    task::cut,
    watch::{Reply, Watcher},
};

/// Calls that are remembered: those under way, and those that were warned of.
const CALLS: usize = 1024;
/// What an agent is told that gets a warning instead of a result.
const NOT_MADE: &str = "This call was not made. If it is right all the same, make it again with the same arguments; it then goes through.";

/// Lets the calls of one connection through, with what Hindsight has to say.
#[derive(Debug)]
pub(crate) struct Gate {
    /// A call that is known to fail is answered with the warning once.
    confirm: bool,
    about: About,
    watcher: Watcher,
    notes: Notes,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The task that the stream is about.
    trace: String,
    start: Reply,
    open: HashMap<Id, Open>,
    warned: HashSet<String>,
}

#[derive(Debug)]
struct Open {
    tool: String,
    arguments: String,
    before: Reply,
}

/// What becomes of a message of the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// The client gets this, and the server nothing.
    Answer(Vec<u8>),
}

/// What tells whether a call failed, and nothing else.
#[derive(Deserialize)]
struct Glance {
    #[serde(default)]
    id: Value,
    result: Option<Failed>,
    error: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Failed {
    #[serde(default, rename = "isError")]
    is_error: bool,
}

impl Gate {
    pub(crate) fn new(confirm: bool, about: About, watcher: Watcher, notes: Notes) -> Self {
        let gate = Self { confirm, about, watcher, notes, state: Mutex::default() };
        gate.begin(&mut gate.state());
        gate
    }

    /// A message of the client, whole. Takes no longer than the watcher's patience.
    pub(crate) async fn request(&self, bytes: &[u8]) -> Verdict {
        let Some(call) = message::read_call(bytes) else { return Verdict::Pass };
        let same = message::same_call(&call.tool, &call.arguments);
        let arguments = if call.arguments.is_null() { String::new() } else { call.arguments.to_string() };
        let arguments = cut(arguments, limits::DETAIL_BYTES);
        let tool = cut(call.tool, limits::ID_BYTES);
        let mut before = {
            let mut state = self.state();
            self.begin(&mut state);
            let before = BeforeCall {
                call_id: cut(call.id.as_json().to_owned(), limits::ID_BYTES),
                tool: tool.clone(),
                arguments: arguments.clone(),
                description: String::new(),
            };
            if state.warned.contains(&same) {
                Reply::default()
            } else {
                self.watcher.ask(Event::BeforeCall(before))
            }
        };
        if self.confirm
            && let Some(reminder) = self.watcher.wait(&mut before).await
        {
            let mut state = self.state();
            if state.warned.len() >= CALLS {
                state.warned.clear();
            }
            state.warned.insert(same);
            self.notes.note(Seen::Withheld(call.id.clone()));
            self.notes.note(Seen::Reminded(reminder.reminder_id.clone()));
            return Verdict::Answer(instead(&call.id, call.versioned, &reminder));
        }
        let mut state = self.state();
        if state.open.len() >= CALLS {
            state.open.clear();
        }
        state.open.insert(call.id, Open { tool, arguments, before });
        Verdict::Pass
    }

    /// A message of the server, whole; `Some`: what goes to the client in its place.
    pub(crate) async fn answer(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.state().open.is_empty() {
            return None;
        }
        let glance: Glance = serde_json::from_slice(bytes).ok()?;
        let id = Id::of(&glance.id).filter(|_| glance.method.is_none())?;
        let (mut open, mut start) = {
            let mut state = self.state();
            let open = state.open.remove(&id)?;
            (open, std::mem::take(&mut state.start))
        };
        let failed = glance.error.is_some() || glance.result.as_ref().is_some_and(|r| r.is_error);
        let mut after = self.after(&id, &open, failed, bytes);
        let before = self.watcher.wait(&mut open.before).await;
        // Asked first, it was answered first; one that was not may be by the next call.
        let mut said: Vec<Reminder> = start.now().into_iter().chain(before).collect();
        if start.is_open() {
            self.state().start = start;
        }
        if failed && glance.error.is_none() {
            said.extend(self.watcher.wait(&mut after).await);
        }
        if said.is_empty() {
            return None;
        }
        let items: Vec<_> = said.iter().map(|r| item(r, &r.block)).collect();
        let spliced = splice::append(bytes, &items.join(","))?;
        for reminder in said {
            self.notes.note(Seen::Reminded(reminder.reminder_id));
        }
        Some(spliced)
    }

    fn after(&self, id: &Id, open: &Open, failed: bool, bytes: &[u8]) -> Reply {
        // What a call that succeeded gave is of no interest here, and may be large.
        let output = match message::read(Side::Server, if failed { bytes } else { &[] }).pop() {
            Some(Message::Answered { answer, .. }) => answer.text,
            _ => String::new(),
        };
        self.watcher.ask(Event::AfterCall(AfterCall {
            call_id: cut(id.as_json().to_owned(), limits::ID_BYTES),
            tool: open.tool.clone(),
            arguments: open.arguments.clone(),
            failed,
            output: cut(output, limits::OBSERVATION_BYTES),
        }))
    }

    /// Begins a stream when another task has begun.
    fn begin(&self, state: &mut State) {
        let trace = self.notes.trace();
        if state.trace == trace {
            return;
        }
        let tags = self.about.environment.clone();
        state.start = self.watcher.begin(WatchStart {
            trace_id: trace.clone(),
            // Without a goal of its own nothing bears on the task, and nothing is said at its start.
            goal: cut(self.about.goal.clone().unwrap_or_default(), limits::TEXT_BYTES),
            task_type: self.about.task_type.clone(),
            user: self.about.user.clone(),
            agent: self.about.agent.clone().unwrap_or_default(),
            environment: Some(Environment { tags, ..Environment::default() }),
            ..WatchStart::default()
        });
        state.trace = trace;
        state.warned.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held, and if it did the state would still be sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A content item of a result. Its receipt is what `report_outcome` takes.
fn item(reminder: &Reminder, text: &str) -> String {
    let (text, receipt) = (Value::from(text), Value::from(reminder.reminder_id.as_str()));
    format!(r#"{{"type":"text","text":{text},"_meta":{{"hindsight/receipt":{receipt}}}}}"#)
}

/// The answer to a call that was not made.
fn instead(id: &Id, versioned: bool, reminder: &Reminder) -> Vec<u8> {
    let item = item(reminder, &format!("{}\n\n{NOT_MADE}", reminder.block.trim_end()));
    let (id, kind) = (id.as_json(), if versioned { r#""resultType":"complete","# } else { "" });
    let result = format!(r#"{{{kind}"content":[{item}],"isError":true}}"#);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes()
}
