//! One memory as an entry: what, why, how sure, how old, from where.

use hindsight_types::{
    Attachment, Environment, Experience, Fact, FactStatus, FailurePattern, Lesson, Memory, OutcomeStatus,
    ScoreFactors, Stage, StepMemory, Timestamp,
};

use super::{
    Language, calls,
    entry::{Entry, StepLine, Steps, Value},
    quote,
    run::{self, BRIEF, DEPTHS, Depth},
    why::why,
    words::Key,
};
use crate::{Request, factors};

/// Characters of a text that is the substance of an item.
pub(super) const LONG: usize = 600;
/// Characters of a supporting text.
pub(super) const SHORT: usize = 200;
/// Characters of a name or id.
pub(super) const NAME: usize = 64;
/// Sources and replaced statements named.
const NAMED: usize = 3;

pub(crate) struct Item<'a> {
    memory: &'a Memory,
    factors: &'a ScoreFactors,
    /// Older statements that it replaces.
    replaced: &'a [&'a Memory],
    request: &'a Request<'a>,
    language: Language,
    why: String,
}

impl<'a> Item<'a> {
    pub(crate) fn new(
        memory: &'a Memory,
        factors: &'a ScoreFactors,
        replaced: &'a [&'a Memory],
        request: &'a Request<'a>,
    ) -> Self {
        let item = Self::because(memory, factors, replaced, request, String::new());
        Self { why: why(memory, factors, request.query, item.language), ..item }
    }

    /// For another reason than what it has in common with the question.
    pub(crate) fn because(
        memory: &'a Memory,
        factors: &'a ScoreFactors,
        replaced: &'a [&'a Memory],
        request: &'a Request<'a>,
        why: String,
    ) -> Self {
        let language = request.style.language.unwrap_or_else(|| Language::of(request.query));
        Self { memory, factors, replaced, request, language, why }
    }

    /// Why the memory was chosen, in words.
    pub(crate) fn why(&self) -> String {
        self.why.clone()
    }

    /// What may be shown, the richest first. A run loses whole steps from one form to the next; the others have
    /// one form.
    pub(super) fn forms(&self, detailed: bool) -> impl DoubleEndedIterator<Item = Entry> {
        let depths = match self.memory {
            Memory::Experience(_) if detailed => &DEPTHS[..],
            Memory::Experience(_) => &DEPTHS[BRIEF..],
            _ => &DEPTHS[DEPTHS.len() - 1..],
        };
        depths.iter().map(|depth| self.entry(depth))
    }

    fn entry(&self, depth: &Depth) -> Entry {
        let confidence = self.factors.reliability * self.factors.trust;
        let mut entry = Entry {
            kind: self.memory.kind(),
            title: "",
            intent: String::new(),
            notes: Vec::new(),
            age: self.language.age(factors::age_days(self.memory, self.request.now)),
            confidence: if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 0.0 },
            speaker: String::new(),
            sources: Vec::new(),
            lines: Vec::new(),
        };
        match self.memory {
            Memory::Fact(m) => self.fact(m, &mut entry),
            Memory::Experience(m) => self.experience(m, depth, &mut entry),
            Memory::Lesson(m) => self.lesson(m, &mut entry),
            Memory::FailurePattern(m) => self.failure(m, &mut entry),
            Memory::Step(m) => self.step(m, &mut entry),
        }
        let replaced = self.replaced.iter().take(NAMED).map(|older| {
            let age = date(factors::supported_at(older));
            self.language.in_brackets(&quote(&older.text(), SHORT), &age)
        });
        entry.texts(Key::Replaces, replaced.collect());
        entry.text(Key::Why, self.why.clone());
        entry
    }

    fn fact(&self, fact: &Fact, entry: &mut Entry) {
        let l = self.language;
        entry.title = l.pick("Fact", "事实");
        entry.age = l.in_brackets(&entry.age, &date(fact.occurred_at));
        entry.intent = quote(&fact.intent, NAME);
        entry.notes.extend(l.fact_type(fact.fact_type).map(str::to_owned));
        match fact.status {
            FactStatus::Open => (),
            FactStatus::Resolved => entry.notes.push(l.pick("settled", "已了结").to_owned()),
            FactStatus::Obsolete => entry.notes.push(l.pick("no longer holds", "已失效").to_owned()),
        }
        entry.notes.extend(fact.expires_at.map(|end| l.until(&date(end))));
        let user = fact.scope.user().map_or("", |u| u.as_str());
        entry.speaker = quote(if fact.speaker.trim().is_empty() { user } else { &fact.speaker }, NAME);
        entry.sources = sources(fact.session.iter().map(|s| s.as_str()));
        entry.text(Key::What, quote(&fact.content, LONG));
        entry.texts(Key::Attached, fact.attachments.iter().map(|a| self.attached(a)).collect());
    }

    fn attached(&self, attachment: &Attachment) -> String {
        let Attachment { uri, media_type, caption } = attachment;
        let (mut shown, media_type) = (quote(caption, SHORT), quote(media_type, NAME));
        if !media_type.is_empty() {
            shown = self.language.in_brackets(&shown, &media_type);
        }
        format!("{shown} {}", quote(uri, LONG)).trim().to_owned()
    }

    fn experience(&self, experience: &Experience, depth: &Depth, entry: &mut Entry) {
        let l = self.language;
        let outcome = experience.evaluation.outcome;
        if outcome == OutcomeStatus::Failure {
            entry.title = l.pick("Failed attempt", "失败的尝试");
        } else {
            entry.title = l.pick("Experience", "经验");
            entry.notes.push(l.outcome(outcome).to_owned());
        }
        let evidence = factors::best_evidence(experience);
        entry.notes.extend(evidence.map(|e| l.evidence(e).to_owned()));
        entry.sources = sources([experience.trajectory.trace_id.as_str()].into_iter());
        run::describe(experience, depth, l, entry);
        let mut cautions = run::cautions(experience, l);
        cautions.extend(self.elsewhere(&experience.trajectory.environment));
        entry.texts(Key::Caution, cautions);
    }

    fn lesson(&self, lesson: &Lesson, entry: &mut Entry) {
        let l = self.language;
        entry.title = l.pick("Lesson", "教训");
        match lesson.stage {
            Stage::Candidate => entry.notes.push(l.pick("not proven yet", "尚未验证").to_owned()),
            Stage::Canary => entry.notes.push(l.pick("on trial", "试用中").to_owned()),
            Stage::Active => (),
            Stage::Retired => entry.notes.push(l.pick("withdrawn", "已撤回").to_owned()),
        }
        if lesson.supported.saturating_add(lesson.refuted) > 1 {
            entry.notes.push(l.held(lesson.supported, lesson.refuted));
        }
        entry.sources = sources(lesson.sources.iter().map(|s| s.as_str()));
        entry.text(Key::When, quote(&lesson.situation, LONG));
        entry.text(Key::Do, quote(&lesson.advice, LONG));
        entry.text(Key::Applies, quote(&lesson.applicability, SHORT));
        entry.text(Key::Basis, self.basis(lesson));
        entry.text(Key::Result, quote(&lesson.result, SHORT));
        entry.texts(Key::Caution, self.elsewhere(&lesson.environment).into_iter().collect());
    }

    /// What the advice rests on. What was chosen is left out when the advice already says it.
    fn basis(&self, lesson: &Lesson) -> String {
        let basis = &lesson.basis;
        let chosen = Some(quote(&basis.chosen, SHORT)).filter(|_| !lesson.advice.contains(&basis.chosen));
        let reason =
            self.language.reason(&quote(&basis.rejected.join(", "), SHORT), &quote(&basis.rationale, SHORT));
        let parts = [chosen.unwrap_or_default(), reason];
        let told: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        told.join(self.language.comma())
    }

    fn failure(&self, pattern: &FailurePattern, entry: &mut Entry) {
        let l = self.language;
        entry.title = l.pick("Known failure", "已知故障");
        entry.notes.push(l.seen(pattern.sources.len()));
        entry.sources = sources(pattern.sources.iter().map(|s| s.as_str()));
        entry.text(Key::Tool, quote(&pattern.action_name, NAME));
        entry.text(Key::Arguments, quote(&calls::plain(&pattern.action_detail), SHORT));
        entry.text(Key::Error, quote(&pattern.example, SHORT));
        if !pattern.example.contains(pattern.cause.trim()) {
            entry.text(Key::Cause, quote(&pattern.cause, SHORT));
        }
        entry.text(Key::Instead, quote(&pattern.suggestion, LONG));
        entry.texts(Key::Caution, self.elsewhere(&pattern.environment).into_iter().collect());
    }

    fn step(&self, step: &StepMemory, entry: &mut Entry) {
        let l = self.language;
        entry.title = l.pick("Step of a run", "运行步骤");
        let told = [l.verdict(step.label), l.pick("run: ", "运行："), l.outcome(step.outcome)];
        entry.notes = vec![told[0].to_owned(), told[1..].concat()];
        entry.sources = sources([step.trace_id.as_str()].into_iter());
        let line = StepLine {
            index: step.step_index,
            tool: quote(&step.action_name, NAME),
            input: quote(&step.text, LONG),
            ..StepLine::default()
        };
        entry.lines.push((Key::What, Value::Steps(Steps { shown: vec![line], left_out: 0, gap: 1 })));
    }

    fn elsewhere(&self, there: &Environment) -> Option<String> {
        let tags = |e: &Environment| quote(&e.tags.join(", "), SHORT);
        factors::is_elsewhere(self.memory, self.request.environment)
            .then(|| self.language.elsewhere(&tags(there), &tags(self.request.environment)))
    }
}

/// The latest few.
fn sources<'a>(ids: impl DoubleEndedIterator<Item = &'a str>) -> Vec<String> {
    ids.rev().take(NAMED).map(|id| quote(id, NAME)).collect()
}

fn date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}
