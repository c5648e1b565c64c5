//! Where warnings enter: before a call goes to the server, and when its result comes back.

use std::{
    collections::HashSet,
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
    calls::{CALLS, Calls, Way},
    message::{self, Call, Id, Message, Side},
    observe::{Notes, Seen},
    owed::{Owed, Subject},
    splice,
    task::cut,
    watch::{Reply, Watcher},
};

#[cfg(test)]
mod tests;

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
    open: Calls<Open>,
    owed: Owed,
    warned: HashSet<String>,
}

#[derive(Debug)]
struct Open {
    tool: String,
    arguments: String,
    same: String,
    before: Reply,
}

/// What becomes of a message of the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// It is answered with this line and goes no further.
    Answer(Vec<u8>),
}

/// What is looked at first in a message of the server.
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
    pub(crate) async fn request(&self, way: Way, bytes: &[u8]) -> Verdict {
        let Some(call) = message::read_call(bytes) else { return Verdict::Pass };
        let (mut open, is_news) = self.opened(&call);
        if self.confirm
            && is_news
            && let Some(reminder) = self.known(&mut open).await
        {
            let mut state = self.state();
            if state.warned.len() >= CALLS {
                state.warned.clear();
            }
            state.warned.insert(open.same);
            self.notes.note(Seen::Withheld(way, call.id));
            self.notes.note(Seen::Reminded(reminder.reminder_id.clone()));
            let id = splice::member_of(bytes, "id").unwrap_or(b"null");
            return Verdict::Answer(instead(id, call.versioned, &reminder));
        }
        self.state().open.put(way, call.id, open);
        Verdict::Pass
    }

    /// Asks about a call; and whether it was not held back before.
    fn opened(&self, call: &Call) -> (Open, bool) {
        let mut state = self.state();
        self.begin(&mut state);
        let same = message::same_call(&call.tool, &call.arguments);
        let arguments = if call.arguments.is_null() { String::new() } else { call.arguments.to_string() };
        let arguments = cut(arguments, limits::DETAIL_BYTES);
        let tool = cut(call.tool.clone(), limits::ID_BYTES);
        let is_news = !state.warned.contains(&same);
        let before = if is_news {
            self.watcher.ask(Event::BeforeCall(BeforeCall {
                call_id: cut(call.id.as_json().to_owned(), limits::ID_BYTES),
                tool: tool.clone(),
                arguments: arguments.clone(),
                description: String::new(),
            }))
        } else {
            Reply::default()
        };
        (Open { tool, arguments, same, before }, is_news)
    }

    /// The warning of a call: the one that is asked for, or one that was late when the call was made before.
    async fn known(&self, open: &mut Open) -> Option<Reminder> {
        let said = self.watcher.wait(&mut open.before).await;
        said.or_else(|| self.state().owed.of_call(&open.same))
    }

    /// A message of the server, whole; `Some`: what goes to the client in its place.
    pub(crate) async fn answer(&self, way: Way, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.state().open.is_empty() {
            return None;
        }
        let glance: Glance = serde_json::from_slice(bytes).ok()?;
        let id = Id::of(&glance.id).filter(|_| glance.method.is_none())?;
        let mut open = self.state().open.take(way, &id)?;
        let failed = glance.error.is_some() || glance.result.as_ref().is_some_and(|r| r.is_error);
        let mut after = self.after(&id, &open, failed, bytes);
        // An error of the protocol, among others, has no place for words: they come with the next result.
        let place = splice::place(bytes);
        let mut said = Vec::new();
        if place.is_some() {
            said.extend(self.watcher.wait(&mut open.before).await);
            if failed {
                said.extend(self.watcher.wait(&mut after).await);
            }
        }
        let mut words = self.late(open, after, failed, place.is_some());
        words.extend(said);
        if words.is_empty() {
            return None;
        }
        let items: Vec<_> = words.iter().map(|r| item(r, &r.block)).collect();
        let spliced = splice::insert(bytes, place?, &items.join(","));
        for reminder in words {
            self.notes.note(Seen::Reminded(reminder.reminder_id));
        }
        Some(spliced)
    }

    /// Keeps what was not said of a call that is over; and what was kept before, if it can be said now.
    fn late(&self, open: Open, after: Reply, failed: bool, room: bool) -> Vec<Reminder> {
        let mut state = self.state();
        let owed = &mut state.owed;
        let said = if room { owed.with_result(&open.tool) } else { Vec::new() };
        if failed {
            owed.owe(Subject::Tool(open.tool.clone()), after);
        }
        owed.owe(Subject::Call { tool: open.tool, same: open.same }, open.before);
        said
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
        let start = self.watcher.begin(WatchStart {
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
        state.owed = Owed::default();
        state.owed.owe(Subject::Task, start);
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

/// The answer to a call that was not made. `id` as the client wrote it: it need not be a number that fits anywhere.
fn instead(id: &[u8], versioned: bool, reminder: &Reminder) -> Vec<u8> {
    let item = item(reminder, &format!("{}\n\n{NOT_MADE}", reminder.block.trim_end()));
    let kind = if versioned { r#""resultType":"complete","# } else { "" };
    let result = format!(",\"result\":{{{kind}\"content\":[{item}],\"isError\":true}}}}\n");
    [br#"{"jsonrpc":"2.0","id":"#, id, result.as_bytes()].concat()
}
