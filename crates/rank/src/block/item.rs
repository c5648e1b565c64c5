//! One memory as lines of the block: what, why, how sure, how old, from where.

use std::collections::BTreeSet;

use hindsight_text::{Kind, tokenize};
use hindsight_types::{
    Environment, Experience, Fact, FactStatus, FailurePattern, Lesson, Memory, ScoreFactors, Stage,
    StepMemory,
};

use super::{Labels, code, quote, run};
use crate::{Request, factors, similarity::read};

/// Characters of a text that is the substance of an item.
const LONG: usize = 600;
/// Characters of a supporting text.
const SHORT: usize = 200;
/// Characters of a name or id.
const NAME: usize = 64;
/// Words named in the reason.
const SHARED_WORDS: usize = 6;

pub(crate) struct Item<'a> {
    memory: &'a Memory,
    factors: &'a ScoreFactors,
    request: &'a Request<'a>,
    labels: &'static Labels,
    why: String,
}

impl<'a> Item<'a> {
    pub(crate) fn new(memory: &'a Memory, factors: &'a ScoreFactors, request: &'a Request<'a>) -> Self {
        let labels = Labels::of(request.query);
        let shared = shared_words(request.query, &read(&memory.indexed_text()));
        let why = format!("{}; {}", labels.shares(&shared), labels.similarity(factors.similarity));
        Self { memory, factors, request, labels, why }
    }

    /// Why the memory was chosen, in words.
    pub(crate) fn why(&self) -> String {
        self.why.clone()
    }

    pub(crate) fn detailed(&self) -> String {
        self.render(true)
    }

    pub(crate) fn brief(&self) -> String {
        self.render(false)
    }

    fn render(&self, detailed: bool) -> String {
        let mut lines = Lines { labels: self.labels, text: String::new() };
        let (title, source) = match self.memory {
            Memory::Fact(m) => self.fact(m, &mut lines),
            Memory::Experience(m) => self.experience(m, detailed, &mut lines),
            Memory::Lesson(m) => self.lesson(m, &mut lines),
            Memory::FailurePattern(m) => self.failure(m, &mut lines),
            Memory::Step(m) => self.step(m, &mut lines),
        };
        lines.add(self.labels.why, &self.why);
        let sure = self.factors.reliability * self.factors.trust;
        let age = self.labels.age(factors::age_days(self.memory, self.request.now));
        let Labels { sure: sure_label, from, .. } = self.labels;
        format!("{title} · {age} · {sure_label} {sure:.2} · {from} {source}\n{}", lines.text)
    }

    fn fact(&self, fact: &Fact, lines: &mut Lines) -> (String, String) {
        lines.add(self.labels.what, &quote(&fact.content, LONG));
        lines.add(self.labels.date, &fact.occurred_at.strftime("%Y-%m-%d").to_string());
        let settled = fact.status == FactStatus::Resolved;
        let title = if settled {
            format!("{} ({})", self.labels.fact, self.labels.settled)
        } else {
            self.labels.fact.to_owned()
        };
        let user = fact.scope.user().map_or("", |u| u.as_str());
        let speaker = if fact.speaker.trim().is_empty() { user } else { &fact.speaker };
        let session =
            fact.session.as_ref().map(|s| format!(", {}", code(s.as_str(), NAME))).unwrap_or_default();
        (title, format!("{}{session}", code(speaker, NAME)))
    }

    fn experience(&self, experience: &Experience, detailed: bool, lines: &mut Lines) -> (String, String) {
        let evidence = factors::best_evidence(experience).map(|e| format!(", {}", self.labels.evidence(e)));
        let title = format!(
            "{} ({}{})",
            self.labels.experience,
            self.labels.outcome(experience.evaluation.outcome),
            evidence.unwrap_or_default()
        );
        run::lines(experience, detailed, lines);
        self.environment(&experience.trajectory.environment, lines);
        (title, code(experience.trajectory.trace_id.as_str(), NAME))
    }

