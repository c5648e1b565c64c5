//! Enum values as people write them.

use clap::ValueEnum;
use hindsight_proto::{common::v1 as pb, memory::v1::DiagnosisStage, operations::v1::WorkQueue};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Fact,
    Experience,
    Lesson,
    FailurePattern,
    Step,
}

impl Kind {
    pub(crate) fn to_proto(self) -> pb::MemoryKind {
        match self {
            Self::Fact => pb::MemoryKind::Fact,
            Self::Experience => pb::MemoryKind::Experience,
            Self::Lesson => pb::MemoryKind::Lesson,
            Self::FailurePattern => pb::MemoryKind::FailurePattern,
            Self::Step => pb::MemoryKind::Step,
        }
    }
}

/// What sort of thing a user said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FactKind {
    Preference,
    Order,
    Promise,
    Identity,
    Event,
    Other,
}

impl FactKind {
    pub(crate) fn to_proto(self) -> pb::FactType {
        match self {
            Self::Preference => pb::FactType::Preference,
            Self::Order => pb::FactType::Order,
            Self::Promise => pb::FactType::Promise,
            Self::Identity => pb::FactType::Identity,
            Self::Event => pb::FactType::Event,
            Self::Other => pb::FactType::Other,
        }
    }
}

/// Where a fact stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    Open,
    Resolved,
    Obsolete,
}

impl Status {
    pub(crate) fn to_proto(self) -> pb::FactStatus {
        match self {
            Self::Open => pb::FactStatus::Open,
            Self::Resolved => pb::FactStatus::Resolved,
            Self::Obsolete => pb::FactStatus::Obsolete,
        }
    }
}

/// How far a lesson is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LessonStage {
    Candidate,
    Canary,
    Active,
    Retired,
}

impl LessonStage {
    pub(crate) fn to_proto(self) -> pb::Stage {
        match self {
            Self::Candidate => pb::Stage::Candidate,
            Self::Canary => pb::Stage::Canary,
            Self::Active => pb::Stage::Active,
            Self::Retired => pb::Stage::Retired,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ending {
    Success,
    Partial,
    Failure,
}

impl Ending {
    pub(crate) fn to_proto(self) -> pb::OutcomeStatus {
        match self {
            Self::Success => pb::OutcomeStatus::Success,
            Self::Partial => pb::OutcomeStatus::Partial,
            Self::Failure => pb::OutcomeStatus::Failure,
        }
    }
}

/// `MEMORY_KIND_FAILURE_PATTERN` as `failure pattern`.
fn words(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase().replace('_', " ")
}

pub(crate) fn kind(value: i32) -> String {
    pb::MemoryKind::try_from(value)
        .map_or_else(|_| value.to_string(), |v| words(v.as_str_name(), "MEMORY_KIND_"))
}

/// Empty when it is nothing in particular.
pub(crate) fn fact_type(value: i32) -> String {
    match pb::FactType::try_from(value).unwrap_or_default() {
        pb::FactType::Unspecified | pb::FactType::Other => String::new(),
        known => words(known.as_str_name(), "FACT_TYPE_"),
    }
}

/// Empty while the fact holds.
pub(crate) fn fact_status(value: i32) -> String {
    match pb::FactStatus::try_from(value).unwrap_or_default() {
        pb::FactStatus::Unspecified | pb::FactStatus::Open => String::new(),
        known => words(known.as_str_name(), "FACT_STATUS_"),
    }
}

pub(crate) fn outcome(value: i32) -> String {
    let value = pb::OutcomeStatus::try_from(value).unwrap_or_default();
    match value {
        pb::OutcomeStatus::Unspecified => "unknown".to_owned(),
        known => words(known.as_str_name(), "OUTCOME_STATUS_"),
    }
}

pub(crate) fn evidence_source(value: i32) -> String {
    words(pb::EvidenceSource::try_from(value).unwrap_or_default().as_str_name(), "EVIDENCE_SOURCE_")
}

pub(crate) fn feedback(value: i32) -> String {
    pb::FeedbackVerdict::try_from(value)
        .map_or_else(|_| value.to_string(), |v| words(v.as_str_name(), "FEEDBACK_VERDICT_"))
}

pub(crate) fn reminder_trigger(value: i32) -> String {
    words(pb::ReminderTrigger::try_from(value).unwrap_or_default().as_str_name(), "REMINDER_TRIGGER_")
}

pub(crate) fn withheld(value: i32) -> String {
    match pb::WithheldReason::try_from(value).unwrap_or_default() {
        pb::WithheldReason::Control => "by chance, on trial".to_owned(),
        pb::WithheldReason::HoldOut => "by chance, hold-out".to_owned(),
        pb::WithheldReason::Reminders => "no reminders left".to_owned(),
        other => words(other.as_str_name(), "WITHHELD_REASON_"),
    }
}

pub(crate) fn step_label(value: i32) -> String {
    words(pb::StepLabel::try_from(value).unwrap_or_default().as_str_name(), "STEP_LABEL_")
}

pub(crate) fn evidence_verdict(value: i32) -> String {
    words(pb::EvidenceVerdict::try_from(value).unwrap_or_default().as_str_name(), "EVIDENCE_VERDICT_")
}

pub(crate) fn exposure(value: i32) -> String {
    words(pb::Exposure::try_from(value).unwrap_or_default().as_str_name(), "EXPOSURE_")
}

pub(crate) fn diagnosis_stage(value: i32) -> String {
    words(DiagnosisStage::try_from(value).unwrap_or_default().as_str_name(), "DIAGNOSIS_STAGE_")
}

pub(crate) fn state(value: i32) -> String {
    words(pb::EvaluationState::try_from(value).unwrap_or_default().as_str_name(), "EVALUATION_STATE_")
}

pub(crate) fn stage(value: i32) -> String {
    words(pb::Stage::try_from(value).unwrap_or_default().as_str_name(), "STAGE_")
}

pub(crate) fn queue(value: i32) -> String {
    words(WorkQueue::try_from(value).unwrap_or_default().as_str_name(), "WORK_QUEUE_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_words() {
        assert_eq!(kind(Kind::FailurePattern.to_proto().into()), "failure pattern");
        assert_eq!(outcome(0), "unknown");
        assert_eq!(evidence_source(pb::EvidenceSource::TestResult.into()), "test result");
        assert_eq!(withheld(pb::WithheldReason::BelowFloor.into()), "below floor");
        assert_eq!(withheld(pb::WithheldReason::Control.into()), "by chance, on trial");
        assert_eq!(state(pb::EvaluationState::Judged.into()), "judged");
    }
}
