//! Answers, as messages.

use hindsight_codec::{factors_to_proto, memory_to_proto, reminder_trigger_to_proto, time_to_proto};
use hindsight_proto::recall::v1::{
    KnownFailure, RecalledMemory, Reminder, Silence, SilenceReason, WatchRejection, watch_response::Said,
};
use hindsight_rank::{
    Ranked,
    watch::{Hush, Refusal, times},
};
use hindsight_types::{FailurePattern, Invalid, ReceiptId, ReminderTrigger, Timestamp};

/// What a reminder is made of.
pub(super) struct Spoken {
    pub(super) id: ReceiptId,
    pub(super) trigger: ReminderTrigger,
    pub(super) block: String,
    pub(super) tokens: u32,
    pub(super) items: Vec<Ranked>,
    pub(super) left: u32,
    pub(super) degraded: bool,
}

/// An answer, and what it is counted as.
pub(super) struct Answer {
    pub(super) said: Said,
    pub(super) counted: &'static str,
}

pub(super) fn reminder(spoken: Spoken, now: Timestamp) -> Answer {
    let failing = matches!(spoken.trigger, ReminderTrigger::BeforeCall | ReminderTrigger::AfterFailure);
    let failure = spoken.items.iter().find_map(|item| match &item.memory {
        hindsight_types::Memory::FailurePattern(pattern) if failing => Some(known(pattern, now)),
        _ => None,
    });
    let said = Said::Reminder(Reminder {
        reminder_id: spoken.id.to_string(),
        trigger: reminder_trigger_to_proto(spoken.trigger),
        block: spoken.block,
        items: spoken.items.into_iter().map(recalled).collect(),
        failure,
        tokens: spoken.tokens,
        left: spoken.left,
        degraded: spoken.degraded,
    });
    Answer { said, counted: "said" }
}

pub(crate) fn recalled(item: Ranked) -> RecalledMemory {
    RecalledMemory {
        memory: Some(memory_to_proto(&item.memory)),
        factors: Some(factors_to_proto(&item.factors)),
        why: item.why,
    }
}

fn known(pattern: &FailurePattern, now: Timestamp) -> KnownFailure {
    KnownFailure {
        memory_id: pattern.id.to_string(),
        tool: pattern.action_name.clone(),
        what: pattern.example.clone(),
        why: pattern.cause.clone(),
        instead: pattern.suggestion.clone(),
        times: times(pattern, now),
        last_seen: Some(time_to_proto(pattern.last_seen)),
    }
}

/// `receipt`: tells what was withheld.
pub(super) fn silence(hush: Hush, receipt: Option<ReceiptId>) -> Answer {
    let (reason, words, counted) = match hush {
        Hush::NotAsked => (SilenceReason::NotAsked, "the event asks for nothing", "not_asked"),
        Hush::NothingKnown => {
            (SilenceReason::NothingKnown, "nothing is remembered that bears on it", "nothing_known")
        }
        Hush::BelowThreshold => (
            SilenceReason::BelowThreshold,
            "what is remembered is not near, not sure or not frequent enough",
            "below_threshold",
        ),
        Hush::Budget => (SilenceReason::Budget, "all reminders of the stream are used up", "budget"),
        Hush::CoolDown => {
            (SilenceReason::CoolDown, "something of the kind was said just before", "cool_down")
        }
        Hush::SaidBefore(_) => {
            (SilenceReason::SaidBefore, "it was said on this stream already", "said_before")
        }
    };
    let receipt = match hush {
        Hush::SaidBefore(by) => Some(by),
        _ => receipt,
    };
    let receipt_id = receipt.map(|id| id.to_string()).unwrap_or_default();
    let said = Said::Silence(Silence { reason: reason.into(), words: words.to_owned(), receipt_id });
    Answer { said, counted }
}

/// It was taken note of.
pub(super) fn noted(words: &str) -> Answer {
    let reason = SilenceReason::NotAsked.into();
    let said = Said::Silence(Silence { reason, words: words.to_owned(), receipt_id: String::new() });
    Answer { said, counted: "not_asked" }
}

/// The memory could not answer.
pub(super) fn unavailable(words: impl Into<String>, receipt: Option<ReceiptId>) -> Answer {
    let said = Said::Silence(Silence {
        reason: SilenceReason::Unavailable.into(),
        words: words.into(),
        receipt_id: receipt.map(|id| id.to_string()).unwrap_or_default(),
    });
    Answer { said, counted: "unavailable" }
}

pub(super) fn invalid(invalid: &Invalid) -> Answer {
    let fields = invalid.fields.iter().map(|f| f.field.clone()).collect();
    rejection(hindsight_api::status::INVALID_FIELDS, invalid.to_string(), fields)
}

pub(super) fn refused(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::NotStarted => rejection(
            "NOT_STARTED",
            "a stream begins with `start`; nothing is said before".to_owned(),
            vec!["start".to_owned()],
        ),
        Refusal::StartedBefore => rejection(
            "STARTED_BEFORE",
            "a stream is about one task; open another one for the next".to_owned(),
            vec!["start".to_owned()],
        ),
    }
}

pub(super) fn rejection(reason: &str, message: String, fields: Vec<String>) -> Answer {
    let said = Said::Rejection(WatchRejection { reason: reason.to_owned(), message, fields });
    Answer { said, counted: "rejected" }
}
