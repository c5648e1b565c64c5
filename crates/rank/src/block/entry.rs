//! One memory as content, before any rendering. Every text that is not ours has passed `quote`.

use hindsight_types::MemoryKind;

use super::{Language, words::Key};

pub(crate) struct Entry {
    pub(crate) kind: MemoryKind,
    pub(crate) title: &'static str,
    /// What a fact is about, as its teller calls it; empty for the others.
    pub(crate) intent: String,
    /// State, outcome, evidence: what stands in brackets behind the title.
    pub(crate) notes: Vec<String>,
    pub(crate) age: String,
    /// 0 to 1.
    pub(crate) confidence: f32,
    /// Who said it; empty for what nobody said.
    pub(crate) speaker: String,
    /// Runs or sessions it comes from.
    pub(crate) sources: Vec<String>,
    pub(crate) lines: Vec<(Key, Value)>,
}

pub(crate) enum Value {
    Text(String),
    Texts(Vec<String>),
    Steps(Steps),
}

/// Steps of a run in order, with how many were left out and behind how many of the shown ones.
pub(crate) struct Steps {
    pub(crate) shown: Vec<StepLine>,
    pub(crate) left_out: usize,
    pub(crate) gap: usize,
}

/// One step. Empty parts are not shown.
#[derive(Default)]
pub(crate) struct StepLine {
    /// As the run numbers it.
    pub(crate) index: u32,
    /// Empty for reasoning and a user's words.
    pub(crate) tool: String,
    pub(crate) input: String,
    pub(crate) result: String,
    /// What it was done instead of.
    pub(crate) rejected: String,
    /// Why it was done so.
    pub(crate) because: String,
    /// Verdict on a step that did not help, and its reason.
    pub(crate) verdict: &'static str,
    pub(crate) reason: String,
}

impl Entry {
    /// Adds a text; nothing when it is empty.
    pub(crate) fn text(&mut self, key: Key, text: String) {
        if !text.is_empty() {
            self.lines.push((key, Value::Text(text)));
        }
    }

    /// Adds texts of one kind; nothing without any.
    pub(crate) fn texts(&mut self, key: Key, texts: Vec<String>) {
        if !texts.is_empty() {
            self.lines.push((key, Value::Texts(texts)));
        }
    }

    /// Adds steps; nothing without any.
    pub(crate) fn steps(&mut self, key: Key, steps: Steps) {
        if !steps.shown.is_empty() || steps.left_out > 0 {
            self.lines.push((key, Value::Steps(steps)));
        }
    }

    /// How sure, in words.
    pub(crate) fn sure(&self, language: Language) -> &'static str {
        language.sure(self.confidence)
    }
}
