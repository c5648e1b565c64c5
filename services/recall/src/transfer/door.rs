//! The door for records from elsewhere: freed of secrets and held to the limits, as what agents send is.

use hindsight_ingest::{redact, validate};
use hindsight_types::{
    Archived, Evaluation, EvaluationState, Experience, FieldError, Invalid, Lesson, Memory, MemoryId,
    Receipt, RecordBody, TenantId, limits,
};

/// Longest list in a record that is not of a run, in entries.
const ENTRIES: usize = 1_000;

/// The record as it may be written.
pub(super) fn admit(tenant: &TenantId, mut record: RecordBody) -> Result<RecordBody, Invalid> {
    match &mut record {
        RecordBody::Event(event) => {
            redact::event(event);
            validate::event(event)?;
        }
        RecordBody::Memory(memory) => admit_memory(tenant, memory)?,
        RecordBody::Version(version) => admit_memory(tenant, &mut version.0)?,
        RecordBody::Archived(archived) => {
            let Archived { memory, why, .. } = &mut **archived;
            admit_memory(tenant, memory)?;
            Texts::default().add("why", why).finish()?;
        }
        RecordBody::Evaluation(record) => {
            let mut texts = Texts::default();
            if let EvaluationState::Waiting { reason }
            | EvaluationState::Skipped { reason }
            | EvaluationState::Failed { reason } = &mut record.state
            {
                texts.add("reason", reason);
            }
            texts.finish()?;
        }
        RecordBody::FormerVerdicts(former) => {
            let mut texts = Texts::default();
            former.verdicts.iter_mut().for_each(|verdict| evaluation(&mut texts, verdict));
            texts.finish()?;
        }
        RecordBody::Receipt(receipt) => self::receipt(receipt)?,
        RecordBody::Feedback(feedback) => Texts::default().add("note", &mut feedback.note).finish()?,
        RecordBody::Review(review) => Texts::default().add("reason", &mut review.reason).finish()?,
        RecordBody::Evidence(_) | RecordBody::OpenTask(_) | RecordBody::Forgotten(_) => {}
        RecordBody::Reevaluation(_)
        | RecordBody::CompactionRun(_)
        | RecordBody::CompactionTask(_)
        | RecordBody::SubjectMerge(_)
        | RecordBody::Moved(_)
        | RecordBody::Forgetting(_) => {
            return Err(Invalid::new("body", "is work that is under way elsewhere; leave it out"));
        }
    }
    Ok(record)
}

fn admit_memory(tenant: &TenantId, memory: &mut Memory) -> Result<(), Invalid> {
    match memory {
        Memory::Fact(fact) => {
            redact::fact(fact);
            validate::fact(fact)
        }
        Memory::Experience(experience) => self::experience(tenant, experience),
        Memory::Lesson(lesson) => self::lesson(lesson),
        Memory::FailurePattern(pattern) => Texts::default()
            .add("example", &mut pattern.example)
            .add("action_detail", &mut pattern.action_detail)
            .add("cause", &mut pattern.cause)
            .add("suggestion", &mut pattern.suggestion)
            .count("sources", pattern.sources.len())
            .finish(),
        Memory::Step(step) => {
            if step.id != MemoryId::step(tenant, &step.trace_id, step.step_index) {
                return Err(Invalid::new("memory_id", "is not that of this step of this run"));
            }
            Texts::default().add("text", &mut step.text).finish()
        }
    }
}

fn experience(tenant: &TenantId, experience: &mut Experience) -> Result<(), Invalid> {
    let run = &mut experience.trajectory;
    if experience.id != MemoryId::experience(tenant, &run.trace_id) {
        return Err(Invalid::new("memory_id", "is not that of this run"));
    }
    redact::trajectory(run);
    validate::trajectory(run)?;
    let mut texts = Texts::default();
    evaluation(&mut texts, &mut experience.evaluation);
    texts.count("entities", experience.entities.len());
    texts.finish()
}

fn lesson(lesson: &mut Lesson) -> Result<(), Invalid> {
    let mut texts = Texts::default();
    texts
        .add("situation", &mut lesson.situation)
        .add("advice", &mut lesson.advice)
        .add("applicability", &mut lesson.applicability)
        .add("result", &mut lesson.result)
        .add("basis.chosen", &mut lesson.basis.chosen)
        .add("basis.rationale", &mut lesson.basis.rationale);
    lesson.basis.rejected.iter_mut().for_each(|text| {
        texts.add("basis.rejected", text);
    });
    texts.count("sources", lesson.sources.len()).count("entities", lesson.entities.len()).finish()
}

fn evaluation(texts: &mut Texts, verdict: &mut Evaluation) {
    texts.add("evaluation.summary", &mut verdict.summary);
    for step in &mut verdict.steps {
        texts.add("evaluation.steps.rationale", &mut step.rationale);
        step.votes.iter_mut().for_each(|vote| {
            texts.add("evaluation.steps.votes.rationale", &mut vote.rationale);
        });
    }
    for text in &mut verdict.contradictions {
        texts.add("evaluation.contradictions", text);
    }
    for evidence in &mut verdict.outcome_evidence {
        texts.add("evaluation.outcome_evidence.detail", &mut evidence.detail);
    }
    for rejected in &mut verdict.rejected_lessons {
        texts.add("evaluation.rejected_lessons.text", &mut rejected.text);
        texts.add("evaluation.rejected_lessons.reason", &mut rejected.reason);
    }
    if verdict.steps.len() > limits::STEPS {
        texts.problem("evaluation.steps", format!("are more than the {} accepted", limits::STEPS));
    }
}

fn receipt(receipt: &mut Receipt) -> Result<(), Invalid> {
    let mut texts = Texts::default();
    texts.add("query", &mut receipt.query).add("empty_reason", &mut receipt.empty_reason);
    for item in &mut receipt.injected {
        texts.add("injected.why", &mut item.why);
    }
    texts.count("injected", receipt.injected.len()).count("withheld", receipt.withheld.len()).finish()
}

/// Texts on their way in, with what is wrong with them.
#[derive(Debug, Default)]
struct Texts {
    problems: Vec<FieldError>,
}

impl Texts {
    fn add(&mut self, field: &str, text: &mut String) -> &mut Self {
        if text.len() > limits::TEXT_BYTES {
            let problem =
                format!("is {} bytes long; at most {} are accepted", text.len(), limits::TEXT_BYTES);
            self.problem(field, problem);
        } else if let std::borrow::Cow::Owned(clean) = redact::text(text) {
            *text = clean;
        }
        self
    }

    fn count(&mut self, field: &str, entries: usize) -> &mut Self {
        if entries > ENTRIES {
            self.problem(field, format!("has {entries} entries; at most {ENTRIES} are accepted"));
        }
        self
    }

    fn problem(&mut self, field: &str, problem: String) {
        // One of each is enough to say what is wrong.
        if !self.problems.iter().any(|known| known.field == field) {
            self.problems.push(FieldError { field: field.to_owned(), problem });
        }
    }

    fn finish(&mut self) -> Result<(), Invalid> {
        Invalid::check(std::mem::take(&mut self.problems))
    }
}
