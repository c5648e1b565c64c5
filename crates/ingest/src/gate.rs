//! Which runs are worth judging.

use hindsight_types::{ActionType, OutcomeStatus, Trajectory};
use serde::{Deserialize, Serialize};

/// A run is judged when it reaches any of these, or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateSettings {
    /// Shortest duration, in seconds.
    pub min_seconds: u64,
    /// Fewest tool calls.
    pub min_tool_calls: usize,
    /// Judge every run that failed, however short.
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
    let reason = if settings.judge_failures && t.outcome.resolved() == OutcomeStatus::Failure {
        "the task failed".to_owned()
    } else if calls >= settings.min_tool_calls {
        format!("it made {calls} tool calls")
    } else if seconds >= settings.min_seconds {
        format!("it took {seconds} s")
    } else {
        let reason = format!(
            "{calls} tool calls in {seconds} s without failure; judged from {} calls, {} s or a failure",
            settings.min_tool_calls, settings.min_seconds
        );
        return GateDecision::Skip { reason };
    };
    GateDecision::Judge { reason }
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
    fn settings_come_from_partial_configuration() {
        let s: GateSettings = serde_json::from_str(r#"{"min_seconds": 3}"#).unwrap();
        assert_eq!(s, GateSettings { min_seconds: 3, ..GateSettings::default() });
        assert!(serde_json::from_str::<GateSettings>(r#"{"min_second": 3}"#).is_err());
    }
}
