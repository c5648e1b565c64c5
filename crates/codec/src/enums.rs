use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    ActionType, EvidenceOrigin, EvidenceSource, Exposure, FactStatus, FactType, FeedbackVerdict, Invalid,
    MemoryKind, OutcomeStatus, ReminderTrigger, ReviewDecision, RevisionCause, Stage, StepLabel, StepStatus,
    Verdict, WithheldReason,
};

/// `enum_codec!(to, from, Domain, Proto, "field", unspecified, {Variant, …})`: the two directions of an enum whose
/// variants are named alike. `unspecified` is what an absent value means: `required` or a default.
macro_rules! enum_codec {
    ($vis:vis $to:ident, $from:ident, $domain:ident, $proto:ident, $field:literal, $absent:expr, {$($v:ident),+ $(,)?}) => {
        $vis fn $to(v: $domain) -> i32 {
            match v {
                $($domain::$v => pb::$proto::$v as i32,)+
            }
        }

        $vis fn $from(v: i32) -> Result<$domain, Invalid> {
            match pb::$proto::try_from(v) {
                $(Ok(pb::$proto::$v) => Ok($domain::$v),)+
                Ok(pb::$proto::Unspecified) => {
                    let absent: Option<$domain> = $absent;
                    absent.ok_or_else(|| Invalid::new($field, "is required"))
                }
                Err(_) => Err(Invalid::new($field, format!("{v} is not a value of this enum"))),
            }
        }
    };
}

enum_codec!(pub outcome_status_to_proto, outcome_status_from_proto, OutcomeStatus, OutcomeStatus, "status",
    Some(OutcomeStatus::Unknown), {Success, Partial, Failure, Unknown});
enum_codec!(pub(crate) evidence_source_to_proto, evidence_source_from_proto, EvidenceSource, EvidenceSource,
    "source", None, {TestResult, ExitCode, User, AgentClaim, Judge});
enum_codec!(pub action_type_to_proto, action_type_from_proto, ActionType, ActionType, "action_type", None,
    {ToolCall, LlmReasoning, UserInput});
enum_codec!(pub step_label_to_proto, step_label_from_proto, StepLabel, StepLabel, "label", None,
    {Necessary, Redundant, Misleading, Failed});
enum_codec!(pub memory_kind_to_proto, memory_kind_from_proto, MemoryKind, MemoryKind, "kind", None,
    {Fact, Experience, Lesson, FailurePattern, Step});
enum_codec!(pub stage_to_proto, stage_from_proto, Stage, Stage, "stage", Some(Stage::Candidate),
    {Candidate, Canary, Active, Retired});
enum_codec!(pub fact_status_to_proto, fact_status_from_proto, FactStatus, FactStatus, "status",
    Some(FactStatus::Open), {Open, Resolved, Obsolete});
enum_codec!(pub fact_type_to_proto, fact_type_from_proto, FactType, FactType, "type", Some(FactType::Other),
    {Preference, Order, Promise, Identity, Event, Other});
enum_codec!(pub(crate) verdict_to_proto, verdict_from_proto, Verdict, EvidenceVerdict, "verdict", None,
    {Supported, Refuted, Ignored});
enum_codec!(pub(crate) exposure_to_proto, exposure_from_proto, Exposure, Exposure, "exposure", None,
    {Injected, Withheld, Observed});
// Lines from before it was kept were told by whoever acted on a receipt.
enum_codec!(pub(crate) evidence_origin_to_proto, evidence_origin_from_proto, EvidenceOrigin, EvidenceOrigin, "origin",
    Some(EvidenceOrigin::Reported), {Observed, Credited, Reported});
enum_codec!(pub review_decision_to_proto, review_decision_from_proto, ReviewDecision, ReviewDecision, "decision",
    None, {Approved, Rejected});
enum_codec!(pub(crate) revision_cause_to_proto, revision_cause_from_proto, RevisionCause, RevisionCause, "cause", None,
    {Updated, Superseded, Expired, Restored});
enum_codec!(pub feedback_verdict_to_proto, feedback_verdict_from_proto, FeedbackVerdict, FeedbackVerdict, "verdict",
    None, {Used, Helpful, Harmful, Ignored});
enum_codec!(pub(crate) withheld_to_proto, withheld_from_proto, WithheldReason, WithheldReason, "reason", None,
    {BelowFloor, Budget, TokenBudget, NearDuplicate, Superseded, Stage, Expired, Control, HoldOut,
    SaidBefore, Reminders, CoolDown, TooRare});
enum_codec!(pub reminder_trigger_to_proto, reminder_trigger_from_proto, ReminderTrigger, ReminderTrigger, "trigger",
    None, {TaskStart, BeforeCall, AfterFailure, Asked});

pub(crate) fn step_status_to_proto(v: StepStatus) -> i32 {
    match v {
        StepStatus::Ok => pb::StepStatus::Ok as i32,
        StepStatus::Error => pb::StepStatus::Error as i32,
        StepStatus::Unknown => pb::StepStatus::Unspecified as i32,
    }
}

pub(crate) fn step_status_from_proto(v: i32) -> Result<StepStatus, Invalid> {
    match pb::StepStatus::try_from(v) {
        Ok(pb::StepStatus::Ok) => Ok(StepStatus::Ok),
        Ok(pb::StepStatus::Error) => Ok(StepStatus::Error),
        Ok(pb::StepStatus::Unspecified) => Ok(StepStatus::Unknown),
        Err(_) => Err(Invalid::new("status", format!("{v} is not a value of this enum"))),
    }
}
