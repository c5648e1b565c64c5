//! Text in the manner of ReAct: `Question:`, `Thought:`, `Action:` with `Action Input:` or `Action: Tool[input]`,
//! `Observation:`, `Final Answer:`, numbered or not, in English or Chinese, also as LangChain prints it with colours.
//! Each question begins a run. What follows a label goes on to the next.

use hindsight_types::StepStatus;
use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    draft::{Draft, Mark},
    json::kind_of,
};

pub(super) struct React;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Question,
    Thought,
    Action,
    Input,
    Observation,
    Answer,
}

/// Longer ones before those they begin with.
const LABELS: [(&str, Label); 20] = [
    ("Question", Label::Question),
    ("Task", Label::Question),
    ("Thought", Label::Thought),
    ("Action Input", Label::Input),
    ("Action", Label::Action),
    ("Observation", Label::Observation),
    ("Obs", Label::Observation),
    ("Final Answer", Label::Answer),
    ("Answer", Label::Answer),
    ("问题", Label::Question),
    ("任务", Label::Question),
    ("思考", Label::Thought),
    ("行动输入", Label::Input),
    ("动作输入", Label::Input),
    ("行动", Label::Action),
    ("动作", Label::Action),
    ("观察结果", Label::Observation),
    ("观察", Label::Observation),
    ("最终答案", Label::Answer),
    ("最终回答", Label::Answer),
];

/// Tools by which an agent says that it is done.
const FINISH: [&str; 2] = ["finish", "final answer"];

impl Format for React {
    fn name(&self) -> &'static str {
        "react"
    }

    fn recognises(&self, record: &Value) -> bool {
        let line = record.as_str().map(plain).unwrap_or_default();
        line.trim_start().starts_with("> Entering new") || label(&line).is_some()
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(TextReader { options: options.clone(), run: None })
    }

    fn is_text(&self) -> bool {
        true
    }
}

struct TextReader {
    options: Options,
    run: Option<Run>,
}

#[derive(Clone)]
struct Run {
    start: RecordError,
    draft: Draft,
    open: Option<Open>,
    /// A tool whose input has not come yet.
    action: Option<String>,
}

/// What is being said.
#[derive(Clone)]
struct Open {
    label: Label,
    text: String,
    at: RecordError,
}

impl Reader for TextReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        let Some(line) = record.value.as_str() else {
            let reason = format!("is {}, not a line of text", kind_of(&record.value));
            sink.push_back(Err(record.error(reason)));
            return;
        };
        let line = plain(line);
        let found = label(&line);
        if let Some((Label::Question, _)) = found {
            self.finish(sink);
        }
        let run = self.run.get_or_insert_with(|| {
            let draft = Draft::by("react").at((record.line, record.element));
            Run { start: record.error(""), draft, open: None, action: None }
        });
        if let Err(error) = run.line(&record, &line, found) {
            sink.push_back(Err(error));
        }
    }

    fn finish(&mut self, sink: &mut Sink) {
        let Some(mut run) = self.run.take() else { return };
        // Lines before the first question or thought are not a run.
        if run.draft.description.is_empty() && run.open.is_none() {
            return;
        }
        if let Err(error) = run.close() {
            sink.push_back(Err(error));
        }
        let made = run.draft.finish(None, "react", &self.options);
        sink.push_back(made.map_err(|reason| RecordError { reason, ..run.start }));
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let so_far = |run: &Run| run.draft.so_far(None, "react", &self.options);
        self.run.as_ref().and_then(so_far).into_iter().collect()
    }
}

impl Run {
    fn line(&mut self, record: &Record, line: &str, found: Option<(Label, &str)>) -> Result<(), RecordError> {
        if let Some((label, rest)) = found {
            let closed = self.close();
            self.open = Some(Open { label, text: rest.to_owned(), at: record.error("") });
            return closed;
        }
        let line_says = |what: &str| line.trim_start().starts_with(what);
        if line_says("> Finished chain") {
            let closed = self.close();
            self.draft.ended = true;
            return closed;
        }
        if let Some(open) = self.open.as_mut().filter(|_| !line_says("> Entering")) {
            // More than will be kept of it is not held either.
            if open.text.len() <= hindsight_types::limits::OBSERVATION_BYTES {
                open.text.push('\n');
                open.text.push_str(line);
            }
        }
        Ok(())
    }

    /// Ends what is being said.
    fn close(&mut self) -> Result<(), RecordError> {
        let Some(Open { label, text, at }) = self.open.take() else { return Ok(()) };
        self.said(label, text.trim()).map_err(|reason| RecordError { reason, ..at })
    }

    /// The label says what it was.
    fn said(&mut self, label: Label, text: &str) -> Result<(), String> {
        if label != Label::Input {
            self.call_without_input()?;
        }
        match label {
            Label::Question => self.draft.user(text.to_owned(), Mark::default()),
            Label::Thought => {
                self.draft.end_saying();
                self.draft.think(text, Mark::default());
            }
            Label::Action => self.act(text)?,
            Label::Input => {
                let name = self.action.take().ok_or("an `Action Input` has no `Action` before it")?;
                self.call(&name, text)?;
            }
            Label::Observation => {
                let given = self.draft.result(None, text.to_owned(), StepStatus::Unknown, None);
                given.map_err(|_| "an `Observation` has no `Action` before it")?;
            }
            Label::Answer => self.answer(text),
        }
        Ok(())
    }

    fn act(&mut self, text: &str) -> Result<(), String> {
        match text
            .split_once('[')
            .filter(|(name, _)| !name.trim().is_empty() && !name.contains(char::is_whitespace))
        {
            Some((name, input)) => {
                let input = input.strip_suffix(']').unwrap_or(input).to_owned();
                self.call(name, &input)
            }
            None => {
                self.action = Some(text.to_owned());
                Ok(())
            }
        }
    }

    fn call_without_input(&mut self) -> Result<(), String> {
        match self.action.take() {
            Some(name) => self.call(&name, ""),
            None => Ok(()),
        }
    }

    fn call(&mut self, name: &str, input: &str) -> Result<(), String> {
        if FINISH.contains(&name.to_lowercase().as_str()) {
            self.answer(input);
            return Ok(());
        }
        let called = self.draft.call(None, name, input.to_owned(), Mark::default());
        called.map_err(|_| "an `Action` names no tool".to_owned())
    }

    fn answer(&mut self, text: &str) {
        self.draft.say(text, Mark::default());
        self.draft.flush();
        self.draft.ended = true;
    }
}

/// A label at the beginning of the line, with what follows it.
fn label(line: &str) -> Option<(Label, &str)> {
    let line = line.trim_start().trim_start_matches("**");
    LABELS.iter().find_map(|(name, label)| {
        let rest = line.strip_prefix(name)?.trim_start_matches([' ', '*']);
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let rest = rest.strip_prefix([':', '：'])?;
        Some((*label, rest.trim_start_matches("**").trim_start()))
    })
}

/// Without colours.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_however_they_are_written() {
        assert_eq!(label("Thought 2: go on"), Some((Label::Thought, "go on")));
        assert_eq!(label("  Action Input: {}"), Some((Label::Input, "{}")));
        assert_eq!(label("**Action:** look"), Some((Label::Action, "look")));
        assert_eq!(label("行动输入：订单"), Some((Label::Input, "订单")));
        assert_eq!(label("Actions: none"), None);
        assert_eq!(label("Thoughtful: no"), None);
        assert_eq!(plain("\u{1b}[32;1m\u{1b}[1;3mThought: a\u{1b}[0m"), "Thought: a");
    }
}
