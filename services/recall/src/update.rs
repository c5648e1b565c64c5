//! A change of a fact or a lesson by hand: checked, freed of secrets, applied to what is stored.

use hindsight_codec::{
    attachment_from_proto, fact_status_from_proto, fact_type_from_proto, optional_time_from_proto,
};
use hindsight_ingest::{entities, redact, retain::summarise, validate};
use hindsight_proto::common::v1::{self as pb, memory::Kind};
use hindsight_types::{
    Attachment, Fact, FactStatus, FactType, FieldError, Invalid, Lesson, Memory, Timestamp, limits,
};

use crate::ask::note;

/// New values of fields, each named in the mask.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update {
    Fact(Vec<FactField>),
    Lesson(Vec<LessonField>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FactField {
    Content(String),
    Status(FactStatus),
    Confidence(f32),
    ExpiresAt(Option<Timestamp>),
    Intent(String),
    Entities(Vec<String>),
    Type(FactType),
    Attachments(Vec<Attachment>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LessonField {
    Situation(String),
    Advice(String),
    Applicability(String),
}

const FACT_FIELDS: &str =
    "content, status, confidence, expires_at, intent, entities, type or attachments of a fact";
const LESSON_FIELDS: &str = "situation, advice or applicability of a lesson";

impl Update {
    /// The fields of `memory` that `paths` name.
    pub(crate) fn new(memory: Option<pb::Memory>, paths: &[String]) -> Result<Self, Invalid> {
        if paths.is_empty() {
            let problem = format!("is required: name what changes, {FACT_FIELDS}, {LESSON_FIELDS}");
            return Err(Invalid::new("update_mask", problem));
        }
        let mut wrong = Vec::new();
        let update = match memory.and_then(|m| m.kind) {
            Some(Kind::Fact(f)) => Self::Fact(fields(paths, &mut wrong, |path| fact_field(&f, path))),
            Some(Kind::Lesson(l)) => Self::Lesson(fields(paths, &mut wrong, |path| lesson_field(&l, path))),
            Some(_) => return Err(Invalid::new("memory", "only facts and lessons are changed by hand")),
            None => {
                return Err(Invalid::new("memory", "is required: a fact or a lesson with the new values"));
            }
        };
        Invalid::check(wrong)?;
        Ok(update)
    }

    /// `stored` with the new values. The same twice changes nothing the second time.
    pub(crate) fn apply(&self, stored: &Memory, at: Timestamp) -> Result<Memory, Invalid> {
        match (self, stored) {
            (Self::Fact(fields), Memory::Fact(fact)) => Ok(Memory::Fact(changed_fact(fact, fields, at)?)),
            (Self::Lesson(fields), Memory::Lesson(lesson)) => {
                Ok(Memory::Lesson(changed_lesson(lesson, fields)?))
            }
            _ => Err(Invalid::new("memory", "is of another kind than the memory of this id")),
        }
    }
}

fn fields<T>(
    paths: &[String],
    wrong: &mut Vec<FieldError>,
    field: impl Fn(&str) -> Result<T, Invalid>,
) -> Vec<T> {
    // A mask of a hostile length must not make a hostile answer.
    paths.iter().take(limits::TAGS).filter_map(|path| note(wrong, field(path))).collect()
}

fn unknown(path: &str, known: &str) -> Invalid {
    let shown = hindsight_text::truncate_chars(path, limits::ID_BYTES);
    Invalid::new("update_mask", format!("`{shown}` cannot be changed; name {known}"))
}

fn fact_field(f: &pb::Fact, path: &str) -> Result<FactField, Invalid> {
    let field = match path {
        "content" => FactField::Content(f.content.clone()),
        "status" => FactField::Status(fact_status_from_proto(f.status)?),
        "confidence" => FactField::Confidence(f.confidence),
        "expires_at" => FactField::ExpiresAt(optional_time_from_proto("expires_at", f.expires_at)?),
        "intent" => FactField::Intent(f.intent.clone()),
        "entities" => FactField::Entities(f.entities.clone()),
        "type" => FactField::Type(fact_type_from_proto(f.r#type)?),
        "attachments" => {
            FactField::Attachments(f.attachments.iter().cloned().map(attachment_from_proto).collect())
        }
        other => return Err(unknown(other, FACT_FIELDS)),
    };
    Ok(field)
}

fn lesson_field(l: &pb::Lesson, path: &str) -> Result<LessonField, Invalid> {
    let field = match path {
        "situation" => LessonField::Situation(l.situation.clone()),
        "advice" => LessonField::Advice(l.advice.clone()),
        "applicability" => LessonField::Applicability(l.applicability.clone()),
        other => return Err(unknown(other, LESSON_FIELDS)),
    };
    Ok(field)
}

fn changed_fact(stored: &Fact, fields: &[FactField], at: Timestamp) -> Result<Fact, Invalid> {
    let mut fact = stored.clone();
    let (mut said, mut named) = (false, false);
    for field in fields {
        match field.clone() {
            FactField::Content(content) => {
                // What it was a summary of is corrected with it.
                (fact.content, fact.original) = (content, String::new());
                said = true;
            }
            FactField::Status(status) => fact.set_status(status, at),
            FactField::Confidence(confidence) => fact.confidence = confidence,
            FactField::ExpiresAt(at) => fact.expires_at = at,
            FactField::Intent(intent) => fact.intent = intent,
            FactField::Entities(entities) => {
                fact.entities = entities;
                named = true;
            }
            FactField::Type(fact_type) => fact.fact_type = fact_type,
            FactField::Attachments(attachments) => {
                fact.attachments = attachments;
                said = true;
            }
        }
    }
    let within = |e: Invalid| e.within("memory.fact");
    validate::fact(&fact).map_err(within)?;
    redact::fact(&mut fact);
    if said && !named {
        let captions = fact.attachments.iter().map(|a| a.caption.as_str());
        let said: Vec<&str> = [fact.content.as_str()].into_iter().chain(captions).collect();
        fact.entities = entities::extract(&said.join("\n"));
    }
    if fact.original.is_empty()
        && said
        && let Some(summary) = summarise(&fact.content)
    {
        fact.original = std::mem::replace(&mut fact.content, summary);
    }
    Ok(fact)
}

fn changed_lesson(stored: &Lesson, fields: &[LessonField]) -> Result<Lesson, Invalid> {
    let mut lesson = stored.clone();
    let mut wrong = Vec::new();
    for field in fields {
        let (name, value, place) = match field {
            LessonField::Situation(text) => ("situation", text, &mut lesson.situation),
            LessonField::Advice(text) => ("advice", text, &mut lesson.advice),
            LessonField::Applicability(text) => ("applicability", text, &mut lesson.applicability),
        };
        if value.trim().is_empty() && name != "applicability" {
            wrong.extend(Invalid::new(name, "is required").fields);
        }
        if value.len() > limits::TEXT_BYTES {
            let problem =
                format!("is {} bytes long; at most {} are accepted", value.len(), limits::TEXT_BYTES);
            wrong.extend(Invalid::new(name, problem).fields);
        }
        *place = redact::text(value).into_owned();
    }
    Invalid::check(wrong).map_err(|e| e.within("memory.lesson"))?;
    let basis = &lesson.basis;
    let said = [lesson.situation.as_str(), &basis.chosen, &basis.rejected.join("\n")].join("\n");
    lesson.entities = entities::extract(&said);
    Ok(lesson)
}

#[cfg(test)]
mod tests;
