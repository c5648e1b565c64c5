//! What tools are given. The comments are read by models. What may be left out may be null: models write that.

use hindsight_proto::common::v1 as pb;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecallExperience {
    /// The task, in words and with what is specific about it: systems, symptoms, error messages.
    pub task: String,
    /// Tags of the place the task is done in, such as "docker", "k8s", "bare-metal". Experience from elsewhere
    /// counts less and is marked.
    pub environment: Option<Vec<String>>,
    /// Kind of task, such as "incident" or "refund", when runs are recorded under one. Opens what is limited to it.
    pub task_type: Option<String>,
    /// The person the task is done for. Opens their own runs.
    pub user: Option<String>,
    /// Most memories to give. 3 by default, at most 10.
    #[schemars(range(min = 1, max = 10))]
    pub limit: Option<u32>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecallUserMemory {
    /// Id of the user, as it was given to `retain`.
    pub user: String,
    /// What to find out, in words. Times such as "last week" are understood.
    pub question: String,
    /// What was said just before, oldest first, so that words like "it" and "there" are understood.
    pub recent: Option<Vec<String>>,
    /// Time zone of the user by its IANA name, such as "Asia/Shanghai", so that "yesterday" is the right day. UTC by
    /// default.
    pub time_zone: Option<String>,
    /// Most memories to give. 3 by default, at most 10.
    #[schemars(range(min = 1, max = 10))]
    pub limit: Option<u32>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retain {
    /// Id of the user whom it is about. Only recalls for this user find it.
    pub user: String,
    /// What was said, complete in itself: with names instead of pronouns and dates instead of "tomorrow".
    pub content: String,
    /// What sort of thing it is. Told from the words by default.
    pub kind: Option<FactKind>,
    /// The same key again replaces what was kept under it, such as "seat-preference".
    pub key: Option<String>,
    /// The conversation it was said in.
    pub session: Option<String>,
    /// Who said it.
    pub speaker: Option<String>,
    /// When it was said, in RFC 3339, such as "2026-03-01T09:30:00Z". Now by default.
    pub occurred_at: Option<String>,
    /// When it ends to be true, in RFC 3339. Never by default.
    pub expires_at: Option<String>,
    /// Keep it even if it seems to be only a greeting, thanks or a filler.
    pub force: Option<bool>,
}

/// What sort of thing a user said.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FactKind {
    /// Likes, dislikes, habits, what must be avoided.
    Preference,
    /// Orders, bookings, invoices, refunds.
    Order,
    /// What someone undertook to do.
    Promise,
    /// Who the user is: name, home, work, family, health.
    Identity,
    /// What happened or will happen at a time.
    Event,
    /// Anything else.
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

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportOutcome {
    /// The receipt of the recall, or of a warning, as it was given with the memories.
    pub receipt_id: String,
    /// The user the recall was made for, when it was made for one.
    pub user: Option<String>,
    /// Ids of memories that were followed and helped.
    pub helpful: Option<Vec<String>>,
    /// Ids of memories that were followed and misled.
    pub harmful: Option<Vec<String>>,
    /// Ids of memories that were followed; whether they helped is not known.
    pub used: Option<Vec<String>>,
    /// Ids of memories that did not matter.
    pub ignored: Option<Vec<String>>,
    /// How the task ended.
    pub outcome: Option<Ending>,
    /// Name of the recorded run, when it is known: what is said of the memories becomes evidence.
    pub trace_id: Option<String>,
    /// Why, in words.
    pub note: Option<String>,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explain {
    /// The receipt of the recall.
    pub receipt_id: String,
    /// The user the recall was made for, when it was made for one.
    pub user: Option<String>,
    /// Id of a memory that was expected and did not come: the answer says why not, and what to do so that it does.
    pub expected_memory_id: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct BeginTask {
    /// The task, in words.
    pub task: String,
    /// The person the task is done for.
    pub user: Option<String>,
}
