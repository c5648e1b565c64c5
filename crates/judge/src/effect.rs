//! What a tool call does to the world: reads it, changes it, or only thinks.
//!
//! Nothing here knows a domain. The verb in the tool's name decides, then the verb in its command,
//! method or statement, then what the result says was done.

mod code;
mod shell;
mod verbs;

use hindsight_types::{ActionType, Step};
use serde_json::Value;

/// How a write changes the world; decides what can undo or replace it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteKind {
    /// Brings something new: create, book, send, charge.
    Create,
    /// Puts something into a given state, as a whole: set, scale, configure.
    Put,
    /// Changes something in part; several changes add up: update, edit, apply, deploy.
    Change,
    /// Takes something away: delete, cancel, refund.
    Delete,
    /// Takes back an earlier change: undo, rollback, revert.
    Undo,
    /// Happens and leaves nothing lasting: restart, reload, retry, flush.
    Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    Read,
    Write(WriteKind),
    /// Works on what is known already: think, plan, calculate.
    Think,
    /// Hands in or hands over: submit, finish, escalate. A conclusion in the form of a call.
    Finish,
}

impl Effect {
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write(_))
    }
}

/// Keys under which tools take a command line, a script or a statement.
const COMMAND_KEYS: [&str; 9] =
    ["command", "cmd", "script", "code", "sql", "statement", "bash", "shell", "input"];

/// The effect of a step. Steps that are not tool calls think.
pub fn classify(step: &Step) -> Effect {
    if step.action_type != ActionType::ToolCall {
        return Effect::Think;
    }
    let arguments = serde_json::from_str::<Value>(&step.action_detail).ok();
    classify_call(&step.action_name, &step.action_detail, arguments.as_ref(), &step.observation)
}

/// Whether a step changes anything.
pub fn changes(step: &Step) -> bool {
    classify(step).is_write()
}

pub(crate) fn classify_call(name: &str, detail: &str, arguments: Option<&Value>, result: &str) -> Effect {
    if let Some(effect) = http_method(arguments) {
        return effect;
    }
    let command = command_of(detail, arguments);
    if let Some(command) = verbs::is_runner(name).then(|| command.or_else(|| query_of(arguments))).flatten() {
        if let Some(effect) = code::classify(command) {
            return effect;
        }
        return shell::classify(&with_program(name, command));
    }
    if let Some(effect) = verbs::of_name(name) {
        return effect;
    }
    command.and_then(shell::classify_known).or_else(|| verbs::of_result(result)).unwrap_or(Effect::Read)
}

/// The command line a call runs, if it runs one.
pub(crate) fn command_of<'a>(detail: &'a str, arguments: Option<&'a Value>) -> Option<&'a str> {
    match arguments {
        Some(Value::Object(map)) => COMMAND_KEYS.iter().find_map(|k| map.get(*k)?.as_str()),
        Some(Value::String(s)) => Some(s),
        Some(_) => None,
        None => Some(detail),
    }
}

/// What a tool that runs statements takes as its query; elsewhere a query is a question.
fn query_of(arguments: Option<&Value>) -> Option<&str> {
    arguments?.get("query")?.as_str()
}

fn http_method(arguments: Option<&Value>) -> Option<Effect> {
    let map = arguments?.as_object()?;
    let method = map.get("method").or_else(|| map.get("http_method"))?.as_str()?;
    match method.to_ascii_uppercase().as_str() {
        "GET" | "HEAD" | "OPTIONS" => Some(Effect::Read),
        "POST" => Some(Effect::Write(WriteKind::Create)),
        "PUT" => Some(Effect::Write(WriteKind::Put)),
        "PATCH" => Some(Effect::Write(WriteKind::Change)),
        "DELETE" => Some(Effect::Write(WriteKind::Delete)),
        _ => None,
    }
}

/// What a call is for: the tool, or, where the tool runs commands, the program and its verb.
pub fn purpose(step: &Step) -> String {
    let arguments = serde_json::from_str::<Value>(&step.action_detail).ok();
    match command_of(&step.action_detail, arguments.as_ref()).filter(|_| verbs::is_runner(&step.action_name))
    {
        Some(command) => shell::purpose(&with_program(&step.action_name, command)),
        None => step.action_name.clone(),
    }
}

/// The same with what a command says that its verb is about, as in `kubectl set env`. `is_name`: whether a word names
/// something of the situation.
pub(crate) fn deed(step: &Step, is_name: impl Fn(&str) -> bool) -> String {
    let arguments = serde_json::from_str::<Value>(&step.action_detail).ok();
    match command_of(&step.action_detail, arguments.as_ref()).filter(|_| verbs::is_runner(&step.action_name))
    {
        Some(command) => shell::deed(&with_program(&step.action_name, command), is_name),
        None => step.action_name.clone(),
    }
}

/// The whole command line that a call of a tool which runs commands runs; `None` for other tools.
pub(crate) fn command_line(name: &str, detail: &str, arguments: Option<&Value>) -> Option<String> {
    let command = command_of(detail, arguments).or_else(|| query_of(arguments));
    command.filter(|_| verbs::is_runner(name)).map(|command| with_program(name, command))
}

/// A command with the program before it that its tool stands for.
pub(crate) fn with_program(name: &str, command: &str) -> String {
    let program = verbs::program(name);
    let named = program.is_empty() || command.split_whitespace().next() == Some(program.as_str());
    if named { command.to_owned() } else { format!("{program} {command}") }
}

/// Whether a tool of this name runs the commands that it is given.
pub(crate) fn is_runner(name: &str) -> bool {
    verbs::is_runner(name)
}

/// What one command is for, and what it does; `None`: its verb is not known.
pub(crate) fn of_command(command: &str) -> (String, Option<Effect>) {
    (shell::purpose(command), shell::classify_known(command))
}

/// Whether a call runs a command line.
pub(crate) fn runs_command(name: &str, arguments: Option<&Value>) -> bool {
    let keyed =
        arguments.and_then(Value::as_object).is_some_and(|m| COMMAND_KEYS.iter().any(|k| m.contains_key(*k)));
    keyed || arguments.is_none() || verbs::is_runner(name)
}

/// Whether a lower-case word of a command says what is done and not to what.
pub(crate) fn is_verb(word: &str) -> bool {
    verbs::of_word(word).is_some() || verbs::is_runner(word)
}

/// The words of a tool's name that are not its verb: what it acts on.
pub(crate) fn nouns(name: &str) -> Vec<String> {
    verbs::words(name).into_iter().filter(|w| verbs::of_word(w).is_none()).collect()
}

#[cfg(test)]
mod tests;