    fn lesson(&self, lesson: &Lesson, lines: &mut Lines) -> (String, String) {
        let l = self.labels;
        lines.add(l.situation, &quote(&lesson.situation, LONG));
        lines.add(l.advice, &quote(&lesson.advice, LONG));
        let basis = &lesson.basis;
        if !basis.chosen.is_empty() {
            let rejected = basis.rejected.join(", ");
            let mut text = quote(&basis.chosen, SHORT);
            for (word, part) in [(l.instead_of, &rejected), (l.because, &basis.rationale)] {
                if !part.is_empty() {
                    text.push_str(&format!(" {word} {}", quote(part, SHORT)));
                }
            }
            lines.add(l.basis, &text);
        }
        lines.add(l.result, &quote(&lesson.result, SHORT));
        self.environment(&lesson.environment, lines);
        let unproven = matches!(lesson.stage, Stage::Candidate | Stage::Canary);
        let title = if unproven { format!("{} ({})", l.lesson, l.unproven) } else { l.lesson.to_owned() };
        (title, sources(lesson.sources.iter().map(|s| s.as_str())))
    }

    fn failure(&self, pattern: &FailurePattern, lines: &mut Lines) -> (String, String) {
        let l = self.labels;
        lines.add(l.what, &code(&pattern.action_name, NAME));
        lines.add(l.error, &quote(&pattern.example, SHORT));
        lines.add(l.arguments, &quote(&pattern.action_detail, SHORT));
        lines.add(l.cause, &quote(&pattern.cause, SHORT));
        lines.add(l.instead, &quote(&pattern.suggestion, LONG));
        self.environment(&pattern.environment, lines);
        let title = format!("{} ({})", l.failure, l.seen(pattern.sources.len()));
        (title, sources(pattern.sources.iter().map(|s| s.as_str())))
    }

    fn step(&self, step: &StepMemory, lines: &mut Lines) -> (String, String) {
        lines
            .add(self.labels.what, &format!("{} {}", code(&step.action_name, NAME), quote(&step.text, LONG)));
        let title = format!(
            "{} ({}, {})",
            self.labels.step,
            self.labels.step_label(step.label),
            self.labels.outcome(step.outcome)
        );
        (title, format!("{} #{}", code(step.trace_id.as_str(), NAME), step.step_index))
    }

    fn environment(&self, there: &Environment, lines: &mut Lines) {
        if factors::is_elsewhere(self.memory, self.request.environment) {
            let tags = |e: &Environment| quote(&e.tags.join(", "), SHORT);
            let caution = self.labels.elsewhere(&tags(there), &tags(self.request.environment));
            lines.add(self.labels.caution, &caution);
        }
    }
}

/// The latest three.
fn sources<'a>(traces: impl DoubleEndedIterator<Item = &'a str>) -> String {
    let latest: Vec<String> = traces.rev().take(3).map(|t| code(t, NAME)).collect();
    if latest.is_empty() { "?".to_owned() } else { latest.join(", ") }
}

/// Lines of one item. Every one begins with a label of ours.
pub(crate) struct Lines {
    pub(crate) labels: &'static Labels,
    text: String,
}

impl Lines {
    /// `- label: text`; nothing when there is no text.
    pub(crate) fn add(&mut self, label: &str, text: &str) {
        if !text.is_empty() {
            self.text.push_str(&format!("- {label}{}{text}\n", self.labels.colon));
        }
    }

    /// `- label:`, with `points` below it; nothing without points.
    pub(crate) fn list(&mut self, label: &str, points: &[String]) {
        if !points.is_empty() {
            self.text.push_str(&format!("- {label}{}\n", self.labels.colon.trim_end()));
            points.iter().for_each(|point| self.text.push_str(&format!("  {point}\n")));
        }
    }
}

/// The words of the query that the memory holds, as the query writes them.
fn shared_words(query: &str, memory: &BTreeSet<String>) -> Vec<String> {
    let mut words = Vec::new();
    for chunk in query.split_whitespace() {
        let tokens = tokenize(chunk);
        let unspaced = |kind| matches!(kind, Kind::Han | Kind::Bigram);
        let (han, spaced): (Vec<_>, Vec<_>) = tokens.into_iter().partition(|t| unspaced(t.kind));
        let trimmed = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        if han.is_empty() && spaced.iter().any(|t| memory.contains(&t.text)) {
            words.push(quote(trimmed, NAME));
        }
        let han = han.into_iter().filter(|t| t.kind == Kind::Han && memory.contains(&t.text));
        words.extend(han.map(|t| quote(&t.text, NAME)));
    }
    let mut seen = BTreeSet::new();
    words.retain(|w| !w.is_empty() && seen.insert(w.to_lowercase()));
    words.truncate(SHARED_WORDS);
    words
}
