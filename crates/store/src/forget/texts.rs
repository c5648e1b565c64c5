//! What records say in their subject's words. Names and ids are left out: others may have them, too.

use hindsight_codec::{RecordBody, record_from_proto};
use hindsight_types::{
    Decision, Evaluation, Event, EventBody, Fact, FormerVerdicts, Lesson, Memory, Step, Trajectory,
};
use prost::Message as _;
use qdrant_client::qdrant::RetrievedPoint;

use crate::{field, point};

/// Steps of a run whose words are taken.
const STEPS: usize = 64;

/// The texts of the record of a point; none of one that cannot be read.
pub(super) fn of(point: &RetrievedPoint) -> Vec<String> {
    let mut texts = record(point).map(|body| of_body(&body)).unwrap_or_default();
    texts.retain(|text| !text.trim().is_empty());
    texts
}

/// The memory of a point, archived or not.
pub(super) fn memory(point: &RetrievedPoint) -> Option<Memory> {
    match record(point)? {
        RecordBody::Memory(memory) => Some(memory),
        RecordBody::Archived(archived) => Some(archived.memory),
        _ => None,
    }
}

/// The memory of a point as it was before.
pub(super) fn version(point: &RetrievedPoint) -> Option<Memory> {
    match record(point)? {
        RecordBody::Version(version) => Some(version.0),
        _ => None,
    }
}

fn record(point: &RetrievedPoint) -> Option<RecordBody> {
    let bytes = bytes(point)?;
    let message = hindsight_proto::storage::v1::Record::decode(bytes.as_slice()).ok()?;
    Some(record_from_proto(message).ok()?.0)
}

/// The record as it was encoded.
pub(super) fn bytes(point: &RetrievedPoint) -> Option<Vec<u8>> {
    point::record_bytes(point::text(&point.payload, field::RECORD)?).ok()
}

fn of_body(body: &RecordBody) -> Vec<String> {
    match body {
        RecordBody::Event(event) => of_event(event),
        RecordBody::Memory(memory) => of_memory(memory),
        RecordBody::Version(version) => of_memory(&version.0),
        RecordBody::Archived(archived) => of_memory(&archived.memory),
        RecordBody::Receipt(receipt) => vec![receipt.query.clone()],
        RecordBody::Feedback(feedback) => vec![feedback.note.clone()],
        RecordBody::FormerVerdicts(FormerVerdicts { verdicts, .. }) => {
            verdicts.iter().flat_map(of_evaluation).collect()
        }
        _ => Vec::new(),
    }
}

fn of_event(event: &Event) -> Vec<String> {
    match &event.body {
        EventBody::Started(started) => vec![started.goal.clone()],
        EventBody::Step(step) => of_step(step),
        EventBody::Completed(completed) => vec![completed.outcome.conclusion.clone()],
        EventBody::Span(span) => {
            let mut texts = vec![span.task.goal.clone(), span.outcome.conclusion.clone()];
            texts.extend(span.steps.iter().flat_map(|s| of_step(&s.step)));
            texts
        }
    }
}

fn of_memory(memory: &Memory) -> Vec<String> {
    match memory {
        Memory::Fact(Fact { content, original, context, surroundings, .. }) => {
            vec![content.clone(), original.clone(), context.clone(), surroundings.clone()]
        }
        Memory::Experience(experience) => {
            let mut texts = of_run(&experience.trajectory);
            texts.extend(of_evaluation(&experience.evaluation));
            texts
        }
        Memory::Lesson(Lesson { situation, advice, applicability, result, basis, .. }) => {
            let mut texts = vec![situation.clone(), advice.clone(), applicability.clone(), result.clone()];
            texts.extend(of_decision(basis));
            texts
        }
        Memory::FailurePattern(p) => {
            vec![p.example.clone(), p.action_detail.clone(), p.cause.clone(), p.suggestion.clone()]
        }
        Memory::Step(step) => vec![step.text.clone()],
    }
}

fn of_run(run: &Trajectory) -> Vec<String> {
    let mut texts = vec![run.task_description.clone(), run.outcome.conclusion.clone()];
    texts.extend(run.steps.iter().take(STEPS).flat_map(of_step));
    texts
}

fn of_step(step: &Step) -> Vec<String> {
    let mut texts = vec![step.action_detail.clone(), step.observation.clone(), step.reflection.clone()];
    texts.extend(step.decision.iter().flat_map(of_decision));
    texts
}

fn of_decision(decision: &Decision) -> Vec<String> {
    let mut texts = vec![decision.chosen.clone(), decision.rationale.clone()];
    texts.extend(decision.rejected.iter().cloned());
    texts
}

fn of_evaluation(evaluation: &Evaluation) -> Vec<String> {
    let rejected = evaluation.rejected_lessons.iter().map(|r| r.text.clone());
    std::iter::once(evaluation.summary.clone()).chain(rejected).collect()
}
