//! Names of the payload fields. They are at rest: renaming one is a migration.

pub(crate) const TENANT: &str = "tenant";
/// `Visibility::keyword`.
pub(crate) const VISIBILITY: &str = "visibility";
/// The whole record: base64 of `hindsight.storage.v1.Record`.
pub(crate) const RECORD: &str = "record";
/// Counts the writes of a merged record, for compare-and-swap.
pub(crate) const REVISION: &str = "revision";
/// Tells two writes of a memory apart.
pub(crate) const STAMP: &str = "stamp";
/// The name of the vector that this memory cannot be given.
pub(crate) const UNENCODED: &str = "unencoded";

pub(crate) const ACTION_NAME: &str = "action_name";
pub(crate) const AGENT: &str = "agent";
pub(crate) const DECISION: &str = "decision";
pub(crate) const ENTITIES: &str = "entities";
pub(crate) const ENVIRONMENT: &str = "environment";
/// The memory that speaks for one in the archive.
pub(crate) const INSTEAD: &str = "instead";
/// [`goal_key`](crate::upkeep::goal_key) of a run without a task type.
pub(crate) const GOAL: &str = "goal_key";
pub(crate) const INJECTED: &str = "injected";
pub(crate) const INTENT: &str = "intent";
pub(crate) const JUDGE: &str = "judge";
pub(crate) const KIND: &str = "kind";
pub(crate) const MEMORY_ID: &str = "memory_id";
pub(crate) const MERGE: &str = "merge";
pub(crate) const OUTCOME: &str = "outcome";
pub(crate) const REQUEST_ID: &str = "request_id";
pub(crate) const POLICY: &str = "policy";
pub(crate) const RUN_ID: &str = "run_id";
pub(crate) const SESSION: &str = "session";
/// Runs that a memory was learned from.
pub(crate) const SOURCES: &str = "sources";
pub(crate) const STAGE: &str = "stage";
pub(crate) const STATE: &str = "state";
pub(crate) const STATUS: &str = "status";
pub(crate) const STEP_EVALUATION: &str = "step_evaluation";
pub(crate) const STEP_INDEX: &str = "step_index";
pub(crate) const TASK_TYPE: &str = "task_type";
pub(crate) const TRACE_ID: &str = "trace_id";
pub(crate) const USER: &str = "user";
pub(crate) const TYPE: &str = "type";
pub(crate) const VERDICT: &str = "verdict";
pub(crate) const WORTH_REFERENCE: &str = "worth_reference";

// Times, in microseconds since 1970.
pub(crate) const ARCHIVED_AT: &str = "archived_at";
pub(crate) const AT: &str = "at";
pub(crate) const CREATED_AT: &str = "created_at";
pub(crate) const ENDED_AT: &str = "ended_at";
pub(crate) const EXPIRES_AT: &str = "expires_at";
pub(crate) const LAST_SEEN: &str = "last_seen";
pub(crate) const OCCURRED_AT: &str = "occurred_at";
pub(crate) const RECORDED_AT: &str = "recorded_at";
pub(crate) const RETAINED_AT: &str = "retained_at";
pub(crate) const TOUCHED_AT: &str = "touched_at";
pub(crate) const UPDATED_AT: &str = "updated_at";
