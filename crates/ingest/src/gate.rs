//! Which runs are worth judging.

use hindsight_types::{ActionType, OutcomeStatus, Trajectory};
use serde::{Deserialize, Serialize};

/// A run is judged when it reaches any of these, or its task failed. A step that failed is no failed task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateSettings {
    /// Shortest duration, in seconds.
    pub min_seconds: u64,
    /// Fewest tool calls.
    pub min_tool_calls: usize,
    /// Judge every run whose task failed, however short.
    pub judge_failures: bool,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self { min_seconds: 30, min_tool_calls: 5, judge_failures: true }
    }
}

/// The answer of the gate, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDecision {
    Judge { reason: String },
    Skip { reason: String },
}

pub fn gate(t: &Trajectory, settings: &GateSettings) -> GateDecision {
    let seconds = u64::try_from(t.ended_at.duration_since(t.started_at).as_secs()).unwrap_or(0);
    let calls = t.steps.iter().filter(|s| s.action_type == ActionType::ToolCall).count();
    let outcome = t.outcome.resolved();
    let reason = if settings.judge_failures && outcome == OutcomeStatus::Failure {
        "the task failed".to_owned()
    } else if calls >= settings.min_tool_calls {
        format!("it made {calls} tool calls")
    } else if seconds >= settings.min_seconds {
        format!("it took {seconds} s")
    } else {
        return GateDecision::Skip { reason: too_little(calls, seconds, outcome, settings) };
    };
    GateDecision::Judge { reason }
}

/// What was looked at, and what would have been enough.
fn too_little(calls: usize, seconds: u64, outcome: OutcomeStatus, settings: &GateSettings) -> String {
    let GateSettings { min_seconds, min_tool_calls, judge_failures } = settings;
    let (ended, or_failed) = match outcome {
        _ if !judge_failures => ("", ""),
        OutcomeStatus::Unknown => (", and nothing says that the task failed", ", or when the task failed"),
        _ => (", and the task did not fail", ", or when the task failed"),
    };
    let times = if calls == 1 { "call" } else { "calls" };
    format!(
        "it made {calls} tool {times} in {seconds} s{ended}; runs are judged from {min_tool_calls} calls or \
         {min_seconds} s on{or_failed}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run, seconds};

    fn judged(t: &Trajectory) -> bool {
        matches!(gate(t, &GateSettings::default()), GateDecision::Judge { .. })
    }

    #[test]
    fn each_threshold_opens_the_gate_exactly_where_it_says() {
        let mut t = run(4);
        (t.started_at, t.ended_at) = (seconds(0), seconds(29));
        assert!(!judged(&t));
        t.ended_at = seconds(30);
        assert!(judged(&t));
        (t.started_at, t.ended_at) = (seconds(5), seconds(0));
        assert!(!judged(&t), "a clock that ran backwards is no duration");
        t.outcome.status = OutcomeStatus::Failure;
        assert!(judged(&t));
        let mut five = run(5);
        five.ended_at = five.started_at;
        assert!(judged(&five));
    }

    #[test]
    fn what_is_skipped_says_what_was_looked_at() {
        let reason = |t: &Trajectory, settings: &GateSettings| match gate(t, settings) {
            GateDecision::Skip { reason } => reason,
            GateDecision::Judge { reason } => panic!("judged: {reason}"),
        };
        let mut t = run(2);
        (t.started_at, t.ended_at) = (seconds(0), seconds(3));
        t.steps[0].status = hindsight_types::StepStatus::Error;
        t.outcome.status = OutcomeStatus::Success;
        let settings = GateSettings::default();
        assert_eq!(
            reason(&t, &settings),
            "it made 2 tool calls in 3 s, and the task did not fail; runs are judged from 5 calls or 30 s on, or when \
             the task failed"
        );
        t.outcome.status = OutcomeStatus::Unknown;
        assert!(reason(&t, &settings).contains("nothing says that the task failed"));
        t.outcome.status = OutcomeStatus::Failure;
        let settings = GateSettings { judge_failures: false, ..settings };
        assert_eq!(
            reason(&t, &settings),
            "it made 2 tool calls in 3 s; runs are judged from 5 calls or 30 s on"
        );
    }

    #[test]
    fn settings_come_from_partial_configuration() {
        let s: GateSettings = serde_json::from_str(r#"{"min_seconds": 3}"#).unwrap();
        assert_eq!(s, GateSettings { min_seconds: 3, ..GateSettings::default() });
        assert!(serde_json::from_str::<GateSettings>(r#"{"min_second": 3}"#).is_err());
    }
}
