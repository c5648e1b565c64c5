//! Between the protobuf schema and the domain's types. One conversion serves RPC, bus and storage, which
//! wrap the same `hindsight.common.v1` messages. A tenant is never in a message: it is a parameter,
//! taken from the credential, the bus envelope or the stored record.
//!
//! `x_to_proto` cannot fail; `x_from_proto` names every field that is wrong.

mod archived;
mod change;
mod compaction;
mod enums;
mod evaluation;
mod event;
mod evidence;
mod forgetting;
mod memory;
mod receipt;
mod record;
mod reevaluation;
pub mod schema;
mod scope;
mod span;
mod subject;
mod time;
mod trajectory;

pub use change::{changes_from_proto, changes_to_proto};
pub use compaction::{
    compaction_run_to_proto, compaction_task_from_proto, compaction_task_to_proto, policy_from_proto,
    policy_to_proto,
};
pub use enums::{
    action_type_from_proto, action_type_to_proto, fact_status_from_proto, fact_status_to_proto,
    fact_type_from_proto, fact_type_to_proto, feedback_verdict_from_proto, feedback_verdict_to_proto,
    memory_kind_from_proto, memory_kind_to_proto, outcome_status_from_proto, outcome_status_to_proto,
    reminder_trigger_from_proto, reminder_trigger_to_proto, review_decision_from_proto,
    review_decision_to_proto, stage_from_proto, stage_to_proto, step_label_from_proto, step_label_to_proto,
};
pub use evaluation::{
    evaluation_from_proto, evaluation_record_from_proto, evaluation_record_to_proto, evaluation_to_proto,
};
pub use event::{event_from_proto, event_to_proto, task_completed_from_proto, task_started_from_proto};
pub use evidence::{evidence_from_proto, evidence_to_proto, review_from_proto, review_to_proto};
pub use forgetting::{forgetting_to_proto, subject_from_proto, subject_to_proto};
pub use memory::{
    attachment_from_proto, attachment_to_proto, experience_from_proto, experience_to_proto, fact_from_proto,
    fact_to_proto, failure_pattern_from_proto, failure_pattern_to_proto, lesson_from_proto, lesson_to_proto,
    memory_from_proto, memory_to_proto, revision_to_proto, step_memory_from_proto, step_memory_to_proto,
};
pub use receipt::{
    arm_to_proto, factors_to_proto, feedback_from_proto, feedback_to_proto, receipt_from_proto,
    receipt_to_proto,
};
pub use record::{Record, RecordBody, record_from_proto, record_to_proto};
pub use reevaluation::{judge_choice_from_proto, judge_choice_to_proto, reevaluation_to_proto};
pub use scope::{scope_from_proto, scope_or_default, scope_to_proto};
pub use time::{optional_time_from_proto, time_from_proto, time_or, time_to_proto};
pub use trajectory::{
    environment_from_proto, environment_to_proto, outcome_from_proto, outcome_to_proto, step_from_proto,
    step_to_proto, trajectory_from_proto, trajectory_to_proto,
};

#[cfg(test)]
mod tests;
