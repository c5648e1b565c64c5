//! What AutoGen and AG2 leave behind. Three shapes are read:
//!
//! * typed messages of agents and teams (`TextMessage`, `ToolCallRequestEvent`, …), one per line or together in the
//!   result of a task (`messages` and `stop_reason`), and the lines of the event log that carry them;
//! * chat histories (`history` or `chat_history`): messages with `role` and `name`. Code that an agent writes and
//!   that is run next is a call, the report of the terminal its result;
//! * the same with the speaker as the role: `Orchestrator (thought)`, `Orchestrator (-> WebSurfer)`, `WebSurfer`. What
//!   one hands to another is a call, the other's next words its result.
//!
//! Labels of who made which mistake, and the right answer, are not part of a run and are left out.

mod history;
mod typed;

use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    json::{kind_of, str_at},
};

pub(super) struct AutoGen;

impl Format for AutoGen {
    fn name(&self) -> &'static str {
        "autogen"
    }

    fn recognises(&self, record: &Value) -> bool {
        history::of(record).is_some() || !typed::messages_of(record).is_empty()
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(LogReader { options: options.clone(), talk: None })
    }
}

struct LogReader {
    options: Options,
    /// Messages that come one by one.
    talk: Option<typed::Talk>,
}

impl Reader for LogReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        let value = &record.value;
        if let Some(messages) = history::of(value) {
            let run = history::run(&record, messages, &self.options);
            sink.push_back(run.map_err(|reason| record.error(reason)));
            return;
        }
        let messages = typed::messages_of(value);
        if messages.is_empty() {
            // The event log says much more than what agents say to each other.
            if str_at(value, "type").is_none() {
                let reason = format!("is {} without `history`, `messages` or `type`", kind_of(value));
                sink.push_back(Err(record.error(reason)));
            }
            return;
        }
        if typed::begins(value) && self.talk.as_ref().is_some_and(|t| !t.knows(&messages)) {
            self.finish(sink);
        }
        let talk = self.talk.get_or_insert_with(|| typed::Talk::new(record.error("")));
        for message in messages {
            if let Err(reason) = talk.message(&message) {
                sink.push_back(Err(record.error(reason)));
            }
        }
        // The result of a task repeats its messages and ends it.
        if let Some(reason) = value.get("stop_reason") {
            talk.stopped(reason.as_str().unwrap_or_default());
            self.finish(sink);
        }
    }

    fn finish(&mut self, sink: &mut Sink) {
        if let Some(talk) = self.talk.take() {
            let start = talk.start.clone();
            sink.push_back(talk.finish(&self.options).map_err(|reason| RecordError { reason, ..start }));
        }
    }

    fn under_way(&self) -> Vec<UnderWay> {
        self.talk.as_ref().and_then(|t| t.so_far(&self.options)).into_iter().collect()
    }
}
