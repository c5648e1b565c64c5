//! The formats that are read, one file each.

mod atif;
mod autogen;
mod claude_code;
mod codex;
mod hindsight;
mod langchain;
mod langfuse;
mod langsmith;
mod openai;
mod openai_agents;
mod react;
mod swe_agent;

use std::collections::VecDeque;

use hindsight_types::Trajectory;
use serde_json::Value;

use crate::{Options, RecordError, UnderWay};

/// Every format, in the order in which a record is offered to them.
pub static FORMATS: [&dyn Format; 12] = [
    &hindsight::Hindsight,
    &atif::Atif,
    &swe_agent::SweAgent,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &openai_agents::OpenAiAgents,
    &langchain::LangChain,
    &langsmith::LangSmith,
    &langfuse::Langfuse,
    &autogen::AutoGen,
    &openai::OpenAi,
    &react::React,
];

/// A way in which runs are recorded.
pub trait Format: Send + Sync {
    /// As named on the command line.
    fn name(&self) -> &'static str;

    /// Whether a record of the input looks like one of this format and of no other.
    fn recognises(&self, record: &Value) -> bool;

    fn reader(&self, options: &Options) -> Box<dyn Reader>;

    /// Whether its records are lines of text instead of JSON values; each comes as a string then.
    fn is_text(&self) -> bool {
        false
    }
}

/// The format of this name.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|f| f.name() == name)
}

/// One JSON value of the input.
#[derive(Debug)]
pub struct Record {
    pub line: u64,
    pub element: Option<u64>,
    /// Elements of one array share a group.
    pub group: u64,
    pub value: Value,
}

impl Record {
    pub(crate) fn error(&self, reason: impl Into<String>) -> RecordError {
        RecordError { line: self.line, element: self.element, reason: reason.into() }
    }
}

/// Where finished runs and unusable records go.
pub type Sink = VecDeque<Result<Trajectory, RecordError>>;

/// Reads the records of one input, in order.
pub trait Reader: Send {
    fn push(&mut self, record: Record, sink: &mut Sink);

    /// The input ended: gives what was still being put together.
    fn finish(&mut self, sink: &mut Sink);

    /// The runs that are being put together, as far as they can be told by now.
    fn under_way(&self) -> Vec<UnderWay> {
        Vec::new()
    }
}

/// Whether a line of text, which is not JSON, looks like one of a format of text.
pub(crate) fn is_text(line: &str) -> bool {
    FORMATS.into_iter().any(|f| f.is_text() && f.recognises(&Value::String(line.to_owned())))
}

/// Whether a tool says itself how it went. Text is not read here: that is done where all runs are judged.
pub(crate) fn status_of(is_error: Option<bool>) -> hindsight_types::StepStatus {
    use hindsight_types::StepStatus;
    match is_error {
        Some(true) => StepStatus::Error,
        Some(false) => StepStatus::Ok,
        None => StepStatus::Unknown,
    }
}
