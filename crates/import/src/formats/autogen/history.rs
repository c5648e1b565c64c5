//! Chat histories of groups of agents.

use hindsight_types::{AgentId, EvidenceSource, OutcomeStatus, StepStatus, Trajectory};
use serde_json::Value;

use super::typed::by_exit_code;
use crate::{
    Options,
    draft::{Draft, Mark},
    formats::Record,
    json::{content_text, kind_of, scalar, str_at},
    message::{self, Role},
};

/// What else is known about a run and kept with it.
const ATTRIBUTES: [&str; 3] = ["question_ID", "level", "chat_id"];
/// The person, where the role names the speaker.
const PEOPLE: [&str; 2] = ["human", "user"];

pub(super) fn of(record: &Value) -> Option<&Vec<Value>> {
    if record.get("trajectory").is_some() {
        return None;
    }
    let list = ["history", "chat_history"].iter().find_map(|key| record.get(key)?.as_array())?;
    Some(list).filter(|l| l.first().is_none_or(|m| m.get("role").is_some()))
}

pub(super) fn run(record: &Record, messages: &[Value], options: &Options) -> Result<Trajectory, String> {
    let root = &record.value;
    let draft = Draft::by("autogen").at((record.line, record.element));
    let mut group = Group { draft, question: String::new() };
    if let Some(question) = str_at(root, "question") {
        question.trim().clone_into(&mut group.question);
        group.draft.user(group.question.clone(), Mark::default());
    }
    for (i, m) in messages.iter().enumerate() {
        group.message(i, m, messages.get(i + 1)).map_err(|reason| format!("history[{i}]{reason}"))?;
    }
    for key in ATTRIBUTES {
        if let Some(value) = root.get(key).and_then(scalar) {
            group.draft.attribute(key, value);
        }
    }
    if let Some(good) = root.get("is_correct").or_else(|| root.get("is_corrected")).and_then(Value::as_bool) {
        let verdict = if good { OutcomeStatus::Success } else { OutcomeStatus::Failure };
        group.draft.proof(EvidenceSource::TestResult, verdict, format!("the answer is right: {good}"));
    }
    group.draft.finish(None, "autogen", options)
}

struct Group {
    draft: Draft,
    question: String,
}

impl Group {
    fn message(&mut self, i: usize, m: &Value, next: Option<&Value>) -> Result<(), String> {
        let role = str_at(m, "role").ok_or_else(|| format!(": is {} without a `role`", kind_of(m)))?;
        let text = m.get("content").map(content_text).unwrap_or_default();
        if PEOPLE.contains(&role) && str_at(m, "name").is_none() {
            if !self.draft.heard(text.trim()) {
                self.draft.user(text.trim().to_owned(), Mark::default());
            }
            return Ok(());
        }
        let known = matches!(role, "user" | "assistant" | "system" | "tool" | "function");
        let (speaker, aside) = match role.split_once(" (") {
            Some((speaker, aside)) if !known => (speaker, aside.trim_end_matches(')')),
            _ => (if known { str_at(m, "name").unwrap_or(role) } else { role }, ""),
        };
        let mark = Mark { at: None, agent: AgentId::new(speaker).ok() };
        if let Some(to) = aside.strip_prefix("-> ") {
            self.draft.flush();
            return self.draft.call(Some(to), to, text, mark).map_err(|reason| format!(".role: {reason}"));
        }
        if self.draft.is_open(speaker) {
            let given = self.draft.result(Some(speaker), text, StepStatus::Unknown, None);
            return given.map_err(|reason| format!(": {reason}"));
        }
        // Who opens the conversation passes on the task.
        if i == 0 && known && (self.question.is_empty() || text.contains(&self.question)) {
            self.draft.user(text, Mark::default());
            return Ok(());
        }
        self.spoken(m, text, next, mark)
    }

    fn spoken(&mut self, m: &Value, text: String, next: Option<&Value>, mark: Mark) -> Result<(), String> {
        let Some(read) = message::read(m) else {
            self.say(&text, mark);
            return Ok(());
        };
        let responses = m.get("tool_responses").and_then(Value::as_array).into_iter().flatten();
        let responses = responses.filter_map(message::read).flat_map(|m| m.answers);
        let mut answered = false;
        for answer in responses.chain(read.answers).filter(|a| !a.call_id.is_empty()) {
            let status = crate::formats::status_of(answer.failed);
            let given = self.draft.result(Some(&answer.call_id), answer.text, status, None);
            given.map_err(|reason| format!(".tool_responses: {reason}"))?;
            answered = true;
        }
        if answered || read.role == Role::System {
            return Ok(());
        }
        if let Some((code, printed)) = report(&text) {
            if !self.draft.is_open(CODE) {
                self.draft.call(Some(CODE), "terminal", String::new(), mark)?;
            }
            return self.draft.result(Some(CODE), printed, by_exit_code(code), None);
        }
        let runs =
            next.and_then(|n| n.get("content")).map(content_text).is_some_and(|t| report(&t).is_some());
        if let Some((language, code)) = code_of(&text).filter(|_| runs) {
            self.draft.think(&text, mark.clone());
            return self.draft.call(Some(CODE), &language, code, mark);
        }
        self.draft.say(&text, mark.clone());
        for call in &read.calls {
            let called = self.draft.call(Some(&call.id), &call.name, call.arguments.clone(), mark.clone());
            called.map_err(|reason| format!(".tool_calls: {reason}"))?;
        }
        self.draft.flush();
        Ok(())
    }

    fn say(&mut self, text: &str, mark: Mark) {
        self.draft.say(text, mark);
        self.draft.flush();
    }
}

/// Names the call that code in a message is.
const CODE: &str = "code";

/// What a terminal says of code it ran: its exit code and what was printed.
fn report(text: &str) -> Option<(Option<i64>, String)> {
    let rest = text.trim_start().strip_prefix("exitcode:")?;
    let code = rest.trim_start().split(|c: char| c != '-' && !c.is_ascii_digit()).next();
    let printed = rest.split_once("Code output:").map_or(rest, |(_, printed)| printed);
    Some((code.and_then(|c| c.parse().ok()), printed.trim().to_owned()))
}

/// The blocks of code in a message, with the language of the first.
fn code_of(text: &str) -> Option<(String, String)> {
    let mut language = None;
    let mut code = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        let (name, body) = block.split_once('\n')?;
        let name = name.trim();
        language.get_or_insert_with(|| if name.is_empty() { "python" } else { name }.to_owned());
        code.push(body.trim_end());
    }
    Some((language?, code.join("\n\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_says_how_it_went() {
        let failed = "exitcode: 1 (execution failed)\nCode output: Traceback\nboom";
        assert_eq!(report(failed), Some((Some(1), "Traceback\nboom".to_owned())));
        assert_eq!(
            report("exitcode: 0 (execution succeeded)\nCode output: \n"),
            Some((Some(0), String::new()))
        );
        assert_eq!(report("The exitcode: 1"), None);
    }

    #[test]
    fn code_is_found_in_words() {
        let text = "Count it.\n```python\nprint(1)\n```\nand\n```sh\nls\n```";
        assert_eq!(code_of(text), Some(("python".to_owned(), "print(1)\n\nls".to_owned())));
        assert_eq!(code_of("no code"), None);
        assert_eq!(code_of("``` broken"), None);
    }
}
